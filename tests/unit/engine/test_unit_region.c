/* SPDX-License-Identifier: MIT */
/*
 * Regions over the dies of a machine, and the units that a host names, hides and adds: on modelled machines.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "tests/common/assertions.h"
#include <upmu/session.h>
#include <upmu/set.h>
#include <upmu/upmu.h>

#include "models/sim/sim_uncore.h"

#define CPUS 4
#define DIES 2

static struct upmu_sim sim;
static struct upmu_sim_uncore uncore;
static struct upmu_machine machine;
static struct upmu_cpu cpu[CPUS];
static struct upmu_unit_info boxes[192];
static struct upmu_uncore_pmu types[20];
static struct upmu_unit_list list;
static struct upmu_uncore_region dies[DIES + 1];

static void prepare(const char *name)
{
    upmu_sim_uncore_init(&uncore, &sim, upmu_sim_machine(name));
    sim.port.cpu_place = upmu_sim_uncore_port_place;
}

/* All CPUs, then the units of each die. */
static void bring_up(void)
{
    unsigned found = 0;

    assert_int_equal(upmu_machine_init(&machine, upmu_sim_port(&sim)), UPMU_OK);
    for (unsigned i = 0; i < CPUS; i++) {
        upmu_sim_bind_cpu(&sim, i, &cpu[i]);
        upmu_sim_switch_cpu(&sim, i);
        assert_int_equal(upmu_cpu_init(&cpu[i], &machine, NULL), UPMU_OK, i);
    }
    list = (struct upmu_unit_list){.unit = boxes, .pmu = types, .unit_capacity = 192, .pmu_capacity = 20};
    for (unsigned i = 0; i < CPUS; i++) {
        if (found >> uncore.place[i].die & 1u)
            continue;
        found |= 1u << uncore.place[i].die;
        upmu_sim_switch_cpu(&sim, i);
        assert_int_equal(upmu_units_find(&cpu[i], &list, 0), UPMU_OK, i);
    }
    upmu_sim_switch_cpu(&sim, 0);
}

/* Reads and writes of memory: `number` of the one, twice that of the other, more on each channel. */
static void move_memory(uint64_t number)
{
    for (unsigned die = 0; die < DIES; die++) {
        struct upmu_sim_unit *unit;

        for (unsigned i = 0; (unit = upmu_sim_unit(&uncore, "imc", die, i)) != NULL; i++) {
            if (unit->absent)
                continue;
            upmu_sim_happen(&uncore, unit,
                            &(struct upmu_sim_happening){.event = 4, .umask = 3, .count = number << (4 * die)});
            upmu_sim_happen(&uncore, unit,
                            &(struct upmu_sim_happening){.event = 4, .umask = 12, .count = 2 * number << (4 * die)});
        }
    }
}

/* What happened at all channels that are there, of `number` on each of die 0. */
static uint64_t on_all(uint64_t number)
{
    uint64_t sum = 0;

    for (unsigned die = 0; die < DIES; die++)
        for (unsigned i = 0; upmu_sim_unit(&uncore, "imc", die, i) != NULL; i++)
            sum += upmu_sim_unit(&uncore, "imc", die, i)->absent ? 0 : number << (4 * die);
    return sum;
}

