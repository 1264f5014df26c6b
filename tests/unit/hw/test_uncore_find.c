/* SPDX-License-Identifier: MIT */
/*
 * Finding the units of the model's machines: each box that is there, once, on its die, with its registers where the
 * model has them; damaged tables of discovery and machines with something missing; nothing is written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/assertions.h"

#include "backends/uncore/uncore.h"
#include "core/util/bits.h"
#include "models/sim/sim_uncore.h"
#include "tests/common/garbage.h"
#include "tests/common/share.h"

#define UNITS 400
#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

static struct upmu_sim sim;
static struct upmu_sim_uncore model;
static struct upmu_unit_info units[UNITS];
static struct upmu_uncore_pmu pmus[UPMU_UNIT_TYPES];
static struct upmu_unit_list list;
static struct upmu_uncore_seen seen;
static bool promises; /* MSRs that are not promised are not read */
static bool without_pci;

static void see_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    (void)context;
    sim.port.cpuid(sim.port.context, leaf, subleaf, out);
}

static bool see_msr(void *context, uint32_t msr, bool promised, uint64_t *out_value)
{
    (void)context;
    return promised || !promises ? sim.port.rdmsr(sim.port.context, msr, out_value) : garbage(out_value);
}

static bool see_pci(void *context, uint32_t where, uint32_t offset, uint32_t *out_value)
{
    (void)context;
    *out_value = (uint32_t)GARBAGE;
    return !without_pci && sim.port.pci_read(sim.port.context, where, offset, out_value);
}

static void *see_map(void *context, uint64_t physical, size_t bytes)
{
    (void)context;
    return sim.port.mmio_map(sim.port.context, physical, bytes);
}

static void *(*maps)(void *context, uint64_t physical, size_t bytes) = see_map;

static void see_unmap(void *context, void *pointer, size_t bytes)
{
    (void)context;
    sim.port.mmio_unmap(sim.port.context, pointer, bytes);
}

static unsigned ones; /* so many reads of memory find all ones */

static bool see_memory(void *context, const volatile void *pointer, unsigned bits, uint64_t *out_value)
{
    (void)context;
    if (ones) {
        ones--;
        *out_value = UINT64_MAX >> (64 - bits);
        return true;
    }
    return sim.port.mmio_read(sim.port.context, pointer, bits, out_value);
}

static void begin(const char *machine)
{
    upmu_sim_uncore_init(&model, &sim, upmu_sim_machine(machine));
    memset(&list, 0, sizeof list);
    list = (struct upmu_unit_list){.unit = units, .pmu = pmus, .unit_capacity = UNITS, .pmu_capacity = UPMU_UNIT_TYPES};
    promises = without_pci = false;
    maps = see_map;
}

/* As the CPU `cpu` of the model sees it. */
static enum upmu_status find_on(unsigned cpu, bool force)
{
    uint32_t leaf[4], vendor[4];
    unsigned per_die = model.machine->dies;

    upmu_sim_switch_cpu(&sim, cpu);
    (void)sim.port.irq_save(sim.port.context);
    see_cpuid(NULL, 0, 0, vendor);
    see_cpuid(NULL, 1, 0, leaf);
    memset(&seen, 0, sizeof seen);
    seen = (struct upmu_uncore_seen){.cpuid = see_cpuid,
                                     .rdmsr = see_msr,
                                     .pci_read = see_pci,
                                     .map = maps,
                                     .unmap = see_unmap,
                                     .mmio_read = see_memory,
                                     .family = (uint16_t)((leaf[0] >> 8 & 0xfu) + (leaf[0] >> 20 & 0xffu)),
                                     .model = (uint16_t)((leaf[0] >> 4 & 0xfu) | (leaf[0] >> 12 & 0xf0u)),
                                     .stepping = (uint8_t)(leaf[0] & 0xfu),
                                     .amd = vendor[1] == 0x68747541,
                                     .force = force,
                                     .cores = model.machine->cores ? model.machine->cores
                                                                   : model.machine->cpus / model.machine->packages,
                                     .dies = model.machine->dies};
    seen.place.package = model.place[cpu].package;
    seen.place.die = (uint16_t)(model.place[cpu].die % per_die);
    seen.place.llc = model.place[cpu].llc;
    return upmu_uncore_find(&seen, &list);
}

static enum upmu_status find_all(void)
{
    enum upmu_status worst = UPMU_OK;

    for (unsigned cpu = 0; cpu < model.machine->cpus; cpu++) {
        enum upmu_status status = find_on(cpu, false);

        if (status != UPMU_OK)
            worst = status;
    }
    return worst;
}

