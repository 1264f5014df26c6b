/* SPDX-License-Identifier: MIT */
/*
 * Event catalogues, walked: listing by name, the id of an encoding, the most
 * similar name.  Pure; slower than a lookup, none of it is on a counting path.
 */
#include "core/catalog_table.h"
#include "core/mem.h"

#if UPMU_NAMES

#define GROUPS 16 /* groups of masks in one row */

static uint8_t folded(char byte)
{
    return upmu_catalog_fold[(uint8_t)byte & 127u];
}

/* '*' and '?' against a whole text, folded; goes back to the last star only. */
static bool glob_matches(const char *glob, const char *text)
{
    const char *star = NULL, *retry = NULL;

    if (!glob)
        return true;
    while (*text) {
        if (*glob == '*') {
            star = ++glob;
            retry = text;
        } else if (*glob && (*glob == '?' || folded(*glob) == folded(*text))) {
            glob++;
            text++;
        } else if (star) {
            glob = star;
            text = ++retry;
        } else {
            return false;
        }
    }
    while (*glob == '*')
        glob++;
    return !*glob;
}

/* ---- Combinations of a composed row ---- */

/* How many combinations begin with group g, if the groups before left it open. */
struct combinations {
    uint32_t from[GROUPS + 1];
    unsigned groups;
};

static unsigned mask_group_of(const struct upmu_mask_set *set, unsigned mask)
{
    return set->masks[UPMU_PACKED_MASK * mask + 7] & UPMU_PACKED_GROUP;
}

static bool mask_is_listed(const struct upmu_mask_set *set, unsigned mask, unsigned group)
{
    return set->masks[UPMU_PACKED_MASK * mask + 7] & UPMU_PACKED_LISTED && mask_group_of(set, mask) == group;
}

static uint32_t mask_combinations(const struct upmu_mask_set *set, unsigned mask, const struct combinations *count)
{
    return set->masks[UPMU_PACKED_MASK * mask + 6] & UPMU_MASK_LAST ? 1 : count->from[mask_group_of(set, mask) + 1];
}

static void combinations_count(const struct upmu_mask_set *set, struct combinations *count)
{
    unsigned group, i;

    count->groups = set->count ? mask_group_of(set, set->count - 1) + 1 : 0;
    count->from[count->groups] = 1;
    for (group = count->groups; group-- > 0;) {
        count->from[group] = 0;
        for (i = 0; i < set->count; i++)
            if (mask_is_listed(set, i, group) && count->from[group] < 0xffff)
                count->from[group] += mask_combinations(set, i, count);
    }
}

/* The masks of a row's n-th combination, in the order of names; 0: there are fewer. */
static uint32_t combination(const struct upmu_catalog *catalog, unsigned row, uint32_t n)
{
    struct upmu_mask_set set;
    struct upmu_row contents;
    struct combinations count;
    uint32_t masks = 0;
    unsigned group, i;

    if (!upmu_row_read(catalog, row, &contents, &set) || !(contents.flags & UPMU_ROW_COMPOSED))
        return 0;
    combinations_count(&set, &count);
    if (!count.groups || n >= count.from[0])
        return 0;
    for (group = 0; group < count.groups; group++) {
        bool last = false;

        for (i = 0; i < set.count; i++) {
            uint32_t size;

            if (!mask_is_listed(&set, i, group))
                continue;
            size = mask_combinations(&set, i, &count);
            if (n < size) {
                masks |= UINT32_C(1) << i;
                last = (set.masks[UPMU_PACKED_MASK * i + 6] & UPMU_MASK_LAST) != 0;
                break;
            }
            n -= size;
        }
        if (last)
            break;
    }
    return masks;
}

/* ---- Listing ---- */

/* The next name after a cursor: of a row, an alias, or one more combination. */
static size_t cursor_step(const struct upmu_catalog *catalog, uint32_t *cursor, char *text,
                          struct upmu_event_id *out_id, bool *out_alias)
{
    uint32_t number = *cursor >> 16, combined = *cursor & 0xffffu, name;
    unsigned row, alias;
    struct upmu_names names;
    uint8_t spelt[UPMU_NAME_ROOM];

