/* SPDX-License-Identifier: MIT */
/*
 * The alternatives of an event of an Intel core PMU: the counters and payload registers with which it can run. Most
 * events have one alternative. An event of offcore responses counts what requests met outside of the core: the value of
 * a payload register says which requests and responses. Several registers serve, each with another code or unit mask of
 * the event. So there is an alternative for each of them that exists and can hold the value:
 *
 * - MSRs 1A6h and 1A7h: codes B7h and BBh; from Golden Cove on 2Ah and 2Bh; on Atoms unit masks 1 and 2 of B7h;
 * - instead on Panther Cove, Coyote Cove and Arctic Wolf MSRs 3E0h to 3E3h (OMR): unit masks 1, 2, 4, 8.
 *
 * Two kinds of events need a second counter. A top-down metric is a fraction of the slots that fixed counter 3 counts;
 * all metrics of a set share this counter. Load latency on Golden Cove is wrong without an auxiliary event on another
 * counter.
 *
 * Source: Linux arch/x86/events/intel/core.c (extra registers, top-down metrics, mem-loads-aux). OMR: Intel's files for
 * Nova Lake (MSRIndex, UMask).
 */
#include "backends/x86_core/x86_core.h"
#include "backends/x86_core/x86_core_registers.h"
#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/hw/register.h"

#if UPMU_BACKEND_X86_CORE

/*
 * The select bits in which the two offcore events of a model differ: codes B7h and BBh; from Golden Cove on codes 2Ah
 * and 2Bh; on Atoms unit masks 1 and 2 of B7h.
 */
#define CODES_BIG 0x0Cu
#define CODES_GOLDEN_COVE 0x01u
#define CODES_ATOM 0x0300u

#define PRIVILEGES (UPMU_X86_SELECT_USR | UPMU_X86_SELECT_OS)

_Static_assert(UPMU_X86_RESOURCE_OFFCORE0 == 0 && UPMU_X86_RESOURCE_OMR0 == 6, "how many registers do for one another");

/*
 * Return the first resource of the payload registers that can replace one another for an event, and in *out_count how
 * many they are, the event's own included. If nothing can replace its own: UPMU_X86_RESOURCE_OFFCORE0, and 1.
 */
static unsigned sibling_registers(const struct upmu_event *event, unsigned *out_count)
{
    unsigned own = event->flags & UPMU_X86_EVENT_RESOURCE;

    *out_count = event->payload != UPMU_X86_PAYLOAD_OFFCORE ? 1 : own >= UPMU_X86_RESOURCE_OMR0 ? 4 : 2;
    return own >= UPMU_X86_RESOURCE_OMR0 ? UPMU_X86_RESOURCE_OMR0 : UPMU_X86_RESOURCE_OFFCORE0;
}

/*
 * Return the resource of an alternative's payload register. Alternative 0 has the register of the event's own code; the
 * further ones of an offcore event have the registers that can replace it.
 */
unsigned upmu_x86_core_resource(const struct upmu_event *event, unsigned alternative)
{
    unsigned count, first = sibling_registers(event, &count);

    return first + (((event->flags & UPMU_X86_EVENT_RESOURCE) - first) ^ alternative);
}

unsigned upmu_x86_core_resource_row(const struct upmu_pmu *pmu, unsigned resource)
{
    unsigned row = UPMU_X86_ROW_OFFCORE + resource;

    return resource < UPMU_X86_PAYLOADS && upmu_rows_has(pmu->present, row) ? row : UPMU_NO_ROW;
}

const char *upmu_x86_core_resource_name(const struct upmu_pmu *pmu, unsigned resource)
{
    static const char names[][16] = {"OFFCORE_RSP_0", "OFFCORE_RSP_1", "LD_LAT", "FRONTEND", "SNOOP_RSP_0",
                                     "SNOOP_RSP_1",   "OMR_0",         "OMR_1",  "OMR_2",    "OMR_3", "SLOTS"};

    (void)pmu;
    return resource < sizeof names / sizeof names[0] ? names[resource] : "?";
}

static void add_resource(struct upmu_slot *slot, unsigned resource, uint64_t value)
{
    slot->resource_count = 1;
    slot->resource[0] = (uint8_t)resource;
    slot->value[0] = value;
}

/*
 * Add the resource of slots to an event that counts slots, or, to a metric, a helper slot with fixed counter 3. Metrics
 * are fractions of the slots that this counter counts, so it must count at the same privileges.
 */
static void add_slots(const struct upmu_event *event, struct upmu_alternative *out)
{
    unsigned slot = UPMU_SLOTS > 1 && event->counters != UPMU_BIT32(UPMU_X86_SLOTS);

    add_resource(&out->slot[slot], UPMU_X86_RESOURCE_SLOTS, event->config & PRIVILEGES);
    if (slot) {
        out->slot[slot].counters = UPMU_BIT32(UPMU_X86_SLOTS);
        out->slot_count = 2;
        out->helper = true;
    }
}

/*
 * Add a second slot for the auxiliary event, without which load latency is wrong on Golden Cove (Linux: mem-loads-aux).
 */
static void add_auxiliary(const struct upmu_pmu *pmu, struct upmu_alternative *out)
{
    struct upmu_event auxiliary;

    memset(&auxiliary, 0, sizeof auxiliary);
    auxiliary.config = UPMU_X86_LDLAT_AUX;
    out->slot[UPMU_SECOND_SLOT].counters = upmu_x86_core_counters(pmu, &auxiliary);
    out->slot_count = 2;
}

bool upmu_x86_core_alternative(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned thread,
                               unsigned i, struct upmu_alternative *out)
{
    unsigned count, resource = upmu_x86_core_resource(event, i), row = upmu_x86_core_resource_row(pmu, resource);

    (void)thread;
    (void)sibling_registers(event, &count);
    if (i >= count ||
        (event->payload && (row == UPMU_NO_ROW ||
                            (event->config1 & ~upmu_register_settable(pmu, row, UPMU_LEVEL_PRIVILEGED)))))
        return false;
    memset(out, 0, sizeof *out);
    out->slot_count = 1;
    out->slot[0].counters = event->counters;
    if (event->payload)
        add_resource(&out->slot[0], resource, event->config1);
    if (!(event->counters & ~(UPMU_BIT32(UPMU_X86_SLOTS) | UPMU_BIT32(UPMU_X86_METRIC(0)) * 0xffu)))
        add_slots(event, out);
    if (UPMU_SLOTS > 1 && event->payload == UPMU_X86_PAYLOAD_LDLAT && (pmu->quirks & UPMU_X86_QUIRK_LDLAT_AUX))
        add_auxiliary(pmu, out);
    return true;
}

uint64_t upmu_x86_core_select(const struct upmu_event *event, unsigned alternative)
{
    unsigned differ = event->flags & UPMU_X86_EVENT_BY_UMASK ? CODES_ATOM
                      : (event->config & 0xf0) == 0x20       ? CODES_GOLDEN_COVE
                                                             : CODES_BIG;
    unsigned own = event->flags & UPMU_X86_EVENT_RESOURCE;

    if (event->payload == UPMU_X86_PAYLOAD_OFFCORE && own >= UPMU_X86_RESOURCE_OMR0)
        return (event->config & ~UPMU_SELECT_UMASK) | UINT64_C(0x100) << ((own - UPMU_X86_RESOURCE_OMR0) ^ alternative);
    return alternative ? event->config ^ differ : event->config;
}

#endif
