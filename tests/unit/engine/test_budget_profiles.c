/* SPDX-License-Identifier: MIT */
/*
 * What operations cost, in register accesses, on every CPU that the silicon model can
 * be, as the model counted them.  The budget of a profile follows from how its counters
 * are let run: by one register (version 2 and later, PerfMonV2), by the select itself
 * (version 1, P6, K7 to Zen 3), or by a CCCR beside an ESCR (NetBurst).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/common/assertions.h"

#include "models/sim/sim.h"
#include <upmu/cpu.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include <upmu/upmu.h>

#define THREADS 2
#define SEQUENCE_WRITES 14 /* of the erratum of Nehalem and Westmere */
#define SAMPLED 3          /* sampling counters at once, at most */

enum protocol { GLOBAL, SELECT, NETBURST };
static const char *const protocol_name[] = {"one gate for all", "selects are gates", "NetBurst"};

struct fixture {
    struct upmu_sim sim;
    struct upmu_machine machine;
    struct upmu_cpu cpu;
    struct upmu_thread thread[THREADS + 1]; /* the last is not monitored */
    struct upmu_session session[THREADS];
    struct upmu_set set;
    struct upmu_region region;
    uint64_t ring[THREADS][512];
    unsigned running; /* thread */
    unsigned interrupts;
    uint32_t handler[UPMU_SIM_KINDS]; /* accesses of the last handler */
    enum protocol protocol;
    unsigned n;     /* events */
    unsigned fixed; /* of these in fixed counters */
    bool sequence;  /* an erratum wants one before each new event: outside the budgets */
    bool folds;     /* an erratum loses carries at a stop: counts are read once more before it */
    bool interrupts_never;
    bool still; /* selects are gates that may be written while they are open (AMD) */
    char list[100], user[100]; /* n events; the same, ring 3 only */
    char strict[100];          /* the same, ring 3 only and at most one a cycle */
    uint32_t sequence_before;  /* accesses of sequences, as the library says */
};

static unsigned bad;

/* What is printed: an operation beside its cost for the most events of each protocol. */
#define OPERATIONS 32
static struct {
    const char *what;
    unsigned events[3], writes[3], reads[3], rearms[3];
} told[OPERATIONS];

static void tell(const struct fixture *f, const char *what, unsigned writes, unsigned reads, unsigned rearms)
{
    unsigned i = 0;

    while (i < OPERATIONS - 1 && told[i].what && told[i].what != what)
        i++;
    told[i].what = what;
    if (f->sequence || f->folds || f->n < told[i].events[f->protocol])
        return;
    told[i].events[f->protocol] = f->n;
    told[i].writes[f->protocol] = writes;
    told[i].reads[f->protocol] = reads;
    told[i].rearms[f->protocol] = rearms;
}

/* ---- Which CPU, which events ---- */

/* By the model's facts, not by what the library found. */
static enum protocol protocol_of(const struct upmu_sim_profile *profile)
{
    if (profile->flags & UPMU_SIM_P4)
        return NETBURST;
    return profile->version >= 2 ? GLOBAL : SELECT;
}

static void deliver(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_interrupt *interrupt)
{
    struct fixture *f = sim->test;
    struct upmu_frame frame = {.ip = interrupt->ip, .sp = interrupt->sp, .user = interrupt->user};
    uint32_t before[UPMU_SIM_KINDS];

    (void)cpu;
    memcpy(before, sim->access_count, sizeof before);
    if (upmu_pmi_handle(&f->cpu, &frame) == UPMU_PMI_HANDLED)
        f->interrupts++;
    for (unsigned i = 0; i < UPMU_SIM_KINDS; i++)
        f->handler[i] = sim->access_count[i] - before[i];
}

static void new_sessions(struct fixture *f)
{
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(upmu_session_init(&f->session[i], &f->machine), UPMU_OK, i);
}

