/* SPDX-License-Identifier: MIT */
/*
 * Readings at work, on modelled machines whose cores have two hyper-threads: units of single CPUs and cores, and of
 * packages. Each is read on a CPU that sees it, and its counts are exact; nothing is ever written.
 */
#include "tests/unit/engine/uncore_host.h"

#include "models/sim/sim_amd.h"
#include <upmu/cpu.h>
#include <upmu/event.h>

static struct uncore_host host;
static struct upmu_uncore_region all[UPMU_SIM_CPUS + 1];

/* All CPUs search; those of one core and package add its units once. */
static void find_each_cpu(void)
{
    for (unsigned i = 0; i < host.sim.cpus; i++) {
        upmu_sim_switch_cpu(&host.sim, i);
        upmu_sim_irqs(&host.sim, false);
        assert_int_equal(upmu_units_find(&host.cpu[i], &host.list, UPMU_UNITS_EACH_CPU), UPMU_OK, i);
        upmu_sim_irqs(&host.sim, true);
    }
    upmu_sim_switch_cpu(&host.sim, 0);
}

static void set_up(const char *machine)
{
    uncore_prepare(&host, machine);
    assert_int_equal(upmu_machine_init(&host.machine, upmu_sim_port(&host.sim)), UPMU_OK);
    uncore_take_over(&host, 0, host.sim.cpus);
    find_each_cpu();
}

static uint32_t writes(void)
{
    return host.uncore.unit_writes;
}

/* A machine of one package with four CPUs: a unit for each CPU, for each core, and for the package. */
static void each_cpu_core_and_package_has_its_unit(void **state)
{
    static const char *const paths[] = {"package0/die0/msr0",         "package0/die0/msr1",
                                        "package0/die0/msr2",         "package0/die0/msr3",
                                        "package0/die0/cstate_core0", "package0/die0/cstate_core1",
                                        "package0/die0/cstate_pkg0",  "package0/die0/power0"};
    struct upmu_unit_found found;

    (void)state;
    set_up("kbl");
    assert_int_equal(host.list.unit_count, sizeof paths / sizeof paths[0]);
    for (unsigned i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        assert_int_equal(upmu_unit_find(&host.list, UPMU_UNIT_PATH, 0, paths[i], &found), UPMU_OK, i);
        assert_int_equal(found.boxes, 1, i);
    }
    /* A type without a number is several units, and no two of them are one. */
    assert_int_equal(upmu_unit_find(&host.list, UPMU_UNIT_PATH, 0, "msr", &found), UPMU_ERR_INVALID);
    assert_int_equal(found.boxes, 1);
    assert_non_null(found.other);
    assert_int_equal(upmu_unit_find(&host.list, UPMU_UNIT_PATH, 0, "msr1", &found), UPMU_OK);
    assert_int_equal(found.unit[1].type, found.unit->type); /* the next one of the list is msr2 */
    assert_int_equal(upmu_unit_open(&host.unit[0], &host.machine, found.unit, 2), UPMU_ERR_INVALID);
    assert_int_equal(upmu_unit_open_text(&host.unit[0], &host.machine, "cstate_core"), UPMU_ERR_INVALID);
    assert_int_equal(writes(), 0);
    uncore_no_violation(&host);
}

static void open_unit(unsigned i, const char *path, const char *events)
{
    assert_int_equal(upmu_unit_open_text(&host.unit[i], &host.machine, path), UPMU_OK, i);
    assert_int_equal(upmu_session_init(&host.session[i], &host.machine), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.session[i].set, events, NULL), UPMU_OK, i);
    assert_int_equal(upmu_session_attach_unit(&host.session[i], &host.unit[i]), UPMU_OK, i);
    assert_int_equal(upmu_session_start(&host.session[i]), UPMU_OK, i);
}

static void close_unit(unsigned i)
{
    assert_int_equal(upmu_session_close(&host.session[i]), UPMU_OK, i);
    assert_int_equal(upmu_unit_close(&host.unit[i]), UPMU_OK, i);
}

/* Counters of the model's units, by their place in its lists. */
static void flow(const char *type, unsigned index, unsigned counter, uint64_t count)
{
    struct upmu_sim_unit *unit = upmu_sim_unit(&host.uncore, type, 0, index);

    assert_non_null(unit);
    upmu_sim_flow(&host.uncore, unit, counter, count);
}

