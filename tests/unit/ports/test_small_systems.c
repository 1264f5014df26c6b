/* SPDX-License-Identifier: MIT */
/*
 * What a small system has: three hooks, no interrupts, memory that was not cleared,
 * registers as other software left them.  (The first ports of PMCTools to Minix had no
 * more than that.)
 */
#include <upmu/event.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include "tests/common/host.h"

#include "core/util/bits.h"

static const char *const profiles[] = {"skylake",  "icelake", "nehalem", "core2", "merom_early",
                                       "version1", "k8_revf", "zen2",    "zen4"};
#define EACH(profile) for (unsigned profile = 0; profile < sizeof profiles / sizeof profiles[0]; profile++)

/* The global register. */
static uint32_t global_of(const struct host *host)
{
    return host->sim.profile->amd ? 0xc0000301u : 0x38f;
}

/* rdmsr, wrmsr, cpuid; interrupts are off. */
static void three_hooks(struct host *host, const char *profile)
{
    host_prepare(host, profile);
    host->sim.port.this_cpu = NULL;
    host->sim.port.irq_save = NULL;
    host->sim.port.irq_restore = NULL;
    host->sim.port.rdpmc = NULL;
    host->sim.port.pmi_rearm = NULL;
    host->sim.port.clock_ns = NULL;
    host->sim.port.run_on_cpu = NULL;
    host->sim.port.log = NULL;
    upmu_sim_irqs(&host->sim, false);
}

static void add(struct upmu_session *session, const char *list)
{
    assert_int_equal(upmu_set_add(&session->set, list, NULL), UPMU_OK);
}

/* ---- Three hooks ---- */

static void three_hooks_count_whatever_the_cpu_runs(void **state)
{
    (void)state;
    EACH(p)
    {
        struct upmu_sampling sampling = {.period = 1000};
        struct upmu_count count;
        struct host host;

        three_hooks(&host, profiles[p]);
        host_start(&host);
        assert_int_equal(upmu_set_add(&host.session.set, "branches", &sampling), UPMU_ERR_HOOK_MISSING);
        add(&host.session, "instructions,branches");
        host_begin(&host, &host.session);
        upmu_sim_events(&host.sim, &(struct upmu_sim_burst){.instructions = 100, .cycles = 150, .branches = 10});
        upmu_sim_events(&host.sim,
                        &(struct upmu_sim_burst){.instructions = 7, .cycles = 9, .branches = 3, .user = true});
        assert_int_equal(host_value(&host.session, 0), 107);
        assert_int_equal(host_value(&host.session, 1), 13);
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        assert_int_equal(upmu_set_read(&host.session.set, 1, 1, &count), UPMU_OK);
        assert_int_equal(count.quality, UPMU_QUALITY_EXACT);
        assert_int_equal(count.value, 13);
        assert_true(count.enabled_ns == 0 && count.running_ns == 0);
        assert_int_equal(host.sim.access_count[UPMU_SIM_RDPMC], 0);
        assert_int_equal(host.sim.cpu[0].interrupts, 0);
        host_end(&host);
    }
}

/* The same event for the whole CPU, for ring 3, for ring 0. */
static void a_privilege_is_the_only_mode_a_counted_event_has(void **state)
{
    (void)state;
    EACH(p)
    for (unsigned mode = 0; mode < 3; mode++) {
        static const char *const event[] = {"branches", "branches:u", "branches:k"};
        static const unsigned expected[] = {13, 3, 10};
        struct host host;

        three_hooks(&host, profiles[p]);
        host_start(&host);
        add(&host.session, event[mode]);
        assert_int_equal(host.session.set.sampling[0].period, 0);
        host_begin(&host, &host.session);
        upmu_sim_events(&host.sim, &(struct upmu_sim_burst){.instructions = 100, .cycles = 150, .branches = 10});
        upmu_sim_events(&host.sim,
                        &(struct upmu_sim_burst){.instructions = 7, .cycles = 9, .branches = 3, .user = true});
        assert_int_equal(host_value(&host.session, 0), expected[mode], mode);
        host_end(&host);
    }
}

/* Of one counter's range, poll at half of it: several wraps are counted; without polls they are lost. */
static void polling_makes_64_bits_of_counters_that_wrap(void **state)
{
    (void)state;
    EACH(p)
    for (unsigned polled = 0; polled < 2; polled++) {
        struct host host;
        unsigned width;
        uint64_t step;

        three_hooks(&host, profiles[p]);
        host_start(&host);
        add(&host.session, "branches,instructions");
        host_begin(&host, &host.session);
        width = host.cpu[0].meter.pmu->counter[host.session.set.tally[1].counter].width;
        assert_true(width == 40 || width == 48);
        step = UINT64_C(1) << (width - 1);
        for (unsigned i = 0; i < 7; i++) {
            host_run(&host, step);
            if (polled)
                assert_int_equal(upmu_cpu_poll(&host.cpu[0]), UPMU_OK);
        }
        if (polled) {
            assert_int_equal(host_value(&host.session, 1), 7 * step);
            assert_int_equal(host_value(&host.session, 0), 7 * (step / 2));
        } else {
            assert_compare(host_value(&host.session, 1), <, 2 * step);
        }
        assert_int_equal(host.sim.cpu[0].interrupts, 0);
        host_end(&host);
    }
}

