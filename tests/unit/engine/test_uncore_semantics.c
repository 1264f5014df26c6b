/* SPDX-License-Identifier: MIT */
/*
 * What units do that cores do not, on the silicon model and through the library's calls: wraps, freezing, events
 * tied to counters, filters, fixed counters, bits that may not be set, hidden functions, other dies' CPUs, 36 bits.
 */
#include <upmu/cpu.h>
#include <upmu/session.h>
#include "tests/common/garbage.h"
#include "tests/unit/engine/uncore_host.h"

static struct uncore_host host;

static const char *const machines[] = {"nhm", "snb", "skx2", "hsx2", "icx", "zen2", "zen4", "bulldozer2", "adl", "spr",
                                       "emr", "bdx2", "knl1", "lab", "ptl"};
#define MACHINES (sizeof machines / sizeof *machines)

/* Unit 0 is this box; session 0 has this list and is attached. */
static enum upmu_status begin_with(struct upmu_sim_unit *unit, const char *list)
{
    const struct upmu_unit_info *info = uncore_info(&host, unit);
    enum upmu_status status;

    assert_non_null(info);
    assert_int_equal(upmu_unit_open(&host.unit[0], &host.machine, info, 1), UPMU_OK);
    assert_int_equal(upmu_session_init(&host.session[0], &host.machine), UPMU_OK);
    status = upmu_set_add(&host.session[0].set, list, NULL);
    return status != UPMU_OK ? status : upmu_session_attach_unit(&host.session[0], &host.unit[0]);
}

static void begin(struct upmu_sim_unit *unit, const char *list)
{
    enum upmu_status status = begin_with(unit, list);

    if (status != UPMU_OK)
        print_error("%s: %s\n", list, upmu_status_text(status));
    assert_int_equal(status, UPMU_OK);
}

static void end(void)
{
    assert_int_equal(upmu_session_close(&host.session[0]), UPMU_OK);
    assert_int_equal(upmu_unit_close(&host.unit[0]), UPMU_OK);
    upmu_sim_hand_over(&host.uncore);
    uncore_no_violation(&host);
}

static void start(void)
{
    assert_int_equal(upmu_session_start(&host.session[0]), UPMU_OK);
}

static void stop(void)
{
    assert_int_equal(upmu_session_stop(&host.session[0]), UPMU_OK);
}

static struct upmu_sim_unit *box(const char *type, unsigned die, unsigned index)
{
    struct upmu_sim_unit *unit = upmu_sim_unit(&host.uncore, type, die, index);

    assert_non_null(unit);
    return unit;
}

/* ---- Events by name: what a load moved ---- */

/* All boxes of a type on a die as one unit: the counts of these two events. */
static void expect_moved(const char *path, const char *list, uint64_t first, uint64_t second)
{
    const struct upmu_sim_load load = {.reads = 1000001, .writes = 300007, .lookups = 5000003, .misses = 1000001};
    const struct upmu_sim_load elsewhere = {.reads = 77, .writes = 77, .lookups = 77, .misses = 77};

    assert_int_equal(upmu_unit_open_text(&host.unit[0], &host.machine, path), UPMU_OK);
    assert_int_equal(upmu_session_init(&host.session[0], &host.machine), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.session[0].set, list, NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_unit(&host.session[0], &host.unit[0]), UPMU_OK);
    start();
    upmu_sim_traffic(&host.uncore, uncore_die(&host, host.unit[0].box), &load);
    if (uncore_die(&host, host.unit[0].box) == 0)
        upmu_sim_traffic(&host.uncore, 1, &elsewhere);
    stop();
    assert_int_equal(uncore_value(&host.session[0], 0), first);
    assert_int_equal(uncore_value(&host.session[0], 1), second);
    end();
}

static void names_count_what_a_load_moved(void **state)
{
    (void)state;
    uncore_set_up(&host, "skx2");
    expect_moved("package0/die0/imc", "imc/CAS_COUNT.RD,imc/CAS_COUNT.WR", 1000001, 300007);
    expect_moved("package1/die0/imc", "skx_unc_imc::UNC_M_CAS_COUNT.WR,skx_unc_imc::UNC_M_CAS_COUNT.RD", 300007,
                 1000001);
    expect_moved("package0/die0/cha", "cha/TOR_INSERTS.IA,cha/TOR_INSERTS.IA_MISS", 5000003, 1000001);
    uncore_set_up(&host, "hsx2");
    expect_moved("package1/die0/imc", "imc/CAS_COUNT.RD,imc/CAS_COUNT.WR", 1000001, 300007);
    uncore_set_up(&host, "bdx2");
    expect_moved("package1/die0/imc", "imc/CAS_COUNT.RD,imc/CAS_COUNT.WR", 1000001, 300007);
    uncore_set_up(&host, "knl1");
    expect_moved("imc", "imc/CAS_COUNT.RD,imc/CAS_COUNT.WR", 1000001, 300007);
    uncore_set_up(&host, "emr");
    expect_moved("package1/die0/imc", "imc/CAS_COUNT.RD,imc/CAS_COUNT.WR", 1000001, 300007);
    uncore_set_up(&host, "icx");
    expect_moved("imc", "imc/CAS_COUNT.RD,imc/CAS_COUNT.WR", 1000001, 300007);
    uncore_set_up(&host, "spr");
    expect_moved("package0/die0/imc", "imc/CAS_COUNT.RD,imc/CAS_COUNT.WR", 1000001, 300007);
    uncore_set_up(&host, "snb");
    expect_moved("imc", "imc/data_reads,imc/data_writes", 1000001, 300007);
    uncore_set_up(&host, "adl");
    expect_moved("imc_free_running", "imc_free_running/data_read,imc_free_running/data_write", 1000001, 300007);
}

/* ---- Raw events: each word reaches its registers bit for bit ---- */

/* The only live select of a box. */
static uint64_t live_select(const struct upmu_sim_unit *unit)
{
    uint64_t found = 0;

    for (unsigned c = 0; c < unit->type->counters; c++)
        found |= unit->counter[c].select;
    return found;
}

static void raw_words_reach_their_registers(void **state)
{
    struct upmu_sim_unit *unit;

    (void)state;
    uncore_set_up(&host, "skx2");
    unit = box("cha", 1, 4);
    begin(unit, "cha/raw:config=0xa50c1134:config1=0x8000063b04200123");
    start();
    assert_int_equal(live_select(unit), 0xa54c1134);
    assert_int_equal(unit->filter[0], 0x04200123);
    assert_int_equal(unit->filter[1], 0x8000063b);
    end();
    unit = box("upi", 0, 1);
    begin(unit, "upi/raw:config=0xabcdef5a840361");
    start();
    assert_int_equal(live_select(unit), UINT64_C(0xabcdef5ac40361));
    end();
    unit = box("iio", 1, 5);
    begin(unit, "iio/raw:config=0x70ff03040160");
    start();
    assert_int_equal(live_select(unit), UINT64_C(0x70ff03440160));
    end();
    uncore_set_up(&host, "hsx2");
    unit = box("qpi", 1, 0);
    begin(unit, "qpi/raw:config=0x00200038:config1=0x000f000a80001e08:config2=0x000a00058003fff8");
    start();
    assert_int_equal(live_select(unit), 0x00600038);
    assert_int_equal(unit->filter[0], 0x80001e08);
    assert_int_equal(unit->filter[1], 0x000f000a);
    assert_int_equal(unit->filter[2], 0x8003fff8);
    assert_int_equal(unit->filter[3], 0x000a0005);
    end();
    /* Three bits of the second filter are 1 at all times, for the events that it applies to. */
    uncore_set_up(&host, "knl1");
    unit = box("cha", 0, 37);
    begin(unit, "cha/raw:config=0x3135:config1=0x4002400000000000");
    start();
    assert_int_equal(unit->filter[1], 0x40024023);
    end();
    begin(unit, "cha/TOR_INSERTS.IRQ");
    start();
    assert_int_equal(unit->filter[0], 0);
    assert_int_equal(unit->filter[1], 0x23);
    end();
    uncore_set_up(&host, "lab");
    unit = box("vectorcopro", 0, 1);
    begin(unit, "vectorcopro/raw:config=0x5a84c0de:config1=0x89abcdef");
    start();
    assert_int_equal(live_select(unit), 0x5ac4c0de);
    assert_int_equal(unit->filter[0], 0x89abcdef);
    end();
}

