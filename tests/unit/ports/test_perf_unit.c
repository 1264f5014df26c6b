/* SPDX-License-Identifier: MIT */
/* Units outside the cores: programs of perf_event_open count on them by the types and CPUs in their files. */
#include "tests/common/perf_sources.h"

#include "models/sim/sim_uncore.h"
#include "tests/perf/perf_host.h"

#define UNITS 8u
#define CAS_READS 0x304u
#define UNIT(n) (UPMU_PERF_TYPE_UNIT + (n))

static struct {
    struct upmu_sim_uncore uncore;
    struct upmu_unit_list list;
    struct upmu_unit_info info[UPMU_SIM_UNITS];
    struct upmu_uncore_pmu pmu[UPMU_UNIT_TYPES];
    struct upmu_unit unit[UNITS];
    struct upmu_unit *units[UNITS];
    struct upmu_perf_cpu cpus[UPMU_SIM_CPUS];
    unsigned count;
} uncore;
static char files[64 * 1024];

/* All CPUs of a machine of the model, its units found, and those with these paths open for programs. */
static void set_up(const char *machine, const char *const *paths)
{
    struct host *host = &perf_host.host;

    memset(&perf_host, 0, sizeof perf_host);
    memset(&uncore, 0, sizeof uncore);
    upmu_sim_uncore_init(&uncore.uncore, &host->sim, upmu_sim_machine(machine));
    host->sim.test = host;
    host->sim.deliver = host_deliver;
    for (unsigned i = 0; i < host->sim.cpus; i++)
        upmu_sim_bind_cpu(&host->sim, i, &host->cpu[i]);
    host_machine(host);
    host_take_over(host, host->sim.cpus, false);
    uncore.list = (struct upmu_unit_list){.unit = uncore.info,
                                          .unit_capacity = UPMU_SIM_UNITS,
                                          .pmu = uncore.pmu,
                                          .pmu_capacity = UPMU_UNIT_TYPES};
    for (unsigned i = 0; i < host->sim.cpus; i++) {
        upmu_sim_switch_cpu(&host->sim, i);
        assert_int_equal(upmu_units_find(&host->cpu[i], &uncore.list, UPMU_UNITS_EACH_CPU), UPMU_OK, i);
    }
    upmu_sim_switch_cpu(&host->sim, 0);
    perf_host_begin();
    for (unsigned i = 0; i < host->sim.cpus; i++)
        uncore.cpus[i].cpu = &host->cpu[i];
    for (; paths[uncore.count]; uncore.count++) {
        uncore.units[uncore.count] = &uncore.unit[uncore.count];
        assert_int_equal(
            upmu_unit_open_text(&uncore.unit[uncore.count], &host->machine, paths[uncore.count]), UPMU_OK,
            uncore.count);
    }
    perf_host.perf.cpus = uncore.cpus;
    perf_host.perf.cpu_count = host->sim.cpus;
    perf_host.perf.units = uncore.units;
    perf_host.perf.unit_count = uncore.count;
}

static void tear_down(void)
{
    for (int i = 0; i < PERF_FILES; i++)
        if (perf_host.open[i])
            perf_close(PERF_FIRST_FILE + i);
    assert_int_equal(perf_host.perf.events, 0);
    assert_int_equal(perf_host.taken_bytes, 0);
    for (unsigned i = 0; i < uncore.count; i++)
        assert_int_equal(upmu_unit_close(&uncore.unit[i]), UPMU_OK, i);
    host_end_idle(&perf_host.host);
}

static int open_unit(uint32_t type, uint64_t config, int cpu, int group)
{
    struct upmu_perf_attr attr = {.type = type,
                                  .size = sizeof attr,
                                  .config = config,
                                  .read_format = UPMU_PERF_READ_ENABLED | UPMU_PERF_READ_RUNNING};

    return perf_open(&attr, -1, cpu, group, 0);
}

static uint64_t value_of(int file)
{
    uint64_t word[3];

    assert_int_equal(upmu_perf_read(perf_event(file), word, sizeof word), sizeof word, file);
    return word[0];
}

