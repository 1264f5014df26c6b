/* SPDX-License-Identifier: MIT */
/*
 * Counters of the host that hold a guest's own values (docs/GUESTS.md, "What the guest may read itself"): each register
 * that passes reads what a trap would have answered.
 */
#include "tests/guest/nest.c"

#define BURST(n)                                                                                                       \
    (&(struct upmu_sim_burst){.instructions = (n), .cycles = 2 * (n), .ref_cycles = 2 * (n), .branches = (n) / 4})

static struct nest nest;

static void ignore_interrupt(struct nest *guest, const struct upmu_frame *frame)
{
    (void)guest;
    (void)frame;
}

static const struct {
    const char *host;
    enum upmu_guest_door door;
} pairs[] = {{"skylake", UPMU_GUEST_INTEL},  {"icelake", UPMU_GUEST_INTEL},  {"skylake_smtoff", UPMU_GUEST_INTEL},
             {"zen4", UPMU_GUEST_AMD_V2},    {"zen2", UPMU_GUEST_AMD_CORE},  {"k8_revf", UPMU_GUEST_AMD_K7},
             {"barcelona", UPMU_GUEST_AMD_K7}};
#define PAIRS (sizeof pairs / sizeof pairs[0])

static void begin_with(const char *host, enum upmu_guest_door door, unsigned flags)
{
    nest_prepare(&nest, host, NULL);
    host_threads(&nest.host, 3);
    nest.host.running[0] = 0;
    nest.policy.flags |= (uint8_t)flags;
    nest.handler = ignore_interrupt;
    nest_shape(&nest, door);
    nest_begin(&nest);
}

static bool is_intel(void)
{
    return nest.shape.door == UPMU_GUEST_INTEL;
}

static uint32_t select_of(unsigned n)
{
    return is_intel() ? 0x186 + n : nest.shape.door == UPMU_GUEST_AMD_K7 ? 0xc0010000u + n : 0xc0010200u + 2 * n;
}

static uint32_t counter_of(unsigned n)
{
    return is_intel() ? 0xc1 + n : nest.shape.door == UPMU_GUEST_AMD_K7 ? 0xc0010004u + n : 0xc0010201u + 2 * n;
}

static void open_all(void)
{
    if (is_intel())
        nest_write(&nest, 0x38f, upmu_guest_bits(nest.vcpu.counters));
    else if (nest.shape.door == UPMU_GUEST_AMD_V2)
        nest_write(&nest, 0xc0000301u, 0x3f);
}

/* What the guest reads without a trap, the width of its counters. */
static uint64_t native(uint32_t msr)
{
    return upmu_sim_peek(&nest.host.sim, 0, msr) & nest.vcpu.mask;
}

static void a_register_that_passes_holds_the_guests_value(void **state)
{
    (void)state;
    for (unsigned pair = 0; pair < PAIRS; pair++) {
        uint64_t expected[2] = {0x123456789abc, UINT64_C(0xffffffffffff) - 150};

        begin_with(pairs[pair].host, pairs[pair].door, UPMU_GUEST_PASSES);
        open_all();
        for (unsigned i = 0; i < 2; i++) {
            nest_write(&nest, select_of(i), 0x4300c0);
            nest_write(&nest, is_intel() ? 0x4c1 + i : counter_of(i), expected[i]);
        }
        for (unsigned k = 0; k < 20; k++) {
            nest_run(&nest, BURST(10 + k));
            assert_int_equal(nest.vcpu.passes, 3);
            for (unsigned i = 0; i < 2; i++) { /* (the second one goes round) */
                expected[i] = (expected[i] + 10 + k) & nest.vcpu.mask;
                assert_true(upmu_guest_passes(&nest.vcpu, counter_of(i)), i);
                assert_false(upmu_guest_passes(&nest.vcpu, select_of(i)), i);
                assert_int_equal(native(counter_of(i)), expected[i], i);
            }
            assert_false(upmu_guest_passes(&nest.vcpu, counter_of(2)));
            nest_run_host(&nest, BURST(1000));
            if (k == 7) /* written while it counts */
                nest_write(&nest, counter_of(0), expected[0] = 77);
            if (k == 12) {
                upmu_guest_retired(&nest.vcpu, 5, 0, true);
                for (unsigned i = 0; i < 2; i++)
                    expected[i] += 5;
            }
        }
        for (unsigned i = 0; i < 2; i++)
            assert_int_equal(nest_read(&nest, counter_of(i)), expected[i], i);
        nest_end(&nest);
    }
}

