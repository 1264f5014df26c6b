/* SPDX-License-Identifier: MIT */
/*
 * The table of rules that upmu_sim_rule() reads, made from the lists in sim.h, sim_amd_rules.h and sim_uncore_rules.h.
 */
#include "models/sim/sim.h"

#define RULE_ROW(id, on, text, source) {#id, text, source, (on) != 0},
static const struct upmu_sim_rule sim_rules[] = {UPMU_SIM_RULES(RULE_ROW) UPMU_SIM_RULES_P4(RULE_ROW)
                                                     UPMU_SIM_RULES_AMD(RULE_ROW) UPMU_SIM_RULES_UNCORE(RULE_ROW)};
#undef RULE_ROW

const struct upmu_sim_rule *upmu_sim_rule(unsigned index)
{
    return index < UPMU_SIM_RULE_COUNT ? &sim_rules[index] : NULL;
}
