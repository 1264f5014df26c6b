/* SPDX-License-Identifier: MIT */
/*
 * Encode events of units: make the select word (config) and the filters (config1, config2) from a catalogue row and
 * attributes, check them, find counters and resources for them; write attributes back as text.
 *
 * Fields of selects: Linux 6.12 (formats in sysfs), Intel's uncore guides 327043-001 and 329468-002, UNCORE_AMD: Linux
 * amd/uncore.c. Fields of filters: uncore_filters.tsv.
 */
#include "backends/uncore/uncore_tables.h"
#include "core/catalog/catalog.h"
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/util/text.h"
#include <upmu/abi.h>

#if UPMU_UNCORE

#define UNCORE_BIT(n) (UINT64_C(1) << (n))
#define UNCORE_OVERFLOW UNCORE_BIT(20) /* an overflow interrupts */
#define UNCORE_FIXED_CODE 0xffu
#define UNCORE_EXTENDED UNCORE_BIT(21)

/* Return the row of upmu_uncore_rows that a PMU was made from; NULL: its type is the host's own. */
static UPMU_APART const struct upmu_uncore_row *packed_row(const struct upmu_pmu *pmu)
{
    unsigned packed = upmu_uncore_of(pmu)->packed;

    return packed ? &upmu_uncore_rows[packed - 1] : NULL;
}

static const struct upmu_uncore_field *fields_of(const struct upmu_pmu *pmu)
{
    const struct upmu_uncore_row *row = packed_row(pmu);

    return row && row->fields ? &upmu_uncore_fields[row->fields] : NULL;
}

static uint64_t field_bits(const struct upmu_uncore_field *field)
{
    return (UNCORE_BIT(field->width) - 1) << (field->bit & 63u);
}

void upmu_uncore_resource_bits(const struct upmu_pmu *pmu, unsigned resources, uint64_t out[2])
{
    out[0] = out[1] = 0;
    /* A host's own type has two resources: config1 and config2 as a whole. */
    if (!packed_row(pmu)) {
        out[0] -= resources & 1u;
        out[1] -= resources >> 1 & 1u;
    }
    for (const struct upmu_uncore_field *field = fields_of(pmu); field && field->width; field++)
        if (resources >> field->resource & 1u)
            out[field->bit >> 6] |= field_bits(field);
}

/* ---- Finish ---- */

/* Store the bits that a type's filters have in config1 (out[0]) and config2 (out[1]). */
static void filter_bits(const struct upmu_unit_type *type, uint64_t out[2])
{
    out[0] = type->filters == 1 ? type->filter_mask[0] : 0;
    out[1] = 0;
    for (unsigned i = 0; type->filters > 1 && i < type->filters; i++)
        out[i >> 1] |= (type->filter_mask[i] & 0xffffffffu) << 32 * (i & 1u);
}

static const struct upmu_uncore_rule *rule_of(const struct upmu_uncore_rule *rule, uint64_t config)
{
    while (rule->mask && (config & rule->mask) != rule->code)
        rule++;
    return rule;
}

/*
 * Return a mask of the counters that the event of a select word may use; 0: none. The code of the fixed counter stands
 * for this counter alone; the code of a free-running counter for that one. Another event has the counters of the first
 * rule for it or, without a rule, all general ones.
 */
static UPMU_APART uint32_t unit_counters_of(const struct upmu_pmu *pmu, uint64_t config)
{
    const struct upmu_unit_type *type = upmu_uncore_of(pmu)->type;
    const struct upmu_uncore_row *row = packed_row(pmu);

    if (type->fixed_width && type->style != UPMU_UNIT_FREE && (config & 0xff) == UNCORE_FIXED_CODE)
        return config == UNCORE_FIXED_CODE ? UPMU_BIT32(UPMU_FIXED_COUNTER(0)) : 0;
    if (row && type->style == UPMU_UNIT_FREE) {
        const uint16_t *codes = &upmu_uncore_words[row->rules];

        /* The codes of general counters, those that this PMU lacks included, then that of the fixed one. */
        for (uint32_t rest = pmu->counters; rest; rest &= rest - 1u) {
            unsigned counter = upmu_bits_lowest(rest);

            if (config == codes[counter < UPMU_FIXED_COUNTER(0) ? counter : type->counters])
                return rest & (0u - rest);
        }
        return 0;
    }
    if (row) {
        const struct upmu_uncore_rule *rule = rule_of(&upmu_uncore_rules[row->rules], config);

        return rule->mask ? rule->what & pmu->general : pmu->general;
    }
    for (const struct upmu_unit_constraint *rule = type->constraints; rule && rule->code_mask; rule++)
        if ((config & rule->code_mask) == rule->code)
            return rule->counters & pmu->counters;
    if (type->style != UPMU_UNIT_FREE)
        return pmu->general;
    return config < UPMU_COUNTERS ? UPMU_BIT32((unsigned)config) & pmu->counters : 0;
}

