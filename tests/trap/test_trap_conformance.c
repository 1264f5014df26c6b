/* SPDX-License-Identifier: MIT */
/*
 * The published list of what Intel's PMU registers do (kvm-unit-tests x86/pmu.c; Linux
 * tools/testing/selftests/kvm/x86/pmu_counters_test.c, vmx_pmu_caps_test.c; Intel SDM vol
 * 3), case by case: the driver gets its work done within it, by real instructions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tests/common/assertions.h"
#include <upmu/cpu.h>
#include <upmu/session.h>
#include <upmu/set.h>

#include "tests/common/workload.h"
#include "tests/trap/trap.h"

#define PERIOD 100u
#define LOG 8192u

static struct trap trap;
static struct upmu_sim_access accesses[LOG];

static void up(const char *profile)
{
    trap_prepare(&trap, profile);
    trap.safe_faults = true;
    trap.sim.trace = accesses;
    trap.sim.trace_size = LOG;
    trap_up(&trap);
}

/* Writes that fault are a violation of the caller's: forgiven if a test made them on purpose. */
static void down(void)
{
    if (trap.faults)
        trap.sim.violation_count = 0;
    trap_down(&trap);
}

static bool rdmsr(uint32_t msr, uint64_t *out_value)
{
    uintptr_t flags = upmu_x86_irq_save();
    bool done = trap.port.rdmsr(trap.port.context, msr, out_value);

    upmu_x86_irq_restore(flags);
    return done;
}

static bool wrmsr(uint32_t msr, uint64_t value)
{
    uintptr_t flags = upmu_x86_irq_save();
    bool done = trap.port.wrmsr(trap.port.context, msr, value);

    upmu_x86_irq_restore(flags);
    return done;
}

static bool rdpmc(uint32_t index, uint64_t *out_value)
{
    uintptr_t flags = upmu_x86_irq_save();
    bool done = trap.port.rdpmc(trap.port.context, index, out_value);

    upmu_x86_irq_restore(flags);
    return done;
}

static uint64_t msr(uint32_t address)
{
    uint64_t value = 0;

    assert_true(rdmsr(address, &value));
    return value;
}

/* Writes of the driver to one register; the last value in *out_value (may be NULL). */
static unsigned writes_to(uint32_t address, uint64_t *out_value)
{
    unsigned writes = 0;

    assert_compare(trap.sim.trace_count, <, LOG);
    for (uint32_t i = 0; i < trap.sim.trace_count; i++)
        if (accesses[i].kind == UPMU_SIM_WRMSR && accesses[i].address == address) {
            writes++;
            if (out_value)
                *out_value = accesses[i].value;
        }
    return writes;
}

/* Start, workload, stop. */
static void measure(uint32_t passes)
{
    trap_step_on(&trap);
    assert_int_equal(upmu_session_start(&trap.session), UPMU_OK);
    workload(passes);
    assert_int_equal(upmu_session_stop(&trap.session), UPMU_OK);
    trap_step_off(&trap);
}

static unsigned samples(void)
{
    struct upmu_sample sample;
    unsigned found = 0;

    while (upmu_ring_next(&trap.session.ring, &sample))
        found++;
    return found;
}

/* 1 */
static void rdpmc_gives_what_rdmsr_gives(void **state)
{
    static const char *const profiles[] = {"core2", "nehalem", "skylake", "icelake"};

    (void)state;
    for (unsigned p = 0; p < 4; p++) {
        unsigned general = upmu_sim_profile(profiles[p])->general;

        for (unsigned n = 0; n<general; n += general> 4 ? 3 : 1) {
            uint64_t value = 0, before;
            char list[48];

            up(profiles[p]);
            snprintf(list, sizeof list, "instructions:counter=%u", n);
            trap_session(&trap, list, 0);
            before = msr(0xc1 + n);
            trap.sim.trace_count = 0;
            measure(20);
            assert_int_equal(trap_value(&trap, 0), msr(0xc1 + n) - before, n);
            assert_compare(trap.cpu.meter.bank.accesses.rdpmcs, >, 0);
            assert_int_equal(trap_value(&trap, 0), trap_between(&trap) + 1);
            assert_true(rdpmc(n, &value), n);
            assert_int_equal(value, msr(0xc1 + n), n);
            assert_int_equal(trap.faults, 0);
            assert_false(rdpmc(64, &value));
            assert_false(rdpmc(general, &value));
            down();
        }
    }
}

