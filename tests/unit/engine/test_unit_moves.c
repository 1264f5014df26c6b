/* SPDX-License-Identifier: MIT */
/*
 * Events of a unit that come beside others: their filters, and the counts of those that move for them.
 */
#include "tests/unit/engine/unit_double.h"

static struct unit_double d;

static const unsigned styles[] = {UPMU_UNIT_GLOBAL, UPMU_UNIT_SELECT, UPMU_UNIT_BOX};

static struct upmu_session *session_of(unsigned i)
{
    return &d.host.sessions[i];
}

static void begin_unit(unsigned style, unsigned filters)
{
    double_prepare(&d, style, UPMU_SPACE_PCI, 1, 1);
    d.type.filters = (uint8_t)filters;
    d.type.filter[0] = DOUBLE_FILTER;
    d.type.filter_mask[0] = 0xffff;
    double_begin(&d, 1);
    assert_int_equal(upmu_unit_open(&d.unit, &d.host.machine, d.info, 1), UPMU_OK);
}

static enum upmu_status run(unsigned i, unsigned code, uint64_t filter, uint32_t counters)
{
    struct upmu_event event;
    enum upmu_status status;

    assert_int_equal(upmu_session_init(session_of(i), &d.host.machine), UPMU_OK, i);
    assert_int_equal(upmu_event_raw(&d.pmu[0].pmu, code, filter, 0, &event), UPMU_OK);
    if (counters)
        event.counters = counters;
    assert_int_equal(upmu_set_add_event(&session_of(i)->set, &event, NULL), UPMU_OK, i);
    status = upmu_session_attach_unit(session_of(i), &d.unit);
    return status == UPMU_OK ? upmu_session_start(session_of(i)) : status;
}

/* Catches: where enable bits are dense an event of a unit is placed alone, and overwrites the filter of another. */
static void events_with_different_filters_do_not_run_side_by_side(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        begin_unit(styles[i], 1);
        assert_int_equal(run(0, 3, 5, 0), UPMU_OK);
        assert_int_equal(d.box[0].filter, 5);
        assert_int_equal(run(1, 4, 6, 0), UPMU_ERR_DOES_NOT_FIT);
        assert_int_equal(d.box[0].filter, 5);
        for (unsigned n = 0; n < 2; n++)
            assert_int_equal(upmu_session_close(session_of(n)), UPMU_OK, n);
        assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
    }
}

/* Catches: an event that comes to a counter takes the base of the event that leaves, which has moved already. */
static void an_event_takes_the_place_of_one_that_moves(void **state)
{
    static const unsigned code[] = {3, 5, 7};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        uint64_t seen[3] = {0, 0, 0};

        begin_unit(styles[i], 0);
        assert_int_equal(run(0, code[0], 0, 0), UPMU_OK);
        double_steps(100);
        seen[0] += 100;
        assert_int_equal(run(1, code[1], 0, 0x3), UPMU_OK);
        double_steps(10);
        seen[0] += 10;
        seen[1] += 10;
        assert_int_equal(run(2, code[2], 0, 1u << session_of(1)->set.tally[0].counter), UPMU_OK);
        double_steps(1);
        for (unsigned n = 0; n < 3; n++)
            seen[n]++;
        for (unsigned n = 0; n < 3; n++)
            assert_int_equal(host_count(session_of(n), 0).value, seen[n] * code[n], n);
        for (unsigned n = 0; n < 3; n++)
            assert_int_equal(upmu_session_close(session_of(n)), UPMU_OK, n);
        assert_int_equal(upmu_unit_close(&d.unit), UPMU_OK);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_with_different_filters_do_not_run_side_by_side),
        cmocka_unit_test(an_event_takes_the_place_of_one_that_moves),
    };

    return cmocka_run_group_tests_name("unit_moves", tests, NULL, NULL);
}
