/* SPDX-License-Identifier: MIT */
/*
 * What a hostile guest cannot do through the registers of its PMU.  The number in a test's name is a
 * point of the list that these rules come from: inputs, lifetime, resources, concurrency,
 * information, integrity, migration.
 */
#include "tests/guest/nest.c"

#include <stdlib.h>
#include <upmu/page.h>

#define BURST(n)                                                                                                       \
    (&(struct upmu_sim_burst){.instructions = (n), .cycles = 2 * (n), .ref_cycles = 2 * (n), .branches = (n) / 4})

static struct nest nest;

static void ignore_interrupt(struct nest *guest, const struct upmu_frame *frame)
{
    (void)guest;
    (void)frame;
}

static uint64_t seed;

static uint64_t draw(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static const struct {
    const char *host;
    enum upmu_guest_door door;
} pairs[] = {{"skylake", UPMU_GUEST_INTEL}, {"core2", UPMU_GUEST_INTEL},      {"icelake", UPMU_GUEST_INTEL},
             {"zen4", UPMU_GUEST_AMD_V2},   {"zen2", UPMU_GUEST_AMD_CORE},    {"k8_revf", UPMU_GUEST_AMD_K7},
             {"zen4", UPMU_GUEST_INTEL},    {"skylake", UPMU_GUEST_AMD_CORE}, {"yonah", UPMU_GUEST_INTEL}};
#define PAIRS (sizeof pairs / sizeof pairs[0])

static const uint32_t intel_addresses[] = {0xc1,  0xc2,  0xc3,  0xc4,  0xc8,  0x4c1, 0x4c2, 0x4c4, 0x186, 0x187, 0x188,
                                           0x189, 0x18d, 0x309, 0x30a, 0x30b, 0x38d, 0x38e, 0x38f, 0x390, 0x391, 0x392,
                                           0x345, 0x1a6, 0x1a7, 0x1d9, 0x3f1, 0x3f6, 0x600, 0x10f, 0x329, 0x680};
static const uint32_t amd_addresses[] = {0xc0010000, 0xc0010001, 0xc0010002, 0xc0010003, 0xc0010004, 0xc0010005,
                                         0xc0010007, 0xc0010200, 0xc0010201, 0xc0010202, 0xc0010206, 0xc0010207,
                                         0xc001020a, 0xc001020b, 0xc0000300, 0xc0000301, 0xc0000302, 0xc0000303,
                                         0x1d9,      0xc0011030, 0xc0011033, 0xc001103a, 0xc0010300, 0xc000010e};

/* Values that programs write, and any others. */
static uint64_t draw_value(void)
{
    static const uint64_t usual[] = {0x4300c0,
                                     0x5300c0,
                                     0x43003c,
                                     0x5300c4,
                                     0x430076,
                                     0x5300c2,
                                     0,
                                     1,
                                     0xf,
                                     0x7000000ff,
                                     0x333,
                                     0xbbb,
                                     UINT64_MAX,
                                     0x1800,
                                     0x800,
                                     0xffffffffffff,
                                     0xfffffffffff0,
                                     0xfffffff0,
                                     0x8000000000000000};

    switch (draw() & 3u) {
    case 0:
        return draw();
    case 1:
        return draw() & 0xffffffffu;
    default:
        return usual[draw() % (sizeof usual / sizeof usual[0])];
    }
}

/* A value for a register: half of the selects have no bit that is refused, half of the gates are all open. */
static uint64_t draw_value_of(uint32_t address)
{
    static const uint16_t codes[] = {0x3c, 0xc0, 0xc4, 0xc5, 0x76, 0xc2, 0xc3, 0x13c, 0x412e, 0x1b7};
    bool select = address - 0x186 < 8 || address - 0xc0010000u < 4 || (address - 0xc0010200u < 12 && !(address & 1u));

    if (draw() & 1u)
        return draw_value();
    if (select)
        return codes[draw() % 10] | (draw() & 0xff970000u) | (draw() & 3u ? 0x430000u : 0);
    if (address == 0x38f)
        return UINT64_C(0x700000000) | (UPMU_BIT32(nest.vcpu.shape.general) - 1u);
    return address == 0xc0000301u ? 0x3f : draw_value();
}

/* All bits of the status that the guest's door has. */
static uint64_t acknowledged(const struct nest *guest)
{
    const struct upmu_guest_shape *shape = &guest->vcpu.shape; /* as a reset made it */
    uint64_t general = UPMU_BIT32(shape->general) - 1u;

    if (shape->door != UPMU_GUEST_INTEL)
        return general | UINT64_C(3) << 58;
    return general | (UPMU_BIT64(shape->fixed) - 1u) << 32 |
           (shape->version >= 4 ? UINT64_C(0xec) << 56 : UINT64_C(0xc0) << 56);
}

/* One act of a guest that does what it likes. */
static void act(struct nest *guest)
{
    bool intel = guest->shape.door == UPMU_GUEST_INTEL;
    uint32_t address = intel ? intel_addresses[draw() % (sizeof intel_addresses / sizeof intel_addresses[0])]
                             : amd_addresses[draw() % (sizeof amd_addresses / sizeof amd_addresses[0])];
    uint64_t value;

    switch (draw() % 8) {
    case 0:
        (void)guest->port.rdmsr(guest, address, &value);
        break;
    case 1:
        (void)guest->port.rdpmc(guest, (uint32_t)draw() & (draw() & 1u ? 0x4000000fu : 0xffffffffu), &value);
        break;
    case 2:
        nest_run(guest, BURST(draw() % 60));
        break;
    case 3:
        guest->port.pmi_rearm(guest);
        break;
    case 4: /* all overflows are acknowledged: a guest that has frozen its counters counts on */
        if (upmu_guest_has_global(&guest->vcpu) && (!intel || guest->shape.version >= 2))
            nest_write(guest, intel ? 0x390 : 0xc0000302u, acknowledged(guest));
        break;
    default:
        (void)guest->port.wrmsr(guest, address, draw_value_of(address));
    }
}

static void set_up(unsigned pair)
{
    nest_set_up(&nest, pairs[pair].host, pairs[pair].door);
    nest.handler = ignore_interrupt;
}

/* Which accesses of the host's registers a hostile guest causes: the trace of the model, taken apart. */
#define TRACE 4096
static struct upmu_sim_access trace[TRACE];

static void watch(void)
{
    nest.host.sim.trace = trace;
    nest.host.sim.trace_size = TRACE;
    nest.host.sim.trace_count = 0;
}

static unsigned watched(void)
{
    unsigned count = nest.host.sim.trace_count;

    assert_compare(count, <, TRACE);
    nest.host.sim.trace_count = 0;
    return count;
}

/* Doors whose guests are the same but for their registers, and an event of each. */
static const struct door {
    const char *host;
    enum upmu_guest_door door;
    unsigned general, step;
    uint32_t select, gates;
    uint64_t event;
    unsigned instructions; /* for one event, in BURST() */
    bool fixed;            /* there are fixed counters */
    uint64_t open;         /* the gates of all counters */
} alike[] = {{"skylake", UPMU_GUEST_INTEL, 4, 1, 0x186, 0x38f, 0x4300c4, 4, true, 0x70000000f},
             {"zen4", UPMU_GUEST_AMD_V2, 6, 2, 0xc0010200, 0xc0000301, 0x4300c0, 1, false, 0x3f}};
#define ALIKE (sizeof alike / sizeof alike[0])

/* The registers of a general counter of the guest's. */
static uint32_t select_register(unsigned counter)
{
    if (nest.shape.door == UPMU_GUEST_INTEL)
        return 0x186 + counter;
    return nest.shape.door == UPMU_GUEST_AMD_K7 ? 0xc0010000u + counter : 0xc0010200u + 2 * counter;
}

static uint32_t counter_register(unsigned counter)
{
    if (nest.shape.door == UPMU_GUEST_INTEL)
        return 0xc1 + counter;
    return nest.shape.door == UPMU_GUEST_AMD_K7 ? 0xc0010004u + counter : 0xc0010201u + 2 * counter;
}

/* Let the guest count with all its general counters. */
static void open_all(void)
{
    for (unsigned i = 0; i < nest.shape.general; i++)
        nest_write(&nest, select_register(i), 0x4300c0);
    if (upmu_guest_has_global(&nest.vcpu))
        nest_write(&nest, nest.shape.door == UPMU_GUEST_INTEL ? 0x38f : 0xc0000301u,
                   UPMU_BIT64(nest.shape.general) - 1u);
}

static uint32_t select_of(const struct door *door, unsigned counter)
{
    return door->select + door->step * counter;
}

/* ---- Inputs ---- */

/* Each bit of each register: what exists is kept, what does not is refused (Intel) or dropped (AMD). */
static void s04_each_reserved_bit_is_refused_alone(void **state)
{
    static const struct {
        uint32_t address;
        uint64_t accepted;
    } intel[] = {{0x186, 0xffdfffff},
                 {0x188, 0xffdfffff},
                 {0x38d, 0xbbb},
                 {0x38f, 0x70000000f},
                 {0x390, 0xec0000070000000f},
                 {0x391, 0x6c0000070000000f},
                 {0x38e, 0},
                 {0x392, 0},
                 {0x345, 0},
                 {0x4c1, 0xffffffffffff},
                 {0x309, 0xffffffffffff},
                 {0xc1, UINT64_MAX},
                 {0x1a6, 0},
                 {0x1a7, 0}};
    static const struct {
        uint32_t address;
        uint64_t kept;
    } amd[] = {
        {0xc0010200, 0xfffd7ffff}, {0xc0010003, 0xfffd7ffff}, {0xc0010201, 0xffffffffffff},
        {0xc0000300, 0},           {0xc0000301, 0x3f},        {0xc0000302, 0},
    };

    (void)state;
    nest_prepare(&nest, "skylake", NULL);
    nest_shape(&nest, UPMU_GUEST_INTEL);
    nest.shape.general = 4;
    nest.policy.level = UPMU_GUEST_ARCH;
    nest_begin(&nest);
    for (unsigned i = 0; i < sizeof intel / sizeof intel[0]; i++)
        for (unsigned bit = 0; bit < 64; bit++)
            if (nest.port.wrmsr(&nest, intel[i].address, UPMU_BIT64(bit)) != (intel[i].accepted >> bit & 1u))
                fail_msg("register %x, bit %u", (unsigned)intel[i].address, bit);
    nest_end(&nest);
    nest_set_up(&nest, "zen4", UPMU_GUEST_AMD_V2);
    for (unsigned i = 0; i < sizeof amd / sizeof amd[0]; i++)
        for (unsigned bit = 0; bit < 64; bit++) {
            nest_write(&nest, amd[i].address, UPMU_BIT64(bit));
            if (nest_read(&nest, amd[i].address) != (amd[i].kept & UPMU_BIT64(bit)))
                fail_msg("register %x, bit %u", (unsigned)amd[i].address, bit);
        }
    nest_write(&nest, 0xc0000303u, 5);
    nest_write(&nest, 0xc0000300u, 0x3f);
    assert_int_equal(nest_read(&nest, 0xc0000300u), 5);
    nest_end(&nest);
}

/*
 * RDPMC, by numbers of one bit beside a small number: a general counter, a fixed one by bit 30, and nothing else.
 * Addresses of registers are those of s41 and s42, masks of the page those of s01.
 */
static void s06_no_number_of_a_counter_leaves_its_table(void **state)
{
    static struct upmu_guest before;

    (void)state;
    for (unsigned pair = 0; pair < PAIRS; pair++) {
        uint64_t value;

        set_up(pair);
        nest_enter(&nest);
        nest_exit(&nest);
        for (unsigned i = 0; i < nest.shape.general; i++)
            nest_write(&nest, counter_register(i), 0x1000 + i);
        for (unsigned i = 0; i < nest.shape.fixed; i++)
            nest_write(&nest, 0x309 + i, 0x2000 + i);
        before = nest.vcpu;
        for (unsigned bit = 0; bit < 32; bit++)
            for (unsigned low = 0; low < 40; low++) {
                uint32_t ecx = UPMU_BIT32(bit) + low;
                enum upmu_guest_access access = upmu_guest_rdpmc(&nest.vcpu, ecx, &value);
                bool there = ecx < nest.shape.general || ecx - 0x40000000u < nest.shape.fixed;

                assert_int_equal(access, there ? UPMU_GUEST_DONE : UPMU_GUEST_FAULT);
                if (there)
                    assert_int_equal(value, ecx < 0x40000000u ? 0x1000 + ecx : 0x2000 + ecx - 0x40000000u, ecx);
            }
        assert_memory_equal(&before, &nest.vcpu, sizeof before);
        nest_end(&nest);
    }
}

/* What reaches a select of the hardware. */
static void s07_selects_hold_only_what_a_guest_may_choose(void **state)
{
    (void)state;
    for (unsigned run = 0; run < 2 * PAIRS; run++) {
        unsigned pair = run % PAIRS;
        bool amd = strncmp(pairs[pair].host, "zen", 3) == 0 || strncmp(pairs[pair].host, "k8", 2) == 0;
        unsigned selects = 0;

        set_up(pair);
        if (run >= PAIRS) { /* whose own selects have guest-only and host-only */
            nest.policy.flags |= UPMU_GUEST_NESTED_SVM;
            upmu_guest_mode(&nest.vcpu, true, false);
        }
        seed = 0x1234567 + pair;
        watch();
        for (unsigned i = 0; i < 3000; i++) {
            unsigned count;

            act(&nest);
            count = watched();
            for (unsigned k = 0; k < count; k++) {
                uint32_t address = trace[k].address;
                uint64_t value = trace[k].value;

                if (trace[k].kind != UPMU_SIM_WRMSR)
                    continue;
                if (amd && ((address & 0xfffffff1u) == 0xc0010200u || (address & 0xfffffffcu) == 0xc0010000u))
                    assert_int_equal(value & (UPMU_BIT64(19) | UPMU_BIT64(21) | UINT64_MAX << 36), 0);
                else if (!amd && address - 0x186 < 8)
                    assert_int_equal(value & (UPMU_BIT64(19) | UPMU_BIT64(21) | UINT64_MAX << 34), 0);
                else if (!amd && address == 0x38d)
                    assert_int_equal(value & 0x4444, 0);
                else
                    continue;
                selects++;
            }
        }
        assert_compare(selects, >, 20, run);
        nest_end(&nest);
    }
}

static void s08_a_payload_has_the_bits_of_the_policy_alone(void **state)
{
    (void)state;
    nest_prepare(&nest, "skylake", NULL);
    nest_shape(&nest, UPMU_GUEST_INTEL);
    nest.policy.payload[1] = 0x101;
    nest_begin(&nest);
    for (unsigned bit = 0; bit < 64; bit++) {
        assert_false(nest.port.wrmsr(&nest, 0x1a6, UPMU_BIT64(bit)));
        assert_int_equal(nest.port.wrmsr(&nest, 0x1a7, UPMU_BIT64(bit)), bit == 0 || bit == 8);
    }
    nest_write(&nest, 0x1a7, 0x101);
    assert_int_equal(nest_read(&nest, 0x1a7), 0x101);
    nest_end(&nest);
}

/* A policy that narrows: the register keeps what the guest wrote, the host's gets what is permitted. */
static void s08_a_payload_is_what_the_present_policy_permits(void **state)
{
    struct upmu_guest_policy narrow;

    (void)state;
    nest_prepare(&nest, "skylake", NULL);
    nest.policy.payload[0] = 3;
    nest_shape(&nest, UPMU_GUEST_INTEL);
    nest_begin(&nest);
    nest_write(&nest, 0x1a6, 3);
    nest_write(&nest, 0x186, 0x4301b7);
    nest_enter(&nest);
    assert_int_equal(upmu_sim_peek(&nest.host.sim, 0, 0x1a6), 3);
    nest_exit(&nest);
    narrow = nest.policy;
    narrow.payload[0] = 1;
    assert_int_equal(upmu_guest_policy_change(&nest.vcpu, &narrow), UPMU_OK);
    nest_enter(&nest);
    assert_int_equal(upmu_sim_peek(&nest.host.sim, 0, 0x1a6), 1);
    assert_int_equal(nest_read(&nest, 0x1a6), 3);
    assert_false(nest.port.wrmsr(&nest, 0x1a6, 2));
    nest_end(&nest);
}

/* Host and guest have the same payload after a restore and after a reset, too, where the select stays what it was. */
static void s08_a_payload_goes_with_its_guest(void **state)
{
    uint8_t saved[UPMU_GUEST_STATE_BYTES];
    size_t used;

    (void)state;
    nest_prepare(&nest, "skylake", NULL);
    nest_shape(&nest, UPMU_GUEST_INTEL);
    nest.policy.payload[0] = 0x3fffffffff;
    nest_begin(&nest);
    nest_write(&nest, 0x1a6, 0x20001);
    nest_write(&nest, 0x186, 0x4301b7);
    nest_write(&nest, 0x38f, 1);
    nest_exit(&nest);
    assert_int_equal(upmu_guest_save(&nest.vcpu, saved, sizeof saved, &used), UPMU_OK);
    nest_write(&nest, 0x1a6, 0x10001);
    nest_enter(&nest);
    assert_int_equal(upmu_sim_peek(&nest.host.sim, 0, 0x1a6), 0x10001);
    nest_exit(&nest);
    assert_int_equal(upmu_guest_restore(&nest.vcpu, saved, used), UPMU_OK);
    nest_enter(&nest);
    assert_int_equal(upmu_sim_peek(&nest.host.sim, 0, 0x1a6), 0x20001);
    nest_exit(&nest);
    upmu_guest_reset(&nest.vcpu);
    nest_write(&nest, 0x186, 0x4301b7);
    nest_write(&nest, 0x38f, 1);
    nest_run(&nest, &(struct upmu_sim_burst){.instructions = 1000,
                                             .cycles = 2000,
                                             .other = {{.count = 100, .payload = 0x20001, .event = 0xb7, .umask = 1}}});
    assert_int_equal(nest_read(&nest, 0xc1), 0);
    nest_end(&nest);
}

static void s09_registers_of_records_and_traces_fault_without_an_access(void **state)
{
    static const uint32_t intel[] = {0x40,   0x47,   0x60,   0x67,  0x1db, 0x1dc,  0x1dd,  0x1de,  0x6df,  0xddf,
                                     0x3f1,  0x3f2,  0x3f6,  0x3f7, 0x600, 0x10f,  0x329,  0x1900, 0x19ff, 0x680,
                                     0x69f,  0x6c0,  0xdc0,  0x1c8, 0x1c9, 0x14ce, 0x1500, 0x1600, 0x1200, 0x14cf,
                                     0x123f, 0x153f, 0x163f, 0x560, 0x561, 0x570,  0x571,  0x572,  0x580,  0x587};
    static const uint32_t amd[] = {0xc0011030, 0xc0011033, 0xc001103f, 0xc0010300, 0xc001031f, 0xc000010e, 0xc000010f};

    (void)state;
    for (unsigned vendor = 0; vendor < 2; vendor++) {
        nest_set_up(&nest, vendor ? "zen4" : "skylake", vendor ? UPMU_GUEST_AMD_V2 : UPMU_GUEST_INTEL);
        host_forget_cost(&nest.host);
        for (unsigned i = 0; i < (vendor ? sizeof amd : sizeof intel) / 4; i++) {
            uint64_t value;

            assert_int_equal(upmu_guest_rdmsr(&nest.vcpu, vendor ? amd[i] : intel[i], &value), UPMU_GUEST_FAULT, i);
            assert_int_equal(upmu_guest_wrmsr(&nest.vcpu, vendor ? amd[i] : intel[i], 0), UPMU_GUEST_FAULT, i);
        }
        host_costs(&nest.host, "absent registers", 0, 0);
        nest_end(&nest);
    }
}

/* Policies that follow one another, and what each lets a counter of the host count. */
static const uint64_t only_instructions[] = {0xc0};
static const struct upmu_guest_filter allowing = {.count = 1, .fixed_bitmap = 1, .entry = only_instructions},
                                      denying = {.count = 1,
                                                 .fixed_bitmap = 1,
                                                 .entry = only_instructions,
                                                 .action = UPMU_GUEST_FILTER_DENY};
#define BESIDE UPMU_GUEST_BESIDE_STRANGERS
static const struct upmu_guest_policy in_turn[] = {
    {.level = UPMU_GUEST_IPC, .min_period = 1},
    {.level = UPMU_GUEST_ARCH, .flags = BESIDE, .min_period = 1},
    {.level = UPMU_GUEST_LIST, .flags = BESIDE, .filter = &allowing, .min_period = 1},
    {.level = UPMU_GUEST_LIST, .flags = BESIDE, .filter = &denying, .min_period = 1},
    {.level = UPMU_GUEST_ALL, .flags = BESIDE, .payload = {3, 0}},
    {.level = UPMU_GUEST_ALL, .flags = BESIDE, .payload = {1, 0}},
    {.level = UPMU_GUEST_OFF},
};
#define POLICIES (sizeof in_turn / sizeof in_turn[0])

static bool may_count(unsigned policy, uint32_t select, uint64_t payload)
{
    static const uint16_t architectural[] = {0x3c, 0xc0, 0x13c, 0x4f2e, 0x412e, 0xc4, 0xc5, 0x300};
    bool plain = !(select & 0xff840000u), found = false;
    unsigned code = select & 0xffffu;

    for (unsigned i = 0; i < 8; i++)
        found = found || architectural[i] == code;
    switch (policy) {
    case 0:
        return plain && (code == 0x3c || code == 0xc0 || code == 0x13c || code == 0x300);
    case 1:
        return found;
    case 2:
        return code == 0xc0;
    case 3:
        return code != 0xc0; /* (Fixed counter 0 is denied, too.) */
    case 6:
        return false;
    default:
        return (code != 0x1b7 && code != 0xb7) || !(payload & ~in_turn[policy].payload[0]);
    }
}

/*
 * Each counter of the host that is open counts what the present policy permits.  Its fixed counters: by their event.
 * Returns how many are open.
 */
static unsigned check_selects(unsigned policy)
{
    unsigned open = 0;
    static const uint16_t fixed[] = {0xc0, 0x3c, 0x300};
    struct upmu_sim *sim = &nest.host.sim;
    uint64_t gate = upmu_sim_peek(sim, 0, 0x38f), control = upmu_sim_peek(sim, 0, 0x38d);

    for (unsigned i = 0; i < 4; i++) {
        uint32_t select = (uint32_t)upmu_sim_peek(sim, 0, 0x186 + i);

        if (!(gate >> i & 1u) || !(select & GUEST_SELECT_EN))
            continue;
        open++;
        if (!may_count(policy, select, upmu_sim_peek(sim, 0, 0x1a6)))
            fail_msg("policy %u: the host counts %x, payload %llx", policy, (unsigned)select,
                     (unsigned long long)upmu_sim_peek(sim, 0, 0x1a6));
    }
    for (unsigned i = 0; i < 3; i++) {
        if (!(gate >> (32 + i) & 1u) || !(control >> 4 * i & 3u))
            continue;
        open++;
        if (!may_count(policy, fixed[i], 0))
            fail_msg("policy %u: the host counts by fixed counter %u", policy, i);
    }
    return open;
}

/* A property: whatever a guest does, from the entry after a change on it counts what the present policy permits. */
static void s07_selects_of_the_hardware_follow_the_present_policy(void **state)
{
    const char *runs = getenv("FUZZ_RUNS");
    unsigned steps = runs && strcmp(runs, "soak") == 0 ? 3000000u : 10000u, now = 5, open[POLICIES] = {0};

    (void)state;
    nest_prepare(&nest, "skylake", NULL);
    nest.handler = ignore_interrupt;
    nest.policy = in_turn[now];
    nest_shape(&nest, UPMU_GUEST_INTEL);
    nest_begin(&nest);
    seed = 38;
    for (unsigned i = 0; i < steps; i++) {
        uint64_t before[4], after;

        act(&nest);
        if (draw() % 8)
            continue;
        nest_exit(&nest);
        for (unsigned k = 0; k < 4; k++)
            (void)upmu_guest_rdpmc(&nest.vcpu, k, &before[k]);
        now = draw() % POLICIES;
        assert_int_equal(upmu_guest_policy_change(&nest.vcpu, &in_turn[now]), UPMU_OK, now);
        nest_enter(&nest);
        open[now] += check_selects(now);
        nest_exit(&nest);
        for (unsigned k = 0; k < 4; k++) {
            (void)upmu_guest_rdpmc(&nest.vcpu, k, &after);
            assert_int_equal(after, before[k], k);
        }
        if (draw() % 16)
            continue;
        upmu_guest_reset(&nest.vcpu);
        assert_int_equal(upmu_guest_shape_denied(&nest.vcpu.shape, &in_turn[now]), 0, now);
    }
    for (unsigned i = 0; i < POLICIES; i++)
        assert_int_equal(open[i] != 0, in_turn[i].level != UPMU_GUEST_OFF, i);
    nest_end(&nest);
}

/* ---- Lifetime ---- */

static void s11_a_vcpu_ends_in_every_state(void **state)
{
    (void)state;
    for (unsigned pair = 0; pair < PAIRS; pair++)
        for (unsigned when = 0; when < 40; when++) {
            set_up(pair);
            seed = 99 + when;
            for (unsigned i = 0; i < when; i++)
                act(&nest);
            nest_exit(&nest);
            if (when & 1u)
                upmu_guest_reset(&nest.vcpu);
            if (when % 3 == 0) {
                assert_int_equal(upmu_cpu_suspend(&nest.host.cpu[0]), UPMU_OK);
                for (unsigned i = 0; i < 5; i++)
                    act(&nest);
                nest_exit(&nest);
                assert_int_equal(upmu_cpu_resume(&nest.host.cpu[0]), UPMU_OK);
            }
            nest_end(&nest);
            assert_int_equal(nest.vcpu.attached, 0);
        }
}

/* ---- Resources ---- */

static void s15_a_guest_has_the_sessions_that_it_was_given_and_no_more(void **state)
{
    (void)state;
    nest_prepare(&nest, "icelake", NULL);
    nest_shape(&nest, UPMU_GUEST_INTEL);
    assert_int_equal(upmu_guest_init(&nest.vcpu, &nest.host.machine, &nest.shape, &nest.policy,
                                     &(struct upmu_guest_memory){nest.sessions, 2, &nest.host.threads[1]}),
                     UPMU_OK);
    host_thread_switch(&nest.host, 0, 1);
    memset(&nest.sessions[2], 0xa5, sizeof nest.sessions[2]);
    for (unsigned i = 0; i < 4; i++)
        nest_write(&nest, 0x186 + i, 0x4300c0);
    nest_run(&nest, BURST(50));
    assert_int_equal(nest.vcpu.waiting, 0xc);
    assert_int_equal(nest_read(&nest, 0xc1), 50);
    assert_int_equal(nest_read(&nest, 0xc2), 50);
    assert_int_equal(nest_read(&nest, 0xc3), 0);
    for (size_t i = 0; i < sizeof nest.sessions[2]; i++)
        assert_int_equal(((const uint8_t *)&nest.sessions[2])[i], 0xa5, i);
    /* One that is given up serves another counter. */
    nest_write(&nest, 0x187, 0);
    nest_write(&nest, 0x188, 0x4300c4);
    nest_run(&nest, BURST(40));
    assert_int_equal(nest_read(&nest, 0xc3), 10);
    assert_int_equal(nest_read(&nest, 0xc2), 50);
    nest_write(&nest, 0x189, 0);
    nest_enter(&nest);
    assert_int_equal(nest.vcpu.waiting, 0);
    /* The other one gets a session back that has counted something else. */
    nest_write(&nest, 0x188, 0);
    nest_write(&nest, 0x187, 0x4300c0);
    nest_run(&nest, BURST(60));
    assert_int_equal(nest_read(&nest, 0xc2), 110);
    assert_int_equal(nest_read(&nest, 0xc3), 10);
    nest_end(&nest);
}

/* One that came too late for a session is tried again when another one is given up, whatever the guest touches. */
static void s15_a_counter_that_waits_gets_what_is_given_up(void **state)
{
    (void)state;
    nest_prepare(&nest, "skylake", NULL);
    nest_shape(&nest, UPMU_GUEST_INTEL);
    assert_int_equal(upmu_guest_init(&nest.vcpu, &nest.host.machine, &nest.shape, &nest.policy,
                                     &(struct upmu_guest_memory){nest.sessions, 1, &nest.host.threads[1]}),
                     UPMU_OK);
    host_thread_switch(&nest.host, 0, 1);
    nest_write(&nest, 0x186, 0x4300c0);
    nest_write(&nest, 0x187, 0x4300c0);
    nest_write(&nest, 0x38f, 3);
    nest_run(&nest, BURST(100));
    assert_int_equal(nest.vcpu.waiting, 2);
    nest_write(&nest, 0x186, 0);
    nest_run(&nest, BURST(100));
    assert_int_equal(nest.vcpu.waiting, 0);
    assert_int_equal(nest_read(&nest, 0xc2), 100);
    nest_end(&nest);
}

/* Loads that overflow with the next event, on every counter, for ever. */
static void load_again(struct nest *guest, const struct upmu_frame *frame)
{
    (void)frame;
    for (unsigned i = 0; i < guest->shape.general; i++)
        (void)guest->port.wrmsr(guest, 0xc1 + i, UINT64_MAX);
    (void)guest->port.wrmsr(guest, 0x390, 0xf);
    guest->port.pmi_rearm(guest);
}

/* The gates of the host that are open: bits of one register, or of each select. */
static unsigned open_gates(unsigned pair)
{
    static const uint32_t registers[] = {[0] = 0x38f, [1] = 0x38f, [3] = 0xc0000301u, [4] = 0};
    struct upmu_sim *sim = &nest.host.sim;
    unsigned count = 0;
    uint64_t gates = registers[pair] ? upmu_sim_peek(sim, 0, registers[pair]) : 0;

    for (unsigned i = 0; i < 6 && !registers[pair]; i++)
        count += upmu_sim_peek(sim, 0, 0xc0010200u + 2 * i) >> 22 & 1u;
    return count + upmu_bits_count((uint32_t)gates) + upmu_bits_count((uint32_t)(gates >> 32));
}

/* A guest does what it likes, under policies that follow one another: the host opens no gate more than they permit. */
static void s15_a_vcpu_has_the_counters_of_its_policy_and_no_more(void **state)
{
    static struct upmu_guest_policy policies[4];
    static const unsigned of[] = {0, 1, 3, 4}; /* pairs whose registers open_gates() knows */

    (void)state;
    for (unsigned k = 0; k < sizeof of / sizeof of[0]; k++) {
        unsigned most = 0, reached[4] = {0, 0, 0, 0};

        set_up(of[k]);
        seed = 31 + k;
        for (unsigned i = 0; i < 4; i++) {
            policies[i] = nest.policy;
            policies[i].level = UPMU_GUEST_ARCH; /* some other events need two counters of the host */
            policies[i].max_counters = (uint8_t)i;
        }
        assert_int_equal(upmu_guest_policy_change(&nest.vcpu, &policies[0]), UPMU_OK);
        for (unsigned i = 0; i < 4000; i++) {
            act(&nest);
            if (draw() % 20 == 0)
                open_all();
            if (draw() % 40 == 0) {
                nest_exit(&nest);
                most = draw() % 4;
                assert_int_equal(upmu_guest_policy_change(&nest.vcpu, &policies[most]), UPMU_OK, most);
            }
            nest_enter(&nest);
            if (most && open_gates(of[k]) > most)
                fail_msg("%s: %u gates of the host are open", pairs[of[k]].host, open_gates(of[k]));
            if (open_gates(of[k]) > reached[most])
                reached[most] = open_gates(of[k]);
        }
        assert_compare(reached[0], >=, nest.shape.general);
        for (unsigned i = 1; i <= 2; i++)
            assert_int_equal(reached[i], i);
        nest_end(&nest);
    }
}

static void s16_a_counter_interrupts_once_in_so_many_events(void **state)
{
    (void)state;
    nest_prepare(&nest, "skylake", NULL);
    nest_shape(&nest, UPMU_GUEST_INTEL);
    nest.policy.min_period = 0;
    nest.handler = load_again;
    nest_begin(&nest);
    for (unsigned i = 0; i < nest.shape.general; i++)
        nest_write(&nest, 0x186 + i, 0x5300c0);
    load_again(&nest, NULL);
    for (unsigned i = 0; i < 100; i++)
        nest_run(&nest, BURST(1000));
    assert_compare(nest.injected, >, 90);
    assert_compare(nest.injected, <=, 100);
    assert_compare(nest.host.answers, <=, 110);
    nest_end(&nest);
}

/* A transaction that aborts takes its events back, so that the same overflow would come with each. */
static void s16_transactions_that_abort_interrupt_nobody(void **state)
{
    (void)state;
    nest_prepare(&nest, "skylake", NULL);
    nest_shape(&nest, UPMU_GUEST_INTEL);
    nest.policy.min_period = 0;
    nest.handler = ignore_interrupt;
    nest_begin(&nest);
    nest_write(&nest, 0x4c3, 0xffffffffffff - 999);
    nest_write(&nest, 0x188, 0x2005300c0);
    nest_write(&nest, 0x38f, 4);
    nest_run(&nest, BURST(996));
    upmu_guest_lvtpc(&nest.vcpu, 0x400);
    for (unsigned i = 0; i < 50; i++)
        nest_run(&nest, &(struct upmu_sim_burst){.instructions = 8, .cycles = 16, .in_tx = true, .tx_abort = true});
    assert_int_equal(nest.host.answers, 0);
    assert_int_equal(nest_read(&nest, 0xc3), 0xffffffffffff - 3);
    nest_run(&nest, BURST(10));
    assert_int_equal(nest_read(&nest, 0xc3), 6);
    assert_int_equal(nest_read(&nest, 0x38e), 4);
    nest_enter(&nest);
    assert_int_equal(nest.injected, 0);
    nest_end(&nest);
}

static void s17_the_work_of_a_trap_is_bounded(void **state)
{
    (void)state;
    for (unsigned pair = 0; pair < PAIRS; pair++) {
        unsigned most = 0;

        set_up(pair);
        seed = 77 + pair;
        watch();
        for (unsigned i = 0; i < 2000; i++) {
            unsigned count;

            act(&nest);
            if (draw() % 20 == 0)
                open_all();
            nest_enter(&nest);
            count = watched();
            if (count > most)
                most = count;
        }
        nest_end(&nest);
        assert_in_range(most, nest.shape.general, 16u * (nest.shape.general + nest.shape.fixed));
    }
}

static void s19_reserved_counters_are_not_touched(void **state)
{
    (void)state;
    nest_prepare(&nest, "skylake", NULL);
    assert_int_equal(upmu_cpu_reserve(&nest.host.cpu[0], 1u << 3), UPMU_OK);
    nest_shape(&nest, UPMU_GUEST_INTEL);
    nest_begin(&nest);
    nest.handler = ignore_interrupt;
    seed = 4711;
    watch();
    /* (One more than the others can serve, then anything.) */
    for (unsigned i = 0; i < nest.shape.general; i++)
        nest_write(&nest, 0x186 + i, 0x4300c4);
    for (unsigned i = 0; i < 3000; i++) {
        unsigned count;

        if (i)
            act(&nest);
        else
            nest_run(&nest, BURST(60));
        for (unsigned n = 0; n < nest.shape.general && !i; n++) /* counter 3 waits, the others count branches */
            assert_int_equal(nest_read(&nest, 0xc1 + n), nest.vcpu.waiting >> n & 1u ? 0 : 15, n);
        count = watched();
        for (unsigned k = 0; k < count; k++)
            if (trace[k].kind == UPMU_SIM_WRMSR) {
                assert_int_not_equal(trace[k].address, 0x189, k);
                assert_int_not_equal(trace[k].address, 0xc4, k);
                assert_int_not_equal(trace[k].address, 0x4c4, k);
                if (trace[k].address == 0x38f)
                    assert_int_equal(trace[k].value & 8u, 0, k);
            }
    }
    nest_end(&nest);
}

/* Two guests alternate: each has the counters while it runs. */
static void check_alternation(const struct door *door)
{
    static struct upmu_guest other;
    static struct upmu_session sessions[NEST_SESSIONS];
    struct upmu_guest_entry entry;
    uint64_t mine, others;

    nest_set_up(&nest, door->host, door->door);
    assert_int_equal(upmu_guest_init(&other, &nest.host.machine, &nest.shape, &nest.policy,
                                     &(struct upmu_guest_memory){sessions, NEST_SESSIONS, &nest.host.threads[0]}),
                     UPMU_OK);
    for (unsigned i = 0; i < door->general; i++) {
        assert_int_equal(upmu_guest_wrmsr(&nest.vcpu, select_of(door, i), door->event), UPMU_GUEST_DONE, i);
        assert_int_equal(upmu_guest_wrmsr(&other, select_of(door, i), door->event), UPMU_GUEST_DONE, i);
    }
    assert_int_equal(upmu_guest_wrmsr(&nest.vcpu, door->gates, UPMU_BIT32(door->general) - 1u), UPMU_GUEST_DONE);
    assert_int_equal(upmu_guest_wrmsr(&other, door->gates, UPMU_BIT32(door->general) - 1u), UPMU_GUEST_DONE);
    for (unsigned i = 0; i < 20; i++) {
        struct upmu_guest *present = i & 1u ? &nest.vcpu : &other;

        host_thread_switch(&nest.host, 0, i & 1u);
        assert_int_equal(upmu_guest_enter(present, &entry), UPMU_OK, i);
        upmu_sim_events(&nest.host.sim, BURST(40));
        assert_int_equal(upmu_guest_exit(present), UPMU_OK, i);
        assert_int_equal(present->waiting, 0, i);
    }
    for (unsigned i = 0; i < door->general; i++) {
        assert_int_equal(upmu_guest_rdpmc(&nest.vcpu, i, &mine), UPMU_GUEST_DONE, i);
        assert_int_equal(upmu_guest_rdpmc(&other, i, &others), UPMU_GUEST_DONE, i);
        assert_int_equal(mine, 10 * 40 / door->instructions, i);
        assert_int_equal(others, 10 * 40 / door->instructions, i);
    }
    assert_int_equal(upmu_guest_fini(&other), UPMU_OK);
    nest_end(&nest);
}

static void s18_guests_that_alternate_get_the_same(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ALIKE; i++)
        check_alternation(&alike[i]);
}

