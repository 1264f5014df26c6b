/* SPDX-License-Identifier: MIT */
/*
 * Counters change hands: what one session or the host leaves there is in nothing that
 * the next one counts.  The class of mistake: state of the one before (a flag, a base, a
 * status bit, a gate bit) that outlives its use of the counter.
 */
#include "tests/common/garbage.h"
#include "tests/common/host.h"
#include <upmu/session.h>
#include <upmu/set.h>

#define BRANCHES(branches) (2 * (branches)) /* instructions that make them */

static void starts(struct upmu_session *session)
{
    assert_int_equal(upmu_session_start(session), UPMU_OK);
}

static void stops(struct upmu_session *session)
{
    assert_int_equal(upmu_session_stop(session), UPMU_OK);
}

/* Two sets that both count and sample branches, which follow each other. */
static void two_sets(struct upmu_session *session, struct upmu_set *second, uint64_t period)
{
    struct upmu_sampling sampling = {.period = period, .switch_after = 1};

    assert_int_equal(upmu_session_shuffle(session, false, 0), UPMU_OK);
    assert_int_equal(upmu_session_add_set(session, NULL, 0, UPMU_SET_OVERFLOW_SWITCH, 0), UPMU_OK);
    assert_int_equal(upmu_session_add_set(session, second, 1, UPMU_SET_OVERFLOW_SWITCH, 0), UPMU_OK);
    assert_int_equal(upmu_set_add(&session->set, "branches", &sampling), UPMU_OK);
    assert_int_equal(upmu_set_add(second, "branches:k", &sampling), UPMU_OK);
}

static uint64_t raw(struct upmu_set *set)
{
    struct upmu_count count;

    assert_int_equal(upmu_set_read(set, 0, 1, &count), UPMU_OK);
    return count.raw;
}

/* `session` is stopped between an overflow and its interrupt: it wants its next set, and waits for a start. */
static void stop_before_the_interrupt(struct host *host, struct upmu_session *session)
{
    host_begin(host, session);
    upmu_sim_irqs(&host->sim, false);
    host_run(host, BRANCHES(1000));
    stops(session);
    upmu_sim_irqs(&host->sim, true);
    assert_int_equal(session->state, UPMU_SESSION_STOPPED);
}

static void a_stopped_session_that_wants_its_next_set_closes_its_own(void **state)
{
    struct host host;
    struct upmu_set mine, theirs;
    struct upmu_set_info left, info;
    uint64_t before;

    (void)state;
    host_prepare(&host, "skylake");
    upmu_sim_set_delivery(&host.sim, 0, 0x40);
    host_start(&host);
    upmu_sim_irqs(&host.sim, true);
    host.sim.ns_per_access = 10;
    two_sets(&host.session, &mine, 1000);
    two_sets(&host.other, &theirs, 1000);
    stop_before_the_interrupt(&host, &host.session);
    host_begin(&host, &host.other);
    /* Both sets get their places. */
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(upmu_session_switch(&host.other, NULL), UPMU_OK);
    before = raw(&host.other.set) + raw(&theirs);
    host_run(&host, BRANCHES(10000));
    assert_int_equal(host.other.state, UPMU_SESSION_RUNNING);
    assert_int_equal(raw(&host.other.set) + raw(&theirs) - before, 10000);
    assert_int_equal(upmu_session_close(&host.other), UPMU_OK);
    /* The stopped session goes on with its next set, and its first set runs no more before that. */
    upmu_set_ask(&host.session.set, &left);
    starts(&host.session);
    assert_ptr_equal(host.session.active, &mine);
    upmu_set_ask(&host.session.set, &info);
    assert_int_equal(info.duration_ns, left.duration_ns);
    assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
    host_end(&host);
}

/* Three ways to stop and start a session within one call. */
static void written(struct host *host)
{
    /* The event that is written is the one that does not sample. */
    assert_int_equal(upmu_set_write(&host->session.set, 1, 0), UPMU_OK);
}

static void slept(struct host *host)
{
    assert_int_equal(upmu_cpu_suspend(&host->cpu[0]), UPMU_OK);
    assert_int_equal(upmu_cpu_resume(&host->cpu[0]), UPMU_OK);
}

