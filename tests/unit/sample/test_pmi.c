/* SPDX-License-Identifier: MIT */
/*
 * The overflow interrupt: what is a sample, whose interrupt it was, what happens
 * to too many of them.
 */
#include <upmu/session.h>
#include <upmu/set.h>
#include "tests/common/host.h"
#include "tests/common/state.h"

#define EACH(profile) for (const char *const *profile = every_profile; *profile; profile++)

static const char *const every_profile[] = {"core2",
                                            "merom_early",
                                            "version1",
                                            "nehalem",
                                            "skylake",
                                            "skylake_nofw",
                                            "skylake_smtoff",
                                            "icelake",
                                            "hypervisor_v2_nofixed",
                                            "k8_revf",
                                            "zen2",
                                            "zen4",
                                            NULL};

/* ---- Samples ---- */

static void a_sample_says_where_when_and_on_which_cpu(void **state)
{
    (void)state;
    EACH(profile)
    {
        struct upmu_sample sample;
        struct host host;

        host_set_up(&host, *profile);
        host_sample(&host, "instructions", 100);
        host_run(&host, 99);
        assert_int_equal(host_drain(&host, NULL), 0);
        host_run(&host, 1);
        assert_int_equal(host_drain(&host, &sample), 1);
        assert_int_equal(sample.events, 1);
        assert_int_equal(sample.flags, 0);
        assert_int_equal(sample.lost, 0);
        assert_int_equal(sample.cpu, 0);
        assert_int_equal(sample.ip, 0x1001);
        assert_int_equal(sample.sp, 0x8000);
        assert_int_equal(sample.time_ns, host.sim.now_ns);
        host_end(&host);
    }
}

static void a_sample_of_user_code_says_so(void **state)
{
    struct upmu_sample sample;
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    host_sample(&host, "instructions", 100);
    upmu_sim_events(&host.sim, &(struct upmu_sim_burst){.instructions = 100, .cycles = 100, .user = true, .ip = 7});
    assert_int_equal(host_drain(&host, &sample), 1);
    assert_int_equal(sample.flags, UPMU_SAMPLE_USER);
    host_end(&host);
}

static void counters_that_overflow_together_give_one_sample_of_two_bits(void **state)
{
    (void)state;
    EACH(profile)
    {
        struct upmu_sampling sampling = {.period = 200};
        struct upmu_sample sample;
        struct host host;

        host_set_up(&host, *profile);
        assert_int_equal(upmu_set_add(&host.session.set, "cycles", &sampling), UPMU_OK);
        sampling.period = 100;
        assert_int_equal(upmu_set_add(&host.session.set, "instructions", &sampling), UPMU_OK);
        assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
        host_begin(&host, &host.session);
        host_run(&host, 100);
        assert_int_equal(host_drain(&host, &sample), 1);
        assert_int_equal(sample.events, 3);
        host_run(&host, 450);
        assert_int_equal(host_drain(&host, &sample), 4);
        assert_int_equal(sample.events, 3);
        host_end(&host);
    }
}

static void sessions_that_overflow_together_get_a_sample_each(void **state)
{
    struct upmu_sampling sampling = {.period = 200};
    uint64_t ring[64];
    struct upmu_sample sample;
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_set_add(&host.other.set, "cycles", &sampling), UPMU_OK);
    assert_int_equal(upmu_session_ring(&host.other, ring, sizeof ring), UPMU_OK);
    host_begin(&host, &host.other);
    host_sample(&host, "instructions", 100);
    host_run(&host, 100);
    assert_int_equal(host_drain(&host, &sample), 1);
    assert_int_equal(sample.events, 1);
    assert_true(upmu_ring_next(&host.other.ring, &sample));
    assert_int_equal(sample.events, 1);
    assert_false(upmu_ring_next(&host.other.ring, &sample));
    host_end(&host);
}

/* A counter that cannot be loaded with a whole period wraps on the way. */
static void a_wrap_of_the_hardware_is_no_sample(void **state)
{
    static const char *const short_writes[] = {"skylake_nofw", "nehalem", "core2", "version1"};

    (void)state;
    for (unsigned i = 0; i < sizeof short_writes / sizeof short_writes[0]; i++) {
        struct host host;

        host_set_up(&host, short_writes[i]);
        host_sample(&host, "branches", UINT64_C(5000000000));
        host_run(&host, UINT64_C(9999999998));
        assert_int_equal(host_drain(&host, NULL), 0);
        assert_compare(host.answers, >, 0);
        assert_int_equal(host_value(&host.session, 0), UINT64_C(4999999999));
        host_run(&host, 200);
        assert_int_equal(host_drain(&host, NULL), 1);
        host_run(&host, UINT64_C(10000000000));
        assert_int_equal(host_drain(&host, NULL), 1);
        assert_int_equal(host_value(&host.session, 0), UINT64_C(10000000099));
        host_end(&host);
    }
}

