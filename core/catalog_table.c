/* SPDX-License-Identifier: MIT */
/*
 * Read packed event catalogues: sections, names, rows, masks.  Pure.  One function
 * checks all offsets, so that a damaged catalogue gives wrong names but never a wild
 * read.
 */
#include "core/catalog_table.h"

#if UPMU_NAMES

/* clang-format off */
const uint8_t upmu_catalog_fold[256] = {
    ['-'] = '_', ['.'] = '_', [':'] = '_', ['_'] = '_',
    ['0'] = '0', '1', '2', '3', '4', '5', '6', '7', '8', '9',
    ['A'] = 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm',
            'n', 'o', 'p', 'q', 'r', 's', 't', 'u', 'v', 'w', 'x', 'y', 'z',
    ['a'] = 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm',
            'n', 'o', 'p', 'q', 'r', 's', 't', 'u', 'v', 'w', 'x', 'y', 'z',
};
/* clang-format on */

bool upmu_same_folded(const char *text, const char *other, unsigned length)
{
    while (length-- > 0)
        if (upmu_catalog_fold[(uint8_t)text[length]] != upmu_catalog_fold[(uint8_t)other[length]])
            return false;
    return true;
}

const uint8_t *upmu_section_at(const uint8_t *base, unsigned section, uint32_t index)
{
    return upmu_section_here(base, section, index);
}

/* ---- Text ---- */

#define SWITCHES 3u /* codes that are no fragments: bit 0 of code + 1: small letters, bit 1: '-' for '_' */
#define DOT 0x7f

struct upmu_dictionary upmu_dictionary(const uint8_t *file)
{
    return (struct upmu_dictionary){upmu_section_at(file, UPMU_SHARED_FRAGMENTS, 0),
                                    upmu_file_wide(file) ? 0 : file[12] & 63u};
}

/*
 * Text of a fragment, 8 bytes, at *out; its length.  A small file has of each code how far
 * it stands behind the one before: steps of its eight are added up.
 */
static inline unsigned fragment_at(struct upmu_dictionary dictionary, unsigned code, const uint8_t **out)
{
    unsigned shift = 8 * (code & 7u), at;
    uint64_t eight, steps;

    if (!dictionary.groups) {
        at = upmu_half(dictionary.begin + 2 * code);
        *out = dictionary.begin + at % UPMU_FILE_ROOM;
        return at >> 11;
    }
    at = upmu_half(dictionary.begin + 8 * dictionary.groups + 2 * (code >> 3));
    __builtin_memcpy(&eight, dictionary.begin + (code & ~7u), 8);
    steps = (eight >> 4 & UPMU_EACH(0x0f)) * UPMU_EACH(1);
    at += (unsigned)(steps >> shift) & 255u;
    *out = dictionary.begin + at % UPMU_FILE_ROOM;
    return (unsigned)(eight >> shift) & 15u;
}

unsigned upmu_codes_begin(struct upmu_dictionary dictionary, const uint8_t *codes, unsigned count,
                          const char *folded, unsigned room)
{
    const uint8_t *end = codes + count, *text;
    unsigned at = 0, length;
    uint64_t wanted, present;

    for (; codes < end; codes++) {
        if (*codes < SWITCHES)
            continue;
        length = fragment_at(dictionary, *codes, &text);
        __builtin_memcpy(&wanted, folded + at, 8);
        __builtin_memcpy(&present, text, 8);
        /* Case is one bit, and the one by which a dot differs from '_'. */
        at += length;
        if (((wanted ^ present) & UPMU_EACH(0xdf)) << ((0u - 8 * length) & 63u) || at > room)
            return 0;
    }
    return at;
}

/* Eight letters of a fragment as they are written: with a style, and dots. */
static inline uint64_t styled(uint64_t eight, unsigned style)
{
    uint64_t special = ((eight & UPMU_EACH(0x5f)) + UPMU_EACH(0x21)) >> 7 & UPMU_EACH(1); /* '_' or DOT */
    uint64_t dots = special & eight >> 5;

    eight ^= dots * (DOT ^ '.');
    if (style & 1u)
        eight |= UPMU_EACH(0x20) & ~(special << 5);
    if (style & 2u)
        eight ^= (special ^ dots) * ('_' ^ '-');
    return eight;
}

bool upmu_codes_are(struct upmu_dictionary dictionary, unsigned style, struct upmu_item item, const char *name)
{
    unsigned code, length;
    const uint8_t *text;

    for (; item.count; item.count--) {
        code = *item.codes++;
        if (code < SWITCHES) {
            style ^= code + 1;
            continue;
        }
        for (length = fragment_at(dictionary, code, &text); length; length--, text++) {
            char letter = (char)*text;

            if (letter == DOT)
                letter = '.';
            else if (letter == '_')
                letter = style & 2u ? '-' : '_';
            else if (letter >= 'A' && style & 1u)
                letter = (char)(letter | 0x20);
            if (letter != *name++)
                return false;
        }
    }
    return true;
}

