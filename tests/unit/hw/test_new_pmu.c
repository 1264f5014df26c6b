/* SPDX-License-Identifier: MIT */
/*
 * PMUs that are not Intel's: one that exists nowhere, added as a table and a few
 * functions, runs sessions through the whole core; NetBurst's 18 counters, two
 * registers each and one more besides, go through the bank in one image.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tests/common/assertions.h"

#include "backends/x86_core/x86_core_registers.h"
#include "backends/x86_p4/p4_registers.h"
#include "core/hw/backend.h"
#include "core/hw/bank.h"
#include "core/util/bits.h"
#include "core/hw/register.h"
#include <upmu/cpu.h>
#include <upmu/set.h>
#include <upmu/upmu.h>

/* ---- Registers that are memory ---- */

#define REGISTERS 0x400u

struct memory {
    struct upmu_port port;
    uint64_t value[REGISTERS];
    uint32_t written[64];
    unsigned writes;
};

static bool memory_rdmsr(void *context, uint32_t address, uint64_t *out_value)
{
    struct memory *memory = context;

    assert_compare(address, <, REGISTERS);
    *out_value = memory->value[address];
    return true;
}

static bool memory_wrmsr(void *context, uint32_t address, uint64_t value)
{
    struct memory *memory = context;

    assert_true(address < REGISTERS && memory->writes < 64);
    memory->written[memory->writes++] = address;
    memory->value[address] = value;
    return true;
}

static void memory_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    (void)context, (void)leaf, (void)subleaf;
    memset(out, 0, 4 * sizeof out[0]);
}

static void memory_init(struct memory *memory)
{
    memset(memory, 0, sizeof *memory);
    memory->port =
        (struct upmu_port){.context = memory, .rdmsr = memory_rdmsr, .wrmsr = memory_wrmsr, .cpuid = memory_cpuid};
}

/* ---- A fabric's PMU: three counters of 32 bits, an event each, one filter for all ---- */

#define FABRIC_COUNTERS 3u
enum { FABRIC_CLASS_COUNTER, FABRIC_CLASS_SELECT, FABRIC_CLASS_FILTER, FABRIC_CLASS_CONTROL, FABRIC_CLASSES };
enum { FABRIC_COUNTER = 0, FABRIC_SELECT = 3, FABRIC_FILTER = 6, FABRIC_CONTROL, FABRIC_ROWS };
#define FABRIC_EVENT UINT64_C(0x3f)

static const char fabric_text[] = "FABRIC_CTR0\0FABRIC_CTR1\0FABRIC_CTR2\0FABRIC_SEL0\0FABRIC_SEL1\0FABRIC_SEL2\0"
                                  "FABRIC_FILT\0FABRIC_CTRL";
#define FABRIC_NAME 12u

static const struct upmu_register_class fabric_classes[FABRIC_CLASSES] = {
    [FABRIC_CLASS_COUNTER] = {.kind = UPMU_KIND_COUNTER, .load_rank = 3, .promised = 1, .owned = 0xffffffff},
    [FABRIC_CLASS_SELECT] = {.kind = UPMU_KIND_SELECT, .load_rank = 2, .found = 1, .promised = 1,
                             .owned = FABRIC_EVENT, .session = FABRIC_EVENT},
    [FABRIC_CLASS_FILTER] = {.kind = UPMU_KIND_PAYLOAD, .load_rank = 1, .found = 1, .promised = 1, .owned = 0xff,
                             .session = 0xff},
    [FABRIC_CLASS_CONTROL] = {.kind = UPMU_KIND_CONTROL, .load_rank = 7, .found = 1, .promised = 1, .owned = 7,
                              .gates = 7},
};

#define FABRIC_ROW(row, msr, class, n) {msr, class, n, (uint16_t)((row) * FABRIC_NAME)}
static const struct upmu_register fabric_rows[FABRIC_ROWS] = {
    FABRIC_ROW(0, 0x100, FABRIC_CLASS_COUNTER, 0), FABRIC_ROW(1, 0x108, FABRIC_CLASS_COUNTER, 1),
    FABRIC_ROW(2, 0x110, FABRIC_CLASS_COUNTER, 2), FABRIC_ROW(3, 0x101, FABRIC_CLASS_SELECT, 0),
    FABRIC_ROW(4, 0x109, FABRIC_CLASS_SELECT, 1),  FABRIC_ROW(5, 0x111, FABRIC_CLASS_SELECT, 2),
    FABRIC_ROW(6, 0x120, FABRIC_CLASS_FILTER, UPMU_NO_COUNTER),
    FABRIC_ROW(7, 0x130, FABRIC_CLASS_CONTROL, UPMU_NO_COUNTER),
};

