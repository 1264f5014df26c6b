/* SPDX-License-Identifier: MIT */
/*
 * Interrupts of the silicon model: from a counter's request through the local
 * APIC's performance-counter entry (Intel SDM vol 3 10.5.1, Linux
 * arch/x86/kvm/lapic.c) to the test's handler.
 */
#include "port/sim/sim_intern.h"

#define LVTPC_MODE 0x700u
#define LVTPC_SMI 0x200u
#define LVTPC_VECTOR 0xffu

/* The number of NMIs in a row, without anything between them, that counts as a livelock. */
#define STORM_LIMIT 10000u

static void sim_raise_pmi(struct upmu_sim *sim, unsigned index)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];
    uint32_t mode = cpu->lvtpc & LVTPC_MODE;

    if (sim_is(sim, index)->flags & UPMU_SIM_NO_APIC && sim_on(sim, UPMU_SIM_RULE_AMD_NO_APIC))
        return;
    if (cpu->lvtpc & UPMU_SIM_LVTPC_MASKED) {
        cpu->pmi_dropped++;
        cpu->latched = !sim_on(sim, UPMU_SIM_RULE_LVTPC_DROPS);
        return;
    }
    if (sim_is_amd(sim) ? !sim_on(sim, UPMU_SIM_RULE_AMD_LVTPC_KEEPS) : sim_on(sim, UPMU_SIM_RULE_LVTPC_MASKS))
        cpu->lvtpc |= UPMU_SIM_LVTPC_MASKED;
    cpu->merged += mode == UPMU_SIM_LVTPC_NMI && cpu->nmi_pending && cpu->nmi_foreign ? 1u : 0u;
    if (mode == UPMU_SIM_LVTPC_NMI)
        cpu->nmi_pending = !cpu->in_nmi || sim_on(sim, UPMU_SIM_RULE_NMI_PENDS);
    else if (mode == 0 && (cpu->lvtpc & LVTPC_VECTOR) >= 16)
        cpu->irq_pending = true;
    else if (mode == 0)
        upmu_sim_violate(sim, "LVTPC has no vector: the host sets delivery up after each reset", 0x340, cpu->lvtpc);
    else if (mode != LVTPC_SMI) /* an SMI is the firmware's */
        upmu_sim_violate(sim, "LVTPC has a delivery mode that the entry does not support", 0x340, cpu->lvtpc);
}

void upmu_sim_request_pmi(struct upmu_sim *sim, unsigned cpu)
{
    sim->cpu[cpu].pmi_requests++;
    if (sim->skid == 0)
        sim_raise_pmi(sim, cpu);
    else if (sim->cpu[cpu].skid_left == 0)
        sim->cpu[cpu].skid_left = sim->skid;
}

/* Deliver one interrupt to the host's entry, which runs on that CPU in ring 0. */
static void sim_deliver_one(struct upmu_sim *sim, unsigned index, bool nmi)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];
    struct upmu_sim_interrupt interrupt = cpu->where;
    unsigned interrupted = sim->current;
    bool user = cpu->user, guest = cpu->guest;

    interrupt.nmi = nmi;
    interrupt.foreign = nmi && cpu->nmi_foreign;
    cpu->nmi_foreign = cpu->nmi_foreign && !nmi;
    cpu->interrupts++;
    cpu->foreign += interrupt.foreign ? 1u : 0u;
    cpu->user = false;
    sim->current = index;
    if (guest)
        upmu_sim_leave_guest(sim);
    if (sim->deliver != NULL)
        sim->deliver(sim, index, &interrupt);
    if (guest)
        upmu_sim_enter_guest(sim);
    sim->current = interrupted;
    cpu->user = user;
}

static bool sim_poll_one(struct upmu_sim *sim, unsigned index)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];

    if (cpu->in_nmi)
        return false;
    if (cpu->nmi_pending) {
        cpu->nmi_pending = false;
        cpu->in_nmi = true;
        sim_deliver_one(sim, index, true);
        cpu->in_nmi = false;
        return true;
    }
    if (cpu->irq_pending && cpu->irqs_on && !cpu->in_irq) {
        cpu->irq_pending = false;
        cpu->in_irq = true;
        cpu->irqs_on = false;
        sim_deliver_one(sim, index, false);
        cpu->irqs_on = true;
        cpu->in_irq = false;
        return true;
    }
    return false;
}

void upmu_sim_poll(struct upmu_sim *sim, unsigned cpu)
{
    uint32_t in_a_row = 0;

    while (sim_poll_one(sim, cpu)) {
        if (++in_a_row < STORM_LIMIT)
            continue;
        upmu_sim_violate(sim, "interrupts without end", 0x340, sim->cpu[cpu].lvtpc);
        sim->cpu[cpu].nmi_pending = false;
        sim->cpu[cpu].irq_pending = false;
        return;
    }
}

void upmu_sim_foreign_nmi(struct upmu_sim *sim)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[sim->current];

    if (cpu->in_nmi && !sim_on(sim, UPMU_SIM_RULE_NMI_PENDS))
        return;
    cpu->merged += cpu->nmi_pending && !cpu->nmi_foreign ? 1u : 0u;
    cpu->nmi_pending = true;
    cpu->nmi_foreign = true;
    upmu_sim_poll(sim, sim->current);
}

/* Take steps off a countdown; true: the countdown ends now. */
static bool sim_count_down(uint32_t *left, uint64_t steps)
{
    if (*left == 0)
        return false;
    *left = steps >= *left ? 0 : *left - (uint32_t)steps;
    return *left == 0;
}

void upmu_sim_step(struct upmu_sim *sim, unsigned index, uint64_t steps)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];
    const unsigned reference = UPMU_SIM_FIXED + 2;

    for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++) {
        if (sim_count_down(&cpu->counter[i].late, steps))
            upmu_sim_family_flag(sim, index, i);
    }
    if (sim_count_down(&cpu->skid_left, steps))
        sim_raise_pmi(sim, index);
    if (sim_count_down(&cpu->amd.ibs_left, steps))
        upmu_sim_amd_ibs_fire(sim, index);
    if (sim_count_down(&cpu->sticky_left, steps)) {
        cpu->status |= sim_global_bit(reference);
        if (upmu_sim_intel_config(sim, index, reference) & SIM_SELECT_INT)
            sim_raise_pmi(sim, index);
    }
}

uint64_t upmu_sim_steps_left(const struct upmu_sim_cpu *cpu)
{
    uint64_t left = UINT64_MAX;

    for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++) {
        if (cpu->counter[i].late != 0 && cpu->counter[i].late < left)
            left = cpu->counter[i].late;
    }
    if (cpu->skid_left != 0 && cpu->skid_left < left)
        left = cpu->skid_left;
    if (cpu->sticky_left != 0 && cpu->sticky_left < left)
        left = cpu->sticky_left;
    if (cpu->amd.ibs_left != 0 && cpu->amd.ibs_left < left)
        left = cpu->amd.ibs_left;
    return left;
}

void upmu_sim_write_lvtpc(struct upmu_sim *sim, unsigned index, uint32_t value)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];

    cpu->lvtpc = value;
    if ((cpu->latched || upmu_sim_p4_asserted(sim, index)) && !(value & UPMU_SIM_LVTPC_MASKED)) {
        cpu->latched = false;
        /* NetBurst's overflows share one line: another interrupt that is under way has arrived with this one. */
        if (sim_is_p4(sim))
            cpu->skid_left = 0;
        sim_raise_pmi(sim, index);
        upmu_sim_poll(sim, index);
    }
}
