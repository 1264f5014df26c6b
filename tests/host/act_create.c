/* SPDX-License-Identifier: MIT */
/*
 * Steps that make sessions, give them events and a target, and take them away.
 */
#include <stdio.h>
#include <string.h>
#include <upmu/page.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include <upmu/world.h>

#include "tests/host/real.h"
#include "tests/host/simulated.h"

bool act_begin(struct host_session *session, bool exclusive)
{
    if (!session->session || session->zombie || session->exclusive || (exclusive && session->users) ||
        (session->target == TARGET_UNIT && host.units.unit[session->where].exclusive))
        return false;
    session->changed |= rules_starts_over(session);
    session->users++;
    host.uses++;
    session->exclusive = exclusive;
    real_accept(session);
    if (session->target == TARGET_UNIT)
        real_accept(&host.units.unit[session->where].exclusive);
    return true;
}

void act_end(struct host_session *session)
{
    real_offer(session);
    units_called(session);
    session->users--;
    session->exclusive = session->leaving = false;
}

/* ---- Events ---- */

/* Names that every PMU of this library has. */
static const char *const names[HARDWARE_EVENTS] = {"cycles",           "instructions", "branches",  "branch-misses",
                                                   "cache-references", "cache-misses", "ref-cycles"};

static void draw_specification(const struct host_session *session, struct host_event *event, struct lots *lots,
                               char *text, size_t size)
{
    const char *raw = NULL;
    unsigned rings = lots_below(lots, 4);

    if (session->type) {
        do
            event->kind = lots_below(lots, HARDWARE_KINDS);
        while (!session->type->code[event->kind]);
        event->user = event->kernel = true;
        act_unit_specification(session->type, event->kind, text, size);
        return;
    }

    while (!raw) {
        event->kind = lots_below(lots, HARDWARE_EVENTS);
        raw = host.setting.family->specification(host.hardware, event->kind);
    }
    if (host.setting.family == &hardware_intel && lots_one_in(lots, 3))
        raw = names[event->kind];
    event->user = rings != 2;
    event->kernel = rings != 1;
    (void)snprintf(text, size, "%s%s", raw, rings == 1 ? ":u" : rings == 2 ? ":k" : "");
}

static uint64_t draw_period(struct lots *lots)
{
    switch (setting_has(&host.setting, THEME_SHORT) ? 2u : lots_below(lots, 8)) {
    case 0:
        return 1u + lots_below(lots, 64);
    case 1:
        return UINT64_C(1) << (24u + lots_below(lots, 24));
    default:
        return 128u + lots_size(lots, setting_has(&host.setting, THEME_SHORT) || precise_is_on() || branches_are_on()
                                          ? 11
                                          : 16);
    }
}

static void draw_sampling(const struct host_session *session, struct host_event *event, struct lots *lots)
{
    struct upmu_sampling *sampling = &event->sampling;

    memset(sampling, 0, sizeof *sampling);
    if (!session->sampling || lots_one_in(lots, 4))
        return;
    sampling->period = draw_period(lots);
    event->regular = true;
    if (lots_one_in(lots, 6)) {
        sampling->random_mask = (1u << lots_below(lots, 12)) - 1u;
        sampling->random_seed = lots_draw(lots);
        event->regular = false;
    }
    if (lots_one_in(lots, 12)) {
        sampling->frequency = 1u + lots_below(lots, 100000);
        event->regular = false;
    }
    if (session->queue && lots_below(lots, 2)) {
        sampling->flags = UPMU_SAMPLING_NOTIFY;
        if (lots_one_in(lots, 3)) {
            sampling->long_period = sampling->period * 2;
            event->regular = false;
        }
    }
    if (lots_one_in(lots, 6))
        sampling->values = (uint32_t)lots_draw(lots) & 15u;
    if (session->sets > 1 && lots_below(lots, 2))
        sampling->switch_after = 1u + lots_below(lots, setting_has(&host.setting, THEME_SETS) ? 2 : 5);
    if (lots_one_in(lots, 6))
        sampling->event_id = lots_draw(lots);
}

