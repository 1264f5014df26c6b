/* SPDX-License-Identifier: MIT */
/*
 * Bits of selects and of the global status on Intel's core PMUs: which ones a level may set, which ones the
 * library believes, clears, and leaves to the firmware.
 */
#include <upmu/session.h>
#include "backends/x86_core/x86_core.h"
#include "backends/x86_core/x86_core_registers.h"
#include "core/hw/backend.h"
#include "core/hw/register.h"
#include "tests/common/host.h"

static struct host host;

static void a_level_sets_no_more_than_its_bits(void **state)
{
    struct upmu_pmu pmu;
    const uint64_t interrupt = UPMU_X86_SELECT_INT, pin = UINT64_C(1) << 19;

    (void)state;
    assert_true(upmu_x86_core_backend.describe("skl", &pmu));
    for (unsigned i = 0; i < 4; i++) {
        uint64_t session = upmu_register_settable(&pmu, UPMU_X86_ROW_SELECT + i, UPMU_LEVEL_SESSION);
        uint64_t privileged = upmu_register_settable(&pmu, UPMU_X86_ROW_SELECT + i, UPMU_LEVEL_PRIVILEGED);

        assert_int_equal(session & 0xffff, 0xffff);
        assert_true(!(session & (interrupt | pin)));
        assert_true((privileged & interrupt) && !(privileged & pin));
    }
    assert_int_equal(upmu_register_settable(&pmu, UPMU_X86_ROW_GLOBAL_CTRL, UPMU_LEVEL_PRIVILEGED), 0);
    assert_int_equal(upmu_register_settable(&pmu, UPMU_X86_ROW_DEBUGCTL, UPMU_LEVEL_PRIVILEGED), 0);
}

static void only_counters_overflow(void **state)
{
    struct upmu_pmu pmu;

    (void)state;
    assert_true(upmu_x86_core_backend.describe("skl", &pmu));
    assert_int_equal(upmu_x86_core_backend.overflowed(&pmu, ~UINT64_C(0)), pmu.counters);
}

static void a_fixed_counter_counts_the_sibling_if_asked(void **state)
{
    (void)state;
    host_set_up(&host, "nehalem");
    assert_int_equal(upmu_set_add(&host.session.set, "cycles:t=1", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    assert_int_equal(host.session.set.tally[0].counter, UPMU_FIXED_COUNTER(1));
    upmu_sim_switch_cpu(&host.sim, 1);
    host_run(&host, 1000);
    upmu_sim_switch_cpu(&host.sim, 0);
    assert_int_equal(host_value(&host.session, 0), 2000);
    assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    host_end(&host);
}

static void take_over_leaves_the_firmware_s_overflow(void **state)
{
    (void)state;
    host_prepare(&host, "skylake");
    upmu_sim_poke(&host.sim, 0, 0x186, 0x53003c);
    upmu_sim_poke(&host.sim, 0, 0x38e, 3);
    host_start(&host);
    assert_int_equal(host.cpu[0].meter.firmware, 1);
    assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x38e), 1);
    host_end(&host);
}

/* Version 1: what is closed is not enabled, whatever else its select holds. */
static void a_select_that_is_its_own_gate_goes_idle(void **state)
{
    (void)state;
    host_set_up(&host, "version1");
    assert_int_equal(upmu_set_add(&host.session.set, "branches", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    assert_true(upmu_sim_peek(&host.sim, 0, 0x186) & UPMU_X86_SELECT_EN);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    assert_true(!(upmu_sim_peek(&host.sim, 0, 0x186) & UPMU_X86_SELECT_EN));
    assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    host_end(&host);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_level_sets_no_more_than_its_bits),
        cmocka_unit_test(only_counters_overflow),
        cmocka_unit_test(a_fixed_counter_counts_the_sibling_if_asked),
        cmocka_unit_test(take_over_leaves_the_firmware_s_overflow),
        cmocka_unit_test(a_select_that_is_its_own_gate_goes_idle),
    };

    return cmocka_run_group_tests_name("select_and_status", tests, NULL, NULL);
}