/* ---- Wraps ---- */

static void a_wrap_is_counted(void **state)
{
    (void)state;
    for (unsigned m = 0; m < MACHINES; m++) {
        uncore_set_up(&host, machines[m]);
        for (unsigned i = 0; i < host.uncore.units; i++) {
            struct upmu_sim_unit *unit = &host.uncore.unit[i];
            char text[96];

            if (unit->absent || unit->type->counters == 0 || unit->index != 0)
                continue;
            for (unsigned c = 0; c < unit->type->counters; c++)
                upmu_sim_unit_set(unit, c, upmu_sim_unit_range(&host.uncore, unit, c) - 4);
            begin(unit, uncore_spec(unit->type, 0, text));
            start();
            uncore_happen(&host, unit, 0, 10);
            if (uncore_value(&host.session[0], 0) != 10)
                print_error("%s: %s\n", machines[m], unit->type->name);
            assert_int_equal(uncore_value(&host.session[0], 0), 10);
            uncore_happen(&host, unit, 0, 10);
            stop();
            assert_int_equal(uncore_value(&host.session[0], 0), 20);
            end();
        }
    }
}

/* UMC stops at its end: whatever it held, and however long it runs, nothing is lost while it is polled in time. */
static void a_counter_that_stops_at_its_end_goes_on(void **state)
{
    const struct upmu_sim_happening reads = {.event = 0x0a, .umask = 1, .count = UINT64_C(0x123456789ab), .each = 8};
    uint64_t total = 0;
    unsigned faults = 0;

    (void)state;
    uncore_set_up(&host, "zen4");
    for (unsigned i = 0; i < 2; i++)
        for (unsigned c = 0; c < 4; c++)
            upmu_sim_unit_set(box("umc", 0, i), c, UINT64_C(0xffffffffffff));
    assert_int_equal(upmu_unit_open_text(&host.unit[0], &host.machine, "package0/die0/umc"), UPMU_OK);
    assert_int_equal(upmu_session_init(&host.session[0], &host.machine), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.session[0].set, "umc/raw:config=0x10a", NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_unit(&host.session[0], &host.unit[0]), UPMU_OK);
    start();
    for (unsigned minute = 0; minute < 200; minute++) {
        upmu_sim_happen(&host.uncore, box("umc", 0, minute & 1u), &reads);
        total += reads.count * 8;
        if (minute % 5 == 4) {
            stop();
            start();
        }
        assert_int_equal(upmu_unit_poll(&host.unit[0]), UPMU_OK);
        assert_int_equal(uncore_value(&host.session[0], 0), total);
    }
    /* More than the counters of both boxes hold. */
    assert_true(total >> 50);
    /* A fault at any of its accesses: it runs on, and the next poll makes good. */
    for (unsigned k = 1; k < 16; k++) {
        for (unsigned i = 0; i < 9; i++)
            upmu_sim_happen(&host.uncore, box("umc", 0, 0), &reads);
        total += reads.count * 8 * 9;
        host.sim.fault_at = host.sim.accesses + k;
        faults += upmu_unit_poll(&host.unit[0]) == UPMU_ERR_PORT;
        host.sim.fault_at = 0;
        upmu_sim_happen(&host.uncore, box("umc", 0, 1), &reads);
        total += reads.count * 8;
        assert_int_equal(upmu_unit_poll(&host.unit[0]), UPMU_OK);
        assert_int_equal(uncore_value(&host.session[0], 0), total);
    }
    assert_compare(faults, >, 6);
    uncore_no_violation(&host);
    end();
}

/* Polled in time every wrap is counted; too late, one is lost for each time round. */
static void a_unit_is_polled_in_time(void **state)
{
    uint64_t each = UINT64_C(4000000000), range = UINT64_C(1) << 36, interval;
    struct upmu_sim_unit *stack;

    (void)state;
    uncore_set_up(&host, "skx2");
    stack = box("iio_free_running", 0, 0);
    begin(stack, "iio_free_running/raw:config=0x20ff");
    interval = upmu_unit_poll_interval(&host.unit[0]);
    assert_in_range(interval, UINT64_C(1000000000), UINT64_C(17000000000));
    start();
    for (unsigned second = 0; second < 60; second++) {
        upmu_sim_flow(&host.uncore, stack, 1, each);
        upmu_sim_advance_ns(&host.sim, UINT64_C(1000000000));
        if (second % (unsigned)(interval / UINT64_C(1000000000)) == 0)
            assert_int_equal(upmu_unit_poll(&host.unit[0]), UPMU_OK);
    }
    assert_int_equal(uncore_value(&host.session[0], 0), 60 * each);
    for (unsigned second = 0; second < 60; second++)
        upmu_sim_flow(&host.uncore, stack, 1, each);
    upmu_sim_advance_ns(&host.sim, UINT64_C(60000000000));
    assert_int_equal(uncore_value(&host.session[0], 0), 120 * each - 3 * range);
    end();
}

/* A tick of each CPU. */
static void ticks(void)
{
    for (unsigned cpu = 0; cpu < host.sim.cpus; cpu++) {
        upmu_sim_switch_cpu(&host.sim, cpu);
        upmu_sim_irqs(&host.sim, false);
        assert_int_equal(upmu_cpu_tick(&host.cpu[cpu]), UPMU_OK, cpu);
        upmu_sim_irqs(&host.sim, true);
    }
}

/* The host's ticks poll: nothing else is called. */
static void ticks_poll(void **state)
{
    struct upmu_sim_unit *stack;
    uint64_t each = UINT64_C(4000000000);

    (void)state;
    uncore_set_up(&host, "skx2");
    stack = box("iio_free_running", 1, 2);
    begin(stack, "iio_free_running/raw:config=0x20ff");
    start();
    for (unsigned second = 0; second < 100; second++) {
        upmu_sim_flow(&host.uncore, stack, 1, each);
        upmu_sim_advance_ns(&host.sim, UINT64_C(1000000000));
        ticks();
    }
    assert_int_equal(uncore_value(&host.session[0], 0), 100 * each);
    end();
}

/* A host that has no clock but says how far apart its ticks are. */
static void ticks_poll_without_a_clock(void **state)
{
    static const struct {
        uint64_t tick_ns;
        enum upmu_quality quality;
    } hosts[] = {{UINT64_C(1000000000), UPMU_QUALITY_EXACT}, {UINT64_C(60000000000), UPMU_QUALITY_PARTIAL}};

    (void)state;
    for (unsigned k = 0; k < 2; k++) {
        uint64_t each = UINT64_C(4000000000);
        struct upmu_sim_unit *stack;
        struct upmu_count count;

        uncore_prepare(&host, "skx2");
        host.sim.port.clock_ns = NULL;
        host.sim.port.tick_ns = hosts[k].tick_ns;
        assert_int_equal(upmu_machine_init(&host.machine, upmu_sim_port(&host.sim)), UPMU_OK);
        uncore_take_over(&host, 0, host.sim.cpus);
        uncore_find(&host);
        stack = box("iio_free_running", 1, 2);
        begin(stack, "iio_free_running/raw:config=0x20ff");
        start();
        for (unsigned tick = 0; tick < 100; tick++) {
            upmu_sim_flow(&host.uncore, stack, 1, each);
            ticks();
        }
        assert_int_equal(upmu_set_read(&host.session[0].set, 0, 1, &count), UPMU_OK);
        assert_int_equal(count.quality, hosts[k].quality, k);
        assert_int_equal(count.value, 100 * each);
        end();
    }
}

