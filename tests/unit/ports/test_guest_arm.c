/* SPDX-License-Identifier: MIT */
/*
 * The PMU of Arm guests: registers as the architecture says, on a CPU of its own kind and in a guest of that CPU;
 * counts, overflows and interrupts to the last event; what policies and shapes permit.
 */
#define UPMU_BACKEND_ARM_PMUV3 1

#include "tests/common/table.h"
#include "tests/guest/arm_guest.h"
#include "tests/guest/arm_twin.h"
#include "tests/guest/operations.h"

/* ---- The table ---- */

static bool is_guest; /* the rows run in a guest, and not on the CPU */

static enum arm_outcome access_at(unsigned level, uint32_t reg, bool write, uint64_t *inout)
{
    enum upmu_guest_access access;

    if (!is_guest) {
        nest.hw.level = level;
        return arm_cpu_access(&nest.hw, reg, write, inout);
    }
    access = arm_nest_trap(&nest, reg, write, level == 0, inout);
    return access == UPMU_GUEST_DONE ? ARM_DONE : access == UPMU_GUEST_TRAP_EL1 ? ARM_TRAP_EL1 : ARM_UNDEFINED;
}

static bool level_now(void)
{
    if (!is_guest)
        return arm_cpu_requests(&nest.hw);
    arm_nest_exit(&nest);
    assert_int_equal(arm_nest_enter(&nest), UPMU_OK);
    assert_int_equal(upmu_guest_irq_level(&nest.guests[0].guest), nest.wired);
    return nest.wired;
}

static bool step_holds(char **field)
{
    const char *step = field[3], *expect = field[6];
    uint64_t value = strtoull(field[5], NULL, 16), wanted = strtoull(expect, NULL, 16);
    unsigned number = (unsigned)strtoul(field[4], NULL, 16);
    bool write = step[0] == 'w';
    enum arm_outcome outcome;

    if (!strcmp(step, "level"))
        return level_now() == (bool)number;
    if (!strncmp(step, "run", 3)) {
        if (is_guest) {
            arm_nest_run(&nest, step[3] != '0', number);
        } else {
            nest.hw.level = step[3] != '0';
            arm_cpu_run(&nest.hw, number);
        }
        return true;
    }
    outcome = access_at(step[1] != '0', number_of(field[4]), write, &value);
    if (!strcmp(expect, "undef") || !strcmp(expect, "trap"))
        return outcome == (expect[0] == 'u' ? ARM_UNDEFINED : ARM_TRAP_EL1);
    return outcome == ARM_DONE && (write || value == wanted);
}

static void start_case(unsigned version)
{
    if (is_guest) {
        begin(version);
        return;
    }
    arm_cpu_init(&nest.hw, version, COUNTERS);
    nest.hw.level = 1;
}

/* Run the cases of one version; returns how many rows ran. */
static unsigned run_table(unsigned version)
{
    FILE *file = source_open("tests/conformance/arm_vpmu.tsv");
    char line[1024], name[256] = "", digit[2] = {(char)('0' + version), 0};
    char *field[8];
    unsigned rows = 0;
    bool runs = false;

    while (table_row(file, line, sizeof line, field, 8)) {
        if (field[0][0]) {
            if (runs && is_guest)
                end();
            snprintf(name, sizeof name, "%s", field[0]);
            assert_true(field[7][0] != '\0'); /* each case names its source, or says that there is none */
            runs = strchr(field[1], digit[0]) && (is_guest || strcmp(field[2], "guest"));
            if (runs)
                start_case(version);
        }
        if (!runs)
            continue;
        rows++;
        if (!step_holds(field))
            fail_msg("version %u, %s, %s: %s %s %s is not %s", version, is_guest ? "guest" : "CPU", name, field[3],
                     field[4], field[5], field[6]);
    }
    if (runs && is_guest)
        end();
    fclose(file);
    return rows;
}

static void the_cpu_of_the_tests_has_the_registers_of_the_table(void **state)
{
    (void)state;
    is_guest = false;
    for (unsigned i = 0; i < sizeof versions / sizeof versions[0]; i++)
        assert_compare(run_table(versions[i]), >, 200);
}