static void add_event(struct host_session *session, struct host_set *set, struct lots *lots)
{
    struct host_event *event = &set->event[set->events];
    char text[128];
    enum upmu_status status;

    memset(event, 0, sizeof *event);
    draw_specification(session, event, lots, text, sizeof text);
    draw_sampling(session, event, lots);
    act_precise_draw(session, event, lots, text, sizeof text);
    status =
        HOST_CALL(upmu_set_add(set->set, text, event->sampling.period ? &event->sampling : NULL));
    if (status == UPMU_OK) {
        /* (What the library made of the period is what it samples at.) */
        event->sampling.period = set->set->tally[set->events].period;
        session->masks |= (event->sampling.flags & UPMU_SAMPLING_NOTIFY) != 0;
        session->precise |= event->level != 0;
        session->batches_there |= event->batch;
        if (event->level) /* docs/PRECISE.md: it counts in the host alone. */
            session->world = UPMU_WORLD_HOST;
        set->events++;
        return;
    }
    if (status >= UPMU_ERR_SYNTAX && status <= UPMU_ERR_MASKS_EXCLUSIVE &&
        !(event->level && status == UPMU_ERR_NOT_PRECISE) &&
        (session->type || strncmp(text, "raw:", 4) == 0))
        rules_fail(RULE_STATUS, "upmu_set_add \"%s\": %s", text, upmu_status_text(status));
}

/* ---- Life ---- */

/* Sets have room for their events alone: behind them an access faults. */
#define SET_BYTES UPMU_SET_BYTES(HOST_EVENTS)

static void add_set(struct host_session *session, unsigned k, struct lots *lots)
{
    unsigned flags = (setting_has(&host.setting, THEME_SETS) ? UPMU_SET_OVERFLOW_SWITCH : lots_below(lots, 4)) &
                     (host.setting.no_clock ? UPMU_SET_OVERFLOW_SWITCH : ~0u);
    uint64_t timeout_ns = flags & UPMU_SET_TIME_SWITCH ? lots_size(lots, 22) : 0;

    rules_status("upmu_session_add_set_sized",
                 HOST_CALL(upmu_session_add_set_sized(session->session, k ? session->set[k].set : NULL, SET_BYTES,
                                                      (uint16_t)k, flags, timeout_ns)),
                 "");
}

static void add_sets(struct host_session *session, struct lots *lots)
{
    session->set[0].set = &session->session->set;
    session->sets = 1;
    while (session->sets < HOST_SETS && lots_one_in(lots, setting_has(&host.setting, THEME_SETS) ? 2 : 4)) {
        session->set[session->sets].set = arena_take(SET_BYTES, "set");
        add_set(session, session->sets, lots);
        session->sets++;
    }
    if (session->sets > 1)
        add_set(session, 0, lots);
}

static void add_queue(struct host_session *session, struct lots *lots)
{
    uint32_t capacity = 1u << lots_below(lots, 4);

    session->queue = arena_take(sizeof *session->queue, "queue");
    session->messages = arena_take(capacity * sizeof *session->messages, "messages");
    rules_status(
        "upmu_session_messages",
        HOST_CALL(upmu_session_messages(session->session, session->queue, session->messages, capacity, 0, NULL)), "");
}

static void add_memory(struct host_session *session, struct lots *lots)
{
    if (session->sampling && !lots_one_in(lots, 6)) {
        session->ring_bytes = 512u + 64u * lots_below(lots, setting_has(&host.setting, THEME_MASKS) ? 4 : 112);
        session->ring_bytes += session->precise ? 1024u : 0; /* (More than two of the largest record.) */
        session->ring_bytes += branches_are_on() ? 4096u : 0;
        session->ring = arena_take(session->ring_bytes, "ring");
        rules_status("upmu_session_ring",
                     HOST_CALL(upmu_session_ring(session->session, session->ring, session->ring_bytes)), "");
        if (lots_one_in(lots, setting_has(&host.setting, THEME_MASKS) ? 1 : 6)) {
            session->masks = true;
            HOST_DO(upmu_session_mask_on_full(session->session, true));
        }
    }
    if (!session->type && lots_one_in(lots, setting_has(&host.setting, THEME_PAGES) ? 1 : 3)) {
        session->page = arena_take(sizeof *session->page, "page");
        host.pages++;
        rules_status("upmu_session_publish", HOST_CALL(upmu_session_publish(session->session, session->page)), "");
        session->published = true;
    }
}

void act_forget(struct host_session *session)
{
    real_accept(session);
    for (unsigned k = 1; k < session->sets; k++)
        arena_give(session->set[k].set);
    arena_give(session->session);
    if (session->ring)
        arena_give(session->ring);
    if (session->page)
        arena_give(session->page);
    if (session->queue) {
        arena_give(session->queue);
        arena_give(session->messages);
    }
    host.zombies -= session->zombie;
    arena_forgotten();
    memset(session, 0, sizeof *session);
    real_offer(session);
}