/* Does a list fit at once?  *out_fixed: how many of its events have fixed counters. */
static bool fits(struct fixture *f, const char *list, unsigned *out_fixed)
{
    bool good;

    new_sessions(f);
    good = upmu_set_add(&f->session[0].set, list, NULL) == UPMU_OK &&
           upmu_session_attach_cpu(&f->session[0], &f->cpu) == UPMU_OK && upmu_session_start(&f->session[0]) == UPMU_OK;
    *out_fixed = 0;
    for (unsigned i = 0; good && f->protocol != NETBURST && i < f->session[0].set.count; i++)
        *out_fixed += f->session[0].set.tally[i].counter >= UPMU_SIM_FIXED;
    assert_int_equal(upmu_session_close(&f->session[0]), UPMU_OK);
    return good;
}

/* As many of them as fit at once, up to four general ones and a fixed one. */
static void choose_events(struct fixture *f)
{
    static const char *const intel[] = {"r00c4", "r412e", "r4f2e", "r00c5", "instructions", NULL};
    static const char *const amd[] = {"r00c2", "r00c3", "r0076", "r00c0", NULL};
    static const char *const netburst[] = {"branches", "cache-references", "instructions", "branch-misses", NULL};
    const char *const *names = f->protocol == NETBURST ? netburst : f->sim.profile->amd ? amd : intel;

    f->n = 0;
    f->list[0] = f->user[0] = f->strict[0] = '\0';
    for (; *names; names++) {
        char list[240], user[240], strict[240];
        unsigned fixed, fixed_user;
        const char *comma = f->n ? "," : "";

        snprintf(list, sizeof list, "%s%s%s", f->list, comma, *names);
        snprintf(user, sizeof user, "%s%s%s:u", f->user, comma, *names);
        snprintf(strict, sizeof strict, "%s%s%s:u:c=1", f->strict, comma, *names);
        if (!fits(f, list, &fixed) || !fits(f, user, &fixed_user) || fixed != fixed_user)
            continue;
        memcpy(f->list, list, sizeof f->list);
        memcpy(f->user, user, sizeof f->user);
        memcpy(f->strict, strict, sizeof f->strict);
        f->n++;
        f->fixed = fixed;
    }
}

/* False: this CPU has no PMU that upmu takes. */
static bool set_up(struct fixture *f, const struct upmu_sim_profile *profile)
{
    memset(f, 0, sizeof *f);
    upmu_sim_init(&f->sim, profile, 1);
    f->sim.test = f;
    f->sim.deliver = deliver;
    if (profile->flags & UPMU_SIM_NO_APIC)
        f->sim.port.pmi_rearm = NULL;
    f->protocol = protocol_of(profile);
    f->still = f->protocol == SELECT && profile->amd;
    f->sequence = profile->flags & UPMU_SIM_AAK100;
    f->folds = f->protocol == NETBURST && (profile->signature >> 4 & 0xfu) <= 1; /* N17: models 0 and 1 */
    f->interrupts_never = profile->flags & (UPMU_SIM_NO_APIC | UPMU_SIM_COUNTS_NOTHING);
    if (upmu_machine_init(&f->machine, upmu_sim_port(&f->sim)) != UPMU_OK)
        return false;
    upmu_sim_bind_cpu(&f->sim, 0, &f->cpu);
    if (upmu_cpu_init(&f->cpu, &f->machine, NULL) != UPMU_OK)
        return false;
    for (unsigned i = 0; i <= THREADS; i++)
        upmu_thread_init(&f->thread[i], i, i, NULL);
    f->running = THREADS;
    choose_events(f);
    new_sessions(f);
    return true;
}

static void tear_down(struct fixture *f)
{
    for (unsigned i = 0; i <= THREADS; i++)
        assert_int_equal(upmu_thread_exit(&f->thread[i]), UPMU_OK, i);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(upmu_session_close(&f->session[i]), UPMU_OK, i);
    f->running = THREADS;
    new_sessions(f);
}

/* ---- What happens, what it costs ---- */

