/* SPDX-License-Identifier: MIT */
/*
 * A host on the silicon model of a Pentium 4, for the tests of what runs there and of what
 * it costs: two CPUs, which may be threads of one core, sessions and their rings.
 */
#ifndef TESTS_UNIT_ENGINE_P4_HOST_H
#define TESTS_UNIT_ENGINE_P4_HOST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "port/sim/sim.h"
#include <upmu/upmu.h>

#define SESSIONS 4

/* Writes, MSR reads, RDPMCs, re-arms. */
struct cost {
    unsigned writes, reads, rdpmcs, rearms;
};

static struct fixture {
    struct upmu_sim sim;
    struct upmu_machine machine;
    struct upmu_domain domain[2];
    struct upmu_domain *domains[2][2];
    struct upmu_cpu cpu[UPMU_SIM_CPUS];
    struct upmu_session session[SESSIONS];
    uint64_t ring[SESSIONS][512];
    unsigned answers[3]; /* by enum upmu_pmi */
    struct cost interrupt;
} f;

static const char *const all[] = {"willamette", "northwood",  "northwood_smtoff", "prescott",        "prescott_smtoff",
                                  "nocona",     "smithfield", "cedarmill",        "cedarmill_smtoff"};
static const char *const threaded[] = {"northwood", "prescott", "nocona", "cedarmill"};
#define ALL (sizeof all / sizeof all[0])
#define THREADED (sizeof threaded / sizeof threaded[0])

static inline void deliver(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_interrupt *interrupt)
{
    struct upmu_frame frame = {.ip = interrupt->ip, .sp = interrupt->sp, .user = interrupt->user};
    struct upmu_accesses before = f.cpu[cpu].meter.bank.handler_accesses, after;

    (void)sim;
    f.answers[upmu_handle_pmi(&f.cpu[cpu], &frame)]++;
    after = f.cpu[cpu].meter.bank.handler_accesses;
    f.interrupt = (struct cost){after.writes - before.writes, after.reads - before.reads, after.rdpmcs - before.rdpmcs,
                                after.rearms - before.rearms};
}

static inline void prepare(const char *profile, unsigned cpus)
{
    memset(&f, 0, sizeof f);
    upmu_sim_init(&f.sim, upmu_sim_profile(profile), cpus);
    f.sim.deliver = deliver;
    for (unsigned i = 0; i < 2; i++) {
        upmu_domain_init(&f.domain[i], UPMU_SCOPE_CORE);
        f.domains[i][0] = f.sim.profile->flags & UPMU_SIM_SMT ? &f.domain[i] : NULL;
    }
    assert_int_equal(upmu_machine_init(&f.machine, upmu_sim_port(&f.sim)), UPMU_OK);
    for (unsigned i = 0; i < SESSIONS; i++)
        assert_int_equal(upmu_session_init(&f.session[i], &f.machine), UPMU_OK);
}

static inline void take_over(unsigned cpu)
{
    upmu_sim_switch_cpu(&f.sim, cpu);
    upmu_sim_bind_cpu(&f.sim, cpu, &f.cpu[cpu]);
    assert_int_equal(upmu_cpu_init(&f.cpu[cpu], &f.machine, f.domains[cpu >> 1]), UPMU_OK);
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
    for (unsigned i = 0; i < f.sim.cpus; i++) {
        upmu_sim_switch_cpu(&f.sim, i);
        if (f.cpu[i].meter.live)
            assert_int_equal(upmu_cpu_fini(&f.cpu[i]), UPMU_OK);
    }
    for (unsigned n = 0; n < UPMU_SIM_P4_COUNTERS; n++) {
        assert_false(upmu_sim_runs(&f.sim, 0, n));
        assert_true(upmu_sim_peek(&f.sim, 0, 0x360 + n) == 0);
    }
    if (f.sim.violation_count)
        fail_msg("%s: %s (register %x)", f.sim.profile->name, f.sim.first_violation.text,
                 (unsigned)f.sim.first_violation.address);
}

static inline void add(unsigned i, const char *list, uint64_t period)
{
    struct upmu_sampling sampling = {.period = period};

    assert_int_equal(upmu_session_add(&f.session[i], list, period ? &sampling : NULL), UPMU_OK);
    if (period)
        assert_int_equal(upmu_session_ring(&f.session[i], f.ring[i], sizeof f.ring[i]), UPMU_OK);
}

static inline void attach(unsigned i, unsigned cpu)
{
    upmu_sim_switch_cpu(&f.sim, cpu);
    assert_int_equal(upmu_session_attach_cpu(&f.session[i], &f.cpu[cpu]), UPMU_OK);
}

static inline void start(unsigned i)
{
    assert_int_equal(upmu_session_start(&f.session[i]), UPMU_OK);
}

static inline void stop(unsigned i)
{
    assert_int_equal(upmu_session_stop(&f.session[i]), UPMU_OK);
}

static inline void launch(unsigned i, unsigned cpu, const char *list, uint64_t period)
{
    add(i, list, period);
    attach(i, cpu);
    start(i);
}

static inline uint64_t value(unsigned i, unsigned event)
{
    struct upmu_count count;

    assert_int_equal(upmu_session_read(&f.session[i], event, 1, &count), UPMU_OK);
    return count.value;
}

static inline unsigned samples(unsigned i)
{
    struct upmu_sample sample;
    unsigned count = 0;

    while (upmu_ring_next(&f.session[i].ring, &sample)) {
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

/* ---- Detection ---- */

#endif
