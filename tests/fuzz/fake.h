/* SPDX-License-Identifier: MIT */
/*
 * Fuzzing: a CPU that is made of numbers.  CPUID says what the target likes,
 * registers hold, fault or lie as it likes; only what the leaves promise exists.
 *
 * Where it is honest it counts: fake_run() moves every counter that registers say
 * runs, and calls the interrupt handler.
 */
#ifndef UPMU_TESTS_FUZZ_FAKE_H
#define UPMU_TESTS_FUZZ_FAKE_H

#include <upmu/upmu.h>

#include "tests/fuzz/fuzz.h"

/* What CPUID says; and IA32_MISC_ENABLE, which on family 15 says whether there is a PMU. */
struct fake_leaves {
    uint32_t leaf0[4], leaf1[4], leaf7[4], leaf_a[4], leaf_1a[4];
    uint64_t others; /* seed of all other leaves */
    uint32_t leaf4[4], leaf7_1[4], leaf23_0[4], leaf23_1[4], leaf23_3[4];
    uint32_t misc_enable;
};

enum fake_kind {
    FAKE_NO_PMU,
    FAKE_P6,   /* two counters, one enable bit */
    FAKE_ARCH, /* leaf 0AH */
    FAKE_NETBURST,
    FAKE_AMD
};

/* What the leaves promise: the oracle. */
struct fake_promise {
    enum fake_kind kind;
    unsigned version; /* of FAKE_ARCH: 1 upwards */
    uint32_t general; /* counters, as upmu numbers them: 10 at most, of NetBurst 18 */
    uint32_t fixed;   /* 7 at most, from bit 0 */
    unsigned width, fixed_width;
    uint32_t events; /* architectural ones that are available */
    bool any, transactions, equal, umask2, capabilities, hypervisor;
    bool metrics;    /* PERF_METRICS, whatever PERF_CAPABILITIES says */
    bool threads;    /* NetBurst: bits of the second thread */
    bool tags;       /* NetBurst: replay tagging */
    bool iq_escrs;   /* NetBurst: MSR_IQ_ESCR0, 1 */
    bool cascades;   /* NetBurst: bit 11 of some CCCRs */
    bool one_enable; /* select 0 enables both counters: P6, Core Duo (AE49), whatever leaf 0AH says */
    bool extended;   /* AMD: registers from C0010200H on */
    bool freeze;     /* AMD: DebugCtl freezes */
    uint64_t select; /* AMD: bits of a select */
};

/* How registers behave. */
enum fake_manner {
    FAKE_MEMORY,  /* hold what was written, count nothing */
    FAKE_COUNTS,  /* count, too */
    FAKE_IGNORES, /* drop writes */
    FAKE_FAULTS,  /* all fault */
    FAKE_MANNERS,
    FAKE_NOISE /* count, but fault or read garbage now and then */
};

#define FAKE_REGISTERS 106

struct fake {
    struct upmu_port port;
    struct upmu_machine machine;
    struct upmu_cpu cpu;
    struct fake_leaves leaves;
    struct fake_promise promise;
    enum fake_manner manner;
    uint32_t foreign;                 /* counters whose registers must not be written */
    bool full_write;                  /* PERF_CAPABILITIES[13] */
    bool metrics;                     /* PERF_CAPABILITIES[15] */
    uint64_t value[FAKE_REGISTERS];   /* see fake_register() */
    uint64_t noise;                   /* FAKE_NOISE: state of the generator */
    uint8_t fault_odds, garbage_odds; /* of 256 accesses */
    uint64_t now_ns;
    bool in_interrupt, deaf; /* deaf: interrupts get lost */
    uint32_t reads, writes, faults, interrupts;
};

/* CPUID. */
void fake_leaf(const struct fake_leaves *leaves, uint32_t leaf, uint32_t subleaf, uint32_t out[4]);

/* What the leaves promise. */
struct fake_promise fake_promised(const struct fake_leaves *leaves);

/* Is there a register 329H: promised, or said by PERF_CAPABILITIES? */
bool fake_has_metrics(const struct fake *fake);

/* Contents as after reset; `seed` not 0: what a firmware may have left. */
void fake_init(struct fake *fake, const struct fake_leaves *leaves, enum fake_manner manner, uint64_t seed);

/* Bits that a register has; 0: there is no such register. */
uint64_t fake_bits(const struct fake *fake, uint32_t msr);

/* A register's contents; it must exist. */
uint64_t *fake_register(struct fake *fake, uint32_t msr);

/* A counter, as upmu numbers them, and its select; NULL: there is no such counter; fixed ones have no select. */
uint64_t *fake_counter(struct fake *fake, unsigned counter);
uint64_t *fake_select(struct fake *fake, unsigned counter);

/* So many instructions, cycles, and everything else. */
void fake_run(struct fake *fake, uint64_t events);

/* Leaves of real CPUs (InstLatx64's dumps), and their number. */
extern const struct fake_leaves fake_known_leaves[];
extern const unsigned fake_known_count;

#endif
