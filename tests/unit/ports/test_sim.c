/* SPDX-License-Identifier: MIT */
/*
 * The silicon model's own machinery: bursts cut at overflows, interrupts, CPUs,
 * hooks, what a test injects and what is recorded.  What registers do is in
 * test_sim_conformance.c.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include "tests/common/assertions.h"
#include <stdio.h>
#include <string.h>

#include "models/sim/sim_intern.h"

#define RECORDS 2000

struct fixture {
    struct upmu_sim sim;
    const struct upmu_port *port;
    unsigned interrupts;
    struct upmu_sim_interrupt seen[RECORDS];
    unsigned cpu[RECORDS];
    uint64_t reload; /* the handler writes this into PMC0 */
    uint32_t before[3], after[3];
    unsigned callbacks;
};

static struct fixture f;

static void wr(uint32_t msr, uint64_t value)
{
    assert_true(f.port->wrmsr(f.port->context, msr, value));
}

static uint64_t rd(uint32_t msr)
{
    uint64_t value = 0;

    assert_true(f.port->rdmsr(f.port->context, msr, &value));
    return value;
}

/* A driver of the simplest kind: close, re-arm, reload, acknowledge, open. */
static void handler(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_interrupt *interrupt)
{
    assert_int_equal(cpu, sim->current);
    if (f.interrupts < RECORDS) {
        f.seen[f.interrupts] = *interrupt;
        f.cpu[f.interrupts] = cpu;
    }
    f.interrupts++;
    if (f.reload != 0 && !interrupt->foreign) {
        uint64_t global = rd(0x38f);

        wr(0x38f, 0);
        f.port->pmi_rearm(f.port->context);
        wr(0xc1, f.reload);
        wr(0x390, rd(0x38e));
        wr(0x38f, global);
    }
}

static void set_up(const char *profile)
{
    memset(&f, 0, sizeof f);
    upmu_sim_init(&f.sim, upmu_sim_profile(profile), 2);
    f.port = upmu_sim_port(&f.sim);
    f.sim.deliver = handler;
    f.sim.cpu[0].irqs_on = false;
    f.sim.cpu[1].irqs_on = false;
}

static void no_violation(void)
{
    if (f.sim.violation_count != 0)
        fail_msg("%s (0x%x)", f.sim.violation, f.sim.last_violation.address);
}

/* ---- Arithmetic ---- */

static void division_equals_the_machine_s(void **state)
{
    uint64_t seed = 0x123456789abcdefu;

    (void)state;
    for (unsigned i = 0; i < 20000; i++) {
        uint64_t a, b;

        seed = seed * 6364136223846793005u + 1442695040888963407u;
        a = seed >> (i % 60);
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        b = (seed >> (i % 63)) | 1u;
        assert_int_equal(upmu_sim_divide(a, b), a / b, a, b);
    }
    assert_int_equal(upmu_sim_divide(UINT64_MAX, 1), UINT64_MAX);
    assert_int_equal(upmu_sim_divide(UINT64_MAX, UINT64_MAX), 1);
}

/* ---- Bursts ---- */

static void overflow_test_of_each_counter_with_and_without_int(void **state)
{
    static const char *const profiles[] = {"core2",   "merom_early",          "nehalem", "skylake", "skylake_smtoff",
                                           "icelake", "hypervisor_v2_nofixed"};

    (void)state;
    for (unsigned p = 0; p < sizeof profiles / sizeof profiles[0]; p++) {
        for (unsigned n = 0; n < upmu_sim_profile(profiles[p])->general; n++) {
            unsigned with_int = n & 1u;

            set_up(profiles[p]);
            f.port->pmi_rearm(f.port->context);
            wr(0xc1 + n, UINT64_C(1) - 100);
            wr(0x186 + n, 0x4300c0u | with_int << 20);
            upmu_sim_events(&f.sim, &(struct upmu_sim_burst){.instructions = 100, .cycles = 300});
            assert_int_equal(rd(0xc1 + n), 1, n);
            assert_int_equal(rd(0x38e), UINT64_C(1) << n, n);
            assert_int_equal(f.interrupts, with_int);
            wr(0x390, UINT64_C(1) << n);
            assert_int_equal(rd(0x38e), 0);
            no_violation();
        }
    }
}

