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

/* A cascade counts branches after every 600 instructions' start, beside a sampling session. */
static void cascades(struct rig *rig)
{
    rig_cpu_init(rig, 0);
    rig_p4_event(rig, 0, "branch_retired,cascade=instr_retired.nbogusntag", RIG_BRANCHES, false, 600);
    rig_session(rig, 1, "cycles", 1);
    rig_attach(rig, 0, 0);
    rig_attach(rig, 1, 0);
    rig_start(rig, 1);
    rig_start(rig, 0);
    rig_run(rig, 500);
    rig_read(rig, 0);
    rig_run(rig, 900);
    rig_read(rig, 0);
    rig_poll(rig, 0);
    rig_run(rig, 700);
    rig_stop(rig, 0);
    rig_run(rig, 700);
    rig_start(rig, 0);
    rig_run(rig, 1100);
    rig_stop(rig, 1);
    rig_run(rig, 300);
    rig_stop(rig, 0);
    rig_end(rig);
}

/* Uops tagged in execution are sampled, those tagged by replay are counted. */
static void tags(struct rig *rig)
{
    rig_cpu_init(rig, 0);
    rig_p4_event(rig, 0, "packed_SP_retired", RIG_TAGGED, true, 0);
    rig_p4_event(rig, 1, "1stL_cache_load_miss_retired", RIG_REPLAYED, false, 0);
    rig_attach(rig, 0, 0);
    rig_attach(rig, 1, 0);
    rig_start(rig, 0);
    rig_run(rig, 700);
    rig_start(rig, 1);
    rig_run(rig, 1300);
    rig_read(rig, 0);
    rig_read(rig, 1);
    rig_stop(rig, 0);
    rig_run(rig, 500);
    rig_start(rig, 0);
    rig_run(rig, 600);
    rig_stop(rig, 1);
    rig_run(rig, 900);
    rig_stop(rig, 0);
    rig_end(rig);
}

/* Two threads, each with tags of its own kind; both sample. */
static void tags_of_two_threads(struct rig *rig)
{
    rig->apart = true;
    rig_cpu_init(rig, 0);
    rig_cpu_init(rig, 1);
    rig_p4_event(rig, 0, "packed_SP_retired", RIG_TAGGED, true, 0);
    rig_p4_event(rig, 1, "1stL_cache_load_miss_retired", RIG_REPLAYED, true, 0);
    rig_attach(rig, 0, 0);
    rig_start(rig, 0);
    upmu_sim_switch_cpu(&rig->sim, 1);
    rig_attach(rig, 1, 1);
    rig_start(rig, 1);
    for (unsigned i = 0; i < 3; i++) {
        upmu_sim_switch_cpu(&rig->sim, 0);
        rig_run(rig, 700);
        upmu_sim_switch_cpu(&rig->sim, 1);
        rig_run(rig, 900);
    }
    rig_read(rig, 1);
    upmu_sim_switch_cpu(&rig->sim, 0);
    rig_stop(rig, 0);
    upmu_sim_switch_cpu(&rig->sim, 1);
    rig_run(rig, 800);
    rig_detach(rig, 1);
    upmu_sim_switch_cpu(&rig->sim, 0);
    rig_start(rig, 0);
    rig_run(rig, 800);
    rig_stop(rig, 0);
    rig_end(rig);
}

/* A cascade of the second thread, while the first one samples. */
static void a_cascade_beside_a_thread(struct rig *rig)
{
    rig->apart = true;
    rig_cpu_init(rig, 0);
    rig_cpu_init(rig, 1);
    rig_session(rig, 0, "instructions,branches", 1);
    rig_p4_event(rig, 1, "branch_retired,cascade=uops_retired.nbogus", RIG_BRANCHES, false, 600);
    rig_attach(rig, 0, 0);
    rig_start(rig, 0);
    upmu_sim_switch_cpu(&rig->sim, 1);
    rig_attach(rig, 1, 1);
    rig_start(rig, 1);
    for (unsigned i = 0; i < 3; i++) {
        upmu_sim_switch_cpu(&rig->sim, i & 1u);
        rig_run(rig, 900);
    }
    upmu_sim_switch_cpu(&rig->sim, 1);
    rig_run(rig, 900);
    rig_read(rig, 1);
    rig_stop(rig, 1);
    rig_run(rig, 300);
    rig_start(rig, 1);
    rig_run(rig, 900);
    upmu_sim_switch_cpu(&rig->sim, 0);
    rig_run(rig, 400);
    rig_stop(rig, 0);
    upmu_sim_switch_cpu(&rig->sim, 1);
    rig_stop(rig, 1);
    upmu_sim_switch_cpu(&rig->sim, 0);
    rig_end(rig);
}

/* Counter 0 is the firmware's; both threads leave it alone. */
static void two_threads_leave_the_firmware_alone(struct rig *rig)
{
    rig->apart = true;
    upmu_sim_firmware(&rig->sim, 0);
    upmu_sim_set_delivery(&rig->sim, 0, rig->order.variant->vector ? 0x40 : UPMU_SIM_LVTPC_NMI);
    rig_account(rig);
    rig->not_ours[0] = rig->not_ours[1] = 1u;
    rig_cpu_init(rig, 0);
    rig_cpu_init(rig, 1);
    if (!rig->cpu[0].meter.pmu || !rig->cpu[1].meter.pmu)
        return;
    RIG_CHECK(rig, rig->cpu[0].meter.firmware == 1 && rig->cpu[1].meter.firmware == 1,
              "counters %x, %x of the firmware", (unsigned)rig->cpu[0].meter.firmware,
              (unsigned)rig->cpu[1].meter.firmware);
    rig_session(rig, 0, "instructions,cycles", 1);
    rig_session(rig, 1, "branches,instructions", 1);
    rig_attach(rig, 0, 0);
    rig_start(rig, 0);
    upmu_sim_switch_cpu(&rig->sim, 1);
    rig_attach(rig, 1, 1);
    rig_start(rig, 1);
    rig_run(rig, 1300);
    upmu_sim_switch_cpu(&rig->sim, 0);
    rig_run(rig, 1300);
    rig_stop(rig, 0);
    upmu_sim_switch_cpu(&rig->sim, 1);
    rig_stop(rig, 1);
    upmu_sim_switch_cpu(&rig->sim, 0);
    RIG_CHECK(rig, upmu_sim_runs(&rig->sim, 0, 0) || rig->fault_hit, "the firmware's counter was stopped");
    rig_end(rig);
}

