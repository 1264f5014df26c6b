/* SPDX-License-Identifier: MIT */
/*
 * Units that sample instructions.  What one has completed while it ran is given to its reader, or in `lost`.
 */
#include <string.h>

#include "tests/host/simulated.h"

#define CAPACITY 8u

static uint64_t completed(unsigned cpu, unsigned kind)
{
    return host.setting.family->samples(host.hardware, cpu, kind);
}

static void drain(struct host_ibs *at)
{
    struct upmu_ibs_sample sample;

    while (HOST_CALL(upmu_ibs_next(at->unit, &sample)))
        at->taken++;
}

/* It does not run any more. */
static void end(unsigned number, unsigned kind)
{
    struct host_ibs *at = &host.cpu[number].ibs[kind];
    uint64_t wanted = completed(number, kind) - at->begun;

    drain(at);
    host.verdict->figures.unit_samples += at->taken;
    if (rules_on(RULE_SAMPLES) && !host.verdict->figures.faults && at->taken + at->unit->state.lost != wanted)
        rules_fail(RULE_SAMPLES, "CPU %u, unit %u: %llu samples are given and %u lost of %llu", number, kind,
                   (unsigned long long)at->taken, (unsigned)at->unit->state.lost, (unsigned long long)wanted);
    arena_give(at->unit);
    arena_give(at->samples);
    memset(at, 0, sizeof *at);
    arena_forgotten();
}

void act_ibs_over(unsigned number)
{
    for (unsigned kind = 0; kind < 2; kind++)
        if (host.cpu[number].ibs[kind].unit)
            end(number, kind);
}

static void start(unsigned kind, struct lots *lots)
{
    struct host_ibs *at = &here()->ibs[kind];
    enum upmu_status status;

    at->unit = arena_take(sizeof *at->unit, "unit");
    at->samples = arena_take(CAPACITY * sizeof *at->samples, "samples");
    memset(at->unit, 0, sizeof *at->unit);
    at->unit->kind = kind ? UPMU_IBS_OP : UPMU_IBS_FETCH;
    at->unit->period = 16u * (9u + lots_below(lots, 1u << lots_below(lots, 12)));
    at->unit->random = lots_below(lots, 2);
    at->unit->ops = kind && lots_below(lots, 2);
    at->unit->samples = at->samples;
    at->unit->capacity = CAPACITY;
    at->begun = completed(self->cpu, kind);
    status = HOST_CALL(upmu_ibs_start(here()->cpu, at->unit));
    rules_status("upmu_ibs_start", status, "UNSUPPORTED STATE PORT BUSY");
    if (status == UPMU_OK)
        return;
    arena_give(at->unit);
    arena_give(at->samples);
    memset(at, 0, sizeof *at);
}

static void stop(unsigned kind)
{
    enum upmu_status status;

    here()->noisy = true;
    status = HOST_CALL(upmu_ibs_stop(here()->cpu, here()->ibs[kind].unit));
    here()->noisy = false;
    rules_status("upmu_ibs_stop", status, "PORT BUSY");
    if (status != UPMU_ERR_BUSY)
        end(self->cpu, kind);
}

void act_ibs(struct lots *lots)
{
    unsigned kind = lots_below(lots, 2);

    if (!host.setting.family->samples || here()->power != CPU_LIVE || here()->useless || host.setting.no_rearm)
        return;
    self->stay++;
    if (!here()->ibs[kind].unit)
        start(kind, lots);
    else if (lots_below(lots, 2))
        stop(kind);
    else
        drain(&here()->ibs[kind]);
    self->stay--;
}
