/* SPDX-License-Identifier: MIT */
/*
 * Encode a specification as an event of a PMU, and write the text of an event.  Pure.  Names come from the PMU's
 * catalogue, the bits of registers from its backend.  docs/EVENTS.md explains the parts of a specification.
 */
#include <upmu/event.h>

#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/util/text.h"
#include "core/hw/backend.h"
#include "core/catalog/catalog.h"
#include "core/catalog/catalog_table.h"
#include "core/event/spec.h"
#include "core/event/unit_names.h"
#include "core/event/why.h"

enum upmu_status upmu_event_raw(const struct upmu_pmu *pmu, uint64_t config, uint64_t config1, uint64_t config2,
                                struct upmu_event *out_event)
{
    struct upmu_event event;
    enum upmu_status status;

    memset(&event, 0, sizeof event);
    event.attributes = UPMU_ATTR_RAW;
    event.pmu = pmu->index;
    event.config = config;
    event.config1 = config1;
    event.config2 = config2;
    status = pmu->backend->finish(pmu, &event);
    if (status == UPMU_OK)
        *out_event = event;
    return status;
}

enum upmu_status upmu_event_basic(const struct upmu_pmu *pmu, enum upmu_basic_event which,
                                  struct upmu_event *out_event)
{
    uint64_t config = which == UPMU_BASIC_CYCLES ? pmu->cycles_config : pmu->loop_config;

    if (!pmu->cycles_config || (which != UPMU_BASIC_CYCLES && config == pmu->cycles_config))
        return UPMU_ERR_UNSUPPORTED;
    return upmu_event_raw(pmu, config, 0, 0, out_event);
}

#if UPMU_NAMES

/*
 * Attributes of a raw event that give one of its words (config, config1, config2): `room` is the greatest value, which
 * is shifted left by `shift`. NetBurst has names for the halves of a word, too.
 */
static const struct {
    char name[8];
    uint8_t word, shift;
    uint64_t room;
} raw_words[] = {
    {"config", 0, 0, UINT64_MAX}, {"config1", 1, 0, UINT64_MAX}, {"config2", 2, 0, UINT64_MAX},
#if UPMU_BACKEND_X86_P4
    {"escr", 0, 0, UINT32_MAX},   {"cccr", 0, 32, UINT32_MAX},   {"escr1", 1, 0, UINT32_MAX},
    {"cccr1", 1, 32, UINT32_MAX}, {"pebs", 2, 0, UINT32_MAX},    {"vert", 2, 32, UINT32_MAX},
#endif
};
#define RAW_WORDS (sizeof raw_words / sizeof raw_words[0])

/* The most unit masks that a row can have: upmu_event_id.masks has 32 bits. */
#define MASKS 32u

/* The state of encoding one specification: the event so far, and the part of the text that is being translated. */
struct encoder {
    const struct upmu_pmu *pmu;
    const struct upmu_catalog *catalog;
    const struct upmu_spec *spec;
    const struct upmu_spec_part *part; /* the present part: the one that is being translated; a refusal names it */
    const char *text;                  /* the text of `part` */
    /* the number given with `part`; UINT64_MAX, which only raw words accept as a number, if there is none */
    uint64_t value;
    /* the last part that may belong to a misspelt event name; NULL: no name is misspelt */
    const struct upmu_spec_part *near;
    uint32_t used;  /* bit i: attribute i of the text is part of the name, or gave a raw word or unit masks */
    bool is_number;
    bool replaced;  /* a number gives the whole unit mask (umask=) or payload (offcore_rsp=) */
    uint8_t prefix; /* length of the backend's prefix ("p4-") that the text has before the event's name */
    /* the beginning of the event's name that the text leaves out ("UNC_M_"); NULL: the text has all of it */
    const char *before;
    uint16_t field; /* bits of the unit mask that are set to `field_bits`, a value that no named unit mask has */
    uint16_t field_bits;
    uint8_t levels; /* after UPMU_ERR_NOT_PRECISE: bit n: precise=n is possible for this event */
    struct upmu_event event;
    struct upmu_row row;
    uint64_t raw[3];
};

static bool part_is(const struct encoder *encoder, const char *word)
{
    return upmu_text_is(encoder->text, encoder->part->length, word);
}

