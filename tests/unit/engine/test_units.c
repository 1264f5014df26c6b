/* SPDX-License-Identifier: MIT */
/*
 * Units outside the cores: devices in three spaces, the CPU that drives one, its going and coming, turns and their
 * price.
 */
#include <upmu/page.h>
#include "core/hw/space.h"
#include "core/util/bits.h"
#include "tests/unit/engine/unit_double.h"

static struct unit_double d;

static uint64_t value_of(struct upmu_session *session, unsigned i)
{
    struct upmu_count count;

    assert_int_equal(upmu_set_read(&session->set, i, 1, &count), UPMU_OK, i);
    return count.value;
}

static unsigned quality_of(struct upmu_session *session, unsigned i)
{
    struct upmu_count count;

    assert_int_equal(upmu_set_read(&session->set, i, 1, &count), UPMU_OK, i);
    return count.quality;
}

/* UN-001: one class of unit each in MSRs, PCI configuration space and memory; UN-002's events are the backend's. */
static void a_unit_counts_in_each_space_and_style(void **state)
{
    (void)state;
    for (unsigned style = UPMU_UNIT_GLOBAL; style <= UPMU_UNIT_FREE; style++)
        for (unsigned space = 0; space < 3; space++) {
            unsigned first = style == UPMU_UNIT_FREE ? 2 : 5, step = style == UPMU_UNIT_FREE ? 3 : 5;

            double_prepare(&d, style, space, 3, 1);
            double_begin(&d, 1);
            for (unsigned box = 0; box < 3; box++)
                d.box[box].counter[1] = UINT64_C(0xfffffffffff0); /* about to go round */
            assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info + 1, 1), UPMU_OK);
            double_event(&d, &d.host.session, first);
            double_event(&d, &d.host.session, first - 1);
            assert_int_equal(upmu_session_attach_unit(&d.host.session, &d.unit), UPMU_OK);
            double_steps(7); /* before */
            assert_int_equal(upmu_session_start(&d.host.session), UPMU_OK);
            double_steps(1000);
            assert_int_equal(value_of(&d.host.session, 0), 1000 * step);
            double_steps(1);
            assert_int_equal(upmu_session_stop(&d.host.session), UPMU_OK);
            double_steps(50); /* after */
            assert_int_equal(upmu_session_start(&d.host.session), UPMU_OK);
            double_steps(9);
            assert_int_equal(value_of(&d.host.session, 0), 1010 * step);
            assert_int_equal(value_of(&d.host.session, 1), 1010 * (step - 1));
            assert_int_equal(quality_of(&d.host.session, 0), UPMU_QUALITY_EXACT);
            assert_int_equal(upmu_session_close(&d.host.session), UPMU_OK);
            assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
            assert_int_equal(d.maps, space == UPMU_SPACE_MMIO ? 1 : 0);
            assert_int_equal(d.unmaps, d.maps);
        }
}

/* UN-001, UN-028: a device beside the processor, by its path. */
static void a_hosts_own_device_is_opened_by_its_path(void **state)
{
    (void)state;
    double_prepare(&d, UPMU_UNIT_BOX, UPMU_SPACE_MMIO, 2, 1);
    d.path = "blade4/cpu0/vectorcopro1";
    double_begin(&d, 1);
    assert_int_equal(upmu_unit_open_text(&d.unit, &d.host.machine, "blade4/cpu0/vectorcopro2"), UPMU_ERR_NO_SUCH_PMU);
    assert_int_equal(upmu_unit_open_text(&d.unit, &d.host.machine, "blade4/cpu0/vectorcopro1"), UPMU_OK);
    assert_ptr_equal(d.unit.box, d.info);
    assert_int_equal(d.unit.boxes, 1);
    double_count(&d, 3);
    double_steps(11);
    assert_int_equal(value_of(&d.host.session, 0), 33);
    /* It is open: nothing else is. */
    assert_int_equal(upmu_unit_open(&d.other, &d.host.machine, d.info, 1), UPMU_ERR_STATE);
    assert_string_equal(d.host.machine.why.word, "blade4/cpu0/vectorcopro1");
    assert_int_equal(upmu_unit_open(&d.other, &d.host.machine, d.info, 2), UPMU_ERR_STATE);
    assert_int_equal(upmu_unit_open(&d.other, &d.host.machine, d.info + 1, 2), UPMU_ERR_INVALID);
    assert_int_equal(upmu_unit_open(&d.other, &d.host.machine, d.info + 1, 1), UPMU_OK);
    assert_int_equal(upmu_unit_close(&d.other), UPMU_OK);
    assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
    assert_int_equal(d.host.session.state, UPMU_SESSION_DETACHED);
    assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
}

/*
 * In the bracket of a unit a handler may change the sets of the CPU's own sessions.
 * Catches: the end of a unit's call that writes the CPU's pages, and clears counters for readers that a handler opens.
 */
static void a_call_on_a_unit_leaves_pages_of_its_cpu_alone(void **state)
{
    static struct upmu_user_page page;
    uint32_t sequence;

    (void)state;
    double_prepare(&d, UPMU_UNIT_BOX, UPMU_SPACE_MMIO, 1, 1);
    double_begin(&d, 1);
    assert_int_equal(upmu_set_add(&d.host.other.set, "instructions", NULL), UPMU_OK);
    assert_int_equal(upmu_session_publish(&d.host.other, &page), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(&d.host.other, &d.host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_start(&d.host.other), UPMU_OK);
    sequence = page.sequence;
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 1), UPMU_OK);
    double_count(&d, 3);
    double_steps(11);
    assert_int_equal(value_of(&d.host.session, 0), 33);
    assert_int_equal(upmu_session_close(&d.host.session), UPMU_OK);
    assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
    assert_int_equal(page.sequence, sequence);
    assert_int_equal(upmu_session_stop(&d.host.other), UPMU_OK);
    assert_int_not_equal(page.sequence, sequence);
    assert_int_equal(upmu_session_close(&d.host.other), UPMU_OK);
}

static void several_boxes_are_one_unit(void **state)
{
    (void)state;
    for (unsigned space = 0; space < 3; space++) {
        double_prepare(&d, UPMU_UNIT_BOX, space, 6, 1);
        d.type.control_idle = 0;
        double_begin(&d, 1);
        for (unsigned box = 0; box < 6; box++)
            d.box[box].counter[0] = UINT64_C(0xffffffffff00) + box;
        assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 6), UPMU_OK);
        double_count(&d, 7);
        double_steps(1000);
        assert_int_equal(value_of(&d.host.session, 0), 6 * 7 * 1000);
        for (unsigned box = 0; box < 6; box++)
            assert_int_equal(d.box[box].select[0], DOUBLE_ENABLE | 7, box);
        assert_int_equal(upmu_session_close(&d.host.session), UPMU_OK);
        assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
        for (unsigned box = 0; box < 6; box++)
            assert_true(!d.box[box].select[0] && !d.box[box].control, box);
    }
}

/* What firmware counts goes on, in a box that is not frozen; the rest is restored as it was found. */
static void what_is_in_use_is_left_alone(void **state)
{
    (void)state;
    for (unsigned boxes = 1; boxes <= 3; boxes += 2) {
        struct upmu_unit_facts facts;
        unsigned busy = boxes / 2; /* the middle one */
        uint64_t before;

        double_prepare(&d, UPMU_UNIT_BOX, UPMU_SPACE_MSR, boxes, 1);
        d.type.reset = 3;
        d.box[busy].select[2] = DOUBLE_ENABLE | 0x42;
        d.box[0].select[1] = 0x17; /* chosen, not enabled */
        double_begin(&d, 1);
        assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, boxes), UPMU_OK);
        upmu_unit_ask(&d.unit, &facts);
        assert_int_equal(facts.firmware, 1u << 2);
        assert_int_equal(d.reset_count, 0);
        for (unsigned i = 0; i < 3; i++)
            double_event(&d, &d.host.session, 1 + i);
        assert_int_equal(upmu_session_attach_unit(&d.host.session, &d.unit), UPMU_OK);
        before = d.box[busy].counter[2];
        assert_int_equal(upmu_session_start(&d.host.session), UPMU_OK);
        double_steps(10);
        assert_int_equal(upmu_session_stop(&d.host.session), UPMU_OK);
        double_steps(10);
        assert_int_equal(value_of(&d.host.session, 2), boxes * 30u);
        assert_int_equal(d.box[busy].counter[2] - before, 20 * 0x42, busy);
        assert_int_equal(upmu_session_close(&d.host.session), UPMU_OK);
        assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
        double_steps(10);
        assert_int_equal(d.box[busy].counter[2] - before, 30 * 0x42, busy);
        assert_int_equal(d.box[0].select[1], boxes == 1 ? 0x17 : 0);
    }
}

/* Counter 2 of a box runs as firmware left it; three events fit beside it. */
static void left_by_firmware(unsigned style, unsigned boxes)
{
    unsigned busy = boxes / 2; /* the middle one */

    double_prepare(&d, style, UPMU_SPACE_PCI, boxes, 1);
    d.type.reset = 2;
    d.box[busy].select[2] = DOUBLE_ENABLE | 0x42;
    d.box[busy].control = style == UPMU_UNIT_GLOBAL ? 4 : 0;
    double_begin(&d, 1);
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, boxes), UPMU_OK);
    for (unsigned i = 0; i < 3; i++)
        double_event(&d, &d.host.session, 1 + i);
    assert_int_equal(upmu_session_attach_unit(&d.host.session, &d.unit), UPMU_OK);
}

static unsigned in_use(void)
{
    struct upmu_unit_facts facts;

    upmu_unit_ask(&d.unit, &facts);
    return facts.firmware;
}

/* What firmware left running stands still from then on and is free, until the unit is closed. */
static void what_firmware_left_can_be_taken(void **state)
{
    static const unsigned styles[] = {UPMU_UNIT_GLOBAL, UPMU_UNIT_SELECT, UPMU_UNIT_BOX, UPMU_UNIT_DISCOVERED};

    (void)state;
    for (unsigned i = 0; i < 16; i++) {
        unsigned boxes = i & 1 ? 3 : 1, beside = i >> 1 & 1, writes;
        uint64_t before, *theirs;

        left_by_firmware(styles[i >> 2], boxes);
        theirs = &d.box[boxes / 2].counter[2];
        if (beside)
            assert_int_equal(upmu_session_start(&d.host.session), UPMU_OK);
        before = *theirs;
        double_steps(10);
        assert_int_equal(*theirs - before, 10 * 0x42);
        assert_int_equal(in_use(), 1u << 2);
        assert_int_equal(upmu_unit_take_firmware(&d.unit), UPMU_OK);
        assert_int_equal(in_use(), 0);
        before = *theirs;
        double_steps(10);
        assert_int_equal(*theirs - before, 0);
        assert_int_equal(d.box[0].control & d.type.freeze, beside ? 0 : d.type.freeze);
        assert_true(d.type.freeze || !(d.box[boxes / 2].control & 4), boxes);
        if (beside)
            assert_int_equal(value_of(&d.host.session, 2), boxes * 3u * 20u);
        writes = d.writes;
        assert_int_equal(upmu_unit_take_firmware(&d.unit), UPMU_OK);
        assert_int_equal(d.writes, writes);
        for (unsigned n = 0; n < DOUBLE_COUNTERS - beside * 3; n++)
            double_event(&d, &d.host.other, 5 + n);
        assert_int_equal(upmu_session_attach_unit(&d.host.other, &d.unit), UPMU_OK);
        assert_int_equal(upmu_session_start(&d.host.other), UPMU_OK);
        double_steps(10);
        assert_int_equal(value_of(&d.host.other, 0), boxes * 5u * 10u);
        if (!beside)
            assert_int_equal(value_of(&d.host.other, 2), boxes * 7u * 10u);
        assert_true(!d.type.freeze || !d.reset_count);
        assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
        before = *theirs;
        double_steps(10);
        assert_int_equal(*theirs - before, boxes == 1 ? 10 * 0x42 : 0);
    }
    assert_int_equal(upmu_unit_take_firmware(&d.unit), UPMU_ERR_STATE);
}

