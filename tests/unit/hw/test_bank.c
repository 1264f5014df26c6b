/* SPDX-License-Identifier: MIT */
/*
 * The writer of registers on a small register file of its own, with the NetBurst
 * table and with Intel's tables with and without global control.
 *
 * The register file fails the test if a running counter is written, or if a
 * select register changes while its counter runs.
 */
#define _GNU_SOURCE /* sigaction, REG_EFL */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tests/common/assertions.h"

#include "backends/x86_core/x86_core.h"
#include "backends/x86_core/x86_core_registers.h"
#include "backends/x86_p4/p4_registers.h"
#include "core/hw/backend.h"
#include "core/hw/bank.h"
#include "core/util/bits.h"
#include "core/hw/register.h"
#include <upmu/upmu.h>
#include "tests/common/garbage.h"
#include "tests/common/state.h"

/* ---- A register file ---- */

#define TRACE 128

struct trace_entry {
    uint32_t address;
    uint64_t value;
};

struct space {
    struct upmu_pmu pmu;
    struct upmu_port port;
    struct upmu_bank bank;
    uint64_t registers[UPMU_BANK_WORDS(UPMU_REGISTERS)];
    uint64_t value[UPMU_REGISTERS];
    struct trace_entry written[TRACE];
    unsigned writes, reads, rdpmcs;
    unsigned accesses, fault_at; /* this access faults; 0: none */
    uint32_t faulted;            /* address of it */
    bool rdpmc_faults;
    bool checks_off;
    /* A handler at each write: before and after it. */
    void (*handler)(struct space *space);
    bool in_handler;
};

static bool faults(struct space *space, uint32_t address)
{
    if (++space->accesses != space->fault_at)
        return false;
    space->faulted = address;
    return true;
}

static unsigned find_row(const struct space *space, uint32_t address)
{
    unsigned row = upmu_register_find(&space->pmu, address);

    if (row == UPMU_NO_ROW)
        fail_msg("no register %x", (unsigned)address);
    return row;
}

/* Where a register's value is: aliases of a counter are the counter. */
static uint64_t *storage(struct space *space, unsigned row)
{
    for (uint32_t rest = space->pmu.counters; rest; rest &= rest - 1u) {
        const struct upmu_counter *counter = &space->pmu.counter[upmu_bits_lowest(rest)];

        if (row == counter->value_row || row == counter->write_row)
            return &space->value[counter->value_row];
    }
    return &space->value[row];
}

static bool gate_open(struct space *space, unsigned n)
{
    const struct upmu_counter *counter = &space->pmu.counter[n];

    return space->value[counter->gate_row] >> counter->gate_bit & 1u;
}

static void check_write(struct space *space, unsigned row, uint64_t value)
{
    const struct upmu_pmu *pmu = &space->pmu;
    uint64_t gates = upmu_register_class_of(pmu, row)->gates;

    if (space->checks_off)
        return;
    for (uint32_t rest = pmu->counters; rest; rest &= rest - 1u) {
        unsigned n = upmu_bits_lowest(rest);
        const struct upmu_counter *counter = &pmu->counter[n];

        if (!gate_open(space, n))
            continue;
        if (row == counter->value_row || row == counter->write_row)
            fail_msg("counter %u written while it runs", n);
        if (row != counter->select_row || upmu_register_class_of(pmu, row)->kind != UPMU_KIND_SELECT)
            continue;
        if ((value & gates) && ((value ^ space->value[row]) & ~gates & ~upmu_register_class_of(pmu, row)->hardware))
            fail_msg("select of counter %u changed while it runs", n);
        if (!gates && value != space->value[row])
            fail_msg("select of counter %u changed while it runs", n);
    }
}

static uint64_t as_stored(const struct space *space, unsigned row, uint64_t value)
{
    uint8_t n = space->pmu.table->rows[row].counter;
    const struct upmu_counter *counter = n < UPMU_COUNTERS ? &space->pmu.counter[n] : NULL;

    if (counter && row == counter->value_row) {
        if (counter->write_bits < counter->width && (value >> (counter->write_bits - 1u) & 1u))
            value |= ~upmu_bits_ones(counter->write_bits);
        return value & upmu_bits_ones(counter->width);
    }
    return value & upmu_register_bits(&space->pmu, row);
}

static bool space_rdmsr(void *context, uint32_t address, uint64_t *out_value)
{
    struct space *space = context;
    unsigned row = find_row(space, address);

    space->reads++;
    if (faults(space, address))
        return garbage(out_value);
    *out_value = upmu_register_class_of(&space->pmu, row)->access == UPMU_ACCESS_W1C ? 0 : *storage(space, row);
    return true;
}

static void handle(struct space *space)
{
    if (!space->handler || space->in_handler)
        return;
    space->in_handler = true;
    space->handler(space);
    space->in_handler = false;
}

static bool space_wrmsr(void *context, uint32_t address, uint64_t value)
{
    struct space *space = context;
    unsigned row = find_row(space, address);

    handle(space);
    assert_int_not_equal(upmu_register_class_of(&space->pmu, row)->access, UPMU_ACCESS_RO);
    if (!space->in_handler && space->writes < TRACE)
        space->written[space->writes++] = (struct trace_entry){address, value};
    if (faults(space, address))
        return false;
    check_write(space, row, value);
    *storage(space, row) = as_stored(space, row, value);
    handle(space);
    return true;
}

static bool space_rdpmc(void *context, uint32_t index, uint64_t *out_value)
{
    struct space *space = context;

    space->rdpmcs++;
    if (space->rdpmc_faults)
        return garbage(out_value);
    for (uint32_t rest = space->pmu.counters; rest; rest &= rest - 1u) {
        const struct upmu_counter *counter = &space->pmu.counter[upmu_bits_lowest(rest)];

        if (counter->rdpmc != index)
            continue;
        *out_value = space->value[counter->value_row];
        return true;
    }
    return garbage(out_value);
}

static void space_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    (void)context;
    (void)leaf;
    (void)subleaf;
    memset(out, 0, 4 * sizeof out[0]);
}

/* Tables by the name of a PMU that has it. */
#define NETBURST "p4"
#define GLOBAL "skl"
#define GLOBAL_SHORT_WRITES "nhm"
#define SINGLE "core" /* with the registers of version 1 */
static const char *const tables[] = {NETBURST, GLOBAL, GLOBAL_SHORT_WRITES, SINGLE};
static void version1_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    (void)context, (void)subleaf;
    memset(out, 0, 4 * sizeof out[0]);
    if (leaf == 0xa)
        out[0] = 0x07280201;
}

#define TABLES (sizeof tables / sizeof tables[0])

/* No model is known that has it. */
static void make_version1(struct upmu_pmu *pmu)
{
    struct upmu_detection detection = {.cpuid = version1_cpuid, .leaf0 = {0xa, 0x756e6547, 0x6c65746e, 0x49656e69}};

    detection.family = 6;
    detection.model = 15;
    assert_true(upmu_x86_core_detect(&detection, pmu));
    pmu->backend = &upmu_x86_core_backend;
}

static void begin(struct space *space, const char *name)
{
    memset(space, 0, sizeof *space);
    if (!strcmp(name, NETBURST))
        upmu_p4_describe_table(&space->pmu, 4);
    else
        assert_int_equal(upmu_pmu_by_name(&space->pmu, name), UPMU_OK);
    if (!strcmp(name, SINGLE))
        make_version1(&space->pmu);
    space->port = (struct upmu_port){
        .context = space, .rdmsr = space_rdmsr, .wrmsr = space_wrmsr, .cpuid = space_cpuid, .rdpmc = space_rdpmc};
    upmu_bank_init(&space->bank, &space->pmu, &space->port, true, space->registers);
}

/* As after take-over: found, nothing runs. */
static void take_over(struct space *space, const char *name)
{
    begin(space, name);
    assert_true(upmu_bank_find(&space->bank));
    space->reads = 0;
    memset(&space->bank.accesses, 0, sizeof space->bank.accesses);
}

