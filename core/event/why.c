/* SPDX-License-Identifier: MIT */
/*
 * Write a status, a counter, or a refusal (struct upmu_why) as text.
 */
#include "core/event/why.h"

#include <stdbool.h>
#include <upmu/event.h>

#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/util/shared.h"
#include "core/util/text.h"
#include "core/hw/backend.h"
#include "core/catalog/catalog.h"

static const struct {
    uint8_t status;
    char text[31];
} status_texts[] = {
    {UPMU_OK, "no error"},
    {UPMU_ERR_SYNTAX, "not a specification"},
    {UPMU_ERR_NO_SUCH_PMU, "no such PMU"},
    {UPMU_ERR_NO_SUCH_EVENT, "no such event"},
    {UPMU_ERR_NO_SUCH_MASK, "no such unit mask"},
    {UPMU_ERR_NO_SUCH_ATTRIBUTE, "no such attribute"},
    {UPMU_ERR_BAD_VALUE, "value out of range"},
    {UPMU_ERR_CONTRADICTION, "contradicts another setting"},
    {UPMU_ERR_MASK_REQUIRED, "needs a unit mask"},
    {UPMU_ERR_MASKS_EXCLUSIVE, "unit masks exclude each other"},
    {UPMU_ERR_NO_PMU, "no usable PMU"},
    {UPMU_ERR_UNSUPPORTED, "not supported"},
    {UPMU_ERR_PORT, "register access faulted"},
    {UPMU_ERR_DOES_NOT_FIT, "does not fit"},
    {UPMU_ERR_TOO_HARD, "placement search limit reached"},
    {UPMU_ERR_CHANGED, "register was found changed"},
    {UPMU_ERR_LOST_CLAIM, "another CPU took a resource"},
    {UPMU_ERR_NO_CPU, "no CPU to drive the unit"},
    {UPMU_ERR_NOT_PRECISE, "not precise at this level"},
    {UPMU_ERR_VERSION, "header and library differ"},
    {UPMU_ERR_HOOK_MISSING, "hook is missing"},
    {UPMU_ERR_BUSY, "call inside another call"},
    {UPMU_ERR_WRONG_CPU, "wrong CPU (hook this_cpu)"},
    {UPMU_ERR_STATE, "not possible in this state"},
    {UPMU_ERR_NO_SPACE, "out of space"},
    {UPMU_ERR_INVALID, "invalid argument"},
    {UPMU_ERR_COMPILED_OUT, "left out by a build option"},
    {UPMU_ERR_END, "no further item"},
    {UPMU_ERR_NOT_PERMITTED, "not permitted"},
    {UPMU_ERR_WRONG_PMU, "encoded for another PMU"},
    {UPMU_ERR_NOT_LINKED, "constant tables are not linked"},
    {UPMU_ERR_NOT_PER_THREAD, "event belongs to no thread"},
    {UPMU_ERR_WRITE, "output took no more bytes"},
    {UPMU_ERR_DAMAGED, "not a whole log"},
    {UPMU_ERR_FORMULA, "not a formula"},
    {UPMU_ERR_NO_SUCH_NAME, "no such name"},
    {UPMU_ERR_DIVISION, "division by zero"},
    {UPMU_ERR_NOT_COUNTED, "not counted, or not throughout"},
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
        upmu_shared_clear(why, sizeof *why);
}

enum upmu_status upmu_why_refuse(struct upmu_why *why, enum upmu_status status, const struct upmu_pmu *pmu,
                                 const char *text, size_t position, size_t length)
{
    if (!why)
        return status;
    upmu_shared_clear(why, sizeof *why);
    UPMU_STORE(why->status, status);
    UPMU_STORE(why->pmu, pmu);
    if (!text)
        return status;
    UPMU_STORE(why->position, (uint16_t)position);
    UPMU_STORE(why->length, (uint16_t)length);
    if (length >= sizeof why->word)
        length = sizeof why->word - 1u;
    upmu_shared_copy(why->word, text + position, length);
    return status;
}

