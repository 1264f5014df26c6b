/* SPDX-License-Identifier: MIT */
/*
 * Owners of counters: sessions, the firmware, the host's watchdog, foreign software
 * that came later.
 */
#include <stdio.h>
#include <upmu/session.h>

#include "tests/common/garbage.h"
#include "tests/common/host.h"

static const char *const every_profile[] = {
    "core2",   "merom_early",           "version1", "nehalem", "skylake", "skylake_nofw", "skylake_smtoff",
    "icelake", "hypervisor_v2_nofixed", NULL};

#define EACH(profile) for (const char *const *profile = every_profile; *profile; profile++)

/* Leaves of the firmware that this CPU can hold. */
static void leave_firmware(struct host *host)
{
    upmu_sim_firmware(&host->sim, 0);
    upmu_sim_poke(&host->sim, 0, 0x38f,
                  host->sim.profile->version >= 2 ? (UINT64_C(1) << host->sim.profile->general) - 1u : 0);
    if (!host->sim.profile->fixed)
        upmu_sim_poke(&host->sim, 0, 0x38d, 0);
    upmu_sim_set_delivery(&host->sim, 0, UPMU_SIM_LVTPC_NMI);
}

static void an_idle_cpu_has_free_counters_and_no_others(void **state)
{
    (void)state;
    EACH(profile)
    {
        struct host host;

        host_set_up(&host, *profile);
        for (unsigned i = 0; i < UPMU_COUNTERS; i++) {
            bool exists = i < host.sim.profile->general ||
                          (i >= UPMU_FIXED_COUNTER(0) && i < UPMU_FIXED_COUNTER(0) + host.sim.profile->fixed) ||
                          (i >= 24 && i < 24u + host.sim.profile->metrics);

            assert_int_equal(upmu_cpu_owner(&host.cpu[0], i), exists ? UPMU_OWNER_FREE : UPMU_OWNER_ABSENT, i);
        }
        assert_int_equal(upmu_cpu_owner(&host.cpu[0], UPMU_COUNTERS), UPMU_OWNER_ABSENT);
        assert_int_equal(upmu_cpu_owner(&host.cpu[0], ~0u), UPMU_OWNER_ABSENT);
        host_end(&host);
    }
}

static void a_session_owns_its_counters_from_attach_to_detach(void **state)
{
    struct host host;
    unsigned counter;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_set_add(&host.session.set, "branches", NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[0]), UPMU_OK);
    counter = host.session.set.tally[0].counter;
    assert_int_equal(upmu_cpu_owner(&host.cpu[0], counter), UPMU_OWNER_OURS);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    assert_int_equal(upmu_cpu_owner(&host.cpu[0], counter), UPMU_OWNER_OURS);
    assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    assert_int_equal(upmu_cpu_owner(&host.cpu[0], counter), UPMU_OWNER_FREE);
    host_end(&host);
}

static void counters_of_the_firmware_run_on_untouched(void **state)
{
    (void)state;
    EACH(profile)
    {
        struct upmu_sampling sampling = {.period = 100};
        struct host host;
        uint64_t counted;

        host_prepare(&host, *profile);
        leave_firmware(&host);
        host_start(&host);
        assert_compare(host.sim.log_lines, >, 0);
        assert_int_equal(upmu_cpu_owner(&host.cpu[0], 0), UPMU_OWNER_FIRMWARE);
        assert_int_equal(upmu_cpu_owner(&host.cpu[0], 1), UPMU_OWNER_FREE);
        assert_int_equal(upmu_set_add(&host.session.set, "branches", &sampling), UPMU_OK);
        assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
        host_begin(&host, &host.session);
        assert_int_not_equal(host.session.set.tally[0].counter, 0);
        host_run(&host, 1000);
        assert_int_equal(host_drain(&host, NULL), 5);
        assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
        counted = host.sim.cpu[0].counter[0].counted;
        assert_int_equal(counted, 2000);
        host_end(&host);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x186), 0x53003c);
        assert_true(upmu_sim_runs(&host.sim, 0, 0));
        host_run(&host, 10);
        assert_int_equal(host.sim.cpu[0].counter[0].counted, counted + 20);
    }
}

static void what_firmware_holds_is_not_placed_and_the_refusal_says_so(void **state)
{
    struct host host;

    (void)state;
    host_prepare(&host, "core2");
    upmu_sim_poke(&host.sim, 0, 0x186, 0x43003c);
    upmu_sim_poke(&host.sim, 0, 0x187, 0x4300c0);
    upmu_sim_poke(&host.sim, 0, 0x38f, 3);
    host_start(&host);
    assert_int_equal(upmu_set_add(&host.session.set, "branches", NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[0]), UPMU_ERR_DOES_NOT_FIT);
    assert_int_equal(host.session.why.status, UPMU_ERR_DOES_NOT_FIT);
    assert_int_not_equal(host.session.why.collision, UPMU_COLLISION_NONE);
    assert_int_equal(host.session.why.culprits, 1);
    assert_int_equal(host.session.state, UPMU_SESSION_DETACHED);
    host_end(&host);
}

/*
 * A counter for which a former kernel left IA32_PEBS_ENABLE set, though it does not run, would write a record to that
 * kernel's memory as soon as it overflows for a session: it is the firmware's.  The class: what a register that the
 * library does not use makes of the counters that it does.
 */