/* ---- Concurrency ---- */

/* The handler leaves a note and nothing else. */
static void s21_the_handler_writes_one_word_of_the_guest(void **state)
{
    static struct upmu_guest before;

    (void)state;
    for (unsigned pair = 0; pair < PAIRS; pair++) {
        bool intel = pairs[pair].door == UPMU_GUEST_INTEL;
        struct upmu_guest_entry entry;

        set_up(pair);
        nest_write(&nest, intel ? 0x186 : 0xc0010000u, 0x5300c0);
        nest_write(&nest, intel ? 0xc1 : 0xc0010004u, (uint64_t)-20);
        assert_int_equal(upmu_guest_enter(&nest.vcpu, &entry), UPMU_OK);
        before = nest.vcpu;
        upmu_sim_events(&nest.host.sim, BURST(100));
        assert_int_equal(nest.vcpu.overflowed, 1);
        before.overflowed = 1;
        assert_memory_equal(&before, &nest.vcpu, sizeof before);
        assert_int_equal(upmu_guest_exit(&nest.vcpu), UPMU_OK);
        nest_end(&nest);
    }
}

static void s24_an_interrupt_is_reported_once_and_several_are_one(void **state)
{
    struct upmu_guest_entry entry;

    (void)state;
    nest_set_up(&nest, "skylake", UPMU_GUEST_INTEL);
    upmu_guest_lvtpc(&nest.vcpu, 0xfe);
    nest_write(&nest, 0x186, 0x5300c0);
    nest_write(&nest, 0x187, 0x53003c);
    nest_write(&nest, 0x4c1, 0xfffffffffff0);
    nest_write(&nest, 0x4c2, 0xfffffffffff0);
    assert_int_equal(upmu_guest_enter(&nest.vcpu, &entry), UPMU_OK);
    assert_int_equal(entry.inject, UPMU_GUEST_INJECT_NONE);
    upmu_sim_events(&nest.host.sim, BURST(100));
    assert_int_equal(upmu_guest_exit(&nest.vcpu), UPMU_OK);
    assert_int_equal(upmu_guest_enter(&nest.vcpu, &entry), UPMU_OK);
    assert_int_equal(entry.inject, UPMU_GUEST_INJECT_VECTOR);
    assert_int_equal(entry.vector, 0xfe);
    assert_int_equal(nest.vcpu.x86.lvtpc, 0x100fe);
    assert_int_equal(upmu_guest_exit(&nest.vcpu), UPMU_OK);
    assert_int_equal(upmu_guest_enter(&nest.vcpu, &entry), UPMU_OK);
    assert_int_equal(entry.inject, UPMU_GUEST_INJECT_NONE);
    assert_int_equal(upmu_guest_exit(&nest.vcpu), UPMU_OK);
    assert_int_equal(nest_read(&nest, 0x38e), 3);
    nest_end(&nest);
}

