/* SPDX-License-Identifier: MIT */
/*
 * Branch stacks of the fakes against the facts, by value: facts/precise, lbr_models.tsv ("models"), branch_bits.tsv,
 * amd_branch.tsv, registers.tsv, rules.md.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "tests/common/assertions.h"
#include "tests/host/hardware.h"

#define BIT(n) (UINT64_C(1) << (n))
#define ADDRESS (BIT(58) - 1)

/* ---- A machine whose branches are noted ---- */

static const struct hardware_family *family;
static void *machine;
static struct hardware_branch taken[256];
static unsigned taken_count, stops, freezes, clears;

static void note_taken(const struct hardware_branch *branch)
{
    taken[taken_count++ % 256] = *branch;
}

static void note_stop(unsigned cpu, bool by_hardware)
{
    (void)cpu;
    stops += !by_hardware;
    freezes += by_hardware;
}

static void note_clear(unsigned cpu)
{
    (void)cpu;
    clears++;
}

static const struct hardware_trace trace = {note_taken, note_stop, note_clear};

static uint64_t read_of(unsigned cpu, uint32_t msr)
{
    uint64_t value = 0;
    assert_true(family->rdmsr(machine, cpu, msr, &value));
    return value;
}

static uint64_t get(uint32_t msr)
{
    return read_of(0, msr);
}

static bool takes(uint32_t msr, uint64_t value)
{
    return family->wrmsr(machine, 0, msr, value);
}

static void put(uint32_t msr, uint64_t value)
{
    assert_true(takes(msr, value));
}

static void machine_is(const struct hardware_family *which, const char *model, bool no_freeze)
{
    struct hardware_options options = {.trace = &trace, .no_freeze = no_freeze};
    family = which;
    free(machine);
    machine = calloc(1, family->bytes);
    for (unsigned i = 0; i < family->model_count; i++)
        if (!strcmp(family->models[i].name, model))
            family->init(machine, i, 1, &options);
    family->rearm(machine, 0);
    taken_count = stops = freezes = clears = 0;
}

static int machine_goes(void **state)
{
    (void)state;
    free(machine);
    machine = NULL;
    return 0;
}

static const struct hardware_branch *newest(unsigned n)
{
    return &taken[(taken_count - 1 - n) % 256];
}

/* ---- Registers and entries ---- */

static const struct row {
    const char *model;
    unsigned depth;
    uint32_t from, to, info;
    unsigned format;
} rows[] = {
    {"merom", 4, 0x40, 0x60, 0, 2},           {"penryn", 4, 0x40, 0x60, 0, 2},
    {"bonnell", 8, 0x40, 0x60, 0, 2},         {"nehalem", 16, 0x680, 0x6C0, 0, 3},
    {"sandy bridge", 16, 0x680, 0x6C0, 0, 3}, {"haswell", 16, 0x680, 0x6C0, 0, 4},
    {"skylake", 32, 0x680, 0x6C0, 0xDC0, 5},  {"ice lake", 32, 0x680, 0x6C0, 0xDC0, 5},
};

/* models, branch_bits.tsv: 63 mispredicted, 62 in a transaction; in the source, or in a register of their own. */
static void check_entry(const struct row *row, uint32_t at, const struct hardware_branch *branch)
{
    uint64_t flags = row->format >= 5 ? 0 : row->format == 4 ? 7 : row->format == 3 ? 4 : 0, from = get(row->from + at);
    uint64_t bits = (branch->mispredicted ? BIT(63) : 0) | (branch->in_transaction ? BIT(62) : 0);
    assert_int_equal(from & ~(flags << 61), branch->from & ~(flags << 61));
    assert_int_equal(from & flags << 61, bits & flags << 61);
    assert_int_equal(get(row->to + at), branch->to);
    if (row->info)
        assert_int_equal(get(row->info + at), bits | branch->cycles);
}

