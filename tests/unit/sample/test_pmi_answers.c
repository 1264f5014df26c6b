/* SPDX-License-Identifier: MIT */
/*
 * What an interrupt is answered, and what it acknowledges, where one thing is not as it
 * usually is: another source's NMI came first, the status register hides a bit, the CPU has
 * just been given back, a counter is as wide as a register.  The class of mistake: a case
 * that the sources of interrupts do not have when each is tried alone.
 */
#include "tests/common/host.h"
#include "tests/common/state.h"
#include <upmu/session.h>
#include <upmu/set.h>
#include <upmu/world.h>

#define GLOBAL_STATUS 0x38e
#define RESET 0x390

static enum upmu_pmi last_answer(const struct host *host)
{
    assert_in_range(host->answers, 1, HOST_ANSWERS);
    return host->answer[host->answers - 1];
}

/* ---- Another source's NMI takes the overflow; that of the counter comes right after it ---- */

static void own_nmis_are_answered_after_a_foreign_one_took_the_overflow(void **state)
{
    static const char *const profiles[] = {"core2", "skylake", "version1", "p6", "zen4", "k8_revf"};

    (void)state;
    for (unsigned p = 0; p < sizeof profiles / sizeof profiles[0]; p++)
        for (unsigned frame = 0; frame < 2; frame++)
            for (uint32_t skid = 1; skid < 8; skid++) {
                struct host host;
                uint32_t own;

                host_prepare(&host, profiles[p]);
                host.no_frame = !frame;
                host.sim.ns_per_access = 100;
                host_start(&host);
                host_sample(&host, "branches", 1000);
                for (unsigned i = 0; i < 5; i++) {
                    host.sim.skid = skid;
                    upmu_sim_events(&host.sim, &(struct upmu_sim_burst){
                                                   .branches = 1000 - (i ? skid : 0), .cycles = 1, .ip = 0x1000});
                    own = host.sim.cpu[0].interrupts - host.sim.cpu[0].foreign;
                    upmu_sim_foreign_nmi(&host.sim);
                    if (host.sim.cpu[0].interrupts - host.sim.cpu[0].foreign == own)
                        upmu_sim_events(&host.sim,
                                        &(struct upmu_sim_burst){.branches = skid, .cycles = 1, .ip = 0x1000});
                    for (unsigned n = 0; n < host.answers; n++)
                        if (!host.was_foreign[n] && host.answer[n] == UPMU_PMI_NOT_OURS)
                            fail_msg("%s: skid %u, NMI %u of %u", profiles[p], (unsigned)skid, n, host.answers);
                    host.answers = 0;
                }
                assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
                host_end(&host);
            }
}

/*
 * So long after the last overflow no interrupt of ours is on its way, whatever it interrupts: each NMI is another
 * source's, and before that each may be ours.  Catches: an answer that depends on how many came before it.
 */
static void a_tenth_of_a_second_after_an_overflow_an_nmi_is_not_ours(void **state)
{
    static const struct {
        uint64_t passed_ns;
        enum upmu_pmi answer;
    } cases[] = {{1000, UPMU_PMI_STALE}, {60000, UPMU_PMI_STALE}, {95000000, UPMU_PMI_STALE},
                 {101000000, UPMU_PMI_NOT_OURS}};

    (void)state;
    for (unsigned frame = 0; frame < 2; frame++)
        for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            struct host host;

            host_prepare(&host, "skylake");
            host.no_frame = !frame;
            host_start(&host);
            host_sample(&host, "instructions", 1000);
            host_run(&host, 1000);
            assert_int_equal(last_answer(&host), UPMU_PMI_HANDLED);
            upmu_sim_advance_ns(&host.sim, cases[i].passed_ns);
            host_run(&host, 10);
            for (unsigned n = 0; n < 3; n++) {
                upmu_sim_foreign_nmi(&host.sim);
                assert_int_equal(last_answer(&host), cases[i].answer, i);
            }
            host_end(&host);
        }
}

/* A counter that only counts is about to wrap. */
static void wrap_soon(struct host *host, unsigned counter)
{
    host->sim.cpu[0].counter[counter].value = (UINT64_C(1) << 48) - 10;
}

/*
 * Overflows of several counters taken by one foreign NMI leave an interrupt each; of those that only count, too.
 * Catches: an interrupt taken for that of what it found.
 */