static void forget_trace(struct space *space)
{
    space->writes = 0;
    space->reads = 0;
    space->rdpmcs = 0;
    space->accesses = 0;
    memset(&space->bank.accesses, 0, sizeof space->bank.accesses);
}

static void expect_writes(struct space *space, const uint32_t *addresses, unsigned count)
{
    for (unsigned i = 0; i < count && i < space->writes; i++)
        if (space->written[i].address != addresses[i])
            fail_msg("write %u went to %x, not to %x", i, (unsigned)space->written[i].address, (unsigned)addresses[i]);
    assert_int_equal(space->writes, count);
    assert_int_equal(space->bank.accesses.writes, count);
}

#define EXPECT_WRITES(space, ...)                                                                                      \
    do {                                                                                                               \
        static const uint32_t expected[] = {__VA_ARGS__};                                                              \
        expect_writes((space), expected, (unsigned)(sizeof expected / sizeof expected[0]));                            \
    } while (0)

static void expect_no_writes(struct space *space)
{
    assert_int_equal(space->writes, 0);
    assert_int_equal(space->bank.accesses.writes, 0);
}

/* ---- Images ---- */

#define CCCR_CONFIG (~(UPMU_P4_CCCR_OVF | UPMU_P4_CCCR_ENABLE))

/* Entries against the order they must be written in: event on counter n of NetBurst with an ESCR and replay tags. */
static void add_p4(struct upmu_image *image, unsigned n, unsigned escr, uint64_t select, uint64_t tags)
{
    uint32_t guard = UPMU_BIT32(n);

    upmu_image_add(image, UPMU_P4_ROW_CCCR + n, CCCR_CONFIG, UINT64_C(0x30000) | select << 13, guard);
    if (tags) {
        upmu_image_add(image, UPMU_P4_ROW_PEBS_ENABLE, UPMU_P4_PEBS_TAGS, (UINT64_C(1) << 24) | tags, guard);
        upmu_image_add(image, UPMU_P4_ROW_MATRIX_VERT, ~UINT64_C(0), tags & 3u, guard);
    }
    upmu_image_add(image, UPMU_P4_ROW_ESCR + escr, ~UINT64_C(0), UINT64_C(0x0400020c) + select, guard);
}

/* Event on general counter n of an Intel PMU. */
static void add_general(struct upmu_image *image, unsigned n, uint64_t code)
{
    upmu_image_add(image, UPMU_X86_ROW_SELECT + n, ~UINT64_C(0),
                   code | UPMU_X86_SELECT_OS | UPMU_X86_SELECT_USR | UPMU_X86_SELECT_EN, UPMU_BIT32(n));
}

static void add_fixed(struct upmu_image *image, unsigned i, uint64_t nibble)
{
    upmu_image_add(image, UPMU_X86_ROW_FIXED_CTRL, UINT64_C(0xf) << 4 * i, nibble << 4 * i,
                   UPMU_BIT32(UPMU_FIXED_COUNTER(i)));
}

/* An event on counter n of any table; `event` 1 to 7. */
static void add_any(const struct space *space, struct upmu_image *image, unsigned n, unsigned event)
{
    if (space->pmu.table == &upmu_p4_table)
        add_p4(image, n, n, event, 0);
    else
        add_general(image, n, 0x30u + event);
}

static bool load(struct upmu_bank *bank, const struct upmu_image *image, uint32_t opening, uint32_t *out_changed)
{
    *out_changed = upmu_bank_changes(bank, image->step, image->count);
    return upmu_bank_load(bank, image->step, image->count, opening, 0);
}

static bool run_event(struct space *space, unsigned n, unsigned event)
{
    struct upmu_step steps[UPMU_IMAGE_STEPS];
    struct upmu_image image = {.pmu = &space->pmu, .step = steps, .room = UPMU_IMAGE_STEPS};
    uint32_t changed;

    add_any(space, &image, n, event);
    if (!load(&space->bank, &image, UPMU_BIT32(n), &changed))
        return false;
    if (space->bank.dry)
        upmu_bank_list(&space->bank, n, event);
    return (space->bank.dry || upmu_bank_write(&space->bank, n, event)) &&
           upmu_bank_gate(&space->bank, UPMU_BIT32(n), 0);
}

/* ---- Order ---- */

static void netburst_starts_with_escr_matrix_tags_counter_and_cccr_last(void **state)
{
    struct space space;
    struct upmu_step steps[UPMU_IMAGE_STEPS];
    struct upmu_image image = {.pmu = &space.pmu, .step = steps, .room = UPMU_IMAGE_STEPS};
    uint32_t changed;

    (void)state;
    take_over(&space, NETBURST);
    add_p4(&image, 12, 41, 5, 2); /* CRU_ESCR2, IQ_CCCR0 */
    assert_true(load(&space.bank, &image, UPMU_BIT32(12), &changed));
    assert_int_equal(changed, UPMU_BIT32(12));
    assert_true(upmu_bank_write(&space.bank, 12, UINT64_C(0xffffffff00)));
    assert_true(upmu_bank_gate(&space.bank, UPMU_BIT32(12), 0));
    EXPECT_WRITES(&space, 0x3CC, 0x3F2, 0x3F1, 0x30C, 0x36C);
    assert_int_equal(space.value[UPMU_P4_ROW_CCCR + 12], UINT64_C(0x3b000));
    assert_int_equal(space.value[UPMU_P4_ROW_COUNTER + 12], UINT64_C(0xffffffff00));
}

static void netburst_loads_without_opening_and_then_opens_with_one_write(void **state)
{
    struct space space;
    struct upmu_step steps[UPMU_IMAGE_STEPS];
    struct upmu_image image = {.pmu = &space.pmu, .step = steps, .room = UPMU_IMAGE_STEPS};
    uint32_t changed;

    (void)state;
    take_over(&space, NETBURST);
    add_p4(&image, 0, 0, 7, 0);
    assert_true(load(&space.bank, &image, 0, &changed));
    EXPECT_WRITES(&space, 0x3A0, 0x360);
    assert_int_equal(space.value[UPMU_P4_ROW_CCCR], UINT64_C(0x3e000));
    forget_trace(&space);
    assert_true(load(&space.bank, &image, UPMU_BIT32(0), &changed));
    assert_true(upmu_bank_gate(&space.bank, UPMU_BIT32(0), 0));
    EXPECT_WRITES(&space, 0x360);
    assert_int_equal(space.value[UPMU_P4_ROW_CCCR], UINT64_C(0x3f000));
}

/* CCCR closed, ESCR, CCCR opened: 3 writes. */
static void netburst_changes_a_running_counter_in_three_writes(void **state)
{
    struct space space;
    struct upmu_step steps[UPMU_IMAGE_STEPS];
    struct upmu_image image = {.pmu = &space.pmu, .step = steps, .room = UPMU_IMAGE_STEPS};
    uint32_t changed;

    (void)state;
    take_over(&space, NETBURST);
    assert_true(run_event(&space, 4, 1));
    forget_trace(&space);
    add_p4(&image, 4, 4, 2, 0);
    assert_true(load(&space.bank, &image, UPMU_BIT32(4), &changed));
    assert_true(upmu_bank_gate(&space.bank, UPMU_BIT32(4), 0));
    EXPECT_WRITES(&space, 0x364, 0x3A4, 0x364);
    assert_int_equal(space.written[0].value, UINT64_C(0x32000)); /* the old event, closed */
    assert_int_equal(space.written[2].value, UINT64_C(0x35000));
    assert_int_equal(space.reads, 0);
}