static void fixed_counters_by_rdpmc(void **state)
{
    uint64_t value = 0;

    (void)state;
    up("skylake");
    trap_session(&trap, "instructions", 0);
    measure(20);
    assert_int_equal(trap.session.set.tally[0].counter, UPMU_FIXED_COUNTER(0));
    assert_true(rdpmc(1u << 30, &value));
    assert_int_equal(value, msr(0x309));
    assert_int_equal(trap_value(&trap, 0), trap_between(&trap) + 1);
    down();
}

/* 2, 12 */
static void a_legacy_write_carries_a_period_of_31_bits(void **state)
{
    static const char *const profiles[] = {"core2", "nehalem", "skylake_nofw"};

    (void)state;
    for (unsigned p = 0; p < 3; p++) {
        uint64_t written = 0, mask = (UINT64_C(1) << upmu_sim_profile(profiles[p])->general_width) - 1;

        up(profiles[p]);
        trap_session(&trap, "instructions:counter=0", 0x76543211);
        assert_int_equal(upmu_session_start(&trap.session), UPMU_OK);
        assert_compare(writes_to(0xc1, &written), >, 0);
        assert_int_equal(msr(0xc1), -UINT64_C(0x76543211) & mask);
        assert_int_equal(upmu_session_stop(&trap.session), UPMU_OK);
        assert_int_equal(writes_to(0x4c1, NULL), 0);
        assert_int_equal(trap.faults, 0);
        assert_false(wrmsr(0x4c1, 1));
        down();
    }
}

/* What does not fit into 31 bits is waited for in parts, each of which has its top bit. */
static void a_longer_period_is_loaded_in_parts(void **state)
{
    (void)state;
    up("nehalem");
    trap_session(&trap, "instructions:counter=0", UINT64_C(0x5000000000));
    assert_int_equal(upmu_session_start(&trap.session), UPMU_OK);
    assert_true(msr(0xc1) >> 47 == 1 && (msr(0xc1) >> 31 & 1) == 1);
    trap_step_on(&trap);
    workload(20);
    trap_step_off(&trap);
    assert_int_equal(upmu_session_stop(&trap.session), UPMU_OK);
    assert_int_equal(samples(), 0);
    assert_compare(trap_value(&trap, 0), >=, 20 * WORKLOAD_INSTRUCTIONS);
    assert_int_equal(trap.faults, 0);
    down();
}

/* 3 */
static void a_full_width_write_never_exceeds_the_width(void **state)
{
    static const char *const profiles[] = {"skylake", "skylake_smtoff", "icelake"};

    (void)state;
    for (unsigned p = 0; p < 3; p++) {
        uint64_t written = 0;

        up(profiles[p]);
        trap_session(&trap, "instructions:counter=0", UINT64_C(0x123456789a));
        assert_int_equal(upmu_session_start(&trap.session), UPMU_OK);
        assert_compare(writes_to(0x4c1, &written), >, 0);
        assert_int_equal(written, -UINT64_C(0x123456789a) & UINT64_C(0xffffffffffff));
        assert_int_equal(msr(0xc1), written);
        assert_int_equal(msr(0x4c1), written);
        assert_int_equal(upmu_session_stop(&trap.session), UPMU_OK);
        assert_int_equal(trap.faults, 0);
        assert_false(wrmsr(0x4c1, UINT64_C(0xffffff0123456789)));
        down();
    }
}

/* 4: with and without an interrupt asked for */
static void every_counter_overflows_as_asked(void **state)
{
    static const char *const profiles[] = {"core2", "skylake"};

    (void)state;
    for (unsigned p = 0; p < 2; p++)
        for (unsigned n = 0; n <= upmu_sim_profile(profiles[p])->general; n++) {
            bool fixed = n == upmu_sim_profile(profiles[p])->general;
            char list[48] = "instructions";

            up(profiles[p]);
            if (!fixed)
                snprintf(list, sizeof list, "instructions:counter=%u", n);
            trap_session(&trap, list, PERIOD);
            measure(100);
            assert_int_equal(trap_value(&trap, 0), trap_between(&trap) + 1);
            assert_int_equal(samples(), trap_value(&trap, 0) / PERIOD);
            assert_int_equal(trap.interrupts, trap_value(&trap, 0) / PERIOD);
            assert_int_equal(upmu_session_close(&trap.session), UPMU_OK);
            trap.was_enabled = false;
            trap_session(&trap, list, 0);
            measure(10);
            assert_int_equal(trap_value(&trap, 0), trap_between(&trap) + 1);
            assert_int_equal(trap.faults, 0);
            down();
        }
}