enum upmu_status upmu_why_hook(struct upmu_why *why, const char *name)
{
    return upmu_why_refuse(why, UPMU_ERR_HOOK_MISSING, NULL, name, 0, upmu_text_length(name));
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

/* Append the counters of a refusal as ranges; counters of one range are all general or all not: "PMC0-PMC3, FIXED1". */
static void write_counters(struct upmu_text *out, const struct upmu_why *why)
{
    uint32_t general = why->counters & why->pmu->general;
    uint32_t others = why->counters & ~why->pmu->general;
    uint32_t first = (general & ~(general << 1)) | (others & ~(others << 1));
    uint32_t last = (general & ~(general >> 1)) | (others & ~(others >> 1));
    const char *separator = "";

    for (unsigned i = 0; i < UPMU_COUNTERS; i++) {
        if (first >> i & 1u) {
            upmu_text_string(out, separator);
            separator = ", ";
        } else if (last >> i & 1u) {
            upmu_text_char(out, '-');
        } else {
            continue;
        }
        write_counter(out, why->pmu, i);
    }
    if (!why->counters)
        upmu_text_string(out, "none");
}

static void write_event(struct upmu_text *out, const struct upmu_pmu *pmu, struct upmu_event_id id)
{
    char name[UPMU_CATALOG_NAME];

    if (upmu_event_name(pmu, id, name, sizeof name))
        upmu_text_string(out, name);
    else
        upmu_text_string(out, id.catalogue ? "an event" : "a raw event");
}

/* Append the events that a refusal names: "A, B, C", the last two joined by the text `last`. */
static void write_culprits(struct upmu_text *out, const struct upmu_why *why, const char *last)
{
    unsigned left = upmu_bits_count(why->culprits);

    for (unsigned i = 0; i < why->culprit_count; i++) {
        if (i)
            upmu_text_string(out, left == 1 ? last : ", ");
        write_event(out, why->pmu, why->culprit[i]);
        left--;
    }
    if (left)
        upmu_text_string(out, ", ...");
}

/*
 * Texts of a collision: a row for each value of enum upmu_collision, a column each for one, two and more events. The
 * last two rows are for events that all need the same general counter, or the same other counter. These letters in a
 * text are replaced:
 *     A  the events, the last two joined by "and"       L  the events, joined by commas only
 *     N  how many events                                M  how many counters
 *     C  the counters                                   B  the lowest counter's number
 *     R  the resource, or what is claimed
 */
enum { ONE_GENERAL = UPMU_COLLISION_CLAIMED + 1, ONE_OTHER };

static const char *const collision_forms[][3] = {
    [UPMU_COLLISION_COUNTERS] = {"N event for M counters (C): L", "N events for M counters (C): L",
                                 "N events for M counters (C): L"},
    [UPMU_COLLISION_RESOURCE] = {"A needs R, which holds another value", "A need R with different values",
                                 "A need R with different values"},
    [UPMU_COLLISION_LIMIT] = {"N event for M usable counters (C): L", "N events for M usable counters (C): L",
                              "N events for M usable counters (C): L"},
    [UPMU_COLLISION_CLAIMED] = {"A needs R, in use by others", "A need R, in use by others",
                                "A need R, in use by others"},
    [ONE_GENERAL] = {"", "A both need counter B", "A all need counter B"},
    [ONE_OTHER] = {"", "A both need C", "A all need C"},
};

static void write_collision(struct upmu_text *out, const struct upmu_why *why)
{
    unsigned events = upmu_bits_count(why->culprits), counters = upmu_bits_count(why->counters);
    unsigned kind = why->collision;

    if (kind == UPMU_COLLISION_COUNTERS && counters == 1 && events > 1)
        kind = why->counters & why->pmu->general ? ONE_GENERAL : ONE_OTHER;
    for (const char *form = collision_forms[kind][events < 3 ? events - 1u : 2u]; *form; form++)
        switch (*form) {
        case 'A':
        case 'L':
            write_culprits(out, why, *form == 'A' ? " and " : ", ");
            break;
        case 'N':
        case 'M':
        case 'B':
            upmu_text_decimal(out, *form == 'N' ? events : *form == 'M' ? counters : upmu_bits_lowest(why->counters));
            break;
        case 'R':
        case 'C':
            if (*form == 'C' || (kind == UPMU_COLLISION_CLAIMED && counters))
                write_counters(out, why);
            else
                upmu_text_string(out, why->pmu->backend->resource_name(why->pmu, why->resource));
            break;
        default:
            upmu_text_char(out, *form);
        }
}

/* Append the name that is most similar to the refused word, as the catalogue spells it; it may be an event's alias. */
static void write_nearest(struct upmu_text *out, const struct upmu_why *why)
{
#if UPMU_NAMES
    char name[UPMU_CATALOG_NAME];
    struct upmu_event_id id;

    if (upmu_catalog_nearest_name(why->pmu->catalog, why->word, upmu_text_length(why->word), &id, name) &&
        memcmp(&id, &why->nearest, sizeof id) == 0) {
        upmu_text_string(out, name);
        return;
    }
#endif
    write_event(out, why->pmu, why->nearest);
}

/* Append those of the common attributes that the PMU has: `; attributes: u, k, e, i, c`. */
static void write_attributes(struct upmu_text *out, const struct upmu_pmu *pmu)
{
#if UPMU_NAMES
    static const char words[][8] = {"u", "k", "e", "i", "c", "t", "p", "h", "g", "intx", "intxcp", "eq", "ldlat"};
    const char *separator = "; attributes: ";
    const uint64_t one = 1;

    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++) {
        struct upmu_event event = {.attributes = UPMU_ATTR_RAW};

        enum upmu_status status = pmu->backend->attribute(pmu, &event, words[i], upmu_text_length(words[i]), &one);

        if (status == UPMU_ERR_NO_SUCH_ATTRIBUTE || status == UPMU_ERR_NOT_PRECISE)
            continue;
        upmu_text_string(out, separator);
        upmu_text_string(out, words[i]);
        separator = ", ";
    }
#else
    (void)out;
    (void)pmu;
#endif
}

