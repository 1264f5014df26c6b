/* SPDX-License-Identifier: MIT */
/*
 * Counters of user mode alone, where selects are gates (AMD before PerfMonV2): what stands
 * still while the library runs is changed without being stopped, and only that.
 */
#include "tests/common/host.h"
#include <upmu/format.h>
#include <upmu/session.h>

static const char *const profiles[] = {"k7", "k8_revf", "barcelona", "bulldozer", "jaguar", "zen2", "zen3"};
#define PROFILES (sizeof profiles / sizeof profiles[0])
#define NEVER_INTERRUPT 1u /* the first of them: no local APIC */
static const char *const nodes[] = {"k8_revb", "k8_revf", "barcelona", "llano", "bobcat"};
#define NODES (sizeof nodes / sizeof nodes[0])

/* Two programs, and a third thread that is not monitored. */
struct programs {
    struct host host;
    struct upmu_thread thread[3];
    uint64_t ring[2][64];
    unsigned running;
};

static void set_up(struct programs *p, const char *profile, bool in_kernel_mode)
{
    memset(p, 0, sizeof *p);
    host_prepare(&p->host, profile);
    p->host.sim.port.in_kernel_mode = in_kernel_mode;
    if (!in_kernel_mode)
        p->host.sim.port.rdpmc = NULL;
    host_start(&p->host);
    for (unsigned i = 0; i < 3; i++)
        upmu_thread_init(&p->thread[i], i, i, NULL);
    p->running = 2;
}

static struct upmu_session *session(struct programs *p, unsigned i)
{
    return i ? &p->host.other : &p->host.session;
}

/* Program `i` is monitored: its first event sampled (0: not). */
static void monitor(struct programs *p, unsigned i, const char *first, uint64_t period, const char *rest)
{
    struct upmu_sampling sampling = {.period = period};

    assert_int_equal(upmu_set_add(&(session(p, i))->set, first, period ? &sampling : NULL), UPMU_OK, i);
    if (rest)
        assert_int_equal(upmu_set_add(&(session(p, i))->set, rest, NULL), UPMU_OK, i);
    if (period)
        assert_int_equal(upmu_session_ring(session(p, i), p->ring[i], sizeof p->ring[i]), UPMU_OK, i);
    assert_int_equal(upmu_session_attach_thread(session(p, i), &p->thread[i], NULL), UPMU_OK, i);
    assert_int_equal(upmu_session_start(session(p, i)), UPMU_OK, i);
}

/* Register writes of it. */
static unsigned switch_to(struct programs *p, unsigned next)
{
    unsigned before = p->host.sim.access_count[UPMU_SIM_WRMSR];

    assert_int_equal(upmu_thread_switch(&p->host.cpu[0], &p->thread[p->running], &p->thread[next]), UPMU_OK, next);
    p->running = next;
    return p->host.sim.access_count[UPMU_SIM_WRMSR] - before;
}

static void work(struct programs *p, uint64_t instructions)
{
    upmu_sim_events(&p->host.sim, &(struct upmu_sim_burst){.instructions = instructions,
                                                           .cycles = 2 * instructions,
                                                           .branches = instructions / 2,
                                                           .user = true,
                                                           .ip = 0x1000,
                                                           .ip_step = 1,
                                                           .sp = 0x8000});
}

static void end(struct programs *p)
{
    switch_to(p, 2);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(upmu_session_close(session(p, i)), UPMU_OK, i);
    host_end(&p->host);
}

/*
 * The programs alternate, ten times, with user work in each (and `kernel` instructions): a
 * switch between what each has on the hardware already costs `writes`.
 */
static void take_turns(struct programs *p, unsigned writes, unsigned kernel)
{
    for (unsigned k = 0; k < 10; k++) {
        unsigned seen = switch_to(p, k & 1u);

        if (k > 2)
            assert_int_equal(seen, writes);
        work(p, 100);
        if (kernel)
            host_run(&p->host, kernel);
    }
}

