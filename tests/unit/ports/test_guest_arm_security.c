/* SPDX-License-Identifier: MIT */
/*
 * What a hostile guest cannot do through the registers of the Arm door. Numbers in the names of tests are those of
 * tests/guest/rules.tsv, as in test_guest_security.c.
 */
#define UPMU_BACKEND_ARM_PMUV3 1

#include "tests/guest/arm_guest.h"

#define HOST_SELECT (UINT64_C(1) << 27) /* NSH, which the host's session alone has */
#define FREE (COUNTERS - 1u)            /* event counters that the host's session leaves */

static uint64_t seed;

static uint64_t draw(void)
{
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed;
}

/* One act of a guest that does what it likes, at EL0 or EL1. */
static void act(void)
{
    uint32_t reg = draw() % 3 ? ARM_REG(3, draw() % 5 ? 3 : 0, 9, 12, 0) + (uint32_t)(draw() % 24)
                              : ARM_REG(3, 3, 14, 8, 0) + (uint32_t)(draw() % 64);
    uint64_t value = draw() % 3 ? draw() : draw() % 2 ? UINT32_MAX - draw() % 100 : (draw() % 4) << 30 | 0x08;

    if (draw() % 4)
        (void)arm_nest_trap(&nest, reg, draw() % 3, draw() % 4 == 0, &value);
    else
        arm_nest_run(&nest, draw() % 2, (unsigned)(draw() % 60));
}

static void program_all(unsigned code, uint64_t value)
{
    for (unsigned i = 0; i < FREE; i++) {
        char name[16];

        (void)snprintf(name, sizeof name, "PMEVTYPER%u", i);
        write_of(name, code);
        (void)snprintf(name, sizeof name, "PMEVCNTR%u", i);
        write_of(name, value);
    }
    write_of("PMCNTENSET", UINT32_MAX);
    write_of("PMCR", 0x41);
}

static uint64_t counter_of_guest(unsigned counter)
{
    char name[16];

    (void)snprintf(name, sizeof name, "PMEVCNTR%u", counter);
    return read_of(name);
}

/* A second vCPU of the same shape and policy. */
static void begin_other(void)
{
    assert_int_equal(arm_nest_guest_begin(&nest, 1, &nest.guests[0].guest.shape, &policy), UPMU_OK);
}

static void go(unsigned which)
{
    assert_true(arm_nest_go(&nest, &nest.guests[which]));
}

/* ---- Inputs ---- */

/* Each bit of each register, alone: it is kept, does what it is for, or is dropped as on a CPU. */
static void s04_each_bit_of_a_register_of_arm_is_as_on_the_cpu(void **state)
{
    static struct arm_cpu alone;

    (void)state;
    for (unsigned i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        begin(versions[i]);
        arm_cpu_init(&alone, versions[i], COUNTERS);
        alone.level = 1;
        for (unsigned n = 0; n < sizeof names / sizeof names[0] + 64; n++)
            for (unsigned bit = 0; bit < 65; bit++) {
                uint32_t reg = n < 64 ? ARM_REG(3, 3, 14, 8, 0) + n : names[n - 64].number;
                uint64_t value = bit < 64 ? UINT64_C(1) << bit : 0, expected = value;

                if (reg == ARM_REG(3, 3, 9, 12, 6) || reg == ARM_REG(3, 3, 9, 12, 7)) /* (They differ by CHAIN.) */
                    continue;
                for (unsigned write = 2; write-- > 0;) {
                    enum upmu_guest_access access = arm_nest_trap(&nest, reg, write, false, &value);
                    enum arm_outcome outcome = arm_cpu_access(&alone, reg, write, &expected);

                    assert_int_equal(access == UPMU_GUEST_DONE, outcome == ARM_DONE, reg, bit, write);
                    if (access == UPMU_GUEST_DONE && !write)
                        assert_int_equal(value, expected, reg, bit);
                }
            }
        end();
    }
}

