/* SPDX-License-Identifier: MIT */
/*
 * The steps of the stress test: on which PMUs, what happens, which calls are made.  What must hold: stress_judge.h.
 */
#ifndef TESTS_UNIT_ENGINE_STRESS_STEPS_H
#define TESTS_UNIT_ENGINE_STRESS_STEPS_H

#include <upmu/world.h>
#include "tests/unit/engine/stress_judge.h"

#define TWO_CORES (1u << 0) /* two CPUs */
#define ONE_CORE (1u << 1)  /* two CPUs that are threads of one core */
#define NO_WATCHDOG                                                                                                    \
    (1u << 2) /* the host runs no counter of its own: one bit enables two, or selects are two registers */

static const struct row {
    const char *profile, *second; /* second: of CPU 1, if it is of another type */
    unsigned flags;
} rows[] = {
    {"p6", NULL, NO_WATCHDOG},
    {"pentium_m", NULL, NO_WATCHDOG},
    {"yonah", NULL, TWO_CORES | NO_WATCHDOG},
    {"version1", NULL, 0},
    {"core2", NULL, TWO_CORES},
    {"merom_early", NULL, 0},
    {"nehalem", NULL, ONE_CORE},
    {"haswell_smt", NULL, ONE_CORE},
    {"broadwell", NULL, 0},
    {"skylake", NULL, TWO_CORES},
    {"skylake_nofw", NULL, 0},
    {"icelake", NULL, TWO_CORES},
    {"hypervisor_v2_nofixed", NULL, 0},
    {"silvermont", NULL, ONE_CORE},
    {"adl_p", "adl_e", TWO_CORES},
    {"lnl_p", "lnl_e", TWO_CORES},
    {"k7", NULL, 0},
    {"k8_reve", NULL, TWO_CORES},
    {"barcelona", NULL, 0},
    {"bulldozer", NULL, TWO_CORES},
    {"jaguar", NULL, 0},
    {"zen1", NULL, TWO_CORES},
    {"zen3", NULL, 0},
    {"zen4", NULL, TWO_CORES},
    {"amd_kvm_legacy", NULL, 0},
    {"amd_kvm_v2_few", NULL, 0},
    {"willamette", NULL, NO_WATCHDOG},
    {"northwood", NULL, ONE_CORE | NO_WATCHDOG},
    {"prescott", NULL, ONE_CORE | NO_WATCHDOG},
    {"smithfield", NULL, TWO_CORES | NO_WATCHDOG},
    {"cedarmill", NULL, ONE_CORE | NO_WATCHDOG},
};
#define ROWS (sizeof rows / sizeof rows[0])

static const struct row *row;
static struct stress_kind learned[STRESS_KINDS];
static unsigned learned_kinds;
static bool trace, user_inside, no_static;
static bool tick_asked[STRESS_CPUS];

/* ---- Chance ---- */

static uint64_t draw(uint64_t below)
{
    s.random ^= s.random << 13;
    s.random ^= s.random >> 7;
    s.random ^= s.random << 17;
    return (s.random >> 11) % below;
}

static bool one_in(uint64_t n)
{
    return draw(n) == 0;
}

__attribute__((format(printf, 1, 2))) static void tell(const char *format, ...)
{
    va_list arguments;
    char *line = s.log[s.logged++ % STRESS_LOG];
    int length = snprintf(line, sizeof s.log[0], "%u: ", s.step);

    va_start(arguments, format);
    vsnprintf(line + length, sizeof s.log[0] - (size_t)length, format, arguments);
    va_end(arguments);
    if (trace)
        print_message("%s\n", line);
}

/* ---- Events ---- */

/* Event codes with unit mask 1 that nothing but this test makes happen; the last one may happen 2^30 times at once. */
static const uint8_t intel_codes[] = {0x0e, 0x51, 0xa2, 0x80}, amd_codes[] = {0x40, 0x41, 0x42, 0x44};
#define CODES 4u