static void expect(int file, uint64_t value)
{
    assert_int_equal(value_of(file), value, file);
}

static void reads(unsigned die, unsigned number, uint64_t count)
{
    upmu_sim_happen(&uncore.uncore, upmu_sim_unit(&uncore.uncore, "imc", die, number),
                    &(struct upmu_sim_happening){.event = 4, .umask = 3, .count = count});
}

static void flow(const char *type, unsigned index, unsigned counter, uint64_t count)
{
    upmu_sim_flow(&uncore.uncore, upmu_sim_unit(&uncore.uncore, type, 0, index), counter, count);
}

static const char *const controllers[] = {"package0/die0/imc0", "package0/die0/imc1", "package1/die0/imc0",
                                          "package1/die0/imc1", NULL};

/* CPUs 0 and 2 are in the first package, 1 and 3 in the second one. */
static void a_unit_is_chosen_by_type_and_cpu(void **state)
{
    int first, second, other, again;

    (void)state;
    set_up("skx2", controllers);
    first = open_unit(UNIT(0), CAS_READS, 0, -1);
    second = open_unit(UNIT(0), CAS_READS, 1, -1);
    other = open_unit(UNIT(1), CAS_READS, 3, -1);
    again = open_unit(UNIT(0), CAS_READS, 2, -1);
    assert_int_equal(open_unit(UNIT(2), CAS_READS, 0, -1), -UPMU_PERF_ENOENT); /* one PMU with the first unit */
    assert_int_equal(open_unit(UNIT(4), CAS_READS, 0, -1), -UPMU_PERF_ENOENT);
    reads(0, 0, 100);
    reads(1, 0, 20);
    reads(0, 1, 3);
    reads(1, 1, 7);
    expect(first, 100);
    expect(second, 20);
    expect(other, 7);
    expect(again, 100);
    assert_int_equal(perf_ioctl(first, UPMU_PERF_IOC_DISABLE, 0), 0);
    reads(0, 0, 50);
    expect(first, 100);
    expect(again, 150);
    assert_int_equal(perf_ioctl(first, UPMU_PERF_IOC_ENABLE, 0), 0);
    assert_int_equal(perf_ioctl(again, UPMU_PERF_IOC_RESET, 0), 0);
    reads(0, 0, 5);
    expect(first, 105);
    expect(again, 5);
    tear_down();
}

static bool may_not_look_beyond(void *context, uint32_t caller, const struct upmu_event *event, uint32_t rights)
{
    (void)context;
    (void)caller;
    (void)event;
    return !(rights & UPMU_RIGHT_BEYOND);
}

static void what_units_cannot_do_is_refused(void **state)
{
    static const struct {
        struct upmu_perf_attr attr;
        int pid, cpu, error;
    } rows[] = {
        {{.config = CAS_READS}, -1, 0, 0},
        {{.config = CAS_READS}, 0, 0, UPMU_PERF_EINVAL},
        {{.config = CAS_READS}, 0, -1, UPMU_PERF_EINVAL},
        {{.config = CAS_READS}, -1, 4, UPMU_PERF_EINVAL},
        {{.config = CAS_READS, .sample_period = 1000}, -1, 0, UPMU_PERF_EINVAL},
        {{.config = CAS_READS, .flags = UPMU_PERF_EXCLUDE_USER}, -1, 0, UPMU_PERF_EINVAL},
        {{.config = CAS_READS, .flags = UPMU_PERF_EXCLUDE_KERNEL}, -1, 0, UPMU_PERF_EINVAL},
        {{.config = CAS_READS, .flags = UPMU_PERF_EXCLUDE_GUEST}, -1, 0, UPMU_PERF_EINVAL},
        {{.config = CAS_READS | UINT64_C(1) << 40}, -1, 0, UPMU_PERF_EINVAL},
        {{.config = CAS_READS, .config1 = 1}, -1, 0, UPMU_PERF_EINVAL},
        {{.config = CAS_READS, .config3 = 1}, -1, 0, UPMU_PERF_EINVAL},
        {{.config = CAS_READS, .flags = UPMU_PERF_EXCLUSIVE}, -1, 0, UPMU_PERF_EOPNOTSUPP},
    };

    (void)state;
    set_up("skx2", controllers);
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct upmu_perf_attr attr = rows[i].attr;
        int file;

        attr.type = UNIT(0);
        attr.size = sizeof attr;
        file = perf_open(&attr, rows[i].pid, rows[i].cpu, -1, 0);
        assert_int_equal(file < 0 ? -file : 0, rows[i].error, i);
    }
    uncore.cpus[2].cpu = NULL;
    assert_int_equal(open_unit(UNIT(0), CAS_READS, 2, -1), -UPMU_PERF_ENODEV);
    perf_host.caller = USER;
    assert_int_equal(open_unit(UNIT(0), CAS_READS, 0, -1), -UPMU_PERF_EACCES);
    perf_host.perf.paranoid = 0;
    perf_host.perf.may_use = may_not_look_beyond;
    assert_int_equal(open_unit(UNIT(0), CAS_READS, 0, -1), -UPMU_PERF_EACCES);
    perf_host.perf.may_use = NULL;
    assert_compare(open_unit(UNIT(0), CAS_READS, 0, -1), >, 0);
    tear_down();
    set_up("skx2", (const char *const[]){"package0/die0/imc0", NULL});
    assert_int_equal(open_unit(UNIT(0), CAS_READS, 1, -1), -UPMU_PERF_EINVAL); /* no unit of that CPU's package */
    tear_down();
}

