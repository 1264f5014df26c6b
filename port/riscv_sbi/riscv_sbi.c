/* SPDX-License-Identifier: MIT */
/*
 * The PMU's registers of M-mode, with the numbers that the backend uses for them, made in software: from calls of the
 * firmware and from the CSRs of S-mode.
 *
 * A write of an event asks the firmware for a counter: the one with the same number, or any that it has for the event.
 * Writes of mcountinhibit start and stop counters; a start sets the value, and clears the flag of an overflow. A
 * stopped counter gives its hardware up to another event that asks for it, because firmware may have only one counter
 * for an event. Without Sscofpmf the firmware may answer with mcycle or minstret. Other programs read these: the port
 * does not stop or write them, and counts differences.
 *
 * Sources: RISC-V SBI 3.0, chapters 3, 4 and 11 (the same numbers in 2.0); what firmware does: OpenSBI 1.1 and 1.9
 * (lib/sbi/sbi_pmu.c); Sscofpmf 1.0; RISC-V privileged architecture 1.12, 4.1.
 */
#include "port/riscv_sbi/riscv_sbi.h"

#ifdef __riscv

#include <port/riscv_native/riscv_csr.h>

#define SBI_BASE 0x10u
#define SBI_PROBE_EXTENSION 3u
#define SBI_VENDOR 4u
#define SBI_PMU 0x504d55u
#define SBI_COUNTERS 0u
#define SBI_INFO 1u
#define SBI_CONFIGURE 2u
#define SBI_START 3u
#define SBI_STOP 4u
#define SBI_RAW_EVENT 0x20000u
#define SBI_RAW_EVENT_BITS 48u
#define SBI_RAW_EVENT_V2 0x30000u /* from 3.0 on: 56 bits */
#define SBI_EVENT_BITS 20u
#define INFO_FIRMWARE (1ul << (__riscv_xlen - 1))
#define CONFIGURE_VUINH 0x8u
#define CONFIGURE_VSINH 0x10u
#define CONFIGURE_UINH 0x20u
#define CONFIGURE_SINH 0x40u
#define CONFIGURE_MINH 0x80u
#define START_WITH_VALUE 1u
#define STOP_AND_RESET 1u

#define MCOUNTINHIBIT 0x320u
#define MHPMEVENT(n) (0x320u + (n))
#define MHPMCOUNTER(n) (0xb00u + (n))
#define SCOUNTOVF 0xda0u
#define MVENDORID 0xf11u
#define CYCLE 0xc00u
#define INSTRET 0xc02u
#define SHARED 5u /* mask: bit 0 is the CSR cycle, bit 2 instret */
#define FIRST 3u
#define STARTS 3u /* the most tries of one start, which interrupts can disturb */
#define BIT(n) (UINT32_C(1) << (n))
#define EVENT (~UINT64_C(0) >> 8)
#define EVENT_OF (UINT64_C(1) << 63)
#define EVENT_MINH (UINT64_C(1) << 62)
#define EVENT_SINH (UINT64_C(1) << 61)
#define EVENT_UINH (UINT64_C(1) << 60)
#define EVENT_VSINH (UINT64_C(1) << 59)
#define EVENT_VUINH (UINT64_C(1) << 58)

#define SSTATUS_SIE 2
#define SIP_LCOFIP (1ul << 13)

/* ---- Calls ---- */

/* Call the firmware. Returns true if the firmware reports no error; *out gets its result, which is in a1. */
static bool call(unsigned long extension, unsigned long function, const unsigned long argument[6], unsigned long *out)
{
    register unsigned long a0 __asm__("a0") = argument[0];
    register unsigned long a1 __asm__("a1") = argument[1];
    register unsigned long a2 __asm__("a2") = argument[2];
    register unsigned long a3 __asm__("a3") = argument[3];
    register unsigned long a4 __asm__("a4") = argument[4];
    register unsigned long a5 __asm__("a5") = argument[5];
    register unsigned long a6 __asm__("a6") = function;
    register unsigned long a7 __asm__("a7") = extension;

    __asm__ volatile("ecall" : "+r"(a0), "+r"(a1) : "r"(a2), "r"(a3), "r"(a4), "r"(a5), "r"(a6), "r"(a7) : "memory");
    *out = a1;
    return !a0;
}

