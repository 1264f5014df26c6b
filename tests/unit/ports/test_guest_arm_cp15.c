/* SPDX-License-Identifier: MIT */
/*
 * Guests of Arm whose code is AArch32: MRC, MCR, MRRC and MCRR of coprocessor 15 are the accesses of AArch64 that a
 * table names, whatever else their syndrome has; every other syndrome is not the PMU's.
 */
#define UPMU_BACKEND_ARM_PMUV3 1

#include "tests/common/table.h"
#include "tests/guest/arm_guest.h"
#include "tests/guest/arm_twin.h"
#include "tests/guest/operations.h"

enum half { HALF_LOW, HALF_HIGH, HALF_ALL };

#define MOST 100

static struct row {
    char name[16];
    uint32_t syndrome; /* without the direction */
    uint32_t reg;      /* of AArch64 */
    enum half half;
    bool is_counter; /* its writes of 32 bits leave an upper half */
} rows[MOST];
static unsigned row_count;

/* ESR_EL2 of an MRC or MCR, and of an MRRC or MCRR, which have Rt in bits 9:5 and Rt2 in bits 14:10. */
static uint32_t syndrome_32(uint32_t op1, uint32_t crn, uint32_t crm, uint32_t op2)
{
    return 3u << 26 | 1u << 25 | op2 << 17 | op1 << 14 | crn << 10 | crm << 1;
}

static uint32_t syndrome_64(uint32_t op1, uint32_t crm)
{
    return 4u << 26 | 1u << 25 | op1 << 16 | crm << 1;
}

static void name_row(const char *name, uint32_t syndrome, uint32_t reg, enum half half)
{
    struct row *row = &rows[row_count++];

    assert_compare(row_count, <=, MOST);
    snprintf(row->name, sizeof row->name, "%s", name);
    row->syndrome = syndrome;
    row->reg = reg;
    row->half = half;
    row->is_counter = half != HALF_ALL && (reg == number_of("PMCCNTR") || reg == number_of("PMXEVCNTR") ||
                                      (reg & ~31u) == number_of("PMEVCNTR0"));
}

static void read_rows(void)
{
    FILE *file = source_open("tests/conformance/arm_cp15.tsv");
    char line[256], name[32];
    char *field[8];

    row_count = 0;
    while (table_row(file, line, sizeof line, field, 8)) {
        enum half half = field[6][0] == 'l' ? HALF_LOW : field[6][0] == 'h' ? HALF_HIGH : HALF_ALL;
        uint32_t crn = (uint32_t)atoi(field[2]), crm = (uint32_t)atoi(field[3]);

        assert_true(field[7][0] != '\0');
        for (uint32_t n = 0; n < (field[4][0] == 'n' ? 31u : 1u); n++) {
            uint32_t op2 = field[4][0] == 'n' ? n % 8 : (uint32_t)atoi(field[4]);

            snprintf(name, sizeof name, field[4][0] == 'n' ? "%s%u" : "%s", field[5], (unsigned)n);
            name_row(name, atoi(field[1]) == 64 ? syndrome_64(0, crm) : syndrome_32(0, crn, crm + n / 8, op2),
                    number_of(name), half);
        }
    }
    fclose(file);
    assert_int_equal(row_count, 20 + 2 * 31);
}

/* The guest's AArch32 code makes an access: exit, access, entry. */
static enum arm_outcome guest_access(uint32_t syndrome, bool from_el0, uint64_t *inout)
{
    enum upmu_guest_access access;

    nest.guest_level = from_el0 ? 0 : 1;
    arm_nest_exit(&nest);
    access = upmu_guest_cp15(&nest.guests[0].guest, syndrome, from_el0, inout);
    if (access == UPMU_GUEST_DONE && nest.hw.accesses_count)
        upmu_guest_retired(&nest.guests[0].guest, 1, 0, from_el0);
    (void)arm_nest_enter(&nest);
    assert_compare(access, !=, UPMU_GUEST_NOT_OURS);
    return access == UPMU_GUEST_DONE ? ARM_DONE : access == UPMU_GUEST_TRAP_EL1 ? ARM_TRAP_EL1 : ARM_UNDEFINED;
}

