/* SPDX-License-Identifier: MIT */
/*
 * Fuzzing: sessions of CPUs and threads, event sets, messages, pages for user mode, turns,
 * interrupts, faults, in any order on two CPUs, beside a model of what must hold
 * (session_model.h).  Each event counts what happened while its set had its counters, to
 * the last one; states follow the calls; nothing is left in the end.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint64_t read_as_user(uint32_t index);
#define UPMU_USER_RDPMC(index, fence) ((void)(fence), read_as_user(index))
#include <upmu/cpu.h>
#include <upmu/message.h>
#include <upmu/page.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include <upmu/upmu.h>

#include "models/sim/sim.h"
#include "tests/common/state.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/session_model.h"

#define CALLS 480u
#define CALL(call) (fuzz_calls++, call) /* of the library */
#define MESSAGES 4u

struct subject {
    struct upmu_session session;
    struct upmu_set set[MODEL_SETS]; /* the first is not used: set 0 is the session's */
    struct upmu_queue queue;
    struct upmu_message messages[MESSAGES];
    struct upmu_user_page page;
    uint64_t ring[64];
    uint64_t period;
    bool published;
};

static struct upmu_sim sim;
static struct upmu_machine machine;
static struct upmu_cpu cpu[MODEL_CPUS];
static struct upmu_thread thread[MODEL_THREADS + MODEL_CPUS];
static struct subject subject[MODEL_SESSIONS];
static struct model model;
static bool intel;  /* registers of kept[] exist */
static bool faulty; /* this run has faults: sessions may stop by themselves, registers may keep something */
static unsigned call_number;
static uint64_t found[MODEL_CPUS][24];
static uint64_t reserved[MODEL_CPUS]; /* ever: their gates are left as they are */

static const uint32_t kept[] = {0x186, 0x187, 0x188, 0x189, 0x38d, 0x38f, 0x1d9};
#define KEPT (sizeof kept / sizeof kept[0])

static uint64_t read_as_user(uint32_t index)
{
    uint64_t value = 0;
    uintptr_t irq = sim.port.irq_save(sim.port.context);
    bool good = sim.port.rdpmc(sim.port.context, index, &value);

    sim.port.irq_restore(sim.port.context, irq);
    FUZZ_CHECK(good || faulty, "user RDPMC faults");
    return value;
}

static void deliver_interrupt(struct upmu_sim *from, unsigned number, const struct upmu_sim_interrupt *interrupt)
{
    const struct upmu_frame frame = {.ip = interrupt->ip,
                                     .sp = interrupt->sp,
                                     .user = interrupt->user,
                                     .process = 1,
                                     .thread = model.thread_on[number]};

    (void)from;
    FUZZ_CHECK(upmu_pmi_handle(&cpu[number], &frame) <= UPMU_PMI_STALE, "an answer that there is not");
}

/* ---- The library's side, by the model's numbers ---- */

static struct upmu_set *set_of(struct subject *s, unsigned i)
{
    return i ? &s->set[i] : &s->session.set;
}

/* The model's set that is active, or NULL. */
static struct model_set *active_of(unsigned i)
{
    for (unsigned k = 0; k < MODEL_SETS; k++)
        if (model.session[i].set[k].used && subject[i].session.active == set_of(&subject[i], k))
            return &model.session[i].set[k];
    return NULL;
}

static bool runs_on(unsigned i, unsigned number)
{
    return subject[i].session.state == UPMU_SESSION_RUNNING && subject[i].session.meter == &cpu[number].meter;
}

/* ---- What must hold ---- */

/* A fault stops a session by itself, and may lose what was counted since a stop, though it was read before. */
static void follow_faults(void)
{
    for (unsigned i = 0; faulty && i < MODEL_SESSIONS; i++) {
        struct model_session *m = &model.session[i];

        for (unsigned k = 0; k < MODEL_SETS; k++) {
            m->set[k].loose |= m->target != MODEL_NOTHING;
            memset(m->set[k].floor, 0, sizeof m->set[k].floor);
        }
        if (m->started && subject[i].session.state == UPMU_SESSION_STOPPED && subject[i].session.error != UPMU_OK)
            m->started = false;
    }
}

