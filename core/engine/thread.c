/* SPDX-License-Identifier: MIT */
/*
 * Sessions that follow a thread of the host.
 */
#include "core/util/apart.h"
#include "core/util/mem.h"
#include "core/hw/port_call.h"
#include "core/place/placement.h"
#include "core/engine/absent.h"
#include "core/engine/claims.h"
#include "core/engine/deferred.h"
#include "core/engine/features.h"
#include "core/engine/joint.h"
#include "core/engine/local.h"
#include "core/engine/machine.h"
#include "core/engine/meter.h"
#include "core/engine/multiplex.h"
#include "core/engine/program.h"
#include "core/engine/queue.h"
#include "core/engine/run.h"
#include "core/engine/session_core.h"
#include "core/engine/thread_core.h"
#include "core/engine/transition.h"
#include "core/sample/user_page.h"
#include <upmu/thread.h>


_Static_assert(sizeof(struct upmu_thread) <= 64, "struct upmu_thread is to be small");

void upmu_thread_init(struct upmu_thread *thread, uint32_t pid, uint32_t tid, void *host)
{
    memset(thread, 0, sizeof *thread);
    thread->pid = pid;
    thread->tid = tid;
    thread->host = host;
}

#if UPMU_THREADS

/* A switch searches in vain for so many sessions of the thread that comes: each that finds a place takes a counter. */
#define SEARCHES 4u

/* Sessions without owner that are on no CPU leave a list, which is held, for one of their own. */
static struct upmu_session *take_dropped(struct upmu_thread *thread)
{
    struct upmu_session *next, *dropped = NULL;

    for (struct upmu_session *session = thread->sessions; session; session = next) {
        next = session->next_of_thread;
        if (!upmu_session_dropped(session) || session->meter)
            continue;
        upmu_thread_forget(session);
        session->next_of_thread = dropped;
        dropped = session;
    }
    return dropped;
}

/* Outside of the list, as their formats are told. */
static void bury(struct upmu_session *dropped)
{
    struct upmu_session *next;

    for (; dropped; dropped = next) {
        next = dropped->next_of_thread;
        dropped->next_of_thread = NULL;
        upmu_session_end(dropped);
    }
}

/* Its sessions that run leave; the others are here no longer. */
static void leave_cpu(struct upmu_meter *meter, struct upmu_thread *thread)
{
    for (struct upmu_session *session = meter->sessions; session; session = session->next) {
        if (session->thread != thread)
            continue;
        session->coming = upmu_active(session);
        if (upmu_session_occupies(session))
            session->change = UPMU_CHANGE_LEAVES;
        else if (session->state == UPMU_SESSION_WAITING)
            upmu_session_enabled(session, upmu_machine_clock_ns(meter->machine));
    }
}

static void unlink_all(struct upmu_meter *meter, struct upmu_thread *thread)
{
    struct upmu_session *next, *dropped;

    for (struct upmu_session *session = meter->sessions; session; session = next) {
        next = session->next;
        if (UPMU_LOAD(session->thread) == thread)
            upmu_thread_unlink(meter, session);
    }
    thread->cpu = NULL;
    if (!__atomic_load_n(&thread->sessions, __ATOMIC_RELAXED) || !upmu_thread_hold(thread))
        return;
    dropped = take_dropped(thread);
    upmu_thread_release(thread);
    bury(dropped);
}

/*
 * The thread runs here, and its switch away is seen even if its last session leaves meanwhile: `thread->cpu` is changed
 * by the CPU where it runs, and by no other.
 */
static inline void come(struct upmu_meter *meter, struct upmu_thread *thread)
{
    bool seen = __atomic_load_n(&thread->sessions, __ATOMIC_RELAXED) || (UPMU_USER_PAGES && thread->reads);

    meter->cpu->current = seen ? thread : NULL;
    thread->cpu = seen ? meter->cpu : NULL;
}