static void a_group_counts_on_one_unit(void **state)
{
    int leader, member, soft, more[6];

    (void)state;
    set_up("skx2", controllers);
    leader = open_unit(UNIT(0), CAS_READS, 0, -1);
    member = open_unit(UNIT(0), 0xc04, 0, leader);
    soft = open_unit(UPMU_PERF_TYPE_SOFTWARE, UPMU_PERF_CPU_CLOCK, 0, leader);
    assert_compare(member, >, 0);
    assert_compare(soft, >, 0);
    assert_int_equal(open_unit(UNIT(1), CAS_READS, 0, leader), -UPMU_PERF_EINVAL);
    assert_int_equal(open_unit(UPMU_PERF_TYPE_RAW, 0xc0, 0, leader), -UPMU_PERF_EINVAL);
    assert_int_equal(open_unit(UNIT(0), CAS_READS, 2, leader), -UPMU_PERF_EINVAL);
    reads(0, 0, 9);
    upmu_sim_happen(&uncore.uncore, upmu_sim_unit(&uncore.uncore, "imc", 0, 0),
                    &(struct upmu_sim_happening){.event = 4, .umask = 0xc, .count = 4});
    expect(leader, 9);
    expect(member, 4);
    perf_close(leader);
    reads(0, 0, 9);
    expect(member, 4);
    perf_close(soft);
    perf_close(member);
    soft = open_unit(UPMU_PERF_TYPE_SOFTWARE, UPMU_PERF_DUMMY, 0, -1); /* leads a group of a unit */
    leader = open_unit(UNIT(0), CAS_READS, 0, soft);
    member = open_unit(UPMU_PERF_TYPE_SOFTWARE, UPMU_PERF_CPU_CLOCK, 0, soft);
    assert_compare(member, >, 0);
    reads(0, 0, 30);
    expect(leader, 30);
    for (unsigned i = 0; i < 6; i++) { /* more events than counters: multiplexed */
        more[i] = open_unit(UNIT(0), CAS_READS, 0, -1);
        assert_compare(more[i], >, 0);
    }
    for (unsigned k = 0; k < 40; k++) {
        reads(0, 0, 10);
        perf_host.host.sim.now_ns += 1000000;
        assert_int_equal(upmu_cpu_tick(uncore.unit[0].meter.cpu), UPMU_OK);
    }
    for (unsigned i = 0; i < 6; i++)
        assert_in_range(value_of(more[i]), 100, 390);
    tear_down();
}

