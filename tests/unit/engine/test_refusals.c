/* SPDX-License-Identifier: MIT */
/*
 * Every answer that the calls on sessions and regions document, provoked; and that
 * a refusal changes nothing.
 */
#include <upmu/event.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include "core/hw/bank.h"
#include "core/hw/register.h"
#include "tests/common/host.h"

#define REFUSED(status, call) assert_int_equal((call), (status))

static void add_refuses_what_it_cannot_understand_place_or_sample(void **state)
{
    struct upmu_sampling sampling = {.period = 0};
    struct upmu_event event;
    struct upmu_spec spec;
    struct host host;
    size_t cursor = 0;

    (void)state;
    host_prepare(&host, "skylake");
    host_machine(&host);
    REFUSED(UPMU_ERR_NO_PMU, upmu_set_add(&host.session.set, "cycles", NULL));
    assert_int_equal(upmu_cpu_init(&host.cpu[0], &host.machine, NULL), UPMU_OK);
    REFUSED(UPMU_ERR_SYNTAX, upmu_set_add(&host.session.set, "", NULL));
    REFUSED(UPMU_ERR_SYNTAX, upmu_set_add(&host.session.set, "cycles,,cycles", NULL));
    REFUSED(UPMU_ERR_NO_SUCH_EVENT, upmu_set_add(&host.session.set, "cycles,no-such-event", NULL));
    assert_int_equal(host.session.set.count, 0);
    assert_int_equal(host.session.why.status, UPMU_ERR_NO_SUCH_EVENT);
    assert_int_equal(host.session.why.position, 7);
    sampling.period = UINT64_C(1) << 63;
    REFUSED(UPMU_ERR_INVALID, upmu_set_add(&host.session.set, "cycles", &sampling));
    for (unsigned i = 0; i < UPMU_SET_EVENTS; i++)
        assert_int_equal(upmu_set_add(&host.session.set, "cycles", NULL), UPMU_OK);
    REFUSED(UPMU_ERR_NO_SPACE, upmu_set_add(&host.session.set, "cycles", NULL));
    assert_int_equal(upmu_spec_next("cycles", &cursor, &spec, NULL), UPMU_OK);
    assert_int_equal(upmu_event_encode(host.cpu[0].meter.pmu, &spec, &event, NULL), UPMU_OK);
    REFUSED(UPMU_ERR_NO_SPACE, upmu_set_add_event(&host.session.set, &event, NULL));
    REFUSED(UPMU_ERR_INVALID, upmu_set_add_event(&host.other.set, &event, &sampling));
    assert_int_equal(host.other.set.count, 0);
    host_end(&host);
}

static void add_adds_all_of_a_list_or_nothing(void **state)
{
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_set_add(&host.session.set, "cycles,branches", NULL), UPMU_OK);
    REFUSED(UPMU_ERR_NO_SUCH_EVENT, upmu_set_add(&host.session.set, "instructions,nothing", NULL));
    assert_int_equal(host.session.set.count, 2);
    host_end(&host);
}

static void an_attached_session_takes_no_events_and_no_ring(void **state)
{
    struct upmu_event event;
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_event_parse(host.cpu[0].meter.pmu, "cycles", &event, NULL), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.session.set, "cycles", NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[0]), UPMU_OK);
    REFUSED(UPMU_ERR_STATE, upmu_set_add(&host.session.set, "cycles", NULL));
    REFUSED(UPMU_ERR_STATE, upmu_set_add_event(&host.session.set, &event, NULL));
    REFUSED(UPMU_ERR_STATE, upmu_session_ring(&host.session, host.ring, sizeof host.ring));
    REFUSED(UPMU_ERR_STATE, upmu_session_attach_cpu(&host.session, &host.cpu[0]));
    assert_int_equal(host.session.set.count, 1);
    host_end(&host);
}

