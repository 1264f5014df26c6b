/* SPDX-License-Identifier: MIT */
/*
 * What the PMU test of kvm-unit-tests (https://gitlab.com/kvm-unit-tests/kvm-unit-tests, x86/pmu.c)
 * expects of the PMU that a hypervisor shows, in own code and without its bounds: where that test
 * asks for a count between two limits, as it cannot know what a CPU does, the count here is exact.
 * Each shape runs on each host, through each set of registers that it has.
 */
#include "tests/guest/nest.c"

static struct nest nest;

/* ---- Shapes, hosts, registers ---- */

static const char *const hosts[] = {"skylake", "icelake", "core2", "zen4", "zen2", "k8_revf"};
#define HOSTS (sizeof hosts / sizeof hosts[0])

#define INTEL(v, n, f, w, full)                                                                                        \
    {                                                                                                                  \
        .door = UPMU_GUEST_INTEL, .version = (v), .general = (n), .fixed = (f), .width = (w), .full_write = (full)     \
    }
static const struct upmu_guest_shape shapes[] = {
    INTEL(1, 2, 0, 40, 0),
    INTEL(2, 2, 3, 40, 0),
    INTEL(2, 8, 0, 48, 0),
    INTEL(4, 2, 3, 48, 1),
    INTEL(4, 4, 3, 48, 1),
    INTEL(4, 8, 3, 48, 1),
    INTEL(4, 4, 3, 48, 0),
    INTEL(5, 4, 3, 48, 1),
    {.door = UPMU_GUEST_AMD_K7, .general = 4, .width = 48},
    {.door = UPMU_GUEST_AMD_CORE, .general = 6, .width = 48},
    {.door = UPMU_GUEST_AMD_V2, .general = 6, .width = 48},
};
#define SHAPES (sizeof shapes / sizeof shapes[0])

/* Value and select of general counter n. */
static const struct bank {
    const char *name;
    uint32_t value, select, step;
} legacy = {"legacy", 0xc1, 0x186, 1}, full = {"full width", 0x4c1, 0x186, 1}, k7 = {"K7", 0xc0010004u, 0xc0010000u, 1},
  extended = {"extended", 0xc0010201u, 0xc0010200u, 2};

static const struct bank *bank;
static unsigned general; /* counters of this bank */
static const char *host;
static unsigned failures;

static bool is_intel(void)
{
    return nest.shape.door == UPMU_GUEST_INTEL;
}

static bool has_global(void)
{
    return is_intel() ? nest.shape.version >= 2 : nest.shape.door == UPMU_GUEST_AMD_V2;
}

static bool on_intel(void)
{
    return host[0] != 'z' && host[0] != 'k'; /* zen, k8 */
}

static void same(const char *what, unsigned n, uint64_t value, uint64_t expected)
{
    if (value == expected)
        return;
    failures++;
    print_error("%s, door %u version %u with %u and %u counters, %s: %s %u: %llx, expected %llx\n", host,
                nest.shape.door, nest.shape.version, nest.shape.general, nest.shape.fixed, bank->name, what, n,
                (unsigned long long)value, (unsigned long long)expected);
}

static uint64_t width_mask(void)
{
    return (UINT64_C(1) << nest.shape.width) - 1u;
}

static bool faults_on_read(uint32_t msr)
{
    uint64_t value;

    return !nest.port.rdmsr(&nest, msr, &value);
}

static bool faults_on_write(uint32_t msr, uint64_t value)
{
    return !nest.port.wrmsr(&nest, msr, value);
}

static bool rdpmc_faults(uint32_t index)
{
    uint64_t value;

    return !nest.port.rdpmc(&nest, index, &value);
}

/* Its handler only unmasks the entry of the local APIC. */
#define PMI_VECTOR 0x20u

static void set_lvtpc(void)
{
    nest_lvtpc(&nest, PMI_VECTOR);
}

static unsigned interrupts;

