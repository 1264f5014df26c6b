/* SPDX-License-Identifier: MIT */
/*
 * Which rule of the silicon model is switched round: the number in the environment
 * variable UPMU_SIM_MUTANT, none without it.
 */
#include <stdlib.h>

#include "models/sim/sim.h"

unsigned upmu_sim_mutant = UPMU_SIM_RULE_COUNT;

__attribute__((constructor)) static void choose_mutant(void)
{
    const char *asked = getenv("UPMU_SIM_MUTANT");

    if (asked)
        upmu_sim_mutant = (unsigned)strtoul(asked, NULL, 10);
}