/* ---- Registers ---- */

/* General counter n. */
static uint32_t counter_of(const struct upmu_sim *sim, unsigned n)
{
    if (!sim->profile->amd)
        return 0xc1 + n;
    return sim->profile->general == 4 ? 0xc0010004u + n : 0xc0010201u + 2 * n;
}

/* Whatever they held; and a counter that samples is loaded before its gate opens. */
static void counts_begin_at_0_and_loads_come_before_gates(void **state)
{
    (void)state;
    EACH(p)
    for (unsigned sampled = 0; sampled < 2; sampled++) {
        struct upmu_sampling sampling = {.period = sampled ? 100000 : 0};
        struct upmu_sim_access trace[64];
        const struct upmu_counter *counter;
        const struct upmu_pmu *pmu;
        unsigned loaded = 0, opened = 0;
        struct host host;

        host_prepare(&host, profiles[p]);
        for (unsigned i = 0; i < host.sim.profile->general; i++)
            upmu_sim_poke(&host.sim, 0, counter_of(&host.sim, i), UINT64_C(0x123456789a) + i);
        host_start(&host);
        assert_int_equal(upmu_set_add(&host.session.set, "branches", &sampling), UPMU_OK);
        assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
        host.sim.trace = trace;
        host.sim.trace_size = 64;
        host.sim.trace_count = 0;
        host_begin(&host, &host.session);
        host.sim.trace_size = 0;
        pmu = host.cpu[0].meter.pmu;
        counter = &pmu->counter[host.session.set.tally[0].counter];
        for (unsigned i = 0; i < host.sim.trace_count; i++) {
            if (trace[i].kind != UPMU_SIM_WRMSR)
                continue;
            if (trace[i].address == upmu_register_address(pmu, counter->write_row) ||
                trace[i].address == upmu_register_address(pmu, counter->value_row)) {
                assert_true(opened == 0 || pmu->capabilities & UPMU_PMU_PRELUDE);
                loaded++;
            }
            if (trace[i].address == upmu_register_address(pmu, counter->gate_row))
                opened += trace[i].value >> counter->gate_bit & 1u;
        }
        if (!(pmu->capabilities & UPMU_PMU_PRELUDE)) { /* (an erratum's sequence opens counters that count nothing) */
            assert_int_equal(loaded, sampled);
            assert_int_equal(opened, 1);
        }
        assert_int_equal(host_value(&host.session, 0), 0);
        host_run(&host, 1000);
        assert_int_equal(host_value(&host.session, 0), 500);
        host_end(&host);
    }
}

/* General counter n by ECX = n, fixed counter i by 40000000h + i. */
static void counters_are_read_by_the_index_of_their_kind(void **state)
{
    (void)state;
    EACH(p)
    {
        struct upmu_sim_access trace[8];
        const struct upmu_pmu *pmu;
        struct host host;

        host_set_up(&host, profiles[p]);
        pmu = host.cpu[0].meter.pmu;
        for (uint32_t rest = pmu->counters & ~UPMU_METRIC_COUNTERS(pmu); rest; rest &= rest - 1u) {
            unsigned n = upmu_bits_lowest(rest);

            assert_int_equal(pmu->counter[n].rdpmc, pmu->general >> n & 1u ? n : 0x40000000u + (n - UPMU_SIM_FIXED), n);
        }
        add(&host.session, "instructions,branches");
        host_begin(&host, &host.session);
        host.sim.trace = trace;
        host.sim.trace_size = 8;
        host.sim.trace_count = 0;
        for (unsigned i = 0; i < 2; i++) {
            (void)host_value(&host.session, i);
            assert_int_equal(host.sim.trace_count, i + 1, i);
            assert_int_equal(trace[i].kind, UPMU_SIM_RDPMC, i);
            assert_int_equal(trace[i].address, pmu->counter[host.session.set.tally[i].counter].rdpmc, i);
            assert_false(trace[i].faulted, i);
        }
        host.sim.trace_size = 0;
        host_end(&host);
    }
}

