/* SPDX-License-Identifier: MIT */
/*
 * Specifications: from text to name and attributes.  The one parser; it knows no
 * hardware, and docs/EVENTS.md is its description.  Pure.
 */
#include <upmu/event.h>

#include "core/mem.h"
#include "core/text.h"
#include "core/why.h"

#if UPMU_NAMES

/* Positions are 16 bits. */
#define TEXT_LIMIT 65535u

/* After a comma, these belong to the specification before. */
static const char reserved_words[] = "os\0usr\0edge\0inv\0any\0anythread\0precise\0complement\0cascade\0";

/* A specification being parsed. */
struct parser {
    const char *text;
    size_t at; /* what comes next */
    struct upmu_spec spec;
    struct upmu_why *why;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_word(char c)
{
    return c > ' ' && c < 0x7f && c != ',' && c != ':';
}

static size_t skip_blanks(const char *text, size_t at)
{
    while (at < TEXT_LIMIT && is_blank(text[at]))
        at++;
    return at;
}

static size_t word_end(const char *text, size_t at)
{
    while (at < TEXT_LIMIT && is_word(text[at]))
        at++;
    return at;
}

static bool is_reserved(const char *word, size_t length)
{
    for (const char *reserved = reserved_words; *reserved; reserved += upmu_text_length(reserved) + 1u)
        if (upmu_text_is(word, length, reserved))
            return true;
    return false;
}

static void set_part(struct upmu_spec_part *part, size_t begin, size_t end)
{
    part->position = (uint16_t)begin;
    part->length = (uint16_t)(end - begin);
}

/* Where `c` stands in [begin, end), or `end`. */
static size_t find_first(const char *text, size_t begin, size_t end, char c)
{
    while (begin < end && text[begin] != c)
        begin++;
    return begin;
}

/* A refusal at `position`; a text that goes on past the limit is only too long. */
static enum upmu_status bad_text(struct parser *parser, enum upmu_status status, size_t position, size_t length)
{
    if (position >= TEXT_LIMIT || parser->at >= TEXT_LIMIT) {
        status = UPMU_ERR_NO_SPACE;
        position = TEXT_LIMIT;
        length = 0;
    }
    return upmu_why_refuse(parser->why, status, NULL, parser->text, position, length);
}

/* Syntax error: the rest of the word at `position`, or the one character there. */
static enum upmu_status bad_syntax(struct parser *parser, size_t position)
{
    size_t end = word_end(parser->text, position);

    if (end == position && position < TEXT_LIMIT && parser->text[position])
        end++;
    return bad_text(parser, UPMU_ERR_SYNTAX, position, end - position);
}

/* A leading counter index: a bare number, a blank, and something to count. */
static void parse_row(struct parser *parser)
{
    size_t end = parser->at;
    size_t next;

    while (end < TEXT_LIMIT && parser->text[end] >= '0' && parser->text[end] <= '9')
        end++;
    next = skip_blanks(parser->text, end);
    if (end == parser->at || next == end || !parser->text[next] || parser->text[next] == ',')
        return;
    set_part(&parser->spec.row, parser->at, end);
    parser->at = next;
}

/* The last '/' of a word ends the unit; false: it is empty. */
static bool parse_unit(struct parser *parser, size_t end)
{
    size_t name = end;

    while (name > parser->at && parser->text[name - 1u] != '/')
        name--;
    if (name == parser->at)
        return true;
    set_part(&parser->spec.unit, parser->at, name - 1u);
    parser->at = name;
    return parser->spec.unit.length != 0;
}

/* Attribute [begin, end); NAME=VALUE is split at the first '='. */
static enum upmu_status add_attribute(struct parser *parser, char separator, size_t begin, size_t end)
{
    size_t equals = find_first(parser->text, begin, end, '=');
    struct upmu_spec_part *part = &parser->spec.attribute[parser->spec.attribute_count];

    if (equals == begin || equals + 1u == end)
        return bad_syntax(parser, begin);
    if (parser->spec.attribute_count == UPMU_SPEC_ATTRIBUTES)
        return bad_text(parser, UPMU_ERR_NO_SPACE, begin, end - begin);
    set_part(part, begin, equals);
    if (equals < end) {
        part->value = (uint16_t)(equals + 1u);
        part->value_length = (uint16_t)(end - equals - 1u);
    }
    part->separator = separator;
    parser->spec.attribute_count++;
    return UPMU_OK;
}

/* perf closes "unit/…" with a slash. */
static size_t without_slash(const struct parser *parser, size_t begin, size_t end)
{
    return end > begin + 1u && parser->text[end - 1u] == '/' ? end - 1u : end;
}

/* [unit/][pmu::]NAME, or perf's unit/term=value… where the terms are attributes. */
static enum upmu_status parse_name(struct parser *parser)
{
    const char *text = parser->text;
    size_t end = word_end(text, parser->at);
    size_t next = end;

