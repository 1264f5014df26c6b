/* SPDX-License-Identifier: MIT */
/*
 * The guest engine: an unmodified instance of this library in a guest counts exactly what the guest
 * executes, at the stated cost.
 */
#include "tests/guest/nest.c"

static struct nest nest;

#define BURST(n)                                                                                                       \
    (&(struct upmu_sim_burst){.instructions = (n),                                                                     \
                              .cycles = 2 * (n),                                                                       \
                              .ref_cycles = 2 * (n),                                                                   \
                              .branches = (n) / 4,                                                                     \
                              .ip = 0x1000,                                                                            \
                              .ip_step = 1,                                                                            \
                              .sp = 0x8000})

static const struct {
    const char *host;
    enum upmu_guest_door door;
} pairs[] = {{"skylake", UPMU_GUEST_INTEL},  {"core2", UPMU_GUEST_INTEL}, {"icelake", UPMU_GUEST_INTEL},
             {"yonah", UPMU_GUEST_INTEL},    {"zen4", UPMU_GUEST_AMD_V2}, {"zen2", UPMU_GUEST_AMD_CORE},
             {"k8_revf", UPMU_GUEST_AMD_K7}, {"zen4", UPMU_GUEST_AMD_K7}, {"zen5", UPMU_GUEST_AMD_CORE}};
#define PAIRS (sizeof pairs / sizeof pairs[0])

static void count_injected(struct nest *guest, const struct upmu_frame *frame)
{
    (void)guest;
    (void)frame;
}

static void a_guest_counts_exactly_what_it_executes(void **state)
{
    static const char *const lists[] = {"instructions", "cycles,branches", "branches:u,branches:k"};

    (void)state;
    for (unsigned pair = 0; pair < PAIRS; pair++) {
        for (unsigned i = 0; i < sizeof lists / sizeof lists[0]; i++) {
            static struct upmu_session session;
            struct upmu_count count[2];
            static const uint64_t expected[][2] = {{1000, 0}, {2000, 250}, {0, 250}};
            unsigned events = i == 0 ? 1 : 2;

            nest_set_up(&nest, pairs[pair].host, pairs[pair].door);
            nest_library(&nest);
            assert_int_equal(upmu_session_init(&session, &nest.machine), UPMU_OK);
            assert_int_equal(upmu_session_add(&session, lists[i], NULL), UPMU_OK);
            assert_int_equal(upmu_session_attach_cpu(&session, &nest.cpu), UPMU_OK);
            nest_run(&nest, BURST(77));
            assert_int_equal(upmu_session_start(&session), UPMU_OK);
            nest_run(&nest, BURST(600));
            nest_run_host(&nest, BURST(5000));
            nest_run(&nest, BURST(400));
            assert_int_equal(upmu_session_read(&session, 0, events, count), UPMU_OK);
            for (unsigned k = 0; k < events; k++)
                if (count[k].value != expected[i][k])
                    fail_msg("%s, %s, event %u: %llu", pairs[pair].host, lists[i], k,
                             (unsigned long long)count[k].value);
            assert_int_equal(upmu_session_stop(&session), UPMU_OK);
            nest_run(&nest, BURST(300));
            assert_int_equal(upmu_session_read(&session, 0, events, count), UPMU_OK);
            assert_int_equal(count[0].value, expected[i][0]);
            assert_int_equal(upmu_cpu_fini(&nest.cpu), UPMU_OK);
            nest_end(&nest);
        }
    }
}

