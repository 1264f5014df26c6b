/* SPDX-License-Identifier: MIT */
/*
 * What layers above the library ask and tell of events, sessions and queues (upmu/abi.h), without a field of theirs:
 * how far an event is, and that one which is made anew goes on from there.
 *
 * The class of mistake: an event that is made anew begins a full period, or forgets what its session was masked by.
 */
#include "tests/common/host.h"
#include <upmu/abi.h>
#include <upmu/event.h>
#include <upmu/format.h>
#include <upmu/message.h>
#include <upmu/session.h>
#include <upmu/set.h>

#define PERIOD 1000u
#define LONG 5000u

static struct host host;
static struct upmu_session *const session = &host.sessions[0];

static struct upmu_progress progress_of(unsigned index)
{
    struct upmu_progress progress;

    memset(&progress, 0xa5, sizeof progress);
    upmu_set_progress(&session->set, index, &progress);
    return progress;
}

static void add(const char *list, const struct upmu_sampling *sampling)
{
    assert_int_equal(upmu_set_add(&session->set, list, sampling), UPMU_OK);
}

static void detach(void)
{
    assert_int_equal(upmu_session_detach(session), UPMU_OK);
}

static void an_event_is_told_as_it_was_encoded(void **state)
{
    struct upmu_event event;

    (void)state;
    host_set_up(&host, "skylake");
    add("cycles:u,branches", NULL);
    assert_int_equal(upmu_event_parse(host.cpu[0].meter.pmu, "branches", &event, NULL), UPMU_OK);
    assert_non_null(upmu_set_event(&session->set, 1));
    assert_memory_equal(upmu_set_event(&session->set, 1), &event, sizeof event);
    assert_null(upmu_set_event(&session->set, 2));
    assert_null(upmu_set_event(&session->set, ~0u));
    host_end(&host);
}

static void progress_tells_counts_periods_and_what_is_due(void **state)
{
    const struct upmu_sampling sampling = {.period = PERIOD};
    struct upmu_progress progress;

    (void)state;
    host_set_up(&host, "skylake");
    add("instructions", &sampling);
    add("branches", NULL);
    assert_int_equal(upmu_session_ring(session, host.ring, sizeof host.ring), UPMU_OK);
    host_begin(&host, session);
    for (unsigned i = 0; i < 37; i++)
        host_run(&host, 100);
    assert_int_equal(upmu_session_stop(session), UPMU_OK);
    progress = progress_of(0);
    assert_int_equal(progress.count, 3700);
    assert_int_equal(progress.due, 4000);
    assert_int_equal(progress.reset, PERIOD);
    assert_int_equal(progress.overflows, 3);
    assert_int_equal(progress.lost + progress.to_switch + progress.lent, 0);
    progress = progress_of(1);
    assert_int_equal(progress.count, 1850);
    assert_int_equal(progress.due | progress.reset | progress.overflows, 0);
    progress = progress_of(2);
    assert_int_equal(progress.count | progress.due | progress.reset | progress.overflows | progress.lent, 0);
    progress = progress_of(~0u);
    assert_int_equal(progress.count | progress.due | progress.reset, 0);
    detach();
    host_end(&host);
}

/* 3,700 instructions, then events anew: the next sample comes after 300, later ones every period of the new event. */
static void an_event_that_is_made_anew_goes_on(void **state)
{
    const struct upmu_sampling before = {.period = PERIOD}, after = {.period = 2 * PERIOD};
    struct upmu_progress progress, counted;

    (void)state;
    host_set_up(&host, "skylake");
    add("instructions", &before);
    add("branches", NULL);
    assert_int_equal(upmu_session_ring(session, host.ring, sizeof host.ring), UPMU_OK);
    host_begin(&host, session);
    for (unsigned i = 0; i < 37; i++)
        host_run(&host, 100);
    detach();
    assert_int_equal(host_drain(&host, NULL), 3);
    progress = progress_of(0);
    counted = progress_of(1);
    assert_int_equal(upmu_set_clear(&session->set), UPMU_OK);
    assert_int_equal(session->set.count, 0);
    assert_null(upmu_set_event(&session->set, 0));
    add("branches", NULL);
    add("instructions", &after);
    assert_int_equal(upmu_set_continue(&session->set, 1, &progress), UPMU_OK);
    assert_int_equal(upmu_set_continue(&session->set, 0, &counted), UPMU_OK);
    host_begin(&host, session);
    host_run(&host, 290);
    assert_int_equal(host_drain(&host, NULL), 0);
    host_run(&host, 10);
    assert_int_equal(host_drain(&host, NULL), 1);
    host_run(&host, 1990);
    assert_int_equal(host_drain(&host, NULL), 0);
    host_run(&host, 10);
    assert_int_equal(host_drain(&host, NULL), 1);
    assert_int_equal(host_value(session, 1), 3700 + 2300);
    assert_int_equal(host_value(session, 0), (3700 + 2300) / 2);
    detach();
    host_end(&host);
}

