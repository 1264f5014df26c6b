/* SPDX-License-Identifier: MIT */
/*
 * Every public function that takes a CPU, a session, a thread, a region or a unit, called while the CPU cannot count:
 * it was never initialised, has no PMU, ignores writes, has finished, or is suspended.  Each call gives its documented
 * answer and accesses no register.  The list below is compared with the declarations of include/upmu, so that a new
 * function without a row here fails.
 *
 * The class of mistake: a call that takes `meter.machine`, which stays set, for a sign that the CPU has a PMU.
 */
#include "tests/common/host.h"
#include "tests/common/table.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include <upmu/branches.h>
#include <upmu/group.h>
#include <upmu/hybrid.h>
#include <upmu/bts.h>
#include <upmu/ibs.h>
#include <upmu/message.h>
#include <upmu/page.h>
#include <upmu/place.h>
#include <upmu/precise.h>
#include <upmu/probe.h>
#include <upmu/results.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include <upmu/unit.h>
#include <upmu/world.h>
#include <upmu/abi.h>

enum { NEVER, ABSENT, IGNORING, FINISHED, SUSPENDED, STATES };

static const char *const state_names[STATES] = {"never initialised", "without PMU", "ignoring writes", "finished",
                                                "suspended"};

static struct host host;
static struct upmu_region region;
static struct upmu_probe probe;
static struct upmu_unit unit;
static struct upmu_unit_list units;
static struct upmu_unit_facts facts;
static struct upmu_unit_scale scale;
static struct upmu_unit_level level;
static struct upmu_ibs ibs;
static struct upmu_bts bts;
static struct upmu_branch branches[4];
static struct upmu_branch_filter filter;
static struct upmu_log journal;
static struct upmu_set set;
static struct upmu_set_info info;
static struct upmu_session_info session_info;
static struct upmu_progress progress;
static struct upmu_queue queue;
static struct upmu_message messages[4];
static struct upmu_user_page page;
static struct upmu_watched_page watched_page;
static struct upmu_place_work work;
static struct upmu_event event;
static struct upmu_dry_run dry_run;
static struct upmu_count counts[UPMU_SET_EVENTS];
static struct upmu_session *both[2], *made;
static struct upmu_output output;
static char journal_bytes[4096];
static struct upmu_group group;
static struct upmu_member joined = {.group = &group}, lone, child;
static uint64_t ring[64], ahead;
static unsigned counter;

static struct upmu_cpu *const cpu = &host.cpu[0];
static struct upmu_session *const session = &host.sessions[0], *const fresh = &host.sessions[1];
static struct upmu_session *const of_thread = &host.sessions[2];
static struct upmu_hybrid hybrid = {.types = 1, .session = {&host.sessions[1]}};

#define OK UPMU_OK
#define NO_PMU UPMU_ERR_NO_PMU
#define STATE UPMU_ERR_STATE
#define INVALID UPMU_ERR_INVALID
#define HOOK_MISSING UPMU_ERR_HOOK_MISSING
#define SAME(status) status, status, status, status, status
#define DONE(call) ((call), 0)

