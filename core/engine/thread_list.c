/* SPDX-License-Identifier: MIT */
/*
 * The lists of a thread's sessions: one of all its sessions, and two of the started ones for each limit, of those that
 * share and those that do not.  thread_join.c links sessions from them to a CPU.
 */
#include "core/util/bits.h"
#include "core/engine/count.h"
#include "core/engine/thread_core.h"
#include "core/hw/port_call.h"

#if UPMU_THREADS

/* How often a call tries to hold a list before it gives up.  The holder does little meanwhile. */
#define PATIENCE 1000u

bool upmu_thread_hold_at_last(struct upmu_thread *thread)
{
    for (unsigned i = 0; i < PATIENCE; i++)
        if (!__atomic_exchange_n(&thread->held, 1, __ATOMIC_ACQUIRE))
            return true;
    return false;
}

void upmu_thread_know(struct upmu_thread *thread, struct upmu_session *session)
{
    session->next_of_thread = thread->sessions;
    session->link_of_thread = &thread->sessions;
    if (session->next_of_thread)
        session->next_of_thread->link_of_thread = &session->next_of_thread;
    __atomic_store_n(&thread->sessions, session, __ATOMIC_RELEASE);
}

/*
 * Return the address of the pointer to the first session of the list for a session: the list of those with its limit
 * (0: none) that share as it does, or do not.  The pointer is NULL if there is no such list.
 */
static struct upmu_session **find_list(struct upmu_thread *thread, const struct upmu_session *session)
{
    struct upmu_session **first = &thread->started;

    while (*first && ((*first)->limit != session->limit ||
                      upmu_session_shares(*first) != upmu_session_shares(session)))
        first = &(*first)->next_list;
    return first;
}

/*
 * Put a session at the end of its list.  In the first session of a list, `before_started` is the last session, so that
 * the end is found without a walk.  In a session that is in no list, `before_started` is NULL.
 */
void upmu_thread_list(struct upmu_thread *thread, struct upmu_session *session)
{
    struct upmu_session **first;

    upmu_thread_spread(thread);
    if (!upmu_session_waits(session))
        UPMU_STORE(session->passed_ns, 0);
    if (session->before_started)
        return;
    first = find_list(thread, session);
    if (*first) {
        session->before_started = (*first)->before_started;
        session->before_started->next_started = session;
        (*first)->before_started = session;
        return;
    }
    first = upmu_session_shares(session) ? first : &thread->started;
    session->before_started = session;
    session->next_list = *first;
    *first = session;
}

void upmu_thread_unlist(struct upmu_session *session)
{
    struct upmu_session *after = session->before_started, *before = session->next_started, **first;

    if (!after)
        return;
    first = find_list(session->thread, session);
    if (*first != session) {
        after->next_started = before;
        (before ? before : *first)->before_started = after;
    } else if (before) {
        before->before_started = after;
        before->next_list = session->next_list;
        *first = before;
    } else {
        *first = session->next_list;
    }
    session->next_started = session->before_started = session->next_list = NULL;
}

void upmu_thread_forget(struct upmu_session *session)
{
    if (!session->thread)
        return;
    upmu_thread_unlist(session);
    if (session->next_of_thread)
        session->next_of_thread->link_of_thread = session->link_of_thread;
    /* Relaxed: a switch that could not hold the list only asks whether the list is empty. */
    __atomic_store_n(session->link_of_thread, session->next_of_thread, __ATOMIC_RELAXED);
    session->next_of_thread = NULL;
    session->link_of_thread = NULL;
    UPMU_STORE(session->thread, NULL);
}

/* ---- Sessions that were passed over ---- */

/*
 * Bits of thread->passed: the number of the CPU that could not hold the lists, all set if several CPUs could not.  The
 * four bits below it: bit n is set if a CPU of core type n could not.
 */
#define SEVERAL_CPUS 0xfffffff0u

/*
 * Returns the number of a CPU, in the bits of SEVERAL_CPUS: 28 bits of its address.  If two CPUs have the same number,
 * a session of one is marked for what the other has passed over, too.
 */
static uint32_t passed_number(uintptr_t cpu)
{
    return (uint32_t)(cpu >> 3) << 4;
}

void upmu_thread_pass(struct upmu_thread *thread, const struct upmu_cpu *cpu)
{
    uint32_t passed = UPMU_LOAD(thread->passed), number = passed_number((uintptr_t)cpu);

    if (passed && (passed & SEVERAL_CPUS) != number)
        number = SEVERAL_CPUS;
    UPMU_STORE(thread->passed, passed | number | UPMU_BIT32(cpu->meter.pmu->index));
}

/* Is a session among those that were passed over, by a value of thread->passed? */
static bool is_passed(uint32_t passed, const struct upmu_session *session)
{
    uintptr_t limit = session->limit;
    uint32_t number = passed & SEVERAL_CPUS;

    if (!limit || !passed)
        return false;
    if (UPMU_HYBRIDS && limit <= UPMU_CORE_TYPES)
        return passed >> (limit - 1u) & 1u;
    return number == SEVERAL_CPUS || number == passed_number(limit);
}