static void one_write_changes_a_counter_of_user_mode(void **state)
{
    (void)state;
    for (unsigned i = 0; i < PROFILES; i++) {
        struct programs p;

        set_up(&p, profiles[i], true);
        monitor(&p, 0, "instructions:u", 0, NULL);
        monitor(&p, 1, "branches:u", 0, NULL);
        take_turns(&p, 1, 1000);
        assert_int_equal(host_value(&p.host.session, 0), 500);
        assert_int_equal(host_value(&p.host.other, 0), 250);
        end(&p);
    }
}

/* A driver in user mode is counted as well: it stops what it changes. */
static void a_library_in_user_mode_presumes_nothing(void **state)
{
    (void)state;
    for (unsigned i = 0; i < PROFILES; i++) {
        struct programs p;

        set_up(&p, profiles[i], false);
        p.host.sim.cpu[0].user = true;
        monitor(&p, 0, "instructions:u", 0, NULL);
        monitor(&p, 1, "branches:u", 0, NULL);
        take_turns(&p, 2, 0);
        assert_int_equal(host_value(&p.host.session, 0), 500);
        assert_int_equal(host_value(&p.host.other, 0), 250);
        end(&p);
    }
}

/* One side that counts the kernel does not stand still. */
static void a_counter_of_kernel_mode_is_stopped(void **state)
{
    (void)state;
    for (unsigned i = 0; i < PROFILES; i++)
        for (unsigned side = 0; side < 2; side++) {
            struct programs p;

            set_up(&p, profiles[i], true);
            monitor(&p, 0, side ? "instructions" : "instructions:u", 0, NULL);
            monitor(&p, 1, side ? "branches:u" : "branches:k", 0, NULL);
            take_turns(&p, 2, 1000);
            assert_int_equal(host_value(&p.host.session, 0), side ? 5500 : 500);
            assert_int_equal(host_value(&p.host.other, 0), side ? 250 : 2500);
            end(&p);
        }
}

/* The northbridge counts for all cores, whatever mode they are in. */
static void northbridge_counters_are_stopped(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3 * NODES; i++) {
        static const char *const events[3][2] = {
            {"r101e0:u", "r102e1:u"}, {"instructions:u", "r102e1:u"}, {"r101e0:u", "instructions:u"}};
        struct programs p;

        set_up(&p, nodes[i / 3], true);
        monitor(&p, 0, events[i % 3][0], 0, NULL);
        monitor(&p, 1, events[i % 3][1], 0, NULL);
        take_turns(&p, 2, 0);
        for (unsigned k = 0; k < 2; k++)
            if (strstr(events[i % 3][k], "instructions"))
                assert_int_equal(host_value(session(&p, k), 0), 500, i, k);
        end(&p);
    }
}

/* What its handler has closed is opened for the next program. */
static void a_masked_program_leaves_its_counters_to_the_next(void **state)
{
    (void)state;
    for (unsigned i = NEVER_INTERRUPT; i < PROFILES; i++)
        for (unsigned skid = 0; skid < 12; skid++) {
            struct programs p;
            unsigned full;

            set_up(&p, profiles[i], true);
            monitor(&p, 0, "instructions:u", 100, "branches:u");
            upmu_session_mask_on_full(&p.host.session, true);
            monitor(&p, 1, "instructions:u", 1000, "cycles:u");
            switch_to(&p, 0);
            switch_to(&p, 1);
            switch_to(&p, 0);
            for (full = 0; full < 30 && p.host.session.state != UPMU_SESSION_MASKED; full++) {
                p.host.sim.skid = skid;
                work(&p, 100);
                p.host.sim.skid = 0;
                if (p.host.session.state == UPMU_SESSION_MASKED)
                    break;
                switch_to(&p, 1);
                work(&p, 50);
                switch_to(&p, 0);
            }
            assert_int_equal(p.host.session.state, UPMU_SESSION_MASKED);
            switch_to(&p, 1);
            work(&p, 5000);
            assert_int_equal(host_value(&p.host.other, 0), 5000 + 50 * full);
            assert_int_equal(host_value(&p.host.other, 1), 10000 + 100 * full);
            end(&p);
        }
}

static unsigned mask_at_once(void *state, const struct upmu_overflow *overflow, bool notify)
{
    (void)state, (void)overflow, (void)notify;
    return UPMU_OVERFLOW_MASK;
}

