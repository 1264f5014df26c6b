/* SPDX-License-Identifier: MIT */
/*
 * Units of every machine of the silicon model through the library's calls: all that are there are found;
 * one scenario on each type; random sequences in which the library reports what the model let happen, no more
 * and no less.  Events are raw and chosen by the model's own description of a type.
 */
#include <upmu/session.h>
#include "tests/unit/engine/uncore_host.h"

static struct uncore_host host;

static const char *const machines[] = {"nhm", "snb", "skx2", "hsx2", "icx", "zen2", "zen4", "bulldozer2", "adl", "spr",
                                       "emr", "bdx2", "knl1", "lab"};
#define MACHINES (sizeof machines / sizeof *machines)

/* What the scenario at hand is about, and how often something was wrong. */
static const char *machine;
static struct upmu_sim_unit *unit;
static unsigned wrong;

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* ---- Finding ---- */

static void all_units_are_found_and_no_others(void **state)
{
    (void)state;
    wrong = 0;
    for (unsigned m = 0; m < MACHINES; m++) {
        unsigned there = 0;

        uncore_set_up(&host, machines[m]);
        for (unsigned i = 0; i < host.uncore.units; i++) {
            unit = &host.uncore.unit[i];
            there += !unit->absent;
            if (!unit->absent && uncore_info(&host, unit) == NULL) {
                print_error("%s: die %u: no %s %u\n", machines[m], unit->die, unit->type->name, unit->number);
                wrong++;
            }
        }
        for (unsigned i = 0; i < host.list.unit_count; i++) {
            const struct upmu_unit_info *info = &host.list.unit[i];

            if (uncore_box(&host, info) == NULL) {
                print_error("%s: die %u has no %s %u\n", machines[m], uncore_die(&host, info),
                            uncore_type(&host, info), info->number);
                wrong++;
            }
        }
        assert_int_equal(host.list.unit_count, there, m);
        uncore_no_violation(&host);
    }
    assert_int_equal(wrong, 0);
}

/* ---- One scenario for each type ---- */

static bool is_ok(enum upmu_status status, int line)
{
    if (status == UPMU_OK)
        return true;
    print_error("line %d: %s: die %u: %s %u: %s\n", line, machine, unit->die, unit->type->name, unit->number,
                upmu_status_text(status));
    wrong++;
    return false;
}

static void expect_count(unsigned event, uint64_t expected, int line)
{
    struct upmu_count count;

    if (!is_ok(upmu_set_read(&host.session[0].set, event, 1, &count), line) ||
        (count.value == expected && count.quality == UPMU_QUALITY_EXACT))
        return;
    print_error("line %d: %s: die %u: %s %u, event %u: %llu, not %llu, quality %d\n", line, machine, unit->die,
                unit->type->name, unit->number, event, (unsigned long long)count.value, (unsigned long long)expected,
                (int)count.quality);
    wrong++;
}

#define OK(call) is_ok(call, __LINE__)
#define EXPECT_COUNT(event, expected) expect_count(event, expected, __LINE__)

static void counts_starts_stops_and_moves(unsigned events)
{
    struct upmu_session *session = &host.session[0];
    unsigned other = uncore_cpu_of(&host, unit, 1);

    uncore_happen(&host, unit, 0, 11);
    if (!OK(upmu_session_start(session)))
        return;
    uncore_happen(&host, unit, 0, 100);
    uncore_happen(&host, unit, events - 1, 7);
    EXPECT_COUNT(0, events == 1 ? 107 : 100);
    (void)OK(upmu_session_stop(session));
    uncore_happen(&host, unit, 0, 13);
    EXPECT_COUNT(0, events == 1 ? 107 : 100);
    (void)OK(upmu_session_start(session));
    uncore_happen(&host, unit, events - 1, 1000);
    (void)OK(upmu_unit_poll(&host.unit[0]));
    if (other < host.sim.cpus) {
        (void)OK(upmu_unit_manage(&host.unit[0], &host.cpu[other]));
        upmu_sim_hand_over(&host.uncore);
    }
    uncore_happen(&host, unit, events - 1, 1000);
    EXPECT_COUNT(events - 1, events == 1 ? 2107 : 2007);
    (void)OK(upmu_session_stop(session));
    EXPECT_COUNT(events - 1, events == 1 ? 2107 : 2007);
}

