/* SPDX-License-Identifier: MIT */
/*
 * Branches in samples on the silicon model: each sample has the last branches before its overflow and none of another
 * thread, of the handler or of the kernel where that is hidden; the stack records exactly while a session that wants
 * branches runs; sessions with different filters do not run together; every refusal has its reason.
 */
#include <upmu/branches.h>
#include <upmu/format.h>
#include <upmu/precise.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include <upmu/world.h>
#include "tests/common/host.h"
#include "tests/common/state.h"

#define USER_CODE UINT64_C(0x00007f1234500000)
#define KERNEL_CODE UINT64_C(0xffffffff81400000)
#define MODES (UPMU_BRANCH_USER | UPMU_BRANCH_KERNEL)
#define STEP 7u    /* instructions from one branch to the next */
#define RING 1024u /* branches of a burst: more than a stack has */
#define DEBUGCTL 0x1d9
#define LBR_CTL 0x14ce
#define LBR_SELECT 0x1c8
#define AMD_EXTENSION 0xc000010f

static struct host host;
static uint64_t rings[HOST_SESSIONS][2048]; /* a sample with 32 branches takes 856 bytes */

/* A CPU: the depth of its stack, and what is known of a branch. */
static const struct cpu_kind {
    const char *profile;
    unsigned depth;
    uint32_t control; /* register whose bit 0 (AMD: bit 6) lets the stack record */
    uint64_t info;
} kinds[] = {
    {"core2", 4, DEBUGCTL, 0},
    {"bonnell_odd", 8, DEBUGCTL, 0},
    {"silvermont", 8, DEBUGCTL, 0},
    {"nehalem", 16, DEBUGCTL, UPMU_BRANCH_INFO_MISPREDICTED},
    {"westmere", 16, DEBUGCTL, UPMU_BRANCH_INFO_MISPREDICTED},
    {"sandybridge", 16, DEBUGCTL, UPMU_BRANCH_INFO_MISPREDICTED},
    {"haswell_smt", 16, DEBUGCTL, UPMU_BRANCH_INFO_MISPREDICTED},
    {"broadwell", 16, DEBUGCTL, UPMU_BRANCH_INFO_MISPREDICTED},
    {"knl", 8, DEBUGCTL, UPMU_BRANCH_INFO_MISPREDICTED},
    {"skylake", 32, DEBUGCTL, UPMU_BRANCH_INFO_MISPREDICTED | UPMU_BRANCH_INFO_CYCLES},
    {"icelake", 32, DEBUGCTL, UPMU_BRANCH_INFO_MISPREDICTED | UPMU_BRANCH_INFO_CYCLES},
    {"goldmont_plus", 32, DEBUGCTL, UPMU_BRANCH_INFO_MISPREDICTED | UPMU_BRANCH_INFO_CYCLES},
    {"tremont", 32, DEBUGCTL, UPMU_BRANCH_INFO_MISPREDICTED | UPMU_BRANCH_INFO_CYCLES},
    {"sapphirerapids", 32, LBR_CTL, UPMU_BRANCH_INFO_MISPREDICTED},
    {"adl_e", 32, LBR_CTL, UPMU_BRANCH_INFO_MISPREDICTED},
    {"lnl_p", 32, LBR_CTL, UPMU_BRANCH_INFO_MISPREDICTED},
    {"ptl_p", 32, LBR_CTL, UPMU_BRANCH_INFO_MISPREDICTED},
    {"zen4", 16, AMD_EXTENSION, UPMU_BRANCH_INFO_MISPREDICTED},
    {"zen5", 16, AMD_EXTENSION, UPMU_BRANCH_INFO_MISPREDICTED},
};
#define CPU_KINDS (sizeof kinds / sizeof kinds[0])
#define SKYLAKE (&kinds[9])

static uint64_t peek(uint32_t msr)
{
    return upmu_sim_peek(&host.sim, 0, msr);
}

static bool records(const struct cpu_kind *kind)
{
    return peek(kind->control) >> (kind->control == AMD_EXTENSION ? 6 : 0) & 1u;
}

static void lend(unsigned cpu)
{
    const struct upmu_branch_filter use = {.record = 0};
    struct upmu_why why;

    upmu_sim_switch_cpu(&host.sim, cpu);
    assert_int_equal(upmu_cpu_use_branches(&host.cpu[cpu], &use, &why), UPMU_OK, cpu);
    assert_int_equal(why.status, UPMU_OK);
    upmu_sim_switch_cpu(&host.sim, 0);
}

static void prepare(const char *profile)
{
    static struct upmu_sim_profile bonnell;

    host_prepare(&host, profile);
    if (!strcmp(profile, "bonnell_odd")) { /* steppings below 10 record wrong (Linux lbr.c) */
        bonnell = *upmu_sim_profile(profile);
        bonnell.signature = (bonnell.signature & ~0xfu) | 10u;
        upmu_sim_set_profile(&host.sim, 0, &bonnell);
    }
    host_start(&host);
}

static void set_up(const char *profile)
{
    prepare(profile);
    lend(0);
}

static void finish(const struct cpu_kind *kind)
{
    host_end_idle(&host);
    assert_false(records(kind));
    assert_int_equal(peek(DEBUGCTL) & 0x1801, 0);
}

/* Branch n of the code at `code`: to the next but one 64 bytes, now and then mispredicted. */
static struct upmu_sim_branch branch_of(uint64_t code, uint64_t n)
{
    return (struct upmu_sim_branch){.from = code + 64u * n,
                                    .to = code + 64u * n + 128u,
                                    .kind = UPMU_SIM_BRANCH_COND,
                                    .mispredicted = n % 3u == 1,
                                    .cycles = (uint16_t)(n % 50u + 1u)};
}

/* Execute instructions of the code at `code`: each STEP of them end with the next branch from number `first` on. */
static void execute(uint64_t code, uint64_t first, uint64_t instructions)
{
    static struct upmu_sim_branch branches[RING];

    for (unsigned i = 0; i < RING; i++)
        branches[i] = branch_of(code, first + i);
    assert_compare(instructions, <=, RING * STEP);
    upmu_sim_events(&host.sim, &(struct upmu_sim_burst){.instructions = instructions,
                                                        .cycles = 2 * instructions,
                                                        .other = {{instructions, .event = 0xd0, .umask = 0x81}},
                                                        .user = !(code >> 63),
                                                        .ip = code,
                                                        .ip_step = 1,
                                                        .sp = code + 0x100000,
                                                        .branch = branches,
                                                        .branch_count = RING,
                                                        .branch_step = STEP});
}

/* Session i samples an event at a period, with these branches; it is neither attached nor started. */
static void add(unsigned i, const char *event, uint64_t period, uint32_t record)
{
    host_add(&host, i, event, period);
    assert_int_equal(upmu_session_branches(&host.sessions[i], record), UPMU_OK, i);
    assert_int_equal(upmu_session_ring(&host.sessions[i], rings[i], sizeof rings[i]), UPMU_OK, i);
}

static void begin(unsigned i)
{
    assert_int_equal(upmu_session_attach_cpu(&host.sessions[i], &host.cpu[0]), UPMU_OK, i);
    assert_int_equal(upmu_session_start(&host.sessions[i]), UPMU_OK, i);
}

static void check_branch(const struct cpu_kind *kind, const struct upmu_branch *branch, uint64_t code, uint64_t n)
{
    const struct upmu_sim_branch expected = branch_of(code, n);
    uint64_t info = (expected.mispredicted ? UPMU_BRANCH_INFO_MISPREDICTED : 0) | expected.cycles;

    assert_int_equal(branch->from, expected.from, n);
    assert_int_equal(branch->to, expected.to, n);
    assert_int_equal(branch->info & kind->info, info & kind->info, n);
}

/*
 * The next record's branches are those of the code before branch `before`, or none of the code if `before` is 0.
 * Returns their number.
 */
static unsigned check_record(const struct cpu_kind *kind, struct upmu_session *session, uint64_t code, uint64_t before)
{
    struct upmu_record record;
    unsigned branches;

    assert_true(upmu_ring_view(&session->ring, &record));
    assert_true(record.extended);
    assert_int_equal(record.parts & UPMU_PART_BRANCHES, UPMU_PART_BRANCHES, before);
    for (unsigned i = 0; i < record.branches; i++)
        if (before)
            check_branch(kind, &record.branch[i], code, before - 1u - i);
        else
            assert_compare(record.branch[i].from - code, >=, 64u * RING, i);
    branches = record.branches;
    upmu_ring_drop(&session->ring);
    return branches;
}

/* Catches: a stack that is read while it records, entries of the handler, an order, a sample that is not the first. */
static void each_sample_has_the_branches_before_its_overflow(void **state)
{
    static const uint64_t codes[] = {USER_CODE, KERNEL_CODE};
    static const uint32_t modes[] = {UPMU_BRANCH_USER, UPMU_BRANCH_KERNEL, 0};

    (void)state;
    for (unsigned k = 0; k < CPU_KINDS; k++)
        for (unsigned turn = 0; turn < 6; turn++) {
            const uint64_t code = codes[turn & 1];
            const uint32_t record = modes[turn >> 1];
            bool wanted = turn >> 1 == 2 || turn >> 1 == (turn & 1);

            set_up(kinds[k].profile);
            assert_false(records(&kinds[k]), k);
            add(0, "instructions", 1000, record ? record : MODES | UPMU_BRANCH_ANY);
            begin(0);
            assert_true(records(&kinds[k]), k, turn);
            execute(code, 0, 3500);
            for (unsigned sample = 1; sample <= 3; sample++)
                if (wanted)
                    assert_int_equal(check_record(&kinds[k], &host.session, code, 1000 * sample / STEP), kinds[k].depth,
                                     k, turn, sample);
                else
                    (void)check_record(&kinds[k], &host.session, code, 0);
            assert_int_equal(host_drain(&host, NULL), 0);
            assert_int_equal(host_value(&host.session, 0), 3500, k);
            assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
            assert_false(records(&kinds[k]), k, turn);
            assert_int_equal(upmu_cpu_use_branches(&host.cpu[0], NULL, NULL), UPMU_OK);
            assert_int_equal(peek(DEBUGCTL) & 0x1801, 0, k);
            finish(&kinds[k]);
        }
}

/* Read the stack as a fault handler does, with interrupts off. */
static enum upmu_status read_newest(struct upmu_branch *out, unsigned *out_count)
{
    enum upmu_status status;

    upmu_sim_irqs(&host.sim, false);
    status = upmu_branches_read(&host.cpu[0], out, UPMU_BRANCHES_MOST, out_count);
    upmu_sim_irqs(&host.sim, true);
    return status;
}

/* ---- Whose branches they are ---- */

#define THREADS 3u
#define OF_CPU THREADS /* the session of the CPU */

static struct {
    uint64_t done;  /* instructions that the thread has executed */
    uint64_t since; /* branches that it had taken when the CPU came to it */
} work[THREADS];
static uint32_t seed;
static bool is_inside;
static unsigned records_seen, exact_seen;