/* Then it is the firmware's as before, and is restored as it was. */
static void a_fault_leaves_to_the_firmware_what_it_had(void **state)
{
    static const unsigned styles[] = {UPMU_UNIT_GLOBAL, UPMU_UNIT_SELECT, UPMU_UNIT_BOX, UPMU_UNIT_DISCOVERED};

    (void)state;
    for (unsigned i = 0; i < 8; i++)
        for (unsigned fail_at = 1;; fail_at++) {
            enum upmu_status status;

            left_by_firmware(styles[i >> 1], 1);
            if (i & 1)
                assert_int_equal(upmu_session_start(&d.host.session), UPMU_OK);
            d.fail_at = fail_at;
            status = upmu_unit_take_firmware(&d.unit);
            if (d.fail_at) {
                assert_compare(fail_at, >, 1);
                break;
            }
            assert_int_equal(status, UPMU_ERR_PORT);
            assert_int_equal(in_use(), 1u << 2);
            assert_int_equal(upmu_unit_take_firmware(&d.unit), UPMU_OK);
            assert_int_equal(in_use(), 0);
            assert_int_equal(double_counts(0, 2), 0);
            assert_int_equal(d.box[0].control & d.type.freeze, i & 1 ? 0 : d.type.freeze, i);
            if (i & 1) {
                double_steps(10);
                assert_int_equal(value_of(&d.host.session, 2), 3 * 10);
            }
            assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
            assert_true(double_counts(0, 2));
        }
}

/* Several boxes share no found value: at the end each enable register has the bits of counters in use alone. */
static void several_boxes_get_no_enable_bits_that_were_anothers(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 8; i++) {
        unsigned boxes = i & 1 ? 3 : 1, used = i >> 1 & 1, taken = i >> 2;

        double_prepare(&d, UPMU_UNIT_GLOBAL, UPMU_SPACE_MSR, boxes, 1);
        d.box[0].control = 1; /* counter 0 is on, without an event */
        if (used) {
            d.box[0].control |= 4;
            d.box[0].select[2] = DOUBLE_ENABLE | 0x42;
        }
        double_begin(&d, 1);
        assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, boxes), UPMU_OK);
        double_event(&d, &d.host.session, 1);
        assert_int_equal(upmu_session_attach_unit(&d.host.session, &d.unit), UPMU_OK);
        assert_int_equal(upmu_session_start(&d.host.session), UPMU_OK);
        if (taken)
            assert_int_equal(upmu_unit_take_firmware(&d.unit), UPMU_OK);
        assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
        for (unsigned box = 0; box < boxes; box++) {
            uint64_t left = used && (boxes == 1 || !taken) ? 4 : 0;

            if (d.box[box].control != (boxes == 1 ? left | 1 : left))
                fail_msg("case %u, box %u: %llx", i, box, (unsigned long long)d.box[box].control);
            assert_true(!box || !d.box[box].select[2], i);
        }
    }
}

static void (*real_cpuid)(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4]);

static void cpuid_of_a_guest(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    real_cpuid(context, leaf, subleaf, out);
    if (leaf == 1)
        out[2] |= 1u << 31;
}

/* A hypervisor shows registers that keep nothing: a unit of them is not opened.  Firmware's counters are no test. */
static void a_unit_under_a_hypervisor_keeps_what_is_written(void **state)
{
    (void)state;
    for (unsigned style = UPMU_UNIT_GLOBAL; style <= UPMU_UNIT_FREE; style++)
        for (unsigned space = UPMU_SPACE_MSR; space <= UPMU_SPACE_MMIO; space++)
            for (unsigned deaf = 0; deaf < 3; deaf++) {
                bool fails = deaf && style != UPMU_UNIT_FREE;
                char text[200];

                double_prepare(&d, style, space, 2, 1);
                real_cpuid = d.host.sim.port.cpuid;
                d.host.sim.port.cpuid = cpuid_of_a_guest;
                d.deaf = deaf;
                host_machine(&d.host);
                host_take_over(&d.host, 1, false);
                d.list = (struct upmu_unit_list){.unit = d.info, .pmu = d.pmu, .unit_capacity = 2, .pmu_capacity = 1};
                (void)!upmu_units_find(&d.host.cpu[0], &d.list, UPMU_UNITS_FORCE);
                assert_int_equal(d.list.unit_count, 2);
                assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 2),
                                 fails ? UPMU_ERR_NO_PMU : UPMU_OK);
                if (fails) {
                    upmu_why_text(&d.host.machine.why, text, sizeof text);
                    assert_string_equal(text, "no usable PMU on vcp: it ignores writes");
                    continue;
                }
                assert_false(double_counts(0, 0) && style != UPMU_UNIT_FREE);
                double_count(&d, style == UPMU_UNIT_FREE ? 0 : 1);
                double_steps(10);
                assert_int_equal(value_of(&d.host.session, 0), 2 * 10);
                assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
                assert_int_equal(d.box[0].select[0], 0);
            }
}

/* Each access of an opening faults: told, and nothing is left that counts. */
static void a_unit_under_a_hypervisor_that_faults_is_not_opened(void **state)
{
    (void)state;
    for (unsigned fail_at = 1;; fail_at++) {
        enum upmu_status status;

        double_prepare(&d, UPMU_UNIT_BOX, UPMU_SPACE_MSR, 1, 1);
        real_cpuid = d.host.sim.port.cpuid;
        d.host.sim.port.cpuid = cpuid_of_a_guest;
        host_machine(&d.host);
        host_take_over(&d.host, 1, false);
        d.list = (struct upmu_unit_list){.unit = d.info, .pmu = d.pmu, .unit_capacity = 2, .pmu_capacity = 1};
        (void)!upmu_units_find(&d.host.cpu[0], &d.list, UPMU_UNITS_FORCE);
        d.fail_at = fail_at;
        status = upmu_unit_open(&d.unit, &d.host.machine, d.info, 1);
        if (d.fail_at) {
            assert_int_equal(status, UPMU_OK);
            assert_compare(fail_at, >, 3);
            assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
            return;
        }
        assert_int_equal(status, UPMU_ERR_PORT);
        assert_false(double_counts(0, 0));
        assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 1), UPMU_OK);
        assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
    }
}

static void a_box_that_is_not_in_use_is_reset_once(void **state)
{
    (void)state;
    double_prepare(&d, UPMU_UNIT_BOX, UPMU_SPACE_MSR, 1, 1);
    d.type.reset = 3;
    d.type.control_idle = 0x10000;
    double_begin(&d, 1);
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 1), UPMU_OK);
    assert_int_equal(d.reset_count, 1);
    assert_int_equal(d.resets[0], 0x10003);
    assert_int_equal(d.box[0].control, 0x10100); /* frozen, without reset bits */
    assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
    assert_int_equal(d.box[0].control, 0);
    /* A box that faults if they come at once. */
    double_prepare(&d, UPMU_UNIT_BOX, UPMU_SPACE_MSR, 1, 1);
    d.type.reset = 3;
    d.type.control_idle = 0x10000;
    d.type.quirks = UPMU_UNIT_GROWING_RESET;
    double_begin(&d, 1);
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 1), UPMU_OK);
    assert_int_equal(d.reset_count, 3);
    assert_int_equal(d.resets[0], 1);
    assert_int_equal(d.resets[1], 3);
    assert_int_equal(d.resets[2], 0x10003);
    assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
}

/* A counter that is closed stands still while others run, with a new event and with one that was stopped. */
static void a_closed_counter_does_not_count_in_a_box_that_runs(void **state)
{
    (void)state;
    for (unsigned style = UPMU_UNIT_BOX; style <= UPMU_UNIT_CLIENT_IMC; style++) {
        struct upmu_session *session = &d.host.session, *other = &d.host.other;

        double_prepare(&d, style, UPMU_SPACE_MSR, 1, 1);
        double_begin(&d, 1);
        assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 1), UPMU_OK);
        double_event(&d, other, 9);
        assert_int_equal(upmu_session_attach_unit(other, &d.unit), UPMU_OK);
        assert_int_equal(upmu_session_start(other), UPMU_OK);
        double_event(&d, session, 5);
        d.writes = 0;
        assert_int_equal(upmu_session_attach_unit(session, &d.unit), UPMU_OK);
        assert_int_equal(d.writes, 0); /* not for a moment */
        double_steps(100);
        assert_int_equal(d.box[0].counter[0] + d.box[0].counter[1] + d.box[0].counter[2] + d.box[0].counter[3], 900);
        assert_int_equal(upmu_session_start(session), UPMU_OK);
        double_steps(100);
        assert_int_equal(upmu_session_stop(session), UPMU_OK);
        double_steps(100);
        assert_int_equal(upmu_session_start(session), UPMU_OK);
        double_steps(100);
        assert_int_equal(value_of(session, 0), 1000);
        assert_int_equal(upmu_session_stop(session), UPMU_OK);
        assert_int_equal(upmu_session_stop(other), UPMU_OK);
        double_steps(100);
        /* The first that opens runs alone, though what the other left is still chosen. */
        assert_int_equal(upmu_session_start(session), UPMU_OK);
        double_steps(100);
        assert_int_equal(value_of(session, 0), 1500);
        assert_int_equal(value_of(other, 0), 3600);
        assert_int_equal(upmu_session_start(other), UPMU_OK);
        double_steps(1);
        assert_int_equal(value_of(other, 0), 3609);
        assert_int_equal(d.box[0].counter[0] + d.box[0].counter[1] + d.box[0].counter[2] + d.box[0].counter[3],
                         3609 + 1505);
    }
}

/* Filters in a companion function: where it was not found nothing is written, and all other events count. */
static void filters_in_a_companion_are_written_there_or_refused(void **state)
{
    (void)state;
    for (unsigned has = 0; has < 2; has++) {
        struct upmu_event event;

        double_prepare(&d, UPMU_UNIT_BOX, UPMU_SPACE_PCI, 6, 1);
        d.type.filters = 1;
        d.type.filter[0] = DOUBLE_FILTER;
        d.type.filter_mask[0] = 0xffff;
        d.type.quirks = 0x80; /* UPMU_UNCORE_SECOND_FILTERS */
        d.second = has ? DOUBLE_WHERE + 5 : 0;
        double_begin(&d, 1);
        assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 1), UPMU_OK);
        assert_int_equal(upmu_event_raw(&d.pmu[0].pmu, 3, 0x123, 0, &event), UPMU_OK);
        assert_int_equal(upmu_set_add_event(&d.host.session.set, &event, NULL), UPMU_OK);
        assert_int_equal(upmu_session_attach_unit(&d.host.session, &d.unit), has ? UPMU_OK : UPMU_ERR_UNSUPPORTED);
        assert_int_equal(d.box[5].filter, has ? 0x123 : 0);
        double_event(&d, &d.host.other, 7);
        assert_int_equal(upmu_session_attach_unit(&d.host.other, &d.unit), UPMU_OK);
        assert_int_equal(upmu_session_start(&d.host.other), UPMU_OK);
        double_steps(10);
        assert_int_equal(value_of(&d.host.other, 0), 70);
        assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
        assert_int_equal(d.box[5].filter, 0);
    }
}

