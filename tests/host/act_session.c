/* SPDX-License-Identifier: MIT */
/*
 * Steps that work on one session.
 */
/* A program's RDPMC is the host's. */
#include <stdint.h>
uint64_t host_user_rdpmc(uint32_t index);
#define UPMU_USER_RDPMC(index, fence) ((void)(fence), host_user_rdpmc(index))

#include "tests/host/simulated.h"

#include <string.h>
#include <upmu/session.h>
#include <upmu/set.h>

#define START_ANSWERS "DOES_NOT_FIT TOO_HARD STATE WRONG_CPU UNSUPPORTED BUSY LOST_CLAIM PORT"
#define PRECISE_ANSWERS START_ANSWERS " HOOK_MISSING"

static const char *start_answers(const struct host_session *session)
{
    return session->precise || session->branches ? PRECISE_ANSWERS : START_ANSWERS;
}

static void start(struct host_session *session)
{
    bool was = session->started;
    enum upmu_status status;

    act_first_start(session);
    session->started = true;
    status = HOST_CALL(upmu_session_start(session->session));
    rules_status("upmu_session_start", status, start_answers(session));
    if (status != UPMU_OK && !was)
        session->started = false;
}

static void stop(struct host_session *session)
{
    enum upmu_status status = HOST_CALL(upmu_session_stop(session->session));

    rules_status("upmu_session_stop", status, "STATE WRONG_CPU BUSY PORT");
    if (status == UPMU_OK || status == UPMU_ERR_PORT)
        session->started = false;
}

static void restart(struct host_session *session)
{
    struct upmu_message messages[16];
    uint32_t count;

    rules_drain(session);
    if (session->queue)
        while (HOST_CALL(upmu_queue_read(session->queue, messages, 16, &count)) == UPMU_OK)
            continue;
    rules_status("upmu_session_restart", HOST_CALL(upmu_session_restart(session->session)), start_answers(session));
}

static bool detach(struct host_session *session)
{
    enum upmu_status status = HOST_CALL(upmu_session_detach(session->session));

    rules_status("upmu_session_detach", status, "WRONG_CPU BUSY PORT");
    units_look_late(); /* (It is the last look.) */
    if (status != UPMU_OK && status != UPMU_ERR_PORT)
        return false;
    session->started = false;
    units_called(session);
    session->target = TARGET_NONE;
    return true;
}

static void close_session(struct host_session *session, struct lots *lots)
{
    session->leaving = true;
    if (lots_below(lots, 2) && detach(session))
        rules_check_session(session);
    act_close(session);
}

static void drop(struct host_session *session, struct lots *lots)
{
    if (lots_one_in(lots, 4)) {
        HOST_DO(upmu_session_hold(session->session));
        rules_status("upmu_session_drop", HOST_CALL(upmu_session_drop(session->session)), "");
    }
    session->leaving = session->zombie = true;
    rules_user_withdrawn(session);
    host.zombies++;
    rules_status("upmu_session_drop", HOST_CALL(upmu_session_drop(session->session)), "PORT");
    act_end(session);
}

static void write_count(struct host_session *session, struct lots *lots)
{
    unsigned k = lots_below(lots, session->sets), i = lots_below(lots, HOST_EVENTS);
    uint64_t value = lots_one_in(lots, 4) ? lots_size(lots, 62) : 0, high, before_ns = host.now_ns;
    enum upmu_status status;

    if (i >= session->set[k].events)
        return;
    high = session->set[k].event[i].high;
    session->writes++;
    session->writing = true;
    status = HOST_CALL(upmu_set_write(session->set[k].set, i, value));
    rules_status("upmu_set_write", status, "WRONG_CPU BUSY PORT");
    if (status == UPMU_OK)
        rules_after_write(value, session, k, i, high, before_ns);
    else
        rules_after_fault(value, session, k, i, high);
    session->writing = false;
}

static void replace(struct host_session *session, struct lots *lots)
{
    unsigned i = lots_below(lots, HOST_EVENTS);
    struct host_event *event = &session->set[0].event[i];
    enum hardware_event kind = lots_below(lots, session->type ? HARDWARE_KINDS : HARDWARE_EVENTS);
    const char *text = session->type ? NULL : host.setting.family->specification(host.hardware, kind);
    enum upmu_status status;
    char unit_text[64];

    if (session->type && session->type->code[kind]) {
        act_unit_specification(session->type, kind, unit_text, sizeof unit_text);
        text = unit_text;
    }
    if (i >= session->set[0].events || !text)
        return;
    session->writes++;
    if (session->precise) /* (Its samples are of the event that goes.) */
        rules_drain(session);
    status = HOST_CALL(upmu_set_replace(&session->session->set, i, text, NULL));
    rules_status("upmu_set_replace", status, "STATE WRONG_CPU BUSY NO_PMU");
    if (status != UPMU_OK)
        return;
    memset(event, 0, sizeof *event);
    event->kind = kind;
    event->user = event->kernel = true;
    event->since_ns = session->since_ns;
}