static void work(struct fixture *f)
{
    upmu_sim_events(&f->sim, &(struct upmu_sim_burst){.instructions = 5000,
                                                      .cycles = 9000,
                                                      .ref_cycles = 9000,
                                                      .branches = 1000,
                                                      .mispredicts = 100,
                                                      .llc_references = 50,
                                                      .llc_misses = 20,
                                                      .user = true,
                                                      .ip = 0x1000,
                                                      .ip_step = 4});
}

/* Work in little bits, until something interrupts. */
static void work_until_interrupt(struct fixture *f)
{
    f->interrupts = 0;
    for (unsigned i = 0; i < 1000 && !f->interrupts; i++)
        upmu_sim_events(&f->sim, &(struct upmu_sim_burst){.instructions = 50,
                                                          .cycles = 90,
                                                          .ref_cycles = 90,
                                                          .branches = 10,
                                                          .mispredicts = 5,
                                                          .llc_references = 5,
                                                          .llc_misses = 5,
                                                          .user = true,
                                                          .ip = 0x1000,
                                                          .ip_step = 4});
}

static void forget_cost(struct fixture *f)
{
    memset(f->sim.access_count, 0, sizeof f->sim.access_count);
    f->sequence_before = f->cpu.meter.bank.accesses.prelude;
}

/*
 * What the model saw since forget_cost(); reads by RDPMC or, where there is none, RDMSR.
 * A sequence that an erratum wants is in no budget: all is loaded anew around its writes.
 */
static void costs(struct fixture *f, const char *what, unsigned writes, unsigned reads)
{
    const uint32_t *seen = f->sim.access_count;
    unsigned wrote = seen[UPMU_SIM_WRMSR], read = seen[UPMU_SIM_RDPMC] + seen[UPMU_SIM_RDMSR];
    bool sequence = f->cpu.meter.bank.accesses.prelude != f->sequence_before;
    bool good = sequence ? f->sequence && wrote <= f->n + 3 + SEQUENCE_WRITES && read <= 2 * f->n + 1
                         : wrote == writes && read == reads;

    if (!good || seen[UPMU_SIM_REARM]) {
        print_error("%s (%s, %u events, %u fixed): %s: %u W %u P %u LVT instead of %u W %u P\n", f->sim.profile->name,
                    protocol_name[f->protocol], f->n, f->fixed, what, wrote, read, (unsigned)seen[UPMU_SIM_REARM],
                    writes, reads);
        bad++;
    }
    tell(f, what, writes, reads, 0);
    forget_cost(f);
}

static void must(struct fixture *f, enum upmu_status status, const char *call)
{
    if (status != UPMU_OK)
        fail_msg("%s: %s: %s", f->sim.profile->name, call, upmu_status_text(status));
}

static unsigned gates(const struct fixture *f, unsigned n)
{
    return f->protocol == GLOBAL ? 1 : n;
}

/* Reads of `n` counters that stop or change hands. */
static unsigned leaving_reads(const struct fixture *f, unsigned n)
{
    return f->folds ? n + f->n : n;
}

/* Writes of a switch where `changed` of n events are others. */
static unsigned change_writes(const struct fixture *f, unsigned changed)
{
    return f->protocol == GLOBAL ? 2 + changed : f->protocol == SELECT ? 2 * changed : 3 * changed;
}

static void add(struct fixture *f, unsigned i, const char *list, uint64_t period)
{
    struct upmu_sampling sampling = {.period = period};

    must(f, upmu_set_add(&f->session[i].set, list, period ? &sampling : NULL), list);
    if (period)
        must(f, upmu_session_ring(&f->session[i], f->ring[i], sizeof f->ring[i]), "ring");
}

static void follow(struct fixture *f, unsigned i)
{
    must(f, upmu_session_attach_thread(&f->session[i], &f->thread[i], NULL), "attach_thread");
    must(f, upmu_session_start(&f->session[i]), "start");
}