/* May a guest under this policy count the event that an open counter of the hardware has? */
static bool may_count(unsigned level, unsigned counter)
{
    unsigned code = counter == ARM_CYCLE ? 0x11 : nest.hw.type[counter] & 0xffffu;

    if (level == UPMU_GUEST_LIST)
        return code == 0x11 || code == 0x1b || code == 0xc1;
    if (level == UPMU_GUEST_ARCH)
        return code < 0x40 || (code >= 0x4000 && code < 0x4040);
    return level == UPMU_GUEST_ALL || (level == UPMU_GUEST_IPC && (code == 0x08 || code == 0x11));
}

static void s07_selects_of_arm_hold_what_a_guest_may_choose(void **state)
{
    static const unsigned levels[] = {UPMU_GUEST_IPC, UPMU_GUEST_ARCH, UPMU_GUEST_LIST, UPMU_GUEST_ALL, UPMU_GUEST_OFF};
    static const uint64_t entries[] = {0x1b, 0x11, 0xc1};
    static const struct upmu_guest_filter filter = {UPMU_GUEST_FILTER_ALLOW, 0, 3, 0, entries};
    static const uint16_t codes[] = {0x08, 0x11, 0x1b, 0xc1, 0x1e, 0x21, 0x4004, 0x3ff, 0};

    (void)state;
    seed = 7;
    for (unsigned i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        struct upmu_guest_policy other = policy_of(levels[i]);
        unsigned open = 0;

        begin(6);
        other.filter = levels[i] == UPMU_GUEST_LIST ? &filter : NULL;
        arm_nest_exit(&nest);
        assert_int_equal(upmu_guest_policy_change(&nest.guests[0].guest, &other), UPMU_OK);
        write_of("PMCNTENSET", UINT32_MAX);
        for (unsigned step = 0; step < 6000; step++) {
            uint64_t value = (draw() & ~UINT64_C(0xffff)) | codes[draw() % (sizeof codes / sizeof codes[0])];

            if (draw() % 4 == 0)
                value = draw();
            (void)arm_nest_trap(&nest, ARM_REG(3, 3, 14, 12, 0) + (uint32_t)(draw() % 32), true, false, &value);
            if (step % 8 == 0)
                write_of("PMCR", 0x41);
            for (unsigned k = 0; k < 32; k++) {
                if (!(nest.hw.enabled >> k & 1u))
                    continue;
                open++;
                assert_int_equal(nest.hw.type[k] & ~UINT64_C(0xc000ffff), 0, step, k);
                assert_true(may_count(levels[i], k));
            }
        }
        if (levels[i] == UPMU_GUEST_OFF)
            assert_int_equal(open, 0);
        else
            assert_compare(open, >, 1000, levels[i]);
        end();
    }
}

static void s09_profiling_and_traces_of_arm_are_never_there(void **state)
{
    static const uint32_t faults[] = {ARM_REG(3, 0, 9, 9, 0),  ARM_REG(3, 0, 9, 9, 7),  ARM_REG(3, 0, 9, 10, 0),
                                      ARM_REG(3, 0, 9, 10, 7), ARM_REG(3, 0, 9, 13, 3), ARM_REG(3, 0, 9, 14, 4),
                                      ARM_REG(3, 0, 9, 14, 5), ARM_REG(3, 0, 9, 14, 7), ARM_REG(3, 3, 9, 13, 4)};
    static const uint32_t others[] = {ARM_REG(3, 0, 9, 11, 0), ARM_REG(2, 1, 9, 0, 0), ARM_REG(2, 1, 8, 0, 0),
                                      ARM_REG(3, 3, 9, 4, 0), ARM_REG(2, 0, 1, 0, 4)};
    unsigned accesses;

    (void)state;
    begin(6);
    arm_nest_exit(&nest);
    nest.lazy = true;
    accesses = nest.hw.reads + nest.hw.writes;
    for (unsigned way = 0; way < 4; way++) {
        uint64_t value = UINT64_MAX;

        for (unsigned i = 0; i < sizeof faults / sizeof faults[0]; i++)
            assert_int_equal(arm_nest_trap(&nest, faults[i], way & 1u, way & 2u, &value), UPMU_GUEST_FAULT, i, way);
        for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++)
            assert_int_equal(arm_nest_trap(&nest, others[i], way & 1u, way & 2u, &value), UPMU_GUEST_NOT_OURS, i, way);
    }
    assert_int_equal(nest.hw.reads + nest.hw.writes, accesses);
    end();
}

