/* SPDX-License-Identifier: MIT */
/*
 * The life of a session, step by step: what each step touches, what it leaves, and
 * which steps are refused where.  The rules are perfmon2's (S. Eranian, "Perfmon2: a
 * flexible performance monitoring interface for Linux", 2006).
 */
#include <upmu/session.h>
#include <upmu/set.h>
#include "tests/common/host.h"

static struct host host;

static void run(uint64_t instructions)
{
    struct upmu_sim_burst burst = {.instructions = instructions, .cycles = 2 * instructions,
                                   .branches = instructions / 5, .mispredicts = instructions / 50, .ip = 0x1000};
    upmu_sim_events(&host.sim, &burst);
}

static void ready(const char *list)
{
    assert_int_equal(upmu_set_add(&host.session.set, list, NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[0]), UPMU_OK);
}

/* Selects, fixed control, gates, payloads and DEBUGCTL, as they are in the model. */
#define REGISTERS 12
static void image_of(unsigned number, uint64_t out[REGISTERS])
{
    static const uint32_t addresses[REGISTERS] = {0x186, 0x187, 0x188, 0x189, 0x38d, 0x38f,
                                                  0x1a6, 0x1a7, 0x3f6, 0x3f7, 0x1d9, 0x345};
    for (unsigned i = 0; i < REGISTERS; i++)
        out[i] = upmu_sim_peek(&host.sim, number, addresses[i]);
}

static unsigned accesses(void)
{
    return host.sim.accesses;
}

/* Writes to selects, fixed control and payload registers that the trace holds. */
static unsigned configuration_writes(void)
{
    unsigned writes = 0;
    for (unsigned i = 0; i < host.sim.trace_count; i++) {
        uint32_t address = host.sim.trace[i].address;
        bool configures = (address >= 0x186 && address <= 0x18d) || address == 0x38d || address == 0x1a6 ||
                          address == 0x1a7;

        writes += host.sim.trace[i].kind == UPMU_SIM_WRMSR && configures;
    }
    return writes;
}

static void trace(struct upmu_sim_access *entries, unsigned size)
{
    host.sim.trace = entries;
    host.sim.trace_size = size;
    host.sim.trace_count = 0;
}

/* ---- Making and programming ---- */

static void a_new_session_is_quiescent_whatever_its_memory_held(void **state)
{
    struct upmu_count counts[2];
    uint64_t before[REGISTERS], after[REGISTERS];
    (void)state;
    host_set_up_two(&host, "skl");
    memset(&host.session, 0xa5, sizeof host.session);
    image_of(0, before);
    unsigned touched = accesses();
    assert_int_equal(upmu_session_init(&host.session, &host.machine), UPMU_OK);
    assert_int_equal(host.session.state, UPMU_SESSION_DETACHED);
    assert_int_equal(upmu_set_add(&host.session.set, "instructions,branches", NULL), UPMU_OK);
    assert_int_equal(accesses(), touched);
    image_of(0, after);
    assert_memory_equal(before, after, sizeof before);
    assert_int_equal(upmu_set_read(&host.session.set, 0, 2, counts), UPMU_OK);
    for (unsigned i = 0; i < 2; i++) {
        assert_true(counts[i].value == 0 && counts[i].raw == 0, i);
        assert_int_equal(counts[i].quality, UPMU_QUALITY_NEVER_RAN, i);
    }
    host_end(&host);
}

static void programming_before_or_after_attaching_is_the_same(void **state)
{
    uint64_t before[REGISTERS], after[REGISTERS];
    (void)state;
    for (unsigned late = 0; late < 2; late++) {
        host_set_up_two(&host, "skl");
        /* The two ways differ in the event that is replaced: what both would lose is seen in the image below. */
        assert_int_equal(
            upmu_set_add(&host.session.set, late ? "instructions:u,branches" : "instructions:u,cache-misses:k", NULL),
            UPMU_OK);
        assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[0]), UPMU_OK);
        if (late)
            assert_int_equal(upmu_set_replace(&host.session.set, 1, "cache-misses:k", NULL), UPMU_OK);
        assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
        image_of(0, late ? after : before);
        host_end(&host);
    }
    assert_memory_equal(before, after, sizeof before);
    /* Misses in ring 0 on general counter 0, instructions in ring 3 on fixed counter 0; both are let run. */
    assert_int_equal(before[0] & 0x43ffff, 0x42412e);
    assert_int_equal(before[4] & 3, 2);
    assert_int_equal(before[5], UINT64_C(0x100000001));
}

