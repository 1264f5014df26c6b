/* SPDX-License-Identifier: MIT */
/*
 * Memory after close (R46): sessions, sets, rings, queues, pages, threads, units outside the cores, regions and CPUs are
 * freed as soon as the call that ends them has returned, and nothing in the library points
 * there.  The class of mistake: a list, a table or a cached pointer that outlives its object.
 */
#include "tests/common/host.h"
#include "tests/common/pointers.h"
#include <pthread.h>
#include <stdio.h>

#include "port/sim/sim_uncore.h"
#include <upmu/format.h>
#include <upmu/ibs.h>
#include <upmu/message.h>
#include <upmu/page.h>
#include <upmu/thread.h>
#include <upmu/unit.h>

enum {
    SESSION,
    OTHER,
    SET,
    RING,
    QUEUE,
    MESSAGES,
    PAGE,
    OTHER_PAGE,
    UNIT,
    OTHER_UNIT,
    LIST,
    BOXES,
    TYPES,
    STACK,
    THREAD,
    IDLE,
    CPU0,
    CPU1,
    MACHINE,
    DOMAIN,
    PIECES
};

struct fixture {
    struct upmu_sim sim;
    struct memory piece[PIECES];
    struct upmu_machine *machine;
    struct upmu_cpu *cpu[2];
    struct upmu_domain *domain;
    struct upmu_thread *thread, *idle;
    struct upmu_session *session, *other;
    struct upmu_set *set;
    struct upmu_unit *unit, *other_unit;
    const char *when;
};

static struct upmu_sim_uncore outside;

static void deliver(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_interrupt *interrupt)
{
    struct fixture *f = sim->test;
    struct upmu_frame frame = {.ip = interrupt->ip, .sp = interrupt->sp, .user = interrupt->user};

    (void)upmu_handle_pmi(f->cpu[cpu], &frame);
}

static void *piece(struct fixture *f, unsigned which, const char *what, size_t bytes)
{
    f->piece[which] = memory_new(what, bytes);
    return f->piece[which].at;
}

static void lose(struct fixture *f, unsigned which)
{
    if (!f->piece[which].at)
        return;
    memory_forgotten(f->when, f->piece, PIECES, &f->piece[which]);
    memory_free(&f->piece[which]);
}

static void add_session(struct fixture *f)
{
    f->session = piece(f, SESSION, "session", sizeof *f->session);
    assert_int_equal(upmu_session_init(f->session, f->machine), UPMU_OK);
}

static void set_up(struct fixture *f, const char *profile, const char *when)
{
    struct upmu_domain *domains[2] = {NULL, NULL};
    const struct upmu_sim_machine *machine = upmu_sim_machine(profile);

    memset(f, 0, sizeof *f);
    memory_restart();
    f->when = when;
    if (machine)
        upmu_sim_uncore_init(&outside, &f->sim, machine);
    else
        upmu_sim_init(&f->sim, upmu_sim_profile(profile), 2);
    f->sim.test = f;
    f->sim.deliver = deliver;
    f->sim.ns_per_access = 10;
    f->machine = piece(f, MACHINE, "machine", sizeof *f->machine);
    f->domain = piece(f, DOMAIN, "domain", sizeof *f->domain);
    domains[0] = f->domain;
    assert_int_equal(upmu_machine_init(f->machine, upmu_sim_port(&f->sim)), UPMU_OK);
    upmu_domain_init(f->domain, UPMU_SCOPE_CORE);
    for (unsigned i = 0; i < 2; i++) {
        f->cpu[i] = piece(f, CPU0 + i, i ? "CPU 1" : "CPU 0", sizeof *f->cpu[i]);
        upmu_sim_switch_cpu(&f->sim, i);
        upmu_sim_bind_cpu(&f->sim, i, f->cpu[i]);
        assert_int_equal(upmu_cpu_init(f->cpu[i], f->machine, domains), UPMU_OK);
    }
    upmu_sim_switch_cpu(&f->sim, 0);
    f->thread = piece(f, THREAD, "thread", sizeof *f->thread);
    f->idle = piece(f, IDLE, "idle thread", sizeof *f->idle);
    upmu_thread_init(f->thread, 1, 1, NULL);
    upmu_thread_init(f->idle, 2, 2, NULL);
    f->other = piece(f, OTHER, "other session", sizeof *f->other);
    assert_int_equal(upmu_session_init(f->other, f->machine), UPMU_OK);
    add_session(f);
}

