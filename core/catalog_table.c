/* SPDX-License-Identifier: MIT */
/*
 * Read packed event catalogues: sections, names, rows, masks.  Pure.  One function
 * checks all offsets, so that a damaged catalogue gives wrong names but never a wild
 * read.
 */
#include "core/catalog_table.h"

#if UPMU_NAMES

/* Bytes that differ from those of names in bit 5 only fold like them: see upmu_same_folded(). */
/* clang-format off */
const uint8_t upmu_catalog_fold[256] = {
      0,   1,   2,   3,   4,   5,   6,   7,   8,   9,  10,  11,  12, '_', '_',  15,
    '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '_',  27,  28,  29,  30,  31,
    ' ', '!', '"', '#', '$', '%', '&', '\'','(', ')', '*', '+', ',', '_', '_', '/',
    '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '_', ';', '<', '=', '>', '?',
    '@', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o',
    'p', 'q', 'r', 's', 't', 'u', 'v', 'w', 'x', 'y', 'z', '[', '\\',']', '^', '_',
    '`', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o',
    'p', 'q', 'r', 's', 't', 'u', 'v', 'w', 'x', 'y', 'z', '{', '|', '}', '~', '_',
};
/* clang-format on */

/* Whether only case differs in a few letters; generous with other bytes, as the table is. */
static inline bool same_letters(const char *text, const char *other, bool four)
{
    uint64_t a = 0, b = 0;

    __builtin_memcpy(&a, text, four ? 4 : 8);
    __builtin_memcpy(&b, other, four ? 4 : 8);
    return !((a ^ b) & UINT64_C(0xdfdfdfdfdfdfdfdf));
}

/* From the end, as names that differ tend to begin alike. */
bool upmu_same_folded(const char *text, const char *other, unsigned length)
{
    unsigned left = length;

    while (left > 0) {
        if (left >= 8 && same_letters(text + left - 8, other + left - 8, false)) {
            left -= 8;
        } else if (left < 8 && length >= 8 && same_letters(text, other, false)) {
            return true;
        } else if (left >= 4 && same_letters(text + left - 4, other + left - 4, true)) {
            left -= 4;
        } else {
            left--;
            if (upmu_catalog_fold[(uint8_t)text[left]] != upmu_catalog_fold[(uint8_t)other[left]])
                return false;
        }
    }
    return true;
}

const uint8_t *upmu_section_at(const uint8_t *base, unsigned section, uint32_t index)
{
    return upmu_section_here(base, section, index);
}

/* ---- Names ---- */

/* Of a fragment: bits of the offset, above them the length.  Their text is behind the last of them. */
#define FRAGMENT_OFFSET 11

/*
 * Spell the fragments of an item behind `at` bytes, up to `limit` or a little more;
 * where the text then ends.  Fragments have at most 8 bytes and are copied as if they
 * had 8: `out` and the section have that much room behind them.
 */
static unsigned item_spell(const uint8_t *fragments, const uint8_t *item, char *out, unsigned at, unsigned limit)
{
    const uint8_t *token = item + 2, *end = token + item[1];

    for (; token < end && at < limit; token++) {
        unsigned fragment = upmu_half(fragments + 2u * *token);

        __builtin_memcpy(out + at, fragments + (fragment & ((1u << FRAGMENT_OFFSET) - 1)), 8);
        at += fragment >> FRAGMENT_OFFSET;
    }
    return at;
}

/* A name is what it shares with the first of its block of eight, then its own fragments. */
unsigned upmu_name_begin(const uint8_t *file, uint32_t number, char *out, unsigned limit)
{
    const uint8_t *fragments = upmu_section_at(file, UPMU_SHARED_FRAGMENTS, 0);
    uint32_t block = upmu_word(upmu_section_here(file, UPMU_SHARED_BLOCKS, number >> 3)) & 0xffffffu;
    const uint8_t *head = upmu_section_here(file, UPMU_SHARED_NAMES, block), *own = head;

    for (number &= 7u; number; number--)
        own += 2u + own[1];
    if (own[0] >= UPMU_CATALOG_NAME)
        return 0;
    (void)item_spell(fragments, head, out, 0, own[0] < limit ? own[0] : limit);
    return own[0] < limit ? item_spell(fragments, own, out, own[0], limit) : limit;
}

unsigned upmu_name_text(const uint8_t *file, uint32_t number, char *out)
{
    unsigned length = upmu_name_begin(file, number, out, UPMU_CATALOG_NAME - 1);

    return length < UPMU_CATALOG_NAME ? length : 0;
}

/* ---- Rows and aliases by name ---- */

