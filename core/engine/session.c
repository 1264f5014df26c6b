/* SPDX-License-Identifier: MIT */
/*
 * Calls for sessions: events, targets, start and stop, written values; and the way of each call to the CPU that it
 * needs.
 */
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/util/byte.h"
#include "core/util/mem.h"
#include "core/hw/port_call.h"
#include "core/event/why.h"
#include "core/engine/claims.h"
#include "core/engine/count.h"
#include "core/engine/features.h"
#include "core/engine/bracket.h"
#include "core/engine/machine.h"
#include "core/engine/meter.h"
#include "core/engine/owners.h"
#include "core/engine/placing.h"
#include "core/engine/reconcile.h"
#include "core/engine/program.h"
#include "core/engine/room.h"
#include "core/engine/session_core.h"
#include "core/engine/sets.h"
#include "core/engine/special.h"
#include "core/engine/thread_core.h"
#include "core/engine/waiting.h"
#include "core/sample/ring.h"
#include <upmu/world.h>

/* First period, in events, of an event that asks for a frequency (upmu_sampling.frequency). */
#define FIRST_PERIOD 10000u
#define FALLS_LEAST 0x7fffffffu /* shortest period, in events, where a count can fall (UPMU_ATTR_IN_TXCP) */

enum upmu_status upmu_session_init_sized(void *memory, size_t bytes, struct upmu_machine *machine,
                                         struct upmu_session **out_session)
{
    const size_t before = offsetof(struct upmu_session, set);
    unsigned events = bytes > before ? upmu_room_events(memory, bytes - before) : 0;
    struct upmu_session *session = memory;

    if (!events)
        return UPMU_ERR_NO_SPACE;
    memset(session, 0, before);
    upmu_room_begin(&session->set, events);
    session->machine = machine;
    session->sets = &session->set;
    upmu_session_keep_set(session, &session->set);
    UPMU_STORE(session->active, &session->set);
    do
        session->id = __atomic_fetch_add(&machine->last_session, 1, __ATOMIC_RELAXED) + 1u;
    while (!session->id);
    *out_session = session;
    return UPMU_OK;
}

enum upmu_status upmu_session_init(struct upmu_session *session, struct upmu_machine *machine)
{
    return upmu_session_init_sized(session, sizeof *session, machine, &session);
}

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

/* Has the event no other counters than bytes of top-down metrics? */
static bool is_metric(const struct upmu_pmu *pmu, const struct upmu_event *event)
{
    return event->counters && !(event->counters & ~UPMU_METRIC_COUNTERS(pmu));
}

/* Check the sampling attributes of an event, and store them in *out with the event's period.  `sampling` NULL: none. */
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
        UPMU_STORE(session->why.levels, 1);
        return UPMU_ERR_NOT_PRECISE;
    }
    if (sampling && (sampling->flags & ~UPMU_SAMPLING_FLAGS))
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
    if (!port_has_pmi(machine->port))
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
    missed_ns = upmu_session_missed(session, set, meter ? upmu_meter_now(meter) : 0, &enabled_ns);
    apart_ns = meter ? 0 : upmu_thread_apart(session);
    UPMU_STORE(tally->gap_ns, 0 - missed_ns - apart_ns);
    UPMU_STORE(set->estimate[tally->index].since_ns, enabled_ns + apart_ns);
}

