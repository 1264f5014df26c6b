/* SPDX-License-Identifier: MIT */
/*
 * The silicon model of uncore units, through the hooks and without the library: scenarios of what
 * units do and of each mistake that a driver can make.  Then each of the model's rules is switched
 * to its other side, which some scenario has to notice.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/common/assertions.h"

#include "models/sim/sim_uncore.h"

#define ENABLE (UINT64_C(1) << 22)
#define OVERFLOW (UINT64_C(1) << 20)

static struct upmu_sim sim;
static struct upmu_sim_uncore uncore;

/* The rule that is switched round; UPMU_SIM_RULE_COUNT: none. */
static unsigned switched = UPMU_SIM_RULE_COUNT;

/* What went wrong in the scenario at hand. */
static char failure[300];

static void fail_at(int line, const char *text, uint64_t found, uint64_t expected)
{
    if (failure[0] == '\0')
        snprintf(failure, sizeof failure, "line %d: %s: %llx, not %llx", line, text, (unsigned long long)found,
                 (unsigned long long)expected);
}

#define EXPECT(found, expected)                                                                                        \
    do {                                                                                                               \
        uint64_t found_ = (uint64_t)(found), expected_ = (uint64_t)(expected);                                         \
        if (found_ != expected_)                                                                                       \
            fail_at(__LINE__, #found, found_, expected_);                                                              \
    } while (0)

/* ---- Accesses ---- */

static void machine(const char *name)
{
    upmu_sim_uncore_init(&uncore, &sim, upmu_sim_machine(name));
    if (switched < UPMU_SIM_RULE_COUNT)
        sim.rule[switched] = !upmu_sim_rule(switched)->on;
    for (unsigned i = 0; i < sim.cpus; i++)
        sim.cpu[i].irqs_on = false;
    /* (one of the rules is about the state after init) */
    for (unsigned i = 0; i < 2; i++)
        uncore.global[i].frozen = uncore.machine->starts_frozen && sim.rule[UPMU_SIM_RULE_U_STARTS_FROZEN];
}

static struct upmu_sim_unit *box(const char *type, unsigned die, unsigned index)
{
    return upmu_sim_unit(&uncore, type, die, index);
}

static bool wrmsr(uint32_t msr, uint64_t value)
{
    return sim.port.wrmsr(&sim, msr, value);
}

static uint64_t rdmsr(uint32_t msr)
{
    uint64_t value = UINT64_C(0xdead);

    return sim.port.rdmsr(&sim, msr, &value) ? value : UINT64_C(0xfa0175);
}

static bool msr_exists(uint32_t msr)
{
    uint64_t value;

    return sim.port.rdmsr(&sim, msr, &value);
}

static uint32_t where(unsigned bus, unsigned device, unsigned function)
{
    return bus << 8 | device << 3 | function;
}

static uint32_t pci_read(uint32_t place, uint32_t offset)
{
    uint32_t value = 0xbad;

    return sim.port.pci_read(&sim, place, offset, &value) ? value : 0xfa0175;
}

static void pci_write(uint32_t place, uint32_t offset, uint32_t value)
{
    EXPECT(sim.port.pci_write(&sim, place, offset, value), true);
}

static uint64_t pci_counter(uint32_t place, uint32_t offset)
{
    return pci_read(place, offset) | (uint64_t)pci_read(place, offset + 4) << 32;
}

static uint64_t memory(const volatile void *pointer, uint32_t offset, unsigned bits)
{
    uint64_t value = 0xbad;

    return sim.port.mmio_read(&sim, (const volatile char *)pointer + offset, bits, &value) ? value : 0xfa0175;
}

static void memory_write(volatile void *pointer, uint32_t offset, unsigned bits, uint64_t value)
{
    EXPECT(sim.port.mmio_write(&sim, (volatile char *)pointer + offset, bits, value), true);
}

static void happens(struct upmu_sim_unit *unit, uint16_t event, uint16_t umask, uint64_t count)
{
    const struct upmu_sim_happening happening = {.event = event, .umask = umask, .count = count};

    upmu_sim_happen(&uncore, unit, &happening);
}

/* So many violations since the last time. */
static uint32_t violations(void)
{
    uint32_t count = sim.violation_count;

    sim.violation_count = 0;
    return count;
}

/* ---- Scenarios: MSRs ---- */

static void nhm_counts_where_both_bits_are_set(void)
{
    machine("nhm");
    uint64_t before = rdmsr(0x3b0);

    EXPECT(wrmsr(0x3c0, ENABLE | 0x0308), true);
    happens(box("uncore", 0, 0), 0x08, 0x03, 5);
    EXPECT(rdmsr(0x3b0) - before, 0);
    EXPECT(wrmsr(0x391, 0x1000000ff), true);
    happens(box("uncore", 0, 0), 0x08, 0x03, 5);
    EXPECT(rdmsr(0x3b0) - before, 5);
    happens(box("uncore", 0, 0), 0x09, 0x03, 5);
    happens(box("uncore", 0, 0), 0x08, 0x01, 5);
    EXPECT(rdmsr(0x3b0) - before, 5);
    EXPECT(wrmsr(0x3c0, 0x0308), true);
    happens(box("uncore", 0, 0), 0x08, 0x03, 5);
    EXPECT(rdmsr(0x3b0) - before, 5);
    EXPECT(violations(), 0);
}

static void nhm_fixed_counter_is_the_lower_register(void)
{
    machine("nhm");
    uint64_t before = rdmsr(0x394);

    EXPECT(wrmsr(0x391, UINT64_C(1) << 32), true);
    EXPECT(wrmsr(0x395, 1), true);
    upmu_sim_clock(&uncore, box("uncore", 0, 0), 1000);
    EXPECT(rdmsr(0x394) - before, 1000);
    sim.expect_faults = true;
    EXPECT(wrmsr(0x395, ENABLE), false);
}

static void nhm_status_is_cleared_by_the_register_after_it(void)
{
    machine("nhm");
    EXPECT(wrmsr(0x391, 0xff), true);
    EXPECT(wrmsr(0x3c1, ENABLE | OVERFLOW | 1), true);
    EXPECT(wrmsr(0x3c2, ENABLE | 1), true);
    upmu_sim_unit_set(box("uncore", 0, 0), 1, (UINT64_C(1) << 48) - 5);
    upmu_sim_unit_set(box("uncore", 0, 0), 2, (UINT64_C(1) << 48) - 5);
    happens(box("uncore", 0, 0), 1, 0, 10);
    EXPECT(rdmsr(0x3b1), 5);
    EXPECT(rdmsr(0x392), 2);
    EXPECT(wrmsr(0x393, 2), true);
    EXPECT(rdmsr(0x392), 0);
}

/* Intel SDM vol 4 395H: bit 2 of the fixed counter's control is its interrupt, not bit 20. */
static void nhm_fixed_counter_overflows_by_bit_2(void)
{
    for (uint64_t interrupt = 0; interrupt < 2; interrupt++) {
        machine("nhm");
        EXPECT(wrmsr(0x391, UINT64_C(1) << 32), true);
        EXPECT(wrmsr(0x395, interrupt << 2 | 1), true);
        upmu_sim_unit_set(box("uncore", 0, 0), 8, (UINT64_C(1) << 48) - 5);
        upmu_sim_clock(&uncore, box("uncore", 0, 0), 10);
        EXPECT(rdmsr(0x394), 5);
        EXPECT(rdmsr(0x392), interrupt << 32);
    }
}

/*
 * Nehalem-EX: Intel 323535 (U_MSR_PMON_GLOBAL_CTL, GLOBAL_CTL of boxes); Linux uncore_nhmex.c: an enable bit in the
 * select, one in the box's control, and bit 28 of C00H.
 */
static void nehalem_ex_counts_where_three_bits_are_set(void)
{
    const uint64_t selects[] = {ENABLE | 0x102, 0, ENABLE | 0x102, ENABLE | 0x102};
    const uint64_t controls[] = {1, 1, 0, 1}, all[] = {1u << 28, 1u << 28, 1u << 28, 0};

    for (unsigned i = 0; i < 4; i++) {
        machine("nhmex");
        uint64_t before = rdmsr(0xd91);

        EXPECT(rdmsr(0xc00), 0);
        EXPECT(wrmsr(0xd90, selects[i]), true);
        EXPECT(wrmsr(0xd80, controls[i]), true);
        EXPECT(wrmsr(0xc00, all[i]), true);
        happens(box("cbox", 0, 1), 2, 1, 9);
        EXPECT(rdmsr(0xd91) - before, i == 0 ? 9 : 0);
        EXPECT(violations(), 0);
    }
    /* Counter 3 of the B-box has bit 3 of the control, and bit 0 of its select; the U-box no control of its own. */
    uint64_t before = rdmsr(0xc37), ubox = rdmsr(0xc11);

    EXPECT(wrmsr(0xc36, 0xc2 | 1), true);
    EXPECT(wrmsr(0xc20, 8), true);
    EXPECT(wrmsr(0xc10, ENABLE | 0x40), true);
    EXPECT(wrmsr(0xc00, 1u << 28), true);
    happens(box("bbox", 0, 0), 0xc2, 0, 9);
    happens(box("ubox", 0, 0), 0x40, 0, 7);
    EXPECT(rdmsr(0xc37) - before, 9);
    EXPECT(rdmsr(0xc11) - ubox, 7);
    EXPECT(wrmsr(0xc00, UINT64_C(1) << 31 | 1u << 28), true);
    happens(box("bbox", 0, 0), 0xc2, 0, 9);
    EXPECT(rdmsr(0xc37) - before, 9);
    EXPECT(violations(), 0);
    EXPECT(wrmsr(0xc00, UINT64_C(1) << 31 | 1u << 29 | 1u << 28), true);
    EXPECT(rdmsr(0xc37) | rdmsr(0xc36) | rdmsr(0xc20), 0);
    EXPECT(rdmsr(0xc00), UINT64_C(1) << 31 | 1u << 28);
    EXPECT(wrmsr(0xc20, 0x10), true);
    EXPECT(violations(), 1);
}

static void nehalem_exs_clock_has_bit_31_and_bit_0(void)
{
    for (unsigned i = 0; i < 3; i++) {
        machine("nhmex");
        uint64_t before = rdmsr(0x394);

        EXPECT(wrmsr(0xc00, 1u << 28), true);
        EXPECT(wrmsr(0x395, i != 1), true);
        EXPECT(wrmsr(0xc80, i != 2 ? UINT64_C(1) << 31 : 0xf), true);
        upmu_sim_clock(&uncore, box("wbox", 0, 0), 1000);
        EXPECT(rdmsr(0x394) - before, i == 0 ? 1000 : 0);
    }
    sim.expect_faults = true;
    EXPECT(wrmsr(0x395, ENABLE), false);
}

static void a_die_has_its_own_registers(void)
{
    machine("skx2");
    uint64_t first = rdmsr(0xe08), second;

    upmu_sim_switch_cpu(&sim, 1);
    second = rdmsr(0xe08);
    EXPECT(first != second, true);
    EXPECT(wrmsr(0xe01, ENABLE | 0x34), true);
    happens(box("cha", 1, 0), 0x34, 0, 7);
    EXPECT(rdmsr(0xe08) - second, 7);
    upmu_sim_switch_cpu(&sim, 2);
    EXPECT(rdmsr(0xe08), first);
    EXPECT(rdmsr(0xe01), 0);
    uncore.dies_excluded = 1u << 0;
    EXPECT(violations(), 0);
    (void)rdmsr(0xe08);
    EXPECT(violations(), 1);
}

static void fused_off_units_fault(void)
{
    machine("skx2");
    sim.expect_faults = true;
    EXPECT(msr_exists(0xe50), true);
    EXPECT(msr_exists(0xe61), false);
    EXPECT(msr_exists(0xe78), false);
}

static void box_control_freezes_and_reads_zero(void)
{
    machine("skx2");
    uint64_t before = rdmsr(0xe08);

    EXPECT(wrmsr(0xe01, ENABLE | 0x35), true);
    EXPECT(wrmsr(0xe00, 0x100), true);
    EXPECT(rdmsr(0xe00), 0);
    happens(box("cha", 0, 0), 0x35, 0, 7);
    EXPECT(rdmsr(0xe08) - before, 0);
    EXPECT(wrmsr(0xe00, 0), true);
    happens(box("cha", 0, 0), 0x35, 0, 7);
    EXPECT(rdmsr(0xe08) - before, 7);
    EXPECT(violations(), 0);
}

static void freeze_needs_its_enable_on_haswell(void)
{
    machine("hsx2");
    uint64_t before = rdmsr(0xe08);

    EXPECT(wrmsr(0xe01, ENABLE | 0x35), true);
    EXPECT(wrmsr(0xe00, 0x100), true);
    happens(box("cbox", 0, 0), 0x35, 0, 7);
    EXPECT(rdmsr(0xe08) - before, 7);
    EXPECT(wrmsr(0xe00, 0x10100), true);
    happens(box("cbox", 0, 0), 0x35, 0, 7);
    EXPECT(rdmsr(0xe08) - before, 7);
}

static void box_control_resets(void)
{
    machine("skx2");
    EXPECT(wrmsr(0xe01, 0x35), true);
    EXPECT(wrmsr(0xe00, 1), true);
    EXPECT(rdmsr(0xe01), 0);
    EXPECT(rdmsr(0xe08) != 0, true);
    EXPECT(wrmsr(0xe00, 2), true);
    EXPECT(rdmsr(0xe08), 0);
    EXPECT(violations(), 0);
    EXPECT(wrmsr(0xe01, ENABLE | 0x35), true);
    EXPECT(wrmsr(0xe00, 2), true);
    EXPECT(violations(), 1);
}

static void an_s_box_is_reset_step_by_step(void)
{
    machine("hsx2");
    sim.expect_faults = true;
    EXPECT(wrmsr(0x720, 0x10003), false);
    EXPECT(wrmsr(0x720, 1), true);
    EXPECT(wrmsr(0x720, 3), true);
    EXPECT(wrmsr(0x720, 0x10003), true);
    EXPECT(wrmsr(0x720, 0x10100), true);
    EXPECT(violations(), 0);
}

static void clients_have_one_global_enable(void)
{
    machine("snb");
    uint64_t before = rdmsr(0x706), clock = rdmsr(0x395);

    EXPECT(wrmsr(0x700, ENABLE | 0x134), true);
    EXPECT(wrmsr(0x394, ENABLE), true);
    happens(box("cbox", 0, 0), 0x34, 1, 7);
    EXPECT(rdmsr(0x706) - before, 0);
    EXPECT(wrmsr(0x391, 0x2000000f), true);
    happens(box("cbox", 0, 0), 0x34, 1, 7);
    upmu_sim_clock(&uncore, box("clock", 0, 0), 100);
    EXPECT(rdmsr(0x706) - before, 7);
    EXPECT(rdmsr(0x395) - clock, 100);
    EXPECT(rdmsr(0x396), 3);
    sim.expect_faults = true;
    EXPECT(msr_exists(0x720), false);
}

/* Intel SDM vol 4 392H: bit 0 is the clock's, 1 the arbiter's, 3 that of all C-boxes. */
static void a_clients_status_names_the_kind_of_box(void)
{
    machine("snb");
    EXPECT(wrmsr(0x391, 0x2000000f), true);
    EXPECT(wrmsr(0x701, ENABLE | OVERFLOW | 0x134), true);
    upmu_sim_unit_set(box("cbox", 0, 0), 1, (UINT64_C(1) << 44) - 1);
    happens(box("cbox", 0, 0), 0x34, 1, 1);
    EXPECT(rdmsr(0x392), 8);
    EXPECT(wrmsr(0x3b2, ENABLE | OVERFLOW | 0x181), true);
    upmu_sim_unit_set(box("arb", 0, 0), 0, (UINT64_C(1) << 44) - 1);
    happens(box("arb", 0, 0), 0x81, 1, 1);
    EXPECT(rdmsr(0x392), 8 | 2);
    EXPECT(wrmsr(0x394, ENABLE | OVERFLOW), true);
    upmu_sim_unit_set(box("clock", 0, 0), 0, (UINT64_C(1) << 48) - 1);
    upmu_sim_clock(&uncore, box("clock", 0, 0), 1);
    EXPECT(rdmsr(0x392), 8 | 2 | 1);
}

static void a_client_stops_itself_if_asked_to(void)
{
    machine("snb");
    EXPECT(wrmsr(0x700, ENABLE | OVERFLOW | 0x134), true);
    EXPECT(wrmsr(0x391, 0xa000000f), true);
    upmu_sim_unit_set(box("cbox", 0, 0), 0, (UINT64_C(1) << 44) - 5);
    happens(box("cbox", 0, 0), 0x34, 1, 10);
    EXPECT(rdmsr(0x706), 5);
    EXPECT(rdmsr(0x391), 0x8000000f);
}

static void a_global_freeze_stops_the_package(void)
{
    machine("skx2");
    uint64_t before = rdmsr(0xe08);

    EXPECT(wrmsr(0xe01, ENABLE | 0x35), true);
    EXPECT(wrmsr(0x700, UINT64_C(1) << 63), true);
    EXPECT(rdmsr(0x700), 0);
    happens(box("cha", 0, 0), 0x35, 0, 7);
    EXPECT(rdmsr(0xe08) - before, 0);
    EXPECT(wrmsr(0x700, UINT64_C(1) << 61), true);
    happens(box("cha", 0, 0), 0x35, 0, 7);
    EXPECT(rdmsr(0xe08) - before, 7);
}

static void some_machines_begin_frozen(void)
{
    static struct upmu_sim_machine frozen;

    frozen = *upmu_sim_machine("spr");
    frozen.starts_frozen = true;
    upmu_sim_uncore_init(&uncore, &sim, &frozen);
    sim.cpu[0].irqs_on = false;
    if (switched < UPMU_SIM_RULE_COUNT)
        sim.rule[switched] = !upmu_sim_rule(switched)->on;
    uncore.global[0].frozen = sim.rule[UPMU_SIM_RULE_U_STARTS_FROZEN];
    uint64_t before = rdmsr(0x2008);

    EXPECT(wrmsr(0x2002, 0x35), true);
    happens(box("cha", 0, 0), 0x35, 0, 7);
    EXPECT(rdmsr(0x2008) - before, 0);
    EXPECT(wrmsr(0x2ff0, 0), true);
    happens(box("cha", 0, 0), 0x35, 0, 7);
    EXPECT(rdmsr(0x2008) - before, 7);
}

/* Panther Lake: the table names a control in memory, whose bit 0 is set at reset (patches for Linux). */
static void panther_lakes_units_begin_frozen_by_memory(void)
{
    machine("ptl");
    volatile void *table = sim.port.mmio_map(&sim, rdmsr(0x201e), 0x1000);
    volatile void *control = sim.port.mmio_map(&sim, memory(table, 8, 64), 4);
    volatile void *imc = sim.port.mmio_map(&sim, memory(table, 64 + 8, 64), 0x100);
    uint64_t before = memory(imc, 8, 64);

    EXPECT(memory(table, 0, 64) >> 62, 1);
    EXPECT(memory(control, 0, 32), sim.rule[UPMU_SIM_RULE_U_STARTS_FROZEN]);
    memory_write(control, 0, 32, 1);
    memory_write(imc, 0x40, 32, 0x35);
    happens(box("imc", 0, 0), 0x35, 0, 7);
    EXPECT(memory(imc, 8, 64) - before, 0);
    memory_write(control, 0, 32, 0);
    happens(box("imc", 0, 0), 0x35, 0, 7);
    EXPECT(memory(imc, 8, 64) - before, 7);
    EXPECT(violations(), 0);
}

static void a_select_that_is_not_zero_is_live(void)
{
    machine("spr");
    uint64_t before = rdmsr(0x2008);

    EXPECT(wrmsr(0x2002, 0x35), true);
    happens(box("cha", 0, 0), 0x35, 0, 7);
    EXPECT(rdmsr(0x2008) - before, 7);
    EXPECT(wrmsr(0x2000, 1), true);
    happens(box("cha", 0, 0), 0x35, 0, 7);
    EXPECT(rdmsr(0x2008) - before, 7);
    EXPECT(rdmsr(0x2000), 1);
    EXPECT(wrmsr(0x2000, 0), true);
    EXPECT(wrmsr(0x2002, 0), true);
    happens(box("cha", 0, 0), 0, 0, 7);
    EXPECT(rdmsr(0x2008) - before, 7);
    EXPECT(wrmsr(0x2000, 0x300), true);
    EXPECT(rdmsr(0x2008), 0);
    EXPECT(violations(), 0);
}

static void reserved_bits_fault(void)
{
    machine("skx2");
    sim.expect_faults = true;
    EXPECT(wrmsr(0xe01, ENABLE | UINT64_C(1) << 32), false);
    EXPECT(wrmsr(0xe05, UINT64_C(1) << 31), false);
    EXPECT(wrmsr(0xa48, ENABLE | UINT64_C(0x7fff) << 32), true);
    EXPECT(wrmsr(0xa48, UINT64_C(0x8000) << 32), false);
}

static void occupancy_counts_on_counter_0(void)
{
    const struct upmu_sim_happening occupancy = {.event = 0x36, .umask = 1, .count = 100, .each = 20};

    machine("skx2");
    uint64_t zero = rdmsr(0xe08), one = rdmsr(0xe09);

    EXPECT(wrmsr(0xe01, ENABLE | 0x136), true);
    EXPECT(wrmsr(0xe02, ENABLE | 0x136), true);
    upmu_sim_happen(&uncore, box("cha", 0, 0), &occupancy);
    EXPECT(rdmsr(0xe08) - zero, 2000);
    EXPECT(rdmsr(0xe09) - one, 0);
}

static void thresholds_compare(void)
{
    const struct upmu_sim_happening many = {.event = 0x35, .umask = 1, .count = 100, .each = 20, .runs = 9};

    machine("skx2");
    uint64_t before[4];

    for (uint32_t i = 0; i < 4; i++)
        before[i] = rdmsr(0xe08 + i);
    EXPECT(wrmsr(0xe01, ENABLE | 20u << 24 | 0x135), true);
    EXPECT(wrmsr(0xe02, ENABLE | 21u << 24 | 0x135), true);
    EXPECT(wrmsr(0xe03, ENABLE | 21u << 24 | 1u << 23 | 0x135), true);
    EXPECT(wrmsr(0xe04, ENABLE | 20u << 24 | 1u << 18 | 0x135), true);
    upmu_sim_happen(&uncore, box("cha", 0, 0), &many);
    EXPECT(rdmsr(0xe08) - before[0], 100);
    EXPECT(rdmsr(0xe09) - before[1], 0);
    EXPECT(rdmsr(0xe0a) - before[2], 100);
    EXPECT(rdmsr(0xe0b) - before[3], 9);
}

static void filters_let_through_what_they_name(void)
{
    const struct upmu_sim_happening lookups = {.event = 0x34, .umask = 0x11, .count = 50, .filtered = 1,
                                               .filter = {UINT64_C(0x3f) << 17},
                                               .filter_mask = {UINT64_C(0x3ff) << 17}};

    machine("skx2");
    uint64_t before = rdmsr(0xe08);

    EXPECT(wrmsr(0xe01, ENABLE | 0x1134), true);
    upmu_sim_happen(&uncore, box("cha", 0, 0), &lookups);
    EXPECT(rdmsr(0xe08) - before, 0);
    EXPECT(wrmsr(0xe01, 0x1134), true);
    EXPECT(wrmsr(0xe05, UINT64_C(0x3f) << 17), true);
    EXPECT(wrmsr(0xe01, ENABLE | 0x1134), true);
    EXPECT(violations(), 0);
    upmu_sim_happen(&uncore, box("cha", 0, 0), &lookups);
    EXPECT(rdmsr(0xe08) - before, 50);
    EXPECT(wrmsr(0xe06, 1), true);
    EXPECT(violations(), 0); /* (no counter uses that one) */
    EXPECT(wrmsr(0xe05, 0), true);
    EXPECT(violations(), 1);
}

static void bit_17_clears_a_counter(void)
{
    machine("skx2");
    EXPECT(wrmsr(0xe01, UINT64_C(1) << 17 | 0x35), true);
    EXPECT(rdmsr(0xe01), 0x35);
    EXPECT(rdmsr(0xe08), 0);
}

static void writes_above_the_width_are_dropped(void)
{
    machine("skx2");
    EXPECT(wrmsr(0xe08, UINT64_C(0xabcd123456789abc)), true);
    EXPECT(rdmsr(0xe08), UINT64_C(0x123456789abc));
    EXPECT(violations(), 0);
}

/* Linux uncore_snbep.c: 44 bits on Haswell-EP, where LIKWID has 48 for two of the three. */
static void haswells_counters_are_narrower_than_broadwells(void)
{
    static const char *const names[] = {"ubox", "sbox", "r3qpi"};

    for (unsigned i = 0; i < 3; i++) {
        machine("hsx2");
        EXPECT(upmu_sim_unit_range(&uncore, box(names[i], 0, 0), 0), (UINT64_C(1) << 44) - 1);
        machine("bdx2");
        EXPECT(upmu_sim_unit_range(&uncore, box(names[i], 0, 0), 0), (UINT64_C(1) << 48) - 1);
    }
    machine("hsx2");
    EXPECT(wrmsr(0x709, ~UINT64_C(0)), true);
    EXPECT(rdmsr(0x709), (UINT64_C(1) << 44) - 1);
}

/* Knights Landing, power unit: six bits, then invert and edge of the occupancy; Sapphire Rapids, I/O stack: twelve. */
static void thresholds_are_as_wide_as_the_manuals_say(void)
{
    struct upmu_sim_happening many = {.event = 0x60, .count = 100, .each = 1};

    machine("knl1");
    uint64_t before = rdmsr(0x717);

    EXPECT(wrmsr(0x711, ENABLE | 1u << 30 | 1u << 24 | 0x60), true);
    upmu_sim_happen(&uncore, box("pcu", 0, 0), &many);
    EXPECT(rdmsr(0x717) - before, 100);
    machine("spr");
    before = rdmsr(0x3008);
    EXPECT(wrmsr(0x3002, UINT64_C(0x120) << 24 | 0x60), true);
    many.each = 0x11f;
    upmu_sim_happen(&uncore, box("iio", 0, 0), &many);
    EXPECT(rdmsr(0x3008) - before, 0);
    many.each = 0x120;
    upmu_sim_happen(&uncore, box("iio", 0, 0), &many);
    EXPECT(rdmsr(0x3008) - before, 100);
}

/* Linux uncore_snbep.c knl_cha_hw_config: events with an opcode filter have bits 0, 1 and 5 of it. */
static void knights_landing_filters_by_nodes(void)
{
    machine("knl1");
    uint64_t before = rdmsr(0xe08);

    EXPECT(wrmsr(0xe01, ENABLE | 0x135), true);
    happens(box("cha", 0, 0), 0x35, 1, 7);
    EXPECT(rdmsr(0xe08) - before, 0);
    EXPECT(wrmsr(0xe01, 0x135), true);
    EXPECT(wrmsr(0xe06, 0x23), true);
    EXPECT(wrmsr(0xe01, ENABLE | 0x135), true);
    happens(box("cha", 0, 0), 0x35, 1, 7);
    EXPECT(rdmsr(0xe08) - before, 7);
}

/* Intel's event files: events that Linux lets every counter of these boxes count. */
static void ties_of_the_event_files_hold(void)
{
    static const struct {
        const char *machine, *box;
        uint16_t event;
        uint8_t counter, tied;
    } rows[] = {{"spr", "iio", 0x40, 1, 0}, {"spr", "m3upi", 0x21, 1, 0}, {"spr", "m3upi", 0x7e, 3, 0},
                {"bdx2", "pcu", 0x80, 0, 1}};

    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct upmu_sim_unit *unit;
        uint64_t before[2];

        machine(rows[i].machine);
        unit = box(rows[i].box, 0, 0);
        for (unsigned k = 0; k < 2; k++) {
            unsigned counter = k ? rows[i].tied : rows[i].counter;

            unit->counter[counter].select =
                (unit->type->style == UPMU_SIM_UNIT_BOX ? ENABLE : 0) | rows[i].event;
            before[k] = unit->counter[counter].value;
        }
        unit->control = 0;
        happens(unit, rows[i].event, 0, 5);
        EXPECT(unit->counter[rows[i].counter].value - before[0], 0);
        EXPECT(unit->counter[rows[i].tied].value - before[1], 5);
    }
}

