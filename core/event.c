/* SPDX-License-Identifier: MIT */
/*
 * Events: a specification gets its meaning on a PMU, and an event its text.  Pure:
 * names come from the catalogue, bits from the backend.  docs/EVENTS.md says which
 * part of a specification means what.
 */
#include <upmu/event.h>

#include "core/backend.h"
#include "core/bits.h"
#include "core/catalog.h"
#include "core/mem.h"
#include "core/text.h"
#include "core/why.h"

enum upmu_status upmu_event_raw(const struct upmu_pmu *pmu, uint64_t config, uint64_t config1, uint64_t config2,
                                struct upmu_event *out_event)
{
    struct upmu_event event;
    enum upmu_status status;

    memset(&event, 0, sizeof event);
    event.attributes = UPMU_ATTR_RAW;
    event.config = config;
    event.config1 = config1;
    event.config2 = config2;
    status = pmu->backend->finish(pmu, &event);
    if (status == UPMU_OK)
        *out_event = event;
    return status;
}

#if UPMU_NAMES

/* Longest attribute name, with its NUL. */
#define WORD_SIZE 16

/* What raw words are called. */
static const char raw_words[3][8] = { "config", "config1", "config2" };

/* Masks of one row: upmu_event_id.masks is 32 bits wide. */
#define MASKS 32u

/* An event under construction. */
struct encoder {
    const struct upmu_pmu *pmu;
    const struct upmu_spec *spec;
    struct upmu_why *why;
    uint32_t used; /* bit i: attribute i has had its effect */
    struct upmu_event event;
    struct upmu_event_id id;
    struct upmu_row row;
    uint16_t field; /* of the unit mask, given as bits that no mask has */
    uint16_t field_bits;
};

static size_t part_end(const struct upmu_spec_part *part)
{
    return part->value ? (size_t)part->value + part->value_length : (size_t)part->position + part->length;
}

static enum upmu_status refuse_part(struct encoder *encoder, enum upmu_status status,
                                    const struct upmu_spec_part *part)
{
    return upmu_why_refuse(encoder->why, status, encoder->pmu, encoder->spec->text, part->position,
                           part_end(part) - part->position);
}

static bool part_is(const struct upmu_spec *spec, const struct upmu_spec_part *part, const char *word)
{
    return upmu_text_is(spec->text + part->position, part->length, word);
}

/* A part in lower case; "" if it is longer than any known word. */
static void fold_part(const struct upmu_spec *spec, const struct upmu_spec_part *part, char out_word[WORD_SIZE])
{
    unsigned length = part->length < WORD_SIZE ? part->length : 0;

    for (unsigned i = 0; i < length; i++)
        out_word[i] = upmu_text_lower(spec->text[part->position + i]);
    out_word[length] = '\0';
}

/* The attribute `name` with a number as its value, not used yet; NULL: none. */
static const struct upmu_spec_part *find_attribute(const struct encoder *encoder, const char *name, uint64_t *out_value)
{
    for (unsigned i = 0; i < encoder->spec->attribute_count; i++) {
        const struct upmu_spec_part *part = &encoder->spec->attribute[i];

        if (!(encoder->used >> i & 1u) && part->value && part_is(encoder->spec, part, name) &&
            upmu_text_number(encoder->spec->text + part->value, part->value_length, out_value))
            return part;
    }
    return NULL;
}

/* ---- Which PMU ---- */

/* perf's name for any core PMU, the PMU's own, or another name of its catalogue. */
static bool names_pmu(const struct upmu_pmu *pmu, const struct upmu_spec *spec, const struct upmu_spec_part *part)
{
    char word[WORD_SIZE];

    fold_part(spec, part, word);
    if (upmu_text_is(word, upmu_text_length(word), "cpu") || upmu_text_is(word, upmu_text_length(word), pmu->name))
        return true;
    return pmu->catalog && upmu_catalog_find(word) == pmu->catalog;
}

