/* SPDX-License-Identifier: MIT */
/*
 * Parse specifications of events: split a text into counter index, unit, PMU, name and attributes. The parser knows no
 * hardware; docs/EVENTS.md describes what it accepts. Pure.
 */
#include "core/event/spec.h"

#include "core/util/apart.h"
#include "core/util/mem.h"
#include "core/util/text.h"
#include "core/event/why.h"

#if UPMU_NAMES

/* A text may have fewer bytes than this, because positions in struct upmu_spec_part have 16 bits. */
#define TEXT_LIMIT 65535u

/* Attributes without '=' that may follow a comma: there any other word without '=' begins a new specification. */
static const char reserved_words[][11] = {"os",        "usr",     "edge",       "inv",    "any",
                                          "anythread", "precise", "complement", "cascade"};

/* The state of parsing one specification. */
struct parser {
    const char *at;  /* text that is not parsed yet; after a refusal, the refused part */
    const char *end; /* where the text ends if no NUL comes before that; NULL: at its NUL */
    enum upmu_status refusal;
    struct upmu_spec_part *attribute; /* the element of spec.attribute that the next attribute gets */
    struct upmu_spec spec;
};

/*
 * Classes of characters, a bit each. A character may be: a blank; part of any word; part of NAME in NAME=VALUE; part of
 * a name that has no unit before it; part of a counter index.
 */
#define IN_BLANK 1u
#define IN_WORD 2u
#define IN_NAME 4u
#define IN_PLAIN 8u
#define IN_INDEX 16u

#define PRINT (IN_WORD | IN_NAME | IN_PLAIN)
#define DIGIT (PRINT | IN_INDEX)
#define SLASH (PRINT & ~IN_PLAIN)
#define EQUAL IN_WORD
#define BLANK IN_BLANK
#define FOUR(use) use, use, use, use
#define SIXTEEN(use) FOUR(use), FOUR(use), FOUR(use), FOUR(use)

/* clang-format off */
/* The classes of each character, in order of its code; ',', ':' and all bytes from 7Fh on belong to no word. */
static const uint8_t uses[256] = {
    FOUR(0), FOUR(0), 0, BLANK, BLANK, 0, 0, BLANK, 0, 0,
    SIXTEEN(0),
    BLANK, PRINT, PRINT, PRINT, FOUR(PRINT), FOUR(PRINT), 0, PRINT, PRINT, SLASH,
    FOUR(DIGIT), FOUR(DIGIT), DIGIT, DIGIT, 0, PRINT, PRINT, EQUAL, PRINT, PRINT,
    SIXTEEN(PRINT), SIXTEEN(PRINT),
    SIXTEEN(PRINT), FOUR(PRINT), FOUR(PRINT), FOUR(PRINT), PRINT, PRINT, PRINT, 0,
};
/* clang-format on */

/* Return the character at `at`; NUL: the text ends there. */
static char character_at(const struct parser *parser, const char *at)
{
    return at == parser->end ? '\0' : *at;
}

/* Return the address of the first character, from `at` on, that is not of the class `use`. */
static const char *skip_class(const struct parser *parser, const char *at, unsigned use)
{
    while (uses[(unsigned char)character_at(parser, at)] & use)
        at++;
    return at;
}

/*
 * Return the end of the word that began at `begin` and goes on at `at`; a '/' at its end, as perf has it, is left out.
 */
static const char *word_end(const struct parser *parser, const char *begin, const char *at)
{
    const char *end = skip_class(parser, at, IN_WORD);

    return end > begin && end[-1] == '/' ? end - 1 : end;
}

static void set_part(struct parser *parser, struct upmu_spec_part *part, const char *begin, const char *end)
{
    part->position = (uint16_t)(begin - parser->spec.text);
    part->length = (uint16_t)(end - begin);
}

/* Move parser->at to `end`, and note that all text before `end` belongs to the specification. */
static void pass_part(struct parser *parser, const char *end)
{
    parser->at = end;
    parser->spec.end = (uint16_t)(end - parser->spec.text);
}