/* A register of several units is set while one of them is open, and restored by the last, in any order. */
static void the_last_unit_restores_what_several_need(void **state)
{
    (void)state;
    for (unsigned first = 0; first < 2; first++) {
        struct upmu_unit *one = first ? &d.other : &d.unit, *last = first ? &d.unit : &d.other;

        double_prepare(&d, UPMU_UNIT_SELECT, UPMU_SPACE_MSR, 2, 1);
        d.type.quirks = 0x8; /* UPMU_UNCORE_ABSOLUTE */
        d.type.control = DOUBLE_SWITCH;
        d.type.control_idle = 1u << 29;
        d.switched = 0x5;
        double_begin(&d, 1);
        assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 1), UPMU_OK);
        assert_int_equal(d.switched, 0x5 | 1u << 29);
        assert_int_equal(upmu_unit_open(&d.other, &d.host.machine, d.info + 1, 1), UPMU_OK);
        assert_int_equal(upmu_unit_close(one), UPMU_OK);
        assert_int_equal(d.switched, 0x5 | 1u << 29);
        assert_int_equal(upmu_unit_close(last), UPMU_OK);
        assert_int_equal(d.switched, 0x5);
    }
}

/* Sets of a session change on a unit as they do on a CPU, and a dry run lists what a start writes. */
static void sets_and_dry_runs_work_on_units(void **state)
{
    static struct upmu_set second;
    struct upmu_write writes[8];
    struct upmu_dry_run dry = {.writes = writes, .capacity = 8};
    struct upmu_event event;
    struct upmu_count count[2];

    (void)state;
    double_prepare(&d, UPMU_UNIT_BOX, UPMU_SPACE_PCI, 2, 1);
    double_begin(&d, 1);
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 2), UPMU_OK);
    double_event(&d, &d.host.session, 3);
    assert_int_equal(upmu_session_dry_run(&d.host.session, &d.pmu[0].pmu, &dry), UPMU_OK);
    assert_int_equal(dry.count, 2); /* the select, and box control without its freeze bit */
    assert_true(writes[0].value == (DOUBLE_ENABLE | 3) && writes[0].address == DOUBLE_SELECT);
    assert_true(writes[1].value == 0 && writes[1].address == DOUBLE_CONTROL);
    assert_int_equal(upmu_session_add_set(&d.host.session, &second, 1, UPMU_SET_TIME_SWITCH, 2000000), UPMU_OK);
    assert_int_equal(upmu_event_raw(&d.pmu[0].pmu, 5, 0, 0, &event), UPMU_OK);
    assert_int_equal(upmu_set_add_event(&second, &event, NULL), UPMU_OK);
    d.host.session.set.flags |= UPMU_SET_TIME_SWITCH;
    d.host.session.set.timeout_ns = 2000000;
    assert_int_equal(upmu_session_attach_unit(&d.host.session, &d.unit), UPMU_OK);
    assert_int_equal(upmu_session_start(&d.host.session), UPMU_OK);
    for (unsigned tick = 0; tick < 40; tick++) {
        double_steps(100);
        upmu_sim_advance_ns(&d.host.sim, 1000000);
        assert_int_equal(upmu_cpu_tick(&d.host.cpu[0]), UPMU_OK);
    }
    assert_int_equal(upmu_session_stop(&d.host.session), UPMU_OK);
    assert_int_equal(upmu_set_read(&d.host.session.set, 0, 1, &count[0]), UPMU_OK);
    assert_int_equal(upmu_set_read(&second, 0, 1, &count[1]), UPMU_OK);
    assert_int_equal(count[0].raw, 2 * 20 * 100 * 3);
    assert_int_equal(count[1].raw, 2 * 20 * 100 * 5);
    assert_int_equal(count[0].value, 2 * 40 * 100 * 3);
    assert_int_equal(count[1].value, 2 * 40 * 100 * 5);
}

/* Counters that never stop are no session's, so none can have them alone. */
static void no_session_is_alone_where_counters_never_stop(void **state)
{
    struct upmu_session *session = &d.host.session;

    (void)state;
    double_prepare(&d, UPMU_UNIT_FREE, UPMU_SPACE_MMIO, 1, 1);
    double_begin(&d, 1);
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 1), UPMU_OK);
    double_event(&d, session, 0);
    assert_int_equal(upmu_session_alone(session, true), UPMU_OK);
    assert_int_equal(upmu_session_attach_unit(session, &d.unit), UPMU_ERR_UNSUPPORTED);
    assert_int_equal(session->why.status, UPMU_ERR_UNSUPPORTED);
    assert_int_equal(upmu_session_alone(session, false), UPMU_OK);
    assert_int_equal(upmu_session_attach_unit(session, &d.unit), UPMU_OK);
    assert_int_equal(upmu_session_start(session), UPMU_OK);
    assert_int_equal(upmu_session_stop(session), UPMU_OK);
}

/* Two sessions with two sets each on counters that never stop, with different times. */
static void sets_change_where_counters_never_stop(void **state)
{
    static struct upmu_set second[2];
    struct upmu_event event;
    struct upmu_count count[2];

    (void)state;
    double_prepare(&d, UPMU_UNIT_FREE, UPMU_SPACE_MMIO, 1, 1);
    double_begin(&d, 1);
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 1), UPMU_OK);
    for (unsigned i = 0; i < 2; i++) {
        struct upmu_session *session = &d.host.sessions[i];
        unsigned ns = 2000000 << i;

        assert_int_equal(upmu_session_shuffle(session, false, 0), UPMU_OK);
        double_event(&d, session, 0);
        assert_int_equal(upmu_session_add_set(session, &second[i], 1, UPMU_SET_TIME_SWITCH, ns), UPMU_OK, i);
        assert_int_equal(upmu_event_raw(&d.pmu[0].pmu, 1, 0, 0, &event), UPMU_OK);
        assert_int_equal(upmu_set_add_event(&second[i], &event, NULL), UPMU_OK, i);
        session->set.flags |= UPMU_SET_TIME_SWITCH;
        session->set.timeout_ns = ns;
        assert_int_equal(upmu_session_attach_unit(session, &d.unit), UPMU_OK);
        assert_int_equal(upmu_session_start(session), UPMU_OK);
    }
    for (unsigned tick = 0; tick < 40; tick++) {
        double_steps(100);
        upmu_sim_advance_ns(&d.host.sim, 1000000);
        assert_int_equal(upmu_cpu_tick(&d.host.cpu[0]), UPMU_OK);
    }
    for (unsigned i = 0; i < 2; i++) {
        struct upmu_session *session = &d.host.sessions[i];

        /* The host may change the set at any time, too. */
        assert_int_equal(upmu_session_switch(session, i ? &second[i] : NULL), UPMU_OK, i);
        assert_ptr_equal(session->active, &second[i], i);
        double_steps(100);
        assert_int_equal(upmu_session_stop(session), UPMU_OK);
        assert_int_equal(upmu_set_read(&session->set, 0, 1, &count[0]), UPMU_OK);
        assert_int_equal(upmu_set_read(&second[i], 0, 1, &count[1]), UPMU_OK, i);
        /* Session 1 was in its first set while session 0 counted its last 100 steps. */
        assert_int_equal(count[0].raw, 20 * 100 + i * 100, i);
        assert_int_equal(count[1].raw, 2 * (20 * 100 + 100));
        assert_int_equal(count[0].value, 2 * count[0].raw);
        assert_int_equal(count[1].value, 2 * count[1].raw);
    }
}

/*
 * The next set of a session that shares has no place yet, and the tick makes one.  Mistakes: a tick that takes compiled
 * sets alone; a place on counters that never stop that is written to registers.
 */
static void a_set_that_shares_counters_which_never_stop_runs_in_its_time(void **state)
{
    static struct upmu_set second;
    struct upmu_session *session = &d.host.session;
    struct upmu_event event;

    (void)state;
    double_prepare(&d, UPMU_UNIT_FREE, UPMU_SPACE_MMIO, 1, 1);
    double_begin(&d, 1);
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 1), UPMU_OK);
    assert_int_equal(upmu_session_share(session, true), UPMU_OK);
    assert_int_equal(upmu_session_shuffle(session, false, 0), UPMU_OK);
    double_event(&d, session, 0);
    assert_int_equal(upmu_session_add_set(session, NULL, 0, UPMU_SET_TIME_SWITCH, 1000000), UPMU_OK);
    assert_int_equal(upmu_session_add_set(session, &second, 1, UPMU_SET_TIME_SWITCH, 1000000), UPMU_OK);
    assert_int_equal(upmu_event_raw(&d.pmu[0].pmu, 1, 0, 0, &event), UPMU_OK);
    assert_int_equal(upmu_set_add_event(&second, &event, NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_unit(session, &d.unit), UPMU_OK);
    assert_int_equal(upmu_session_start(session), UPMU_OK);
    for (unsigned tick = 0; tick < 4; tick++) {
        upmu_sim_advance_ns(&d.host.sim, 1000000);
        assert_int_equal(upmu_cpu_tick(&d.host.cpu[0]), UPMU_OK);
        assert_int_equal(session->state, UPMU_SESSION_RUNNING);
        assert_int_equal(session->active->number, ~tick & 1u);
    }
    assert_int_equal(session->counters | second.counters, 0);
    assert_int_equal(d.writes, 0);
}

static void a_type_with_too_many_registers_is_refused(void **state)
{
    (void)state;
    double_prepare(&d, UPMU_UNIT_BOX, UPMU_SPACE_PCI, 1, 1);
    d.type.counters = UPMU_UNIT_REGISTERS / 2;
    host_machine(&d.host);
    host_take_over(&d.host, 1, false);
    d.list.unit = d.info;
    d.list.unit_capacity = DOUBLE_BOXES;
    d.list.pmu = d.pmu;
    d.list.pmu_capacity = 2;
    assert_int_equal(upmu_units_find(&d.host.cpu[0], &d.list, 0), UPMU_ERR_UNSUPPORTED);
    assert_int_equal(d.list.unit_count, 0);
}

/* UN-003 */
static void no_thread_has_an_event_of_a_unit(void **state)
{
    char text[200];

    (void)state;
    double_prepare(&d, UPMU_UNIT_BOX, UPMU_SPACE_MSR, 1, 1);
    double_begin(&d, 1);
    host_threads(&d.host, 1);
    double_event(&d, &d.host.session, 3);
    assert_int_equal(upmu_session_attach_thread(&d.host.session, &d.host.threads[0], NULL), UPMU_ERR_NOT_PER_THREAD);
    assert_int_equal(d.host.session.why.status, UPMU_ERR_NOT_PER_THREAD);
    (void)upmu_why_text(&d.host.session.why, text, sizeof text);
    assert_string_equal(text, "a raw event: event belongs to no thread on vcp");
    assert_int_equal(upmu_session_attach_cpu(&d.host.session, &d.host.cpu[0]), UPMU_ERR_WRONG_PMU);
    assert_int_equal(d.writes, 0);
}

