/* SPDX-License-Identifier: MIT */
/*
 * Twelve ways to get AMD's PMUs wrong, one test for each, by what the driver does to the
 * silicon model.
 */
#include <stdio.h>
#include <upmu/event.h>
#include <upmu/session.h>
#include <upmu/set.h>

#include "tests/common/host.h"

#include "core/util/bits.h"

static const char *const all_profiles[] = {
    "k7",          "k7_model1",  "k8_revb",       "k8_revc",   "k8_revd", "k8_reve",    "k8_revf",
    "k8_revg",     "barcelona",  "shanghai",      "istanbul",  "griffin", "llano",      "bobcat",
    "bulldozer",   "piledriver", "steamroller",   "excavator", "jaguar",  "zen1",       "zen2",
    "hygon",       "zen3",       "zen4",          "zen5",      "zen6",    "amd_future", "amd_kvm_legacy",
    "amd_kvm_ext", "amd_kvm_v2", "amd_kvm_v2_few"};
#define PROFILES (sizeof all_profiles / sizeof all_profiles[0])

/* One of each way to see an overflow. */
static const char *const protocols[] = {"k7", "k8_revc", "barcelona", "bulldozer", "jaguar", "zen2", "zen4", "zen5"};
#define PROTOCOLS (sizeof protocols / sizeof protocols[0])

#define TRACE 4000u

static struct upmu_sim_access trace[TRACE];

static void follow(struct host *host)
{
    host->sim.trace = trace;
    host->sim.trace_size = TRACE;
    host->sim.trace_count = 0;
}

static void set_up_for_nmi(struct host *host, const char *profile)
{
    host_set_up(host, profile);
    upmu_sim_set_delivery(&host->sim, 0, UPMU_SIM_LVTPC_NMI);
}

static bool extended(const struct host *host)
{
    return host->sim.profile->amd->features & UPMU_SIM_AMD_CORE;
}

static uint32_t select_msr(const struct host *host, unsigned i)
{
    return extended(host) ? 0xc0010200u + 2u * i : 0xc0010000u + i;
}

static uint32_t counter_msr(const struct host *host, unsigned i)
{
    return extended(host) ? 0xc0010201u + 2u * i : 0xc0010004u + i;
}

/* Three events on every model, on whatever counters: exact, and nothing that the model calls wrong. */
static void every_model_counts_and_is_given_back(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PROFILES; p++) {
        uint64_t found[UPMU_SIM_GENERAL];
        struct host host;

        host_prepare(&host, all_profiles[p]);
        for (unsigned i = 0; i < host.sim.profile->general; i++)
            found[i] = host.sim.cpu[0].counter[i].value = UINT64_C(0x123456789a00) + i;
        host_start(&host);
        assert_int_equal(upmu_set_add(&host.session.set, "instructions,branches,cycles:k", NULL), UPMU_OK);
        host_begin(&host, &host.session);
        host_run(&host, 10000);
        if (host_value(&host.session, 0) != 10000 || host_value(&host.session, 1) != 5000 ||
            host_value(&host.session, 2) != 20000)
            fail_msg("%s: %u, %u, %u", all_profiles[p], (unsigned)host_value(&host.session, 0),
                     (unsigned)host_value(&host.session, 1), (unsigned)host_value(&host.session, 2));
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        host_run(&host, 10000);
        assert_int_equal(host_value(&host.session, 0), 10000);
        host_end(&host);
        for (unsigned i = 0; i < host.sim.profile->general; i++) {
            assert_int_equal(upmu_sim_peek(&host.sim, 0, select_msr(&host, i)), 0, i);
            assert_int_equal(upmu_sim_peek(&host.sim, 0, counter_msr(&host, i)), found[i], i);
        }
    }
}