static void samples_are_exact_at_skid_zero(void **state)
{
    (void)state;
    set_up("skylake");
    f.reload = UINT64_C(0) - 100;
    wr(0xc1, f.reload);
    wr(0x186, 0x5300c0);
    f.port->pmi_rearm(f.port->context);
    upmu_sim_events(
        &f.sim, &(struct upmu_sim_burst){
                    .instructions = 100000, .cycles = 233333, .user = true, .ip = 0x1000, .ip_step = 2, .sp = 0x77});
    assert_int_equal(f.interrupts, 1000);
    for (unsigned i = 0; i < 1000; i++) {
        assert_int_equal(f.seen[i].ip, 0x1000 + 2 * 100 * (uint64_t)(i + 1), i);
        assert_true(f.seen[i].user && f.seen[i].sp == 0x77 && f.seen[i].nmi, i);
    }
    assert_int_equal(f.sim.cpu[0].counter[0].counted, 100000);
    assert_int_equal(f.sim.cpu[0].counter[0].wraps, 1000);
    assert_int_equal(rd(0xc1), f.reload & 0xffffffffffffu);
    no_violation();
}

static void ips_stay_in_the_loop(void **state)
{
    (void)state;
    set_up("skylake");
    f.reload = UINT64_C(0) - 7;
    wr(0xc1, f.reload);
    wr(0x186, 0x5300c0);
    f.port->pmi_rearm(f.port->context);
    upmu_sim_events(&f.sim, &(struct upmu_sim_burst){.instructions = 7000, .ip = 100, .ip_step = 1, .ip_loop = 5});
    assert_int_equal(f.interrupts, 1000);
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(f.seen[i].ip, 100 + (i + 1) * 7 % 5, i);
}

static void every_stream_keeps_its_total_however_the_burst_is_cut(void **state)
{
    uint64_t seed = 42;

    (void)state;
    print_message("seed 42\n");
    for (unsigned round = 0; round < 200; round++) {
        struct upmu_sim_burst burst = {.ip_step = 1};

        set_up("icelake");
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        burst.instructions = (seed >> 33) % 5000 + 1;
        burst.cycles = (seed >> 20) % 9000;
        burst.branches = (seed >> 40) % 700;
        burst.mispredicts = (seed >> 50) % 30;
        burst.ref_cycles = (seed >> 13) % 4000;
        f.reload = UINT64_C(0) - ((seed >> 25) % 300 + 10);
        wr(0xc1, f.reload);
        wr(0x186, round & 1 ? 0x5300c0u : 0x53003cu);
        wr(0x187, 0x4300c4);
        wr(0x188, 0x4300c5);
        wr(0x38d, 0x333);
        wr(0x38f, UINT64_C(0x700000007));
        f.port->pmi_rearm(f.port->context);
        upmu_sim_events(&f.sim, &burst);
        upmu_sim_events(&f.sim, &burst);
        assert_int_equal(f.sim.cpu[0].counter[0].counted, 2 * (round & 1 ? burst.instructions : burst.cycles));
        assert_int_equal(rd(0xc2), 2 * burst.branches);
        assert_int_equal(rd(0xc3), 2 * burst.mispredicts);
        assert_int_equal(rd(0x309), 2 * burst.instructions);
        assert_int_equal(rd(0x30a), 2 * burst.cycles);
        assert_int_equal(rd(0x30b), 2 * burst.ref_cycles);
        assert_int_equal(f.interrupts, f.sim.cpu[0].counter[0].wraps);
        assert_int_equal(f.sim.now_ns, 2 * (burst.ref_cycles != 0 ? burst.ref_cycles
                                         : burst.cycles != 0   ? burst.cycles
                                                               : burst.instructions));
        no_violation();
    }
}