static void one_unit(void)
{
    const struct upmu_unit_info *info = uncore_info(&host, unit);
    unsigned events = least(uncore_counters(unit->type), 2);

    if (info == NULL || !OK(upmu_unit_open(&host.unit[0], &host.machine, info, 1)))
        return;
    if (OK(uncore_add(&host, 0, unit->type, 0, events)) &&
        OK(upmu_session_attach_unit(&host.session[0], &host.unit[0])))
        counts_starts_stops_and_moves(events);
    (void)OK(upmu_session_close(&host.session[0]));
    (void)OK(upmu_unit_close(&host.unit[0]));
    upmu_sim_hand_over(&host.uncore);
    for (unsigned i = 0; i < unit->type->counters; i++) {
        if (unit->type->style != UPMU_SIM_UNIT_FREE && upmu_sim_unit_runs(&host.uncore, unit, i)) {
            print_error("%s: %s %u: counter %u runs on\n", machine, unit->type->name, unit->number, i);
            wrong++;
        }
    }
    if (host.sim.violation_count != 0) {
        print_error("%s: %s %u: %s (%x, %llx)\n", machine, unit->type->name, unit->number,
                    host.sim.first_violation.text, host.sim.first_violation.address,
                    (unsigned long long)host.sim.first_violation.value);
        wrong++;
        host.sim.violation_count = 0;
    }
}

static void each_type_counts_starts_stops_and_moves(void **state)
{
    (void)state;
    wrong = 0;
    for (unsigned m = 0; m < MACHINES; m++) {
        machine = machines[m];
        uncore_set_up(&host, machine);
        for (unsigned i = 0; i < host.uncore.units; i++) {
            unit = &host.uncore.unit[i];
            if (!unit->absent && unit->type->counters != 0)
                one_unit();
        }
        assert_int_equal(host.uncore.maps, host.uncore.unmaps);
    }
    assert_int_equal(wrong, 0);
}

/* ---- Random sequences ---- */

static uint64_t random_state;

static unsigned random_below(unsigned limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state >> 33) % limit;
}

#define EVENTS 4

/* A unit that is open, with one session or two. */
struct opened {
    struct upmu_sim_unit *box; /* the first */
    unsigned boxes;
    unsigned sessions;
    unsigned first[2], events[2]; /* of each session: which raw events */
    bool running[2];
    uint64_t expected[2][EVENTS];
};
static struct opened opened[HOST_UNITS];

static struct upmu_session *session_of(unsigned which, unsigned session)
{
    return &host.session[which < 2 ? 2 * which + session : 2 + which];
}

static bool is_open(const struct upmu_sim_unit *box)
{
    for (unsigned i = 0; i < HOST_UNITS; i++) {
        if (opened[i].boxes != 0 && box >= opened[i].box && box < opened[i].box + opened[i].boxes)
            return true;
    }
    return false;
}

/* Opens one box or all of its type and die, with sessions that have counters for all their events. */
static void open_some(unsigned which)
{
    struct opened *one = &opened[which];
    struct upmu_sim_unit *box = &host.uncore.unit[random_below(host.uncore.units)];
    unsigned boxes = 1, counters = uncore_counters(box->type);
    const struct upmu_unit_info *info;

    box -= random_below(3) == 0 ? box->index : 0;
    info = box->absent ? NULL : uncore_info(&host, box);
    memset(one, 0, sizeof *one);
    if (info == NULL || is_open(box) || counters == 0)
        return;
    if (random_below(2) != 0 && box->index == 0 && !(box->type->quirks & UPMU_SIM_QUIRK_LLC)) {
        while (box + boxes < host.uncore.unit + host.uncore.units && box[boxes].type == box->type &&
               box[boxes].die == box->die && !box[boxes].absent && !is_open(&box[boxes]))
            boxes++;
    }
    if (upmu_unit_open(&host.unit[which], &host.machine, info, boxes) != UPMU_OK)
        return;
    one->box = box;
    one->boxes = boxes;
    one->sessions = which < 2 && counters > 1 ? 2 : 1;
    one->events[0] = 1 + random_below(least(EVENTS, counters - (one->sessions - 1)));
    one->events[1] = one->sessions == 2 ? 1 + random_below(least(EVENTS, counters - one->events[0])) : 0;
    one->first[1] = one->events[0];
    for (unsigned s = 0; s < one->sessions; s++) {
        char text[96];

        assert_int_equal(upmu_session_init(session_of(which, s), &host.machine), UPMU_OK, s);
        for (unsigned i = 0; i < one->events[s]; i++)
            assert_int_equal(upmu_set_add(&session_of(which, s)->set, uncore_spec(box->type, one->first[s] + i, text),
                                          NULL), UPMU_OK, s, i);
        assert_int_equal(upmu_session_attach_unit(session_of(which, s), &host.unit[which]), UPMU_OK, s, which);
    }
}

