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

/* Of an entry of the dictionary: bits of the offset, above them the length - 1. */
#define FRAGMENT_OFFSET 11
/* How far spelling may reach: by a fragment's number, into the fragments, behind the names. */
#define DICTIONARY_REACH (2u * 256u)
#define FRAGMENT_REACH ((1u << FRAGMENT_OFFSET) + 32u + 8u)
#define NAME_REACH (8u * 257u + 3u)

/*
 * Spelling checks no fragment and no length of a name: that the file goes on far
 * enough behind the sections is checked here, once.  A file is padded to that.
 */
void upmu_names_open(const uint8_t *file, bool folded, struct upmu_names *out_names)
{
    const uint8_t *end = file + upmu_word(file + 4);

    out_names->dictionary = upmu_shared_section(file, UPMU_SHARED_DICTIONARY);
    out_names->fragments = upmu_shared_section(file, folded ? UPMU_SHARED_FOLDED : UPMU_SHARED_FRAGMENTS);
    out_names->blocks = upmu_shared_section(file, UPMU_SHARED_BLOCKS);
    out_names->names = upmu_shared_section(file, UPMU_SHARED_NAMES);
    if (end - out_names->dictionary.at < (ptrdiff_t)DICTIONARY_REACH ||
        end - out_names->fragments.at < (ptrdiff_t)FRAGMENT_REACH ||
        end - (out_names->names.at + out_names->names.size) < (ptrdiff_t)NAME_REACH)
        out_names->blocks.size = 0;
}

/*
 * Spell the fragments of an item behind `at` bytes, up to `limit` or a little more;
 * where the text then ends.  Eight bytes are copied at a time: `out` and the
 * fragments have that much room behind them.
 */
static unsigned item_text(const struct upmu_names *names, const uint8_t *item, uint8_t *out, unsigned at,
                          unsigned limit)
{
    const uint8_t *token = item + 2, *end = token + item[1];
    const uint8_t *dictionary = names->dictionary.at;

    for (; token < end && at < limit; token++) {
        unsigned entry = upmu_half(dictionary + 2u * *token);
        unsigned count = (entry >> FRAGMENT_OFFSET) + 1, copied;
        const uint8_t *fragment = names->fragments.at + (entry & ((1u << FRAGMENT_OFFSET) - 1));

        if (at + count >= UPMU_CATALOG_NAME)
            break;
        for (copied = 0; copied < count; copied += 8)
            __builtin_memcpy(out + at + copied, fragment + copied, 8);
        at += count;
    }
    return at;
}

/* A name is what it shares with the first of its block of eight, then its own fragments. */
struct name_item {
    const uint8_t *head, *own;
    unsigned shared;
};

static bool name_find(const struct upmu_names *names, uint32_t number, struct name_item *out)
{
    const uint8_t *block = upmu_section_entry(names->blocks, number >> 3, 3);
    const uint8_t *item;
    uint32_t offset;
    unsigned skip;

    if (!block)
        return false;
    offset = upmu_half(block) | (uint32_t)block[2] << 16;
    if (offset >= names->names.size)
        return false;
    item = out->head = names->names.at + offset;
    for (skip = number & 7u; skip; skip--)
        item += 2u + item[1];
    out->own = item;
    out->shared = item[0];
    return out->shared < UPMU_CATALOG_NAME;
}

static unsigned name_spell(const struct upmu_names *names, const struct name_item *item, uint8_t *out)
{
    if (item->shared && item_text(names, item->head, out, 0, item->shared) < item->shared)
        return 0;
    return item_text(names, item->own, out, item->shared, UPMU_CATALOG_NAME);
}

unsigned upmu_name_text(const struct upmu_names *names, uint32_t number, uint8_t *out)
{
    struct name_item item;

    return name_find(names, number, &item) ? name_spell(names, &item, out) : 0;
}

/* The lowest 0 to 8 bytes of a word. */
static const uint64_t low_bytes[9] = {
    0,
    UINT64_C(0xff),
    UINT64_C(0xffff),
    UINT64_C(0xffffff),
    UINT64_C(0xffffffff),
    UINT64_C(0xffffffffff),
    UINT64_C(0xffffffffffff),
    UINT64_C(0xffffffffffffff),
    UINT64_C(0xffffffffffffffff),
};