/* 1: every overflow of a session is its own interrupt, whether something masks LVTPC or nothing does. */
static void lvtpc_need_not_be_masked_by_delivery(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PROTOCOLS; p++)
        for (unsigned keeps = 0; keeps < 2; keeps++) {
            struct host host;

            set_up_for_nmi(&host, protocols[p]);
            host.sim.rule[UPMU_SIM_RULE_AMD_LVTPC_KEEPS] = (uint8_t)keeps;
            host_sample(&host, "branches", 100);
            host_run(&host, 10000);
            assert_int_equal(host.answers, 50);
            assert_int_equal(host_drain(&host, NULL), 50);
            assert_false(host.sim.cpu[0].lvtpc & UPMU_SIM_LVTPC_MASKED);
            host_end(&host);
        }
}

/* What overflows while the handler works interrupts again, and is told from what is done already. */
static void an_overflow_inside_the_handler_is_not_lost(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PROTOCOLS; p++) {
        struct host host;
        unsigned lost = 0, samples = 0;
        struct upmu_sample sample;

        set_up_for_nmi(&host, protocols[p]);
        host_sample(&host, "instructions,branches", 1000);
        host.sim.events_per_access = 40; /* the handler's own instructions are counted where nothing stops them */
        host_run(&host, 20000);
        host.sim.events_per_access = 0;
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        while (upmu_ring_next(&host.session.ring, &sample)) {
            samples += upmu_bits_count(sample.events);
            lost += (unsigned)sample.lost;
        }
        assert_int_equal(lost, 0);
        assert_compare(host_value(&host.session, 0), >, 20000, p);
        assert_int_equal(samples, host_value(&host.session, 0) / 1000 + host_value(&host.session, 1) / 1000);
        for (unsigned i = 0; i < host.answers && i < HOST_ANSWERS; i++)
            assert_int_not_equal(host.answer[i], UPMU_PMI_NOT_OURS, i);
        host_end(&host);
    }
}

/* 2: late NMIs are ours for a while; an unknown NMI is not, when that has passed. */
static void a_late_nmi_is_stale_and_later_ones_are_not_ours(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PROTOCOLS; p++)
        for (unsigned skid = 1; skid <= 16; skid++) {
            struct host host;

            set_up_for_nmi(&host, protocols[p]);
            host_sample(&host, "branches", 100);
            host_run(&host, 198);
            host.sim.skid = skid;
            host_run(&host, 2);
            if (host.answers == 0) {
                /* Another source comes first: it finds the overflow, and its own interrupt finds nothing. */
                upmu_sim_foreign_nmi(&host.sim);
                assert_int_equal(host.answer[0], UPMU_PMI_HANDLED);
                host_run(&host, 40);
                assert_int_equal(host.answers, 2);
                assert_int_equal(host.answer[1], UPMU_PMI_STALE);
            }
            host.sim.skid = 0;
            assert_int_equal(host_drain(&host, NULL), 1);
            upmu_sim_advance_ns(&host.sim, 200000000);
            host.answers = 0;
            upmu_sim_foreign_nmi(&host.sim);
            assert_int_equal(host.answers, 1);
            assert_int_equal(host.answer[0], UPMU_PMI_NOT_OURS);
            host_end(&host);
        }
}

/* Two counters that overflow at once: one interrupt, both are handled. */
static void one_nmi_may_stand_for_two_overflows(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PROTOCOLS; p++) {
        struct upmu_sampling thousand = {.period = 1000}, half = {.period = 500};
        struct upmu_sample sample;
        unsigned events = 0;
        struct host host;

        set_up_for_nmi(&host, protocols[p]);
        assert_int_equal(upmu_set_add(&host.session.set, "instructions", &thousand), UPMU_OK);
        assert_int_equal(upmu_set_add(&host.session.set, "branches", &half), UPMU_OK);
        assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
        host_begin(&host, &host.session);
        host_run(&host, 4000);
        while (upmu_ring_next(&host.session.ring, &sample))
            events += upmu_bits_count(sample.events);
        assert_int_equal(events, 8);
        assert_int_equal(host.answers, 4);
        for (unsigned i = 0; i < 4; i++)
            assert_int_equal(host.answer[i], UPMU_PMI_HANDLED, i);
        host_end(&host);
    }
}