static void huge_bursts_count_exactly(void **state)
{
    const uint64_t many = UINT64_C(0x7123456789ab);

    (void)state;
    set_up("skylake");
    wr(0x186, 0x4300c0);
    wr(0x187, 0x43003c);
    wr(0x188, 0x4300c4);
    upmu_sim_events(&f.sim, &(struct upmu_sim_burst){.instructions = many, .cycles = 2 * many, .branches = many / 7});
    upmu_sim_events(&f.sim, &(struct upmu_sim_burst){.instructions = many, .cycles = 2 * many, .branches = many / 7});
    assert_int_equal(f.sim.cpu[0].counter[0].counted, 2 * many);
    assert_int_equal(f.sim.cpu[0].counter[1].counted, 4 * many);
    assert_int_equal(f.sim.cpu[0].counter[2].counted, 2 * (many / 7));
    assert_int_equal(rd(0xc2), 4 * many & 0xffffffffffffu);
    assert_int_equal(f.sim.cpu[0].counter[1].wraps, 1);
    assert_int_equal(rd(0x38e), 2);
}

/* Work that grows with the length of a burst of which nothing happens: it was cut at each 2^32 steps. */
static void a_burst_is_cut_only_where_something_is_due(void **state)
{
    static struct upmu_sim sim;

    (void)state;
    upmu_sim_init(&sim, upmu_sim_profile("skl"), 1);
    assert_int_equal(upmu_sim_steps_left(&sim.cpu[0]), UINT64_MAX);
    sim.cpu[0].skid_left = 7;
    assert_int_equal(upmu_sim_steps_left(&sim.cpu[0]), 7);
}

static void truth_is_kept_per_ring(void **state)
{
    (void)state;
    set_up("core2");
    upmu_sim_events(&f.sim, &(struct upmu_sim_burst){.instructions = 5, .llc_misses = 2, .user = true});
    upmu_sim_events(&f.sim, &(struct upmu_sim_burst){.instructions = 7, .slots = 3});
    upmu_sim_work(&f.sim);
    assert_true(f.sim.cpu[0].truth[1].instructions == 5 && f.sim.cpu[0].truth[1].llc_misses == 2);
    assert_int_equal(f.sim.cpu[0].truth[0].instructions, 7 + UPMU_SIM_WORK_INSTRUCTIONS);
    assert_int_equal(f.sim.cpu[0].truth[0].cycles, UPMU_SIM_WORK_CYCLES);
    assert_int_equal(f.sim.cpu[1].truth[0].instructions, 0);
}

static void accesses_take_kernel_events(void **state)
{
    (void)state;
    set_up("skylake");
    f.sim.events_per_access = 10;
    wr(0x186, 0x4200c0); /* these 10 came before it counted */
    wr(0x187, 0x4100c0); /* user: never */
    wr(0x38f, 0);
    assert_int_equal(f.sim.cpu[0].counter[0].counted, 20);
    assert_int_equal(rd(0xc1), 20);
    assert_int_equal(rd(0xc2), 0);
}

/* ---- Interrupts ---- */

static void second_overflow_needs_the_rearm(void **state)
{
    (void)state;
    set_up("skylake");
    f.port->pmi_rearm(f.port->context);
    wr(0xc1, UINT64_C(0) - 1);
    wr(0x186, 0x5300c0);
    wr(0xc2, UINT64_C(0) - 2);
    wr(0x187, 0x5300c0);
    upmu_sim_events(&f.sim, &(struct upmu_sim_burst){.instructions = 2});
    assert_int_equal(f.interrupts, 1);
    assert_int_equal(f.sim.cpu[0].pmi_requests, 2);
    assert_int_equal(f.sim.cpu[0].pmi_dropped, 1);
}

static void masked_vector_arrives_at_irq_restore(void **state)
{
    uintptr_t outer;

    (void)state;
    set_up("skylake");
    f.sim.cpu[0].irqs_on = true;
    upmu_sim_set_delivery(&f.sim, 0, 0x40);
    outer = f.port->irq_save(f.port->context);
    f.port->pmi_rearm(f.port->context);
    wr(0xc1, UINT64_C(0) - 1);
    wr(0x186, 0x5300c0);
    upmu_sim_events(&f.sim, &(struct upmu_sim_burst){.instructions = 2});
    f.port->irq_restore(f.port->context, f.port->irq_save(f.port->context));
    assert_int_equal(f.interrupts, 0);
    f.port->irq_restore(f.port->context, outer);
    assert_int_equal(f.interrupts, 1);
    assert_false(f.seen[0].nmi);
    assert_true(f.sim.cpu[0].irqs_on);
    assert_int_equal(f.sim.cpu[0].irq_depth, 0);
    no_violation();
    f.port->irq_restore(f.port->context, outer);
    assert_int_equal(f.sim.violation_count, 1);
}

