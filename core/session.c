/* SPDX-License-Identifier: MIT */
/*
 * Sessions: the state machine around the scheduler, and the bracket around each
 * call that needs its CPU.
 */
#include "core/backend.h"
#include "core/bits.h"
#include "core/claims.h"
#include "core/cpu.h"
#include "core/local.h"
#include "core/mem.h"
#include "core/ring.h"
#include "core/schedule.h"
#include "core/session_core.h"

#define LONGEST_PERIOD (~UINT64_C(0) >> 1)

enum upmu_status upmu_session_init(struct upmu_session *session, struct upmu_machine *machine)
{
    memset(session, 0, sizeof *session);
    session->machine = machine;
    if (!++machine->last_session)
        machine->last_session = 1;
    session->id = machine->last_session;
    return UPMU_OK;
}

enum upmu_status upmu_session_refuse(struct upmu_session *session, enum upmu_status status)
{
    memset(&session->why, 0, sizeof session->why);
    session->why.status = status;
    return status;
}

static enum upmu_status check_sampling(const struct upmu_session *session, const struct upmu_sampling *sampling,
                                       const struct upmu_event *event)
{
    const struct upmu_machine *machine = session->machine;

    if (event->attributes & UPMU_ATTR_PRECISE)
        return UPMU_ERR_UNSUPPORTED;
    if (!sampling || !sampling->period)
        return UPMU_OK;
    if (!UPMU_SAMPLING)
        return UPMU_ERR_COMPILED_OUT;
    if (!port_has_pmi(machine->port))
        return UPMU_ERR_HOOK_MISSING;
    if (sampling->period > LONGEST_PERIOD || sampling->period < machine->pmu[event->pmu].min_period)
        return UPMU_ERR_INVALID;
    return UPMU_OK;
}

static void set_event(struct upmu_session *session, unsigned i, const struct upmu_event *event,
                      const struct upmu_sampling *sampling)
{
    struct upmu_tally *tally = &session->set.tally[i];

    session->set.event[i] = *event;
    session->set.sampling[i].period = sampling ? sampling->period : 0;
    memset(tally, 0, sizeof *tally);
    tally->period = session->set.sampling[i].period;
    tally->due = tally->period;
    tally->counter = UPMU_NO_COUNTER;
    memset(tally->extra, UPMU_NO_COUNTER, sizeof tally->extra);
}

enum upmu_status upmu_session_add_event(struct upmu_session *session, const struct upmu_event *event,
                                        const struct upmu_sampling *sampling)
{
    enum upmu_status status = check_sampling(session, sampling, event);

    if (session->state != UPMU_SESSION_DETACHED)
        status = UPMU_ERR_STATE;
    else if (!session->machine->pmu_count)
        status = UPMU_ERR_NO_PMU;
    else if (session->set.count == UPMU_SET_EVENTS)
        status = UPMU_ERR_NO_SPACE;
    if (status != UPMU_OK)
        return upmu_session_refuse(session, status);
    set_event(session, session->set.count, event, sampling);
    session->set.count++;
    session->why.status = UPMU_OK;
    return UPMU_OK;
}

#if UPMU_NAMES

/* Encode one specification for this machine, and check that it can be sampled as asked. */
static enum upmu_status encode(struct upmu_session *session, const struct upmu_spec *spec,
                               const struct upmu_sampling *sampling, struct upmu_event *out_event)
{
    enum upmu_status status;

    if (!session->machine->pmu_count)
        return upmu_session_refuse(session, UPMU_ERR_NO_PMU);
    status = upmu_event_encode(&session->machine->pmu[0], spec, out_event, &session->why);
    if (status != UPMU_OK)
        return status;
    status = check_sampling(session, sampling, out_event);
    return status == UPMU_OK ? UPMU_OK : upmu_session_refuse(session, status);
}

enum upmu_status upmu_session_add(struct upmu_session *session, const char *list, const struct upmu_sampling *sampling)
{
    uint8_t before = session->set.count;
    size_t cursor = 0;
    enum upmu_status status;

    if (session->state != UPMU_SESSION_DETACHED)
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    for (;;) {
        struct upmu_spec spec;
        struct upmu_event event;

        status = upmu_spec_next(list, &cursor, &spec, &session->why);
        if (status != UPMU_OK)
            break;
        status = encode(session, &spec, sampling, &event);
        if (status == UPMU_OK)
            status = upmu_session_add_event(session, &event, sampling);
        if (status != UPMU_OK)
            break;
    }
    if (status == UPMU_ERR_END && session->set.count > before) {
        memset(&session->why, 0, sizeof session->why);
        return UPMU_OK;
    }
    session->set.count = before;
    return status == UPMU_ERR_END ? upmu_session_refuse(session, UPMU_ERR_SYNTAX) : status;
}

#else

enum upmu_status upmu_session_add(struct upmu_session *session, const char *list, const struct upmu_sampling *sampling)
{
    (void)list;
    (void)sampling;
    return upmu_session_refuse(session, UPMU_ERR_COMPILED_OUT);
}

#endif