static void netburst_gives_up_cccr_escr_tags_matrix(void **state)
{
    struct space space;
    struct upmu_step steps[UPMU_IMAGE_STEPS];
    struct upmu_image image = {.pmu = &space.pmu, .step = steps, .room = UPMU_IMAGE_STEPS};
    uint32_t changed;

    (void)state;
    take_over(&space, NETBURST);
    add_p4(&image, 12, 41, 5, 3);
    assert_true(load(&space.bank, &image, UPMU_BIT32(12), &changed));
    assert_true(upmu_bank_gate(&space.bank, UPMU_BIT32(12), 0));
    forget_trace(&space);
    image.count = 0;
    image.released = true;
    upmu_image_add(&image, UPMU_P4_ROW_MATRIX_VERT, ~UINT64_C(0), 0, UPMU_BIT32(12));
    upmu_image_add(&image, UPMU_P4_ROW_PEBS_ENABLE, UPMU_P4_PEBS_TAGS, 0, UPMU_BIT32(12));
    upmu_image_add(&image, UPMU_P4_ROW_ESCR + 41, ~UINT64_C(0), 0, UPMU_BIT32(12));
    upmu_image_add(&image, UPMU_P4_ROW_CCCR + 12, CCCR_CONFIG, 0, UPMU_BIT32(12));
    assert_true(load(&space.bank, &image, 0, &changed));
    EXPECT_WRITES(&space, 0x36C, 0x36C, 0x3CC, 0x3F1, 0x3F2);
    assert_int_equal(space.written[0].value, UINT64_C(0x3a000));
    assert_int_equal(space.value[UPMU_P4_ROW_CCCR + 12], 0);
}

static void global_table_closes_loads_payload_selects_fixed_and_opens(void **state)
{
    struct space space;
    struct upmu_step steps[UPMU_IMAGE_STEPS];
    struct upmu_image image = {.pmu = &space.pmu, .step = steps, .room = UPMU_IMAGE_STEPS};
    uint32_t changed, counters = UPMU_BIT32(1) | UPMU_BIT32(UPMU_FIXED_COUNTER(0));

    (void)state;
    take_over(&space, GLOBAL);
    assert_true(upmu_bank_gate(&space.bank, counters | UPMU_BIT32(0), 0));
    forget_trace(&space);
    add_fixed(&image, 0, 3);
    add_general(&image, 1, 0x1b7);
    upmu_image_add(&image, UPMU_X86_ROW_OFFCORE, ~UINT64_C(0), 0x10001, UPMU_BIT32(1));
    assert_true(load(&space.bank, &image, counters, &changed));
    assert_int_equal(changed, counters);
    assert_true(upmu_bank_gate(&space.bank, counters, 0));
    EXPECT_WRITES(&space, 0x38F, 0x1A6, 0x187, 0x38D, 0x38F);
    /* Counter 0, which the image does not concern, ran on. */
    assert_int_equal(space.written[0].value, 1);
    assert_int_equal(space.written[4].value, UINT64_C(0x100000003));
}

static void global_table_gives_up_selects_before_payloads(void **state)
{
    struct space space;
    struct upmu_step steps[UPMU_IMAGE_STEPS];
    struct upmu_image image = {.pmu = &space.pmu, .step = steps, .room = UPMU_IMAGE_STEPS};
    uint32_t changed;

    (void)state;
    take_over(&space, GLOBAL);
    add_general(&image, 1, 0x1b7);
    upmu_image_add(&image, UPMU_X86_ROW_OFFCORE, ~UINT64_C(0), 0x10001, UPMU_BIT32(1));
    assert_true(load(&space.bank, &image, 0, &changed));
    forget_trace(&space);
    image.count = 0;
    image.released = true;
    upmu_image_add(&image, UPMU_X86_ROW_OFFCORE, ~UINT64_C(0), 0, UPMU_BIT32(1));
    upmu_image_add(&image, UPMU_X86_ROW_SELECT + 1, ~UINT64_C(0), 0, UPMU_BIT32(1));
    assert_true(load(&space.bank, &image, 0, &changed));
    EXPECT_WRITES(&space, 0x187, 0x1A6);
}

static void a_select_that_gates_itself_is_closed_idle_and_written_once(void **state)
{
    struct space space;
    struct upmu_step steps[UPMU_IMAGE_STEPS];
    struct upmu_image image = {.pmu = &space.pmu, .step = steps, .room = UPMU_IMAGE_STEPS};
    uint32_t changed;

    (void)state;
    take_over(&space, SINGLE);
    assert_true(run_event(&space, 0, 1));
    EXPECT_WRITES(&space, 0xC1, 0x186);
    forget_trace(&space);
    add_general(&image, 0, 0x3c);
    assert_true(load(&space.bank, &image, UPMU_BIT32(0), &changed));
    assert_true(upmu_bank_gate(&space.bank, UPMU_BIT32(0), 0));
    EXPECT_WRITES(&space, 0x186, 0x186);
    assert_int_equal(space.written[0].value, UINT64_C(0x30031));
    assert_int_equal(space.written[1].value, UINT64_C(0x43003c));
}

/* What the shadow holds for the next opening must reach the register if the opening never comes. */
static void a_select_put_off_is_written_if_its_counter_closes_instead(void **state)
{
    (void)state;
    for (unsigned t = 0; t < TABLES; t++) {
        struct space space;
        struct upmu_step steps[UPMU_IMAGE_STEPS];
        struct upmu_image image = {.pmu = &space.pmu, .step = steps, .room = UPMU_IMAGE_STEPS};
        uint32_t changed;
        unsigned row;
        bool fault;

        take_over(&space, tables[t]);
        row = space.pmu.counter[0].select_row;
        add_any(&space, &image, 0, 3);
        assert_true(load(&space.bank, &image, UPMU_BIT32(0), &changed));
        assert_int_equal(upmu_bank_verify(&space.bank, &fault), UPMU_NO_ROW);
        assert_true(upmu_bank_gate(&space.bank, 0, UPMU_BIT32(0)));
        assert_int_equal(space.value[row], space.bank.shadow[row], row);
        assert_int_not_equal(space.value[row], 0, row);
        assert_false(gate_open(&space, 0));
        assert_int_equal(upmu_bank_verify(&space.bank, &fault), UPMU_NO_ROW);
    }
}

static void closing_what_is_known_to_be_closed_costs_nothing(void **state)
{
    (void)state;
    for (unsigned t = 0; t < TABLES; t++) {
        struct space space;
        struct upmu_step steps[UPMU_IMAGE_STEPS];
        struct upmu_image image = {.pmu = &space.pmu, .step = steps, .room = UPMU_IMAGE_STEPS};
        uint32_t changed;

        take_over(&space, tables[t]);
        add_any(&space, &image, 0, 3);
        assert_true(load(&space.bank, &image, UPMU_BIT32(0), &changed));
        forget_trace(&space);
        assert_true(upmu_bank_close(&space.bank, UPMU_BIT32(0)));
        expect_no_writes(&space);
        assert_true(upmu_bank_gate(&space.bank, UPMU_BIT32(0), 0));
        assert_true(upmu_bank_close(&space.bank, UPMU_BIT32(0)));
        assert_int_equal(space.writes, 2);
        assert_false(gate_open(&space, 0));
        /* Unknown: it is read, and closed if need be. */
        space.value[space.pmu.counter[0].gate_row] |= UPMU_BIT64(space.pmu.counter[0].gate_bit);
        upmu_bank_forget(&space.bank);
        assert_true(upmu_bank_close(&space.bank, UPMU_BIT32(0)));
        assert_false(gate_open(&space, 0));
        assert_int_equal(space.reads, 1);
    }
}

static void one_write_gates_all_counters_of_a_register(void **state)
{
    struct space space;

    (void)state;
    take_over(&space, GLOBAL);
    assert_true(upmu_bank_gate(&space.bank, UINT32_C(0x7000f), 0));
    assert_true(upmu_bank_gate(&space.bank, 0, UINT32_C(0x7000f)));
    EXPECT_WRITES(&space, 0x38F, 0x38F);
    assert_int_equal(space.written[0].value, UINT64_C(0x70000000f));
    assert_int_equal(space.written[1].value, 0);
}

