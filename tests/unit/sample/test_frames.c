/* SPDX-License-Identifier: MIT */
/*
 * What a format gets of the interrupted code (upmu_overflow.frame, upmu_overflow_callers()): registers and callers in a
 * handler, less of them at the end of a call that the interrupt came in, and nothing of a hidden kernel.
 */
#include <upmu/format.h>
#include <upmu/session.h>
#include <upmu/world.h>
#include "tests/common/garbage.h"
#include "tests/common/host.h"
#include "tests/common/state.h"

#define REGISTERS 5u
#define ROOM 8u
#define UNTOUCHED UINT64_C(0x5a5a5a5a5a5a5a5a)

/* A format that keeps what its last call saw; the frame is kept as a copy, as a format must. */
struct recorder {
    unsigned calls;
    bool framed;
    struct upmu_frame frame;
    uint64_t registers[REGISTERS]; /* those of the mask */
    uint64_t ip, sp;
    uint16_t flags;
    uint64_t caller[ROOM];
    unsigned callers, capacity; /* how many it found, and how many it asked for */
};

static struct host host;
static struct recorder recorder;
static struct upmu_callers callers;
static unsigned reads;
static const uint64_t registers[REGISTERS] = {0x1111, GARBAGE, 0x3333, GARBAGE, 0x5555};
static const uint64_t mask = 0x15;

/* Ten frames at 0x7000, 0x7010, ...; frame i returns to 0xa000 + i. */
static bool stack_read(void *context, uint64_t fp, bool user, uint64_t *out_next, uint64_t *out_return)
{
    (void)context, (void)user;
    reads++;
    if (fp < 0x7000 || fp % 16 || fp >= 0x70a0)
        return garbage(out_return);
    *out_next = fp + 16;
    *out_return = 0xa000 + (fp - 0x7000) / 16;
    return true;
}

static unsigned record(void *state, const struct upmu_overflow *overflow, bool notify)
{
    struct recorder *into = state;

    (void)notify;
    into->calls++;
    into->framed = overflow->frame != NULL;
    into->ip = overflow->ip;
    into->sp = overflow->sp;
    into->flags = overflow->flags;
    memset(into->caller, 0x5a, sizeof into->caller);
    into->callers = upmu_overflow_callers(overflow, into->caller, into->capacity);
    if (!overflow->frame)
        return 0;
    into->frame = *overflow->frame;
    for (unsigned i = 0; overflow->frame->registers && i < REGISTERS; i++)
        if (overflow->frame->register_mask >> i & 1u)
            into->registers[i] = overflow->frame->registers[i];
    return 0;
}

static enum upmu_status begin(struct upmu_session *session, const void *argument, size_t bytes, void **out_state)
{
    (void)session, (void)argument, (void)bytes;
    *out_state = &recorder;
    return UPMU_OK;
}

static const struct upmu_format recorder_format = {"recorder", begin, record, NULL, NULL};
static const char *const profiles[] = {"skylake", "core2", "zen4", "k8_revf", "version1", "nehalem"};
#define PROFILES (sizeof profiles / sizeof profiles[0])

/* The session samples every 100 instructions; with a depth of 0 it has no callers. */
static void sample_with(const char *profile, unsigned depth)
{
    struct upmu_sampling sampling = {.period = 100};

    memset(&recorder, 0, sizeof recorder);
    recorder.capacity = ROOM;
    reads = 0;
    callers = (struct upmu_callers){.read = stack_read, .depth = depth};
    host_set_up(&host, profile);
    host.process = 5;
    host.thread = 6;
    host.fp = 0x7000;
    host.registers = registers;
    host.register_mask = mask;
    assert_int_equal(upmu_set_add(&host.session.set, "instructions", &sampling), UPMU_OK);
    assert_int_equal(upmu_session_format(&host.session, &recorder_format, NULL, 0), UPMU_OK);
    if (depth)
        assert_int_equal(upmu_session_callers(&host.session, &callers), UPMU_OK);
    host_begin(&host, &host.session);
}

static void a_format_records_registers_and_callers(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PROFILES; p++) {
        sample_with(profiles[p], 4);
        host_run(&host, 100);
        assert_int_equal(recorder.calls, 1);
        assert_true(recorder.framed);
        assert_int_equal(recorder.frame.ip, 0x1064);
        assert_int_equal(recorder.frame.sp, 0x8000);
        assert_int_equal(recorder.frame.fp, 0x7000);
        assert_int_equal(recorder.frame.process, 5);
        assert_int_equal(recorder.frame.thread, 6);
        assert_false(recorder.frame.user);
        assert_ptr_equal(recorder.frame.registers, registers);
        assert_int_equal(recorder.frame.register_mask, mask);
        for (unsigned i = 0; i < REGISTERS; i++)
            assert_int_equal(recorder.registers[i], mask >> i & 1u ? registers[i] : 0, i);
        assert_int_equal(recorder.callers, 4);
        assert_int_equal(reads, 4);
        for (unsigned i = 0; i < ROOM; i++)
            assert_int_equal(recorder.caller[i], i < 4 ? 0xa000 + i : UNTOUCHED, i);
        host_end(&host);
    }
}

