/* SPDX-License-Identifier: MIT */
/*
 * Memory after close: sessions, sets, rings, queues, pages, threads, units outside the cores, regions and CPUs
 * are freed as soon as the call that ends them has returned, and nothing in the library points
 * there.  The class of mistake: a list, a table or a cached pointer that outlives its object.
 */
#include "tests/common/host.h"
#include "tests/common/pointers.h"
#include <pthread.h>
#include <stdio.h>

#include "models/sim/sim_uncore.h"
#include <upmu/event.h>
#include <upmu/format.h>
#include <upmu/ibs.h>
#include <upmu/message.h>
#include <upmu/page.h>
#include <upmu/place.h>
#include <upmu/probe.h>
#include <upmu/session.h>
#include <upmu/set.h>

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
    KEEPERS,         /* those before it keep what they are given … */
    WORK0 = KEEPERS, /* … and in a work area lies what the last search left */
    WORK1,
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
    bool faults; /* a register faults on the way */
};

static struct upmu_sim_uncore outside;

static void deliver(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_interrupt *interrupt)
{
    struct fixture *f = sim->test;
    struct upmu_frame frame = {.ip = interrupt->ip, .sp = interrupt->sp, .user = interrupt->user};

    (void)upmu_pmi_handle(f->cpu[cpu], &frame);
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
    memory_forgotten(f->when, f->piece, KEEPERS, &f->piece[which]);
    memory_free(&f->piece[which]);
}

static void add_session(struct fixture *f)
{
    const size_t bytes = UPMU_SESSION_BYTES(8); /* for all events that a life adds */

    f->session = piece(f, SESSION, "session", bytes);
    assert_int_equal(upmu_session_init_sized(f->session, bytes, f->machine, &f->session), UPMU_OK);
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
        assert_int_equal(upmu_cpu_init(f->cpu[i], f->machine, domains), UPMU_OK, i);
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
    assert_int_equal(upmu_set_add(&f->session->set, "branches", &sampling), UPMU_OK);
    assert_int_equal(upmu_set_add(&f->session->set, "instructions", NULL), UPMU_OK);
}

static void add_set(struct fixture *f)
{
    struct upmu_sampling sampling = {.period = 100, .switch_after = 1};
    const size_t bytes = UPMU_SET_BYTES(3); /* for all events that a life adds */

    f->set = piece(f, SET, "set", bytes);
    assert_int_equal(upmu_session_shuffle(f->session, false, 0), UPMU_OK);
    assert_int_equal(upmu_session_add_set_sized(f->session, f->set, bytes, 1, UPMU_SET_OVERFLOW_SWITCH, 0), UPMU_OK);
    assert_int_equal(upmu_set_add(f->set, "branches:k", &sampling), UPMU_OK);
}

static void tick(struct fixture *f)
{
    (void)!upmu_cpu_tick(f->cpu[f->sim.current]);
}

static void switches(struct fixture *f, struct upmu_thread *from, struct upmu_thread *to)
{
    (void)upmu_thread_switch(f->cpu[f->sim.current], from, to);
}

/* A life is led as it is told unless a register faults. */
static void did(const struct fixture *f, enum upmu_status status)
{
    if (status != UPMU_OK && !f->faults)
        fail_msg("%s: %s", f->when, upmu_status_text(status));
}

static void on_cpu(struct fixture *f, struct upmu_session *session)
{
    did(f, upmu_session_attach_cpu(session, f->cpu[f->sim.current]));
    did(f, upmu_session_start(session));
}

/* The session is closed, and its memory is used for something else. */
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

/* Where there are not so many counters the life ends at once. */
static bool has_too_few(struct fixture *f, uint32_t counters, int wanted)
{
    if (__builtin_popcount(counters) >= wanted)
        return false;
    close_it(f);
    return true;
}

/* ---- Lives of a session: what a register's fault makes of a call is no matter here ---- */

static void started_and_stopped(struct fixture *f)
{
    furnish(f, 100);
    on_cpu(f, f->session);
    work(f, 1000);
    did(f, upmu_session_stop(f->session));
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
    if (has_too_few(f, f->cpu[0]->meter.pmu->counters, 3))
        return;
    assert_int_equal(upmu_set_add(&f->session->set, "instructions", NULL), UPMU_OK);
    furnish(f, 100);
    on_cpu(f, f->session);
    for (unsigned i = 0; i < 3; i++) {
        work(f, 50);
        did(f, upmu_set_write(&f->session->set, 1, 0));
    }
    close_it(f);
}