static void happen(unsigned most, bool user)
{
    const uint8_t *codes = silicon_is_amd() ? amd_codes : intel_codes;
    struct upmu_sim_burst burst = {.user = user, .ip = user ? 0x1000 : UPMU_SIM_KERNEL_IP, .ip_step = 1};

    /* One draw a statement: the order of others is the compiler's. */
    burst.instructions = draw(most) + 1;
    burst.ref_cycles = draw(most);
    burst.branches = draw(most);
    burst.mispredicts = draw(most);
    burst.llc_misses = draw(most);
    burst.uops = draw(2u * most);
    burst.cycles = burst.instructions + draw(most);
    burst.llc_references = burst.llc_misses + draw(most);
    for (unsigned i = 0; i < CODES && !silicon_is_p4(); i++)
        burst.other[i] = (struct upmu_sim_other){.event = codes[i], .umask = 1, .count = draw(most) + 1};
    upmu_sim_events(&s.sim, &burst);
}

static void happen_inside(struct upmu_sim *sim)
{
    unsigned chance = (unsigned)draw(100);

    if (s.quiet)
        return;
    if (chance < s.inside_percent)
        happen((unsigned)s.inside_events, user_inside && one_in(2));
    if (chance < s.foreign_percent)
        upmu_sim_foreign_nmi(sim);
}

static void before(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind, uint32_t address)
{
    (void)cpu, (void)kind, (void)address;
    judge_look();
    if (number % 16 == 0)
        judge_programs();
    happen_inside(sim);
    judge_look();
}

static void after(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind, uint32_t address)
{
    (void)cpu, (void)number, (void)address;
    if (kind == UPMU_SIM_WRMSR) {
        judge_look();
        judge_learn_keys();
    }
    happen_inside(sim);
}

static void deliver(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_interrupt *interrupt)
{
    static struct stress_state found;
    struct upmu_frame frame = {.ip = interrupt->ip, .sp = interrupt->sp, .user = interrupt->user};
    bool in_callback = sim->in_callback;
    uint64_t overflows = silicon_overflows(cpu);
    unsigned searches = upmu_test_searches();
    struct upmu_test_state state;
    enum upmu_pmi answer;

    judge_look();
    judge_learn_keys();
    s.interrupts++;
    s.inside_interrupts += s.depth != 0;
    s.depth++;
    sim->in_callback = false;
    upmu_test_state(&s.cpu[cpu], &state);
    if (state.busy)
        judge_note_state(cpu, &found);
    answer = upmu_pmi_handle(&s.cpu[cpu], one_in(8) ? NULL : &frame);
    if (state.busy)
        judge_mail(cpu, &found, state.mail, answer);
    judge_answer(cpu, answer, overflows);
    if (upmu_test_searches() != searches)
        stress_fail("CPU %u: a handler searches a place", cpu);
    sim->in_callback = in_callback;
    judge_look();
    s.depth--;
    if (!interrupt->foreign && answer == UPMU_PMI_NOT_OURS && s.live[cpu] && !s.foreign_percent && !s.sim.status_lag)
        stress_fail("CPU %u: an overflow's interrupt is answered NOT_OURS", cpu);
    if (!s.depth)
        judge_gates();
}

static void ask_tick(void *context)
{
    const struct upmu_sim *sim = context;

    tick_asked[sim->current] = true;
}

/* ---- Calls ---- */

/* Reasons for which a call may be refused. */
enum refusal { NEVER, NO_PLACE, IN_USE, IN_PROGRESS };

static bool may_refuse(enum upmu_status status, enum refusal refusal)
{
    switch (status) {
    case UPMU_OK:
        return true;
    case UPMU_ERR_DOES_NOT_FIT:
    case UPMU_ERR_TOO_HARD:
    case UPMU_ERR_NO_SPACE:
    case UPMU_ERR_LOST_CLAIM:
        return refusal == NO_PLACE;
    case UPMU_ERR_STATE:
        return refusal == IN_USE;
    case UPMU_ERR_BUSY:
        return refusal == IN_PROGRESS;
    default:
        return false;
    }
}

static enum upmu_status called(const char *what, enum upmu_status status, enum refusal refusal)
{
    judge_look();
    s.depth--;
    if (status != UPMU_OK)
        tell("    %s", upmu_status_text(status));
    if (!may_refuse(status, refusal))
        stress_fail("%s answers: %s", what, upmu_status_text(status));
    return status;
}

#define CALL(call, refusal) (judge_look(), s.depth++, called(#call, (call), (refusal)))