static void handler_on_a_vector_runs_with_interrupts_off(void **state)
{
    (void)state;
    set_up("skylake");
    f.sim.cpu[0].irqs_on = true;
    upmu_sim_set_delivery(&f.sim, 0, 0x40);
    f.reload = UINT64_C(0) - 10;
    upmu_sim_irqs(&f.sim, false);
    wr(0xc1, f.reload);
    wr(0x186, 0x5300c0);
    f.port->pmi_rearm(f.port->context);
    upmu_sim_irqs(&f.sim, true);
    upmu_sim_events(&f.sim, &(struct upmu_sim_burst){.instructions = 100});
    assert_int_equal(f.interrupts, 10);
    no_violation();
}

static void foreign_nmi_is_marked(void **state)
{
    (void)state;
    set_up("skylake");
    upmu_sim_foreign_nmi(&f.sim);
    assert_int_equal(f.interrupts, 1);
    assert_true(f.seen[0].foreign && f.seen[0].nmi);
    assert_int_equal(f.sim.cpu[0].foreign, 1);
}

static void storm_handler(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_interrupt *interrupt)
{
    (void)cpu;
    (void)interrupt;
    upmu_sim_foreign_nmi(sim);
}

static void interrupts_without_end_are_a_violation(void **state)
{
    (void)state;
    set_up("skylake");
    f.sim.deliver = storm_handler;
    upmu_sim_foreign_nmi(&f.sim);
    assert_int_equal(f.sim.violation_count, 1);
}

static void sibling_s_overflow_is_delivered_there(void **state)
{
    (void)state;
    set_up("nehalem");
    f.port->pmi_rearm(f.port->context);
    wr(0xc1, UINT64_C(0) - 5);
    wr(0x186, 0x7300c0); /* AnyThread, INT */
    upmu_sim_switch_cpu(&f.sim, 1);
    upmu_sim_events(&f.sim, &(struct upmu_sim_burst){.instructions = 9});
    assert_int_equal(f.interrupts, 1);
    assert_int_equal(f.cpu[0], 0);
    assert_int_equal(f.sim.current, 1);
}

/* ---- Hooks ---- */

static void run_here(void *argument)
{
    unsigned *seen = argument;

    *seen = f.sim.current;
    (void)rd(0xc1);
}

static void run_on_cpu_switches_and_comes_back(void **state)
{
    struct upmu_cpu *one = (struct upmu_cpu *)(void *)&f.before[0];
    struct upmu_cpu *two = (struct upmu_cpu *)(void *)&f.before[1];
    unsigned seen = 9;

    (void)state;
    set_up("skylake");
    upmu_sim_bind_cpu(&f.sim, 0, one);
    upmu_sim_bind_cpu(&f.sim, 1, two);
    f.sim.cpu[1].irqs_on = true;
    assert_ptr_equal(f.port->this_cpu(f.port->context), one);
    assert_true(f.port->run_on_cpu(f.port->context, two, run_here, &seen));
    assert_int_equal(seen, 1);
    assert_int_equal(f.sim.current, 0);
    assert_true(f.sim.cpu[1].irqs_on);
    f.sim.cpu[1].offline = true;
    assert_false(f.port->run_on_cpu(f.port->context, two, run_here, &seen));
    no_violation();
}

static void log_keeps_the_last_line(void **state)
{
    char line[300];

    (void)state;
    set_up("skylake");
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    f.port->log(f.port->context, line);
    assert_int_equal(strlen(f.sim.log_last), sizeof f.sim.log_last - 1);
    f.port->log(f.port->context, "news");
    assert_string_equal(f.sim.log_last, "news");
    assert_int_equal(f.sim.log_lines, 2);
}