/* Both have pages; the other one leaves the list of them first, by a stop. */
static void beside_one_with_a_page(struct fixture *f)
{
    struct upmu_user_page *page;

    if (has_too_few(f, f->cpu[0]->meter.pmu->counters, 3))
        return;
    page = piece(f, OTHER_PAGE, "page", sizeof *page);
    assert_int_equal(upmu_session_publish(f->other, page), UPMU_OK);
    assert_int_equal(upmu_set_add(&f->other->set, "cycles", NULL), UPMU_OK);
    furnish(f, 100);
    on_cpu(f, f->session);
    on_cpu(f, f->other);
    did(f, upmu_session_stop(f->other));
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
        did(f, upmu_session_switch(f->session, NULL));
        work(f, 50);
        tick(f);
    }
    work(f, 1000);
    close_it(f);
}

/* The set that comes has three counters that did not run. */
static void with_sets_that_a_handler_changes(struct fixture *f)
{
    struct upmu_sampling sampling = {.period = 100, .switch_after = 1};

    if (has_too_few(f, f->cpu[0]->meter.pmu->general, 3))
        return;
    add_set(f);
    assert_int_equal(upmu_set_add(f->set, "branch-misses,cache-misses", NULL), UPMU_OK);
    assert_int_equal(upmu_session_add_set(f->session, NULL, 0, UPMU_SET_OVERFLOW_SWITCH, 0), UPMU_OK);
    assert_int_equal(upmu_set_add(&f->session->set, "branches", &sampling), UPMU_OK);
    on_cpu(f, f->session);
    for (unsigned i = 0; i < 2; i++)
        did(f, upmu_session_switch(f->session, NULL));
    for (unsigned i = 0; i < 4; i++)
        work(f, 200);
    close_it(f);
}

static void with_a_set_that_is_taken_out(struct fixture *f)
{
    furnish(f, 100);
    add_set(f);
    on_cpu(f, f->session);
    did(f, upmu_session_switch(f->session, NULL));
    work(f, 1000);
    did(f, upmu_session_detach(f->session));
    assert_int_equal(upmu_session_remove_set(f->session, 1), UPMU_OK);
    lose(f, SET);
    work(f, 1000);
    on_cpu(f, f->session);
    work(f, 1000);
    close_it(f);
}

/* The other session has to have the first counter of this one. */
static void displace(struct fixture *f)
{
    char text[40];

    (void)snprintf(text, sizeof text, "branches:u:counter=%u", (unsigned)f->session->set.tally[0].counter);
    assert_int_equal(upmu_set_add(&f->other->set, text, NULL), UPMU_OK);
    on_cpu(f, f->other);
}

static void moved(struct fixture *f)
{
    unsigned counter;

    if (has_too_few(f, f->cpu[0]->meter.pmu->counters, 3))
        return;
    furnish(f, 100);
    on_cpu(f, f->session);
    work(f, 100);
    counter = f->session->set.tally[0].counter;
    displace(f);
    assert_true(f->faults || f->session->set.tally[0].counter != counter);
    work(f, 100);
    close_it(f);
}

static void on_a_thread_that_runs(struct fixture *f)
{
    furnish(f, 100);
    did(f, upmu_session_attach_thread(f->session, f->thread, NULL));
    did(f, upmu_session_start(f->session));
    switches(f, f->idle, f->thread);
    work(f, 1000);
    close_it(f);
    switches(f, f->thread, f->idle);
}

static void run_on_both_cpus(struct fixture *f)
{
    did(f, upmu_session_attach_thread(f->session, f->thread, NULL));
    did(f, upmu_session_start(f->session));
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
    did(f, upmu_cpu_reserve(f->cpu[0], f->cpu[0]->meter.pmu->counters & ~f->session->counters));
    displace(f);
    assert_true(f->faults || f->session->state == UPMU_SESSION_WAITING);
    work(f, 1000);
    for (unsigned i = 0; i < 3; i++)
        tick(f);
    close_it(f);
    upmu_cpu_unreserve(f->cpu[0], ~UINT32_C(0));
}