/* Both threads go to sleep with their sessions running; what the core held is gone. */
static void two_threads_sleep(struct rig *rig)
{
    rig->apart = true;
    rig_cpu_init(rig, 0);
    rig_cpu_init(rig, 1);
    rig_session(rig, 0, "instructions,cycles", 1);
    rig_session(rig, 1, "instructions,branches", 0);
    rig_attach(rig, 0, 0);
    rig_start(rig, 0);
    upmu_sim_switch_cpu(&rig->sim, 1);
    rig_attach(rig, 1, 1);
    rig_start(rig, 1);
    rig_run(rig, 900);
    upmu_sim_switch_cpu(&rig->sim, 0);
    rig_run(rig, 1300);
    rig_suspend(rig, 1);
    rig_run(rig, 300);
    rig_suspend(rig, 0);
    rig_run(rig, 500);
    for (unsigned cpu = 0; cpu < 2; cpu++) {
        upmu_sim_reset_cpu(&rig->sim, cpu);
        upmu_sim_set_delivery(&rig->sim, cpu, rig->order.variant->vector ? 0x40 : UPMU_SIM_LVTPC_NMI);
    }
    rig_resume(rig, 0);
    rig_run(rig, 700);
    rig_resume(rig, 1);
    upmu_sim_switch_cpu(&rig->sim, 1);
    rig_run(rig, 1100);
    rig_read(rig, 1);
    rig_stop(rig, 1);
    upmu_sim_switch_cpu(&rig->sim, 0);
    rig_run(rig, 700);
    rig_stop(rig, 0);
    rig_end(rig);
}

/* One thread's registers may have changed behind its back; the other thread samples on. */
static void one_thread_is_told_of_a_change(struct rig *rig)
{
    rig->apart = true;
    rig->others_concerned = true;
    rig_cpu_init(rig, 0);
    rig_cpu_init(rig, 1);
    rig_session(rig, 0, "instructions,cycles", 1);
    rig_session(rig, 1, "instructions,branches", 1);
    rig_attach(rig, 0, 0);
    rig_start(rig, 0);
    upmu_sim_switch_cpu(&rig->sim, 1);
    rig_attach(rig, 1, 1);
    rig_start(rig, 1);
    rig_run(rig, 1300);
    upmu_sim_switch_cpu(&rig->sim, 0);
    rig_run(rig, 1300);
    rig_changed(rig, 0);
    rig_run(rig, 1300);
    upmu_sim_switch_cpu(&rig->sim, 1);
    rig_run(rig, 900);
    rig_read(rig, 1);
    rig_stop(rig, 1);
    upmu_sim_switch_cpu(&rig->sim, 0);
    rig_stop(rig, 0);
    rig_end(rig);
}

/* The first thread leaves with its session running; the second one goes on. */
static void one_thread_leaves(struct rig *rig)
{
    rig->apart = true;
    rig_cpu_init(rig, 0);
    rig_cpu_init(rig, 1);
    rig_session(rig, 0, "instructions,cycles", 1);
    rig_session(rig, 1, "instructions,branches", 3);
    rig_attach(rig, 0, 0);
    rig_start(rig, 0);
    upmu_sim_switch_cpu(&rig->sim, 1);
    rig_attach(rig, 1, 1);
    rig_start(rig, 1);
    rig_run(rig, 1300);
    upmu_sim_switch_cpu(&rig->sim, 0);
    rig_run(rig, 700);
    rig_cpu_fini(rig, 0);
    rig_run(rig, 700);
    upmu_sim_switch_cpu(&rig->sim, 1);
    rig_run(rig, 900);
    rig_read(rig, 1);
    upmu_sim_switch_cpu(&rig->sim, 0);
    rig_cpu_init(rig, 0);
    rig_attach(rig, 0, 0);
    rig_start(rig, 0);
    rig_run(rig, 1300);
    upmu_sim_switch_cpu(&rig->sim, 1);
    rig_run(rig, 300);
    rig_stop(rig, 1);
    upmu_sim_switch_cpu(&rig->sim, 0);
    rig_stop(rig, 0);
    rig_end(rig);
}

const struct scenario p4_scenarios[] = {
    {"two_threads", two_threads, 2, true, true},
    {"a_sibling_comes_and_goes", a_sibling_comes_and_goes, 2, true, true},
    {"cascades", cascades, 2, true, false},
    {"tags", tags, 2, true, false},
    {"tags_of_two_threads", tags_of_two_threads, 2, true, true},
    {"a_cascade_beside_a_thread", a_cascade_beside_a_thread, 2, true, true},
    {"two_threads_leave_the_firmware_alone", two_threads_leave_the_firmware_alone, 2, true, true},
    {"two_threads_sleep", two_threads_sleep, 2, true, true},
    {"one_thread_is_told_of_a_change", one_thread_is_told_of_a_change, 2, true, true},
    {"one_thread_leaves", one_thread_leaves, 2, true, true},
};

const unsigned p4_scenario_count = sizeof p4_scenarios / sizeof p4_scenarios[0];