static const struct upmu_register_table fabric_table = {
    .rows = fabric_rows, .classes = fabric_classes, .text = fabric_text, .row_count = FABRIC_ROWS,
    .class_count = FABRIC_CLASSES,
};

static enum upmu_status fabric_finish(const struct upmu_pmu *pmu, struct upmu_event *event)
{
    if ((event->config & ~FABRIC_EVENT) || (event->config1 & ~UINT64_C(0xff)) || event->config2)
        return UPMU_ERR_NOT_PERMITTED;
    /* Events from 20h on are counted by counter 2 alone. */
    event->counters = event->config & 0x20 ? 4 : pmu->counters;
    event->payload = event->config1 != 0;
    return UPMU_OK;
}

static bool fabric_alternative(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned thread,
                               unsigned i, struct upmu_alternative *out)
{
    (void)pmu;
    (void)thread;
    if (i)
        return false;
    memset(out, 0, sizeof *out);
    out->slot_count = 1;
    out->slot[0].counters = event->counters;
    if (event->payload) {
        out->slot[0].resource_count = 1;
        out->slot[0].value[0] = event->config1;
    }
    return true;
}

static void fabric_render(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned alternative,
                          const uint8_t *counters, unsigned flags, struct upmu_image *image)
{
    (void)pmu, (void)alternative, (void)flags;
    upmu_image_add(image, FABRIC_SELECT + counters[0], ~UINT64_C(0), event->config, UPMU_BIT32(counters[0]));
    if (event->payload)
        upmu_image_add(image, FABRIC_FILTER, ~UINT64_C(0), event->config1, UPMU_BIT32(counters[0]));
}

static void fabric_release(const struct upmu_pmu *pmu, uint32_t counters, struct upmu_image *image)
{
    (void)pmu;
    for (uint32_t rest = counters; rest; rest &= rest - 1u)
        upmu_image_add(image, FABRIC_SELECT + upmu_bits_lowest(rest), ~UINT64_C(0), 0, rest & (0u - rest));
}

static const char *fabric_resource_name(const struct upmu_pmu *pmu, unsigned resource)
{
    (void)pmu;
    return resource == 0 ? "FABRIC_FILT" : NULL;
}

static const char *fabric_counter_prefix(const struct upmu_pmu *pmu, unsigned counter, unsigned *out_index)
{
    (void)pmu;
    *out_index = counter;
    return "FABRIC_CTR";
}

static unsigned fabric_resource_row(const struct upmu_pmu *pmu, unsigned resource)
{
    (void)pmu;
    return resource == 0 ? FABRIC_FILTER : UPMU_NO_ROW;
}

static const struct upmu_backend fabric_backend = {
    .name = "fabric",
    .finish = fabric_finish,
    .alternative = fabric_alternative,
    .render = fabric_render,
    .release = fabric_release,
    .resource_name = fabric_resource_name,
    .counter_prefix = fabric_counter_prefix,
    .resource_row = fabric_resource_row,
};

static void fabric_describe(struct upmu_pmu *pmu)
{
    memset(pmu, 0, sizeof *pmu);
    pmu->name = "fabric";
    pmu->title = "A fabric that exists nowhere";
    pmu->backend = &fabric_backend;
    pmu->table = &fabric_table;
    pmu->status_row = pmu->ack_row = pmu->inuse_row = UPMU_NO_ROW;
    pmu->shared_scope = UPMU_SCOPE_NODE;
    for (unsigned n = 0; n < FABRIC_COUNTERS; n++) {
        upmu_register_add_counter(pmu, n, &(struct upmu_counter){.value_row = (uint8_t)(FABRIC_COUNTER + n),
                                                                 .write_row = (uint8_t)(FABRIC_COUNTER + n),
                                                                 .select_row = (uint8_t)(FABRIC_SELECT + n),
                                                                 .gate_row = FABRIC_CONTROL,
                                                                 .gate_bit = (uint8_t)n,
                                                                 .width = 32,
                                                                 .write_bits = 32,
                                                                 .rdpmc = UPMU_NO_RDPMC});
        pmu->preference[pmu->preference_count++] = (uint8_t)n;
    }
    pmu->general = pmu->counters;
    upmu_rows_set(pmu->present, FABRIC_FILTER);
    pmu->limit[FABRIC_CLASS_COUNTER] = 0xffffffff;
    pmu->limit[FABRIC_CLASS_SELECT] = FABRIC_EVENT;
    pmu->limit[FABRIC_CLASS_FILTER] = 0xff;
    pmu->limit[FABRIC_CLASS_CONTROL] = 7;
}