static void work(struct fixture *f, uint64_t instructions)
{
    upmu_sim_events(&f->sim, &(struct upmu_sim_burst){.instructions = instructions,
                                                      .cycles = 2 * instructions,
                                                      .ref_cycles = 2 * instructions,
                                                      .branches = instructions / 2,
                                                      .uops = instructions,
                                                      .ip = 0x1000,
                                                      .ip_step = 1});
}

/* Ring, queue and page; samples of branches. */
static void furnish(struct fixture *f, uint64_t period)
{
    struct upmu_sampling sampling = {.period = period, .flags = UPMU_SAMPLING_NOTIFY};
    void *ring = piece(f, RING, "ring", 2048), *messages;
    struct upmu_queue *queue = piece(f, QUEUE, "queue", sizeof *queue);

    messages = piece(f, MESSAGES, "messages", 16 * sizeof(struct upmu_message));
    assert_int_equal(upmu_session_ring(f->session, ring, 2048), UPMU_OK);
    assert_int_equal(upmu_session_messages(f->session, queue, messages, 16, 0, NULL), UPMU_OK);
    assert_int_equal(upmu_session_publish(f->session, piece(f, PAGE, "page", sizeof(struct upmu_user_page))), UPMU_OK);
    assert_int_equal(upmu_session_add(f->session, "branches", &sampling), UPMU_OK);
    assert_int_equal(upmu_session_add(f->session, "instructions", NULL), UPMU_OK);
}

static void add_set(struct fixture *f)
{
    struct upmu_sampling sampling = {.period = 100, .switch_after = 1};

    f->set = piece(f, SET, "set", sizeof *f->set);
    assert_int_equal(upmu_session_shuffle(f->session, false, 0), UPMU_OK);
    assert_int_equal(upmu_session_add_set(f->session, f->set, 1, UPMU_SET_OVERFLOW_SWITCH, 0), UPMU_OK);
    assert_int_equal(upmu_set_add(f->session, f->set, "branches:k", &sampling), UPMU_OK);
}

static void tick(struct fixture *f)
{
    (void)!upmu_cpu_tick(f->cpu[f->sim.current]);
}

static void switches(struct fixture *f, struct upmu_thread *from, struct upmu_thread *to)
{
    (void)upmu_thread_switch(f->cpu[f->sim.current], from, to);
}

static void on_cpu(struct fixture *f, struct upmu_session *session)
{
    (void)!upmu_session_attach_cpu(session, f->cpu[f->sim.current]);
    (void)!upmu_session_start(session);
}

/* It is closed, and its memory is used for something else. */
static void closed(struct fixture *f)
{
    assert_int_equal(f->session->state, UPMU_SESSION_CLOSED);
    lose(f, SESSION);
    lose(f, SET);
    lose(f, RING);
    lose(f, QUEUE);
    lose(f, MESSAGES);
    lose(f, PAGE);
    f->session = NULL;
}

static void close_it(struct fixture *f)
{
    if (upmu_session_close(f->session) == UPMU_ERR_BUSY)
        fail_msg("%s: nothing is in its way", f->when);
    closed(f);
}

/* ---- Lives of a session: what a register's fault makes of a call is no matter here ---- */

static void started_and_stopped(struct fixture *f)
{
    furnish(f, 100);
    on_cpu(f, f->session);
    work(f, 1000);
    (void)!upmu_session_stop(f->session);
    close_it(f);
}

static void running(struct fixture *f)
{
    furnish(f, 100);
    on_cpu(f, f->session);
    work(f, 1000);
    close_it(f);
}

/* A write stops it and starts it again: one event goes on from its value, the next is loaded. */
static void written(struct fixture *f)
{
    assert_int_equal(upmu_session_add(f->session, "instructions", NULL), UPMU_OK);
    furnish(f, 100);
    on_cpu(f, f->session);
    for (unsigned i = 0; i < 3; i++) {
        work(f, 50);
        (void)!upmu_session_write(f->session, 1, 0);
    }
    close_it(f);
}

/* Both have pages; the other one leaves the list of them first, by a stop. */
static void beside_one_with_a_page(struct fixture *f)
{
    struct upmu_user_page *page = piece(f, OTHER_PAGE, "page", sizeof *page);

    assert_int_equal(upmu_session_publish(f->other, page), UPMU_OK);
    assert_int_equal(upmu_session_add(f->other, "cycles", NULL), UPMU_OK);
    furnish(f, 100);
    on_cpu(f, f->session);
    on_cpu(f, f->other);
    (void)!upmu_session_stop(f->other);
    close_it(f);
    assert_int_equal(upmu_session_detach(f->other), UPMU_OK);
    assert_int_equal(upmu_session_publish(f->other, NULL), UPMU_OK);
    lose(f, OTHER_PAGE);
}