static const struct upmu_unit_info *info_of(const struct upmu_sim_unit *unit)
{
    for (unsigned i = 0; i < list.unit_count; i++) {
        const struct upmu_unit_info *info = &units[i];
        const struct upmu_unit_type *type = pmus[info->type].type;
        unsigned die = info->package * model.machine->dies + info->die;

        if (!strcmp(type->name, unit->type->name) && die == unit->die &&
            (type->scope == UPMU_SCOPE_LLC ? info->llc == unit->llc : info->number == unit->number))
            return info;
    }
    return NULL;
}

/* Where a register of the library's list is, and one of the model's. */
static uint64_t ours(const struct upmu_unit_info *info, unsigned row)
{
    const struct upmu_uncore_pmu *pmu = &pmus[info->type];
    bool second = pmu->table.classes[pmu->row[row].class_index].second;

    if (pmu->type->space == UPMU_SPACE_MSR)
        return (uint32_t)(pmu->row[row].address + (second ? info->second : info->base));
    return pmu->row[row].address + (uint64_t)(second ? info->second : info->base) * 1;
}

static uint64_t theirs(const struct upmu_sim_unit *unit, uint32_t address)
{
    return unit->base + address;
}

static unsigned differences;

static void compare(const struct upmu_sim_unit *unit, const char *what, unsigned i, uint64_t is, uint64_t expected)
{
    if (is == expected)
        return;
    printf("%s die %u %s %u: %s %u is at %#llx, not %#llx\n", model.machine->name, unit->die, unit->type->name,
           unit->number, what, i, (unsigned long long)is, (unsigned long long)expected);
    differences++;
}

/* Sources disagree about counters above the first: the library offers one (docs/uncore.md). */
static bool one_counter(const struct upmu_sim_unit *unit)
{
    return (strstr("hsx2 bdx2", model.machine->name) && !strcmp(unit->type->name, "irp")) ||
           (strstr("spr emr", model.machine->name) && !strcmp(unit->type->name, "m3upi"));
}

static void compare_registers(const struct upmu_sim_unit *unit, const struct upmu_unit_info *info)
{
    const struct upmu_sim_unit_type *type = unit->type;
    const struct upmu_uncore_pmu *pmu = &pmus[info->type];
    unsigned counters = type->style == UPMU_SIM_UNIT_FREE ? 0 : one_counter(unit) ? 1 : type->counters;

    if (type->style != UPMU_SIM_UNIT_FREE)
        compare(unit, "counters", 0, (unsigned)__builtin_popcount(pmu->pmu.general), counters);
    for (unsigned i = 0; i < counters; i++) {
        compare(unit, "counter", i, ours(info, pmu->pmu.counter[i].value_row),
                theirs(unit, type->counter + i * type->counter_step));
        compare(unit, "select", i, ours(info, pmu->pmu.counter[i].select_row),
                theirs(unit, type->select + i * type->select_step));
    }
    if (pmu->type->style == UPMU_UNIT_DISCOVERED)
        compare(unit, "width", 0, pmu->type->width, type->width);
    if (type->fixed_width && type->style != UPMU_SIM_UNIT_FREE) {
        const struct upmu_counter *fixed = &pmu->pmu.counter[UPMU_FIXED_COUNTER(0)];

        compare(unit, "fixed counter", 0, ours(info, fixed->value_row), theirs(unit, type->fixed_counter));
        compare(unit, "fixed select", 0, ours(info, fixed->select_row), theirs(unit, type->fixed_select));
    }
    if (pmu->type->style == UPMU_UNIT_BOX || pmu->type->style == UPMU_UNIT_DISCOVERED)
        compare(unit, "control", 0, ours(info, 0), theirs(unit, type->control));
    if (type->style == UPMU_SIM_UNIT_FREE) {
        unsigned number = 0;

        for (const struct upmu_sim_free *free = type->free; free->count; free++)
            for (unsigned i = 0; i < free->count; i++, number++) {
                uint64_t at = free->address + (uint64_t)i * free->step + unit->base;
                bool found = false;

                if (type->space == UPMU_SIM_SPACE_MSR)
                    at += free->list ? free->list[unit->index] : (uint64_t)free->unit_step * unit->index;
                for (uint32_t rest = pmu->pmu.counters; rest; rest &= rest - 1u)
                    found |= ours(info, pmu->pmu.counter[upmu_bits_lowest(rest)].value_row) == at;
                compare(unit, "free-running counter", number, found, true);
            }
    }
}

static const char *const machines[] = {"nhm", "snb", "skx2", "hsx2", "icx", "zen2", "zen4", "bulldozer2", "adl", "spr",
                                       "emr", "bdx2", "knl1", "nhmex", "ptl"};