static void a_wrap_of_a_counter_that_only_counts_is_no_sample_or_loss(void **state)
{
    struct host host;

    (void)state;
    host_prepare(&host, "skylake");
    for (unsigned i = 0; i < 4; i++)
        upmu_sim_poke(&host.sim, 0, 0xc1 + i, (UINT64_C(1) << 48) - 500);
    host_start(&host);
    assert_int_equal(upmu_set_add(&host.session.set, "branches", NULL), UPMU_OK);
    assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
    host_begin(&host, &host.session);
    host_run(&host, 2000);
    assert_int_equal(host.answers, 1);
    assert_int_equal(host.answer[0], UPMU_PMI_HANDLED);
    assert_int_equal(host_drain(&host, NULL), 0);
    assert_int_equal(host_value(&host.session, 0), 1000);
    host_end(&host);
}

static void an_interrupt_without_a_frame_gives_a_sample_that_says_so(void **state)
{
    struct upmu_sample sample;
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    host.no_frame = true;
    host_sample(&host, "instructions", 100);
    host_run(&host, 100);
    assert_int_equal(host_drain(&host, &sample), 1);
    assert_int_equal(sample.flags, UPMU_SAMPLE_NO_FRAME);
    assert_int_equal(sample.ip, 0);
    assert_int_equal(sample.sp, 0);
    host_end(&host);
}

static void an_overflow_found_by_a_stop_gives_its_sample(void **state)
{
    struct upmu_sample sample;
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    host.sim.skid = 1000;
    host_sample(&host, "instructions", 100);
    host_run(&host, 120);
    assert_int_equal(host_drain(&host, NULL), 0);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    assert_int_equal(host.answers, 0);
    assert_int_equal(host_drain(&host, &sample), 1);
    assert_int_equal(sample.flags, UPMU_SAMPLE_NO_FRAME);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    host_run(&host, 79);
    assert_int_equal(host_drain(&host, NULL), 0);
    assert_int_equal(host_value(&host.session, 0), 199);
    host_end(&host);
}

static void samples_arrive_on_a_vector_as_well(void **state)
{
    (void)state;
    EACH(profile)
    {
        struct host host;

        host_prepare(&host, *profile);
        upmu_sim_set_delivery(&host.sim, 0, 0x40);
        host_start(&host);
        host_sample(&host, "instructions", 100);
        host_run(&host, 1000);
        assert_int_equal(host_drain(&host, NULL), 10);
        host_end(&host);
    }
}

/* ---- Rings ---- */

static void samples_without_room_are_counted_and_told_in_the_stream(void **state)
{
    struct upmu_sampling sampling = {.period = 100};
    struct upmu_sample sample;
    struct host host;
    unsigned first = 0;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_set_add(&host.session.set, "instructions", &sampling), UPMU_OK);
    assert_int_equal(upmu_session_ring(&host.session, host.ring, 256), UPMU_OK);
    host_begin(&host, &host.session);
    host_run(&host, 2000);
    while (upmu_ring_next(&host.session.ring, &sample)) {
        assert_int_equal(sample.flags, 0);
        first++;
    }
    assert_true(first >= 3 && first < 20);
    assert_int_equal(upmu_ring_lost(&host.session.ring), 20 - first);
    host_run(&host, 100);
    assert_true(upmu_ring_next(&host.session.ring, &sample));
    assert_int_equal(sample.flags, UPMU_SAMPLE_LOST);
    assert_int_equal(sample.lost, 20 - first);
    host_run(&host, 100);
    assert_true(upmu_ring_next(&host.session.ring, &sample));
    assert_int_equal(sample.flags, 0);
    assert_int_equal(sample.lost, 0);
    assert_int_equal(host_value(&host.session, 0), 2200);
    host_end(&host);
}

/*
 * MX-092: the log is written from an NMI, whatever that interrupts: code with interrupts off, and the reader between
 * two of its records.  On a vector it waits until interrupts are on.
 * Catches: records that are left to code which may be interrupted, or that a reader in the middle gets torn or twice.
 */
static void nmis_write_the_ring_with_interrupts_off_and_amid_its_reader(void **state)
{
    (void)state;
    EACH(profile)
    for (unsigned vector = 0; vector < 2; vector++) {
        struct upmu_sample sample;
        uint64_t time_ns = 0;
        struct host host;
        unsigned got = 0;

        host_set_up(&host, *profile);
        if (vector)
            upmu_sim_set_delivery(&host.sim, 0, 0xfe);
        host_sample(&host, "instructions", 100);
        upmu_sim_irqs(&host.sim, false);
        for (unsigned i = 0; i < 20; i++) {
            host_run(&host, 100);
            assert_int_equal(host.answers, vector ? 0 : i + 1, i);
            /* One of two is left in the ring for the next NMI to come behind. */
            if (i % 2 == 0 || vector)
                continue;
            assert_true(upmu_ring_next(&host.session.ring, &sample));
            assert_int_equal(sample.events, 1);
            assert_int_equal(sample.flags, 0);
            assert_compare(sample.time_ns, >, time_ns);
            time_ns = sample.time_ns;
            got++;
        }
        assert_int_equal(host_drain(&host, NULL) + got, vector ? 0 : 20);
        assert_int_equal(upmu_ring_lost(&host.session.ring), 0);
        upmu_sim_irqs(&host.sim, true);
        assert_int_equal(host_drain(&host, NULL), vector);
        host_end(&host);
    }
}