/* name, call, answers in the order of the states. */
#define CALLS(X) \
    X(upmu_branches_freeze, upmu_branches_freeze(cpu), SAME(STATE)) \
    X(upmu_branches_read, upmu_branches_read(cpu, branches, 4, &counter), SAME(STATE)) \
    X(upmu_branches_resume, upmu_branches_resume(cpu), SAME(STATE)) \
    X(upmu_branches_start, upmu_branches_start(cpu, &filter, NULL), SAME(NO_PMU)) \
    X(upmu_branches_stop, upmu_branches_stop(cpu), NO_PMU, NO_PMU, OK, NO_PMU, OK) \
    X(upmu_bts_next, upmu_bts_next(&bts, &branches[0]), SAME(false)) \
    X(upmu_bts_start, upmu_bts_start(cpu, &bts, NULL), SAME(NO_PMU)) \
    X(upmu_bts_stop, upmu_bts_stop(cpu, &bts), NO_PMU, NO_PMU, OK, NO_PMU, OK) \
    X(upmu_sessions_change, upmu_sessions_change(cpu, both, 1, both + 1, 1), NO_PMU, NO_PMU, UPMU_ERR_WRONG_CPU, \
      NO_PMU, STATE) \
    X(upmu_counter_runs, upmu_counter_runs(cpu, 1), SAME(false)) \
    X(upmu_cpu_changed, upmu_cpu_changed(cpu), SAME(NO_PMU)) \
    X(upmu_cpu_clear, upmu_cpu_clear(cpu, &host.machine, NULL), OK, NO_PMU, OK, OK, OK) \
    X(upmu_cpu_enter_guest, upmu_cpu_enter_guest(cpu), SAME(OK)) \
    X(upmu_cpu_fini, upmu_cpu_fini(cpu), SAME(OK)) \
    X(upmu_cpu_gate_value, upmu_cpu_gate_value(cpu, UPMU_WORLD_HOST), SAME(0)) \
    X(upmu_cpu_guest_gate, upmu_cpu_guest_gate(cpu), SAME(0)) \
    X(upmu_machine_runs_on, upmu_machine_runs_on(&host.machine, cpu), SAME(true)) \
    X(upmu_cpu_leave_guest, upmu_cpu_leave_guest(cpu), SAME(OK)) \
    X(upmu_cpu_owner, upmu_cpu_owner(cpu, 1), UPMU_OWNER_ABSENT, UPMU_OWNER_ABSENT, UPMU_OWNER_FREE, \
      UPMU_OWNER_ABSENT, UPMU_OWNER_FREE) \
    X(upmu_cpu_poll, upmu_cpu_poll(cpu), SAME(OK)) \
    X(upmu_cpu_probe, upmu_cpu_probe(cpu, &probe), SAME(OK)) \
    X(upmu_cpu_records, upmu_cpu_records(cpu).taken, SAME(0)) \
    X(upmu_cpu_reserve, upmu_cpu_reserve(cpu, 2), NO_PMU, NO_PMU, OK, NO_PMU, OK) \
    X(upmu_cpu_suspend, upmu_cpu_suspend(cpu), SAME(OK)) \
    X(upmu_cpu_take_firmware, DONE(upmu_cpu_take_firmware(cpu)), SAME(OK)) \
    X(upmu_cpu_tick, upmu_cpu_tick(cpu), SAME(OK)) \
    X(upmu_cpu_unreserve, DONE(upmu_cpu_unreserve(cpu, ~0u)), SAME(OK)) \
    X(upmu_cpu_use_branches, upmu_cpu_use_branches(cpu, &filter, NULL), SAME(NO_PMU)) \
    X(upmu_cpu_use_records, upmu_cpu_use_records(cpu, NULL, NULL), SAME(NO_PMU)) \
    X(upmu_cpu_use_work, upmu_cpu_use_work(cpu, &work), NO_PMU, NO_PMU, OK, NO_PMU, OK) \
    X(upmu_cpu_verify, upmu_cpu_verify(cpu, NULL), SAME(OK)) \
    X(upmu_cpu_world_by_hardware, upmu_cpu_world_by_hardware(cpu, true), NO_PMU, NO_PMU, OK, NO_PMU, STATE) \
    X(upmu_pmi_handle, upmu_pmi_handle(cpu, NULL), SAME(UPMU_PMI_NOT_OURS)) \
    X(upmu_group_fork, upmu_group_fork(&lone, &child, &host.threads[1]), SAME(OK)) \
    X(upmu_group_join, upmu_group_join(&group, &joined, &host.threads[1], cpu), SAME(STATE)) \
    X(upmu_ibs_start, upmu_ibs_start(cpu, &ibs), SAME(NO_PMU)) \
    X(upmu_ibs_stop, upmu_ibs_stop(cpu, &ibs), NO_PMU, NO_PMU, OK, NO_PMU, OK) \
    X(upmu_log_end, upmu_log_end(&journal, both, 1, 0), SAME(OK)) \
    X(upmu_log_samples, upmu_log_samples(&journal, session, 0), SAME(OK)) \
    X(upmu_log_session, upmu_log_session(&journal, session, 0), SAME(OK)) \
    X(upmu_message_restarted, DONE(upmu_message_restarted(session)), SAME(OK)) \
    X(upmu_records_emergency, DONE(upmu_records_emergency(cpu)), SAME(OK)) \
    X(upmu_region_begin, upmu_region_begin(&region), SAME(STATE)) \
    X(upmu_region_close, upmu_region_close(&region), SAME(OK)) \
    X(upmu_region_end, upmu_region_end(&region), SAME(STATE)) \
    X(upmu_region_open, upmu_region_open(&region, cpu, "cycles"), SAME(NO_PMU)) \
    X(upmu_region_open_n, upmu_region_open_n(&region, cpu, "cycles", 6), SAME(NO_PMU)) \
    X(upmu_session_add_set, upmu_session_add_set(fresh, &set, 1, 0, 0), SAME(OK)) \
    X(upmu_session_add_set_sized, upmu_session_add_set_sized(fresh, &set, sizeof set, 1, 0, 0), SAME(OK)) \
    X(upmu_session_ask, DONE(upmu_session_ask(session, &session_info)), SAME(OK)) \
    X(upmu_session_attach_cpu, upmu_session_attach_cpu(fresh, cpu), SAME(STATE)) \
    X(upmu_session_attach_thread, upmu_session_attach_thread(fresh, &host.threads[1], cpu), SAME(STATE)) \
    X(upmu_session_attach_unit, upmu_session_attach_unit(fresh, &unit), SAME(STATE)) \
    X(upmu_session_branches, upmu_session_branches(fresh, 0), SAME(OK)) \
    X(upmu_session_callers, upmu_session_callers(fresh, NULL), SAME(OK)) \
    X(upmu_session_close, upmu_session_close(session), SAME(OK)) \
    X(upmu_session_continue, upmu_session_continue(session, 0, true), SAME(STATE)) \
    X(upmu_session_detach, upmu_session_detach(session), SAME(OK)) \
    X(upmu_session_drop, upmu_session_drop(session), SAME(OK)) \
    X(upmu_session_dry_run, upmu_session_dry_run(fresh, &host.machine.pmu[0], &dry_run), SAME(STATE)) \
    X(upmu_session_find_set, upmu_session_find_set(session, 0) == NULL, SAME(0)) \
    X(upmu_session_format, upmu_session_format(fresh, NULL, NULL, 0), SAME(OK)) \
    X(upmu_session_hide_kernel, DONE(upmu_session_hide_kernel(session, true)), SAME(OK)) \
    X(upmu_session_hold, DONE(upmu_session_hold(session)), SAME(OK)) \
    X(upmu_session_init, upmu_session_init(fresh, &host.machine), SAME(OK)) \
    X(upmu_session_init_sized, upmu_session_init_sized(fresh, sizeof *fresh, &host.machine, &made), SAME(OK)) \
    X(upmu_hybrid_attach_thread, upmu_hybrid_attach_thread(&hybrid, &host.threads[1], cpu), SAME(STATE)) \
    X(upmu_session_limit_pmu, upmu_session_limit_pmu(fresh, NULL), SAME(OK)) \
    X(upmu_session_limit_cpu, upmu_session_limit_cpu(fresh, NULL), SAME(OK)) \
    X(upmu_session_mask_on_full, DONE(upmu_session_mask_on_full(session, true)), SAME(OK)) \
    X(upmu_session_messages, upmu_session_messages(fresh, &queue, messages, 4, 0, NULL), SAME(OK)) \
    X(upmu_session_publish, upmu_session_publish(fresh, &page), SAME(OK)) \
    X(upmu_session_publish_watched, upmu_session_publish_watched(fresh, &watched_page), SAME(HOOK_MISSING)) \
    X(upmu_session_remove_set, upmu_session_remove_set(fresh, 7), SAME(INVALID)) \
    X(upmu_session_restart, upmu_session_restart(session), SAME(OK)) \
    X(upmu_session_ring, upmu_session_ring(fresh, ring, sizeof ring), SAME(OK)) \
    X(upmu_session_share, upmu_session_share(fresh, true), SAME(OK)) \
    X(upmu_session_shuffle, upmu_session_shuffle(fresh, true, 1), SAME(OK)) \
    X(upmu_session_start, upmu_session_start(session), SAME(STATE)) \
    X(upmu_session_static, upmu_session_static(fresh, true), SAME(OK)) \
    X(upmu_session_alone, upmu_session_alone(fresh, true), SAME(OK)) \
    X(upmu_session_stop, upmu_session_stop(session), STATE, STATE, STATE, STATE, OK) \
    X(upmu_session_switch, upmu_session_switch(session, NULL), STATE, STATE, STATE, STATE, OK) \
    X(upmu_session_world, upmu_session_world(fresh, UPMU_WORLD_HOST), SAME(OK)) \
    X(upmu_set_add, upmu_set_add(&fresh->set, "cycles", NULL), NO_PMU, NO_PMU, OK, OK, OK) \
    X(upmu_set_add_n, upmu_set_add_n(&fresh->set, "cycles", 6, NULL), NO_PMU, NO_PMU, OK, OK, OK) \
    X(upmu_set_add_event, upmu_set_add_event(&fresh->set, &event, NULL), NO_PMU, NO_PMU, OK, OK, OK) \
    X(upmu_set_ask, DONE(upmu_set_ask(&session->set, &info)), SAME(OK)) \
    X(upmu_set_clear, upmu_set_clear(&session->set), OK, OK, OK, OK, STATE) \
    X(upmu_set_continue, upmu_set_continue(&session->set, 0, &progress), INVALID, INVALID, INVALID, OK, STATE) \
    X(upmu_set_event, upmu_set_event(&session->set, 0) == NULL, 1, 1, 1, 0, 0) \
    X(upmu_set_lend, upmu_set_lend(&session->set, 0, 1), SAME(INVALID)) \
    X(upmu_set_progress, DONE(upmu_set_progress(&session->set, 0, &progress)), SAME(OK)) \
    X(upmu_set_read, upmu_set_read(&session->set, 0, 1, counts), INVALID, INVALID, INVALID, OK, OK) \
    X(upmu_set_replace, upmu_set_replace(&session->set, 0, "cycles", NULL), INVALID, INVALID, \
      INVALID, OK, OK) \
    X(upmu_set_replace_event, upmu_set_replace_event(&session->set, 0, &event, NULL), INVALID, INVALID, \
      INVALID, OK, OK) \
    X(upmu_set_wait, upmu_set_wait(&session->set, 0, 1000, 1000), SAME(INVALID)) \
    X(upmu_set_where, upmu_set_where(&session->set, 0, &counter, &ahead), SAME(false)) \
    X(upmu_set_write, upmu_set_write(&session->set, 0, 1), INVALID, INVALID, INVALID, OK, OK) \
    X(upmu_thread_exit, upmu_thread_exit(&host.threads[0]), SAME(OK)) \
    X(upmu_thread_init, DONE(upmu_thread_init(&host.threads[2], 1, 1, NULL)), SAME(OK)) \
    X(upmu_thread_switch, upmu_thread_switch(cpu, &host.threads[0], &host.threads[1]), SAME(OK)) \
    X(upmu_thread_switch_monitored, upmu_thread_switch_monitored(cpu, &host.threads[0], &host.threads[1]), SAME(OK)) \
    X(upmu_unit_ask, DONE(upmu_unit_ask(&unit, &facts)), SAME(OK)) \
    X(upmu_unit_close, upmu_unit_close(&unit), SAME(OK)) \
    X(upmu_unit_level, upmu_unit_level(&unit, "cpu_thermal_margin", &level), SAME(STATE)) \
    X(upmu_unit_manage, upmu_unit_manage(&unit, cpu), SAME(STATE)) \
    X(upmu_unit_open_text, upmu_unit_open_text(&unit, &host.machine, "package0/die0/imc0"), \
      SAME(UPMU_ERR_NO_SUCH_PMU)) \
    X(upmu_unit_poll, upmu_unit_poll(&unit), SAME(STATE)) \
    X(upmu_unit_is_near, DONE(upmu_unit_is_near(&unit, cpu)), SAME(OK)) \
    X(upmu_unit_poll_interval, DONE(upmu_unit_poll_interval(&unit)), SAME(OK)) \
    X(upmu_unit_scale, DONE(upmu_unit_scale(&unit, &event, &scale)), SAME(OK)) \
    X(upmu_unit_take_firmware, upmu_unit_take_firmware(&unit), SAME(STATE)) \
    X(upmu_unit_turns, DONE(upmu_unit_turns(&unit, 1)), SAME(OK)) \
    X(upmu_units_find, upmu_units_find(cpu, &units, 0), SAME(NO_PMU))

