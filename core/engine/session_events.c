/* SPDX-License-Identifier: MIT */
/*
 * What a session counts: the events of its sets, their periods, and counts that the host writes.
 */
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/util/text.h"
#include "core/hw/port_call.h"
#include "core/event/why.h"
#include "core/engine/count.h"
#include "core/engine/features.h"
#include "core/engine/joint.h"
#include "core/engine/machine.h"
#include "core/engine/meter.h"
#include "core/engine/placing.h"
#include "core/engine/reconcile.h"
#include "core/engine/program.h"
#include "core/engine/session_core.h"
#include "core/engine/thread_core.h"
#include "core/engine/waiting.h"
#include <upmu/precise.h>
#include <upmu/world.h>

/* First period, in events, of an event that asks for a frequency (upmu_sampling.frequency). */
#define FIRST_PERIOD 10000u
#define FALLS_LEAST 0x7fffffffu /* shortest period, in events, where a count can fall (UPMU_ATTR_IN_TXCP) */

/* The parts of records that upmu_sampling.flags may ask for, as bits of the flags. */
#if UPMU_PRECISE && UPMU_FORMATS
#define KNOWN_PARTS UPMU_SAMPLING_PARTS(UPMU_RECORD_PARTS)
#else
#define KNOWN_PARTS 0u
#endif
#define KNOWN_BATCH (UPMU_PRECISE ? UPMU_SAMPLING_BATCH : 0u)

/* Does this build keep sampling attributes of events?  If not (0), set->sampling is not used. */
#define HAS_ATTRIBUTES (UPMU_SAMPLING || UPMU_BACKEND_X86_P4)

/*
 * Returns the period of an event in events, 0 where it does not sample.  If the attributes have none: the text of a
 * cascade can have one (in config2, where bit 63 is set then), and a frequency begins with FIRST_PERIOD.
 */
static uint64_t period_of(const struct upmu_event *event, const struct upmu_sampling *sampling)
{
    if (!sampling->period && upmu_event_cascades(event) && event->config2 >> 63)
        return event->config2 & ~UPMU_EVENT_AFTER;
    if (!sampling->period && sampling->frequency)
        return FIRST_PERIOD;
    return sampling->period;
}

/* Is the event a top-down metric: can it be counted, and by bytes of top-down metrics alone? */
static bool is_metric(const struct upmu_pmu *pmu, const struct upmu_event *event)
{
    return event->counters && !(event->counters & ~UPMU_METRIC_COUNTERS(pmu));
}

/*
 * Check the period of a precise event, which may not be shorter than the records of the event's counters allow.
 * Returns UPMU_OK, or UPMU_ERR_INVALID with the reason in session->why.
 */
static enum upmu_status check_precise_period(struct upmu_session *session, const struct upmu_pmu *pmu,
                                             const struct upmu_event *event, uint64_t period)
{
    static const char reason[] = "precise events here have periods from 128 on";

    if (!UPMU_PRECISE || !(event->attributes & UPMU_ATTR_PRECISE) ||
        period >> upmu_records_least_log2(pmu, event->counters))
        return UPMU_OK;
    (void)upmu_why_refuse(&session->why, UPMU_ERR_INVALID, pmu, NULL, 0, 0);
    for (unsigned i = 0; UPMU_WHY_TEXT && i < sizeof reason - 1u; i++)
        session->why.word[i] = reason[i];
    return UPMU_ERR_INVALID;
}

/*
 * Check the sampling attributes of an event (`sampling`, NULL: none), and store them in *out with the event's period
 * (period_of()); without HAS_ATTRIBUTES *out stays as it is.  Returns UPMU_OK or why they are refused, then with the
 * hook or the levels of `precise` in session->why.
 */
