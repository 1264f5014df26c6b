/* SPDX-License-Identifier: MIT */
/*
 * The judge of the stress test: its own books of what the silicon model counted, sampled and measured, and what the
 * library must say of it.
 *
 * The books rest on the headers in include/upmu and on the model's registers.  Each event of the test has an identity
 * that the registers of a counter show (a select; an ESCR and its conditions on NetBurst).  All that a counter counts
 * goes to the event that its registers name at that moment.  Outside of calls and handlers the count belongs to the
 * session that runs there; inside, it belongs to one of the sessions that count this event.
 */
#ifndef TESTS_UNIT_ENGINE_STRESS_JUDGE_H
#define TESTS_UNIT_ENGINE_STRESS_JUDGE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/common/assertions.h"

#include "models/sim/sim_amd.h"
#include "models/sim/sim_intern.h"
#include "models/sim/sim_p4.h"
#include "tests/common/searches.h"
#include "tests/common/state.h"
#include <upmu/cpu.h>
#include <upmu/event.h>
#include <upmu/format.h>
#include <upmu/place.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include <upmu/upmu.h>

#define STRESS_CPUS 2u
#define STRESS_SESSIONS 8u
#define STRESS_THREADS 6u /* the last two are idle threads, one for each CPU */
#define STRESS_EVENTS 3u
#define STRESS_SETS 2u
#define STRESS_KINDS 48u
#define STRESS_RING_WORDS 512u
#define STRESS_LOG 40u
#define STRESS_NONE 0xffu

/* An event of the test, of one type of core. */
struct stress_kind {
    char text[72];
    uint64_t key;      /* what the registers of its counter show */
    unsigned pmu;      /* number of the type of core: the first CPU that has it */
    bool is_initiator; /* it starts a cascade, and is in no session's count */
    bool not_sampled;  /* it may happen 2^30 times at once */
    /* The books. */
    uint64_t low, high; /* sum of the counts of all sessions that have it */
    uint64_t inside;    /* of it, counted inside calls since the last judgement */
    bool is_static;     /* a session had it that lets its counters run on without it */
    bool loose;         /* so, or the present call sets or ends its count */
};

/* What is known of one event of a session. */
struct stress_event {
    unsigned kind;
    uint64_t low; /* its count, but for what was counted inside calls since the last judgement */
    uint64_t period, random_mask;
    uint64_t begin;   /* count at the beginning of a period */
    uint64_t written; /* the count that a write has set */
    uint64_t settled; /* samples and losses at that moment */
    uint64_t records;
    uint64_t enabled[2], running[2]; /* nanoseconds, at least and at most, since its last judgement ... */
    uint64_t enabled_ns, running_ns; /* ... which found these */
    bool irregular;                  /* it is unknown how many periods have passed */
};

struct stress_set {
    struct upmu_set *set;
    unsigned events;
    struct stress_event event[STRESS_EVENTS];
    struct upmu_test_program program; /* when its placement was seen first */
};

enum stress_target { STRESS_DETACHED, STRESS_ON_CPU, STRESS_ON_THREAD };

struct stress_session {
    struct upmu_session session;
    struct upmu_set second;
    struct stress_set set[STRESS_SETS];
    unsigned sets; /* 0: there is no session */
    enum stress_target target;
    unsigned where;
    unsigned pmu;
    enum upmu_world world;
    bool started, shares, is_static, masks, cascade;
    unsigned sampling; /* events that sample */
    uint64_t ring[STRESS_RING_WORDS];
};

