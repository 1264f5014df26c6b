/* SPDX-License-Identifier: MIT */
/*
 * Readings (units msr, cstate_core, cstate_pkg, power): which registers a search for units offers on each kind of CPU,
 * under a hypervisor, on hosts where faults are not safe and where registers are missing; what counts are measured in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "tests/common/assertions.h"

#include "backends/uncore/uncore.h"
#include "core/util/bits.h"
#include <upmu/event.h>

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])
#define UNITS 16

/*
 * ---- A CPU on paper: each register of these can be read and holds 1000, but for those that a test denies or sets ----
 */

static const uint32_t readable[] = {0x10,  0xe7,  0xe8,  0x34,  0x3f8, 0x3f9, 0x3fa,      0x3fc,      0x3fd,
                                    0x3fe, 0x3ff, 0x606, 0x60d, 0x611, 0x619, 0x630,      0x631,      0x632,
                                    0x639, 0x641, 0x64d, 0x64e, 0x660, 0xc00000e9, 0xc0010015, 0xc0010280, 0xc0010299,
                                    0xc001029b};

static struct {
    bool amd;
    uint16_t family, model;
    uint32_t highest; /* basic leaf; behind it the CPU gives the values of leaf 6, as Intel's do */
    uint32_t leaf_6, leaf_80000001, leaf_80000008; /* ECX, ECX, EBX */
    uint64_t hwcr, shift;
    uint32_t denied, zero; /* an MSR that faults, and one that holds 0 */
    bool hypervisor, unsafe;
} cpu;
static uint32_t read_msrs[200];
static unsigned reads;
static struct upmu_unit_info units[UNITS];
static struct upmu_uncore_pmu pmus[UNITS];
static struct upmu_unit_list list;
static struct upmu_uncore_seen seen;

static void see_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    (void)context;
    (void)subleaf;
    memset(out, 0, 4 * sizeof *out);
    if (leaf == 0)
        out[0] = cpu.highest;
    else if (leaf == 0x80000000u)
        out[0] = 0x80000008u;
    else if (leaf == 1)
        out[3] = 0x10;
    else if (leaf == 6)
        out[2] = cpu.leaf_6;
    else if (leaf == 0x80000001u)
        out[2] = cpu.leaf_80000001;
    else if (leaf == 0x80000008u)
        out[1] = cpu.leaf_80000008;
}

static bool is_readable(uint32_t msr)
{
    for (unsigned i = 0; i < LENGTH(readable); i++)
        if (readable[i] == msr)
            return true;
    return false;
}

static bool see_msr(void *context, uint32_t msr, bool promised, uint64_t *out_value)
{
    (void)context;
    *out_value = UINT64_C(0x5e5e5e5e5e5e5e5e);
    if (cpu.unsafe && !promised)
        return false;
    assert_compare(reads, <, LENGTH(read_msrs));
    read_msrs[reads++] = msr;
    if (msr == cpu.denied || !is_readable(msr))
        return false;
    *out_value = msr == cpu.zero ? 0 : msr == 0xc0010015u ? cpu.hwcr : 1000;
    if (msr == 0x606 || msr == 0xc0010299u)
        *out_value = cpu.shift << 8 | 3;
    return true;
}

/* An Intel CPU of family 6 with APERF and MPERF. */
static void intel(uint16_t model)
{
    memset(&cpu, 0, sizeof cpu);
    cpu.family = 6;
    cpu.model = model;
    cpu.highest = 6;
    cpu.leaf_6 = 1;
    cpu.shift = 14;
}

static void amd(uint16_t family, uint16_t model)
{
    intel(model);
    cpu.amd = true;
    cpu.family = family;
    cpu.leaf_80000008 = 2;
    cpu.hwcr = 1u << 30;
    cpu.shift = 16;
}

static enum upmu_status find(bool each_cpu)
{
    reads = 0;
    memset(pmus, 0xa5, sizeof pmus);
    list = (struct upmu_unit_list){.unit = units, .pmu = pmus, .unit_capacity = UNITS, .pmu_capacity = UNITS};
    seen = (struct upmu_uncore_seen){.cpuid = see_cpuid,
                                     .rdmsr = see_msr,
                                     .family = cpu.family,
                                     .model = cpu.model,
                                     .amd = cpu.amd,
                                     .hypervisor = cpu.hypervisor,
                                     .force = cpu.hypervisor,
                                     .each_cpu = each_cpu,
                                     .number = 5,
                                     .core = 2};
    return upmu_uncore_find(&seen, &list);
}