static void count_call(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind, uint32_t address)
{
    f.callbacks++;
    f.before[0] = number;
    f.before[1] = kind;
    f.before[2] = address;
    assert_int_equal(cpu, sim->current);
    (void)rd(0x186); /* no callback for this one */
}

static void callbacks_see_each_access_once(void **state)
{
    (void)state;
    set_up("skylake");
    f.sim.before_access = count_call;
    wr(0xc1, 7);
    assert_int_equal(f.callbacks, 1);
    assert_int_equal(f.before[0], 1);
    assert_int_equal(f.before[1], UPMU_SIM_WRMSR);
    assert_int_equal(f.before[2], 0xc1);
    assert_int_equal(f.sim.accesses, 2);
    f.sim.before_access = NULL;
    f.sim.after_access = count_call;
    assert_int_equal(rd(0xc1), 7);
    assert_int_equal(f.callbacks, 2);
    assert_int_equal(f.before[0], 3);
    f.port->pmi_rearm(f.port->context);
    assert_int_equal(f.before[1], UPMU_SIM_REARM);
    assert_int_equal(f.sim.access_count[UPMU_SIM_RDMSR], 4);
    assert_int_equal(f.sim.access_count[UPMU_SIM_WRMSR], 1);
    assert_int_equal(f.sim.access_count[UPMU_SIM_REARM], 1);
}

static void injected_faults_have_no_effect_and_are_no_violation(void **state)
{
    uint64_t value = 5;

    (void)state;
    set_up("skylake");
    f.sim.fault_at = 2;
    f.sim.fault_until = 3;
    wr(0xc1, 1);
    assert_false(f.port->wrmsr(f.port->context, 0xc1, 2));
    assert_false(f.port->rdpmc(f.port->context, 0, &value));
    assert_int_equal(value, UINT64_MAX); /* garbage, which no caller may use */
    assert_int_equal(rd(0xc1), 1);
    f.sim.fault_address = 0x38f;
    assert_false(f.port->rdmsr(f.port->context, 0x38f, &value));
    assert_false(f.port->wrmsr(f.port->context, 0x38f, 0));
    assert_int_equal(f.sim.faults, 4);
    no_violation();
}

/* Shortest period of Nehalem: 32 (Linux nhm_limit_period). */
static void a_violation_names_the_register_of_the_counter(void **state)
{
    static const struct {
        const char *profile;
        uint32_t address;
        uint64_t value;
    } writes[] = {{"nehalem", 0xc2, 0xfffffffb},
                  {"nehalem", 0x309, 0xfffffffffffb},
                  {"haswell_smt", 0x4c2, 0xfffffffffffb},
                  {"haswell_smt", 0x30a, 0xfffffffffffb}};

    (void)state;
    for (unsigned i = 0; i < sizeof writes / sizeof writes[0]; i++) {
        set_up(writes[i].profile);
        wr(0x187, 0x5300c0);
        wr(0x38d, 0xbb);
        wr(writes[i].address, writes[i].value);
        assert_non_null(f.sim.violation);
        assert_string_equal(f.sim.violation, "period shorter than the CPU counts right");
        assert_int_equal(f.sim.last_violation.address, writes[i].address, i);
    }
}

static void trace_records_accesses(void **state)
{
    struct upmu_sim_access trace[3];
    uint64_t value;

    (void)state;
    set_up("skylake");
    f.sim.trace = trace;
    f.sim.trace_size = 3;
    wr(0xc1, 9);
    assert_true(f.port->rdpmc(f.port->context, 0, &value));
    assert_false(f.port->rdmsr(f.port->context, 0xdead, &value));
    wr(0xc1, 8);
    assert_int_equal(f.sim.trace_count, 3);
    assert_true(trace[0].kind == UPMU_SIM_WRMSR && trace[0].address == 0xc1 && trace[0].value == 9);
    assert_true(trace[1].kind == UPMU_SIM_RDPMC && trace[1].value == 9 && !trace[1].faulted);
    assert_true(trace[2].faulted && trace[2].address == 0xdead);
    upmu_sim_forget(&f.sim);
    assert_int_equal(f.sim.trace_count + f.sim.accesses + f.sim.faults, 0);
}