static void join_all(struct upmu_meter *meter, struct upmu_thread *thread)
{
    struct upmu_session *dropped = NULL;
    bool held = upmu_thread_hold(thread); /* else they join with the first tick */

    thread->unjoined = !held;
    if (held) {
        dropped = take_dropped(thread);
        for (struct upmu_session *session = thread->sessions; session; session = session->next_of_thread)
            if (!session->meter)
                thread->unjoined |= !upmu_thread_join(meter, session);
    }
    come(meter, thread);
    if (held)
        upmu_thread_release(thread);
    bury(dropped);
}

/* Does one that comes have a place beside those that run with it?  Those that share and occupy it leave. */
static inline bool plan_coming(struct upmu_transition *plan, struct upmu_session *session)
{
    const struct upmu_meter *meter = plan->meter;
    struct upmu_set *set = session->active;
    uint32_t taken = set->counters & ((meter->running & ~plan->leaving) | plan->coming);

    if (taken && (session->shares || (taken & plan->coming) || !(set->program.flags & UPMU_PROGRAM_FREE) ||
                  !upmu_program_fits(meter, set, upmu_transition_corunners(plan)) ||
                  !upmu_multiplex_displace(plan, taken)))
        return false;
    return upmu_program_fits(meter, set, upmu_transition_corunners(plan)) && upmu_transition_in(plan, session, set);
}

/* Sessions of a thread that does not come after all, up to one, may be called from elsewhere again. */
static UPMU_APART void send_back(struct upmu_meter *meter, struct upmu_thread *next, const struct upmu_session *end)
{
    for (struct upmu_session *session = next->sessions; session != end; session = session->next_of_thread) {
        upmu_session_unlink_quickly(meter, session);
        __atomic_store_n(&session->held, 0, __ATOMIC_RELEASE);
    }
}

enum exchange { EXCHANGE_NOT, EXCHANGE_DONE, EXCHANGE_WAITS /* done, but some wait */ };

/* What the sessions of the thread that leaves ask for; false: some need more than a transition. */
static inline bool plan_prev(struct upmu_transition *plan, struct upmu_meter *meter, const struct upmu_thread *prev)
{
    for (struct upmu_session *session = prev->sessions; session; session = session->next_of_thread) {
        if (session->meter != meter)
            return false;
        if (session->state == UPMU_SESSION_RUNNING) {
            if (!upmu_transition_out(plan, session))
                return false;
        } else if (!upmu_session_is_just(session, UPMU_SESSION_STOPPED) &&
                   !upmu_session_is_just(session, UPMU_SESSION_WAITING)) {
            return false;
        }
    }
    return true;
}

/*
 * The same of the one that comes.  Each is held against calls from elsewhere before it is looked at, and in the list of
 * the CPU before it runs: a handler finds it by its counters, a call elsewhere by its CPU.
 */
static inline enum exchange plan_next(struct upmu_transition *plan, struct upmu_meter *meter, struct upmu_thread *next)
{
    enum exchange done = EXCHANGE_DONE;

    for (struct upmu_session *session = next->sessions; session; session = session->next_of_thread) {
        bool waits;

        if (__atomic_exchange_n(&session->held, 1, __ATOMIC_ACQUIRE)) {
            send_back(meter, next, session);
            return EXCHANGE_NOT;
        }
        waits = upmu_session_is_just(session, UPMU_SESSION_WAITING);
        if (session->meter || !(waits || upmu_session_is_just(session, UPMU_SESSION_STOPPED))) {
            __atomic_store_n(&session->held, 0, __ATOMIC_RELEASE);
            send_back(meter, next, session);
            return EXCHANGE_NOT;
        }
        if (session->tagged_by != meter->life) {
            upmu_session_tag(meter, session);
            plan->careful |= upmu_absent_any(meter); /* (It may be the first here that has a world.) */
        }
        upmu_session_link_quickly(meter, session);
        if (waits && !plan_coming(plan, session)) {
            if (!port_has_clock(meter->bank.port)) {
                send_back(meter, next, session->next_of_thread);
                return EXCHANGE_NOT;
            }
            done = EXCHANGE_WAITS;
        }
    }
    return done;
}