/* Find units; that servers lack PCI functions which count their boxes does not matter here. */
static void find_readings(bool each_cpu)
{
    enum upmu_status status = find(each_cpu);

    if (status != UPMU_ERR_PORT)
        assert_int_equal(status, UPMU_OK);
}

static struct upmu_uncore_pmu *unit_named(const char *name)
{
    for (unsigned i = 0; i < list.pmu_count; i++)
        if (!strcmp(pmus[i].type->name, name))
            return &pmus[i];
    return NULL;
}

/*
 * The register of an event: "c6-residency" of "cstate_pkg"; 0: the event is refused, because its register is missing.
 */
static uint32_t register_of(const char *unit, const char *event)
{
    struct upmu_uncore_pmu *pmu = unit_named(unit);
    struct upmu_event encoded;
    enum upmu_status status;

    if (!pmu)
        return 0;
    status = upmu_event_parse(&pmu->pmu, event, &encoded, NULL);
    if (status != UPMU_OK) {
        assert_int_equal(status, UPMU_ERR_UNSUPPORTED);
        return 0;
    }
    assert_int_equal(upmu_bits_count(encoded.counters), 1);
    return pmu->row[pmu->pmu.counter[upmu_bits_lowest(encoded.counters)].value_row].address;
}

static bool was_read(uint32_t msr)
{
    for (unsigned i = 0; i < reads; i++)
        if (read_msrs[i] == msr)
            return true;
    return false;
}

/* ---- Models ---- */

static const char *const core_names[] = {"c1-residency", "c3-residency", "c6-residency", "c7-residency"};
static const char *const package_names[] = {"c2-residency", "c3-residency", "c6-residency", "c7-residency",
                                            "c8-residency", "c9-residency", "c10-residency"};
static const char *const msr_names[] = {"aperf", "mperf", "pperf", "smi", "ptsc", "irperf"};

/*
 * The registers of each kind of CPU; 0: it has none.  From Linux's cstate.c and msr.c, and the SDM's tables of MSRs.
 * TSC and, on Intel's, APERF and MPERF are there on all of these.
 */