/* ---- Lifetime, resources ---- */

static void s11_a_vcpu_of_arm_ends_in_every_state(void **state)
{
    (void)state;
    for (unsigned when = 0; when < 40; when++) {
        begin(versions[when % 4]);
        seed = 99 + when;
        for (unsigned i = 0; i < when; i++)
            act();
        arm_nest_exit(&nest);
        if (when & 1u)
            upmu_guest_reset(&nest.guests[0].guest);
        if (when % 3 == 0) {
            uint64_t executed = nest.executed;

            assert_int_equal(upmu_cpu_suspend(&nest.cpu), UPMU_OK);
            for (unsigned i = 0; i < 5; i++)
                act();
            arm_nest_exit(&nest);
            assert_int_equal(upmu_cpu_resume(&nest.cpu), UPMU_OK);
            nest.executed = executed; /* (While the CPU was suspended, the session of the host counted nothing.) */
        }
        end();
        assert_int_equal(nest.guests[0].guest.attached, 0);
    }
}

static void s15_a_guest_of_arm_has_the_sessions_that_it_was_given(void **state)
{
    struct arm_nest_guest *of = &nest.guests[0];
    struct upmu_guest_shape shape;

    (void)state;
    policy = policy_of(UPMU_GUEST_ALL);
    assert_int_equal(arm_nest_host_begin(&nest, 4, COUNTERS), UPMU_OK);
    assert_int_equal(upmu_guest_shape_default(&nest.machine, UPMU_GUEST_ARM, &policy, &shape), UPMU_OK);
    upmu_thread_init(&of->thread, 1, 1, NULL);
    assert_int_equal(upmu_guest_init(&of->guest, &nest.machine, &shape, &policy,
                                     &(struct upmu_guest_memory){of->sessions, 2, &of->thread}),
                     UPMU_OK);
    assert_int_equal(arm_nest_session(&nest), UPMU_OK);
    go(0);
    memset(&of->sessions[2], 0xa5, sizeof of->sessions[2]);
    program_all(0x08, 0);
    arm_nest_run(&nest, 1, 50);
    assert_int_equal(upmu_bits_count(of->guest.waiting), FREE + 1u - 2u); /* the cycle counter, too */
    assert_int_equal(counter_of_guest(0), 50);
    assert_int_equal(counter_of_guest(1), 50);
    assert_int_equal(counter_of_guest(2), 0);
    for (size_t i = 0; i < sizeof of->sessions[2]; i++)
        assert_int_equal(((const uint8_t *)&of->sessions[2])[i], 0xa5, i);
    /* A session that is given up serves another counter. */
    write_of("PMCNTENCLR", 1);
    arm_nest_run(&nest, 1, 40);
    assert_int_equal(counter_of_guest(0), 50);
    assert_int_equal(counter_of_guest(2), 40);
    end();
}