/*
 * Those that have found no place are searched for, the first of them; the others wait.  If none of the thread does, one
 * that shares may get a place.
 */
static UPMU_APART void find_places(struct upmu_meter *meter, struct upmu_thread *next)
{
    unsigned searches = SEARCHES;
    bool waits = false;

    for (struct upmu_session *session = next->sessions; session; session = session->next_of_thread) {
        if (session->state != UPMU_SESSION_WAITING)
            continue;
        waits = true;
        if (session->queued)
            continue;
        UPMU_STORE(session->state, UPMU_SESSION_STOPPED);
        if (upmu_multiplex_come(meter, session, searches != 0))
            searches -= upmu_session_waits(session);
    }
    if (!waits && meter->waiting[1])
        upmu_multiplex_search(meter);
}

/* Those of a thread that leaves, with those that wait. */
static inline void unlink_thread(struct upmu_meter *meter, struct upmu_thread *prev)
{
    for (struct upmu_session *session = prev->sessions; session; session = session->next_of_thread) {
        if (session->queued) {
            upmu_session_enabled(session, upmu_meter_now(meter));
            upmu_queue_take(meter, session);
        }
        upmu_session_unlink_quickly(meter, session);
    }
}

/* The lists of both threads are held. */
static inline enum exchange exchange_threads(struct upmu_transition *plan, struct upmu_meter *meter,
                                             struct upmu_thread *prev, struct upmu_thread *next)
{
    enum exchange done;

    upmu_transition_begin(plan, meter);
    if ((upmu_multiplex_wanted(meter) && !port_has_clock(meter->bank.port)) || !plan_prev(plan, meter, prev))
        return EXCHANGE_NOT;
    done = plan_next(plan, meter, next);
    if (done == EXCHANGE_NOT)
        return EXCHANGE_NOT;
    if (meter->waiting[1])
        upmu_multiplex_fill(plan, prev);
    if (!upmu_transition_run(plan, UPMU_SESSION_WAITING)) {
        send_back(meter, next, NULL);
        return EXCHANGE_NOT;
    }
    if (plan->displaced)
        upmu_multiplex_settle(plan, prev);
    if (meter->waiting[1])
        done = EXCHANGE_WAITS;
    for (struct upmu_session *session = next->sessions; session; session = session->next_of_thread)
        __atomic_store_n(&session->held, 0, __ATOMIC_RELEASE);
    unlink_thread(meter, prev);
    return done;
}

static UPMU_APART enum exchange exchange_on_stack(struct upmu_meter *meter, struct upmu_thread *prev,
                                                  struct upmu_thread *next)
{
    struct upmu_transition plan;

    return exchange_threads(&plan, meter, prev, next);
}

/* Where a transition is enough, and nothing has pages.  EXCHANGE_NOT: nothing was done. */
static inline enum exchange switch_quickly(struct upmu_cpu *cpu, struct upmu_thread *prev, struct upmu_thread *next)
{
    struct upmu_meter *meter = &cpu->meter;
    enum exchange done = EXCHANGE_NOT;

    if (upmu_meter_domain(meter) || (UPMU_USER_PAGES && upmu_user_pages_any(meter->machine)) ||
        !upmu_thread_hold(prev))
        return EXCHANGE_NOT;
    if (upmu_thread_hold(next)) {
        done = meter->work ? exchange_threads(upmu_meter_plan(meter), meter, prev, next)
                           : exchange_on_stack(meter, prev, next);
        if (done != EXCHANGE_NOT) {
            /* (The plan is no more: placements use its memory.) */
            if (done == EXCHANGE_WAITS)
                find_places(meter, next);
            next->unjoined = 0;
            come(meter, next);
            prev->cpu = NULL;
        }
        upmu_thread_release(next);
    }
    upmu_thread_release(prev);
    return done;
}

enum upmu_status upmu_thread_switch_monitored(struct upmu_cpu *cpu, struct upmu_thread *prev, struct upmu_thread *next)
{
    uintptr_t irq;
    enum upmu_status status = UPMU_OK;
    bool here;