static uint64_t mrc(uint32_t syndrome)
{
    uint64_t value = UINT64_C(0xa5a5a5a500000000); /* what was there before is no part of the answer */

    assert_int_equal(guest_access(syndrome | 1u, false, &value), ARM_DONE);
    return value;
}

static void mcr(uint32_t syndrome, uint64_t value)
{
    uint64_t given = value;

    assert_int_equal(guest_access(syndrome, false, &given), ARM_DONE);
    assert_int_equal(given, value);
}

/* The same access of the CPU, as the row says. */
static enum arm_outcome cpu_access(struct arm_cpu *cpu, const struct row *row, bool write, uint64_t *inout)
{
    unsigned level = cpu->level;
    uint64_t before = 0, value = row->half == HALF_ALL ? *inout : (uint32_t)*inout;
    enum arm_outcome outcome;

    cpu->level = 1;
    if (write && row->is_counter && arm_cpu_access(cpu, row->reg, false, &before) == ARM_DONE)
        value |= before >> 32 << 32;
    cpu->level = level;
    outcome = arm_cpu_access(cpu, row->reg, write, &value);
    if (outcome == ARM_DONE && !write)
        *inout = row->half == HALF_ALL ? value : row->half == HALF_HIGH ? value >> 32 : (uint32_t)value;
    return outcome;
}

/* ---- The table ---- */

/* Each register has by MRC what it has by MRS, and an MCR that may be made is seen by MRS. */
static void registers_of_aarch32_are_those_of_the_table(void **state)
{
    (void)state;
    read_rows();
    for (unsigned i = 0; i < sizeof versions / sizeof versions[0]; i++)
        for (unsigned n = 0; n < row_count; n++) {
            const struct row *row = &rows[n];
            struct arm_cpu alone;

            begin(versions[i]);
            arm_cpu_init(&alone, versions[i], COUNTERS);
            alone.level = 1;
            alone.ceid[0] &= ~(UINT64_C(1) << 0x1e); /* a guest is shown no CHAIN */
            for (unsigned way = 0; way < 4; way++) {
                uint64_t value = UINT64_C(0x123456789abcdef0), expected = value;
                enum arm_outcome outcome = cpu_access(&alone, row, way & 1u, &expected);

                if (guest_access(row->syndrome | !(way & 1u), false, &value) != outcome || value != expected)
                    fail_msg("%s, version %u, access %u: %llx, not %llx", row->name, versions[i], way,
                             (unsigned long long)value, (unsigned long long)expected);
            }
            end();
        }
}

static void an_access_of_32_bits_leaves_the_upper_half_of_a_counter(void **state)
{
    const uint32_t cycles = syndrome_32(0, 9, 13, 0), counter = syndrome_32(0, 14, 8, 1);

    (void)state;
    begin(6);
    mcr(syndrome_64(0, 9), UINT64_C(0x123456789abcdef0));
    assert_int_equal(mrc(syndrome_64(0, 9)), UINT64_C(0x123456789abcdef0));
    assert_int_equal(mrc(cycles), 0x9abcdef0);
    mcr(cycles, UINT64_C(0xffffffff00000007));
    assert_int_equal(read_of("PMCCNTR"), UINT64_C(0x1234567800000007));
    write_of("PMEVCNTR1", UINT64_C(0xfedcba9876543210));
    assert_int_equal(mrc(counter), 0x76543210);
    mcr(counter, 5);
    assert_int_equal(read_of("PMEVCNTR1"), UINT64_C(0xfedcba9800000005));
    mcr(syndrome_32(0, 9, 12, 5), 1);
    mcr(syndrome_32(0, 9, 13, 2), 6);
    assert_int_equal(read_of("PMEVCNTR1"), UINT64_C(0xfedcba9800000006));
    mcr(syndrome_32(0, 9, 12, 0), 2); /* PMCR.P */
    assert_int_equal(read_of("PMEVCNTR1"), 0);
    end();
}