static const struct {
    const char *name;
    uint16_t model;
    uint32_t core[4];    /* C1, C3, C6, C7 */
    uint32_t package[7]; /* C2, C3, C6, C7, C8, C9, C10 */
    uint32_t pperf, smi;
} models[] = {
    {"Core 2", 0x0f, {0}, {0}, 0, 0},
    {"Nehalem", 0x1a, {0, 0x3fc, 0x3fd, 0}, {0, 0x3f8, 0x3f9, 0x3fa, 0, 0, 0}, 0, 0x34},
    {"Westmere-EX", 0x2f, {0, 0x3fc, 0x3fd, 0}, {0, 0x3f8, 0x3f9, 0x3fa, 0, 0, 0}, 0, 0x34},
    {"Sandy Bridge", 0x2a, {0, 0x3fc, 0x3fd, 0x3fe}, {0x60d, 0x3f8, 0x3f9, 0x3fa, 0, 0, 0}, 0, 0x34},
    {"Broadwell-DE", 0x56, {0, 0x3fc, 0x3fd, 0x3fe}, {0x60d, 0x3f8, 0x3f9, 0x3fa, 0, 0, 0}, 0, 0x34},
    {"Haswell ULT", 0x45, {0, 0x3fc, 0x3fd, 0x3fe}, {0x60d, 0x3f8, 0x3f9, 0x3fa, 0x630, 0x631, 0x632}, 0, 0x34},
    {"Skylake", 0x5e, {0, 0x3fc, 0x3fd, 0x3fe}, {0x60d, 0x3f8, 0x3f9, 0x3fa, 0, 0, 0}, 0x64e, 0x34},
    {"Skylake-SP", 0x55, {0, 0x3fc, 0x3fd, 0x3fe}, {0x60d, 0x3f8, 0x3f9, 0x3fa, 0, 0, 0}, 0x64e, 0x34},
    {"Kaby Lake", 0x9e, {0, 0x3fc, 0x3fd, 0x3fe}, {0x60d, 0x3f8, 0x3f9, 0x3fa, 0x630, 0x631, 0x632}, 0x64e, 0x34},
    {"Cannon Lake", 0x66, {0x660, 0x3fc, 0x3fd, 0x3fe}, {0x60d, 0x3f8, 0x3f9, 0x3fa, 0x630, 0x631, 0x632}, 0, 0},
    {"Ice Lake", 0x7e, {0, 0, 0x3fd, 0x3fe}, {0x60d, 0x3f8, 0x3f9, 0x3fa, 0x630, 0x631, 0x632}, 0x64e, 0x34},
    {"Ice Lake-SP", 0x6a, {0x660, 0, 0x3fd, 0}, {0x60d, 0, 0x3f9, 0, 0, 0, 0}, 0x64e, 0x34},
    {"Sapphire Rapids", 0x8f, {0x660, 0, 0x3fd, 0}, {0x60d, 0, 0x3f9, 0, 0, 0, 0}, 0, 0x34},
    {"Granite Rapids", 0xad, {0x660, 0, 0x3fd, 0}, {0x60d, 0, 0x3f9, 0, 0, 0, 0}, 0, 0x34},
    {"Alder Lake", 0x97, {0x660, 0, 0x3fd, 0x3fe}, {0x60d, 0x3f8, 0x3f9, 0, 0x630, 0, 0x632}, 0x64e, 0x34},
    {"Arrow Lake", 0xc6, {0x660, 0, 0x3fd, 0x3fe}, {0x60d, 0x3f8, 0x3f9, 0, 0x630, 0, 0x632}, 0, 0},
    {"Lunar Lake", 0xbd, {0x660, 0, 0x3fd, 0x3fe}, {0x60d, 0, 0x3f9, 0, 0, 0, 0x632}, 0, 0},
    {"Silvermont", 0x37, {0x660, 0, 0x3fd, 0}, {0, 0, 0x3fa, 0, 0, 0, 0}, 0, 0x34},
    {"Knights Landing", 0x57, {0, 0, 0x3ff, 0}, {0x60d, 0x3f8, 0x3f9, 0, 0, 0, 0}, 0, 0x34},
    {"Goldmont", 0x5c, {0x660, 0x3fc, 0x3fd, 0}, {0x60d, 0x3f8, 0x3f9, 0, 0, 0, 0x632}, 0, 0x34},
    {"Tremont", 0x96, {0x660, 0x3fc, 0x3fd, 0}, {0x60d, 0x3f8, 0x3f9, 0, 0, 0, 0x632}, 0, 0x34},
    {"Sierra Forest", 0xaf, {0x660, 0, 0x3fd, 0}, {0x60d, 0, 0x3f9, 0, 0, 0, 0}, 0, 0},
    {"Grand Ridge", 0xb6, {0x660, 0, 0x3fd, 0}, {0}, 0, 0},
};

static void each_model_has_the_registers_of_the_manuals(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(models); i++) {
        bool core = false, package = false;

        intel(models[i].model);
        find_readings(true);
        for (unsigned k = 0; k < LENGTH(core_names); k++) {
            assert_int_equal(register_of("cstate_core", core_names[k]), models[i].core[k], i, k);
            core |= models[i].core[k] != 0;
        }
        for (unsigned k = 0; k < LENGTH(package_names); k++) {
            assert_int_equal(register_of("cstate_pkg", package_names[k]), models[i].package[k], i, k);
            package |= models[i].package[k] != 0;
        }
        assert_int_equal(unit_named("cstate_core") != NULL, core, i);
        assert_int_equal(unit_named("cstate_pkg") != NULL, package, i);
        assert_int_equal(register_of("msr", "tsc"), 0x10, i);
        assert_int_equal(register_of("msr", "aperf"), 0xe8, i);
        assert_int_equal(register_of("msr", "mperf"), 0xe7, i);
        assert_int_equal(register_of("msr", "pperf"), models[i].pperf, i);
        assert_int_equal(register_of("msr", "smi"), models[i].smi, i);
        assert_int_equal(register_of("msr", "irperf"), 0, i);
        assert_int_equal(register_of("msr", "ptsc"), 0, i);
    }
}