static enum upmu_status check_sampling(struct upmu_session *session, const struct upmu_event *event,
                                       const struct upmu_sampling *sampling, struct upmu_sampling *out)
{
    const struct upmu_machine *machine = session->machine;
    const struct upmu_pmu *pmu = upmu_machine_pmu_of(machine, event->pmu);
    const char *hook = NULL;
    uint64_t period = sampling ? sampling->period | sampling->frequency : 0, longest;

    if (HAS_ATTRIBUTES) {
        memset(out, 0, sizeof *out);
        if (sampling)
            *out = *sampling;
        period = period_of(event, out);
        out->period = period;
    }
    UPMU_STORE(session->why.levels, 0);
    if (period && (event->attributes & UPMU_ATTR_PRECISE)) {
        if (!pmu || !upmu_records_counters(pmu, event->counters)) {
            UPMU_STORE(session->why.levels, 1);
            return UPMU_ERR_NOT_PRECISE;
        }
        if (upmu_session_world_of(session) == UPMU_WORLD_GUEST || event->world == UPMU_WORLD_GUEST)
            return UPMU_ERR_UNSUPPORTED;
        if (!upmu_records_given(machine))
            return upmu_why_hook(&session->why, "upmu_cpu_use_records");
        if (check_precise_period(session, pmu, event, period) != UPMU_OK)
            return UPMU_ERR_INVALID;
    }
    if (sampling && (sampling->flags & ~(UPMU_SAMPLING_FLAGS | KNOWN_PARTS | KNOWN_BATCH)))
        return UPMU_ERR_INVALID;
    if ((UPMU_UNCORE || UPMU_FOREIGN) && (!pmu || (period && (pmu->capabilities & UPMU_PMU_NO_PMI))))
        return pmu ? UPMU_ERR_UNSUPPORTED : UPMU_ERR_NO_SUCH_PMU;
    if (upmu_event_cascades(event))
        return period && period <= pmu->max_period ? UPMU_OK : UPMU_ERR_INVALID;
    if ((period || !UPMU_METRICS) && is_metric(pmu, event))
        return UPMU_METRICS ? UPMU_ERR_UNSUPPORTED : UPMU_ERR_COMPILED_OUT;
    if (!period)
        return UPMU_OK;
    if (!UPMU_SAMPLING)
        return UPMU_ERR_COMPILED_OUT;
    if (!port_has_pmi(machine->port) && !(out->flags & KNOWN_BATCH))
        hook = "pmi_rearm";
    else if (out->frequency && !port_has_clock(machine->port))
        hook = "clock_ns";
    if (hook)
        return upmu_why_hook(&session->why, hook);
    /*
     * IN_TXCP: the interrupt of an overflow aborts the transaction, and the abort takes the transaction's events out of
     * the count again.  With a short period the same overflow would come without end.
     */
    longest = out->long_period > period ? out->long_period : period;
    if (longest > UPMU_LONGEST_PERIOD || out->random_mask > UPMU_LONGEST_PERIOD - longest || period < pmu->min_period ||
        ((event->attributes & UPMU_ATTR_IN_TXCP) && period < FALLS_LEAST))
        return UPMU_ERR_INVALID;
    return UPMU_OK;
}

/* As check_sampling(), for an event that is to be entry `index` of a set; session->why.word may have the reason. */
static UPMU_INSIDE enum upmu_status check_for_set(struct upmu_session *session, const struct upmu_set *set,
                                                  unsigned index, const struct upmu_event *event,
                                                  const struct upmu_sampling *sampling, struct upmu_sampling *out)
{
    enum upmu_status status = check_sampling(session, event, sampling, out);

#if UPMU_PRECISE
    const char *reason = status == UPMU_OK ? upmu_batch_refuses(set, index, event, out) : NULL;

    if (reason)
        return upmu_batch_refuse(session, event, reason);
#else
    (void)set;
    (void)index;
#endif
    return status;
}

/*
 * Let the times of an event's count begin now.  `since_ns` becomes the session's enabled time.  `gap_ns` becomes minus
 * the time that the set has missed so far: a read adds the two, and gets 0.  `meter` NULL: the session is not started,
 * or on no CPU.
 */
static void begin_times(struct upmu_session *session, struct upmu_set *set, struct upmu_tally *tally,
                        const struct upmu_meter *meter)
{
    uint64_t enabled_ns, missed_ns, apart_ns;

    UPMU_STORE(tally->gap_ns, 0);
    if (!UPMU_THREADS)
        return;
    if (!meter)
        upmu_thread_blur(session);
    missed_ns = upmu_session_missed(session, set, meter ? upmu_meter_now(meter) : 0, &enabled_ns);
    apart_ns = meter ? 0 : upmu_thread_apart(session);
    UPMU_STORE(tally->gap_ns, 0 - missed_ns - apart_ns);
    UPMU_STORE(set->estimate[tally->index].since_ns, enabled_ns + apart_ns);
}