static void box_status_is_cleared_by_ones(void)
{
    machine("skx2");
    EXPECT(wrmsr(0xe02, ENABLE | OVERFLOW | 0x35), true);
    upmu_sim_unit_set(box("cha", 0, 0), 1, (UINT64_C(1) << 48) - 1);
    happens(box("cha", 0, 0), 0x35, 0, 1);
    EXPECT(rdmsr(0xe07), 2);
    EXPECT(wrmsr(0xe07, 2), true);
    EXPECT(rdmsr(0xe07), 0);
}

static void mistakes_under_a_running_counter(void)
{
    machine("skx2");
    EXPECT(wrmsr(0xe01, ENABLE | 0x35), true);
    EXPECT(violations(), 0);
    EXPECT(wrmsr(0xe01, ENABLE | 0x36), true);
    EXPECT(violations(), 1);
    EXPECT(wrmsr(0xe08, 0), true);
    EXPECT(violations(), 1);
    EXPECT(wrmsr(0xe01, 0x36), true);
    EXPECT(wrmsr(0xe01, ENABLE | 0x37), true);
    EXPECT(violations(), 0);
    machine("spr");
    EXPECT(wrmsr(0x2002, 0x35), true);
    EXPECT(wrmsr(0x2002, 0), true);
    EXPECT(wrmsr(0x2002, 0x36), true);
    EXPECT(violations(), 0);
    EXPECT(wrmsr(0x2002, 0x37), true);
    EXPECT(violations(), 1);
}