/* A register that no source gives a model is not even read there. */
static void no_other_register_is_read(void **state)
{
    static const uint32_t all[] = {0x34, 0x3f8, 0x3f9, 0x3fa, 0x3fc, 0x3fd, 0x3fe, 0x3ff, 0x60d,
                                   0x630, 0x631, 0x632, 0x64e, 0x660, 0xc00000e9, 0xc0010280};

    (void)state;
    for (size_t i = 0; i < LENGTH(models); i++) {
        intel(models[i].model);
        find_readings(true);
        for (unsigned k = 0; k < LENGTH(all); k++) {
            bool has = all[k] == models[i].pperf || all[k] == models[i].smi;

            for (unsigned m = 0; m < 4; m++)
                has |= all[k] == models[i].core[m];
            for (unsigned m = 0; m < 7; m++)
                has |= all[k] == models[i].package[m];
            assert_int_equal(was_read(all[k]), has, i, k);
        }
    }
}

/* IRPERF of Zen 1 counts wrongly (erratum 1054); PTSC has a bit of CPUID. */
static void amds_registers_are_those_of_cpuid_and_errata(void **state)
{
    static const struct {
        uint16_t family, model;
        bool irperf, energy;
    } amds[] = {{0x15, 0x02, false, false}, {0x17, 0x01, false, true}, {0x17, 0x31, true, true},
                {0x19, 0x01, true, true},   {0x1a, 0x02, true, true}};

    (void)state;
    for (size_t i = 0; i < LENGTH(amds); i++)
        for (unsigned ptsc = 0; ptsc < 2; ptsc++) {
            amd(amds[i].family, amds[i].model);
            cpu.leaf_80000001 = ptsc << 27;
            assert_int_equal(find(true), UPMU_OK, i);
            assert_int_equal(register_of("msr", "irperf"), amds[i].irperf ? 0xc00000e9u : 0, i);
            assert_int_equal(register_of("msr", "ptsc"), ptsc ? 0xc0010280u : 0, i);
            assert_int_equal(register_of("msr", "aperf"), 0xe8, i);
            assert_int_equal(register_of("msr", "smi"), 0, i);
            assert_int_equal(register_of("power", "energy-pkg"), amds[i].energy ? 0xc001029bu : 0, i);
            assert_null(unit_named("cstate_core"));
            assert_null(unit_named("cstate_pkg"));
        }
}

/* CPUID decides, though the registers could be read; and without HWCR bit 30 IRPERF stands still. */
static void what_cpuid_does_not_promise_is_not_there(void **state)
{
    (void)state;
    intel(0x9e);
    cpu.leaf_6 = ~UINT32_C(1);
    assert_int_equal(find(true), UPMU_OK);
    assert_int_equal(register_of("msr", "aperf"), 0);
    assert_int_equal(register_of("msr", "mperf"), 0);
    assert_int_equal(register_of("msr", "tsc"), 0x10);
    assert_false(was_read(0xe7) || was_read(0xe8));
    intel(0x0e);
    cpu.highest = 5; /* a leaf above the highest one says nothing */
    assert_int_equal(find(true), UPMU_OK);
    assert_int_equal(register_of("msr", "aperf"), 0);
    amd(0x19, 1);
    cpu.leaf_80000008 = ~UINT32_C(2);
    assert_int_equal(find(true), UPMU_OK);
    assert_int_equal(register_of("msr", "irperf"), 0);
    amd(0x19, 1);
    cpu.hwcr = ~(UINT64_C(1) << 30);
    assert_int_equal(find(true), UPMU_OK);
    assert_int_equal(register_of("msr", "irperf"), 0);
    amd(0x19, 1);
    cpu.denied = 0xc0010015u;
    assert_int_equal(find(true), UPMU_OK);
    assert_int_equal(register_of("msr", "irperf"), 0);
}

/* ---- Registers that are missing, or lie ---- */