/* An event happens so often in this part of the fabric. */
static void happen(struct memory *fabric, uint64_t event, uint64_t part, uint64_t times)
{
    for (unsigned n = 0; n < FABRIC_COUNTERS; n++)
        if ((fabric->value[0x130] >> n & 1u) && fabric->value[0x101 + 8 * n] == event &&
            (fabric->value[0x120] == 0 || fabric->value[0x120] == part))
            fabric->value[0x100 + 8 * n] = (fabric->value[0x100 + 8 * n] + times) & 0xffffffff;
}

struct fabric {
    struct memory memory;
    struct upmu_machine machine;
    struct upmu_cpu cpu;
    struct upmu_session session, other;
};

/* As the core finds it once a backend's detect() has answered. */
static void fabric_set_up(struct fabric *fabric)
{
    memset(fabric, 0, sizeof *fabric);
    memory_init(&fabric->memory);
    assert_int_equal(upmu_machine_init(&fabric->machine, &fabric->memory.port), UPMU_OK);
    fabric_describe(&fabric->machine.pmu[0]);
    fabric->machine.pmu_count = 1;
    fabric->cpu.meter.machine = &fabric->machine;
    fabric->cpu.meter.cpu = &fabric->cpu;
    fabric->cpu.meter.pmu = &fabric->machine.pmu[0];
    upmu_bank_init(&fabric->cpu.meter.bank, fabric->cpu.meter.pmu, &fabric->memory.port, true,
                   fabric->cpu.registers);
    assert_true(upmu_bank_find(&fabric->cpu.meter.bank));
    fabric->cpu.meter.live = 1;
    fabric->cpu.meter.life = 1;
    assert_int_equal(upmu_session_init(&fabric->session, &fabric->machine), UPMU_OK);
    assert_int_equal(upmu_session_init(&fabric->other, &fabric->machine), UPMU_OK);
}

static void add_raw(struct fabric *fabric, struct upmu_session *session, uint64_t event, uint64_t part)
{
    struct upmu_event raw;

    assert_int_equal(upmu_event_raw(fabric->cpu.meter.pmu, event, part, 0, &raw), UPMU_OK);
    assert_int_equal(upmu_set_add_event(&session->set, &raw, NULL), UPMU_OK);
}

static uint64_t value(struct upmu_session *session, unsigned i)
{
    struct upmu_count count;

    assert_int_equal(upmu_set_read(&session->set, i, 1, &count), UPMU_OK, i);
    return count.value;
}

static void a_new_pmu_is_a_table_and_a_few_functions(void **state)
{
    struct upmu_write writes[8];
    struct upmu_dry_run dry = {writes, 8, 0};
    struct fabric fabric;

    (void)state;
    fabric_set_up(&fabric);
    fabric.memory.value[0x110] = 0xfffffff0; /* about to wrap */
    add_raw(&fabric, &fabric.session, 0x05, 0);
    add_raw(&fabric, &fabric.session, 0x21, 0); /* counter 2 only */
    add_raw(&fabric, &fabric.session, 0x06, 0);
    assert_int_equal(upmu_session_dry_run(&fabric.session, fabric.cpu.meter.pmu, &dry), UPMU_OK);
    assert_int_equal(dry.count, 4);
    assert_string_equal(writes[3].name, "FABRIC_CTRL");
    assert_int_equal(writes[3].value, 7);
    assert_int_equal(upmu_session_attach_cpu(&fabric.session, &fabric.cpu), UPMU_OK);
    assert_int_equal(fabric.memory.writes, 3);
    assert_int_equal(upmu_session_start(&fabric.session), UPMU_OK);
    assert_int_equal(fabric.memory.writes, 4);
    assert_int_equal(fabric.memory.written[3], 0x130);
    assert_int_equal(fabric.session.set.tally[1].counter, 2);
    happen(&fabric.memory, 0x05, 1, 1000);
    happen(&fabric.memory, 0x21, 2, 100);
    assert_int_equal(value(&fabric.session, 0), 1000);
    assert_int_equal(value(&fabric.session, 1), 100);
    assert_int_equal(value(&fabric.session, 2), 0);
    /* 64 bits are made of 32 by polling. */
    for (unsigned i = 0; i < 5; i++) {
        happen(&fabric.memory, 0x06, 1, 0x7fffffff);
        assert_int_equal(upmu_cpu_poll(&fabric.cpu), UPMU_OK);
    }
    assert_int_equal(value(&fabric.session, 2), UINT64_C(0x7fffffff) * 5);
    assert_int_equal(upmu_session_close(&fabric.session), UPMU_OK);
    for (unsigned n = 0; n < FABRIC_COUNTERS; n++)
        assert_int_equal(fabric.memory.value[0x101 + 8 * n], 0, n);
    assert_int_equal(fabric.memory.value[0x130], 0);
}