static uint32_t draw(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

static uint64_t code_of(unsigned thread)
{
    return USER_CODE + UINT64_C(0x1000000) * thread;
}

static void run_thread(unsigned thread, uint64_t instructions)
{
    static struct upmu_sim_branch branches[RING];
    uint64_t first = work[thread].done / STEP;

    for (unsigned i = 0; i < RING; i++)
        branches[i] = branch_of(code_of(thread), first + i);
    upmu_sim_events(&host.sim, &(struct upmu_sim_burst){.instructions = instructions,
                                                        .cycles = 2 * instructions,
                                                        .user = true,
                                                        .ip = code_of(thread) + work[thread].done,
                                                        .ip_step = 1,
                                                        .branch = branches,
                                                        .branch_count = RING,
                                                        .branch_step = STEP});
    work[thread].done += instructions;
}

/* The library is code of the kernel, too: its instructions overflow counters in the middle of its calls. */
static void run_library(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind, uint32_t address)
{
    (void)cpu, (void)number, (void)kind, (void)address;
    if (is_inside || draw(4))
        return;
    is_inside = true;
    upmu_sim_events(sim, &(struct upmu_sim_burst){.instructions = draw(40), .ip = KERNEL_CODE, .ip_step = 1});
    is_inside = false;
}

static unsigned thread_at(uint64_t address)
{
    return (unsigned)((address - USER_CODE) / UINT64_C(0x1000000));
}

/* Branches of one thread, each the one before the other; the newest is the last before a sample of user mode. */
static void compare_records(const struct cpu_kind *kind, unsigned i)
{
    struct upmu_record record;

    for (; upmu_ring_view(&host.sessions[i].ring, &record); upmu_ring_drop(&host.sessions[i].ring)) {
        unsigned thread = record.branches ? thread_at(record.branch[0].from) : THREADS;
        uint64_t newest = record.branches ? (record.branch[0].from - code_of(thread)) / 64 : 0, had;

        records_seen++;
        assert_compare(record.branches, <=, kind->depth, i);
        for (unsigned b = 0; b < record.branches; b++)
            check_branch(kind, &record.branch[b], code_of(thread), newest - b);
        if (record.branches && i != OF_CPU)
            assert_int_equal(thread, i);
        if (!(record.sample->flags & UPMU_SAMPLE_USER))
            continue;
        thread = thread_at(record.sample->ip);
        had = (record.sample->ip - code_of(thread)) / STEP;
        if (record.branches)
            assert_int_equal(newest + 1, had, i, thread);
        had -= work[thread].since;
        assert_compare(record.branches, <=, had, i, thread);
        if (kind->depth > 16) { /* the stacks without a filter have branches of the kernel in between */
            assert_int_equal(record.branches, had < kind->depth ? had : kind->depth, i, thread);
            exact_seen++;
        }
    }
}

static void compare_all(const struct cpu_kind *kind)
{
    for (unsigned i = 0; i <= OF_CPU; i++)
        compare_records(kind, i);
}

static void switch_to(const struct cpu_kind *kind, unsigned thread)
{
    if (thread == host.running[0])
        return;
    host_thread_switch(&host, 0, thread);
    compare_all(kind);
    if (thread < THREADS)
        work[thread].since = work[thread].done / STEP;
}

static void random_schedule(const struct cpu_kind *kind, uint32_t first_seed)
{
    struct upmu_branch newest[UPMU_BRANCHES_MOST];
    unsigned count;

    seed = first_seed;
    is_inside = true;
    memset(work, 0, sizeof work);
    set_up(kind->profile);
    host_threads(&host, THREADS + 1);
    for (unsigned i = 0; i <= OF_CPU; i++) {
        add(i, "instructions", 60 + draw(400), UPMU_BRANCH_USER);
        if (first_seed % 3 == 2 && i == OF_CPU)
            continue; /* no session of the CPU */
        if (i == OF_CPU)
            begin(i);
        else if (first_seed % 3) /* else the CPU's session alone: no thread is monitored */
            assert_int_equal(upmu_session_attach_thread(&host.sessions[i], &host.threads[i], NULL), UPMU_OK, i);
        if (i != OF_CPU && first_seed % 3)
            assert_int_equal(upmu_session_start(&host.sessions[i]), UPMU_OK, i);
    }
    is_inside = false;
    host.sim.before_access = run_library;
    for (unsigned step = 0; step < 120; step++) {
        host.sim.now_ns += 20000000;
        switch_to(kind, draw(THREADS + 1));
        for (unsigned part = draw(4); part && host.running[0] < THREADS; part--) {
            run_thread(host.running[0], STEP * draw(60));
            compare_all(kind);
        }
        if (!draw(5))
            assert_int_equal(upmu_cpu_poll(&host.cpu[0]), UPMU_OK);
        if (!draw(5))
            (void)!read_newest(newest, &count);
        compare_all(kind);
    }
    host.sim.before_access = NULL;
    host_no_violation(&host);
    finish(kind);
}

/* Catches: a switch that does not clear, a stack that stays frozen, branches of a call in a sample, a lost resume. */
static void a_sample_has_branches_of_its_thread_alone(void **state)
{
    static const unsigned of[] = {0, 6, 9, 10, 13, 17};

    (void)state;
    records_seen = exact_seen = 0;
    for (unsigned k = 0; k < sizeof of / sizeof of[0]; k++)
        for (uint32_t i = 0; i < 16; i++)
            random_schedule(&kinds[of[k]], 1000 * k + i);
    assert_compare(records_seen, >, 4000);
    assert_compare(exact_seen, >, 1000);
}

/* Once, at the next access: kernel code that overflows. */
static void overflow_once(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind,
                          uint32_t address)
{
    (void)cpu, (void)number, (void)kind, (void)address;
    sim->before_access = NULL;
    upmu_sim_events(sim, &(struct upmu_sim_burst){.instructions = 30, .ip = KERNEL_CODE, .ip_step = 1});
}

/* The switch clears the stack before the sample of an interrupt in it is stored: it must not get what came later. */
static void a_switch_loses_the_branches_of_an_interrupt_before(void **state)
{
    static const unsigned of[] = {6, 9, 13, 17};

    (void)state;
    for (unsigned k = 0; k < sizeof of / sizeof of[0]; k++)
        for (unsigned turn = 0; turn < 2; turn++) {
            struct upmu_record record;

            set_up(kinds[of[k]].profile);
            host_threads(&host, 3);
            add(0, "instructions", 1000, MODES);
            begin(0);
            execute(KERNEL_CODE, 0, 980);
            host.sim.before_access = overflow_once;
            if (turn)
                host_thread_switch(&host, 0, 0);
            else
                assert_int_equal(upmu_cpu_poll(&host.cpu[0]), UPMU_OK);
            assert_true(upmu_ring_view(&host.session.ring, &record));
            assert_int_equal(record.sample->flags, 0, k);
            assert_int_equal(record.parts & UPMU_PART_BRANCHES, turn ? 0 : UPMU_PART_BRANCHES, k, turn);
            upmu_ring_drop(&host.session.ring);
            host.no_frame = true; /* nor is it known whose branches those of an interrupt without a frame are */
            execute(KERNEL_CODE, 0, 1000);
            assert_true(upmu_ring_view(&host.session.ring, &record));
            assert_int_equal(record.parts, 0, k);
            upmu_ring_drop(&host.session.ring);
            finish(&kinds[of[k]]);
        }
}

/*
 * An interrupt is late, and the stack that its overflow has frozen records again before it comes: by a read of the
 * host's (before version 4), or since a call has released it.  Catches: a sample with branches of after its overflow.
 */
static void a_stack_that_has_recorded_since_gives_no_branches(void **state)
{
    static const unsigned of[] = {3, 6, 9, 13};
    static const struct upmu_frame frame = {.ip = USER_CODE, .user = true};

    (void)state;
    for (unsigned k = 0; k < sizeof of / sizeof of[0]; k++) {
        struct upmu_branch out[UPMU_BRANCHES_MOST];
        struct upmu_record record;
        unsigned count;

        set_up(kinds[of[k]].profile);
        add(0, "instructions", 1000, UPMU_BRANCH_USER);
        begin(0);
        host.sim.deliver = NULL;
        execute(USER_CODE, 0, 1020);
        upmu_sim_irqs(&host.sim, false);
        assert_int_equal(upmu_branches_read(&host.cpu[0], out, UPMU_BRANCHES_MOST, &count), UPMU_OK);
        if (k >= 2)
            upmu_sim_poke(&host.sim, 0, 0x38e, peek(0x38e) & ~(UINT64_C(1) << 58));
        execute(USER_CODE, 1020 / STEP, 500);
        host.sim.deliver = host_deliver;
        assert_int_equal(upmu_pmi_handle(&host.cpu[0], &frame), UPMU_PMI_HANDLED, k);
        upmu_sim_irqs(&host.sim, true);
        assert_true(upmu_ring_view(&host.session.ring, &record));
        assert_int_equal(record.sample->flags & UPMU_SAMPLE_NO_FRAME, 0, k);
        assert_int_equal(record.parts & UPMU_PART_BRANCHES, 0, k);
        upmu_ring_drop(&host.session.ring);
        assert_true(records(&kinds[of[k]]), k);
        execute(USER_CODE, 0, 990);
        assert_true(upmu_ring_view(&host.session.ring, &record));
        assert_int_equal(record.branches, kinds[of[k]].depth, k);
        upmu_ring_drop(&host.session.ring);
        finish(&kinds[of[k]]);
    }
}

/* An NMI of another source in the middle of a call: the stack records on. */
static void a_foreign_nmi_leaves_the_stack_recording(void **state)
{
    (void)state;
    for (unsigned k = 0; k < CPU_KINDS; k++) {
        set_up(kinds[k].profile);
        add(0, "instructions", 1000, UPMU_BRANCH_USER);
        begin(0);
        upmu_sim_foreign_nmi(&host.sim);
        execute(USER_CODE, 0, 10);
        assert_true(records(&kinds[k]), k);
        execute(USER_CODE, 2, 1480);
        assert_int_equal(check_record(&kinds[k], &host.session, USER_CODE, 2 + 990 / STEP), kinds[k].depth, k);
        finish(&kinds[k]);
    }
}

static void foreign_once(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind, uint32_t address)
{
    (void)cpu, (void)number, (void)kind, (void)address;
    sim->before_access = NULL;
    upmu_sim_foreign_nmi(sim);
}

/* AMD without the bit that freezes (CPUID 8000_0022h EAX[2]): the handler stops the stack, also for NMIs of others. */
static void without_a_freeze_the_handler_stops_the_stack(void **state)
{
    static struct upmu_sim_profile profile;
    static struct upmu_sim_amd_facts facts;
    const struct cpu_kind *kind = &kinds[17];

    (void)state;
    host_prepare(&host, kind->profile);
    profile = *upmu_sim_profile(kind->profile);
    facts = *profile.amd;
    facts.perfmon[0] &= ~4u;
    profile.amd = &facts;
    upmu_sim_set_profile(&host.sim, 0, &profile);
    host_start(&host);
    lend(0);
    assert_int_equal(host.cpu[0].meter.pmu->branch_freeze, 0);
    add(0, "instructions", 1000, UPMU_BRANCH_USER);
    begin(0);
    execute(USER_CODE, 0, 2500);
    assert_int_equal(check_record(kind, &host.session, USER_CODE, 1000 / STEP), 16);
    assert_int_equal(check_record(kind, &host.session, USER_CODE, 2000 / STEP), 16);
    host.sim.before_access = foreign_once;
    assert_int_equal(upmu_cpu_poll(&host.cpu[0]), UPMU_OK);
    assert_true(records(kind));
    execute(USER_CODE, 0, 700);
    assert_int_equal(check_record(kind, &host.session, USER_CODE, 500 / STEP), 16);
    finish(kind);
}

/* ---- Filters ---- */

static void same_filter_or_one_after_the_other(void **state)
{
    char text[160];

    (void)state;
    set_up("skylake");
    add(0, "instructions", 1000, UPMU_BRANCH_CALL);
    add(1, "cycles", 1000, UPMU_BRANCH_CALL);
    add(2, "branches", 1000, UPMU_BRANCH_RETURN);
    host_add(&host, 3, "branch-misses", 1000);
    begin(0);
    begin(1);
    begin(3); /* wants no branches */
    assert_int_equal(peek(LBR_SELECT), 0x1fc & ~8u);
    assert_int_equal(upmu_session_attach_cpu(&host.sessions[2], &host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.sessions[2]), UPMU_ERR_DOES_NOT_FIT);
    (void)upmu_why_text(&host.sessions[2].why, text, sizeof text);
    assert_string_equal(text, "does not fit on skl: other sessions record other branches");
    assert_int_equal(upmu_session_stop(&host.sessions[0]), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.sessions[2]), UPMU_ERR_DOES_NOT_FIT);
    assert_int_equal(upmu_session_stop(&host.sessions[1]), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.sessions[2]), UPMU_OK);
    assert_int_equal(peek(LBR_SELECT), 0x1fc & ~0x20u);
    assert_int_equal(upmu_session_start(&host.sessions[1]), UPMU_ERR_DOES_NOT_FIT);
    finish(SKYLAKE);
    assert_int_equal(peek(LBR_SELECT), 0);
}

