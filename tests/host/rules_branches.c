/* SPDX-License-Identifier: MIT */
/*
 * What must hold of branches: written from upmu/branches.h and docs/BRANCHES.md.
 *
 * The hardware tells of each branch that is taken, and whether it is recorded.  So it is known what a stack holds when
 * it stops, whatever its registers are: a read or a sample shows that, the newest first, without the branches that its
 * filter excludes.
 */
#include <stdio.h>
#include <string.h>
#include <upmu/session.h>
#include <upmu/set.h>

#include "tests/host/simulated.h"

#define RINGS (UPMU_BRANCH_USER | UPMU_BRANCH_KERNEL)

bool branches_are_on(void)
{
    return setting_has(&host.setting, THEME_BRANCHES);
}

void branches_code(unsigned count)
{
    if ((branches_are_on() || traces_are_on()) && host.setting.family->branch)
        host.setting.family->branch(host.hardware, self->cpu, false, count);
}

static unsigned depth(void)
{
    return host.setting.family->depth(host.hardware);
}

/* A fault since the stack was started, or when it was detected: nothing is known of it. */
static bool is_doubtful(const struct host_branches *branches)
{
    return branches->blind || branches->faults != host.verdict->figures.faults;
}

/* ---- What is recorded, and when ---- */

/* A branch is of user mode if both its ends are. */
static bool has_rings(uint32_t record, bool from_user, bool to_user)
{
    uint32_t ring = from_user && to_user ? UPMU_BRANCH_USER : UPMU_BRANCH_KERNEL;

    return !(record & RINGS) || (record & ring);
}

static bool has_kind(uint32_t record, enum hardware_branch_kind kind)
{
    static const uint32_t bits[] = {
        UPMU_BRANCH_COND, UPMU_BRANCH_CALL, UPMU_BRANCH_IND_CALL, UPMU_BRANCH_RETURN, UPMU_BRANCH_IND_JUMP, 0, 0};
    uint32_t kinds = record & (UPMU_BRANCH_ANY | UPMU_BRANCH_CALL | UPMU_BRANCH_IND_CALL | UPMU_BRANCH_RETURN |
                               UPMU_BRANCH_COND | UPMU_BRANCH_IND_JUMP);

    return !kinds || (kinds & UPMU_BRANCH_ANY) || (kinds & bits[kind]);
}

/* What a session may see: where it hides the kernel, user mode or nothing. */
uint32_t branches_wanted(const struct host_session *session)
{
    if (!session->hides || !session->branches)
        return session->branches;
    return (session->branches & RINGS) == UPMU_BRANCH_KERNEL ? 0 : (session->branches & ~RINGS) | UPMU_BRANCH_USER;
}

/* Does a session that wants branches run here, with an event that samples? */
static const struct host_session *find_wanting(unsigned number)
{
    for (unsigned i = 0; i < HOST_SESSIONS; i++) {
        const struct host_session *session = &host.session[i];

        if (!session->session || !branches_wanted(session) || !rules_is_here(session, number) ||
            session->session->state != UPMU_SESSION_RUNNING)
            continue;
        for (unsigned k = 0; k < session->sets; k++)
            for (unsigned e = 0; session->set[k].set == session->session->active && e < session->set[k].events; e++)
                if (session->set[k].event[e].sampling.period)
                    return session;
    }
    return NULL;
}

uint32_t branches_filter(unsigned number)
{
    const struct host_session *session = find_wanting(number);

    return session ? branches_wanted(session) : 0;
}

/* May a session's counters run on that are not its any more, or that could not be stopped? */
static bool is_unsure(unsigned number)
{
    bool unsure =
        host.zombies || host.cpu[number].had_static || host.cpu[number].faulted || host.verdict->figures.faults;

    for (unsigned i = 0; i < HOST_SESSIONS; i++)
        unsure |= host.session[i].session && (host.session[i].spoiled || host.session[i].changed);
    return unsure;
}

static bool is_found_on(unsigned number)
{
    uint32_t control = host.setting.family == &hardware_amd ? 0xc000010f : 0x1d9;
    uint64_t bit = host.setting.family == &hardware_amd ? 64 : 1;

    return (rules_found(number, control) & bit) || (rules_found(number, 0x14ce) & 1u);
}

