/* SPDX-License-Identifier: MIT */
/*
 * A plan is carried out: close what leaves or changes, take counts, write registers, load start values, publish, open.
 *
 * A register that faults is noted in meter->failed, and the work goes on: upmu_reconcile_repair() stops the sessions
 * concerned.  A handler that interrupts a bracket changes nothing that is worked on here (core/engine/interrupt.c).
 */
#include "core/engine/reconcile.h"
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/hw/bank.h"
#include "core/hw/bank_inline.h"
#include "core/hw/port_call.h"
#include "core/engine/claims.h"
#include "core/engine/count.h"
#include "core/engine/features.h"
#include "core/engine/meter.h"
#include "core/engine/report.h"
#include "core/engine/sets.h"
#include "core/engine/special.h"
#include "core/engine/waiting.h"

/* A select could not be written: what its counter counts until the repair is another event. */
static UPMU_APART void note_wrong(struct upmu_meter *meter, uint32_t counters)
{
    upmu_meter_fails(meter, counters);
    meter->wrong |= counters;
}

/*
 * The enable register holds what its shadow says: what a handler stopped runs again, but for counters that the shadow
 * lacks, because the register was read while they were stopped.
 */
static inline void note_opened(struct upmu_meter *meter)
{
    if (__builtin_expect(meter->stopped != 0, 0))
        meter->stopped &= ~upmu_bank_open(&meter->bank, meter->stopped);
}

/* ---- Step 1: close ---- */

/* Stop counters; a fault is answered by a second attempt, with the register read. */
static UPMU_APART void close_counters(struct upmu_meter *meter, uint32_t counters, uint32_t first)
{
    if (!upmu_bank_gate(&meter->bank, 0, counters & first) && !upmu_bank_gate(&meter->bank, 0, counters & first))
        upmu_meter_fails(meter, counters & first);
    counters &= ~first;
    if (!upmu_bank_gate(&meter->bank, 0, counters) && !upmu_bank_gate(&meter->bank, 0, counters))
        upmu_meter_fails(meter, counters);
}

/* Of counters that are to be closed, those that are open, or may be. */
static inline uint32_t find_open(const struct upmu_meter *meter, uint32_t counters)
{
    const struct upmu_bank *bank = &meter->bank;
    unsigned row = bank->pmu->counter[0].gate_row;

    if (__builtin_expect(meter->straight && upmu_bank_is_plain(bank, row) &&
                             !(bank->shadow[row] & upmu_stop_bits(bank->pmu, counters)), 1))
        return 0;
    return upmu_bank_open(bank, counters);
}

static inline void close(struct upmu_meter *meter, uint32_t stop)
{
    struct upmu_bank *bank = &meter->bank;
    unsigned row = bank->pmu->counter[0].gate_row;

    if (__builtin_expect(meter->straight && upmu_bank_is_plain(bank, row) && !bank->others, 1)) {
        uint64_t bits = bank->shadow[row] & upmu_stop_bits(bank->pmu, stop);

        if (__builtin_expect(meter->in_handler && !(stop & ~meter->stopped), 0)) { /* it has just stopped them */
            upmu_bank_note_closed(bank, row, bits);
            meter->stopped &= ~stop;
            return;
        }
        if (__builtin_expect(!bits, 0))
            return;
        if (__builtin_expect(upmu_bank_put_gate(bank, row, bank->shadow[row] & ~bits), 1)) {
            note_opened(meter);
            return;
        }
    }
    close_counters(meter, stop, upmu_special_targets(&meter->plan));
}

/* ---- Step 3: take ---- */