/* CPU 0 reads all of them; the accesses are made on CPU i, and only CPU i's registers are in its count. */
static void counts_are_those_of_the_cpu(void **state)
{
    (void)state;
    set_up("kbl");
    for (unsigned i = 0; i < HOST_UNITS; i++) {
        char path[8] = {'m', 's', 'r', (char)('0' + i), '\0'};

        open_unit(i, path, "msr/aperf/,msr/mperf/,msr/pperf/,msr/smi/");
        assert_ptr_equal(host.unit[i].meter.cpu, &host.cpu[i]);
    }
    for (unsigned i = 0; i < HOST_UNITS; i++) {
        flow("msr", i, 0, 1000 + i);
        flow("msr", i, 1, 2000 + i);
        flow("msr", i, 2, 300 + i);
        flow("msr", i, 3, i);
    }
    for (unsigned i = 0; i < HOST_UNITS; i++) {
        assert_int_equal(uncore_value(&host.session[i], 0), 1000 + i, i);
        assert_int_equal(uncore_value(&host.session[i], 1), 2000 + i, i);
        assert_int_equal(uncore_value(&host.session[i], 2), 300 + i, i);
        assert_int_equal(uncore_value(&host.session[i], 3), i, i);
        close_unit(i);
    }
    assert_int_equal(writes(), 0);
    uncore_no_violation(&host);
}

/* Residencies: the core's own, and the package's; TSC by the register that every x86 has. */
static void residencies_are_those_of_core_and_package(void **state)
{
    uint64_t ticks;

    (void)state;
    set_up("kbl");
    open_unit(0, "cstate_core0", "cstate_core/c3-residency/,cstate_core/c6-residency/,cstate_core/c7-residency/");
    open_unit(1, "cstate_core1", "cstate_core/c6-residency/");
    open_unit(2, "cstate_pkg", "cstate_pkg/c2-residency/,cstate_pkg/c6-residency/,cstate_pkg/c10-residency/");
    open_unit(3, "msr2", "msr/tsc/");
    assert_ptr_equal(host.unit[3].meter.cpu, &host.cpu[2]);
    flow("cstate_core", 0, 0, 11);
    flow("cstate_core", 0, 1, 22);
    flow("cstate_core", 0, 2, UINT64_C(1) << 40);
    flow("cstate_core", 1, 1, 44);
    flow("cstate_pkg", 0, 0, 55);
    flow("cstate_pkg", 0, 2, 66);
    flow("cstate_pkg", 0, 6, 77);
    assert_int_equal(uncore_value(&host.session[0], 0), 11);
    assert_int_equal(uncore_value(&host.session[0], 1), 22);
    assert_true(uncore_value(&host.session[0], 2) == UINT64_C(1) << 40);
    assert_int_equal(uncore_value(&host.session[1], 0), 44);
    assert_int_equal(uncore_value(&host.session[2], 0), 55);
    assert_int_equal(uncore_value(&host.session[2], 1), 66);
    assert_int_equal(uncore_value(&host.session[2], 2), 77);
    ticks = uncore_value(&host.session[3], 0);
    host.sim.now_ns += 5000;
    assert_in_range(uncore_value(&host.session[3], 0) - ticks, 5000, 6000);
    for (unsigned i = 0; i < HOST_UNITS; i++)
        close_unit(i);
    assert_int_equal(writes(), 0);
    uncore_no_violation(&host);
}

/* Registers of 32 bits go round: the count of SMIs, and energy. */
static void registers_of_32_bits_go_round(void **state)
{
    (void)state;
    set_up("kbl");
    upmu_sim_unit(&host.uncore, "msr", 0, 1)->counter[3].value = 0xfffffffe;
    upmu_sim_unit(&host.uncore, "power", 0, 0)->counter[1].value = 0xfffffff0;
    open_unit(0, "msr1", "msr/smi/");
    open_unit(1, "power", "power/energy-pkg/");
    flow("msr", 1, 3, 5);
    flow("power", 0, 1, 0x20);
    assert_int_equal(uncore_value(&host.session[0], 0), 5);
    assert_int_equal(uncore_value(&host.session[1], 0), 0x20);
    close_unit(0);
    close_unit(1);
}