static void while_its_cpu_sleeps(struct fixture *f)
{
    furnish(f, 100);
    on_cpu(f, f->session);
    work(f, 1000);
    did(f, upmu_cpu_suspend(f->cpu[0]));
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
    did(f, upmu_session_attach_thread(f->session, f->thread, NULL));
    did(f, upmu_session_start(f->session));
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
    did(f, upmu_session_attach_thread(f->session, f->thread, f->cpu[0]));
    did(f, upmu_session_start(f->session));
    work(f, 1000);
    did(f, upmu_thread_exit(f->thread));
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
    assert_int_equal(upmu_set_add(&f->session->set, "branches", &sampling), UPMU_OK);
    on_cpu(f, f->session);
    for (unsigned i = 0; i < 2; i++) {
        work(f, 10000);
        did(f, upmu_session_restart(f->session));
    }
    work(f, 10000);
    assert_true(f->faults || f->session->state == UPMU_SESSION_MASKED || f->sim.profile->flags & UPMU_SIM_NO_APIC);
    close_it(f);
}

/* What it counted runs on after its stop. */
static void static_on_a_cpu(struct fixture *f)
{
    furnish(f, 0);
    assert_int_equal(upmu_session_static(f->session, true), UPMU_OK);
    on_cpu(f, f->session);
    work(f, 1000);
    did(f, upmu_session_stop(f->session));
    work(f, 1000);
    close_it(f);
}

/* The session does not share, and waits because all counters are reserved. */
static void on_a_thread_that_waits(struct fixture *f)
{
    furnish(f, 100);
    did(f, upmu_session_attach_thread(f->session, f->thread, NULL));
    did(f, upmu_session_start(f->session));
    did(f, upmu_cpu_reserve(f->cpu[0], f->cpu[0]->meter.pmu->counters));
    switches(f, f->idle, f->thread);
    assert_true(f->faults || f->session->state == UPMU_SESSION_WAITING);
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
    did(f, upmu_cpu_changed(f->cpu[0]));
    work(f, 1000);
    close_it(f);
}