/* A poll in the middle of another call on the same CPU (from an NMI, say) is refused, or the call begins anew. */
static uint32_t poll_at;

static void poll_inside(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind, uint32_t address)
{
    (void)sim, (void)cpu, (void)kind, (void)address;
    if (number == poll_at) {
        enum upmu_status status = upmu_unit_poll(&host.unit[0]);

        assert_true(status == UPMU_OK || status == UPMU_ERR_BUSY);
    }
}

static void a_poll_inside_a_call_counts_nothing_twice(void **state)
{
    static const char *const types[] = {"cha", "imc", "iio_free_running"};

    (void)state;
    uncore_set_up(&host, "skx2");
    for (unsigned i = 0; i < 3 * 40; i++) {
        struct upmu_sim_unit *unit = box(types[i % 3], 0, 0);
        char text[96];

        begin(unit, uncore_spec(unit->type, 0, text));
        start();
        uncore_happen(&host, unit, 0, 100);
        poll_at = host.sim.accesses + 1 + i / 3;
        host.sim.before_access = poll_inside;
        assert_int_equal(uncore_value(&host.session[0], 0), 100);
        stop();
        assert_int_equal(uncore_value(&host.session[0], 0), 100);
        start();
        uncore_happen(&host, unit, 0, 10);
        assert_int_equal(uncore_value(&host.session[0], 0), 110);
        host.sim.before_access = NULL;
        assert_int_equal(upmu_unit_poll(&host.unit[0]), UPMU_OK);
        assert_int_equal(uncore_value(&host.session[0], 0), 110);
        end();
    }
}

/* ---- Freezing ---- */

static struct upmu_sim_unit *hot;

static void both_happen(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind, uint32_t address)
{
    (void)sim, (void)cpu, (void)number, (void)kind, (void)address;
    uncore_happen(&host, hot, 0, 1);
    uncore_happen(&host, hot, 1, 1);
}

/* Where a box can be frozen, its counters start and stop in the same moment. */
static void counters_of_a_box_stop_together(void **state)
{
    (void)state;
    for (unsigned m = 0; m < MACHINES; m++) {
        uncore_set_up(&host, machines[m]);
        for (unsigned i = 0; i < host.uncore.units; i++) {
            const struct upmu_sim_unit_type *type = host.uncore.unit[i].type;
            char first[96], second[96], list[200];

            hot = &host.uncore.unit[i];
            if (hot->absent || hot->index != 0 || uncore_counters(type) < 2 || type->style == UPMU_SIM_UNIT_SELECT ||
                type->style == UPMU_SIM_UNIT_FREE)
                continue;
            snprintf(list, sizeof list, "%s,%s", uncore_spec(type, 0, first), uncore_spec(type, 1, second));
            begin(hot, list);
            for (unsigned round = 0; round < 3; round++) {
                host.sim.before_access = both_happen;
                start();
                stop();
                host.sim.before_access = NULL;
                if (uncore_value(&host.session[0], 0) != uncore_value(&host.session[0], 1))
                    print_error("%s: %s\n", machines[m], type->name);
                assert_int_equal(uncore_value(&host.session[0], 0), uncore_value(&host.session[0], 1));
            }
            assert_int_not_equal(uncore_value(&host.session[0], 0), 0);
            end();
        }
    }
}

/* The bit that enables a select. */
static uint64_t enable_of(const struct upmu_sim_unit_type *type)
{
    if (type->style == UPMU_SIM_UNIT_LIVE || type->style == UPMU_SIM_UNIT_CLIENT)
        return 0;
    return UINT64_C(1) << (type->quirks & UPMU_SIM_QUIRK_ENABLE_31 ? 31 : 22);
}

/* A stranger's counter runs on whatever is done to the box. */
static void a_strangers_counter_runs_on(void **state)
{
    (void)state;
    for (unsigned m = 0; m < MACHINES; m++) {
        uncore_set_up(&host, machines[m]);
        for (unsigned i = 0; i < host.uncore.units; i++) {
            struct upmu_sim_unit *unit = &host.uncore.unit[i];
            const struct upmu_sim_unit_type *type = unit->type;
            uint64_t before;
            char text[96];

            if (unit->absent || unit->index != 0 || uncore_counters(type) < 2 || type->style == UPMU_SIM_UNIT_FREE)
                continue;
            upmu_sim_stranger(&host.uncore, unit, 1, uncore_config(type, 5) | enable_of(type));
            before = unit->counter[1].value;
            begin(unit, uncore_spec(type, 0, text));
            for (unsigned round = 0; round < 3; round++) {
                start();
                uncore_happen(&host, unit, 0, 3);
                uncore_happen(&host, unit, 5, 10);
                stop();
                uncore_happen(&host, unit, 5, 10);
            }
            assert_int_equal(uncore_value(&host.session[0], 0), 9);
            end();
            uncore_happen(&host, unit, 5, 10);
            if (unit->counter[1].value - before != 70)
                print_error("%s: %s\n", machines[m], type->name);
            assert_int_equal(unit->counter[1].value - before, 70);
        }
    }
}

/*
 * A box that stands idle is no change by other software: the guide calls box control write-only, so that it reads 0,
 * and Linux reads it.
 */
static void an_idle_box_has_not_changed(void **state)
{
    struct upmu_why why;
    char text[96];

    (void)state;
    for (unsigned m = 0; m < 2 * MACHINES; m++) {
        uncore_set_up(&host, machines[m / 2]);
        host.sim.rule[UPMU_SIM_RULE_U_CONTROL_READS_ZERO] = m % 2;
        for (unsigned i = 0; i < host.uncore.units; i++) {
            struct upmu_sim_unit *unit = &host.uncore.unit[i];

            if (unit->absent || unit->index != 0 || unit->type->counters == 0)
                continue;
            begin(unit, uncore_spec(unit->type, 0, text));
            for (unsigned round = 0; round < 2; round++) {
                upmu_sim_switch_cpu(&host.sim, host.unit[0].meter.cpu->meter.number);
                assert_int_equal(upmu_cpu_verify(host.unit[0].meter.cpu, &why), UPMU_OK, m, i);
                start();
                assert_int_equal(upmu_cpu_verify(host.unit[0].meter.cpu, &why), UPMU_OK, m, i);
                stop();
            }
            end();
        }
    }
}

/* ---- Constraints and filters ---- */

static void begin_sharing(struct upmu_sim_unit *unit, const char *list, bool share)
{
    begin(unit, list);
    assert_int_equal(upmu_session_detach(&host.session[0]), UPMU_OK);
    assert_int_equal(upmu_session_share(&host.session[0], share), UPMU_OK);
    assert_int_equal(upmu_session_attach_unit(&host.session[0], &host.unit[0]), UPMU_OK);
}