static void an_event_of_a_unit_has_no_period(void **state)
{
    const struct upmu_sampling every = {.period = 1000};
    struct upmu_event event;

    (void)state;
    double_prepare(&d, UPMU_UNIT_BOX, UPMU_SPACE_MSR, 1, 1);
    double_begin(&d, 1);
    assert_int_equal(upmu_event_raw(&d.pmu[0].pmu, 3, 0, 0, &event), UPMU_OK);
    assert_int_equal(upmu_set_add_event(&d.host.session.set, &event, &every), UPMU_ERR_UNSUPPORTED);
}

/* Four CPUs on two dies, with numbers that alternate; two boxes each. */
static void two_dies(unsigned style, unsigned space)
{
    double_prepare(&d, style, space, 4, 4);
    d.box_dies = 2;
    for (unsigned cpu = 0; cpu < 4; cpu++)
        d.place[cpu].package = cpu % 2;
}

/* UN-004, UN-005, UN-006, UN-009: no caller says which CPU it is, and no other touches a register. */
static void the_library_chooses_a_cpu_and_calls_go_there(void **state)
{
    (void)state;
    for (unsigned space = 0; space < 3; space++) {
        struct upmu_unit_facts facts;

        two_dies(UPMU_UNIT_BOX, space);
        double_begin(&d, 4);
        assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info + 2, 2), UPMU_OK);
        assert_int_equal(upmu_unit_open(&d.other, &d.host.machine, d.info, 2), UPMU_OK);
        upmu_unit_ask(&d.unit, &facts);
        assert_ptr_equal(facts.cpu, &d.host.cpu[1]);
        assert_int_equal(facts.allowed_count, space == UPMU_SPACE_MSR ? 2 : 4);
        /* The CPU of the die that drives no unit comes first. */
        assert_ptr_equal(facts.allowed[0], &d.host.cpu[3]);
        assert_ptr_equal(facts.allowed[1], &d.host.cpu[1]);
        double_event(&d, &d.host.session, 3);
        for (unsigned cpu = 0; cpu < 4; cpu++) {
            upmu_sim_switch_cpu(&d.host.sim, cpu);
            assert_int_equal(upmu_session_attach_unit(&d.host.session, &d.unit), UPMU_OK);
            assert_int_equal(upmu_session_start(&d.host.session), UPMU_OK);
            double_steps(10);
            assert_int_equal(upmu_unit_poll(&d.unit), UPMU_OK);
            assert_int_equal(value_of(&d.host.session, 0), (cpu + 1) * 60);
            assert_int_equal(upmu_session_stop(&d.host.session), UPMU_OK);
            assert_int_equal(upmu_session_detach(&d.host.session), UPMU_OK);
            assert_int_equal(d.writer[2], 1 + 1);
        }
        /* It cannot be reached. */
        d.host.sim.port.run_on_cpu = NULL;
        d.writes = d.reads = 0;
        upmu_sim_switch_cpu(&d.host.sim, 0);
        assert_int_equal(upmu_session_attach_unit(&d.host.session, &d.unit), UPMU_ERR_WRONG_CPU);
        assert_int_equal(upmu_unit_poll(&d.unit), UPMU_ERR_WRONG_CPU);
        assert_int_equal(upmu_unit_close(&d.unit), UPMU_ERR_WRONG_CPU);
        assert_int_equal(d.writes + d.reads, 0);
        upmu_sim_switch_cpu(&d.host.sim, 1);
        assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
    }
}

/*
 * UN-008: the host chooses among all CPUs that reach the unit, and only among these.
 * Catches: a library that offers the first one alone, or those of other dies, and one that takes any answer.
 */
static void the_host_may_choose_a_cpu_that_is_allowed(void **state)
{
    (void)state;
    two_dies(UPMU_UNIT_SELECT, UPMU_SPACE_MSR);
    double_begin(&d, 4);
    d.nearest = &d.host.cpu[3];
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info + 2, 1), UPMU_OK);
    assert_ptr_equal(d.unit.meter.cpu, &d.host.cpu[3]);
    assert_int_equal(d.allowed_count, 2);
    assert_true(d.allowed[0] == &d.host.cpu[1] || d.allowed[1] == &d.host.cpu[1]);
    assert_true(d.allowed[0] == &d.host.cpu[3] || d.allowed[1] == &d.host.cpu[3]);
    d.nearest = &d.host.cpu[0]; /* of another die */
    assert_int_equal(upmu_unit_open(&d.other, &d.host.machine, d.info + 3, 1), UPMU_OK);
    assert_ptr_equal(d.other.meter.cpu, &d.host.cpu[1]);
}

/* UN-010 */
static void a_unit_goes_on_where_its_cpu_goes_offline(void **state)
{
    (void)state;
    for (unsigned space = 0; space < 3; space++) {
        bool halved = space == UPMU_SPACE_PCI || (space == UPMU_SPACE_MMIO && sizeof(void *) < 8);
        unsigned before;

        two_dies(UPMU_UNIT_BOX, space);
        double_begin(&d, 4);
        assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info + 2, 2), UPMU_OK);
        double_count(&d, 3);
        double_steps(10);
        before = d.writes;
        d.reads = 0;
        upmu_sim_switch_cpu(&d.host.sim, 1);
        assert_int_equal(upmu_cpu_suspend(&d.host.cpu[1]), UPMU_OK);
        assert_int_equal(d.writes, before);
        /* One count, of two boxes. */
        assert_int_equal(d.reads, halved ? 4 : 2);
        assert_ptr_equal(d.unit.meter.cpu, &d.host.cpu[3]);
        double_steps(10);
        assert_int_equal(value_of(&d.host.session, 0), 120);
        memset(d.writer, 0, sizeof d.writer); /* told */
        /* It is online again: the unit stays where it is. */
        assert_int_equal(upmu_cpu_resume(&d.host.cpu[1]), UPMU_OK);
        assert_ptr_equal(d.unit.meter.cpu, &d.host.cpu[3]);
        assert_int_equal(upmu_unit_manage(&d.unit, &d.host.cpu[1]), UPMU_OK);
        assert_ptr_equal(d.unit.meter.cpu, &d.host.cpu[1]);
        assert_int_equal(upmu_unit_manage(&d.unit, &d.host.cpu[0]), space == UPMU_SPACE_MSR ? UPMU_ERR_INVALID
                                                                                             : UPMU_OK);
        double_steps(10);
        assert_int_equal(value_of(&d.host.session, 0), 180);
        assert_int_equal(d.writes, before);
        assert_int_equal(quality_of(&d.host.session, 0), UPMU_QUALITY_EXACT);
    }
}

static bool (*reach_cpu)(void *context, struct upmu_cpu *cpu, void (*function)(void *argument), void *argument);

static struct upmu_cpu *no_cpu(void *context)
{
    (void)context;
    return NULL;
}

/* Nothing that comes now finds the unit its own: not on the CPU that puts it down, nor where it goes, nor elsewhere. */
static void look_for_it(void)
{
    struct upmu_cpu *(*this_cpu)(void *context) = d.host.sim.port.this_cpu;
    struct upmu_count count;

    assert_null(d.unit.meter.cpu);
    for (unsigned cpu = 1; cpu <= 4; cpu++) {
        if (cpu < 4)
            upmu_sim_switch_cpu(&d.host.sim, cpu);
        else /* one that is not initialised */
            d.host.sim.port.this_cpu = no_cpu;
        assert_int_equal(upmu_session_stop(&d.host.session), UPMU_ERR_BUSY);
        assert_int_equal(upmu_session_detach(&d.host.session), UPMU_ERR_BUSY);
        d.host.session.why.status = UPMU_OK; /* a call that has had no refusal goes a short way */
        assert_int_equal(upmu_session_stop(&d.host.session), UPMU_ERR_BUSY);
        assert_int_equal(upmu_set_read(&d.host.session.set, 0, 1, &count), UPMU_ERR_WRONG_CPU);
    }
    d.host.sim.port.this_cpu = this_cpu;
    upmu_sim_switch_cpu(&d.host.sim, 0);
}

/* Once CPU 1 has put it down, it is on its way to CPU 3, which may not be reached. */
static bool has_looked, is_cut_off;

static bool reach_and_look(void *context, struct upmu_cpu *cpu, void (*function)(void *argument), void *argument)
{
    if ((cpu == &d.host.cpu[3] && is_cut_off) || !reach_cpu(context, cpu, function, argument))
        return false;
    if (cpu == &d.host.cpu[1] && !has_looked) {
        has_looked = true;
        look_for_it();
    }
    return true;
}

static void no_cpu_works_on_a_unit_on_its_way(void **state)
{
    (void)state;
    for (unsigned reached = 0; reached < 2; reached++) {
        two_dies(UPMU_UNIT_BOX, UPMU_SPACE_PCI);
        double_begin(&d, 4);
        assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info + 2, 2), UPMU_OK);
        assert_ptr_equal(d.unit.meter.cpu, &d.host.cpu[1]);
        double_count(&d, 3);
        upmu_sim_switch_cpu(&d.host.sim, 0);
        reach_cpu = d.host.sim.port.run_on_cpu;
        d.host.sim.port.run_on_cpu = reach_and_look;
        has_looked = false;
        is_cut_off = !reached;
        assert_int_equal(upmu_unit_manage(&d.unit, &d.host.cpu[3]), reached ? UPMU_OK : UPMU_ERR_WRONG_CPU);
        assert_ptr_equal(d.unit.meter.cpu, &d.host.cpu[reached ? 3 : 1], reached);
        assert_true(has_looked);
        is_cut_off = false;
        double_steps(10);
        assert_int_equal(value_of(&d.host.session, 0), 60);
        memset(d.writer, 0, sizeof d.writer); /* told */
        assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
    }
}