    /* The cursor holds the number of the name given last, plus one, and how many
       of its combinations were given. */
    out_id->catalogue = upmu_catalog_number(catalog);
    if (number) {
        if (!upmu_member_find(catalog, false, number - 1, &row))
            row = upmu_own_rows(catalog);
        out_id->row = (uint16_t)row;
        out_id->masks = combination(catalog, row, combined);
        if (out_id->masks) {
            *cursor += 1;
            *out_alias = false;
            return upmu_catalog_id_name(catalog, *out_id, text, UPMU_CATALOG_NAME);
        }
    }
    row = upmu_member_from(catalog, false, number);
    alias = upmu_member_from(catalog, true, number);
    name = upmu_member_name(catalog, false, row);
    *out_alias = upmu_member_name(catalog, true, alias) < name;
    out_id->row = (uint16_t)row;
    out_id->masks = 0;
    if (*out_alias) {
        name = upmu_member_name(catalog, true, alias);
        if (!upmu_alias_target(catalog, alias, out_id))
            return 0;
    }
    if (name == UPMU_NO_NAME || name < number || name >= 0xffff)
        return 0;
    *cursor = (name + 1) << 16;
    upmu_names_open(upmu_catalog_file(catalog), false, &names);
    row = upmu_name_text(&names, name, spelt);
    memcpy(text, spelt, row);
    text[row] = 0;
    return row;
}

enum upmu_status upmu_catalog_next(const struct upmu_catalog *catalog, const char *glob, uint32_t *cursor,
                                   struct upmu_event_id *out_id, char *buffer, size_t size, bool *out_alias)
{
    char text[UPMU_CATALOG_NAME];
    struct upmu_event_id id;
    bool alias;
    size_t length;

    while ((length = cursor_step(catalog, cursor, text, &id, &alias)) != 0) {
        if (!glob_matches(glob, text))
            continue;
        if (size) {
            size_t kept = length < size ? length : size - 1;

            memcpy(buffer, text, kept);
            buffer[kept] = 0;
        }
        *out_id = id;
        if (out_alias)
            *out_alias = alias;
        return UPMU_OK;
    }
    return UPMU_ERR_END;
}

/* ---- The id of an encoding ---- */

static bool encodings_equal(const struct upmu_row *a, const struct upmu_row *b)
{
    unsigned wired = UPMU_ROW_INV | UPMU_ROW_EDGE | UPMU_ROW_ANY | UPMU_ROW_FIXED_ONLY;

    if (a->umask != b->umask || a->cmask != b->cmask || (a->flags ^ b->flags) & wired)
        return false;
    if (a->code != b->code && !(a->code2 && a->code2 == b->code))
        return false;
    return a->payload == b->payload;
}

/* The masks of one group that make up `want`: one mask of that value, or several. */
static uint32_t group_masks(const struct upmu_catalog *catalog, const struct upmu_mask_set *set, unsigned first,
                            const struct upmu_row *row)
{
    unsigned i, end = upmu_mask_group_end(set, first);
    uint32_t masks = 0, exact = 0;
    uint64_t field = 0, have = 0, want;
    struct upmu_mask mask;

    for (i = first; i < end; i++) {
        upmu_mask_read(catalog, set, i, &mask);
        field |= mask.bits;
    }
    want = field & (mask.flags & UPMU_MASK_PAYLOAD ? row->payload : row->umask);
    for (i = end; i-- > first;) {
        upmu_mask_read(catalog, set, i, &mask);
        if (mask.bits == want)
            exact = UINT32_C(1) << i;
        if (!(mask.bits & ~want) && mask.bits & ~have && !(mask.flags & (UPMU_MASK_ALONE | UPMU_MASK_EXCLUSIVE))) {
            have |= mask.bits;
            masks |= UINT32_C(1) << i;
        }
    }
    return exact ? exact : masks;
}

