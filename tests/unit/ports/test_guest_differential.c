/* SPDX-License-Identifier: MIT */
/*
 * The guest engine against the silicon model: the same random accesses and the same execution, on the
 * model of a CPU and in a guest of that shape on a host of any kind.  Each value that is read, and
 * each fault, is equal.
 */
#include "tests/guest/nest.c"
#include "tests/guest/operations.h"
#include "tests/guest/shapes.h"

static struct nest nest;
static struct upmu_sim model;

static uint64_t seed;
static unsigned long long operations; /* on registers */

static uint64_t draw(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static unsigned below(unsigned limit)
{
    return (unsigned)(draw() >> 20) % limit;
}

/* ---- One side and the other ---- */

/* The instruction of an access that did not fault.  The guest's counts by what the hypervisor says of it. */
static void model_retires(bool done)
{
    if (done)
        upmu_sim_events(&model, &(struct upmu_sim_burst){.instructions = 1});
}

static bool is_same(const char *what, uint32_t address, bool done, uint64_t value, bool expected_done,
                    uint64_t expected)
{
    if (done == expected_done && (!done || value == expected))
        return true;
    print_error("%s %x: %s %llx, the model: %s %llx\n", what, (unsigned)address, done ? "done" : "#GP",
                (unsigned long long)value, expected_done ? "done" : "#GP", (unsigned long long)expected);
    return false;
}

static bool read_both(uint32_t address)
{
    uint64_t value = 0, expected = 0;
    bool expected_done = model.port.rdmsr(model.port.context, address, &expected);
    bool done = nest.port.rdmsr(&nest, address, &value);

    model_retires(expected_done);
    return is_same("RDMSR", address, done, value, expected_done, expected);
}

static bool write_both(uint32_t address, uint64_t value)
{
    bool expected = model.port.wrmsr(model.port.context, address, value);

    model_retires(expected);
    return is_same("WRMSR", address, nest.port.wrmsr(&nest, address, value), value, expected, value);
}

static bool rdpmc_both(uint32_t index)
{
    uint64_t value = 0, expected = 0;
    bool expected_done = model.port.rdpmc(model.port.context, index, &expected);
    bool done = nest.port.rdpmc(&nest, index, &value);

    model_retires(expected_done);
    return is_same("RDPMC", index, done, value, expected_done, expected);
}

static void run_both(void)
{
    unsigned n = below(4) ? below(40) : below(600);
    struct upmu_sim_burst burst = shape_burst(n, below(2));

    upmu_sim_events(&model, &burst);
    nest_run(&nest, &burst);
    if (below(3) == 0)
        shape_host_works(&nest);
}

/* ---- What is written ---- */

static uint64_t draw_select(const struct upmu_guest_shape *shape)
{
    static const uint16_t intel[] = {0x3c, 0xc0, 0xc4, 0xc5}, amd[] = {0x76, 0xc0, 0xc2, 0xc3};
    uint64_t select = (shape->door == UPMU_GUEST_INTEL ? intel : amd)[below(4)];

    select |= (uint64_t)below(4) << 16;
    select |= below(4) ? GUEST_SELECT_EN : 0;
    select |= below(3) ? 0 : GUEST_SELECT_INT;
    if (shape->door == UPMU_GUEST_INTEL && below(20) == 0)
        select |= UPMU_BIT64(36 + below(28));
    return select;
}

/* Near the width, near 0, anything. */
static uint64_t draw_count(const struct upmu_guest_shape *shape)
{
    uint64_t mask = upmu_bits_ones(shape->width);

    switch (below(8)) {
    case 0:
        return draw();
    case 1:
        return below(100);
    case 2:
        return draw() & mask;
    case 3:
        return 0xffffffffu - below(100);
    default:
        return mask - below(300) - 2u;
    }
}

static bool act_intel(const struct upmu_guest_shape *shape)
{
    uint64_t counters = (UPMU_BIT64(shape->general) - 1u) | (UPMU_BIT64(shape->fixed) - 1u) << 32;
    unsigned general = below(shape->general + (below(10) == 0)), fixed = below(3);
    bool write = below(2);

    switch (below(12)) {
    case 0:
        return write ? write_both(0x4c1 + general, draw_count(shape)) : read_both(0x4c1 + general);
    case 1:
    case 2:
        return write ? write_both(0xc1 + general, draw_count(shape)) : read_both(0xc1 + general);
    case 3:
    case 4:
        return write ? write_both(0x186 + general, draw_select(shape)) : read_both(0x186 + general);
    case 5:
        return write ? write_both(0x309 + fixed, draw_count(shape)) : read_both(0x309 + fixed);
    case 6:
        return write ? write_both(0x38d, draw() & (below(9) ? 0xbbb : 0x1bbb)) : read_both(0x38d);
    case 7:
        return write ? write_both(0x38f, draw() & (below(9) ? counters : counters << 1)) : read_both(0x38f);
    case 8:
        return write ? write_both(0x390, draw() & counters) : read_both(0x38e);
    case 9:
        return write ? write_both(0x391, draw() & counters) : read_both(0x392);
    case 10:
        return rdpmc_both(below(2) ? general : 0x40000000u + fixed);
    default:
        return read_both(0x38e + below(5));
    }
}

static bool act_amd(const struct upmu_guest_shape *shape)
{
    unsigned legacy = below(4), core = below(6);
    bool write = below(2);

    switch (below(8)) {
    case 0:
        return write ? write_both(0xc0010000u + legacy, draw_select(shape)) : read_both(0xc0010000u + legacy);
    case 1:
        return write ? write_both(0xc0010004u + legacy, draw_count(shape)) : read_both(0xc0010004u + legacy);
    case 2:
    case 3:
        return write ? write_both(0xc0010200u + 2 * core, draw_select(shape)) : read_both(0xc0010200u + 2 * core);
    case 4:
        return write ? write_both(0xc0010201u + 2 * core, draw_count(shape)) : read_both(0xc0010201u + 2 * core);
    case 5:
        return rdpmc_both(below(6));
    case 6:
        return write ? write_both(0xc0000301u, draw() & 0x3f) : read_both(0xc0000301u);
    default:
        return write ? write_both(0xc0000302u + below(2), draw() & 0x3f) : read_both(0xc0000300u + below(4));
    }
}

static void ignore_interrupt(struct nest *guest, const struct upmu_frame *frame)
{
    (void)guest;
    (void)frame;
}

/* So many operations of one guest. */
static bool compare(unsigned shape, const char *host, unsigned long long asked)
{
    unsigned long long last = operations + asked;
    bool same = true;

    shape_model(&model, &shapes[shape]);
    model.expect_faults = true;
    while (operations < last && same) {
        if (below(4) == 0) {
            run_both();
            continue;
        }
        operations++;
        same = shapes[shape].shape.door == UPMU_GUEST_INTEL ? act_intel(&shapes[shape].shape)
                                                            : act_amd(&shapes[shape].shape);
        if (!same)
            print_error("shape %s on %s, %llu operations before the end\n", shapes[shape].model, host,
                        last - operations);
    }
    return same;
}

/* A host that is ready for a guest of this shape; false: it has too few counters. */
static bool prepare(unsigned host, unsigned shape)
{
    nest_prepare(&nest, shape_hosts[host], NULL);
    nest.shape = shapes[shape].shape;
    nest.handler = ignore_interrupt;
    nest.traps_count = true;
    return shape_has_room(&nest.shape, &nest.host.machine.pmu[0]);
}

static bool is_of(unsigned shape, bool intel)
{
    return (shapes[shape].shape.door == UPMU_GUEST_INTEL) == intel;
}

/* On each host each shape of Intel's door, or of AMD's; the operations are shared out evenly. */
static void compare_door(bool intel, unsigned long long asked)
{
    unsigned pairs = 0, failures = 0;

    for (unsigned host = 0; host < SHAPE_HOSTS; host++)
        for (unsigned shape = 0; shape < SHAPES; shape++)
            pairs += is_of(shape, intel) && prepare(host, shape);
    assert_compare(pairs, >, 10);
    operations = 0;
    for (unsigned host = 0; host < SHAPE_HOSTS; host++)
        for (unsigned shape = 0; shape < SHAPES; shape++) {
            if (!is_of(shape, intel) || !prepare(host, shape))
                continue;
            seed = 0x9e3779b97f4a7c15u + 977 * host + shape;
            nest_begin(&nest);
            if (compare(shape, shape_hosts[host], asked / pairs + 1))
                nest_end(&nest);
            else
                failures++;
        }
    assert_int_equal(failures, 0);
    assert_compare(operations, >=, asked);
    guest_operations_made(intel ? "of Intel" : "of AMD", operations);
}

static void a_guest_reads_what_the_model_reads(void **state)
{
    (void)state;
    compare_door(true, guest_operations(65000, 50000000));
}

static void a_guest_of_amd_reads_what_the_model_reads(void **state)
{
    (void)state;
    compare_door(false, guest_operations(40000, 50000000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guest_reads_what_the_model_reads),
        cmocka_unit_test(a_guest_of_amd_reads_what_the_model_reads),
    };

    return cmocka_run_group_tests_name("guest_differential", tests, NULL, NULL);
}