/* 3: a counter that counts from near 0 has bit 47 clear all the time. */
static void a_counting_counter_is_never_taken_for_overflowed(void **state)
{
    static const uint64_t values[] = {0, 1, UINT64_C(0x7fffffffffff), UINT64_C(0x800000000000)};

    (void)state;
    for (unsigned p = 0; p < PROTOCOLS; p++)
        for (unsigned v = 0; v < 4; v++) {
            struct host host;

            host_prepare(&host, protocols[p]);
            upmu_sim_set_delivery(&host.sim, 0, UPMU_SIM_LVTPC_NMI);
            for (unsigned i = 0; i < host.sim.profile->general; i++)
                host.sim.cpu[0].counter[i].value = values[v];
            host_start(&host);
            assert_int_equal(upmu_set_add(&host.other.set, "cycles,instructions", NULL), UPMU_OK);
            host_begin(&host, &host.other);
            host_sample(&host, "branches", 1000);
            host_run(&host, 10000);
            assert_int_equal(host_value(&host.other, 0), 20000);
            assert_int_equal(host_value(&host.other, 1), 10000);
            assert_int_equal(host_drain(&host, NULL), 5);
            host_end(&host);
        }
}

/* 4 */
static void one_set_of_registers_is_used_and_the_right_one(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PROFILES; p++) {
        struct host host;

        host_prepare(&host, all_profiles[p]);
        follow(&host);
        host_start(&host);
        assert_int_equal(upmu_set_add(&host.session.set, "instructions,branches,cycles", NULL), UPMU_OK);
        host_begin(&host, &host.session);
        host_run(&host, 1000);
        host_end(&host);
        assert_true(host.sim.trace_count > 10 && host.sim.trace_count < TRACE);
        for (unsigned i = 0; i < host.sim.trace_count; i++) {
            uint32_t msr = trace[i].address;
            bool legacy = msr - 0xc0010000u < 8, block = msr - 0xc0010200u < 2u * host.sim.profile->general;

            if (trace[i].kind != UPMU_SIM_RDMSR && trace[i].kind != UPMU_SIM_WRMSR)
                continue;
            assert_false(extended(&host) ? legacy : msr - 0xc0010200u < 0x20);
            if (trace[i].kind == UPMU_SIM_WRMSR && msr >= 0xc0010000u)
                assert_true(extended(&host) ? block : legacy);
        }
    }
}

/* 5 */
static void global_control_resets_to_ones_and_shows_no_counter_in_use(void **state)
{
    static const char *const profiles[] = {"zen4", "zen5", "zen6", "amd_kvm_v2", "amd_kvm_v2_few"};

    (void)state;
    for (unsigned p = 0; p < 5; p++) {
        struct host host;
        uint64_t all;

        host_prepare(&host, profiles[p]);
        all = (1u << host.sim.profile->general) - 1u;
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0xc0000301), all);
        follow(&host);
        host_start(&host);
        for (unsigned i = 0; i < host.sim.profile->general; i++)
            assert_int_equal(upmu_cpu_owner(&host.cpu[0], i), UPMU_OWNER_FREE, i);
        host_sample(&host, "branches", 1000);
        host_run(&host, 10000);
        host_end(&host);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0xc0000301), all);
        assert_true(host.sim.trace_count > 10 && host.sim.trace_count < TRACE);
        for (unsigned i = 0; i < host.sim.trace_count; i++) {
            bool written = trace[i].kind == UPMU_SIM_WRMSR;

            assert_false(written && trace[i].address == 0xc0000300, i); /* reads only */
            assert_false(written && trace[i].address == 0xc0000303, i);
            assert_false(trace[i].kind == UPMU_SIM_RDMSR && trace[i].address == 0xc0000302, i);
            if (written && trace[i].address == 0xc0000301)
                assert_int_equal(trace[i].value & ~all, 0, i);
        }
    }
}

/* Microcode may show bits that stand for nothing. */
static void status_bits_that_are_no_counters_are_no_overflow(void **state)
{
    struct host host;

    (void)state;
    host_prepare(&host, "zen4");
    host.sim.rule[UPMU_SIM_RULE_HAZARD_AMD_STATUS] = 1;
    upmu_sim_set_delivery(&host.sim, 0, UPMU_SIM_LVTPC_NMI);
    host_start(&host);
    host_sample(&host, "branches", 1000);
    upmu_sim_foreign_nmi(&host.sim);
    assert_int_equal(host.answer[0], UPMU_PMI_NOT_OURS);
    host_run(&host, 10000);
    assert_int_equal(host_drain(&host, NULL), 5);
    host_end(&host);
}