/* The second overflow ends the set, though its event is made anew after the first one. */
static void overflows_until_the_next_set_go_on(void **state)
{
    const struct upmu_sampling sampling = {.period = PERIOD, .switch_after = 2};
    struct upmu_progress progress;
    struct upmu_session_info info;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_session_add_set(session, NULL, 0, UPMU_SET_OVERFLOW_SWITCH, 0), UPMU_OK);
    add("instructions", &sampling);
    assert_int_equal(upmu_session_add_set(session, &host.sets[1], 1, 0, 0), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.sets[1], "cycles", NULL), UPMU_OK);
    assert_int_equal(upmu_session_ring(session, host.ring, sizeof host.ring), UPMU_OK);
    assert_int_equal(upmu_session_shuffle(session, false, 0), UPMU_OK);
    host_begin(&host, session);
    host_run(&host, PERIOD + 100);
    detach();
    progress = progress_of(0);
    assert_int_equal(progress.to_switch, 1);
    assert_int_equal(upmu_set_clear(&session->set), UPMU_OK);
    add("instructions", &sampling);
    assert_int_equal(upmu_set_continue(&session->set, 0, &progress), UPMU_OK);
    host_begin(&host, session);
    upmu_session_ask(session, &info);
    assert_ptr_equal(info.active, &session->set);
    host_run(&host, PERIOD);
    upmu_session_ask(session, &info);
    assert_ptr_equal(info.active, &host.sets[1]);
    detach();
    host_end(&host);
}

static void what_is_refused_changes_nothing(void **state)
{
    const struct upmu_sampling sampling = {.period = PERIOD};
    const struct {
        unsigned index;
        struct upmu_progress from;
    } wrong[] = {
        {2, {.due = 1, .reset = 1}},
        {0, {.due = 1, .reset = 0}},
        {0, {.due = 1, .reset = UINT64_C(1) << 63}},
        {0, {.due = 0, .reset = 1}},
        {0, {.count = 7, .due = 7, .reset = 1}},
        {0, {.count = 7, .due = 7 + (UINT64_C(1) << 63), .reset = 1}},
    };
    const struct upmu_progress longest = {.count = 7, .due = 6 + (UINT64_C(1) << 63), .reset = ~UINT64_C(0) >> 1};
    struct upmu_set lone = {0};

    (void)state;
    host_set_up(&host, "skylake");
    add("instructions", &sampling);
    add("branches", NULL);
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(upmu_set_continue(&session->set, wrong[i].index, &wrong[i].from), UPMU_ERR_INVALID, i);
        assert_int_equal(session->why.status, UPMU_ERR_INVALID);
        assert_int_equal(progress_of(0).due, PERIOD);
    }
    assert_int_equal(upmu_set_continue(&session->set, 0, &longest), UPMU_OK);
    assert_int_equal(progress_of(0).reset, longest.reset);
    assert_int_equal(upmu_set_continue(&lone, 0, &longest), UPMU_ERR_STATE);
    assert_int_equal(upmu_set_clear(&lone), UPMU_ERR_STATE);
    assert_int_equal(upmu_session_continue(session, 1, true), UPMU_ERR_STATE);
    host_begin(&host, session);
    assert_int_equal(upmu_set_continue(&session->set, 0, &longest), UPMU_ERR_STATE);
    assert_int_equal(session->why.status, UPMU_ERR_STATE);
    assert_int_equal(upmu_set_clear(&session->set), UPMU_ERR_STATE);
    assert_int_equal(upmu_session_continue(session, 1, true), UPMU_ERR_STATE);
    assert_int_equal(session->state, UPMU_SESSION_RUNNING);
    assert_int_equal(session->set.count, 2);
    detach();
    host_end(&host);
}

