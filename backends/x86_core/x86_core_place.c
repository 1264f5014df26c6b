/* SPDX-License-Identifier: MIT */
/*
 * The ways to run an event of an Intel core PMU: one, or for offcore responses one
 * for each of the two payload registers, whose event codes differ.
 *
 * Source: Linux arch/x86/events/intel/core.c (extra registers): B7h/01h goes with
 * MSR 1A6h, BBh/01h with 1A7h.
 */
#include "backends/x86_core/x86_core.h"
#include "backends/x86_core/x86_core_registers.h"
#include "core/bits.h"
#include "core/mem.h"

#if UPMU_BACKEND_X86_CORE

#define OFFCORE_CODE0 0xB7u
#define OFFCORE_CODE1 0xBBu

/* Which offcore register alternative `i` uses: first the one of the event's own code. */
static unsigned offcore_index(const struct upmu_event *event, unsigned i)
{
    return ((event->config & UPMU_X86_SELECT_EVENT) == OFFCORE_CODE1 ? 1u : 0u) ^ i;
}

unsigned upmu_x86_core_resource_row(const struct upmu_pmu *pmu, unsigned resource)
{
    static const uint8_t rows[UPMU_X86_RESOURCES] = { UPMU_X86_ROW_OFFCORE, UPMU_X86_ROW_OFFCORE + 1,
                                                      UPMU_X86_ROW_LDLAT, UPMU_X86_ROW_FRONTEND };

    if (resource >= UPMU_X86_RESOURCES || !upmu_rows_has(pmu->present, rows[resource]))
        return UPMU_NO_ROW;
    return rows[resource];
}

const char *upmu_x86_core_resource_name(const struct upmu_pmu *pmu, unsigned resource)
{
    static const char names[UPMU_X86_RESOURCES][16] = { "OFFCORE_RSP_0", "OFFCORE_RSP_1", "LD_LAT", "FRONTEND" };

    (void)pmu;
    return resource < UPMU_X86_RESOURCES ? names[resource] : "?";
}

bool upmu_x86_core_alternative(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned i,
                               struct upmu_alternative *out)
{
    bool offcore = event->payload == UPMU_X86_PAYLOAD_OFFCORE;
    unsigned resource = offcore ? UPMU_X86_RESOURCE_OFFCORE0 + offcore_index(event, i & 1u)
                                : UPMU_X86_RESOURCE_LDLAT + event->payload - UPMU_X86_PAYLOAD_LDLAT;

    if (i > offcore || (event->payload && upmu_x86_core_resource_row(pmu, resource) == UPMU_NO_ROW))
        return false;
    memset(out, 0, sizeof *out);
    out->slot_count = 1;
    out->slot[0].counters = event->counters;
    if (event->payload) {
        out->slot[0].resource_count = 1;
        out->slot[0].resource[0] = (uint8_t)resource;
        out->slot[0].value[0] = event->config1;
    }
    return true;
}

uint64_t upmu_x86_core_select(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned alternative)
{
    (void)pmu;
    if (event->payload != UPMU_X86_PAYLOAD_OFFCORE)
        return event->config;
    return (event->config & ~UPMU_X86_SELECT_EVENT) |
           (offcore_index(event, alternative & 1u) ? OFFCORE_CODE1 : OFFCORE_CODE0);
}

#endif