/* A hyper-thread reads for the other one of its core; a CPU's own unit sleeps while it is away, and counts on after. */
static void units_follow_their_cpus(void **state)
{
    struct upmu_count count;

    (void)state;
    set_up("kbl");
    open_unit(0, "cstate_core1", "cstate_core/c6-residency/");
    open_unit(1, "msr3", "msr/aperf/");
    assert_int_equal(upmu_unit_manage(&host.unit[0], &host.cpu[3]), UPMU_OK);
    assert_int_equal(upmu_unit_manage(&host.unit[0], &host.cpu[1]), UPMU_ERR_INVALID);
    assert_int_equal(upmu_unit_manage(&host.unit[1], &host.cpu[2]), UPMU_ERR_INVALID);
    flow("cstate_core", 1, 1, 100);
    flow("msr", 3, 0, 7);
    upmu_sim_switch_cpu(&host.sim, 3);
    upmu_sim_irqs(&host.sim, false);
    assert_int_equal(upmu_cpu_fini(&host.cpu[3]), UPMU_OK);
    upmu_sim_irqs(&host.sim, true);
    upmu_sim_switch_cpu(&host.sim, 0);
    assert_ptr_equal(host.unit[0].meter.cpu, &host.cpu[2]);
    assert_null(host.unit[1].meter.cpu);
    flow("cstate_core", 1, 1, 20);
    assert_int_equal(uncore_value(&host.session[0], 0), 120);
    assert_int_equal(upmu_set_read(&host.session[1].set, 0, 1, &count), UPMU_OK); /* as it was when the CPU left */
    assert_int_equal(count.value, 7);
    uncore_take_over(&host, 3, 1);
    assert_ptr_equal(host.unit[1].meter.cpu, &host.cpu[3]);
    flow("msr", 3, 0, 3);
    upmu_sim_switch_cpu(&host.sim, 0);
    assert_int_equal(uncore_value(&host.session[1], 0), 10);
    close_unit(0);
    close_unit(1);
    assert_int_equal(writes(), 0);
    uncore_no_violation(&host);
}

/* One region for all CPUs, one for all cores: the counts are sums. */
static void a_region_adds_up_cpus(void **state)
{
    struct upmu_count count[2];

    (void)state;
    set_up("kbl");
    assert_int_equal(upmu_uncore_region_open(all, 3, &host.machine, "msr/aperf/"), UPMU_ERR_NO_SPACE);
    assert_int_equal(upmu_uncore_region_open(all, UPMU_SIM_CPUS, &host.machine, "msr/aperf/,msr/mperf/"), UPMU_OK);
    assert_int_equal(upmu_uncore_region_begin(all, UPMU_SIM_CPUS), UPMU_OK);
    for (unsigned i = 0; i < UPMU_SIM_CPUS; i++)
        flow("msr", i, i & 1u, 10u + i);
    assert_int_equal(upmu_uncore_region_end(all, UPMU_SIM_CPUS, count, 2), UPMU_OK);
    assert_int_equal(count[0].value, 10 + 12);
    assert_int_equal(count[1].value, 11 + 13);
    assert_int_equal(upmu_uncore_region_close(all, UPMU_SIM_CPUS), UPMU_OK);
    assert_int_equal(upmu_uncore_region_open(all, UPMU_SIM_CPUS, &host.machine, "cstate_core/c6-residency/"), UPMU_OK);
    assert_int_equal(upmu_uncore_region_begin(all, UPMU_SIM_CPUS), UPMU_OK);
    flow("cstate_core", 0, 1, 400);
    flow("cstate_core", 1, 1, 4);
    assert_int_equal(upmu_uncore_region_end(all, UPMU_SIM_CPUS, count, 1), UPMU_OK);
    assert_int_equal(count[0].value, 404);
    assert_int_equal(upmu_uncore_region_close(all, UPMU_SIM_CPUS), UPMU_OK);
    /* The text of an event may name one CPU. */
    assert_int_equal(upmu_uncore_region_open(all, 1, &host.machine, "msr2/aperf/"), UPMU_OK);
    assert_int_equal(upmu_uncore_region_begin(all, 1), UPMU_OK);
    flow("msr", 1, 0, 1000);
    flow("msr", 2, 0, 5);
    assert_int_equal(upmu_uncore_region_end(all, 1, count, 1), UPMU_OK);
    assert_int_equal(count[0].value, 5);
    assert_int_equal(upmu_uncore_region_close(all, 1), UPMU_OK);
    assert_int_equal(writes(), 0);
}

