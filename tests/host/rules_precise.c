/* SPDX-License-Identifier: MIT */
/*
 * What must hold of precise samples: written from upmu/precise.h and docs/PRECISE.md.
 *
 * The hardware tells each record that it makes, and each event has an instruction of its own.  So a sample names a
 * record, which is that of one of its session's events at the end of a period, and is given once.
 */
#include <stdio.h>

#include "tests/host/simulated.h"

_Static_assert(PRECISE_SESSIONS == HOST_SESSIONS && PRECISE_SETS == HOST_SETS, "each set has its place in a truth");

static unsigned number_of(const struct host_session *session)
{
    return (unsigned)(session - host.session);
}

unsigned precise_format(void)
{
    uint64_t capabilities = 0;

    (void)host.setting.family->rdmsr(host.hardware, self->cpu, 0x345, &capabilities);
    return (unsigned)(capabilities >> 8 & 15u);
}

/* ---- Records ---- */

/* Does a period of the event end `skid` events before this record?  Its count there is `low` to `high`. */
static bool ends_period(const struct host_event *event, const struct hardware_record *record, unsigned skid)
{
    uint64_t low = event->low > record->left ? event->low - record->left : 0;
    uint64_t high = event->high > record->left ? event->high - record->left : 0;
    uint64_t first = event->grid + skid, period = event->sampling.period, last;

    if (!event->regular)
        return true;
    if (high < first + period)
        return false;
    last = high - (high - first) % period;
    if (event->batch)
        return event->shifted >= period || last + event->shifted >= low;
    return last + PRECISE_LATE >= low ||
           (low <= event->loaded[1] + PRECISE_LATE && last + 2u * PRECISE_LATE + event->late >= low);
}

/* A counter that the event itself made overflow records that event, others the next one. */
static bool fits(const struct host_event *event, const struct hardware_record *record)
{
    return (record->reduced && ends_period(event, record, 0)) ||
           (event->level < 3 && (record->counters & ~record->reduced) && ends_period(event, record, 1));
}

static void may_be_of(struct precise_truth *truth, struct host_session *session)
{
    unsigned number = number_of(session);
    const struct hardware_record *record = &truth->record;

    for (unsigned k = 0; k < session->sets; k++)
        for (unsigned i = 0; i < session->set[k].events; i++) {
            struct host_event *event = &session->set[k].event[i];
            uint16_t bit = (uint16_t)(1u << (4u * k + i));

            if (!event->level || event->kind != record->event || !(record->user ? event->user : event->kernel))
                continue;
            TRACE("  perhaps of session %u, set %u, event %u: %llu to %llu less %llu, since %llu, period %llu", number,
                  k, i, (unsigned long long)event->low, (unsigned long long)event->high,
                  (unsigned long long)record->left, (unsigned long long)event->grid,
                  (unsigned long long)event->sampling.period);
            truth->may[number] |= bit;
            truth->low[number][k] = event->low - (event->low < record->left ? event->low : record->left);
            truth->high[number][k] = event->high - (event->high < record->left ? event->high : record->left);
            if (fits(event, record))
                truth->fits[number] |= bit;
        }
}

/*
 * A batch's counter is loaded with its period by the hardware, and by the library where it comes anew.  Where less than
 * the shortest load is left then, this period and all after it end later: also where none is left, because the next
 * event was to be recorded.
 */
static void note_batch_load(struct host_event *event)
{
    uint64_t over = event->low - event->grid, period = event->sampling.period, rest;

    if (!event->batch)
        return;
    rest = over % period;
    if (event->shifted || event->low != event->high || (over && !rest) || period - rest <= PRECISE_LATE)
        event->shifted += PRECISE_LATE;
}

/*
 * Before format 3 a record may name a counter that stores its own later, or none.  docs/PRECISE.md says that such a
 * record loads all of them: what a batch has counted may then be wrong by a period.
 */
