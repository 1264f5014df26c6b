/* SPDX-License-Identifier: MIT */
/*
 * Random sequences of public calls on the silicon model, with events and overflows between calls and inside of them,
 * on every kind of PMU.  Counts, times and samples must be exactly what the model counted: stress_judge.h.
 *
 * A seed and a row of the table below decide everything.  STRESS_ROW=skylake STRESS_SEED=7 repeats one sequence;
 * STRESS_SEEDS is how many of each row are run, STRESS_TRACE=1 prints each step, STRESS_STATIC=0 makes no session
 * static.
 */
#include <stdlib.h>

#include "tests/common/share.h"
#include "tests/unit/engine/stress_steps.h"

#define STEPS 160u
#define SEEDS 16u        /* of each row in `make test`: three seconds ... */
#define SEEDS_SOAK 1000u /* ... and in `make soak` */

/* ---- A sequence ---- */

/* What the registers of a CPU hold that upmu may write, but for counters that run. */
struct registers {
    uint64_t value[UPMU_SIM_COUNTERS], select[UPMU_SIM_GENERAL], fixed_ctrl, global_ctrl, debugctl, pebs_enable;
    uint64_t payload[UPMU_SIM_PAYLOADS], cccr[UPMU_SIM_P4_COUNTERS], escr[UPMU_SIM_P4_ESCRS];
};

static void look_at_registers(unsigned index, struct registers *out_registers)
{
    const struct upmu_sim_cpu *cpu = &s.sim.cpu[index];

    memset(out_registers, 0, sizeof *out_registers);
    for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++)
        out_registers->value[i] = s.firmware[index] >> i & 1u ? 0 : cpu->counter[i].value;
    memcpy(out_registers->select, cpu->select, sizeof cpu->select);
    out_registers->fixed_ctrl = cpu->fixed_ctrl;
    out_registers->global_ctrl = cpu->global_ctrl;
    out_registers->debugctl = cpu->debugctl;
    out_registers->pebs_enable = cpu->pebs_enable;
    memcpy(out_registers->payload, cpu->payload, sizeof cpu->payload);
    memcpy(out_registers->cccr, cpu->p4.cccr, sizeof cpu->p4.cccr);
    memcpy(out_registers->escr, cpu->p4.escr, sizeof cpu->p4.escr);
}

static void judge_registers(unsigned cpu, const struct registers *before)
{
    struct registers now;
    const uint64_t *a = (const uint64_t *)&now, *b = (const uint64_t *)before;

    look_at_registers(cpu, &now);
    for (unsigned i = 0; i < sizeof now / sizeof *a; i++)
        if (a[i] != b[i])
            stress_fail("CPU %u: register word %u is %llx, and was found as %llx", cpu, i, (unsigned long long)a[i],
                        (unsigned long long)b[i]);
}

static void prepare(void)
{
    memset(&s, 0, sizeof s);
    memset(tick_asked, 0, sizeof tick_asked);
    s.row = row->profile;
    s.cpus = row->flags & (TWO_CORES | ONE_CORE) ? 2 : 1;
    upmu_sim_init(&s.sim, upmu_sim_profile(row->profile), s.cpus);
    if (row->second)
        upmu_sim_set_profile(&s.sim, 1, upmu_sim_profile(row->second));
    for (unsigned cpu = 0; cpu < s.cpus; cpu++)
        upmu_sim_bind_cpu(&s.sim, cpu, &s.cpu[cpu]);
    s.sim.deliver = deliver;
    s.sim.before_access = before;
    s.sim.after_access = after;
    s.can_sample = true;
    s.quiet = true;
    for (unsigned cpu = 0; cpu < STRESS_CPUS; cpu++)
        s.thread_on[cpu] = STRESS_NONE;
}

static void take_over(struct registers *out_found)
{
    struct upmu_domain *domains[] = {row->flags & ONE_CORE ? &s.core : NULL, NULL};

    assert_int_equal(upmu_machine_init(&s.machine, upmu_sim_port(&s.sim)), UPMU_OK);
    upmu_domain_init(&s.core, UPMU_SCOPE_CORE);
    for (unsigned cpu = 0; cpu < s.cpus; cpu++)
        look_at_registers(cpu, &out_found[cpu]);
    for (unsigned cpu = 0; cpu < s.cpus; cpu++) {
        upmu_sim_switch_cpu(&s.sim, cpu);
        (void)CALL(upmu_cpu_init(&s.cpu[cpu], &s.machine, domains), NEVER);
        s.live[cpu] = true;
        assert_int_equal(upmu_cpu_use_work(&s.cpu[cpu], &s.work[cpu]), UPMU_OK, cpu);
    }
    upmu_test_count_searches(&s.machine);
    for (unsigned i = 0; i < STRESS_THREADS; i++)
        upmu_thread_init(&s.thread[i], 100 + i, 200 + i, NULL);
    for (unsigned cpu = 0; cpu < s.cpus; cpu++)
        s.thread_on[cpu] = STRESS_THREADS - 1u - cpu;
    judge_learn_keys();
}

