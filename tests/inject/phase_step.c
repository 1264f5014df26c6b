/* SPDX-License-Identifier: MIT */
/*
 * Steps by the trap flag, and a copy that is gone back to (phase_step.h).
 */
#define _GNU_SOURCE /* REG_EFL */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "tests/common/trap_flag.h"
#include "tests/inject/phase_step.h"

#if defined(__x86_64__)
#define SP REG_RSP
#define IP REG_RIP
#define FLOATS 512u /* FXSAVE, and behind it what XSAVE adds */
#define FXSAVE_AT 0u
#else
#define SP REG_ESP
#define IP REG_EIP
#define FLOATS (112u + 512u)
#define FXSAVE_AT 112u
#endif
#define EXTENDED 0x4000u /* all that XSAVE may add */
#define RED_ZONE 128u
#define STACK 0x20000u

struct phase_step phase_step;

/* Of the section, by the linker. */
extern const char __start_phase_own[], __stop_phase_own[];

/* All that a handler goes back to, beside the memory. */
static struct {
    gregset_t registers;
    unsigned char floats[EXTENDED];
    size_t float_bytes;
    unsigned char *low; /* of the stack that was kept */
    unsigned char stack[STACK];
} kept;

static unsigned char call_stack[STACK] __attribute__((aligned(64)));
static unsigned char signal_stack[4 * STACK] __attribute__((aligned(64)));
static ucontext_t outside, of_call;
static void (*the_call)(void), (*the_judge)(void);
static unsigned (*the_act)(unsigned n);
static volatile bool inside;   /* of the call */
static volatile bool branched; /* after the act, until the copy is gone back to */
static volatile unsigned hidden;
static unsigned acts, away; /* acts done in this run; instructions until the next one, or 0 */

/*
 * Bytes of the vector registers in a signal frame.  Linux says so in the last 48 bytes of FXSAVE: a magic number and
 * the size of all of it (struct _fpx_sw_bytes, asm/sigcontext.h).  Copies of the C library are on their way in these.
 */
static size_t bytes_of_floats(const void *floats)
{
    uint32_t words[2];

    memcpy(words, (const unsigned char *)floats + FXSAVE_AT + 464u, sizeof words);
    return words[0] == 0x46505853u && words[1] > FLOATS && words[1] <= EXTENDED ? words[1] : FLOATS;
}

static void keep(ucontext_t *context)
{
    unsigned char *low = (unsigned char *)(uintptr_t)context->uc_mcontext.gregs[SP] - RED_ZONE;

    if (low < call_stack || low >= call_stack + STACK)
        abort();
    kept.low = low;
    memcpy(kept.stack, low, (size_t)(call_stack + STACK - low));
    memcpy(kept.registers, context->uc_mcontext.gregs, sizeof kept.registers);
    kept.float_bytes = bytes_of_floats(context->uc_mcontext.fpregs);
    memcpy(kept.floats, context->uc_mcontext.fpregs, kept.float_bytes);
    memcpy(phase_step.copy, phase_step.memory, phase_step.bytes);
}

static void act(ucontext_t *context)
{
    away = the_act(acts++);
    if (!away)
        FLAGS_OF(context) &= ~TRAP_FLAG;
}

static bool is_own(uintptr_t ip)
{
    return ip >= (uintptr_t)__start_phase_own && ip < (uintptr_t)__stop_phase_own;
}

static bool is_taken(void)
{
    uint32_t n = phase_step.instructions;

    if (phase_step.only)
        return n == phase_step.only;
    return n >= phase_step.first && (n - phase_step.first) % phase_step.stride == 0;
}

static void on_trap(int number, siginfo_t *info, void *where)
{
    ucontext_t *context = where;

    (void)number;
    (void)info;
    if (!inside || hidden || (branched && !away)) {
        FLAGS_OF(context) &= ~TRAP_FLAG;
        return;
    }
    FLAGS_OF(context) |= TRAP_FLAG;
    if (branched) {
        if (!--away)
            act(context);
        return;
    }
    if (is_own((uintptr_t)context->uc_mcontext.gregs[IP]))
        return;
    phase_step.instructions++;
    if (!is_taken())
        return;
    phase_step.points++;
    phase_step.instruction = phase_step.instructions;
    keep(context);
    branched = true;
    acts = 0;
    act(context);
}

static void on_back(int number, siginfo_t *info, void *where)
{
    ucontext_t *context = where;

    (void)number;
    (void)info;
    memcpy(phase_step.memory, phase_step.copy, phase_step.bytes);
    memcpy(kept.low, kept.stack, (size_t)(call_stack + STACK - kept.low));
    memcpy(context->uc_mcontext.gregs, kept.registers, sizeof kept.registers);
    memcpy(context->uc_mcontext.fpregs, kept.floats, kept.float_bytes);
    FLAGS_OF(context) |= TRAP_FLAG;
    branched = false;
    away = 0;
    inside = true;
}

PHASE_OWN void phase_step_hide(void)
{
    hidden++;
}

PHASE_OWN void phase_step_show(void)
{
    if (--hidden == 0 && inside && (!branched || away))
        trap_flag_set();
}

/* Acts that the call's end forestalls come behind it. */
static void run(void)
{
    inside = true;
    trap_flag_set();
    the_call();
    inside = false;
    trap_flag_clear();
    while (branched && away)
        away = the_act(acts++);
    if (!branched)
        phase_step.instruction = 0;
    the_judge();
    if (branched)
        raise(SIGUSR1);
}

void phase_step_run(void (*call)(void), unsigned (*act_between)(unsigned n), void (*judge)(void))
{
    struct sigaction trap = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    struct sigaction back = {.sa_sigaction = on_back, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    stack_t stack = {.ss_sp = signal_stack, .ss_size = sizeof signal_stack};

    the_call = call;
    the_act = act_between;
    the_judge = judge;
    phase_step.instructions = 0;
    phase_step.instruction = 0;
    branched = false;
    hidden = 0;
    if (sigaltstack(&stack, NULL) || sigaction(SIGTRAP, &trap, NULL) || sigaction(SIGUSR1, &back, NULL) ||
        getcontext(&of_call))
        abort();
    of_call.uc_stack.ss_sp = call_stack;
    of_call.uc_stack.ss_size = STACK;
    of_call.uc_link = &outside;
    makecontext(&of_call, run, 0);
    swapcontext(&outside, &of_call);
}