/* Can a call on this session be made now?  Mostly it is made where its target is. */
static bool go_for(const struct stress_session *session)
{
    unsigned place = stress_place(session);

    if (!session->sets || (place != STRESS_NONE && !s.live[place]))
        return false;
    if (place == STRESS_NONE || (s.cpus > 1 && one_in(6)))
        place = (unsigned)draw(s.cpus);
    upmu_sim_switch_cpu(&s.sim, place);
    return true;
}

/* ---- Sessions ---- */

static unsigned draw_kind(unsigned pmu, bool samples)
{
    for (;;) {
        unsigned kind = (unsigned)draw(s.kinds);

        if (s.kind[kind].pmu == pmu && !s.kind[kind].is_initiator && !(samples && s.kind[kind].not_sampled))
            return kind;
    }
}

static bool has_kind(const struct stress_set *set, unsigned kind)
{
    for (unsigned i = 0; i < set->events; i++)
        if (set->event[i].kind == kind)
            return true;
    return false;
}

static void add_event(struct stress_session *session, struct stress_set *set, bool samples)
{
    struct upmu_sampling sampling = {.period = samples ? 256 + draw(4000) : 0};
    unsigned kind = draw_kind(session->pmu, samples);
    struct stress_event *event = &set->event[set->events];
    enum upmu_status status;

    if (has_kind(set, kind))
        return;
    if (samples && one_in(4))
        sampling.random_mask = 63;
    if (samples && session->sets > 1)
        sampling.switch_after = (uint32_t)draw(3);
    status = upmu_set_add(set->set, s.kind[kind].text, &sampling);
    if (status != UPMU_OK)
        stress_fail("%s is refused: %s", s.kind[kind].text, upmu_status_text(status));
    *event = (struct stress_event){.kind = kind, .period = sampling.period, .random_mask = sampling.random_mask};
    set->events++;
    session->sampling += samples;
    s.kind[kind].is_static |= session->is_static;
    s.kind[kind].loose |= session->is_static;
    tell("    %s, period %u%s", s.kind[kind].text, (unsigned)sampling.period, sampling.random_mask ? ", random" : "");
}

static void add_sets(struct stress_session *session)
{
    static const unsigned switches[] = {UPMU_SET_TIME_SWITCH, UPMU_SET_OVERFLOW_SWITCH, 0,
                                        UPMU_SET_TIME_SWITCH | UPMU_SET_OVERFLOW_SWITCH};
    unsigned flags = switches[draw(4)];

    if (s.no_clock)
        flags &= ~UPMU_SET_TIME_SWITCH;
    session->set[0].set = &session->session.set;
    session->set[1].set = &session->second;
    for (unsigned k = 0; k < session->sets && session->sets > 1; k++) {
        uint64_t timeout_ns = flags & UPMU_SET_TIME_SWITCH ? 500 + draw(5000) : 0;
        enum upmu_status status =
            upmu_session_add_set(&session->session, session->set[k].set, (uint16_t)(7 * k), flags, timeout_ns);

        if (status != UPMU_OK)
            stress_fail("a set is refused: %s", upmu_status_text(status));
    }
}

static void choose(bool is_good, const char *what)
{
    if (!is_good)
        stress_fail("%s is refused", what);
}

static void create(struct stress_session *session)
{
    struct upmu_session *upmu = &session->session;
    bool small = one_in(3);

    memset(session, 0, sizeof *session);
    session->sets = one_in(4) ? 2 : 1;
    session->pmu = row->second ? (unsigned)draw(2) : 0;
    session->shares = one_in(3);
    session->is_static = one_in(6) && !no_static;
    session->masks = one_in(3);
    session->world = one_in(5) ? (enum upmu_world)(1 + draw(2)) : UPMU_WORLD_BOTH;
    tell("create session %u%s%s%s, world %u, %u sets", (unsigned)(session - s.session),
         session->shares ? ", shares" : "", session->is_static ? ", static" : "", session->masks ? ", masks" : "",
         (unsigned)session->world, session->sets);
    choose(upmu_session_init(upmu, &s.machine) == UPMU_OK, "a session");
    choose(upmu_session_world(upmu, session->world) == UPMU_OK, "a world");
    choose(upmu_session_share(upmu, session->shares) == UPMU_OK, "sharing");
    choose(upmu_session_static(upmu, session->is_static) == UPMU_OK, "a static session");
    upmu_session_mask_on_full(upmu, session->masks);
    choose(upmu_session_ring(upmu, session->ring, small ? 320 : sizeof session->ring) == UPMU_OK, "a ring");
    add_sets(session);
    for (unsigned k = 0; k < session->sets; k++) {
        unsigned events = 1 + (unsigned)draw(STRESS_EVENTS);

        for (unsigned i = 0; i < events; i++)
            add_event(session, &session->set[k],
                      s.can_sample && one_in(2) && (!session->sampling || (session->sets == 1 && !small)));
    }
}