/* A CPU's own session takes all counters and gives them back. */
static void made_room(struct host *host)
{
    assert_int_equal(upmu_set_add(&host->other.set, "branches,branch-misses,cache-misses,cache-references", NULL),
                     UPMU_OK);
    host_begin(host, &host->other);
    assert_int_equal(host->session.state, UPMU_SESSION_WAITING);
    assert_int_equal(upmu_session_close(&host->other), UPMU_OK);
}

/*
 * Such a call finds an overflow whose interrupt has not come: the next set runs afterwards, and no time is counted that
 * was not there.
 */
static void an_overflow_found_between_stop_and_start_changes_the_set(void **state)
{
    static void (*const between[])(struct host *) = {written, slept, made_room};

    (void)state;
    for (unsigned i = 0; i < sizeof between / sizeof between[0]; i++) {
        struct host host;
        struct upmu_set second;
        struct upmu_set_info info;

        host_prepare(&host, "skylake");
        upmu_sim_set_delivery(&host.sim, 0, 0x40);
        host_start(&host);
        upmu_sim_irqs(&host.sim, true);
        host.sim.ns_per_access = 10;
        two_sets(&host.session, &second, 1000);
        assert_int_equal(upmu_set_add(&host.session.set, "branch-misses", NULL), UPMU_OK);
        assert_int_equal(upmu_session_share(&host.session, true), UPMU_OK);
        host_begin(&host, &host.session);
        upmu_sim_irqs(&host.sim, false);
        host_run(&host, BRANCHES(1000));
        upmu_sim_advance_ns(&host.sim, 1000);
        between[i](&host);
        assert_int_equal(host.session.state, UPMU_SESSION_RUNNING);
        if (host.session.active != &second)
            fail_msg("case %u: the set that has overflowed runs on", i);
        upmu_sim_irqs(&host.sim, true);
        upmu_sim_advance_ns(&host.sim, 1000);
        host_run(&host, BRANCHES(1));
        assert_int_equal(raw(&host.session.set), 1000);
        assert_int_equal(raw(&second), 1);
        stops(&host.session);
        for (struct upmu_set *set = host.session.sets; set; set = set->next) {
            upmu_set_ask(set, &info);
            if (info.duration_ns > 20000)
                fail_msg("case %u: set %u ran %llx ns", i, info.number, (unsigned long long)info.duration_ns);
        }
        assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
        host_end(&host);
    }
}

static void switches(struct host *host, struct upmu_thread *from, struct upmu_thread *to)
{
    assert_int_equal(upmu_thread_switch(&host->cpu[0], from, to), UPMU_OK);
}

/* What a static counter counted while it ran for no session is in no count, however its session is loaded again. */
static void a_static_session_placed_anew_begins_where_its_counter_is(void **state)
{
    (void)state;
    for (unsigned samples = 0; samples < 2; samples++) {
        struct host host;
        struct upmu_thread thread, idle;
        struct upmu_count count;

        host_set_up(&host, "skylake");
        upmu_thread_init(&thread, 1, 1, NULL);
        upmu_thread_init(&idle, 2, 2, NULL);
        assert_int_equal(upmu_set_add(&host.session.set, "branches", NULL), UPMU_OK);
        assert_int_equal(upmu_session_static(&host.session, true), UPMU_OK);
        assert_int_equal(upmu_session_attach_thread(&host.session, &thread, NULL), UPMU_OK);
        starts(&host.session);
        switches(&host, &idle, &thread);
        host_run(&host, BRANCHES(1000));
        switches(&host, &thread, &idle);
        host_run(&host, BRANCHES(777));
        /* Another session is there now: the placement that it had is not known to be good. */
        assert_int_equal(
            upmu_set_add(&host.other.set, "instructions", &(struct upmu_sampling){.period = samples * 1000}), UPMU_OK);
        host_begin(&host, &host.other);
        switches(&host, &idle, &thread);
        host_run(&host, BRANCHES(10));
        assert_int_equal(upmu_set_read(&host.session.set, 0, 1, &count), UPMU_OK);
        assert_int_equal(count.raw, 1010);
        assert_int_equal(count.quality, UPMU_QUALITY_EXACT);
        assert_int_equal(upmu_session_close(&host.other), UPMU_OK);
        assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
        host_end(&host);
    }
}

