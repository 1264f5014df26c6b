/* SPDX-License-Identifier: MIT */
/*
 * Paths of units outside the cores: how paths are spelled, and how units are found by their path. Pure.
 */
#include "core/event/unit_names.h"

#include "core/util/apart.h"
#include "core/util/text.h"
#include "core/hw/unit_backend.h"

#if UPMU_UNCORE

/* Bytes that the longest path which the library makes needs: "package255/die255/", a type's name and a number. */
#define PATH 80u

/* Are the first `length` bytes of two texts equal, if letters of either case count as equal? */
static bool same_bytes(const char *text, const char *other, size_t length)
{
    while (length && upmu_text_lower(*text) == upmu_text_lower(*other)) {
        text++;
        other++;
        length--;
    }
    return !length;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Return the offset in a path at which its last component begins: behind the last '/'; 0: there is no '/'. */
static size_t last_component(const char *text, size_t length)
{
    while (length && text[length - 1u] != '/')
        length--;
    return length;
}

/*
 * Read a number that is the whole text; '_' or '/' may stand before it. An empty text sets *out_number to
 * UPMU_UNIT_ALL. Returns false if the text is anything else.
 */
static bool take_number(const char *text, size_t length, uint32_t *out_number)
{
    uint64_t number;

    *out_number = UPMU_UNIT_ALL;
    if (!length)
        return true;
    if (*text == '_' || *text == '/') {
        text++;
        length--;
    }
    if (!upmu_text_digits(text, length, 10, &number) || number >= UPMU_UNIT_ALL)
        return false;
    *out_number = (uint32_t)number;
    return true;
}

/* Is the text `prefix` (which may be empty), then `stem`, then a number or nothing (see take_number())? */
static bool is_stem(const char *text, size_t length, const char *prefix, const char *stem, uint32_t *out_number)
{
    size_t first = upmu_text_length(prefix), second = upmu_text_length(stem);

    return length >= first + second && same_bytes(text, prefix, first) && same_bytes(text + first, stem, second) &&
           take_number(text + first + second, length - first - second, out_number);
}

size_t upmu_unit_spelled(const struct upmu_unit_type *type, const char *text, size_t length, uint32_t *out_number)
{
    static const char prefixes[][8] = {"", "uncore_", "amd_"};
    size_t begin = last_component(text, length);
    uint64_t number;

    /* In "imc/3" the number is a path component of its own. */
    if (begin > 1 && upmu_text_digits(text + begin, length - begin, 10, &number))
        begin = last_component(text, begin - 1u);
    text += begin;
    length -= begin;
    for (unsigned i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (is_stem(text, length, prefixes[i], type->name, out_number))
            return length;
    return is_stem(text, length, "", type->pmu, out_number) ? length : 0;
}

static const struct upmu_unit_type *type_of(const struct upmu_unit_list *list, const struct upmu_unit_info *unit)
{
    return list->pmu[unit->type].type;
}

void upmu_unit_spell(struct upmu_text *out, const struct upmu_unit_type *type, unsigned number)
{
    upmu_text_string(out, type->name);
    if (is_digit(type->name[upmu_text_length(type->name) - 1u]))
        upmu_text_char(out, '_');
    upmu_text_decimal(out, number);
}

size_t upmu_unit_path(const struct upmu_unit_list *list, const struct upmu_unit_info *unit, char *buffer, size_t size)
{
    struct upmu_text out;

    upmu_text_begin(&out, buffer, size);
    if (unit->name) {
        upmu_text_string(&out, unit->name);
        return upmu_text_end(&out);
    }
    upmu_text_string(&out, "package");
    upmu_text_decimal(&out, unit->package);
    upmu_text_string(&out, "/die");
    upmu_text_decimal(&out, unit->die);
    upmu_text_char(&out, '/');
    upmu_unit_spell(&out, type_of(list, unit), unit->number);
    return upmu_text_end(&out);
}

/*
 * Is a component of the user's text equal to the component of a unit's path, except that the user's text may leave out
 * the number at its end?
 */
static bool same_component(const char *text, size_t length, const char *path, size_t path_length)
{
    uint64_t number;

    if (length > path_length || !same_bytes(text, path, length))
        return false;
    return length == path_length || (length && !is_digit(text[length - 1u]) &&
                                     upmu_text_digits(path + length, path_length - length, 10, &number));
}

/* A unit's path, or a user's text that names a unit. names_unit() shortens both from their ends as it compares them. */
struct path {
    const char *text;
    size_t length;
};

static struct path path_of(const struct upmu_unit_list *list, const struct upmu_unit_info *unit, char buffer[PATH])
{
    struct path path = {unit->name, 0};

    if (!path.text) {
        (void)upmu_unit_path(list, unit, buffer, PATH);
        path.text = buffer;
    }
    if (*path.text == '/')
        path.text++;
    path.length = upmu_text_length(path.text);
    return path;
}

/* Remove from a path its last component, which begins at `begin`, and the '/' before it. */
static void cut_component(struct path *path, size_t begin)
{
    path->length = begin ? begin - 1u : 0;
}

/*
 * Is the user's text the end of a unit's path, in whole components? If the text begins with '/', it must be the whole
 * path. *out_all: the text leaves out the number of the last component.
 */
static bool names_unit(const struct upmu_unit_list *list, const struct upmu_unit_info *unit, struct path text,
                       bool *out_all)
{
    const struct upmu_unit_type *type = type_of(list, unit);
    bool anchored = text.length && *text.text == '/';
    char buffer[PATH];
    struct path path = path_of(list, unit, buffer);
    size_t taken;
    uint32_t number, given;
    bool is_last = true;

    text.text += anchored;
    text.length -= anchored;
    taken = upmu_unit_spelled(type, text.text, text.length, &given);
    do {
        size_t begin = last_component(path.text, path.length), at = last_component(text.text, text.length);
        bool all = text.length - at != path.length - begin;

        if (is_last && taken && is_stem(path.text + begin, path.length - begin, "", type->name, &number) &&
            (given == UPMU_UNIT_ALL || given == number)) {
            all = given != number;
            at = text.length - taken;
        } else if (!same_component(text.text + at, text.length - at, path.text + begin, path.length - begin)) {
            return false;
        }
        if (is_last)
            *out_all = all;
        is_last = false;
        cut_component(&path, begin);
        cut_component(&text, at);
    } while (text.length && path.length);
    return !text.length && !(anchored && path.length);
}

/* Return a unit's path up to its last '/', which is included; `buffer` can hold its text. */
static struct path parent_of(const struct upmu_unit_list *list, const struct upmu_unit_info *unit, char buffer[PATH])
{
    struct path path = path_of(list, unit, buffer);

    path.length = last_component(path.text, path.length);
    return path;
}

/*
 * Are a unit and the next one in the list of the same type, on the same die and last-level cache (otherwise no CPU
 * reaches both), with paths that differ only in the last component?  Units of single CPUs and cores are reached by no
 * common CPU.
 */
static bool side_by_side(const struct upmu_unit_list *list, const struct upmu_unit_info *unit)
{
    const struct upmu_unit_info *next = unit + 1;
    char buffer[PATH], next_buffer[PATH];
    struct path path, next_path;

    if (unit->type != next->type || unit->package != next->package || unit->die != next->die ||
        unit->llc != next->llc || upmu_uncore_is_narrow(&list->pmu[unit->type]))
        return false;
    path = parent_of(list, unit, buffer);
    next_path = parent_of(list, next, next_buffer);
    return path.length == next_path.length && same_bytes(path.text, next_path.text, path.length);
}

bool upmu_unit_next(const struct upmu_unit_list *list, const char *path, size_t length, unsigned *cursor,
                    struct upmu_unit_found *out_found)
{
    const struct path text = {path, length};

    for (unsigned i = *cursor, first = i; i < list->unit_count; first = ++i) {
        bool all = false;

        if (!names_unit(list, &list->unit[i], text, &all))
            continue;
        while (all && i + 1u < list->unit_count && side_by_side(list, &list->unit[i]) &&
               names_unit(list, &list->unit[i + 1u], text, &all))
            i++;
        out_found->unit = &list->unit[first];
        out_found->other = NULL;
        out_found->boxes = (uint16_t)(i + 1u - first);
        *cursor = i + 1u;
        return true;
    }
    return false;
}

/* Does a path end with `text`, and does `text` begin at the beginning of a component of the path? */
static UPMU_APART bool ends_with(struct path path, const char *text, size_t length)
{
    const char *begin = path.text + path.length - length;

    return length <= path.length && same_bytes(begin, text, length) && (begin == path.text || begin[-1] == '/');
}

bool upmu_unit_meant(const struct upmu_pmu *pmu, const char *text, size_t length, struct upmu_event *event)
{
    const struct upmu_uncore_pmu *uncore = (const struct upmu_uncore_pmu *)(const void *)pmu;
    struct upmu_unit_found found;
    char buffer[PATH];
    uint32_t number;
    unsigned cursor = 0;
    size_t before = length - upmu_unit_spelled(uncore->type, text, length, &number), how = 0;

    if (before == length)
        return false;
    if (before) {
        struct path path;

        if (!uncore->list || !upmu_unit_next(uncore->list, text, length, &cursor, &found))
            return false;
        path = parent_of(uncore->list, found.unit, buffer);
        if (!ends_with(path, text, before))
            return false;
        how = 2 * before + 1;
        if (number != UPMU_UNIT_ALL)
            how += 2 * upmu_text_length(path.text + path.length) - 1;
        number = cursor - found.boxes;
    } else if (number == UPMU_UNIT_ALL) {
        return true;
    }
    if (number >= UINT16_MAX || how > UINT8_MAX ||
        (event->unit && (event->unit != number + 1u || event->flags1 != how)))
        return false;
    event->unit = (uint16_t)(number + 1u);
    event->flags1 = (uint8_t)how;
    return true;
}

/*
 * Return the part of a unit's path that is compared with the path in an event's text: without the last component if the
 * text had no number.
 */
static UPMU_APART struct path compared_path(const struct upmu_unit_list *list, const struct upmu_unit_info *unit,
                                 const struct upmu_event *event, char buffer[PATH])
{
    return event->flags1 & 1u ? parent_of(list, unit, buffer) : path_of(list, unit, buffer);
}

/*
 * Return the path that an event's text gave. This path is the end of the path of the first unit that the text named,
 * without the last component if the text had no number; event->flags1 / 2 is its length. Length 0: the text gave no
 * path, or the list has no such unit, because the event was encoded with an older list.
 */
static struct path meant_path(const struct upmu_unit_list *list, const struct upmu_event *event, char buffer[PATH])
{
    struct path path = {NULL, 0};

    if (!event->flags1 || !list || event->unit > list->unit_count)
        return path;
    path = compared_path(list, &list->unit[event->unit - 1u], event, buffer);
    if (path.length < event->flags1 / 2u)
        return (struct path){NULL, 0};
    path.text += path.length - event->flags1 / 2u;
    path.length = event->flags1 / 2u;
    return path;
}

bool upmu_unit_is_meant(const struct upmu_unit_list *list, const struct upmu_unit_info *unit,
                        const struct upmu_event *event)
{
    char buffer[PATH], other[PATH];
    struct path path = meant_path(list, event, buffer);

    if (!path.length)
        return !event->flags1 && event->unit == unit->number + 1u;
    return ends_with(compared_path(list, unit, event, other), path.text, path.length);
}

void upmu_unit_write(struct upmu_text *out, const struct upmu_pmu *pmu, const struct upmu_event *event)
{
    const struct upmu_uncore_pmu *uncore = (const struct upmu_uncore_pmu *)(const void *)pmu;
    char buffer[PATH];
    struct path path = meant_path(uncore->list, event, buffer);

    upmu_text_bytes(out, path.text, path.length);
    if (event->flags1 & 1u || (event->flags1 && !path.length))
        upmu_text_string(out, uncore->type->name);
    else if (!event->flags1)
        upmu_unit_spell(out, uncore->type, event->unit - 1u);
    upmu_text_char(out, '/');
}

/*
 * Find the next unit of the list, from index *cursor on, with a packed PCI address, and of the type that is named
 * `type` if this is not NULL. False: no unit is left.
 */
static bool next_at(const struct upmu_unit_list *list, uint32_t address, const char *type, unsigned *cursor,
                    struct upmu_unit_found *out_found)
{
    while (*cursor < list->unit_count) {
        const struct upmu_unit_info *unit = &list->unit[(*cursor)++];
        uint32_t number;

        if (unit->address != address ||
            (type && !(upmu_unit_spelled(type_of(list, unit), type, upmu_text_length(type), &number) &&
                       number == UPMU_UNIT_ALL)))
            continue;
        out_found->unit = unit;
        out_found->other = NULL;
        out_found->boxes = 1;
        return true;
    }
    return false;
}

enum upmu_status upmu_unit_find(const struct upmu_unit_list *list, unsigned flags, uint32_t address, const char *text,
                                struct upmu_unit_found *out_found)
{
    struct upmu_unit_found next = {NULL, NULL, 0};
    unsigned cursor = 0;

    *out_found = next;
    if (flags & UPMU_UNIT_PATH ? !text : !upmu_unit_address_valid(address))
        return UPMU_ERR_INVALID;
    while (flags & UPMU_UNIT_PATH ? upmu_unit_next(list, text, upmu_text_length(text), &cursor, &next)
                                  : next_at(list, address, text, &cursor, &next)) {
        if (out_found->unit) {
            out_found->other = next.unit;
            return UPMU_ERR_INVALID;
        }
        *out_found = next;
    }
    return out_found->unit ? UPMU_OK : UPMU_ERR_NO_SUCH_PMU;
}

#endif