static void strangers_are_left_alone(void)
{
    machine("skx2");
    upmu_sim_stranger(&uncore, box("cha", 0, 1), 2, ENABLE | 0x11);
    EXPECT(wrmsr(0xe11, ENABLE | 0x35), true);
    EXPECT(wrmsr(0xe11, 0), true);
    EXPECT(wrmsr(0xe10, 0), true);
    EXPECT(violations(), 0);
    EXPECT(wrmsr(0xe10, 0x100), true);
    EXPECT(violations(), 1);
    EXPECT(wrmsr(0xe13, 0), true);
    EXPECT(violations(), 1);
    EXPECT(wrmsr(0xe1a, 0), true);
    EXPECT(violations(), 1);
    machine("nhm");
    upmu_sim_stranger(&uncore, box("uncore", 0, 0), 3, ENABLE | 1);
    EXPECT(wrmsr(0x391, 0xff), true);
    EXPECT(violations(), 0);
    EXPECT(wrmsr(0x391, 0xf7), true);
    EXPECT(violations(), 1);
}

static void a_unit_has_one_writer(void)
{
    machine("skx2");
    EXPECT(wrmsr(0xe01, 0x35), true);
    upmu_sim_switch_cpu(&sim, 2);
    (void)rdmsr(0xe01);
    EXPECT(violations(), 0);
    EXPECT(wrmsr(0xe01, 0x36), true);
    EXPECT(violations(), 1);
    upmu_sim_hand_over(&uncore);
    upmu_sim_switch_cpu(&sim, 0);
    EXPECT(wrmsr(0xe01, 0x36), true);
    EXPECT(violations(), 0);
}