/*
 * Intel SDM vol 3 (325384-059) 18.2.1: IA32_PMCn at C1h + n, IA32_PERFEVTSELn at 186h + n;
 * version 6 (Linux arch/x86/include/asm/msr-index.h): at 1900h + 4n and 1901h + 4n;
 * 18.15: of NetBurst's 18, counter n at 300h + n, its CCCR at 360h + n.  AMD APM vol 2
 * 13.2: four legacy counters, else C001_0200h + 2n and the next.
 */
static void each_general_counter_has_an_event_register_of_its_own(void **state)
{
    const char *name;
    unsigned seen = 0;

    (void)state;
    for (unsigned i = 0; (name = upmu_pmu_known(i)) != NULL; i++) {
        struct upmu_pmu pmu;

        assert_int_equal(upmu_pmu_by_name(&pmu, name), UPMU_OK);
        if (pmu.capabilities & UPMU_PMU_PAGE) /* it has no such registers */
            continue;
        for (uint32_t rest = pmu.general; rest; rest &= rest - 1u) {
            unsigned n = upmu_bits_lowest(rest), value = pmu.family == 15 ? 0x300 : 0xc1;
            unsigned select = pmu.family == 15 ? 0x360 : 0x186;

            if (pmu.counter[n].rdpmc == n && upmu_register_address(&pmu, pmu.counter[0].value_row) >= 0xc0000000) {
                bool legacy = upmu_bits_count(pmu.general) == 4;

                value = legacy ? 0xc0010004 : 0xc0010201 + n;
                select = legacy ? 0xc0010000 : 0xc0010200 + n;
            } else if (pmu.version == 6) {
                value = 0x1900 + 3 * n;
                select = 0x1901 + 3 * n;
            }
            assert_int_equal(upmu_register_address(&pmu, pmu.counter[n].value_row), value + n, n);
            assert_int_equal(upmu_register_address(&pmu, pmu.counter[n].select_row), select + n, n);
            seen++;
        }
    }
    assert_compare(seen, >=, 12);
}

/*
 * Bits of the global register that were never set keep counters off, however their
 * selects are; upmu opens a bit with the start, not from its init on, so that what
 * is stopped costs nothing.  Beside a counter that the host has reserved the register
 * is read before it is written.
 */
static void the_global_register_may_hold_nothing_or_everything(void **state)
{
    (void)state;
    EACH(p)
    for (unsigned way = 0; way < 4; way++) {
        bool all = way & 1u, watched = way & 2u;
        const struct upmu_pmu *pmu;
        struct upmu_sim_access trace[64];
        uint64_t before, gates = 0;
        unsigned read = 0;
        struct host host;

        host_prepare(&host, profiles[p]);
        assert_int_equal(upmu_machine_init(&host.machine, upmu_sim_port(&host.sim)), UPMU_OK);
        assert_int_equal(upmu_cpu_init(&host.cpu[0], &host.machine, NULL), UPMU_OK);
        pmu = host.cpu[0].meter.pmu;
        if (!(pmu->capabilities & UPMU_PMU_GLOBAL_CTRL))
            continue;
        for (uint32_t rest = pmu->counters; rest; rest &= rest - 1u)
            gates |= UPMU_BIT64(pmu->counter[upmu_bits_lowest(rest)].gate_bit);
        assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
        before = all ? gates : 0;
        upmu_sim_poke(&host.sim, 0, global_of(&host), before);
        host_start(&host);
        if (watched)
            assert_int_equal(upmu_cpu_reserve(&host.cpu[0], 2), UPMU_OK);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, global_of(&host)) & gates, 0);
        add(&host.session, "instructions,branches");
        host.sim.trace = trace;
        host.sim.trace_size = 64;
        host.sim.trace_count = 0;
        host_begin(&host, &host.session);
        host.sim.trace_size = 0;
        for (unsigned i = 0; i < host.sim.trace_count; i++)
            read += trace[i].kind == UPMU_SIM_RDMSR && trace[i].address == global_of(&host);
        /* (Nehalem's sequence for its errata reads it once.) */
        assert_int_equal(read > (pmu->capabilities & UPMU_PMU_PRELUDE ? 1u : 0u), watched, way);
        gates = 0;
        for (unsigned i = 0; i < 2; i++)
            gates |= UPMU_BIT64(pmu->counter[host.session.set.tally[i].counter].gate_bit);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, global_of(&host)), gates);
        host_run(&host, 1000);
        assert_int_equal(host_value(&host.session, 0), 1000);
        assert_int_equal(host_value(&host.session, 1), 500);
        if (watched)
            upmu_cpu_unreserve(&host.cpu[0], 2);
        host_end(&host);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, global_of(&host)), before);
    }
}

/* ---- Time ---- */

