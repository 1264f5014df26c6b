/* SPDX-License-Identifier: MIT */
/*
 * Messages: queued one by one, told by hooks, never in parts, and what happens to the
 * session until it is restarted.
 */
#include <upmu/format.h>
#include <upmu/message.h>
#include <upmu/session.h>
#include "tests/common/host.h"

#define CAPACITY 4

struct ears {
    unsigned wakes, signals, blocks, unblocks;
    int number;
    struct upmu_session *session;
};

static void hear_wake(void *context, struct upmu_session *session)
{
    struct ears *ears = context;
    ears->wakes++;
    ears->session = session;
}

static void hear_signal(void *context, struct upmu_session *session, int number)
{
    struct ears *ears = context;
    (void)session;
    ears->signals++;
    ears->number = number;
}

static void hear_block(void *context, struct upmu_session *session)
{
    struct ears *ears = context;
    (void)session;
    ears->blocks++;
}

static void hear_unblock(void *context, struct upmu_session *session)
{
    struct ears *ears = context;
    (void)session;
    ears->unblocks++;
}

struct listener {
    struct host host;
    struct ears ears;
    struct upmu_notify notify;
    struct upmu_queue queue;
    struct upmu_message messages[CAPACITY];
};

static void listen_to(struct listener *listener, const char *profile, const char *list, uint64_t period, uint32_t flags)
{
    struct upmu_sampling sampling = {.period = period, .flags = UPMU_SAMPLING_NOTIFY};
    struct host *host = &listener->host;

    memset(listener, 0, sizeof *listener);
    host_set_up(host, profile);
    host->process = 71;
    host->thread = 72;
    listener->notify = (struct upmu_notify){.context = &listener->ears,
                                            .wake = hear_wake,
                                            .signal = hear_signal,
                                            .block = hear_block,
                                            .unblock = hear_unblock,
                                            .signal_number = 29};
    assert_int_equal(upmu_set_add(&host->session.set, list, &sampling), UPMU_OK);
    assert_int_equal(upmu_session_messages(&host->session, &listener->queue, listener->messages, CAPACITY, flags,
                                           &listener->notify),
                     UPMU_OK);
    host_begin(host, &host->session);
}

static unsigned take(struct listener *listener, struct upmu_message *out)
{
    uint32_t count;
    return upmu_queue_read(&listener->queue, out, CAPACITY, &count) == UPMU_OK ? count : 0;
}

static void an_overflow_that_notifies_makes_one_message_with_all_fields(void **state)
{
    struct upmu_message message[CAPACITY];
    struct listener l;

    (void)state;
    listen_to(&l, "skylake", "instructions", 100, 0);
    host_run(&l.host, 99);
    assert_int_equal(upmu_queue_waiting(&l.queue), 0);
    host_run(&l.host, 1);
    assert_int_equal(upmu_queue_waiting(&l.queue), 1);
    assert_int_equal(take(&l, message), 1);
    assert_int_equal(message[0].type, UPMU_MESSAGE_OVERFLOW);
    assert_int_equal(message[0].type, 1);
    assert_int_equal(message[0].process, 71);
    assert_int_equal(message[0].thread, 72);
    assert_int_equal(message[0].events, 1);
    assert_int_equal(message[0].set, 0);
    assert_int_equal(message[0].cpu, 0);
    assert_int_equal(message[0].dropped, 0);
    assert_int_equal(message[0].ip, 0x1001);
    assert_int_equal(take(&l, message), 0);
    host_end(&l.host);
}

