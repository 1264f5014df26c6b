/* SPDX-License-Identifier: MIT */
/*
 * Sessions as perfmon2's rationale asks for them (S. Eranian, LKML 2006): eight
 * actions that are calls of their own, in any sensible order, each cheap or
 * expensive as it must be.  On each kind of Intel PMU.
 */
#include <upmu/set.h>
#include "tests/common/host.h"
#include "tests/common/state.h"

#include "core/hw/backend.h"
#include "core/hw/bank.h"
#include "core/util/bits.h"
#include "core/hw/register.h"

static const char *const profiles[] = {"skylake", "icelake", "nehalem", "core2", "version1"};
#define EACH(profile) for (unsigned profile = 0; profile < sizeof profiles / sizeof profiles[0]; profile++)

/* ---- What was written ---- */

#define TRACE 4096

/* Registers of one CPU, and the accesses since. */
struct watch {
    struct host *host;
    unsigned cpu;
    uint64_t value[UPMU_REGISTERS];
    struct upmu_sim_access trace[TRACE];
};

static const struct upmu_pmu *pmu_of(const struct host *host)
{
    return &host->machine.pmu[0];
}

static void watch(struct watch *watch, struct host *host, unsigned cpu)
{
    const struct upmu_pmu *pmu = pmu_of(host);

    watch->host = host;
    watch->cpu = cpu;
    for (unsigned row = 0; row < pmu->table->row_count; row++)
        watch->value[row] =
            upmu_register_name(pmu, row) ? upmu_sim_peek(&host->sim, cpu, upmu_register_address(pmu, row)) : 0;
    host->sim.trace = watch->trace;
    host->sim.trace_size = TRACE;
    host->sim.trace_count = 0;
}

struct writes {
    unsigned all;
    unsigned counters;      /* values */
    unsigned gates;         /* nothing but gate bits changed */
    unsigned configuration; /* anything else of an event */
};

static struct writes written(struct watch *watch)
{
    const struct upmu_pmu *pmu = pmu_of(watch->host);
    struct writes writes = {0, 0, 0, 0};

    assert_compare(watch->host->sim.trace_count, <, TRACE);
    for (unsigned i = 0; i < watch->host->sim.trace_count; i++) {
        const struct upmu_sim_access *access = &watch->trace[i];
        unsigned row = upmu_register_find(pmu, access->address);
        const struct upmu_register_class *class;

        if (access->kind != UPMU_SIM_WRMSR)
            continue;
        assert_int_not_equal(row, UPMU_NO_ROW);
        assert_int_equal(access->cpu, watch->cpu);
        class = upmu_register_class_of(pmu, row);
        writes.all++;
        if (class->kind == UPMU_KIND_COUNTER)
            writes.counters++;
        else if (class->kind == UPMU_KIND_STATUS || class->kind == UPMU_KIND_ACK)
            continue;
        else if ((access->value ^ watch->value[row]) & ~class->gates)
            writes.configuration++;
        else
            writes.gates++;
        watch->value[row] = access->value;
    }
    watch->host->sim.trace_count = 0;
    return writes;
}

static void unwatch(struct watch *watch)
{
    watch->host->sim.trace = NULL;
    watch->host->sim.trace_size = 0;
}

/* Everything that is no count is as it was. */
static void registers_are_as_at(const struct watch *watch)
{
    const struct upmu_pmu *pmu = pmu_of(watch->host);

    for (unsigned row = 0; row < pmu->table->row_count; row++) {
        const char *name = upmu_register_name(pmu, row);
        uint64_t now;

        if (!name || upmu_register_class_of(pmu, row)->kind == UPMU_KIND_COUNTER)
            continue;
        now = upmu_sim_peek(&watch->host->sim, watch->cpu, upmu_register_address(pmu, row));
        if (now != watch->value[row])
            fail_msg("%s: %s is %llx and was %llx", pmu->name, name, (unsigned long long)now,
                     (unsigned long long)watch->value[row]);
    }
}

static void add(struct upmu_session *session, const char *list, uint64_t period)
{
    struct upmu_sampling sampling = {.period = period};

    assert_int_equal(upmu_set_add(&session->set, list, period ? &sampling : NULL), UPMU_OK);
}

static void attach(struct host *host, struct upmu_session *session)
{
    assert_int_equal(upmu_session_attach_cpu(session, &host->cpu[0]), UPMU_OK);
}

static void start(struct upmu_session *session)
{
    assert_int_equal(upmu_session_start(session), UPMU_OK);
}

static void stop(struct upmu_session *session)
{
    assert_int_equal(upmu_session_stop(session), UPMU_OK);
}

/* The second CPU, too; CPU 0 goes on executing. */
static void second_cpu(struct host *host)
{
    upmu_sim_switch_cpu(&host->sim, 1);
    assert_int_equal(upmu_cpu_init(&host->cpu[1], &host->machine, NULL), UPMU_OK);
    upmu_sim_switch_cpu(&host->sim, 0);
}