static void a_region_counts_on_all_channels_of_all_dies(void **state)
{
    struct upmu_count lines[2], all[2];
    uint64_t writes;

    (void)state;
    prepare("skx2");
    bring_up();
    assert_int_equal(upmu_uncore_region_open(dies, DIES, &machine, "imc/CAS_COUNT.RD,imc/CAS_COUNT.WR"), UPMU_OK);
    move_memory(7);
    writes = uncore.unit_writes;
    assert_int_equal(upmu_uncore_region_begin(dies, DIES), UPMU_OK);
    move_memory(100);
    assert_int_equal(upmu_uncore_region_end(dies, DIES, lines, 2), UPMU_OK);
    assert_int_equal(lines[0].value, on_all(100));
    assert_int_equal(lines[1].value, on_all(200));
    assert_int_equal(lines[0].quality, UPMU_QUALITY_EXACT);
    assert_int_equal(uncore.unit_writes, writes);
    /* Each die's part; and all since the region was opened. */
    assert_int_equal(dies[0].region.count[0].value + dies[1].region.count[0].value, lines[0].value);
    assert_compare(dies[1].region.count[0].value, >, dies[0].region.count[0].value);
    assert_int_equal(upmu_uncore_region_read(dies, DIES, all, 2), UPMU_OK);
    assert_int_equal(all[0].value, on_all(107));
    assert_int_equal(all[1].value, on_all(214));
    assert_int_equal(upmu_uncore_region_close(dies, DIES), UPMU_OK);
    assert_int_equal(upmu_uncore_region_close(dies, DIES), UPMU_OK);
    assert_int_equal(sim.violation_count, 0);
}

static void a_region_that_cannot_be_opened_leaves_nothing_open(void **state)
{
    static const struct {
        const char *list;
        enum upmu_status status;
    } refused[] = {
        {"imc/CAS_COUNT.RD", UPMU_ERR_NO_SPACE},
        {"edc/CAS_COUNT.RD", UPMU_ERR_NO_SUCH_PMU},
        {"CAS_COUNT.RD", UPMU_ERR_NO_SUCH_PMU},
        {"", UPMU_ERR_END},
        {"imc/CAS_COUNT.RD:", UPMU_ERR_SYNTAX},
        {"package0/die0/imc/NO_SUCH_NAME", UPMU_ERR_NO_SUCH_EVENT},
        {"package0/die0/imc/CAS_COUNT.RD,cha/UNC_CHA_CLOCKTICKS", UPMU_ERR_WRONG_PMU},
        {"package0/die0/imc0/CAS_COUNT.RD,imc1/CAS_COUNT.WR", UPMU_ERR_WRONG_PMU},
        {"package0/die0/imc/CAS_COUNT.RD,imc1/CAS_COUNT.WR", UPMU_ERR_WRONG_PMU},
        {"package0/die0/imc/CAS_COUNT.RD,package1/die0/imc/CAS_COUNT.WR", UPMU_ERR_WRONG_PMU},
        {"package2/die0/imc/CAS_COUNT.RD", UPMU_ERR_NO_SUCH_PMU},
        {"package0/die0/imc/CAS_COUNT.RD,package2/die0/imc/CAS_COUNT.WR", UPMU_ERR_NO_SUCH_PMU},
    };
    struct upmu_count lines[1];

    (void)state;
    prepare("skx2");
    bring_up();
    for (unsigned i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        assert_int_equal(upmu_uncore_region_open(dies, 1, &machine, refused[i].list), refused[i].status, i);
        assert_int_equal(dies[0].region.session.why.status, refused[i].status, i);
        assert_int_equal(upmu_uncore_region_begin(dies, 1), UPMU_ERR_STATE);
        assert_int_equal(upmu_uncore_region_read(dies, 1, lines, 1), UPMU_ERR_STATE);
        assert_null(machine.open_units);
    }
    assert_int_equal(upmu_uncore_region_open(dies, DIES, &machine, "imc/CAS_COUNT.RD"), UPMU_OK);
    assert_int_equal(upmu_uncore_region_close(dies, DIES), UPMU_OK);
    assert_int_equal(sim.violation_count, 0);
}

