/* SPDX-License-Identifier: MIT */
/*
 * The life of a CPU: taken over, put to sleep, changed by others, checked, given
 * back.
 */
#include <upmu/place.h>
#include <upmu/probe.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include "tests/common/host.h"

static const char *const every_profile[] = {
    "core2",   "merom_early",           "version1", "nehalem", "skylake", "skylake_nofw", "skylake_smtoff",
    "icelake", "hypervisor_v2_nofixed", NULL};

#define EACH(profile) for (const char *const *profile = every_profile; *profile; profile++)

static const uint32_t some_registers[] = {0xc1,  0xc2,  0x186, 0x187, 0x188, 0x1a0, 0x1d9, 0x309,
                                          0x30a, 0x30b, 0x38d, 0x38f, 0x1a6, 0x1a7, 0x3f6, 0x3f7};

#define REGISTERS (sizeof some_registers / sizeof some_registers[0])

static void take_picture(struct host *host, uint64_t *out)
{
    for (unsigned i = 0; i < REGISTERS; i++)
        out[i] = upmu_sim_peek(&host->sim, 0, some_registers[i]);
}

static void compare_picture(struct host *host, const uint64_t *picture)
{
    for (unsigned i = 0; i < REGISTERS; i++)
        if (upmu_sim_peek(&host->sim, 0, some_registers[i]) != picture[i])
            fail_msg("%s: register %x holds %llx, was %llx", host->sim.profile->name, (unsigned)some_registers[i],
                     (unsigned long long)upmu_sim_peek(&host->sim, 0, some_registers[i]),
                     (unsigned long long)picture[i]);
}

/* ---- Init ---- */

static void a_port_without_its_three_hooks_is_refused(void **state)
{
    struct host host;

    (void)state;
    host_prepare(&host, "skylake");
    for (unsigned i = 0; i < 5; i++) {
        static const char *const missing[] = {"rdmsr", "wrmsr", "cpuid", "irq_save", "irq_restore"};
        struct upmu_port port = host.sim.port;

        if (i == 0)
            port.rdmsr = NULL;
        else if (i == 1)
            port.wrmsr = NULL;
        else if (i == 2)
            port.cpuid = NULL;
        else if (i == 3)
            port.irq_save = NULL;
        else
            port.irq_restore = NULL;
        assert_int_equal(upmu_machine_init(&host.machine, &port), UPMU_ERR_HOOK_MISSING);
        assert_string_equal(host.machine.why.word, missing[i]);
    }
}

static void headers_of_another_build_are_refused(void **state)
{
    struct host host;

    (void)state;
    host_prepare(&host, "skylake");
    assert_int_equal(upmu_machine_init_checked(&host.machine, &host.sim.port, UPMU_VERSION + 1,
                                               sizeof(struct upmu_machine), sizeof(struct upmu_cpu)),
                     UPMU_ERR_VERSION);
    assert_int_equal(upmu_machine_init_checked(&host.machine, &host.sim.port, UPMU_VERSION,
                                               sizeof(struct upmu_machine) + 8, sizeof(struct upmu_cpu)),
                     UPMU_ERR_VERSION);
    assert_int_equal(upmu_machine_init_checked(&host.machine, &host.sim.port, UPMU_VERSION, sizeof(struct upmu_machine),
                                               sizeof(struct upmu_cpu) - 8),
                     UPMU_ERR_VERSION);
}

static void machine_init_touches_no_register(void **state)
{
    struct host host;

    (void)state;
    host_prepare(&host, "skylake");
    host_machine(&host);
    assert_int_equal(host.sim.accesses, 0);
    assert_int_equal(host.sim.access_count[UPMU_SIM_CPUID], 0);
}