void upmu_thread_spread(struct upmu_thread *thread)
{
    uint32_t passed = UPMU_LOAD(thread->passed) ? __atomic_exchange_n(&thread->passed, 0, __ATOMIC_ACQ_REL) : 0;

    for (struct upmu_session *list = passed ? thread->started : NULL; list; list = list->next_list)
        for (struct upmu_session *session = list; session; session = session->next_started)
            if (is_passed(passed, session) && upmu_session_waits(session) && !session->meter)
                UPMU_STORE(session->passed_ns, UPMU_PASSED);
}

uint64_t upmu_thread_clock_seen(const struct upmu_thread *thread, const struct upmu_machine *machine)
{
    uintptr_t state = port_irq_save(machine->port);
    uint32_t low, high;
    uint64_t now_ns;
    uint16_t turns;

    /* Read the time between the two looks: else the clock could be started at a later time than that. */
    do {
        turns = __atomic_load_n(&thread->turns, __ATOMIC_ACQUIRE);
        now_ns = turns & UPMU_CLOCK_RUNS ? port_clock_ns(machine->port) : 0;
        low = __atomic_load_n(&thread->clock[0], __ATOMIC_ACQUIRE);
        high = __atomic_load_n(&thread->clock[1], __ATOMIC_ACQUIRE);
    } while ((turns & UPMU_CLOCK_CHANGES) || UPMU_LOAD(thread->turns) != turns);
    port_irq_restore(machine->port, state);
    return ((uint64_t)high << 32 | low) + now_ns;
}

uint64_t upmu_thread_apart(const struct upmu_session *session)
{
    const struct upmu_thread *thread = UPMU_LOAD(session->thread);

    if (!thread || session->limit || !upmu_session_waits(session) ||
        __atomic_load_n(&session->meter, __ATOMIC_ACQUIRE))
        return 0;
    return upmu_thread_clock_seen(thread, session->machine) - UPMU_LOAD(session->started_ns);
}

void upmu_thread_pass_now(struct upmu_thread *thread, const struct upmu_cpu *cpu)
{
    upmu_thread_pass(thread, cpu);
    if (!upmu_thread_hold(thread))
        return;
    upmu_thread_spread(thread);
    upmu_thread_release(thread);
}

bool upmu_thread_was_passed(const struct upmu_session *session)
{
    const struct upmu_thread *thread = UPMU_LOAD(session->thread);

    return UPMU_LOAD(session->passed_ns) || (thread && is_passed(UPMU_LOAD(thread->passed), session));
}

void upmu_thread_end_wait(struct upmu_session *session, uint64_t clock_ns, uint64_t now_ns)
{
    uint64_t missed_ns = clock_ns - session->started_ns;

    if (session->limit) {
        missed_ns = upmu_thread_was_passed(session);
        /* While the clock runs, the time was noted when the thread came, and it has run here since then. */
        if (now_ns && session->passed_ns > UPMU_PASSED && (session->thread->turns & UPMU_CLOCK_RUNS))
            missed_ns = now_ns - session->passed_ns;
        else if (missed_ns)
            upmu_count_mar(session);
        UPMU_STORE(session->passed_ns, 0);
    }
    upmu_session_settle(session, missed_ns, clock_ns);
}

void upmu_thread_settle(struct upmu_session *session)
{
    if (session->thread && upmu_session_waits(session))
        upmu_thread_end_wait(session, upmu_thread_clock_seen(session->thread, session->machine), 0);
}

void upmu_thread_stopped(struct upmu_session *session)
{
    struct upmu_thread *thread = session->thread;

    if (!thread || !upmu_thread_hold(thread))
        return;
    upmu_thread_unlist(session);
    upmu_thread_release(thread);
}

enum upmu_status upmu_thread_start(struct upmu_session *session)
{
    struct upmu_thread *thread = session->thread;

    if (!upmu_thread_hold(thread))
        return UPMU_ERR_BUSY;
    upmu_thread_list(thread, session);
    upmu_session_note(session, upmu_thread_clock_seen(thread, session->machine));
    upmu_session_enter(session, UPMU_SESSION_WAITING);
    UPMU_STORE(thread->unjoined, 1);
    upmu_thread_release(thread);
    return UPMU_OK;
}

struct upmu_session *upmu_thread_take_dropped(struct upmu_thread *thread)
{
    struct upmu_session *next, *dropped = NULL;

    for (struct upmu_session *session = thread->sessions; session; session = next) {
        next = session->next_of_thread;
        if (!upmu_session_dropped(session) || __atomic_load_n(&session->meter, __ATOMIC_ACQUIRE))
            continue;
        upmu_thread_forget(session);
        session->next_of_thread = dropped;
        dropped = session;
    }
    return dropped;
}

#else

uint64_t upmu_thread_apart(const struct upmu_session *session)
{
    (void)session;
    return 0;
}

void upmu_thread_settle(struct upmu_session *session)
{
    (void)session;
}

void upmu_thread_stopped(struct upmu_session *session)
{
    (void)session;
}

void upmu_thread_forget(struct upmu_session *session)
{
    (void)session;
}

enum upmu_status upmu_thread_start(struct upmu_session *session)
{
    return upmu_session_refuse(session, UPMU_ERR_COMPILED_OUT);
}

#endif
