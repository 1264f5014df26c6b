/* SPDX-License-Identifier: MIT */
/*
 * Fifteen ways to get Intel's core PMUs wrong, one test for each: what the driver
 * makes of CPUID, and what it does to the silicon model.
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

static const char *const all_profiles[] = {
    "p6", "pentium_m", "yonah", "version1", "core2", "merom_early", "bonnell_odd", "nehalem", "westmere", "sandybridge",
    "ivb_smtoff", "haswell_smt", "haswell_notsx", "broadwell", "skylake", "skylake_nofw", "skylake_smtoff",
    "skylake_tfa", "silvermont", "knl", "goldmont", "goldmont_plus", "tremont", "rkl_es", "icelake", "sapphirerapids",
    "adl_p", "adl_e", "rpl_p", "mtl_p", "mtl_e", "arl_h_p", "lnl_p", "lnl_e", "ptl_p", "ptl_e", "everything",
    "hypervisor_v2_nofixed"};
#define PROFILES (sizeof all_profiles / sizeof all_profiles[0])

static uint32_t counters_on(const struct upmu_pmu *pmu, const char *text)
{
    struct upmu_event event;

    assert_int_equal(upmu_event_parse(pmu, text, &event, NULL), UPMU_OK);
    return event.counters;
}

static uint32_t counters_of(const char *name, uint64_t config)
{
    struct upmu_event event;
    struct upmu_pmu pmu;

    assert_int_equal(upmu_pmu_by_name(&pmu, name), UPMU_OK);
    return upmu_event_raw(&pmu, config, 0, 0, &event) == UPMU_OK ? event.counters : 0;
}

/* Three events on every model with room for them, on any counters: exact, and nothing that the model calls wrong. */
static void every_model_counts_and_is_given_back(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PROFILES; p++) {
        uint64_t found[UPMU_SIM_GENERAL];
        struct host host;
        bool three;

        host_prepare(&host, all_profiles[p]);
        for (unsigned i = 0; i < host.sim.profile->general; i++)
            found[i] = host.sim.cpu[0].counter[i].value = 0x3456789a + i;
        host_start(&host);
        three = upmu_bits_count(host.cpu[0].meter.pmu->counters) >= 3;
        assert_int_equal(
            upmu_set_add(&host.session.set, three ? "instructions,branches,cycles:k" : "instructions,branches", NULL),
            UPMU_OK);
        host_begin(&host, &host.session);
        host_run(&host, 10000);
        if (host_value(&host.session, 0) != 10000 || host_value(&host.session, 1) != 5000)
            fail_msg("%s: %u, %u", all_profiles[p], (unsigned)host_value(&host.session, 0),
                     (unsigned)host_value(&host.session, 1));
        if (three)
            assert_int_equal(host_value(&host.session, 2), 20000, p);
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        host_run(&host, 10000);
        assert_int_equal(host_value(&host.session, 0), 10000);
        host_end(&host);
        for (unsigned i = 0; i < host.sim.profile->general; i++) {
            assert_int_equal(host.sim.cpu[0].select[i], 0, p, i);
            assert_int_equal(host.sim.cpu[0].counter[i].value, found[i], p, i);
        }
    }
}

/* 1 */
static void ebx_of_leaf_0ah_means_unavailable_eax_of_23h_available(void **state)
{
    struct leaves leaves = {.family = 6, .model = 0xEE};
    struct upmu_pmu pmu;

    (void)state;
    leaves_perfmon(&leaves, 4, 4, 3);
    leaves.perfmon[1] = 0x7fffff44;
    assert_true(leaves_detect(&leaves, &pmu));
    assert_int_equal(pmu.arch_events, 0x3b); /* of seven: all but 2 and 6 */
    leaves.extended[0][0] = 0x9;
    leaves.extended[3][0] = 0x1044;
    assert_true(leaves_detect(&leaves, &pmu));
    assert_int_equal(pmu.arch_events, 0x1044);
    leaves.extended[0][0] = 0x1; /* subleaf 3 is not there */
    assert_true(leaves_detect(&leaves, &pmu));
    assert_int_equal(pmu.arch_events, 0x3b);
}