static UPMU_APART bool is_reserved(const char *word, const char *end)
{
    for (unsigned i = 0; i < sizeof reserved_words / sizeof reserved_words[0]; i++)
        if (upmu_text_is(word, (size_t)(end - word), reserved_words[i]))
            return true;
    return false;
}

/* Parse the counter index before a specification, if there is one: a number, blanks, and a word behind them. */
static UPMU_APART void parse_row(struct parser *parser)
{
    const char *end = skip_class(parser, parser->at, IN_INDEX);
    const char *next = skip_class(parser, end, IN_BLANK);

    if (end == parser->at || next == end || next == skip_class(parser, next, IN_WORD))
        return;
    set_part(parser, &parser->spec.row, parser->at, end);
    parser->spec.row.value = parser->spec.row.position;
    parser->spec.row.value_length = parser->spec.row.length;
    parser->at = next;
}

/*
 * Parse [unit/][pmu::]NAME; false: the text has another form. In perf's unit/term=value… there is no NAME, and the
 * first term is left to parse_attributes().
 */
static bool parse_name(struct parser *parser)
{
    struct upmu_spec *spec = &parser->spec;
    const char *name, *end;
    bool plain;

    for (;;) {
        name = parser->at;
        end = skip_class(parser, name, IN_PLAIN);
        /* If `plain` is false, the word has a '/' (behind a unit, or perf's at the end) or perf's '='. */
        plain = end == skip_class(parser, end, IN_WORD);
        if (!plain)
            for (end = name = word_end(parser, name, end); name > parser->at && name[-1] != '/';)
                name--;
        if (name > parser->at) {
            if (spec->pmu.length)
                return false;
            set_part(parser, &spec->unit, parser->at, name - 1);
            parser->at = name;
            if (!spec->unit.length)
                return false;
        }
        if (name == end)
            return false;
        if (spec->pmu.length || character_at(parser, end) != ':' || character_at(parser, end + 1) != ':')
            break;
        set_part(parser, &spec->pmu, name, end);
        parser->at = end + 2;
    }
    if (!plain && character_at(parser, skip_class(parser, name, IN_NAME)) == '=') {
        spec->name.position = (uint16_t)(name - spec->text);
        return spec->unit.length && !spec->pmu.length;
    }
    set_part(parser, &spec->name, name, end);
    if (is_reserved(name, end))
        return false;
    pass_part(parser, end);
    return true;
}

/* Add the attribute at parser->at, NAME or NAME=VALUE, to the specification; false: it is refused. */
static bool add_attribute(struct parser *parser, char separator)
{
    const char *begin = parser->at;
    const char *equals = skip_class(parser, begin, IN_NAME);
    const char *end = word_end(parser, begin, equals);
    struct upmu_spec_part *part = parser->attribute++;

    if (parser->spec.attribute_count == UPMU_SPEC_ATTRIBUTES) {
        parser->refusal = UPMU_ERR_NO_SPACE;
        return false;
    }
    parser->spec.attribute_count++;
    part->separator = separator;
    if (character_at(parser, equals) == '=') {
        part->value = (uint16_t)(equals + 1 - parser->spec.text);
        part->value_length = (uint16_t)(end - equals - 1);
        if (equals + 1 == end)
            return false;
    } else {
        equals = end;
    }
    set_part(parser, part, begin, equals);
    if (equals == begin || end[-1] == '/')
        return false;
    pass_part(parser, end);
    return true;
}

/* Does the word at `at`, which follows a comma, belong to the specification before the comma, as an attribute? */
static bool continues_spec(const struct parser *parser, const char *at)
{
    const char *end = skip_class(parser, at, IN_PLAIN);

    return character_at(parser, end) == '=' || is_reserved(at, end);
}

/*
 * Parse attributes up to the end of the text or the next specification, which begins after blanks, or after a comma if
 * no attribute follows the comma. Returns false if an attribute is refused.
 */
