/* SPDX-License-Identifier: MIT */
/*
 * The life of a unit: attachment, refusals, boxes that vanish or were reset, faults as a unit changes its CPU,
 * sleeps or ends, CPUs that cannot be reached, numbers that go round.
 */
#include <upmu/place.h>
#include "tests/unit/engine/unit_double.h"

static struct unit_double d;

static struct upmu_count count_of(struct upmu_session *session)
{
    struct upmu_count count;

    assert_int_equal(upmu_set_read(&session->set, 0, 1, &count), UPMU_OK);
    return count;
}

static bool is_exactly(struct upmu_session *session, uint64_t events)
{
    struct upmu_count count = count_of(session);

    return count.value == events && count.quality == UPMU_QUALITY_EXACT;
}

/* An open unit of one box, and a session on it that runs. */
static void run_one(unsigned space, unsigned cpus, unsigned code)
{
    double_begin(&d, cpus);
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 1), UPMU_OK);
    assert_int_equal(d.type.space, space);
    double_count(&d, code);
}

static void a_session_is_attached_to_one_unit_that_is_open(void **state)
{
    (void)state;
    double_prepare(&d, UPMU_UNIT_BOX, UPMU_SPACE_PCI, 2, 1);
    double_begin(&d, 1);
    double_event(&d, &d.host.session, 3);
    assert_int_equal(upmu_session_attach_unit(&d.host.session, &d.unit), UPMU_ERR_NO_PMU);
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 1), UPMU_OK);
    assert_int_equal(upmu_session_attach_unit(&d.host.other, &d.unit), UPMU_ERR_STATE); /* it has no events */
    assert_int_equal(upmu_session_attach_unit(&d.host.session, &d.unit), UPMU_OK);
    assert_int_equal(upmu_session_attach_unit(&d.host.session, &d.unit), UPMU_ERR_STATE);
    assert_int_equal(upmu_session_close(&d.host.session), UPMU_OK);
    assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
    assert_int_equal(upmu_unit_manage(&d.unit, &d.host.cpu[0]), UPMU_ERR_STATE);
}

static void boxes_of_one_unit_stand_side_by_side(void **state)
{
    struct upmu_unit_info elsewhere = {0};

    (void)state;
    double_prepare(&d, UPMU_UNIT_BOX, UPMU_SPACE_PCI, 4, 2);
    d.box_dies = 2;
    d.place[1].package = 1;
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 1), UPMU_ERR_INVALID); /* none was looked for */
    double_begin(&d, 2);
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, &elsewhere, 1), UPMU_ERR_INVALID);
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info + 4, 1), UPMU_ERR_INVALID);
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 0), UPMU_ERR_INVALID);
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info + 2, 3), UPMU_ERR_INVALID);
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info + 1, 2), UPMU_ERR_INVALID); /* of two packages */
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info + 2, 2), UPMU_OK);
    assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
}

static void a_hook_that_is_missing_has_its_name_told(void **state)
{
    (void)state;
    for (unsigned space = UPMU_SPACE_PCI; space <= UPMU_SPACE_MMIO; space++) {
        double_prepare(&d, UPMU_UNIT_BOX, space, 1, 1);
        double_begin(&d, 1);
        d.host.sim.port.pci_read = NULL;
        d.host.sim.port.mmio_map = NULL;
        assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 1), UPMU_ERR_HOOK_MISSING);
        assert_string_equal(d.host.machine.why.word, space == UPMU_SPACE_PCI ? "pci_read" : "mmio_map");
        assert_null(d.host.machine.open_units);
    }
}

/* A unit that sleeps is closed with its sessions on it: they are detached. */
static void a_unit_that_sleeps_is_closed_with_its_sessions(void **state)
{
    (void)state;
    double_prepare(&d, UPMU_UNIT_BOX, UPMU_SPACE_MSR, 1, 1);
    run_one(UPMU_SPACE_MSR, 1, 3);
    double_steps(10);
    assert_int_equal(upmu_cpu_suspend(&d.host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
    assert_int_equal(d.host.session.state, UPMU_SESSION_DETACHED);
    assert_int_equal(count_of(&d.host.session).value, 30);
    assert_null(d.host.machine.open_units);
}

/* A write that faults once is done again; a read of a count that faults is told, and its events are lost. */
static void a_close_that_faults_is_told(void **state)
{
    unsigned told = 0, reads = 0;

    (void)state;
    for (unsigned at = 1; at < 12; at++) {
        enum upmu_status status;
        bool lost;

        double_prepare(&d, UPMU_UNIT_SELECT, UPMU_SPACE_MSR, 1, 1);
        run_one(UPMU_SPACE_MSR, 1, 3);
        double_steps(10);
        d.fail_at = at;
        d.reads = 0;
        status = upmu_unit_close(&d.unit);
        assert_true(status == UPMU_OK || (status == UPMU_ERR_PORT && !d.fail_at), at);
        reads = d.reads;
        d.fail_at = 0;
        lost = count_of(&d.host.session).quality == UPMU_QUALITY_PARTIAL;
        assert_int_equal(lost, status != UPMU_OK, at);
        assert_true(lost || is_exactly(&d.host.session, 30), at);
        told += status != UPMU_OK;
        assert_int_equal(d.box[0].select[0], 0, at);
        assert_null(d.unit.meter.machine);
        assert_int_equal(d.host.session.state, UPMU_SESSION_DETACHED);
    }
    assert_compare(reads, >=, 1);
    assert_int_equal(told, reads);
}

/* A CPU that goes to sleep with its unit is told of each such read, one that comes again of each access. */
static void a_sleep_that_faults_is_told(void **state)
{
    unsigned told[2] = {0, 0}, reads = 0, accesses = 0;

    (void)state;
    for (unsigned at = 1; at < 24; at++)
        for (unsigned way = 0; way < 2; way++) {
            enum upmu_status status;
            bool lost;

            double_prepare(&d, UPMU_UNIT_SELECT, UPMU_SPACE_MSR, 1, 1);
            run_one(UPMU_SPACE_MSR, 1, 3);
            double_steps(10);
            d.fail_at = way ? 0 : at;
            d.reads = 0;
            status = upmu_cpu_suspend(&d.host.cpu[0]);
            assert_true(status == UPMU_OK || (!way && !d.fail_at && status == UPMU_ERR_PORT), at, way);
            reads = d.reads;
            lost = count_of(&d.host.session).quality == UPMU_QUALITY_PARTIAL;
            assert_int_equal(lost, status != UPMU_OK, at, way);
            assert_true(lost || is_exactly(&d.host.session, 30), at, way);
            assert_null(d.unit.meter.cpu);
            told[0] += status != UPMU_OK;
            d.fail_at = way ? at : 0;
            d.reads = 0;
            d.writes = 0;
            memset(d.writer, 0, sizeof d.writer);
            status = upmu_cpu_resume(&d.host.cpu[0]);
            assert_int_equal(status, way && !d.fail_at ? UPMU_ERR_PORT : UPMU_OK, at, way);
            told[1] += status != UPMU_OK;
            accesses = d.reads + d.writes;
            d.fail_at = 0;
            if (d.unit.meter.cpu)
                assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
        }
    assert_true(reads >= 1 && accesses >= 2);
    assert_int_equal(told[0], reads);
    assert_int_equal(told[1], accesses);
}

/* Mistake: a box that was frozen before another one faulted stays so while the unit sleeps on. */
static void a_fault_as_a_unit_wakes_leaves_its_boxes_as_they_were(void **state)
{
    unsigned told = 0;

    (void)state;
    for (unsigned at = 1; at < 40; at++) {
        double_prepare(&d, UPMU_UNIT_BOX, UPMU_SPACE_PCI, 2, 1);
        double_begin(&d, 1);
        assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 2), UPMU_OK);
        assert_int_equal(upmu_cpu_suspend(&d.host.cpu[0]), UPMU_OK);
        d.fail_at = at;
        if (upmu_cpu_resume(&d.host.cpu[0]) == UPMU_ERR_PORT) {
            told++;
            assert_null(d.unit.meter.cpu);
            for (unsigned box = 0; box < 2; box++)
                assert_int_equal(d.box[box].control, d.type.control_idle, box);
        }
        d.fail_at = 0;
        assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
    }
    assert_compare(told, >, 4);
}