static void note_unnamed(struct host_event *event)
{
    uint64_t period = event->sampling.period;

    if (rules_strict || !event->batch)
        return;
    event->low -= event->low < period ? event->low : period;
    event->high += period;
    event->regular = false;
    host.verdict->figures.batch_unnamed++;
}

/* Events that the record names, though it may be none of theirs: each loses a sample. */
static void add_doubts(const struct hardware_record *record)
{
    bool unnamed =
        precise_format() < 3 && (record->named != record->counters || (record->named & (record->named - 1u)));

    for (unsigned s = 0; s < HOST_SESSIONS; s++)
        for (unsigned k = 0; host.session[s].session && k < host.session[s].sets; k++)
            for (unsigned i = 0; i < host.session[s].set[k].events && rules_is_here(&host.session[s], record->cpu);
                 i++) {
                struct host_event *event = &host.session[s].set[k].event[i];

                event->doubts += event->level != 0;
                if (unnamed)
                    note_unnamed(event);
                if (record->dropped)
                    note_batch_load(event);
            }
}

void precise_recorded(const struct hardware_record *record)
{
    struct precise_memory *at = &host.cpu[record->cpu].precise;
    struct precise_truth *truth = &at->truth[at->made++ % PRECISE_TRUTHS];

    TRACE("a record of event %u number %llu, counters %llx named %llx%s%s", (unsigned)record->event,
          (unsigned long long)record->ordinal, (unsigned long long)record->counters, (unsigned long long)record->named,
          record->reduced ? ", of the overflow itself" : "", record->dropped ? ", dropped" : "");
    host.verdict->figures.precise_records++;
    host.verdict->figures.precise_dropped += record->dropped;
    at->owed += (unsigned)(record->dropped ? 0 : precise_format() < 3 ? 1 : __builtin_popcountll(record->named));
    *truth = (struct precise_truth){.record = *record, .number = host.verdict->figures.precise_records};
    if (record->branches)
        truth->branches = branches_recorded(record->cpu);
    for (unsigned i = 0; i < HOST_SESSIONS; i++)
        if (host.session[i].session && rules_is_here(&host.session[i], record->cpu)) {
            truth->serial[i] = host.session[i].serial;
            may_be_of(truth, &host.session[i]);
        }
    if (record->dropped || record->named != record->counters || (record->named & (record->named - 1u)))
        add_doubts(record);
}

/* ---- Samples ---- */

/* To how many events? */
static unsigned given_to(const struct precise_truth *truth)
{
    unsigned events = 0;

    for (unsigned i = 0; i < PRECISE_SESSIONS; i++)
        events += (unsigned)__builtin_popcount(truth->given[i]);
    return events;
}

/*
 * Counters may record the same event one after the other, each with registers or without: the record of that address
 * at which a period of this event ended, which it was not yet given, nor another one, else the newest one.
 */
static struct precise_truth *find(const struct hardware_record *record, bool registers, unsigned session, uint16_t bit)
{
    struct precise_memory *at = &host.cpu[record->cpu].precise;
    struct precise_truth *found = NULL;
    unsigned best = 0;

    for (uint64_t n = at->made; n && n + PRECISE_TRUTHS > at->made; n--) {
        struct precise_truth *truth = &at->truth[(n - 1u) % PRECISE_TRUTHS];
        unsigned rank = 1u + 4u * (truth->record.registers == registers) +
                        2u * ((truth->fits[session] & ~truth->given[session] & bit) != 0) + !given_to(truth);

        if (truth->record.event != record->event || truth->record.ordinal != record->ordinal ||
            truth->record.user != record->user || rank <= best)
            continue;
        found = truth;
        best = rank;
    }
    return found;
}

static bool is_old(const struct hardware_record *record)
{
    const struct precise_memory *at = &host.cpu[record->cpu].precise;

    return at->made > PRECISE_TRUTHS && at->truth[at->made % PRECISE_TRUTHS].record.ordinal >= record->ordinal;
}