/* ---- Information ---- */

/*
 * After a guest has gone, its counts are in no counter that another guest, or a program that reads counters itself,
 * can see: another guest begins at its own values, and what the program may read is 0 or its own.
 */
static void s25_a_guests_counts_leave_with_it(void **state)
{
    static struct upmu_guest other;
    static struct upmu_session sessions[NEST_SESSIONS];
    static struct upmu_user_page page;

    (void)state;
    for (unsigned pair = 0; pair < PAIRS; pair++) {
        bool intel = pairs[pair].door == UPMU_GUEST_INTEL;
        const uint32_t select = intel ? 0x186 : 0xc0010000u, counter = intel ? 0xc1 : 0xc0010004u;
        struct upmu_guest_entry entry;
        const struct upmu_pmu *pmu;

        set_up(pair);
        pmu = &nest.host.machine.pmu[0];
        assert_int_equal(upmu_guest_init(&other, &nest.host.machine, &nest.shape, &nest.policy,
                                         &(struct upmu_guest_memory){sessions, NEST_SESSIONS, &nest.host.threads[0]}),
                         UPMU_OK);
        for (unsigned i = 0; i < 2; i++) {
            nest_write(&nest, select + i, 0x4300c0);
            nest_write(&nest, counter + i, 0x5000);
        }
        nest_run(&nest, BURST(777));
        nest_exit(&nest);
        host_thread_switch(&nest.host, 0, 0);
        for (unsigned i = 0; i < 2; i++) {
            uint64_t value;

            assert_int_equal(upmu_guest_wrmsr(&other, select + i, 0x4300c0), UPMU_GUEST_DONE, i);
            assert_int_equal(upmu_guest_rdpmc(&other, i, &value), UPMU_GUEST_DONE, i);
            assert_int_equal(value, 0);
        }
        for (unsigned k = 1; k <= 3; k++) {
            uint64_t value;

            assert_int_equal(upmu_guest_enter(&other, &entry), UPMU_OK);
            upmu_sim_events(&nest.host.sim, BURST(5));
            assert_int_equal(upmu_guest_exit(&other), UPMU_OK);
            assert_int_equal(upmu_guest_rdmsr(&other, counter, &value), UPMU_GUEST_DONE);
            assert_int_equal(value, 5 * k, k);
        }
        host_thread_switch(&nest.host, 0, 1);
        assert_int_equal(upmu_guest_fini(&other), UPMU_OK);
        /* The other thread is now a program's, which may execute RDPMC. */
        host_add(&nest.host, 0, "branches", 0);
        assert_int_equal(upmu_session_publish(&nest.host.session, &page), UPMU_OK);
        assert_int_equal(upmu_session_attach_thread(&nest.host.session, &nest.host.threads[0], NULL), UPMU_OK);
        assert_int_equal(upmu_session_start(&nest.host.session), UPMU_OK);
        nest_run(&nest, BURST(777));
        nest_exit(&nest);
        host_thread_switch(&nest.host, 0, 0);
        for (uint32_t rest = pmu->counters; rest; rest &= rest - 1u) {
            const struct upmu_port *port = &nest.host.sim.port;
            uintptr_t irqs = port->irq_save(port->context);
            uint64_t value = 0;

            assert_true(port->rdpmc(port->context, pmu->counter[upmu_bits_lowest(rest)].rdpmc, &value), rest);
            port->irq_restore(port->context, irqs);
            /* (Its own counter goes on from `base`, whatever that is.) */
            if (pmu->counter[upmu_bits_lowest(rest)].rdpmc + 1u == page.event[0].index)
                value -= page.event[0].base;
            assert_compare(value, <=, 100);
        }
        host_thread_switch(&nest.host, 0, 1);
        assert_int_equal(upmu_session_close(&nest.host.session), UPMU_OK);
        nest_end(&nest);
    }
}