static uint32_t stuck_msr; /* a write of this register faults */

static bool write_or_stick(void *context, uint32_t msr, uint64_t value)
{
    return msr != stuck_msr && double_wrmsr(context, msr, value);
}

/*
 * Mistake: a unit that could not restore the MSR of its package as it fell asleep restored it when it could not be
 * woken either.  A unit at work, which needs the MSR, counted nothing from then on.
 */
static void a_unit_that_does_not_wake_leaves_a_shared_register(void **state)
{
    (void)state;
    double_prepare(&d, UPMU_UNIT_SELECT, UPMU_SPACE_MSR, 2, 1);
    d.type.quirks = 0x8; /* UPMU_UNCORE_ABSOLUTE */
    d.type.control = DOUBLE_SWITCH;
    d.type.control_idle = 1u << 29;
    d.switched = 0x5;
    d.host.sim.port.wrmsr = write_or_stick;
    stuck_msr = 0;
    double_begin(&d, 1);
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 1), UPMU_OK);
    stuck_msr = DOUBLE_SWITCH;
    d.gone = 1;
    assert_int_equal(upmu_cpu_suspend(&d.host.cpu[0]), UPMU_ERR_PORT);
    assert_int_equal(upmu_cpu_resume(&d.host.cpu[0]), UPMU_ERR_PORT);
    assert_null(d.unit.meter.cpu);
    assert_int_equal(d.switched, 0x5 | 1u << 29);
    stuck_msr = 0;
    assert_int_equal(upmu_unit_open(&d.other, &d.host.machine, d.info + 1, 1), UPMU_OK);
    assert_int_equal(upmu_unit_manage(&d.unit, &d.host.cpu[0]), UPMU_ERR_PORT);
    assert_int_equal(d.switched, 0x5 | 1u << 29);
    d.gone = 0;
    assert_int_equal(upmu_unit_close(&d.other), UPMU_OK);
    assert_int_equal(d.switched, 0x5);
    assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
    assert_int_equal(d.switched, 0x5);
}

/*
 * Mistake: where one of several boxes faulted as it was frozen, the opening failed and left the others frozen, although
 * their registers were restored.
 */
static void an_opening_that_fails_freezes_no_box(void **state)
{
    (void)state;
    for (unsigned style = UPMU_UNIT_BOX; style <= UPMU_UNIT_CLIENT_IMC; style++)
        for (unsigned stuck = 0; stuck < 2; stuck++) {
            double_prepare(&d, style, UPMU_SPACE_MSR, 2, 1);
            d.host.sim.port.wrmsr = write_or_stick;
            stuck_msr = DOUBLE_MSR + 0x100u * stuck;
            double_begin(&d, 1);
            assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 2), UPMU_ERR_PORT);
            assert_compare(d.writes, >, 0);
            for (unsigned box = 0; box < 2; box++)
                assert_int_equal(d.box[box].control, d.type.control_idle, style, stuck, box);
        }
}

/* ---- CPUs that cannot be reached ---- */

static unsigned reached; /* so many calls on other CPUs succeed */
static bool (*run_there)(void *context, struct upmu_cpu *cpu, void (*function)(void *argument), void *argument);

static bool reach_some(void *context, struct upmu_cpu *cpu, void (*function)(void *argument), void *argument)
{
    if (!reached)
        return false;
    reached--;
    return run_there(context, cpu, function, argument);
}

/* Three CPUs that may drive the unit; the caller is on none of two that take it over. */
static void a_unit_that_no_cpu_can_take_sleeps_where_it_was(void **state)
{
    (void)state;
    for (unsigned calls = 0; calls <= 2; calls++) {
        enum upmu_status status;

        double_prepare(&d, UPMU_UNIT_BOX, UPMU_SPACE_PCI, 1, 3);
        run_there = d.host.sim.port.run_on_cpu;
        d.host.sim.port.run_on_cpu = reach_some;
        reached = 100;
        d.nearest = &d.host.cpu[1];
        run_one(UPMU_SPACE_PCI, 3, 3);
        assert_ptr_equal(d.unit.meter.cpu, &d.host.cpu[1]);
        double_steps(10);
        reached = calls;
        status = upmu_unit_manage(&d.unit, &d.host.cpu[2]);
        assert_int_equal(status, calls == 2 ? UPMU_OK : UPMU_ERR_WRONG_CPU);
        assert_ptr_equal(d.unit.meter.cpu, &d.host.cpu[calls == 2 ? 2 : 1], calls);
        reached = 100;
        double_steps(10);
        assert_int_equal(count_of(&d.host.session).value, 60);
        memset(d.writer, 0, sizeof d.writer);
        assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
    }
}