static void every_box_is_found_once_on_its_die_where_the_model_has_it(void **state)
{
    (void)state;
    differences = 0;
    for (size_t i = 0; i < LENGTH(machines); i++) {
        unsigned found = 0, more = 0, accesses;

        begin(machines[i]);
        (void)find_on(0, false);
        accesses = seen.accesses;
        if (find_all() != UPMU_OK) {
            printf("%s: %s at %#llx\n", machines[i], seen.failure, (unsigned long long)seen.failed_at);
            differences++;
        }
        for (unsigned k = 0; k < model.units; k++) {
            const struct upmu_sim_unit *unit = &model.unit[k];
            const struct upmu_unit_info *info = unit->absent ? NULL : info_of(unit);

            if (unit->absent)
                continue;
            compare(unit, "box", 0, info != NULL, true);
            if (info)
                compare_registers(unit, info);
            found += info != NULL;
        }
        /* Energy is not in the model. */
        for (unsigned k = 0; k < list.unit_count; k++)
            more += !strcmp(pmus[units[k].type].type->name, "power");
        printf("%s: %u boxes, %u types, %u accesses\n", machines[i], found, list.pmu_count, accesses);
        /* Configuration space is searched once. */
        assert_true(model.machine->cpus == 1 || seen.accesses < 300);
        if (list.unit_count != found + more) {
            printf("%s: %u boxes too many\n", machines[i], list.unit_count - found - more);
            differences++;
        }
        for (unsigned k = 1; k < list.unit_count; k++)
            for (unsigned m = 0; m < k; m++)
                assert_false(units[k].type == units[m].type && units[k].package == units[m].package &&
                             units[k].die == units[m].die && units[k].number == units[m].number, k, m);
        assert_int_equal(model.unit_writes, 0);
        assert_int_equal(sim.access_count[UPMU_SIM_PCI_WRITE], 0);
        assert_int_equal(model.maps, model.unmaps);
    }
    assert_int_equal(differences, 0);
}

/* Boxes of one type and die stand side by side in the list, by number. */
static void boxes_of_a_type_and_die_stand_side_by_side(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(machines); i++) {
        begin(machines[i]);
        (void)find_all();
        for (unsigned k = 0; k < list.unit_count; k++)
            for (unsigned m = k + 2; m < list.unit_count; m++) {
                const struct upmu_unit_info *a = &units[k], *b = &units[m], *between = &units[k + 1];

                /* (A complex of cores has a unit of its own.) */
                if (pmus[a->type].type->scope == UPMU_SCOPE_LLC)
                    continue;
                if (a->type != b->type || a->package != b->package || a->die != b->die)
                    continue;
                assert_true(between->type == a->type && between->package == a->package && between->die == a->die);
                assert_compare(between->number, >, a->number);
            }
    }
}

static unsigned count(const char *name)
{
    unsigned boxes = 0;

    for (unsigned i = 0; i < list.unit_count; i++)
        boxes += !strcmp(pmus[units[i].type].type->name, name);
    return boxes;
}

/* Names are libpfm4's, titles Intel's. */
static void units_are_named_after_their_generation(void **state)
{
    static const struct {
        const char *machine, *pmu, *title;
    } names[] = {
        {"hsx2", "hswep_unc_sbo", "Haswell-EP sbox"},
        {"spr", "spr_unc_cha", "Sapphire Rapids cha"},
        {"emr", "emr_unc_cha", "Emerald Rapids cha"},
        {"bdx2", "bdx_unc_sbo", "Broadwell-EP sbox"},
        {"knl1", "knl_unc_edc_uclk", "Knights Landing edc_uclk"},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(names); i++) {
        unsigned found = 0;

        begin(names[i].machine);
        assert_int_equal(find_all(), UPMU_OK);
        for (unsigned k = 0; k < list.pmu_count; k++)
            found += !strcmp(pmus[k].pmu.name, names[i].pmu) && !strcmp(pmus[k].pmu.title, names[i].title);
        assert_int_equal(found, 1);
    }
}

static void what_is_missing_leaves_the_rest(void **state)
{
    (void)state;
    begin("skx2");
    without_pci = true;
    assert_int_equal(find_on(0, false), UPMU_ERR_PORT);
    assert_int_equal(count("imc"), 0);
    assert_int_equal(count("cha"), 0);
    assert_non_null(seen.failure);
    assert_int_equal(count("iio"), 6);
    begin("skx2");
    model.no_u_boxes = true;
    assert_int_equal(find_on(0, false), UPMU_OK);
    assert_compare(count("imc"), >=, 6);
    begin("adl");
    model.bar_off = true;
    assert_int_equal(find_on(0, false), UPMU_OK);
    assert_int_equal(count("imc"), 0);
    assert_compare(count("cbox"), >, 0);
    begin("snb");
    model.refused_map = 1;
    assert_int_equal(find_on(0, false), UPMU_OK);
    assert_int_equal(count("imc"), 0);
}