static void look_at(struct encoder *encoder, const struct upmu_spec_part *part)
{
    encoder->part = part;
    encoder->text = encoder->spec->text + part->position;
    encoder->value = UINT64_MAX;
    encoder->is_number = upmu_text_number(encoder->spec->text + part->value, part->value_length, &encoder->value);
}

/* ---- Which PMU ---- */

/* Is the present part one of the two names of this catalogue? False if `catalog` is NULL. */
static bool names_catalog(const struct encoder *encoder, const struct upmu_catalog *catalog)
{
    return catalog &&
           (part_is(encoder, upmu_catalog_name(catalog)) || part_is(encoder, upmu_catalog_other_name(catalog)));
}

/* Return the type of the units outside the cores that a PMU is for; NULL: the PMU is that of a CPU. */
static const struct upmu_unit_type *type_of_pmu(const struct upmu_pmu *pmu)
{
    if (!UPMU_UNCORE || pmu->index < UPMU_UNIT_PMU)
        return NULL;
    return ((const struct upmu_uncore_pmu *)(const void *)pmu)->type;
}

static bool names_pmu(struct encoder *encoder, const struct upmu_spec_part *part)
{
    look_at(encoder, part);
    if (!part->length)
        return true;
    if (type_of_pmu(encoder->pmu))
        return upmu_unit_meant(encoder->pmu, encoder->text, part->length, &encoder->event);
    return part_is(encoder, "cpu") || part_is(encoder, encoder->pmu->name) ||
           names_catalog(encoder, encoder->pmu->catalog) || names_catalog(encoder, encoder->pmu->imported);
}

/* ---- Which event ---- */

/* Return the number of bytes from the beginning of the event's name to the end of part `last`. */
static size_t name_length(const struct encoder *encoder, const struct upmu_spec_part *last)
{
    return upmu_spec_part_end(last) - encoder->spec->name.position;
}

/* Return the length of the backend's prefix ("p4-") that the text of the name begins with; 0: the text has none. */
static size_t prefix_length(const struct encoder *encoder)
{
    const char *prefix = encoder->pmu->backend->prefixes;

    for (unsigned length; prefix && *prefix; prefix += length + 1u) {
        length = (unsigned)upmu_text_length(prefix);
        if (encoder->part->length > length && upmu_same_folded(encoder->text, prefix, length))
            return length;
    }
    return 0;
}

/* With fewer parts behind the name, find_by_masks() is slower than looking up the text with fewer and fewer parts. */
#define PARTS_OF_MASKS 3u

/*
 * Find the event whose name is NAME alone, if all `parts` parts behind it are its unit masks, in any order, and store
 * its id; false: there is no such event. If there is one, no longer part of the text is an event's name:
 * tools/catalog_pack.py ensures that.
 */
static UPMU_APART bool find_by_masks(struct encoder *encoder, size_t prefix, unsigned parts)
{
    const struct upmu_spec *spec = encoder->spec;
    const struct upmu_spec_part *part = spec->attribute;
    struct upmu_event_id id;
    struct upmu_masks masks;
    const uint8_t *set;
    unsigned mask;

    if (parts < PARTS_OF_MASKS ||
        upmu_catalog_lookup(encoder->catalog, encoder->text + prefix, spec->name.length - prefix, &id) != UPMU_OK ||
        id.masks || !(set = upmu_row_set(encoder->catalog, id.row)))
        return false;
    upmu_masks_begin(upmu_catalog_file(encoder->catalog), set, &masks);
    for (; parts-- != 0; part++) {
        if (part->value || !upmu_masks_lookup(masks, spec->text + part->position, part->length, &mask))
            return false;
        id.masks |= UPMU_BIT32(mask);
    }
    encoder->event.id = id;
    return true;
}

/* Look up the name that begins with encoder->before and goes on with `text`; false: no event has this name. */
static UPMU_APART bool look_up_behind(const struct encoder *encoder, const char *text, size_t length,
                                      struct upmu_event_id *out_id)
{
    char name[UPMU_CATALOG_NAME];
    struct upmu_text out;

    upmu_text_begin(&out, name, sizeof name);
    upmu_text_string(&out, encoder->before);
    upmu_text_bytes(&out, text, length);
    return out.length < sizeof name && upmu_catalog_lookup(encoder->catalog, name, out.length, out_id) == UPMU_OK;
}