static void a_unit_is_not_woken_on_a_cpu_that_cannot_be_reached(void **state)
{
    (void)state;
    double_prepare(&d, UPMU_UNIT_BOX, UPMU_SPACE_PCI, 1, 2);
    run_there = d.host.sim.port.run_on_cpu;
    d.host.sim.port.run_on_cpu = reach_some;
    reached = 100;
    d.nearest = &d.host.cpu[0];
    run_one(UPMU_SPACE_PCI, 2, 3);
    double_steps(10);
    reached = 0;
    assert_int_equal(upmu_cpu_suspend(&d.host.cpu[0]), UPMU_OK); /* no CPU can take it */
    assert_null(d.unit.meter.cpu);
    assert_int_equal(upmu_unit_manage(&d.unit, &d.host.cpu[1]), UPMU_ERR_WRONG_CPU);
    assert_null(d.unit.meter.cpu);
    reached = 100;
    memset(d.writer, 0, sizeof d.writer);
    assert_int_equal(upmu_unit_manage(&d.unit, &d.host.cpu[1]), UPMU_OK);
    assert_ptr_equal(d.unit.meter.cpu, &d.host.cpu[1]);
    double_steps(10);
    assert_int_equal(count_of(&d.host.session).value, 60);
}

/*
 * More CPUs may drive a unit than are listed: the best of them are, the best first, in whatever order they came.
 * Catches: of those that come when the list is full the better ones passed over.
 */
static void of_many_cpus_the_best_are_listed(void **state)
{
    enum { MORE = 3 * UPMU_UNIT_CPUS / 2 };
    static struct upmu_cpu more[MORE];

    (void)state;
    for (unsigned order = 0; order < 3; order++) {
        struct upmu_unit_facts facts;

        double_prepare(&d, UPMU_UNIT_BOX, UPMU_SPACE_PCI, 1, 1);
        double_begin(&d, 1);
        for (unsigned i = 0; i < MORE; i++) {
            unsigned number = order == 0 ? 1 + i : order == 1 ? MORE - i : 1 + i * 7 % MORE;

            more[i] = d.host.cpu[0];
            more[i].meter.number = (uint16_t)number;
            more[i].next = d.host.machine.cpus;
            d.host.machine.cpus = &more[i];
        }
        assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 1), UPMU_OK);
        assert_ptr_equal(d.unit.meter.cpu, &d.host.cpu[0]);
        d.host.cpu[0].units = NULL; /* CPU 0 drives no more units than the others */
        upmu_unit_ask(&d.unit, &facts);
        assert_int_equal(facts.allowed_count, UPMU_UNIT_CPUS);
        for (unsigned i = 0; i < UPMU_UNIT_CPUS; i++)
            assert_int_equal(facts.allowed[i]->meter.number, i);
    }
}

/* Two events that want different values in one filter do not fit together, and are told which filter that is. */
static void a_filter_that_two_events_need_is_named(void **state)
{
    char text[200];
    struct upmu_event event;

    (void)state;
    double_prepare(&d, UPMU_UNIT_BOX, UPMU_SPACE_PCI, 1, 1);
    d.type.filters = 1;
    d.type.filter[0] = DOUBLE_FILTER;
    d.type.filter_mask[0] = 0xffff;
    double_begin(&d, 1);
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 1), UPMU_OK);
    for (unsigned i = 1; i < 3; i++) {
        assert_int_equal(upmu_event_raw(&d.pmu[0].pmu, 3, i, 0, &event), UPMU_OK, i);
        assert_int_equal(upmu_set_add_event(&d.host.session.set, &event, NULL), UPMU_OK);
    }
    assert_int_equal(upmu_session_attach_unit(&d.host.session, &d.unit), UPMU_ERR_DOES_NOT_FIT);
    (void)upmu_why_text(&d.host.session.why, text, sizeof text);
    if (!strstr(text, "config1"))
        fail_msg("%s", text);
    assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
}

/* What a dry run lists is what the first start writes, in each style. */
static void a_dry_run_lists_what_a_start_writes(void **state)
{
    (void)state;
    for (unsigned style = UPMU_UNIT_GLOBAL; style < UPMU_UNIT_FREE; style++) {
        struct upmu_write writes[8];
        struct upmu_dry_run dry = {.writes = writes, .capacity = 8};

        double_prepare(&d, style, UPMU_SPACE_MSR, 1, 1);
        double_begin(&d, 1);
        assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 1), UPMU_OK);
        double_event(&d, &d.host.session, 3);
        assert_int_equal(upmu_session_dry_run(&d.host.session, &d.pmu[0].pmu, &dry), UPMU_OK);
        assert_in_range(dry.count, 1, 8);
        d.writes = 0;
        assert_int_equal(upmu_session_attach_unit(&d.host.session, &d.unit), UPMU_OK);
        assert_int_equal(upmu_session_start(&d.host.session), UPMU_OK);
        assert_int_equal(dry.count, d.writes);
        for (unsigned i = 0; i < d.writes; i++) {
            assert_int_equal(writes[i].address, d.written[i].offset, style, i);
            assert_int_equal(writes[i].value, d.written[i].value, style, i);
        }
        assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
    }
}

/* Which array is full, and why else a search is refused. */
static void a_search_that_is_refused_says_why(void **state)
{
    static const char *const texts[] = {"\"unit_capacity\": out of space", "\"pmu_capacity\": out of space"};
    struct upmu_unit_list other;
    char text[120];

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        double_prepare(&d, UPMU_UNIT_BOX, UPMU_SPACE_PCI, 2, 1);
        host_machine(&d.host);
        host_take_over(&d.host, 2, false);
        d.list.unit = d.info;
        d.list.unit_capacity = i ? DOUBLE_BOXES : 1;
        d.list.pmu = d.pmu;
        d.list.pmu_capacity = i == 1 ? 0 : 2;
        upmu_sim_switch_cpu(&d.host.sim, 0);
        assert_int_equal(upmu_units_find(&d.host.cpu[0], &d.list, 0), UPMU_ERR_NO_SPACE);
        (void)upmu_why_text(&d.host.machine.why, text, sizeof text);
        assert_string_equal(text, texts[i]);
    }
    assert_int_equal(upmu_units_find(&d.host.cpu[1], &d.list, 0), UPMU_ERR_WRONG_CPU);
    assert_int_equal(d.host.machine.why.status, UPMU_ERR_WRONG_CPU);
    memset(&other, 0, sizeof other);
    assert_int_equal(upmu_units_find(&d.host.cpu[0], &other, 0), UPMU_ERR_STATE);
    assert_int_equal(d.host.machine.why.status, UPMU_ERR_STATE);
}

