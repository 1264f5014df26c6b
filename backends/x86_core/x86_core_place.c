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

_Static_assert(UPMU_X86_PAYLOAD_LDLAT == UPMU_X86_RESOURCE_LDLAT &&
                   UPMU_X86_PAYLOAD_FRONTEND == UPMU_X86_RESOURCE_FRONTEND,
               "a payload's resource is its kind");

/* Offcore: first the one of the event's own code, then the other. */
unsigned upmu_x86_core_resource(const struct upmu_event *event, unsigned alternative)
{
    if (event->payload != UPMU_X86_PAYLOAD_OFFCORE)
        return event->payload;
    return ((event->config & UPMU_X86_SELECT_EVENT) == OFFCORE_CODE1) ^ (alternative & 1u) ? UPMU_X86_RESOURCE_OFFCORE1
                                                                                           : UPMU_X86_RESOURCE_OFFCORE0;
}

unsigned upmu_x86_core_resource_row(const struct upmu_pmu *pmu, unsigned resource)
{
    unsigned row = UPMU_X86_ROW_OFFCORE + resource;

    return resource < UPMU_X86_RESOURCES && upmu_rows_has(pmu->present, row) ? row : UPMU_NO_ROW;
}

const char *upmu_x86_core_resource_name(const struct upmu_pmu *pmu, unsigned resource)
{
    static const char names[UPMU_X86_RESOURCES][16] = {"OFFCORE_RSP_0", "OFFCORE_RSP_1", "LD_LAT", "FRONTEND"};

    (void)pmu;
    return resource < UPMU_X86_RESOURCES ? names[resource] : "?";
}

bool upmu_x86_core_alternative(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned thread,
                               unsigned i, struct upmu_alternative *out)
{
    unsigned resource = upmu_x86_core_resource(event, i);

    (void)thread;
    if (i > (event->payload == UPMU_X86_PAYLOAD_OFFCORE) ||
        (event->payload && upmu_x86_core_resource_row(pmu, resource) == UPMU_NO_ROW))
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

uint64_t upmu_x86_core_select(const struct upmu_event *event, unsigned alternative)
{
    if (event->payload != UPMU_X86_PAYLOAD_OFFCORE)
        return event->config;
    return (event->config & ~UPMU_X86_SELECT_EVENT) |
           (upmu_x86_core_resource(event, alternative) == UPMU_X86_RESOURCE_OFFCORE1 ? OFFCORE_CODE1 : OFFCORE_CODE0);
}

#endif