/* 2 */
static void fixed_counters_are_a_bitmap_with_a_floor_on_bare_metal(void **state)
{
    struct leaves skymont = {.family = 6, .model = 0xBD, .core_type = 0x20000003,
                             .extended = {{0xf, 3}, {0xff, 0x77}, {0, 0}, {0x1f7f, 0}}};
    struct leaves merom = {.family = 6, .model = 0x0F};
    struct host host;
    struct upmu_pmu pmu;

    (void)state;
    leaves_perfmon(&skymont, 6, 8, 3);
    assert_true(leaves_detect(&skymont, &pmu));
    assert_int_equal(pmu.counters, 0x7700ff);
    leaves_perfmon(&merom, 2, 2, 0);
    assert_true(leaves_detect(&merom, &pmu));
    assert_int_equal(pmu.counters, 0x70003);
    assert_true(pmu.capabilities & UPMU_PMU_FIXED_FLOORED);
    merom.hypervisor = true;
    assert_true(leaves_detect(&merom, &pmu));
    assert_int_equal(pmu.counters, 0x3);
    /* And nothing is written to the hole. */
    host_set_up(&host, "lnl_e");
    assert_int_equal(upmu_set_add(&host.session.set, "r500,r600,r700,r300,r200,r100", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x38d) >> 12 & 0xf, 0);
    assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x38f), UINT64_C(0x77) << 32);
    host_end(&host);
}

/* 3 */
static void hybrids_have_a_pmu_per_core_type_families_18_and_19_exist(void **state)
{
    struct leaves leaves = {.family = 6, .model = 0x97, .core_type = 0x40000001};
    struct host host;
    struct upmu_pmu pmu;

    (void)state;
    leaves_perfmon(&leaves, 5, 6, 3);
    assert_true(leaves_detect(&leaves, &pmu));
    assert_int_equal(pmu.counters & 0xffffff, 0xf00ff); /* leaf 0Ah says 6 and 3 */
    leaves.core_type = 0x20000001;
    assert_true(leaves_detect(&leaves, &pmu));
    assert_int_equal(pmu.counters, 0x7003f);
    leaves.family = 18;
    leaves.model = 1;
    assert_true(leaves_detect(&leaves, &pmu));
    assert_string_equal(pmu.name, "adl_grt"); /* by its native id */
    leaves.family = 19;
    assert_true(leaves_detect(&leaves, &pmu));
    assert_string_equal(pmu.name, "ptc");
    /* Both types in one machine. */
    host_prepare(&host, "adl_p");
    upmu_sim_set_profile(&host.sim, 1, upmu_sim_profile("adl_e"));
    host_start(&host);
    upmu_sim_switch_cpu(&host.sim, 1);
    assert_int_equal(upmu_cpu_init(&host.cpu[1], &host.machine, NULL), UPMU_OK);
    assert_int_equal(host.machine.pmu_count, 2);
    assert_string_equal(host.cpu[0].meter.pmu->name, "adl_glc");
    assert_string_equal(host.cpu[1].meter.pmu->name, "adl_grt");
    host_no_violation(&host);
}

/* 4 */
static void short_writes_are_sign_extended_full_ones_need_a_capability(void **state)
{
    static const struct {
        const char *profile;
        uint64_t longest;
    } cases[] = {{"nehalem", 0x7fffffff},
                 {"skylake_nofw", 0x7fffffff},
                 {"skylake", UINT64_C(0x7fffffffffff)},
                 {"silvermont", UINT64_C(0x7fffffffff)},
                 {"lnl_p", UINT64_C(0x7fffffffffff)}};

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct host host;
        uint64_t value;
        unsigned counter;

        host_set_up(&host, cases[i].profile);
        assert_int_equal(host.cpu[0].meter.pmu->max_period, cases[i].longest, i);
        /* A period that no write can express is waited for in pieces. */
        host_sample(&host, "branches", UINT64_C(1) << 50);
        counter = upmu_bits_lowest(host.session.counters);
        value = host.sim.cpu[0].counter[counter].value;
        assert_int_equal(value, (0 - cases[i].longest) & upmu_bits_ones(host.cpu[0].meter.pmu->counter[counter].width),
                         i, counter);
        host_end(&host);
    }
}