/* ---- Numbers ---- */

/* What went round more than once cannot be told: the count says that some is missing. */
static void a_poll_that_comes_too_late_is_told(void **state)
{
    (void)state;
    for (unsigned late = 1; late <= 3; late += 2) {
        double_prepare(&d, UPMU_UNIT_BOX, UPMU_SPACE_MSR, 1, 1);
        d.type.width = 32;
        run_one(UPMU_SPACE_MSR, 1, 3);
        upmu_sim_advance_ns(&d.host.sim, late * upmu_unit_poll_interval(&d.unit));
        double_steps(10);
        assert_int_equal(upmu_unit_poll(&d.unit), UPMU_OK);
        assert_int_equal(count_of(&d.host.session).value, 30);
        assert_int_equal(count_of(&d.host.session).quality, late == 1 ? UPMU_QUALITY_EXACT : UPMU_QUALITY_PARTIAL);
        assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
    }
}

/* 0 says that nothing lives there. */
static void a_life_is_never_numbered_0(void **state)
{
    (void)state;
    double_prepare(&d, UPMU_UNIT_BOX, UPMU_SPACE_MSR, 1, 1);
    double_begin(&d, 1);
    for (unsigned i = 0; i < 3; i++) {
        d.host.machine.lives = UINT32_MAX - 1 + i;
        assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 1), UPMU_OK);
        assert_int_equal(d.unit.meter.life, i ? 1 : UINT32_MAX, i);
        assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
        assert_int_equal(upmu_cpu_fini(&d.host.cpu[0]), UPMU_OK);
        d.host.machine.lives = UINT32_MAX - 1 + i;
        host_take_over(&d.host, 1, false);
        assert_int_equal(d.host.cpu[0].meter.life, i ? 1 : UINT32_MAX, i);
    }
}

/* ---- Boxes that vanish, or lose what they hold ---- */

#define CROWD 6u

/* An open unit of six boxes whose counters do not begin at 0, with a session that counts 3 in each step. */
static void run_crowd(unsigned style, unsigned space, uint64_t begin)
{
    double_prepare(&d, style, space, CROWD, 1);
    for (unsigned box = 0; box < CROWD; box++)
        for (unsigned i = 0; i < DOUBLE_COUNTERS; i++)
            d.box[box].counter[i] = begin ? begin + 1000u * box : 0;
    double_begin(&d, 1);
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, CROWD), UPMU_OK);
    double_count(&d, style == UPMU_UNIT_FREE ? 0 : 3);
}

/* All boxes but some are as they were found: nothing is selected, and box control lets them run. */
static void assert_idle(unsigned except)
{
    for (unsigned box = 0; box < CROWD; box++)
        for (unsigned n = 0; n < DOUBLE_COUNTERS && !(except >> box & 1u); n++) {
            assert_int_equal(d.box[box].select[n], 0, box, n);
            assert_false(d.box[box].control & ~(uint64_t)d.type.control_idle, box);
        }
}

static const unsigned gates[] = {UPMU_UNIT_GLOBAL, UPMU_UNIT_SELECT, UPMU_UNIT_BOX, UPMU_UNIT_DISCOVERED,
                                 UPMU_UNIT_FREE};

/*
 * One box of six vanishes, in configuration space and memory by all ones.  Mistakes: the count of the unit falls back
 * to 0; what the others counted is lost; the count says that it is exact.
 */
static void a_count_goes_on_without_a_box_that_vanishes(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof gates / sizeof gates[0]; i++)
        for (unsigned space = UPMU_SPACE_PCI; space <= UPMU_SPACE_MMIO; space++)
            for (unsigned polled = 0; polled < 2; polled++) {
                unsigned code = gates[i] == UPMU_UNIT_FREE ? 1 : 3;
                uint64_t seen;

                run_crowd(gates[i], space, 1000000);
                double_steps(100);
                seen = CROWD * 100u * code;
                assert_int_equal(count_of(&d.host.session).value, seen);
                assert_int_equal(count_of(&d.host.session).quality, UPMU_QUALITY_EXACT);
                d.gone = 1u << 3;
                double_steps(10);
                seen += (CROWD - 1) * 10u * code;
                if (polled)
                    assert_int_equal(upmu_unit_poll(&d.unit), UPMU_OK);
                assert_int_equal(count_of(&d.host.session).value, seen);
                assert_int_equal(count_of(&d.host.session).quality, UPMU_QUALITY_PARTIAL);
                double_steps(10);
                seen += (CROWD - 1) * 10u * code;
                assert_int_equal(upmu_session_stop(&d.host.session), UPMU_OK);
                assert_int_equal(count_of(&d.host.session).raw, seen);
                assert_int_equal(count_of(&d.host.session).quality, UPMU_QUALITY_PARTIAL);
                /* The box that is gone keeps what it has. */
                assert_int_equal(upmu_unit_close(&d.unit), gates[i] == UPMU_UNIT_FREE ? UPMU_OK : UPMU_ERR_PORT, i);
                d.gone = 0;
                assert_idle(1u << 3);
            }
}

/*
 * What is written to a box that is gone is lost, and it may answer again as it was.  Mistakes: a unit that fell asleep
 * meanwhile is closed without it, and its events are taken for the firmware's by the next that opens it; all is said
 * to be well.
 */
