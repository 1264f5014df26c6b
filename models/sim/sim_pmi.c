/* SPDX-License-Identifier: MIT */
/*
 * Interrupts of the silicon model: delivery of pending NMIs and vectors to the test's handler (sim->deliver), foreign
 * NMIs, late status bits and interrupts, LVTPC.
 */
#include "models/sim/sim_intern.h"

/* The number of interrupts in a row, with no code executed between them, that counts as a livelock. */
#define STORM_LIMIT 10000u

/*
 * Call sim->deliver for one interrupt, an NMI or a vector, on this CPU in ring 0; a guest is left before and entered
 * again afterwards. The current CPU and the ring are as before when it returns. Also counts the interrupt.
 */
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

/* Take steps off a countdown. Returns true if it has just ended; false if it goes on, or *left was 0 (none runs). */
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
        upmu_sim_raise_pmi(sim, index);
    if (sim_count_down(&cpu->amd.ibs_left, steps))
        upmu_sim_amd_ibs_fire(sim, index);
    if (sim_count_down(&cpu->sticky_left, steps)) {
        cpu->status |= sim_global_bit(reference);
        if (upmu_sim_intel_config(sim, index, reference) & SIM_SELECT_INT)
            upmu_sim_raise_pmi(sim, index);
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
        /* NetBurst: all overflows assert one line, so an interrupt that was still late comes with this one. */
        if (sim_is_p4(sim))
            cpu->skid_left = 0;
        upmu_sim_raise_pmi(sim, index);
        upmu_sim_poll(sim, index);
    }
}