/* The counts of a set whose events only count, and whose counters are alike. */
static inline bool take_plain(struct upmu_meter *meter, struct upmu_set *set, uint64_t now_ns)
{
    const struct upmu_port *port = meter->bank.port;
    const struct upmu_counter *where = meter->pmu->counter;
    uint64_t seen = 0;
    bool fine = true;

    upmu_bank_counted(&meter->bank)->rdpmcs += set->count;
    for UPMU_TALLIES(tally, set) {
        uint64_t value, counted;

        if (__builtin_expect(!port_rdpmc(port, where[tally->counter].rdpmc, &value), 0)) {
            UPMU_STORE(meter->bank.no_rdpmc, true);
            if (!upmu_bank_read(&meter->bank, tally->counter, &value)) {
                upmu_count_lose(meter, tally);
                fine = false;
                continue;
            }
        }
        value &= meter->counter_mask;
        counted = (value - tally->base) & meter->counter_mask;
        if (__builtin_expect(value < counted, 0))
            upmu_count_note_wrap(meter, tally, now_ns, false);
        UPMU_STORE(tally->base, value);
        seen |= counted;
        UPMU_STORE(tally->total, tally->total + counted);
    }
    if (seen)
        UPMU_STORE(meter->seen_counting, 1);
    return fine;
}

/* The counts of any set; samples that are due are stored.  False: a register faulted. */
static UPMU_APART bool take_odd(struct upmu_meter *meter, struct upmu_session *session, struct upmu_set *set,
                                uint64_t now_ns)
{
    uint32_t due = 0;
    bool fine = true;

    if (upmu_session_has_metrics(meter, session))
        fine = upmu_special_take_metrics(meter, session);
    for UPMU_TALLIES(tally, set) {
        unsigned counter = upmu_tally_runs_on(tally);
        uint64_t value;

        if (upmu_tally_is_metric(tally) || (meter->plan.moved & UPMU_BIT32(counter & 31u) & tally->counters) ||
            ((meter->plan.moved >> (counter & 31u) & 1u) && tally->from != UPMU_NO_COUNTER))
            continue;
        if (!upmu_count_value(meter, tally, counter, &value)) {
            if (upmu_bank_type(&meter->bank)) /* boxes that answered, and what was read of the others before */
                upmu_count_fold(meter, tally, counter, value);
            upmu_count_lose(meter, tally);
            fine = false;
        } else if (upmu_count_take(meter, session, tally, counter, value, now_ns)) {
            due |= UPMU_BIT32(tally->index);
        }
    }
    upmu_count_unlearn(meter, session->counters);
    if (due)
        upmu_report_store(meter, session, due, now_ns);
    return fine;
}

static inline void take_part(struct upmu_meter *meter, struct upmu_session *session, uint64_t now_ns)
{
    const struct upmu_plan *plan = &meter->plan;
    struct upmu_set *set = upmu_active(session);
    uint8_t state = plan->state_after;
    bool fine;

    UPMU_STORE(session->sequence, session->sequence + 1u);
    UPMU_BARRIER();
    if (__builtin_expect(!(plan->odd | set->program.sampling), 1))
        fine = take_plain(meter, set, now_ns);
    else
        fine = take_odd(meter, session, set, now_ns);
    upmu_session_ran(session, now_ns);
    if (UPMU_SAMPLING && session->full) {
        state = UPMU_SESSION_MASKED;
        UPMU_STORE(session->full, 0);
    }
    if (__builtin_expect(!fine || (meter->failed & session->counters), 0)) {
        state = UPMU_SESSION_STOPPED;
        (void)upmu_session_fault(meter, session);
    }
    UPMU_STORE(session->state, state);
    if (__builtin_expect(session->queued, 0)) /* with its empty set */
        upmu_waiting_take(meter, session);
#if UPMU_SETS
    if (session->following)
        upmu_sets_switched(session);
#endif
    UPMU_BARRIER();
    UPMU_STORE(session->sequence, session->sequence + 1u);
}

/* ---- Steps 4 and 5: registers and start values ---- */

static inline void load_registers(struct upmu_meter *meter, const struct upmu_program *program)
{
    const struct upmu_plan *plan = &meter->plan;
    struct upmu_bank *bank = &meter->bank;
    const struct upmu_step *step = program->step, *end = step + program->steps;

    while (step < end) {
        const struct upmu_step *first = step;
        unsigned row = step->row;
        uint64_t mask = 0, value = 0;
        uint32_t guard = 0;

        for (; step < end && step->row == row; step++)
            if (!upmu_bank_same(bank, step)) {
                mask |= upmu_step_mask(step);
                value |= upmu_step_value(step);
                guard |= step->guard;
            }
        if (!mask)
            continue;
        if (__builtin_expect(!first->enables && upmu_bank_is_plain(bank, row) && !bank->others && meter->straight, 1)
                ? !upmu_bank_put(bank, row, (bank->shadow[row] & ~mask) | value)
                : !upmu_bank_merge(bank, row, mask, value, plan->come & ~plan->dormant))
            note_wrong(meter, guard);
    }
}