struct stress {
    /* The machine. */
    struct upmu_sim sim;
    struct upmu_machine machine;
    struct upmu_domain core;
    struct upmu_cpu cpu[STRESS_CPUS];
    struct upmu_place_work work[STRESS_CPUS];
    struct upmu_thread thread[STRESS_THREADS];
    unsigned thread_on[STRESS_CPUS];
    struct stress_session session[STRESS_SESSIONS];
    struct stress_kind kind[STRESS_KINDS];
    unsigned kinds, cpus;
    bool live[STRESS_CPUS]; /* initialised, and not suspended */
    bool in_guest[STRESS_CPUS];
    uint32_t reserved[STRESS_CPUS], firmware[STRESS_CPUS]; /* counters */
    uint64_t watchdog[STRESS_CPUS]; /* register words of a counter that the host runs, and its number */
    unsigned watchdog_counter[STRESS_CPUS];
    /* The books. */
    unsigned depth; /* calls and handlers in progress */
    bool quiet;     /* nothing happens inside of calls */
    uint64_t seen_ns;
    uint64_t counted[STRESS_CPUS][UPMU_SIM_COUNTERS];
    uint64_t key[STRESS_CPUS][UPMU_SIM_COUNTERS];
    uint64_t answered[STRESS_CPUS]; /* overflows until the last interrupt that was HANDLED */
    /* The sequence. */
    const char *row;
    unsigned seed, step, failures;
    char log[STRESS_LOG][120];
    unsigned logged;
    uint64_t random;
    /* What happens inside of calls. */
    unsigned inside_percent, foreign_percent;
    uint64_t inside_events;
    unsigned interrupts, inside_interrupts, judgements, samples, lost;
    bool no_clock, can_sample;
    bool is_rough; /* most calls have overflows in them, all counters wrap soon, and minutes may pass */
};

static struct stress s;

static inline const char *stress_state_name(const struct stress_session *session)
{
    static const char *const names[] = {"detached", "stopped", "running", "masked", "suspended", "closed", "waiting"};

    return names[session->session.state];
}

/* Print the first breach with the last steps and the way to repeat them; the test ends. */
static inline void stress_fail(const char *format, ...)
{
    va_list arguments;

    if (s.failures++)
        return;
    print_error("%s, seed %u, step %u: ", s.row, s.seed, s.step);
    va_start(arguments, format);
    vprint_error(format, arguments);
    va_end(arguments);
    print_error("\n");
    for (unsigned i = s.logged > STRESS_LOG ? s.logged - STRESS_LOG : 0; i < s.logged; i++)
        print_error("    %s\n", s.log[i % STRESS_LOG]);
    for (unsigned i = 0; i < STRESS_SESSIONS; i++)
        if (s.session[i].sets)
            print_error("    session %u: %s, counters %x, error: %s\n", i, stress_state_name(&s.session[i]),
                        (unsigned)s.session[i].session.counters, upmu_status_text(s.session[i].session.error));
    fail_msg("again: STRESS_ROW=%s STRESS_SEED=%u test_stress", s.row, s.seed);
}

/* ---- The model's registers ---- */

static inline bool silicon_is_p4(void)
{
    return s.sim.profile->flags & UPMU_SIM_P4;
}

static inline bool silicon_is_amd(void)
{
    return s.sim.profile->flags & UPMU_SIM_AMD;
}

/* The CPU of a core's registers, which hyper-threads of NetBurst share. */
static inline unsigned silicon_home(unsigned cpu)
{
    return silicon_is_p4() ? upmu_sim_p4_home(&s.sim, cpu) : cpu;
}

/* Unit, class, mask and rings of the ESCR; comparison and edge of the CCCR.  The rings of both threads are one. */
static inline uint64_t silicon_p4_key(unsigned cpu, unsigned counter)
{
    uint64_t cccr = s.sim.cpu[cpu].p4.cccr[counter], escr;
    uint32_t address = upmu_sim_p4_wired(&s.sim, counter, cccr);

    if (!address)
        return 0;
    escr = upmu_sim_peek(&s.sim, cpu, address);
    return (uint64_t)(address & ~1u) << 48 | (cccr >> 18 & 0x7fu) << 32 | (escr & 0x7ffffe00u) |
           ((escr | escr >> 2) & 3u);
}

