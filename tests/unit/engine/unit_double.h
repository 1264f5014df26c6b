/* SPDX-License-Identifier: MIT */
/*
 * A device of the host's own with counters, in three spaces and six styles: what the driver of units needs of hardware,
 * and no more.  It counts its accesses by itself, and fails where the hardware would do harm.
 *
 * Register offsets: control 00h, select n 10h + 8n, counter n 80h + 8n, filter F0h; a box is 100h long.  Event code c
 * (bits 7:0 of a select) counts c in each step.
 */
#ifndef UPMU_TESTS_UNIT_DOUBLE_H
#define UPMU_TESTS_UNIT_DOUBLE_H

#include <upmu/event.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include <upmu/unit.h>
#include "tests/common/garbage.h"
#include "tests/common/host.h"

#define DOUBLE_BOXES 8
#define DOUBLE_COUNTERS 4
#define DOUBLE_MSR 0x7000u
#define DOUBLE_SWITCH 0x7f00u /* an MSR of the package without which nothing counts, if the type says so */
#define DOUBLE_WHERE 0x00ff80u /* bus FFh, device 16, function 0 */
#define DOUBLE_PHYSICAL UINT64_C(0xfed10000)
#define DOUBLE_ENABLE (UINT64_C(1) << 22)

enum { DOUBLE_CONTROL = 0x00, DOUBLE_SELECT = 0x10, DOUBLE_COUNTER = 0x80, DOUBLE_FILTER = 0xf0 };

struct unit_double {
    struct host host;
    struct upmu_unit_type type;
    struct upmu_unit_list list;
    struct upmu_unit_info info[DOUBLE_BOXES];
    struct upmu_uncore_pmu pmu[2];
    struct upmu_unit unit, other;
    unsigned boxes;
    unsigned box_dies;                 /* boxes of a die: the rest are on the next one */
    struct {
        uint64_t control, select[DOUBLE_COUNTERS], counter[DOUBLE_COUNTERS], filter;
    } box[DOUBLE_BOXES];
    struct upmu_cpu_place place[UPMU_SIM_CPUS];
    unsigned writes, reads, maps, unmaps;
    unsigned resets[8], reset_count;   /* values of box control with a reset bit */
    struct {
        unsigned offset;
        uint64_t value;
    } written[8]; /* the first writes */
    unsigned writer[DOUBLE_BOXES];     /* 1 + the CPU that wrote last */
    unsigned fail_at;                  /* 1: the next access faults, and so on; 0: none */
    unsigned slow_ns;                  /* each access takes so long */
    unsigned steps;                    /* that much happens before each access */
    uint64_t switched;                 /* what it holds */
    unsigned second;                   /* second base of all boxes */
    unsigned hidden;                   /* bit: box that the host hides */
    unsigned deaf;                     /* bit: box that ignores writes */
    unsigned gone;                     /* bit: box that is gone: reads all ones, or faults (an MSR), and drops writes */
    const char *path;                  /* of box 0 */
    struct upmu_cpu *nearest;          /* the host's choice */
    struct upmu_cpu *allowed[UPMU_SIM_CPUS]; /* among these, as it was asked last */
    unsigned allowed_count;
    bool (*rdmsr)(void *context, uint32_t msr, uint64_t *out_value);
    bool (*wrmsr)(void *context, uint32_t msr, uint64_t value);
};

static struct unit_double *doubled;

static uint64_t *double_register(unsigned box, unsigned offset)
{
    assert_compare(box, <, doubled->boxes);
    if (offset == DOUBLE_CONTROL)
        return &doubled->box[box].control;
    if (offset == DOUBLE_FILTER)
        return &doubled->box[box].filter;
    if (offset >= DOUBLE_COUNTER && offset < DOUBLE_COUNTER + 8 * DOUBLE_COUNTERS)
        return &doubled->box[box].counter[(offset - DOUBLE_COUNTER) / 8];
    assert_true(offset >= DOUBLE_SELECT && offset < DOUBLE_SELECT + 8 * DOUBLE_COUNTERS);
    return &doubled->box[box].select[(offset - DOUBLE_SELECT) / 8];
}