/*
 * The upper half of a value, for RV32: the last argument of the PMU's calls has 64 bits, which are two registers there.
 */
#define UPPER(value) ((unsigned long)(__riscv_xlen == 32 ? (value) >> 32 : 0))

static bool pmu_call(unsigned long function, unsigned long mask, unsigned long flags, uint64_t value)
{
    const unsigned long argument[6] = {0, mask, flags, (unsigned long)value, UPPER(value)};
    unsigned long ignored;

    return call(SBI_PMU, function, argument, &ignored);
}

static bool ask(unsigned long mask, unsigned long flags, unsigned long event, uint64_t data, unsigned long *out_index)
{
    const unsigned long argument[6] = {0, mask, flags, event, (unsigned long)data, UPPER(data)};

    return call(SBI_PMU, SBI_CONFIGURE, argument, out_index);
}

/* ---- Counters ---- */

static struct upmu_riscv_sbi_hart *hart_of(struct upmu_riscv_sbi *sbi)
{
    return sbi->this_hart ? sbi->this_hart(sbi) : &sbi->first;
}

static bool read_csr(uint32_t number, uint64_t *out)
{
    unsigned long low = 0;

    switch (number) {
#if __riscv_xlen == 64
        UPMU_RV_CASE_READ(CYCLE)
        UPMU_RV_CASE_READ(INSTRET) UPMU_RV_29(UPMU_RV_CASE_READ, CYCLE)
#else
        UPMU_RV_READ_TWO(CYCLE)
        UPMU_RV_READ_TWO(INSTRET) UPMU_RV_29(UPMU_RV_READ_TWO, CYCLE)
#endif
            default : break;
    }
    *out = low;
    return true;
}

static bool is_shared(const struct upmu_riscv_sbi_hart *hart, unsigned n)
{
    return hart->at[n] && hart->at[n] <= FIRST;
}

/*
 * Return the mask of the firmware's counter behind counter n of this port; 0: there is none, or it is cycle or instret.
 */
static unsigned long mask_of(const struct upmu_riscv_sbi *sbi, const struct upmu_riscv_sbi_hart *hart, unsigned n)
{
    return hart->at[n] > FIRST ? 1ul << sbi->index[hart->at[n] - 1u] : 0;
}

static uint64_t now(const struct upmu_riscv_sbi *sbi, const struct upmu_riscv_sbi_hart *hart, unsigned n)
{
    uint64_t value = 0;

    if (!(hart->running >> n & 1u) || !hart->at[n])
        return hart->value[n];
    (void)read_csr(CYCLE + hart->at[n] - 1u, &value);
    return is_shared(hart, n) ? (value + hart->value[n]) & ~UINT64_C(0) >> (64u - sbi->identity.width) : value;
}

static void give_up(const struct upmu_riscv_sbi *sbi, struct upmu_riscv_sbi_hart *hart, uint32_t counters)
{
    for (unsigned n = FIRST; n < 32 && counters >> n; n++)
        if (counters >> n & 1u && hart->at[n]) {
            if (!is_shared(hart, n))
                (void)pmu_call(SBI_STOP, mask_of(sbi, hart, n), STOP_AND_RESET, 0);
            hart->at[n] = 0;
            hart->anew |= BIT(n);
        }
}

/* Return the SBI's number (event_idx) of an event; *out_data: the event_data that belong to the number. */
static unsigned long number_of(const struct upmu_riscv_sbi *sbi, uint64_t event, uint64_t *out_data)
{
    *out_data = sbi->identity.sbi_events ? (event & EVENT) >> SBI_EVENT_BITS : event & EVENT;
    if (sbi->identity.sbi_events)
        return (unsigned long)event & (BIT(SBI_EVENT_BITS) - 1u);
    return *out_data >> SBI_RAW_EVENT_BITS ? SBI_RAW_EVENT_V2 : SBI_RAW_EVENT;
}