static void each_overflow_that_a_foreign_nmi_took_has_its_answer(void **state)
{
    static const struct {
        const char *events;
        unsigned count;
    } cases[] = {{"branches", 1}, {"branches,instructions", 2}, {"branches,instructions,cycles", 3}};

    (void)state;
    for (unsigned i = 0; i < 3; i++)
        for (unsigned sampled = 0; sampled < 2; sampled++) {
            struct host host;

            host_prepare(&host, "skylake");
            host.sim.deliver = NULL;
            host_start(&host);
            if (sampled) {
                host_sample(&host, cases[i].events, 1000);
            } else {
                assert_int_equal(upmu_set_add(&host.session.set, cases[i].events, NULL), UPMU_OK, i);
                host_begin(&host, &host.session);
                for (unsigned e = 0; e < cases[i].count; e++)
                    wrap_soon(&host, host.session.set.tally[e].counter);
            }
            host_run(&host, 2000);
            host.sim.cpu[0].in_nmi = true; /* these are the test's own */
            assert_int_equal(upmu_pmi_handle(&host.cpu[0], NULL), UPMU_PMI_HANDLED); /* another's */
            for (unsigned own = 0; own < cases[i].count; own++)
                assert_int_equal(upmu_pmi_handle(&host.cpu[0], NULL), UPMU_PMI_STALE);
            upmu_sim_advance_ns(&host.sim, 101000000);
            assert_int_equal(upmu_pmi_handle(&host.cpu[0], NULL), UPMU_PMI_NOT_OURS);
            host.sim.cpu[0].in_nmi = false;
            host_end(&host);
        }
}

/* ---- Acknowledgements ---- */

static struct upmu_port real;

static bool status_reads_0(void *context, uint32_t address, uint64_t *out_value)
{
    bool fine = real.rdmsr(context, address, out_value);

    if (address == GLOBAL_STATUS)
        *out_value = 0;
    return fine;
}

/* The value says what has overflowed; what is not acknowledged may not interrupt again. */
static void overflows_that_the_status_hides_are_acknowledged(void **state)
{
    static const char *const lists[] = {"instructions", "branches", "branches,instructions,cycles"};

    (void)state;
    for (unsigned l = 0; l < 3; l++)
        for (unsigned stopped = 0; stopped < 2; stopped++) {
            struct host host;

            host_prepare(&host, "skylake");
            real = host.sim.port;
            host.sim.port.rdmsr = status_reads_0;
            upmu_sim_set_delivery(&host.sim, 0, 0x40);
            host_start(&host);
            upmu_sim_irqs(&host.sim, true);
            host_sample(&host, lists[l], 1000);
            host_run(&host, 10000);
            assert_in_range(host_drain(&host, NULL), 5, 100);
            assert_int_equal(upmu_sim_peek(&host.sim, 0, GLOBAL_STATUS), 0);
            /* Also where a stop has settled it before its interrupt came. */
            upmu_sim_irqs(&host.sim, false);
            host_run(&host, 3000);
            if (stopped)
                assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
            upmu_sim_irqs(&host.sim, true);
            assert_int_not_equal(last_answer(&host), UPMU_PMI_NOT_OURS);
            assert_int_equal(upmu_sim_peek(&host.sim, 0, GLOBAL_STATUS), 0);
            host_end(&host);
        }
}

/*
 * Counters that only count wrap, and the status does not say so: it is an interrupt of ours all the same, counted and
 * acknowledged; another source's is not.  Catches: an answer that believes the status alone.
 */
static void a_wrap_that_the_status_hides_is_ours(void **state)
{
    static const char *const profiles[] = {"core2", "skylake", "icelake", "zen4"};

    (void)state;
    for (unsigned p = 0; p < 2 * sizeof profiles / sizeof profiles[0]; p++) {
        struct host host;
        unsigned counter;

        host_prepare(&host, profiles[p / 2]);
        real = host.sim.port;
        host.sim.port.rdmsr = status_reads_0;
        host_start(&host);
        assert_int_equal(upmu_set_add(&host.session.set, "branches,branches:k", NULL), UPMU_OK);
        host_begin(&host, &host.session);
        if (p & 1u) { /* with a count that has a gap, too */
            assert_int_equal(upmu_cpu_changed(&host.cpu[0]), UPMU_OK);
            upmu_sim_advance_ns(&host.sim, 101000000);
        }
        counter = host.session.set.tally[0].counter;
        host.sim.cpu[0].counter[counter].value = (UINT64_C(1) << host.cpu[0].meter.pmu->counter[counter].width) - 10;
        host.session.set.tally[0].base = host.sim.cpu[0].counter[counter].value;
        host_run(&host, 10);
        upmu_sim_foreign_nmi(&host.sim);
        assert_int_equal(last_answer(&host), UPMU_PMI_NOT_OURS);
        host.answers = 0;
        host_run(&host, 100);
        assert_int_equal(host.answers, 1);
        assert_int_equal(host.answer[0], UPMU_PMI_HANDLED);
        assert_int_equal(host.sim.cpu[0].status, 0);
        assert_int_equal(host_value(&host.session, 0), 110 / 2);
        upmu_sim_advance_ns(&host.sim, 101000000);
        upmu_sim_foreign_nmi(&host.sim);
        assert_int_equal(last_answer(&host), UPMU_PMI_NOT_OURS);
        host_end(&host);
    }
}