/* Each register of a Kaby Lake in turn: its event is refused, all others keep their registers. */
static void one_missing_register_leaves_the_others(void **state)
{
    static const struct {
        const char *unit, *event;
        uint32_t msr;
    } all[] = {{"msr", "tsc", 0x10}, {"msr", "aperf", 0xe8}, {"msr", "mperf", 0xe7}, {"msr", "pperf", 0x64e},
               {"msr", "smi", 0x34}, {"cstate_core", "c3-residency", 0x3fc}, {"cstate_core", "c6-residency", 0x3fd},
               {"cstate_core", "c7-residency", 0x3fe}, {"cstate_pkg", "c2-residency", 0x60d},
               {"cstate_pkg", "c3-residency", 0x3f8}, {"cstate_pkg", "c6-residency", 0x3f9},
               {"cstate_pkg", "c7-residency", 0x3fa}, {"cstate_pkg", "c8-residency", 0x630},
               {"cstate_pkg", "c9-residency", 0x631}, {"cstate_pkg", "c10-residency", 0x632},
               {"power", "energy-cores", 0x639}, {"power", "energy-pkg", 0x611}, {"power", "energy-ram", 0x619},
               {"power", "energy-gpu", 0x641}, {"power", "energy-psys", 0x64d}};

    (void)state;
    for (size_t i = 0; i < LENGTH(all); i++)
        for (unsigned guest = 0; guest < 2; guest++) {
            intel(0x9e);
            cpu.hypervisor = guest;
            *(guest ? &cpu.zero : &cpu.denied) = all[i].msr; /* a guest may read 0 where the register is missing */
            assert_int_equal(find(true), UPMU_OK, i);
            for (size_t k = 0; k < LENGTH(all); k++)
                assert_int_equal(register_of(all[k].unit, all[k].event), k == i ? 0 : all[k].msr, i, k, guest);
        }
    /* On bare metal 0 is a count. */
    intel(0x9e);
    cpu.zero = 0x3fd;
    assert_int_equal(find(true), UPMU_OK);
    assert_int_equal(register_of("cstate_core", "c6-residency"), 0x3fd);
}

/* Where a fault is not safe, registers that only model lists promise are not touched. */
static void unsafe_hosts_read_what_cpuid_promises(void **state)
{
    (void)state;
    intel(0x9e);
    cpu.unsafe = true;
    assert_int_equal(find(true), UPMU_OK);
    assert_int_equal(register_of("msr", "tsc"), 0x10);
    assert_int_equal(register_of("msr", "aperf"), 0xe8);
    assert_int_equal(register_of("msr", "smi"), 0);
    assert_null(unit_named("cstate_core"));
    assert_null(unit_named("power"));
    intel(0x37); /* it has no other units */
    cpu.unsafe = true;
    cpu.hypervisor = true; /* a hypervisor's CPUID promises nothing */
    assert_int_equal(find(true), UPMU_ERR_NO_PMU);
    assert_int_equal(list.unit_count, 0);
    assert_int_equal(reads, 0);
}

static void a_hypervisor_has_none_unless_forced(void **state)
{
    (void)state;
    intel(0x9e);
    cpu.hypervisor = true;
    assert_int_equal(find(true), UPMU_OK);
    list.unit_count = list.pmu_count = 0;
    reads = 0;
    seen.force = false;
    assert_int_equal(upmu_uncore_find(&seen, &list), UPMU_ERR_NO_PMU);
    assert_int_equal(reads, 0);
    assert_int_equal(list.unit_count, 0);
}

/* ---- Whose they are ---- */

static void units_of_cpus_and_cores_are_asked_for(void **state)
{
    (void)state;
    intel(0x9e);
    assert_int_equal(find(false), UPMU_OK);
    assert_null(unit_named("msr"));
    assert_null(unit_named("cstate_core"));
    assert_non_null(unit_named("cstate_pkg"));
    assert_non_null(unit_named("power"));
    assert_false(was_read(0x10) || was_read(0x3fd));
    assert_int_equal(find(true), UPMU_OK);
    assert_int_equal(list.unit_count, 4);
    for (unsigned i = 0; i < list.unit_count; i++) {
        const char *name = pmus[units[i].type].type->name;

        assert_int_equal(units[i].number, !strcmp(name, "msr") ? 5 : !strcmp(name, "cstate_core") ? 2 : 0, i);
    }
}

static uint32_t apic;
static bool has_levels;

/* Two hyper-threads in a core, four cores in a package; or a CPU without leaf 0BH. */
static void see_numbers(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    (void)context;
    memset(out, 0, 4 * sizeof *out);
    if (leaf == 0) {
        out[0] = has_levels ? 0xb : 4;
    } else if (leaf == 1) {
        out[1] = apic << 24;
    } else if (leaf == 0xb && subleaf < 2) {
        out[0] = subleaf ? 3 : 1;
        out[1] = subleaf ? 8 : 2;
        out[2] = (subleaf + 1) << 8 | subleaf;
        out[3] = apic;
    }
}