/* Store an event in a set.  Its sampling attributes have been checked. */
static void set_event(struct upmu_session *session, struct upmu_set *set, unsigned i, const struct upmu_event *event,
                      const struct upmu_sampling *sampling)
{
    struct upmu_tally *tally = &set->tally[i];

    upmu_program_forget(set);
    set->event[i] = *event;
    if (HAS_ATTRIBUTES)
        set->sampling[i] = (struct upmu_kept){
            .period = sampling->period, .event_id = sampling->event_id, .long_period = sampling->long_period,
            .values = sampling->values, .switch_after = sampling->switch_after, .resets = sampling->resets};
    if (UPMU_THREADS)
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
    if (UPMU_SAMPLING)
        tally->ordinary = tally->period && !sampling->random_mask && !(sampling->frequency | sampling->switch_after) &&
                          port_has_clock(session->machine->port) &&
                          !(tally->least_log2 | tally->step_log2 | tally->wide);
    if (UPMU_METRICS)
        tally->metric = is_metric(upmu_machine_pmu_of(session->machine, event->pmu), event);
    tally->falls = event->attributes & UPMU_ATTR_IN_TXCP;
    memset(tally->slot, UPMU_NO_COUNTER, sizeof tally->slot);
    UPMU_STORE(tally->counter, UPMU_NO_COUNTER);
    tally->from = UPMU_NO_COUNTER;
    begin_times(session, set, tally, NULL);
}