static void each_state_allows_what_its_table_says(void **state)
{
    static const enum upmu_status add[] = {UPMU_OK, UPMU_ERR_STATE, UPMU_ERR_STATE};
    static const enum upmu_status replace[] = {UPMU_OK, UPMU_OK, UPMU_ERR_STATE};
    static const enum upmu_status attach[] = {UPMU_OK, UPMU_ERR_STATE, UPMU_ERR_STATE};
    static const enum upmu_status start[] = {UPMU_ERR_STATE, UPMU_OK, UPMU_OK};
    static const enum upmu_status stop[] = {UPMU_ERR_STATE, UPMU_OK, UPMU_OK};
    (void)state;
    for (unsigned in = UPMU_SESSION_DETACHED; in <= UPMU_SESSION_RUNNING; in++)
        for (unsigned what = 0; what < 7; what++) {
            enum upmu_status got = UPMU_OK, expected = UPMU_OK;
            host_set_up_two(&host, "skl");
            assert_int_equal(upmu_set_add(&host.session.set, "instructions,branches", NULL), UPMU_OK);
            if (in >= UPMU_SESSION_STOPPED)
                assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[0]), UPMU_OK);
            if (in >= UPMU_SESSION_RUNNING)
                assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
            assert_int_equal(host.session.state, in);
            switch (what) {
            case 0: got = upmu_set_add(&host.session.set, "cycles", NULL), expected = add[in]; break;
            case 1: got = upmu_set_replace(&host.session.set, 1, "cycles", NULL), expected = replace[in]; break;
            case 2: got = upmu_session_attach_cpu(&host.session, &host.cpu[0]), expected = attach[in]; break;
            case 3: got = upmu_session_start(&host.session), expected = start[in]; break;
            case 4: got = upmu_session_stop(&host.session), expected = stop[in]; break;
            case 5: got = upmu_set_write(&host.session.set, 0, 5); break;
            case 6: got = upmu_session_detach(&host.session); break;
            }
            if (got != expected)
                fail_msg("state %u, call %u: %s", in, what, upmu_status_text(got));
            host_end(&host);
        }
}

static void an_event_is_replaced_without_making_the_session_again(void **state)
{
    (void)state;
    host_set_up_two(&host, "skl");
    ready("instructions,branches");
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    run(1000);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    assert_int_equal(upmu_set_replace(&host.session.set, 1, "branch-misses", NULL), UPMU_OK);
    assert_int_equal(host_count(&host.session, 1).value, 0);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    run(1000);
    assert_int_equal(host_count(&host.session, 0).value, 2000);
    assert_int_equal(host_count(&host.session, 1).value, 20);
    host_end(&host);
}