static void on_interrupt(struct nest *guest, const struct upmu_frame *frame)
{
    (void)guest;
    (void)frame;
    interrupts++;
    set_lvtpc();
}

static void on_each(void (*check)(void))
{
    unsigned runs = 0;

    failures = 0;
    for (unsigned h = 0; h < HOSTS; h++)
        for (unsigned s = 0; s < SHAPES; s++)
            for (unsigned second = 0; second < 2; second++) {
                struct upmu_guest_shape widest;

                if (second && !shapes[s].full_write && shapes[s].door < UPMU_GUEST_AMD_CORE)
                    continue;
                host = hosts[h];
                nest_prepare(&nest, host, NULL);
                nest.handler = on_interrupt;
                nest.shape = shapes[s];
                if (is_intel()) {
                    assert_int_equal(
                        upmu_guest_shape_default(&nest.host.machine, UPMU_GUEST_INTEL, &nest.policy, &widest), UPMU_OK);
                    nest.shape.arch_events = widest.arch_events;
                    /* No AMD promises reference cycles at the rate of the TSC. */
                    if (nest.shape.fixed == 3 && !on_intel())
                        nest.shape.fixed = 2;
                }
                bank = is_intel()                                      ? second ? &full : &legacy
                       : shapes[s].door == UPMU_GUEST_AMD_K7 || second ? &k7
                                                                       : &extended;
                general = bank == &k7 ? 4 : nest.shape.general;
                nest_begin(&nest);
                interrupts = 0;
                if (has_global())
                    nest_write(&nest, is_intel() ? 0x38f : 0xc0000301u, 0);
                check();
                nest_end(&nest);
                runs++;
            }
    assert_int_equal(runs, HOSTS * 17);
    assert_int_equal(failures, 0);
}

/* ---- Events and the loop they count ---- */

#define LOOPS 1000u
#define INSTRUCTIONS (10u * LOOPS + 16u)
#define BRANCHES (LOOPS + 2u)
static const struct upmu_sim_burst loop = {.instructions = INSTRUCTIONS,
                                           .cycles = 3 * LOOPS,
                                           .ref_cycles = 2 * LOOPS + 1,
                                           .bus_cycles = LOOPS / 10,
                                           .branches = BRANCHES,
                                           .mispredicts = 7,
                                           .llc_references = 40,
                                           .llc_misses = 9,
                                           .per_cycle = 4,
                                           .ip = 0x1000,
                                           .ip_step = 1,
                                           .sp = 0x8000};

#define EN 0x400000u
#define INT 0x100000u
#define RINGS 0x30000u

static const struct event {
    const char *name;
    uint32_t select;
    uint64_t count;
} intel_events[] = {{"core cycles", 0x003c, 3 * LOOPS}, {"instructions", 0x00c0, INSTRUCTIONS},
                    {"ref cycles", 0x013c, LOOPS / 10}, {"llc references", 0x4f2e, 40},
                    {"llc misses", 0x412e, 9},          {"branches", 0x00c4, BRANCHES},
                    {"branch misses", 0x00c5, 7}},
  amd_events[] = {{"core cycles", 0x0076, 3 * LOOPS},
                  {"instructions", 0x00c0, INSTRUCTIONS},
                  {"branches", 0x00c2, BRANCHES},
                  {"branch misses", 0x00c3, 7}};

static const uint64_t fixed_counts[] = {INSTRUCTIONS, 3 * LOOPS, 2 * LOOPS + 1};

static const struct event *event(unsigned n)
{
    return is_intel() ? &intel_events[n % 7] : &amd_events[n % 4];
}

/* As the guest's CPUID says. */
static bool is_available(unsigned n)
{
    uint32_t leaf[4] = {0, 0, 0, 0};

    if (!is_intel())
        return true;
    nest.port.cpuid(&nest, 0xa, 0, leaf);
    return n % 7 < leaf[0] >> 24 && !(leaf[1] >> n % 7 & 1u);
}