/* A fixed counter is as the select of the same event would be. */
static inline uint64_t silicon_fixed_key(unsigned cpu, unsigned fixed)
{
    static const uint32_t codes[] = {0x00c0, 0x003c, 0x0300, 0x01a4, 0x0073, 0x019c, 0x02c2};
    uint64_t nibble = s.sim.cpu[cpu].fixed_ctrl >> 4u * fixed & 0xfu;

    return codes[fixed] | (nibble & 1u ? SIM_SELECT_OS : 0) | (nibble & 2u ? SIM_SELECT_USR : 0);
}

static inline uint64_t silicon_key(unsigned cpu, unsigned counter)
{
    if (silicon_is_p4())
        return counter < UPMU_SIM_P4_COUNTERS ? silicon_p4_key(cpu, counter) : 0;
    if (silicon_is_amd())
        return counter < UPMU_SIM_GENERAL
                   ? s.sim.cpu[cpu].select[counter] & UINT64_C(0xfff8fffff) & ~SIM_SELECT_INT & ~SIM_SELECT_EN
                   : 0;
    if (counter >= UPMU_SIM_FIXED)
        return silicon_fixed_key(cpu, counter - UPMU_SIM_FIXED);
    return counter < UPMU_SIM_GENERAL
               ? s.sim.cpu[cpu].select[counter] & ~(SIM_SELECT_INT | SIM_SELECT_EN | SIM_SELECT_PIN)
               : 0;
}

/* AMD: the odd counter of a pair has an event of its own, which is no session's. */
static inline bool silicon_is_upper_half(uint64_t key)
{
    return silicon_is_amd() && sa_event(key) == sa_event(SA_MERGE_SELECT);
}

static inline bool silicon_runs(unsigned cpu, unsigned counter)
{
    return silicon_home(cpu) == cpu && upmu_sim_runs(&s.sim, cpu, counter) &&
           !silicon_is_upper_half(silicon_key(cpu, counter));
}

/* ---- Where sessions are ---- */

static inline unsigned stress_thread_cpu(unsigned thread)
{
    for (unsigned cpu = 0; cpu < s.cpus; cpu++)
        if (s.thread_on[cpu] == thread)
            return cpu;
    return STRESS_NONE;
}

/* Is a CPU of the core live whose registers these are? */
static inline bool silicon_is_live(unsigned home)
{
    for (unsigned cpu = 0; cpu < s.cpus; cpu++)
        if (silicon_home(cpu) == home && s.live[cpu])
            return true;
    return false;
}

/* The CPU where a session's target is now, or STRESS_NONE. */
static inline unsigned stress_place(const struct stress_session *session)
{
    if (session->target == STRESS_ON_CPU)
        return session->where;
    return session->target == STRESS_ON_THREAD ? stress_thread_cpu(session->where) : STRESS_NONE;
}

static inline unsigned stress_core_type(unsigned cpu)
{
    return cpu && s.sim.cpu[cpu].profile && s.sim.cpu[cpu].profile != s.sim.profile;
}

static inline struct stress_set *stress_active(struct stress_session *session)
{
    for (unsigned k = 0; k < session->sets; k++)
        if (session->set[k].set == session->session.active)
            return &session->set[k];
    return NULL;
}

static inline bool stress_world_is_here(const struct stress_session *session, unsigned cpu)
{
    return session->world == UPMU_WORLD_BOTH || (session->world == UPMU_WORLD_GUEST) == s.in_guest[cpu];
}

static inline struct stress_kind *stress_kind_of(unsigned cpu, uint64_t key)
{
    for (unsigned i = 0; i < s.kinds; i++)
        if (s.kind[i].key == key && s.kind[i].pmu == stress_core_type(cpu))
            return &s.kind[i];
    return NULL;
}

/* The event of a session that runs on a counter, by the session's state and the counter that the library told. */
static inline struct stress_event *stress_owner(unsigned cpu, unsigned counter, const struct stress_kind *kind)
{
    for (unsigned i = 0; i < STRESS_SESSIONS; i++) {
        struct stress_session *session = &s.session[i];
        unsigned place = session->sets ? stress_place(session) : STRESS_NONE;
        struct stress_set *set;

        if (place == STRESS_NONE || silicon_home(place) != cpu || session->session.state != UPMU_SESSION_RUNNING)
            continue;
        set = stress_active(session);
        for (unsigned k = 0; set && k < set->events; k++)
            if (set->set->tally[k].counter == counter && &s.kind[set->event[k].kind] == kind)
                return &set->event[k];
    }
    return NULL;
}