/* Those that were given up and that the library has closed since. */
void act_reap(void)
{
    for (unsigned i = 0; i < HOST_SESSIONS; i++)
        if (host.session[i].zombie && !host.session[i].users && !host.session[i].readers &&
            host.session[i].session->state == UPMU_SESSION_CLOSED)
            act_forget(&host.session[i]);
}

void act_close(struct host_session *session)
{
    enum upmu_status status;

    rules_user_withdrawn(session);
    status = HOST_CALL(upmu_session_close(session->session));

    rules_status("upmu_session_close", status, "WRONG_CPU BUSY PORT");
    if (status == UPMU_ERR_WRONG_CPU || status == UPMU_ERR_BUSY) {
        act_end(session);
        return;
    }
    if (session->session->state != UPMU_SESSION_CLOSED)
        rules_fail(RULE_STATUS, "upmu_session_close: OK, and the state is %u", session->session->state);
    units_called(session);
    act_forget(session);
}

/* Where its thread runs, the call that attaches a session has to run. */
struct thread_attach {
    struct upmu_session *session;
    struct upmu_thread *thread;
    unsigned number;
    enum upmu_status status;
};

static void attach_here(void *argument)
{
    struct thread_attach *attach = argument;

    attach->status = UPMU_ERR_BUSY;
    if (host.thread[attach->number].cpu == self->cpu && here()->coming == HOST_NONE)
        attach->status = upmu_session_attach_thread(attach->session, attach->thread, here()->cpu);
}

static enum upmu_status attach_thread(struct host_session *session, unsigned number)
{
    struct host_thread *thread = &host.thread[number];
    struct thread_attach attach = {session->session, thread->thread, number, UPMU_ERR_BUSY};
    unsigned cpu = thread->cpu;

    if (!thread->thread || thread->ending)
        return UPMU_ERR_NO_PMU;
    thread->pins++;
    real_accept(thread);
    if (cpu == HOST_NONE || !host.cpu[cpu].cpu || host.cpu[cpu].useless) {
        attach.status = cpu == HOST_NONE ? HOST_CALL(upmu_session_attach_thread(session->session, thread->thread, NULL))
                                         : UPMU_ERR_NO_PMU;
    } else if (cpu == self->cpu) {
        self->stay++;
        HOST_DO(attach_here(&attach));
        self->stay--;
    } else if (!host.cpu[cpu].unreachable && host.cpu[cpu].coming == HOST_NONE) {
        hooks_remote(cpu, attach_here, &attach);
    }
    real_offer(thread);
    thread->pins--;
    return attach.status;
}

/* To a unit of its type, by lot; now and then to what it cannot be attached to. */
static bool attach_unit(struct host_session *session, uint8_t where)
{
    bool wrong = where % 16u == 0;
    struct host_unit *unit;
    enum upmu_status status;

    if (where % 16u == 1 && here()->power == CPU_LIVE) {
        self->stay++;
        status = HOST_CALL(upmu_session_attach_cpu(session->session, here()->cpu));
        self->stay--;
        if (status != UPMU_ERR_WRONG_PMU)
            rules_fail(RULE_STATUS, "a session with events of a unit is attached to a CPU: %s",
                       upmu_status_text(status));
    }
    /* (From here to the call nothing closes it; and what works on one of its sessions keeps a close away.) */
    unit = act_unit_find(wrong ? NULL : session->type, where);
    if (!unit)
        return false;
    wrong = host.units.box[unit->box[0]].type != session->type;
    session->target = TARGET_UNIT;
    session->where = (uint8_t)(unit - host.units.unit);
    real_accept(unit);
    status = HOST_CALL(upmu_session_attach_unit(session->session, unit->unit));
    real_offer(unit);
    rules_status("upmu_session_attach_unit", status,
                 wrong ? "WRONG_PMU WRONG_CPU BUSY NO_CPU" : "DOES_NOT_FIT TOO_HARD STATE WRONG_CPU BUSY PORT NO_CPU");
    if (status != UPMU_OK)
        session->target = TARGET_NONE;
    if (status == UPMU_OK && wrong)
        rules_fail(RULE_STATUS, "upmu_session_attach_unit: a unit of another type");
    session->spoiled |= status == UPMU_OK && unit->lost; /* its counts stay partial when the unit has ended */
    return status == UPMU_OK;
}