/* The upper half is that of the counter as it counts, and not of the value that was last written. */
static void the_upper_half_of_a_counter_that_counts_is_that_of_now(void **state)
{
    (void)state;
    begin(6);
    mcr(syndrome_32(0, 14, 12, 0), 0x08);
    write_of("PMEVCNTR0", UINT64_C(0x7fffffff0));
    mcr(syndrome_32(0, 9, 12, 1), 1);
    mcr(syndrome_32(0, 9, 12, 0), 0xc1);
    arm_nest_run(&nest, 1, 0x20);
    mcr(syndrome_32(0, 14, 8, 0), 3);
    assert_int_equal(read_of("PMEVCNTR0"), UINT64_C(0x800000003));
    assert_int_equal(read_of("PMOVSSET"), 0);
    end();
}

static void user_mode_has_what_pmuserenr_permits(void **state)
{
    uint64_t value = 7;

    (void)state;
    begin(4);
    assert_int_equal(guest_access(syndrome_64(0, 9) | 1u, true, &value), ARM_TRAP_EL1);
    assert_int_equal(value, 7);
    mcr(syndrome_32(0, 9, 14, 0), 4); /* PMUSERENR.CR */
    mcr(syndrome_64(0, 9), 99);
    assert_int_equal(guest_access(syndrome_64(0, 9) | 1u, true, &value), ARM_DONE);
    assert_int_equal(value, 99);
    assert_int_equal(guest_access(syndrome_64(0, 9), true, &value), ARM_TRAP_EL1);
    assert_int_equal(guest_access(syndrome_32(0, 9, 12, 0) | 1u, true, &value), ARM_TRAP_EL1);
    assert_int_equal(guest_access(syndrome_32(0, 9, 14, 1) | 1u, true, &value), ARM_UNDEFINED);
    assert_int_equal(guest_access(syndrome_32(0, 9, 12, 4) | 1u, false, &value), ARM_UNDEFINED);
    end();
}

/* As the loop of a test of its own PMU: the write that opens counts, the one that closes does not. */
static void a_write_of_aarch32_that_opens_counts(void **state)
{
    const unsigned turns = 1000, body = 4;

    (void)state;
    for (unsigned i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        begin(versions[i]);
        nest.hw.accesses_count = true;
        mcr(syndrome_32(0, 14, 12, 2), 0x08);
        mcr(syndrome_32(0, 9, 12, 1), 4);
        mcr(syndrome_32(0, 9, 12, 0), 0x41);
        arm_nest_run(&nest, 1, turns * body);
        mcr(syndrome_32(0, 9, 12, 0), 0x40);
        assert_int_equal(mrc(syndrome_32(0, 14, 8, 2)), turns * body + 1);
        end();
    }
}

/* ---- Every syndrome ---- */

static bool is_row(uint32_t syndrome)
{
    for (unsigned i = 0; i < row_count; i++)
        if (rows[i].syndrome == syndrome)
            return true;
    return false;
}

/* Of the PMU's part of CRn 9 and 14 what is no register is undefined; all else is not ours, and changes nothing. */
static void all_other_syndromes_are_not_ours(void **state)
{
    struct upmu_guest *guest = &nest.guests[0].guest;
    static struct upmu_guest before;
    unsigned ours = 0;

    (void)state;
    read_rows();
    begin(6);
    arm_nest_exit(&nest);
    before = *guest;
    for (uint32_t class = 0; class < 64; class++)
        for (uint32_t fields = 0; fields < 1u << 15; fields++) {
            uint32_t op1 = fields >> 11 & 7u, crn = fields >> 7 & 15u, crm = fields >> 3 & 15u, op2 = fields & 7u;
            uint32_t syndrome = (syndrome_32(op1, crn, crm, op2) & ~(63u << 26)) | class << 26 | fields >> 14;
            bool part = !op1 && ((crn == 9 && crm >= 12 && crm <= 14) || (crn == 14 && crm >= 8));
            uint64_t value = 0x5a5a;
            enum upmu_guest_access access;

            if (class == 4) {
                syndrome = syndrome_64(op1 | crn << 3, crm) | op2 << 5 | fields >> 14;
                part = !op1 && !(crn & 1u) && crm == 9;
            }
            access = upmu_guest_cp15(guest, syndrome, false, &value);
            assert_int_equal(access == UPMU_GUEST_NOT_OURS, !(part && (class == 3 || class == 4)));
            if (access == UPMU_GUEST_DONE) {
                ours++;
                assert_true(class == 4 || is_row(syndrome & ~1u));
                *guest = before;
            }
            assert_memory_equal(guest, &before, sizeof before);
            if (access != UPMU_GUEST_DONE)
                assert_int_equal(value, 0x5a5a);
        }
    assert_compare(ours, >, 2 * (2 * COUNTERS + 10));
    end();
}