/* Learn what the registers show of an event that runs alone; false: this PMU does not count it. */
static bool learn(unsigned cpu, const char *text)
{
    struct upmu_session *session = &s.session[0].session;
    struct stress_kind kind = {.pmu = stress_core_type(cpu)};
    unsigned runs = 0;
    bool fits;

    snprintf(kind.text, sizeof kind.text, "%s", text);
    upmu_sim_switch_cpu(&s.sim, cpu);
    s.depth++;
    assert_int_equal(upmu_session_init(session, &s.machine), UPMU_OK);
    fits = upmu_set_add(&session->set, text, NULL) == UPMU_OK &&
           upmu_session_attach_cpu(session, &s.cpu[cpu]) == UPMU_OK && upmu_session_start(session) == UPMU_OK;
    for (unsigned i = 0; i < UPMU_SIM_COUNTERS && fits; i++)
        if (silicon_runs(silicon_home(cpu), i)) {
            kind.key = silicon_key(silicon_home(cpu), i);
            runs++;
        }
    assert_int_equal(upmu_session_close(session), UPMU_OK);
    s.depth--;
    if (runs != 1 || stress_kind_of(cpu, kind.key) || s.kinds == STRESS_KINDS)
        return false;
    s.kind[s.kinds++] = kind;
    return true;
}

static void learn_kinds(void)
{
    static const char *const names[] = {"instructions",  "cycles",           "branches",
                                        "branch-misses", "cache-references", "cache-misses"};
    static const char *const rings[] = {"", ":u", ":k"};
    struct registers found[STRESS_CPUS];

    prepare();
    take_over(found);
    for (unsigned cpu = 0; cpu < s.cpus; cpu++)
        for (unsigned i = 0; i < 6u + CODES && (cpu == 0 || stress_core_type(cpu)); i++)
            for (unsigned ring = 0; ring < 3; ring++) {
                char text[64], name[16];

                snprintf(name, sizeof name, "r01%02x",
                         i < 6              ? 0
                         : silicon_is_amd() ? amd_codes[i - 6]
                                            : intel_codes[i - 6]);
                snprintf(text, sizeof text, "%s%s%s%s", row->second ? s.machine.pmu[cpu].name : "",
                         row->second ? "::" : "", i < 6 ? names[i] : name, rings[ring]);
                if ((i < 6 || !silicon_is_p4()) && learn(cpu, text))
                    s.kind[s.kinds - 1].not_sampled = i == 5u + CODES;
            }
    for (unsigned cpu = 0; cpu < s.cpus; cpu++) {
        upmu_sim_switch_cpu(&s.sim, cpu);
        (void)CALL(upmu_cpu_fini(&s.cpu[cpu]), NEVER);
    }
    memcpy(learned, s.kind, sizeof learned);
    learned_kinds = s.kinds;
}

/* What was there before has counted almost a whole round. */
static void find_counters_near_their_end(void)
{
    for (unsigned cpu = 0; cpu < s.cpus; cpu++)
        for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++) {
            const struct upmu_sim_profile *profile = s.sim.cpu[cpu].profile ? s.sim.cpu[cpu].profile : s.sim.profile;

            s.sim.cpu[cpu].counter[i].value = sim_width_mask(profile, i) - 1000u * (i + 1u);
        }
}