/* A read of the flags looks at each counter that counts, and no trap looks at one twice. */
static void s17_the_work_of_a_trap_of_arm_is_bounded(void **state)
{
    unsigned most = 0, most_of_entry = 0;

    (void)state;
    begin(6);
    program_all(0x08, 0);
    seed = 77;
    for (unsigned i = 0; i < 20000; i++) {
        unsigned before;

        nest.lazy = true;
        before = nest.hw.reads + nest.hw.writes;
        arm_nest_exit(&nest);
        if (nest.hw.reads + nest.hw.writes - before > most_of_entry)
            most_of_entry = nest.hw.reads + nest.hw.writes - before;
        before = nest.hw.reads + nest.hw.writes;
        act();
        if (!nest.inside && nest.hw.reads + nest.hw.writes - before > most)
            most = nest.hw.reads + nest.hw.writes - before;
        before = nest.hw.reads + nest.hw.writes;
        (void)arm_nest_enter(&nest);
        if (nest.hw.reads + nest.hw.writes - before > most_of_entry)
            most_of_entry = nest.hw.reads + nest.hw.writes - before;
        if (i % 50 == 0)
            program_all(0x08, 0xfffffff0);
    }
    assert_compare(most, >=, 3);
    assert_compare(most, <=, COUNTERS + 1u);
    assert_compare(most_of_entry, <=, 80);
    end();
}

static void s18_guests_of_arm_that_alternate_get_the_same(void **state)
{
    (void)state;
    begin(4);
    begin_other();
    for (unsigned i = 0; i < 2; i++) {
        go(i);
        program_all(0x08, 0);
    }
    for (unsigned i = 0; i < 40; i++) {
        go(i & 1u);
        arm_nest_run(&nest, 1, 50);
        assert_int_equal(nest.guests[i & 1u].guest.waiting, 0, i);
    }
    for (unsigned i = 0; i < 2; i++) {
        go(i);
        for (unsigned k = 0; k < FREE; k++)
            assert_int_equal(counter_of_guest(k), 20 * 50, i, k);
        assert_int_equal(read_of("PMCCNTR"), 2 * 20 * 50);
    }
    go(0);
    assert_int_equal(upmu_guest_fini(&nest.guests[1].guest), UPMU_OK);
    end();
}

static void s19_reserved_counters_of_arm_are_not_touched(void **state)
{
    struct upmu_guest_shape shape;

    (void)state;
    policy = policy_of(UPMU_GUEST_ALL);
    assert_int_equal(arm_nest_host_begin(&nest, 4, COUNTERS), UPMU_OK);
    assert_int_equal(upmu_guest_shape_default(&nest.machine, UPMU_GUEST_ARM, &policy, &shape), UPMU_OK);
    assert_int_equal(upmu_cpu_reserve(&nest.cpu, 1u << 3), UPMU_OK);
    nest.hw.type[3] = 0xc000001b;
    nest.hw.value[3] = 0x1234;
    assert_int_equal(arm_nest_guest_begin(&nest, 0, &shape, &policy), UPMU_OK);
    assert_int_equal(arm_nest_session(&nest), UPMU_OK);
    go(0);
    program_all(0x08, 0xfffffff0);
    write_of("PMINTENSET", UINT32_MAX);
    assert_int_not_equal(nest.guests[0].guest.waiting, 0);
    seed = 4711;
    for (unsigned i = 0; i < 3000; i++) {
        act();
        if (i % 100 == 0)
            program_all(0x1b, 0xfffffff0);
        assert_int_equal((nest.hw.enabled | nest.hw.interrupts) >> 3 & 1u, 0, i);
        assert_int_equal(nest.hw.type[3], 0xc000001b, i);
        assert_int_equal(nest.hw.value[3], 0x1234, i);
    }
    end();
}

/* ---- Concurrency, information ---- */

static struct upmu_guest seen; /* the vCPU before the handler */
static unsigned handled;

static void deliver_and_compare(void *context)
{
    struct upmu_guest *guest = &nest.guests[0].guest;

    (void)context;
    seen = *guest;
    (void)upmu_pmi_handle(&nest.cpu, NULL);
    handled++;
    assert_int_not_equal(guest->overflowed, 0);
    seen.overflowed = guest->overflowed;
    assert_memory_equal(&seen, guest, sizeof seen);
}

