/* SPDX-License-Identifier: MIT */
/* Sessions of threads: a switch between threads, the attachment of a session to a thread, and the end of a thread. */
#include "core/util/apart.h"
#include "core/util/mem.h"
#include "core/hw/port_call.h"
#include "core/place/placement.h"
#include "core/engine/claims.h"
#include "core/engine/estimate.h"
#include "core/engine/features.h"
#include "core/engine/joint.h"
#include "core/engine/bracket.h"
#include "core/engine/machine.h"
#include "core/engine/meter.h"
#include "core/engine/reconcile.h"
#include "core/engine/program.h"
#include "core/engine/session_core.h"
#include "core/engine/thread_core.h"
#include "core/engine/waiting.h"
#include "core/sample/user_page.h"

_Static_assert(sizeof(struct upmu_thread) <= 64, "struct upmu_thread is to be small");

/* The definition, for callers that do not inline it, of a function that is inline in upmu/private/inline.h. */
extern inline enum upmu_status upmu_thread_switch(struct upmu_cpu *cpu, struct upmu_thread *prev,
                                                  struct upmu_thread *next);

void upmu_thread_init(struct upmu_thread *thread, uint32_t pid, uint32_t tid, void *host)
{
    memset(thread, 0, sizeof *thread);
    thread->pid = pid;
    thread->tid = tid;
    thread->host = host;
}

#if UPMU_THREADS

/*
 * How many searches for places may fail in one switch, for all sessions of the thread that comes.  Searches that find a
 * place are not limited: each takes a counter.
 */
#define SEARCHES 4u

/* Of each list of a thread, a switch looks at and links so many sessions that have no place in its plan. */
#define COME_LOOKS 2u

/*
 * Unlink from this CPU the sessions of the thread that leaves, which stand with those of the thread that comes before
 * all others; end those that have no owner.  If the thread's list is held elsewhere, they end later.
 */
static void unlink_all(struct upmu_meter *meter, struct upmu_thread *thread, uint64_t now_ns)
{
    struct upmu_session *next, *dropped;

    for (struct upmu_session *session = meter->sessions; session && session->thread; session = next) {
        next = session->next;
        if (session->thread == thread)
            upmu_thread_unlink(meter, session, now_ns);
    }
    UPMU_STORE(thread->cpu, NULL);
    if (!upmu_thread_any_dropped(meter->machine) || !__atomic_load_n(&thread->sessions, __ATOMIC_RELAXED) ||
        !upmu_thread_hold(thread))
        return;
    dropped = upmu_thread_take_dropped(thread);
    upmu_thread_release(thread);
    if (dropped)
        upmu_thread_bury(dropped);
}

/*
 * Note that a thread runs on this CPU.  If the thread has sessions or may execute RDPMC, cpu->current becomes the
 * thread and thread->cpu this CPU, else NULL.  By thread->cpu upmu_thread_switch() finds later that the thread leaves,
 * also if its last session has ended by then.  Only the CPU where the thread runs changes thread->cpu.
 */
static inline void set_current(struct upmu_meter *meter, struct upmu_thread *thread)
{
    bool seen = __atomic_load_n(&thread->sessions, __ATOMIC_RELAXED) || (UPMU_USER_PAGES && thread->reads);

    meter->cpu->current = seen ? thread : NULL;
    UPMU_STORE(thread->cpu, seen ? meter->cpu : NULL);
}

/* Plan a session out.  If the plan has no room, it is carried out and begun anew before that. */
static void plan_session_out(struct upmu_meter *meter, struct upmu_session *session)
{
    if (upmu_plan_has_room(meter, meter->plan.outs, session->counters) && upmu_plan_out(meter, session))
        return;
    upmu_reconcile(meter);
    upmu_plan_begin(meter, UPMU_SESSION_WAITING);
    (void)upmu_plan_out(meter, session);
}

/* Plan out all sessions of the thread that run on this CPU: those with counters, and those that run an empty set. */
static void plan_thread_out(struct upmu_meter *meter, const struct upmu_thread *thread)
{
    uint32_t rest = meter->running;
    struct upmu_session *session, *next;

    while ((session = upmu_meter_next_running(meter, &rest)) != NULL)
        if (session->thread == thread)
            plan_session_out(meter, session);
    for (session = meter->waiting[UPMU_WAIT_EMPTY]; session; session = next) {
        next = session->next_waiting;
        if (session->thread == thread)
            plan_session_out(meter, session);
    }
}

/*
 * Plan in a session of the thread that comes.  The session is held meanwhile: another call may be changing its sets.
 * Returns false where it is not planned in.
 */