/* What a seed decides.  Other sequences than each fourth stay as they were when they found mistakes. */
static void begin(unsigned seed, struct registers *out_found)
{
    prepare();
    s.seed = seed;
    s.is_rough = seed % 4u == 3;
    s.random = UINT64_C(0x9e3779b97f4a7c15) * (2u * seed + 1u);
    for (unsigned i = 0; i < 8; i++)
        (void)draw(2);
    memcpy(s.kind, learned, sizeof learned);
    s.kinds = learned_kinds;
    s.no_clock = one_in(8);
    if (s.no_clock)
        s.sim.port.clock_ns = NULL;
    if (one_in(6))
        s.sim.port.rdpmc = NULL;
    if (one_in(2))
        s.sim.port.request_tick = ask_tick;
    user_inside = one_in(4);
    s.sim.port.in_kernel_mode = !user_inside;
    if ((s.sim.profile->flags & UPMU_SIM_NO_APIC) || seed % 8u == 7)
        s.sim.port.pmi_rearm = NULL;
    s.can_sample = s.sim.port.pmi_rearm != NULL;
    s.inside_percent = (unsigned[]){0, 5, 20, 60}[draw(4)];
    s.inside_events = 1 + draw(120);
    if (s.is_rough) {
        s.inside_percent = 25;
        s.inside_events += 2000;
        find_counters_near_their_end();
    }
    s.foreign_percent = one_in(4) ? 2 : 0;
    s.sim.ns_per_access = one_in(2) ? 0 : 10;
    s.sim.skid = (unsigned[]){0, 0, 1, 4, 30}[draw(5)];
    s.sim.status_lag = one_in(6) ? 3 : 0;
    for (unsigned cpu = 0; cpu < s.cpus; cpu++)
        upmu_sim_set_delivery(&s.sim, cpu, one_in(4) ? 0x40 : UPMU_SIM_LVTPC_NMI);
    take_over(out_found);
    s.quiet = false;
    for (unsigned i = 0; i < STRESS_SESSIONS; i++) {
        create(&s.session[i]);
        if (one_in(4))
            continue;
        attach(&s.session[i]);
        if (s.session[i].target != STRESS_DETACHED)
            start(&s.session[i]);
    }
}

static void step(void)
{
    unsigned cpu = (unsigned)draw(s.cpus);

    if (!s.live[cpu] && !one_in(4)) {
        if (one_in(3))
            work(cpu);
    } else if (!s.live[cpu])
        sleep_or_wake(cpu);
    else if (one_in(3))
        work(cpu);
    else if (one_in(2))
        step_session(&s.session[draw(STRESS_SESSIONS)]);
    else
        step_cpu(cpu);
    for (unsigned i = 0; i < s.cpus; i++)
        if (tick_asked[i] && s.live[i])
            tick(i);
    judge_look();
    judge_rest();
    if (one_in(3))
        judge_counts();
}

/* All is given back; counts stay. */
static void end(const struct registers *found)
{
    tell("the end");
    for (unsigned cpu = 0; cpu < s.cpus; cpu++) {
        if (!s.live[cpu])
            sleep_or_wake(cpu);
        if (s.in_guest[cpu])
            cross(cpu);
        unreserve(cpu);
    }
    judge_counts();
    for (unsigned i = 0; i < STRESS_SESSIONS; i++)
        if (s.session[i].sets && one_in(2) && go_for(&s.session[i]))
            detach(&s.session[i]);
    for (unsigned i = 0; i < STRESS_THREADS; i++) {
        unsigned cpu = stress_thread_cpu(i);

        upmu_sim_switch_cpu(&s.sim, cpu == STRESS_NONE ? 0 : cpu);
        (void)CALL(upmu_thread_exit(&s.thread[i]), NEVER);
        for (unsigned k = 0; k < STRESS_SESSIONS; k++)
            if (s.session[k].sets && s.session[k].target == STRESS_ON_THREAD && s.session[k].where == i)
                detached(&s.session[k]);
    }
    for (unsigned cpu = 0; cpu < s.cpus; cpu++) {
        upmu_sim_switch_cpu(&s.sim, cpu);
        (void)CALL(upmu_cpu_fini(&s.cpu[cpu]), NEVER);
        s.live[cpu] = false;
        for (unsigned k = 0; k < STRESS_SESSIONS; k++)
            if (s.session[k].sets && s.session[k].target == STRESS_ON_CPU && s.session[k].where == cpu)
                detached(&s.session[k]);
    }
    judge_states();
    judge_counts();
    for (unsigned cpu = 0; cpu < s.cpus; cpu++)
        judge_registers(cpu, &found[cpu]);
    for (unsigned i = 0; i < STRESS_SESSIONS; i++)
        if (s.session[i].sets)
            close_session(&s.session[i]);
}

static void run(unsigned seed)
{
    struct registers found[STRESS_CPUS];

    begin(seed, found);
    for (s.step = 1; s.step <= STEPS; s.step++)
        step();
    end(found);
}

static unsigned number_of(const char *name, unsigned otherwise)
{
    const char *text = getenv(name);

    return text ? (unsigned)strtoul(text, NULL, 0) : otherwise;
}

