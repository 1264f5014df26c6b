/* SPDX-License-Identifier: MIT */
/*
 * Sessions, regions and the life of a CPU on the silicon model.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "port/sim/sim.h"
#include <upmu/upmu.h>


struct fixture {
    struct upmu_sim sim;
    struct upmu_machine machine;
    struct upmu_cpu cpu[2];
    struct upmu_session session;
    struct upmu_session other;
    uint64_t ring[512];
};

static void deliver(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_interrupt *interrupt)
{
    struct fixture *f = sim->test;
    struct upmu_frame frame = {.ip = interrupt->ip, .sp = interrupt->sp, .user = interrupt->user};

    (void)upmu_handle_pmi(&f->cpu[cpu], &frame);
}

static void set_up(struct fixture *f, const char *profile)
{
    memset(f, 0, sizeof *f);
    upmu_sim_init(&f->sim, upmu_sim_profile(profile), 2);
    f->sim.test = f;
    f->sim.deliver = deliver;
    upmu_sim_bind_cpu(&f->sim, 0, &f->cpu[0]);
    upmu_sim_bind_cpu(&f->sim, 1, &f->cpu[1]);
    assert_int_equal(upmu_machine_init(&f->machine, upmu_sim_port(&f->sim)), UPMU_OK);
    assert_int_equal(upmu_cpu_init(&f->cpu[0], &f->machine, NULL), UPMU_OK);
    assert_int_equal(upmu_session_init(&f->session, &f->machine), UPMU_OK);
    assert_int_equal(upmu_session_init(&f->other, &f->machine), UPMU_OK);
}

static void run(struct fixture *f, uint64_t instructions)
{
    upmu_sim_events(&f->sim, &(struct upmu_sim_burst){ .instructions = instructions,
                                                       .cycles = 2 * instructions,
                                                       .branches = instructions / 5,
                                                       .mispredicts = instructions / 50,
                                                       .ip = 0x1000,
                                                       .ip_step = 1 });
}

static void no_violation(const struct fixture *f)
{
    if (f->sim.violation_count)
        fail_msg("%s (register %x)", f->sim.first_violation.text, (unsigned)f->sim.first_violation.address);
}

static uint64_t value(struct upmu_session *session, unsigned i)
{
    struct upmu_count count;

    assert_int_equal(upmu_session_read(session, i, 1, &count), UPMU_OK);
    return count.value;
}

static void a_session_counts_between_start_and_stop(void **state)
{
    static const char *const profiles[] = { "skl", "core", "nhm", "icl", "version1", "skylake_nofw" };

    (void)state;
    for (unsigned p = 0; p < sizeof profiles / sizeof profiles[0]; p++) {
        struct fixture f;

        set_up(&f, profiles[p]);
        assert_int_equal(upmu_session_add(&f.session, "instructions,cycles", NULL), UPMU_OK);
        assert_int_equal(upmu_session_attach_cpu(&f.session, &f.cpu[0]), UPMU_OK);
        run(&f, 100);
        assert_int_equal(upmu_session_start(&f.session), UPMU_OK);
        run(&f, 1000);
        assert_int_equal(value(&f.session, 0), 1000);
        assert_int_equal(value(&f.session, 1), 2000);
        assert_int_equal(upmu_session_stop(&f.session), UPMU_OK);
        run(&f, 100);
        assert_int_equal(value(&f.session, 0), 1000);
        assert_int_equal(upmu_session_start(&f.session), UPMU_OK);
        run(&f, 500);
        assert_int_equal(upmu_session_detach(&f.session), UPMU_OK);
        assert_int_equal(value(&f.session, 0), 1500);
        assert_int_equal(value(&f.session, 1), 3000);
        assert_int_equal(upmu_cpu_fini(&f.cpu[0]), UPMU_OK);
        no_violation(&f);
    }
}

static void sampling_gives_one_sample_a_period(void **state)
{
    static const char *const profiles[] = { "skl", "core", "nhm", "icl", "version1", "skylake_nofw" };

    (void)state;
    for (unsigned p = 0; p < sizeof profiles / sizeof profiles[0]; p++) {
        struct upmu_sampling sampling = { .period = 100 };
        struct upmu_sample sample;
        struct fixture f;
        unsigned samples = 0;

        set_up(&f, profiles[p]);
        assert_int_equal(upmu_session_add(&f.session, "instructions", &sampling), UPMU_OK);
        assert_int_equal(upmu_session_ring(&f.session, f.ring, sizeof f.ring), UPMU_OK);
        assert_int_equal(upmu_session_attach_cpu(&f.session, &f.cpu[0]), UPMU_OK);
        assert_int_equal(upmu_session_start(&f.session), UPMU_OK);
        for (unsigned round = 0; round < 20; round++) {
            run(&f, 150);
            while (upmu_ring_next(&f.session.ring, &sample)) {
                assert_int_equal(sample.events, 1);
                assert_int_equal(sample.flags, 0);
                samples++;
            }
        }
        assert_int_equal(samples, 30);
        assert_int_equal(value(&f.session, 0), 3000);
        assert_int_equal(upmu_session_detach(&f.session), UPMU_OK);
        assert_int_equal(upmu_cpu_fini(&f.cpu[0]), UPMU_OK);
        no_violation(&f);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_counts_between_start_and_stop),
        cmocka_unit_test(sampling_gives_one_sample_a_period),
    };

    return cmocka_run_group_tests_name("session", tests, NULL, NULL);
}