static void closing_netburst_keeps_configuration_opening_is_one_write(void **state)
{
    struct space space;

    (void)state;
    take_over(&space, NETBURST);
    assert_true(run_event(&space, 17, 4));
    forget_trace(&space);
    space.value[UPMU_P4_ROW_CCCR + 17] |= UPMU_P4_CCCR_OVF;
    assert_true(upmu_bank_gate(&space.bank, 0, UPMU_BIT32(17)));
    assert_int_equal(space.value[UPMU_P4_ROW_CCCR + 17], UINT64_C(0x38000));
    assert_true(upmu_bank_gate(&space.bank, UPMU_BIT32(17), 0));
    assert_int_equal(space.value[UPMU_P4_ROW_CCCR + 17], UINT64_C(0x39000));
    EXPECT_WRITES(&space, 0x371, 0x371);
    assert_int_equal(space.reads, 0);
}

/* ---- Bits of others, unknown registers ---- */

static void bits_of_other_counters_stay(void **state)
{
    struct space space;
    struct upmu_step steps[UPMU_IMAGE_STEPS];
    struct upmu_image image = {.pmu = &space.pmu, .step = steps, .room = UPMU_IMAGE_STEPS};
    uint32_t changed;

    (void)state;
    begin(&space, GLOBAL);
    space.value[UPMU_X86_ROW_FIXED_CTRL] = 0x0b0; /* the firmware's */
    space.value[UPMU_X86_ROW_GLOBAL_CTRL] = UINT64_C(0x200000001);
    assert_true(upmu_bank_find(&space.bank));
    add_fixed(&image, 0, 2);
    add_fixed(&image, 2, 1);
    assert_true(load(&space.bank, &image, 0, &changed));
    assert_true(upmu_bank_gate(&space.bank, UPMU_BIT32(UPMU_FIXED_COUNTER(0)) | UPMU_BIT32(2), 0));
    assert_int_equal(space.value[UPMU_X86_ROW_FIXED_CTRL], 0x1b2);
    assert_int_equal(space.value[UPMU_X86_ROW_GLOBAL_CTRL], UINT64_C(0x300000005));
    EXPECT_WRITES(&space, 0x38D, 0x38F);
}

static void bits_that_are_not_ours_are_read_and_kept_at_every_write(void **state)
{
    struct space space;
    struct upmu_step steps[UPMU_IMAGE_STEPS];
    struct upmu_image image = {.pmu = &space.pmu, .step = steps, .room = UPMU_IMAGE_STEPS};
    uint32_t changed;

    (void)state;
    begin(&space, GLOBAL);
    space.value[UPMU_X86_ROW_DEBUGCTL] = 0x1801;
    assert_true(upmu_bank_find(&space.bank));
    upmu_image_add(&image, UPMU_X86_ROW_DEBUGCTL, ~UINT64_C(0), 0, 0);
    space.value[UPMU_X86_ROW_DEBUGCTL] = 0x1803; /* the host turns on single-stepping on branches */
    assert_true(load(&space.bank, &image, 0, &changed));
    assert_int_equal(space.value[UPMU_X86_ROW_DEBUGCTL], 3);
    space.value[UPMU_X86_ROW_DEBUGCTL] = 2;
    assert_true(upmu_bank_restore(&space.bank, 0));
    assert_int_equal(space.value[UPMU_X86_ROW_DEBUGCTL], 0x1802);

    begin(&space, NETBURST);
    space.value[UPMU_P4_ROW_PEBS_ENABLE] = UINT64_C(1) << 25;
    assert_true(upmu_bank_find(&space.bank));
    image.count = 0;
    upmu_image_add(&image, UPMU_P4_ROW_PEBS_ENABLE, ~UINT64_C(0), (UINT64_C(1) << 24) | (UINT64_C(1) << 26) | 1u, 0);
    assert_true(load(&space.bank, &image, 0, &changed));
    assert_int_equal(space.value[UPMU_P4_ROW_PEBS_ENABLE], (UINT64_C(3) << 24) | 1u);
}

static void unknown_registers_are_read_before_part_of_them_changes(void **state)
{
    struct space space;

    (void)state;
    take_over(&space, GLOBAL);
    upmu_bank_forget(&space.bank);
    space.value[UPMU_X86_ROW_GLOBAL_CTRL] = UINT64_C(0x100000000);
    assert_true(upmu_bank_gate(&space.bank, UPMU_BIT32(3), 0));
    assert_int_equal(space.bank.accesses.reads, 1);
    assert_int_equal(space.value[UPMU_X86_ROW_GLOBAL_CTRL], UINT64_C(0x100000008));
    assert_true(upmu_bank_gate(&space.bank, UPMU_BIT32(1), 0));
    assert_int_equal(space.bank.accesses.reads, 1);
}

static void a_counter_that_may_run_is_closed_before_its_unknown_select(void **state)
{
    (void)state;
    for (unsigned t = 0; t < TABLES; t++) {
        struct space space;
        struct upmu_step steps[UPMU_IMAGE_STEPS];
        struct upmu_image image = {.pmu = &space.pmu, .step = steps, .room = UPMU_IMAGE_STEPS};
        uint32_t changed;

        take_over(&space, tables[t]);
        assert_true(run_event(&space, 1, 2));
        upmu_bank_forget(&space.bank);
        add_any(&space, &image, 1, 5);
        assert_true(load(&space.bank, &image, 0, &changed)); /* the register file checks */
        assert_false(gate_open(&space, 1));
        assert_int_equal(upmu_bank_open(&space.bank, UPMU_BIT32(1)), 0);
    }
}

static void unpromised_registers_are_left_alone_where_faults_are_unsafe(void **state)
{
    struct space space;
    struct upmu_step steps[UPMU_IMAGE_STEPS];
    struct upmu_image image = {.pmu = &space.pmu, .step = steps, .room = UPMU_IMAGE_STEPS};
    uint32_t changed;

    (void)state;
    take_over(&space, GLOBAL);
    upmu_bank_init(&space.bank, &space.pmu, &space.port, false, space.registers);
    assert_true(upmu_bank_find(&space.bank));
    forget_trace(&space);
    add_general(&image, 1, 0x1b7);
    upmu_image_add(&image, UPMU_X86_ROW_OFFCORE, ~UINT64_C(0), 0x10001, UPMU_BIT32(1));
    assert_false(load(&space.bank, &image, 0, &changed));
    assert_int_equal(space.bank.faulted, 0x1A6);
    assert_int_equal(space.writes + space.reads, 0);
}

/* ---- Flags of the hardware ---- */

static void an_overflow_flag_that_was_read_is_never_written_back(void **state)
{
    struct space space;
    struct upmu_step steps[UPMU_IMAGE_STEPS];
    struct upmu_image image = {.pmu = &space.pmu, .step = steps, .room = UPMU_IMAGE_STEPS};
    uint32_t changed;

    (void)state;
    begin(&space, NETBURST);
    for (unsigned n = 0; n < UPMU_P4_COUNTERS; n++)
        space.value[UPMU_P4_ROW_CCCR + n] = UPMU_P4_CCCR_OVF | UPMU_P4_CCCR_OVF_PMI_T0 | 0x3b000;
    assert_true(upmu_bank_find(&space.bank));
    add_p4(&image, 3, 3, 2, 0);
    assert_true(load(&space.bank, &image, UPMU_BIT32(3), &changed));
    assert_true(upmu_bank_gate(&space.bank, UPMU_BIT32(3), UPMU_BIT32(5)));
    upmu_bank_forget(&space.bank);
    assert_true(upmu_bank_gate(&space.bank, 0, UINT32_C(0x3ffff)));
    assert_true(upmu_bank_restore(&space.bank, 0));
    assert_compare(space.writes, >=, 2 * UPMU_P4_COUNTERS);
    for (unsigned i = 0; i < space.writes; i++)
        if (space.written[i].address >= 0x360 && space.written[i].address <= 0x371)
            assert_int_equal(space.written[i].value & UPMU_P4_CCCR_OVF, 0, i);
    for (unsigned n = 0; n < UPMU_P4_COUNTERS; n++)
        assert_int_equal(space.value[UPMU_P4_ROW_CCCR + n], UPMU_P4_CCCR_OVF_PMI_T0 | 0x3b000, n);
}

