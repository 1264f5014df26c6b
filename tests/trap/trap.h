/* SPDX-License-Identifier: MIT */
/*
 * Ring 0 in ring 3: a process that executes the library with port/x86_native.
 *
 * Its RDMSR, WRMSR, RDPMC, CLI, STI, RDTSC, accesses to the local APIC's page and,
 * where the CPU can fault it, CPUID are the real instructions; each of them faults,
 * is decoded, is answered by the silicon model and is stepped over.  Between
 * trap_step_on() and trap_step_off() the process is single-stepped: every retired
 * instruction is one instruction, cycle and reference cycle for the model, and a
 * branch if it is one.
 *
 * What is counted here is counted without the model (which says whether a counter runs): `steps` and `branches` are
 * retired instructions, an emulated one included, and `seen` is where they went.
 *
 * x86-64 and i386, Linux.  One at a time: signal handlers find it by a global.
 */
#ifndef UPMU_TESTS_TRAP_TRAP_H
#define UPMU_TESTS_TRAP_TRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/sim/sim.h"
#include "port/x86_native/x86_native.h"
#include <upmu/upmu.h>

/* Steps after the enabling write that are remembered. */
#define TRAP_SEEN (1u << 18)

/* The time-stamp counter's rate: one tick for each reference cycle of the model. */
#define TRAP_TSC_KHZ 4000u

enum trap_ring {
    TRAP_RING_KERNEL = 0,  /* everything is the kernel's */
    TRAP_RING_WORKLOAD = 1 /* the workload runs in ring 3, the rest in ring 0 */
};

struct trap_moment {
    uint64_t steps, branches, user_steps;
};

struct trap {
    struct upmu_sim sim;
    struct upmu_x86_native native;
    struct upmu_port port; /* native's, or with faults that are survived */
    struct upmu_machine machine;
    struct upmu_cpu cpu;
    struct upmu_session session;
    uint64_t ring[16384];

    /* How; set between trap_prepare() and trap_up() */
    bool x2apic;
    unsigned vector;  /* 0: NMI */
    bool safe_faults; /* #GP is survived and answered false */
    bool no_rdpmc;
    bool step_handler;     /* the handler is entered as by an interrupt and stepped, too */
    bool enabling_counts;  /* the write that lets counters run is counted … */
    bool disabling_counts; /* … and the one that stops them */
    enum trap_ring rings;

    /* Seen */
    uint64_t steps, branches, user_steps;
    struct trap_moment running; /* while counters ran, from the first write that let them run */
    bool was_enabled;
    uint32_t seen[TRAP_SEEN]; /* low half of the next instruction's address, by steps while counters ran */
    uint32_t interrupts, eois, cpuids, faults;
    enum upmu_pmi last_answer;
    uint32_t answers[3]; /* by enum upmu_pmi */

    /* Private */
    bool stepping, in_handler, faulted, cpuid_faults;
    uintptr_t last_ip;
    uint64_t last_flags;
    bool entry_due;
    bool entry_nmi;
};

/*
 * Can this layer run here?  Prints how CPUID is answered, or a skipped test with the
 * reason.
 */
bool trap_able(void);

/* TRAP_RUNS=soak: all runs.  Otherwise a part, as a step may cost 20 us. */
bool trap_soaks(void);

/* A silicon model of that profile; port and CPU not yet up. */
void trap_prepare(struct trap *trap, const char *profile);

/* Catch faults, fill in the port, take the CPU over. */
void trap_up(struct trap *trap);

/* Give everything back; fails on violations of the model's rules. */
void trap_down(struct trap *trap);

/* Single-step from here on, to here. */
void trap_step_on(struct trap *trap);
void trap_step_off(struct trap *trap);

/* A session of these events; `period` 0 counts.  It is attached, not started. */
void trap_session(struct trap *trap, const char *list, uint64_t period);

/* Its count, exact. */
uint64_t trap_value(struct trap *trap, unsigned event);

/* Steps (branches) strictly between the enabling and the disabling write, but those while all counters stood still. */
uint64_t trap_between(const struct trap *trap);
uint64_t trap_branches_between(const struct trap *trap);

#endif
