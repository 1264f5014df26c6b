/* SPDX-License-Identifier: MIT */
/*
 * Call the functions of the profile's family, which is Intel core, Pentium 4 or AMD.
 */
#include "models/sim/sim_intern.h"

void upmu_sim_family_reset(struct upmu_sim *sim, unsigned cpu)
{
    upmu_sim_intel_reset(sim, cpu);
    upmu_sim_branches_reset(sim, cpu);
    if (sim_is_p4(sim))
        upmu_sim_p4_reset(sim, cpu);
    if (sim_is_amd(sim))
        upmu_sim_amd_reset(sim, cpu);
}

bool upmu_sim_family_read(struct upmu_sim *sim, unsigned cpu, uint32_t msr, uint64_t *out_value)
{
    if (sim_is_amd(sim))
        return upmu_sim_amd_read(sim, cpu, msr, out_value);
    return sim_is_p4(sim) ? upmu_sim_p4_read(sim, cpu, msr, out_value) : upmu_sim_intel_read(sim, cpu, msr, out_value);
}

bool upmu_sim_family_write(struct upmu_sim *sim, unsigned cpu, uint32_t msr, uint64_t value)
{
    if (sim_is_amd(sim))
        return upmu_sim_amd_write(sim, cpu, msr, value);
    return sim_is_p4(sim) ? upmu_sim_p4_write(sim, cpu, msr, value) : upmu_sim_intel_write(sim, cpu, msr, value);
}

bool upmu_sim_family_rdpmc(struct upmu_sim *sim, unsigned cpu, uint32_t index, uint64_t *out_value)
{
    if (sim_is_amd(sim))
        return upmu_sim_amd_rdpmc(sim, cpu, index, out_value);
    return sim_is_p4(sim) ? upmu_sim_p4_rdpmc(sim, cpu, index, out_value)
                          : upmu_sim_intel_rdpmc(sim, cpu, index, out_value);
}

bool upmu_sim_family_withheld(const struct upmu_sim_profile *profile, uint32_t msr)
{
    return profile->amd != NULL ? upmu_sim_amd_withheld(profile, msr) : upmu_sim_intel_feature_faults(profile, msr);
}

/*
 * Can a counter of one CPU count what another CPU executes? On a core with hyper-threads the other hyper-thread's can.
 * On AMD the answer is always yes, since cores share the northbridge: upmu_sim_amd_delta() tells nodes apart.
 */
bool upmu_sim_family_concerned(const struct upmu_sim *sim, unsigned cpu, unsigned from)
{
    if (cpu == from || sim_is_amd(sim))
        return true;
    return sim_is(sim, cpu)->flags & UPMU_SIM_SMT && (cpu ^ from) == 1u;
}

uint64_t upmu_sim_family_delta(const struct upmu_sim *sim, unsigned cpu, unsigned counter, unsigned from,
                               const struct upmu_sim_burst *burst)
{
    if (!sim_has_counter(sim_is(sim, cpu), counter))
        return 0;
    if (sim_is_amd(sim))
        return upmu_sim_amd_delta(sim, cpu, counter, from, burst);
    return sim_is_p4(sim) ? upmu_sim_p4_delta(sim, cpu, counter, from, burst)
                          : upmu_sim_intel_delta(sim, cpu, counter, from, burst);
}

uint64_t upmu_sim_family_room(const struct upmu_sim *sim, unsigned cpu, unsigned counter)
{
    uint64_t left;

    if (sim_is_p4(sim))
        return upmu_sim_p4_room(sim, cpu, counter);
    if (sim_is_amd(sim))
        return upmu_sim_amd_room(sim, cpu, counter);
    if (upmu_sim_pebs_waits(sim, cpu, counter))
        return 1;
    left = sim_width_mask(sim_is(sim, cpu), counter) - sim->cpu[cpu].counter[counter].value;
    return left == ~UINT64_C(0) ? left : left + 1u; /* 64 bits, value 0: 2^64 does not fit, so one less */
}

void upmu_sim_family_count(struct upmu_sim *sim, unsigned cpu, unsigned index, uint64_t count,
                           const struct upmu_sim_burst *burst)
{
    struct upmu_sim_counter *counter = &sim->cpu[cpu].counter[index];
    uint64_t mask = sim_width_mask(sim_is(sim, cpu), index);

    counter->counted += count;
    if (sim_is_p4(sim)) {
        upmu_sim_p4_count(sim, cpu, index, count);
        return;
    }
    if (sim_is_amd(sim)) {
        upmu_sim_amd_count(sim, cpu, index, count, burst);
        return;
    }
    counter->value += count;
    if (count != 0)
        upmu_sim_pebs_count(sim, cpu, index);
    upmu_sim_intel_side_effects(sim, cpu, index, count);
    if (index == UPMU_SIM_FIXED + 3)
        upmu_sim_intel_metrics(sim, cpu, count, burst);
    if (counter->value > mask) {
        counter->value &= mask;
        counter->wraps++;
        if (!upmu_sim_pebs_overflow(sim, cpu, index))
            upmu_sim_intel_overflow(sim, cpu, index);
    }
}

void upmu_sim_family_flag(struct upmu_sim *sim, unsigned cpu, unsigned counter)
{
    if (sim_is_p4(sim))
        upmu_sim_p4_flag(sim, cpu, counter);
    else
        sim->cpu[cpu].status |= sim_global_bit(counter);
}

bool upmu_sim_runs(const struct upmu_sim *sim, unsigned cpu, unsigned counter)
{
    if (sim_is_amd(sim))
        return upmu_sim_amd_runs(sim, cpu, counter);
    return sim_is_p4(sim) ? upmu_sim_p4_runs(sim, cpu, counter) : upmu_sim_intel_runs(sim, cpu, counter);
}

void upmu_sim_poke(struct upmu_sim *sim, unsigned cpu, uint32_t msr, uint64_t value)
{
    uint64_t *place;

    if (!sim_is_p4(sim) && !sim_is_amd(sim)) {
        upmu_sim_intel_poke(sim, cpu, msr, value);
        return;
    }
    place = sim_is_amd(sim) ? upmu_sim_amd_place(sim, cpu, msr) : upmu_sim_p4_place(sim, cpu, msr);
    if (place != NULL)
        *place = value;
}

uint64_t upmu_sim_peek(struct upmu_sim *sim, unsigned cpu, uint32_t msr)
{
    const uint64_t *place;

    if (!sim_is_p4(sim) && !sim_is_amd(sim))
        return upmu_sim_intel_peek(sim, cpu, msr);
    place = sim_is_amd(sim) ? upmu_sim_amd_place(sim, cpu, msr) : upmu_sim_p4_place(sim, cpu, msr);
    return place != NULL ? *place : 0;
}

/* ---- Guest mode ---- */

static void sim_cross(struct upmu_sim *sim, bool guest)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[sim->current];

    cpu->guest = guest;
    if (cpu->loads_gate)
        upmu_sim_poke(sim, sim->current, SIM_MSR_GLOBAL_CTRL, guest ? cpu->gate_in_guest : cpu->gate_in_host);
}

void upmu_sim_enter_guest(struct upmu_sim *sim)
{
    upmu_sim_pebs_cross(sim, sim->current);
    sim_cross(sim, true);
}

void upmu_sim_leave_guest(struct upmu_sim *sim)
{
    sim_cross(sim, false);
}