/*
 * Is the part `last` a "p", the attribute for precise sampling, behind the name of an event?  Then it is no part of a
 * longer name: INST_RETIRED.ANY:p is not INST_RETIRED.ANY_P.
 */
static bool is_level_behind_name(const struct encoder *encoder, const struct upmu_spec_part *last, size_t prefix)
{
    const struct upmu_spec *spec = encoder->spec;
    const struct upmu_spec_part *name = last == spec->attribute ? &spec->name : last - 1;
    struct upmu_event_id id;

    return !encoder->before && last->length == 1 && (spec->text[last->position] | 0x20) == 'p' &&
           upmu_catalog_lookup(encoder->catalog, encoder->text + prefix, name_length(encoder, name) - prefix, &id) ==
               UPMU_OK;
}

/*
 * Find the longest text, from NAME to the end of a part behind a ':', that is a name in encoder->catalog, and store the
 * event's id and row. The text may begin with a prefix of the backend ("p4-"), or may leave out the prefix that names
 * of its unit type have ("UNC_M_"). Returns false if no such text is a name.
 */
static bool find_in_catalog(struct encoder *encoder)
{
    const struct upmu_unit_type *type = type_of_pmu(encoder->pmu);
    const struct upmu_spec *spec = encoder->spec;
    size_t prefix = prefix_length(encoder);
    unsigned all = 0, parts;

    encoder->before = NULL;
    if (!encoder->catalog || !spec->name.length)
        return false;
    while (all < spec->attribute_count && spec->attribute[all].separator == ':')
        all++;
    parts = all;
    for (;; parts--) {
        const struct upmu_spec_part *last = parts ? &spec->attribute[parts - 1u] : &spec->name;

        if (parts && is_level_behind_name(encoder, last, prefix))
            continue;
        if (encoder->before ? look_up_behind(encoder, encoder->text, name_length(encoder, last), &encoder->event.id)
                            : upmu_catalog_lookup(encoder->catalog, encoder->text + prefix,
                                                  name_length(encoder, last) - prefix, &encoder->event.id) == UPMU_OK ||
                                  (parts == all && find_by_masks(encoder, prefix, all))) {
            encoder->used = UPMU_BIT32(parts) - 1u;
            encoder->prefix = (uint8_t)prefix;
            return upmu_catalog_row(encoder->catalog, encoder->event.id.row, &encoder->row);
        }
        if (parts)
            continue;
        if (!prefix) {
            if (encoder->before || !type || !type->prefix)
                return false;
            encoder->before = type->prefix;
        }
        prefix = 0;
        parts = all + 1;
    }
}

/* Find the name of the event: first in the PMU's imported catalogue, then in its built-in one. */
static bool find_name(struct encoder *encoder)
{
    encoder->catalog = encoder->pmu->imported;
    if (encoder->catalog && find_in_catalog(encoder))
        return true;
    encoder->catalog = encoder->pmu->refuses & 1u << UPMU_SOURCE_BUILT_IN ? NULL : encoder->pmu->catalog;
    return find_in_catalog(encoder);
}

/* Is the event that was found one of another type of unit than the type that the PMU is for? */
static bool is_of_another_unit(const struct encoder *encoder)
{
    const struct upmu_unit_type *type = type_of_pmu(encoder->pmu);

    return type && encoder->row.unit && encoder->row.unit != type->number;
}

/*
 * Does the architectural catalogue ("ix86arch") lack the event's name? Then the name is the model's own. True also in a
 * build without that catalogue.
 */
static bool is_own_name(const struct encoder *encoder)
{
    const struct upmu_catalog *named = upmu_catalog_find("ix86arch");
    const struct upmu_spec_part *name = &encoder->spec->name;
    struct upmu_event_id id;

    return !named ||
           upmu_catalog_lookup(named, encoder->spec->text + name->position + encoder->prefix,
                               name->length - encoder->prefix, &id) != UPMU_OK;
}

/*
 * Does the text give a raw event instead of a name: raw:config=0x…, rHEX, or perf's unit/event=…,umask=…? For rHEX,
 * raw[0] gets the number.
 */