/* Left by other software: frozen, and about to freeze again. */
static void freezing_is_off_while_we_are_there(void **state)
{
    static const char *const profiles[] = {"zen4", "zen5"};

    (void)state;
    for (unsigned p = 0; p < 2; p++) {
        struct host host;

        host_prepare(&host, profiles[p]);
        upmu_sim_set_delivery(&host.sim, 0, UPMU_SIM_LVTPC_NMI);
        upmu_sim_poke(&host.sim, 0, 0x1d9, 0x1800);
        upmu_sim_poke(&host.sim, 0, 0xc0000300, UINT64_C(0x80000000000003f));
        host_start(&host);
        assert_int_equal(upmu_set_add(&host.other.set, "cycles", NULL), UPMU_OK);
        host_begin(&host, &host.other);
        host_sample(&host, "branches", 100);
        host_run(&host, 10000);
        assert_int_equal(host_value(&host.other, 0), 20000);
        assert_int_equal(host_drain(&host, NULL), 50);
        host_end(&host);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x1d9) & 0x1800, 0x1800);
    }
}

/* 6: no write faults because of a reserved bit, so the driver itself has to refuse them. */
static void reserved_bits_are_refused_before_they_are_written(void **state)
{
    static const uint64_t everywhere[] = {UINT64_C(1) << 21, UINT64_C(1) << 36, UINT64_C(1) << 39,
                                          UINT64_C(1) << 42, UINT64_C(1) << 44, UINT64_C(1) << 63};

    (void)state;
    for (unsigned p = 0; p < PROFILES; p++) {
        struct upmu_event event;
        struct host host;
        bool old;

        host_set_up(&host, all_profiles[p]);
        old = host.cpu[0].meter.pmu->family < 0x10;
        assert_int_equal(upmu_event_raw(host.cpu[0].meter.pmu, 0x300c0, 0, 0, &event), UPMU_OK);
        for (unsigned i = 0; i < sizeof everywhere / sizeof everywhere[0]; i++)
            assert_int_not_equal(upmu_event_raw(host.cpu[0].meter.pmu, 0x300c0 | everywhere[i], 0, 0, &event), UPMU_OK,
                                 i);
        /* Event bits 11:8 and those of guest and host came with family 10h. */
        assert_int_equal(upmu_event_raw(host.cpu[0].meter.pmu, UINT64_C(0x1000300d8), 0, 0, &event) == UPMU_OK, !old);
        if (old)
            assert_int_not_equal(upmu_event_raw(host.cpu[0].meter.pmu, UINT64_C(0x200000300c0), 0, 0, &event), UPMU_OK);
        host_end(&host);
    }
}

/* 7: without SVM a counter with either bit counts nothing. */
static void counters_count_whether_svm_is_on_or_off(void **state)
{
    static const char *const profiles[] = {"barcelona", "bulldozer", "zen2", "zen4"};

    (void)state;
    for (unsigned p = 0; p < 4; p++)
        for (unsigned svme = 0; svme < 2; svme++) {
            struct host host;

            host_prepare(&host, profiles[p]);
            upmu_sim_poke(&host.sim, 0, 0xc0000080, svme ? 0x1000 : 0);
            host_start(&host);
            assert_int_equal(upmu_set_add(&host.session.set, "instructions,branches:h=1", NULL), UPMU_OK);
            host_begin(&host, &host.session);
            host_run(&host, 1000);
            assert_int_equal(host_value(&host.session, 0), 1000);
            assert_int_equal(host_value(&host.session, 1), 500);
            /* What a guest does is not the host's. */
            if (svme) {
                host.sim.cpu[0].guest = true;
                host_run(&host, 1000);
                assert_int_equal(host_value(&host.session, 0), 2000);
                assert_int_equal(host_value(&host.session, 1), 500);
            }
            host_end(&host);
        }
}