/* A session of a thread that ran before, and whose place is still there: beside another filter it waits. */
static void a_thread_waits_while_another_filter_is_in_use(void **state)
{
    (void)state;
    set_up("skylake");
    host_threads(&host, 3);
    add(1, "instructions", 1000, UPMU_BRANCH_CALL);
    assert_int_equal(upmu_session_attach_thread(&host.sessions[1], &host.threads[0], NULL), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.sessions[1]), UPMU_OK);
    host_thread_switch(&host, 0, 0);
    assert_int_equal(host.sessions[1].state, UPMU_SESSION_RUNNING);
    assert_int_equal(peek(LBR_SELECT), 0x1fc & ~8u);
    host_thread_switch(&host, 0, 1);
    assert_false(records(SKYLAKE));
    add(0, "cycles", 1000, UPMU_BRANCH_RETURN);
    begin(0);
    host_thread_switch(&host, 0, 0);
    assert_int_equal(host.sessions[1].state, UPMU_SESSION_WAITING);
    assert_int_equal(peek(LBR_SELECT), 0x1fc & ~0x20u);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    host_thread_switch(&host, 0, 1);
    host_thread_switch(&host, 0, 0);
    assert_int_equal(host.sessions[1].state, UPMU_SESSION_RUNNING);
    assert_int_equal(peek(LBR_SELECT), 0x1fc & ~8u);
    finish(SKYLAKE);
}

/* Both had the same filter when they were placed; then the thread's session must not see the kernel any more. */
static void a_place_beside_a_filter_is_asked_anew(void **state)
{
    (void)state;
    set_up("skylake");
    host_threads(&host, 3);
    add(0, "cycles", 1000, MODES);
    begin(0);
    add(1, "instructions", 1000, MODES);
    assert_int_equal(upmu_session_attach_thread(&host.sessions[1], &host.threads[0], NULL), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.sessions[1]), UPMU_OK);
    for (unsigned turn = 0; turn < 3; turn++) {
        host_thread_switch(&host, 0, 0);
        assert_int_equal(host.sessions[1].state, turn < 2 ? UPMU_SESSION_RUNNING : UPMU_SESSION_WAITING, turn);
        host_thread_switch(&host, 0, 1);
        assert_int_equal(upmu_session_stop(&host.other), UPMU_OK, turn);
        upmu_session_hide_kernel(&host.other, turn == 1);
        assert_int_equal(upmu_session_start(&host.other), UPMU_OK, turn);
    }
    finish(SKYLAKE);
}

/* Two filters that share: each has its turns, and never are both there. */
static void sharing_sessions_with_two_filters_take_turns(void **state)
{
    unsigned turns[2] = {0, 0};

    (void)state;
    set_up("skylake");
    for (unsigned i = 0; i < 2; i++) {
        add(i, i ? "cycles" : "instructions", 1000, i ? UPMU_BRANCH_CALL : UPMU_BRANCH_RETURN);
        assert_int_equal(upmu_session_share(&host.sessions[i], true), UPMU_OK);
        begin(i);
    }
    for (unsigned tick = 0; tick < 40; tick++) {
        unsigned runs = host.sessions[1].state == UPMU_SESSION_RUNNING;

        assert_int_equal((host.sessions[0].state == UPMU_SESSION_RUNNING) + runs, 1, tick);
        assert_int_equal(peek(LBR_SELECT), 0x1fc & ~(runs ? 8u : 0x20u), tick);
        turns[runs]++;
        host.sim.now_ns += 1000000;
        assert_int_equal(upmu_cpu_tick(&host.cpu[0]), UPMU_OK);
    }
    assert_compare(turns[0], >, 10);
    assert_compare(turns[1], >, 10);
    finish(SKYLAKE);
}

/*
 * Eight sharing sessions wait for another filter than that of a session that does not share: three that want no
 * branches run in turn as if they were not there.  Catches: counters kept for a session that cannot run; a tick that
 * looks at such sessions alone.
 */
static void a_wait_for_another_filter_takes_no_turn_of_others(void **state)
{
    static const char four[] = "branches,branches:u,branches:k,branch-misses";
    static struct upmu_session waiters[8];
    unsigned turns[4] = {0}, waited = 0;

    (void)state;
    set_up("skylake");
    add(0, "instructions", 1000, UPMU_BRANCH_CALL);
    begin(0);
    for (unsigned i = 1; i < 4; i++) {
        host_add(&host, i, "branches,branch-misses", 0);
        assert_int_equal(upmu_session_share(&host.sessions[i], true), UPMU_OK);
        begin(i);
    }
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(upmu_session_init(&waiters[i], &host.machine), UPMU_OK);
        assert_int_equal(upmu_set_add(&waiters[i].set, four, &(struct upmu_sampling){.period = 1000}), UPMU_OK);
        assert_int_equal(upmu_session_branches(&waiters[i], UPMU_BRANCH_RETURN), UPMU_OK);
        assert_int_equal(upmu_session_share(&waiters[i], true), UPMU_OK);
        host_begin(&host, &waiters[i]);
    }
    for (unsigned tick = 0; tick < 60; tick++) {
        host.sim.now_ns += 1000000;
        assert_int_equal(upmu_cpu_tick(&host.cpu[0]), UPMU_OK);
        for (unsigned i = 0; i < 4; i++)
            turns[i] += host.sessions[i].state == UPMU_SESSION_RUNNING;
        assert_int_equal(turns[1] + turns[2] + turns[3], 2 * (tick + 1), tick);
        for (unsigned i = 0; i < 8; i++)
            waited += waiters[i].state == UPMU_SESSION_WAITING;
    }
    assert_int_equal(waited, 60 * 8);
    for (unsigned i = 1; i < 4; i++)
        assert_compare(turns[i], >=, 20, i);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    for (unsigned tick = 0; tick < 60; tick++) {
        host.sim.now_ns += 1000000;
        assert_int_equal(upmu_cpu_tick(&host.cpu[0]), UPMU_OK);
        for (unsigned i = 0; i < 8; i++)
            waited -= waiters[i].state == UPMU_SESSION_RUNNING;
    }
    assert_compare(waited, <, 60 * 8 - 30);
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(upmu_session_close(&waiters[i]), UPMU_OK, i);
    finish(SKYLAKE);
}

/* Sharing sessions of two counters each, two with different filters: each tick runs two that can run together. */
static void two_filters_and_others_leave_no_counter_idle(void **state)
{
    unsigned turns[4] = {0};

    (void)state;
    set_up("skylake");
    for (unsigned i = 4; i--;) {
        if (i < 2)
            add(i, "branches,branch-misses", 1000, i ? UPMU_BRANCH_CALL : UPMU_BRANCH_RETURN);
        else
            host_add(&host, i, "branches,branch-misses", 0);
        assert_int_equal(upmu_session_share(&host.sessions[i], true), UPMU_OK);
        begin(i);
    }
    for (unsigned tick = 0; tick < 60; tick++) {
        host.sim.now_ns += 1000000;
        assert_int_equal(upmu_cpu_tick(&host.cpu[0]), UPMU_OK);
        for (unsigned i = 0; i < 4; i++)
            turns[i] += host.sessions[i].state == UPMU_SESSION_RUNNING;
        assert_int_equal(turns[0] + turns[1] + turns[2] + turns[3], 2 * (tick + 1), tick);
    }
    for (unsigned i = 0; i < 4; i++)
        assert_compare(turns[i], >=, 20, i);
    finish(SKYLAKE);
}

/*
 * Core 2 and Nehalem: an event comes that only one counter can have, or an erratum's sequence is needed.  A session
 * that samples moves for it, beside one with another filter whose events only count.  Catches: a filter that is asked
 * of a session without samples, so that the session that moves stops or waits for ever.
 */
static void a_session_that_only_counts_has_no_filter(void **state)
{
    static const struct {
        const char *profile, *samples, *counts, *comes;
    } rows[] = {
        {"core2", "branches", "instructions", "raw:config=0x430010"},
        {"nehalem", "branches", "instructions", "branch-misses:counter=0"},
        {"skylake", "branches", "instructions", "branch-misses:counter=0"},
    };

    (void)state;
    for (unsigned k = 0; k < sizeof rows / sizeof rows[0]; k++)
        for (unsigned turn = 0; turn < 3; turn++) {
            unsigned first = turn == 1;

            set_up(rows[k].profile);
            add(0, rows[k].samples, 1000, UPMU_BRANCH_USER);
            host_add(&host, 1, rows[k].counts, 0);
            assert_int_equal(upmu_session_branches(&host.other, MODES), UPMU_OK, k);
            if (turn == 2) { /* the session that counts has its place before the other one samples */
                assert_int_equal(upmu_session_attach_cpu(&host.other, &host.cpu[0]), UPMU_OK, k);
                begin(0);
                assert_int_equal(upmu_session_start(&host.other), UPMU_OK, k);
            } else {
                begin(first);
                begin(!first);
            }
            assert_int_equal(host.session.set.tally[0].counter, 0, k, turn);
            host_add(&host, 2, rows[k].comes, 0);
            begin(2);
            for (unsigned i = 0; i < 3; i++)
                assert_int_equal(host.sessions[i].state, UPMU_SESSION_RUNNING, k, turn, i);
            assert_int_not_equal(host.session.set.tally[0].counter, 0, k, turn);
            execute(USER_CODE, 0, 2500);
            assert_int_equal(upmu_session_detach(&host.other), UPMU_OK, k);
            assert_int_equal(upmu_cpu_use_branches(&host.cpu[0], NULL, NULL), UPMU_ERR_STATE, k);
            finish(SKYLAKE); /* the control register of all three */
        }
}

