/* SPDX-License-Identifier: MIT */
/*
 * What a language without macros, inline functions of C and texts with a NUL calls: by address, as its linker does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tests/common/assertions.h"

#include "tests/common/host.h"
#include <upmu/event.h>
#include <upmu/upmu.h>

/* Addresses that the compiler does not know: no inline function and no macro can stand for them. */
static enum upmu_status (*volatile machine_init)(struct upmu_machine *, const struct upmu_port *) = upmu_machine_init;
static enum upmu_status (*volatile thread_switch)(struct upmu_cpu *, struct upmu_thread *,
                                                  struct upmu_thread *) = upmu_thread_switch;

static struct host host;

/* Text with a length, and bytes behind it that would be taken for a part of it. */
#define LIST "instructions,cycles"
static const char list[] = LIST ":u,no-such-event";

static void a_machine_begins_by_a_function(void **state)
{
    static const struct upmu_port without_hooks;
    struct upmu_machine machine;

    (void)state;
    host_prepare(&host, "skl");
    memset(&machine, 0xff, sizeof machine);
    assert_int_equal(machine_init(&machine, &without_hooks), UPMU_ERR_HOOK_MISSING);
    assert_int_equal(machine_init(&machine, &host.sim.port), UPMU_OK);
    assert_ptr_equal(machine.port, &host.sim.port);
    assert_int_equal(machine.pmu_count, 0);
}

static void threads_are_switched_by_a_function(void **state)
{
    struct upmu_count count;

    (void)state;
    host_set_up(&host, "skl");
    host_threads(&host, 3);
    assert_int_equal(upmu_set_add_n(&host.session.set, list, strlen(LIST), NULL), UPMU_OK);
    assert_int_equal(host.session.set.count, 2);
    assert_int_equal(upmu_session_attach_thread(&host.session, &host.threads[0], NULL), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    host_run(&host, 70);
    assert_int_equal(thread_switch(&host.cpu[0], &host.threads[2], &host.threads[0]), UPMU_OK);
    host_run(&host, 500);
    assert_int_equal(thread_switch(&host.cpu[0], &host.threads[0], &host.threads[1]), UPMU_OK);
    host_run(&host, 9000);
    /* Neither of these two has a session: the call ends before the library looks at the CPU. */
    assert_int_equal(thread_switch(&host.cpu[0], &host.threads[1], &host.threads[2]), UPMU_OK);
    assert_int_equal(upmu_set_read(&host.session.set, 0, 1, &count), UPMU_OK);
    assert_int_equal(count.value, 500);
    host_end(&host);
}

static void regions_and_sets_take_texts_with_a_length(void **state)
{
    static struct upmu_region region;

    (void)state;
    host_set_up(&host, "skl");
    assert_int_equal(upmu_region_open_n(&region, &host.cpu[0], list, strlen(LIST)), UPMU_OK);
    assert_int_equal(region.events, 2);
    assert_int_equal(upmu_region_begin(&region), UPMU_OK);
    host_run(&host, 300);
    assert_int_equal(upmu_region_end(&region), UPMU_OK);
    assert_int_equal(region.count[0].value, 300);
    assert_int_equal(region.count[1].value, 600);
    assert_int_equal(upmu_region_close(&region), UPMU_OK);
    /* A refused word ends where the text ends. */
    assert_int_equal(upmu_set_add_n(&host.session.set, list, strlen(LIST) - 1, NULL), UPMU_ERR_NO_SUCH_EVENT);
    assert_string_equal(host.session.why.word, "cycle");
    assert_int_equal(upmu_set_add_n(&host.session.set, list, 0, NULL), UPMU_ERR_SYNTAX);
    assert_int_equal(upmu_set_add_n(&host.session.set, list, UPMU_TO_NUL, NULL), UPMU_ERR_NO_SUCH_EVENT);
    assert_int_equal(host.session.set.count, 0);
    host_end(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_begins_by_a_function),
        cmocka_unit_test(threads_are_switched_by_a_function),
        cmocka_unit_test(regions_and_sets_take_texts_with_a_length),
    };

    return cmocka_run_group_tests_name("other_languages", tests, NULL, NULL);
}