static bool is_raw(struct encoder *encoder)
{
    return !encoder->part->length || part_is(encoder, "raw") ||
           ((*encoder->text | 0x20) == 'r' &&
            upmu_text_digits(encoder->text + 1, encoder->part->length - 1u, 16, &encoder->raw[0]));
}

/* ---- The parts that give raw words and unit masks ---- */

static enum upmu_status take_raw_word(struct encoder *encoder)
{
    for (unsigned i = 0; encoder->is_number && i < RAW_WORDS; i++) {
        uint64_t *word = &encoder->raw[raw_words[i].word];
        uint64_t room = raw_words[i].room;

        if (!part_is(encoder, raw_words[i].name) || (*word >> raw_words[i].shift & room))
            continue;
        if (encoder->value & ~room)
            return UPMU_ERR_BAD_VALUE;
        *word |= encoder->value << raw_words[i].shift;
        return UPMU_OK;
    }
    return UPMU_ERR_NO_SUCH_ATTRIBUTE;
}

static bool add_mask(struct encoder *encoder, const char *name, size_t length)
{
    unsigned mask;

    if (!upmu_catalog_mask_lookup(encoder->catalog, encoder->event.id.row, name, length, &mask) || mask >= MASKS)
        return false;
    encoder->event.id.masks |= UPMU_BIT32(mask);
    return true;
}

/*
 * Set those bits of the event's unit mask that are set in `field` to `bits`: by the named mask that has exactly these
 * bits, or, if there is none, as a number (encoder->field_bits). A group of masks belongs to the field if its masks set
 * bits only in it. Returns UPMU_ERR_NO_SUCH_ATTRIBUTE if the row has no such group.
 */
static enum upmu_status add_field(struct encoder *encoder, unsigned field, unsigned bits)
{
    uint32_t inside = 0, outside = 0;
    struct upmu_mask mask;

    for (unsigned i = 0; i < 2u * encoder->row.mask_count; i++) {
        unsigned number = i < encoder->row.mask_count ? i : i - encoder->row.mask_count;
        uint32_t group;

        (void)upmu_catalog_mask(encoder->catalog, encoder->event.id.row, number, &mask);
        group = UPMU_BIT32(mask.group & 31u);
        if ((mask.flags & UPMU_MASK_PAYLOAD) || (mask.bits & ~(uint64_t)field))
            outside |= group;
        else if (mask.bits)
            inside |= group;
        if (i != number && (inside & ~outside & group) && mask.bits == bits) {
            encoder->event.id.masks |= UPMU_BIT32(number);
            return UPMU_OK;
        }
    }
    if (!(inside & ~outside))
        return UPMU_ERR_NO_SUCH_ATTRIBUTE;
    encoder->field |= (uint16_t)field;
    encoder->field_bits |= (uint16_t)bits;
    return UPMU_OK;
}

/* Add the unit masks that the present part, WORD=a+b, gives: by name (mask=…), or as FreeBSD's qualifier (core=all). */
static enum upmu_status add_words(struct encoder *encoder)
{
    const struct upmu_backend *backend = encoder->pmu->backend;
    const char *begin = encoder->spec->text + encoder->part->value;
    const char *end = begin + encoder->part->value_length;
    bool by_name = part_is(encoder, "mask");
    uint16_t field = 0, bits = 0;
    unsigned all_bits = 0;

    do {
        size_t length = 0;

        while (begin + length < end && begin[length] != '+')
            length++;
        if (by_name ? !add_mask(encoder, begin, length)
                    : !backend->qualifier ||
                          !backend->qualifier(encoder->text, encoder->part->length, begin, length, &field, &bits))
            return by_name ? UPMU_ERR_NO_SUCH_MASK : field ? UPMU_ERR_BAD_VALUE : UPMU_ERR_NO_SUCH_ATTRIBUTE;
        all_bits |= bits;
        begin += length + 1;
    } while (begin <= end);
    return by_name ? UPMU_OK : add_field(encoder, field, all_bits);
}

#if UPMU_BACKEND_X86_P4
/* Add NetBurst's unit masks that FreeBSD gives as a number (tag=3): bit n of the number stands for the mask TAGn. */
static enum upmu_status add_numbered_masks(struct encoder *encoder)
{
    static const struct {
        char word[11], mask[10];
    } numbered[] = {{"busreqtype", "REQ_TYPE0"}, {"tag", "TAG0"}};