static void end_both(struct host *host)
{
    upmu_sim_switch_cpu(&host->sim, 1);
    assert_int_equal(upmu_cpu_fini(&host->cpu[1]), UPMU_OK);
    upmu_sim_switch_cpu(&host->sim, 0);
    host_end(host);
}

/* Counters hold garbage before the first read. */
static void fill_counters(struct host *host)
{
    for (unsigned i = 0; i < UPMU_SIM_GENERAL; i++)
        upmu_sim_poke(&host->sim, 0, 0xc1 + i, UINT64_C(0x7654321000) + i);
    for (unsigned i = 0; i < 4; i++)
        upmu_sim_poke(&host->sim, 0, 0x309 + i, UINT64_C(0x6543210000) + i);
}

/* ---- Making and programming ---- */

/* An event can be replaced while attached; a first one is needed to attach. */
static void programming_before_or_after_attaching_is_the_same(void **state)
{
    (void)state;
    EACH(p)
    {
        struct watch early, late;
        struct host host;

        host_set_up(&host, profiles[p]);
        add(&host.session, "branches:u,cycles:k", 0);
        host_begin(&host, &host.session);
        watch(&early, &host, 0);
        unwatch(&early);
        host_end(&host);

        host_set_up(&host, profiles[p]);
        assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[0]), UPMU_ERR_STATE);
        add(&host.session, "cycles,instructions", 0);
        attach(&host, &host.session);
        assert_int_equal(upmu_set_replace(&host.session.set, 0, "branches:u", NULL), UPMU_OK);
        assert_int_equal(upmu_set_replace(&host.session.set, 1, "cycles:k", NULL), UPMU_OK);
        start(&host.session);
        early.host = &host;
        registers_are_as_at(&early);
        watch(&late, &host, 0);
        unwatch(&late);
        host_run(&host, 100);
        assert_int_equal(host_value(&host.session, 1), 200);
        host_end(&host);
    }
}

/* Gates closed, selects idle, bits of others untouched; after loading the gates still are. */
static void what_is_made_is_off_and_what_is_attached_still_is(void **state)
{
    (void)state;
    EACH(p)
    {
        const uint64_t enable = UINT64_C(1) << 22;
        const struct upmu_bank *bank;
        struct watch before;
        struct host host;

        host_set_up(&host, profiles[p]);
        bank = &host.cpu[0].meter.bank;
        watch(&before, &host, 0);
        assert_int_equal(upmu_session_init(&host.session, &host.machine), UPMU_OK);
        add(&host.session, "instructions,cycles", 0);
        assert_int_equal(host.session.state, UPMU_SESSION_DETACHED);
        assert_int_equal(host.session.counters, 0);
        assert_int_equal(written(&before).all, 0);
        registers_are_as_at(&before);
        for (unsigned row = 0; row < pmu_of(&host)->table->row_count; row++) {
            const struct upmu_register_class *class = upmu_register_class_of(pmu_of(&host), row);

            if (!upmu_register_name(pmu_of(&host), row) || class->kind == UPMU_KIND_COUNTER)
                continue;
            assert_int_equal(before.value[row] & class->gates, 0, row);
            assert_int_equal(before.value[row] & class->owned & ~upmu_register_bits(pmu_of(&host), row), 0, row);
            if (class->kind == UPMU_KIND_SELECT)
                assert_int_equal(before.value[row] & enable, 0, row);
        }
        /* And the shadows say the same. */
        assert_int_equal(upmu_cpu_verify(&host.cpu[0], NULL), UPMU_OK);
        attach(&host, &host.session);
        assert_int_equal(upmu_bank_open(bank, pmu_of(&host)->counters), 0);
        for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++)
            assert_false(upmu_sim_runs(&host.sim, 0, i), i);
        assert_int_equal(upmu_cpu_verify(&host.cpu[0], NULL), UPMU_OK);
        unwatch(&before);
        host_end(&host);
    }
}

/* Nothing is written for it: a count is what its register has gained. */
static void counts_are_0_before_the_first_start_whatever_registers_hold(void **state)
{
    (void)state;
    EACH(p)
    {
        struct upmu_count counts[2];
        struct host host;

        host_prepare(&host, profiles[p]);
        fill_counters(&host);
        host_start(&host);
        add(&host.session, "instructions,branches", 0);
        for (unsigned attached = 0; attached < 2; attached++) {
            assert_int_equal(upmu_set_read(&host.session.set, 0, 2, counts), UPMU_OK);
            for (unsigned i = 0; i < 2; i++) {
                assert_true(counts[i].value == 0 && counts[i].raw == 0, i);
                assert_int_equal(counts[i].quality, UPMU_QUALITY_NEVER_RAN, i);
            }
            if (!attached)
                attach(&host, &host.session);
            host_run(&host, 100);
        }
        start(&host.session);
        assert_int_equal(host_value(&host.session, 0), 0);
        assert_int_equal(host_value(&host.session, 1), 0);
        host_run(&host, 100);
        assert_int_equal(host_value(&host.session, 1), 50);
        host_end(&host);
    }
}

