/* SPDX-License-Identifier: MIT */
/*
 * Errata and oddities of Intel's core PMUs that the driver works round, each on a
 * model that has it: Linux arch/x86/events/intel/core.c for most.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tests/common/host.h"

#include "backends/x86_core/x86_core_registers.h"
#include "core/hw/backend.h"
#include "core/util/bits.h"
#include "tests/common/intel_leaves.h"
#include "tests/common/state.h"

static void add(struct upmu_session *session, const char *list)
{
    assert_int_equal(upmu_set_add(&session->set, list, NULL), UPMU_OK);
}

/* ---- AAK100, AAP53, BD53 ---- */

static void events_of_nehalem_and_westmere_start_right_beside_others(void **state)
{
    static const char *const profiles[] = {"nehalem", "westmere"};

    (void)state;
    for (unsigned p = 0; p < 2; p++) {
        struct host host;

        host_prepare(&host, profiles[p]);
        host.sim.rule[UPMU_SIM_RULE_HAZARD_AAK100] = 1;
        upmu_sim_set_delivery(&host.sim, 0, UPMU_SIM_LVTPC_NMI);
        host_start(&host);
        host_sample(&host, "branches", 1000);
        host_run(&host, 5000); /* 2500 branches: the next sample is 500 away */
        add(&host.other, "r2c4,cycles"); /* another select */
        host_begin(&host, &host.other);
        assert_compare(host.cpu[0].meter.bank.accesses.prelude, >, 0);
        upmu_sim_events(&host.sim,
                        &(struct upmu_sim_burst){.instructions = 5000, .cycles = 5000, .branches = 2500,
                                                 .other = {{.count = 700, .event = 0xc4, .umask = 2}}});
        assert_int_equal(host_value(&host.other, 0), 700);
        assert_int_equal(host_value(&host.other, 1), 5000);
        assert_int_equal(host_value(&host.session, 0), 5000);
        assert_int_equal(host_drain(&host, NULL), 5);
        assert_int_equal(upmu_session_stop(&host.other), UPMU_OK);
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        host_end(&host);
    }
}

static void fixed_counters_and_other_models_need_no_sequence(void **state)
{
    static const char *const profiles[] = {"nehalem", "sandybridge", "core2", "skylake"};

    (void)state;
    for (unsigned p = 0; p < 4; p++) {
        struct host host;

        host_set_up(&host, profiles[p]);
        add(&host.session, p ? "branches,cycles" : "cycles,instructions");
        host_begin(&host, &host.session);
        assert_int_equal(host.cpu[0].meter.bank.accesses.prelude, 0);
        host_end(&host);
    }
}

/* Selects of unused counters are not left with the sequence's events. */
static void the_sequence_leaves_no_event_behind(void **state)
{
    struct host host;

    (void)state;
    host_set_up(&host, "nehalem");
    add(&host.session, "branches:counter=2");
    host_begin(&host, &host.session);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x186 + i) & 0xffff, i == 2 ? 0xc4 : 0, i);
    assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x38f), 0x4);
    host_end(&host);
}

/* ---- AAJ80 ---- */

static void mispredictions_of_a_nehalem_are_counted_by_another_event(void **state)
{
    struct upmu_event event;
    struct upmu_pmu pmu;
    struct host host;

    (void)state;
    host_set_up(&host, "nehalem");
    assert_true(host.cpu[0].meter.pmu->quirks & UPMU_X86_QUIRK_AAJ80);
    add(&host.session, "branch-misses,rc5");
    host_begin(&host, &host.session);
    upmu_sim_events(&host.sim, &(struct upmu_sim_burst){.instructions = 1000, .cycles = 1000, .mispredicts = 400});
    assert_int_equal(host_value(&host.session, 0), 400);
    assert_int_not_equal(host_value(&host.session, 1), 400);
    host_end(&host);
    /* So is the generic event, which no event of its own stands for. */
    assert_int_equal(upmu_pmu_by_name(&pmu, "nhm_ex"), UPMU_OK);
    assert_int_equal(upmu_event_parse(&pmu, "branch-misses", &event, NULL), UPMU_OK);
    assert_int_equal(event.config & 0xffff, 0x7f89);
    pmu.arch_events |= 0x40;
    pmu.quirks &= ~UPMU_X86_QUIRK_AAJ80;
    assert_int_equal(upmu_event_parse(&pmu, "branch-misses", &event, NULL), UPMU_OK);
    assert_int_equal(event.config & 0xffff, 0xc5);
}