static void events_that_share_counter_0_do_not_run_together(void **state)
{
    struct upmu_sim_unit *cha;
    const struct upmu_sim_happening tor = {.event = 0x36, .umask = 0x14, .count = 10, .each = 5};
    const struct upmu_sim_happening other = {.event = 0x11, .umask = 0x01, .count = 10, .each = 3};
    struct upmu_count count;

    (void)state;
    uncore_set_up(&host, "skx2");
    cha = box("cha", 0, 2);
    /* One of them gets counter 0, whatever else is asked for. */
    begin(cha, "cha/raw:config=0x160,cha/raw:config=0x161,cha/raw:config=0x162,cha/raw:config=0x1436");
    start();
    upmu_sim_happen(&host.uncore, cha, &tor);
    uncore_happen(&host, cha, 2, 7);
    assert_int_equal(uncore_value(&host.session[0], 3), 50);
    assert_int_equal(uncore_value(&host.session[0], 2), 7);
    end();
    /* Two of them: refused at once, or told to share. */
    assert_int_not_equal(begin_with(cha, "cha/raw:config=0x1436,cha/raw:config=0x0111"), UPMU_OK);
    end();
    /* In two sessions: refused beside its like, and multiplexed where both share, so that neither is silently zero. */
    for (unsigned share = 0; share < 2; share++) {
        begin_sharing(cha, "cha/raw:config=0x1436", share);
        assert_int_equal(upmu_session_init(&host.session[1], &host.machine), UPMU_OK);
        assert_int_equal(upmu_session_share(&host.session[1], share), UPMU_OK);
        assert_int_equal(upmu_set_add(&host.session[1].set, "cha/raw:config=0x0111", NULL), UPMU_OK);
        assert_int_equal(upmu_session_attach_unit(&host.session[1], &host.unit[0]), UPMU_OK);
        start();
        assert_int_equal(upmu_session_start(&host.session[1]), share ? UPMU_OK : UPMU_ERR_DOES_NOT_FIT);
        for (unsigned tick = 0; tick < 40; tick++) {
            upmu_sim_happen(&host.uncore, cha, &tor);
            upmu_sim_happen(&host.uncore, cha, &other);
            upmu_sim_advance_ns(&host.sim, 1000000);
            ticks();
        }
        for (unsigned i = 0; i < 2; i++) {
            assert_int_equal(upmu_set_read(&host.session[i].set, 0, 1, &count), UPMU_OK, i);
            assert_int_equal(count.quality,
                             share ? UPMU_QUALITY_SCALED : i ? UPMU_QUALITY_NEVER_RAN : UPMU_QUALITY_EXACT, share, i);
            assert_int_equal(count.raw, i ? share * 20 * 30 : 50 * (share ? 20 : 40), share, i);
            if (share)
                assert_in_range(count.value, (i ? 30 : 50) * 38, (i ? 30 : 50) * 42, i);
        }
        assert_int_equal(upmu_session_close(&host.session[1]), UPMU_OK);
        end();
    }
}

static void a_filter_has_one_value(void **state)
{
    struct upmu_sim_unit *cha;
    struct upmu_sim_happening lookup = {.event = 0x34, .umask = 0x11, .count = 10, .filtered = 1,
                                        .filter = {UINT64_C(0x21) << 17}, .filter_mask = {UINT64_C(0x3ff) << 17}};

    (void)state;
    uncore_set_up(&host, "skx2");
    cha = box("cha", 1, 3);
    begin(cha, "cha/raw:config=0x1134:config1=0x420000");
    start();
    upmu_sim_happen(&host.uncore, cha, &lookup);
    lookup.filter[0] = UINT64_C(0x20) << 17;
    upmu_sim_happen(&host.uncore, cha, &lookup);
    assert_int_equal(uncore_value(&host.session[0], 0), 10);
    end();
    begin(cha, "cha/raw:config=0x1134:config1=0x420000,cha/raw:config=0x0334:config1=0x420000");
    end();
    assert_int_not_equal(
        begin_with(cha, "cha/raw:config=0x1134:config1=0x420000,cha/raw:config=0x0334:config1=0x400000"), UPMU_OK);
    end();
}

/* What a counter in use is filtered by stays; events that need the same count beside it. */
static void a_filter_of_a_counter_in_use_stays(void **state)
{
    static const struct {
        const char *machine, *type, *other, *same;
        uint32_t select, filter;
    } cases[] = {
        {"skx2", "cha", "cha/event=0x34,umask=0x11,filter_state=0x10/", "cha/event=0x34,umask=0x11,filter_state=1/",
         0x401134, 0x20000},
        {"hsx2", "cbox", "cbox/event=0x34,umask=0x11,filter_state=0x10/", "cbox/event=0x34,umask=0x11,filter_state=1/",
         0x401134, 0x20000},
        {"hsx2", "pcu", "pcu/event=0xb,filter_band0=40/", "pcu/event=0xb,filter_band0=20/", 0x40000b, 0x14},
        {"hsx2", "pcu", "pcu/event=0xb,filter_band0=40/", "pcu/event=0xb,filter_band0=20/", 0x40000d, 0x140000},
        {"hsx2", "pcu", "pcu/event=0x80,filter_band2=40/", "pcu/event=0x80,filter_band2=20/", 0x40000d, 0x140000},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct upmu_sim_unit *unit;

        uncore_set_up(&host, cases[i].machine);
        unit = box(cases[i].type, 0, 0);
        unit->filter[0] = cases[i].filter;
        upmu_sim_stranger(&host.uncore, unit, 3, cases[i].select);
        assert_int_equal(begin_with(unit, cases[i].other), UPMU_ERR_DOES_NOT_FIT, i);
        assert_int_equal(unit->filter[0], cases[i].filter, i);
        end();
        begin(unit, cases[i].same);
        start();
        assert_int_equal(unit->filter[0], cases[i].filter, i);
        end();
        assert_int_equal(unit->filter[0], cases[i].filter, i);
    }
    /* Two boxes may have two filters. */
    uncore_set_up(&host, "skx2");
    upmu_sim_stranger(&host.uncore, box("cha", 0, 0), 3, 0x401134);
    box("cha", 0, 0)->filter[0] = 0x20000;
    assert_int_equal(upmu_unit_open(&host.unit[0], &host.machine, uncore_info(&host, box("cha", 0, 0)), 2), UPMU_OK);
    assert_int_equal(upmu_session_init(&host.session[0], &host.machine), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.session[0].set, cases[0].same, NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_unit(&host.session[0], &host.unit[0]), UPMU_ERR_DOES_NOT_FIT);
    end();
}

/* ---- Fixed counters: 394H is the counter on Nehalem and its control on Sandy Bridge ---- */

static void clocks_are_counted(void **state)
{
    static const struct {
        const char *machine, *type;
    } clocks[] = {{"nhm", "uncore"}, {"snb", "clock"}, {"adl", "clock"}, {"skx2", "ubox"}, {"skx2", "imc"},
                  {"hsx2", "ubox"},  {"hsx2", "imc"},  {"icx", "imc"},   {"spr", "imc"}};

    (void)state;
    for (unsigned i = 0; i < sizeof clocks / sizeof *clocks; i++) {
        struct upmu_sim_unit *unit;
        char text[96];

        uncore_set_up(&host, clocks[i].machine);
        unit = box(clocks[i].type, 0, 0);
        snprintf(text, sizeof text, "%s/raw:config=0xff", clocks[i].type);
        begin(unit, text);
        upmu_sim_clock(&host.uncore, unit, 5);
        start();
        upmu_sim_clock(&host.uncore, unit, 1000);
        if (uncore_value(&host.session[0], 0) != 1000)
            print_error("%s: %s\n", clocks[i].machine, clocks[i].type);
        assert_int_equal(uncore_value(&host.session[0], 0), 1000);
        stop();
        upmu_sim_clock(&host.uncore, unit, 5);
        assert_int_equal(uncore_value(&host.session[0], 0), 1000);
        end();
    }
}

/* ---- Bits, functions and offsets that are not there ---- */

static unsigned taken; /* bits of raw configurations that reached a select */