static void time_passes_with_accesses_if_asked(void **state)
{
    (void)state;
    set_up("skylake");
    f.sim.ns_per_access = 3;
    wr(0xc1, 0);
    upmu_sim_advance_ns(&f.sim, 100);
    assert_int_equal(f.port->clock_ns(f.port->context), 103);
}

static void poke_and_peek_pass_the_rules_by(void **state)
{
    (void)state;
    set_up("skylake");
    upmu_sim_poke(&f.sim, 1, 0x38e, UINT64_C(1) << 63);
    assert_int_equal(upmu_sim_peek(&f.sim, 1, 0x38e), UINT64_C(1) << 63);
    upmu_sim_poke(&f.sim, 1, 0x186, 0x3c);
    assert_int_equal(upmu_sim_peek(&f.sim, 1, 0x392), 1);
    assert_int_equal(upmu_sim_peek(&f.sim, 1, 0x345), f.sim.profile->capabilities);
    assert_int_equal(upmu_sim_peek(&f.sim, 0, 0xdead), 0);
    assert_int_equal(f.sim.accesses, 0);
}

/* ---- Profiles and CPUID ---- */

static void cpuid_is_the_dump_s(void **state)
{
    static const struct {
        const char *name;
        uint32_t leaf1, eax, ebx, ecx, edx;
    } dumps[] = {
        {"core2", 0x10676, 0x07280202, 0, 0, 0x503},
        {"merom_early", 0x6f6, 0x07280202, 0, 0, 0},
        {"yonah", 0x6e8, 0x07280201, 0, 0, 0},
        {"nehalem", 0x106a5, 0x07300403, 0x40, 0, 0x603},
        {"skylake", 0x506e3, 0x07300404, 0, 0, 0x603},
        {"skylake_smtoff", 0x506e3, 0x07300804, 0, 0, 0x603},
        {"icelake", 0x706e5, 0x08300805, 0, 0xf, 0x8604},
        {"hypervisor_v2_nofixed", 0x506e3, 0x07300802, 0, 0, 0},
        {"no_pmu", 0x506e3, 0, 0, 0, 0},
        {"tcg", 0x506e3, 0, 0, 0, 0},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof dumps / sizeof dumps[0]; i++) {
        uint32_t out[4];

        set_up(dumps[i].name);
        f.port->cpuid(f.port->context, 1, 0, out);
        assert_int_equal(out[0], dumps[i].leaf1, i);
        assert_int_equal(out[2] >> 15 & 1, f.sim.profile->flags & UPMU_SIM_PDCM ? 1 : 0);
        assert_int_equal(out[2] >> 31, f.sim.profile->flags & UPMU_SIM_HYPERVISOR ? 1 : 0);
        f.port->cpuid(f.port->context, 0xa, 0, out);
        assert_int_equal(out[0], dumps[i].eax, i);
        assert_int_equal(out[1], dumps[i].ebx, i);
        assert_int_equal(out[2], dumps[i].ecx, i);
        assert_int_equal(out[3], dumps[i].edx, i);
        f.port->cpuid(f.port->context, 0, 0, out);
        assert_memory_equal(&out[1], "Genu", 4);
        assert_memory_equal(&out[3], "ineI", 4);
        assert_memory_equal(&out[2], "ntel", 4);
        assert_compare(out[0], >=, 0xa);
    }
}

static void leaf_above_the_highest_answers_with_the_highest(void **state)
{
    uint32_t highest[4], above[4];

    (void)state;
    set_up("yonah");
    f.port->cpuid(f.port->context, 0xa, 0, highest);
    f.port->cpuid(f.port->context, 0x23, 0, above);
    assert_memory_equal(highest, above, sizeof above);
    assert_int_not_equal(above[0], 0);
}

static void hyper_threads_have_one_core(void **state)
{
    uint32_t out[4];

    (void)state;
    set_up("skylake");
    upmu_sim_switch_cpu(&f.sim, 1);
    f.port->cpuid(f.port->context, 0xb, 0, out);
    assert_int_equal(out[0], 1);
    assert_int_equal(out[3], 1);
    set_up("skylake_smtoff");
    f.port->cpuid(f.port->context, 0xb, 0, out);
    assert_int_equal(out[0], 0);
}

