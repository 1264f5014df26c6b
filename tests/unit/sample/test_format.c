/* SPDX-License-Identifier: MIT */
/*
 * Sampling formats: the default record with values, ids and reset values; formats of
 * the host by name, and what they decide.
 */
#include <upmu/format.h>
#include <upmu/message.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include "tests/common/host.h"

static void samples_carry_the_values_that_an_event_asks_for_in_order(void **state)
{
    static const char *const profiles[] = {"skylake", "core2", "nehalem", "version1", "k8_revf", "zen2", "zen4"};

    (void)state;
    for (unsigned i = 0; i < sizeof profiles / sizeof *profiles; i++) {
        struct upmu_sampling sampling = {.period = 100, .event_id = UINT64_C(0xfedcba9876543210)};
        struct upmu_record record;
        struct host host;

        host_set_up(&host, profiles[i]);
        host.process = 5;
        host.thread = 6;
        assert_int_equal(upmu_set_add(&host.session.set, "cycles", NULL), UPMU_OK);
        sampling.values = 0xffffff01u; /* cycles; bits of events that do not exist are ignored */
        assert_int_equal(upmu_set_add(&host.session.set, "instructions", &sampling), UPMU_OK);
        assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
        host_begin(&host, &host.session);
        assert_false(upmu_ring_view(&host.session.ring, &record));
        host_run(&host, 300);
        for (unsigned n = 1; n <= 3; n++) {
            assert_true(upmu_ring_view(&host.session.ring, &record));
            assert_true(record.extended);
            assert_int_equal(record.event, 1);
            assert_int_equal(record.sample->events, 2);
            assert_int_equal(record.sample->ip, 0x1000 + 100 * n, n);
            assert_int_equal(record.event_id, UINT64_C(0xfedcba9876543210));
            assert_int_equal(record.last_reset, 100);
            assert_int_equal(record.set, 0);
            assert_int_equal(record.process, 5);
            assert_int_equal(record.thread, 6);
            assert_int_equal(record.values, 1);
            assert_in_range(record.value[0], 200 * n - 1, 200 * n, n);
            upmu_ring_drop(&host.session.ring);
        }
        assert_false(upmu_ring_view(&host.session.ring, &record));
        upmu_ring_drop(&host.session.ring);
        host_end(&host);
    }
}

static void values_come_in_increasing_order_and_may_name_the_event(void **state)
{
    struct upmu_sampling sampling = {.period = 100, .values = 7};
    struct upmu_record record;
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_set_add(&host.session.set, "branches,instructions", NULL), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.session.set, "cycles", &sampling), UPMU_OK);
    assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
    host_begin(&host, &host.session);
    assert_int_equal(upmu_set_write(&host.session.set, 0, UINT64_C(0x123400000000)), UPMU_OK);
    host_run(&host, 50);
    assert_true(upmu_ring_view(&host.session.ring, &record));
    assert_int_equal(record.values, 7);
    assert_compare(record.value[0] - UINT64_C(0x123400000000), <=, 25);
    assert_int_equal(record.value[1], 50);
    assert_int_equal(record.value[2], 100);
    host_end(&host);
}

static void plain_samples_and_extended_ones_share_a_ring(void **state)
{
    struct upmu_sampling plain = {.period = 200}, extended = {.period = 100, .event_id = 9};
    struct upmu_sample sample;
    struct upmu_record record;
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_set_add(&host.session.set, "cycles", &plain), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.session.set, "instructions", &extended), UPMU_OK);
    assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
    host_begin(&host, &host.session);
    host_run(&host, 100);
    assert_true(upmu_ring_view(&host.session.ring, &record));
    assert_int_equal(record.event_id, 9);
    assert_int_equal(record.sample->events, 2);
    assert_true(upmu_ring_next(&host.session.ring, &sample));
    assert_int_equal(sample.events, 2);
    assert_true(upmu_ring_view(&host.session.ring, &record));
    assert_false(record.extended);
    assert_int_equal(record.sample->events, 1);
    upmu_ring_drop(&host.session.ring);
    assert_false(upmu_ring_next(&host.session.ring, &sample));
    host_end(&host);
}