static void close_one(unsigned which)
{
    struct opened *one = &opened[which];

    if (one->boxes == 0)
        return;
    for (unsigned s = 0; s < one->sessions; s++)
        assert_int_equal(upmu_session_close(session_of(which, s)), UPMU_OK, s);
    assert_int_equal(upmu_unit_close(&host.unit[which]), UPMU_OK, which);
    for (unsigned b = 0; b < one->boxes; b++)
        one->box[b].manager = -1;
    one->boxes = 0;
}

static void random_event(void)
{
    const struct opened *hot = &opened[random_below(HOST_UNITS)];
    unsigned n = random_below(2 * EVENTS);
    uint64_t count = random_below(1000000);
    struct upmu_sim_unit *box = &host.uncore.unit[random_below(host.uncore.units)];

    if (hot->boxes != 0 && random_below(4) != 0)
        box = &hot->box[random_below(hot->boxes)];
    if (n >= box->type->counters && box->type->style == UPMU_SIM_UNIT_FREE)
        return;
    uncore_happen(&host, box, n, count);
    for (unsigned i = 0; i < HOST_UNITS; i++) {
        struct opened *one = &opened[i];

        if (one->boxes == 0 || box < one->box || box >= one->box + one->boxes)
            continue;
        for (unsigned s = 0; s < one->sessions; s++) {
            if (one->running[s] && n >= one->first[s] && n < one->first[s] + one->events[s])
                one->expected[s][n - one->first[s]] += count;
        }
    }
}

static void check_counts(unsigned which)
{
    struct opened *one = &opened[which];

    for (unsigned s = 0; one->boxes != 0 && s < one->sessions; s++) {
        for (unsigned i = 0; i < one->events[s]; i++) {
            uint64_t found = uncore_value(session_of(which, s), i);

            if (found == one->expected[s][i])
                continue;
            print_error("%s: %u %s from %u on, session %u, event %u: %llu, not %llu\n", machine, one->boxes,
                        one->box->type->name, one->box->number, s, i, (unsigned long long)found,
                        (unsigned long long)one->expected[s][i]);
            fail();
        }
    }
}

static void random_call(void)
{
    unsigned which = random_below(HOST_UNITS), s;
    struct opened *one = &opened[which];
    unsigned cpu = uncore_cpu_of(&host, one->box != NULL ? one->box : host.uncore.unit, random_below(2));

    if (one->boxes == 0) {
        open_some(which);
        return;
    }
    s = random_below(one->sessions);
    switch (random_below(6)) {
    case 0:
    case 1:
        if (one->running[s])
            assert_int_equal(upmu_session_stop(session_of(which, s)), UPMU_OK, s);
        else
            assert_int_equal(upmu_session_start(session_of(which, s)), UPMU_OK, s);
        one->running[s] = !one->running[s];
        break;
    case 2:
        assert_int_equal(upmu_unit_poll(&host.unit[which]), UPMU_OK, which);
        break;
    case 3:
        if (cpu < host.sim.cpus) {
            assert_int_equal(upmu_unit_manage(&host.unit[which], &host.cpu[cpu]), UPMU_OK, which, cpu);
            for (unsigned b = 0; b < one->boxes; b++)
                one->box[b].manager = -1;
        }
        break;
    case 4:
        upmu_sim_switch_cpu(&host.sim, random_below(host.sim.cpus));
        break;
    default:
        if (random_below(8) == 0)
            close_one(which);
        break;
    }
}

static void what_happens_is_what_is_reported(void **state)
{
    (void)state;
    for (unsigned m = 0; m < MACHINES; m++) {
        for (unsigned seed = 1; seed <= 4; seed++) {
            random_state = UINT64_C(0x9e3779b97f4a7c15) * seed;
            memset(opened, 0, sizeof opened);
            machine = machines[m];
            uncore_set_up(&host, machine);
            for (unsigned step = 0; step < 1500; step++) {
                random_event();
                if (random_below(3) == 0)
                    random_call();
                if (random_below(10) == 0)
                    check_counts(random_below(HOST_UNITS));
                if (host.sim.violation_count != 0)
                    print_error("%s, seed %u, step %u\n", machines[m], seed, step);
                uncore_no_violation(&host);
            }
            for (unsigned i = 0; i < HOST_UNITS; i++) {
                check_counts(i);
                close_one(i);
            }
            uncore_no_violation(&host);
        }
    }
}