static void registers_that_face_each_other_are_a_ring(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *row = &rows[i];
        machine_is(&hardware_intel, row->model, false);
        assert_int_equal(family->depth(machine), row->depth, i);
        assert_int_equal(get(0x345) & 63, row->format, i);
        family->branch(machine, 0, true, 3);
        assert_int_equal(newest(0)->recorded, false, i); /* registers, row 1D9: bit 0 */
        put(0x1D9, 1);
        family->branch(machine, 0, false, 40);
        uint32_t top = (uint32_t)get(0x1C9);
        for (unsigned n = 0; n < row->depth; n++)
            check_entry(row, (top + row->depth - n) % row->depth, newest(n));
        put(row->from, 0);
        assert_int_equal(clears, 1, i);
        assert_false(takes(0x1C9, 0));
        put(0x1D9, 0);
        assert_int_equal(stops, 1, i);
        assert_int_equal(family->rdmsr(machine, 0, row->from + row->depth, &(uint64_t){0}), false, i);
        assert_int_equal(takes(0x1C8, 0), row->from == 0x680, i); /* registers, row 1C8: from Nehalem on */
    }
}

static void entry_0_of_an_architectural_stack_is_the_newest(void **state)
{
    uint32_t out[4];
    (void)state;
    machine_is(&hardware_intel, "lunar lake p", false);
    family->cpuid(machine, 0, 7, 0, out);
    assert_int_equal(out[3] >> 19 & 1, 1);
    family->cpuid(machine, 0, 0x1C, 0, out);
    assert_int_equal(8 * (32 - __builtin_clz(out[0] & 0xFF)), 32);
    assert_false(takes(0x1D9, 1)); /* models: the enable bit is elsewhere */
    put(0x14CE, 0x7F0007);
    family->branch(machine, 0, false, 40);
    for (unsigned n = 0; n < 32; n++) {
        assert_int_equal(get(0x1500 + n), newest(n)->from, n);
        assert_int_equal(get(0x1600 + n), newest(n)->to, n);
        assert_int_equal(get(0x1200 + n) & 0xFFFF, newest(n)->cycles, n);
        assert_int_equal(get(0x1200 + n) >> 60 & 1, 1, n);
    }
    put(0x14CF, 32); /* registers, row 14CF */
    assert_int_equal(get(0x1500) | get(0x1601) | get(0x1202), 0);
    assert_false(takes(0x14CF, 64));
    assert_false(takes(0x14CE, BIT(40)));
}

static void version_2_of_amd_has_validity_in_its_targets(void **state)
{
    uint32_t out[4];
    (void)state;
    machine_is(&hardware_amd, "zen4", false);
    family->cpuid(machine, 0, 0x80000022, 0, out);
    assert_int_equal(out[0] & 6, 6);
    assert_int_equal(out[1] >> 4 & 63, 16);
    put(0xC000010F, BIT(6));
    family->branch(machine, 0, false, 20);
    for (unsigned n = 0; n < 16; n++) {
        assert_int_equal(get(0xC0010300 + 2 * n) & ADDRESS, newest(n)->from & ADDRESS, n);
        assert_int_equal(get(0xC0010300 + 2 * n) >> 63, newest(n)->mispredicted, n);
        assert_int_equal(get(0xC0010301 + 2 * n) & ADDRESS, newest(n)->to & ADDRESS, n);
        assert_int_equal(get(0xC0010301 + 2 * n) >> 63, 1, n);
    }
    machine_is(&hardware_amd, "zen4", true);
    family->cpuid(machine, 0, 0x80000022, 0, out);
    assert_int_equal(out[0] & 4, 0);
    machine_is(&hardware_amd, "zen3", false);
    assert_int_equal(family->depth(machine), 0);
    assert_int_equal(family->rdmsr(machine, 0, 0xC0010300, &(uint64_t){0}), false);
}

/* ---- What is sorted out ---- */

/* Of 90 branches of ring 0 this kind alone is recorded, or all others. */
static void check_kinds(uint32_t msr, uint64_t value, enum hardware_branch_kind kind, bool alone)
{
    put(msr, value);
    family->branch(machine, 0, false, 90);
    for (unsigned n = 0; n < 90; n++)
        if (newest(n)->from_user == newest(n)->to_user)
            assert_int_equal(newest(n)->recorded, (newest(n)->kind == kind) == alone, n);
}