static void the_last_cpu_of_a_die_takes_its_units_to_sleep(void **state)
{
    uint64_t before;

    (void)state;
    two_dies(UPMU_UNIT_BOX, UPMU_SPACE_MSR);
    double_begin(&d, 4);
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info + 2, 2), UPMU_OK);
    double_count(&d, 3);
    double_steps(10);
    upmu_sim_switch_cpu(&d.host.sim, 1);
    assert_int_equal(upmu_cpu_fini(&d.host.cpu[1]), UPMU_OK);
    memset(d.writer, 0, sizeof d.writer);
    upmu_sim_switch_cpu(&d.host.sim, 3);
    assert_int_equal(upmu_cpu_suspend(&d.host.cpu[3]), UPMU_OK);
    assert_null(d.unit.meter.cpu);
    assert_int_equal(d.host.session.state, UPMU_SESSION_SUSPENDED);
    assert_int_equal(d.box[2].select[0], 0);
    before = value_of(&d.host.session, 0);
    assert_int_equal(before, 60);
    assert_int_equal(upmu_session_stop(&d.host.session), UPMU_ERR_NO_CPU);
    assert_int_equal(upmu_unit_poll(&d.unit), UPMU_ERR_NO_CPU);
    assert_int_equal(upmu_unit_open(&d.other, &d.host.machine, d.info + 3, 1), UPMU_ERR_STATE);
    /* The registers are lost, and it counts on. */
    memset(d.box, 0, sizeof d.box);
    d.box[2].counter[0] = 12345;
    memset(d.writer, 0, sizeof d.writer);
    assert_int_equal(upmu_cpu_resume(&d.host.cpu[3]), UPMU_OK);
    assert_ptr_equal(d.unit.meter.cpu, &d.host.cpu[3]);
    assert_int_equal(d.host.session.state, UPMU_SESSION_RUNNING);
    assert_int_equal(value_of(&d.host.session, 0), 60);
    double_steps(5);
    assert_int_equal(value_of(&d.host.session, 0), 90);
    /* One that sleeps can be closed. */
    assert_int_equal(upmu_cpu_suspend(&d.host.cpu[3]), UPMU_OK);
    assert_int_equal(upmu_unit_open(&d.other, &d.host.machine, d.info, 1), UPMU_OK);
    assert_int_equal(upmu_session_close(&d.host.session), UPMU_OK);
    assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info + 3, 1), UPMU_ERR_NO_CPU);
}

static void sessions_leave_a_unit_without_a_cpu_one_by_one(void **state)
{
    (void)state;
    double_prepare(&d, UPMU_UNIT_BOX, UPMU_SPACE_MSR, 1, 1);
    double_begin(&d, 1);
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 1), UPMU_OK);
    double_count(&d, 3);
    assert_int_equal(upmu_cpu_suspend(&d.host.cpu[0]), UPMU_OK);
    assert_null(d.unit.meter.cpu);
    d.unit.meter.busy = 1; /* another session leaves it, by a call on another CPU */
    assert_int_equal(upmu_session_detach(&d.host.session), UPMU_ERR_BUSY);
    assert_ptr_equal(d.unit.meter.sessions, &d.host.session);
    d.unit.meter.busy = 0;
    assert_int_equal(upmu_session_detach(&d.host.session), UPMU_OK);
    assert_null(d.unit.meter.sessions);
    assert_int_equal(d.unit.meter.busy, 0);
    assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
}

static void a_unit_whose_heir_cannot_be_reached_sleeps(void **state)
{
    (void)state;
    two_dies(UPMU_UNIT_BOX, UPMU_SPACE_MSR);
    double_begin(&d, 4);
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info + 2, 2), UPMU_OK);
    double_count(&d, 3);
    double_steps(10);
    d.host.sim.port.run_on_cpu = NULL;
    upmu_sim_switch_cpu(&d.host.sim, 1);
    assert_int_equal(upmu_cpu_suspend(&d.host.cpu[1]), UPMU_OK);
    assert_null(d.unit.meter.cpu);
    assert_int_equal(value_of(&d.host.session, 0), 60);
    memset(d.writer, 0, sizeof d.writer);
    upmu_sim_switch_cpu(&d.host.sim, 3);
    assert_int_equal(upmu_unit_manage(&d.unit, &d.host.cpu[3]), UPMU_OK);
    double_steps(10);
    assert_int_equal(value_of(&d.host.session, 0), 120);
}

/* How many calls go to other CPUs. */
static unsigned calls_left;
static bool (*run_on_cpu)(void *context, struct upmu_cpu *cpu, void (*work)(void *argument), void *argument);

static bool run_few_on_cpu(void *context, struct upmu_cpu *cpu, void (*work)(void *argument), void *argument)
{
    return calls_left && calls_left-- && run_on_cpu(context, cpu, work, argument);
}

static void begin_few_calls(void)
{
    double_prepare(&d, UPMU_UNIT_BOX, UPMU_SPACE_PCI, 1, 3);
    run_on_cpu = d.host.sim.port.run_on_cpu;
    d.host.sim.port.run_on_cpu = run_few_on_cpu;
    calls_left = 1000;
    double_begin(&d, 3);
    upmu_sim_switch_cpu(&d.host.sim, 0);
    d.nearest = &d.host.cpu[0];
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 1), UPMU_OK);
    assert_ptr_equal(d.unit.meter.cpu, &d.host.cpu[0]);
    double_count(&d, 3);
    double_steps(10);
    /* CPU 0 puts it down; then neither can be reached. */
    upmu_sim_switch_cpu(&d.host.sim, 2);
    calls_left = 1;
    assert_int_equal(upmu_unit_manage(&d.unit, &d.host.cpu[1]), UPMU_ERR_WRONG_CPU);
    assert_ptr_equal(d.unit.meter.cpu, &d.host.cpu[0]);
    calls_left = 1000;
    double_steps(10);
    memset(d.writer, 0, sizeof d.writer);
}

/* Does the tick of the CPU that drives the unit look at its counters? */
static void is_polled(unsigned cpu)
{
    unsigned reads = d.reads;

    upmu_sim_switch_cpu(&d.host.sim, cpu);
    upmu_sim_advance_ns(&d.host.sim, UINT64_C(61000000000));
    assert_int_equal(upmu_cpu_tick(&d.host.cpu[cpu]), UPMU_OK, cpu);
    assert_compare(d.reads, >, reads);
}

static void a_unit_that_no_cpu_took_is_given_again(void **state)
{
    (void)state;
    for (unsigned cpu = 0; cpu < 2; cpu++) {
        begin_few_calls();
        for (unsigned times = 0; times < 2; times++)
            assert_int_equal(upmu_unit_manage(&d.unit, &d.host.cpu[cpu]), UPMU_OK, cpu);
        is_polled(cpu);
        assert_int_equal(value_of(&d.host.session, 0), 60);
        assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
    }
}

static void a_unit_that_no_cpu_took_survives_its_own(void **state)
{
    (void)state;
    begin_few_calls();
    assert_int_equal(upmu_cpu_init(&d.host.cpu[0], &d.host.machine, NULL), UPMU_ERR_STATE);
    d.nearest = &d.host.cpu[1];
    upmu_sim_switch_cpu(&d.host.sim, 0);
    assert_int_equal(upmu_cpu_fini(&d.host.cpu[0]), UPMU_OK);
    assert_ptr_equal(d.unit.meter.cpu, &d.host.cpu[1]);
    is_polled(1);
    assert_int_equal(value_of(&d.host.session, 0), 60);
}

static void a_cpu_that_drives_a_unit_is_not_taken_over_again(void **state)
{
    (void)state;
    double_prepare(&d, UPMU_UNIT_BOX, UPMU_SPACE_PCI, 2, 2);
    d.path = "blade4/cpu0/vectorcopro1";
    double_begin(&d, 2);
    d.nearest = &d.host.cpu[0];
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 1), UPMU_OK);
    double_count(&d, 3);
    double_steps(10);
    assert_int_equal(upmu_cpu_init(&d.host.cpu[0], &d.host.machine, NULL), UPMU_ERR_STATE);
    assert_int_equal(d.host.machine.why.status, UPMU_ERR_STATE);
    assert_string_equal(d.host.machine.why.word, "blade4/cpu0/vectorcopro1");
    is_polled(0);
    double_steps(10);
    assert_int_equal(value_of(&d.host.session, 0), 60);
    assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
    assert_int_equal(upmu_cpu_init(&d.host.cpu[0], &d.host.machine, NULL), UPMU_OK);
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 2), UPMU_OK);
}

/* Sessions that share units: three units with so many each, of one event on counter 0. */
#define UNITS 3
static struct upmu_session sharing[UNITS][5];
static struct upmu_unit unit[UNITS];

static void share_units(unsigned slow_ns)
{
    static const unsigned sessions[UNITS] = {3, 4, 5};
    static const struct upmu_unit_constraint first[] = {{0x40, 0xc0, 1}, {0, 0, 0}};

    double_prepare(&d, UPMU_UNIT_BOX, UPMU_SPACE_PCI, UNITS, 1);
    d.type.constraints = first;
    double_begin(&d, 1);
    for (unsigned u = 0; u < UNITS; u++) {
        assert_int_equal(upmu_unit_open(&unit[u], &d.host.machine, d.info + u, 1), UPMU_OK, u);
        for (unsigned i = 0; i < sessions[u]; i++) {
            struct upmu_session *session = &sharing[u][i];

            assert_int_equal(upmu_session_init(session, &d.host.machine), UPMU_OK);
            assert_int_equal(upmu_session_share(session, true), UPMU_OK);
            double_event(&d, session, 0x41 + i);
            assert_int_equal(upmu_session_attach_unit(session, &unit[u]), UPMU_OK, u);
            assert_int_equal(upmu_session_start(session), UPMU_OK);
        }
    }
    d.slow_ns = slow_ns;
}

/* UN-007, UN-033, UN-034 */
static void each_unit_has_its_own_turns(void **state)
{
    static const unsigned sessions[UNITS] = {3, 4, 5};

    (void)state;
    share_units(0);
    d.host.sim.port.tick_ns = 1000000;
    for (unsigned tick = 0; tick < 60; tick++) {
        double_steps(100);
        upmu_sim_advance_ns(&d.host.sim, 1000000);
        assert_int_equal(upmu_cpu_tick(&d.host.cpu[0]), UPMU_OK);
    }
    for (unsigned u = 0; u < UNITS; u++)
        for (unsigned i = 0; i < sessions[u]; i++) {
            struct upmu_count count;
            uint64_t slots;

            assert_int_equal(upmu_set_read(&sharing[u][i].set, 0, 1, &count), UPMU_OK, u, i);
            slots = count.raw / (100 * (0x41 + i));
            assert_in_range(slots, 60 / sessions[u] - 1, 60 / sessions[u] + 1, u);
            assert_in_range(count.value, 60u * 100 * (0x41 + i) * 9 / 10, 60u * 100 * (0x41 + i) * 11 / 10, i);
        }
}

/*
 * Two sessions share the counters, and one counts the same in both.  Any access of a turn faults, also the read of that
 * counter as the one leaves: the other counts both of its events.
 */
static void an_event_that_both_have_counts_on_after_a_fault(void **state)
{
    (void)state;
    for (unsigned style = UPMU_UNIT_GLOBAL; style < UPMU_UNIT_FREE; style++)
        for (unsigned at = 1, faulted = 1; faulted; at++) {
            double_prepare(&d, style, UPMU_SPACE_MSR, 1, 1);
            d.type.counters = 2;
            d.host.sim.port.tick_ns = 1000000;
            double_begin(&d, 1);
            assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 1), UPMU_OK);
            for (unsigned i = 0; i < 2; i++) {
                struct upmu_session *session = &d.host.sessions[i];

                assert_int_equal(upmu_session_share(session, true), UPMU_OK);
                double_event(&d, session, i ? 5 : 3);
                double_event(&d, session, 5);
                assert_int_equal(upmu_session_attach_unit(session, &d.unit), UPMU_OK);
                assert_int_equal(upmu_session_start(session), UPMU_OK);
            }
            for (unsigned tick = 0; tick < 4; tick++) {
                enum upmu_status status;

                double_steps(10);
                upmu_sim_advance_ns(&d.host.sim, 1000000);
                d.fail_at = tick == 1 ? at : 0;
                status = upmu_cpu_tick(&d.host.cpu[0]);
                assert_true(status == UPMU_OK || (status == UPMU_ERR_PORT && tick == 1));
                if (tick == 1)
                    faulted = !d.fail_at;
                d.fail_at = 0;
                for (unsigned i = 0; i < 2; i++) {
                    struct upmu_session *session = &d.host.sessions[i];
                    struct upmu_count before[2], count[2];

                    if (session->state != UPMU_SESSION_RUNNING)
                        continue;
                    assert_int_equal(upmu_set_read(&session->set, 0, 2, before), UPMU_OK);
                    double_steps(100);
                    assert_int_equal(upmu_set_read(&session->set, 0, 2, count), UPMU_OK);
                    if (count[0].raw - before[0].raw != (i ? 500 : 300) || count[1].raw - before[1].raw != 500)
                        fail_msg("style %u, access %u of a turn faulted, turn %u: session %u counts %u and %u", style,
                                 at, tick, i, (unsigned)(count[0].raw - before[0].raw),
                                 (unsigned)(count[1].raw - before[1].raw));
                }
            }
            assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
        }
}