static void a_guest_has_the_registers_of_the_table(void **state)
{
    (void)state;
    is_guest = true;
    for (unsigned i = 0; i < sizeof versions / sizeof versions[0]; i++)
        assert_compare(run_table(versions[i]), >, 200);
}

/* ---- Counts ---- */

/* As the loop of a test of its own PMU: the write that opens counts, the one that closes does not. */
static void a_write_of_arm_that_opens_counts(void **state)
{
    const unsigned turns = 1000, body = 4;

    (void)state;
    for (unsigned i = 0; i < sizeof versions / sizeof versions[0]; i++)
        for (unsigned counter = 0; counter < COUNTERS; counter++)
            for (unsigned gate = 0; gate < 2; gate++) {
                char name[16];

                begin(versions[i]);
                nest.hw.accesses_count = true;
                snprintf(name, sizeof name, "PMEVTYPER%u", counter);
                write_of(name, 0x08);
                write_of(gate ? "PMCNTENSET" : "PMCR", gate ? 1u << counter : 0x41);
                write_of(gate ? "PMCR" : "PMCNTENSET", gate ? 0x41 : 1u << counter);
                arm_nest_run(&nest, 1, turns * body);
                write_of(gate ? "PMCR" : "PMCNTENCLR", gate ? 0x40 : 1u << counter);
                snprintf(name, sizeof name, "PMEVCNTR%u", counter);
                assert_int_equal(read_of(name), turns * body + 1);
                end();
            }
}

static void what_the_hypervisor_executes_counts_at_its_level(void **state)
{
    (void)state;
    begin(6);
    write_of("PMEVTYPER0", 0x08);
    write_of("PMEVTYPER1", 0x40000008);
    write_of("PMEVTYPER2", 0x80000008);
    write_of("PMEVTYPER3", 0x21);
    write_of("PMEVTYPER4", 0x1e);
    write_of("PMCNTENSET", 0x8000001f);
    write_of("PMCR", 0x41);
    arm_nest_exit(&nest);
    upmu_guest_retired(&nest.guests[0].guest, 5, 2, true);
    upmu_guest_retired(&nest.guests[0].guest, 7, 1, false);
    assert_int_equal(read_of("PMEVCNTR0"), 12);
    assert_int_equal(read_of("PMEVCNTR1"), 7);
    assert_int_equal(read_of("PMEVCNTR2"), 5);
    assert_int_equal(read_of("PMEVCNTR3"), 3);
    assert_int_equal(read_of("PMEVCNTR4"), 0);
    assert_int_equal(read_of("PMCCNTR"), 0);
    end();
}

/* The hypervisor's own instructions are between the opening of the counters and the guest, too. */
static void el2_counts_for_no_guest(void **state)
{
    (void)state;
    begin(4);
    write_of("PMEVTYPER0", 0x08);
    write_of("PMCNTENSET", 0x80000001);
    write_of("PMCR", 0x41);
    for (unsigned i = 0; i < 50; i++) {
        arm_nest_run(&nest, i & 1u, 10);
        nest.hw.level = 2; /* an exit, before upmu_guest_exit() */
        nest.executed += 3;
        arm_cpu_run(&nest.hw, 3);
        nest.executed -= 3; /* (The world of the host begins with that call.) */
        arm_nest_exit(&nest);
        arm_nest_host(&nest, 100);
    }
    assert_int_equal(read_of("PMEVCNTR0"), 500);
    assert_int_equal(read_of("PMCCNTR"), 1000);
    end();
}

/* A counter that interrupts does so at each overflow, and the level stays until the guest clears the flag. */
static void an_overflow_requests_until_its_flag_is_cleared(void **state)
{
    unsigned seen = 0;

    (void)state;
    begin(4);
    write_of("PMEVTYPER2", 0x40000008);
    write_of("PMINTENSET", 4);
    write_of("PMEVCNTR2", 0xffffff9c); /* 100 before the end */
    write_of("PMCNTENSET", 4);
    write_of("PMCR", 0x41);
    for (unsigned i = 0; i < 100; i++) {
        arm_nest_run(&nest, i & 1u, 10); /* (EL0 does not count.) */
        if (!nest.wired)
            continue;
        seen++;
        assert_int_equal(read_of("PMOVSCLR"), 4);
        assert_int_equal(read_of("PMEVCNTR2"), 0);
        assert_true(nest.wired);
        write_of("PMEVCNTR2", 0xffffff9c);
        assert_true(nest.wired);
        write_of("PMOVSCLR", 4);
        assert_false(nest.wired);
    }
    assert_int_equal(seen, 5);
    assert_int_equal(nest.host_interrupts, 5);
    end();
}

