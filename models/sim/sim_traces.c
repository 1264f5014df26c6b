/* SPDX-License-Identifier: MIT */
/*
 * A taken branch of the silicon model, for the branch stack and for branch traces (BTS). For these it is stored into
 * memory, which the debug store area names, as 24 bytes: source, target, flags. Not here: NetBurst, whose DEBUGCTL has
 * these bits elsewhere.
 *
 * The area's words and an entry: Linux 6.12 arch/x86/events/intel/ds.c, asm/intel_ds.h; SDM vol 3 17.4.9. The bits of
 * DEBUGCTL, the ring and the threshold: SDM vol 3 17.4.1.
 */
#include "models/sim/sim_intern.h"

/* Fields of the debug store area, where words have 64 bits. */
#define TRACES_BASE 0u
#define TRACES_INDEX 8u
#define TRACES_MAXIMUM 16u
#define TRACES_THRESHOLD 24u

#define TRACES_PREDICTED SIM_BIT(4)

bool upmu_sim_traces(const struct upmu_sim *sim, unsigned index)
{
    const uint64_t both = SIM_DEBUGCTL_TR | SIM_DEBUGCTL_BTS;

    return !sim_is_p4(sim) && sim_is(sim, index)->flags & UPMU_SIM_DS && (sim->cpu[index].debugctl & both) == both &&
           sim_on(sim, UPMU_SIM_RULE_BTS_STORES);
}

/* Do DEBUGCTL's bits keep a branch out because of its ring? The kernel has the addresses with bit 63. */
static bool is_kept_out(const struct upmu_sim *sim, unsigned index, const struct upmu_sim_branch *branch)
{
    uint64_t end = sim_on(sim, UPMU_SIM_RULE_BTS_BY_SOURCE) ? branch->from : branch->to;

    return sim->cpu[index].debugctl & (end >> 63 ? SIM_DEBUGCTL_BTS_OFF_OS : SIM_DEBUGCTL_BTS_OFF_USR);
}

static void store_branch(struct upmu_sim *sim, unsigned index, const struct upmu_sim_branch *branch)
{
    const unsigned length = upmu_sim_debug_narrow(sim, index) ? 4 : 8;
    const bool rings = !(sim->cpu[index].debugctl & SIM_DEBUGCTL_BTINT);
    uint64_t base, next, maximum, threshold,
        word[3] = {branch->from, branch->to, branch->mispredicted ? 0 : TRACES_PREDICTED};

    if (is_kept_out(sim, index, branch))
        return;
    if (sim->cpu[index].guest && sim_on(sim, UPMU_SIM_RULE_CHECK_BTS_GUEST))
        upmu_sim_violate(sim, "a branch is stored by a linear address while a guest runs", SIM_MSR_DS_AREA, index);
    if (!upmu_sim_debug_area(sim, index, false, TRACES_BASE, &base) ||
        !upmu_sim_debug_area(sim, index, false, TRACES_INDEX, &next) ||
        !upmu_sim_debug_area(sim, index, false, TRACES_MAXIMUM, &maximum) ||
        !upmu_sim_debug_area(sim, index, false, TRACES_THRESHOLD, &threshold))
        return;
    if ((next < base || (uint32_t)(next - base) % (3u * length) != 0 || maximum - base < 3u * length) &&
        sim_on(sim, UPMU_SIM_RULE_CHECK_BTS_AREA))
        upmu_sim_violate(sim, "the debug store area is not set up for branches", SIM_MSR_DS_AREA, next);
    if (next > maximum || 3u * length > maximum - next) {
        if (!rings || !sim_on(sim, UPMU_SIM_RULE_BTS_RINGS))
            return;
        next = base;
    }
    for (unsigned i = 0; i < 3; i++)
        if (!upmu_sim_debug_store(sim, index, UPMU_SIM_MEMORY_WRITE, next + i * length, &word[i], length))
            return;
    next += 3u * length;
    if (rings && sim_on(sim, UPMU_SIM_RULE_BTS_RINGS) && (next > maximum || 3u * length > maximum - next))
        next = base;
    if (!upmu_sim_debug_area(sim, index, true, TRACES_INDEX, &next))
        return;
    if (!rings && next >= threshold && sim_on(sim, UPMU_SIM_RULE_BTS_INTERRUPTS))
        upmu_sim_debug_full(sim, index);
}

void upmu_sim_branch(struct upmu_sim *sim, const struct upmu_sim_branch *branch)
{
    if (upmu_sim_traces(sim, sim->current))
        store_branch(sim, sim->current, branch);
    upmu_sim_branches_take(sim, branch);
}

/* Let the call of a hook, or its return, be a taken branch of the current CPU, unless rule LBR_HOOKS is off. */
void upmu_sim_traces_hook(struct upmu_sim *sim, bool returns)
{
    const uint64_t hook = UPMU_SIM_KERNEL_IP + 0x4000u, caller = UPMU_SIM_KERNEL_IP + 0x8000u;
    struct upmu_sim_branch branch = {.from = returns ? hook : caller,
                                     .to = returns ? caller : hook,
                                     .cycles = 1,
                                     .kind = returns ? UPMU_SIM_BRANCH_RETURN : UPMU_SIM_BRANCH_IND_CALL};

    if (sim_on(sim, UPMU_SIM_RULE_LBR_HOOKS))
        upmu_sim_branch(sim, &branch);
}