/* Catches: a walk that is as deep as the session allows, over the end of the format's memory. */
static void callers_are_as_many_as_there_is_room_for(void **state)
{
    (void)state;
    sample_with("skylake", 6);
    for (recorder.capacity = 0; recorder.capacity <= ROOM; recorder.capacity++) {
        unsigned most = recorder.capacity < 6 ? recorder.capacity : 6;

        reads = 0;
        host_run(&host, 100);
        assert_int_equal(recorder.callers, most);
        assert_int_equal(reads, most);
        for (unsigned i = 0; i < ROOM; i++)
            assert_int_equal(recorder.caller[i], i < most ? 0xa000 + i : UNTOUCHED, i);
    }
    host.fp = 0x7080; /* the hook refuses the third */
    recorder.capacity = ROOM;
    host_run(&host, 100);
    assert_int_equal(recorder.callers, 2);
    host_end(&host);
    sample_with("skylake", 0);
    host_run(&host, 100);
    assert_int_equal(recorder.calls, 1);
    assert_int_equal(recorder.callers, 0);
    assert_int_equal(recorder.caller[0], UNTOUCHED);
    host_end(&host);
}

/*
 * A host that has no registers, or no frame at all, and a frame without a frame pointer.  Catches: registers of an
 * earlier interrupt.
 */
static void a_format_is_told_what_is_not_there(void **state)
{
    (void)state;
    sample_with("skylake", 4);
    host_run(&host, 100);
    assert_ptr_equal(recorder.frame.registers, registers);
    host.registers = NULL; /* and the mask as before */
    host_run(&host, 100);
    assert_true(recorder.framed);
    assert_null(recorder.frame.registers);
    assert_int_equal(recorder.callers, 4);
    host.fp = 0;
    host_run(&host, 100);
    assert_true(recorder.framed);
    assert_int_equal(recorder.frame.ip, 0x1064);
    assert_int_equal(recorder.callers, 0);
    host.no_frame = true;
    host.fp = 0x7000;
    host_run(&host, 100);
    assert_int_equal(recorder.calls, 4);
    assert_false(recorder.framed);
    assert_int_equal(recorder.flags, UPMU_SAMPLE_NO_FRAME);
    assert_int_equal(recorder.callers, 0);
    assert_int_equal(reads, 8);
    host_end(&host);
}

/*
 * The end of a call that was interrupted reports the overflow: by its mail, or in a plan that takes the count.  The
 * interrupted code has run on since.  Catches: pointers to registers that the handler's frame had.
 */
static void an_overflow_in_a_call_has_neither_registers_nor_callers(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PROFILES; p++)
        for (unsigned by_plan = 0; by_plan < 2; by_plan++) {
            sample_with(profiles[p], 4);
            host_run(&host, 100); /* the mail does not begin empty */
            reads = 0;
            upmu_test_begin_call(&host.cpu[0]);
            host_run(&host, 100);
            assert_int_equal(recorder.calls, 1);
            upmu_test_end_call(&host.cpu[0]);
            if (by_plan)
                assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
            else
                assert_int_equal(upmu_cpu_leave_guest(&host.cpu[0]), UPMU_OK);
            assert_int_equal(recorder.calls, 2);
            assert_true(recorder.framed);
            assert_int_equal(recorder.frame.ip, 0x1064);
            assert_int_equal(recorder.frame.sp, 0x8000);
            assert_int_equal(recorder.frame.process, 5);
            assert_int_equal(recorder.frame.thread, 6);
            assert_int_equal(recorder.frame.fp, 0);
            assert_null(recorder.frame.registers);
            assert_int_equal(recorder.frame.register_mask, 0);
            assert_int_equal(recorder.callers, 0);
            assert_int_equal(reads, 0);
            host_end(&host);
        }
}

/* Catches: addresses of the kernel that reach a format in registers, or by the stack that they point to. */
static void nothing_of_a_hidden_kernel_reaches_a_format(void **state)
{
    struct upmu_sim_burst burst = {.instructions = 100, .cycles = 200, .ip = 0x7000, .ip_step = 1, .sp = 0x8000};

    (void)state;
    sample_with("skylake", 4);
    upmu_session_hide_kernel(&host.session, true);
    for (unsigned round = 0; round < 6; round++) {
        bool shown = round & 1u;

        burst.user = shown;
        reads = 0;
        upmu_sim_events(&host.sim, &burst);
        assert_int_equal(recorder.calls, round + 1);
        assert_int_equal(recorder.framed, shown);
        assert_int_equal(recorder.flags, shown ? UPMU_SAMPLE_USER : UPMU_SAMPLE_HIDDEN);
        assert_int_equal(recorder.callers, shown ? 4 : 0);
        assert_int_equal(reads, shown ? 4 : 0);
        assert_int_equal(recorder.ip != 0, shown);
        assert_int_equal(recorder.sp != 0, shown);
    }
    host_end(&host);
}

/* The frame is on the handler's stack.  Catches: a pointer to it that is left behind. */
static void no_pointer_to_a_frame_is_left(void **state)
{
    (void)state;
    sample_with("skylake", 4);
    host_run(&host, 100);
    assert_int_equal(recorder.calls, 1);
    assert_null(host.cpu[0].overflow.frame);
    upmu_test_begin_call(&host.cpu[0]);
    host_run(&host, 100);
    upmu_test_end_call(&host.cpu[0]);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    assert_int_equal(recorder.calls, 2);
    assert_null(host.cpu[0].overflow.frame);
    host_end(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_format_records_registers_and_callers),
        cmocka_unit_test(callers_are_as_many_as_there_is_room_for),
        cmocka_unit_test(a_format_is_told_what_is_not_there),
        cmocka_unit_test(an_overflow_in_a_call_has_neither_registers_nor_callers),
        cmocka_unit_test(nothing_of_a_hidden_kernel_reaches_a_format),
        cmocka_unit_test(no_pointer_to_a_frame_is_left),
    };

    return cmocka_run_group_tests_name("frames", tests, NULL, NULL);
}