static void detached(struct stress_session *session)
{
    session->target = STRESS_DETACHED;
    session->started = false;
}

/* The counts end with the session: what is counted inside of the call is in no count. */
static void close_session(struct stress_session *session)
{
    tell("close session %u", (unsigned)(session - s.session));
    judge_counts();
    for (unsigned k = 0; k < session->sets; k++)
        for (unsigned e = 0; e < session->set[k].events; e++)
            s.kind[session->set[k].event[e].kind].loose = true;
    (void)CALL(upmu_session_close(&session->session), NEVER);
    for (unsigned k = 0; k < session->sets; k++)
        for (unsigned e = 0; e < session->set[k].events; e++) {
            struct stress_event *event = &session->set[k].event[e];

            s.kind[event->kind].low -= event->low;
            s.kind[event->kind].high -= event->low;
        }
    session->sets = 0;
}

static void attach(struct stress_session *session)
{
    unsigned to = (unsigned)draw(s.cpus);
    enum upmu_status status;

    if (one_in(2)) {
        if (row->second)
            to = session->pmu;
        if (!s.live[to])
            return;
        upmu_sim_switch_cpu(&s.sim, to);
        tell("attach session %u to CPU %u", (unsigned)(session - s.session), to);
        status = CALL(upmu_session_attach_cpu(&session->session, &s.cpu[to]), NO_PLACE);
        session->target = status == UPMU_OK ? STRESS_ON_CPU : STRESS_DETACHED;
        session->where = to;
        return;
    }
    session->where = (unsigned)draw(STRESS_THREADS);
    to = stress_thread_cpu(session->where);
    if (to != STRESS_NONE && !s.live[to])
        return;
    upmu_sim_switch_cpu(&s.sim, to == STRESS_NONE ? 0 : to);
    tell("attach session %u to thread %u, on CPU %d", (unsigned)(session - s.session), session->where, (int)(int8_t)to);
    status = CALL(
        upmu_session_attach_thread(&session->session, &s.thread[session->where], to == STRESS_NONE ? NULL : &s.cpu[to]),
        NO_PLACE);
    session->target = status == UPMU_OK ? STRESS_ON_THREAD : STRESS_DETACHED;
}

static void start(struct stress_session *session)
{
    tell("start session %u on CPU %u", (unsigned)(session - s.session), s.sim.current);
    if (CALL(upmu_session_start(&session->session), NO_PLACE) == UPMU_OK)
        session->started = true;
}

static void stop(struct stress_session *session)
{
    tell("stop session %u on CPU %u", (unsigned)(session - s.session), s.sim.current);
    (void)CALL(upmu_session_stop(&session->session), NEVER);
    session->started = false;
}

static void detach(struct stress_session *session)
{
    tell("detach session %u on CPU %u", (unsigned)(session - s.session), s.sim.current);
    (void)CALL(upmu_session_detach(&session->session), NEVER);
    detached(session);
}

static void restart(struct stress_session *session)
{
    tell("restart session %u on CPU %u", (unsigned)(session - s.session), s.sim.current);
    judge_drain(session);
    (void)CALL(upmu_session_restart(&session->session), NO_PLACE);
}

static void read_session(struct stress_session *session)
{
    struct stress_set *set = &session->set[draw(session->sets)];
    struct upmu_count counts[STRESS_EVENTS];
    unsigned searches = upmu_test_searches();

    tell("read session %u on CPU %u", (unsigned)(session - s.session), s.sim.current);
    if (CALL(upmu_set_read(set->set, 0, set->events, counts), IN_PROGRESS) != UPMU_OK)
        return;
    if (upmu_test_searches() != searches)
        stress_fail("a read searches a place");
    for (unsigned e = 0; e < set->events; e++)
        if (counts[e].raw < set->event[e].low || counts[e].raw - set->event[e].low > s.kind[set->event[e].kind].inside)
            stress_fail("a read of %s finds %llu; its counters counted %llu, and %llu inside of calls",
                        s.kind[set->event[e].kind].text, (unsigned long long)counts[e].raw,
                        (unsigned long long)set->event[e].low, (unsigned long long)s.kind[set->event[e].kind].inside);
}

