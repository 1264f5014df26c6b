/* SPDX-License-Identifier: MIT */
/*
 * The simulated host (tests/host/README.md): one seed decides a machine,
 * a list of steps and everything that happens between any two hook calls of them.
 *
 * A worker is a flow of control of the host that executes steps: a fiber, or in the second
 * mode a thread.  It executes on one CPU at a time.
 */
#ifndef UPMU_TESTS_HOST_SIMULATED_H
#define UPMU_TESTS_HOST_SIMULATED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/guest/guest.h"
#include "abi/paravirt/pv_host.h"
#include "tests/host/hardware.h"
#include "tests/host/simulated_branches.h"
#include "tests/host/simulated_precise.h"
#include "tests/host/simulated_traces.h"
#include <upmu/cpu.h>
#include <upmu/ibs.h>
#include <upmu/message.h>
#include <upmu/unit.h>
#include <upmu/upmu.h>
#include <upmu/user.h>

#define HOST_CPUS HARDWARE_CPUS
#define HOST_PROGRAMS 6                          /* threads that come and go */
#define HOST_THREADS (HOST_PROGRAMS + HOST_CPUS) /* and an idle one for each CPU */
#define HOST_SESSIONS 12
#define HOST_SETS 3
#define HOST_EVENTS 4
#define HOST_WATCHDOGS 32
#define HOST_UNITS 6
#define HOST_ALL_UNITS (HOST_UNITS + 2) /* and those of a region */
#define HOST_UNIT_BOXES 2
#define HOST_GUESTS 4
#define HOST_RAM_PAGES 8 /* of the guests */
#define HOST_PV_EVENTS 12
#define HOST_PV_RECORDS (HOST_GUESTS * HOST_PV_EVENTS) /* each vCPU may be closing so many */
#define HOST_NONE 0xffu

/* ---- Lots ---- */

struct lots {
    uint64_t state;
};

