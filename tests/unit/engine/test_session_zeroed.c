/* SPDX-License-Identifier: MIT */
/*
 * Sessions that were never initialised: what calls on one answer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "tests/common/assertions.h"
#include <upmu/event.h>
#include <upmu/pmu.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include <upmu/upmu.h>

static struct upmu_session session;
static struct upmu_cpu cpu;
static uint64_t ring[64];

static void a_session_without_a_machine_takes_no_events(void **state)
{
    struct upmu_event event;
    struct upmu_pmu pmu;

    (void)state;
    assert_int_equal(upmu_pmu_by_name(&pmu, "skl"), UPMU_OK);
    assert_int_equal(upmu_event_parse(&pmu, "cycles", &event, NULL), UPMU_OK);
    assert_int_equal(upmu_set_add(&session.set, "cycles", NULL), UPMU_ERR_STATE);
    assert_int_equal(upmu_set_add_event(&session.set, &event, NULL), UPMU_ERR_STATE);
    assert_int_equal(session.set.count, 0);
}

static void it_cannot_be_used_before_it_is_initialised(void **state)
{
    struct upmu_count count;

    (void)state;
    assert_int_equal(upmu_session_attach_cpu(&session, &cpu), UPMU_ERR_STATE);
    assert_int_equal(upmu_session_start(&session), UPMU_ERR_STATE);
    assert_int_equal(upmu_session_stop(&session), UPMU_ERR_STATE);
    assert_int_equal(upmu_set_read(&session.set, 0, 1, &count), UPMU_ERR_STATE);
    assert_int_equal(upmu_set_write(&session.set, 0, 1), UPMU_ERR_STATE);
    assert_int_equal(upmu_set_replace(&session.set, 0, "cycles", NULL), UPMU_ERR_STATE);
}

static void what_it_may_be_asked_without_events_is_harmless(void **state)
{
    (void)state;
    assert_int_equal(upmu_session_ring(&session, ring, sizeof ring), UPMU_OK);
    assert_int_equal(upmu_session_detach(&session), UPMU_OK);
    assert_int_equal(upmu_session_close(&session), UPMU_OK);
    memset(&session, 0, sizeof session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_without_a_machine_takes_no_events),
        cmocka_unit_test(it_cannot_be_used_before_it_is_initialised),
        cmocka_unit_test(what_it_may_be_asked_without_events_is_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