/*
 * The flags of an event before upmu_uncore_finish() replaces them. Bit i: the text gives a value, even if it is 0, to
 * the select field that begins at bit 42 + i (AMD's L3: CoreId 42, EnAllSlices 46, EnAllCores 47, slices 48).
 * UNCORE_DEFAULT_FILTER: config1 is only a default of the event's row.
 */
#define UNCORE_GIVEN 42u
#define UNCORE_DEFAULT_FILTER 0x80u

/*
 * Return a select of AMD's L3 with its defaults: slices, cores or threads that are not given mean all (Linux
 * amd/uncore.c). From family 19h on, an event whose threads are given has no such default: slices and cores that are
 * not given are 0, as in Linux. `given` are the flags above. Selects of other types are unchanged.
 */
static uint64_t with_defaults(const struct upmu_unit_type *type, uint64_t config, unsigned given)
{
    uint64_t has = config | (uint64_t)(given & ~UNCORE_DEFAULT_FILTER) << UNCORE_GIVEN;

    if (type->quirks & UPMU_UNCORE_SLICES_17H) {
        if (!(config >> 48 & 0xfu))
            config |= UINT64_C(0xf) << 48;
        if (!(config >> 56))
            config |= UINT64_C(0xff) << 56;
    }
    if ((type->quirks & UPMU_UNCORE_SLICES_19H) && !(config >> 56 & 3u)) {
        config |= UINT64_C(3) << 56;
        if (!(has >> 42 & 0x27u))
            config |= UNCORE_BIT(47);
        if (!(has >> 46 & 0x1du))
            config |= UNCORE_BIT(46);
    }
    return config;
}

/*
 * Return a mask of the resources of an event: those whose fields have a value in config1 or config2, and those that
 * apply to the event whatever their value is.
 */
static unsigned resources_of(const struct upmu_pmu *pmu, const struct upmu_event *event)
{
    const struct upmu_unit_type *type = upmu_uncore_of(pmu)->type;
    const struct upmu_uncore_row *row = packed_row(pmu);
    const struct upmu_uncore_rule *rule;
    unsigned resources = 0;

    if (!row || !row->fields) {
        for (unsigned i = 0; i < 2; i++)
            if (i ? event->config2 : event->config1)
                resources |= 1u << i;
        return resources;
    }
    for (const struct upmu_uncore_field *field = fields_of(pmu); field->width; field++)
        if ((field->bit >> 6 ? event->config2 : event->config1) & field_bits(field))
            resources |= 1u << field->resource;
    for (rule = &upmu_uncore_rules[row->rules]; rule->mask; rule++)
        ;
    for (rule++; rule->mask; rule++)
        if ((event->config & rule->mask) == rule->code)
            resources |= rule->what;
    if (event->config & type->select_mask & (type->select_mask & UNCORE_BIT(19) ? UNCORE_BIT(19) : UNCORE_BIT(16)))
        resources |= 1;
    return resources;
}

/* Return the bits of config1 that must be 1 with these resources: the fields without a name. */
static uint64_t constant_bits(const struct upmu_pmu *pmu, unsigned resources)
{
    uint64_t bits = 0;

    for (const struct upmu_uncore_field *field = fields_of(pmu); field && field->width; field++)
        if (!field->name && (resources >> field->resource & 1u))
            bits |= field_bits(field);
    return bits;
}