static void closed_from_another_cpu(struct fixture *f)
{
    furnish(f, 100);
    on_cpu(f, f->session);
    work(f, 1000);
    upmu_sim_switch_cpu(&f->sim, 1);
    close_it(f);
    upmu_sim_switch_cpu(&f->sim, 0);
}

static void with_sets(struct fixture *f)
{
    furnish(f, 100);
    add_set(f);
    on_cpu(f, f->session);
    for (unsigned i = 0; i < 4; i++) {
        (void)!upmu_session_switch(f->session, NULL);
        work(f, 50);
        tick(f);
    }
    work(f, 1000);
    close_it(f);
}

/* The set that comes has counters that did not run. */
static void with_sets_that_a_handler_changes(struct fixture *f)
{
    struct upmu_sampling sampling = {.period = 100, .switch_after = 1};

    add_set(f);
    assert_int_equal(upmu_set_add(f->session, f->set, "branch-misses,cache-misses", NULL), UPMU_OK);
    assert_int_equal(upmu_session_add_set(f->session, NULL, 0, UPMU_SET_OVERFLOW_SWITCH, 0), UPMU_OK);
    assert_int_equal(upmu_session_add(f->session, "branches", &sampling), UPMU_OK);
    on_cpu(f, f->session);
    for (unsigned i = 0; i < 2; i++)
        (void)!upmu_session_switch(f->session, NULL);
    for (unsigned i = 0; i < 4; i++)
        work(f, 200);
    close_it(f);
}

static void with_a_set_that_is_taken_out(struct fixture *f)
{
    furnish(f, 100);
    add_set(f);
    on_cpu(f, f->session);
    (void)!upmu_session_switch(f->session, NULL);
    work(f, 1000);
    (void)!upmu_session_detach(f->session);
    assert_int_equal(upmu_session_remove_set(f->session, 1), UPMU_OK);
    lose(f, SET);
    work(f, 1000);
    on_cpu(f, f->session);
    work(f, 1000);
    close_it(f);
}

static void moved(struct fixture *f)
{
    furnish(f, 100);
    on_cpu(f, f->session);
    work(f, 100);
    assert_int_equal(upmu_session_add(f->other, "cache-misses,branch-misses", NULL), UPMU_OK);
    on_cpu(f, f->other);
    work(f, 100);
    close_it(f);
}

static void on_a_thread_that_runs(struct fixture *f)
{
    furnish(f, 100);
    (void)!upmu_session_attach_thread(f->session, f->thread, NULL);
    (void)!upmu_session_start(f->session);
    switches(f, f->idle, f->thread);
    work(f, 1000);
    close_it(f);
    switches(f, f->thread, f->idle);
}

static void run_on_both_cpus(struct fixture *f)
{
    (void)!upmu_session_attach_thread(f->session, f->thread, NULL);
    (void)!upmu_session_start(f->session);
    for (unsigned i = 0; i < 2; i++) {
        upmu_sim_switch_cpu(&f->sim, i);
        switches(f, f->idle, f->thread);
        work(f, 1000);
        switches(f, f->thread, f->idle);
    }
    upmu_sim_switch_cpu(&f->sim, 0);
    close_it(f);
}

static void on_a_thread_that_has_run(struct fixture *f)
{
    furnish(f, 100);
    run_on_both_cpus(f);
}

static void static_on_a_thread(struct fixture *f)
{
    furnish(f, 0);
    assert_int_equal(upmu_session_static(f->session, true), UPMU_OK);
    run_on_both_cpus(f);
}

static void while_it_waits_for_its_turn(struct fixture *f)
{
    furnish(f, 100);
    assert_int_equal(upmu_session_share(f->session, true), UPMU_OK);
    on_cpu(f, f->session);
    assert_int_equal(upmu_session_add(f->other, "branches,cache-misses,branch-misses,cache-references", NULL), UPMU_OK);
    on_cpu(f, f->other);
    work(f, 1000);
    for (unsigned i = 0; i < 3; i++)
        tick(f);
    close_it(f);
}