static void a_ring_has_its_size_and_alignment(void **state)
{
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    REFUSED(UPMU_ERR_INVALID, upmu_session_ring(&host.session, host.ring, 255));
    REFUSED(UPMU_ERR_INVALID, upmu_session_ring(&host.session, (char *)host.ring + 1, 1024));
    if (sizeof(size_t) > 4)
        REFUSED(UPMU_ERR_INVALID, upmu_session_ring(&host.session, host.ring, (size_t)0x80000000u));
    assert_int_equal(upmu_session_ring(&host.session, host.ring, 256), UPMU_OK);
    host_end(&host);
}

static void a_detached_session_cannot_be_run(void **state)
{
    struct upmu_count count;
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    REFUSED(UPMU_ERR_STATE, upmu_session_attach_cpu(&host.session, &host.cpu[0]));
    assert_int_equal(upmu_set_add(&host.session.set, "cycles", NULL), UPMU_OK);
    REFUSED(UPMU_ERR_STATE, upmu_session_start(&host.session));
    REFUSED(UPMU_ERR_STATE, upmu_session_stop(&host.session));
    assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    assert_int_equal(upmu_session_restart(&host.session), UPMU_OK);
    REFUSED(UPMU_ERR_INVALID, upmu_set_read(&host.session.set, 1, 1, &count));
    REFUSED(UPMU_ERR_INVALID, upmu_set_read(&host.session.set, 0, 2, &count));
    assert_int_equal(upmu_set_read(&host.session.set, 0, 1, &count), UPMU_OK);
    assert_int_equal(count.quality, UPMU_QUALITY_NEVER_RAN);
    host_end(&host);
}

static void attach_needs_a_living_cpu_of_the_events_pmu(void **state)
{
    struct upmu_cpu never;
    struct host host;

    (void)state;
    memset(&never, 0, sizeof never);
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_set_add(&host.session.set, "cycles", NULL), UPMU_OK);
    REFUSED(UPMU_ERR_NO_PMU, upmu_session_attach_cpu(&host.session, &never));
    /* Another core type. */
    upmu_sim_switch_cpu(&host.sim, 1);
    host.sim.profile = upmu_sim_profile("core2");
    upmu_sim_reset_cpu(&host.sim, 1);
    assert_int_equal(upmu_cpu_init(&host.cpu[1], &host.machine, NULL), UPMU_OK);
    REFUSED(UPMU_ERR_WRONG_PMU, upmu_session_attach_cpu(&host.session, &host.cpu[1]));
    assert_int_equal(host.session.state, UPMU_SESSION_DETACHED);
    assert_null(host.cpu[1].meter.sessions);
    assert_int_equal(upmu_cpu_fini(&host.cpu[1]), UPMU_OK);
    REFUSED(UPMU_ERR_NO_PMU, upmu_session_attach_cpu(&host.session, &host.cpu[1]));
}

static void attach_refuses_what_does_not_fit_even_alone(void **state)
{
    struct host host;

    (void)state;
    host_set_up(&host, "core2");
    assert_int_equal(upmu_set_add(&host.session.set, "branches,cache-references,bus-cycles", NULL), UPMU_OK);
    REFUSED(UPMU_ERR_DOES_NOT_FIT, upmu_session_attach_cpu(&host.session, &host.cpu[0]));
    assert_int_equal(host.session.why.collision, UPMU_COLLISION_COUNTERS);
    assert_int_equal(host.session.why.culprits, 7);
    assert_int_equal(host.session.why.culprit_count, 3);
    assert_int_equal(host.session.why.counters, 3);
    assert_int_equal(host.session.state, UPMU_SESSION_DETACHED);
    host_end(&host);
}

