/* SPDX-License-Identifier: MIT */
/*
 * Counts read from user mode: by the page that the kernel publishes and RDPMC alone.
 */
#include <stdbool.h>
#include <stdint.h>

static uint64_t model_rdpmc(uint32_t index);
#define UPMU_USER_RDPMC(index, fence) ((void)(fence), model_rdpmc(index))
#include <upmu/page.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include <upmu/user.h>

#include "tests/common/host.h"
#include "tests/common/state.h"

_Static_assert(offsetof(struct upmu_user_page, event) == 48 && sizeof(struct upmu_user_event) == 24 &&
                   offsetof(struct upmu_user_page, time_ns) == 24 && sizeof(struct upmu_user_page) <= 4096,
               "the layout is the same for 32 and 64 bits");

static struct host host;
static struct upmu_user_page page;
static unsigned reads, opened, closed;
static bool allowed[2]; /* by CPU: CR4.PCE */
static void (*meanwhile)(void); /* once, between two accesses of the reader */

static uint64_t model_rdpmc(uint32_t index)
{
    uint64_t value = 0;
    void (*once)(void) = meanwhile;
    uintptr_t irq;

    meanwhile = NULL;
    if (once)
        once();
    if (host.sim.port.allow_rdpmc && !allowed[host.sim.current])
        fail_msg("RDPMC: #GP");
    /* (The hook may be called with interrupts off only; the instruction anywhere.) */
    irq = host.sim.port.irq_save(host.sim.port.context);
    assert_true(host.sim.port.rdpmc(host.sim.port.context, index, &value));
    host.sim.port.irq_restore(host.sim.port.context, irq);
    reads++;
    return value;
}

static void note_allowed(void *context, bool allow)
{
    (void)context;
    allowed[host.sim.current] = allow;
    if (allow)
        opened++;
    else
        closed++;
}

static void begin(const char *profile)
{
    memset(&page, 0xff, sizeof page);
    opened = closed = reads = 0;
    allowed[0] = allowed[1] = false;
    meanwhile = NULL;
    host_prepare(&host, profile);
    host.sim.port.allow_rdpmc = note_allowed;
    host_start(&host);
}

/* The host's session has a page. */
static void publish(const char *list)
{
    assert_int_equal(upmu_set_add(&host.session.set, list, NULL), UPMU_OK);
    assert_int_equal(upmu_session_publish(&host.session, &page), UPMU_OK);
}