/*
 * A CPU whose records are architectural has no PEBS_ENABLE. Catches: an access to it, which on a host that cannot catch
 * a fault is the end.
 */
static void a_cpu_without_pebs_enable_is_not_asked_for_it(void **state)
{
    static const char *const profiles[] = {"ptl_p", "ptl_e"};

    (void)state;
    for (unsigned p = 0; p < 2; p++) {
        struct host host;

        host_prepare(&host, profiles[p]);
        host.sim.port.msr_faults_are_safe = false;
        host_start(&host);
        host_sample(&host, "branches", 1000);
        host_run(&host, 10000);
        assert_int_equal(host.sim.faults, 0, p);
        host_end(&host);
    }
}

/* Bit 2 of the slots counter's nibble is not AnyThread: the early Rocket Lake alone has both slots and AnyThread. */
static void slots_are_not_counted_for_any_thread(void **state)
{
    struct host host;

    (void)state;
    host_prepare(&host, "rkl_es");
    host_start(&host);
    assert_int_equal(upmu_set_add(&host.session.set, "slots:any", NULL), UPMU_ERR_DOES_NOT_FIT);
    assert_int_equal(host.cpu[0].meter.pmu->limit[UPMU_X86_CLASS_FIXED_CTRL] & 0xffff, 0xbfff);
    assert_int_equal(upmu_set_add(&host.session.set, "slots,cycles:any", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x38d), 0xb0f0);
    host_end(&host);
}

/* 5 */
static void a_counter_is_idle_by_its_select_beside_global_ones(void **state)
{
    struct host host;

    (void)state;
    host_prepare(&host, "skylake");
    assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x38f), 0xf);
    host_start(&host);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(upmu_cpu_owner(&host.cpu[0], i), UPMU_OWNER_FREE, i);
    assert_int_equal(upmu_set_add(&host.session.set, "branches", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    host_run(&host, 1000);
    assert_int_equal(host_value(&host.session, 0), 500);
    host_end(&host);
    assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x38f), 0xf);
}

/* 6 */
static void no_bit_of_a_missing_counter_is_ever_written(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PROFILES; p++) {
        static struct upmu_sim_access trace[4000];
        struct host host;
        uint64_t exist, thaw = 0;
        unsigned written = 0;
        bool global;

        host_prepare(&host, all_profiles[p]);
        upmu_sim_set_delivery(&host.sim, 0, UPMU_SIM_LVTPC_NMI);
        host.sim.trace = trace;
        host.sim.trace_size = 4000;
        host_start(&host);
        host_sample(&host, "branches", 1000);
        host_run(&host, 10000);
        exist = (host.cpu[0].meter.pmu->counters & 0xffff) |
                (uint64_t)(host.cpu[0].meter.pmu->counters >> 16 & 0xff) << 32 |
                (uint64_t)(host.cpu[0].meter.pmu->counters >> 24 != 0) << 48;
        if (host.cpu[0].meter.pmu->quirks & UPMU_X86_QUIRK_TFA)
            exist |= 8; /* left alone, but there */
        if (host.cpu[0].meter.pmu->version >= 4)
            thaw = UPMU_X86_STATUS_FROZEN;
        global = host.cpu[0].meter.pmu->version >= 2;
        host_end(&host);
        assert_compare(host.sim.trace_count, <, 4000);
        for (unsigned i = 0; i < host.sim.trace_count; i++) {
            assert_false(trace[i].faulted, i);
            if (trace[i].kind == UPMU_SIM_WRMSR && (trace[i].address == 0x38f || trace[i].address == 0x390)) {
                assert_int_equal(trace[i].value & ~(exist | (trace[i].address == 0x390 ? thaw : 0)), 0, i);
                written |= trace[i].address == 0x390 ? 2u : 1u;
            }
        }
        assert_int_equal(written, global ? 3 : 0, p);
    }
}