/* Compare an item's fragments with the text from `at` on, up to `limit`; how far they go, or ~0u. */
static unsigned item_compare(const struct upmu_names *names, const uint8_t *item, const uint8_t *text, unsigned at,
                             unsigned limit)
{
    const uint8_t *token = item + 2, *end = token + item[1];
    const uint8_t *dictionary = names->dictionary.at, *fragments = names->fragments.at;

    while (token < end) {
        unsigned entry = upmu_half(dictionary + 2u * *token++);
        unsigned left = (entry >> FRAGMENT_OFFSET) + 1, next = at + left;
        const uint8_t *fragment = fragments + (entry & ((1u << FRAGMENT_OFFSET) - 1)), *here = text + at;

        if (next >= limit) {
            left = limit - at;
            next = limit;
            end = token;
        }
        for (; left > 8; left -= 8, fragment += 8, here += 8)
            if (upmu_load64(fragment) != upmu_load64(here))
                return ~0u;
        if ((upmu_load64(fragment) ^ upmu_load64(here)) & low_bytes[left])
            return ~0u;
        at = next;
    }
    return at;
}

bool upmu_name_is(const struct upmu_names *names, uint32_t number, const uint8_t *text, unsigned length)
{
    struct name_item item;

    if (!name_find(names, number, &item))
        return false;
    if (item.shared && item_compare(names, item.head, text, 0, item.shared) != item.shared)
        return false;
    return item_compare(names, item.own, text, item.shared, UPMU_CATALOG_NAME) == length;
}

/* Names of masks have no separator but '_': only their case is folded. */
static inline uint64_t mask_word(const uint8_t *at)
{
    uint64_t word = upmu_load64(at);

    return word | upmu_bytes_within(word, 'A', 'Z') >> 2;
}

bool upmu_mask_text_is(struct upmu_section mask_text, unsigned offset, const uint8_t *text, unsigned length)
{
    const uint8_t *mask = mask_text.at + offset;
    unsigned left;

    if (offset + length + 8 > mask_text.size)
        return false;
    for (left = length; left >= 8; left -= 8, mask += 8, text += 8)
        if (mask_word(mask) != upmu_load64(text))
            return false;
    return !left || !((mask_word(mask) ^ upmu_load64(text)) << (64 - 8 * left));
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
    const uint8_t *displacement = upmu_section_entry(upmu_shared_section(file, UPMU_SHARED_DISPLACEMENTS), bucket, 1);
    const uint8_t *slot;

    if (!displacement)
        return UPMU_NO_NAME;
    hash = (hash ^ *displacement * UINT32_C(0x9e3779b1)) * UINT32_C(0x85ebca6b);
    hash = (hash ^ hash >> 15) * UINT32_C(0xc2b2ae35);
    slot =
        upmu_section_entry(upmu_shared_section(file, UPMU_SHARED_SLOTS), (uint32_t)(((uint64_t)hash * slots) >> 32), 2);
    return slot ? upmu_half(slot) : UPMU_NO_NAME;
}

/* ---- Rows and aliases by name ---- */

/* Where a name's page ends, and the first member of the page with at least its low byte. */
static unsigned member_search(const struct upmu_catalog *catalog, bool alias, uint32_t name,
                              struct upmu_section *out_low, unsigned *out_end)
{
    struct upmu_section pages = upmu_own_section(catalog, alias ? UPMU_OWN_ALIAS_PAGES : UPMU_OWN_ROW_PAGES);
    struct upmu_section low = upmu_own_section(catalog, alias ? UPMU_OWN_ALIAS_LOW : UPMU_OWN_ROW_LOW);
    const uint8_t *page = upmu_section_entry(pages, name >> 8, 2);
    unsigned begin = low.size, end = low.size;