/* Records of two lengths in every position of a small ring: none torn, none lost unsaid. */
static void records_of_all_lengths_wrap_in_a_small_ring(void **state)
{
    struct upmu_sampling sampling = {.period = 100};
    struct upmu_record record;
    struct host host;
    uint32_t seen = 0, told = 0, runs = 0, told_in_all = 0;

    (void)state;
    for (unsigned bytes = 256; bytes < 512; bytes += 8) {
        host_set_up(&host, "skylake");
        sampling.values = 3;
        sampling.event_id = 77;
        assert_int_equal(upmu_set_add(&host.session.set, "instructions", &sampling), UPMU_OK);
        sampling.values = 0;
        sampling.event_id = 0;
        assert_int_equal(upmu_set_add(&host.session.set, "branches", &sampling), UPMU_OK);
        assert_int_equal(upmu_session_ring(&host.session, host.ring, bytes), UPMU_OK);
        host_begin(&host, &host.session);
        seen = told = 0;
        for (runs = 0; runs < 40; runs++) {
            host_run(&host, 100);
            for (unsigned i = 0; i < runs % 4 && upmu_ring_view(&host.session.ring, &record); i++) {
                seen++;
                told += record.sample->lost;
                assert_int_equal((record.sample->flags & UPMU_SAMPLE_LOST) != 0, record.sample->lost != 0);
                assert_int_equal(record.extended, record.sample->events == 1);
                if (record.extended) {
                    assert_int_equal(record.event_id, 77);
                    assert_int_equal(record.value[0] % 100, 0);
                }
                upmu_ring_drop(&host.session.ring);
            }
        }
        while (upmu_ring_view(&host.session.ring, &record)) {
            seen++;
            told += record.sample->lost;
            upmu_ring_drop(&host.session.ring);
        }
        assert_int_equal(seen + upmu_ring_lost(&host.session.ring), 60);
        assert_compare(told, <=, upmu_ring_lost(&host.session.ring));
        told_in_all += told;
        host_end(&host);
    }
    assert_compare(told_in_all, >, 0);
}

/* ---- Formats of the host ---- */

/* Keeps the last overflow of each event; masks every `mask_every`th time. */
struct histogram {
    uint64_t count[UPMU_SET_EVENTS];
    uint64_t value[UPMU_SET_EVENTS];
    uint64_t ip;
    unsigned notifies, calls, restarts, ends, mask_every, answer_restart;
};

static struct histogram histogram;

static enum upmu_status histogram_begin(struct upmu_session *session, const void *argument, size_t bytes,
                                        void **out_state)
{
    (void)session;
    if (bytes != sizeof(unsigned))
        return UPMU_ERR_NO_SPACE;
    memset(&histogram, 0, sizeof histogram);
    memcpy(&histogram.mask_every, argument, sizeof(unsigned));
    *out_state = &histogram;
    return UPMU_OK;
}

static unsigned histogram_overflow(void *state, const struct upmu_overflow *overflow, bool notify)
{
    struct histogram *h = state;

    h->calls++;
    h->notifies += notify;
    h->count[overflow->event]++;
    h->value[overflow->event] = upmu_overflow_value(overflow, overflow->event);
    assert_int_equal(upmu_overflow_value(overflow, UPMU_SET_EVENTS + 1), 0);
    h->ip = overflow->ip;
    return h->mask_every && h->calls % h->mask_every == 0 ? UPMU_OVERFLOW_MASK | UPMU_OVERFLOW_NOTIFY : 0;
}

static unsigned histogram_restart(void *state, struct upmu_session *session)
{
    struct histogram *h = state;
    (void)session;
    h->restarts++;
    return h->answer_restart;
}

static void histogram_end(void *state, struct upmu_session *session)
{
    (void)session;
    ((struct histogram *)state)->ends++;
}