/* 7 */
static void lvtpc_is_rearmed_while_our_gates_are_closed(void **state)
{
    static const char *const profiles[] = {"core2", "skylake", "haswell_smt", "tremont", "sapphirerapids", "adl_e"};

    (void)state;
    for (unsigned p = 0; p < sizeof profiles / sizeof profiles[0]; p++) {
        struct upmu_sim_access trace[32];
        struct host host;
        uint64_t control = ~UINT64_C(0);
        unsigned rearms = 0;

        host_set_up(&host, profiles[p]);
        upmu_sim_set_delivery(&host.sim, 0, UPMU_SIM_LVTPC_NMI);
        host_sample(&host, "branches", 100);
        host.sim.trace = trace;
        host.sim.trace_size = 32;
        host.sim.trace_count = 0;
        host_run(&host, 210);
        assert_int_equal(host.answers, 1);
        for (unsigned i = 0; i < host.sim.trace_count; i++) {
            if (trace[i].kind == UPMU_SIM_WRMSR && trace[i].address == 0x38f)
                control = trace[i].value;
            rearms += trace[i].kind == UPMU_SIM_REARM;
            if (trace[i].kind == UPMU_SIM_REARM)
                assert_int_equal(control, 0);
        }
        assert_int_equal(rearms, 1);
        assert_int_not_equal(control, 0);
        host.sim.trace_size = 0;
        host_run(&host, 200);
        assert_int_equal(host.answers, 2); /* armed again */
        host_end(&host);
    }
}

/* 8 */
static void status_that_is_no_counters_is_no_overflow(void **state)
{
    struct upmu_pmu pmu;

    (void)state;
    for (unsigned i = 0; upmu_x86_core_backend.names(i); i++) {
        assert_int_equal(upmu_pmu_by_name(&pmu, upmu_x86_core_backend.names(i)), UPMU_OK, i);
        for (unsigned bit = 49; bit < 64; bit++)
            assert_int_equal(pmu.backend->overflowed(&pmu, UINT64_C(1) << bit), 0);
        /* Nor is that of a counter that is not there. */
        assert_int_equal(pmu.backend->overflowed(&pmu, ~UINT64_C(0)) & ~pmu.counters, 0);
    }
}

static void a_wrap_without_interrupt_sets_status_that_disturbs_nobody(void **state)
{
    struct host host;

    (void)state;
    host_prepare(&host, "skylake");
    upmu_sim_poke(&host.sim, 0, 0x30a, UINT64_C(0xffffffffff00)); /* about to wrap */
    upmu_sim_set_delivery(&host.sim, 0, UPMU_SIM_LVTPC_NMI);
    host_start(&host);
    assert_int_equal(upmu_set_add(&host.other.set, "cycles", NULL), UPMU_OK);
    host_begin(&host, &host.other);
    host_sample(&host, "branches", 1000);
    host_run(&host, 10000);
    assert_int_equal(host_value(&host.other, 0), 20000);
    assert_int_equal(host_drain(&host, NULL), 5);
    host_end(&host);
}

/* 9 */
static void freezing_is_off_and_the_acknowledgement_opens_nothing(void **state)
{
    static const char *const profiles[] = {"core2", "haswell_smt", "skylake", "icelake"};

    (void)state;
    for (unsigned p = 0; p < sizeof profiles / sizeof profiles[0]; p++) {
        struct host host;

        host_prepare(&host, profiles[p]);
        upmu_sim_set_delivery(&host.sim, 0, UPMU_SIM_LVTPC_NMI);
        upmu_sim_poke(&host.sim, 0, 0x1d9, 0x1800);
        host_start(&host);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x1d9) & 0x1800, 0);
        assert_int_equal(upmu_set_add(&host.other.set, "cycles", NULL), UPMU_OK);
        host_begin(&host, &host.other);
        host_sample(&host, "branches", 100);
        host_run(&host, 10000);
        assert_int_equal(host_value(&host.other, 0), 20000); /* an interrupt stops no other session's counters */
        assert_int_equal(host_drain(&host, NULL), 50);
        host_end(&host);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x1d9) & 0x1800, 0x1800);
    }
}

