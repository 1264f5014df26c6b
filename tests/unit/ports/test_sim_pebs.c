/* SPDX-License-Identifier: MIT */
/*
 * PEBS of the silicon model: records have the published layouts (tests/golden/precise_records.tsv) with the contents of
 * the burst, each is that of an instruction that had its event, and records and counters together are the truth; the
 * library reads each of them.  When records are stored, and what goes wrong: tests/conformance/intel_msrs.tsv.
 */
#include "core/sample/precise_core.h"
#include "models/sim/sim.h"
#include "tests/common/precise_layouts.h"

#define AREA UINT64_C(0xffffc90000010000)
#define BUFFER UINT64_C(0xffffc90000020000)
#define PHYSICAL UINT64_C(0x12345000)
#define BUFFER_BYTES 0x4000u
#define AREA_BYTES 0x200u
#define CODE UINT64_C(0xffffffff81400000)
#define DATA UINT64_C(0x00007f1234500000)

static struct layouts layouts;

static struct {
    struct upmu_sim sim;
    const struct upmu_port *port;
    uint8_t area[AREA_BYTES], buffer[BUFFER_BYTES];
    unsigned interrupts;
} f;

static uint64_t registers[18];

static bool memory(struct upmu_sim *sim, unsigned cpu, enum upmu_sim_memory_kind kind, uint64_t address, uint8_t *bytes,
                   uint32_t length)
{
    bool writes = kind & UPMU_SIM_MEMORY_WRITE, physical = kind & UPMU_SIM_MEMORY_PHYSICAL;
    uint64_t base = physical ? PHYSICAL : address < BUFFER ? AREA : BUFFER;
    uint8_t *at = base == AREA ? f.area : f.buffer;

    (void)sim, (void)cpu;
    if (address - base > (base == AREA ? AREA_BYTES : BUFFER_BYTES) - length)
        return false;
    at += address - base;
    memcpy(writes ? at : bytes, writes ? bytes : at, length);
    return true;
}

static void wr(uint32_t msr, uint64_t value)
{
    assert_true(f.port->wrmsr(f.port->context, msr, value), msr);
}

static uint64_t rd(uint32_t msr)
{
    uint64_t value = 0;

    assert_true(f.port->rdmsr(f.port->context, msr, &value), msr);
    return value;
}

static uint64_t area_word(unsigned offset)
{
    uint64_t word;

    memcpy(&word, f.area + offset, sizeof word);
    return word;
}

static void set_area(unsigned offset, uint64_t word)
{
    memcpy(f.area + offset, &word, sizeof word);
}

static uint64_t no_noise(unsigned i)
{
    return UINT64_C(0x0123456789abcdef) * (2u * i + 1u);
}

/* A buffer without a threshold that is reached; all counters are stopped. */
static void set_up(const char *profile)
{
    memset(&f, 0, sizeof f);
    upmu_sim_init(&f.sim, upmu_sim_profile(profile), 1);
    f.port = upmu_sim_port(&f.sim);
    f.sim.memory = memory;
    f.sim.cpu[0].irqs_on = false;
    f.sim.cpu[0].tsc_offset = 1000;
    for (unsigned i = 0; i < 18; i++)
        registers[i] = no_noise(i);
    set_area(32, BUFFER);
    set_area(40, BUFFER);
    set_area(48, BUFFER + BUFFER_BYTES);
    set_area(56, BUFFER + BUFFER_BYTES);
    wr(0x38f, 0);
}

static void no_violation(void)
{
    if (f.sim.violation_count)
        fail_msg("%s (%x)", f.sim.violation, f.sim.last_violation.address);
}

static void run_burst(uint64_t instructions)
{
    upmu_sim_events(&f.sim, &(struct upmu_sim_burst){.instructions = instructions,
                                                     .ip = CODE,
                                                     .ip_step = 4,
                                                     .sp = CODE + 0x1000,
                                                     .data = DATA,
                                                     .data_step = 8,
                                                     .data_source = 0x35,
                                                     .latency = UINT64_C(0x0000002100000154),
                                                     .transaction = UINT64_C(0x1100000022),
                                                     .retire = 0x77,
                                                     .registers = registers});
}

static void check_memory(const uint8_t *group, const char *layout, unsigned number)
{
    assert_int_equal(layout_get(&layouts, group, layout, "data_address"), DATA + 8u * number);
    assert_int_equal(layout_get(&layouts, group, layout, "data_source"), 0x35);
    assert_int_equal(layout_get(&layouts, group, layout, "latency"), UINT64_C(0x0000002100000154));
}

