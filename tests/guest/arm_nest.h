/* SPDX-License-Identifier: MIT */
/*
 * Guests of the Arm door on a CPU of tests/guest/arm_cpu.h, in one process: the library with Arm's backend, as EL2 has
 * it, the guest engine, and the hypervisor's part.  Each access of the guest is an exit and an entry, in the order of a
 * real hypervisor.
 *
 * Several CPUs of one machine are several nests: one has the machine, the others point to it (`shared`). A test whose
 * CPUs are threads defines ARM_NEST_OF() as the nest of the executing thread.
 */
#ifndef UPMU_TESTS_ARM_NEST_H
#define UPMU_TESTS_ARM_NEST_H

/* The library as one source, with the backend that other builds on this machine leave out. */
#include "build/library.c"

#include "tests/guest/guest_sources_arm.h"

#include "tests/guest/arm_cpu.h"

#ifndef ARM_NEST_OF
#define ARM_NEST_OF(context) ((struct arm_nest *)(context))
#endif

#define ARM_NEST_SESSIONS 9
#define ARM_NEST_GUESTS 2
#define ARM_NEST_HOST_WORK 40 /* instructions of the hypervisor for each exit */

struct arm_nest_guest {
    struct upmu_guest guest;
    struct upmu_thread thread;
    struct upmu_session sessions[ARM_NEST_SESSIONS];
};

struct arm_nest {
    struct arm_cpu hw;
    struct upmu_port port;
    struct upmu_machine machine;
    struct upmu_machine *shared; /* the machine of another nest, to which this CPU belongs; or NULL */
    struct upmu_cpu cpu;
    struct upmu_thread idle;
    struct upmu_session session; /* of the host: instructions of EL2 */
    struct arm_nest_guest guests[ARM_NEST_GUESTS];
    struct arm_nest_guest *present; /* on the CPU, or NULL */
    unsigned guest_level;           /* where the guest executes: 0 or 1 */
    uint64_t executed;              /* instructions of EL2 while the session of the host counts */
    bool inside;                    /* the guest runs */
    bool wired;                     /* the interrupt's level at the last entry */
    bool lazy;                      /* an access does not enter the guest again */
    unsigned fault_after;           /* the access with this number from now on faults; 0: none */
    unsigned exits, host_interrupts, not_ours, failures;
};

/* ---- The host's port ---- */

static inline bool arm_nest_access(void *context, uint32_t reg, bool write, uint64_t *inout)
{
    struct arm_nest *nest = ARM_NEST_OF(context);
    unsigned level = nest->hw.level;
    bool counts = nest->hw.accesses_count, known;

    if (!write && reg == ARM_REG(3, 0, 0, 0, 0)) {
        *inout = 0x411fd070; /* MIDR_EL1 of a Cortex-A57 */
        return true;
    }
    if (!write && (reg == ARM_REG(3, 0, 0, 5, 0) || reg == ARM_REG(3, 0, 4, 2, 2))) {
        *inout = reg == ARM_REG(3, 0, 4, 2, 2) ? 2u << 2 : nest->hw.version << 8;
        return true;
    }
    if (nest->fault_after && !--nest->fault_after)
        return false;
    nest->hw.level = 2;
    nest->hw.accesses_count = false; /* (The host's figures have its bursts alone.) */
    nest->hw.reads += !write;
    nest->hw.writes += write;
    known = arm_cpu_access(&nest->hw, reg, write, inout) == ARM_DONE;
    nest->hw.accesses_count = counts;
    nest->hw.level = level;
    return known;
}

static inline bool arm_nest_rdmsr(void *context, uint32_t reg, uint64_t *out_value)
{
    *out_value = 0;
    return arm_nest_access(context, reg, false, out_value);
}

static inline bool arm_nest_wrmsr(void *context, uint32_t reg, uint64_t value)
{
    return arm_nest_access(context, reg, true, &value);
}

static inline uintptr_t arm_nest_save(void *context)
{
    struct arm_nest *nest = ARM_NEST_OF(context);
    bool before = nest->hw.irqs_off;

    nest->hw.irqs_off = true;
    return before;
}

static inline void arm_nest_restore(void *context, uintptr_t before)
{
    struct arm_nest *nest = ARM_NEST_OF(context);

    nest->hw.irqs_off = before;
    if (nest->hw.level == 2)
        arm_cpu_look(&nest->hw);
}

static inline void arm_nest_rearm(void *context)
{
    (void)context;
}

static inline void arm_nest_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    (void)context, (void)leaf, (void)subleaf;
    memset(out, 0, 4 * sizeof out[0]);
}

static inline uint64_t arm_nest_clock(void *context)
{
    struct arm_nest *nest = ARM_NEST_OF(context);

    return nest->hw.executed;
}

static inline struct upmu_cpu *arm_nest_this_cpu(void *context)
{
    return &ARM_NEST_OF(context)->cpu;
}

static inline struct upmu_machine *arm_nest_machine(struct arm_nest *nest)
{
    return nest->shared ? nest->shared : &nest->machine;
}

/* ---- Worlds ---- */

static inline void arm_nest_exit(struct arm_nest *nest)
{
    if (!nest->inside)
        return;
    nest->hw.level = 2;
    nest->inside = false;
    nest->exits++;
    nest->failures += upmu_guest_exit(&nest->present->guest) != UPMU_OK;
}

/* The host executes; its session counts this. */
static inline void arm_nest_host(struct arm_nest *nest, unsigned instructions)
{
    arm_nest_exit(nest);
    nest->executed += instructions;
    arm_cpu_run(&nest->hw, instructions);
}