/* The count is another from a moment of the call on.  (A whole period inside of the call: their number is unknown.) */
static void write_count(struct stress_session *session)
{
    static const uint64_t corners[] = {0, 0xfffffe00, 0x7ffffe00, 0x3fffff0000, 0xfffffffe00, 0xffffffffff00};
    struct stress_set *set = &session->set[draw(session->sets)];
    unsigned e = (unsigned)draw(set->events);
    struct stress_event *event = &set->event[e];
    struct stress_kind *kind = &s.kind[event->kind];
    uint64_t value = corners[draw(6)], begun_ns;
    unsigned moved = s.sim.current;
    struct upmu_count count;

    value += draw(1000);
    judge_counts();
    tell("write %llx to %s of session %u on CPU %u", (unsigned long long)value, kind->text,
         (unsigned)(session - s.session), moved);
    kind->loose = true;
    begun_ns = s.sim.now_ns;
    (void)CALL(upmu_set_write(set->set, e, value), NEVER);
    kind->low += value - event->low;
    kind->high += value - event->low;
    event->low = event->begin = event->written = value;
    event->enabled_ns = event->running_ns = event->enabled[0] = event->running[0] = 0;
    event->enabled[1] = event->running[1] = s.sim.now_ns - begun_ns;
    s.quiet = true;
    stress_go_to(session);
    (void)CALL(upmu_set_read(set->set, e, 1, &count), NEVER);
    s.quiet = false;
    judge_drain(session);
    event->settled = judge_settled(session, event, &count);
    event->irregular = event->period && kind->inside >= event->period / 2u;
}

static void switch_set(struct stress_session *session)
{
    tell("switch the set of session %u on CPU %u", (unsigned)(session - s.session), s.sim.current);
    (void)CALL(upmu_session_switch(&session->session, one_in(2) ? NULL : session->set[draw(session->sets)].set), NEVER);
}

/* Sessions here change together: some start, others stop. */
static void change_these(unsigned cpu)
{
    struct upmu_session *starts[STRESS_SESSIONS], *stops[STRESS_SESSIONS];
    unsigned start_count = 0, stop_count = 0;

    for (unsigned i = 0; i < STRESS_SESSIONS; i++) {
        struct stress_session *session = &s.session[i];

        if (!session->sets || stress_place(session) != cpu || one_in(3))
            continue;
        if (session->started)
            stops[stop_count++] = &session->session;
        else
            starts[start_count++] = &session->session;
    }
    upmu_sim_switch_cpu(&s.sim, cpu);
    tell("change %u and %u sessions of CPU %u", start_count, stop_count, cpu);
    (void)CALL(upmu_sessions_change(&s.cpu[cpu], starts, start_count, stops, stop_count), NO_PLACE);
    for (unsigned i = 0; i < STRESS_SESSIONS; i++) {
        struct stress_session *session = &s.session[i];

        for (unsigned k = 0; k < stop_count; k++)
            session->started &= stops[k] != &session->session;
        for (unsigned k = 0; k < start_count; k++)
            session->started |= starts[k] == &session->session && session->session.state != UPMU_SESSION_STOPPED;
    }
}

static void step_session(struct stress_session *session)
{
    if (!session->sets) {
        create(session);
        return;
    }
    if (!go_for(session))
        return;
    if (session->target == STRESS_DETACHED && !one_in(8)) {
        attach(session);
        return;
    }
    switch (draw(16)) {
    case 0:
        close_session(session);
        break;
    case 1:
        detach(session);
        break;
    case 2:
    case 3:
    case 4:
        if (session->target != STRESS_DETACHED)
            stop(session);
        break;
    case 5:
        restart(session);
        break;
    case 6:
    case 7:
        read_session(session);
        break;
    case 8:
        write_count(session);
        break;
    case 9:
        if (session->sets > 1 && session->target != STRESS_DETACHED)
            switch_set(session);
        break;
    default:
        if (session->target != STRESS_DETACHED)
            start(session);
    }
}

