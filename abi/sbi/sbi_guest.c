/* SPDX-License-Identifier: MIT */
/*
 * The PMU of a virtual CPU, for a hypervisor in HS-mode: its values are in the registers of a hart from a load to a
 * put, and its gates are open from an entry to an exit. A call of the guest (sbi_pmu.c) changes events and values
 * between an exit and an entry.
 *
 * Overflow flags of the guest are in memory (pmu->overflowed), because the hart's flags belong to the vCPU that is
 * loaded. A flag in hardware is a new overflow: an entry clears the flags, which the guest has been told, of counters
 * that run, by a write of the event.
 *
 * Sources: RISC-V privileged architecture 1.12, hypervisor extension (hcounteren); Sscofpmf 1.0.
 */
#include "abi/sbi/sbi_pmu.h"

#define GUEST_UPPER 0x80u /* of the number of a counter's upper half, on RV32 */

/* Return the mask of the counters of hardware that have an event. */
static uint32_t guest_counters(const struct upmu_sbi_pmu *pmu)
{
    return (uint32_t)pmu->configured & pmu->config->counters;
}

/* Return the mask of the counters of hardware that run in the guest. */
static uint32_t guest_running(const struct upmu_sbi_pmu *pmu)
{
    return (uint32_t)pmu->counting & pmu->config->counters;
}

/* Write the events of counters, or with `none` no event. The write clears a counter's overflow flag. */
static bool events_write(const struct upmu_sbi_pmu *pmu, uint32_t counters, bool none)
{
    bool fine = true;

    for (; counters; counters &= counters - 1u) {
        unsigned counter = upmu_bits_lowest(counters);

        fine &= csr_write(pmu, SBI_MHPMEVENT(counter), none ? 0 : pmu->select[counter]);
    }
    return fine;
}

enum upmu_status upmu_sbi_pmu_load(struct upmu_sbi_pmu *pmu)
{
    bool fine;

    if (!pmu->config->guest || pmu->is_loaded)
        return UPMU_ERR_STATE;
    fine = events_write(pmu, guest_counters(pmu), false);
    for (uint32_t rest = guest_counters(pmu); rest; rest &= rest - 1u) {
        unsigned counter = upmu_bits_lowest(rest);

        fine &= csr_write(pmu, SBI_MHPMCOUNTER(counter), pmu->saved[counter]);
    }
    if (!fine) {
        (void)events_write(pmu, guest_counters(pmu), true);
        return UPMU_ERR_PORT;
    }
    pmu->is_loaded = true;
    return UPMU_OK;
}

enum upmu_status upmu_sbi_pmu_put(struct upmu_sbi_pmu *pmu)
{
    bool fine = true;

    if (!pmu->is_loaded || pmu->is_entered)
        return UPMU_ERR_STATE;
    for (uint32_t rest = guest_counters(pmu); rest; rest &= rest - 1u) {
        unsigned counter = upmu_bits_lowest(rest);

        fine &= csr_read(pmu, SBI_MHPMCOUNTER(counter), &pmu->saved[counter]);
    }
    fine &= events_write(pmu, guest_counters(pmu), true);
    pmu->is_loaded = false;
    return fine ? UPMU_OK : UPMU_ERR_PORT;
}

enum upmu_status upmu_sbi_pmu_enter(struct upmu_sbi_pmu *pmu)
{
    uint32_t running = guest_running(pmu);
    bool fine;

    if (!pmu->is_loaded || pmu->is_entered)
        return UPMU_ERR_STATE;
    fine = events_write(pmu, pmu->overflowed & running, false);
    pmu->is_entered = true;
    return (!running || csr_change(pmu, SBI_MCOUNTINHIBIT, 0, running)) && fine ? UPMU_OK : UPMU_ERR_PORT;
}

enum upmu_status upmu_sbi_pmu_exit(struct upmu_sbi_pmu *pmu, bool *out_overflow)
{
    uint32_t running = guest_running(pmu), flags;
    uint64_t status = 0;
    bool fine;

    *out_overflow = false;
    if (!pmu->is_entered)
        return UPMU_ERR_STATE;
    pmu->is_entered = false;
    if (!running)
        return UPMU_OK;
    fine = csr_change(pmu, SBI_MCOUNTINHIBIT, running, 0);
    if (pmu->config->sscofpmf)
        fine &= csr_read(pmu, SBI_SCOUNTOVF, &status);
    flags = (uint32_t)status & running;
    *out_overflow = (flags & ~pmu->overflowed) != 0;
    pmu->overflowed |= flags;
    return fine ? UPMU_OK : UPMU_ERR_PORT;
}

bool upmu_sbi_pmu_csr(const struct upmu_sbi_pmu *pmu, unsigned csr, unsigned long *out_value)
{
    bool upper = SBI_XLEN == 32 && csr & GUEST_UPPER;
    unsigned counter = csr & 31u;
    uint64_t value;

    if (!pmu->config->guest)
        return false;
    if (csr == SBI_SCOUNTOVF && pmu->config->sscofpmf) {
        *out_value = pmu->overflowed;
        return true;
    }
    if (csr - (upper ? GUEST_UPPER : 0) != SBI_CYCLE + counter || !(guest_counters(pmu) >> counter & 1u))
        return false;
    value = pmu->saved[counter];
    if (pmu->is_loaded && !csr_read(pmu, SBI_MHPMCOUNTER(counter), &value))
        return false;
    *out_value = (unsigned long)(upper ? value >> 32 : value);
    return true;
}