enum upmu_status upmu_session_ring(struct upmu_session *session, void *buffer, size_t bytes)
{
    if (session->state != UPMU_SESSION_DETACHED)
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    if (bytes < 256 || bytes > 0x7fffffff || ((uintptr_t)buffer & (_Alignof(uint64_t) - 1u)))
        return upmu_session_refuse(session, UPMU_ERR_INVALID);
    upmu_ring_init(&session->ring, buffer, (uint32_t)bytes);
    return UPMU_OK;
}

void upmu_session_mask_on_full(struct upmu_session *session, bool mask_on_full)
{
    session->mask_on_full = mask_on_full;
}

/* ---- Calls that need their CPU ---- */

/* One of them, so that it can be sent to another CPU. */
struct call {
    enum upmu_status (*work)(struct call *call);
    struct upmu_session *session;
    struct upmu_cpu *cpu;
    unsigned index;
    uint64_t value;
    const struct upmu_event *event;
    const struct upmu_sampling *sampling;
    enum upmu_status status;
};

static void bracketed(void *argument)
{
    struct call *call = argument;
    uintptr_t state;

    call->status = upmu_local_enter(call->cpu, &state);
    if (call->status != UPMU_OK)
        return;
    call->status = call->work(call);
    upmu_local_leave(call->cpu, state);
}

static enum upmu_status perform(struct call *call)
{
    bracketed(call);
    if (call->status == UPMU_ERR_WRONG_CPU && port_run_on_cpu(call->cpu->machine->port, call->cpu, bracketed, call))
        return call->status;
    if (call->status == UPMU_ERR_WRONG_CPU || call->status == UPMU_ERR_BUSY)
        (void)upmu_session_refuse(call->session, call->status);
    return call->status;
}

/* A call that needs nothing but its session; it must be attached. */
static enum upmu_status on_cpu(struct upmu_session *session, enum upmu_status (*work)(struct call *call))
{
    struct call call = { .work = work, .session = session, .cpu = session->cpu };

    return session->cpu ? perform(&call) : upmu_session_refuse(session, UPMU_ERR_STATE);
}

/* Unique on its CPU until it wraps; never 0. */
static void give_tag(struct upmu_cpu *cpu, struct upmu_tally *tally)
{
    if (!++cpu->next_tag)
        cpu->next_tag = 1;
    tally->tag = cpu->next_tag;
}

static void link_session(struct upmu_cpu *cpu, struct upmu_session *session)
{
    for (unsigned i = 0; i < session->set.count; i++) {
        give_tag(cpu, &session->set.tally[i]);
        session->set.tally[i].counter = UPMU_NO_COUNTER;
    }
    session->cpu = cpu;
    session->counters = 0;
    session->state = UPMU_SESSION_STOPPED;
    session->next = cpu->sessions;
    UPMU_BARRIER();
    cpu->sessions = session;
}

static void unlink_session(struct upmu_cpu *cpu, struct upmu_session *session)
{
    struct upmu_session **link = &cpu->sessions;

    while (*link && *link != session)
        link = &(*link)->next;
    if (*link)
        *link = session->next;
    UPMU_BARRIER();
    session->state = UPMU_SESSION_DETACHED;
    session->cpu = NULL;
}

static bool samples(const struct upmu_session *session)
{
    for (unsigned i = 0; i < session->set.count; i++)
        if (session->set.tally[i].period)
            return true;
    return false;
}

static enum upmu_status attach_work(struct call *call)
{
    struct upmu_session *session = call->session;
    struct upmu_cpu *cpu = call->cpu;
    enum upmu_status status;

    if (!cpu->live)
        return upmu_session_refuse(session, UPMU_ERR_NO_PMU);
    for (unsigned i = 0; i < session->set.count; i++)
        if (&cpu->machine->pmu[session->set.event[i].pmu] != cpu->pmu)
            return upmu_session_refuse(session, UPMU_ERR_WRONG_PMU);
    memset(&session->why, 0, sizeof session->why);
    status = upmu_schedule_fits(cpu, session);
    if (status != UPMU_OK)
        return status;
    upmu_cpu_notice_foreign(cpu);
    link_session(cpu, session);
    if (samples(session))
        upmu_cpu_rearm(cpu);
    /* Loading now makes the start cheap; what does not fit beside others waits for the start. */
    if (!upmu_session_shares(cpu, session)) {
        status = upmu_schedule_preload(cpu, session);
        memset(&session->why, 0, sizeof session->why);
    }
    if (status == UPMU_ERR_PORT) {
        unlink_session(cpu, session);
        return upmu_session_refuse(session, UPMU_ERR_PORT);
    }
    return UPMU_OK;
}

enum upmu_status upmu_session_attach_cpu(struct upmu_session *session, struct upmu_cpu *cpu)
{
    struct call call = { .work = attach_work, .session = session, .cpu = cpu };

    if (session->state != UPMU_SESSION_DETACHED || !session->set.count)
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    if (!cpu->machine || !cpu->pmu)
        return upmu_session_refuse(session, UPMU_ERR_NO_PMU);
    return perform(&call);
}