/* ---- Sessions that share a unit ---- */

#define SHARERS 3

/* What the model's counters of these boxes ever counted. */
static uint64_t all_counted(const struct upmu_sim_unit *box, unsigned boxes)
{
    uint64_t sum = 0;

    for (unsigned b = 0; b < boxes; b++) {
        for (unsigned c = 0; c < box->type->counters; c++)
            sum += box[b].counter[c].counted;
    }
    return sum;
}

static void one_tick(void)
{
    upmu_sim_advance_ns(&host.sim, 1000000);
    for (unsigned cpu = 0; cpu < host.sim.cpus; cpu++) {
        upmu_sim_switch_cpu(&host.sim, cpu);
        upmu_sim_irqs(&host.sim, false);
        (void)OK(upmu_cpu_tick(&host.cpu[cpu]));
        upmu_sim_irqs(&host.sim, true);
    }
}

/* Three sessions want all counters of the boxes: what the counters counted is what is reported, session by session. */
static void share_boxes(unsigned boxes)
{
    unsigned events = least(uncore_counters(unit->type), 2);
    uint64_t before, raw = 0;

    if (!OK(upmu_unit_open(&host.unit[0], &host.machine, uncore_info(&host, unit), boxes)))
        return;
    for (unsigned s = 0; s < SHARERS; s++) {
        (void)OK(uncore_add(&host, s, unit->type, s * events, events));
        (void)OK(upmu_session_share(&host.session[s], true));
        (void)OK(upmu_session_attach_unit(&host.session[s], &host.unit[0]));
        (void)OK(upmu_session_start(&host.session[s]));
    }
    before = all_counted(unit, boxes);
    for (unsigned tick = 0; tick < 60; tick++) {
        for (unsigned n = 0; n < SHARERS * events; n++)
            uncore_happen(&host, &unit[tick % boxes], n, 1000 + n);
        one_tick();
    }
    for (unsigned i = 0; i < SHARERS * events; i++) {
        struct upmu_count count;

        (void)OK(upmu_set_read(&host.session[i / events].set, i % events, 1, &count));
        raw += count.raw;
        /* an estimate of events that come evenly: within a slot of the truth */
        if (count.value < (1000u + i) * 50 || count.value > (1000u + i) * 70) {
            print_error("%s: %s: %llu of %u\n", machine, unit->type->name, (unsigned long long)count.value,
                        (1000u + i) * 60);
            wrong++;
        }
    }
    if (raw != all_counted(unit, boxes) - before) {
        print_error("%s: %s: %llu counted, %llu reported\n", machine, unit->type->name,
                    (unsigned long long)(all_counted(unit, boxes) - before), (unsigned long long)raw);
        wrong++;
    }
    for (unsigned s = 0; s < SHARERS; s++)
        (void)OK(upmu_session_close(&host.session[s]));
    (void)OK(upmu_unit_close(&host.unit[0]));
    upmu_sim_hand_over(&host.uncore);
}

static void sharing_loses_and_invents_nothing(void **state)
{
    (void)state;
    wrong = 0;
    for (unsigned m = 0; m < MACHINES; m++) {
        machine = machines[m];
        uncore_set_up(&host, machine);
        for (unsigned i = 0; i < host.uncore.units; i++) {
            bool pair;

            unit = &host.uncore.unit[i];
            if (unit->absent || unit->type->counters == 0 || unit->index != 0 ||
                unit->type->style == UPMU_SIM_UNIT_FREE)
                continue;
            pair = i + 1 < host.uncore.units && unit[1].type == unit->type && unit[1].die == unit->die &&
                   unit[1].llc == unit->llc && !unit[1].absent;
            share_boxes(1);
            if (pair)
                share_boxes(2);
            uncore_no_violation(&host);
        }
    }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_units_are_found_and_no_others),
        cmocka_unit_test(each_type_counts_starts_stops_and_moves),
        cmocka_unit_test(what_happens_is_what_is_reported),
        cmocka_unit_test(sharing_loses_and_invents_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