static void free_running_counters_cannot_be_written(void)
{
    machine("skx2");
    struct upmu_sim_unit *stack = box("iio_free_running", 0, 2);
    uint64_t before;

    upmu_sim_unit_set(stack, 3, (UINT64_C(1) << 36) - 2);
    before = rdmsr(0xb22);
    upmu_sim_flow(&uncore, stack, 3, 5);
    EXPECT(before, (UINT64_C(1) << 36) - 2);
    EXPECT(rdmsr(0xb22), 3);
    EXPECT(violations(), 0);
    EXPECT(wrmsr(0xb22, 0), true);
    EXPECT(violations(), 1);
    EXPECT(rdmsr(0xb22), 3);
}

/* SDM vol 4: APERF is a thread's, a core's C6 residency its core's, energy and package residencies the package's. */
static void readings_are_those_of_cpu_core_and_package(void)
{
    machine("kbl");
    for (unsigned i = 0; i < 4; i++)
        upmu_sim_unit_set(box("msr", 0, i), 0, 1000 + i);
    upmu_sim_unit_set(box("cstate_core", 0, 0), 1, 70);
    upmu_sim_unit_set(box("cstate_core", 0, 1), 1, 71);
    upmu_sim_unit_set(box("cstate_pkg", 0, 0), 2, 80);
    upmu_sim_unit_set(box("power", 0, 0), 1, 0xffffffff);
    for (unsigned i = 0; i < 4; i++) {
        upmu_sim_switch_cpu(&sim, i);
        EXPECT(rdmsr(0xe8), 1000 + i);
        EXPECT(rdmsr(0x3fd), 70 + i / 2);
        EXPECT(rdmsr(0x3f9), 80);
        EXPECT(rdmsr(0x611), 0xffffffff);
        EXPECT(rdmsr(0x606), 0xa0e03);
        EXPECT(rdmsr(0x19c), UINT64_C(0x80280000) + (i << 16));
        EXPECT(msr_exists(0x660), false);
        EXPECT(msr_exists(0x3ff), false);
        EXPECT(msr_exists(0x34) && msr_exists(0x64e) && msr_exists(0x632) && msr_exists(0x10), true);
    }
    upmu_sim_flow(&uncore, box("power", 0, 0), 1, 3);
    EXPECT(rdmsr(0x611), 2);
    EXPECT(violations(), 0);
    EXPECT(wrmsr(0x3fd, 0), true);
    EXPECT(violations(), 1);
}

/* APERF and MPERF have a bit of CPUID; leaf 0BH has two CPUs in each core. */
static void a_machine_with_hyper_threads_says_so(void)
{
    uint32_t leaf[4];

    machine("kbl");
    sim.port.cpuid(&sim, 6, 0, leaf);
    EXPECT(leaf[2] & 1u, 1);
    EXPECT(leaf[0] & 1u, 1);
    for (unsigned i = 0; i < 4; i++) {
        upmu_sim_switch_cpu(&sim, i);
        sim.port.cpuid(&sim, 0xb, 0, leaf);
        EXPECT(leaf[0], 1);
        EXPECT(leaf[1], 2);
        EXPECT(leaf[2] >> 8, 1);
        EXPECT(leaf[3], i);
        sim.port.cpuid(&sim, 0xb, 1, leaf);
        EXPECT(leaf[1], 4);
    }
    machine("skx2");
    sim.port.cpuid(&sim, 6, 0, leaf);
    EXPECT(leaf[2] & 1u, 0);
    machine("rome");
    sim.port.cpuid(&sim, 0, 0, leaf);
    EXPECT(leaf[0], 6);
    sim.port.cpuid(&sim, 6, 0, leaf);
    EXPECT(leaf[2] & 1u, 1);
}