/*
 * A stopped session is written whose counter another one has by now.  Catches: the other's counter, thought to have no
 * start value, whose wrap is never taken, and each later interrupt is perhaps ours.
 */
static void a_write_to_a_stopped_session_touches_no_other(void **state)
{
    (void)state;
    for (unsigned hidden = 0; hidden < 2; hidden++) {
        struct upmu_sampling every = {.period = 1000};
        struct host host;

        host_prepare(&host, "skylake");
        real = host.sim.port;
        if (hidden)
            host.sim.port.rdmsr = status_reads_0;
        host_start(&host);
        assert_int_equal(upmu_set_add(&host.other.set, "instructions:counter=0", &every), UPMU_OK);
        assert_int_equal(upmu_session_attach_cpu(&host.other, &host.cpu[0]), UPMU_OK);
        assert_int_equal(upmu_set_add(&host.session.set, "branches:counter=0", NULL), UPMU_OK);
        host_begin(&host, &host.session);
        assert_int_equal(upmu_set_write(&host.other.set, 0, 5), UPMU_OK);
        host.sim.cpu[0].counter[0].value = (UINT64_C(1) << host.cpu[0].meter.pmu->counter[0].width) - 10;
        host.session.set.tally[0].base = host.sim.cpu[0].counter[0].value;
        host_run(&host, 100);
        assert_int_equal(host.answers, 1);
        assert_int_equal(host.answer[0], UPMU_PMI_HANDLED);
        upmu_sim_advance_ns(&host.sim, 101000000);
        upmu_sim_foreign_nmi(&host.sim);
        assert_int_equal(last_answer(&host), UPMU_PMI_NOT_OURS);
        assert_int_equal(host_value(&host.session, 0), 50);
        assert_int_equal(upmu_session_close(&host.other), UPMU_OK);
        host_end(&host);
    }
}

static unsigned refusals; /* so many writes of the common gates fault */

static bool refuse_gates(void *context, uint32_t address, uint64_t value)
{
    if (address == 0x38f && refusals) {
        refusals--;
        return false;
    }
    return real.wrmsr(context, address, value);
}

/*
 * A stopped session is written whose counter another one has by now, which samples and fails: a handler cannot stop it.
 * Catches: the other's counter, thought to hold no event's value, so that its count has a hole.
 */
static void a_write_to_a_stopped_session_makes_no_hole_in_another(void **state)
{
    struct upmu_sampling every = {.period = 1000};
    struct host host;

    (void)state;
    host_prepare(&host, "skylake");
    real = host.sim.port;
    host.sim.port.wrmsr = refuse_gates;
    host_start(&host);
    assert_int_equal(upmu_set_add(&host.other.set, "instructions:counter=0", &every), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(&host.other, &host.cpu[0]), UPMU_OK);
    host_sample(&host, "branches:counter=0", 1000);
    assert_int_equal(upmu_set_write(&host.other.set, 0, 5), UPMU_OK);
    refusals = 2;
    host_run(&host, 2000);
    assert_int_equal(refusals, 0);
    assert_int_equal(host.session.error, UPMU_ERR_PORT);
    assert_int_equal(host_count(&host.session, 0).value, 1000);
    assert_int_equal(host_count(&host.session, 0).quality, UPMU_QUALITY_EXACT);
    assert_int_equal(upmu_session_close(&host.other), UPMU_OK);
    host_end(&host);
}

/*
 * A session counts where another one sampled.
 * Catches: its counter taken for one that samples, whose value says that it has overflowed.
 */
static void what_counts_where_another_session_sampled_has_not_overflowed(void **state)
{
    struct upmu_sampling every = {.period = 1000};
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_set_add(&host.other.set, "instructions:counter=0", &every), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.session.set, "branches:counter=0", NULL), UPMU_OK);
    host_begin(&host, &host.other);
    assert_int_equal(upmu_session_stop(&host.other), UPMU_OK);
    host.sim.cpu[0].counter[0].value = 5;
    host_begin(&host, &host.session);
    host_run(&host, 100);
    upmu_sim_advance_ns(&host.sim, 101000000);
    upmu_sim_foreign_nmi(&host.sim);
    assert_int_equal(last_answer(&host), UPMU_PMI_NOT_OURS);
    assert_int_equal(host_value(&host.session, 0), 50);
    assert_int_equal(upmu_session_close(&host.other), UPMU_OK);
    host_end(&host);
}

static struct host *looked_at;
static unsigned look;
static enum upmu_pmi answered;