static void profiles_have_unique_names_and_sources(void **state)
{
    const struct upmu_sim_profile *profile;

    (void)state;
    for (unsigned i = 0; (profile = upmu_sim_profile_at(i)) != NULL; i++) {
        assert_ptr_equal(upmu_sim_profile(profile->name), profile);
        if (profile->alias != NULL)
            assert_ptr_equal(upmu_sim_profile(profile->alias), profile);
        assert_true(profile->source[0] != '\0' && profile->about[0] != '\0');
        assert_compare(profile->general, <=, profile->flags & UPMU_SIM_P4 ? UPMU_SIM_P4_COUNTERS : UPMU_SIM_GENERAL);
        assert_compare(profile->fixed, <=, UPMU_SIM_COUNTERS - UPMU_SIM_FIXED);
    }
    assert_null(upmu_sim_profile("no such"));
    assert_ptr_equal(upmu_sim_profile("core"), upmu_sim_profile("core2"));
    assert_ptr_equal(upmu_sim_profile("icl"), upmu_sim_profile("icelake"));
}

static void rules_have_names_texts_and_sources(void **state)
{
    (void)state;
    for (unsigned i = 0; i < UPMU_SIM_RULE_COUNT; i++) {
        const struct upmu_sim_rule *rule = upmu_sim_rule(i);

        assert_true(rule->name[0] != '\0' && rule->text[0] != '\0' && rule->source[0] != '\0');
    }
    assert_null(upmu_sim_rule(UPMU_SIM_RULE_COUNT));
}

static void init_bounds_the_number_of_cpus(void **state)
{
    static struct upmu_sim sim;

    (void)state;
    upmu_sim_init(&sim, upmu_sim_profile("skl"), 0);
    assert_int_equal(sim.cpus, UPMU_SIM_CPUS_DEFAULT);
    upmu_sim_init(&sim, upmu_sim_profile("skl"), 99);
    assert_int_equal(sim.cpus, UPMU_SIM_CPUS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(division_equals_the_machine_s),
        cmocka_unit_test(overflow_test_of_each_counter_with_and_without_int),
        cmocka_unit_test(samples_are_exact_at_skid_zero),
        cmocka_unit_test(ips_stay_in_the_loop),
        cmocka_unit_test(every_stream_keeps_its_total_however_the_burst_is_cut),
        cmocka_unit_test(huge_bursts_count_exactly),
        cmocka_unit_test(a_burst_is_cut_only_where_something_is_due),
        cmocka_unit_test(truth_is_kept_per_ring),
        cmocka_unit_test(accesses_take_kernel_events),
        cmocka_unit_test(second_overflow_needs_the_rearm),
        cmocka_unit_test(masked_vector_arrives_at_irq_restore),
        cmocka_unit_test(handler_on_a_vector_runs_with_interrupts_off),
        cmocka_unit_test(foreign_nmi_is_marked),
        cmocka_unit_test(interrupts_without_end_are_a_violation),
        cmocka_unit_test(sibling_s_overflow_is_delivered_there),
        cmocka_unit_test(run_on_cpu_switches_and_comes_back),
        cmocka_unit_test(log_keeps_the_last_line),
        cmocka_unit_test(callbacks_see_each_access_once),
        cmocka_unit_test(injected_faults_have_no_effect_and_are_no_violation),
        cmocka_unit_test(a_violation_names_the_register_of_the_counter),
        cmocka_unit_test(trace_records_accesses),
        cmocka_unit_test(time_passes_with_accesses_if_asked),
        cmocka_unit_test(poke_and_peek_pass_the_rules_by),
        cmocka_unit_test(cpuid_is_the_dump_s),
        cmocka_unit_test(leaf_above_the_highest_answers_with_the_highest),
        cmocka_unit_test(hyper_threads_have_one_core),
        cmocka_unit_test(profiles_have_unique_names_and_sources),
        cmocka_unit_test(rules_have_names_texts_and_sources),
        cmocka_unit_test(init_bounds_the_number_of_cpus),
    };

    return cmocka_run_group_tests_name("sim", tests, NULL, NULL);
}