/* While nothing changes: of an access of the guest that reads nothing that counts no register is read or written. */
static void an_entry_and_an_exit_of_arm_are_a_write_for_each_side(void **state)
{
    uint64_t value = 0;

    (void)state;
    begin(4);
    write_of("PMEVTYPER0", 0x08);
    write_of("PMEVTYPER1", 0x11);
    write_of("PMINTENSET", 2);
    write_of("PMCNTENSET", 0x80000003);
    write_of("PMCR", 0x41);
    arm_nest_exit(&nest);
    for (unsigned host = 2; host-- > 0;) { /* with a session of the host, and without */
        if (!host)
            assert_int_equal(upmu_session_stop(&nest.session), UPMU_OK);
        assert_int_equal(arm_nest_enter(&nest), UPMU_OK);
        arm_nest_exit(&nest);
        nest.hw.reads = nest.hw.writes = 0;
        assert_int_equal(arm_nest_enter(&nest), UPMU_OK);
        assert_int_equal(nest.hw.writes, host + 1);
        assert_int_equal(nest.hw.reads, 0);
        arm_nest_exit(&nest);
        assert_int_equal(nest.hw.writes, 2 * (host + 1));
        assert_int_equal(upmu_guest_sysreg(&nest.guests[0].guest, number_of("PMCR"), false, false, &value),
                         UPMU_GUEST_DONE);
        assert_int_equal(nest.hw.reads, 0);
        assert_int_equal(nest.hw.writes, 2 * (host + 1));
    }
    assert_int_equal(upmu_session_start(&nest.session), UPMU_OK);
    nest.executed = 0;
    assert_int_equal(upmu_set_write(&nest.session.set, 0, 0), UPMU_OK);
    end();
}

/* min_period bounds the interrupts of the host; no overflow is lost by that. */
static void a_short_period_does_not_flood_the_host(void **state)
{
    static struct upmu_guest_policy slow;

    (void)state;
    begin(4);
    slow = policy_of(UPMU_GUEST_ALL);
    slow.min_period = 1000;
    arm_nest_exit(&nest);
    assert_int_equal(upmu_guest_policy_change(&nest.guests[0].guest, &slow), UPMU_OK);
    write_of("PMEVTYPER0", 0x08);
    write_of("PMINTENSET", 1);
    write_of("PMCNTENSET", 1);
    write_of("PMCR", 0x41);
    for (unsigned i = 0; i < 20; i++) {
        write_of("PMEVCNTR0", 0xffffffff);
        arm_nest_run(&nest, 1, 50);
        assert_int_equal(read_of("PMOVSCLR"), 1);
        write_of("PMOVSCLR", 1);
    }
    assert_compare(nest.host_interrupts, <=, 1);
    end();
}

static void a_host_that_polls_needs_no_interrupt(void **state)
{
    static struct upmu_guest_policy polled;
    struct upmu_guest_shape shape;

    (void)state;
    begin(4);
    polled = policy_of(UPMU_GUEST_ALL);
    polled.flags |= UPMU_GUEST_POLLED;
    assert_int_equal(upmu_guest_shape_default(&nest.machine, UPMU_GUEST_ARM, &polled, &shape), UPMU_OK);
    arm_nest_exit(&nest);
    assert_int_equal(upmu_guest_policy_change(&nest.guests[0].guest, &polled), UPMU_OK);
    write_of("PMEVTYPER0", 0x08);
    write_of("PMEVCNTR0", 0xfffffff0);
    write_of("PMINTENSET", 1);
    write_of("PMCNTENSET", 1);
    write_of("PMCR", 0x41);
    arm_nest_run(&nest, 1, 20);
    assert_false(nest.wired);
    arm_nest_exit(&nest);
    assert_int_equal(arm_nest_enter(&nest), UPMU_OK);
    assert_true(nest.wired);
    assert_int_equal(nest.host_interrupts, 0);
    end();
}

