/* SPDX-License-Identifier: MIT */
/*
 * upmu_cpu_clear(): whatever was in the registers of a PMU, they count nothing afterwards.
 *
 * The ranges of registers below are the manuals', and not the library's tables; the models say what each of them holds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <upmu/ibs.h>
#include <upmu/session.h>
#include <upmu/set.h>

#include "tests/common/host.h"
#include "tests/common/share.h"

struct range {
    uint32_t first, count;
};

/*
 * Intel SDM vol 4, table 2-2 (the architectural ones, 1A6H, 1A7H, 3F1H, 3F6H, 3F7H); 3E0H to 3E3H, 1328H, 1329H, 1900H
 * and 1980H: Linux 6.12 arch/x86/include/asm/msr-index.h.
 */
static const struct range intel[] = {{0xc1, 10},   {0x186, 10},  {0x309, 7},   {0x38d, 1},   {0x38f, 1},
                                     {0x329, 1},   {0x1a6, 2},   {0x3f1, 1},   {0x3f6, 2},   {0x1328, 2},
                                     {0x3e0, 4},   {0x1900, 40}, {0x1980, 28}, {0, 0}};
/* SDM vol 4, table 2-41: counters, CCCRs, ESCRs, PEBS_ENABLE, PEBS_MATRIX_VERT. */
static const struct range netburst[] = {{0x300, 18}, {0x360, 18}, {0x3a0, 0x42}, {0x3f1, 2}, {0, 0}};
/* AMD APM vol 2 13.2, 13.3: the legacy set, the extended set, PerfCntrGlobalCtl, the controls of IBS. */
static const struct range amd[] = {{0xc0010000u, 8}, {0xc0010200u, 32}, {0xc0000301u, 1},
                                   {0xc0011030u, 1}, {0xc0011033u, 1},  {0, 0}};

static bool is_netburst(const struct host *host)
{
    return host->sim.profile->flags & UPMU_SIM_P4;
}

static const struct range *ranges_of(const struct host *host)
{
    return host->sim.profile->amd ? amd : is_netburst(host) ? netburst : intel;
}

#define EACH_REGISTER(host, msr)                                                                                       \
    for (const struct range *range_ = ranges_of(host); range_->count; range_++)                                        \
        for (uint32_t msr = range_->first; msr < range_->first + range_->count; msr++)

/* On P6 and Core Duo an idle select has L2_RQSTS without a unit mask, at no privilege. */
static uint64_t cleared_value(const struct host *host, uint32_t msr)
{
    bool one_enable = host->sim.profile->flags & (UPMU_SIM_P6 | UPMU_SIM_ONE_ENABLE);

    return one_enable && (msr == 0x186 || msr == 0x187) ? 0x2e : 0;
}

/* All flags that a status can have: those of counters and, from version 4 on and on AMD, those of freezing. */
static uint64_t flags_of(const struct host *host)
{
    const struct upmu_sim_profile *profile = host->sim.profile;
    uint64_t fixed = ((UINT64_C(1) << profile->fixed) - 1u) & ~(uint64_t)profile->fixed_holes;
    uint64_t flags = ((UINT64_C(1) << profile->general) - 1u) | fixed << 32;

    if (is_netburst(host) || profile->version < 2)
        return 0;
    if (profile->flags & UPMU_SIM_TFA)
        flags &= ~UINT64_C(8);
    return flags | (profile->amd || profile->version >= 4 ? UINT64_C(3) << 58 : 0);
}

/* TR, BTS, BTINT and the two bits of freezing. */
#define DEBUGCTL_OURS UINT64_C(0x19c0)

/*
 * Does the model have this register, which the library knows?  Without fixed counters it knows no control of theirs,
 * before version 2 no IA32_PEBS_ENABLE, and counter 3 it leaves to a microcode that uses it (TSX_FORCE_ABORT).  The
 * numbers of version 6 are other registers, or none, before; from then on they are further names of the former ones.
 */