static void a_counter_that_would_write_records_is_the_firmwares(void **state)
{
    static const struct {
        const char *profile;
        uint64_t left;
        uint32_t counters;
    } rows[] = {
        {"core2", 1, 1},
        {"nehalem", UINT64_C(0x200000001), 3}, /* records of loads, too */
        {"sandybridge", UINT64_C(1) << 63, 8}, /* of stores */
        {"skylake", 4, 4},
        {"icelake", UINT64_C(0x100000001), 0x10001},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct upmu_sampling sampling = {.period = 100};
        char list[32];
        struct host host;
        unsigned counter = 0;

        host_prepare(&host, rows[i].profile);
        upmu_sim_poke(&host.sim, 0, 0x3f1, rows[i].left);
        host_start(&host);
        for (unsigned n = 0; n < UPMU_COUNTERS; n++)
            assert_int_equal(upmu_cpu_owner(&host.cpu[0], n) == UPMU_OWNER_FIRMWARE, rows[i].counters >> n & 1u, n, i);
        while (!(rows[i].counters >> counter & 1u))
            counter++;
        snprintf(list, sizeof list, "branches:counter=%u", counter);
        assert_int_equal(upmu_set_add(&host.session.set, list, &sampling), UPMU_OK);
        assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
        assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[0]), UPMU_ERR_DOES_NOT_FIT);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x3f1), rows[i].left, i);
        /* The host knows better: no records, but samples. */
        upmu_cpu_take_firmware(&host.cpu[0]);
        assert_int_equal(upmu_cpu_owner(&host.cpu[0], counter), UPMU_OWNER_FREE);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x3f1), 0);
        host_begin(&host, &host.session);
        host_run(&host, 2000);
        assert_int_equal(host_drain(&host, NULL), 10);
        assert_int_equal(host.sim.cpu[0].pebs_records, 0);
        host_end(&host);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x3f1), rows[i].left, i);
    }
}

/*
 * DEBUGCTL 6 to 8 of a former kernel store each branch to its memory, at the address in DS_AREA.  The class: a writer
 * of memory that is no counter, so that no search for counters in use finds it.
 */
static void a_branch_trace_of_a_former_kernel_ends_with_take_firmware(void **state)
{
    static const char *const profiles[] = {"core2", "nehalem", "skylake", "icelake", "ptl_p"};

    (void)state;
    for (unsigned i = 0; i < sizeof profiles / sizeof profiles[0]; i++)
        for (unsigned before = 0; before < 2; before++) {
            const uint64_t left = before ? 0x1c1 : 0x18c0; /* with LBR; with freezing */
            struct host host;

            host_prepare(&host, profiles[i]);
            host.sim.rule[UPMU_SIM_RULE_BTS_STORES] = 0; /* other software's trace, whose memory the test has not */
            upmu_sim_poke(&host.sim, 0, 0x600, 0xdead000);
            upmu_sim_poke(&host.sim, 0, 0x1d9, left);
            host_start(&host);
            assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x1d9), left & ~UINT64_C(0x1800));
            for (unsigned n = 0; n < UPMU_COUNTERS; n++)
                assert_int_not_equal(upmu_cpu_owner(&host.cpu[0], n), UPMU_OWNER_FIRMWARE, n);
            upmu_cpu_take_firmware(&host.cpu[0]);
            assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x1d9), left & 1);
            assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x600), 0xdead000);
            host.sim.rule[UPMU_SIM_RULE_BTS_STORES] = 1; /* a branch that is stored now would be a violation */
            assert_int_equal(upmu_set_add(&host.session.set, "branches", NULL), UPMU_OK);
            host_begin(&host, &host.session);
            host_run(&host, 1000);
            assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x1d9), left & 1);
            host.sim.rule[UPMU_SIM_RULE_BTS_STORES] = 0;
            host_end(&host);
            assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x1d9), left);
        }
}

/* Of the class above: a trace that other software begins while upmu runs is its own. */
static void a_branch_trace_that_began_later_is_left_alone(void **state)
{
    struct host host;

    (void)state;
    host_prepare(&host, "skylake");
    upmu_sim_poke(&host.sim, 0, 0x1d9, 0x1800);
    host_start(&host);
    host.sim.rule[UPMU_SIM_RULE_BTS_STORES] = 0; /* other software's trace, whose memory the test has not */
    upmu_sim_poke(&host.sim, 0, 0x1d9, 0xc0);
    upmu_cpu_take_firmware(&host.cpu[0]);
    assert_int_equal(upmu_set_add(&host.session.set, "branches", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    host_run(&host, 1000);
    assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x1d9), 0xc0);
    host_end(&host);
    assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x1d9), 0x18c0);
}

/*
 * Version 6: an overflow may load counters anew (CFG_B names those that do it), which shows no flag and loses a
 * count in silence; CFG_C bit 63 writes records.  Of the class above.
 */
static void a_counter_that_would_reload_is_the_firmwares(void **state)
{
    static const struct {
        const char *profile, *list;
        uint32_t msr;
        unsigned counter;
        uint64_t left;
    } rows[] = {
        {"lnl_e", "branches:counter=2", 0x190a, 2, 4},
        {"lnl_e", "instructions:counter=16", 0x1982, 16, UINT64_C(0x100000000)},
        {"ptl_p", "branches:counter=1", 0x1907, 1, UINT64_C(1) << 63},
        {"ptl_p", "cycles:counter=17", 0x1987, 17, UINT64_C(1) << 63},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct host host;

        host_prepare(&host, rows[i].profile);
        upmu_sim_poke(&host.sim, 0, rows[i].msr, rows[i].left);
        host_start(&host);
        for (unsigned n = 0; n < UPMU_COUNTERS; n++)
            assert_int_equal(upmu_cpu_owner(&host.cpu[0], n) == UPMU_OWNER_FIRMWARE, n == rows[i].counter, n, i);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, rows[i].msr), rows[i].left, i);
        upmu_cpu_take_firmware(&host.cpu[0]);
        assert_int_equal(upmu_cpu_owner(&host.cpu[0], rows[i].counter), UPMU_OWNER_FREE, i);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, rows[i].msr), 0, i);
        assert_int_equal(upmu_set_add(&host.session.set, rows[i].list, NULL), UPMU_OK, i);
        host_begin(&host, &host.session);
        host_run(&host, 2000);
        host_end(&host);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, rows[i].msr), rows[i].left, i);
    }
}