static void check_lent(const struct host_cpu *cpu, const struct hardware_branch *branch)
{
    const struct host_branches *branches = &cpu->branches;
    const struct host_session *session = find_wanting(branch->cpu);

    if (cpu->world == CPU_IN_GUEST) {
        if (branch->recorded && !is_unsure(branch->cpu))
            rules_fail(RULE_BRANCHES, "CPU %u: a branch of a guest is recorded", branch->cpu);
        return;
    }
    if (branch->on && !session && !is_unsure(branch->cpu))
        rules_fail(RULE_BRANCHES, "CPU %u: branches are recorded, and no session runs that wants them", branch->cpu);
    if (!branch->on && session && !branches->frozen && !branches->held && !is_unsure(branch->cpu))
        rules_fail(RULE_BRANCHES, "CPU %u: no branch is recorded, and session %u wants them", branch->cpu,
                   (unsigned)(session - host.session));
    if (branch->on && !branch->recorded && session && !is_unsure(branch->cpu) && branch->to_user == branch->from_user &&
        has_rings(branches_wanted(session), branch->from_user, branch->to_user) &&
        has_kind(session->branches, branch->kind))
        rules_fail(RULE_BRANCHES, "CPU %u: a branch that session %u wants is not recorded", branch->cpu,
                   (unsigned)(session - host.session));
}

static void check_taken(const struct hardware_branch *branch)
{
    const struct host_cpu *cpu = &host.cpu[branch->cpu];
    const struct host_branches *branches = &cpu->branches;

    if (!rules_on(RULE_BRANCHES) || cpu->calls || cpu->in_nmi || cpu->in_vector || branches->busy ||
        cpu->coming != HOST_NONE || cpu->power != CPU_LIVE || !cpu->cpu || cpu->useless || cpu->unreachable ||
        is_doubtful(branches) || cpu->world == CPU_TURNING)
        return;
    if (branches->owner == BRANCHES_LENT)
        check_lent(cpu, branch);
    else if (branches->owner == BRANCHES_FREE && branch->on && !is_found_on(branch->cpu) && !is_unsure(branch->cpu))
        rules_fail(RULE_BRANCHES, "CPU %u: branches are recorded, and no stack is started or lent", branch->cpu);
    /* (After a sleep that faulted the status may say that the stack is frozen.) */
    if (branches->owner != BRANCHES_STARTED || branches->frozen || cpu->faulted)
        return;
    if (!branch->on)
        rules_fail(RULE_BRANCHES, "CPU %u: the stack is started and does not record", branch->cpu);
    /* branches.h: a filter register may leave out exits. */
    if (!branch->recorded && has_kind(branches->record, branch->kind) && (branch->from_user || !branch->to_user) &&
        has_rings(branches->record, branch->from_user, branch->to_user))
        rules_fail(RULE_BRANCHES, "CPU %u: a branch of kind %u is not recorded by filter %x", branch->cpu,
                   (unsigned)branch->kind, (unsigned)branches->record);
}

static void note_taken(const struct hardware_branch *branch)
{
    struct host_cpu *cpu = &host.cpu[branch->cpu];
    struct branch_list *now = &cpu->branches.now;

    if (host.looking)
        return;
    host.verdict->figures.branches++;
    check_taken(branch);
    cpu->branches.taken = branch->number;
    cpu->branches.held &= !branch->on;
    for (unsigned i = 0; branch->on && i < BRANCHES_STOPS; i++)
        if (!cpu->branches.stop[i].on_ns)
            cpu->branches.stop[i].on_ns = host.now_ns | 1u;
    if (!branch->recorded)
        return;
    if (now->count == depth())
        memmove(now->seen, now->seen + 1, --now->count * sizeof *now->seen);
    now->seen[now->count++] =
        (struct branch_seen){branch->number, branch->from_user, branch->to_user, cpu->world == CPU_IN_GUEST,
                             cpu->coming == HOST_NONE ? cpu->thread : HOST_NONE};
}