static void a_box_that_was_gone_as_its_unit_fell_asleep_is_restored(void **state)
{
    enum { RETURNS_ASLEEP, RETURNS_BEFORE, STAYS_AWAY, HAS_NO_CPU, WAYS };

    (void)state;
    for (unsigned i = 0; gates[i] != UPMU_UNIT_FREE; i++)
        for (unsigned space = UPMU_SPACE_PCI; space <= UPMU_SPACE_MMIO; space++)
            for (unsigned way = 0; way < WAYS; way++) {
                enum upmu_status told = way == RETURNS_BEFORE ? UPMU_OK : UPMU_ERR_PORT;

                run_crowd(gates[i], space, 1000000);
                double_steps(100);
                assert_int_equal(count_of(&d.host.session).value, CROWD * 300u);
                d.gone = 1u << 3;
                assert_int_equal(upmu_cpu_suspend(&d.host.cpu[0]), UPMU_ERR_PORT);
                assert_idle(1u << 3);
                if (way == RETURNS_BEFORE)
                    d.gone = 0;
                if (way != HAS_NO_CPU)
                    assert_int_equal(upmu_cpu_resume(&d.host.cpu[0]), told);
                assert_true(!d.unit.meter.cpu == (way != RETURNS_BEFORE));
                assert_idle(way == RETURNS_BEFORE ? ~0u : 1u << 3);
                if (way != STAYS_AWAY)
                    d.gone = 0;
                told = way >= STAYS_AWAY ? UPMU_ERR_PORT : UPMU_OK;
                assert_int_equal(upmu_unit_close(&d.unit), told);
                d.gone = 0;
                assert_idle(told == UPMU_OK ? 0 : 1u << 3);
                assert_int_equal(d.host.session.state, UPMU_SESSION_DETACHED);
                assert_null(d.host.machine.open_units);
            }
}

/* An MSR that vanishes faults.  Mistake: a stop that faults throws away what was read, and what the others counted. */
static void a_stop_keeps_what_was_read_of_a_box_that_faults(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof gates / sizeof gates[0]; i++) {
        unsigned code = gates[i] == UPMU_UNIT_FREE ? 1 : 3;
        struct upmu_count count;

        run_crowd(gates[i], UPMU_SPACE_MSR, 1000000);
        double_steps(100);
        assert_int_equal(count_of(&d.host.session).value, CROWD * 100u * code);
        d.gone = 1u << 2;
        double_steps(10);
        assert_int_equal(upmu_set_read(&d.host.session.set, 0, 1, &count), UPMU_ERR_PORT);
        assert_int_equal(upmu_session_stop(&d.host.session), UPMU_ERR_PORT);
        count = count_of(&d.host.session);
        assert_int_equal(count.raw, CROWD * 100u * code + (CROWD - 1) * 10u * code);
        assert_int_equal(count.quality, UPMU_QUALITY_PARTIAL);
        (void)!upmu_unit_close(&d.unit);
    }
}

/* A write goes to all boxes.  Mistake: behind one that faults the others run on. */
static void a_box_that_faults_does_not_keep_others_running(void **state)
{
    (void)state;
    for (unsigned i = 0; gates[i] != UPMU_UNIT_FREE; i++) {
        run_crowd(gates[i], UPMU_SPACE_MSR, 0);
        d.gone = 1u << 2;
        assert_int_equal(upmu_session_stop(&d.host.session), UPMU_ERR_PORT);
        for (unsigned box = 0; box < CROWD; box++)
            for (unsigned n = 0; n < DOUBLE_COUNTERS; n++)
                assert_true(box == 2 || !double_counts(box, n), n);
        d.gone = 0;
        (void)!upmu_unit_close(&d.unit);
    }
}

/*
 * A box loses its registers and answers again, between two looks or while it is away.  Mistakes: the count is exact and
 * wrong, or goes back; the next start leaves the box without its select.
 */
static void a_box_that_was_reset_is_no_exact_count(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof gates / sizeof gates[0]; i++)
        for (unsigned space = 0; space < 3; space++)
            for (unsigned looks = 0; looks < 3; looks++) {
                bool free = gates[i] == UPMU_UNIT_FREE;
                unsigned code = free ? 1 : 3;
                struct upmu_count count;

                run_crowd(gates[i], space, looks == 2 ? 0 : 5000);
                double_steps(100);
                assert_int_equal(count_of(&d.host.session).value, CROWD * 100u * code);
                if (looks == 1 && space != UPMU_SPACE_MSR) {
                    d.gone = 1u << 4;
                    assert_int_equal(count_of(&d.host.session).value, CROWD * 100u * code);
                    d.gone = 0;
                }
                double_reset(4);
                double_steps(10);
                count = count_of(&d.host.session);
                assert_in_range(count.value, CROWD * 100u * code + (CROWD - 1) * 10u * code, CROWD * 110u * code);
                assert_int_equal(count.quality, UPMU_QUALITY_PARTIAL);
                assert_int_equal(upmu_session_stop(&d.host.session), UPMU_OK);
                assert_int_equal(count_of(&d.host.session).quality, UPMU_QUALITY_PARTIAL);
                assert_compare(count_of(&d.host.session).raw, >=, count.raw);
                /* It counts again. */
                assert_int_equal(upmu_set_write(&d.host.session.set, 0, 0), UPMU_OK);
                assert_int_equal(upmu_session_start(&d.host.session), UPMU_OK);
                double_steps(10);
                count = count_of(&d.host.session);
                assert_int_equal(count.value, CROWD * 10u * code);
                assert_int_equal(count.quality, UPMU_QUALITY_EXACT);
                assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
            }
}

/*
 * A box is gone, or faults, as events are loaded, and answers again without them or as it was.  Mistakes: what it
 * dropped is taken for loaded; its events or its filter are not written for the next session.
 */