/* Letters from `from` to `at` with `style`, eight at a time: behind them is room. */
static void apply_style(char *out, unsigned from, unsigned at, unsigned style)
{
    uint64_t eight;

    for (; from < at; from += 8) {
        __builtin_memcpy(&eight, out + from, 8);
        eight = styled(eight, style);
        __builtin_memcpy(out + from, &eight, 8);
    }
}

unsigned upmu_item_spell(const uint8_t *file, struct upmu_item item, char *out)
{
    struct upmu_dictionary dictionary = upmu_dictionary(file);
    unsigned style = file[13] & 3u, at = 0, from = 0;

    for (; item.letters && at < item.count; at++)
        out[at] = (char)item.codes[at];
    for (item.count -= at; item.count; item.count--) {
        unsigned code = *item.codes++;
        const uint8_t *text;

        if (code < SWITCHES) {
            apply_style(out, from, at, style);
            from = at;
            style ^= code + 1;
            continue;
        }
        code = fragment_at(dictionary, code, &text);
        __builtin_memcpy(out + at, text, 8);
        at += code;
        if (at >= UPMU_CATALOG_NAME)
            return 0;
    }
    if (!item.letters)
        apply_style(out, from, at, style);
    out[at] = '\0';
    return at;
}

/* ---- Names ---- */

#define OWN_MOST 31u   /* a byte says how many */
#define CODES_MOST 63u /* of a name */

struct upmu_item upmu_name_item(const uint8_t *file, uint32_t number, uint8_t room[UPMU_CODES_ROOM])
{
    unsigned block = file[13] >> 4, at = 0, left = number & ((1u << block) - 1);
    uint32_t begin = upmu_offset(upmu_section_at(file, UPMU_SHARED_BLOCKS, number >> block));
    const uint8_t *names = upmu_section_at(file, UPMU_SHARED_NAMES, begin);
    uint64_t first = 0, own;

    for (;; left--) {
        unsigned head = names[at++], shared = head >> 5, count = head & OWN_MOST;

        if (count == OWN_MOST)
            count = names[at++] & CODES_MOST;
        if (!left && !shared)
            return (struct upmu_item){names + at, count, false};
        __builtin_memcpy(&own, names + at, 8);
        first = (first & ((UINT64_C(1) << 8 * shared) - 1)) | own << 8 * shared;
        if (!left) {
            __builtin_memcpy(room, &first, 8);
            for (unsigned i = 8 - shared; i < count; i += 8)
                __builtin_memcpy(room + shared + i, names + at + i, 8);
            return (struct upmu_item){room, shared + count, false};
        }
        at = (at + count) % UPMU_FILE_ROOM;
    }
}

unsigned upmu_name_text(const uint8_t *file, uint32_t number, char *out)
{
    uint8_t room[UPMU_CODES_ROOM];

    return upmu_item_spell(file, upmu_name_item(file, number, room), out);
}

/* ---- Rows and aliases by name ---- */

/*
 * The name numbers of a catalogue's rows or aliases.  A small file lists aliases only:
 * the other names are rows.
 */
static const uint8_t *name_list(const struct upmu_catalog *catalog, bool alias, unsigned wide, unsigned *out_count)
{
    unsigned rows = upmu_own_rows(catalog), count = alias ? upmu_half(catalog->byte + 16) : rows;
    unsigned end = count + (alias && wide ? rows + 1 : 0);
    const uint8_t *high = upmu_section_at(catalog->byte, UPMU_OWN_NAMES, end << wide);

    /* Where the last is, the others are before it. */
    *out_count = high == catalog->byte ? 0 : count;
    return high - (*out_count << wide);
}

static inline unsigned number_in(const uint8_t *list, unsigned i, unsigned wide)
{
    return wide ? upmu_half(list + 2 * i) : list[i];
}

unsigned upmu_member_from(const struct upmu_catalog *catalog, bool alias, unsigned name, unsigned *out_name)
{
    unsigned wide = upmu_file_wide(upmu_catalog_file(catalog)), count, low, high;
    unsigned rows = upmu_own_rows(catalog);
    const uint8_t *list = name_list(catalog, alias || !wide, wide, &count), *at = list;

    for (high = count; high > 1; high -= high / 2) {
        const uint8_t *middle = at + (high / 2 << wide);

        if ((wide ? upmu_half(middle - 2) : middle[-1]) < name)
            at = middle;
    }
    low = (unsigned)(at - list) >> wide;
    low += high && number_in(list, low, wide) < name;
    if (alias || wide) {
        *out_name = low < count ? number_in(list, low, wide) : UPMU_NO_NAME;
        return alias ? rows + 1 + low : low;
    }
    high = name - low;
    for (; low < count && list[low] == name; low++)
        name++;
    *out_name = high < rows ? name : UPMU_NO_NAME;
    return high < rows ? high : rows;
}

