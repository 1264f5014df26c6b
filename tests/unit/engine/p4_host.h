/* SPDX-License-Identifier: MIT */
/*
 * A host on the silicon model of a Pentium 4, for the tests of what runs there and of what
 * it costs: two CPUs, which may be threads of one core, sessions and their rings.
 */
#ifndef TESTS_UNIT_ENGINE_P4_HOST_H
#define TESTS_UNIT_ENGINE_P4_HOST_H

#include "tests/common/host.h"

static struct host f;

static const char *const all[] = {"willamette", "northwood",  "northwood_smtoff", "prescott",        "prescott_smtoff",
                                  "nocona",     "smithfield", "cedarmill",        "cedarmill_smtoff"};
static const char *const threaded[] = {"northwood", "prescott", "nocona", "cedarmill"};
#define ALL (sizeof all / sizeof all[0])
#define THREADED (sizeof threaded / sizeof threaded[0])

static inline void prepare(const char *profile, unsigned cpus)
{
    host_prepare_cpus(&f, profile, cpus);
    host_machine(&f);
}

/* Threads of one core where this CPU has threads. */
static inline void take_over(unsigned cpu)
{
    host_take_over_one(&f, cpu, f.sim.profile->flags & UPMU_SIM_SMT);
}

static inline void set_up(const char *profile)
{
    prepare(profile, 2);
    take_over(0);
    take_over(1);
    upmu_sim_switch_cpu(&f.sim, 0);
}

static inline void tear_down(void)
{
    host_end_idle(&f);
    for (unsigned n = 0; n < UPMU_SIM_P4_COUNTERS; n++)
        assert_int_equal(upmu_sim_peek(&f.sim, 0, 0x360 + n), 0, n);
}

static inline void add(unsigned i, const char *list, uint64_t period)
{
    host_add(&f, i, list, period);
}

static inline void attach(unsigned i, unsigned cpu)
{
    host_attach(&f, i, cpu);
}

static inline void start(unsigned i)
{
    assert_int_equal(upmu_session_start(&f.sessions[i]), UPMU_OK, i);
}

static inline void stop(unsigned i)
{
    assert_int_equal(upmu_session_stop(&f.sessions[i]), UPMU_OK, i);
}

static inline void launch(unsigned i, unsigned cpu, const char *list, uint64_t period)
{
    add(i, list, period);
    attach(i, cpu);
    start(i);
}

static inline uint64_t value(unsigned i, unsigned event)
{
    return host_count(&f.sessions[i], event).value;
}

static inline unsigned samples(unsigned i)
{
    struct upmu_sample sample;
    unsigned count = 0;

    while (upmu_ring_next(&f.sessions[i].ring, &sample)) {
        count++;
        assert_int_equal(sample.lost, 0);
    }
    return count;
}

static inline void run(unsigned cpu, uint64_t instructions)
{
    upmu_sim_switch_cpu(&f.sim, cpu);
    upmu_sim_events(&f.sim, &(struct upmu_sim_burst){.instructions = instructions,
                                                     .cycles = 2 * instructions,
                                                     .uops = instructions + instructions / 2,
                                                     .branches = instructions / 5,
                                                     .mispredicts = instructions / 50,
                                                     .loads = instructions / 4,
                                                     .stores = instructions / 8,
                                                     .llc_references = instructions / 10,
                                                     .llc_misses = instructions / 100,
                                                     .ip = 0x1000,
                                                     .ip_step = 1});
}

static inline void happen(unsigned cpu, uint16_t escr, uint8_t event, uint16_t mask, uint64_t count)
{
    upmu_sim_switch_cpu(&f.sim, cpu);
    upmu_sim_events(&f.sim,
                    &(struct upmu_sim_burst){.cycles = count,
                                             .other = {{.count = count, .escr = escr, .event = event, .mask = mask}}});
}

#endif