/*
 * Two sessions have the same filter when they start; then one hides the kernel, and later shows it again.  Both run on,
 * also where one has to move or an erratum's sequence overwrites it; the filter changes at the next start.  Catches: a
 * filter that changes while its session runs.
 */
static void a_filter_changes_at_a_start_alone(void **state)
{
    static const char *const profiles[] = {"core2", "nehalem", "skylake"};

    (void)state;
    for (unsigned k = 0; k < sizeof profiles / sizeof profiles[0]; k++)
        for (unsigned turn = 0; turn < 2; turn++) {
            struct upmu_record record;

            set_up(profiles[k]);
            add(0, "branches", 1000, MODES);
            add(1, "instructions", 1000, MODES);
            host_add(&host, 2, k ? "branch-misses:counter=0" : "raw:config=0x430010", 0);
            upmu_session_hide_kernel(&host.other, turn);
            begin(0);
            if (turn) { /* other branches than those of session 0 */
                assert_int_equal(upmu_session_attach_cpu(&host.other, &host.cpu[0]), UPMU_OK, k);
                assert_int_equal(upmu_session_start(&host.other), UPMU_ERR_DOES_NOT_FIT, k);
                upmu_session_hide_kernel(&host.other, false);
                assert_int_equal(upmu_session_start(&host.other), UPMU_OK, k);
            } else {
                begin(1);
            }
            upmu_session_hide_kernel(&host.sessions[!turn], true);
            begin(2);
            for (unsigned i = 0; i < 3; i++)
                assert_int_equal(host.sessions[i].state, UPMU_SESSION_RUNNING, k, turn, i);
            execute(KERNEL_CODE, 0, 1005);
            assert_true(upmu_ring_view(&host.other.ring, &record));
            assert_int_equal(record.parts & UPMU_PART_BRANCHES, turn ? UPMU_PART_BRANCHES : 0, k, turn);
            assert_int_equal(upmu_session_stop(&host.sessions[!turn]), UPMU_OK, k);
            assert_int_equal(upmu_session_start(&host.sessions[!turn]), UPMU_ERR_DOES_NOT_FIT, k);
            upmu_session_hide_kernel(&host.sessions[!turn], false);
            assert_int_equal(upmu_session_start(&host.sessions[!turn]), UPMU_OK, k);
            finish(SKYLAKE); /* the control register of all three */
        }
}

/* The thread's session is refused beside the CPU's, which then starts with another filter: that one. */
static void a_refusal_ends_with_the_filter_beside_which_it_was(void **state)
{
    (void)state;
    set_up("skylake");
    host_threads(&host, 3);
    add(0, "cycles", 1000, MODES);
    begin(0);
    add(1, "instructions", 1000, UPMU_BRANCH_USER);
    assert_int_equal(upmu_session_attach_thread(&host.other, &host.threads[0], NULL), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.other), UPMU_OK);
    for (unsigned turn = 0; turn < 2; turn++) {
        host_thread_switch(&host, 0, 0);
        assert_int_equal(host.other.state, turn ? UPMU_SESSION_RUNNING : UPMU_SESSION_WAITING, turn);
        host_thread_switch(&host, 0, 1);
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK, turn);
        upmu_session_hide_kernel(&host.session, true);
        assert_int_equal(upmu_session_start(&host.session), UPMU_OK, turn);
    }
    finish(SKYLAKE);
}

/* Of user mode alone, whatever the session asks for; what cannot be known is not given. */
static void a_program_gets_no_branch_of_the_kernel(void **state)
{
    (void)state;
    for (unsigned k = 0; k < CPU_KINDS; k++)
        for (unsigned turn = 0; turn < 3; turn++) {
            struct upmu_record record;

            set_up(kinds[k].profile);
            add(0, "instructions", 1000, turn == 1 ? UPMU_BRANCH_KERNEL : MODES);
            if (turn < 2)
                upmu_session_hide_kernel(&host.session, true);
            begin(0);
            assert_int_equal(records(&kinds[k]), turn != 1, k);
            if (turn == 2) /* too late for the filter: no branches at all */
                upmu_session_hide_kernel(&host.session, true);
            execute(KERNEL_CODE, 0, 970);
            execute(USER_CODE, 0, 40);
            assert_true(upmu_ring_view(&host.session.ring, &record));
            for (unsigned i = 0; i < record.branches; i++)
                assert_int_equal((record.branch[i].from | record.branch[i].to) >> 63, 0, k, i);
            assert_int_equal(record.branches, turn ? 0 : 4, k, turn);
            assert_int_equal(record.parts & UPMU_PART_BRANCHES, turn ? 0 : UPMU_PART_BRANCHES, k, turn);
            upmu_ring_drop(&host.session.ring);
            finish(&kinds[k]);
        }
}

/* ---- Refusals ---- */

static void what_cannot_be_is_refused(void **state)
{
    const struct upmu_branch_filter all = {.record = 0}, kind = {.record = UPMU_BRANCH_CALL};
    struct upmu_why why;
    char text[160];

    (void)state;
    prepare("skylake");
    assert_int_equal(upmu_session_branches(&host.session, UPMU_BRANCH_ANY), UPMU_ERR_HOOK_MISSING);
    assert_string_equal(host.session.why.word, "upmu_cpu_use_branches");
    assert_int_equal(upmu_cpu_use_branches(&host.cpu[0], &kind, &why), UPMU_ERR_INVALID);
    assert_int_equal(upmu_cpu_use_branches(&host.cpu[0], NULL, &why), UPMU_OK);
    assert_int_equal(upmu_branches_start(&host.cpu[0], &all, &why), UPMU_OK);
    assert_int_equal(upmu_cpu_use_branches(&host.cpu[0], &all, &why), UPMU_ERR_STATE);
    assert_string_equal(why.word, "it records already");
    assert_int_equal(upmu_branches_stop(&host.cpu[0]), UPMU_OK);
    lend(0);
    assert_int_equal(upmu_cpu_use_branches(&host.cpu[0], &all, &why), UPMU_ERR_STATE);
    assert_string_equal(why.word, "sessions have it");
    assert_int_equal(upmu_branches_start(&host.cpu[0], &all, &why), UPMU_ERR_STATE);
    assert_string_equal(why.word, "sessions have it");
    assert_int_equal(upmu_session_branches(&host.session, UPMU_BRANCH_TAKE), UPMU_ERR_INVALID);
    assert_int_equal(upmu_session_branches(&host.session, 1u << 10), UPMU_ERR_INVALID);
    add(0, "instructions", 1000, UPMU_BRANCH_ANY);
    assert_int_equal(upmu_session_world(&host.session, UPMU_WORLD_BOTH), UPMU_ERR_UNSUPPORTED);
    begin(0);
    assert_int_equal(upmu_session_branches(&host.session, 0), UPMU_ERR_STATE);
    assert_int_equal(upmu_cpu_use_branches(&host.cpu[0], NULL, &why), UPMU_ERR_STATE);
    assert_string_equal(why.word, "sessions record branches");
    assert_int_equal(upmu_branches_stop(&host.cpu[0]), UPMU_OK); /* nothing of the host's: it goes on */
    assert_true(records(SKYLAKE));
    assert_int_equal(upmu_session_world(&host.other, UPMU_WORLD_GUEST), UPMU_OK);
    assert_int_equal(upmu_session_branches(&host.other, UPMU_BRANCH_ANY), UPMU_ERR_UNSUPPORTED);
    (void)upmu_why_text(&host.other.why, text, sizeof text);
    assert_string_equal(text, "not supported: it counts guests");
    finish(SKYLAKE);
    prepare("skylake"); /* a guest's branches would be recorded, as no call stops the stack */
    assert_int_equal(upmu_cpu_world_by_hardware(&host.cpu[0], true), UPMU_OK);
    assert_int_equal(upmu_cpu_use_branches(&host.cpu[0], &all, &why), UPMU_ERR_STATE);
    assert_string_equal(why.word, "the hardware changes worlds");
    assert_int_equal(upmu_cpu_world_by_hardware(&host.cpu[0], false), UPMU_OK);
    lend(0);
    assert_int_equal(upmu_cpu_world_by_hardware(&host.cpu[0], true), UPMU_ERR_STATE);
    assert_int_equal(upmu_cpu_suspend(&host.cpu[0]), UPMU_OK); /* it is lent again at the end of the sleep */
    assert_int_equal(upmu_cpu_world_by_hardware(&host.cpu[0], true), UPMU_ERR_STATE);
    assert_int_equal(upmu_cpu_resume(&host.cpu[0]), UPMU_OK);
    host_end_idle(&host);
    prepare("nehalem");
    lend(0);
    assert_int_equal(upmu_session_branches(&host.session, UPMU_BRANCH_CALL), UPMU_ERR_UNSUPPORTED);
    assert_string_equal(host.session.why.word, "it cannot record this kind alone");
    host_end_idle(&host);
    prepare("zen3");
    assert_int_equal(upmu_cpu_use_branches(&host.cpu[0], &all, &why), UPMU_ERR_UNSUPPORTED);
    assert_string_equal(why.word, "upmu does not drive Zen 3's branch sampling");
    assert_int_equal(upmu_session_branches(&host.session, UPMU_BRANCH_ANY), UPMU_ERR_UNSUPPORTED);
    host_end_idle(&host);
}

/* A CPU that lends nothing, and a hypervisor that drops the bit. */
static void a_cpu_without_its_stack_runs_no_such_session(void **state)
{
    const struct upmu_branch_filter all = {.record = 0};
    struct upmu_why why;

    (void)state;
    host_set_up_two(&host, "skylake");
    lend(0);
    add(0, "instructions", 1000, UPMU_BRANCH_ANY);
    upmu_sim_switch_cpu(&host.sim, 1);
    assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[1]), UPMU_ERR_HOOK_MISSING);
    assert_string_equal(host.session.why.word, "upmu_cpu_use_branches");
    host_add(&host, 1, "instructions", 0);
    assert_int_equal(upmu_session_branches(&host.other, UPMU_BRANCH_ANY), UPMU_OK);
    host_attach(&host, 1, 1);
    assert_int_equal(upmu_session_start(&host.other), UPMU_OK); /* it only counts */
    host.sim.rule[UPMU_SIM_RULE_LBR_ENABLE] = 0;
    assert_int_equal(upmu_cpu_use_branches(&host.cpu[1], &all, &why), UPMU_ERR_UNSUPPORTED);
    assert_string_equal(why.word, "the bit that lets it record cannot be set");
    host.sim.rule[UPMU_SIM_RULE_LBR_ENABLE] = 1;
    upmu_sim_switch_cpu(&host.sim, 0);
    begin(0);
    finish(SKYLAKE);
}

/*
 * A session that hides the kernel, and wants branches of the kernel alone, gets none.  Catches: it is stopped for the
 * lack of a stack that it does not use, and upmu_cpu_changed() says that a register has faulted.
 */