static inline bool plan_session_in(struct upmu_meter *meter, struct upmu_session *session)
{
    bool planned;

    if (!upmu_session_hold_here(session))
        return false;
    if (UPMU_SETS && session->switch_due)
        upmu_thread_link(meter, session, 0);
    planned = upmu_session_waits(session) &&
              (upmu_waiting_plan(meter, session) ||
               (__builtin_expect(upmu_program_take(meter, session), 0) && upmu_waiting_plan(meter, session)));
    upmu_session_release(session);
    return planned;
}

/*
 * Plan in the sessions of one list of the thread that comes, until COME_LOOKS sessions without a limit have no place in
 * the plan.  Returns whether a session has none.  Not inlined: the walk over many lists needs the registers.
 */
static UPMU_APART bool plan_list_in(struct upmu_meter *meter, struct upmu_session *session)
{
    struct upmu_session *next;
    unsigned looks = COME_LOOKS;
    bool waits = false;

    for (; session && looks; session = next) {
        next = session->next_started;
        if (session->meter)
            continue;
        if (!upmu_session_waits(session)) {
            upmu_thread_unlist(session);
        } else if (!plan_session_in(meter, session)) {
            waits = true;
            looks -= !session->limit;
        }
    }
    return waits;
}

/* plan_list_in() for each list of a thread, whose lists are held. */
static bool plan_thread_in(struct upmu_meter *meter, struct upmu_thread *thread)
{
    const struct upmu_cpu *cpu = meter->cpu;
    struct upmu_session *next;
    bool waits = false;

    for (struct upmu_session *list = thread->started; list; list = next) {
        next = list->next_list;
        if (upmu_thread_may_join(list, cpu))
            waits |= plan_list_in(meter, list);
    }
    return waits;
}

/*
 * Link the first sessions of one list that are not planned in, and search places for them, until COME_LOOKS sessions
 * without a limit have none: they wait here.  The others stay in the thread's list.
 */
static void find_list_places(struct upmu_meter *meter, struct upmu_thread *thread, struct upmu_session *session,
                             unsigned *searches, uint32_t taken, uint64_t now_ns)
{
    struct upmu_session *next;
    unsigned kept = 0;

    for (; session; session = next) {
        next = session->next_started;
        if (!upmu_session_waits(session)) {
            if (!session->meter)
                upmu_thread_unlist(session);
            continue;
        }
        if (session->queued)
            continue;
        if (kept == COME_LOOKS && !session->limit)
            break;
        if (!session->meter && !upmu_thread_join(meter, session, now_ns))
            continue;
        /* Before the session was linked, a call on another CPU may have stopped it. */
        if (!upmu_session_waits(session))
            continue;
        if (upmu_waiting_come(meter, session, *searches != 0, taken, now_ns))
            *searches -= upmu_session_waits(session);
        kept += upmu_session_waits(session) && !session->limit;
    }
    if (session)
        UPMU_STORE(thread->unjoined, 1);
}

/* find_list_places() for each list of the thread that has come; SEARCHES searches may fail in all of them together. */
static UPMU_APART void find_places(struct upmu_meter *meter, struct upmu_thread *thread, uint64_t now_ns)
{
    uint32_t taken = upmu_waiting_taken(meter);
    unsigned searches = SEARCHES;
    struct upmu_session *next;

    for (struct upmu_session *list = thread->started; list; list = next) {
        next = list->next_list;
        if (upmu_thread_may_join(list, meter->cpu))
            find_list_places(meter, thread, list, &searches, taken, now_ns);
    }
}

/*
 * After a switch's plan: sharing sessions that were displaced are put into the list of those that wait on this CPU.
 * Sessions of the thread that leaves are not: they are unlinked.
 */
static void put_leavers(struct upmu_meter *meter, const struct upmu_thread *thread)
{
    for (unsigned i = 0; i < meter->plan.outs; i++) {
        struct upmu_session *session = meter->plan.out[i];

        if (session->thread == thread || session->state != UPMU_SESSION_WAITING)
            continue;
        upmu_estimate_turn(session->active);
        upmu_waiting_begin(meter, session, meter->plan.now_ns);
    }
}

/*
 * Change from the sessions of `prev` to those of `next` by one plan, or by several if `prev` has more running sessions
 * than one has room for: sessions of `prev` are unlinked, sharing sessions fill free counters, and places are searched
 * for sessions of `next` that need one.  Sessions without owner end.  If another call holds the list of `next`, the
 * sessions of `next` are linked at a later tick.
 */