/* A burst moves the registers of the CPU that executes it, and the energy of its package. */
static void a_burst_moves_readings(void)
{
    static const struct upmu_sim_burst burst = {.instructions = 500, .cycles = 4096, .ref_cycles = 3000};
    uint64_t before[4], energy;

    machine("rome");
    upmu_sim_switch_cpu(&sim, 3);
    before[0] = rdmsr(0xe8);
    before[1] = rdmsr(0xe7);
    energy = rdmsr(0xc001029b);
    upmu_sim_switch_cpu(&sim, 1);
    before[2] = rdmsr(0xe8);
    upmu_sim_switch_cpu(&sim, 0);
    before[3] = rdmsr(0xc001029b);
    upmu_sim_switch_cpu(&sim, 3);
    upmu_sim_events(&sim, &burst);
    EXPECT(rdmsr(0xe8), before[0] + 4096);
    EXPECT(rdmsr(0xe7), before[1] + 3000);
    EXPECT(rdmsr(0xc001029b), energy + 4);
    upmu_sim_switch_cpu(&sim, 1);
    EXPECT(rdmsr(0xe8), before[2]);
    upmu_sim_switch_cpu(&sim, 0);
    EXPECT(rdmsr(0xc001029b), before[3]);
}

static void an_iio_stack_of_36_bits_loses_a_wrap(void)
{
    machine("skx2");
    struct upmu_sim_unit *stack = box("iio_free_running", 0, 0);
    uint64_t mask = (UINT64_C(1) << 36) - 1, before = rdmsr(0xb00), second = UINT64_C(4000000000);

    for (unsigned i = 0; i < 10; i++)
        upmu_sim_flow(&uncore, stack, 1, second);
    EXPECT((rdmsr(0xb00) - before) & mask, 10 * second);
    before = rdmsr(0xb00);
    for (unsigned i = 0; i < 60; i++)
        upmu_sim_flow(&uncore, stack, 1, second);
    EXPECT((rdmsr(0xb00) - before) & mask, 60 * second - 3 * (mask + 1));
}

/* ---- Scenarios: configuration space ---- */

static void configuration_space_is_found(void)
{
    machine("skx2");
    EXPECT(pci_read(where(0x00, 8, 0), 0), 0x20148086);
    EXPECT(pci_read(where(0x00, 8, 0), 0xc0) & 7, 1);
    EXPECT(pci_read(where(0x80, 8, 0), 0xc0) & 7, 5);
    EXPECT(pci_read(where(0x32, 10, 2), 0), 0x20428086);
    EXPECT(pci_read(where(0xb2, 13, 2), 0), 0x204a8086);
    EXPECT(pci_read(where(0x32, 10, 0), 0) & 0xffff, 0x8086);
    EXPECT(pci_read(where(0x32, 10, 0), 0xc) & 0x800000, 0x800000);
    EXPECT(pci_read(where(0x32, 10, 1), 0), 0xffffffff);
    EXPECT(pci_read(where(0x5d, 16, 0), 0), 0xffffffff); /* the third link is fused off */
    EXPECT(violations(), 0);
    uncore.no_u_boxes = true;
    EXPECT(pci_read(where(0x00, 8, 0), 0), 0xffffffff);
}

static void a_memory_controller_counts(void)
{
    uint32_t imc = where(0xb2, 12, 6);

    machine("skx2");
    struct upmu_sim_unit *unit = box("imc", 1, 4);
    uint64_t before = pci_counter(imc, 0xa8), clock = pci_counter(imc, 0xd0);

    pci_write(imc, 0xf4, 0x100);
    pci_write(imc, 0xdc, (uint32_t)ENABLE | 0x0304);
    pci_write(imc, 0xf0, (uint32_t)ENABLE);
    happens(unit, 4, 3, 1000);
    EXPECT(pci_counter(imc, 0xa8) - before, 0);
    pci_write(imc, 0xf4, 0);
    happens(unit, 4, 3, 1000);
    happens(unit, 4, 0xc, 1000);
    upmu_sim_clock(&uncore, unit, 5);
    EXPECT(pci_counter(imc, 0xa8) - before, 1000);
    EXPECT(pci_counter(imc, 0xd0) - clock, 5);
    EXPECT(violations(), 0);
    upmu_sim_unit_set(unit, 1, (UINT64_C(1) << 48) - 1);
    pci_write(imc, 0xdc, 0x0304);
    pci_write(imc, 0xdc, (uint32_t)(ENABLE | OVERFLOW) | 0x0304);
    happens(unit, 4, 3, 1);
    EXPECT(pci_read(imc, 0xf8), 4); /* bit 0 is the fixed counter's */
    pci_write(imc, 0xf8, 4);
    EXPECT(pci_read(imc, 0xf8), 0);
}

static void the_high_half_takes_effect_with_the_low_one(void)
{
    uint32_t upi = where(0x5d, 14, 0);
    const struct upmu_sim_happening flits = {.event = 3, .umask = 0xf, .extended = 2, .count = 10};

    machine("skx2");
    uint64_t before = pci_counter(upi, 0x318);

    pci_write(upi, 0x350, (uint32_t)ENABLE | 0xf03);
    pci_write(upi, 0x354, 2);
    upmu_sim_happen(&uncore, box("upi", 0, 0), &flits);
    EXPECT(pci_counter(upi, 0x318) - before, 0);
    pci_write(upi, 0x350, 0xf03);
    pci_write(upi, 0x350, (uint32_t)ENABLE | 0xf03);
    upmu_sim_happen(&uncore, box("upi", 0, 0), &flits);
    EXPECT(pci_counter(upi, 0x318) - before, 10);
    EXPECT(pci_read(upi, 0x354), 2);
    EXPECT(violations(), 0);
    pci_write(upi, 0x354, 0x1000);
    EXPECT(violations(), 1);
}

static void offsets_from_100h_on_need_ecam(void)
{
    machine("skx2");
    uncore.no_ecam = true;
    EXPECT(pci_read(where(0x5d, 14, 0), 0x350), 0xfa0175);
    EXPECT(pci_read(where(0x32, 10, 2), 0xd8), 0);
}

static void configuration_space_is_accessed_by_dwords(void)
{
    machine("skx2");
    (void)pci_read(where(0x32, 10, 2), 0xda);
    EXPECT(violations(), 1);
    pci_write(where(0x32, 10, 3), 0xd8, 0);
    EXPECT(violations(), 1);
    pci_write(where(0x32, 10, 2), 0xf4, 4);
    EXPECT(violations(), 1);
}

/* A carry between two reads. */
static void carry_in(struct upmu_sim *model, unsigned cpu, uint32_t number, enum upmu_sim_kind kind, uint32_t address)
{
    (void)cpu, (void)kind, (void)address;
    if (number == *(uint32_t *)model->test)
        happens(box("imc", 0, 0), 4, 3, 1);
}

static void a_carry_can_come_between_two_reads(void)
{
    uint32_t imc = where(0x32, 10, 2), at = 4;

    machine("skx2");
    sim.test = &at;
    sim.before_access = carry_in;
    pci_write(imc, 0xd8, (uint32_t)ENABLE | 0x0304);
    upmu_sim_unit_set(box("imc", 0, 0), 0, UINT64_C(0x1ffffffff));
    (void)pci_read(imc, 0);
    EXPECT(pci_counter(imc, 0xa0), UINT64_C(0x2ffffffff)); /* neither the value before nor the one after */
    EXPECT(box("imc", 0, 0)->counter[0].value, UINT64_C(0x200000000));
}

static void a_link_matches_by_its_companion(void)
{
    uint32_t qpi = where(0x7f, 8, 2), filter = where(0x7f, 8, 6);
    const struct upmu_sim_happening match = {
        .event = 0x38, .count = 6, .filtered = 1, .filter = {0x20}, .filter_mask = {0x1e0}};
    const struct upmu_sim_happening extended = {.event = 0x102, .umask = 8, .count = 4};

    machine("hsx2");
    uint64_t before = pci_counter(qpi, 0xa0), second = pci_counter(qpi, 0xa8);

    EXPECT(pci_read(filter, 0), 0x2f868086);
    pci_write(filter, 0x228, 0x20);
    pci_write(qpi, 0xd8, (uint32_t)ENABLE | 0x38);
    pci_write(qpi, 0xdc, (uint32_t)ENABLE | 1u << 21 | 0x802);
    upmu_sim_happen(&uncore, box("qpi", 0, 0), &match);
    upmu_sim_happen(&uncore, box("qpi", 0, 0), &extended);
    EXPECT(pci_counter(qpi, 0xa0) - before, 6);
    EXPECT(pci_counter(qpi, 0xa8) - second, 4);
    EXPECT(violations(), 0);
    pci_write(filter, 0x228, 0x40);
    EXPECT(violations(), 1);
    EXPECT(pci_read(where(0x7f, 10, 6), 0), 0xffffffff);
}