static void s26_what_the_host_executes_is_in_no_count_of_a_guest(void **state)
{
    (void)state;
    for (unsigned pair = 0; pair < PAIRS; pair++) {
        bool intel = pairs[pair].door == UPMU_GUEST_INTEL;
        uint32_t counter = intel ? 0xc1 : 0xc0010004u;

        set_up(pair);
        host_add(&nest.host, 0, "instructions", 0);
        assert_int_equal(upmu_session_world(&nest.host.session, UPMU_WORLD_HOST), UPMU_OK);
        nest_write(&nest, intel ? 0x186 : 0xc0010000u, 0x4300c0);
        assert_int_equal(upmu_session_attach_cpu(&nest.host.session, &nest.host.cpu[0]), UPMU_OK);
        assert_int_equal(upmu_session_start(&nest.host.session), UPMU_OK);
        for (unsigned i = 0; i < 20; i++) {
            nest_run(&nest, BURST(7));
            nest_run_host(&nest, BURST(1000));
        }
        assert_int_equal(nest_read(&nest, counter), 140);
        assert_int_equal(host_value(&nest.host.session, 0), 20000);
        assert_int_equal(upmu_session_close(&nest.host.session), UPMU_OK);
        nest_end(&nest);
    }
}

static void s27_a_status_bit_stays_with_its_guest(void **state)
{
    static struct upmu_guest other;
    static struct upmu_session sessions[4];
    uint64_t value;

    (void)state;
    nest_set_up(&nest, "skylake", UPMU_GUEST_INTEL);
    assert_int_equal(upmu_guest_init(&other, &nest.host.machine, &nest.shape, &nest.policy,
                                     &(struct upmu_guest_memory){sessions, 4, &nest.host.threads[0]}),
                     UPMU_OK);
    nest_write(&nest, 0x186, 0x4300c0);
    nest_write(&nest, 0x4c1, 0xfffffffffff0);
    nest_run(&nest, BURST(100));
    nest_exit(&nest);
    assert_int_equal(nest_read(&nest, 0x38e), 1);
    assert_int_equal(upmu_guest_wrmsr(&other, 0x186, 0x4300c0), UPMU_GUEST_DONE);
    assert_int_equal(upmu_guest_rdmsr(&other, 0x38e, &value), UPMU_GUEST_DONE);
    assert_int_equal(value, 0);
    assert_int_equal(upmu_guest_rdmsr(&other, 0xc1, &value), UPMU_GUEST_DONE);
    assert_int_equal(value, 0);
    assert_int_equal(upmu_guest_fini(&other), UPMU_OK);
    nest_end(&nest);
}