unsigned upmu_member_name(const struct upmu_catalog *catalog, unsigned member)
{
    unsigned wide = upmu_file_wide(upmu_catalog_file(catalog)), rows = upmu_own_rows(catalog), count;
    bool alias = member > rows;
    const uint8_t *list = name_list(catalog, alias || !wide, wide, &count);

    if (alias)
        member -= rows + 1;
    if (alias || wide)
        return member < count ? number_in(list, member, wide) : UPMU_NO_NAME;
    if (member >= rows)
        return UPMU_NO_NAME;
    for (; count && *list <= member; count--, list++)
        member++;
    return member;
}

void upmu_member_id(const struct upmu_catalog *catalog, unsigned member, struct upmu_event_id *out_id)
{
    unsigned rows = upmu_own_rows(catalog), wide = upmu_file_wide(upmu_catalog_file(catalog));
    const uint8_t *chosen;

    out_id->catalogue = upmu_catalog_number(catalog);
    out_id->masks = 0;
    if (member > rows) {
        member = number_in(upmu_section_at(catalog->byte, UPMU_OWN_TARGETS, (member - rows - 1) << wide), 0, wide);
        if (member >= rows) {
            chosen = upmu_section_at(catalog->byte, UPMU_OWN_CHOSEN, member - rows);
            member = upmu_half(chosen);
            out_id->masks = upmu_word(chosen + 2);
        }
    }
    out_id->row = (uint16_t)member;
}

/* ---- Contents of a row ---- */

uint64_t upmu_payload(const uint8_t *file, unsigned index)
{
    const uint8_t *value = upmu_section_at(file, UPMU_SHARED_VALUES, index);

    return upmu_word(value) | (uint64_t)upmu_word(value + 4) << 32;
}

/* What a row shares with others. */
static const uint8_t *shape_at(const struct upmu_catalog *catalog, unsigned number)
{
    const uint8_t *file = upmu_catalog_file(catalog);

    if (upmu_file_wide(file))
        number = upmu_half(upmu_section_at(catalog->byte, UPMU_OWN_SHAPES, number));
    return upmu_section_at(file, UPMU_SHARED_SHAPES, number);
}

/* How many masks a set has. */
static uint8_t masks_count(const uint8_t *set)
{
    unsigned count = 0;

    for (const uint8_t *run = set + (set[0] & UPMU_SET_PAYLOAD ? 3 : 1);; run += 2) {
        count += run[1];
        if (run[0] & UPMU_LAST_RUN || run - set > (int)UPMU_FILE_ROOM / 2 - 2)
            return (uint8_t)(count <= UPMU_MASKS ? count : UPMU_MASKS);
    }
}

const uint8_t *upmu_row_set(const struct upmu_catalog *catalog, unsigned row)
{
    const uint8_t *entry = upmu_section_at(catalog->byte, UPMU_OWN_ENTRIES, row);

    if (!(upmu_half(shape_at(catalog, entry[2])) & UPMU_ROW_MASKED))
        return NULL;
    return upmu_section_at(upmu_catalog_file(catalog), UPMU_SHARED_SETS,
                             upmu_half(upmu_section_at(catalog->byte, UPMU_OWN_MASKED, entry[1])));
}

bool upmu_row_read(const struct upmu_catalog *catalog, unsigned row, struct upmu_row *out, const uint8_t **out_set)
{
    const uint8_t *entry, *shape, *set;
    unsigned flags, value, payload = 0;

    if (row >= upmu_own_rows(catalog))
        return false;
    entry = upmu_section_at(catalog->byte, UPMU_OWN_ENTRIES, row);
    shape = shape_at(catalog, entry[2]);
    flags = upmu_half(shape);
    value = upmu_half(entry);
    out->mask_count = 0;
    set = upmu_row_set(catalog, row);
    if (set) {
        out->mask_count = masks_count(set);
        payload = set[0] & UPMU_SET_PAYLOAD ? upmu_half(set + 1) : 0;
        value = entry[0];
    } else if (flags & UPMU_SHAPE_INDEXED) {
        payload = value;
        value = 0;
    }
    *out_set = set;
    out->flags = (uint16_t)(flags & ~UPMU_SHAPE_INDEXED);
    out->cmask = shape[2];
    out->code2 = shape[3];
    out->code = (uint16_t)(upmu_half(shape + 4) | (value & 255u));
    out->umask = (uint16_t)(upmu_half(shape + 6) | value >> 8);
    out->counters = upmu_half(shape + 8);
    out->msr = upmu_half(shape + 10);
    out->payload = payload;
    return true;
}