static void check_state(unsigned i)
{
    const struct model_session *m = &model.session[i];
    const struct upmu_session *s = &subject[i].session;
    int where = model_cpu_of(&model, m);
    unsigned state = s->state;

    if (m->closed)
        FUZZ_CHECK(state == UPMU_SESSION_CLOSED && !s->id, "call %u: closed session %u, state %u", call_number, i,
                   state);
    else if (m->target == MODEL_NOTHING)
        FUZZ_CHECK(state == UPMU_SESSION_DETACHED && !s->meter && !s->thread, "call %u: detached session %u, state %u",
                   call_number, i, state);
    else if (!m->started)
        FUZZ_CHECK(state == UPMU_SESSION_STOPPED, "call %u: stopped session %u, state %u", call_number, i, state);
    else
        FUZZ_CHECK(state == UPMU_SESSION_RUNNING || state == UPMU_SESSION_WAITING || state == UPMU_SESSION_MASKED ||
                       state == UPMU_SESSION_SUSPENDED,
                   "call %u: started session %u, state %u", call_number, i, state);
    if (state != UPMU_SESSION_RUNNING)
        return;
    FUZZ_CHECK(where >= 0 && s->meter == &cpu[where].meter && !model.asleep[where],
               "call %u: session %u runs where its target is not", call_number, i);
    FUZZ_CHECK(active_of(i) != NULL, "call %u: session %u runs no set of its chain", call_number, i);
    for (unsigned k = 0; k < i; k++)
        FUZZ_CHECK(!runs_on(k, (unsigned)where) || !(subject[k].session.counters & s->counters),
                   "call %u: sessions %u and %u share counters", call_number, k, i);
}

static void check_set(unsigned i, unsigned k)
{
    struct model_set *m = &model.session[i].set[k];
    struct subject *s = &subject[i];
    struct upmu_count counts[MODEL_EVENTS];
    enum upmu_status status = CALL(upmu_set_read(set_of(s, k), 0, m->events, counts));

    FUZZ_CHECK(status == UPMU_OK || (faulty && status == UPMU_ERR_PORT), "call %u: set_read answers %d", call_number,
               status);
    follow_faults();
    for (unsigned event = 0; status == UPMU_OK && event < m->events; event++) {
        const struct upmu_count *count = &counts[event];

        FUZZ_CHECK(model_agrees(m, event, count->raw),
                   "call %u: session %u, set %u, event %u counts %llu, not %llu to %llu (%s)", call_number, i, k, event,
                   (unsigned long long)count->raw, (unsigned long long)m->floor[event],
                   (unsigned long long)m->expected[event], m->loose ? "loose" : "exact");
        FUZZ_CHECK(count->running_ns <= count->enabled_ns, "call %u: session %u runs longer than it is enabled",
                   call_number, i);
        FUZZ_CHECK(count->quality != UPMU_QUALITY_EXACT || (count->value == count->raw && !count->error),
                   "call %u: session %u: exact, but %llu of %llu", call_number, i, (unsigned long long)count->value,
                   (unsigned long long)count->raw);
    }
    if (status == UPMU_OK && !(s->session.switch_due && s->session.active == set_of(s, k)))
        m->loose = false;
}

static void check_session(unsigned i)
{
    for (unsigned k = 0; k < MODEL_SETS && !model.session[i].closed; k++)
        if (model.session[i].set[k].used && model.session[i].set[k].events)
            check_set(i, k);
}

/* User mode reads what the kernel would. */
static void check_page(unsigned i)
{
    struct model_set *m = active_of(i);
    uint64_t count;

    if (!subject[i].published || !m || m->loose || !runs_on(i, sim.current) || subject[i].session.switch_due)
        return;
    for (unsigned event = 0; event < m->events; event++)
        if (upmu_user_read(&subject[i].page, event, false, &count))
            FUZZ_CHECK(faulty || count == m->expected[event], "call %u: user mode reads %llu, not %llu", call_number,
                       (unsigned long long)count, (unsigned long long)m->expected[event]);
}