static void two_sessions_count_apart_and_an_unattached_one_is_refused(void **state)
{
    (void)state;
    host_set_up_two(&host, "skl");
    ready("instructions");
    assert_int_equal(upmu_set_add(&host.other.set, "branches", NULL), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.other), UPMU_ERR_STATE);
    assert_int_equal(upmu_session_attach_cpu(&host.other, &host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    run(1000);
    assert_int_equal(upmu_session_start(&host.other), UPMU_OK);
    run(1000);
    assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    run(1000);
    assert_int_equal(host_count(&host.session, 0).value, 2000);
    assert_int_equal(host_count(&host.other, 0).value, 400);
    assert_int_equal(upmu_session_start(&host.session), UPMU_ERR_STATE);
    host_end(&host);
}

/* ---- Values ---- */

static void a_count_is_given_a_value_without_touching_its_event(void **state)
{
    struct upmu_sim_access entries[64];
    (void)state;
    host_set_up_two(&host, "skl");
    ready("instructions,branches");
    trace(entries, 64);
    assert_int_equal(upmu_set_write(&host.session.set, 1, UINT64_C(0x123456789abcdef0)), UPMU_OK);
    assert_int_equal(host_count(&host.session, 1).value, UINT64_C(0x123456789abcdef0));
    assert_int_equal(configuration_writes(), 0);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    run(1000);
    assert_int_equal(host_count(&host.session, 1).value, UINT64_C(0x123456789abcdef0) + 200);
    assert_int_equal(upmu_set_write(&host.session.set, 1, 0), UPMU_OK);
    run(1000);
    assert_int_equal(host_count(&host.session, 1).value, 200);
    assert_int_equal(configuration_writes(), 0);
    trace(NULL, 0);
    host_end(&host);
}

static void rearming_a_sampling_event_by_hand_is_one_write(void **state)
{
    struct upmu_sim_access entries[64];
    struct upmu_sampling sampling = {.period = 1000};
    (void)state;
    host_set_up_two(&host, "skl");
    assert_int_equal(upmu_set_add(&host.session.set, "branches", &sampling), UPMU_OK);
    assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    for (unsigned turn = 0; turn < 5; turn++) {
        unsigned values = 0, writes = 0;

        run(4500); /* 900 branches: below the period */
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        assert_int_equal(host_count(&host.session, 0).value, 900);
        /* From the new value to the end of the start that it is for: the counter's register, and the gate. */
        trace(entries, 64);
        assert_int_equal(upmu_set_write(&host.session.set, 0, 0), UPMU_OK);
        assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
        for (unsigned i = 0; i < host.sim.trace_count; i++) {
            writes += entries[i].kind == UPMU_SIM_WRMSR;
            values += entries[i].kind == UPMU_SIM_WRMSR && entries[i].address != 0x38f;
        }
        assert_int_equal(values, 1, turn);
        assert_int_equal(writes, 2, turn);
        assert_int_equal(configuration_writes(), 0);
        trace(NULL, 0);
    }
    assert_int_equal(host.answered[UPMU_PMI_HANDLED], 0);
    host_end(&host);
}

static void reads_repeat_and_a_running_count_only_grows(void **state)
{
    struct upmu_count counts[4];
    uint64_t last = 0;
    (void)state;
    host_set_up_two(&host, "skl");
    ready("instructions,cycles,branches,branch-misses");
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    for (unsigned turn = 0; turn < 20; turn++) {
        run(500);
        assert_int_equal(upmu_set_read(&host.session.set, 0, 4, counts), UPMU_OK);
        assert_compare(counts[0].value, >, last);
        last = counts[0].value;
        assert_int_equal(host_count(&host.session, 0).value, last);
        assert_true(counts[1].value == 2 * last && counts[2].value == last / 5 && counts[3].value == last / 50);
    }
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    assert_true(host_count(&host.session, 0).value == last && host_count(&host.session, 0).value == last);
    host_end(&host);
}

static void one_call_adds_attaches_and_reads_many(void **state)
{
    static const uint64_t expected[] = {1000, 2000, 200, 20, 100, 10, 250};
    struct upmu_count counts[UPMU_SET_EVENTS];
    (void)state;
    host_set_up_two(&host, "icl");
    ready("instructions cycles branches branch-misses cache-references cache-misses bus-cycles");
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    host_work(&host, 0, 1000);
    assert_int_equal(upmu_set_read(&host.session.set, 0, 7, counts), UPMU_OK);
    for (unsigned i = 0; i < 7; i++)
        assert_int_equal(counts[i].value, expected[i], i);
    assert_int_equal(upmu_set_read(&host.session.set, 0, 8, counts), UPMU_ERR_INVALID);
    host_end(&host);
}

/* ---- Start, stop, attach, detach ---- */

static void starts_and_stops_add_up(void **state)
{
    (void)state;
    host_set_up_two(&host, "skl");
    ready("instructions,branches");
    for (unsigned turn = 0; turn < 10; turn++) {
        assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
        run(1000);
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        run(77);
    }
    assert_int_equal(host_count(&host.session, 0).value, 10000);
    assert_int_equal(host_count(&host.session, 1).value, 2000);
    host_end(&host);
}

static void starting_and_stopping_touch_no_event_select(void **state)
{
    struct upmu_sim_access entries[256];
    (void)state;
    host_set_up_two(&host, "skl");
    ready("instructions,branches,branch-misses");
    trace(entries, 256);
    for (unsigned turn = 0; turn < 10; turn++) {
        assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
        run(100);
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    }
    assert_int_equal(configuration_writes(), 0);
    trace(NULL, 0);
    host_end(&host);
}

static void attached_and_detached_sessions_are_stopped(void **state)
{
    (void)state;
    host_set_up_two(&host, "skl");
    ready("instructions");
    assert_int_equal(host.session.state, UPMU_SESSION_STOPPED);
    assert_false(upmu_sim_runs(&host.sim, 0, UPMU_SIM_FIXED));
    run(1000);
    assert_int_equal(host_count(&host.session, 0).value, 0);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    assert_true(upmu_sim_runs(&host.sim, 0, UPMU_SIM_FIXED));
    assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    assert_int_equal(host.session.state, UPMU_SESSION_DETACHED);
    assert_false(upmu_sim_runs(&host.sim, 0, UPMU_SIM_FIXED));
    assert_int_equal(upmu_session_start(&host.session), UPMU_ERR_STATE);
    host_end(&host);
}

/*
 * What shows which row: P2-032: the second detach.  P2-025, P2-042: 1000 and 200 are read after it; P2-030:
 * without an access.  P2-023, P2-024: on CPU 1 it goes on to 1500.
 */
static void a_detached_session_is_read_from_memory_and_goes_on_elsewhere(void **state)
{
    (void)state;
    host_set_up_two(&host, "skl");
    ready("instructions,branches");
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    run(1000);
    assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    unsigned touched = accesses();
    assert_int_equal(host_count(&host.session, 0).value, 1000);
    assert_int_equal(host_count(&host.session, 1).value, 200);
    assert_int_equal(accesses(), touched);
    upmu_sim_switch_cpu(&host.sim, 1);
    assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[1]), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    run(500);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    assert_int_equal(host_count(&host.session, 0).value, 1500);
    assert_int_equal(host_count(&host.session, 1).value, 300);
    host_end(&host);
}