/* An event that is carried or stands still: the value at which the other event left is its base. */
static UPMU_APART void carry_odd(struct upmu_meter *meter, struct upmu_tally *tally, const struct upmu_tally *left,
                                 uint64_t now_ns)
{
    if (left && meter->slot[tally->counter].tag) {
        UPMU_STORE(tally->base, left->base);
    } else if (!upmu_bank_read(&meter->bank, tally->counter, &tally->base)) {
        upmu_meter_loses(meter, tally);
        return;
    }
    tally->turned = upmu_count_stamp(now_ns);
    upmu_meter_tag(meter, tally->counters, tally->tag);
}

/*
 * What a static session left running may have wrapped in no count: its status bit, which no interrupt has cleared,
 * would look like an overflow of what comes.  An event that left this counter itself knows at which value.
 */
static UPMU_APART void forget_wraps(struct upmu_meter *meter, const struct upmu_tally *tally)
{
    upmu_count_suspect(meter, tally->counters);
    if (!upmu_count_acknowledge(meter, tally->counters))
        upmu_meter_loses(meter, tally);
}

/* The start value of one event of any kind. */
static UPMU_APART void load_event(struct upmu_meter *meter, struct upmu_tally *tally, uint32_t carried, uint64_t now_ns)
{
    const struct upmu_plan *plan = &meter->plan;
    const struct upmu_counter_slot *slot = &meter->slot[tally->counter];
    const struct upmu_tally *left = plan->leave & tally->counters ? slot->tally : NULL;
    bool keeps = UPMU_UNCORE && (meter->pmu->capabilities & UPMU_PMU_KEEPS);
    uint32_t goes_on = carried | (upmu_tally_is_lent(tally) || upmu_features_hide(meter) ? 0 : plan->still);
    bool unowned = meter->unowned & tally->counters, own = slot->tag == tally->tag;
    uint64_t before = tally->base;

    if (upmu_tally_is_metric(tally))
        return;
    if (UPMU_MOVES && left && left->counter != tally->counter) /* it has moved, and its base is another counter's */
        left = NULL;
    if ((tally->counters & goes_on) && !upmu_tally_samples(tally)) {
        carry_odd(meter, tally, left, now_ns);
        if (__builtin_expect(unowned, 0) && !(own && tally->base >= before))
            forget_wraps(meter, tally);
    } else if (keeps && left && slot->tag && !upmu_meter_is_free(meter)) {
        carry_odd(meter, tally, left, now_ns);
    } else if (upmu_meter_is_free(meter) || (!keeps && (plan->changed & tally->counters & ~plan->still)) ||
               upmu_meter_tagged(meter, tally) != tally->counters || unowned) {
        if (__builtin_expect(unowned, 0))
            forget_wraps(meter, tally);
        if (!upmu_count_begin_at(meter, tally, now_ns))
            upmu_meter_loses(meter, tally);
    }
}

static UPMU_APART void load_odd(struct upmu_meter *meter, struct upmu_session *session, struct upmu_set *set,
                                uint32_t carried, uint64_t now_ns)
{
    for UPMU_TALLIES(tally, set) {
        load_event(meter, tally, carried, now_ns);
        upmu_meter_give(meter, session, tally);
        UPMU_STORE(tally->ran, tally->ran || !upmu_tally_cascades(tally));
    }
    if (set->program.flags & UPMU_PROGRAM_ODD)
        upmu_special_load(meter, session);
}

/* RDPMC has faulted, and is not used any more; false: so has the register. */
static UPMU_APART bool read_slowly(struct upmu_meter *meter, const struct upmu_tally *tally, uint64_t *out_value)
{
    UPMU_STORE(meter->bank.no_rdpmc, true);
    if (upmu_bank_read(&meter->bank, tally->counter, out_value))
        return true;
    upmu_meter_loses(meter, tally);
    return false;
}