/* How many S-boxes a machine has whose CAPID4 and model are others; each that the model has is there. */
static unsigned s_boxes(const char *name, uint32_t signature, uint32_t capid4)
{
    static struct upmu_sim_machine machine;
    static struct upmu_sim_unit_row rows[16];
    static struct upmu_sim_pci_register functions[16];

    machine = *upmu_sim_machine(name);
    for (unsigned i = 0; i == 0 || rows[i - 1].type; i++) {
        rows[i] = machine.units[i];
        if (rows[i].type && !strcmp(rows[i].type->name, "sbox"))
            rows[i].absent = 0;
    }
    memcpy(functions, machine.functions, 5 * sizeof *functions);
    assert_int_equal(functions[4].offset, 0x94);
    functions[4].value[0] = functions[4].value[1] = capid4;
    machine.units = rows;
    machine.functions = functions;
    machine.signature = signature;
    begin("hsx2");
    upmu_sim_uncore_init(&model, &sim, &machine);
    assert_int_equal(find_on(0, false), UPMU_OK);
    assert_true(count("cbox") > 0 && count("imc") > 0);
    return count("sbox");
}

/* Linux 6.12 uncore_snbep.c: two where bits 7:6 of CAPID4 are 0; then Broadwell-EP has none, Broadwell-DE never. */
static void capid4_says_how_many_s_boxes_there_are(void **state)
{
    (void)state;
    assert_int_equal(s_boxes("hsx2", 0x306f2, 0xffffff3f), 2);
    assert_int_equal(s_boxes("hsx2", 0x306f2, 0x40), 4);
    assert_int_equal(s_boxes("hsx2", 0x306f2, 0x80), 4);
    assert_int_equal(s_boxes("bdx2", 0x406f1, 0xffffff3f), 0);
    assert_int_equal(s_boxes("bdx2", 0x406f1, 0x40), 4);
    assert_int_equal(s_boxes("bdx2", 0x50663, 0xc0), 0);
}

/*
 * A table with slices that do not exist: MSR 2FFEH counts those that do, whose numbers have holes.  What was compared
 * was the number, so that slices that exist were missing in a sum.
 */
static void slices_of_a_table_are_counted_not_numbered(void **state)
{
    static const struct upmu_sim_msr_value values[] = {{0x2ffe, {4, 5}}, {0}};
    static struct upmu_sim_machine some;
    unsigned of[2] = {0, 0};

    (void)state;
    begin("spr");
    some = *model.machine;
    some.values = values;
    upmu_sim_uncore_init(&model, &sim, &some);
    assert_int_equal(find_all(), UPMU_OK);
    for (unsigned i = 0; i < list.unit_count; i++)
        if (!strcmp(pmus[units[i].type].type->name, "cha")) {
            static const uint16_t ids[] = {0, 1, 2, 5, 9};

            assert_int_equal(units[i].number, ids[of[units[i].package]++]);
        }
    assert_int_equal(of[0], 4);
    assert_int_equal(of[1], 5);
    assert_int_equal(count("imc"), 8);
    /* Emerald Rapids' register is not believed. */
    begin("emr");
    some = *model.machine;
    some.values = values;
    upmu_sim_uncore_init(&model, &sim, &some);
    assert_int_equal(find_all(), UPMU_OK);
    assert_int_equal(count("cha"), 12);
}

static void more_cores_do_not_make_more_boxes_than_a_type_has(void **state)
{
    (void)state;
    begin("snb");
    (void)find_on(0, false);
    list.unit_count = list.pmu_count = 0;
    seen.cores = 100;
    assert_int_equal(upmu_uncore_find(&seen, &list), UPMU_OK);
    /* (Boxes above the fourth are not asked for.) */
    assert_compare(seen.accesses, <, 30);
    assert_int_equal(count("cbox"), 2);
}

/* A machine whose functions have other registers. */
static struct upmu_sim_machine altered;
static struct upmu_sim_pci_register functions[64];

static void alter(const char *name)
{
    altered = *upmu_sim_machine(name);
    for (unsigned i = 0; i == 0 || functions[i - 1].value[0] || functions[i - 1].offset; i++)
        functions[i] = altered.functions[i];
    altered.functions = functions;
    begin(name);
}

static void set_register(unsigned offset, uint32_t first, uint32_t second)
{
    for (unsigned i = 0; functions[i].value[0] || functions[i].offset; i++)
        if (functions[i].offset == offset) {
            functions[i].value[0] = first;
            functions[i].value[1] = second;
        }
}