/* ---- Periods: Nehalem and Haswell, HSW11, BDM11, BDM55 ---- */

static uint64_t loaded(const struct host *host)
{
    unsigned counter = upmu_bits_lowest(host->session.counters);
    const struct upmu_sim_counter *where = &host->sim.cpu[0].counter[counter];

    return (0 - where->value) & upmu_bits_ones(host->cpu[0].meter.pmu->counter[counter].width);
}

static void periods_are_never_programmed_shorter_than_the_model_can_do(void **state)
{
    static const struct {
        const char *profile, *event;
        uint64_t period, shortest, multiple;
    } cases[] = {
        {"nehalem", "branches", 40, 32, 1},   {"haswell_smt", "branches", 40, 32, 1},
        {"haswell_smt", "r1c0", 100, 128, 1}, {"broadwell", "r1c0", 100, 128, 64},
        {"broadwell", "r1c0", 1000, 128, 64}, {"broadwell", "branches", 10, 2, 1},
        {"skylake", "branches", 10, 2, 1},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct host host;
        struct upmu_count count;
        uint64_t events = 0;

        host_prepare(&host, cases[i].profile);
        host.sim.rule[UPMU_SIM_RULE_CHECK_PERIOD] = 1;
        host.sim.skid = 3;
        upmu_sim_set_delivery(&host.sim, 0, UPMU_SIM_LVTPC_NMI);
        host_start(&host);
        host_sample(&host, cases[i].event, cases[i].period);
        assert_true(loaded(&host) >= cases[i].period && loaded(&host) >= cases[i].shortest, i);
        assert_int_equal(loaded(&host) % cases[i].multiple, 0, i);
        for (unsigned k = 0; k < 400; k++) {
            bool retired = strcmp(cases[i].event, "r1c0") == 0;

            upmu_sim_events(&host.sim, &(struct upmu_sim_burst){.branches = retired ? 0 : 37, .cycles = 37,
                                                                .other = {{.count = retired ? 37 : 0, .event = 0xc0,
                                                                           .umask = 1}}});
            events += 37;
        }
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        assert_int_equal(upmu_set_read(&host.session.set, 0, 1, &count), UPMU_OK);
        assert_int_equal(count.raw, events); /* exact, whatever was programmed */
        /* On average as asked: each period that was complete is a sample or said to be lost. */
        assert_compare(host.session.set.tally[0].overflows, >=, (events - 256) / cases[i].period, i);
        assert_compare(host.session.set.tally[0].overflows, <=, events / cases[i].period, i);
        host_end(&host);
    }
}

static void a_period_below_the_shortest_of_all_events_is_refused(void **state)
{
    static const struct {
        const char *profile;
        uint64_t shortest;
    } cases[] = {{"nehalem", 32}, {"westmere", 2}, {"haswell_smt", 32}, {"broadwell", 2}, {"skylake", 2}};

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct upmu_sampling sampling = {.period = cases[i].shortest - 1};
        struct host host;

        host_set_up(&host, cases[i].profile);
        assert_int_equal(upmu_set_add(&host.session.set, "branches", &sampling), UPMU_ERR_INVALID);
        sampling.period++;
        assert_int_equal(upmu_set_add(&host.session.set, "branches", &sampling), UPMU_OK);
        host_end(&host);
    }
}

/* ---- Transactions ---- */

static void a_checkpointed_counter_samples_at_long_periods_only(void **state)
{
    struct upmu_sampling sampling = {.period = 1000000};
    struct host host;

    (void)state;
    host_set_up(&host, "haswell_smt");
    assert_int_equal(upmu_set_add(&host.session.set, "branches:intxcp", &sampling), UPMU_ERR_INVALID);
    sampling.period = 0x7fffffff;
    assert_int_equal(upmu_set_add(&host.session.set, "branches:intxcp", &sampling), UPMU_OK);
    add(&host.session, "branches:intxcp");
    assert_int_not_equal(upmu_set_add(&host.session.set, "branches:intxcp:any", NULL), UPMU_OK);
    host_end(&host);
}

