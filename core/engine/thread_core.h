/* SPDX-License-Identifier: MIT */
/*
 * Declarations of threads for other core files: the lists of a thread's sessions, and how its sessions are linked to a
 * CPU and unlinked.
 */
#ifndef UPMU_CORE_THREAD_CORE_H
#define UPMU_CORE_THREAD_CORE_H

#include "core/engine/meter.h"
#include "core/engine/session_core.h"

/*
 * Hold the lists of a thread's sessions: only the holder walks or changes them.  Returns false where other calls have
 * held them during all tries.
 */
bool upmu_thread_hold_at_last(struct upmu_thread *thread);

/* As upmu_thread_hold_at_last(), with an inline first try: a switch to a monitored thread holds the thread's lists. */
static inline bool upmu_thread_hold(struct upmu_thread *thread)
{
    return !__atomic_exchange_n(&thread->held, 1, __ATOMIC_ACQUIRE) || upmu_thread_hold_at_last(thread);
}

static inline void upmu_thread_release(struct upmu_thread *thread)
{
    __atomic_store_n(&thread->held, 0, __ATOMIC_RELEASE);
}

/*
 * Take a session of a thread off its CPU: plan it out if it has counters, and unlink it.  A started session waits then.
 * Returns UPMU_OK, or session->error.  Inside a local bracket.
 */
enum upmu_status upmu_thread_put(struct upmu_meter *meter, struct upmu_session *session);

/*
 * Put a session into the list of all sessions of a thread.  Or take it out of that list, and of the thread's list of
 * started ones; without a thread nothing is done.  The caller holds the thread's list.
 */
void upmu_thread_know(struct upmu_thread *thread, struct upmu_session *session);
void upmu_thread_forget(struct upmu_session *session);

/*
 * Put a session that is started at the end of its list of the thread's started sessions, unless it is there already,
 * and forget that it was passed over before the start.  Each limit (upmu_session_limit_cpu(), none included) has two
 * lists, of sessions that share and of those that do not; the lists of the second kind stand first.  Switches walk
 * these lists.  The caller holds the thread's list.
 */
void upmu_thread_list(struct upmu_thread *thread, struct upmu_session *session);

/*
 * upmu_session_attach_thread() for a new session whose events are known to be those of threads, and to fit.  Returns
 * and context: as that call.
 */
enum upmu_status upmu_thread_attach(struct upmu_session *session, struct upmu_thread *thread, struct upmu_cpu *cpu);

/* The value of session->limit for the CPUs that have this PMU. */
static inline uintptr_t upmu_thread_limit_of(const struct upmu_pmu *pmu)
{
    return 1u + (uintptr_t)pmu->index;
}

/*
 * May a session of a thread count on this CPU?  Limits to other CPUs are sorted out first, because a switch asks for
 * the list of each limit.
 */
static inline bool upmu_thread_may_join(const struct upmu_session *session, const struct upmu_cpu *cpu)
{
    uintptr_t limit = session->limit;

    if (limit == (uintptr_t)cpu)
        return true;
    if (limit > (UPMU_HYBRIDS ? UPMU_CORE_TYPES : 0))
        return false;
    return !limit || limit == upmu_thread_limit_of(cpu->meter.pmu);
}

/* ---- Sessions with a limit that their CPU has passed over ---- */

/*
 * Value of session->passed_ns where it is unknown for which time the session was passed over.  Such a time counts as 1
 * ns of enabled time, so that the enabled time is longer than the running time.
 */
#define UPMU_PASSED 1u

/*
 * Note that the thread comes to `cpu`, which could not hold the thread's lists: sessions with that limit are passed
 * over, and those with a limit to its PMU.  The CPU where the thread runs calls this; holders of the lists clear the
 * note.
 */
void upmu_thread_pass(struct upmu_thread *thread, const struct upmu_cpu *cpu);

/*
 * Move the note of upmu_thread_pass(), if there is one, to the sessions that it is about: passed_ns of those that wait.
 * To be called before any session of the thread is linked or started.  The caller holds the thread's lists.
 */
void upmu_thread_spread(struct upmu_thread *thread);