static void nothing_passes_unasked(void **state)
{
    (void)state;
    for (unsigned pair = 0; pair < PAIRS; pair++) {
        struct upmu_guest_entry entry;

        begin_with(pairs[pair].host, pairs[pair].door, 0);
        open_all();
        nest_write(&nest, select_of(0), 0x4300c0);
        assert_int_equal(upmu_guest_enter(&nest.vcpu, &entry), UPMU_OK);
        assert_int_equal(entry.passes, 0);
        assert_false(entry.rdpmc_passes);
        for (uint32_t msr = 0xc1; msr < 0x400; msr++)
            assert_false(upmu_guest_passes(&nest.vcpu, msr), msr);
        for (unsigned i = 0; i < nest.shape.general; i++)
            assert_false(upmu_guest_passes(&nest.vcpu, counter_of(i)), i);
        assert_int_equal(upmu_guest_exit(&nest.vcpu), UPMU_OK);
        nest_end(&nest);
    }
}

/* NetBurst's counters, of 40 bits, have addresses of their own. */
static void nothing_passes_that_has_another_address(void **state)
{
    (void)state;
    nest_prepare(&nest, "northwood_smtoff", "skylake");
    host_threads(&nest.host, 3);
    nest.host.running[0] = 0;
    nest.policy.flags |= UPMU_GUEST_PASSES;
    nest.handler = ignore_interrupt;
    nest_shape(&nest, UPMU_GUEST_INTEL);
    nest.shape.width = 40;
    nest.shape.general = 4;
    nest_begin(&nest);
    for (unsigned n = 0; n < 4; n++)
        nest_write(&nest, select_of(n), 0x43003c);
    open_all();
    nest_run(&nest, BURST(100));
    assert_int_equal(nest.vcpu.passes, 0);
    for (unsigned n = 0; n < 4; n++)
        assert_false(upmu_guest_passes(&nest.vcpu, counter_of(n)), n);
    assert_int_equal(nest_read(&nest, counter_of(0)), 200);
    nest_end(&nest);
}

/* A guest that does not touch its PMU, and one that has only prepared it. */
static void a_guest_that_counts_nothing_costs_no_access(void **state)
{
    (void)state;
    for (unsigned pair = 0; pair < PAIRS; pair++) {
        begin_with(pairs[pair].host, pairs[pair].door, UPMU_GUEST_PASSES);
        host_forget_cost(&nest.host);
        for (unsigned i = 0; i < 3; i++) {
            nest_run(&nest, BURST(10));
            nest_exit(&nest);
            host_thread_switch(&nest.host, 0, 0);
            host_thread_switch(&nest.host, 0, 1);
            assert_int_equal(nest.vcpu.passes, 0);
        }
        for (unsigned i = 0; i < 2; i++) {
            nest_write(&nest, counter_of(i), 55);
            nest_run(&nest, BURST(10));
        }
        nest_exit(&nest);
        host_costs(&nest.host, "nothing counts", 0, 0);
        nest_end(&nest);
    }
}