static void a_session_whose_branches_are_all_hidden_needs_no_stack(void **state)
{
    struct upmu_record record;

    (void)state;
    set_up("skylake");
    add(0, "instructions", 1000, UPMU_BRANCH_KERNEL | UPMU_BRANCH_ANY);
    upmu_session_hide_kernel(&host.session, true);
    begin(0);
    assert_int_equal(upmu_cpu_use_branches(&host.cpu[0], NULL, NULL), UPMU_OK); /* no session uses it */
    assert_int_equal(upmu_cpu_changed(&host.cpu[0]), UPMU_OK);
    assert_int_equal(host.session.state, UPMU_SESSION_RUNNING);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    execute(USER_CODE, 0, 1500);
    assert_true(upmu_ring_view(&host.session.ring, &record));
    assert_int_equal(record.parts, 0);
    upmu_ring_drop(&host.session.ring);
    finish(SKYLAKE);
}

/*
 * The thread's sharing session wants branches where the CPU lends no stack: sharing sessions of that CPU run in turn as
 * if it were not there; with the stack it has turns, too.  Catches: counters kept for a session that cannot run.
 */
static void a_wait_without_a_stack_takes_no_turn_of_others(void **state)
{
    (void)state;
    for (unsigned ran = 0; ran < 2; ran++) { /* without a place, or with one of CPU 0 */
        unsigned turns[4] = {0};

        host_set_up_two(&host, "skylake");
        host_threads(&host, 3);
        lend(0);
        add(0, "branches,branches:u,branches:k,branch-misses", 1000, UPMU_BRANCH_CALL);
        assert_int_equal(upmu_session_share(&host.session, true), UPMU_OK);
        assert_int_equal(upmu_session_attach_thread(&host.session, &host.threads[0], NULL), UPMU_OK);
        assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
        for (unsigned i = 1; i < 4; i++)
            host_share(&host, i, 1, "branches,branch-misses");
        if (ran) {
            host_thread_switch(&host, 0, 0);
            assert_int_equal(host.session.state, UPMU_SESSION_RUNNING);
            host_thread_switch(&host, 0, 1);
        }
        host_thread_switch(&host, 1, 0);
        assert_string_equal(host.session.why.word, "upmu_cpu_use_branches");
        for (unsigned tick = 0; tick < 60; tick++) {
            if (tick == 30)
                lend(1);
            upmu_sim_switch_cpu(&host.sim, 1);
            host.sim.now_ns += 1000000;
            assert_int_equal(upmu_cpu_tick(&host.cpu[1]), UPMU_OK);
            for (unsigned i = 0; i < 4; i++)
                turns[i] += host.sessions[i].state == UPMU_SESSION_RUNNING;
            if (tick < 30) {
                assert_int_equal(turns[0], 0, ran, tick);
                assert_int_equal(turns[1] + turns[2] + turns[3], 2 * (tick + 1), ran, tick);
            }
        }
        assert_compare(turns[0], >=, 10, ran);
        for (unsigned i = 1; i < 4; i++)
            assert_compare(turns[i], >=, 18 + 5, ran, i);
        host_thread_switch(&host, 1, 2);
        upmu_sim_switch_cpu(&host.sim, 0);
        finish(SKYLAKE);
    }
}

/* ---- Registers ---- */

/* A debugger's bit of DEBUGCTL stays; a stack that other software had is restored. */
static void registers_are_as_they_were_found(void **state)
{
    const struct upmu_branch_filter all = {.record = 0}, take = {.record = UPMU_BRANCH_TAKE};
    struct upmu_why why;

    (void)state;
    prepare("skylake");
    upmu_sim_poke(&host.sim, 0, DEBUGCTL, 3);
    upmu_sim_poke(&host.sim, 0, LBR_SELECT, 0x40);
    assert_int_equal(upmu_cpu_use_branches(&host.cpu[0], &all, &why), UPMU_ERR_STATE);
    assert_string_equal(why.word, "other software records branches");
    assert_int_equal(upmu_cpu_use_branches(&host.cpu[0], &take, &why), UPMU_OK);
    assert_int_equal(peek(DEBUGCTL), 0x802);
    add(0, "instructions", 1000, UPMU_BRANCH_USER);
    begin(0);
    assert_int_equal(peek(DEBUGCTL), 0x803);
    execute(USER_CODE, 0, 1500);
    assert_int_equal(check_record(SKYLAKE, &host.session, USER_CODE, 1000 / STEP), 32);
    assert_int_equal(peek(DEBUGCTL), 0x803);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    assert_int_equal(peek(DEBUGCTL), 0x802);
    assert_int_equal(upmu_cpu_use_branches(&host.cpu[0], NULL, NULL), UPMU_OK);
    assert_int_equal(peek(DEBUGCTL), 3);
    assert_int_equal(peek(LBR_SELECT), 0x40);
    upmu_sim_poke(&host.sim, 0, DEBUGCTL, 0);
    upmu_sim_poke(&host.sim, 0, LBR_SELECT, 0);
    finish(SKYLAKE);
}

/* In a sleep the registers are given back, and lost; sessions go on with branches afterwards. */
static void branches_go_on_after_a_sleep_and_a_change(void **state)
{
    (void)state;
    for (unsigned k = 0; k < CPU_KINDS; k++) {
        set_up(kinds[k].profile);
        add(0, "instructions", 1000, UPMU_BRANCH_USER);
        begin(0);
        execute(USER_CODE, 0, 490);
        assert_int_equal(upmu_cpu_suspend(&host.cpu[0]), UPMU_OK, k);
        assert_false(records(&kinds[k]), k);
        assert_int_equal(peek(DEBUGCTL) & 0x1801, 0, k);
        assert_int_equal(upmu_cpu_resume(&host.cpu[0]), UPMU_OK, k);
        assert_true(records(&kinds[k]), k);
        execute(USER_CODE, 70, 700);
        assert_int_equal(check_record(&kinds[k], &host.session, USER_CODE, 70 + 510 / STEP), kinds[k].depth, k);
        upmu_sim_poke(&host.sim, 0, kinds[k].control, 0); /* other software resets what it should not */
        upmu_sim_poke(&host.sim, 0, DEBUGCTL, 0);
        assert_int_equal(upmu_cpu_changed(&host.cpu[0]), UPMU_OK, k);
        assert_true(records(&kinds[k]), k);
        execute(USER_CODE, 170, 1050);
        assert_int_equal(check_record(&kinds[k], &host.session, USER_CODE,
                                      170 + (1000 - (unsigned)(host_value(&host.session, 0) - 1050) % 1000) / STEP),
                         kinds[k].depth, k);
        finish(&kinds[k]);
    }
}

/* Each access faults once: nothing records at the end, and no register of another is changed. */
static void a_fault_leaves_nothing_recording(void **state)
{
    static const unsigned of[] = {3, 9, 17};

    (void)state;
    for (unsigned k = 0; k < sizeof of / sizeof of[0]; k++)
        for (uint32_t at = 1; at < 400; at++) {
            const struct cpu_kind *kind = &kinds[of[k]];
            const struct upmu_branch_filter all = {.record = 0};
            const struct upmu_sampling sampling = {.period = 1000};
            uint32_t last;

            prepare(kind->profile);
            host.sim.expect_faults = true;
            host.sim.fault_at = host.sim.accesses + at;
            last = host.sim.accesses + at;
            (void)!upmu_cpu_use_branches(&host.cpu[0], &all, NULL);
            (void)!upmu_set_add(&host.session.set, "instructions", &sampling);
            (void)!upmu_session_ring(&host.session, rings[0], sizeof rings[0]);
            (void)!upmu_session_branches(&host.session, UPMU_BRANCH_USER);
            (void)!upmu_session_attach_cpu(&host.session, &host.cpu[0]);
            (void)!upmu_session_start(&host.session);
            execute(USER_CODE, 0, 2500);
            (void)!upmu_session_stop(&host.session);
            (void)!upmu_cpu_use_branches(&host.cpu[0], NULL, NULL);
            if (host.sim.accesses < last)
                at = 400;
            host.sim.fault_at = 0;
            (void)!upmu_cpu_fini(&host.cpu[0]);
            assert_false(records(kind), k, at);
            host_no_violation(&host);
        }
}

/* ---- Others that use the stack ---- */

static void a_guest_is_not_recorded(void **state)
{
    static const unsigned of[] = {6, 9, 13, 17};

    (void)state;
    for (unsigned k = 0; k < sizeof of / sizeof of[0]; k++) {
        set_up(kinds[of[k]].profile);
        add(0, "instructions", 1000, UPMU_BRANCH_USER);
        begin(0);
        execute(USER_CODE, 0, 980);
        assert_int_equal(upmu_cpu_enter_guest(&host.cpu[0]), UPMU_OK, k);
        assert_false(records(&kinds[of[k]]), k);
        execute(USER_CODE, 900, 700);
        assert_int_equal(upmu_cpu_leave_guest(&host.cpu[0]), UPMU_OK, k);
        assert_true(records(&kinds[of[k]]), k);
        execute(USER_CODE, 140, 70);
        assert_int_equal(check_record(&kinds[of[k]], &host.session, USER_CODE, 142), kinds[of[k]].depth, k);
        finish(&kinds[of[k]]);
    }
}

/* A panic handler reads the stack of sessions at any moment; a frozen stack is in no sample. */
static void the_host_reads_the_stack_of_sessions(void **state)
{
    (void)state;
    for (unsigned k = 0; k < CPU_KINDS; k++) {
        struct upmu_branch newest[UPMU_BRANCHES_MOST];
        struct upmu_record record;
        unsigned count;

        set_up(kinds[k].profile);
        assert_int_equal(read_newest(newest, &count), UPMU_ERR_STATE);
        add(0, "instructions", 1000, UPMU_BRANCH_USER);
        begin(0);
        host.sim.rule[UPMU_SIM_RULE_LBR_HOOKS] = 0;
        execute(USER_CODE, 0, 700);
        assert_int_equal(read_newest(newest, &count), UPMU_OK);
        assert_int_equal(count, kinds[k].depth, k);
        for (unsigned i = 0; i < count; i++)
            check_branch(&kinds[k], &newest[i], USER_CODE, 99 - i);
        assert_true(records(&kinds[k]), k);
        upmu_sim_irqs(&host.sim, false);
        assert_int_equal(upmu_branches_freeze(&host.cpu[0]), UPMU_OK);
        upmu_sim_irqs(&host.sim, true);
        execute(USER_CODE, 100, 700);
        assert_false(records(&kinds[k]), k);
        assert_true(upmu_ring_view(&host.session.ring, &record));
        assert_int_equal(record.parts, 0, k);
        upmu_ring_drop(&host.session.ring);
        upmu_sim_irqs(&host.sim, false);
        assert_int_equal(upmu_branches_resume(&host.cpu[0]), UPMU_OK);
        upmu_sim_irqs(&host.sim, true);
        assert_true(records(&kinds[k]), k);
        execute(USER_CODE, 200, 700);
        assert_int_equal(check_record(&kinds[k], &host.session, USER_CODE, 200 + 600 / STEP), kinds[k].depth, k);
        finish(&kinds[k]);
    }
}