/* ---- Identity ---- */

static void sessions_have_ids_of_their_own_and_a_closed_one_is_refused(void **state)
{
    struct upmu_session many[40];
    struct host host;
    uint32_t before;

    (void)state;
    host_set_up(&host, "skylake");
    for (unsigned i = 0; i < 40; i++) {
        assert_int_equal(upmu_session_init(&many[i], &host.machine), UPMU_OK, i);
        assert_int_not_equal(many[i].id, 0, i);
        assert_int_not_equal(many[i].id, host.session.id, i);
        assert_int_not_equal(many[i].id, host.other.id, i);
        for (unsigned k = 0; k < i; k++)
            assert_int_not_equal(many[i].id, many[k].id, i, k);
    }
    before = many[7].id;
    add(&many[7], "instructions", 0);
    assert_int_equal(upmu_session_close(&many[7]), UPMU_OK);
    assert_int_equal(many[7].id, 0);
    assert_int_equal(upmu_set_add(&many[7].set, "instructions", NULL), UPMU_ERR_STATE);
    assert_int_equal(upmu_session_attach_cpu(&many[7], &host.cpu[0]), UPMU_ERR_STATE);
    assert_int_equal(upmu_session_start(&many[7]), UPMU_ERR_STATE);
    assert_int_equal(upmu_session_init(&many[7], &host.machine), UPMU_OK);
    assert_int_not_equal(many[7].id, before);
    for (unsigned k = 0; k < 40; k++)
        if (k != 7)
            assert_int_not_equal(many[7].id, many[k].id, k);
    host_end(&host);
}

static void an_id_is_never_0_even_when_their_number_wraps(void **state)
{
    struct host host;

    (void)state;
    host_set_up(&host, "skylake");
    host.machine.last_session = UINT32_MAX;
    assert_int_equal(upmu_session_init(&host.session, &host.machine), UPMU_OK);
    assert_int_not_equal(host.session.id, 0);
    host_end(&host);
}

/* ---- Calls and states ---- */

enum call { ADD, ADD_EVENT, RING, ATTACH, START, STOP, RESTART, DETACH, READ, WRITE, REPLACE, DRY_RUN, CLOSE, CALLS };
static const char *const call_names[CALLS] = {"add",    "add_event", "ring", "attach", "start",   "stop",  "restart",
                                              "detach", "read",      "write", "replace", "dry_run", "close"};
#define STATES 6
#define D UPMU_SESSION_DETACHED
#define S UPMU_SESSION_STOPPED
#define R UPMU_SESSION_RUNNING
#define M UPMU_SESSION_MASKED
#define Z UPMU_SESSION_SUSPENDED
#define C UPMU_SESSION_CLOSED
#define OK UPMU_OK
#define NO UPMU_ERR_STATE
#define NONE UPMU_ERR_INVALID /* a closed session has no events */

/* What each call answers in each state, and the state afterwards. */
static const struct {
    enum upmu_status status;
    uint8_t after;
} table[CALLS][STATES] = {
    /*               detached   stopped    running    masked     suspended  closed */
    [ADD] =       {{OK, D},   {NO, S},   {NO, R},   {NO, M},   {NO, Z},   {NO, C}},
    [ADD_EVENT] = {{OK, D},   {NO, S},   {NO, R},   {NO, M},   {NO, Z},   {NO, C}},
    [RING] =      {{OK, D},   {NO, S},   {NO, R},   {NO, M},   {NO, Z},   {NO, C}},
    [ATTACH] =    {{OK, S},   {NO, S},   {NO, R},   {NO, M},   {NO, Z},   {NO, C}},
    [START] =     {{NO, D},   {OK, R},   {OK, R},   {OK, R},   {NO, Z},   {NO, C}},
    [STOP] =      {{NO, D},   {OK, S},   {OK, S},   {OK, S},   {OK, S},   {NO, C}},
    [RESTART] =   {{OK, D},   {OK, S},   {OK, R},   {OK, R},   {OK, Z},   {OK, C}},
    [DETACH] =    {{OK, D},   {OK, D},   {OK, D},   {OK, D},   {OK, D},   {OK, C}},
    [READ] =      {{OK, D},   {OK, S},   {OK, R},   {OK, M},   {OK, Z},   {NONE, C}},
    [WRITE] =     {{OK, D},   {OK, S},   {OK, R},   {OK, M},   {OK, Z},   {NONE, C}},
    [REPLACE] =   {{OK, D},   {OK, S},   {NO, R},   {OK, M},   {OK, Z},   {NONE, C}},
    [DRY_RUN] =   {{OK, D},   {OK, S},   {OK, R},   {OK, M},   {OK, Z},   {NO, C}},
    [CLOSE] =     {{OK, C},   {OK, C},   {OK, C},   {OK, C},   {OK, C},   {OK, C}},
};

