/* SPDX-License-Identifier: MIT */
/*
 * Hardware as the simulated host sees it: one small fake for each family, written from
 * the published facts alone.  A fake shares no file, table or constant with models/sim
 * or with the library (`make check` looks): if both models have the same rule, it was
 * read twice.  Each rule of a fake cites where it was read.
 *
 * A fake is plain memory: no allocation, no global, no thread.  A copy of its bytes is
 * a second machine in the same state.  Registers that CPUs share exist once.
 */
#ifndef UPMU_TESTS_HOST_HARDWARE_H
#define UPMU_TESTS_HOST_HARDWARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HARDWARE_CPUS 4

/* What can happen on a CPU.  A fake counts each by the encodings that its facts name. */
enum hardware_event {
    HARDWARE_CYCLES,
    HARDWARE_INSTRUCTIONS,
    HARDWARE_BRANCHES,
    HARDWARE_BRANCH_MISSES,
    HARDWARE_CACHE_REFERENCES,
    HARDWARE_CACHE_MISSES,
    HARDWARE_REFERENCE_CYCLES,
    HARDWARE_EVENTS
};

/* The truth of a precise record: what the hardware sampled, whatever it stores. */
struct hardware_record {
    uint8_t cpu;
    bool user;
    enum hardware_event event;
    uint64_t ordinal;  /* the sampled event is the n-th of its kind on its CPU, from 1 on */
    uint64_t left;     /* events that happen in the same call of the fake, after it */
    uint64_t counters; /* whose record it is, as bits of GLOBAL_STATUS */
    uint64_t named;    /* counters that the record names */
    uint64_t reduced;  /* of these, counters that the event itself made overflow; the others: the event before */
    bool registers;    /* it has them */
    bool branches;     /* ... and the branch stack */
    bool dropped;      /* the buffer was full: nothing is stored */
    uint64_t instruction, next; /* the sampled one, and the one after it */
    uint64_t address, source, weight, transaction;
    uint64_t gpr[18]; /* flags ip ax cx dx bx sp bp si di r8 to r15 */
};

/* Memory of the host, into which the hardware stores. */
struct hardware_memory {
    /* An access of the hardware to a linear address; false: the host has lent no such memory to this CPU now. */
    bool (*access)(unsigned cpu, uint64_t linear, void *bytes, size_t size, bool is_write);
    void (*recorded)(const struct hardware_record *record);
};

enum hardware_branch_kind {
    HARDWARE_CONDITIONAL,
    HARDWARE_CALL,
    HARDWARE_INDIRECT_CALL,
    HARDWARE_RETURN,
    HARDWARE_INDIRECT_JUMP,
    HARDWARE_JUMP,
    HARDWARE_FAR
};

/* The truth of a branch that was taken. */
struct hardware_branch {
    uint8_t cpu;
    bool from_user, to_user;
    uint64_t number; /* of all branches of its CPU that were taken */
    bool on;         /* the stack was enabled and not frozen */
    bool recorded;   /* ... and did not sort it out */
    uint64_t from, to;
    enum hardware_branch_kind kind;
    bool mispredicted, in_transaction;
    uint16_t cycles;
};

/* What a branch stack tells of itself. */
struct hardware_trace {
    void (*taken)(const struct hardware_branch *branch);
    void (*stopped)(unsigned cpu, bool by_hardware); /* it records no more: an interrupt's freeze, or a write */
    void (*cleared)(unsigned cpu);                   /* an entry is written */
};

/* Memory for branch traces (BTS), and what they tell. */
struct hardware_traces {
    /* As that of hardware_memory. */
    bool (*access)(unsigned cpu, uint64_t linear, void *bytes, size_t size, bool is_write);
    /* A branch was taken; `on`: traces are on; `stored`: it is stored. */
    void (*taken)(const struct hardware_branch *branch, bool on, bool stored);
    /* A store did not go to memory that is lent. */
    void (*lost)(unsigned cpu);
};