static unsigned nothing(void *state, const struct upmu_overflow *overflow, bool notify)
{
    (void)state;
    (void)overflow;
    (void)notify;
    return 0;
}

static const struct upmu_format histogram_format = {"histogram", histogram_begin, histogram_overflow,
                                                    histogram_restart, histogram_end};
static const struct upmu_format silent_format = {"silent", NULL, nothing, NULL, NULL};
static const struct upmu_format *const formats[] = {&histogram_format, &silent_format, NULL};

static void formats_are_found_by_name_and_unknown_names_are_not(void **state)
{
    (void)state;
    assert_ptr_equal(upmu_format_by_name(formats, "histogram"), &histogram_format);
    assert_ptr_equal(upmu_format_by_name(formats, "silent"), &silent_format);
    assert_non_null(upmu_format_by_name(NULL, "default"));
    assert_string_equal(upmu_format_by_name(formats, "default")->name, "default");
    assert_null(upmu_format_by_name(formats, "histo"));
    assert_null(upmu_format_by_name(formats, "histograms"));
    assert_null(upmu_format_by_name(formats, ""));
    assert_null(upmu_format_by_name(NULL, "silent"));
}

static void a_registered_format_takes_overflows_instead_of_the_ring(void **state)
{
    struct upmu_sampling sampling = {.period = 100, .flags = UPMU_SAMPLING_NOTIFY};
    unsigned never = 0;
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_set_add(&host.session.set, "instructions", &sampling), UPMU_OK);
    sampling.flags = 0;
    assert_int_equal(upmu_set_add(&host.session.set, "cycles", &sampling), UPMU_OK);
    assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
    assert_int_equal(upmu_session_format(&host.session, &histogram_format, &never, 1), UPMU_ERR_NO_SPACE);
    assert_int_equal(upmu_session_format(&host.session, &histogram_format, &never, sizeof never), UPMU_OK);
    host_begin(&host, &host.session);
    assert_int_equal(upmu_session_format(&host.session, NULL, NULL, 0), UPMU_ERR_STATE);
    host_run(&host, 500);
    assert_int_equal(histogram.count[0], 5);
    assert_int_equal(histogram.count[1], 10);
    assert_int_equal(histogram.notifies, 5);
    assert_int_equal(histogram.value[0], 500);
    assert_int_equal(histogram.ip, 0x1000 + 500);
    assert_int_equal(host_drain(&host, NULL), 0);
    assert_int_equal(host.session.state, UPMU_SESSION_RUNNING);
    assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
    assert_int_equal(histogram.ends, 1);
    assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
    assert_int_equal(histogram.ends, 1);
    host_end(&host);
}

static void the_format_decides_about_masking_messages_and_restart(void **state)
{
    struct upmu_sampling sampling = {.period = 100};
    struct upmu_message messages[4];
    struct upmu_queue queue;
    unsigned third = 3;
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_set_add(&host.session.set, "instructions", &sampling), UPMU_OK);
    assert_int_equal(upmu_session_messages(&host.session, &queue, messages, 4, 0, NULL), UPMU_OK);
    assert_int_equal(upmu_session_format(&host.session, &histogram_format, &third, sizeof third), UPMU_OK);
    host_begin(&host, &host.session);
    host_run(&host, 1000);
    assert_int_equal(histogram.count[0], 3);
    assert_int_equal(host.session.state, UPMU_SESSION_MASKED);
    assert_int_equal(host_value(&host.session, 0), 300);
    assert_int_equal(upmu_queue_waiting(&queue), 1);
    histogram.answer_restart = UPMU_OVERFLOW_MASK;
    assert_int_equal(upmu_session_restart(&host.session), UPMU_OK);
    assert_int_equal(host.session.state, UPMU_SESSION_MASKED);
    histogram.answer_restart = 0;
    assert_int_equal(upmu_session_restart(&host.session), UPMU_OK);
    assert_int_equal(histogram.restarts, 2);
    assert_int_equal(host.session.state, UPMU_SESSION_RUNNING);
    host_run(&host, 200);
    assert_int_equal(histogram.count[0], 5);
    host_end(&host);
}