/* A bit of a raw configuration reaches the select, or is refused: in any case where the select has no such bit. */
static void try_bit(struct upmu_sim_unit *unit, unsigned bit)
{
    uint64_t enable = enable_of(unit->type);
    uint64_t config = uncore_config(unit->type, 0) | UINT64_C(1) << bit;
    char text[96];

    if (config == uncore_config(unit->type, 0))
        return;
    snprintf(text, sizeof text, "%s/raw:config=0x%llx", unit->type->name, (unsigned long long)config);
    if (begin_with(unit, text) == UPMU_OK) {
        start();
        for (unsigned c = 0; c < unit->type->counters; c++)
            assert_int_equal(unit->counter[c].select & ~(unit->type->select_bits | enable), 0, c);
        if (unit->type->select_bits >> bit & 1 && bit != 20) {
            assert_int_equal(live_select(unit) >> bit & 1, 1, bit);
            taken++;
        }
        stop();
        /* The enable and interrupt bits are the library's, in all raw events. */
        if (!(unit->type->select_bits >> bit & 1) && bit != 20 && !(enable >> bit & 1)) {
            print_error("%s: %s has no bit %u\n", host.uncore.machine->name, unit->type->name, bit);
            fail();
        }
    }
    end();
}

static void bits_that_a_select_has_not_are_refused(void **state)
{
    (void)state;
    taken = 0;
    for (unsigned m = 0; m < MACHINES; m++) {
        uncore_set_up(&host, machines[m]);
        for (unsigned i = 0; i < host.uncore.units; i++) {
            struct upmu_sim_unit *unit = &host.uncore.unit[i];

            for (unsigned bit = 0; bit < 64; bit++) {
                if (!unit->absent && unit->index == 0 && unit->type->style != UPMU_SIM_UNIT_FREE &&
                    unit->type->counters != 0 && unit->die == 0)
                    try_bit(unit, bit);
            }
        }
    }
    print_message("%u bits were taken\n", taken);
    assert_compare(taken, >, 500);
}

static void without_ecam_what_needs_it_is_not_there(void **state)
{
    (void)state;
    uncore_prepare(&host, "skx2");
    host.uncore.no_ecam = true;
    assert_int_equal(upmu_machine_init(&host.machine, upmu_sim_port(&host.sim)), UPMU_OK);
    uncore_take_over(&host, 0, host.sim.cpus);
    uncore_find(&host);
    for (unsigned i = 0; i < host.list.unit_count; i++) {
        const struct upmu_unit_info *info = &host.list.unit[i];

        if (strcmp(uncore_type(&host, info), "upi") != 0 && strcmp(uncore_type(&host, info), "m2m") != 0)
            continue;
        assert_int_not_equal(upmu_unit_open(&host.unit[0], &host.machine, info, 1), UPMU_OK);
    }
    begin(box("imc", 0, 0), "imc/raw:config=0x304");
    start();
    stop();
    end();
}

static void a_link_matches_by_its_companion(void **state)
{
    struct upmu_sim_happening match = {
        .event = 0x38, .count = 6, .filtered = 1, .filter = {0x20}, .filter_mask = {0x1e0}};

    (void)state;
    uncore_set_up(&host, "hsx2");
    begin(box("qpi", 1, 1), "qpi/raw:config=0x38:config1=0x20");
    start();
    upmu_sim_happen(&host.uncore, box("qpi", 1, 1), &match);
    match.filter[0] = 0x40;
    upmu_sim_happen(&host.uncore, box("qpi", 1, 1), &match);
    assert_int_equal(uncore_value(&host.session[0], 0), 6);
    end();
    assert_int_not_equal(begin_with(box("qpi", 1, 2), "qpi/raw:config=0x38:config1=0x20"), UPMU_OK);
    end();
    begin(box("qpi", 1, 2), "qpi/raw:config=0x2160");
    end();
}

static void a_disabled_bar_gives_no_memory_controller(void **state)
{
    (void)state;
    uncore_prepare(&host, "adl");
    host.uncore.bar_off = true;
    assert_int_equal(upmu_machine_init(&host.machine, upmu_sim_port(&host.sim)), UPMU_OK);
    uncore_take_over(&host, 0, host.sim.cpus);
    uncore_find(&host);
    assert_int_not_equal(host.list.unit_count, 0);
    for (unsigned i = 0; i < host.list.unit_count; i++)
        assert_null(strstr(uncore_type(&host, &host.list.unit[i]), "imc"), i);
    uncore_no_violation(&host);
}

/* ---- Dies ---- */

/* Calls from any CPU reach a unit by a CPU of its die. */
static void a_units_registers_are_accessed_on_its_die(void **state)
{
    (void)state;
    uncore_set_up(&host, "skx2");
    for (unsigned die = 0; die < 2; die++) {
        struct upmu_sim_unit *cha = box("cha", die, 1);
        char text[96];

        host.uncore.dies_excluded = 1u << (1 - die);
        for (unsigned cpu = 0; cpu < host.sim.cpus; cpu++) {
            upmu_sim_switch_cpu(&host.sim, cpu);
            begin(cha, uncore_spec(cha->type, 0, text));
            start();
            uncore_happen(&host, cha, 0, 12);
            uncore_happen(&host, box("cha", 1 - die, 1), 0, 99);
            assert_int_equal(uncore_value(&host.session[0], 0), 12);
            assert_int_equal(upmu_unit_poll(&host.unit[0]), UPMU_OK);
            stop();
            end();
            assert_int_equal(host.sim.current, cpu);
        }
    }
}

/* ---- Hotplug ---- */

/* ---- A processor with fewer counters than its family may have ---- */

static void (*whole_cpuid)(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4]);

/* Four counters of the fabric; four memory controllers with two each. */
static void tell_fewer(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    whole_cpuid(context, leaf, subleaf, out);
    if (leaf == 0x80000022u) {
        out[1] = 6u | 4u << 10 | 8u << 16;
        out[2] = 0xf;
    }
}

static bool (*whole_rdmsr)(void *context, uint32_t msr, uint64_t *out_value);
static bool (*whole_wrmsr)(void *context, uint32_t msr, uint64_t value);

/* The fabric's fifth counter, that of the fourth memory controller behind its last one, and what follows them. */
static bool is_missing(uint32_t msr)
{
    return (msr >= 0xc0010248u && msr < 0xc0010260u) || (msr >= 0xc0010810u && msr < 0xc0010840u);
}

static bool read_fewer(void *context, uint32_t msr, uint64_t *out_value)
{
    return is_missing(msr) ? garbage(out_value) : whole_rdmsr(context, msr, out_value);
}

static bool write_fewer(void *context, uint32_t msr, uint64_t value)
{
    return !is_missing(msr) && whole_wrmsr(context, msr, value);
}

/* The registers behind the last one are another box's, or are not there. */
static void registers_of_counters_that_are_not_there_are_left_alone(void **state)
{
    struct upmu_sim_machine machine = *upmu_sim_machine("zen4");
    struct upmu_sim_unit_type fabric = *machine.units[1].type, memory = *machine.units[2].type;
    const struct upmu_sim_unit_row units[] = {machine.units[0],
                                              {.type = &fabric, .count = 1},
                                              {.type = &memory, .count = 4, .step = 4},
                                              {.type = NULL}};
    struct upmu_unit second;

    (void)state;
    assert_string_equal(fabric.name, "df");
    assert_string_equal(memory.name, "umc");
    fabric.counters = 4;
    memory.counters = 2;
    machine.units = units;
    uncore_prepare(&host, "zen4");
    upmu_sim_uncore_init(&host.uncore, &host.sim, &machine);
    whole_cpuid = host.sim.port.cpuid;
    host.sim.port.cpuid = tell_fewer;
    whole_rdmsr = host.sim.port.rdmsr;
    host.sim.port.rdmsr = read_fewer;
    whole_wrmsr = host.sim.port.wrmsr;
    host.sim.port.wrmsr = write_fewer;
    assert_int_equal(upmu_machine_init(&host.machine, upmu_sim_port(&host.sim)), UPMU_OK);
    uncore_take_over(&host, 0, host.sim.cpus);
    uncore_find(&host);
    begin(box("df", 0, 0), "df/raw:config=0x1f");
    start();
    stop();
    end();
    /* The second controller counts while the first is opened, and closed. */
    begin(box("umc", 0, 1), "umc/raw:config=0x0a");
    start();
    assert_int_equal(upmu_unit_open(&second, &host.machine, uncore_info(&host, box("umc", 0, 0)), 1), UPMU_OK);
    assert_int_equal(second.meter.firmware, 0);
    upmu_sim_happen(&host.uncore, box("umc", 0, 1), &(struct upmu_sim_happening){.event = 0x0a, .count = 1000});
    assert_int_equal(upmu_unit_close(&second), UPMU_OK);
    upmu_sim_happen(&host.uncore, box("umc", 0, 1), &(struct upmu_sim_happening){.event = 0x0a, .count = 234});
    stop();
    assert_int_equal(uncore_value(&host.session[0], 0), 1234);
    end();
    begin(box("umc", 1, 3), "umc/raw:config=0x0a");
    end();
}