static void s28_the_default_is_cycles_and_instructions(void **state)
{
    static const struct {
        uint64_t select;
        unsigned counts;
    } events[] = {{0x4300c0, 10}, {0x43003c, 20}, {0x43013c, 3}, {0x4300c4, 0}, {0x4300c5, 0},
                  {0x434f2e, 0},  {0x43412e, 0},  {0x4301b1, 0}, {0x5301b7, 0}};
    static const struct upmu_sim_burst each = {
        .instructions = 10,
        .cycles = 20,
        .ref_cycles = 15,
        .bus_cycles = 3,
        .branches = 5,
        .mispredicts = 4,
        .llc_references = 8,
        .llc_misses = 7,
        .other = {{.count = 9, .event = 0xb1, .umask = 1}, {.count = 6, .event = 0xb7, .umask = 1}}};

    (void)state;
    for (unsigned i = 0; i < sizeof events / sizeof events[0]; i++) {
        nest_prepare(&nest, "skylake", NULL);
        nest.policy = (struct upmu_guest_policy){0};
        nest_shape(&nest, UPMU_GUEST_INTEL);
        nest_begin(&nest);
        nest_write(&nest, 0x186, events[i].select);
        nest_run(&nest, &each);
        assert_int_equal(nest.vcpu.counter[0].denied, !events[i].counts, i);
        assert_int_equal(nest_read(&nest, 0xc1), events[i].counts, i);
        assert_int_equal(nest_read(&nest, 0x186), events[i].select, i);
        nest_end(&nest);
    }
}

/* ---- Integrity ---- */

static void s31_counts_of_the_host_are_what_they_are_without_the_guest(void **state)
{
    (void)state;
    for (unsigned pair = 0; pair < PAIRS; pair++) {
        struct upmu_count count;

        set_up(pair);
        host_add(&nest.host, 0, "instructions", 0);
        assert_int_equal(upmu_session_world(&nest.host.session, UPMU_WORLD_HOST), UPMU_OK);
        assert_int_equal(upmu_session_attach_cpu(&nest.host.session, &nest.host.cpu[0]), UPMU_OK);
        assert_int_equal(upmu_session_start(&nest.host.session), UPMU_OK);
        seed = 31 + pair;
        for (unsigned i = 0; i < 1500; i++) {
            act(&nest);
            if (i % 10 == 0)
                nest_run_host(&nest, BURST(11));
        }
        nest_exit(&nest);
        count = host_count(&nest.host.session, 0);
        assert_int_equal(count.value, 150 * 11);
        assert_int_equal(count.quality, UPMU_QUALITY_EXACT);
        assert_int_equal(upmu_session_close(&nest.host.session), UPMU_OK);
        nest_end(&nest);
    }
}

static void s32_all_counters_open_and_close_by_one_write(void **state)
{
    (void)state;
    for (const struct door *door = alike; door != alike + ALIKE; door++) {
        nest_set_up(&nest, door->host, door->door);
        for (unsigned i = 0; i < door->general; i++)
            nest_write(&nest, select_of(door, i), door->event);
        if (door->fixed)
            nest_write(&nest, 0x38d, 0x333);
        nest_write(&nest, door->gates, door->open);
        nest_enter(&nest);
        watch();
        for (unsigned i = 0; i < 8; i++) {
            if (i & 1u)
                nest_enter(&nest);
            else
                nest_exit(&nest);
            assert_int_equal(watched(), 1, i);
            assert_int_equal(trace[0].address, door->gates, i);
            assert_int_equal(trace[0].value, i & 1u ? door->open : 0, i);
        }
        nest_end(&nest);
    }
}

static void s33_the_guests_interrupt_entry_never_reaches_the_hosts(void **state)
{
    (void)state;
    for (const struct door *door = alike; door != alike + ALIKE; door++) {
        uint32_t before;

        nest_set_up(&nest, door->host, door->door);
        before = nest.host.sim.cpu[0].lvtpc;
        host_forget_cost(&nest.host);
        for (unsigned bit = 0; bit < 32; bit++) {
            upmu_guest_lvtpc(&nest.vcpu, UPMU_BIT32(bit));
            upmu_guest_lapic(&nest.vcpu, bit & 1u);
            assert_int_equal(upmu_guest_wrmsr(&nest.vcpu, 0x834, UPMU_BIT32(bit)), UPMU_GUEST_DONE);
            assert_int_equal(nest.host.sim.cpu[0].lvtpc, before);
        }
        host_costs(&nest.host, "LVTPC", 0, 0);
        nest_end(&nest);
    }
}

static void s34_registers_of_the_host_are_right_after_each_exit(void **state)
{
    (void)state;
    for (unsigned pair = 0; pair < PAIRS; pair++) {
        const struct upmu_pmu *pmu;
        uint32_t gate = 0; /* the register of all gates */
        uint64_t before = 0;

        set_up(pair);
        pmu = &nest.host.machine.pmu[0];
        if (pmu->capabilities & UPMU_PMU_GLOBAL_CTRL)
            gate = upmu_pmu_is_amd(pmu) ? 0xc0000301u : 0x38f;
        if (gate)
            before = upmu_sim_peek(&nest.host.sim, 0, gate);
        seed = 34 + pair;
        for (unsigned i = 0; i < 600; i++) {
            act(&nest);
            nest_exit(&nest);
            if (gate)
                assert_int_equal(upmu_sim_peek(&nest.host.sim, 0, gate), before);
            assert_int_equal(upmu_sim_peek(&nest.host.sim, 0, 0x1d9), 0);
            assert_int_equal(upmu_cpu_verify(&nest.host.cpu[0], NULL), UPMU_OK);
        }
        nest_end(&nest);
    }
}

static void s35_side_registers_are_not_written(void **state)
{
    static const uint32_t side[] = {0x10f, 0x1d9, 0x3f1,      0x3f6,      0x3f7,
                                    0x600, 0x1a0, 0xc0000080, 0xc0010015, 0xc0011030};

    (void)state;
    for (unsigned pair = 0; pair < PAIRS; pair++) {
        set_up(pair);
        seed = 35 + pair;
        watch();
        for (unsigned i = 0; i < 2000; i++) {
            unsigned count;

            act(&nest);
            count = watched();
            for (unsigned k = 0; k < count; k++)
                for (unsigned n = 0; n < sizeof side / sizeof side[0]; n++)
                    assert_false(trace[k].kind == UPMU_SIM_WRMSR && trace[k].address == side[n], k, n);
        }
        nest_end(&nest);
    }
}

/* What a guest does; every access of the host may fault. */
static void run_with_faults(uint64_t *out_before, uint64_t *out_after, bool *out_reached)
{
    bool intel = nest.shape.door == UPMU_GUEST_INTEL;
    uint32_t select = intel ? 0x186 : 0xc0010000u, counter = intel ? 0xc1 : 0xc0010004u;
    struct upmu_guest_entry entry;
    uint32_t first = nest.host.sim.accesses;

    for (unsigned i = 0; i < 3; i++) {
        (void)upmu_guest_wrmsr(&nest.vcpu, select + (i & 1u), i ? 0x5300c0 : 0x4300c0);
        (void)!upmu_guest_enter(&nest.vcpu, &entry);
        nest.inside = true;
        upmu_sim_events(&nest.host.sim, BURST(40));
        nest.inside = false;
        (void)!upmu_guest_exit(&nest.vcpu);
        upmu_sim_events(&nest.host.sim, BURST(1000));
        (void)upmu_guest_rdmsr(&nest.vcpu, counter, out_before);
    }
    upmu_sim_events(&nest.host.sim, BURST(1000));
    (void)upmu_guest_rdmsr(&nest.vcpu, counter, out_after);
    *out_reached = nest.host.sim.accesses - first >= nest.host.sim.fault_at - first;
}

static void s36_a_fault_closes_the_guests_counters_and_leaves_the_hosts(void **state)
{
    static const unsigned faulty[] = {0, 1, 3, 4};

    (void)state;
    for (unsigned i = 0; i < sizeof faulty / sizeof faulty[0]; i++) {
        bool reached = true;
        unsigned at;

        for (at = 1; reached; at++) {
            uint64_t before = 0, after = 0;
            struct upmu_count count;

            set_up(faulty[i]);
            nest.host.sim.expect_faults = true;
            host_add(&nest.host, 0, "cycles", 0);
            assert_int_equal(upmu_session_world(&nest.host.session, UPMU_WORLD_HOST), UPMU_OK);
            assert_int_equal(upmu_session_attach_cpu(&nest.host.session, &nest.host.cpu[0]), UPMU_OK);
            assert_int_equal(upmu_session_start(&nest.host.session), UPMU_OK);
            nest.host.sim.fault_at = nest.host.sim.accesses + at;
            run_with_faults(&before, &after, &reached);
            nest.host.sim.fault_at = 0;
            /* What the host executes is in no guest's counter; the host's session is right, or says so. */
            assert_int_equal(before, after);
            assert_compare(after, <=, 120);
            assert_int_equal(upmu_set_read(&nest.host.session.set, 0, 1, &count), UPMU_OK);
            if (nest.host.session.error == UPMU_OK && count.quality == UPMU_QUALITY_EXACT)
                assert_int_equal(count.value, 8000);
            assert_compare(count.value, <=, 8000);
            host_thread_switch(&nest.host, 0, 0);
            assert_int_equal(upmu_guest_fini(&nest.vcpu), UPMU_OK);
            assert_int_equal(upmu_session_close(&nest.host.session), UPMU_OK);
            nest.host.sim.test = &nest.host;
            host_end_idle(&nest.host);
        }
        assert_compare(at, >, 12);
    }
}

/* ---- Migration ---- */

static void seal(uint8_t *bytes, size_t used)
{
    uint32_t sum = 2166136261u;

    for (size_t i = 0; i < used; i++)
        sum = (sum ^ (i >= 12 && i < 16 ? 0 : bytes[i])) * 16777619u;
    for (unsigned i = 0; i < 4; i++)
        bytes[12 + i] = (uint8_t)(sum >> 8 * i);
}