/* ---- Counts ---- */

static inline void judge_credit(unsigned cpu, unsigned counter, uint64_t count)
{
    struct stress_kind *kind = stress_kind_of(cpu, s.key[cpu][counter]);
    struct stress_event *owner;

    if ((s.reserved[cpu] | s.firmware[cpu]) >> counter & 1u)
        return;
    if (!kind) {
        stress_fail("counter %u of CPU %u counts %llx, which no session has", counter, cpu,
                    (unsigned long long)s.key[cpu][counter]);
        return;
    }
    if (kind->is_initiator)
        return;
    if (s.depth) {
        kind->inside += count;
        kind->high += count;
        kind->low += kind->loose ? 0 : count;
        return;
    }
    owner = stress_owner(cpu, counter, kind);
    if (owner) {
        kind->low += count;
        kind->high += count;
        owner->low += count;
    } else if (!kind->loose)
        stress_fail("counter %u of CPU %u counts %s, and no session runs there", counter, cpu, kind->text);
}

static inline bool stress_is_enabled(const struct stress_session *session)
{
    return session->started && stress_place(session) != STRESS_NONE &&
           (session->session.state == UPMU_SESSION_RUNNING || session->session.state == UPMU_SESSION_WAITING);
}

static inline void judge_pass_time(uint64_t ns)
{
    for (unsigned i = 0; i < STRESS_SESSIONS; i++) {
        struct stress_session *session = &s.session[i];
        bool enabled = session->sets && stress_is_enabled(session);
        /* Of time that a suspended CPU's sessions wait nothing is said. */
        bool certain = !s.depth && !(enabled && !s.live[stress_place(session)]);
        bool running = session->sets && session->session.state == UPMU_SESSION_RUNNING;

        for (unsigned k = 0; k < session->sets; k++)
            for (unsigned e = 0; e < session->set[k].events; e++) {
                struct stress_event *event = &session->set[k].event[e];
                bool active = session->session.active == session->set[k].set;

                event->enabled[0] += enabled && certain ? ns : 0;
                event->enabled[1] += enabled || s.depth ? ns : 0;
                event->running[0] += running && active && certain ? ns : 0;
                event->running[1] += (running && active) || s.depth ? ns : 0;
            }
    }
}

/* Put all that has happened since the last look into the books; then learn what the registers name now. */
static inline void judge_look(void)
{
    if (s.sim.now_ns != s.seen_ns)
        judge_pass_time(s.sim.now_ns - s.seen_ns);
    s.seen_ns = s.sim.now_ns;
    for (unsigned cpu = 0; cpu < s.cpus; cpu++)
        for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++) {
            uint64_t counted = s.sim.cpu[cpu].counter[i].counted - s.counted[cpu][i];

            s.counted[cpu][i] += counted;
            if (counted && (silicon_is_live(cpu) || s.depth))
                judge_credit(cpu, i, counted);
        }
}

static inline void judge_learn_keys(void)
{
    for (unsigned cpu = 0; cpu < s.cpus; cpu++)
        for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++)
            s.key[cpu][i] = silicon_key(cpu, i);
}

/* ---- What must hold between calls ---- */