static void a_guest_samples_each_period(void **state)
{
    (void)state;
    for (unsigned pair = 0; pair < PAIRS; pair++) {
        static struct upmu_session session;
        static uint64_t ring[8192];
        struct upmu_count count;
        struct upmu_sample sample;
        unsigned samples = 0;

        nest_set_up(&nest, pairs[pair].host, pairs[pair].door);
        nest_library(&nest);
        assert_int_equal(upmu_session_init(&session, &nest.machine), UPMU_OK);
        assert_int_equal(upmu_session_add(&session, "instructions", &(struct upmu_sampling){.period = 100}), UPMU_OK);
        assert_int_equal(upmu_session_ring(&session, ring, sizeof ring), UPMU_OK);
        assert_int_equal(upmu_session_attach_cpu(&session, &nest.cpu), UPMU_OK);
        assert_int_equal(upmu_session_start(&session), UPMU_OK);
        nest.injected = nest.handled = nest.stale = 0;
        for (unsigned i = 0; i < 100; i++)
            nest_run(&nest, BURST(100));
        assert_int_equal(upmu_session_stop(&session), UPMU_OK);
        assert_int_equal(upmu_session_read(&session, 0, 1, &count), UPMU_OK);
        while (upmu_ring_next(&session.ring, &sample))
            samples++;
        if (count.value != 10000 || samples != 100 || nest.injected != 100 || nest.handled != 100 || nest.stale)
            fail_msg("%s: count %llu, %u samples, %u injected, %u handled, %u stale", pairs[pair].host,
                     (unsigned long long)count.value, samples, nest.injected, nest.handled, nest.stale);
        assert_int_equal(upmu_cpu_fini(&nest.cpu), UPMU_OK);
        nest_end(&nest);
    }
}

/* ---- What it costs ---- */

/* Write five counters of Intel's door: 2 general, 3 fixed; they count from the global bits on. */
static void program_five(struct nest *guest)
{
    nest_write(guest, 0x38f, 0);
    nest_write(guest, 0x186, 0x4300c4);
    nest_write(guest, 0x187, 0x43003c);
    nest_write(guest, 0x38d, 0x333);
}

static void costs_are_these_where_one_register_gates_all(void **state)
{
    static const char *const hosts[] = {"skylake", "core2", "icelake"};
    uint64_t value;

    (void)state;
    for (unsigned i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        nest_set_up(&nest, hosts[i], UPMU_GUEST_INTEL);
        host_forget_cost(&nest.host);
        nest_enter(&nest);
        nest_exit(&nest);
        host_costs(&nest.host, "entry and exit, nothing counts", 0, 0);
        program_five(&nest);
        nest_write(&nest, 0xc1, 5);
        nest_enter(&nest);
        nest_exit(&nest);
        host_costs(&nest.host, "programming with the gate closed", 0, 0);
        nest_write(&nest, 0x38f, 0x700000003);
        host_costs(&nest.host, "a trap that opens", 0, 0);
        nest_enter(&nest);
        /* Two selects, the fixed control, the gate; and each of five counters is read for its base. */
        host_costs(&nest.host, "the first entry", nest.host.sim.access_count[UPMU_SIM_WRMSR], 5);
        nest_exit(&nest);
        host_costs(&nest.host, "exit", 1, 0);
        nest_enter(&nest);
        host_costs(&nest.host, "entry", 1, 0);
        nest_exit(&nest);
        host_forget_cost(&nest.host);
        (void)nest_read(&nest, 0xc1);
        host_costs(&nest.host, "trapped read", 0, 1);
        assert_true(nest.port.rdpmc(&nest, 0x40000001, &value));
        host_costs(&nest.host, "trapped RDPMC", 0, 1);
        nest_write(&nest, 0xc1, 7);
        nest_write(&nest, 0x186, 0x4300c4);
        upmu_guest_lvtpc(&nest.vcpu, 0x400);
        assert_int_equal(nest_read(&nest, 0xc1), 7);
        host_costs(&nest.host, "traps that change no gate", 0, 0);
        nest_write(&nest, 0x38f, 0);
        host_costs(&nest.host, "a trap that closes", 0, 0);
        nest_enter(&nest);
        host_costs(&nest.host, "the entry that closes", 0, 5);
        nest_exit(&nest);
        nest_write(&nest, 0x38f, 0x700000003);
        nest_enter(&nest);
        host_costs(&nest.host, "opened again", 1, 0);
        nest_end(&nest);
    }
}

static void costs_are_these_where_selects_are_gates(void **state)
{
    static const char *const hosts[] = {"zen2", "k8_revf"};

    (void)state;
    for (unsigned i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        nest_set_up(&nest, hosts[i], UPMU_GUEST_AMD_K7);
        nest_enter(&nest);
        nest_exit(&nest);
        host_forget_cost(&nest.host);
        for (unsigned n = 0; n < 4; n++)
            nest_write(&nest, 0xc0010000u + n, n & 1u ? 0x4300c2 : 0x4300c0);
        host_costs(&nest.host, "traps", 0, 0);
        nest_enter(&nest);
        nest_exit(&nest);
        host_forget_cost(&nest.host);
        nest_enter(&nest);
        host_costs(&nest.host, "entry", 4, 0);
        nest_exit(&nest);
        host_costs(&nest.host, "exit", 4, 0);
        nest_end(&nest);
    }
}