static void next_set(struct host_session *session, struct lots *lots)
{
    unsigned k = lots_below(lots, HOST_SETS + 1u);

    session->switched = true;
    rules_status("upmu_session_switch",
                 HOST_CALL(upmu_session_switch(session->session, k < session->sets ? session->set[k].set : NULL)),
                 "STATE WRONG_CPU BUSY");
}

/* ---- A program reads for itself ---- */

/* The kernel takes the session from the program in its middle. */
static void interrupt_reader(void)
{
    struct host_session *session = self->reading;

    if (!lots_one_in(&self->noise, 6) || !act_begin(session, true))
        return;
    if (lots_below(&self->noise, 2))
        stop(session);
    else
        (void)detach(session);
    act_end(session);
}

uint64_t host_user_rdpmc(uint32_t index)
{
    uint64_t value = 0;

    hooks_program();
    interrupt_reader();
    if (!here()->user_rdpmc && !host.setting.no_allow)
        rules_fail(RULE_USER, "RDPMC %x of a program on CPU %u faults: CR4.PCE is clear", (unsigned)index, self->cpu);
    if (!host.setting.family->rdpmc(host.hardware, self->cpu, index, &value))
        rules_fail(RULE_USER, "RDPMC %x of a program on CPU %u faults: no such counter", (unsigned)index, self->cpu);
    hooks_point();
    return value;
}

static void user_read(struct host_session *session, struct lots *lots)
{
    const struct host_set *set = NULL;
    unsigned i = lots_below(lots, HOST_EVENTS), writes = session->writes;
    uint64_t low, high, value;

    if (!session->page || session->spoiled || session->changed || !rules_is_here(session, self->cpu) ||
        here()->power != CPU_LIVE)
        return;
    /* (In the middle of a write from elsewhere the page may have the new count, and the rules the old one.) */
    if (session->writing)
        return;
    for (unsigned k = 0; k < session->sets; k++)
        if (session->set[k].set == session->session->active)
            set = &session->set[k];
    if (!set || i >= set->events)
        return;
    low = set->event[i].low;
    session->readers++;
    self->reading = session;
    self->stay++;
    if (upmu_user_read(session->page, i, false, &value) && set->set == session->session->active &&
        session->page->set == set->set->number /* (of a stopped one whose set was switched: the former) */ &&
        writes == session->writes && !session->spoiled && !session->changed) {
        high = set->event[i].high;
        if (value < low || value > high)
            rules_fail(RULE_USER, "session %u, event %u: a program reads %llu, not %llu to %llu",
                       (unsigned)(session - host.session), i, (unsigned long long)value, (unsigned long long)low,
                       (unsigned long long)high);
    }
    self->stay--;
    session->readers--;
}

/* ---- All of them ---- */

static bool is_exclusive(unsigned kind)
{
    return kind != STEP_READ && kind != STEP_NEXT_SET;
}

/* With a program in its page it keeps its memory, and its place. */
static bool needs_memory(unsigned kind)
{
    return kind == STEP_CLOSE || kind == STEP_DROP || kind == STEP_ATTACH;
}

void act_session(const struct step *step, struct lots *lots)
{
    struct host_session *session = &host.session[step->what % HOST_SESSIONS];

    /* (It is no call: others may stop the session meanwhile.) */
    if (step->kind == STEP_USER_READ) {
        if (session->session && !session->zombie && !session->leaving)
            user_read(session, lots);
        return;
    }
    if ((session->readers && needs_memory(step->kind)) || !act_begin(session, is_exclusive(step->kind)))
        return;
    switch (step->kind) {
    case STEP_ATTACH:
        if (session->target == TARGET_NONE && session->set[0].events)
            (void)act_attach(session, step->where, lots_below(lots, 2));
        break;
    case STEP_START:
        start(session);
        break;
    case STEP_STOP:
        stop(session);
        break;
    case STEP_READ:
        for (unsigned k = 0; k < session->sets; k++)
            rules_read_set(session, k);
        break;
    case STEP_WRITE:
        write_count(session, lots);
        break;
    case STEP_RESTART:
        restart(session);
        break;
    case STEP_DETACH:
        if (detach(session))
            rules_check_session(session);
        break;
    case STEP_CLOSE:
        close_session(session, lots);
        return;
    case STEP_DROP:
        drop(session, lots);
        return;
    case STEP_REPLACE:
        replace(session, lots);
        break;
    case STEP_NEXT_SET:
        session->switching++;
        next_set(session, lots);
        session->switching--;
        break;
    default:
        rules_drain(session);
        break;
    }
    act_end(session);
}