/* UN-007: a tick elsewhere is none of the unit's, before it changes its CPU and after. */
static void turns_are_taken_on_the_cpu_that_drives_a_unit(void **state)
{
    static const struct upmu_unit_constraint first[] = {{0x40, 0xc0, 1}, {0, 0, 0}};
    static const unsigned ticks[] = {0, 3, 1, 2, 1}, rotations[] = {0, 0, 1, 1, 2};

    (void)state;
    two_dies(UPMU_UNIT_BOX, UPMU_SPACE_MSR);
    d.type.constraints = first;
    double_begin(&d, 4);
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info + 2, 1), UPMU_OK);
    for (unsigned i = 0; i < 3; i++) {
        struct upmu_session *session = &sharing[0][i];

        assert_int_equal(upmu_session_init(session, &d.host.machine), UPMU_OK);
        assert_int_equal(upmu_session_share(session, true), UPMU_OK);
        double_event(&d, session, 0x41 + i);
        assert_int_equal(upmu_session_attach_unit(session, &d.unit), UPMU_OK);
        assert_int_equal(upmu_session_start(session), UPMU_OK);
    }
    for (unsigned there = 0; there < 2; there++) {
        /* CPU 1 drives it, then CPU 3. */
        for (unsigned i = 0; i < sizeof ticks / sizeof *ticks; i++) {
            unsigned cpu = there && (ticks[i] & 1u) ? 4 - ticks[i] : ticks[i];
            struct upmu_unit_facts facts;

            upmu_sim_switch_cpu(&d.host.sim, cpu);
            upmu_sim_advance_ns(&d.host.sim, 1000000);
            assert_int_equal(upmu_cpu_tick(&d.host.cpu[cpu]), UPMU_OK, cpu);
            upmu_unit_ask(&d.unit, &facts);
            assert_int_equal(facts.rotations, 2 * there + rotations[i], i);
        }
        memset(d.writer, 0, sizeof d.writer); /* told */
        assert_int_equal(upmu_unit_manage(&d.unit, &d.host.cpu[3]), UPMU_OK);
    }
}

/* UN-036 */
static void a_divider_of_three_changes_places_with_each_third_tick(void **state)
{
    struct upmu_unit_facts facts;

    (void)state;
    share_units(0);
    upmu_unit_turns(&unit[0], 3);
    for (unsigned tick = 1; tick <= 9; tick++) {
        upmu_sim_advance_ns(&d.host.sim, 1000000);
        assert_int_equal(upmu_cpu_tick(&d.host.cpu[0]), UPMU_OK);
        upmu_unit_ask(&unit[0], &facts);
        assert_int_equal(facts.rotations, tick / 3);
        upmu_unit_ask(&unit[1], &facts);
        assert_int_equal(facts.rotations, tick);
    }
}

/* UN-035, UN-037 */
static void a_unit_that_is_slow_changes_places_less_often(void **state)
{
    struct upmu_unit_facts facts;
    uint32_t settled, changes = 0, last;

    (void)state;
    share_units(50000);
    d.host.sim.port.tick_ns = 4000000;
    for (unsigned tick = 0; tick < 2000; tick++) {
        upmu_sim_advance_ns(&d.host.sim, 4000000);
        assert_int_equal(upmu_cpu_tick(&d.host.cpu[0]), UPMU_OK);
    }
    upmu_unit_ask(&unit[0], &facts);
    settled = facts.every;
    assert_compare(facts.cost_ns, >, 100000);
    assert_true(settled > 1 && settled <= 64);
    /* What a turn costs is below 0.8 % of the time between two. */
    assert_compare(facts.cost_ns * 128, <=, (uint64_t)settled * 4000000);
    last = settled;
    for (unsigned tick = 0; tick < 10000; tick++) {
        upmu_sim_advance_ns(&d.host.sim, 4000000);
        assert_int_equal(upmu_cpu_tick(&d.host.cpu[0]), UPMU_OK);
        upmu_unit_ask(&unit[0], &facts);
        changes += facts.every != last;
        last = facts.every;
    }
    assert_int_equal(changes, 0);
    d.slow_ns = 100;
    for (unsigned tick = 0; tick < 20000; tick++) {
        upmu_sim_advance_ns(&d.host.sim, 4000000);
        assert_int_equal(upmu_cpu_tick(&d.host.cpu[0]), UPMU_OK);
    }
    upmu_unit_ask(&unit[0], &facts);
    assert_int_equal(facts.every, 1);
}

/* The low half goes round between two accesses: the high one is looked at again, whatever opens the counter. */
static void a_carry_between_two_halves_is_seen(void **state)
{
    (void)state;
    for (unsigned late = 0; late < 24; late++) {
        uint64_t value, before = 0;

        double_prepare(&d, late & 1u ? UPMU_UNIT_SELECT : UPMU_UNIT_BOX, UPMU_SPACE_PCI, 1, 1);
        d.box[0].counter[0] = UINT64_C(0x5fffffff0) - late / 2;
        double_begin(&d, 1);
        assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 1), UPMU_OK);
        double_count(&d, 1);
        d.steps = 1;
        for (unsigned i = 0; i < 16; i++) {
            value = value_of(&d.host.session, 0);
            assert_in_range(value, before + 1, before + 9);
            before = value;
        }
    }
}

/*
 * The high half is another one at each look, so much happens between two accesses (seed 2094 of the simulated host).
 * Mistakes: the read fails; a low half is put under a high half of another moment.
 */
static void a_counter_that_races_is_read_as_it_was_during_the_read(void **state)
{
    (void)state;
    for (uint64_t late = 0; late < 32; late++) {
        uint64_t mask = upmu_bits_ones(48), first = (late & 1u ? UINT64_C(0xfffd00000000) : 0) + (late << 27);

        double_prepare(&d, UPMU_UNIT_BOX, UPMU_SPACE_PCI, 1, 1);
        d.box[0].counter[0] = first;
        double_begin(&d, 1);
        assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 1), UPMU_OK);
        double_count(&d, 1);
        for (unsigned i = 0; i < 8; i++) {
            uint64_t before = (d.box[0].counter[0] - first) & mask, value;

            d.steps = 0x80000001u;
            d.reads = 0;
            value = value_of(&d.host.session, 0);
            /* Four times two halves: the first high half is that of the last look.  At 0 it reads a select, too. */
            assert_int_equal(d.reads, (first + value) & mask ? 8 : 10);
            assert_in_range(value, before, (d.box[0].counter[0] - first) & mask);
            d.steps = 0;
            double_steps(late);
        }
    }
}

/* Halves that a register answers, low and high in turn. */
static uint32_t answers[8];
static unsigned answered;

static bool answer(void *context, uint32_t where, uint32_t offset, uint32_t *out_value)
{
    (void)context, (void)where;
    assert_int_equal(offset % 8, answered % 2 ? 4 : 0);
    *out_value = answers[answered++];
    return true;
}

/* A device that is gone reads all ones.  Mistake: that is taken for the high half of a count. */
static void a_device_that_goes_while_its_counter_races_adds_nothing(void **state)
{
    static const uint32_t gone = 0xffffffff, high[][3] = {{5, 6, 7}, {5, 6, gone}, {5, gone, 6}, {5, gone, gone}};
    static const uint64_t expected[] = {UINT64_C(6) << 32, UINT64_C(6) << 32, UINT64_C(6) << 32, UINT64_MAX};
    const struct upmu_port port = {.pci_read = answer};

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct upmu_place_in_space place = {
            .space = UPMU_SPACE_PCI, .bits = 64, .moves = true, .has_high = true, .high = 4};
        uint32_t accesses = 0;
        uint64_t value;

        answered = 0;
        for (unsigned k = 0; k < 3; k++) {
            answers[2 * k] = k && high[i][k] == gone ? gone : 0x12345678;
            answers[2 * k + 1] = high[i][k];
        }
        assert_true(upmu_space_read(&port, &place, &accesses, &value));
        assert_int_equal(value, expected[i], i);
        assert_int_equal(accesses, 6);
    }
}

/* A narrow counter is looked at in time by the tick; where the host is late, that shows. */
static void a_narrow_counter_is_folded_before_it_goes_round(void **state)
{
    (void)state;
    double_prepare(&d, UPMU_UNIT_BOX, UPMU_SPACE_PCI, 2, 1);
    d.type.width = 32;
    d.type.rate_mhz = 400;
    double_begin(&d, 1);
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 2), UPMU_OK);
    /* 2^31 / (400 million in a second, twice) */
    assert_int_equal(upmu_unit_poll_interval(&d.unit), 2684354560u);
    double_count(&d, 4);
    for (unsigned tick = 0; tick < 1000; tick++) {
        double_steps(1000000); /* 4 million in 10 ms */
        upmu_sim_advance_ns(&d.host.sim, 10000000);
        assert_int_equal(upmu_cpu_tick(&d.host.cpu[0]), UPMU_OK);
    }
    assert_int_equal(value_of(&d.host.session, 0), UINT64_C(8000000000));
    assert_int_equal(quality_of(&d.host.session, 0), UPMU_QUALITY_EXACT);
    double_steps(UINT64_C(300000000));
    assert_int_equal(quality_of(&d.host.session, 0), UPMU_QUALITY_PARTIAL);
    assert_int_equal(upmu_unit_poll(&d.unit), UPMU_OK);
    double_steps(1);
    assert_int_equal(quality_of(&d.host.session, 0), UPMU_QUALITY_PARTIAL);
}

/* 2^31 / (4000 million in a second) */
static void a_counter_of_an_unknown_rate_counts_each_clock(void **state)
{
    (void)state;
    double_prepare(&d, UPMU_UNIT_BOX, UPMU_SPACE_PCI, 1, 1);
    d.type.width = 32;
    d.type.rate_mhz = 0;
    double_begin(&d, 1);
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 1), UPMU_OK);
    assert_int_equal(upmu_unit_poll_interval(&d.unit), 536870912u);
}