/* Whatever the ring's size: in order, none twice, none lost unsaid.  One that nothing reads is full. */
static void rings_of_every_size_keep_the_order(void **state)
{
    (void)state;
    for (unsigned bytes = 256; bytes <= 640; bytes += 8)
        for (unsigned greed = 0; greed <= 6; greed += 3) {
            struct upmu_sampling sampling = {.period = 100};
            struct upmu_sample sample;
            struct host host;
            unsigned got = 0, told = 0;
            uint64_t time_ns = 0;

            host_set_up(&host, "skylake");
            assert_int_equal(upmu_set_add(&host.session.set, "instructions", &sampling), UPMU_OK);
            assert_int_equal(upmu_session_ring(&host.session, host.ring, bytes), UPMU_OK);
            host.ring[bytes / 8] = UINT64_C(0x1122334455667788);
            host_begin(&host, &host.session);
            for (unsigned i = 0; i < 60; i++) {
                host_run(&host, 100 * (1 + i % 7));
                for (unsigned k = 0; k < greed && upmu_ring_next(&host.session.ring, &sample); k++) {
                    assert_compare(sample.time_ns, >, time_ns);
                    assert_int_equal(sample.flags, sample.lost ? UPMU_SAMPLE_LOST : 0);
                    time_ns = sample.time_ns;
                    told += sample.lost;
                    got++;
                }
            }
            got += host_drain(&host, NULL);
            assert_compare(told, <=, upmu_ring_lost(&host.session.ring));
            assert_int_equal(host.ring[bytes / 8], UINT64_C(0x1122334455667788), bytes);
            assert_int_equal(got + upmu_ring_lost(&host.session.ring), host_value(&host.session, 0) / 100);
            assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
        }
}

static void a_full_ring_masks_its_session_until_the_restart_and_no_other(void **state)
{
    (void)state;
    EACH(profile)
    {
        struct upmu_sampling sampling = {.period = 100};
        struct host host;
        uint64_t value;
        unsigned samples;

        host_set_up(&host, *profile);
        assert_int_equal(upmu_set_add(&host.session.set, "instructions", &sampling), UPMU_OK);
        assert_int_equal(upmu_session_ring(&host.session, host.ring, 256), UPMU_OK);
        upmu_session_mask_on_full(&host.session, true);
        assert_int_equal(upmu_set_add(&host.other.set, "cycles", NULL), UPMU_OK);
        host_begin(&host, &host.other);
        host_begin(&host, &host.session);
        host_run(&host, 2000);
        assert_int_equal(host.session.state, UPMU_SESSION_MASKED);
        value = host_value(&host.session, 0);
        assert_compare(value, <, 2000);
        host_run(&host, 1000);
        assert_int_equal(host_value(&host.session, 0), value);
        assert_int_equal(host_value(&host.other, 0), 6000);
        samples = host_drain(&host, NULL);
        assert_int_equal(upmu_ring_lost(&host.session.ring), 1);
        assert_int_equal(samples + 1, value / 100);
        assert_int_equal(upmu_session_restart(&host.session), UPMU_OK);
        assert_int_equal(host.session.state, UPMU_SESSION_RUNNING);
        host_run(&host, 200);
        assert_int_equal(host_drain(&host, NULL), 2);
        host_end(&host);
    }
}

static void without_a_ring_periods_are_counted_all_the_same(void **state)
{
    struct upmu_sampling sampling = {.period = 100};
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_set_add(&host.session.set, "instructions", &sampling), UPMU_OK);
    host_begin(&host, &host.session);
    host_run(&host, 1000);
    assert_int_equal(host.answers, 10);
    assert_int_equal(host.session.set.tally[0].overflows, 10);
    assert_int_equal(host_value(&host.session, 0), 1000);
    host_end(&host);
}

/* ---- Whose interrupt ---- */

static void an_interrupt_when_nothing_overflowed_is_not_ours(void **state)
{
    (void)state;
    EACH(profile)
    {
        struct host host;

        host_set_up(&host, *profile);
        upmu_sim_foreign_nmi(&host.sim);
        host_sample(&host, "instructions", 1000);
        upmu_sim_foreign_nmi(&host.sim);
        host_run(&host, 500);
        upmu_sim_foreign_nmi(&host.sim);
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        upmu_sim_foreign_nmi(&host.sim);
        assert_int_equal(host.answers, 4);
        for (unsigned i = 0; i < 4; i++)
            assert_int_equal(host.answer[i], UPMU_PMI_NOT_OURS, i);
        assert_int_equal(host_drain(&host, NULL), 0);
        assert_int_equal(host_value(&host.session, 0), 500);
        host_end(&host);
    }
}