static void fill_moment(unsigned number, uint64_t moment_number, struct branch_moment *moment)
{
    const struct host_cpu *cpu = &host.cpu[number];

    *moment = (struct branch_moment){.number = moment_number,
                                     .time_ns = host.now_ns,
                                     .handler = cpu->in_nmi || cpu->in_vector,
                                     .thread = cpu->thread,
                                     .list = cpu->branches.now};
}

static struct branch_moment *stop_at(struct host_branches *branches, uint64_t moment)
{
    for (unsigned i = 0; i < BRANCHES_STOPS; i++)
        if (branches->stop[i].number == moment)
            return &branches->stop[i];
    return NULL;
}

static void note_stop(unsigned number, bool by_hardware)
{
    struct host_branches *branches = &host.cpu[number].branches;
    struct branch_moment *oldest = &branches->stop[0];

    if (host.looking)
        return;
    for (unsigned i = 1; i < BRANCHES_STOPS; i++)
        if (branches->stop[i].number < oldest->number)
            oldest = &branches->stop[i];
    fill_moment(number, ++branches->stops, oldest);
    oldest->by_hardware = by_hardware;
    oldest->read = !by_hardware && branches->reads;
    branches->held = by_hardware;
    TRACE("branches of CPU %u stop%s: %u recorded", number, by_hardware ? ", frozen" : "", oldest->list.count);
}

static void note_clear(unsigned number)
{
    struct host_branches *branches = &host.cpu[number].branches;

    if (host.looking)
        return;
    branches->now.count = 0;
    for (unsigned i = 0; i < BRANCHES_STOPS; i++)
        if (!branches->stop[i].lost_ns)
            branches->stop[i].lost_ns = host.now_ns | 1u;
}

const struct hardware_trace branches_trace = {note_taken, note_stop, note_clear};

uint64_t branches_recorded(unsigned number)
{
    struct host_branches *branches = &host.cpu[number].branches;
    struct branch_moment *moment = &branches->record_of[branches->records++ % BRANCHES_RECORDS];

    fill_moment(number, branches->records, moment);
    return moment->number;
}

/* ---- What is shown ---- */

/* The moment's branches that the filter shows, the newest first. */
static unsigned expect(const struct branch_moment *moment, uint32_t record, unsigned room, struct branch_seen *out)
{
    unsigned count = 0;

    for (unsigned i = moment->list.count; i && count < room; i--) {
        const struct branch_seen *seen = &moment->list.seen[i - 1u];

        if (has_rings(record, seen->from_user, seen->to_user))
            out[count++] = *seen;
    }
    return count;
}

/* Bits of `info` that this branch must have, of those that the hardware gives. */
static uint64_t info_of(const struct hardware_branch *branch, uint64_t known)
{
    static const uint8_t types[] = {0, 4, 3, 5, 1, 2, 8};
    uint64_t info = branch->mispredicted ? UPMU_BRANCH_INFO_MISPREDICTED : UPMU_BRANCH_INFO_PREDICTED;

    info |= branch->in_transaction ? UPMU_BRANCH_INFO_TRANSACTION : 0;
    info |= UPMU_BRANCH_INFO_CYCLES_VALID | branch->cycles | (uint64_t)types[branch->kind] << 56;
    info |= (branch->cycles & 1 ? UINT64_C(3) : UINT64_C(2)) << 52; /* (as hardware_branches.c says) */
    return info & known;
}

static bool is_branch(unsigned cpu, const struct upmu_branch *shown, const struct branch_seen *seen, uint64_t known)
{
    struct hardware_branch branch = {
        .cpu = (uint8_t)cpu, .from_user = seen->from_user, .to_user = seen->to_user, .number = seen->number};

    hardware_branch_fill(&branch);
    return shown->from == branch.from && shown->to == branch.to && shown->info == info_of(&branch, known);
}

static bool shows(unsigned cpu, const struct branch_moment *moment, uint32_t record, const struct upmu_branch *shown,
                  unsigned count, unsigned room, uint64_t known)
{
    struct branch_seen expected[BRANCHES_SEEN];

    if (expect(moment, record, room, expected) != count)
        return false;
    for (unsigned i = 0; i < count; i++)
        if (!is_branch(cpu, &shown[i], &expected[i], known))
            return false;
    return true;
}

