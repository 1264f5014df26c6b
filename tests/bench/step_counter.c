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