static void one_channel_is_a_region_as_well(void **state)
{
    struct upmu_count lines[2];

    (void)state;
    prepare("skx2");
    bring_up();
    /* What has no unit is of the first one's. */
    assert_int_equal(
        upmu_uncore_region_open(dies, 1, &machine, "package1/die0/uncore_imc_2/CAS_COUNT.RD/ UNC_M_CAS_COUNT.WR"),
        UPMU_OK);
    assert_int_equal(upmu_uncore_region_begin(dies, 1), UPMU_OK);
    move_memory(3);
    assert_int_equal(upmu_uncore_region_end(dies, 1, lines, 2), UPMU_OK);
    assert_int_equal(lines[0].value, 3 << 4);
    assert_int_equal(lines[1].value, 6 << 4);
    assert_int_equal(upmu_uncore_region_close(dies, 1), UPMU_OK);
}

/* Four caches of one die, each with a CPU: one cannot count at two of them, so that each is a unit of its own. */
static void a_region_of_caches_has_one_unit_for_each(void **state)
{
    static struct upmu_uncore_region caches[CPUS + 1];
    static const char *const machines[] = {"zen2", "zen4"};
    struct upmu_sim_machine of_four;
    struct upmu_count count;

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        of_four = *upmu_sim_machine(machines[i]);
        of_four.packages = of_four.dies = 1;
        of_four.llcs = of_four.cpus = CPUS;
        upmu_sim_uncore_init(&uncore, &sim, &of_four);
        sim.port.cpu_place = upmu_sim_uncore_port_place;
        bring_up();
        for (unsigned k = 1; k < CPUS; k++) {
            upmu_sim_switch_cpu(&sim, k);
            assert_int_equal(upmu_units_find(&cpu[k], &list, 0), UPMU_OK, k);
        }
        assert_int_equal(upmu_uncore_region_open(caches, CPUS + 1, &machine, "l3/raw:config=0xff04"), UPMU_OK);
        assert_true(caches[CPUS - 1].open && !caches[CPUS].open);
        assert_int_equal(upmu_uncore_region_begin(caches, CPUS + 1), UPMU_OK);
        for (unsigned k = 0; k < CPUS; k++)
            upmu_sim_happen(&uncore, upmu_sim_unit(&uncore, "l3", 0, k),
                            &(struct upmu_sim_happening){.event = 4, .umask = 0xff, .count = 1000 << (4 * k)});
        assert_int_equal(upmu_uncore_region_end(caches, CPUS + 1, &count, 1), UPMU_OK);
        assert_int_equal(count.value, 1000 * 0x1111);
        assert_int_equal(upmu_uncore_region_close(caches, CPUS + 1), UPMU_OK);
        assert_int_equal(sim.violation_count, 0);
    }
}

/* The status of an attach of one event to a unit. */
static enum upmu_status attached(struct upmu_session *session, struct upmu_unit *unit, const char *event)
{
    assert_int_equal(upmu_session_init(session, &machine), UPMU_OK);
    session->pmu = unit->meter.pmu->index;
    assert_int_equal(upmu_set_add(&session->set, event, NULL), UPMU_OK);
    return upmu_session_attach_unit(session, unit);
}