/* upmu_thread_pass(), and upmu_thread_spread() if the lists can be held: the CPU sleeps from now on. */
void upmu_thread_pass_now(struct upmu_thread *thread, const struct upmu_cpu *cpu);

/*
 * Was the session, which waits and is linked to no CPU, passed over by the CPU of its limit since it was linked last?
 * Without a limit: false.  The caller holds the session.
 */
bool upmu_thread_was_passed(const struct upmu_session *session);

/*
 * A count of a session that is linked to no CPU begins anew: for the part of the time since the session was passed over
 * that is still to come, the length is unknown.
 */
static inline void upmu_thread_blur(struct upmu_session *session)
{
    if (session->passed_ns)
        UPMU_STORE(session->passed_ns, UPMU_PASSED);
}

/*
 * Before a session of a thread that waits is linked, stopped or detached: make its enabled time right.  `clock_ns`: the
 * present value of the thread's clock; `now_ns`: the present time on the CPU where the thread runs, or 0.  With a limit
 * the clock, which goes on all CPUs, says nothing.  A session that was passed over gets the time since then if that is
 * known, else its events lack an unknown part (`hole`).  The caller holds the session.
 */
void upmu_thread_end_wait(struct upmu_session *session, uint64_t clock_ns, uint64_t now_ns);

/* ---- The clock of a thread ---- */

/*
 * The clock goes while the thread runs on a CPU that is at work and some of its started sessions may not be linked to
 * that CPU (thread->unjoined).  That CPU alone starts and stops it.  The clock has the enabled time of these sessions.
 * Other CPUs read it by upmu_thread_clock_seen().
 */
#define UPMU_CLOCK_CHANGES 1u /* bit of thread->turns: the two halves do not belong together */
#define UPMU_CLOCK_RUNS 2u

static inline uint64_t upmu_thread_clock_value(const struct upmu_thread *thread)
{
    return (uint64_t)thread->clock[1] << 32 | thread->clock[0];
}

/* Returns the value of the clock at `now_ns`, on the CPU where the thread runs, or in a switch to it or from it. */
static inline uint64_t upmu_thread_clock(const struct upmu_thread *thread, uint64_t now_ns)
{
    return upmu_thread_clock_value(thread) + (thread->turns & UPMU_CLOCK_RUNS ? now_ns : 0);
}

/* Start the clock (`runs`), or stop it, at `now_ns`; nothing is done if it runs already, or stands still already. */
static inline void upmu_thread_clock_turn(struct upmu_thread *thread, bool runs, uint64_t now_ns)
{
    uint64_t value = upmu_thread_clock_value(thread) + (runs ? 0 - now_ns : now_ns);
    uint16_t turns = thread->turns;

    if (!(turns & UPMU_CLOCK_RUNS) != runs)
        return;
    UPMU_STORE(thread->turns, (uint16_t)(turns + 1u));
    __atomic_store_n(&thread->clock[0], (uint32_t)value, __ATOMIC_RELEASE);
    __atomic_store_n(&thread->clock[1], (uint32_t)(value >> 32), __ATOMIC_RELEASE);
    __atomic_store_n(&thread->turns, (uint16_t)(turns + 2u), __ATOMIC_RELEASE);
}

/* A CPU leaves: the thread that runs there runs on no CPU of the library's. */
static inline void upmu_thread_leave_cpu(struct upmu_cpu *cpu)
{
    struct upmu_thread *thread = UPMU_THREADS ? cpu->current : NULL;

    if (thread) {
        upmu_thread_clock_turn(thread, false, upmu_meter_now(&cpu->meter));
        cpu->current = NULL;
        UPMU_STORE(thread->cpu, NULL);
    }
}

/*
 * Returns the present value of the clock, on any CPU.  The caller holds a session of the thread, which does not end
 * meanwhile.
 */
uint64_t upmu_thread_clock_seen(const struct upmu_thread *thread, const struct upmu_machine *machine);

/*
 * Returns the enabled time that a session without a limit has beside enabled_ns because it waits, linked to no CPU,
 * while its thread runs; else 0.  The caller holds the session.
 */
uint64_t upmu_thread_apart(const struct upmu_session *session);

