/* SPDX-License-Identifier: MIT */
/* upmu's module for Zephyr on one CPU, with the silicon model that it has itself (CONFIG_UPMU_SIM). */
#include <errno.h>
#include <upmu/cpu.h>
#include <upmu/session.h>
#include "zephyr_case.h"

#define NAMES_MOST 1024
#define SLOTS CONFIG_PROFILING_PERF_EVENTS_MAX_EVENTS

static void work(uint64_t instructions)
{
    upmu_sim_events(
        &upmu_zephyr_sim,
        &(struct upmu_sim_burst){.instructions = instructions, .cycles = 9000, .branches = 2000, .mispredicts = 31});
}

/* Without CONFIG_SMP all code runs on the first CPU, however many there are. */
static void a_cpu_that_runs_something_else_is_not_taken_over(void)
{
    const struct perf_event_provider *of = provider("upmu1");
    uint64_t id;

    EQUAL(upmu_zephyr_machine()->cpu_count, 1);
    CHECK(upmu_zephyr_cpu(0) && !upmu_zephyr_cpu(1));
    EQUAL(of->api->lookup(of->context, "instructions", &id), -ENOTSUP);
    EQUAL(strcmp(stand_in_printed(), ""), 0);
}

/* ---- The provider ---- */

static char names[NAMES_MOST][96];
static unsigned name_count;

static int keep(const char *name, const char *description, void *user_data)
{
    CHECK(user_data == &name_count && strcmp(description, "") != 0 && name_count < NAMES_MOST);
    strcpy(names[name_count++], name);
    return 0;
}

static int keep_three(const char *name, const char *description, void *user_data)
{
    (void)name;
    (void)description;
    return ++*(int *)user_data == 3 ? -ECANCELED : 0;
}

/* A name that is listed twice, or cannot be looked up. */
static void every_name_that_is_listed_can_be_looked_up(void)
{
    const struct perf_event_provider *of = provider("upmu0");
    bool generic = false, own = false;
    int calls = 0;

    EQUAL(of->api->list(of->context, keep, &name_count), 0);
    for (unsigned i = 0; i < name_count; i++) {
        (void)id_of(of, names[i]);
        generic |= strcmp(names[i], "instructions") == 0;
        own |= strcmp(names[i], "BR_MISP_RETIRED.ALL_BRANCHES") == 0;
        CHECK(i == 0 || strcmp(names[i], names[i - 1]) != 0);
    }
    printf("%u names\n", name_count);
    CHECK(generic && own && name_count > 100);
    EQUAL(of->api->list(of->context, keep_three, &calls), -ECANCELED);
    EQUAL(calls, 3);
}

/* Work before, between and after two measurements is in none of them. */
static void a_provider_counts_what_happens_between_start_and_stop(void)
{
    static const char *const events[3] = {"instructions", "cycles", "branch-misses"};
    static const uint64_t wanted[3] = {12000, 9000, 31};
    const struct perf_event_provider *of = provider("upmu0");
    uint64_t id[3], from[3], to[3];

    for (unsigned i = 0; i < 3; i++)
        id[i] = id_of(of, events[i]);
    for (unsigned round = 0; round < 2; round++) {
        work(500);
        for (unsigned i = 0; i < 3; i++)
            EQUAL(of->api->prepare(of->context, id[i]), 0);
        for (unsigned i = 0; i < 3; i++)
            EQUAL(of->api->start(of->context, id[i], &from[i]), 0);
        work(12000);
        for (unsigned i = 0; i < 3; i++)
            EQUAL(of->api->stop(of->context, id[i], &to[i]), 0);
        for (unsigned i = 0; i < 3; i++)
            EQUAL(to[i] - from[i], wanted[i]);
    }
    EQUAL(id_of(of, "cycles"), id[1]);
    EQUAL(id_of(of, "cycles:k") != id[1], true);
}

static void a_provider_refuses_with_the_reason(void)
{
    const struct perf_event_provider *of = provider("upmu0");
    uint64_t id = id_of(of, "instructions"), count;

    EQUAL(of->api->lookup(of->context, "no-such-event", &count), -ENOENT);
    EQUAL(of->api->lookup(of->context, "nhm::instructions", &count), -ENOENT);
    EQUAL(of->api->lookup(of->context, "instructions:no_such_mask", &count), -ENOENT);
    EQUAL(of->api->lookup(of->context, "instructions:c=", &count), -EINVAL);
    EQUAL(of->api->lookup(of->context, "", &count), -EINVAL);
    EQUAL(of->api->prepare(of->context, id + 1), -EINVAL);
    EQUAL(of->api->start(of->context, id, &count), -EINVAL);
    EQUAL(of->api->stop(of->context, id, &count), -EINVAL);
    EQUAL(of->api->start(of->context, UINT64_MAX, &count), -EINVAL);
}