static void what_a_box_dropped_is_written_again(void **state)
{
    (void)state;
    for (unsigned i = 0; gates[i] != UPMU_UNIT_FREE; i++)
        for (unsigned space = 0; space < 3; space++)
            for (unsigned boxes = 1; boxes <= CROWD; boxes += CROWD - 1u)
                for (unsigned resets = 0; resets < 2; resets++) {
                    unsigned box = boxes - 1u;

                    double_prepare(&d, gates[i], space, boxes, 1);
                    d.type.filters = 1;
                    d.type.filter[0] = DOUBLE_FILTER;
                    d.type.filter_mask[0] = 0xffff;
                    double_begin(&d, 1);
                    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, boxes), UPMU_OK);
                    for (unsigned n = 0; n < 3; n++) {
                        struct upmu_event event;

                        assert_int_equal(upmu_event_raw(&d.pmu[0].pmu, 3 + n, 5, 0, &event), UPMU_OK, n);
                        assert_int_equal(upmu_set_add_event(&d.host.session.set, &event, NULL), UPMU_OK);
                    }
                    d.gone = 1u << box;
                    assert_int_equal(upmu_session_attach_unit(&d.host.session, &d.unit), UPMU_ERR_PORT);
                    d.gone = 0;
                    if (resets)
                        double_reset(box);
                    assert_int_equal(upmu_session_attach_unit(&d.host.session, &d.unit), UPMU_OK);
                    assert_int_equal(upmu_session_start(&d.host.session), UPMU_OK);
                    assert_int_equal(d.box[box].filter, 5, box);
                    double_steps(10);
                    for (unsigned n = 0; n < 3; n++) {
                        struct upmu_count count;

                        assert_int_equal(upmu_set_read(&d.host.session.set, n, 1, &count), UPMU_OK, n);
                        assert_int_equal(count.value, boxes * 10u * (3 + n), n);
                        assert_int_equal(count.quality, UPMU_QUALITY_EXACT);
                    }
                    assert_int_equal(upmu_session_stop(&d.host.session), UPMU_OK);
                    assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
                }
}

/*
 * A session of two events has stopped.  Any access faults as a session of one event begins, and the first one starts
 * again.  Mistake: of a write that one box refused and others took, the shadow has what only the first one holds.
 */
static void what_some_boxes_have_taken_is_written_again(void **state)
{
    (void)state;
    for (unsigned i = 0; gates[i] != UPMU_UNIT_FREE; i++)
        for (unsigned at = 1, faulted = 1; faulted; at++) {
            struct upmu_session *first = &d.host.session, *second = &d.host.other;
            struct upmu_count before[2], count[2];
            enum upmu_status status;

            double_prepare(&d, gates[i], UPMU_SPACE_MSR, 2, 1);
            double_begin(&d, 1);
            assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 2), UPMU_OK);
            double_event(&d, first, 3);
            double_event(&d, first, 4);
            double_event(&d, second, 5);
            assert_int_equal(upmu_session_attach_unit(first, &d.unit), UPMU_OK);
            assert_int_equal(upmu_session_start(first), UPMU_OK);
            assert_int_equal(upmu_session_stop(first), UPMU_OK);
            assert_int_equal(upmu_session_attach_unit(second, &d.unit), UPMU_OK);
            d.fail_at = at;
            status = upmu_session_start(second);
            faulted = !d.fail_at;
            d.fail_at = 0;
            assert_true(status == UPMU_OK || (status == UPMU_ERR_PORT && faulted));
            (void)!upmu_session_stop(second);
            assert_int_equal(upmu_session_start(first), UPMU_OK);
            assert_int_equal(upmu_set_read(&first->set, 0, 2, before), UPMU_OK);
            double_steps(10);
            assert_int_equal(upmu_set_read(&first->set, 0, 2, count), UPMU_OK);
            if (count[0].raw - before[0].raw != 60 || count[1].raw - before[1].raw != 80)
                fail_msg("style %u, access %u of a start faulted: %u and %u counted", (unsigned)gates[i], at,
                         (unsigned)(count[0].raw - before[0].raw), (unsigned)(count[1].raw - before[1].raw));
            assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
        }
}

/* A counter that holds 0 may have been reset before it was looked at.  Mistake: 0 is believed. */
static void a_select_that_was_lost_shows_where_a_counter_holds_0(void **state)
{
    (void)state;
    for (unsigned i = 0; gates[i] != UPMU_UNIT_FREE; i++) {
        run_crowd(gates[i], UPMU_SPACE_PCI, 0);
        double_steps(100);
        double_reset(1);
        assert_int_equal(count_of(&d.host.session).value, (CROWD - 1) * 300u);
        assert_int_equal(count_of(&d.host.session).quality, UPMU_QUALITY_PARTIAL);
        assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
    }
}

static struct {
    void (*restore)(void *context, uintptr_t state);
    uintptr_t (*save)(void *context);
    unsigned depth, reads;
    bool armed;
} interrupts;

static uintptr_t save_interrupts(void *context)
{
    interrupts.depth++;
    return interrupts.save(context);
}

/* As soon as interrupts are on after a look at the unit, a call from elsewhere closes it and gives its memory back. */
static void close_when_they_are_on(void *context, uintptr_t state)
{
    interrupts.restore(context, state);
    if (--interrupts.depth || !interrupts.armed || d.reads == interrupts.reads)
        return;
    interrupts.armed = false;
    (void)!upmu_unit_close(&d.unit);
    memset(&d.unit, 0x5a, sizeof d.unit);
}

/* Catches: a unit that is looked at after interrupts are on, when another CPU may have closed it. */
static void a_unit_that_differs_is_named_before_it_can_be_closed(void **state)
{
    struct upmu_why why;

    (void)state;
    run_crowd(UPMU_UNIT_GLOBAL, UPMU_SPACE_PCI, 0);
    double_steps(100);
    interrupts.save = d.host.sim.port.irq_save;
    interrupts.restore = d.host.sim.port.irq_restore;
    d.host.sim.port.irq_save = save_interrupts;
    d.host.sim.port.irq_restore = close_when_they_are_on;
    d.box[1].select[0] ^= 1;
    interrupts.armed = true;
    interrupts.reads = d.reads;
    assert_int_equal(upmu_cpu_verify(&d.host.cpu[0], &why), UPMU_ERR_CHANGED);
    assert_false(interrupts.armed);
    assert_ptr_equal(why.pmu, &d.pmu[0].pmu);
    d.host.sim.port.irq_save = interrupts.save;
    d.host.sim.port.irq_restore = interrupts.restore;
    memset(&d.unit, 0, sizeof d.unit);
}

/*
 * A box was gone, and was reset: a counter with a high value goes back to 0 as one that wraps does, and a stop has
 * cleared the select.  Mistakes: what was left up to a wrap is counted; a wrap is a reset.
 */