/* 10 */
static void a_late_nmi_finds_nothing_to_do_and_starts_nothing(void **state)
{
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    upmu_sim_set_delivery(&host.sim, 0, UPMU_SIM_LVTPC_NMI);
    host_sample(&host, "branches", 100);
    host.sim.skid = 16;
    host_run(&host, 200);
    assert_int_equal(host.answers, 0); /* still on its way */
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    host_run(&host, 1000);
    assert_int_equal(host.answers, 1);
    assert_int_not_equal(host.answer[0], UPMU_PMI_NOT_OURS);
    assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x38f), 0);
    assert_int_equal(host_drain(&host, NULL), 1); /* the one that the stop found */
    host_end(&host);
}

/* 11 */
static void reference_cycles_are_not_bus_cycles_before_golden_cove(void **state)
{
    static const struct {
        const char *name;
        bool alike;
    } cases[] = {{"atom", false}, {"wsm", false}, {"snb", false}, {"hsw", false}, {"bdw", false},    {"icl", false},
                 {"tmt", false},  {"spr", true},  {"gnr", true},  {"lnc", true},  {"adl_grt", true}, {"skt", true}};

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct upmu_event reference, bus;
        struct upmu_pmu pmu;

        assert_int_equal(upmu_pmu_by_name(&pmu, cases[i].name), UPMU_OK, i);
        assert_int_equal(upmu_event_parse(&pmu, "ref-cycles", &reference, NULL), UPMU_OK);
        assert_int_equal(reference.config & 0xffff, cases[i].alike ? 0x013c : 0x0300, i);
        assert_int_equal(reference.counters, cases[i].alike ? (0x40000 | pmu.general) : 0x40000, i);
        if (strcmp(cases[i].name, "wsm") == 0) { /* says that it has none */
            assert_int_equal(upmu_event_parse(&pmu, "bus-cycles", &bus, NULL), UPMU_ERR_UNSUPPORTED);
            continue;
        }
        assert_int_equal(upmu_event_parse(&pmu, "bus-cycles", &bus, NULL), UPMU_OK);
        assert_int_equal(bus.config & 0xffff, 0x013c);
        assert_int_equal(bus.counters, cases[i].alike ? (0x40000 | pmu.general) : pmu.general, i);
    }
}

static void a_sticky_second_interrupt_of_fixed_counter_2_is_no_sample(void **state)
{
    static const char *const profiles[] = {"broadwell", "skylake", "icelake", "sapphirerapids", "lnl_p"};

    (void)state;
    for (unsigned p = 0; p < sizeof profiles / sizeof profiles[0]; p++) {
        struct host host;

        host_prepare(&host, profiles[p]);
        host.sim.rule[UPMU_SIM_RULE_HAZARD_FIXED2] = 1;
        upmu_sim_set_delivery(&host.sim, 0, UPMU_SIM_LVTPC_NMI);
        host_start(&host);
        host_sample(&host, "raw:config=0x300", 1000);
        for (unsigned i = 0; i < 100; i++)
            upmu_sim_events(&host.sim, &(struct upmu_sim_burst){.instructions = 100, .cycles = 100, .ref_cycles = 100});
        assert_int_equal(host_drain(&host, NULL), 10);
        assert_compare(host.answers, >, 10); /* they came, and were answered */
        assert_int_equal(host_value(&host.session, 0), 10000);
        host_end(&host);
    }
}

