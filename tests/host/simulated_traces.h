/* SPDX-License-Identifier: MIT */
/*
 * Branch traces in memory (BTS) in the simulated host: memory that is lent to CPUs, and the truth of each branch.
 */
#ifndef UPMU_TESTS_HOST_SIMULATED_TRACES_H
#define UPMU_TESTS_HOST_SIMULATED_TRACES_H

#include <upmu/bts.h>

#include "tests/host/hardware.h"

#define TRACES_PAGES 8u   /* of the largest memory */
#define TRACES_SEEN 2048u /* more than its entries */

/* A branch that was stored: all else of it follows from its number. */
struct trace_seen {
    uint64_t number;
    bool from_user, to_user;
};

enum trace_state {
    TRACE_NONE,
    TRACE_STARTING, /* its start is under way */
    TRACE_RUNS,
    TRACE_UNSURE, /* a call was refused because of a fault: the hardware may store on */
    TRACE_ENDED   /* its branches can be taken */
};

/* The trace of a CPU. */
struct host_traces {
    struct upmu_bts *bts; /* NULL: there is none, nor memory for one */
    enum trace_state state;
    void *entries, *area; /* area NULL: that of precise records */
    size_t bytes;
    uint64_t linear; /* where the hardware sees the entries, and behind them the area */
    uint32_t record;
    bool busy;            /* a call ends it */
    bool panics;          /* the host is to panic at a point inside that call */
    bool reading;         /* a reader is at work on it */
    bool mixed;           /* the CPU started over while it was traced */
    bool damaged;         /* the host has written to its area */
    bool unsafe;          /* memory of a trace before may be named by a register still */
    uint64_t faults;      /* before its start */
    uint64_t control, ds; /* registers before its start */
    uint64_t stored;      /* branches since its start */
    uint64_t shown;       /* of these, up to which one they were taken, or left out */
    struct trace_seen seen[TRACES_SEEN];
};

struct lots;
struct step;

extern const struct hardware_traces traces_hardware;

/* Does this run have traces? */
bool traces_are_on(void);

/* ---- Steps (act_traces.c) ---- */

void act_traces(const struct step *step, struct lots *lots);
/* A CPU has come; it may be traced at once. */
void act_traces_come(struct lots *lots);
/* In a handler, before it calls the library. */
void act_traces_handler(void);
/* At a point inside the library's code. */
void act_traces_point(void);
/* A CPU sleeps or starts over. */
void act_traces_ends(unsigned cpu, enum upmu_status status);
/* A CPU has ended, and is `upmu` no more. */
void act_traces_over(struct upmu_cpu *upmu, enum upmu_status status);
/* At the end of the run, while no other step is under way. */
void act_traces_end(void);

/* ---- Rules (rules_traces.c) ---- */

/* The hardware tells of a branch, and of a store that went nowhere. */
void traces_taken(const struct hardware_branch *branch, bool on, bool stored);
void traces_lost(unsigned cpu);
/* May the hardware store to a trace's memory now? */
bool traces_lent(unsigned cpu);
/* Does a trace run there, in an area of its own, or in that of precise records? */
bool traces_use_records(unsigned cpu);
/* A start has returned. */
void traces_started(unsigned cpu, enum upmu_status status, const char *why, bool wrong);
/* A trace has ended: nothing of it is left on. */
void traces_ended(unsigned cpu, const char *call);
/* upmu_records_emergency() has returned. */
void traces_panicked(unsigned cpu);
/* One branch was taken out of a trace, or (NULL) none was left. */
void traces_read(unsigned cpu, const struct upmu_branch *branch);
void traces_write(unsigned cpu, uint32_t msr, uint64_t value);
/* May the library take a trace of its own for one that was found?  (README.md, "Open".) */
bool traces_excuse(unsigned cpu, uint32_t msr);

#endif