/* ---- Shapes and policies ---- */

/* Each event that is shown counts; a common one that is not shown, and CHAIN, count nothing. */
static void what_pmceid_shows_counts(void **state)
{
    static const unsigned levels[] = {UPMU_GUEST_IPC, UPMU_GUEST_ARCH, UPMU_GUEST_LIST, UPMU_GUEST_ALL, UPMU_GUEST_OFF};
    static const uint64_t entries[] = {0x1b, 0x11, 0x4004, 0xc1};
    static const struct upmu_guest_filter filter = {UPMU_GUEST_FILTER_ALLOW, 0, 4, 0, entries};

    (void)state;
    for (unsigned i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        struct upmu_guest_shape shape;
        unsigned shown = 0;

        policy = policy_of(levels[i]);
        policy.filter = levels[i] == UPMU_GUEST_LIST ? &filter : NULL;
        assert_int_equal(arm_nest_host_begin(&nest, 4, COUNTERS), UPMU_OK);
        assert_int_equal(upmu_guest_shape_default(&nest.machine, UPMU_GUEST_ARM, &policy, &shape), UPMU_OK);
        assert_int_equal(arm_nest_guest_begin(&nest, 0, &shape, &policy), UPMU_OK);
        assert_int_equal(arm_nest_session(&nest), UPMU_OK);
        assert_true(arm_nest_go(&nest, &nest.guests[0]));
        for (unsigned code = 0; code < 128; code++) {
            unsigned event = code < 64 ? code : 0x4000 + code - 64;
            uint64_t word = read_of(code % 64 < 32 ? "PMCEID0" : "PMCEID1") >> (code < 64 ? code % 32 : 32 + code % 32);
            bool is = word & 1u;

            shown += is;
            if (event == 0) { /* SW_INCR counts what PMSWINC says, and nothing else */
                assert_int_equal(is, levels[i] != UPMU_GUEST_OFF);
                assert_false(counts(event));
                write_of("PMSWINC", 1);
                assert_int_equal(read_of("PMEVCNTR0"), is);
            } else if (event != 0x4005 && event != 0x4020) { /* (The CPU has these, and nothing makes them happen.) */
                assert_int_equal(counts(event), is);
            }
        }
        assert_int_equal(counts(0xc1), levels[i] == UPMU_GUEST_ALL || levels[i] == UPMU_GUEST_LIST);
        assert_int_equal(nest.guests[0].guest.counter[0].denied > 0, true);
        assert_int_equal(shown, levels[i] == UPMU_GUEST_OFF    ? 0
                                : levels[i] == UPMU_GUEST_IPC  ? 3
                                : levels[i] == UPMU_GUEST_LIST ? 4
                                                               : 61 + 3);
        end();
    }
}