static bool exists(struct host *host, uint32_t msr)
{
    bool faults = host->sim.expect_faults, answer;
    uint64_t value;

    if (msr < 0xc0010008u && msr >= 0xc0010000u && exists(host, 0xc0010200u)) /* names of the first four */
        return false;
    if ((msr == 0x38d && !host->sim.profile->fixed) ||
        ((msr == 0xc4 || msr == 0x189) && (host->sim.profile->flags & UPMU_SIM_TFA)))
        return false;
    if (!is_netburst(host) && !host->sim.profile->amd && host->sim.profile->version >= 6 &&
        (msr < 0x1a6 || (msr >= 0x309 && msr < 0x320)))
        return false;
    if (!is_netburst(host) && ((msr == 0x3f1 && host->sim.profile->version < 2) ||
                               (msr >= 0x1900 && msr < 0x2000 && host->sim.profile->version < 6)))
        return false;

    host->sim.expect_faults = true;
    answer = host->sim.port.rdmsr(host->sim.port.context, msr, &value);
    host->sim.expect_faults = faults;
    return answer;
}

/* CFG_C: bit 63 is for records, the rest is the value that a reload loads, which CFG_B ends. */
static bool is_reload(uint32_t msr)
{
    return msr >= 0x1903 && msr < 0x2000 && (msr & 3u) == 3u;
}

/* What a dead kernel left: any value, in all registers; each counter is enabled. */
static void leave_junk(struct host *host, unsigned cpu)
{
    EACH_REGISTER(host, msr)
    {
        uint64_t value = (uint64_t)rand() << 42 ^ (uint64_t)rand() << 21 ^ (uint64_t)rand();

        if (is_reload(msr)) { /* the model refuses records where the counter has none */
            host->sim.expect_faults = true;
            (void)host->sim.port.wrmsr(host->sim.port.context, msr, UINT64_C(1) << 63);
            host->sim.expect_faults = false;
        } else if (exists(host, msr)) {
            upmu_sim_poke(&host->sim, cpu, msr, value | 0x430000);
        }
    }
    host->sim.cpu[cpu].status = flags_of(host);
    host->sim.rule[UPMU_SIM_RULE_BTS_STORES] = 0; /* other software's trace, whose memory the test has not */
    upmu_sim_poke(&host->sim, cpu, 0x1d9, 0x19c3);
    upmu_sim_forget(&host->sim);
}

/* Compare all registers but `except`; `what` says which case it is. */
static void assert_cleared(struct host *host, unsigned cpu, uint32_t except, const char *what)
{
    host_no_violation(host);
    EACH_REGISTER(host, msr)
    {
        uint64_t value = exists(host, msr) ? upmu_sim_peek(&host->sim, cpu, msr) : cleared_value(host, msr);

        if (is_reload(msr))
            value &= UINT64_C(1) << 63;
        if (is_netburst(host) && msr + 0x60u == except) /* erratum N15: a write of a counter that runs is lost */
            continue;
        if (msr != except && value != cleared_value(host, msr))
            fail_msg("%s, %s: register %x holds %llx", host->sim.profile->name, what, msr, (unsigned long long)value);
    }
    upmu_sim_forget(&host->sim);
    if (except)
        return;
    for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++)
        if (upmu_sim_runs(&host->sim, cpu, i))
            fail_msg("%s, %s: counter %u runs", host->sim.profile->name, what, i);
    if (host->sim.cpu[cpu].status)
        fail_msg("%s, %s: status %llx", host->sim.profile->name, what,
                 (unsigned long long)host->sim.cpu[cpu].status);
}

/* Profiles that have a PMU which keeps what is written. */
static bool has_pmu(const struct upmu_sim_profile *profile)
{
    return !(profile->flags & UPMU_SIM_IGNORES_WRITES) &&
           (profile->version || profile->amd || (profile->flags & (UPMU_SIM_P4 | UPMU_SIM_P6)));
}

static enum upmu_status clear(struct host *host, unsigned cpu)
{
    host->domains[cpu / 2][0] = &host->domain[cpu / 2];
    upmu_sim_switch_cpu(&host->sim, cpu);
    return upmu_cpu_clear(&host->cpu[cpu], &host->machine, host->domains[cpu / 2]);
}