static inline enum upmu_status arm_nest_enter(struct arm_nest *nest)
{
    struct upmu_guest_entry entry;
    enum upmu_status status;

    if (nest->inside || !nest->present)
        return UPMU_OK;
    arm_nest_host(nest, ARM_NEST_HOST_WORK);
    nest->hw.irqs_off = true;
    status = upmu_guest_enter(&nest->present->guest, &entry);
    nest->hw.irqs_off = false;
    nest->wired = entry.irq_level;
    nest->inside = true;
    nest->hw.level = nest->guest_level;
    return status;
}

/* The interrupt of the PMU is the host's: in the guest it is an exit, the handler, and an entry. */
static inline void arm_nest_deliver(void *context)
{
    struct arm_nest *nest = ARM_NEST_OF(context);
    bool inside = nest->inside;

    arm_nest_exit(nest);
    nest->host_interrupts++;
    nest->not_ours += upmu_pmi_handle(&nest->cpu, NULL) == UPMU_PMI_NOT_OURS;
    if (inside)
        (void)arm_nest_enter(nest);
}

/* The guest executes, at EL0 or EL1. */
static inline void arm_nest_run(struct arm_nest *nest, unsigned level, unsigned instructions)
{
    nest->guest_level = level;
    (void)arm_nest_enter(nest);
    nest->hw.level = level;
    arm_cpu_run(&nest->hw, instructions);
}

/* The guest accesses a register: exit, access, the instruction counts, entry. */
static inline enum upmu_guest_access arm_nest_trap(struct arm_nest *nest, uint32_t reg, bool write, bool from_el0,
                                                   uint64_t *inout)
{
    enum upmu_guest_access access;

    nest->guest_level = from_el0 ? 0 : 1;
    arm_nest_exit(nest);
    access = upmu_guest_sysreg(&nest->present->guest, reg, write, from_el0, inout);
    if (access == UPMU_GUEST_DONE && nest->hw.accesses_count)
        upmu_guest_retired(&nest->present->guest, 1, 0, from_el0);
    if (!nest->lazy)
        (void)arm_nest_enter(nest);
    return access;
}

static inline bool arm_nest_go(struct arm_nest *nest, struct arm_nest_guest *to)
{
    struct arm_nest_guest *from = nest->present;

    arm_nest_exit(nest);
    nest->present = to;
    return from == to || upmu_thread_switch(&nest->cpu, from ? &from->thread : &nest->idle,
                                            to ? &to->thread : &nest->idle) == UPMU_OK;
}

/* ---- Life ---- */

/* A CPU of the host, without guests, which joins a machine. */
static inline enum upmu_status arm_nest_cpu_begin(struct arm_nest *nest, unsigned version, unsigned counters)
{
    arm_cpu_init(&nest->hw, version, counters);
    nest->hw.deliver = arm_nest_deliver;
    nest->hw.context = nest;
    nest->guest_level = 1;
    upmu_thread_init(&nest->idle, 0, 0, NULL);
    return upmu_cpu_init(&nest->cpu, arm_nest_machine(nest), NULL);
}

/* The machine of CPUs of this kind; no CPU is initialised yet. */
static inline enum upmu_status arm_nest_machine_begin(struct arm_nest *nest, unsigned version, unsigned counters)
{
    memset(nest, 0, sizeof *nest);
    arm_cpu_init(&nest->hw, version, counters);
    nest->port = (struct upmu_port){.context = nest,
                                    .rdmsr = arm_nest_rdmsr,
                                    .wrmsr = arm_nest_wrmsr,
                                    .cpuid = arm_nest_cpuid,
                                    .irq_save = arm_nest_save,
                                    .irq_restore = arm_nest_restore,
                                    .pmi_rearm = arm_nest_rearm,
                                    .clock_ns = arm_nest_clock,
                                    .in_kernel_mode = true};
    return upmu_machine_init(&nest->machine, &nest->port);
}

/* The host with one CPU, without guests. */
static inline enum upmu_status arm_nest_host_begin(struct arm_nest *nest, unsigned version, unsigned counters)
{
    enum upmu_status status = arm_nest_machine_begin(nest, version, counters);

    return status == UPMU_OK ? arm_nest_cpu_begin(nest, version, counters) : status;
}

/* The host's session counts what EL2 executes while no guest runs. */
static inline enum upmu_status arm_nest_session(struct arm_nest *nest)
{
    enum upmu_status status = upmu_session_init(&nest->session, arm_nest_machine(nest));

    if (status == UPMU_OK)
        status = upmu_set_add(&nest->session.set, "instructions", NULL);
    if (status == UPMU_OK)
        status = upmu_session_world(&nest->session, UPMU_WORLD_HOST);
    if (status == UPMU_OK)
        status = upmu_session_attach_cpu(&nest->session, &nest->cpu);
    nest->executed = 0;
    return status == UPMU_OK ? upmu_session_start(&nest->session) : status;
}

static inline enum upmu_status arm_nest_guest_begin(struct arm_nest *nest, unsigned which,
                                                    const struct upmu_guest_shape *shape,
                                                    const struct upmu_guest_policy *policy)
{
    struct arm_nest_guest *of = &nest->guests[which];

    upmu_thread_init(&of->thread, 1, which + 1, NULL);
    return upmu_guest_init(&of->guest, arm_nest_machine(nest), shape, policy,
                           &(struct upmu_guest_memory){of->sessions, ARM_NEST_SESSIONS, &of->thread});
}

#endif