static void flags_that_are_asked_for_are_written_each_time(void **state)
{
    struct space space;
    struct upmu_step steps[UPMU_IMAGE_STEPS];
    struct upmu_image image = {.pmu = &space.pmu, .step = steps, .room = UPMU_IMAGE_STEPS};
    uint32_t changed;

    (void)state;
    take_over(&space, NETBURST);
    assert_true(run_event(&space, 2, 1));
    assert_true(upmu_bank_gate(&space.bank, 0, UPMU_BIT32(2)));
    upmu_image_add(&image, UPMU_P4_ROW_CCCR + 2, UPMU_P4_CCCR_OVF, 0, UPMU_BIT32(2));
    for (unsigned i = 0; i < 3; i++) {
        forget_trace(&space);
        space.value[UPMU_P4_ROW_CCCR + 2] |= UPMU_P4_CCCR_OVF;
        assert_true(load(&space.bank, &image, 0, &changed));
        EXPECT_WRITES(&space, 0x362);
        assert_int_equal(space.value[UPMU_P4_ROW_CCCR + 2], 0x32000);
    }
    steps[0].value = UPMU_P4_CCCR_OVF >> steps[0].shift;
    assert_true(load(&space.bank, &image, 0, &changed));
    assert_int_equal(space.value[UPMU_P4_ROW_CCCR + 2], UPMU_P4_CCCR_OVF | 0x32000);
    assert_true(upmu_bank_gate(&space.bank, UPMU_BIT32(2), 0));
    assert_int_equal(space.value[UPMU_P4_ROW_CCCR + 2], 0x33000);
}

/* ---- Differences only ---- */

static void only_differences_are_written(void **state)
{
    (void)state;
    for (unsigned t = 0; t < TABLES; t++) {
        struct space space;
        struct upmu_step steps[UPMU_IMAGE_STEPS];
        struct upmu_image image = {.pmu = &space.pmu, .step = steps, .room = UPMU_IMAGE_STEPS};
        uint32_t changed;

        take_over(&space, tables[t]);
        add_any(&space, &image, 0, 1);
        add_any(&space, &image, 1, 2);
        assert_true(load(&space.bank, &image, 0, &changed));
        assert_int_equal(changed, 3);
        forget_trace(&space);
        assert_true(load(&space.bank, &image, 0, &changed));
        assert_int_equal(changed, 0);
        assert_true(upmu_bank_gate(&space.bank, 0, 3));
        expect_no_writes(&space);
        image.count = 0;
        add_any(&space, &image, 0, 1);
        add_any(&space, &image, 1, 3);
        assert_true(load(&space.bank, &image, 0, &changed));
        assert_int_equal(changed, 2);
        assert_int_equal(space.writes, space.pmu.table == &upmu_p4_table ? 2 : 1);
    }
}

static void counters_and_acknowledgements_are_written_each_time(void **state)
{
    struct space space;

    (void)state;
    take_over(&space, GLOBAL);
    assert_true(upmu_bank_write(&space.bank, 0, 5));
    assert_true(upmu_bank_write(&space.bank, 0, 5));
    assert_true(upmu_bank_command(&space.bank, space.pmu.ack_row, 1));
    assert_true(upmu_bank_command(&space.bank, space.pmu.ack_row, 1));
    EXPECT_WRITES(&space, 0x4C1, 0x4C1, 0x390, 0x390);
    assert_int_equal(space.reads, 0);
}

static void short_writes_send_what_the_hardware_sign_extends(void **state)
{
    struct space space;
    uint64_t value;

    (void)state;
    take_over(&space, GLOBAL_SHORT_WRITES);
    assert_true(upmu_bank_write(&space.bank, 2, UINT64_C(0xffffffffff9c)));
    EXPECT_WRITES(&space, 0xC3);
    assert_int_equal(space.written[0].value, UINT64_C(0xffffff9c));
    assert_true(upmu_bank_read(&space.bank, 2, &value));
    assert_int_equal(value, UINT64_C(0xffffffffff9c));
    /* Fixed counters take all bits. */
    assert_true(upmu_bank_write(&space.bank, UPMU_FIXED_COUNTER(1), UINT64_C(0xffffffffff9c)));
    assert_int_equal(space.written[1].value, UINT64_C(0xffffffffff9c));

    take_over(&space, NETBURST);
    assert_true(upmu_bank_write(&space.bank, 2, UINT64_C(0xffffffffffffff9c)));
    assert_int_equal(space.written[0].value, UINT64_C(0xffffffff9c));
}

static void counters_are_read_by_rdpmc_and_after_a_fault_by_rdmsr(void **state)
{
    (void)state;
    for (unsigned t = 0; t < TABLES; t++) {
        struct space space;
        uint64_t value;

        take_over(&space, tables[t]);
        space.value[space.pmu.counter[1].value_row] = 77;
        assert_true(upmu_bank_read(&space.bank, 1, &value));
        assert_int_equal(value, 77);
        assert_int_equal(space.bank.accesses.rdpmcs, 1);
        assert_int_equal(space.bank.accesses.reads, 0);
        space.rdpmc_faults = true;
        for (unsigned i = 1; i <= 2; i++) {
            assert_true(upmu_bank_read(&space.bank, 1, &value));
            assert_int_equal(value, 77);
            assert_int_equal(space.rdpmcs, 2);
            assert_int_equal(space.reads, i);
        }
    }
}

/* ---- Preludes ---- */

static void expect_all_closed(struct space *space)
{
    for (uint32_t rest = space->pmu.counters; rest; rest &= rest - 1u)
        assert_false(gate_open(space, upmu_bits_lowest(rest)));
}

static unsigned prelude_seen;

static void look_during_prelude(struct space *space)
{
    expect_all_closed(space);
    prelude_seen++;
}

static void a_prelude_keeps_gates_closed_and_lets_other_registers_alone(void **state)
{
    static const struct upmu_prelude_step steps[] = {
        {UPMU_X86_ROW_SELECT, 0x4300b5},  {UPMU_X86_ROW_SELECT + 2, 0x4300d2}, {UPMU_X86_ROW_PMC, 0},
        {UPMU_X86_ROW_PMC + 2, 0},        {UPMU_X86_ROW_GLOBAL_CTRL, 0xb},     {UPMU_X86_ROW_GLOBAL_CTRL, 0}};
    static const struct upmu_prelude prelude = {steps, 4, 5}, pulse = {steps + 4, 2, 0};
    struct space space;
    struct upmu_step step;
    struct upmu_image image = {.pmu = &space.pmu, .step = &step, .room = 1};
    uint32_t changed;

    (void)state;
    prelude_seen = 0;
    take_over(&space, GLOBAL_SHORT_WRITES);
    add_general(&image, 1, 0x3c);
    assert_int_equal(upmu_bank_changes(&space.bank, &step, image.count), UPMU_BIT32(1));
    assert_true(load(&space.bank, &image, UPMU_BIT32(1), &changed));
    assert_int_equal(upmu_bank_changes(&space.bank, &step, image.count), 0);
    forget_trace(&space);
    space.handler = look_during_prelude;
    assert_true(upmu_bank_prelude(&space.bank, &prelude, 0));
    EXPECT_WRITES(&space, 0x186, 0x188, 0xC1, 0xC3);
    assert_int_equal(prelude_seen, 8);
    assert_false(upmu_bank_knows(&space.bank, UPMU_X86_ROW_SELECT));
    assert_true(upmu_bank_knows(&space.bank, UPMU_X86_ROW_SELECT + 1));
    space.handler = NULL;
    /* Counter 2 is foreign and runs. */
    assert_true(upmu_bank_gate(&space.bank, 4, 0));
    forget_trace(&space);
    assert_true(upmu_bank_prelude(&space.bank, &prelude, 4));
    EXPECT_WRITES(&space, 0x186, 0xC1);
    forget_trace(&space);
    assert_true(upmu_bank_prelude(&space.bank, &pulse, 4));
    EXPECT_WRITES(&space, 0x38F, 0x38F);
    assert_true(gate_open(&space, 2) && !gate_open(&space, 0));
    assert_false(upmu_bank_knows(&space.bank, UPMU_X86_ROW_GLOBAL_CTRL));
    /* Counter 0, which the last prelude's fault may have left running, is closed first. */
    assert_true(upmu_bank_gate(&space.bank, 1, 0) && gate_open(&space, 0));
    forget_trace(&space);
    assert_true(upmu_bank_prelude(&space.bank, &prelude, 4));
    EXPECT_WRITES(&space, 0x38F, 0x186, 0xC1);
    assert_true(gate_open(&space, 2) && !gate_open(&space, 0));
}