/* ---- CPUs and threads ---- */

static void work(unsigned cpu)
{
    bool user = one_in(2);

    upmu_sim_switch_cpu(&s.sim, cpu);
    tell("work on CPU %u", cpu);
    for (unsigned i = (unsigned)draw(4); i < 4; i++)
        happen(one_in(3) ? 200 : 4000, user);
}

/* A counter of 32 bits wraps in four of these. */
static void long_work(unsigned cpu)
{
    struct upmu_sim_burst burst = {
        .other = {{.event = silicon_is_amd() ? amd_codes[CODES - 1u] : intel_codes[CODES - 1u],
                   .umask = 1,
                   .count = (UINT64_C(1) << 30) + draw(1000)}}};

    if (silicon_is_p4() || !s.live[cpu])
        return;
    upmu_sim_switch_cpu(&s.sim, cpu);
    tell("long work on CPU %u", cpu);
    upmu_sim_events(&s.sim, &burst);
    (void)CALL(upmu_cpu_poll(&s.cpu[cpu]), NEVER);
}

static void switch_thread(unsigned cpu)
{
    unsigned from = s.thread_on[cpu], to = (unsigned)draw(STRESS_THREADS);

    if (stress_thread_cpu(to) != STRESS_NONE)
        return;
    upmu_sim_switch_cpu(&s.sim, cpu);
    tell("CPU %u switches from thread %u to %u", cpu, from, to);
    judge_look();
    s.depth++;
    s.thread_on[cpu] = to;
    (void)called("upmu_thread_switch", upmu_thread_switch(&s.cpu[cpu], &s.thread[from], &s.thread[to]), NEVER);
}

static void exit_thread(void)
{
    unsigned thread = (unsigned)draw(STRESS_THREADS - 2u);

    if (stress_thread_cpu(thread) != STRESS_NONE)
        return;
    tell("exit of thread %u", thread);
    (void)CALL(upmu_thread_exit(&s.thread[thread]), NEVER);
    for (unsigned i = 0; i < STRESS_SESSIONS; i++)
        if (s.session[i].sets && s.session[i].target == STRESS_ON_THREAD && s.session[i].where == thread)
            detached(&s.session[i]);
    upmu_thread_init(&s.thread[thread], 100 + thread, 200 + thread, NULL);
}

static void tick(unsigned cpu)
{
    upmu_sim_switch_cpu(&s.sim, cpu);
    tell("tick on CPU %u", cpu);
    tick_asked[cpu] = false;
    (void)CALL(upmu_cpu_tick(&s.cpu[cpu]), NEVER);
}

/* The host's counter is a row of its own in the books: no session counts it, and nothing may change it. */
static void reserve(unsigned cpu)
{
    unsigned counter = (unsigned)draw(silicon_is_p4()          ? UPMU_SIM_P4_COUNTERS
                                      : s.sim.cpu[cpu].profile ? s.sim.cpu[cpu].profile->general
                                                               : s.sim.profile->general);

    if (s.reserved[cpu] || row->flags & ONE_CORE || upmu_cpu_owner(&s.cpu[cpu], counter) != UPMU_OWNER_FREE)
        return;
    upmu_sim_switch_cpu(&s.sim, cpu);
    tell("reserve counter %u of CPU %u", counter, cpu);
    if (CALL(upmu_cpu_reserve(&s.cpu[cpu], 1u << counter), IN_USE) != UPMU_OK)
        return;
    s.reserved[cpu] = 1u << counter;
    if (row->flags & NO_WATCHDOG)
        return;
    s.sim.cpu[cpu].select[counter] = 0x430240; /* no such event happens */
    s.sim.cpu[cpu].global_ctrl |= sim_has_global(&s.sim, cpu) ? sim_global_bit(counter) : 0;
    judge_learn_keys();
    s.watchdog_counter[cpu] = counter;
    s.watchdog[cpu] = silicon_watchdog(cpu);
}