static uint32_t instructions_event(void)
{
    return 0xc0;
}

static uint32_t branches_event(void)
{
    return is_intel() ? 0xc4 : 0xc2;
}

/* ---- One counter: 0 to 7 general, 16 to 18 fixed ---- */

#define FIXED 16u

static uint32_t value_of(unsigned n)
{
    return n >= FIXED ? 0x309 + n - FIXED : bank->value + n * bank->step;
}

static uint64_t gate_of(unsigned n)
{
    return UINT64_C(1) << (n >= FIXED ? 32 + n - FIXED : n);
}

static void set_gates(uint64_t gates)
{
    if (has_global())
        nest_write(&nest, is_intel() ? 0x38f : 0xc0000301u, gates);
}

static uint64_t status(void)
{
    return has_global() ? nest_read(&nest, is_intel() ? 0x38e : 0xc0000300u) : 0;
}

static void clear_status(uint64_t bits)
{
    if (has_global())
        nest_write(&nest, is_intel() ? 0x390 : 0xc0000302u, bits);
}

static void program(unsigned n, uint32_t select, uint64_t value)
{
    nest_write(&nest, value_of(n), value);
    if (n < FIXED) {
        nest_write(&nest, bank->select + n * bank->step, RINGS | select | EN);
    } else {
        unsigned shift = 4 * (n - FIXED);
        uint64_t control = nest_read(&nest, 0x38d) & ~(UINT64_C(0xf) << shift);

        nest_write(&nest, 0x38d, control | (select & INT ? UINT64_C(0xb) : 3u) << shift);
    }
    set_lvtpc();
}

static uint64_t halt(unsigned n)
{
    if (n < FIXED)
        nest_write(&nest, bank->select + n * bank->step, RINGS);
    else
        nest_write(&nest, 0x38d, nest_read(&nest, 0x38d) & ~(UINT64_C(0xf) << 4 * (n - FIXED)));
    return nest_read(&nest, value_of(n));
}

static uint64_t measure(unsigned n, uint32_t select, uint64_t value)
{
    program(n, select, value);
    set_gates(gate_of(n));
    nest_run_host(&nest, &loop); /* (not the guest's) */
    nest_run(&nest, &loop);
    set_gates(0);
    return halt(n);
}

/* ---- The checks ---- */

static void check_shown(void)
{
    uint32_t leaf[4] = {0, 0, 0, 0};

    if (!is_intel()) {
        nest.port.cpuid(&nest, 0x80000001u, 0, leaf);
        same("CPUID: extended counters", 0, leaf[2] >> 23 & 1u, nest.shape.door >= UPMU_GUEST_AMD_CORE);
        if (nest.shape.door < UPMU_GUEST_AMD_V2)
            return;
        nest.port.cpuid(&nest, 0x80000022u, 0, leaf);
        same("CPUID: version 2", 0, leaf[0] & 1u, 1);
        same("CPUID: general counters", 0, leaf[1] & 0xfu, nest.shape.general);
        return;
    }
    nest.port.cpuid(&nest, 1, 0, leaf);
    same("CPUID: PDCM", 0, leaf[2] >> 15 & 1u, nest.shape.full_write);
    if (nest.shape.full_write)
        same("PERF_CAPABILITIES", 0, nest_read(&nest, 0x345) >> 13 & 1u, 1);
    nest.port.cpuid(&nest, 0xa, 0, leaf);
    same("CPUID: version", 0, leaf[0] & 0xffu, nest.shape.version);
    same("CPUID: general counters", 0, leaf[0] >> 8 & 0xffu, nest.shape.general);
    same("CPUID: width", 0, leaf[0] >> 16 & 0xffu, nest.shape.width);
    /* From version 5 on Linux takes the fixed counters from these bits alone. */
    same("CPUID: bits of fixed counters", 0, leaf[2], nest.shape.version >= 5 ? (1u << nest.shape.fixed) - 1u : 0);
    if (nest.shape.version >= 2) {
        same("CPUID: fixed counters", 0, leaf[3] & 0x1fu, nest.shape.fixed);
        if (nest.shape.fixed)
            same("CPUID: width of fixed", 0, leaf[3] >> 5 & 0xffu, nest.shape.width);
    }
    /* Each vendor has these four; Intel's own hosts all seven. */
    same("CPUID: events", 0, on_intel() ? nest.shape.arch_events : nest.shape.arch_events & 0x63u,
         on_intel() ? 0x7f : 0x63);
}