static void an_event_with_a_path_counts_on_that_unit_alone(void **state)
{
    static const struct {
        const char *unit, *event;
        bool fits;
    } cases[] = {
        {"package0/die0/imc0", "package0/die0/imc0/CAS_COUNT.RD", true},
        {"package0/die0/imc0", "package1/die0/imc0/CAS_COUNT.RD", false},
        {"package1/die0/imc0", "package0/die0/uncore_imc_0/cas_count_read/", false},
        {"package1/die0/imc0", "package1/die0/imc/CAS_COUNT.RD", true},
        {"package1/die0/imc0", "package0/die0/imc/CAS_COUNT.RD", false},
        {"package1/die0/imc0", "die0/imc0/CAS_COUNT.RD", true},
        {"package1/die0/imc0", "package1/die0/imc2/CAS_COUNT.RD", false},
        {"package1/die0/imc", "package1/die0/imc/CAS_COUNT.RD", true},
        {"package1/die0/imc", "package0/die0/imc/CAS_COUNT.RD", false},
        {"package1/die0/imc", "package1/die0/imc0/CAS_COUNT.RD", false},
    };
    struct upmu_session session;
    struct upmu_unit unit;
    struct upmu_count count;
    struct upmu_event event;
    struct upmu_set set;

    (void)state;
    prepare("skx2");
    bring_up();
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(upmu_unit_open_text(&unit, &machine, cases[i].unit), UPMU_OK, i);
        if (attached(&session, &unit, cases[i].event) != (cases[i].fits ? UPMU_OK : UPMU_ERR_WRONG_PMU))
            printf("%s on %s\n", cases[i].event, cases[i].unit);
        assert_int_equal(session.why.status, cases[i].fits ? UPMU_OK : UPMU_ERR_WRONG_PMU, i);
        assert_int_equal(session.state, cases[i].fits ? UPMU_SESSION_STOPPED : UPMU_SESSION_DETACHED, i);
        assert_int_equal(upmu_session_close(&session), UPMU_OK);
        assert_int_equal(upmu_unit_close(&unit), UPMU_OK);
    }
    /* No such unit: the text is refused. */
    assert_int_equal(upmu_session_init(&session, &machine), UPMU_OK);
    assert_int_equal(upmu_set_add(&session.set, "package2/die0/imc0/CAS_COUNT.RD", NULL), UPMU_ERR_NO_SUCH_PMU);
    assert_string_equal(session.why.word, "package2/die0/imc0");

    /* The second set of a session, too. */
    assert_int_equal(upmu_unit_open_text(&unit, &machine, "package0/die0/imc0"), UPMU_OK);
    assert_int_equal(upmu_set_add(&session.set, "package0/die0/imc0/CAS_COUNT.RD", NULL), UPMU_OK);
    assert_int_equal(upmu_session_add_set(&session, &set, 1, UPMU_SET_TIME_SWITCH, 1000000), UPMU_OK);
    assert_int_equal(upmu_set_add(&set, "package1/die0/imc0/CAS_COUNT.WR", NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_unit(&session, &unit), UPMU_ERR_WRONG_PMU);
    assert_int_equal(upmu_session_close(&session), UPMU_OK);

    /* An event that takes another's place while the session is attached: it does not start, and counts nothing. */
    assert_int_equal(attached(&session, &unit, "package0/die0/imc0/CAS_COUNT.RD"), UPMU_OK);
    event = session.set.event[0];
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(upmu_set_replace(&session.set, 0, i ? "imc1/CAS_COUNT.RD" : "package1/die0/imc0/CAS_COUNT.RD",
                                              NULL), UPMU_OK, i);
        assert_int_equal(upmu_session_start(&session), UPMU_ERR_WRONG_PMU);
        move_memory(5);
        assert_int_equal(upmu_set_read(&session.set, 0, 1, &count), UPMU_OK);
        assert_int_equal(count.value, 0);
    }
    assert_int_equal(upmu_set_replace_event(&session.set, 0, &event, NULL), UPMU_OK);
    assert_int_equal(upmu_session_start(&session), UPMU_OK);
    move_memory(5);
    assert_int_equal(upmu_session_stop(&session), UPMU_OK);
    assert_int_equal(upmu_set_read(&session.set, 0, 1, &count), UPMU_OK);
    assert_int_equal(count.value, 5);
    assert_int_equal(upmu_session_close(&session), UPMU_OK);
    assert_int_equal(upmu_unit_close(&unit), UPMU_OK);
    assert_int_equal(sim.violation_count, 0);
}