static void unreserve(unsigned cpu)
{
    unsigned counter = s.watchdog_counter[cpu];
    uint32_t reserved = s.reserved[cpu];

    if (!reserved)
        return;
    upmu_sim_switch_cpu(&s.sim, cpu);
    tell("unreserve %x of CPU %u", (unsigned)reserved, cpu);
    if (s.watchdog[cpu]) {
        s.sim.cpu[cpu].select[counter] &= ~SIM_SELECT_EN;
        s.sim.cpu[cpu].global_ctrl &= ~sim_global_bit(counter);
    }
    /* An overflow from before the reservation, whose flag the handler has left alone since, is not answered for yet. */
    s.answered[cpu] -= (s.sim.cpu[cpu].status & sim_global_bit(counter)) != 0;
    judge_learn_keys();
    s.watchdog[cpu] = 0;
    judge_look();
    s.depth++;
    s.reserved[cpu] = 0; /* the end of the call may give the counter to a session */
    upmu_cpu_unreserve(&s.cpu[cpu], reserved);
    (void)called("upmu_cpu_unreserve", UPMU_OK, NEVER);
}

static void sleep_or_wake(unsigned cpu)
{
    upmu_sim_switch_cpu(&s.sim, cpu);
    tell(s.live[cpu] ? "suspend CPU %u" : "resume CPU %u", cpu);
    if (s.live[cpu]) {
        unreserve(cpu);
        (void)CALL(upmu_cpu_suspend(&s.cpu[cpu]), NEVER);
        s.live[cpu] = false;
        return;
    }
    s.live[cpu] = true;
    if (CALL(upmu_cpu_resume(&s.cpu[cpu]), row->flags & ONE_CORE ? NO_PLACE : NEVER) == UPMU_OK)
        return;
    /* The other thread of the core has taken counters meanwhile. */
    for (unsigned i = 0; i < STRESS_SESSIONS; i++) {
        struct stress_session *session = &s.session[i];

        if (session->sets && session->session.error == UPMU_ERR_DOES_NOT_FIT && stress_place(session) == cpu) {
            session->session.error = UPMU_OK;
            session->started = false;
        }
    }
}

static void cross(unsigned cpu)
{
    upmu_sim_switch_cpu(&s.sim, cpu);
    tell("CPU %u %s a guest", cpu, s.in_guest[cpu] ? "leaves" : "enters");
    if (s.in_guest[cpu]) {
        upmu_sim_leave_guest(&s.sim);
        (void)CALL(upmu_cpu_leave_guest(&s.cpu[cpu]), NEVER);
        s.in_guest[cpu] = false;
        return;
    }
    (void)CALL(upmu_cpu_enter_guest(&s.cpu[cpu]), NEVER);
    s.in_guest[cpu] = true;
    upmu_sim_enter_guest(&s.sim);
}

/* An interrupt that is on its way comes a few instructions late, never seconds: the clock stands still until then. */
static void let_time_pass(uint64_t ns)
{
    for (unsigned i = 0; i < STRESS_CPUS; i++)
        if (s.sim.cpu[i].skid_left)
            return;
    upmu_sim_advance_ns(&s.sim, ns);
}

static void step_cpu(unsigned cpu)
{
    switch (draw(24)) {
    case 0:
    case 1:
    case 2:
        tick(cpu);
        break;
    case 3:
        upmu_sim_switch_cpu(&s.sim, cpu);
        tell("poll CPU %u", cpu);
        (void)CALL(upmu_cpu_poll(&s.cpu[cpu]), NEVER);
        break;
    case 4:
        upmu_sim_switch_cpu(&s.sim, cpu);
        tell("verify CPU %u", cpu);
        (void)CALL(upmu_cpu_verify(&s.cpu[cpu], NULL), IN_PROGRESS);
        break;
    case 5:
        reserve(cpu);
        break;
    case 6:
        unreserve(cpu);
        break;
    case 7:
        exit_thread();
        break;
    case 8:
        if (one_in(2))
            sleep_or_wake(cpu);
        break;
    case 9:
        cross(cpu);
        break;
    case 10:
        long_work(cpu);
        break;
    case 11:
    case 12:
        change_these(cpu);
        break;
    case 13:
        let_time_pass(draw(100000) << (s.is_rough ? 24 : 0));
        break;
    case 14:
        upmu_sim_switch_cpu(&s.sim, cpu);
        upmu_sim_foreign_nmi(&s.sim);
        break;
    default:
        switch_thread(cpu);
    }
}

#endif