/* Bytes that are anything, with a checksum that is right: refused and nothing is changed, or a guest like any other. */
static void s37_a_state_may_hold_any_bytes(void **state)
{
    uint8_t good[UPMU_GUEST_STATE_BYTES], bytes[UPMU_GUEST_STATE_BYTES], again[UPMU_GUEST_STATE_BYTES];
    static struct upmu_guest before;
    size_t used, length;

    (void)state;
    for (unsigned pair = 0; pair < PAIRS; pair++) {
        unsigned taken = 0;

        set_up(pair);
        seed = 37 + pair;
        for (unsigned i = 0; i < 30; i++)
            act(&nest);
        nest_exit(&nest);
        host_thread_switch(&nest.host, 0, 0);
        assert_int_equal(upmu_guest_save(&nest.vcpu, good, sizeof good, &used), UPMU_OK);
        for (unsigned run = 0; run < 2000; run++) {
            memcpy(bytes, good, sizeof bytes);
            for (unsigned i = 0; i <= run % 3; i++)
                bytes[draw() % used] = (uint8_t)(draw() & 1u ? draw() : 1u << draw() % 8);
            seal(bytes, used);
            before = nest.vcpu;
            if (upmu_guest_restore(&nest.vcpu, bytes, used) != UPMU_OK) {
                assert_memory_equal(&before, &nest.vcpu, sizeof before);
                continue;
            }
            taken++;
            assert_int_equal(upmu_guest_save(&nest.vcpu, again, sizeof again, &length), UPMU_OK);
            assert_int_equal(length, used);
            assert_memory_equal(again, bytes, used);
            if (taken % 8 == 0) {
                host_thread_switch(&nest.host, 0, 1);
                nest_run(&nest, BURST(20));
                nest_exit(&nest);
                assert_int_equal(upmu_cpu_verify(&nest.host.cpu[0], NULL), UPMU_OK);
                host_thread_switch(&nest.host, 0, 0);
            }
        }
        assert_compare(taken, >, 50);
        host_thread_switch(&nest.host, 0, 1);
        nest_end(&nest);
    }
}

/* A bit that no register of the door clears would stop the guest's counters for ever. */
static void a_state_has_no_bit_of_the_status_that_its_door_lacks(void **state)
{
    static const struct {
        const char *host;
        unsigned door;
        uint64_t bits;
    } doors[] = {{"skylake", UPMU_GUEST_INTEL, UINT64_C(0xec0000070000000f)},
                 {"core2", UPMU_GUEST_INTEL, UINT64_C(0xc000000700000003)},
                 {"yonah", UPMU_GUEST_INTEL, 0x3},
                 {"zen4", UPMU_GUEST_AMD_V2, UINT64_C(0x0c0000000000003f)},
                 {"zen4", UPMU_GUEST_AMD_CORE, 0x3f},
                 {"k8_revf", UPMU_GUEST_AMD_K7, 0xf}};
    uint8_t bytes[UPMU_GUEST_STATE_BYTES];
    size_t used;

    (void)state;
    for (unsigned i = 0; i < sizeof doors / sizeof doors[0]; i++) {
        nest_set_up(&nest, doors[i].host, doors[i].door);
        assert_int_equal(upmu_guest_save(&nest.vcpu, bytes, sizeof bytes, &used), UPMU_OK);
        for (unsigned bit = 0; bit < 64; bit++) {
            memset(bytes + 72, 0, 8);
            bytes[72 + bit / 8] = (uint8_t)(1u << bit % 8);
            seal(bytes, used);
            if (upmu_guest_restore(&nest.vcpu, bytes, used) != (doors[i].bits >> bit & 1u ? UPMU_OK : UPMU_ERR_INVALID))
                fail_msg("%s, door %u: bit %u", doors[i].host, doors[i].door, bit);
        }
        nest_end(&nest);
    }
}

/* Each MSR of a list, from one vCPU to another, in an order of the draw. */
static void move_registers(struct nest *from, struct nest *to)
{
    struct upmu_guest_range range;
    uint32_t msrs[800];
    unsigned count = 0;

    for (unsigned i = 0; upmu_guest_msr_range(&from->vcpu, i, &range); i++)
        for (uint32_t msr = range.first; msr <= range.last && count < 800; msr++)
            msrs[count++] = msr;
    assert_in_range(count, 20, 799);
    while (count) {
        unsigned at = (unsigned)draw() % count;
        uint32_t msr = msrs[at];
        uint64_t value, again;
        bool there = upmu_guest_state_get(&from->vcpu, msr, &value);

        msrs[at] = msrs[--count];
        if (!there) {
            assert_false(upmu_guest_state_set(&to->vcpu, msr, 0));
            continue;
        }
        if (!upmu_guest_state_set(&to->vcpu, msr, value) || !upmu_guest_state_get(&to->vcpu, msr, &again))
            fail_msg("register %x does not take %llx", (unsigned)msr, (unsigned long long)value);
    }
    upmu_guest_set_pending(&to->vcpu, upmu_guest_pending(&from->vcpu));
}

/* Saved, moved register by register, saved again: the same bytes but of the interrupt that is to be injected. */
static void a_state_is_the_same_as_msrs(void **state)
{
    static struct nest there;

    (void)state;
    for (unsigned pair = 0; pair < PAIRS; pair++)
        for (unsigned when = 0; when < 60; when++) {
            uint8_t bytes[UPMU_GUEST_STATE_BYTES], again[UPMU_GUEST_STATE_BYTES];
            size_t used, length;

            set_up(pair);
            seed = 71 + when;
            for (unsigned i = 0; i < 3 * when; i++)
                act(&nest);
            nest_exit(&nest);
            host_thread_switch(&nest.host, 0, 0);
            assert_int_equal(upmu_guest_save(&nest.vcpu, bytes, sizeof bytes, &used), UPMU_OK);
            nest_set_up(&there, pairs[pair].host, pairs[pair].door);
            there.handler = ignore_interrupt;
            move_registers(&nest, &there);
            assert_int_equal(upmu_guest_pending(&there.vcpu), upmu_guest_pending(&nest.vcpu));
            assert_int_equal(upmu_guest_save(&there.vcpu, again, sizeof again, &length), UPMU_OK);
            assert_int_equal(length, used);
            for (size_t i = 0; i < used; i++) {
                bool sum = i >= 12 && i < 16, pending = i >= 108 && i < 112;
                bool status = i >= 72 && i < 80 && !upmu_guest_has_global(&nest.vcpu);

                if (!sum && !pending && !status && bytes[i] != again[i])
                    fail_msg("pair %u, %u acts: byte %u is %x, and %x after the move", pair, when, (unsigned)i,
                             bytes[i], again[i]);
            }
            nest_end(&there);
            assert_int_equal(upmu_guest_fini(&nest.vcpu), UPMU_OK);
            nest.host.sim.test = &nest.host;
            host_end_idle(&nest.host);
        }
}

/* A bit that a write by the guest drops: the host is told, and the register stays. */
static void amds_registers_take_no_bits_that_they_lack(void **state)
{
    static const struct {
        uint32_t msr;
        uint64_t fits, more;
    } cases[] = {{0xc0010000u, 0x5300c0, UINT64_C(1) << 63},
                 {0xc0010200u, 0x5300c0, UINT64_C(1) << 21},
                 {0xc0010202u, 0xf005300c0, UINT64_C(1) << 40},
                 {0xc0000301u, 0x3f, 0x40},
                 {0xc0010201u, 0xffffffffffff, UINT64_C(1) << 48}};

    (void)state;
    nest_set_up(&nest, "zen4", UPMU_GUEST_AMD_V2);
    nest.handler = ignore_interrupt;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t value = 0;

        assert_true(upmu_guest_state_set(&nest.vcpu, cases[i].msr, cases[i].fits), i);
        assert_false(upmu_guest_state_set(&nest.vcpu, cases[i].msr, cases[i].fits | cases[i].more), i);
        assert_false(upmu_guest_state_set(&nest.vcpu, cases[i].msr, cases[i].more), i);
        assert_true(upmu_guest_state_get(&nest.vcpu, cases[i].msr, &value), i);
        assert_int_equal(value, cases[i].fits, i);
        assert_true(upmu_guest_state_set(&nest.vcpu, cases[i].msr, 0), i);
    }
    nest_end(&nest);
}

static void a_write_of_the_host_has_no_consequence(void **state)
{
    uint64_t value;

    (void)state;
    nest_set_up(&nest, "skylake", UPMU_GUEST_INTEL);
    nest.handler = ignore_interrupt;
    upmu_guest_lvtpc(&nest.vcpu, 0x400);
    nest_write(&nest, 0x186, 0x5300c0);
    nest_write(&nest, 0x4c1, 0xfffffffffff0);
    nest_run(&nest, BURST(8));
    nest_exit(&nest);
    /* The whole width by the old address, too; no overflow; a status without interrupt; nothing is acknowledged. */
    assert_true(upmu_guest_state_set(&nest.vcpu, 0xc1, 0x812345678));
    assert_true(upmu_guest_state_get(&nest.vcpu, 0x4c1, &value));
    assert_int_equal(value, 0x812345678);
    assert_true(upmu_guest_state_set(&nest.vcpu, 0x38e, UINT64_C(0x8800000700000003)));
    assert_true(upmu_guest_state_set(&nest.vcpu, 0x390, UINT64_C(0xc00000070000000f)));
    assert_true(upmu_guest_state_set(&nest.vcpu, 0x391, 8));
    assert_int_equal(nest_read(&nest, 0x38e), UINT64_C(0x8800000700000003));
    assert_false(upmu_guest_pending(&nest.vcpu));
    nest_run(&nest, BURST(1));
    assert_int_equal(nest.injected, 0);
    nest_exit(&nest);
    /* What cannot be is refused. */
    assert_false(upmu_guest_state_set(&nest.vcpu, 0xc1, UPMU_BIT64(48)));
    assert_false(upmu_guest_state_set(&nest.vcpu, 0x38e, 0x100));
    assert_false(upmu_guest_state_set(&nest.vcpu, 0x345, 0));
    assert_false(upmu_guest_state_set(&nest.vcpu, 0x186, UPMU_BIT64(21)));
    assert_false(upmu_guest_state_set(&nest.vcpu, 0x600, 0));
    assert_false(upmu_guest_state_set(&nest.vcpu, 0x10, 0));
    upmu_guest_set_pending(&nest.vcpu, true);
    nest_run(&nest, BURST(1));
    assert_int_equal(nest.injected, 1);
    nest_end(&nest);
}

static void s38_a_state_has_its_version_and_its_length(void **state)
{
    uint8_t good[UPMU_GUEST_STATE_BYTES], bytes[2 * UPMU_GUEST_STATE_BYTES];
    static struct upmu_guest before;
    unsigned family, model;
    size_t used;

    (void)state;
    for (unsigned pair = 0; pair < PAIRS; pair++) {
        set_up(pair);
        assert_int_equal(upmu_guest_save(&nest.vcpu, good, sizeof good, &used), UPMU_OK);
        before = nest.vcpu;
        memset(bytes, 0, sizeof bytes);
        memcpy(bytes, good, used);
        for (size_t size = 0; size <= sizeof bytes; size++) {
            seal(bytes, size >= 16 ? size : used);
            assert_int_equal(upmu_guest_restore(&nest.vcpu, bytes, size), size == used ? UPMU_OK : UPMU_ERR_INVALID);
            assert_int_equal(upmu_guest_state_needs(bytes, size, &family, &model),
                             size == used ? UPMU_OK : UPMU_ERR_INVALID);
            nest.vcpu = before;
            /* The length that it says itself. */
            memcpy(bytes, good, used);
            bytes[8] = (uint8_t)size;
            bytes[9] = (uint8_t)(size >> 8);
            seal(bytes, used);
            assert_int_equal(upmu_guest_restore(&nest.vcpu, bytes, used), size == used ? UPMU_OK : UPMU_ERR_INVALID);
            nest.vcpu = before;
            /* The same, and it is so long. */
            seal(bytes, size >= 16 ? size : used);
            assert_int_equal(upmu_guest_restore(&nest.vcpu, bytes, size), size == used ? UPMU_OK : UPMU_ERR_INVALID);
            nest.vcpu = before;
            memcpy(bytes, good, used);
        }
        for (unsigned bit = 0; bit < 16; bit++) {
            bytes[4 + bit / 8] ^= (uint8_t)(1u << bit % 8);
            seal(bytes, used);
            assert_int_equal(upmu_guest_restore(&nest.vcpu, bytes, used), UPMU_ERR_VERSION);
            assert_int_equal(upmu_guest_state_needs(bytes, used, &family, &model), UPMU_ERR_VERSION);
            memcpy(bytes, good, used);
        }
        assert_memory_equal(&before, &nest.vcpu, sizeof before);
        nest_end(&nest);
    }
}