/* CPUs of two packages have the same numbers: each unit is read in its own package. */
static void packages_have_cpus_of_the_same_number(void **state)
{
    static const char *const paths[] = {"package0/die0/msr0", "package1/die0/msr0", "package0/die0/msr1",
                                        "package1/die0/msr1"};

    static struct upmu_sim_machine two;

    (void)state;
    uncore_prepare(&host, "kbl");
    two = *upmu_sim_machine("kbl");
    two.packages = 2;
    upmu_sim_uncore_init(&host.uncore, &host.sim, &two);
    assert_int_equal(upmu_machine_init(&host.machine, upmu_sim_port(&host.sim)), UPMU_OK);
    uncore_take_over(&host, 0, host.sim.cpus);
    find_each_cpu();
    assert_int_equal(host.list.unit_count, 4 + 2 + 2 + 2);
    for (unsigned i = 0; i < HOST_UNITS; i++) {
        open_unit(i, paths[i], "msr/aperf/,msr/mperf/");
        assert_ptr_equal(host.unit[i].meter.cpu, &host.cpu[i]);
    }
    assert_int_equal(upmu_unit_manage(&host.unit[0], &host.cpu[1]), UPMU_ERR_INVALID);
    assert_int_equal(upmu_unit_manage(&host.unit[0], &host.cpu[2]), UPMU_ERR_INVALID);
    for (unsigned i = 0; i < HOST_UNITS; i++)
        upmu_sim_flow(&host.uncore, upmu_sim_unit(&host.uncore, "msr", i & 1u, i >> 1), 1, 500 + i);
    for (unsigned i = 0; i < HOST_UNITS; i++) {
        assert_int_equal(uncore_value(&host.session[i], 0), 0, i);
        assert_int_equal(uncore_value(&host.session[i], 1), 500 + i, i);
        close_unit(i);
    }
    uncore_no_violation(&host);
}

static const struct upmu_unit_type unscoped = {.name = "plain", .pmu = "plain", .title = "registers of a die",
                                               .style = UPMU_UNIT_FREE, .space = UPMU_SPACE_MSR, .counters = 1,
                                               .width = 64, .counter_step = 1, .register_bits = 64, .enable_bit = 0xff,
                                               .rdpmc = 0xffff, .counter = 0xe8};

static bool own_unit(void *context, unsigned i, struct upmu_unit_info *out_info, const struct upmu_unit_type **out_type)
{
    (void)context;
    out_info->number = (uint16_t)(7 + i);
    *out_type = &unscoped;
    return i < 2;
}

/* A host's type that names no scope is a die's: any CPU of the die reads it, and several boxes are one unit. */
static void a_hosts_own_type_without_scope_is_a_dies(void **state)
{
    struct upmu_unit_found found;

    (void)state;
    uncore_prepare(&host, "kbl");
    host.sim.port.own_unit = own_unit;
    assert_int_equal(upmu_machine_init(&host.machine, upmu_sim_port(&host.sim)), UPMU_OK);
    uncore_take_over(&host, 0, host.sim.cpus);
    find_each_cpu();
    assert_int_equal(upmu_unit_find(&host.list, UPMU_UNIT_PATH, 0, "plain", &found), UPMU_OK);
    assert_int_equal(found.boxes, 2);
    assert_int_equal(upmu_unit_open(&host.unit[0], &host.machine, found.unit, 2), UPMU_OK);
    assert_non_null(host.unit[0].meter.cpu);
    assert_int_equal(upmu_unit_close(&host.unit[0]), UPMU_OK);
}