static uint64_t (*model_clock)(void *context);
static struct programs *interrupted; /* at the next look at the clock */

static uint64_t clock_with_interrupt(void *context)
{
    struct programs *p = interrupted;

    interrupted = NULL;
    if (p) {
        assert_int_equal(upmu_pmi_handle(&p->host.cpu[0], NULL), UPMU_PMI_HANDLED);
        assert_int_equal(p->host.session.state, UPMU_SESSION_RUNNING); /* no state is changed in a call */
    }
    return model_clock(context);
}

/*
 * A late interrupt comes in a switch, before the switch takes the counts, and its sample masks a program's session. The
 * next program asks for the same select: the register is written all the same, and counts.
 * Catches: a counter that only the shadow has open, because a handler has closed it, is left to the next one as open.
 */
static void a_program_masked_in_a_switch_leaves_its_counters_to_the_next(void **state)
{
    static const struct upmu_format masks = {.name = "masks", .overflow = mask_at_once};

    (void)state;
    for (unsigned i = NEVER_INTERRUPT; i < PROFILES; i++) {
        struct upmu_session waits, remains;
        struct programs p;

        set_up(&p, profiles[i], true);
        model_clock = p.host.sim.port.clock_ns;
        p.host.sim.port.clock_ns = clock_with_interrupt;
        assert_int_equal(upmu_session_format(&p.host.session, &masks, NULL, 0), UPMU_OK);
        /* The switch looks at the clock for one that waits, and its plan is odd because of a static one. */
        assert_int_equal(upmu_session_init(&waits, &p.host.machine), UPMU_OK);
        assert_int_equal(upmu_set_add(&waits.set, "branches:u:counter=0", NULL), UPMU_OK);
        assert_int_equal(upmu_session_attach_thread(&waits, &p.thread[0], NULL), UPMU_OK);
        monitor(&p, 0, "instructions:u:counter=0", 100, NULL);
        monitor(&p, 1, "instructions:u:counter=0", 1000, NULL);
        assert_int_equal(upmu_session_init(&remains, &p.host.machine), UPMU_OK);
        assert_int_equal(upmu_session_static(&remains, true), UPMU_OK);
        assert_int_equal(upmu_set_add(&remains.set, "cycles:u:counter=1", NULL), UPMU_OK);
        assert_int_equal(upmu_session_attach_thread(&remains, &p.thread[0], NULL), UPMU_OK);
        assert_int_equal(upmu_session_start(&remains), UPMU_OK);
        assert_int_equal(upmu_session_start(&waits), UPMU_OK); /* the last of its thread */
        switch_to(&p, 0);
        switch_to(&p, 1); /* Both programs are placed now. */
        switch_to(&p, 0);
        assert_int_equal(waits.state, UPMU_SESSION_WAITING);
        p.host.sim.skid = 100000;
        work(&p, 100);
        interrupted = &p;
        switch_to(&p, 1);
        assert_null(interrupted);
        assert_int_equal(p.host.session.state, UPMU_SESSION_MASKED);
        p.host.sim.skid = 0;
        work(&p, 5000);
        assert_int_equal(host_value(&p.host.session, 0), 100);
        assert_int_equal(host_value(&p.host.other, 0), 5000);
        assert_int_equal(p.host.other.set.tally[0].overflows, 5);
        switch_to(&p, 2);
        assert_int_equal(upmu_session_close(&waits), UPMU_OK);
        assert_int_equal(upmu_session_close(&remains), UPMU_OK);
        end(&p);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_write_changes_a_counter_of_user_mode),
        cmocka_unit_test(a_library_in_user_mode_presumes_nothing),
        cmocka_unit_test(a_counter_of_kernel_mode_is_stopped),
        cmocka_unit_test(northbridge_counters_are_stopped),
        cmocka_unit_test(a_masked_program_leaves_its_counters_to_the_next),
        cmocka_unit_test(a_program_masked_in_a_switch_leaves_its_counters_to_the_next),
    };

    return cmocka_run_group_tests_name("amd_user_mode", tests, NULL, NULL);
}