static void lookups_end_where_the_table_is_full(void)
{
    const struct perf_event_provider *of = provider("upmu0");
    uint64_t last = 0, id;
    char name[40];

    for (unsigned i = 0; i < CONFIG_UPMU_PERF_LOOKUPS_MAX; i++) {
        snprintf(name, sizeof name, "BR_MISP_RETIRED.ALL_BRANCHES:c=%u%s%s", i % 255 + 1, i / 255 & 1 ? ":i" : "",
                 (const char *[]){"", ":e", ":k"}[i / 510]);
        last = id_of(of, name);
        EQUAL(last, i);
    }
    EQUAL(of->api->lookup(of->context, "cycles", &id), -ENOSPC);
    EQUAL(id_of(of, name), last);
}

/* Eight general counters are fewer than the slots; the subsystem stops what it has started, and starts anew. */
static void an_event_without_a_counter_is_refused_at_its_start(void)
{
    const struct perf_event_provider *of = provider("upmu0");
    uint64_t id[SLOTS], count;
    unsigned started = 0;
    char name[40];
    int error = 0;

    for (unsigned i = 0; i < SLOTS; i++) {
        snprintf(name, sizeof name, "branch-misses:c=%u", i + 1);
        id[i] = id_of(of, name);
        EQUAL(of->api->prepare(of->context, id[i]), 0);
    }
    while (started < SLOTS && (error = of->api->start(of->context, id[started], &count)) == 0)
        started++;
    EQUAL(error, -ENOSPC);
    EQUAL(started, upmu_zephyr_sim.profile->general);
    for (unsigned i = 0; i < started; i++)
        (void)of->api->stop(of->context, id[i], &count);
    EQUAL(of->api->start(of->context, id[SLOTS - 1], &count), 0);
}

/* The oldest is given up, and what counts is not. */
static void a_slot_goes_to_a_later_measurement(void)
{
    const struct perf_event_provider *of = provider("upmu0");
    uint64_t id[SLOTS + 1], from, to;
    char name[40];

    for (unsigned i = 0; i <= SLOTS; i++) {
        snprintf(name, sizeof name, "instructions:c=%u", i + 1);
        id[i] = i ? id_of(of, name) : id_of(of, "instructions");
        EQUAL(of->api->prepare(of->context, id[i]), 0);
        if (i == 0)
            EQUAL(of->api->start(of->context, id[0], &from), 0);
    }
    EQUAL(of->api->start(of->context, id[1], &to), -EINVAL);
    EQUAL(of->api->prepare(of->context, id[1]), 0);
    EQUAL(of->api->start(of->context, id[2], &to), -EINVAL);
    work(700);
    /* Those that were given up are in no list of the CPU: it finds the one that counts. */
    EQUAL(upmu_cpu_suspend(upmu_zephyr_cpu(0)), UPMU_OK);
    EQUAL(upmu_cpu_resume(upmu_zephyr_cpu(0)), UPMU_OK);
    work(700);
    EQUAL(of->api->stop(of->context, id[0], &to), 0);
    EQUAL(to - from, 1400);
    EQUAL(of->api->prepare(of->context, id[2]), 0);
    EQUAL(of->api->prepare(of->context, id[0]), 0);
    EQUAL(of->api->prepare(of->context, id[3]), 0);
    EQUAL(of->api->start(of->context, id[0], &from), 0);
}

static void a_count_with_a_hole_is_an_error(void)
{
    const struct perf_event_provider *of = provider("upmu0");
    uint64_t id = id_of(of, "instructions"), count;

    EQUAL(of->api->prepare(of->context, id), 0);
    EQUAL(of->api->start(of->context, id, &count), 0);
    work(100);
    EQUAL(upmu_cpu_changed(upmu_zephyr_cpu(0)), UPMU_OK);
    work(100);
    EQUAL(of->api->stop(of->context, id, &count), -EOVERFLOW);
}

/* On a CPU where nothing ever counted, 0 says nothing. */
static void a_zero_that_nothing_vouches_for_is_an_error(void)
{
    const struct perf_event_provider *of = provider("upmu0");
    uint64_t id = id_of(of, "instructions"), count;

    EQUAL(of->api->prepare(of->context, id), 0);
    EQUAL(of->api->start(of->context, id, &count), 0);
    EQUAL(of->api->stop(of->context, id, &count), -ENODATA);
}

