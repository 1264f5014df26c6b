/* SPDX-License-Identifier: MIT */
/*
 * Units of every machine of the silicon model while something goes wrong in the middle of a call: a fault at each
 * access, an event at each access.
 */
#include <upmu/session.h>
#include "tests/unit/engine/uncore_host.h"

static struct uncore_host host;

static const char *const machines[] = {"nhm", "snb", "skx2", "hsx2", "icx", "zen2", "zen4", "bulldozer2", "adl", "spr",
                                       "emr", "bdx2", "knl1", "lab"};
#define MACHINES (sizeof machines / sizeof *machines)

/* ---- A fault at each access ---- */

/* Did everything work until now? */
static bool good;

static void note(enum upmu_status status)
{
    good = good && status == UPMU_OK;
}

/* The events that have happened while the session of the script ran. */
static uint64_t certain;

static void happen(struct upmu_sim_unit *unit, uint64_t events)
{
    if (host.session[0].state == UPMU_SESSION_RUNNING)
        certain += events;
    uncore_happen(&host, unit, 0, events);
}

/* A count holds no event that never happened; an exact one, and one of a script in which nothing failed, holds all. */
static bool read_is_right(struct upmu_session *session)
{
    struct upmu_count count;
    enum upmu_status status = upmu_set_read(&session->set, 0, 1, &count);

    note(status);
    if (status != UPMU_OK)
        return true;
    if (good)
        return count.value == certain && count.quality == UPMU_QUALITY_EXACT;
    return count.quality == UPMU_QUALITY_EXACT ? count.value == certain : count.value <= certain;
}

/* Everything that one can do with a unit; whatever fails, it is closed at the end.  False: a wrong count. */
static bool script(struct upmu_sim_unit *unit, const struct upmu_unit_info *info, unsigned boxes)
{
    struct upmu_session *session = &host.session[0];
    unsigned other = uncore_cpu_of(&host, unit, 1), first = uncore_cpu_of(&host, unit, 0);
    bool right = true;

    good = true;
    certain = 0;
    upmu_sim_hand_over(&host.uncore);
    note(upmu_unit_open(&host.unit[0], &host.machine, info, boxes));
    if (!good)
        return true;
    note(uncore_add(&host, 0, unit->type, 0, 1));
    note(upmu_session_attach_unit(session, &host.unit[0]));
    if (good) {
        note(upmu_session_start(session));
        happen(unit, 100);
        right = right && read_is_right(session);
        note(upmu_unit_poll(&host.unit[0]));
        note(upmu_session_stop(session));
        right = right && read_is_right(session);
        note(upmu_session_start(session));
        happen(unit, 20);
        if (other < host.sim.cpus) {
            note(upmu_unit_manage(&host.unit[0], &host.cpu[other]));
            upmu_sim_hand_over(&host.uncore);
        }
        happen(unit, 3);
        right = right && read_is_right(session);
        if (other < host.sim.cpus) {
            note(upmu_unit_manage(&host.unit[0], &host.cpu[first]));
            upmu_sim_hand_over(&host.uncore);
        }
        note(upmu_session_stop(session));
        right = right && read_is_right(session);
    }
    note(upmu_session_close(session));
    note(upmu_unit_close(&host.unit[0]));
    return right;
}

static void sweep_faults(const char *machine, struct upmu_sim_unit *unit, unsigned boxes)
{
    const struct upmu_unit_info *info = uncore_info(&host, unit);
    uint32_t k = 0, begun;

    assert_non_null(info);
    do {
        k++;
        begun = host.sim.accesses;
        host.sim.fault_at = begun + k;
        if (!script(unit, info, boxes)) {
            print_error("%s: %s %u: a fault at access %u made a wrong count\n", machine, unit->type->name, unit->number,
                        k);
            fail();
        }
        host.sim.fault_at = 0;
        /* what could not be closed because of the fault is closed now, or was */
        (void)!upmu_session_close(&host.session[0]);
        (void)!upmu_unit_close(&host.unit[0]);
        if (!script(unit, info, boxes) || !good) {
            print_error("%s: %s %u: after a fault at access %u the unit is not as before\n", machine, unit->type->name,
                        unit->number, k);
            fail();
        }
        if (host.sim.violation_count != 0)
            print_error("%s: %s %u, access %u\n", machine, unit->type->name, unit->number, k);
        uncore_no_violation(&host);
    } while (host.sim.accesses - begun >= k && k < 400 && host.sim.faults != 0 && (host.sim.faults = 0, true));
    assert_in_range(k, 4, 399, unit->number);
    for (unsigned i = 0; i < unit->type->counters; i++)
        assert_true(unit->type->style == UPMU_SIM_UNIT_FREE || !upmu_sim_unit_runs(&host.uncore, unit, i), i);
}