/* The start values of a set whose events only count, and whose counters are alike. */
static inline void load_plain(struct upmu_meter *meter, struct upmu_session *session, struct upmu_set *set,
                              uint32_t carried, uint64_t now_ns)
{
    const struct upmu_port *port = meter->bank.port;
    const struct upmu_counter *where = meter->pmu->counter;
    uint32_t changed = meter->plan.changed, stamp = upmu_count_stamp(now_ns);

    if (__builtin_expect((set->program.counting & meter->flagged) != 0, 0) &&
        !upmu_count_acknowledge(meter, set->program.counting & ~carried))
        upmu_meter_fails(meter, set->program.counting & ~carried);
    for UPMU_TALLIES(tally, set) {
        unsigned counter = tally->counter;
        struct upmu_counter_slot *slot = &meter->slot[counter];
        uint64_t value;

        slot->session = session;
        if (carried >> counter & 1u) {
            value = slot->tally->base;
        } else if (slot->tag != tally->tag || (changed >> counter & 1u)) {
            upmu_bank_counted(&meter->bank)->rdpmcs++;
            if (__builtin_expect(!port_rdpmc(port, where[counter].rdpmc, &value), 0) &&
                !read_slowly(meter, tally, &value)) {
                slot->tally = tally;
                continue;
            }
            value &= meter->counter_mask;
        } else {
            slot->tally = tally;
            UPMU_STORE(tally->ran, true);
            continue;
        }
        UPMU_STORE(tally->base, value);
        tally->turned = stamp;
        slot->tag = tally->tag;
        slot->tally = tally;
        UPMU_STORE(tally->ran, true);
    }
}

static bool is_out(const struct upmu_plan *plan, const struct upmu_session *session)
{
    for (unsigned i = 0; i < plan->outs; i++)
        if (plan->out[i] == session)
            return true;
    return false;
}

/* Counters that are open for a part that does not come: what they have counted since the take is in no count. */
static UPMU_APART void let_go(struct upmu_meter *meter, uint32_t counters)
{
    close(meter, counters);
    upmu_meter_tag(meter, counters, 0);
}

/* A part that leaves, too, was masked or has failed, or finds a counter that could not be closed: it does not come. */
static UPMU_APART void drop_part(struct upmu_meter *meter, unsigned part)
{
    struct upmu_plan *plan = &meter->plan;
    const struct upmu_set *set = plan->set[part];

    plan->come &= ~set->counters;
    plan->sampled_in &= ~set->counters;
    plan->halted_in &= ~set->counters;
    plan->counted_in &= ~set->counters;
    plan->corunners -= set->program.placement;
    plan->in[part] = NULL;
}

/* A register or a counter of a part faulted: it stops before it has begun to count. */
static UPMU_APART void refuse_part(struct upmu_meter *meter, unsigned part)
{
    struct upmu_session *session = meter->plan.in[part];
    uint32_t counters = meter->plan.set[part]->counters;

    upmu_meter_fails(meter, counters);
    upmu_meter_tag(meter, counters, 0);
    for (uint32_t rest = counters; rest; rest &= rest - 1u) {
        meter->slot[upmu_bits_lowest(rest)].tally = NULL;
        meter->slot[upmu_bits_lowest(rest)].session = NULL;
    }
    UPMU_STORE(session->full, 0);
    if (session->queued)
        upmu_session_enabled(session, meter->plan.now_ns);
    upmu_waiting_end(session, UPMU_SESSION_STOPPED);
    (void)upmu_session_fault(meter, session);
    drop_part(meter, part);
}