enum upmu_status upmu_uncore_finish(const struct upmu_pmu *pmu, struct upmu_event *event)
{
    const struct upmu_unit_type *type = upmu_uncore_of(pmu)->type;
    uint64_t ignored = UNCORE_OVERFLOW, filters[2];
    uint32_t counters;
    unsigned resources;

    if (type->enable_bit < 64)
        ignored |= UNCORE_BIT(type->enable_bit);
    event->config &= ~(ignored & ~type->select_mask);
    filter_bits(type, filters);
    /* A free-running counter has no select: config only tells which counter it is, and is not checked here. */
    if (type->style != UPMU_UNIT_FREE && event->config != UNCORE_FIXED_CODE && (event->config & ~type->select_mask))
        return UPMU_ERR_NOT_PERMITTED;
    if ((event->config1 & ~filters[0]) || (event->config2 & ~filters[1]))
        return UPMU_ERR_NOT_PERMITTED;
    /* The text asks for one core (CoreId), and for all cores (EnAllCores). */
    if ((type->quirks & UPMU_UNCORE_SLICES_19H) && (event->flags & 1u) && (event->config & UNCORE_BIT(47)))
        return UPMU_ERR_CONTRADICTION;
    event->config = with_defaults(type, event->config, event->flags);
    counters = unit_counters_of(pmu, event->config);
    /*
     * event->counters, from a catalogue row, are general counters: they do not limit an event that can only use the
     * fixed counter.
     */
    if ((event->counters & counters) || (counters & pmu->general))
        counters &= event->counters ? event->counters : counters;
    event->counters = counters;
    if (!counters)
        return type->style == UPMU_UNIT_FREE || (event->config & ~type->select_mask) ? UPMU_ERR_NOT_PERMITTED
                                                                                     : UPMU_ERR_DOES_NOT_FIT;
    /* In these styles a select has no enable bit, and 0 is its idle value: an event with select word 0 cannot count. */
    if (!event->config && (type->style == UPMU_UNIT_DISCOVERED || type->style == UPMU_UNIT_CLIENT_IMC))
        return UPMU_ERR_UNSUPPORTED;
    resources = resources_of(pmu, event);
    event->config1 |= constant_bits(pmu, resources);
    event->flags = (uint8_t)resources;
    /* A slot can claim UPMU_SLOT_RESOURCES resources: more are refused. No event of Intel's tables needs more. */
    return upmu_bits_count(resources) > UPMU_SLOT_RESOURCES ? UPMU_ERR_UNSUPPORTED : UPMU_OK;
}

/* ---- Names ---- */

#if UPMU_NAMES

/* Is the type AMD's? AMD's selects have no edge detection (bit 18). */
static bool is_amds(const struct upmu_unit_type *type)
{
    return type->style == UPMU_UNIT_SELECT && (type->select_mask & (UNCORE_BIT(18) | 0xff)) == 0xff;
}

/*
 * The fields of selects. `how`: the types that may have the field (STACK: I/O stacks; AMD; ID: AMD's from family 19h
 * on; OTHERS: all others), CODE (part of the event's code), and MASKED: a type has those bits of the field that are in
 * its select_mask. Without MASKED the mask must have all bits of the field. Of fields with the same name a type has the
 * first one that fits.
 */