static void cpuid_shows_the_shape(void **state)
{
    (void)state;
    on_each(check_shown);
}

static void check_each_event(void)
{
    for (unsigned e = 0; e < (is_intel() ? 7u : 4u); e++)
        for (unsigned n = 0; n < general && is_available(e); n++)
            same(event(e)->name, n, measure(n, event(e)->select, 0), event(e)->count);
    for (unsigned i = 0; i < nest.shape.fixed; i++)
        same("fixed", i, measure(FIXED + i, 0, 0), fixed_counts[i]);
    same("interrupts", 0, interrupts, 0);
}

static void each_counter_counts_each_event(void **state)
{
    (void)state;
    on_each(check_each_event);
}

/* Has this host a counter for each of the guest's? */
static bool has_room(void)
{
    static const unsigned counters[HOSTS] = {4, 8, 2, 6, 6, 4};
    unsigned h = 0;

    while (hosts[h] != host)
        h++;
    return general + (on_intel() ? 0 : nest.shape.fixed) <= counters[h];
}

static void check_all_at_once(void)
{
    unsigned counters[16], events[16], count = 0;
    uint32_t waiting;
    uint64_t gates = 0;

    for (unsigned n = 0, e = 0; n < general; e++)
        if (is_available(e)) {
            counters[count] = n++;
            events[count++] = e;
        }
    for (unsigned i = 0; i < nest.shape.fixed; i++)
        counters[count++] = FIXED + i;
    for (unsigned i = 0; i < count; i++) {
        program(counters[i], counters[i] < FIXED ? event(events[i])->select : 0, 0);
        gates |= gate_of(counters[i]);
    }
    set_gates(gates);
    nest_run(&nest, &loop);
    waiting = nest.vcpu.waiting; /* while they are open: what is closed does not wait */
    set_gates(0);
    if (has_room())
        same("counters that wait", 0, waiting, 0);
    for (unsigned i = 0; i < count; i++) {
        unsigned n = counters[i];
        uint64_t expected = n < FIXED ? event(events[i])->count : fixed_counts[n - FIXED];

        same("all at once, counter", n, halt(n), waiting >> n & 1u ? 0 : expected);
    }
}

static void all_counters_count_at_once(void **state)
{
    (void)state;
    on_each(check_all_at_once);
}

static void check_rdpmc(void)
{
    static const uint64_t values[] = {UINT64_C(0xff0123456789), UINT64_C(0xff019abcdef0)};
    uint64_t value;

    for (unsigned k = 0; k < 2; k++) {
        for (unsigned n = 0; n < general; n++) {
            /* Without full width the low 32 bits are written and extended with their sign. */
            uint64_t written = bank == &full ? values[k] & width_mask() : values[k];
            uint64_t expected = bank == &legacy ? (uint64_t)(int64_t)(int32_t)(uint32_t)values[k] : values[k];

            nest_write(&nest, value_of(n), written);
            assert_true(nest.port.rdpmc(&nest, n, &value), n);
            same("RDPMC", n, value, expected & width_mask());
        }
        for (unsigned i = 0; i < nest.shape.fixed; i++) {
            nest_write(&nest, value_of(FIXED + i), values[k] & width_mask());
            assert_true(nest.port.rdpmc(&nest, i | 1u << 30, &value), i);
            same("RDPMC of fixed", i, value, values[k] & width_mask());
        }
    }
    for (unsigned i = 0; i < 64; i++) {
        same("RDPMC faults", i, rdpmc_faults(i), i >= nest.shape.general);
        same("RDPMC of fixed faults", i, rdpmc_faults(i | 1u << 30), !is_intel() || i >= nest.shape.fixed);
        same("the fast RDPMC faults", i, rdpmc_faults(i | 1u << 31), true);
        same("the fast RDPMC of fixed faults", i, rdpmc_faults(i | 3u << 30), true);
    }
    same("RDPMC faults", 64, rdpmc_faults(64), true);
}