/* One overflow; the guest is saved and goes on elsewhere after each step before, at and after it. */
static void s40_an_overflow_is_injected_once_wherever_the_guest_is_saved(void **state)
{
    static struct nest there;

    (void)state;
    for (unsigned pair = 0; pair < PAIRS; pair++)
        for (unsigned when = 0; when < 12; when++) {
            bool intel = pairs[pair].door == UPMU_GUEST_INTEL;
            const uint32_t select = intel ? 0x186 : 0xc0010000u, counter = intel ? 0xc1 : 0xc0010004u;
            uint8_t bytes[UPMU_GUEST_STATE_BYTES];
            struct nest *at = &nest;
            size_t used;

            nest_set_up(&there, pairs[pair].host, pairs[pair].door);
            set_up(pair);
            nest.handler = there.handler = ignore_interrupt;
            upmu_guest_lvtpc(&nest.vcpu, 0x400);
            for (unsigned step = 0; step < 12; step++) {
                struct upmu_guest_entry entry;

                if (step == when) {
                    nest_exit(&nest);
                    host_thread_switch(&nest.host, 0, 0);
                    assert_int_equal(upmu_guest_save(&nest.vcpu, bytes, sizeof bytes, &used), UPMU_OK);
                    assert_int_equal(upmu_guest_restore(&there.vcpu, bytes, used), UPMU_OK);
                    host_thread_switch(&nest.host, 0, 1);
                    at = &there;
                }
                switch (step) {
                case 1:
                    nest_write(at, select, 0x5300c0);
                    break;
                case 2:
                    nest_write(at, counter, (uint64_t)-30);
                    break;
                case 5: /* the overflow is noted in the guest, and told by the next entry */
                    nest_exit(at);
                    assert_int_equal(upmu_guest_enter(&at->vcpu, &entry), UPMU_OK);
                    assert_int_equal(entry.inject, UPMU_GUEST_INJECT_NONE);
                    upmu_sim_events(&at->host.sim, BURST(20));
                    assert_int_equal(upmu_guest_exit(&at->vcpu), UPMU_OK);
                    break;
                default:
                    nest_run(at, BURST(step < 5 ? 8 : 1));
                }
            }
            assert_int_equal(nest.injected + there.injected, 1);
            nest_end(&nest);
            nest_end(&there);
        }
}