static void a_late_interrupt_is_claimed_and_no_foreign_one_long_after(void **state)
{
    (void)state;
    EACH(profile)
    {
        struct host host;

        host_set_up(&host, *profile);
        host.sim.skid = 200;
        host_sample(&host, "instructions", 100);
        host_run(&host, 110);
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        assert_int_equal(host.answers, 0);
        host_run(&host, 400);
        assert_int_equal(host.answers, 1);
        assert_int_not_equal(host.answer[0], UPMU_PMI_NOT_OURS);
        upmu_sim_advance_ns(&host.sim, 101000000);
        upmu_sim_foreign_nmi(&host.sim);
        assert_int_equal(host.answer[1], UPMU_PMI_NOT_OURS);
        assert_int_equal(host_drain(&host, NULL), 1);
        host_end(&host);
    }
}

/* However many come: time decides and no number, as the first may have been another source's, and some are lost. */
static void further_interrupts_for_one_pass_are_stale(void **state)
{
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    host_sample(&host, "instructions,branches", 100);
    host.sim.rule[UPMU_SIM_RULE_LVTPC_MASKS] = 0;
    upmu_sim_events(&host.sim, &(struct upmu_sim_burst){.instructions = 50, .branches = 50});
    host.sim.skid = 0;
    /* Both overflow in one step; the first handler serves both. */
    upmu_sim_events(&host.sim, &(struct upmu_sim_burst){.instructions = 50, .branches = 50});
    assert_int_equal(host_drain(&host, NULL), 1);
    assert_int_equal(host.answer[0], UPMU_PMI_HANDLED);
    host.answers = 0;
    upmu_sim_advance_ns(&host.sim, 95000000);
    for (unsigned i = 0; i < 5; i++) {
        upmu_sim_foreign_nmi(&host.sim);
        assert_int_equal(host.answer[i], UPMU_PMI_STALE, i);
    }
    host_end(&host);
}

static void a_late_interrupt_is_expected_for_a_tenth_of_a_second_only(void **state)
{
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    host_sample(&host, "instructions,branches", 100);
    upmu_sim_events(&host.sim, &(struct upmu_sim_burst){.instructions = 100, .branches = 100});
    assert_int_equal(host.answer[0], UPMU_PMI_HANDLED);
    upmu_sim_advance_ns(&host.sim, 101000000);
    host.answers = 0;
    upmu_sim_foreign_nmi(&host.sim);
    assert_int_equal(host.answer[0], UPMU_PMI_NOT_OURS);
    /* Nor when the stamp of 32 bits has gone round. */
    upmu_sim_advance_ns(&host.sim, (UINT64_C(1) << 52) - 50000000);
    upmu_sim_foreign_nmi(&host.sim);
    assert_int_equal(host.answer[1], UPMU_PMI_NOT_OURS);
    host_end(&host);
}

/* One for each overflow that was found: the interrupt in which it was may have been another source's. */
static void without_a_clock_a_late_interrupt_is_expected_by_number(void **state)
{
    struct host host;

    (void)state;
    host_prepare(&host, "skylake");
    host.sim.port.clock_ns = NULL;
    host_start(&host);
    host_sample(&host, "instructions,branches", 100);
    upmu_sim_events(&host.sim, &(struct upmu_sim_burst){.instructions = 100, .branches = 100});
    upmu_sim_advance_ns(&host.sim, UINT64_C(1000000000));
    host.answers = 0;
    for (unsigned i = 0; i < 3; i++)
        upmu_sim_foreign_nmi(&host.sim);
    assert_int_equal(host.answer[0], UPMU_PMI_STALE);
    assert_int_equal(host.answer[1], UPMU_PMI_STALE);
    assert_int_equal(host.answer[2], UPMU_PMI_NOT_OURS);
    host_end(&host);
}

static void status_of_an_idle_counter_is_acknowledged_without_a_sample(void **state)
{
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    host_sample(&host, "instructions", 1000);
    host.sim.cpu[0].status |= UINT64_C(1) << 2;
    upmu_sim_foreign_nmi(&host.sim);
    assert_int_equal(host.answer[0], UPMU_PMI_HANDLED);
    assert_int_equal(host.sim.cpu[0].status, 0);
    assert_int_equal(host_drain(&host, NULL), 0);
    upmu_sim_advance_ns(&host.sim, 101000000);
    upmu_sim_foreign_nmi(&host.sim);
    assert_int_equal(host.answer[1], UPMU_PMI_NOT_OURS);
    host_end(&host);
}

static void status_of_a_counter_of_the_hosts_is_left_to_the_host(void **state)
{
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_cpu_reserve(&host.cpu[0], 4), UPMU_OK);
    host_sample(&host, "instructions", 1000);
    host.sim.cpu[0].status |= UINT64_C(1) << 2;
    upmu_sim_foreign_nmi(&host.sim);
    assert_int_equal(host.answer[0], UPMU_PMI_NOT_OURS);
    assert_int_equal(host.sim.cpu[0].status, UINT64_C(1) << 2);
    host_end(&host);
}

