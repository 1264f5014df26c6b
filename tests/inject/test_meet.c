/* SPDX-License-Identifier: MIT */
/*
 * Two CPUs meet over the sessions of one thread: while one switches to it, from it, ticks
 * or detaches, the other closes, drops, frees, stops or starts a session, at every instruction of the
 * first.  No list keeps what was detached, nothing touches a session whose close has
 * returned or whose state is UPMU_SESSION_CLOSED (its memory cannot be read any more), and a session
 * whose stop has returned does not run.  The class of mistake: a pointer or a state that was read before the
 * other CPU changed it.
 *
 * The process steps itself through the first call and forks at each instruction; the child
 * does the other call there and ends both.  Each instruction of a call is taken once, and each
 * fourth of them; the argument `every` takes all, each time.  x86 with Linux only.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/common/assertions.h"

#include "core/engine/thread_core.h"
#include "models/sim/sim.h"
#include "tests/common/share.h"
#include "tests/common/state.h"
#include "tests/inject/fork_step.h"
#include <upmu/cpu.h>
#include <upmu/format.h>
#include <upmu/page.h>
#include <upmu/session.h>
#include <upmu/upmu.h>

/* Forks copy shadow memory where it is instrumented. */
#if defined(__SANITIZE_ADDRESS__)
#define STRIDE 149u
#elif !defined(__x86_64__)
#define STRIDE 7u
#else
#define STRIDE 4u
#endif

enum { A, B, C, SESSIONS };
enum { SWITCH_IN, SWITCH_OUT, TICK, CLOSE_A, CLOSE_B, DROP_B, EXIT, REAP, STOP_B, START_B, MOVE };

/* The first call, on CPU 0 unless it is a detach; what the other CPU does; where the thread is before. */
static const struct meeting {
    uint8_t first, other;
    bool runs;     /* the thread runs on CPU 0 */
    bool dropped;  /* B has no owner any more */
    bool unjoined; /* it runs, but the switch found its sessions held: they join with the next tick */
    bool quick;    /* nothing has a page, and the thread was here before: a switch is one plan alone */
    bool alone;    /* A is its only session, and nothing has a page */
} meetings[] = {
    {SWITCH_IN, CLOSE_A, .runs = false},
    {SWITCH_IN, CLOSE_B, .runs = false},
    {SWITCH_IN, DROP_B, .runs = false},
    {SWITCH_OUT, CLOSE_B, .runs = true},
    {SWITCH_OUT, DROP_B, .runs = true},
    {TICK, CLOSE_B, .runs = true},
    {CLOSE_B, CLOSE_A, .runs = false},
    {CLOSE_A, CLOSE_B, .runs = false},
    {CLOSE_B, SWITCH_IN, .runs = false},
    {CLOSE_B, SWITCH_OUT, .runs = true},
    {CLOSE_B, EXIT, .runs = false},
    {EXIT, CLOSE_B, .runs = false},
    {EXIT, DROP_B, .runs = false},
    {DROP_B, SWITCH_IN, .runs = false},
    {TICK, CLOSE_A, .runs = true, .unjoined = true},
    {SWITCH_OUT, CLOSE_B, .runs = true, .unjoined = true},
    {SWITCH_OUT, REAP, .runs = true, .dropped = true},
    {TICK, REAP, .runs = true, .dropped = true},
    {EXIT, REAP, .runs = true, .dropped = true},
    {EXIT, REAP, .runs = false, .dropped = true},
    {SWITCH_IN, REAP, .runs = false, .dropped = true},
    {SWITCH_IN, STOP_B, .runs = false},
    {SWITCH_IN, START_B, .runs = false},
    {SWITCH_IN, STOP_B, .runs = false, .quick = true},
    {SWITCH_IN, START_B, .runs = false, .quick = true},
    {SWITCH_IN, CLOSE_A, .runs = false, .quick = true},
    {SWITCH_IN, DROP_B, .runs = false, .quick = true},
    {SWITCH_OUT, STOP_B, .runs = true, .quick = true},
    {SWITCH_OUT, CLOSE_B, .runs = true, .quick = true},
    {CLOSE_A, MOVE, .runs = true, .unjoined = true, .alone = true},
};

