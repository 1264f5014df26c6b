/* SPDX-License-Identifier: MIT */
/*
 * Samples. Sessions of events that sample have a format of this layer, which writes each overflow into the ring of its
 * event, in the interrupt handler.
 */
#include "abi/perf/perf_core.h"
#include <upmu/abi.h>
#include <upmu/branches.h>
#include <upmu/precise.h>
#include <upmu/session.h>
#include <upmu/set.h>

/* Bits of sample_type whose part of a sample is always one word. */
#define ONE_WORD                                                                                                       \
    (UPMU_PERF_SAMPLE_IP | UPMU_PERF_SAMPLE_TID | UPMU_PERF_SAMPLE_TIME | UPMU_PERF_SAMPLE_ADDR |                      \
     UPMU_PERF_SAMPLE_ID | UPMU_PERF_SAMPLE_CPU | UPMU_PERF_SAMPLE_PERIOD | UPMU_PERF_SAMPLE_STREAM_ID |               \
     UPMU_PERF_SAMPLE_WEIGHT | UPMU_PERF_SAMPLE_DATA_SRC | UPMU_PERF_SAMPLE_IDENTIFIER |                               \
     UPMU_PERF_SAMPLE_TRANSACTION | UPMU_PERF_SAMPLE_WEIGHT_STRUCT | UPMU_PERF_SAMPLE_RAW)

/* RAW where an event has no raw data: the size, and as many bytes of 0 (perf_event_open(2)). */
#define NO_RAW UINT64_C(4)

/* The word of DATA_SRC where nothing is known of an access: each of its parts says so (perf_event_open(2)). */
#define NO_DATA_SRC UINT64_C(0x1e05080021)

/* ---- Sampling attributes ---- */

/* Can an event sample without an interrupt: counts of notes by the notes, others by ticks? */
static bool polled_samples(const struct upmu_perf *perf, const struct upmu_perf_attr *attr)
{
    bool is_software = attr->type == UPMU_PERF_TYPE_SOFTWARE;

    if (is_software && attr->config > UPMU_PERF_TASK_CLOCK)
        return attr->config == UPMU_PERF_SWITCHES || perf->frames_of_notes;
    return perf->tick_rate;
}

int upmu_perf_sample_check(const struct upmu_perf *perf, const struct upmu_perf_attr *attr)
{
    const uint64_t known = ONE_WORD | UPMU_PERF_SAMPLE_READ | UPMU_PERF_SAMPLE_CALLCHAIN | UPMU_PERF_SAMPLE_REGS_USER |
                           UPMU_PERF_SAMPLE_STACK_USER | UPMU_PERF_SAMPLE_REGS_INTR;

    if (!attr->sample_period)
        return 0;
    if (attr->type == UPMU_PERF_TYPE_SOFTWARE && attr->config >= UPMU_PERF_ALIGNMENT_FAULTS)
        return 0; /* these never happen */
    if ((attr->type == UPMU_PERF_TYPE_SOFTWARE || !upmu_machine_has_pmi(perf->machine)) && !polled_samples(perf, attr))
        return -UPMU_PERF_EOPNOTSUPP;
    /* The signal must reach the program before its next instruction, with the event's sig_data: no hook does that. */
    if (attr->flags & UPMU_PERF_SIGTRAP)
        return -UPMU_PERF_EOPNOTSUPP;
    if (attr->sample_type & ~(known | (upmu_machine_has_pmi(perf->machine) ? UPMU_PERF_SAMPLE_BRANCH_STACK : 0)) ||
        upmu_perf_state_check(perf, attr))
        return -UPMU_PERF_EOPNOTSUPP;
    if (attr->sample_type & UPMU_PERF_SAMPLE_READ &&
        attr->read_format & (UPMU_PERF_READ_ENABLED | UPMU_PERF_READ_RUNNING))
        return -UPMU_PERF_EOPNOTSUPP;
    return attr->flags & UPMU_PERF_USE_CLOCKID && attr->clockid != UPMU_PERF_MONOTONIC && !perf->clock_of
               ? -UPMU_PERF_EOPNOTSUPP
               : 0;
}

