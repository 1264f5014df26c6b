/* SPDX-License-Identifier: MIT */
/*
 * Numbered accesses, those through the hooks for registers, PCI and memory: what happens before and after one, whether
 * a test lets it fault, the record in the trace, and calls of the test's functions.
 */
#include "models/sim/sim_intern.h"

void upmu_sim_check_context(struct upmu_sim *sim, const char *text, uint32_t address)
{
    const struct upmu_sim_cpu *cpu = &sim->cpu[sim->current];

    if (sim_on(sim, UPMU_SIM_RULE_CHECK_CONTEXT) && cpu->irqs_on && !cpu->in_nmi)
        upmu_sim_violate(sim, text, address, 0);
}

static bool sim_injected_fault(const struct upmu_sim *sim, uint32_t number, enum upmu_sim_kind kind, uint32_t address)
{
    uint32_t until = sim->fault_until > sim->fault_at ? sim->fault_until : sim->fault_at;

    if (sim->fault_at != 0 && number >= sim->fault_at && number <= until)
        return true;
    return sim->fault_address != 0 && address == sim->fault_address && kind != UPMU_SIM_RDPMC;
}

static void sim_call_back(struct upmu_sim *sim, upmu_sim_on_access *function, uint32_t number, enum upmu_sim_kind kind,
                          uint32_t address)
{
    if (function == NULL || sim->in_callback)
        return;
    sim->in_callback = true;
    function(sim, sim->current, number, kind, address);
    sim->in_callback = false;
}

/*
 * Begin a numbered access. Before the access happens: the call of the hook is a branch, interrupts must be off, the
 * access is counted, model time passes, events_per_access events are counted, one step passes (late status bits and
 * interrupts come if they are due), and the test's before_access is called. An injected fault is counted.
 */
uint32_t upmu_sim_begin_access(struct upmu_sim *sim, enum upmu_sim_kind kind, uint32_t address, bool *out_injected)
{
    unsigned cpu = sim->current;
    uint32_t number = ++sim->accesses;

    upmu_sim_traces_hook(sim, false);
    upmu_sim_check_context(sim, "register accessed with interrupts on", address);
    upmu_sim_uncore_count_access(sim, address);
    sim->access_count[kind]++;
    sim->now_ns += sim->ns_per_access;
    sim->cpu[cpu].where = (struct upmu_sim_interrupt){.ip = UPMU_SIM_KERNEL_IP, .sp = UPMU_SIM_KERNEL_SP};
    if (sim->events_per_access != 0) {
        struct upmu_sim_burst burst = {.instructions = sim->events_per_access,
                                       .cycles = sim->events_per_access,
                                       .ref_cycles = sim->events_per_access,
                                       .ip = UPMU_SIM_KERNEL_IP,
                                       .sp = UPMU_SIM_KERNEL_SP};

        upmu_sim_events(sim, &burst);
    }
    upmu_sim_step(sim, cpu, 1);
    upmu_sim_poll(sim, cpu);
    sim_call_back(sim, sim->before_access, number, kind, address);
    *out_injected = kind != UPMU_SIM_REARM && sim_injected_fault(sim, number, kind, address);
    if (*out_injected)
        sim->faults++;
    return number;
}

void upmu_sim_end_access(struct upmu_sim *sim, uint32_t number, enum upmu_sim_kind kind, uint32_t address,
                         uint64_t value, bool faulted)
{
    if (sim->trace_count < sim->trace_size) {
        struct upmu_sim_access *access = &sim->trace[sim->trace_count++];

        access->kind = kind;
        access->cpu = sim->current;
        access->address = address;
        access->faulted = faulted;
        access->value = value;
    }
    upmu_sim_traces_hook(sim, true);
    upmu_sim_poll(sim, sim->current);
    sim_call_back(sim, sim->after_access, number, kind, address);
}