static void a_shape_is_what_machine_and_policy_permit(void **state)
{
    struct upmu_guest_shape shape, other;
    struct upmu_guest_policy ipc = policy_of(UPMU_GUEST_IPC), few = policy_of(UPMU_GUEST_ALL);
    static const uint64_t wide[] = {0x10008};
    const struct upmu_guest_filter bad[] = {{UPMU_GUEST_FILTER_ALLOW, 0, 1, 0, wide},
                                            {UPMU_GUEST_FILTER_DENY + 1, 0, 0, 0, wide},
                                            {UPMU_GUEST_FILTER_DENY, UPMU_GUEST_FILTER_MASKED, 0, 0, wide},
                                            {UPMU_GUEST_FILTER_DENY, 0, 0, 1, wide},
                                            {UPMU_GUEST_FILTER_DENY, 0, UPMU_GUEST_FILTER_ENTRIES + 1, 0, wide},
                                            {UPMU_GUEST_FILTER_DENY, 0, 1, 0, NULL}};

    (void)state;
    begin(5);
    shape = nest.guests[0].guest.shape;
    end();
    assert_int_equal(arm_nest_host_begin(&nest, 5, COUNTERS), UPMU_OK);
#define REFUSED(status, change)                                                                                        \
    do {                                                                                                               \
        other = shape;                                                                                                 \
        change;                                                                                                        \
        assert_int_equal(arm_nest_guest_begin(&nest, 0, &other, &policy), status);                                     \
    } while (0)
    REFUSED(UPMU_OK, (void)0);
    REFUSED(UPMU_OK, other.version = 4);
    REFUSED(UPMU_OK, other.general = 8); /* (Counters may wait.) */
    REFUSED(UPMU_OK, other.general = 0);
    REFUSED(UPMU_ERR_INVALID, other.version = 6);
    REFUSED(UPMU_ERR_INVALID, other.version = 2);
    REFUSED(UPMU_ERR_INVALID, other.version = 1); /* it has no events from 4000h on */
    REFUSED(UPMU_ERR_INVALID, other.general = 9);
    REFUSED(UPMU_ERR_INVALID, other.fixed = 0);
    REFUSED(UPMU_ERR_INVALID, other.width = 32);
    REFUSED(UPMU_ERR_INVALID, other.full_write = 1);
    REFUSED(UPMU_ERR_INVALID, other.arch_events = 1);
    REFUSED(UPMU_ERR_INVALID, other.reserved[2] = 1);
    REFUSED(UPMU_ERR_INVALID, other.door = UPMU_GUEST_INTEL);
    REFUSED(UPMU_ERR_INVALID, other.events[0] |= UINT64_C(1) << 0x1e);
    REFUSED(UPMU_ERR_INVALID, other.events[0] |= UINT64_C(1) << 0x20);
    REFUSED(UPMU_ERR_INVALID, other.events[1] |= 1);
    assert_int_equal(arm_nest_guest_begin(&nest, 0, &shape, &ipc), UPMU_ERR_UNSUPPORTED);
    assert_int_equal(upmu_guest_shape_denied(&shape, &ipc), 3);
    few.max_counters = 3;
    assert_int_equal(upmu_guest_shape_denied(&shape, &few), UPMU_GUEST_DENIED_COUNTERS);
    assert_int_equal(upmu_guest_shape_default(&nest.machine, UPMU_GUEST_ARM, &few, &other), UPMU_OK);
    assert_int_equal(other.general, 2);
    for (unsigned flag = 0; flag < 8; flag++) {
        struct upmu_guest_policy flags = policy_of(UPMU_GUEST_IPC);

        flags.flags = (uint8_t)(1u << flag);
        assert_int_equal(upmu_guest_shape_default(&nest.machine, UPMU_GUEST_ARM, &flags, &other),
                         flags.flags & (UPMU_GUEST_STRICT | UPMU_GUEST_POLLED | UPMU_GUEST_BESIDE_STRANGERS)
                             ? UPMU_OK
                             : UPMU_ERR_INVALID);
    }
    few = policy_of(UPMU_GUEST_LIST);
    assert_int_equal(upmu_guest_shape_default(&nest.machine, UPMU_GUEST_ARM, &few, &other), UPMU_ERR_INVALID);
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        few.filter = &bad[i];
        assert_int_equal(upmu_guest_filter_check(&bad[i]), UPMU_ERR_INVALID);
        assert_int_equal(upmu_guest_shape_default(&nest.machine, UPMU_GUEST_ARM, &few, &other), UPMU_ERR_INVALID);
    }
    assert_int_equal(upmu_cpu_fini(&nest.cpu), UPMU_OK);
}

/* A shape with fewer events than the host, and of another model: what it does not show counts nothing. */
static void an_event_that_the_shape_lacks_counts_nothing(void **state)
{
    uint8_t bytes[UPMU_GUEST_STATE_BYTES];
    struct upmu_guest_shape shape;
    size_t used;

    (void)state;
    begin(4);
    assert_true(counts(0x1b));
    assert_true(counts(0xc1));
    shape = nest.guests[0].guest.shape;
    end();
    assert_int_equal(arm_nest_host_begin(&nest, 4, COUNTERS), UPMU_OK);
    shape.events[0] &= ~(UINT64_C(1) << 0x1b);
    shape.model++;
    assert_int_equal(arm_nest_guest_begin(&nest, 0, &shape, &policy), UPMU_OK);
    assert_int_equal(arm_nest_session(&nest), UPMU_OK);
    assert_true(arm_nest_go(&nest, &nest.guests[0]));
    assert_true(counts(0x08));
    assert_false(counts(0x1b));
    assert_false(counts(0xc1));
    arm_nest_exit(&nest);
    assert_int_equal(upmu_guest_save(&nest.guests[0].guest, bytes, sizeof bytes, &used), UPMU_OK);
    assert_int_equal(upmu_guest_restore(&nest.guests[0].guest, bytes, used), UPMU_ERR_WRONG_PMU);
    end();
}