/*
 * upmu_thread_end_wait() for a call on a session that is linked to no CPU, wherever the thread runs; nothing is done
 * where the session does not wait.  The caller holds the session.
 */
void upmu_thread_settle(struct upmu_session *session);

/* Take a session out of its thread's list of started ones, which switches walk.  The caller holds the thread's list. */
void upmu_thread_unlist(struct upmu_session *session);

/* upmu_thread_unlist() for a session that was stopped while it was linked to no CPU, if the thread's list is free. */
void upmu_thread_stopped(struct upmu_session *session);

/*
 * Mark a session as started that is linked to no CPU, as its thread runs on none that the session may join.  A switch
 * to the thread, or a tick, links the session.  Returns UPMU_OK, or UPMU_ERR_BUSY (the thread's list is held
 * elsewhere).
 */
enum upmu_status upmu_thread_start(struct upmu_session *session);

/*
 * Link a session that is to be started or changed to the CPU where its thread runs, if no switch and no tick has done
 * so: it was stopped then, or is no candidate.  Returns UPMU_OK (also if it is linked here already), UPMU_ERR_WRONG_CPU
 * (the thread does not run here, or the session may not join this CPU) or UPMU_ERR_BUSY (the list or the session is
 * held elsewhere).  Inside a local bracket.
 */
enum upmu_status upmu_thread_admit(struct upmu_meter *meter, struct upmu_session *session);

/* Has the machine any session without owner that has not ended yet? */
static inline bool upmu_thread_any_dropped(const struct upmu_machine *machine)
{
    return __builtin_expect(__atomic_load_n(&machine->dropped, __ATOMIC_RELAXED) != 0, 0);
}

/*
 * Move the sessions of a thread that have no owner and are on no CPU from the thread's lists to a list of their own
 * (next_of_thread).  Returns the first of them, or NULL.  The caller holds the thread's list.
 */
struct upmu_session *upmu_thread_take_dropped(struct upmu_thread *thread);

/*
 * End the sessions of a list that upmu_thread_take_dropped() has returned.  The caller holds no thread's list, because
 * formats are told of each end.
 */
void upmu_thread_bury(struct upmu_session *dropped);

/*
 * Link a session of the running thread to this CPU; the next plan may run the session.  Returns false where a call
 * holds the session, which is passed over.  The caller holds the thread's list.  `now_ns`: the present time.
 */
bool upmu_thread_join(struct upmu_meter *meter, struct upmu_session *session, uint64_t now_ns);

/* upmu_thread_join() for a session that the caller holds, too. */
void upmu_thread_link(struct upmu_meter *meter, struct upmu_session *session, uint64_t now_ns);

/*
 * Unlink a session without counters from its CPU.  A suspended session, whose CPU sleeps, waits from `now_ns` on, the
 * present time.
 */
void upmu_thread_unlink(struct upmu_meter *meter, struct upmu_session *session, uint64_t now_ns);

/*
 * Of the sessions of the running thread that wait, so many of a kind are linked to the CPU after a tick, as the
 * candidates for counters that become free; after a switch fewer are.  The others are unlinked, and wait in the lists
 * of the thread.  Sessions with a limit are always linked.
 */
#define UPMU_KEPT 4u
#define UPMU_KEPT_SHARING 8u

/*
 * Before a tick's work, and where nothing runs: link waiting sessions of `thread`, which runs here, from the front of
 * the thread's lists, until there are as many candidates as are kept.  Sessions of that thread that have no owner end.
 * Returns false where the lists are held elsewhere.
 */
bool upmu_thread_fill(struct upmu_meter *meter, struct upmu_thread *thread);

/*
 * After a tick's work: waiting sessions of `thread`, which runs here, with a ticket above `last`, which the tick has
 * given, go to the end of the thread's lists if others wait there, and candidates that are too many are unlinked;
 * others take their place.
 */
void upmu_thread_rotate(struct upmu_meter *meter, struct upmu_thread *thread, uint32_t last);

/* Unlink a session of the running thread that has begun to wait, if there are as many candidates as are kept. */
void upmu_thread_spare(struct upmu_meter *meter, struct upmu_session *session);

#endif