static void start_refuses_what_does_not_fit_beside_what_runs(void **state)
{
    struct host host;

    (void)state;
    host_set_up(&host, "core2");
    assert_int_equal(upmu_set_add(&host.session.set, "branches,cache-references", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    assert_int_equal(upmu_set_add(&host.other.set, "bus-cycles", NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(&host.other, &host.cpu[0]), UPMU_OK);
    REFUSED(UPMU_ERR_DOES_NOT_FIT, upmu_session_start(&host.other));
    assert_int_equal(host.other.why.collision, UPMU_COLLISION_COUNTERS);
    assert_int_equal(host.other.why.culprit_count, 3);
    host_run(&host, 100);
    assert_int_equal(host_value(&host.session, 0), 50);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.other), UPMU_OK);
    assert_int_equal(host.other.why.status, UPMU_OK);
    host_end(&host);
}

static void precise_events_count_without_memory_for_records(void **state)
{
    struct upmu_sampling sampling = {.period = 1000};
    struct upmu_event event;
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_event_parse(host.cpu[0].meter.pmu, "cycles", &event, NULL), UPMU_OK);
    event.attributes |= 2u << UPMU_ATTR_PRECISE_SHIFT;
    REFUSED(UPMU_ERR_HOOK_MISSING, upmu_set_add_event(&host.session.set, &event, &sampling));
    assert_int_equal(upmu_set_add_event(&host.session.set, &event, NULL), UPMU_OK);
    REFUSED(UPMU_ERR_HOOK_MISSING, upmu_set_replace_event(&host.session.set, 0, &event, &sampling));
    host_end(&host);
}

static void from_another_cpu_without_a_way_there_calls_are_refused(void **state)
{
    struct upmu_count count;
    struct host host;

    (void)state;
    host_prepare(&host, "skylake");
    host.sim.port.run_on_cpu = NULL;
    host_start(&host);
    assert_int_equal(upmu_set_add(&host.session.set, "cycles", NULL), UPMU_OK);
    upmu_sim_switch_cpu(&host.sim, 1);
    REFUSED(UPMU_ERR_WRONG_CPU, upmu_session_attach_cpu(&host.session, &host.cpu[0]));
    upmu_sim_switch_cpu(&host.sim, 0);
    host_begin(&host, &host.session);
    host_run(&host, 100);
    upmu_sim_switch_cpu(&host.sim, 1);
    REFUSED(UPMU_ERR_WRONG_CPU, upmu_session_start(&host.session));
    REFUSED(UPMU_ERR_WRONG_CPU, upmu_session_stop(&host.session));
    REFUSED(UPMU_ERR_WRONG_CPU, upmu_session_detach(&host.session));
    REFUSED(UPMU_ERR_WRONG_CPU, upmu_set_read(&host.session.set, 0, 1, &count));
    REFUSED(UPMU_ERR_WRONG_CPU, upmu_set_write(&host.session.set, 0, 1));
    assert_int_equal(host.session.why.status, UPMU_ERR_WRONG_CPU);
    assert_int_equal(host.session.state, UPMU_SESSION_RUNNING);
    upmu_sim_switch_cpu(&host.sim, 0);
    assert_int_equal(host_value(&host.session, 0), 200);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    /* At rest a read needs no register, from anywhere. */
    upmu_sim_switch_cpu(&host.sim, 1);
    assert_int_equal(host_value(&host.session, 0), 200);
    upmu_sim_switch_cpu(&host.sim, 0);
    host_end(&host);
}

