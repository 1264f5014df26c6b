/* SPDX-License-Identifier: MIT */
/*
 * Registers of the local APIC, in xAPIC and x2APIC mode: the performance-counter entry (LVTPC), end of interrupt, an
 * NMI to the executing CPU.
 *
 * Intel SDM vol 3 (325384-059) 10.4.4, 10.5.1, 10.12: the register at offset X of the page is MSR 800h + (X >> 4) in
 * x2APIC mode. The mode is found out, and never switched.
 */
#ifndef UPMU_X86_APIC_H
#define UPMU_X86_APIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <port/x86_native/x86_instructions.h>

#define UPMU_APIC_BASE_MSR 0x1bu
#define UPMU_APIC_BASE_X2APIC (1u << 10)
#define UPMU_APIC_BASE_ENABLED (1u << 11)

#define UPMU_APIC_EOI 0x0b0u
#define UPMU_APIC_SPURIOUS 0x0f0u
#define UPMU_APIC_LVTPC 0x340u

#define UPMU_APIC_SPURIOUS_ENABLE (1u << 8)
#define UPMU_APIC_LVT_NMI (4u << 8)
#define UPMU_APIC_LVT_MASKED (1u << 16)

enum upmu_apic_mode { UPMU_APIC_NONE = 0, UPMU_APIC_PAGE = 1, UPMU_APIC_X2 = 2 };

struct upmu_apic {
    enum upmu_apic_mode mode;
    /* in mode UPMU_APIC_PAGE: address at which the APIC's page of 4 KiB is mapped, uncached; else NULL */
    volatile uint32_t *page;
};

/* Has the CPU a local APIC (CPUID.1:EDX[9])? Only then MSR 1Bh exists. */
static inline bool upmu_apic_exists(void)
{
    uint32_t leaf[4];

    upmu_x86_cpuid(1, 0, leaf);
    return (leaf[3] >> 9 & 1u) != 0;
}

/* Return the physical address of the executing CPU's APIC page. The CPU must have an APIC (upmu_apic_exists()). */
static inline uint64_t upmu_apic_base(void)
{
    return upmu_x86_rdmsr(UPMU_APIC_BASE_MSR) & ~UINT64_C(0xfff);
}

/*
 * Return how the executing CPU's APIC is reached: by MSRs, or in xAPIC mode by `page`, where its page is mapped.
 * UPMU_APIC_NONE: there is no APIC, it is disabled in MSR 1Bh, or it is in xAPIC mode and `page` is NULL.
 */
static inline struct upmu_apic upmu_apic_find(volatile void *page)
{
    struct upmu_apic apic = {UPMU_APIC_NONE, NULL};
    uint64_t base;

    if (!upmu_apic_exists())
        return apic;
    base = upmu_x86_rdmsr(UPMU_APIC_BASE_MSR);
    if (!(base & UPMU_APIC_BASE_ENABLED))
        return apic;
    if (base & UPMU_APIC_BASE_X2APIC) {
        apic.mode = UPMU_APIC_X2;
    } else if (page != NULL) {
        apic.mode = UPMU_APIC_PAGE;
        apic.page = (volatile uint32_t *)page; /* the cast is for C++ */
    }
    return apic;
}

static inline uint32_t upmu_apic_read(const struct upmu_apic *apic, uint32_t offset)
{
    if (apic->mode == UPMU_APIC_X2)
        return (uint32_t)upmu_x86_rdmsr(0x800u + (offset >> 4));
    return apic->mode == UPMU_APIC_PAGE ? apic->page[offset / 4] : 0;
}

static inline void upmu_apic_write(const struct upmu_apic *apic, uint32_t offset, uint32_t value)
{
    if (apic->mode == UPMU_APIC_X2)
        upmu_x86_wrmsr(0x800u + (offset >> 4), value);
    else if (apic->mode == UPMU_APIC_PAGE)
        apic->page[offset / 4] = value;
}

/*
 * Return the value of LVTPC, unmasked, by which an overflow raises an NMI (`vector` 0) or interrupts on `vector` (16 to
 * 255).
 */
static inline uint32_t upmu_apic_lvtpc(unsigned vector)
{
    return vector == 0 ? UPMU_APIC_LVT_NMI : (uint32_t)vector & 0xffu;
}

/*
 * Raise an NMI on the executing CPU, by its APIC. The NMI is addressed by the APIC's own number, because the shorthand
 * "self" takes fixed delivery only (10.6.1). False: `apic` is UPMU_APIC_NONE, and nothing was done.
 */
static inline bool upmu_apic_self_nmi(const struct upmu_apic *apic)
{
    const uint32_t assert_nmi = 1u << 14 | UPMU_APIC_LVT_NMI;

    if (apic->mode == UPMU_APIC_X2) {
        upmu_x86_wrmsr(0x830u, upmu_x86_rdmsr(0x802u) << 32 | assert_nmi);
    } else if (apic->mode == UPMU_APIC_PAGE) {
        apic->page[0x310 / 4] = apic->page[0x20 / 4] & 0xff000000u;
        apic->page[0x300 / 4] = assert_nmi;
    }
    return apic->mode != UPMU_APIC_NONE;
}

#endif
