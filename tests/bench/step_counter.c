/* SPDX-License-Identifier: MIT */
/*
 * The trap flag makes the CPU raise SIGTRAP after each instruction; the handler
 * counts.
 */
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include "tests/bench/step_counter.h"

static volatile uint64_t steps;

/*
 * Stand-ins for the C library's, which differ from CPU to CPU: the library under
 * measurement is linked with these.
 */
void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    unsigned char *out = to;
    const unsigned char *in = from;
    for (; bytes >= 8; bytes -= 8, out += 8, in += 8)
        __asm__ volatile("movq (%1), %%rax\n\tmovq %%rax, (%0)" : : "r"(out), "r"(in) : "rax", "memory");
    for (; bytes; bytes--, out++, in++)
        __asm__ volatile("movb (%1), %%al\n\tmovb %%al, (%0)" : : "r"(out), "r"(in) : "rax", "memory");
    return to;
}

void *memset(void *to, int value, size_t bytes)
{
    unsigned char *out = to;
    uint64_t filled = (unsigned char)value * UINT64_C(0x0101010101010101);
    for (; bytes >= 8; bytes -= 8, out += 8)
        __asm__ volatile("movq %1, (%0)" : : "r"(out), "r"(filled) : "memory");
    for (; bytes; bytes--, out++)
        __asm__ volatile("movb %b1, (%0)" : : "r"(out), "q"(filled) : "memory");
    return to;
}

int memcmp(const void *one, const void *other, size_t bytes)
{
    const unsigned char *left = one, *right = other;
    for (; bytes; bytes--, left++, right++)
        if (*left != *right)
            return *left - *right;
    return 0;
}

static void count_step(int signal_number)
{
    (void)signal_number;
    steps++;
}

static __attribute__((noinline)) uint64_t run_stepped(void (*function)(void *argument), void *argument)
{
    steps = 0;
    __asm__ volatile("subq $128, %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\taddq $128, %%rsp" ::: "memory",
                     "cc");
    function(argument);
    __asm__ volatile("subq $128, %%rsp\n\tpushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq\n\taddq $128, %%rsp" ::: "memory",
                     "cc");
    return steps;
}

static __attribute__((noinline)) void do_nothing(void *argument)
{
    __asm__ volatile("" : : "r"(argument) : "memory");
}

uint64_t step_counter_run(void (*function)(void *argument), void *argument)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = count_step;
    sigaction(SIGTRAP, &action, NULL);
    uint64_t empty = run_stepped(do_nothing, NULL);
    return run_stepped(function, argument) - empty + 1;
}