    if (prev == next ||
        !(cpu->meter.pmu || (UPMU_USER_PAGES && cpu->meter.machine && (cpu->user_reads || next->reads))))
        return UPMU_OK;
    /* (`readers` may say so without the right: the last page was withdrawn while its thread came.) */
    here = !(cpu->user_reads | cpu->readers | next->reads) &&
           upmu_local_try(&cpu->meter, cpu->meter.machine->port, &irq);
    if (here && switch_quickly(cpu, prev, next) != EXCHANGE_NOT) {
        upmu_local_end(&cpu->meter, cpu->meter.machine->port, irq);
        return UPMU_OK;
    }
    /* (What a handler has closed is not opened again before `prev` leaves: it would miss events until then.) */
    if (!here)
        status = upmu_local_enter(&cpu->meter, &irq);
    if (status != UPMU_OK)
        return status;
    /* (What it has masked would be opened with what comes.) */
    if (cpu->meter.mask_due)
        upmu_deferred_run(&cpu->meter);
    if (UPMU_USER_PAGES) {
        next->reads = next->reads && upmu_user_pages_any(cpu->meter.machine);
        cpu->readers = (uint8_t)((cpu->readers & UPMU_READS_CPU) | (next->reads ? UPMU_READS_THREAD : 0));
    }
    if (cpu->meter.live) {
        leave_cpu(&cpu->meter, prev);
        join_all(&cpu->meter, next);
        upmu_transition_all(&cpu->meter);
    } else if (cpu->meter.pmu) {
        come(&cpu->meter, next); /* its sessions join with the first tick after the CPU has woken */
        next->unjoined = 1;
    }
    unlink_all(&cpu->meter, prev);
    if (cpu->meter.pmu)
        upmu_multiplex_admit(&cpu->meter);
    upmu_local_leave(&cpu->meter, irq);
    return UPMU_OK;
}

/* What happens outside the cores happens for no thread: such an event is named. */
static bool has_unit_event(struct upmu_session *session)
{
    for (struct upmu_set *set = UPMU_UNCORE ? session->sets : NULL; set; set = upmu_set_after(set))
        for (unsigned i = 0; i < set->count; i++)
            if (set->event[i].pmu >= UPMU_UNIT_PMU) {
                (void)upmu_session_refuse(session, UPMU_ERR_NOT_PER_THREAD);
                UPMU_STORE(session->why.pmu, upmu_machine_pmu(session->machine, set->event[i].pmu));
                upmu_shared_copy(&session->why.culprit[0], &set->event[i].id, sizeof set->event[i].id);
                UPMU_STORE(session->why.culprit_count, 1);
                return true;
            }
    return false;
}

/* Every set for itself, on an idle PMU. */
static enum upmu_status check_fits(struct upmu_place_work *work, void *argument)
{
    struct upmu_session *session = argument;
    const struct upmu_pmu *pmu = NULL;
    struct upmu_set *active = session->active;
    struct upmu_joint joint;
    enum upmu_status status = UPMU_OK;

    (void)upmu_session_refuse(session, UPMU_OK);
    for (struct upmu_set *set = session->sets; status == UPMU_OK && set; set = upmu_set_after(set)) {
        UPMU_STORE(session->active, set);
        for (unsigned i = 0; i < set->count; i++) {
            if (!pmu)
                pmu = &session->machine->pmu[set->event[i].pmu];
            if (&session->machine->pmu[set->event[i].pmu] != pmu)
                status = UPMU_ERR_WRONG_PMU;
        }
        if (!set->count || status != UPMU_OK)
            continue;
        upmu_joint_begin(&joint, pmu);
        (void)upmu_joint_add(&joint, session, false);
        status = upmu_joint_solve(NULL, &joint, true, work, &session->why);
    }
    UPMU_STORE(session->active, active);
    UPMU_STORE(session->why.status, status);
    return status;
}

enum upmu_status upmu_session_attach_thread(struct upmu_session *session, struct upmu_thread *thread,
                                            struct upmu_cpu *cpu)
{
    uintptr_t irq = 0;
    enum upmu_status status;
    bool samples;