static void before_init_and_after_fini_no_interrupt_is_ours(void **state)
{
    static struct upmu_cpu zeroed;
    struct upmu_frame frame = {.ip = 0};
    struct host host;

    (void)state;
    assert_int_equal(upmu_pmi_handle(NULL, &frame), UPMU_PMI_NOT_OURS);
    assert_int_equal(upmu_pmi_handle(&zeroed, &frame), UPMU_PMI_NOT_OURS);
    host_set_up(&host, "skylake");
    host_sample(&host, "instructions", 100);
    host_end(&host);
    host.sim.cpu[0].status = 1;
    assert_int_equal(upmu_pmi_handle(&host.cpu[0], &frame), UPMU_PMI_NOT_OURS);
    assert_int_equal(host.sim.cpu[0].status, 1);
}

static void enter_handler_again(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind,
                                uint32_t address)
{
    struct upmu_test_state now;
    struct host *host = sim->test;

    (void)number;
    (void)kind;
    (void)address;
    upmu_test_state(&host->cpu[cpu], &now);
    if (now.in_handler && host->answers < HOST_ANSWERS)
        host->answer[host->answers++] = upmu_pmi_handle(&host->cpu[cpu], NULL);
}

static void a_handler_inside_the_handler_does_nothing(void **state)
{
    (void)state;
    EACH(profile)
    {
        struct host host;

        host_set_up(&host, *profile);
        host_sample(&host, "instructions", 100);
        host.sim.before_access = enter_handler_again;
        host_run(&host, 100);
        assert_compare(host.answers, >, 3);
        for (unsigned i = 0; i + 1 < host.answers; i++)
            assert_int_equal(host.answer[i], UPMU_PMI_STALE, i);
        assert_int_equal(host.answer[host.answers - 1], UPMU_PMI_HANDLED);
        assert_int_equal(host_drain(&host, NULL), 1);
        assert_int_equal(host_value(&host.session, 0), 100);
        host_end(&host);
    }
}

/* ---- Too many ---- */

static void too_short_a_period_is_throttled_told_and_resumed_by_a_poll(void **state)
{
    (void)state;
    EACH(profile)
    {
        struct host host;
        unsigned answers;
        uint32_t lost;

        host_set_up(&host, *profile);
        host_sample(&host, "instructions", 100);
        host_run(&host, 500000);
        answers = host.answers;
        assert_true(answers >= 1000 && answers < 1100);
        assert_int_equal(host_value(&host.session, 0), 500000);
        assert_int_equal(upmu_cpu_poll(&host.cpu[0]), UPMU_OK);
        lost = host.session.set.tally[0].lost;
        assert_compare(lost, >, 0);
        assert_int_equal(host_drain(&host, NULL) + upmu_ring_lost(&host.session.ring) + lost, 5000);
        host_run(&host, 1000);
        assert_int_equal(host.answers, answers + 10);
        assert_int_equal(host.session.set.tally[0].lost, lost);
        assert_int_equal(host_value(&host.session, 0), 501000);
        host_end(&host);
    }
}

/*
 * Each access of the poll that ends a throttling faults in turn, on hardware with one gate for all and with one each.
 * Catches: a session that an error stops beside the usual way, with the counts of its other events left on counters.
 */
static void a_fault_when_throttling_ends_loses_no_count(void **state)
{
    static const char *const profiles[] = {"skylake", "zen4", "k8_revc", "prescott"};
    struct upmu_sampling seldom = {.period = 1u << 30};

    (void)state;
    for (unsigned p = 0; p < sizeof profiles / sizeof *profiles; p++)
        for (uint32_t at = 1, faulted = 1, stopped = 0; faulted; at++) {
            struct host host;
            uint32_t first;

            host_set_up(&host, profiles[p]);
            assert_int_equal(upmu_set_add(&host.session.set, "branches", &seldom), UPMU_OK);
            host_sample(&host, "instructions", 100);
            host_run(&host, 500000);
            first = host.sim.fault_at = host.sim.accesses + at;
            (void)!upmu_cpu_poll(&host.cpu[0]);
            faulted = host.sim.accesses >= first;
            host.sim.fault_at = 0;
            stopped += host.session.state == UPMU_SESSION_STOPPED;
            assert_int_equal(host.session.state == UPMU_SESSION_STOPPED, host.session.error == UPMU_ERR_PORT);
            if (host_value(&host.session, 0) != 250000 || host_value(&host.session, 1) != 500000)
                fail_msg("%s, access %u faulted: %u, %u", profiles[p], (unsigned)at,
                         (unsigned)host_value(&host.session, 0), (unsigned)host_value(&host.session, 1));
            assert_true(faulted || stopped);
            host_end(&host);
        }
}