/* Our own interrupt arrives at this look of the call at the clock. */
static uint64_t clock_with_interrupt(void *context)
{
    uint64_t now_ns = real.clock_ns(context);

    if (looked_at && !look--) {
        struct host *host = looked_at;

        looked_at = NULL;
        answered = upmu_pmi_handle(&host->cpu[0], NULL);
    }
    return now_ns;
}

static struct upmu_thread threads[2];

static enum upmu_status poll(struct host *host)
{
    return upmu_cpu_poll(&host->cpu[0]);
}

static enum upmu_status stop(struct host *host)
{
    return upmu_session_stop(&host->session);
}

static enum upmu_status leave(struct host *host)
{
    return upmu_thread_switch(&host->cpu[0], &threads[0], &threads[1]);
}

/* A thread that comes has a session; that was compiled at the first time. */
static void follow(struct host *host)
{
    memset(threads, 0, sizeof threads);
    for (unsigned i = 0; i < 2; i++)
        upmu_thread_init(&threads[i], 1 + i, 1 + i, NULL);
    assert_int_equal(upmu_session_attach_thread(&host->session, &threads[0], NULL), UPMU_OK);
    assert_int_equal(upmu_session_start(&host->session), UPMU_OK);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(upmu_thread_switch(&host->cpu[0], &threads[~i & 1u], &threads[i & 1u]), UPMU_OK, i);
}

/* Interrupts are STALE however many come, and 100 ms later not the library's.  The end of a test. */
static void expected_for_100_ms(struct host *host)
{
    host->sim.cpu[0].in_nmi = true; /* these are the test's own */
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(upmu_pmi_handle(&host->cpu[0], NULL), UPMU_PMI_STALE);
    upmu_sim_advance_ns(&host->sim, 101000000);
    assert_int_equal(upmu_pmi_handle(&host->cpu[0], NULL), UPMU_PMI_NOT_OURS);
    host->sim.cpu[0].in_nmi = false;
    host_end(host);
}

/*
 * Whether a poll, a stop or a switch finds the wrap before its interrupt comes, or while it does, and whether the
 * session samples, too.  Catches: a rule for counters that sample only.
 */
static void a_wrap_that_a_local_call_folded_leaves_an_interrupt(void **state)
{
    static enum upmu_status (*const calls[])(struct host *) = {poll, stop, leave};

    (void)state;
    for (unsigned call = 0, at = 0; call < 6;) {
        struct host host;

        host_prepare(&host, "skylake");
        real = host.sim.port;
        host.sim.port.rdmsr = status_reads_0;
        host_start(&host);
        host.sim.deliver = NULL;
        assert_int_equal(upmu_set_add(&host.session.set, "branches", NULL), UPMU_OK);
        if (call & 1u)
            assert_int_equal(
                upmu_set_add(&host.session.set, "instructions", &(struct upmu_sampling){.period = 1000000}), UPMU_OK);
        if (calls[call / 2] == leave)
            follow(&host);
        else
            host_begin(&host, &host.session);
        wrap_soon(&host, host.session.set.tally[0].counter);
        assert_int_equal(upmu_cpu_poll(&host.cpu[0]), UPMU_OK);
        host_run(&host, 100);
        host.sim.port.clock_ns = clock_with_interrupt;
        looked_at = &host;
        look = at;
        assert_int_equal(calls[call / 2](&host), UPMU_OK, call);
        if (!looked_at)
            assert_int_equal(answered, UPMU_PMI_STALE);
        else
            assert_true(at);
        at = looked_at ? 0 : at + 1u;
        call += looked_at != NULL;
        looked_at = NULL;
        expected_for_100_ms(&host);
    }
}

/*
 * A counter that a handler cannot read has perhaps overflowed; its session is stopped.  Catches: an answer that takes a
 * fault for nothing.
 */
static void an_overflow_that_a_fault_hid_leaves_an_interrupt(void **state)
{
    struct host host;

    (void)state;
    host_prepare(&host, "k8_revf");
    host.sim.port.rdpmc = NULL;
    host_start(&host);
    host_sample(&host, "branches", 1000);
    host.sim.deliver = NULL;
    host_run(&host, 2500);
    host.sim.cpu[0].in_nmi = true; /* these are the test's own */
    host.sim.fault_address = 0xc0010004 + host.session.set.tally[0].counter;
    assert_int_equal(upmu_pmi_handle(&host.cpu[0], NULL), UPMU_PMI_STALE);
    host.sim.fault_address = 0;
    assert_int_equal(host.session.state, UPMU_SESSION_STOPPED);
    assert_int_equal(host.session.error, UPMU_ERR_PORT);
    expected_for_100_ms(&host);
}