/* Ice Lake-SP with two packages: node 3 is die 1. */
static void memory_controllers_are_on_the_die_of_their_bus(void **state)
{
    unsigned boxes[2] = {0, 0};

    (void)state;
    alter("icx");
    set_register(0xc0, 2, 3);
    set_register(0xd4, 2 | 3 << 3, 2 | 3 << 3);
    set_register(0xd0, 0x202, 0x2202);
    altered.packages = 2;
    altered.bus[0][1] = 0x7f;
    altered.bus[1][0] = 0x9e;
    altered.bus[1][1] = 0xff;
    upmu_sim_uncore_init(&model, &sim, &altered);
    (void)find_all();
    for (unsigned i = 0; i < list.unit_count; i++) {
        if (strncmp(pmus[units[i].type].type->name, "imc", 3))
            continue;
        boxes[units[i].package]++;
        /* D0h has bits 51:23. */
        assert_int_equal(units[i].base >> 32, units[i].package ? 0x11 : 1, i);
    }
    assert_compare(boxes[0], >=, 8);
    assert_int_equal(boxes[0], boxes[1]);
}

static uint64_t highest;

static void *map_above_ram(void *context, uint64_t physical, size_t bytes)
{
    assert_compare(physical, >=, 0x100000);
    highest = physical > highest ? physical : highest;
    return see_map(context, physical, bytes);
}

/* All ones are what a register answers that is not there; where 0 is there is RAM. */
static void memory_where_there_cannot_be_a_controller_is_not_mapped(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 3; k++) {
        alter(k ? "adl" : "icx");
        if (!k) {
            set_register(0xd0, 0, 0);
            set_register(0xd8, 0, 0);
        } else {
            set_register(0x4c, k == 1 ? 0xffffffff : 0x100000, 0);
        }
        upmu_sim_uncore_init(&model, &sim, &altered);
        highest = 0;
        maps = map_above_ram;
        assert_int_equal(find_on(0, false), UPMU_OK);
        assert_int_equal(count("imc"), 0);
        assert_int_equal(count("imc_free_running"), 0);
        assert_int_equal(highest, 0);
    }
}

/* A counter of 32 bits may have counted to what nothing would read (seed 8074 of the simulated host). */
static void a_counter_at_its_end_is_no_missing_controller(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 3; n++) {
        begin("snb");
        ones = n;
        assert_int_equal(find_on(0, false), UPMU_OK);
        assert_int_equal(count("imc"), n < 2, n);
        ones = 0;
    }
}

static void (*whole_cpuid)(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4]);

static void cpuid_without_fabric(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    whole_cpuid(context, leaf, subleaf, out);
    if (leaf == 0x80000022u)
        out[1] &= ~(0x3fu << 10); /* NumPerfCtrNB */
}

static void without_fabric_counters_there_is_no_fabric(void **state)
{
    (void)state;
    begin("zen4");
    assert_int_equal(find_all(), UPMU_OK);
    assert_int_equal(count("df"), 2);
    begin("zen4");
    whole_cpuid = sim.port.cpuid;
    sim.port.cpuid = cpuid_without_fabric;
    assert_int_equal(find_all(), UPMU_OK);
    assert_int_equal(count("df"), 0);
    assert_int_equal(count("l3"), 4);
}

static void what_did_not_fit_is_found_by_a_longer_list(void **state)
{
    unsigned boxes;

    (void)state;
    begin("skx2");
    assert_int_equal(find_on(0, false), UPMU_OK);
    boxes = list.unit_count;
    begin("skx2");
    list.unit_capacity = 10;
    assert_int_equal(find_on(0, false), UPMU_ERR_NO_SPACE);
    list.unit_capacity = UNITS;
    assert_int_equal(find_on(0, false), UPMU_OK);
    assert_int_equal(list.unit_count, boxes);
}

static void a_full_list_has_what_fits(void **state)
{
    (void)state;
    for (unsigned capacity = 0; capacity < 20; capacity++) {
        begin("skx2");
        list.unit_capacity = (uint16_t)capacity;
        assert_int_equal(find_on(0, false), UPMU_ERR_NO_SPACE);
        assert_int_equal(list.unit_count, capacity);
        begin("skx2");
        list.pmu_capacity = (uint8_t)(capacity % 8);
        assert_int_equal(find_on(0, false), UPMU_ERR_NO_SPACE);
        assert_int_equal(list.pmu_count, capacity % 8);
    }
}

