/* SPDX-License-Identifier: MIT */
/*
 * Counts searches for places.
 */
#include "core/hw/backend.h"
#include "core/place/placement.h"
#include "tests/common/searches.h"

static const struct upmu_backend *original[UPMU_CORE_TYPES];
static struct upmu_backend counting[UPMU_CORE_TYPES];
static struct upmu_machine *machine;
static unsigned searches;

/* In the work area of the executing CPU a search that has just begun has read no request yet. */
static bool alternative(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned thread, unsigned i,
                        struct upmu_alternative *out)
{
    const struct upmu_cpu *cpu = machine->port->this_cpu(machine->port->context);
    const struct placement *placement = (const struct placement *)(const void *)cpu->meter.work;

    searches += i == 0 && placement->count == 0;
    return original[pmu - machine->pmu]->alternative(pmu, event, thread, i, out);
}

void upmu_test_count_searches(struct upmu_machine *of)
{
    machine = of;
    for (unsigned i = 0; i < machine->pmu_count; i++) {
        original[i] = machine->pmu[i].backend;
        counting[i] = *original[i];
        counting[i].alternative = alternative;
        machine->pmu[i].backend = &counting[i];
    }
}

unsigned upmu_test_searches(void)
{
    return searches;
}
