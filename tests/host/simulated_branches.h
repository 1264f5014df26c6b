/* SPDX-License-Identifier: MIT */
/*
 * Branch stacks in the simulated host: what each CPU recorded, and what the library shows of it.
 */
#ifndef UPMU_TESTS_HOST_SIMULATED_BRANCHES_H
#define UPMU_TESTS_HOST_SIMULATED_BRANCHES_H

#include <upmu/branches.h>
#include <upmu/format.h>

#include "tests/host/hardware.h"

#define BRANCHES_SEEN 32u /* no stack of the fakes has more entries */
#define BRANCHES_STOPS 64u
#define BRANCHES_RECORDS 256u

/* A branch that was taken and recorded: what else it has follows from its number. */
struct branch_seen {
    uint64_t number;
    bool from_user, to_user, guest;
    uint8_t thread; /* HOST_NONE: a switch was under way */
};

/* What the stack has to hold: in the order in which it was recorded. */
struct branch_list {
    unsigned count;
    struct branch_seen seen[BRANCHES_SEEN];
};

/* The stack at a moment: it stopped, or a precise record took it. */
struct branch_moment {
    uint64_t number; /* of its kind on its CPU, from 1 on */
    uint64_t time_ns;
    uint64_t lost_ns; /* when it was cleared, or the host froze it, after that; 0: not yet */
    uint64_t on_ns;   /* when it recorded again; 0: not yet */
    bool by_hardware; /* an interrupt's freeze */
    bool handler;     /* in a handler */
    bool read;        /* the host reads the stack */
    uint8_t thread;
    struct branch_list list;
};

enum branches_owner { BRANCHES_FREE, BRANCHES_STARTED, BRANCHES_LENT };

struct host_branches {
    enum branches_owner owner;
    uint32_t record;  /* of the host's start */
    bool busy;        /* a call is changing this */
    bool frozen;      /* by the host ... */
    unsigned freezes; /* ... so often, handlers of its own included */
    uint64_t taken;   /* number of the last branch */
    uint64_t since;   /* ... before the host's start */
    uint64_t frozen_ns; /* the last time that the host froze it, or let it go on */
    unsigned reads;   /* under way: no handler clears the stack by a resume */
    bool held;        /* by the hardware */
    uint64_t faults;  /* before the start */
    bool blind;       /* one came while the CPU was initialised */
    struct branch_list now;
    uint64_t stops;
    struct branch_moment stop[BRANCHES_STOPS], record_of[BRANCHES_RECORDS];
    uint64_t records;
};

struct host_session;
struct lots;

extern const struct hardware_trace branches_trace;

/* Does this run look at branches? */
bool branches_are_on(void);
/* Code of the host or of the library takes branches. */
void branches_code(unsigned count);

/* ---- Steps (act_branches.c) ---- */

void act_branches(struct lots *lots);
/* A CPU has come; its stack may be lent or started at once. */
void act_branches_come(struct lots *lots);
/* A session is made: does it want branches?  Drawn by itself. */
void act_branches_session(struct host_session *session);
/* In a handler, before it calls the library. */
void act_branches_handler(void);
/* A CPU has ended or sleeps. */
void act_branches_over(unsigned cpu, bool asleep);

/* ---- Rules (rules_branches.c) ---- */

/* A read of the executing CPU has returned; so many stops of it were before. */
void branches_read(const struct upmu_branch *out, unsigned count, unsigned room, uint64_t stops, uint32_t record);
void branches_sample(struct host_session *session, const struct upmu_record *record, uint64_t record_number);
/* The filter of what a session may see; 0: no branches. */
uint32_t branches_wanted(const struct host_session *session);
/* Of a lent stack it is that of the sessions that run; 0: none does. */
uint32_t branches_filter(unsigned cpu);
/* A precise record has the stack: returns its moment. */
uint64_t branches_recorded(unsigned cpu);
/* Nothing is under way. */
void branches_quiet(unsigned cpu);
void branches_write(unsigned cpu, uint32_t msr, uint64_t value);

#endif
