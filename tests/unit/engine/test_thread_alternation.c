/* SPDX-License-Identifier: MIT */
/*
 * Two threads alternate 100,000 times, four event sets each, sampling; in switch k an
 * overflow comes at access k mod m.  What ran while a thread ran is that thread's,
 * exactly; what ran inside a switch is in one of the counts or in none, never in both, and a
 * session of the CPU has it all.
 */
#include <upmu/session.h>
#include <upmu/set.h>
#include "models/sim/sim_intern.h"
#include "models/sim/sim_p4.h"
#include "tests/common/host.h"
#include "tests/common/share.h"

#define SETS 4
#define PERIOD 500u
#define BRANCH_RETIRED 0x06u /* of an ESCR */
#define INSIDE 700u          /* branches of a burst inside a switch: more than a period */

struct fixture {
    struct host host; /* of the first two sessions each follows a thread, the third is the CPU's */
    struct upmu_set set[2][SETS - 1];
    uint64_t ring[2][2048];
    unsigned samples[2];
    unsigned at, accesses; /* in the switch under way */
    bool switching, injected;
    bool spare; /* a session of the CPU has room beside those of the threads, and is never stopped */
    unsigned injections, whole, none;
    uint64_t truth; /* branches of the last injection that a counter counted */
};

static void burst(struct fixture *f, uint64_t branches)
{
    upmu_sim_events(&f->host.sim, &(struct upmu_sim_burst){.instructions = 5 * branches,
                                                      .cycles = 10 * branches,
                                                      .ref_cycles = 10 * branches,
                                                      .branches = branches,
                                                      .llc_references = branches / 10,
                                                      .llc_misses = branches / 50,
                                                      .bus_cycles = branches,
                                                      .ip = 0x1000,
                                                      .ip_step = 1});
}

/* Does a counter of the model look at branches, running or not? */
static bool looks_at_branches(struct fixture *f, unsigned i)
{
    const struct upmu_sim_cpu *cpu = &f->host.sim.cpu[0];

    if (f->host.sim.profile->flags & UPMU_SIM_P4) {
        uint32_t address = i < UPMU_SIM_P4_COUNTERS ? upmu_sim_p4_wired(&f->host.sim, i, cpu->p4.cccr[i]) : 0;

        return (address & ~1u) == P4_CRU2 && P4_ESCR_EVENT(upmu_sim_peek(&f->host.sim, 0, address)) == BRANCH_RETIRED;
    }
    return i < f->host.sim.profile->general &&
           (cpu->select[i] & 0xffffu) == (f->host.sim.profile->amd ? 0x00c2u : 0x00c4u);
}

/* A burst, and how many of its branches counters of the model counted that look at branches before or after. */
static uint64_t burst_seen(struct fixture *f, uint64_t branches)
{
    const struct upmu_sim_counter *counter = f->host.sim.cpu[0].counter;
    uint64_t before[UPMU_SIM_COUNTERS], seen = 0;
    uint32_t looking = 0;

    for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++) {
        before[i] = counter[i].counted;
        looking |= (uint32_t)looks_at_branches(f, i) << i;
    }
    burst(f, branches);
    for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++)
        if (looking >> i & 1u || looks_at_branches(f, i))
            seen += counter[i].counted - before[i];
    return seen;
}

static void inject(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind, uint32_t address)
{
    struct fixture *f = sim->test;

    (void)cpu;
    (void)number;
    (void)kind;
    (void)address;
    if (!f->switching || f->injected || f->accesses++ != f->at)
        return;
    f->injected = true;
    f->injections++;
    f->truth = burst_seen(f, INSIDE);
    f->whole += f->truth == INSIDE;
    f->none += f->truth == 0;
}

/* Branches that a session's sets have counted, running or not. */
static uint64_t counted(struct fixture *f, unsigned i)
{
    uint64_t sum = 0;

    for (struct upmu_set *set = f->host.sessions[i].sets; set; set = set->next) {
        struct upmu_count count;

        assert_int_equal(upmu_set_read(set, 0, 1, &count), UPMU_OK);
        sum += count.raw;
    }
    return sum;
}

static void take_samples(struct fixture *f, unsigned i)
{
    struct upmu_sample sample;

    while (upmu_ring_next(&f->host.sessions[i].ring, &sample))
        f->samples[i] += 1 + sample.lost;
}

static void prepare(struct fixture *f, unsigned i)
{
    static const char *const lists[2] = {"branches,cache-references", "branches,cache-misses"};
    struct upmu_sampling sampling = {.period = PERIOD};
    struct upmu_session *session = &f->host.sessions[i];

    assert_int_equal(upmu_session_ring(session, f->ring[i], sizeof f->ring[i]), UPMU_OK, i);
    for (uint16_t k = 0; k < SETS; k++) {
        struct upmu_set *set = k ? &f->set[i][k - 1] : &session->set;
        const char *list = lists[(k + i) & 1u];

        assert_int_equal(upmu_session_add_set(session, set, k, UPMU_SET_TIME_SWITCH, 20000), UPMU_OK, k);
        /* Not every set samples: some switches leave a counter running. */
        assert_int_equal(upmu_set_add(set, "branches", k & 1u ? &sampling : NULL), UPMU_OK, k);
        assert_int_equal(upmu_set_add(set, strchr(list, ',') + 1, NULL), UPMU_OK);
    }
    assert_int_equal(upmu_session_attach_thread(session, &f->host.threads[i], NULL), UPMU_OK, i);
    assert_int_equal(upmu_session_start(session), UPMU_OK);
}