static void begin_masked(struct upmu_queue *queue, struct upmu_message *messages)
{
    const struct upmu_sampling sampling = {.period = PERIOD, .long_period = LONG, .flags = UPMU_SAMPLING_NOTIFY};

    host_set_up(&host, "skylake");
    assert_int_equal(upmu_session_messages(session, queue, messages, 4, 0, NULL), UPMU_OK);
    add("instructions", &sampling);
    host_begin(&host, session);
    host_run(&host, PERIOD);
    assert_int_equal(session->state, UPMU_SESSION_MASKED);
}

static uint64_t left(void)
{
    struct upmu_count count;

    assert_int_equal(upmu_set_read(&session->set, 0, 1, &count), UPMU_OK);
    return count.left;
}

/* What masked a session is told, and told back for events that are made anew: they begin with their long periods. */
static void a_session_goes_on_masked(void **state)
{
    const struct upmu_sampling sampling = {.period = PERIOD, .long_period = LONG, .flags = UPMU_SAMPLING_NOTIFY};
    struct upmu_message messages[4];
    struct upmu_session_info info;
    struct upmu_queue queue;

    (void)state;
    for (unsigned masked = 0; masked < 2; masked++)
        for (uint32_t by = 0; by < 2; by++) {
            begin_masked(&queue, messages);
            detach();
            upmu_session_ask(session, &info);
            assert_int_equal(info.stopped_by, 1);
            assert_int_equal(upmu_set_clear(&session->set), UPMU_OK);
            upmu_session_ask(session, &info);
            assert_int_equal(info.stopped_by, 0);
            add("instructions", &sampling);
            assert_int_equal(upmu_session_attach_cpu(session, &host.cpu[0]), UPMU_OK);
            assert_int_equal(upmu_session_continue(session, by, masked), UPMU_OK);
            assert_int_equal(session->state, masked ? UPMU_SESSION_MASKED : UPMU_SESSION_STOPPED);
            assert_int_equal(upmu_session_restart(session), UPMU_OK);
            assert_int_equal(session->state, masked ? UPMU_SESSION_RUNNING : UPMU_SESSION_STOPPED);
            assert_int_equal(upmu_session_start(session), UPMU_OK);
            assert_int_equal(left(), by ? LONG : PERIOD);
            detach();
            host_end(&host);
        }
}

static void a_session_says_where_it_is_and_which_set_runs(void **state)
{
    struct upmu_session_info info;

    (void)state;
    host_set_up(&host, "skylake");
    host_threads(&host, 2);
    add("instructions", NULL);
    assert_int_equal(upmu_session_add_set(session, &host.sets[1], 1, 0, 0), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.sets[1], "cycles", NULL), UPMU_OK);
    upmu_session_ask(session, &info);
    assert_null(info.cpu);
    assert_null(info.thread);
    assert_ptr_equal(info.active, &session->set);
    host_begin(&host, session);
    assert_int_equal(upmu_session_switch(session, &host.sets[1]), UPMU_OK);
    upmu_session_ask(session, &info);
    assert_ptr_equal(info.cpu, &host.cpu[0]);
    assert_null(info.thread);
    assert_ptr_equal(info.active, &host.sets[1]);
    detach();
    assert_int_equal(upmu_session_attach_thread(session, &host.threads[1], &host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_start(session), UPMU_OK);
    upmu_session_ask(session, &info);
    assert_ptr_equal(info.cpu, &host.cpu[0]);
    assert_ptr_equal(info.thread, &host.threads[1]);
    host_thread_switch(&host, 0, 0);
    upmu_session_ask(session, &info);
    assert_null(info.cpu);
    assert_ptr_equal(info.thread, &host.threads[1]);
    detach();
    host_end(&host);
}