/* A counting counter that wraps is folded in its interrupt, and nothing is sampled. */
static void a_counting_counter_that_wraps_goes_on(void **state)
{
    (void)state;
    trap_prepare(&trap, "skylake");
    upmu_sim_poke(&trap.sim, 0, 0xc2, UINT64_C(0xffffffffff00));
    trap_up(&trap);
    trap_session(&trap, "instructions:counter=1", 0);
    measure(100);
    assert_int_equal(trap.interrupts, 1);
    assert_int_equal(trap_value(&trap, 0), trap_between(&trap) + 1);
    down();
}

/* 5 */
static void cmask_needs_as_many_in_a_cycle(void **state)
{
    (void)state;
    up("skylake");
    trap_session(&trap, "INST_RETIRED.ANY_P:c=2,INST_RETIRED.ANY_P:c=1,INST_RETIRED.ANY_P", 0);
    measure(10);
    assert_int_equal(trap_value(&trap, 0), 0);
    assert_int_equal(trap_value(&trap, 1), trap_between(&trap) + 1);
    assert_int_equal(trap_value(&trap, 2), trap_between(&trap) + 1);
    down();
}

static void a_running_count_is_given_a_new_value(void **state)
{
    uint64_t after;

    (void)state;
    up("skylake");
    trap_session(&trap, "INST_RETIRED.ANY_P", 0);
    trap_step_on(&trap);
    assert_int_equal(upmu_session_start(&trap.session), UPMU_OK);
    workload(100);
    assert_int_equal(upmu_set_write(&trap.session.set, 0, 0), UPMU_OK);
    workload(10);
    assert_int_equal(upmu_session_stop(&trap.session), UPMU_OK);
    trap_step_off(&trap);
    after = trap_value(&trap, 0);
    assert_true(after >= 10 * WORKLOAD_INSTRUCTIONS && after < 100 * WORKLOAD_INSTRUCTIONS);
    assert_int_equal(trap.faults, 0);
    down();
}

/* 6 */
static void status_is_acknowledged_and_never_written(void **state)
{
    static const char *const profiles[] = {"core2", "nehalem", "skylake", "icelake"};

    (void)state;
    for (unsigned p = 0; p < 4; p++) {
        uint64_t acknowledged = 0;

        up(profiles[p]);
        trap_session(&trap, "instructions:counter=1", PERIOD);
        measure(20);
        assert_compare(samples(), >, 0);
        assert_compare(writes_to(0x390, &acknowledged), >, 0);
        assert_int_equal(acknowledged & 0xff, 2);
        assert_int_equal(writes_to(0x38e, NULL), 0);
        assert_int_equal(writes_to(0x391, NULL), 0);
        assert_int_equal(msr(0x38e), 0);
        assert_int_equal(trap.faults, 0);
        assert_false(wrmsr(0x38e, 0));
        down();
    }
}

/* 7 */
static void checkpointed_counting_is_placed_on_counter_2(void **state)
{
    struct upmu_session other;
    uint64_t select = 0;

    (void)state;
    up("skylake");
    trap_session(&trap, "INST_RETIRED.ANY_P:intxcp", 0);
    measure(5);
    assert_int_equal(trap.session.set.tally[0].counter, 2);
    assert_compare(writes_to(0x188, &select), >, 0);
    assert_true(select >> 33 & 1);
    assert_int_equal(trap.faults, 0);
    assert_false(wrmsr(0x186, UINT64_C(0x20000003c)));
    down();
    up("core2");
    assert_int_equal(upmu_session_init(&other, &trap.machine), UPMU_OK);
    assert_int_not_equal(upmu_set_add(&other.set, "INST_RETIRED.ANY_P:intxcp", NULL), UPMU_OK);
    assert_false(wrmsr(0x186, UINT64_C(0x10000003c)));
    down();
}