static void counts_of_dies_add_up_and_the_worst_stays(void **state)
{
    const struct upmu_count parts[] = {
        {.value = 10, .raw = 10, .enabled_ns = 100, .running_ns = 100, .quality = UPMU_QUALITY_EXACT},
        {.value = 20, .raw = 5, .error = 3, .enabled_ns = 90, .running_ns = 25, .quality = UPMU_QUALITY_SCALED},
        {.value = UINT64_MAX - 5, .raw = 1, .error = 1, .enabled_ns = 10, .running_ns = 10},
    };
    struct upmu_count sum = {0};

    (void)state;
    upmu_counts_add(&sum, &parts[0]);
    assert_memory_equal(&sum, &parts[0], sizeof sum);
    upmu_counts_add(&sum, &parts[1]);
    assert_int_equal(sum.value, 30);
    assert_int_equal(sum.raw, 15);
    assert_int_equal(sum.error, 3);
    assert_int_equal(sum.enabled_ns, 100);
    assert_int_equal(sum.running_ns, 35);
    assert_int_equal(sum.quality, UPMU_QUALITY_SCALED);
    upmu_counts_add(&sum, &parts[2]);
    assert_int_equal(sum.value, UINT64_MAX);
    assert_int_equal(sum.error, 4);
    assert_int_equal(sum.quality, UPMU_QUALITY_SCALED);
}

static void an_idle_die_adds_no_doubt_to_one_that_counted(void **state)
{
    const struct upmu_count idle = {.enabled_ns = 100, .running_ns = 100, .quality = UPMU_QUALITY_UNPROVEN};
    const struct upmu_count none = {.enabled_ns = 100, .running_ns = 100};
    const struct upmu_count moved = {.value = 7, .raw = 7, .enabled_ns = 100, .running_ns = 100};
    const struct upmu_count scaled = {
        .value = 9, .raw = 3, .error = 1, .enabled_ns = 100, .running_ns = 40, .quality = UPMU_QUALITY_SCALED};
    const struct {
        const struct upmu_count *parts[4];
        uint64_t value;
        enum upmu_quality quality;
    } rows[] = {
        {{&moved, &idle}, 7, UPMU_QUALITY_EXACT},
        {{&idle, &moved}, 7, UPMU_QUALITY_EXACT},
        {{&idle, &idle, &moved, &idle}, 7, UPMU_QUALITY_EXACT},
        {{&scaled, &idle, &moved}, 16, UPMU_QUALITY_SCALED},
        {{&idle, &moved, &scaled}, 16, UPMU_QUALITY_SCALED},
        {{&idle, &idle}, 0, UPMU_QUALITY_UNPROVEN}, /* nothing moved anywhere */
        {{&none, &idle}, 0, UPMU_QUALITY_UNPROVEN},
        {{&idle, &none}, 0, UPMU_QUALITY_UNPROVEN},
        {{&none, &idle, &moved}, 7, UPMU_QUALITY_EXACT},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct upmu_count sum = {0};

        for (unsigned part = 0; part < 4 && rows[i].parts[part]; part++)
            upmu_counts_add(&sum, rows[i].parts[part]);
        assert_int_equal(sum.value, rows[i].value, i);
        assert_int_equal(sum.quality, rows[i].quality, i);
    }
}

static void a_sum_of_dies_does_not_go_round(void **state)
{
    struct upmu_count sum = {.value = UINT64_MAX - 1, .raw = UINT64_MAX - 1, .error = UINT64_MAX - 1,
                             .lost = UINT32_MAX - 1};
    const struct upmu_count part = {.value = 2, .raw = 2, .error = 2, .lost = 2};

    (void)state;
    upmu_counts_add(&sum, &part);
    assert_int_equal(sum.value, UINT64_MAX);
    assert_int_equal(sum.raw, UINT64_MAX);
    assert_int_equal(sum.error, UINT64_MAX);
    assert_int_equal(sum.lost, UINT32_MAX);
}

/* ---- What the host says ---- */

/* A partition that sees package 0 alone, where channel 1 has a name of the board. */
static bool show(void *context, struct upmu_unit_info *info)
{
    (void)context;
    if (info->package)
        return false;
    if (types[info->type].type->number == 3 && info->number == 1) {
        info->name = "board0/dimm_b";
        info->address = UPMU_UNIT_ADDRESS(1, 2, 3, 1, 5, 6);
    }
    return true;
}