/* Time passes between overflows: many are no storm. */
static void a_reasonable_rate_is_never_throttled(void **state)
{
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    host_sample(&host, "instructions", 10000);
    for (unsigned i = 0; i < 3000; i++) {
        host_run(&host, 10000);
        assert_int_equal(host_drain(&host, NULL), 1);
    }
    assert_int_equal(host.session.set.tally[0].lost, 0);
    host_end(&host);
}

/* Each event has windows of its own, whichever event begins them: 50 overflows in a second are no storm. */
static void two_events_at_a_reasonable_rate_are_never_throttled(void **state)
{
    static const struct upmu_sampling every = {.period = 1000};
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_set_add(&host.session.set, "instructions,branches", &every), UPMU_OK);
    host_begin(&host, &host.session);
    for (unsigned i = 0; i < 1200; i++) {
        struct upmu_sim_burst first = {.instructions = 1000}, second = {.branches = 1000};

        upmu_sim_events(&host.sim, &first);
        upmu_sim_events(&host.sim, &second);
        upmu_sim_advance_ns(&host.sim, 20000000);
        for (unsigned k = 0; k < 2; k++)
            assert_false(host.session.set.tally[k].throttled, k);
    }
    assert_int_equal(host.session.set.tally[0].overflows, 1200);
    assert_int_equal(host.session.set.tally[1].overflows, 1200);
    host_end(&host);
}

/* The handler's own events overflow the counter again and again: it must end. */
static void a_handler_that_overflows_its_own_counter_comes_to_an_end(void **state)
{
    (void)state;
    EACH(profile)
    {
        struct host host;

        host_set_up(&host, *profile);
        host.sim.events_per_access = 40;
        host_sample(&host, "instructions", 50);
        host_run(&host, 1000);
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        host.sim.events_per_access = 0;
        assert_compare(host.answers, <, 20000);
        assert_int_equal(host.session.set.tally[0].overflows, host_value(&host.session, 0) / 50);
        host_end(&host);
    }
}

static unsigned overflowed, ticks_asked;

static void ask_tick(void *context)
{
    (void)context;
    ticks_asked++;
}

/* At each access of the local side its counter overflows, if it is open: two thousand times at most. */
static void overflow_at_each_access(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind,
                                    uint32_t address)
{
    (void)number, (void)kind, (void)address;
    if (!sim->cpu[cpu].in_nmi && upmu_sim_runs(sim, cpu, 1) && overflowed < 2000) {
        overflowed++;
        host_run(sim->test, 120);
    }
}

/*
 * The end of a call reads a handler's mail, and the next comes before it has ended.  The call ends all the same and
 * asks for a tick, which opens the counter; no period is lost.  Catches: looks for mail without a bound.
 */