static void counter_3_is_left_to_microcode_that_uses_it_for_transactions(void **state)
{
    struct leaves leaves = {.family = 6, .model = 0x5E, .features_edx = 1u << 13};
    struct upmu_pmu pmu;
    struct host host;

    (void)state;
    host_set_up(&host, "skylake_tfa");
    assert_int_equal(host.cpu[0].meter.pmu->general, 0x7);
    assert_true(host.cpu[0].meter.pmu->quirks & UPMU_X86_QUIRK_TFA);
    add(&host.session, "branches,branch-misses,cache-misses");
    host_begin(&host, &host.session);
    host_run(&host, 1000);
    assert_int_equal(host_value(&host.session, 0), 500);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    add(&host.other, "branches:u,branch-misses:u,cache-misses:u,cache-references");
    assert_int_equal(upmu_session_attach_cpu(&host.other, &host.cpu[0]), UPMU_ERR_DOES_NOT_FIT);
    host_end(&host);
    /* Microcode that aborts every transaction leaves it alone. */
    leaves_perfmon(&leaves, 4, 4, 3);
    assert_true(leaves_detect(&leaves, &pmu));
    assert_int_equal(pmu.general, 0x7);
    leaves.features_edx |= 1u << 11;
    assert_true(leaves_detect(&leaves, &pmu));
    assert_int_equal(pmu.general, 0xf);
    assert_false(pmu.quirks & UPMU_X86_QUIRK_TFA);
}

/* ---- Load latency ---- */

static void load_latency_of_golden_cove_has_its_auxiliary_event(void **state)
{
    static const char *const with[] = {"spr", "emr", "adl_glc"}, *const without[] = {"gnr", "icl", "skl", "mtl_rwc"};
    struct upmu_alternative alternative;
    struct upmu_event event;
    struct upmu_pmu pmu;
    struct host host;
    unsigned codes = 0;

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(upmu_pmu_by_name(&pmu, with[i]), UPMU_OK, i);
        assert_int_equal(upmu_event_raw(&pmu, 0x1cd, 3, 0, &event), UPMU_OK);
        assert_true(pmu.backend->alternative(&pmu, &event, 0, 0, &alternative));
        assert_int_equal(alternative.slot_count, 2);
        assert_int_equal(alternative.slot[0].counters, 0xfe);
        assert_int_equal(alternative.slot[1].counters, 0x0f);
    }
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(upmu_pmu_by_name(&pmu, without[i]), UPMU_OK, i);
        assert_int_equal(upmu_event_raw(&pmu, 0x1cd, 3, 0, &event), UPMU_OK);
        assert_true(pmu.backend->alternative(&pmu, &event, 0, 0, &alternative));
        assert_int_equal(alternative.slot_count, 1);
    }
    host_set_up(&host, "sapphirerapids");
    add(&host.session, "raw:config=0x1cd:config1=0x10:u");
    host_begin(&host, &host.session);
    for (unsigned i = 0; i < 8; i++) {
        uint64_t select = upmu_sim_peek(&host.sim, 0, 0x186 + i);

        if ((select & 0xffff) == 0x01cd)
            codes |= 1;
        if ((select & 0xffff) == 0x8203) {
            codes |= 2;
            assert_true(upmu_sim_runs(&host.sim, 0, i), i);
            assert_int_equal(select & (UPMU_X86_SELECT_USR | UPMU_X86_SELECT_OS), UPMU_X86_SELECT_USR);
        }
    }
    assert_int_equal(codes, 3);
    assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x3f6), 0x10);
    upmu_sim_events(&host.sim, &(struct upmu_sim_burst){.cycles = 1000, .user = true,
                                                        .other = {{.count = 77, .event = 0xcd, .umask = 1}}});
    assert_int_equal(host_value(&host.session, 0), 77);
    host_end(&host);
}

/* ---- Precise events need memory for records, and records of a known format ---- */

static void precise_events_are_described_and_need_memory(void **state)
{
    static const struct {
        const char *profile, *text;
        uint32_t counters;
        enum upmu_status sampled;
    } cases[] = {{"merom_early", "rc0:p", 0x1, UPMU_ERR_NOT_PRECISE},
                 {"core2", "rc0:p", 0x1, UPMU_ERR_HOOK_MISSING},
                 {"skylake", "r1c0:p", 0x2, UPMU_ERR_HOOK_MISSING},
                 {"icelake", "r1cd:p", 0xff, UPMU_ERR_HOOK_MISSING}};

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct upmu_sampling sampling = {.period = 1000};
        struct upmu_event event;
        struct host host;

        host_set_up(&host, cases[i].profile);
        assert_int_equal(upmu_event_parse(host.cpu[0].meter.pmu, cases[i].text, &event, NULL), UPMU_OK, i);
        assert_int_equal(event.counters, cases[i].counters, i);
        assert_int_equal(upmu_set_add(&host.session.set, cases[i].text, &sampling), cases[i].sampled, i);
        host_end(&host);
    }
}