enum { UNCORE_CODE = 1, UNCORE_MASKED = 2, UNCORE_STACK = 4, UNCORE_OTHERS = 8, UNCORE_AMD = 16, UNCORE_ID = 32 };
static const struct {
    char name[12];
    uint8_t bit, width, how;
} select_fields[] = {
    {"event", 0, 8, UNCORE_CODE | UNCORE_MASKED | UNCORE_OTHERS | UNCORE_STACK | UNCORE_AMD},
    {"umask", 8, 8, UNCORE_CODE | UNCORE_MASKED | UNCORE_OTHERS | UNCORE_STACK | UNCORE_AMD},
    {"umask_ext", 32, 32, UNCORE_MASKED | UNCORE_OTHERS},
    {"edge", 18, 1, UNCORE_OTHERS | UNCORE_STACK},
    {"inv", 23, 1, UNCORE_OTHERS | UNCORE_STACK},
    {"thresh", 24, 8, UNCORE_MASKED | UNCORE_OTHERS},
    {"thresh", 24, 12, UNCORE_STACK},
    {"tid_en", 19, 1, UNCORE_OTHERS},
    {"tid_en", 16, 1, UNCORE_OTHERS},
    {"occ_sel", 14, 2, UNCORE_OTHERS},
    {"occ_invert", 30, 1, UNCORE_OTHERS},
    {"occ_edge", 31, 1, UNCORE_OTHERS},
    {"chmask", 8, 4, UNCORE_OTHERS},
    {"fc_mask", 48, 3, UNCORE_STACK},
    {"fc_mask", 44, 3, UNCORE_STACK},
    {"ch_mask", 36, 12, UNCORE_STACK},
    {"ch_mask", 36, 8, UNCORE_STACK},
    {"slicemask", 48, 4, UNCORE_AMD},
    {"sliceid", 48, 3, UNCORE_ID},
    {"threadmask", 56, 8, UNCORE_AMD},
    {"threadmask", 56, 2, UNCORE_AMD},
    {"coreid", 42, 3, UNCORE_AMD},
    {"enallslices", 46, 1, UNCORE_AMD},
    {"enallcores", 47, 1, UNCORE_AMD},
    {"rdwrmask", 8, 2, UNCORE_AMD},
};
#define UNCORE_SELECT_FIELDS (sizeof select_fields / sizeof select_fields[0])

/* Other names that texts may use for fields of selects and filters, from libpfm4 and perf: {other name, name here}. */
static const char synonyms[][2][13] = {
    {"e", "edge"},
    {"i", "inv"},
    {"t", "thresh"},
    {"c", "thresh"},
    {"cmask", "thresh"},
    {"thr", "thresh"},
    {"threshold", "thresh"},
    {"oi", "occ_invert"},
    {"oe", "occ_edge"},
    {"occ_inv", "occ_invert"},
    {"occ_edge_det", "occ_edge"},
    {"threadmask8", "threadmask"},
    {"threadmask2", "threadmask"},
    {"tf", "filter_tid"},
    {"nf", "filter_nid"},
    {"isoc", "filter_isoc"},
    {"nc", "filter_nc"},
    {"filter_local", "filter_loc"},
    {"filter", "config1"},
};
#define UNCORE_SYNONYMS (sizeof synonyms / sizeof synonyms[0])

/* Is the type an I/O stack, whose selects have masks of channels and of completions in their upper half? */
static bool is_stack(const struct upmu_unit_type *type)
{
    return type->select_mask >> 32 == 0x7fff || type->select_mask >> 32 == 0x7ffff;
}

/* Return the bits of field `i` of select_fields in the selects of a type; 0: the type does not have this field. */
static uint64_t select_field(const struct upmu_unit_type *type, unsigned i)
{
    uint64_t bits = (UNCORE_BIT(select_fields[i].width) - 1) << select_fields[i].bit, mask = type->select_mask;
    unsigned how = select_fields[i].how, kind = UNCORE_OTHERS;

    /*
     * AMD's L3: families 17h and 18h select slices by a mask; later families may also select one slice by its number.
     */
    if (is_amds(type))
        kind = type->quirks & UPMU_UNCORE_SLICES_17H ? UNCORE_AMD : UNCORE_AMD | UNCORE_ID;
    else if (is_stack(type))
        kind = UNCORE_STACK;
    if (!(how & kind) || (!(how & UNCORE_MASKED) && (bits & ~mask)))
        return 0;
    /* Above a threshold of five bits, a hole and other fields follow. */
    bits &= mask;
    return select_fields[i].bit == 24 ? bits & ~(bits + UNCORE_BIT(24)) : bits;
}

/*
 * Set a field of a word. Without a value (NULL) the field must have one bit, which becomes 1. UPMU_ERR_BAD_VALUE: the
 * value is missing or too large; UPMU_ERR_CONTRADICTION: the field has another value than 0 and this one already.
 */
static enum upmu_status put_field(uint64_t *word, uint64_t bits, unsigned shift, const uint64_t *value)
{
    uint64_t room = bits >> shift, is = value ? *value : 1;