static void an_emergency_ends_the_recording(void **state)
{
    (void)state;
    for (unsigned k = 0; k < CPU_KINDS; k++) {
        set_up(kinds[k].profile);
        add(0, "instructions", 1000, UPMU_BRANCH_USER);
        begin(0);
        upmu_records_emergency(&host.cpu[0]);
        assert_false(records(&kinds[k]), k);
        execute(USER_CODE, 0, 1500); /* a last interrupt */
        assert_false(records(&kinds[k]), k);
    }
}

/* ---- What ends, or comes between ---- */

/* Interrupts of a session that wants no branches set the status bit that freezes the stack; the host then starts it. */
static void a_stack_that_is_taken_back_is_not_frozen(void **state)
{
    const struct upmu_branch_filter all = {.record = 0};

    (void)state;
    for (unsigned k = 0; k < CPU_KINDS; k++) {
        struct upmu_branch newest[UPMU_BRANCHES_MOST];
        unsigned count;

        set_up(kinds[k].profile);
        add(0, "instructions", 1000, 0);
        begin(0);
        execute(USER_CODE, 0, 1500);
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        assert_int_equal(upmu_cpu_use_branches(&host.cpu[0], NULL, NULL), UPMU_OK);
        host.sim.rule[UPMU_SIM_RULE_LBR_HOOKS] = 0;
        assert_int_equal(upmu_branches_start(&host.cpu[0], &all, NULL), UPMU_OK, k);
        execute(USER_CODE, 0, 700);
        assert_int_equal(read_newest(newest, &count), UPMU_OK);
        assert_int_equal(count, kinds[k].depth, k);
        check_branch(&kinds[k], &newest[0], USER_CODE, 99);
        assert_int_equal(upmu_branches_stop(&host.cpu[0]), UPMU_OK);
        finish(&kinds[k]);
    }
}

static uint32_t accesses_left; /* until the moment of a hook */

/* At a moment of a read: an overflow, whose handler masks the session. */
static void overflow_later(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind,
                           uint32_t address)
{
    (void)cpu, (void)number, (void)kind, (void)address;
    if (--accesses_left)
        return;
    sim->before_access = NULL;
    upmu_sim_events(sim, &(struct upmu_sim_burst){.instructions = 30, .ip = KERNEL_CODE, .ip_step = 1});
}

static unsigned mask_always(void *context, const struct upmu_overflow *overflow, bool notify)
{
    (void)context, (void)overflow, (void)notify;
    return UPMU_OVERFLOW_MASK;
}

/* The last session stops in a handler, anywhere in a read of the host: the read does not let the stack go on. */
static void a_read_does_not_restart_what_has_stopped(void **state)
{
    static const struct upmu_format format = {.name = "mask", .overflow = mask_always};
    static const unsigned of[] = {0, 6, 9, 13, 17};

    (void)state;
    for (unsigned k = 0; k < sizeof of / sizeof of[0]; k++)
        for (uint32_t at = 1, last = 0; !last; at++) {
            const struct cpu_kind *kind = &kinds[of[k]];
            struct upmu_branch newest[UPMU_BRANCHES_MOST];
            unsigned count;

            set_up(kind->profile);
            add(0, "instructions", 1000, MODES);
            assert_int_equal(upmu_session_format(&host.session, &format, NULL, 0), UPMU_OK);
            begin(0);
            execute(KERNEL_CODE, 0, 980);
            accesses_left = at;
            host.sim.before_access = overflow_later;
            assert_int_equal(read_newest(newest, &count), UPMU_OK, k, at);
            last = host.sim.before_access != NULL;
            host.sim.before_access = NULL;
            assert_int_equal(host.session.state == UPMU_SESSION_MASKED, !last, k, at);
            assert_int_equal(records(kind), last, k, at);
            finish(kind);
        }
}

/* Each access of upmu_cpu_changed() faults once.  A session whose branches are gone says so. */
static void a_change_that_loses_the_stack_is_an_error(void **state)
{
    static const unsigned of[] = {6, 9, 13, 17};
    unsigned lost = 0;

    (void)state;
    for (unsigned k = 0; k < sizeof of / sizeof of[0]; k++)
        for (uint32_t at = 1, last = 0; !last; at++) {
            enum upmu_status status;

            set_up(kinds[of[k]].profile);
            add(0, "instructions", 1000, UPMU_BRANCH_USER);
            begin(0);
            host.sim.expect_faults = true;
            host.sim.fault_at = host.sim.accesses + at;
            status = upmu_cpu_changed(&host.cpu[0]);
            last = host.sim.accesses < host.sim.fault_at;
            host.sim.fault_at = 0;
            if (!host.cpu[0].meter.takes_branches) {
                lost++;
                assert_int_equal(status, UPMU_ERR_PORT, k, at);
                assert_int_equal(host.session.state, UPMU_SESSION_STOPPED, k, at);
                assert_int_equal(host.session.error, UPMU_ERR_HOOK_MISSING, k, at);
                assert_string_equal(host.session.why.word, "upmu_cpu_use_branches");
            }
            finish(&kinds[of[k]]);
        }
    assert_compare(lost, >, 20);
}

static void freeze(bool frozen)
{
    upmu_sim_irqs(&host.sim, false);
    assert_int_equal(frozen ? upmu_branches_freeze(&host.cpu[0]) : upmu_branches_resume(&host.cpu[0]), UPMU_OK);
    upmu_sim_irqs(&host.sim, true);
}

static void check_frozen(const struct cpu_kind *kind, unsigned moment)
{
    struct upmu_branch newest[UPMU_BRANCHES_MOST];
    unsigned count;

    assert_false(records(kind), moment);
    assert_int_equal(read_newest(newest, &count), UPMU_OK, moment);
    assert_int_equal(count, kind->depth, moment);
    check_branch(kind, &newest[0], USER_CODE, 99);
    assert_false(records(kind), moment);
}

/* What the host has frozen stays as it is, whatever sessions and threads do; then the stack records what is wanted. */
static void a_frozen_stack_stays_as_it_is(void **state)
{
    (void)state;
    for (unsigned k = 0; k < CPU_KINDS; k++)
        for (unsigned turn = 0; turn < 3; turn++) {
            const struct cpu_kind *kind = &kinds[k];

            set_up(kind->profile);
            host_threads(&host, 3);
            add(0, "instructions", 1000, UPMU_BRANCH_USER);
            add(1, "instructions", 1000, UPMU_BRANCH_KERNEL);
            begin(0);
            host.sim.rule[UPMU_SIM_RULE_LBR_HOOKS] = 0;
            execute(USER_CODE, 0, 700);
            freeze(true);
            host.sim.rule[UPMU_SIM_RULE_LBR_HOOKS] = 1;
            host_thread_switch(&host, 0, 0);
            check_frozen(kind, 0);
            execute(USER_CODE, 300, 700);
            check_frozen(kind, 1);
            assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
            check_frozen(kind, 2);
            if (turn == 2) { /* nothing records: the freeze ends all the same */
                assert_int_equal(upmu_branches_resume(&host.cpu[0]), UPMU_ERR_STATE, k);
                assert_false(records(kind), k);
            }
            if (turn == 1)
                begin(1);
            else
                assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
            if (turn < 2) {
                check_frozen(kind, 3);
                freeze(false);
            }
            assert_true(records(kind), k, turn);
            upmu_ring_drop(&host.session.ring);
            execute(turn == 1 ? KERNEL_CODE : USER_CODE, 400, turn == 1 ? 1005 : 605);
            assert_int_equal(check_record(kind, &host.sessions[turn == 1], turn == 1 ? KERNEL_CODE : USER_CODE,
                                          400 + (turn == 1 ? 1000 : 600) / STEP), kind->depth, k, turn);
            finish(kind);
        }
}

/* The resume comes in an NMI, in a read of the frozen stack: that lets it record, and not before its end. */
static void resume_later(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind,
                         uint32_t address)
{
    (void)cpu, (void)number, (void)kind, (void)address;
    if (--accesses_left)
        return;
    sim->before_access = NULL;
    assert_int_equal(upmu_branches_resume(&host.cpu[0]), UPMU_OK);
    assert_false(records(SKYLAKE));
}

static void a_resume_within_a_read_waits_for_its_end(void **state)
{
    (void)state;
    for (uint32_t at = 1; at < 90; at++) {
        struct upmu_branch newest[UPMU_BRANCHES_MOST];
        unsigned count;

        set_up("skylake");
        host_threads(&host, 3);
        add(0, "instructions", 1000, UPMU_BRANCH_USER);
        begin(0);
        execute(USER_CODE, 0, 700);
        freeze(true);
        host_thread_switch(&host, 0, 0);
        accesses_left = at;
        host.sim.before_access = resume_later;
        assert_int_equal(read_newest(newest, &count), UPMU_OK);
        assert_true(records(SKYLAKE), at);
        finish(SKYLAKE);
    }
}

/*
 * The interrupt of an overflow is dropped: the hardware has frozen the stack, and no handler comes.  A poll, or the
 * stop of a session that has overflowed, lets the stack record again.
 */
static void a_dropped_interrupt_leaves_the_stack_recording(void **state)
{
    (void)state;
    for (unsigned k = 0; k < CPU_KINDS; k++)
        for (unsigned turn = 0; turn < 2; turn++) {
            set_up(kinds[k].profile);
            add(0, "instructions", 2000, UPMU_BRANCH_USER);
            host_add(&host, 1, "cycles", 1400);
            if (turn) /* its overflow comes before that of the session with branches */
                begin(1);
            begin(0);
            host.sim.cpu[0].lvtpc |= UPMU_SIM_LVTPC_MASKED;
            execute(USER_CODE, 0, turn ? 800 : 2005);
            host.sim.cpu[0].lvtpc &= ~UPMU_SIM_LVTPC_MASKED;
            if (turn)
                assert_int_equal(upmu_session_stop(&host.other), UPMU_OK, k);
            else
                assert_int_equal(upmu_cpu_poll(&host.cpu[0]), UPMU_OK, k);
            assert_true(records(&kinds[k]), k, turn);
            for (struct upmu_record record; upmu_ring_view(&host.session.ring, &record);) {
                assert_int_equal(record.parts & UPMU_PART_BRANCHES, 0, k, turn);
                upmu_ring_drop(&host.session.ring);
            }
            execute(USER_CODE, 300, turn ? 1205 : 2000);
            assert_int_equal(check_record(&kinds[k], &host.session, USER_CODE, 300 + (turn ? 1200 : 1995) / STEP),
                             kinds[k].depth, k, turn);
            finish(&kinds[k]);
        }
}

/*
 * Another session has started while the stack was frozen.  It is masked in an interrupt at each access of the resume,
 * which has to clear the stack: nothing records for it, and the stack can be taken back.
 */