static void each_register_of_each_model_is_cleared(void **state)
{
    unsigned cleared = 0;

    (void)state;
    for (unsigned i = 0; upmu_sim_profile_at(i); i++) {
        enum upmu_status status;
        uint64_t debugctl, area;
        struct host host;

        if (!has_pmu(upmu_sim_profile_at(i)))
            continue;
        host_prepare(&host, upmu_sim_profile_at(i)->name);
        host_machine(&host);
        upmu_sim_switch_cpu(&host.sim, 0);
        leave_junk(&host, 0);
        debugctl = upmu_sim_peek(&host.sim, 0, 0x1d9);
        upmu_sim_poke(&host.sim, 0, 0x600, 0x123456789000); /* IA32_DS_AREA */
        area = upmu_sim_peek(&host.sim, 0, 0x600);
        host.sim.expect_faults = true; /* under hypervisors promised registers may be missing */
        status = clear(&host, 0);
        host.sim.expect_faults = false;
        if (status == UPMU_ERR_NO_PMU) { /* a hypervisor says that there is none */
            assert_int_equal(upmu_cpu_init(&host.cpu[0], &host.machine, NULL), UPMU_ERR_NO_PMU);
            continue;
        }
        if (status != UPMU_OK && (status != UPMU_ERR_PORT || exists(&host, host.machine.why.address)))
            fail_msg("%s: %s at %x", host.sim.profile->name, upmu_status_text(status), host.machine.why.address);
        upmu_sim_forget(&host.sim);
        assert_cleared(&host, 0, host.machine.why.address, "not initialised");
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x1d9) & ~DEBUGCTL_OURS, debugctl & ~DEBUGCTL_OURS);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x600), area);
        assert_null(host.cpu[0].meter.pmu);
        assert_int_equal(host.machine.pmu_count, 0);
        cleared++;
        if (status != UPMU_OK) /* a CPU that cannot be initialised, either */
            continue;
        host_start(&host);
        for (unsigned counter = 0; counter < UPMU_COUNTERS; counter++)
            assert_int_equal(upmu_cpu_owner(&host.cpu[0], counter),
                             host.cpu[0].meter.pmu->counters >> counter & 1u ? UPMU_OWNER_FREE : UPMU_OWNER_ABSENT);
        host_end(&host);
        assert_cleared(&host, 0, 0, "after an end");
    }
    print_message("%u models\n", cleared);
    assert_compare(cleared, >, 60);
}

/* Clear a CPU one of whose registers faults.  Returns whether the call met it. */
static bool clear_beside_a_fault(const char *profile, uint32_t msr)
{
    enum upmu_status status;
    struct host host;

    host_prepare(&host, profile);
    host_machine(&host);
    upmu_sim_switch_cpu(&host.sim, 0);
    leave_junk(&host, 0);
    host.sim.expect_faults = true;
    host.sim.fault_address = msr;
    status = clear(&host, 0);
    host.sim.fault_address = 0;
    upmu_sim_forget(&host.sim);
    if (status == UPMU_OK)
        return false;
    assert_int_equal(status, UPMU_ERR_PORT);
    assert_int_equal(host.machine.why.status, UPMU_ERR_PORT);
    assert_int_equal(host.machine.why.address, msr);
    assert_cleared(&host, 0, msr, "a fault");
    return true;
}

/* The first register that faults is named, and all others are cleared. */
static void a_faulting_register_is_named_and_the_rest_is_cleared(void **state)
{
    /* Status, acknowledgement and DEBUGCTL of Intel; aliases of counters; status and acknowledgement of AMD. */
    static const struct range others[] = {{0x38e, 1}, {0x390, 1}, {0x1d9, 1}, {0x4c1, 2}, {0xc0000300u, 3}, {0, 0}};
    unsigned faults = 0;

    (void)state;
    for (unsigned i = 0; upmu_sim_profile_at(i); i++) {
        const struct upmu_sim_profile *profile = upmu_sim_profile_at(i);
        struct host host = {.sim = {.profile = profile}};

        if (!has_pmu(profile) || (profile->flags & UPMU_SIM_HYPERVISOR))
            continue;
        EACH_REGISTER(&host, msr)
            faults += clear_beside_a_fault(profile->name, msr);
        for (const struct range *range = others; range->count; range++)
            for (uint32_t msr = range->first; msr < range->first + range->count; msr++)
                faults += clear_beside_a_fault(profile->name, msr);
    }
    print_message("%u registers\n", faults);
    assert_compare(faults, >, 1000);
}

/* Of several registers that fault the first one is named. */
static void the_first_of_several_faults_is_named(void **state)
{
    static struct upmu_sim_access trace[200];
    uint32_t first = 0;

    (void)state;
    for (unsigned run = 0; run < 2; run++) {
        struct host host;

        host_prepare(&host, "skylake");
        host_machine(&host);
        upmu_sim_switch_cpu(&host.sim, 0);
        host.sim.trace = trace;
        host.sim.trace_size = 200;
        host.sim.expect_faults = true;
        host.sim.fault_at = run ? first + 3u : 0;
        host.sim.fault_until = run ? first + 10u : 0;
        assert_int_equal(clear(&host, 0), run ? UPMU_ERR_PORT : UPMU_OK);
        while (!run && trace[first].kind != UPMU_SIM_WRMSR)
            first++;
        if (run)
            assert_int_equal(host.machine.why.address, trace[first + 2u].address, first);
    }
}