static void check_registers(const uint8_t *group, const char *layout, unsigned number)
{
    static const char *const names[18] = {"flags", "ip", "ax", "cx",  "dx",  "bx",  "sp",  "bp",  "si",
                                          "di",    "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"};

    for (unsigned i = 0; i < 18; i++)
        assert_int_equal(layout_get(&layouts, group, layout, names[i]),
                         i == 1   ? CODE + 4u * (number + 1u)
                         : i == 6 ? CODE + 0x1000
                                  : no_noise(i),
                         i);
}

/* The library reads the record, and it has this instruction. */
static struct upmu_precise read_record(size_t at, size_t left)
{
    struct upmu_precise record;

    assert_int_equal(upmu_precise_decode(f.sim.profile->capabilities, f.buffer + at, left, &record), UPMU_PRECISE_FINE);
    return record;
}

/* ---- Layouts ---- */

static void formats_0_to_3_have_their_layouts(void **state)
{
    static const char *const profiles[] = {"core2", "sandybridge", "broadwell", "skylake"};

    (void)state;
    for (unsigned format = 0; format < 4; format++) {
        const char layout[] = {(char)('0' + format), '\0'};
        struct upmu_precise record;

        set_up(profiles[format]);
        set_area(48, BUFFER + 4096);
        wr(0x600, AREA);
        wr(0xc1, 0xfffffff0);
        wr(0x186, 0x4300c0);
        wr(0x3f1, 1);
        wr(0x38f, 1);
        run_burst(20); /* the sixteenth overflows, the seventeenth is recorded */
        wr(0x38f, 0);
        assert_int_equal(area_word(40) - BUFFER, layout_size(&layouts, layout), format);
        check_registers(f.buffer, layout, 16);
        if (format >= 1) {
            assert_int_equal(layout_get(&layouts, f.buffer, layout, "counters"), 1);
            check_memory(f.buffer, layout, 16);
        }
        if (format >= 2) {
            assert_int_equal(layout_get(&layouts, f.buffer, layout, "eventing_ip"), CODE + 64);
            assert_int_equal(layout_get(&layouts, f.buffer, layout, "tsx_tuning") +
                                 layout_get(&layouts, f.buffer, layout, "transaction"),
                             UINT64_C(0x1100000022));
        }
        if (format >= 3)
            assert_int_equal(layout_get(&layouts, f.buffer, layout, "tsc"), 1000 + 17);
        record = read_record(0, layout_size(&layouts, layout));
        assert_int_equal(record.ip, CODE + 64u + (format < 2 ? 4u : 0u), format);
        assert_int_equal(record.counters, 1);
        no_violation();
    }
}

/* Take branches of the user's, the newest last. */
static void take_branches(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        upmu_sim_branch(&f.sim, &(struct upmu_sim_branch){
                                    .from = DATA + 16u * i, .to = DATA + 16u * i + 8, .cycles = (uint16_t)(i + 1)});
}

static void check_branches(const uint8_t *entries, unsigned count, unsigned taken)
{
    for (unsigned i = 0; i < count; i++) {
        const uint8_t *entry = entries + i * layout_size(&layouts, "branch");
        unsigned number = taken - 1u - i;

        assert_int_equal(layout_get(&layouts, entry, "branch", "from"), i < taken ? DATA + 16u * number : 0, i);
        assert_int_equal(layout_get(&layouts, entry, "branch", "to"), i < taken ? DATA + 16u * number + 8 : 0, i);
        assert_int_equal(layout_get(&layouts, entry, "branch", "info") & 0xffff, i < taken ? number + 1u : 0, i);
    }
}

/* Counters 1 and 2 and fixed 0 and 3 stand still with these values. */
static void set_counters(void)
{
    wr(0x4c2, 0x1111);
    wr(0x4c3, 0x2222);
    wr(0x309, 0x3333);
    if (f.sim.profile->fixed > 3)
        wr(0x30c, 0x4444);
}

static void check_counters(const uint8_t *group, bool values, bool metrics)
{
    const uint8_t *value = group + layout_find(&layouts, "counters", "values")->offset;
    static const uint64_t expected[] = {0x1111, 0x2222, 0x3333, 0x4444};

    assert_int_equal(layout_get(&layouts, group, "counters", "general"), values ? 6 : 0);
    assert_int_equal(layout_get(&layouts, group, "counters", "fixed"), values ? 9 : 0);
    assert_int_equal(layout_get(&layouts, group, "counters", "metrics"), metrics ? 3 : 0);
    for (unsigned i = 0; values && i < 4; i++, value += 8)
        assert_memory_equal(value, &expected[i], 8);
    if (metrics)
        assert_memory_equal(value, &expected[3], 8);
    if (metrics)
        assert_memory_equal(value + 8, &(uint64_t){UINT64_C(0x40302010)}, 8);
}