/* The policy narrows while the guest lives: what it was shown stands until its reset. */
static void a_reset_of_arm_shows_what_the_policy_counts(void **state)
{
    static struct upmu_guest_policy ipc;
    struct upmu_guest *guest = &nest.guests[0].guest;

    (void)state;
    begin(4);
    ipc = policy_of(UPMU_GUEST_IPC);
    assert_true(counts(0x1b));
    arm_nest_exit(&nest);
    assert_int_equal(upmu_guest_policy_change(guest, &ipc), UPMU_OK);
    assert_true(upmu_guest_shape_is_stale(guest));
    assert_false(counts(0x1b));
    assert_true(counts(0x08));
    assert_int_equal(read_of("PMCEID0") >> 0x1b & 1u, 1);
    arm_nest_exit(&nest);
    upmu_guest_reset(guest);
    assert_false(upmu_guest_shape_is_stale(guest));
    assert_int_equal(read_of("PMCEID0"), 0x20101);
    assert_int_equal(read_of("PMCR"), 0x3000);
    assert_int_equal(read_of("PMCNTENSET"), 0);
    end();
}

static void an_id_register_shows_the_shape_and_nothing_beside_it(void **state)
{
    const struct upmu_guest *guest = &nest.guests[0].guest;
    uint64_t value = UINT64_MAX;

    (void)state;
    begin(5);
    assert_true(upmu_guest_id_register(guest, ARM_REG(3, 0, 0, 5, 0), &value));
    assert_int_equal(value, UINT64_C(0x0f0ffff0f0f0f5ff));
    assert_false(upmu_guest_id_register(guest, ARM_REG(3, 0, 0, 5, 0), &value));
    value = UINT64_MAX;
    assert_true(upmu_guest_id_register(guest, ARM_REG(3, 0, 0, 5, 1), &value));
    assert_int_equal(value, UINT64_C(0xfff0ff00ffffffff));
    value = 0;
    assert_true(upmu_guest_id_register(guest, ARM_REG(3, 0, 0, 1, 2), &value));
    assert_int_equal(value, 5u << 24);
    assert_false(upmu_guest_id_register(guest, ARM_REG(3, 0, 0, 4, 0), &value));
    end();
    begin(1);
    value = 0;
    assert_true(upmu_guest_id_register(guest, ARM_REG(3, 0, 0, 1, 2), &value));
    assert_int_equal(value, 3u << 24);
    end();
}

/* ---- Numbers of registers ---- */

/* Each number that an MRS can name: what is no register of the PMU is not ours, and changes nothing. */
static void all_other_numbers_are_not_ours(void **state)
{
    static struct upmu_guest before;
    struct upmu_guest *guest = &nest.guests[0].guest;
    unsigned ours = 0;

    (void)state;
    begin(6);
    write_of("PMUSERENR", 15);
    arm_nest_exit(&nest);
    before = *guest;
    for (uint32_t reg = 0; reg < 0x20000; reg++)
        for (unsigned way = 0; way < 4; way++) {
            uint64_t value = 0x5a5a;
            enum upmu_guest_access access;
            bool pmu = (reg >> 7 == ARM_REG(3, 0, 9, 0, 0) >> 7 && (reg >> 3 & 15u) >= 9 && (reg >> 3 & 15u) <= 14 &&
                        (reg >> 3 & 15u) != 11) ||
                       (reg >> 7 == ARM_REG(3, 3, 9, 0, 0) >> 7 && (reg >> 3 & 15u) >= 12 && (reg >> 3 & 15u) <= 14) ||
                       (reg >> 7 == ARM_REG(3, 3, 14, 0, 0) >> 7 && (reg >> 3 & 15u) >= 8);

            access = upmu_guest_sysreg(guest, reg, way & 1u, way & 2u, &value);
            assert_int_equal(access == UPMU_GUEST_NOT_OURS, !pmu);
            if (access == UPMU_GUEST_DONE) {
                ours++;
                *guest = before;
            }
            assert_memory_equal(guest, &before, sizeof before);
            if (access != UPMU_GUEST_DONE)
                assert_int_equal(value, 0x5a5a);
        }
    /* Of 6 counters value and select, PMCCFILTR, 8 registers for both, PMSWINC, 2 of PMCEID, PMUSERENR, and EL1's. */
    assert_int_equal(ours, 4 * (2 * COUNTERS + 1) + 4 * 9 + 2 + 2 * 2 + 3 + 2 * 2 + 1);
    end();
}