/* The parts that a record of this format has. */
static unsigned parts_of(unsigned format)
{
    unsigned parts = UPMU_PART_REGISTERS;

    if (format >= 1)
        parts |= UPMU_PART_ADDRESS | UPMU_PART_SOURCE | UPMU_PART_WEIGHT;
    if (format >= 2)
        parts |= UPMU_PART_TRANSACTION;
    return parts;
}

static bool parts_are_right(const struct upmu_record *sample, const struct hardware_record *record)
{
    bool right = (!(sample->parts & UPMU_PART_ADDRESS) || sample->address == record->address) &&
                 (!(sample->parts & UPMU_PART_SOURCE) || sample->source == record->source) &&
                 (!(sample->parts & UPMU_PART_WEIGHT) || sample->weight == record->weight) &&
                 (!(sample->parts & UPMU_PART_TRANSACTION) || sample->transaction == record->transaction);

    for (unsigned i = 0; (sample->parts & UPMU_PART_REGISTERS) && i < 18; i++)
        right &= sample->registers[i] == record->gpr[i];
    return right;
}

/* What the sample has beside its address. */
static void check_parts(const char *who, const struct host_event *event, const struct upmu_record *sample,
                        const struct hardware_record *record)
{
    unsigned format = precise_format(), asked = event->sampling.flags >> UPMU_SAMPLING_PARTS_SHIFT;
    uint64_t sp = record->registers ? record->gpr[6] : 0;

    if (sample->sample->sp != sp)
        rules_fail(RULE_PRECISE, "%s: sp %llx, not %llx", who, (unsigned long long)sample->sample->sp,
                   (unsigned long long)sp);
    if (!(sample->sample->flags & UPMU_SAMPLE_USER) != !record->user)
        rules_fail(RULE_PRECISE, "%s: of %s", who, record->user ? "user mode, and not said so" : "the kernel");
    if ((sample->parts & ~UPMU_PART_BRANCHES) != (asked & parts_of(format)) && asked)
        rules_fail(RULE_PRECISE, "%s: parts %x of those asked for, %x", who, sample->parts, asked);
    if (!parts_are_right(sample, record))
        rules_fail(RULE_PRECISE, "%s: a part is another record's (parts %x)", who, sample->parts);
}

static void check_level(const char *who, const struct host_event *event, const struct upmu_record *sample,
                        const struct precise_truth *truth)
{
    bool exact = (sample->sample->flags & UPMU_SAMPLE_EXACT) != 0;

    if (event->level >= 2 && !exact && precise_format() >= 2) /* (older records have the instruction after alone) */
        rules_fail(RULE_PRECISE, "%s: level %u, and not the instruction itself", who, event->level);
    if (event->level == 3 && !truth->record.reduced) /* (all others are of the event after it) */
        rules_fail(RULE_PRECISE, "%s: level 3, and of the event after the overflow", who);
    if (sample->extended && sample->exact != exact)
        rules_fail(RULE_PRECISE, "%s: its flags and its record differ in whether it is exact", who);
}

/* Does the sample hide what it is of?  Then it has nothing else. */
static bool is_hidden(const char *who, const struct host_session *session, const struct upmu_record *sample)
{
    if (!(sample->sample->flags & UPMU_SAMPLE_HIDDEN))
        return false;
    if (!session->hides || sample->sample->ip || sample->sample->sp || (sample->parts & ~UPMU_PART_BRANCHES))
        rules_fail(RULE_PRECISE, "%s: hidden, with address %llx, sp %llx and parts %x", who,
                   (unsigned long long)sample->sample->ip, (unsigned long long)sample->sample->sp, sample->parts);
    return true;
}