/* ---- 8: northbridge events ---- */

static void two_cpus(struct host *host, const char *profile, struct upmu_domain *domain)
{
    struct upmu_domain *domains[2] = {domain, NULL};

    host_prepare(host, profile);
    host_machine(host);
    upmu_domain_init(domain, UPMU_SCOPE_NODE);
    for (unsigned i = 0; i < 2; i++) {
        upmu_sim_switch_cpu(&host->sim, i);
        assert_int_equal(upmu_cpu_init(&host->cpu[i], &host->machine, domains), UPMU_OK, i);
    }
    upmu_sim_switch_cpu(&host->sim, 0);
}

static void run_nb(struct host *host, uint64_t count)
{
    upmu_sim_events(&host->sim, &(struct upmu_sim_burst){
                                    .instructions = 1000,
                                    .cycles = 2000,
                                    .branches = 500,
                                    .other = {{.count = count, .event = 0xe0, .umask = 1, .unit = UPMU_SIM_UNIT_NB}}});
}

static void one_core_of_a_node_counts_northbridge_events(void **state)
{
    static const char *const profiles[] = {"k8_revb", "k8_revf", "barcelona", "griffin", "llano", "bobcat"};

    (void)state;
    for (unsigned p = 0; p < 6; p++) {
        static struct upmu_domain domain;
        struct host host;

        memset(&domain, 0, sizeof domain);
        two_cpus(&host, profiles[p], &domain);
        assert_int_equal(upmu_set_add(&host.session.set, "raw:config=0x301e0", NULL), UPMU_OK);
        assert_int_equal(upmu_set_add(&host.other.set, "raw:config=0x301e0", NULL), UPMU_OK);
        host_begin(&host, &host.session);
        run_nb(&host, 70);
        upmu_sim_switch_cpu(&host.sim, 1);
        assert_int_equal(upmu_session_attach_cpu(&host.other, &host.cpu[1]), UPMU_OK);
        assert_int_not_equal(upmu_session_start(&host.other), UPMU_OK); /* the node's is taken */
        run_nb(&host, 7);
        upmu_sim_switch_cpu(&host.sim, 0);
        assert_int_equal(host_value(&host.session, 0), 77);
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        upmu_sim_switch_cpu(&host.sim, 1);
        assert_int_equal(upmu_session_start(&host.other), UPMU_OK); /* and free again */
        run_nb(&host, 5);
        assert_int_equal(host_value(&host.other, 0), 5);
        assert_int_equal(upmu_session_stop(&host.other), UPMU_OK);
        assert_int_equal(upmu_cpu_fini(&host.cpu[1]), UPMU_OK);
        upmu_sim_switch_cpu(&host.sim, 0);
        host_end(&host);
    }
}

static void revision_e_loses_northbridge_counts_and_they_are_refused(void **state)
{
    struct upmu_event event;
    struct host host;

    (void)state;
    host_set_up(&host, "k8_reve");
    assert_int_not_equal(upmu_event_raw(host.cpu[0].meter.pmu, 0x301e0, 0, 0, &event), UPMU_OK);
    assert_int_equal(upmu_event_raw(host.cpu[0].meter.pmu, 0x301c0, 0, 0, &event), UPMU_OK);
    host_end(&host);
}

/* A counter that counts or requests interrupts is in use, and left running. */
static void counters_that_others_use_are_left_to_them(void **state)
{
    static const uint64_t selects[] = {0x430076, 0x130076, 0x530076};

    (void)state;
    for (unsigned p = 0; p < PROTOCOLS; p++)
        for (unsigned i = 0; i < 3; i++) {
            struct host host;

            host_prepare(&host, protocols[p]);
            upmu_sim_poke(&host.sim, 0, select_msr(&host, 1), selects[i]);
            host_start(&host);
            assert_int_equal(upmu_cpu_owner(&host.cpu[0], 1), UPMU_OWNER_FIRMWARE);
            assert_int_equal(upmu_cpu_owner(&host.cpu[0], 0), UPMU_OWNER_FREE);
            assert_int_equal(upmu_set_add(&host.session.set, "instructions,branches", NULL), UPMU_OK);
            host_begin(&host, &host.session);
            host_run(&host, 1000);
            assert_int_equal(host_value(&host.session, 0), 1000);
            assert_false(host.session.counters & 2u);
            assert_int_equal(upmu_sim_peek(&host.sim, 0, select_msr(&host, 1)), selects[i], i);
            assert_int_equal(upmu_sim_runs(&host.sim, 0, 1), selects[i] != 0x130076, i);
            host_end(&host);
        }
}