static void to_thread(struct fixture *f, unsigned next)
{
    must(f, upmu_thread_switch(&f->cpu, &f->thread[f->running], &f->thread[next]), "thread_switch");
    f->running = next;
}

/* The first of a list, and what is behind it (NULL: nothing). */
static const char *split(const char *list, char *first, size_t size)
{
    const char *comma = strchr(list, ',');

    snprintf(first, size, "%.*s", comma ? (int)(comma - list) : (int)strlen(list), list);
    return comma ? comma + 1 : NULL;
}

/* ---- Operations ---- */

static void start_read_stop(struct fixture *f)
{
    struct upmu_count counts[UPMU_SET_EVENTS];

    for (unsigned i = 0; i < 2; i++) {
        add(f, i, f->list, 0);
        must(f, upmu_session_attach_cpu(&f->session[i], &f->cpu), "attach_cpu");
    }
    must(f, upmu_session_start(&f->session[0]), "start");
    must(f, upmu_session_stop(&f->session[0]), "stop");
    forget_cost(f);
    for (unsigned round = 0; round < 3; round++) {
        must(f, upmu_session_start(&f->session[0]), "start");
        costs(f, "start", gates(f, f->n), 0);
        work(f);
        must(f, upmu_set_read(&f->session[0].set, 0, f->n, counts), "read");
        costs(f, "read while running", 0, f->n);
        must(f, upmu_session_stop(&f->session[0]), "stop");
        costs(f, "stop", gates(f, f->n), leaving_reads(f, f->n));
        must(f, upmu_set_read(&f->session[0].set, 0, f->n, counts), "read");
        costs(f, "read while stopped", 0, 0);
    }
    must(f, upmu_session_start(&f->session[1]), "start");
    costs(f, "start after another session", gates(f, f->n), f->n);
    must(f, upmu_session_detach(&f->session[1]), "detach");
    forget_cost(f);
    must(f, upmu_set_read(&f->session[1].set, 0, f->n, counts), "read");
    costs(f, "read while detached", 0, 0);
}

static void region(struct fixture *f)
{
    must(f, upmu_region_open(&f->region, &f->cpu, f->list), "region_open");
    forget_cost(f);
    for (unsigned round = 0; round < 3; round++) {
        must(f, upmu_region_begin(&f->region), "region_begin");
        costs(f, "region begin", 0, f->n);
        work(f);
        must(f, upmu_region_end(&f->region), "region_end");
        costs(f, "region end", 0, f->n);
    }
    must(f, upmu_region_close(&f->region), "region_close");
}

/* From one to the other and back, a few times. */
static void alternate(struct fixture *f, const char *what, unsigned writes, unsigned reads)
{
    follow(f, 0);
    follow(f, 1);
    to_thread(f, 0);
    to_thread(f, 1);
    for (unsigned k = 0; k < 6; k++) {
        work(f);
        forget_cost(f);
        to_thread(f, k & 1u);
        costs(f, what, writes, leaving_reads(f, reads));
    }
}

static void same_configuration(struct fixture *f)
{
    add(f, 0, f->list, 0);
    add(f, 1, f->list, 0);
    alternate(f, "thread switch, same", 0, f->n);
}

static void changed_configuration(struct fixture *f)
{
    add(f, 0, f->list, 0);
    add(f, 1, f->user, 0);
    alternate(f, "thread switch, all changed", change_writes(f, f->n), 2 * f->n);
}

/*
 * Where selects are gates and neither side counts ring 0, what runs stands still in the
 * library: AMD's counters need not be stopped to be given another event or value.
 */
static void user_mode_changed(struct fixture *f)
{
    if (f->protocol != SELECT)
        return;
    add(f, 0, f->user, 0);
    add(f, 1, f->strict, 0);
    alternate(f,
              f->still ? "thread switch, user mode, all changed (AMD)"
                       : "thread switch, user mode, all changed (Intel)",
              f->still ? f->n : 2 * f->n, f->still ? f->n : 2 * f->n);
}