/* ---- Faults ---- */

/* Counter 1 changes its event while counter 0 runs. */
static bool fault_scenario(struct space *space)
{
    return run_event(space, 1, 4);
}

static unsigned count_fault_points(const char *table)
{
    struct space space;

    take_over(&space, table);
    assert_true(run_event(&space, 0, 1) && run_event(&space, 1, 2));
    upmu_bank_forget_row(&space.bank, space.pmu.counter[1].select_row);
    space.accesses = 0;
    assert_true(fault_scenario(&space));
    return space.accesses;
}

static void a_fault_at_any_access_closes_its_counter_and_no_other(void **state)
{
    (void)state;
    for (unsigned t = 0; t < TABLES; t++) {
        unsigned points = count_fault_points(tables[t]);

        assert_compare(points, >=, 4);
        for (unsigned k = 1; k <= points; k++) {
            struct space space;
            unsigned row;

            take_over(&space, tables[t]);
            assert_true(run_event(&space, 0, 1) && run_event(&space, 1, 2));
            upmu_bank_forget_row(&space.bank, space.pmu.counter[1].select_row);
            space.accesses = 0;
            space.fault_at = k;
            assert_false(fault_scenario(&space));
            row = find_row(&space, space.faulted);
            assert_int_equal(space.bank.faulted, space.faulted);
            assert_false(upmu_bank_knows(&space.bank, row) &&
                         upmu_register_class_of(&space.pmu, row)->kind != UPMU_KIND_COUNTER);
            /* What its user does then. */
            assert_true(upmu_bank_gate(&space.bank, 0, UPMU_BIT32(1)));
            assert_false(gate_open(&space, 1));
            assert_int_equal(upmu_bank_open(&space.bank, 3), 1);
            assert_true(gate_open(&space, 0));
            assert_int_equal(space.value[space.pmu.counter[0].select_row] & 0xffff,
                             space.bank.shadow[space.pmu.counter[0].select_row] & 0xffff);
            /* And it can be used again. */
            assert_true(fault_scenario(&space));
            assert_true(gate_open(&space, 1));
            assert_int_equal(upmu_bank_open(&space.bank, 3), 3);
        }
    }
}

static void what_cannot_be_closed_is_not_changed(void **state)
{
    (void)state;
    for (unsigned t = 0; t < TABLES; t++) {
        struct space space;
        struct upmu_step steps[UPMU_IMAGE_STEPS];
        struct upmu_image image = {.pmu = &space.pmu, .step = steps, .room = UPMU_IMAGE_STEPS};
        uint32_t changed;

        take_over(&space, tables[t]);
        assert_true(run_event(&space, 1, 2));
        add_any(&space, &image, 1, 5);
        forget_trace(&space);
        space.accesses = 0;
        space.fault_at = 1;
        assert_false(load(&space.bank, &image, 0, &changed));
        assert_int_equal(space.writes, 1); /* which faulted */
        assert_true(gate_open(&space, 1));
    }
}

static void a_fault_of_the_opening_write_does_not_leave_an_open_shadow(void **state)
{
    (void)state;
    for (unsigned t = 0; t < TABLES; t++) {
        struct space space;
        struct upmu_step steps[UPMU_IMAGE_STEPS];
        struct upmu_image image = {.pmu = &space.pmu, .step = steps, .room = UPMU_IMAGE_STEPS};
        const struct upmu_counter *counter = &space.pmu.counter[1];
        uint32_t changed;

        take_over(&space, tables[t]);
        add_any(&space, &image, 1, 2);
        assert_true(load(&space.bank, &image, UPMU_BIT32(1), &changed));
        space.accesses = 0;
        space.fault_at = 1;
        assert_false(upmu_bank_gate(&space.bank, UPMU_BIT32(1), 0));
        assert_int_equal(space.bank.shadow[counter->gate_row] >> counter->gate_bit & 1u, 0);
        /* What is unknown may be open. */
        assert_int_equal(upmu_bank_open(&space.bank, UPMU_BIT32(1)), UPMU_BIT32(1));
        assert_true(upmu_bank_handler_open(&space.bank, UPMU_BIT32(1), 0));
        assert_false(gate_open(&space, 1));
    }
}

static void a_fault_at_take_over_is_reported(void **state)
{
    (void)state;
    for (unsigned t = 0; t < TABLES; t++) {
        struct space space;
        unsigned points;

        begin(&space, tables[t]);
        assert_true(upmu_bank_find(&space.bank));
        points = space.accesses;
        assert_int_equal(space.writes, 0);
        for (unsigned k = 1; k <= points; k++) {
            begin(&space, tables[t]);
            space.fault_at = k;
            assert_false(upmu_bank_find(&space.bank));
            assert_int_equal(space.bank.faulted, space.faulted);
            assert_false(space.bank.state[find_row(&space, space.faulted)] & UPMU_ROW_FOUND);
        }
    }
}

/* ---- Dry runs ---- */

static void a_dry_run_lists_what_is_written(void **state)
{
    (void)state;
    for (unsigned t = 0; t < TABLES; t++) {
        struct space real, dry;
        struct upmu_write writes[16];
        struct upmu_dry_run list = {writes, 16, 0};

        take_over(&real, tables[t]);
        take_over(&dry, tables[t]);
        dry.bank.dry = &list;
        dry.bank.direct = 0;
        assert_true(run_event(&real, 0, 1) && run_event(&real, 1, 2) && run_event(&real, 0, 3));
        assert_true(run_event(&dry, 0, 1) && run_event(&dry, 1, 2) && run_event(&dry, 0, 3));
        assert_int_equal(dry.writes + dry.reads, 0);
        assert_int_equal(list.count, real.writes);
        for (unsigned i = 0; i < real.writes; i++) {
            assert_int_equal(writes[i].address, real.written[i].address, i);
            assert_int_equal(writes[i].value, real.written[i].value, i);
            assert_string_equal(writes[i].name, upmu_register_name(&real.pmu, find_row(&real, writes[i].address)));
        }
        /* More than fits is counted. */
        list = (struct upmu_dry_run){writes, 1, 0};
        writes[1].address = 0xdead;
        assert_true(run_event(&dry, 0, 5));
        assert_compare(list.count, >, 1);
        assert_int_equal(writes[1].address, 0xdead);
    }
}

/* ---- Verify and restore ---- */

static void verify_names_the_first_register_that_differs(void **state)
{
    (void)state;
    for (unsigned t = 0; t < TABLES; t++) {
        struct space space;
        unsigned row;
        bool fault;

        take_over(&space, tables[t]);
        assert_true(run_event(&space, 0, 1));
        assert_int_equal(upmu_bank_verify(&space.bank, &fault), UPMU_NO_ROW);
        assert_false(fault);
        row = space.pmu.counter[0].select_row;
        space.value[row] ^= UINT64_C(1) << 13;
        assert_int_equal(upmu_bank_verify(&space.bank, &fault), row);
        assert_false(fault);
        assert_int_equal(space.bank.faulted, upmu_register_address(&space.pmu, row));
        space.value[row] ^= UINT64_C(1) << 13;
        assert_int_equal(upmu_bank_verify(&space.bank, &fault), UPMU_NO_ROW);
        space.accesses = 0;
        space.fault_at = 1;
        assert_int_not_equal(upmu_bank_verify(&space.bank, &fault), UPMU_NO_ROW);
        assert_true(fault);
    }
}