/* Numbers are those in the package, by the APIC's; without levels each CPU is taken for a core. */
static void cpus_are_numbered_by_their_apic(void **state)
{
    struct upmu_uncore_seen machine = {.cpuid = see_numbers};
    uint16_t number, core;

    (void)state;
    for (unsigned levels = 0; levels < 2; levels++)
        for (apic = 0; apic < 32; apic++) {
            has_levels = levels;
            upmu_uncore_number(&machine, &number, &core);
            assert_int_equal(number, levels ? apic % 8 : apic, apic);
            assert_int_equal(core, levels ? apic % 8 / 2 : apic, apic);
        }
}

/* Another CPU of the same core adds its own unit, and none for the core; what it lacks does not change the others'. */
static void a_second_cpu_of_a_core_adds_its_own_unit(void **state)
{
    (void)state;
    intel(0x9e);
    assert_int_equal(find(true), UPMU_OK);
    seen.number = 4;
    cpu.denied = 0x34;
    assert_int_equal(upmu_uncore_find(&seen, &list), UPMU_OK);
    assert_int_equal(list.unit_count, 5);
    assert_int_equal(register_of("msr", "smi"), 0x34);
}

/* ---- What a count is measured in ---- */

static bool scale_of(const char *unit, const char *name, struct upmu_unit_scale *out_scale)
{
    static struct upmu_machine machine;
    static struct upmu_unit open;
    struct upmu_uncore_pmu *pmu = unit_named(unit);
    struct upmu_event event;

    assert_non_null(pmu);
    assert_int_equal(upmu_event_parse(&pmu->pmu, name, &event, NULL), UPMU_OK);
    memset(&open, 0, sizeof open);
    open.meter.pmu = &pmu->pmu;
    assert_false(upmu_unit_scale(&open, &event, out_scale)); /* it is not open */
    open.meter.machine = &machine;
    return upmu_unit_scale(&open, &event, out_scale);
}

static void energy_has_the_unit_of_its_processor(void **state)
{
    static const struct {
        const char *name;
        bool amd;
        uint16_t family, model, shift;
        const char *event;
        uint32_t multiplier, divisor;
    } energies[] = {
        {"Sandy Bridge", false, 6, 0x2a, 16, "energy-pkg", 1, 65536},
        {"Skylake client", false, 6, 0x5e, 14, "energy-ram", 1, 16384},
        {"Skylake-SP", false, 6, 0x55, 14, "energy-ram", 1, 65536},
        {"Skylake-SP", false, 6, 0x55, 14, "energy-pkg", 1, 16384},
        {"Haswell-EP", false, 6, 0x3f, 14, "energy-ram", 1, 65536},
        {"Ice Lake-SP", false, 6, 0x6a, 14, "energy-ram", 1, 65536},
        {"Knights Landing", false, 6, 0x57, 14, "energy-ram", 1, 65536},
        {"Sapphire Rapids", false, 6, 0x8f, 14, "energy-psys", 1, 1},
        {"Emerald Rapids", false, 6, 0xcf, 14, "energy-psys", 1, 1},
        {"Kaby Lake", false, 6, 0x8e, 14, "energy-psys", 1, 16384},
        {"Silvermont", false, 6, 0x37, 5, "energy-cores", 32, 1000000},
        {"Airmont", false, 6, 0x4c, 5, "energy-pkg", 32, 1000000},
        {"Zen 3", true, 0x19, 1, 16, "energy-pkg", 1, 65536},
        {"none shifts further", false, 6, 0x2a, 31, "energy-gpu", 1, UINT32_C(1) << 31},
        {"not shifted", false, 6, 0x2a, 0, "energy-gpu", 1, 1},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(energies); i++) {
        struct upmu_unit_scale scale = {NULL, 0, 0};

        if (energies[i].amd)
            amd(energies[i].family, energies[i].model);
        else
            intel(energies[i].model);
        cpu.shift = energies[i].shift;
        find_readings(false);
        assert_true(scale_of("power", energies[i].event, &scale));
        assert_string_equal(scale.measure, "J");
        assert_int_equal(scale.multiplier, energies[i].multiplier, i);
        assert_int_equal(scale.divisor, energies[i].divisor, i);
    }
}

static void an_unknown_unit_of_energy_is_said_to_be_unknown(void **state)
{
    struct upmu_unit_scale scale = {"untouched", 7, 9};

    (void)state;
    intel(0x55);
    cpu.denied = 0x606;
    find_readings(false);
    assert_false(scale_of("power", "energy-pkg", &scale));
    assert_string_equal(scale.measure, "untouched");
    assert_true(scale_of("power", "energy-ram", &scale)); /* this one does not need the register */
    assert_int_equal(scale.divisor, 65536);
}