static void a_resume_does_not_record_for_an_ended_session(void **state)
{
    static const struct upmu_format format = {.name = "mask", .overflow = mask_always};

    (void)state;
    for (unsigned k = 0; k < CPU_KINDS; k++)
        for (uint32_t at = 1, last = 0; !last; at++) {
            set_up(kinds[k].profile);
            add(0, "instructions", 1000, UPMU_BRANCH_USER);
            add(1, "instructions", 1000, UPMU_BRANCH_KERNEL);
            assert_int_equal(upmu_session_format(&host.other, &format, NULL, 0), UPMU_OK);
            begin(0);
            freeze(true);
            assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
            begin(1);
            execute(KERNEL_CODE, 0, 980);
            accesses_left = at;
            host.sim.before_access = overflow_later;
            upmu_sim_irqs(&host.sim, false);
            (void)!upmu_branches_resume(&host.cpu[0]);
            upmu_sim_irqs(&host.sim, true);
            last = host.sim.before_access != NULL;
            host.sim.before_access = NULL;
            assert_int_equal(host.other.state == UPMU_SESSION_MASKED, !last, k, at);
            assert_int_equal(records(&kinds[k]), last, k, at);
            if (last)
                assert_int_equal(upmu_session_stop(&host.other), UPMU_OK, k);
            assert_int_equal(upmu_cpu_use_branches(&host.cpu[0], NULL, NULL), UPMU_OK, k, at);
            finish(&kinds[k]);
        }
}

/*
 * An interrupt at each access of a resume that has to clear the stack: the set that comes after the overflow has no
 * place yet.  A tick was not asked for, so the session waited for the next call on the CPU.
 */
static void a_set_due_in_a_resume_asks_for_a_tick(void **state)
{
    const struct upmu_sampling once = {.period = 1000, .switch_after = 1};
    struct upmu_session *other = &host.other;
    unsigned asked = 0;

    (void)state;
    for (unsigned k = 0; k < CPU_KINDS; k++)
        for (uint32_t at = 1, last = 0; !last; at++) {
            set_up(kinds[k].profile);
            host.sim.port.request_tick = host_ask_tick;
            add(0, "instructions", 1000, UPMU_BRANCH_USER);
            assert_int_equal(upmu_session_branches(other, UPMU_BRANCH_KERNEL), UPMU_OK);
            assert_int_equal(upmu_session_ring(other, rings[1], sizeof rings[1]), UPMU_OK);
            for (unsigned i = 0; i < 2; i++) {
                struct upmu_set *set = i ? &host.sets[1] : &other->set;

                assert_int_equal(upmu_session_add_set(other, i ? set : NULL, (uint16_t)i, UPMU_SET_OVERFLOW_SWITCH, 0),
                                 UPMU_OK);
                assert_int_equal(upmu_set_add(set, i ? "instructions:u" : "instructions", &once), UPMU_OK);
            }
            begin(0);
            freeze(true);
            assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
            begin(1);
            execute(KERNEL_CODE, 0, 980);
            accesses_left = at;
            host.sim.before_access = overflow_later;
            upmu_sim_irqs(&host.sim, false);
            (void)!upmu_branches_resume(&host.cpu[0]);
            upmu_sim_irqs(&host.sim, true);
            last = host.sim.before_access != NULL;
            host.sim.before_access = NULL;
            assert_int_equal(other->state == UPMU_SESSION_WAITING, !last, k, at);
            assert_int_equal(host.ticks_asked, !last, k, at);
            asked += host.ticks_asked;
            assert_int_equal(upmu_session_stop(other), UPMU_OK, k);
            assert_int_equal(upmu_cpu_use_branches(&host.cpu[0], NULL, NULL), UPMU_OK, k, at);
            finish(&kinds[k]);
        }
    assert_compare(asked, >, CPU_KINDS);
}

/* ---- Anything, and NMIs at any moment ---- */

/* An NMI of the host's: what its handler does with the stack. */
enum nmi {
    NMI_FOREIGN,  /* it calls upmu_pmi_handle() */
    NMI_OVERFLOW, /* of the library: counters overflow */
    NMI_READ,     /* freeze, read, resume */
    NMI_RESUME,   /* a resume without a freeze */
    NMIS
};

static enum nmi nmi;

static void nmi_later(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind, uint32_t address)
{
    struct upmu_branch newest[UPMU_BRANCHES_MOST];
    struct upmu_test_state before, after;
    unsigned count;

    (void)cpu, (void)number, (void)kind, (void)address;
    if (--accesses_left)
        return;
    sim->before_access = NULL;
    upmu_test_state(&host.cpu[0], &before);
    if (nmi == NMI_FOREIGN) {
        upmu_sim_foreign_nmi(sim);
    } else if (nmi == NMI_OVERFLOW) {
        upmu_sim_events(sim, &(struct upmu_sim_burst){.instructions = 1500, .ip = KERNEL_CODE, .ip_step = 1});
    } else {
        if (nmi == NMI_READ && upmu_branches_freeze(&host.cpu[0]) == UPMU_OK)
            (void)!upmu_branches_read(&host.cpu[0], newest, UPMU_BRANCHES_MOST, &count);
        (void)!upmu_branches_resume(&host.cpu[0]);
    }
    upmu_test_state(&host.cpu[0], &after);
    assert_int_equal(after.busy, before.busy);
}

/* A freeze, and an NMI at each of its accesses that freezes, reads and resumes: the stack is frozen afterwards. */
static void a_freeze_holds_though_an_nmi_resumes(void **state)
{
    (void)state;
    for (unsigned k = 0; k < CPU_KINDS; k++)
        for (uint32_t at = 1, last = 0; !last; at++) {
            set_up(kinds[k].profile);
            add(0, "instructions", 1000, UPMU_BRANCH_USER);
            begin(0);
            nmi = NMI_READ;
            accesses_left = at;
            host.sim.before_access = nmi_later;
            freeze(true);
            last = host.sim.before_access != NULL;
            host.sim.before_access = NULL;
            assert_false(records(&kinds[k]), k, at);
            execute(USER_CODE, 0, 1500);
            assert_false(records(&kinds[k]), k, at);
            freeze(false);
            assert_true(records(&kinds[k]), k, at);
            finish(&kinds[k]);
        }
}

/* The entries are cleared: nothing is left of a freeze. */
static void a_change_ends_a_freeze(void **state)
{
    (void)state;
    for (unsigned k = 0; k < CPU_KINDS; k++) {
        set_up(kinds[k].profile);
        add(0, "instructions", 1000, UPMU_BRANCH_USER);
        begin(0);
        freeze(true);
        assert_int_equal(upmu_cpu_changed(&host.cpu[0]), UPMU_OK, k);
        assert_true(records(&kinds[k]), k);
        execute(USER_CODE, 0, 1005);
        assert_int_equal(check_record(&kinds[k], &host.session, USER_CODE, 1000 / STEP), kinds[k].depth, k);
        finish(&kinds[k]);
    }
}

static void resume_and_overflow(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind,
                                uint32_t address)
{
    (void)cpu, (void)number, (void)kind, (void)address;
    sim->before_access = NULL;
    assert_int_equal(upmu_branches_resume(&host.cpu[0]), UPMU_OK);
    upmu_sim_events(sim, &(struct upmu_sim_burst){.instructions = 30, .ip = KERNEL_CODE, .ip_step = 1});
}

/* An NMI in a call resumes a stack that has to be cleared, and an overflow follows: its sample has no branches. */
static void a_stack_that_is_to_be_cleared_is_in_no_sample(void **state)
{
    (void)state;
    for (unsigned k = 0; k < CPU_KINDS; k++) {
        struct upmu_record record;
        uint64_t left;

        set_up(kinds[k].profile);
        add(0, "instructions", 1000, UPMU_BRANCH_USER);
        add(1, "instructions", 1000, MODES);
        begin(0);
        execute(USER_CODE, 0, 500);
        freeze(true);
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        begin(1);
        execute(KERNEL_CODE, 0, 980);
        host.sim.before_access = resume_and_overflow;
        assert_int_equal(upmu_cpu_poll(&host.cpu[0]), UPMU_OK, k);
        assert_true(records(&kinds[k]), k);
        assert_true(upmu_ring_view(&host.other.ring, &record));
        assert_int_equal(record.parts & UPMU_PART_BRANCHES, 0, k);
        upmu_ring_drop(&host.other.ring);
        left = 1000 - host_value(&host.other, 0) % 1000;
        execute(KERNEL_CODE, 300, left);
        assert_int_equal(check_record(&kinds[k], &host.other, KERNEL_CODE, 300 + left / STEP), kinds[k].depth, k);
        finish(&kinds[k]);
    }
}

/* One of the calls of a host, on sessions 0 and 1 of the CPU, 2 and 3 of threads. */
static void any_call(unsigned what)
{
    struct upmu_branch newest[UPMU_BRANCHES_MOST];
    struct upmu_session *session = &host.sessions[draw(4)];
    unsigned count;

    if (what < 3)
        (void)!upmu_session_start(session);
    else if (what < 5)
        (void)!upmu_session_stop(session);
    else if (what < 8)
        host_thread_switch(&host, 0, (host.running[0] + 1 + draw(2)) % 3);
    else if (what == 8)
        assert_int_equal(upmu_cpu_tick(&host.cpu[0]), UPMU_OK);
    else if (what == 9)
        upmu_session_hide_kernel(session, draw(2));
    else if (what == 10)
        assert_int_equal(upmu_cpu_changed(&host.cpu[0]), UPMU_OK);
    else if (what == 11 && !draw(4))
        assert_int_equal(upmu_cpu_suspend(&host.cpu[0]) | upmu_cpu_resume(&host.cpu[0]), UPMU_OK);
    else if (what == 12 || what == 13)
        (void)!upmu_branches_freeze(&host.cpu[0]);
    else if (what == 14 || what == 15)
        (void)!upmu_branches_resume(&host.cpu[0]);
    else if (what == 16)
        (void)!upmu_branches_read(&host.cpu[0], newest, UPMU_BRANCHES_MOST, &count);
    else if (what == 17)
        assert_int_equal(upmu_cpu_poll(&host.cpu[0]), UPMU_OK);
}

/* The stack records exactly while it is not frozen and a session with branches runs, with the filter of that one. */
static void check_recording(const struct cpu_kind *kind, unsigned first_seed, unsigned step, unsigned what)
{
    bool wanted = false;

    for (unsigned i = 0; i < 4; i++)
        wanted |= host.sessions[i].state == UPMU_SESSION_RUNNING && !(i == 3 && host.sessions[i].began_hidden);
    if (records(kind) != (wanted && !host.cpu[0].branches.frozen) || wanted != !!host.cpu[0].meter.branches)
        fail_msg("%s, seed %u, step %u, call %u, NMI %d: %s", kind->profile, first_seed, step, what, (int)nmi,
                 records(kind) ? "the stack records" : "the stack is off");
    assert_null(upmu_test_left_over(&host.cpu[0]));
    assert_null(upmu_test_stranded(&host.cpu[0]));
}