static void a_counter_runs_while_its_session_does(void **state)
{
    unsigned counter;

    (void)state;
    host_set_up(&host, "skylake");
    add("branches", NULL);
    host_begin(&host, session);
    counter = session->set.tally[0].counter;
    for (unsigned i = 0; i < 64; i++)
        assert_int_equal(upmu_counter_runs(&host.cpu[0], i), i == counter, i);
    assert_int_equal(upmu_session_stop(session), UPMU_OK);
    assert_false(upmu_counter_runs(&host.cpu[0], counter));
    detach();
    host_end(&host);
}

static void add_eight(void *context, struct upmu_message *message)
{
    unsigned *calls = context;

    message->events = 8u + (*calls)++;
}

/* Two messages wait, around the end of the memory. */
static void messages_that_wait_are_renamed_from_the_oldest_on(void **state)
{
    struct upmu_message messages[4], read[4];
    struct upmu_queue queue;
    unsigned calls = 0;
    uint32_t count;

    (void)state;
    begin_masked(&queue, messages);
    for (unsigned i = 0; i < 4; i++) {
        if (i == 3)
            assert_int_equal(upmu_queue_read(&queue, read, 3, &count), UPMU_OK);
        assert_int_equal(upmu_session_restart(session), UPMU_OK);
        host_run(&host, LONG);
    }
    detach();
    assert_int_equal(upmu_queue_waiting(&queue), 2);
    upmu_queue_rename(&queue, add_eight, &calls);
    assert_int_equal(calls, 2);
    assert_int_equal(upmu_queue_read(&queue, read, 4, &count), UPMU_OK);
    assert_int_equal(count, 2);
    assert_int_equal(read[0].events, 8);
    assert_int_equal(read[1].events, 9);
    upmu_queue_rename(&queue, add_eight, &calls);
    assert_int_equal(calls, 2);
    host_end(&host);
}

static unsigned note_id(void *state, const struct upmu_overflow *overflow, bool notify)
{
    uint64_t *ids = state;

    (void)notify;
    ids[overflow->event] = upmu_overflow_event_id(overflow);
    return 0;
}

static enum upmu_status begin_ids(struct upmu_session *of, const void *argument, size_t bytes, void **out_state)
{
    (void)of;
    (void)bytes;
    memcpy(out_state, argument, sizeof *out_state);
    return UPMU_OK;
}

static void a_format_is_told_the_id_of_the_event_that_overflowed(void **state)
{
    static const struct upmu_format format = {.name = "ids", .begin = begin_ids, .overflow = note_id};
    const struct upmu_sampling one = {.period = PERIOD, .event_id = UINT64_C(0x123456789a)};
    const struct upmu_sampling two = {.period = PERIOD, .event_id = ~UINT64_C(0)};
    static uint64_t ids[2];
    uint64_t *argument = ids;

    (void)state;
    host_set_up(&host, "skylake");
    add("instructions", &one);
    add("branches", &two);
    assert_int_equal(upmu_session_format(session, &format, &argument, sizeof argument), UPMU_OK);
    host_begin(&host, session);
    host_run(&host, 2 * PERIOD);
    assert_int_equal(ids[0], one.event_id);
    assert_int_equal(ids[1], two.event_id);
    detach();
    host_end(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_is_told_as_it_was_encoded),
        cmocka_unit_test(progress_tells_counts_periods_and_what_is_due),
        cmocka_unit_test(an_event_that_is_made_anew_goes_on),
        cmocka_unit_test(overflows_until_the_next_set_go_on),
        cmocka_unit_test(what_is_refused_changes_nothing),
        cmocka_unit_test(a_session_goes_on_masked),
        cmocka_unit_test(a_session_says_where_it_is_and_which_set_runs),
        cmocka_unit_test(a_counter_runs_while_its_session_does),
        cmocka_unit_test(messages_that_wait_are_renamed_from_the_oldest_on),
        cmocka_unit_test(a_format_is_told_the_id_of_the_event_that_overflowed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