    for (unsigned i = 0; i < 2; i++)
        for (uint64_t bit = 0; part_is(encoder, numbered[i].word) && bit < 64; bit++) {
            char name[10];
            size_t length = upmu_text_length(numbered[i].mask);

            memcpy(name, numbered[i].mask, sizeof name);
            name[length - 1] = (char)((unsigned)name[length - 1] + (unsigned)bit);
            if (!(encoder->value >> bit))
                return UPMU_OK;
            if ((encoder->value >> bit & 1u) && (bit > 4 || !add_mask(encoder, name, length)))
                return bit ? UPMU_ERR_BAD_VALUE : UPMU_ERR_NO_SUCH_ATTRIBUTE;
        }
    return UPMU_ERR_NO_SUCH_ATTRIBUTE;
}
#endif

/*
 * Use the present part if it gives a raw word or unit masks. UPMU_ERR_NO_SUCH_ATTRIBUTE: the part is left to
 * apply_attribute(). A number as umask= or offcore_rsp= is left to it, too, but is noted here (encoder->replaced).
 */
static UPMU_APART enum upmu_status take_code(struct encoder *encoder)
{
    const struct upmu_spec_part *part = encoder->part;

    if (encoder->event.attributes & UPMU_ATTR_RAW)
        return take_raw_word(encoder);
    if (!(encoder->row.flags & UPMU_ROW_MASKED))
        return UPMU_ERR_NO_SUCH_ATTRIBUTE;
    if (!part->value)
        return part->separator == ':' && add_mask(encoder, encoder->text, part->length) ? UPMU_OK
                                                                                        : UPMU_ERR_NO_SUCH_ATTRIBUTE;
    if (!encoder->is_number)
        return add_words(encoder);
    if (part_is(encoder, "umask")) {
        encoder->row.umask = (uint16_t)encoder->value;
        encoder->replaced = true;
    }
    if (part_is(encoder, "offcore_rsp"))
        encoder->replaced = true;
#if UPMU_BACKEND_X86_P4
    return add_numbered_masks(encoder);
#else
    return UPMU_ERR_NO_SUCH_ATTRIBUTE;
#endif
}

/* ---- Attributes ---- */

static enum upmu_status set_pin(struct encoder *encoder)
{
    struct upmu_event *event = &encoder->event;
    uint64_t counter = encoder->value;

    if (counter >= UPMU_COUNTERS || !(encoder->pmu->counters >> counter & 1u))
        return UPMU_ERR_BAD_VALUE;
    if ((event->attributes & UPMU_ATTR_PIN) && event->pin != counter)
        return UPMU_ERR_CONTRADICTION;
    event->attributes |= UPMU_ATTR_PIN;
    event->pin = counter & 31u;
    return UPMU_OK;
}

/*
 * Is the present part a second unit mask of an event that is a row without unit masks, with the name EVENT:MASK? The
 * part is one if EVENT:PART is a name in the catalogue, too, even if an attribute has the same name as PART (EDGE,
 * ANY).
 */
static bool is_second_mask(const struct encoder *encoder)
{
    const struct upmu_spec *spec = encoder->spec;
    char name[UPMU_CATALOG_NAME];
    struct upmu_text text;
    struct upmu_event_id id;

    if (!(encoder->used & 1u) || (encoder->row.flags & UPMU_ROW_MASKED) ||
        (encoder->event.attributes & UPMU_ATTR_RAW))
        return false;
    upmu_text_begin(&text, name, sizeof name);
    if (encoder->before)
        upmu_text_string(&text, encoder->before);
    upmu_text_bytes(&text, spec->text + spec->name.position, spec->name.length + 1u);
    upmu_text_bytes(&text, encoder->text, encoder->part->length);
    return text.length < sizeof name && upmu_catalog_lookup(encoder->catalog, name, text.length, &id) == UPMU_OK;
}

static UPMU_APART bool is_letter_of_perf(char c)
{
    c |= 0x20;
    return c == 'u' || c == 'k' || c == 'p' || (UPMU_WORLDS && (c == 'g' || c == 'h'));
}

#if UPMU_WORLDS