#define TEN_MINUTES_NS UINT64_C(600000000000)
#define SELECT_0 0x186
#define GLOBAL_STATUS 0x38e
#define GLOBAL_CTRL 0x38f

/* The host's watchdog on counter 0. */
static void host_takes(struct host *host)
{
    assert_int_equal(upmu_cpu_reserve(&host->cpu[0], 1), UPMU_OK);
    upmu_sim_poke(&host->sim, 0, SELECT_0, 0x4300c0);
    upmu_sim_poke(&host->sim, 0, GLOBAL_CTRL, upmu_sim_peek(&host->sim, 0, GLOBAL_CTRL) | 1);
}

static void host_closes(struct host *host)
{
    upmu_sim_poke(&host->sim, 0, GLOBAL_CTRL, upmu_sim_peek(&host->sim, 0, GLOBAL_CTRL) & ~UINT64_C(1));
}

/* Ways by which counter 0 becomes free with its overflow flag set. */
static void unreserved(struct host *host)
{
    host_takes(host);
    upmu_sim_poke(&host->sim, 0, GLOBAL_STATUS, 1);
    host_closes(host);
    upmu_cpu_unreserve(&host->cpu[0], 1);
}

static void taken_from_the_firmware(struct host *host)
{
    assert_int_equal(upmu_cpu_fini(&host->cpu[0]), UPMU_OK);
    upmu_sim_poke(&host->sim, 0, SELECT_0, 0x4300c0);
    upmu_sim_poke(&host->sim, 0, GLOBAL_CTRL, 1);
    upmu_sim_poke(&host->sim, 0, GLOBAL_STATUS, 1);
    assert_int_equal(upmu_cpu_init(&host->cpu[0], &host->machine, NULL), UPMU_OK);
    assert_int_equal(host->cpu[0].meter.firmware, 1);
    upmu_cpu_take_firmware(&host->cpu[0]);
}

/* The interrupt of its overflow was dropped: LVTPC was masked by something else. */
static void left_by_a_session(struct host *host)
{
    assert_int_equal(upmu_set_add(&host->other.set, "branches:counter=0", &(struct upmu_sampling){.period = 1000}),
                     UPMU_OK);
    host_begin(host, &host->other);
    host->sim.cpu[0].lvtpc |= UPMU_SIM_LVTPC_MASKED;
    host_run(host, BRANCHES(1000));
    assert_int_equal(upmu_session_close(&host->other), UPMU_OK);
    assert_int_equal(upmu_sim_peek(&host->sim, 0, GLOBAL_STATUS), 1);
}

/* The interrupt of a wrap was dropped, and a stop has found the wrap. */
static void wrapped_under_a_session(struct host *host)
{
    assert_int_equal(upmu_set_add(&host->other.set, "branches:counter=0", NULL), UPMU_OK);
    host_begin(host, &host->other);
    host->sim.cpu[0].counter[0].value = (UINT64_C(1) << 48) - 10;
    assert_int_equal(upmu_cpu_poll(&host->cpu[0]), UPMU_OK);
    host->sim.cpu[0].lvtpc |= UPMU_SIM_LVTPC_MASKED;
    host_run(host, BRANCHES(1000));
    assert_int_equal(upmu_sim_peek(&host->sim, 0, GLOBAL_STATUS), 1);
    assert_int_equal(upmu_session_close(&host->other), UPMU_OK);
}

