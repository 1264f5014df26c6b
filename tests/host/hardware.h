/* SPDX-License-Identifier: MIT */
/*
 * Hardware as the simulated host sees it: one small fake for each family, written from
 * the published facts alone.  A fake shares no file, table or constant with port/sim
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

/* How a machine differs from the plain one of its model; a zeroed structure is the plain one. */
struct hardware_options {
    bool garbage;    /* counters hold noise after reset where the manuals leave them undefined */
    uint8_t late;    /* an interrupt may be asserted up to this many calls of the fake after its overflow */
    bool lost_flags; /* the status register hides overflow flags now and then */
    bool hypervisor; /* CPUID says that a hypervisor is there */
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
};

extern const struct hardware_family hardware_intel;    /* architectural versions 1 to 6 */
extern const struct hardware_family hardware_p6;       /* Pentium III, Core Duo: one enable bit */
extern const struct hardware_family hardware_netburst; /* with and without two hyper-threads */
extern const struct hardware_family hardware_amd;      /* K7, K8, family 15h, Zen; PerfMonV2; IBS; northbridge */

#endif