/* Linux lets counters interrupt whose period is the longest: such a load is the register's value, too. */
static void a_counter_that_interrupts_passes_until_it_has(void **state)
{
    (void)state;
    for (unsigned pair = 0; pair < PAIRS; pair++) {
        uint64_t expected = UINT64_C(0x800000000001);

        begin_with(pairs[pair].host, pairs[pair].door, UPMU_GUEST_PASSES);
        open_all();
        nest_write(&nest, is_intel() ? 0x4c1 : counter_of(0), expected);
        nest_write(&nest, select_of(0), 0x5300c0);
        for (unsigned k = 0; k < 5; k++) {
            nest_run(&nest, BURST(100));
            expected += 100;
            assert_int_equal(nest.vcpu.passes, 1);
            assert_int_equal(native(counter_of(0)), expected);
            nest_run_host(&nest, BURST(1000));
        }
        /* Once it overflows its register is the handler's, until the guest writes it. */
        nest_write(&nest, counter_of(0), (uint64_t)-50);
        nest_run(&nest, BURST(100));
        nest_exit(&nest);
        nest_enter(&nest);
        assert_int_equal(nest.vcpu.passes, 0);
        assert_int_equal(nest_read(&nest, counter_of(0)), 50);
        nest_write(&nest, counter_of(0), (uint64_t)-5000);
        nest_run(&nest, BURST(100));
        assert_int_equal(nest.vcpu.passes, 1);
        assert_int_equal(native(counter_of(0)), (uint64_t)-4900 & nest.vcpu.mask);
        nest_end(&nest);
    }
}

/* Its overflow would interrupt the host as often as the guest writes such a value. */
static void a_counter_near_its_overflow_does_not_pass(void **state)
{
    (void)state;
    for (unsigned pair = 0; pair < PAIRS; pair++) {
        begin_with(pairs[pair].host, pairs[pair].door, UPMU_GUEST_PASSES);
        nest_exit(&nest);
        nest.vcpu.min_period = 1000;
        open_all();
        nest_write(&nest, select_of(0), 0x4300c0);
        for (unsigned k = 0; k < 10; k++) {
            nest_write(&nest, counter_of(0), (uint64_t)-3);
            nest_run(&nest, BURST(16));
            assert_int_equal(nest.vcpu.passes, 0);
            assert_int_equal(nest_read(&nest, counter_of(0)), 13);
        }
        assert_int_equal(nest.host.answers, 0);
        nest_write(&nest, counter_of(0), (uint64_t)-1000);
        nest_run(&nest, BURST(16));
        assert_int_equal(nest.vcpu.passes, 1);
        assert_int_equal(native(counter_of(0)), (uint64_t)-984 & nest.vcpu.mask);
        nest_end(&nest);
    }
}

/* Nothing passes of a vCPU that is not there, whose registers another one may have. */
static void nothing_passes_once_it_has_left(void **state)
{
    static struct upmu_guest vcpu;
    static struct upmu_session sessions[NEST_SESSIONS];

    (void)state;
    for (unsigned how = 0; how < 4; how++) {
        struct upmu_guest_entry entry;

        nest_prepare(&nest, "skylake", NULL);
        nest.policy.flags |= UPMU_GUEST_PASSES;
        nest_shape(&nest, UPMU_GUEST_INTEL);
        assert_int_equal(upmu_guest_init(&vcpu, &nest.host.machine, &nest.shape, &nest.policy,
                                         &(struct upmu_guest_memory){sessions, NEST_SESSIONS, NULL}),
                         UPMU_OK);
        assert_int_equal(upmu_guest_wrmsr(&vcpu, 0x186, 0x4300c0), UPMU_GUEST_DONE);
        assert_int_equal(upmu_guest_wrmsr(&vcpu, 0x38f, 1), UPMU_GUEST_DONE);
        assert_int_equal(upmu_guest_load(&vcpu, &nest.host.cpu[0]), UPMU_OK);
        assert_int_equal(upmu_guest_enter(&vcpu, &entry), UPMU_OK);
        assert_int_equal(entry.passes, 1);
        assert_int_equal(upmu_guest_exit(&vcpu), UPMU_OK);
        if (how == 0)
            upmu_guest_reset(&vcpu);
        if (how == 1)
            assert_int_equal(upmu_guest_fini(&vcpu), UPMU_OK);
        if (how > 1)
            assert_int_equal(upmu_guest_put(&vcpu), UPMU_OK);
        if (how == 3) {
            vcpu.passes = 1; /* (as the thread of a host would leave it) */
            assert_int_equal(upmu_guest_enter(&vcpu, &entry), UPMU_ERR_STATE);
        }
        assert_false(upmu_guest_passes(&vcpu, 0xc1));
        assert_int_equal(upmu_guest_put(&vcpu), UPMU_OK);
        assert_int_equal(upmu_guest_fini(&vcpu), UPMU_OK);
        host_end_idle(&nest.host);
    }
}

