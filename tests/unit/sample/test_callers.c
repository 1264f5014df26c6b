/* SPDX-License-Identifier: MIT */
/*
 * Callers in records (upmu_session_callers()): walks over a stack that is not to be trusted.
 */
#include <upmu/results.h>
#include <upmu/session.h>
#include "tests/common/garbage.h"
#include "tests/common/host.h"
#include "tests/common/state.h"

/* A stack of frames at 0x7000, 0x7010, ...: frame i returns to 0xa000 + i. */
struct stack {
    unsigned frames;   /* that can be read */
    unsigned zero;     /* this one returns to 0 */
    uint64_t back_at;  /* from this frame on ... */
    uint64_t back;     /* ... the next is here */
    unsigned reads;
    bool user;         /* as the hook was told */
    uint64_t last;
};

static bool stack_read(void *context, uint64_t fp, bool user, uint64_t *out_next, uint64_t *out_return)
{
    struct stack *stack = context;

    stack->reads++;
    stack->user = user;
    stack->last = fp;
    if (fp < 0x7000 || fp % 16 || (fp - 0x7000) / 16 >= stack->frames) {
        *out_next = GARBAGE;
        return garbage(out_return);
    }
    *out_next = stack->back_at == fp ? stack->back : fp + 16;
    *out_return = (fp - 0x7000) / 16 == stack->zero ? 0 : 0xa000 + (fp - 0x7000) / 16;
    return true;
}

static struct host host;
static struct stack stack;
static struct upmu_callers callers;

/* The session samples with so many callers. */
static void sample_list(unsigned depth, const char *list, size_t ring)
{
    struct upmu_sampling sampling = {.period = 100};

    stack = (struct stack){.frames = 1000, .zero = 1000};
    callers = (struct upmu_callers){.read = stack_read, .context = &stack, .depth = depth};
    host_set_up(&host, "skylake");
    host.fp = 0x7000;
    assert_int_equal(upmu_set_add(&host.session.set, list, &sampling), UPMU_OK);
    assert_int_equal(upmu_session_ring(&host.session, host.ring, ring), UPMU_OK);
    assert_int_equal(upmu_session_callers(&host.session, &callers), UPMU_OK);
    host_begin(&host, &host.session);
}

static void sample_callers(unsigned depth)
{
    sample_list(depth, "instructions", sizeof host.ring);
}

static void callers_come_nearest_first_and_as_deep_as_asked_for(void **state)
{
    struct upmu_record record;

    (void)state;
    for (unsigned depth = 1; depth <= UPMU_CALLERS_DEPTH; depth++) {
        sample_callers(depth);
        host_run(&host, 100);
        assert_true(upmu_ring_view(&host.session.ring, &record));
        assert_true(record.extended);
        assert_int_equal(record.frames, depth);
        assert_int_equal(stack.reads, depth);
        assert_false(stack.user);
        for (unsigned i = 0; i < depth; i++)
            assert_int_equal(record.frame[i], 0xa000 + i, i);
        assert_int_equal(record.sample->ip, 0x1064);
        assert_int_equal(record.last_reset, 100);
        upmu_ring_drop(&host.session.ring);
        assert_false(upmu_ring_view(&host.session.ring, &record));
        host_end(&host);
    }
}

static unsigned frames_of_next(void)
{
    struct upmu_record record;
    unsigned frames;

    host_run(&host, 100);
    assert_true(upmu_ring_view(&host.session.ring, &record));
    frames = record.frames;
    upmu_ring_drop(&host.session.ring);
    return frames;
}

static void a_walk_ends_where_the_stack_does_and_where_it_is_broken(void **state)
{
    (void)state;
    sample_callers(20);
    stack.frames = 5; /* the hook refuses */
    assert_int_equal(frames_of_next(), 5);
    assert_int_equal(stack.last, 0x7050);
    stack.zero = 3;
    assert_int_equal(frames_of_next(), 3);
    stack.zero = 1000;
    stack.frames = 1000;
    stack.back_at = stack.back = 0x7020; /* a frame that is its own caller */
    stack.reads = 0;
    assert_int_equal(frames_of_next(), 3);
    assert_int_equal(stack.reads, 3);
    stack.back = 0x7000; /* one below */
    assert_int_equal(frames_of_next(), 3);
    stack.back = UINT64_MAX - 3; /* one far above: the hook's to refuse */
    assert_int_equal(frames_of_next(), 3);
    assert_int_equal(stack.last, UINT64_MAX - 3);
    host.fp = 0; /* none known */
    stack.reads = 0;
    assert_int_equal(frames_of_next(), 0);
    assert_int_equal(stack.reads, 0);
    host_end(&host);
}

static void what_has_no_address_has_no_callers(void **state)
{
    (void)state;
    sample_callers(4);
    host.no_frame = true;
    assert_int_equal(frames_of_next(), 0);
    host.no_frame = false;
    upmu_session_hide_kernel(&host.session, true);
    assert_int_equal(frames_of_next(), 0);
    assert_int_equal(stack.reads, 0);
    upmu_session_hide_kernel(&host.session, false);
    assert_int_equal(frames_of_next(), 4);
    host_end(&host);
}

