/* SPDX-License-Identifier: MIT */
/*
 * Report an overflow of a session's events (include/upmu/format.h): in the session's ring, which is the default format,
 * or by a call of the host's format that the session has.
 */
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/hw/port_call.h"
#include "core/engine/program.h"
#include "core/engine/session_core.h"
#include "core/sample/branch_samples.h"
#include "core/sample/format_core.h"
#include "core/sample/message_core.h"
#include "core/sample/ring.h"

#if UPMU_SAMPLING

/* A flag beside the UPMU_OVERFLOW_ bits of a format's answer: a record found no room in the ring. */
#define LOST 0x80000000u

static bool put_record(const struct upmu_overflow *overflow, uint32_t events, const struct upmu_kept *sampling)
{
    return !overflow->session->ring.buffer || upmu_ring_put(overflow, events, sampling);
}

#if UPMU_FORMATS

uint64_t upmu_overflow_value(const struct upmu_overflow *overflow, unsigned event)
{
    return event < overflow->set->count ? overflow->set->tally[event].total : 0;
}

uint64_t upmu_overflow_event_id(const struct upmu_overflow *overflow)
{
    return overflow->set->sampling[overflow->event].event_id;
}

/*
 * Store the return addresses of the interrupted code's callers, innermost first, by walking its frame pointers, and
 * return how many: 0 if the frame is not known or the session has no upmu_callers. Stacks grow downward, so each next
 * frame pointer must be higher: otherwise the walk ends.
 */
unsigned upmu_overflow_callers(const struct upmu_overflow *overflow, uint64_t *out_callers, unsigned capacity)
{
    const struct upmu_callers *callers = overflow->session->callers;
    uint64_t fp = overflow->frame ? overflow->frame->fp : 0, next, back;
    unsigned found = 0;

    if (!UPMU_CALLERS || !callers)
        return 0;
    if (capacity > callers->depth)
        capacity = callers->depth;
    while (fp && found < capacity && callers_read(callers, overflow, fp, &next, &back) && back) {
        out_callers[found++] = back;
        if (next <= fp)
            break;
        fp = next;
    }
    return found;
}

/*
 * Does an event ask for parts of precise samples, or its session for branches?  Then each of its samples has a record
 * of its own.
 */
static inline bool has_parts(const struct upmu_overflow *overflow, const struct upmu_kept *sampling)
{
#if UPMU_PRECISE
    return sampling->parts || upmu_session_wants_branches(overflow->session);
#else
    (void)overflow, (void)sampling;
    return false;
#endif
}

/* Store the record of one event, which has an extension. */
static bool put_extended(const struct upmu_overflow *overflow, const struct upmu_kept *sampling)
{
#if UPMU_PRECISE
    if (has_parts(overflow, sampling) && overflow->session->ring.buffer)
        return upmu_ring_put_parts(overflow, sampling);
#endif
    return put_record(overflow, UPMU_BIT32(overflow->event), sampling);
}

/*
 * Report the overflow of one event, overflow->event, to the session's format, one of the host's, or in a record of its
 * own. *answer receives the format's answer, and LOST. Returns false if the event is plain: the session has no format,
 * and the event's record has no extension. All plain events of an overflow share one record.
 */
static bool report_alone(const struct upmu_overflow *overflow, const struct upmu_kept *sampling, unsigned *answer)
{
    const struct upmu_session *session = overflow->session;

    if (session->format) {
        *answer |= format_overflow(session, overflow, overflow->set->tally[overflow->event].notifies) & ~LOST;
        return true;
    }
    if (!sampling->values && !sampling->event_id && !has_parts(overflow, sampling) &&
        !(UPMU_CALLERS && session->callers))
        return false;
    if (!put_extended(overflow, sampling))
        *answer |= LOST;
#if UPMU_CALLERS
    else if (session->callers && session->ring.buffer)
        upmu_ring_end(&overflow->session->ring,
                      upmu_overflow_callers(overflow, upmu_ring_callers(&session->ring), session->callers->depth));
#endif
    return true;
}

#else

static bool report_alone(const struct upmu_overflow *overflow, const struct upmu_kept *sampling, unsigned *answer)
{
    (void)overflow;
    (void)sampling;
    (void)answer;
    return false;
}

#endif

/*
 * Store the record that the events of `plain` share, and send a message if `answer`, the answers of all events, asks
 * for one. Returns `answer` with what this adds: LOST, and UPMU_OVERFLOW_MASK if a full ring or queue masks the
 * session.
 */
static UPMU_APART unsigned report_plain(struct upmu_overflow *overflow, uint32_t plain, unsigned answer)
{
    if (plain && !put_record(overflow, plain, NULL))
        answer |= LOST;
    if ((answer & LOST) && overflow->session->mask_on_full)
        answer |= UPMU_OVERFLOW_MASK;
    if ((answer & UPMU_OVERFLOW_NOTIFY) && !upmu_message_put(overflow))
        answer |= UPMU_OVERFLOW_MASK;
    return answer;
}