/* A guest with PerfCtrExtCore on a CPU before it: the host has no such registers. */
static void nothing_passes_that_the_host_lacks(void **state)
{
    static const char *const hosts[] = {"k8_revf", "barcelona"};

    (void)state;
    for (unsigned k = 0; k < 2; k++) {
        begin_with(hosts[k], UPMU_GUEST_AMD_CORE, UPMU_GUEST_PASSES);
        nest_write(&nest, select_of(0), 0x4300c0);
        nest_run(&nest, BURST(100));
        assert_int_equal(nest.vcpu.passes, 0);
        assert_false(upmu_guest_passes(&nest.vcpu, counter_of(0)));
        assert_int_equal(nest_read(&nest, counter_of(0)), 100);
        nest_end(&nest);
    }
}

/* The host's session has the counter that it asks for; the guest's count goes on elsewhere, and does not pass. */
static void the_host_takes_a_counter_back(void **state)
{
    (void)state;
    for (unsigned pair = 0; pair < PAIRS; pair++) {
        struct upmu_count count;

        begin_with(pairs[pair].host, pairs[pair].door, UPMU_GUEST_PASSES);
        open_all();
        for (unsigned i = 0; i < 2; i++)
            nest_write(&nest, select_of(i), is_intel() ? 0x4300c4 : 0x4300c2);
        nest_run(&nest, BURST(100));
        assert_int_equal(nest.vcpu.passes, 3);
        nest_exit(&nest);
        host_add(&nest.host, 0, "branches:counter=0", 0);
        assert_int_equal(upmu_session_world(&nest.host.session, UPMU_WORLD_HOST), UPMU_OK);
        assert_int_equal(upmu_session_attach_cpu(&nest.host.session, &nest.host.cpu[0]), UPMU_OK);
        assert_int_equal(upmu_session_start(&nest.host.session), UPMU_OK);
        for (unsigned k = 0; k < 4; k++) {
            nest_run(&nest, BURST(100));
            assert_int_equal(nest.vcpu.passes, 2);
            assert_int_equal(nest.vcpu.waiting, 0);
            nest_run_host(&nest, BURST(40));
        }
        count = host_count(&nest.host.session, 0);
        assert_int_equal(count.quality, UPMU_QUALITY_EXACT);
        assert_int_equal(count.value, 40); /* 160 instructions */
        for (unsigned i = 0; i < 2; i++)
            assert_int_equal(nest_read(&nest, counter_of(i)), 125, i);
        assert_int_equal(upmu_session_close(&nest.host.session), UPMU_OK);
        /* It is lent again when the guest selects anew. */
        nest_write(&nest, select_of(0), 0);
        nest_write(&nest, select_of(0), is_intel() ? 0x4300c4 : 0x4300c2);
        nest_run(&nest, BURST(100));
        assert_int_equal(nest.vcpu.passes, 3);
        assert_int_equal(native(counter_of(0)), 150);
        nest_end(&nest);
    }
}

