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
} pairs[] = {{"skylake", UPMU_GUEST_INTEL},
             {"core2", UPMU_GUEST_INTEL},
             {"icelake", UPMU_GUEST_INTEL},
             {"yonah", UPMU_GUEST_INTEL},
             {"zen4", UPMU_GUEST_AMD_V2},
             {"zen2", UPMU_GUEST_AMD_CORE},
             {"k8_revf", UPMU_GUEST_AMD_K7},
             {"zen4", UPMU_GUEST_AMD_K7},
             {"zen5", UPMU_GUEST_AMD_CORE},
             {"zen4", UPMU_GUEST_INTEL},
             {"northwood_smtoff", UPMU_GUEST_INTEL},
             {"skylake", UPMU_GUEST_AMD_CORE},
             {"p6", UPMU_GUEST_INTEL}};
#define PAIRS (sizeof pairs / sizeof pairs[0])

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
            assert_int_equal(upmu_set_add(&session.set, lists[i], NULL), UPMU_OK, i);
            assert_int_equal(upmu_session_attach_cpu(&session, &nest.cpu), UPMU_OK);
            nest_run(&nest, BURST(77));
            assert_int_equal(upmu_session_start(&session), UPMU_OK);
            nest_run(&nest, BURST(600));
            nest_run_host(&nest, BURST(5000));
            nest_run(&nest, BURST(400));
            assert_int_equal(upmu_set_read(&session.set, 0, events, count), UPMU_OK);
            for (unsigned k = 0; k < events; k++)
                if (count[k].value != expected[i][k])
                    fail_msg("%s, %s, event %u: %llu", pairs[pair].host, lists[i], k,
                             (unsigned long long)count[k].value);
            assert_int_equal(upmu_session_stop(&session), UPMU_OK);
            nest_run(&nest, BURST(300));
            assert_int_equal(upmu_set_read(&session.set, 0, events, count), UPMU_OK);
            assert_int_equal(count[0].value, expected[i][0], i);
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
        assert_int_equal(upmu_set_add(&session.set, "instructions", &(struct upmu_sampling){.period = 100}), UPMU_OK);
        assert_int_equal(upmu_session_ring(&session, ring, sizeof ring), UPMU_OK);
        assert_int_equal(upmu_session_attach_cpu(&session, &nest.cpu), UPMU_OK);
        assert_int_equal(upmu_session_start(&session), UPMU_OK);
        nest.injected = nest.handled = nest.stale = 0;
        for (unsigned i = 0; i < 100; i++)
            nest_run(&nest, BURST(100));
        assert_int_equal(upmu_session_stop(&session), UPMU_OK);
        assert_int_equal(upmu_set_read(&session.set, 0, 1, &count), UPMU_OK);
        while (upmu_ring_next(&session.ring, &sample))
            samples++;
        if (count.value != 10000 || samples != 100 || nest.injected != 100 || nest.handled != 100 || nest.stale)
            fail_msg("%s: count %llu, %u samples, %u injected, %u handled, %u stale", pairs[pair].host,
                     (unsigned long long)count.value, samples, nest.injected, nest.handled, nest.stale);
        assert_int_equal(upmu_cpu_fini(&nest.cpu), UPMU_OK);
        nest_end(&nest);
    }
}

static void count_injected(struct nest *guest, const struct upmu_frame *frame)
{
    (void)guest;
    (void)frame;
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
        /*
         * Two selects, the fixed control once for each of its counters, the gate; and each of five counters is read for
         * its base.
         */
        host_costs(&nest.host, "the first entry", 6, 5);
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

/* Exits, and the host's W, R and P since the last look. */
static void assert_spent(const char *what, const unsigned expected[4])
{
    const unsigned *count = nest.host.sim.access_count;
    const unsigned spent[4] = {nest.exits, count[UPMU_SIM_WRMSR], count[UPMU_SIM_RDMSR], count[UPMU_SIM_RDPMC]};

    if (memcmp(spent, expected, sizeof spent) != 0)
        fail_msg("%s, %s: %u exits, %u W, %u R, %u P instead of %u, %u, %u, %u", nest.host.sim.profile->name, what,
                 spent[0], spent[1], spent[2], spent[3], expected[0], expected[1], expected[2], expected[3]);
    nest.exits = 0;
    host_forget_cost(&nest.host);
}

/*
 * An unmodified library in the guest: a switch between two threads of five events (K8: four), each of which changes,
 * and a sample from its overflow to the end of the guest's handler.
 */
static void costs_of_a_guests_library_are_these(void **state)
{
    static const struct {
        const char *host;
        enum upmu_guest_door door;
        unsigned change[4], sample[4]; /* exits, W, R, P */
    } rows[] = {
        {"skylake", UPMU_GUEST_INTEL, {16, 12, 0, 5}, {8, 9, 1, 3}},
        {"icelake", UPMU_GUEST_INTEL, {16, 12, 0, 5}, {8, 9, 1, 3}},
        {"zen4", UPMU_GUEST_AMD_V2, {17, 12, 0, 5}, {8, 9, 1, 3}},
        {"zen2", UPMU_GUEST_AMD_CORE, {20, 50, 0, 10}, {7, 12, 0, 5}},
        {"k8_revf", UPMU_GUEST_AMD_K7, {16, 32, 0, 8}, {7, 12, 0, 5}},
    };
    static const char *const lists[2] = {"branches,branch-misses,instructions,cycles,instructions:k",
                                         "branches:u,branch-misses:u,instructions:u,cycles:u,instructions:u"};
    static const char *const four[2] = {"branches,branch-misses,instructions,cycles",
                                        "branches:u,branch-misses:u,instructions:u,cycles:u"};
    static struct upmu_session sessions[2];
    static struct upmu_thread threads[2];
    static uint64_t ring[1024];

    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        nest_set_up(&nest, rows[i].host, rows[i].door);
        nest_library(&nest);
        for (unsigned n = 0; n < 2; n++) {
            upmu_thread_init(&threads[n], n, 0, NULL);
            assert_int_equal(upmu_session_init(&sessions[n], &nest.machine), UPMU_OK, n);
            assert_int_equal(
                upmu_set_add(&sessions[n].set, rows[i].door == UPMU_GUEST_AMD_K7 ? four[n] : lists[n], NULL),
                UPMU_OK, n, i);
            assert_int_equal(upmu_session_attach_thread(&sessions[n], &threads[n], NULL), UPMU_OK, n);
            assert_int_equal(upmu_session_start(&sessions[n]), UPMU_OK, n);
        }
        for (unsigned k = 0; k < 6; k++) {
            assert_int_equal(upmu_thread_switch(&nest.cpu, &threads[!(k & 1u)], &threads[k & 1u]), UPMU_OK, k);
            nest_run(&nest, BURST(100));
            if (k > 1)
                assert_spent("a switch of the guest's threads", rows[i].change);
            nest.exits = 0;
            host_forget_cost(&nest.host);
        }
        for (unsigned n = 0; n < 2; n++)
            assert_int_equal(upmu_session_close(&sessions[n]), UPMU_OK, n);
        assert_int_equal(upmu_session_init(&sessions[0], &nest.machine), UPMU_OK);
        assert_int_equal(upmu_set_add(&sessions[0].set, "instructions", &(struct upmu_sampling){.period = 100}),
                         UPMU_OK);
        assert_int_equal(upmu_session_ring(&sessions[0], ring, sizeof ring), UPMU_OK);
        assert_int_equal(upmu_session_attach_cpu(&sessions[0], &nest.cpu), UPMU_OK);
        assert_int_equal(upmu_session_start(&sessions[0]), UPMU_OK);
        for (unsigned k = 0; k < 5; k++) {
            nest_run(&nest, BURST(100));
            if (k)
                assert_spent("a sample", rows[i].sample);
            nest.exits = 0;
            host_forget_cost(&nest.host);
        }
        assert_int_equal(upmu_session_close(&sessions[0]), UPMU_OK);
        assert_int_equal(upmu_cpu_fini(&nest.cpu), UPMU_OK);
        nest_end(&nest);
    }
}

/*
 * The pair beside that of KVM's mediated PMU, which gives a guest the whole PMU and so writes and reads all of its
 * registers (counted in its source).
 */
static void an_entry_and_an_exit_cost_less_than_a_whole_pmu(void **state)
{
    const unsigned *count = nest.host.sim.access_count;

    (void)state;
    nest_set_up(&nest, "skylake", UPMU_GUEST_INTEL);
    program_five(&nest);
    nest_write(&nest, 0x38f, 0x700000003);
    nest_enter(&nest);
    host_forget_cost(&nest.host);
    nest_exit(&nest);
    nest_enter(&nest);
    print_message("an exit and an entry with 5 counters: %u W, %u R, %u P; KVM's mediated PMU: 21 W, 2 R, 5 P\n",
                  count[UPMU_SIM_WRMSR], count[UPMU_SIM_RDMSR], count[UPMU_SIM_RDPMC]);
    host_costs(&nest.host, "exit and entry", 2, 0);
    nest_end(&nest);
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
    nest_set_up(&nest, "zen4", UPMU_GUEST_AMD_V2);
    nest_write(&nest, 0xc0010200u, 0x4300c0);
    nest_write(&nest, 0xc0000301u, 1);
    for (unsigned i = 0; i < 2; i++) {
        nest_write(&nest, 0xc0010201u, 0xffffffffffff);
        nest_run(&nest, BURST(2));
        nest_write(&nest, 0xc0000302u, 1);
        assert_int_equal(nest_read(&nest, 0xc0000300u), 0);
    }
    nest_write(&nest, 0xc0010201u, 0xffffffffffff);
    nest_run(&nest, BURST(2));
    assert_int_equal(nest_read(&nest, 0xc0000300u), 1);
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
    assert_int_equal(nest.vcpu.x86.lvtpc, 0x10000);
    nest_end(&nest);
}

/* ---- More counters than the host has ---- */

