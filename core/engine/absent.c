/* SPDX-License-Identifier: MIT */
/*
 * Which counters are absent.
 */
#include "core/engine/absent.h"
#include "core/util/bits.h"
#include <upmu/world.h>

#if UPMU_WORLDS

/* Those of the world that is not here.  (Where the hardware moves the gate, the library is always in the host.) */
static void find_absent(struct upmu_meter *meter)
{
    meter->bank.absent = meter->of_world[!meter->in_guest];
}

void upmu_absent_give(struct upmu_meter *meter, const struct upmu_session *session, uint32_t counters)
{
    meter->of_world[0] &= ~counters;
    meter->of_world[1] &= ~counters;
    if (session && session->world)
        meter->of_world[session->world == UPMU_WORLD_GUEST] |= counters;
    find_absent(meter);
}

void upmu_absent_find(struct upmu_meter *meter)
{
    uint32_t rest = meter->running;

    meter->of_world[0] = meter->of_world[1] = 0;
    for (; rest; rest &= rest - 1u) {
        unsigned counter = upmu_bits_lowest(rest);

        upmu_absent_give(meter, meter->of_tally[counter], UPMU_BIT32(counter));
    }
    find_absent(meter);
}

#endif