static void with_top_down_metrics(struct fixture *f)
{
    struct upmu_event retiring;

    if (!(f->cpu[0]->meter.pmu->counters & UPMU_METRIC_COUNTERS(f->cpu[0]->meter.pmu)))
        return;
    assert_int_equal(upmu_event_raw(f->cpu[0]->meter.pmu, 0x38000, 0, 0, &retiring), UPMU_OK);
    assert_int_equal(upmu_set_add_event(&f->session->set, &retiring, NULL), UPMU_OK);
    on_cpu(f, f->session);
    work(f, 1000);
    did(f, upmu_cpu_poll(f->cpu[0]));
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
        did(f, upmu_cpu_suspend(f->cpu[0]));
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
        did(f, upmu_region_begin(region));
        work(f, 1000);
        did(f, upmu_region_end(region));
        did(f, upmu_region_close(region));
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

/* ---- Lives of units outside the cores ---- */

/* The same machine has two units that need the same register, or that different CPUs reach. */
static const struct outside {
    const char *machine, *unit, *other, *prefix;
} outsides[] = {
    {"snb", "cbox", "arb", "cbox"},
    {"nhm", "package0/die0/uncore", "package1/die0/uncore", "uncore"},
    {"skx2", "package0/die0/imc", "package0/die0/cha", "imc"},
    {"adl", "imc", "arb0", "imc"},
    {"zen4", "package0/die0/umc0", "package0/die0/umc1", "umc"},
};

#define OUTSIDES (sizeof outsides / sizeof outsides[0])

static struct upmu_unit *open_unit(struct fixture *f, unsigned which, const char *path)
{
    struct upmu_unit *unit = piece(f, which, "unit outside", sizeof *unit);

    if (upmu_unit_open_text(unit, f->machine, path) == UPMU_OK)
        return unit;
    assert_int_not_equal(f->sim.fault_at, 0);
    lose(f, which);
    return NULL;
}

static void close_unit(struct fixture *f, unsigned which, struct upmu_unit **unit)
{
    if (!*unit)
        return;
    if (upmu_unit_close(*unit) == UPMU_ERR_BUSY)
        fail_msg("%s: nothing is in the unit's way", f->when);
    lose(f, which);
    *unit = NULL;
}

/* As many raw events as the unit has counters: two such sessions share the time. */
static void on_unit(struct fixture *f, const struct outside *where, struct upmu_session *session)
{
    unsigned count;
    char text[40];

    if (!f->unit)
        return;
    count = (unsigned)__builtin_popcount(f->unit->meter.pmu->counters & 0xffffu);
    assert_int_equal(upmu_session_share(session, true), UPMU_OK);
    for (unsigned i = 0; i < count; i++) {
        (void)snprintf(text, sizeof text, "%s/raw:config=0x%x", where->prefix, 0x60 + i);
        assert_int_equal(upmu_set_add(&session->set, text, NULL), UPMU_OK);
    }
    (void)!upmu_session_attach_unit(session, f->unit);
    if (upmu_session_start(session) != UPMU_OK)
        assert_int_not_equal(f->sim.fault_at, 0);
    (void)!upmu_unit_poll(f->unit);
}

static void find_outside(struct fixture *f, uint32_t fault_at)
{
    struct upmu_unit_list *list = piece(f, LIST, "list", sizeof *list);

    *list = (struct upmu_unit_list){.unit_capacity = 100, .pmu_capacity = 14};
    list->unit = piece(f, BOXES, "boxes", 100 * sizeof *list->unit);
    list->pmu = piece(f, TYPES, "types", 14 * sizeof *list->pmu);
    for (unsigned i = 0; i < 2; i++) {
        upmu_sim_switch_cpu(&f->sim, i);
        assert_int_equal(upmu_units_find(f->cpu[i], list, 0), UPMU_OK, i);
        assert_int_equal(upmu_cpu_use_work(f->cpu[i], piece(f, WORK0 + i, "work area", sizeof(struct upmu_place_work))),
                         UPMU_OK, i);
    }
    upmu_sim_switch_cpu(&f->sim, 0);
    f->faults = fault_at != 0;
    if (fault_at)
        f->sim.fault_at = f->sim.accesses + fault_at;
}

static void both_cpus(struct fixture *f, enum upmu_status (*call)(struct upmu_cpu *cpu))
{
    for (unsigned i = 0; i < 2; i++) {
        upmu_sim_switch_cpu(&f->sim, i);
        (void)!call(f->cpu[i]);
    }
    upmu_sim_switch_cpu(&f->sim, 0);
}

static void ticks_of_both(struct fixture *f)
{
    for (unsigned i = 0; i < 4; i++)
        both_cpus(f, upmu_cpu_tick);
}

static void a_unit_under_two_sessions(struct fixture *f, const struct outside *where)
{
    on_unit(f, where, f->session);
    on_unit(f, where, f->other);
    ticks_of_both(f);
    close_unit(f, UNIT, &f->unit);
    close_it(f);
}

static void a_session_of_a_unit(struct fixture *f, const struct outside *where)
{
    on_unit(f, where, f->session);
    on_unit(f, where, f->other);
    ticks_of_both(f);
    close_it(f);
    ticks_of_both(f);
    (void)!upmu_session_detach(f->other);
    close_unit(f, UNIT, &f->unit);
}

/* In the order in which they were opened, so that what both need goes over to the other. */
static void one_of_two_units(struct fixture *f, const struct outside *where)
{
    f->other_unit = open_unit(f, OTHER_UNIT, where->other);
    on_unit(f, where, f->session);
    close_unit(f, UNIT, &f->unit);
    ticks_of_both(f);
    close_unit(f, OTHER_UNIT, &f->other_unit);
    close_it(f);
}

static void the_latter_of_two_units(struct fixture *f, const struct outside *where)
{
    f->other_unit = open_unit(f, OTHER_UNIT, where->other);
    on_unit(f, where, f->session);
    close_unit(f, OTHER_UNIT, &f->other_unit);
    ticks_of_both(f);
    close_it(f);
    close_unit(f, UNIT, &f->unit);
}

/* The work area is used for something else, and the CPU goes on without one. */
static void lose_work(struct fixture *f, unsigned i)
{
    upmu_sim_switch_cpu(&f->sim, i);
    assert_int_equal(upmu_cpu_use_work(f->cpu[i], NULL), UPMU_OK, i);
    lose(f, WORK0 + i);
}

static void lose_cpu(struct fixture *f, unsigned i)
{
    upmu_sim_switch_cpu(&f->sim, i);
    if (upmu_cpu_fini(f->cpu[i]) == UPMU_ERR_BUSY)
        fail_msg("%s: nothing is in the CPU's way", f->when);
    lose(f, CPU0 + i);
    lose(f, WORK0 + i);
    f->cpu[i] = NULL;
    upmu_sim_switch_cpu(&f->sim, !i);
}

/* The unit is driven by another CPU then, or sleeps. */
static void the_cpu_of_a_unit(struct fixture *f, const struct outside *where)
{
    unsigned i;

    on_unit(f, where, f->session);
    i = f->unit && f->unit->meter.cpu == f->cpu[1];
    lose_cpu(f, i);
    (void)!upmu_cpu_tick(f->cpu[!i]);
    close_it(f);
    close_unit(f, UNIT, &f->unit);
}

/* First one, then the other. */
static void both_cpus_of_a_unit(struct fixture *f, const struct outside *where)
{
    on_unit(f, where, f->session);
    lose_cpu(f, 0);
    lose_cpu(f, 1);
    close_unit(f, UNIT, &f->unit);
    close_it(f);
}

static void a_unit_that_slept(struct fixture *f, const struct outside *where)
{
    on_unit(f, where, f->session);
    both_cpus(f, upmu_cpu_suspend);
    both_cpus(f, upmu_cpu_resume);
    ticks_of_both(f);
    close_it(f);
    close_unit(f, UNIT, &f->unit);
}

static void a_unit_that_sleeps(struct fixture *f, const struct outside *where)
{
    f->other_unit = open_unit(f, OTHER_UNIT, where->other);
    on_unit(f, where, f->session);
    both_cpus(f, upmu_cpu_suspend);
    lose_work(f, 0);
    lose_work(f, 1);
    upmu_sim_switch_cpu(&f->sim, 0);
    close_unit(f, UNIT, &f->unit); /* the other one was before it in the list of its CPU */
    close_unit(f, OTHER_UNIT, &f->other_unit);
    close_it(f);
    both_cpus(f, upmu_cpu_resume);
}

static void a_unit_that_changed_hands(struct fixture *f, const struct outside *where)
{
    on_unit(f, where, f->session);
    for (unsigned i = 0; i < 3 && f->unit; i++)
        (void)!upmu_unit_manage(f->unit, f->cpu[i & 1]);
    close_unit(f, UNIT, &f->unit);
    ticks_of_both(f);
    close_it(f);
}

/* Its controller goes while the CPU that drives the unit cannot be reached. */
static void a_zombie_of_a_unit(struct fixture *f, const struct outside *where)
{
    unsigned i;

    on_unit(f, where, f->session);
    if (!f->unit)
        return;
    i = f->unit->meter.cpu == f->cpu[1];
    upmu_sim_switch_cpu(&f->sim, !i);
    f->sim.cpu[i].offline = true;
    assert_int_equal(upmu_session_drop(f->session), UPMU_OK);
    f->sim.cpu[i].offline = false;
    ticks_of_both(f);
    closed(f);
    close_unit(f, UNIT, &f->unit);
}

static void a_region_over_dies(struct fixture *f, const struct outside *where)
{
    struct upmu_uncore_region *dies = piece(f, SET, "region", 2 * sizeof *dies);
    struct upmu_count counts[1];
    char text[40];

    memset(dies, 0, 2 * sizeof *dies);
    (void)snprintf(text, sizeof text, "%s/raw:config=0x60", where->prefix);
    close_unit(f, UNIT, &f->unit);
    if (upmu_uncore_region_open(dies, 2, f->machine, text) != UPMU_OK) {
        assert_int_not_equal(f->sim.fault_at, 0);
    } else {
        (void)!upmu_uncore_region_begin(dies, 2);
        ticks_of_both(f);
        (void)!upmu_uncore_region_end(dies, 2, counts, 1);
        (void)!upmu_uncore_region_close(dies, 2);
    }
    lose(f, SET);
}

static const struct outside_life {
    const char *name;
    void (*lead)(struct fixture *f, const struct outside *where);
} outside_lives[] = {
    {"a unit under two sessions", a_unit_under_two_sessions},
    {"a session of a unit", a_session_of_a_unit},
    {"one of two units", one_of_two_units},
    {"the latter of two units", the_latter_of_two_units},
    {"the CPU of a unit", the_cpu_of_a_unit},
    {"both CPUs of a unit", both_cpus_of_a_unit},
    {"a unit that slept", a_unit_that_slept},
    {"a unit that sleeps", a_unit_that_sleeps},
    {"a unit that changed hands", a_unit_that_changed_hands},
    {"a zombie of a unit", a_zombie_of_a_unit},
    {"a region over dies", a_region_over_dies},
};

#define OUTSIDE_LIVES (sizeof outside_lives / sizeof outside_lives[0])

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
    if (f->cpu[0] && f->other->state == UPMU_SESSION_DETACHED) {
        if (!f->other->set.count) {
            assert_int_equal(upmu_set_add(&f->other->set, "branches,instructions", NULL), UPMU_OK);
            on_cpu(f, f->other);
        } else { /* its events may be those of a unit */
            (void)!upmu_session_attach_cpu(f->other, f->cpu[f->sim.current]);
            (void)!upmu_session_start(f->other);
        }
    }
    if (f->thread && f->cpu[f->sim.current]) {
        switches(f, f->idle, f->thread);
        switches(f, f->thread, f->idle);
    }
    work(f, 1000);
    for (unsigned i = 0; i < 20 && f->cpu[f->sim.current]; i++)
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
    f.faults = fault_at != 0;
    if (fault_at)
        f.sim.fault_at = f.sim.accesses + fault_at;
    life->lead(&f);
    f.sim.fault_at = 0;
    afterwards(&f);
    tear_down(&f);
}

