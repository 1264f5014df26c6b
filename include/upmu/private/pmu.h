/* SPDX-License-Identifier: MIT */
/*
 * The structure of a PMU (struct upmu_pmu), which machines and unit lists contain.  Its fields may be read
 * (upmu/pmu.h); backends fill them in at detection.
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
/* number of Intel's counter of pipeline slots, of which top-down metrics are fractions */
#define UPMU_SLOTS_COUNTER UPMU_FIXED_COUNTER(3)

/* The most rows, one for each register, of a register table of CPUs. */
#define UPMU_REGISTERS 96
#define UPMU_NO_ROW 0xffu

/* The most classes (struct upmu_register_class) of a register table. */
#define UPMU_REGISTER_CLASSES 24

/*
 * The most exclusive resources of one PMU. A resource is a register, or a field of one, that events need with a certain
 * value.
 */
#define UPMU_RESOURCES 64
#define UPMU_NO_RESOURCE 0xffu

/*
 * The number of a resource of a UPMU_PMU_PAIRED PMU (a bit of upmu_pmu.shared): general counter n, below 8, together
 * with the counter of the same number on the other hyper-thread, which an exclusive event disturbs.
 */
#define UPMU_PAIR_RESOURCE(n) (UPMU_RESOURCES - 8u + (n))

/* The registers of one counter, as rows of the PMU's register table, and its size. */
struct upmu_counter {
    uint8_t value_row;  /* register with the count */
    uint8_t write_row;  /* row of the register by which the count is written: an alias, or value_row */
    uint8_t select_row; /* row of the register that chooses the counter's event */
    uint8_t gate_row;   /* row of the register that has the counter's enable bit */
    uint8_t gate_bit;   /* number of that bit in gate_row: 0 to 63 */
    uint8_t width;      /* number of bits of the counter */
    uint8_t write_bits; /* number of bits that a write can set; the value is sign-extended from there */
    uint8_t unused;     /* in place of padding, so that equal PMUs have equal bytes (memcmp()) */
    uint32_t rdpmc;     /* value of ECX by which RDPMC reads the counter, or UPMU_NO_RDPMC */
};
#define UPMU_NO_RDPMC 0xffffffffu /* value of upmu_counter.rdpmc: RDPMC cannot read the counter */

struct upmu_backend;
struct upmu_branch_stack;
struct upmu_catalog;

/*
 * A kind of PMU, of CPUs or of units outside the cores.  Constant once detected.
 */