static void verify_minds_neither_flags_nor_bits_that_a_register_lacks(void **state)
{
    struct space space;
    struct upmu_step steps[UPMU_IMAGE_STEPS];
    struct upmu_image image = {.pmu = &space.pmu, .step = steps, .room = UPMU_IMAGE_STEPS};
    uint32_t changed;
    bool fault;

    (void)state;
    take_over(&space, NETBURST);
    /* CRU_ESCR0 lacks the tag bits: what is written there reads 0. */
    upmu_image_add(&image, UPMU_P4_ROW_ESCR + 24, ~UINT64_C(0), UINT64_C(0x0400063c), UPMU_BIT32(12));
    assert_true(load(&space.bank, &image, 0, &changed));
    assert_int_equal(space.written[0].value, UINT64_C(0x0400063c));
    assert_int_equal(space.value[UPMU_P4_ROW_ESCR + 24], UINT64_C(0x0400060c));
    assert_int_equal(upmu_bank_verify(&space.bank, &fault), UPMU_NO_ROW);
    /* It is remembered as written. */
    forget_trace(&space);
    assert_true(load(&space.bank, &image, 0, &changed));
    expect_no_writes(&space);
    assert_true(run_event(&space, 3, 2));
    space.value[UPMU_P4_ROW_CCCR + 3] |= UPMU_P4_CCCR_OVF;
    assert_int_equal(upmu_bank_verify(&space.bank, &fault), UPMU_NO_ROW);
}

static void restore_writes_back_what_was_found_and_nothing_else(void **state)
{
    (void)state;
    for (unsigned t = 0; t < TABLES; t++) {
        struct space space;
        uint64_t found[UPMU_REGISTERS];

        begin(&space, tables[t]);
        for (uint32_t rest = space.pmu.counters; rest; rest &= rest - 1u) {
            const struct upmu_counter *counter = &space.pmu.counter[upmu_bits_lowest(rest)];

            space.value[counter->value_row] = 0x1000u + upmu_bits_lowest(rest);
            if (upmu_register_class_of(&space.pmu, counter->select_row)->kind == UPMU_KIND_SELECT)
                space.value[counter->select_row] = 0x33000u + upmu_bits_lowest(rest) * 0x2000u;
        }
        memcpy(found, space.value, sizeof found);
        assert_true(upmu_bank_find(&space.bank));
        assert_true(upmu_bank_gate(&space.bank, 0, space.pmu.counters));
        assert_true(run_event(&space, 0, 1) && run_event(&space, 1, 2));
        assert_true(upmu_bank_restore(&space.bank, 3));
        for (unsigned row = 0; row < space.pmu.table->row_count; row++)
            if (upmu_rows_has(space.pmu.present, row) && space.value[row] != found[row])
                fail_msg("%s: %s is %llx, was %llx", tables[t], upmu_register_name(&space.pmu, row),
                         (unsigned long long)space.value[row], (unsigned long long)found[row]);
        forget_trace(&space);
        assert_true(upmu_bank_restore(&space.bank, 0));
        expect_no_writes(&space);
    }
}

static void restore_writes_back_registers_read_at_their_first_write(void **state)
{
    struct space space;
    struct upmu_step steps[UPMU_IMAGE_STEPS];
    struct upmu_image image = {.pmu = &space.pmu, .step = steps, .room = UPMU_IMAGE_STEPS};
    uint32_t changed;

    (void)state;
    take_over(&space, GLOBAL);
    space.value[UPMU_X86_ROW_OFFCORE] = 0x55;
    upmu_image_add(&image, UPMU_X86_ROW_OFFCORE, ~UINT64_C(0), 0x10001, UPMU_BIT32(1));
    assert_true(load(&space.bank, &image, 0, &changed));
    assert_int_equal(space.bank.accesses.reads, 1);
    steps[0].value = 0x10002;
    assert_true(load(&space.bank, &image, 0, &changed));
    assert_int_equal(space.bank.accesses.reads, 1);
    assert_true(upmu_bank_restore(&space.bank, 0));
    assert_int_equal(space.value[UPMU_X86_ROW_OFFCORE], 0x55);
}

static void restore_goes_on_after_a_fault(void **state)
{
    (void)state;
    for (unsigned t = 0; t < TABLES; t++) {
        struct space space;
        unsigned points, row;

        take_over(&space, tables[t]);
        assert_true(run_event(&space, 0, 1) && run_event(&space, 1, 2));
        space.accesses = 0;
        assert_true(upmu_bank_restore(&space.bank, 3));
        points = space.accesses;
        for (unsigned k = 1; k <= points; k++) {
            take_over(&space, tables[t]);
            assert_true(run_event(&space, 0, 1) && run_event(&space, 1, 2));
            space.checks_off = true; /* a gate that cannot be closed stays open */
            space.accesses = 0;
            space.fault_at = k;
            assert_false(upmu_bank_restore(&space.bank, 3));
            row = find_row(&space, space.faulted);
            for (unsigned i = 0; i < space.pmu.table->row_count; i++)
                if (i != row && space.value[i] != 0 && space.value[i] != space.value[row] &&
                    upmu_register_class_of(&space.pmu, i)->kind != UPMU_KIND_COUNTER)
                    fail_msg("%s: %s was not restored", tables[t], upmu_register_name(&space.pmu, i));
        }
    }
}

/* ---- The handler's half ---- */

static void the_handlers_half_never_changes_the_shadow(void **state)
{
    (void)state;
    for (unsigned t = 0; t < TABLES; t++) {
        struct space space;
        struct space before;
        uint64_t value;

        take_over(&space, tables[t]);
        assert_true(run_event(&space, 0, 1) && run_event(&space, 1, 2));
        before = space;
        space.bank.counted = &space.bank.handler_accesses;
        assert_true(upmu_bank_handler_close(&space.bank, 3));
        assert_false(gate_open(&space, 0) || gate_open(&space, 1));
        assert_true(upmu_bank_read(&space.bank, 0, &value));
        assert_true(upmu_bank_write(&space.bank, 0, 99));
        if (space.pmu.status_row != UPMU_NO_ROW) {
            assert_true(upmu_bank_look(&space.bank, space.pmu.status_row, &value));
            assert_true(upmu_bank_command(&space.bank, space.pmu.ack_row, 1));
        }
        assert_true(upmu_bank_handler_open(&space.bank, 3, UPMU_BIT32(1)));
        assert_true(gate_open(&space, 0) && !gate_open(&space, 1));
        assert_true(upmu_bank_handler_open(&space.bank, 3, 0));
        assert_true(gate_open(&space, 0) && gate_open(&space, 1));
        assert_memory_equal(space.registers, before.registers, sizeof before.registers);
        assert_memory_equal(&space.bank.accesses, &before.bank.accesses, sizeof before.bank.accesses);
        assert_compare(space.bank.handler_accesses.writes, >, 0);
    }
}

static bool handler_saw_old, handler_saw_new;

/* Close, reload, open; a counter that runs must have one whole configuration. */
static void handler_passes(struct space *space)
{
    unsigned row = space->pmu.counter[1].select_row;
    uint64_t value;

    assert_true(upmu_bank_handler_close(&space->bank, 3));
    assert_true(upmu_bank_read(&space->bank, 1, &value));
    assert_true(upmu_bank_handler_open(&space->bank, 3, 0));
    if (!gate_open(space, 1))
        return;
    if (space->pmu.table == &upmu_p4_table) {
        uint64_t select = space->value[row] >> 13 & 7u;

        assert_int_equal(space->value[UPMU_P4_ROW_ESCR + 1], UINT64_C(0x0400020c) + select);
        handler_saw_old |= select == 2;
        handler_saw_new |= select == 4;
    } else {
        handler_saw_old |= (space->value[row] & 0xff) == 0x32;
        handler_saw_new |= (space->value[row] & 0xff) == 0x34;
    }
}

