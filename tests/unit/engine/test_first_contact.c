/* SPDX-License-Identifier: MIT */
/*
 * What a kernel developer writes in the first hour, with each status checked, on
 * the silicon model: no call more than it takes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tests/common/assertions.h"

#include "models/sim/sim.h"
#include <upmu/cpu.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include <upmu/upmu.h>

/* ---- The machine ---- */

static struct upmu_sim sim;

static void power_on(const char *profile)
{
    upmu_sim_init(&sim, upmu_sim_profile(profile), 1);
    sim.port.msr_faults_are_safe = false; /* a young kernel has no fix-ups */
    upmu_sim_irqs(&sim, false);           /* and no hook that turns interrupts off */
}

static void nothing_was_done_wrong(void)
{
    if (sim.violation_count)
        fail_msg("%s (register %x)", sim.first_violation.text, (unsigned)sim.first_violation.address);
}

/* ---- The kernel's hooks ---- */

static bool rdmsr_hook(void *ctx, uint32_t msr, uint64_t *out_value)
{
    (void)ctx;
    return sim.port.rdmsr(&sim, msr, out_value);
}

static bool wrmsr_hook(void *ctx, uint32_t msr, uint64_t value)
{
    (void)ctx;
    return sim.port.wrmsr(&sim, msr, value);
}

static void cpuid_hook(void *ctx, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    (void)ctx;
    sim.port.cpuid(&sim, leaf, subleaf, out);
}

static void pmi_rearm_hook(void *ctx)
{
    (void)ctx;
    sim.port.pmi_rearm(&sim);
}

/* ---- Minute five: how many instructions does my memcpy take? ---- */

static const struct upmu_port port = {.rdmsr = rdmsr_hook, .wrmsr = wrmsr_hook, .cpuid = cpuid_hook};

static struct upmu_machine machine;
static struct upmu_cpu cpu; /* one per CPU, in per-CPU memory */

/* What the CPU does while the kernel copies. */
static void copy(unsigned char *a, const unsigned char *b, size_t n)
{
    memcpy(a, b, n);
    upmu_sim_events(
        &sim, &(struct upmu_sim_burst){.instructions = 3 * n + 7, .cycles = 4 * n, .branches = n, .mispredicts = 2});
}

static enum upmu_status minute_five(struct upmu_region *region, const char *list)
{
    static unsigned char a[400], b[400];
    enum upmu_status status;

    if ((status = upmu_machine_init(&machine, &port)) != UPMU_OK ||
        (status = upmu_cpu_init(&cpu, &machine, NULL)) != UPMU_OK || /* NULL: shares nothing with another CPU */
        (status = upmu_region_open(region, &cpu, list)) != UPMU_OK || (status = upmu_region_begin(region)) != UPMU_OK)
        return status;
    copy(a, b, sizeof a);
    return upmu_region_end(region);
}

static void minute_five_counts_a_memcpy(void **state)
{
    static const char *const profiles[] = {"skylake", "core2", "icelake", "skylake_nofw", "merom_early"};

    (void)state;
    for (unsigned p = 0; p < sizeof profiles / sizeof profiles[0]; p++) {
        struct upmu_region region;

        power_on(profiles[p]);
        assert_int_equal(minute_five(&region, "instructions,cycles,branch-misses"), UPMU_OK);
        assert_int_equal(region.events, 3);
        assert_int_equal(region.count[0].value, 1207);
        assert_int_equal(region.count[1].value, 1600);
        assert_int_equal(region.count[2].value, 2);
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(region.count[i].quality, UPMU_QUALITY_EXACT, i);
        assert_int_equal(upmu_region_close(&region), UPMU_OK);
        assert_int_equal(upmu_cpu_fini(&cpu), UPMU_OK);
        nothing_was_done_wrong();
    }
}