static void a_hypervisor_has_none_unless_forced(void **state)
{
    (void)state;
    begin("skx2");
    (void)find_on(0, false);
    list.unit_count = list.pmu_count = 0;
    seen.hypervisor = true;
    assert_int_equal(upmu_uncore_find(&seen, &list), UPMU_ERR_NO_PMU);
    assert_int_equal(list.unit_count, 0);
    assert_int_equal(seen.accesses, 0);
    seen.force = true;
    assert_int_equal(upmu_uncore_find(&seen, &list), UPMU_OK);
    assert_compare(list.unit_count, >, 30);
}

/* ---- Tables of discovery ---- */

static unsigned damaged_word;
static uint64_t damage;
static enum { SET, STRIDE, UNITS_MANY, ALL_ONES, OVERLAP, NEAR, PLACES } how;

static void damage_table(struct upmu_sim *machine, unsigned package, unsigned word, uint64_t *value)
{
    (void)machine, (void)package;
    if (how == ALL_ONES)
        *value = ~UINT64_C(0);
    else if (how == STRIDE && word == 0)
        *value = (*value & ~UINT64_C(0xff00)) | damage << 8;
    else if (how == UNITS_MANY && word == 0)
        *value |= UINT64_C(0x3ff) << 16;
    else if (how == SET && word == damaged_word)
        *value = damage;
    if (how >= OVERLAP && word == 0)
        damaged_word = (unsigned)(*value >> 8) & 0xffu;
    else if (how == NEAR && word % damaged_word == 1) /* boxes stand half as far apart */
        *value -= (*value & 0xfff) / 2;
    else if (how == PLACES && word % damaged_word == 0) /* selects and counters are anywhere */
        *value = (*value & ~UINT64_C(0xff00ff00)) | (damage & 0xffu) << 8 | (damage & 0xff00u) << 16;
    else if (how == OVERLAP && word % damaged_word == 0) /* selects begin where counters do, or at the last */
        *value = (*value & ~UINT64_C(0xff00)) |
                 (((*value >> 24) + (damage ? (*value & 0xffu) - 1u : 0)) & 0xffu) << 8;
}

/* Bytes (MSRs: 1) of a register of a box, from `out_begin` on. */
static unsigned extent_of(const struct upmu_unit_info *box, unsigned row, uint64_t *out_begin)
{
    const struct upmu_uncore_pmu *pmu = &pmus[box->type];
    const struct upmu_register_class *class = &pmu->table.classes[pmu->row[row].class_index];

    *out_begin = (class->second ? box->second : box->base) + pmu->row[row].address;
    if (pmu->type->space == UPMU_SPACE_PCI) /* a function has 4 KiB */
        *out_begin = ((uint64_t)(class->second ? box->second : box->base) << 12) + pmu->row[row].address;
    return pmu->type->space == UPMU_SPACE_MSR ? 1 : class->bits == 32 ? 4 : 8;
}

/* No byte of what a table lists belongs to two registers of a type, and no register begins within a word. */
static void expect_registers_apart(void)
{
    for (unsigned i = 0; i < list.unit_count; i++)
        for (unsigned k = i; k < list.unit_count && units[k].type == units[i].type; k++) {
            unsigned rows = pmus[units[i].type].table.row_count;

            if (units[k].package != units[i].package || units[k].die != units[i].die)
                continue;
            for (unsigned a = 0; a < rows; a++)
                for (unsigned b = 0; b < rows; b++) {
                    uint64_t first, second;
                    unsigned bytes = extent_of(&units[i], a, &first), other = extent_of(&units[k], b, &second);

                    assert_true(bytes == 1 || first % 4 == 0);
                    assert_true(pmus[units[i].type].type->space != UPMU_SPACE_PCI ||
                                first >> 12 == (first + bytes - 1) >> 12, i);
                    assert_true((i == k && a == b) || first >= second + other || second >= first + bytes, i, k, b);
                }
        }
}

static void boxes_of_a_table_have_no_byte_in_common(void **state)
{
    unsigned before;

    (void)state;
    begin("spr");
    assert_int_equal(find_on(0, false), UPMU_OK);
    before = count("cha");
    expect_registers_apart();
    begin("spr");
    how = NEAR;
    model.table = damage_table;
    (void)find_on(0, false);
    expect_registers_apart();
    assert_true(count("cha") > 0 && count("cha") < before);
    /* Selects from each byte on, counters from each other. */
    for (unsigned select = 0; select < 256; select += 3)
        for (unsigned counter = select % 5; counter < 256; counter += 17) {
            begin("spr");
            how = PLACES;
            damage = select | counter << 8;
            model.table = damage_table;
            (void)find_on(0, false);
            expect_registers_apart();
        }
}