static void a_fault_anywhere_leaves_a_unit_usable(void **state)
{
    (void)state;
    for (unsigned m = 0; m < MACHINES; m++) {
        uncore_set_up(&host, machines[m]);
        for (unsigned i = 0; i < host.uncore.units; i++) {
            struct upmu_sim_unit *unit = &host.uncore.unit[i];

            if (unit->absent || unit->type->counters == 0 || unit->die != 0 || unit->index != 0)
                continue;
            sweep_faults(machines[m], unit, 1);
            if (unit[1].type == unit->type && unit[1].die == 0 && unit[1].llc == unit->llc && !unit[1].absent)
                sweep_faults(machines[m], unit, 2);
        }
    }
}

static void a_fault_while_finding_hides_units_at_most(void **state)
{
    (void)state;
    for (unsigned m = 0; m < MACHINES; m++) {
        for (uint32_t k = 1; k < 12000; k += k < 60 ? 1 : 487) {
            uint32_t begun;

            uncore_prepare(&host, machines[m]);
            assert_int_equal(upmu_machine_init(&host.machine, upmu_sim_port(&host.sim)), UPMU_OK);
            uncore_take_over(&host, 0, 1);
            begun = host.sim.accesses;
            host.sim.fault_at = begun + k;
            upmu_sim_irqs(&host.sim, false);
            (void)!upmu_units_find(&host.cpu[0], &host.list, 0);
            upmu_sim_irqs(&host.sim, true);
            for (unsigned i = 0; i < host.list.unit_count; i++)
                assert_non_null(uncore_box(&host, &host.list.unit[i]), i);
            uncore_no_violation(&host);
            if (host.sim.accesses - begun < k)
                break;
        }
    }
}

/* ---- An event at each access ---- */

static struct upmu_sim_unit *torn_unit;
static uint32_t torn_at;

static void one_more(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind, uint32_t address)
{
    (void)sim, (void)cpu, (void)kind, (void)address;
    if (number == torn_at)
        uncore_happen(&host, torn_unit, 0, 1);
}

/* A carry into the high dword at the k-th access of a call that reads. */
static void sweep_carry(struct upmu_sim_unit *unit, bool stops)
{
    const struct upmu_unit_info *info = uncore_info(&host, unit);
    struct upmu_session *session = &host.session[0];
    uint32_t k = 0, accesses;

    torn_unit = unit;
    do {
        uint64_t before = host.uncore.unit_reads, value;

        k++;
        upmu_sim_hand_over(&host.uncore);
        for (unsigned i = 0; i < unit->type->counters; i++)
            upmu_sim_unit_set(unit, i, UINT64_C(0x1fffffff0) & upmu_sim_unit_range(&host.uncore, unit, i));
        assert_int_equal(upmu_unit_open(&host.unit[0], &host.machine, info, 1), UPMU_OK);
        assert_int_equal(uncore_add(&host, 0, unit->type, 0, 1), UPMU_OK);
        assert_int_equal(upmu_session_attach_unit(session, &host.unit[0]), UPMU_OK);
        assert_int_equal(upmu_session_start(session), UPMU_OK);
        uncore_happen(&host, unit, 0, 15);
        torn_at = host.sim.accesses + k;
        accesses = host.sim.accesses;
        host.sim.before_access = one_more;
        if (stops)
            assert_int_equal(upmu_session_stop(session), UPMU_OK);
        else
            (void)uncore_value(session, 0);
        host.sim.before_access = NULL;
        accesses = host.sim.accesses - accesses;
        value = uncore_value(session, 0);
        if (value != 15 && value != 16) {
            print_error("%s: a carry at access %u: %llu\n", unit->type->name, k, (unsigned long long)value);
            fail();
        }
        if (!stops)
            assert_int_equal(value, k <= accesses ? 16 : 15, k);
        if (!stops)
            assert_int_equal(upmu_session_stop(session), UPMU_OK);
        assert_int_equal(uncore_value(session, 0), value);
        assert_int_equal(upmu_session_close(session), UPMU_OK);
        assert_int_equal(upmu_unit_close(&host.unit[0]), UPMU_OK);
        assert_compare(host.uncore.unit_reads, >, before);
        uncore_no_violation(&host);
    } while (k <= accesses && k < 100);
}

