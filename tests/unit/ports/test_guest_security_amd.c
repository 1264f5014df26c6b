/* SPDX-License-Identifier: MIT */
/*
 * What a hostile guest cannot do through the registers of AMD's doors, where test_guest_security.c has Intel's alone.
 * Numbers in the names of tests are those of tests/guest/rules.tsv.
 */
#include "tests/guest/nest.c"

#define BURST(n)                                                                                                       \
    (&(struct upmu_sim_burst){.instructions = (n), .cycles = 2 * (n), .ref_cycles = 2 * (n), .branches = (n) / 4})

#define SELECT(n) (0xc0010200u + 2 * (n))
#define COUNTER(n) (0xc0010201u + 2 * (n))
#define STATUS 0xc0000300u
#define GATES 0xc0000301u
#define CLEAR 0xc0000302u

static struct nest nest;

static void ignore_interrupt(struct nest *guest, const struct upmu_frame *frame)
{
    (void)guest;
    (void)frame;
}

static void set_up(void)
{
    nest_set_up(&nest, "zen4", UPMU_GUEST_AMD_V2);
    nest.handler = ignore_interrupt;
}

/* A second vCPU, on the host's other thread. */
static struct upmu_guest other;
static struct upmu_session sessions[NEST_SESSIONS];

static void set_up_other(void)
{
    assert_int_equal(upmu_guest_init(&other, &nest.host.machine, &nest.shape, &nest.policy,
                                     &(struct upmu_guest_memory){sessions, NEST_SESSIONS, &nest.host.threads[0]}),
                     UPMU_OK);
}

/* Loads that overflow with the next event, on every counter, for ever. */
static void load_again(struct nest *guest, const struct upmu_frame *frame)
{
    (void)frame;
    for (unsigned i = 0; i < guest->shape.general; i++)
        nest_write(guest, COUNTER(i), 0xffffffffffff);
    nest_write(guest, CLEAR, 0x3f);
}

static void s16_a_counter_of_amd_interrupts_once_in_so_many_events(void **state)
{
    (void)state;
    nest_prepare(&nest, "zen4", NULL);
    nest_shape(&nest, UPMU_GUEST_AMD_V2);
    nest.policy.min_period = 0;
    nest.handler = load_again;
    nest_begin(&nest);
    for (unsigned i = 0; i < nest.shape.general; i++)
        nest_write(&nest, SELECT(i), 0x5300c0);
    nest_lvtpc(&nest, 0x400);
    load_again(&nest, NULL);
    nest_write(&nest, GATES, 0x3f);
    for (unsigned i = 0; i < 100; i++)
        nest_run(&nest, BURST(1000));
    assert_compare(nest.injected, >, 90);
    assert_compare(nest.injected, <=, 100);
    assert_compare(nest.host.answers, <=, 110);
    nest_end(&nest);
}

static void s19_reserved_counters_of_amd_are_not_touched(void **state)
{
    static struct upmu_sim_access trace[512];

    (void)state;
    nest_prepare(&nest, "zen4", NULL);
    assert_int_equal(upmu_cpu_reserve(&nest.host.cpu[0], 1u << 3), UPMU_OK);
    nest_shape(&nest, UPMU_GUEST_AMD_V2);
    nest.shape.general = 6; /* one more than the others can serve */
    nest_begin(&nest);
    nest.handler = ignore_interrupt;
    nest.host.sim.trace = trace;
    nest.host.sim.trace_size = sizeof trace / sizeof trace[0];
    for (unsigned turn = 0; turn < 300; turn++) {
        nest.host.sim.trace_count = 0;
        nest_write(&nest, SELECT(turn % 6), turn % 7 ? 0x5300c0 + turn % 5 : 0);
        nest_write(&nest, COUNTER(turn * 5 % 6), 0xffffffffffff - turn);
        nest_write(&nest, GATES, turn % 11 ? 0x3f : turn % 64);
        nest_run(&nest, BURST(30));
        nest_exit(&nest);
        assert_compare(nest.host.sim.trace_count, <, sizeof trace / sizeof trace[0]);
        for (unsigned k = 0; k < nest.host.sim.trace_count; k++)
            if (trace[k].kind == UPMU_SIM_WRMSR) {
                assert_true(trace[k].address != SELECT(3) && trace[k].address != COUNTER(3));
                assert_true(trace[k].address != 0xc0010003u && trace[k].address != 0xc0010007u);
                assert_true(trace[k].address != GATES || !(trace[k].value & 8u));
            }
    }
    assert_int_equal(upmu_sim_peek(&nest.host.sim, 0, COUNTER(3)), 0);
    nest_end(&nest);
}

