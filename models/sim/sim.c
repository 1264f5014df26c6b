/* SPDX-License-Identifier: MIT */
/*
 * The silicon model as a port: the hooks for registers, interrupts, time, other CPUs and the log; checks of the hooks'
 * caller; functions that set up the model and its CPUs.
 */
#include "models/sim/sim_intern.h"

/* For tests/mutants: the number of a rule whose default upmu_sim_init() reverses; UPMU_SIM_RULE_COUNT: no rule's. */
#ifdef UPMU_SIM_MUTANT
extern unsigned UPMU_SIM_MUTANT;
#else
#define UPMU_SIM_MUTANT UPMU_SIM_RULE_COUNT
#endif

/* ---- Checks ---- */

/*
 * Report an access, read or write, to a payload register (OFFCORE_RSP and the like) under a hypervisor if the port says
 * that faults are not safe: upmu must not access one then. Quiet if the test passed `force` (sim->forced).
 */
static void sim_check_hypervisor(struct upmu_sim *sim, uint32_t msr)
{
    const struct upmu_sim_profile *profile = sim_is(sim, sim->current);

    if (sim_on(sim, UPMU_SIM_RULE_CHECK_HYPERVISOR) && profile->flags & UPMU_SIM_HYPERVISOR && !sim->forced &&
        !sim->port.msr_faults_are_safe && upmu_sim_intel_payload_at(profile, msr) < UPMU_SIM_PAYLOADS)
        upmu_sim_violate(sim, "payload register under a hypervisor without safe faults", msr, 0);
}

/*
 * Count an access that met #GP, and record a violation if it is a mistake of the caller: any access if the port says
 * that faults are not safe, otherwise a write. No mistake is an access to a register that CPUID promises and the
 * profile withholds, or any while sim->expect_faults is set.
 */
static void sim_check_fault(struct upmu_sim *sim, enum upmu_sim_kind kind, uint32_t address, uint64_t value)
{
    bool withheld = kind != UPMU_SIM_RDPMC && upmu_sim_family_withheld(sim_is(sim, sim->current), address);

    sim->faults++;
    if (!sim_on(sim, UPMU_SIM_RULE_CHECK_FAULT) || sim->expect_faults || withheld)
        return;
    if (!sim->port.msr_faults_are_safe)
        upmu_sim_violate(sim, "#GP on a port whose faults are unsafe", address, value);
    else if (kind == UPMU_SIM_WRMSR)
        upmu_sim_violate(sim, "write that #GPs", address, value);
}

/* ---- Hooks ---- */

/* The value that a hook stores in *out_value when a read of an MSR or RDPMC faults: the caller must not use it. */
#define SIM_GARBAGE (~UINT64_C(0))

static bool sim_rdmsr(void *context, uint32_t msr, uint64_t *out_value)
{
    struct upmu_sim *sim = context;
    bool injected, done;
    uint32_t number = upmu_sim_begin_access(sim, UPMU_SIM_RDMSR, msr, &injected);
    uint64_t value = 0;

    if (injected || !upmu_sim_uncore_msr(sim, false, msr, &value, &done))
        done = !injected && upmu_sim_family_read(sim, sim->current, msr, &value);
    sim_check_hypervisor(sim, msr);
    if (!injected && !done)
        sim_check_fault(sim, UPMU_SIM_RDMSR, msr, 0);
    *out_value = done ? value : SIM_GARBAGE;
    upmu_sim_end_access(sim, number, UPMU_SIM_RDMSR, msr, value, !done);
    return done;
}

static bool sim_wrmsr(void *context, uint32_t msr, uint64_t value)
{
    struct upmu_sim *sim = context;
    bool injected, done;
    uint32_t number = upmu_sim_begin_access(sim, UPMU_SIM_WRMSR, msr, &injected);

    if (injected || !upmu_sim_uncore_msr(sim, true, msr, &value, &done))
        done = !injected && upmu_sim_family_write(sim, sim->current, msr, value);
    sim_check_hypervisor(sim, msr);
    if (!injected && !done)
        sim_check_fault(sim, UPMU_SIM_WRMSR, msr, value);
    upmu_sim_end_access(sim, number, UPMU_SIM_WRMSR, msr, value, !done);
    return done;
}