/*
 * Bit 28 of C00H lets all boxes of a package count: the first unit sets it, no unit clears it while another one counts,
 * and the last one leaves it as it was found.
 */
static void boxes_of_nehalem_ex_count_by_a_bit_of_the_u_box(void **state)
{
    static const struct {
        const char *box, *list;
        uint16_t event, umask;
    } rows[] = {{"cbox", "cbox/raw:config=0x102", 2, 1}, {"sbox", "sbox/raw:config=0x102", 2, 1},
                {"wbox", "wbox/raw:config=0x102", 2, 1}, {"bbox", "bbox/raw:config=0x82", 0x82, 0},
                {"ubox", "ubox/raw:config=0x40", 0x40, 0}};

    (void)state;
    for (unsigned found = 0; found < 2; found++)
        for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
            const struct upmu_sim_happening happening = {.event = rows[i].event, .umask = rows[i].umask, .count = 9};
            struct upmu_sim_unit *unit;

            uncore_prepare(&host, "nhmex");
            host.uncore.global[1].control = found ? UINT64_C(1) << 28 | 2 : 0;
            assert_int_equal(upmu_machine_init(&host.machine, upmu_sim_port(&host.sim)), UPMU_OK);
            uncore_take_over(&host, 0, host.sim.cpus);
            uncore_find(&host);
            unit = box(rows[i].box, 1, 0);
            begin(unit, rows[i].list);
            start();
            upmu_sim_happen(&host.uncore, unit, &happening);
            assert_int_equal(uncore_value(&host.session[0], 0), 9, i);
            stop();
            upmu_sim_happen(&host.uncore, unit, &happening);
            assert_int_equal(uncore_value(&host.session[0], 0), 9, i);
            end();
            assert_int_equal(host.uncore.global[1].control, found ? UINT64_C(1) << 28 | 2 : 0);
            assert_int_equal(host.uncore.global[0].control, 0);
        }
}

/* Count `times` of C-box 0's event 34H, unit mask 1, twice; its counter may go round. */
static void count_twice(unsigned times)
{
    const struct upmu_sim_happening event = {.event = 0x34, .umask = 1, .count = times};

    start();
    upmu_sim_happen(&host.uncore, box("cbox", 0, 0), &event);
    upmu_sim_happen(&host.uncore, box("cbox", 0, 0), &event);
    stop();
    assert_int_equal(uncore_value(&host.session[0], 0), 2 * times);
}

/*
 * Counts that are too small although they are exact: LIKWID leaves a client with bit 31 set in its global control, and
 * with it the first overflow stops all units.  The bit is clear while units are open, and the last unit restores it.
 */
static void an_overflow_stops_no_client_that_was_left_so(void **state)
{
    uint64_t *control = &host.uncore.global[0].control;

    (void)state;
    for (unsigned first = 0; first < 2; first++) {
        uncore_set_up(&host, "snb");
        *control = 0x8000000f;
        upmu_sim_unit_set(box("cbox", 0, 0), 0, (UINT64_C(1) << 44) - 5);
        begin(box("cbox", 0, 0), "cbox/raw:config=0x134");
        assert_int_equal(upmu_unit_open_text(&host.unit[1], &host.machine, "arb"), UPMU_OK);
        assert_int_equal(*control, 0x2000000f);
        count_twice(7);
        assert_int_equal(upmu_session_close(&host.session[0]), UPMU_OK);
        assert_int_equal(upmu_unit_close(&host.unit[first]), UPMU_OK);
        assert_int_equal(*control, 0x2000000f);
        assert_int_equal(upmu_unit_close(&host.unit[!first]), UPMU_OK);
        assert_int_equal(*control, 0x8000000f);
        uncore_no_violation(&host);
    }
}

/* Bit 31 of Nehalem-EX's C00H, the freeze of all boxes that another driver has left. */
static void boxes_of_nehalem_ex_that_were_frozen_count(void **state)
{
    (void)state;
    uncore_set_up(&host, "nhmex");
    host.uncore.global[0].control = 0x90000000;
    begin(box("cbox", 0, 0), "cbox/raw:config=0x134");
    count_twice(7);
    end();
    assert_int_equal(host.uncore.global[0].control, 0x90000000);
}

/*
 * Units that a processor's table lists stand still while bit 0 of the register is set that the table names: an MSR of
 * Sapphire Rapids', memory of Panther Lake's, which begins so.  Counts were 0 and exact.
 */
static void units_that_begin_frozen_count(void **state)
{
    static struct upmu_sim_machine frozen;
    const struct upmu_sim_happening seven = {.event = 0x34, .umask = 1, .count = 7};

    (void)state;
    for (unsigned m = 0; m < 2; m++)
        for (unsigned first = 0; first < 2; first++) {
            bool *stopped = &host.uncore.global[0].frozen;

            frozen = *upmu_sim_machine(m ? "ptl" : "spr");
            frozen.starts_frozen = true;
            uncore_prepare(&host, frozen.name);
            upmu_sim_uncore_init(&host.uncore, &host.sim, &frozen);
            assert_int_equal(upmu_machine_init(&host.machine, upmu_sim_port(&host.sim)), UPMU_OK);
            uncore_take_over(&host, 0, host.sim.cpus);
            uncore_find(&host);
            assert_true(*stopped);
            begin(box("imc", 0, 0), "imc/raw:config=0x134");
            assert_false(*stopped);
            assert_int_equal(
                upmu_unit_open_text(&host.unit[1], &host.machine, m ? "hbo0" : "package0/die0/cha0"), UPMU_OK);
            start();
            upmu_sim_happen(&host.uncore, box("imc", 0, 0), &seven);
            assert_int_equal(uncore_value(&host.session[0], 0), 7);
            *stopped = true; /* other software, or a sleep of the package that no call told */
            assert_int_equal(upmu_cpu_changed(host.unit[0].meter.cpu), UPMU_OK);
            assert_false(*stopped);
            upmu_sim_happen(&host.uncore, box("imc", 0, 0), &seven);
            stop();
            assert_int_equal(uncore_value(&host.session[0], 0), 7); /* what was before is lost, and the count partial */
            assert_int_equal(upmu_session_close(&host.session[0]), UPMU_OK);
            assert_int_equal(upmu_unit_close(&host.unit[first]), UPMU_OK);
            assert_false(*stopped);
            assert_int_equal(upmu_unit_close(&host.unit[!first]), UPMU_OK);
            assert_true(*stopped);
            assert_int_equal(host.uncore.global[1].frozen, !m);
            uncore_no_violation(&host);
        }
}

/* A machine that begins with bit 0 set in the register that a table names; `cpus` CPUs from 0 on are at work. */
static void set_up_frozen(const char *name, unsigned cpus)
{
    static struct upmu_sim_machine frozen;

    frozen = *upmu_sim_machine(name);
    frozen.starts_frozen = true;
    uncore_prepare(&host, name);
    upmu_sim_uncore_init(&host.uncore, &host.sim, &frozen);
    assert_int_equal(upmu_machine_init(&host.machine, upmu_sim_port(&host.sim)), UPMU_OK);
    uncore_take_over(&host, 0, cpus);
}