    if ((!value && room != 1) || (is & ~room))
        return UPMU_ERR_BAD_VALUE;
    is <<= shift;
    if (*word & bits)
        return (*word & bits) == is ? UPMU_OK : UPMU_ERR_CONTRADICTION;
    *word |= is;
    return UPMU_OK;
}

/*
 * Return the select bits of an event code. AMD's has its upper bits from bit 32, or 32 and 59, on; Nehalem-EX's may
 * begin at bit 1; others have bit 8 of the code at bit 21, and no room for higher bits (is_code_wide()).
 */
static uint64_t code_word(const struct upmu_unit_type *type, uint64_t code)
{
    uint64_t mask = type->select_mask;

    if (!is_amds(type))
        return mask & 1u || !mask ? (code & 0xffu) | (code & 0x100 ? UNCORE_EXTENDED : 0) : code << 1;
    if (mask & UNCORE_BIT(59))
        return (code & 0xffu) | (code >> 8 & 0xfu) << 32 | code >> 12 << 59;
    return (code & 0xffu) | code >> 8 << 32;
}

/* Has an event code bits that code_word() has no place for? */
static bool is_code_wide(const struct upmu_unit_type *type, uint64_t code)
{
    return code >> 9 && !is_amds(type) && (type->select_mask & 1u || !type->select_mask);
}

/*
 * Return the select bits of a unit mask in perf's form, whose bits from 8 on are at bits 32 up of the select, those of
 * AMD at bits 24 up.
 */
static uint64_t umask_word(const struct upmu_unit_type *type, uint64_t umask)
{
    return (umask & 0xffu) << 8 | (umask >> 8) << (is_amds(type) ? 24 : 32);
}

static enum upmu_status set_code(const struct upmu_unit_type *type, struct upmu_event *event, bool umask,
                                 const uint64_t *value)
{
    unsigned width = !umask ? 16 : is_amds(type) ? 12 : 40;
    uint64_t word, bits;

    if (!value || *value >> width || (!umask && is_code_wide(type, *value)))
        return UPMU_ERR_BAD_VALUE;
    word = umask ? umask_word(type, *value) : code_word(type, *value);
    bits = umask ? umask_word(type, UNCORE_BIT(width) - 1) : code_word(type, 0xffff);
    if (word & ~type->select_mask && (umask || word != UNCORE_FIXED_CODE))
        return UPMU_ERR_BAD_VALUE;
    /* A named event has its code and unit mask from its row: the number in the text must be the same. */
    if (event->attributes & UPMU_ATTR_RAW)
        event->config |= word;
    return (event->config & bits & type->select_mask) == (word & type->select_mask) ? UPMU_OK : UPMU_ERR_CONTRADICTION;
}

/* If config1 is only the row's default, and the text gives one of its fields (`bits`), clear this field first. */
static UPMU_APART void drop_default(struct upmu_event *event, uint64_t bits)
{
    if (!(event->flags & UNCORE_DEFAULT_FILTER) || !(event->config1 & bits))
        return;
    event->config1 &= ~bits;
    event->flags = 0;
}

static enum upmu_status set_filter_word(struct upmu_event *event, uint64_t *word, const uint64_t *value)
{
    if (!value)
        return UPMU_ERR_BAD_VALUE;
    if (word == &event->config1)
        drop_default(event, ~UINT64_C(0));
    if (*word & ~*value)
        return UPMU_ERR_CONTRADICTION;
    *word = *value;
    return UPMU_OK;
}

static enum upmu_status set_filter_field(const struct upmu_pmu *pmu, struct upmu_event *event, const char *name,
                                         size_t length, const uint64_t *value)
{
    for (const struct upmu_uncore_field *field = fields_of(pmu); field && field->width; field++)
        if (upmu_text_is(name, length, &upmu_uncore_text[field->name])) {
            uint64_t bits = field_bits(field);

            drop_default(event, field->bit >> 6 ? 0 : bits);
            return put_field(field->bit >> 6 ? &event->config2 : &event->config1, bits, field->bit & 63u, value);
        }
    return UPMU_ERR_NO_SUCH_ATTRIBUTE;
}