static void user_mode_samples(struct fixture *f)
{
    if (f->protocol != SELECT || f->interrupts_never)
        return;
    for (unsigned i = 0; i < 2; i++) {
        char first[60];
        const char *rest = split(f->user, first, sizeof first);

        add(f, i, first, 1000000);
        if (rest)
            add(f, i, rest, 0);
    }
    alternate(f,
              f->still ? "thread switch, user mode, same, one samples (AMD)"
                       : "thread switch, user mode, same, one samples (Intel)",
              f->still ? 1 : 3, f->n);
}

static void one_changed(struct fixture *f)
{
    char first[60];
    const char *rest = split(f->user, first, sizeof first);

    rest = split(f->list, first, sizeof first);
    add(f, 0, f->list, 0);
    add(f, 1, strcat(first, ":u"), 0);
    if (rest)
        add(f, 1, rest, 0);
    alternate(f, "thread switch, one changed", change_writes(f, 1), f->n + 1);
}

/* The counter that samples is loaded, not read. */
static void one_samples(struct fixture *f)
{
    if (f->interrupts_never)
        return;
    for (unsigned i = 0; i < 2; i++) {
        char first[60];
        const char *rest = split(i ? f->user : f->list, first, sizeof first);

        add(f, i, first, 1000000);
        if (rest)
            add(f, i, rest, 0);
    }
    alternate(f, "thread switch, all changed, one samples", change_writes(f, f->n) + 1, 2 * f->n - 1);
}

/* The same event: only its count differs. */
static void one_samples_alike(struct fixture *f)
{
    if (f->interrupts_never)
        return;
    for (unsigned i = 0; i < 2; i++) {
        char first[60];
        const char *rest = split(f->list, first, sizeof first);

        add(f, i, first, 1000000);
        if (rest)
            add(f, i, rest, 0);
    }
    alternate(f, "thread switch, same, one samples", 3, f->n);
}

static void nobody(struct fixture *f)
{
    add(f, 0, f->list, 0);
    follow(f, 0);
    to_thread(f, 0);
    for (unsigned round = 0; round < 3; round++) {
        work(f);
        forget_cost(f);
        to_thread(f, THREADS);
        costs(f, "thread switch to an unmonitored one", gates(f, f->n), leaving_reads(f, f->n));
        work(f);
        forget_cost(f);
        to_thread(f, 0);
        costs(f, "thread switch from an unmonitored one", gates(f, f->n), 0);
    }
}

/* Counters that do not run, with events of other sessions left in them. */
static void changed_after_nobody(struct fixture *f)
{
    unsigned writes = f->protocol == GLOBAL ? 1 + f->n : f->protocol == SELECT ? f->n : 2 * f->n;

    add(f, 0, f->list, 0);
    add(f, 1, f->user, 0);
    follow(f, 0);
    follow(f, 1);
    to_thread(f, 0);
    to_thread(f, 1);
    for (unsigned k = 0; k < 6; k++) {
        work(f);
        to_thread(f, THREADS);
        forget_cost(f);
        to_thread(f, k & 1u);
        costs(f, "thread switch from an unmonitored one, all changed", writes, f->n);
    }
}

/* Two sets of a session of the CPU (or of the thread that runs), told to switch by `flags`. */
static void two_sets(struct fixture *f, const char *first, const char *second, unsigned flags, bool of_thread)
{
    uint64_t timeout_ns = flags & UPMU_SET_TIME_SWITCH ? 1000 : 0;
    struct upmu_session *session = &f->session[0];

    must(f, upmu_session_shuffle(session, false, 0), "shuffle");
    must(f, upmu_session_add_set(session, NULL, 0, flags, timeout_ns), "add_set");
    add(f, 0, first, 0);
    must(f, upmu_session_add_set(session, &f->set, 1, flags, timeout_ns), "add_set");
    must(f, upmu_set_add(&f->set, second, NULL), second);
    if (of_thread) {
        follow(f, 0);
        to_thread(f, 0);
    } else {
        must(f, upmu_session_attach_cpu(session, &f->cpu), "attach_cpu");
        must(f, upmu_session_start(session), "start");
    }
    /* Each is placed when it comes first. */
    must(f, upmu_session_switch(session, NULL), "switch");
    must(f, upmu_session_switch(session, NULL), "switch");
}