static void check_everything(void)
{
    unsigned pages = 0;

    FUZZ_CHECK(!sim.violation_count, "call %u: %s (%x, %llx)", call_number, sim.first_violation.text,
               (unsigned)sim.first_violation.address, (unsigned long long)sim.first_violation.value);
    follow_faults();
    for (unsigned i = 0; i < MODEL_SESSIONS; i++) {
        check_state(i);
        pages += subject[i].published;
        FUZZ_CHECK(upmu_queue_waiting(&subject[i].queue) <= MESSAGES, "call %u: too many messages", call_number);
    }
    FUZZ_CHECK(upmu_test_pages(&machine) == pages, "call %u: %u pages, not %u", call_number,
               upmu_test_pages(&machine), pages);
    for (unsigned number = 0; number < MODEL_CPUS; number++)
        FUZZ_CHECK(!sim.cpu[number].irq_depth && sim.cpu[number].irqs_on, "call %u leaves interrupts off", call_number);
}

/* After a tick a session that is alone does not wait. */
static void check_waiting(unsigned number)
{
    unsigned competing = 0, waiting = MODEL_SESSIONS;

    for (unsigned i = 0; i < MODEL_SESSIONS; i++)
        if (model_cpu_of(&model, &model.session[i]) == (int)number && model.session[i].started) {
            competing++;
            if (subject[i].session.state == UPMU_SESSION_WAITING)
                waiting = i;
        }
    FUZZ_CHECK(faulty || competing != 1 || waiting == MODEL_SESSIONS ||
                   (cpu[number].meter.watchdog | cpu[number].meter.foreign),
               "call %u: session %u waits without a reason", call_number, waiting);
}

/* ---- Calls ---- */

/* (The last two are Intel's architectural ones.) */
static const char *const kind_name[MODEL_KINDS] = {"instructions", "cycles", "branches", "raw:config=0x4f2e",
                                                   "raw:config=0x412e"};

static void add_event(unsigned i, unsigned k, unsigned choice)
{
    static const char *const rings[4] = {"", ":k", ":u", ""};
    struct model_set *m = &model.session[i].set[k];
    struct upmu_sampling sampling = {.period = subject[i].period};
    unsigned kind = choice % MODEL_KINDS, ring = choice >> 4 & 3;
    char text[60];

    if (!m->used || m->events == MODEL_EVENTS || (kind >= MODEL_REFERENCES && !intel))
        return;
    if (subject[i].period && choice >> 6 == 1)
        sampling.switch_after = 2;
    if (subject[i].period && choice >> 6 == 2)
        sampling.flags = UPMU_SAMPLING_NOTIFY;
    if (subject[i].period && choice >> 6 == 3)
        sampling.values = 7;
    snprintf(text, sizeof text, "%s%s", kind_name[kind], rings[ring]);
    if (CALL(upmu_set_add(set_of(&subject[i], k), text, &sampling)) != UPMU_OK)
        return;
    m->kind[m->events] = (enum model_kind)kind;
    m->rings[m->events] = ring ? ring : 3;
    m->expected[m->events] = m->floor[m->events] = 0;
    m->events++;
}

static void new_session(unsigned i, unsigned choice)
{
    static const uint64_t periods[] = {0, 0, 400, 5000};
    struct subject *s = &subject[i];

    memset(&model.session[i], 0, sizeof model.session[i]);
    FUZZ_CHECK(CALL(upmu_session_init(&s->session, &machine)) == UPMU_OK, "session_init");
    s->published = false;
    s->period = periods[choice & 3];
    model.session[i].set[0].used = true;
    FUZZ_CHECK(CALL(upmu_session_messages(&s->session, &s->queue, s->messages, MESSAGES, 0, NULL)) == UPMU_OK,
               "messages");
    if (s->period)
        FUZZ_CHECK(CALL(upmu_session_ring(&s->session, s->ring, sizeof s->ring)) == UPMU_OK, "ring");
    CALL(upmu_session_mask_on_full(&s->session, choice >> 2 & 1));
    FUZZ_CHECK(CALL(upmu_session_share(&s->session, choice >> 3 & 1)) == UPMU_OK, "share");
    FUZZ_CHECK(CALL(upmu_session_shuffle(&s->session, choice >> 4 & 1, choice)) == UPMU_OK, "shuffle");
    if (choice >> 5 & 1)
        s->published = CALL(upmu_session_publish(&s->session, &s->page)) == UPMU_OK;
    add_event(i, 0, choice * 7u);
}