static void damaged_tables_end_with_a_reason_and_few_accesses(void **state)
{
    unsigned refused = 0;

    (void)state;
    for (unsigned stride = 0; stride < 256; stride += stride < 4 ? 1 : 63) {
        begin("spr");
        how = STRIDE;
        damage = stride;
        model.table = damage_table;
        model.accesses_left = 100000;
        if (stride < 3) {
            assert_int_equal(find_on(0, false), UPMU_ERR_PORT);
            assert_string_equal(seen.failure, "the head of a table of units is damaged");
            assert_int_not_equal(seen.failed_at, 0);
        } else {
            (void)find_on(0, false);
        }
        assert_compare(seen.accesses, <=, 100000);
    }
    /* A second call meets the same. */
    begin("spr");
    damage = 0;
    model.table = damage_table;
    assert_int_equal(find_on(0, false), UPMU_ERR_PORT);
    assert_int_equal(find_on(0, false), UPMU_ERR_PORT);
    assert_non_null(seen.failure);
    begin("spr");
    how = ALL_ONES;
    model.table = damage_table;
    assert_int_equal(find_on(0, false), UPMU_ERR_PORT);
    assert_string_equal(seen.failure, "a table of units is not there");
    assert_int_equal(count("cha"), 0);
    for (damage = 0; damage < 2; damage++) {
        begin("spr");
        how = OVERLAP;
        model.table = damage_table;
        (void)find_on(0, false);
        assert_int_equal(count("cha"), 0);
        assert_int_equal(count("imc"), 0);
    }
    begin("spr");
    how = UNITS_MANY;
    model.table = damage_table;
    (void)find_on(0, false);
    assert_compare(seen.accesses, <=, 100000);
    for (unsigned map = 1; map < 16; map++) {
        begin("spr");
        model.refused_map = map;
        if (find_on(0, false) == UPMU_ERR_PORT) {
            assert_non_null(seen.failure);
            refused++;
        }
        assert_compare(list.unit_count, >, 4);
    }
    /* The head and the whole of each of two tables; what else is refused is no table. */
    assert_int_equal(refused, 4);
    assert_int_equal(model.unit_writes, 0);
}

/* Type 7 of the table: a second function of its device is a mesh box of high bandwidth memory (Intel PCM 2026-06). */
static void move_second_m2m(struct upmu_sim *machine, unsigned package, unsigned word, uint64_t *value)
{
    (void)machine, (void)package, (void)word;
    if ((*value >> 12 & 0xffu) == (13u << 3) && (*value & 0xfff) == 0x438)
        *value += 1u << 12;
}

/* Class of mistake: boxes of two kinds that a table gives one number are driven, and added up, as one unit. */
static void mesh_boxes_of_high_bandwidth_memory_are_a_unit_of_their_own(void **state)
{
    unsigned alone;

    (void)state;
    begin("spr");
    assert_int_equal(find_all(), UPMU_OK);
    alone = count("m2m");
    assert_true(alone && alone % 2 == 0);
    assert_int_equal(count("m2m_hbm"), 0);
    begin("spr");
    model.table = move_second_m2m;
    assert_int_equal(find_all(), UPMU_OK);
    assert_int_equal(count("m2m"), alone / 2);
    assert_int_equal(count("m2m_hbm"), alone / 2);
}

/* Base registers of 64 bits: the low half of an address may be 0. */
static void a_table_may_lie_at_any_address(void **state)
{
    static const uint64_t addresses[] = {UINT64_C(0x400000000), UINT64_C(0x410000000)};

    (void)state;
    for (size_t i = 0; i < LENGTH(addresses); i++) {
        alter("spr");
        set_register(0x10, (uint32_t)addresses[i] | 4, (uint32_t)addresses[i] | 4);
        set_register(0x14, 4, 0x14);
        altered.table_address = addresses[i];
        upmu_sim_uncore_init(&model, &sim, &altered);
        assert_int_equal(find_on(0, false), UPMU_OK);
        assert_compare(count("cha"), >, 0);
    }
    alter("spr");
    set_register(0x10, 4, 4);
    set_register(0x14, 0, 0);
    upmu_sim_uncore_init(&model, &sim, &altered);
    assert_int_equal(find_on(0, false), UPMU_ERR_PORT);
    assert_string_equal(seen.failure, "a table of units has no address");
}

/* One word is anything: nothing is written, nothing is endless, and what is there has sensible registers. */
static void any_word_of_a_table_may_be_anything(void **state)
{
    unsigned rounds = share_of("damaged tables", 2000, share_few(1, 3), 8);
    uint64_t random = 12345;

    (void)state;
    for (unsigned round = 0; round < rounds; round++) {
        begin("spr");
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        how = SET;
        damaged_word = (unsigned)(random >> 40) % 400;
        damage = random ^ random << 29;
        model.table = damage_table;
        (void)find_on(0, false);
        assert_compare(seen.accesses, <=, 100000);
        for (unsigned i = 0; i < list.pmu_count; i++) {
            assert_compare(pmus[i].table.row_count, <=, UPMU_UNIT_REGISTERS, i);
            assert_true(pmus[i].type->counters <= 16 && pmus[i].type->width <= 64, i);
        }
        expect_registers_apart();
    }
    assert_int_equal(model.unit_writes, 0);
}

