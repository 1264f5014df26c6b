/* SPDX-License-Identifier: MIT */
/*
 * Sampling attributes: long and short periods, random parts, events that an overflow
 * sets back, counters that wrap, periods that follow a frequency.
 */
#include <upmu/format.h>
#include <upmu/message.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include "tests/common/host.h"

static struct upmu_queue queue;
static struct upmu_message messages[64];
static uint64_t ring[16384];

static void set_up(struct host *f, const char *profile)
{
    host_set_up(f, profile);
    assert_int_equal(upmu_session_ring(&f->session, ring, sizeof ring), UPMU_OK);
}

static void tear_down(struct host *f)
{
    assert_int_equal(upmu_session_detach(&f->session), UPMU_OK);
    host_end(f);
}

/* One instruction a nanosecond or, `slow`, so many nanoseconds for each. */
static void work(struct host *f, uint64_t instructions, uint64_t slow)
{
    upmu_sim_events(&f->sim, &(struct upmu_sim_burst){.instructions = instructions,
                                                      .cycles = instructions * slow,
                                                      .ref_cycles = instructions * slow,
                                                      .branches = instructions / 5,
                                                      .ip = 0x1000,
                                                      .ip_step = 1});
}

static void the_short_period_follows_a_sample_and_the_long_one_a_restart(void **state)
{
    struct upmu_sampling sampling = {.period = 100, .long_period = 5000, .flags = UPMU_SAMPLING_NOTIFY};
    struct upmu_sampling plain = {.period = 100, .long_period = 5000};
    struct upmu_message message;
    struct host f;
    uint32_t got;

    (void)state;
    set_up(&f, "skylake");
    assert_int_equal(upmu_session_messages(&f.session, &queue, messages, 64, 0, NULL), UPMU_OK);
    assert_int_equal(upmu_set_add(&f.session.set, "instructions", &sampling), UPMU_OK);
    host_begin(&f, &f.session);
    work(&f, 50, 1);
    assert_int_equal(host_count(&f.session, 0).left, 50);
    work(&f, 50, 1);
    assert_int_equal(upmu_cpu_poll(&f.cpu[0]), UPMU_OK);
    assert_int_equal(f.session.state, UPMU_SESSION_MASKED);
    assert_int_equal(upmu_queue_read(&queue, &message, 1, &got), UPMU_OK);
    assert_int_equal(upmu_session_restart(&f.session), UPMU_OK);
    assert_int_equal(host_count(&f.session, 0).left, 5000);
    assert_int_equal(host_count(&f.session, 0).reset, 5000);
    work(&f, 4999, 1);
    assert_int_equal(upmu_queue_waiting(&queue), 0);
    work(&f, 1, 1);
    assert_int_equal(upmu_queue_waiting(&queue), 1);
    tear_down(&f);

    set_up(&f, "skylake");
    assert_int_equal(upmu_set_add(&f.session.set, "instructions", &plain), UPMU_OK);
    host_begin(&f, &f.session);
    work(&f, 130, 1);
    assert_int_equal(host_count(&f.session, 0).left, 70);
    assert_int_equal(host_count(&f.session, 0).reset, 100);
    work(&f, 870, 1);
    assert_int_equal(host_drain(&f, NULL), 10);
    tear_down(&f);
}

static void a_full_ring_is_followed_by_the_long_period(void **state)
{
    struct upmu_sampling sampling = {.period = 100, .long_period = 3000};
    struct host f;

    (void)state;
    set_up(&f, "skylake");
    assert_int_equal(upmu_session_ring(&f.session, ring, 256), UPMU_OK);
    upmu_session_mask_on_full(&f.session, true);
    assert_int_equal(upmu_set_add(&f.session.set, "instructions", &sampling), UPMU_OK);
    host_begin(&f, &f.session);
    work(&f, 2000, 1);
    assert_int_equal(upmu_cpu_poll(&f.cpu[0]), UPMU_OK);
    assert_int_equal(f.session.state, UPMU_SESSION_MASKED);
    (void)host_drain(&f, NULL);
    assert_int_equal(upmu_session_restart(&f.session), UPMU_OK);
    assert_int_equal(host_count(&f.session, 0).left, 3000);
    work(&f, 3000, 1);
    assert_int_equal(host_count(&f.session, 0).left, 100);
    tear_down(&f);
}