static void a_counter_that_a_stop_finds_at_0_was_reset(void **state)
{
    (void)state;
    for (unsigned i = 0; gates[i] != UPMU_UNIT_FREE; i++) {
        run_crowd(gates[i], UPMU_SPACE_PCI, UINT64_C(0xf00000000000));
        double_steps(100);
        d.gone = 1u << 1;
        assert_int_equal(count_of(&d.host.session).value, (CROWD - 1) * 300u);
        d.gone = 0;
        double_reset(1);
        assert_int_equal(upmu_session_stop(&d.host.session), UPMU_OK);
        assert_int_equal(count_of(&d.host.session).value, (CROWD - 1) * 300u);
        assert_int_equal(count_of(&d.host.session).quality, UPMU_QUALITY_PARTIAL);
        assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);

        run_crowd(gates[i], UPMU_SPACE_PCI, (UINT64_C(1) << d.type.width) - 300);
        double_steps(100);
        assert_int_equal(upmu_session_stop(&d.host.session), UPMU_OK);
        assert_int_equal(count_of(&d.host.session).value, CROWD * 300u);
        assert_int_equal(count_of(&d.host.session).quality, UPMU_QUALITY_EXACT);
        assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
    }
}

/* Two sessions count the same counter that never stops.  Mistake: only the one that looks first is told of a reset. */
static void all_sessions_of_a_free_counter_are_told_of_a_reset(void **state)
{
    (void)state;
    run_crowd(UPMU_UNIT_FREE, UPMU_SPACE_PCI, 5000);
    double_event(&d, &d.host.other, 0);
    assert_int_equal(upmu_session_attach_unit(&d.host.other, &d.unit), UPMU_OK);
    assert_int_equal(upmu_session_start(&d.host.other), UPMU_OK);
    double_steps(100);
    double_reset(1);
    for (unsigned i = 0; i < 2; i++) {
        struct upmu_session *session = i ? &d.host.other : &d.host.session;

        assert_int_equal(count_of(session).value, (CROWD - 1) * 100u);
        assert_int_equal(count_of(session).quality, UPMU_QUALITY_PARTIAL);
    }
    assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
}

/* Mistake: a fault as one session begins on a counter that never stops makes nothing of what it held for the others. */
static void a_fault_at_a_free_counter_leaves_the_counts_of_others(void **state)
{
    (void)state;
    for (unsigned space = 0; space < 3; space++)
        for (unsigned at = 1; at < 4; at++) {
            run_crowd(UPMU_UNIT_FREE, space, 5000);
            double_event(&d, &d.host.other, 0);
            assert_int_equal(upmu_session_attach_unit(&d.host.other, &d.unit), UPMU_OK);
            double_steps(100);
            d.fail_at = at;
            (void)!upmu_session_start(&d.host.other);
            assert_int_equal(d.fail_at, 0);
            double_steps(10);
            assert_int_equal(count_of(&d.host.session).value, CROWD * 110u);
            assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
        }
}

/*
 * A session of a free-running counter stops, and one of its reads faults: the other session of this counter counts on.
 * Mistake: a counter that nothing closes is closed, and what it is known to have counted is forgotten.
 */
static void a_stop_that_faults_leaves_a_free_counter_to_the_other(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2 * CROWD; i++) {
        unsigned fault = 1 + i / 2, odd = i % 2;

        run_crowd(UPMU_UNIT_FREE, UPMU_SPACE_MSR, 5000);
        double_event(&d, &d.host.other, 0);
        assert_int_equal(upmu_session_attach_unit(&d.host.other, &d.unit), UPMU_OK);
        assert_int_equal(upmu_session_start(&d.host.other), UPMU_OK);
        double_steps(100);
        d.box[CROWD - 1].counter[0] += odd;
        d.fail_at = fault;
        assert_int_equal(upmu_session_stop(&d.host.session), UPMU_ERR_PORT);
        double_steps(100);
        assert_int_equal(count_of(&d.host.other).value, CROWD * 200u + odd);
        assert_int_equal(count_of(&d.host.other).quality, UPMU_QUALITY_EXACT);
        assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
    }
}

/*
 * The high half moves as seldom as once in a second.  Mistakes: it is read twice each time; a carry between the halves
 * is believed.
 */
static void the_high_half_is_read_again_only_if_it_has_moved(void **state)
{
    struct upmu_count count;

    (void)state;
    double_prepare(&d, UPMU_UNIT_BOX, UPMU_SPACE_PCI, CROWD, 1);
    for (unsigned box = 0; box < CROWD; box++)
        d.box[box].counter[0] = UINT64_C(0x2fffff000);
    double_begin(&d, 1);
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, CROWD), UPMU_OK);
    double_count(&d, 1);
    double_steps(100);
    d.reads = 0;
    assert_int_equal(count_of(&d.host.session).value, 100 * CROWD);
    assert_int_equal(d.reads, 2 * CROWD);
    double_steps(0x1000);
    d.reads = 0;
    assert_int_equal(count_of(&d.host.session).value, (100 + 0x1000) * CROWD);
    assert_int_equal(d.reads, 4 * CROWD);
    /* Not at all where the box is frozen. */
    double_steps(UINT64_C(0x100000000));
    d.reads = 0;
    assert_int_equal(upmu_session_stop(&d.host.session), UPMU_OK);
    assert_int_equal(d.reads, 2 * CROWD);
    assert_int_equal(upmu_session_start(&d.host.session), UPMU_OK);
    /* It carries at each access in turn. */
    for (unsigned at = 1; at <= 2 * CROWD + 2; at++) {
        uint64_t before = count_of(&d.host.session).value, room;

        room = (0u - (uint32_t)d.box[0].counter[0]) - at;
        double_steps(room);
        d.steps = 1;
        assert_int_equal(upmu_set_read(&d.host.session.set, 0, 1, &count), UPMU_OK);
        d.steps = 0;
        assert_in_range(count.value, before + room * CROWD, before + (room + 4 * CROWD + 2) * CROWD);
    }
    assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
}

static void a_units_work_area_is_that_of_its_cpu(void **state)
{
    static struct upmu_place_work work;

    (void)state;
    double_prepare(&d, UPMU_UNIT_BOX, UPMU_SPACE_MSR, 1, 1);
    run_one(UPMU_SPACE_MSR, 1, 3);
    assert_int_equal(upmu_cpu_use_work(&d.host.cpu[0], &work), UPMU_OK);
    assert_ptr_equal(d.unit.meter.work, &work);
    assert_int_equal(upmu_cpu_use_work(&d.host.cpu[0], NULL), UPMU_OK);
    assert_null(d.unit.meter.work);
    assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
}

