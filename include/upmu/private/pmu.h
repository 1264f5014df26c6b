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
 * Counters of one PMU are numbered 0…31 and sets of them are 32-bit masks.  On
 * Intel: general counter n is n, fixed counter i is 16 + i, metric byte b is
 * 24 + b.  On NetBurst: 0…17.
 */
#define UPMU_COUNTERS 32
#define UPMU_FIXED_COUNTER(i) (16u + (i))
#define UPMU_NO_COUNTER 0xffu
#define UPMU_METRIC_COUNTERS(pmu) ((uint32_t)(pmu)->metrics << 24) /* metric bytes */
#define UPMU_SLOTS_COUNTER UPMU_FIXED_COUNTER(3) /* counts the slots that metrics are fractions of */

/* Rows of a register table, at most (NetBurst, the largest, has 83). */
#define UPMU_REGISTERS 96
#define UPMU_NO_ROW 0xffu

/* Classes of rows, at most. */
#define UPMU_REGISTER_CLASSES 24

/* Exclusive resources of one PMU, at most: fields that hold one value at a time. */
#define UPMU_RESOURCES 64
#define UPMU_NO_RESOURCE 0xffu

/*
 * A resource of a UPMU_PMU_PAIRED PMU (bits of upmu_pmu.shared): general counter n, below 8,
 * together with the counter of the same number on the other hyper-thread, which an exclusive event
 * disturbs.
 */
#define UPMU_PAIR_RESOURCE(n) (UPMU_RESOURCES - 8u + (n))

/* The registers and the size of one counter. */
struct upmu_counter {
    uint8_t value_row;  /* register with the count */
    uint8_t write_row;  /* alias to write it through, or value_row */
    uint8_t select_row; /* register that chooses its event */
    uint8_t gate_row;   /* register with the bit that lets it count */
    uint8_t gate_bit;   /* of this register: 0 to 63 */
    uint8_t width;      /* bits */
    uint8_t write_bits; /* bits that a write can set; the value is sign-extended from there */
    uint8_t unused;     /* no padding: equal PMUs have equal bytes */
    uint32_t rdpmc;     /* RDPMC index, or UPMU_NO_RDPMC */
};
#define UPMU_NO_RDPMC 0xffffffffu /* RDPMC cannot read the counter */

struct upmu_backend;
struct upmu_branch_stack;
struct upmu_catalog;

/*
 * A kind of hardware unit.  Constant once detected.
 */
struct upmu_pmu {
    const char *name;                   /* libpfm4's where it has one: "skl", "core" */
    const char *title;                  /* for display: "Intel Skylake"; may be empty without UPMU_NAMES */
    const struct upmu_backend *backend; /* functions of its family */
    const struct upmu_register_table *table; /* its registers */
    const struct upmu_catalog *catalog; /* its events, or NULL: architectural and raw only */
    const struct upmu_catalog *imported; /* from outside, searched first; NULL: none */
    uint32_t capabilities;              /* UPMU_PMU_… */
    uint32_t quirks;                    /* the backend's bits: errata and the like */
    uint32_t counters;                  /* all that exist */
    uint32_t general;                   /* of these, the general counters */
    uint32_t shared_counters;           /* counters that other CPUs see, too */
    uint16_t family, model;             /* CPUID's, extended parts included */
    uint8_t stepping;                   /* CPUID's, extended parts included */
    uint8_t version;                    /* architectural perfmon version, 0: none */
    uint8_t core_type;                  /* CPUID 1Ah EAX[31:24], 0 where there is none */
    uint8_t native;                     /* CPUID 1Ah EAX[7:0], which of its core type it is; 0 where there is none */
    uint8_t refuses;                    /* bit n: events of enum upmu_source n are refused */
    uint8_t status_row, ack_row, inuse_row; /* or UPMU_NO_ROW */
    uint8_t preference_count;           /* entries of `preference` */
    uint8_t shared_scope;               /* the CPUs that see them: enum upmu_scope */
    uint8_t index;                      /* upmu_machine_pmu(); 0 without a machine */
    uint8_t metrics;                    /* bit b: counter 24 + b is a metric byte, and no counter */
    uint8_t variant;                    /* the backend's number of the model or of its rules */
    uint32_t present[UPMU_REGISTERS / 32]; /* rows that this PMU has */
    uint64_t shared;                    /* resources that other CPUs see, too: bit = resource */
    uint64_t max_period;                /* events that one load of a counter can wait for */
    struct upmu_counter counter[UPMU_COUNTERS]; /* by number; those in `counters` exist */
    uint64_t min_period;                /* shortest period programmed */
    uint64_t limit[UPMU_REGISTER_CLASSES]; /* bits that exist, per class */
    uint32_t kernel_select;             /* select bit: counts kernel mode; 0: a running counter must not be written */
    uint32_t arch_events;               /* bit n: architectural event n is available */
    uint32_t ibs;                       /* upmu_ibs_capabilities() */
    uint32_t call;                      /* UPMU_PMU_PAGE: number of the hypervisor's call */
    uint64_t loop_config;               /* raw event that happens in every loop: for the probe */
    uint64_t cycles_config;             /* raw event: cycles; the other is instructions then, if it is another; or 0 */
#if UPMU_BRANCHES
    const struct upmu_branch_stack *branch_stack; /* registers of its branch records, or NULL ... */
    const char *no_branches;            /* ... for this reason */
    uint16_t branch_filters;            /* UPMU_BRANCH_… that the hardware sorts out */
    uint8_t branch_depth;               /* entries of the stack */
    uint8_t branch_format;              /* what an entry is like: enum upmu_branch_format */
    uint8_t branch_trace;               /* 1: Processor Trace exists, and excludes branch records */
    uint8_t branch_lacks;               /* parts of an entry that this CPU leaves out: UPMU_BRANCH_LACKS_… */
    uint8_t no_padding[2];              /* equal PMUs have equal bytes */
#endif
    uint8_t preference[UPMU_COUNTERS];  /* counters in the order they are tried */
};

#endif