/*
 * Set the world that is counted by the attribute `host` (h) or `guest` (g). The PMU's backend has no such attribute:
 * the library itself stops the event's counter in the other world.
 */
static enum upmu_status give_world(struct encoder *encoder, const char *name, size_t length)
{
    static const char words[][6] = {"host", "guest"};
    unsigned value = encoder->part->value ? (unsigned)encoder->value : 1, i = 0;

    while (!upmu_text_is(name, length, words[i]) && !(length == 1 && upmu_text_lower(*name) == words[i][0]))
        if (++i == 2)
            return UPMU_ERR_NO_SUCH_ATTRIBUTE;
    if (encoder->pmu->index >= UPMU_UNIT_PMU)
        return UPMU_ERR_NO_SUCH_ATTRIBUTE;
    if (encoder->part->value && encoder->value > 1)
        return UPMU_ERR_BAD_VALUE;
    if (encoder->event.world >> i & !value)
        return UPMU_ERR_CONTRADICTION;
    encoder->event.world = (encoder->event.world | value << i) & 3u;
    return UPMU_OK;
}

#endif

static enum upmu_status give_attribute(struct encoder *encoder, const char *name, size_t length)
{
    enum upmu_status status = encoder->pmu->backend->attribute(encoder->pmu, &encoder->event, name, length,
                                                               encoder->part->value ? &encoder->value : NULL);

#if UPMU_WORLDS
    if (status == UPMU_ERR_NO_SUCH_ATTRIBUTE)
        status = give_world(encoder, name, length);
#endif
    return status;
}

static enum upmu_status apply_attribute(struct encoder *encoder)
{
    const struct upmu_spec_part *part = encoder->part;
    const char *end = encoder->text + part->length;
    bool mask = !part->value && part->separator == ':';
    enum upmu_status status;

    if (mask && is_second_mask(encoder))
        return UPMU_ERR_MASKS_EXCLUSIVE;
    if (part->value && part_is(encoder, "counter"))
        return set_pin(encoder);
    status = give_attribute(encoder, encoder->text, part->length);
    if (status != UPMU_ERR_NO_SUCH_ATTRIBUTE || part->value)
        return status;
    /* The part may be some of perf's modifiers, which are one letter each (":uk"). */
    for (const char *at = encoder->text; is_letter_of_perf(*at);) {
        status = give_attribute(encoder, at++, 1);
        if (status != UPMU_OK || at == end)
            return status;
    }
    if (encoder->event.id.catalogue)
        encoder->near = part;
    return mask && (encoder->row.flags & UPMU_ROW_MASKED) ? UPMU_ERR_NO_SUCH_MASK : UPMU_ERR_NO_SUCH_ATTRIBUTE;
}

/*
 * Use those attributes of the specification that give raw words or unit masks; encoder->used has those that were used.
 * With `all`: use all attributes that are not in encoder->used.
 */
static enum upmu_status use_attributes(struct encoder *encoder, bool all)
{
    for (unsigned i = 0; i < encoder->spec->attribute_count; i++) {
        enum upmu_status status;

        if (encoder->used >> i & 1u)
            continue;
        look_at(encoder, &encoder->spec->attribute[i]);
        status = all ? apply_attribute(encoder) : take_code(encoder);
        if (status == UPMU_OK && !all)
            encoder->used |= UPMU_BIT32(i);
        else if (all ? status != UPMU_OK : status != UPMU_ERR_NO_SUCH_ATTRIBUTE)
            return status;
    }
    look_at(encoder, &encoder->spec->name);
    return UPMU_OK;
}

/* ---- The steps ---- */

