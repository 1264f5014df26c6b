/* SPDX-License-Identifier: MIT */
/* Check whether the events of a set can be counted on a unit. */
#include "core/event/unit_names.h"
#include "core/engine/unit_core.h"

#if UPMU_UNCORE

enum upmu_status upmu_unit_check(const struct upmu_meter *meter, const struct upmu_set *set)
{
    const struct upmu_unit *unit = (const struct upmu_unit *)(const void *)meter;
    uint64_t filters = 0;

    for (const struct upmu_event *event = set->event; event < set->event + set->count; event++) {
        filters |= event->config1 | event->config2;
        for (unsigned i = 0; event->unit && i < unit->boxes; i++)
            if (!upmu_unit_is_meant(meter->machine->units, unit->box + i, event))
                return UPMU_ERR_WRONG_PMU;
    }
    /*
     * Filters in a companion function of the box are the last rows of the table; the state is 0 where a box lacks them.
     */
    return filters && !meter->bank.state[meter->pmu->table->row_count - 1u] ? UPMU_ERR_UNSUPPORTED : UPMU_OK;
}

#endif