    if (page && (name >> 8) * 2 + 4 <= pages.size) {
        begin = upmu_half(page);
        if (upmu_half(page + 2) < end)
            end = upmu_half(page + 2);
    }
    *out_low = low;
    *out_end = end;
    while (begin < end) {
        unsigned middle = (begin + end) / 2;

        if (low.at[middle] < (name & 255u))
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

unsigned upmu_member_from(const struct upmu_catalog *catalog, bool alias, uint32_t name)
{
    struct upmu_section low;
    unsigned end;

    return member_search(catalog, alias, name, &low, &end);
}

bool upmu_member_find(const struct upmu_catalog *catalog, bool alias, uint32_t name, unsigned *out_index)
{
    struct upmu_section low;
    unsigned end, index = member_search(catalog, alias, name, &low, &end);

    *out_index = index;
    return index < end && low.at[index] == (name & 255u);
}

uint32_t upmu_member_name(const struct upmu_catalog *catalog, bool alias, unsigned index)
{
    struct upmu_section pages = upmu_own_section(catalog, alias ? UPMU_OWN_ALIAS_PAGES : UPMU_OWN_ROW_PAGES);
    const uint8_t *low =
        upmu_section_entry(upmu_own_section(catalog, alias ? UPMU_OWN_ALIAS_LOW : UPMU_OWN_ROW_LOW), index, 1);
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

static uint64_t payload_value(const struct upmu_catalog *catalog, unsigned index)
{
    const uint8_t *value =
        upmu_section_entry(upmu_shared_section(upmu_catalog_file(catalog), UPMU_SHARED_VALUES), index, 8);

    return value ? upmu_load64(value) : 0;
}

/* A set is: counts of masks and of their other names, index of the row's payload, the masks, the names. */
bool upmu_mask_set_at(const struct upmu_catalog *catalog, unsigned offset, struct upmu_mask_set *out_set)
{
    struct upmu_section sets = upmu_own_section(catalog, UPMU_OWN_SETS);
    const uint8_t *set = sets.at + offset;

    if (offset + 4 > sets.size || set[0] > 32 || offset + 4u + UPMU_PACKED_MASK * set[0] + 4u * set[1] > sets.size)
        return false;
    out_set->count = set[0];
    out_set->alias_count = set[1];
    out_set->masks = set + 4;
    out_set->aliases = set + 4 + UPMU_PACKED_MASK * set[0];
    return true;
}

bool upmu_row_read(const struct upmu_catalog *catalog, unsigned row, struct upmu_row *out_row,
                   struct upmu_mask_set *out_set)
{
    const uint8_t *entry = upmu_section_entry(upmu_own_section(catalog, UPMU_OWN_ENTRIES), row, 3);
    const uint8_t *shape = NULL, *masked;
    unsigned flags, value, payload = 0;

    if (entry)
        shape = upmu_section_entry(upmu_own_section(catalog, UPMU_OWN_SHAPES), entry[2], 2);
    if (shape)
        shape = upmu_section_entry(upmu_shared_section(upmu_catalog_file(catalog), UPMU_SHARED_SHAPES),
                                   upmu_half(shape), 12);
    if (!shape)
        return false;
    flags = upmu_half(shape);
    value = upmu_half(entry);
    out_set->count = out_set->alias_count = 0;
    if (flags & UPMU_ROW_MASKED) {
        masked = upmu_section_entry(upmu_own_section(catalog, UPMU_OWN_MASKED), value, UPMU_PACKED_MASKED);
        if (!masked || !upmu_mask_set_at(catalog, upmu_half(masked + 6), out_set))
            return false;
        value = upmu_half(masked + 4);
        payload = upmu_half(out_set->masks - 2);
    } else if (flags & UPMU_SHAPE_INDEXED) {
        payload = value;
        value = 0;
    }
    out_row->flags = (uint16_t)(flags & ~UPMU_SHAPE_INDEXED);
    out_row->cmask = shape[2];
    out_row->code2 = shape[3];
    out_row->code = (uint16_t)(upmu_half(shape + 4) | (value & 255u));
    out_row->umask = (uint16_t)(upmu_half(shape + 6) | value >> 8);
    out_row->counters = upmu_half(shape + 8);
    out_row->msr = upmu_half(shape + 10);
    out_row->payload = out_row->msr ? payload_value(catalog, payload) : 0;
    out_row->mask_count = (uint8_t)out_set->count;
    return true;
}

void upmu_mask_read(const struct upmu_catalog *catalog, const struct upmu_mask_set *set, unsigned mask,
                    struct upmu_mask *out_mask)
{
    const uint8_t *packed = set->masks + UPMU_PACKED_MASK * mask;
    unsigned value = upmu_half(packed + 2);

    out_mask->flags = packed[6];
    out_mask->group = packed[7] & UPMU_PACKED_GROUP;
    out_mask->cmask = 0;
    out_mask->bits = value;
    if (packed[6] & UPMU_MASK_PAYLOAD) {
        out_mask->bits = payload_value(catalog, value);
    } else if (!(packed[7] & UPMU_PACKED_WIDE)) {
        out_mask->bits = value & 255u;
        out_mask->cmask = (uint8_t)(value >> 8);
    }
}

#endif