static void any_calls(const struct cpu_kind *kind, uint32_t first_seed)
{
    static const uint32_t filters[] = {MODES, UPMU_BRANCH_USER, MODES, UPMU_BRANCH_KERNEL};

    seed = first_seed;
    set_up(kind->profile);
    host_threads(&host, 3);
    for (unsigned i = 0; i < 4; i++) {
        add(i, i & 1 ? "branches" : "instructions", 1000, filters[i]);
        if (draw(2))
            assert_int_equal(upmu_session_share(&host.sessions[i], true), UPMU_OK);
        if (draw(3) == 0)
            upmu_session_mask_on_full(&host.sessions[i], true);
        if (i < 2)
            assert_int_equal(upmu_session_attach_cpu(&host.sessions[i], &host.cpu[0]), UPMU_OK, i);
        else
            assert_int_equal(upmu_session_attach_thread(&host.sessions[i], &host.threads[i - 2], NULL), UPMU_OK, i);
    }
    for (unsigned step = 0; step < 60; step++) {
        unsigned what = draw(18);

        nmi = (enum nmi)draw(NMIS);
        accesses_left = 1 + draw(draw(2) ? 8 : 40);
        if (draw(3))
            host.sim.before_access = nmi_later;
        upmu_sim_irqs(&host.sim, false);
        any_call(what);
        upmu_sim_irqs(&host.sim, true);
        host.sim.before_access = NULL;
        host.sim.now_ns += 1000000;
        check_recording(kind, first_seed, step, what);
        execute(draw(2) ? USER_CODE : KERNEL_CODE, 0, draw(1500));
        check_recording(kind, first_seed, step, 99);
        for (unsigned i = 0; i < 4; i++)
            for (struct upmu_record record; upmu_ring_view(&host.sessions[i].ring, &record);)
                upmu_ring_drop(&host.sessions[i].ring);
    }
    for (unsigned i = 0; i < 4; i++)
        (void)!upmu_session_detach(&host.sessions[i]);
    (void)!upmu_branches_resume(&host.cpu[0]);
    assert_false(records(kind), first_seed);
    assert_int_equal(upmu_cpu_use_branches(&host.cpu[0], NULL, NULL), UPMU_OK, first_seed);
    finish(kind);
}

static void the_stack_records_for_running_sessions_alone(void **state)
{
    static const unsigned of[] = {0, 3, 6, 9, 13, 17};

    (void)state;
    for (unsigned k = 0; k < sizeof of / sizeof of[0]; k++)
        for (uint32_t first_seed = 1; first_seed <= 300; first_seed++)
            any_calls(&kinds[of[k]], first_seed);
}

/* ---- Formats, precise samples ---- */

static unsigned reported;

static unsigned note_branches(void *context, const struct upmu_overflow *overflow, bool notify)
{
    (void)context, (void)notify;
    reported++;
    assert_int_equal(overflow->branches, 32);
    for (unsigned i = 0; i < overflow->branches; i++)
        check_branch(SKYLAKE, &overflow->branch[i], USER_CODE, 1000 * reported / STEP - 1u - i);
    return 0;
}

static void a_format_of_the_host_gets_the_branches(void **state)
{
    static const struct upmu_format format = {.name = "branches", .overflow = note_branches};

    (void)state;
    reported = 0;
    set_up("skylake");
    add(0, "instructions", 1000, UPMU_BRANCH_USER);
    assert_int_equal(upmu_session_format(&host.session, &format, NULL, 0), UPMU_OK);
    begin(0);
    execute(USER_CODE, 0, 3500);
    assert_int_equal(reported, 3);
    finish(SKYLAKE);
}

static _Alignas(4096) uint8_t area[UPMU_RECORD_AREA_BYTES], buffer[UPMU_RECORD_LEAST_BYTES];
#define AREA UINT64_C(0xffffc90000010000)
#define BUFFER UINT64_C(0xffffc90000020000)

static bool memory(struct upmu_sim *sim, unsigned cpu, enum upmu_sim_memory_kind kind, uint64_t address, uint8_t *bytes,
                   uint32_t length)
{
    bool of_area = address - AREA <= sizeof area - length;
    uint8_t *at = of_area ? area + (address - AREA) : buffer + (address - BUFFER);

    (void)sim, (void)cpu;
    if (!of_area && address - BUFFER > sizeof buffer - length)
        return false;
    memcpy(kind & UPMU_SIM_MEMORY_WRITE ? at : bytes, kind & UPMU_SIM_MEMORY_WRITE ? bytes : at, length);
    return true;
}

/* Beside the other parts, and with a count behind them; the branches end where the record was stored. */
static void precise_samples_have_branches_too(void **state)
{
    static const struct {
        unsigned kind;
        const char *event;
    } rows[] = {{6, "MEM_UOPS_RETIRED.ALL_LOADS:pp"},
                {9, "MEM_INST_RETIRED.ALL_LOADS:pp"},
                {10, "MEM_INST_RETIRED.ALL_LOADS:pp"},
                {13, "MEM_INST_RETIRED.ALL_LOADS:pp"}};
    const struct upmu_record_memory given = {area, AREA, buffer, BUFFER, sizeof buffer, 0};

    (void)state;
    for (unsigned r = 0; r < sizeof rows / sizeof rows[0]; r++)
        for (unsigned turn = 0; turn < 2; turn++) {
            const struct cpu_kind *kind = &kinds[rows[r].kind];
            const unsigned parts = turn ? UPMU_PART_ADDRESS | UPMU_PART_REGISTERS : 0;
            const struct upmu_sampling sampling = {.period = 1000, .values = 1, .flags = UPMU_SAMPLING_PARTS(parts)};
            struct upmu_record record;

            prepare(kind->profile);
            host.sim.memory = memory;
            assert_int_equal(upmu_cpu_use_records(&host.cpu[0], &given, NULL), UPMU_OK);
            lend(0);
            assert_int_equal(upmu_set_add(&host.session.set, rows[r].event, &sampling), UPMU_OK);
            assert_int_equal(upmu_session_ring(&host.session, rings[0], sizeof rings[0]), UPMU_OK);
            assert_int_equal(upmu_session_branches(&host.session, UPMU_BRANCH_USER), UPMU_OK);
            begin(0);
            execute(USER_CODE, 0, 2500);
            for (unsigned sample = 1; sample <= 2; sample++) {
                assert_true(upmu_ring_view(&host.session.ring, &record));
                assert_int_equal(record.parts, parts | UPMU_PART_BRANCHES, r, turn);
                assert_int_equal(record.sample->flags & UPMU_SAMPLE_PRECISE, UPMU_SAMPLE_PRECISE, r);
                assert_int_equal(record.branches, kind->depth, r, turn);
                assert_compare(record.value[0] - 1000 * sample, <=, 1, r, turn);
                for (unsigned i = 0; i < record.branches; i++)
                    check_branch(kind, &record.branch[i], USER_CODE,
                                 (record.sample->ip - USER_CODE + 1) / STEP - 1u - i);
                if (turn)
                    assert_int_equal(record.registers[6], USER_CODE + 0x100000, r);
                upmu_ring_drop(&host.session.ring);
            }
            finish(kind);
        }
}

/* ---- Costs ---- */

static void count_accesses(unsigned out[2])
{
    out[0] = host.sim.access_count[UPMU_SIM_WRMSR];
    out[1] = host.sim.access_count[UPMU_SIM_RDMSR];
    host_forget_cost(&host);
}

/* Of a start, a sample and a stop, of a session that has run before. */
static void measure(const struct cpu_kind *kind, uint32_t record, unsigned out[3][2])
{
    set_up(kind->profile);
    add(0, "instructions", 1000, record);
    begin(0);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    host_forget_cost(&host);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    count_accesses(out[0]);
    execute(USER_CODE, 0, 990);
    host_forget_cost(&host);
    execute(USER_CODE, 200, 20);
    count_accesses(out[1]);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    count_accesses(out[2]);
    finish(kind);
}

/* docs/BRANCHES.md has the numbers: writes and reads that branches add to a start, a sample and a stop. */
static void branches_cost_what_the_page_says(void **state)
{
    static const struct {
        unsigned kind, more[3][2];
    } rows[] = {{6, {{16 + 1, 1}, {1, 2 * 16 + 3}, {1, 1}}},
                {9, {{32 + 2, 1}, {1, 3 * 32 + 1}, {1, 1}}},
                {13, {{3, 0}, {1, 3 * 32}, {1, 0}}},
                {17, {{16 + 2, 1}, {1, 2 * 16}, {1, 1}}}};

    (void)state;
    for (unsigned r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        unsigned without[3][2], with[3][2];

        measure(&kinds[rows[r].kind], 0, without);
        measure(&kinds[rows[r].kind], UPMU_BRANCH_USER, with);
        for (unsigned i = 0; i < 3; i++)
            for (unsigned way = 0; way < 2; way++)
                assert_int_equal(with[i][way] - without[i][way], rows[r].more[i][way], r, i, way);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_sample_has_the_branches_before_its_overflow),
        cmocka_unit_test(a_sample_has_branches_of_its_thread_alone),
        cmocka_unit_test(a_switch_loses_the_branches_of_an_interrupt_before),
        cmocka_unit_test(a_stack_that_has_recorded_since_gives_no_branches),
        cmocka_unit_test(a_foreign_nmi_leaves_the_stack_recording),
        cmocka_unit_test(without_a_freeze_the_handler_stops_the_stack),
        cmocka_unit_test(a_thread_waits_while_another_filter_is_in_use),
        cmocka_unit_test(a_place_beside_a_filter_is_asked_anew),
        cmocka_unit_test(same_filter_or_one_after_the_other),
        cmocka_unit_test(sharing_sessions_with_two_filters_take_turns),
        cmocka_unit_test(a_wait_for_another_filter_takes_no_turn_of_others),
        cmocka_unit_test(two_filters_and_others_leave_no_counter_idle),
        cmocka_unit_test(a_session_that_only_counts_has_no_filter),
        cmocka_unit_test(a_filter_changes_at_a_start_alone),
        cmocka_unit_test(a_refusal_ends_with_the_filter_beside_which_it_was),
        cmocka_unit_test(a_program_gets_no_branch_of_the_kernel),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(a_cpu_without_its_stack_runs_no_such_session),
        cmocka_unit_test(a_session_whose_branches_are_all_hidden_needs_no_stack),
        cmocka_unit_test(a_wait_without_a_stack_takes_no_turn_of_others),
        cmocka_unit_test(registers_are_as_they_were_found),
        cmocka_unit_test(branches_go_on_after_a_sleep_and_a_change),
        cmocka_unit_test(a_fault_leaves_nothing_recording),
        cmocka_unit_test(a_guest_is_not_recorded),
        cmocka_unit_test(the_host_reads_the_stack_of_sessions),
        cmocka_unit_test(an_emergency_ends_the_recording),
        cmocka_unit_test(a_stack_that_is_taken_back_is_not_frozen),
        cmocka_unit_test(a_read_does_not_restart_what_has_stopped),
        cmocka_unit_test(a_change_that_loses_the_stack_is_an_error),
        cmocka_unit_test(a_frozen_stack_stays_as_it_is),
        cmocka_unit_test(a_resume_within_a_read_waits_for_its_end),
        cmocka_unit_test(a_dropped_interrupt_leaves_the_stack_recording),
        cmocka_unit_test(a_resume_does_not_record_for_an_ended_session),
        cmocka_unit_test(a_set_due_in_a_resume_asks_for_a_tick),
        cmocka_unit_test(a_freeze_holds_though_an_nmi_resumes),
        cmocka_unit_test(a_change_ends_a_freeze),
        cmocka_unit_test(a_stack_that_is_to_be_cleared_is_in_no_sample),
        cmocka_unit_test(the_stack_records_for_running_sessions_alone),
        cmocka_unit_test(a_format_of_the_host_gets_the_branches),
        cmocka_unit_test(precise_samples_have_branches_too),
        cmocka_unit_test(branches_cost_what_the_page_says),
    };

    return cmocka_run_group_tests_name("branches in samples", tests, NULL, NULL);
}