static void an_unreachable_cpu_refuses_as_well(void **state)
{
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_set_add(&host.session.set, "cycles", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    upmu_sim_switch_cpu(&host.sim, 1);
    host.sim.cpu[0].offline = true;
    REFUSED(UPMU_ERR_WRONG_CPU, upmu_session_stop(&host.session));
    assert_int_equal(host.session.state, UPMU_SESSION_RUNNING);
    host.sim.cpu[0].offline = false;
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    upmu_sim_switch_cpu(&host.sim, 0);
    host_end(&host);
}

static void a_read_that_faults_says_so_and_the_session_runs_on(void **state)
{
    struct upmu_count count;
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_set_add(&host.session.set, "cycles", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    host_run(&host, 100);
    host.sim.fault_at = host.sim.accesses + 1;
    host.sim.fault_until = host.sim.accesses + 2;
    REFUSED(UPMU_ERR_PORT, upmu_set_read(&host.session.set, 0, 1, &count));
    assert_int_equal(host.session.state, UPMU_SESSION_RUNNING);
    assert_int_equal(host_value(&host.session, 0), 200);
    host_run(&host, 100);
    assert_int_equal(host_value(&host.session, 0), 400);
    host_end(&host);
}

static void write_gives_a_count_a_value_at_any_time(void **state)
{
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_set_add(&host.session.set, "cycles,instructions", NULL), UPMU_OK);
    REFUSED(UPMU_ERR_INVALID, upmu_set_write(&host.session.set, 2, 0));
    assert_int_equal(upmu_set_write(&host.session.set, 0, 7), UPMU_OK);
    host_begin(&host, &host.session);
    host_run(&host, 100);
    assert_int_equal(host_value(&host.session, 0), 207);
    assert_int_equal(upmu_set_write(&host.session.set, 0, 1000), UPMU_OK);
    host_run(&host, 100);
    assert_int_equal(host_value(&host.session, 0), 1200);
    assert_int_equal(host_value(&host.session, 1), 200);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    assert_int_equal(upmu_set_write(&host.session.set, 0, 3), UPMU_OK);
    assert_int_equal(host_value(&host.session, 0), 3);
    host_end(&host);
}

static void replace_changes_one_event_of_a_session_that_does_not_run(void **state)
{
    struct upmu_sampling sampling = {.period = UINT64_C(1) << 63};
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_set_add(&host.session.set, "cycles,instructions", NULL), UPMU_OK);
    REFUSED(UPMU_ERR_INVALID, upmu_set_replace(&host.session.set, 2, "branches", NULL));
    REFUSED(UPMU_ERR_SYNTAX, upmu_set_replace(&host.session.set, 0, "", NULL));
    REFUSED(UPMU_ERR_NO_SUCH_EVENT, upmu_set_replace(&host.session.set, 0, "nothing", NULL));
    REFUSED(UPMU_ERR_INVALID, upmu_set_replace(&host.session.set, 0, "branches", &sampling));
    host_begin(&host, &host.session);
    host_run(&host, 100);
    REFUSED(UPMU_ERR_STATE, upmu_set_replace(&host.session.set, 0, "branches", NULL));
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    assert_int_equal(upmu_set_replace(&host.session.set, 0, "branches", NULL), UPMU_OK);
    assert_int_equal(host_value(&host.session, 0), 0);
    assert_int_equal(host_value(&host.session, 1), 100);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    host_run(&host, 100);
    assert_int_equal(host_value(&host.session, 0), 50);
    assert_int_equal(host_value(&host.session, 1), 200);
    host_end(&host);
}

static void dry_run_lists_writes_and_touches_nothing(void **state)
{
    struct upmu_write writes[8];
    struct upmu_dry_run dry = {.writes = writes, .capacity = 8};
    struct host host;
    uint32_t accesses;
    size_t all;

    (void)state;
    host_set_up(&host, "core2");
    accesses = host.sim.accesses;
    REFUSED(UPMU_ERR_STATE, upmu_session_dry_run(&host.session, host.cpu[0].meter.pmu, &dry));
    assert_int_equal(host.session.why.status, UPMU_ERR_STATE);
    assert_int_equal(upmu_set_add(&host.session.set, "branches,cache-references", NULL), UPMU_OK);
    assert_int_equal(upmu_session_dry_run(&host.session, host.cpu[0].meter.pmu, &dry), UPMU_OK);
    all = dry.count;
    assert_true(all >= 3 && all <= 8);
    assert_int_equal(writes[all - 1].address, 0x38f, all);
    memset(writes, 0, sizeof writes);
    dry.capacity = 1;
    assert_int_equal(upmu_session_dry_run(&host.session, host.cpu[0].meter.pmu, &dry), UPMU_OK);
    assert_int_equal(dry.count, all);
    assert_true(writes[0].address != 0 && writes[1].address == 0);
    assert_int_equal(upmu_set_add(&host.session.set, "bus-cycles", NULL), UPMU_OK);
    REFUSED(UPMU_ERR_DOES_NOT_FIT, upmu_session_dry_run(&host.session, host.cpu[0].meter.pmu, &dry));
    assert_int_equal(host.sim.accesses, accesses);
    host_end(&host);
}

/* The last value of a register in a list of writes. */
static uint64_t last_value(const struct upmu_dry_run *dry, uint32_t address)
{
    for (size_t n = dry->count; n; n--)
        if (dry->writes[n - 1].address == address)
            return dry->writes[n - 1].value;
    fail_msg("register %x is not in the list", (unsigned)address);
    return 0;
}