static void while_its_cpu_sleeps(struct fixture *f)
{
    furnish(f, 100);
    on_cpu(f, f->session);
    work(f, 1000);
    (void)!upmu_cpu_suspend(f->cpu[0]);
    close_it(f);
    (void)!upmu_cpu_resume(f->cpu[0]);
}

/* A controller goes where the session cannot be reached: the CPU's tick, or the thread's next switch, closes it. */
static void as_a_zombie(struct fixture *f)
{
    furnish(f, 100);
    on_cpu(f, f->session);
    work(f, 1000);
    upmu_sim_switch_cpu(&f->sim, 1);
    f->sim.cpu[0].offline = true;
    assert_int_equal(upmu_session_drop(f->session), UPMU_OK);
    f->sim.cpu[0].offline = false;
    upmu_sim_switch_cpu(&f->sim, 0);
    tick(f);
    closed(f);
}

static void as_a_zombie_of_a_thread(struct fixture *f)
{
    furnish(f, 100);
    (void)!upmu_session_attach_thread(f->session, f->thread, NULL);
    (void)!upmu_session_start(f->session);
    switches(f, f->idle, f->thread);
    work(f, 1000);
    upmu_sim_switch_cpu(&f->sim, 1);
    f->sim.cpu[0].offline = true;
    assert_int_equal(upmu_session_drop(f->session), UPMU_OK);
    f->sim.cpu[0].offline = false;
    upmu_sim_switch_cpu(&f->sim, 0);
    switches(f, f->thread, f->idle);
    closed(f);
}

static void with_its_thread(struct fixture *f)
{
    furnish(f, 100);
    (void)!upmu_session_attach_thread(f->session, f->thread, f->cpu[0]);
    (void)!upmu_session_start(f->session);
    work(f, 1000);
    (void)!upmu_thread_exit(f->thread);
    lose(f, THREAD);
    f->thread = NULL;
    close_it(f);
}

static void never_attached(struct fixture *f)
{
    furnish(f, 100);
    add_set(f);
    close_it(f);
}

/* The handler leaves it masked; a restart that is followed by more, too. */
static void masked_by_a_full_ring(struct fixture *f)
{
    struct upmu_sampling sampling = {.period = 10};

    upmu_session_mask_on_full(f->session, true);
    assert_int_equal(upmu_session_ring(f->session, piece(f, RING, "ring", 2048), 2048), UPMU_OK);
    assert_int_equal(upmu_session_add(f->session, "branches", &sampling), UPMU_OK);
    on_cpu(f, f->session);
    for (unsigned i = 0; i < 2; i++) {
        work(f, 10000);
        (void)!upmu_session_restart(f->session);
    }
    work(f, 10000);
    close_it(f);
}

/* What it counted runs on after its stop. */
static void static_on_a_cpu(struct fixture *f)
{
    furnish(f, 0);
    assert_int_equal(upmu_session_static(f->session, true), UPMU_OK);
    on_cpu(f, f->session);
    work(f, 1000);
    (void)!upmu_session_stop(f->session);
    work(f, 1000);
    close_it(f);
}

/* It does not share: it waits because a session of the CPU has all counters. */
static void on_a_thread_that_waits(struct fixture *f)
{
    furnish(f, 100);
    (void)!upmu_session_attach_thread(f->session, f->thread, NULL);
    (void)!upmu_session_start(f->session);
    (void)!upmu_cpu_reserve(f->cpu[0], f->cpu[0]->meter.pmu->counters);
    switches(f, f->idle, f->thread);
    for (unsigned i = 0; i < 3; i++)
        tick(f);
    close_it(f);
    upmu_cpu_unreserve(f->cpu[0], ~UINT32_C(0));
    switches(f, f->thread, f->idle);
}

static void after_a_change_behind_its_back(struct fixture *f)
{
    furnish(f, 100);
    on_cpu(f, f->session);
    work(f, 1000);
    (void)!upmu_cpu_changed(f->cpu[0]);
    work(f, 1000);
    close_it(f);
}

static void with_top_down_metrics(struct fixture *f)
{
    struct upmu_event retiring;

    if (!(f->cpu[0]->meter.pmu->counters & UPMU_METRIC_COUNTERS))
        return;
    assert_int_equal(upmu_event_raw(f->cpu[0]->meter.pmu, 0x38000, 0, 0, &retiring), UPMU_OK);
    assert_int_equal(upmu_session_add_event(f->session, &retiring, NULL), UPMU_OK);
    on_cpu(f, f->session);
    work(f, 1000);
    (void)!upmu_cpu_poll(f->cpu[0]);
    close_it(f);
}

