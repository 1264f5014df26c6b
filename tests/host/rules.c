/* SPDX-License-Identifier: MIT */
/*
 * What must hold: of counts and states here, of registers in rules_hardware.c.
 *
 * The oracle: events that happen while a session runs, outside the library, are in its
 * counts, each once.  Those that happen inside a call are in them once or not at all.
 */
#include <stdlib.h>
#include <string.h>
#include <upmu/format.h>
#include <upmu/session.h>
#include <upmu/set.h>

#include "tests/host/simulated.h"

const char *const rule_names[RULES] = {"none",     "count",     "samples",  "write",   "watchdog", "freed",
                                       "crash",    "interrupt", "restore",  "status",  "state",    "time",
                                       "estimate", "verify",    "context",  "user",    "damage",   "guest",
                                       "inject",   "work",      "branches", "precise", "traces",   "hang"};

uint32_t rules_off;
bool rules_strict;

bool rules_on(enum rule rule)
{
    return !(rules_off >> rule & 1u);
}

bool rules_is_here(const struct host_session *session, unsigned cpu)
{
    if (session->target == TARGET_CPU)
        return session->where == cpu;
    return session->target == TARGET_THREAD &&
           (host.cpu[cpu].thread == session->where || host.cpu[cpu].coming == session->where);
}

unsigned rules_place(const struct host_session *session)
{
    if (session->target == TARGET_UNIT)
        return host.units.unit[session->where].unit ? units_driver(&host.units.unit[session->where]) : HOST_NONE;
    if (session->target == TARGET_CPU)
        return session->where;
    return session->target == TARGET_THREAD ? host.thread[session->where].cpu : HOST_NONE;
}

bool rules_starts_over(const struct host_session *session)
{
    unsigned place = rules_place(session);

    return place != HOST_NONE && host.cpu[place].starts_over;
}

bool rules_is_enabled(const struct host_session *session)
{
    const struct upmu_session *upmu = session->session;
    unsigned state = upmu->state;
    /* A session without a limit that waits need not be linked to the CPU where its thread runs. */
    bool by_clock = upmu->thread && !upmu->limit && (upmu->thread->turns & 2u);

    return session->started &&
           (state == UPMU_SESSION_RUNNING || (state == UPMU_SESSION_WAITING && (upmu->meter || by_clock)));
}

/* ---- Events ---- */

static bool counts_kind(const struct host_event *event, enum hardware_event kind, bool user)
{
    return event->kind == kind && (user ? event->user : event->kernel);
}

static void deliver_to(struct host_session *session, enum hardware_event kind, bool user, uint64_t count, bool certain)
{
    const struct upmu_session *upmu = session->session;
    unsigned state = upmu->state;
    bool runs = state == UPMU_SESSION_RUNNING && !upmu->switch_due;
    bool enabled = rules_is_enabled(session);
    unsigned place = rules_place(session);
    /* (What faults cannot be closed; where the hardware moves the gates, an entry may open it once more.) */
    bool open = (session->spoiled || (place != HOST_NONE && host.cpu[place].by_hardware)) &&
                (state == UPMU_SESSION_MASKED || upmu->switch_due);

    for (unsigned k = 0; k < session->sets; k++) {
        struct host_set *set = &session->set[k];
        bool active = set->set == upmu->active;

        for (unsigned i = 0; i < set->events; i++) {
            struct host_event *event = &set->event[i];

            if (!counts_kind(event, kind, user))
                continue;
            event->truth += enabled ? count : 0;
            if (!certain || (open && active)) {
                event->high += count;
                event->pending += runs && active ? count : 0;
            }
            else if (runs && active)
                event->low += count, event->high += count;
        }
    }
    session->noisy |= !certain;
}