static void exchange_threads(struct upmu_meter *meter, struct upmu_thread *prev, struct upmu_thread *next)
{
    bool held = upmu_thread_hold(next), waits = false;
    struct upmu_session *dropped = NULL;
    uint64_t now_ns;

    if (held && upmu_thread_any_dropped(meter->machine))
        dropped = upmu_thread_take_dropped(next);
    if (!held)
        upmu_thread_pass(next, meter->cpu);
    else if (__builtin_expect(UPMU_LOAD(next->passed) != 0, 0))
        upmu_thread_spread(next);
    UPMU_STORE(next->unjoined, !held);
    upmu_plan_begin(meter, UPMU_SESSION_WAITING);
    plan_thread_out(meter, prev);
    if (held)
        waits = plan_thread_in(meter, next);
    set_current(meter, next);
    if (UPMU_SHARING && meter->waiting[1])
        upmu_waiting_fill(meter, true);
    if (meter->plan.outs | meter->plan.ins) {
        upmu_reconcile(meter);
        now_ns = meter->plan.now_ns;
    } else {
        now_ns = upmu_meter_now(meter);
    }
    if (UPMU_SHARING)
        put_leavers(meter, prev);
    upmu_thread_clock_turn(prev, false, now_ns);
    unlink_all(meter, prev, now_ns);
    if (waits)
        find_places(meter, next, now_ns);
    else if (!meter->running)
        upmu_waiting_admit(meter, false);
    if (UPMU_LOAD(next->unjoined) && meter->cpu->current)
        upmu_thread_clock_turn(next, true, now_ns);
    if (held)
        upmu_thread_release(next);
    if (dropped)
        upmu_thread_bury(dropped);
}

enum upmu_status upmu_thread_switch_monitored(struct upmu_cpu *cpu, struct upmu_thread *prev, struct upmu_thread *next)
{
    uintptr_t irq;
    enum upmu_status status;

    if (prev == next ||
        !(cpu->meter.pmu || (UPMU_USER_PAGES && cpu->meter.machine && (cpu->user_reads || next->reads))))
        return UPMU_OK;
    status = upmu_bracket_enter(&cpu->meter, &irq);
    if (status != UPMU_OK)
        return status;
    if (UPMU_USER_PAGES) {
        if (next->reads != upmu_user_pages_right(cpu->meter.machine))
            next->reads = 0;
        cpu->readers = (uint8_t)((cpu->readers & UPMU_READS_CPU) | (next->reads ? UPMU_READS_THREAD : 0));
    }
    if (cpu->meter.live) {
        (void)upmu_features_switch(cpu, false);
        exchange_threads(&cpu->meter, prev, next);
        if (upmu_features_switch(cpu, true))
            upmu_interrupt_raise(&cpu->meter);
    } else {
        if (cpu->meter.pmu) {
            /* the CPU sleeps: `unjoined` 1 lets a tick link the thread's sessions after the CPU has woken */
            set_current(&cpu->meter, next);
            UPMU_STORE(next->unjoined, 1);
        }
        unlink_all(&cpu->meter, prev, 0);
    }
    upmu_bracket_leave(&cpu->meter, irq);
    return UPMU_OK;
}

/*
 * Is any event of the session one of a unit?  Such an event happens for no thread in particular: session->why gets
 * UPMU_ERR_NOT_PER_THREAD and the id of the event.
 */
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

/*
 * Could each set of a session be placed, alone on an idle PMU?  Returns UPMU_OK, or why not, which session->why has,
 * too.
 */
static enum upmu_status check_fits(struct upmu_place_work *work, void *argument)
{
    struct upmu_session *session = argument;
    const struct upmu_pmu *pmu = NULL;
    struct upmu_set *active = session->active;
    struct upmu_joint joint;
    enum upmu_status status = UPMU_OK;

    (void)upmu_session_refuse(session, UPMU_OK);
    for (struct upmu_set *set = session->sets; status == UPMU_OK && set; set = upmu_set_after(set)) {
        upmu_session_try_set(session, set);
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
    upmu_session_try_set(session, active);
    UPMU_STORE(session->why.status, status);
    return status;
}

/* The arguments and the result of attach_here(), for a call on the CPU that runs the thread. */
struct attaching {
    struct upmu_session *session;
    struct upmu_thread *thread;
    struct upmu_cpu *cpu; /* the CPU that runs the thread; NULL: the thread does not run */
    enum upmu_status status;
};

static enum upmu_status attach_here(struct upmu_session *session, struct upmu_thread *thread, struct upmu_cpu *cpu)
{
    uintptr_t irq = 0;
    enum upmu_status status = UPMU_OK;
    bool samples;