/* The registers of a counter that the host has reserved, and what it needs, stay; the firmware's are free then. */
static void reserved_counters_run_on_and_the_firmwares_are_free(void **state)
{
    (void)state;
    for (unsigned reserved = 0; reserved < 2; reserved++) {
        struct host host;
        uint64_t counted;

        host_prepare(&host, "skylake");
        upmu_sim_firmware(&host.sim, 0);
        upmu_sim_set_delivery(&host.sim, 0, UPMU_SIM_LVTPC_NMI);
        host_start(&host);
        assert_int_equal(upmu_cpu_owner(&host.cpu[0], 0), UPMU_OWNER_FIRMWARE);
        if (reserved) { /* the watchdog counts instructions on counter 1, and fixed counter 0 */
            assert_int_equal(upmu_cpu_reserve(&host.cpu[0], 2u | 1u << UPMU_FIXED_COUNTER(0)), UPMU_OK);
            upmu_sim_poke(&host.sim, 0, 0x187, 0x4300c0);
            upmu_sim_poke(&host.sim, 0, 0x38d, upmu_sim_peek(&host.sim, 0, 0x38d) | 3u);
            upmu_sim_poke(&host.sim, 0, 0x38f, upmu_sim_peek(&host.sim, 0, 0x38f) | 2u | UINT64_C(1) << 32);
        }
        host_run(&host, 1000);
        counted = upmu_sim_peek(&host.sim, 0, 0xc2);
        assert_int_equal(upmu_cpu_clear(&host.cpu[0], &host.machine, NULL), UPMU_OK);
        host_no_violation(&host);
        assert_int_equal(upmu_cpu_owner(&host.cpu[0], 0), UPMU_OWNER_FREE);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x186), 0);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0xc1), 0);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x187), reserved ? 0x4300c0 : 0);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x38d), reserved ? 3 : 0);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x38f), reserved ? 2u | UINT64_C(1) << 32 : 0);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0xc2), reserved ? counted : 0);
        host_run(&host, 1000);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0xc2), reserved ? counted + 1000 : 0);
        host_add(&host, 0, "branches", 0);
        host_begin(&host, &host.session);
        host_run(&host, 1000);
        assert_int_equal(host_value(&host.session, 0), 500);
        assert_int_equal(upmu_cpu_verify(&host.cpu[0], NULL), UPMU_OK);
        assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
        assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK); /* what the firmware had is not begun again */
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x186), 0);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x38f), reserved ? 2u | UINT64_C(1) << 32 : 0);
        host_no_violation(&host);
    }
}

static void a_running_session_refuses_a_stopped_one_keeps_its_counts(void **state)
{
    static const char *const profiles[] = {"p6", "core2", "skylake", "icelake", "k8_revf", "zen4", "prescott", NULL};

    (void)state;
    for (const char *const *profile = profiles; *profile; profile++) {
        struct host host;
        uint32_t accesses;

        host_set_up(&host, *profile);
        host_add(&host, 0, "instructions", 0);
        host_begin(&host, &host.session);
        host_run(&host, 1000);
        accesses = host.sim.accesses;
        assert_int_equal(upmu_cpu_clear(&host.cpu[0], &host.machine, NULL), UPMU_ERR_STATE);
        assert_int_equal(host.machine.why.status, UPMU_ERR_STATE);
        assert_int_equal(host.sim.accesses, accesses);
        host_run(&host, 1000);
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        leave_junk(&host, 0);
        assert_int_equal(upmu_cpu_clear(&host.cpu[0], &host.machine, NULL), UPMU_OK);
        assert_cleared(&host, 0, 0, "initialised");
        assert_int_equal(host_value(&host.session, 0), 2000);
        assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
        host_run(&host, 1000);
        assert_int_equal(host_value(&host.session, 0), 3000);
        host_end(&host);
        assert_cleared(&host, 0, 0, "after an end");
    }
}