uint64_t upmu_perf_sample_period(const struct upmu_perf_event *event, uint64_t period)
{
    const struct upmu_pmu *pmu = upmu_machine_pmu(event->perf->machine, event->event.pmu);

    uint64_t least;

    if (!period || event->attr.flags & UPMU_PERF_FREQ || upmu_perf_is_software(event))
        return period;
    least = pmu->min_period;
#if UPMU_PRECISE
    if (event->attr.flags & UPMU_PERF_PRECISE && (event->event.counters & pmu->record_long) &&
        least >> pmu->record_least_log2 == 0)
        least = UINT64_C(1) << pmu->record_least_log2;
#endif
    return period < least ? least : period;
}

bool upmu_perf_samples(const struct upmu_perf_event *event)
{
    return event->attr.period && !upmu_perf_is_polled(event);
}

/* Does a sample of the event have the counts of its whole group? */
static bool reads_group(const struct upmu_perf_event *event)
{
    return event->attr.sample_type & UPMU_PERF_SAMPLE_READ && event->attr.read_format & UPMU_PERF_READ_GROUP;
}

/* Return the bits of upmu_sampling.flags that ask for what a sample is to have of a precise event's record. */
static uint32_t parts_wanted(const struct upmu_perf_event *event)
{
#if UPMU_PRECISE
    const uint32_t type = event->attr.sample_type;
    unsigned parts = 0;

    if (!(event->attr.flags & UPMU_PERF_PRECISE))
        return 0;
    parts |= type & UPMU_PERF_SAMPLE_ADDR ? UPMU_PART_ADDRESS : 0;
    parts |= type & UPMU_PERF_SAMPLE_DATA_SRC ? UPMU_PART_SOURCE : 0;
    parts |= type & UPMU_PERF_SAMPLE_WEIGHT ? UPMU_PART_WEIGHT : 0;
    parts |= type & UPMU_PERF_SAMPLE_WEIGHT_STRUCT ? UPMU_PART_WEIGHT | UPMU_PART_RETIRE : 0;
    parts |= type & UPMU_PERF_SAMPLE_REGS_INTR ? UPMU_PART_REGISTERS : 0;
    return UPMU_SAMPLING_PARTS(parts);
#else
    (void)event;
    return 0;
#endif
}

enum upmu_status upmu_perf_sample_add(struct upmu_session *session, struct upmu_perf_event *event, unsigned events)
{
    struct upmu_sampling sampling = {.event_id = (uintptr_t)event};
    enum upmu_status status;

    if (!upmu_perf_samples(event))
        return upmu_set_add_event(&session->set, &event->event, NULL);
    if (event->attr.flags & UPMU_PERF_FREQ)
        sampling.frequency = (uint32_t)event->attr.period;
    else
        sampling.period = event->attr.period;
    if (UPMU_PRECISE)
        sampling.flags = parts_wanted(event);
    if (reads_group(event))
        sampling.values = (1u << events) - 1u;
    status = upmu_set_add_event(&session->set, &event->event, &sampling);
    if (status == UPMU_OK && event->rest.left)
        status = upmu_set_wait(&session->set, session->set.count - 1u, event->rest.left, event->rest.period);
    return status;
}

void upmu_perf_sample_stop(struct upmu_perf_event *event, const struct upmu_count *count)
{
    if (!upmu_perf_samples(event))
        return;
    if (count->reset != event->rest.left) /* else the rest with which the session began has not ended yet */
        event->rest.period = count->reset;
    event->rest.left = count->left;
    event->rest.reached -= count->raw;
}

/* ---- A sample ---- */

static unsigned words_of_read(const struct upmu_perf_event *event)
{
    return (unsigned)(upmu_perf_read_bytes(event->attr.read_format, upmu_perf_group_size(event->leader)) / 8u);
}

/* Return the count of an event, of an overflow's session or not, at this moment. `sampled`: the event of the sample. */
static uint64_t value_now(const struct upmu_overflow *overflow, const struct upmu_perf_event *event,
                          const struct upmu_perf_event *sampled)
{
    struct upmu_perf_sum sum = event->stopped;

    if (event->index == UPMU_PERF_NO_INDEX)
        upmu_perf_soft_count(event, &sum);
    else if (overflow->set)
        return event->stopped.value + upmu_overflow_value(overflow, event->index);
    else if (event == sampled)
        return event->rest.reached; /* the count, for which a tick takes this sample */
    else
        (void)upmu_perf_count_here(event, &sum);
    return sum.value;
}