/* 12 */
static void a_code_means_what_it_means_on_this_model(void **state)
{
    static const char *const topdown[] = {"TOPDOWN_BAD_SPECULATION.ALL_P", "TOPDOWN_FE_BOUND.ALL_P",
                                          "TOPDOWN_RETIRING.ALL_P", "MISC_RETIRED.LBR_INSERTS"};
    struct upmu_event event;
    struct upmu_pmu pmu;

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(upmu_pmu_by_name(&pmu, "hsw"), UPMU_OK);
        assert_int_equal(upmu_event_parse(&pmu, topdown[i], &event, NULL), UPMU_ERR_NO_SUCH_EVENT, i);
        assert_int_equal(upmu_pmu_by_name(&pmu, "skt"), UPMU_OK);
        assert_int_equal(upmu_event_parse(&pmu, topdown[i], &event, NULL), UPMU_OK, i);
    }
    assert_int_equal(counters_of("skt", 0x0073), 0x1000ff | 0); /* and fixed counter 4 */
    /* The offcore payload goes with B7h/01h, 2Ah/01h or B7h/02h: nowhere with another's. */
    assert_int_equal(upmu_pmu_by_name(&pmu, "spr"), UPMU_OK);
    assert_int_equal(upmu_event_raw(&pmu, 0x1b7, 1, 0, &event), UPMU_ERR_NOT_PERMITTED);
    assert_int_equal(upmu_event_raw(&pmu, 0x12a, 1, 0, &event), UPMU_OK);
    assert_int_equal(upmu_pmu_by_name(&pmu, "skl"), UPMU_OK);
    assert_int_equal(upmu_event_raw(&pmu, 0x12a, 1, 0, &event), UPMU_ERR_NOT_PERMITTED);
    assert_int_equal(upmu_event_raw(&pmu, 0x2b7, 1, 0, &event), UPMU_ERR_NOT_PERMITTED);
    assert_int_equal(upmu_pmu_by_name(&pmu, "slm"), UPMU_OK);
    assert_int_equal(upmu_event_raw(&pmu, 0x2b7, 1, 0, &event), UPMU_OK);
    assert_int_equal(upmu_event_raw(&pmu, 0x1bb, 1, 0, &event), UPMU_ERR_NOT_PERMITTED);
}

/* 13 */
static void constraints_are_linuxs_first_match_narrowed_by_intels_files(void **state)
{
    struct upmu_event event;
    struct upmu_pmu pmu;

    (void)state;
    assert_int_equal(counters_of("icl", 0x10a3), 0xff); /* before the row of all of A3h */
    assert_int_equal(counters_of("icl", 0x02a3), 0x0f);
    assert_int_equal(counters_of("icl", 0x04a3), 0xff);
    assert_int_equal(upmu_pmu_by_name(&pmu, "snb"), UPMU_OK);
    pmu.general |= 0xf0;
    pmu.counters |= 0xf0;
    assert_int_equal(counters_on(&pmu, "raw:config=0x279"), 0x0f); /* IDQ.EMPTY: Linux has no row */
    assert_int_equal(counters_on(&pmu, "raw:config=0x379"), 0xff);
    /* D0h to D3h are for one hyper-thread at a time on Sandy Bridge to Haswell. */
    for (unsigned code = 0xcf; code <= 0xd4; code++)
        for (unsigned i = 0; i < 4; i++) {
            static const char *const names[] = {"snb", "ivb_ep", "hsw", "bdw"};

            assert_int_equal(upmu_pmu_by_name(&pmu, names[i]), UPMU_OK, i);
            assert_int_equal(upmu_event_raw(&pmu, 0x0100 | code, 0, 0, &event), UPMU_OK);
            assert_int_equal((event.attributes & UPMU_ATTR_EXCLUSIVE) != 0, i < 3 && code >= 0xd0 && code <= 0xd3, i);
        }
}

/* 14: test_intel_quirks.c has what each of them does; here, that each is known where it is needed. */
static void errata_that_need_code_are_bits_of_their_models(void **state)
{
    static const struct {
        const char *name;
        uint32_t quirks;
    } cases[] = {
        {"nhm", UPMU_X86_QUIRK_PRELUDE | UPMU_X86_QUIRK_AAJ80},
        {"wsm", UPMU_X86_QUIRK_PRELUDE},
        {"snb", UPMU_X86_QUIRK_EXCLUSIVE},
        {"hsw_ep", UPMU_X86_QUIRK_EXCLUSIVE | UPMU_X86_QUIRK_HSW11},
        {"bdw", UPMU_X86_QUIRK_BDM55},
        {"skl", 0},
        {"icl", 0},
        {"spr", UPMU_X86_QUIRK_LDLAT_AUX},
        {"adl_glc", UPMU_X86_QUIRK_LDLAT_AUX | UPMU_X86_QUIRK_NO_CAP_15},
        {"mtl_rwc", UPMU_X86_QUIRK_NO_CAP_15},
        {"gnr", 0},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct upmu_pmu pmu;

        assert_int_equal(upmu_pmu_by_name(&pmu, cases[i].name), UPMU_OK, i);
        assert_int_equal(pmu.quirks, cases[i].quirks, i);
    }
}