enum upmu_status upmu_uncore_attribute(const struct upmu_pmu *pmu, struct upmu_event *event, const char *name,
                                       size_t length, const uint64_t *value)
{
    const struct upmu_unit_type *type = upmu_uncore_of(pmu)->type;

    for (unsigned i = 0; i < UNCORE_SYNONYMS; i++)
        if (upmu_text_is(name, length, synonyms[i][0])) {
            name = synonyms[i][1];
            length = upmu_text_length(name);
            break;
        }
    if (upmu_text_is(name, length, "config1"))
        return set_filter_word(event, &event->config1, value);
    if (upmu_text_is(name, length, "config2"))
        return set_filter_word(event, &event->config2, value);
    for (unsigned i = 0; i < UNCORE_SELECT_FIELDS; i++) {
        uint64_t bits = select_field(type, i);

        /* Field 0, the code, is accepted even without bits: a type may have nothing but a fixed counter. */
        if ((!bits && i) || !upmu_text_is(name, length, select_fields[i].name))
            continue;
        if (select_fields[i].how & UNCORE_CODE)
            return set_code(type, event, select_fields[i].bit == 8, value);
        if (select_fields[i].bit - UNCORE_GIVEN < 7u)
            event->flags |= (uint8_t)(1u << (select_fields[i].bit - UNCORE_GIVEN));
        return put_field(&event->config, bits, select_fields[i].bit, value);
    }
    return set_filter_field(pmu, event, name, length, value);
}

/* ---- Fields ---- */

/*
 * Return the bits of an event's code (`umask` false) or unit mask in the words of a type. A unit mask of two bits that
 * are a field of their own (occ_sel, rdwrmask) is none. A counter that no select controls has the code of its event.
 */
static uint64_t code_bits(const struct upmu_pmu *pmu, bool umask)
{
    const struct upmu_unit_type *type = upmu_uncore_of(pmu)->type;
    bool is_reading = packed_row(pmu) && upmu_uncore_has_readings(packed_row(pmu));
    uint64_t mask = type->style != UPMU_UNIT_FREE ? type->select_mask : is_reading ? 0xffu : 0xffffu;
    uint64_t code = mask & (0xffu | (is_amds(type) ? code_word(type, 0x3fff) : UNCORE_EXTENDED));

    /* In selects of AMD's L3 threads have bits that in others are the code's. */
    if (!umask && (!code || type->quirks & (UPMU_UNCORE_SLICES_17H | UPMU_UNCORE_SLICES_19H)))
        return 0xff;
    if (!umask)
        return code;
    if ((mask & 0xff00u) == (is_amds(type) ? 0x300u : 0xc000u))
        return 0;
    return mask & umask_word(type, is_amds(type) ? 0xfff : is_stack(type) ? 0xff : UNCORE_BIT(40) - 1);
}

bool upmu_uncore_field(const struct upmu_pmu *pmu, unsigned index, struct upmu_unit_field *out_field)
{
    const struct upmu_unit_type *type = upmu_uncore_of(pmu)->type;
    uint64_t taken = 0, words[2];
    const char *last = "";

    for (unsigned i = 0; i < UNCORE_SELECT_FIELDS; i++) {
        const char *name = select_fields[i].name;
        uint64_t bits =
            select_fields[i].how & UNCORE_CODE ? code_bits(pmu, select_fields[i].bit != 0) : select_field(type, i);

        /* Fields that overlap are other names of the same bits; of fields with one name, which follow each other, a
           type has the first. */
        if (!bits || bits & taken || upmu_text_is(last, upmu_text_length(last), name))
            continue;
        taken |= bits;
        last = name;
        *out_field = (struct upmu_unit_field){name, bits, 0};
        if (!index--)
            return true;
    }
    for (const struct upmu_uncore_field *field = fields_of(pmu); field && field->width; field++) {
        *out_field = (struct upmu_unit_field){
            .name = &upmu_uncore_text[field->name], .bits = field_bits(field), .word = 1u + (field->bit >> 6)};
        if (field->name && !index--)
            return true;
    }
    /* A type without fields, as one of the host's own, has filters as whole words. */
    if (fields_of(pmu) || index > 1)
        return false;
    filter_bits(type, words);
    *out_field = (struct upmu_unit_field){index ? "filter2" : "filter", words[index], 1u + index};
    return words[index] != 0;
}