static UPMU_APART enum upmu_status begin_event(struct encoder *encoder)
{
    const struct upmu_spec *spec = encoder->spec;
    struct upmu_event *event = &encoder->event;
    enum upmu_status status;

    if (!names_pmu(encoder, &spec->unit) || !names_pmu(encoder, &spec->pmu))
        return UPMU_ERR_NO_SUCH_PMU;
    look_at(encoder, &spec->name);
    if (!find_name(encoder)) {
        if (!is_raw(encoder)) {
            encoder->near = spec->attribute_count && spec->attribute[0].separator == ':' && !spec->attribute[0].value
                                ? &spec->attribute[0]
                                : &spec->name;
            return UPMU_ERR_NO_SUCH_EVENT;
        }
        event->attributes = UPMU_ATTR_RAW;
    } else if (is_of_another_unit(encoder)) {
        return UPMU_ERR_WRONG_PMU;
    }
    status = use_attributes(encoder, false);
    if (status != UPMU_OK)
        return status;
    if (event->attributes & UPMU_ATTR_RAW) {
        event->config = encoder->raw[0];
        event->config1 = encoder->raw[1];
        event->config2 = encoder->raw[2];
        return !encoder->used && part_is(encoder, "raw") ? UPMU_ERR_BAD_VALUE : UPMU_OK;
    }
    if ((encoder->row.flags & UPMU_ROW_MASKED) && (event->id.masks || !encoder->replaced))
        status = upmu_catalog_merge(encoder->catalog, event->id, &encoder->row, &event->id.masks);
    encoder->row.umask = (uint16_t)((encoder->row.umask & ~encoder->field) | encoder->field_bits);
    if (encoder->field)
        event->id.masks = 0;
    if (status != UPMU_OK)
        return status;
    status = encoder->pmu->backend->from_row(encoder->pmu, &encoder->row, event);
    if (status == UPMU_ERR_UNSUPPORTED && is_own_name(encoder)) {
        encoder->row.flags |= UPMU_ROW_OWN_NAME;
        status = encoder->pmu->backend->from_row(encoder->pmu, &encoder->row, event);
    }
    return status;
}

/*
 * Return the levels n that precise=n could give an event, as bits n. The event is as it was before the backend's
 * finish() refused it.
 */
static UPMU_APART uint8_t possible_levels(const struct upmu_pmu *pmu, const struct upmu_event *event)
{
    unsigned levels = 0;

    for (unsigned level = 1; level <= UPMU_PRECISE_LEVEL(UPMU_ATTR_PRECISE); level++) {
        struct upmu_event other = *event;

        other.attributes = (other.attributes & ~UPMU_ATTR_PRECISE) | level << UPMU_ATTR_PRECISE_SHIFT;
        if (pmu->backend->finish(pmu, &other) == UPMU_OK)
            levels |= 1u << level;
    }
    return (uint8_t)levels;
}

static UPMU_APART enum upmu_status finish_event(struct encoder *encoder)
{
    struct upmu_event *event = &encoder->event, before = *event;
    enum upmu_status status = encoder->pmu->backend->finish(encoder->pmu, event);

    if (status == UPMU_ERR_NOT_PRECISE)
        encoder->levels = possible_levels(encoder->pmu, &before);
    if (status == UPMU_ERR_NOT_PERMITTED)
        return event->attributes & UPMU_ATTR_RAW ? UPMU_ERR_BAD_VALUE : UPMU_ERR_UNSUPPORTED;
    if (status != UPMU_OK)
        return status;
    if (encoder->spec->row.length) {
        look_at(encoder, &encoder->spec->row);
        if (encoder->value >= UPMU_FIXED_COUNTER(0) &&
            (encoder->value >= UPMU_COUNTERS || !(encoder->pmu->general >> encoder->value & 1u)))
            return UPMU_ERR_BAD_VALUE;
        /* The index before the name is that of a general counter if the event can use any, else of a fixed counter. */
        if (!(event->counters & encoder->pmu->general))
            encoder->value += UPMU_FIXED_COUNTER(0);
        status = set_pin(encoder);
        if (status != UPMU_OK)
            return status;
        look_at(encoder, &encoder->spec->name);
    }
    if (event->attributes & UPMU_ATTR_PIN)
        event->counters &= UPMU_BIT32(event->pin);
    if (event->world == (UPMU_WORLD_HOST | UPMU_WORLD_GUEST))
        event->world = UPMU_WORLD_BOTH;
    return event->counters ? UPMU_OK : UPMU_ERR_DOES_NOT_FIT;
}

/*
 * Find the event whose name is most similar to the text from the name to the end of part encoder->near. The text may
 * leave out the prefix that names of the unit type have. *out_id is all zeros if no name is similar.
 */