/* ... and is a thread's, which runs on a CPU, or nowhere (NULL). */
static void publish_on(const char *list, struct upmu_thread *thread, struct upmu_cpu *cpu)
{
    publish(list);
    assert_int_equal(upmu_session_attach_thread(&host.session, thread, cpu), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
}

/* The thread that runs has a page; another one, or NULL, has none. */
static void begin_with_reader(struct upmu_thread *mine, struct upmu_thread *theirs)
{
    begin("skylake");
    upmu_thread_init(mine, 1, 1, NULL);
    if (theirs)
        upmu_thread_init(theirs, 2, 2, NULL);
    publish_on("instructions", mine, &host.cpu[0]);
}

static void user_reads_equal_the_kernels_and_cost_one_rdpmc(void **state)
{
    static const char *const profiles[] = {"skylake",    "core2", "nehalem", "yonah",  "prescott",
                                           "willamette", "zen2",  "zen4",    "k8_revf"};

    (void)state;
    for (unsigned i = 0; i < sizeof profiles / sizeof *profiles; i++) {
        begin(profiles[i]);
        /* (A counter that is not 0 when it begins: base and total differ from it, and from 0 after a stop.) */
        assert_int_equal(upmu_set_add(&host.other.set, "instructions,branches", NULL), UPMU_OK);
        host_begin(&host, &host.other);
        host_run(&host, 500);
        assert_int_equal(upmu_session_close(&host.other), UPMU_OK);
        publish("instructions,branches");
        assert_int_equal(page.version, UPMU_USER_VERSION);
        host_begin(&host, &host.session);
        for (unsigned round = 0; round < 5; round++) {
            uint64_t count = 0, writes;

            if (round == 2) {
                assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
                assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
            }
            writes = host.sim.access_count[UPMU_SIM_WRMSR];
            host_run(&host, 1000);
            for (unsigned event = 0; event < 2; event++) {
                reads = 0;
                assert_true(upmu_user_read(&page, event, false, &count));
                assert_int_equal(reads, 1);
                assert_int_equal(count, (event ? 500 : 1000) * (round + 1), event, round, i);
                assert_int_equal(count, host_value(&host.session, event));
            }
            assert_int_equal(host.sim.access_count[UPMU_SIM_WRMSR], writes);
        }
        assert_int_equal(page.count, 2);
        assert_int_equal(page.flags, UPMU_USER_RUNNING);
        host_end(&host);
    }
}

static void a_stopped_session_needs_the_slow_call(void **state)
{
    uint64_t count;

    (void)state;
    begin("skylake");
    publish("instructions");
    assert_false(upmu_user_read(&page, 0, true, &count));
    assert_int_equal(count, 0);
    host_begin(&host, &host.session);
    assert_int_equal(upmu_session_publish(&host.session, NULL), UPMU_ERR_STATE);
    host_run(&host, 77);
    assert_true(upmu_user_read(&page, 0, true, &count));
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    assert_false(upmu_user_read(&page, 0, true, &count));
    assert_int_equal(count, 77);
    assert_int_equal(page.event[0].index, 0);
    assert_int_equal(page.flags, 0);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    host_run(&host, 23);
    assert_true(upmu_user_read(&page, 0, true, &count));
    assert_int_equal(count, 100);
    assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
    assert_int_equal(page.flags, UPMU_USER_CLOSED);
    assert_false(upmu_user_read(&page, 0, true, &count));
    assert_int_equal(upmu_test_pages(&host.machine), 0);
    host_end(&host);
}

/* Its counters count for other sessions then: nothing of them is this session's. */
static void an_event_that_the_active_set_does_not_have_is_refused(void **state)
{
    struct upmu_set *small = &host.sets[0];
    uint64_t count;
    uint32_t generation;

    (void)state;
    begin("skylake");
    publish("instructions,cycles,branches");
    assert_int_equal(upmu_session_add_set(&host.session, small, 1, 0, 0), UPMU_OK);
    assert_int_equal(upmu_set_add(small, "cycles", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    host_run(&host, 1000);
    assert_true(upmu_user_read(&page, 2, true, &count));
    generation = page.generation;
    assert_int_equal(upmu_session_switch(&host.session, small), UPMU_OK);
    assert_int_equal(page.count, 1);
    assert_int_not_equal(page.generation, generation);
    assert_true(upmu_user_read(&page, 0, true, &count));
    for (unsigned event = 1; event < 4; event++) {
        assert_false(upmu_user_read(&page, event, true, &count));
        assert_int_equal(count, 0);
    }
    assert_int_equal(upmu_session_switch(&host.session, &host.session.set), UPMU_OK);
    host_run(&host, 1000);
    assert_true(upmu_user_read(&page, 2, true, &count));
    assert_int_equal(count, host_value(&host.session, 2));
    assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
    host_end(&host);
}

/* The reader cannot know where. */
static void a_count_that_wraps_is_the_kernels_to_read(void **state)
{
    struct upmu_sampling sampling = {.flags = UPMU_SAMPLING_WRAP};
    uint64_t count;

    (void)state;
    begin("skylake");
    assert_int_equal(upmu_set_add(&host.session.set, "branches", &sampling), UPMU_OK);
    publish("instructions");
    host_begin(&host, &host.session);
    assert_int_equal(upmu_set_write(&host.session.set, 0, UINT64_C(1) << 48 | 5), UPMU_OK);
    assert_false(upmu_user_read(&page, 0, true, &count));
    assert_int_equal(count, 5);
    assert_true(upmu_user_read(&page, 1, true, &count));
    assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
    host_end(&host);
}

static bool lying_rdpmc(void *context, uint32_t index, uint64_t *out_value)
{
    (void)context, (void)index;
    *out_value = 0;
    return true;
}

/* Emulators: what the kernel does not read by RDPMC its programs cannot, either. */
static void where_rdpmc_tells_something_else_programs_ask_the_kernel(void **state)
{
    uint64_t count;

    (void)state;
    memset(&page, 0xff, sizeof page);
    host_prepare(&host, "skylake");
    host.sim.port.rdpmc = lying_rdpmc;
    host_start(&host);
    publish("instructions");
    host_begin(&host, &host.session);
    host_run(&host, 1000);
    assert_false(upmu_user_read(&page, 0, false, &count));
    assert_int_equal(page.event[0].index, 0);
    assert_int_equal(page.flags, UPMU_USER_RUNNING);
    assert_int_equal(host_value(&host.session, 0), 1000);
    host_end(&host);
}

static void interrupts_that_load_a_counter_publish_it_again(void **state)
{
    struct upmu_sampling sampling = {.period = 100};
    uint64_t count;

    (void)state;
    begin("skylake");
    assert_int_equal(upmu_set_add(&host.session.set, "instructions", &sampling), UPMU_OK);
    publish("cycles");
    host_begin(&host, &host.session);
    for (unsigned i = 1; i <= 50; i++) {
        host_run(&host, 37);
        assert_true(upmu_user_read(&page, 0, false, &count));
        assert_int_equal(count, 37 * i, i);
        assert_int_equal(count, host_value(&host.session, 0));
    }
    assert_compare(host.answers, >=, 18);
    host_end(&host);
}

/*
 * An interrupt masks the session whose ring is full: its page says so at once, and a reader asks the kernel.
 * Catches: a page that is written as if its session ran on.
 */
static void an_interrupt_that_masks_the_session_says_so_in_its_page(void **state)
{
    uint64_t count;

    (void)state;
    begin("skylake");
    upmu_session_mask_on_full(&host.session, true);
    host_add(&host, 0, "instructions", 100);
    assert_int_equal(upmu_session_ring(&host.session, host.rings[0], 256), UPMU_OK);
    assert_int_equal(upmu_session_publish(&host.session, &page), UPMU_OK);
    host_begin(&host, &host.session);
    for (unsigned i = 0; i < 20 && host.session.state == UPMU_SESSION_RUNNING; i++) {
        assert_int_equal(page.flags, UPMU_USER_RUNNING);
        host_run(&host, 100);
    }
    assert_int_equal(host.session.state, UPMU_SESSION_MASKED);
    assert_int_equal(page.flags, 0);
    assert_int_equal(page.event[0].index, 0);
    assert_false(upmu_user_read(&page, 0, false, &count));
    assert_int_equal(count, host_value(&host.session, 0));
    assert_int_equal(upmu_session_restart(&host.session), UPMU_OK);
    assert_int_equal(page.flags, UPMU_USER_RUNNING);
    host_end(&host);
}

static void run_more(void)
{
    host_run(&host, 150);
}

/* An interrupt between the reader's accesses changes total, base and counter together. */
static void a_read_that_meets_an_interrupt_is_repeated(void **state)
{
    struct upmu_sampling sampling = {.period = 100};
    uint64_t count;

    (void)state;
    begin("skylake");
    assert_int_equal(upmu_set_add(&host.session.set, "instructions", &sampling), UPMU_OK);
    assert_int_equal(upmu_session_publish(&host.session, &page), UPMU_OK);
    host_begin(&host, &host.session);
    host_run(&host, 10);
    meanwhile = run_more;
    reads = 0;
    assert_true(upmu_user_read(&page, 0, false, &count));
    assert_int_equal(reads, 2);
    assert_int_equal(count, 160);
    host_end(&host);
}

static void a_page_that_is_never_finished_ends_in_the_slow_call(void **state)
{
    uint64_t count;

    (void)state;
    begin("skylake");
    publish("instructions");
    host_begin(&host, &host.session);
    page.sequence |= 1u;
    assert_false(upmu_user_read(&page, 0, false, &count));
    host_end(&host);
}

static void an_event_that_moves_has_a_new_generation_and_the_right_count(void **state)
{
    uint64_t count;
    uint32_t generation;

    (void)state;
    begin("core2");
    publish("branches");
    host_begin(&host, &host.session);
    host_run(&host, 200);
    generation = page.generation;
    assert_int_equal(upmu_set_add(&host.other.set, "cache-misses,counter=0", NULL), UPMU_OK);
    host_begin(&host, &host.other);
    assert_int_equal(page.event[0].index, 2);
    assert_int_not_equal(page.generation, generation);
    host_run(&host, 200);
    assert_true(upmu_user_read(&page, 0, false, &count));
    assert_int_equal(count, 200);
    host_end(&host);
}

/* What can come between the index and RDPMC: on the reader's CPU, or while its thread does not run. */
static struct upmu_thread reader, neighbour;

static void stop_it(void)
{
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
}

static void detach_it(void)
{
    assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
}

static void switch_to(struct upmu_thread *from, struct upmu_thread *to)
{
    assert_int_equal(upmu_thread_switch(&host.cpu[host.sim.current], from, to), UPMU_OK);
}

static void switch_away_and_back(void)
{
    switch_to(&reader, &neighbour);
    assert_false(allowed[0]);
    switch_to(&neighbour, &reader);
}

static void stop_while_away(void)
{
    switch_to(&reader, &neighbour);
    stop_it();
    assert_false(allowed[0]);
    switch_to(&neighbour, &reader);
}

static void detach_while_away(void)
{
    switch_to(&reader, &neighbour);
    detach_it();
    assert_false(allowed[0]);
    switch_to(&neighbour, &reader);
}

static void detach_before_it_goes(void)
{
    detach_it();
    switch_to(&reader, &neighbour);
    assert_false(allowed[0]);
    switch_to(&neighbour, &reader);
}

static void move_to_another_cpu(void)
{
    switch_to(&reader, &neighbour);
    upmu_sim_switch_cpu(&host.sim, 1);
    switch_to(&neighbour, &reader);
}

static void sleep_and_wake(void)
{
    assert_int_equal(upmu_cpu_suspend(&host.cpu[0]), UPMU_OK);
    allowed[0] = false; /* the register is lost */
    assert_int_equal(upmu_cpu_resume(&host.cpu[0]), UPMU_OK);
}

/*
 * A program that has read an event's index executes RDPMC, whatever the kernel does in between: it may wait there for
 * as long as its page is mapped.  The class: a permission that is taken back while its user still relies on it.
 */
static void a_reader_between_index_and_rdpmc_is_never_refused(void **state)
{
    static void (*const between[])(void) = {stop_it,           detach_it,
                                            sleep_and_wake,    switch_away_and_back,
                                            stop_while_away,   detach_while_away,
                                            detach_before_it_goes, move_to_another_cpu};

    (void)state;
    for (unsigned of_thread = 0; of_thread < 2; of_thread++)
        for (unsigned i = 0; i < (of_thread ? 8 : 3); i++) {
            uint64_t count;

            begin("skylake");
            upmu_sim_switch_cpu(&host.sim, 1);
            assert_int_equal(upmu_cpu_init(&host.cpu[1], &host.machine, NULL), UPMU_OK);
            upmu_sim_switch_cpu(&host.sim, 0);
            upmu_thread_init(&reader, 1, 1, NULL);
            upmu_thread_init(&neighbour, 2, 2, NULL);
            publish("instructions");
            if (of_thread)
                assert_int_equal(upmu_session_attach_thread(&host.session, &reader, &host.cpu[0]), UPMU_OK);
            else
                assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[0]), UPMU_OK);
            assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
            host_run(&host, 50);
            meanwhile = between[i];
            (void)upmu_user_read(&page, 0, false, &count);
            assert_null(meanwhile);
            /* When the page is given up the next call closes RDPMC. */
            (void)!upmu_session_close(&host.session);
            assert_int_equal(upmu_cpu_poll(&host.cpu[host.sim.current]), UPMU_OK);
            assert_false(allowed[host.sim.current]);
            for (unsigned cpu = 0; cpu < 2; cpu++) {
                upmu_sim_switch_cpu(&host.sim, cpu);
                assert_int_equal(upmu_cpu_fini(&host.cpu[cpu]), UPMU_OK, cpu);
                assert_false(allowed[cpu], cpu);
            }
            host_no_violation(&host);
        }
}

static void user_mode_may_read_only_where_a_session_is_published(void **state)
{
    struct upmu_thread mine, theirs;
    uint64_t count;

    (void)state;
    begin_with_reader(&mine, &theirs);
    assert_int_equal(opened, 1);
    host_run(&host, 50);
    assert_int_equal(upmu_thread_switch(&host.cpu[0], &mine, &theirs), UPMU_OK);
    assert_int_equal(opened, 1);
    assert_int_equal(closed, 1);
    assert_false(upmu_user_read(&page, 0, false, &count));
    assert_int_equal(count, 50);
    host_run(&host, 1000);
    assert_int_equal(upmu_thread_switch(&host.cpu[0], &theirs, &mine), UPMU_OK);
    assert_int_equal(opened, 2);
    host_run(&host, 5);
    assert_true(upmu_user_read(&page, 0, false, &count));
    assert_int_equal(count, 55);
    assert_int_equal(upmu_thread_exit(&mine), UPMU_OK);
    assert_int_equal(closed, 2);
    assert_int_equal(page.event[0].index, 0);
    host_end(&host);
}

/*
 * A program whose last session has gone may still execute RDPMC; when it ends, what comes after it may not.
 * Catches: where such a thread runs is not known, and its end closes nothing.
 */
static void the_end_of_a_sessionless_program_closes_what_it_might_read(void **state)
{
    struct upmu_thread mine, theirs, idle;
    struct upmu_user_page another;

    (void)state;
    begin("skylake");
    upmu_thread_init(&mine, 1, 1, NULL);
    upmu_thread_init(&theirs, 2, 2, NULL);
    upmu_thread_init(&idle, 3, 3, NULL);
    publish_on("instructions", &mine, &host.cpu[0]);
    assert_int_equal(upmu_set_add(&host.other.set, "branches", NULL), UPMU_OK);
    assert_int_equal(upmu_session_publish(&host.other, &another), UPMU_OK);
    assert_int_equal(upmu_session_attach_thread(&host.other, &theirs, NULL), UPMU_OK);
    assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    assert_int_equal(upmu_thread_switch(&host.cpu[0], &mine, &idle), UPMU_OK);
    assert_int_equal(closed, opened);
    assert_int_equal(upmu_thread_switch(&host.cpu[0], &idle, &mine), UPMU_OK);
    assert_int_equal(closed + 1, opened);
    assert_int_equal(upmu_thread_exit(&mine), UPMU_OK);
    assert_int_equal(closed, opened);
    assert_int_equal(upmu_session_close(&host.other), UPMU_OK);
    host_end(&host);
}

/*
 * RDPMC reads every counter: what another thread or session left on one is gone before user mode may.  Its own counts
 * stay what they are.  Catches values that outlive the right to them.
 */
static void nothing_of_earlier_threads_is_left_to_read(void **state)
{
    static const char *const profiles[] = {"skylake", "core2", "nehalem", "yonah", "prescott", "zen2"};
    struct upmu_sampling sampling = {.period = 4000};
    struct upmu_thread mine, theirs;

    (void)state;
    for (unsigned i = 0; i < sizeof profiles / sizeof *profiles; i++) {
        begin(profiles[i]);
        upmu_thread_init(&mine, 1, 1, NULL);
        upmu_thread_init(&theirs, 2, 2, NULL);
        publish_on("instructions", &mine, NULL);
        assert_int_equal(upmu_set_add(&host.other.set, "branches", NULL), UPMU_OK);
        assert_int_equal(upmu_set_add(&host.other.set, "cycles", i % 2 ? NULL : &sampling), UPMU_OK, i);
        assert_int_equal(upmu_session_attach_thread(&host.other, &theirs, &host.cpu[0]), UPMU_OK);
        assert_int_equal(upmu_session_start(&host.other), UPMU_OK);
        for (unsigned round = 1; round <= 4; round++) {
            uint64_t value;

            host_run(&host, 1000);
            assert_int_equal(upmu_thread_switch(&host.cpu[0], &theirs, &mine), UPMU_OK);
            for (unsigned counter = 0; counter < UPMU_COUNTERS; counter++) {
                const struct upmu_counter *of = &host.machine.pmu[0].counter[counter];

                if (!(host.machine.pmu[0].counters & ~UPMU_METRIC_COUNTERS(&host.machine.pmu[0]) & 1u << counter) ||
                    counter == host.session.set.tally[0].counter)
                    continue;
                value = upmu_sim_peek(&host.sim, 0, host.machine.pmu[0].table->rows[of->value_row].address);
                assert_int_equal(value, 0);
            }
            host_run(&host, 10);
            assert_int_equal(host_value(&host.session, 0), 10 * round);
            assert_int_equal(upmu_thread_switch(&host.cpu[0], &mine, &theirs), UPMU_OK);
            assert_int_equal(host_value(&host.other, 0), 500 * round);
            assert_int_equal(host_value(&host.other, 1), 2000 * round);
        }
        host_run(&host, 1000);
        assert_int_equal(host_value(&host.other, 1), 10000);
        assert_int_equal(host.other.set.tally[1].overflows, i % 2 ? 0 : 2, i);
        assert_int_equal(upmu_thread_exit(&mine), UPMU_OK);
        assert_int_equal(upmu_thread_exit(&theirs), UPMU_OK);
        host_end(&host);
    }
}

/* A counter that goes from one thread to another in a switch, with the same event or with another one. */
static void a_counter_that_changes_hands_keeps_nothing_of_the_former(void **state)
{
    static const char *const profiles[] = {"skylake",  "core2", "nehalem", "yonah",
                                           "prescott", "zen2",  "zen4",    "k8_revf"};
    static const char *const lists[][2] = {{"instructions", "instructions"},
                                           {"branches,branch-misses", "branch-misses,branches"},
                                           {"branches:u", "branches:u"},
                                           {"instructions,branches", "branch-misses"}};
    struct upmu_thread mine, theirs;

    (void)state;
    for (unsigned i = 0; i < sizeof profiles / sizeof *profiles; i++)
        for (unsigned list = 0; list < sizeof lists / sizeof *lists; list++) {
            unsigned events = list == 1 ? 2 : 1;

            begin(profiles[i]);
            upmu_thread_init(&mine, 1, 1, NULL);
            upmu_thread_init(&theirs, 2, 2, NULL);
            publish_on(lists[list][1], &mine, NULL);
            assert_int_equal(upmu_set_add(&host.other.set, lists[list][0], NULL), UPMU_OK, list);
            assert_int_equal(upmu_session_attach_thread(&host.other, &theirs, &host.cpu[0]), UPMU_OK);
            assert_int_equal(upmu_session_start(&host.other), UPMU_OK);
            for (unsigned round = 1; round <= 3; round++) {
                host_run(&host, 4000);
                assert_int_equal(upmu_thread_switch(&host.cpu[0], &theirs, &mine), UPMU_OK);
                for (unsigned event = 0; event < events; event++) {
                    const struct upmu_counter *of =
                        &host.machine.pmu[0].counter[host.session.set.tally[event].counter];

                    assert_int_equal(
                        upmu_sim_peek(&host.sim, 0, host.machine.pmu[0].table->rows[of->value_row].address), 0);
                    assert_int_equal(page.event[event].base, 0, event);
                }
                host_run(&host, 400);
                assert_int_equal(upmu_thread_switch(&host.cpu[0], &mine, &theirs), UPMU_OK);
            }
            if (list == 0)
                assert_int_equal(host_value(&host.session, 0), 1200);
            if (list == 0)
                assert_int_equal(host_value(&host.other, 0), 12000);
            assert_int_equal(upmu_thread_exit(&mine), UPMU_OK);
            assert_int_equal(upmu_thread_exit(&theirs), UPMU_OK);
            host_end(&host);
        }
}

/* The same where one call stops a session and starts another one. */
static void a_counter_that_a_call_hands_to_a_session_keeps_nothing(void **state)
{
    static const char *const lists[][2] = {{"branches", "branches"}, {"branches", "branch-misses"}};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct upmu_session *mine = &host.session, *theirs = &host.other;
        const struct upmu_counter *of;

        begin("skylake");
        publish(lists[i][1]);
        assert_int_equal(upmu_session_attach_cpu(mine, &host.cpu[0]), UPMU_OK);
        assert_int_equal(upmu_set_add(&theirs->set, lists[i][0], NULL), UPMU_OK, i);
        assert_int_equal(upmu_session_attach_cpu(theirs, &host.cpu[0]), UPMU_OK);
        for (unsigned round = 1; round <= 3; round++) {
            assert_int_equal(upmu_sessions_change(&host.cpu[0], &theirs, 1, &mine, round > 1), UPMU_OK);
            host_run(&host, 4000);
            assert_int_equal(upmu_sessions_change(&host.cpu[0], &mine, 1, &theirs, 1), UPMU_OK);
            of = &host.machine.pmu[0].counter[mine->set.tally[0].counter];
            assert_int_equal(upmu_sim_peek(&host.sim, 0, host.machine.pmu[0].table->rows[of->value_row].address), 0);
            assert_int_equal(page.event[0].base, 0);
            host_run(&host, 400);
        }
        assert_int_equal(host_value(theirs, 0), 6000);
        host_end(&host);
    }
}