static void tell(const char *what, const struct upmu_branch *shown, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        TRACE("  %s %u: %llx to %llx, %llx", what, i, (unsigned long long)shown[i].from,
              (unsigned long long)shown[i].to, (unsigned long long)shown[i].info);
}

static void tell_expected(unsigned cpu, const struct branch_moment *moment, uint64_t known)
{
    struct upmu_branch shown;

    if (!host.trace || !moment)
        return;
    for (unsigned i = moment->list.count; i; i--) {
        const struct branch_seen *seen = &moment->list.seen[i - 1u];
        struct hardware_branch branch = {
            .cpu = (uint8_t)cpu, .from_user = seen->from_user, .to_user = seen->to_user, .number = seen->number};

        hardware_branch_fill(&branch);
        shown = (struct upmu_branch){branch.from, branch.to, info_of(&branch, known)};
        tell("expected", &shown, 1);
    }
}

static uint64_t known_info(unsigned number, uint32_t record)
{
    uint64_t info = upmu_branches_facts(host.cpu[number].cpu->meter.pmu).info;

    if (info & UPMU_BRANCH_INFO_MISPREDICTED)
        info |= UPMU_BRANCH_INFO_PREDICTED;
    return record & UPMU_BRANCH_NO_INFO ? 0 : info;
}

/* What a read may show: the moment at which it stopped the stack, or the one before, if that stood already. */
void branches_read(const struct upmu_branch *out, unsigned count, unsigned room, uint64_t stops, uint32_t record)
{
    struct host_branches *branches = &here()->branches;
    uint64_t known = known_info(self->cpu, record);
    bool found = false;

    if (!rules_on(RULE_BRANCHES) || is_doubtful(branches))
        return;
    for (unsigned i = 0; i < BRANCHES_STOPS; i++)
        if (branches->stop[i].number && branches->stop[i].number >= stops)
            found |= shows(self->cpu, &branches->stop[i], record, out, count, room, known);
    for (unsigned i = 0; i < count && branches->owner == BRANCHES_STARTED; i++) {
        struct hardware_branch branch;

        if (hardware_branch_find(out[i].from, &branch) && branch.number <= branches->since)
            rules_fail(RULE_BRANCHES, "CPU %u: a read shows a branch of before the start", self->cpu);
    }
    host.verdict->figures.branch_reads++;
    host.verdict->figures.branches_shown += count;
    if (found)
        return;
    tell("shown", out, count);
    tell_expected(self->cpu, stop_at(branches, branches->stops), known);
    rules_fail(RULE_BRANCHES, "CPU %u: a read shows %u branches, from %llx on, which are not the last ones", self->cpu,
               count, (unsigned long long)(count ? out->from : 0));
}

/* ---- Samples ---- */

static bool can_freeze(void)
{
    if (host.setting.family == &hardware_amd)
        return !host.setting.options.no_freeze;
    return strcmp(host.setting.family->models[host.setting.model].name, "version 1") != 0;
}

/* The last stop of an interrupt before a time. */
static struct branch_moment *find_stop(struct host_branches *branches, uint64_t time_ns)
{
    struct branch_moment *found = NULL;

    for (unsigned i = 0; i < BRANCHES_STOPS; i++) {
        struct branch_moment *stop = &branches->stop[i];

        if (stop->number && (can_freeze() ? stop->by_hardware : true) && stop->time_ns <= time_ns &&
            (!found || stop->number > found->number))
            found = stop;
    }
    return found;
}

/* The next freeze after a stop, if it came in a handler; NULL: there is none. */
static const struct branch_moment *find_inside(struct host_branches *branches, const struct branch_moment *stop)
{
    const struct branch_moment *next = stop;

    do
        next = stop_at(branches, next->number + 1u);
    while (next && !next->by_hardware);
    return next && next->handler ? next : NULL;
}