/*
 * A format, a sample and a message get no address of the kernel; those of user mode they get.  Catches a way out of
 * the handler that is forgotten.
 */
static void addresses_of_the_kernel_are_hidden_where_asked_for(void **state)
{
    struct upmu_sampling sampling = {.period = 100, .flags = UPMU_SAMPLING_NOTIFY};
    struct upmu_sim_burst burst = {.instructions = 100, .cycles = 200, .ip = 0x7000, .ip_step = 1};
    struct upmu_message message, messages[4];
    struct upmu_queue queue;
    struct upmu_sample sample;
    unsigned never = 0;
    uint32_t count;
    struct host host;

    (void)state;
    for (unsigned format = 0; format < 2; format++) {
        host_set_up(&host, "skylake");
        assert_int_equal(upmu_set_add(&host.session.set, "instructions", &sampling), UPMU_OK);
        assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
        assert_int_equal(upmu_session_messages(&host.session, &queue, messages, 4, 0, NULL), UPMU_OK);
        if (format)
            assert_int_equal(upmu_session_format(&host.session, &histogram_format, &never, sizeof never), UPMU_OK);
        host_begin(&host, &host.session);
        for (unsigned round = 0; round < 8; round++) {
            bool hide = round & 1, shown = (round & 2) || !hide;

            upmu_session_hide_kernel(&host.session, hide);
            burst.user = round & 2;
            upmu_sim_events(&host.sim, &burst);
            if (format) {
                assert_int_equal(histogram.ip != 0, shown);
                continue;
            }
            assert_true(upmu_ring_next(&host.session.ring, &sample));
            assert_int_equal(sample.ip != 0, shown);
            assert_true(shown || !sample.sp);
            assert_int_equal(sample.flags, burst.user ? UPMU_SAMPLE_USER : shown ? 0 : UPMU_SAMPLE_HIDDEN);
            assert_int_equal(upmu_queue_read(&queue, &message, 1, &count), UPMU_OK);
            assert_int_equal(message.ip, sample.ip);
            assert_int_equal(upmu_session_restart(&host.session), UPMU_OK);
        }
        host_end(&host);
    }
}

static void another_format_or_the_default_ends_the_one_before(void **state)
{
    unsigned never = 0;
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_session_format(&host.session, &histogram_format, &never, sizeof never), UPMU_OK);
    assert_int_equal(upmu_session_format(&host.session, &silent_format, &never, sizeof never), UPMU_ERR_INVALID);
    assert_int_equal(histogram.ends, 0);
    assert_int_equal(upmu_session_format(&host.session, &silent_format, NULL, 0), UPMU_OK);
    assert_int_equal(histogram.ends, 1);
    assert_int_equal(upmu_session_format(&host.session, upmu_format_by_name(formats, "default"), &never, 1),
                     UPMU_ERR_INVALID);
    assert_int_equal(upmu_session_format(&host.session, upmu_format_by_name(formats, "default"), NULL, 0), UPMU_OK);
    host_sample(&host, "instructions", 100);
    host_run(&host, 100);
    assert_int_equal(host_drain(&host, NULL), 1);
    host_end(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_carry_the_values_that_an_event_asks_for_in_order),
        cmocka_unit_test(values_come_in_increasing_order_and_may_name_the_event),
        cmocka_unit_test(plain_samples_and_extended_ones_share_a_ring),
        cmocka_unit_test(records_of_all_lengths_wrap_in_a_small_ring),
        cmocka_unit_test(formats_are_found_by_name_and_unknown_names_are_not),
        cmocka_unit_test(a_registered_format_takes_overflows_instead_of_the_ring),
        cmocka_unit_test(the_format_decides_about_masking_messages_and_restart),
        cmocka_unit_test(addresses_of_the_kernel_are_hidden_where_asked_for),
        cmocka_unit_test(another_format_or_the_default_ends_the_one_before),
    };
    return cmocka_run_group_tests_name("format", tests, NULL, NULL);
}