/* The handler leaves a note and nothing else. */
static void s21_the_handler_of_arm_writes_one_word_of_the_guest(void **state)
{
    (void)state;
    begin(4);
    write_of("PMEVTYPER0", 0x08);
    write_of("PMEVCNTR0", 0xfffffff0);
    write_of("PMINTENSET", 1);
    write_of("PMCNTENSET", 1);
    write_of("PMCR", 0x41);
    handled = 0;
    nest.hw.deliver = deliver_and_compare;
    arm_nest_run(&nest, 1, 100);
    nest.hw.deliver = arm_nest_deliver;
    assert_int_equal(handled, 1);
    assert_int_equal(read_of("PMOVSCLR"), 1);
    assert_int_equal(read_of("PMEVCNTR0"), 100 - 16);
    end();
}

/* A guest that comes after another one begins at its own values, and EL0 of the host reads no counter. */
static void s25_counts_of_a_guest_of_arm_leave_with_it(void **state)
{
    (void)state;
    begin(4);
    begin_other();
    program_all(0x08, 0x5000);
    arm_nest_run(&nest, 1, 777);
    go(1);
    for (unsigned i = 0; i < FREE; i++)
        assert_int_equal(counter_of_guest(i), 0, i);
    program_all(0x1b, 0);
    arm_nest_run(&nest, 1, 30);
    for (unsigned i = 0; i < FREE; i++)
        assert_int_equal(counter_of_guest(i), 30, i);
    assert_int_equal(read_of("PMCCNTR"), 60);
    assert_int_equal(nest.hw.users, 0);
    assert_true(arm_nest_go(&nest, NULL));
    assert_int_equal(upmu_guest_fini(&nest.guests[1].guest), UPMU_OK);
    go(0);
    for (unsigned i = 0; i < FREE; i++)
        assert_int_equal(counter_of_guest(i), 0x5000 + 777, i);
    end();
}

static void s27_an_overflow_flag_of_arm_stays_with_its_guest(void **state)
{
    (void)state;
    begin(4);
    begin_other();
    for (unsigned i = 2; i-- > 0;) {
        go(i);
        program_all(0x08, i ? 0 : 0xfffffff0);
        write_of("PMINTENSET", UINT32_MAX);
    }
    arm_nest_run(&nest, 1, 100);
    assert_true(nest.wired);
    go(1);
    arm_nest_run(&nest, 1, 100);
    assert_false(nest.wired);
    assert_int_equal(read_of("PMOVSSET"), 0);
    assert_int_equal(counter_of_guest(0), 100);
    go(0);
    assert_int_equal(read_of("PMOVSSET"), (1u << FREE) - 1u);
    arm_nest_run(&nest, 1, 1);
    assert_true(nest.wired);
    go(1);
    assert_int_equal(upmu_guest_fini((go(0), &nest.guests[1].guest)), UPMU_OK);
    end();
}

static void s28_the_default_of_arm_is_cycles_and_instructions(void **state)
{
    struct upmu_guest_policy more = {.level = UPMU_GUEST_ARCH};
    struct upmu_guest_shape shape;

    (void)state;
    assert_int_equal(arm_nest_host_begin(&nest, 4, COUNTERS), UPMU_OK);
    assert_int_equal(upmu_guest_shape_default(&nest.machine, UPMU_GUEST_ARM, NULL, &shape), UPMU_OK);
    assert_int_equal(shape.events[0], 0x20101); /* and increments by software */
    assert_int_equal(shape.events[1], 0);
    assert_int_equal(arm_nest_guest_begin(&nest, 0, &shape, &more), UPMU_ERR_NOT_PERMITTED);
    assert_int_equal(arm_nest_guest_begin(&nest, 0, &shape, NULL), UPMU_OK);
    assert_int_equal(arm_nest_session(&nest), UPMU_OK);
    go(0);
    assert_true(counts(0x08) && counts(0x11));
    assert_false(counts(0x1b) || counts(0x21) || counts(0x4004) || counts(0xc1));
    end();
}

/* ---- Integrity ---- */