/* The stop of a read that an interrupt at a time has interrupted: README.md, "Open".  NULL: there is none. */
static const struct branch_moment *find_read(const struct host_branches *branches, uint64_t time_ns)
{
    for (unsigned i = 0; !rules_strict && i < BRANCHES_STOPS; i++) {
        const struct branch_moment *stop = &branches->stop[i];

        if (stop->read && stop->time_ns <= time_ns && (!stop->on_ns || stop->on_ns > time_ns))
            return stop;
    }
    return NULL;
}

static void check_whose(const char *who, const struct host_session *session, const struct branch_moment *moment)
{
    for (unsigned i = 0; i < moment->list.count; i++) {
        const struct branch_seen *seen = &moment->list.seen[i];

        if (seen->guest)
            rules_fail(RULE_BRANCHES, "%s: it has a branch of a guest", who);
        if (seen->thread != HOST_NONE && seen->thread != moment->thread)
            rules_fail(RULE_BRANCHES, "%s: it has a branch of thread %u, and thread %u ran", who, seen->thread,
                       moment->thread);
        if (session->target == TARGET_THREAD && session->attached == 1 && seen->thread != HOST_NONE &&
            seen->thread != session->where)
            rules_fail(RULE_BRANCHES, "%s: of thread %u, and it follows thread %u", who, seen->thread, session->where);
    }
}

static const struct branch_moment *find_moment(struct host_branches *branches, uint64_t number)
{
    for (unsigned i = 0; number && i < BRANCHES_RECORDS; i++)
        if (branches->record_of[i].number == number)
            return &branches->record_of[i];
    return NULL;
}

/* Do all rings agree with what the session may see, whatever else is known? */
static void check_rings(const char *who, const struct host_session *session, const struct upmu_record *record)
{
    uint32_t wanted = branches_wanted(session);

    for (unsigned i = 0; i < record->branches; i++)
        if (!has_rings(wanted, !(record->branch[i].from >> 63), !(record->branch[i].to >> 63)))
            rules_fail(RULE_BRANCHES, "%s: branch %u, from %llx to %llx, is not of filter %x", who, i,
                       (unsigned long long)record->branch[i].from, (unsigned long long)record->branch[i].to,
                       (unsigned)wanted);
}

/*
 * docs/BRANCHES.md says which samples have no branches: none whose interrupt has just frozen the stack, unless the host
 * had frozen it before.
 */
static void check_without(const char *who, const struct host_session *session, const struct upmu_sample *sample)
{
    struct host_branches *branches;
    const struct branch_moment *stop;

    if (session->target != TARGET_CPU || session->attached != 1 || !branches_wanted(session) ||
        session->spoiled || session->changed || host.setting.no_clock || host.verdict->figures.faults ||
        !can_freeze() || (sample->flags & (UPMU_SAMPLE_NO_FRAME | UPMU_SAMPLE_PRECISE | UPMU_SAMPLE_HIDDEN)))
        return;
    branches = &host.cpu[session->where].branches;
    if (branches->owner != BRANCHES_LENT)
        return;
    stop = find_stop(branches, sample->time_ns);
    if (stop && !stop->lost_ns && !branches->frozen && branches->frozen_ns < stop->time_ns &&
        stop->number == branches->stops && (!stop->on_ns || stop->on_ns > sample->time_ns))
        rules_fail(RULE_BRANCHES, "%s: no branches, and its interrupt has frozen the stack", who);
}