static inline void load_part(struct upmu_meter *meter, unsigned part, uint32_t carried, uint64_t now_ns)
{
    struct upmu_plan *plan = &meter->plan;
    struct upmu_session *session = plan->in[part];
    struct upmu_set *set = plan->set[part];
    uint32_t failed = meter->failed;

    if (__builtin_expect(plan->outs && session->state != UPMU_SESSION_WAITING, 0) && is_out(plan, session) &&
        session->state != plan->state_after) {
        let_go(meter, set->counters & (carried | plan->still));
        drop_part(meter, part);
        return;
    }
    if (__builtin_expect((failed & set->counters) != 0, 0)) {
        refuse_part(meter, part);
        return;
    }
    UPMU_STORE(session->sequence, session->sequence + 1u);
    UPMU_BARRIER();
    if (set->program.seen != meter->bank.version)
        load_registers(meter, &set->program);
#if UPMU_SETS
    UPMU_STORE(session->active, set);
#endif
    session->counters = set->counters;
    if (__builtin_expect(!(plan->odd | set->program.sampling), 1))
        load_plain(meter, session, set, carried, now_ns);
    else
        load_odd(meter, session, set, carried, now_ns);
    if (__builtin_expect(meter->failed != failed, 0)) {
        refuse_part(meter, part);
        UPMU_BARRIER();
        UPMU_STORE(session->sequence, session->sequence + 1u);
        return;
    }
    if (session->queued) {
        UPMU_STORE(session->enabled_ns, session->enabled_ns + (now_ns - session->started_ns));
        upmu_waiting_take(meter, session);
    }
    UPMU_STORE(session->error, UPMU_OK);
    UPMU_STORE(session->full, 0);
    UPMU_STORE(session->started_ns, now_ns);
    UPMU_STORE(session->running_ns, now_ns);
    UPMU_STORE(session->state, UPMU_SESSION_RUNNING);
    if (UPMU_SETS && session->switch_due)
        meter->work_due |= UPMU_DUE_SESSIONS;
    UPMU_BARRIER();
    UPMU_STORE(session->sequence, session->sequence + 1u);
    if (!set->counters)
        upmu_waiting_put(meter, session);
}

/* ---- Steps 6 and 7: publish and open ---- */

static inline void publish(struct upmu_meter *meter)
{
    const struct upmu_plan *plan = &meter->plan;
    uint32_t gone = plan->leave & ~plan->come;

    meter->corunners = plan->corunners;
    meter->left |= plan->come;
    meter->used |= plan->come;
    meter->unowned = (meter->unowned & ~(plan->come | plan->changed)) | plan->kept;
    if ((meter->halted & plan->leave) | plan->halted_in) {
        meter->sampling = (meter->sampling & ~plan->leave) | plan->sampled_in;
        meter->halted = (meter->halted & ~plan->leave) | plan->halted_in;
    }
    UPMU_BARRIER();
    meter->running = (meter->running & ~plan->leave) | plan->come;
    UPMU_BARRIER();
    /* A session that does not run any more may be freed. */
    for (; gone; gone &= gone - 1u) {
        meter->slot[upmu_bits_lowest(gone)].tally = NULL;
        meter->slot[upmu_bits_lowest(gone)].session = NULL;
    }
}

static inline void open_parts(struct upmu_meter *meter, uint32_t carried)
{
    const struct upmu_plan *plan = &meter->plan;
    struct upmu_bank *bank = &meter->bank;
    unsigned row = bank->pmu->counter[0].gate_row;
    uint32_t opening = plan->come & ~(carried | meter->failed);

    if (!(opening | plan->moved))
        return;
    if (__builtin_expect(meter->straight && upmu_bank_is_plain(bank, row) && !bank->others && !plan->odd, 1)) {
        uint64_t bits = upmu_stop_bits(bank->pmu, opening) & ~bank->shadow[row];

        if (!bits)
            return;
        if (__builtin_expect(upmu_bank_put_gate(bank, row, bank->shadow[row] | bits), 1))
            note_opened(meter);
        else
            upmu_meter_fails(meter, opening);
        return;
    }
    opening &= ~plan->dormant;
    if (!upmu_bank_gate(bank, opening, plan->moved))
        upmu_meter_fails(meter, opening | plan->moved);
}