/* ---- Scenarios: memory ---- */

static void a_client_controller_counts_in_memory(void)
{
    machine("snb");
    uint64_t bar = pci_read(0, 0x48) | (uint64_t)pci_read(0, 0x4c) << 32;
    volatile void *pointer = sim.port.mmio_map(&sim, bar & ~UINT64_C(0xfff), 0x6000);
    uint64_t reads = memory(pointer, 0x5050, 32), writes = memory(pointer, 0x5054, 32);

    upmu_sim_flow(&uncore, box("imc", 0, 0), 0, 100);
    upmu_sim_flow(&uncore, box("imc", 0, 0), 1, 7);
    EXPECT((uint32_t)(memory(pointer, 0x5050, 32) - reads), 100);
    EXPECT(violations(), 0);
    EXPECT(memory(pointer, 0x5050, 64), (uint32_t)(reads + 100) | (uint64_t)(uint32_t)(writes + 7) << 32);
    EXPECT(violations(), 1);
    memory_write(pointer, 0x5050, 32, 0);
    EXPECT(violations(), 1);
    EXPECT(memory(pointer, 0x5ff0, 32), 0xffffffff);
    (void)memory(pointer, 0x6000, 32);
    EXPECT(violations(), 1);
    sim.port.mmio_unmap(&sim, (void *)(uintptr_t)pointer, 0x5000);
    EXPECT(violations(), 1);
    sim.port.mmio_unmap(&sim, (void *)(uintptr_t)pointer, 0x6000);
    EXPECT(violations(), 0);
    EXPECT(memory(pointer, 0x5050, 32), 0xfa0175);
    EXPECT(violations(), 1);
}

static void a_server_controller_counts_in_memory(void)
{
    machine("icx");
    uint64_t base = (uint64_t)(pci_read(where(0x7e, 0, 1), 0xd0) & 0x1fffffff) << 23 |
                    (uint64_t)(pci_read(where(0x7e, 0, 1), 0xdc) & 0x7ff) << 12;
    volatile void *pointer = sim.port.mmio_map(&sim, base + 0x22800 + 0x4000, 0x4000);
    volatile void *third = sim.port.mmio_map(&sim, base + 0x22800 + 0x8000, 0x4000);
    volatile void *running = sim.port.mmio_map(&sim, base, 0x4000);
    struct upmu_sim_unit *unit = box("imc", 0, 4);
    uint64_t before = memory(pointer, 8, 64), reads = memory(running, 0x2290, 64);

    memory_write(pointer, 0x40, 32, ENABLE | 0xf04);
    happens(unit, 4, 0xf, 1000);
    EXPECT(memory(pointer, 8, 64) - before, 1000);
    EXPECT(memory(pointer, 0xc, 32), (before + 1000) >> 32);
    memory_write(pointer, 0, 32, 0x100);
    happens(unit, 4, 0xf, 1000);
    EXPECT(memory(pointer, 8, 64) - before, 1000);
    EXPECT(memory(third, 0, 32), 0xffffffff);
    upmu_sim_flow(&uncore, box("imc_free_running", 0, 1), 1, 77);
    EXPECT(memory(running, 0x2290, 64) - reads, 77);
    EXPECT(violations(), 0);
    memory_write(pointer, 0x44, 64, 0);
    EXPECT(violations(), 1);
}

static void alder_lake_needs_its_bar(void)
{
    machine("adl");
    uint64_t bar = pci_read(0, 0x48) | (uint64_t)pci_read(0, 0x4c) << 32;
    volatile void *second = sim.port.mmio_map(&sim, (bar & ~UINT64_C(1)) + 0xd900 + 0x10000, 0x200);
    uint64_t before = memory(second, 0xe8, 64);

    memory_write(second, 0xc0, 32, 6);
    EXPECT(memory(second, 0xe8, 64), 0);
    EXPECT(before != 0, true);
    memory_write(second, 0xd0, 32, 0x22);
    happens(box("imc", 0, 1), 0x22, 0, 5);
    EXPECT(memory(second, 0xe8, 64), 5);
    memory_write(second, 0xc4, 32, 1);
    happens(box("imc", 0, 1), 0x22, 0, 5);
    EXPECT(memory(second, 0xe8, 64), 5);
    EXPECT(violations(), 0);
    uncore.bar_off = true;
    EXPECT(pci_read(0, 0x48) & 1, 0);
    EXPECT(memory(second, 0xe8, 64), ~UINT64_C(0));
}

/* Linux uncore_snb.c adl_uncore_imc_init_box: the global control of the second controller is that of both. */
static void alder_lakes_controllers_have_one_global_control(void)
{
    machine("adl");
    uint64_t bar = pci_read(0, 0x48) | (uint64_t)pci_read(0, 0x4c) << 32;
    volatile void *first = sim.port.mmio_map(&sim, (bar & ~UINT64_C(1)) + 0xd900, 0x200);
    volatile void *second = sim.port.mmio_map(&sim, (bar & ~UINT64_C(1)) + 0xd900 + 0x10000, 0x200);

    EXPECT(memory(first, 0xe8, 64) != 0, true);
    memory_write(second, 0xc0, 32, 6);
    EXPECT(memory(first, 0xe8, 64), 0);
    memory_write(first, 0xd0, 32, 0x22);
    memory_write(second, 0xc0, 32, 1);
    happens(box("imc", 0, 0), 0x22, 0, 5);
    EXPECT(memory(first, 0xe8, 64), 0);
    memory_write(second, 0xc0, 32, 0);
    happens(box("imc", 0, 0), 0x22, 0, 5);
    EXPECT(memory(first, 0xe8, 64), 5);
    EXPECT(violations(), 0);
    memory_write(first, 0xc0, 32, 0);
    EXPECT(violations(), 1);
}

static void a_machine_describes_itself(void)
{
    machine("spr");
    uint32_t function = where(0xff, 3, 0);
    uint64_t bar = (pci_read(function, 0x10) & ~0xfu) | (uint64_t)pci_read(function, 0x14) << 32;
    volatile void *table = sim.port.mmio_map(&sim, bar, 0x1000);
    uint64_t global = memory(table, 0, 64), entry;

    EXPECT(pci_read(function, 0), 0x09a78086);
    EXPECT(pci_read(function, 0x140), 0x00010023);
    EXPECT(pci_read(function, 0x148) & 0xffff, 1);
    EXPECT(global >> 8 & 0xff, 8);
    EXPECT(global >> 16 & 0x3ff, uncore.machine->table_rows);
    entry = memory(table, 64, 64);
    EXPECT(entry, 4 | 2 << 8 | 48 << 16 | UINT64_C(8) << 24);
    EXPECT(memory(table, 72, 64), 0x2000);
    EXPECT(memory(table, 64 * 12 + 8, 32), 0x01122800);
    EXPECT(memory(table, 64 * 12 + 12, 32), 0x11); /* the second package's */
    EXPECT(memory(table, 64 * 5, 64), ~UINT64_C(0));
    EXPECT(violations(), 0);
    memory_write(table, 0, 32, 0);
    EXPECT(violations(), 1);
    uncore.chain_loops = true;
    EXPECT(pci_read(function, 0x140) >> 20, 0x120);
}

/* Another table has its entries 40 bytes apart, and its address in another BAR, which the capability names. */
static void a_table_may_be_elsewhere_and_closer(void)
{
    machine("emr");
    uint32_t function = where(0x7f, 3, 0), bar = 0x10 + 4 * (pci_read(function, 0x14c) & 7);
    uint64_t address = (pci_read(function, bar) & ~0xfu) | (uint64_t)pci_read(function, bar + 4) << 32;
    volatile void *table = sim.port.mmio_map(&sim, address, 0x1000);

    EXPECT(bar, 0x18);
    EXPECT(memory(table, 0, 64) >> 8 & 0xff, 5);
    EXPECT(memory(table, 40, 64), 4 | 2 << 8 | 48 << 16 | UINT64_C(8) << 24);
    EXPECT(memory(table, 40 * 12 + 8, 32), 0x01122800);
    EXPECT(memory(table, 40 * 5, 64), ~UINT64_C(0));
    EXPECT(violations(), 0);
}

/* ---- Scenarios: AMD ---- */