/*
 * Ask the firmware for one of the counters in `wanted` (bit m: CSR cycle + m) for counter n; false: the firmware gives
 * none of them. The firmware may answer with cycle or instret, which other programs read, too. With Sscofpmf this
 * answer is refused, and a second call lets that counter count all modes again, in case the first one changed this.
 */
static bool obtain(const struct upmu_riscv_sbi *sbi, struct upmu_riscv_sbi_hart *hart, unsigned n, uint32_t wanted)
{
    uint64_t event = hart->event[n], data;
    unsigned long mask = 0, index = 0, number = number_of(sbi, event, &data);
    unsigned long modes = (event & EVENT_UINH ? CONFIGURE_UINH : 0) | (event & EVENT_SINH ? CONFIGURE_SINH : 0) |
                          (event & EVENT_MINH ? CONFIGURE_MINH : 0) | (event & EVENT_VSINH ? CONFIGURE_VSINH : 0) |
                          (event & EVENT_VUINH ? CONFIGURE_VUINH : 0);

    for (unsigned m = FIRST; m < 32; m++)
        mask |= wanted >> m & 1u ? 1ul << sbi->index[m] : 0;
    for (unsigned m = FIRST; m < 32; m++)
        mask &= ~mask_of(sbi, hart, m);
    if (!mask || !ask(mask, modes, number, data, &index))
        return false;
    for (unsigned m = 0; m < 32; m++)
        if (sbi->known >> m & 1u && sbi->index[m] == index && (m >= FIRST || !sbi->identity.sscofpmf)) {
            hart->at[n] = (uint8_t)(m + 1u);
            hart->anew &= ~BIT(n);
            hart->clean |= BIT(n);
            return true;
        }
    if (modes)
        (void)ask(mask, 0, number, data, &index);
    return false;
}

/*
 * Get hardware for the event of a counter, or give it up if there is no event. `starting`: mask of counters that must
 * keep their hardware. False: there is no hardware.
 */
static bool configure(const struct upmu_riscv_sbi *sbi, struct upmu_riscv_sbi_hart *hart, unsigned n, uint32_t starting)
{
    uint32_t idle = sbi->identity.counters & ~(hart->running | starting), same = BIT(n);

    for (unsigned m = FIRST; m < 32; m++)
        if (idle >> m & 1u && !((hart->event[m] ^ hart->event[n]) & EVENT))
            same |= BIT(m);
    give_up(sbi, hart, same);
    hart->anew &= ~BIT(n);
    if (!(hart->event[n] & EVENT) || obtain(sbi, hart, n, BIT(n)) || obtain(sbi, hart, n, sbi->identity.counters))
        return true;
    give_up(sbi, hart, idle);
    return obtain(sbi, hart, n, sbi->identity.counters);
}

/* Is the overflow flag of a counter set, although its value has not wrapped since it was started? */
static bool has_old_flag(const struct upmu_riscv_sbi *sbi, const struct upmu_riscv_sbi_hart *hart, unsigned n)
{
    unsigned long flags = 0;
    uint64_t value = 0;

    if (!sbi->identity.sscofpmf)
        return false;
    UPMU_RV_READ(SCOUNTOVF, flags);
    (void)read_csr(CYCLE + hart->at[n] - 1u, &value);
    return (flags >> (hart->at[n] - 1u) & 1u) && value >= hart->value[n];
}

/*
 * Start a counter. The firmware does not clear an overflow flag while an interrupt is pending, and a set flag
 * suppresses the next overflow's interrupt. So a pending interrupt of another counter is removed during the call, and
 * set again after it. If an interrupt comes during the call, the call is repeated. False: the firmware reports an
 * error.
 */