static void switch_sets(struct fixture *f, bool by_time, const char *what, unsigned writes, unsigned reads)
{
    for (unsigned k = 0; k < 6; k++) {
        work(f);
        forget_cost(f);
        if (by_time)
            must(f, upmu_cpu_tick(&f->cpu), "tick");
        else
            must(f, upmu_session_switch(&f->session[0], NULL), "switch");
        costs(f, what, writes, leaving_reads(f, reads));
        assert_ptr_equal(f->session[0].active, k & 1u ? &f->session[0].set : &f->set, k);
        assert_int_equal(f->session[0].state, UPMU_SESSION_RUNNING);
    }
}

static void sets_by(struct fixture *f, bool by_time, bool of_thread)
{
    unsigned flags = by_time ? UPMU_SET_TIME_SWITCH : 0;

    two_sets(f, f->list, f->list, flags, of_thread);
    switch_sets(f, by_time, by_time ? "set switch by time, alike" : "set switch by hand, alike", 0, f->n);
    tear_down(f);
    two_sets(f, f->list, f->user, flags, of_thread);
    switch_sets(f, by_time, by_time ? "set switch by time, all changed" : "set switch by hand, all changed",
                change_writes(f, f->n), 2 * f->n);
}

static void sets_by_hand(struct fixture *f)
{
    sets_by(f, false, false);
}

static void sets_of_a_thread_by_hand(struct fixture *f)
{
    sets_by(f, false, true);
}

static void sets_by_time(struct fixture *f)
{
    sets_by(f, true, false);
}

static void sets_of_a_thread_by_time(struct fixture *f)
{
    sets_by(f, true, true);
}

/* AMD's LVTPC is not masked by delivery: re-arming it is a hook that may be spared. */
static void handler_costs(struct fixture *f, const char *what, unsigned writes, unsigned reads)
{
    const uint32_t *seen = f->handler;

    if (seen[UPMU_SIM_WRMSR] != writes || seen[UPMU_SIM_RDPMC] + seen[UPMU_SIM_RDMSR] != reads ||
        seen[UPMU_SIM_REARM] != 1) {
        print_error("%s (%s, %u events): %s: %u W %u R %u P %u LVT instead of %u W %u reads 1 LVT\n",
                    f->sim.profile->name, protocol_name[f->protocol], f->n, what, (unsigned)seen[UPMU_SIM_WRMSR],
                    (unsigned)seen[UPMU_SIM_RDMSR], (unsigned)seen[UPMU_SIM_RDPMC], (unsigned)seen[UPMU_SIM_REARM],
                    writes, reads);
        bad++;
    }
    tell(f, what, writes, reads, 1);
}

/* The first of `s` sampling counters overflows, alone; others count beside them. */
static void interrupts_of(struct fixture *f, bool user)
{
    static const char *const names[2][SAMPLED + 1] = {
        {"", "interrupt, one samples", "interrupt, two sample", "interrupt, three sample"},
        {"", "interrupt, one samples user mode (AMD)", "interrupt, two sample user mode (AMD)",
         "interrupt, three sample user mode (AMD)"}};

    for (unsigned s = 1; s <= SAMPLED && s <= f->n && !f->interrupts_never; s++) {
        const char *rest = user ? f->user : f->list;

        for (unsigned i = 0; i < s; i++) {
            char first[60];

            rest = split(rest, first, sizeof first);
            add(f, 0, first, i ? 1000000 : 300);
        }
        if (rest)
            add(f, 0, rest, 0);
        must(f, upmu_session_attach_cpu(&f->session[0], &f->cpu), "attach_cpu");
        must(f, upmu_session_start(&f->session[0]), "start");
        f->interrupts = 0;
        work(f);
        if (f->interrupts != 3)
            fail_msg("%s: %u interrupts", f->sim.profile->name, f->interrupts);
        /* One read more: the status, or the counter once more when it is closed. */
        handler_costs(f, names[user][s], user ? 1 : f->protocol == GLOBAL ? 4 : 3, user ? s : s + 1);
        tear_down(f);
    }
}