static void a_dry_run_lists_the_interrupts_of_a_start(void **state)
{
    static const char *const cpus[] = {"skylake", "core2", "zen4", "zen2"};

    (void)state;
    for (unsigned i = 0; i < 3 * sizeof cpus / sizeof cpus[0]; i++) {
        /* events that only count, that sample, and whose counts wrap at their counters' width */
        struct upmu_sampling sampling = {.period = i % 3 == 1 ? 100000 : 0,
                                         .flags = i % 3 == 2 ? UPMU_SAMPLING_WRAP : 0};
        struct upmu_write writes[16];
        struct upmu_dry_run dry = {.writes = writes, .capacity = 16};
        const struct upmu_pmu *pmu;
        struct host host;

        host_set_up(&host, cpus[i / 3]);
        pmu = host.cpu[0].meter.pmu;
        assert_int_equal(upmu_set_add(&host.session.set, "branches,instructions", &sampling), UPMU_OK);
        assert_int_equal(upmu_session_dry_run(&host.session, pmu, &dry), UPMU_OK);
        assert_in_range(dry.count, 2, 16);
        host_begin(&host, &host.session);
        for (unsigned event = 0; event < 2; event++) {
            unsigned row = pmu->counter[host.session.set.tally[event].counter].select_row;
            uint32_t address = upmu_register_address(pmu, row);
            uint64_t is = 0, listed = last_value(&dry, address);
            uintptr_t irqs;

            irqs = host.machine.port->irq_save(host.machine.port->context);
            assert_true(upmu_bank_read_row(&host.cpu[0].meter.bank, row, &is), i);
            host.machine.port->irq_restore(host.machine.port->context, irqs);
            if (is != listed)
                fail_msg("%s, case %u, event %u: register %x is %llx, not %llx", cpus[i / 3], i % 3, event,
                         (unsigned)address, (unsigned long long)is, (unsigned long long)listed);
        }
        host_end(&host);
    }
}

static void replace_refuses_a_second_event(void **state)
{
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_set_add(&host.session.set, "branches", NULL), UPMU_OK);
    REFUSED(UPMU_ERR_SYNTAX, upmu_set_replace(&host.session.set, 0, "cycles, instructions", NULL));
    assert_int_equal(host.session.why.status, UPMU_ERR_SYNTAX);
    assert_int_equal(host.session.why.position, 8);
    assert_int_equal(host.session.why.length, 12);
    assert_string_equal(host.session.why.word, "instructions");
    REFUSED(UPMU_ERR_SYNTAX, upmu_set_replace(&host.session.set, 0, "cycles no-such-event", NULL));
    host_begin(&host, &host.session);
    host_run(&host, 100);
    assert_int_equal(host_value(&host.session, 0), 50); /* the event of before */
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    assert_int_equal(upmu_set_replace(&host.session.set, 0, " cycles ", NULL), UPMU_OK);
    host_end(&host);
}

static void a_closed_session_refuses_everything(void **state)
{
    struct upmu_count count;
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    host_sample(&host, "cycles", 100);
    host_run(&host, 100);
    assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
    assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
    assert_int_equal(host.session.state, UPMU_SESSION_CLOSED);
    assert_int_equal(host.session.id, 0);
    assert_null(host.cpu[0].meter.sessions);
    REFUSED(UPMU_ERR_STATE, upmu_set_add(&host.session.set, "cycles", NULL));
    REFUSED(UPMU_ERR_STATE, upmu_session_ring(&host.session, host.ring, sizeof host.ring));
    REFUSED(UPMU_ERR_STATE, upmu_session_attach_cpu(&host.session, &host.cpu[0]));
    assert_int_not_equal(upmu_session_start(&host.session), UPMU_OK);
    assert_int_not_equal(upmu_session_stop(&host.session), UPMU_OK);
    (void)!upmu_set_read(&host.session.set, 0, 1, &count);
    assert_int_equal(host_drain(&host, NULL), 2);
    host_end(&host);
}