/* P2-117: the CPU of the interrupt, which is not the first. */
static void a_message_names_the_cpu_that_was_interrupted(void **state)
{
    struct upmu_sampling sampling = {.period = 100, .flags = UPMU_SAMPLING_NOTIFY};
    struct upmu_message message[CAPACITY];
    struct listener l;

    (void)state;
    memset(&l, 0, sizeof l);
    host_set_up(&l.host, "skylake");
    upmu_sim_switch_cpu(&l.host.sim, 1);
    assert_int_equal(upmu_cpu_init(&l.host.cpu[1], &l.host.machine, NULL), UPMU_OK);
    assert_int_equal(upmu_set_add(&l.host.session.set, "instructions", &sampling), UPMU_OK);
    assert_int_equal(upmu_session_messages(&l.host.session, &l.queue, l.messages, CAPACITY, 0, NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(&l.host.session, &l.host.cpu[1]), UPMU_OK);
    assert_int_equal(upmu_session_start(&l.host.session), UPMU_OK);
    host_run(&l.host, 100);
    assert_int_equal(take(&l, message), 1);
    assert_int_equal(message[0].cpu, 1);
    assert_int_equal(upmu_session_close(&l.host.session), UPMU_OK);
    assert_int_equal(upmu_cpu_fini(&l.host.cpu[1]), UPMU_OK);
    upmu_sim_switch_cpu(&l.host.sim, 0);
    host_end(&l.host);
}

static void a_session_that_notified_counts_nothing_until_it_is_restarted(void **state)
{
    static const char *const profiles[] = {"skylake", "core2", "nehalem", "version1", "k8_revf", "zen2", "zen4"};
    struct upmu_message message[CAPACITY];
    struct listener l;

    (void)state;
    for (unsigned i = 0; i < sizeof profiles / sizeof *profiles; i++) {
        listen_to(&l, profiles[i], "instructions", 100, 0);
        host_run(&l.host, 100);
        assert_int_equal(l.host.session.state, UPMU_SESSION_MASKED);
        host_run(&l.host, 1000);
        assert_int_equal(host_value(&l.host.session, 0), 100);
        assert_int_equal(upmu_queue_waiting(&l.queue), 1);
        assert_int_equal(upmu_session_restart(&l.host.session), UPMU_OK);
        assert_int_equal(l.host.session.state, UPMU_SESSION_RUNNING);
        host_run(&l.host, 99);
        assert_int_equal(upmu_queue_waiting(&l.queue), 1);
        host_run(&l.host, 1);
        assert_int_equal(upmu_queue_waiting(&l.queue), 2);
        assert_int_equal(take(&l, message), 2);
        assert_int_equal(host_value(&l.host.session, 0), 200);
        host_end(&l.host);
    }
}

static void counters_that_overflow_together_make_one_message_of_two_bits(void **state)
{
    struct upmu_sampling sampling = {.period = 200, .flags = UPMU_SAMPLING_NOTIFY};
    struct upmu_message message[CAPACITY];
    struct listener l;

    (void)state;
    memset(&l, 0, sizeof l);
    host_set_up(&l.host, "skylake");
    assert_int_equal(upmu_set_add(&l.host.session.set, "cycles", &sampling), UPMU_OK);
    sampling.period = 100;
    assert_int_equal(upmu_set_add(&l.host.session.set, "instructions", &sampling), UPMU_OK);
    assert_int_equal(upmu_session_messages(&l.host.session, &l.queue, l.messages, CAPACITY, 0, NULL), UPMU_OK);
    host_begin(&l.host, &l.host.session);
    host_run(&l.host, 100);
    assert_int_equal(take(&l, message), 1);
    assert_int_equal(message[0].events, 3);
    host_end(&l.host);
}

/* The hardware wraps a counter that cannot be loaded with a whole period: that is no overflow. */
static void a_wrap_of_the_hardware_makes_no_message(void **state)
{
    struct listener l;

    (void)state;
    listen_to(&l, "core2", "branches", UINT64_C(5000000000), 0);
    host_run(&l.host, UINT64_C(9999999998));
    assert_compare(l.host.answers, >, 0);
    assert_int_equal(upmu_queue_waiting(&l.queue), 0);
    assert_int_equal(l.ears.wakes, 0);
    host_run(&l.host, 200);
    assert_int_equal(upmu_queue_waiting(&l.queue), 1);
    host_end(&l.host);
}

static void messages_wake_and_signal_and_block_the_thread_until_restart(void **state)
{
    struct listener l;

    (void)state;
    listen_to(&l, "skylake", "instructions", 100, UPMU_QUEUE_BLOCK);
    host_run(&l.host, 100);
    assert_int_equal(l.ears.wakes, 1);
    assert_ptr_equal(l.ears.session, &l.host.session);
    assert_int_equal(l.ears.signals, 1);
    assert_int_equal(l.ears.number, 29);
    assert_int_equal(l.ears.blocks, 1);
    assert_int_equal(l.ears.unblocks, 0);
    assert_int_equal(upmu_session_restart(&l.host.session), UPMU_OK);
    assert_int_equal(l.ears.unblocks, 1);
    assert_int_equal(upmu_session_restart(&l.host.session), UPMU_OK);
    assert_int_equal(l.ears.unblocks, 1);
    host_end(&l.host);
}

static void without_blocking_the_thread_is_never_blocked(void **state)
{
    struct listener l;

    (void)state;
    listen_to(&l, "skylake", "instructions", 100, 0);
    host_run(&l.host, 100);
    assert_int_equal(l.ears.wakes, 1);
    assert_int_equal(l.ears.blocks, 0);
    assert_int_equal(upmu_session_restart(&l.host.session), UPMU_OK);
    assert_int_equal(l.ears.unblocks, 0);
    host_end(&l.host);
}

static void without_messages_hooks_are_called_and_the_queue_stays_empty(void **state)
{
    struct upmu_message message[CAPACITY];
    struct listener l;

    (void)state;
    listen_to(&l, "skylake", "instructions", 100, UPMU_QUEUE_NO_MESSAGES);
    host_run(&l.host, 100);
    assert_int_equal(l.ears.wakes, 1);
    assert_int_equal(l.ears.signals, 1);
    assert_int_equal(upmu_queue_waiting(&l.queue), 0);
    assert_int_equal(take(&l, message), 0);
    assert_int_equal(l.host.session.state, UPMU_SESSION_MASKED);
    host_end(&l.host);
}

static void an_event_that_does_not_notify_makes_no_message(void **state)
{
    struct upmu_sampling sampling = {.period = 100};
    struct upmu_sampling notifying = {.period = 1000000, .flags = UPMU_SAMPLING_NOTIFY};
    struct listener l;

    (void)state;
    for (unsigned beside = 0; beside < 2; beside++) {
        memset(&l, 0, sizeof l);
        host_set_up(&l.host, "skylake");
        assert_int_equal(upmu_set_add(&l.host.session.set, "instructions", &sampling), UPMU_OK);
        if (beside) /* an event that does, and is not due */
            assert_int_equal(upmu_set_add(&l.host.session.set, "branches", &notifying), UPMU_OK);
        assert_int_equal(upmu_session_messages(&l.host.session, &l.queue, l.messages, CAPACITY, 0, NULL), UPMU_OK);
        host_begin(&l.host, &l.host.session);
        host_run(&l.host, 1000);
        assert_int_equal(upmu_queue_waiting(&l.queue), 0);
        assert_int_equal(l.host.session.state, UPMU_SESSION_RUNNING);
        assert_int_equal(host_value(&l.host.session, 0), 1000);
        host_end(&l.host);
    }
}

static void a_full_queue_drops_the_message_says_so_and_masks(void **state)
{
    struct upmu_message message[CAPACITY];
    struct listener l;

    (void)state;
    listen_to(&l, "skylake", "instructions", 100, 0);
    for (unsigned i = 0; i < CAPACITY + 2; i++) {
        host_run(&l.host, 100);
        assert_int_equal(l.host.session.state, UPMU_SESSION_MASKED);
        assert_int_equal(upmu_session_restart(&l.host.session), UPMU_OK);
    }
    assert_int_equal(upmu_queue_waiting(&l.queue), CAPACITY);
    assert_int_equal(l.queue.dropped, 2);
    assert_int_equal(l.ears.wakes, CAPACITY + 2);
    assert_int_equal(take(&l, message), CAPACITY);
    assert_int_equal(message[CAPACITY - 1].dropped, 0);
    host_run(&l.host, 100);
    assert_int_equal(take(&l, message), 1);
    assert_int_equal(message[0].dropped, 2);
    host_end(&l.host);
}

static unsigned notify_alone(void *state, const struct upmu_overflow *overflow, bool notify)
{
    (void)state;
    (void)overflow;
    return notify ? UPMU_OVERFLOW_NOTIFY : 0;
}

/*
 * P2-112: a queue without room masks, also where the format does not: nothing more happens until its owner has
 * looked.  Catches a mask that is only the format's.
 */
static void a_full_queue_masks_what_the_format_does_not(void **state)
{
    static const struct upmu_format format = {"notify", NULL, notify_alone, NULL, NULL};
    struct upmu_sampling sampling = {.period = 100, .flags = UPMU_SAMPLING_NOTIFY};
    struct upmu_message message[CAPACITY];
    struct listener l;

    (void)state;
    memset(&l, 0, sizeof l);
    host_set_up(&l.host, "skylake");
    assert_int_equal(upmu_set_add(&l.host.session.set, "instructions", &sampling), UPMU_OK);
    assert_int_equal(upmu_session_messages(&l.host.session, &l.queue, l.messages, CAPACITY, 0, NULL), UPMU_OK);
    assert_int_equal(upmu_session_format(&l.host.session, &format, NULL, 0), UPMU_OK);
    host_begin(&l.host, &l.host.session);
    for (unsigned i = 1; i <= CAPACITY; i++) {
        host_run(&l.host, 100);
        assert_int_equal(l.host.session.state, UPMU_SESSION_RUNNING);
        assert_int_equal(upmu_queue_waiting(&l.queue), i);
    }
    host_run(&l.host, 100);
    assert_int_equal(l.host.session.state, UPMU_SESSION_MASKED);
    host_run(&l.host, 1000);
    assert_int_equal(host_value(&l.host.session, 0), 100 * (CAPACITY + 1));
    assert_int_equal(l.queue.dropped, 1);
    assert_int_equal(take(&l, message), CAPACITY);
    assert_int_equal(upmu_session_restart(&l.host.session), UPMU_OK);
    host_run(&l.host, 100);
    assert_int_equal(l.host.session.state, UPMU_SESSION_RUNNING);
    assert_int_equal(take(&l, message), 1);
    assert_int_equal(message[0].dropped, 1);
    host_end(&l.host);
}

static void messages_come_out_in_order_whole_and_as_many_as_asked_for(void **state)
{
    struct upmu_message message[CAPACITY];
    struct listener l;
    uint32_t count = 9;

    (void)state;
    listen_to(&l, "skylake", "instructions", 100, 0);
    assert_int_equal(upmu_queue_read(&l.queue, message, 1, &count), UPMU_ERR_END);
    assert_int_equal(count, 0);
    /* More than the queue holds, so that it wraps. */
    for (uint32_t i = 0, next = 0; i < 11; i++) {
        l.host.thread = i;
        host_run(&l.host, 100);
        assert_int_equal(upmu_session_restart(&l.host.session), UPMU_OK);
        if (i % 3 != 2)
            continue;
        assert_int_equal(upmu_queue_read(&l.queue, message, 2, &count), UPMU_OK);
        assert_int_equal(count, 2);
        assert_int_equal(message[0].thread, next++);
        assert_int_equal(message[1].thread, next++);
        assert_int_equal(upmu_queue_read(&l.queue, message, CAPACITY, &count), UPMU_OK);
        assert_int_equal(count, 1);
        assert_int_equal(message[0].thread, next++);
    }
    assert_int_equal(upmu_queue_read(&l.queue, message, 0, &count), UPMU_ERR_INVALID);
    assert_int_equal(count, 0);
    assert_int_equal(upmu_queue_waiting(&l.queue), 2);
    host_end(&l.host);
}

static void queues_of_odd_sizes_and_unknown_flags_are_refused(void **state)
{
    struct upmu_sampling sampling = {.period = 100, .flags = 0x80000000u};
    struct listener l;
    struct upmu_session *session = &l.host.session;

    (void)state;
    memset(&l, 0, sizeof l);
    host_set_up(&l.host, "skylake");
    assert_int_equal(upmu_set_add(&session->set, "instructions", &sampling), UPMU_ERR_INVALID);
    assert_int_equal(upmu_set_add(&session->set, "instructions", NULL), UPMU_OK);
    assert_int_equal(upmu_session_messages(session, &l.queue, l.messages, 3, 0, NULL), UPMU_ERR_INVALID);
    assert_int_equal(upmu_session_messages(session, &l.queue, l.messages, 0, 0, NULL), UPMU_ERR_INVALID);
    assert_int_equal(upmu_session_messages(session, &l.queue, l.messages, CAPACITY, 4, NULL), UPMU_ERR_INVALID);
    assert_int_equal(upmu_session_messages(session, &l.queue, NULL, 0, UPMU_QUEUE_NO_MESSAGES, NULL), UPMU_OK);
    assert_int_equal(upmu_session_messages(session, NULL, NULL, 0, 0, NULL), UPMU_OK);
    assert_null(session->queue);
    assert_int_equal(upmu_session_messages(session, NULL, NULL, 3, ~0u, NULL), UPMU_OK);
    host_begin(&l.host, session);
    assert_int_equal(upmu_session_messages(session, &l.queue, l.messages, CAPACITY, 0, NULL), UPMU_ERR_STATE);
    host_end(&l.host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_overflow_that_notifies_makes_one_message_with_all_fields),
        cmocka_unit_test(a_message_names_the_cpu_that_was_interrupted),
        cmocka_unit_test(a_session_that_notified_counts_nothing_until_it_is_restarted),
        cmocka_unit_test(counters_that_overflow_together_make_one_message_of_two_bits),
        cmocka_unit_test(a_wrap_of_the_hardware_makes_no_message),
        cmocka_unit_test(messages_wake_and_signal_and_block_the_thread_until_restart),
        cmocka_unit_test(without_blocking_the_thread_is_never_blocked),
        cmocka_unit_test(without_messages_hooks_are_called_and_the_queue_stays_empty),
        cmocka_unit_test(an_event_that_does_not_notify_makes_no_message),
        cmocka_unit_test(a_full_queue_drops_the_message_says_so_and_masks),
        cmocka_unit_test(a_full_queue_masks_what_the_format_does_not),
        cmocka_unit_test(messages_come_out_in_order_whole_and_as_many_as_asked_for),
        cmocka_unit_test(queues_of_odd_sizes_and_unknown_flags_are_refused),
    };
    return cmocka_run_group_tests_name("message", tests, NULL, NULL);
}