static void interrupt(struct fixture *f)
{
    interrupts_of(f, false);
    if (f->still)
        interrupts_of(f, true);
}

static void sets_by_overflow(struct fixture *f)
{
    struct upmu_sampling sampling = {.period = 300, .switch_after = 1};
    struct upmu_session *session = &f->session[0];
    char first[60];
    const char *rest;

    if (f->interrupts_never)
        return;
    must(f, upmu_session_shuffle(session, false, 0), "shuffle");
    must(f, upmu_session_add_set(session, NULL, 0, UPMU_SET_OVERFLOW_SWITCH, 0), "add_set");
    must(f, upmu_session_add_set(session, &f->set, 1, UPMU_SET_OVERFLOW_SWITCH, 0), "add_set");
    must(f, upmu_session_ring(session, f->ring[0], sizeof f->ring[0]), "ring");
    for (unsigned i = 0; i < 2; i++) {
        struct upmu_set *set = i ? &f->set : &session->set;

        rest = split(i ? f->user : f->list, first, sizeof first);
        must(f, upmu_set_add(set, first, &sampling), first);
        if (rest)
            must(f, upmu_set_add(set, rest, NULL), rest);
    }
    must(f, upmu_session_attach_cpu(session, &f->cpu), "attach_cpu");
    must(f, upmu_session_start(session), "start");
    must(f, upmu_session_switch(session, NULL), "switch");
    must(f, upmu_session_switch(session, NULL), "switch");
    for (unsigned k = 0; k < 6; k++) {
        work_until_interrupt(f);
        assert_int_equal(f->interrupts, 1);
        if (f->sequence) {
            const uint32_t *seen = f->sim.access_count;

            /* An erratum's sequence is left to the next local call: the set that comes waits. */
            handler_costs(f, "set switch by overflow: interrupt alone", 3, f->n + 2);
            forget_cost(f);
            must(f, upmu_cpu_tick(&f->cpu), "tick");
            if (seen[UPMU_SIM_RDPMC] + seen[UPMU_SIM_RDMSR] > f->n + 1)
                fail_msg("%s: the counts of a set that left are read again", f->sim.profile->name);
            costs(f, "set switch by overflow: the rest", change_writes(f, f->n) + 1, f->n);
        } else {
            /* The interrupt's own; where selects are gates, each is closed; what each event wants, one load. */
            bool still = f->still && (k & 1u);
            unsigned own = f->protocol == GLOBAL ? 4 : (still ? 1 : 3) + f->n;
            unsigned each = f->protocol == NETBURST ? 2 : 1;

            handler_costs(f, still ? "set switch by overflow, user mode (AMD)" : "set switch by overflow",
                          own + each * f->n + 1, (still ? 1 : 2) + 2 * f->n - 1 + (f->folds ? f->n : 0));
        }
        assert_ptr_equal(session->active, k & 1u ? &session->set : &f->set, k);
    }
}

/* ---- Every profile ---- */

/* Profiles that upmu takes, and those that it refuses: no PMU, or one that ignores writes or faults. */
#define TAKEN 74u
#define REFUSED 8u

