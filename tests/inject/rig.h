/* SPDX-License-Identifier: MIT */
/*
 * The rig of the injection sweeps: one machine of the silicon model, up to four
 * sessions, and the truth that they must agree with.
 *
 * Truth comes from two sides.  What a counter of the model counted for a kind of
 * event must be what the sessions of that kind report, to the last event.  And a
 * burst that ran while a session was running, outside of any call of its own and
 * outside of a handler, must be in its report ("certain"); what its report holds
 * beyond that must have happened between its start and its stop ("possible").
 */
#ifndef UPMU_TESTS_INJECT_RIG_H
#define UPMU_TESTS_INJECT_RIG_H

#include "models/sim/sim.h"
#include <upmu/cpu.h>
#include <upmu/upmu.h>

/* The last two are the Pentium 4's: uops tagged in execution and by replay. */
enum rig_kind { RIG_INSTRUCTIONS, RIG_CYCLES, RIG_BRANCHES, RIG_REFERENCES, RIG_TAGGED, RIG_REPLAYED, RIG_KINDS };

#define RIG_DUTIES 4
#define RIG_EVENTS 3
#define RIG_REGISTERS 128
#define RIG_THREADS 3 /* the first is never monitored, and runs at the start */

/* Events of each kind in a burst of one unit: a period of each is rig_period(kind). */
#define RIG_UNIT 1000u

/* A session and what must come of it. */
struct rig_duty {
    struct upmu_session session;
    struct upmu_set *second; /* or NULL; its second event is then the duty's, the first is not checked */
    uint64_t buffer[256];
    unsigned events;
    enum rig_kind kind[RIG_EVENTS];
    uint64_t period[RIG_EVENTS];
    uint64_t certain[RIG_EVENTS];
    uint64_t possible[RIG_EVENTS];
    uint64_t elsewhere[RIG_EVENTS]; /* of these, in the other world */
    uint64_t entered[RIG_EVENTS]; /* truth when the start was entered */
    uint64_t last_read[RIG_EVENTS];
    uint32_t samples[RIG_EVENTS];
    uint32_t lost_in_ring;
    unsigned cpu;
    unsigned thread; /* that it follows, from 1; 0: none */
    bool attached;
    bool entitled; /* between entering start and leaving stop */
    bool running;  /* a start returned, and no call on it is in progress */
    bool marred;   /* it met a fault, a change behind its back: bounds only */
    bool masks;    /* mask_on_full */
    uint8_t world; /* enum upmu_world */
    bool late;     /* a cascade or sets by overflow: what it counts begins some time after the start */
};

enum rig_injection { RIG_NONE, RIG_OVERFLOW, RIG_FOREIGN, RIG_FAULT };

/* One way to set the machine up. */
struct rig_variant {
    const char *name;
    bool no_rdpmc, no_clock, no_pmi, vector, latch, domain;
    bool carry;     /* Pentium 4, models 0 and 1: erratum N17 */
    bool unflagged; /* Pentium 4: overflows interrupt and set no OVF */
    bool hostile;   /* registers after reset as no driver wants them */
    uint8_t events_per_access, status_lag, skid;
};

/* What one run is: printed by a failure, so that it can be run again. */
struct rig_order {
    const char *scenario;
    const char *profile;
    const struct rig_variant *variant;
    enum rig_injection injection;
    bool after;
    uint32_t at;    /* access number */
    uint32_t width; /* of a fault: accesses */
    uint32_t early; /* of a fault: so many accesses before it an overflow; 0: none */
    bool trace;
};

struct rig {
    struct rig_order order;
    struct upmu_sim sim;
    struct upmu_machine machine;
    struct upmu_domain domain;
    struct upmu_domain *domains[2];
    struct upmu_cpu cpu[2];
    struct rig_duty duty[RIG_DUTIES];
    bool cpu_up[2];
    uint64_t found[2][RIG_REGISTERS];
    uint64_t counted[2][UPMU_SIM_COUNTERS];   /* at the last look */
    uint64_t select[2][UPMU_SIM_COUNTERS];    /* Pentium 4: ESCR and its address (bits 63:32) */
    uint64_t truth[2][RIG_KINDS];             /* counted by the model's counters, by CPU */
    uint64_t tags[2][RIG_KINDS - RIG_TAGGED]; /* of these kinds, by CPU */
    uint32_t not_ours[2];                     /* counters that others use: outside of the truth */
    uint32_t in_handler;
    bool writing; /* between before() and after() of a write */
    bool nested;  /* the handler runs inside an injection */
    uint32_t may_lose; /* bursts at moments when a period may go by unseen */
    uint32_t swaps;    /* foreign NMIs that were taken for ours */
    uint64_t wraps_claimed;
    const struct rig_duty *calling;
    const struct rig_duty *fault_calling;
    bool switching;     /* a call that concerns several sessions */
    bool in_cpu_call;   /* poll, suspend, ... */
    unsigned switch_after; /* overflows after which the first session's sets are switched; 0: never */
    unsigned thread_on;    /* on CPU 0 */
    bool in_guest;         /* CPU 0 */
    bool crossing;         /* on its way in or out */
    struct upmu_thread thread[RIG_THREADS];
    struct upmu_set set; /* of a duty with two */
    bool fault_in_handler;
    bool fault_hit;
    bool others_concerned;          /* the scenario moves others: a fault may hit them, too */
    bool loses_samples;             /* the scenario is about loss */
    bool user;                      /* what it runs is a program: nothing of that happens inside calls and handlers */
    bool apart;                     /* each session stays on its CPU: what it counts is the CPU's own truth */
    bool strangers;                 /* interrupts from before cpu_init may still come */
    bool over;                      /* a fault made the rest of the scenario impossible */
    bool nests;                     /* interrupts try a local call, too */
    void (*on_inside)(bool inside); /* told when a call of the library begins and ends */
    bool inside;
    uint32_t injected;
    uint32_t refused; /* calls inside calls */
    bool failed;
    char failure[200];
};

