/* SPDX-License-Identifier: MIT */
/*
 * Statuses, counters and refusals in words.
 */
#include "core/why.h"

#include <stdbool.h>
#include <upmu/event.h>

#include "core/backend.h"
#include "core/bits.h"
#include "core/catalog.h"
#include "core/mem.h"
#include "core/text.h"

static const struct {
    uint8_t status;
    char text[31];
} status_texts[] = {
    { UPMU_OK, "no error" },
    { UPMU_ERR_SYNTAX, "not a specification" },
    { UPMU_ERR_NO_SUCH_PMU, "no such PMU" },
    { UPMU_ERR_NO_SUCH_EVENT, "no such event" },
    { UPMU_ERR_NO_SUCH_MASK, "no such unit mask" },
    { UPMU_ERR_NO_SUCH_ATTRIBUTE, "no such attribute" },
    { UPMU_ERR_BAD_VALUE, "value out of range" },
    { UPMU_ERR_CONTRADICTION, "contradicts another setting" },
    { UPMU_ERR_MASK_REQUIRED, "needs a unit mask" },
    { UPMU_ERR_MASKS_EXCLUSIVE, "unit masks exclude each other" },
    { UPMU_ERR_NO_PMU, "no usable PMU" },
    { UPMU_ERR_UNSUPPORTED, "not supported" },
    { UPMU_ERR_PORT, "register access faulted" },
    { UPMU_ERR_DOES_NOT_FIT, "does not fit" },
    { UPMU_ERR_TOO_HARD, "placement search gave up" },
    { UPMU_ERR_CHANGED, "register was changed by others" },
    { UPMU_ERR_LOST_CLAIM, "another CPU took a resource" },
    { UPMU_ERR_VERSION, "header and library differ" },
    { UPMU_ERR_HOOK_MISSING, "hook is missing" },
    { UPMU_ERR_BUSY, "call inside a call" },
    { UPMU_ERR_WRONG_CPU, "wrong CPU" },
    { UPMU_ERR_STATE, "not possible in this state" },
    { UPMU_ERR_NO_SPACE, "out of space" },
    { UPMU_ERR_INVALID, "invalid argument" },
    { UPMU_ERR_COMPILED_OUT, "left out by a build option" },
    { UPMU_ERR_END, "nothing left" },
    { UPMU_ERR_NOT_PERMITTED, "not permitted" },
    { UPMU_ERR_WRONG_PMU, "made for another PMU" },
};

const char *upmu_status_text(enum upmu_status status)
{
    for (unsigned i = 0; i < sizeof status_texts / sizeof status_texts[0]; i++)
        if (status_texts[i].status == (unsigned)status)
            return status_texts[i].text;
    return "unknown status";
}

void upmu_why_clear(struct upmu_why *why)
{
    if (why)
        memset(why, 0, sizeof *why);
}

enum upmu_status upmu_why_refuse(struct upmu_why *why, enum upmu_status status, const struct upmu_pmu *pmu,
                                 const char *text, size_t position, size_t length)
{
    if (!why)
        return status;
    memset(why, 0, sizeof *why);
    why->status = status;
    why->pmu = pmu;
    if (!text)
        return status;
    why->position = (uint16_t)position;
    why->length = (uint16_t)length;
    if (length >= sizeof why->word)
        length = sizeof why->word - 1u;
    memcpy(why->word, text + position, length);
    return status;
}

static void write_counter(struct upmu_text *out, const struct upmu_pmu *pmu, unsigned counter)
{
    unsigned index;

    upmu_text_string(out, pmu->backend->counter_prefix(pmu, counter, &index));
    upmu_text_decimal(out, index);
}

size_t upmu_counter_text(const struct upmu_pmu *pmu, unsigned counter, char *buffer, size_t size)
{
    struct upmu_text out;

    upmu_text_begin(&out, buffer, size);
    write_counter(&out, pmu, counter);
    return upmu_text_end(&out);
}

#if UPMU_WHY_TEXT

/* "PMC0-PMC3, FIXED1": runs of neighbours; "counter 2" where it is one general counter alone. */
static void write_counters(struct upmu_text *out, const struct upmu_why *why, bool alone)
{
    uint32_t general = why->pmu ? why->pmu->general : 0;
    bool any = false;

    for (unsigned i = 0; i < UPMU_COUNTERS; i++) {
        unsigned first = i;

        if (!(why->counters >> i & 1u))
            continue;
        if (any)
            upmu_text_string(out, ", ");
        any = true;
        if (!why->pmu || (alone && (general >> i & 1u))) {
            upmu_text_string(out, "counter ");
            upmu_text_decimal(out, i);
            continue;
        }
        write_counter(out, why->pmu, i);
        while (i < 31 && (why->counters >> (i + 1u) & 1u) && ((general >> i ^ general >> (i + 1u)) & 1u) == 0)
            i++;
        if (i > first) {
            upmu_text_char(out, '-');
            write_counter(out, why->pmu, i);
        }
    }
}