static bool double_counts(unsigned box, unsigned i)
{
    const struct upmu_unit_type *type = &doubled->type;
    uint64_t select = doubled->box[box].select[i], control = doubled->box[box].control;

    switch (type->style) {
    case UPMU_UNIT_GLOBAL:
        return (control >> i & 1u) && (select & DOUBLE_ENABLE);
    case UPMU_UNIT_SELECT:
        return select & DOUBLE_ENABLE;
    case UPMU_UNIT_BOX:
        return !(control & type->freeze) && (select & DOUBLE_ENABLE);
    case UPMU_UNIT_FREE:
        return true;
    default:
        return !(control & type->freeze) && select;
    }
}

static uint64_t double_code(unsigned box, unsigned i)
{
    return doubled->type.style == UPMU_UNIT_FREE ? i + 1u : doubled->box[box].select[i] & 0xff;
}

/* So many steps happen in every box. */
static void double_steps(uint64_t steps)
{
    uint64_t mask = doubled->type.width == 64 ? ~UINT64_C(0) : (UINT64_C(1) << doubled->type.width) - 1u;

    for (unsigned box = 0; box < doubled->boxes; box++)
        for (unsigned i = 0; i < DOUBLE_COUNTERS; i++)
            if (double_counts(box, i))
                doubled->box[box].counter[i] =
                    (doubled->box[box].counter[i] + steps * double_code(box, i)) & mask;
}

static bool double_is_gone(unsigned box)
{
    return doubled->gone >> box & 1u;
}

/* A box loses all that it holds. */
static inline void double_reset(unsigned box)
{
    memset(&doubled->box[box], 0, sizeof doubled->box[box]);
}

/* Before an access, or instead of it. */
static bool double_fails(void)
{
    if (doubled->slow_ns)
        upmu_sim_advance_ns(&doubled->host.sim, doubled->slow_ns);
    double_steps(doubled->steps);
    return doubled->fail_at && !--doubled->fail_at;
}

/* The die that executes sees the MSRs of its own boxes. */
static void double_check_cpu(unsigned box)
{
    const struct upmu_cpu_place *place = &doubled->place[doubled->host.sim.current];

    assert_int_equal(place->package, doubled->info[box].package, box);
    assert_int_equal(place->die, doubled->info[box].die, box);
}

static void double_note_write(unsigned box, unsigned offset, uint64_t value)
{
    unsigned cpu = doubled->host.sim.current + 1u;

    if (doubled->writes < 8) {
        doubled->written[doubled->writes].offset = offset;
        doubled->written[doubled->writes].value = value;
    }
    doubled->writes++;
    /* Until it is told, a unit has one writer. */
    assert_true(!doubled->writer[box] || doubled->writer[box] == cpu, box);
    doubled->writer[box] = cpu;
    assert_false(offset >= DOUBLE_COUNTER && offset < DOUBLE_FILTER);
    if (offset == DOUBLE_CONTROL && (value & doubled->type.reset) && box == 0 && doubled->reset_count < 8)
        doubled->resets[doubled->reset_count++] = (unsigned)value;
}

static bool double_rdmsr(void *context, uint32_t msr, uint64_t *out_value)
{
    if (msr == DOUBLE_SWITCH)
        *out_value = doubled->switched;
    if (msr == DOUBLE_SWITCH)
        return true;
    if (msr - DOUBLE_MSR >= DOUBLE_BOXES * 0x100u)
        return doubled->rdmsr(context, msr, out_value);
    double_check_cpu((msr - DOUBLE_MSR) >> 8);
    doubled->reads++;
    if (double_fails() || double_is_gone((msr - DOUBLE_MSR) >> 8))
        return garbage(out_value);
    *out_value = *double_register((msr - DOUBLE_MSR) >> 8, msr & 0xffu);
    return true;
}

static bool double_wrmsr(void *context, uint32_t msr, uint64_t value)
{
    if (msr == DOUBLE_SWITCH)
        doubled->switched = value;
    if (msr == DOUBLE_SWITCH)
        return true;
    if (msr - DOUBLE_MSR >= DOUBLE_BOXES * 0x100u)
        return doubled->wrmsr(context, msr, value);
    double_check_cpu((msr - DOUBLE_MSR) >> 8);
    double_note_write((msr - DOUBLE_MSR) >> 8, msr & 0xffu, value);
    if (double_fails() || double_is_gone((msr - DOUBLE_MSR) >> 8))
        return false;
    if (!(doubled->deaf >> ((msr - DOUBLE_MSR) >> 8) & 1u))
        *double_register((msr - DOUBLE_MSR) >> 8, msr & 0xffu) = value;
    return true;
}