static void random_parts_stay_under_their_mask_and_reach_all_of_it(void **state)
{
    struct upmu_sampling sampling = {.period = 1000, .random_mask = 0xff, .random_seed = 42};
    unsigned buckets[8] = {0};
    uint64_t sum = 0;
    struct host f;

    (void)state;
    set_up(&f, "skylake");
    assert_int_equal(upmu_set_add(&f.session.set, "instructions", &sampling), UPMU_OK);
    host_begin(&f, &f.session);
    for (unsigned i = 0; i < 1000; i++) {
        struct upmu_count count = host_count(&f.session, 0);

        assert_true(count.reset >= 1000 && count.reset <= 1000 + 0xff);
        assert_int_equal(count.left, count.reset);
        buckets[(count.reset - 1000) >> 5]++;
        sum += count.reset;
        work(&f, count.reset, 1);
        assert_int_equal(host_drain(&f, NULL), 1);
    }
    for (unsigned i = 0; i < 8; i++)
        assert_true(buckets[i] > 80 && buckets[i] < 180, i);
    assert_int_equal(host_count(&f.session, 0).value, sum);
    tear_down(&f);
}

/* And another seed gives other ones. */
static void equal_seeds_give_equal_periods(void **state)
{
    static const uint64_t seeds[3] = {7, 7, 8};
    uint64_t resets[3][50];
    unsigned same = 0;

    (void)state;
    for (unsigned run = 0; run < 3; run++) {
        struct upmu_sampling sampling = {.period = 500, .random_mask = 0x3ff, .random_seed = seeds[run]};
        struct host f;

        set_up(&f, "skylake");
        assert_int_equal(upmu_set_add(&f.session.set, "instructions", &sampling), UPMU_OK);
        host_begin(&f, &f.session);
        for (unsigned i = 0; i < 50; i++) {
            resets[run][i] = host_count(&f.session, 0).reset;
            work(&f, resets[run][i], 1);
        }
        tear_down(&f);
    }
    assert_memory_equal(resets[0], resets[1], sizeof resets[0]);
    for (unsigned i = 0; i < 50; i++)
        same += resets[0][i] == resets[2][i];
    assert_compare(same, <, 5);
}

static void an_overflow_sets_other_events_back(void **state)
{
    struct upmu_sampling sampling = {.period = 1000, .resets = 6, .values = 2};
    struct upmu_sampling slow = {.period = 300};
    struct upmu_record record;
    struct host f;

    (void)state;
    set_up(&f, "skylake");
    assert_int_equal(upmu_set_add(&f.session.set, "instructions", &sampling), UPMU_OK);
    assert_int_equal(upmu_set_add(&f.session.set, "cycles", NULL), UPMU_OK);
    assert_int_equal(upmu_set_add(&f.session.set, "branches", &slow), UPMU_OK);
    host_begin(&f, &f.session);
    for (unsigned i = 0; i < 5; i++) {
        work(&f, 1000, 2);
        /* The sample has what was counted before. */
        assert_true(upmu_ring_view(&f.session.ring, &record));
        assert_int_equal(record.values, 2);
        assert_int_equal(record.value[0], 2000);
        upmu_ring_drop(&f.session.ring);
        assert_int_equal(host_count(&f.session, 1).value, 0);
        assert_int_equal(host_count(&f.session, 2).value, 0);
        assert_int_equal(host_count(&f.session, 2).left, 300);
        /* 200 branches never make 300. */
        assert_false(upmu_ring_view(&f.session.ring, &record));
    }
    assert_int_equal(host_count(&f.session, 0).value, 5000);
    tear_down(&f);
}