/* The host's session, which samples into a ring of 256 bytes, in this state. */
static void reach(struct host *host, unsigned in)
{
    add(&host->session, "instructions", 100);
    add(&host->session, "branches", 0);
    assert_int_equal(upmu_session_ring(&host->session, host->ring, 256), UPMU_OK);
    upmu_session_mask_on_full(&host->session, true);
    if (in == C)
        assert_int_equal(upmu_session_close(&host->session), UPMU_OK);
    if (in == S || in == R || in == M || in == Z)
        attach(host, &host->session);
    if (in == R || in == M || in == Z)
        start(&host->session);
    for (unsigned i = 0; in == M && host->session.state != M && i < 20; i++)
        host_run(host, 100);
    if (in == Z)
        assert_int_equal(upmu_cpu_suspend(&host->cpu[0]), UPMU_OK);
    assert_int_equal(host->session.state, in);
}

static enum upmu_status make(struct host *host, enum call call)
{
    struct upmu_session *session = &host->session;
    struct upmu_dry_run dry = {NULL, 0, 0};
    struct upmu_count counts[2];
    struct upmu_event event;

    switch (call) {
    case ADD: return upmu_set_add(&session->set, "cycles", NULL);
    case ADD_EVENT:
        assert_int_equal(upmu_event_parse(pmu_of(host), "cycles", &event, NULL), UPMU_OK);
        return upmu_set_add_event(&session->set, &event, NULL);
    case RING: return upmu_session_ring(session, host->ring + 512, 512);
    case ATTACH: return upmu_session_attach_cpu(session, &host->cpu[0]);
    case START: return upmu_session_start(session);
    case STOP: return upmu_session_stop(session);
    case RESTART: return upmu_session_restart(session);
    case DETACH: return upmu_session_detach(session);
    case READ: return upmu_set_read(&session->set, 0, 2, counts);
    case WRITE: return upmu_set_write(&session->set, 1, 5);
    case REPLACE: return upmu_set_replace(&session->set, 1, "cycles", NULL);
    case DRY_RUN: return upmu_session_dry_run(session, pmu_of(host), &dry);
    case CLOSE: return upmu_session_close(session);
    default: return UPMU_ERR_INVALID;
    }
}

/* On Core 2 as well, whose counters take 32 bits a write; a refusal touches nothing. */
static void each_call_in_each_state_does_what_the_table_says(void **state)
{
    (void)state;
    EACH(p)
    for (unsigned call = 0; call < CALLS; call++)
        for (unsigned in = 0; in < STATES; in++) {
            enum upmu_status status;
            struct host host;
            uint32_t accesses;

            host_set_up(&host, profiles[p]);
            reach(&host, in);
            accesses = host.sim.accesses;
            status = make(&host, (enum call)call);
            if (status != table[call][in].status || host.session.state != table[call][in].after)
                fail_msg("%s: %s in state %u: %s, then state %u", profiles[p], call_names[call], in,
                         upmu_status_text(status), host.session.state);
            if (status != UPMU_OK)
                assert_int_equal(host.sim.accesses, accesses);
            if (host.session.state == R)
                assert_true(upmu_sim_runs(&host.sim, 0, host.session.set.tally[0].counter));
            if (in == Z && (status = upmu_cpu_resume(&host.cpu[0])) != UPMU_OK)
                fail_msg("%s: resume after %s: %s", profiles[p], call_names[call], upmu_status_text(status));
            if (in == Z && table[call][in].after == Z)
                assert_int_equal(host.session.state, R);
            host_end(&host);
        }
}

/* ---- Changing what is programmed ---- */

static void an_event_is_replaced_without_making_the_session_again(void **state)
{
    (void)state;
    EACH(p)
    {
        struct host host;
        uint32_t id;

        host_set_up(&host, profiles[p]);
        id = host.session.id;
        add(&host.session, "instructions,branches", 0);
        host_begin(&host, &host.session);
        host_run(&host, 1000);
        stop(&host.session);
        assert_int_equal(upmu_set_replace(&host.session.set, 1, "cycles", NULL), UPMU_OK);
        assert_int_equal(host_value(&host.session, 1), 0);
        assert_int_equal(host_value(&host.session, 0), 1000);
        start(&host.session);
        host_run(&host, 1000);
        assert_int_equal(host_value(&host.session, 0), 2000);
        assert_int_equal(host_value(&host.session, 1), 2000);
        assert_int_equal(host.session.id, id);
        host_end(&host);
    }
}