/* ---- Faults ---- */

/*
 * A register of the host faults once, at each access of a guest's life: the guest's counters are closed behind it, and
 * the host's session stays exact.
 */
static void a_fault_closes_the_counters_of_the_guest(void **state)
{
    unsigned accesses = 0;

    (void)state;
    for (unsigned fault = 1; !accesses || fault <= accesses; fault++) {
        struct upmu_count count;
        enum upmu_status status;
        unsigned before;

        begin(4);
        before = nest.hw.reads + nest.hw.writes;
        nest.fault_after = accesses ? fault : 0;
        write_of("PMEVTYPER0", 0x08);
        write_of("PMEVTYPER1", 0x11);
        write_of("PMEVCNTR1", 0xfffffff0);
        write_of("PMINTENSET", 2);
        write_of("PMCNTENSET", 0x80000003);
        write_of("PMCR", 0x41);
        for (unsigned i = 0; i < 4; i++) {
            arm_nest_run(&nest, i & 1u, 20);
            (void)read_of("PMOVSCLR");
            write_of("PMOVSCLR", 2);
        }
        arm_nest_exit(&nest);
        (void)arm_nest_go(&nest, NULL);
        arm_nest_host(&nest, 10);
        if (!accesses) {
            accesses = nest.hw.reads + nest.hw.writes - before;
            fault = 0;
        }
        for (unsigned i = 0; i < 32; i++) /* the host's counter alone is open: it counts EL2 */
            assert_true(!(nest.hw.enabled >> i & 1u) || nest.hw.type[i] >> 27 & 1u);
        assert_int_equal(nest.fault_after, 0);
        assert_int_equal(upmu_set_read(&nest.session.set, 0, 1, &count), UPMU_OK);
        assert_int_equal(count.value, nest.executed);
        status = upmu_guest_fini(&nest.guests[0].guest);
        assert_true(status == UPMU_OK || status == UPMU_ERR_PORT);
        status = upmu_session_close(&nest.session);
        assert_true(status == UPMU_OK || status == UPMU_ERR_PORT);
        (void)!upmu_cpu_fini(&nest.cpu);
        assert_int_equal(nest.hw.enabled | nest.hw.interrupts | nest.hw.pmcr, 0);
    }
}

/* ---- Saving ---- */