static void a_counter_that_may_wrap_does_and_asks_for_no_interrupt(void **state)
{
    struct upmu_sampling sampling = {.flags = UPMU_SAMPLING_WRAP};
    struct host f;
    unsigned counter;

    (void)state;
    set_up(&f, "skylake");
    assert_int_equal(upmu_set_add(&f.session.set, "branches", &sampling), UPMU_OK);
    host_begin(&f, &f.session);
    counter = f.session.set.tally[0].counter;
    assert_compare(counter, <, 16);
    assert_int_equal(f.sim.cpu[0].select[counter] >> 20 & 1u, 0, counter);
    assert_int_equal(upmu_set_write(&f.session.set, 0, (UINT64_C(1) << 48) - 10), UPMU_OK);
    work(&f, 100, 1);
    assert_int_equal(host_count(&f.session, 0).value, 10);
    assert_int_equal(f.cpu[0].interrupts, 0);
    assert_int_equal(upmu_session_detach(&f.session), UPMU_OK);
    assert_int_equal(host_count(&f.session, 0).value, 10);
    tear_down(&f);
}

static void a_period_follows_its_frequency(void **state)
{
    static const uint64_t slow[] = {1, 3, 20, 2};
    struct upmu_sampling sampling = {.frequency = 10000};
    struct host f;

    (void)state;
    set_up(&f, "skylake");
    assert_int_equal(upmu_set_add(&f.session.set, "instructions", &sampling), UPMU_OK);
    host_begin(&f, &f.session);
    assert_int_equal(host_count(&f.session, 0).reset, 10000);
    for (unsigned i = 0; i < 4; i++) {
        unsigned found;

        /* Time to settle, then a tenth of a second. */
        work(&f, 100000000 / slow[i], slow[i]);
        (void)host_drain(&f, NULL);
        for (unsigned part = 0, ring_full = 0; part < 10 && !ring_full; part++)
            work(&f, 1000000 / slow[i], slow[i]);
        found = host_drain(&f, NULL);
        if (found < 90 || found > 110)
            fail_msg("%u samples in 10 ms at 10000 a second, pace %u", found, (unsigned)slow[i]);
    }
    tear_down(&f);
}

static void what_cannot_be_sampled_is_refused(void **state)
{
    struct upmu_sampling wide = {.period = UINT64_C(1) << 62, .random_mask = ~UINT64_C(0) >> 1};
    struct upmu_sampling later = {.period = 1000, .long_period = UINT64_C(1) << 62, .random_mask = ~UINT64_C(0) >> 2};
    struct upmu_sampling flags = {.period = 1000, .flags = 1u << 31};
    struct upmu_sampling often = {.frequency = 1000};
    struct host f;

    (void)state;
    set_up(&f, "skylake");
    assert_int_equal(upmu_set_add(&f.session.set, "instructions", &wide), UPMU_ERR_INVALID);
    assert_int_equal(upmu_set_add(&f.session.set, "instructions", &later), UPMU_OK);
    later.random_mask++;
    assert_int_equal(upmu_set_add(&f.session.set, "instructions", &later), UPMU_ERR_INVALID);
    assert_int_equal(upmu_set_add(&f.session.set, "instructions", &flags), UPMU_ERR_INVALID);
    f.sim.port.clock_ns = NULL;
    assert_int_equal(upmu_set_add(&f.session.set, "instructions", &often), UPMU_ERR_HOOK_MISSING);
    tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_short_period_follows_a_sample_and_the_long_one_a_restart),
        cmocka_unit_test(a_full_ring_is_followed_by_the_long_period),
        cmocka_unit_test(random_parts_stay_under_their_mask_and_reach_all_of_it),
        cmocka_unit_test(equal_seeds_give_equal_periods),
        cmocka_unit_test(an_overflow_sets_other_events_back),
        cmocka_unit_test(a_counter_that_may_wrap_does_and_asks_for_no_interrupt),
        cmocka_unit_test(a_period_follows_its_frequency),
        cmocka_unit_test(what_cannot_be_sampled_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
