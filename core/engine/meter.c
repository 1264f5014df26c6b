/* SPDX-License-Identifier: MIT */
/*
 * Clock, log and interrupt of a meter; tags of its counters, which say whose event's value a counter has, and their
 * users.
 */
#include "core/engine/meter.h"
#include "core/util/bits.h"
#include "core/hw/bank.h"
#include "core/hw/port_call.h"
#include "core/engine/count.h"

uint64_t upmu_meter_now(const struct upmu_meter *meter)
{
    return upmu_machine_clock_ns(meter->machine);
}

void upmu_meter_log(const struct upmu_meter *meter, const char *line)
{
    port_log(meter->machine->port, line);
}

void upmu_meter_rearm(struct upmu_meter *meter)
{
    if (!port_has_pmi(meter->machine->port))
        return;
    meter->bank.accesses.rearms++;
    port_pmi_rearm(meter->machine->port);
}

/*
 * With a clock `expected` is a time: one store of 32 bits, so that no handler sees half of it; odd, because 0 means
 * that no interrupt is expected.  Without a clock it is a number, which grows only while it is below the number of
 * counters: interrupts that are pending merge.
 */
void upmu_meter_expect(struct upmu_meter *meter, unsigned overflows, uint64_t now_ns)
{
    if (upmu_meter_is_unit(meter)) /* a unit's counters request no interrupts */
        return;
    UPMU_BARRIER();
    if (port_has_clock(meter->machine->port))
        meter->cpu->expected = (upmu_count_stamp(now_ns) + UPMU_LATEST_STAMPS) | 1u;
    else if (meter->cpu->expected < meter->pmu->preference_count)
        __atomic_fetch_add(&meter->cpu->expected, overflows, __ATOMIC_RELAXED);
    UPMU_BARRIER();
}

uint32_t upmu_meter_tagged(const struct upmu_meter *meter, const struct upmu_tally *tally)
{
    uint32_t counters = tally->counters;

    for (uint32_t rest = counters; rest; rest &= rest - 1u)
        if (meter->slot[upmu_bits_lowest(rest)].tag != tally->tag)
            counters &= ~rest | (rest - 1u);
    return counters;
}

void upmu_meter_tag(struct upmu_meter *meter, uint32_t counters, uint32_t tag)
{
    for (; counters; counters &= counters - 1u)
        meter->slot[upmu_bits_lowest(counters)].tag = tag;
}

void upmu_meter_untag(struct upmu_meter *meter, const struct upmu_tally *tally)
{
    upmu_meter_tag(meter, upmu_meter_tagged(meter, tally), 0);
}

void upmu_meter_give(struct upmu_meter *meter, struct upmu_session *session, struct upmu_tally *tally)
{
    for (uint32_t rest = tally->counters; rest; rest &= rest - 1u) {
        struct upmu_counter_slot *slot = &meter->slot[upmu_bits_lowest(rest)];

        slot->session = session;
        slot->tally = tally;
    }
}

bool upmu_meter_still(const struct upmu_meter *meter, const struct upmu_tally *tally)
{
    return UPMU_BACKEND_AMD && !tally->shared && !tally->wide && upmu_bank_still(&meter->bank, tally->counters);
}
