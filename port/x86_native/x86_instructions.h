/* SPDX-License-Identifier: MIT */
/*
 * The ring-0 instructions that the x86 ports use, as functions for gcc and clang, 32 and 64 bits. RDMSR, WRMSR and
 * RDPMC here do not recover from #GP: your kernel's handler must, or the access must not fault.
 */
#ifndef UPMU_X86_INSTRUCTIONS_H
#define UPMU_X86_INSTRUCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define UPMU_X86_CR4_PCE (1u << 8) /* CR4 bit: RDPMC in user mode (Intel SDM vol 3 (325384-059) 2.5) */

static inline uint64_t upmu_x86_rdmsr(uint32_t msr)
{
    uint32_t low, high;

    __asm__ volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(msr) : "memory");
    return (uint64_t)high << 32 | low;
}

static inline void upmu_x86_wrmsr(uint32_t msr, uint64_t value)
{
    __asm__ volatile("wrmsr" : : "c"(msr), "a"((uint32_t)value), "d"((uint32_t)(value >> 32)) : "memory");
}

static inline uint64_t upmu_x86_rdpmc(uint32_t index)
{
    uint32_t low, high;

    __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(index) : "memory");
    return (uint64_t)high << 32 | low;
}

static inline uint64_t upmu_x86_rdtsc(void)
{
    uint32_t low, high;

    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

static inline void upmu_x86_cpuid(uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    __asm__ volatile("cpuid" : "=a"(out[0]), "=b"(out[1]), "=c"(out[2]), "=d"(out[3]) : "a"(leaf), "c"(subleaf));
}

/* Disable maskable interrupts on the executing CPU. Returns the flags register as it was before. */
static inline uintptr_t upmu_x86_irq_save(void)
{
    uintptr_t flags;

    __asm__ volatile("pushf\n\tpop %0\n\tcli" : "=r"(flags) : : "memory");
    return flags;
}

/* Enable maskable interrupts if the flags of upmu_x86_irq_save() had them enabled. No other flag is changed. */
static inline void upmu_x86_irq_restore(uintptr_t flags)
{
    if (flags & (1u << 9))
        __asm__ volatile("sti" : : : "memory");
}

/*
 * Allow or forbid RDPMC in rings 1 to 3 of the executing CPU. CR4.PCE allows RDPMC for every counter, also for those
 * that other programs use. If RDPMC is forbidden, RDPMC in user mode is #GP.
 */
static inline void upmu_x86_user_rdpmc(bool allowed)
{
    uintptr_t cr4;

    __asm__ volatile("mov %%cr4, %0" : "=r"(cr4));
    cr4 = allowed ? cr4 | UPMU_X86_CR4_PCE : cr4 & ~(uintptr_t)UPMU_X86_CR4_PCE;
    __asm__ volatile("mov %0, %%cr4" : : "r"(cr4) : "memory");
}

/* Is RDPMC allowed in rings 1 to 3 of the executing CPU? */
static inline bool upmu_x86_user_rdpmc_allowed(void)
{
    uintptr_t cr4;

    __asm__ volatile("mov %%cr4, %0" : "=r"(cr4));
    return (cr4 & UPMU_X86_CR4_PCE) != 0;
}

#endif