static void a_new_pmus_limits_are_kept_and_named(void **state)
{
    struct upmu_event raw;
    struct fabric fabric;
    char text[200];

    (void)state;
    fabric_set_up(&fabric);
    assert_int_equal(upmu_event_raw(fabric.cpu.meter.pmu, 0x40, 0, 0, &raw), UPMU_ERR_NOT_PERMITTED);
    /* One filter: events of the same part run together, those of another do not. */
    add_raw(&fabric, &fabric.session, 0x05, 1);
    add_raw(&fabric, &fabric.session, 0x06, 1);
    assert_int_equal(upmu_session_attach_cpu(&fabric.session, &fabric.cpu), UPMU_OK);
    assert_int_equal(upmu_session_start(&fabric.session), UPMU_OK);
    add_raw(&fabric, &fabric.other, 0x07, 2);
    assert_int_equal(upmu_session_attach_cpu(&fabric.other, &fabric.cpu), UPMU_OK);
    assert_int_equal(upmu_session_start(&fabric.other), UPMU_ERR_DOES_NOT_FIT);
    assert_int_equal(fabric.other.why.collision, UPMU_COLLISION_RESOURCE);
    (void)upmu_why_text(&fabric.other.why, text, sizeof text);
    assert_non_null(strstr(text, "FABRIC_FILT"));
    happen(&fabric.memory, 0x05, 1, 10);
    happen(&fabric.memory, 0x05, 2, 5);
    assert_int_equal(value(&fabric.session, 0), 10);
    assert_int_equal(upmu_session_stop(&fabric.session), UPMU_OK);
    assert_int_equal(upmu_session_start(&fabric.other), UPMU_OK);
    happen(&fabric.memory, 0x07, 2, 3);
    assert_int_equal(value(&fabric.other, 0), 3);
    assert_int_equal(upmu_counter_text(fabric.cpu.meter.pmu, 2, text, sizeof text), 11);
    assert_string_equal(text, "FABRIC_CTR2");
}

/* ---- How many registers make a counter ---- */

/* Rows that this counter alone has beside its value, and that it shares with others. */
static void count_rows(const struct upmu_pmu *pmu, unsigned counter, unsigned *alone, unsigned *shared)
{
    const struct upmu_counter *of = &pmu->counter[counter];

    *alone = *shared = 0;
    for (unsigned row = 0; row < pmu->table->row_count; row++) {
        unsigned users = 0;

        if (row != of->select_row && row != of->gate_row)
            continue;
        for (uint32_t rest = pmu->counters; rest; rest &= rest - 1u) {
            const struct upmu_counter *other = &pmu->counter[upmu_bits_lowest(rest)];

            users += other->select_row == row || other->gate_row == row;
        }
        *(users == 1 ? alone : shared) += 1;
    }
}

/* One register or two, own or common: the table says so, and the core asks it. */
static void tables_say_which_registers_a_counter_has(void **state)
{
    static const struct {
        const char *name;
        unsigned counters, general_alone, general_shared;
    } known[] = {{"coreduo", 2, 1, 0}, {"core", 5, 1, 1}, {"nhm", 7, 1, 1}, {"skl", 7, 1, 1}, {"icl", 12, 1, 1}};
    struct upmu_pmu pmu;
    unsigned alone, shared;

    (void)state;
    for (unsigned i = 0; i < sizeof known / sizeof known[0]; i++) {
        assert_int_equal(upmu_pmu_by_name(&pmu, known[i].name), UPMU_OK, i);
        assert_int_equal(upmu_bits_count(pmu.counters & ~UPMU_METRIC_COUNTERS(&pmu)), known[i].counters, i);
        for (uint32_t rest = pmu.general; rest; rest &= rest - 1u) {
            count_rows(&pmu, upmu_bits_lowest(rest), &alone, &shared);
            assert_int_equal(alone, known[i].general_alone, i);
            assert_int_equal(shared, known[i].general_shared, i);
        }
        /* Fixed counters: one control for all of them. */
        for (uint32_t rest = pmu.counters & ~pmu.general & ~UPMU_METRIC_COUNTERS(&pmu); rest; rest &= rest - 1u) {
            count_rows(&pmu, upmu_bits_lowest(rest), &alone, &shared);
            assert_int_equal(alone, 0);
            assert_int_equal(shared, 2);
            assert_int_equal(pmu.counter[upmu_bits_lowest(rest)].select_row, UPMU_X86_ROW_FIXED_CTRL, rest);
        }
    }
    /* NetBurst: a CCCR of its own, and one of 45 ESCRs that the placement chooses as a resource. */
    memset(&pmu, 0, sizeof pmu);
    upmu_p4_describe_table(&pmu, 1);
    assert_int_equal(upmu_bits_count(pmu.counters), 18);
    for (unsigned n = 0; n < UPMU_P4_COUNTERS; n++) {
        count_rows(&pmu, n, &alone, &shared);
        assert_int_equal(alone, 1);
        assert_int_equal(shared, 0);
    }
    assert_int_equal(UPMU_P4_ESCRS, 45);
}