/* I1, I7: the counters of running sessions run, each for its event, and no others do. */
static inline void judge_gates(void)
{
    unsigned wanted[STRESS_CPUS][STRESS_KINDS] = {{0}}, found[STRESS_CPUS][STRESS_KINDS] = {{0}};

    for (unsigned i = 0; i < STRESS_SESSIONS; i++) {
        struct stress_session *session = &s.session[i];
        unsigned place = session->sets ? stress_place(session) : STRESS_NONE;
        struct stress_set *set = session->sets ? stress_active(session) : NULL;

        if (!session->sets || session->session.state != UPMU_SESSION_RUNNING)
            continue;
        if (place == STRESS_NONE || !session->started || !s.live[place] || !set) {
            stress_fail("session %u runs, and nothing wants it to", i);
            return;
        }
        for (unsigned k = 0; k < set->events && !session->cascade && stress_world_is_here(session, place); k++)
            wanted[silicon_home(place)][set->event[k].kind]++;
    }
    for (unsigned cpu = 0; cpu < s.cpus; cpu++)
        for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++) {
            struct stress_kind *kind = stress_kind_of(cpu, s.key[cpu][i]);

            if (!silicon_is_live(cpu) || (s.reserved[cpu] | s.firmware[cpu]) >> i & 1u || !silicon_runs(cpu, i))
                continue;
            if (kind)
                found[cpu][kind - s.kind]++;
            else
                stress_fail("counter %u of CPU %u runs for %llx, which no session has", i, cpu,
                            (unsigned long long)s.key[cpu][i]);
        }
    for (unsigned cpu = 0; cpu < s.cpus; cpu++)
        for (unsigned i = 0; i < s.kinds; i++)
            if (found[cpu][i] != wanted[cpu][i] && !s.kind[i].is_initiator &&
                !(s.kind[i].loose && found[cpu][i] > wanted[cpu][i]))
                stress_fail("CPU %u: %u counters run for %s, and sessions have %u of it", cpu, found[cpu][i],
                            s.kind[i].text, wanted[cpu][i]);
}

/* I7: the states of sessions follow from the calls. */
static inline void judge_states(void)
{
    for (unsigned i = 0; i < STRESS_SESSIONS; i++) {
        const struct stress_session *session = &s.session[i];
        unsigned state = session->session.state, place;
        bool fine;

        if (!session->sets)
            continue;
        place = stress_place(session);
        if (session->target == STRESS_DETACHED)
            fine = state == UPMU_SESSION_DETACHED;
        else if (!session->started)
            fine = state == UPMU_SESSION_STOPPED;
        else if (place != STRESS_NONE && !s.live[place])
            fine = state == UPMU_SESSION_SUSPENDED || state == UPMU_SESSION_MASKED || state == UPMU_SESSION_WAITING;
        else
            fine = state == UPMU_SESSION_RUNNING || (state == UPMU_SESSION_MASKED && session->masks) ||
                   (state == UPMU_SESSION_WAITING &&
                    (session->target == STRESS_ON_THREAD || session->shares || session->sets > 1));
        if (!fine || session->session.error != UPMU_OK)
            stress_fail("session %u (target %u, %s) is %s; error: %s", i, (unsigned)session->target,
                        session->started ? "started" : "not started", stress_state_name(session),
                        upmu_status_text(session->session.error));
    }
}

/*
 * I8: a set that runs has a program, and a program stays as it is as long as its placement.  That holds within a call,
 * too, at each register access.  A register of a program concerns counters of its own set alone, so that a fault of its
 * write stops no other session.
 */
static inline void judge_programs(void)
{
    for (unsigned i = 0; i < STRESS_SESSIONS; i++)
        for (unsigned k = 0; k < s.session[i].sets; k++) {
            struct stress_session *session = &s.session[i];
            struct stress_set *set = &session->set[k];
            struct upmu_test_program now;
            bool compiled = upmu_test_program(set->set, &now);

            if (!compiled && set->events && session->session.state == UPMU_SESSION_RUNNING &&
                session->session.active == set->set)
                stress_fail("session %u: set %u runs without a program", i, k);
            if (compiled && now.program.placement == set->program.program.placement &&
                memcmp(&now, &set->program, sizeof now))
                stress_fail("session %u: the program of set %u has changed, and its placement has not", i, k);
            for (unsigned n = 0; compiled && n < now.program.steps; n++)
                if (!now.step[n].guard || (now.step[n].guard & ~set->set->counters))
                    stress_fail("session %u: step %u of set %u guards %x, and the set has %x", i, n, k,
                                (unsigned)now.step[n].guard, (unsigned)set->set->counters);
            set->program = now;
        }
}

