/* SPDX-License-Identifier: MIT */
/*
 * Worlds: host and guests are counted separately, by opening and closing counters when the CPU enters or leaves a guest
 * (docs/ENGINE.md, "Worlds").
 */
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/hw/bank.h"
#include "core/hw/bank_inline.h"
#include "core/engine/count.h"
#include "core/engine/features.h"
#include "core/engine/bracket.h"
#include "core/engine/meter.h"
#include "core/engine/reconcile.h"
#include "core/engine/session_core.h"
#include <upmu/world.h>

#if UPMU_WORLDS

enum upmu_status upmu_session_world(struct upmu_session *session, enum upmu_world world)
{
    if (session->state != UPMU_SESSION_DETACHED)
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    if ((unsigned)world > UPMU_WORLD_GUEST)
        return upmu_session_refuse(session, UPMU_ERR_INVALID);
    for (const struct upmu_set *set = session->sets; set; set = upmu_set_after(set))
        for (unsigned i = 0; i < set->count; i++) {
            if (set->event[i].world && set->event[i].world != world)
                return upmu_session_refuse(session, UPMU_ERR_CONTRADICTION);
            if ((upmu_event_cascades(&set->event[i]) && world) ||
                (upmu_tally_is_precise(&set->tally[i]) && world != UPMU_WORLD_HOST))
                return upmu_session_refuse(session, UPMU_ERR_UNSUPPORTED);
        }
    if (upmu_session_wants_branches(session) && world != UPMU_WORLD_HOST)
        return upmu_session_refuse(session, UPMU_ERR_UNSUPPORTED);
    session->world = (uint8_t)world;
    return upmu_session_refuse(session, UPMU_OK);
}

/*
 * NetBurst: look at the counters of the world that is left, before (`closed` is false) and after they are closed.  An
 * overflow interrupts with the next event, or not at all if its counter was closed before: then the end of the bracket
 * handles it.  Where a close loses a carry, counts are added before it, and after it the base is corrected; the little
 * that came in between is added then, too, but for events that sample.
 */
static void tend_counters(struct upmu_meter *meter, uint32_t counters, bool closed)
{
    bool loses = upmu_count_adds_first(meter);

    if (!upmu_pmu_is(meter->pmu, UPMU_PMU_REARM_LAST) || !(loses || closed))
        return;
    for (counters &= loses ? ~0u : meter->sampling; counters; counters &= counters - 1u) {
        unsigned counter = upmu_bits_lowest(counters);
        struct upmu_tally *tally = upmu_meter_on(meter, counter);
        struct upmu_session *session = meter->slot[counter].session;
        uint64_t value;

        if (!tally || !upmu_bank_read(&meter->bank, counter, &value))
            continue;
        upmu_session_begin_change(session);
        if (closed && upmu_tally_samples(tally)) {
            if (upmu_count_overflowed(meter->pmu, counter, value))
                upmu_interrupt_raise(meter);
            else if (loses)
                upmu_count_drop_carry(tally, value);
        } else if (loses) {
            if (closed)
                upmu_count_drop_carry(tally, value);
            upmu_count_fold(meter, tally, counter, value);
        }
        upmu_session_end_change(session);
    }
}

/* Returns `value`, that of the enable register, with the enable bits of `open` set and those of `close` cleared. */
static UPMU_APART uint64_t moved_gates(const struct upmu_meter *meter, uint64_t value, uint32_t open, uint32_t close)
{
    unsigned row = meter->pmu->counter[0].gate_row;

    value &= ~upmu_bank_take_gates(&meter->bank, &close, row);
    return value | upmu_bank_take_gates(&meter->bank, &open, row);
}

/*
 * Open and close once more after a fault.  A select that has the enable bit of its counter may have lost its value: it
 * is loaded from the session's program.
 */
static UPMU_APART bool move_once_more(struct upmu_meter *meter, uint32_t open, uint32_t close)
{
    bool fine = true;

    for (uint32_t rest = open | close; rest;) {
        const struct upmu_program *program = &upmu_active(upmu_meter_next_running(meter, &rest))->program;

        fine = fine && upmu_bank_load(&meter->bank, program->step, program->steps, open, 0);
    }
    return fine && upmu_bank_gate(&meter->bank, open, close);
}

/* The world has changed (meter->in_guest): open the counters of the new one, and close those of the other. */
static enum upmu_status cross_counters(struct upmu_meter *meter, bool guest)
{
    uint32_t open = meter->of_world[guest], close = meter->of_world[!guest];