/* ---- Masks ---- */

void upmu_masks_begin(const uint8_t *file, const uint8_t *set, struct upmu_masks *out)
{
    unsigned count = 0, at = set[0] & UPMU_SET_PAYLOAD ? 3 : 1, others = set[0] & UPMU_SET_OTHERS;

    out->file = file;
    out->set = set;
    out->run = at;
    do {
        count += set[at + 1];
        at += 2;
    } while (!(set[at - 2] & UPMU_LAST_RUN) && at < UPMU_FILE_ROOM / 2);
    out->count = count <= UPMU_MASKS ? count : UPMU_MASKS;
    out->heads = at;
    out->words = at + out->count + others;
    out->wide = upmu_file_wide(file) != 0;
    out->at = out->words + out->count + others + (set[0] & UPMU_SET_WIDE ? out->count : 0);
    out->left = 0;
    out->index = UINT32_MAX;
}

bool upmu_masks_next(struct upmu_masks *masks)
{
    const uint8_t *set = masks->set, *text;
    unsigned count;

    if (++masks->index < masks->count) {
        while (!masks->left) {
            masks->class = upmu_section_at(masks->file, UPMU_SHARED_CLASSES, set[masks->run] & ~UPMU_LAST_RUN);
            masks->left = set[masks->run + 1];
            masks->run += 2;
        }
        masks->left--;
    } else {
        masks->class = NULL;
        if (masks->index >= masks->count + (set[0] & UPMU_SET_OTHERS))
            return false;
    }
    masks->head = set[masks->heads + masks->index];
    text = set + masks->at % UPMU_FILE_ROOM;
    count = masks->wide ? masks->head & UPMU_MASK_LETTERS : masks->head >> 4;
    if (!masks->wide && count == UPMU_MASK_MOST)
        count = *text++;
    masks->item = (struct upmu_item){text, count, masks->wide};
    masks->at = (unsigned)(text - set) + count;
    return true;
}

bool upmu_masks_may_be(const struct upmu_masks *masks, size_t length)
{
    return !((masks->head ^ (unsigned)length) & (masks->wide ? UPMU_MASK_LETTERS : 15u));
}

unsigned upmu_masks_bits(const struct upmu_masks *masks)
{
    const uint8_t *words = masks->set + masks->words;

    if (!(masks->set[0] & UPMU_SET_WIDE))
        return words[masks->index];
    return masks->class ? upmu_half(words + 2 * masks->index) : words[masks->index + masks->count];
}

bool upmu_masks_find(const struct upmu_catalog *catalog, const uint8_t *set, unsigned i, struct upmu_masks *out)
{
    if (!set)
        return false;
    upmu_masks_begin(upmu_catalog_file(catalog), set, out);
    if (i >= out->count)
        return false;
    do
        (void)upmu_masks_next(out);
    while (out->index < i);
    return true;
}

bool upmu_row_unpack(const struct upmu_catalog *catalog, unsigned row, struct upmu_unpacked *out)
{
    const uint8_t *file = upmu_catalog_file(catalog);
    struct upmu_masks masks;
    unsigned i;

    if (!upmu_row_read(catalog, row, &out->row, &out->set))
        return false;
    out->row.payload = out->row.msr ? upmu_payload(file, (unsigned)out->row.payload) : 0;
    if (!out->row.mask_count)
        return true;
    upmu_masks_begin(file, out->set, &masks);
    while (upmu_masks_next(&masks) && masks.class)
        out->mask[masks.index] = (struct upmu_mask_entry){
            (uint16_t)upmu_masks_bits(&masks), masks.class[0], masks.class[1], masks.class[2], (uint8_t)masks.index};
    for (i = masks.count - 1; i-- > 0;)
        if (!((out->mask[i].class ^ out->mask[i + 1].class) & UPMU_CLASS_GROUP))
            out->mask[i].last = out->mask[i + 1].last;
    return true;
}

void upmu_mask_read(const struct upmu_catalog *catalog, const struct upmu_mask_entry *entry,
                    struct upmu_mask *out_mask)
{
    out_mask->bits = entry->bits;
    out_mask->cmask = entry->cmask;
    out_mask->flags = entry->flags;
    out_mask->group = entry->class & UPMU_CLASS_GROUP;
    if (entry->flags & UPMU_MASK_PAYLOAD)
        out_mask->bits = upmu_payload(upmu_catalog_file(catalog), entry->bits);
}

#endif