static enum upmu_status start_work(struct call *call)
{
    struct upmu_session *session = call->session;
    enum upmu_status status;

    if (session->state == UPMU_SESSION_RUNNING)
        return UPMU_OK;
    if (!call->cpu->live)
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    memset(&session->why, 0, sizeof session->why);
    status = upmu_schedule_start(call->cpu, session);
    session->why.status = status;
    return status;
}

enum upmu_status upmu_session_start(struct upmu_session *session)
{
    return on_cpu(session, start_work);
}

enum upmu_status upmu_session_restart(struct upmu_session *session)
{
    return session->state == UPMU_SESSION_MASKED ? upmu_session_start(session) : UPMU_OK;
}

static enum upmu_status stop_work(struct call *call)
{
    struct upmu_session *session = call->session;

    if (session->state == UPMU_SESSION_RUNNING)
        return upmu_schedule_stop(call->cpu, session);
    session->state = UPMU_SESSION_STOPPED;
    return UPMU_OK;
}

enum upmu_status upmu_session_stop(struct upmu_session *session)
{
    return on_cpu(session, stop_work);
}

enum upmu_status upmu_session_leave(struct upmu_cpu *cpu, struct upmu_session *session)
{
    enum upmu_status status = UPMU_OK, released;

    if (session->state == UPMU_SESSION_RUNNING)
        status = upmu_schedule_stop(cpu, session);
    session->state = UPMU_SESSION_STOPPED;
    released = cpu->live ? upmu_schedule_release(cpu, session) : UPMU_OK;
    unlink_session(cpu, session);
    return status != UPMU_OK ? status : released;
}

static enum upmu_status detach_work(struct call *call)
{
    return upmu_session_leave(call->cpu, call->session);
}

enum upmu_status upmu_session_detach(struct upmu_session *session)
{
    return session->cpu ? on_cpu(session, detach_work) : UPMU_OK;
}

enum upmu_status upmu_session_close(struct upmu_session *session)
{
    enum upmu_status status = upmu_session_detach(session);

    if (session->cpu)
        return status;
    session->state = UPMU_SESSION_CLOSED;
    session->id = 0;
    session->set.count = 0;
    return status;
}

/* ---- Values ---- */

static enum upmu_status write_work(struct call *call)
{
    struct upmu_session *session = call->session;
    struct upmu_cpu *cpu = call->cpu;
    struct upmu_tally *tally = &session->set.tally[call->index];
    bool running = session->state == UPMU_SESSION_RUNNING;
    enum upmu_status status = running ? upmu_schedule_stop(cpu, session) : UPMU_OK;

    if (status != UPMU_OK)
        return status;
    tally->total = call->value;
    tally->due = call->value + tally->period;
    tally->hole = false;
    tally->gap_ns = 0;
    if (cpu && tally->counter < UPMU_COUNTERS && tally->period)
        cpu->last_tag[tally->counter] = 0;
    return running ? upmu_schedule_start(cpu, session) : UPMU_OK;
}

enum upmu_status upmu_session_write(struct upmu_session *session, unsigned index, uint64_t value)
{
    struct call call = { .work = write_work, .session = session, .cpu = session->cpu, .index = index, .value = value };

    if (index >= session->set.count || value > LONGEST_PERIOD)
        return upmu_session_refuse(session, UPMU_ERR_INVALID);
    return session->cpu ? perform(&call) : write_work(&call);
}

static enum upmu_status replace_work(struct call *call)
{
    struct upmu_session *session = call->session;

    if (session->state == UPMU_SESSION_RUNNING)
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    (void)upmu_schedule_release(call->cpu, session);
    set_event(session, call->index, call->event, call->sampling);
    give_tag(call->cpu, &session->set.tally[call->index]);
    return UPMU_OK;
}

enum upmu_status upmu_session_replace(struct upmu_session *session, unsigned index, const char *specification,
                                      const struct upmu_sampling *sampling)
{
#if UPMU_NAMES
    struct upmu_event event;
    struct call call = { .work = replace_work, .session = session,  .cpu = session->cpu,
                         .index = index,       .event = &event,     .sampling = sampling };
    struct upmu_spec spec;
    size_t cursor = 0;
    enum upmu_status status;

    if (index >= session->set.count)
        return upmu_session_refuse(session, UPMU_ERR_INVALID);
    if (session->state == UPMU_SESSION_RUNNING)
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    status = upmu_spec_next(specification, &cursor, &spec, &session->why);
    if (status == UPMU_OK)
        status = encode(session, &spec, sampling, &event);
    if (status != UPMU_OK)
        return status == UPMU_ERR_END ? upmu_session_refuse(session, UPMU_ERR_SYNTAX) : status;
    if (session->cpu)
        return perform(&call);
    set_event(session, index, &event, sampling);
    return UPMU_OK;
#else
    (void)index;
    (void)specification;
    (void)sampling;
    (void)replace_work;
    return upmu_session_refuse(session, UPMU_ERR_COMPILED_OUT);
#endif
}