void rules_deliver(unsigned cpu, enum hardware_event kind, bool user, uint64_t count, bool certain)
{
    struct host_cpu *at = &host.cpu[cpu];

    host.verdict->figures.events++;
    TRACE("%llu events %u in %s%s", (unsigned long long)count, (unsigned)kind, user ? "user" : "ring 0",
          certain ? "" : ", inside a call");
    at->happened[kind][user] += count;
    if (certain)
        at->certain[kind][user] += count;
    for (unsigned i = 0; i < HOST_SESSIONS; i++)
        if (host.session[i].session && rules_is_here(&host.session[i], cpu)) {
            bool sure = certain;

            if (guests_counts(at, host.session[i].world, &sure))
                deliver_to(&host.session[i], kind, user, count, sure);
        }
    guests_deliver(cpu, kind, user, count, certain);
    /* (What a static session left running counts, too.) */
    for (unsigned i = 0; i < host.setting.cpus; i++)
        if (i == cpu || rules_share(i, cpu))
            host.cpu[i].last_own_ns = host.now_ns;
    if (kind == HARDWARE_CYCLES && at->reserved)
        for (unsigned counter = 0; counter < HOST_WATCHDOGS; counter++)
            if (at->watchdog[counter].on)
                at->watchdog[counter].cycles += count;
    host.setting.family->happen(host.hardware, cpu, kind, user, count);
}

/* Certain is what happens while no call may give the unit other events. */
void units_deliver(unsigned number, unsigned kind, uint64_t count)
{
    struct host_unit *unit = &host.units.unit[number];
    bool calm = units_calm(unit);

    unit->stirred |= !calm;
    for (unsigned i = 0; i < HOST_SESSIONS; i++)
        if (host.session[i].session && host.session[i].target == TARGET_UNIT && host.session[i].where == number)
            deliver_to(&host.session[i], (enum hardware_event)kind, true, count, calm && !unit->handing && !unit->lost);
}

/* ---- Counts ---- */

static unsigned number_of(const struct host_session *session)
{
    return (unsigned)(session - host.session);
}

static void check_times(const struct host_session *session, const struct host_event *event,
                        const struct upmu_count *count)
{
    uint64_t most_ns = session->since_ns ? host.now_ns - event->since_ns : 0;

    if (host.setting.no_clock || !rules_on(RULE_TIME))
        return;
    if (count->running_ns > count->enabled_ns)
        rules_fail(RULE_TIME, "session %u: running %llu ns of %llu", number_of(session),
                   (unsigned long long)count->running_ns, (unsigned long long)count->enabled_ns);
    if (count->enabled_ns > most_ns || (count->enabled_ns < event->enabled_ns && !session->spoiled))
        rules_fail(RULE_TIME, "session %u: enabled for %llu ns; it was for %llu to %llu", number_of(session),
                   (unsigned long long)count->enabled_ns, (unsigned long long)event->enabled_ns,
                   (unsigned long long)most_ns);
}

/*
 * An estimate is the count for all of the time.  (How far it is from the truth is told in the figures: a run gives a
 * session a few slots of bursts, and the bound is one of many slots of a steady load.)  It is rounded down; what it is
 * compared with is rounded twice, to the 64 bits of a long double each time.
 */
static void check_estimate(const struct host_event *event, const struct upmu_count *count)
{
    uint64_t off = count->value > event->truth ? count->value - event->truth : event->truth - count->value;
    long double value = (long double)count->raw * (long double)count->enabled_ns / (long double)count->running_ns;
    long double rounded = 1.0L + value * 0x1p-63L;

    if (rules_on(RULE_ESTIMATE) && value < 0x1p63L &&
        ((long double)count->value < value - rounded || (long double)count->value > value + rounded))
        rules_fail(RULE_ESTIMATE, "%llu is estimated of %llu in %llu of %llu ns", (unsigned long long)count->value,
                   (unsigned long long)count->raw, (unsigned long long)count->running_ns,
                   (unsigned long long)count->enabled_ns);
    host.verdict->figures.estimates++;
    host.verdict->figures.beyond += off > count->error;
}

/*
 * `before`: as it was when the call began.  (Another read that has ended since may have found less, of a CPU that
 * started over in between.  In the middle of that a count lacks what a handler may still find.)
 */