/* A turn that takes longer and longer is paid for by turns less often. */
static void the_price_of_a_turn_rises(void **state)
{
    struct upmu_session *sharing[2] = {&d.host.session, &d.host.other};
    static const struct upmu_unit_constraint first[] = {{0x40, 0xc0, 1}, {0, 0, 0}};
    struct upmu_unit_facts facts;
    uint64_t before;

    (void)state;
    double_prepare(&d, UPMU_UNIT_BOX, UPMU_SPACE_PCI, 1, 1);
    d.type.constraints = first;
    d.host.sim.port.tick_ns = 4000000;
    double_begin(&d, 1);
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 1), UPMU_OK);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(upmu_session_share(sharing[i], true), UPMU_OK, i);
        double_event(&d, sharing[i], 0x41 + i);
        assert_int_equal(upmu_session_attach_unit(sharing[i], &d.unit), UPMU_OK, i);
        assert_int_equal(upmu_session_start(sharing[i]), UPMU_OK, i);
    }
    d.slow_ns = 100;
    for (unsigned tick = 0; tick < 20; tick++) {
        upmu_sim_advance_ns(&d.host.sim, 4000000);
        assert_int_equal(upmu_cpu_tick(&d.host.cpu[0]), UPMU_OK);
    }
    upmu_unit_ask(&d.unit, &facts);
    before = facts.cost_ns;
    assert_int_equal(facts.every, 1);
    d.slow_ns = 50000;
    for (unsigned tick = 0; tick < 200; tick++) {
        upmu_sim_advance_ns(&d.host.sim, 4000000);
        assert_int_equal(upmu_cpu_tick(&d.host.cpu[0]), UPMU_OK);
    }
    upmu_unit_ask(&d.unit, &facts);
    assert_true(before && facts.cost_ns > 10 * before);
    assert_compare(facts.every, >, 1);
}

/* ---- Memory without hooks for it ---- */

static uint64_t device[2][0x20]; /* two boxes of 100h bytes */

static void *map_device(void *context, uint64_t physical, size_t bytes)
{
    (void)context, (void)bytes;
    return (unsigned char *)device + (physical - DOUBLE_PHYSICAL);
}

static void a_host_needs_no_hooks_to_read_and_write_mapped_memory(void **state)
{
    (void)state;
    for (unsigned bits = 32; bits <= 64; bits += 32) {
        memset(device, 0, sizeof device);
        double_prepare(&d, UPMU_UNIT_BOX, UPMU_SPACE_MMIO, 2, 1);
        d.type.register_bits = (uint8_t)bits;
        d.type.freeze = 0x100;
        d.host.sim.port.mmio_map = map_device;
        d.host.sim.port.mmio_read = NULL;
        d.host.sim.port.mmio_write = NULL;
        double_begin(&d, 1);
        device[1][DOUBLE_COUNTER / 8] = 500;
        assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info + 1, 1), UPMU_OK);
        double_count(&d, 7);
        assert_int_equal((uint32_t)device[1][DOUBLE_SELECT / 8], DOUBLE_ENABLE | 7);
        assert_false(device[1][0] & 0x100);
        device[1][DOUBLE_COUNTER / 8] += 41;
        assert_int_equal(count_of(&d.host.session).value, 41);
        assert_int_equal(upmu_session_close(&d.host.session), UPMU_OK);
        assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
        assert_int_equal((uint32_t)device[1][DOUBLE_SELECT / 8], 0);
        for (unsigned i = 0; i < 0x20; i++)
            assert_int_equal(device[0][i], 0, i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_is_attached_to_one_unit_that_is_open),
        cmocka_unit_test(boxes_of_one_unit_stand_side_by_side),
        cmocka_unit_test(a_hook_that_is_missing_has_its_name_told),
        cmocka_unit_test(a_unit_that_sleeps_is_closed_with_its_sessions),
        cmocka_unit_test(a_count_goes_on_without_a_box_that_vanishes),
        cmocka_unit_test(a_box_that_was_gone_as_its_unit_fell_asleep_is_restored),
        cmocka_unit_test(a_stop_keeps_what_was_read_of_a_box_that_faults),
        cmocka_unit_test(a_box_that_faults_does_not_keep_others_running),
        cmocka_unit_test(a_box_that_was_reset_is_no_exact_count),
        cmocka_unit_test(what_a_box_dropped_is_written_again),
        cmocka_unit_test(what_some_boxes_have_taken_is_written_again),
        cmocka_unit_test(a_select_that_was_lost_shows_where_a_counter_holds_0),
        cmocka_unit_test(a_unit_that_differs_is_named_before_it_can_be_closed),
        cmocka_unit_test(a_counter_that_a_stop_finds_at_0_was_reset),
        cmocka_unit_test(all_sessions_of_a_free_counter_are_told_of_a_reset),
        cmocka_unit_test(a_stop_that_faults_leaves_a_free_counter_to_the_other),
        cmocka_unit_test(a_fault_at_a_free_counter_leaves_the_counts_of_others),
        cmocka_unit_test(the_high_half_is_read_again_only_if_it_has_moved),
        cmocka_unit_test(a_close_that_faults_is_told),
        cmocka_unit_test(a_sleep_that_faults_is_told),
        cmocka_unit_test(a_fault_as_a_unit_wakes_leaves_its_boxes_as_they_were),
        cmocka_unit_test(a_unit_that_does_not_wake_leaves_a_shared_register),
        cmocka_unit_test(an_opening_that_fails_freezes_no_box),
        cmocka_unit_test(a_unit_that_no_cpu_can_take_sleeps_where_it_was),
        cmocka_unit_test(a_unit_is_not_woken_on_a_cpu_that_cannot_be_reached),
        cmocka_unit_test(of_many_cpus_the_best_are_listed),
        cmocka_unit_test(a_filter_that_two_events_need_is_named),
        cmocka_unit_test(a_dry_run_lists_what_a_start_writes),
        cmocka_unit_test(a_search_that_is_refused_says_why),
        cmocka_unit_test(a_poll_that_comes_too_late_is_told),
        cmocka_unit_test(a_life_is_never_numbered_0),
        cmocka_unit_test(a_units_work_area_is_that_of_its_cpu),
        cmocka_unit_test(the_price_of_a_turn_rises),
        cmocka_unit_test(a_host_needs_no_hooks_to_read_and_write_mapped_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