/* (Of a call's arguments one at most draws: in which order they are worked out is the compiler's.) */
static inline uint64_t lots_draw(struct lots *lots)
{
    uint64_t z = lots->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* 0 to n - 1. */
static inline uint32_t lots_below(struct lots *lots, uint32_t n)
{
    return (uint32_t)((lots_draw(lots) >> 32) * n >> 32);
}

/* One in n; never for 0. */
static inline bool lots_one_in(struct lots *lots, uint32_t n)
{
    return n && lots_below(lots, n) == 0;
}

/* 1 to 2^bits - 1, each length as likely as the others. */
static inline uint64_t lots_size(struct lots *lots, unsigned bits)
{
    unsigned length = lots_below(lots, bits);

    return (UINT64_C(1) << length) | (lots_draw(lots) & ((UINT64_C(1) << length) - 1u));
}

/* ---- Steps ---- */

enum step_kind {
    STEP_WORK,
    STEP_SWITCH,
    STEP_CREATE,
    STEP_ATTACH,
    STEP_START,
    STEP_STOP,
    STEP_READ,
    STEP_WRITE,
    STEP_RESTART,
    STEP_DETACH,
    STEP_CLOSE,
    STEP_DROP,
    STEP_REPLACE,
    STEP_NEXT_SET,
    STEP_TICK,
    STEP_POLL,
    STEP_VERIFY,
    STEP_CHANGED,
    STEP_SLEEP,
    STEP_WAKE,
    STEP_LEAVE,
    STEP_COME,
    STEP_RESERVE,
    STEP_UNRESERVE,
    STEP_TAKE_FIRMWARE,
    STEP_EXIT,
    STEP_TIME,
    STEP_FOREIGN,
    STEP_PROBE,
    STEP_USER_READ,
    STEP_REGION,
    STEP_DRAIN,
    STEP_IBS,
    STEP_UNIT_OPEN,
    STEP_UNIT_CLOSE,
    STEP_UNIT_MANAGE,
    STEP_UNIT_POLL,
    STEP_UNIT_WORK,
    STEP_UNIT_REGION,
    STEP_WORLD,
    STEP_GUEST_MAKE,
    STEP_GUEST_RUN,
    STEP_GUEST_PUT,
    STEP_GUEST_RESET,
    STEP_GUEST_SAVE,
    STEP_RECORDS,
    STEP_BRANCHES,
    STEP_TRACES,
    STEP_KINDS
};

/* Each operand means something whatever came before: a step that has nothing to do does nothing. */
struct step {
    uint8_t kind;
    uint8_t cpu;     /* that executes it */
    uint8_t what;    /* session, thread, counter, ... */
    uint8_t where;   /* CPU or thread that it concerns */
    bool together;   /* it may begin while others are under way */
    uint16_t number; /* place in the whole list */
    uint64_t lots;   /* what is drawn by it alone */
    uint64_t noise;  /* what comes between its hook calls */
};

/* What a run has more of than others, so that rare things meet. */
enum theme {
    THEME_SETS,     /* sets that end when an event has overflowed */
    THEME_SHORT,    /* short periods */
    THEME_MASKS,    /* rings that are full soon, and mask */
    THEME_STATIC,   /* counters that run on */
    THEME_PAGES,    /* pages of programs */
    THEME_LONG,     /* minutes and hours */
    THEME_CHANGES,  /* CPUs that start over, come and leave */
    THEME_UNITS,    /* units, their sessions, and CPUs that come and leave */
    THEME_GUESTS,   /* guests, and sessions of one world; no other run has any */
    THEME_PRECISE,  /* precise events, and memory for their records; no other run has any */
    THEME_BRANCHES, /* branch stacks; no other run has any */
    THEME_TRACES,   /* branch traces in memory; no other run has any */
    THEMES
};

/* How a run is: drawn from its seed. */
struct setting {
    uint64_t seed;
    const struct hardware_family *family;
    unsigned model;
    unsigned cpus;
    struct hardware_options options;
    uint32_t yields;    /* one in so many points: another CPU goes on */
    uint32_t blocks;    /* a point in so many blocks of the library's code */
    uint32_t strangers; /* one in so many points: an NMI of another source */
    uint32_t ticks;     /* one in so many points with interrupts on: the clock's interrupt */
    uint32_t preempts;  /* one in so many of these: the thread is switched away and comes again */
    uint32_t noise;     /* one in so many points inside calls: events of ring 0 */
    uint32_t faults;    /* one in so many accesses faults; 0: none */
    uint32_t handler_faults; /* the same in handlers alone */
    uint32_t leavings;  /* one in so many CPUs comes up with what firmware left; 0: none */
    bool vector;        /* overflows are delivered on a vector, not as NMIs */
    bool no_irq, no_rdpmc, no_clock, no_remote, no_allow, no_request, no_rearm;
    bool kernel_mode;
    uint64_t tick_ns;
    bool quiet_sessions; /* no sampling */
    uint32_t themes;     /* what this run has more of: bits 1 << enum theme */
    bool no_units, no_place, no_nearest, force; /* of what concerns units */
    bool batches;                               /* of theme precise: some sessions have batches of records */
    bool threads;        /* CPUs are threads, not fibers */
    bool atomic;         /* points inside code: before atomic accesses only */
};

static inline bool setting_has(const struct setting *setting, enum theme theme)
{
    return setting->themes >> theme & 1u;
}

void steps_setting(uint64_t seed, const struct hardware_family *family, unsigned model, struct setting *out_setting);
void steps_make(const struct setting *setting, struct step *steps, unsigned count);
void steps_tell(const struct setting *setting, const struct step *step, char *buffer, size_t size);
void steps_tell_setting(const struct setting *setting, char *buffer, size_t size);

/* One line of a trace. */
void run_trace(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define TRACE(...) (host.trace ? run_trace(__VA_ARGS__) : (void)0)

/* ---- Rules ---- */

enum rule {
    RULE_NONE,
    RULE_COUNT,    /* a count is lost, doubled or another session's */
    RULE_SAMPLES,  /* samples + lost = count / period */
    RULE_WRITE,    /* a write to what is not ours */
    RULE_WATCHDOG, /* the host's own counter was disturbed */
    RULE_FREED,    /* memory that was given back is touched */
    RULE_CRASH,
    RULE_INTERRUPT, /* an own interrupt is not answered, or another's is taken */
    RULE_RESTORE,   /* a register is not as it was found */
    RULE_STATUS,    /* a call answers what its header does not name */
    RULE_STATE,     /* a session does not run though nothing hinders it, or runs without its target */
    RULE_TIME,      /* enabled and running time */
    RULE_ESTIMATE,
    RULE_VERIFY,   /* a difference that nothing made */
    RULE_CONTEXT,  /* a hook is called where it may not be */
    RULE_USER,     /* a program's RDPMC faults */
    RULE_DAMAGE,   /* the hardware was led to corrupt memory */
    RULE_GUEST,    /* a guest reads what its registers should not show */
    RULE_INJECT,   /* an overflow of a guest is injected twice, or never, or none was there */
    RULE_WORK,     /* a guest's call makes too many accesses */
    RULE_BRANCHES, /* what is shown is not what was recorded last, or another's; or it is not recorded */
    RULE_PRECISE,  /* a precise sample is no record of its event, or is given twice */
    RULE_TRACES,   /* a trace shows what was not stored, or not all; or what it wants is not stored */
    RULE_HANG,
    RULES
};

extern const char *const rule_names[RULES];

/* What a run did and found; in memory that parent and child share. */
struct verdict {
    enum rule rule;
    unsigned step; /* number of the step under way */
    char text[400];
    struct figures {
        uint64_t steps, calls, hooks, blocks, frees, remote, interrupts, own, foreign, strange, faults, switches,
            events, reads, exact, samples, migrations, estimates, beyond, unit_samples, units, unit_events,
            unit_accesses, hand_overs, orphans, vanished, guests, guest_calls, entries, guest_hooks, guest_reads,
            guest_exact, injected, due, carried, passed, page_calls, page_values, page_overflows, stirs,
            precise_sessions, precise_samples, precise_records, precise_dropped, batch_sessions, batch_samples,
            precise_old, batch_unnamed, branches, branch_reads, branch_samples, branch_without, branch_stored,
            branches_shown, branch_sessions, traces, traced, traced_shown, trace_rings, panics;
        uint64_t done[STEP_KINDS], answers[3];
    } figures;
};

/* ---- The host ---- */

struct host_event {
    enum hardware_event kind;
    bool user, kernel;  /* counts in these rings */
    uint64_t low, high; /* what its count is, at least and at most */
    uint64_t kept;      /* what a read has found of a unit: it never goes back */
    uint64_t lowered;   /* taken off `high` where reads found less */
    uint64_t truth;     /* events while its session was enabled */
    uint64_t pending;   /* of a unit that changes its CPU: they count if nothing had to be written */
    struct upmu_sampling sampling;
    uint8_t level;       /* of its precise samples; 0: they are none */
    bool batch;          /* ... whose records come in batches */
    uint64_t shifted;    /* of a batch: its periods end up to so many events later since its first one */
    uint64_t last_count; /* ... and its count at the record of its newest sample, at least */
    uint64_t last;       /* number of the newest record that a sample of it named */
    uint64_t doubts;     /* records that may be of it, and that no sample need tell of */
    uint64_t loaded[2];  /* its count when precise counters last changed, at least and at most */
    uint64_t late;       /* counted in loads in a row that it may have left before their ends */
    bool regular;        /* samples can be reckoned from the count */
    uint64_t grid;       /* count at the begin of the first period */
    uint64_t periods;    /* completed before that */
    uint64_t samples;    /* records seen */
    uint64_t since_ns;   /* its session's first start or its last write */
    uint64_t enabled_ns; /* time since that its session certainly was enabled */
};

struct host_set {
    struct upmu_set *set;
    unsigned events;
    struct host_event event[HOST_EVENTS];
};

enum host_target { TARGET_NONE, TARGET_CPU, TARGET_THREAD, TARGET_UNIT };

struct host_session {
    struct upmu_session *session; /* NULL: no such session */
    uint32_t serial;              /* of its creation, from 1 on */
    bool precise;                 /* it has a precise event */
    bool hides;                   /* ... or wants branches, and hides the kernel */
    uint32_t branches;            /* that its samples are to have; 0: none */
    unsigned attached;            /* how often it was */
    bool batches;                 /* its precise events are to have batches of records ... */
    bool batches_there;           /* ... and one has */
    unsigned users;               /* steps that work on it */
    unsigned readers;             /* programs that read its page: it may be stopped, but its memory stays */
    unsigned writes;              /* of its counts */
    bool writing;                 /* one is under way */
    bool leaving;                 /* it is being closed: no program begins to read */
    bool published;               /* its page certainly is: no call withdraws it */
    bool exclusive;               /* one of them alone may */
    bool zombie;                  /* given up; its memory is the host's when it is closed */
    enum host_target target;
    uint8_t where;
    bool started; /* and not stopped since */
    bool shares, is_static, masks;
    bool switched;                /* a set was asked for: it waits if that has no room */
    unsigned switching;           /* ... by so many calls right now */
    const struct hardware_type *type; /* of units that its events are of; or NULL */
    bool spoiled; /* a fault: it may be stopped or have holes */
    bool slow;    /* its unit was looked at too late: it may have holes */
    uint8_t world; /* enum upmu_world */
    bool changed; /* its CPU started over: the same, but for its times */
    bool noisy;   /* a count was not certain since the last look */
    unsigned sets, sampling;
    struct host_set set[HOST_SETS];
    void *ring;
    size_t ring_bytes;
    uint64_t ring_lost;
    struct upmu_user_page *page;
    struct upmu_queue *queue;
    struct upmu_message *messages;
    uint64_t since_ns; /* its first start; 0: none yet */
};

struct host_thread {
    struct upmu_thread *thread; /* NULL: it has ended */
    uint8_t cpu;                /* that executes it, or HOST_NONE */
    unsigned pins;              /* it may neither begin nor cease to run */
    bool ending;                /* no session begins to follow it */
    bool had_page, reads;       /* it may execute RDPMC; it must be able to */
    unsigned guests;            /* vCPUs that it runs: it does not end */
};

enum cpu_power { CPU_OFF, CPU_LIVE, CPU_ASLEEP };

/* Whose instructions a CPU executes; TURNING: an entry or an exit is under way. */
enum cpu_world { CPU_IN_HOST, CPU_TURNING, CPU_IN_GUEST };

struct remote {
    void (*function)(void *argument);
    void *argument;
    volatile bool done;
    struct remote *next;
};

struct watchdog {
    bool on, interrupts;
    uint64_t cycles; /* since it was started */
};

struct worker;

struct host_cpu {
    struct upmu_cpu *cpu; /* NULL before init and after fini */
    struct upmu_cpu *ended; /* after fini: its threads are still switched */
    enum cpu_power power;
    bool useless;     /* no PMU was found */
    bool had_page, reads; /* every thread here may execute RDPMC; must be able to */
    bool came;        /* no thread was switched since its init */
    bool unreachable; /* on its way out: takes no remote calls */
    bool irq_off, irq_before, in_nmi, in_vector, user_rdpmc, tick_wanted;
    uint8_t thread, coming; /* HOST_NONE: none comes */
    unsigned calls;         /* of the library, under way here */
    bool noisy;             /* much happens inside the call under way */
    bool flagged;           /* the host gave a counter back, whose overflow flag may be set */
    bool left;              /* firmware's leavings are on it, or what a fini could not stop */
    bool faulted;           /* registers need not be as they were found */
    bool half_awake;        /* its last suspend or resume failed: what was found is older */
    bool stale;             /* ... and is not what is found there next: the hardware was reset since */
    struct remote *remotes;
    struct worker *worker;
    uint64_t last_own_ns; /* overflow interrupts were last possible */
    uint64_t looked_ns;   /* for an interrupt */
    unsigned overdue;     /* looks, during which one may be of long ago */
    bool starts_over;     /* upmu_cpu_changed() is under way */
    unsigned turning;     /* calls are under way that may give its units other events */
    bool had_static;      /* a static session of a thread may have left counters running */
    enum cpu_world world;
    bool by_hardware;     /* which moves the register of all gates at entries and exits */
    uint64_t exit_gate;   /* what it puts there at an exit */
    bool left_guest;      /* for an interrupt */
    uint8_t guest;        /* that is entered, or HOST_NONE */
    unsigned used_up;     /* answers that strangers' NMIs got and that an own one may miss */
    bool served;          /* a watchdog's overflow was found, perhaps before its own interrupt came */
    struct watchdog watchdog[HOST_WATCHDOGS];
    uint32_t reserved;
    uint64_t happened[HARDWARE_EVENTS][2]; /* in ring 0, in user mode */
    uint64_t certain[HARDWARE_EVENTS][2];  /* of these, outside of calls */
    struct hardware_register registers[256];
    uint64_t found[256];
    uint64_t lent[256]; /* bits that the host itself has changed */
    uint64_t kept[256]; /* of these, of counters that it uses now */
    unsigned register_count;
    uint8_t slot[512]; /* of a register by a hash of its number; 255: free */
    struct host_ibs {
        struct upmu_ibs *unit; /* NULL: it does not run */
        struct upmu_ibs_sample *samples;
        uint64_t begun, taken; /* samples: of the hardware before it was started; given since */
    } ibs[2];
    struct precise_memory precise;
    struct host_branches branches;
    struct host_traces traces;
};

/* A unit at work, of one box or of several of its type and package. */
struct host_unit {
    struct upmu_unit *unit; /* NULL: it is not open */
    unsigned boxes;
    uint8_t box[HOST_UNIT_BOXES];
    unsigned users;   /* steps that work on it */
    bool exclusive;   /* it is opened, closed or woken */
    bool handing;     /* it gets another CPU ... */
    bool stirred;     /* ... and other calls work on it meanwhile */
    unsigned writes;  /* ... and so much was written */
    bool faulted;     /* registers need not be as they were found */
    bool hidden;      /* it reads all ones */
    uint8_t gone;     /* boxes that vanished at work, by their place in `box` */
    bool lost;        /* a box has, and perhaps returned: what it counts since is unknown */
    bool unreached;   /* a CPU that could drive it was not reached */
    uint64_t polled_ns;   /* its counters were certainly looked at */
    uint64_t interval_ns; /* they have to be within that time again */
    uint64_t found[HOST_UNIT_BOXES][HARDWARE_BOX_REGISTERS];
    uint32_t firmware; /* counters that were at work when it was opened, one bit each */
    struct {
        bool on;
        uint8_t kind;
        uint64_t count; /* that it must have */
    } watched[HOST_UNIT_BOXES][17];
};

/* All that concerns units. */
struct host_units {
    void *hardware;
    const struct hardware_box *box;
    unsigned boxes;
    struct upmu_unit_list *list;
    bool found[2]; /* by package */
    bool refused;  /* under a hypervisor none is looked for */
    bool slept;    /* one had no CPU, and calls said so */
    struct host_unit unit[HOST_ALL_UNITS];
    struct worker *finder;
};

/* What the registers of a virtual counter say, and what they may say: `base` and `low` to `high` events. */
struct virtual_counter {
    uint64_t select, base, low, high;
    uint64_t since;              /* events, at least, since an interrupt could last have been put off */
    enum { VIRTUAL_STANDS, VIRTUAL_MAY_COUNT, VIRTUAL_COUNTS } mode; /* since the entry */
    bool wild;                   /* what it counts is not known ... */
    bool lost;                   /* ... or was not, so that its value is not */
    bool round_must, round_may;  /* it went round since its flag was cleared ... */
    bool doubt;                  /* ... or just before */
    bool owes;                   /* ... with an interrupt that has to come ... */
    unsigned may_owe;            /* ... and so many may */
};

#define VIRTUAL_GENERAL 8
#define VIRTUAL_COUNTERS (VIRTUAL_GENERAL + 3) /* then the fixed ones */

/* The registers that a guest sees, from the architecture alone. */
struct virtual_pmu {
    struct upmu_guest_shape shape;
    const struct upmu_guest_policy *policy;
    uint64_t mask, global, status, debugctl, offcore[2]; /* status: all but the counters' bits */
    uint32_t lvtpc;
    bool lapic_off; /* its local APIC is disabled by software */
    unsigned spent;      /* interrupts that came, of those that its counters may owe */
    bool frozen_unknown; /* an interrupt may have frozen them */
    struct virtual_counter counter[VIRTUAL_COUNTERS];
};

/* What a slot of a page, or an event that a guest opened, shows: as it was last. */
struct virtual_shown {
    uint64_t count, value;
    uint32_t taken; /* overflows that the guest has set to 0 */
    uint32_t told;  /* overflows that were there, with these */
    bool round;     /* its value went round, and no overflow was there yet */
};

/* The page of a vCPU, from docs/PARAVIRT.md alone. */
struct virtual_page {
    struct upmu_pv_vcpu *pv; /* NULL: its door are the registers */
    bool hostile;            /* its memory changes while the host works on it */
    bool mapped;
    uint64_t address;
    uint32_t refused;        /* slots */
    uint32_t cleared;        /* bits of `overflowed` that the guest cleared during a call */
    bool told;               /* an overflow was stored since the last interrupt */
    uint16_t load[8];        /* sequences of the loads that were taken */
    struct virtual_shown slot[8];
    uint32_t before[8]; /* at an entry: sequences of its slots */
    uint64_t high[8];   /* ... and what its counters may have counted */
};

/* A virtual CPU. */
struct host_guest {
    struct upmu_guest *guest; /* NULL: there is none */
    struct upmu_session *sessions;
    struct upmu_guest_policy *policy;
    struct upmu_guest_filter *filter;
    uint64_t *entries;
    unsigned count;     /* sessions */
    bool busy;          /* a step works on it */
    bool ending;        /* upmu_guest_fini() was refused: it does nothing until a repeated call succeeds (guest.h) */
    uint8_t thread;     /* that runs it, or HOST_NONE: it is loaded and put */
    uint8_t cpu;        /* where it is loaded, or HOST_NONE */
    bool spoiled;       /* a fault: its counters may stand still */
    struct virtual_pmu virtual;
    struct virtual_page page;
};

/* An event that a guest opened. */
struct virtual_event {
    bool open;
    bool closing; /* its vCPU closes it: the number may be free already */
    uint8_t guest;
    uint8_t counter; /* of its vCPU, or HOST_NONE: disabled */
    uint32_t id;
    uint64_t area, select, period;
    struct virtual_shown shown;
};

/* The virtual machine of the vCPUs that have pages. */
struct host_vm {
    struct upmu_pv *pv; /* NULL: there is none */
    struct upmu_pv_event *events;
    uint32_t count;        /* of events */
    uint32_t calls, begun; /* calls and ends of vCPUs under way; all */
    bool unknown;          /* events are open of which only a hostile vCPU knows */
    struct virtual_event event[HOST_PV_RECORDS];
    uint8_t *pinned[HOST_RAM_PAGES]; /* pages that the host may store to */
    struct {
        uint64_t address;
        size_t bytes; /* 0: none */
    } pin[2 * (HOST_PV_EVENTS + HOST_GUESTS)];
    uint8_t ram[HOST_RAM_PAGES][4096]; /* what it is to contain, but for what the host may store */
};

struct worker {
    unsigned number;
    uint8_t cpu;
    bool busy, nested, serving;
    unsigned stay; /* it may not move to another CPU now */
    const struct step *step;
    struct host_session *reading; /* whose page a program on it reads */
    struct lots noise;
    uint32_t blocks; /* until the next point inside code */
    uint64_t hooks;  /* of this step */
    unsigned apart;  /* interrupts, ticks and calls of others, inside each other */
    bool refused;    /* memory of a guest, by lot */
    uint64_t accesses, apart_times; /* of registers, outside of these; how often these came */
    void *fiber;
};

struct host {
    struct setting setting;
    void *hardware;
    void *copy; /* room for another machine */
    struct upmu_port port;
    struct upmu_machine *machine;
    struct upmu_domain *core[HOST_CPUS], *node[HOST_CPUS];
    struct host_cpu cpu[HOST_CPUS];
    struct host_thread thread[HOST_THREADS];
    struct host_session session[HOST_SESSIONS];
    struct worker worker[HOST_CPUS];
    struct host_units units;
    unsigned restarts; /* how often a CPU started over */
    unsigned uses;     /* of sessions by steps that have begun */
    unsigned pages;    /* given to sessions so far */
    struct host_guest guest[HOST_GUESTS];
    struct host_vm vm;
    uint64_t now_ns;
    unsigned zombies;
    uint32_t serials;        /* sessions made so far */
    void *kept[256];         /* memory for records and traces that a register may still name */
    unsigned kept_blocks;
    bool looking;            /* at what a copy of the hardware would do: it stores nothing */
    bool hotplug; /* a CPU comes, leaves, sleeps or wakes */
    bool alone;   /* nothing else goes on: the begin and the end */
    bool real;    /* workers are threads */
    bool trace;   /* tell each hook call */
    struct verdict *verdict;
};

extern struct host host;
extern _Thread_local struct worker *self;

static inline struct host_cpu *here(void)
{
    return &host.cpu[self->cpu];
}

/* Is a rule looked at?  (Argument `without`: those that are not.) */
bool rules_on(enum rule rule);
extern uint32_t rules_off;
/* (Argument `strict`: what is known to be wrong breaks its rule, too: tests/host/README.md, "Open".) */
extern bool rules_strict;

/* Ends the run. */
void rules_fail(enum rule rule, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));

/* After an event: what sessions should count. */
void rules_deliver(unsigned cpu, enum hardware_event kind, bool user, uint64_t count, bool certain);
/* Are all counts and states right?  With nothing under way. */
void rules_quiet(struct lots *lots);
void rules_check_session(struct host_session *session);
void rules_read_set(struct host_session *session, unsigned set);
void rules_write(unsigned cpu, uint32_t msr, uint64_t value);
/* What a register held before the library came; 0: it is none of counters. */
uint64_t rules_found(unsigned cpu, uint32_t msr);
void rules_after_write(uint64_t value, struct host_session *session, unsigned set, unsigned event, uint64_t high,
                       uint64_t before_ns);
void rules_after_fault(uint64_t value, struct host_session *session, unsigned set, unsigned event, uint64_t high);
void rules_restored(unsigned cpu);
bool rules_share(unsigned one, unsigned other);
void rules_snapshot(unsigned cpu);
void rules_status(const char *call, enum upmu_status status, const char *allowed);
void rules_watchdogs(unsigned cpu);
/* Where no session runs no counter is open but those that were found so and the host's. */
void rules_gates(unsigned cpu);
void rules_drain(struct host_session *session);

/* Is its CPU just starting over, and the session with it? */
bool rules_starts_over(const struct host_session *session);
/* Is a target of a session on a CPU now? */
bool rules_is_here(const struct host_session *session, unsigned cpu);
/* Does its enabled time run?  (Where a call met the thread's switch, it begins with the next tick.) */
bool rules_is_enabled(const struct host_session *session);
/* The CPU of its target, or HOST_NONE. */
unsigned rules_place(const struct host_session *session);

/* ---- Rules of programs that read ---- */

/* Before a call, for the look after it. */
struct rules_user {
    unsigned uses, given;
    bool calm, pages;
};

/* An attach has returned. */
void rules_user_attached(const struct host_session *session);
/* Its page is about to be. */
void rules_user_withdrawn(struct host_session *session);
/* Around a switch or a tick. */
struct rules_user rules_user_begin(void);
void rules_user_end(const char *call, struct rules_user before, bool is_switch);
/* May what runs here execute RDPMC if and only if it, or the CPU, has a page? */
void rules_user_now(const char *call);

/* ---- Rules of units ---- */

/* Events of a box. */
void units_happen(unsigned box, unsigned kind, uint64_t count);
/* Something happens on units, if there are any: `soon`, between two accesses. */
void units_work(struct lots *lots, bool soon);
/* The open unit that a box belongs to, or NULL. */
struct host_unit *units_of_box(unsigned box);
/* The CPU that drives it, or HOST_NONE. */
unsigned units_driver(const struct host_unit *unit);
/* Is no call under way that may give it other events? */
bool units_calm(const struct host_unit *unit);
/* May a CPU drive it? */
bool units_may(const struct host_unit *unit, unsigned cpu);
/* An access that goes to a box. */
void units_access(const struct hardware_place *place, bool is_write, uint64_t value);
void units_snapshot(struct host_unit *unit);
void units_restored(const struct host_unit *unit);
void units_quiet(void);
/* A CPU comes, or wakes up: units that have none may wake. */
void units_wake(void);
/* Does no step work on a session of a unit without a CPU (unit.h, upmu_session_attach_unit)? */
bool units_may_wake(void);
/* A call on a session has returned, and its target is still known: a unit without a CPU wakes after it. */
void units_called(const struct host_session *session);
void units_awake(void);
/* A CPU goes: what it drives is handed over, or sleeps. */
void units_go(unsigned cpu);
void units_gone(unsigned cpu);
/* Of one unit, while it gets another CPU. */
void units_hand(struct host_unit *unit);
void units_handed(struct host_unit *unit, bool awake);
/* A fault. */
void units_spoil(void);
/* A box of the unit vanishes or returns: its counts are kept as they were read, and may have holes. */
void units_lose(struct host_unit *unit);
/* The unit that a session counts on has lost a box. */
bool units_lost(const struct host_session *session);
/* Which units were not looked at in time? */
void units_look_late(void);
/* Was this one, which has just been closed? */
void units_look_last(const struct host_unit *unit);
void units_deliver(unsigned unit, unsigned kind, uint64_t count); /* (in rules.c: to sessions) */

/* ---- Rules of guests ---- */

/* Does a session of this world count what a CPU executes now?  Nothing is `certain` while an entry is under way. */
bool guests_counts(const struct host_cpu *cpu, unsigned world, bool *certain);
/* Events on a CPU that is in a guest. */
void guests_deliver(unsigned cpu, enum hardware_event kind, bool user, uint64_t count, bool certain);
void guests_reset(struct virtual_pmu *pmu);
/* Accesses of a guest that is not entered. */
void guests_rdmsr(struct host_guest *guest, uint32_t msr);
void guests_wrmsr(struct host_guest *guest, uint32_t msr, uint64_t value);
void guests_rdpmc(struct host_guest *guest, uint32_t ecx);
void guests_cpuid(struct host_guest *guest, uint32_t leaf, uint32_t subleaf);
/* All that it can see. */
void guests_look(struct host_guest *guest);
void guests_retired(struct host_guest *guest, uint64_t instructions, uint64_t branches, bool user);
/* What was said at an entry; `drained`: no interrupt of the hardware is on its way. */
void guests_entered(struct host_guest *guest, const struct upmu_guest_entry *entry, enum upmu_status status,
                    bool drained);
/* It reads the counters that pass, in their registers. */
void guests_read_itself(struct host_guest *guest, const struct upmu_guest_entry *entry);
/* How many virtual counters a shape has. */
unsigned guests_counters(const struct upmu_guest_shape *shape);
/* A fault, or registers that others changed: on one CPU, or HOST_NONE: on all. */
void guests_spoil(unsigned cpu);
/* May a guest's session have a counter open there? */
bool guests_may_count(unsigned cpu);
/* A value of a counter that it was shown; one that it gave. */
void guests_check_value(struct host_guest *guest, unsigned i, uint64_t value, const char *what);
void guests_put_lvtpc(struct virtual_pmu *pmu, uint32_t value);
void guests_put_value(struct virtual_pmu *pmu, unsigned i, uint64_t value);
/* What has gone round until now belongs to the counter's flag. */
void guests_take_rounds(struct virtual_pmu *pmu, struct virtual_counter *counter);
void guests_put_off_all(struct virtual_pmu *pmu);
/* May a general counter count this select: certainly, certainly not, or not known? */
enum guests_permission { GUESTS_MAY_NOT, GUESTS_MAY, GUESTS_UNKNOWN };
enum guests_permission guests_permit(struct virtual_pmu *pmu, uint64_t select);
/* Accesses since a call began, if nothing came between. */
void guests_begin_call(void);
void guests_end_call(const char *call, uint64_t most);

/* ---- Rules of pages ---- */

/* The guests' memory: bytes at an address; NULL: none. */
void *pages_at(uint64_t address, size_t bytes);
/* Where it begins. */
#define PAGES_RAM UINT64_C(0x180000000)
void pages_write(uint64_t address, const void *from, size_t bytes);
extern const struct upmu_pv_hooks pages_hooks;
/* Another CPU of the guest, or a device: at any moment. */
void pages_stir(struct lots *lots);
/* A call, with its answer. */
uint32_t pages_call(struct host_guest *guest, uint32_t operation, uint32_t first, uint32_t second);
uint32_t pages_gate(struct host_guest *guest, uint32_t slots);
uint32_t pages_read_all(struct host_guest *guest, uint32_t slots);
uint32_t pages_map(struct host_guest *guest, uint64_t address);
uint32_t pages_unmap(struct host_guest *guest);
uint32_t pages_event(struct host_guest *guest, uint32_t operation, uint32_t id);
uint32_t pages_open(struct host_guest *guest, uint64_t address);
void pages_cpuid(const struct host_guest *guest);
enum upmu_status pages_enter(struct host_guest *guest, struct upmu_guest_entry *entry);
/* After an entry: what was stored for it. */
void pages_entered(struct host_guest *guest, const struct upmu_guest_entry *entry);
/* It looks at its page itself. */
void pages_look_inside(struct host_guest *guest);
/* Its end: nothing of it is stored to any more. */
void pages_end(struct host_guest *guest);

/* ---- Memory that is gone when it is given back ---- */

void arena_begin(void);
extern bool arena_elsewhere; /* before the first begin: at an address where it would not lie */
void *arena_take(size_t bytes, const char *name);
void arena_give(void *block);
void arena_rename(void *block, const char *name);
/* Nothing that is lent may point to what was given back since the last look. */
void arena_forgotten(void);
const char *arena_name(const void *address); /* of a block that is or was there; NULL: not of the arena */
unsigned arena_blocks(void);

/* ---- Hooks, and what comes between them ---- */

void hooks_port(const struct setting *setting, struct upmu_port *out_port);
/* Something may happen here: interrupts, other CPUs. */
void hooks_point(void);
void hooks_enter(void); /* a call of the library begins ... */
void hooks_leave(void); /* ... and has returned */
void hooks_work(uint64_t amount, bool user);
void hooks_work_drawn(struct lots *lots, unsigned bits, unsigned rarely);
void hooks_switch(unsigned next);
/* In the middle of a program: other CPUs go on, and its thread may be switched away and back. */
void hooks_program(void);
void hooks_stranger(void);
void hooks_drain_interrupts(void);
/* Will an interrupt come to this CPU without further events? */
bool hooks_interrupt_is_coming(unsigned number);
void hooks_remote(unsigned cpu, void (*function)(void *argument), void *argument);
void hooks_serve(void);
/* Entry to a guest and exit from it, by the hardware. */
void hooks_hardware_world(struct host_cpu *cpu, bool in_guest);
/* When something happens inside the library's code next. */
void hooks_set_blocks(struct worker *worker);
/* The next one is so many blocks from here, where such points are. */
void hooks_block_in(uint32_t blocks);
/* Around the body of a hook; false: it faults. */
void hooks_begin(void);
void hooks_end(void);
void hooks_check_context(const char *hook);
bool hooks_fault(void);
/* Hooks of units, and MSRs of boxes; *out_fine: it did not fault. */
void hooks_units_port(const struct setting *setting, struct upmu_port *out_port);
bool hooks_unit_msr(uint32_t msr, bool is_write, uint64_t *value, bool *out_fine);

/* A call of the library, with its answer. */
#define HOST_CALL(expression)                                                                                          \
    __extension__({                                                                                                    \
        hooks_enter();                                                                                                 \
        __typeof__(expression) answer_ = (expression);                                                                 \
        hooks_leave();                                                                                                 \
        answer_;                                                                                                       \
    })
#define HOST_DO(statement)                                                                                             \
    do {                                                                                                               \
        hooks_enter();                                                                                                 \
        statement;                                                                                                     \
        hooks_leave();                                                                                                 \
    } while (0)

/* ---- Steps at work ---- */

void act_step(const struct step *step);
void act_session(const struct step *step, struct lots *lots);
void act_create(const struct step *step, struct lots *lots);
bool act_attach(struct host_session *session, uint8_t where, bool to_thread);
void act_unit(const struct step *step, struct lots *lots);
/* At the end, while no other step is under way. */
void act_units_end(void);
/* A raw event of a type of units, in the library's grammar. */
void act_unit_specification(const struct hardware_type *type, unsigned kind, char *text, size_t size);
/* An open unit of this type (or any, if NULL), by lot; NULL: there is none. */
struct host_unit *act_unit_find(const struct hardware_type *type, unsigned lot);
void act_guest(const struct step *step, struct lots *lots);
/* A vCPU with a page: made, if this is one; what it does outside. */
void act_page_make(struct host_guest *guest, struct lots *lots);
void act_page_calls(struct host_guest *guest, struct lots *lots);
void act_page_program(struct host_guest *guest, struct lots *lots);
void act_page_vm_end(void);
/* The CPU leaves: no vCPU stays there. */
void act_guests_leave(unsigned cpu);
/* At the end. */
void act_guests_end(void);
void act_ibs(struct lots *lots);
/* A CPU has ended or sleeps, and its units with it. */
void act_ibs_over(unsigned cpu);
void act_cpu(const struct step *step, struct lots *lots);
void act_come(unsigned cpu, struct lots *lots);
void act_leave(struct lots *lots);
void act_first_start(struct host_session *session);
void act_forget(struct host_session *session);
void act_close(struct host_session *session);
void act_reap(void);
void act_thread_make(unsigned thread);
bool act_begin(struct host_session *session, bool exclusive);
void act_end(struct host_session *session);

/* ---- Runs ---- */

void run_list(const struct setting *setting, const struct step *steps, unsigned count, struct verdict *verdict);
/* Other CPUs go on. */
void run_yield(void);

void fibers_begin(struct worker *workers, unsigned count, void (*body)(struct worker *worker));
void fibers_resume(struct worker *worker);
void fibers_yield(void);

/* The shortest list of steps that breaks the same rule; returns how many are left. */
unsigned shrink_list(const struct setting *setting, struct step *steps, unsigned count, enum rule rule,
                     unsigned seconds);
/* In a process of its own. */
void shrink_run(const struct setting *setting, const struct step *steps, unsigned count, struct verdict *verdict);

#endif