static void check_event(struct host_session *session, unsigned set, unsigned i, const struct upmu_count *count,
                        const struct host_event *before, bool settled)
{
    struct host_event *event = &session->set[set].event[i];
    uint64_t low = before->low, high = event->high + (event->lowered - before->lowered);
    bool marred = count->quality == UPMU_QUALITY_PARTIAL, lost = units_lost(session);

    low = lost ? before->kept : low;
    check_times(session, event, count);
    if (!rules_on(RULE_COUNT))
        return;
    if (marred && count->running_ns && !session->spoiled && !lost && !session->changed && !session->slow &&
        !host.setting.no_clock)
        rules_fail(RULE_COUNT, "session %u, set %u, event %u: has holes, and nothing made them", number_of(session),
                   set, i);
    if (count->raw > high || (count->raw < low && !marred))
        rules_fail(
            RULE_COUNT, "session %u, set %u, event %u (%s%s%s, counter %u): %llu counted, not %llu to %llu; quality %u",
            number_of(session), set, i, session->session->state == UPMU_SESSION_RUNNING ? "runs" : "does not run",
            event->user ? ", user" : "", event->kernel ? ", kernel" : "", session->set[set].set->tally[i].counter,
            (unsigned long long)count->raw, (unsigned long long)low, (unsigned long long)high,
            (unsigned)count->quality);
    /* unit.h: of a box that vanishes is kept what was read, whatever the quality. */
    if (session->target == TARGET_UNIT && !session->changed && count->raw < before->kept)
        rules_fail(RULE_COUNT, "session %u, set %u, event %u: %llu counted; a read had found %llu", number_of(session),
                   set, i, (unsigned long long)count->raw, (unsigned long long)before->kept);
    event->kept = count->raw;
    if (count->quality == UPMU_QUALITY_EXACT)
        host.verdict->figures.exact++;
    if (count->quality == UPMU_QUALITY_SCALED && session->session->set.flags == 0)
        check_estimate(event, count);
    event->low = count->raw;
    event->pending = 0;
    if (high == before->high && settled && !lost && event->high > count->raw) {
        event->lowered += event->high - count->raw;
        event->high = count->raw;
    }
}

void rules_read_set(struct host_session *session, unsigned set)
{
    struct host_set *at = &session->set[set];
    struct host_event before[HOST_EVENTS];
    struct upmu_count counts[HOST_EVENTS];
    unsigned restarts = host.restarts;
    bool settled = !rules_starts_over(session);
    enum upmu_status status;

    memcpy(before, at->event, sizeof before);
    if (!at->events)
        return;
    units_look_late();
    status = HOST_CALL(upmu_set_read(at->set, 0, at->events, counts));
    units_look_late(); /* (Time may pass meanwhile.) */
    host.verdict->figures.reads++;
    rules_status("upmu_set_read", status, "WRONG_CPU PORT BUSY");
    if (status == UPMU_OK)
        for (unsigned i = 0; i < at->events; i++)
            check_event(session, set, i, &counts[i], &before[i], settled && host.restarts == restarts);
}

void rules_after_write(uint64_t value, struct host_session *session, unsigned set, unsigned i, uint64_t high,
                       uint64_t before_ns)
{
    struct host_event *event = &session->set[set].event[i];

    event->high = value + (event->high - high);
    event->low = event->kept = event->grid = value;
    event->truth = value;
    event->regular = false;
    event->since_ns = before_ns;
    event->enabled_ns = 0;
}

/* Of a write that a register's fault broke off the count is the former one or the new one. */
void rules_after_fault(uint64_t value, struct host_session *session, unsigned set, unsigned i, uint64_t high)
{
    struct host_event *event = &session->set[set].event[i];
    uint64_t most = value + (event->high - high);

    event->low = value < event->low ? value : event->low;
    event->kept = value < event->kept ? value : event->kept;
    event->high = most > event->high ? most : event->high;
    event->regular = false;
    event->enabled_ns = 0;
}