static void a_saved_guest_goes_on_elsewhere(void **state)
{
    uint8_t bytes[UPMU_GUEST_STATE_BYTES], again[UPMU_GUEST_STATE_BYTES];
    struct upmu_guest *guest = &nest.guests[0].guest;
    unsigned family, model;
    size_t used, more;

    (void)state;
    begin(6);
    write_of("PMUSERENR", 9);
    write_of("PMSELR", 5);
    write_of("PMEVTYPER0", 0x40000008);
    write_of("PMEVCNTR0", 0xfffffffffffffff0);
    write_of("PMINTENSET", 0x80000001);
    write_of("PMCNTENSET", 0x80000001);
    write_of("PMCR", 0xe1);
    arm_nest_run(&nest, 1, 20);
    arm_nest_exit(&nest);
    assert_int_equal(upmu_guest_save(guest, bytes, sizeof bytes, &used), UPMU_OK);
    assert_int_equal(upmu_guest_state_needs(bytes, used, &family, &model), UPMU_OK);
    assert_int_equal(family | model, 0); /* common events alone */
    end();
    begin(6);
    arm_nest_exit(&nest);
    assert_int_equal(upmu_guest_restore(guest, bytes, used), UPMU_OK);
    assert_int_equal(upmu_guest_save(guest, again, sizeof again, &more), UPMU_OK);
    assert_int_equal(more, used);
    assert_memory_equal(again, bytes, used);
    assert_int_equal(arm_nest_enter(&nest), UPMU_OK);
    assert_true(nest.wired);
    assert_int_equal(read_of("PMOVSSET"), 1);
    assert_int_equal(read_of("PMEVCNTR0"), 4);
    assert_int_equal(read_of("PMCCNTR"), 40);
    assert_int_equal(read_of("PMUSERENR") | read_of("PMSELR") << 8 | read_of("PMCR") << 16, 0x30e10509);
    arm_nest_run(&nest, 1, 6);
    assert_int_equal(read_of("PMEVCNTR0"), 10);
    write_of("PMEVTYPER1", 0xc1);
    arm_nest_exit(&nest);
    for (unsigned i = 0; i < 8; i++) { /* a bit that no guest could have set, in each word */
        struct guest_state wrong;

        memset(&wrong, 0, sizeof wrong);
        memcpy(&wrong, bytes, used);
        if (i < 5)
            wrong.word[i] |= UINT64_C(1) << 63;
        wrong.interrupt |= i == 5;
        wrong.word[0] |= i == 6 ? 0x100 : 0;
        wrong.counter[0].select |= i == 7 ? 0x10000 : 0;
        wrong.checksum = state_checksum(&wrong, used);
        assert_int_equal(upmu_guest_restore(guest, &wrong, used), UPMU_ERR_INVALID);
    }
    assert_int_equal(upmu_guest_save(guest, bytes, sizeof bytes, &used), UPMU_OK);
    assert_int_equal(upmu_guest_state_needs(bytes, used, &family, &model), UPMU_OK);
    assert_true(family == 0x41 && model == 0xd07);
    end();
}

/* ---- Guest and CPU beside each other ---- */

/* The same accesses and instructions on the CPU at EL1 and in a guest: each value, outcome and level is equal. */
static void a_guest_is_as_the_cpu_is(void **state)
{
    static struct arm_twin twin;
    unsigned long long operations = guest_operations(40000, 2000000);

    (void)state;
    for (unsigned i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        begin_on(versions[i], COUNTERS + 1); /* no counter waits */
        arm_twin_begin(&twin, versions[i], COUNTERS, 1 + i);
        while (twin.operations < operations / 4 && arm_twin_step(&twin, &nest))
            continue;
        if (twin.wrong[0])
            fail_msg("version %u, access %llu: %s", versions[i], twin.operations, twin.wrong);
        end();
    }
    guest_operations_made("of Arm", operations);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cpu_of_the_tests_has_the_registers_of_the_table),
        cmocka_unit_test(a_guest_has_the_registers_of_the_table),
        cmocka_unit_test(a_write_of_arm_that_opens_counts),
        cmocka_unit_test(what_the_hypervisor_executes_counts_at_its_level),
        cmocka_unit_test(el2_counts_for_no_guest),
        cmocka_unit_test(an_overflow_requests_until_its_flag_is_cleared),
        cmocka_unit_test(an_entry_and_an_exit_of_arm_are_a_write_for_each_side),
        cmocka_unit_test(a_short_period_does_not_flood_the_host),
        cmocka_unit_test(a_host_that_polls_needs_no_interrupt),
        cmocka_unit_test(what_pmceid_shows_counts),
        cmocka_unit_test(a_shape_is_what_machine_and_policy_permit),
        cmocka_unit_test(an_event_that_the_shape_lacks_counts_nothing),
        cmocka_unit_test(a_reset_of_arm_shows_what_the_policy_counts),
        cmocka_unit_test(an_id_register_shows_the_shape_and_nothing_beside_it),
        cmocka_unit_test(all_other_numbers_are_not_ours),
        cmocka_unit_test(a_fault_closes_the_counters_of_the_guest),
        cmocka_unit_test(a_saved_guest_goes_on_elsewhere),
        cmocka_unit_test(a_guest_is_as_the_cpu_is),
    };

    return cmocka_run_group_tests_name("guest_arm", tests, NULL, NULL);
}