/* A register that CPUID or MISC_ENABLE denies is not read. */
static void where_there_are_no_records_nothing_is_looked_for(void **state)
{
    struct host host;

    (void)state;
    host_prepare(&host, "skylake");
    host.sim.cpu[0].misc_enable |= 1u << 12;
    host.sim.fault_address = 0x3f1;
    host_start(&host);
    assert_int_equal(host.sim.faults, 0);
    assert_int_equal(upmu_cpu_owner(&host.cpu[0], 0), UPMU_OWNER_FREE);
    host_end(&host);
}

/* Catches: a register that cannot be read taken for one that denies. */
static void records_are_looked_for_if_what_could_deny_them_faults(void **state)
{
    struct host host;

    (void)state;
    host_prepare(&host, "core2");
    upmu_sim_poke(&host.sim, 0, 0x3f1, 1);
    host.sim.fault_address = 0x1a0;
    host_start(&host);
    assert_int_equal(upmu_cpu_owner(&host.cpu[0], 0), UPMU_OWNER_FIRMWARE);
    host.sim.fault_address = 0;
    host_end(&host);
}

static struct upmu_port real;
static uint32_t fault_once;

static bool faults_once(void *context, uint32_t msr, uint64_t *out_value)
{
    if (msr == fault_once) {
        fault_once = 0;
        return garbage(out_value);
    }
    return real.rdmsr(context, msr, out_value);
}

/* Catches: a register that faults at the first look taken for one that is not there, and its counter for free. */
static void one_fault_hides_no_records(void **state)
{
    static const struct {
        const char *profile;
        uint32_t msr;
        unsigned counter;
        uint64_t left;
    } rows[] = {{"skylake", 0x3f1, 2, 4}, {"lnl_e", 0x190a, 2, 4}, {"ptl_p", 0x1907, 1, UINT64_C(1) << 63}};

    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct host host;

        host_prepare(&host, rows[i].profile);
        upmu_sim_poke(&host.sim, 0, rows[i].msr, rows[i].left);
        real = host.sim.port;
        host.sim.port.rdmsr = faults_once;
        fault_once = rows[i].msr;
        host_start(&host);
        assert_int_equal(fault_once, 0);
        assert_int_equal(upmu_cpu_owner(&host.cpu[0], rows[i].counter), UPMU_OWNER_FIRMWARE, i);
        host_end(&host);
    }
}

/*
 * Where one enable bit is for both counters, the host's counter 1 runs on when this CPU leaves or sleeps.  The class:
 * a register of ours that holds a bit on which others depend.
 */
static void a_reserved_counter_keeps_the_common_enable(void **state)
{
    static const char *const profiles[] = {"p6", "pentium_m", "yonah"};

    (void)state;
    for (unsigned i = 0; i < 6; i++) {
        struct host host;
        uint64_t counted;

        host_set_up(&host, profiles[i % 3]);
        assert_int_equal(upmu_set_add(&host.session.set, "instructions:counter=0", NULL), UPMU_OK);
        host_begin(&host, &host.session);
        assert_int_equal(upmu_cpu_reserve(&host.cpu[0], 2), UPMU_OK);
        upmu_sim_poke(&host.sim, 0, 0x187, 0x300c0);
        host_run(&host, 100);
        assert_int_equal(host_value(&host.session, 0), 100);
        counted = host.sim.cpu[0].counter[1].counted;
        assert_int_equal(i < 3 ? upmu_cpu_fini(&host.cpu[0]) : upmu_cpu_suspend(&host.cpu[0]), UPMU_OK, i);
        assert_false(upmu_sim_runs(&host.sim, 0, 0));
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x187), 0x300c0);
        host_run(&host, 100);
        assert_int_equal(host.sim.cpu[0].counter[1].counted, counted + 100);
        host_no_violation(&host);
    }
}

/* The bit is in select 0 alone: select 1 is as it was found when counter 0 is the host's.  Of the class above. */
static void a_reserved_counter_0_leaves_select_1_to_upmu(void **state)
{
    static const char *const profiles[] = {"p6", "pentium_m", "yonah"};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct host host;

        host_set_up(&host, profiles[i]);
        assert_int_equal(upmu_cpu_reserve(&host.cpu[0], 1), UPMU_OK);
        upmu_sim_poke(&host.sim, 0, 0x186, 0x4300c4);
        assert_int_equal(upmu_set_add(&host.session.set, "instructions:counter=1", NULL), UPMU_OK);
        host_begin(&host, &host.session);
        host_run(&host, 100);
        assert_int_equal(host_value(&host.session, 0), 100);
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x187), 0);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x186), 0x4300c4);
    }
}

/*
 * A fixed counter that was found running is the host's now: the others of the same register are as they were found in
 * the end, and its own bits as the host left them.  The class: what is done to one counter's register, to all in it.
 */
static void one_fixed_counter_that_is_reserved_leaves_the_others_found(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        bool kept = i & 1, ended = i & 2;
        struct host host;

        host_prepare(&host, "skylake");
        upmu_sim_poke(&host.sim, 0, 0x38d, 0x101);
        host_start(&host);
        assert_int_equal(host.cpu[0].meter.firmware, 0x50000);
        assert_int_equal(upmu_set_add(&host.session.set, "cycles:counter=17", NULL), UPMU_OK);
        host_begin(&host, &host.session);
        assert_int_equal(upmu_cpu_reserve(&host.cpu[0], 0x10000), UPMU_OK);
        if (ended)
            upmu_sim_poke(&host.sim, 0, 0x38d, upmu_sim_peek(&host.sim, 0, 0x38d) & ~UINT64_C(15));
        if (!kept)
            upmu_cpu_unreserve(&host.cpu[0], 0x10000);
        assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
        assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x38d), ended ? 0x100 : 0x101);
    }
}