static void sessions_share_counters_that_never_stop(void **state)
{
    (void)state;
    double_prepare(&d, UPMU_UNIT_FREE, UPMU_SPACE_MMIO, 1, 1);
    d.type.width = 32;
    double_begin(&d, 1);
    d.box[0].counter[1] = 0xffffff00;
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 1), UPMU_OK);
    for (unsigned i = 0; i < 4; i++) {
        double_event(&d, &d.host.sessions[i], 1);
        double_event(&d, &d.host.sessions[i], 1);
        assert_int_equal(upmu_session_attach_unit(&d.host.sessions[i], &d.unit), UPMU_OK, i);
        assert_int_equal(upmu_session_start(&d.host.sessions[i]), UPMU_OK, i);
        double_steps(1000);
    }
    assert_int_equal(upmu_unit_poll(&d.unit), UPMU_OK);
    double_steps(500);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(value_of(&d.host.sessions[i], 0), 2 * ((4 - i) * 1000 + 500), i);
        assert_int_equal(value_of(&d.host.sessions[i], 1), 2 * ((4 - i) * 1000 + 500), i);
    }
    assert_int_equal(upmu_session_stop(&d.host.sessions[0]), UPMU_OK);
    double_steps(500);
    assert_int_equal(value_of(&d.host.sessions[0], 0), 9000);
    assert_int_equal(value_of(&d.host.sessions[1], 0), 8000);
    assert_int_equal(upmu_session_start(&d.host.sessions[0]), UPMU_OK);
    double_steps(1);
    assert_int_equal(value_of(&d.host.sessions[0], 0), 9002);
    for (unsigned i = 0; i < 3; i++) {
        double_steps(UINT64_C(0x30000000)); /* 3/8 of a round */
        assert_int_equal(upmu_unit_poll(&d.unit), UPMU_OK);
    }
    assert_int_equal(value_of(&d.host.sessions[0], 0), 9002 + UINT64_C(0x120000000));
    assert_int_equal(d.writes, 0);
    assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
    assert_int_equal(d.writes, 0);
}

/* Sets by time, and sessions that share, change places in every unit: here there is no place to give. */
static void what_waits_for_counters_that_never_stop_writes_nothing(void **state)
{
    struct upmu_set second;
    struct upmu_event event;

    (void)state;
    double_prepare(&d, UPMU_UNIT_FREE, UPMU_SPACE_MMIO, 1, 1);
    double_begin(&d, 1);
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 1), UPMU_OK);
    for (unsigned i = 0; i < 2; i++) {
        struct upmu_session *session = &d.host.sessions[i];

        assert_int_equal(upmu_session_share(session, true), UPMU_OK);
        double_event(&d, session, 1 + i);
        if (!i) {
            assert_int_equal(upmu_session_add_set(session, &second, 1, UPMU_SET_TIME_SWITCH, 1000000), UPMU_OK);
            assert_int_equal(upmu_session_add_set(session, NULL, 0, UPMU_SET_TIME_SWITCH, 1000000), UPMU_OK);
            assert_int_equal(upmu_event_raw(&d.pmu[0].pmu, 3, 0, 0, &event), UPMU_OK);
            assert_int_equal(upmu_set_add_event(&second, &event, NULL), UPMU_OK);
        }
        assert_int_equal(upmu_session_attach_unit(session, &d.unit), UPMU_OK);
        assert_int_equal(upmu_session_start(session), UPMU_OK);
    }
    assert_int_equal(upmu_session_switch(&d.host.sessions[0], &second), UPMU_OK);
    for (unsigned tick = 0; tick < 20; tick++) {
        upmu_sim_advance_ns(&d.host.sim, 700000);
        double_steps(1);
        assert_int_equal(upmu_cpu_tick(&d.host.cpu[0]), UPMU_OK);
        if (tick == 9)
            assert_int_equal(upmu_session_switch(&d.host.sessions[0], &d.host.sessions[0].set), UPMU_OK);
    }
    assert_int_equal(value_of(&d.host.sessions[1], 0), 20 * 3);
    assert_int_equal(d.writes, 0);
    assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
    assert_int_equal(d.writes, 0);
}

/* A function that left the bus, or was hidden since it was found, reads all ones. */
static void a_box_that_is_gone_is_not_opened(void **state)
{
    (void)state;
    for (unsigned style = UPMU_UNIT_SELECT; style <= UPMU_UNIT_CLIENT_IMC; style++)
        for (unsigned space = UPMU_SPACE_PCI; space <= UPMU_SPACE_MMIO; space++) {
            double_prepare(&d, style, space, 2, 1);
            double_begin(&d, 1);
            memset(&d.box[1], 0xff, sizeof d.box[1]);
            assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 2), UPMU_ERR_PORT);
            assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info + 1, 1), UPMU_ERR_PORT);
            assert_int_equal(d.writes, 0);
            assert_int_equal(d.unmaps, d.maps);
            assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 1), UPMU_OK);
            assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
        }
}

/* One shadow cannot hold what each of several boxes has: what is in use there is not looked at, nor written back. */
static void what_several_boxes_have_in_use_stays_as_it_is(void **state)
{
    struct upmu_why why;

    (void)state;
    for (unsigned style = UPMU_UNIT_SELECT; style <= UPMU_UNIT_BOX; style++) {
        double_prepare(&d, style, UPMU_SPACE_MMIO, 2, 1);
        d.type.filters = 1;
        d.type.filter[0] = DOUBLE_FILTER;
        d.type.filter_mask[0] = 0xff;
        double_begin(&d, 1);
        d.box[0].select[1] = 5;
        d.box[1].select[1] = DOUBLE_ENABLE | 9;
        d.box[1].filter = 0x21;
        assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 2), UPMU_OK);
        assert_int_equal(d.unit.meter.firmware, 2);
        double_count(&d, 3);
        assert_int_equal(upmu_cpu_verify(&d.host.cpu[0], &why), UPMU_OK);
        assert_int_equal(upmu_cpu_changed(&d.host.cpu[0]), UPMU_OK);
        assert_int_equal(upmu_session_close(&d.host.session), UPMU_OK);
        assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
        assert_int_equal(d.box[0].select[1], 5);
        assert_int_equal(d.box[1].select[1], DOUBLE_ENABLE | 9);
        assert_int_equal(d.box[0].filter, 0);
        assert_int_equal(d.box[1].filter, 0x21);
        /* Nothing is in use: what filters hold is of no use, and they are left idle. */
        d.box[1].select[1] = 9;
        memset(d.writer, 0, sizeof d.writer);
        assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 2), UPMU_OK);
        assert_int_equal(upmu_cpu_verify(&d.host.cpu[0], &why), UPMU_OK);
        assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
        assert_int_equal(d.box[0].filter | d.box[1].filter, 0);
    }
}

/* A register fault at each access of open, start, turn, stop and close: no call is lost, and what is told is true. */
static void a_fault_at_each_access_is_told(void **state)
{
    (void)state;
    for (unsigned style = UPMU_UNIT_GLOBAL; style <= UPMU_UNIT_FREE; style++) {
        unsigned exact = 0, faults = 0;

        for (unsigned at = 1; at < 60; at++) {
            enum upmu_status opened, status;
            bool told;

            double_prepare(&d, style, UPMU_SPACE_MSR, 2, 1);
            double_begin(&d, 1);
            d.fail_at = at;
            opened = upmu_unit_open(&d.unit, &d.host.machine, d.info, 2);
            told = opened != UPMU_OK;
            if (opened == UPMU_OK) {
                double_event(&d, &d.host.session, 2);
                double_event(&d, &d.host.session, 3);
                status = upmu_session_attach_unit(&d.host.session, &d.unit);
                told |= status != UPMU_OK;
                if (status == UPMU_OK)
                    status = upmu_session_start(&d.host.session);
                told |= status != UPMU_OK;
                double_steps(10);
                if (d.host.session.state == UPMU_SESSION_RUNNING) {
                    struct upmu_count counts[2];

                    status = upmu_set_read(&d.host.session.set, 0, 2, counts);
                    told |= status != UPMU_OK;
                    for (unsigned i = 0; status == UPMU_OK && i < 2; i++)
                        if (counts[i].quality == UPMU_QUALITY_EXACT) {
                            unsigned each = i + (style == UPMU_UNIT_FREE ? 3 : 2);

                            assert_int_equal(counts[i].value, 2 * 10 * each, style, at, i);
                            exact++;
                        }
                    status = upmu_session_stop(&d.host.session);
                    told |= status != UPMU_OK;
                }
                d.fail_at = d.fail_at > 20 ? 0 : d.fail_at;
                status = upmu_session_close(&d.host.session);
                told |= status != UPMU_OK;
                status = upmu_unit_close(&d.unit);
                told |= status != UPMU_OK;
            }
            assert_true(told || d.fail_at || at > 20);
            faults += told;
            d.fail_at = 0;
            /* It can be had again, and counts. */
            assert_int_equal(upmu_session_init(&d.host.session, &d.host.machine), UPMU_OK);
            assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 2), UPMU_OK);
            if (d.unit.meter.firmware)
                continue; /* what could not be closed */
            double_count(&d, 2);
            double_steps(10);
            assert_int_equal(value_of(&d.host.session, 0), style == UPMU_UNIT_FREE ? 2 * 10 * 3 : 2 * 10 * 2);
        }
        assert_true(exact > 0 && faults > 3, style, exact, faults);
    }
}

static void other_software_is_noticed(void **state)
{
    struct upmu_why why;

    (void)state;
    double_prepare(&d, UPMU_UNIT_BOX, UPMU_SPACE_MSR, 3, 1);
    double_begin(&d, 1);
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 3), UPMU_OK);
    double_count(&d, 2);
    assert_int_equal(upmu_cpu_verify(&d.host.cpu[0], &why), UPMU_OK);
    d.box[1].select[0] = 0;
    assert_int_equal(upmu_cpu_verify(&d.host.cpu[0], &why), UPMU_ERR_CHANGED);
    assert_ptr_equal(why.pmu, &d.pmu[0].pmu);
    assert_int_equal(upmu_cpu_changed(&d.host.cpu[0]), UPMU_OK);
    assert_int_equal(d.box[1].select[0], DOUBLE_ENABLE | 2);
    assert_int_equal(upmu_cpu_verify(&d.host.cpu[0], &why), UPMU_OK);
    double_steps(10);
    assert_int_equal(value_of(&d.host.session, 0), 60);
    assert_int_equal(quality_of(&d.host.session, 0), UPMU_QUALITY_PARTIAL);
}

static void (*ask_cpu)(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4]);

static void ask_under_hypervisor(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    ask_cpu(context, leaf, subleaf, out);
    if (leaf == 1)
        out[2] |= UINT32_C(1) << 31;
}

/* Of a processor without units the host's own are all; none at all is no refusal, but a hypervisor without force is. */
static void the_hosts_own_units_are_found_beside_any_processor(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 8; k++) {
        bool hypervisor = k & 1u, force = k & 2u, refused = hypervisor && !force;

        double_prepare(&d, UPMU_UNIT_BOX, UPMU_SPACE_MSR, k & 4u ? 2 : 0, 1);
        host_machine(&d.host);
        host_take_over(&d.host, 1, false);
        d.host.machine.pmu[0].model = 0x0f; /* Merom has none */
        ask_cpu = d.host.sim.port.cpuid;
        if (hypervisor)
            d.host.sim.port.cpuid = ask_under_hypervisor;
        d.list = (struct upmu_unit_list){
            .unit = d.info, .unit_capacity = DOUBLE_BOXES, .pmu = d.pmu, .pmu_capacity = 2};
        assert_int_equal(upmu_units_find(&d.host.cpu[0], &d.list, force ? UPMU_UNITS_FORCE : 0),
                         refused ? UPMU_ERR_NO_PMU : UPMU_OK);
        assert_int_equal(d.list.unit_count, d.boxes);
    }
}