/* Of package 1, whose memory controllers all CPUs reach. */
static enum upmu_status open_far(void)
{
    return upmu_unit_open(&host.unit[0], &host.machine, uncore_info(&host, box("imc", 1, 0)), 1);
}

/*
 * Mistake: a unit in memory that an MSR of its die stops was opened on a CPU of another die: the MSR of that die was
 * changed, the unit stayed frozen, and its counts were 0 and exact.
 */
static void a_unit_that_an_msr_stops_is_driven_on_its_die(void **state)
{
    unsigned far;

    (void)state;
    set_up_frozen("spr", 1);
    upmu_sim_switch_cpu(&host.sim, 0);
    upmu_sim_irqs(&host.sim, false);
    assert_int_equal(upmu_units_find(&host.cpu[0], &host.list, 0), UPMU_OK);
    upmu_sim_irqs(&host.sim, true);
    far = uncore_cpu_of(&host, box("imc", 1, 0), 0);
    assert_int_equal(open_far(), UPMU_ERR_NO_CPU);
    assert_true(host.uncore.global[0].frozen && host.uncore.global[1].frozen);
    uncore_take_over(&host, far, 1);
    assert_int_equal(open_far(), UPMU_OK);
    assert_ptr_equal(host.unit[0].meter.cpu, &host.cpu[far]);
    assert_true(host.uncore.global[0].frozen && !host.uncore.global[1].frozen);
    upmu_sim_irqs(&host.sim, false);
    assert_int_equal(upmu_cpu_suspend(&host.cpu[far]), UPMU_OK);
    assert_null(host.unit[0].meter.cpu);
    assert_true(host.uncore.global[0].frozen && host.uncore.global[1].frozen);
    upmu_sim_irqs(&host.sim, true);
    assert_int_equal(upmu_unit_close(&host.unit[0]), UPMU_OK);
    uncore_no_violation(&host);
}

static uint32_t unreadable; /* this MSR faults */
static bool (*read_msr)(void *context, uint32_t msr, uint64_t *out_value);

static bool read_or_fault(void *context, uint32_t msr, uint64_t *out_value)
{
    return msr != unreadable && read_msr(context, msr, out_value);
}

/* A register that may stop the unit cannot be read: counts could be 0 and exact, so the opening is refused. */
static void a_stop_that_cannot_be_read_refuses_the_unit(void **state)
{
    (void)state;
    set_up_frozen("spr", UPMU_SIM_CPUS);
    uncore_find(&host);
    read_msr = host.sim.port.rdmsr;
    host.sim.port.rdmsr = read_or_fault;
    unreadable = (uint32_t)host.list.search.stop[0].address;
    assert_int_equal(open_far(), UPMU_ERR_PORT);
    assert_int_equal(host.machine.why.address, unreadable);
    assert_true(host.uncore.global[1].frozen);
    host.sim.port.rdmsr = read_msr;
    assert_int_equal(open_far(), UPMU_OK);
    assert_int_equal(upmu_unit_close(&host.unit[0]), UPMU_OK);
    uncore_no_violation(&host);
}

/* The register of a table too many would be forgotten: its units could stay frozen, and count exact zeros. */
static void units_of_a_table_too_many_are_refused(void **state)
{
    char text[96];

    (void)state;
    set_up_frozen("spr", 1);
    for (unsigned i = 1; i < UPMU_UNIT_STOPS; i++)
        host.list.search.stop[i - 1] = (struct upmu_unit_stop){.address = i, .package = 0x40, .die = (uint8_t)i};
    upmu_sim_switch_cpu(&host.sim, 0);
    upmu_sim_irqs(&host.sim, false);
    assert_int_equal(upmu_units_find(&host.cpu[0], &host.list, 0), UPMU_ERR_NO_SPACE);
    (void)upmu_why_text(&host.machine.why, text, sizeof text);
    assert_non_null(strstr(text, "UPMU_UNIT_STOPS"));
    upmu_sim_irqs(&host.sim, true);
    for (unsigned i = 0; i < host.list.unit_count; i++)
        assert_false(host.list.unit[i].package == 1 && !strcmp(uncore_type(&host, &host.list.unit[i]), "imc"));
    begin(box("imc", 0, 0), "imc/raw:config=0x134");
    end();
}

/* A table lists slices that do not exist.  The search of the second die's CPU takes out those of its die. */
static void slices_leave_the_list_in_a_later_search(void **state)
{
    static const struct upmu_sim_msr_value values[] = {{0x2ffe, {3, 3}}, {0}};
    static struct upmu_sim_machine some;
    unsigned slices = 0;

    (void)state;
    some = *upmu_sim_machine("spr");
    some.values = values;
    uncore_prepare(&host, some.name);
    upmu_sim_uncore_init(&host.uncore, &host.sim, &some);
    assert_int_equal(upmu_machine_init(&host.machine, upmu_sim_port(&host.sim)), UPMU_OK);
    uncore_take_over(&host, 0, host.sim.cpus);
    uncore_find(&host);
    for (unsigned i = 0; i < host.list.unit_count; i++) {
        const struct upmu_unit_info *info = &host.list.unit[i];

        slices += !strcmp(uncore_type(&host, info), "cha");
        assert_int_not_equal(info->address, UPMU_UNIT_NO_ADDRESS);
        for (unsigned k = 0; k < i; k++)
            assert_false(info->type == host.list.unit[k].type && info->package == host.list.unit[k].package &&
                         info->die == host.list.unit[k].die && info->base == host.list.unit[k].base);
    }
    assert_int_equal(slices, 6);
}

/* A CPU that comes while units are open reads the table once more: how they have found the register stays known. */
static void a_search_beside_open_units_leaves_their_register(void **state)
{
    static struct upmu_sim_machine frozen;

    (void)state;
    frozen = *upmu_sim_machine("ptl");
    frozen.starts_frozen = true;
    uncore_prepare(&host, frozen.name);
    upmu_sim_uncore_init(&host.uncore, &host.sim, &frozen);
    assert_int_equal(upmu_machine_init(&host.machine, upmu_sim_port(&host.sim)), UPMU_OK);
    uncore_take_over(&host, 0, host.sim.cpus);
    uncore_find(&host);
    begin(box("imc", 0, 0), "imc/raw:config=0x134");
    assert_false(host.uncore.global[0].frozen);
    upmu_sim_switch_cpu(&host.sim, 0);
    upmu_sim_irqs(&host.sim, false);
    assert_int_equal(upmu_units_find(&host.cpu[0], &host.list, UPMU_UNITS_EACH_CPU), UPMU_OK);
    upmu_sim_irqs(&host.sim, true);
    end();
    assert_true(host.uncore.global[0].frozen);
}

static void a_u_box_that_stops_stops_no_other_box(void **state)
{
    const struct upmu_sim_happening happening = {.event = 2, .umask = 1, .count = 9};

    (void)state;
    uncore_set_up(&host, "nhmex");
    begin(box("cbox", 0, 3), "cbox/raw:config=0x102");
    start();
    assert_int_equal(upmu_unit_open(&host.unit[1], &host.machine, uncore_info(&host, box("ubox", 0, 0)), 1), UPMU_OK);
    assert_int_equal(upmu_session_init(&host.session[1], &host.machine), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.session[1].set, "ubox/raw:config=0x40", NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_unit(&host.session[1], &host.unit[1]), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.session[1]), UPMU_OK);
    assert_int_equal(upmu_session_stop(&host.session[1]), UPMU_OK);
    upmu_sim_happen(&host.uncore, box("cbox", 0, 3), &happening);
    assert_int_equal(upmu_session_close(&host.session[1]), UPMU_OK);
    assert_int_equal(upmu_unit_close(&host.unit[1]), UPMU_OK);
    upmu_sim_happen(&host.uncore, box("cbox", 0, 3), &happening);
    assert_int_equal(uncore_value(&host.session[0], 0), 18);
    stop();
    end();
    assert_int_equal(host.uncore.global[0].control, 0);
}