/* A stopped session that samples has its period left, though its counter is empty now. */
static void a_stopped_sampling_session_keeps_its_period(void **state)
{
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    host_sample(&host, "instructions", 1000);
    host_run(&host, 600);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    assert_int_equal(upmu_cpu_clear(&host.cpu[0], &host.machine, NULL), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    host_run(&host, 399);
    assert_int_equal(host_drain(&host, NULL), 0);
    host_run(&host, 1);
    assert_int_equal(host_drain(&host, NULL), 1);
    host_end(&host);
}

/* A static session has left its counters running: they are stopped, and the next switch loads them again. */
static void counters_that_were_left_running_are_loaded_again(void **state)
{
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    host_threads(&host, 2);
    host_add(&host, 0, "branches", 0);
    assert_int_equal(upmu_session_static(&host.session, true), UPMU_OK);
    assert_int_equal(upmu_session_attach_thread(&host.session, &host.threads[1], &host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    host_run(&host, 1000);
    host_thread_switch(&host, 0, 0);
    host_run(&host, 1000);
    assert_int_equal(upmu_cpu_clear(&host.cpu[0], &host.machine, NULL), UPMU_OK);
    for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++)
        assert_false(upmu_sim_runs(&host.sim, 0, i), i);
    host_thread_switch(&host, 0, 1);
    host_run(&host, 1000);
    assert_int_equal(host_value(&host.session, 0), 1000);
    assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
    host_end(&host);
}

/* A sleeping CPU: what was found before the sleep is not restored behind the clear. */
static void a_sleeping_cpu_is_cleared(void **state)
{
    struct host host;

    (void)state;
    host_prepare(&host, "skylake");
    upmu_sim_firmware(&host.sim, 0);
    host_start(&host);
    assert_int_equal(upmu_cpu_suspend(&host.cpu[0]), UPMU_OK);
    leave_junk(&host, 0);
    assert_int_equal(upmu_cpu_clear(&host.cpu[0], &host.machine, NULL), UPMU_OK);
    assert_cleared(&host, 0, 0, "asleep");
    assert_int_equal(upmu_cpu_resume(&host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_cpu_owner(&host.cpu[0], 0), UPMU_OWNER_FREE);
    host_end(&host);
    assert_cleared(&host, 0, 0, "after an end");
}

/* NetBurst: both threads of a core see all registers. */
static void registers_that_another_cpu_uses_are_left_to_it(void **state)
{
    struct host host;

    (void)state;
    host_prepare(&host, "prescott");
    host_machine(&host);
    host_take_over_one(&host, 0, true);
    host_add(&host, 0, "instructions", 0);
    host_begin(&host, &host.session);
    host_run(&host, 1000);
    for (unsigned i = 0; i < 20; i++) /* not initialised; more often than a domain has places */
        assert_int_equal(clear(&host, 1), UPMU_OK);
    host_take_over_one(&host, 1, true);
    assert_int_equal(clear(&host, 1), UPMU_OK);
    upmu_sim_switch_cpu(&host.sim, 0);
    host_run(&host, 1000);
    assert_int_equal(host_value(&host.session, 0), 2000);
    assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
    assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
    host.sim.rule[UPMU_SIM_RULE_CHECK_P4_SIBLING] = 0; /* poke does not say which thread enables */
    leave_junk(&host, 1);
    assert_int_equal(clear(&host, 1), UPMU_OK); /* alone now */
    assert_cleared(&host, 0, 0, "alone");
    assert_int_equal(upmu_cpu_fini(&host.cpu[1]), UPMU_OK);
    assert_cleared(&host, 0, 0, "after an end");
}

/* The next CPU of a domain finds the registers as they are, and not as a clear has left them before. */
static void a_clear_is_not_remembered_as_what_the_first_cpu_found(void **state)
{
    struct host host;

    (void)state;
    host_prepare(&host, "prescott");
    host_machine(&host);
    upmu_sim_switch_cpu(&host.sim, 0);
    leave_junk(&host, 0);
    assert_int_equal(clear(&host, 0), UPMU_OK);
    upmu_sim_poke(&host.sim, 0, 0x3b8, 0x04000204); /* CRU_ESCR0, by software that begins then */
    host_take_over_one(&host, 0, true);
    host_add(&host, 0, "instructions", 0);
    host_begin(&host, &host.session);
    assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
    assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x3b8), 0x04000204);
}

static void a_sampling_unit_that_runs_refuses(void **state)
{
    static struct upmu_ibs_sample samples[16];
    struct upmu_ibs ibs = {.kind = UPMU_IBS_OP, .period = 0x10000, .samples = samples, .capacity = 16};
    struct host host;

    (void)state;
    host_set_up(&host, "zen4");
    assert_int_equal(upmu_ibs_start(&host.cpu[0], &ibs), UPMU_OK);
    assert_int_equal(upmu_cpu_clear(&host.cpu[0], &host.machine, NULL), UPMU_ERR_STATE);
    assert_int_not_equal(upmu_sim_peek(&host.sim, 0, 0xc0011033u), 0);
    assert_int_equal(upmu_ibs_stop(&host.cpu[0], &ibs), UPMU_OK);
    upmu_sim_poke(&host.sim, 0, 0xc0011033u, 0x20100);
    assert_int_equal(upmu_cpu_clear(&host.cpu[0], &host.machine, NULL), UPMU_OK);
    assert_int_equal(upmu_sim_peek(&host.sim, 0, 0xc0011033u), 0);
    host_end(&host);
}

/* An overflow whose interrupt is on its way at the clear is no interrupt of others. */
static void a_late_interrupt_of_a_cleared_counter_is_stale(void **state)
{
    struct host host;

    (void)state;
    host_prepare(&host, "skylake");
    upmu_sim_firmware(&host.sim, 0);
    upmu_sim_set_delivery(&host.sim, 0, UPMU_SIM_LVTPC_NMI);
    host_start(&host);
    assert_int_equal(upmu_cpu_clear(&host.cpu[0], &host.machine, NULL), UPMU_OK);
    upmu_sim_foreign_nmi(&host.sim);
    assert_int_equal(host.answer[0], UPMU_PMI_STALE);
    host_end(&host);
}

static void other_refusals(void **state)
{
    struct host host;

    (void)state;
    host_prepare(&host, "p4_no_perfmon");
    host_machine(&host);
    assert_int_equal(clear(&host, 0), UPMU_ERR_NO_PMU);
    assert_int_equal(host.machine.why.status, UPMU_ERR_NO_PMU);

    host_prepare(&host, "skylake");
    host_machine(&host);
    host_take_over(&host, 2, false);
    upmu_sim_switch_cpu(&host.sim, 1);
    assert_int_equal(upmu_cpu_clear(&host.cpu[0], &host.machine, NULL), UPMU_ERR_WRONG_CPU);
    host_end(&host);
}

/* Where a fault is not safe, registers that CPUID does not promise are not touched. */
static void unpromised_registers_are_left_where_faults_are_unsafe(void **state)
{
    struct host host;

    (void)state;
    host_prepare(&host, "skylake");
    host.sim.port.msr_faults_are_safe = false;
    host_machine(&host);
    upmu_sim_switch_cpu(&host.sim, 0);
    upmu_sim_poke(&host.sim, 0, 0x1a6, 0x10001);
    upmu_sim_poke(&host.sim, 0, 0x186, 0x4300c0);
    assert_int_equal(clear(&host, 0), UPMU_OK);
    assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x1a6), 0x10001);
    assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x186), 0);
    host_no_violation(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_register_of_each_model_is_cleared),
        cmocka_unit_test(a_faulting_register_is_named_and_the_rest_is_cleared),
        cmocka_unit_test(reserved_counters_run_on_and_the_firmwares_are_free),
        cmocka_unit_test(a_running_session_refuses_a_stopped_one_keeps_its_counts),
        cmocka_unit_test(the_first_of_several_faults_is_named),
        cmocka_unit_test(a_stopped_sampling_session_keeps_its_period),
        cmocka_unit_test(counters_that_were_left_running_are_loaded_again),
        cmocka_unit_test(a_sleeping_cpu_is_cleared),
        cmocka_unit_test(registers_that_another_cpu_uses_are_left_to_it),
        cmocka_unit_test(a_clear_is_not_remembered_as_what_the_first_cpu_found),
        cmocka_unit_test(a_sampling_unit_that_runs_refuses),
        cmocka_unit_test(a_late_interrupt_of_a_cleared_counter_is_stale),
        cmocka_unit_test(other_refusals),
        cmocka_unit_test(unpromised_registers_are_left_where_faults_are_unsafe),
    };

    return cmocka_run_group_tests_name("clear", tests, NULL, NULL);
}
