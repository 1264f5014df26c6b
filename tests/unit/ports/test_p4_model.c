/* SPDX-License-Identifier: MIT */
/*
 * The silicon model of the Pentium 4 against the tables of the hardware: which
 * registers and bits exist (tests/conformance/p4_msrs.tsv), which counter sees
 * which ESCR (p4_wires.tsv), what CPUID says about threads and cores.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/assertions.h"

#include "models/sim/sim.h"
#include "tests/common/table.h"

static struct upmu_sim sim;
static const char *const every[] = {"willamette", "northwood",       "northwood_smtoff",
                                    "prescott",   "prescott_smtoff", "nocona",
                                    "smithfield", "cedarmill",       "cedarmill_smtoff"};

#define PROFILES (sizeof every / sizeof every[0])

static void set_up(const char *profile, unsigned cpus)
{
    assert_non_null(upmu_sim_profile(profile));
    upmu_sim_init(&sim, upmu_sim_profile(profile), cpus);
    sim.expect_faults = true;
    for (unsigned i = 0; i < sim.cpus; i++)
        sim.cpu[i].irqs_on = false;
}

static bool written(uint32_t msr, uint64_t value)
{
    return sim.port.wrmsr(sim.port.context, msr, value);
}

static uint64_t read(uint32_t msr)
{
    uint64_t value = UINT64_MAX;

    assert_true(sim.port.rdmsr(sim.port.context, msr, &value));
    return value;
}

/* ---- Registers ---- */

static void every_register_keeps_the_bits_that_were_probed(void **state)
{
    FILE *file = source_open("tests/conformance/p4_msrs.tsv");
    char line[200];
    unsigned seen = 0;

    (void)state;
    set_up("nocona", 1);
    while (fgets(line, sizeof line, file)) {
        char kind[16], mask[20];
        unsigned address;
        uint64_t bits;

        if (line[0] == '#')
            continue;
        assert_int_equal(sscanf(line, "%15[^\t]\t%*[^\t]\t%*u\t%x\t%*[^\t]\t%19[^\t]", kind, &address, mask), 3);
        if (!strcmp(mask, "absent"))
            continue;
        bits = strtoull(mask, NULL, 16);
        assert_true(written(address, strcmp(kind, "escr") ? UINT64_MAX : UINT64_MAX ^ 0x80000000u));
        assert_int_equal(read(address), bits);
        upmu_sim_reset_cpu(&sim, 0);
        seen++;
    }
    fclose(file);
    assert_int_equal(seen, 81);
}

static void every_model_has_the_registers_that_the_table_gives_it(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PROFILES; p++) {
        FILE *file = source_open("tests/conformance/p4_msrs.tsv");
        char line[200];

        set_up(every[p], 1);
        while (fgets(line, sizeof line, file)) {
            char models[20], model[2] = {(char)('0' + (sim.profile->signature >> 4 & 0xf)), '\0'};
            unsigned address;

            if (line[0] == '#')
                continue;
            assert_int_equal(sscanf(line, "%*[^\t]\t%*[^\t]\t%*u\t%x\t%19[^\t]", &address, models), 2);
            upmu_sim_forget(&sim);
            (void)read(address);
            assert_int_equal(sim.violation_count, strstr(models, model) ? 0 : 1);
        }
        fclose(file);
    }
}

/* An event in this ESCR alone: the counter moves if it sees it. */
static bool sees(unsigned counter, unsigned select, unsigned escr)
{
    uint64_t value = escr >> 1 == 0x3b6 >> 1 ? 0x1000020c : 0x0200020c;

    upmu_sim_reset_cpu(&sim, 0);
    assert_true(written(escr, value));
    assert_true(written(0x360 + counter, 0x31000 | (uint64_t)select << 13));
    upmu_sim_events(
        &sim, &(struct upmu_sim_burst){
                  .cycles = 4,
                  .other = {{.count = 4, .escr = (uint16_t)(escr & ~1u), .event = (uint8_t)(value >> 25), .mask = 1}},
              });
    return read(0x300 + counter) == 4;
}

/* ESCRs that this model has: not the holes. */
static bool there_is(unsigned escr, bool late)
{
    static const unsigned holes[] = {0x3bf, 0x3c6, 0x3c7};

    for (unsigned i = 0; i < 3; i++)
        if (escr == holes[i])
            return false;
    return !(late && escr >> 1 == 0x3ba >> 1) && (escr < 0x3ce || escr >= 0x3e0);
}

static void counters_see_the_103_escrs_that_they_are_wired_to(void **state)
{
    FILE *file = source_open("tests/conformance/p4_wires.tsv");
    char line[200];
    static unsigned wires[18][8];
    unsigned count = 0;

    (void)state;
    memset(wires, 0, sizeof wires);
    while (fgets(line, sizeof line, file)) {
        unsigned counter, select, escr;

        if (line[0] == '#')
            continue;
        assert_int_equal(sscanf(line, "%u\t%u\t%x", &counter, &select, &escr), 3);
        wires[counter][select] = escr;
        count++;
    }
    fclose(file);
    assert_int_equal(count, 103);
    for (unsigned late = 0; late < 2; late++) {
        set_up(late ? "prescott_smtoff" : "willamette", 1);
        for (unsigned counter = 0; counter < 18; counter++)
            for (unsigned select = 0; select < 8; select++) {
                unsigned escr = wires[counter][select];

                if (late && escr >> 1 == 0x3ba >> 1)
                    escr = 0;
                for (unsigned other = 0x3a0; other <= 0x3e1; other++)
                    if (there_is(other, late))
                        assert_int_equal(sees(counter, select, other), other == escr);
            }
    }
}