static void readings_are_types(void **state)
{
    static const char *const paths[] = {"power0",      "cstate_core0", "cstate_core1", "cstate_pkg0",
                                        "package0/die0/msr0", "package0/die0/msr1", NULL};
    int energy, core, sibling, package, cycles;

    (void)state;
    set_up("kbl", paths);
    energy = open_unit(UNIT(0), 2, 0, -1);
    core = open_unit(UNIT(1), 2, 0, -1);
    sibling = open_unit(UNIT(1), 2, 3, -1); /* CPUs 2 and 3 are the second core */
    package = open_unit(UNIT(3), 2, 0, -1);
    cycles = open_unit(UNIT(4), 1, 1, -1);
    assert_int_equal(open_unit(UNIT(4), 1, 2, -1), -UPMU_PERF_EINVAL); /* that CPU's unit is not open */
    assert_int_equal(open_unit(UNIT(0), 0x33, 0, -1), -UPMU_PERF_EINVAL);
    for (unsigned config = 7; config < 64; config++) /* a level is no event */
        assert_int_equal(open_unit(UNIT(4), config, 0, -1), -UPMU_PERF_EINVAL, config);
    flow("power", 0, 1, 40);
    flow("cstate_core", 0, 1, 11);
    flow("cstate_core", 1, 1, 22);
    flow("cstate_pkg", 0, 2, 33);
    flow("msr", 0, 0, 44);
    flow("msr", 1, 0, 55);
    expect(energy, 40);
    expect(core, 11);
    expect(sibling, 22);
    expect(package, 33);
    expect(cycles, 55);
    tear_down();
}

/* The CPU that drives a unit goes: another one of its package reads on, and is in the list. */
static void a_unit_outlives_the_cpu_that_drives_it(void **state)
{
    unsigned driver;
    int file;

    (void)state;
    set_up("skx2", controllers);
    file = open_unit(UNIT(0), CAS_READS, 0, -1);
    reads(0, 0, 10);
    uncore.uncore.many_managers = true;
    driver = (unsigned)(uncore.unit[0].meter.cpu - perf_host.host.cpu);
    upmu_sim_switch_cpu(&perf_host.host.sim, driver);
    upmu_sim_irqs(&perf_host.host.sim, false);
    assert_int_equal(upmu_cpu_fini(&perf_host.host.cpu[driver]), UPMU_OK);
    upmu_sim_irqs(&perf_host.host.sim, true);
    uncore.cpus[driver].cpu = NULL;
    upmu_sim_switch_cpu(&perf_host.host.sim, 1);
    reads(0, 0, 3);
    expect(file, 13);
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_DISABLE, 0), 0);
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_ENABLE, 0), 0);
    reads(0, 0, 4);
    expect(file, 17);
    tear_down();
}

static void note_file(void *context, const char *path, const char *text)
{
    size_t length = strlen(files);

    (void)context;
    assert_compare(length + strlen(path) + strlen(text) + 2, <, sizeof files);
    snprintf(files + length, sizeof files - length, "%s %s", path, text);
}

static void expect_files(const char *const *expected)
{
    files[0] = 0;
    upmu_perf_files(&perf_host.perf, note_file);
    for (; *expected; expected++)
        if (!strstr(files, *expected))
            fail_msg("%s is not in: %s", *expected, files);
}