static void put_value(struct upmu_perf_record *record, const struct upmu_overflow *overflow,
                      const struct upmu_perf_event *event, const struct upmu_perf_event *sampled)
{
    const struct upmu_perf_event *opened = upmu_perf_opened(event);
    uint64_t format = sampled->attr.read_format;

    upmu_perf_record_word(record, value_now(overflow, event, sampled));
    if (format & UPMU_PERF_READ_ID)
        upmu_perf_record_word(record, opened->id);
    if (format & UPMU_PERF_READ_LOST)
        upmu_perf_record_word(record, __atomic_load_n(&opened->lost, __ATOMIC_RELAXED));
}

static void put_read(struct upmu_perf_record *record, const struct upmu_overflow *overflow,
                     const struct upmu_perf_event *sampled)
{
    if (!(sampled->attr.read_format & UPMU_PERF_READ_GROUP)) {
        put_value(record, overflow, sampled, sampled);
        return;
    }
    upmu_perf_record_word(record, upmu_perf_group_size(sampled->leader));
    for (const struct upmu_perf_event *event = sampled->leader; event; event = upmu_perf_group_next(event))
        put_value(record, overflow, event, sampled);
}

/* Find the callers of code that a tick interrupted, as upmu_overflow_callers() does for an overflow. */
static unsigned callers_of_tick(const struct upmu_callers *callers, const struct upmu_frame *frame,
                                uint64_t *out_callers, unsigned capacity)
{
    uint64_t fp = callers && frame ? frame->fp : 0, next, back;
    unsigned found = 0;

    while (fp && found < capacity && found < callers->depth &&
           callers->read(callers->context, fp, frame->user, &next, &back) && back) {
        out_callers[found++] = back;
        if (next <= fp)
            break;
        fp = next;
    }
    return found;
}

/*
 * Find the callers of the interrupted code, for the CPU's array. Returns the words of the chain: the mode, the
 * interrupted instruction and its callers; 0: the event excludes chains of this mode.
 */
static unsigned chain_find(const struct upmu_overflow *overflow, const struct upmu_perf_event *event, uint64_t *callers)
{
    bool user = overflow->flags & UPMU_SAMPLE_USER;

    if (event->attr.flags & (user ? UPMU_PERF_EXCLUDE_CALLERS_USER : UPMU_PERF_EXCLUDE_CALLERS_KERNEL))
        return 0;
    if (!overflow->set)
        return 2u + callers_of_tick(event->perf->callers, overflow->frame, callers, event->attr.callers - 1u);
    return 2u + upmu_overflow_callers(overflow, callers, event->attr.callers - 1u);
}

static void put_chain(struct upmu_perf_record *record, const struct upmu_overflow *overflow, const uint64_t *callers,
                      unsigned words)
{
    upmu_perf_record_word(record, words);
    if (!words)
        return;
    upmu_perf_record_word(record,
                          overflow->flags & UPMU_SAMPLE_USER ? UPMU_PERF_CONTEXT_USER : UPMU_PERF_CONTEXT_KERNEL);
    upmu_perf_record_word(record, overflow->ip);
    for (unsigned i = 2; i < words; i++)
        upmu_perf_record_word(record, callers[i - 2]);
}

/* ---- Branches ---- */

static unsigned branches_in(const struct upmu_overflow *overflow)
{
#if UPMU_BRANCH_SAMPLES
    return overflow->branches;
#else
    (void)overflow;
    return 0;
#endif
}

/* Write the number of branches, and three words for each. */
static void put_branches(struct upmu_perf_record *record, const struct upmu_overflow *overflow)
{
    upmu_perf_record_word(record, branches_in(overflow));
#if UPMU_BRANCH_SAMPLES
    for (unsigned i = 0; i < overflow->branches; i++) {
        upmu_perf_record_word(record, overflow->branch[i].from);
        upmu_perf_record_word(record, overflow->branch[i].to);
        upmu_perf_record_word(record, upmu_branch_flags(overflow->branch[i].info));
    }
#endif
}

/* ---- What the record of a precise event says; of an ordinary one nothing is known ---- */

/* A sample that no overflow takes has the address of its note as `sp`: the stack pointer is in its frame. */
static uint64_t sampled_address(const struct upmu_overflow *overflow)
{
    if (!overflow->set)
        return overflow->sp;
#if UPMU_PRECISE
    if (overflow->flags & UPMU_SAMPLE_PRECISE && overflow->parts & UPMU_PART_ADDRESS)
        return overflow->address;
#endif
    return 0;
}