/* ---- Registers ---- */

static void values_and_status_are_right_whatever_was_not_looked_at(void **state)
{
    (void)state;
    nest_set_up(&nest, "skylake", UPMU_GUEST_INTEL);
    nest_write(&nest, 0x186, 0x4300c0);
    nest_write(&nest, 0x4c1, 0xfffffffffff0);
    nest_run(&nest, BURST(8));
    /* A value that is replaced while it counts; no overflow was on the way. */
    nest_write(&nest, 0x4c1, 0xfffffffffffe);
    nest_run(&nest, BURST(1));
    assert_int_equal(nest_read(&nest, 0xc1), 0xffffffffffff);
    assert_int_equal(nest_read(&nest, 0x38e), 0);
    nest_run(&nest, BURST(3));
    /* One that has overflowed before it is replaced. */
    nest_write(&nest, 0x4c1, 100);
    assert_int_equal(nest_read(&nest, 0xc1), 100);
    assert_int_equal(nest_read(&nest, 0x38e), 1);
    nest_run(&nest, BURST(5));
    assert_int_equal(nest_read(&nest, 0xc1), 105);
    /* An acknowledgement takes what has happened, not what happens after it. */
    nest_write(&nest, 0x4c1, 0xffffffffffff);
    nest_run(&nest, BURST(2));
    nest_write(&nest, 0x390, 1);
    assert_int_equal(nest_read(&nest, 0x38e), 0);
    nest_write(&nest, 0x4c1, 0xffffffffffff);
    nest_run(&nest, BURST(2));
    assert_int_equal(nest_read(&nest, 0x38e), 1);
    /* Another event with the value going on. */
    nest_write(&nest, 0x186, 0x4300c4);
    nest_run(&nest, BURST(40));
    assert_int_equal(nest_read(&nest, 0xc1), 11);
    assert_int_equal(nest.injected, 0);
    nest_end(&nest);
}

static void a_reset_leaves_nothing(void **state)
{
    (void)state;
    nest_set_up(&nest, "skylake", UPMU_GUEST_INTEL);
    nest_write(&nest, 0x186, 0x5300c0);
    nest_write(&nest, 0x4c1, 0xfffffffffff0);
    nest_write(&nest, 0x1d9, 0x1800);
    nest_run(&nest, BURST(50));
    nest_exit(&nest);
    upmu_guest_reset(&nest.vcpu);
    assert_int_equal(nest_read(&nest, 0xc1), 0);
    assert_int_equal(nest_read(&nest, 0x186), 0);
    assert_int_equal(nest_read(&nest, 0x38e), 0);
    assert_int_equal(nest_read(&nest, 0x38f), 0xf);
    assert_int_equal(nest_read(&nest, 0x1d9), 0);
    nest_run(&nest, BURST(50));
    assert_int_equal(nest_read(&nest, 0xc1), 0);
    assert_int_equal(nest.vcpu.lvtpc, 0x10000);
    nest_end(&nest);
}

/* ---- More counters than the host has ---- */

