/* SPDX-License-Identifier: MIT */
/*
 * What guests see, as digests: random accesses, bursts, interrupts, saved states and changes of CPU, for each shape on
 * each kind of host under several policies.  A change that is to alter nothing of it, as one that moves code, leaves
 * tests/golden/guest_digests.tsv as it is.  A change of behaviour writes the table anew: GUEST_DIGESTS=FILE writes it,
 * GUEST_TRACE=FILE every line that the digests are made of, with the accesses of the host, to be compared as text.
 */
#include "tests/guest/nest.c"
#include "tests/common/table.h"
#include "tests/guest/shapes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define TABLE "tests/golden/guest_digests.tsv"
#define STEPS 1500u

static struct nest nest;
static uint64_t seed, digest;
static FILE *trace;
static unsigned shown;  /* differences */
static bool host_lines; /* accesses of the host are written, and are in no digest */

/* (No two of these calls stand in one expression: compilers choose their order.) */
static unsigned below(unsigned limit)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)(seed >> 20) % limit;
}

static uint64_t draw(void)
{
    uint64_t high = below(1u << 30), middle = below(1u << 30);

    return high << 34 ^ middle << 10 ^ below(1u << 30);
}

/* A line of the trace. */
__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
    char line[400];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    for (const char *at = line; *at != '\0'; at++)
        digest = (digest ^ (uint8_t)*at) * UINT64_C(1099511628211);
    if (trace)
        fprintf(trace, "%s\n", line);
}

static void note_access(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind, uint32_t address)
{
    (void)number;
    if (host_lines)
        fprintf(trace, "  host %u %x %llx\n", (unsigned)kind, (unsigned)address,
                (unsigned long long)(kind == UPMU_SIM_WRMSR ? upmu_sim_peek(sim, cpu, address) : 0));
}

/* ---- What is done ---- */

static const uint32_t intel_registers[] = {0xc1,  0xc2,  0xc3,  0xc8,  0x4c1, 0x4c2, 0x4c4, 0x186, 0x187, 0x188, 0x189,
                                           0x18d, 0x309, 0x30a, 0x30b, 0x30c, 0x38d, 0x38e, 0x38f, 0x390, 0x391, 0x392,
                                           0x345, 0x1a6, 0x1a7, 0x1d9, 0x834, 0x3f1, 0x600, 0x680, 0x10,  0xce};
static const uint32_t amd_registers[] = {0xc0010000, 0xc0010001, 0xc0010003, 0xc0010004, 0xc0010005, 0xc0010007,
                                         0xc0010200, 0xc0010201, 0xc0010202, 0xc0010203, 0xc0010208, 0xc001020b,
                                         0xc0000300, 0xc0000301, 0xc0000302, 0xc0000303, 0x1d9,      0x834,
                                         0xc0011030, 0xc001020c, 0xc0010080};

static uint32_t draw_register(void)
{
    if (below(40) == 0)
        return (uint32_t)draw();
    return nest.shape.door == UPMU_GUEST_INTEL
               ? intel_registers[below(sizeof intel_registers / sizeof intel_registers[0])]
               : amd_registers[below(sizeof amd_registers / sizeof amd_registers[0])];
}

static uint64_t draw_value(uint32_t msr)
{
    static const uint16_t codes[] = {0x3c, 0xc0, 0xc4, 0xc5, 0x76, 0xc2, 0xc3, 0x13c, 0x2e, 0x1b7};
    bool select = nest.shape.door == UPMU_GUEST_INTEL ? msr - 0x186 < 8
                                                      : msr - 0xc0010000 < 4 || (msr - 0xc0010200 < 12 && !(msr & 1u));

    uint64_t value = draw();
    unsigned left = below(400), how = below(20);

    if (how == 0)
        return value;
    if (select)
        return codes[left % 10] | (value & 0x30000) | (how > 4 ? 0x400000u : 0) | (how & 1u ? 0x100000u : 0);
    if (msr == 0x38d)
        return value & 0xbbb;
    if (msr - 0x1a6 < 2) /* half of them are more than a policy allows */
        return value & 0x7f;
    if (msr == 0x38f || msr - 0x390 < 2 || msr - 0xc0000301 < 3)
        return value & (how > 6 ? UINT64_C(0x7000000ff) : UINT64_C(0xc000000000000003));
    if (msr == 0x834)
        return how > 6 ? 0x400 : value & 0x1ffff;
    if (msr == 0x1d9)
        return value & 0x1800;
    return (0 - (uint64_t)left) & (how & 1u ? UINT64_C(0xffffffffffff) : UINT64_C(0xffffffff));
}