static void a_misspelt_event_is_refused_with_the_nearest_name(void **state)
{
    struct upmu_region region;
    char text[120];

    (void)state;
    power_on("skylake");
    assert_int_equal(minute_five(&region, "instructions,brnch-misses"), UPMU_ERR_NO_SUCH_EVENT);
    upmu_why_text(&region.session.why, text, sizeof text);
    assert_string_equal(text, "\"brnch-misses\": no such event on skl; nearest: branch-misses");
    assert_int_equal(region.session.why.position, strlen("instructions,"));
    /* Nothing is left behind: the next one works. */
    assert_int_equal(upmu_region_open(&region, &cpu, "branch-misses"), UPMU_OK);
    assert_int_equal(upmu_region_close(&region), UPMU_OK);
    assert_int_equal(upmu_cpu_fini(&cpu), UPMU_OK);
    nothing_was_done_wrong();
}

static void a_machine_without_a_pmu_says_so(void **state)
{
    static const char *const profiles[] = {"no_pmu", "tcg", "ignores_writes"};

    (void)state;
    for (unsigned p = 0; p < sizeof profiles / sizeof profiles[0]; p++) {
        struct upmu_region region;

        power_on(profiles[p]);
        assert_int_equal(minute_five(&region, "instructions"), UPMU_ERR_NO_PMU);
    }
}

/* ---- An hour later: where does my kernel spend its time? ---- */

static const struct upmu_port sampling_port = {
    .rdmsr = rdmsr_hook, .wrmsr = wrmsr_hook, .cpuid = cpuid_hook, .pmi_rearm = pmi_rearm_hook};

struct trap_frame {
    uint64_t rip, rsp, cs;
};

static unsigned unknown_nmis;

static void unknown_nmi(struct trap_frame *f)
{
    (void)f;
    unknown_nmis++;
}

static struct upmu_cpu *this_cpu_pmu(void)
{
    return &cpu;
}

static void nmi_handler(struct trap_frame *f) /* the kernel's own */
{
    struct upmu_frame frame = {.ip = f->rip, .sp = f->rsp, .user = f->cs & 3};

    if (upmu_pmi_handle(this_cpu_pmu(), &frame) == UPMU_PMI_NOT_OURS)
        unknown_nmi(f);
}

static void raise_nmi(struct upmu_sim *model, unsigned number, const struct upmu_sim_interrupt *interrupt)
{
    struct trap_frame f = {interrupt->ip, interrupt->sp, interrupt->user ? 0x2b : 0x10};

    (void)model;
    (void)number;
    nmi_handler(&f);
}

static struct upmu_session profile;
static uint64_t ring[8192]; /* bytes for variable-size records */

static enum upmu_status an_hour_later(void)
{
    enum upmu_status status;

    if ((status = upmu_session_init(&profile, &machine)) != UPMU_OK ||
        (status = upmu_set_add(&profile.set, "cycles:k", &(struct upmu_sampling){.period = 1000000})) != UPMU_OK ||
        (status = upmu_session_ring(&profile, ring, sizeof ring)) != UPMU_OK ||
        (status = upmu_session_attach_cpu(&profile, &cpu)) != UPMU_OK)
        return status;
    return upmu_session_start(&profile);
}

/* The kernel works at one place for so many cycles, user code at another. */
static void work(uint64_t ip, uint64_t cycles, bool user)
{
    upmu_sim_events(&sim, &(struct upmu_sim_burst){.instructions = cycles / 2,
                                                   .cycles = cycles,
                                                   .user = user,
                                                   .ip = ip,
                                                   .ip_step = 4,
                                                   .ip_loop = 64,
                                                   .sp = 0xffffc90000001000});
}