static struct upmu_sim sim;
static struct upmu_machine machine;
static struct upmu_cpu cpus[3];
static struct upmu_thread thread, idle, busy; /* the last is on CPU 2, where `thread` moves to */
static struct upmu_session of_busy;
static struct upmu_session *sessions[SESSIONS];
static struct upmu_user_page *page;
static bool gone[SESSIONS], away;
static const struct meeting *meeting;
static unsigned steps, most = 1, stride, leap;
static unsigned longest; /* instructions in a meeting */
static volatile bool in_model; /* its instructions are not the library's */
static struct upmu_port hooks; /* the model's own */
static enum upmu_status other_status;

static void look(bool condition, const char *what)
{
    if (condition)
        return;
    printf("meeting %u, step %u: %s\n", (unsigned)(meeting - meetings), steps, what);
    fflush(stdout);
    _exit(1);
}

static size_t pages_of(size_t bytes)
{
    return (bytes + 4095) & ~(size_t)4095;
}

/* Its memory is taken away. */
static void take(unsigned i)
{
    look(!gone[i], "closed twice");
    gone[i] = true;
    look(!mprotect(sessions[i], pages_of(sizeof *sessions[i]), PROT_NONE), "mprotect");
    if (i == B)
        look(!mprotect(page, 4096, PROT_NONE), "mprotect");
}

static void take_if_closed(unsigned i)
{
    if (!gone[i] && sessions[i]->state == UPMU_SESSION_CLOSED)
        take(i);
}

static enum upmu_status close_it(unsigned i)
{
    enum upmu_status status;

    if (gone[i])
        return UPMU_OK;
    status = upmu_session_close(sessions[i]);
    if (status == UPMU_OK)
        take(i);
    return status;
}

static enum upmu_status on_cpu_0(unsigned what)
{
    unsigned current = sim.current;
    enum upmu_status status = UPMU_OK;

    upmu_sim_switch_cpu(&sim, 0);
    if (what == SWITCH_IN)
        status = upmu_thread_switch(&cpus[0], &idle, &thread);
    else if (what == SWITCH_OUT)
        status = upmu_thread_switch(&cpus[0], &thread, &idle);
    else
        status = upmu_cpu_tick(&cpus[0]);
    upmu_sim_switch_cpu(&sim, current);
    return status;
}

/* The thread leaves CPU 0, which is not seen where it has no session any more, and runs on CPU 2 for a moment. */
static enum upmu_status move(void)
{
    unsigned current = sim.current;
    enum upmu_status status = on_cpu_0(SWITCH_OUT);

    upmu_sim_switch_cpu(&sim, 2);
    if (status == UPMU_OK)
        status = upmu_thread_switch(&cpus[2], &busy, &thread);
    if (status == UPMU_OK)
        status = upmu_thread_switch(&cpus[2], &thread, &busy);
    upmu_sim_switch_cpu(&sim, current);
    return status;
}

static enum upmu_status act(unsigned what)
{
    enum upmu_status status = UPMU_OK;

    switch (what) {
    case CLOSE_A:
        return close_it(A);
    case CLOSE_B:
        return close_it(B);
    case DROP_B:
        if (gone[B])
            return UPMU_OK;
        status = upmu_session_drop(sessions[B]);
        take_if_closed(B);
        return status;
    case EXIT:
        status = upmu_thread_exit(&thread);
        away = status == UPMU_OK;
        return status;
    case REAP:
        take_if_closed(B);
        return UPMU_OK;
    case STOP_B:
        return upmu_session_stop(sessions[B]);
    case START_B:
        return upmu_session_start(sessions[B]);
    case MOVE:
        return move();
    default:
        return on_cpu_0(what);
    }
}

/*
 * Each instruction of the library is taken so often in each meeting; alone, the call is short, and each is taken.  The
 * few between the two writes of a thread's clock are not: its writer has interrupts off, and a reader on another CPU
 * waits until both are done, which a CPU that stands still for this test never does.
 */
static bool is_tried(uintptr_t ip)
{
    return !in_model && !(thread.turns & UPMU_CLOCK_CHANGES) && fork_step_times(ip) < most &&
           ++steps % (meeting->alone ? 1 : stride) == 0;
}

static void meet(void)
{
    unsigned current = sim.current;

    upmu_sim_switch_cpu(&sim, 1);
    other_status = act(meeting->other);
    upmu_sim_switch_cpu(&sim, current);
}

static bool hook_rdmsr(void *context, uint32_t address, uint64_t *out_value)
{
    bool fine;

    in_model = true;
    fine = hooks.rdmsr(context, address, out_value);
    in_model = false;
    return fine;
}