static void set_world(struct upmu_session *session, uint8_t world)
{
#if UPMU_WORLDS
    session->world = world;
#else
    (void)session;
    (void)world;
#endif
}

/*
 * If an event that was stored in entry `i` of a set samples precisely, note that and the parts that its samples are to
 * have (`flags`: upmu_sampling.flags), and leave it the counters that can store records.  Its session counts in the
 * host alone: the hardware stores records by an address of the host.
 */
static void settle_precise(struct upmu_session *session, struct upmu_set *set, unsigned i, uint32_t flags)
{
#if UPMU_PRECISE
    struct upmu_event *event = &set->event[i];
    const struct upmu_pmu *pmu = upmu_machine_pmu_of(session->machine, event->pmu);
    uint8_t least;

    set->tally[i].precise = set->tally[i].period && (event->attributes & UPMU_ATTR_PRECISE);
    if (!set->tally[i].precise)
        return;
    set->tally[i].batch = flags & UPMU_SAMPLING_BATCH;
    set->sampling[i].parts = (uint16_t)(flags >> UPMU_SAMPLING_PARTS_SHIFT);
    event->counters = upmu_records_counters(pmu, event->counters);
    /* Fixed counter 0 may lack the latency of the retirement: an event that asks for it avoids this counter. */
    if ((set->sampling[i].parts & UPMU_PART_RETIRE) && pmu->record_untimed &&
        (event->counters & ~UPMU_BIT32(UPMU_FIXED_COUNTER(0))))
        event->counters &= ~UPMU_BIT32(UPMU_FIXED_COUNTER(0));
    least = upmu_records_least_log2(pmu, event->counters);
    if (set->tally[i].least_log2 < least)
        set->tally[i].least_log2 = least;
    set_world(session, UPMU_WORLD_HOST);
#if UPMU_WORLDS
    if (session->meter)
        session->meter->worlds |= UPMU_WORLD_HOST;
#endif
#else
    (void)session;
    (void)set;
    (void)i;
    (void)flags;
#endif
}

/*
 * Store an event in entry `i` of a set, with attributes that check_sampling() has accepted.  Its count and tally begin
 * anew, unplaced, and the set's placement is forgotten.
 */
static UPMU_INSIDE_IF_LARGE void set_event(struct upmu_session *session, struct upmu_set *set, unsigned i,
                                           const struct upmu_event *event, const struct upmu_sampling *sampling)
{
    struct upmu_tally *tally = &set->tally[i];

    upmu_program_forget(set);
    upmu_session_know(session, NULL);
    set->event[i] = *event;
    if (HAS_ATTRIBUTES)
        set->sampling[i] = (struct upmu_kept){
            .period = sampling->period, .event_id = sampling->event_id, .long_period = sampling->long_period,
            .values = sampling->values, .switch_after = sampling->switch_after, .resets = sampling->resets};
    else if (UPMU_SETS || UPMU_RESULTS) /* which read it without a look at HAS_ATTRIBUTES */
        memset(&set->sampling[i], 0, sizeof set->sampling[i]);
    if (UPMU_THREADS || UPMU_TURNS)
        memset(&set->estimate[i], 0, sizeof set->estimate[i]);
    memset(tally, 0, sizeof *tally);
    tally->index = (uint8_t)i;
    if (UPMU_SAMPLING) {
        UPMU_STORE(tally->period, upmu_event_cascades(event) ? 0 : sampling->period);
        tally->frequency = sampling->frequency;
        tally->random = sampling->random_seed;
        tally->random_mask = sampling->random_mask;
        tally->notifies = sampling->flags & UPMU_SAMPLING_NOTIFY;
        tally->wraps = sampling->flags & UPMU_SAMPLING_WRAP;
        tally->least_log2 = event->least_log2;
        tally->step_log2 = event->step_log2;
        upmu_count_begin(set, tally, 0);
    }
    if (UPMU_SLOTS > 1) {
        tally->wide = event->attributes & UPMU_ATTR_WIDE;
        tally->shared = event->payload != 0;
        tally->cascades = upmu_event_cascades(event);
    }
    if (HAS_ATTRIBUTES && sampling->period)
        settle_precise(session, set, i, sampling->flags);
    if (UPMU_SAMPLING)
        tally->ordinary = tally->period && !sampling->random_mask && !(sampling->frequency | sampling->switch_after) &&
                          port_has_clock(session->machine->port) &&
                          !(tally->least_log2 | tally->step_log2 | tally->wide) && !upmu_tally_is_precise(tally);
    if (UPMU_METRICS)
        tally->metric = is_metric(upmu_machine_pmu_of(session->machine, event->pmu), event);
    tally->falls = event->attributes & UPMU_ATTR_IN_TXCP;
    upmu_joint_forget(tally);
}