static bool sim_rdpmc(void *context, uint32_t index, uint64_t *out_value)
{
    struct upmu_sim *sim = context;
    bool injected;
    uint32_t number = upmu_sim_begin_access(sim, UPMU_SIM_RDPMC, index, &injected);
    const struct upmu_sim_cpu *cpu = &sim->cpu[sim->current];
    bool permitted = !cpu->user || cpu->cr4_pce || !sim_on(sim, UPMU_SIM_RULE_RDPMC_PCE);
    uint64_t value = 0;
    bool done = !injected && permitted && (upmu_sim_uncore_rdpmc(sim, index, &value) ||
                                           upmu_sim_family_rdpmc(sim, sim->current, index, &value));

    if (!injected && !done)
        sim_check_fault(sim, UPMU_SIM_RDPMC, index, 0);
    *out_value = done ? value : SIM_GARBAGE;
    upmu_sim_end_access(sim, number, UPMU_SIM_RDPMC, index, value, !done);
    return done;
}

static void sim_pmi_rearm(void *context)
{
    struct upmu_sim *sim = context;
    bool injected;
    uint32_t number = upmu_sim_begin_access(sim, UPMU_SIM_REARM, 0, &injected);
    uint32_t value = sim->cpu[sim->current].lvtpc & ~UPMU_SIM_LVTPC_MASKED;

    upmu_sim_write_lvtpc(sim, sim->current, value);
    upmu_sim_end_access(sim, number, UPMU_SIM_REARM, 0, value, false);
}

static void sim_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    struct upmu_sim *sim = context;

    upmu_sim_check_context(sim, "cpuid hook with interrupts on", leaf);
    sim->access_count[UPMU_SIM_CPUID]++;
    upmu_sim_cpuid(sim, sim->current, leaf, subleaf, out);
    upmu_sim_uncore_cpuid(sim, sim->current, leaf, subleaf, out);
}

static struct upmu_cpu *sim_this_cpu(void *context)
{
    struct upmu_sim *sim = context;

    upmu_sim_check_context(sim, "this_cpu hook with interrupts on", 0);
    return sim->cpu[sim->current].bound;
}

static uintptr_t sim_irq_save(void *context)
{
    struct upmu_sim *sim = context;
    struct upmu_sim_cpu *cpu = &sim->cpu[sim->current];
    uintptr_t state = cpu->irqs_on;

    cpu->irqs_on = false;
    cpu->irq_depth++;
    return state;
}

static void sim_irq_restore(void *context, uintptr_t state)
{
    struct upmu_sim *sim = context;
    struct upmu_sim_cpu *cpu = &sim->cpu[sim->current];

    if (cpu->irq_depth == 0)
        upmu_sim_violate(sim, "irq_restore without irq_save on this CPU", 0, state);
    else
        cpu->irq_depth--;
    if (state > 1)
        upmu_sim_violate(sim, "irq_restore of a state that irq_save did not give", 0, state);
    cpu->irqs_on = state != 0;
    upmu_sim_poll(sim, sim->current);
}

static uint64_t sim_clock_ns(void *context)
{
    struct upmu_sim *sim = context;

    upmu_sim_check_context(sim, "clock_ns hook with interrupts on", 0);
    return sim->now_ns;
}

static bool sim_run_on_cpu(void *context, struct upmu_cpu *bound, void (*function)(void *argument), void *argument)
{
    struct upmu_sim *sim = context;
    unsigned caller = sim->current;

    for (unsigned i = 0; i < sim->cpus; i++) {
        bool irqs_on = sim->cpu[i].irqs_on;

        if (sim->cpu[i].bound != bound || bound == NULL || sim->cpu[i].offline)
            continue;
        upmu_sim_uncore_remote_begin(sim);
        sim->current = i;
        sim->cpu[i].irqs_on = false;
        function(argument);
        upmu_sim_uncore_remote_end(sim);
        sim->cpu[i].irqs_on = irqs_on;
        upmu_sim_poll(sim, i);
        sim->current = caller;
        return true;
    }
    return false;
}

static void sim_log(void *context, const char *line)
{
    struct upmu_sim *sim = context;
    size_t length = 0;

    upmu_sim_check_context(sim, "log hook with interrupts on", 0);
    if (sim->cpu[sim->current].in_nmi)
        upmu_sim_violate(sim, "log hook inside an NMI", 0, 0);
    sim->log_lines++;
    while (line[length] != '\0' && length < sizeof sim->log_last - 1u) {
        sim->log_last[length] = line[length];
        length++;
    }
    sim->log_last[length] = '\0';
}

/* ---- Setting up ---- */

static void sim_fill_port(struct upmu_sim *sim)
{
    sim->port.context = sim;
    sim->port.rdmsr = sim_rdmsr;
    sim->port.wrmsr = sim_wrmsr;
    sim->port.cpuid = sim_cpuid;
    sim->port.this_cpu = sim_this_cpu;
    sim->port.irq_save = sim_irq_save;
    sim->port.irq_restore = sim_irq_restore;
    sim->port.rdpmc = sim_rdpmc;
    sim->port.pmi_rearm = sim_pmi_rearm;
    sim->port.clock_ns = sim_clock_ns;
    sim->port.run_on_cpu = sim_run_on_cpu;
    sim->port.log = sim_log;
    sim->port.msr_faults_are_safe = true;
    sim->port.in_kernel_mode = true;
}