/* Answers that a call may give; the rest is a failure. */
static void answered(enum upmu_status status, const char *call, unsigned i)
{
    FUZZ_CHECK(status == UPMU_OK || status == UPMU_ERR_STATE || status == UPMU_ERR_DOES_NOT_FIT ||
                   status == UPMU_ERR_INVALID || status == UPMU_ERR_NO_PMU || status == UPMU_ERR_NO_SPACE ||
                   (faulty && (status == UPMU_ERR_PORT || subject[i].session.error == status)),
               "call %u: %s of session %u answers %d", call_number, call, i, status);
}

static void attach(unsigned i, bool to_thread, unsigned choice)
{
    struct model_session *m = &model.session[i];
    enum upmu_status status;
    int where;

    if (to_thread) {
        choice %= MODEL_THREADS;
        where = model_thread_cpu(&model, choice);
        if (where >= 0)
            upmu_sim_switch_cpu(&sim, (unsigned)where); /* the call is local there */
        status = CALL(upmu_session_attach_thread(&subject[i].session, &thread[choice], where < 0 ? NULL : &cpu[where]));
    } else {
        choice %= MODEL_CPUS;
        status = CALL(upmu_session_attach_cpu(&subject[i].session, &cpu[choice]));
    }
    answered(status, "attach", i);
    if (status != UPMU_OK)
        return;
    FUZZ_CHECK(m->target == MODEL_NOTHING && !m->closed, "call %u: attached twice", call_number);
    m->target = to_thread ? MODEL_THREAD : MODEL_CPU;
    m->where = choice;
    m->started = false;
}

static void start_or_stop(unsigned i, bool start)
{
    struct model_session *m = &model.session[i];
    enum upmu_status status =
        start ? CALL(upmu_session_start(&subject[i].session)) : CALL(upmu_session_stop(&subject[i].session));

    answered(status, start ? "start" : "stop", i);
    FUZZ_CHECK(status != UPMU_OK || m->target != MODEL_NOTHING, "call %u: started while detached", call_number);
    if (status == UPMU_OK)
        m->started = start;
    else if (!start && status == UPMU_ERR_PORT)
        m->started = false;
}

static void detach_or_close(unsigned i, bool close)
{
    struct model_session *m = &model.session[i];
    enum upmu_status status =
        close ? CALL(upmu_session_close(&subject[i].session)) : CALL(upmu_session_detach(&subject[i].session));

    answered(status, close ? "close" : "detach", i);
    m->target = MODEL_NOTHING;
    m->started = false;
    if (close) {
        m->closed = true;
        subject[i].published = false;
    }
}

static void change_sets(unsigned i, unsigned choice)
{
    unsigned k = 1 + (choice & 1);
    struct model_set *m = &model.session[i].set[k];
    struct subject *s = &subject[i];
    enum upmu_status status;

    if (model.session[i].closed)
        return;
    if (choice & 2) {
        status = m->used ? CALL(upmu_session_remove_set(&s->session, (uint16_t)m->number)) : UPMU_OK;
        answered(status, "remove_set", i);
        if (status == UPMU_OK)
            m->used = false;
        return;
    }
    if (!m->used)
        m->number = k * 100 + (choice >> 5);
    status = CALL(upmu_session_add_set(&s->session, m->used ? NULL : &s->set[k], (uint16_t)m->number, choice >> 2 & 3,
                                       choice >> 2 & 1 ? 1000u * (1 + (choice >> 4)) : 0));
    answered(status, "add_set", i);
    if (status != UPMU_OK || m->used)
        return;
    memset(m->expected, 0, sizeof m->expected);
    memset(m->floor, 0, sizeof m->floor);
    m->used = true;
    m->loose = false;
    m->events = 0;
}

/* How often sets of a session came to run: a handler may change them in the middle of a piece of work. */
static uint64_t runs_of(unsigned i)
{
    uint64_t runs = 0;

    for (unsigned k = 0; k < MODEL_SETS; k++)
        if (model.session[i].set[k].used)
            runs += set_of(&subject[i], k)->runs;
    return runs;
}

/* What a session did while work was done that began with one of its sets. */
static void session_worked(unsigned i, struct model_set *first, uint64_t runs, uint64_t work, bool user)
{
    if (runs_of(i) == runs) {
        model_work(first, work, user,
                   runs_on(i, sim.current) && active_of(i) == first && !subject[i].session.switch_due);
        return;
    }
    for (unsigned k = 0; k < MODEL_SETS; k++)
        if (model.session[i].set[k].used)
            model_work(&model.session[i].set[k], work, user, false);
}