static enum upmu_status check_pmu(struct encoder *encoder)
{
    const struct upmu_spec *spec = encoder->spec;

    if (spec->unit.length && !names_pmu(encoder->pmu, spec, &spec->unit))
        return refuse_part(encoder, UPMU_ERR_NO_SUCH_PMU, &spec->unit);
    if (spec->pmu.length && !names_pmu(encoder->pmu, spec, &spec->pmu))
        return refuse_part(encoder, UPMU_ERR_NO_SUCH_PMU, &spec->pmu);
    return UPMU_OK;
}

/* ---- Which event ---- */

/* The name and its first `parts` attributes, as they stand in the text. */
static size_t name_length(const struct upmu_spec *spec, unsigned parts)
{
    return (parts ? part_end(&spec->attribute[parts - 1u]) : part_end(&spec->name)) - spec->name.position;
}

/* The longest text from NAME on, cut at a ':', that the catalogue knows. */
static bool find_name(struct encoder *encoder)
{
    const struct upmu_spec *spec = encoder->spec;
    unsigned parts = 0;

    if (!encoder->pmu->catalog)
        return false;
    while (parts < spec->attribute_count && spec->attribute[parts].separator == ':')
        parts++;
    for (unsigned i = parts + 1u; i-- > 0;) {
        if (upmu_catalog_lookup(encoder->pmu->catalog, spec->text + spec->name.position, name_length(spec, i),
                                &encoder->id) != UPMU_OK)
            continue;
        encoder->used = (uint32_t)upmu_bits_ones(i);
        return true;
    }
    return false;
}

/* A refusal that suggests the name most like NAME and its first parts. */
static enum upmu_status refuse_name(struct encoder *encoder, enum upmu_status status,
                                    const struct upmu_spec_part *part, unsigned parts)
{
    const struct upmu_spec *spec = encoder->spec;
    struct upmu_event_id nearest;

    (void)refuse_part(encoder, status, part);
    if (encoder->why && encoder->pmu->catalog &&
        upmu_catalog_nearest(encoder->pmu->catalog, spec->text + spec->name.position, name_length(spec, parts),
                             &nearest))
        encoder->why->nearest = nearest;
    return status;
}

static enum upmu_status no_such_event(struct encoder *encoder)
{
    const struct upmu_spec_part *first = &encoder->spec->attribute[0];

    return refuse_name(encoder, UPMU_ERR_NO_SUCH_EVENT, &encoder->spec->name,
                       encoder->spec->attribute_count && first->separator == ':' && !first->value);
}

/* ---- Raw words ---- */

/* raw:config=0x…, rHEX, perf's unit/event=…,umask=…; false: the name is none of them. */
static bool begin_raw(struct encoder *encoder, enum upmu_status *out_status)
{
    const struct upmu_spec *spec = encoder->spec;
    const char *name = spec->text + spec->name.position;
    struct upmu_event *event = &encoder->event;
    uint64_t *const words[3] = { &event->config, &event->config1, &event->config2 };
    bool raw = part_is(spec, &spec->name, "raw");

    if (spec->name.length && !raw &&
        (upmu_text_lower(name[0]) != 'r' || !upmu_text_digits(name + 1, spec->name.length - 1u, 16, &event->config)))
        return false;
    event->attributes = UPMU_ATTR_RAW;
    *out_status = UPMU_OK;
    for (unsigned i = 0; i < 3; i++) {
        const struct upmu_spec_part *part = find_attribute(encoder, raw_words[i], words[i]);

        if (part)
            encoder->used |= UPMU_BIT32(part - spec->attribute);
        else if (raw && i == 0)
            *out_status = refuse_part(encoder, UPMU_ERR_BAD_VALUE, &spec->name);
    }
    return true;
}

/* ---- Unit masks ---- */

static enum upmu_status add_mask(struct encoder *encoder, const char *name, size_t length)
{
    unsigned mask;