/*
 * Check the world that an event names: all events of the session have to name the same world, and it must not
 * contradict the world that the host has given the session.  A cascade is refused where the event or the session has a
 * world: worlds are changed by enable bits alone, and the library never sets that of a cascade's target.
 */
static enum upmu_status check_world(const struct upmu_session *session, const struct upmu_event *event)
{
    uint8_t world = upmu_session_world_of(session) | event->world;

    if (!UPMU_WORLDS)
        return UPMU_OK;
    if (upmu_event_cascades(event) && world)
        return UPMU_ERR_UNSUPPORTED;
    if (event->world && world != event->world)
        return UPMU_ERR_CONTRADICTION;
    for (const struct upmu_set *set = session->sets; set; set = upmu_set_after(set))
        if (set->count && set->event[0].world != event->world)
            return UPMU_ERR_CONTRADICTION;
    return UPMU_OK;
}

/*
 * Add one event to a set.  A refusal changes the status in session->why, and keeps the text there: the specification of
 * the event.
 */
static enum upmu_status add_one_event(struct upmu_session *session, struct upmu_set *set,
                                      const struct upmu_event *event, const struct upmu_sampling *sampling)
{
    struct upmu_sampling checked;
    enum upmu_status status;

    if (session->state != UPMU_SESSION_DETACHED)
        status = UPMU_ERR_STATE;
    else if (!session->machine || !__atomic_load_n(&session->machine->pmu_count, __ATOMIC_ACQUIRE))
        status = UPMU_ERR_NO_PMU;
    else if (set->count == set->capacity)
        status = UPMU_ERR_NO_SPACE;
    else if ((status = check_world(session, event)) == UPMU_OK)
        status = check_for_set(session, set, set->count, event, sampling, &checked);
    if (status == UPMU_OK) {
        set_event(session, set, set->count, event, &checked);
        begin_times(session, set, &set->tally[set->count++], NULL);
        set_world(session, upmu_session_world_of(session) | event->world);
    }
    UPMU_STORE(session->why.status, status);
    return status;
}

enum upmu_status upmu_set_add_event(struct upmu_set *set, const struct upmu_event *event,
                                    const struct upmu_sampling *sampling)
{
    struct upmu_session *session = set->session;

    return upmu_session_refuse(session, UPMU_OK) == UPMU_OK ? add_one_event(session, set, event, sampling)
                                                            : UPMU_ERR_STATE;
}

#if UPMU_GROUPS

void upmu_session_take_list(struct upmu_session *session, const struct upmu_event *event, unsigned count)
{
    static const struct upmu_sampling none;

    for (unsigned i = 0; i < count; i++)
        set_event(session, &session->set, i, &event[i], &none);
    session->set.count = (uint8_t)count;
    set_world(session, event[0].world);
}

#endif

enum upmu_status upmu_set_clear(struct upmu_set *set)
{
    struct upmu_session *session = set->session;

    if (!session || session->state != UPMU_SESSION_DETACHED)
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    upmu_program_forget(set);
    set->count = 0;
    /* Bit i of long_due is event i of the active set. */
    if (set == upmu_active(session))
        session->long_due = 0; /* the events of before are gone */
    return upmu_session_refuse(session, UPMU_OK);
}

#if UPMU_NAMES

/*
 * Encode the next specification of a list, at *cursor, for the PMU that its prefix names, or else the session's.  Moves
 * *cursor behind it. session->why gets the text of the specification, for a later refusal of the event.
 */