static void set_up(struct fixture *f, const char *profile, bool spare)
{
    memset(f, 0, sizeof *f);
    f->spare = spare;
    host_prepare(&f->host, profile);
    f->host.sim.before_access = inject;
    host_start(&f->host);
    host_threads(&f->host, 2);
    for (unsigned i = 0; i < 2; i++)
        prepare(f, i);
    if (!f->spare)
        return;
    assert_int_equal(upmu_set_add(&f->host.sessions[2].set, "instructions", NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(&f->host.sessions[2], &f->host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_start(&f->host.sessions[2]), UPMU_OK);
}

static void tear_down(struct fixture *f)
{
    f->host.sim.before_access = NULL;
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(upmu_thread_exit(&f->host.threads[i]), UPMU_OK, i);
    host_end(&f->host);
}

static void alternate(const char *profile, unsigned switches, unsigned modulus, bool spare)
{
    struct fixture f;
    uint64_t total[2] = {0, 0}, inside[2] = {0, 0}, all = 0, random = 1;
    struct upmu_count count;

    set_up(&f, profile, spare);
    for (unsigned k = 0; k < switches; k++) {
        unsigned next = k & 1u;
        uint64_t before[2], after[2], branches;

        for (unsigned i = 0; i < 2; i++)
            before[i] = counted(&f, i);
        f.at = k % modulus;
        f.accesses = 0;
        f.injected = false;
        f.truth = 0;
        f.switching = true;
        assert_int_equal(upmu_thread_switch(&f.host.cpu[0], &f.host.threads[!next], &f.host.threads[next]), UPMU_OK,
                         next);
        f.switching = false;
        for (unsigned i = 0; i < 2; i++) {
            after[i] = counted(&f, i);
            inside[i] += after[i] - before[i];
        }
        branches = after[0] - before[0] + after[1] - before[1];
        if (branches != f.truth)
            fail_msg("%s, switch %u: %u of %u branches inside it were counted", profile, k, (unsigned)branches,
                     (unsigned)f.truth);
        assert_int_equal(f.host.sessions[next].state, UPMU_SESSION_RUNNING, next);
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        branches = 50 + (random >> 33) % 1500;
        burst(&f, branches);
        total[next] += branches;
        all += branches + (f.injected ? INSIDE : 0);
        assert_int_equal(upmu_cpu_tick(&f.host.cpu[0]), UPMU_OK);
        take_samples(&f, 0);
        take_samples(&f, 1);
    }
    for (unsigned i = 0; i < 2; i++) {
        uint64_t periods = 0, runs = 0;

        assert_int_equal(counted(&f, i), total[i] + inside[i], i);
        for (struct upmu_set *set = f.host.sessions[i].sets; set; set = set->next) {
            if (set->number & 1u)
                periods += set->tally[0].overflows;
            runs += set->runs;
            assert_compare(set->runs, >, switches / 40);
        }
        assert_compare(periods, >, switches / 4);
        assert_compare(runs, >, switches / 10);
    }
    if (spare) {
        assert_int_equal(upmu_set_read(&f.host.sessions[2].set, 0, 1, &count), UPMU_OK);
        assert_int_equal(count.value, 5 * all);
        assert_int_equal(count.quality, UPMU_QUALITY_EXACT);
    }
    assert_compare(f.injections, >, switches / 12);
    assert_true(!spare || (f.whole > switches / 50 && f.none > switches / 100));
    /* At rest every period has its sample. */
    f.switching = false;
    for (unsigned i = 0; i < 2; i++) {
        unsigned overflows = 0;

        assert_int_equal(upmu_session_detach(&f.host.sessions[i]), UPMU_OK, i);
        take_samples(&f, i);
        for (struct upmu_set *set = f.host.sessions[i].sets; set; set = set->next)
            if (set->number & 1u) {
                overflows += set->tally[0].overflows - set->tally[0].lost;
                assert_int_equal(set->tally[0].overflows, set->tally[0].total / PERIOD);
            }
        assert_int_equal(f.samples[i], overflows, i);
    }
    tear_down(&f);
}

/* On one PMU half of them in `make test`, where checking is slow a tenth; a tenth or less of them on the others. */
#define ALL 100000u

static void alternate_on(const char *profile, unsigned quick, unsigned slow, unsigned period)
{
    alternate(profile, share_of("switches", ALL, quick, slow), period, true);
}

static void many_switches_lose_nothing_and_count_nothing_twice(void **state)
{
    (void)state;
    alternate_on("skylake", share_few(1, 2), 10, 23);
}

static void nor_do_they_where_selects_are_gates(void **state)
{
    (void)state;
    alternate_on("k8_revf", 10, 30, 23);
}

static void nor_do_they_with_amds_global_control(void **state)
{
    (void)state;
    alternate_on("zen4", 10, 30, 23);
}

static void nor_do_they_on_a_pentium_4(void **state)
{
    (void)state;
    alternate_on("prescott", 10, 30, 29);
}

static void nor_do_they_on_other_pmus(void **state)
{
    static const char *const spare[] = {"core2", "icelake",          "sandybridge", "tremont",
                                        "lnl_p", "northwood_smtoff", "barcelona",   "zen1"};

    unsigned few = share_of("switches", 5000, 2, 5);

    (void)state;
    for (unsigned p = 0; p < sizeof spare / sizeof spare[0]; p++)
        alternate(spare[p], few, 17, true);
    alternate("version1", few, 19, false);
    alternate("willamette", few, 31, false);
    alternate("nehalem", few, 61, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_switches_lose_nothing_and_count_nothing_twice),
        cmocka_unit_test(nor_do_they_where_selects_are_gates),
        cmocka_unit_test(nor_do_they_with_amds_global_control),
        cmocka_unit_test(nor_do_they_on_a_pentium_4),
        cmocka_unit_test(nor_do_they_on_other_pmus),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