static void rdpmc_reads_what_was_written_and_faults_elsewhere(void **state)
{
    (void)state;
    on_each(check_rdpmc);
}

static void check_overflow(void)
{
    clear_status(status());
    for (unsigned n = 0; n < FIXED + nest.shape.fixed; n = n + 1 == general ? FIXED : n + 1) {
        uint64_t length = n < FIXED ? INSTRUCTIONS : fixed_counts[n - FIXED], preset = 1u - length;

        if (bank == &full || n >= FIXED)
            preset &= width_mask();
        for (uint32_t interrupt = 0; interrupt <= INT; interrupt += INT) {
            interrupts = 0;
            same("an overflowed count", n, measure(n, instructions_event() | interrupt, preset), 1);
            same("its interrupts", n, interrupts, interrupt != 0);
            if (has_global())
                same("its status", n, status(), gate_of(n));
            clear_status(status());
            same("its status after clearing", n, status(), 0);
            /* Nothing is left of it. */
            same("a count that does not overflow", n, measure(n, instructions_event() | interrupt, 5), length + 5);
            same("interrupts without an overflow", n, interrupts, interrupt != 0);
            same("status without an overflow", n, status(), 0);
        }
        /* A status that is not cleared, an entry of the APIC that is unmasked: no interrupt again. */
        interrupts = 0;
        (void)measure(n, instructions_event() | INT, preset);
        (void)measure(n, instructions_event() | INT, 0);
        same("interrupts of one overflow", n, interrupts, 1);
        clear_status(status());
    }
}

static void each_overflow_is_seen_and_interrupts_if_asked(void **state)
{
    (void)state;
    on_each(check_overflow);
}

static void check_cmask(void)
{
    for (unsigned n = 0; n < general; n++) {
        same("two or more in a cycle", n, measure(n, instructions_event() | 2u << 24, 0), INSTRUCTIONS / 4);
        same("five or more in a cycle", n, measure(n, instructions_event() | 5u << 24, 0), 0);
    }
}

static void a_counter_mask_counts_cycles(void **state)
{
    (void)state;
    on_each(check_cmask);
}

static void check_running_write(void)
{
    uint64_t last = bank == &full ? width_mask() : ~UINT64_C(0);

    for (unsigned n = 0; n < general; n++) {
        program(n, instructions_event(), 0);
        set_gates(gate_of(n));
        nest_run(&nest, &loop);
        nest_write(&nest, value_of(n), 0);
        same("written while it runs", n, nest_read(&nest, value_of(n)), 0);
        nest_run(&nest, &loop);
        set_gates(0);
        same("a count from the write on", n, halt(n), INSTRUCTIONS);
        clear_status(status());
        program(n, instructions_event(), 0);
        set_gates(gate_of(n));
        nest_run(&nest, &loop);
        nest_write(&nest, value_of(n), last);
        nest_run(&nest, &loop);
        set_gates(0);
        same("a count from the last value on", n, halt(n), INSTRUCTIONS - 1);
        if (has_global())
            same("status", n, status(), gate_of(n));
        clear_status(status());
    }
}

static void a_running_counter_can_be_written(void **state)
{
    (void)state;
    on_each(check_running_write);
}