static void regions_pass_on_what_refused_and_leave_nothing_behind(void **state)
{
    static struct upmu_region region;
    struct upmu_cpu never;
    struct host host;

    (void)state;
    memset(&never, 0, sizeof never);
    host_set_up(&host, "core2");
    REFUSED(UPMU_ERR_NO_PMU, upmu_region_open(&region, &never, "cycles"));
    REFUSED(UPMU_ERR_NO_SUCH_EVENT, upmu_region_open(&region, &host.cpu[0], "nothing"));
    REFUSED(UPMU_ERR_DOES_NOT_FIT, upmu_region_open(&region, &host.cpu[0], "branches,cache-references,bus-cycles"));
    assert_null(host.cpu[0].meter.sessions);
    REFUSED(UPMU_ERR_STATE, upmu_region_begin(&region));
    REFUSED(UPMU_ERR_STATE, upmu_region_end(&region));
    assert_int_equal(upmu_set_add(&host.session.set, "branches,cache-references", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    REFUSED(UPMU_ERR_DOES_NOT_FIT, upmu_region_open(&region, &host.cpu[0], "bus-cycles"));
    assert_int_equal(region.session.why.collision, UPMU_COLLISION_COUNTERS);
    assert_ptr_equal(host.cpu[0].meter.sessions, &host.session);
    assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    assert_int_equal(upmu_region_open(&region, &host.cpu[0], "branches,cycles"), UPMU_OK);
    host_run(&host, 100);
    assert_int_equal(upmu_region_begin(&region), UPMU_OK);
    host_run(&host, 1000);
    assert_int_equal(upmu_region_end(&region), UPMU_OK);
    assert_int_equal(region.count[0].value, 500);
    assert_int_equal(region.count[1].value, 2000);
    host.sim.fault_at = host.sim.accesses + 1;
    host.sim.fault_until = host.sim.accesses + 2;
    REFUSED(UPMU_ERR_PORT, upmu_region_begin(&region));
    assert_int_equal(upmu_region_close(&region), UPMU_OK);
    assert_int_equal(upmu_region_close(&region), UPMU_OK);
    host_end(&host);
}

static void starting_and_stopping_twice_does_nothing(void **state)
{
    struct host host;
    uint32_t accesses;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_set_add(&host.session.set, "cycles", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    accesses = host.sim.accesses;
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    assert_int_equal(host.sim.accesses, accesses);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    accesses = host.sim.accesses;
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    assert_int_equal(host.sim.accesses, accesses);
    host_end(&host);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(add_refuses_what_it_cannot_understand_place_or_sample),
        cmocka_unit_test(add_adds_all_of_a_list_or_nothing),
        cmocka_unit_test(an_attached_session_takes_no_events_and_no_ring),
        cmocka_unit_test(a_ring_has_its_size_and_alignment),
        cmocka_unit_test(a_detached_session_cannot_be_run),
        cmocka_unit_test(attach_needs_a_living_cpu_of_the_events_pmu),
        cmocka_unit_test(attach_refuses_what_does_not_fit_even_alone),
        cmocka_unit_test(start_refuses_what_does_not_fit_beside_what_runs),
        cmocka_unit_test(precise_events_count_without_memory_for_records),
        cmocka_unit_test(from_another_cpu_without_a_way_there_calls_are_refused),
        cmocka_unit_test(an_unreachable_cpu_refuses_as_well),
        cmocka_unit_test(a_read_that_faults_says_so_and_the_session_runs_on),
        cmocka_unit_test(write_gives_a_count_a_value_at_any_time),
        cmocka_unit_test(replace_changes_one_event_of_a_session_that_does_not_run),
        cmocka_unit_test(dry_run_lists_writes_and_touches_nothing),
        cmocka_unit_test(a_dry_run_lists_the_interrupts_of_a_start),
        cmocka_unit_test(replace_refuses_a_second_event),
        cmocka_unit_test(a_closed_session_refuses_everything),
        cmocka_unit_test(regions_pass_on_what_refused_and_leave_nothing_behind),
        cmocka_unit_test(starting_and_stopping_twice_does_nothing),
    };

    return cmocka_run_group_tests_name("refusals", tests, NULL, NULL);
}