static void s32_counters_of_arm_open_and_close_by_one_write(void **state)
{
    (void)state;
    begin(6);
    program_all(0x08, 0);
    for (unsigned i = 0; i < 4; i++) {
        unsigned writes = nest.hw.writes, reads = nest.hw.reads;

        arm_nest_exit(&nest);
        assert_compare(nest.hw.writes - writes, <=, 2); /* the guest's counters close, the host's opens */
        assert_int_equal(nest.hw.reads, reads);
        for (unsigned k = 0; k < 32; k++)
            assert_true(!(nest.hw.enabled >> k & 1u) || nest.hw.type[k] & HOST_SELECT);
        writes = nest.hw.writes;
        assert_int_equal(arm_nest_enter(&nest), UPMU_OK);
        assert_compare(nest.hw.writes - writes, <=, 2);
        for (unsigned k = 0; k < 32; k++)
            assert_true(!(nest.hw.enabled >> k & 1u) || !(nest.hw.type[k] & HOST_SELECT));
    }
    end();
}

static void s34_registers_of_the_host_of_arm_are_right_after_exits(void **state)
{
    for (unsigned i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        uint32_t enabled, pmcr, selected;

        (void)state;
        begin(versions[i]);
        arm_nest_exit(&nest);
        enabled = nest.hw.enabled;
        pmcr = nest.hw.pmcr;
        selected = nest.hw.selected;
        seed = 34 + i;
        for (unsigned step = 0; step < 2000; step++) {
            act();
            arm_nest_exit(&nest);
            assert_int_equal(upmu_bits_count(nest.hw.enabled), upmu_bits_count(enabled), step);
            for (unsigned k = 0; k < 32; k++)
                assert_true(!(nest.hw.enabled >> k & 1u) || nest.hw.type[k] & HOST_SELECT);
            assert_int_equal(nest.hw.pmcr, pmcr, step);
            assert_int_equal(nest.hw.selected, selected, step);
            assert_int_equal(nest.hw.users, 0, step);
        }
        end();
    }
}

static unsigned side_writes;

static bool write_and_look(void *context, uint32_t reg, uint64_t value)
{
    bool counter = reg >= ARM_REG(3, 3, 14, 8, 0) && reg <= ARM_REG(3, 3, 14, 15, 7);
    static const uint32_t others[] = {ARM_REG(3, 3, 9, 12, 0), ARM_REG(3, 3, 9, 12, 1), ARM_REG(3, 3, 9, 12, 2),
                                      ARM_REG(3, 3, 9, 12, 3), ARM_REG(3, 0, 9, 14, 1), ARM_REG(3, 0, 9, 14, 2),
                                      ARM_REG(3, 3, 9, 13, 0)};

    for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++)
        counter |= reg == others[i];
    side_writes += !counter;
    return arm_nest_wrmsr(context, reg, value);
}

/* Counters, their selects and masks, and PMCR are written, and no other register: not PMUSERENR, PMSELR or PMSWINC. */
static void s35_side_registers_of_arm_are_not_written(void **state)
{
    unsigned writes;

    (void)state;
    begin(6);
    side_writes = 0;
    nest.port.wrmsr = write_and_look;
    writes = nest.hw.writes;
    seed = 35;
    for (unsigned i = 0; i < 4000; i++)
        act();
    assert_compare(nest.hw.writes - writes, >, 1000);
    assert_int_equal(side_writes, 0);
    end();
}

/* ---- Migration ---- */