static void a_new_value_touches_no_event(void **state)
{
    const uint64_t value = UINT64_C(0x123456789abcdef0);

    (void)state;
    EACH(p)
    {
        struct writes writes;
        struct watch w;
        struct host host;

        host_set_up(&host, profiles[p]);
        add(&host.session, "instructions,branches", 0);
        attach(&host, &host.session);
        watch(&w, &host, 0);
        assert_int_equal(upmu_set_write(&host.session.set, 1, value), UPMU_OK);
        assert_int_equal(host_value(&host.session, 1), value);
        assert_int_equal(written(&w).all, 0);
        start(&host.session);
        assert_int_equal(written(&w).configuration, 0);
        host_run(&host, 1000);
        assert_int_equal(host_value(&host.session, 1), value + 500);
        assert_int_equal(upmu_set_write(&host.session.set, 1, 7), UPMU_OK);
        writes = written(&w);
        assert_int_equal(writes.configuration, 0);
        assert_int_equal(writes.counters, 0);
        assert_compare(writes.gates, >, 0);
        host_run(&host, 1000);
        assert_int_equal(host_value(&host.session, 1), 507);
        assert_int_equal(host_value(&host.session, 0), 2000);
        stop(&host.session);
        unwatch(&w);
        host_end(&host);
    }
}

/* Sampling by the user's own hand: read, give a new value, go on. */
static void rearming_by_hand_is_one_counter_write(void **state)
{
    (void)state;
    EACH(p)
    {
        struct writes writes;
        struct watch w;
        struct host host;

        host_set_up(&host, profiles[p]);
        host_sample(&host, "branches", 1000);
        host_run(&host, 1800);
        stop(&host.session);
        for (unsigned round = 0; round < 5; round++) {
            watch(&w, &host, 0);
            assert_int_equal(host_value(&host.session, 0), 900);
            assert_int_equal(upmu_set_write(&host.session.set, 0, 0), UPMU_OK);
            assert_int_equal(written(&w).all, 0);
            start(&host.session);
            writes = written(&w);
            assert_int_equal(writes.counters, 1);
            assert_int_equal(writes.configuration, 0);
            assert_int_equal(writes.all, 2); /* the gate is the other one */
            host_run(&host, 1800);
            stop(&host.session);
        }
        unwatch(&w);
        assert_int_equal(host.answers, 0);
        assert_int_equal(host_drain(&host, NULL), 0);
        start(&host.session);
        host_run(&host, 200);
        assert_int_equal(host_drain(&host, NULL), 1);
        host_end(&host);
    }
}

/* ---- Attaching ---- */

static void attaching_touches_the_cpu_attached_to_and_the_registers_used(void **state)
{
    (void)state;
    EACH(p)
    for (unsigned cpu = 0; cpu < 2; cpu++) {
        const struct upmu_pmu *pmu;
        uint32_t used[8];
        unsigned uses = 0;
        struct watch w;
        struct host host;

        host_set_up(&host, profiles[p]);
        second_cpu(&host);
        pmu = pmu_of(&host);
        add(&host.session, "branches,cycles:u", 0);
        upmu_sim_switch_cpu(&host.sim, cpu);
        watch(&w, &host, cpu);
        assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[cpu]), UPMU_OK, cpu);
        assert_ptr_equal(host.session.meter, &host.cpu[cpu], cpu);
        for (unsigned i = 0; i < 2; i++) {
            const struct upmu_counter *counter = &pmu->counter[host.session.set.tally[i].counter];

            used[uses++] = upmu_register_address(pmu, counter->select_row);
            used[uses++] = upmu_register_address(pmu, counter->value_row);
            used[uses++] = upmu_register_address(pmu, counter->write_row);
        }
        assert_compare(host.sim.trace_count, >, 0);
        for (unsigned i = 0; i < host.sim.trace_count; i++) {
            bool mine = w.trace[i].kind != UPMU_SIM_WRMSR;

            assert_int_equal(w.trace[i].cpu, cpu, i);
            for (unsigned k = 0; k < uses; k++)
                mine |= w.trace[i].address == used[k];
            mine |= (pmu->capabilities & UPMU_PMU_PRELUDE) != 0; /* an erratum's sequence uses all counters */
            if (!mine)
                fail_msg("%s: %x was written", profiles[p], (unsigned)w.trace[i].address);
        }
        if (!(pmu->capabilities & UPMU_PMU_PRELUDE))
            assert_int_equal(written(&w).configuration, 2);
        unwatch(&w);
        upmu_sim_switch_cpu(&host.sim, 0);
        end_both(&host);
    }
}