static void check_write_width(void)
{
    const uint64_t wide = UINT64_C(0xffffff0123456789), low = (uint32_t)wide, widest = wide & width_mask();

    if (!is_intel()) {
        for (unsigned n = 0; n < general; n++) {
            nest_write(&nest, value_of(n), wide);
            same("cut to the width", n, nest_read(&nest, value_of(n)), widest);
        }
        return;
    }
    for (unsigned n = 0; n < general; n++) {
        const uint64_t values[] = {low, widest, wide};

        for (unsigned k = 0; k < 3; k++) {
            nest_write(&nest, 0xc1 + n, values[k]);
            same("low 32 bits", n, nest_read(&nest, 0xc1 + n), low);
            if (nest.shape.full_write)
                same("low 32 bits at the other address", n, nest_read(&nest, 0x4c1 + n), low);
        }
        if (!nest.shape.full_write) {
            same("no register of full width: read faults", n, faults_on_read(0x4c1 + n), true);
            same("no register of full width: write faults", n, faults_on_write(0x4c1 + n, 0), true);
            continue;
        }
        nest_write(&nest, 0x4c1 + n, low);
        same("full width", n, nest_read(&nest, 0xc1 + n), low);
        nest_write(&nest, 0x4c1 + n, widest);
        same("full width", n, nest_read(&nest, 0x4c1 + n), widest);
        same("full width at the other address", n, nest_read(&nest, 0xc1 + n), widest);
        same("above the width: write faults", n, faults_on_write(0x4c1 + n, wide), true);
        same("unchanged by the fault", n, nest_read(&nest, 0x4c1 + n), widest);
    }
    for (unsigned i = 0; i < nest.shape.fixed; i++)
        same("fixed, above the width: write faults", i, faults_on_write(0x309 + i, wide), true);
    same("no such counter: faults", general, faults_on_read(0xc1 + general), true);
}

static void writes_have_the_width_of_their_register(void **state)
{
    (void)state;
    on_each(check_write_width);
}

static void check_global(void)
{
    uint64_t all = (UINT64_C(1) << nest.shape.general) - 1u, fixed = (UINT64_C(1) << nest.shape.fixed) - 1u;
    bool v4 = is_intel() && nest.shape.version >= 4;

    nest_exit(&nest);
    upmu_guest_reset(&nest.vcpu);
    if (!is_intel()) {
        for (uint32_t msr = 0xc0000300u; msr < 0xc0000304u; msr++)
            same("faults", msr, faults_on_read(msr), !has_global());
        if (!has_global())
            return;
        same("gates after a reset", 0, nest_read(&nest, 0xc0000301u), all);
        same("status after a reset", 0, nest_read(&nest, 0xc0000300u), 0);
        nest_write(&nest, 0xc0000303u, all);
        same("status that was set", 0, nest_read(&nest, 0xc0000300u), all);
        same("status-set reads", 0, nest_read(&nest, 0xc0000303u), 0);
        nest_write(&nest, 0xc0000300u, 0);
        same("status is not written", 0, nest_read(&nest, 0xc0000300u), all);
        nest_write(&nest, 0xc0000302u, 1);
        same("status that was cleared", 0, nest_read(&nest, 0xc0000300u), all & ~UINT64_C(1));
        same("status-clear reads", 0, nest_read(&nest, 0xc0000302u), 0);
        return;
    }
    for (uint32_t msr = 0x38e; msr < 0x391; msr++)
        same("faults", msr, faults_on_read(msr), !has_global());
    for (uint32_t msr = 0x391; msr < 0x393; msr++)
        same("faults", msr, faults_on_read(msr), !v4);
    if (!has_global())
        return;
    all |= fixed << 32;
    same("gates after a reset", 0, nest_read(&nest, 0x38f), (uint32_t)all);
    nest_write(&nest, 0x38f, all);
    same("gates", 0, nest_read(&nest, 0x38f), all);
    same("a gate too many faults", 0, faults_on_write(0x38f, UINT64_C(1) << nest.shape.general), true);
    same("a fixed gate too many faults", 0, faults_on_write(0x38f, UINT64_C(1) << (32 + nest.shape.fixed)), true);
    same("status after a reset", 0, nest_read(&nest, 0x38e), 0);
    same("status cannot be written", 0, faults_on_write(0x38e, 0), true);
    if (!v4)
        return;
    nest_write(&nest, 0x391, all);
    same("status that was set", 0, nest_read(&nest, 0x38e), all);
    nest_write(&nest, 0x390, 1);
    same("status that was cleared", 0, nest_read(&nest, 0x38e), all & ~UINT64_C(1));
    nest_write(&nest, 0x390, all);
    same("in use after a reset", 0, nest_read(&nest, 0x392), 0);
    same("in use cannot be written", 0, faults_on_write(0x392, 0), true);
    nest_write(&nest, 0x187, RINGS | 0xc0);
    same("in use: an event", 0, nest_read(&nest, 0x392), 2);
    nest_write(&nest, 0x38d, 0x30);
    same("in use: a fixed counter", 0, nest_read(&nest, 0x392), 2 | UINT64_C(1) << 33);
    nest_write(&nest, 0x38d, 0xb0);
    same("in use: an interrupt", 0, nest_read(&nest, 0x392), 2 | UINT64_C(1) << 33 | UINT64_C(1) << 63);
    nest_write(&nest, 0x38d, 0);
    nest_write(&nest, 0x187, INT);
    same("in use: an interrupt alone", 0, nest_read(&nest, 0x392), UINT64_C(1) << 63);
    nest_write(&nest, 0x187, 0);
}