/* 8 */
static void only_gates_of_counters_that_exist_are_opened(void **state)
{
    static const struct {
        const char *profile;
        uint64_t reset, valid;
    } cases[] = {{"core2", 3, UINT64_C(0x700000003)},
                 {"skylake", 15, UINT64_C(0x70000000f)},
                 {"icelake", 255, UINT64_C(0x1000f000000ff)}};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        uint64_t found;

        up(cases[i].profile);
        trap_session(&trap, "instructions,cycles,branches", 0);
        measure(5);
        for (uint32_t a = 0; a < trap.sim.trace_count; a++)
            if (accesses[a].kind == UPMU_SIM_WRMSR && accesses[a].address == 0x38f)
                assert_int_equal(accesses[a].value & ~cases[i].valid, 0, a, i);
        assert_int_equal(trap.faults, 0);
        assert_int_equal(upmu_session_close(&trap.session), UPMU_OK);
        assert_int_equal(upmu_cpu_fini(&trap.cpu), UPMU_OK);
        found = msr(0x38f);
        assert_int_equal(found, cases[i].reset, i); /* as after reset */
        assert_false(wrmsr(0x38f, cases[i].reset + 1), i);
        assert_int_equal(upmu_cpu_init(&trap.cpu, &trap.machine, NULL), UPMU_OK);
        down();
    }
}

/* 9 */
static void anythread_is_refused_where_it_is_deprecated(void **state)
{
    struct upmu_session session;

    (void)state;
    up("icelake");
    assert_int_equal(upmu_session_init(&session, &trap.machine), UPMU_OK);
    assert_int_not_equal(upmu_set_add(&session.set, "INST_RETIRED.ANY_P:t", NULL), UPMU_OK);
    assert_int_equal(trap.faults, 0);
    assert_false(wrmsr(0x38d, 4));
    down();
    up("skylake");
    trap_session(&trap, "CPU_CLK_UNHALTED.THREAD_P:t", 0);
    measure(5);
    assert_compare(trap_value(&trap, 0), >, 0);
    assert_int_equal(trap.faults, 0);
    down();
}

/* 10, 11 */
static void capabilities_and_debug_store_are_left_alone(void **state)
{
    static const char *const profiles[] = {"core2", "nehalem", "skylake", "icelake"};

    (void)state;
    for (unsigned p = 0; p < 4; p++) {
        uint64_t value = 0;

        up(profiles[p]);
        trap_session(&trap, "instructions,cycles,branches", PERIOD);
        measure(20);
        assert_int_equal(upmu_session_close(&trap.session), UPMU_OK);
        assert_int_equal(writes_to(0x345, NULL), 0);
        assert_int_equal(writes_to(0x600, NULL), 0);
        value = UINT64_MAX;
        if (writes_to(0x3f1, &value))
            assert_int_equal(value, 0);
        assert_int_equal(trap.faults, 0);
        assert_false(wrmsr(0x345, trap.sim.profile->capabilities));
        assert_false(wrmsr(0x600, UINT64_C(0x800000000000)));
        down();
    }
}

/* 12 */
static void version_1_is_driven_without_global_registers(void **state)
{
    (void)state;
    up("version1");
    trap_session(&trap, "instructions,branches", PERIOD);
    measure(20);
    assert_compare(samples(), >, 0);
    for (uint32_t i = 0; i < trap.sim.trace_count; i++)
        assert_false(accesses[i].kind != UPMU_SIM_RDPMC && accesses[i].address >= 0x309 &&
                     accesses[i].address <= 0x392 && accesses[i].address != 0x345, i);
    assert_int_equal(trap.faults, 0);
    down();
}