static void adaptive_records_have_their_groups(void **state)
{
    static const char *const profiles[] = {"icelake", "sapphirerapids", "lnl_p"};

    (void)state;
    for (unsigned turn = 0; turn < 3 * 64; turn++) {
        const char *profile = profiles[turn / 64];
        unsigned groups = turn % 64, format = 4 + turn / 64, at = layout_size(&layouts, "basic");
        bool architectural = format >= 5;

        if (format < 6 && groups & 0x30)
            continue;
        set_up(profile);
        wr(0x600, AREA);
        f.sim.rule[UPMU_SIM_RULE_LBR_HOOKS] = 0;
        wr(architectural ? 0x14ce : 0x1d9, architectural ? 0x7f0007 : 1);
        take_branches(5);
        set_counters();
        if (groups & 32)
            wr(0x329, 0x40302010);
        wr(0x3f2, groups | 6u << 24 | (groups & 16 ? UINT64_C(9) << 48 | UINT64_C(6) << 32 : 0));
        wr(0x4c4, UINT64_C(0xfffffffffff0));
        wr(0x189, UINT64_C(0x4004300c0));
        wr(0x3f1, 8);
        wr(0x38f, 8);
        run_burst(20);
        wr(0x38f, 0);
        assert_int_equal(f.sim.cpu[0].pebs_records, 1, turn);
        assert_int_equal(layout_get(&layouts, f.buffer, "basic", "groups"), groups | 6u << 24, turn);
        assert_int_equal(layout_get(&layouts, f.buffer, "basic", "size"), area_word(40) - BUFFER, turn);
        assert_int_equal(layout_get(&layouts, f.buffer, "basic", "eventing_ip"), CODE + 64, turn);
        assert_int_equal(layout_get(&layouts, f.buffer, "basic", "counters"), 8, turn);
        assert_int_equal(layout_get(&layouts, f.buffer, "basic", "tsc"), 1017, turn);
        assert_int_equal(layout_get(&layouts, f.buffer, "basic", "retire"),
                         f.sim.profile->capabilities >> 17 & 1 ? 0x77 : 0x5a5a, turn);
        if (groups & 1) {
            check_memory(f.buffer + at, "memory", 16);
            at += layout_size(&layouts, "memory");
        }
        if (groups & 2) {
            check_registers(f.buffer + at, "registers", 16);
            at += layout_size(&layouts, "registers");
        }
        at += groups & 4 ? 256 : 0;
        if (groups & 8) {
            check_branches(f.buffer + at, 7, 5);
            at += 7 * layout_size(&layouts, "branch");
        }
        if (groups & 0x30) {
            check_counters(f.buffer + at, groups & 16, groups & 32);
            at += 16u + (groups & 16 ? 32u : 0u) + (groups & 32 ? 16u : 0u);
        }
        assert_int_equal(at, area_word(40) - BUFFER, turn);
        assert_int_equal(read_record(0, at).bytes, at, turn);
        no_violation();
    }
}

