/* SPDX-License-Identifier: MIT */
/*
 * Folds and turns of units: how often their counters are read, and their sessions rotate.
 */
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/util/muldiv.h"
#include "core/hw/port_call.h"
#include "core/engine/count.h"
#include "core/engine/interrupt.h"
#include "core/engine/meter.h"
#include "core/engine/session_core.h"
#include "core/engine/unit_core.h"
#include "core/engine/waiting.h"

#if UPMU_UNCORE

/*
 * The longest time between two polls of a unit, in ns.  The interval is shorter if a counter could count half its range
 * in less, at its highest rate.
 */
#define LONGEST_NS UINT64_C(60000000000)

uint64_t upmu_unit_poll_interval(const struct upmu_unit *unit)
{
    const struct upmu_unit_type *type = unit->meter.bank.type;
    uint64_t rate, rest, interval_ns;
    unsigned width;

    if (!unit->meter.machine)
        return LONGEST_NS;
    rate = (uint64_t)(type->rate_mhz ? type->rate_mhz : UPMU_UNIT_RATE_MHZ) * unit->boxes;
    width = type->counters ? type->width : 64;
    if (type->fixed_width && type->fixed_width < width)
        width = type->fixed_width;
    if (width > 54)
        return LONGEST_NS;
    interval_ns = upmu_divide((UINT64_C(1) << (width - 1u)) * 1000u, rate, &rest);
    return interval_ns < LONGEST_NS ? interval_ns : LONGEST_NS;
}

enum upmu_status upmu_unit_fold(struct upmu_meter *meter, void *unused)
{
    struct upmu_unit *unit = upmu_unit_of(meter);
    uint64_t now_ns = upmu_meter_now(meter), late_ns = 2 * upmu_unit_poll_interval(unit);
    bool is_late = now_ns - unit->folded_ns > late_ns;
    bool is_blind = meter->ticks * meter->machine->port->tick_ns > late_ns; /* there is no clock: ticks tell */

    (void)unused;
    /* So late a counter may have gone all the way round, which its value does not show: counts may lack a part. */
    for (struct upmu_session *session = meter->sessions; session; session = session->next)
        if (upmu_session_occupies(session) && (is_blind || (is_late && now_ns - session->running_ns > late_ns)))
            upmu_count_mar(session);
    unit->folded_ns = now_ns;
    meter->ticks = 0;
    return upmu_interrupt_poll(meter);
}

void upmu_unit_turns(struct upmu_unit *unit, unsigned every)
{
    unit->base = every ? every : 1;
    unit->every = unit->base;
    /* Start at different ticks: so units of one type do not all give waiting sessions counters in the same tick. */
    unit->ticks = unit->meter.number % unit->base;
}

/*
 * settle_pace() raises the ticks between two rotations until this multiple of what the host asked for is reached.  A
 * rotation lets sessions that wait run in place of others.
 */
#define SLOWEST 64u

/* Smooth a value: move *average by an eighth of its difference to `value`; a difference below 8 moves nothing. */
static UPMU_APART void follow_average(uint32_t *average, uint32_t value)
{
    if (value > *average)
        *average += (value - *average) / 8u;
    else
        *average -= (*average - value) / 8u;
}

/* Limit a time to 32 bits, 4.3 s: times beyond that are not needed exactly. */
static uint32_t limited_span(uint64_t span_ns)
{
    return span_ns < UINT32_MAX ? (uint32_t)span_ns : UINT32_MAX;
}

/*
 * Adapt how many ticks lie between two rotations, given the time that the last one took: double them if a rotation
 * takes on average more than 1/128 of the time between two, halve them if less than a quarter of that.  Limits: `base`,
 * and SLOWEST times as many.
 */
static void settle_pace(struct upmu_unit *unit, uint32_t spent_ns)
{
    const struct upmu_port *port = unit->meter.machine->port;
    uint64_t budget_ns = (port->tick_ns ? port->tick_ns : unit->tick_ns) * unit->every / 128u;

    if (!unit->is_timed)
        unit->cost_ns = spent_ns;
    follow_average(&unit->cost_ns, spent_ns);
    unit->is_timed = 1;
    if (!budget_ns)
        return;
    if (unit->cost_ns > budget_ns && unit->every < SLOWEST * unit->base)
        unit->every *= 2;
    else if (unit->cost_ns < budget_ns / 4u && unit->every > unit->base)
        unit->every /= 2;
}

/* Update unit->tick_ns, the measured average time between two ticks. */
static void time_ticks(struct upmu_unit *unit, uint64_t now_ns)
{
    uint32_t distance_ns = unit->last_ns ? limited_span(now_ns - unit->last_ns) : 0;

    unit->last_ns = now_ns;
    if (!unit->tick_ns)
        unit->tick_ns = distance_ns;
    follow_average(&unit->tick_ns, distance_ns);
}

static uint32_t accesses_of(const struct upmu_bank *bank)
{
    return bank->accesses.writes + bank->accesses.reads + bank->accesses.rdpmcs;
}

enum upmu_status upmu_unit_tick(struct upmu_meter *meter, void *unused)
{
    struct upmu_unit *unit = upmu_unit_of(meter);
    bool timed = port_has_clock(meter->machine->port);
    uint64_t now_ns = upmu_meter_now(meter);
    enum upmu_status status = UPMU_OK;
    uint64_t passed_ns = now_ns - unit->folded_ns;
    uint32_t accesses;

    if (timed)
        time_ticks(unit, now_ns);
    else
        passed_ns = ++meter->ticks * meter->machine->port->tick_ns;
    /* Poll the unit if it would be late at the next tick; without a clock at each 16th tick at the latest. */
    if (passed_ns + (timed ? unit->tick_ns : meter->machine->port->tick_ns) >= upmu_unit_poll_interval(unit) ||
        (!timed && meter->ticks >= 16))
        status = upmu_unit_fold(meter, unused);
    if (++unit->ticks < unit->every)
        return status;
    unit->ticks = 0;
    accesses = accesses_of(&meter->bank);
    now_ns = upmu_meter_now(meter);
    upmu_waiting_tick(meter);
    if (accesses_of(&meter->bank) == accesses) /* no access: what runs was not changed */
        return status;
    unit->rotations++;
    if (timed)
        settle_pace(unit, limited_span(upmu_meter_now(meter) - now_ns));
    return status;
}

#endif