static void kinds_and_rings_are_sorted_out(void **state)
{
    static const struct {
        enum hardware_branch_kind kind;
        unsigned select, control; /* registers, rows 1C8 and 14CE */
    } kinds[] = {{HARDWARE_CONDITIONAL, 2, 16}, {HARDWARE_CALL, 3, 19},          {HARDWARE_INDIRECT_CALL, 4, 20},
                 {HARDWARE_RETURN, 5, 21},      {HARDWARE_INDIRECT_JUMP, 6, 18}, {HARDWARE_JUMP, 7, 17}};
    (void)state;
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        machine_is(&hardware_intel, "skylake", false);
        put(0x1D9, 1);
        check_kinds(0x1C8, BIT(kinds[i].select), kinds[i].kind, false);
        machine_is(&hardware_amd, "zen5", false);
        put(0xC000010F, BIT(6));
        check_kinds(0xC000010E, BIT(kinds[i].select), kinds[i].kind, false);
        machine_is(&hardware_intel, "lunar lake e", false);
        check_kinds(0x14CE, 7 | BIT(kinds[i].control), kinds[i].kind, true);
    }
    machine_is(&hardware_intel, "skylake", false);
    put(0x1D9, 1);
    put(0x1C8, 1); /* not what goes to ring 0 */
    family->branch(machine, 0, true, 2);
    assert_int_equal(newest(1)->from_user, false);
    assert_int_equal(newest(1)->recorded, true); /* an exit goes to ring 3 */
    family->branch(machine, 0, false, 1);
    assert_int_equal(newest(0)->from_user, true);
    assert_int_equal(newest(0)->recorded, false);
    assert_false(takes(0x1C8, BIT(10)));
}

static void hyper_threads_of_nehalem_share_the_filter(void **state)
{
    (void)state;
    machine_is(&hardware_intel, "nehalem", false);
    put(0x1C8, 5);
    assert_int_equal(read_of(1, 0x1C8), 5);
    assert_int_equal(read_of(2, 0x1C8), 0);
    machine_is(&hardware_intel, "sandy bridge", false);
    put(0x1C8, 5);
    assert_int_equal(read_of(1, 0x1C8), 0);
}

/* ---- Freezes ---- */

/* General counter 0 counts branches, and interrupts after so many of them. */
static void overflow_after(uint64_t count)
{
    bool amd = family == &hardware_amd;
    put(amd ? 0xC0010201 : 0xC1, amd ? BIT(48) - count : 0 - count);
    put(amd ? 0xC0010200 : 0x186, amd ? 0x5300C2 : 0x5300C4);
    put(amd ? 0xC0000301 : 0x38F, 1);
}

/* rules.md, "LBR": before version 4 the bit that records is cleared, from then on status bit 58 stops. */
static void an_interrupt_freezes_at_its_overflow(void **state)
{
    static const struct {
        const char *model;
        uint32_t control, freeze, status, clear, newest;
        uint64_t on;
    } kinds[] = {
        {"haswell", 0x1D9, 0x1D9, 0, 0, 0x680, 0x801},
        {"skylake", 0x1D9, 0x1D9, 0x38E, 0x390, 0x680, 0x801},
        {"lunar lake p", 0x14CE, 0x1D9, 0x38E, 0x390, 0x1500, 0x7F0007},
        {"zen4", 0xC000010F, 0x1D9, 0xC0000300, 0xC0000302, 0xC0010300, BIT(6)},
    };
    (void)state;
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        machine_is(i == 3 ? &hardware_amd : &hardware_intel, kinds[i].model, false);
        put(kinds[i].freeze, BIT(11));
        put(kinds[i].control, kinds[i].on);
        overflow_after(5);
        family->happen(machine, 0, HARDWARE_BRANCHES, false, 9);
        assert_int_equal(freezes, 1, i);
        assert_int_equal(newest(4)->recorded, true, i); /* the fifth is the last */
        assert_int_equal(newest(3)->recorded, false, i);
        if (!kinds[i].status) {
            assert_int_equal(get(0x1D9), 0x800, i);
            continue;
        }
        assert_int_equal(get(kinds[i].control), kinds[i].on, i);
        assert_int_equal(get(kinds[i].status) >> 58 & 1, 1, i);
        put(kinds[i].clear, BIT(58));
        family->branch(machine, 0, false, 1);
        assert_int_equal(newest(0)->recorded, true, i);
    }
    machine_is(&hardware_intel, "skylake", false);
    put(0x1D9, 1);
    overflow_after(5);
    family->happen(machine, 0, HARDWARE_BRANCHES, false, 9);
    assert_int_equal(freezes, 0); /* without bit 11 */
    assert_int_equal(newest(0)->recorded, true);
}