static void a_handler_at_every_write_neither_undoes_nor_hastens_a_change(void **state)
{
    (void)state;
    for (unsigned t = 0; t < TABLES; t++) {
        struct space plain, disturbed;

        handler_saw_old = false;
        handler_saw_new = false;
        take_over(&plain, tables[t]);
        assert_true(run_event(&plain, 0, 1) && run_event(&plain, 1, 2) && run_event(&plain, 1, 4));
        assert_true(upmu_bank_gate(&plain.bank, 0, 1));
        take_over(&disturbed, tables[t]);
        assert_true(run_event(&disturbed, 0, 1) && run_event(&disturbed, 1, 2));
        disturbed.handler = handler_passes;
        assert_true(run_event(&disturbed, 1, 4));
        assert_true(upmu_bank_gate(&disturbed.bank, 0, 1));
        disturbed.handler = NULL;
        assert_memory_equal(disturbed.value, plain.value, sizeof plain.value);
        assert_memory_equal(disturbed.bank.shadow, plain.bank.shadow,
                            plain.pmu.table->row_count * sizeof plain.bank.shadow[0]);
        assert_true(handler_saw_new);
    }
}

#if defined(__x86_64__) && defined(__linux__) && !defined(__SANITIZE_ADDRESS__)

#include "tests/common/trap_flag.h"

/* Before one instruction of a call, as long as it has accessed nothing, a handler stops counter 1. */
static struct {
    struct space *space;
    unsigned at, steps, accesses;
    bool stopped;
} moment;

static void stop_at_the_moment(int number, siginfo_t *info, void *where)
{
    struct upmu_bank *bank = &moment.space->bank;
    ucontext_t *context = where;

    (void)number;
    (void)info;
    if (moment.space->accesses == moment.accesses && moment.steps++ != moment.at)
        return;
    FLAGS_OF(context) &= ~TRAP_FLAG;
    if (moment.space->accesses != moment.accesses)
        return;
    bank->counted = &bank->handler_accesses;
    moment.stopped = upmu_bank_handler_close(bank, UPMU_BIT32(1));
    bank->counted = &bank->accesses;
}

/*
 * The end of a call enables counter 0, which a handler has stopped, and another handler stops counter 1 before each
 * instruction until that is written.  Catches: a note of what is stopped that is taken back with those that are
 * enabled.
 */
static void what_a_handler_stops_beside_enabled_ones_stays_noted(void **state)
{
    struct sigaction action = {.sa_sigaction = stop_at_the_moment, .sa_flags = SA_SIGINFO}, before;

    (void)state;
    sigaction(SIGTRAP, &action, &before);
    for (unsigned t = 0; t < TABLES; t++) {
        moment.stopped = true;
        for (unsigned at = 0; moment.stopped; at++) {
            struct space space;
            bool fine;

            take_over(&space, tables[t]);
            assert_true(run_event(&space, 0, 1) && run_event(&space, 1, 2));
            space.bank.counted = &space.bank.handler_accesses;
            assert_true(upmu_bank_handler_close(&space.bank, UPMU_BIT32(0)));
            space.bank.counted = &space.bank.accesses;
            moment.space = &space;
            moment.at = at;
            moment.steps = 0;
            moment.accesses = space.accesses;
            moment.stopped = false;
            trap_flag_set();
            fine = upmu_bank_handler_open(&space.bank, UPMU_BIT32(0), 0);
            trap_flag_clear();
            assert_true(fine && gate_open(&space, 0));
            if (moment.stopped && !gate_open(&space, 1) && !(space.bank.stopped >> 1 & 1u))
                fail_msg("%s, instruction %u: counter 1 stands still, and nothing knows", tables[t], at);
        }
    }
    sigaction(SIGTRAP, &before, NULL);
}

#else

static void what_a_handler_stops_beside_enabled_ones_stays_noted(void **state)
{
    (void)state;
    print_message("single steps are made on x86-64 without instrumentation only\n");
    skip();
}

#endif

static void accesses_are_counted_as_they_are_made(void **state)
{
    (void)state;
    for (unsigned t = 0; t < TABLES; t++) {
        struct space space;
        uint64_t value;

        begin(&space, tables[t]);
        assert_true(upmu_bank_find(&space.bank));
        assert_true(run_event(&space, 0, 1) && run_event(&space, 1, 2));
        assert_true(upmu_bank_read(&space.bank, 0, &value));
        assert_true(upmu_bank_restore(&space.bank, 3));
        assert_int_equal(space.bank.accesses.writes, space.writes);
        assert_int_equal(space.bank.accesses.reads, space.reads);
        assert_int_equal(space.bank.accesses.rdpmcs, space.rdpmcs);
        assert_int_equal(space.bank.handler_accesses.writes, 0);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(netburst_starts_with_escr_matrix_tags_counter_and_cccr_last),
        cmocka_unit_test(netburst_loads_without_opening_and_then_opens_with_one_write),
        cmocka_unit_test(netburst_changes_a_running_counter_in_three_writes),
        cmocka_unit_test(netburst_gives_up_cccr_escr_tags_matrix),
        cmocka_unit_test(global_table_closes_loads_payload_selects_fixed_and_opens),
        cmocka_unit_test(global_table_gives_up_selects_before_payloads),
        cmocka_unit_test(a_select_that_gates_itself_is_closed_idle_and_written_once),
        cmocka_unit_test(a_select_put_off_is_written_if_its_counter_closes_instead),
        cmocka_unit_test(closing_what_is_known_to_be_closed_costs_nothing),
        cmocka_unit_test(one_write_gates_all_counters_of_a_register),
        cmocka_unit_test(closing_netburst_keeps_configuration_opening_is_one_write),
        cmocka_unit_test(bits_of_other_counters_stay),
        cmocka_unit_test(bits_that_are_not_ours_are_read_and_kept_at_every_write),
        cmocka_unit_test(unknown_registers_are_read_before_part_of_them_changes),
        cmocka_unit_test(a_counter_that_may_run_is_closed_before_its_unknown_select),
        cmocka_unit_test(unpromised_registers_are_left_alone_where_faults_are_unsafe),
        cmocka_unit_test(an_overflow_flag_that_was_read_is_never_written_back),
        cmocka_unit_test(flags_that_are_asked_for_are_written_each_time),
        cmocka_unit_test(only_differences_are_written),
        cmocka_unit_test(counters_and_acknowledgements_are_written_each_time),
        cmocka_unit_test(short_writes_send_what_the_hardware_sign_extends),
        cmocka_unit_test(counters_are_read_by_rdpmc_and_after_a_fault_by_rdmsr),
        cmocka_unit_test(a_prelude_keeps_gates_closed_and_lets_other_registers_alone),
        cmocka_unit_test(a_fault_at_any_access_closes_its_counter_and_no_other),
        cmocka_unit_test(what_cannot_be_closed_is_not_changed),
        cmocka_unit_test(a_fault_of_the_opening_write_does_not_leave_an_open_shadow),
        cmocka_unit_test(a_fault_at_take_over_is_reported),
        cmocka_unit_test(a_dry_run_lists_what_is_written),
        cmocka_unit_test(verify_names_the_first_register_that_differs),
        cmocka_unit_test(verify_minds_neither_flags_nor_bits_that_a_register_lacks),
        cmocka_unit_test(restore_writes_back_what_was_found_and_nothing_else),
        cmocka_unit_test(restore_writes_back_registers_read_at_their_first_write),
        cmocka_unit_test(restore_goes_on_after_a_fault),
        cmocka_unit_test(the_handlers_half_never_changes_the_shadow),
        cmocka_unit_test(what_a_handler_stops_beside_enabled_ones_stays_noted),
        cmocka_unit_test(a_handler_at_every_write_neither_undoes_nor_hastens_a_change),
        cmocka_unit_test(accesses_are_counted_as_they_are_made),
    };

    return cmocka_run_group_tests_name("bank", tests, NULL, NULL);
}
