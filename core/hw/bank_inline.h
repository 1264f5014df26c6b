/* SPDX-License-Identifier: MIT */
/* Functions of the bank that are inlined, because they are called very often. */
#ifndef UPMU_CORE_BANK_INLINE_H
#define UPMU_CORE_BANK_INLINE_H

#include "core/util/bits.h"
#include "core/util/shared.h"
#include "core/hw/bank.h"
#include "core/hw/port_call.h"

#if UPMU_BRANCHES || UPMU_PRECISE || UPMU_FOREIGN

/* As upmu_bank_read_address(), for a series of reads that ends with the first fault.  The read is counted in *reads. */
static inline bool upmu_bank_read_next(struct upmu_bank *bank, const struct upmu_port *port, uint32_t address,
                                       uint32_t *reads, uint64_t *out_value)
{
    ++*reads;
    if (__builtin_expect(port_rdmsr(port, address, out_value), 1))
        return true;
    return upmu_bank_note_fault(bank, address);
}

#endif

/* Returns the mask of the bits that a counter's value has. */
static inline uint64_t upmu_bank_value_bits(const struct upmu_bank *bank, unsigned counter)
{
    return __builtin_expect(bank->value_bits != 0, 1) ? bank->value_bits
                                                      : upmu_bits_ones(bank->pmu->counter[counter].width);
}

/* As upmu_bank_read(), and inlined.  `bits`: the counter's upmu_bank_value_bits(). */
static inline bool upmu_bank_count(struct upmu_bank *bank, unsigned counter, uint64_t bits, uint64_t *out_value)
{
    uint64_t value, other; /* two variables: a single one, whose address is passed, would be kept in memory */
    bool fine;

    if (__builtin_expect(bank->by_rdpmc >> counter & 1u, 1)) {
        upmu_bank_counted(bank)->rdpmcs++;
        if (__builtin_expect(port_rdpmc(bank->port, bank->pmu->counter[counter].rdpmc, &value), 1)) {
            *out_value = value & bits;
            return true;
        }
        UPMU_STORE(bank->by_rdpmc, 0);
    }
    fine = upmu_bank_read_register(bank, counter, &other);
    *out_value = other & bits;
    return fine;
}

/*
 * Is a register known, found, reachable and not put off, with all of its bits upmu's own?  Then a write needs no read
 * before it.
 */
static inline bool upmu_bank_is_plain(const struct upmu_bank *bank, unsigned row)
{
    return (bank->state[row] & ~(UPMU_ROW_SHADOWED | UPMU_ROW_SHARED)) ==
           (UPMU_ROW_KNOWN | UPMU_ROW_FOUND | UPMU_ROW_REACHABLE);
}

/*
 * Returns the enable bits of counters in a dense register: bit n of general counter n, bit 32 + i of fixed counter i.
 */
static inline uint64_t upmu_enable_bits(uint32_t counters)
{
    return (counters & 0xffffu) | (uint64_t)(counters & 0xffff0000u) << 16;
}

/* Are the enable bits of all these counters where upmu_enable_bits() has them (UPMU_GATES_DENSE)?  Metrics' are not. */
static inline bool upmu_bank_is_dense(const struct upmu_bank *bank, uint32_t counters)
{
    return bank->gates == UPMU_GATES_DENSE && !(UPMU_METRICS && counters >> 24);
}

/*
 * Return the enable bits that counters of *counters have in the register of a row, and remove these counters from the
 * mask *counters.
 */
static inline uint64_t upmu_bank_take_gates(const struct upmu_bank *bank, uint32_t *counters, unsigned row)
{
    const struct upmu_counter *counter = bank->pmu->counter;
    uint32_t all = *counters, one;

    if (!all)
        return 0;
    if (upmu_bank_is_dense(bank, all) && row == counter[0].gate_row) {
        *counters = 0;
        return upmu_enable_bits(all);
    }
    if (bank->gates != UPMU_GATES_APART)
        return upmu_bank_take_each(bank, counters, row);
    one = all & UPMU_BIT32(bank->rows[row].counter & 31u);
    *counters ^= one;
    return one ? UPMU_BIT64(counter[bank->rows[row].counter].gate_bit) : 0;
}

#endif