static unsigned mask_it(void *state, const struct upmu_overflow *overflow, bool notify)
{
    (void)state, (void)overflow, (void)notify;
    return UPMU_OVERFLOW_MASK;
}

/* A format of the host's, whose function the handler calls. */
static void with_a_format(struct fixture *f)
{
    struct upmu_format *format = piece(f, UNIT, "format", sizeof *format);

    *format = (struct upmu_format){.name = "mask", .overflow = mask_it};
    assert_int_equal(upmu_session_format(f->session, format, NULL, 0), UPMU_OK);
    furnish(f, 100);
    on_cpu(f, f->session);
    work(f, 1000);
    close_it(f);
    lose(f, UNIT);
}

/* A unit beside the counters: stopped by the host, by sleep, or by the end of its CPU. */
static void sample_beside(struct fixture *f, unsigned end)
{
    struct upmu_ibs_sample *samples = piece(f, RING, "samples", 16 * sizeof *samples);
    struct upmu_ibs *unit = piece(f, UNIT, "unit", sizeof *unit);

    *unit = (struct upmu_ibs){.kind = UPMU_IBS_OP, .period = 160, .samples = samples, .capacity = 16};
    (void)!upmu_ibs_start(f->cpu[0], unit);
    work(f, 1000);
    if (end == 0) {
        (void)!upmu_ibs_stop(f->cpu[0], unit);
    } else {
        (void)!upmu_cpu_suspend(f->cpu[0]);
        if (end == 2)
            (void)!upmu_cpu_resume(f->cpu[0]);
    }
    lose(f, UNIT);
    lose(f, RING);
    (void)!upmu_cpu_resume(f->cpu[0]);
}

static void unit_stopped(struct fixture *f)
{
    sample_beside(f, 0);
}

static void unit_asleep(struct fixture *f)
{
    sample_beside(f, 1);
}

static void unit_of_a_cpu_that_woke_up(struct fixture *f)
{
    sample_beside(f, 2);
}

static void region(struct fixture *f)
{
    struct upmu_region *region = piece(f, SET, "region", sizeof *region);

    if (upmu_region_open(region, f->cpu[0], "branches,instructions") == UPMU_OK) {
        (void)!upmu_region_begin(region);
        work(f, 1000);
        (void)!upmu_region_end(region);
        (void)!upmu_region_close(region);
    }
    lose(f, SET);
}

static void *probe(void *argument)
{
    struct fixture *f = argument;
    struct upmu_probe probe = {.loop = upmu_sim_work, .loop_context = &f->sim};

    (void)!upmu_cpu_probe(f->cpu[0], &probe);
    return NULL;
}

/* On a stack that is freed. */
static void probed(struct fixture *f)
{
    pthread_attr_t attributes;
    pthread_t thread;
    size_t bytes = 0x20000;

    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstack(&attributes, piece(f, STACK, "stack", bytes), bytes), 0);
    assert_int_equal(pthread_create(&thread, &attributes, probe, f), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(pthread_attr_destroy(&attributes), 0);
    lose(f, STACK);
}

static const struct life {
    const char *name;
    void (*lead)(struct fixture *f);
} lives[] = {
    {"started and stopped", started_and_stopped},
    {"running", running},
    {"written", written},
    {"beside one with a page", beside_one_with_a_page},
    {"closed from another CPU", closed_from_another_cpu},
    {"with sets", with_sets},
    {"with sets that a handler changes", with_sets_that_a_handler_changes},
    {"with a set that is taken out", with_a_set_that_is_taken_out},
    {"moved", moved},
    {"on a thread that runs", on_a_thread_that_runs},
    {"on a thread that has run", on_a_thread_that_has_run},
    {"static on a thread", static_on_a_thread},
    {"while it waits for its turn", while_it_waits_for_its_turn},
    {"while its CPU sleeps", while_its_cpu_sleeps},
    {"as a zombie", as_a_zombie},
    {"as a zombie of a thread", as_a_zombie_of_a_thread},
    {"with its thread", with_its_thread},
    {"never attached", never_attached},
    {"masked by a full ring", masked_by_a_full_ring},
    {"static on a CPU", static_on_a_cpu},
    {"on a thread that waits", on_a_thread_that_waits},
    {"after a change behind its back", after_a_change_behind_its_back},
    {"with top-down metrics", with_top_down_metrics},
    {"with a format", with_a_format},
    {"unit stopped", unit_stopped},
    {"unit asleep", unit_asleep},
    {"unit of a CPU that woke up", unit_of_a_cpu_that_woke_up},
    {"region", region},
    {"probed", probed},
};