/* Degrees below the limit, in bits 22:16, of the CPU whose unit is asked; bit 31 says whether they are valid. */
static void a_level_is_what_the_register_shows(void **state)
{
    struct upmu_unit_level level = {"untouched", 99};
    struct upmu_sim_unit *two;

    (void)state;
    set_up("kbl");
    two = upmu_sim_unit(&host.uncore, "msr", 0, 2);
    assert_int_equal(upmu_unit_open_text(&host.unit[0], &host.machine, "msr2"), UPMU_OK);
    assert_int_equal(upmu_unit_level(&host.unit[0], "cpu_thermal_margin", &level), UPMU_OK);
    assert_int_equal(level.value, 42);
    assert_string_equal(level.measure, "C");
    upmu_sim_unit_set(two, 4, UINT64_C(0xff) << 31 | UINT64_C(0x7f) << 16 | 0xffff);
    assert_int_equal(upmu_unit_level(&host.unit[0], "CPU_THERMAL_MARGIN", &level), UPMU_OK);
    assert_int_equal(level.value, 0x7f);
    level.value = 99;
    upmu_sim_unit_set(two, 4, UINT64_C(0x7fff0000));
    assert_int_equal(upmu_unit_level(&host.unit[0], "cpu_thermal_margin", &level), UPMU_ERR_NOT_COUNTED);
    two->absent = true;
    assert_int_equal(upmu_unit_level(&host.unit[0], "cpu_thermal_margin", &level), UPMU_ERR_PORT);
    two->absent = false;
    assert_int_equal(upmu_unit_level(&host.unit[0], "aperf", &level), UPMU_ERR_NO_SUCH_NAME);
    assert_int_equal(level.value, 99);
    assert_int_equal(upmu_unit_close(&host.unit[0]), UPMU_OK);
    assert_int_equal(upmu_unit_level(&host.unit[0], "cpu_thermal_margin", &level), UPMU_ERR_STATE);
    assert_int_equal(upmu_unit_open_text(&host.unit[0], &host.machine, "cstate_pkg0"), UPMU_OK);
    assert_int_equal(upmu_unit_level(&host.unit[0], "cpu_thermal_margin", &level), UPMU_ERR_NO_SUCH_NAME);
    assert_int_equal(upmu_unit_close(&host.unit[0]), UPMU_OK);
    assert_int_equal(writes(), 0);
    uncore_no_violation(&host);
}

/* Levels are there where CPUID promises them, and under no hypervisor. */
static void levels_need_their_bit_of_cpuid(void **state)
{
    struct upmu_unit_level level;

    (void)state;
    set_up("rome");
    assert_int_equal(upmu_unit_open_text(&host.unit[0], &host.machine, "package0/die0/msr0"), UPMU_OK);
    assert_int_equal(upmu_unit_level(&host.unit[0], "cpu_thermal_margin", &level), UPMU_ERR_NO_SUCH_NAME);
    assert_int_equal(upmu_unit_close(&host.unit[0]), UPMU_OK);
    uncore_prepare(&host, "kbl");
    host.uncore.core.flags |= UPMU_SIM_HYPERVISOR;
    assert_int_equal(upmu_machine_init(&host.machine, upmu_sim_port(&host.sim)), UPMU_OK);
    uncore_take_over(&host, 0, 1);
    upmu_sim_irqs(&host.sim, false);
    assert_int_equal(upmu_units_find(&host.cpu[0], &host.list, UPMU_UNITS_EACH_CPU | UPMU_UNITS_FORCE), UPMU_OK);
    upmu_sim_irqs(&host.sim, true);
    assert_int_equal(upmu_unit_open_text(&host.unit[0], &host.machine, "msr0"), UPMU_OK);
    assert_int_equal(upmu_unit_level(&host.unit[0], "cpu_thermal_margin", &level), UPMU_ERR_NO_SUCH_NAME);
    assert_int_equal(upmu_unit_close(&host.unit[0]), UPMU_OK);
}