static void each_type_of_unit_has_a_folder(void **state)
{
    (void)state;
    set_up("skx2", controllers);
    expect_files((const char *const[]){"devices/uncore_imc_0/type 16\n", "uncore_imc_1/type 17\n",
                                       "uncore_imc_0/cpumask 0-1\n", "uncore_imc_0/format/event config:0-7\n",
                                       "uncore_imc_0/format/umask config:8-15\n",
                                       "uncore_imc_0/format/edge config:18\n",
                                       "uncore_imc_0/format/thresh config:24-31\n",
                                       "uncore_imc_1/events/UNC_M_CAS_COUNT.RD event=0x04,umask=0x03\n", NULL});
    assert_null(strstr(files, "UNC_CHA"));
    assert_null(strstr(files, "imc_0/format/filter"));
    assert_null(strstr(files, "imc_2"));
    tear_down();
    set_up("skx2", (const char *const[]){"package0/die0/cha1", "package1/die0/iio0", "package0/die0/pcu0", NULL});
    expect_files((const char *const[]){"uncore_cha_1/format/filter_opc0 config1:41-50\n", "uncore_cha_1/cpumask ",
                                       "uncore_iio_0/format/ch_mask config:36-43\n",
                                       "uncore_iio_0/format/fc_mask config:44-46\n",
                                       "uncore_iio_0/format/thresh config:24-35\n", "uncore_pcu/type 18\n",
                                       "uncore_pcu/format/occ_sel config:14-15\n",
                                       "uncore_pcu/format/thresh config:24-28\n",
                                       "uncore_pcu/format/occ_edge config:31\n", "cha_1/format/tid_en config:19\n",
                                       NULL});
    tear_down();
    set_up("kbl", (const char *const[]){"power0", "cstate_core0", "cstate_core1", "package0/die0/msr2", NULL});
    expect_files((const char *const[]){
        "devices/power/events/energy-pkg event=0x02\n", "power/events/energy-pkg.scale 0.00006103515625\n",
        "power/events/energy-pkg.unit Joules\n", "devices/cstate_core/events/c6-residency event=0x02\n",
        "devices/msr/events/aperf event=0x01\n", "devices/msr/type 19\n", "devices/msr/cpumask 2\n", NULL});
    assert_null(strstr(files, "aperf.scale"));
    assert_null(strstr(files, "msr/format/umask"));
    assert_null(strstr(files, "cstate_core_"));
    tear_down();
    set_up("zen4", (const char *const[]){"package0/die0/df0", "package0/die0/l3_0", "package0/die0/l3_1",
                                         "package0/die0/umc1", NULL});
    expect_files((const char *const[]){"devices/amd_df/type 16\n", "devices/amd_l3/type 17\n",
                                       "devices/amd_umc_1/type 19\n", "amd_l3/format/event config:0-7\n",
                                       "amd_l3/events/",
                                       "amd_umc_1/format/rdwrmask config:8-9\n",
                                       "amd_df/format/event config:0-7,32-37\n", NULL});
    assert_null(strstr(files, "amd_l3_"));
    tear_down();
}

/* Find the bits that the fields of a unit's words have, by the files of their formats: no bit has two fields. */
static void fields_of_files(uint64_t mask[3])
{
    memset(mask, 0, 3 * sizeof mask[0]);
    files[0] = 0;
    upmu_perf_files(&perf_host.perf, note_file);
    for (const char *at = files; (at = strstr(at, "/format/")); at++) {
        const char *line = strstr(at, " config") + sizeof " config" - 1;
        unsigned word = 0, first, last;
        int length;

        if (memcmp(at - 4, "/cpu", 4) == 0)
            continue;
        if (*line != ':')
            word = (unsigned)(*line++ - '0');
        do {
            assert_int_equal(sscanf(line + 1, "%u%n", &first, &length), 1);
            line += 1 + length;
            last = first;
            if (*line == '-' && sscanf(line + 1, "%u%n", &last, &length) == 1)
                line += 1 + length;
            for (; first <= last; first++) {
                assert_false(mask[word] >> first & 1u, word, first);
                mask[word] |= UINT64_C(1) << first;
            }
        } while (*line == ',');
    }
}

/*
 * Bits that have no field, and are not refused: the overflow bit and the enable bit of a select, which are ignored; a
 * bit that the filters of Knights Landing always have, and a second bit that enables them; a bit above Linux's event
 * codes.
 */
static bool is_without_field(const struct upmu_unit_type *type, unsigned word, unsigned bit)
{
    if (strcmp(type->name, "cha") == 0 && type->counters == 4 && type->filter_mask[0] == 0x1c01ff)
        return (word == 1 && bit == 32) || (word == 0 && (bit == 16 || bit == 20 || bit == 22));
    if (strcmp(type->name, "df") == 0 && bit == 38)
        return word == 0;
    return word == 0 && (bit == 20 || bit == type->enable_bit);
}