static void s38_a_state_of_arm_has_its_version_and_its_length(void **state)
{
    struct upmu_guest *guest = &nest.guests[0].guest;
    struct guest_state good, bytes;
    static struct upmu_guest before;
    size_t used;

    (void)state;
    begin(6);
    arm_nest_exit(&nest);
    memset(&good, 0, sizeof good);
    assert_int_equal(upmu_guest_save(guest, &good, sizeof good, &used), UPMU_OK);
    before = *guest;
    for (size_t size = 0; size <= sizeof bytes; size++) {
        bytes = good;
        bytes.checksum = state_checksum(&bytes, size >= 16 ? size : used);
        assert_int_equal(upmu_guest_restore(guest, &bytes, size), size == used ? UPMU_OK : UPMU_ERR_INVALID, size);
        *guest = before;
    }
    for (unsigned bit = 0; bit < 16; bit++) {
        bytes = good;
        ((uint8_t *)&bytes)[4 + bit / 8] ^= (uint8_t)(1u << bit % 8);
        bytes.checksum = state_checksum(&bytes, used);
        assert_int_equal(upmu_guest_restore(guest, &bytes, used), UPMU_ERR_VERSION, bit);
        assert_memory_equal(&before, guest, sizeof before);
    }
    end();
}

/* One overflow; the guest is saved and goes on elsewhere before, at and after it. */
static void s40_an_overflow_of_arm_is_kept_wherever_the_guest_is_saved(void **state)
{
    (void)state;
    for (unsigned cut = 0; cut < 6; cut++) {
        uint8_t bytes[UPMU_GUEST_STATE_BYTES];
        size_t used = 0;

        begin(4);
        write_of("PMEVTYPER0", 0x08);
        write_of("PMEVCNTR0", 0xffffffff - 49);
        write_of("PMINTENSET", 1);
        write_of("PMCNTENSET", 1);
        write_of("PMCR", 0x41);
        for (unsigned i = 0; i < 6; i++) {
            if (i == cut) {
                arm_nest_exit(&nest);
                assert_int_equal(upmu_guest_save(&nest.guests[0].guest, bytes, sizeof bytes, &used), UPMU_OK);
                end();
                begin(4);
                arm_nest_exit(&nest);
                assert_int_equal(upmu_guest_restore(&nest.guests[0].guest, bytes, used), UPMU_OK);
            }
            arm_nest_run(&nest, 1, 20);
            assert_int_equal(nest.wired, i >= 2, cut, i);
        }
        assert_int_equal(read_of("PMOVSCLR"), 1, cut);
        assert_int_equal(read_of("PMEVCNTR0"), 120 - 50, cut);
        write_of("PMOVSCLR", 1);
        arm_nest_run(&nest, 1, 20);
        assert_false(nest.wired);
        end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(s04_each_bit_of_a_register_of_arm_is_as_on_the_cpu),
        cmocka_unit_test(s07_selects_of_arm_hold_what_a_guest_may_choose),
        cmocka_unit_test(s09_profiling_and_traces_of_arm_are_never_there),
        cmocka_unit_test(s11_a_vcpu_of_arm_ends_in_every_state),
        cmocka_unit_test(s15_a_guest_of_arm_has_the_sessions_that_it_was_given),
        cmocka_unit_test(s17_the_work_of_a_trap_of_arm_is_bounded),
        cmocka_unit_test(s18_guests_of_arm_that_alternate_get_the_same),
        cmocka_unit_test(s19_reserved_counters_of_arm_are_not_touched),
        cmocka_unit_test(s21_the_handler_of_arm_writes_one_word_of_the_guest),
        cmocka_unit_test(s25_counts_of_a_guest_of_arm_leave_with_it),
        cmocka_unit_test(s27_an_overflow_flag_of_arm_stays_with_its_guest),
        cmocka_unit_test(s28_the_default_of_arm_is_cycles_and_instructions),
        cmocka_unit_test(s32_counters_of_arm_open_and_close_by_one_write),
        cmocka_unit_test(s34_registers_of_the_host_of_arm_are_right_after_exits),
        cmocka_unit_test(s35_side_registers_of_arm_are_not_written),
        cmocka_unit_test(s38_a_state_of_arm_has_its_version_and_its_length),
        cmocka_unit_test(s40_an_overflow_of_arm_is_kept_wherever_the_guest_is_saved),
    };

    return cmocka_run_group_tests_name("guest_arm_security", tests, NULL, NULL);
}