    if (!upmu_catalog_mask_lookup(encoder->pmu->catalog, encoder->id.row, name, length, &mask) || mask >= MASKS)
        return UPMU_ERR_NO_SUCH_MASK;
    encoder->id.masks |= UPMU_BIT32(mask);
    return UPMU_OK;
}

/* Unit mask bits that the masks of a group can set. */
static uint64_t group_bits(const struct encoder *encoder, unsigned group)
{
    uint64_t bits = 0;
    struct upmu_mask mask;

    for (unsigned i = 0; i < encoder->row.mask_count; i++)
        if (upmu_catalog_mask(encoder->pmu->catalog, encoder->id.row, i, &mask) && mask.group == group)
            bits |= mask.flags & UPMU_MASK_PAYLOAD ? ~UINT64_C(0) : mask.bits;
    return bits;
}

/*
 * Set a field of the unit mask: by the mask with just these bits, or, where masks
 * exclude each other, by number.
 */
static enum upmu_status add_field(struct encoder *encoder, unsigned field, unsigned bits)
{
    enum upmu_status status = UPMU_ERR_NO_SUCH_ATTRIBUTE;
    struct upmu_mask mask;

    for (unsigned i = 0; i < encoder->row.mask_count && i < MASKS; i++) {
        uint64_t group;

        if (!upmu_catalog_mask(encoder->pmu->catalog, encoder->id.row, i, &mask))
            continue;
        group = group_bits(encoder, mask.group);
        if (!group || (group & ~(uint64_t)field))
            continue;
        if (mask.bits == bits) {
            encoder->id.masks |= UPMU_BIT32(i);
            return UPMU_OK;
        }
        status = UPMU_OK;
    }
    if (status == UPMU_OK) {
        encoder->field |= (uint16_t)field;
        encoder->field_bits |= (uint16_t)bits;
    }
    return status;
}

/* WORD=a+b: unit masks by name (mask=…), or FreeBSD's qualifiers (core=all). */
static enum upmu_status add_words(struct encoder *encoder, const struct upmu_spec_part *part)
{
    const struct upmu_backend *backend = encoder->pmu->backend;
    const char *text = encoder->spec->text;
    bool by_name = part_is(encoder->spec, part, "mask");
    size_t end = part_end(part);
    char name[WORD_SIZE];
    uint16_t field = 0, bits = 0;
    unsigned all_bits = 0;

    fold_part(encoder->spec, part, name);
    for (size_t begin = part->value; begin <= end;) {
        size_t length = 0;

        while (begin + length < end && text[begin + length] != '+')
            length++;
        if (by_name) {
            if (add_mask(encoder, text + begin, length) != UPMU_OK)
                return UPMU_ERR_NO_SUCH_MASK;
        } else {
            if (!backend->qualifier || !backend->qualifier(name, text + begin, length, &field, &bits))
                return field ? UPMU_ERR_BAD_VALUE : UPMU_ERR_NO_SUCH_ATTRIBUTE;
            all_bits |= bits;
        }
        begin += length + 1u;
    }
    return by_name ? UPMU_OK : add_field(encoder, field, all_bits);
}

/* Take the unit masks that the specification names. */
static enum upmu_status collect_masks(struct encoder *encoder)
{
    const struct upmu_spec *spec = encoder->spec;

    for (unsigned i = 0; i < spec->attribute_count; i++) {
        const struct upmu_spec_part *part = &spec->attribute[i];
        enum upmu_status status = UPMU_ERR_NO_SUCH_ATTRIBUTE;
        uint64_t number;

        if (encoder->used >> i & 1u)
            continue;
        if (!part->value && part->separator == ':')
            status = add_mask(encoder, spec->text + part->position, part->length);
        else if (part->value && !upmu_text_number(spec->text + part->value, part->value_length, &number))
            status = add_words(encoder, part);
        if (status == UPMU_OK)
            encoder->used |= UPMU_BIT32(i);
        else if (part->value && status != UPMU_ERR_NO_SUCH_ATTRIBUTE)
            return refuse_part(encoder, status, part);
    }
    return UPMU_OK;
}

