/* SPDX-License-Identifier: MIT */
/*
 * What tests that compare a guest with the model of a CPU share: shapes of CPUs, hosts, and what executes.
 */
#ifndef UPMU_TESTS_GUEST_SHAPES_H
#define UPMU_TESTS_GUEST_SHAPES_H

#include "core/util/bits.h"
#include "tests/guest/nest.h"

static const struct shape {
    const char *model; /* of the CPU that has this shape */
    struct upmu_guest_shape shape;
} shapes[] = {
    {"version1", {.door = UPMU_GUEST_INTEL, .version = 1, .general = 2, .width = 40, .arch_events = 0x63}},
    {"core2", {.door = UPMU_GUEST_INTEL, .version = 2, .general = 2, .fixed = 3, .width = 40, .arch_events = 0x63}},
    {"hypervisor_v2_nofixed", {.door = UPMU_GUEST_INTEL, .version = 2, .general = 8, .width = 48, .arch_events = 0x63}},
    {"skylake",
     {.door = UPMU_GUEST_INTEL,
      .version = 4,
      .general = 4,
      .fixed = 3,
      .width = 48,
      .full_write = 1,
      .arch_events = 0x63}},
    {"skylake_nofw",
     {.door = UPMU_GUEST_INTEL, .version = 4, .general = 4, .fixed = 3, .width = 48, .arch_events = 0x63}},
    {"skylake_smtoff",
     {.door = UPMU_GUEST_INTEL,
      .version = 4,
      .general = 8,
      .fixed = 3,
      .width = 48,
      .full_write = 1,
      .arch_events = 0x63}},
    {"barcelona", {.door = UPMU_GUEST_AMD_K7, .general = 4, .width = 48}},
    {"zen2", {.door = UPMU_GUEST_AMD_CORE, .general = 6, .width = 48}},
    {"zen4", {.door = UPMU_GUEST_AMD_V2, .general = 6, .width = 48}},
};
#define SHAPES (sizeof shapes / sizeof shapes[0])

static const char *const shape_hosts[] = {"core2",   "skylake", "skylake_smtoff", "icelake",
                                          "k8_revf", "zen2",    "zen4",           "yonah"};
#define SHAPE_HOSTS (sizeof shape_hosts / sizeof shape_hosts[0])

/* Is there a counter of the host for each of the guest's? */
static inline bool shape_has_room(const struct upmu_guest_shape *shape, const struct upmu_pmu *pmu)
{
    return upmu_bits_count(pmu->general) >= shape->general && (!shape->fixed || (pmu->counters >> 16 & 7u) == 7u);
}

/* The model of that CPU.  (A virtual fixed counter 2 does not set its status again once after re-arming.) */
static inline void shape_model(struct upmu_sim *model, const struct shape *of)
{
    upmu_sim_init(model, upmu_sim_profile(of->model), 1);
    model->cpu[0].irqs_on = false;
    model->rule[UPMU_SIM_RULE_HAZARD_FIXED2] = 0;
}

static inline struct upmu_sim_burst shape_burst(unsigned instructions, bool user)
{
    return (struct upmu_sim_burst){.instructions = instructions,
                                   .cycles = 2u * instructions,
                                   .ref_cycles = instructions + instructions / 2,
                                   .branches = instructions / 5,
                                   .mispredicts = instructions / 9,
                                   .user = user};
}

/* The host works in between, which no counter of the guest sees. */
static inline void shape_host_works(struct nest *nest)
{
    nest_run_host(nest, &(struct upmu_sim_burst){.instructions = 100, .cycles = 300, .branches = 30});
}

#endif