static void a_cpu_without_a_pmu_says_so_and_is_not_touched(void **state)
{
    static const char *const without[] = {"no_pmu", "tcg", "ignores_writes"};

    (void)state;
    for (unsigned i = 0; i < sizeof without / sizeof without[0]; i++) {
        struct host host;

        host_prepare(&host, without[i]);
        host_machine(&host);
        assert_int_equal(upmu_cpu_init(&host.cpu[0], &host.machine, NULL), UPMU_ERR_NO_PMU);
        assert_int_equal(upmu_cpu_poll(&host.cpu[0]), UPMU_OK);
        assert_int_equal(upmu_cpu_verify(&host.cpu[0], NULL), UPMU_OK);
        assert_int_equal(upmu_cpu_suspend(&host.cpu[0]), UPMU_OK);
        assert_int_equal(upmu_cpu_resume(&host.cpu[0]), UPMU_ERR_NO_PMU);
        assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
        host_no_violation(&host);
    }
}

static void a_fault_of_a_promised_register_leaves_everything_as_it_was(void **state)
{
    static const uint32_t promised[] = {0xc1, 0x186, 0x38d, 0x38f};

    (void)state;
    for (unsigned i = 0; i < sizeof promised / sizeof promised[0]; i++) {
        uint64_t picture[REGISTERS];
        struct host host;

        host_prepare(&host, "skylake");
        host_machine(&host);
        take_picture(&host, picture);
        host.sim.fault_address = promised[i];
        host.sim.expect_faults = true;
        assert_int_equal(upmu_cpu_init(&host.cpu[0], &host.machine, NULL), UPMU_ERR_PORT);
        assert_int_equal(host.machine.pmu_count, 0);
        assert_int_equal(upmu_set_add(&host.session.set, "cycles", NULL), UPMU_ERR_NO_PMU);
        assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[0]), UPMU_ERR_STATE);
        host.sim.fault_address = 0;
        compare_picture(&host, picture);
        assert_int_equal(upmu_cpu_init(&host.cpu[0], &host.machine, NULL), UPMU_OK);
        host_end(&host);
    }
}

static void a_second_cpu_needs_this_cpu(void **state)
{
    struct host host;

    (void)state;
    host_prepare(&host, "skylake");
    host.sim.port.this_cpu = NULL;
    host_start(&host);
    upmu_sim_switch_cpu(&host.sim, 1);
    assert_int_equal(upmu_cpu_init(&host.cpu[1], &host.machine, NULL), UPMU_ERR_HOOK_MISSING);
    assert_int_equal(host.machine.why.status, UPMU_ERR_HOOK_MISSING);
    assert_string_equal(host.machine.why.word, "this_cpu");
    upmu_sim_switch_cpu(&host.sim, 0);
    host_end(&host);
}

static void a_fifth_core_type_finds_no_space(void **state)
{
    static const char *const types[] = {"skylake", "core2", "version1", "nehalem", "icelake"};
    static struct upmu_cpu cpus[5];
    struct host host;

    (void)state;
    memset(cpus, 0, sizeof cpus);
    host_prepare(&host, "skylake");
    host_machine(&host);
    for (unsigned i = 0; i < 5; i++) {
        host.sim.profile = upmu_sim_profile(types[i]);
        upmu_sim_reset_cpu(&host.sim, 0);
        assert_int_equal(upmu_cpu_init(&cpus[i], &host.machine, NULL),
                         i < UPMU_CORE_TYPES ? UPMU_OK : UPMU_ERR_NO_SPACE, i);
    }
    assert_int_equal(host.machine.pmu_count, UPMU_CORE_TYPES);
}

static void cpus_are_numbered_in_the_order_of_their_init(void **state)
{
    struct upmu_sample sample;
    struct upmu_sampling sampling = {.period = 100};
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    upmu_sim_switch_cpu(&host.sim, 1);
    assert_int_equal(upmu_cpu_init(&host.cpu[1], &host.machine, NULL), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.session.set, "instructions", &sampling), UPMU_OK);
    assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[1]), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    host_run(&host, 100);
    assert_int_equal(host_drain(&host, &sample), 1);
    assert_int_equal(sample.cpu, 1);
    assert_int_equal(upmu_cpu_fini(&host.cpu[1]), UPMU_OK);
    upmu_sim_switch_cpu(&host.sim, 0);
    host_end(&host);
}