/* Capabilities of IBS whose bit 0 is clear say nothing: the oldest ones are taken (Linux ibs.c). */
static void ibs_capabilities_need_their_valid_bit(void **state)
{
    static const struct {
        uint32_t leaf, taken;
    } cases[] = {{0x1f, 0x1f}, {0x1e, 0x7}, {0, 0x7}, {0x3ff, 0x3ff}};

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct upmu_sim_profile profile = *upmu_sim_profile("llano");
        struct upmu_sim_amd_facts facts = *profile.amd;
        struct host host;

        facts.ibs = cases[i].leaf;
        profile.amd = &facts;
        host_prepare(&host, "llano");
        upmu_sim_init(&host.sim, &profile, 1);
        host.sim.test = &host;
        host.sim.deliver = host_deliver;
        upmu_sim_bind_cpu(&host.sim, 0, &host.cpu[0]);
        host_start(&host);
        assert_int_equal(host.cpu[0].meter.pmu->ibs, cases[i].taken, i);
        host_end(&host);
    }
}

/* ---- 9 ---- */

static void family_15h_counts_events_where_they_can_be_counted(void **state)
{
    static const struct {
        uint32_t config;
        uint32_t counters;
    } cases[] = {{0x00003, 0x08}, {0x00001, 0x38}, {0x00065, 0x07}, {0x00076, 0x07}, {0x00085, 0x07},
                 {0x000c0, 0x3f}, {0x00041, 0x3f}, {0x0002e, 0x09}, {0x000d0, 0x07}, {0x0008f, 0x01}};
    static const char *const profiles[] = {"bulldozer", "piledriver", "steamroller", "excavator"};

    (void)state;
    for (unsigned p = 0; p < 4; p++)
        for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            struct upmu_sim_burst burst = {.other = {{.count = 9, .event = (uint8_t)cases[i].config}}};
            struct upmu_event event;
            struct host host;

            host_set_up(&host, profiles[p]);
            assert_int_equal(upmu_event_raw(host.cpu[0].meter.pmu, cases[i].config, 0, 0, &event), UPMU_OK, i);
            assert_int_equal(event.counters, cases[i].counters, i);
            assert_int_equal(upmu_set_add_event(&host.session.set, &event, NULL), UPMU_OK);
            host_begin(&host, &host.session);
            upmu_sim_events(&host.sim, &burst);
            assert_int_equal(host_value(&host.session, 0), 9);
            host_end(&host);
        }
}

static void northbridge_events_are_refused_on_core_counters_of_15h(void **state)
{
    static const char *const profiles[] = {"bulldozer", "jaguar"};

    (void)state;
    for (unsigned p = 0; p < 2; p++) {
        struct upmu_event event;
        struct host host;

        host_set_up(&host, profiles[p]);
        assert_int_not_equal(upmu_event_raw(host.cpu[0].meter.pmu, 0x301e0, 0, 0, &event), UPMU_OK);
        host_end(&host);
    }
}

/* ---- 10 ---- */

static const char *const merging[] = {"zen1", "zen2", "hygon", "zen3", "zen4", "zen5", "zen6", "amd_kvm_v2_few"};
#define MERGING (sizeof merging / sizeof merging[0])

static void run_wide(struct host *host, uint64_t count)
{
    upmu_sim_events(&host->sim, &(struct upmu_sim_burst){.instructions = 100,
                                                         .cycles = 200,
                                                         .per_cycle = 30,
                                                         .other = {{.count = count, .event = 0x03, .umask = 0xff}}});
}