static void a_core_complex_has_its_own_l3(void)
{
    machine("zen2");
    uint64_t before = rdmsr(0xc0010231), value = 0;

    EXPECT(wrmsr(0xc0010230, ENABLE | 0xff04 | UINT64_C(0xf) << 48 | UINT64_C(0xff) << 56), true);
    happens(box("l3", 0, 0), 4, 0xff, 9);
    EXPECT(rdmsr(0xc0010231) - before, 9);
    EXPECT(sim.port.rdpmc(&sim, 10, &value), true);
    EXPECT(value - before, 9);
    EXPECT(wrmsr(0xc0010230, 0), true);
    EXPECT(wrmsr(0xc0010230, ENABLE | 0xff04), true);
    happens(box("l3", 0, 0), 4, 0xff, 9);
    EXPECT(rdmsr(0xc0010231) - before, 9);
    upmu_sim_switch_cpu(&sim, 1);
    EXPECT(rdmsr(0xc0010230), 0);
    before = rdmsr(0xc0010241);
    EXPECT(wrmsr(0xc0010240, ENABLE | 0x3807 | UINT64_C(0x1) << 32), true);
    happens(box("df", 0, 0), 0x107, 0x38, 4);
    EXPECT(rdmsr(0xc0010241) - before, 4);
    EXPECT(violations(), 0);
}

/* APM vol 2 13.2: RDPMC outside ring 0 needs CR4.PCE, for counters of units, too: L3, data fabric. */
static void rdpmc_of_a_unit_needs_leave_outside_ring_0(void)
{
    uint64_t value;

    machine("zen2");
    for (unsigned user = 0; user < 2; user++)
        for (unsigned pce = 0; pce < 2; pce++) {
            sim.cpu[0].user = user;
            sim.cpu[0].cr4_pce = pce;
            for (uint32_t index = 6; index <= 10; index += 4)
                EXPECT(sim.port.rdpmc(&sim, index, &value), !user || pce);
        }
}

static void a_umc_counts_to_its_end(void)
{
    machine("zen4");
    uint64_t before = rdmsr(0xc0010809);

    EXPECT(wrmsr(0xc0010808, ENABLE | 0x10a), true);
    happens(box("umc", 0, 1), 0xa, 1, 9);
    EXPECT(rdmsr(0xc0010809) - before, 0);
    EXPECT(wrmsr(0xc0010808, UINT64_C(1) << 31 | 0x10a), true);
    happens(box("umc", 0, 1), 0xa, 1, 9);
    EXPECT(rdmsr(0xc0010809) - before, 9);
    upmu_sim_unit_set(box("umc", 0, 1), 0, (UINT64_C(1) << 48) - 5);
    happens(box("umc", 0, 1), 0xa, 1, 9);
    EXPECT(rdmsr(0xc0010809), (UINT64_C(1) << 49) - 1); /* bit 48: it overflowed */
}

/* Linux amd/uncore.c: from family 19H on a select names a slice and a core unless bits 46 and 47 ask for all. */
static void an_l3_counts_the_slices_and_threads_asked_for(void)
{
    static const struct {
        const char *machine;
        uint64_t where;
        unsigned of_64;
    } rows[] = {{"zen4", UINT64_C(0x0300c00000000000), 64}, {"zen4", UINT64_C(0x0100c00000000000), 32},
                {"zen4", UINT64_C(0x0300400000000000), 8},  {"zen4", UINT64_C(0x0303800000000000), 8},
                {"zen4", UINT64_C(0x0300000000000000), 1},  {"zen4", UINT64_C(0x0000c00000000000), 0},
                {"zen2", UINT64_C(0xff0f000000000000), 64}, {"zen2", UINT64_C(0xff03000000000000), 32},
                {"zen2", UINT64_C(0x010f000000000000), 8},  {"zen2", UINT64_C(0xff00000000000000), 0}};

    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        machine(rows[i].machine);
        uint64_t before = rdmsr(0xc0010231);

        EXPECT(wrmsr(0xc0010230, ENABLE | 0xff04 | rows[i].where), true);
        happens(box("l3", 0, 0), 4, 0xff, 64);
        EXPECT(rdmsr(0xc0010231) - before, rows[i].of_64);
        /* Latency is counted whole. */
        before = rdmsr(0xc0010233);
        EXPECT(wrmsr(0xc0010232, ENABLE | 0x90 | rows[i].where), true);
        happens(box("l3", 0, 0), 0x90, 0, 64);
        EXPECT(rdmsr(0xc0010233) - before, 64);
        EXPECT(violations(), 0);
    }
}

/* Linux amdzen4 memory-controller.json: an event without a mask of reads and writes counts both. */
static void a_umc_without_a_mask_counts_all(void)
{
    machine("zen4");
    uint64_t before[3];

    for (uint32_t i = 0; i < 3; i++) {
        EXPECT(wrmsr(0xc0010800 + 2 * i, UINT64_C(1) << 31 | i << 8 | 0xa), true);
        before[i] = rdmsr(0xc0010801 + 2 * i);
    }
    happens(box("umc", 0, 0), 0xa, 1, 9);
    happens(box("umc", 0, 0), 0xa, 2, 7);
    happens(box("umc", 0, 0), 0xa, 0, 1);
    EXPECT(rdmsr(0xc0010801) - before[0], 17);
    EXPECT(rdmsr(0xc0010803) - before[1], 9);
    EXPECT(rdmsr(0xc0010805) - before[2], 7);
}

static void reserved_bits_of_amds_units_are_a_mistake(void)
{
    machine("zen2");
    EXPECT(wrmsr(0xc0010240, ENABLE | UINT64_C(1) << 17 | 7), true);
    EXPECT(violations(), 1);
    EXPECT(rdmsr(0xc0010240), ENABLE | 7);
    EXPECT(wrmsr(0xc0010230, OVERFLOW | 4), true);
    EXPECT(violations(), 1);
    machine("bulldozer2");
    EXPECT(wrmsr(0xc0010240, OVERFLOW | 0xe0), true);
    EXPECT(violations(), 0);
    EXPECT(rdmsr(0xc0010240), OVERFLOW | 0xe0);
}

static void a_fabric_of_perfmon_v2(void)
{
    machine("zen4");
    uint64_t before = rdmsr(0xc001024b), value = 0;

    EXPECT(wrmsr(0xc001024a, ENABLE | 0xfe1f | UINT64_C(0xf) << 24 | UINT64_C(0x3) << 32), true);
    happens(box("df", 0, 0), 0x31f, 0xffe, 3);
    EXPECT(rdmsr(0xc001024b) - before, 3);
    EXPECT(sim.port.rdpmc(&sim, 17, &value), true);
    EXPECT(value - before, 3);
}

static void a_package_may_have_two_nodes(void)
{
    machine("bulldozer2");
    uint64_t first = rdmsr(0xc0010241);

    upmu_sim_switch_cpu(&sim, 1);
    EXPECT(rdmsr(0xc0010241) != first, true);
    EXPECT(wrmsr(0xc0010240, ENABLE | 0xe0 | UINT64_C(1) << 32), true);
    first = rdmsr(0xc0010241);
    happens(box("nb", 1, 0), 0x1e0, 0, 3);
    EXPECT(rdmsr(0xc0010241) - first, 3);
}

/* ---- Scenarios: loads ---- */

static void a_load_moves_lines(void)
{
    const struct upmu_sim_load load = {.reads = 1000, .writes = 500, .lookups = 3000, .misses = 1000};
    const struct upmu_sim_burst burst = {.instructions = 1, .llc_references = 10, .llc_misses = 8};
    uint64_t reads = 0, writes = 0;

    machine("skx2");
    for (unsigned i = 0; i < 6; i++) {
        uint32_t places[] = {where(0x32, 10, 2), where(0x32, 10, 6), where(0x32, 11, 2),
                             where(0x32, 12, 2), where(0x32, 12, 6), where(0x32, 13, 2)};

        pci_write(places[i], 0xd8, (uint32_t)ENABLE | 0x304);
        pci_write(places[i], 0xdc, (uint32_t)ENABLE | 0xc04);
        reads -= box("imc", 0, i)->counter[0].value;
        writes -= box("imc", 0, i)->counter[1].value;
    }
    upmu_sim_traffic(&uncore, 0, &load);
    upmu_sim_traffic(&uncore, 1, &load);
    upmu_sim_events(&sim, &burst);
    for (unsigned i = 0; i < 6; i++) {
        reads += box("imc", 0, i)->counter[0].value;
        writes += box("imc", 0, i)->counter[1].value;
    }
    EXPECT(reads, 1008);
    EXPECT(writes, 502);
    machine("adl");
    reads = box("imc_free_running", 0, 0)->counter[1].value + box("imc_free_running", 0, 1)->counter[1].value;
    upmu_sim_traffic(&uncore, 0, &load);
    EXPECT(box("imc_free_running", 0, 0)->counter[1].value + box("imc_free_running", 0, 1)->counter[1].value - reads,
           1000);
}

/* ---- Scenarios: the way there ---- */

static void runs_nothing(void *argument)
{
    (void)argument;
}