/*
 * The host's driver has switched off, for its counter, what a former kernel left: it is not put back under it.  The
 * class: what was found is written over what the host did since.
 */
static void what_the_host_ended_for_its_counter_is_not_put_back(void **state)
{
    static const struct {
        const char *profile;
        uint32_t msr, counters;
        uint64_t left, kept;
    } rows[] = {
        {"nehalem", 0x3f1, 2, UINT64_C(0x200000005), 5},
        {"icelake", 0x3f1, 0x20000, UINT64_C(0x200000002), 2},
        {"sandybridge", 0x3f1, 8, UINT64_C(1) << 63, 0},
        {"lnl_e", 0x190a, 4, 4, 0},
        {"ptl_p", 0x1987, 0x20000, UINT64_C(1) << 63, 0},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct host host;

        host_prepare(&host, rows[i].profile);
        upmu_sim_poke(&host.sim, 0, rows[i].msr, rows[i].left);
        host_start(&host);
        assert_int_equal(upmu_cpu_reserve(&host.cpu[0], rows[i].counters), UPMU_OK, i);
        upmu_sim_poke(&host.sim, 0, rows[i].msr, rows[i].kept);
        assert_int_equal(upmu_cpu_verify(&host.cpu[0], NULL), UPMU_OK);
        assert_int_equal(upmu_cpu_changed(&host.cpu[0]), UPMU_OK);
        assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, rows[i].msr), rows[i].kept, i);
    }
}

static void counters_of_the_firmware_can_be_taken_and_are_given_back(void **state)
{
    struct host host;

    (void)state;
    host_prepare(&host, "skylake");
    leave_firmware(&host);
    host_start(&host);
    upmu_cpu_take_firmware(&host.cpu[0]);
    assert_int_equal(upmu_cpu_owner(&host.cpu[0], 0), UPMU_OWNER_FREE);
    assert_false(upmu_sim_runs(&host.sim, 0, 0));
    assert_int_equal(upmu_set_add(&host.session.set, "cycles:counter=0", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    host_run(&host, 100);
    assert_int_equal(host_value(&host.session, 0), 200);
    host_end(&host);
    assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x186), 0x53003c);
    assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x38d), 0x222);
    assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x38f), 0xf);
}

/*
 * A watchdog that ran on while the library was away is found as the firmware's, then reserved.  Class of mistake: a
 * mask of one owner is written without those of the others.
 */
static void taking_the_firmwares_counters_leaves_reserved_ones_running(void **state)
{
    struct host host;

    (void)state;
    host_prepare(&host, "skylake");
    leave_firmware(&host);
    host_start(&host);
    assert_int_equal(upmu_cpu_owner(&host.cpu[0], 0), UPMU_OWNER_FIRMWARE);
    assert_int_equal(upmu_cpu_reserve(&host.cpu[0], 1), UPMU_OK);
    upmu_cpu_take_firmware(&host.cpu[0]);
    assert_int_equal(upmu_cpu_owner(&host.cpu[0], 0), UPMU_OWNER_WATCHDOG);
    assert_true(upmu_sim_runs(&host.sim, 0, 0));
    assert_false(upmu_sim_runs(&host.sim, 0, UPMU_FIXED_COUNTER(1)));
    upmu_sim_poke(&host.sim, 0, 0x186, 0);
    upmu_cpu_unreserve(&host.cpu[0], 1);
    assert_int_equal(upmu_cpu_owner(&host.cpu[0], 0), UPMU_OWNER_FREE);
    host_end(&host);
}

/*
 * Records of two counters, one of them the host's now, are switched by one register: it is left as it is.  Class of
 * mistake: a register that also serves the host is written for a counter of the firmware.
 */
static void records_beside_those_of_the_host_stay_the_firmwares(void **state)
{
    static const char *const profiles[] = {"nehalem", "skylake", "icelake"};

    (void)state;
    for (unsigned i = 0; i < sizeof profiles / sizeof *profiles; i++) {
        struct host host;

        host_prepare(&host, profiles[i]);
        upmu_sim_poke(&host.sim, 0, 0x3f1, 5);
        host_start(&host);
        assert_int_equal(upmu_cpu_reserve(&host.cpu[0], 1), UPMU_OK);
        upmu_cpu_take_firmware(&host.cpu[0]);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x3f1), 5);
        assert_int_equal(upmu_cpu_owner(&host.cpu[0], 0), UPMU_OWNER_WATCHDOG);
        assert_int_equal(upmu_cpu_owner(&host.cpu[0], 2), UPMU_OWNER_FIRMWARE);
        upmu_cpu_unreserve(&host.cpu[0], 1);
        upmu_cpu_take_firmware(&host.cpu[0]);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x3f1), 0);
        assert_int_equal(upmu_cpu_owner(&host.cpu[0], 2), UPMU_OWNER_FREE);
        host_end(&host);
    }
}