/* A register that faults later: the call says so, and which one; the unit is usable afterwards. */
static void a_fault_is_precise_and_changes_nothing(void **state)
{
    struct upmu_count count;
    uint32_t boxes;

    (void)state;
    set_up("kbl");
    open_unit(0, "msr1", "msr/aperf/");
    flow("msr", 1, 0, 6);
    upmu_sim_unit(&host.uncore, "msr", 0, 1)->absent = true;
    assert_int_equal(upmu_set_read(&host.session[0].set, 0, 1, &count), UPMU_ERR_PORT);
    assert_int_equal(upmu_session_stop(&host.session[0]), UPMU_ERR_PORT);
    assert_int_equal(upmu_session_start(&host.session[0]), UPMU_ERR_PORT);
    assert_int_equal(host.session[0].why.status, UPMU_ERR_PORT);
    assert_int_equal(host.session[0].why.address, 0xe8);
    upmu_sim_unit(&host.uncore, "msr", 0, 1)->absent = false;
    assert_int_equal(upmu_session_start(&host.session[0]), UPMU_OK);
    flow("msr", 1, 0, 30);
    assert_int_equal(upmu_session_stop(&host.session[0]), UPMU_OK);
    assert_in_range(uncore_value(&host.session[0], 0), 30, 36); /* what the fault hid may be there or not */
    boxes = host.list.unit_count;
    close_unit(0);
    assert_int_equal(host.list.unit_count, boxes);
    assert_int_equal(writes(), 0);
    uncore_no_violation(&host);
}

/* IRPERF of AMD counts after the firmware or the kernel has set its bit in HWCR; upmu does not set it. */
static void amds_instructions_need_their_switch(void **state)
{
    struct upmu_unit_scale scale;
    struct upmu_event event;

    (void)state;
    set_up("rome");
    assert_int_equal(upmu_unit_open_text(&host.unit[0], &host.machine, "package0/die0/msr0"), UPMU_OK);
    assert_int_equal(upmu_session_init(&host.session[0], &host.machine), UPMU_OK);
    host.session[0].pmu = (uint8_t)(UPMU_UNIT_PMU + host.unit[0].box->type);
    assert_int_equal(upmu_set_add(&host.session[0].set, "msr/irperf/", NULL), UPMU_ERR_UNSUPPORTED);
    assert_int_equal(upmu_unit_close(&host.unit[0]), UPMU_OK);

    uncore_prepare(&host, "rome");
    for (unsigned i = 0; i < host.sim.cpus; i++) {
        upmu_sim_switch_cpu(&host.sim, i);
        upmu_sim_irqs(&host.sim, false);
        assert_true(host.sim.port.wrmsr(host.sim.port.context, SA_MSR_HWCR, SA_HWCR_IRPERF));
        upmu_sim_irqs(&host.sim, true);
    }
    assert_int_equal(upmu_machine_init(&host.machine, upmu_sim_port(&host.sim)), UPMU_OK);
    uncore_take_over(&host, 0, host.sim.cpus);
    find_each_cpu();
    open_unit(0, "package0/die0/msr0", "msr/irperf/,msr/aperf/,msr/mperf/");
    upmu_sim_events(&host.sim, &(struct upmu_sim_burst){.instructions = 12345, .cycles = 4000, .ref_cycles = 3000});
    assert_int_equal(uncore_value(&host.session[0], 0), 12345);
    assert_int_equal(uncore_value(&host.session[0], 1), 4000);
    assert_int_equal(uncore_value(&host.session[0], 2), 3000);
    assert_int_equal(upmu_event_parse(host.unit[0].meter.pmu, "irperf", &event, NULL), UPMU_OK);
    assert_true(upmu_unit_scale(&host.unit[0], &event, &scale));
    assert_string_equal(scale.measure, "instructions");
    close_unit(0);
    assert_int_equal(writes(), 0);
    uncore_no_violation(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_cpu_core_and_package_has_its_unit),
        cmocka_unit_test(counts_are_those_of_the_cpu),
        cmocka_unit_test(residencies_are_those_of_core_and_package),
        cmocka_unit_test(registers_of_32_bits_go_round),
        cmocka_unit_test(units_follow_their_cpus),
        cmocka_unit_test(a_region_adds_up_cpus),
        cmocka_unit_test(packages_have_cpus_of_the_same_number),
        cmocka_unit_test(a_hosts_own_type_without_scope_is_a_dies),
        cmocka_unit_test(a_level_is_what_the_register_shows),
        cmocka_unit_test(levels_need_their_bit_of_cpuid),
        cmocka_unit_test(a_fault_is_precise_and_changes_nothing),
        cmocka_unit_test(amds_instructions_need_their_switch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