/* How many events of a kind one unit of work has. */
uint64_t rig_amount(enum rig_kind kind, uint64_t instructions);

/* A machine as ordered; CPU 0 (and 1) not yet initialised. */
void rig_begin(struct rig *rig, const struct rig_order *order);

/* A CPU that lost its power has it again. */
void rig_power_on(struct rig *rig, unsigned cpu);

/* Take the CPUs over.  `expect_faults` in an order with faults: tried again. */
void rig_cpu_init(struct rig *rig, unsigned cpu);
void rig_cpu_fini(struct rig *rig, unsigned cpu);

/* Execute on the current CPU, in the kernel (rig->user: in a program). */
void rig_run(struct rig *rig, uint64_t instructions);

/* Sessions.  `periods`: bit i: event i is sampled every RIG_UNIT instructions' worth. */
void rig_session(struct rig *rig, unsigned duty, const char *list, unsigned sampled);
/* Add an event by its Pentium 4 name: sampled, or (a cascade) started by so many events of its initiator. */
void rig_p4_event(struct rig *rig, unsigned duty, const char *text, enum rig_kind kind, bool sampled, uint64_t cascade);
/* A second set behind the first, which has one event: cache references, sampled, beside instructions. */
void rig_second_set(struct rig *rig, unsigned duty);
/* Change to the other one. */
void rig_switch_set(struct rig *rig, unsigned duty);
void rig_attach(struct rig *rig, unsigned duty, unsigned cpu);
void rig_start(struct rig *rig, unsigned duty);
void rig_stop(struct rig *rig, unsigned duty);
void rig_restart(struct rig *rig, unsigned duty);
void rig_detach(struct rig *rig, unsigned duty);
void rig_read(struct rig *rig, unsigned duty);
void rig_poll(struct rig *rig, unsigned cpu);
void rig_record(struct rig *rig, unsigned cpu);
void rig_branches(struct rig *rig, unsigned cpu);
void rig_suspend(struct rig *rig, unsigned cpu);
void rig_resume(struct rig *rig, unsigned cpu);
void rig_changed(struct rig *rig, unsigned cpu);
void rig_reserve(struct rig *rig, unsigned cpu, uint32_t counters);

/* Follow a thread that does not run, started; a switch on CPU 0; the clock's tick: those that share change. */
void rig_follow(struct rig *rig, unsigned duty, unsigned thread);
void rig_switch(struct rig *rig, unsigned next);
void rig_tick(struct rig *rig, unsigned cpu);
/* Make a detached session a sharing one. */
void rig_share(struct rig *rig, unsigned duty);

/* The world of a detached session; a guest is entered, and left; CPU 0 is in the world of a session, or in the host. */
void rig_world(struct rig *rig, unsigned duty, unsigned world);
void rig_enter(struct rig *rig, unsigned cpu);
void rig_exit(struct rig *rig, unsigned cpu);
void rig_visit(struct rig *rig, const struct rig_duty *duty);

/* Events that may be in the count of a session. */
uint64_t rig_possible(const struct rig_duty *duty, unsigned event);

/* Take samples out of the rings. */
void rig_drain(struct rig *rig, unsigned duty);

/* Everything at rest: compare, prove that sampling lives, give the CPUs back, compare again. */
void rig_end(struct rig *rig);

/* The injection that was ordered, now. */
void rig_inject(struct rig *rig);

/* Where an event of a duty is counted, and whether its set is active. */
const struct upmu_tally *rig_tally(const struct rig_duty *duty, unsigned event);
bool rig_is_active(const struct rig_duty *duty, unsigned event);

/* All counts of a duty. */
enum upmu_status rig_counts(struct rig_duty *duty, struct upmu_count *out_counts);

/* Look at the model's counters. */
void rig_account(struct rig *rig);

/* What the model's counters counted of a kind of event for this session. */
uint64_t rig_truth(const struct rig *rig, const struct rig_duty *duty, unsigned event);

/* Pentium 4, by the profile. */
bool rig_is_p4(const struct rig *rig);

bool rig_is_amd(const struct rig *rig);

/* The registers of counter `i` of CPU 0: value, select (CCCR). */
uint32_t rig_value_msr(const struct rig *rig, unsigned i);
uint32_t rig_select_msr(const struct rig *rig, unsigned i);

/* With trace: which call comes now. */
void rig_tell(const struct rig *rig, const char *call, unsigned which);

/* Something does not hold. */
void rig_fail(struct rig *rig, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define RIG_CHECK(rig, condition, ...)                                                                                 \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            rig_fail((rig), __VA_ARGS__);                                                                              \
    } while (0)

/* ---- Scenarios ---- */

struct scenario {
    const char *name;
    const char *script; /* or NULL: */
    void (*play)(struct rig *rig);
    unsigned general; /* general counters needed */
    bool samples;     /* needs pmi_rearm */
    bool threads;     /* needs two hyper-threads */
    bool p4;          /* of what only a Pentium 4 has */
};

/* Those of all PMUs first; one without a name behind the last. */
extern const struct scenario scenarios[];

void scenario_play(const struct scenario *scenario, struct rig *rig);

#endif
