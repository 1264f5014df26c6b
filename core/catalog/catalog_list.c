/* SPDX-License-Identifier: MIT */
/*
 * Walks through event catalogues: list the names, find the id of an encoding, find the name most similar to a text.
 * Pure; slower than a look-up, and not used while counting.
 */
#include "core/util/apart.h"
#include "core/util/mem.h"
#include "core/util/text.h"
#include "core/catalog/catalog_table.h"

#if UPMU_NAMES

/*
 * Does a pattern with '*' and '?' match a whole text, both case-folded? After a mismatch only the last '*' before it is
 * tried with more letters. The pattern NULL matches any text.
 */
static bool glob_matches(const char *glob, const char *text)
{
    const char *star = NULL, *retry = NULL;

    if (!glob)
        return true;
    while (*text) {
        if (*glob == '*') {
            star = ++glob;
            retry = text;
        } else if (*glob && (*glob == '?' || upmu_catalog_fold(*glob) == upmu_catalog_fold(*text))) {
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

/* ---- The names of a composed row: combinations of its unit masks ---- */

/*
 * Return the unit masks (bit n: mask n) of the n-th combination, from 0 on, that is listed of a composed row; 0: the
 * row has fewer. A combination has one mask of each group; the last group changes fastest. In each group the listed
 * masks (UPMU_CLASS_LISTED) stand behind the others. No mask of a later group is combined with a mask with
 * UPMU_MASK_LAST: so such a combination stands for *out_step values of n, otherwise *out_step is 1.
 */
static UPMU_APART uint32_t combination_masks(const struct upmu_unpacked *row, uint32_t n, uint32_t *out_step)
{
    uint32_t size = 1, masks = 0;
    unsigned i = row->row.mask_count, chosen;

    *out_step = 1;
    while (i > 0) {
        unsigned end = i, listed = 0;

        do
            listed += (row->mask[--i].class & UPMU_CLASS_LISTED) != 0;
        while (i > 0 && upmu_mask_group_end(row, i - 1) == end);
        if (!listed)
            return 0;
        chosen = end - listed + n % listed;
        n /= listed;
        if (row->mask[chosen].flags & UPMU_MASK_LAST) {
            masks = 0;
            *out_step = size;
        }
        masks |= UINT32_C(1) << chosen;
        size *= listed;
    }
    return n ? 0 : masks;
}

/* ---- Listing ---- */

/*
 * Write the next name after a cursor to `text`, move the cursor to it, and return its length; 0: no name is left. The
 * name is that of a row, that of an alias (*out_alias), or the name of a composed row with its next combination of unit
 * masks. Bits 31:16 of the cursor are 1 + the number of the last row's or alias's name (0: begin); bits 15:0 are the
 * next combination of that row.
 */
static unsigned cursor_step(const struct upmu_catalog *catalog, uint32_t *cursor, char text[UPMU_NAME_ROOM],
                            struct upmu_event_id *out_id, bool *out_alias)
{
    unsigned number = *cursor >> 16, name, other;
    unsigned member = upmu_member_from(catalog, false, number, &name);
    unsigned alias = upmu_member_from(catalog, true, number, &other);
    struct upmu_unpacked row;
    uint32_t step;

    *out_alias = false;
    if (member && upmu_member_name(catalog, member - 1) + 1 == number && upmu_row_unpack(catalog, member - 1, &row) &&
        row.row.flags & UPMU_ROW_COMPOSED) {
        upmu_member_id(catalog, member - 1, out_id);
        out_id->masks = combination_masks(&row, *cursor & 0xffffu, &step);
        if (out_id->masks) {
            *cursor += step;
            return (unsigned)upmu_catalog_id_name(catalog, *out_id, text, UPMU_CATALOG_NAME);
        }
    }
    if (other < name) {
        *out_alias = true;
        member = alias;
        name = other;
    }
    if (name < number || name == UPMU_NO_NAME)
        return 0;
    *cursor = (name + 1) << 16;
    upmu_member_id(catalog, member, out_id);
    return upmu_name_text(upmu_catalog_file(catalog), name, text);
}

enum upmu_status upmu_catalog_next(const struct upmu_catalog *catalog, const char *glob, uint32_t *cursor,
                                   struct upmu_event_id *out_id, char *buffer, size_t size, bool *out_alias)
{
    char text[UPMU_NAME_ROOM];
    struct upmu_event_id id;
    struct upmu_text out;
    bool alias;

    do
        if (!cursor_step(catalog, cursor, text, &id, &alias))
            return UPMU_ERR_END;
    while (!glob_matches(glob, text));
    upmu_text_begin(&out, buffer, size);
    upmu_text_string(&out, text);
    (void)upmu_text_end(&out);
    *out_id = id;
    if (out_alias)
        *out_alias = alias;
    return UPMU_OK;
}

/* ---- Finding the id of an encoded event ---- */

/*
 * In a row with UPMU_ROW_REVISIONS only these bits of `umask` are a unit mask. The other bits and the payload say which
 * revisions of the CPU lack the event, or some of its unit masks.
 */
#define UNIT_MASK 0xffu

static bool encodings_equal(const struct upmu_row *a, const struct upmu_row *b)
{
    unsigned wired = UPMU_ROW_INV | UPMU_ROW_EDGE | UPMU_ROW_ANY | UPMU_ROW_FIXED_ONLY | UPMU_ROW_EQUAL;
    bool limits = (a->flags & UPMU_ROW_REVISIONS) != 0;

    if ((a->umask ^ b->umask) & (limits ? UNIT_MASK : 0xffffu) || a->cmask != b->cmask || (a->flags ^ b->flags) & wired)
        return false;
    if (a->code != b->code && !(a->code2 && a->code2 == b->code))
        return false;
    if (a->unit != b->unit || (a->unit && a->msr != b->msr))
        return false;
    return limits || a->payload == b->payload;
}

/*
 * Find unit masks of the group that begins with mask `first` whose bits, ORed, are equal to those of `row`, an
 * encoding. Only bits of the unit mask or payload that some mask of the group has are compared. Returns the masks (bit
 * n: mask n); if none fit exactly, masks that give some of the bits: the caller compares the whole event.
 */
static uint32_t group_masks(const struct upmu_catalog *catalog, const struct upmu_unpacked *unpacked, unsigned first,
                            const struct upmu_row *row)
{
    unsigned i, end = upmu_mask_group_end(unpacked, first);
    unsigned wired = (row->flags ^ unpacked->row.flags) & (UPMU_ROW_INV | UPMU_ROW_EDGE);
    unsigned flags = (wired & UPMU_ROW_INV ? UPMU_MASK_INV : 0u) | (wired & UPMU_ROW_EDGE ? UPMU_MASK_EDGE : 0u);
    uint64_t field = 0, want;
    uint32_t masks = 0;
    struct upmu_mask mask;
    bool whole;

    for (i = first; i < end; i++) {
        upmu_mask_read(catalog, &unpacked->mask[i], &mask);
        field |= mask.bits;
    }
    if (unpacked->row.flags & UPMU_ROW_REVISIONS)
        field &= UNIT_MASK;
    want = field & (mask.flags & UPMU_MASK_PAYLOAD ? row->payload : row->umask);
    /* From here on `field` has those bits of the group for which no unit mask is found yet. */
    for (i = end; i-- > first;) {
        upmu_mask_read(catalog, &unpacked->mask[i], &mask);
        if (unpacked->row.flags & UPMU_ROW_REVISIONS)
            mask.bits &= UNIT_MASK;
        if (mask.flags & ~flags & (UPMU_MASK_INV | UPMU_MASK_EDGE) || (mask.cmask && mask.cmask != row->cmask))
            continue;
        whole = mask.bits == want && (mask.cmask == row->cmask || unpacked->row.cmask) &&
                !((mask.flags ^ flags) & (UPMU_MASK_INV | UPMU_MASK_EDGE));
        if (whole)
            masks = 0;
        else if (mask.bits & ~want || !(mask.bits & field) || mask.flags & (UPMU_MASK_ALONE | UPMU_MASK_EXCLUSIVE))
            continue;
        masks |= UINT32_C(1) << i;
        field &= whole ? 0 : ~mask.bits;
    }
    return masks;
}

enum upmu_status upmu_catalog_by_encoding(const struct upmu_catalog *catalog, const struct upmu_row *row,
                                          struct upmu_event_id *out_id)
{
    enum upmu_status status = UPMU_ERR_NO_SUCH_EVENT;
    struct upmu_unpacked unpacked;
    struct upmu_event_id id;
    struct upmu_row merged;
    unsigned i, first;

    for (i = 0; upmu_row_unpack(catalog, i, &unpacked); i++) {
        if (status == UPMU_OK && unpacked.row.mask_count)
            continue;
        upmu_member_id(catalog, i, &id);
        for (first = 0; first < unpacked.row.mask_count; first = upmu_mask_group_end(&unpacked, first))
            id.masks |= group_masks(catalog, &unpacked, first, row);
        if (upmu_catalog_merge(catalog, id, &merged, NULL) || !encodings_equal(&merged, row))
            continue;
        *out_id = id;
        status = UPMU_OK;
        if (!unpacked.row.mask_count)
            break;
    }
    return status;
}

/* ---- The name that is most similar to a misspelt one ---- */

/*
 * Return how many letters must be inserted, removed or replaced to change one text into the other, both case-folded. If
 * these are more than `limit`, returns any number above `limit`.
 */
static unsigned letter_distance(const char *a, unsigned a_length, const char *b, unsigned b_length, unsigned limit)
{
    uint8_t row[UPMU_CATALOG_NAME + 1];
    unsigned i, j;

    for (j = 0; j <= b_length; j++)
        row[j] = (uint8_t)j;
    for (i = 1; i <= a_length; i++) {
        unsigned least = i, diagonal = row[0];

        row[0] = (uint8_t)i;
        for (j = 1; j <= b_length; j++) {
            unsigned best = diagonal + (upmu_catalog_fold(a[i - 1]) == upmu_catalog_fold(b[j - 1]) ? 0u : 1u);

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

/* Return how many letters two texts, case-folded, have in common at their beginning. */
static unsigned common_start(const char *a, unsigned a_length, const char *b, unsigned b_length)
{
    unsigned i = 0;

    while (i < a_length && i < b_length && upmu_catalog_fold(a[i]) == upmu_catalog_fold(b[i]))
        i++;
    return i;
}

/*
 * If no name is similar enough by letter_distance(), the text may be an abbreviation ("instrs") of a name. The name and
 * the text must begin with the same letters: ABBREVIATED at least, and at most the text's last two letters may differ.
 * Of such names those with the most common letters are taken, and of these the shortest.
 */
#define ABBREVIATED 4u

bool upmu_catalog_nearest_name(const struct upmu_catalog *catalog, const char *name, size_t length,
                               struct upmu_event_id *out_id, char out_name[UPMU_CATALOG_NAME])
{
    char text[UPMU_NAME_ROOM];
    unsigned limit = 2 + (unsigned)length / 4; /* similar: fewer than `limit` letters differ, about one in four */
    struct upmu_event_id id;
    uint32_t cursor = 0;
    bool found = false, alias;
    unsigned size, start = length > ABBREVIATED + 1u ? (unsigned)length - 2u : ABBREVIATED, shortest = ~0u;

    if (length < 2 || length >= UPMU_CATALOG_NAME)
        return false;
    if (limit > 7)
        limit = 7;
    for (size = 0; size < length; size++)
        if (name[size] == ':') /* EVENT:WORD, where WORD is no unit mask: an abbreviation is not looked for */
            shortest = 0, start = UPMU_CATALOG_NAME;
    /* `limit` becomes the distance of the most similar name so far: only a smaller distance is more similar. */
    while ((size = cursor_step(catalog, &cursor, text, &id, &alias)) != 0) {
        unsigned steps, same = found ? 0 : common_start(name, (unsigned)length, text, size);

        if (same > start || (same == start && size < shortest)) {
            start = same;
            shortest = size;
            *out_id = id;
            memcpy(out_name, text, size + 1);
        }
        if (size >= length + limit || size + limit <= length)
            continue;
        steps = letter_distance(name, (unsigned)length, text, size, limit - 1);
        if (steps >= limit)
            continue;
        *out_id = id;
        memcpy(out_name, text, size + 1);
        found = true;
        limit = steps;
    }
    return found || (shortest && shortest != ~0u);
}

bool upmu_catalog_nearest(const struct upmu_catalog *catalog, const char *name, size_t length,
                          struct upmu_event_id *out_id)
{
    char text[UPMU_CATALOG_NAME];

    return upmu_catalog_nearest_name(catalog, name, length, out_id, text);
}

#endif