static void s39_events_of_a_model_do_not_move_to_another(void **state)
{
    static struct nest there;
    uint8_t bytes[UPMU_GUEST_STATE_BYTES];
    unsigned family, model;
    size_t used;

    (void)state;
    for (unsigned raw = 0; raw < 2; raw++) {
        nest_set_up(&nest, "skylake", UPMU_GUEST_INTEL);
        nest_write(&nest, 0x187, raw ? 0x4301d1 : 0x4300c4);
        nest_prepare(&there, "icelake", NULL);
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

/* ---- Completeness ---- */

/* Is this address a register of the shape, or one that faults by right? */
static bool is_of_door(const struct upmu_guest_shape *shape, uint32_t msr)
{
    static const struct {
        uint32_t first, last;
    } intel[] = {{0xc1, 0xca},   {0x4c1, 0x4ca},   {0x186, 0x18f},   {0x309, 0x30f},   {0x38d, 0x392},
                 {0x345, 0x345}, {0x1a6, 0x1a7},   {0x1d9, 0x1d9},   {0x3f1, 0x3f2},   {0x3f4, 0x3f7},
                 {0x329, 0x329}, {0x600, 0x600},   {0x10f, 0x10f},   {0x1900, 0x19ff}, {0x1c8, 0x1c9},
                 {0x40, 0x47},   {0x60, 0x67},     {0x1db, 0x1de},   {0x680, 0x69f},   {0x6c0, 0x6df},
                 {0xdc0, 0xddf}, {0x1200, 0x123f}, {0x14ce, 0x14cf}, {0x1500, 0x153f}, {0x1600, 0x163f},
                 {0x560, 0x561}, {0x570, 0x587}},
      amd[] = {{0xc0010000, 0xc0010007}, {0xc0010200, 0xc001020b}, {0xc0000300, 0xc0000303},
               {0xc000010e, 0xc000010f}, {0xc0010300, 0xc001031f}, {0xc0011030, 0xc001103f}};
    unsigned count = shape->door == UPMU_GUEST_INTEL ? sizeof intel / sizeof intel[0] : sizeof amd / sizeof amd[0];

    if ((shape->door == UPMU_GUEST_AMD_V2 && msr == 0x1d9) || msr == 0x834)
        return true;
    for (unsigned i = 0; i < count; i++)
        if (shape->door == UPMU_GUEST_INTEL ? msr >= intel[i].first && msr <= intel[i].last
                                            : msr >= amd[i].first && msr <= amd[i].last)
            return true;
    return false;
}

static void s41_all_other_addresses_are_not_ours_and_change_nothing(void **state)
{
    static struct upmu_guest before;

    (void)state;
    for (unsigned pair = 0; pair < PAIRS; pair++) {
        set_up(pair);
        before = nest.vcpu;
        for (uint32_t class = 0; class < 0x200; class ++)
            for (uint32_t low = 0; low < 0x2000; low += low < 0x20 || class == 0 || class == 0x180 ? 1 : 0x5f) {
                uint32_t msr = (class << 23) + low + (class == 0x180 ? 0 : class & 0xffff);
                uint64_t value;

                if (is_of_door(&nest.shape, msr))
                    continue;
                assert_int_equal(upmu_guest_rdmsr(&nest.vcpu, msr, &value), UPMU_GUEST_NOT_OURS);
                assert_int_equal(upmu_guest_wrmsr(&nest.vcpu, msr, UINT64_MAX), UPMU_GUEST_NOT_OURS);
            }
        for (uint32_t low = 0; low < 0x2000; low++) {
            uint64_t value;

            if (is_of_door(&nest.shape, 0xc0010000u + low))
                continue;
            assert_int_equal(upmu_guest_rdmsr(&nest.vcpu, 0xc0010000u + low, &value), UPMU_GUEST_NOT_OURS);
            assert_int_equal(upmu_guest_wrmsr(&nest.vcpu, 0xc0010000u + low, 1), UPMU_GUEST_NOT_OURS);
        }
        assert_memory_equal(&before, &nest.vcpu, sizeof before);
        nest_end(&nest);
    }
}

static bool is_listed(uint32_t msr, struct upmu_guest_range *out_range)
{
    for (unsigned i = 0; upmu_guest_msr_range(&nest.vcpu, i, out_range); i++)
        if (msr - out_range->first <= out_range->last - out_range->first)
            return true;
    return false;
}

/* One address: listed if it is answered, and absent if it always faults. */
static void check_listed(uint32_t msr)
{
    struct upmu_guest_range range;
    uint64_t value;
    enum upmu_guest_access read = upmu_guest_rdmsr(&nest.vcpu, msr, &value);
    bool listed = is_listed(msr, &range);

    if (listed != (read != UPMU_GUEST_NOT_OURS) || (listed && range.absent && read != UPMU_GUEST_FAULT))
        fail_msg("door %u, register %x: %u, and %s", nest.shape.door, (unsigned)msr, (unsigned)read,
                 !listed        ? "not listed"
                 : range.absent ? "absent"
                                : "listed");
    if (listed == (upmu_guest_wrmsr(&nest.vcpu, msr, UINT64_MAX) == UPMU_GUEST_NOT_OURS))
        fail_msg("door %u, register %x: a write does not go by the list", nest.shape.door, (unsigned)msr);
}

static void s41_the_list_of_registers_is_what_is_answered(void **state)
{
    (void)state;
    for (unsigned pair = 0; pair < PAIRS; pair++)
        for (unsigned own = 0; own < 2; own++) {
            struct upmu_guest_range range, before = {0, 0, false};
            unsigned count = 0;

            set_up(pair);
            nest.policy.flags |= own ? UPMU_GUEST_OWN_LAPIC : 0;
            for (; upmu_guest_msr_range(&nest.vcpu, count, &range); before = range, count++) {
                assert_compare(range.first, <=, range.last);
                assert_true(!count || range.first > before.last);
            }
            assert_in_range(count, 1, UPMU_GUEST_RANGES);
            for (uint32_t class = 0; class < 0x200 && !own; class ++)
                for (uint32_t low = 0; low < 0x2000; low += class == 0 || class == 0x180 ? 1 : 0x3ff)
                    check_listed((class << 23) + low);
            for (uint32_t low = 0; low < 0x2000 && !own; low++)
                check_listed(0xc0010000u + low);
            for (uint32_t msr = 0x800; msr < 0x900; msr++)
                check_listed(msr);
            nest_end(&nest);
        }
}

/* The bit of an access in a bitmap, or -1: the access is not in there. */
static int bit_of_vmx(uint32_t msr, bool write)
{
    int part = msr < 0x2000 ? 0 : msr >= 0xc0000000u && msr < 0xc0002000u ? 1 : -1;

    return part < 0 ? -1 : (part + (write ? 2 : 0)) * 0x2000 + (int)(msr & 0x1fff);
}

static int bit_of_svm(uint32_t msr, bool write)
{
    int part = msr < 0x2000 ? 0 : msr >> 13 == 0xc0000000u >> 13 ? 1 : msr >> 13 == 0xc0010000u >> 13 ? 2 : -1;

    return part < 0 ? -1 : 2 * (part * 0x2000 + (int)(msr & 0x1fff)) + write;
}

/* What a bitmap of `before` becomes, computed address by address. */
static void check_bitmap(bool svm, uint8_t before)
{
    static uint8_t seen[8192 + 1], wanted[8192 + 1];
    size_t bytes = svm ? 8192 : 4096;
    static const uint32_t parts[] = {0, 0xc0000000u, 0xc0010000u};

    memset(seen, before, sizeof seen);
    memset(wanted, before, sizeof wanted);
    for (unsigned part = 0; part < 3; part++)
        for (uint32_t msr = parts[part]; msr < parts[part] + 0x2000; msr++)
            for (unsigned write = 0; write < 2; write++) {
                int bit = svm ? bit_of_svm(msr, write) : bit_of_vmx(msr, write);
                struct upmu_guest_range range;

                if (bit < 0 || !is_listed(msr, &range))
                    continue;
                wanted[bit / 8] |= (uint8_t)(1u << bit % 8);
                if (!write && upmu_guest_passes(&nest.vcpu, msr))
                    wanted[bit / 8] &= (uint8_t) ~(1u << bit % 8);
            }
    if (svm)
        upmu_guest_msr_bitmap_svm(&nest.vcpu, seen);
    else
        upmu_guest_msr_bitmap_vmx(&nest.vcpu, seen);
    assert_memory_equal(seen, wanted, sizeof seen);
    assert_int_equal(seen[bytes], before, bytes);
}

static void s41_bitmaps_of_the_hardware_trap_what_is_listed(void **state)
{
    (void)state;
    for (unsigned pair = 0; pair < PAIRS; pair++)
        for (unsigned how = 0; how < 8; how++) {
            struct upmu_guest_entry entry;

            set_up(pair);
            nest.policy.flags |= how & 4u ? UPMU_GUEST_PASSES : 0;
            nest_write(&nest, nest.shape.door == UPMU_GUEST_INTEL ? 0x186 : 0xc0010000u, 0x4300c0);
            assert_int_equal(upmu_guest_enter(&nest.vcpu, &entry), UPMU_OK);
            assert_true(how & 4u || !entry.passes);
            assert_int_equal(upmu_guest_exit(&nest.vcpu), UPMU_OK);
            check_bitmap(how & 1u, how & 2u ? 0xff : 0);
            nest_end(&nest);
        }
}

/* What CPUID says of a shape is what its registers do: those that it shows are there, and no other one is. */
static void shown_is_there(void)
{
    uint32_t leaf[4] = {0, 0, 0, 0};
    uint64_t value;

    if (nest.shape.door == UPMU_GUEST_INTEL) {
        unsigned version, general, fixed, width;

        nest.port.cpuid(&nest, 0xa, 0, leaf);
        version = leaf[0] & 0xff, general = leaf[0] >> 8 & 0xff, fixed = leaf[3] & 0x1f, width = leaf[0] >> 16 & 0xff;
        for (unsigned i = 0; i < 16; i++) {
            assert_int_equal(nest.port.rdmsr(&nest, 0x186 + i, &value), i < general, i);
            assert_int_equal(nest.port.wrmsr(&nest, 0x186 + i, 0), i < general, i);
            assert_int_equal(nest.port.rdmsr(&nest, 0x309 + i, &value), i < fixed, i);
            assert_int_equal(nest.port.rdpmc(&nest, i, &value), i < general, i);
            assert_int_equal(nest.port.rdpmc(&nest, 0x40000000 + i, &value), i < fixed, i);
            assert_int_equal(nest.port.wrmsr(&nest, 0x38d, UINT64_C(3) << 4 * i), version >= 2 && i < fixed, i);
            assert_int_equal(nest.port.wrmsr(&nest, 0x38f, UPMU_BIT64(i)), version >= 2 && i < general, i);
            assert_int_equal(nest.port.wrmsr(&nest, 0x38f, UPMU_BIT64(32 + i)), version >= 2 && i < fixed, i);
        }
        for (unsigned i = 0; i < 64 && fixed; i++)
            assert_int_equal(nest.port.wrmsr(&nest, 0x309, UPMU_BIT64(i)), i < width, i);
        assert_int_equal(nest.port.rdmsr(&nest, 0x38f, &value), version >= 2);
        assert_int_equal(nest.port.rdmsr(&nest, 0x392, &value), version >= 4);
        nest.port.cpuid(&nest, 1, 0, leaf);
        assert_int_equal(nest.port.rdmsr(&nest, 0x345, &value), leaf[2] >> 15 & 1);
        for (unsigned i = 0; i < 16; i++)
            assert_int_equal(nest.port.rdmsr(&nest, 0x4c1 + i, &value), i < general && leaf[2] >> 15 & 1, i);
        assert_int_equal(nest.port.rdmsr(&nest, 0x600, &value), leaf[3] >> 21 & 1);
        return;
    }
    nest.port.cpuid(&nest, 0x80000001u, 0, leaf);
    assert_int_equal(nest.port.rdmsr(&nest, 0xc0010200u, &value), leaf[2] >> 23 & 1);
    assert_int_equal(nest.port.rdmsr(&nest, 0xc0011030u, &value), leaf[2] >> 10 & 1);
    nest.port.cpuid(&nest, 0x80000022u, 0, leaf);
    assert_int_equal(nest.port.rdmsr(&nest, 0xc0000300u, &value), leaf[0] & 1);
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(nest.port.rdpmc(&nest, i, &value), i < nest.shape.general, i);
        if (leaf[0] & 1) {
            nest_write(&nest, 0xc0000301u, UPMU_BIT64(i));
            assert_int_equal(nest_read(&nest, 0xc0000301u) != 0, i < (leaf[1] & 0xf), i);
        }
    }
}

static void s42_what_is_shown_is_what_is_there(void **state)
{
    (void)state;
    for (unsigned pair = 0; pair < PAIRS; pair++) {
        set_up(pair);
        shown_is_there();
        nest_end(&nest);
    }
    for (unsigned version = 1; version <= 5; version++)
        for (unsigned general = 1; general <= 8; general++)
            for (unsigned rest = 0; rest < 16; rest++) {
                nest_prepare(&nest, "skylake_smtoff", NULL);
                nest_shape(&nest, UPMU_GUEST_INTEL);
                nest.shape.version = (uint8_t)version;
                nest.shape.general = (uint8_t)general;
                nest.shape.fixed = version >= 2 ? rest & 3u : 0;
                nest.shape.full_write = rest >> 2 & 1u;
                nest.shape.width = rest >> 3 ? 40 : 48;
                nest_begin(&nest);
                shown_is_there();
                nest_end(&nest);
            }
}

/* Whatever the host's CPU has: of the PMU a guest sees its door's part, and nothing of the other vendor's. */
static void s42_no_leaf_shows_what_the_shape_lacks(void **state)
{
    /* What is left of each word, of all ones. */
    static const struct {
        uint32_t leaf, subleaf, intel[4], amd[4];
    } cases[] = {
#define ALL UINT32_MAX
        {1, 0, {ALL, ALL, ~(1u << 2 | 1u << 4), ~(1u << 21)}, {ALL, ALL, ~(1u << 2 | 1u << 4 | 1u << 15), ~(1u << 21)}},
        {7, 0, {ALL, ~(1u << 25), ALL, ~(1u << 13 | 1u << 19)}, {ALL, ~(1u << 25), ALL, ~(1u << 13 | 1u << 19)}},
        {7, 1, {~(1u << 8), ALL, ALL, ALL}, {~(1u << 8), ALL, ALL, ALL}},
        {0xa, 0, {0x07300804, 0, 0, 0x8603}, {0}},
        {0x14, 0, {0}, {0}},
        {0x14, 1, {0}, {0}},
        {0x1c, 0, {0}, {0}},
        {0x23, 0, {0}, {0}},
        {0x80000001u, 0, {ALL, ALL, ~0x11800400u, ALL}, {ALL, ALL, ~0x11000400u, ALL}},
        {0x8000001bu, 0, {0}, {0}},
        {0x80000022u, 0, {0}, {5, 6, 0, 0}},
        {4, 0, {ALL, ALL, ALL, ALL}, {ALL, ALL, ALL, ALL}},
#undef ALL
    };
    static const char *const hosts[] = {"skylake_smtoff", "zen4"};

    (void)state;
    for (unsigned how = 0; how < 4; how++) {
        bool intel = how & 1u;

        nest_prepare(&nest, hosts[how >> 1], NULL);
        nest_shape(&nest, intel ? UPMU_GUEST_INTEL : UPMU_GUEST_AMD_V2);
        if (intel)
            nest.shape.version = 4, nest.shape.general = 8, nest.shape.fixed = 3, nest.shape.arch_events = 0x7f;
        if (intel && how >> 1) /* (AMD cannot count all of it.) */
            nest.shape.fixed = 0, nest.shape.arch_events = 0x63;
        else if (!intel)
            nest.shape.general = 6;
        nest_begin(&nest);
        for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            const uint32_t *expected = intel ? cases[i].intel : cases[i].amd;
            uint32_t word[4] = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};
            bool same = true;

            (void)upmu_guest_cpuid(&nest.vcpu, cases[i].leaf, cases[i].subleaf, word);
            for (unsigned k = 0; k < 4; k++)
                same = same && (word[k] == expected[k] || (cases[i].leaf == 0xa && intel && how >> 1));
            if (!same)
                fail_msg("%s, leaf %x, %u: %x %x %x %x", hosts[how >> 1], (unsigned)cases[i].leaf, how,
                         (unsigned)word[0], (unsigned)word[1], (unsigned)word[2], (unsigned)word[3]);
            assert_false(upmu_guest_cpuid(&nest.vcpu, cases[i].leaf, cases[i].subleaf, word), i);
        }
        nest_end(&nest);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(s04_each_reserved_bit_is_refused_alone),
        cmocka_unit_test(s06_no_number_of_a_counter_leaves_its_table),
        cmocka_unit_test(s07_selects_hold_only_what_a_guest_may_choose),
        cmocka_unit_test(s07_selects_of_the_hardware_follow_the_present_policy),
        cmocka_unit_test(s08_a_payload_has_the_bits_of_the_policy_alone),
        cmocka_unit_test(s08_a_payload_is_what_the_present_policy_permits),
        cmocka_unit_test(s08_a_payload_goes_with_its_guest),
        cmocka_unit_test(s09_registers_of_records_and_traces_fault_without_an_access),
        cmocka_unit_test(s11_a_vcpu_ends_in_every_state),
        cmocka_unit_test(s15_a_guest_has_the_sessions_that_it_was_given_and_no_more),
        cmocka_unit_test(s15_a_counter_that_waits_gets_what_is_given_up),
        cmocka_unit_test(s15_a_vcpu_has_the_counters_of_its_policy_and_no_more),
        cmocka_unit_test(s16_a_counter_interrupts_once_in_so_many_events),
        cmocka_unit_test(s16_transactions_that_abort_interrupt_nobody),
        cmocka_unit_test(s17_the_work_of_a_trap_is_bounded),
        cmocka_unit_test(s18_guests_that_alternate_get_the_same),
        cmocka_unit_test(s19_reserved_counters_are_not_touched),
        cmocka_unit_test(s21_the_handler_writes_one_word_of_the_guest),
        cmocka_unit_test(s24_an_interrupt_is_reported_once_and_several_are_one),
        cmocka_unit_test(s25_a_guests_counts_leave_with_it),
        cmocka_unit_test(s26_what_the_host_executes_is_in_no_count_of_a_guest),
        cmocka_unit_test(s27_a_status_bit_stays_with_its_guest),
        cmocka_unit_test(s28_the_default_is_cycles_and_instructions),
        cmocka_unit_test(s31_counts_of_the_host_are_what_they_are_without_the_guest),
        cmocka_unit_test(s32_all_counters_open_and_close_by_one_write),
        cmocka_unit_test(s33_the_guests_interrupt_entry_never_reaches_the_hosts),
        cmocka_unit_test(s34_registers_of_the_host_are_right_after_each_exit),
        cmocka_unit_test(s35_side_registers_are_not_written),
        cmocka_unit_test(s36_a_fault_closes_the_guests_counters_and_leaves_the_hosts),
        cmocka_unit_test(s37_a_state_may_hold_any_bytes),
        cmocka_unit_test(a_state_has_no_bit_of_the_status_that_its_door_lacks),
        cmocka_unit_test(a_state_is_the_same_as_msrs),
        cmocka_unit_test(amds_registers_take_no_bits_that_they_lack),
        cmocka_unit_test(a_write_of_the_host_has_no_consequence),
        cmocka_unit_test(s38_a_state_has_its_version_and_its_length),
        cmocka_unit_test(s39_events_of_a_model_do_not_move_to_another),
        cmocka_unit_test(s40_an_overflow_is_injected_once_wherever_the_guest_is_saved),
        cmocka_unit_test(s41_all_other_addresses_are_not_ours_and_change_nothing),
        cmocka_unit_test(s41_the_list_of_registers_is_what_is_answered),
        cmocka_unit_test(s41_bitmaps_of_the_hardware_trap_what_is_listed),
        cmocka_unit_test(s42_what_is_shown_is_what_is_there),
        cmocka_unit_test(s42_no_leaf_shows_what_the_shape_lacks),
    };

    return cmocka_run_group_tests_name("guest_security", tests, NULL, NULL);
}