/*
 * NetBurst's 18 counters with 18 ESCRs in one image: one call loads, one opens, one
 * closes.  (Sessions on NetBurst are work to come; a build for it makes
 * UPMU_SET_EVENTS 18.)
 */
static void eighteen_netburst_counters_go_in_one_image(void **state)
{
    struct upmu_bank bank;
    uint64_t registers[UPMU_BANK_WORDS(UPMU_REGISTERS)];
    struct upmu_pmu pmu;
    struct upmu_step steps[UPMU_IMAGE_STEPS];
    struct upmu_image image;
    struct memory memory;
    uint64_t read;

    (void)state;
    memory_init(&memory);
    memset(&pmu, 0, sizeof pmu);
    upmu_p4_describe_table(&pmu, 2);
    upmu_bank_init(&bank, &pmu, &memory.port, true, registers);
    assert_true(upmu_bank_find(&bank));
    image = upmu_image_on(&pmu, steps, UPMU_IMAGE_STEPS);
    for (unsigned n = 0; n < UPMU_P4_COUNTERS; n++) {
        upmu_image_add(&image, UPMU_P4_ROW_CCCR + n, UPMU_P4_CCCR_SELECT | UPMU_P4_CCCR_THREAD,
                       UPMU_P4_CCCR_THREAD | UINT64_C(4) << 13, UPMU_BIT32(n));
        upmu_image_add(&image, UPMU_P4_ROW_ESCR + n, ~UINT64_C(0),
                       UPMU_P4_ESCR_T0_OS | UPMU_P4_ESCR_T0_USR | (uint64_t)(n + 1) << 25, UPMU_BIT32(n));
    }
    assert_false(image.overfull);
    assert_int_equal(image.count, 36);
    assert_int_equal(upmu_bank_changes(&bank, steps, image.count), 0x3ffff);
    assert_true(upmu_bank_load(&bank, steps, image.count, 0, 0));
    assert_int_equal(memory.writes, 36);
    for (unsigned n = 0; n < UPMU_P4_COUNTERS; n++) {
        assert_int_equal(memory.value[0x360 + n], UPMU_P4_CCCR_THREAD | UINT64_C(4) << 13, n);
        assert_int_equal(memory.value[upmu_register_address(&pmu, UPMU_P4_ROW_ESCR + n)] >> 25, n + 1, n);
    }
    memory.writes = 0;
    assert_true(upmu_bank_gate(&bank, 0x3ffff, 0));
    assert_int_equal(memory.writes, 18);
    for (unsigned n = 0; n < UPMU_P4_COUNTERS; n++) {
        assert_true(memory.value[0x360 + n] & UPMU_P4_CCCR_ENABLE, n);
        memory.value[0x300 + n] = 1000 + n;
        assert_true(upmu_bank_read(&bank, n, &read), n);
        assert_int_equal(read, 1000 + n, n);
    }
    assert_true(upmu_bank_close(&bank, 0x3ffff));
    for (unsigned n = 0; n < UPMU_P4_COUNTERS; n++)
        assert_false(memory.value[0x360 + n] & UPMU_P4_CCCR_ENABLE, n);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_pmu_is_a_table_and_a_few_functions),
        cmocka_unit_test(a_new_pmus_limits_are_kept_and_named),
        cmocka_unit_test(tables_say_which_registers_a_counter_has),
        cmocka_unit_test(eighteen_netburst_counters_go_in_one_image),
    };

    return cmocka_run_group_tests_name("new_pmu", tests, NULL, NULL);
}