static void an_hour_later_samples_show_where_the_kernel_works(void **state)
{
    static const char *const profiles[] = {"skylake", "core2", "icelake", "nehalem", "skylake_nofw", "version1"};

    (void)state;
    for (unsigned p = 0; p < sizeof profiles / sizeof profiles[0]; p++) {
        struct upmu_region region;
        struct upmu_sample sample;
        unsigned hot = 0, cold = 0;

        power_on(profiles[p]);
        sim.deliver = raise_nmi;
        unknown_nmis = 0;
        assert_int_equal(upmu_machine_init(&machine, &sampling_port), UPMU_OK);
        assert_int_equal(upmu_cpu_init(&cpu, &machine, NULL), UPMU_OK);
        assert_int_equal(an_hour_later(), UPMU_OK);
        /* The region of before works beside it. */
        assert_int_equal(upmu_region_open(&region, &cpu, "instructions"), UPMU_OK);
        assert_int_equal(upmu_region_begin(&region), UPMU_OK);
        work(0xffffffff81000000, 30000000, false);
        work(0x400000, 50000000, true);
        work(0xffffffff82000000, 10000000, false);
        assert_int_equal(upmu_region_end(&region), UPMU_OK);
        assert_int_equal(region.count[0].value, 45000000);
        while (upmu_ring_next(&profile.ring, &sample)) {
            assert_int_equal(sample.flags, 0);
            assert_int_equal(sample.sp, UINT64_C(0xffffc90000001000));
            hot += (sample.ip & ~UINT64_C(0xff)) == UINT64_C(0xffffffff81000000);
            cold += (sample.ip & ~UINT64_C(0xff)) == UINT64_C(0xffffffff82000000);
        }
        assert_int_equal(hot, 30);
        assert_int_equal(cold, 10);
        assert_int_equal(upmu_ring_lost(&profile.ring), 0);
        assert_int_equal(unknown_nmis, 0);
        /* Without a clock at most one for each counter is STALE, then another source's NMI reaches the kernel. */
        for (unsigned i = 0; i < UPMU_COUNTERS && !unknown_nmis; i++)
            upmu_sim_foreign_nmi(&sim);
        assert_int_equal(unknown_nmis, 1);
        assert_int_equal(upmu_region_close(&region), UPMU_OK);
        assert_int_equal(upmu_session_detach(&profile), UPMU_OK);
        assert_int_equal(upmu_cpu_fini(&cpu), UPMU_OK);
        nothing_was_done_wrong();
    }
}

static void sampling_without_the_hook_for_it_is_refused(void **state)
{
    (void)state;
    power_on("skylake");
    assert_int_equal(upmu_machine_init(&machine, &port), UPMU_OK);
    assert_int_equal(upmu_cpu_init(&cpu, &machine, NULL), UPMU_OK);
    assert_int_equal(an_hour_later(), UPMU_ERR_HOOK_MISSING);
    assert_int_equal(profile.set.count, 0);
    assert_int_equal(upmu_cpu_fini(&cpu), UPMU_OK);
}

static void an_nmi_before_the_library_is_up_is_not_ours(void **state)
{
    struct trap_frame f = {0x1000, 0x2000, 0x10};

    (void)state;
    memset(&cpu, 0, sizeof cpu);
    unknown_nmis = 0;
    nmi_handler(&f);
    assert_int_equal(unknown_nmis, 1);
}

/* ---- A scheduler: per-thread counters ---- */

struct thread {
    uint64_t work; /* what it does when it runs */
    struct upmu_thread pmu;
};

static enum upmu_status switch_to(struct thread *prev, struct thread *next)
{
    enum upmu_status status = upmu_thread_switch(this_cpu_pmu(), &prev->pmu, &next->pmu);

    upmu_sim_events(&sim, &(struct upmu_sim_burst){.instructions = next->work, .cycles = 2 * next->work});
    return status;
}

static void a_scheduler_counts_its_threads_with_one_line(void **state)
{
    static struct thread threads[3] = {{.work = 1000}, {.work = 500}, {.work = 7}};
    static struct upmu_session session[2];
    struct upmu_count count;

    (void)state;
    power_on("skylake");
    assert_int_equal(upmu_machine_init(&machine, &port), UPMU_OK);
    assert_int_equal(upmu_cpu_init(&cpu, &machine, NULL), UPMU_OK);
    for (unsigned i = 0; i < 3; i++)
        upmu_thread_init(&threads[i].pmu, 1, i, &threads[i]);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(upmu_session_init(&session[i], &machine), UPMU_OK, i);
        assert_int_equal(upmu_set_add(&session[i].set, "instructions,cycles", NULL), UPMU_OK, i);
        assert_int_equal(upmu_session_attach_thread(&session[i], &threads[i].pmu, NULL), UPMU_OK, i);
        assert_int_equal(upmu_session_start(&session[i]), UPMU_OK, i);
    }
    for (unsigned i = 0; i < 30; i++)
        assert_int_equal(switch_to(&threads[(i + 2) % 3], &threads[i % 3]), UPMU_OK, i);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(upmu_set_read(&session[i].set, 0, 1, &count), UPMU_OK, i);
        assert_int_equal(count.value, 10 * threads[i].work, i);
        assert_int_equal(count.quality, UPMU_QUALITY_EXACT);
        assert_int_equal(upmu_set_read(&session[i].set, 1, 1, &count), UPMU_OK, i);
        assert_int_equal(count.value, 20 * threads[i].work, i);
        assert_int_equal(upmu_thread_exit(&threads[i].pmu), UPMU_OK, i);
    }
    assert_int_equal(upmu_cpu_fini(&cpu), UPMU_OK);
    nothing_was_done_wrong();
}