/* 15 */
static void metrics_are_zeroed_after_slots_and_have_bit_48(void **state)
{
    static const struct {
        const char *profile;
        unsigned metrics;
    } cases[] = {{"icelake", 4}, {"sapphirerapids", 8}, {"adl_p", 8}, {"rpl_p", 8}, /* denies them */
                 {"mtl_p", 8},   {"lnl_p", 8},          {"adl_e", 0}, {"lnl_e", 0}, {"skylake", 0}};

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static struct upmu_sim_access trace[64];
        unsigned slots = 0, metrics = 0;
        struct upmu_event event;
        struct host host;

        host_set_up(&host, cases[i].profile);
        assert_int_equal(upmu_bits_count(host.cpu[0].meter.pmu->counters >> 24), cases[i].metrics, i);
        assert_int_equal(upmu_event_raw(host.cpu[0].meter.pmu, 0x8300, 0, 0, &event),
                         cases[i].metrics ? UPMU_OK : UPMU_ERR_DOES_NOT_FIT, i);
        assert_int_equal(upmu_event_raw(host.cpu[0].meter.pmu, 0x8400, 0, 0, &event),
                         cases[i].metrics == 8 ? UPMU_OK : UPMU_ERR_DOES_NOT_FIT, i);
        if (cases[i].metrics) {
            host.sim.trace = trace;
            host.sim.trace_size = 64;
            assert_int_equal(upmu_set_add(&host.session.set, "r8000,r8300", NULL), UPMU_OK);
            host_begin(&host, &host.session);
            host.sim.trace_size = 0;
            for (unsigned k = 0; k < host.sim.trace_count; k++) {
                if (trace[k].kind != UPMU_SIM_WRMSR)
                    continue;
                if (trace[k].address == upmu_register_address(host.cpu[0].meter.pmu, UPMU_X86_ROW_FIXED + 3)) {
                    assert_int_equal(trace[k].value, 0, k);
                    slots = k + 1;
                }
                if (trace[k].address == 0x329) {
                    assert_int_equal(trace[k].value, 0, k);
                    metrics = k + 1;
                }
            }
            assert_true(slots && metrics > slots);
            assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x38f), (UINT64_C(1) << 48) | (UINT64_C(1) << 35));
            assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        }
        host_end(&host);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_model_counts_and_is_given_back),
        cmocka_unit_test(ebx_of_leaf_0ah_means_unavailable_eax_of_23h_available),
        cmocka_unit_test(fixed_counters_are_a_bitmap_with_a_floor_on_bare_metal),
        cmocka_unit_test(hybrids_have_a_pmu_per_core_type_families_18_and_19_exist),
        cmocka_unit_test(short_writes_are_sign_extended_full_ones_need_a_capability),
        cmocka_unit_test(a_cpu_without_pebs_enable_is_not_asked_for_it),
        cmocka_unit_test(slots_are_not_counted_for_any_thread),
        cmocka_unit_test(a_counter_is_idle_by_its_select_beside_global_ones),
        cmocka_unit_test(no_bit_of_a_missing_counter_is_ever_written),
        cmocka_unit_test(lvtpc_is_rearmed_while_our_gates_are_closed),
        cmocka_unit_test(status_that_is_no_counters_is_no_overflow),
        cmocka_unit_test(a_wrap_without_interrupt_sets_status_that_disturbs_nobody),
        cmocka_unit_test(freezing_is_off_and_the_acknowledgement_opens_nothing),
        cmocka_unit_test(a_late_nmi_finds_nothing_to_do_and_starts_nothing),
        cmocka_unit_test(reference_cycles_are_not_bus_cycles_before_golden_cove),
        cmocka_unit_test(a_sticky_second_interrupt_of_fixed_counter_2_is_no_sample),
        cmocka_unit_test(a_code_means_what_it_means_on_this_model),
        cmocka_unit_test(constraints_are_linuxs_first_match_narrowed_by_intels_files),
        cmocka_unit_test(errata_that_need_code_are_bits_of_their_models),
        cmocka_unit_test(metrics_are_zeroed_after_slots_and_have_bit_48),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