/* ---- Samples ---- */

static void take_record(struct host_session *session, const struct upmu_record *record)
{
    for (unsigned k = 0; k < session->sets; k++)
        if (session->sets == 1 || (record->extended && session->set[k].set->number == record->set))
            for (unsigned i = 0; i < session->set[k].events; i++)
                if (record->sample->events >> i & 1u) {
                    session->set[k].event[i].samples++;
                    branches_sample(session, record, precise_sample(session, k, i, record));
                }
    host.verdict->figures.samples++;
}

void rules_drain(struct host_session *session)
{
    struct upmu_record record;

    if (!session->ring)
        return;
    while (HOST_CALL(upmu_ring_view(&session->session->ring, &record))) {
        take_record(session, &record);
        HOST_DO(upmu_ring_drop(&session->session->ring));
    }
    session->ring_lost = upmu_ring_lost(&session->session->ring);
}

/* The shortest load is no longer: where less is left of a period, its sample comes later. */
#define LATE_MOST 256u

/*
 * So do the samples of all periods within two of these loads, if a precise event stops within the second one, or
 * between its overflow and its record; and more if it did so several times in a row: host_event.late.
 */
static void check_periods(const struct host_session *session, unsigned i, uint64_t got, const char *what)
{
    const struct host_event *event = &session->set[0].event[i];
    uint64_t period = event->sampling.period, over = event->low - event->grid, wanted = over / period;
    uint64_t least = wanted - (wanted && over % period <= LATE_MOST);
    uint64_t late = 2u * PRECISE_LATE + event->late + event->shifted;
    uint64_t settled = over < late ? 0 : over - late;

    if (event->level && settled / period < least)
        least = settled / period;
    if (got > wanted + event->doubts || got < least)
        rules_fail(RULE_SAMPLES, "session %u, event %u: %llu %s; %llu / %llu is %llu", number_of(session), i,
                   (unsigned long long)got, what, (unsigned long long)over, (unsigned long long)period,
                   (unsigned long long)wanted);
}

/* Of a session that does not run: all that was due is settled. */
static void check_samples(struct host_session *session)
{
    if (session->sets != 1 || session->spoiled || session->changed || !rules_on(RULE_SAMPLES))
        return;
    rules_drain(session);
    for (unsigned i = 0; i < session->set[0].events; i++) {
        const struct host_event *event = &session->set[0].event[i];
        const struct upmu_tally *tally = &session->session->set.tally[i];

        if (!event->regular || !event->sampling.period || event->low != event->high)
            continue;
        check_periods(session, i, tally->overflows, "periods");
        if (session->ring && !(session->ring_lost && session->sampling > 1))
            check_periods(session, i, event->samples + tally->lost + session->ring_lost, "samples and losses");
    }
}

/* ---- States ---- */

static void check_state(const struct host_session *session)
{
    const struct upmu_session *upmu = session->session;
    unsigned place = rules_place(session), state = upmu->state;
    bool live = place != HOST_NONE && host.cpu[place].power == CPU_LIVE;
    bool fine;

    if (!rules_on(RULE_STATE))
        return;
    if ((session->spoiled || session->changed || units_lost(session)) && state != UPMU_SESSION_RUNNING)
        return;
    if (state == UPMU_SESSION_RUNNING)
        fine = session->started && live;
    else if (state == UPMU_SESSION_DETACHED)
        fine = session->target == TARGET_NONE;
    else if (state == UPMU_SESSION_MASKED)
        fine = session->started && session->masks;
    else if (state == UPMU_SESSION_STOPPED)
        fine = session->target != TARGET_NONE && !session->started;
    else if (state == UPMU_SESSION_WAITING)
        fine = session->started &&
               (session->target == TARGET_THREAD || session->shares || session->sets > 1 || session->switched);
    else if (session->target == TARGET_UNIT)
        fine = state == UPMU_SESSION_SUSPENDED && session->started && place == HOST_NONE;
    else
        fine = state == UPMU_SESSION_SUSPENDED && session->started && place != HOST_NONE &&
               host.cpu[place].power == CPU_ASLEEP;
    if (!fine)
        rules_fail(RULE_STATE, "session %u: state %u, target %u %u, %s, its CPU is %s; error: %s", number_of(session),
                   state, (unsigned)session->target, session->where, session->started ? "started" : "not started",
                   place == HOST_NONE ? "none"
                   : live             ? "live"
                                      : "not live",
                   upmu_status_text(upmu->error));
}

