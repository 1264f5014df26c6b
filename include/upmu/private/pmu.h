/* SPDX-License-Identifier: MIT */
/*
 * The structure of a PMU, which machines and units contain.  Its fields may be read (upmu/pmu.h); backends write them.
 */
#ifndef UPMU_PRIVATE_PMU_H
#define UPMU_PRIVATE_PMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <upmu/config.h>

/*
 * Counters of one PMU are numbered 0…31; several of them are named by a mask of 32 bits.  On Intel general counter n
 * has the number n, fixed counter i 16 + i, metric byte b 24 + b.  On NetBurst the numbers are 0…17.
 */
#define UPMU_COUNTERS 32
#define UPMU_FIXED_COUNTER(i) (16u + (i))
#define UPMU_NO_COUNTER 0xffu
#define UPMU_METRIC_COUNTERS(pmu) ((uint32_t)(pmu)->metrics << 24) /* metric bytes */
#define UPMU_SLOTS_COUNTER UPMU_FIXED_COUNTER(3) /* counts Intel's pipeline slots, of which metrics are fractions */

/* Rows of a register table, at most (NetBurst, the largest, has 83). */
#define UPMU_REGISTERS 96
#define UPMU_NO_ROW 0xffu

/* Classes of rows, at most. */
#define UPMU_REGISTER_CLASSES 24

/* Exclusive resources of one PMU, at most: registers or fields that events need with a certain value. */
#define UPMU_RESOURCES 64
#define UPMU_NO_RESOURCE 0xffu

/*
 * The number of a resource of a UPMU_PMU_PAIRED PMU (a bit of upmu_pmu.shared): general counter n, below 8, together
 * with the counter of the same number on the other hyper-thread, which an exclusive event disturbs.
 */
#define UPMU_PAIR_RESOURCE(n) (UPMU_RESOURCES - 8u + (n))

/* The registers and the size of one counter. */
struct upmu_counter {
    uint8_t value_row;  /* register with the count */
    uint8_t write_row;  /* alias through which the count is written, or value_row */
    uint8_t select_row; /* register that chooses its event */
    uint8_t gate_row;   /* register with the bit that lets it count */
    uint8_t gate_bit;   /* number of that bit in gate_row: 0 to 63 */
    uint8_t width;      /* number of bits of the count */
    uint8_t write_bits; /* number of bits that a write can set; the value is sign-extended from there */
    uint8_t unused;     /* in place of padding, so that equal PMUs have equal bytes (memcmp()) */
    uint32_t rdpmc;     /* RDPMC index, or UPMU_NO_RDPMC */
};
#define UPMU_NO_RDPMC 0xffffffffu /* RDPMC cannot read the counter */

struct upmu_backend;
struct upmu_branch_stack;
struct upmu_catalog;

/*
 * A kind of PMU, of CPUs or of units outside the cores.  Constant once detected.
 */
struct upmu_pmu {
    const char *name;                   /* libpfm4's where it has one: "skl", "core" */
    const char *title;                  /* for display: "Intel Skylake"; may be empty without UPMU_NAMES */
    const struct upmu_backend *backend; /* functions of its family */
    const struct upmu_register_table *table; /* its registers */
    const struct upmu_catalog *catalog; /* its events, or NULL: architectural and raw only */
    const struct upmu_catalog *imported; /* a catalogue that the host added, searched first; NULL: none */
    uint32_t capabilities;              /* UPMU_PMU_… */
    uint32_t quirks;                    /* the backend's bits: errata and the like */
    uint32_t counters;                  /* mask of all counters that exist, metrics included */
    uint32_t general;                   /* mask of the general counters of these */
    uint32_t shared_counters;           /* counters that other CPUs see, too */
    uint16_t family, model;             /* CPUID's, extended parts included */
    uint8_t stepping;                   /* CPUID's, extended parts included */
    uint8_t version;                    /* architectural perfmon version, 0: none */
    uint8_t core_type;                  /* CPUID 1Ah EAX[31:24], 0 where there is none */
    uint8_t native;                     /* CPUID 1Ah EAX[7:0]: model number in its core type; 0 where there is none */
    uint8_t refuses;                    /* bit n: events of enum upmu_source n are refused */
    uint8_t status_row, ack_row, inuse_row; /* rows: overflow status, its acknowledgement, "in use"; or UPMU_NO_ROW */
    uint8_t preference_count;           /* entries of `preference` */
    uint8_t shared_scope;               /* enum upmu_scope: the CPUs that see shared_counters and `shared` */
    uint8_t index;                      /* its number for upmu_machine_pmu(); 0 without a machine */
    uint8_t metrics;                    /* bit b: counter 24 + b is a metric byte, and no counter */
    uint8_t variant;                    /* the backend's number of the model or of its rules */
    uint32_t present[UPMU_REGISTERS / 32]; /* rows of `table` that this PMU has: bit n % 32 of word n / 32 */
    uint64_t shared;                    /* bit n: other CPUs see resource n, too */
    uint64_t max_period;                /* events that one load of a counter can wait for, at most */
    struct upmu_counter counter[UPMU_COUNTERS]; /* by number; those in `counters` exist */
    uint64_t min_period;                /* events that one load of a counter has to wait for, at least */
    uint64_t limit[UPMU_REGISTER_CLASSES]; /* by class: bits that its registers have on this PMU */
    uint32_t kernel_select;             /* select bit: counts kernel mode; 0: a running counter must not be written */
    uint32_t arch_events;               /* bit n: architectural event n is available */
    uint32_t ibs;                       /* upmu_ibs_capabilities() */
    uint32_t call;                      /* UPMU_PMU_PAGE: number of the hypervisor's call */
    uint64_t loop_config;               /* raw event that happens in every loop: the probe counts it */
    uint64_t cycles_config;             /* raw event: cycles; then loop_config is instructions, if it differs; or 0 */
#if UPMU_BRANCHES
    const struct upmu_branch_stack *branch_stack; /* registers of its branch records, or NULL ... */
    const char *no_branches;            /* ... for this reason */
    uint16_t branch_filters;            /* UPMU_BRANCH_…: kinds of branches that the hardware can record or leave out */
    uint8_t branch_depth;               /* entries of the stack */
    uint8_t branch_format;              /* form of an entry: enum upmu_branch_format */
    uint8_t branch_trace;               /* 1: Processor Trace exists, and excludes branch records */
    uint8_t branch_lacks;               /* parts of an entry that this CPU leaves out: UPMU_BRANCH_LACKS_… */
    uint8_t no_padding[2];              /* as upmu_counter.unused */
#endif
    uint8_t preference[UPMU_COUNTERS];  /* numbers of counters, in the order in which placement tries them */
};

#endif
