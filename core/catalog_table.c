/* SPDX-License-Identifier: MIT */
/*
 * Read packed event catalogues: sections, names, rows, masks.  Pure.  Every offset
 * is checked against its section, every section against the file, so that a
 * damaged catalogue gives wrong names but never a wild read.
 */
#include "core/catalog_table.h"
#include "core/bits.h"

#if UPMU_NAMES

/* clang-format off */
const uint8_t upmu_catalog_fold[128] = {
      0,   1,   2,   3,   4,   5,   6,   7,   8,   9,  10,  11,  12,  13,  14,  15,
     16,  17,  18,  19,  20,  21,  22,  23,  24,  25,  26,  27,  28,  29,  30,  31,
    ' ', '!', '"', '#', '$', '%', '&', '\'','(', ')', '*', '+', ',', '_', '_', '/',
    '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '_', ';', '<', '=', '>', '?',
    '@', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o',
    'p', 'q', 'r', 's', 't', 'u', 'v', 'w', 'x', 'y', 'z', '[', '\\',']', '^', '_',
    '`', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o',
    'p', 'q', 'r', 's', 't', 'u', 'v', 'w', 'x', 'y', 'z', '{', '|', '}', '~', 127,
};
/* clang-format on */

struct upmu_section upmu_shared_section(const uint8_t *file, unsigned section)
{
    const uint8_t *offset = file + UPMU_FILE_SHARED + 4 * section;
    uint32_t begin = upmu_word(offset), end = upmu_word(offset + 4), size = upmu_word(file + 4);
    struct upmu_section result = {file, 0};

    if (begin <= end && end <= size) {
        result.at = file + begin;
        result.size = end - begin;
    }
    return result;
}

struct upmu_section upmu_own_section(const struct upmu_catalog *catalog, unsigned section)
{
    const uint8_t *offset = catalog->byte + UPMU_OWN_OFFSETS + 2 * section;
    uint32_t size = upmu_word(catalog->byte + 8), begin = upmu_half(offset);
    uint32_t end = section + 1 < UPMU_OWN_COUNT ? upmu_half(offset + 2) : size;
    struct upmu_section result = {catalog->byte, 0};

    if (begin <= end && end <= size) {
        result.at = catalog->byte + begin;
        result.size = end - begin;
    }
    return result;
}

/* ---- Names ---- */

/* A name being spelt: compared with `want`, or written to `out`. */
struct spelling {
    const uint8_t *want;
    char *out;
    unsigned length, limit;
};

static bool spelling_take(struct spelling *spelling, const uint8_t *bytes, unsigned count)
{
    const uint8_t *end = bytes + count;

    if (count > spelling->limit - spelling->length)
        return false;
    if (spelling->want) {
        const uint8_t *want = spelling->want + spelling->length;

        for (; bytes < end; bytes++, want++)
            if (upmu_catalog_fold[*bytes & 127u] != *want)
                return false;
    } else {
        char *out = spelling->out + spelling->length;

        while (bytes < end)
            *out++ = (char)*bytes++;
    }
    spelling->length += count;
    return true;
}

/* Spell a name's fragments, at most `limit` bytes of them; false: not as wanted. */
static bool spelling_item(const uint8_t *file, const uint8_t *item, struct spelling *spelling, unsigned limit)
{
    struct upmu_section dictionary = upmu_shared_section(file, UPMU_SHARED_DICTIONARY);
    struct upmu_section text = upmu_shared_section(file, UPMU_SHARED_FRAGMENTS);
    const uint8_t *token = item + 2, *end = token + item[1];

    for (; token < end && spelling->length < limit; token++) {
        const uint8_t *fragment = upmu_section_entry(dictionary, *token, 3);
        unsigned count, offset;

        if (!fragment)
            return false;
        offset = upmu_half(fragment);
        count = fragment[2];
        if (offset + count > text.size)
            return false;
        if (count > limit - spelling->length)
            count = limit - spelling->length;
        if (!spelling_take(spelling, text.at + offset, count))
            return false;
    }
    return true;
}

/* Spell a whole name: what it shares with the first of its block, then its own. */
static bool spelling_name(const uint8_t *file, uint32_t number, struct spelling *spelling)
{
    const uint8_t *block = upmu_section_entry(upmu_shared_section(file, UPMU_SHARED_BLOCKS), number >> 4, 3);
    struct upmu_section names = upmu_shared_section(file, UPMU_SHARED_NAMES);
    const uint8_t *head, *item, *end = names.at + names.size;
    uint32_t offset;
    unsigned skip;

    if (!block)
        return false;
    offset = upmu_half(block) | (uint32_t)block[2] << 16;
    if (offset >= names.size)
        return false;
    head = item = names.at + offset;
    for (skip = number & 15u; skip && end - item > 2; skip--)
        item += item[1] <= end - item - 2 ? 2 + item[1] : end - item;
    if (end - head < 2 + head[1] || end - item < 2 || end - item < 2 + item[1])
        return false;
    if (item[0] > spelling->limit || (item[0] && !spelling_item(file, head, spelling, item[0])))
        return false;
    return spelling_item(file, item, spelling, UPMU_CATALOG_NAME);
}