/*
 * Report the events that are not plain (see report_alone()), one by one. Returns the OR of the answers of all events in
 * bits 31:0, and in bits 63:32 the plain events (bit 32 + n: event n). The function is not inlined and returns one
 * value, because the handler's stack is short.
 */
static UPMU_APART uint64_t report_each(struct upmu_overflow *overflow)
{
    const struct upmu_session *session = overflow->session;
    uint32_t plain = overflow->events;
    unsigned answer = 0;

    for (uint32_t rest = plain; rest && (UPMU_FORMATS || UPMU_MESSAGES); rest &= rest - 1u) {
        unsigned event = upmu_bits_lowest(rest);
        const struct upmu_kept *sampling = &overflow->set->sampling[event];

        overflow->event = (uint8_t)event;
        if (report_alone(overflow, sampling, &answer))
            plain &= ~UPMU_BIT32(event);
        if (!(UPMU_FORMATS && session->format) && overflow->set->tally[event].notifies)
            answer |= UPMU_OVERFLOW_NOTIFY | UPMU_OVERFLOW_MASK;
    }
    return (uint64_t)plain << 32 | answer;
}

unsigned upmu_format_report(struct upmu_overflow *overflow)
{
    const struct upmu_program *program = &overflow->set->program;
    bool all_plain = UPMU_THREADS && !overflow->session->format && program->placement &&
                     !(UPMU_CALLERS && overflow->session->callers) && !(program->flags & UPMU_PROGRAM_RECORDS);
    uint64_t each = all_plain ? (uint64_t)overflow->events << 32 : report_each(overflow);

    return report_plain(overflow, (uint32_t)(each >> 32), (uint32_t)each);
}

#endif

#if UPMU_FORMATS

bool upmu_format_stays_masked(struct upmu_session *session)
{
    return session->format && (format_restart(session) & UPMU_OVERFLOW_MASK);
}

void upmu_format_end(struct upmu_session *session)
{
    if (session->format && session->format->end)
        format_end(session);
    session->format = NULL;
}

static bool same_name(const char *one, const char *two)
{
    while (*one && *one == *two) {
        one++;
        two++;
    }
    return *one == *two;
}

static const struct upmu_format default_format = {"default", NULL, NULL, NULL, NULL};

const struct upmu_format *upmu_format_by_name(const struct upmu_format *const *formats, const char *name)
{
    for (; formats && *formats; formats++)
        if (same_name((*formats)->name, name))
            return *formats;
    return same_name(default_format.name, name) ? &default_format : NULL;
}

enum upmu_status upmu_session_format(struct upmu_session *session, const struct upmu_format *format,
                                     const void *argument, size_t bytes)
{
    enum upmu_status status = UPMU_OK;
    void *state = NULL;

    if (format == &default_format)
        format = NULL;
    if (session->state != UPMU_SESSION_DETACHED)
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    if (format && format->begin)
        status = format_begin(session, format, argument, bytes, &state);
    else if (bytes)
        status = UPMU_ERR_INVALID;
    if (status != UPMU_OK)
        return upmu_session_refuse(session, status);
    upmu_format_end(session);
    session->format = format;
    session->format_state = state;
    return UPMU_OK;
}

enum upmu_status upmu_session_callers(struct upmu_session *session, const struct upmu_callers *callers)
{
    if (session->state != UPMU_SESSION_DETACHED)
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    if (!UPMU_CALLERS)
        return upmu_session_refuse(session, UPMU_ERR_COMPILED_OUT);
    if (callers && (!callers->read || callers->depth < 1 || callers->depth > UPMU_CALLERS_DEPTH))
        return upmu_session_refuse(session, UPMU_ERR_INVALID);
    session->callers = callers;
    return UPMU_OK;
}

#else

enum upmu_status upmu_session_callers(struct upmu_session *session, const struct upmu_callers *callers)
{
    (void)callers;
    return upmu_session_refuse(session, UPMU_ERR_COMPILED_OUT);
}

bool upmu_format_stays_masked(struct upmu_session *session)
{
    (void)session;
    return false;
}

void upmu_format_end(struct upmu_session *session)
{
    (void)session;
}

const struct upmu_format *upmu_format_by_name(const struct upmu_format *const *formats, const char *name)
{
    (void)formats;
    (void)name;
    return NULL;
}

enum upmu_status upmu_session_format(struct upmu_session *session, const struct upmu_format *format,
                                     const void *argument, size_t bytes)
{
    (void)format;
    (void)argument;
    (void)bytes;
    return upmu_session_refuse(session, UPMU_ERR_COMPILED_OUT);
}

uint64_t upmu_overflow_value(const struct upmu_overflow *overflow, unsigned event)
{
    (void)overflow;
    (void)event;
    return 0;
}

uint64_t upmu_overflow_event_id(const struct upmu_overflow *overflow)
{
    (void)overflow;
    return 0;
}

unsigned upmu_overflow_callers(const struct upmu_overflow *overflow, uint64_t *out_callers, unsigned capacity)
{
    (void)overflow;
    (void)out_callers;
    (void)capacity;
    return 0;
}

#endif