/* Does the specification set the whole field itself, so that no mask is taken? */
static bool replaces_masks(struct encoder *encoder)
{
    uint64_t value;

    if (encoder->id.masks)
        return false;
    if (find_attribute(encoder, "umask", &value)) {
        encoder->row.umask = (uint16_t)value;
        return true;
    }
    return find_attribute(encoder, "offcore_rsp", &value) != NULL;
}

static enum upmu_status begin_named(struct encoder *encoder)
{
    const struct upmu_catalog *catalog = encoder->pmu->catalog;
    enum upmu_status status = UPMU_OK;

    if (!upmu_catalog_row(catalog, encoder->id.row, &encoder->row))
        return no_such_event(encoder);
    if (encoder->row.flags & UPMU_ROW_MASKED) {
        status = collect_masks(encoder);
        if (status != UPMU_OK)
            return status;
    }
    if (!(encoder->row.flags & UPMU_ROW_MASKED) || !replaces_masks(encoder))
        status = upmu_catalog_merge(catalog, encoder->id, &encoder->row, &encoder->id.masks);
    if (encoder->field) {
        encoder->row.umask = (uint16_t)((encoder->row.umask & ~encoder->field) | encoder->field_bits);
        encoder->id.masks = 0;
    }
    if (status == UPMU_OK)
        status = encoder->pmu->backend->from_row(encoder->pmu, &encoder->row, &encoder->event);
    encoder->event.id = encoder->id;
    return status == UPMU_OK ? UPMU_OK : refuse_part(encoder, status, &encoder->spec->name);
}

/* ---- Attributes ---- */

static enum upmu_status set_pin(struct encoder *encoder, uint64_t counter)
{
    struct upmu_event *event = &encoder->event;

    if (counter >= UPMU_COUNTERS || !(encoder->pmu->counters >> counter & 1u))
        return UPMU_ERR_BAD_VALUE;
    if ((event->attributes & UPMU_ATTR_PIN) && event->pin != counter)
        return UPMU_ERR_CONTRADICTION;
    event->attributes |= UPMU_ATTR_PIN;
    event->pin = (uint8_t)counter;
    return UPMU_OK;
}

static bool only_letters_of_perf(const char *word)
{
    while (*word == 'u' || *word == 'k' || *word == 'p')
        word++;
    return !*word;
}

/* ":uk": perf's modifiers, one letter each. */
static enum upmu_status apply_letters(struct encoder *encoder, const char *letters)
{
    enum upmu_status status = UPMU_OK;

    for (; *letters && status == UPMU_OK; letters++) {
        const char word[2] = { *letters, '\0' };

        status = encoder->pmu->backend->attribute(encoder->pmu, &encoder->event, word, false, 0);
    }
    return status;
}

static enum upmu_status apply_attribute(struct encoder *encoder, const struct upmu_spec_part *part)
{
    const struct upmu_spec *spec = encoder->spec;
    char word[WORD_SIZE];
    uint64_t value = 0;
    enum upmu_status status;

    fold_part(spec, part, word);
    /* No number: the highest one, which no attribute takes. */
    if (part->value && !upmu_text_number(spec->text + part->value, part->value_length, &value))
        value = UINT64_MAX;
    if (part->value && part_is(spec, part, "counter"))
        return set_pin(encoder, value);
    status = encoder->pmu->backend->attribute(encoder->pmu, &encoder->event, word, part->value != 0, value);
    if (status != UPMU_ERR_NO_SUCH_ATTRIBUTE || part->value || part->separator != ':')
        return status;
    if (word[0] && only_letters_of_perf(word))
        return apply_letters(encoder, word);
    return encoder->row.flags & UPMU_ROW_MASKED ? UPMU_ERR_NO_SUCH_MASK : status;
}

/*
 * In a catalogue of flat names, EVENT:MASK:MASK2 where EVENT:MASK2 is a name, too:
 * MASK2 is a unit mask and not the attribute that may be called so (EDGE, ANY).
 */