/* How traces differ from those of most CPUs, and what no facts decide. */
enum {
    HARDWARE_TRACES_DENIED = 1,  /* IA32_MISC_ENABLE says that there are none */
    HARDWARE_TRACES_NARROW = 2,  /* CPUID has no DTES64 */
    HARDWARE_TRACES_PLAIN = 4,   /* CPUID has no DS-CPL */
    HARDWARE_TRACES_AFTER = 8,   /* the mode that is left out is that of targets, not of sources */
    HARDWARE_TRACES_LAZY = 16,   /* an index is at the end of a ring until the next record */
    HARDWARE_TRACES_LATE = 32,   /* the last records may be in flight */
    HARDWARE_TRACES_NOISE = 64,  /* flags that nothing names are noise */
    HARDWARE_TRACES_TELLS = 128, /* a threshold within a ring interrupts */
    HARDWARE_TRACES_LEFT = 256,  /* what a former kernel left leaves out a mode */
    HARDWARE_TRACES_WAYS = 512,
    HARDWARE_TRACES_DROPS = 1024,   /* a hypervisor drops TR and BTS, whatever CPUID says ... */
    HARDWARE_TRACES_NO_AREA = 2048, /* ... or what is written to IA32_DS_AREA */
};

/* Fill in what follows from CPU, rings and number. */
void hardware_branch_fill(struct hardware_branch *branch);
/* A branch by its source; the ring of its target is not known.  False: there is no such instruction. */
bool hardware_branch_find(uint64_t from, struct hardware_branch *out_branch);

/* Fill in what follows from CPU, ring, event and number. */
void hardware_record_fill(struct hardware_record *record);
/* The record of an instruction, or of the one after one, by its address; false: there is no such instruction. */
bool hardware_record_find(uint64_t address, bool is_next, struct hardware_record *out_record);

/* How a machine differs from the plain one of its model; a zeroed structure is the plain one. */
struct hardware_options {
    bool garbage;        /* counters hold noise after reset where the manuals leave them undefined */
    uint8_t late;        /* an interrupt may be asserted up to this many calls of the fake after its overflow */
    bool lost_flags;     /* the status register hides overflow flags now and then */
    bool hypervisor;     /* CPUID says that a hypervisor is there */
    bool own_interrupts; /* the host's own counters may interrupt: it has cleared what would freeze them at that */
    bool no_snapshots;   /* records of format 6 are of format 5 */
    const struct hardware_memory *memory; /* for precise records; NULL: none, and a record that is stored is damage */
    const struct hardware_trace *trace;   /* of branches; NULL: there are no branch stacks */
    const struct hardware_traces *traces; /* of branches in memory; NULL: there are none */
    uint16_t trace_ways;                  /* HARDWARE_TRACES_... */
    bool no_freeze;                       /* AMD: an interrupt cannot freeze the stack (and no counters) */
};

struct hardware_model {
    const char *name;
    unsigned cpus;               /* logical CPUs that the model can have: 1 to HARDWARE_CPUS */
    uint8_t core[HARDWARE_CPUS]; /* CPUs with equal numbers are hyper-threads of one core */
    uint8_t node[HARDWARE_CPUS]; /* CPUs with equal numbers share a node (a northbridge) */
};

struct hardware_register {
    uint32_t msr;
    uint64_t owned; /* bits that a driver of counters may change */
    bool counter;   /* its value moves by itself: not compared at the end */
    bool shared;    /* one register for all CPUs of a core or node */
};

struct hardware_family {
    const char *name;
    const struct hardware_model *models;
    unsigned model_count;
    size_t bytes; /* of the state of one machine */

    /* A machine of this model after power-on; `seed` feeds what is random. */
    void (*init)(void *hardware, unsigned model, uint64_t seed, const struct hardware_options *options);

    /* The CPU's registers as after power-on or sleep; shared ones only if `shared`. */
    void (*reset)(void *hardware, unsigned cpu, bool shared);

    /*
     * What firmware or an earlier kernel may have left behind on this CPU: enabled
     * counters, selects, flags, freeze bits, PEBS_ENABLE with a stale buffer.
     */
    void (*leave)(void *hardware, unsigned cpu, uint64_t seed);