/* The class: what was found is written back though it was the host's own, and the host has stopped it since. */
static void a_watchdog_found_and_stopped_is_not_started_at_the_end(void **state)
{
    struct host host;

    (void)state;
    host_prepare(&host, "skylake");
    upmu_sim_poke(&host.sim, 0, 0x186, 0x53003c);
    host_start(&host);
    assert_int_equal(upmu_cpu_reserve(&host.cpu[0], 1), UPMU_OK);
    upmu_sim_poke(&host.sim, 0, 0x186, 0);
    upmu_cpu_unreserve(&host.cpu[0], 1);
    upmu_cpu_take_firmware(&host.cpu[0]);
    assert_int_equal(upmu_set_add(&host.session.set, "cycles:counter=0", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    host_run(&host, 100);
    assert_int_equal(host_value(&host.session, 0), 200);
    host_end(&host);
    assert_false(upmu_sim_peek(&host.sim, 0, 0x186) >> 22 & 1u);
}

/*
 * The host's driver of a counter ends what a former kernel had left for it: records, loads.
 * Catches: registers beside a counter's select whose shadow outlives the host's use of it (seed 13799 of the simulated
 * host): a difference that is none, and a counter that is foreign from then on.
 */
static void what_the_host_changed_beside_a_select_is_no_difference(void **state)
{
    static const struct {
        const char *profile;
        uint32_t msr;
    } rows[] = {{"skylake", 0x3f1}, {"lnl_e", 0x3f1}, {"lnl_e", 0x190a}, {"ptl_p", 0x190b}};

    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct host host;

        host_prepare(&host, rows[i].profile);
        upmu_sim_poke(&host.sim, 0, rows[i].msr, rows[i].msr == 0x190b ? UINT64_C(1) << 63 : 4);
        host_start(&host);
        assert_int_equal(upmu_cpu_owner(&host.cpu[0], 2), UPMU_OWNER_FIRMWARE);
        upmu_cpu_take_firmware(&host.cpu[0]);
        upmu_sim_poke(&host.sim, 0, rows[i].msr, 0);
        assert_int_equal(upmu_cpu_reserve(&host.cpu[0], 4), UPMU_OK);
        upmu_sim_poke(&host.sim, 0, rows[i].msr, 1);
        upmu_cpu_unreserve(&host.cpu[0], 4);
        assert_int_equal(upmu_cpu_verify(&host.cpu[0], NULL), UPMU_OK);
        assert_int_equal(upmu_cpu_owner(&host.cpu[0], 2), UPMU_OWNER_FREE);
        host_end(&host);
    }
}

/*
 * Counters that were taken from the firmware are its own again after a sleep, as it is told: what was ours is idle.
 * Catches: what a CPU remembers of its counters outlives what it knows of their registers (seed 15589).
 */
static void what_was_taken_before_a_sleep_is_the_firmwares_after_it(void **state)
{
    struct host host;

    (void)state;
    host_prepare(&host, "skylake");
    upmu_sim_poke(&host.sim, 0, 0x38d, 0x100);
    upmu_sim_poke(&host.sim, 0, 0x188, 0x4300c0);
    host_start(&host);
    upmu_cpu_take_firmware(&host.cpu[0]);
    assert_int_equal(upmu_set_add(&host.session.set, "ref-cycles:counter=18 branches:counter=2", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    assert_int_equal(upmu_cpu_suspend(&host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_cpu_resume(&host.cpu[0]), UPMU_OK);
    assert_int_equal(host.cpu[0].meter.firmware, 0x40004);
    assert_int_equal(upmu_cpu_reserve(&host.cpu[0], 0x40004), UPMU_OK);
    assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x38d), 0x100);
    assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x188), 0x4300c0);
    upmu_cpu_unreserve(&host.cpu[0], 0x40004);
    assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x38d), 0x100);
    assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x188), 0x4300c0);
    host_no_violation(&host);
}

static void a_reserved_counter_is_left_to_the_host(void **state)
{
    (void)state;
    EACH(profile)
    {
        struct host host;

        host_set_up(&host, *profile);
        assert_int_equal(upmu_cpu_reserve(&host.cpu[0], 1), UPMU_OK);
        assert_int_equal(upmu_cpu_owner(&host.cpu[0], 0), UPMU_OWNER_WATCHDOG);
        /* The host's watchdog at work. */
        upmu_sim_poke(&host.sim, 0, 0x186, 0x43003c);
        if (host.sim.profile->version >= 2)
            upmu_sim_poke(&host.sim, 0, 0x38f, upmu_sim_peek(&host.sim, 0, 0x38f) | 1);
        assert_int_equal(upmu_set_add(&host.session.set, "branches", NULL), UPMU_OK);
        assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[0]), UPMU_OK);
        assert_int_not_equal(host.session.set.tally[0].counter, 0);
        assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x186), 0x43003c);
        upmu_sim_poke(&host.sim, 0, 0x186, 0);
        upmu_cpu_unreserve(&host.cpu[0], 1);
        assert_int_equal(upmu_cpu_owner(&host.cpu[0], 0), UPMU_OWNER_FREE);
        assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
    }
}

/* A general and a fixed counter, enabled in registers that upmu's counters are enabled in, too. */
static void a_watchdog_begun_later_runs_beside_sessions_if_upmu_is_told(void **state)
{
    struct upmu_sampling sampling = {.period = 100};
    uint64_t general = 0, fixed = 0;
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_cpu_reserve(&host.cpu[0], 1u | 2u << 16), UPMU_OK);
    upmu_sim_poke(&host.sim, 0, 0x186, 0x43003c);
    upmu_sim_poke(&host.sim, 0, 0x38d, 0x30);
    upmu_sim_poke(&host.sim, 0, 0x38f, UINT64_C(2) << 32 | 1);
    assert_int_equal(upmu_cpu_changed(&host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.session.set, "instructions", &sampling), UPMU_OK);
    assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
    host_begin(&host, &host.session);
    for (unsigned i = 0; i < 5; i++) {
        host_run(&host, 150);
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0xc1), general + 300);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x30a), fixed + 300);
        general += 300;
        fixed += 300;
    }
    assert_int_equal(host_drain(&host, NULL), 7);
    host_no_violation(&host);
}

/*
 * One register says for all fixed counters what they count.  A bit mask of what is the host's
 * that is wider than the host's counter hides what is ours from all that looks at it.
 */