static bool double_pci_read(void *context, uint32_t where, uint32_t offset, uint32_t *out_value)
{
    (void)context;
    *out_value = 0xffffffffu; /* all else is absent */
    if (where - DOUBLE_WHERE >= DOUBLE_BOXES)
        return true;
    assert_int_equal(offset % 4, 0);
    doubled->reads++;
    if (double_fails()) {
        *out_value = (uint32_t)GARBAGE;
        return false;
    }
    if (!double_is_gone(where - DOUBLE_WHERE))
        *out_value = (uint32_t)(*double_register(where - DOUBLE_WHERE, offset & ~7u) >> (offset & 4u) * 8u);
    return true;
}

static bool double_pci_write(void *context, uint32_t where, uint32_t offset, uint32_t value)
{
    uint64_t *at = double_register(where - DOUBLE_WHERE, offset & ~7u);
    unsigned shift = (offset & 4u) * 8u;

    (void)context;
    assert_int_equal(offset % 4, 0);
    double_note_write(where - DOUBLE_WHERE, offset, value);
    if (double_fails())
        return false;
    if (!((doubled->deaf | doubled->gone) >> (where - DOUBLE_WHERE) & 1u))
        *at = (*at & ~(UINT64_C(0xffffffff) << shift)) | (uint64_t)value << shift;
    return true;
}

static void *double_map(void *context, uint64_t physical, size_t bytes)
{
    unsigned box = (unsigned)((physical - DOUBLE_PHYSICAL) >> 8);

    (void)context;
    assert_true(box < DOUBLE_BOXES && bytes <= 0x100 && doubled->maps < 64);
    doubled->maps++;
    return (void *)(uintptr_t)(0x10000u + box * 0x100u);
}

static void double_unmap(void *context, void *pointer, size_t bytes)
{
    (void)context, (void)pointer, (void)bytes;
    doubled->unmaps++;
}

static bool double_mmio_read(void *context, const volatile void *pointer, unsigned bits, uint64_t *out_value)
{
    unsigned at = (unsigned)((uintptr_t)pointer - 0x10000u);

    (void)context;
    assert_int_equal(at % (bits / 8), 0);
    doubled->reads++;
    if (double_fails())
        return garbage(out_value);
    *out_value = double_is_gone(at >> 8) ? UINT64_MAX : *double_register(at >> 8, at & 0xf8u) >> (at & 4u) * 8u;
    if (bits == 32)
        *out_value &= 0xffffffffu;
    return true;
}

static bool double_mmio_write(void *context, volatile void *pointer, unsigned bits, uint64_t value)
{
    unsigned at = (unsigned)((uintptr_t)pointer - 0x10000u), shift = (at & 4u) * 8u;
    uint64_t *to = double_register(at >> 8, at & 0xf8u);
    uint64_t mask = bits == 32 ? UINT64_C(0xffffffff) << shift : ~UINT64_C(0);

    (void)context;
    assert_int_equal(at % (bits / 8), 0);
    double_note_write(at >> 8, at & 0xffu, value);
    if (double_fails())
        return false;
    if (!((doubled->deaf | doubled->gone) >> (at >> 8) & 1u))
        *to = (*to & ~mask) | (value << shift & mask);
    return true;
}

static bool double_place(void *context, struct upmu_cpu *cpu, struct upmu_cpu_place *out_place)
{
    (void)context;
    for (unsigned i = 0; i < UPMU_SIM_CPUS; i++)
        if (cpu == &doubled->host.cpu[i])
            *out_place = doubled->place[i];
    return true;
}

static struct upmu_cpu *double_nearest(void *context, const struct upmu_unit_info *unit,
                                       struct upmu_cpu *const *allowed, unsigned count)
{
    (void)context, (void)unit;
    doubled->allowed_count = count;
    for (unsigned i = 0; i < count && i < UPMU_SIM_CPUS; i++)
        doubled->allowed[i] = allowed[i];
    return doubled->nearest;
}

static bool double_show(void *context, struct upmu_unit_info *info)
{
    (void)context;
    return !(doubled->hidden >> info->number & 1u);
}