/* What a handler must not change that interrupts a call: of the CPU all but its mail; sessions and what they stored. */
struct stress_state {
    struct upmu_cpu cpu;
    struct {
        struct upmu_session session;
        struct upmu_set second;
        uint64_t ring[STRESS_RING_WORDS];
    } of[STRESS_SESSIONS];
};

static inline void judge_note_state(unsigned cpu, struct stress_state *out_state)
{
    memcpy(&out_state->cpu, &s.cpu[cpu], sizeof out_state->cpu);
    for (unsigned i = 0; i < STRESS_SESSIONS; i++) {
        memcpy(&out_state->of[i].session, &s.session[i].session, sizeof s.session[i].session);
        memcpy(&out_state->of[i].second, &s.session[i].second, sizeof s.session[i].second);
        memcpy(out_state->of[i].ring, s.session[i].ring, sizeof s.session[i].ring);
    }
}

/*
 * I5: a handler that has interrupted a call stores to its mailbox alone, and leaves no mail where the interrupt is of
 * another source.
 */
static inline void judge_mail(unsigned cpu, const struct stress_state *before, bool had_mail, enum upmu_pmi answer)
{
    static struct stress_state now;
    struct upmu_test_state state;

    judge_note_state(cpu, &now);
    upmu_test_state(&now.cpu, &state);
    if (answer == UPMU_PMI_NOT_OURS && state.mail && !had_mail)
        stress_fail("CPU %u: an interrupt that is NOT_OURS leaves mail in a call", cpu);
    upmu_test_take_mail_back(&now.cpu, &before->cpu);
    if (memcmp(&now.cpu, &before->cpu, sizeof now.cpu))
        stress_fail("CPU %u: a handler inside of a call changes more than its mail", cpu);
    for (unsigned i = 0; i < STRESS_SESSIONS; i++)
        if (memcmp(&now.of[i], &before->of[i], sizeof now.of[i]))
            stress_fail("CPU %u: a handler inside of a call changes session %u", cpu, i);
}

static inline uint64_t silicon_overflows(unsigned cpu)
{
    uint64_t overflows = 0;

    for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++)
        overflows += s.sim.cpu[silicon_home(cpu)].counter[i].wraps;
    return overflows;
}

/*
 * An overflow is answered for once.  `overflows`: until the interrupt came; others may have come in its handler.
 */
static inline void judge_answer(unsigned cpu, enum upmu_pmi answer, uint64_t overflows)
{
    if (answer != UPMU_PMI_HANDLED || s.sim.status_lag)
        return;
    if (silicon_overflows(cpu) == s.answered[cpu])
        stress_fail("CPU %u: an interrupt is HANDLED, and nothing has overflowed since the last one", cpu);
    s.answered[cpu] = overflows;
}

/* The registers of a counter that the host runs are as it left them. */
static inline uint64_t silicon_watchdog(unsigned cpu)
{
    unsigned counter = s.watchdog_counter[cpu];

    return s.sim.cpu[cpu].select[counter] ^
           ((s.sim.cpu[cpu].global_ctrl & sim_global_bit(counter)) != 0 ? UINT64_C(1) << 63 : 0);
}

/* I6 and the rest, between calls. */
static inline void judge_rest(void)
{
    for (unsigned cpu = 0; cpu < s.cpus; cpu++) {
        const char *left = s.live[cpu] ? upmu_test_left_over(&s.cpu[cpu]) : NULL;

        if (left)
            stress_fail("CPU %u: %s", cpu, left);
        if (s.live[cpu] && upmu_test_stranded(&s.cpu[cpu]))
            stress_fail("CPU %u: a session waits in no list", cpu);
        if (s.watchdog[cpu] && silicon_watchdog(cpu) != s.watchdog[cpu])
            stress_fail("CPU %u: the host's counter %u was changed: %llx, not %llx", cpu, s.watchdog_counter[cpu],
                        (unsigned long long)silicon_watchdog(cpu), (unsigned long long)s.watchdog[cpu]);
    }
    if (s.sim.violation_count)
        stress_fail("the silicon model: %s (register %x)", s.sim.first_violation.text,
                    (unsigned)s.sim.first_violation.address);
    judge_gates();
    judge_states();
    judge_programs();
}