/* ---- Fini ---- */

static void fini_gives_back_what_init_found(void **state)
{
    (void)state;
    EACH(profile)
    {
        uint64_t picture[REGISTERS];
        struct upmu_sampling sampling = {.period = 100};
        struct host host;

        host_prepare(&host, *profile);
        upmu_sim_poke(&host.sim, 0, 0xc1, 0x12345);
        upmu_sim_poke(&host.sim, 0, 0xc2, 0x6789a);
        upmu_sim_poke(&host.sim, 0, 0x186, 0x300c4); /* idle, but not empty */
        upmu_sim_poke(&host.sim, 0, 0x187, 0x3003c);
        if (host.sim.profile->fixed) {
            upmu_sim_poke(&host.sim, 0, 0x309, 0x777);
            upmu_sim_poke(&host.sim, 0, 0x1d9, 0x1800);
        }
        take_picture(&host, picture);
        host_start(&host);
        assert_int_equal(upmu_set_add(&host.session.set, "instructions", &sampling), UPMU_OK);
        assert_int_equal(upmu_set_add(&host.session.set, "branches", NULL), UPMU_OK);
        host_begin(&host, &host.session);
        host_run(&host, 1000);
        host_end(&host);
        compare_picture(&host, picture);
        assert_int_equal(host.session.state, UPMU_SESSION_DETACHED);
        assert_int_equal(host_value(&host.session, 0), 1000);
        assert_int_equal(host_value(&host.session, 1), 500);
    }
}

static void fini_twice_and_without_init_does_nothing(void **state)
{
    static struct upmu_cpu zeroed;
    struct host host;
    uint32_t accesses;

    (void)state;
    assert_int_equal(upmu_cpu_fini(&zeroed), UPMU_OK);
    host_set_up(&host, "skylake");
    host_end(&host);
    accesses = host.sim.accesses;
    assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
    assert_int_equal(host.sim.accesses, accesses);
    host_no_violation(&host);
}