static void large_increments_have_a_pair_of_counters(void **state)
{
    (void)state;
    for (unsigned p = 0; p < MERGING; p++) {
        struct host host;
        unsigned counter;

        host_set_up(&host, merging[p]);
        assert_int_equal(upmu_set_add(&host.session.set, "raw:config=0x3ff03", NULL), UPMU_OK);
        host_begin(&host, &host.session);
        counter = host.session.set.tally[0].counter;
        assert_int_equal(counter & 1u, 0);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, select_msr(&host, counter + 1)), UINT64_C(0xf004000ff));
        for (unsigned i = 1; i <= 3; i++) {
            run_wide(&host, 6000);
            assert_int_equal(host_value(&host.session, 0), i * 6000, i);
            assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
            run_wide(&host, 6000);
            assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
        }
        host_end(&host);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, select_msr(&host, counter + 1)), 0);
    }
}

/* The pair overflows when its odd half does: loaded with FFFFh each time. */
static void large_increments_are_sampled(void **state)
{
    (void)state;
    for (unsigned p = 0; p < MERGING; p++) {
        struct host host;

        set_up_for_nmi(&host, merging[p]);
        host_sample(&host, "raw:config=0x3ff03", 1000);
        for (unsigned i = 0; i < 100; i++)
            run_wide(&host, 240);
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        assert_int_equal(host_value(&host.session, 0), 24000);
        assert_int_equal(host_drain(&host, NULL), 24);
        host_end(&host);
    }
}

/*
 * Where wraps interrupt, a pair that only counts does so with each round of its even half.  Catches: an odd half that
 * is loaded once.
 */
static void large_increments_go_round_again_and_again(void **state)
{
    (void)state;
    for (unsigned p = 0; p < MERGING; p++) {
        struct host host;
        unsigned counter;
        uint64_t before;

        set_up_for_nmi(&host, merging[p]);
        assert_int_equal(upmu_set_add(&host.session.set, "raw:config=0x3ff03", NULL), UPMU_OK);
        host_begin(&host, &host.session);
        counter = host.session.set.tally[0].counter;
        for (unsigned i = 1; i <= 3 && (host.cpu[0].meter.pmu->capabilities & UPMU_PMU_STATUS); i++) {
            host.sim.cpu[0].counter[counter].value = (UINT64_C(1) << 48) - 100;
            assert_int_equal(upmu_cpu_poll(&host.cpu[0]), UPMU_OK);
            before = host_value(&host.session, 0);
            run_wide(&host, 6000);
            assert_int_equal(host.answers, i);
            assert_int_equal(host.answer[i - 1], UPMU_PMI_HANDLED, i);
            assert_int_equal(host_value(&host.session, 0) - before, 6000);
        }
        host_end(&host);
    }
}

/* Beside other sessions, which come and go and have to move. */
static void pairs_leave_others_alone(void **state)
{
    (void)state;
    for (unsigned p = 0; p < MERGING; p++) {
        struct host host;

        host_set_up(&host, merging[p]);
        assert_int_equal(upmu_set_add(&host.other.set, "instructions,cycles:counter=1", NULL), UPMU_OK);
        assert_int_equal(upmu_set_add(&host.session.set, "raw:config=0x3ff03", NULL), UPMU_OK);
        host_begin(&host, &host.other);
        host_begin(&host, &host.session);
        run_wide(&host, 6000);
        assert_int_equal(upmu_session_stop(&host.other), UPMU_OK);
        run_wide(&host, 6000);
        assert_int_equal(upmu_session_start(&host.other), UPMU_OK);
        run_wide(&host, 6000);
        assert_int_equal(host_value(&host.session, 0), 18000);
        assert_int_equal(host_value(&host.other, 0), 200);
        assert_int_equal(host_value(&host.other, 1), 400);
        host_end(&host);
    }
}