/* The masks that give a masked row an encoding, group by group; checked by merging. */
static bool masks_by_encoding(const struct upmu_catalog *catalog, struct upmu_event_id *id,
                              const struct upmu_mask_set *set, const struct upmu_row *want)
{
    struct upmu_row merged;
    unsigned first;

    for (first = 0; first < set->count; first = upmu_mask_group_end(set, first))
        id->masks |= group_masks(catalog, set, first, want);
    return upmu_catalog_merge(catalog, *id, &merged, NULL) == UPMU_OK && encodings_equal(&merged, want);
}

enum upmu_status upmu_catalog_by_encoding(const struct upmu_catalog *catalog, const struct upmu_row *row,
                                          struct upmu_event_id *out_id)
{
    struct upmu_event_id id = {upmu_catalog_number(catalog), 0, 0};
    struct upmu_mask_set set;
    struct upmu_row present;
    unsigned masked, i;

    for (masked = 0; masked < 2; masked++)
        for (i = 0; upmu_row_read(catalog, i, &present, &set); i++) {
            id.row = (uint16_t)i;
            id.masks = 0;
            if (!set.count == !masked &&
                (masked ? masks_by_encoding(catalog, &id, &set, row) : encodings_equal(&present, row))) {
                *out_id = id;
                return UPMU_OK;
            }
        }
    return UPMU_ERR_NO_SUCH_EVENT;
}

/* ---- The most similar name ---- */

/* Letters to insert, remove or replace to make one text the other, folded; or more than `limit`. */
static unsigned distance(const char *a, unsigned a_length, const char *b, unsigned b_length, unsigned limit)
{
    uint8_t row[UPMU_CATALOG_NAME + 1];
    unsigned i, j;

    for (j = 0; j <= b_length; j++)
        row[j] = (uint8_t)j;
    for (i = 1; i <= a_length; i++) {
        unsigned least = i, diagonal = row[0];

        row[0] = (uint8_t)i;
        for (j = 1; j <= b_length; j++) {
            unsigned best = diagonal + (folded(a[i - 1]) == folded(b[j - 1]) ? 0u : 1u);

            diagonal = row[j];
            if (diagonal + 1 < best)
                best = diagonal + 1;
            if (row[j - 1] + 1u < best)
                best = row[j - 1] + 1u;
            row[j] = (uint8_t)best;
            if (best < least)
                least = best;
        }
        if (least > limit)
            return least;
    }
    return row[b_length];
}

bool upmu_catalog_nearest_name(const struct upmu_catalog *catalog, const char *name, size_t length,
                               struct upmu_event_id *out_id, char out_name[UPMU_CATALOG_NAME])
{
    char text[UPMU_CATALOG_NAME];
    unsigned limit = 2 + (unsigned)length / 4; /* one slip in four letters still looks alike */
    struct upmu_event_id id;
    uint32_t cursor = 0;
    bool found = false, alias;
    size_t size;

    if (length < 2 || length >= UPMU_CATALOG_NAME)
        return false;
    if (limit > 7)
        limit = 7;
    /* `limit` is what the next one must stay below. */
    while ((size = cursor_step(catalog, &cursor, text, &id, &alias)) != 0) {
        unsigned steps;

        if (size >= length + limit || size + limit <= length)
            continue;
        steps = distance(name, (unsigned)length, text, (unsigned)size, limit - 1);
        if (steps >= limit)
            continue;
        *out_id = id;
        memcpy(out_name, text, size + 1);
        found = true;
        limit = steps;
    }
    return found;
}

bool upmu_catalog_nearest(const struct upmu_catalog *catalog, const char *name, size_t length,
                          struct upmu_event_id *out_id)
{
    char text[UPMU_CATALOG_NAME];

    return upmu_catalog_nearest_name(catalog, name, length, out_id, text);
}

#endif
