/* SPDX-License-Identifier: MIT */
/*
 * Sessions that follow a thread of the host.
 */
#include <upmu/thread.h>

#include "core/apart.h"
#include "core/cpu.h"
#include "core/joint.h"
#include "core/local.h"
#include "core/mem.h"
#include "core/run.h"
#include "core/schedule.h"
#include "core/sets.h"
#include "core/turns.h"

_Static_assert(sizeof(struct upmu_thread) <= 64, "struct upmu_thread is to be small");

void upmu_thread_init(struct upmu_thread *thread, uint32_t pid, uint32_t tid, void *host)
{
    memset(thread, 0, sizeof *thread);
    thread->pid = pid;
    thread->tid = tid;
    thread->host = host;
}

#if UPMU_THREADS

void upmu_thread_forget(struct upmu_session *session)
{
    struct upmu_session **link;

    if (!session->thread)
        return;
    link = &session->thread->sessions;
    while (*link != session)
        link = &(*link)->next_of_thread;
    *link = session->next_of_thread;
    session->next_of_thread = NULL;
    /* Switches of a thread that nobody monitors are not seen: where it runs is not known any more. */
    if (!session->thread->sessions) {
        if (session->thread->cpu && session->thread->cpu->current == session->thread)
            session->thread->cpu->current = NULL;
        session->thread->cpu = NULL;
    }
    session->thread = NULL;
}

/* Nobody owns it any more. */
static void bury(struct upmu_session *session)
{
    upmu_thread_forget(session);
    upmu_session_end(session);
}

/* One that slept with its CPU waits now. */
static void unlink_waiting(struct upmu_cpu *cpu, struct upmu_session *session)
{
    upmu_session_unlink(cpu, session);
    if (session->state == UPMU_SESSION_SUSPENDED)
        session->state = UPMU_SESSION_WAITING;
}

bool upmu_thread_join(struct upmu_cpu *cpu, struct upmu_session *session)
{
    if (__atomic_exchange_n(&session->held, 1, __ATOMIC_ACQUIRE))
        return false;
    upmu_session_link(cpu, session);
    __atomic_store_n(&session->held, 0, __ATOMIC_RELEASE);
    if (UPMU_SETS && session->switch_due)
        upmu_sets_advance(session, NULL);
    session->coming = upmu_active(session);
    session->change = session->state == UPMU_SESSION_WAITING ? UPMU_CHANGE_COMES | UPMU_CHANGE_FRESH : 0;
    return true;
}

enum upmu_status upmu_thread_put(struct upmu_cpu *cpu, struct upmu_session *session)
{
    enum upmu_status status = UPMU_OK;

    if (upmu_session_holds(session)) {
        status = upmu_schedule_stop(cpu, session);
        if (status == UPMU_OK && session->state == UPMU_SESSION_STOPPED)
            session->state = UPMU_SESSION_WAITING;
    } else if (session->state == UPMU_SESSION_WAITING) {
        upmu_session_enabled(session, upmu_machine_clock_ns(cpu->machine));
    }
    unlink_waiting(cpu, session);
    return status;
}

/* Its sessions that run leave; the others are here no longer. */
static void leave_cpu(struct upmu_cpu *cpu, struct upmu_thread *thread)
{
    for (struct upmu_session *session = thread->sessions; session; session = session->next_of_thread) {
        if (session->cpu != cpu)
            continue;
        session->coming = upmu_active(session);
        if (upmu_session_holds(session))
            session->change = UPMU_CHANGE_LEAVES;
        else if (session->state == UPMU_SESSION_WAITING)
            upmu_session_enabled(session, upmu_machine_clock_ns(cpu->machine));
    }
}

static void unlink_all(struct upmu_cpu *cpu, struct upmu_thread *thread)
{
    struct upmu_session *next;

    for (struct upmu_session *session = thread->sessions; session; session = next) {
        next = session->next_of_thread;
        if (session->cpu == cpu)
            unlink_waiting(cpu, session);
        if (session->zombie)
            bury(session);
    }
    thread->cpu = NULL;
}