static void a_carry_between_two_accesses_is_not_lost(void **state)
{
    (void)state;
    for (unsigned m = 0; m < MACHINES; m++) {
        uncore_set_up(&host, machines[m]);
        for (unsigned i = 0; i < host.uncore.units; i++) {
            struct upmu_sim_unit *unit = &host.uncore.unit[i];

            if (unit->absent || unit->type->counters == 0 || unit->die != 0 || unit->index != 0)
                continue;
            sweep_carry(unit, false);
            sweep_carry(unit, true);
        }
    }
}

/* ---- A function or device that vanishes ---- */

/* All ones are no count of a counter that is narrower than what is read: what was read before it vanished stays. */
static bool vanish_while_it_counts(struct upmu_sim_unit *unit)
{
    uint64_t range = upmu_sim_unit_range(&host.uncore, unit, 0);
    struct upmu_session *session = &host.session[0];
    struct upmu_count count;
    enum upmu_status status;

    if (unit->absent || unit->type->space == UPMU_SIM_SPACE_MSR || unit->die != 0 || unit->index != 0 ||
        range <= UINT32_MAX || range == UINT64_MAX)
        return false;
    upmu_sim_hand_over(&host.uncore);
    assert_int_equal(upmu_unit_open(&host.unit[0], &host.machine, uncore_info(&host, unit), 1), UPMU_OK);
    assert_int_equal(uncore_add(&host, 0, unit->type, 0, 1), UPMU_OK);
    assert_int_equal(upmu_session_attach_unit(session, &host.unit[0]), UPMU_OK);
    assert_int_equal(upmu_session_start(session), UPMU_OK);
    uncore_happen(&host, unit, 0, 100);
    assert_int_equal(uncore_value(session, 0), 100);
    unit->absent = true;
    status = upmu_set_read(&session->set, 0, 1, &count);
    /* Where another function is left, it reads 0: as one that was reset. */
    if (status != UPMU_OK || count.value != 100 || count.quality != UPMU_QUALITY_PARTIAL) {
        print_error("%s: %s: gone, and read as %llx with status %d\n", host.uncore.machine->name, unit->type->name,
                    (unsigned long long)count.value, (int)status);
        fail();
    }
    (void)!upmu_session_stop(session);
    assert_int_equal(upmu_set_read(&session->set, 0, 1, &count), UPMU_OK);
    assert_int_equal(count.value, 100);
    assert_int_equal(count.quality, UPMU_QUALITY_PARTIAL);
    (void)!upmu_session_close(session);
    (void)!upmu_unit_close(&host.unit[0]);
    unit->absent = false;
    return true;
}

static void what_vanishes_keeps_what_was_read_of_it(void **state)
{
    unsigned done = 0;

    (void)state;
    for (unsigned m = 0; m < MACHINES; m++) {
        uncore_set_up(&host, machines[m]);
        for (unsigned i = 0; i < host.uncore.units; i++)
            if (host.uncore.unit[i].type->counters != 0)
                done += vanish_while_it_counts(&host.uncore.unit[i]);
    }
    assert_compare(done, >=, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fault_anywhere_leaves_a_unit_usable),
        cmocka_unit_test(a_fault_while_finding_hides_units_at_most),
        cmocka_unit_test(a_carry_between_two_accesses_is_not_lost),
        cmocka_unit_test(what_vanishes_keeps_what_was_read_of_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