static bool parse_attributes(struct parser *parser)
{
    for (;;) {
        const char *next;
        char separator;

        if (character_at(parser, parser->at) == '/')
            parser->at++;
        separator = character_at(parser, parser->at);
        next = skip_class(parser, parser->at, IN_BLANK);
        if (!parser->spec.name.length && !parser->spec.attribute_count) {
            separator = '/';
        } else if (separator == ':') {
            parser->at++;
        } else if (character_at(parser, next) == ',') {
            parser->at = next;
            next = skip_class(parser, next + 1, IN_BLANK);
            if (!character_at(parser, next) || *next == ',')
                return false;
            parser->at = next;
            if (!continues_spec(parser, next))
                return true;
            separator = ',';
        } else {
            bool ends = next != parser->at || !character_at(parser, next);

            parser->at = next;
            return ends;
        }
        if (!add_attribute(parser, separator))
            return false;
    }
}

enum upmu_status upmu_spec_next_n(const char *list, size_t bytes, size_t *cursor, struct upmu_spec *out_spec,
                                  struct upmu_why *why)
{
    struct parser parser;
    size_t position, length;
    bool good;

    memset(&parser, 0, sizeof parser);
    parser.spec.text = list;
    parser.attribute = parser.spec.attribute;
    parser.end = bytes == UPMU_TO_NUL ? NULL : list + bytes;
    parser.at = skip_class(&parser, list + *cursor, IN_BLANK);
    parser.refusal = character_at(&parser, parser.at) ? UPMU_ERR_SYNTAX : UPMU_ERR_END;
    parse_row(&parser);
    good = parse_name(&parser) && parse_attributes(&parser);
    position = (size_t)(parser.at - list);
    length = (size_t)(skip_class(&parser, parser.at, IN_WORD) - parser.at);
    if (position >= TEXT_LIMIT) {
        parser.refusal = UPMU_ERR_NO_SPACE;
        position = TEXT_LIMIT;
        length = 0;
    } else if (good) {
        *out_spec = parser.spec;
        *cursor = position;
        upmu_why_clear(why);
        return UPMU_OK;
    } else if (!length && character_at(&parser, parser.at)) {
        length = 1;
    }
    return upmu_why_refuse(why, parser.refusal, NULL, list, position, length);
}

size_t upmu_spec_part_end(const struct upmu_spec_part *part)
{
    return part->value ? (size_t)part->value + part->value_length : (size_t)part->position + part->length;
}

size_t upmu_spec_format(const struct upmu_spec *spec, char *buffer, size_t size)
{
    static const char ends[][3] = {" ", "/", "::"};
    const struct upmu_spec_part *const prefixes[] = {&spec->row, &spec->unit, &spec->pmu};
    const struct upmu_spec_part *part = spec->attribute;
    struct upmu_text out;

    upmu_text_begin(&out, buffer, size);
    for (unsigned i = 0; i < 3; i++) {
        const char *text = spec->text + prefixes[i]->position;
        const char *end = text + prefixes[i]->length;

        if (text == end)
            continue;
        while (text < end)
            upmu_text_char(&out, upmu_text_lower(*text++));
        upmu_text_string(&out, ends[i]);
    }
    upmu_text_bytes(&out, spec->text + spec->name.position, spec->name.length);
    for (unsigned i = spec->attribute_count; i > 0; i--, part++) {
        if (part->separator != '/')
            upmu_text_char(&out, part->separator);
        upmu_text_bytes(&out, spec->text + part->position, upmu_spec_part_end(part) - part->position);
    }
    return upmu_text_end(&out);
}

#else

enum upmu_status upmu_spec_next_n(const char *list, size_t bytes, size_t *cursor, struct upmu_spec *out_spec,
                                  struct upmu_why *why)
{
    (void)list;
    (void)bytes;
    (void)cursor;
    (void)out_spec;
    return upmu_why_refuse(why, UPMU_ERR_COMPILED_OUT, NULL, NULL, 0, 0);
}

size_t upmu_spec_format(const struct upmu_spec *spec, char *buffer, size_t size)
{
    struct upmu_text out;

    (void)spec;
    upmu_text_begin(&out, buffer, size);
    return upmu_text_end(&out);
}

#endif

enum upmu_status upmu_spec_next(const char *list, size_t *cursor, struct upmu_spec *out_spec, struct upmu_why *why)
{
    return upmu_spec_next_n(list, UPMU_TO_NUL, cursor, out_spec, why);
}