/* precise.h, UPMU_SAMPLING_BATCH: nothing is known of what ran when the record was stored. */
static void check_batch(const char *who, const struct host_event *event, const struct upmu_record *sample)
{
    unsigned flags = sample->sample->flags, both = UPMU_SAMPLE_LATE | UPMU_SAMPLE_NO_FRAME;

    if (event->batch ? (flags & both) != both : (flags & UPMU_SAMPLE_LATE) != 0)
        rules_fail(RULE_PRECISE, "%s: %s, with flags %x", who, event->batch ? "of a batch" : "of no batch", flags);
    if (event->batch && (sample->process || sample->thread || sample->frames))
        rules_fail(RULE_PRECISE, "%s: of a batch, with process %u, thread %u and %u callers", who, sample->process,
                   sample->thread, sample->frames);
}

/* From format 3 on a record of one counter is one event's. */
static void check_sole(const char *who, const struct precise_truth *truth)
{
    if (precise_format() >= 3 && !(truth->record.named & (truth->record.named - 1u)) && given_to(truth) > 1)
        rules_fail(RULE_PRECISE, "%s: its record was given to another event", who);
}

/* Of a batch, from the record before to this one a period passed, or more; less one from a shadow to none. */
static void check_distance(const char *who, const struct host_session *session, struct host_event *event,
                           const struct precise_truth *truth, unsigned set)
{
    uint64_t high = truth->high[number_of(session)][set];

    host.verdict->figures.batch_samples++;
    if (event->last_count && event->regular && !session->spoiled && !session->changed &&
        high + 1u < event->last_count + event->sampling.period)
        rules_fail(RULE_PRECISE, "%s: at %llu of its count, the one before at %llu, and its period is %llu", who,
                   (unsigned long long)high, (unsigned long long)event->last_count,
                   (unsigned long long)event->sampling.period);
    event->last_count = truth->low[number_of(session)][set];
}

/* The truth of a sample; NULL: it is too old for the list. */
static struct precise_truth *look_up(const char *who, const struct upmu_record *sample, unsigned session,
                                     uint16_t bit)
{
    bool exact = (sample->sample->flags & UPMU_SAMPLE_EXACT) != 0;
    struct hardware_record record;
    struct precise_truth *truth;

    if (!hardware_record_find(sample->sample->ip, !exact, &record) || record.cpu >= host.setting.cpus)
        rules_fail(RULE_PRECISE, "%s: no event has its address %llx", who, (unsigned long long)sample->sample->ip);
    truth = find(&record, sample->sample->sp != 0, session, bit);
    if (!truth && !is_old(&record))
        rules_fail(RULE_PRECISE, "%s: there was no record of its address %llx", who,
                   (unsigned long long)sample->sample->ip);
    return truth;
}

uint64_t precise_sample(struct host_session *session, unsigned set, unsigned i, const struct upmu_record *sample)
{
    struct host_event *event = &session->set[set].event[i];
    unsigned number = number_of(session);
    uint16_t bit = (uint16_t)(1u << (4u * set + i));
    struct precise_truth *truth;
    char who[64];

    (void)snprintf(who, sizeof who, "session %u, set %u, event %u, a sample", number, set, i);
    if (!rules_on(RULE_PRECISE) || !(event->level || (sample->sample->flags & UPMU_SAMPLE_PRECISE)))
        return 0;
    if (!event->level || !(sample->sample->flags & UPMU_SAMPLE_PRECISE))
        rules_fail(RULE_PRECISE, "%s: %s", who, event->level ? "of a precise event, of no record" :
                                                               "of a record, of an event that is not precise");
    check_batch(who, event, sample);
    if (is_hidden(who, session, sample))
        return 0;
    truth = look_up(who, sample, number, bit);
    host.verdict->figures.precise_old += !truth;
    if (!truth)
        return 0;
    if (session->hides && !truth->record.user)
        rules_fail(RULE_PRECISE, "%s: of the kernel, which the session hides", who);
    host.verdict->figures.precise_samples++;
    if (truth->record.dropped)
        rules_fail(RULE_PRECISE, "%s: its record was never stored", who);
    if (truth->serial[number] != session->serial || !(truth->may[number] & bit))
        rules_fail(RULE_PRECISE, "%s: its record is another event's: kind %u, %s, CPU %u", who,
                   (unsigned)truth->record.event, truth->record.user ? "user" : "kernel", truth->record.cpu);
    if (truth->given[number] & bit)
        rules_fail(RULE_PRECISE, "%s: given twice", who);
    truth->given[number] |= bit;
    check_sole(who, truth);
    if (truth->number < event->last)
        rules_fail(RULE_PRECISE, "%s: of record %llu, and record %llu was given before it", who,
                   (unsigned long long)truth->number, (unsigned long long)event->last);
    event->last = truth->number;
    if (event->batch)
        check_distance(who, session, event, truth, set);
    if (!(truth->fits[number] & bit) && !session->spoiled && !session->changed)
        rules_fail(RULE_PRECISE, "%s: no period of %llu ended there", who, (unsigned long long)event->sampling.period);
    check_level(who, event, sample, truth);
    check_parts(who, event, sample, &truth->record);
    return truth->branches;
}