static void work_for(uint64_t work, bool user)
{
    struct upmu_sim_burst burst = {.user = user, .ip = 0x1000, .ip_step = 1, .sp = 0x8000};
    struct model_set *active[MODEL_SESSIONS];
    uint64_t runs[MODEL_SESSIONS];

    burst.instructions = model_amount(MODEL_INSTRUCTIONS, work);
    burst.cycles = model_amount(MODEL_CYCLES, work);
    burst.ref_cycles = burst.cycles;
    burst.branches = model_amount(MODEL_BRANCHES, work);
    burst.llc_references = model_amount(MODEL_REFERENCES, work);
    burst.llc_misses = model_amount(MODEL_MISSES, work);
    for (unsigned i = 0; i < MODEL_SESSIONS; i++) {
        active[i] = runs_on(i, sim.current) && !subject[i].session.switch_due ? active_of(i) : NULL;
        runs[i] = runs_of(i);
    }
    upmu_sim_events(&sim, &burst);
    for (unsigned i = 0; i < MODEL_SESSIONS; i++)
        if (active[i])
            session_worked(i, active[i], runs[i], work, user);
}

static void switch_thread(unsigned choice)
{
    unsigned here = sim.current, next = choice % (MODEL_THREADS + 1), before = model.thread_on[here];

    if (next == MODEL_THREADS)
        next += here;
    if (next == before || model_thread_cpu(&model, next) >= 0 || model.asleep[here])
        return;
    FUZZ_CHECK(CALL(upmu_thread_switch(&cpu[here], &thread[before], &thread[next])) == UPMU_OK,
               "call %u: thread_switch", call_number);
    model.thread_on[here] = next;
}

static void end_thread(unsigned number)
{
    int where = model_thread_cpu(&model, number);
    enum upmu_status status = CALL(upmu_thread_exit(&thread[number]));

    FUZZ_CHECK(status == UPMU_OK || (faulty && status == UPMU_ERR_PORT), "call %u: thread_exit answers %d", call_number,
               status);
    for (unsigned i = 0; i < MODEL_SESSIONS; i++)
        if (model.session[i].target == MODEL_THREAD && model.session[i].where == number) {
            model.session[i].target = MODEL_NOTHING;
            model.session[i].started = false;
        }
    /* A new thread of that number; the CPU goes idle. */
    if (where >= 0)
        model.thread_on[where] = MODEL_THREADS + (unsigned)where;
    CALL(upmu_thread_init(&thread[number], 1, number, NULL));
}

static void sleep_or_wake(unsigned number)
{
    unsigned here = sim.current;
    enum upmu_status status;

    upmu_sim_switch_cpu(&sim, number);
    status = model.asleep[number] ? CALL(upmu_cpu_resume(&cpu[number])) : CALL(upmu_cpu_suspend(&cpu[number]));
    FUZZ_CHECK(status == UPMU_OK || status == UPMU_ERR_DOES_NOT_FIT || (faulty && status == UPMU_ERR_PORT),
               "call %u: sleep or wake answers %d", call_number, status);
    model.asleep[number] = !model.asleep[number];
    upmu_sim_switch_cpu(&sim, here);
    /* Counters were reserved meanwhile: a session that no longer fits is stopped with its error. */
    for (unsigned i = 0; status == UPMU_ERR_DOES_NOT_FIT && i < MODEL_SESSIONS; i++)
        if (model_cpu_of(&model, &model.session[i]) == (int)number && subject[i].session.error != UPMU_OK &&
            subject[i].session.state == UPMU_SESSION_STOPPED)
            model.session[i].started = false;
}

static void call_cpu(unsigned choice)
{
    struct upmu_cpu *here = &cpu[sim.current];
    enum upmu_status status = UPMU_OK;

    switch (choice & 3) {
    case 0:
        status = CALL(upmu_cpu_poll(here));
        break;
    case 1:
        if (!model.asleep[sim.current])
            status = CALL(upmu_cpu_reserve(here, choice >> 2 & 0xf));
        if (status == UPMU_OK)
            reserved[sim.current] |= choice >> 2 & 0xf;
        if (status == UPMU_ERR_STATE)
            status = UPMU_OK;
        break;
    case 2:
        CALL(upmu_cpu_unreserve(here, ~0u));
        break;
    default:
        upmu_sim_foreign_nmi(&sim);
    }
    FUZZ_CHECK(status == UPMU_OK || (faulty && status == UPMU_ERR_PORT), "call %u: the CPU's answers %d", call_number,
               status);
}