static void the_w_boxs_clock_is_enabled_by_bit_0(void **state)
{
    (void)state;
    uncore_set_up(&host, "nhmex");
    begin(box("wbox", 1, 0), "wbox/raw:config=0xff");
    start();
    upmu_sim_clock(&host.uncore, box("wbox", 1, 0), 1000);
    assert_int_equal(uncore_value(&host.session[0], 0), 1000);
    stop();
    end();
}

static void go_offline(unsigned cpu)
{
    upmu_sim_switch_cpu(&host.sim, cpu);
    upmu_sim_irqs(&host.sim, false);
    assert_int_equal(upmu_cpu_suspend(&host.cpu[cpu]), UPMU_OK, cpu);
    upmu_sim_irqs(&host.sim, true);
    host.sim.cpu[cpu].offline = true;
    upmu_sim_switch_cpu(&host.sim, cpu == 0 ? 1 : 0);
}

static void come_online(unsigned cpu)
{
    host.sim.cpu[cpu].offline = false;
    upmu_sim_switch_cpu(&host.sim, cpu);
    upmu_sim_irqs(&host.sim, false);
    assert_int_equal(upmu_cpu_resume(&host.cpu[cpu]), UPMU_OK, cpu);
    upmu_sim_irqs(&host.sim, true);
}

static void counts_survive_their_cpu(void **state)
{
    static const char *const types[] = {"cha", "imc"};

    (void)state;
    for (unsigned t = 0; t < 2; t++) {
        struct upmu_sim_unit *unit;
        unsigned manager, other;
        uint32_t writes;
        char text[96];

        uncore_set_up(&host, "skx2");
        unit = box(types[t], 0, 1);
        begin(unit, uncore_spec(unit->type, 0, text));
        start();
        uncore_happen(&host, unit, 0, 100);
        manager = (unsigned)(host.unit[0].meter.cpu - host.cpu);
        assert_in_range(manager, 0, host.sim.cpus - 1);
        writes = host.uncore.unit_writes;
        go_offline(manager);
        assert_int_equal(host.uncore.unit_writes, writes);
        upmu_sim_hand_over(&host.uncore);
        uncore_happen(&host, unit, 0, 20);
        other = (unsigned)(host.unit[0].meter.cpu - host.cpu);
        assert_int_not_equal(other, manager);
        assert_int_equal(uncore_value(&host.session[0], 0), 120);
        if (unit->type->space == UPMU_SIM_SPACE_MSR) {
            /* the last CPU of the die goes: no CPU can read it; then one returns */
            struct upmu_count count = {0};

            assert_int_equal(host.uncore.place[other].die, 0, other);
            go_offline(other);
            upmu_sim_hand_over(&host.uncore);
            uncore_happen(&host, unit, 0, 7);
            (void)!upmu_set_read(&host.session[0].set, 0, 1, &count);
            assert_int_equal(count.value, 120);
            come_online(manager);
            upmu_sim_hand_over(&host.uncore);
            assert_in_range(uncore_value(&host.session[0], 0), 120, 127);
        }
        {
            uint64_t before = uncore_value(&host.session[0], 0);

            uncore_happen(&host, unit, 0, 1000);
            assert_int_equal(uncore_value(&host.session[0], 0) - before, 1000);
        }
        stop();
        end();
    }
}

/* ---- Tables of self-describing machines ---- */

static uint64_t table_state;

static uint64_t table_random(void)
{
    table_state ^= table_state << 13;
    table_state ^= table_state >> 7;
    table_state ^= table_state << 17;
    return table_state;
}

static unsigned table_mode;

static void spoil(struct upmu_sim *sim, unsigned package, unsigned word, uint64_t *value)
{
    (void)sim, (void)package;
    switch (table_mode) {
    case 0:
        *value = ~UINT64_C(0);
        break;
    case 1: /* a stride of nothing */
        *value &= word == 0 ? ~UINT64_C(0xff00) : ~UINT64_C(0);
        break;
    case 2: /* as many units as can be */
        *value |= word == 0 ? UINT64_C(0x3ff0000) : 0;
        break;
    case 3:
        *value = 0;
        break;
    default:
        if (table_random() % 8 == 0)
            *value ^= UINT64_C(1) << table_random() % 64;
        break;
    }
}

static void tables_that_lie_end_the_search(void **state)
{
    (void)state;
    for (table_mode = 0; table_mode < 1000; table_mode++) {
        table_state = UINT64_C(0x9e3779b97f4a7c15) + table_mode;
        uncore_prepare(&host, "spr");
        host.uncore.table = spoil;
        host.uncore.chain_loops = table_mode & 1;
        assert_int_equal(upmu_machine_init(&host.machine, upmu_sim_port(&host.sim)), UPMU_OK);
        uncore_take_over(&host, 0, host.sim.cpus);
        host.uncore.accesses_left = 100000;
        host.sim.expect_faults = true;
        upmu_sim_switch_cpu(&host.sim, 0);
        upmu_sim_irqs(&host.sim, false);
        (void)!upmu_units_find(&host.cpu[0], &host.list, 0);
        upmu_sim_irqs(&host.sim, true);
        uncore_no_violation(&host);
        assert_in_range(host.list.unit_count, 0, UPMU_SIM_UNITS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_leave_the_list_in_a_later_search),
        cmocka_unit_test(a_search_beside_open_units_leaves_their_register),
        cmocka_unit_test(names_count_what_a_load_moved),
        cmocka_unit_test(raw_words_reach_their_registers),
        cmocka_unit_test(a_wrap_is_counted),
        cmocka_unit_test(a_counter_that_stops_at_its_end_goes_on),
        cmocka_unit_test(a_unit_is_polled_in_time),
        cmocka_unit_test(ticks_poll),
        cmocka_unit_test(ticks_poll_without_a_clock),
        cmocka_unit_test(a_poll_inside_a_call_counts_nothing_twice),
        cmocka_unit_test(counters_of_a_box_stop_together),
        cmocka_unit_test(a_strangers_counter_runs_on),
        cmocka_unit_test(an_idle_box_has_not_changed),
        cmocka_unit_test(events_that_share_counter_0_do_not_run_together),
        cmocka_unit_test(a_filter_has_one_value),
        cmocka_unit_test(a_filter_of_a_counter_in_use_stays),
        cmocka_unit_test(clocks_are_counted),
        cmocka_unit_test(bits_that_a_select_has_not_are_refused),
        cmocka_unit_test(without_ecam_what_needs_it_is_not_there),
        cmocka_unit_test(a_link_matches_by_its_companion),
        cmocka_unit_test(a_disabled_bar_gives_no_memory_controller),
        cmocka_unit_test(a_units_registers_are_accessed_on_its_die),
        cmocka_unit_test(registers_of_counters_that_are_not_there_are_left_alone),
        cmocka_unit_test(boxes_of_nehalem_ex_count_by_a_bit_of_the_u_box),
        cmocka_unit_test(an_overflow_stops_no_client_that_was_left_so),
        cmocka_unit_test(boxes_of_nehalem_ex_that_were_frozen_count),
        cmocka_unit_test(units_that_begin_frozen_count),
        cmocka_unit_test(a_unit_that_an_msr_stops_is_driven_on_its_die),
        cmocka_unit_test(a_stop_that_cannot_be_read_refuses_the_unit),
        cmocka_unit_test(units_of_a_table_too_many_are_refused),
        cmocka_unit_test(a_u_box_that_stops_stops_no_other_box),
        cmocka_unit_test(the_w_boxs_clock_is_enabled_by_bit_0),
        cmocka_unit_test(counts_survive_their_cpu),
        cmocka_unit_test(tables_that_lie_end_the_search),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