    if (text[end] == ':' && text[end + 1u] == ':') {
        if (!parse_unit(parser, end) || parser->at == end)
            return bad_syntax(parser, parser->at);
        set_part(&parser->spec.pmu, parser->at, end);
        parser->at = end + 2u;
        next = word_end(text, parser->at);
        end = without_slash(parser, parser->at, next);
        if (find_first(text, parser->at, end, '/') < end)
            return bad_syntax(parser, parser->at);
    } else {
        end = without_slash(parser, parser->at, end);
        if (!parse_unit(parser, end))
            return bad_syntax(parser, parser->at);
    }
    set_part(&parser->spec.name, parser->at, end);
    if (find_first(text, parser->at, end, '=') < end) {
        if (!parser->spec.unit.length || parser->spec.pmu.length)
            return bad_syntax(parser, parser->at);
        parser->spec.name.length = 0;
        parser->at = next;
        return add_attribute(parser, '/', parser->spec.name.position, end);
    }
    if (parser->at == end || is_reserved(text + parser->at, end - parser->at))
        return bad_syntax(parser, parser->at);
    parser->at = next;
    return UPMU_OK;
}

/* After a comma: does what stands at `at` belong to the specification before? */
static bool continues(const char *text, size_t at)
{
    size_t end = at;

    while (end < TEXT_LIMIT && is_word(text[end]) && text[end] != '=' && text[end] != '/')
        end++;
    return end > at && (text[end] == '=' || is_reserved(text + at, end - at));
}

static enum upmu_status parse_attributes(struct parser *parser)
{
    const char *text = parser->text;

    for (;;) {
        size_t begin = skip_blanks(text, parser->at);
        char separator = text[parser->at];
        size_t end;
        enum upmu_status status;

        if (separator == ':') {
            begin = parser->at + 1u;
        } else if (text[begin] == ',' && continues(text, skip_blanks(text, begin + 1u))) {
            separator = ',';
            begin = skip_blanks(text, begin + 1u);
        } else {
            return UPMU_OK;
        }
        end = word_end(text, begin);
        parser->at = end;
        if (begin == end)
            return bad_syntax(parser, begin);
        if (parser->spec.unit.length)
            end = without_slash(parser, begin, end);
        if (end < parser->at && text[end - 1u] == '/')
            return bad_syntax(parser, begin);
        status = add_attribute(parser, separator, begin, end);
        if (status != UPMU_OK)
            return status;
    }
}

/* What follows must be the end, a blank, or a comma and another specification. */
static enum upmu_status parse_separator(struct parser *parser)
{
    const char *text = parser->text;
    size_t next = skip_blanks(text, parser->at);

    if (text[next] == ',') {
        size_t after = skip_blanks(text, next + 1u);

        if (!text[after] || text[after] == ',')
            return bad_syntax(parser, next);
        next = after;
    } else if (text[next] && next == parser->at) {
        return bad_syntax(parser, next);
    }
    parser->at = next;
    return next < TEXT_LIMIT ? UPMU_OK : bad_text(parser, UPMU_ERR_NO_SPACE, next, 0);
}

enum upmu_status upmu_spec_next(const char *list, size_t *cursor, struct upmu_spec *out_spec, struct upmu_why *why)
{
    struct parser parser = { .text = list, .at = *cursor, .why = why };
    enum upmu_status status;

    parser.spec.text = list;
    if (parser.at < TEXT_LIMIT)
        parser.at = skip_blanks(list, parser.at);
    if (parser.at >= TEXT_LIMIT)
        return bad_text(&parser, UPMU_ERR_NO_SPACE, parser.at, 0);
    if (!list[parser.at])
        return upmu_why_refuse(why, UPMU_ERR_END, NULL, list, parser.at, 0);
    parse_row(&parser);
    status = parse_name(&parser);
    if (status == UPMU_OK)
        status = parse_attributes(&parser);
    if (status == UPMU_OK)
        status = parse_separator(&parser);
    if (status != UPMU_OK)
        return status;
    *out_spec = parser.spec;
    *cursor = parser.at;
    upmu_why_clear(why);
    return UPMU_OK;
}

static void write_prefix(struct upmu_text *out, const char *text, const struct upmu_spec_part *part, const char *end)
{
    if (!part->length)
        return;
    for (unsigned i = 0; i < part->length; i++)
        upmu_text_char(out, upmu_text_lower(text[part->position + i]));
    upmu_text_string(out, end);
}

size_t upmu_spec_format(const struct upmu_spec *spec, char *buffer, size_t size)
{
    struct upmu_text out;

    upmu_text_begin(&out, buffer, size);
    write_prefix(&out, spec->text, &spec->row, " ");
    write_prefix(&out, spec->text, &spec->unit, "/");
    write_prefix(&out, spec->text, &spec->pmu, "::");
    upmu_text_bytes(&out, spec->text + spec->name.position, spec->name.length);
    for (unsigned i = 0; i < spec->attribute_count; i++) {
        const struct upmu_spec_part *part = &spec->attribute[i];

        if (part->separator != '/')
            upmu_text_char(&out, part->separator);
        upmu_text_bytes(&out, spec->text + part->position, part->length);
        if (part->value) {
            upmu_text_char(&out, '=');
            upmu_text_bytes(&out, spec->text + part->value, part->value_length);
        }
    }
    return upmu_text_end(&out);
}

#else

enum upmu_status upmu_spec_next(const char *list, size_t *cursor, struct upmu_spec *out_spec, struct upmu_why *why)
{
    (void)list;
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