static void write_event(struct upmu_text *out, const struct upmu_pmu *pmu, struct upmu_event_id id)
{
    size_t left;
    char *room = upmu_text_room(out, &left);
    size_t length = pmu ? upmu_event_name(pmu, id, room, left) : 0;

    if (length)
        upmu_text_skip(out, length);
    else
        upmu_text_string(out, id.catalogue ? "an event" : "a raw event");
}

/* "A, B, C", the last two joined by `last`. */
static void write_culprits(struct upmu_text *out, const struct upmu_why *why, const char *last)
{
    unsigned total = upmu_bits_count(why->culprits);

    for (unsigned i = 0; i < why->culprit_count; i++) {
        if (i)
            upmu_text_string(out, i + 1u == total ? last : ", ");
        write_event(out, why->pmu, why->culprit[i]);
    }
    if (total > why->culprit_count)
        upmu_text_string(out, ", ...");
}

static void write_shortage(struct upmu_text *out, const struct upmu_why *why, unsigned events)
{
    upmu_text_decimal(out, events);
    upmu_text_string(out, events == 1 ? " event for " : " events for ");
    upmu_text_decimal(out, upmu_bits_count(why->counters));
    upmu_text_string(out, why->collision == UPMU_COLLISION_LIMIT ? " usable counters" : " counters");
    if (why->counters) {
        upmu_text_string(out, " (");
        write_counters(out, why, false);
        upmu_text_char(out, ')');
    }
    upmu_text_string(out, ": ");
    write_culprits(out, why, ", ");
}

/* `A and B both need counter 2`, `… need OFFCORE_RSP_0 with different values` */
static void write_collision(struct upmu_text *out, const struct upmu_why *why)
{
    unsigned events = upmu_bits_count(why->culprits);
    bool resource = why->collision == UPMU_COLLISION_RESOURCE;
    bool claimed = why->collision == UPMU_COLLISION_CLAIMED;
    bool one = why->collision == UPMU_COLLISION_COUNTERS && upmu_bits_count(why->counters) == 1 && events > 1;

    if (!resource && !claimed && !one) {
        write_shortage(out, why, events);
        return;
    }
    write_culprits(out, why, " and ");
    upmu_text_string(out, events == 1 ? " needs " : !one ? " need " : events == 2 ? " both need " : " all need ");
    if (!resource && why->counters)
        write_counters(out, why, one);
    else
        upmu_text_string(out, why->pmu ? why->pmu->backend->resource_name(why->pmu, why->resource) : "one register");
    if (resource)
        upmu_text_string(out, events == 1 ? ", which holds another value" : " with different values");
    else if (claimed)
        upmu_text_string(out, ", in use by others");
}

/* The name that looked alike, as it is written: it may be another name of the event. */
static void write_nearest(struct upmu_text *out, const struct upmu_why *why)
{
#if UPMU_NAMES
    char name[UPMU_CATALOG_NAME];
    struct upmu_event_id id;

    if (why->pmu && why->pmu->catalog &&
        upmu_catalog_nearest_name(why->pmu->catalog, why->word, upmu_text_length(why->word), &id, name) &&
        memcmp(&id, &why->nearest, sizeof id) == 0) {
        upmu_text_string(out, name);
        return;
    }
#endif
    write_event(out, why->pmu, why->nearest);
}

/* `"brnch-misses": no such event on skl; nearest: branch-misses` */
static void write_word(struct upmu_text *out, const struct upmu_why *why)
{
    if (why->length) {
        upmu_text_char(out, '"');
        upmu_text_string(out, why->word);
        upmu_text_string(out, why->length >= UPMU_WHY_WORD ? "...\": " : "\": ");
    }
    upmu_text_string(out, why->status == UPMU_ERR_DOES_NOT_FIT ? "no counter can count this"
                                                               : upmu_status_text(why->status));
    if (why->status == UPMU_ERR_SYNTAX || (why->status == UPMU_ERR_NO_SPACE && why->position)) {
        upmu_text_string(out, ", at byte ");
        upmu_text_decimal(out, why->position);
    }
    if (why->pmu && why->status != UPMU_ERR_BAD_VALUE && why->status != UPMU_ERR_CONTRADICTION) {
        upmu_text_string(out, " on ");
        upmu_text_string(out, why->pmu->name);
    }
    if (why->nearest.catalogue) {
        upmu_text_string(out, "; nearest: ");
        write_nearest(out, why);
    }
    if (why->address) {
        upmu_text_string(out, ": register ");
        upmu_text_hex(out, why->address);
    }
}

size_t upmu_why_text(const struct upmu_why *why, char *buffer, size_t size)
{
    struct upmu_text out;

    upmu_text_begin(&out, buffer, size);
    if (why->culprits && why->collision != UPMU_COLLISION_NONE)
        write_collision(&out, why);
    else
        write_word(&out, why);
    return upmu_text_end(&out);
}

#else

size_t upmu_why_text(const struct upmu_why *why, char *buffer, size_t size)
{
    struct upmu_text out;

    upmu_text_begin(&out, buffer, size);
    upmu_text_string(&out, upmu_status_text(why->status));
    return upmu_text_end(&out);
}

#endif
