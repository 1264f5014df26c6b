/* SPDX-License-Identifier: MIT */
/*
 * The life of a session: memory, targets, owners; and how each call gets to the CPU that it has to run on.
 */
#include "core/util/apart.h"
#include "core/util/byte.h"
#include "core/util/mem.h"
#include "core/hw/port_call.h"
#include "core/engine/bracket.h"
#include "core/engine/meter.h"
#include "core/engine/owners.h"
#include "core/engine/placing.h"
#include "core/engine/room.h"
#include "core/engine/session_core.h"
#include "core/engine/thread_core.h"
#include "core/engine/waiting.h"
#include "core/sample/ring.h"

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
    upmu_session_rewind(session);
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
 * meanwhile, so that a switch to the thread leaves the session out.  A start (`joins`) is not run here if the thread
 * runs on a CPU that the session may join: call->meter gets the meter of that CPU, and upmu_session_call() runs the
 * start there.
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
    thread = UPMU_LOAD(session->thread); /* while the session is held, its thread does not end */
    if (thread) {
        /* a start (`joins`) goes to the CPU where the thread runs, unless the session's limit excludes that CPU */
        struct upmu_cpu *cpu = call->joins ? UPMU_LOAD(thread->cpu) : NULL;

        if (__atomic_load_n(&session->meter, __ATOMIC_ACQUIRE))
            call->status = UPMU_ERR_WRONG_CPU;
        else if (cpu && upmu_thread_may_join(session, cpu))
            call->meter = &cpu->meter;
        else
            call->status = call->work(call);
    }
    /* After a detach the session's owner may free it at once: `held` is not cleared. */
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

/*
 * Has the session (with its thread) left the call's meter, or has the unit another driver than `cpu`, since the call
 * looked?
 */
static bool has_gone(const struct upmu_call *call, const struct upmu_cpu *cpu)
{
    return (call->follow && __atomic_load_n(&call->session->meter, __ATOMIC_RELAXED) != call->meter) ||
           (UPMU_UNCORE && call->meter && __atomic_load_n(&call->meter->cpu, __ATOMIC_RELAXED) != cpu);
}

/* How often a call is tried, the first time included, if its session or unit goes to another CPU meanwhile. */
#define FOLLOW 4u

/*
 * Run a call on the CPU where its session is.  If the session is on no CPU, run it on the executing CPU, without a
 * bracket.
 */
enum upmu_status upmu_session_call(struct upmu_call *call)
{
    struct upmu_session *session = call->session;

    for (unsigned i = 0; i < (UPMU_REMOTE && (UPMU_THREADS || UPMU_UNCORE) ? FOLLOW : 1); i++) {
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
                call->status = upmu_bracket_run_asleep(call->meter, work_here, call);
        }
        if (call->status != UPMU_ERR_WRONG_CPU || !has_gone(call, cpu))
            break;
    }
    if (call->status == UPMU_ERR_WRONG_CPU || call->status == UPMU_ERR_BUSY || call->status == UPMU_ERR_NO_CPU)
        (void)upmu_session_refuse(session, call->status);
    return call->status;
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
        upmu_session_try_set(session, set);
        status = upmu_placing_fits(meter, session);
    }
    upmu_session_try_set(session, active);
    if (status != UPMU_OK)
        return status;
    upmu_owners_notice(meter);
    if (upmu_session_unplace(session))
        upmu_meter_rearm(meter);
    upmu_session_tie(session);
    upmu_session_link(meter, session);
    upmu_session_enter(session, UPMU_SESSION_STOPPED);
    /* Load registers now: the start writes less.  A session without a place now is attached, too, and placed then. */
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
    if (session->page || upmu_session_world_of(session))
        return upmu_session_refuse(session, UPMU_ERR_UNSUPPORTED);
    return upmu_session_call(&call);
}

#endif

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

    /* The status decides, not `ties`: a CPU that leaves may have taken the session from its target since. */
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
         * If the session still has a target, the code that takes it from there ends it, perhaps at once: do not touch
         * it then.
         */
        if (upmu_byte_or(&session->ties, UPMU_DROPPED) & UPMU_TIED)
            return UPMU_OK;
        status = UPMU_OK;
    }
    if (!upmu_session_attached(session))
        upmu_session_end(session);
    return status;
}