    if (upmu_session_attached(session) || session->state != UPMU_SESSION_DETACHED || !upmu_session_events(session))
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    if (has_unit_event(session))
        return UPMU_ERR_NOT_PER_THREAD;
    status = upmu_local_place(session->machine, check_fits, session);
    if (status == UPMU_ERR_BUSY)
        return upmu_session_refuse(session, status);
    if (status != UPMU_OK)
        return status;
    if (cpu) {
        status = cpu->meter.live ? upmu_local_enter(&cpu->meter, &irq) : UPMU_ERR_NO_PMU;
        if (status != UPMU_OK)
            return upmu_session_refuse(session, status);
    }
    if (!upmu_thread_hold(thread)) {
        if (cpu)
            upmu_local_leave(&cpu->meter, irq);
        return upmu_session_refuse(session, UPMU_ERR_BUSY);
    }
    samples = upmu_session_unplace(session);
    upmu_session_tie(session);
    UPMU_STORE(session->thread, thread);
    UPMU_STORE(session->state, UPMU_SESSION_STOPPED);
    session->next_of_thread = thread->sessions;
    __atomic_store_n(&thread->sessions, session, __ATOMIC_RELEASE);
    thread->unjoined |= !cpu;
    if (cpu) {
        come(&cpu->meter, thread);
        upmu_session_link(&cpu->meter, session);
    }
    upmu_thread_release(thread);
    if (cpu) {
        if (samples)
            upmu_meter_rearm(&cpu->meter);
        upmu_local_leave(&cpu->meter, irq);
    }
    return UPMU_OK;
}

/* Its program executes nothing any more; returns the CPU that is to hear of it, or NULL. */
static struct upmu_cpu *end_reads(struct upmu_thread *thread)
{
    struct upmu_cpu *cpu = UPMU_USER_PAGES && thread->reads ? thread->cpu : NULL;

    /* (On a CPU without PMU, where it runs is not known: its switch away ends the right.) */
    thread->reads = thread->reads && !thread->cpu;
    if (cpu)
        (void)upmu_byte_and(&cpu->readers, UPMU_READS_CPU);
    return cpu;
}

enum upmu_status upmu_thread_exit(struct upmu_thread *thread)
{
    enum upmu_status status = UPMU_OK, last;
    struct upmu_session *session;
    struct upmu_cpu *cpu;
    uintptr_t irq;
    bool stuck;

    for (;;) {
        if (!upmu_thread_hold(thread))
            return UPMU_ERR_BUSY;
        session = thread->sessions;
        if (!session)
            break;
        /* (While the list is held the session is freed by no other call.) */
        last = upmu_session_detach_listed(session);
        stuck = thread->sessions == session;
        upmu_thread_release(thread);
        if (stuck)
            return last;
        if (last != UPMU_OK)
            status = last;
    }
    cpu = end_reads(thread);
    if (thread->cpu) { /* it ends where it runs */
        thread->cpu->current = NULL;
        thread->cpu = NULL;
    }
    upmu_thread_release(thread);
    if (cpu && upmu_local_enter(&cpu->meter, &irq) == UPMU_OK)
        upmu_local_leave(&cpu->meter, irq);
    return status;
}

#else

enum upmu_status upmu_thread_switch_monitored(struct upmu_cpu *cpu, struct upmu_thread *prev, struct upmu_thread *next)
{
    (void)cpu;
    (void)prev;
    (void)next;
    return UPMU_ERR_COMPILED_OUT;
}

enum upmu_status upmu_session_attach_thread(struct upmu_session *session, struct upmu_thread *thread,
                                            struct upmu_cpu *cpu)
{
    (void)thread;
    (void)cpu;
    return upmu_session_refuse(session, UPMU_ERR_COMPILED_OUT);
}

enum upmu_status upmu_thread_exit(struct upmu_thread *thread)
{
    (void)thread;
    return UPMU_OK;
}

#endif