static void ignore_interrupt(struct nest *guest, const struct upmu_frame *frame)
{
    (void)guest;
    (void)frame;
}

static enum upmu_status enter_and_note(struct nest *guest, struct upmu_guest_entry *entry)
{
    enum upmu_status status = upmu_guest_enter(&guest->vcpu, entry);

    note("enter %u: inject %u vector %u gate %llx passes %x rdpmc %u; waiting %x lvtpc %x", (unsigned)status,
         entry->inject, entry->vector, (unsigned long long)entry->gate, (unsigned)entry->passes, entry->rdpmc_passes,
         (unsigned)guest->vcpu.waiting, (unsigned)guest->vcpu.x86.lvtpc);
    return status;
}

static void note_all(void)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < nest.shape.general; i++)
        if (upmu_guest_rdpmc(&nest.vcpu, i, &value) == UPMU_GUEST_DONE)
            note("counter %u: %llx denied %u", i, (unsigned long long)value, nest.vcpu.counter[i].denied);
    for (unsigned i = 0; i < nest.shape.fixed; i++)
        if (upmu_guest_rdpmc(&nest.vcpu, i | 1u << 30, &value) == UPMU_GUEST_DONE)
            note("fixed %u: %llx", i, (unsigned long long)value);
}

static void carry(void)
{
    uint8_t state[UPMU_GUEST_STATE_BYTES] = {0};
    size_t used = 0;
    unsigned family, model;
    enum upmu_status status = upmu_guest_save(&nest.vcpu, state, sizeof state, &used);

    note("save %u: %zu", (unsigned)status, used);
    for (size_t i = 0; i < used; i += 8)
        note("at %zu: %02x %02x %02x %02x %02x %02x %02x %02x", i, state[i], state[i + 1], state[i + 2], state[i + 3],
             state[i + 4], state[i + 5], state[i + 6], state[i + 7]);
    note("needs %u", (unsigned)upmu_guest_state_needs(state, used, &family, &model));
    if (below(3) == 0) {
        unsigned bit = below(8 * (unsigned)used);

        state[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    note("restore %u", (unsigned)upmu_guest_restore(&nest.vcpu, state, used));
}

static void step(void)
{
    uint32_t msr = draw_register(), words[4] = {UINT32_MAX, 0, 0x55555555, UINT32_MAX};
    struct upmu_sim_burst burst;
    uint64_t value;
    unsigned answer, how = below(1000);

    switch (below(16)) {
    case 0:
    case 1:
    case 2:
    case 3:
        value = draw_value(msr);
        nest_exit(&nest);
        answer = upmu_guest_wrmsr(&nest.vcpu, msr, value);
        note("WRMSR %x %llx: %u", (unsigned)msr, (unsigned long long)value, answer);
        if (answer == UPMU_GUEST_DONE)
            upmu_guest_retired(&nest.vcpu, 1, how % 4 == 0, how & 8u);
        return;
    case 4:
    case 5:
        value = 0;
        nest_exit(&nest);
        answer = upmu_guest_rdmsr(&nest.vcpu, msr, &value);
        note("RDMSR %x: %u %llx passes %u", (unsigned)msr, answer, (unsigned long long)value,
             upmu_guest_passes(&nest.vcpu, msr));
        return;
    case 6:
        nest_exit(&nest);
        note_all();
        return;
    case 7:
        nest_exit(&nest);
        (void)upmu_guest_cpuid(&nest.vcpu, how < 500 ? how % 0x24 : 0x80000000u + how % 0x23, how & 1u, words);
        note("CPUID: %x %x %x %x", (unsigned)words[0], (unsigned)words[1], (unsigned)words[2], (unsigned)words[3]);
        return;
    case 8:
        nest_exit(&nest);
        upmu_guest_lvtpc(&nest.vcpu, how % 3 ? 0x400 : (uint32_t)draw());
        if (how % 7 == 0)
            upmu_guest_lapic(&nest.vcpu, how & 3u);
        return;
    case 9:
        if (how % 12)
            return;
        nest_exit(&nest);
        if (how / 12 & 3u)
            carry();
        else
            upmu_guest_reset(&nest.vcpu);
        return;
    case 10:
        nest_exit(&nest);
        host_thread_switch(&nest.host, 0, 0);
        shape_host_works(&nest);
        host_thread_switch(&nest.host, 0, 1);
        return;
    default:
        burst = shape_burst(how & 3u ? how % 60 : how / 2, how & 4u);
        nest_run(&nest, &burst);
        if (how % 3 == 0)
            shape_host_works(&nest);
    }
}

/* ---- Rows ---- */

static const struct {
    const char *name;
    struct upmu_guest_policy policy;
} policies[] = {
    {"all", {.level = UPMU_GUEST_ALL, .flags = UPMU_GUEST_BESIDE_STRANGERS, .min_period = 1, .payload = {0x3f}}},
    {"passes", {.level = UPMU_GUEST_ALL, .flags = UPMU_GUEST_BESIDE_STRANGERS | UPMU_GUEST_PASSES, .min_period = 50}},
    {"polled", {.level = UPMU_GUEST_ARCH, .flags = UPMU_GUEST_BESIDE_STRANGERS | UPMU_GUEST_POLLED, .min_period = 1}},
    {"own", {.level = UPMU_GUEST_IPC, .flags = UPMU_GUEST_OWN_LAPIC | UPMU_GUEST_STRICT}},
};
#define POLICIES (sizeof policies / sizeof policies[0])

static void run_row(unsigned shape, unsigned host, unsigned policy)
{
    digest = UINT64_C(14695981039346656037);
    seed = UINT64_C(0x2545f4914f6cdd1d) + 131 * shape + 17 * host + policy;
    nest_prepare(&nest, shape_hosts[host], NULL);
    nest.policy = policies[policy].policy;
    nest_shape(&nest, shapes[shape].shape.door);
    /* What the CPU of this shape has, as far as the host and the policy can show it. */
    nest.shape.version = shapes[shape].shape.version;
    nest.shape.general = shapes[shape].shape.general;
    nest.shape.full_write = shapes[shape].shape.full_write;
    nest.shape.width = shapes[shape].shape.width;
    if (nest.shape.fixed > shapes[shape].shape.fixed)
        nest.shape.fixed = shapes[shape].shape.fixed;
    nest.handler = ignore_interrupt;
    nest.enter = enter_and_note;
    nest_begin(&nest);
    if (trace) {
        fprintf(trace, "# %s on %s, %s\n", shapes[shape].model, shape_hosts[host], policies[policy].name);
        host_lines = true;
        nest.host.sim.after_access = note_access;
    }
    for (unsigned i = 0; i < STEPS; i++)
        step();
    nest_exit(&nest);
    note_all();
    host_lines = false;
    nest_end(&nest);
}

/* The row of the table is `row`, or it is written there. */
static bool is_as_before(FILE *table, bool writes, const char *const row[4])
{
    char line[200], *field[4];
    bool same = true;

    if (writes) {
        fprintf(table, "%s\t%s\t%s\t%s\n", row[0], row[1], row[2], row[3]);
        return true;
    }
    if (table_row(table, line, sizeof line, field, 4) != 4)
        fail_msg(TABLE " ends before %s on %s, %s", row[0], row[1], row[2]);
    for (unsigned i = 0; i < 4; i++)
        same = same && strcmp(field[i], row[i]) == 0;
    if (!same && shown++ < 5)
        print_error("%s on %s, %s: %s, and %s in the row of %s on %s, %s\n", row[0], row[1], row[2], row[3], field[3],
                    field[0], field[1], field[2]);
    return same;
}

static void guests_see_what_they_saw(void **state)
{
    const char *written = getenv("GUEST_DIGESTS"), *traced = getenv("GUEST_TRACE");
    FILE *table = written ? fopen(written, "w") : source_open(TABLE);
    unsigned rows = 0, failures = 0;

    (void)state;
    assert_non_null(table);
    trace = traced ? fopen(traced, "w") : NULL;
    if (written)
        fprintf(table, "# What guests saw in a fixed run, as digests; tests/unit/ports/test_guest_golden.c writes it.\n"
                       "# shape of\thost\tpolicy\tdigest\n");
    for (unsigned shape = 0; shape < SHAPES; shape++)
        for (unsigned host = 0; host < SHAPE_HOSTS; host++)
            for (unsigned policy = 0; policy < POLICIES; policy++) {
                char sum[20];

                run_row(shape, host, policy);
                snprintf(sum, sizeof sum, "%016llx", (unsigned long long)digest);
                failures += !is_as_before(
                    table, written,
                    (const char *const[4]){shapes[shape].model, shape_hosts[host], policies[policy].name, sum});
                rows++;
            }
    if (trace)
        fclose(trace);
    fclose(table);
    print_message("%u runs of %u steps\n", rows, STEPS);
    assert_int_equal(failures, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guests_see_what_they_saw),
    };

    return cmocka_run_group_tests_name("guest_golden", tests, NULL, NULL);
}
