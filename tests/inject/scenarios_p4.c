/* SPDX-License-Identifier: MIT */
/*
 * What a host does with the counters of a Pentium 4: two hyper-threads that share
 * them, cascades, tags.
 */
#include "tests/inject/rig.h"

/* Both threads count and sample at the same time; each gets its own events. */
static void two_threads(struct rig *rig)
{
    rig->apart = true;
    rig_cpu_init(rig, 0);
    rig_cpu_init(rig, 1);
    rig_session(rig, 0, "instructions,cycles", 1);
    rig_session(rig, 1, "instructions,branches", 3);
    rig_attach(rig, 0, 0);
    upmu_sim_switch_cpu(&rig->sim, 1);
    rig_attach(rig, 1, 1);
    rig_start(rig, 1);
    upmu_sim_switch_cpu(&rig->sim, 0);
    rig_start(rig, 0);
    for (unsigned i = 0; i < 3; i++) {
        upmu_sim_switch_cpu(&rig->sim, 0);
        rig_run(rig, 700);
        upmu_sim_switch_cpu(&rig->sim, 1);
        rig_run(rig, 900);
    }
    rig_read(rig, 1);
    rig_stop(rig, 1);
    upmu_sim_switch_cpu(&rig->sim, 0);
    rig_run(rig, 700);
    rig_read(rig, 0);
    upmu_sim_switch_cpu(&rig->sim, 1);
    rig_start(rig, 1);
    rig_run(rig, 800);
    upmu_sim_switch_cpu(&rig->sim, 0);
    rig_stop(rig, 0);
    upmu_sim_switch_cpu(&rig->sim, 1);
    rig_run(rig, 800);
    rig_stop(rig, 1);
    upmu_sim_switch_cpu(&rig->sim, 0);
    rig_end(rig);
}

/* The second thread is taken over, and given back, while the first one samples. */
static void a_sibling_comes_and_goes(struct rig *rig)
{
    rig->apart = true;
    rig_cpu_init(rig, 0);
    rig_session(rig, 0, "instructions,cycles", 1);
    rig_session(rig, 1, "branches", 1);
    rig_attach(rig, 0, 0);
    rig_start(rig, 0);
    rig_run(rig, 1300);
    rig_cpu_init(rig, 1);
    rig_run(rig, 300);
    upmu_sim_switch_cpu(&rig->sim, 1);
    rig_attach(rig, 1, 1);
    rig_start(rig, 1);
    rig_run(rig, 1300);
    rig_detach(rig, 1);
    rig_cpu_fini(rig, 1);
    upmu_sim_switch_cpu(&rig->sim, 0);
    rig_run(rig, 1300);
    rig_read(rig, 0);
    rig_stop(rig, 0);
    rig_end(rig);
}

const struct scenario p4_scenarios[] = {
    {"two_threads", two_threads, 2, true, true},
    {"a_sibling_comes_and_goes", a_sibling_comes_and_goes, 2, true, true},
};

const unsigned p4_scenario_count = sizeof p4_scenarios / sizeof p4_scenarios[0];