/* Two guests that count the same on the same counters, one after the other without a thread between. */
static void each_of_two_guests_reads_its_own(void **state)
{
    static struct upmu_guest other;
    static struct upmu_session sessions[NEST_SESSIONS];

    (void)state;
    for (unsigned pair = 0; pair < PAIRS; pair++) {
        uint64_t expected[2] = {1000, 0x7000000};

        begin_with(pairs[pair].host, pairs[pair].door, UPMU_GUEST_PASSES);
        assert_int_equal(upmu_guest_init(&other, &nest.host.machine, &nest.shape, &nest.policy,
                                         &(struct upmu_guest_memory){sessions, NEST_SESSIONS, &nest.host.threads[0]}),
                         UPMU_OK);
        open_all();
        if (is_intel())
            assert_int_equal(upmu_guest_wrmsr(&other, 0x38f, 1), UPMU_GUEST_DONE);
        else if (nest.shape.door == UPMU_GUEST_AMD_V2)
            assert_int_equal(upmu_guest_wrmsr(&other, 0xc0000301u, 1), UPMU_GUEST_DONE);
        for (unsigned i = 0; i < 2; i++) {
            assert_int_equal(upmu_guest_wrmsr(i ? &other : &nest.vcpu, select_of(0), 0x4300c0), UPMU_GUEST_DONE, i);
            assert_int_equal(upmu_guest_wrmsr(i ? &other : &nest.vcpu, counter_of(0), expected[i]), UPMU_GUEST_DONE, i);
        }
        for (unsigned k = 0; k < 12; k++) {
            struct upmu_guest *guest = k & 1u ? &other : &nest.vcpu;
            struct upmu_guest_entry entry;

            host_thread_switch(&nest.host, 0, !(k & 1u));
            assert_int_equal(upmu_guest_enter(guest, &entry), UPMU_OK);
            upmu_sim_events(&nest.host.sim, BURST(10 + k));
            expected[k & 1u] += 10 + k;
            assert_int_equal(entry.passes, 1);
            assert_int_equal(native(counter_of(0)), expected[k & 1u], k);
            assert_int_equal(upmu_guest_exit(guest), UPMU_OK);
        }
        host_thread_switch(&nest.host, 0, 1);
        assert_int_equal(upmu_guest_fini(&other), UPMU_OK);
        nest_end(&nest);
    }
}

/* RDPMC cannot be granted for one counter: it passes where the guest has all of the host's, and each passes. */
static void rdpmc_passes_where_each_counter_is_the_guests(void **state)
{
    struct upmu_guest_entry entry;

    (void)state;
    begin_with("skylake", UPMU_GUEST_INTEL, UPMU_GUEST_PASSES);
    open_all();
    for (unsigned i = 0; i < nest.shape.general; i++)
        nest_write(&nest, 0x186 + i, 0x4300c4);
    nest_write(&nest, 0x38d, 0x33);
    assert_int_equal(upmu_guest_enter(&nest.vcpu, &entry), UPMU_OK);
    assert_false(entry.rdpmc_passes);
    assert_int_equal(upmu_guest_exit(&nest.vcpu), UPMU_OK);
    nest_write(&nest, 0x38d, 0x333);
    assert_int_equal(upmu_guest_enter(&nest.vcpu, &entry), UPMU_OK);
    assert_true(entry.rdpmc_passes);
    assert_int_equal(entry.passes, nest.vcpu.counters);
    upmu_sim_events(&nest.host.sim, BURST(100));
    for (unsigned i = 0; i < nest.shape.general; i++)
        assert_int_equal(native(0xc1 + i), 25, i);
    assert_int_equal(native(0x309), 100);
    assert_int_equal(native(0x30a), 200);
    assert_int_equal(upmu_guest_exit(&nest.vcpu), UPMU_OK);
    nest_end(&nest);
    /* The host has more counters than the guest; a counter of another unit has a number, too. */
    for (unsigned i = 0; i < 2; i++) {
        nest_prepare(&nest, i ? "zen4" : "skylake", NULL);
        nest.policy.flags |= UPMU_GUEST_PASSES;
        nest_shape(&nest, i ? UPMU_GUEST_AMD_V2 : UPMU_GUEST_INTEL);
        nest.shape.fixed = 0;
        nest_begin(&nest);
        open_all();
        for (unsigned n = 0; n < nest.shape.general; n++)
            nest_write(&nest, select_of(n), i ? 0x4300c2 : 0x4300c4);
        assert_int_equal(upmu_guest_enter(&nest.vcpu, &entry), UPMU_OK);
        assert_int_equal(entry.passes, nest.vcpu.counters);
        assert_false(entry.rdpmc_passes);
        assert_int_equal(upmu_guest_exit(&nest.vcpu), UPMU_OK);
        nest_end(&nest);
    }
}

/* ---- What it costs ---- */

/* Accesses of four counters: where one register gates all, and where each select is a gate; emulated, and passing. */
enum way { GATED, GATED_PASSES, SELECTS, SELECTS_PASSES, WAYS };