static void a_host_hides_and_renames_units(void **state)
{
    struct upmu_unit_found found;

    (void)state;
    prepare("skx2");
    sim.port.show_unit = show;
    bring_up();
    assert_compare(list.unit_count, >, 0);
    for (unsigned i = 0; i < list.unit_count; i++)
        assert_int_equal(list.unit[i].package, 0, i);
    assert_int_equal(upmu_unit_find(&list, UPMU_UNIT_PATH, 0, "package1/die0/imc0", &found), UPMU_ERR_NO_SUCH_PMU);
    assert_int_equal(upmu_unit_find(&list, 0, UPMU_UNIT_ADDRESS(0, 0, 1, 0, 0, 0), "imc", &found),
                     UPMU_ERR_NO_SUCH_PMU);
    assert_int_equal(upmu_unit_find(&list, UPMU_UNIT_PATH, 0, "imc0", &found), UPMU_OK);
    assert_int_equal(upmu_unit_find(&list, UPMU_UNIT_PATH, 0, "imc1", &found), UPMU_ERR_NO_SUCH_PMU);
    assert_int_equal(upmu_unit_find(&list, UPMU_UNIT_PATH, 0, "board0/dimm_b", &found), UPMU_OK);
    assert_int_equal(found.unit->number, 1);
    assert_int_equal(upmu_unit_find(&list, 0, UPMU_UNIT_ADDRESS(1, 2, 3, 1, 5, 6), NULL, &found), UPMU_OK);
    assert_string_equal(found.unit->name, "board0/dimm_b");
}

static bool hide_blade4(void *context, struct upmu_unit_info *info)
{
    (void)context;
    return !info->name || strncmp(info->name, "blade4/", 7) != 0;
}

static void a_hosts_own_unit_is_opened_by_its_path_and_absent_elsewhere(void **state)
{
    struct upmu_unit_found found;
    struct upmu_unit unit;

    (void)state;
    prepare("lab");
    sim.port.own_unit = upmu_sim_uncore_port_own;
    bring_up();
    assert_int_equal(upmu_unit_find(&list, UPMU_UNIT_PATH, 0, "blade4/cpu0/vectorcopro1", &found), UPMU_OK);
    assert_string_equal(found.unit->name, "blade4/cpu0/vectorcopro1");
    assert_int_equal(found.boxes, 1);
    assert_int_equal(upmu_unit_open_text(&unit, &machine, "blade4/cpu0/vectorcopro1"), UPMU_OK);
    assert_ptr_equal(unit.box, found.unit);
    assert_int_equal(upmu_unit_close(&unit), UPMU_OK);

    prepare("lab");
    sim.port.own_unit = upmu_sim_uncore_port_own;
    sim.port.show_unit = hide_blade4;
    bring_up();
    assert_int_equal(upmu_unit_find(&list, UPMU_UNIT_PATH, 0, "blade4/cpu0/vectorcopro1", &found),
                     UPMU_ERR_NO_SUCH_PMU);
    assert_int_equal(upmu_unit_open_text(&unit, &machine, "blade4/cpu0/vectorcopro1"), UPMU_ERR_NO_SUCH_PMU);
    for (unsigned i = 0; i < list.unit_count; i++)
        assert_true(hide_blade4(NULL, &list.unit[i]), i);
}

static void a_region_that_is_open_is_not_opened_again(void **state)
{
    struct upmu_count count;

    (void)state;
    prepare("skx2");
    bring_up();
    assert_int_equal(upmu_uncore_region_open(NULL, 0, &machine, "imc/CAS_COUNT.RD"), UPMU_ERR_NO_SPACE);
    assert_int_equal(upmu_uncore_region_open(dies, DIES, &machine, "imc/CAS_COUNT.RD"), UPMU_OK);
    assert_int_equal(upmu_uncore_region_open(dies, DIES, &machine, "imc/CAS_COUNT.RD"), UPMU_ERR_STATE);
    assert_int_equal(upmu_uncore_region_read(dies, DIES, &count, 1), UPMU_OK);
    assert_int_equal(upmu_uncore_region_close(dies, DIES), UPMU_OK);
    assert_null(machine.open_units);
}