static void overflows_that_come_faster_than_mail_is_read_keep_no_call(void **state)
{
    struct upmu_sampling sampling = {.period = 100};
    struct host host;
    uint64_t truth = 0;

    (void)state;
    host_prepare(&host, "skylake");
    host.sim.port.request_tick = ask_tick;
    host_start(&host);
    overflowed = ticks_asked = 0;
    assert_int_equal(upmu_set_add(&host.session.set, "instructions:counter=1", &sampling), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.session.set, "branches", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    for (; !host.session.set.tally[0].throttled; truth += 1000) /* what a poll ends */
        host_run(&host, 1000);
    host.sim.before_access = host.sim.after_access = overflow_at_each_access;
    assert_int_equal(upmu_cpu_poll(&host.cpu[0]), UPMU_OK);
    host.sim.before_access = host.sim.after_access = NULL;
    assert_in_range(overflowed, 5, 300); /* one in each round at least */
    assert_int_not_equal(ticks_asked, 0);
    assert_int_equal(upmu_cpu_tick(&host.cpu[0]), UPMU_OK);
    assert_null(upmu_test_left_over(&host.cpu[0]));
    /* (What a handler has stopped in a call is closed until its mail is read.) */
    assert_in_range(host_value(&host.session, 0), truth + 100 * overflowed, truth + 120 * overflowed);
    truth = host_value(&host.session, 0);
    host_run(&host, 1000);
    assert_int_equal(host_value(&host.session, 0), truth + 1000);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    assert_int_equal(host.session.set.tally[0].overflows, (truth + 1000) / 100);
    host_end(&host);
}

/* An overflow comes while its counter is about to move, and then the move faults. */
static void overflow_before_the_gate(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind,
                                     uint32_t address)
{
    struct host *host = sim->test;

    if (kind != UPMU_SIM_WRMSR || address != 0x38f || sim->cpu[cpu].in_nmi)
        return;
    sim->before_access = NULL;
    sim->fault_at = number;
    host_run(host, 200);
}

static uint64_t passing_ns; /* each look at the clock takes a microsecond */

static uint64_t passing_clock(void *context)
{
    (void)context;
    return passing_ns += 1000;
}

/*
 * Where gates have no register in common an event stops to move.  The mistake that this catches: a time is added
 * to another one of which it is a part.
 */
static void the_time_of_a_move_is_enabled_time_once(void **state)
{
    struct upmu_count before, count;
    struct host host;
    uint64_t read_ns;

    (void)state;
    host_prepare(&host, "version1");
    passing_ns = 1000000;
    host.sim.port.clock_ns = passing_clock;
    host_start(&host);
    assert_int_equal(upmu_set_add(&host.session.set, "instructions", NULL), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.other.set, "branches:counter=0", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    assert_int_equal(host.session.set.tally[0].counter, 0);
    host_run(&host, 10);
    assert_int_equal(upmu_set_read(&host.session.set, 0, 1, &before), UPMU_OK);
    read_ns = passing_ns;
    host_begin(&host, &host.other);
    assert_int_equal(host.session.set.tally[0].counter, 1);
    assert_int_equal(upmu_set_read(&host.session.set, 0, 1, &count), UPMU_OK);
    assert_int_equal(count.enabled_ns - before.enabled_ns, passing_ns - read_ns);
    assert_compare(count.running_ns, <, count.enabled_ns);
    assert_int_equal(count.raw, 10);
    assert_int_equal(count.quality, UPMU_QUALITY_SCALED);
    host_end(&host);
}

/* A move that faults stops the session that moves.  The one that starts starts, and both count right afterwards. */
static void a_move_that_faults_stops_who_moves(void **state)
{
    struct host host;
    struct upmu_count count;
    unsigned counter, samples;

    (void)state;
    host_set_up(&host, "core2");
    host_sample(&host, "branches", 100);
    counter = host.session.set.tally[0].counter;
    assert_int_equal(upmu_set_add(&host.other.set, counter ? "cycles:counter=1" : "cycles:counter=0", NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(&host.other, &host.cpu[0]), UPMU_OK);
    host_run(&host, 20);
    host.sim.before_access = overflow_before_the_gate;
    assert_int_equal(upmu_session_start(&host.other), UPMU_OK);
    assert_null(host.sim.before_access);
    assert_int_equal(host.other.state, UPMU_SESSION_RUNNING);
    assert_int_equal(host.session.state, UPMU_SESSION_STOPPED);
    assert_int_equal(host.session.error, UPMU_ERR_PORT);
    assert_int_equal(upmu_set_read(&host.session.set, 0, 1, &count), UPMU_OK);
    assert_int_equal(count.raw, 100); /* the handler has stopped it there */
    samples = host_drain(&host, NULL);
    assert_int_equal(samples + host.session.set.tally[0].lost, 1);
    host_run(&host, 70); /* not counted */
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    assert_int_equal(host.session.set.tally[0].counter, !counter);
    host_run(&host, 2000);
    assert_int_equal(host_drain(&host, NULL), 10);
    assert_int_equal(upmu_set_read(&host.session.set, 0, 1, &count), UPMU_OK);
    assert_int_equal(count.raw, 1100);
    assert_int_equal(host_value(&host.other, 0), 2 * 2070);
    host_end(&host);
}

/* ---- Beginnings ---- */

static void freeze_bits_that_firmware_left_are_cleared_and_given_back(void **state)
{
    static const char *const freezing[] = {"core2", "nehalem", "skylake", "icelake"};

    (void)state;
    for (unsigned i = 0; i < sizeof freezing / sizeof freezing[0]; i++) {
        struct host host;

        host_prepare(&host, freezing[i]);
        upmu_sim_poke(&host.sim, 0, 0x1d9, 0x1801);
        host_start(&host);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x1d9), 1);
        host_sample(&host, "instructions", 100);
        host_run(&host, 1000);
        assert_int_equal(host_drain(&host, NULL), 10);
        assert_int_equal(host_value(&host.session, 0), 1000);
        host_end(&host);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x1d9), 0x1801);
    }
}

static void a_period_below_the_shortest_is_refused(void **state)
{
    struct upmu_sampling sampling = {.period = 31};
    struct host host;

    (void)state;
    host_set_up(&host, "nehalem");
    assert_int_equal(host.cpu[0].meter.pmu->min_period, 32);
    assert_int_equal(upmu_set_add(&host.session.set, "instructions", &sampling), UPMU_ERR_INVALID);
    sampling.period = 32;
    assert_int_equal(upmu_set_add(&host.session.set, "instructions", &sampling), UPMU_OK);
    sampling.period = (UINT64_C(1) << 63) - 1;
    assert_int_equal(upmu_set_add(&host.session.set, "cycles", &sampling), UPMU_OK);
    sampling.period = UINT64_C(1) << 63;
    assert_int_equal(upmu_set_add(&host.session.set, "cycles", &sampling), UPMU_ERR_INVALID);
    assert_int_equal(host.session.set.count, 2);
    host_end(&host);
}