bool act_attach(struct host_session *session, uint8_t where, bool to_thread)
{
    unsigned cpu = where % host.setting.cpus;
    enum upmu_status status = UPMU_ERR_NO_PMU;

    if (session->type) {
        session->started = false;
        return attach_unit(session, where);
    }
    session->target = to_thread ? TARGET_THREAD : TARGET_CPU;
    session->where = (uint8_t)(to_thread ? where % HOST_PROGRAMS : cpu);
    session->started = false;
    if (to_thread)
        status = attach_thread(session, session->where);
    else if (host.cpu[cpu].cpu && !host.cpu[cpu].unreachable)
        status = HOST_CALL(upmu_session_attach_cpu(session->session, host.cpu[cpu].cpu));
    rules_status("attach", status, "DOES_NOT_FIT TOO_HARD STATE WRONG_PMU NO_PMU WRONG_CPU BUSY PORT HOOK_MISSING");
    session->attached += status == UPMU_OK;
    if (status == UPMU_ERR_HOOK_MISSING && !session->precise && !session->branches)
        rules_fail(RULE_STATUS, "attach: %s", upmu_status_text(status));
    if (status != UPMU_OK)
        session->target = TARGET_NONE;
    rules_user_attached(session);
    return status == UPMU_OK;
}

void act_first_start(struct host_session *session)
{
    if (session->since_ns)
        return;
    session->since_ns = host.now_ns;
    host.verdict->figures.precise_sessions += session->precise;
    host.verdict->figures.batch_sessions += session->batches_there;
    host.verdict->figures.branch_sessions += session->branches != 0;
    for (unsigned k = 0; k < session->sets; k++)
        for (unsigned i = 0; i < session->set[k].events; i++)
            if (!session->set[k].event[i].since_ns)
                session->set[k].event[i].since_ns = host.now_ns;
}

void act_create(const struct step *step, struct lots *lots)
{
    struct host_session *session = &host.session[step->what % HOST_SESSIONS];
    size_t bytes = UPMU_SESSION_BYTES(HOST_EVENTS + step->what % 3u); /* sessions of three sizes meet */

    if (session->session) {
        if (!session->readers && act_begin(session, true)) {
            session->leaving = true;
            act_close(session);
        }
        if (session->session)
            return;
    }
    session->session = arena_take(bytes, "session");
    session->serial = ++host.serials;
    (void)act_begin(session, true);
    rules_status("upmu_session_init_sized",
                 HOST_CALL(upmu_session_init_sized(session->session, bytes, host.machine, &session->session)), "");
    if (setting_has(&host.setting, THEME_UNITS) ? lots_below(lots, 4) : lots_one_in(lots, 4)) {
        const struct host_unit *unit = act_unit_find(NULL, lots_below(lots, HOST_UNITS));

        session->type = unit ? host.units.box[unit->box[0]].type : NULL;
    }
    if (setting_has(&host.setting, THEME_GUESTS) && !session->type && lots_below(lots, 2)) {
        session->world = (uint8_t)(lots_below(lots, 2) ? UPMU_WORLD_HOST : UPMU_WORLD_GUEST);
        rules_status("upmu_session_world",
                     HOST_CALL(upmu_session_world(session->session, (enum upmu_world)session->world)), "");
    }
    act_precise_begin(session);
    session->sampling =
        !session->type && (!host.setting.quiet_sessions || act_precise_samples_alone(session)) &&
        (lots_below(lots, 2) || (precise_is_on() && lots_below(lots, 2)) || (branches_are_on() && lots_below(lots, 2)));
    add_sets(session, lots);
    if (session->sampling && lots_one_in(lots, 4))
        add_queue(session, lots);
    for (unsigned k = 0; k < session->sets; k++)
        for (unsigned events = 1u + lots_below(lots, HOST_EVENTS); events; events--)
            add_event(session, &session->set[k], lots);
    for (unsigned i = session->sampling = 0; i < session->set[0].events; i++)
        session->sampling += session->set[0].event[i].sampling.period != 0;
    add_memory(session, lots);
    act_branches_session(session);
    session->hides = (session->precise || session->branches) && lots_one_in(lots, 4);
    if (session->hides)
        HOST_DO(upmu_session_hide_kernel(session->session, true));
    session->shares = lots_one_in(lots, 3);
    session->is_static = setting_has(&host.setting, THEME_STATIC) && lots_below(lots, 2);
    rules_status("upmu_session_share", HOST_CALL(upmu_session_share(session->session, session->shares)), "");
    rules_status("upmu_session_static", HOST_CALL(upmu_session_static(session->session, session->is_static)), "");
    if (session->set[0].events && act_attach(session, step->where, lots_below(lots, 2)) && lots_below(lots, 2)) {
        act_first_start(session);
        session->started = true;
        if (HOST_CALL(upmu_session_start(session->session)) != UPMU_OK)
            session->started = false;
    }
    act_end(session);
}