    if (cpu)
        status = cpu->meter.live ? upmu_bracket_enter(&cpu->meter, &irq) : UPMU_ERR_NO_PMU;
    if (status != UPMU_OK)
        return status;
    if (!upmu_thread_hold(thread)) {
        if (cpu)
            upmu_bracket_leave(&cpu->meter, irq);
        return UPMU_ERR_BUSY;
    }
    samples = upmu_session_unplace(session);
    upmu_session_tie(session);
    UPMU_STORE(session->thread, thread);
    upmu_session_enter(session, UPMU_SESSION_STOPPED);
    upmu_thread_know(thread, session);
    if (UPMU_USER_PAGES && session->page)
        thread->reads = upmu_user_pages_right(session->machine);
    if (cpu) {
        set_current(&cpu->meter, thread);
        if (UPMU_USER_PAGES && session->page)
            cpu->readers |= UPMU_READS_THREAD;
    }
    upmu_thread_release(thread);
    if (cpu) {
        if (samples)
            upmu_meter_rearm(&cpu->meter);
        upmu_bracket_leave(&cpu->meter, irq);
    }
    return UPMU_OK;
}

static void attach_there(void *argument)
{
    struct attaching *attaching = argument;

    attaching->status = attach_here(attaching->session, attaching->thread, attaching->cpu);
}

enum upmu_status upmu_thread_attach(struct upmu_session *session, struct upmu_thread *thread, struct upmu_cpu *cpu)
{
    struct attaching attaching = {session, thread, cpu, UPMU_OK};

    attach_there(&attaching);
    if (attaching.status == UPMU_ERR_WRONG_CPU)
        (void)port_run_on_cpu(session->machine->port, cpu, attach_there, &attaching);
    return attaching.status == UPMU_OK ? UPMU_OK : upmu_session_refuse(session, attaching.status);
}

enum upmu_status upmu_session_attach_thread(struct upmu_session *session, struct upmu_thread *thread,
                                            struct upmu_cpu *cpu)
{
    enum upmu_status status;

    if (upmu_session_attached(session) || session->state != UPMU_SESSION_DETACHED || !upmu_session_events(session))
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    if (has_unit_event(session))
        return UPMU_ERR_NOT_PER_THREAD;
    status = upmu_bracket_place(session->machine, check_fits, session);
    if (status == UPMU_ERR_BUSY)
        return upmu_session_refuse(session, status);
    return status == UPMU_OK ? upmu_thread_attach(session, thread, cpu) : status;
}

enum upmu_status upmu_session_limit_cpu(struct upmu_session *session, struct upmu_cpu *cpu)
{
    if (session->state != UPMU_SESSION_DETACHED)
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    session->limit = (uintptr_t)cpu;
    return UPMU_OK;
}

#endif

#if UPMU_HYBRIDS

enum upmu_status upmu_session_limit_pmu(struct upmu_session *session, const struct upmu_pmu *pmu)
{
    unsigned i = 0;

    if (session->state != UPMU_SESSION_DETACHED)
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    while (i < session->machine->pmu_count && pmu != &session->machine->pmu[i])
        i++;
    if (pmu && i == session->machine->pmu_count)
        return upmu_session_refuse(session, UPMU_ERR_INVALID);
    session->limit = pmu ? upmu_thread_limit_of(pmu) : 0;
    return UPMU_OK;
}

#else

enum upmu_status upmu_session_limit_pmu(struct upmu_session *session, const struct upmu_pmu *pmu)
{
    (void)pmu;
    return upmu_session_refuse(session, UPMU_ERR_COMPILED_OUT);
}

#endif

#if UPMU_THREADS

/*
 * End the right of a thread to execute RDPMC, as its program has ended.  Returns the CPU where the thread runs, whose
 * bracket is to take the right away, or NULL.
 */
static struct upmu_cpu *end_reads(struct upmu_thread *thread)
{
    struct upmu_cpu *cpu = UPMU_USER_PAGES && thread->reads ? thread->cpu : NULL;

    /* Where thread->cpu is NULL (the CPU has no PMU), the right stays until the switch away from the thread. */
    if (thread->cpu)
        thread->reads = 0;
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
        /* While the list is held, no other call frees the session: its address can be compared after the detach. */
        last = upmu_session_detach_listed(session);
        stuck = thread->sessions == session;
        upmu_thread_release(thread);
        if (stuck)
            return last;
        if (last != UPMU_OK)
            status = last;
    }
    cpu = end_reads(thread);
    if (thread->cpu) { /* the thread ends on the CPU where it runs: no thread with sessions runs there now */
        thread->cpu->current = NULL;
        UPMU_STORE(thread->cpu, NULL);
        upmu_thread_clock_turn(thread, false, 0); /* no session needs the time any more */
    }
    upmu_thread_release(thread);
    if (cpu && upmu_bracket_enter(&cpu->meter, &irq) == UPMU_OK)
        upmu_bracket_leave(&cpu->meter, irq);
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

enum upmu_status upmu_session_limit_cpu(struct upmu_session *session, struct upmu_cpu *cpu)
{
    (void)cpu;
    return upmu_session_refuse(session, UPMU_ERR_COMPILED_OUT);
}

enum upmu_status upmu_thread_exit(struct upmu_thread *thread)
{
    (void)thread;
    return UPMU_OK;
}

#endif