/* Nine minutes later the flag looks as if the counter had gone all the way round. */
static void a_flag_of_the_one_before_adds_no_round(void **state)
{
    static void (*const ways[])(struct host *) = {unreserved, taken_from_the_firmware, left_by_a_session,
                                                wrapped_under_a_session};

    (void)state;
    for (unsigned i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        struct host host;
        struct upmu_count count;

        host_set_up(&host, "skylake");
        ways[i](&host);
        assert_int_equal(upmu_set_add(&host.session.set, "branches:counter=0", NULL), UPMU_OK);
        host_begin(&host, &host.session);
        host_run(&host, BRANCHES(1000));
        upmu_sim_advance_ns(&host.sim, TEN_MINUTES_NS);
        upmu_sim_foreign_nmi(&host.sim);
        host_run(&host, BRANCHES(10));
        assert_int_equal(upmu_set_read(&host.session.set, 0, 1, &count), UPMU_OK);
        if (count.raw != 1010)
            fail_msg("way %u: %llx", i, (unsigned long long)count.raw);
        assert_int_equal(count.quality, UPMU_QUALITY_EXACT);
        assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
        assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
    }
}

/* A flag that no write clears may be taken for a wrap of what comes: that does not start. */
static void what_comes_under_a_flag_that_cannot_be_cleared_is_refused(void **state)
{
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    host.sim.expect_faults = true;
    assert_int_equal(upmu_set_add(&host.session.set, "branches:counter=0", NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[0]), UPMU_OK);
    left_by_a_session(&host);
    host.sim.fault_address = 0x390;
    assert_int_equal(upmu_session_start(&host.session), UPMU_ERR_PORT);
    host.sim.fault_address = 0;
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    assert_int_equal(upmu_sim_peek(&host.sim, 0, GLOBAL_STATUS), 0);
    host_end(&host);
}

static void nmi_before(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind, uint32_t address)
{
    (void)cpu, (void)number, (void)kind, (void)address;
    upmu_sim_foreign_nmi(sim);
}

/* The gate of a counter that the host has closed and given back is not opened by a handler that knew it open. */
static void what_the_host_closed_stays_closed_when_it_is_given_back(void **state)
{
    (void)state;
    for (unsigned meets = 0; meets < 2; meets++) {
        struct host host;
        uint64_t counted;

        host_set_up(&host, "skylake");
        host_takes(&host);
        host_sample(&host, "branch-misses:counter=1", 1000);
        host_run(&host, BRANCHES(1000));
        host_closes(&host);
        upmu_cpu_unreserve(&host.cpu[0], 1);
        counted = host.sim.cpu[0].counter[0].counted;
        if (!meets)
            upmu_sim_foreign_nmi(&host.sim);
        host_run(&host, BRANCHES(1000));
        assert_int_equal(host.sim.cpu[0].counter[0].counted, counted);
        assert_false(upmu_sim_runs(&host.sim, 0, 0));
        /* Nor is a session loaded under it. */
        assert_int_equal(upmu_set_add(&host.other.set, "instructions:counter=0", NULL), UPMU_OK);
        host.sim.events_per_access = 1;
        host.sim.before_access = meets ? nmi_before : NULL;
        assert_int_equal(upmu_session_attach_cpu(&host.other, &host.cpu[0]), UPMU_OK);
        assert_int_equal(host.sim.cpu[0].counter[0].counted, counted);
        host.sim.before_access = NULL;
        host.sim.events_per_access = 0;
        assert_int_equal(upmu_session_close(&host.other), UPMU_OK);
        assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
        host_end(&host);
    }
}

