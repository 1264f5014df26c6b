/* SPDX-License-Identifier: MIT */
/*
 * Threads of the host: sessions that follow one.  The host embeds a struct
 * upmu_thread in its own thread structure and calls two functions: one where it
 * switches threads, one where a thread ends.
 */
#ifndef UPMU_THREAD_H
#define UPMU_THREAD_H

#include <upmu/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the host embeds.  At most 64 bytes. */
struct upmu_thread {
    uint32_t pid, tid; /* the host's numbers, for messages; may be changed at any time */
    void *host;        /* the host's */
    /* private */
    struct upmu_session *sessions; /* attached; NULL: it is not monitored */
    struct upmu_cpu *cpu;          /* it runs there; unknown of a thread without sessions */
    volatile uint32_t held;        /* its list is walked or changed */
    uintptr_t reads;               /* 1: its program has had a page (upmu_session_publish()) */
};

/* Make one.  Context: any, before its first switch. */
void upmu_thread_init(struct upmu_thread *thread, uint32_t pid, uint32_t tid, void *host);

/*
 * Bind a session to a thread; monitoring is stopped afterwards.  `cpu`: where the
 * thread runs at this moment (NULL: it does not run, and does not begin to during the
 * call); the host knows, as it has stopped the thread, or the thread asks for itself.
 *
 * A session of a thread counts while the thread runs, wherever that is.  Calls on it
 * are `local` on the CPU where its thread runs (elsewhere they go through run_on_cpu or
 * are UPMU_ERR_WRONG_CPU) and `any` while it does not.  A call that is preempted by
 * the thread's own switch, or meets one on another CPU, keeps the session waiting
 * until the next switch or tick.
 *
 * On a CPU with another PMU than that of its events it waits, with the reason in
 * session->why.
 *
 * Returns UPMU_OK; UPMU_ERR_STATE (attached, or no events); UPMU_ERR_WRONG_PMU (events
 * of several PMUs); UPMU_ERR_DOES_NOT_FIT (not even alone); UPMU_ERR_NO_PMU;
 * UPMU_ERR_WRONG_CPU; UPMU_ERR_BUSY; UPMU_ERR_COMPILED_OUT; details in session->why.
 * Context: local on `cpu`; if that is NULL any, but local where the executing CPU has a work area
 * (upmu_cpu_use_work()), which is used then.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_attach_thread(struct upmu_session *session, struct upmu_thread *thread,
                                            struct upmu_cpu *cpu);

/* The part of upmu_thread_switch() for monitored threads. */
enum upmu_status upmu_thread_switch_monitored(struct upmu_cpu *cpu, struct upmu_thread *prev, struct upmu_thread *next);

/*
 * Thread `prev` gives the CPU to `next`.  Two threads without sessions: four
 * loads and one branch (two without UPMU_USER_PAGES).  A configuration that both have alike is not written again:
 * no write and one counter read each; else one write closes what differs, one opens it,
 * and each register that differs is written once.  `prev` and `next` differ; an idle
 * thread is a thread, too.
 *
 * Returns UPMU_OK; UPMU_ERR_WRONG_CPU or UPMU_ERR_BUSY (the host's mistake: nothing was
 * changed).  What goes wrong with a session is in its `error`.
 * Context: local.
 */
static inline enum upmu_status upmu_thread_switch(struct upmu_cpu *cpu, struct upmu_thread *prev,
                                                  struct upmu_thread *next)
{
#if UPMU_THREADS
    if (((uintptr_t)prev->sessions | (uintptr_t)next->sessions |
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
 * The thread ends, of itself or by force: its sessions are detached and stay readable.
 * The host attaches no session to it once this call has begun.
 *
 * Returns UPMU_OK; UPMU_ERR_WRONG_CPU or UPMU_ERR_BUSY (what is left stays attached);
 * UPMU_ERR_PORT (all are detached).
 * Context: local, on the CPU where it runs; any if it does not run.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_thread_exit(struct upmu_thread *thread);

#ifdef __cplusplus
}
#endif

#endif