static void architectural_records_have_their_groups(void **state)
{
    (void)state;
    for (unsigned turn = 0; turn < 256; turn++) {
        const uint64_t config = UINT64_C(1) << 63 | (turn & 1 ? UINT64_C(1) << 62 : 0) |
                                (turn & 2 ? UINT64_C(1) << 61 : 0) | (uint64_t)(turn >> 2 & 3) << 40 |
                                (uint64_t)(turn >> 4 & 7) << 36;
        const unsigned generals = turn & 128 ? 1 : 2; /* (a record with one of 8 bytes is rounded up) */
        unsigned at = 16, branches = (turn >> 2 & 3) == 3 ? 32 : 8 * (turn >> 2 & 3);
        struct upmu_precise record;

        set_up("ptl_p");
        wr(0x3f4, PHYSICAL | 2); /* 16 KiB */
        wr(0x3f5, UINT64_C(0x400100000000));
        f.sim.rule[UPMU_SIM_RULE_LBR_HOOKS] = 0;
        wr(0x14ce, 0x7f0007);
        take_branches(5);
        set_counters();
        wr(0x329, 0x40302010);
        for (unsigned i = 1; i <= generals; i++)
            wr(0x1903 + 4 * i, UINT64_C(1) << 35);
        wr(0x1983, UINT64_C(1) << 35);
        wr(0x198f, UINT64_C(1) << 35);
        wr(0x190f, config | 0xfffffff0);
        wr(0x4c4, UINT64_C(0xfffffffffff0));
        wr(0x189, 0x4300c0);
        wr(0x38f, 8);
        run_burst(20);
        wr(0x38f, 0);
        assert_int_equal(f.sim.cpu[0].pebs_records, 1, turn);
        record = read_record(0, BUFFER_BYTES);
        assert_int_equal(rd(0x3f5) & 0x7fffff0, record.bytes, turn);
        assert_int_equal(layout_get(&layouts, f.buffer + at, "arch_basic", "eventing_ip"), CODE + 64, turn);
        assert_int_equal(layout_get(&layouts, f.buffer + at, "arch_basic", "counters"), 8, turn);
        assert_int_equal(layout_get(&layouts, f.buffer + at, "arch_basic", "tsc"), 1017, turn);
        assert_int_equal(layout_get(&layouts, f.buffer + at, "arch_basic", "retire"), 0x10077, turn);
        at += layout_size(&layouts, "arch_basic");
        if (turn & 1) {
            check_memory(f.buffer + at, "arch_memory", 16);
            at += layout_size(&layouts, "arch_memory");
        }
        if (turn & 2) {
            check_registers(f.buffer + at, "arch_registers", 16);
            at += layout_size(&layouts, "arch_registers");
        }
        if (branches) {
            assert_int_equal(layout_get(&layouts, f.buffer + at, "arch_branches", "depth"), 32, turn);
            at += layout_size(&layouts, "arch_branches");
            check_branches(f.buffer + at, branches, 5);
            at += branches * layout_size(&layouts, "branch");
        }
        if (turn >> 4 & 7) {
            const unsigned general = turn >> 4 & 1, fixed = turn >> 5 & 1;

            assert_int_equal(layout_get(&layouts, f.buffer + at, "counters", "general"),
                             !general ? 0 : generals == 1 ? 2 : 6, turn);
            assert_int_equal(layout_get(&layouts, f.buffer + at, "counters", "fixed"), 9 * fixed, turn);
            at += 16u + 8u * generals * general + 16u * fixed + (turn >> 6 & 1 ? 16u : 0u);
        }
        assert_int_equal((at + 15u) & ~15u, record.bytes, turn);
        no_violation();
    }
}

/* ---- Truth ---- */

static uint64_t random_state;

static unsigned random_below(unsigned limit)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(random_state >> 33) % limit;
}

/* What a driver of the simplest kind knows of a counter. */
static struct {
    uint64_t period, total, last;
    unsigned records;
} known[4];

/*
 * Empty the buffer.  Each record has to be of an instruction of the burst, with that instruction's data address.  A
 * total is what the counter moved by, and for each record a period and the event that was recorded: the reset value
 * takes the place of the 1 that the counter had after that event.
 */
static void drain(void)
{
    uint64_t bytes = area_word(40) - BUFFER;

    for (uint64_t at = 0; at < bytes;) {
        struct upmu_precise record = read_record(at, bytes - at);
        uint64_t number = (record.ip - CODE) / 4;
        unsigned counter = 0;

        assert_int_equal((record.ip - CODE) % 4, 0);
        assert_compare(number, <, 5000);
        assert_int_equal(record.address, DATA + 8 * number);
        while (!(record.counters >> counter & 1))
            counter++;
        assert_int_equal(record.counters, UINT64_C(1) << counter);
        known[counter].records++;
        known[counter].total += known[counter].period + 1;
        at += record.bytes;
    }
    set_area(40, BUFFER);
    for (unsigned i = 0; i < 4; i++) {
        uint64_t value = rd(0xc1 + i);

        /* (48 bits) */
        known[i].total += (uint64_t)((int64_t)((value - known[i].last) << 16) >> 16);
        known[i].last = value;
    }
}

static void handler(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_interrupt *interrupt)
{
    uint64_t global = rd(0x38f), status;

    (void)sim, (void)cpu, (void)interrupt;
    f.interrupts++;
    wr(0x38f, 0);
    f.port->pmi_rearm(f.port->context);
    status = rd(0x38e);
    /*
     * A record that was stored while an interrupt was on its way has one of its own: the buffer may be empty then.
     * Counters that are armed show their bits.
     */
    assert_int_equal(status & ~(UINT64_C(1) << 62 | 0xfu), 0);
    drain();
    wr(0x390, status);
    wr(0x38f, global);
}

