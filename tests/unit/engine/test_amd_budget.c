/* SPDX-License-Identifier: MIT */
/*
 * What operations cost on AMD's PMUs, in register accesses: those whose selects are their
 * gates (K7 to Zen 3) and those with global control (PerfMonV2).  A stop never polls.
 */
#include <stdio.h>

#include "tests/common/host.h"

/* Writes, MSR reads, RDPMCs. */
struct cost {
    unsigned writes, reads, rdpmcs;
};

struct profile {
    const char *name;
    unsigned general;
    bool global;
    const char *events, *changed;
};

#define EVENTS4 "branches,cache-references,cache-misses,branch-misses"
#define CHANGED4 "branches:u,cache-references:u,cache-misses:u,branch-misses:u"
#define EVENTS6 EVENTS4 ",instructions,cycles"
#define CHANGED6 CHANGED4 ",instructions:u,cycles:u"
static const struct profile profiles[] = {
    {"k8_revc", 4, false, EVENTS4, CHANGED4},       {"barcelona", 4, false, EVENTS4, CHANGED4},
    {"jaguar", 4, false, EVENTS4, CHANGED4},        {"bulldozer", 6, false, EVENTS6, CHANGED6},
    {"zen2", 6, false, EVENTS6, CHANGED6},          {"hygon", 6, false, EVENTS6, CHANGED6},
    {"zen4", 6, true, EVENTS6, CHANGED6},           {"zen5", 6, true, EVENTS6, CHANGED6},
    {"amd_kvm_v2_few", 4, true, EVENTS4, CHANGED4},
};
#define PROFILES (sizeof profiles / sizeof profiles[0])

static void forget_cost(struct host *host)
{
    memset(host->sim.access_count, 0, sizeof host->sim.access_count);
    memset(&host->cpu[0].meter.bank.accesses, 0, sizeof host->cpu[0].meter.bank.accesses);
    memset(&host->cpu[0].meter.bank.handler_accesses, 0, sizeof host->cpu[0].meter.bank.handler_accesses);
}

/* What the model saw since forget_cost(), and that the library says the same. */
static struct cost cost_of(const struct host *host)
{
    const struct upmu_bank *bank = &host->cpu[0].meter.bank;
    struct cost cost = {host->sim.access_count[UPMU_SIM_WRMSR], host->sim.access_count[UPMU_SIM_RDMSR],
                        host->sim.access_count[UPMU_SIM_RDPMC]};

    assert_int_equal(cost.writes, bank->accesses.writes + bank->handler_accesses.writes);
    assert_int_equal(cost.reads, bank->accesses.reads + bank->handler_accesses.reads);
    assert_int_equal(cost.rdpmcs, bank->accesses.rdpmcs + bank->handler_accesses.rdpmcs);
    return cost;
}

static void costs(struct host *host, unsigned writes, unsigned rdpmcs)
{
    struct cost cost = cost_of(host);

    if (cost.writes != writes || cost.reads || cost.rdpmcs != rdpmcs)
        fail_msg("%s: %u W %u R %u P instead of %u W %u P", host->sim.profile->name, cost.writes, cost.reads,
                 cost.rdpmcs, writes, rdpmcs);
    forget_cost(host);
}

static void attach(struct host *host, struct upmu_session *session, const char *list)
{
    assert_int_equal(upmu_set_add(&session->set, list, NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(session, &host->cpu[0]), UPMU_OK);
}

static void start_and_stop_cost_a_write_for_each_gate(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PROFILES; p++) {
        unsigned n = profiles[p].general, gates = profiles[p].global ? 1 : n;
        struct upmu_count counts[UPMU_SET_EVENTS];
        struct host host;

        host_set_up(&host, profiles[p].name);
        attach(&host, &host.session, profiles[p].events);
        forget_cost(&host);
        for (unsigned round = 1; round <= 3; round++) {
            assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
            costs(&host, gates, 0);
            host_run(&host, 1000);
            assert_int_equal(upmu_set_read(&host.session.set, 0, n, counts), UPMU_OK, n);
            assert_int_equal(counts[0].value, round * 500);
            costs(&host, 0, n);
            assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
            costs(&host, gates, n);
            assert_int_equal(upmu_set_read(&host.session.set, 0, n, counts), UPMU_OK, n);
            costs(&host, 0, 0);
        }
        host_end(&host);
    }
}

static void a_region_reads_each_counter_once_at_either_end(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PROFILES; p++) {
        unsigned n = profiles[p].general;
        struct upmu_region region;
        struct host host;

        memset(&region, 0, sizeof region);
        host_set_up(&host, profiles[p].name);
        assert_int_equal(upmu_region_open(&region, &host.cpu[0], profiles[p].events), UPMU_OK, p);
        forget_cost(&host);
        for (unsigned round = 0; round < 3; round++) {
            assert_int_equal(upmu_region_begin(&region), UPMU_OK);
            costs(&host, 0, n);
            host_run(&host, 1000);
            assert_int_equal(upmu_region_end(&region), UPMU_OK);
            assert_int_equal(region.count[0].value, 500);
            costs(&host, 0, n);
        }
        assert_int_equal(upmu_region_close(&region), UPMU_OK);
        host_end(&host);
    }
}