static void tick(unsigned choice)
{
    enum upmu_status status;

    sim.now_ns += 1000u * choice;
    status = CALL(upmu_cpu_tick(&cpu[sim.current]));
    FUZZ_CHECK(status == UPMU_OK || (faulty && status == UPMU_ERR_PORT), "call %u: tick answers %d", call_number,
               status);
    if (!model.asleep[sim.current])
        check_waiting(sim.current);
}

static void take_messages(unsigned i)
{
    struct upmu_message messages[MESSAGES];
    uint32_t count;

    if (CALL(upmu_queue_read(&subject[i].queue, messages, MESSAGES, &count)) != UPMU_OK)
        return;
    for (uint32_t n = 0; n < count; n++)
        FUZZ_CHECK(messages[n].type == UPMU_MESSAGE_OVERFLOW && messages[n].events && messages[n].cpu < MODEL_CPUS,
                   "call %u: a message that cannot be", call_number);
}

static void call_session(unsigned what, unsigned i, unsigned choice)
{
    struct subject *s = &subject[i];
    unsigned k = choice % MODEL_SETS;

    switch (what) {
    case 0:
        if (model.session[i].target == MODEL_NOTHING && (model.session[i].closed || !s->published))
            new_session(i, choice);
        break;
    case 1:
        attach(i, false, choice);
        break;
    case 2:
        attach(i, true, choice);
        break;
    case 3:
    case 4:
        start_or_stop(i, true);
        break;
    case 5:
        start_or_stop(i, false);
        break;
    case 6:
        detach_or_close(i, choice > 200);
        break;
    case 7:
        check_session(i);
        check_page(i);
        break;
    case 8:
        if (model.session[i].target == MODEL_NOTHING && !model.session[i].closed)
            add_event(i, k, choice);
        break;
    case 9:
        change_sets(i, choice);
        break;
    case 10:
        if (model.session[i].set[k].used && !model.session[i].closed)
            answered(CALL(upmu_session_switch(&s->session, choice >> 7 ? NULL : set_of(s, k))), "switch", i);
        break;
    case 11:
        answered(CALL(upmu_session_restart(&s->session)), "restart", i);
        break;
    default:
        take_messages(i);
    }
}

/* ---- A run ---- */

/* Bytes: profile; hooks and interrupts; faults. */
static void set_up(struct fuzz_bytes *input)
{
    static const char *const profiles[] = {"skylake", "core2", "skylake_nofw", "icelake", "skylake", "core2",
                                           "yonah",   "zen2",  "zen4",         "k8_revc", "nehalem", "willamette"};
    unsigned profile = fuzz_u8(input), interrupts = fuzz_u8(input);

    faulty = fuzz_u8(input) >= 0xe0;
    profile %= sizeof profiles / sizeof *profiles;
    upmu_sim_init(&sim, upmu_sim_profile(profiles[profile]), MODEL_CPUS);
    intel = profile < 6;
    sim.deliver = deliver_interrupt;
    sim.skid = interrupts & 16 ? interrupts & 15 : 0;
    model_begin(&model);
    FUZZ_CHECK(CALL(upmu_machine_init(&machine, upmu_sim_port(&sim))) == UPMU_OK, "machine_init");
    for (unsigned i = 0; i < MODEL_CPUS; i++) {
        upmu_sim_switch_cpu(&sim, i);
        memset(&cpu[i], 0, sizeof cpu[i]);
        reserved[i] = 0;
        upmu_sim_set_delivery(&sim, i, interrupts & 128 ? 0x40 : UPMU_SIM_LVTPC_NMI);
        upmu_sim_bind_cpu(&sim, i, &cpu[i]);
        for (unsigned k = 0; intel && k < KEPT; k++)
            found[i][k] = upmu_sim_peek(&sim, i, kept[k]);
        FUZZ_CHECK(CALL(upmu_cpu_init(&cpu[i], &machine, NULL)) == UPMU_OK, "cpu_init");
    }
    upmu_sim_switch_cpu(&sim, 0);
    for (unsigned i = 0; i < MODEL_THREADS + MODEL_CPUS; i++)
        CALL(upmu_thread_init(&thread[i], 1, i, NULL));
    for (unsigned i = 0; i < MODEL_SESSIONS; i++)
        new_session(i, fuzz_u8(input));
}