/* ---- The judgement ---- */

static inline void judge_drain(struct stress_session *session)
{
    struct upmu_record record;

    while (session->sampling && upmu_ring_view(&session->session.ring, &record)) {
        /* A session with several sets has one sampling event. */
        for (unsigned k = 0; k < session->sets; k++)
            for (unsigned e = 0; e < session->set[k].events; e++)
                if (session->set[k].event[e].period)
                    session->set[k].event[e].records += record.sample->events >> e & 1u;
        s.samples++;
        upmu_ring_drop(&session->session.ring);
    }
}

/* Samples and losses of an event: a ring's losses are those of its session's only sampling event. */
static inline uint64_t judge_settled(const struct stress_session *session, const struct stress_event *event,
                                     const struct upmu_count *count)
{
    return event->records + count->lost + upmu_ring_lost(&session->session.ring);
}

/* I4: each period of a session that does not run gave one record, or one loss. */
static inline void judge_samples(unsigned i, struct stress_event *event, const struct upmu_count *count)
{
    const struct stress_session *session = &s.session[i];
    uint64_t settled = judge_settled(session, event, count) - event->settled;
    uint64_t most = (count->raw - event->begin) / event->period;
    uint64_t least = (count->raw - event->begin) / (event->period + event->random_mask);

    if (event->irregular || (session->sampling > 1 && upmu_ring_lost(&session->session.ring)))
        return;
    if (session->session.state == UPMU_SESSION_RUNNING)
        least = 0;
    if (settled < least || settled > most)
        stress_fail("session %u, %s: %llu records and losses; %llu events in periods of %llu (+ %llu) are %llu", i,
                    s.kind[event->kind].text, (unsigned long long)settled,
                    (unsigned long long)(count->raw - event->begin), (unsigned long long)event->period,
                    (unsigned long long)event->random_mask, (unsigned long long)most);
}

static inline void judge_times(unsigned i, struct stress_event *event, const struct upmu_count *count)
{
    uint64_t enabled = count->enabled_ns - event->enabled_ns, running = count->running_ns - event->running_ns;

    if (s.no_clock)
        return;
    if (enabled < event->enabled[0] || enabled > event->enabled[1])
        stress_fail("session %u, %s: enabled for %llu ns more; it was for %llu to %llu", i, s.kind[event->kind].text,
                    (unsigned long long)enabled, (unsigned long long)event->enabled[0],
                    (unsigned long long)event->enabled[1]);
    if (running < event->running[0] || running > event->running[1])
        stress_fail(
            "session %u, %s: runs for %lld ns more, %llu in all; it did for %llu to %llu (enabled: %llu, of %llu "
            "to %llu)",
            i, s.kind[event->kind].text, (long long)running, (unsigned long long)count->running_ns,
            (unsigned long long)event->running[0], (unsigned long long)event->running[1],
            (unsigned long long)count->enabled_ns, (unsigned long long)event->enabled[0],
            (unsigned long long)event->enabled[1]);
    if (count->running_ns > count->enabled_ns)
        stress_fail("session %u, %s: runs for %llu ns of %llu", i, s.kind[event->kind].text,
                    (unsigned long long)count->running_ns, (unsigned long long)count->enabled_ns);
    event->enabled_ns = count->enabled_ns;
    event->running_ns = count->running_ns;
    memset(event->enabled, 0, sizeof event->enabled);
    memset(event->running, 0, sizeof event->running);
}