static void a_changed_configuration_costs_a_write_for_each_select(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PROFILES; p++) {
        unsigned n = profiles[p].general;
        struct upmu_session *session[2];
        struct host host;

        host_set_up(&host, profiles[p].name);
        session[0] = &host.session;
        session[1] = &host.other;
        attach(&host, session[0], profiles[p].events);
        attach(&host, session[1], profiles[p].changed);
        assert_int_equal(upmu_session_start(session[0]), UPMU_OK);
        forget_cost(&host);
        for (unsigned turn = 0; turn < 4; turn++) {
            host_run(&host, 1000);
            assert_int_equal(upmu_session_stop(session[turn & 1]), UPMU_OK, turn);
            assert_int_equal(upmu_session_start(session[!(turn & 1)]), UPMU_OK, turn);
            costs(&host, profiles[p].global ? 2 + n : 2 * n, 2 * n);
        }
        host_end(&host);
    }
}

static void a_sampling_counter_that_kept_its_place_costs_nothing_more(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PROFILES; p++) {
        struct host host;

        host_set_up(&host, profiles[p].name);
        host_sample(&host, "branches", 1000000);
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        forget_cost(&host);
        for (unsigned round = 0; round < 3; round++) {
            assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
            costs(&host, 1, 0);
            host_run(&host, 1000);
            assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
            costs(&host, 1, 1);
        }
        host_end(&host);
    }
}

/*
 * With global control: close, load, acknowledge, open, one status read, one read per
 * sampling counter.  Without it: close, load, open; the counter that overflowed is read
 * once more when it stands still.
 */
static void an_overflow_costs_four_writes_three_without_global_control(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PROFILES; p++)
        for (unsigned s = 1; s <= 2; s++) {
            struct upmu_sampling often = {.period = 400}, rarely = {.period = 1000000};
            struct cost cost;
            struct host host;

            host_set_up(&host, profiles[p].name);
            assert_int_equal(upmu_set_add(&host.session.set, "branches", &often), UPMU_OK);
            if (s == 2)
                assert_int_equal(upmu_set_add(&host.session.set, "branch-misses", &rarely), UPMU_OK);
            assert_int_equal(upmu_set_add(&host.session.set, "instructions", NULL), UPMU_OK);
            assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
            host_begin(&host, &host.session);
            forget_cost(&host);
            host_run(&host, 1000);
            assert_int_equal(host.answers, 1);
            assert_int_equal(host.answer[0], UPMU_PMI_HANDLED);
            cost = cost_of(&host);
            assert_int_equal(cost.writes, profiles[p].global ? 4 : 3, p);
            assert_int_equal(cost.reads, profiles[p].global ? 1 : 0, p);
            assert_int_equal(cost.rdpmcs, profiles[p].global ? s : s + 1, p, s);
            assert_int_equal(host.sim.access_count[UPMU_SIM_REARM], 1);
            host_end(&host);
        }
}

/*
 * Other drivers wait after a stop until bit 47 is set again: for ever where a counter was
 * never negative.  Here a stop costs the same whatever the counters hold.
 */
static void a_stop_never_polls(void **state)
{
    static const uint64_t values[] = {0, 1, UINT64_C(0x7fffffffffff), UINT64_C(0x800000000000),
                                      UINT64_C(0xffffffffff00)};

    (void)state;
    for (unsigned p = 0; p < PROFILES; p++)
        for (unsigned v = 0; v < sizeof values / sizeof values[0]; v++) {
            unsigned n = profiles[p].general, gates = profiles[p].global ? 1 : n;
            struct host host;

            host_prepare(&host, profiles[p].name);
            for (unsigned i = 0; i < n; i++)
                host.sim.cpu[0].counter[i].value = values[v];
            host_start(&host);
            attach(&host, &host.session, profiles[p].events);
            assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
            host_run(&host, 100);
            forget_cost(&host);
            assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
            costs(&host, gates, n);
            assert_int_equal(host_value(&host.session, 0), 50);
            host_end(&host);
        }
}

/* A stop waits no more where an overflow has just happened whose interrupt is still on its way. */
static void a_stop_does_not_wait_for_a_late_interrupt(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PROFILES; p++)
        for (unsigned skid = 1; skid <= 16; skid++) {
            struct host host;
            struct cost cost;
            unsigned samples;

            host_set_up(&host, profiles[p].name);
            host_sample(&host, "branches", 100);
            host_run(&host, 196);
            host.sim.skid = skid;
            forget_cost(&host);
            host_run(&host, 4);
            assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
            cost = cost_of(&host);
            if (host.answers == 0) {
                /* Close, read; what overflowed is loaded again and acknowledged. */
                assert_true(cost.writes <= 3 && cost.reads <= 1 && cost.rdpmcs <= 2);
            } else {
                assert_compare(cost.writes + cost.reads + cost.rdpmcs, <=, 12);
            }
            host_run(&host, 1000);
            assert_int_equal(host.answers, 1);
            assert_int_not_equal(host.answer[0], UPMU_PMI_NOT_OURS);
            samples = host_drain(&host, NULL);
            assert_int_equal(samples, 1);
            assert_int_equal(host_value(&host.session, 0), 100);
            host_end(&host);
        }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(start_and_stop_cost_a_write_for_each_gate),
        cmocka_unit_test(a_region_reads_each_counter_once_at_either_end),
        cmocka_unit_test(a_changed_configuration_costs_a_write_for_each_select),
        cmocka_unit_test(a_sampling_counter_that_kept_its_place_costs_nothing_more),
        cmocka_unit_test(an_overflow_costs_four_writes_three_without_global_control),
        cmocka_unit_test(a_stop_never_polls),
        cmocka_unit_test(a_stop_does_not_wait_for_a_late_interrupt),
    };

    return cmocka_run_group_tests_name("amd_budget", tests, NULL, NULL);
}