static void a_session_goes_on_elsewhere_with_its_counts_and_its_period(void **state)
{
    (void)state;
    EACH(p)
    {
        struct upmu_count counts[2];
        struct upmu_sample sample;
        struct host host;
        uint32_t accesses;

        host_set_up(&host, profiles[p]);
        second_cpu(&host);
        add(&host.session, "instructions", 1000);
        add(&host.session, "branches", 0);
        assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
        host_begin(&host, &host.session);
        host_run(&host, 1600);
        assert_int_equal(host_drain(&host, &sample), 1);
        assert_int_equal(sample.cpu, 0);
        assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
        /* Detached is not destroyed: counts are read, without hardware. */
        accesses = host.sim.accesses;
        assert_int_equal(upmu_set_read(&host.session.set, 0, 2, counts), UPMU_OK);
        assert_int_equal(counts[0].value, 1600);
        assert_int_equal(counts[1].value, 800);
        assert_int_equal(host.sim.accesses, accesses);
        upmu_sim_switch_cpu(&host.sim, 1);
        host_run(&host, 500); /* no session counts */
        assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[1]), UPMU_OK);
        start(&host.session);
        host_run(&host, 398);
        assert_int_equal(host_drain(&host, NULL), 0);
        host_run(&host, 2);
        assert_int_equal(host_drain(&host, &sample), 1);
        assert_int_equal(sample.cpu, 1);
        assert_int_equal(upmu_set_read(&host.session.set, 0, 2, counts), UPMU_OK);
        assert_int_equal(counts[0].value, 2000);
        assert_int_equal(counts[1].value, 1000);
        end_both(&host);
    }
}

/* A session is detached, too, when its CPU has gone away. */
static void detaching_what_is_detached_does_nothing(void **state)
{
    struct host host;
    uint32_t accesses;

    (void)state;
    host_set_up(&host, "skylake");
    assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
    add(&host.session, "instructions", 0);
    host_begin(&host, &host.session);
    host_run(&host, 100);
    assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
    assert_int_equal(host.session.state, UPMU_SESSION_DETACHED);
    accesses = host.sim.accesses;
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
        assert_int_equal(host.session.state, UPMU_SESSION_DETACHED);
        assert_int_equal(host_value(&host.session, 0), 100);
    }
    assert_int_equal(host.sim.accesses, accesses);
    host_no_violation(&host);
}

static void what_is_attached_or_detached_does_not_run(void **state)
{
    (void)state;
    EACH(p)
    {
        struct host host;

        host_set_up(&host, profiles[p]);
        add(&host.session, "instructions,branches", 0);
        for (unsigned round = 0; round < 3; round++) {
            assert_int_equal(upmu_session_start(&host.session), UPMU_ERR_STATE);
            attach(&host, &host.session);
            assert_int_equal(host.session.state, UPMU_SESSION_STOPPED);
            host_run(&host, 100);
            assert_int_equal(host_value(&host.session, 0), 1000 * round);
            start(&host.session);
            host_run(&host, 1000);
            assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
            assert_int_equal(host.session.state, UPMU_SESSION_DETACHED);
            for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++)
                assert_false(upmu_sim_runs(&host.sim, 0, i), i);
            host_run(&host, 100);
            assert_int_equal(host_value(&host.session, 0), 1000 * (round + 1));
        }
        host_end(&host);
    }
}

/* ---- Starting and stopping ---- */

/* A stop takes the counts of a set without samples in one loop, and those of a sampling set event by event. */
static void starts_and_stops_add_up_without_a_read(void **state)
{
    (void)state;
    EACH(p)
    {
        for (unsigned samples = 0; samples < 2; samples++) {
            struct host host;

            host_set_up(&host, profiles[p]);
            add(&host.session, "instructions", 0);
            add(&host.session, "branches", samples ? 1000000 : 0);
            attach(&host, &host.session);
            for (unsigned round = 1; round <= 20; round++) {
                start(&host.session);
                host_run(&host, 10 * round);
                stop(&host.session);
                host_run(&host, 33);
            }
            assert_int_equal(host_value(&host.session, 0), 2100);
            assert_int_equal(host_value(&host.session, 1), 1050);
            host_end(&host);
        }
    }
}

/* One write each, or one for each counter where no register gates all of them. */
static void starting_and_stopping_a_hundred_times_only_moves_gates(void **state)
{
    (void)state;
    EACH(p)
    {
        struct writes writes;
        struct watch w;
        struct host host;
        unsigned gates;

        host_set_up(&host, profiles[p]);
        gates = pmu_of(&host)->capabilities & UPMU_PMU_GLOBAL_CTRL ? 1 : 2;
        add(&host.session, "instructions,branches", 0);
        attach(&host, &host.session);
        watch(&w, &host, 0);
        for (unsigned round = 0; round < 100; round++) {
            start(&host.session);
            host_run(&host, 10);
            stop(&host.session);
        }
        writes = written(&w);
        assert_int_equal(writes.configuration, 0);
        assert_int_equal(writes.counters, 0);
        assert_int_equal(writes.gates, 200 * gates);
        assert_int_equal(writes.all, 200 * gates);
        assert_int_equal(host_value(&host.session, 0), 1000);
        unwatch(&w);
        host_end(&host);
    }
}