/* UN-027, UN-030 */
static void the_host_hides_units(void **state)
{
    (void)state;
    double_prepare(&d, UPMU_UNIT_BOX, UPMU_SPACE_PCI, 4, 1);
    d.hidden = 1u << 1;
    double_begin(&d, 1);
    assert_int_equal(d.list.unit_count, 3);
    assert_int_equal(d.info[1].number, 2);
    assert_int_equal(upmu_unit_open_text(&d.unit, &d.host.machine, "vectorcopro1"), UPMU_ERR_NO_SUCH_PMU);
    assert_int_equal(upmu_unit_open_text(&d.unit, &d.host.machine, "vectorcopro"), UPMU_OK);
    assert_int_equal(d.unit.boxes, 3);
}

/* A unit that is at work elsewhere keeps its CPU, which can sleep later. */
static void a_busy_unit_is_not_left_behind(void **state)
{
    (void)state;
    double_prepare(&d, UPMU_UNIT_BOX, UPMU_SPACE_MSR, 1, 1);
    double_begin(&d, 1);
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 1), UPMU_OK);
    d.unit.meter.busy = 1;
    assert_int_equal(upmu_cpu_suspend(&d.host.cpu[0]), UPMU_ERR_BUSY);
    assert_ptr_equal(d.unit.meter.cpu, &d.host.cpu[0]);
    d.unit.meter.busy = 0;
    assert_int_equal(upmu_cpu_suspend(&d.host.cpu[0]), UPMU_OK);
    assert_null(d.unit.meter.cpu);
    assert_null(d.host.cpu[0].units);
    assert_int_equal(upmu_cpu_resume(&d.host.cpu[0]), UPMU_OK);
    assert_ptr_equal(d.unit.meter.cpu, &d.host.cpu[0]);
    assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
}

static void a_unit_that_is_open_is_not_opened_again(void **state)
{
    (void)state;
    double_prepare(&d, UPMU_UNIT_BOX, UPMU_SPACE_MSR, 3, 1);
    double_begin(&d, 1);
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 1), UPMU_OK);
    assert_int_equal(upmu_unit_open(&d.other, &d.host.machine, d.info + 1, 1), UPMU_OK);
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info + 2, 1), UPMU_ERR_STATE);
    assert_int_equal(upmu_unit_open_text(&d.unit, &d.host.machine, "nothing"), UPMU_ERR_STATE);
    assert_ptr_equal(d.unit.box, d.info);
    assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
    assert_int_equal(upmu_unit_close(&d.other), UPMU_OK);
    assert_null(d.host.machine.open_units);
    assert_null(d.host.cpu[0].units);
}

/* What is asked of it is answered; it is no other machine's CPU that drives one. */
static void a_unit_that_is_not_open_has_an_interval(void **state)
{
    struct upmu_machine elsewhere;
    struct upmu_cpu stranger;

    (void)state;
    double_prepare(&d, UPMU_UNIT_BOX, UPMU_SPACE_PCI, 1, 1);
    double_begin(&d, 1);
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, NULL, 1), UPMU_ERR_INVALID);
    assert_compare(upmu_unit_poll_interval(&d.unit), >, 0);
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 1), UPMU_OK);
    stranger = d.host.cpu[0];
    stranger.meter.machine = &elsewhere;
    assert_int_equal(upmu_unit_manage(&d.unit, &stranger), UPMU_ERR_INVALID);
}

static void refuse_type(const struct upmu_unit_type *type)
{
    double_prepare(&d, type->style, type->space, 1, 1);
    d.type = *type;
    host_machine(&d.host);
    host_take_over(&d.host, 1, false);
    d.list = (struct upmu_unit_list){.unit = d.info, .pmu = d.pmu, .unit_capacity = DOUBLE_BOXES, .pmu_capacity = 2};
    assert_int_equal(upmu_units_find(&d.host.cpu[0], &d.list, 0), UPMU_ERR_UNSUPPORTED);
    assert_int_equal(d.list.unit_count, 0);
    assert_string_equal(d.host.machine.why.word, "a type of own_unit");
}

/* A member of the host's type gets a value with which nothing can be counted. */
#define REFUSED(style, member, value)                                                                                  \
    do {                                                                                                               \
        struct upmu_unit_type type;                                                                                    \
        double_prepare(&d, style, UPMU_SPACE_MMIO, 1, 1);                                                              \
        type = d.type;                                                                                                 \
        type.member = (value);                                                                                         \
        refuse_type(&type);                                                                                            \
    } while (0)

static void types_that_cannot_be_are_refused(void **state)
{
    struct upmu_unit_type beyond;

    (void)state;
    REFUSED(UPMU_UNIT_BOX, name, NULL);
    REFUSED(UPMU_UNIT_BOX, name, "");
    REFUSED(UPMU_UNIT_BOX, pmu, NULL);
    REFUSED(UPMU_UNIT_BOX, title, NULL);
    REFUSED(UPMU_UNIT_BOX, style, 6);
    REFUSED(UPMU_UNIT_BOX, space, 3);
    REFUSED(UPMU_UNIT_BOX, counters, 0);
    REFUSED(UPMU_UNIT_BOX, counters, 17);
    REFUSED(UPMU_UNIT_BOX, counters, 33);
    REFUSED(UPMU_UNIT_BOX, width, 0);
    REFUSED(UPMU_UNIT_BOX, width, 65);
    REFUSED(UPMU_UNIT_BOX, fixed_width, 65);
    REFUSED(UPMU_UNIT_BOX, select_step, 0);
    REFUSED(UPMU_UNIT_FREE, counter_step, 0);
    /* Two registers that share bytes, and one that does not begin at a word. */
    REFUSED(UPMU_UNIT_BOX, counter_step, type.register_bits / 16);
    REFUSED(UPMU_UNIT_FREE, counter_step, type.register_bits / 16);
    REFUSED(UPMU_UNIT_BOX, counter, type.select + 4);
    REFUSED(UPMU_UNIT_BOX, control, type.counter + 4);
    REFUSED(UPMU_UNIT_BOX, select, type.select + 2);
    /* What is behind a function is the next one's. */
    double_prepare(&d, UPMU_UNIT_BOX, UPMU_SPACE_PCI, 1, 1);
    beyond = d.type;
    beyond.counter = 0x1000 - (beyond.counters - 1u) * beyond.counter_step - 4;
    refuse_type(&beyond);
    REFUSED(UPMU_UNIT_BOX, register_bits, 8);
    REFUSED(UPMU_UNIT_BOX, filters, 5);
    REFUSED(UPMU_UNIT_BOX, enable_bit, 5);
    REFUSED(UPMU_UNIT_SELECT, enable_bit, 0xff);
    REFUSED(UPMU_UNIT_BOX, freeze, 0);
    REFUSED(UPMU_UNIT_DISCOVERED, freeze, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_unit_counts_in_each_space_and_style),
        cmocka_unit_test(a_hosts_own_device_is_opened_by_its_path),
        cmocka_unit_test(a_call_on_a_unit_leaves_pages_of_its_cpu_alone),
        cmocka_unit_test(several_boxes_are_one_unit),
        cmocka_unit_test(what_is_in_use_is_left_alone),
        cmocka_unit_test(what_firmware_left_can_be_taken),
        cmocka_unit_test(several_boxes_get_no_enable_bits_that_were_anothers),
        cmocka_unit_test(a_fault_leaves_to_the_firmware_what_it_had),
        cmocka_unit_test(a_unit_under_a_hypervisor_keeps_what_is_written),
        cmocka_unit_test(a_unit_under_a_hypervisor_that_faults_is_not_opened),
        cmocka_unit_test(a_box_that_is_not_in_use_is_reset_once),
        cmocka_unit_test(a_closed_counter_does_not_count_in_a_box_that_runs),
        cmocka_unit_test(filters_in_a_companion_are_written_there_or_refused),
        cmocka_unit_test(the_last_unit_restores_what_several_need),
        cmocka_unit_test(sets_and_dry_runs_work_on_units),
        cmocka_unit_test(no_session_is_alone_where_counters_never_stop),
        cmocka_unit_test(sets_change_where_counters_never_stop),
        cmocka_unit_test(a_set_that_shares_counters_which_never_stop_runs_in_its_time),
        cmocka_unit_test(a_type_with_too_many_registers_is_refused),
        cmocka_unit_test(no_thread_has_an_event_of_a_unit),
        cmocka_unit_test(an_event_of_a_unit_has_no_period),
        cmocka_unit_test(the_library_chooses_a_cpu_and_calls_go_there),
        cmocka_unit_test(the_host_may_choose_a_cpu_that_is_allowed),
        cmocka_unit_test(a_unit_goes_on_where_its_cpu_goes_offline),
        cmocka_unit_test(no_cpu_works_on_a_unit_on_its_way),
        cmocka_unit_test(the_last_cpu_of_a_die_takes_its_units_to_sleep),
        cmocka_unit_test(sessions_leave_a_unit_without_a_cpu_one_by_one),
        cmocka_unit_test(a_unit_whose_heir_cannot_be_reached_sleeps),
        cmocka_unit_test(a_unit_that_no_cpu_took_is_given_again),
        cmocka_unit_test(a_unit_that_no_cpu_took_survives_its_own),
        cmocka_unit_test(a_cpu_that_drives_a_unit_is_not_taken_over_again),
        cmocka_unit_test(each_unit_has_its_own_turns),
        cmocka_unit_test(an_event_that_both_have_counts_on_after_a_fault),
        cmocka_unit_test(turns_are_taken_on_the_cpu_that_drives_a_unit),
        cmocka_unit_test(a_divider_of_three_changes_places_with_each_third_tick),
        cmocka_unit_test(a_unit_that_is_slow_changes_places_less_often),
        cmocka_unit_test(a_carry_between_two_halves_is_seen),
        cmocka_unit_test(a_counter_that_races_is_read_as_it_was_during_the_read),
        cmocka_unit_test(a_device_that_goes_while_its_counter_races_adds_nothing),
        cmocka_unit_test(a_narrow_counter_is_folded_before_it_goes_round),
        cmocka_unit_test(a_counter_of_an_unknown_rate_counts_each_clock),
        cmocka_unit_test(sessions_share_counters_that_never_stop),
        cmocka_unit_test(what_waits_for_counters_that_never_stop_writes_nothing),
        cmocka_unit_test(a_box_that_is_gone_is_not_opened),
        cmocka_unit_test(what_several_boxes_have_in_use_stays_as_it_is),
        cmocka_unit_test(a_fault_at_each_access_is_told),
        cmocka_unit_test(other_software_is_noticed),
        cmocka_unit_test(the_hosts_own_units_are_found_beside_any_processor),
        cmocka_unit_test(the_host_hides_units),
        cmocka_unit_test(a_busy_unit_is_not_left_behind),
        cmocka_unit_test(a_unit_that_is_open_is_not_opened_again),
        cmocka_unit_test(a_unit_that_is_not_open_has_an_interval),
        cmocka_unit_test(types_that_cannot_be_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
