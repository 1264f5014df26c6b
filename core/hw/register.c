/* SPDX-License-Identifier: MIT */
/*
 * Facts of a PMU's register table: which bits may be set, which counters are in use, names and addresses.  Pure; the
 * table is the backend's.
 */
#include "core/hw/register.h"
#include "core/util/bits.h"
#include "core/hw/backend.h"

uint64_t upmu_register_settable(const struct upmu_pmu *pmu, unsigned row, enum upmu_level level)
{
    const struct upmu_register_class *class;
    uint64_t bits;

    if (row >= pmu->table->row_count || !upmu_rows_has(pmu->present, row))
        return 0;
    class = upmu_register_class_of(pmu, row);
    bits = class->session;
    if (level >= UPMU_LEVEL_PRIVILEGED)
        bits |= class->privileged;
    if (level >= UPMU_LEVEL_LIBRARY)
        bits = ~UINT64_C(0);
    return bits & upmu_register_bits(pmu, row);
}

bool upmu_register_in_use(const struct upmu_pmu *pmu, unsigned counter, uint64_t select, uint64_t first)
{
    unsigned row = pmu->counter[counter].select_row;
    const struct upmu_register_class *class = upmu_register_class_of(pmu, row);

    if (class->by_counter)
        select &= pmu->backend->bits_of(pmu, row, counter);
    return (select & class->in_use) && !(class->enables_all & ~first);
}

uint32_t upmu_register_claims(const struct upmu_pmu *pmu, const uint64_t *found)
{
    uint64_t first = found[pmu->counter[0].select_row];
    uint32_t counters = 0;

#if UPMU_FOREIGN
    if (pmu->backend->claims)
        return pmu->backend->claims(pmu, found);
#endif
    for (uint32_t rest = pmu->counters; rest; rest &= rest - 1u)
        if (upmu_register_in_use(pmu, upmu_bits_lowest(rest), found[pmu->counter[upmu_bits_lowest(rest)].select_row],
                                 first))
            counters |= rest & (0u - rest);
    return counters;
}

unsigned upmu_register_find(const struct upmu_pmu *pmu, uint32_t address)
{
    for (unsigned row = 0; row < pmu->table->row_count; row++)
        if (pmu->table->rows[row].address == address && upmu_rows_has(pmu->present, row))
            return row;
    return UPMU_NO_ROW;
}

void upmu_register_add_counter(struct upmu_pmu *pmu, unsigned counter, const struct upmu_counter *description)
{
    const uint8_t rows[] = { description->value_row, description->write_row, description->select_row,
                             description->gate_row };

    pmu->counter[counter] = *description;
    pmu->counters |= UPMU_BIT32(counter);
    for (unsigned i = 0; i < sizeof rows; i++)
        upmu_rows_set(pmu->present, rows[i]);
}

const char *upmu_register_name(const struct upmu_pmu *pmu, unsigned row)
{
    if (row >= pmu->table->row_count || !upmu_rows_has(pmu->present, row))
        return 0;
    return pmu->table->text + pmu->table->rows[row].name;
}

uint32_t upmu_register_address(const struct upmu_pmu *pmu, unsigned row)
{
    return row < pmu->table->row_count ? pmu->table->rows[row].address : 0;
}