static uint8_t world_of(const struct upmu_session *session)
{
#if UPMU_WORLDS
    return session->world;
#else
    (void)session;
    return UPMU_WORLD_BOTH;
#endif
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
 * Check the world that an event names: all events of the session have to name the same world, and it must not
 * contradict the world that the host has given the session.  A cascade is refused where the event or the session has a
 * world: worlds are changed by enable bits alone, and the library never sets that of a cascade's target.
 */
static enum upmu_status check_world(const struct upmu_session *session, const struct upmu_event *event)
{
    uint8_t world = world_of(session) | event->world;

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
        status = check_sampling(session, event, sampling, &checked);
    if (status == UPMU_OK) {
        set_event(session, set, set->count++, event, &checked);
        set_world(session, world_of(session) | event->world);
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
    world = world_of(session);
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

enum upmu_status upmu_session_ring(struct upmu_session *session, void *buffer, size_t bytes)
{
    if (session->state != UPMU_SESSION_DETACHED)
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    if (bytes < 256 || bytes > 0x7fffffff || ((uintptr_t)buffer & (_Alignof(uint64_t) - 1u)))
        return upmu_session_refuse(session, UPMU_ERR_INVALID);
    upmu_ring_init(&session->ring, buffer, (uint32_t)bytes);
    return UPMU_OK;
}

void upmu_session_hide_kernel(struct upmu_session *session, bool hide)
{
    session->hides_kernel = hide;
}

void upmu_session_mask_on_full(struct upmu_session *session, bool mask_on_full)
{
    session->mask_on_full = mask_on_full;
}

/* ---- Calls that run on the CPU of their session ---- */

static enum upmu_status work_here(struct upmu_meter *meter, void *argument)
{
    const struct upmu_call *call = argument;
    enum upmu_status status = UPMU_OK;

    if (UPMU_THREADS && call->joins)
        status = upmu_thread_admit(meter, call->session);
    else if (UPMU_THREADS && call->follow && __atomic_load_n(&call->session->meter, __ATOMIC_RELAXED) != meter)
        status = UPMU_ERR_WRONG_CPU;
    return status == UPMU_OK ? call->work(call) : status;
}

static void call_in_bracket(void *argument)
{
    struct upmu_call *call = argument;

    call->status = upmu_bracket_run(call->meter, work_here, call);
}

/*
 * Run a call for a session that is on no CPU, here and without a bracket.  If the session has a thread, `held` is set
 * meanwhile, so that a switch to the thread leaves the session out.  A start (`joins`) whose thread runs on a known CPU
 * is not run: this function stores the meter of that CPU in call->meter, and upmu_session_call() runs the start there.
 */
static UPMU_APART void call_without_cpu(struct upmu_call *call)
{
    struct upmu_session *session = call->session;
    struct upmu_thread *thread;

    if (!upmu_session_attached(session)) {
        if (call->detaches)
            call->status = UPMU_OK;
        else
            call->status = call->targeted || UPMU_LOAD(session->state) == UPMU_SESSION_CLOSED
                               ? upmu_session_refuse(session, UPMU_ERR_STATE)
                               : call->work(call);
        return;
    }
    /* A session that has a target but no thread is just being taken from its target: UPMU_ERR_BUSY. */
    call->status = UPMU_ERR_BUSY;
    if (!UPMU_THREADS || !UPMU_LOAD(session->thread) || !upmu_session_hold_here(session))
        return;
    thread = UPMU_LOAD(session->thread); /* while the session is held, the thread does not end */
    if (thread) {
        /* a limit of the session may exclude this CPU */
        struct upmu_cpu *cpu = call->joins ? UPMU_LOAD(thread->cpu) : NULL;

        if (__atomic_load_n(&session->meter, __ATOMIC_ACQUIRE))
            call->status = UPMU_ERR_WRONG_CPU;
        else if (cpu && upmu_thread_may_join(session, cpu))
            call->meter = &cpu->meter;
        else
            call->status = call->work(call);
    }
    /* After a detach the session is its owner's, and may be freed: store nothing in it. */
    if (!call->detaches || call->status != UPMU_OK)
        upmu_session_release(session);
}

/* Run a call on the CPU that drives its meter.  If no CPU does (a unit), nothing is run, and call->status stays. */
static void send_call(struct upmu_call *call)
{
    struct upmu_cpu *cpu = __atomic_load_n(&call->meter->cpu, __ATOMIC_RELAXED);

    if (!UPMU_UNCORE || cpu)
        (void)port_run_on_cpu(call->session->machine->port, cpu, call_in_bracket, call);
}

/* Detach from a unit that no CPU drives: no register is written; `busy` admits one call at a time. */
static void detach_asleep(struct upmu_call *call)
{
    call->status = UPMU_ERR_BUSY;
    if (upmu_byte_or(&call->meter->busy, 1))
        return;
    call->status = call->work(call);
    __atomic_store_n(&call->meter->busy, 0, __ATOMIC_RELEASE);
}

/*
 * Has the session (with its thread) left the call's meter, or has the unit another driver than `cpu`, since the call
 * looked?
 */
static bool has_gone(const struct upmu_call *call, const struct upmu_cpu *cpu)
{
    return (call->follow && __atomic_load_n(&call->session->meter, __ATOMIC_RELAXED) != call->meter) ||
           (UPMU_UNCORE && call->meter && __atomic_load_n(&call->meter->cpu, __ATOMIC_RELAXED) != cpu);
}

/* How often a call is tried whose session or unit goes to another CPU meanwhile. */
#define FOLLOW 4u

/*
 * Run a call on the CPU where its session is.  If the session is on no CPU, run it on the executing CPU, without a
 * bracket.
 */
enum upmu_status upmu_session_call(struct upmu_call *call)
{
    struct upmu_session *session = call->session;

    for (unsigned i = 0; i < (UPMU_THREADS || UPMU_UNCORE ? FOLLOW : 1); i++) {
        const struct upmu_cpu *cpu = NULL;

        if (call->follow)
            call->meter = __atomic_load_n(&session->meter, __ATOMIC_RELAXED);
        if (!call->meter)
            call_without_cpu(call);
        if (call->meter) {
            cpu = __atomic_load_n(&call->meter->cpu, __ATOMIC_RELAXED);
            call_in_bracket(call);
            if (call->status == UPMU_ERR_WRONG_CPU)
                send_call(call);
            if (UPMU_UNCORE && call->status == UPMU_ERR_NO_CPU && call->detaches)
                detach_asleep(call);
        }
        if (call->status != UPMU_ERR_WRONG_CPU || !has_gone(call, cpu))
            break;
    }
    if (call->status == UPMU_ERR_WRONG_CPU || call->status == UPMU_ERR_BUSY || call->status == UPMU_ERR_NO_CPU)
        (void)upmu_session_refuse(session, call->status);
    return call->status;
}

/*
 * Run a call without arguments for a session; UPMU_ERR_STATE where the session has no target.  `joins`:
 * upmu_call.joins.
 */
static enum upmu_status on_cpu(struct upmu_session *session, enum upmu_status (*work)(const struct upmu_call *call),
                               bool joins)
{
    struct upmu_call call = {.work = work, .session = session, .follow = true, .targeted = true, .joins = joins};

    return upmu_session_attached(session) ? upmu_session_call(&call) : upmu_session_refuse(session, UPMU_ERR_STATE);
}

static enum upmu_status attach_work(const struct upmu_call *call)
{
    struct upmu_session *session = call->session;
    struct upmu_set *active = session->active;
    struct upmu_meter *meter = call->meter;
    enum upmu_status status = UPMU_OK;

    if (!meter->live)
        return upmu_session_refuse(session, UPMU_ERR_NO_PMU);
    (void)upmu_session_refuse(session, UPMU_OK);
    for (struct upmu_set *set = session->sets; status == UPMU_OK && set; set = upmu_set_after(set)) {
        UPMU_STORE(session->active, set);
        status = upmu_placing_fits(meter, session);
    }
    UPMU_STORE(session->active, active);
    if (status != UPMU_OK)
        return status;
    upmu_owners_notice(meter);
    if (upmu_session_unplace(session))
        upmu_meter_rearm(meter);
    upmu_session_tie(session);
    upmu_session_link(meter, session);
    UPMU_STORE(session->state, UPMU_SESSION_STOPPED);
    /* Load registers now, which makes the start cheap; a session that does not fit yet is placed at its start. */
    if (!upmu_session_targets(session) &&
        !(UPMU_PRELUDES && meter->running && (meter->pmu->capabilities & UPMU_PMU_PRELUDE)))
        status = upmu_placing_preload(meter, session);
    if (status == UPMU_ERR_PORT) {
        upmu_session_unlink(meter, session);
        upmu_session_untie(session);
        return status;
    }
    return upmu_session_refuse(session, UPMU_OK);
}

enum upmu_status upmu_session_attach_cpu(struct upmu_session *session, struct upmu_cpu *cpu)
{
    struct upmu_call call = {.work = attach_work, .session = session, .meter = &cpu->meter};

    if (upmu_session_attached(session) || UPMU_LOAD(session->state) != UPMU_SESSION_DETACHED ||
        !upmu_session_events(session))
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    if (!UPMU_LOAD(cpu->meter.machine) || !UPMU_LOAD(cpu->meter.pmu))
        return upmu_session_refuse(session, UPMU_ERR_NO_PMU);
    return upmu_session_call(&call);
}

#if UPMU_UNCORE

enum upmu_status upmu_session_attach_unit(struct upmu_session *session, struct upmu_unit *unit)
{
    struct upmu_call call = {.work = attach_work, .session = session, .meter = &unit->meter};

    if (upmu_session_attached(session) || UPMU_LOAD(session->state) != UPMU_SESSION_DETACHED ||
        !upmu_session_events(session))
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    if (!UPMU_LOAD(unit->meter.machine))
        return upmu_session_refuse(session, UPMU_ERR_NO_PMU);
    if (session->page || world_of(session))
        return upmu_session_refuse(session, UPMU_ERR_UNSUPPORTED);
    return upmu_session_call(&call);
}

#endif

enum upmu_status upmu_session_share(struct upmu_session *session, bool share)
{
    if (session->state != UPMU_SESSION_DETACHED)
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    session->shares = UPMU_THREADS && share;
    return UPMU_OK;
}

/*
 * Give each event of session->long_due its long period (upmu_sampling.long_period), if it has one: the next sample is
 * due after so many events.  The events are those whose overflows have masked the session.
 */
static void begin_long(struct upmu_session *session)
{
    struct upmu_set *set = upmu_active(session);

    for (uint32_t rest = session->long_due; rest; rest &= rest - 1u) {
        unsigned i = upmu_bits_lowest(rest);
        struct upmu_tally *tally = &set->tally[i];

        if (i >= set->count || !set->sampling[i].long_period)
            continue;
        upmu_count_next(tally, set->sampling[i].long_period);
        UPMU_STORE(tally->due, tally->total + tally->reset);
        if (session->meter && tally->counter < UPMU_COUNTERS)
            upmu_meter_untag(session->meter, tally);
        session->tagged_by = session->meter ? session->meter->life : 0;
    }
    session->long_due = 0;
}

enum upmu_status upmu_session_continue(struct upmu_session *session, uint32_t stopped_by, bool masked)
{
    if (session->state != UPMU_SESSION_STOPPED)
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    session->long_due = stopped_by;
    if (masked)
        upmu_waiting_end(session, UPMU_SESSION_MASKED);
    return upmu_session_refuse(session, UPMU_OK);
}

enum upmu_status upmu_session_alone(struct upmu_session *session, bool alone)
{
    if (session->state != UPMU_SESSION_DETACHED)
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    session->alone = alone;
    return UPMU_OK;
}

enum upmu_status upmu_session_static(struct upmu_session *session, bool is_static)
{
    if (session->state != UPMU_SESSION_DETACHED)
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    session->is_static = is_static;
    return UPMU_OK;
}

/* Does the session run, or wait for counters?  A session that is to be masked (`full`) still runs. */
static bool is_started(const struct upmu_session *session)
{
    return upmu_session_occupies(session) || upmu_session_waits(session);
}

/*
 * Before a session that starts gets its counters: give the events in `long_due` their long periods, begin the first set
 * or switch to the next one if it is due, and clear session->why.
 */
static void begin_start(struct upmu_session *session)
{
    if (UPMU_SAMPLING && session->long_due)
        begin_long(session);
#if UPMU_SETS
    upmu_sets_begin(session);
    if (session->switch_due)
        upmu_sets_advance(session, NULL);
#endif
    (void)upmu_session_refuse(session, UPMU_OK);
}

static enum upmu_status start_work(const struct upmu_call *call)
{
    struct upmu_session *session = call->session;
    enum upmu_status status;

    if (is_started(session)) {
        if (UPMU_THREADS && call->meter)
            upmu_thread_spare(call->meter, session); /* the call has linked it */
        return UPMU_OK;
    }
    if ((!UPMU_THREADS || call->meter) && !call->meter->live)
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    begin_start(session);
    if (UPMU_THREADS && !call->meter) {
        UPMU_STORE(session->error, UPMU_OK);
        return upmu_thread_start(session);
    }
    status = upmu_waiting_start(call->meter, session, true);
    UPMU_STORE(session->why.status, status);
    upmu_waiting_admit(call->meter, false);
    if (upmu_session_waits(session))
        upmu_thread_spare(call->meter, session);
    return status;
}

enum upmu_status upmu_session_start(struct upmu_session *session)
{
    enum upmu_status status = on_cpu(session, start_work, true);

    /*
     * An interrupt that met a fault may have stopped the session since the start: return its error.  A session that
     * waits is started.
     */
    return status == UPMU_OK && !upmu_session_waits(session) ? UPMU_LOAD(session->error) : status;
}

enum upmu_status upmu_session_restart(struct upmu_session *session)
{
    if (UPMU_LOAD(session->state) != UPMU_SESSION_MASKED || !upmu_features_restart(session))
        return UPMU_OK;
    return upmu_session_start(session);
}

static enum upmu_status stop_work(const struct upmu_call *call)
{
    enum upmu_status status = upmu_session_halt(call->meter, call->session);

    if (call->meter)
        upmu_waiting_admit(call->meter, false);
    else
        upmu_thread_stopped(call->session);
    return status;
}

enum upmu_status upmu_session_stop(struct upmu_session *session)
{
    return on_cpu(session, stop_work, false);
}

/* Arguments of upmu_sessions_change(): sessions to start, and sessions to stop. */
struct these {
    struct upmu_session *const *start, *const *stop;
    unsigned starts, stops;
};

/*
 * Stop and start by one plan what can be: stop the running sessions of this meter, and start those that have a valid
 * placement.  If any session waits on this meter, nothing is changed.
 */
static void change_at_once(struct upmu_meter *meter, const struct these *these)
{
    struct upmu_plan *plan = &meter->plan;
    struct upmu_session *session;

    if (!meter->live || upmu_waiting_any(meter))
        return;
    upmu_plan_begin(meter, UPMU_SESSION_STOPPED);
    for (unsigned i = 0; i < these->stops; i++) {
        session = these->stop[i];
        if (UPMU_LOAD(session->meter) == meter && upmu_session_occupies(session))
            (void)upmu_plan_out(meter, session);
    }
    for (unsigned i = 0; i < these->starts; i++) {
        session = these->start[i];
        if (UPMU_LOAD(session->meter) != meter || is_started(session) || upmu_special_clash(meter, session))
            continue;
        begin_start(session);
        if (upmu_plan_fits(meter, upmu_active(session)))
            (void)upmu_plan_in(meter, session, upmu_active(session));
    }
    if (!(plan->outs | plan->ins))
        return;
    upmu_reconcile(meter);
    for (unsigned i = 0; i < plan->outs; i++)
        /* the plan masked it, as its last sample filled the ring; a stop was asked for */
        if (plan->out[i]->state == UPMU_SESSION_MASKED)
            upmu_waiting_end(plan->out[i], UPMU_SESSION_STOPPED);
}

/* Change all sessions: by one plan where possible, the others one by one.  Returns the first refusal, or UPMU_OK. */
static enum upmu_status change_work(struct upmu_meter *meter, void *argument)
{
    const struct these *these = argument;
    enum upmu_status status = UPMU_OK;

    /* Link the sessions of the running thread that no switch has linked yet.  Those of other CPUs are refused below. */
    for (unsigned i = 0; UPMU_THREADS && i < these->stops + these->starts; i++)
        (void)upmu_thread_admit(meter, i < these->stops ? these->stop[i] : these->start[i - these->stops]);
    change_at_once(meter, these);
    for (unsigned i = 0; i < these->stops + these->starts; i++) {
        bool stops = i < these->stops;
        struct upmu_call call = {.session = stops ? these->stop[i] : these->start[i - these->stops], .meter = meter};
        enum upmu_status one = UPMU_ERR_WRONG_CPU;

        if (UPMU_LOAD(call.session->meter) != meter)
            (void)upmu_session_refuse(call.session, one);
        else if (stops ? call.session->state == UPMU_SESSION_STOPPED : is_started(call.session))
            one = call.session->error;
        else
            one = stops ? stop_work(&call) : start_work(&call);
        if (status == UPMU_OK)
            status = one;
    }
    upmu_waiting_admit(meter, false);
    return status;
}

enum upmu_status upmu_sessions_change(struct upmu_cpu *cpu, struct upmu_session *const *start, unsigned starts,
                                   struct upmu_session *const *stop, unsigned stops)
{
    struct these these = {start, stop, starts, stops};

    return cpu->meter.pmu ? upmu_bracket_run(&cpu->meter, change_work, &these) : UPMU_ERR_NO_PMU;
}

static enum upmu_status detach_work(const struct upmu_call *call)
{
    struct upmu_thread *thread = call->session->thread;
    enum upmu_status status;

    if (call->meter) {
        status = upmu_session_leave(call->meter, call->session, call->listed);
        upmu_waiting_admit(call->meter, false);
        return status;
    }
    if (UPMU_THREADS && !call->listed && !upmu_thread_hold(thread))
        return UPMU_ERR_BUSY;
    upmu_thread_settle(call->session);
    upmu_session_untie(call->session);
    if (UPMU_THREADS && !call->listed)
        upmu_thread_release(thread);
    return UPMU_OK;
}

static enum upmu_status detach_session(struct upmu_session *session, bool listed)
{
    struct upmu_call call = {
        .work = detach_work, .session = session, .follow = true, .detaches = true, .listed = listed
    };

    return upmu_session_attached(session) ? upmu_session_call(&call) : UPMU_OK;
}

enum upmu_status upmu_session_detach(struct upmu_session *session)
{
    return detach_session(session, false);
}

enum upmu_status upmu_session_detach_listed(struct upmu_session *session)
{
    return detach_session(session, true);
}

enum upmu_status upmu_session_close(struct upmu_session *session)
{
    enum upmu_status status = upmu_session_detach(session);

    /* The status decides, not the target: a CPU that leaves may have taken the session from its target since. */
    if (status == UPMU_OK || status == UPMU_ERR_PORT)
        upmu_session_end(session);
    return status;
}

void upmu_session_hold(struct upmu_session *session)
{
    session->controllers++;
}

enum upmu_status upmu_session_drop(struct upmu_session *session)
{
    enum upmu_status status;

    if (session->controllers) {
        session->controllers--;
        return UPMU_OK;
    }
    status = upmu_session_detach(session);
    if (status == UPMU_ERR_WRONG_CPU || status == UPMU_ERR_BUSY) {
        (void)__atomic_fetch_add(&session->machine->dropped, 1, __ATOMIC_RELAXED);
        /*
         * If the session still has a target, the code that takes it from there ends the session: store nothing here
         * then.
         */
        if (upmu_byte_or(&session->ties, UPMU_DROPPED) & UPMU_TIED)
            return UPMU_OK;
        status = UPMU_OK;
    }
    if (!upmu_session_attached(session))
        upmu_session_end(session);
    return status;
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
        UPMU_STORE(tally->due, tally->total + call->value);
        UPMU_STORE(tally->reset, call->value);
        UPMU_STORE(tally->period, call->period);
        /* `tagged_by` 0: no tag is valid, so the next start loads the counters. */
        if (!meter) /* a value left on a counter may overflow too early or too late */
            call->session->tagged_by = 0;
    } else if (call_lends(call)) {
        tally->lent = true;
        if (!tally->period)
            UPMU_STORE(tally->reset, call->value - tally->total);
        if (!meter)
            call->session->tagged_by = 0;
    } else {
        upmu_count_begin(call->set, tally, call->value);
        UPMU_STORE(tally->hole, false);
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
            if (!call->period && !call_lends(call)) /* the times of a written count begin now */
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
    if (!left || left > UPMU_LONGEST_PERIOD || period < pmu->min_period ||
        period > UPMU_LONGEST_PERIOD - set->tally[index].random_mask ||
        (set->tally[index].falls && (left < FALLS_LEAST || period < FALLS_LEAST)))
        return upmu_session_refuse(session, UPMU_ERR_INVALID);
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

    /* A loan needs plans that are odd; sessions of one world make every plan odd (meter->worlds). */
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

    if (is_started(session))
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    if (call->value && call->meter)
        (void)upmu_placing_release(call->meter, session);
    if (call->set == upmu_active(session))
        UPMU_STORE(session->counters, 0);
    set_event(session, call->set, call->index, call->event, call->sampling);
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
                                                         : check_sampling(session, event, sampling, &checked);
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

    status = session && index < set->count ? encode_next(session, specification, UPMU_TO_NUL, &cursor, &event)
                                           : UPMU_ERR_INVALID;
    if (status == UPMU_ERR_INVALID || status == UPMU_ERR_END)
        return upmu_session_refuse(session, status == UPMU_ERR_END ? UPMU_ERR_SYNTAX : status);
    return status == UPMU_OK ? replace_event(session, set, index, &event, sampling, true) : status;
}