/* ---- Energy, which is not in the model ---- */

/* Of cores, package, memory, graphics, platform. */
static const uint32_t energy_msrs[] = {0x639, 0x611, 0x619, 0x641, 0x64d};
static unsigned energy_there; /* bit: can be read */
static bool (*other_msrs)(void *context, uint32_t msr, uint64_t *out_value);

static bool read_energy(void *context, uint32_t msr, uint64_t *out_value)
{
    for (unsigned i = 0; i < LENGTH(energy_msrs); i++)
        if (msr == energy_msrs[i]) {
            *out_value = 1000 * i;
            return garbage_unless(energy_there >> i & 1u, out_value);
        }
    return other_msrs(context, msr, out_value);
}

/* Counters of energy that cannot be read do not exist; without any there is no unit. */
static void energy_is_what_can_be_read(void **state)
{
    (void)state;
    for (energy_there = 0; energy_there < 32; energy_there++) {
        const struct upmu_uncore_pmu *power = NULL;

        begin("skx2");
        other_msrs = sim.port.rdmsr;
        sim.port.rdmsr = read_energy;
        assert_int_equal(find_on(0, false), UPMU_OK);
        for (unsigned k = 0; k < list.unit_count; k++)
            if (!strcmp(pmus[units[k].type].type->name, "power"))
                power = &pmus[units[k].type];
        assert_int_equal(power != NULL, energy_there != 0);
        if (!power)
            continue;
        assert_int_equal(power->pmu.counters, energy_there);
        assert_int_equal(power->pmu.general & ~energy_there, 0);
        assert_int_equal(model.unit_writes, 0);
    }
}

static bool read_package_energy(void *context, uint32_t msr, uint64_t *out_value)
{
    *out_value = 77;
    return msr == 0xc001029b || other_msrs(context, msr, out_value);
}

/* AMD's register is the package's, whatever nodes that has: it is counted once. */
static void nodes_of_a_package_have_its_energy_once(void **state)
{
    (void)state;
    for (uint8_t nodes = 1; nodes <= 2; nodes++) {
        begin("zen2");
        altered = *upmu_sim_machine("zen2");
        altered.dies = nodes;
        altered.llcs = 1;
        altered.packages = 2;
        altered.cpus = 4;
        upmu_sim_uncore_init(&model, &sim, &altered);
        other_msrs = sim.port.rdmsr;
        sim.port.rdmsr = read_package_energy;
        assert_int_equal(find_all(), UPMU_OK);
        assert_int_equal(count("df"), 2 * nodes);
        assert_int_equal(count("power"), 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_box_is_found_once_on_its_die_where_the_model_has_it),
        cmocka_unit_test(boxes_of_a_type_and_die_stand_side_by_side),
        cmocka_unit_test(units_are_named_after_their_generation),
        cmocka_unit_test(what_is_missing_leaves_the_rest),
        cmocka_unit_test(capid4_says_how_many_s_boxes_there_are),
        cmocka_unit_test(slices_of_a_table_are_counted_not_numbered),
        cmocka_unit_test(more_cores_do_not_make_more_boxes_than_a_type_has),
        cmocka_unit_test(memory_controllers_are_on_the_die_of_their_bus),
        cmocka_unit_test(memory_where_there_cannot_be_a_controller_is_not_mapped),
        cmocka_unit_test(a_counter_at_its_end_is_no_missing_controller),
        cmocka_unit_test(without_fabric_counters_there_is_no_fabric),
        cmocka_unit_test(what_did_not_fit_is_found_by_a_longer_list),
        cmocka_unit_test(a_full_list_has_what_fits),
        cmocka_unit_test(a_hypervisor_has_none_unless_forced),
        cmocka_unit_test(boxes_of_a_table_have_no_byte_in_common),
        cmocka_unit_test(damaged_tables_end_with_a_reason_and_few_accesses),
        cmocka_unit_test(mesh_boxes_of_high_bandwidth_memory_are_a_unit_of_their_own),
        cmocka_unit_test(a_table_may_lie_at_any_address),
        cmocka_unit_test(any_word_of_a_table_may_be_anything),
        cmocka_unit_test(energy_is_what_can_be_read),
        cmocka_unit_test(nodes_of_a_package_have_its_energy_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
