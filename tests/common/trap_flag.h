/* SPDX-License-Identifier: MIT */
/*
 * The processor's trap flag: while it is set, each instruction of this process ends in SIGTRAP.  x86 with Linux only;
 * a file defines _GNU_SOURCE before its first include, for REG_EFL.
 */
#ifndef UPMU_TEST_TRAP_FLAG_H
#define UPMU_TEST_TRAP_FLAG_H

#include <ucontext.h>

#define TRAP_FLAG 0x100

/* Of what a handler has interrupted. */
#define FLAGS_OF(context) ((context)->uc_mcontext.gregs[REG_EFL])

/* (The instruction behind POPF is the first that ends in SIGTRAP.) */
static inline void trap_flag_set(void)
{
#ifdef __x86_64__
    __asm__ volatile("pushf\n\torq %0, (%%rsp)\n\tpopf\n\tnop" : : "i"(TRAP_FLAG) : "memory", "cc");
#else
    __asm__ volatile("pushf\n\torl %0, (%%esp)\n\tpopf\n\tnop" : : "i"(TRAP_FLAG) : "memory", "cc");
#endif
}

static inline void trap_flag_clear(void)
{
#ifdef __x86_64__
    __asm__ volatile("pushf\n\tandq %0, (%%rsp)\n\tpopf\n\tnop" : : "i"(~TRAP_FLAG) : "memory", "cc");
#else
    __asm__ volatile("pushf\n\tandl %0, (%%esp)\n\tpopf\n\tnop" : : "i"(~TRAP_FLAG) : "memory", "cc");
#endif
}

#endif