static void global_registers_are_those_of_the_version(void **state)
{
    (void)state;
    on_each(check_global);
}

/* The hypervisor executed these for the guest: `branches` of them are branches. */
static void emulate(unsigned instructions, unsigned branches, bool user)
{
    nest_exit(&nest);
    upmu_guest_retired(&nest.vcpu, instructions, branches, user);
}

static void run_instructions(unsigned instructions)
{
    nest_run(&nest,
             &(struct upmu_sim_burst){
                 .instructions = instructions, .cycles = 2 * instructions, .ip = 0x1000, .ip_step = 1, .sp = 0x8000});
}

/* 22 instructions: 5 branches, 5 CPUID and one WRMSR are emulated, the others run. */
static void check_emulated(void)
{
    for (uint32_t interrupt = 0; interrupt <= INT; interrupt += INT) {
        interrupts = 0;
        program(0, branches_event() | interrupt, -UINT64_C(5) & width_mask());
        program(1, instructions_event() | interrupt, -UINT64_C(22) & width_mask());
        set_gates(3);
        run_instructions(3);
        emulate(5, 5, false);
        for (unsigned i = 0; i < 5; i++) {
            run_instructions(1);
            emulate(1, 0, i & 1u);
        }
        run_instructions(3);
        emulate(1, 0, false);
        set_gates(0);
        nest_enter(&nest);
        same("emulated branches", 0, halt(0), 0);
        same("emulated instructions", 1, halt(1), 0);
        if (has_global())
            same("status of emulated instructions", 0, status(), 3);
        same("interrupts of emulated instructions", 0, interrupts, interrupt ? 2 : 0);
        clear_status(status());
    }
    /* User mode alone. */
    nest_write(&nest, value_of(0), 0);
    nest_write(&nest, bank->select, 0x10000u | EN | instructions_event());
    set_gates(1);
    emulate(8, 0, false);
    emulate(3, 0, true);
    same("emulated in user mode", 0, nest_read(&nest, value_of(0)), 3);
    /* How many came in one cycle is not known. */
    program(0, instructions_event() | 2u << 24, 0);
    emulate(8, 0, false);
    same("emulated, with a counter mask", 0, halt(0), 0);
}