void upmu_reconcile(struct upmu_meter *meter)
{
    struct upmu_plan *plan = &meter->plan;
    uint32_t carried, stop;

    if (UPMU_PRELUDES && __builtin_expect(plan->sequence, 0)) {
        plan->odd |= UPMU_PLAN_ODD;
        if (!upmu_plan_again(meter)) { /* (no PMU with such an erratum has so many counters) */
            upmu_meter_fails(meter, plan->come);
            plan->sequence = 0;
        }
    }
    carried = plan->counted_out & plan->counted_in & ~plan->changed;
    if (__builtin_expect(plan->odd, 0))
        carried = upmu_special_prepare(meter, carried);
    if (UPMU_PRELUDES && __builtin_expect(plan->sequence, 0))
        carried = 0;
    stop = ((plan->leave & ~carried) | (plan->changed & (meter->running | meter->unowned))) &
           ~(plan->kept | plan->still | plan->moved);
    if (__builtin_expect(meter->unowned != 0, 0))
        stop |= meter->unowned & plan->come & ~carried;
    /* A fault may have left a counter open, or its enable bit unknown. */
    stop |= find_open(meter, plan->come & ~(meter->running | meter->unowned));
    if (__builtin_expect(plan->odd, 0))
        upmu_special_before_close(meter);
    if (stop)
        close(meter, stop);
    plan->now_ns = port_clock_ns(meter->bank.port);
    upmu_features_closed(meter, NULL);
    for (unsigned i = 0; i < plan->outs; i++)
        take_part(meter, plan->out[i], plan->now_ns);
    if (UPMU_PRELUDES && __builtin_expect(plan->sequence, 0) && !upmu_special_sequence(meter))
        note_wrong(meter, plan->come);
    for (unsigned i = 0; i < plan->ins; i++)
        load_part(meter, i, carried, plan->now_ns);
    publish(meter);
    if (__builtin_expect(plan->odd, 0))
        upmu_special_worlds(meter);
    open_parts(meter, carried);
    if (__builtin_expect(plan->odd, 0))
        upmu_special_opened(meter);
    if (upmu_meter_domain(meter))
        meter->claims_due = 1;
    if (__builtin_expect(meter->failed != 0, 0))
        upmu_reconcile_repair(meter);
}

/* ---- What was noticed ---- */

/* The set that a session is to have next, in a plan that it leaves by. */
static UPMU_APART void plan_next_set(struct upmu_meter *meter, struct upmu_session *session)
{
#if UPMU_SETS
    upmu_sets_choose(session, NULL);
    /* An erratum's sequence is no work for a handler. */
    if (UPMU_PRELUDES && meter->in_handler && (session->following->program.flags & UPMU_PROGRAM_PRELUDE) &&
        session->following->program.seen != meter->bank.version)
        return;
    if (upmu_plan_fits(meter, session->following))
        (void)upmu_plan_in(meter, session, session->following);
#else
    (void)meter;
    (void)session;
#endif
}

UPMU_APART bool upmu_reconcile_due(struct upmu_meter *meter)
{
    struct upmu_session *session;
    uint32_t rest = meter->running;

    meter->work_due &= UPMU_DUE_LOG;
    upmu_plan_begin(meter, UPMU_SESSION_WAITING);
    while ((session = upmu_meter_next_running(meter, &rest)) != NULL) {
        bool switches = UPMU_SETS && session->switch_due;

        if (!session->full && !switches)
            continue;
        if (!upmu_plan_out(meter, session)) {
            meter->work_due |= UPMU_DUE_SESSIONS; /* the rest with the next look */
            break;
        }
        if (switches && !session->full)
            plan_next_set(meter, session);
    }
    if (!meter->plan.outs)
        return false;
    upmu_reconcile(meter);
    upmu_waiting_leavers(meter);
    return upmu_waiting_any(meter);
}

/* ---- Faults ---- */

/* Add the counts of before the fault, as far as counters can be read. */
static void take_failed(struct upmu_meter *meter, struct upmu_session *session, uint32_t failed, uint64_t now_ns)
{
    for UPMU_TALLIES(tally, upmu_active(session)) {
        uint64_t value;

        if (upmu_tally_is_metric(tally) || (tally->counters & failed & meter->wrong) ||
            tally->counter >= UPMU_COUNTERS || meter->slot[tally->counter].tag != tally->tag ||
            !upmu_count_value(meter, tally, tally->counter, &value))
            UPMU_STORE(tally->hole, true);
        else
            (void)upmu_count_take(meter, session, tally, tally->counter, value, now_ns);
    }
}