/* What another owner was found to use stays as it is, also in registers that sessions share with it. */
static void the_gate_of_a_counter_found_in_use_is_left_alone(void **state)
{
    (void)state;
    for (unsigned open = 0; open < 2; open++) {
        struct host host;
        struct upmu_why why;

        host_set_up(&host, "core2");
        assert_int_equal(upmu_set_add(&host.session.set, "branches:counter=1", NULL), UPMU_OK);
        host_begin(&host, &host.session);
        assert_int_equal(upmu_cpu_verify(&host.cpu[0], &why), UPMU_OK);
        assert_int_equal(upmu_set_add(&host.other.set, "branches:counter=0", NULL), UPMU_OK);
        assert_int_equal(upmu_session_attach_cpu(&host.other, &host.cpu[0]), UPMU_OK);
        assert_int_equal(upmu_session_close(&host.other), UPMU_OK);
        upmu_sim_poke(&host.sim, 0, SELECT_0, 0x4300c0);
        assert_int_equal(upmu_cpu_verify(&host.cpu[0], &why), UPMU_ERR_CHANGED);
        assert_int_equal(host.cpu[0].meter.foreign, 1);
        for (unsigned i = 0; i < 2; i++) {
            uint64_t bit = i ^ open;

            upmu_sim_poke(&host.sim, 0, GLOBAL_CTRL, (upmu_sim_peek(&host.sim, 0, GLOBAL_CTRL) & ~UINT64_C(1)) | bit);
            stops(&host.session);
            assert_int_equal(upmu_sim_peek(&host.sim, 0, GLOBAL_CTRL) & 1, bit);
            starts(&host.session);
            assert_int_equal(upmu_sim_peek(&host.sim, 0, GLOBAL_CTRL) & 1, bit);
        }
        assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
        assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, GLOBAL_CTRL) & 1, !open);
    }
}

/* ---- Times, differences and faults ---- */

/* The enabled time of a session that waits goes on while its CPU starts over. */
static void a_session_that_waits_is_enabled_while_its_cpu_starts_over(void **state)
{
    (void)state;
    for (unsigned writes = 0; writes < 2; writes++) {
        struct host host;
        struct upmu_count count;

        host_set_up(&host, "skylake");
        assert_int_equal(upmu_set_add(&host.other.set, "branches:counter=0", NULL), UPMU_OK);
        host_begin(&host, &host.other);
        assert_int_equal(upmu_set_add(&host.session.set, "branches:counter=0", NULL), UPMU_OK);
        assert_int_equal(upmu_session_share(&host.session, true), UPMU_OK);
        host_begin(&host, &host.session);
        assert_int_equal(host.session.state, UPMU_SESSION_WAITING);
        upmu_sim_advance_ns(&host.sim, 1000000);
        if (writes)
            assert_int_equal(upmu_set_write(&host.session.set, 0, 0), UPMU_OK);
        upmu_sim_advance_ns(&host.sim, 500000);
        assert_int_equal(upmu_cpu_changed(&host.cpu[0]), UPMU_OK);
        upmu_sim_advance_ns(&host.sim, 500000);
        assert_int_equal(upmu_set_read(&host.session.set, 0, 1, &count), UPMU_OK);
        assert_int_equal(count.enabled_ns, writes ? 1000000 : 2000000);
        assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
        assert_int_equal(upmu_session_close(&host.other), UPMU_OK);
        host_end(&host);
    }
}

/*
 * After an unreserve the common gate is not known.  A handler reads it while it has stopped two sessions, and changes
 * the set of one: the other one runs on.
 */
static void what_a_handler_stops_runs_on_after_an_unreserve(void **state)
{
    static const struct {
        const char *profile;
        uint32_t reserved;
    } rows[] = {{"core2", 1u << 1}, {"skylake", 1u << 3}, {"icelake", 1u << 3}, {"zen4", 1u << 3}};

    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct host host;
        struct upmu_set second;
        uint64_t begun;

        host_set_up(&host, rows[i].profile);
        assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
        two_sets(&host.session, &second, 1000);
        host_begin(&host, &host.session);
        assert_int_equal(
            upmu_set_add(&host.other.set, "instructions:k", &(struct upmu_sampling){.period = UINT64_C(1) << 24}),
            UPMU_OK);
        host_begin(&host, &host.other);
        for (unsigned k = 0; k < 2; k++) { /* both sets have their places then */
            host_run(&host, BRANCHES(1000));
            assert_int_equal(upmu_cpu_tick(&host.cpu[0]), UPMU_OK);
        }
        assert_int_equal(upmu_cpu_reserve(&host.cpu[0], rows[i].reserved), UPMU_OK, i);
        upmu_cpu_unreserve(&host.cpu[0], rows[i].reserved);
        begun = host_value(&host.other, 0);
        host_run(&host, BRANCHES(1000));
        assert_ptr_equal(host.session.active, &second);
        host_run(&host, BRANCHES(400));
        assert_int_equal(host_value(&host.other, 0) - begun, BRANCHES(1400));
        assert_int_equal(raw(&second), 1400);
        assert_int_equal(upmu_session_close(&host.other), UPMU_OK);
        assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
        host_end(&host);
    }
}