static void emulated_instructions_count(void **state)
{
    (void)state;
    on_each(check_emulated);
}

/*
 * The loop of that test stands between the write that opens its counter and the write that closes it, and nothing else
 * does.  The hypervisor emulates both writes, each before it says that the instruction is executed: of the two exactly
 * the one that opens is counted.
 */
static void check_loop(void)
{
    for (unsigned n = 0; n < FIXED + nest.shape.fixed; n = n + 1 == general ? FIXED : n + 1) {
        uint64_t length = n <= FIXED ? INSTRUCTIONS + 1u : fixed_counts[n - FIXED];
        uint32_t gate = n < FIXED ? bank->select + n * bank->step : 0x38d;
        uint64_t open = n < FIXED ? RINGS | EN | instructions_event() : UINT64_C(3) << 4 * (n - FIXED);

        nest.traps_count = true;
        nest_write(&nest, value_of(n), 0);
        if (has_global()) {
            nest_write(&nest, gate, open);
            gate = is_intel() ? 0x38f : 0xc0000301u;
            open = gate_of(n);
        }
        nest_write(&nest, gate, open);
        nest_run(&nest, &loop);
        nest_write(&nest, gate, 0);
        same("the loop between two emulated writes", n, nest_read(&nest, value_of(n)), length);
        nest.traps_count = false;
        (void)halt(n);
    }
}

static void a_write_that_opens_counts(void **state)
{
    (void)state;
    on_each(check_loop);
}

/* The first four extended counters are those of K7, register by register. */
static void check_aliases(void)
{
    if (nest.shape.door < UPMU_GUEST_AMD_CORE)
        return;
    for (unsigned n = 0; n < 4; n++) {
        nest_write(&nest, k7.select + n, RINGS | EN | 0xc2);
        same("the extended select", n, nest_read(&nest, extended.select + 2 * n), RINGS | EN | 0xc2);
        nest_write(&nest, extended.select + 2 * n, RINGS | EN | 0xc0);
        same("the K7 select", n, nest_read(&nest, k7.select + n), RINGS | EN | 0xc0);
        nest_write(&nest, k7.value + n, 100 + n);
        same("the extended counter", n, nest_read(&nest, extended.value + 2 * n), 100 + n);
        nest_write(&nest, extended.value + 2 * n, 200 + n);
        same("the K7 counter", n, nest_read(&nest, k7.value + n), 200 + n);
    }
    set_gates(0xf);
    nest_run(&nest, &loop);
    for (unsigned n = 0; n < 4; n++) {
        if (nest.vcpu.waiting >> n & 1u)
            continue;
        same("counts in K7", n, nest_read(&nest, k7.value + n), 200 + n + INSTRUCTIONS);
        same("counts in both", n, nest_read(&nest, extended.value + 2 * n), 200 + n + INSTRUCTIONS);
    }
}

static void k7_registers_are_the_first_extended_ones(void **state)
{
    (void)state;
    on_each(check_aliases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpuid_shows_the_shape),
        cmocka_unit_test(each_counter_counts_each_event),
        cmocka_unit_test(rdpmc_reads_what_was_written_and_faults_elsewhere),
        cmocka_unit_test(all_counters_count_at_once),
        cmocka_unit_test(each_overflow_is_seen_and_interrupts_if_asked),
        cmocka_unit_test(a_counter_mask_counts_cycles),
        cmocka_unit_test(a_running_counter_can_be_written),
        cmocka_unit_test(writes_have_the_width_of_their_register),
        cmocka_unit_test(global_registers_are_those_of_the_version),
        cmocka_unit_test(emulated_instructions_count),
        cmocka_unit_test(a_write_that_opens_counts),
        cmocka_unit_test(k7_registers_are_the_first_extended_ones),
    };

    return cmocka_run_group_tests_name("guest_kvm_checks", tests, NULL, NULL);
}
