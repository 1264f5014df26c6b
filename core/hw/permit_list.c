/* SPDX-License-Identifier: MIT */
/*
 * The allow-list of a PMU, made from its register table.  Pure.
 */
#include "core/hw/permit_core.h"
#include "core/hw/backend.h"
#include "core/hw/register.h"
#include "core/util/apart.h"
#include "core/util/bits.h"

#if UPMU_PERMIT

/* Has a register bits of several counters, of which a program may set those of its own counters? */
static bool is_shared(const struct upmu_pmu *pmu, unsigned row, const struct upmu_register_class *class)
{
    return row == pmu->ack_row || (class->kind == UPMU_KIND_CONTROL && (class->gates || class->by_counter));
}

/* Returns the bits of one counter in a register for which is_shared() is true. */
static uint64_t part_of(const struct upmu_pmu *pmu, unsigned row, const struct upmu_register_class *class,
                        unsigned counter)
{
    const struct upmu_counter *of = &pmu->counter[counter];

    if (row == pmu->ack_row)
        return pmu->backend->acknowledge(pmu, UPMU_BIT32(counter));
    if (class->by_counter)
        return of->select_row == row ? pmu->backend->bits_of(pmu, row, counter) : 0;
    return of->gate_row == row ? UPMU_BIT64(of->gate_bit) : 0;
}

/*
 * May a register be read by its owners?  IBS registers have addresses of other programs; an acknowledgement reads as 0.
 */
static bool may_be_read(const struct upmu_pmu *pmu, unsigned row, const struct upmu_register_class *class)
{
    if (class->kind == UPMU_KIND_STATUS)
        return row == pmu->status_row || row == pmu->inuse_row;
    return class->access == UPMU_ACCESS_RW;
}

/*
 * Returns the first entry of upmu_backend.beyond for a register whose mask is below bit 16, in the form of
 * upmu_permit.beyond; 0: there is none.
 */
static uint32_t beyond_of(const struct upmu_pmu *pmu, unsigned row)
{
    const struct upmu_beyond *event = pmu->backend->beyond ? pmu->backend->beyond(pmu) : NULL;

    for (; event && event->rows; event++)
        if (row - event->row < event->rows && !(event->mask >> 16))
            return (uint32_t)(event->mask << 16 | event->event);
    return 0;
}

/*
 * Fill in the row of the allow-list for one part of a register.  Where a register has bits of several counters, part n
 * is the bits of counter n.  A register of one counter, or of all counters together, has part 0 alone.  Returns false:
 * there is no such part.
 */
static UPMU_APART bool describe_permit(const struct upmu_pmu *pmu, unsigned row, unsigned part, struct upmu_permit *out)
{
    const struct upmu_register_class *class = upmu_register_class_of(pmu, row);
    uint64_t bits = upmu_register_bits(pmu, row);
    unsigned counter = pmu->table->rows[row].counter;
    bool readable = may_be_read(pmu, row, class);
    uint64_t session;

    if (!upmu_rows_has(pmu->present, row) || class->space != UPMU_SPACE_MSR)
        return false;
    out->address = pmu->table->rows[row].address;
    out->beyond = beyond_of(pmu, row);
    session = class->session & ~class->beyond; /* bits `beyond` (AnyThread) also count other programs */
    if (is_shared(pmu, row, class)) {
        if (!(pmu->counters >> part & 1u))
            return false;
        bits &= part_of(pmu, row, class, part);
        out->counters = UPMU_BIT32(part);
        out->flags = (readable ? UPMU_PERMIT_READ : 0) | UPMU_PERMIT_PART;
        if (class->session | class->privileged) {
            out->session = bits & session;
            out->privileged = bits & (class->session | class->privileged);
        } else {
            out->flags |= UPMU_PERMIT_MERGED;
            out->session = out->privileged = bits;
        }
        return bits != 0;
    }
    out->session = bits & session;
    out->privileged = bits & (class->session | class->privileged);
    out->flags = readable ? UPMU_PERMIT_READ : 0;
    if (counter == UPMU_NO_COUNTER || (class->enables_all && counter == 0))
        out->counters = out->privileged || class->kind == UPMU_KIND_COUNTER ? pmu->counters : 0;
    else
        out->counters = UPMU_BIT32(counter);
    return !part && (out->flags || out->privileged);
}

size_t upmu_permit_list(const struct upmu_pmu *pmu, struct upmu_permit *rows, size_t capacity)
{
    size_t count = 0;

    for (unsigned row = 0; row < pmu->table->row_count; row++)
        for (unsigned part = 0; part < UPMU_COUNTERS; part++) {
            struct upmu_permit one;

            if (!describe_permit(pmu, row, part, &one))
                continue;
            if (count < capacity)
                rows[count] = one;
            count++;
        }
    return count;
}

bool upmu_msr_permitted_on(const struct upmu_pmu *pmu, uint32_t mine, enum upmu_level level, uint32_t msr,
                           const uint64_t *value)
{
    struct permit_sum sum = {0};
    struct upmu_permit one;

    for (unsigned row = 0; row < pmu->table->row_count; row++)
        if (pmu->table->rows[row].address == msr)
            for (unsigned part = 0; part < UPMU_COUNTERS; part++)
                if (describe_permit(pmu, row, part, &one))
                    upmu_permit_weigh(&sum, &one, mine, level);
    return upmu_permit_allows(&sum, value);
}

bool upmu_msr_permitted(const struct upmu_machine *machine, enum upmu_level level, uint32_t msr, const uint64_t *value)
{
    unsigned count = __atomic_load_n(&machine->pmu_count, __ATOMIC_ACQUIRE); /* upmu_cpu_init() may add a PMU */

    for (unsigned i = 0; i < count; i++)
        if (!upmu_msr_permitted_on(&machine->pmu[i], ~UINT32_C(0), level, msr, value))
            return false;
    return count != 0;
}

#endif