static bool hook_wrmsr(void *context, uint32_t address, uint64_t value)
{
    bool fine;

    in_model = true;
    fine = hooks.wrmsr(context, address, value);
    in_model = false;
    return fine;
}

static bool hook_rdpmc(void *context, uint32_t index, uint64_t *out_value)
{
    bool fine;

    in_model = true;
    fine = hooks.rdpmc(context, index, out_value);
    in_model = false;
    return fine;
}

static void *fresh_pages(size_t bytes)
{
    void *memory = mmap(NULL, pages_of(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_int_not_equal(memory, MAP_FAILED);
    return memory;
}

static void set_up_busy(void)
{
    upmu_thread_init(&busy, 2, 2, NULL);
    assert_int_equal(upmu_session_init(&of_busy, &machine), UPMU_OK);
    assert_int_equal(upmu_set_add(&of_busy.set, "branches", NULL), UPMU_OK);
    upmu_sim_switch_cpu(&sim, 2);
    assert_int_equal(upmu_session_attach_thread(&of_busy, &busy, &cpus[2]), UPMU_OK);
    assert_int_equal(upmu_session_start(&of_busy), UPMU_OK);
}

static void set_up(void)
{
    static const char *const lists[SESSIONS] = {"instructions", "branches", "cycles"};

    memset(gone, 0, sizeof gone);
    away = false;
    upmu_sim_init(&sim, upmu_sim_profile("skylake"), sizeof cpus / sizeof cpus[0]);
    hooks = sim.port;
    sim.port.rdmsr = hook_rdmsr;
    sim.port.wrmsr = hook_wrmsr;
    sim.port.rdpmc = hook_rdpmc;
    assert_int_equal(upmu_machine_init(&machine, upmu_sim_port(&sim)), UPMU_OK);
    for (unsigned i = 0; i < sizeof cpus / sizeof cpus[0]; i++) {
        upmu_sim_switch_cpu(&sim, i);
        upmu_sim_bind_cpu(&sim, i, &cpus[i]);
        assert_int_equal(upmu_cpu_init(&cpus[i], &machine, NULL), UPMU_OK, i);
    }
    upmu_thread_init(&thread, 1, 1, NULL);
    upmu_thread_init(&idle, 0, 0, NULL);
    page = fresh_pages(sizeof *page);
    for (unsigned i = SESSIONS; i-- > 0;) {
        sessions[i] = fresh_pages(sizeof *sessions[i]);
        assert_int_equal(upmu_session_init(sessions[i], &machine), UPMU_OK, i);
        assert_int_equal(upmu_set_add(&sessions[i]->set, lists[i], NULL), UPMU_OK, i);
        if (i == B && !meeting->quick && !meeting->alone)
            assert_int_equal(upmu_session_publish(sessions[i], page), UPMU_OK, i);
        assert_int_equal(upmu_session_attach_thread(sessions[i], &thread, NULL), UPMU_OK, i);
        assert_int_equal(upmu_session_start(sessions[i]), UPMU_OK, i);
    }
    for (unsigned i = 0; meeting->quick && i < 4; i++)
        assert_int_equal(on_cpu_0(i & 1u ? SWITCH_OUT : SWITCH_IN), UPMU_OK, i);
    if (meeting->other == START_B)
        assert_int_equal(upmu_session_stop(sessions[B]), UPMU_OK);
    if (meeting->unjoined)
        for (unsigned i = 0; i < SESSIONS; i++)
            sessions[i]->held = 1;
    if (meeting->runs || meeting->dropped)
        assert_int_equal(on_cpu_0(SWITCH_IN), UPMU_OK);
    for (unsigned i = 0; i < SESSIONS; i++)
        sessions[i]->held = 0;
    if (meeting->alone) {
        set_up_busy();
        upmu_sim_switch_cpu(&sim, 1);
        assert_int_equal(close_it(B), UPMU_OK);
        assert_int_equal(close_it(C), UPMU_OK);
    }
    if (meeting->dropped) {
        sim.cpu[0].offline = true;
        assert_int_equal(upmu_session_drop(sessions[B]), UPMU_OK);
        sim.cpu[0].offline = false;
        if (!meeting->runs) {
            /* Another CPU holds the list when it leaves. */
            thread.held = 1;
            assert_int_equal(on_cpu_0(SWITCH_OUT), UPMU_OK);
            thread.held = 0;
        }
        assert_int_not_equal(sessions[B]->state, UPMU_SESSION_CLOSED);
    }
    upmu_sim_switch_cpu(&sim, meeting->first >= CLOSE_A && meeting->first != EXIT);
}

static void everything_is_as_if_they_had_not_met(enum upmu_status first)
{
    bool runs = meeting->runs;

    /* A call that was refused does its work when the other has gone. */
    look(first == UPMU_OK || first == UPMU_ERR_BUSY || first == UPMU_ERR_WRONG_CPU, upmu_status_text(first));
    look(other_status == UPMU_OK || other_status == UPMU_ERR_BUSY || other_status == UPMU_ERR_WRONG_CPU,
         upmu_status_text(other_status));
    if (first != UPMU_OK)
        look(act(meeting->first) == UPMU_OK, "the first call, again");
    if (other_status != UPMU_OK)
        look(act(meeting->other) == UPMU_OK, "the other call, again");
    for (unsigned i = 0; i < sizeof cpus / sizeof cpus[0]; i++)
        look(thread.sessions || cpus[i].current != &thread, "a CPU keeps a thread that has no session");
    if (meeting->first == SWITCH_IN || meeting->other == SWITCH_IN)
        runs = true;
    else if (meeting->first == SWITCH_OUT || meeting->other == SWITCH_OUT || meeting->other == MOVE)
        runs = false;
    if (!away && !runs)
        look(on_cpu_0(SWITCH_IN) == UPMU_OK, "a switch");
    look(on_cpu_0(TICK) == UPMU_OK, "a tick");
    for (unsigned i = 0; !away && i < SESSIONS; i++)
        look(gone[i] || sessions[i]->state == UPMU_SESSION_CLOSED ||
                 sessions[i]->state ==
                     (i == B && meeting->other == STOP_B ? UPMU_SESSION_STOPPED : UPMU_SESSION_RUNNING),
             "a session does not run with its thread, or runs though it was stopped");
    if (!away)
        look(on_cpu_0(SWITCH_OUT) == UPMU_OK, "a switch");
    look(upmu_thread_exit(&thread) == UPMU_OK, "exit");
    if (meeting->dropped || meeting->first == DROP_B || meeting->other == DROP_B) {
        take_if_closed(B);
        look(gone[B], "a session without owner is closed");
    }
    for (unsigned i = 0; i < SESSIONS; i++)
        look(close_it(i) == UPMU_OK, "close");
    look(!thread.sessions && !cpus[0].meter.sessions && !cpus[1].meter.sessions && !cpus[0].pages &&
             !upmu_test_pages(&machine),
         "a list keeps what was closed");
    upmu_sim_switch_cpu(&sim, 0);
    look(upmu_cpu_fini(&cpus[0]) == UPMU_OK, "fini");
    look(!sim.violation_count, "the model");
}

static void nothing_is_kept_or_touched_that_another_cpu_has_closed(void **state)
{
    (void)state;
    for (meeting = meetings; meeting < meetings + sizeof meetings / sizeof meetings[0]; meeting += leap) {
        enum upmu_status status;

        set_up();
        steps = 0;
        fork_step_begin(is_tried, meet);
        status = act(meeting->first);
        if (fork_step_end()) {
            everything_is_as_if_they_had_not_met(status);
            _exit(0);
        }
        if (fork_step.failed)
            fail_msg("meeting %u, step %u: status %x", (unsigned)(meeting - meetings), steps,
                     (unsigned)fork_step.failed);
        assert_compare(steps, >, 20);
        longest = fork_step.instructions > longest ? fork_step.instructions : longest;
    }
}

int main(int count, char **arguments)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_kept_or_touched_that_another_cpu_has_closed),
    };
    int failed;

    stride = STRIDE * share_step(3, 1);
    leap = share_step(1, 9);
    if (getenv("MEET_STRIDE"))
        stride = (unsigned)strtoul(getenv("MEET_STRIDE"), NULL, 0);
    if (count > 1 && !strcmp(arguments[1], "every")) {
        most = ~0u;
        stride = leap = 1;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    failed = cmocka_run_group_tests_name("meet", tests, NULL, NULL);
    printf("%u meetings between instructions, at one in %u (`every`: each%s); at most %u instructions in one\n",
           fork_step.forks, stride, share_everything() ? "" : ", make soak more", longest);
    if (leap > 1)
        printf("one kind of meeting in %u: all of them in make soak (FUZZ_RUNS=soak)\n", leap);
    return failed;
}