unsigned upmu_name_text(const uint8_t *file, unsigned number, char *out)
{
    struct spelling spelling = {NULL, out, 0, UPMU_CATALOG_NAME - 1};

    return spelling_name(file, number, &spelling) ? spelling.length : 0;
}

bool upmu_name_folds_to(const uint8_t *file, unsigned number, const uint8_t *text, unsigned length)
{
    struct spelling spelling = {text, NULL, 0, length};

    return spelling_name(file, number, &spelling) && spelling.length == length;
}

uint32_t upmu_name_hash_begin(const uint8_t *file)
{
    return UINT32_C(2166136261) ^ upmu_half(file + 22);
}

/*
 * A perfect hash by displacement: a bucket's byte moves its names to free slots.
 * Multiplying and taking the high half is a remainder without a division.
 */
uint32_t upmu_name_slot(const uint8_t *file, uint32_t hash)
{
    unsigned buckets = upmu_half(file + 14), slots = upmu_half(file + 12);
    uint32_t bucket = (uint32_t)(((uint64_t)hash * buckets) >> 32);
    const uint8_t *displacement =
        upmu_section_entry(upmu_shared_section(file, UPMU_SHARED_DISPLACEMENTS), bucket, 1);
    const uint8_t *slot;

    if (!displacement)
        return UPMU_NO_NAME;
    hash = (hash ^ *displacement * UINT32_C(0x9e3779b1)) * UINT32_C(0x85ebca6b);
    hash = (hash ^ hash >> 15) * UINT32_C(0xc2b2ae35);
    slot = upmu_section_entry(upmu_shared_section(file, UPMU_SHARED_SLOTS),
                              (uint32_t)(((uint64_t)hash * slots) >> 32), 2);
    return slot ? upmu_half(slot) : UPMU_NO_NAME;
}

/* ---- Rows and aliases by name ---- */