/* The clock goes on, no event happens.  A port without RDPMC makes each count a read of its own. */
static void halted_time_is_in_no_count(void **state)
{
    (void)state;
    EACH(p)
    {
        for (unsigned rdpmc = 0; rdpmc < 2; rdpmc++) {
            struct upmu_count counts[2];
            struct host host;

            host_prepare(&host, profiles[p]);
            if (!rdpmc)
                host.sim.port.rdpmc = NULL;
            host_start(&host);
            add(&host.session, "cycles,instructions");
            host_begin(&host, &host.session);
            host_run(&host, 1000);
            upmu_sim_advance_ns(&host.sim, 1000000);
            assert_int_equal(upmu_set_read(&host.session.set, 0, 2, counts), UPMU_OK);
            assert_int_equal(counts[0].value, 2000);
            assert_int_equal(counts[1].value, 1000);
            assert_compare(counts[0].enabled_ns, >=, 1000000);
            assert_int_equal(counts[0].running_ns, counts[0].enabled_ns);
            assert_int_equal(counts[0].quality, UPMU_QUALITY_EXACT);
            host_run(&host, 500);
            assert_int_equal(host_value(&host.session, 0), 3000);
            host_end(&host);
        }
    }
}

/* ---- Memory ---- */

/* Everything that the library fills in, on memory that holds `fill`. */
static void use_memory_of(unsigned char fill, const char *profile, uint64_t out[6])
{
    struct upmu_count counts[2];
    struct upmu_region *region;
    struct upmu_event event;
    struct upmu_why why;
    struct host host;
    struct upmu_region room;

    host_prepare(&host, profile);
    memset(&host.machine, fill, sizeof host.machine);
    memset(&host.cpu[0], fill, sizeof host.cpu[0]);
    memset(&host.session, fill, sizeof host.session);
    memset(&host.other, fill, sizeof host.other);
    memset(host.ring, fill, sizeof host.ring);
    memset(counts, fill, sizeof counts);
    memset(&event, fill, sizeof event);
    memset(&why, fill, sizeof why);
    region = memset(&room, fill, sizeof room);
    host_start(&host);
    assert_int_equal(upmu_event_parse(host.cpu[0].meter.pmu, "branches", &event, &why), UPMU_OK);
    assert_int_equal(why.status, UPMU_OK);
    assert_int_equal(upmu_set_add_event(&host.session.set, &event, &(struct upmu_sampling){.period = 100}), UPMU_OK);
    add(&host.session, "cycles");
    assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
    host_begin(&host, &host.session);
    host_run(&host, 1000);
    assert_int_equal(upmu_set_read(&host.session.set, 0, 2, counts), UPMU_OK);
    out[0] = counts[0].value;
    out[1] = counts[1].value;
    out[2] = counts[0].error + counts[1].error + (uint64_t)counts[0].quality + (uint64_t)counts[1].quality;
    out[3] = host_drain(&host, NULL);
    assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
    assert_int_equal(upmu_region_open(region, &host.cpu[0], "instructions"), UPMU_OK);
    assert_int_equal(upmu_region_begin(region), UPMU_OK);
    host_run(&host, 300);
    assert_int_equal(upmu_region_end(region), UPMU_OK);
    out[4] = region->count[0].value;
    assert_int_equal(upmu_region_close(region), UPMU_OK);
    out[5] = host.sim.accesses;
    host_end(&host);
}

static void memory_that_nobody_cleared_makes_no_difference(void **state)
{
    static const unsigned char fills[] = {0xa5, 0xff, 0x01};

    (void)state;
    EACH(p)
    {
        uint64_t expected[6], got[6];

        use_memory_of(0, profiles[p], expected);
        assert_int_equal(expected[0], 500);
        assert_int_equal(expected[1], 2000);
        assert_int_equal(expected[2], 0);
        assert_int_equal(expected[3], 5);
        assert_int_equal(expected[4], 300);
        for (unsigned i = 0; i < sizeof fills; i++) {
            use_memory_of(fills[i], profiles[p], got);
            assert_memory_equal(got, expected, sizeof got);
        }
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_hooks_count_whatever_the_cpu_runs),
        cmocka_unit_test(a_privilege_is_the_only_mode_a_counted_event_has),
        cmocka_unit_test(polling_makes_64_bits_of_counters_that_wrap),
        cmocka_unit_test(counts_begin_at_0_and_loads_come_before_gates),
        cmocka_unit_test(counters_are_read_by_the_index_of_their_kind),
        cmocka_unit_test(each_general_counter_has_an_event_register_of_its_own),
        cmocka_unit_test(the_global_register_may_hold_nothing_or_everything),
        cmocka_unit_test(halted_time_is_in_no_count),
        cmocka_unit_test(memory_that_nobody_cleared_makes_no_difference),
    };

    return cmocka_run_group_tests_name("small_systems", tests, NULL, NULL);
}