unsigned upmu_member_from(const struct upmu_catalog *catalog, bool alias, unsigned name, unsigned *out_name)
{
    unsigned count = upmu_own_rows(catalog), first = 0;
    const uint8_t *low, *high, *begin;

    if (alias) {
        first = count + 1;
        count = upmu_half(catalog->byte + 16);
    }
    high = upmu_section_here(catalog->byte, UPMU_OWN_NAMES, first + count);
    /* Where the last is, the others are before it. */
    begin = low = high == catalog->byte ? high : high - 2 * count;
    while (low < high) {
        const uint8_t *middle = low + ((size_t)(high - low) >> 2) * 2;

        if (upmu_half(middle) < name)
            low = middle + 2;
        else
            high = middle;
    }
    *out_name = upmu_half(low);
    return first + (unsigned)(low - begin) / 2;
}

void upmu_member_id(const struct upmu_catalog *catalog, unsigned member, struct upmu_event_id *out_id)
{
    unsigned rows = upmu_own_rows(catalog);
    const uint8_t *chosen;

    out_id->catalogue = upmu_catalog_number(catalog);
    out_id->masks = 0;
    if (member > rows) {
        member = upmu_half(upmu_section_at(catalog->byte, UPMU_OWN_TARGETS, member - rows - 1));
        if (member & UPMU_TARGET_CHOSEN) {
            chosen = upmu_section_at(catalog->byte, UPMU_OWN_CHOSEN, member & (UPMU_TARGET_CHOSEN - 1));
            member = upmu_half(chosen);
            out_id->masks = upmu_word(chosen + 2);
        }
    }
    out_id->row = (uint16_t)member;
}

/* ---- Contents of a row ---- */

static uint64_t payload_value(const struct upmu_catalog *catalog, unsigned index)
{
    const uint8_t *value = upmu_section_at(upmu_catalog_file(catalog), UPMU_SHARED_VALUES, index);

    return upmu_word(value) | (uint64_t)upmu_word(value + 4) << 32;
}

bool upmu_row_masks(const struct upmu_catalog *catalog, unsigned row, struct upmu_unpacked *out)
{
    const uint8_t *file = upmu_catalog_file(catalog), *entry, *shape;
    unsigned flags, value, payload = 0;

    if (row >= upmu_own_rows(catalog))
        return false;
    entry = upmu_section_at(catalog->byte, UPMU_OWN_ENTRIES, row);
    shape = upmu_section_at(catalog->byte, UPMU_OWN_SHAPES, entry[2]);
    shape = upmu_section_at(file, UPMU_SHARED_SHAPES, upmu_half(shape));
    flags = upmu_half(shape);
    value = upmu_half(entry);
    out->row.mask_count = 0;
    out->other_names = 0;
    if (flags & UPMU_SHAPE_INDEXED) {
        payload = value;
        value = 0;
    }
    if (flags & UPMU_ROW_MASKED) {
        /* A set is: counts of masks and of their other names, index of the row's payload, masks, names. */
        const uint8_t *masked = upmu_section_at(catalog->byte, UPMU_OWN_MASKED, payload);
        const uint8_t *set = upmu_section_at(file, UPMU_SHARED_SETS, upmu_half(masked + 2));

        value = upmu_half(masked);
        payload = upmu_half(set + 2);
        out->row.mask_count = set[0] <= 32 ? set[0] : 32;
        out->other_names = set[1] & 31u;
        out->closed = (set[1] & UPMU_SET_CLOSED) != 0;
        out->masks = set + 4;
        out->text = (const char *)upmu_section_at(file, UPMU_SHARED_MASK_TEXT, 0);
        out->text_room = upmu_word(file + 4) - (UPMU_SHARED_MASK_TEXT >> 16) -
                         (unsigned)((const uint8_t *)out->text - file);
    }
    out->row.flags = (uint16_t)(flags & ~UPMU_SHAPE_INDEXED);
    out->row.cmask = shape[2];
    out->row.code2 = shape[3];
    out->row.code = (uint16_t)(upmu_half(shape + 4) | (value & 255u));
    out->row.umask = (uint16_t)(upmu_half(shape + 6) | value >> 8);
    out->row.counters = upmu_half(shape + 8);
    out->row.msr = upmu_half(shape + 10);
    out->row.payload = payload;
    return true;
}

bool upmu_row_read(const struct upmu_catalog *catalog, unsigned row, struct upmu_unpacked *out)
{
    if (!upmu_row_masks(catalog, row, out))
        return false;
    out->row.payload = out->row.msr ? payload_value(catalog, (unsigned)out->row.payload) : 0;
    return true;
}

void upmu_mask_read(const struct upmu_catalog *catalog, const struct upmu_unpacked *row, unsigned mask,
                    struct upmu_mask *out_mask)
{
    const uint8_t *packed = row->masks + UPMU_PACKED_MASK * mask;

    out_mask->bits = upmu_half(packed + 2);
    out_mask->cmask = packed[5];
    out_mask->flags = packed[6];
    out_mask->group = packed[7] & UPMU_PACKED_LAST;
    if (out_mask->flags & UPMU_MASK_PAYLOAD)
        out_mask->bits = payload_value(catalog, upmu_half(packed + 2));
}

#endif