    void (*cpuid)(void *hardware, unsigned cpu, uint32_t leaf, uint32_t subleaf, uint32_t out[4]);

    /* False: #GP. */
    bool (*rdmsr)(void *hardware, unsigned cpu, uint32_t msr, uint64_t *out_value);
    bool (*wrmsr)(void *hardware, unsigned cpu, uint32_t msr, uint64_t value);
    bool (*rdpmc)(void *hardware, unsigned cpu, uint32_t index, uint64_t *out_value);

    /* So many events of this kind happen on the CPU, in user mode or in ring 0. */
    void (*happen)(void *hardware, unsigned cpu, enum hardware_event event, bool user, uint64_t count);

    /*
     * Is a counter's interrupt to be delivered to this CPU now?  True delivers it: the
     * local APIC does to its mask what this family's does, and the line falls or stays
     * as this family's does.
     */
    bool (*interrupt)(void *hardware, unsigned cpu);

    /* A write that unmasks the CPU's LVTPC. */
    void (*rearm)(void *hardware, unsigned cpu);

    /*
     * A driver of the host's own (a watchdog) starts counting cycles on this counter
     * (numbered as the architecture numbers it: general from 0, fixed from 16; NetBurst
     * 0 to 17), or stops; `interrupts`: with interrupts each `period` cycles.  Where the gate is a bit of its own, one
     * that stops with a period leaves the rest as it is.  False: no such counter.
     */
    bool (*watchdog)(void *hardware, unsigned cpu, unsigned counter, bool on, bool interrupts, uint64_t period);
    /* Cycles that it has counted since it was started. */
    uint64_t (*watchdog_cycles)(void *hardware, unsigned cpu, unsigned counter);
    /* It looks whether an interrupt is its own, and acknowledges that. */
    bool (*watchdog_interrupt)(void *hardware, unsigned cpu, unsigned counter);

    /*
     * A write to registers or memory that corrupts the machine happened (a PEBS record to a stale buffer, a reserved
     * sequence): what, or NULL.
     */
    const char *(*damage)(void *hardware);

    /* Every register of counters that this machine has. */
    unsigned (*registers)(void *hardware, unsigned cpu, struct hardware_register *out, unsigned room);

    /*
     * A raw specification in the library's grammar that counts this kind (`raw:config=0x...`, `raw:escr=...:cccr=...`),
     * from the facts; NULL: the family has none.
     */
    const char *(*specification)(void *hardware, enum hardware_event event);

    /*
     * Is there an overflow for this CPU of which no interrupt has told it: one whose interrupt waits for a further
     * event, or one whose flag is hidden?  NULL: not in this family.
     */
    bool (*untold)(const void *hardware, unsigned cpu);

    /* Samples of instructions that a unit (0: fetch, 1: op) has completed since power-on; NULL: there is none. */
    uint64_t (*samples)(void *hardware, unsigned cpu, unsigned unit);

    /* Branches that no counter counts: those of code around the registers.  NULL: the family has no branch stack. */
    void (*branch)(void *hardware, unsigned cpu, bool user, unsigned count);
    /* Entries of the CPU's branch stack; 0: there is none. */
    unsigned (*depth)(const void *hardware);
};

extern const struct hardware_family hardware_intel;    /* architectural versions 1 to 6 */
extern const struct hardware_family hardware_p6;       /* Pentium III, Core Duo: one enable bit */
extern const struct hardware_family hardware_netburst; /* with and without two hyper-threads */
extern const struct hardware_family hardware_amd;      /* K7, K8, family 15h, Zen; PerfMonV2; IBS; northbridge */

/* ---- Units outside the cores ---- */

#define HARDWARE_BOXES 12
#define HARDWARE_KINDS 5 /* events of a box; the last one is its clock, where it has a counter for it alone */
#define HARDWARE_BOX_REGISTERS 24

enum hardware_space { HARDWARE_MSR, HARDWARE_PCI, HARDWARE_MEMORY };

/* How the counters of a type are gated. */
enum hardware_gate { HARDWARE_GLOBAL, HARDWARE_SELECT, HARDWARE_FREEZE, HARDWARE_FREE };