/* Three hooks, no interrupt, no clock: the tick takes care of counters that wrap, and the host switches sets. */
static void threads_and_sets_work_without_interrupts_and_without_a_clock(void **state)
{
    static struct thread threads[2] = {{.work = 0x7fffffff}, {.work = 0x10000000}};
    static struct upmu_session session;
    static struct upmu_set second;
    struct upmu_count count;

    (void)state;
    power_on("p6");
    assert_int_equal(upmu_machine_init(&machine, &port), UPMU_OK);
    assert_int_equal(upmu_cpu_init(&cpu, &machine, NULL), UPMU_OK);
    for (unsigned i = 0; i < 2; i++)
        upmu_thread_init(&threads[i].pmu, 1, i, NULL);
    assert_int_equal(upmu_session_init(&session, &machine), UPMU_OK);
    assert_int_equal(upmu_set_add(&session.set, "instructions", NULL), UPMU_OK);
    assert_int_equal(upmu_session_add_set(&session, &second, 1, 0, 0), UPMU_OK);
    assert_int_equal(upmu_set_add(&second, "cycles", NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_thread(&session, &threads[0].pmu, NULL), UPMU_OK);
    assert_int_equal(upmu_session_start(&session), UPMU_OK);
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(switch_to(&threads[1], &threads[0]), UPMU_OK);
        for (unsigned k = 0; k < 16; k++)
            assert_int_equal(upmu_cpu_tick(&cpu), UPMU_OK);
        assert_int_equal(switch_to(&threads[0], &threads[1]), UPMU_OK);
    }
    assert_int_equal(upmu_set_read(&session.set, 0, 1, &count), UPMU_OK);
    assert_int_equal(count.value, UINT64_C(100) * 0x7fffffff);
    assert_int_equal(count.quality, UPMU_QUALITY_EXACT);
    assert_int_equal(upmu_session_switch(&session, &second), UPMU_OK);
    assert_int_equal(switch_to(&threads[1], &threads[0]), UPMU_OK);
    assert_int_equal(upmu_thread_exit(&threads[0].pmu), UPMU_OK);
    /* What each missed is unknown. */
    assert_int_equal(upmu_set_read(&second, 0, 1, &count), UPMU_OK);
    assert_int_equal(count.raw, UINT64_C(2) * 0x7fffffff);
    assert_int_equal(count.quality, UPMU_QUALITY_PARTIAL);
    assert_int_equal(upmu_cpu_fini(&cpu), UPMU_OK);
    nothing_was_done_wrong();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(minute_five_counts_a_memcpy),
        cmocka_unit_test(a_misspelt_event_is_refused_with_the_nearest_name),
        cmocka_unit_test(a_machine_without_a_pmu_says_so),
        cmocka_unit_test(an_hour_later_samples_show_where_the_kernel_works),
        cmocka_unit_test(sampling_without_the_hook_for_it_is_refused),
        cmocka_unit_test(an_nmi_before_the_library_is_up_is_not_ours),
        cmocka_unit_test(a_scheduler_counts_its_threads_with_one_line),
        cmocka_unit_test(threads_and_sets_work_without_interrupts_and_without_a_clock),
    };

    return cmocka_run_group_tests_name("first_contact", tests, NULL, NULL);
}