/* ---- Threads ---- */

static unsigned apic_of(unsigned cpu, unsigned *logical, unsigned *cores)
{
    uint32_t highest[4], leaf1[4], leaf4[4] = {0};

    upmu_sim_switch_cpu(&sim, cpu);
    sim.port.cpuid(sim.port.context, 0, 0, highest);
    sim.port.cpuid(sim.port.context, 1, 0, leaf1);
    if (highest[0] >= 4)
        sim.port.cpuid(sim.port.context, 4, 0, leaf4);
    *logical = leaf1[3] >> 28 & 1u ? leaf1[1] >> 16 & 0xffu : 1;
    *cores = highest[0] >= 4 ? (leaf4[0] >> 26) + 1u : 1;
    return leaf1[1] >> 24;
}

/* perfctr's way: the bits of the APIC id below the number of threads of a core. */
static unsigned thread_of(unsigned cpu)
{
    unsigned logical, cores, apic = apic_of(cpu, &logical, &cores), bits = 0;

    while (1u << bits < (logical + cores - 1u) / cores)
        bits++;
    return apic & ((1u << bits) - 1u);
}

static void cpuid_tells_threads_from_cores(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PROFILES; p++)
        for (unsigned cpus = 1; cpus <= 4; cpus++) {
            if (cpus == 3 || (cpus == 4 && strcmp(every[p], "cedarmill")))
                continue;
            set_up(every[p], cpus);
            for (unsigned cpu = 0; cpu < cpus; cpu++)
                assert_int_equal(thread_of(cpu), sim.profile->flags & UPMU_SIM_SMT ? cpu & 1u : 0);
        }
}

static void there_is_no_architectural_leaf(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PROFILES; p++) {
        uint32_t highest[4], beyond[4], last[4];

        set_up(every[p], 1);
        sim.port.cpuid(sim.port.context, 0, 0, highest);
        assert_compare(highest[0], <, 10);
        sim.port.cpuid(sim.port.context, 10, 0, beyond);
        sim.port.cpuid(sim.port.context, highest[0], 0, last);
        assert_memory_equal(beyond, last, sizeof last);
        assert_int_equal(sim.profile->signature >> 8, 0xf);
    }
}

/* ---- Bursts ---- */

/* An interrupt shows the instruction after the one that came after the overflow. */
static unsigned interrupts;
static uint64_t interrupted_at;
static unsigned interrupted_cpu;

static void handler(struct upmu_sim *model, unsigned cpu, const struct upmu_sim_interrupt *interrupt)
{
    (void)model;
    interrupts++;
    interrupted_at = interrupt->ip;
    interrupted_cpu = cpu;
}

static void an_interrupt_reaches_its_thread_while_the_other_executes(void **state)
{
    (void)state;
    set_up("prescott", 2);
    sim.deliver = handler;
    interrupts = 0;
    upmu_sim_switch_cpu(&sim, 1);
    sim.port.pmi_rearm(sim.port.context);
    upmu_sim_switch_cpu(&sim, 0);
    assert_true(written(0x3b8, 0x0400020f));
    assert_true(written(0x30c, UINT64_C(0xffffffffff)));
    assert_true(written(0x36c, 0x08039000));
    upmu_sim_events(&sim, &(struct upmu_sim_burst){.instructions = 10, .ip = 0x1000, .ip_step = 1});
    assert_int_equal(interrupts, 1);
    assert_int_equal(interrupted_cpu, 1);
    assert_int_equal(sim.current, 0);
    assert_int_equal(sim.cpu[1].interrupts, 1);
    assert_int_equal(sim.cpu[0].interrupts, 0);
}

static void an_interrupt_comes_at_the_event_after_the_overflow(void **state)
{
    (void)state;
    set_up("prescott_smtoff", 1);
    sim.deliver = handler;
    interrupts = 0;
    sim.port.pmi_rearm(sim.port.context);
    assert_true(written(0x3b8, 0x0400020c));
    assert_true(written(0x30c, UINT64_C(0x10000000000) - 100));
    assert_true(written(0x36c, 0x04039000));
    upmu_sim_events(&sim, &(struct upmu_sim_burst){.instructions = 1000, .cycles = 3000, .ip = 0x1000, .ip_step = 1});
    assert_int_equal(interrupts, 1);
    assert_int_equal(interrupted_at, 0x1000 + 101);
    assert_int_equal(read(0x30c), 900);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_register_keeps_the_bits_that_were_probed),
        cmocka_unit_test(every_model_has_the_registers_that_the_table_gives_it),
        cmocka_unit_test(counters_see_the_103_escrs_that_they_are_wired_to),
        cmocka_unit_test(cpuid_tells_threads_from_cores),
        cmocka_unit_test(there_is_no_architectural_leaf),
        cmocka_unit_test(an_interrupt_reaches_its_thread_while_the_other_executes),
        cmocka_unit_test(an_interrupt_comes_at_the_event_after_the_overflow),
    };

    return cmocka_run_group_tests_name("p4_model", tests, NULL, NULL);
}