/* ---- The memory ---- */

void precise_check_counts(unsigned number, struct upmu_record_counts counts, bool all)
{
    const struct precise_memory *at = &host.cpu[number].precise;
    bool named = precise_format() >= 3; /* each record says whose it is */
    uint64_t sum = (uint64_t)counts.taken + counts.shared + counts.strange;

    TRACE("records: %u taken, %u shared, %u strange of %llu", (unsigned)counts.taken, (unsigned)counts.shared,
          (unsigned)counts.strange, (unsigned long long)at->owed);
    if (!rules_on(RULE_PRECISE) || at->doubtful || host.verdict->figures.faults)
        return;
    if (sum > at->owed || (all && named && (counts.taken != at->owed || sum != counts.taken)))
        rules_fail(RULE_PRECISE, "CPU %u: %u records taken, %u shared and %u strange of %llu", number,
                   (unsigned)counts.taken, (unsigned)counts.shared, (unsigned)counts.strange,
                   (unsigned long long)at->owed);
}

/*
 * IA32_PEBS_ENABLE is written whenever precise events come or leave.  A due event has no sample before its counter
 * overflows, because the hardware stores no record.  If the event leaves within its shortest load, this load begins
 * anew when it comes again, and the sample is later by what was counted, each time.
 */
static void note_load(struct host_event *event)
{
    note_batch_load(event);
    if (event->low >= event->loaded[1] + PRECISE_LATE)
        event->late = 0;
    else if (event->high > event->loaded[0])
        event->late += event->high - event->loaded[0];
    event->loaded[0] = event->low;
    event->loaded[1] = event->high;
}

static void note_loads(unsigned number)
{
    for (unsigned s = 0; s < HOST_SESSIONS; s++)
        for (unsigned k = 0; host.session[s].session && k < host.session[s].sets; k++)
            for (unsigned i = 0; i < host.session[s].set[k].events && rules_is_here(&host.session[s], number); i++)
                note_load(&host.session[s].set[k].event[i]);
}

/* precise.h: IA32_DS_AREA and MSR_PEBS_DATA_CFG are written while memory is lent, and at its end as they were found. */
void precise_write(unsigned number, uint32_t msr, uint64_t value)
{
    const struct precise_memory *at = &host.cpu[number].precise;

    if (msr == 0x3f1)
        note_loads(number);
    if (!precise_is_on() || at->area || at->unsafe || (msr == 0x600 && traces_lent(number)) ||
        (msr != 0x600 && msr != 0x3f2 && msr != 0x3f1))
        return;
    if (msr == 0x3f1 ? value & ~rules_found(number, msr) : value != rules_found(number, msr))
        rules_fail(RULE_WRITE, "CPU %u: a write of %llx to register %x, and no memory for records is lent", number,
                   (unsigned long long)value, (unsigned)msr);
}