/* 11: registers of the node are not accessed here. */
static void uncore_registers_are_left_alone(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PROFILES; p++) {
        struct host host;

        host_prepare(&host, all_profiles[p]);
        follow(&host);
        host_start(&host);
        host_sample(&host, "branches", 1000);
        host_run(&host, 10000);
        host_end(&host);
        assert_true(host.sim.trace_count > 10 && host.sim.trace_count < TRACE);
        for (unsigned i = 0; i < host.sim.trace_count; i++) {
            uint32_t msr = trace[i].address;

            if (trace[i].kind == UPMU_SIM_RDMSR || trace[i].kind == UPMU_SIM_WRMSR) {
                assert_compare(msr - 0xc0010230u, >=, 0x30); /* L2I, L3, northbridge, data fabric */
                assert_compare(msr - 0xc0010800u, >=, 0x80); /* memory controllers */
            } else if (trace[i].kind == UPMU_SIM_RDPMC) {
                assert_compare(msr, <, host.sim.profile->general);
            }
        }
    }
}

/* 12: what drivers of others got wrong in the select. */
static uint64_t select_of(const char *profile, const char *text)
{
    struct upmu_event event;
    struct upmu_pmu pmu;

    assert_int_equal(upmu_pmu_by_name(&pmu, profile), UPMU_OK);
    if (upmu_event_parse(&pmu, text, &event, NULL) != UPMU_OK)
        fail_msg("%s: %s is not known", profile, text);
    return event.config;
}

static void defects_of_other_drivers_are_not_repeated(void **state)
{
    (void)state;
    /* A counter mask is kept beside a unit mask. */
    assert_int_equal(select_of("amd64_k8_revc", "raw:config=0x31fcc:c=3") & 0xff00ffff, 0x03001fcc);
    /* Event bits 11:8 are bits 35:32, not 43:40. */
    assert_int_equal(select_of("amd64_fam10h_shanghai", "raw:config=0x4000307e0") & ~UINT64_C(0x30000),
                     UINT64_C(0x4000007e0));
    /* branches are retired branches, not taken ones; cycles are not the time-stamp counter. */
    assert_int_equal(select_of("amd64_k8_revc", "branches") & 0xffff, 0xc2);
    assert_int_equal(select_of("amd64_k8_revc", "cycles") & 0xffff, 0x76);
    assert_int_equal(select_of("amd64_fam17h_zen2", "branch-misses") & 0xffff, 0xc3);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_model_counts_and_is_given_back),
        cmocka_unit_test(lvtpc_need_not_be_masked_by_delivery),
        cmocka_unit_test(an_overflow_inside_the_handler_is_not_lost),
        cmocka_unit_test(a_late_nmi_is_stale_and_later_ones_are_not_ours),
        cmocka_unit_test(one_nmi_may_stand_for_two_overflows),
        cmocka_unit_test(a_counting_counter_is_never_taken_for_overflowed),
        cmocka_unit_test(one_set_of_registers_is_used_and_the_right_one),
        cmocka_unit_test(global_control_resets_to_ones_and_shows_no_counter_in_use),
        cmocka_unit_test(status_bits_that_are_no_counters_are_no_overflow),
        cmocka_unit_test(freezing_is_off_while_we_are_there),
        cmocka_unit_test(reserved_bits_are_refused_before_they_are_written),
        cmocka_unit_test(counters_count_whether_svm_is_on_or_off),
        cmocka_unit_test(one_core_of_a_node_counts_northbridge_events),
        cmocka_unit_test(revision_e_loses_northbridge_counts_and_they_are_refused),
        cmocka_unit_test(counters_that_others_use_are_left_to_them),
        cmocka_unit_test(ibs_capabilities_need_their_valid_bit),
        cmocka_unit_test(family_15h_counts_events_where_they_can_be_counted),
        cmocka_unit_test(northbridge_events_are_refused_on_core_counters_of_15h),
        cmocka_unit_test(large_increments_have_a_pair_of_counters),
        cmocka_unit_test(large_increments_are_sampled),
        cmocka_unit_test(large_increments_go_round_again_and_again),
        cmocka_unit_test(pairs_leave_others_alone),
        cmocka_unit_test(uncore_registers_are_left_alone),
        cmocka_unit_test(defects_of_other_drivers_are_not_repeated),
    };

    return cmocka_run_group_tests_name("amd_pitfalls", tests, NULL, NULL);
}