/* ---- One enable bit for both counters: P6, and Core Duo (AE49) ---- */

static const char *const one_enable[] = {"p6", "pentium_m", "yonah"};
#define ONE_ENABLE (sizeof one_enable / sizeof one_enable[0])

static void a_common_enable_stays_and_counters_stop_one_by_one(void **state)
{
    (void)state;
    for (unsigned p = 0; p < ONE_ENABLE; p++) {
        struct host host;

        host_set_up(&host, one_enable[p]);
        add(&host.session, "branches:counter=0");
        add(&host.other, "instructions:counter=1");
        host_begin(&host, &host.session);
        host_begin(&host, &host.other);
        host_run(&host, 1000);
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        assert_true(upmu_sim_peek(&host.sim, 0, 0x186) & UPMU_X86_SELECT_EN);
        assert_false(upmu_sim_runs(&host.sim, 0, 0));
        host_run(&host, 1000);
        assert_int_equal(host_value(&host.session, 0), 500);
        assert_int_equal(host_value(&host.other, 0), 2000);
        assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
        assert_int_equal(upmu_session_stop(&host.other), UPMU_OK);
        host_run(&host, 1000);
        assert_int_equal(host_value(&host.session, 0), 1000);
        assert_int_equal(host_value(&host.other, 0), 2000);
        host_end(&host);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x186), 0);
    }
}

static void counter_1_counts_alone_under_a_common_enable(void **state)
{
    (void)state;
    for (unsigned p = 0; p < ONE_ENABLE; p++) {
        struct host host;

        host_set_up(&host, one_enable[p]);
        add(&host.session, "r12"); /* MUL: counter 1 only */
        host_begin(&host, &host.session);
        assert_int_equal(host.session.counters, 0x2);
        upmu_sim_events(&host.sim, &(struct upmu_sim_burst){.cycles = 1000, .other = {{.count = 123, .event = 0x12}}});
        assert_int_equal(host_value(&host.session, 0), 123);
        host_end(&host);
    }
}

static void a_common_enable_leaves_a_counter_of_the_firmwares_running(void **state)
{
    (void)state;
    for (unsigned p = 0; p < ONE_ENABLE; p++) {
        struct host host;

        host_prepare(&host, one_enable[p]);
        upmu_sim_poke(&host.sim, 0, 0x186, 0x4300c0);
        host_start(&host);
        assert_int_equal(upmu_cpu_owner(&host.cpu[0], 0), UPMU_OWNER_FIRMWARE);
        assert_int_equal(upmu_cpu_owner(&host.cpu[0], 1), UPMU_OWNER_FREE);
        add(&host.session, "branches");
        host_begin(&host, &host.session);
        host_run(&host, 1000);
        assert_int_equal(host_value(&host.session, 0), 500);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x186), 0x4300c0);
        assert_int_equal(upmu_cpu_verify(&host.cpu[0], NULL), UPMU_OK);
        host_end(&host);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x186), 0x4300c0);
    }
}

/* The host's watchdog comes after us: its select is not ours to write. */
static void a_common_enable_leaves_a_reserved_counter_0_to_the_host(void **state)
{
    (void)state;
    for (unsigned p = 0; p < ONE_ENABLE; p++) {
        struct host host;

        host_set_up(&host, one_enable[p]);
        assert_int_equal(upmu_cpu_reserve(&host.cpu[0], 0x1), UPMU_OK);
        upmu_sim_poke(&host.sim, 0, 0x186, 0x430079);
        add(&host.session, "branches");
        host_begin(&host, &host.session);
        assert_int_equal(host.session.counters, 0x2);
        host_run(&host, 1000);
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        assert_int_equal(host_value(&host.session, 0), 500);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x186), 0x430079);
        /* Given back, with the enable bit of both cleared. */
        upmu_sim_poke(&host.sim, 0, 0x186, 0);
        upmu_cpu_unreserve(&host.cpu[0], 0x1);
        assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
        host_run(&host, 1000);
        assert_int_equal(host_value(&host.session, 0), 1000);
        host_end(&host);
    }
}