static void a_register_that_faults_is_an_error(void)
{
    const struct perf_event_provider *of = provider("upmu0");
    uint64_t id = id_of(of, "instructions"), count;

    EQUAL(of->api->prepare(of->context, id), 0);
    upmu_zephyr_sim.expect_faults = true;
    upmu_zephyr_sim.fault_at = upmu_zephyr_sim.accesses + 1;
    EQUAL(of->api->start(of->context, id, &count), -EIO);
}

static void what_could_not_be_prepared_is_prepared_anew(void)
{
    const struct perf_event_provider *of = provider("upmu0");
    const uint32_t all = upmu_zephyr_machine()->pmu[0].counters;
    uint64_t id = id_of(of, "instructions"), from, to;

    EQUAL(upmu_cpu_reserve(upmu_zephyr_cpu(0), all), UPMU_OK); /* a watchdog has all counters */
    EQUAL(of->api->prepare(of->context, id), -ENOSPC);
    EQUAL(of->api->start(of->context, id, &from), -EINVAL);
    upmu_cpu_unreserve(upmu_zephyr_cpu(0), all);
    EQUAL(of->api->prepare(of->context, id), 0);
    EQUAL(of->api->start(of->context, id, &from), 0);
    work(80);
    EQUAL(of->api->stop(of->context, id, &to), 0);
    EQUAL(to - from, 80);
}

/* ---- Threads ---- */

static struct k_thread threads[CONFIG_UPMU_THREADS_MAX + 2];
static struct upmu_session sessions[CONFIG_UPMU_THREADS_MAX + 2];

/* Work of the main thread, of an idle CPU and of other threads is in no count but theirs. */
static void counts_of_threads_are_exact_across_switches(void)
{
    uint64_t wanted[2] = {0, 0};

    follow(&sessions[0], &threads[0]);
    follow(&sessions[1], &threads[1]);
    work(12000);
    for (unsigned i = 0; i < 50; i++) {
        unsigned next = i * 7 % 4; /* 2: one that is not followed, 3: idle */

        stand_in_switch(next == 3 ? NULL : &threads[next]);
        work(100 + i);
        if (next < 2)
            wanted[next] += 100 + i;
        if (i % 10 == 9)
            stand_in_advance_ms(200);
    }
    EQUAL(exact(&sessions[0]), wanted[0]);
    EQUAL(exact(&sessions[1]), wanted[1]);
}

static void the_executing_thread_is_counted_at_once(void)
{
    follow(&sessions[0], k_current_get());
    work(300);
    stand_in_switch(&threads[1]);
    work(9000);
    stand_in_switch(NULL);
    EQUAL(exact(&sessions[0]), 300);
    EQUAL(upmu_session_close(&sessions[0]), UPMU_OK);
}

/* A thread's memory is another thread's after its end. */
static void a_thread_that_ended_keeps_its_counts_and_gives_up_its_place(void)
{
    for (unsigned round = 0; round < 2 * CONFIG_UPMU_THREADS_MAX; round++) {
        follow(&sessions[0], &threads[0]);
        stand_in_switch(&threads[0]);
        work(400);
        stand_in_end(&threads[0]);
        work(50);
        stand_in_switch(&threads[0]);
        work(5000);
        stand_in_switch(NULL);
        EQUAL(exact(&sessions[0]), 400);
        EQUAL(upmu_session_close(&sessions[0]), UPMU_OK);
    }
    follow(&sessions[0], &threads[0]);
    stand_in_end(&threads[0]);
    EQUAL(sessions[0].state, UPMU_SESSION_DETACHED);
}

static void as_many_threads_are_followed_as_were_asked_for(void)
{
    struct upmu_session *more = &sessions[CONFIG_UPMU_THREADS_MAX];

    for (unsigned i = 0; i < CONFIG_UPMU_THREADS_MAX; i++)
        follow(&sessions[i], &threads[i]);
    EQUAL(upmu_session_init(more, upmu_zephyr_machine()), UPMU_OK);
    EQUAL(upmu_set_add(&more->set, "cycles", NULL), UPMU_OK);
    EQUAL(upmu_zephyr_attach(more, &threads[CONFIG_UPMU_THREADS_MAX]), UPMU_ERR_NO_SPACE);
    EQUAL(upmu_zephyr_attach(more, &threads[0]), UPMU_OK);
    EQUAL(upmu_session_detach(more), UPMU_OK);
    stand_in_switch(&threads[3]);
    work(60);
    EQUAL(upmu_zephyr_leave(&threads[3]), UPMU_OK);
    EQUAL(upmu_zephyr_leave(&threads[3]), UPMU_OK);
    work(60);
    EQUAL(exact(&sessions[3]), 60);
    EQUAL(upmu_zephyr_attach(more, &threads[CONFIG_UPMU_THREADS_MAX]), UPMU_OK);
}