static void records_and_counters_are_the_truth(void **state)
{
    unsigned records = 0;

    (void)state;
    random_state = 20161127;
    for (unsigned run = 0; run < 40; run++) {
        set_up("skylake");
        memset(known, 0, sizeof known);
        f.sim.deliver = handler;
        f.sim.skid = run % 3 * 5;
        f.port->pmi_rearm(f.port->context);
        set_area(56, BUFFER + 200u * (1u + random_below(20)));
        wr(0x600, AREA);
        for (unsigned i = 0; i < 4; i++) {
            known[i].period = 20u + random_below(2000);
            known[i].last = (UINT64_C(1) << 48) - known[i].period;
            set_area(64 + 8 * i, known[i].last);
            wr(0x4c1 + i, known[i].last);
            wr(0x186 + i, i & 1 ? 0x4300c4 : 0x4300c0);
        }
        wr(0x3f1, 0xf);
        for (unsigned i = 0; i < 30; i++) {
            unsigned instructions = 1u + random_below(4999);

            wr(0x38f, i % 7 == 6 ? 0 : 0xf);
            upmu_sim_events(&f.sim, &(struct upmu_sim_burst){.instructions = instructions,
                                                             .branches = instructions / 5,
                                                             .ip = CODE,
                                                             .ip_step = 4,
                                                             .data = DATA,
                                                             .data_step = 8});
        }
        wr(0x38f, 0);
        drain();
        for (unsigned i = 0; i < 4; i++) {
            assert_int_equal(known[i].total, f.sim.cpu[0].counter[i].counted, i);
            records += known[i].records;
        }
        assert_int_equal(f.sim.cpu[0].pebs_records,
                         known[0].records + known[1].records + known[2].records + known[3].records);
        assert_compare(f.interrupts, >, 0);
        no_violation();
    }
    print_message("%u records\n", records);
    assert_compare(records, >, 5000);
}

/* ---- Branch traces ---- */

static void count_interrupt(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_interrupt *interrupt)
{
    (void)sim, (void)cpu, (void)interrupt;
    f.interrupts++;
    wr(0x1d9, 0);
}

/* The interrupt comes at the branch that reaches the threshold: then no more branches of the burst are stored. */
static void a_burst_stores_its_branches_up_to_the_threshold(void **state)
{
    static const struct upmu_sim_branch branches[] = {{.from = CODE + 0x10, .to = CODE},
                                                      {.from = CODE + 0x20, .to = CODE + 0x40, .mispredicted = true}};
    uint64_t entry[3];

    (void)state;
    set_up("skylake");
    f.sim.deliver = count_interrupt;
    f.sim.rule[UPMU_SIM_RULE_LBR_HOOKS] = 0;
    f.port->pmi_rearm(f.port->context);
    set_area(0, BUFFER);
    set_area(8, BUFFER);
    set_area(16, BUFFER + BUFFER_BYTES - BUFFER_BYTES % 24u);
    set_area(24, BUFFER + 24u * 100u);
    wr(0x600, AREA);
    wr(0x1d9, 0x1c0);
    f.sim.cpu[0].irqs_on = true;
    upmu_sim_events(&f.sim, &(struct upmu_sim_burst){.instructions = 5000,
                                                     .cycles = 7000,
                                                     .ip = CODE,
                                                     .branch = branches,
                                                     .branch_count = 2,
                                                     .branch_step = 10});
    assert_int_equal(f.interrupts, 1);
    assert_int_equal(area_word(8), BUFFER + 24u * 100u);
    for (unsigned i = 0; i < 100; i++) {
        memcpy(entry, f.buffer + 24u * i, sizeof entry);
        assert_int_equal(entry[0], branches[i % 2u].from);
        assert_int_equal(entry[1], branches[i % 2u].to);
        assert_int_equal(entry[2], i % 2u ? 0 : 0x10);
    }
    no_violation();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_0_to_3_have_their_layouts),
        cmocka_unit_test(adaptive_records_have_their_groups),
        cmocka_unit_test(architectural_records_have_their_groups),
        cmocka_unit_test(records_and_counters_are_the_truth),
        cmocka_unit_test(a_burst_stores_its_branches_up_to_the_threshold),
    };

    layouts_load(&layouts);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