#define LIVES (sizeof lives / sizeof lives[0])

/* What comes later walks over all that is left. */
static void afterwards(struct fixture *f)
{
    if (f->other->state == UPMU_SESSION_DETACHED) {
        if (!f->other->set.count)
            assert_int_equal(upmu_session_add(f->other, "branches,instructions", NULL), UPMU_OK);
        on_cpu(f, f->other);
    }
    if (f->thread) {
        switches(f, f->idle, f->thread);
        switches(f, f->thread, f->idle);
    }
    work(f, 1000);
    for (unsigned i = 0; i < 20; i++)
        tick(f);
    (void)!upmu_session_close(f->other);
    assert_int_equal(f->other->state, UPMU_SESSION_CLOSED);
    lose(f, OTHER);
}

/* A CPU that has gone is nowhere, either; nor is what only the CPUs knew. */
static void tear_down(struct fixture *f)
{
    if (f->thread)
        assert_int_equal(upmu_thread_exit(f->thread), UPMU_OK);
    lose(f, THREAD);
    for (unsigned i = 0; i < 2; i++) {
        if (!f->piece[CPU0 + i].at)
            continue;
        upmu_sim_switch_cpu(&f->sim, i);
        (void)!upmu_cpu_fini(f->cpu[i]);
    }
    lose(f, IDLE);
    lose(f, DOMAIN);
    for (unsigned i = 0; i < 2; i++)
        lose(f, CPU0 + i);
    for (unsigned i = 0; i < PIECES; i++)
        if (f->piece[i].at)
            memory_free(&f->piece[i]);
}

static const char *const profiles[] = {"skylake", "core2", "icelake", "zen4", "k8_revf", "prescott", "p6"};

#define PROFILES (sizeof profiles / sizeof profiles[0])

static void live(const struct life *life, const char *profile, uint32_t fault_at)
{
    struct fixture f;
    char when[120];

    (void)snprintf(when, sizeof when, "%s, %s, fault at %u", profile, life->name, (unsigned)fault_at);
    set_up(&f, profile, when);
    if (fault_at)
        f.sim.fault_at = f.sim.accesses + fault_at;
    life->lead(&f);
    f.sim.fault_at = 0;
    afterwards(&f);
    tear_down(&f);
}

/* A session of a thread lives longer than the CPU where its thread ran, and its thread longer than it. */
static void a_cpu_that_has_gone_is_forgotten_by_what_ran_there(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PROFILES; p++)
        for (unsigned runs = 0; runs < 3; runs++) {
            struct fixture f;

            set_up(&f, profiles[p], profiles[p]);
            furnish(&f, 100);
            (void)!upmu_session_attach_thread(f.session, f.thread, NULL);
            (void)!upmu_session_start(f.session);
            upmu_sim_switch_cpu(&f.sim, 1);
            switches(&f, f.idle, f.thread);
            work(&f, 1000);
            if (runs)
                switches(&f, f.thread, f.idle);
            if (runs > 1)
                assert_int_equal(upmu_session_detach(f.session), UPMU_OK);
            assert_int_equal(upmu_cpu_fini(f.cpu[1]), UPMU_OK);
            lose(&f, CPU1);
            upmu_sim_switch_cpu(&f.sim, 0);
            close_it(&f);
            afterwards(&f);
            tear_down(&f);
        }
}

static void nothing_points_to_what_is_closed(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PROFILES; p++)
        for (unsigned i = 0; i < LIVES; i++)
            live(&lives[i], profiles[p], 0);
}

/* Nor where a register has faulted on the way: at every access, or in a slow build at some. */
#if defined(__SANITIZE_ADDRESS__)
#define FAULT_STEP 7
#else
#define FAULT_STEP 1
#endif
static void nothing_points_to_what_is_closed_after_a_fault(void **state)
{
    (void)state;
    for (unsigned i = 0; i < LIVES; i++)
        for (uint32_t at = 1; at < 120; at += FAULT_STEP)
            live(&lives[i], "skylake", at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cpu_that_has_gone_is_forgotten_by_what_ran_there),
        cmocka_unit_test(nothing_points_to_what_is_closed),
        cmocka_unit_test(nothing_points_to_what_is_closed_after_a_fault),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