/* Nor is a counter that a local call takes away and cannot read one without an overflow. */
static void an_overflow_that_a_fault_hid_from_a_call_leaves_an_interrupt(void **state)
{
    static enum upmu_status (*const calls[])(struct host *) = {stop, leave};
    static const struct upmu_sampling every = {.period = 1000};

    (void)state;
    for (unsigned call = 0; call < 2; call++)
        for (unsigned faults = 0; faults < 2; faults++) {
            struct host host;

            host_prepare(&host, "k8_revf");
            host.sim.port.rdpmc = NULL;
            host_start(&host);
            host.sim.deliver = NULL;
            assert_int_equal(upmu_set_add(&host.session.set, "branches", &every), UPMU_OK);
            if (calls[call] == leave)
                follow(&host);
            else
                host_begin(&host, &host.session);
            host.sim.cpu[0].in_nmi = true; /* these are the test's own */
            host_run(&host, 100);
            upmu_sim_advance_ns(&host.sim, 101000000);
            assert_int_equal(upmu_pmi_handle(&host.cpu[0], NULL), UPMU_PMI_NOT_OURS);
            host_run(&host, 2500);
            host.sim.fault_address = faults ? 0xc0010004 + host.session.set.tally[0].counter : 0;
            host.sim.cpu[0].in_nmi = false;
            (void)calls[call](&host);
            host.sim.cpu[0].in_nmi = true;
            assert_int_equal(host.session.error, faults ? UPMU_ERR_PORT : UPMU_OK);
            host.sim.fault_address = 0;
            assert_int_equal(upmu_pmi_handle(&host.cpu[0], NULL), UPMU_PMI_STALE);
            upmu_sim_advance_ns(&host.sim, 101000000);
            assert_int_equal(upmu_pmi_handle(&host.cpu[0], NULL), UPMU_PMI_NOT_OURS);
            host.sim.cpu[0].in_nmi = false;
            host_end(&host);
        }
}

/*
 * Every access of an entry into a guest faults, so that nothing can be learned of a counter that has just overflowed.
 * Catches: an interrupt expected only where something was read.
 */
static void an_overflow_of_which_nothing_can_be_read_leaves_an_interrupt(void **state)
{
    struct host host;

    (void)state;
    host_set_up(&host, "k8_revf");
    host.sim.deliver = NULL;
    assert_int_equal(upmu_session_world(&host.session, UPMU_WORLD_HOST), UPMU_OK);
    host_sample(&host, "branches", 1000);
    host_run(&host, 2500);
    host.sim.fault_at = host.sim.accesses + 1;
    host.sim.fault_until = host.sim.fault_at + 1000;
    assert_int_equal(upmu_cpu_enter_guest(&host.cpu[0]), UPMU_ERR_PORT);
    host.sim.fault_at = host.sim.fault_until = 0;
    assert_int_equal(host.session.state, UPMU_SESSION_STOPPED);
    expected_for_100_ms(&host);
}

/*
 * A fault kept the library from giving a counter its start value: its value below that of the event before is no wrap,
 * whether the status has a flag or not.
 */
static void a_counter_without_its_start_value_has_not_wrapped(void **state)
{
    (void)state;
    for (unsigned flag = 0; flag < 2; flag++) {
        struct host host;

        host_prepare(&host, "skylake");
        host.sim.port.rdpmc = NULL;
        host_start(&host);
        assert_int_equal(upmu_set_add(&host.session.set, "branches:counter=0", NULL), UPMU_OK);
        host_begin(&host, &host.session);
        host_run(&host, 2000);
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        upmu_test_forget_value(&host.cpu[0], 0);
        host.sim.cpu[0].counter[0].value = 10;
        host.sim.cpu[0].status = flag;
        host.sim.fault_address = 0xc1;
        assert_int_equal(upmu_session_start(&host.session), UPMU_ERR_PORT);
        host.sim.fault_address = 0;
        assert_int_equal(host.session.state, UPMU_SESSION_STOPPED);
        upmu_sim_foreign_nmi(&host.sim);
        assert_int_equal(last_answer(&host), flag ? UPMU_PMI_HANDLED : UPMU_PMI_NOT_OURS);
        assert_int_equal(host.session.set.tally[0].total, 1000);
        assert_int_equal(host.sim.cpu[0].status, 0);
        assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
    }
}

/* Without the status a counter may have overflowed.  Catches: a status that was not read and is taken for 0. */
static void an_interrupt_whose_status_cannot_be_read_may_be_ours(void **state)
{
    static const char *const profiles[] = {"core2", "skylake", "zen4"};

    (void)state;
    for (unsigned p = 0; p < sizeof profiles / sizeof profiles[0]; p++) {
        struct host host;

        host_prepare(&host, profiles[p]);
        host_start(&host);
        upmu_sim_foreign_nmi(&host.sim);
        assert_int_equal(last_answer(&host), UPMU_PMI_NOT_OURS);
        host.sim.fault_address =
            host.cpu[0].meter.pmu->table->rows[host.cpu[0].meter.pmu->status_row].address;
        upmu_sim_foreign_nmi(&host.sim);
        assert_int_equal(last_answer(&host), UPMU_PMI_STALE);
        host.sim.fault_address = 0;
        upmu_sim_foreign_nmi(&host.sim);
        assert_int_equal(last_answer(&host), UPMU_PMI_NOT_OURS);
        host_end(&host);
    }
}