/* WEIGHT is the latency of the access; WEIGHT_STRUCT (`apart`) has the others in bits 63:32. */
static uint64_t sampled_weight(const struct upmu_overflow *overflow, bool apart)
{
#if UPMU_PRECISE
    uint64_t latencies = upmu_overflow_latencies(overflow);

    return apart ? latencies : (uint32_t)latencies;
#else
    (void)overflow, (void)apart;
    return 0;
#endif
}

static uint64_t sampled_source(const struct upmu_overflow *overflow)
{
#if UPMU_PRECISE
    if (overflow->flags & UPMU_SAMPLE_PRECISE && overflow->parts & UPMU_PART_SOURCE)
        return upmu_overflow_data_src(overflow);
#else
    (void)overflow;
#endif
    return NO_DATA_SRC;
}

static uint32_t sampled_exact(const struct upmu_overflow *overflow)
{
    return UPMU_PRECISE && overflow->flags & UPMU_SAMPLE_EXACT ? UPMU_PERF_MISC_EXACT_IP : 0;
}

/* Write the parts of a sample that are one word each and stand before the counts. */
static void put_words(struct upmu_perf_record *record, const struct upmu_overflow *overflow, uint64_t period)
{
    const struct upmu_perf_event *event = record->event;
    uint64_t parts = event->attr.sample_type;

    if (parts & UPMU_PERF_SAMPLE_IDENTIFIER)
        upmu_perf_record_word(record, event->id);
    if (parts & UPMU_PERF_SAMPLE_IP)
        upmu_perf_record_word(record, overflow->ip);
    if (parts & UPMU_PERF_SAMPLE_TID)
        upmu_perf_record_word(record, record->origin.task);
    if (parts & UPMU_PERF_SAMPLE_TIME)
        upmu_perf_record_word(record, upmu_perf_record_time(record));
    if (parts & UPMU_PERF_SAMPLE_ADDR)
        upmu_perf_record_word(record, sampled_address(overflow));
    if (parts & UPMU_PERF_SAMPLE_ID)
        upmu_perf_record_word(record, event->id);
    if (parts & UPMU_PERF_SAMPLE_STREAM_ID)
        upmu_perf_record_word(record, event->id);
    if (parts & UPMU_PERF_SAMPLE_CPU)
        upmu_perf_record_word(record, record->origin.cpu);
    if (parts & UPMU_PERF_SAMPLE_PERIOD)
        upmu_perf_record_word(record, period);
}

/* Write the parts of a sample that tell of an access to memory: only of precise events is anything known. */
static void put_access(struct upmu_perf_record *record, const struct upmu_overflow *overflow)
{
    uint64_t parts = record->event->attr.sample_type;

    if (parts & (UPMU_PERF_SAMPLE_WEIGHT | UPMU_PERF_SAMPLE_WEIGHT_STRUCT))
        upmu_perf_record_word(record, sampled_weight(overflow, parts & UPMU_PERF_SAMPLE_WEIGHT_STRUCT));
    if (parts & UPMU_PERF_SAMPLE_DATA_SRC)
        upmu_perf_record_word(record, sampled_source(overflow));
    if (parts & UPMU_PERF_SAMPLE_TRANSACTION)
        upmu_perf_record_word(record, 0);
}

static uint32_t mode_of(const struct upmu_overflow *overflow)
{
    if (overflow->flags & UPMU_SAMPLE_NO_FRAME && !(UPMU_PRECISE && overflow->flags & UPMU_SAMPLE_PRECISE))
        return 0;
    return sampled_exact(overflow) | (overflow->flags & UPMU_SAMPLE_USER ? UPMU_PERF_MISC_USER : UPMU_PERF_MISC_KERNEL);
}