/* ---- Reading ---- */

/* The library reads all counts at once with RDPMC; a port without RDPMC makes each count a read of its own. */
static void a_read_repeats_and_a_running_count_only_grows(void **state)
{
    (void)state;
    EACH(p)
    {
        for (unsigned rdpmc = 0; rdpmc < 2; rdpmc++) {
            uint64_t last = 0;
            struct host host;

            host_prepare(&host, profiles[p]);
            if (!rdpmc)
                host.sim.port.rdpmc = NULL;
            host_start(&host);
            add(&host.session, "instructions,branches", 0);
            host_begin(&host, &host.session);
            for (unsigned round = 1; round <= 50; round++) {
                host_run(&host, 2 * round);
                assert_int_equal(host_value(&host.session, 0), last + 2 * round);
                last = host_value(&host.session, 0);
                assert_int_equal(host_value(&host.session, 0), last);
                assert_int_equal(host_value(&host.session, 1), last / 2);
            }
            stop(&host.session);
            host_run(&host, 10);
            assert_int_equal(host_value(&host.session, 0), last);
            assert_int_equal(host_value(&host.session, 0), last);
            assert_int_equal(upmu_session_detach(&host.session), UPMU_OK);
            assert_int_equal(host_value(&host.session, 0), last);
            host_end(&host);
        }
    }
}

/* As many counter reads as events asked for; no select is read, nothing is written. */
static void a_read_takes_any_range_and_touches_no_more(void **state)
{
    struct upmu_count counts[UPMU_SET_EVENTS];
    struct watch w;
    struct host host;

    (void)state;
    host_set_up(&host, "icelake");
    add(&host.session, "instructions,cycles,branches,branches:k,cycles:k,instructions:k,instructions:u", 0);
    host_begin(&host, &host.session);
    host_run(&host, 1000);
    for (unsigned first = 0; first < 7; first++)
        for (unsigned count = 1; first + count <= 7; count++) {
            static const uint64_t expected[] = {1000, 2000, 500, 500, 2000, 1000, 0};

            memset(counts, 0xff, sizeof counts);
            watch(&w, &host, 0);
            assert_int_equal(upmu_set_read(&host.session.set, first, count, counts), UPMU_OK);
            assert_int_equal(host.sim.trace_count, count);
            for (unsigned i = 0; i < count; i++) {
                unsigned counter = host.session.set.tally[first + i].counter;

                assert_int_equal(counts[i].value, expected[first + i], i, first);
                assert_int_equal(w.trace[i].kind, UPMU_SIM_RDPMC, i);
                assert_int_equal(w.trace[i].address, pmu_of(&host)->counter[counter].rdpmc, i, counter);
            }
            assert_int_equal(counts[count].value, UINT64_MAX, count);
            unwatch(&w);
        }
    assert_int_equal(upmu_set_read(&host.session.set, 6, 2, counts), UPMU_ERR_INVALID);
    assert_int_equal(upmu_set_read(&host.session.set, 7, 1, counts), UPMU_ERR_INVALID);
    assert_int_equal(upmu_set_read(&host.session.set, 1, UINT32_MAX, counts), UPMU_ERR_INVALID);
    host_end(&host);
}

/* ---- The end ---- */

static void closing_a_running_session_leaves_no_trace_of_it(void **state)
{
    (void)state;
    EACH(p)
    {
        struct upmu_test_state now;
        struct watch before;
        struct host host;

        host_set_up(&host, profiles[p]);
        watch(&before, &host, 0);
        unwatch(&before);
        add(&host.session, "instructions", 100);
        add(&host.session, "branches:u", 0);
        assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
        host_begin(&host, &host.session);
        host_run(&host, 250);
        upmu_test_state(&host.cpu[0], &now);
        assert_int_not_equal(now.running, 0);
        assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
        assert_int_equal(host.session.state, UPMU_SESSION_CLOSED);
        registers_are_as_at(&before);
        assert_null(host.cpu[0].meter.sessions);
        upmu_test_state(&host.cpu[0], &now);
        assert_int_equal(now.running, 0);
        assert_int_equal(now.sampling, 0);
        for (unsigned i = 0; i < UPMU_COUNTERS; i++)
            assert_int_equal(upmu_cpu_owner(&host.cpu[0], i),
                             pmu_of(&host)->counters >> i & 1u ? UPMU_OWNER_FREE : UPMU_OWNER_ABSENT, i);
        /* Its memory is the caller's again; samples stay readable. */
        assert_int_equal(host_drain(&host, NULL), 2);
        memset(&host.session, 0xa5, sizeof host.session);
        add(&host.other, "instructions,branches", 0);
        host_begin(&host, &host.other);
        host_run(&host, 1000);
        assert_int_equal(host_value(&host.other, 0), 1000);
        host_end(&host);
    }
}