static void residencies_and_msrs_have_a_measure(void **state)
{
    static const struct {
        const char *unit, *event, *measure;
    } rows[] = {{"cstate_core", "c6-residency", "ticks"}, {"cstate_pkg", "c10-residency", "ticks"},
                {"msr", "tsc", "ticks"},                  {"msr", "mperf", "ticks"},
                {"msr", "aperf", "cycles"},               {"msr", "pperf", "cycles"},
                {"msr", "smi", "interrupts"}};
    struct upmu_unit_scale scale;

    (void)state;
    intel(0x9e);
    assert_int_equal(find(true), UPMU_OK);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        assert_true(scale_of(rows[i].unit, rows[i].event, &scale));
        assert_string_equal(scale.measure, rows[i].measure);
        assert_int_equal(scale.multiplier, 1, i);
        assert_int_equal(scale.divisor, 1, i);
    }
    amd(0x19, 1);
    assert_int_equal(find(true), UPMU_OK);
    assert_true(scale_of("msr", "irperf", &scale));
    assert_string_equal(scale.measure, "instructions");
}

/* ---- Widths, and names ---- */

static void widths_are_those_of_the_registers(void **state)
{
    static const struct {
        const char *unit, *event;
        unsigned width;
    } rows[] = {{"msr", "tsc", 64}, {"msr", "aperf", 64}, {"msr", "smi", 32}, {"cstate_core", "c6-residency", 64},
                {"power", "energy-pkg", 32}};

    (void)state;
    intel(0x9e);
    assert_int_equal(find(true), UPMU_OK);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct upmu_uncore_pmu *pmu = unit_named(rows[i].unit);
        struct upmu_event event;

        assert_int_equal(upmu_event_parse(&pmu->pmu, rows[i].event, &event, NULL), UPMU_OK, i);
        assert_int_equal(pmu->pmu.counter[upmu_bits_lowest(event.counters)].width, rows[i].width, i);
    }
}

/* Perf's names and codes, as it writes them; of energy the common beginning can be left out. */
static void perfs_names_are_known(void **state)
{
    static const struct {
        const char *unit, *text;
        uint32_t msr;
    } rows[] = {{"msr", "msr/aperf/", 0xe8},
                {"msr", "msr/event=0x4/", 0x34},
                {"cstate_core", "cstate_core/c6-residency/", 0x3fd},
                {"cstate_core", "cstate_core/event=0x02/", 0x3fd},
                {"cstate_pkg", "cstate_pkg/event=0x6/", 0x632},
                {"power", "power/energy-pkg/", 0x611},
                {"power", "power/event=0x02/", 0x611},
                {"power", "power/pkg/", 0x611}};

    (void)state;
    intel(0x9e);
    assert_int_equal(find(true), UPMU_OK);
    for (size_t i = 0; i < LENGTH(rows); i++)
        assert_int_equal(register_of(rows[i].unit, rows[i].text), rows[i].msr, i);
    for (unsigned i = 0; i < LENGTH(msr_names); i++)
        (void)register_of("msr", msr_names[i]); /* found or UNSUPPORTED, but never an unknown name */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_model_has_the_registers_of_the_manuals),
        cmocka_unit_test(no_other_register_is_read),
        cmocka_unit_test(amds_registers_are_those_of_cpuid_and_errata),
        cmocka_unit_test(what_cpuid_does_not_promise_is_not_there),
        cmocka_unit_test(one_missing_register_leaves_the_others),
        cmocka_unit_test(unsafe_hosts_read_what_cpuid_promises),
        cmocka_unit_test(a_hypervisor_has_none_unless_forced),
        cmocka_unit_test(units_of_cpus_and_cores_are_asked_for),
        cmocka_unit_test(cpus_are_numbered_by_their_apic),
        cmocka_unit_test(a_second_cpu_of_a_core_adds_its_own_unit),
        cmocka_unit_test(energy_has_the_unit_of_its_processor),
        cmocka_unit_test(an_unknown_unit_of_energy_is_said_to_be_unknown),
        cmocka_unit_test(residencies_and_msrs_have_a_measure),
        cmocka_unit_test(widths_are_those_of_the_registers),
        cmocka_unit_test(perfs_names_are_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