#define DEFINE(name, expression, ...) \
    static int call_##name(void) \
    { \
        return (int)(expression); \
    }
CALLS(DEFINE)

static const struct call {
    const char *name;
    int (*call)(void);
    int answer[STATES];
} calls[] = {
#define ROW(name, expression, ...) {#name, call_##name, {__VA_ARGS__}},
    CALLS(ROW)
};
#define CALLED (sizeof calls / sizeof calls[0])

/*
 * Functions without a row: upmu_cpu_init() and upmu_cpu_resume() bring a CPU back, so they access registers;
 * upmu_unit_open() is a part of upmu_unit_open_text().
 */
static const char *const excepted[] = {"upmu_cpu_init", "upmu_cpu_resume", "upmu_unit_open"};

/* ---- The states ---- */

static void count_something(void)
{
    upmu_thread_init(&host.threads[0], 1, 1, NULL);
    upmu_thread_init(&host.threads[1], 2, 2, NULL);
    assert_int_equal(upmu_set_add(&session->set, "instructions", NULL), UPMU_OK);
    host_begin(&host, session);
    assert_int_equal(upmu_set_add(&of_thread->set, "branches", NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_thread(of_thread, &host.threads[0], cpu), UPMU_OK);
    assert_int_equal(upmu_session_start(of_thread), UPMU_OK);
    assert_int_equal(upmu_region_open(&region, cpu, "cycles"), UPMU_OK);
    assert_int_equal(upmu_event_parse(cpu->meter.pmu, "cycles", &event, NULL), UPMU_OK);
    assert_int_equal(upmu_cpu_reserve(cpu, 8), UPMU_OK);
    host_run(&host, 100);
}

static void reach(unsigned state)
{
    static const char *const profiles[STATES] = {"skylake", "no_pmu", "ignores_writes", "skylake", "skylake"};

    memset(&region, 0, sizeof region);
    memset(&unit, 0, sizeof unit);
    memset(&units, 0, sizeof units);
    output = (struct upmu_output){.buffer = journal_bytes, .size = sizeof journal_bytes};
    assert_int_equal(upmu_log_begin(&journal, &output, "", 0), UPMU_OK);
    memset(&event, 0, sizeof event);
    host_prepare(&host, profiles[state]);
    host_machine(&host);
    (void)!upmu_session_init(&region.session, &host.machine);
    both[0] = session;
    both[1] = of_thread;
    switch (state) {
    case NEVER:
        break;
    case ABSENT:
    case IGNORING:
        assert_int_equal(upmu_cpu_init(cpu, &host.machine, NULL), UPMU_ERR_NO_PMU);
        break;
    default:
        host_take_over(&host, 1, false);
        count_something();
        if (state == FINISHED)
            assert_int_equal(upmu_cpu_fini(cpu), UPMU_OK);
        else
            assert_int_equal(upmu_cpu_suspend(cpu), UPMU_OK);
        break;
    }
    host_forget_cost(&host);
}

/* The end of a CPU that ignores writes reads the register that its take-over tried to write.  A clearing is for CPUs
   that are not initialised, too. */
static unsigned accesses_allowed(const struct call *call, unsigned state)
{
    if (call->call == call_upmu_cpu_clear)
        return 100;
    return call->call == call_upmu_cpu_fini && state == IGNORING;
}

static void every_call_answers_as_documented_where_the_cpu_cannot_count(void **unused)
{
    bool failed = false;

    (void)unused;
    for (unsigned state = 0; state < STATES; state++)
        for (unsigned i = 0; i < CALLED; i++) {
            unsigned accesses;
            int answer;

            reach(state);
            answer = calls[i].call();
            accesses = host.sim.access_count[UPMU_SIM_WRMSR] + host.sim.access_count[UPMU_SIM_RDMSR] +
                       host.sim.access_count[UPMU_SIM_RDPMC];
            if (answer != calls[i].answer[state] || accesses > accesses_allowed(&calls[i], state)) {
                print_error("%s, CPU %s: %d instead of %d, %u register accesses\n", calls[i].name, state_names[state],
                            answer, calls[i].answer[state], accesses);
                failed = true;
            }
            host_no_violation(&host);
        }
    assert_false(failed);
}

/* The machine has to stay as long as a CPU is initialised, and no longer: calls on a CPU that has finished leave it. */
static void a_cpu_that_has_finished_does_not_touch_its_machine(void **unused)
{
    (void)unused;
    for (unsigned i = 0; i < CALLED; i++) {
        if (calls[i].call == call_upmu_cpu_clear) /* it is given the machine */
            continue;
        if (strncmp(calls[i].name, "upmu_cpu_", 9) != 0 && calls[i].call != call_upmu_sessions_change &&
            calls[i].call != call_upmu_pmi_handle)
            continue;
        reach(FINISHED);
        memset(&host.machine, 0xa5, sizeof host.machine);
        assert_int_equal(calls[i].call(), calls[i].answer[FINISHED], i);
    }
}

/* ---- The list is complete ---- */

static bool is_listed(const char *name)
{
    for (unsigned i = 0; i < CALLED; i++)
        if (strcmp(calls[i].name, name) == 0)
            return true;
    for (unsigned i = 0; i < sizeof excepted / sizeof excepted[0]; i++)
        if (strcmp(excepted[i], name) == 0)
            return true;
    return false;
}

static bool is_of_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Does one of the parameters up to `end` point to an object of the engine? */
static bool takes_object(const char *at, const char *end)
{
    static const char *const objects[] = {"struct upmu_cpu *",    "struct upmu_session *", "struct upmu_set *",
                                          "struct upmu_thread *", "struct upmu_region *",  "struct upmu_unit *"};

    for (unsigned i = 0; i < sizeof objects / sizeof objects[0]; i++) {
        const char *found = strstr(at, objects[i]);

        if (found && found < end)
            return true;
    }
    return false;
}

/* Comments become blanks. */
static void strip(char *text)
{
    for (char *begin = text, *end; (begin = strstr(begin, "/*")) != NULL && (end = strstr(begin, "*/")) != NULL;)
        memset(begin, ' ', (size_t)(end + 2 - begin));
}

/* Declarations of functions "upmu_name(…struct upmu_cpu *…)" of a header; returns how many. */
static unsigned check_header(const char *name)
{
    static char text[1 << 17];
    char path[300], function[80];
    unsigned found = 0;
    size_t bytes;
    FILE *file;

    snprintf(path, sizeof path, "include/upmu/%s", name);
    file = source_open(path);
    bytes = fread(text, 1, sizeof text - 1, file);
    assert_compare(bytes, <, sizeof text - 1);
    fclose(file);
    text[bytes] = '\0';
    strip(text);
    for (const char *at = text; (at = strstr(at, "upmu_")) != NULL;) {
        const char *end = at, *close;

        while (is_of_name(*end))
            end++;
        close = *end == '(' && at != text && (at[-1] == ' ' || at[-1] == '*') ? strchr(end, ')') : NULL;
        if (close && takes_object(end, close)) {
            snprintf(function, sizeof function, "%.*s", (int)(end - at), at);
            if (!is_listed(function))
                fail_msg("%s() of %s has no row in this test", function, path);
            found++;
        }
        at = end;
    }
    return found;
}

static void the_list_has_every_function_of_the_headers(void **unused)
{
    char path[4096];
    struct dirent *entry;
    unsigned found = 0;
    DIR *folder;

    (void)unused;
    snprintf(path, sizeof path, "%s/include/upmu", UPMU_SOURCE_DIR);
    folder = opendir(path);
    assert_non_null(folder);
    while ((entry = readdir(folder)) != NULL)
        if (strstr(entry->d_name, ".h"))
            found += check_header(entry->d_name);
    closedir(folder);
    assert_compare(found, >=, CALLED);
}

/* A host gives its counters back late: the counter was the firmware's, too. */
static void a_counter_is_given_back_after_the_cpu_has_finished(void **unused)
{
    (void)unused;
    host_prepare(&host, "skylake");
    upmu_sim_poke(&host.sim, 0, 0x186 + 3, 0x4300c0); /* a watchdog that runs at take-over */
    upmu_sim_poke(&host.sim, 0, 0x38f, 8);
    host_start(&host);
    assert_int_equal(upmu_cpu_reserve(cpu, 8), UPMU_OK);
    assert_int_equal(upmu_cpu_fini(cpu), UPMU_OK);
    upmu_cpu_unreserve(cpu, 8);
    assert_int_equal(upmu_cpu_owner(cpu, 3), UPMU_OWNER_ABSENT);
    host_no_violation(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_answers_as_documented_where_the_cpu_cannot_count),
        cmocka_unit_test(a_cpu_that_has_finished_does_not_touch_its_machine),
        cmocka_unit_test(the_list_has_every_function_of_the_headers),
        cmocka_unit_test(a_counter_is_given_back_after_the_cpu_has_finished),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