/* 13 */
static void a_freeze_that_firmware_left_on_stops_no_count(void **state)
{
    static const char *const profiles[] = {"core2", "nehalem", "skylake"};

    (void)state;
    for (unsigned p = 0; p < 3; p++) {
        struct upmu_session counting;
        struct upmu_count count;
        uint64_t wanted;

        trap_prepare(&trap, profiles[p]);
        upmu_sim_poke(&trap.sim, 0, 0x1d9, 0x1000);
        trap_up(&trap);
        trap_session(&trap, "instructions", PERIOD);
        assert_int_equal(upmu_session_init(&counting, &trap.machine), UPMU_OK);
        assert_int_equal(upmu_set_add(&counting.set, "instructions:counter=0", NULL), UPMU_OK);
        assert_int_equal(upmu_session_attach_cpu(&counting, &trap.cpu), UPMU_OK);
        trap_step_on(&trap);
        assert_int_equal(upmu_session_start(&counting), UPMU_OK);
        assert_int_equal(upmu_session_start(&trap.session), UPMU_OK);
        workload(100);
        assert_int_equal(upmu_session_stop(&trap.session), UPMU_OK);
        assert_int_equal(upmu_session_stop(&counting), UPMU_OK);
        trap_step_off(&trap);
        wanted = trap_between(&trap) + 1;
        assert_int_equal(upmu_set_read(&counting.set, 0, 1, &count), UPMU_OK);
        assert_int_equal(count.value, wanted);
        assert_int_equal(samples(), trap_value(&trap, 0) / PERIOD);
        assert_compare(trap.interrupts, >=, 100 * WORKLOAD_INSTRUCTIONS / PERIOD);
        assert_int_equal(upmu_session_close(&counting), UPMU_OK);
        down();
    }
}

/* 14 */
static void the_interrupt_is_rearmed_each_time(void **state)
{
    (void)state;
    for (unsigned x2 = 0; x2 < 2; x2++) {
        unsigned before;

        trap_prepare(&trap, x2 ? "skylake" : "core2");
        trap.x2apic = x2;
        trap_up(&trap);
        trap_session(&trap, "instructions", PERIOD);
        trap_step_on(&trap);
        assert_int_equal(upmu_session_start(&trap.session), UPMU_OK);
        workload(100);
        assert_int_equal(trap.sim.cpu[0].pmi_dropped, 0);
        assert_false(trap.sim.cpu[0].lvtpc & UPMU_SIM_LVTPC_MASKED);
        assert_compare(trap.interrupts, >=, 13);
        /* masked by other software: the overflow's interrupt is dropped, the count is not */
        upmu_x86_native_quiet(&trap.native);
        before = trap.interrupts;
        workload(100);
        assert_int_equal(trap.interrupts, before);
        assert_int_equal(trap.sim.cpu[0].pmi_dropped, 1);
        assert_int_equal(upmu_session_stop(&trap.session), UPMU_OK);
        trap.port.pmi_rearm(trap.port.context);
        assert_int_equal(upmu_session_start(&trap.session), UPMU_OK);
        workload(100);
        assert_int_equal(upmu_session_stop(&trap.session), UPMU_OK);
        trap_step_off(&trap);
        assert_compare(trap.interrupts, >=, before + 12);
        assert_int_equal(trap_value(&trap, 0), trap.sim.cpu[0].counter[UPMU_SIM_FIXED].counted);
        assert_compare(trap_value(&trap, 0), >, 300 * WORKLOAD_INSTRUCTIONS);
        down();
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(rdpmc_gives_what_rdmsr_gives),
        cmocka_unit_test(fixed_counters_by_rdpmc),
        cmocka_unit_test(a_legacy_write_carries_a_period_of_31_bits),
        cmocka_unit_test(a_longer_period_is_loaded_in_parts),
        cmocka_unit_test(a_full_width_write_never_exceeds_the_width),
        cmocka_unit_test(every_counter_overflows_as_asked),
        cmocka_unit_test(a_counting_counter_that_wraps_goes_on),
        cmocka_unit_test(cmask_needs_as_many_in_a_cycle),
        cmocka_unit_test(a_running_count_is_given_a_new_value),
        cmocka_unit_test(status_is_acknowledged_and_never_written),
        cmocka_unit_test(checkpointed_counting_is_placed_on_counter_2),
        cmocka_unit_test(only_gates_of_counters_that_exist_are_opened),
        cmocka_unit_test(anythread_is_refused_where_it_is_deprecated),
        cmocka_unit_test(capabilities_and_debug_store_are_left_alone),
        cmocka_unit_test(version_1_is_driven_without_global_registers),
        cmocka_unit_test(a_freeze_that_firmware_left_on_stops_no_count),
        cmocka_unit_test(the_interrupt_is_rearmed_each_time),
    };

    if (!trap_able())
        return 0;
    return cmocka_run_group_tests_name("trap_conformance", tests, NULL, NULL);
}