/*
 * The same random accesses and instructions on the CPU and in a guest whose code is AArch32: each value, outcome and
 * level is equal, whatever condition and general registers the syndromes name.
 */
static void a_guest_of_aarch32_is_as_the_cpu_is(void **state)
{
    static struct arm_twin twin;
    unsigned long long operations = guest_operations(20000, 1000000);

    (void)state;
    read_rows();
    for (unsigned i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        begin_on(versions[i], COUNTERS + 1); /* no counter waits */
        arm_twin_begin(&twin, versions[i], COUNTERS, 11 + i);
        twin.alone.ceid[0] &= ~(UINT64_C(1) << 0x1e);
        for (; twin.operations < operations / 4; twin.operations++) {
            const struct row *row = &rows[arm_twin_draw(&twin) % (arm_twin_draw(&twin) % 2 ? 18 : row_count)];
            unsigned level = arm_twin_draw(&twin) % 4 != 0, instructions = (unsigned)(arm_twin_draw(&twin) % 64);
            uint32_t registers = (uint32_t)arm_twin_draw(&twin) & (row->half == HALF_ALL ? 0x1f07fe0u : 0x1f003e0u);
            bool write = arm_twin_draw(&twin) % 2;
            uint64_t value = arm_twin_written(&twin, row->reg), expected;
            enum arm_outcome outcome;

            if (row->half == HALF_LOW && row->reg == ARM_REG(3, 3, 9, 12, 0)) /* (PMCR.D is not kept.) */
                value &= ~UINT64_C(8);
            expected = value;
            if (arm_twin_draw(&twin) % 4 == 0) {
                twin.alone.level = level;
                arm_cpu_run(&twin.alone, instructions);
                arm_nest_run(&nest, level, instructions);
            }
            twin.alone.level = level;
            outcome = cpu_access(&twin.alone, row, write, &expected);
            if (guest_access(row->syndrome | registers | !write, level == 0, &value) != outcome || value != expected)
                fail_msg("version %u, access %llu: %s of %s at EL%u has %llx, not %llx", versions[i], twin.operations,
                         write ? "write" : "read", row->name, level, (unsigned long long)value,
                         (unsigned long long)expected);
            arm_nest_exit(&nest);
            (void)arm_nest_enter(&nest);
            assert_int_equal(nest.wired, arm_cpu_requests(&twin.alone));
        }
        end();
    }
    guest_operations_made("of AArch32", operations);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registers_of_aarch32_are_those_of_the_table),
        cmocka_unit_test(an_access_of_32_bits_leaves_the_upper_half_of_a_counter),
        cmocka_unit_test(the_upper_half_of_a_counter_that_counts_is_that_of_now),
        cmocka_unit_test(user_mode_has_what_pmuserenr_permits),
        cmocka_unit_test(a_write_of_aarch32_that_opens_counts),
        cmocka_unit_test(all_other_syndromes_are_not_ours),
        cmocka_unit_test(a_guest_of_aarch32_is_as_the_cpu_is),
    };

    return cmocka_run_group_tests_name("guest_arm_cp15", tests, NULL, NULL);
}