/* A refused session leaves no thread behind. */
static void a_session_that_is_refused_takes_no_place(void)
{
    for (unsigned i = 0; i < 2; i++) {
        EQUAL(upmu_session_init(&sessions[0], upmu_zephyr_machine()), UPMU_OK);
        EQUAL(upmu_zephyr_attach(&sessions[0], &threads[CONFIG_UPMU_THREADS_MAX + i]), UPMU_ERR_STATE); /* no events */
    }
    for (unsigned i = 0; i < CONFIG_UPMU_THREADS_MAX; i++)
        follow(&sessions[i], &threads[i]);
}

/* Zephyr calls the hook also where a thread that gives its CPU up gets it again. */
static void a_switch_to_the_same_thread_touches_no_register(void)
{
    uint32_t before;

    follow(&sessions[0], &threads[0]);
    stand_in_switch(&threads[0]);
    before = upmu_zephyr_sim.accesses;
    stand_in_switch(&threads[0]);
    EQUAL(upmu_zephyr_sim.accesses, before);
}

static void switches_take_no_lock_while_no_thread_is_followed(void)
{
    for (unsigned i = 0; i < 3; i++) {
        unsigned before = stand_in_locks_taken;

        stand_in_switch(&threads[0]);
        stand_in_switch(NULL);
        EQUAL(stand_in_locks_taken, before);
        follow(&sessions[i], &threads[i]);
        stand_in_switch(&threads[i]);
        CHECK(stand_in_locks_taken > before);
        stand_in_end(&threads[i]);
    }
}

/* ---- The tick ---- */

/* Without it a counter of 48 bits would have gone round twice. */
static void the_tick_reads_counters_before_they_go_round(void)
{
    static struct upmu_region region;

    CHECK(upmu_zephyr_cpu(0) == NULL && upmu_zephyr_machine() && upmu_zephyr_cpu(0) && !upmu_zephyr_cpu(1));
    EQUAL(upmu_region_open(&region, upmu_zephyr_cpu(0), "instructions"), UPMU_OK);
    EQUAL(upmu_region_begin(&region), UPMU_OK);
    for (unsigned i = 0; i < 6; i++) {
        work(UINT64_C(1) << 46);
        stand_in_advance_ms(16 * CONFIG_UPMU_TICK_MS);
    }
    EQUAL(upmu_region_end(&region), UPMU_OK);
    EQUAL(region.count[0].quality, UPMU_QUALITY_EXACT);
    EQUAL(region.count[0].value, UINT64_C(6) << 46);
    /* No handler is there: the entry of the local APIC stays masked. */
    EQUAL(upmu_zephyr_sim.access_count[UPMU_SIM_REARM], 0);
    CHECK(upmu_zephyr_sim.cpu[0].lvtpc & UPMU_SIM_LVTPC_MASKED);
}

int main(int words, char **word)
{
    static const struct zephyr_case cases[] = {
        CASE(a_cpu_that_runs_something_else_is_not_taken_over),
        CASE(every_name_that_is_listed_can_be_looked_up),
        CASE(a_provider_counts_what_happens_between_start_and_stop),
        CASE(a_provider_refuses_with_the_reason),
        CASE(lookups_end_where_the_table_is_full),
        CASE(an_event_without_a_counter_is_refused_at_its_start),
        CASE(a_slot_goes_to_a_later_measurement),
        CASE(a_count_with_a_hole_is_an_error),
        CASE(a_zero_that_nothing_vouches_for_is_an_error),
        CASE(a_register_that_faults_is_an_error),
        CASE(what_could_not_be_prepared_is_prepared_anew),
        CASE(counts_of_threads_are_exact_across_switches),
        CASE(the_executing_thread_is_counted_at_once),
        CASE(a_thread_that_ended_keeps_its_counts_and_gives_up_its_place),
        CASE(as_many_threads_are_followed_as_were_asked_for),
        CASE(a_session_that_is_refused_takes_no_place),
        CASE(a_switch_to_the_same_thread_touches_no_register),
        CASE(switches_take_no_lock_while_no_thread_is_followed),
        CASE(the_tick_reads_counters_before_they_go_round),
    };

    return run_case(cases, sizeof cases / sizeof cases[0], words, word);
}