/* What is left of a period after a stop may be shorter than the shortest load: no period is lost by it. */
static void the_shortest_load_delays_a_sample_and_loses_none(void **state)
{
    struct host host;
    unsigned samples = 0;

    (void)state;
    host_set_up(&host, "nehalem");
    host_sample(&host, "instructions", 100);
    for (unsigned i = 0; i < 60; i++) {
        host_run(&host, 33);
        assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
        host_begin(&host, &host.session);
        samples += host_drain(&host, NULL);
    }
    host_run(&host, 40);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    assert_int_equal(samples + host_drain(&host, NULL), (60 * 33 + 40) / 100);
    assert_int_equal(host_value(&host.session, 0), 60 * 33 + 40);
    host_end(&host);
}

static void a_value_given_to_a_sampling_event_begins_a_full_period(void **state)
{
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    host_sample(&host, "instructions", 100);
    host_run(&host, 90);
    assert_int_equal(upmu_set_write(&host.session.set, 0, 1000), UPMU_OK);
    host_run(&host, 99);
    assert_int_equal(host_drain(&host, NULL), 0);
    host_run(&host, 1);
    assert_int_equal(host_drain(&host, NULL), 1);
    assert_int_equal(host_value(&host.session, 0), 1100);
    host_end(&host);
}

static void without_a_way_to_rearm_sampling_is_refused(void **state)
{
    struct upmu_sampling sampling = {.period = 1000};
    struct host host;

    (void)state;
    host_prepare(&host, "skylake");
    host.sim.port.pmi_rearm = NULL;
    host_start(&host);
    assert_int_equal(upmu_set_add(&host.session.set, "instructions", &sampling), UPMU_ERR_HOOK_MISSING);
    assert_int_equal(host.session.why.status, UPMU_ERR_HOOK_MISSING);
    host_end(&host);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sample_says_where_when_and_on_which_cpu),
        cmocka_unit_test(a_sample_of_user_code_says_so),
        cmocka_unit_test(counters_that_overflow_together_give_one_sample_of_two_bits),
        cmocka_unit_test(sessions_that_overflow_together_get_a_sample_each),
        cmocka_unit_test(a_wrap_of_the_hardware_is_no_sample),
        cmocka_unit_test(a_wrap_of_a_counter_that_only_counts_is_no_sample_or_loss),
        cmocka_unit_test(an_interrupt_without_a_frame_gives_a_sample_that_says_so),
        cmocka_unit_test(an_overflow_found_by_a_stop_gives_its_sample),
        cmocka_unit_test(samples_arrive_on_a_vector_as_well),
        cmocka_unit_test(samples_without_room_are_counted_and_told_in_the_stream),
        cmocka_unit_test(nmis_write_the_ring_with_interrupts_off_and_amid_its_reader),
        cmocka_unit_test(rings_of_every_size_keep_the_order),
        cmocka_unit_test(the_time_of_a_move_is_enabled_time_once),
        cmocka_unit_test(a_move_that_faults_stops_who_moves),
        cmocka_unit_test(a_full_ring_masks_its_session_until_the_restart_and_no_other),
        cmocka_unit_test(without_a_ring_periods_are_counted_all_the_same),
        cmocka_unit_test(an_interrupt_when_nothing_overflowed_is_not_ours),
        cmocka_unit_test(a_late_interrupt_is_claimed_and_no_foreign_one_long_after),
        cmocka_unit_test(further_interrupts_for_one_pass_are_stale),
        cmocka_unit_test(a_late_interrupt_is_expected_for_a_tenth_of_a_second_only),
        cmocka_unit_test(without_a_clock_a_late_interrupt_is_expected_by_number),
        cmocka_unit_test(status_of_an_idle_counter_is_acknowledged_without_a_sample),
        cmocka_unit_test(status_of_a_counter_of_the_hosts_is_left_to_the_host),
        cmocka_unit_test(before_init_and_after_fini_no_interrupt_is_ours),
        cmocka_unit_test(a_handler_inside_the_handler_does_nothing),
        cmocka_unit_test(too_short_a_period_is_throttled_told_and_resumed_by_a_poll),
        cmocka_unit_test(a_fault_when_throttling_ends_loses_no_count),
        cmocka_unit_test(a_reasonable_rate_is_never_throttled),
        cmocka_unit_test(two_events_at_a_reasonable_rate_are_never_throttled),
        cmocka_unit_test(a_handler_that_overflows_its_own_counter_comes_to_an_end),
        cmocka_unit_test(overflows_that_come_faster_than_mail_is_read_keep_no_call),
        cmocka_unit_test(freeze_bits_that_firmware_left_are_cleared_and_given_back),
        cmocka_unit_test(a_period_below_the_shortest_is_refused),
        cmocka_unit_test(the_shortest_load_delays_a_sample_and_loses_none),
        cmocka_unit_test(a_value_given_to_a_sampling_event_begins_a_full_period),
        cmocka_unit_test(without_a_way_to_rearm_sampling_is_refused),
    };

    return cmocka_run_group_tests_name("pmi", tests, NULL, NULL);
}