static void costs(enum way way, const char *what, const uint8_t expected[WAYS][2])
{
    const unsigned *count = nest.host.sim.access_count;
    unsigned w = count[UPMU_SIM_WRMSR], r = count[UPMU_SIM_RDMSR], p = count[UPMU_SIM_RDPMC];

    if (w != expected[way][0] || p != expected[way][1] || r || count[UPMU_SIM_REARM])
        fail_msg("%s, way %u, %s: %u W %u R %u P instead of %u W %u P", nest.host.sim.profile->name, way, what, w, r, p,
                 expected[way][0], expected[way][1]);
    host_forget_cost(&nest.host);
}

#define COSTS(what, ...) costs(way, what, (const uint8_t[WAYS][2]){__VA_ARGS__})

static void select_all(struct upmu_guest *guest, bool misses)
{
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(upmu_guest_wrmsr(guest, select_of(i), (is_intel() ? 0x4300c4 : 0x4300c2) + misses),
                         UPMU_GUEST_DONE, i);
}

static void the_cost_of_each_operation_is_this(void **state)
{
    static struct upmu_guest other;
    static struct upmu_session sessions[NEST_SESSIONS];

    (void)state;
    for (unsigned run = 0; run < 2 * PAIRS; run++) {
        unsigned pair = run / 2;
        struct upmu_guest_entry entry;
        enum way way;

        begin_with(pairs[pair].host, pairs[pair].door, run & 1u ? UPMU_GUEST_PASSES : 0);
        way = (nest.host.machine.pmu[0].capabilities & UPMU_PMU_GLOBAL_CTRL ? GATED : SELECTS) + (run & 1u);
        assert_int_equal(upmu_guest_init(&other, &nest.host.machine, &nest.shape, &nest.policy,
                                         &(struct upmu_guest_memory){sessions, NEST_SESSIONS, &nest.host.threads[0]}),
                         UPMU_OK);
        host_forget_cost(&nest.host);
        nest_enter(&nest);
        nest_exit(&nest);
        COSTS("entry and exit, nothing counts", {0}, {0}, {0}, {0});
        open_all();
        if (is_intel())
            assert_int_equal(upmu_guest_wrmsr(&other, 0x38f, 0xf), UPMU_GUEST_DONE);
        else if (nest.shape.door == UPMU_GUEST_AMD_V2)
            assert_int_equal(upmu_guest_wrmsr(&other, 0xc0000301u, 0xf), UPMU_GUEST_DONE);
        select_all(&nest.vcpu, false);
        select_all(&other, true);
        for (unsigned i = 0; i < 4; i++)
            nest_write(&nest, counter_of(i), 7);
        COSTS("traps", {0}, {0}, {0}, {0});
        nest_enter(&nest);
        COSTS("the first entry", {5, 4}, {9, 0}, {4, 4}, {8, 0});
        nest_exit(&nest);
        COSTS("exit", {1, 0}, {1, 0}, {4, 0}, {4, 0});
        nest_enter(&nest);
        COSTS("entry", {1, 0}, {1, 0}, {4, 0}, {4, 0});
        nest_exit(&nest);
        host_forget_cost(&nest.host);
        (void)nest_read(&nest, counter_of(0));
        COSTS("a trapped read", {0, 1}, {0, 1}, {0, 1}, {0, 1});
        nest_write(&nest, counter_of(0), 99);
        COSTS("a trapped write", {0}, {0}, {0}, {0});
        nest_enter(&nest);
        COSTS("the entry after it", {1, 1}, {2, 2}, {4, 1}, {5, 2});
        nest_exit(&nest);
        host_forget_cost(&nest.host);
        host_thread_switch(&nest.host, 0, 2);
        COSTS("put", {0, 4}, {0, 4}, {0, 4}, {0, 4});
        host_thread_switch(&nest.host, 0, 1);
        COSTS("load, none between", {0}, {0}, {0}, {0});
        host_thread_switch(&nest.host, 0, 2);
        host_thread_switch(&nest.host, 0, 0);
        host_forget_cost(&nest.host);
        assert_int_equal(upmu_guest_enter(&other, &entry), UPMU_OK);
        COSTS("the first entry of another guest", {5, 4}, {9, 0}, {4, 4}, {8, 0});
        assert_int_equal(upmu_guest_exit(&other), UPMU_OK);
        host_forget_cost(&nest.host);
        host_thread_switch(&nest.host, 0, 1);
        COSTS("from guest to guest", {4, 8}, {8, 4}, {0, 8}, {4, 4});
        nest_enter(&nest);
        COSTS("entry", {1, 0}, {1, 0}, {4, 0}, {4, 0});
        nest_exit(&nest);
        host_forget_cost(&nest.host);
        for (unsigned i = 0; i < 4; i++)
            nest_write(&nest, select_of(i), 0);
        nest_enter(&nest);
        COSTS("the entry that closes", {0, 4}, {0, 4}, {0, 4}, {0, 4});
        nest_exit(&nest);
        select_all(&nest.vcpu, false);
        nest_enter(&nest);
        COSTS("the entry that opens again", {1, 0}, {1, 0}, {4, 0}, {4, 0});
        nest_exit(&nest);
        host_thread_switch(&nest.host, 0, 0);
        assert_int_equal(upmu_guest_fini(&other), UPMU_OK);
        host_thread_switch(&nest.host, 0, 1);
        nest_end(&nest);
    }
}

