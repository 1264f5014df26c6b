/* SPDX-License-Identifier: MIT */
/*
 * A handler masks two sessions at any instruction of upmu_cpu_changed(), until a register is written.  Another counter
 * of each holds a value of something else, by which a sample is due when its session is settled.  Its period follows a
 * frequency, and so needs the enabled time of its session.
 * The class of mistake: the session is looked up by its counter, which a start over has given back in the meantime.
 *
 * The process steps itself through the call and forks at each instruction; the child takes the overflows there and
 * ends the call.  Each instruction is taken once.  x86 with Linux only.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/common/host.h"
#include "tests/common/share.h"
#include "tests/inject/fork_step.h"
#include <upmu/format.h>
#include <upmu/session.h>

static struct host host;
static struct upmu_port hooks; /* the model's own */
static unsigned stride;
static unsigned masked[2]; /* how often each session was masked, in this process */
static unsigned *between;  /* [session]: children of the call in which it was masked; shared with them */
static volatile bool in_model; /* its instructions are not the library's */

static void look(bool condition, const char *what)
{
    if (condition)
        return;
    printf("instruction %u: %s\n", fork_step.instructions, what);
    fflush(stdout);
    _exit(1);
}

static bool is_new(uintptr_t ip)
{
    return !in_model && !fork_step_times(ip) && fork_step.instructions % stride == 0;
}

static void take_overflows(void)
{
    host_run(&host, 200);
}

/* Behind the first write no counter runs. */
static bool hook_wrmsr(void *context, uint32_t address, uint64_t value)
{
    (void)fork_step_end();
    return hooks.wrmsr(context, address, value);
}

static uint64_t hook_clock(void *context)
{
    uint64_t now_ns;

    in_model = true;
    now_ns = hooks.clock_ns(context);
    in_model = false;
    return now_ns;
}

static unsigned mask(void *state, const struct upmu_overflow *overflow, bool nmi)
{
    (void)state, (void)nmi;
    masked[overflow->session == &host.sessions[1]]++;
    return UPMU_OVERFLOW_MASK;
}

static void set_up(const char *profile, uint32_t first_counter)
{
    static const struct upmu_format masks = {.name = "masks", .overflow = mask};
    struct upmu_sampling sampling = {.period = 100, .frequency = 1000};

    host_prepare(&host, profile);
    hooks = host.sim.port;
    host.sim.port.wrmsr = hook_wrmsr;
    host.sim.port.clock_ns = hook_clock;
    host_start(&host);
    for (unsigned i = 0; i < 2; i++) {
        struct upmu_session *session = &host.sessions[i];

        assert_int_equal(upmu_set_add(&session->set, "cycles", &sampling), UPMU_OK);
        assert_int_equal(upmu_set_add(&session->set, "branches", &sampling), UPMU_OK);
        assert_int_equal(upmu_session_format(session, &masks, NULL, 0), UPMU_OK);
        assert_int_equal(upmu_session_ring(session, host.rings[i], 256), UPMU_OK, i);
        host_begin(&host, session);
        /* Negative, so that the handler does not take it for an overflow. */
        upmu_sim_poke(&host.sim, 0, first_counter + session->set.tally[1].counter, UINT64_C(1) << 47);
    }
    masked[0] = masked[1] = 0;
}

/* What a handler has masked is masked, what it has not runs, and both sample again after a restart. */
static void both_are_as_the_handler_left_them(enum upmu_status changed)
{
    look(changed == UPMU_OK, upmu_status_text(changed));
    for (unsigned i = 0; i < 2; i++) {
        struct upmu_session *session = &host.sessions[i];

        between[i] += masked[i] != 0;
        look(session->state == (masked[i] ? UPMU_SESSION_MASKED : UPMU_SESSION_RUNNING),
             "a session was masked and runs, or was not masked and does not run");
        look(upmu_session_restart(session) == UPMU_OK, "restart");
        look(session->state == UPMU_SESSION_RUNNING, "a session does not run after its restart");
        masked[i] = 0;
    }
    host_run(&host, 5000);
    look(masked[0] == 1 && masked[1] == 1, "a session has no samples afterwards");
    host_end(&host);
}

static void a_session_that_a_handler_masks_in_a_start_over_is_settled(void **state)
{
    static const char *const profiles[] = {"skylake", "k8_revc"};

    (void)state;
    for (unsigned p = 0; p < sizeof profiles / sizeof profiles[0]; p++) {
        enum upmu_status status;

        between[0] = between[1] = 0;
        set_up(profiles[p], p ? 0xc0010004 : 0xc1);
        fork_step_begin(is_new, take_overflows);
        status = upmu_cpu_changed(&host.cpu[0]);
        if (fork_step_end()) {
            both_are_as_the_handler_left_them(status);
            _exit(0);
        }
        if (fork_step.failed)
            fail_msg("%s: instruction %u of upmu_cpu_changed()", profiles[p], fork_step.instructions);
        assert_compare(fork_step.instructions, >, 100);
        assert_true(between[0] && between[1], p);
        host_end(&host);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_that_a_handler_masks_in_a_start_over_is_settled),
    };

    between = mmap(NULL, 2 * sizeof *between, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (between == MAP_FAILED)
        return 1;
    stride = share_step(1, 29);
    setvbuf(stdout, NULL, _IOLBF, 0);
    return cmocka_run_group_tests_name("start over", tests, NULL, NULL);
}