/* What all boxes of a type have in common: the registers of a box count from its base. */
struct hardware_type {
    const char *name;
    enum hardware_space space;
    enum hardware_gate gate;
    bool own;         /* a device of the host's own, which no table of a driver knows */
    uint8_t counters; /* general ones */
    uint8_t width;    /* of a counter, bits */
    uint8_t bits;     /* of a select and a counter; others of memory have 32 */
    uint8_t enable;   /* bit of a select */
    uint8_t clock;    /* bit of the clock's select; 0xff: there is no such counter */
    uint8_t select_step, counter_step, filters;
    uint32_t control, select, counter, clock_select, clock_counter, filter[2], status;
    uint64_t select_mask; /* what an event may set, without the enable bit */
    uint64_t filter_mask[2];
    uint16_t code[HARDWARE_KINDS]; /* of each event, in a select or, of HARDWARE_FREE, of the counter; 0: none */
    uint8_t first_only;            /* events, one bit each, that counter 0 alone counts */
};

struct hardware_box {
    const struct hardware_type *type;
    uint8_t number, package;
    uint64_t base; /* MSR, PCI segment << 16 | bus << 8 | device << 3 | function, or physical address */
};

/* One access of a CPU in this package. */
struct hardware_access {
    enum hardware_space space;
    uint8_t package, bits;
    uint64_t where;  /* as a base */
    uint32_t offset; /* in configuration space */
};

enum hardware_role { HARDWARE_COUNTER, HARDWARE_EVENT_SELECT, HARDWARE_CONTROL, HARDWARE_FILTER, HARDWARE_STATUS };

struct hardware_place {
    unsigned box, number; /* of the register in its box */
    enum hardware_role role;
    unsigned counter; /* that the register belongs to */
    bool half, high;  /* 32 bits of a wider register, its upper ones */
};

size_t hardware_units_bytes(void);
void hardware_units_init(void *units, const char *model, uint64_t seed, bool garbage);
/* Which package a CPU is in. */
unsigned hardware_units_package(const void *units, unsigned core);
unsigned hardware_units_boxes(const void *units, const struct hardware_box **out_boxes);
/* As after power-on; one that is gone stays away. */
void hardware_units_reset(void *units, unsigned box);
/* What firmware or an earlier kernel may have left: counters at work, events, filters, a frozen box. */
void hardware_units_leave(void *units, unsigned box, uint64_t seed);
/* A box whose function or memory is gone: it reads all ones, and what is written is lost. */
void hardware_units_hide(void *units, unsigned box, bool hidden);
/* A box that was away lost all that its registers held. */
void hardware_units_clear(void *units, unsigned box);
/* Which register an access goes to; false: none of a box. */
bool hardware_units_find(const void *units, const struct hardware_access *access, struct hardware_place *out_place);
/* False: no such register (#GP).  Functions and memory that are absent read all ones, and what is written is lost. */
bool hardware_units_read(void *units, const struct hardware_access *access, uint64_t *out_value);
bool hardware_units_write(void *units, const struct hardware_access *access, uint64_t value);
/* A register of a box, as it is; false: there are no more. */
bool hardware_units_peek(const void *units, unsigned box, unsigned number, uint64_t *out_value,
                         enum hardware_role *out_role);
/* Counters that run now, one bit each, the clock's is bit 16. */
uint32_t hardware_units_running(const void *units, unsigned box);
uint64_t hardware_units_count(const void *units, unsigned box, unsigned counter);
/* How often this event is counted on a counter with a select as it is (0 or 1 for each). */
bool hardware_units_counts(const void *units, unsigned box, unsigned counter, unsigned kind);
void hardware_units_happen(void *units, unsigned box, unsigned kind, uint64_t count);
/* So many events of this kind until the low 32 bits of a counter of it carry; 0: none counts it. */
uint64_t hardware_units_to_carry(const void *units, unsigned box, unsigned kind);
/* A write that no driver may make, or NULL. */
const char *hardware_units_damage(const void *units);

#endif