static void a_counter_that_finds_no_place_stands_still_and_is_named(void **state)
{
    struct upmu_guest_entry entry;

    (void)state;
    nest_prepare(&nest, "core2", NULL);
    assert_int_equal(upmu_guest_shape_default(&nest.host.machine, UPMU_GUEST_INTEL, &nest.shape), UPMU_OK);
    nest.policy.flags |= UPMU_GUEST_STRICT;
    host_add(&nest.host, 0, "LLC_MISSES", 0);
    assert_int_equal(upmu_session_attach_cpu(&nest.host.session, &nest.host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_start(&nest.host.session), UPMU_OK);
    nest_begin(&nest);
    nest_write(&nest, 0x186, 0x4300c4);
    nest_write(&nest, 0x187, 0x4300c5);
    assert_int_equal(upmu_guest_enter(&nest.vcpu, &entry), UPMU_ERR_DOES_NOT_FIT);
    assert_int_equal(nest.vcpu.waiting, 2);
    nest.inside = true;
    nest_run(&nest, BURST(400));
    assert_int_equal(nest_read(&nest, 0xc1), 100);
    assert_int_equal(nest_read(&nest, 0xc2), 0);
    /* It counts as soon as there is room. */
    nest_write(&nest, 0x186, 0);
    nest_write(&nest, 0x187, 0x4300c4);
    nest_run(&nest, BURST(400));
    assert_int_equal(nest.vcpu.waiting, 0);
    assert_int_equal(nest_read(&nest, 0xc2), 100);
    nest_exit(&nest);
    host_thread_switch(&nest.host, 0, 0);
    assert_int_equal(upmu_guest_fini(&nest.vcpu), UPMU_OK);
    host_end(&nest.host);
}

static void a_vcpu_without_a_thread_is_loaded_and_put(void **state)
{
    struct upmu_guest_entry entry;

    (void)state;
    nest_prepare(&nest, "skylake", NULL);
    assert_int_equal(upmu_guest_shape_default(&nest.host.machine, UPMU_GUEST_INTEL, &nest.shape), UPMU_OK);
    assert_int_equal(upmu_guest_init(&nest.vcpu, &nest.host.machine, &nest.shape, &nest.policy,
                                     &(struct upmu_guest_memory){nest.sessions, 4, NULL}),
                     UPMU_OK);
    assert_int_equal(upmu_guest_enter(&nest.vcpu, &entry), UPMU_ERR_STATE);
    assert_int_equal(upmu_guest_load(&nest.vcpu, &nest.host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_guest_load(&nest.vcpu, &nest.host.cpu[0]), UPMU_ERR_STATE);
    nest_write(&nest, 0x186, 0x4300c0);
    nest_run(&nest, BURST(30));
    nest_exit(&nest);
    assert_int_equal(upmu_guest_put(&nest.vcpu), UPMU_OK);
    assert_int_equal(upmu_guest_put(&nest.vcpu), UPMU_OK);
    nest_run_host(&nest, BURST(1000));
    assert_int_equal(upmu_guest_load(&nest.vcpu, &nest.host.cpu[0]), UPMU_OK);
    nest_run(&nest, BURST(12));
    assert_int_equal(nest_read(&nest, 0xc1), 42);
    nest_exit(&nest);
    assert_int_equal(upmu_guest_put(&nest.vcpu), UPMU_OK);
    assert_int_equal(upmu_guest_fini(&nest.vcpu), UPMU_OK);
    nest.host.sim.test = &nest.host;
    host_end_idle(&nest.host);
}

/* ---- What is shown is what is there ---- */

static void cpuid_and_registers_agree(void **state)
{
    (void)state;
    for (unsigned pair = 0; pair < PAIRS; pair++) {
        uint32_t leaf[4] = {0, 0, 0, 0};
        uint64_t value;

        nest_set_up(&nest, pairs[pair].host, pairs[pair].door);
        if (pairs[pair].door == UPMU_GUEST_INTEL) {
            nest.port.cpuid(&nest, 0xa, 0, leaf);
            for (unsigned i = 0; i < 16; i++) {
                assert_int_equal(nest.port.rdmsr(&nest, 0x186 + i, &value), i < (leaf[0] >> 8 & 0xff));
                assert_int_equal(nest.port.rdmsr(&nest, 0x309 + i, &value), i < (leaf[3] & 0x1f));
                assert_int_equal(nest.port.rdpmc(&nest, i, &value), i < (leaf[0] >> 8 & 0xff));
                assert_int_equal(nest.port.rdpmc(&nest, 0x40000000 + i, &value), i < (leaf[3] & 0x1f));
            }
            assert_int_equal(nest.port.rdmsr(&nest, 0x38f, &value), (leaf[0] & 0xff) >= 2);
            assert_int_equal(nest.port.rdmsr(&nest, 0x392, &value), (leaf[0] & 0xff) >= 4);
            nest.port.cpuid(&nest, 1, 0, leaf);
            assert_int_equal(nest.port.rdmsr(&nest, 0x345, &value), leaf[2] >> 15 & 1);
            assert_int_equal(nest.port.rdmsr(&nest, 0x4c1, &value), leaf[2] >> 15 & 1);
            assert_int_equal(nest.port.rdmsr(&nest, 0x600, &value), leaf[3] >> 21 & 1);
        } else {
            nest.port.cpuid(&nest, 0x80000001u, 0, leaf);
            assert_int_equal(nest.port.rdmsr(&nest, 0xc0010200u, &value), leaf[2] >> 23 & 1);
            assert_int_equal(nest.port.rdmsr(&nest, 0xc0011030u, &value), leaf[2] >> 10 & 1);
            nest.port.cpuid(&nest, 0x80000022u, 0, leaf);
            assert_int_equal(nest.port.rdmsr(&nest, 0xc0000300u, &value), leaf[0] & 1);
        }
        nest_end(&nest);
    }
}

static void shapes_and_policies_beyond_the_limits_are_refused(void **state)
{
    static const struct upmu_guest_shape good = {.door = UPMU_GUEST_INTEL,
                                                 .version = 4,
                                                 .general = 4,
                                                 .fixed = 3,
                                                 .width = 48,
                                                 .full_write = 1,
                                                 .arch_events = 0x7f};
    struct upmu_guest_memory memory = {nest.sessions, 4, NULL};
    struct upmu_guest_policy policy = {.level = UPMU_GUEST_IPC};
    struct upmu_machine none;
    struct upmu_guest_shape bad[16];
    unsigned n = 0;

    (void)state;
    nest_prepare(&nest, "skylake", NULL);
    for (unsigned i = 0; i < 16; i++)
        bad[i] = good;
    bad[n++].door = 0;
    bad[n++].door = 5;
    bad[n++].version = 0;
    bad[n++].version = 5;
    bad[n++].general = 0;
    bad[n++].general = 9;
    bad[n++].fixed = 4;
    bad[n++].width = 31;
    bad[n++].width = 49;
    bad[n++].full_write = 2;
    bad[n++].arch_events = 0x80;
    bad[n++].reserved[18] = 1;
    bad[n++].version = 1;
    bad[n].door = UPMU_GUEST_AMD_K7;
    n++;
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(upmu_guest_init(&nest.vcpu, &nest.host.machine, &bad[i], &policy, &memory), UPMU_ERR_INVALID);
    assert_int_equal(upmu_guest_init(&nest.vcpu, &nest.host.machine, &good, NULL, &memory), UPMU_OK);
    policy.level = UPMU_GUEST_ARCH;
    assert_int_equal(upmu_guest_init(&nest.vcpu, &nest.host.machine, &good, &policy, &memory), UPMU_ERR_NOT_PERMITTED);
    policy.level = 5;
    assert_int_equal(upmu_guest_init(&nest.vcpu, &nest.host.machine, &good, &policy, &memory), UPMU_ERR_INVALID);
    policy = (struct upmu_guest_policy){.level = UPMU_GUEST_LIST, .flags = UPMU_GUEST_BESIDE_STRANGERS};
    assert_int_equal(upmu_guest_init(&nest.vcpu, &nest.host.machine, &good, &policy, &memory), UPMU_ERR_INVALID);
    policy = (struct upmu_guest_policy){.flags = 0x80};
    assert_int_equal(upmu_guest_init(&nest.vcpu, &nest.host.machine, &good, &policy, &memory), UPMU_ERR_INVALID);
    memory.count = 0;
    assert_int_equal(upmu_guest_init(&nest.vcpu, &nest.host.machine, &good, NULL, &memory), UPMU_ERR_INVALID);
    memory.count = 33;
    assert_int_equal(upmu_guest_init(&nest.vcpu, &nest.host.machine, &good, NULL, &memory), UPMU_ERR_INVALID);
    memory.count = 4;
    memset(&none, 0, sizeof none);
    assert_int_equal(upmu_guest_init(&nest.vcpu, &none, &good, NULL, &memory), UPMU_ERR_NO_PMU);
    assert_int_equal(upmu_guest_shape_default(&none, UPMU_GUEST_INTEL, &bad[0]), UPMU_ERR_NO_PMU);
    assert_int_equal(upmu_guest_shape_default(&nest.host.machine, 9, &bad[0]), UPMU_ERR_INVALID);
    nest.host.sim.port.pmi_rearm = NULL;
    assert_int_equal(upmu_guest_init(&nest.vcpu, &nest.host.machine, &good, NULL, &memory), UPMU_ERR_HOOK_MISSING);
    policy.flags = UPMU_GUEST_POLLED;
    assert_int_equal(upmu_guest_init(&nest.vcpu, &nest.host.machine, &good, &policy, &memory), UPMU_OK);
    nest.host.sim.test = &nest.host;
    host_end_idle(&nest.host);
}

/* ---- Migration ---- */

static void a_guest_goes_on_elsewhere_with_its_counts(void **state)
{
    static struct nest there;
    uint8_t bytes[UPMU_GUEST_STATE_BYTES];
    unsigned family, model;
    size_t used;

    (void)state;
    /* From Intel to AMD: the shape is what both can show. */
    nest_prepare(&there, "zen4", "skylake");
    assert_int_equal(upmu_guest_shape_default(&there.host.machine, UPMU_GUEST_INTEL, &there.shape), UPMU_OK);
    nest_begin(&there);
    nest_prepare(&nest, "skylake", NULL);
    nest.shape = there.shape;
    nest.shape.general = there.shape.general = there.vcpu.shape.general = 4;
    nest_begin(&nest);
    nest_write(&nest, 0x186, 0x4300c4);
    nest_write(&nest, 0x187, 0x5300c0);
    nest_write(&nest, 0x4c2, 0xffffffffff00);
    nest_write(&nest, 0x188, 0x41003c);
    nest_write(&nest, 0x38f, 7);
    upmu_guest_lvtpc(&nest.vcpu, 0x400);
    nest_run(&nest, BURST(100));
    nest_exit(&nest);
    host_thread_switch(&nest.host, 0, 0);
    assert_int_equal(upmu_guest_save(&nest.vcpu, bytes, 10, &used), UPMU_ERR_NO_SPACE);
    assert_int_equal(upmu_guest_save(&nest.vcpu, bytes, sizeof bytes, &used), UPMU_OK);
    assert_int_equal(upmu_guest_state_needs(bytes, used, &family, &model), UPMU_OK);
    assert_int_equal(family, 0);
    there.vcpu.counters = 0xf;
    assert_int_equal(upmu_guest_restore(&there.vcpu, bytes, used), UPMU_OK);
    there.handler = count_injected;
    nest_run(&there, BURST(200));
    assert_int_equal(nest_read(&there, 0xc1), 75);
    assert_int_equal(nest_read(&there, 0xc2), 300 - 256);
    assert_int_equal(nest_read(&there, 0xc3), 0);
    assert_int_equal(nest_read(&there, 0x38e), 2);
    assert_int_equal(nest_read(&there, 0x38f), 7);
    assert_int_equal(there.injected, 1);
    assert_int_equal(nest.injected, 0);
    assert_int_equal(upmu_guest_fini(&nest.vcpu), UPMU_OK);
    nest.host.sim.test = &nest.host;
    host_end_idle(&nest.host);
    nest_end(&there);
}

static void an_overflow_is_injected_once_wherever_the_guest_is_saved(void **state)
{
    static struct nest there;

    (void)state;
    for (unsigned when = 0; when < 3; when++) {
        uint8_t bytes[UPMU_GUEST_STATE_BYTES];
        struct upmu_guest_entry entry;
        size_t used;

        nest_set_up(&there, "skylake", UPMU_GUEST_INTEL);
        nest_set_up(&nest, "skylake", UPMU_GUEST_INTEL);
        nest.handler = there.handler = count_injected;
        upmu_guest_lvtpc(&nest.vcpu, 0x400);
        nest_write(&nest, 0x186, 0x5300c0);
        nest_write(&nest, 0x4c1, 0xfffffffffff0);
        assert_int_equal(upmu_guest_enter(&nest.vcpu, &entry), UPMU_OK);
        /* Before the overflow; noted and not injected; injected. */
        nest.inside = when == 2;
        upmu_sim_events(&nest.host.sim, when == 0 ? BURST(8) : BURST(20));
        nest.inside = true;
        nest_exit(&nest);
        host_thread_switch(&nest.host, 0, 0);
        assert_int_equal(upmu_guest_save(&nest.vcpu, bytes, sizeof bytes, &used), UPMU_OK);
        assert_int_equal(upmu_guest_restore(&there.vcpu, bytes, used), UPMU_OK);
        nest_run(&there, BURST(20));
        assert_int_equal(nest.injected + there.injected, 1);
        assert_int_equal(nest_read(&there, 0x38e), 1);
        assert_int_equal(upmu_guest_fini(&nest.vcpu), UPMU_OK);
        nest.host.sim.test = &nest.host;
        host_end_idle(&nest.host);
        nest_end(&there);
    }
}

static uint32_t sum_of(const uint8_t *bytes, size_t count)
{
    uint32_t sum = 2166136261u;

    for (size_t i = 0; i < count; i++)
        sum = (sum ^ (i >= 12 && i < 16 ? 0 : bytes[i])) * 16777619u;
    return sum;
}

static void damaged_states_are_refused_and_change_nothing(void **state)
{
    uint8_t good[UPMU_GUEST_STATE_BYTES], bytes[UPMU_GUEST_STATE_BYTES];
    static struct upmu_guest before;
    unsigned family, model;
    size_t used;

    (void)state;
    nest_set_up(&nest, "skylake", UPMU_GUEST_INTEL);
    nest_write(&nest, 0x186, 0x4300c4);
    nest_write(&nest, 0x309, 12345);
    assert_int_equal(upmu_guest_save(&nest.vcpu, good, sizeof good, &used), UPMU_OK);
    before = nest.vcpu;
    for (size_t size = 0; size <= used + 1; size++) {
        memcpy(bytes, good, sizeof bytes);
        if (size != used)
            assert_int_not_equal(upmu_guest_restore(&nest.vcpu, bytes, size), UPMU_OK);
    }
    assert_memory_equal(&before, &nest.vcpu, sizeof before);
    /* Each bit, with a checksum that is right: refused, or a state that the guest could have. */
    for (unsigned bit = 0; bit < 8 * used; bit++) {
        uint32_t sum;
        enum upmu_status status;

        memcpy(bytes, good, sizeof bytes);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_not_equal(upmu_guest_restore(&nest.vcpu, bytes, used), UPMU_OK);
        assert_memory_equal(&before, &nest.vcpu, sizeof before);
        sum = sum_of(bytes, used);
        for (unsigned i = 0; i < 4; i++)
            bytes[12 + i] = (uint8_t)(sum >> 8 * i);
        status = upmu_guest_restore(&nest.vcpu, bytes, used);
        (void)!upmu_guest_state_needs(bytes, used, &family, &model);
        if (bit < 8 * 64 && bit / 32 != 3)
            assert_int_not_equal(status, UPMU_OK);
        if (status != UPMU_OK) {
            assert_memory_equal(&before, &nest.vcpu, sizeof before);
            continue;
        }
        {
            uint8_t again[UPMU_GUEST_STATE_BYTES];
            size_t length;

            assert_int_equal(upmu_guest_save(&nest.vcpu, again, sizeof again, &length), UPMU_OK);
            assert_int_equal(length, used);
            assert_memory_equal(again, bytes, used);
        }
        nest.vcpu = before;
    }
    nest_end(&nest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(costs_are_these_where_one_register_gates_all),
        cmocka_unit_test(costs_are_these_where_selects_are_gates),
        cmocka_unit_test(values_and_status_are_right_whatever_was_not_looked_at),
        cmocka_unit_test(a_reset_leaves_nothing),
        cmocka_unit_test(a_counter_that_finds_no_place_stands_still_and_is_named),
        cmocka_unit_test(a_vcpu_without_a_thread_is_loaded_and_put),
        cmocka_unit_test(cpuid_and_registers_agree),
        cmocka_unit_test(shapes_and_policies_beyond_the_limits_are_refused),
        cmocka_unit_test(a_guest_goes_on_elsewhere_with_its_counts),
        cmocka_unit_test(an_overflow_is_injected_once_wherever_the_guest_is_saved),
        cmocka_unit_test(damaged_states_are_refused_and_change_nothing),
        cmocka_unit_test(a_guest_counts_exactly_what_it_executes),
        cmocka_unit_test(a_guest_samples_each_period),
    };

    return cmocka_run_group_tests_name("guest", tests, NULL, NULL);
}