/* The global register opens all general counters as it was found; not over an event of ours. */
static void a_select_that_cannot_be_given_back_does_not_run_on(void **state)
{
    (void)state;
    EACH(p)
    {
        struct host host;
        unsigned counter;

        host_prepare(&host, profiles[p]);
        host_machine(&host);
        assert_int_equal(upmu_cpu_init(&host.cpu[0], &host.machine, NULL), UPMU_OK);
        if (!(pmu_of(&host)->capabilities & UPMU_PMU_GLOBAL_CTRL))
            continue;
        add(&host.session, "branches", 0);
        host_begin(&host, &host.session);
        counter = host.session.set.tally[0].counter;
        assert_true(upmu_sim_runs(&host.sim, 0, counter));
        host.sim.fault_address = 0x186 + counter;
        assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_ERR_PORT);
        assert_false(upmu_sim_runs(&host.sim, 0, counter));
    }
}

/* ---- Sleep ---- */

/* A sleep that was called off: what was ours before it is not the firmware's after it. */
static void registers_that_outlive_a_sleep_are_not_the_firmwares(void **state)
{
    (void)state;
    EACH(p)
    {
        struct watch before;
        struct host host;

        host_prepare(&host, profiles[p]);
        host_machine(&host);
        assert_int_equal(upmu_cpu_init(&host.cpu[0], &host.machine, NULL), UPMU_OK);
        assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
        watch(&before, &host, 0);
        unwatch(&before);
        assert_int_equal(upmu_cpu_init(&host.cpu[0], &host.machine, NULL), UPMU_OK);
        add(&host.session, "instructions", 100);
        add(&host.session, "branches", 0);
        assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
        host_begin(&host, &host.session);
        for (unsigned round = 1; round <= 3; round++) {
            host_run(&host, 150);
            assert_int_equal(upmu_cpu_suspend(&host.cpu[0]), UPMU_OK);
            registers_are_as_at(&before);
            assert_int_equal(upmu_cpu_resume(&host.cpu[0]), UPMU_OK);
            assert_int_equal(host.session.state, UPMU_SESSION_RUNNING);
            for (unsigned i = 0; i < UPMU_COUNTERS; i++)
                assert_int_not_equal(upmu_cpu_owner(&host.cpu[0], i), UPMU_OWNER_FIRMWARE, i);
            assert_int_equal(host_value(&host.session, 0), 150 * round);
            assert_int_equal(host_value(&host.session, 1), 75 * round);
        }
        assert_int_equal(host_drain(&host, NULL), 4);
        host_end(&host);
        registers_are_as_at(&before);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(programming_before_or_after_attaching_is_the_same),
        cmocka_unit_test(what_is_made_is_off_and_what_is_attached_still_is),
        cmocka_unit_test(counts_are_0_before_the_first_start_whatever_registers_hold),
        cmocka_unit_test(sessions_have_ids_of_their_own_and_a_closed_one_is_refused),
        cmocka_unit_test(an_id_is_never_0_even_when_their_number_wraps),
        cmocka_unit_test(each_call_in_each_state_does_what_the_table_says),
        cmocka_unit_test(an_event_is_replaced_without_making_the_session_again),
        cmocka_unit_test(a_new_value_touches_no_event),
        cmocka_unit_test(rearming_by_hand_is_one_counter_write),
        cmocka_unit_test(attaching_touches_the_cpu_attached_to_and_the_registers_used),
        cmocka_unit_test(a_session_goes_on_elsewhere_with_its_counts_and_its_period),
        cmocka_unit_test(detaching_what_is_detached_does_nothing),
        cmocka_unit_test(what_is_attached_or_detached_does_not_run),
        cmocka_unit_test(starts_and_stops_add_up_without_a_read),
        cmocka_unit_test(starting_and_stopping_a_hundred_times_only_moves_gates),
        cmocka_unit_test(a_read_repeats_and_a_running_count_only_grows),
        cmocka_unit_test(a_read_takes_any_range_and_touches_no_more),
        cmocka_unit_test(closing_a_running_session_leaves_no_trace_of_it),
        cmocka_unit_test(a_select_that_cannot_be_given_back_does_not_run_on),
        cmocka_unit_test(registers_that_outlive_a_sleep_are_not_the_firmwares),
    };

    return cmocka_run_group_tests_name("perfmon2", tests, NULL, NULL);
}
