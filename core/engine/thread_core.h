/* SPDX-License-Identifier: MIT */
/*
 * Declarations of threads for other core files: the lists of a thread's sessions, and how its sessions are linked to a
 * CPU and unlinked.
 */
#ifndef UPMU_CORE_THREAD_CORE_H
#define UPMU_CORE_THREAD_CORE_H

#include "core/engine/session_core.h"

/*
 * Hold the lists of a thread's sessions: only the holder walks or changes them.  Returns false where other calls have
 * held them during all tries.
 */
bool upmu_thread_hold_at_last(struct upmu_thread *thread);

/* As upmu_thread_hold_at_last(), but the first try is inline, because each switch of threads holds the lists of two. */
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
 * Put a session, unless it is there, at the end of the thread's list of started sessions that have its limit; switches
 * walk these lists.  The caller holds the thread's list.
 */
void upmu_thread_list(struct upmu_thread *thread, struct upmu_session *session);

/* A CPU leaves: the thread that runs there runs on no CPU of the library's. */
static inline void upmu_thread_leave_cpu(struct upmu_cpu *cpu)
{
    struct upmu_thread *thread = UPMU_THREADS ? cpu->current : NULL;

    if (thread) {
        cpu->current = NULL;
        UPMU_STORE(thread->cpu, NULL);
    }
}

/*
 * May a session of a thread count on this CPU?  Yes if session->limit, the only CPU that it may count on, is NULL or
 * `cpu`.
 */
static inline bool upmu_thread_may_join(const struct upmu_session *session, const struct upmu_cpu *cpu)
{
    return !session->limit || session->limit == cpu;
}

/* A walk over those started sessions of a thread that may count on `cpu`.  The caller holds the thread's list. */
struct upmu_started {
    const struct upmu_cpu *cpu;
    struct upmu_session *lists; /* the first sessions of the lists that are not walked yet, linked by next_list */
};

/* Go to the next list whose sessions may count on the walk's CPU, and return its first session; NULL: there is none. */
static inline struct upmu_session *upmu_started_list(struct upmu_started *walk)
{
    struct upmu_session *first;

    while ((first = walk->lists) != NULL) {
        walk->lists = first->next_list;
        if (upmu_thread_may_join(first, walk->cpu))
            break;
    }
    return first;
}

static inline struct upmu_session *upmu_started_first(struct upmu_started *walk, const struct upmu_thread *thread,
                                                      const struct upmu_cpu *cpu)
{
    walk->cpu = cpu;
    walk->lists = thread->started;
    return upmu_started_list(walk);
}

/*
 * Return the session of the walk that follows `session`; NULL: there is none.  To be called before `session` leaves its
 * list.
 */
static inline struct upmu_session *upmu_started_next(struct upmu_started *walk, const struct upmu_session *session)
{
    return session->next_started ? session->next_started : upmu_started_list(walk);
}

/*
 * Take a stopped session out of its thread's list of started ones, which switches walk.  The caller holds the thread's
 * list.
 */
void upmu_thread_unlist(struct upmu_session *session);

/*
 * Mark a session as started whose thread does not run: the next switch to the thread links it to the CPU.  Returns
 * UPMU_OK, or UPMU_ERR_BUSY (the thread's list is held elsewhere).
 */
enum upmu_status upmu_thread_start(struct upmu_session *session);

/*
 * Link a session that is to be started to the CPU where its thread runs: the switch to the thread has left it out,
 * because it was stopped then.  Returns UPMU_OK (also if it is linked already), UPMU_ERR_WRONG_CPU (the thread does not
 * run here) or UPMU_ERR_BUSY (the list or the session is held elsewhere).  Inside a local bracket.
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
 * holds the session.  The caller holds the thread's list.
 */
bool upmu_thread_join(struct upmu_meter *meter, struct upmu_session *session);

/*
 * Unlink a session without counters from its CPU.  A suspended session, whose CPU sleeps, waits from now on.  *now_ns
 * is 0 or the present time; if it is 0 and the time is needed, it is read and stored there, for the next call.
 */
void upmu_thread_unlink(struct upmu_meter *meter, struct upmu_session *session, uint64_t *now_ns);

#endif