static void a_cpu_can_be_taken_over_again_after_fini(void **state)
{
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    host_end(&host);
    assert_int_equal(upmu_cpu_init(&host.cpu[0], &host.machine, NULL), UPMU_OK);
    assert_int_equal(host.machine.pmu_count, 1);
    assert_int_equal(upmu_set_add(&host.session.set, "instructions", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    host_run(&host, 100);
    assert_int_equal(host_value(&host.session, 0), 100);
    host_end(&host);
}

static void a_fault_in_fini_does_not_keep_the_rest_from_being_restored(void **state)
{
    struct host host;

    (void)state;
    host_prepare(&host, "skylake");
    upmu_sim_poke(&host.sim, 0, 0x1d9, 0x1800);
    host_start(&host);
    assert_int_equal(upmu_set_add(&host.session.set, "instructions", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    host.sim.fault_address = 0x38d;
    assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_ERR_PORT);
    assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x1d9), 0x1800);
    assert_int_equal(host.session.state, UPMU_SESSION_DETACHED);
}

/* ---- Sleep ---- */

static void sessions_sleep_with_their_cpu_and_run_on(void **state)
{
    (void)state;
    EACH(profile)
    {
        struct upmu_sampling sampling = {.period = 100};
        struct upmu_count count;
        struct host host;

        host_set_up(&host, *profile);
        assert_int_equal(upmu_set_add(&host.other.set, "cycles", NULL), UPMU_OK);
        host_begin(&host, &host.other);
        assert_int_equal(upmu_set_add(&host.session.set, "instructions", &sampling), UPMU_OK);
        assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
        host_begin(&host, &host.session);
        host_run(&host, 150);
        assert_int_equal(upmu_cpu_suspend(&host.cpu[0]), UPMU_OK);
        assert_int_equal(host.session.state, UPMU_SESSION_SUSPENDED);
        assert_int_equal(upmu_session_start(&host.session), UPMU_ERR_STATE);
        host_run(&host, 1000);
        assert_int_equal(host_value(&host.session, 0), 150);
        assert_int_equal(host_value(&host.other, 0), 300);
        upmu_sim_reset_cpu(&host.sim, 0);
        upmu_sim_set_delivery(&host.sim, 0, UPMU_SIM_LVTPC_NMI);
        assert_int_equal(upmu_cpu_resume(&host.cpu[0]), UPMU_OK);
        assert_int_equal(host.session.state, UPMU_SESSION_RUNNING);
        host_run(&host, 150);
        assert_int_equal(host_drain(&host, NULL), 3);
        assert_int_equal(upmu_set_read(&host.session.set, 0, 1, &count), UPMU_OK);
        assert_int_equal(count.value, 300);
        assert_int_equal(count.quality, UPMU_QUALITY_EXACT);
        assert_in_range(count.enabled_ns, 600, 700); /* without the sleep, in which 2,000 ns have passed */
        assert_int_equal(count.running_ns, count.enabled_ns);
        assert_int_equal(host_value(&host.other, 0), 600);
        host_end(&host);
    }
}

static void what_was_stopped_before_or_during_sleep_stays_stopped(void **state)
{
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_set_add(&host.session.set, "cycles", NULL), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.other.set, "instructions", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    host_begin(&host, &host.other);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    assert_int_equal(upmu_cpu_suspend(&host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_stop(&host.other), UPMU_OK);
    upmu_sim_reset_cpu(&host.sim, 0);
    assert_int_equal(upmu_cpu_resume(&host.cpu[0]), UPMU_OK);
    assert_int_equal(host.session.state, UPMU_SESSION_STOPPED);
    assert_int_equal(host.other.state, UPMU_SESSION_STOPPED);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    host_run(&host, 100);
    assert_int_equal(host_value(&host.session, 0), 200);
    assert_int_equal(host_value(&host.other, 0), 0);
    host_end(&host);
}

static void a_session_can_leave_while_its_cpu_sleeps(void **state)
{
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_set_add(&host.session.set, "cycles", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    host_run(&host, 50);
    assert_int_equal(upmu_cpu_suspend(&host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    assert_int_equal(upmu_cpu_resume(&host.cpu[0]), UPMU_OK);
    assert_int_equal(host_value(&host.session, 0), 100);
    host_end(&host);
}

static void what_cannot_run_on_after_sleep_is_stopped_and_says_why(void **state)
{
    struct host host;

    (void)state;
    host_set_up(&host, "version1");
    assert_int_equal(upmu_set_add(&host.session.set, "cycles", NULL), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.other.set, "instructions", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    host_begin(&host, &host.other);
    assert_int_equal(upmu_cpu_suspend(&host.cpu[0]), UPMU_OK);
    upmu_sim_reset_cpu(&host.sim, 0);
    upmu_sim_poke(&host.sim, 0, 0x186, 0x43003c); /* the firmware keeps one of two for itself now */
    assert_int_equal(upmu_cpu_resume(&host.cpu[0]), UPMU_ERR_DOES_NOT_FIT);
    assert_int_equal(upmu_cpu_owner(&host.cpu[0], 0), UPMU_OWNER_FIRMWARE);
    assert_int_equal((host.session.state == UPMU_SESSION_RUNNING) + (host.other.state == UPMU_SESSION_RUNNING), 1);
    assert_int_equal((host.session.error == UPMU_ERR_DOES_NOT_FIT) + (host.other.error == UPMU_ERR_DOES_NOT_FIT), 1);
    host_end(&host);
}

static void resume_without_suspend_changes_nothing(void **state)
{
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_set_add(&host.session.set, "cycles", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    assert_int_equal(upmu_cpu_resume(&host.cpu[0]), UPMU_OK);
    host_run(&host, 100);
    assert_int_equal(host_value(&host.session, 0), 200);
    assert_int_equal(upmu_cpu_owner(&host.cpu[0], 1), UPMU_OWNER_FREE);
    host_end(&host);
}

/* ---- Changes behind our back ---- */

/*
 * Each access of a resume faults in turn: a CPU that sleeps on has its registers as they were, and the next sleep
 * leaves what the host has changed between the attempts.  Mistake: what a take-over that failed has found is restored
 * later.
 */
static void a_resume_that_fails_leaves_what_it_found(void **state)
{
    (void)state;
    EACH(profile)
    {
        bool faulted = true;

        for (uint32_t at = 1; faulted; at++) {
            uint64_t picture[REGISTERS];
            struct host host;
            uint32_t accesses;

            host_set_up(&host, *profile);
            assert_int_equal(upmu_cpu_suspend(&host.cpu[0]), UPMU_OK);
            take_picture(&host, picture);
            accesses = host.sim.accesses;
            host.sim.expect_faults = true;
            host.sim.fault_at = accesses + at;
            if (upmu_cpu_resume(&host.cpu[0]) == UPMU_ERR_PORT) {
                compare_picture(&host, picture);
                upmu_sim_poke(&host.sim, 0, 0x186, 0x1003c);
                take_picture(&host, picture);
            }
            faulted = host.sim.accesses >= accesses + at;
            host.sim.fault_at = 0;
            assert_int_equal(upmu_cpu_resume(&host.cpu[0]), UPMU_OK);
            assert_int_equal(upmu_cpu_suspend(&host.cpu[0]), UPMU_OK);
            compare_picture(&host, picture);
            host_end(&host);
        }
    }
}

static void after_a_change_counts_go_on_and_are_called_partial(void **state)
{
    (void)state;
    EACH(profile)
    {
        struct upmu_count before[2], count;
        struct host host;

        host_set_up(&host, *profile);
        assert_int_equal(upmu_set_add(&host.session.set, "instructions,branches", NULL), UPMU_OK);
        host_begin(&host, &host.session);
        host_run(&host, 100);
        upmu_sim_reset_cpu(&host.sim, 0);
        assert_int_equal(upmu_cpu_changed(&host.cpu[0]), UPMU_OK);
        assert_int_equal(upmu_set_read(&host.session.set, 0, 2, before), UPMU_OK);
        host_run(&host, 100);
        for (unsigned i = 0; i < 2; i++) {
            assert_int_equal(upmu_set_read(&host.session.set, i, 1, &count), UPMU_OK, i);
            assert_int_equal(count.quality, UPMU_QUALITY_PARTIAL);
            assert_in_range(before[i].raw, 0, i ? 50 : 100, i);
            assert_int_equal(count.raw - before[i].raw, i ? 50 : 100, i);
        }
        host_end(&host);
    }
}

static void verify_names_the_register_that_was_changed(void **state)
{
    struct upmu_why why;
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_set_add(&host.session.set, "branches", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    assert_int_equal(upmu_cpu_verify(&host.cpu[0], &why), UPMU_OK);
    assert_int_equal(why.status, UPMU_OK);
    upmu_sim_poke(&host.sim, 0, 0x188, 0x4300c5);
    assert_int_equal(upmu_cpu_verify(&host.cpu[0], &why), UPMU_ERR_CHANGED);
    assert_int_equal(why.address, 0x188);
    assert_ptr_equal(why.pmu, host.cpu[0].meter.pmu);
    assert_int_equal(upmu_cpu_owner(&host.cpu[0], 2), UPMU_OWNER_FOREIGN);
    upmu_sim_poke(&host.sim, 0, 0x188, 0);
    host_run(&host, 100);
    assert_int_equal(host_value(&host.session, 0), 50);
    host_end(&host);
}

static void verify_reports_a_fault(void **state)
{
    struct upmu_why why;
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    host.sim.fault_address = 0x38d;
    assert_int_equal(upmu_cpu_verify(&host.cpu[0], &why), UPMU_ERR_PORT);
    assert_int_equal(why.address, 0x38d);
    host.sim.fault_address = 0;
    host_end(&host);
}

/*
 * Each access of a verification faults in turn: no register is less known and no counter another's for that.
 * Catches: the shadow of a register of a counter that runs forgotten, so that the next handler, which closes it only
 * for a moment, opens it to "idle".
 */
static void a_fault_in_a_verification_changes_nothing(void **state)
{
    static const char *const profiles[] = {"skylake", "k8_revc", "zen4", "prescott"};
    struct upmu_sampling sampling = {.period = 100};

    (void)state;
    for (unsigned p = 0; p < sizeof profiles / sizeof *profiles; p++)
        for (uint32_t at = 1, faulted = 1; faulted; at++) {
            uint32_t accesses;
            struct host host;
            enum upmu_status status;

            host_set_up(&host, profiles[p]);
            host_sample(&host, "instructions", 100);
            assert_int_equal(upmu_set_add(&host.other.set, "branches", &sampling), UPMU_OK);
            host_begin(&host, &host.other);
            host_run(&host, 50);
            accesses = host.sim.accesses;
            host.sim.fault_at = accesses + at;
            status = upmu_cpu_verify(&host.cpu[0], NULL);
            host.sim.fault_at = 0;
            faulted = host.sim.accesses >= accesses + at;
            assert_int_equal(status, faulted ? UPMU_ERR_PORT : UPMU_OK);
            for (unsigned i = 0; i < host.cpu[0].meter.pmu->preference_count; i++)
                assert_int_not_equal(upmu_cpu_owner(&host.cpu[0], i), UPMU_OWNER_FOREIGN, i);
            for (unsigned i = 0; i < 5; i++)
                host_run(&host, 90);
            if (host_value(&host.session, 0) != 500 || host_value(&host.other, 0) != 250)
                fail_msg("%s, access %u faulted: %u, %u", profiles[p], (unsigned)at,
                         (unsigned)host_value(&host.session, 0), (unsigned)host_value(&host.other, 0));
            host_end(&host);
        }
}

static void poll_reports_a_fault(void **state)
{
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_set_add(&host.session.set, "branches", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    host.sim.fault_at = host.sim.accesses + 1;
    host.sim.fault_until = host.sim.accesses + 2;
    assert_int_equal(upmu_cpu_poll(&host.cpu[0]), UPMU_ERR_PORT);
    host_run(&host, 100);
    assert_int_equal(host_value(&host.session, 0), 50);
    host_end(&host);
}

/* ---- Calls inside calls ---- */

static void call_everything(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind,
                            uint32_t address)
{
    struct host *host = sim->test;
    struct upmu_count count;
    struct upmu_probe probe = {.force = true};

    (void)number;
    (void)kind;
    (void)address;
    if (host->answers || !host->cpu[cpu].meter.busy)
        return;
    host->answers = 1;
    assert_int_equal(upmu_cpu_suspend(&host->cpu[0]), UPMU_ERR_BUSY);
    assert_int_equal(upmu_cpu_changed(&host->cpu[0]), UPMU_ERR_BUSY);
    assert_int_equal(upmu_cpu_verify(&host->cpu[0], NULL), UPMU_ERR_BUSY);
    assert_int_equal(upmu_cpu_fini(&host->cpu[0]), UPMU_ERR_BUSY);
    assert_int_equal(upmu_cpu_poll(&host->cpu[0]), UPMU_ERR_BUSY);
    assert_int_equal(upmu_cpu_probe(&host->cpu[0], &probe), UPMU_ERR_BUSY);
    assert_int_equal(upmu_session_attach_cpu(&host->other, &host->cpu[0]), UPMU_ERR_BUSY);
    assert_int_equal(upmu_session_start(&host->session), UPMU_ERR_BUSY);
    assert_int_equal(upmu_session_stop(&host->session), UPMU_ERR_BUSY);
    assert_int_equal(upmu_session_detach(&host->session), UPMU_ERR_BUSY);
    assert_int_equal(upmu_set_write(&host->session.set, 0, 5), UPMU_ERR_BUSY);
    assert_int_equal(host->session.why.status, UPMU_ERR_BUSY);
    assert_int_equal(upmu_set_read(&host->session.set, 0, 1, &count), UPMU_OK);
}

static void every_local_call_inside_another_is_refused_without_damage(void **state)
{
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_set_add(&host.session.set, "branches", NULL), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.other.set, "cycles", NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[0]), UPMU_OK);
    host.sim.before_access = call_everything;
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    assert_int_equal(host.answers, 1);
    host.sim.before_access = NULL;
    host_run(&host, 100);
    assert_int_equal(host_value(&host.session, 0), 50);
    assert_int_equal(host.other.state, UPMU_SESSION_DETACHED);
    host_end(&host);
}

/* The calls on a CPU itself, made on another one, with a way to get there (run_on_cpu) or without. */
static void calls_on_another_cpu_are_refused_and_touch_no_register(void **state)
{
    (void)state;
    for (unsigned reachable = 0; reachable < 2; reachable++) {
        struct upmu_place_work work;
        struct upmu_probe probe = {.force = true};
        struct upmu_why why;
        struct host host;
        uint32_t accesses;

        host_prepare(&host, "skylake");
        if (!reachable)
            host.sim.port.run_on_cpu = NULL;
        host_start(&host);
        assert_int_equal(upmu_set_add(&host.session.set, "branches", NULL), UPMU_OK);
        host_begin(&host, &host.session);
        host_run(&host, 100);
        upmu_sim_switch_cpu(&host.sim, 1);
        accesses = host.sim.accesses;
        assert_int_equal(upmu_cpu_suspend(&host.cpu[0]), UPMU_ERR_WRONG_CPU);
        assert_int_equal(upmu_cpu_changed(&host.cpu[0]), UPMU_ERR_WRONG_CPU);
        assert_int_equal(upmu_cpu_verify(&host.cpu[0], &why), UPMU_ERR_WRONG_CPU);
        assert_int_equal(why.status, UPMU_ERR_WRONG_CPU);
        assert_int_equal(upmu_cpu_poll(&host.cpu[0]), UPMU_ERR_WRONG_CPU);
        assert_int_equal(upmu_cpu_tick(&host.cpu[0]), UPMU_ERR_WRONG_CPU);
        assert_int_equal(upmu_cpu_use_work(&host.cpu[0], &work), UPMU_ERR_WRONG_CPU);
        assert_int_equal(upmu_cpu_reserve(&host.cpu[0], 8), UPMU_ERR_WRONG_CPU);
        assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_ERR_WRONG_CPU);
        /* The probe's loop would run here, and be counted there: 0 would be called "counts nothing". */
        assert_int_equal(upmu_cpu_probe(&host.cpu[0], &probe), UPMU_ERR_WRONG_CPU);
        assert_int_equal(probe.verdict, UPMU_VERDICT_UNKNOWN);
        assert_int_equal(host.sim.accesses, accesses);
        upmu_sim_switch_cpu(&host.sim, 0);
        host_run(&host, 100);
        assert_int_equal(host_value(&host.session, 0), 100);
        assert_int_equal(upmu_cpu_suspend(&host.cpu[0]), UPMU_OK);
        upmu_sim_switch_cpu(&host.sim, 1);
        assert_int_equal(upmu_cpu_resume(&host.cpu[0]), UPMU_ERR_WRONG_CPU);
        upmu_sim_switch_cpu(&host.sim, 0);
        assert_int_equal(upmu_cpu_resume(&host.cpu[0]), UPMU_OK);
        host_end(&host);
    }
}

static void calls_on_a_cpu_that_is_not_up_do_nothing(void **state)
{
    struct host host;

    (void)state;
    host_prepare(&host, "skylake");
    host_machine(&host);
    assert_int_equal(upmu_cpu_suspend(&host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_cpu_resume(&host.cpu[0]), UPMU_ERR_NO_PMU);
    assert_int_equal(upmu_cpu_changed(&host.cpu[0]), UPMU_ERR_NO_PMU);
    assert_int_equal(upmu_cpu_verify(&host.cpu[0], NULL), UPMU_OK);
    assert_int_equal(upmu_cpu_poll(&host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_cpu_tick(&host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_cpu_use_work(&host.cpu[0], NULL), UPMU_ERR_NO_PMU);
    assert_int_equal(upmu_cpu_reserve(&host.cpu[0], 1), UPMU_ERR_NO_PMU);
    assert_int_equal(upmu_cpu_owner(&host.cpu[0], 0), UPMU_OWNER_ABSENT);
    assert_int_equal(host.sim.accesses, 0);
}

/* At each access of a take-over: no PMU is published before its CPU is taken over. */
static void look_for_pmus(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind,
                          uint32_t address)
{
    struct host *host = sim->test;

    (void)cpu;
    (void)number;
    (void)kind;
    (void)address;
    if (!host->cpu[0].meter.live && upmu_machine_pmu(&host->machine, 0))
        fail_msg("a PMU is published before its CPU is taken over");
}

/*
 * A PMU is published once and stays: a take-over that fails publishes none, so no session or guest of another CPU keeps
 * the address of one that is withdrawn.  Catches: a value that is published first and checked later.
 */
static void a_pmu_is_published_when_its_cpu_is_taken_over(void **state)
{
    struct host host;

    (void)state;
    host_prepare(&host, "skylake");
    host_machine(&host);
    host.sim.before_access = look_for_pmus;
    host.sim.fault_address = 0x38f;
    host.sim.expect_faults = true;
    assert_int_equal(upmu_cpu_init(&host.cpu[0], &host.machine, NULL), UPMU_ERR_PORT);
    assert_null(upmu_machine_pmu(&host.machine, 0));
    host.sim.fault_address = 0;
    assert_int_equal(upmu_cpu_init(&host.cpu[0], &host.machine, NULL), UPMU_OK);
    assert_ptr_equal(upmu_machine_pmu(&host.machine, 0), host.cpu[0].meter.pmu);
    host.sim.before_access = NULL;
    host_end(&host);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pmu_is_published_when_its_cpu_is_taken_over),
        cmocka_unit_test(a_port_without_its_three_hooks_is_refused),
        cmocka_unit_test(headers_of_another_build_are_refused),
        cmocka_unit_test(machine_init_touches_no_register),
        cmocka_unit_test(a_cpu_without_a_pmu_says_so_and_is_not_touched),
        cmocka_unit_test(a_fault_of_a_promised_register_leaves_everything_as_it_was),
        cmocka_unit_test(a_second_cpu_needs_this_cpu),
        cmocka_unit_test(a_fifth_core_type_finds_no_space),
        cmocka_unit_test(cpus_are_numbered_in_the_order_of_their_init),
        cmocka_unit_test(fini_gives_back_what_init_found),
        cmocka_unit_test(fini_twice_and_without_init_does_nothing),
        cmocka_unit_test(a_cpu_can_be_taken_over_again_after_fini),
        cmocka_unit_test(a_fault_in_fini_does_not_keep_the_rest_from_being_restored),
        cmocka_unit_test(sessions_sleep_with_their_cpu_and_run_on),
        cmocka_unit_test(what_was_stopped_before_or_during_sleep_stays_stopped),
        cmocka_unit_test(a_session_can_leave_while_its_cpu_sleeps),
        cmocka_unit_test(what_cannot_run_on_after_sleep_is_stopped_and_says_why),
        cmocka_unit_test(resume_without_suspend_changes_nothing),
        cmocka_unit_test(a_resume_that_fails_leaves_what_it_found),
        cmocka_unit_test(after_a_change_counts_go_on_and_are_called_partial),
        cmocka_unit_test(verify_names_the_register_that_was_changed),
        cmocka_unit_test(verify_reports_a_fault),
        cmocka_unit_test(a_fault_in_a_verification_changes_nothing),
        cmocka_unit_test(poll_reports_a_fault),
        cmocka_unit_test(every_local_call_inside_another_is_refused_without_damage),
        cmocka_unit_test(calls_on_another_cpu_are_refused_and_touch_no_register),
        cmocka_unit_test(calls_on_a_cpu_that_is_not_up_do_nothing),
    };

    return cmocka_run_group_tests_name("life", tests, NULL, NULL);
}
