/* SPDX-License-Identifier: MIT */
/*
 * The bank's short ways, for registers that are known, and that nothing else has bits of, and for counters whose
 * enable bits are in one register of their own.  What is not so goes by core/hw/bank.h.
 */
#ifndef UPMU_CORE_BANK_INLINE_H
#define UPMU_CORE_BANK_INLINE_H

#include "core/util/bits.h"
#include "core/hw/bank.h"
#include "core/hw/port_call.h"

#if UPMU_BRANCHES

/* upmu_bank_read_address() for many in a row, of which one faults at most: *reads counts them. */
static inline bool upmu_bank_read_next(struct upmu_bank *bank, const struct upmu_port *port, uint32_t address,
                                       uint32_t *reads, uint64_t *out_value)
{
    ++*reads;
    if (__builtin_expect(port_rdmsr(port, address, out_value), 1))
        return true;
    bank->faulted = address;
    return false;
}

#endif

/* Is all of a register known and ours? */
static inline bool upmu_bank_is_plain(const struct upmu_bank *bank, unsigned row)
{
    return (bank->state[row] & (UPMU_ROW_KNOWN | UPMU_ROW_FOUND | UPMU_ROW_PUT_OFF | UPMU_ROW_MIXED)) ==
           (UPMU_ROW_KNOWN | UPMU_ROW_FOUND);
}

/* Enable bits of counters (upmu_meter.straight): general ones from bit 0 on, fixed ones from bit 32 on. */
static inline uint64_t upmu_enable_bits(uint32_t counters)
{
    return (counters & 0xffffu) | (uint64_t)(counters & 0xffff0000u) << 16;
}

/* What a handler clears to stop counters: metrics have one enable bit together. */
static inline uint64_t upmu_stop_bits(const struct upmu_pmu *pmu, uint32_t counters)
{
    uint32_t metrics = counters & UPMU_METRIC_COUNTERS(pmu);
    uint64_t bits = upmu_enable_bits(counters ^ metrics);

    if (UPMU_METRICS && __builtin_expect(metrics != 0, 0))
        bits |= UPMU_BIT64(pmu->counter[upmu_bits_lowest(metrics)].gate_bit);
    return bits;
}

/*
 * Write a common gate, which is plain: shadow first.  A fault puts the shadow back and makes the register unknown.
 */
static inline bool upmu_bank_put_gate(struct upmu_bank *bank, unsigned row, uint64_t value)
{
    uint64_t before = bank->shadow[row];

    bank->shadow[row] = value;
    UPMU_BARRIER();
    upmu_bank_counted(bank)->writes++;
    if (__builtin_expect(port_wrmsr(bank->port, bank->rows[row].address, value), 1))
        return true;
    bank->faulted = bank->rows[row].address;
    bank->shadow[row] = before;
    UPMU_BARRIER();
    upmu_bank_forget_row(bank, row);
    return false;
}

/* The same of any plain register. */
static inline bool upmu_bank_put(struct upmu_bank *bank, unsigned row, uint64_t value)
{
    bank->version++;
    return upmu_bank_put_gate(bank, row, value);
}

/* A handler has cleared these bits of the register already (upmu_bank_enable_without()). */
static inline void upmu_bank_note_closed(struct upmu_bank *bank, unsigned row, uint64_t bits)
{
    bank->shadow[row] &= ~bits;
}

/* The enable register as its shadow says, without some bits. */
static inline bool upmu_bank_enable_without(struct upmu_bank *bank, uint64_t stopped)
{
    unsigned row = bank->pmu->counter[0].gate_row;

    upmu_bank_counted(bank)->writes++;
    if (__builtin_expect(port_wrmsr(bank->port, bank->rows[row].address, bank->shadow[row] & ~stopped), 1))
        return true;
    bank->faulted = bank->rows[row].address;
    return false;
}

#endif