static void tear_down(void)
{
    sim.fault_at = sim.fault_until = 0;
    for (unsigned i = 0; i < MODEL_CPUS; i++)
        if (model.asleep[i])
            sleep_or_wake(i);
    for (unsigned i = 0; i < MODEL_SESSIONS; i++) {
        check_session(i);
        detach_or_close(i, false);
        check_session(i);
        detach_or_close(i, true);
    }
    check_everything();
    FUZZ_CHECK(!upmu_test_pages(&machine), "%u pages are left", upmu_test_pages(&machine));
    for (unsigned i = 0; i < MODEL_THREADS; i++)
        FUZZ_CHECK(!thread[i].sessions, "thread %u keeps a session", i);
    for (unsigned i = 0; i < MODEL_CPUS; i++) {
        struct upmu_test_state now;

        upmu_sim_switch_cpu(&sim, i);
        upmu_test_state(&cpu[i], &now);
        FUZZ_CHECK(!cpu[i].meter.sessions && !now.running && !cpu[i].pages, "CPU %u keeps a session", i);
        FUZZ_CHECK(CALL(upmu_cpu_fini(&cpu[i])) == UPMU_OK || faulty, "cpu_fini");
        for (unsigned k = 0; intel && k < KEPT && !faulty; k++)
            FUZZ_CHECK(!((upmu_sim_peek(&sim, i, kept[k]) ^ found[i][k]) & ~(kept[k] == 0x38f ? reserved[i] : 0)),
                       "%x of CPU %u is %llx, was %llx", (unsigned)kept[k], i,
                       (unsigned long long)upmu_sim_peek(&sim, i, kept[k]), (unsigned long long)found[i][k]);
    }
}

/* Header: see set_up(); then calls: what, with what. */
static void run(const uint8_t *bytes, size_t length)
{
    struct fuzz_bytes input = {bytes, bytes + length};

    set_up(&input);
    for (call_number = 0; call_number < CALLS && fuzz_more(&input); call_number++) {
        unsigned what = fuzz_u8(&input), choice = fuzz_u8(&input), call = what & 31, i = (what >> 5) % MODEL_SESSIONS;

        if (faulty && choice == 0x77)
            sim.fault_at = sim.accesses + 1 + (what & 7);
        if (call < 13)
            call_session(call, i, choice);
        else if (call < 17)
            switch_thread(choice);
        else if (call == 17 && choice > 200)
            end_thread(choice % MODEL_THREADS);
        else if (call == 18 && choice > 230)
            sleep_or_wake(choice & 1);
        else if (call == 19)
            call_cpu(choice);
        else if (call < 22)
            upmu_sim_switch_cpu(&sim, choice & 1);
        else if (call < 25)
            tick(choice);
        else
            work_for(choice, what >> 5 & 1);
        check_everything();
    }
    tear_down();
}

static void make(uint64_t *random, struct fuzz_draft *draft)
{
    fuzz_put(draft, fuzz_random(random), 3 + MODEL_SESSIONS);
    /* Some order in the beginning, so that there is something to disturb. */
    for (unsigned i = 0; i < MODEL_SESSIONS; i++) {
        fuzz_put(draft, (i << 5 | 9) | (fuzz_random(random) & 0xfd) << 8, 2);
        fuzz_put(draft, (i << 5 | 8) | (fuzz_random(random) & 0xff) << 8, 2);
        fuzz_put(draft, (i << 5 | (1 + fuzz_below(random, 2))) | (fuzz_random(random) & 0xff) << 8, 2);
        fuzz_put(draft, i << 5 | 3, 2);
    }
    for (unsigned calls = 200 + fuzz_below(random, 200); calls; calls--)
        fuzz_put(draft, fuzz_random(random), 2);
}

/* Some 256 calls of the library each. */
const struct fuzz_target fuzz_target = {"sessions", "any_calls_on_sessions_agree_with_the_model", 420, 42000, run,
                                        make, 0};
