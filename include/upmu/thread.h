/* SPDX-License-Identifier: MIT */
/*
 * Threads of the host, and sessions that follow them.  The host embeds a struct upmu_thread in its
 * own thread structure and calls two functions: one where it switches threads, one where a thread
 * ends.
 */
#ifndef UPMU_THREAD_H
#define UPMU_THREAD_H

#include <upmu/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A thread, which the host embeds in its own structure.  At most 64 bytes. */
struct upmu_thread {
    uint32_t pid, tid; /* the host's numbers, for messages; may be changed at any time */
    void *host;        /* for the host */
    /* private */
    struct upmu_session *sessions; /* attached; NULL: it is not monitored */
    struct upmu_session *started;  /* of these, all that are started, and some stopped ones: a list for each limit */
    struct upmu_cpu *cpu;          /* it runs there, and its next switch is to be seen; that CPU alone changes this */
    volatile uint32_t held;        /* a call walks or changes its list */
    uint8_t unjoined;              /* it runs, but a session may not be in the list of its CPU */
    uintptr_t reads;               /* not 0: its program has had a page (upmu_session_publish()) */
};

/* Initialise a thread; it must stay until upmu_thread_exit().  Context: any, before its first switch. */
void upmu_thread_init(struct upmu_thread *thread, uint32_t pid, uint32_t tid, void *host);

/*
 * Bind a session to a thread; the session is stopped afterwards.  `cpu` is where the thread runs at
 * this moment.  NULL: the thread does not run, and does not begin to run during the call.  So
 * either the thread itself makes the call, or the host has stopped it.
 *
 * A session of a thread counts while the thread runs, wherever that is.  Calls on it are `local` on
 * the CPU where its thread runs (from another CPU they go through run_on_cpu or return
 * UPMU_ERR_WRONG_CPU), and `any` while the thread does not run.  If the thread is switched during
 * such a call, the session waits until the next switch or tick.
 *
 * On a CPU whose PMU is not that of its events the session waits; session->why has the reason.
 *
 * Returns UPMU_OK; UPMU_ERR_STATE (attached, or no events); UPMU_ERR_WRONG_PMU (events of several
 * PMUs); UPMU_ERR_DOES_NOT_FIT (not even alone); UPMU_ERR_TOO_HARD; UPMU_ERR_NO_SPACE (placement
 * needs more than its work area); UPMU_ERR_NO_PMU; UPMU_ERR_WRONG_CPU; UPMU_ERR_BUSY;
 * UPMU_ERR_COMPILED_OUT.  session->why has the details.
 * Context: local on `cpu`; if `cpu` is NULL any, but local where the executing CPU has a work area
 * (upmu_cpu_use_work()), which is used then.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_attach_thread(struct upmu_session *session, struct upmu_thread *thread,
                                            struct upmu_cpu *cpu);

/*
 * Let a session of a thread count on one CPU alone; NULL, as at first: on each.  So a session for each pair of thread
 * and CPU counts what perf calls (pid, cpu).  While the thread runs elsewhere the session waits, its enabled time
 * stands, and a switch does not look at it.  `cpu` is compared and not accessed: it may end, and be initialised again
 * in the same memory.  A session that is attached to a CPU or a unit has no limit.
 *
 * Returns UPMU_OK, UPMU_ERR_STATE (attached), UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_limit_cpu(struct upmu_session *session, struct upmu_cpu *cpu);

/* The part of upmu_thread_switch() for monitored threads.  Returns and context: the same. */
enum upmu_status upmu_thread_switch_monitored(struct upmu_cpu *cpu, struct upmu_thread *prev, struct upmu_thread *next);

/*
 * The CPU switches from thread `prev` to thread `next`, which must differ; an idle thread is a
 * thread, too.  Two threads without sessions cost four loads and one branch (two loads without
 * UPMU_USER_PAGES).  Events that both have cost no write and one counter read each.  Otherwise one
 * write closes the counters that differ, one write opens the new ones, and each register that
 * differs is written once.
 *
 * Returns UPMU_OK; UPMU_ERR_WRONG_CPU or UPMU_ERR_BUSY (mistakes of the host: nothing was changed, for
 * the CPU `prev` runs on).
 * An error of a session is in its `error`.
 * Context: local.
 */
static inline enum upmu_status upmu_thread_switch(struct upmu_cpu *cpu, struct upmu_thread *prev,
                                                  struct upmu_thread *next)
{
#if UPMU_THREADS
    if (((uintptr_t)prev->cpu | (uintptr_t)next->sessions |
         (UPMU_USER_PAGES ? prev->reads | next->reads : 0)) != 0)
        return upmu_thread_switch_monitored(cpu, prev, next);
#else
    (void)cpu;
    (void)prev;
    (void)next;
#endif
    return UPMU_OK;
}

/*
 * The thread ends: its sessions are detached and stay readable, and the memory of `thread` may be
 * freed; on a CPU that has ended (upmu_cpu_fini()), after the switch away from it.  The host must attach
 * no session to it once this call has begun.
 *
 * Returns UPMU_OK; UPMU_ERR_WRONG_CPU or UPMU_ERR_BUSY (some sessions are still attached: call
 * again); UPMU_ERR_PORT (all are detached).
 * Context: local, on the CPU where it runs; any if it does not run.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_thread_exit(struct upmu_thread *thread);

#ifdef __cplusplus
}
#endif

#endif