static void a_reserved_fixed_counter_leaves_the_others_to_upmu(void **state)
{
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_cpu_reserve(&host.cpu[0], 2u << 16), UPMU_OK);
    upmu_sim_poke(&host.sim, 0, 0x38d, 0x30);
    upmu_sim_poke(&host.sim, 0, 0x38f, UINT64_C(2) << 32);
    assert_int_equal(upmu_set_add(&host.session.set, "instructions:counter=16", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    host_run(&host, 100);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x38d), 0x3b);
    assert_int_equal(upmu_cpu_verify(&host.cpu[0], NULL), UPMU_OK);
    /* The host's nibble may change, ours may not. */
    upmu_sim_poke(&host.sim, 0, 0x38d, 0x1b);
    assert_int_equal(upmu_cpu_verify(&host.cpu[0], NULL), UPMU_OK);
    upmu_sim_poke(&host.sim, 0, 0x38d, 0x31);
    assert_int_not_equal(upmu_cpu_verify(&host.cpu[0], NULL), UPMU_OK);
    upmu_sim_poke(&host.sim, 0, 0x38d, 0x1b);
    assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x38d), 0x10);
    assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x38f), UINT64_C(2) << 32 | 0xf);
}

static void a_counter_in_use_cannot_be_reserved(void **state)
{
    struct host host;
    unsigned counter;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_set_add(&host.session.set, "branches", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    counter = host.session.set.tally[0].counter;
    assert_int_equal(upmu_cpu_reserve(&host.cpu[0], 1u << counter), UPMU_ERR_STATE);
    assert_int_equal(upmu_cpu_owner(&host.cpu[0], counter), UPMU_OWNER_OURS);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    assert_int_equal(upmu_cpu_reserve(&host.cpu[0], 1u << counter), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    assert_int_not_equal(host.session.set.tally[0].counter, counter);
    host_run(&host, 100);
    assert_int_equal(host_value(&host.session, 0), 50);
    host_end(&host);
}

static void everything_reserved_leaves_room_for_nothing(void **state)
{
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_cpu_reserve(&host.cpu[0], host.cpu[0].meter.pmu->counters), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.session.set, "cycles", NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[0]), UPMU_ERR_DOES_NOT_FIT);
    upmu_cpu_unreserve(&host.cpu[0], ~UINT32_C(0));
    assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[0]), UPMU_OK);
    host_end(&host);
}

/* From version 4 on the hardware tells what is in use. */
static void somebody_who_came_later_is_noticed_by_the_next_attach(void **state)
{
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    upmu_sim_poke(&host.sim, 0, 0x187, 0x4300c5);
    assert_int_equal(upmu_set_add(&host.session.set, "branches", NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_cpu_owner(&host.cpu[0], 1), UPMU_OWNER_FOREIGN);
    assert_int_not_equal(host.session.set.tally[0].counter, 1);
    assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x187), 0x4300c5);
    assert_compare(host.sim.log_lines, >, 0);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    host_run(&host, 100);
    assert_int_equal(host_value(&host.session, 0), 50);
    assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x187), 0x4300c5);
    host_no_violation(&host);
}

static void owners_have_names(void **state)
{
    static const char *const names[] = {"free", "ours", "firmware", "watchdog", "foreign", "absent"};

    (void)state;
    for (unsigned i = 0; i < 6; i++)
        assert_string_equal(upmu_owner_text((enum upmu_owner)i), names[i]);
    assert_non_null(upmu_owner_text((enum upmu_owner)99));
}

/*
 * The host's watchdog ran when upmu came; later the host disables it and leaves the select, or idles the select and
 * leaves it enabled.  Catches: two registers that are each as they were found, together a counter that runs.
 */
static void a_counter_that_came_back_disabled_is_disabled_at_the_end(void **state)
{
    (void)state;
    for (unsigned idle = 0; idle < 2; idle++) {
        struct host host;

        host_prepare(&host, "skylake");
        upmu_sim_poke(&host.sim, 0, 0x186, 0x53003c);
        upmu_sim_poke(&host.sim, 0, 0x38f, 0xf);
        host_start(&host);
        assert_int_equal(upmu_cpu_owner(&host.cpu[0], 0), UPMU_OWNER_FIRMWARE);
        assert_int_equal(upmu_cpu_reserve(&host.cpu[0], 1), UPMU_OK);
        if (idle)
            upmu_sim_poke(&host.sim, 0, 0x186, 0);
        else
            upmu_sim_poke(&host.sim, 0, 0x38f, upmu_sim_peek(&host.sim, 0, 0x38f) & ~UINT64_C(1));
        upmu_cpu_unreserve(&host.cpu[0], 1);
        assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x186), idle ? 0 : 0x53003c);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x38f), idle ? 0xf : 0xe);
    }
}

/*
 * The class: registers that are each as they were found, or as the host left them, and together a counter that runs
 * though it was given back stopped.  The host stops it by its enable bit, or by its select; it was found running, and
 * was the firmware's until then, or taken from it.
 */