static bool double_own(void *context, unsigned i, struct upmu_unit_info *out_info,
                       const struct upmu_unit_type **out_type)
{
    (void)context;
    if (i >= doubled->boxes)
        return false;
    out_info->number = (uint16_t)(doubled->box_dies ? i % doubled->box_dies : i);
    out_info->package = (uint8_t)(doubled->box_dies ? i / doubled->box_dies : 0);
    out_info->base = doubled->type.space == UPMU_SPACE_MSR   ? DOUBLE_MSR + 0x100u * i
                     : doubled->type.space == UPMU_SPACE_PCI ? DOUBLE_WHERE + i
                                                             : DOUBLE_PHYSICAL + 0x100u * i;
    out_info->second = doubled->second;
    out_info->name = i ? NULL : doubled->path;
    *out_type = &doubled->type;
    return true;
}

/* The model with the device; hooks can still be changed. */
static void double_prepare(struct unit_double *d, unsigned style, unsigned space, unsigned boxes, unsigned cpus)
{
    memset(d, 0, sizeof *d);
    doubled = d;
    host_prepare_cpus(&d->host, "skylake", cpus < 2 ? 2 : cpus);
    d->rdmsr = d->host.sim.port.rdmsr;
    d->wrmsr = d->host.sim.port.wrmsr;
    d->host.sim.port.rdmsr = double_rdmsr;
    d->host.sim.port.wrmsr = double_wrmsr;
    d->host.sim.port.pci_read = double_pci_read;
    d->host.sim.port.pci_write = double_pci_write;
    d->host.sim.port.mmio_map = double_map;
    d->host.sim.port.mmio_unmap = double_unmap;
    d->host.sim.port.mmio_read = double_mmio_read;
    d->host.sim.port.mmio_write = double_mmio_write;
    d->host.sim.port.cpu_place = double_place;
    d->host.sim.port.nearest_cpu = double_nearest;
    d->host.sim.port.show_unit = double_show;
    d->host.sim.port.own_unit = double_own;
    d->boxes = boxes;
    d->type = (struct upmu_unit_type){.name = "vectorcopro", .pmu = "vcp", .title = "vector coprocessor",
                                      .style = (uint8_t)style, .space = (uint8_t)space, .counters = DOUBLE_COUNTERS,
                                      .width = 48, .select_step = 8, .counter_step = 8, .register_bits = 64,
                                      .enable_bit = 22, .scope = UPMU_SCOPE_DIE, .rdpmc = 0xffff,
                                      .control = DOUBLE_CONTROL, .select = DOUBLE_SELECT, .counter = DOUBLE_COUNTER,
                                      .select_mask = 0xffff, .rate_mhz = 4000};
    if (style >= UPMU_UNIT_BOX && style <= UPMU_UNIT_CLIENT_IMC)
        d->type.freeze = style == UPMU_UNIT_BOX ? 0x100 : 1;
    if (style == UPMU_UNIT_DISCOVERED || style == UPMU_UNIT_CLIENT_IMC)
        d->type.enable_bit = 0xff;
}

static void double_begin(struct unit_double *d, unsigned cpus)
{
    host_machine(&d->host);
    host_take_over(&d->host, cpus, false);
    d->list.unit = d->info;
    d->list.unit_capacity = DOUBLE_BOXES;
    d->list.pmu = d->pmu;
    d->list.pmu_capacity = 2;
    assert_int_equal(upmu_units_find(&d->host.cpu[0], &d->list, 0), UPMU_OK);
}

static void double_event(struct unit_double *d, struct upmu_session *session, unsigned code)
{
    struct upmu_event event;

    assert_int_equal(upmu_event_raw(&d->pmu[0].pmu, code, 0, 0, &event), UPMU_OK);
    assert_int_equal(upmu_set_add_event(&session->set, &event, NULL), UPMU_OK);
}

/* The host's session counts an event on the unit. */
static inline void double_count(struct unit_double *d, unsigned code)
{
    double_event(d, &d->host.session, code);
    assert_int_equal(upmu_session_attach_unit(&d->host.session, &d->unit), UPMU_OK);
    assert_int_equal(upmu_session_start(&d->host.session), UPMU_OK);
}

#endif