/* Is each bit of an event's words refused that no field has, and no other? Returns the number of fields' bits. */
static unsigned compare_bits(const struct upmu_uncore_pmu *pmu)
{
    unsigned count = 0;
    uint64_t mask[3];

    fields_of_files(mask);
    for (unsigned word = 0; word < 3; word++)
        for (unsigned bit = 0; bit < 64; bit++) {
            uint64_t words[3] = {mask[0] & (0 - mask[0]), 0, 0};
            bool has = mask[word] >> bit & 1u;
            struct upmu_event event;
            enum upmu_status status;

            words[word] |= UINT64_C(1) << bit;
            status = upmu_event_raw(&pmu->pmu, words[0], words[1], words[2], &event);
            count += has;
            /* A code that tells a counter, and that of a fixed event alone, have no other values. */
            if (!word && (pmu->type->style == UPMU_UNIT_FREE || !pmu->type->select_mask))
                continue;
            if (has || !is_without_field(pmu->type, word, bit))
                assert_int_equal(status != UPMU_ERR_NOT_PERMITTED, has, word, bit);
        }
    return count;
}

static void fields_are_what_is_accepted(void **state)
{
    static const char *const none[] = {NULL};
    const struct upmu_sim_machine *machine;
    unsigned types = 0;

    (void)state;
    for (unsigned m = 0; (machine = upmu_sim_machine_at(m)) != NULL; m++) {
        set_up(machine->name, none);
        for (unsigned t = 0; t < uncore.list.pmu_count; t++) {
            unsigned i = 0;

            while (uncore.list.unit[i].type != t)
                i++;
            uncore.units[0] = &uncore.unit[0];
            if (upmu_unit_open(&uncore.unit[0], &perf_host.host.machine, &uncore.list.unit[i], 1) != UPMU_OK)
                continue;
            perf_host.perf.unit_count = 1;
            assert_compare(compare_bits(&uncore.list.pmu[t]), >=, 5, m, t);
            types++;
            perf_host.perf.unit_count = 0;
            assert_int_equal(upmu_unit_close(&uncore.unit[0]), UPMU_OK);
        }
        tear_down();
    }
    assert_compare(types, >, 100);
}

/* A program's fields of filters reach the registers of the unit; a value that they have no room for is refused. */
static void filters_reach_the_unit(void **state)
{
    struct upmu_perf_attr attr = {.type = UNIT(0), .size = sizeof attr, .config = 0x1134};
    const struct upmu_sim_unit *unit;
    int file;

    (void)state;
    set_up("skx2", (const char *const[]){"package0/die0/cha1", NULL});
    unit = upmu_sim_unit(&uncore.uncore, "cha", 0, 1);
    expect_files((const char *const[]){"uncore_cha_1/format/filter_tid config1:0-8\n",
                                       "uncore_cha_1/format/filter_state config1:17-26\n",
                                       "uncore_cha_1/format/filter_opc0 config1:41-50\n",
                                       "uncore_cha_1/format/filter_isoc config1:63\n",
                                       "uncore_cha_1/format/edge config:18\n", NULL});
    attr.config1 = UINT64_C(0x215) << 41 | UINT64_C(0x3f) << 17;
    file = perf_open(&attr, -1, 0, -1, 0);
    assert_compare(file, >, 0);
    assert_int_equal(unit->filter[0], 0x3f << 17);
    assert_int_equal(unit->filter[1], 0x215 << 9);
    perf_close(file);
    attr.config1 = UINT64_C(1) << 13; /* between two fields */
    assert_int_equal(perf_open(&attr, -1, 0, -1, 0), -UPMU_PERF_EINVAL);
    attr.config1 = 0;
    attr.config2 = 1;
    assert_int_equal(perf_open(&attr, -1, 0, -1, 0), -UPMU_PERF_EINVAL);
    tear_down();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_unit_is_chosen_by_type_and_cpu),
        cmocka_unit_test(what_units_cannot_do_is_refused),
        cmocka_unit_test(a_group_counts_on_one_unit),
        cmocka_unit_test(readings_are_types),
        cmocka_unit_test(a_unit_outlives_the_cpu_that_drives_it),
        cmocka_unit_test(each_type_of_unit_has_a_folder),
        cmocka_unit_test(fields_are_what_is_accepted),
        cmocka_unit_test(filters_reach_the_unit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