static void a_counter_that_came_back_stopped_does_not_run_at_the_end(void **state)
{
    static const struct {
        const char *profile;
        unsigned counter;
        uint32_t select, enable;
        uint64_t left, bit; /* in the select; of the enable register */
        uint32_t other;     /* register that it needs besides */
        uint64_t value;
    } rows[] = {
        {"p6", 0, 0x186, 0x186, 0x4300c0, 1u << 22, 0, 0},
        {"p6", 1, 0x187, 0x186, 0x300c0, 0, 0x186, 0x43003c},
        {"yonah", 1, 0x187, 0x186, 0x300c0, 0, 0x186, 0x43003c},
        {"version1", 1, 0x187, 0x187, 0x43003c, 1u << 22, 0, 0},
        {"core2", 0, 0x186, 0x38f, 0x43003c, 1, 0x38f, 1},
        {"skylake", 16, 0x38d, 0x38f, 0xb, UINT64_C(1) << 32, 0x38f, UINT64_C(0x10000000f)},
        {"k7", 1, 0xc0010001, 0xc0010001, 0x430076, 1u << 22, 0, 0},
        {"k8_reve", 0, 0xc0010000, 0xc0010000, 0x530076, 1u << 22, 0, 0},
        {"zen2", 5, 0xc001020a, 0xc001020a, 0x430076, 1u << 22, 0, 0},
        {"zen4", 2, 0xc0010204, 0xc0000301, 0x430076, 4, 0xc0000301, 0x3f},
        {"prescott", 0, 0x360, 0x360, 0x3d000, 1u << 12, 0x3a2, 0x2600020c},
        {"willamette", 0, 0x360, 0x360, 0x4403d000, 1u << 12, 0x3a2, 0x2600020c}, /* waits for a cascade, too */
    };

    (void)state;
    for (unsigned i = 0; i < 4 * sizeof rows / sizeof rows[0]; i++) {
        bool taken = i & 1, by_select = i & 2;
        struct host host;
        uint64_t last;

        host_prepare(&host, rows[i / 4].profile);
        if (rows[i / 4].other)
            upmu_sim_poke(&host.sim, 0, rows[i / 4].other, rows[i / 4].value);
        upmu_sim_poke(&host.sim, 0, rows[i / 4].select, rows[i / 4].left);
        if (!upmu_sim_runs(&host.sim, 0, rows[i / 4].counter))
            fail_msg("%s does not run", rows[i / 4].profile);
        host_start(&host);
        assert_int_equal(upmu_cpu_owner(&host.cpu[0], rows[i / 4].counter), UPMU_OWNER_FIRMWARE, i);
        if (taken)
            upmu_cpu_take_firmware(&host.cpu[0]);
        assert_int_equal(upmu_cpu_reserve(&host.cpu[0], 1u << rows[i / 4].counter), UPMU_OK, i);
        last = upmu_sim_peek(&host.sim, 0, rows[i / 4].enable);
        if (by_select || !rows[i / 4].bit)
            upmu_sim_poke(&host.sim, 0, rows[i / 4].select, 0);
        else
            upmu_sim_poke(&host.sim, 0, rows[i / 4].enable, last & ~rows[i / 4].bit);
        upmu_cpu_unreserve(&host.cpu[0], 1u << rows[i / 4].counter);
        assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
        if (upmu_sim_runs(&host.sim, 0, rows[i / 4].counter))
            fail_msg("%s, counter %u%s%s", rows[i / 4].profile, rows[i / 4].counter, taken ? ", taken" : "",
                     by_select ? ", select" : "");
        if (taken && rows[i / 4].select == 0x360) /* it waits for no cascade, either */
            assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x360) & 0x40001000, 0);
    }
}

/* On P6 select 0 enables both counters: what it does not enable is an old event code. */
static void what_no_enable_bit_lets_count_is_free(void **state)
{
    static const char *const profiles[] = {"p6", "pentium_m", "yonah"};

    (void)state;
    for (unsigned i = 0; i < sizeof profiles / sizeof *profiles; i++) {
        struct host host;

        host_prepare(&host, profiles[i]);
        upmu_sim_poke(&host.sim, 0, 0x187, 0x1300c0);
        host_start(&host);
        assert_int_equal(upmu_cpu_owner(&host.cpu[0], 1), UPMU_OWNER_FREE);
        assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
    }
}

/* Elsewhere the bit that asks for interrupts is use enough: other software may be about to enable the counter. */
static void what_asks_for_interrupts_is_in_use(void **state)
{
    static const char *const profiles[] = {"version1", "core2", "skylake"};

    (void)state;
    for (unsigned i = 0; i < sizeof profiles / sizeof *profiles; i++) {
        struct host host;

        host_prepare(&host, profiles[i]);
        upmu_sim_poke(&host.sim, 0, 0x187, 0x1300c0);
        host_start(&host);
        assert_int_equal(upmu_cpu_owner(&host.cpu[0], 1), UPMU_OWNER_FIRMWARE);
        assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
    }
}

/* The host looked at its counter and changed nothing: it is as it was found.  Catches: the rule above, too far. */
static void a_counter_that_came_back_running_runs_at_the_end(void **state)
{
    static const struct {
        const char *profile;
        uint32_t select, enable;
        uint64_t left;
    } rows[] = {
        {"p6", 0x186, 0x186, 0x4300c0},           {"version1", 0x186, 0x186, 0x43003c},
        {"skylake", 0x186, 0x38f, 0x43003c},      {"k8_reve", 0xc0010000, 0xc0010000, 0x530076},
        {"zen4", 0xc0010200, 0xc0000301, 0x430076}, {"prescott", 0x360, 0x360, 0x3d000},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct host host;

        host_prepare(&host, rows[i].profile);
        upmu_sim_poke(&host.sim, 0, 0x3a2, 0x2600020c); /* (The ESCR, where there is one.) */
        upmu_sim_poke(&host.sim, 0, rows[i].select, rows[i].left);
        if (rows[i].enable != rows[i].select)
            upmu_sim_poke(&host.sim, 0, rows[i].enable, 1);
        host_start(&host);
        assert_int_equal(upmu_cpu_reserve(&host.cpu[0], 1), UPMU_OK);
        upmu_cpu_unreserve(&host.cpu[0], 1);
        assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
        assert_true(upmu_sim_runs(&host.sim, 0, 0));
        assert_int_equal(upmu_sim_peek(&host.sim, 0, rows[i].select), rows[i].left, i);
    }
}

/*
 * What the host has cleared for its counter stays clear, and another counter's bit is restored.  So is what was taken
 * from the firmware, and that the host left as it was.
 */