static bool start(const struct upmu_riscv_sbi *sbi, struct upmu_riscv_sbi_hart *hart, unsigned n)
{
    unsigned long pending;
    bool fine = true;

    hart->clean &= ~BIT(n);
    if (is_shared(hart, n)) {
        uint64_t value = 0;

        (void)read_csr(CYCLE + hart->at[n] - 1u, &value);
        hart->value[n] -= value;
    } else if (hart->at[n]) {
        for (unsigned tries = STARTS; tries; tries--) {
            __asm__ volatile("csrrc %0, sip, %1" : "=r"(pending) : "r"(SIP_LCOFIP) : "memory");
            fine = pmu_call(SBI_START, mask_of(sbi, hart, n), START_WITH_VALUE, hart->value[n]);
            __asm__ volatile("csrs sip, %0" : : "r"(pending & SIP_LCOFIP) : "memory");
            if (!fine || tries == 1 || !has_old_flag(sbi, hart, n))
                break;
            (void)pmu_call(SBI_STOP, mask_of(sbi, hart, n), 0, 0);
        }
    }
    hart->running |= BIT(n);
    return fine;
}

/*
 * Stop counters, and store their values. An error of the firmware is ignored: a counter that another program has
 * stopped is stopped.
 */
static void stop(const struct upmu_riscv_sbi *sbi, struct upmu_riscv_sbi_hart *hart, uint32_t counters)
{
    unsigned long mask = 0;

    for (unsigned n = FIRST; n < 32 && counters >> n; n++)
        if (counters >> n & 1u)
            mask |= mask_of(sbi, hart, n);
    if (mask)
        (void)pmu_call(SBI_STOP, mask, 0, 0);
    for (unsigned n = FIRST; n < 32 && counters >> n; n++)
        if (counters >> n & 1u) {
            hart->value[n] = now(sbi, hart, n);
            hart->running &= ~BIT(n);
        }
}

/* ---- Registers ---- */

/* Return the mask of the port's counters whose flag in scountovf is set, but not acknowledged (`clean`). */
static uint32_t overflows(const struct upmu_riscv_sbi_hart *hart)
{
    unsigned long flags = 0;
    uint32_t result = 0;

    UPMU_RV_READ(SCOUNTOVF, flags);
    for (unsigned n = FIRST; n < 32 && flags; n++)
        if (hart->at[n] > FIRST && flags >> (hart->at[n] - 1u) & 1u)
            result |= BIT(n);
    return result & ~hart->clean;
}

static uint64_t vendor(void)
{
    const unsigned long none[6] = {0};
    unsigned long out = 0;

    return call(SBI_BASE, SBI_VENDOR, none, &out) ? out : 0;
}

static bool is_counter(uint32_t number)
{
    return number >= MHPMCOUNTER(FIRST) && number < MHPMCOUNTER(32);
}

static bool is_event(uint32_t number)
{
    return number >= MHPMEVENT(FIRST) && number < MHPMEVENT(32);
}

static bool read_register(void *context, uint32_t number, uint64_t *out_value)
{
    struct upmu_riscv_sbi *sbi = (struct upmu_riscv_sbi *)context;
    const struct upmu_riscv_sbi_hart *hart = hart_of(sbi);

    if (is_counter(number))
        *out_value = now(sbi, hart, number & 31u);
    else if (is_event(number))
        *out_value = hart->event[number & 31u];
    else if (number == MCOUNTINHIBIT)
        *out_value = sbi->identity.counters & ~hart->running;
    else if (number == SCOUNTOVF)
        *out_value = overflows(hart);
    else if (number == MVENDORID)
        *out_value = vendor();
    else
        return false;
    return true;
}

static bool write_gates(const struct upmu_riscv_sbi *sbi, struct upmu_riscv_sbi_hart *hart, uint32_t inhibited)
{
    uint32_t starts = sbi->identity.counters & ~inhibited & ~hart->running;
    bool fine = true;

    stop(sbi, hart, hart->running & inhibited);
    for (unsigned n = FIRST; n < 32 && starts >> n; n++)
        if (starts & hart->anew & BIT(n))
            fine &= configure(sbi, hart, n, starts);
    for (unsigned n = FIRST; n < 32 && starts >> n; n++)
        if (starts & BIT(n))
            fine &= start(sbi, hart, n);
    return fine;
}

/*
 * Write an event. Writing the event that the counter has, without the bit OF, acknowledges an overflow: the counter's
 * next start clears the firmware's flag.
 */