void upmu_perf_sample_write(const struct upmu_perf_event *event, const struct upmu_overflow *overflow, uint64_t period)
{
    struct upmu_perf_record record = {.event = upmu_perf_opened(event)};
    struct upmu_perf_state state;
    uint64_t parts = event->attr.sample_type, *callers;
    unsigned words = 0, chain = 0;

    upmu_perf_origin_find(event, overflow->time_ns, &record.origin);
    callers = event->perf->cpus[record.origin.cpu].callers;
    for (uint64_t rest = parts & ONE_WORD; rest; rest &= rest - 1u)
        words++;
    if (parts & UPMU_PERF_SAMPLE_READ)
        words += words_of_read(event);
    if (parts & UPMU_PERF_SAMPLE_CALLCHAIN) {
        chain = chain_find(overflow, event, callers);
        words += 1u + chain;
    }
    if (parts & UPMU_PERF_SAMPLE_BRANCH_STACK)
        words += 1u + 3u * branches_in(overflow);
#if UPMU_PRECISE
    state.precise = overflow->flags & UPMU_SAMPLE_PRECISE ? overflow : NULL;
#endif
    words += upmu_perf_state_find(event, overflow->frame, words, &state);
    if (!upmu_perf_record_begin(&record, UPMU_PERF_RECORD_SAMPLE, mode_of(overflow), words))
        return;
    put_words(&record, overflow, period);
    if (parts & UPMU_PERF_SAMPLE_READ)
        put_read(&record, overflow, event);
    if (parts & UPMU_PERF_SAMPLE_CALLCHAIN)
        put_chain(&record, overflow, callers, chain);
    if (parts & UPMU_PERF_SAMPLE_RAW)
        upmu_perf_record_word(&record, NO_RAW);
    if (parts & UPMU_PERF_SAMPLE_BRANCH_STACK)
        put_branches(&record, overflow);
    upmu_perf_state_user(&record, &state);
    put_access(&record, overflow);
    upmu_perf_state_interrupted(&record, &state);
    upmu_perf_record_end(&record, UPMU_PERF_RECORD_SAMPLE);
}

/* Return how many events a sample stands for: with a frequency, those since the last sample. */
static uint64_t period_ended(const struct upmu_overflow *overflow, struct upmu_perf_event *event)
{
    uint64_t value, period;

    if (!(event->attr.flags & UPMU_PERF_FREQ))
        return event->attr.period;
    value = upmu_overflow_value(overflow, overflow->event);
    period = value - event->rest.reached;
    event->rest.reached = value;
    return period;
}

/* Disable an event with the last overflow that REFRESH has allowed. Returns true: its session is to stop. */
static bool limit_ends(struct upmu_perf_event *event)
{
    if (!__atomic_load_n(&event->limit, __ATOMIC_RELAXED) || __atomic_sub_fetch(&event->limit, 1u, __ATOMIC_RELAXED))
        return false;
    event->enabled = false;
    return true;
}

bool upmu_perf_sample_told(struct upmu_perf_event *event)
{
    const struct upmu_perf *perf = event->perf;
    bool ends = limit_ends(event);

    if (perf->wake)
        perf->wake(perf->context, upmu_perf_opened(event), UPMU_PERF_WAKE_OVERFLOW | (ends ? UPMU_PERF_WAKE_LIMIT : 0));
    return ends;
}

static unsigned take_sample(void *state, const struct upmu_overflow *overflow, bool notify)
{
    struct upmu_perf_event *event = (struct upmu_perf_event *)(uintptr_t)upmu_overflow_event_id(overflow);

    (void)state;
    (void)notify;
    if (upmu_perf_throttles(event, overflow->time_ns))
        return 0;
    upmu_perf_sample_write(event, overflow, period_ended(overflow, event));
    return upmu_perf_sample_told(event) ? UPMU_OVERFLOW_MASK : 0;
}

static const struct upmu_format sample_format = {.name = "perf", .overflow = take_sample};

enum upmu_status upmu_perf_sample_begin(struct upmu_session *session, const struct upmu_perf_event *first)
{
    const struct upmu_perf *perf = first->perf;
    bool samples = false, hides = false, has_chains = false;
    uint32_t branches = 0;
    enum upmu_status status;

    for (; first; first = first->next) {
        samples |= upmu_perf_samples(first);
        hides |= first->hides;
        has_chains |= first->attr.sample_type & UPMU_PERF_SAMPLE_CALLCHAIN;
        branches |= UPMU_PERF_KEPT_BRANCHES(first->attr.flags); /* events of a group want the same, or none */
    }
    if (!samples)
        return UPMU_OK;
    upmu_session_hide_kernel(session, hides);
    status = upmu_session_format(session, &sample_format, NULL, 0);
    if (status == UPMU_OK && has_chains && perf->callers)
        status = upmu_session_callers(session, perf->callers);
    if (status == UPMU_OK && branches)
        status = upmu_session_branches(session, branches);
    return status;
}