static void records_that_the_host_disabled_stay_disabled(void **state)
{
    struct host host;

    (void)state;
    host_prepare(&host, "skylake");
    upmu_sim_poke(&host.sim, 0, 0x3f1, 0x3);
    host_start(&host);
    upmu_cpu_take_firmware(&host.cpu[0]);
    assert_int_equal(upmu_cpu_reserve(&host.cpu[0], 1), UPMU_OK);
    upmu_cpu_unreserve(&host.cpu[0], 1);
    assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x3f1), 0x3);
    for (unsigned take = 0; take < 2; take++) {
        host_prepare(&host, "skylake");
        upmu_sim_poke(&host.sim, 0, 0x3f1, 0x3);
        host_start(&host);
        assert_int_equal(upmu_cpu_reserve(&host.cpu[0], 1), UPMU_OK);
        upmu_sim_poke(&host.sim, 0, 0x3f1, 0x2);
        upmu_cpu_unreserve(&host.cpu[0], 1);
        if (take) {
            upmu_cpu_take_firmware(&host.cpu[0]);
            assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x3f1), 0);
        }
        assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x3f1), 0x2);
    }
}

/* A counter that the firmware had running is given to the host, and is given back stopped: it stays so at the end. */
static void a_shared_counter_back_stopped_does_not_run_at_the_end(void **state)
{
    static struct host host;

    (void)state;
    for (unsigned way = 0; way < 8; way++) {
        uint64_t left = way & 1 ? 0x3c000 : 0; /* without its enable bit, or nothing */
        unsigned cpu = way >> 1 & 1;
        bool taken = way & 4;

        host_prepare(&host, "prescott");
        upmu_sim_poke(&host.sim, 0, 0x3a2, 0x2600020c);
        upmu_sim_poke(&host.sim, 0, 0x360, 0x3d000);
        assert_true(upmu_sim_runs(&host.sim, 0, 0));
        host_machine(&host);
        host_take_over(&host, 2, true);
        upmu_sim_switch_cpu(&host.sim, cpu);
        assert_int_equal(upmu_cpu_owner(&host.cpu[cpu], 0), UPMU_OWNER_FIRMWARE, cpu);
        if (taken)
            upmu_cpu_take_firmware(&host.cpu[cpu]);
        assert_int_equal(upmu_cpu_reserve(&host.cpu[cpu], 1), UPMU_OK, cpu);
        upmu_sim_poke(&host.sim, 0, 0x360, left);
        upmu_cpu_unreserve(&host.cpu[cpu], 1);
        for (unsigned i = 0; i < 2; i++) {
            upmu_sim_switch_cpu(&host.sim, i);
            assert_int_equal(upmu_cpu_fini(&host.cpu[i]), UPMU_OK, i);
        }
        if (upmu_sim_runs(&host.sim, 0, 0))
            fail_msg("CPU %u, %x%s: it runs", cpu, (unsigned)left, taken ? ", taken" : "");
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_idle_cpu_has_free_counters_and_no_others),
        cmocka_unit_test(a_session_owns_its_counters_from_attach_to_detach),
        cmocka_unit_test(counters_of_the_firmware_run_on_untouched),
        cmocka_unit_test(what_firmware_holds_is_not_placed_and_the_refusal_says_so),
        cmocka_unit_test(a_counter_that_would_write_records_is_the_firmwares),
        cmocka_unit_test(a_branch_trace_of_a_former_kernel_ends_with_take_firmware),
        cmocka_unit_test(a_branch_trace_that_began_later_is_left_alone),
        cmocka_unit_test(a_counter_that_would_reload_is_the_firmwares),
        cmocka_unit_test(where_there_are_no_records_nothing_is_looked_for),
        cmocka_unit_test(records_are_looked_for_if_what_could_deny_them_faults),
        cmocka_unit_test(one_fault_hides_no_records),
        cmocka_unit_test(a_reserved_counter_keeps_the_common_enable),
        cmocka_unit_test(one_fixed_counter_that_is_reserved_leaves_the_others_found),
        cmocka_unit_test(what_the_host_ended_for_its_counter_is_not_put_back),
        cmocka_unit_test(a_reserved_counter_0_leaves_select_1_to_upmu),
        cmocka_unit_test(counters_of_the_firmware_can_be_taken_and_are_given_back),
        cmocka_unit_test(taking_the_firmwares_counters_leaves_reserved_ones_running),
        cmocka_unit_test(records_beside_those_of_the_host_stay_the_firmwares),
        cmocka_unit_test(a_watchdog_found_and_stopped_is_not_started_at_the_end),
        cmocka_unit_test(what_the_host_changed_beside_a_select_is_no_difference),
        cmocka_unit_test(what_was_taken_before_a_sleep_is_the_firmwares_after_it),
        cmocka_unit_test(a_reserved_counter_is_left_to_the_host),
        cmocka_unit_test(a_watchdog_begun_later_runs_beside_sessions_if_upmu_is_told),
        cmocka_unit_test(a_reserved_fixed_counter_leaves_the_others_to_upmu),
        cmocka_unit_test(a_counter_in_use_cannot_be_reserved),
        cmocka_unit_test(everything_reserved_leaves_room_for_nothing),
        cmocka_unit_test(somebody_who_came_later_is_noticed_by_the_next_attach),
        cmocka_unit_test(a_counter_that_came_back_disabled_is_disabled_at_the_end),
        cmocka_unit_test(a_counter_that_came_back_stopped_does_not_run_at_the_end),
        cmocka_unit_test(what_no_enable_bit_lets_count_is_free),
        cmocka_unit_test(what_asks_for_interrupts_is_in_use),
        cmocka_unit_test(a_counter_that_came_back_running_runs_at_the_end),
        cmocka_unit_test(records_that_the_host_disabled_stay_disabled),
        cmocka_unit_test(owners_have_names),
        cmocka_unit_test(a_shared_counter_back_stopped_does_not_run_at_the_end),
    };

    return cmocka_run_group_tests_name("own", tests, NULL, NULL);
}