/* ---- Records, and the truth ---- */

static uint64_t area[64], buffer[512];
static struct hardware_record last;

static bool access_memory(unsigned cpu, uint64_t linear, void *bytes, size_t size, bool is_write)
{
    uint8_t *memory = linear >= 8192 ? (uint8_t *)buffer + (linear - 8192) : (uint8_t *)area + (linear - 4096);
    (void)cpu;
    memcpy(is_write ? memory : bytes, is_write ? bytes : memory, size);
    return true;
}

static void note_record(const struct hardware_record *record)
{
    last = *record;
}

/* records.tsv: the group of branches, the newest first; of an event that is a branch its own included. */
static void a_record_has_the_branches_of_its_moment(void **state)
{
    static const struct hardware_memory memory = {access_memory, note_record};
    struct hardware_options options = {.trace = &trace, .memory = &memory};
    (void)state;
    machine_is(&hardware_intel, "ice lake", false);
    family->init(machine, 10, 1, &options);
    memset(area, 0, sizeof area);
    memset(buffer, 0, sizeof buffer);
    area[4] = area[5] = 8192;
    area[6] = area[7] = 8192 + sizeof buffer;
    put(0x600, 4096);
    put(0x3F2, 0x1F000008);
    put(0x1D9, 1);
    put(0x4C1, BIT(48) - 50);
    put(0x186, BIT(34) | 0x4300C4);
    put(0x3F1, 1);
    put(0x38F, 1);
    family->happen(machine, 0, HARDWARE_BRANCHES, false, 51);
    assert_int_equal(last.ordinal, 51);
    assert_int_equal(last.branches, true);
    for (unsigned n = 0; n < 32; n++) {
        assert_int_equal(buffer[4 + 3 * n], newest(n)->from, n);
        assert_int_equal(buffer[5 + 3 * n], newest(n)->to, n);
        assert_int_equal(buffer[6 + 3 * n] & 0xFFFF, newest(n)->cycles, n);
    }
}

static void each_branch_has_a_source_of_its_own(void **state)
{
    struct hardware_branch one = {.cpu = 3, .from_user = true, .to_user = false, .number = 77777}, found;
    (void)state;
    hardware_branch_fill(&one);
    assert_int_equal(one.kind, HARDWARE_FAR);
    assert_int_equal(one.to >> 63, 1);
    assert_true(hardware_branch_find(one.from, &found));
    assert_int_equal(found.number, 77777);
    assert_int_equal(found.cpu, 3);
    assert_false(hardware_branch_find(one.from + 1, &found));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(registers_that_face_each_other_are_a_ring, machine_goes),
        cmocka_unit_test_teardown(entry_0_of_an_architectural_stack_is_the_newest, machine_goes),
        cmocka_unit_test_teardown(version_2_of_amd_has_validity_in_its_targets, machine_goes),
        cmocka_unit_test_teardown(kinds_and_rings_are_sorted_out, machine_goes),
        cmocka_unit_test_teardown(hyper_threads_of_nehalem_share_the_filter, machine_goes),
        cmocka_unit_test_teardown(an_interrupt_freezes_at_its_overflow, machine_goes),
        cmocka_unit_test_teardown(a_record_has_the_branches_of_its_moment, machine_goes),
        cmocka_unit_test_teardown(each_branch_has_a_source_of_its_own, machine_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