/* ---- Anything ---- */

static uint64_t seed;

static unsigned below(unsigned limit)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)(seed >> 20) % limit;
}

static unsigned looks, truths;

/* What a guest's first four counters hold: known from a write until the guest waits for a counter of the host. */
struct truth {
    uint64_t select[4], value[4];
    bool known[4];
};

static void guest_writes(struct upmu_guest *guest, struct truth *truth, bool counter, unsigned n, uint64_t value)
{
    if (upmu_guest_wrmsr(guest, counter ? counter_of(n) : select_of(n), value) != UPMU_GUEST_DONE)
        return; /* (a value with bits that a counter lacks) */
    if (!counter) {
        truth->select[n] = value;
        return;
    }
    truth->value[n] = (is_intel() ? (uint64_t)(int64_t)(int32_t)value : value) & guest->mask;
    truth->known[n] = true;
}

static void guest_runs(struct upmu_guest *guest, struct truth *truth, unsigned amount)
{
    struct upmu_guest_entry entry;

    assert_int_equal(upmu_guest_enter(guest, &entry), UPMU_OK);
    for (unsigned n = 0; n < 4; n++) {
        unsigned event = truth->select[n] & 0xffu;

        if (guest->waiting >> n & 1u)
            truth->known[n] = false;
        if (truth->select[n] && event != 0xbe) /* (0xbe: an event of AMD's that does not happen) */
            truth->value[n] = (truth->value[n] + (event == 0xc0 ? amount : amount / 4)) & guest->mask;
    }
    upmu_sim_events(&nest.host.sim, BURST(amount));
    assert_int_equal(upmu_guest_exit(guest), UPMU_OK);
}

/* Each register that passes now is what a trap answers, and what the guest has counted. */
static void look(struct upmu_guest *guest, const struct truth *truth)
{
    struct upmu_guest_entry entry;
    uint64_t seen[8], value;
    uint32_t passes;

    assert_int_equal(upmu_guest_enter(guest, &entry), UPMU_OK);
    passes = guest->passes;
    for (unsigned i = 0; i < nest.shape.general; i++)
        seen[i] = native(counter_of(i));
    assert_int_equal(upmu_guest_exit(guest), UPMU_OK);
    for (unsigned i = 0; i < nest.shape.general; i++) {
        assert_int_equal(upmu_guest_rdmsr(guest, counter_of(i), &value), UPMU_GUEST_DONE, i);
        if (passes >> i & 1u) {
            looks++;
            assert_int_equal(seen[i], value, i);
        }
        if (i < 4 && truth->known[i]) {
            truths += passes >> i & 1u;
            assert_int_equal(value, truth->value[i], i);
        }
    }
}