static void on_each(void (*test)(struct fixture *f))
{
    static struct fixture f;
    const struct upmu_sim_profile *profile;
    unsigned taken = 0, refused = 0;

    bad = 0;
    for (unsigned i = 0; (profile = upmu_sim_profile_at(i)) != NULL; i++) {
        if (!set_up(&f, profile)) {
            refused++;
            continue;
        }
        taken++;
        if (f.n < 2)
            fail_msg("%s: only %u events", profile->name, f.n);
        test(&f);
        tear_down(&f);
        must(&f, upmu_cpu_fini(&f.cpu), "cpu_fini");
        if (f.sim.violation_count)
            fail_msg("%s: %s (register %x)", profile->name, f.sim.first_violation.text,
                     (unsigned)f.sim.first_violation.address);
    }
    assert_int_equal(bad, 0);
    assert_compare(taken, >=, TAKEN);
    assert_int_equal(refused, REFUSED);
}

static void start_stop_and_read_cost_what_is_promised_on_every_profile(void **state)
{
    (void)state;
    on_each(start_read_stop);
}

static void a_region_costs_what_is_promised_on_every_profile(void **state)
{
    (void)state;
    on_each(region);
}

static void a_thread_switch_costs_what_is_promised_on_every_profile(void **state)
{
    (void)state;
    on_each(same_configuration);
    on_each(changed_configuration);
    on_each(user_mode_changed);
    on_each(one_changed);
    on_each(nobody);
    on_each(changed_after_nobody);
}

static void sampling_makes_a_switch_dearer_by_what_is_promised(void **state)
{
    (void)state;
    on_each(one_samples);
    on_each(one_samples_alike);
    on_each(user_mode_samples);
}

static void a_set_switch_by_hand_costs_what_is_promised_on_every_profile(void **state)
{
    (void)state;
    on_each(sets_by_hand);
    on_each(sets_of_a_thread_by_hand);
}

static void a_set_switch_by_time_costs_what_is_promised_on_every_profile(void **state)
{
    (void)state;
    on_each(sets_by_time);
    on_each(sets_of_a_thread_by_time);
}

static void an_overflow_costs_what_is_promised_on_every_profile(void **state)
{
    (void)state;
    on_each(interrupt);
}

static void a_set_switch_by_overflow_costs_what_is_promised(void **state)
{
    (void)state;
    on_each(sets_by_overflow);
}

/* Once is enough. */
static void print_costs(void)
{
#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
    printf("%u profiles: one gate for all (%u events), selects are gates (%u), NetBurst (%u)\n", TAKEN,
           told[0].events[0], told[0].events[1], told[0].events[2]);
    for (unsigned i = 0; i < OPERATIONS && told[i].what; i++) {
        printf("%-51s", told[i].what);
        for (unsigned p = 0; p < 3; p++)
            if (told[i].events[p])
                printf(" %2u W %2u P%s", told[i].writes[p], told[i].reads[p], told[i].rearms[p] ? " LVT" : "    ");
            else
                printf("%14s", "");
        printf("\n");
    }
    printf("besides: Willamette (N17) one P more for each counter that stops or changes hands;\n"
           "Nehalem, Westmere up to %u W and what they load anew for a new event; K7 model 1 and\n"
           "what counts nothing never interrupt\n",
           SEQUENCE_WRITES);
#endif
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(start_stop_and_read_cost_what_is_promised_on_every_profile),
        cmocka_unit_test(a_region_costs_what_is_promised_on_every_profile),
        cmocka_unit_test(a_thread_switch_costs_what_is_promised_on_every_profile),
        cmocka_unit_test(sampling_makes_a_switch_dearer_by_what_is_promised),
        cmocka_unit_test(a_set_switch_by_hand_costs_what_is_promised_on_every_profile),
        cmocka_unit_test(a_set_switch_by_time_costs_what_is_promised_on_every_profile),
        cmocka_unit_test(an_overflow_costs_what_is_promised_on_every_profile),
        cmocka_unit_test(a_set_switch_by_overflow_costs_what_is_promised),
    };
    int failed = cmocka_run_group_tests_name("budget_profiles", tests, NULL, NULL);

    print_costs();
    return failed;
}
