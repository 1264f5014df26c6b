/* SPDX-License-Identifier: MIT */
/*
 * Declarations of threads for other core files.
 */
#ifndef UPMU_CORE_THREAD_CORE_H
#define UPMU_CORE_THREAD_CORE_H

#include "core/engine/session_core.h"
#include <upmu/thread.h>

/*
 * The list of a thread's sessions is walked and changed by what holds it, for a moment; false:
 * something else has held it for a while (that may have been interrupted).
 */
bool upmu_thread_hold_at_last(struct upmu_thread *thread);

/* The first try is inline: a switch holds two lists. */
static inline bool upmu_thread_hold(struct upmu_thread *thread)
{
    return !__atomic_exchange_n(&thread->held, 1, __ATOMIC_ACQUIRE) || upmu_thread_hold_at_last(thread);
}

static inline void upmu_thread_release(struct upmu_thread *thread)
{
    __atomic_store_n(&thread->held, 0, __ATOMIC_RELEASE);
}

/* A session of a thread leaves its CPU: it waits if it was started.  Inside a local bracket. */
enum upmu_status upmu_thread_put(struct upmu_meter *meter, struct upmu_session *session);

/* Put a session into the list of a thread, which is held, and take it out of that of its thread. */
void upmu_thread_know(struct upmu_thread *thread, struct upmu_session *session);
void upmu_thread_forget(struct upmu_session *session);

/* Put a started session at the end of the list that switches look at; the thread's list is held. */
void upmu_thread_list(struct upmu_thread *thread, struct upmu_session *session);

/* May a session of a thread count on a CPU? */
static inline bool upmu_thread_may_join(const struct upmu_session *session, const struct upmu_cpu *cpu)
{
    return !session->limit || session->limit == cpu;
}

/* A walk over the started sessions of a thread, whose list is held, that may count on a CPU. */
struct upmu_started {
    const struct upmu_cpu *cpu;
    struct upmu_session *lists; /* the first of each list that is still to come */
};

/* The first session of the next list. */
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

/* The session behind `session`, which may leave its list before the next step. */
static inline struct upmu_session *upmu_started_next(struct upmu_started *walk, const struct upmu_session *session)
{
    return session->next_started ? session->next_started : upmu_started_list(walk);
}

/* Take a session that is not started out of the list of those that switches look at; the thread's list is held. */
void upmu_thread_unlist(struct upmu_session *session);

/*
 * A session is started while its thread does not run: the next switch to the thread brings it.  Returns UPMU_OK;
 * UPMU_ERR_BUSY (the thread's list is held elsewhere).
 */
enum upmu_status upmu_thread_start(struct upmu_session *session);

/*
 * A session that is to be started joins the CPU where its thread runs: no switch has brought it, because it was not
 * started.  Returns UPMU_OK (also if it is there); UPMU_ERR_WRONG_CPU (its thread does not run here), UPMU_ERR_BUSY.
 * Inside a local bracket.
 */
enum upmu_status upmu_thread_admit(struct upmu_meter *meter, struct upmu_session *session);

/* Was a session of the machine dropped, and has not ended? */
static inline bool upmu_thread_any_dropped(const struct upmu_machine *machine)
{
    return __builtin_expect(__atomic_load_n(&machine->dropped, __ATOMIC_RELAXED) != 0, 0);
}

/* Sessions without owner that are on no CPU leave a thread's list, which is held, for one of their own. */
struct upmu_session *upmu_thread_take_dropped(struct upmu_thread *thread);

/* End the sessions of such a list, while nothing is held, as their formats are told. */
void upmu_thread_bury(struct upmu_session *dropped);

/*
 * A session of the running thread, whose list is held, joins that of the CPU, to come with
 * the next change; false: a call works on it.
 */
bool upmu_thread_join(struct upmu_meter *meter, struct upmu_session *session);

/* A session leaves its CPU, of which it is only in the list; one that slept with the CPU waits now. */
void upmu_thread_unlink(struct upmu_meter *meter, struct upmu_session *session);

#endif