/* The mail of a handler that interrupted a call is read at its end: the stack of then is not there any more. */
static void an_overflow_inside_of_a_call_has_no_callers(void **state)
{
    struct upmu_record record;

    (void)state;
    sample_callers(4);
    upmu_test_begin_call(&host.cpu[0]);
    host_run(&host, 100);
    assert_int_equal(stack.reads, 0);
    upmu_test_end_call(&host.cpu[0]);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    assert_true(upmu_ring_view(&host.session.ring, &record));
    assert_int_equal(record.sample->ip, 0x1064);
    assert_int_equal(record.frames, 0);
    assert_int_equal(stack.reads, 0);
    host_end(&host);
}

static void events_that_overflow_together_have_a_record_each(void **state)
{
    struct upmu_record record;
    unsigned events = 0;

    (void)state;
    sample_list(3, "instructions:k,instructions:u,instructions", sizeof host.ring);
    host_run(&host, 100);
    while (upmu_ring_view(&host.session.ring, &record)) {
        assert_int_equal(record.frames, 3);
        assert_int_equal(record.sample->events, 1u << record.event);
        events |= record.sample->events;
        upmu_ring_drop(&host.session.ring);
    }
    assert_int_equal(events, 5);
    host_end(&host);
}

/* Records of many lengths in every position of a small ring: none torn, none lost unsaid; the log has all of it. */
static void records_with_callers_wrap_in_a_small_ring(void **state)
{
    (void)state;
    for (unsigned bytes = 512; bytes < 1024; bytes += 24) {
        unsigned seen = 0, lost = 0, samples = 0;
        struct upmu_record record;

        sample_list(16, "instructions", bytes);
        for (unsigned run = 0; run < 60; run++) {
            stack.frames = run * 7 % 20;
            host_run(&host, 100);
            samples++;
            if (run % 5 != 4 && run < 59)
                continue;
            while (upmu_ring_view(&host.session.ring, &record)) {
                assert_in_range(record.frames, 0, 16);
                for (unsigned i = 0; i < record.frames; i++)
                    assert_int_equal(record.frame[i], 0xa000 + i, i);
                assert_int_equal(record.values, 0);
                lost += record.sample->lost;
                seen++;
                upmu_ring_drop(&host.session.ring);
            }
        }
        assert_compare(seen, >, 12);
        assert_int_equal(upmu_ring_lost(&host.session.ring), samples - seen);
        assert_compare(lost, <=, samples - seen);
        host_end(&host);
    }
}

static void callers_are_in_the_log_and_its_forms(void **state)
{
    static uint8_t bytes[4096], text[4096];
    static uint64_t work[1024];
    struct upmu_output output = {.buffer = bytes, .size = sizeof bytes};
    struct upmu_results results = {.log = bytes, .work = work, .work_bytes = sizeof work};
    struct upmu_log log;

    (void)state;
    sample_callers(2);
    assert_int_equal(upmu_log_begin(&log, &output, "model", 0), UPMU_OK);
    assert_int_equal(upmu_log_session(&log, &host.session, 0), UPMU_OK);
    assert_int_equal(upmu_log_symbol(&log, 0xa001, 0xa002, "outer"), UPMU_OK);
    assert_int_equal(upmu_log_symbol(&log, 0xa000, 0xa001, "middle"), UPMU_OK);
    assert_int_equal(upmu_log_symbol(&log, 0x1000, 0x2000, "inner"), UPMU_OK);
    host_run(&host, 300);
    assert_int_equal(upmu_log_samples(&log, &host.session, 0), UPMU_OK);
    assert_int_equal(upmu_log_end(&log, NULL, 0, 0), UPMU_OK);
    results.log_bytes = output.length;
    output = (struct upmu_output){.buffer = text, .size = sizeof text};
    assert_int_equal(upmu_results_folded(&results, &output), UPMU_OK);
    text[output.length] = '\0';
    assert_string_equal((char *)text, "outer;middle;inner 3\n");
    host_end(&host);
}

static void callers_are_refused_for_a_reason_and_given_up(void **state)
{
    struct upmu_record record;

    (void)state;
    callers = (struct upmu_callers){.read = stack_read, .context = &stack, .depth = UPMU_CALLERS_DEPTH + 1};
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_session_callers(&host.session, &callers), UPMU_ERR_INVALID);
    callers.depth = 0;
    assert_int_equal(upmu_session_callers(&host.session, &callers), UPMU_ERR_INVALID);
    callers.depth = 1;
    callers.read = NULL;
    assert_int_equal(upmu_session_callers(&host.session, &callers), UPMU_ERR_INVALID);
    host_end(&host);
    sample_callers(1);
    assert_int_equal(upmu_session_callers(&host.session, NULL), UPMU_ERR_STATE);
    assert_int_equal(frames_of_next(), 1);
    assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    assert_int_equal(upmu_session_callers(&host.session, NULL), UPMU_OK);
    host_begin(&host, &host.session);
    host_run(&host, 100);
    assert_true(upmu_ring_view(&host.session.ring, &record));
    assert_false(record.extended);
    assert_int_equal(record.frames, 0);
    host_end(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(callers_come_nearest_first_and_as_deep_as_asked_for),
        cmocka_unit_test(a_walk_ends_where_the_stack_does_and_where_it_is_broken),
        cmocka_unit_test(what_has_no_address_has_no_callers),
        cmocka_unit_test(an_overflow_inside_of_a_call_has_no_callers),
        cmocka_unit_test(events_that_overflow_together_have_a_record_each),
        cmocka_unit_test(records_with_callers_wrap_in_a_small_ring),
        cmocka_unit_test(callers_are_in_the_log_and_its_forms),
        cmocka_unit_test(callers_are_refused_for_a_reason_and_given_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