/* Time goes on between the stop and the start that a write consists of. */
static void a_session_that_is_written_stays_enabled(void **state)
{
    struct upmu_count before, after;
    struct host host;
    uint64_t begun_ns;

    (void)state;
    host_prepare(&host, "skylake");
    host.sim.ns_per_access = 10;
    host_start(&host);
    assert_int_equal(upmu_set_add(&host.session.set, "instructions,branches", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    before = host_count(&host.session, 1);
    begun_ns = host.sim.now_ns;
    assert_int_equal(upmu_set_write(&host.session.set, 0, 0), UPMU_OK);
    after = host_count(&host.session, 1);
    assert_int_equal(after.enabled_ns - before.enabled_ns, host.sim.now_ns - begun_ns);
    host_end(&host);
}

static uint32_t overflow_at;

static void overflow_before(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind,
                            uint32_t address)
{
    (void)cpu, (void)kind, (void)address;
    if (number == overflow_at)
        host_run(sim->test, BRANCHES(1000));
}

/* A handler that closes a session in the middle of a look is no change by another owner. */
static void verify_finds_no_difference_where_a_handler_closed_a_session(void **state)
{
    static const char *const profiles[] = {"core2", "skylake", "version1", "p6", "zen4", "k8_revf"};
    unsigned masked = 0;

    (void)state;
    for (unsigned p = 0; p < sizeof profiles / sizeof profiles[0]; p++)
        for (uint32_t at = 1; at < 30; at++) {
            struct host host;
            struct upmu_why why;

            host_set_up(&host, profiles[p]);
            upmu_session_mask_on_full(&host.session, true);
            assert_int_equal(upmu_session_ring(&host.session, host.ring, 256), UPMU_OK);
            assert_int_equal(upmu_set_add(&host.session.set, "branches", &(struct upmu_sampling){.period = 1000}),
                             UPMU_OK);
            host_begin(&host, &host.session);
            /* The ring has no room for a sixth sample. */
            for (unsigned i = 0; i < 5; i++)
                host_run(&host, BRANCHES(1000));
            assert_int_equal(host.session.state, UPMU_SESSION_RUNNING);
            host.sim.before_access = overflow_before;
            overflow_at = host.sim.accesses + at;
            if (upmu_cpu_verify(&host.cpu[0], &why) != UPMU_OK)
                fail_msg("%s, access %u: %x differs", profiles[p], (unsigned)at, (unsigned)why.address);
            masked += host.session.state == UPMU_SESSION_MASKED;
            host.sim.before_access = NULL;
            assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
            host_end(&host);
        }
    assert_compare(masked, >, 10);
}

static struct upmu_port real;
static uint32_t reads_to_fail, failing;
static unsigned in_handler;

static bool read_faults(void *context, uint32_t address, uint64_t *out_value)
{
    struct upmu_sim *sim = context;

    if (address == failing && in_handler && reads_to_fail) {
        reads_to_fail--;
        return garbage(out_value);
    }
    return sim->port.rdmsr == read_faults ? real.rdmsr(context, address, out_value) : false;
}

static void deliver_faulty(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_interrupt *interrupt)
{
    in_handler = 1;
    host_deliver(sim, cpu, interrupt);
    in_handler = 0;
}

/*
 * A handler that cannot read the common gate does not write what it knew of the host's bit.  After a second fault its
 * session is stopped, and can be started again.
 */
static void a_handler_that_cannot_read_the_gates_leaves_the_hosts_alone(void **state)
{
    (void)state;
    for (uint32_t reads = 1; reads < 8; reads++) {
        struct host host;

        host_prepare(&host, "skylake");
        host.sim.deliver = deliver_faulty;
        real = host.sim.port;
        host.sim.port.rdmsr = read_faults;
        host.sim.expect_faults = true;
        host_start(&host);
        host_takes(&host);
        host_sample(&host, "branch-misses:counter=1,instructions", 1000);
        host_run(&host, 500);
        /* The host has switched its watchdog off since. */
        host_closes(&host);
        failing = GLOBAL_CTRL;
        reads_to_fail = reads;
        host_run(&host, 1000);
        reads_to_fail = 0;
        assert_int_equal(upmu_sim_peek(&host.sim, 0, GLOBAL_CTRL) & 1, 0);
        assert_int_equal(upmu_cpu_tick(&host.cpu[0]), UPMU_OK);
        host_run(&host, 1000);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, GLOBAL_CTRL) & 1, 0);
        assert_int_equal(host.session.state, reads > 1 ? UPMU_SESSION_STOPPED : UPMU_SESSION_RUNNING);
        assert_int_equal(host.session.error, reads > 1 ? UPMU_ERR_PORT : UPMU_OK);
        if (reads > 1)
            assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
        host_run(&host, 1000);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, GLOBAL_CTRL) & 1, 0);
        assert_compare(host_value(&host.session, 1), >=, 1000);
        assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
        upmu_cpu_unreserve(&host.cpu[0], 1);
        host_end(&host);
    }
}

