/* SPDX-License-Identifier: MIT */
/*
 * What each operation on a unit costs, as the device counts it: each style, in each space, with one box and with six.
 */
#include "tests/unit/engine/unit_double.h"

#define EVENTS 3u

/* An operation's accesses, of one box, in registers. */
struct price {
    unsigned writes, reads;
};

static const struct {
    const char *name;
    unsigned style;
    bool freezes;
    unsigned code; /* of event 0 */
} styles[] = {
    {"enable register", UPMU_UNIT_GLOBAL, false, 1},     {"select", UPMU_UNIT_SELECT, false, 1},
    {"freeze bit", UPMU_UNIT_BOX, true, 1},              {"live select", UPMU_UNIT_DISCOVERED, true, 1},
    {"client's controller", UPMU_UNIT_CLIENT_IMC, true, 1}, {"free-running", UPMU_UNIT_FREE, false, 0},
};

static const char *const space_names[] = {"MSR", "PCI", "memory"};

/*
 * One value of a counter in hook calls.  The first one of a counter that moves needs its high half twice; later the
 * high half of the last look is enough, if it is still there.
 */
static unsigned calls_of_read(unsigned space, bool first)
{
    bool halved = space == UPMU_SPACE_PCI || (space == UPMU_SPACE_MMIO && sizeof(void *) < 8);

    return halved ? (first ? 3 : 2) : 1;
}

/* Selects and enable registers have 64 bits here, box control has 32. */
static unsigned calls_of_write(unsigned space)
{
    return space == UPMU_SPACE_PCI || (space == UPMU_SPACE_MMIO && sizeof(void *) < 8) ? 2 : 1;
}

struct rig {
    struct unit_double d;
    unsigned i, space;
    bool reads_move;
};

static void expect(struct rig *rig, const char *what, unsigned controls, unsigned selects, unsigned first,
                   unsigned later)
{
    struct unit_double *d = &rig->d;
    unsigned control = styles[rig->i].freezes ? 1 : calls_of_write(rig->space);
    unsigned writes = d->boxes * (controls * control + selects * calls_of_write(rig->space));
    unsigned reads = d->boxes * (first * calls_of_read(rig->space, true) + later * calls_of_read(rig->space, false));

    if (d->writes != writes || d->reads != reads)
        fail_msg("%s, %s, %u boxes: %s: %u writes and %u reads, not %u and %u", styles[rig->i].name,
                 space_names[rig->space], d->boxes, what, d->writes, d->reads, writes, reads);
    d->writes = d->reads = 0;
}

static void measure(struct rig *rig, unsigned boxes)
{
    struct unit_double *d = &rig->d;
    struct upmu_session *session = &d->host.session, *other = &d->host.other, *third = &d->host.sessions[2];
    unsigned style = styles[rig->i].style, code = styles[rig->i].code;
    bool free = style == UPMU_UNIT_FREE, own = style == UPMU_UNIT_SELECT, box = styles[rig->i].freezes;
    struct upmu_count counts[EVENTS];

    double_prepare(d, style, rig->space, boxes, 1);
    double_begin(d, 1);
    assert_int_equal(upmu_unit_open(&d->unit, &d->host.machine, d->info, boxes), UPMU_OK);
    for (unsigned k = 0; k < EVENTS; k++)
        double_event(d, session, code + k);
    assert_int_equal(upmu_session_attach_unit(session, &d->unit), UPMU_OK);
    d->writes = d->reads = 0;

    /* Attached, it is loaded; of counters that stood still since nothing is read but the first time. */
    assert_int_equal(upmu_session_start(session), UPMU_OK);
    double_steps(100);
    assert_int_equal(upmu_session_stop(session), UPMU_OK);
    d->writes = d->reads = 0;
    assert_int_equal(upmu_session_start(session), UPMU_OK);
    expect(rig, "start", free ? 0 : own ? 0 : 1, own ? EVENTS : 0, free ? EVENTS : 0, 0);
    double_steps(1000);
    assert_int_equal(upmu_set_read(&session->set, 0, EVENTS, counts), UPMU_OK);
    expect(rig, "read", 0, 0, 0, EVENTS);
    assert_int_equal(upmu_unit_poll(&d->unit), UPMU_OK);
    expect(rig, "poll", 0, 0, 0, EVENTS);
    assert_int_equal(upmu_session_stop(session), UPMU_OK);
    expect(rig, "stop", free ? 0 : own ? 0 : 1, own ? EVENTS : 0, 0, EVENTS);
    assert_int_equal(upmu_set_read(&session->set, 0, EVENTS, counts), UPMU_OK);
    expect(rig, "read of a stopped one", 0, 0, 0, 0);
    for (unsigned k = 0; k < EVENTS; k++)
        assert_int_equal(counts[k].value, (uint64_t)boxes * 1100u * (1 + k), k);
    if (free)
        return;

    /* Another one runs there: with a freeze bit both have their selects written, as the box runs on. */
    assert_int_equal(upmu_session_start(session), UPMU_OK); /* the next one gets another counter */
    double_event(d, other, 9);
    assert_int_equal(upmu_session_attach_unit(other, &d->unit), UPMU_OK);
    assert_int_equal(upmu_session_start(other), UPMU_OK);
    assert_int_equal(upmu_session_stop(session), UPMU_OK);
    d->writes = d->reads = 0;
    assert_int_equal(upmu_session_start(session), UPMU_OK);
    expect(rig, "start beside another", box || own ? 0 : 1, box || own ? EVENTS : 0, 0, 0);
    double_steps(10);
    assert_int_equal(upmu_session_stop(session), UPMU_OK);
    expect(rig, "stop beside another", box || own ? 0 : 1, box || own ? EVENTS : 0, 0, EVENTS);
    assert_int_equal(upmu_session_stop(other), UPMU_OK);
    assert_int_equal(upmu_session_close(other), UPMU_OK);
    d->writes = d->reads = 0;
    assert_int_equal(upmu_session_start(session), UPMU_OK);
    expect(rig, "start after another", own ? 0 : 1, box || own ? EVENTS : 0, 0, 0);
    assert_int_equal(upmu_session_close(session), UPMU_OK);

    /* Turns: all events differ. */
    for (unsigned k = 0; k < 2; k++) {
        struct upmu_session *one = k ? third : session;

        assert_int_equal(upmu_session_init(one, &d->host.machine), UPMU_OK);
        assert_int_equal(upmu_session_share(one, true), UPMU_OK);
        for (unsigned i = 0; i < EVENTS; i++)
            double_event(d, one, 0x10 + 4 * k + i);
        assert_int_equal(upmu_session_attach_unit(one, &d->unit), UPMU_OK);
        assert_int_equal(upmu_session_start(one), UPMU_OK);
    }
    for (unsigned k = 0; k < 6; k++) {
        d->writes = d->reads = 0;
        assert_int_equal(upmu_cpu_tick(&d->host.cpu[0]), UPMU_OK);
        if (k > 2) /* both have been placed */
            expect(rig, "turn", own ? 0 : 2, own ? 2 * EVENTS : EVENTS, 0, EVENTS);
    }
    assert_int_equal(upmu_session_close(session), UPMU_OK);
    assert_int_equal(upmu_session_close(third), UPMU_OK);
}

static void each_operation_costs_what_the_design_says(void **state)
{
    static struct rig rig;

    (void)state;
    for (rig.i = 0; rig.i < sizeof styles / sizeof styles[0]; rig.i++)
        for (rig.space = 0; rig.space < 3; rig.space++)
            for (unsigned boxes = 1; boxes <= 6; boxes += 5)
                measure(&rig, boxes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_operation_costs_what_the_design_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
