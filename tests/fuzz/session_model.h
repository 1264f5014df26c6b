/* SPDX-License-Identifier: MIT */
/*
 * What must hold of sessions, as simply as possible: the second implementation that
 * test_fuzz_sessions.c compares the library with.  It knows the target and state of each
 * session, which thread is on which CPU and what happened there.  It places nothing: which
 * of several competing sessions runs is read from the library and checked for plausibility.
 */
#ifndef UPMU_TESTS_FUZZ_SESSION_MODEL_H
#define UPMU_TESTS_FUZZ_SESSION_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#define MODEL_CPUS 2u
#define MODEL_THREADS 3u /* and an idle one for each CPU, not monitored */
#define MODEL_SESSIONS 5u
#define MODEL_SETS 3u
#define MODEL_EVENTS 3u

/* Kinds of events; each has so many in a unit of work. */
enum model_kind { MODEL_INSTRUCTIONS, MODEL_CYCLES, MODEL_BRANCHES, MODEL_REFERENCES, MODEL_MISSES, MODEL_KINDS };
uint64_t model_amount(enum model_kind kind, uint64_t work);

enum model_target { MODEL_NOTHING, MODEL_CPU, MODEL_THREAD };

struct model_set {
    bool used;
    bool loose;      /* closed at an unknown moment: between floor and expected */
    unsigned number;
    unsigned events;
    enum model_kind kind[MODEL_EVENTS];
    unsigned rings[MODEL_EVENTS]; /* bit 0: kernel, bit 1: user */
    uint64_t expected[MODEL_EVENTS];
    uint64_t floor[MODEL_EVENTS];
};

struct model_session {
    enum model_target target;
    unsigned where; /* CPU or thread */
    bool started;
    bool closed;
    struct model_set set[MODEL_SETS];
};

struct model {
    struct model_session session[MODEL_SESSIONS];
    unsigned thread_on[MODEL_CPUS]; /* MODEL_THREADS + cpu: its idle one */
    bool asleep[MODEL_CPUS];
};

/* All threads are idle, nothing is attached. */
void model_begin(struct model *model);

/* The CPU on which a session's target is at this moment; -1: on none. */
int model_cpu_of(const struct model *model, const struct model_session *session);

/* The CPU on which a thread runs, or -1. */
int model_thread_cpu(const struct model *model, unsigned thread);

/* Work was done while a set had its counters; `whole`: from its beginning to its end. */
void model_work(struct model_set *set, uint64_t work, bool user, bool whole);

/* Is this what an event may have counted?  If so, it is known exactly from now on. */
bool model_agrees(struct model_set *set, unsigned event, uint64_t counted);

#endif