static void runs_elsewhere(void *argument)
{
    EXPECT(sim.port.run_on_cpu(&sim, argument, runs_nothing, NULL), true);
}

static void calls_between_cpus_do_not_nest(void)
{
    static uint64_t some[2];
    struct upmu_cpu *bound[2] = {(struct upmu_cpu *)(void *)&some[0], (struct upmu_cpu *)(void *)&some[1]};

    machine("skx2");
    upmu_sim_bind_cpu(&sim, 0, bound[0]);
    upmu_sim_bind_cpu(&sim, 1, bound[1]);
    EXPECT(sim.port.run_on_cpu(&sim, bound[1], runs_nothing, NULL), true);
    EXPECT(violations(), 0);
    EXPECT(sim.port.run_on_cpu(&sim, bound[1], runs_elsewhere, bound[0]), true);
    EXPECT(violations(), 1);
    sim.cpu[1].offline = true;
    EXPECT(sim.port.run_on_cpu(&sim, bound[1], runs_nothing, NULL), false);
    EXPECT(violations(), 0);
    upmu_sim_switch_cpu(&sim, 1);
    (void)rdmsr(0xe08);
    EXPECT(violations(), 1);
}

static void accesses_are_counted_and_may_be_limited(void)
{
    machine("skx2");
    uncore.accesses_left = 3;
    uncore.ns_per_access = 50000;
    (void)rdmsr(0xe08);
    (void)rdmsr(0xe08);
    EXPECT(violations(), 0);
    EXPECT(sim.now_ns, 100000);
    (void)pci_read(where(0, 0, 0), 0);
    EXPECT(violations(), 1);
    EXPECT(sim.access_count[UPMU_SIM_PCI_READ], 1);
    EXPECT(uncore.unit_reads, 2);
}

static void accesses_can_be_made_to_fault(void)
{
    uint32_t imc = where(0x32, 10, 2);

    machine("skx2");
    sim.fault_at = 2;
    EXPECT(pci_read(imc, 0), 0x20428086);
    EXPECT(pci_read(imc, 0), 0xfa0175);
    EXPECT(sim.faults, 1);
    EXPECT(violations(), 0);
}

static void cpuid_places_the_cpus(void)
{
    uint32_t leaf[4];

    machine("skx2");
    for (unsigned i = 0; i < 4; i++) {
        upmu_sim_switch_cpu(&sim, i);
        sim.port.cpuid(&sim, 0xb, 1, leaf);
        EXPECT(leaf[3] >> leaf[0], i % 2);
    }
    machine("bulldozer2");
    upmu_sim_switch_cpu(&sim, 3);
    sim.port.cpuid(&sim, 0x8000001e, 0, leaf);
    EXPECT(leaf[2] & 0xff, 1);
    machine("zen4");
    upmu_sim_switch_cpu(&sim, 3);
    sim.port.cpuid(&sim, 0x8000001e, 0, leaf);
    EXPECT(leaf[2] & 0xff, 1);
    EXPECT(leaf[0] >> 4 & 3, 1);
}

/* ---- All of them ---- */

static void (*const scenarios[])(void) = {
    nhm_counts_where_both_bits_are_set,
    nhm_fixed_counter_is_the_lower_register,
    nhm_status_is_cleared_by_the_register_after_it,
    a_die_has_its_own_registers,
    fused_off_units_fault,
    box_control_freezes_and_reads_zero,
    freeze_needs_its_enable_on_haswell,
    box_control_resets,
    an_s_box_is_reset_step_by_step,
    clients_have_one_global_enable,
    a_client_stops_itself_if_asked_to,
    a_global_freeze_stops_the_package,
    some_machines_begin_frozen,
    panther_lakes_units_begin_frozen_by_memory,
    a_select_that_is_not_zero_is_live,
    reserved_bits_fault,
    occupancy_counts_on_counter_0,
    thresholds_compare,
    filters_let_through_what_they_name,
    bit_17_clears_a_counter,
    writes_above_the_width_are_dropped,
    box_status_is_cleared_by_ones,
    mistakes_under_a_running_counter,
    strangers_are_left_alone,
    a_unit_has_one_writer,
    free_running_counters_cannot_be_written,
    readings_are_those_of_cpu_core_and_package,
    a_machine_with_hyper_threads_says_so,
    a_burst_moves_readings,
    an_iio_stack_of_36_bits_loses_a_wrap,
    configuration_space_is_found,
    a_memory_controller_counts,
    the_high_half_takes_effect_with_the_low_one,
    offsets_from_100h_on_need_ecam,
    configuration_space_is_accessed_by_dwords,
    a_carry_can_come_between_two_reads,
    a_link_matches_by_its_companion,
    a_client_controller_counts_in_memory,
    a_server_controller_counts_in_memory,
    alder_lake_needs_its_bar,
    a_machine_describes_itself,
    a_core_complex_has_its_own_l3,
    rdpmc_of_a_unit_needs_leave_outside_ring_0,
    a_umc_counts_to_its_end,
    nhm_fixed_counter_overflows_by_bit_2,
    nehalem_ex_counts_where_three_bits_are_set,
    nehalem_exs_clock_has_bit_31_and_bit_0,
    a_clients_status_names_the_kind_of_box,
    haswells_counters_are_narrower_than_broadwells,
    thresholds_are_as_wide_as_the_manuals_say,
    knights_landing_filters_by_nodes,
    ties_of_the_event_files_hold,
    alder_lakes_controllers_have_one_global_control,
    a_table_may_be_elsewhere_and_closer,
    an_l3_counts_the_slices_and_threads_asked_for,
    a_umc_without_a_mask_counts_all,
    reserved_bits_of_amds_units_are_a_mistake,
    a_fabric_of_perfmon_v2,
    a_package_may_have_two_nodes,
    a_load_moves_lines,
    calls_between_cpus_do_not_nest,
    accesses_are_counted_and_may_be_limited,
    accesses_can_be_made_to_fault,
    cpuid_places_the_cpus,
};
#define SCENARIOS (sizeof scenarios / sizeof *scenarios)

static void units_do_as_the_manuals_say(void **state)
{
    unsigned failed = 0;

    (void)state;
    for (unsigned i = 0; i < SCENARIOS; i++) {
        failure[0] = '\0';
        scenarios[i]();
        if (failure[0] != '\0') {
            print_error("scenario %u: %s\n", i, failure);
            failed++;
        }
    }
    assert_int_equal(failed, 0);
}

static void each_rule_is_noticed(void **state)
{
    unsigned missed = 0;

    (void)state;
    for (switched = UPMU_SIM_RULE_U_DIE; switched < UPMU_SIM_RULE_COUNT; switched++) {
        failure[0] = '\0';
        for (unsigned i = 0; i < SCENARIOS && failure[0] == '\0'; i++)
            scenarios[i]();
        if (failure[0] == '\0') {
            print_error("no scenario notices %s\n", upmu_sim_rule(switched)->name);
            missed++;
        }
    }
    switched = UPMU_SIM_RULE_COUNT;
    assert_int_equal(missed, 0);
}

/* No register of a machine belongs to two boxes; each box's counters can be read. */
static void machines_are_sound(void **state)
{
    (void)state;
    for (unsigned i = 0; upmu_sim_machine_at(i); i++) {
        const struct upmu_sim_machine *one = upmu_sim_machine_at(i);

        assert_ptr_equal(upmu_sim_machine(one->name), one);
        machine(one->name);
        assert_in_range(uncore.units, 1, UPMU_SIM_UNITS - 1);
        for (unsigned k = 0; k < uncore.units; k++) {
            const struct upmu_sim_unit *unit = &uncore.unit[k];
            unsigned cpu = 0, found = 0;

            assert_compare(unit->type->counters, <, UPMU_SIM_UNIT_COUNTERS);
            if (unit->type->space != UPMU_SIM_SPACE_MSR || unit->absent || unit->type->style == UPMU_SIM_UNIT_FREE ||
                unit->type->counters == 0)
                continue;
            while (uncore.place[cpu].die != unit->die ||
                   (unit->type->quirks & UPMU_SIM_QUIRK_LLC && uncore.place[cpu].llc != unit->llc))
                cpu++;
            upmu_sim_switch_cpu(&sim, cpu);
            for (uint32_t c = 0; c < unit->type->counters; c++) {
                uint32_t msr = unit->type->counter + (uint32_t)unit->base + c * unit->type->counter_step;

                if (rdmsr(msr) == unit->counter[c].value)
                    found++;
            }
            if (found != unit->type->counters)
                print_error("%s: %s %u\n", one->name, unit->type->name, unit->index);
            assert_int_equal(found, unit->type->counters);
        }
        assert_int_equal(violations(), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_do_as_the_manuals_say),
        cmocka_unit_test(each_rule_is_noticed),
        cmocka_unit_test(machines_are_sound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