static inline void judge_event(unsigned i, struct stress_event *event, const struct upmu_count *count)
{
    const struct stress_kind *kind = &s.kind[event->kind];

    if (count->raw < event->low || count->raw - event->low > kind->inside)
        stress_fail("session %u has %llu of %s; its counters counted %llu, and %llu inside of calls", i,
                    (unsigned long long)count->raw, kind->text, (unsigned long long)event->low,
                    (unsigned long long)kind->inside);
    if (count->quality == UPMU_QUALITY_EXACT &&
        (count->value != count->raw || (!s.no_clock && count->running_ns != count->enabled_ns)))
        stress_fail("session %u, %s: %llu is exact; its counters counted %llu, in %llu of %llu ns", i, kind->text,
                    (unsigned long long)count->value, (unsigned long long)count->raw,
                    (unsigned long long)count->running_ns, (unsigned long long)count->enabled_ns);
    if (count->quality == UPMU_QUALITY_SCALED && (count->value < count->raw || count->running_ns >= count->enabled_ns))
        stress_fail("session %u, %s: %llu is scaled; its counters counted %llu, in %llu of %llu ns", i, kind->text,
                    (unsigned long long)count->value, (unsigned long long)count->raw,
                    (unsigned long long)count->running_ns, (unsigned long long)count->enabled_ns);
    if (count->quality == UPMU_QUALITY_NEVER_RAN && (count->raw != event->written || count->running_ns))
        stress_fail("session %u, %s: never ran, and has %llu in %llu ns", i, kind->text,
                    (unsigned long long)count->raw, (unsigned long long)count->running_ns);
    /* What had a counter for no time at all cannot be scaled. */
    if (count->quality == UPMU_QUALITY_PARTIAL && !s.no_clock && count->running_ns)
        stress_fail("session %u, %s: its count has holes, and nothing made them", i, kind->text);
    judge_times(i, event, count);
    if (event->period)
        judge_samples(i, event, count);
    event->low = count->raw;
}

/* Execute where the session may be read. */
static inline void stress_go_to(const struct stress_session *session)
{
    unsigned place = stress_place(session);

    if (place != STRESS_NONE)
        upmu_sim_switch_cpu(&s.sim, place);
}

/*
 * Read all counts while nothing happens; each must be what was counted for it, and together they must be what the
 * counters counted.
 */
static inline void judge_counts(void)
{
    uint64_t sum[STRESS_KINDS] = {0};
    unsigned before = s.sim.current;
    uint32_t ns_per_access = s.sim.ns_per_access;

    judge_look();
    s.quiet = true;
    s.sim.ns_per_access = 0;
    s.judgements++;
    for (unsigned i = 0; i < STRESS_SESSIONS; i++) {
        struct stress_session *session = &s.session[i];
        struct upmu_count counts[STRESS_EVENTS];
        enum upmu_status status = UPMU_OK;

        stress_go_to(session);
        for (unsigned k = 0; k < session->sets; k++) {
            struct stress_set *set = &session->set[k];

            s.depth++;
            if (set->events)
                status = upmu_set_read(set->set, 0, set->events, counts);
            s.depth--;
            if (status != UPMU_OK)
                stress_fail("session %u cannot be read: %s", i, upmu_status_text(status));
            judge_drain(session);
            for (unsigned e = 0; e < set->events; e++) {
                judge_event(i, &set->event[e], &counts[e]);
                sum[set->event[e].kind] += counts[e].raw;
            }
        }
    }
    for (unsigned i = 0; i < s.kinds; i++) {
        struct stress_kind *kind = &s.kind[i];

        if (sum[i] < kind->low || sum[i] > kind->high)
            stress_fail("%s: all sessions have %llu; the counters counted %llu to %llu", kind->text,
                        (unsigned long long)sum[i], (unsigned long long)kind->low, (unsigned long long)kind->high);
        kind->low = kind->high = sum[i];
        kind->inside = 0;
        kind->loose = kind->is_static;
    }
    upmu_sim_switch_cpu(&s.sim, before);
    s.sim.ns_per_access = ns_per_access;
    s.quiet = false;
}

#endif