static bool is_second_mask(const struct encoder *encoder, const struct upmu_spec_part *part)
{
    const struct upmu_spec *spec = encoder->spec;
    size_t length = spec->name.length + 1u;
    char name[UPMU_CATALOG_NAME];
    struct upmu_event_id id;

    if (!(encoder->used & 1u) || (encoder->row.flags & UPMU_ROW_MASKED) || part->separator != ':' || part->value ||
        length + part->length > sizeof name)
        return false;
    memcpy(name, spec->text + spec->name.position, length);
    memcpy(name + length, spec->text + part->position, part->length);
    return upmu_catalog_lookup(encoder->pmu->catalog, name, length + part->length, &id) == UPMU_OK;
}

static enum upmu_status apply_attributes(struct encoder *encoder)
{
    for (unsigned i = 0; i < encoder->spec->attribute_count; i++) {
        const struct upmu_spec_part *part = &encoder->spec->attribute[i];
        enum upmu_status status;

        if (encoder->used >> i & 1u)
            continue;
        status = is_second_mask(encoder, part) ? UPMU_ERR_MASKS_EXCLUSIVE : apply_attribute(encoder, part);
        if (status == UPMU_ERR_NO_SUCH_ATTRIBUTE && !part->value && encoder->id.catalogue)
            return refuse_name(encoder, status, part, i + 1u);
        if (status != UPMU_OK)
            return refuse_part(encoder, status, part);
    }
    return UPMU_OK;
}

/* ---- Counters ---- */

/*
 * A leading index is a row of the event's class: a general counter where the event
 * has one, else a fixed counter.
 */
static enum upmu_status apply_row(struct encoder *encoder)
{
    const struct upmu_pmu *pmu = encoder->pmu;
    const struct upmu_spec_part *part = &encoder->spec->row;
    unsigned base = encoder->event.counters & pmu->general ? 0 : UPMU_FIXED_COUNTER(0);
    uint64_t index;
    enum upmu_status status = UPMU_ERR_BAD_VALUE;

    if (!part->length)
        return UPMU_OK;
    if (upmu_text_number(encoder->spec->text + part->position, part->length, &index) &&
        index < UPMU_FIXED_COUNTER(0))
        status = set_pin(encoder, base + index);
    return status == UPMU_OK ? UPMU_OK : refuse_part(encoder, status, part);
}

static enum upmu_status finish_event(struct encoder *encoder)
{
    struct upmu_event *event = &encoder->event;
    enum upmu_status status = encoder->pmu->backend->finish(encoder->pmu, event);

    if (status == UPMU_ERR_NOT_PERMITTED)
        status = event->attributes & UPMU_ATTR_RAW ? UPMU_ERR_BAD_VALUE : UPMU_ERR_UNSUPPORTED;
    if (status == UPMU_OK) {
        status = apply_row(encoder);
        if (status != UPMU_OK)
            return status;
        if (event->attributes & UPMU_ATTR_PIN)
            event->counters &= UPMU_BIT32(event->pin);
        if (!event->counters)
            status = UPMU_ERR_DOES_NOT_FIT;
    }
    return status == UPMU_OK ? UPMU_OK : refuse_part(encoder, status, &encoder->spec->name);
}

enum upmu_status upmu_event_encode(const struct upmu_pmu *pmu, const struct upmu_spec *spec,
                                   struct upmu_event *out_event, struct upmu_why *why)
{
    struct encoder encoder;
    enum upmu_status status;

    memset(&encoder, 0, sizeof encoder);
    encoder.pmu = pmu;
    encoder.spec = spec;
    encoder.why = why;
    status = check_pmu(&encoder);
    if (status != UPMU_OK)
        return status;
    if (spec->name.length && find_name(&encoder))
        status = begin_named(&encoder);
    else if (!begin_raw(&encoder, &status))
        return no_such_event(&encoder);
    if (status == UPMU_OK)
        status = apply_attributes(&encoder);
    if (status == UPMU_OK)
        status = finish_event(&encoder);
    if (status != UPMU_OK)
        return status;
    *out_event = encoder.event;
    upmu_why_clear(why);
    return UPMU_OK;
}