/*
 * A fault while a CPU falls asleep: what was found before upmu came is restored by the next end all the same.  So is
 * the control of fixed counters (38Dh), whose session was stopped before: nothing writes it from then on.
 */
static void what_was_found_outlives_a_fault_at_sleep(void **state)
{
    (void)state;
    for (unsigned stopped = 0; stopped < 2; stopped++)
        for (uint32_t faults = 1; faults < 4; faults++)
            for (uint32_t at = 1; at < 30; at++) {
                struct host host;
                uint64_t debugctl;

                host_prepare(&host, "skylake");
                upmu_sim_poke(&host.sim, 0, 0x1d9, 0x1801);
                host_start(&host);
                host_sample(&host, "instructions", 1000);
                host_run(&host, 1500);
                if (stopped)
                    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
                host.sim.expect_faults = true;
                host.sim.fault_at = host.sim.accesses + at;
                host.sim.fault_until = faults < 3 ? host.sim.fault_at + faults - 1 : host.sim.fault_at + 100;
                (void)!upmu_cpu_suspend(&host.cpu[0]);
                host.sim.fault_at = host.sim.fault_until = 0;
                assert_int_equal(upmu_cpu_resume(&host.cpu[0]), UPMU_OK);
                assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
                assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
                debugctl = upmu_sim_peek(&host.sim, 0, 0x1d9);
                if (debugctl != 0x1801 || upmu_sim_peek(&host.sim, 0, 0x38d))
                    fail_msg("%u faults at %u: DEBUGCTL is %llx, the control of fixed counters %llx", (unsigned)faults,
                             (unsigned)at, (unsigned long long)debugctl,
                             (unsigned long long)upmu_sim_peek(&host.sim, 0, 0x38d));
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stopped_session_that_wants_its_next_set_closes_its_own),
        cmocka_unit_test(an_overflow_found_between_stop_and_start_changes_the_set),
        cmocka_unit_test(a_static_session_placed_anew_begins_where_its_counter_is),
        cmocka_unit_test(a_flag_of_the_one_before_adds_no_round),
        cmocka_unit_test(what_comes_under_a_flag_that_cannot_be_cleared_is_refused),
        cmocka_unit_test(what_the_host_closed_stays_closed_when_it_is_given_back),
        cmocka_unit_test(the_gate_of_a_counter_found_in_use_is_left_alone),
        cmocka_unit_test(a_session_that_waits_is_enabled_while_its_cpu_starts_over),
        cmocka_unit_test(what_a_handler_stops_runs_on_after_an_unreserve),
        cmocka_unit_test(a_session_that_is_written_stays_enabled),
        cmocka_unit_test(verify_finds_no_difference_where_a_handler_closed_a_session),
        cmocka_unit_test(a_handler_that_cannot_read_the_gates_leaves_the_hosts_alone),
        cmocka_unit_test(what_was_found_outlives_a_fault_at_sleep),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