void branches_sample(struct host_session *session, const struct upmu_record *record, uint64_t record_number)
{
    uint32_t wanted = branches_wanted(session);
    unsigned number = record->branches ? record->branch->from >> 44 & 3u : HOST_NONE;
    const struct branch_moment *stop, *stored, *inside;
    struct host_branches *branches;
    uint64_t known;
    char who[64];

    (void)snprintf(who, sizeof who, "session %u, a sample", (unsigned)(session - host.session));
    if (!rules_on(RULE_BRANCHES) || !branches_are_on())
        return;
    host.verdict->figures.branch_samples += (record->parts & UPMU_PART_BRANCHES) != 0;
    host.verdict->figures.branch_without += session->branches && !(record->parts & UPMU_PART_BRANCHES);
    if (!(record->parts & UPMU_PART_BRANCHES) && !record->branches) {
        check_without(who, session, record->sample);
        return;
    }
    if (!wanted || record->branches > depth())
        rules_fail(RULE_BRANCHES, "%s: %u branches, and filter %x is wanted", who, record->branches,
                   (unsigned)session->branches);
    check_rings(who, session, record);
    if (number >= host.setting.cpus || !host.cpu[number].cpu || host.cpu[number].useless || session->spoiled)
        return;
    branches = &host.cpu[number].branches;
    known = known_info(number, session->branches);
    stop = find_stop(branches, host.setting.no_clock ? UINT64_MAX : record->sample->time_ns);
    stored = find_moment(branches, record_number);
    host.verdict->figures.branches_shown += record->branches;
    if (stored && shows(number, stored, wanted, record->branch, record->branches, depth(), known)) {
        check_whose(who, session, stored);
        host.verdict->figures.branch_stored++;
        return;
    }
    for (unsigned i = 0; host.setting.no_clock && i < BRANCHES_STOPS; i++)
        if (branches->stop[i].number &&
            shows(number, &branches->stop[i], wanted, record->branch, record->branches, depth(), known))
            stop = &branches->stop[i];
    if (!stop || (host.setting.no_clock && branches->stops > BRANCHES_STOPS)) /* (It may be too old.) */
        return;
    /* (An event may overflow in the handler, after the sample's time was taken, and before its counter is closed.) */
    inside = find_inside(branches, stop);
    if (inside && shows(number, inside, wanted, record->branch, record->branches, depth(), known))
        stop = inside;
    inside = find_read(branches, record->sample->time_ns);
    if (inside && shows(number, inside, wanted, record->branch, record->branches, depth(), known))
        stop = inside;
    if (!shows(number, stop, wanted, record->branch, record->branches, depth(), known)) {
        tell("shown", record->branch, record->branches);
        tell_expected(number, stop, known);
        tell_expected(number, stored, known);
        rules_fail(RULE_BRANCHES, "%s: its %u branches, from %llx on, are not those at its overflow", who,
                   record->branches, (unsigned long long)record->branch->from);
    }
    check_whose(who, session, stop);
}

/* ---- With nothing under way ---- */

void branches_quiet(unsigned number)
{
    struct host_cpu *cpu = &host.cpu[number];
    uint64_t value;

    /* branches.h, upmu_cpu_use_branches(): where the hardware can, an interrupt freezes the stack. */
    if (branches_are_on() && rules_on(RULE_BRANCHES) && cpu->branches.owner == BRANCHES_LENT && can_freeze() &&
        cpu->power == CPU_LIVE && !is_doubtful(&cpu->branches) && !is_unsure(number) && find_wanting(number) &&
        host.setting.family->rdmsr(host.hardware, number, 0x1d9, &value) && !(value & 0x800))
        rules_fail(RULE_BRANCHES, "CPU %u: interrupts do not freeze the stack", number);

    if (!branches_are_on() || !rules_on(RULE_BRANCHES) || cpu->branches.owner != BRANCHES_LENT || !cpu->branches.held ||
        cpu->branches.frozen || cpu->power != CPU_LIVE || is_doubtful(&cpu->branches) || is_unsure(number) ||
        !find_wanting(number) || hooks_interrupt_is_coming(number) ||
        (host.setting.family->untold && host.setting.family->untold(host.hardware, number)))
        return;
    rules_fail(RULE_BRANCHES, "CPU %u: an interrupt has frozen the stack, and nothing lets it record again", number);
}

/* The bit that lets the stack record is other software's, if it was found set and not taken. */
void branches_write(unsigned number, uint32_t msr, uint64_t value)
{
    const struct host_cpu *cpu = &host.cpu[number];

    if (branches_are_on() && rules_on(RULE_WRITE) && host.setting.family == &hardware_intel && msr == 0x1d9 &&
        cpu->branches.owner == BRANCHES_FREE && !cpu->branches.busy && ((value ^ rules_found(number, msr)) & 1u) &&
        !host.verdict->figures.faults)
        rules_fail(RULE_WRITE, "CPU %u: a write of %llx to register %x, and no stack is started or lent", number,
                   (unsigned long long)value, (unsigned)msr);
}