static void fail_session(struct upmu_meter *meter, struct upmu_session *session, uint32_t failed, uint64_t now_ns)
{
    UPMU_STORE(session->sequence, session->sequence + 1u);
    UPMU_BARRIER();
    take_failed(meter, session, failed, now_ns);
    upmu_session_ran(session, now_ns);
    upmu_meter_tag(meter, session->counters, 0);
    UPMU_STORE(session->full, 0);
    (void)upmu_session_fault(meter, session);
    UPMU_STORE(session->state, UPMU_SESSION_STOPPED);
    UPMU_BARRIER();
    UPMU_STORE(session->sequence, session->sequence + 1u);
    upmu_waiting_take(meter, session);
    meter->corunners -= upmu_active(session)->program.placement;
}

/* Counters of sessions that have a counter which failed. */
static uint32_t find_concerned(const struct upmu_meter *meter, uint32_t failed)
{
    uint32_t counters = 0, rest = meter->running;

    for (const struct upmu_session *session; (session = upmu_meter_next_running(meter, &rest)) != NULL;)
        if (session->counters & failed)
            counters |= session->counters;
    return counters;
}

UPMU_APART void upmu_reconcile_repair(struct upmu_meter *meter)
{
    uint32_t failed = meter->failed, closing = find_concerned(meter, failed), rest;
    uint64_t now_ns = upmu_meter_now(meter);
    struct upmu_session *session;

    upmu_count_expect(meter, closing);
    meter->running &= ~closing;
    meter->sampling &= ~closing;
    meter->halted &= ~closing;
    if (!upmu_meter_is_free(meter)) /* (What never stops has no gate.) */
        close_counters(meter, closing | upmu_bank_open(&meter->bank, failed & ~meter->running), 0);
    for (rest = closing; rest;) {
        session = meter->slot[upmu_bits_lowest(rest)].session;
        rest &= ~session->counters & (rest - 1u);
        fail_session(meter, session, failed, now_ns);
    }
    for (rest = closing; rest; rest &= rest - 1u) {
        meter->slot[upmu_bits_lowest(rest)].tally = NULL;
        meter->slot[upmu_bits_lowest(rest)].session = NULL;
    }
    upmu_meter_tag(meter, failed, 0);
    meter->unowned &= ~failed;
    meter->failed = meter->wrong = 0;
    if (UPMU_WORLDS)
        upmu_special_worlds(meter);
    meter->work_due |= UPMU_DUE_LOG;
}

void upmu_reconcile_log(struct upmu_meter *meter)
{
    meter->work_due &= UPMU_DUE_SESSIONS;
    upmu_meter_log(meter, "upmu: a register faulted; a session was stopped");
}

void upmu_reconcile_lose(struct upmu_meter *meter)
{
    struct upmu_session *session;
    uint64_t now_ns = upmu_meter_now(meter);
    uint32_t rest = meter->running;

    while ((session = upmu_meter_next_running(meter, &rest)) != NULL) {
        UPMU_STORE(session->sequence, session->sequence + 1u);
        UPMU_BARRIER();
        upmu_count_mar(session);
        upmu_session_ran(session, now_ns);
        UPMU_STORE(session->state, session->full ? UPMU_SESSION_MASKED : UPMU_SESSION_SUSPENDED);
        UPMU_STORE(session->full, 0);
        UPMU_BARRIER();
        UPMU_STORE(session->sequence, session->sequence + 1u);
    }
    rest = meter->running;
    meter->running = 0; /* before it is said not to sample: a handler closes one or the other */
    UPMU_BARRIER();
    meter->sampling = meter->halted = meter->unowned = 0;
    UPMU_BARRIER();
    for (; rest; rest &= rest - 1u) {
        meter->slot[upmu_bits_lowest(rest)].tally = NULL;
        meter->slot[upmu_bits_lowest(rest)].session = NULL;
    }
    meter->corunners = 0;
    meter->failed = meter->wrong = 0;
    upmu_plan_begin(meter, UPMU_SESSION_WAITING);
    if (UPMU_WORLDS)
        upmu_special_worlds(meter);
}