static void the_end_of_a_cpu_leaves_its_registers_as_they_were_found(void **state)
{
    uint64_t before[REGISTERS], after[REGISTERS];
    (void)state;
    host_set_up_two(&host, "skl");
    host_end(&host);
    upmu_sim_init(&host.sim, upmu_sim_profile("skl"), 1);
    upmu_sim_poke(&host.sim, 0, 0x1d9, 1); /* last-branch records on: not ours */
    upmu_sim_poke(&host.sim, 0, 0x187, 0x3003c);
    image_of(0, before);
    assert_int_equal(upmu_machine_init(&host.machine, upmu_sim_port(&host.sim)), UPMU_OK);
    memset(&host.cpu[0], 0, sizeof host.cpu[0]);
    upmu_sim_bind_cpu(&host.sim, 0, &host.cpu[0]);
    assert_int_equal(upmu_cpu_init(&host.cpu[0], &host.machine, NULL), UPMU_OK);
    assert_int_equal(upmu_session_init(&host.session, &host.machine), UPMU_OK);
    ready("instructions,branches,branch-misses,cache-misses");
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    run(100);
    assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
    image_of(0, after);
    assert_memory_equal(before, after, sizeof before);
    assert_int_equal(host.session.state, UPMU_SESSION_DETACHED);
    assert_int_equal(host_count(&host.session, 0).value, 100);
}