static void live_outside(const struct outside_life *life, const struct outside *where, uint32_t fault_at)
{
    struct fixture f;
    char when[120];

    (void)snprintf(when, sizeof when, "%s, %s, fault at %u", where->machine, life->name, (unsigned)fault_at);
    set_up(&f, where->machine, when);
    find_outside(&f, fault_at);
    f.unit = open_unit(&f, UNIT, where->unit);
    life->lead(&f, where);
    f.sim.fault_at = 0;
    close_unit(&f, UNIT, &f.unit);
    for (unsigned i = 0; i < 2; i++)
        if (f.cpu[i] && f.piece[WORK0 + i].at)
            lose_work(&f, i);
    upmu_sim_switch_cpu(&f.sim, !f.cpu[0]);
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

/* Switches between threads without sessions are not seen: what was switched to last may be elsewhere by now. */
static void a_thread_without_sessions_knows_no_cpu(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PROFILES; p++)
        for (unsigned is_static = 0; is_static < 2; is_static++) {
            struct upmu_thread third;
            struct fixture f;

            set_up(&f, profiles[p], profiles[p]);
            upmu_thread_init(&third, 3, 3, NULL);
            furnish(&f, 0);
            assert_int_equal(upmu_session_static(f.session, is_static), UPMU_OK);
            assert_int_equal(upmu_session_attach_thread(f.session, f.thread, NULL), UPMU_OK);
            assert_int_equal(upmu_session_start(f.session), UPMU_OK);
            upmu_sim_switch_cpu(&f.sim, 1);
            switches(&f, f.idle, f.thread);
            switches(&f, f.thread, f.idle);
            assert_null(f.idle->cpu);
            switches(&f, f.idle, &third);
            switches(&f, &third, f.thread);
            switches(&f, f.thread, &third);
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

/* A register faults on the way: at every access, or in a slow build at some. */
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

static void nothing_points_to_what_was_outside(void **state)
{
    (void)state;
    for (unsigned o = 0; o < OUTSIDES; o++)
        for (unsigned i = 0; i < OUTSIDE_LIVES; i++)
            live_outside(&outside_lives[i], &outsides[o], 0);
}

static void nothing_points_to_what_was_outside_after_a_fault(void **state)
{
    (void)state;
    for (unsigned o = 0; o < 2; o++)
        for (unsigned i = 0; i < OUTSIDE_LIVES; i++)
            for (uint32_t at = 1; at < 90; at += FAULT_STEP)
                live_outside(&outside_lives[i], &outsides[o], at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cpu_that_has_gone_is_forgotten_by_what_ran_there),
        cmocka_unit_test(a_thread_without_sessions_knows_no_cpu),
        cmocka_unit_test(nothing_points_to_what_is_closed),
        cmocka_unit_test(nothing_points_to_what_is_closed_after_a_fault),
        cmocka_unit_test(nothing_points_to_what_was_outside),
        cmocka_unit_test(nothing_points_to_what_was_outside_after_a_fault),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