static bool write_event(const struct upmu_riscv_sbi *sbi, struct upmu_riscv_sbi_hart *hart, unsigned n, uint64_t value)
{
    uint64_t changed = (hart->event[n] ^ value) & ~EVENT_OF;

    hart->event[n] = value & ~EVENT_OF;
    if (changed)
        return configure(sbi, hart, n, 0);
    if (!(value & EVENT_OF))
        hart->clean |= BIT(n);
    return true;
}

static bool write_register(void *context, uint32_t number, uint64_t value)
{
    struct upmu_riscv_sbi *sbi = (struct upmu_riscv_sbi *)context;
    struct upmu_riscv_sbi_hart *hart = hart_of(sbi);
    uint32_t running = hart->running & BIT(number & 31u);
    bool fine = true;

    if (number == MCOUNTINHIBIT)
        return write_gates(sbi, hart, (uint32_t)value);
    if (!is_counter(number) && !is_event(number))
        return false;
    stop(sbi, hart, running);
    if (is_counter(number))
        hart->value[number & 31u] = value;
    else
        fine = write_event(sbi, hart, number & 31u, value);
    return (!running || start(sbi, hart, number & 31u)) && fine;
}

/* ---- The hooks besides rdmsr and wrmsr ---- */

static void identify(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    upmu_riscv_cpuid(&((const struct upmu_riscv_sbi *)context)->identity, leaf, subleaf, out);
}

static uintptr_t irq_save(void *context)
{
    uintptr_t state;

    (void)context;
    __asm__ volatile("csrrci %0, sstatus, %1" : "=r"(state) : "i"(SSTATUS_SIE) : "memory");
    return state & SSTATUS_SIE;
}

static void irq_restore(void *context, uintptr_t state)
{
    (void)context;
    __asm__ volatile("csrs sstatus, %0" : : "r"(state) : "memory");
}

static void pmi_rearm(void *context)
{
    (void)context;
    __asm__ volatile("csrc sip, %0" : : "r"(SIP_LCOFIP) : "memory");
}

/*
 * Find the counters of the hardware; sbi->identity.width is that of the narrowest one. Only the first 32 counters of
 * the firmware are looked at, because a mask of counters is one register, which has 32 bits on RV32.
 */
static void find_counters(struct upmu_riscv_sbi *sbi)
{
    const unsigned long none[6] = {0};
    unsigned long count = 0, info = 0;

    if (!call(SBI_PMU, SBI_COUNTERS, none, &count))
        count = 0;
    for (unsigned long i = 0; i < count && i < 32; i++) {
        const unsigned long which[6] = {i};
        unsigned n;

        if (!call(SBI_PMU, SBI_INFO, which, &info) || info & INFO_FIRMWARE || (info & 0xfe0u) != CYCLE)
            continue;
        n = info & 31u;
        sbi->known |= BIT(n);
        sbi->index[n] = (uint8_t)i;
        if (n >= FIRST && (!sbi->identity.width || sbi->identity.width > (info >> 12 & 63u) + 1u))
            sbi->identity.width = (uint8_t)((info >> 12 & 63u) + 1u);
    }
    sbi->identity.counters = sbi->known & ~UINT32_C(7);
    sbi->known &= sbi->identity.counters | SHARED;
}

bool upmu_riscv_sbi_port(struct upmu_riscv_sbi *sbi, struct upmu_port *port)
{
    const unsigned long extension[6] = {SBI_PMU};
    unsigned long there = 0;

    if (!call(SBI_BASE, SBI_PROBE_EXTENSION, extension, &there) || !there)
        return false;
    find_counters(sbi);
    port->context = sbi;
    port->rdmsr = read_register;
    port->wrmsr = write_register;
    port->cpuid = identify;
    port->irq_save = irq_save;
    port->irq_restore = irq_restore;
    port->pmi_rearm = sbi->identity.sscofpmf ? pmi_rearm : NULL;
    port->msr_faults_are_safe = true; /* no access faults; a false of rdmsr or wrmsr: the firmware refused the access */
    port->in_kernel_mode = true;
    return sbi->identity.counters != 0;
}

#endif