static UPMU_APART void find_nearest(struct encoder *encoder, struct upmu_event_id *out_id)
{
    const struct upmu_unit_type *type = type_of_pmu(encoder->pmu);
    const char *text = encoder->spec->text + encoder->spec->name.position;
    size_t length = name_length(encoder, encoder->near);

    if (type && type->prefix) {
        size_t prefix = upmu_text_length(type->prefix);
        char name[UPMU_CATALOG_NAME];
        struct upmu_text out;

        upmu_text_begin(&out, name, sizeof name);
        if (length < prefix || !upmu_same_folded(text, type->prefix, (unsigned)prefix))
            upmu_text_string(&out, type->prefix);
        upmu_text_bytes(&out, text, length);
        if (out.length >= sizeof name || !upmu_catalog_nearest(encoder->catalog, name, out.length, out_id) ||
            upmu_catalog_row_unit(encoder->catalog, out_id->row) != type->number)
            memset(out_id, 0, sizeof *out_id);
        return;
    }
    (void)upmu_catalog_nearest(encoder->catalog, text, length, out_id);
}

enum upmu_status upmu_event_encode(const struct upmu_pmu *pmu, const struct upmu_spec *spec,
                                   struct upmu_event *out_event, struct upmu_why *why)
{
    struct encoder encoder;
    enum upmu_status status;

    memset(&encoder, 0, sizeof encoder);
    encoder.pmu = pmu;
    encoder.catalog = pmu->catalog;
    encoder.spec = spec;
    encoder.event.pmu = pmu->index;
    status = begin_event(&encoder);
    /* If a unit mask is missing, a part that is no attribute may be a misspelt mask: the refusal names that part. */
    if (status == UPMU_OK || status == UPMU_ERR_MASK_REQUIRED) {
        enum upmu_status used = use_attributes(&encoder, true);

        status = used != UPMU_OK ? used : status;
    }
    if (status == UPMU_OK)
        status = finish_event(&encoder);
    if (status == UPMU_OK) {
        *out_event = encoder.event;
        upmu_why_clear(why);
        return status;
    }
    (void)upmu_why_refuse(why, status, pmu, spec->text, encoder.part->position,
                          upmu_spec_part_end(encoder.part) - encoder.part->position);
    /* A word of one or two letters behind the name is meant as an attribute: no similar event is searched. */
    if (why && encoder.near && encoder.catalog && !upmu_why_asks_attribute(why))
        find_nearest(&encoder, &why->nearest);
    if (why && status == UPMU_ERR_WRONG_PMU)
        why->nearest = encoder.event.id;
    if (why)
        why->levels = encoder.levels;
    return status;
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

static void write_raw(struct upmu_text *out, const struct upmu_event *event)
{
    const uint64_t words[3] = {event->config, event->config1, event->config2};
    const char *separator = "raw:";

    for (unsigned i = 0; i < 3; i++)
        if (i == 0 || words[i]) {
            upmu_text_string(out, separator);
            upmu_text_string(out, raw_words[i].name);
            upmu_text_char(out, '=');
            upmu_text_hex(out, words[i]);
            separator = ":";
        }
}

size_t upmu_event_format(const struct upmu_pmu *pmu, const struct upmu_event *event, char *buffer, size_t size)
{
    struct upmu_text out;
    struct upmu_row row;
    bool known = true;
    size_t before;

    upmu_text_begin(&out, buffer, size);
    if (type_of_pmu(pmu) && event->unit)
        upmu_unit_write(&out, pmu, event);
    before = out.length < size ? out.length : size;
    if (event->attributes & UPMU_ATTR_RAW) {
        write_raw(&out, event);
    } else {
        size_t length = upmu_event_name(pmu, event->id, buffer ? buffer + before : NULL, size - before);

        out.length += length;
        known = length && upmu_catalog_row(upmu_catalog_of(pmu, event->id), event->id.row, &row);
    }
    if (known)
        pmu->backend->format(pmu, event, &row, &out);
    if (UPMU_WORLDS && event->world)
        upmu_text_string(&out, event->world == UPMU_WORLD_GUEST ? ":g=1" : ":h=1");
    if (event->attributes & UPMU_ATTR_PIN) {
        upmu_text_string(&out, ":counter=");
        upmu_text_decimal(&out, event->pin);
    }
    return upmu_text_end(&out);
}

#else

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
    (void)event;
    return upmu_event_name(pmu, (struct upmu_event_id){0}, buffer, size);
}

#endif