static UPMU_APART void come(struct upmu_cpu *cpu, struct upmu_thread *thread)
{
    thread->cpu = thread->sessions ? cpu : NULL;
    cpu->current = thread->sessions ? thread : NULL;
}

static void join_all(struct upmu_cpu *cpu, struct upmu_thread *thread)
{
    struct upmu_session *next;

    for (struct upmu_session *session = thread->sessions; session; session = next) {
        next = session->next_of_thread;
        if (session->zombie)
            bury(session);
        else if (!session->cpu)
            (void)upmu_thread_join(cpu, session);
    }
    come(cpu, thread);
}

enum upmu_status upmu_thread_switch_monitored(struct upmu_cpu *cpu, struct upmu_thread *prev, struct upmu_thread *next)
{
    uintptr_t irq;
    enum upmu_status status;

    if (!cpu->pmu || prev == next)
        return UPMU_OK;
    status = upmu_local_enter(cpu, &irq);
    if (status != UPMU_OK)
        return status;
    if (cpu->live) {
        leave_cpu(cpu, prev);
        join_all(cpu, next);
        upmu_change_run(cpu);
    } else {
        come(cpu, next); /* its sessions join with the first tick after the CPU has woken */
    }
    unlink_all(cpu, prev);
    upmu_turns_admit(cpu);
    upmu_local_leave(cpu, irq);
    return UPMU_OK;
}

/* Every set for itself, on an idle PMU. */
static UPMU_INSIDE enum upmu_status check_fits(struct upmu_session *session)
{
    const struct upmu_pmu *pmu = NULL;
    struct upmu_set *active = session->active;
    struct upmu_joint joint;
    enum upmu_status status = UPMU_OK;

    (void)upmu_session_refuse(session, UPMU_OK);
    for (struct upmu_set *set = session->sets; status == UPMU_OK && set; set = upmu_set_after(set)) {
        session->active = set;
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
        status = upmu_joint_solve(NULL, &joint, true, &session->why);
    }
    session->active = active;
    session->why.status = status;
    return status;
}

enum upmu_status upmu_session_attach_thread(struct upmu_session *session, struct upmu_thread *thread,
                                            struct upmu_cpu *cpu)
{
    uintptr_t irq = 0;
    enum upmu_status status;
    bool samples;

    if (session->state != UPMU_SESSION_DETACHED || !upmu_session_events(session))
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    status = check_fits(session);
    if (status != UPMU_OK)
        return status;
    if (cpu) {
        status = cpu->live ? upmu_local_enter(cpu, &irq) : UPMU_ERR_NO_PMU;
        if (status != UPMU_OK)
            return upmu_session_refuse(session, status);
    }
    samples = upmu_session_unplace(session);
    session->thread = thread;
    session->state = UPMU_SESSION_STOPPED;
    session->next_of_thread = thread->sessions;
    __atomic_store_n(&thread->sessions, session, __ATOMIC_RELEASE);
    if (cpu) {
        thread->cpu = cpu;
        cpu->current = thread;
        upmu_session_link(cpu, session);
        if (samples)
            upmu_cpu_rearm(cpu);
        upmu_local_leave(cpu, irq);
    }
    return UPMU_OK;
}

enum upmu_status upmu_thread_exit(struct upmu_thread *thread)
{
    enum upmu_status status = UPMU_OK, last;
    struct upmu_session *session;

    while ((session = thread->sessions) != NULL) {
        last = upmu_session_detach(session);
        if (thread->sessions == session)
            return last;
        if (last != UPMU_OK)
            status = last;
    }
    thread->cpu = NULL;
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

void upmu_thread_forget(struct upmu_session *session)
{
    (void)session;
}

enum upmu_status upmu_thread_put(struct upmu_cpu *cpu, struct upmu_session *session)
{
    return upmu_session_leave(cpu, session);
}

#endif