/* Nor is one that only counts, and cannot be read where the status shows nothing, one without a wrap. */
static void a_counter_that_only_counts_and_cannot_be_read_may_be_ours(void **state)
{
    static const char *const profiles[] = {"core2", "skylake", "zen4"};

    (void)state;
    for (unsigned p = 0; p < sizeof profiles / sizeof profiles[0]; p++) {
        const struct upmu_pmu *pmu;
        struct host host;

        host_prepare(&host, profiles[p]);
        host.sim.port.rdpmc = NULL;
        host_start(&host);
        assert_int_equal(upmu_set_add(&host.session.set, "branches:u", NULL), UPMU_OK);
        host_begin(&host, &host.session);
        upmu_sim_foreign_nmi(&host.sim);
        assert_int_equal(last_answer(&host), UPMU_PMI_NOT_OURS);
        pmu = host.cpu[0].meter.pmu;
        host.sim.fault_address =
            pmu->table->rows[pmu->counter[host.session.set.tally[0].counter].value_row].address;
        upmu_sim_foreign_nmi(&host.sim);
        assert_int_equal(last_answer(&host), UPMU_PMI_STALE);
        host.sim.fault_address = 0;
        upmu_sim_foreign_nmi(&host.sim);
        assert_int_equal(last_answer(&host), UPMU_PMI_NOT_OURS);
        assert_int_equal(host.session.state, UPMU_SESSION_RUNNING);
        host_end(&host);
    }
}

/*
 * A poll has counted a wrap whose interrupt was lost.  Catches: a flag that stays, and that ten minutes later is taken
 * for that of a whole round.
 */