static void s24_an_interrupt_of_amd_is_reported_once(void **state)
{
    struct upmu_guest_entry entry;

    (void)state;
    set_up();
    upmu_guest_lvtpc(&nest.vcpu, 0xfe);
    for (unsigned i = 0; i < 2; i++) {
        nest_write(&nest, SELECT(i), 0x5300c0);
        nest_write(&nest, COUNTER(i), 0xfffffffffff0);
    }
    nest_write(&nest, GATES, 3);
    assert_int_equal(upmu_guest_enter(&nest.vcpu, &entry), UPMU_OK);
    assert_int_equal(entry.inject, UPMU_GUEST_INJECT_NONE);
    upmu_sim_events(&nest.host.sim, BURST(100));
    assert_int_equal(upmu_guest_exit(&nest.vcpu), UPMU_OK);
    assert_int_equal(upmu_guest_enter(&nest.vcpu, &entry), UPMU_OK);
    assert_int_equal(entry.inject, UPMU_GUEST_INJECT_VECTOR);
    assert_int_equal(entry.vector, 0xfe);
    assert_int_equal(upmu_guest_exit(&nest.vcpu), UPMU_OK);
    assert_int_equal(upmu_guest_enter(&nest.vcpu, &entry), UPMU_OK);
    assert_int_equal(entry.inject, UPMU_GUEST_INJECT_NONE);
    assert_int_equal(upmu_guest_exit(&nest.vcpu), UPMU_OK);
    assert_int_equal(nest_read(&nest, STATUS), 3);
    nest_end(&nest);
}

static void s27_a_status_bit_of_amd_stays_with_its_guest(void **state)
{
    uint64_t value;

    (void)state;
    set_up();
    set_up_other();
    nest_write(&nest, SELECT(0), 0x4300c0);
    nest_write(&nest, COUNTER(0), 0xfffffffffff0);
    nest_write(&nest, GATES, 1);
    nest_run(&nest, BURST(100));
    nest_exit(&nest);
    assert_int_equal(nest_read(&nest, STATUS), 1);
    assert_int_equal(upmu_guest_wrmsr(&other, SELECT(0), 0x4300c0), UPMU_GUEST_DONE);
    assert_int_equal(upmu_guest_rdmsr(&other, STATUS, &value), UPMU_GUEST_DONE);
    assert_int_equal(value, 0);
    assert_int_equal(upmu_guest_rdmsr(&other, COUNTER(0), &value), UPMU_GUEST_DONE);
    assert_int_equal(value, 0);
    assert_int_equal(upmu_guest_fini(&other), UPMU_OK);
    nest_end(&nest);
}

static void s28_the_default_of_amd_is_cycles_and_instructions(void **state)
{
    static const struct {
        uint64_t select;
        bool counts;
    } events[] = {{0x4300c0, true},  {0x430076, true},  {0x4300c2, false}, {0x4300c3, false},
                  {0x430029, false}, {0x43ff60, false}, {0x8700c0, false}, {0x14300c0, false}};
    static const struct upmu_sim_burst each = {
        .instructions = 10,
        .cycles = 20,
        .branches = 5,
        .mispredicts = 4,
        .other = {{.count = 9, .event = 0x29}, {.count = 6, .event = 0x60, .umask = 0xff}}};

    (void)state;
    for (unsigned i = 0; i < sizeof events / sizeof events[0]; i++) {
        nest_prepare(&nest, "zen4", NULL);
        nest.policy = (struct upmu_guest_policy){0};
        nest_shape(&nest, UPMU_GUEST_AMD_V2);
        nest_begin(&nest);
        nest_write(&nest, SELECT(0), events[i].select | 0x400000);
        nest_write(&nest, GATES, 1);
        nest_run(&nest, &each);
        assert_int_equal(nest.vcpu.counter[0].denied, !events[i].counts, i);
        assert_int_equal(nest_read(&nest, SELECT(0)), events[i].select | 0x400000, i);
        assert_int_equal(nest_read(&nest, COUNTER(0)) != 0, events[i].counts, i);
        nest_end(&nest);
    }
}

static void s39_events_of_a_model_of_amd_do_not_move_to_another(void **state)
{
    static struct nest there;
    uint8_t bytes[UPMU_GUEST_STATE_BYTES];
    unsigned family, model;
    size_t used;

    (void)state;
    for (unsigned raw = 0; raw < 2; raw++) {
        nest_set_up(&nest, "zen2", UPMU_GUEST_AMD_CORE);
        nest_write(&nest, SELECT(1), raw ? 0x430160 : 0x4300c2);
        nest_prepare(&there, "zen4", NULL);
        there.shape = nest.shape;
        nest_begin(&there);
        nest_exit(&nest);
        assert_int_equal(upmu_guest_save(&nest.vcpu, bytes, sizeof bytes, &used), UPMU_OK);
        assert_int_equal(upmu_guest_state_needs(bytes, used, &family, &model), UPMU_OK);
        assert_int_equal(family, raw ? nest.shape.family : 0);
        assert_int_equal(model, raw ? nest.shape.model : 0);
        assert_int_equal(upmu_guest_restore(&there.vcpu, bytes, used), raw ? UPMU_ERR_WRONG_PMU : UPMU_OK);
        nest_end(&there);
        nest_end(&nest);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(s16_a_counter_of_amd_interrupts_once_in_so_many_events),
        cmocka_unit_test(s19_reserved_counters_of_amd_are_not_touched),
        cmocka_unit_test(s24_an_interrupt_of_amd_is_reported_once),
        cmocka_unit_test(s27_a_status_bit_of_amd_stays_with_its_guest),
        cmocka_unit_test(s28_the_default_of_amd_is_cycles_and_instructions),
        cmocka_unit_test(s39_events_of_a_model_of_amd_do_not_move_to_another),
    };

    return cmocka_run_group_tests_name("guest_security_amd", tests, NULL, NULL);
}