/* A stale select without the common enable is not in use. */
static void under_a_common_enable_a_stale_select_is_no_running_counter(void **state)
{
    (void)state;
    for (unsigned p = 0; p < ONE_ENABLE; p++) {
        struct upmu_test_state now;
        struct host host;

        host_prepare(&host, one_enable[p]);
        upmu_sim_poke(&host.sim, 0, 0x187, 0x0300c0);
        host_start(&host);
        assert_int_equal(upmu_cpu_owner(&host.cpu[0], 1), UPMU_OWNER_FREE);
        add(&host.session, "branches:counter=0");
        host_begin(&host, &host.session);
        upmu_test_state(&host.cpu[0], &now);
        assert_int_equal(now.running, 0x1);
        assert_false(upmu_sim_runs(&host.sim, 0, 1)); /* the enable of both does not start it either */
        host_run(&host, 1000);
        assert_int_equal(host_value(&host.session, 0), 500);
        host_end(&host);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x187), 0x0300c0);
    }
}

static void a_common_enable_samples_with_short_periods(void **state)
{
    (void)state;
    for (unsigned p = 0; p < ONE_ENABLE; p++) {
        struct host host;

        host_set_up(&host, one_enable[p]);
        upmu_sim_set_delivery(&host.sim, 0, UPMU_SIM_LVTPC_NMI);
        host_sample(&host, "branches", 100);
        add(&host.other, "instructions");
        host_begin(&host, &host.other);
        host_run(&host, 10000);
        assert_int_equal(host_drain(&host, NULL), 50);
        assert_int_equal(host_value(&host.other, 0), 10000);
        host_end(&host);
    }
}

/* ---- What leaves say of hypervisors ---- */

static void a_hypervisors_leaves_are_not_corrected(void **state)
{
    struct leaves alder_lake = {.family = 6, .model = 0x97, .core_type = 0x40000001, .hypervisor = true};
    struct leaves nothing_fixed = {.family = 6, .model = 0x5E, .hypervisor = true};
    struct upmu_pmu pmu;

    (void)state;
    leaves_perfmon(&alder_lake, 5, 6, 3);
    assert_true(leaves_detect(&alder_lake, &pmu));
    assert_int_equal(pmu.counters, 0x7003f);
    leaves_perfmon(&nothing_fixed, 2, 8, 0);
    assert_true(leaves_detect(&nothing_fixed, &pmu));
    assert_int_equal(pmu.counters, 0xff);
}

static void threads_of_nehalem_and_modules_of_silvermont_share_offcore(void **state)
{
    static const struct {
        const char *name;
        uint64_t shared;
        uint8_t scope;
    } cases[] = {{"nhm", 3, UPMU_SCOPE_CORE}, {"wsm", 3, UPMU_SCOPE_CORE}, {"slm", 3, UPMU_SCOPE_MODULE},
                 {"snb", 0, UPMU_SCOPE_CORE}, {"glm", 0, UPMU_SCOPE_CORE}, {"skl", 0, UPMU_SCOPE_CORE}};

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct upmu_pmu pmu;

        assert_int_equal(upmu_pmu_by_name(&pmu, cases[i].name), UPMU_OK, i);
        assert_int_equal(pmu.shared & 0xfff, cases[i].shared, i);
        assert_int_equal(pmu.shared_scope, cases[i].scope, i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_of_nehalem_and_westmere_start_right_beside_others),
        cmocka_unit_test(fixed_counters_and_other_models_need_no_sequence),
        cmocka_unit_test(the_sequence_leaves_no_event_behind),
        cmocka_unit_test(mispredictions_of_a_nehalem_are_counted_by_another_event),
        cmocka_unit_test(periods_are_never_programmed_shorter_than_the_model_can_do),
        cmocka_unit_test(a_period_below_the_shortest_of_all_events_is_refused),
        cmocka_unit_test(a_checkpointed_counter_samples_at_long_periods_only),
        cmocka_unit_test(counter_3_is_left_to_microcode_that_uses_it_for_transactions),
        cmocka_unit_test(load_latency_of_golden_cove_has_its_auxiliary_event),
        cmocka_unit_test(precise_events_are_described_and_need_memory),
        cmocka_unit_test(a_common_enable_stays_and_counters_stop_one_by_one),
        cmocka_unit_test(counter_1_counts_alone_under_a_common_enable),
        cmocka_unit_test(a_common_enable_leaves_a_counter_of_the_firmwares_running),
        cmocka_unit_test(a_common_enable_leaves_a_reserved_counter_0_to_the_host),
        cmocka_unit_test(under_a_common_enable_a_stale_select_is_no_running_counter),
        cmocka_unit_test(a_common_enable_samples_with_short_periods),
        cmocka_unit_test(a_hypervisors_leaves_are_not_corrected),
        cmocka_unit_test(threads_of_nehalem_and_modules_of_silvermont_share_offcore),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