static void a_wrap_that_a_poll_counted_is_counted_once(void **state)
{
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_set_add(&host.session.set, "branches:counter=0", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    wrap_soon(&host, 0);
    host.session.set.tally[0].base = host.sim.cpu[0].counter[0].value;
    host.sim.cpu[0].lvtpc |= UPMU_SIM_LVTPC_MASKED;
    host_run(&host, 2000);
    assert_int_equal(upmu_cpu_poll(&host.cpu[0]), UPMU_OK);
    upmu_sim_advance_ns(&host.sim, UINT64_C(600000000000));
    upmu_sim_foreign_nmi(&host.sim);
    assert_int_equal(last_answer(&host), UPMU_PMI_NOT_OURS);
    assert_int_equal(host_value(&host.session, 0), 1000);
    host_end(&host);
}

static uint32_t acks_to_fail;

static bool acks_fault(void *context, uint32_t address, uint64_t value)
{
    if (address == RESET && acks_to_fail) {
        acks_to_fail--;
        return false;
    }
    return real.wrmsr(context, address, value);
}

/*
 * A flag that no write could clear is set under the next events of that counter.  Ten minutes later it looks as if that
 * had gone all the way round, for a session that comes and for the one whose wrap was counted already.
 */
static void a_flag_whose_acknowledgement_faulted_adds_no_round(void **state)
{
    (void)state;
    for (uint32_t faults = 1; faults < 4; faults++)
        for (unsigned samples = 0; samples < 2; samples++) {
            struct host host;
            uint64_t truth = 1010;

            host_prepare(&host, "skylake");
            real = host.sim.port;
            host.sim.port.wrmsr = acks_fault;
            host_start(&host);
            if (samples) {
                assert_int_equal(
                    upmu_set_add(&host.other.set, "branches:counter=0", &(struct upmu_sampling){.period = 1000}),
                    UPMU_OK);
                host_begin(&host, &host.other);
                acks_to_fail = faults;
                host_run(&host, 2000);
                assert_int_equal(upmu_session_close(&host.other), UPMU_OK);
                acks_to_fail = 0;
            }
            assert_int_equal(upmu_set_add(&host.session.set, "branches:counter=0", NULL), UPMU_OK);
            host_begin(&host, &host.session);
            if (!samples) {
                wrap_soon(&host, 0);
                assert_int_equal(upmu_cpu_poll(&host.cpu[0]), UPMU_OK);
                truth += host_value(&host.session, 0);
                acks_to_fail = faults;
            }
            host_run(&host, 2000);
            acks_to_fail = 0;
            upmu_sim_advance_ns(&host.sim, UINT64_C(600000000000));
            upmu_sim_foreign_nmi(&host.sim);
            host_run(&host, 20);
            assert_int_equal(host_value(&host.session, 0), truth);
            assert_int_equal(host.sim.cpu[0].status, 0);
            assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
            host_end(&host);
        }
}

/* ---- Counters that change hands ---- */

static void found_with_a_flag(struct host *host)
{
    upmu_sim_poke(&host->sim, 0, GLOBAL_STATUS, 1);
    host_start(host);
}

static void given_back_by_the_host(struct host *host)
{
    host_start(host);
    assert_int_equal(upmu_cpu_reserve(&host->cpu[0], 1), UPMU_OK);
    upmu_cpu_unreserve(&host->cpu[0], 1);
}

/* What overflowed before a counter became ours may interrupt after that.  Catches: an unknown NMI at a hand-over. */
static void an_interrupt_of_before_the_hand_over_is_stale(void **state)
{
    static void (*const ways[])(struct host *) = {found_with_a_flag, given_back_by_the_host};

    (void)state;
    for (unsigned way = 0; way < 2; way++) {
        struct host host;

        host_prepare(&host, "skylake");
        ways[way](&host);
        upmu_sim_foreign_nmi(&host.sim);
        assert_int_equal(last_answer(&host), UPMU_PMI_STALE);
        upmu_sim_advance_ns(&host.sim, 101000000);
        upmu_sim_foreign_nmi(&host.sim);
        assert_int_equal(last_answer(&host), UPMU_PMI_NOT_OURS);
        host_end(&host);
    }
}

/* ---- A CPU that has just been given back ---- */

static void gives_back(struct host *host)
{
    assert_int_equal(upmu_cpu_fini(&host->cpu[0]), UPMU_OK);
}

static void falls_asleep(struct host *host)
{
    assert_int_equal(upmu_cpu_suspend(&host->cpu[0]), UPMU_OK);
}

static void an_interrupt_on_its_way_at_the_end_is_no_unknown_one(void **state)
{
    static void (*const ends[])(struct host *) = {gives_back, falls_asleep};
    static const char *const profiles[] = {"core2", "skylake", "version1", "p6", "zen4", "k8_revf"};

    (void)state;
    for (unsigned p = 0; p < sizeof profiles / sizeof profiles[0]; p++)
        for (unsigned end = 0; end < 2; end++) {
            struct host host;

            host_prepare(&host, profiles[p]);
            upmu_sim_set_delivery(&host.sim, 0, 0x40);
            host_start(&host);
            upmu_sim_irqs(&host.sim, true);
            host_sample(&host, "branches", 1000);
            upmu_sim_irqs(&host.sim, false);
            host_run(&host, 2000);
            ends[end](&host);
            assert_int_equal(host.answers, 0);
            upmu_sim_irqs(&host.sim, true);
            assert_int_equal(host.answers, 1);
            assert_int_equal(host.answer[0], UPMU_PMI_STALE);
            upmu_sim_advance_ns(&host.sim, 101000000);
            upmu_sim_foreign_nmi(&host.sim);
            assert_int_equal(host.answer[1], UPMU_PMI_NOT_OURS);
            gives_back(&host);
            host_no_violation(&host);
        }
}

static void an_interrupt_that_never_came_is_not_expected_after_the_end(void **state)
{
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    host_sample(&host, "branches", 1000);
    host.sim.cpu[0].lvtpc |= UPMU_SIM_LVTPC_MASKED;
    host_run(&host, 2000);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    upmu_sim_advance_ns(&host.sim, 100000000);
    gives_back(&host);
    upmu_sim_foreign_nmi(&host.sim);
    assert_int_equal(last_answer(&host), UPMU_PMI_NOT_OURS);
    host_no_violation(&host);
}

static void starts_over(struct host *host)
{
    assert_int_equal(upmu_cpu_changed(&host->cpu[0]), UPMU_OK);
}

static void lends_it_to_the_host(struct host *host)
{
    assert_int_equal(upmu_cpu_reserve(&host->cpu[0], UINT32_C(1) << host->session.set.tally[0].counter), UPMU_OK);
}

/*
 * A static session leaves its counter running when its thread goes: that wraps in no session's count.  Its interrupt
 * comes after the counter was taken away, with no flag left to find.  Catches: overflows expected of sessions alone.
 */
static void what_was_left_running_may_have_overflowed_at_the_end(void **state)
{
    static const struct {
        const char *profile;
        void (*end)(struct host *host);
        bool hidden; /* the status never tells */
    } cases[] = {{"core2", gives_back, false},         {"skylake", gives_back, false},
                 {"zen4", gives_back, false},          {"core2", falls_asleep, false},
                 {"skylake", falls_asleep, false},     {"zen4", falls_asleep, false},
                 {"skylake", starts_over, true},       {"zen4", starts_over, true},
                 {"core2", lends_it_to_the_host, false}, {"zen4", lends_it_to_the_host, false}};

    (void)state;
    for (unsigned i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        bool alone = i & 1u; /* nothing was left */
        struct host host;
        unsigned counter;

        host_prepare(&host, cases[i / 2].profile);
        real = host.sim.port;
        if (cases[i / 2].hidden)
            host.sim.port.rdmsr = status_reads_0;
        upmu_sim_set_delivery(&host.sim, 0, 0x40);
        host_start(&host);
        upmu_sim_irqs(&host.sim, true);
        assert_int_equal(upmu_set_add(&host.session.set, "branches", NULL), UPMU_OK);
        assert_int_equal(upmu_session_static(&host.session, !alone), UPMU_OK);
        follow(&host);
        host_run(&host, 1000);
        assert_int_equal(leave(&host), UPMU_OK);
        upmu_sim_irqs(&host.sim, false);
        counter = host.session.set.tally[0].counter;
        host.sim.cpu[0].counter[counter].value = (UINT64_C(1) << host.cpu[0].meter.pmu->counter[counter].width) - 10;
        host_run(&host, 100);
        cases[i / 2].end(&host);
        assert_int_equal(host.answers, 0);
        upmu_sim_irqs(&host.sim, true);
        assert_int_equal(host.answers, !alone);
        if (alone)
            upmu_sim_foreign_nmi(&host.sim);
        assert_int_equal(last_answer(&host), alone ? UPMU_PMI_NOT_OURS : UPMU_PMI_STALE);
        upmu_sim_advance_ns(&host.sim, 101000000);
        upmu_sim_foreign_nmi(&host.sim);
        assert_int_equal(last_answer(&host), UPMU_PMI_NOT_OURS);
        gives_back(&host);
        host_no_violation(&host);
    }
}

/* ---- Counters as wide as a register ---- */

static void a_counter_of_64_bits_goes_no_round(void **state)
{
    struct upmu_sim_profile wide = *upmu_sim_profile("core2");
    struct host host;

    (void)state;
    wide.general_width = 64;
    wide.fixed_width = 64;
    memset(&host, 0, sizeof host);
    upmu_sim_init(&host.sim, &wide, 2);
    host.sim.test = &host;
    host.sim.deliver = host_deliver;
    upmu_sim_bind_cpu(&host.sim, 0, &host.cpu[0]);
    host_start(&host);
    assert_int_equal(host.cpu[0].meter.pmu->counter[0].width, 64);
    assert_int_equal(upmu_set_add(&host.session.set, "branches", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    host_run(&host, 2000);
    /* A status bit that nothing explains, long after. */
    upmu_sim_advance_ns(&host.sim, UINT64_C(600000000000));
    host.sim.cpu[0].status |= 1;
    upmu_sim_foreign_nmi(&host.sim);
    assert_int_equal(host_value(&host.session, 0), 1000);
    host_end(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_nmis_are_answered_after_a_foreign_one_took_the_overflow),
        cmocka_unit_test(a_tenth_of_a_second_after_an_overflow_an_nmi_is_not_ours),
        cmocka_unit_test(each_overflow_that_a_foreign_nmi_took_has_its_answer),
        cmocka_unit_test(overflows_that_the_status_hides_are_acknowledged),
        cmocka_unit_test(a_wrap_that_the_status_hides_is_ours),
        cmocka_unit_test(a_write_to_a_stopped_session_touches_no_other),
        cmocka_unit_test(a_write_to_a_stopped_session_makes_no_hole_in_another),
        cmocka_unit_test(what_counts_where_another_session_sampled_has_not_overflowed),
        cmocka_unit_test(a_wrap_that_a_local_call_folded_leaves_an_interrupt),
        cmocka_unit_test(an_overflow_that_a_fault_hid_leaves_an_interrupt),
        cmocka_unit_test(an_overflow_that_a_fault_hid_from_a_call_leaves_an_interrupt),
        cmocka_unit_test(an_overflow_of_which_nothing_can_be_read_leaves_an_interrupt),
        cmocka_unit_test(a_counter_without_its_start_value_has_not_wrapped),
        cmocka_unit_test(an_interrupt_whose_status_cannot_be_read_may_be_ours),
        cmocka_unit_test(a_counter_that_only_counts_and_cannot_be_read_may_be_ours),
        cmocka_unit_test(a_wrap_that_a_poll_counted_is_counted_once),
        cmocka_unit_test(a_flag_whose_acknowledgement_faulted_adds_no_round),
        cmocka_unit_test(an_interrupt_of_before_the_hand_over_is_stale),
        cmocka_unit_test(an_interrupt_on_its_way_at_the_end_is_no_unknown_one),
        cmocka_unit_test(an_interrupt_that_never_came_is_not_expected_after_the_end),
        cmocka_unit_test(what_was_left_running_may_have_overflowed_at_the_end),
        cmocka_unit_test(a_counter_of_64_bits_goes_no_round),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