static enum upmu_status encode_next(struct upmu_session *session, const char *list, size_t bytes, size_t *cursor,
                                    struct upmu_event *out_event)
{
    const struct upmu_machine *machine = session->machine;
    struct upmu_spec spec;
    unsigned i = session->pmu, next = 0;
    enum upmu_status status = upmu_spec_next_n(list, bytes, cursor, &spec, &session->why);

    if (status != UPMU_OK)
        return status;
    if (!machine || !__atomic_load_n(&machine->pmu_count, __ATOMIC_ACQUIRE))
        return upmu_session_refuse(session, UPMU_ERR_NO_PMU);
    for (;; i = upmu_machine_index(machine, next++)) {
        status = upmu_event_encode(upmu_machine_pmu_of(machine, i), &spec, out_event, &session->why);
        if (status != UPMU_ERR_NO_SUCH_PMU || next == upmu_machine_pmus(machine))
            break;
    }
    if (status == UPMU_OK)
        (void)upmu_why_refuse(&session->why, status, NULL, list, spec.name.position,
                              spec.end - (size_t)spec.name.position);
    return status;
}

enum upmu_status upmu_set_add_n(struct upmu_set *set, const char *list, size_t bytes,
                                const struct upmu_sampling *sampling)
{
    struct upmu_session *session = set->session;
    uint8_t before = set->count, world;
    size_t cursor = 0;
    struct upmu_event event;
    enum upmu_status status;

    if (!session || session->state != UPMU_SESSION_DETACHED)
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    world = upmu_session_world_of(session);
    do {
        status = encode_next(session, list, bytes, &cursor, &event);
        if (status == UPMU_OK)
            status = add_one_event(session, set, &event, sampling);
    } while (status == UPMU_OK);
    if (status == UPMU_ERR_END)
        return upmu_session_refuse(session, set->count > before ? UPMU_OK : UPMU_ERR_SYNTAX);
    set->count = before;
    set_world(session, world);
    return status;
}

#else

static enum upmu_status encode_next(struct upmu_session *session, const char *list, size_t bytes, size_t *cursor,
                                    struct upmu_event *out_event)
{
    (void)list;
    (void)bytes;
    (void)cursor;
    (void)out_event;
    return upmu_session_refuse(session, UPMU_ERR_COMPILED_OUT);
}

enum upmu_status upmu_set_add_n(struct upmu_set *set, const char *list, size_t bytes,
                                const struct upmu_sampling *sampling)
{
    (void)list;
    (void)bytes;
    (void)sampling;
    return upmu_session_refuse(set->session, UPMU_ERR_COMPILED_OUT);
}

#endif

enum upmu_status upmu_set_add(struct upmu_set *set, const char *list, const struct upmu_sampling *sampling)
{
    return upmu_set_add_n(set, list, UPMU_TO_NUL, sampling);
}

/* ---- Values ---- */

static bool call_lends(const struct upmu_call *call)
{
#if UPMU_LOANS
    return call->lends;
#else
    (void)call;
    return false;
#endif
}

static void set_count(const struct upmu_call *call, struct upmu_tally *tally)
{
    struct upmu_meter *meter = call->meter;

    if (UPMU_SAMPLING && call->period) {
        upmu_count_wait(tally, call->value, call->period);
        /*
         * `tagged_by` 0: no tag is valid, so the next start loads the counters.  If the session is on a CPU,
         * upmu_meter_untag() below does the same for this event.
         */
        if (!meter) /* a value left on a counter may overflow too early or too late */
            call->session->tagged_by = 0;
    } else if (call_lends(call)) {
        tally->lent = true;
        if (!tally->period)
            UPMU_STORE(tally->reset, call->value - tally->total);
        if (!meter)
            call->session->tagged_by = 0;
    } else {
        upmu_count_write(call->set, tally, call->value);
        begin_times(call->session, call->set, tally, meter);
    }
    if (meter && tally->counter < UPMU_COUNTERS && (tally->period || upmu_tally_is_lent(tally)))
        upmu_meter_untag(meter, tally);
}

/*
 * Write a count (upmu_set_write()), the events until the next sample (upmu_set_wait()) or a loan (upmu_set_lend()).  A
 * running session leaves its counters by one plan and gets the same counters by a second one: its claims are kept and
 * nothing is searched, so that no start is refused.
 */