void rules_check_session(struct host_session *session)
{
    check_state(session);
    for (unsigned k = 0; k < session->sets; k++)
        rules_read_set(session, k);
    if (session->session->state != UPMU_SESSION_RUNNING && session->session->state != UPMU_SESSION_MASKED)
        check_samples(session);
}

void rules_quiet(struct lots *lots)
{
    struct host_session *session = &host.session[lots_below(lots, HOST_SESSIONS)];

    act_reap();
    for (unsigned i = 0; i < HOST_SESSIONS; i++)
        if (host.session[i].session && !host.session[i].zombie)
            check_state(&host.session[i]);
    for (unsigned i = 0; host.trace && i < HOST_SESSIONS; i++)
        if (host.session[i].session)
            TRACE("session %u: state %u, enabled %llu since %llu; now %llu", i, host.session[i].session->state,
                  (unsigned long long)host.session[i].session->enabled_ns,
                  (unsigned long long)host.session[i].session->started_ns, (unsigned long long)host.now_ns);
    for (unsigned cpu = 0; cpu < host.setting.cpus; cpu++) {
        rules_watchdogs(cpu);
        rules_gates(cpu);
        branches_quiet(cpu);
    }
    units_quiet();
    (void)session;
}

/* ---- Answers ---- */

static bool is_among(const char *word, const char *list)
{
    size_t length = strlen(word);

    for (const char *at = strstr(list, word); at; at = strstr(at + 1, word))
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
            return true;
    return false;
}

void rules_status(const char *call, enum upmu_status status, const char *allowed)
{
    static const char *const words[UPMU_ERR_NOT_PER_THREAD + 1] = {
        [UPMU_ERR_NO_PMU] = "NO_PMU",
        [UPMU_ERR_UNSUPPORTED] = "UNSUPPORTED",
        [UPMU_ERR_PORT] = "PORT",
        [UPMU_ERR_DOES_NOT_FIT] = "DOES_NOT_FIT",
        [UPMU_ERR_TOO_HARD] = "TOO_HARD",
        [UPMU_ERR_CHANGED] = "CHANGED",
        [UPMU_ERR_LOST_CLAIM] = "LOST_CLAIM",
        [UPMU_ERR_HOOK_MISSING] = "HOOK_MISSING",
        [UPMU_ERR_BUSY] = "BUSY",
        [UPMU_ERR_WRONG_CPU] = "WRONG_CPU",
        [UPMU_ERR_STATE] = "STATE",
        [UPMU_ERR_NO_SPACE] = "NO_SPACE",
        [UPMU_ERR_INVALID] = "INVALID",
        [UPMU_ERR_WRONG_PMU] = "WRONG_PMU",
        [UPMU_ERR_NO_CPU] = "NO_CPU",
        [UPMU_ERR_NOT_PER_THREAD] = "NOT_PER_THREAD",
        [UPMU_ERR_END] = "END",
        [UPMU_ERR_VERSION] = "VERSION",
    };

    if (status == UPMU_OK || (status == UPMU_ERR_NO_CPU && host.units.slept))
        return;
    if ((unsigned)status < sizeof words / sizeof words[0] && words[status] && is_among(words[status], allowed) &&
        (status != UPMU_ERR_PORT || host.verdict->figures.faults))
        return;
    rules_fail(RULE_STATUS, "%s: %s", call, upmu_status_text(status));
}