/* Guests that alternate, host sessions that come and go, writes, overflows. */
static void what_passes_is_right_whatever_happens(void **state)
{
    static struct upmu_guest other;
    static struct upmu_session sessions[NEST_SESSIONS];

    (void)state;
    for (unsigned pair = 0; pair < PAIRS; pair++) {
        struct truth truth[2] = {{{0}, {0}, {0}}, {{0}, {0}, {0}}};
        bool host_runs = false, here = true;

        begin_with(pairs[pair].host, pairs[pair].door, UPMU_GUEST_PASSES);
        nest.vcpu.min_period = nest.policy.min_period = 100;
        seed = 0x51ed2701 + pair;
        assert_int_equal(upmu_guest_init(&other, &nest.host.machine, &nest.shape, &nest.policy,
                                         &(struct upmu_guest_memory){sessions, NEST_SESSIONS, &nest.host.threads[0]}),
                         UPMU_OK);
        open_all();
        if (is_intel())
            assert_int_equal(upmu_guest_wrmsr(&other, 0x38f, 0xf), UPMU_GUEST_DONE);
        else if (nest.shape.door == UPMU_GUEST_AMD_V2)
            assert_int_equal(upmu_guest_wrmsr(&other, 0xc0000301u, 0x3f), UPMU_GUEST_DONE);
        looks = truths = 0;
        for (unsigned step = 0; step < 3000; step++) {
            unsigned n = below(4);

            nest_exit(&nest);
            switch (below(9)) {
            case 0:
            case 1:
                guest_writes(here ? &nest.vcpu : &other, &truth[here], false, n,
                             (is_intel() ? 0x4300c4 : 0x4300c2) - 4 * below(2) + 0x100000 * (below(4) == 0));
                break;
            case 2:
                guest_writes(here ? &nest.vcpu : &other, &truth[here], true, n,
                             below(2) ? (uint64_t)-(int64_t)(1 + below(3000)) : below(2) ? seed : 5);
                break;
            case 3:
                here = !here;
                host_thread_switch(&nest.host, 0, here);
                break;
            case 4:
                if (host_runs) {
                    assert_int_equal(upmu_session_close(&nest.host.session), UPMU_OK);
                } else {
                    assert_int_equal(upmu_session_init(&nest.host.session, &nest.host.machine), UPMU_OK);
                    host_add(&nest.host, 0, below(2) ? "branches:counter=1" : "branches,branches", 0);
                    assert_int_equal(upmu_session_world(&nest.host.session, UPMU_WORLD_HOST), UPMU_OK);
                    assert_int_equal(upmu_session_attach_cpu(&nest.host.session, &nest.host.cpu[0]), UPMU_OK);
                    (void)!upmu_session_start(&nest.host.session);
                }
                host_runs = !host_runs;
                break;
            default:
                guest_runs(here ? &nest.vcpu : &other, &truth[here], below(200));
                break;
            }
            look(here ? &nest.vcpu : &other, &truth[here]);
            nest_run_host(&nest, BURST(below(50)));
        }
        assert_compare(looks, >, 100);
        assert_compare(truths, >, 100);
        nest_exit(&nest);
        if (host_runs)
            assert_int_equal(upmu_session_close(&nest.host.session), UPMU_OK);
        host_thread_switch(&nest.host, 0, 1);
        assert_int_equal(upmu_guest_fini(&other), UPMU_OK);
        nest_end(&nest);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_register_that_passes_holds_the_guests_value),
        cmocka_unit_test(nothing_passes_unasked),
        cmocka_unit_test(nothing_passes_that_has_another_address),
        cmocka_unit_test(a_guest_that_counts_nothing_costs_no_access),
        cmocka_unit_test(a_counter_that_interrupts_passes_until_it_has),
        cmocka_unit_test(a_counter_near_its_overflow_does_not_pass),
        cmocka_unit_test(nothing_passes_once_it_has_left),
        cmocka_unit_test(nothing_passes_that_the_host_lacks),
        cmocka_unit_test(the_host_takes_a_counter_back),
        cmocka_unit_test(each_of_two_guests_reads_its_own),
        cmocka_unit_test(rdpmc_passes_where_each_counter_is_the_guests),
        cmocka_unit_test(the_cost_of_each_operation_is_this),
        cmocka_unit_test(what_passes_is_right_whatever_happens),
    };

    return cmocka_run_group_tests_name("guest_loans", tests, NULL, NULL);
}