static void a_counter_that_finds_no_place_stands_still_and_is_named(void **state)
{
    struct upmu_guest_entry entry;

    (void)state;
    nest_prepare(&nest, "core2", NULL);
    nest_shape(&nest, UPMU_GUEST_INTEL);
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
    /* One that is closed does not wait. */
    nest_write(&nest, 0x187, 0x0300c5);
    nest_enter(&nest);
    assert_int_equal(nest.vcpu.waiting, 0);
    nest_exit(&nest);
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

/* Any architectural events, in any rings: NetBurst has few counters for each. */
static void no_counter_of_the_default_shape_waits(void **state)
{
    static const char *const hosts[] = {"northwood", "prescott", "p6", "yonah", "zen4"};
    static const unsigned events[] = {0x3c, 0xc0, 0xc4, 0xc5}, rings[] = {0x410000, 0x420000, 0x430000};

    (void)state;
    for (unsigned i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        nest_prepare(&nest, hosts[i], "skylake");
        nest_shape(&nest, UPMU_GUEST_INTEL);
        assert_int_equal(nest.shape.general, i == 4 ? 6 : 2, i);
        nest_begin(&nest);
        if (nest.shape.version >= 2)
            nest_write(&nest, 0x38f, UPMU_BIT64(nest.shape.general) - 1);
        for (unsigned c = 0; c < 144; c++) {
            unsigned select[] = {events[c % 4] | rings[c / 4 % 3], events[c / 12 % 4] | rings[c / 48]};

            for (unsigned n = 0; n < nest.shape.general; n++)
                nest_write(&nest, 0x186 + n, select[n % 2]);
            nest_enter(&nest);
            assert_int_equal(nest.vcpu.waiting, 0);
            nest_exit(&nest);
        }
        nest_end(&nest);
    }
}

/* The host's sessions come first, also later. */
static void a_counter_whose_place_the_host_takes_waits(void **state)
{
    struct upmu_guest_entry entry;

    (void)state;
    nest_prepare(&nest, "core2", NULL);
    nest_shape(&nest, UPMU_GUEST_INTEL);
    nest.policy.flags |= UPMU_GUEST_STRICT;
    host_add(&nest.host, 0, "LLC_MISSES", 0);
    assert_int_equal(upmu_session_attach_cpu(&nest.host.session, &nest.host.cpu[0]), UPMU_OK);
    nest_begin(&nest);
    nest_write(&nest, 0x186, 0x4300c4);
    nest_write(&nest, 0x187, 0x4300c5);
    nest_enter(&nest);
    assert_int_equal(nest.vcpu.waiting, 0);
    nest_exit(&nest);
    host_thread_switch(&nest.host, 0, 0);
    assert_int_equal(upmu_session_start(&nest.host.session), UPMU_OK);
    host_thread_switch(&nest.host, 0, 1);
    assert_int_equal(upmu_guest_enter(&nest.vcpu, &entry), UPMU_ERR_DOES_NOT_FIT);
    assert_int_equal(upmu_bits_count(nest.vcpu.waiting), 1);
    assert_int_equal(upmu_guest_exit(&nest.vcpu), UPMU_OK);
    host_thread_switch(&nest.host, 0, 0);
    assert_int_equal(upmu_session_stop(&nest.host.session), UPMU_OK);
    host_thread_switch(&nest.host, 0, 1);
    assert_int_equal(upmu_guest_enter(&nest.vcpu, &entry), UPMU_OK);
    assert_int_equal(nest.vcpu.waiting, 0);
    assert_int_equal(upmu_guest_exit(&nest.vcpu), UPMU_OK);
    host_thread_switch(&nest.host, 0, 0);
    assert_int_equal(upmu_guest_fini(&nest.vcpu), UPMU_OK);
    host_end(&nest.host);
}

/* Also while the vCPU is there, between an exit and an entry; whether the guest's counters interrupt or not. */
static void a_session_of_the_host_that_starts_displaces_a_guests(void **state)
{
    struct upmu_guest_entry entry;

    (void)state;
    for (unsigned sampling = 0; sampling < 2; sampling++) {
        nest_prepare(&nest, "core2", NULL);
        nest_shape(&nest, UPMU_GUEST_INTEL);
        host_add(&nest.host, 0, "LLC_MISSES", 0);
        assert_int_equal(upmu_session_attach_cpu(&nest.host.session, &nest.host.cpu[0]), UPMU_OK);
        nest_begin(&nest);
        nest_write(&nest, 0x186, sampling ? 0x5300c4 : 0x4300c4);
        nest_write(&nest, 0x187, sampling ? 0x5300c5 : 0x4300c5);
        nest_run(&nest, BURST(400));
        nest_exit(&nest);
        assert_int_equal(upmu_session_start(&nest.host.session), UPMU_OK);
        assert_int_equal(upmu_guest_enter(&nest.vcpu, &entry), UPMU_OK);
        assert_int_equal(upmu_bits_count(nest.vcpu.waiting), 1);
        upmu_sim_events(&nest.host.sim, BURST(400));
        assert_int_equal(upmu_guest_exit(&nest.vcpu), UPMU_OK);
        assert_int_equal(nest_read(&nest, 0xc1), nest.vcpu.waiting & 1 ? 100 : 200);
        assert_int_equal(upmu_session_stop(&nest.host.session), UPMU_OK);
        assert_int_equal(upmu_guest_enter(&nest.vcpu, &entry), UPMU_OK);
        assert_int_equal(nest.vcpu.waiting, 0);
        assert_int_equal(upmu_guest_exit(&nest.vcpu), UPMU_OK);
        host_thread_switch(&nest.host, 0, 0);
        assert_int_equal(upmu_guest_fini(&nest.vcpu), UPMU_OK);
        host_end(&nest.host);
    }
}

static void a_vcpu_without_a_thread_is_loaded_and_put(void **state)
{
    struct upmu_guest_entry entry;

    (void)state;
    nest_prepare(&nest, "skylake", NULL);
    nest_shape(&nest, UPMU_GUEST_INTEL);
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

/* The host's hook; the first time it is called, it has interrupted another call of the library. */
static uintptr_t (*real_irq_save)(void *context);
static bool first_is_busy;

static uintptr_t busy_irq_save(void *context)
{
    nest.host.cpu[0].meter.busy = first_is_busy;
    first_is_busy = false;
    return real_irq_save(context);
}

/* The first session cannot be closed now, a register of the second one faults: memory of the first is still in use. */
static void an_end_says_the_failure_that_leaves_a_session_open(void **state)
{
    (void)state;
    for (unsigned busy = 0; busy < 2; busy++) {
        nest_set_up(&nest, "skylake", UPMU_GUEST_INTEL);
        nest_write(&nest, 0x186, 0x4300c0);
        nest_write(&nest, 0x187, 0x4300c4);
        nest_run(&nest, BURST(30));
        nest_exit(&nest);
        assert_int_equal(nest.vcpu.attached, 3);
        real_irq_save = nest.host.sim.port.irq_save;
        nest.host.sim.port.irq_save = busy_irq_save;
        first_is_busy = busy;
        nest.host.sim.expect_faults = true;
        nest.host.sim.fault_address = 0x186;
        assert_int_equal(upmu_guest_fini(&nest.vcpu), busy ? UPMU_ERR_BUSY : UPMU_ERR_PORT);
        assert_int_equal(nest.vcpu.attached, busy);
        nest.host.sim.fault_address = 0;
        nest.host.sim.port.irq_save = real_irq_save;
        nest_end(&nest);
    }
}

/* A hybrid CPU: its PMU is that of the type that was initialised first. */
static void on_cores_of_another_type_counters_stand_still_and_are_named(void **state)
{
    static struct host f;
    static struct upmu_guest vcpu;
    static struct upmu_session sessions[2];
    static const struct upmu_guest_policy policy = {.flags = UPMU_GUEST_STRICT};
    static const unsigned cpus[] = {1, 0, 1, 0};
    struct upmu_guest_shape shape;
    struct upmu_guest_entry entry;
    uint64_t value, expected = 0;

    (void)state;
    host_prepare(&f, "adl_p");
    upmu_sim_set_profile(&f.sim, 1, upmu_sim_profile("adl_e"));
    host_machine(&f);
    host_take_over(&f, 2, false);
    assert_int_equal(upmu_guest_shape_default(&f.machine, UPMU_GUEST_INTEL, &policy, &shape), UPMU_OK);
    assert_int_equal(shape.model, f.machine.pmu[0].model);
    assert_int_equal(
        upmu_guest_init(&vcpu, &f.machine, &shape, &policy, &(struct upmu_guest_memory){sessions, 2, NULL}), UPMU_OK);
    assert_int_equal(upmu_guest_wrmsr(&vcpu, 0x186, 0x4300c0), UPMU_GUEST_DONE);
    assert_int_equal(upmu_guest_wrmsr(&vcpu, 0x38f, 1), UPMU_GUEST_DONE);
    for (unsigned i = 0; i < 4; i++) {
        upmu_sim_switch_cpu(&f.sim, cpus[i]);
        assert_int_equal(upmu_guest_load(&vcpu, &f.cpu[cpus[i]]), UPMU_OK, i);
        assert_int_equal(upmu_guest_enter(&vcpu, &entry), cpus[i] ? UPMU_ERR_DOES_NOT_FIT : UPMU_OK, i);
        assert_int_equal(vcpu.waiting, cpus[i], i);
        upmu_sim_events(&f.sim, BURST(100));
        assert_int_equal(upmu_guest_exit(&vcpu), UPMU_OK);
        expected += cpus[i] ? 0 : 100;
        assert_int_equal(upmu_guest_rdmsr(&vcpu, 0xc1, &value), UPMU_GUEST_DONE);
        assert_int_equal(value, expected);
        assert_int_equal(upmu_guest_put(&vcpu), UPMU_OK);
    }
    assert_int_equal(upmu_guest_fini(&vcpu), UPMU_OK);
    upmu_sim_switch_cpu(&f.sim, 0);
    host_end_idle(&f);
}

static void shapes_and_policies_beyond_the_limits_are_refused(void **state)
{
    static const struct upmu_guest_shape good = {.door = UPMU_GUEST_INTEL,
                                                 .version = 4,
                                                 .general = 4,
                                                 .fixed = 3,
                                                 .width = 48,
                                                 .full_write = 1,
                                                 .arch_events = 7};
    struct upmu_guest_memory memory = {nest.sessions, 4, NULL};
    struct upmu_guest_policy policy = {.level = UPMU_GUEST_IPC};
    struct upmu_machine none;
    struct upmu_guest_shape bad[16], all = good;
    unsigned n = 0;

    (void)state;
    nest_prepare(&nest, "skylake", NULL);
    all.arch_events = 0x7f;
    for (unsigned i = 0; i < 16; i++)
        bad[i] = good;
    bad[n++].door = 0;
    bad[n++].door = 5;
    bad[n++].version = 0;
    bad[n++].version = 6;
    bad[n++].general = 0;
    bad[n++].general = 9;
    bad[n++].fixed = 4;
    bad[n++].width = 31;
    bad[n++].width = 49;
    bad[n++].full_write = 2;
    bad[n++].arch_events = 0x80;
    bad[n++].reserved[2] = 1;
    bad[n++].events[1] = 1;
    bad[n++].version = 1;
    bad[n].door = UPMU_GUEST_AMD_K7;
    n++;
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(upmu_guest_init(&nest.vcpu, &nest.host.machine, &bad[i], &policy, &memory), UPMU_ERR_INVALID,
                         i);
    /* Of the default policy these events count nothing: they are not to be shown. */
    assert_int_equal(upmu_guest_init(&nest.vcpu, &nest.host.machine, &all, NULL, &memory), UPMU_ERR_UNSUPPORTED);
    assert_int_equal(upmu_guest_shape_denied(&all, NULL), 0x78);
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
    assert_int_equal(upmu_guest_shape_default(&none, UPMU_GUEST_INTEL, NULL, &bad[0]), UPMU_ERR_NO_PMU);
    assert_int_equal(upmu_guest_shape_default(&nest.host.machine, 9, NULL, &bad[0]), UPMU_ERR_INVALID);
    nest.host.sim.port.pmi_rearm = NULL;
    assert_int_equal(upmu_guest_init(&nest.vcpu, &nest.host.machine, &good, NULL, &memory), UPMU_ERR_HOOK_MISSING);
    policy.flags = UPMU_GUEST_POLLED;
    assert_int_equal(upmu_guest_init(&nest.vcpu, &nest.host.machine, &good, &policy, &memory), UPMU_OK);
    nest.host.sim.test = &nest.host;
    host_end_idle(&nest.host);
}

/* ---- Gates that the hardware moves ---- */

static void the_default_shape_has_the_version_of_the_host(void **state)
{
    static const struct {
        const char *host;
        unsigned version;
    } rows[] = {{"version1", 1}, {"core2", 2}, {"skylake", 4}, {"icelake", 5}, {"zen4", 2}, {"p6", 2}};

    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        nest_set_up(&nest, rows[i].host, UPMU_GUEST_INTEL);
        assert_int_equal(nest.shape.version, rows[i].version, i);
        nest_end(&nest);
    }
}

static void gates_of_the_vmcs_cost_nothing_and_count_exactly(void **state)
{
    struct upmu_guest_entry entry;
    uint64_t host;

    (void)state;
    nest_prepare(&nest, "skylake", NULL);
    assert_int_equal(upmu_cpu_world_by_hardware(&nest.host.cpu[0], true), UPMU_OK);
    nest_shape(&nest, UPMU_GUEST_INTEL);
    nest_begin(&nest);
    host_add(&nest.host, 0, "instructions", 0);
    assert_int_equal(upmu_session_attach_cpu(&nest.host.session, &nest.host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_start(&nest.host.session), UPMU_OK);
    (void)nest.port.wrmsr(&nest, 0x186, 0x4300c4);
    (void)nest.port.wrmsr(&nest, 0x187, 0x4300c0);
    for (unsigned i = 0; i < 5; i++) {
        host_forget_cost(&nest.host);
        assert_int_equal(upmu_guest_enter(&nest.vcpu, &entry), UPMU_OK);
        if (i)
            host_costs(&nest.host, "entry", 0, 0);
        host = upmu_sim_peek(&nest.host.sim, 0, 0x38f);
        upmu_sim_poke(&nest.host.sim, 0, 0x38f, entry.gate);
        upmu_sim_events(&nest.host.sim, BURST(40));
        upmu_sim_poke(&nest.host.sim, 0, 0x38f, host);
        host_forget_cost(&nest.host);
        assert_int_equal(upmu_guest_exit(&nest.vcpu), UPMU_OK);
        host_costs(&nest.host, "exit", 0, 0);
        upmu_sim_events(&nest.host.sim, BURST(1000));
    }
    assert_int_equal(nest_read(&nest, 0xc1), 50);
    assert_int_equal(nest_read(&nest, 0xc2), 200);
    assert_int_equal(host_value(&nest.host.session, 0), 5200);
    assert_int_equal(upmu_session_close(&nest.host.session), UPMU_OK);
    nest_end(&nest);
}

/* ---- Interrupts ---- */

static unsigned enter_once(struct upmu_guest_entry *entry)
{
    assert_int_equal(upmu_guest_enter(&nest.vcpu, entry), UPMU_OK);
    assert_int_equal(upmu_guest_exit(&nest.vcpu), UPMU_OK);
    return entry->inject;
}

/* Counter 0 overflows in the guest; nothing is injected yet. */
static void overflow_in_guest(void)
{
    struct upmu_guest_entry entry;

    assert_int_equal(upmu_guest_wrmsr(&nest.vcpu, 0x186, 0x5300c0), UPMU_GUEST_DONE);
    assert_int_equal(upmu_guest_wrmsr(&nest.vcpu, 0xc1, (uint64_t)-20), UPMU_GUEST_DONE);
    assert_int_equal(upmu_guest_enter(&nest.vcpu, &entry), UPMU_OK);
    assert_int_equal(entry.inject, UPMU_GUEST_INJECT_NONE);
    upmu_sim_events(&nest.host.sim, BURST(30));
    assert_int_equal(upmu_guest_exit(&nest.vcpu), UPMU_OK);
}

static void an_interrupt_is_what_the_local_apic_of_the_guest_says(void **state)
{
    static const struct {
        uint32_t lvtpc;
        unsigned inject, vector;
        uint32_t after;
    } cases[] = {{0x400, UPMU_GUEST_INJECT_NMI, 0, 0x10400},
                 {0xef, UPMU_GUEST_INJECT_VECTOR, 0xef, 0x100ef},
                 {0x10, UPMU_GUEST_INJECT_VECTOR, 0x10, 0x10010},
                 {0x0f, UPMU_GUEST_INJECT_NONE, 0, 0x1000f}, /* (of an exception) */
                 {0x00, UPMU_GUEST_INJECT_NONE, 0, 0x10000},
                 {0x10400, UPMU_GUEST_INJECT_NONE, 0, 0x10400},
                 {0x200, UPMU_GUEST_INJECT_NONE, 0, 0x10200}};
    struct upmu_guest_entry entry;

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        nest_set_up(&nest, "skylake", UPMU_GUEST_INTEL);
        upmu_guest_lvtpc(&nest.vcpu, cases[i].lvtpc);
        overflow_in_guest();
        assert_int_equal(enter_once(&entry), cases[i].inject, i);
        assert_int_equal(entry.vector, cases[i].vector, i);
        assert_int_equal(nest.vcpu.x86.lvtpc, cases[i].after, i);
        assert_int_equal(enter_once(&entry), UPMU_GUEST_INJECT_NONE);
        nest_end(&nest);
    }
    nest_prepare(&nest, "skylake", NULL);
    nest_shape(&nest, UPMU_GUEST_INTEL);
    nest.policy.flags |= UPMU_GUEST_OWN_LAPIC;
    nest_begin(&nest);
    overflow_in_guest();
    assert_int_equal(enter_once(&entry), UPMU_GUEST_INJECT_PMI);
    assert_int_equal(enter_once(&entry), UPMU_GUEST_INJECT_NONE);
    nest_end(&nest);
}

/* Whether an overflow interrupts was settled when it happened. */
static void an_overflow_interrupts_as_its_select_said(void **state)
{
    struct upmu_guest_entry entry;

    (void)state;
    nest_set_up(&nest, "skylake", UPMU_GUEST_INTEL);
    upmu_guest_lvtpc(&nest.vcpu, 0x400);
    nest_write(&nest, 0x186, 0x4300c0);
    nest_write(&nest, 0xc1, (uint64_t)-20);
    nest_run(&nest, BURST(10));
    nest_run(&nest, BURST(20));
    nest_exit(&nest);
    assert_int_equal(upmu_guest_wrmsr(&nest.vcpu, 0x186, 0x5300c0), UPMU_GUEST_DONE);
    assert_int_equal(nest_read(&nest, 0x38e), 1);
    assert_int_equal(enter_once(&entry), UPMU_GUEST_INJECT_NONE);
    /* It does from then on. */
    nest_write(&nest, 0xc1, (uint64_t)-20);
    assert_int_equal(enter_once(&entry), UPMU_GUEST_INJECT_NONE);
    nest_write(&nest, 0x186, 0x4300c0);
    assert_int_equal(enter_once(&entry), UPMU_GUEST_INJECT_NONE);
    nest_write(&nest, 0x186, 0x5300c0);
    assert_int_equal(upmu_guest_enter(&nest.vcpu, &entry), UPMU_OK);
    upmu_sim_events(&nest.host.sim, BURST(30));
    assert_int_equal(upmu_guest_exit(&nest.vcpu), UPMU_OK);
    assert_int_equal(enter_once(&entry), UPMU_GUEST_INJECT_NMI);
    nest_end(&nest);
}

static void versions_2_and_3_freeze_by_their_global_control(void **state)
{
    (void)state;
    nest_prepare(&nest, "core2", NULL);
    nest_shape(&nest, UPMU_GUEST_INTEL);
    assert_int_equal(nest.shape.version, 2);
    nest.handler = count_injected;
    nest_begin(&nest);
    nest_write(&nest, 0x1d9, 0x1000);
    nest_write(&nest, 0x187, 0x4300c4);
    nest_write(&nest, 0x186, 0x5300c0);
    nest_write(&nest, 0xc1, (uint64_t)-20);
    nest_run(&nest, BURST(40));
    assert_int_equal(nest_read(&nest, 0x38f), 0);
    assert_int_equal(nest_read(&nest, 0x38e), 1);
    assert_int_equal(nest_read(&nest, 0xc1), 0);
    nest_run(&nest, BURST(40));
    assert_int_equal(nest_read(&nest, 0xc1), 0);
    nest_end(&nest);
}

/* Bits 35:32 alone make another event. */
static void the_high_bits_of_an_event_are_looked_at(void **state)
{
    (void)state;
    nest_set_up(&nest, "zen2", UPMU_GUEST_AMD_CORE);
    nest_write(&nest, 0xc0010200u, 0x4300cc);
    nest_run(&nest,
             &(struct upmu_sim_burst){.other = {{.count = 5, .event = 0xcc}, {.count = 30, .event = 0xcc, .high = 1}}});
    assert_int_equal(nest_read(&nest, 0xc0010201u), 5);
    nest_write(&nest, 0xc0010200u, 0x1004300cc);
    nest_run(&nest,
             &(struct upmu_sim_burst){.other = {{.count = 7, .event = 0xcc}, {.count = 40, .event = 0xcc, .high = 1}}});
    assert_int_equal(nest_read(&nest, 0xc0010201u), 45);
    nest_end(&nest);
}

static void without_interrupts_overflows_are_found_at_entries(void **state)
{
    struct upmu_guest_entry entry;

    (void)state;
    nest_prepare(&nest, "skylake", NULL);
    nest.host.sim.port.pmi_rearm = NULL;
    nest_shape(&nest, UPMU_GUEST_INTEL);
    nest.policy.flags |= UPMU_GUEST_POLLED;
    nest_begin(&nest);
    upmu_guest_lvtpc(&nest.vcpu, 0x400);
    overflow_in_guest();
    assert_int_equal(nest.host.answers, 0);
    assert_int_equal(enter_once(&entry), UPMU_GUEST_INJECT_NMI);
    assert_int_equal(enter_once(&entry), UPMU_GUEST_INJECT_NONE);
    nest_end(&nest);
}

/* The value is exact, whenever the interrupt comes. */
static void an_interrupt_waits_for_the_policys_period(void **state)
{
    struct upmu_guest_entry entry;

    (void)state;
    nest_prepare(&nest, "skylake", NULL);
    nest_shape(&nest, UPMU_GUEST_INTEL);
    nest.policy.min_period = 500;
    nest_begin(&nest);
    upmu_guest_lvtpc(&nest.vcpu, 0x400);
    overflow_in_guest();
    assert_int_equal(enter_once(&entry), UPMU_GUEST_INJECT_NONE);
    assert_int_equal(upmu_guest_enter(&nest.vcpu, &entry), UPMU_OK);
    upmu_sim_events(&nest.host.sim, BURST(480));
    assert_int_equal(upmu_guest_exit(&nest.vcpu), UPMU_OK);
    assert_int_equal(enter_once(&entry), UPMU_GUEST_INJECT_NMI);
    assert_int_equal(nest_read(&nest, 0xc1), 490);
    assert_int_equal(nest_read(&nest, 0x38e), 1);
    /* The next one is a full round away again. */
    assert_int_equal(upmu_guest_enter(&nest.vcpu, &entry), UPMU_OK);
    upmu_sim_events(&nest.host.sim, BURST(5000));
    assert_int_equal(upmu_guest_exit(&nest.vcpu), UPMU_OK);
    assert_int_equal(enter_once(&entry), UPMU_GUEST_INJECT_NONE);
    nest_end(&nest);
}

/* Its interrupt was to come later; it is injected as soon as the overflow is found, and freezes what it should. */
static void an_overflow_that_a_write_brings_to_light_is_injected_at_once(void **state)
{
    struct upmu_guest_entry entry;

    (void)state;
    for (unsigned freezes = 0; freezes < 2; freezes++) {
        nest_prepare(&nest, "skylake", NULL);
        nest_shape(&nest, UPMU_GUEST_INTEL);
        nest.policy.min_period = 500;
        nest_begin(&nest);
        upmu_guest_lvtpc(&nest.vcpu, 0x400);
        nest_write(&nest, 0x1d9, freezes ? 0x1000 : 0);
        nest_write(&nest, 0x187, 0x4300c4);
        overflow_in_guest();
        assert_int_equal(enter_once(&entry), UPMU_GUEST_INJECT_NONE);
        nest_write(&nest, 0x186, 0);
        assert_int_equal(upmu_guest_enter(&nest.vcpu, &entry), UPMU_OK);
        assert_int_equal(entry.inject, UPMU_GUEST_INJECT_NMI);
        upmu_sim_events(&nest.host.sim, BURST(400));
        assert_int_equal(upmu_guest_exit(&nest.vcpu), UPMU_OK);
        assert_int_equal(enter_once(&entry), UPMU_GUEST_INJECT_NONE);
        assert_int_equal(nest_read(&nest, 0x38e), freezes ? UINT64_C(0x800000000000001) : 1);
        assert_int_equal(nest_read(&nest, 0xc2), freezes ? 7 : 107);
        nest_end(&nest);
    }
}

static void what_the_hypervisor_executes_for_the_guest_is_counted(void **state)
{
    struct upmu_guest_entry entry;

    (void)state;
    nest_set_up(&nest, "skylake", UPMU_GUEST_INTEL);
    upmu_guest_lvtpc(&nest.vcpu, 0x400);
    nest_write(&nest, 0x186, 0x5300c0);
    nest_write(&nest, 0x187, 0x4100c4);  /* user mode alone */
    nest_write(&nest, 0x188, 0x14300c0); /* cycles with an instruction */
    nest_write(&nest, 0x38d, 0x2);
    nest_write(&nest, 0x38f, 0x100000007);
    nest_write(&nest, 0xc1, (uint64_t)-50);
    nest_run(&nest, BURST(40));
    nest_exit(&nest);
    upmu_guest_retired(&nest.vcpu, 4, 1, false);
    upmu_guest_retired(&nest.vcpu, 3, 2, true);
    assert_int_equal(nest_read(&nest, 0xc1), 0xfffffffffffd);
    assert_int_equal(nest_read(&nest, 0xc2), 2);
    assert_int_equal(nest_read(&nest, 0x309), 3);
    nest.handler = count_injected;
    nest_run(&nest, BURST(5));
    assert_int_equal(nest.injected, 1);
    assert_int_equal(nest_read(&nest, 0xc1), 2);
    /* One of these overflows, too. */
    nest_write(&nest, 0xc1, (uint64_t)-2);
    upmu_guest_lvtpc(&nest.vcpu, 0x400);
    upmu_guest_retired(&nest.vcpu, 3, 0, false);
    assert_int_equal(enter_once(&entry), UPMU_GUEST_INJECT_NMI);
    assert_int_equal(nest_read(&nest, 0xc1), 1);
    /* A write that gives a counter another event is of that event, before and after its session has it. */
    nest_exit(&nest);
    nest_write(&nest, 0x187, 0x4300c0);
    nest_write(&nest, 0xc2, 0);
    upmu_guest_retired(&nest.vcpu, 1, 0, false);
    assert_int_equal(nest_read(&nest, 0xc2), 1);
    nest_write(&nest, 0x187, 0x4300c4);
    upmu_guest_retired(&nest.vcpu, 1, 0, false);
    assert_int_equal(nest_read(&nest, 0xc2), 1);
    nest_write(&nest, 0x187, 0x4300c0);
    assert_int_equal(enter_once(&entry), UPMU_GUEST_INJECT_NONE);
    upmu_guest_retired(&nest.vcpu, 1, 0, false);
    assert_int_equal(nest_read(&nest, 0xc2), 2);
    /* A write that closes it is not counted, whether or not its session has stopped. */
    nest_write(&nest, 0x38f, 0x100000005);
    upmu_guest_retired(&nest.vcpu, 1, 0, false);
    assert_int_equal(enter_once(&entry), UPMU_GUEST_INJECT_NONE);
    upmu_guest_retired(&nest.vcpu, 1, 0, false);
    assert_int_equal(nest_read(&nest, 0xc2), 2);
    nest_end(&nest);
    /* One that stands still gets nothing. */
    nest_prepare(&nest, "core2", NULL);
    nest_shape(&nest, UPMU_GUEST_INTEL);
    nest.shape.general = 3;
    nest_begin(&nest);
    for (unsigned i = 0; i < 3; i++)
        nest_write(&nest, 0x186 + i, 0x4300c4);
    nest_write(&nest, 0x38f, 7);
    nest_enter(&nest);
    nest_exit(&nest);
    assert_int_equal(nest.vcpu.waiting, 4);
    upmu_guest_retired(&nest.vcpu, 2, 2, false);
    assert_int_equal(nest_read(&nest, 0xc2), 2);
    assert_int_equal(nest_read(&nest, 0xc3), 0);
    nest_end(&nest);
}

/*
 * An event that the policy denies takes nothing, also from a counter that no entry has seen yet.  Intel's CPUID does
 * not show it; AMD's shows no events.
 */
static void a_denied_event_takes_nothing_that_the_hypervisor_executes(void **state)
{
    struct upmu_guest_entry entry;

    (void)state;
    for (unsigned amd = 0; amd < 2; amd++) {
        uint32_t gate = amd ? 0xc0000301u : 0x38f, select = amd ? 0xc0010200u : 0x186;
        uint32_t value = amd ? 0xc0010201u : 0xc1, step = amd ? 2 : 1;
        uint64_t branches = amd ? 0xc2 : 0xc4;

        nest_prepare(&nest, amd ? "zen4" : "skylake", NULL);
        nest.policy.level = UPMU_GUEST_IPC;
        nest_shape(&nest, amd ? UPMU_GUEST_AMD_V2 : UPMU_GUEST_INTEL);
        nest_begin(&nest);
        nest_write(&nest, gate, 0);
        nest_write(&nest, value, 5);
        nest_write(&nest, select, 0x430000 | branches);
        nest_write(&nest, select + step, 0x4300c0);
        for (unsigned open = 1; open <= 3; open++) {
            nest_write(&nest, gate, 3);
            for (unsigned i = 0; i < 500; i++)
                upmu_guest_retired(&nest.vcpu, 1, 1, false);
            assert_int_equal(enter_once(&entry), UPMU_GUEST_INJECT_NONE);
            for (unsigned i = 0; i < 500; i++)
                upmu_guest_retired(&nest.vcpu, 1, 1, false);
            nest_write(&nest, gate, 0);
            assert_int_equal(enter_once(&entry), UPMU_GUEST_INJECT_NONE);
            assert_int_equal(nest_read(&nest, value), 5);
            assert_int_equal(nest_read(&nest, value + step), 1000 * open);
            /* The guest asked once. */
            assert_int_equal(nest.vcpu.counter[0].denied, 1);
            assert_int_equal(nest.vcpu.counter[1].denied, 0);
        }
        nest_write(&nest, select, 0x410000 | branches);
        nest_write(&nest, gate, 1);
        assert_int_equal(enter_once(&entry), UPMU_GUEST_INJECT_NONE);
        assert_int_equal(nest.vcpu.counter[0].denied, 2);
        nest_end(&nest);
    }
}

/* ---- Events that are allowed ---- */

/* Some of each event that the tests below select. */
static const struct upmu_sim_burst each_event = {.instructions = 1000,
                                                 .cycles = 2000,
                                                 .ref_cycles = 1500,
                                                 .bus_cycles = 90,
                                                 .branches = 100,
                                                 .mispredicts = 20,
                                                 .llc_references = 30,
                                                 .llc_misses = 10,
                                                 .other = {{.count = 50, .event = 0xd1, .umask = 1}}};

static void the_filter_is_kvms(void **state)
{
    /* instructions; any of 2Eh with unit mask x1h, but not 41h; 3Ch with any but 01h */
    static const uint64_t masked[] = {UINT64_C(0xff000000000000c0), UINT64_C(0x0f0000000000012e),
                                      UINT64_C(0xff8000000000412e), 0x3c, UINT64_C(0xff8000000000013c)};
    static const uint64_t plain[] = {0x00c0, 0x412e};
    static const struct {
        uint64_t select;
        bool masked, plain;
        unsigned count; /* in each_event, of a guest that may count it */
    } cases[] = {{0x4300c0, true, true, 1000},
                 {0x4301c0, false, false, 0},
                 {0x43412e, false, true, 10},
                 {0x434f2e, false, false, 30},
                 {0x43003c, true, false, 2000},
                 {0x43013c, false, false, 90},
                 {0x4300c4, false, false, 100},
                 /* in transactions alone: no other event */
                 {0x1004300c0, true, true, 0}};

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (unsigned how = 0; how < 4; how++) {
            struct upmu_guest_filter filter = {.action = how & 1u ? UPMU_GUEST_FILTER_DENY : UPMU_GUEST_FILTER_ALLOW,
                                               .flags = how & 2u ? UPMU_GUEST_FILTER_MASKED : 0,
                                               .count = how & 2u ? 5 : 2,
                                               .fixed_bitmap = 1,
                                               .entry = how & 2u ? masked : plain};
            bool match = how & 2u ? cases[i].masked : cases[i].plain;

            assert_int_equal(upmu_guest_filter_check(&filter), UPMU_OK);
            nest_prepare(&nest, "skylake", NULL);
            nest.policy.level = UPMU_GUEST_LIST;
            nest.policy.filter = &filter;
            nest_shape(&nest, UPMU_GUEST_INTEL);
            nest_begin(&nest);
            nest_write(&nest, 0x186, cases[i].select);
            assert_int_equal(nest.shape.fixed, how & 1u ? 0 : 1);
            nest_write(&nest, 0x38d, how & 1u ? 0 : 3);
            nest_write(&nest, 0x38f, how & 1u ? 1 : 0x100000001);
            nest_run(&nest, &each_event);
            if (nest.vcpu.counter[0].denied != (match == (how & 1u)))
                fail_msg("select %llx, %u: denied %u", (unsigned long long)cases[i].select, how,
                         nest.vcpu.counter[0].denied);
            assert_int_equal(nest_read(&nest, 0xc1), match == (how & 1u) ? 0 : cases[i].count, i, how);
            if (!(how & 1u))
                assert_int_equal(nest_read(&nest, 0x309), 1000);
            nest_end(&nest);
        }
}

static void filters_that_are_not_well_formed_are_refused(void **state)
{
    static const uint64_t excluding[] = {UPMU_BIT64(55) | 0xc0}, odd[] = {UPMU_BIT64(36)}, fine[] = {0xf0000ffff};
    static uint64_t many[UPMU_GUEST_FILTER_ENTRIES + 1];
    static const struct upmu_guest_filter bad[] = {{.action = 2, .count = 1, .entry = fine},
                                                   {.flags = 2, .count = 1, .entry = fine},
                                                   {.count = 1},
                                                   {.count = UPMU_GUEST_FILTER_ENTRIES + 1, .entry = many},
                                                   {.count = 1, .entry = excluding},
                                                   {.flags = 1, .count = 1, .entry = odd}};

    (void)state;
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(upmu_guest_filter_check(&bad[i]), UPMU_ERR_INVALID, i);
    assert_int_equal(upmu_guest_filter_check(&(struct upmu_guest_filter){.count = 1, .entry = fine}), UPMU_OK);
    assert_int_equal(
        upmu_guest_filter_check(&(struct upmu_guest_filter){.count = UPMU_GUEST_FILTER_ENTRIES, .entry = many}),
        UPMU_OK);
    assert_int_equal(upmu_guest_filter_check(&(struct upmu_guest_filter){.flags = 1, .count = 1, .entry = excluding}),
                     UPMU_OK);
}

/* Its entries have the event's bits 35:32 of AMD's, which no event of Intel's has: they would deny nothing. */
static void a_filter_that_denies_nothing_by_mistake_is_refused(void **state)
{
    static const uint64_t high[] = {0xc0, UINT64_C(0x1000000c0)};
    struct upmu_guest_filter filter = {.count = 2, .entry = high};
    struct upmu_guest_policy policy = {
        .level = UPMU_GUEST_LIST, .flags = UPMU_GUEST_BESIDE_STRANGERS, .filter = &filter};
    struct upmu_guest_memory memory = {nest.sessions, NEST_SESSIONS, NULL};
    struct upmu_guest_shape shape;

    (void)state;
    nest_prepare(&nest, "zen4", NULL);
    for (unsigned deny = 0; deny < 2; deny++)
        for (unsigned intel = 0; intel < 2; intel++) {
            filter.action = (uint8_t)deny;
            assert_int_equal(upmu_guest_filter_check(&filter), UPMU_OK);
            assert_int_equal(upmu_guest_shape_default(&nest.host.machine, intel ? UPMU_GUEST_INTEL : UPMU_GUEST_AMD_V2,
                                                      &policy, &shape),
                             intel ? UPMU_ERR_INVALID : UPMU_OK);
            nest_shape(&nest, intel ? UPMU_GUEST_INTEL : UPMU_GUEST_AMD_V2); /* (of another policy) */
            assert_int_equal(upmu_guest_init(&nest.vcpu, &nest.host.machine, &nest.shape, &policy, &memory),
                             intel ? UPMU_ERR_INVALID : UPMU_OK);
        }
    nest.host.sim.test = &nest.host;
    host_end_idle(&nest.host);
}

static void level_ipc_has_its_events_and_no_kinds_of_them(void **state)
{
    static const uint64_t selects[] = {0x43003c, 0x4300c0, 0x2c300c0, 0x4700c0,
                                       0x43013c, 0xc3013c, 0x14300c0, 0x4300c1};
    static const bool allowed[] = {true, true, false, false, true, false, false, false};
    static const unsigned counts[] = {2000, 1000, 0, 0, 90, 0, 0, 0};

    (void)state;
    for (unsigned i = 0; i < sizeof selects / sizeof selects[0]; i++) {
        nest_prepare(&nest, "skylake", NULL);
        nest.policy.level = UPMU_GUEST_IPC;
        nest_shape(&nest, UPMU_GUEST_INTEL);
        nest_begin(&nest);
        nest_write(&nest, 0x186, selects[i]);
        nest_write(&nest, 0x38d, 3);
        nest_write(&nest, 0x38f, 0x100000001);
        nest_run(&nest, &each_event);
        assert_int_equal(nest.vcpu.counter[0].denied, !allowed[i], i);
        assert_int_equal(nest.vcpu.counter[16].denied, 0);
        assert_int_equal(nest_read(&nest, 0xc1), counts[i], i);
        assert_int_equal(nest_read(&nest, 0x309), 1000, i);
        nest_end(&nest);
    }
}

static void a_level_says_what_a_guest_may_count(void **state)
{
    /* cycles, branches, an event of this CPU alone */
    static const uint64_t selects[] = {0x43003c, 0x4300c4, 0x4301d1};
    static const unsigned counts[] = {2000, 100, 50};
    static const unsigned allowed[] = {
        [UPMU_GUEST_IPC] = 1, [UPMU_GUEST_ARCH] = 3, [UPMU_GUEST_ALL] = 7, [UPMU_GUEST_OFF] = 0};
    static const uint8_t levels[] = {UPMU_GUEST_IPC, UPMU_GUEST_ARCH, UPMU_GUEST_ALL, UPMU_GUEST_OFF};

    (void)state;
    for (unsigned i = 0; i < sizeof levels; i++) {
        nest_prepare(&nest, "skylake", NULL);
        nest.policy.level = levels[i];
        nest_shape(&nest, UPMU_GUEST_INTEL);
        nest_begin(&nest);
        for (unsigned k = 0; k < 3; k++)
            nest_write(&nest, 0x186 + k, selects[k]);
        nest_run(&nest, &each_event);
        for (unsigned k = 0; k < 3; k++) {
            bool counted = allowed[levels[i]] >> k & 1u;

            assert_int_equal(!nest.vcpu.counter[k].denied, counted, k, i);
            assert_int_equal(nest_read(&nest, 0xc1 + k), counted ? counts[k] : 0, k, i);
        }
        nest_end(&nest);
    }
    nest_prepare(&nest, "zen2", NULL);
    nest.policy.level = UPMU_GUEST_ARCH;
    nest_shape(&nest, UPMU_GUEST_AMD_CORE);
    nest_begin(&nest);
    nest_write(&nest, 0xc0010200u, 0x4300c0);
    nest_write(&nest, 0xc0010202u, 0x1004300c0);
    nest_run(&nest, &(struct upmu_sim_burst){.instructions = 40, .other = {{.count = 7, .event = 0xc0, .high = 1}}});
    assert_int_equal(nest.vcpu.counter[0].denied, 0);
    assert_int_equal(nest.vcpu.counter[1].denied, 1);
    assert_int_equal(nest_read(&nest, 0xc0010201u), 40);
    assert_int_equal(nest_read(&nest, 0xc0010203u), 0);
    nest_end(&nest);
    /* Another CPU's own events mean nothing here. */
    nest_prepare(&nest, "skylake", NULL);
    nest_shape(&nest, UPMU_GUEST_INTEL);
    nest.shape.model++;
    nest_begin(&nest);
    nest_write(&nest, 0x186, 0x4301d1);
    nest_write(&nest, 0x187, 0x4300c4);
    nest_run(&nest, &each_event);
    assert_int_equal(nest.vcpu.counter[0].denied, 1);
    assert_int_equal(nest.vcpu.counter[1].denied, 0);
    assert_int_equal(nest_read(&nest, 0xc1), 0);
    assert_int_equal(nest_read(&nest, 0xc2), 100);
    nest_end(&nest);
}

/*
 * A shape promises no more than the policy counts: each event and each fixed counter that CPUID shows counts, and an
 * event that it does not show is one that the guest's library calls unsupported.
 */
static void check_shown(const char *host, unsigned how)
{
    static const uint16_t codes[] = {0x003c, 0x00c0, 0x013c, 0x4f2e, 0x412e, 0x00c4, 0x00c5};
    static const char *const names[] = {"cycles",       "instructions", "bus-cycles",   "cache-references",
                                        "cache-misses", "branches",     "branch-misses"};
    uint32_t leaf[4] = {0, 0, 0, 0};

    nest.port.cpuid(&nest, 0xa, 0, leaf);
    for (unsigned i = 0; i < 7; i++) {
        struct upmu_event event;
        bool fixed = (leaf[3] & 0x1fu) > (i == 0 ? 1u : i == 1 ? 0u : 31u);

        if (leaf[1] >> i & 1u) {
            if (!fixed && upmu_event_parse(&nest.machine.pmu[0], names[i], &event, NULL) == UPMU_OK)
                fail_msg("%s, policy %u: %s is not shown, and encoded", host, how, names[i]);
            continue;
        }
        nest_write(&nest, 0x186, 0x430000u | codes[i]);
        nest_write(&nest, 0xc1, 0);
        if ((leaf[0] & 0xffu) >= 2)
            nest_write(&nest, 0x38f, 1);
        nest_run(&nest, &each_event);
        if (!nest_read(&nest, 0xc1) || nest.vcpu.counter[0].denied)
            fail_msg("%s, policy %u: %s is shown, and counts nothing", host, how, names[i]);
    }
    for (unsigned i = 0; i < (leaf[3] & 0x1fu); i++) {
        nest_write(&nest, 0x38d, 3u << 4 * i);
        nest_write(&nest, 0x38f, UINT64_C(1) << (32 + i));
        nest_run(&nest, &each_event);
        if (!nest_read(&nest, 0x309 + i))
            fail_msg("%s, policy %u: fixed counter %u is shown, and counts nothing", host, how, i);
    }
}

static void what_is_shown_counts(void **state)
{
    static const char *const hosts[] = {"skylake", "core2", "yonah", "p6", "northwood_smtoff", "zen4", "k8_revf"};
    static const uint64_t some[] = {0x00c0, 0x4f2e, 0x00c5}, masked[] = {UINT64_C(0xf00000000000412e), 0x3c};
    static const struct upmu_guest_filter filters[] = {
        {.count = 3, .entry = some, .fixed_bitmap = 3},
        {.count = 3, .entry = some, .fixed_bitmap = 6, .action = UPMU_GUEST_FILTER_DENY},
        {.count = 2, .entry = masked, .fixed_bitmap = 7, .flags = UPMU_GUEST_FILTER_MASKED},
        {.count = 0, .fixed_bitmap = 5, .action = UPMU_GUEST_FILTER_DENY},
        {.count = 0}};
    static const uint8_t levels[] = {UPMU_GUEST_IPC, UPMU_GUEST_ARCH, UPMU_GUEST_ALL, UPMU_GUEST_OFF};

    (void)state;
    for (unsigned h = 0; h < sizeof hosts / sizeof hosts[0]; h++)
        for (unsigned how = 0; how < 9; how++) {
            const struct upmu_sim_profile *host = upmu_sim_profile(hosts[h]);
            bool arch = !host->amd && host->version && !(host->flags & UPMU_SIM_P4);

            nest_prepare(&nest, hosts[h], arch ? NULL : "skylake");
            nest.policy.level = how < 4 ? levels[how] : UPMU_GUEST_LIST;
            nest.policy.filter = how < 4 ? NULL : &filters[how - 4];
            nest_shape(&nest, UPMU_GUEST_INTEL);
            assert_int_equal(upmu_guest_shape_denied(&nest.shape, &nest.policy), 0);
            nest_begin(&nest);
            nest_library(&nest);
            check_shown(hosts[h], how);
            assert_int_equal(upmu_cpu_fini(&nest.cpu), UPMU_OK);
            nest_end(&nest);
        }
    /* Each event and counter alone, beyond what the policy counts. */
    nest_prepare(&nest, "skylake", NULL);
    for (unsigned how = 0; how < 9; how++) {
        struct upmu_guest_shape shape, more;

        nest.policy.level = how < 4 ? levels[how] : UPMU_GUEST_LIST;
        nest.policy.filter = how < 4 ? NULL : &filters[how - 4];
        nest_shape(&nest, UPMU_GUEST_INTEL);
        shape = nest.shape;
        for (unsigned bit = 0; bit < 8; bit++) {
            more = shape;
            if (bit < 7)
                more.arch_events |= (uint16_t)(1u << bit);
            else if (more.fixed < 3)
                more.fixed++;
            assert_int_equal(
                upmu_guest_init(&nest.vcpu, &nest.host.machine, &more, &nest.policy,
                                &(struct upmu_guest_memory){nest.sessions, NEST_SESSIONS, NULL}),
                memcmp(&more, &shape, sizeof shape) == 0 ? UPMU_OK : UPMU_ERR_UNSUPPORTED);
        }
    }
    nest.host.sim.test = &nest.host;
    host_end_idle(&nest.host);
}

/* ---- Another policy ---- */

static const struct upmu_guest_policy of_ipc = {.level = UPMU_GUEST_IPC, .min_period = 1},
                                      of_all = {.level = UPMU_GUEST_ALL,
                                                .flags = UPMU_GUEST_BESIDE_STRANGERS,
                                                .min_period = 1};

static void a_policy_changes_while_its_guest_lives(void **state)
{
    uint32_t leaf[4] = {0, 0, 0, 0};

    (void)state;
    nest_set_up(&nest, "skylake", UPMU_GUEST_INTEL);
    nest_write(&nest, 0x186, 0x4300c4); /* branches */
    nest_write(&nest, 0x187, 0x4300c0);
    nest_write(&nest, 0x38f, 3);
    nest_run(&nest, BURST(100));
    nest_exit(&nest);
    assert_false(upmu_guest_shape_is_stale(&nest.vcpu));
    assert_int_equal(upmu_guest_policy_change(&nest.vcpu, &of_ipc), UPMU_OK);
    /* At once for what the hypervisor executes, at the entry for what the guest does. */
    upmu_guest_retired(&nest.vcpu, 1, 1, false);
    nest_run(&nest, BURST(100));
    assert_int_equal(nest_read(&nest, 0xc1), 25);
    assert_int_equal(nest_read(&nest, 0xc2), 201);
    assert_int_equal(nest.vcpu.counter[0].denied, 1);
    assert_int_equal(nest.vcpu.counter[1].denied, 0);
    /* What was shown stands, and the hypervisor can see that it is stale. */
    nest.port.cpuid(&nest, 0xa, 0, leaf);
    assert_int_equal(leaf[1], 0);
    assert_true(upmu_guest_shape_is_stale(&nest.vcpu));
    assert_int_equal(nest_read(&nest, 0x186), 0x4300c4);
    nest_exit(&nest);
    assert_int_equal(upmu_guest_policy_change(&nest.vcpu, &of_all), UPMU_OK);
    assert_false(upmu_guest_shape_is_stale(&nest.vcpu));
    nest_run(&nest, BURST(100));
    assert_int_equal(nest_read(&nest, 0xc1), 50);
    assert_int_equal(nest_read(&nest, 0xc2), 301);
    assert_int_equal(nest.vcpu.counter[0].denied, 1);
    nest_end(&nest);
}

static void a_reset_shows_what_the_present_policy_counts(void **state)
{
    static const uint64_t entry = 0xc0;
    static const struct upmu_guest_filter instructions = {.count = 1, .fixed_bitmap = 1, .entry = &entry};
    static const struct upmu_guest_policy listed = {
        .level = UPMU_GUEST_LIST, .flags = UPMU_GUEST_BESIDE_STRANGERS, .filter = &instructions, .min_period = 1};
    uint32_t leaf[4] = {0, 0, 0, 0};
    struct upmu_guest_shape shape;

    (void)state;
    nest_set_up(&nest, "skylake", UPMU_GUEST_INTEL);
    shape = nest.shape;
    for (unsigned i = 0; i < 3; i++) {
        nest_write(&nest, 0x38d, 0x333);
        nest_write(&nest, 0x38f, 0x700000000);
        nest_run(&nest, BURST(50));
        assert_int_equal(nest_read(&nest, 0x30b), 100);
        nest_exit(&nest);
        assert_int_equal(upmu_guest_policy_change(&nest.vcpu, &listed), UPMU_OK);
        assert_memory_equal(&nest.vcpu.shape, &shape, sizeof shape);
        upmu_guest_reset(&nest.vcpu);
        assert_false(upmu_guest_shape_is_stale(&nest.vcpu));
        nest.port.cpuid(&nest, 0xa, 0, leaf);
        assert_int_equal(leaf[1], 0x7d);
        assert_int_equal(leaf[3] & 0x1f, 1);
        assert_false(nest.port.wrmsr(&nest, 0x38d, 0x33));
        assert_false(nest.port.wrmsr(&nest, 0x30a, 0));
        nest_write(&nest, 0x38d, 3);
        nest_write(&nest, 0x38f, 0x100000000);
        nest_run(&nest, BURST(30));
        assert_int_equal(nest_read(&nest, 0x309), 30);
        assert_int_equal(nest_read(&nest, 0x38e), 0);
        nest_exit(&nest);
        assert_int_equal(upmu_guest_policy_change(&nest.vcpu, &of_all), UPMU_OK);
        assert_true(upmu_guest_shape_is_stale(&nest.vcpu));
        upmu_guest_reset(&nest.vcpu);
        assert_memory_equal(&nest.vcpu.shape, &shape, sizeof shape);
    }
    nest_end(&nest);
}

/* ---- How many counters count ---- */

/* The default shape has no more counters than the policy lets count, and an Intel or V2 shape with more is refused. */
static void a_shape_has_no_more_counters_than_its_policy(void **state)
{
    static const struct {
        const char *host;
        enum upmu_guest_door door;
        uint8_t most, general, fixed;
    } rows[] = {
        {"skylake", UPMU_GUEST_INTEL, 0, 4, 3},  {"skylake", UPMU_GUEST_INTEL, 1, 1, 0},
        {"skylake", UPMU_GUEST_INTEL, 4, 4, 0},  {"skylake", UPMU_GUEST_INTEL, 5, 4, 1},
        {"skylake", UPMU_GUEST_INTEL, 7, 4, 3},  {"skylake", UPMU_GUEST_INTEL, 255, 4, 3},
        {"zen4", UPMU_GUEST_AMD_V2, 0, 6, 0},    {"zen4", UPMU_GUEST_AMD_V2, 3, 3, 0},
        {"zen4", UPMU_GUEST_AMD_V2, 6, 6, 0},    {"zen2", UPMU_GUEST_AMD_CORE, 2, 6, 0},
        {"k8_revf", UPMU_GUEST_AMD_K7, 2, 4, 0},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bool binds = rows[i].most && rows[i].general + rows[i].fixed >= rows[i].most && rows[i].general <= rows[i].most;
        struct upmu_guest_shape more;

        nest_prepare(&nest, rows[i].host, NULL);
        nest.policy.max_counters = rows[i].most;
        nest_shape(&nest, rows[i].door);
        assert_int_equal(nest.shape.general, rows[i].general, i);
        assert_int_equal(nest.shape.fixed, rows[i].fixed, i);
        assert_int_equal(upmu_guest_shape_denied(&nest.shape, &nest.policy), 0);
        nest_begin(&nest);
        nest_end(&nest);
        more = nest.shape;
        if (rows[i].door == UPMU_GUEST_INTEL && more.fixed < 3)
            more.fixed++;
        else if (more.general < 6)
            more.general++;
        assert_int_equal(upmu_guest_shape_denied(&more, &nest.policy) == UPMU_GUEST_DENIED_COUNTERS,
                         binds && memcmp(&more, &nest.shape, sizeof more) != 0);
        if (!binds || memcmp(&more, &nest.shape, sizeof more) == 0)
            continue;
        nest_prepare(&nest, rows[i].host, NULL);
        nest.policy.max_counters = rows[i].most;
        assert_int_equal(upmu_guest_init(&nest.vcpu, &nest.host.machine, &more, &nest.policy,
                                         &(struct upmu_guest_memory){nest.sessions, NEST_SESSIONS, NULL}),
                         UPMU_ERR_UNSUPPORTED);
        nest.host.sim.test = &nest.host;
        host_end_idle(&nest.host);
    }
}

static void assert_values(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint32_t waiting)
{
    const uint64_t expected[4] = {a, b, c, d};

    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(nest_read(&nest, 0xc0010201u + 2 * i), expected[i], i);
    assert_int_equal(nest.vcpu.waiting, waiting);
}

/* Counters that count go on; of the others those with the lowest numbers are next, and the rest stand still. */
static void counters_beyond_the_policys_number_stand_still(void **state)
{
    struct upmu_guest_policy wide, narrow;
    uint64_t value;

    (void)state;
    nest_prepare(&nest, "zen2", NULL);
    wide = nest.policy;
    nest.policy.max_counters = 2;
    nest.policy.flags |= UPMU_GUEST_STRICT;
    narrow = nest.policy;
    narrow.max_counters = 1;
    nest_shape(&nest, UPMU_GUEST_AMD_CORE);
    nest_begin(&nest);
    for (unsigned i = 0; i < 4; i++)
        nest_write(&nest, 0xc0010200u + 2 * i, 0x4300c0);
    nest_run(&nest, BURST(100));
    assert_int_equal(nest.refused, 1);
    assert_values(100, 100, 0, 0, 0xc);
    nest_exit(&nest);
    upmu_guest_retired(&nest.vcpu, 7, 0, false);
    assert_values(107, 107, 0, 0, 0xc);
    nest_write(&nest, 0xc0010200u, 0);
    nest_run(&nest, BURST(50));
    assert_values(107, 157, 50, 0, 8);
    nest_write(&nest, 0xc0010200u, 0x4300c0);
    nest_run(&nest, BURST(10));
    assert_values(107, 167, 60, 0, 9);
    nest_write(&nest, 0xc0010202u, 0);
    nest_write(&nest, 0xc0010204u, 0);
    nest_run(&nest, BURST(5));
    assert_values(112, 167, 60, 5, 0);
    nest_write(&nest, 0xc0010202u, 0x4300c0);
    nest_write(&nest, 0xc0010204u, 0x4300c0);
    nest_exit(&nest);
    assert_int_equal(upmu_guest_policy_change(&nest.vcpu, &wide), UPMU_OK);
    nest_run(&nest, BURST(1));
    assert_values(113, 168, 61, 6, 0);
    nest_exit(&nest);
    assert_int_equal(upmu_guest_policy_change(&nest.vcpu, &narrow), UPMU_OK);
    nest_run(&nest, BURST(1));
    assert_values(114, 168, 61, 6, 0xe);
    nest_end(&nest);
    /* What CPUID has shown stands until the reset. */
    nest_set_up(&nest, "skylake", UPMU_GUEST_INTEL);
    narrow = nest.policy;
    narrow.max_counters = 2;
    assert_int_equal(upmu_guest_policy_change(&nest.vcpu, &narrow), UPMU_OK);
    assert_true(upmu_guest_shape_is_stale(&nest.vcpu));
    nest_write(&nest, 0x188, 0);
    upmu_guest_reset(&nest.vcpu);
    assert_false(upmu_guest_shape_is_stale(&nest.vcpu));
    assert_int_equal(nest.vcpu.shape.general, 2);
    assert_int_equal(nest.vcpu.shape.fixed, 0);
    assert_false(nest.port.rdmsr(&nest, 0x188, &value));
    nest_end(&nest);
}

static void a_policy_that_cannot_be_changes_nothing(void **state)
{
    static const struct upmu_guest_policy bad[] = {
        {.level = 9},
        {.level = UPMU_GUEST_LIST, .flags = UPMU_GUEST_BESIDE_STRANGERS},
        {.min_period = UINT64_C(1) << 32},
        {.level = UPMU_GUEST_ARCH},
        {.flags = UPMU_GUEST_OWN_LAPIC},
        {.flags = UPMU_GUEST_PASSES}};
    static const enum upmu_status why[] = {UPMU_ERR_INVALID,       UPMU_ERR_INVALID, UPMU_ERR_INVALID,
                                           UPMU_ERR_NOT_PERMITTED, UPMU_ERR_STATE,   UPMU_ERR_STATE};
    static struct upmu_guest before;

    (void)state;
    nest_set_up(&nest, "skylake", UPMU_GUEST_INTEL);
    before = nest.vcpu;
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(upmu_guest_policy_change(&nest.vcpu, &bad[i]), why[i], i);
        assert_memory_equal(&before, &nest.vcpu, sizeof before);
    }
    nest_end(&nest);
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
    nest_shape(&there, UPMU_GUEST_INTEL);
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
        /* (An interrupt of a counter that does not exist.) */
        if (bit / 32 == 27 && !(nest.vcpu.counters >> bit % 32 & 1u))
            assert_int_equal(status, UPMU_ERR_INVALID);
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

/* ---- What the hypervisor answers ---- */

static void the_guest_is_told_that_there_is_a_hypervisor(void **state)
{
    (void)state;
    for (unsigned pair = 0; pair < PAIRS; pair++)
        for (unsigned how = 0; how < 4; how++) {
            uint32_t before = how & 1u ? UPMU_BIT32(31) : 0, word[4] = {0, 0, before, 0};
            bool own = how & 2u;

            nest_set_up(&nest, pairs[pair].host, pairs[pair].door);
            nest.policy.flags |= own ? UPMU_GUEST_NO_HYPERVISOR_BIT : 0;
            (void)upmu_guest_cpuid(&nest.vcpu, 1, 0, word);
            assert_int_equal(word[2] & UPMU_BIT32(31), own ? before : UPMU_BIT32(31));
            nest_end(&nest);
        }
}

/* Bit by bit, by the register of an xAPIC and by that of an x2APIC. */
static void the_interrupt_entry_of_the_apic_has_its_bits(void **state)
{
    uint64_t value;

    (void)state;
    for (unsigned pair = 0; pair < PAIRS; pair++) {
        nest_set_up(&nest, pairs[pair].host, pairs[pair].door);
        assert_int_equal(nest_read(&nest, 0x834), 0x10000);
        for (unsigned bit = 0; bit < 64; bit++) {
            uint64_t kept = UPMU_BIT64(bit) & 0x107ff;

            assert_int_equal(nest.port.wrmsr(&nest, 0x834, UPMU_BIT64(bit)), bit < 32);
            if (bit >= 32)
                continue;
            assert_int_equal(nest.vcpu.x86.lvtpc, kept);
            assert_int_equal(nest_read(&nest, 0x834), kept);
            upmu_guest_lvtpc(&nest.vcpu, 0);
            upmu_guest_lvtpc(&nest.vcpu, UPMU_BIT32(bit));
            assert_int_equal(nest.vcpu.x86.lvtpc, kept);
        }
        /* A disabled APIC has masked it, and keeps it so. */
        upmu_guest_lvtpc(&nest.vcpu, 0x400);
        upmu_guest_lapic(&nest.vcpu, false);
        assert_int_equal(nest.vcpu.x86.lvtpc, 0x10400);
        nest_write(&nest, 0x834, 0x4f0);
        assert_int_equal(nest.vcpu.x86.lvtpc, 0x104f0);
        upmu_guest_lapic(&nest.vcpu, true);
        assert_int_equal(nest.vcpu.x86.lvtpc, 0x104f0);
        nest_write(&nest, 0x834, 0x4f0);
        assert_int_equal(nest.vcpu.x86.lvtpc, 0x4f0);
        upmu_guest_lapic(&nest.vcpu, false);
        upmu_guest_reset(&nest.vcpu);
        upmu_guest_lvtpc(&nest.vcpu, 0x400);
        assert_int_equal(nest.vcpu.x86.lvtpc, 0x400);
        nest_end(&nest);
        /* It is the hypervisor's, with an APIC of its own. */
        nest_prepare(&nest, pairs[pair].host, NULL);
        nest.policy.flags |= UPMU_GUEST_OWN_LAPIC;
        nest_shape(&nest, pairs[pair].door);
        nest_begin(&nest);
        assert_int_equal(upmu_guest_rdmsr(&nest.vcpu, 0x834, &value), UPMU_GUEST_NOT_OURS);
        assert_int_equal(upmu_guest_wrmsr(&nest.vcpu, 0x834, 0x400), UPMU_GUEST_NOT_OURS);
        nest_end(&nest);
    }
}

/*
 * Guest-only and host-only, bits 40 and 41 of AMD's selects: a shape without SVM has neither.  A driver that sets them
 * nevertheless counts what it executes.  (EFER is the hypervisor's: its bit SVME changes nothing here.)
 */
static void a_guest_without_svm_has_no_guests(void **state)
{
    static const enum upmu_guest_door doors[] = {UPMU_GUEST_AMD_K7, UPMU_GUEST_AMD_CORE, UPMU_GUEST_AMD_V2};
    static const char *const hosts[] = {"zen4", "k8_revf", "zen2", "skylake"};

    (void)state;
    for (unsigned i = 0; i < 12; i++)
        for (unsigned bits = 0; bits < 4; bits++) {
            uint32_t select = i % 3 ? 0xc0010200u : 0xc0010000u, counter = i % 3 ? 0xc0010201u : 0xc0010004u;

            nest_set_up(&nest, hosts[i / 3], doors[i % 3]);
            nest_write(&nest, select, 0x4300c0 | (uint64_t)bits << 40);
            assert_int_equal(nest_read(&nest, select), 0x4300c0);
            nest_run(&nest, BURST(77));
            assert_int_equal(nest_read(&nest, counter), 77);
            nest_end(&nest);
        }
}

/*
 * With SVM a counter counts in the modes that its bits name, and nothing while SVME is 0: AMD APM vol 2 table 13-4,
 * which Linux tools/testing/selftests/kvm/x86/svm_pmu_host_guest_test.c checks.
 */
static bool counts(unsigned bits, bool svme, bool nested)
{
    static const bool table[4][2] = {{true, true}, {false, true}, {true, false}, {true, true}};

    return bits ? svme && table[bits][nested] : true;
}

static void a_guest_with_svm_counts_in_the_modes_of_its_selects(void **state)
{
    static const enum upmu_guest_door doors[] = {UPMU_GUEST_AMD_K7, UPMU_GUEST_AMD_CORE, UPMU_GUEST_AMD_V2};
    static const char *const hosts[] = {"zen4", "k8_revf", "zen2", "skylake"};

    (void)state;
    for (unsigned i = 0; i < 24; i++)
        for (unsigned bits = 0; bits < 4; bits++) {
            uint32_t select = i % 3 ? 0xc0010200u : 0xc0010000u, counter = i % 3 ? 0xc0010201u : 0xc0010004u;
            bool has_svm = i >= 12;
            uint64_t word = 0x4300c0 | (uint64_t)(has_svm ? bits : 0) << 40, expected = 0;

            nest_prepare(&nest, hosts[i / 3 % 4], i / 3 % 4 == 3 ? "zen2" : NULL);
            nest.policy.flags |= has_svm ? UPMU_GUEST_NESTED_SVM : 0;
            nest_shape(&nest, doors[i % 3]);
            nest_begin(&nest);
            nest_write(&nest, select, 0x4300c0 | (uint64_t)bits << 40);
            assert_int_equal(nest_read(&nest, select), word);
            /* Each mode after each other one; the instruction that changes the mode is counted in the new mode. */
            for (unsigned change = 0; change < 16; change++) {
                unsigned mode = change & 4u ? change : change >> 2;
                bool svme = mode & 1u, nested = mode & 2u;

                nest_exit(&nest);
                upmu_guest_mode(&nest.vcpu, svme, nested);
                upmu_guest_retired(&nest.vcpu, 1, 0, false);
                nest_run(&nest, BURST(77));
                expected += counts(has_svm ? bits : 0, svme, nested) ? 78 : 0;
                if (nest_read(&nest, counter) != expected)
                    fail_msg("%s, door %u, bits %u, SVME %u, nested %u: %u instead of %u", hosts[i / 3 % 4], i % 3,
                             bits, svme, nested, (unsigned)nest_read(&nest, counter), (unsigned)expected);
            }
            nest_exit(&nest);
            upmu_guest_mode(&nest.vcpu, true, true);
            upmu_guest_reset(&nest.vcpu);
            assert_false(nest.vcpu.x86.svme || nest.vcpu.x86.nested);
            nest_end(&nest);
        }
}

/* ---- Statistics ---- */

static struct upmu_guest_statistics sums;

static void assert_sums(const char *when, const struct upmu_guest_statistics *expected)
{
    const uint64_t *is = &sums.traps_read, *wanted = &expected->traps_read;

    for (unsigned i = 0; i < sizeof sums / sizeof *is; i++)
        if (is[i] != wanted[i])
            fail_msg("%s: sum %u is %u instead of %u", when, i, (unsigned)is[i], (unsigned)wanted[i]);
}

/* Each sum by itself, and no sum by what the hypervisor does for itself. */
static void statistics_are_of_what_a_guest_did(void **state)
{
    struct upmu_guest_statistics expected = {0};
    uint64_t value;

    (void)state;
    sums = expected;
    nest_prepare(&nest, "skylake", NULL);
    nest.policy = (struct upmu_guest_policy){.level = UPMU_GUEST_IPC};
    nest_shape(&nest, UPMU_GUEST_INTEL);
    nest_begin(&nest);
    nest.handler = count_injected;
    nest_write(&nest, 0x38f, 0);
    upmu_guest_set_statistics(&nest.vcpu, &sums);
    nest_write(&nest, 0x186, 0x5300c0);
    nest_write(&nest, 0xc1, (uint64_t)-100);
    nest_write(&nest, 0x187, 0x4300c4); /* which this policy denies */
    nest_lvtpc(&nest, 0x400);
    expected.traps_write = 3;
    assert_sums("registers", &expected);
    nest_run(&nest, BURST(10));
    expected.entries = 1;
    assert_sums("an entry into which nothing counts", &expected);
    nest_write(&nest, 0x38f, 3);
    expected.traps_write++;
    expected.entries++, expected.entries_counting++;
    expected.denied++;
    expected.late++; /* 100 events to go, and at least 1000 between two interrupts of the host */
    assert_sums("an entry", &expected);
    assert_int_equal(nest_read(&nest, 0xc2), 0);
    assert_true(nest.port.rdpmc(&nest, 0, &value));
    assert_false(nest.port.rdmsr(&nest, 0x680, &value));
    assert_false(nest.port.rdpmc(&nest, 77, &value));
    assert_false(nest.port.wrmsr(&nest, 0x187, UINT64_MAX));
    (void)nest.port.rdmsr(&nest, 0x10, &value); /* not the engine's */
    expected.traps_read += 4, expected.traps_write++, expected.faults += 3;
    expected.entries += 6, expected.entries_counting += 6;
    assert_sums("reads and faults", &expected);
    nest_run(&nest, BURST(1001));
    expected.entries++, expected.entries_counting++;
    expected.host_interrupts++, expected.injected++;
    assert_sums("an interrupt", &expected);
    nest_exit(&nest);
    assert_true(upmu_guest_state_get(&nest.vcpu, 0xc1, &value));
    assert_true(upmu_guest_state_set(&nest.vcpu, 0xc1, value));
    assert_false(upmu_guest_state_get(&nest.vcpu, 0x680, &value));
    (void)upmu_guest_msr_range(&nest.vcpu, 0, &(struct upmu_guest_range){0, 0, false});
    assert_sums("the host's own accesses", &expected);
    upmu_guest_set_statistics(&nest.vcpu, NULL);
    nest_write(&nest, 0x38f, 1);
    nest_run(&nest, BURST(10));
    assert_sums("without the structure", &expected);
    nest_end(&nest);
    /* One counter more than the host has. */
    nest_prepare(&nest, "core2", NULL);
    nest_shape(&nest, UPMU_GUEST_INTEL);
    nest.shape.general = 3;
    nest_begin(&nest);
    sums = (struct upmu_guest_statistics){0};
    upmu_guest_set_statistics(&nest.vcpu, &sums);
    for (unsigned i = 0; i < 3; i++)
        nest_write(&nest, 0x186 + i, 0x4300c4);
    nest_run(&nest, BURST(10));
    nest_write(&nest, 0x186, 0);
    expected = (struct upmu_guest_statistics){.traps_write = 4, .entries = 2, .entries_counting = 2, .waited = 1};
    assert_sums("a counter stands still", &expected);
    nest_end(&nest);
}

/* Counts, interrupts and exits are the same for a guest that is watched. */
static void what_a_guest_sees_does_not_depend_on_statistics(void **state)
{
    uint64_t values[2][3];

    (void)state;
    for (unsigned pair = 0; pair < PAIRS; pair++) {
        bool intel = pairs[pair].door == UPMU_GUEST_INTEL;

        for (unsigned watched = 0; watched < 2; watched++) {
            nest_set_up(&nest, pairs[pair].host, pairs[pair].door);
            nest.handler = count_injected;
            sums = (struct upmu_guest_statistics){0};
            upmu_guest_set_statistics(&nest.vcpu, watched ? &sums : NULL);
            nest_lvtpc(&nest, 0x400);
            nest_write(&nest, intel ? 0x186 : 0xc0010000u, 0x5300c0);
            nest_write(&nest, intel ? 0xc1 : 0xc0010004u, (uint64_t)-20);
            nest_run(&nest, BURST(500));
            values[watched][0] = nest.injected; /* before a read could find the overflow */
            values[watched][1] = nest.exits;
            values[watched][2] = nest_read(&nest, intel ? 0xc1 : 0xc0010004u);
            assert_int_equal(sums.host_interrupts, watched);
            assert_int_equal(sums.injected, watched * nest.injected);
            nest_end(&nest);
        }
        assert_memory_equal(values[0], values[1], sizeof values[0]);
        assert_int_equal(values[0][0], 1);
    }
}

/* ---- A guest in a guest ---- */

static void a_guest_is_a_host(void **state)
{
    static const unsigned of_pairs[] = {0, 1, 2, 4, 5};

    (void)state;
    for (unsigned i = 0; i < sizeof of_pairs / sizeof of_pairs[0]; i++) {
        static struct upmu_guest inner;
        static struct upmu_session sessions[4], session;
        static struct upmu_thread threads[2];
        enum upmu_guest_door door = pairs[of_pairs[i]].door;
        bool intel = door == UPMU_GUEST_INTEL;
        uint32_t counter = intel ? 0xc1 : 0xc0010004u, select = intel ? 0x186 : 0xc0010000u;
        struct upmu_guest_shape shape;
        struct upmu_guest_entry entry;
        struct upmu_count count;
        uint64_t value;
        unsigned interrupts = 0;

        nest_set_up(&nest, pairs[of_pairs[i]].host, door);
        nest_library(&nest);
        /* The guest's own instance is the host of another guest, and counts itself beside it. */
        for (unsigned k = 0; k < 2; k++)
            upmu_thread_init(&threads[k], k, k, NULL);
        assert_int_equal(upmu_guest_shape_default(&nest.machine, door, &nest.policy, &shape), UPMU_OK);
        assert_int_equal(upmu_guest_init(&inner, &nest.machine, &shape, &nest.policy,
                                         &(struct upmu_guest_memory){sessions, 4, &threads[1]}),
                         UPMU_OK);
        assert_int_equal(upmu_session_init(&session, &nest.machine), UPMU_OK);
        assert_int_equal(upmu_set_add(&session.set, "branches", NULL), UPMU_OK);
        assert_int_equal(upmu_session_world(&session, UPMU_WORLD_HOST), UPMU_OK);
        assert_int_equal(upmu_session_attach_cpu(&session, &nest.cpu), UPMU_OK);
        assert_int_equal(upmu_session_start(&session), UPMU_OK);
        assert_int_equal(upmu_thread_switch(&nest.cpu, &threads[0], &threads[1]), UPMU_OK);
        assert_int_equal(upmu_guest_wrmsr(&inner, select, 0x5300c0), UPMU_GUEST_DONE);
        assert_int_equal(upmu_guest_wrmsr(&inner, counter, (uint64_t)-250 & (intel ? UINT64_MAX : inner.mask)),
                         UPMU_GUEST_DONE);
        upmu_guest_lvtpc(&inner, 0x400);
        for (unsigned k = 0; k < 10; k++) {
            assert_int_equal(upmu_guest_enter(&inner, &entry), UPMU_OK);
            interrupts += entry.inject == UPMU_GUEST_INJECT_NMI;
            nest_run(&nest, BURST(100));
            assert_int_equal(upmu_guest_exit(&inner), UPMU_OK);
            nest_run(&nest, BURST(40));
            nest_run_host(&nest, BURST(7000));
            nest_enter(&nest);
        }
        assert_int_equal(upmu_guest_rdmsr(&inner, counter, &value), UPMU_GUEST_DONE);
        assert_int_equal(value, 750);
        assert_int_equal(interrupts, 1);
        assert_int_equal(upmu_set_read(&session.set, 0, 1, &count), UPMU_OK);
        assert_int_equal(count.value, 100);
        assert_int_equal(upmu_session_close(&session), UPMU_OK);
        assert_int_equal(upmu_thread_switch(&nest.cpu, &threads[1], &threads[0]), UPMU_OK);
        assert_int_equal(upmu_guest_fini(&inner), UPMU_OK);
        assert_int_equal(upmu_cpu_fini(&nest.cpu), UPMU_OK);
        nest_end(&nest);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(costs_are_these_where_one_register_gates_all),
        cmocka_unit_test(costs_are_these_where_selects_are_gates),
        cmocka_unit_test(costs_of_a_guests_library_are_these),
        cmocka_unit_test(an_entry_and_an_exit_cost_less_than_a_whole_pmu),
        cmocka_unit_test(values_and_status_are_right_whatever_was_not_looked_at),
        cmocka_unit_test(a_reset_leaves_nothing),
        cmocka_unit_test(a_counter_that_finds_no_place_stands_still_and_is_named),
        cmocka_unit_test(no_counter_of_the_default_shape_waits),
        cmocka_unit_test(a_counter_whose_place_the_host_takes_waits),
        cmocka_unit_test(a_session_of_the_host_that_starts_displaces_a_guests),
        cmocka_unit_test(a_vcpu_without_a_thread_is_loaded_and_put),
        cmocka_unit_test(an_end_says_the_failure_that_leaves_a_session_open),
        cmocka_unit_test(on_cores_of_another_type_counters_stand_still_and_are_named),
        cmocka_unit_test(shapes_and_policies_beyond_the_limits_are_refused),
        cmocka_unit_test(the_default_shape_has_the_version_of_the_host),
        cmocka_unit_test(gates_of_the_vmcs_cost_nothing_and_count_exactly),
        cmocka_unit_test(an_interrupt_is_what_the_local_apic_of_the_guest_says),
        cmocka_unit_test(an_overflow_interrupts_as_its_select_said),
        cmocka_unit_test(versions_2_and_3_freeze_by_their_global_control),
        cmocka_unit_test(the_high_bits_of_an_event_are_looked_at),
        cmocka_unit_test(without_interrupts_overflows_are_found_at_entries),
        cmocka_unit_test(an_interrupt_waits_for_the_policys_period),
        cmocka_unit_test(an_overflow_that_a_write_brings_to_light_is_injected_at_once),
        cmocka_unit_test(what_the_hypervisor_executes_for_the_guest_is_counted),
        cmocka_unit_test(a_denied_event_takes_nothing_that_the_hypervisor_executes),
        cmocka_unit_test(the_filter_is_kvms),
        cmocka_unit_test(filters_that_are_not_well_formed_are_refused),
        cmocka_unit_test(a_filter_that_denies_nothing_by_mistake_is_refused),
        cmocka_unit_test(level_ipc_has_its_events_and_no_kinds_of_them),
        cmocka_unit_test(a_level_says_what_a_guest_may_count),
        cmocka_unit_test(what_is_shown_counts),
        cmocka_unit_test(a_policy_changes_while_its_guest_lives),
        cmocka_unit_test(a_reset_shows_what_the_present_policy_counts),
        cmocka_unit_test(a_shape_has_no_more_counters_than_its_policy),
        cmocka_unit_test(counters_beyond_the_policys_number_stand_still),
        cmocka_unit_test(a_policy_that_cannot_be_changes_nothing),
        cmocka_unit_test(the_guest_is_told_that_there_is_a_hypervisor),
        cmocka_unit_test(the_interrupt_entry_of_the_apic_has_its_bits),
        cmocka_unit_test(a_guest_without_svm_has_no_guests),
        cmocka_unit_test(a_guest_with_svm_counts_in_the_modes_of_its_selects),
        cmocka_unit_test(statistics_are_of_what_a_guest_did),
        cmocka_unit_test(what_a_guest_sees_does_not_depend_on_statistics),
        cmocka_unit_test(a_guest_is_a_host),
        cmocka_unit_test(a_guest_goes_on_elsewhere_with_its_counts),
        cmocka_unit_test(an_overflow_is_injected_once_wherever_the_guest_is_saved),
        cmocka_unit_test(damaged_states_are_refused_and_change_nothing),
        cmocka_unit_test(a_guest_counts_exactly_what_it_executes),
        cmocka_unit_test(a_guest_samples_each_period),
    };

    return cmocka_run_group_tests_name("guest", tests, NULL, NULL);
}
