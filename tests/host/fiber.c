/* SPDX-License-Identifier: MIT */
/*
 * Fibers: flows of control of which one runs at a time.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "tests/host/simulated.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#define BEFORE_SWITCH(keep, bottom, size) __sanitizer_start_switch_fiber((keep), (bottom), (size))
#define AFTER_SWITCH(keep, bottom, size) __sanitizer_finish_switch_fiber((keep), (bottom), (size))
#else
#define BEFORE_SWITCH(keep, bottom, size) ((void)0)
#define AFTER_SWITCH(keep, bottom, size) ((void)0)
#endif

#define STACK_BYTES 0x40000u

struct fiber {
    void *stack_pointer;
    ucontext_t context;
    void *fake_stack;
    uint8_t *stack;
};

static struct fiber fibers[HOST_CPUS], dispatcher;
static void (*fiber_body)(struct worker *worker);
#if defined(__SANITIZE_ADDRESS__)
static const void *main_stack;
static size_t main_bytes;
#endif

#if defined(__x86_64__) || defined(__i386__)

/* What a call must keep is on the stack; ucontext would make a system call for each switch. */
void fibers_swap(void **keep, void *stack_pointer);
#ifdef __x86_64__
#define KEPT_WORDS 6 /* below the return address */
__asm__(".text\n"
        ".type fibers_swap, @function\n"
        "fibers_swap:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size fibers_swap, . - fibers_swap\n");
#else
#define KEPT_WORDS 4
__asm__(".text\n"
        ".type fibers_swap, @function\n"
        "fibers_swap:\n"
        "    movl 4(%esp), %eax\n"
        "    movl 8(%esp), %edx\n"
        "    pushl %ebp\n"
        "    pushl %ebx\n"
        "    pushl %esi\n"
        "    pushl %edi\n"
        "    movl %esp, (%eax)\n"
        "    movl %edx, %esp\n"
        "    popl %edi\n"
        "    popl %esi\n"
        "    popl %ebx\n"
        "    popl %ebp\n"
        "    ret\n"
        ".size fibers_swap, . - fibers_swap\n");
#endif

static void switch_to(struct fiber *from, struct fiber *to)
{
    fibers_swap(&from->stack_pointer, to->stack_pointer);
}

static void prepare_fiber(struct fiber *fiber, void (*begin)(void))
{
    void **top = (void **)(void *)(fiber->stack + STACK_BYTES) - 1;

    *top = NULL; /* the return address that `begin` never uses: its stack is aligned as after a call */
    *--top = (void *)begin;
    top -= KEPT_WORDS;
    memset(top, 0, KEPT_WORDS * sizeof *top);
    fiber->stack_pointer = top;
}

#else

static void switch_to(struct fiber *from, struct fiber *to)
{
    (void)swapcontext(&from->context, &to->context);
}

static void prepare_fiber(struct fiber *fiber, void (*begin)(void))
{
    (void)getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = fiber->stack;
    fiber->context.uc_stack.ss_size = STACK_BYTES;
    fiber->context.uc_link = NULL;
    makecontext(&fiber->context, begin, 0);
}

#endif

static void begin_fiber(void)
{
    AFTER_SWITCH(NULL, &main_stack, &main_bytes);
    fiber_body(self);
    abort();
}

void fibers_begin(struct worker *workers, unsigned count, void (*body)(struct worker *worker))
{
    fiber_body = body;
    for (unsigned i = 0; i < count; i++) {
        if (!fibers[i].stack)
            fibers[i].stack = malloc(STACK_BYTES);
        if (!fibers[i].stack)
            abort();
        workers[i].fiber = &fibers[i];
        prepare_fiber(&fibers[i], begin_fiber);
    }
}

void fibers_resume(struct worker *worker)
{
    struct fiber *fiber = worker->fiber;

    self = worker;
    BEFORE_SWITCH(&dispatcher.fake_stack, fiber->stack, STACK_BYTES);
    switch_to(&dispatcher, fiber);
    AFTER_SWITCH(dispatcher.fake_stack, NULL, NULL);
    self = NULL;
}

void fibers_yield(void)
{
    struct fiber *fiber = self->fiber;

    BEFORE_SWITCH(&fiber->fake_stack, main_stack, main_bytes);
    switch_to(fiber, &dispatcher);
    AFTER_SWITCH(fiber->fake_stack, &main_stack, &main_bytes);
}