struct upmu_pmu {
    const char *name;                   /* short name of the model, "skl", "core": as in libpfm4 where that has one */
    const char *title;                  /* name for display, "Intel Skylake"; may be empty without UPMU_NAMES */
    const struct upmu_backend *backend; /* functions of its family */
    const struct upmu_register_table *table; /* its registers */
    /* built-in catalogue of its events, or of architectural ones; NULL: none, so only imported and raw events */
    const struct upmu_catalog *catalog;
    const struct upmu_catalog *imported; /* a catalogue that the host added, searched first; NULL: none */
    uint32_t capabilities;              /* UPMU_PMU_… */
    /* bits of the backend for errata and properties of the model; other backends give them other meanings */
    uint32_t quirks;
    uint32_t counters;                  /* mask of all counters that exist, metrics included */
    uint32_t general;                   /* mask of the general counters, a subset of `counters` */
    /* mask: counters that several CPUs have in common, so that a CPU claims them in its domain */
    uint32_t shared_counters;
    uint16_t family, model;             /* of the CPU, by CPUID, extended parts included */
    uint8_t stepping;                   /* of the CPU, by CPUID */
    uint8_t version;                    /* Intel: version of architectural performance monitoring; 0: none */
    uint8_t core_type;                  /* type of the core of a hybrid, CPUID leaf 1Ah EAX[31:24]; 0: no such leaf */
    uint8_t native;                     /* CPUID 1Ah EAX[7:0]: model number in its core type; 0 where there is none */
    uint8_t refuses; /* mask: bit n is set if events from catalogues of enum upmu_source n are refused */
    /* rows of three registers: overflow status, its acknowledgement, counters in use; UPMU_NO_ROW: there is none */
    uint8_t status_row, ack_row, inuse_row;
    uint8_t preference_count;           /* entries of `preference` */
    uint8_t shared_scope; /* enum upmu_scope: which CPUs have shared_counters and the resources `shared` in common */
    uint8_t index;                      /* number by which upmu_machine_pmu() finds this PMU; 0 without a machine */
    /* mask: bit b is set if number 24 + b is no counter, but byte b of PERF_METRICS (a top-down metric) */
    uint8_t metrics;
    uint8_t variant;                    /* number by which the backend finds its data of this model */
    /* mask of rows of `table` that this PMU has: bit n % 32 of word n / 32 is row n */
    uint32_t present[UPMU_REGISTERS / 32];
    uint64_t shared; /* mask of resources: bit n is set if other CPUs use the register of resource n, too */
    uint64_t max_period;                /* the most events after which a counter can overflow, counted from one load */
    /* by number of the counter; entries of numbers that are not in `counters` are not valid */
    struct upmu_counter counter[UPMU_COUNTERS];
    uint64_t min_period;                /* the fewest events after which a counter may be loaded to overflow */
    /* by class_index: mask of the bits that registers of the class have on this PMU */
    uint64_t limit[UPMU_REGISTER_CLASSES];
    /* bit of a select: kernel mode is counted (AMD). 0: a counter that may run must be closed before it is written */
    uint32_t kernel_select;
    uint32_t arch_events;               /* mask: bit n is set if the architectural event n exists on this CPU */
    uint32_t ibs;                       /* upmu_ibs_capabilities() */
    uint32_t call;                      /* UPMU_PMU_PAGE: number of the hypercall of the paravirtual PMU */
    uint64_t loop_config; /* register word of an event that every loop of code causes, for the probe; 0: unknown */
    uint64_t cycles_config; /* register word of cycles; then loop_config is instructions if it differs; 0: unknown */
#if UPMU_BRANCHES
    /* facts about the registers of the CPU's branch records; NULL: no such records, see no_branches */
    const struct upmu_branch_stack *branch_stack;
    const char *no_branches;            /* why branch_stack is NULL, as a constant text; or NULL */
    uint16_t branch_filters;            /* UPMU_BRANCH_…: kinds of branches that the hardware can record or leave out */
    uint8_t branch_depth;               /* entries of the stack */
    uint8_t branch_format;              /* form of an entry: enum upmu_branch_format */
    uint8_t branch_trace; /* 1: the CPU has Processor Trace, which must be off while branches are recorded */
    uint8_t branch_lacks; /* mask: parts that this CPU does not give in an entry's `info` (UPMU_BRANCH_LACKS_…) */
    uint8_t branch_freeze;              /* what an interrupt does to the stack: enum upmu_branch_freeze */
    uint8_t freeze_row;                 /* row of the register with the bit that lets it do so, if it does anything */
#endif
#if UPMU_PRECISE
    /* bits 31:0 of PERF_CAPABILITIES, which say what records of samples are like (PEBS) */
    uint32_t record_capabilities;
    /* mask: counters that can store records which the library reads from memory; 0: none */
    uint32_t record_counters;
    uint8_t record_row;                 /* row of the register that makes counters store records */
    uint8_t record_bytes;               /* of the shortest record */
    /* 1: fixed counter 0 does not measure the latency of the retirement, which its records have a place for */
    uint8_t record_untimed;
#if UPMU_BTS
    uint8_t traces;                     /* mask: what the CPU can do of traces of branches in memory (UPMU_TRACES_…) */
#endif
    uint8_t record_least_log2;          /* 1 << this: the fewest events of a period on counters of record_long */
    /* mask: counters whose records are wrong where the counter was loaded to overflow earlier */
    uint32_t record_long;
#endif
    uint8_t preference[UPMU_COUNTERS];  /* numbers of counters, in the order in which placement tries them */
};

#endif