static enum upmu_status write_work(const struct upmu_call *call)
{
    struct upmu_session *session = call->session;
    struct upmu_meter *meter = call->meter;
    struct upmu_tally *tally = &call->set->tally[call->index];
    enum upmu_status status;

    if (!upmu_session_occupies(session) || call->set != upmu_active(session)) {
        set_count(call, tally);
        return UPMU_OK;
    }
    upmu_plan_begin(meter, UPMU_SESSION_WAITING);
    (void)upmu_plan_out(meter, session);
    upmu_reconcile(meter);
    status = session->error;
    if (status == UPMU_OK) {
        set_count(call, tally);
        if (session->state == UPMU_SESSION_WAITING) {
            upmu_waiting_put(meter, session); /* the session's enabled time goes on */
            upmu_plan_begin(meter, UPMU_SESSION_WAITING);
            (void)upmu_plan_in(meter, session, upmu_active(session));
            upmu_reconcile(meter);
            status = session->error;
            /* upmu_set_write() only: the times of the event begin now, when it counts again */
            if (!call->period && !call_lends(call))
                begin_times(session, call->set, tally, meter);
        }
    }
    return status;
}

enum upmu_status upmu_set_write(struct upmu_set *set, unsigned index, uint64_t value)
{
    struct upmu_session *session = set->session;
    struct upmu_call call = {
        .work = write_work, .session = session, .set = set, .index = index, .value = value, .follow = true};

    if (!session || index >= set->count || value > UPMU_LONGEST_PERIOD)
        return upmu_session_refuse(session, UPMU_ERR_INVALID);
    return upmu_session_call(&call);
}

enum upmu_status upmu_set_wait(struct upmu_set *set, unsigned index, uint64_t left,
                               uint64_t period)
{
    struct upmu_session *session = set->session;
    struct upmu_call call = {.work = write_work,
                             .session = session,
                             .set = set,
                             .index = index,
                             .value = left,
                             .period = period,
                             .follow = true};
    const struct upmu_pmu *pmu;

    if (!UPMU_SAMPLING)
        return upmu_session_refuse(session, UPMU_ERR_COMPILED_OUT);
    if (!session || index >= set->count || !set->tally[index].period)
        return upmu_session_refuse(session, UPMU_ERR_INVALID);
    pmu = upmu_machine_pmu_of(session->machine, set->event[index].pmu);
#if UPMU_PRECISE
    if (set->tally[index].batch)
        return upmu_session_refuse(session, UPMU_ERR_UNSUPPORTED);
#endif
    if (!left || left > UPMU_LONGEST_PERIOD || period < pmu->min_period ||
        period > UPMU_LONGEST_PERIOD - set->tally[index].random_mask ||
        (set->tally[index].falls && (left < FALLS_LEAST || period < FALLS_LEAST)))
        return upmu_session_refuse(session, UPMU_ERR_INVALID);
    if (check_precise_period(session, pmu, &set->event[index], period) != UPMU_OK)
        return UPMU_ERR_INVALID;
    return upmu_session_call(&call);
}

#if UPMU_LOANS

/*
 * Can all counters of an event be written in their whole width?  Only the lowest one is looked at: where an event can
 * have counters that cannot be, the lowest is one of them.
 */
static bool takes_values(const struct upmu_pmu *pmu, const struct upmu_event *event)
{
    const struct upmu_counter *where = &pmu->counter[upmu_bits_lowest(event->counters)];

    return where->write_bits >= where->width && !upmu_pmu_is(pmu, UPMU_PMU_CARRY_LOST);
}

enum upmu_status upmu_set_lend(struct upmu_set *set, unsigned index, uint64_t value)
{
    struct upmu_session *session = set->session;
    struct upmu_call call = {.work = write_work,
                             .session = session,
                             .set = set,
                             .index = index,
                             .value = value,
                             .follow = true,
                             .lends = true};

    /*
     * Only sessions of one world may lend.  A plan with a lent counter must be odd, and such a session makes each plan
     * of its meter odd (meter->worlds).
     */
    if (!session || index >= set->count || !session->world)
        return upmu_session_refuse(session, UPMU_ERR_INVALID);
    if (set->tally[index].falls || !takes_values(upmu_machine_pmu_of(session->machine, set->event[index].pmu),
                                                 &set->event[index]))
        return upmu_session_refuse(session, UPMU_ERR_UNSUPPORTED);
    return upmu_session_call(&call);
}