void upmu_sim_init(struct upmu_sim *sim, const struct upmu_sim_profile *profile, unsigned cpus)
{
    __builtin_memset(sim, 0, sizeof *sim);
    sim->profile = profile;
    sim->cpus = cpus == 0 ? UPMU_SIM_CPUS_DEFAULT : cpus;
    if (sim->cpus > UPMU_SIM_CPUS)
        sim->cpus = UPMU_SIM_CPUS;
    for (unsigned i = 0; i < UPMU_SIM_RULE_COUNT; i++)
        sim->rule[i] = upmu_sim_rule(i)->on != (i == UPMU_SIM_MUTANT);
    sim_fill_port(sim);
    for (unsigned i = 0; i < sim->cpus; i++) {
        sim->cpu[i].irqs_on = true;
        upmu_sim_reset_cpu(sim, i);
        upmu_sim_set_delivery(sim, i, UPMU_SIM_LVTPC_NMI);
    }
}

void upmu_sim_set_profile(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_profile *profile)
{
    if (cpu >= sim->cpus)
        return;
    sim->cpu[cpu].profile = profile;
    upmu_sim_reset_cpu(sim, cpu);
    upmu_sim_set_delivery(sim, cpu, UPMU_SIM_LVTPC_NMI);
}

const struct upmu_sim_profile *upmu_sim_cpu_profile(const struct upmu_sim *sim, unsigned cpu)
{
    return sim_is(sim, cpu);
}

const struct upmu_port *upmu_sim_port(struct upmu_sim *sim)
{
    return &sim->port;
}

void upmu_sim_switch_cpu(struct upmu_sim *sim, unsigned cpu)
{
    sim->current = cpu < sim->cpus ? cpu : 0;
}

void upmu_sim_bind_cpu(struct upmu_sim *sim, unsigned cpu, struct upmu_cpu *bound)
{
    if (cpu < sim->cpus)
        sim->cpu[cpu].bound = bound;
}

void upmu_sim_reset_cpu(struct upmu_sim *sim, unsigned cpu)
{
    upmu_sim_family_reset(sim, cpu);
}

void upmu_sim_init_signal(struct upmu_sim *sim, unsigned cpu)
{
    if (sim_on(sim, UPMU_SIM_RULE_INIT_KEEPS))
        return;
    for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++) {
        if (sim_has_counter(sim_is(sim, cpu), i))
            sim->cpu[cpu].counter[i].value ^= UINT64_C(0x5a5a3c3c96);
    }
}

void upmu_sim_irqs(struct upmu_sim *sim, bool on)
{
    sim->cpu[sim->current].irqs_on = on;
    upmu_sim_poll(sim, sim->current);
}

void upmu_sim_set_delivery(struct upmu_sim *sim, unsigned cpu, uint32_t mode)
{
    upmu_sim_write_lvtpc(sim, cpu, (sim->cpu[cpu].lvtpc & UPMU_SIM_LVTPC_MASKED) | mode);
}

/*
 * Leave a CPU as a BIOS may: counter 0 counts cycles, with INT; LVTPC is masked. Intel core PMU: FIXED_CTR_CTRL also
 * sets three fixed counters to user mode, but GLOBAL_CTRL enables general counters only.
 */
void upmu_sim_firmware(struct upmu_sim *sim, unsigned cpu)
{
    sim->cpu[cpu].lvtpc = UPMU_SIM_LVTPC_MASKED | 0x20u;
    if (sim_is_p4(sim)) {
        upmu_sim_p4_firmware(sim, cpu);
        return;
    }
    if (sim_is_amd(sim)) {
        upmu_sim_amd_firmware(sim, cpu);
        return;
    }
    upmu_sim_poke(sim, cpu, 0x186, 0x53003c);
    upmu_sim_poke(sim, cpu, 0x38f, 0xf);
    upmu_sim_poke(sim, cpu, 0x38d, 0x222);
}

void upmu_sim_advance_ns(struct upmu_sim *sim, uint64_t ns)
{
    sim->now_ns += ns;
}

void upmu_sim_forget(struct upmu_sim *sim)
{
    sim->accesses = 0;
    __builtin_memset(sim->access_count, 0, sizeof sim->access_count);
    sim->faults = 0;
    sim->trace_count = 0;
    sim->violation_count = 0;
    sim->violation = NULL;
    __builtin_memset(&sim->first_violation, 0, sizeof sim->first_violation);
    __builtin_memset(&sim->last_violation, 0, sizeof sim->last_violation);
}
