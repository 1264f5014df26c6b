/* SPDX-License-Identifier: MIT */
/*
 * Functions for all files of the model: records of the caller's mistakes, requests of interrupts up to the local APIC's
 * performance-counter entry (Intel SDM vol 3 10.5.1, Linux arch/x86/kvm/lapic.c), a division.
 */
#include "models/sim/sim_intern.h"

#define LVTPC_MODE 0x700u
#define LVTPC_SMI 0x200u
#define LVTPC_VECTOR 0xffu

void upmu_sim_violate(struct upmu_sim *sim, const char *text, uint32_t address, uint64_t value)
{
    struct upmu_sim_violation violation = {
        .text = text, .address = address, .access = sim->accesses, .cpu = sim->current, .value = value};

    if (sim->violation_count++ == 0)
        sim->first_violation = violation;
    sim->last_violation = violation;
    sim->violation = text;
}

void upmu_sim_raise_pmi(struct upmu_sim *sim, unsigned index)
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
        upmu_sim_raise_pmi(sim, cpu);
    else if (sim->cpu[cpu].skid_left == 0)
        sim->cpu[cpu].skid_left = sim->skid;
}

uint64_t upmu_sim_divide(uint64_t a, uint64_t b)
{
    uint64_t quotient = 0;
    unsigned shift = 0;

    if ((a | b) >> 32 == 0)
        return (uint32_t)a / (uint32_t)b;
    while (b <= a >> 1) {
        b <<= 1;
        shift++;
    }
    for (;; shift--, b >>= 1) {
        quotient <<= 1;
        if (a >= b) {
            a -= b;
            quotient |= 1;
        }
        if (shift == 0)
            return quotient;
    }
}