bool upmu_set_where(const struct upmu_set *set, unsigned index,
                    unsigned *out_counter, uint64_t *out_ahead)
{
    const struct upmu_session *session = set->session;
    const volatile struct upmu_tally *tally;
    uint64_t base;

    if (!session || session->state != UPMU_SESSION_RUNNING || set != upmu_active(session) || index >= set->count)
        return false;
    tally = &set->tally[index];
    if (tally->counter >= UPMU_COUNTERS || tally->counters != UPMU_BIT32(tally->counter))
        return false;
    do { /* read again if a handler has loaded the counter between the reads of base and total */
        base = tally->base;
        *out_ahead = base - tally->total;
    } while (base != tally->base);
    *out_counter = tally->counter;
    return true;
}

#endif

/*
 * Replace an event of a session that neither runs nor waits.  The registers of the old event may stay loaded, closed:
 * the new event has another tag, so that its start loads the counter anew.
 */
static enum upmu_status replace_work(const struct upmu_call *call)
{
    struct upmu_session *session = call->session;

    if (upmu_session_is_started(session))
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    if (call->value && call->meter)
        (void)upmu_placing_release(call->meter, session);
    if (call->set == upmu_active(session))
        upmu_session_lose_place(session);
    set_event(session, call->set, call->index, call->event, call->sampling);
    begin_times(session, call->set, &call->set->tally[call->index], NULL);
    session->tagged_by = call->meter ? call->meter->life : 0;
    if (call->meter)
        upmu_session_give_tag(call->meter, &call->set->tally[call->index]);
    return UPMU_OK;
}

/*
 * Check an event and replace event `index` of a set by it.  `idle`: if the session is on a CPU, first make idle the
 * registers of those counters of its active set that no other event has used since.
 */
static enum upmu_status replace_event(struct upmu_session *session, struct upmu_set *set, unsigned index,
                                const struct upmu_event *event, const struct upmu_sampling *sampling, bool idle)
{
    struct upmu_sampling checked;
    struct upmu_call call = {.work = replace_work,
                             .session = session,
                             .set = set,
                             .index = index,
                             .value = idle,
                             .event = event,
                             .sampling = &checked,
                             .follow = true};
    enum upmu_status status = UPMU_ERR_INVALID;

    if (index < set->count)
        status = UPMU_WORLDS && event->world != set->event[index].world ? UPMU_ERR_CONTRADICTION
                                                                        : check_world(session, event);
    status = status == UPMU_OK ? check_for_set(session, set, index, event, sampling, &checked) : status;
    UPMU_STORE(session->why.status, status);
    return status == UPMU_OK ? upmu_session_call(&call) : status;
}

enum upmu_status upmu_set_replace_event(struct upmu_set *set, unsigned index,
                                        const struct upmu_event *event, const struct upmu_sampling *sampling)
{
    struct upmu_session *session = set->session;

    return upmu_session_refuse(session, UPMU_OK) == UPMU_OK
               ? replace_event(session, set, index, event, sampling, false)
               : UPMU_ERR_STATE;
}

enum upmu_status upmu_set_replace(struct upmu_set *set, unsigned index,
                                  const char *specification, const struct upmu_sampling *sampling)
{
    struct upmu_session *session = set->session;
    struct upmu_event event;
    size_t cursor = 0;
    enum upmu_status status;
    size_t rest;

    status = session && index < set->count ? encode_next(session, specification, UPMU_TO_NUL, &cursor, &event)
                                           : UPMU_ERR_INVALID;
    if (status == UPMU_ERR_INVALID || status == UPMU_ERR_END)
        return upmu_session_refuse(session, status == UPMU_ERR_END ? UPMU_ERR_SYNTAX : status);
    rest = status == UPMU_OK ? upmu_text_length(specification + cursor) : 0;
    if (rest) /* the text goes on behind the first specification */
        return upmu_why_refuse(&session->why, UPMU_ERR_SYNTAX, NULL, specification, cursor,
                               rest < UINT16_MAX ? rest : UINT16_MAX);
    return status == UPMU_OK ? replace_event(session, set, index, &event, sampling, true) : status;
}