/*
 * Append the levels of precise sampling that are possible: `; possible: precise=1, precise=3`. Bit 0 of why->levels
 * says that only level 0 is possible, because upmu does not drive the PMU's precise records.
 */
static void write_levels(struct upmu_text *out, const struct upmu_why *why)
{
    const char *separator = "; possible: precise=";

    if (why->levels & 1u)
        upmu_text_string(out, UPMU_PRECISE ? " nor another: upmu does not drive this PMU's PEBS"
                                           : " nor another: upmu does not drive PEBS yet");
    for (unsigned level = 0; level <= UPMU_PRECISE_LEVEL(UPMU_ATTR_PRECISE); level++)
        if (why->levels >> level & 1u) {
            upmu_text_string(out, separator);
            upmu_text_decimal(out, level);
            separator = ", precise=";
        }
    if (!why->levels)
        upmu_text_string(out,
                         why->pmu->ibs ? ", nor at another: upmu_ibs_start() samples precisely" : ", nor at another");
}

/*
 * Return the name of a PMU's catalogue if the catalogue is one for this model of PMU: `cwf` is the catalogue of some
 * CPUs with the PMU `dkt`. Otherwise return the name of the PMU.
 */
static const char *pmu_name(const struct upmu_pmu *pmu)
{
#if UPMU_NAMES
    if (pmu->catalog && upmu_text_is(pmu->name, upmu_text_length(pmu->name), upmu_catalog_pmu(pmu->catalog)))
        return upmu_catalog_name(pmu->catalog);
#endif
    return pmu->name;
}

/* Append which type of unit an event is of: `an event of cha, not of skx_unc_imc`. */
static void write_other_unit(struct upmu_text *out, const struct upmu_why *why)
{
    const char *name = NULL;

#if UPMU_NAMES
    if (why->pmu->backend->unit_name)
        name = why->pmu->backend->unit_name(
            upmu_catalog_row_unit(upmu_catalog_of(why->pmu, why->nearest), why->nearest.row));
#endif
    upmu_text_string(out, "an event of ");
    upmu_text_string(out, name ? name : "another unit");
    upmu_text_string(out, ", not of ");
    upmu_text_string(out, why->pmu->name);
}

/*
 * Append the refused word in quotes (if why->length is not 0), the status in words and, as far as known, details:
 * `"brnch-misses": no such event on skl; nearest: branch-misses`.
 */
static void write_word(struct upmu_text *out, const struct upmu_why *why)
{
    if (why->length) {
        upmu_text_char(out, '"');
        /*
         * Bytes that are not printable ASCII become '?': a line of a log stays one line, whatever the refused text is.
         */
        for (const char *at = why->word; *at; at++)
            upmu_text_char(out, *at >= ' ' && *at <= '~' ? *at : '?');
        upmu_text_string(out, &"...\": "[why->length >= UPMU_WHY_WORD ? 0 : 3]);
    }
    if (why->status == UPMU_ERR_WRONG_PMU && why->nearest.catalogue && why->pmu) {
        write_other_unit(out, why);
        return;
    }
    if (why->status == UPMU_ERR_NOT_PER_THREAD && why->pmu) {
        write_event(out, why->pmu, why->culprit[0]);
        upmu_text_string(out, ": ");
    }
    upmu_text_string(out, why->status == UPMU_ERR_DOES_NOT_FIT && !(UPMU_BRANCH_SAMPLES && why->word[0] && !why->length)
                              ? "no counter can count this"
                              : upmu_status_text(why->status));
    if (why->status == UPMU_ERR_SYNTAX || why->status == UPMU_ERR_FORMULA ||
        (why->status == UPMU_ERR_NO_SPACE && why->position)) {
        upmu_text_string(out, ", at byte ");
        upmu_text_decimal(out, why->position);
    }
    if (why->pmu && why->status != UPMU_ERR_BAD_VALUE && why->status != UPMU_ERR_CONTRADICTION) {
        upmu_text_string(out, " on ");
        upmu_text_string(out, pmu_name(why->pmu));
    }
    if (why->status == UPMU_ERR_NOT_PRECISE && (why->pmu || why->levels)) {
        write_levels(out, why);
    } else if (why->nearest.catalogue && why->pmu) {
        upmu_text_string(out, "; nearest: ");
        write_nearest(out, why);
    } else if (why->pmu && (why->status == UPMU_ERR_NO_SUCH_ATTRIBUTE || upmu_why_asks_attribute(why))) {
        write_attributes(out, why->pmu);
    }
    if (why->word[0] && !why->length) {
        upmu_text_string(out, ": ");
        upmu_text_string(out, why->word);
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
    if (why->culprits && why->collision != UPMU_COLLISION_NONE && why->pmu)
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