enum upmu_status upmu_event_parse(const struct upmu_pmu *pmu, const char *text, struct upmu_event *out_event,
                                  struct upmu_why *why)
{
    struct upmu_spec spec;
    size_t cursor = 0;
    enum upmu_status status = upmu_spec_next(text, &cursor, &spec, why);

    if (status == UPMU_ERR_END || (status == UPMU_OK && text[cursor]))
        return upmu_why_refuse(why, UPMU_ERR_SYNTAX, NULL, text, cursor, 0);
    return status == UPMU_OK ? upmu_event_encode(pmu, &spec, out_event, why) : status;
}

/* ---- Text ---- */

size_t upmu_event_name(const struct upmu_pmu *pmu, struct upmu_event_id id, char *buffer, size_t size)
{
    struct upmu_text out;

    if (pmu->catalog && id.catalogue)
        return upmu_catalog_id_name(pmu->catalog, id, buffer, size);
    upmu_text_begin(&out, buffer, size);
    return upmu_text_end(&out);
}

static void write_raw(struct upmu_text *out, const struct upmu_event *event)
{
    const uint64_t words[3] = { event->config, event->config1, event->config2 };

    upmu_text_string(out, "raw");
    for (unsigned i = 0; i < 3; i++)
        if (i == 0 || words[i]) {
            upmu_text_char(out, ':');
            upmu_text_string(out, raw_words[i]);
            upmu_text_char(out, '=');
            upmu_text_hex(out, words[i]);
        }
}

size_t upmu_event_format(const struct upmu_pmu *pmu, const struct upmu_event *event, char *buffer, size_t size)
{
    struct upmu_text out;
    struct upmu_row row;
    size_t left;
    char *room;

    memset(&row, 0, sizeof row);
    upmu_text_begin(&out, buffer, size);
    if (event->attributes & UPMU_ATTR_RAW) {
        write_raw(&out, event);
    } else {
        upmu_text_skip(&out, upmu_event_name(pmu, event->id, buffer, size));
        if (!out.length || !upmu_catalog_row(pmu->catalog, event->id.row, &row))
            return upmu_text_end(&out);
    }
    room = upmu_text_room(&out, &left);
    upmu_text_skip(&out, pmu->backend->format(pmu, event, &row, room, left));
    if (event->attributes & UPMU_ATTR_PIN) {
        upmu_text_string(&out, ":counter=");
        upmu_text_decimal(&out, event->pin);
    }
    return upmu_text_end(&out);
}

#else

static size_t no_text(char *buffer, size_t size)
{
    if (size)
        buffer[0] = '\0';
    return 0;
}

enum upmu_status upmu_event_encode(const struct upmu_pmu *pmu, const struct upmu_spec *spec,
                                   struct upmu_event *out_event, struct upmu_why *why)
{
    (void)spec;
    (void)out_event;
    return upmu_why_refuse(why, UPMU_ERR_COMPILED_OUT, pmu, NULL, 0, 0);
}

enum upmu_status upmu_event_parse(const struct upmu_pmu *pmu, const char *text, struct upmu_event *out_event,
                                  struct upmu_why *why)
{
    (void)text;
    (void)out_event;
    return upmu_why_refuse(why, UPMU_ERR_COMPILED_OUT, pmu, NULL, 0, 0);
}

size_t upmu_event_format(const struct upmu_pmu *pmu, const struct upmu_event *event, char *buffer, size_t size)
{
    (void)pmu;
    (void)event;
    return no_text(buffer, size);
}

size_t upmu_event_name(const struct upmu_pmu *pmu, struct upmu_event_id id, char *buffer, size_t size)
{
    (void)pmu;
    (void)id;
    return no_text(buffer, size);
}

#endif