/* ---- Overflows ---- */

static void a_hardware_wrap_is_no_event_of_the_64_bit_count(void **state)
{
    (void)state;
    host_set_up_two(&host, "core");
    upmu_sim_poke(&host.sim, 0, 0xc1, UINT64_C(0xffffffff00)); /* 40 bits: 256 short of the wrap */
    upmu_sim_poke(&host.sim, 0, 0xc2, UINT64_C(0xffffffff00));
    assert_int_equal(upmu_cpu_changed(&host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
    ready("branches,branch-misses");
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    run(100000);
    assert_int_equal(host_count(&host.session, 0).value, 20000);
    assert_int_equal(host_count(&host.session, 1).value, 2000);
    struct upmu_sample sample;
    assert_false(upmu_ring_next(&host.session.ring, &sample));
    host_end(&host);
}

static void counters_that_overflow_together_make_one_sample(void **state)
{
    struct upmu_sampling sampling = {.period = 200};
    struct upmu_sample sample;
    unsigned samples = 0, together = 0;
    (void)state;
    host_set_up_two(&host, "skl");
    /* Both count the same thing, so that they overflow at the same moment. */
    assert_int_equal(upmu_set_add(&host.session.set, "branches,branches:k", &sampling), UPMU_OK);
    assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    run(3001);
    while (upmu_ring_next(&host.session.ring, &sample)) {
        samples++;
        together += sample.events == 3;
    }
    assert_int_equal(samples, 3);
    assert_int_equal(together, 3);
    assert_int_equal(host.answered[UPMU_PMI_HANDLED], 3);
    host_end(&host);
}

/* ---- Little ports ---- */

static void three_hooks_are_enough_to_count_and_refuse_to_sample(void **state)
{
    struct upmu_sampling sampling = {.period = 1000};
    (void)state;
    upmu_sim_init(&host.sim, upmu_sim_profile("skl"), 1);
    host.sim.port.this_cpu = NULL;
    host.sim.port.irq_save = NULL;
    host.sim.port.irq_restore = NULL;
    host.sim.port.rdpmc = NULL;
    host.sim.port.pmi_rearm = NULL;
    host.sim.port.clock_ns = NULL;
    host.sim.port.run_on_cpu = NULL;
    host.sim.port.log = NULL;
    upmu_sim_irqs(&host.sim, false);
    assert_int_equal(upmu_machine_init(&host.machine, upmu_sim_port(&host.sim)), UPMU_OK);
    memset(&host.cpu[0], 0, sizeof host.cpu[0]);
    assert_int_equal(upmu_cpu_init(&host.cpu[0], &host.machine, NULL), UPMU_OK);
    assert_int_equal(upmu_session_init(&host.session, &host.machine), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.session.set, "branches", &sampling), UPMU_ERR_HOOK_MISSING);
    ready("instructions,branches");
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    run(1000);
    assert_int_equal(host_count(&host.session, 0).value, 1000);
    assert_int_equal(host_count(&host.session, 1).value, 200);
    assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
    assert_int_equal(host.sim.violation_count, 0);
}

static void polling_within_half_the_range_keeps_counts_exact(void **state)
{
    (void)state;
    upmu_sim_init(&host.sim, upmu_sim_profile("version1"), 1);
    host.sim.port.pmi_rearm = NULL;
    assert_int_equal(upmu_machine_init(&host.machine, upmu_sim_port(&host.sim)), UPMU_OK);
    memset(&host.cpu[0], 0, sizeof host.cpu[0]);
    upmu_sim_bind_cpu(&host.sim, 0, &host.cpu[0]);
    assert_int_equal(upmu_cpu_init(&host.cpu[0], &host.machine, NULL), UPMU_OK);
    assert_int_equal(upmu_session_init(&host.session, &host.machine), UPMU_OK);
    ready("instructions,branches");
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    const uint64_t step = UINT64_C(500000000000); /* below half of 40 bits */
    for (unsigned turn = 0; turn < 7; turn++) {
        run(step);
        assert_int_equal(upmu_cpu_poll(&host.cpu[0]), UPMU_OK);
    }
    assert_int_equal(host_count(&host.session, 0).value, 7 * step);
    assert_int_equal(host_count(&host.session, 1).value, 7 * step / 5);
    assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
    assert_int_equal(host.sim.violation_count, 0);
}

/* ---- What is counted ---- */

static void a_count_begins_at_0_whatever_its_register_held(void **state)
{
    static const uint32_t registers[] = {0xc1, 0xc2, 0xc3, 0xc4, 0x309, 0x30a, 0x30b};
    (void)state;
    host_set_up_two(&host, "skl");
    for (unsigned i = 0; i < sizeof registers / sizeof *registers; i++)
        upmu_sim_poke(&host.sim, 0, registers[i], UINT64_C(0x123456789abc));
    assert_int_equal(upmu_cpu_changed(&host.cpu[0]), UPMU_OK);
    ready("instructions,cycles,branches,branch-misses");
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(host_count(&host.session, i).value, 0, i);
    run(1000);
    assert_int_equal(host_count(&host.session, 2).value, 200);
    host_end(&host);
}

static void counters_are_opened_even_if_the_global_register_was_0(void **state)
{
    (void)state;
    upmu_sim_init(&host.sim, upmu_sim_profile("core"), 1);
    upmu_sim_poke(&host.sim, 0, 0x38f, 0);
    assert_int_equal(upmu_machine_init(&host.machine, upmu_sim_port(&host.sim)), UPMU_OK);
    memset(&host.cpu[0], 0, sizeof host.cpu[0]);
    upmu_sim_bind_cpu(&host.sim, 0, &host.cpu[0]);
    assert_int_equal(upmu_cpu_init(&host.cpu[0], &host.machine, NULL), UPMU_OK);
    assert_int_equal(upmu_session_init(&host.session, &host.machine), UPMU_OK);
    ready("branches,instructions");
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    run(1000);
    assert_int_equal(host_count(&host.session, 0).value, 200);
    assert_int_equal(host_count(&host.session, 1).value, 1000);
    assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
}

static void a_cpu_session_counts_all_programs_and_rings_not_halted_time(void **state)
{
    (void)state;
    host_set_up_two(&host, "skl");
    host_threads(&host, 3);
    ready("instructions,cycles,instructions:u,cycles:k");
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    upmu_sim_events(&host.sim, &(struct upmu_sim_burst){.instructions = 100, .cycles = 300, .user = true});
    upmu_sim_advance_ns(&host.sim, 1000000); /* halted: time passes, cycles do not */
    upmu_sim_events(&host.sim, &(struct upmu_sim_burst){.instructions = 1000, .cycles = 5000});
    host_thread_switch(&host, 0, 0); /* another program, in another thread */
    upmu_sim_events(&host.sim, &(struct upmu_sim_burst){.instructions = 7, .cycles = 9, .user = true});
    host_thread_switch(&host, 0, 1);
    assert_int_equal(host_count(&host.session, 0).value, 1107);
    assert_int_equal(host_count(&host.session, 1).value, 5309);
    assert_int_equal(host_count(&host.session, 2).value, 107);
    assert_int_equal(host_count(&host.session, 3).value, 5000);
    assert_int_equal(host_count(&host.session, 0).quality, UPMU_QUALITY_EXACT);
    assert_compare(host_count(&host.session, 0).enabled_ns, >=, 1000000); /* halted or not */
    host_end(&host);
}

/* General counter n is read with ECX = n, fixed counter n with 40000000h + n. */
static void counters_are_read_with_the_index_of_their_kind(void **state)
{
    struct upmu_sim_access entries[32];
    unsigned general = 0, fixed = 0;
    (void)state;
    host_set_up_two(&host, "core");
    ready("instructions,cycles,branches,branch-misses");
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    trace(entries, 32);
    for (unsigned i = 0; i < 4; i++)
        (void)host_count(&host.session, i).value;
    for (unsigned i = 0; i < host.sim.trace_count; i++) {
        assert_int_equal(entries[i].kind, UPMU_SIM_RDPMC, i);
        general |= entries[i].address < 2 ? 1u << entries[i].address : 0;
        fixed |= entries[i].address >> 30 == 1 ? 1u << (entries[i].address & 3) : 0;
    }
    assert_int_equal(host.sim.trace_count, 4);
    assert_int_equal(general, 3);
    assert_int_equal(fixed, 3);
    trace(NULL, 0);
    host_end(&host);
}

static void each_general_counter_has_one_select_of_its_own(void **state)
{
    struct upmu_pmu pmu;
    const char *name;
    unsigned compared = 0;
    (void)state;
    for (unsigned i = 0; (name = upmu_pmu_known(i)) != NULL; i++) {
        assert_int_equal(upmu_pmu_by_name(&pmu, name), UPMU_OK);
        for (unsigned one = 0; one < 16; one++)
            for (unsigned two = 0; two < one; two++)
                if ((pmu.general >> one & pmu.general >> two & 1u) && pmu.shared_counters == 0) {
                    assert_int_not_equal(pmu.counter[one].select_row, pmu.counter[two].select_row, one, two);
                    compared++;
                }
    }
    assert_compare(compared, >, 100);
}

static unsigned accesses_until_late;

/* A millisecond passes before one access. */
static void be_late(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind, uint32_t address)
{
    (void)cpu;
    (void)number;
    (void)kind;
    (void)address;
    if (accesses_until_late && !--accesses_until_late)
        upmu_sim_advance_ns(sim, 1000000);
}

/*
 * An event moves where its counter is stopped for that, and a millisecond passes before any access of the start that
 * makes it move.  Catches: a time without a counter that is not counted once.
 */
static void the_time_of_a_move_is_missed_once(void **state)
{
    char name[] = "branch-misses:counter=0";
    unsigned missed = 0, late = 1;

    (void)state;
    for (unsigned at = 1; late; at++) {
        struct upmu_count count;
        uint64_t missed_ns;

        host_set_up_two(&host, "k8_revf");
        ready("branches");
        assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
        run(100);
        name[sizeof name - 2] = (char)('0' + host.session.set.tally[0].counter);
        assert_int_equal(upmu_set_add(&host.other.set, name, NULL), UPMU_OK);
        assert_int_equal(upmu_session_attach_cpu(&host.other, &host.cpu[0]), UPMU_OK);
        host.sim.before_access = be_late;
        accesses_until_late = at;
        assert_int_equal(upmu_session_start(&host.other), UPMU_OK);
        late = !accesses_until_late;
        accesses_until_late = 0;
        count = host_count(&host.session, 0);
        missed_ns = count.enabled_ns - count.running_ns;
        assert_true(missed_ns == 0 || missed_ns == 1000000);
        missed += missed_ns != 0;
        host_end(&host);
    }
    assert_compare(missed, >, 0);
}

/*
 * An event makes room for another session, whose start then faults at one of its accesses: the event is on another
 * counter by then, and returns to the first before anything else has used that.
 * Catches: the value that the event left in its first counter taken for what the event counts from.
 */
static void an_event_that_moves_away_and_back_counts_and_samples_on(void **state)
{
    const struct upmu_sampling every_100 = {.period = 100};
    unsigned back = 0;

    (void)state;
    for (unsigned k = 1; k < 24; k++) {
        struct upmu_session full, third;
        struct upmu_sample sample;
        char name[2][40];
        unsigned home;
        bool failed;

        host_set_up_two(&host, "skylake");
        host.sim.expect_faults = true;
        assert_int_equal(upmu_session_init(&full, &host.machine), UPMU_OK);
        assert_int_equal(upmu_session_init(&third, &host.machine), UPMU_OK);
        assert_int_equal(upmu_set_add(&full.set, "branch-misses:counter=2,branch-misses:counter=3", NULL), UPMU_OK);
        assert_int_equal(upmu_session_attach_cpu(&full, &host.cpu[0]), UPMU_OK);
        assert_int_equal(upmu_session_start(&full), UPMU_OK);
        assert_int_equal(upmu_set_add(&host.session.set, "branches", &every_100), UPMU_OK);
        assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
        assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[0]), UPMU_OK);
        assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
        home = host.session.set.tally[0].counter;
        assert_in_range(home, 0, 1);
        strcpy(name[0], "branch-misses:counter=0");
        strcpy(name[1], "branch-misses:counter=1");
        run(300);
        assert_int_equal(upmu_set_add(&host.other.set, name[home], NULL), UPMU_OK, home);
        assert_int_equal(upmu_session_attach_cpu(&host.other, &host.cpu[0]), UPMU_OK);
        host.sim.fault_at = host.sim.accesses + k;
        failed = upmu_session_start(&host.other) != UPMU_OK;
        host.sim.fault_at = 0;
        if (failed && host.session.set.tally[0].counter != home) {
            assert_int_equal(upmu_session_detach(&host.other), UPMU_OK);
            assert_int_equal(upmu_set_add(&third.set, name[!home], NULL), UPMU_OK, home);
            assert_int_equal(upmu_session_attach_cpu(&third, &host.cpu[0]), UPMU_OK);
            assert_int_equal(upmu_session_start(&third), UPMU_OK);
            assert_int_equal(host.session.set.tally[0].counter, home);
            back++;
            run(300);
            assert_int_equal(host_count(&host.session, 0).value, 120);
            assert_true(upmu_ring_next(&host.session.ring, &sample));
            assert_false(upmu_ring_next(&host.session.ring, &sample));
            assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
            assert_int_equal(host_count(&host.session, 0).value, 120);
        }
        host_end(&host);
    }
    assert_compare(back, >, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_session_is_quiescent_whatever_its_memory_held),
        cmocka_unit_test(programming_before_or_after_attaching_is_the_same),
        cmocka_unit_test(each_state_allows_what_its_table_says),
        cmocka_unit_test(an_event_is_replaced_without_making_the_session_again),
        cmocka_unit_test(two_sessions_count_apart_and_an_unattached_one_is_refused),
        cmocka_unit_test(a_count_is_given_a_value_without_touching_its_event),
        cmocka_unit_test(rearming_a_sampling_event_by_hand_is_one_write),
        cmocka_unit_test(reads_repeat_and_a_running_count_only_grows),
        cmocka_unit_test(one_call_adds_attaches_and_reads_many),
        cmocka_unit_test(starts_and_stops_add_up),
        cmocka_unit_test(starting_and_stopping_touch_no_event_select),
        cmocka_unit_test(attached_and_detached_sessions_are_stopped),
        cmocka_unit_test(a_detached_session_is_read_from_memory_and_goes_on_elsewhere),
        cmocka_unit_test(the_end_of_a_cpu_leaves_its_registers_as_they_were_found),
        cmocka_unit_test(a_hardware_wrap_is_no_event_of_the_64_bit_count),
        cmocka_unit_test(counters_that_overflow_together_make_one_sample),
        cmocka_unit_test(three_hooks_are_enough_to_count_and_refuse_to_sample),
        cmocka_unit_test(polling_within_half_the_range_keeps_counts_exact),
        cmocka_unit_test(a_count_begins_at_0_whatever_its_register_held),
        cmocka_unit_test(counters_are_opened_even_if_the_global_register_was_0),
        cmocka_unit_test(a_cpu_session_counts_all_programs_and_rings_not_halted_time),
        cmocka_unit_test(counters_are_read_with_the_index_of_their_kind),
        cmocka_unit_test(each_general_counter_has_one_select_of_its_own),
        cmocka_unit_test(the_time_of_a_move_is_missed_once),
        cmocka_unit_test(an_event_that_moves_away_and_back_counts_and_samples_on),
    };
    return cmocka_run_group_tests_name("session steps", tests, NULL, NULL);
}