/* Is an event absent on this processor, although its row is in a catalogue that several processors share? */
static UPMU_APART bool is_absent(const struct upmu_pmu *pmu, struct upmu_event_id id)
{
    for (unsigned i = 0; i < upmu_uncore_absent_count; i++) {
        const struct upmu_uncore_absent *absent = &upmu_uncore_absent[i];

        if (absent->generation + 1u == pmu->variant && id.row - (unsigned)absent->first < absent->rows)
            return upmu_catalog_source(upmu_catalog_of(pmu, id)) == UPMU_SOURCE_BUILT_IN;
    }
    return false;
}

enum upmu_status upmu_uncore_from_row(const struct upmu_pmu *pmu, const struct upmu_row *row, struct upmu_event *event)
{
    const struct upmu_unit_type *type = upmu_uncore_of(pmu)->type;

    /* The row's event is for another type of unit than this PMU's. */
    if (row->unit != type->number)
        return UPMU_ERR_UNSUPPORTED;
    if (is_absent(pmu, event->id) || is_code_wide(type, row->code))
        return UPMU_ERR_UNSUPPORTED;
    /* A fixed counter's pseudo code would select another event on a general counter. */
    if ((row->flags & UPMU_ROW_FIXED_ONLY) && !type->fixed_width && type->style != UPMU_UNIT_FREE)
        return UPMU_ERR_UNSUPPORTED;
    event->counters = row->counters;
    event->config = code_word(type, row->code) | umask_word(type, row->umask);
    /* The register of this name cannot be read on the machine. */
    if (packed_row(pmu) && upmu_uncore_has_readings(packed_row(pmu)) && !unit_counters_of(pmu, event->config))
        return UPMU_ERR_UNSUPPORTED;
    if (row->flags & UPMU_ROW_CMASK)
        event->config |= (uint64_t)row->cmask << 24;
    if (row->flags & UPMU_ROW_EDGE)
        event->config |= UNCORE_BIT(18);
    if (row->flags & UPMU_ROW_INV)
        event->config |= UNCORE_BIT(23);
    if (row->msr == UPMU_ROW_SELECT_HIGH)
        event->config |= row->payload << 32;
    if (row->msr == UPMU_ROW_FILTER) {
        event->config1 |= row->payload;
        event->flags = row->flags & UPMU_ROW_PAYLOAD ? 0 : UNCORE_DEFAULT_FILTER;
    }
    return UPMU_OK;
}

/* Append the fields of the select that differ from the row's, by name, and filters that differ as words. */
void upmu_uncore_format(const struct upmu_pmu *pmu, const struct upmu_event *event, const struct upmu_row *row,
                        struct upmu_text *out)
{
    const struct upmu_unit_type *type = upmu_uncore_of(pmu)->type;
    struct upmu_event plain = {.id = event->id};
    uint64_t more;

    if (event->attributes & UPMU_ATTR_RAW)
        return;
    (void)upmu_uncore_from_row(pmu, row, &plain);
    more = event->config ^ with_defaults(type, plain.config, 0);
    /* If threads (bits 56 on) were given, there were no defaults from family 19h on: compare with the row alone. */
    if (more >> 56)
        more = event->config ^ plain.config;
    for (unsigned i = 0; i < UNCORE_SELECT_FIELDS && more; i++) {
        uint64_t bits = select_field(type, i);

        if (!(bits & more) || (select_fields[i].how & UNCORE_CODE))
            continue;
        more &= ~bits;
        upmu_text_char(out, ':');
        upmu_text_string(out, select_fields[i].name);
        upmu_text_char(out, '=');
        upmu_text_hex(out, (event->config & bits) >> select_fields[i].bit);
    }
    if (event->config1 != (plain.config1 | constant_bits(pmu, event->flags))) {
        upmu_text_string(out, ":config1=");
        upmu_text_hex(out, event->config1);
    }
    if (event->config2) {
        upmu_text_string(out, ":config2=");
        upmu_text_hex(out, event->config2);
    }
}

#endif

#endif