static const struct row *row_of(const char *profile)
{
    for (unsigned i = 0; i < ROWS; i++)
        if (!strcmp(rows[i].profile, profile))
            return &rows[i];
    fail_msg("there is no row %s", profile);
    return NULL;
}

static void counts_times_and_samples_are_exact_in_every_sequence(void **state)
{
    unsigned seeds = number_of("STRESS_SEEDS", share_everything() ? SEEDS_SOAK : SEEDS);
    unsigned only_seed = number_of("STRESS_SEED", 0), sequences = 0, interrupts = 0, inside = 0, samples = 0;
    const char *only = getenv("STRESS_ROW");

    (void)state;
    no_static = !number_of("STRESS_STATIC", 1);
    for (unsigned i = 0; i < ROWS; i++) {
        unsigned first = only_seed ? only_seed : 1u, last = only_seed ? only_seed : seeds;

        row = &rows[i];
        if (only && row != row_of(only))
            continue;
        learn_kinds();
        for (unsigned seed = first; seed <= last; seed++) {
            run(seed);
            sequences++;
            interrupts += s.interrupts;
            inside += s.inside_interrupts;
            samples += s.samples;
        }
    }
    if (!only && !only_seed)
        assert_true(interrupts > sequences && inside > sequences && samples > sequences);
    print_message("%u sequences of %u steps, %u interrupts, %u of them inside of calls, %u samples\n", sequences, STEPS,
                  interrupts, inside, samples);
}

/* Sequences that found a mistake, each with what it was.  Any change of what a seed decides makes others of them. */
static const struct {
    const char *profile;
    unsigned seed;
    bool no_static;
} found[] = {
    {"adl_p", 922, true},       /* after an unreserve, what a handler stops and does not change stays closed */
    {"willamette", 1788, true}, /* a counter that was left by a move with a gap is thought to hold what it held */
    {"nehalem", 368, false},    /* a move beside an erratum's sequence has one gap twice in its times */
    {"core2", 429, false},      /* an attachment loads a counter that a static session left running */
    {"skylake_nofw", 753, false},
    {"willamette", 1569, false}, /* the ESCR of a counter that a static session left running is changed */
    {"smithfield", 1774, false},
    {"northwood", 1621, false}, /* a thread of the core writes what a static session left running on the other */
    {"bulldozer", 619, false},  /* an overflow that comes while mail is read is answered for twice */
    {"willamette", 747, false}, /* a session that leaves masks itself, and is thought to be masked still */
};

static void run_found(unsigned first, unsigned end)
{
    for (unsigned i = first; i < end; i++) {
        row = row_of(found[i].profile);
        no_static = found[i].no_static;
        learn_kinds();
        run(found[i].seed);
    }
}

static void what_a_handler_stops_runs_again_after_an_unreserve(void **state)
{
    (void)state;
    run_found(0, 1);
}

static void a_counter_left_by_a_move_holds_no_value(void **state)
{
    (void)state;
    run_found(1, 2);
}

static void a_gap_is_in_the_times_once(void **state)
{
    (void)state;
    run_found(2, 3);
}

static void no_running_counter_of_a_static_session_is_loaded(void **state)
{
    (void)state;
    run_found(3, 5);
}

static void no_escr_of_a_running_counter_of_a_static_session_is_changed(void **state)
{
    (void)state;
    run_found(5, 7);
}

static void no_thread_writes_what_the_other_left_running(void **state)
{
    (void)state;
    run_found(7, 8);
}

static void an_overflow_while_mail_is_read_is_answered_for_once(void **state)
{
    (void)state;
    run_found(8, 9);
}

static void no_work_is_due_after_a_plan_that_masks(void **state)
{
    (void)state;
    run_found(9, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_times_and_samples_are_exact_in_every_sequence),
        cmocka_unit_test(what_a_handler_stops_runs_again_after_an_unreserve),
        cmocka_unit_test(a_counter_left_by_a_move_holds_no_value),
        cmocka_unit_test(a_gap_is_in_the_times_once),
        cmocka_unit_test(no_running_counter_of_a_static_session_is_loaded),
        cmocka_unit_test(no_escr_of_a_running_counter_of_a_static_session_is_changed),
        cmocka_unit_test(no_thread_writes_what_the_other_left_running),
        cmocka_unit_test(an_overflow_while_mail_is_read_is_answered_for_once),
        cmocka_unit_test(no_work_is_due_after_a_plan_that_masks),
    };

    trace = getenv("STRESS_TRACE") != NULL;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