unsigned upmu_member_from(const struct upmu_catalog *catalog, bool alias, uint32_t name)
{
    struct upmu_section pages = upmu_own_section(catalog, alias ? UPMU_OWN_ALIAS_PAGES : UPMU_OWN_ROW_PAGES);
    struct upmu_section low = upmu_own_section(catalog, alias ? UPMU_OWN_ALIAS_LOW : UPMU_OWN_ROW_LOW);
    const uint8_t *page = upmu_section_entry(pages, name >> 8, 2);
    const uint8_t *next = upmu_section_entry(pages, (name >> 8) + 1, 2);
    unsigned begin, end;

    if (!page || !next)
        return low.size;
    begin = upmu_half(page);
    end = upmu_half(next);
    if (end > low.size)
        end = low.size;
    while (begin < end) {
        unsigned middle = (begin + end) / 2;

        if (low.at[middle] < (name & 255u))
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

uint32_t upmu_member_name(const struct upmu_catalog *catalog, bool alias, unsigned index)
{
    struct upmu_section pages = upmu_own_section(catalog, alias ? UPMU_OWN_ALIAS_PAGES : UPMU_OWN_ROW_PAGES);
    const uint8_t *low = upmu_section_entry(
        upmu_own_section(catalog, alias ? UPMU_OWN_ALIAS_LOW : UPMU_OWN_ROW_LOW), index, 1);
    unsigned begin = 0, end = pages.size / 2;

    if (!low)
        return UPMU_NO_NAME;
    /* The last page that begins at the index or before. */
    while (end - begin > 1) {
        unsigned middle = (begin + end) / 2;

        if (upmu_half(pages.at + 2 * middle) <= index)
            begin = middle;
        else
            end = middle;
    }
    return begin << 8 | *low;
}

bool upmu_alias_target(const struct upmu_catalog *catalog, unsigned index, struct upmu_event_id *out_id)
{
    const uint8_t *target = upmu_section_entry(upmu_own_section(catalog, UPMU_OWN_TARGETS), index, 2);
    unsigned row;
    uint32_t masks = 0;

    if (!target)
        return false;
    row = upmu_half(target);
    if (row & 0x8000u) {
        target = upmu_section_entry(upmu_own_section(catalog, UPMU_OWN_CHOSEN), row & 0x7fffu, 6);
        if (!target)
            return false;
        row = upmu_half(target);
        masks = upmu_word(target + 2);
    }
    if (row >= upmu_own_rows(catalog))
        return false;
    out_id->catalogue = upmu_catalog_number(catalog);
    out_id->row = (uint16_t)row;
    out_id->masks = masks;
    return true;
}

/* ---- Contents of a row ---- */

/* A row's two bytes, its shape, and for a masked row its record. */
static const uint8_t *row_shape(const struct upmu_catalog *catalog, unsigned row, const uint8_t **out_entry)
{
    const uint8_t *entry = NULL, *own = NULL;

    if (row < upmu_own_rows(catalog))
        entry = upmu_section_entry(upmu_own_section(catalog, UPMU_OWN_ENTRIES), row, 3);
    if (entry)
        own = upmu_section_entry(upmu_own_section(catalog, UPMU_OWN_SHAPES), entry[2], 2);
    *out_entry = entry;
    if (!own)
        return NULL;
    return upmu_section_entry(upmu_shared_section(upmu_catalog_file(catalog), UPMU_SHARED_SHAPES), upmu_half(own),
                              12);
}

static uint64_t payload_value(const struct upmu_catalog *catalog, unsigned index)
{
    const uint8_t *value =
        upmu_section_entry(upmu_shared_section(upmu_catalog_file(catalog), UPMU_SHARED_VALUES), index, 8);

    return value ? upmu_word(value) | (uint64_t)upmu_word(value + 4) << 32 : 0;
}

bool upmu_mask_set_at(const struct upmu_catalog *catalog, unsigned offset, struct upmu_mask_set *out_set)
{
    struct upmu_section sets = upmu_own_section(catalog, UPMU_OWN_SETS);
    const uint8_t *set = sets.at + offset;

    if (offset + 4 > sets.size || set[0] > 32 || offset + 4u + 7u * set[0] + 4u * set[1] > sets.size)
        return false;
    out_set->count = set[0];
    out_set->alias_count = set[1];
    out_set->value = upmu_half(set + 2);
    out_set->masks = set + 4;
    out_set->aliases = set + 4 + 7 * set[0];
    return true;
}

/* The record of a masked row: hash, row, code, unit mask, offset of the set. */
static const uint8_t *row_masked(const struct upmu_catalog *catalog, unsigned row, const uint8_t **out_shape)
{
    const uint8_t *entry, *shape = row_shape(catalog, row, &entry);

    *out_shape = shape;
    if (!shape || !(upmu_half(shape) & UPMU_ROW_MASKED))
        return NULL;
    return upmu_section_entry(upmu_own_section(catalog, UPMU_OWN_MASKED), upmu_half(entry), 8);
}

bool upmu_mask_set(const struct upmu_catalog *catalog, unsigned row, struct upmu_mask_set *out_set)
{
    const uint8_t *shape, *masked = row_masked(catalog, row, &shape);

    return masked && upmu_mask_set_at(catalog, upmu_half(masked + 6), out_set);
}

bool upmu_catalog_row(const struct upmu_catalog *catalog, unsigned row, struct upmu_row *out_row)
{
    const uint8_t *entry, *shape = row_shape(catalog, row, &entry);
    unsigned flags;

    if (!shape)
        return false;
    flags = upmu_half(shape);
    out_row->flags = (uint16_t)(flags & ~UPMU_SHAPE_INDEXED);
    out_row->cmask = shape[2];
    out_row->code2 = shape[3];
    out_row->code = (uint16_t)upmu_half(shape + 4);
    out_row->umask = (uint16_t)upmu_half(shape + 6);
    out_row->counters = upmu_half(shape + 8);
    out_row->msr = upmu_half(shape + 10);
    out_row->payload = 0;
    out_row->mask_count = 0;
    if (flags & UPMU_ROW_MASKED) {
        const uint8_t *masked = row_masked(catalog, row, &shape);
        struct upmu_mask_set set;

        if (!masked || !upmu_mask_set_at(catalog, upmu_half(masked + 6), &set))
            return false;
        out_row->code |= masked[4];
        out_row->umask |= masked[5];
        out_row->mask_count = (uint8_t)set.count;
        if (out_row->msr)
            out_row->payload = payload_value(catalog, set.value);
    } else if (flags & UPMU_SHAPE_INDEXED) {
        out_row->payload = payload_value(catalog, upmu_half(entry));
    } else {
        out_row->code |= entry[0];
        out_row->umask |= entry[1];
    }
    return true;
}

bool upmu_catalog_mask(const struct upmu_catalog *catalog, unsigned row, unsigned mask, struct upmu_mask *out_mask)
{
    struct upmu_mask_set set;
    const uint8_t *packed;
    unsigned value;

    if (!upmu_mask_set(catalog, row, &set) || mask >= set.count)
        return false;
    packed = set.masks + 7 * mask;
    value = upmu_half(packed + 2);
    out_mask->flags = packed[5];
    out_mask->group = packed[6] & UPMU_PACKED_GROUP;
    out_mask->cmask = 0;
    if (packed[5] & UPMU_MASK_PAYLOAD) {
        out_mask->bits = payload_value(catalog, value);
    } else if (packed[6] & UPMU_PACKED_WIDE) {
        out_mask->bits = value;
    } else {
        out_mask->bits = value & 255u;
        out_mask->cmask = (uint8_t)(value >> 8);
    }
    return true;
}

#endif