static bool (*run_on_cpu)(void *context, struct upmu_cpu *cpu, void (*work)(void *argument), void *argument);
static unsigned calls_left;

static bool run_few_on_cpu(void *context, struct upmu_cpu *of, void (*work)(void *argument), void *argument)
{
    return calls_left && calls_left-- && run_on_cpu(context, of, work, argument);
}

/* Another die's CPU that is reached no more, not even to close what was opened there. */
static void a_region_that_is_half_open_says_so_until_it_is_closed(void **state)
{
    unsigned half = 0;

    (void)state;
    for (unsigned calls = 0; calls < 20; calls++) {
        enum upmu_status status;

        prepare("skx2");
        bring_up();
        /* Odd: from the last die, for which there is no room. */
        for (unsigned i = 0; i < CPUS && calls & 1u; i++)
            if (uncore.place[i].die)
                upmu_sim_switch_cpu(&sim, i);
        run_on_cpu = sim.port.run_on_cpu;
        sim.port.run_on_cpu = run_few_on_cpu;
        calls_left = calls / 2;
        status = upmu_uncore_region_open(dies, calls & 1u ? 1 : DIES, &machine, "imc/CAS_COUNT.RD");
        if (machine.open_units && status != UPMU_OK) {
            half++;
            assert_int_equal(status, UPMU_ERR_WRONG_CPU);
            assert_int_equal(upmu_uncore_region_close(dies, DIES), UPMU_ERR_WRONG_CPU);
        }
        calls_left = 10;
        assert_int_equal(upmu_uncore_region_close(dies, DIES), UPMU_OK);
        assert_null(machine.open_units);
    }
    assert_true(half);
}

/* Its memory may be freed then. */
static void a_fault_at_close_leaves_nothing_open(void **state)
{
    unsigned faults = 0;

    (void)state;
    for (unsigned i = 1; i < 200; i++) {
        enum upmu_status status;

        prepare("skx2");
        bring_up();
        assert_int_equal(upmu_uncore_region_open(dies, DIES, &machine, "imc/CAS_COUNT.RD"), UPMU_OK);
        sim.fault_at = sim.accesses + i;
        status = upmu_uncore_region_close(dies, DIES);
        faults += status == UPMU_ERR_PORT;
        assert_true(status == UPMU_OK || status == UPMU_ERR_PORT);
        assert_null(machine.open_units);
        assert_false(dies[0].open || dies[1].open);
    }
    assert_true(faults);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_region_counts_on_all_channels_of_all_dies),
        cmocka_unit_test(a_region_that_cannot_be_opened_leaves_nothing_open),
        cmocka_unit_test(a_region_that_is_open_is_not_opened_again),
        cmocka_unit_test(a_region_that_is_half_open_says_so_until_it_is_closed),
        cmocka_unit_test(a_fault_at_close_leaves_nothing_open),
        cmocka_unit_test(one_channel_is_a_region_as_well),
        cmocka_unit_test(a_region_of_caches_has_one_unit_for_each),
        cmocka_unit_test(an_event_with_a_path_counts_on_that_unit_alone),
        cmocka_unit_test(counts_of_dies_add_up_and_the_worst_stays),
        cmocka_unit_test(a_sum_of_dies_does_not_go_round),
        cmocka_unit_test(an_idle_die_adds_no_doubt_to_one_that_counted),
        cmocka_unit_test(a_host_hides_and_renames_units),
        cmocka_unit_test(a_hosts_own_unit_is_opened_by_its_path_and_absent_elsewhere),
    };

    return cmocka_run_group_tests_name("unit_region", tests, NULL, NULL);
}
