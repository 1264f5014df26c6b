/* SPDX-License-Identifier: MIT */
/*
 * Lists of events of AMD's Zen for tests and measurements of packing, drawn from its
 * catalogues: a third merge two counters (Linux arch/x86/events/amd/core.c), some are
 * pinned to one.
 */
#ifndef UPMU_ZEN_SHAPES_H
#define UPMU_ZEN_SHAPES_H

#include <stdio.h>
#include <string.h>
#include <upmu/upmu.h>
#include "core/hw/backend.h"
#include "tests/common/place_shapes.h"

static inline void shape_zen_event(const struct upmu_pmu *pmu, uint64_t *random, struct upmu_event *event)
{
    char name[160];

    do {
        unsigned row = shape_random(random, upmu_catalog_rows(pmu->catalog)), pin = shape_random(random, 24);
        size_t length = upmu_catalog_row_name(pmu->catalog, row, name, 80);

        if (shape_chance(random, 33))
            (void)snprintf(name, sizeof name, "r%x", 0x03u | (1u + shape_random(random, 15)) << 8);
        else if (upmu_catalog_mask_name(pmu->catalog, row, shape_random(random, 4), name + length + 1, 60))
            name[length] = ':';
        length = strlen(name);
        if (pin < 6)
            (void)snprintf(name + length, sizeof name - length, ":counter=%u", pin);
    } while (upmu_event_parse(pmu, name, event, NULL) != UPMU_OK);
}

/* False: there is no such model. */
static inline bool shape_zen(struct shape *shape, uint64_t *random, unsigned count, const char *model)
{
    static struct upmu_pmu pmu;
    struct upmu_event event;

    if (upmu_pmu_by_name(&pmu, model) != UPMU_OK)
        return false;
    shape_begin(shape, pmu.counters);
    shape->input.request_count = count;
    for (unsigned i = 0; i < count; i++) {
        unsigned *ways = &shape->alternative_count[i];

        shape_zen_event(&pmu, random, &event);
        while (pmu.backend->alternative(&pmu, &event, 0, *ways, &shape->alternative[i][*ways]))
            ++*ways;
    }
    return true;
}

#endif