    meter->bank.absent = close;
    if (!(open | close)) {
        if (guest)
            upmu_features_cross(meter); /* what faults have left of records: precise alone is not 0 then */
        return meter->failed ? UPMU_ERR_PORT : UPMU_OK;
    }
    tend_counters(meter, close, false);
    if (!guest)
        upmu_features_cross(meter);
    if (!upmu_bank_gate(&meter->bank, open, close) && !move_once_more(meter, open, close)) {
        upmu_meter_fails(meter, open | close);
        upmu_reconcile_repair(meter);
        return UPMU_ERR_PORT;
    }
    tend_counters(meter, close, true);
    if (guest)
        upmu_features_cross(meter);
    /* Precise events may store records still: the end of the bracket stops their sessions. */
    return meter->failed ? UPMU_ERR_PORT : UPMU_OK;
}

static enum upmu_status cross_worlds(struct upmu_meter *meter, void *in_guest)
{
    bool guest = in_guest, fine;
    enum upmu_status status;

    if (meter->in_guest == guest || meter->by_hardware)
        return UPMU_OK;
    meter->in_guest = guest;
    fine = upmu_features_cross_traces(meter);
    status = cross_counters(meter, guest);
    return fine ? status : UPMU_ERR_PORT;
}

enum upmu_status upmu_cpu_enter_guest(struct upmu_cpu *cpu)
{
    return cpu->meter.pmu ? upmu_bracket_run(&cpu->meter, cross_worlds, cpu) : UPMU_OK;
}

enum upmu_status upmu_cpu_leave_guest(struct upmu_cpu *cpu)
{
    return cpu->meter.pmu ? upmu_bracket_run(&cpu->meter, cross_worlds, NULL) : UPMU_OK;
}

static bool has_gate(const struct upmu_meter *meter)
{
    return meter->pmu->capabilities & UPMU_PMU_GLOBAL_CTRL;
}

/* Returns the counters of running sessions that are to be stopped: a report asked for that, or the next set is due. */
static UPMU_APART uint32_t find_masked(const struct upmu_meter *meter)
{
    uint32_t masked = 0;

    for (const struct upmu_session *session = meter->sessions; session; session = session->next)
        if (upmu_session_occupies(session) && (session->full || (UPMU_SETS && session->switch_due)))
            masked |= session->counters;
    return masked;
}

uint64_t upmu_cpu_gate_value(struct upmu_cpu *cpu, enum upmu_world world)
{
    struct upmu_meter *meter = &cpu->meter;
    struct upmu_bank *bank = &meter->bank;
    uint32_t before = meter->running;
    uint64_t value;
    unsigned row;

    if (!meter->live || !has_gate(meter))
        return 0;
    row = meter->pmu->counter[0].gate_row;
    value = bank->shadow[row];
    /* Read the register if it has bits of other software, or if its value is unknown. */
    if (!upmu_bank_is_plain(bank, row)) {
        uintptr_t irq = port_irq_save(bank->port);

        (void)upmu_bank_read_row(bank, row, &value);
        port_irq_restore(bank->port, irq);
    }
    if (world == UPMU_WORLD_HOST && meter->by_hardware)
        meter->exit_opens = before | meter->running; /* an interrupt may have changed `running` since `before` */
    if (world != UPMU_WORLD_BOTH)
        value = moved_gates(meter, value, meter->of_world[world == UPMU_WORLD_GUEST],
                            meter->of_world[world != UPMU_WORLD_GUEST]);
    return meter->work_due & UPMU_DUE_SESSIONS ? moved_gates(meter, value, 0, find_masked(meter)) : value;
}

enum upmu_status upmu_cpu_world_by_hardware(struct upmu_cpu *cpu, bool by_hardware)
{
    struct upmu_meter *meter = &cpu->meter;

    if (!meter->machine || !meter->pmu)
        return UPMU_ERR_NO_PMU;
    if (!has_gate(meter))
        return UPMU_ERR_UNSUPPORTED;
    if (meter->sessions || meter->in_guest || (by_hardware && upmu_features_need_crossings(meter)))
        return UPMU_ERR_STATE;
    meter->by_hardware = by_hardware;
    meter->exit_opens = 0;
    return UPMU_OK;
}

#else

enum upmu_status upmu_session_world(struct upmu_session *session, enum upmu_world world)
{
    return upmu_session_refuse(session, world == UPMU_WORLD_BOTH ? UPMU_OK : UPMU_ERR_COMPILED_OUT);
}

enum upmu_status upmu_cpu_enter_guest(struct upmu_cpu *cpu)
{
    (void)cpu;
    return UPMU_ERR_COMPILED_OUT;
}

enum upmu_status upmu_cpu_leave_guest(struct upmu_cpu *cpu)
{
    (void)cpu;
    return UPMU_ERR_COMPILED_OUT;
}

uint64_t upmu_cpu_gate_value(struct upmu_cpu *cpu, enum upmu_world world)
{
    (void)cpu;
    (void)world;
    return 0;
}

enum upmu_status upmu_cpu_world_by_hardware(struct upmu_cpu *cpu, bool by_hardware)
{
    (void)cpu;
    (void)by_hardware;
    return UPMU_ERR_COMPILED_OUT;
}

#endif