/* What its counter held before it was published: its own counts, on top of another session's. */
static void a_session_that_ran_before_shows_nothing_of_others(void **state)
{
    struct upmu_thread mine;
    const struct upmu_counter *of;

    (void)state;
    begin("skylake");
    upmu_thread_init(&mine, 1, 1, NULL);
    assert_int_equal(upmu_set_add(&host.other.set, "branches", NULL), UPMU_OK);
    host_begin(&host, &host.other);
    host_run(&host, 4000);
    assert_int_equal(upmu_session_close(&host.other), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.session.set, "branches", NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_thread(&host.session, &mine, &host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    host_run(&host, 400);
    assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    assert_int_equal(upmu_session_publish(&host.session, &page), UPMU_OK);
    assert_int_equal(page.event[0].base, 0);
    assert_int_equal(upmu_session_attach_thread(&host.session, &mine, &host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    of = &host.machine.pmu[0].counter[host.session.set.tally[0].counter];
    assert_int_equal(upmu_sim_peek(&host.sim, 0, host.machine.pmu[0].table->rows[of->value_row].address), 0);
    assert_int_equal(page.event[0].base, 0);
    host_run(&host, 400);
    assert_int_equal(host_value(&host.session, 0), 400);
    assert_int_equal(upmu_thread_exit(&mine), UPMU_OK);
    host_end(&host);
}

/*
 * What its own session left on a counter is no secret of another thread: a stop and a start cost what they cost without
 * a page, and user mode reads on from a counter that is not 0.  Catches a reader that takes the counter for the count.
 */
static void a_threads_own_counters_stay_as_they_are(void **state)
{
    struct upmu_thread mine;
    uint64_t count;
    uint32_t writes;

    (void)state;
    begin("skylake");
    upmu_thread_init(&mine, 1, 1, NULL);
    publish("instructions,branches");
    assert_int_equal(upmu_session_attach_thread(&host.session, &mine, &host.cpu[0]), UPMU_OK);
    for (unsigned round = 1; round <= 4; round++) {
        writes = host.cpu[0].meter.bank.accesses.writes;
        assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
        assert_true(round == 1 || host.cpu[0].meter.bank.accesses.writes == writes + 1);
        host_run(&host, 1000);
        assert_true(upmu_user_read(&page, 1, false, &count));
        assert_int_equal(count, 500 * round);
        assert_int_equal(page.event[1].base != 0, round > 1);
        writes = host.cpu[0].meter.bank.accesses.writes;
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        assert_int_equal(host.cpu[0].meter.bank.accesses.writes, writes + 1);
    }
    assert_int_equal(upmu_thread_exit(&mine), UPMU_OK);
    host_end(&host);
}

/*
 * A counter that its own thread keeps is cleared for the next reader, though others were cleared meanwhile.  Catches
 * a list that is taken for done when the first of it is.
 */
static void what_a_thread_keeps_is_cleared_for_the_next_reader(void **state)
{
    static const char *const profiles[] = {"skylake", "core2", "zen2"};

    (void)state;
    for (unsigned i = 0; i < sizeof profiles / sizeof *profiles; i++) {
        struct upmu_thread mine, theirs, next;
        struct upmu_session third;
        struct upmu_user_page another;
        uint32_t value;

        begin(profiles[i]);
        upmu_thread_init(&mine, 1, 1, NULL);
        upmu_thread_init(&theirs, 2, 2, NULL);
        upmu_thread_init(&next, 3, 3, NULL);
        assert_int_equal(upmu_session_init(&third, &host.machine), UPMU_OK);
        assert_int_equal(upmu_set_add(&third.set, "cycles:counter=0", NULL), UPMU_OK);
        assert_int_equal(upmu_session_publish(&third, &another), UPMU_OK);
        assert_int_equal(upmu_session_attach_thread(&third, &next, NULL), UPMU_OK);
        assert_int_equal(upmu_session_start(&third), UPMU_OK);
        publish_on("branches:counter=1", &mine, &host.cpu[0]);
        host_run(&host, 1000);
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        assert_int_equal(upmu_set_add(&host.other.set, "branches:counter=0", NULL), UPMU_OK);
        assert_int_equal(upmu_session_attach_thread(&host.other, &theirs, NULL), UPMU_OK);
        assert_int_equal(upmu_session_start(&host.other), UPMU_OK);
        switch_to(&mine, &theirs);
        host_run(&host, 1000);
        value = host.machine.pmu[0].table->rows[host.machine.pmu[0].counter[1].value_row].address;
        assert_int_equal(upmu_sim_peek(&host.sim, 0, value), 500);
        switch_to(&theirs, &mine); /* its session is stopped, and on no CPU */
        assert_int_equal(upmu_sim_peek(&host.sim, 0, value), 0);
        switch_to(&mine, &next);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, value), 0);
        assert_int_equal(host_value(&host.session, 0), 500);
        assert_int_equal(upmu_thread_exit(&next), UPMU_OK);
        assert_int_equal(upmu_thread_exit(&theirs), UPMU_OK);
        assert_int_equal(upmu_thread_exit(&mine), UPMU_OK);
        assert_int_equal(upmu_session_close(&third), UPMU_OK);
        host_end(&host);
    }
}

/*
 * A reader runs on one counter while another is cleared for it: when it leaves, its own is cleared for the next reader.
 * Catches: counters that are cleared and counters that run, forgotten together.
 */
static void what_runs_while_others_are_cleared_is_cleared_later(void **state)
{
    static struct upmu_user_page another;
    struct upmu_thread mine, theirs, next;
    struct upmu_session *third = &host.sessions[2];
    uint32_t value;

    (void)state;
    begin("skylake");
    upmu_thread_init(&mine, 1, 1, NULL);
    upmu_thread_init(&theirs, 2, 2, NULL);
    upmu_thread_init(&next, 3, 3, NULL);
    publish_on("branches:counter=1", &mine, NULL);
    assert_int_equal(upmu_set_add(&third->set, "cycles:counter=0", NULL), UPMU_OK);
    assert_int_equal(upmu_session_publish(third, &another), UPMU_OK);
    assert_int_equal(upmu_session_attach_thread(third, &next, NULL), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.other.set, "branches:counter=0", NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_thread(&host.other, &theirs, &host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.other), UPMU_OK);
    host_run(&host, 1000);
    switch_to(&theirs, &mine);
    host_run(&host, 1000);
    value = host.machine.pmu[0].table->rows[host.machine.pmu[0].counter[1].value_row].address;
    assert_int_equal(upmu_sim_peek(&host.sim, 0, value), 500);
    switch_to(&mine, &next);
    assert_int_equal(upmu_sim_peek(&host.sim, 0, value), 0);
    assert_int_equal(host_value(&host.session, 0), 500);
    assert_int_equal(upmu_thread_exit(&next), UPMU_OK);
    assert_int_equal(upmu_thread_exit(&theirs), UPMU_OK);
    assert_int_equal(upmu_thread_exit(&mine), UPMU_OK);
    host_end(&host);
}

/*
 * A thread that came while there was no page has lost its right to read: the next page, of another program, does not
 * bring it back.  Catches a permission that is remembered beyond what it was given for.
 */
static void anothers_page_opens_nothing_for_a_former_reader(void **state)
{
    (void)state;
    begin("skylake");
    upmu_thread_init(&reader, 1, 1, NULL);
    upmu_thread_init(&neighbour, 2, 2, NULL);
    publish_on("instructions", &reader, &host.cpu[0]);
    assert_true(allowed[0]);
    /* (Both threads have sessions without a page all the time: their switches are seen.) */
    assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    assert_int_equal(upmu_session_publish(&host.session, NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_thread(&host.session, &reader, NULL), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.other.set, "instructions", NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_thread(&host.other, &neighbour, NULL), UPMU_OK);
    switch_to(&reader, &neighbour);
    switch_to(&neighbour, &reader);
    assert_false(allowed[0]);
    assert_int_equal(upmu_session_detach(&host.other), UPMU_OK);
    assert_int_equal(upmu_session_publish(&host.other, &page), UPMU_OK);
    assert_int_equal(upmu_session_attach_thread(&host.other, &neighbour, NULL), UPMU_OK);
    switch_to(&reader, &neighbour);
    assert_true(allowed[0]);
    switch_to(&neighbour, &reader);
    assert_false(allowed[0]);
    assert_int_equal(upmu_thread_exit(&reader), UPMU_OK);
    assert_int_equal(upmu_thread_exit(&neighbour), UPMU_OK);
    host_end(&host);
}

/*
 * All pages were withdrawn while a former reader ran on, or while another thread ran in its place: the next page, of
 * another program, does not bring its right back.  Catches a right that only a switch in that very time ends.
 */
static void a_time_without_pages_ends_the_right_of_every_thread(void **state)
{
    (void)state;
    for (unsigned away = 0; away < 2; away++) {
        struct upmu_thread idle;

        begin_with_reader(&reader, &neighbour);
        upmu_thread_init(&idle, 3, 3, NULL);
        assert_true(allowed[0]);
        if (away)
            switch_to(&reader, &idle);
        assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
        assert_int_equal(upmu_cpu_tick(&host.cpu[0]), UPMU_OK);
        assert_false(allowed[0]);
        assert_int_equal(upmu_set_add(&host.other.set, "instructions", NULL), UPMU_OK);
        assert_int_equal(upmu_session_publish(&host.other, &page), UPMU_OK);
        assert_int_equal(upmu_session_attach_thread(&host.other, &neighbour, NULL), UPMU_OK);
        switch_to(away ? &idle : &reader, &neighbour);
        assert_true(allowed[0]);
        switch_to(&neighbour, &reader);
        assert_false(allowed[0]);
        switch_to(&reader, &neighbour);
        assert_true(allowed[0]);
        assert_int_equal(upmu_thread_exit(&neighbour), UPMU_OK);
        assert_int_equal(upmu_thread_exit(&reader), UPMU_OK);
        host_end(&host);
    }
}

/*
 * A static session leaves its counters running: they are closed before they are made 0, and its next start counts from
 * there.  Catches a counter that is written while it runs.
 */
static void what_a_static_session_left_running_is_closed_and_cleared(void **state)
{
    struct upmu_thread idle, mine, theirs;

    (void)state;
    begin("skylake");
    upmu_thread_init(&idle, 0, 0, NULL);
    upmu_thread_init(&mine, 1, 1, NULL);
    upmu_thread_init(&theirs, 2, 2, NULL);
    publish_on("cycles", &mine, NULL);
    assert_int_equal(upmu_set_add(&host.other.set, "instructions,branches", NULL), UPMU_OK);
    assert_int_equal(upmu_session_static(&host.other, true), UPMU_OK);
    assert_int_equal(upmu_session_attach_thread(&host.other, &theirs, NULL), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.other), UPMU_OK);
    assert_int_equal(upmu_thread_switch(&host.cpu[0], &idle, &theirs), UPMU_OK);
    host_run(&host, 1000);
    assert_int_equal(upmu_thread_switch(&host.cpu[0], &theirs, &mine), UPMU_OK);
    host_no_violation(&host);
    host_run(&host, 100);
    for (unsigned i = 0; i < 2; i++) {
        const struct upmu_pmu *pmu = &host.machine.pmu[0];
        unsigned row = pmu->counter[host.other.set.tally[i].counter].value_row;

        assert_int_equal(upmu_sim_peek(&host.sim, 0, pmu->table->rows[row].address), 0, row);
    }
    assert_int_equal(upmu_thread_switch(&host.cpu[0], &mine, &theirs), UPMU_OK);
    host_run(&host, 10);
    assert_int_equal(host_value(&host.other, 0), 1010);
    assert_int_equal(host_value(&host.other, 1), 505);
    assert_int_equal(upmu_thread_exit(&mine), UPMU_OK);
    assert_int_equal(upmu_thread_exit(&theirs), UPMU_OK);
    host_end(&host);
}

/*
 * The CPU ends under a thread that has a page, and its thread goes and comes.
 * Catches: a right that the end of a CPU takes, or leaves to the next thread.
 */
static void the_end_of_a_cpu_takes_no_thread_its_right(void **state)
{
    struct upmu_thread mine, theirs;

    (void)state;
    begin_with_reader(&mine, &theirs);
    assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
    assert_true(allowed[0]);
    assert_int_equal(upmu_thread_switch(&host.cpu[0], &mine, &theirs), UPMU_OK);
    assert_false(allowed[0]);
    assert_int_equal(upmu_thread_switch(&host.cpu[0], &theirs, &mine), UPMU_OK);
    assert_true(allowed[0]);
    /* A CPU that is initialised anew does not know of the right that it gave before. */
    assert_int_equal(upmu_cpu_init(&host.cpu[0], &host.machine, NULL), UPMU_OK);
    assert_int_equal(upmu_thread_switch(&host.cpu[0], &mine, &theirs), UPMU_OK);
    assert_false(allowed[0]);
    assert_int_equal(upmu_thread_switch(&host.cpu[0], &theirs, &mine), UPMU_OK);
    assert_true(allowed[0]);
    assert_int_equal(upmu_thread_exit(&mine), UPMU_OK);
    assert_false(allowed[0]);
    host_end(&host);
}

/*
 * A CPU ends under a reader, the last page is withdrawn, and the CPU is initialised again in the same memory.
 * Catches: a right that is forgotten with what the memory held.
 */
static void a_cpu_that_comes_again_takes_the_right_of_before(void **state)
{
    struct upmu_thread mine;

    (void)state;
    begin_with_reader(&mine, NULL);
    assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
    assert_true(allowed[0]);
    assert_int_equal(upmu_cpu_init(&host.cpu[0], &host.machine, NULL), UPMU_OK);
    assert_int_equal(upmu_cpu_tick(&host.cpu[0]), UPMU_OK);
    assert_false(allowed[0]);
    assert_int_equal(host.cpu[0].user_reads, 0);
    assert_int_equal(upmu_thread_exit(&mine), UPMU_OK);
    host_end(&host);
}

/*
 * The same, but its registers fault, and it has no PMU: the switch away from the reader takes the right.
 * Catches: a right that is known only to a CPU that could be taken over.
 */
static void a_cpu_that_cannot_come_again_takes_the_right_of_before(void **state)
{
    struct upmu_thread mine, theirs;

    (void)state;
    begin_with_reader(&mine, &theirs);
    assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
    assert_true(allowed[0]);
    host.sim.fault_at = host.sim.accesses + 5;
    host.sim.fault_until = host.sim.fault_at + 1000;
    assert_int_equal(upmu_cpu_init(&host.cpu[0], &host.machine, NULL), UPMU_ERR_PORT);
    host.sim.fault_at = host.sim.fault_until = 0;
    assert_int_equal(upmu_thread_switch(&host.cpu[0], &mine, &theirs), UPMU_OK);
    assert_false(allowed[0]);
    host_end(&host);
}

/*
 * The last session of a thread is closed before the thread ends, while another page exists.
 * Catches: a right that is left to what runs there next.
 */
static void the_end_of_a_thread_without_sessions_takes_its_right(void **state)
{
    static struct upmu_user_page other;
    struct upmu_thread mine;

    (void)state;
    begin("skylake");
    upmu_thread_init(&mine, 1, 1, NULL);
    assert_int_equal(upmu_set_add(&host.other.set, "instructions", NULL), UPMU_OK);
    assert_int_equal(upmu_session_publish(&host.other, &other), UPMU_OK);
    publish_on("instructions", &mine, &host.cpu[0]);
    assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
    assert_true(allowed[0]);
    assert_int_equal(upmu_thread_exit(&mine), UPMU_OK);
    assert_int_equal(mine.reads, 0);
    assert_null(mine.cpu);
    assert_null(host.cpu[0].current);
    assert_false(allowed[0]);
    host_end(&host);
}

/*
 * A thread ends where its CPU has ended before it, and where a call held its session when it came, which so is in no
 * list of the CPU.
 * Catches: a right that is left to what runs there next.
 */
static void the_end_of_a_thread_takes_its_right_wherever_it_has_sessions(void **state)
{
    (void)state;
    for (unsigned held = 0; held < 2; held++) {
        struct upmu_thread mine, theirs;

        begin_with_reader(&mine, &theirs);
        assert_int_equal(upmu_thread_switch(&host.cpu[0], &mine, &theirs), UPMU_OK);
        host.session.held = held;
        assert_int_equal(upmu_thread_switch(&host.cpu[0], &theirs, &mine), UPMU_OK);
        host.session.held = 0;
        if (!held)
            assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
        assert_true(allowed[0]);
        assert_int_equal(upmu_thread_exit(&mine), UPMU_OK);
        assert_int_equal(upmu_thread_switch(&host.cpu[0], &mine, &theirs), UPMU_OK);
        assert_false(allowed[0]);
        host_end(&host);
    }
}

/*
 * A session with a page was attached elsewhere while its thread came with the right of earlier pages: the switch takes
 * the new right for that one.  The next call gives it back, and the thread keeps it when the session has left.
 * Catches: a right that lasts no longer than the session.
 */
static void a_right_that_a_switch_took_by_mistake_comes_back(void **state)
{
    struct upmu_thread mine, theirs;

    (void)state;
    begin_with_reader(&mine, &theirs);
    mine.reads = 0; /* as such a switch leaves it */
    assert_int_equal(upmu_cpu_tick(&host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    switch_to(&mine, &theirs);
    assert_false(allowed[0]);
    switch_to(&theirs, &mine);
    assert_true(allowed[0]);
    assert_int_equal(upmu_thread_exit(&mine), UPMU_OK);
    assert_false(allowed[0]);
    host_end(&host);
}

/*
 * The last page was withdrawn elsewhere while its thread came, so that the switch knew of a reader and opened nothing.
 * Catches: a reader that the CPU still has when the thread has left, and the next page that opens for another thread.
 */
static void a_reader_whose_page_went_while_it_came_is_none_later(void **state)
{
    static struct upmu_user_page other;
    struct upmu_thread mine, theirs;

    (void)state;
    begin_with_reader(&mine, &theirs);
    assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
    assert_int_equal(upmu_cpu_tick(&host.cpu[0]), UPMU_OK);
    assert_false(allowed[0]);
    assert_int_equal(mine.reads, 1);
    host.cpu[0].readers = 2; /* the thread's: what the switch to it found */
    assert_int_equal(upmu_thread_switch(&host.cpu[0], &mine, &theirs), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.other.set, "instructions", NULL), UPMU_OK);
    assert_int_equal(upmu_session_publish(&host.other, &other), UPMU_OK);
    assert_int_equal(upmu_cpu_tick(&host.cpu[0]), UPMU_OK);
    assert_false(allowed[0]);
    host_end(&host);
}

/* Sessions without a page: the hook that lets programs read counters is not called. */
static void without_a_page_nothing_is_opened(void **state)
{
    (void)state;
    begin("skylake");
    assert_int_equal(upmu_set_add(&host.session.set, "instructions", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    host_run(&host, 50);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    assert_int_equal(opened + closed, 0);
    host_end(&host);
}

/*
 * Erratum 26: on a Pentium Pro before stepping 9 user mode reads wrong values by RDPMC.  Catches: a program that gets
 * the right to read them, or an index in its page.
 */
static void an_early_pentium_pro_gives_no_right_to_rdpmc(void **state)
{
    static struct upmu_sim_profile pentium_pro;

    (void)state;
    for (unsigned stepping = 8; stepping <= 9; stepping++) {
        uint64_t count = 0;

        memset(&page, 0xff, sizeof page);
        opened = closed = reads = 0;
        allowed[0] = allowed[1] = false;
        host_prepare(&host, "p6");
        pentium_pro = *host.sim.profile;
        pentium_pro.signature = 0x610u + stepping;
        host.sim.profile = &pentium_pro;
        host.sim.port.allow_rdpmc = note_allowed;
        host_start(&host);
        publish("INST_RETIRED");
        host_begin(&host, &host.session);
        host_run(&host, 1000);
        assert_int_equal(allowed[0], stepping == 9, stepping);
        assert_int_equal(page.event[0].index != 0, stepping == 9, stepping);
        assert_int_equal(upmu_user_read(&page, 0, false, &count), stepping == 9, stepping);
        assert_int_equal(host_value(&host.session, 0), 1000, stepping);
        host_end(&host);
    }
}

static struct upmu_watched_page watched;
static unsigned told;

static void note_written(struct upmu_watched_page *of)
{
    assert_ptr_equal(of, &watched);
    assert_int_equal(of->page.sequence & 1u, 1); /* no handler writes the page meanwhile */
    told++;
}

/* A layer with pages of its own is told of each write: by the call that publishes, by starts, stops and the end. */
static void a_watched_page_is_told_of_each_write(void **state)
{
    unsigned before;

    (void)state;
    begin("skylake");
    watched.written = note_written;
    told = 0;
    assert_int_equal(upmu_set_add(&host.session.set, "instructions", NULL), UPMU_OK);
    assert_int_equal(upmu_session_publish_watched(&host.session, &watched), UPMU_OK);
    assert_int_equal(told, 1);
    assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_publish_watched(&host.session, &watched), UPMU_ERR_STATE);
    before = told;
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    assert_compare(told, >, before);
    assert_int_not_equal(watched.page.event[0].index, 0);
    assert_true(watched.page.flags & UPMU_USER_RUNNING);
    before = told;
    assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    assert_compare(told, >, before);
    assert_int_equal(watched.page.event[0].index, 0);
    before = told;
    assert_int_equal(upmu_session_publish(&host.session, NULL), UPMU_OK);
    assert_compare(told, >, before);
    host_end(&host);
    begin("skylake");
    host.sim.port.allow_rdpmc = NULL;
    assert_int_equal(upmu_session_publish_watched(&host.session, &watched), UPMU_ERR_HOOK_MISSING);
    host_end(&host);
}

/*
 * A host has mapped an ordinary page so that its program can write it, and the program writes all of it, again and
 * again.  Catches: a word of the page that decides whether the kernel calls what stands behind the page.
 */
static void no_word_of_a_page_makes_the_library_call_a_function(void **state)
{
    (void)state;
    for (unsigned word = 0; word < 2; word++) {
        begin("skylake");
        watched.written = note_written;
        told = 0;
        assert_int_equal(upmu_set_add(&host.session.set, "instructions", NULL), UPMU_OK);
        assert_int_equal(upmu_session_publish(&host.session, &watched.page), UPMU_OK);
        memset(&watched.page, word ? 0xff : 0, sizeof watched.page);
        host_begin(&host, &host.session);
        memset(&watched.page, word ? 0xff : 0, sizeof watched.page);
        host_run(&host, 100);
        assert_int_equal(upmu_cpu_tick(&host.cpu[0]), UPMU_OK);
        assert_int_equal(host_value(&host.session, 0), 100);
        memset(&watched.page, word ? 0xff : 0, sizeof watched.page);
        assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
        assert_int_equal(told, 0);
        host_end(&host);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(user_reads_equal_the_kernels_and_cost_one_rdpmc),
        cmocka_unit_test(a_stopped_session_needs_the_slow_call),
        cmocka_unit_test(an_event_that_the_active_set_does_not_have_is_refused),
        cmocka_unit_test(a_count_that_wraps_is_the_kernels_to_read),
        cmocka_unit_test(where_rdpmc_tells_something_else_programs_ask_the_kernel),
        cmocka_unit_test(interrupts_that_load_a_counter_publish_it_again),
        cmocka_unit_test(an_interrupt_that_masks_the_session_says_so_in_its_page),
        cmocka_unit_test(a_read_that_meets_an_interrupt_is_repeated),
        cmocka_unit_test(a_page_that_is_never_finished_ends_in_the_slow_call),
        cmocka_unit_test(an_event_that_moves_has_a_new_generation_and_the_right_count),
        cmocka_unit_test(nothing_of_earlier_threads_is_left_to_read),
        cmocka_unit_test(a_counter_that_changes_hands_keeps_nothing_of_the_former),
        cmocka_unit_test(a_counter_that_a_call_hands_to_a_session_keeps_nothing),
        cmocka_unit_test(a_session_that_ran_before_shows_nothing_of_others),
        cmocka_unit_test(what_a_thread_keeps_is_cleared_for_the_next_reader),
        cmocka_unit_test(what_runs_while_others_are_cleared_is_cleared_later),
        cmocka_unit_test(a_reader_between_index_and_rdpmc_is_never_refused),
        cmocka_unit_test(user_mode_may_read_only_where_a_session_is_published),
        cmocka_unit_test(the_end_of_a_sessionless_program_closes_what_it_might_read),
        cmocka_unit_test(anothers_page_opens_nothing_for_a_former_reader),
        cmocka_unit_test(a_time_without_pages_ends_the_right_of_every_thread),
        cmocka_unit_test(a_threads_own_counters_stay_as_they_are),
        cmocka_unit_test(what_a_static_session_left_running_is_closed_and_cleared),
        cmocka_unit_test(the_end_of_a_cpu_takes_no_thread_its_right),
        cmocka_unit_test(a_cpu_that_comes_again_takes_the_right_of_before),
        cmocka_unit_test(a_cpu_that_cannot_come_again_takes_the_right_of_before),
        cmocka_unit_test(the_end_of_a_thread_without_sessions_takes_its_right),
        cmocka_unit_test(a_right_that_a_switch_took_by_mistake_comes_back),
        cmocka_unit_test(the_end_of_a_thread_takes_its_right_wherever_it_has_sessions),
        cmocka_unit_test(a_reader_whose_page_went_while_it_came_is_none_later),
        cmocka_unit_test(without_a_page_nothing_is_opened),
        cmocka_unit_test(an_early_pentium_pro_gives_no_right_to_rdpmc),
        cmocka_unit_test(a_watched_page_is_told_of_each_write),
        cmocka_unit_test(no_word_of_a_page_makes_the_library_call_a_function),
    };
    return cmocka_run_group_tests_name("user_page", tests, NULL, NULL);
}
