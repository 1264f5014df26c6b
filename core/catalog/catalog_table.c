/* SPDX-License-Identifier: MIT */
/*
 * Read packed event catalogues: sections, names, rows, unit masks.  Pure.  One function (upmu_section_here()) checks
 * all offsets, so that a damaged catalogue gives wrong names but never a read outside of the file.
 */
#include "core/catalog/catalog_table.h"
#include "core/util/apart.h"

#if UPMU_NAMES

uint8_t upmu_catalog_fold(char letter)
{
    char small = (char)((uint8_t)letter | 0x20u);

    if (small >= 'a' && small <= 'z')
        return (uint8_t)small;
    if (letter >= '0' && letter <= '9')
        return (uint8_t)letter;
    return letter == '-' || letter == '.' || letter == ':' || letter == '_' ? '_' : 0;
}

bool upmu_same_folded(const char *text, const char *other, unsigned length)
{
    while (length-- > 0)
        if (upmu_catalog_fold(text[length]) != upmu_catalog_fold(other[length]))
            return false;
    return true;
}

const uint8_t *upmu_section_at(const uint8_t *base, unsigned section, uint32_t index)
{
    return upmu_section_here(base, section, index);
}

/* ---- Text ---- */

#define SWITCHES 3u /* a code below 3 flips the style bits set in code + 1: bit 0: small letters, bit 1: '-' for '_' */
#define DOT 0x7f
#define FRAGMENT 8u /* the most letters that a code of the dictionary can stand for */

/*
 * Set *out to the 8 bytes of a code's fragment. Returns how many of them, at the end, do not belong to the fragment: 0
 * to 7.
 */
static inline unsigned fragment_at(const uint8_t *dictionary, size_t code, const uint8_t **out)
{
    unsigned entry = upmu_half(dictionary + 2 * code);

    *out = dictionary + entry % UPMU_FILE_ROOM;
    return entry >> 13;
}

static inline const uint8_t *dictionary_of(const uint8_t *file)
{
    return upmu_section_here(file, UPMU_SHARED_FRAGMENTS, 0);
}

/* Are the first 8 - `but` letters of `text`, a fragment, equal to those of the case-folded text? */
static inline bool eight_folded(const uint8_t *text, const char *folded, unsigned but)
{
    uint64_t present, wanted;

    __builtin_memcpy(&present, text, 8);
    __builtin_memcpy(&wanted, folded, 8);
    /* Upper and lower case differ in bit 20h. A fragment's dot (7Fh) differs from '_' in the same bit. */
    return !(((present | UPMU_EACH(0x20)) ^ wanted) << 8 * but);
}

unsigned upmu_codes_begin(const uint8_t *file, const uint8_t *codes, unsigned count, const char *folded)
{
    const uint8_t *dictionary = dictionary_of(file), *end = codes + count, *text;
    unsigned at = 0, but;

    for (; codes < end; codes++) {
        if (*codes < SWITCHES)
            continue;
        but = fragment_at(dictionary, *codes, &text);
        if (!eight_folded(text, folded + at, but))
            return 0;
        at += FRAGMENT - but;
    }
    return folded[at] == UPMU_FOLDED_SEPARATOR ? at : 0;
}

/* Return eight letters of a fragment as they are spelt in a style (see SWITCHES), with DOT as '.'. */
static inline uint64_t styled_letters(uint64_t eight, unsigned style)
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

/* Change out[from] to out[at - 1] to the spelling of a style, eight letters at a time; `out` has room behind them. */
static UPMU_INSIDE void apply_style(char *out, unsigned from, unsigned at, unsigned style)
{
    uint64_t eight;

    for (; from < at; from += 8) {
        __builtin_memcpy(&eight, out + from, 8);
        eight = styled_letters(eight, style);
        __builtin_memcpy(out + from, &eight, 8);
    }
}

unsigned upmu_item_spell(const uint8_t *file, struct upmu_item item, char *out)
{
    const uint8_t *dictionary = dictionary_of(file);
    unsigned style = item.style, at = 0, from = 0;

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
        at += FRAGMENT - code;
        if (at >= UPMU_CATALOG_NAME)
            return 0;
    }
    if (!item.letters)
        apply_style(out, from, at, style);
    out[at] = '\0';
    return at;
}

/* ---- Names ---- */

#define OWN_MOST 15u   /* bits 3:0 of a name's first byte: number of own codes; 15: the next byte has the number */
#define OTHER_STYLE 16u
#define CODES_MOST 63u /* the most own codes of a name */

/* Return how many codes the name at *at has besides those shared with the name before; move *at to the first. */
static inline unsigned own_codes(const uint8_t **at)
{
    unsigned count = *(*at)++ & OWN_MOST;

    return count < OWN_MOST ? count : *(*at)++ & CODES_MOST;
}

/*
 * Return the address of the name that has this number in the file. *out_block: the address of its block of 4 names
 * (small file: 16). *out_before: how many names of the block are before it.
 */
static UPMU_APART const uint8_t *name_at(const uint8_t *file, uint32_t number, const uint8_t **out_block,
                                         unsigned *out_before)
{
    bool wide = upmu_file_wide(file) != 0;
    const uint8_t *at = upmu_section_here(file, UPMU_SHARED_BLOCKS, wide ? (number >> 2) * 3 : number >> 4 << 1);
    unsigned left = number & (wide ? 3u : 15u), count;

    *out_before = left;
    *out_block = at = upmu_section_here(file, UPMU_SHARED_NAMES, wide ? upmu_offset(at) : upmu_half(at));
    while (left--) {
        count = own_codes(&at);
        at += count;
    }
    return at;
}

/*
 * Return the first 8 codes of the `left`-th name (1: the first) of the block at `at`: the name after it may share up to
 * 7 of them. Returns 0 if `left` is 0.
 */
static UPMU_APART uint64_t first_codes(const uint8_t *at, unsigned left)
{
    unsigned count, shared;
    uint64_t first = 0, own;

    while (left--) {
        shared = *at >> 5 & 7u;
        count = own_codes(&at);
        __builtin_memcpy(&own, at, 8);
        first ^= (first ^ own << 8 * shared) >> 8 * shared << 8 * shared;
        at += count;
    }
    return first;
}

struct upmu_item upmu_name_item(const uint8_t *file, uint32_t number, uint8_t room[UPMU_CODES_ROOM])
{
    const uint8_t *block, *at;
    unsigned before, head, count;
    uint64_t eight;

    at = name_at(file, number, &block, &before);
    eight = first_codes(block, before);
    head = *at;
    count = own_codes(&at);
    __builtin_memcpy(room, &eight, 8);
    for (unsigned i = 0; i < count; i += 8) {
        __builtin_memcpy(&eight, at + i, 8);
        __builtin_memcpy(room + (head >> 5) + i, &eight, 8);
    }
    return (struct upmu_item){room, (head >> 5) + count, file[head & OTHER_STYLE ? 12 : 13] & 3u, false};
}

bool upmu_name_written(const uint8_t *file, uint32_t number, const char *name)
{
    const uint8_t *dictionary = dictionary_of(file), *text;
    uint8_t room[UPMU_CODES_ROOM];
    struct upmu_item item = upmu_name_item(file, number, room);
    unsigned length;
    char letter;

    for (; item.count; item.count--, item.codes++) {
        if (*item.codes < SWITCHES) {
            item.style ^= (uint8_t)(*item.codes + 1);
            continue;
        }
        for (length = FRAGMENT - fragment_at(dictionary, *item.codes, &text); length; length--) {
            letter = (char)*text++;
            if (letter == DOT)
                letter = '.';
            else if (letter == '_')
                letter = item.style & 2u ? '-' : '_';
            else if (letter >= 'A' && item.style & 1u)
                letter = (char)(letter | 0x20);
            if (letter != *name++)
                return false;
        }
    }
    return true;
}

bool upmu_name_is(const uint8_t *file, uint32_t number, const char *folded, unsigned length)
{
    const uint8_t *dictionary = dictionary_of(file), *block, *begin, *code, *text;
    unsigned before, shared, but;
    uint8_t room[8];
    const char *end = folded + length;
    uint64_t first;

    begin = name_at(file, number, &block, &before);
    shared = *begin >> 5;
    but = own_codes(&begin);
    code = begin + but;
    /* Compare from the end: names that are compared because their hashes are alike differ more often at the end. */
    for (;;) {
        while (code > begin) {
            if (*--code < SWITCHES)
                continue;
            but = fragment_at(dictionary, *code, &text);
            end -= FRAGMENT - but;
            if (!eight_folded(text, end, but))
                return false;
        }
        if (!shared)
            break;
        first = first_codes(block, before);
        __builtin_memcpy(room, &first, 8);
        begin = room;
        code = room + shared;
        shared = 0;
    }
    return end == folded;
}

unsigned upmu_name_text(const uint8_t *file, uint32_t number, char *out)
{
    uint8_t room[UPMU_CODES_ROOM];

    return upmu_item_spell(file, upmu_name_item(file, number, room), out);
}

/* ---- Rows and aliases of a catalogue, found by the number of their name ---- */

/*
 * Return the ascending list of the name numbers of a catalogue's rows or aliases; *out_count: how many it has. A small
 * file has the list of aliases only: all other names of the file are those of rows.
 */
static UPMU_INSIDE const uint8_t *name_list(const struct upmu_catalog *catalog, bool alias, unsigned wide,
                                            unsigned *out_count)
{
    unsigned rows = upmu_own_rows(catalog), count = alias ? upmu_half(catalog->byte + 16) : rows;
    unsigned end = count + (alias && wide ? rows + 1 : 0);
    const uint8_t *high = upmu_section_at(catalog->byte, UPMU_OWN_NAMES, end << wide);

    /*
     * `high` is the address of the FFFFh (FFh) behind the list, or that of the header if the list is outside the file.
     */
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

uint16_t upmu_catalog_number(const struct upmu_catalog *catalog)
{
    return (uint16_t)upmu_half(catalog->byte + 12);
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

/* ---- Reading a row: payload, shape, unit masks ---- */

uint64_t upmu_payload(const uint8_t *file, unsigned index)
{
    const uint8_t *value = upmu_section_at(file, UPMU_SHARED_VALUES, index);

    return upmu_word(value) | (uint64_t)upmu_word(value + 4) << 32;
}

/* Return the shape that an entry's last byte names: 12 bytes of a row that other rows may share. */
static const uint8_t *shape_at(const struct upmu_catalog *catalog, unsigned number)
{
    const uint8_t *file = upmu_catalog_file(catalog);

    number &= UPMU_ENTRY_SHAPE;
    if (upmu_file_wide(file))
        number = upmu_half(upmu_section_at(catalog->byte, UPMU_OWN_SHAPES, number));
    return upmu_section_at(file, UPMU_SHARED_SHAPES, number);
}

/* Return how many unit masks a packed set has. */
static uint8_t masks_count(const uint8_t *set)
{
    unsigned count = 0;

    for (const uint8_t *run = set + (set[0] & UPMU_SET_PAYLOAD ? 3 : 1);; run += 2) {
        count += run[1] & UPMU_RUN_MASKS;
        if (run[0] & UPMU_LAST_RUN || run - set > (int)UPMU_FILE_ROOM / 2 - 2)
            return (uint8_t)(count <= UPMU_MASKS ? count : UPMU_MASKS);
    }
}

const uint8_t *upmu_row_set(const struct upmu_catalog *catalog, unsigned row)
{
    const uint8_t *entry = upmu_section_here(catalog->byte, UPMU_OWN_ENTRIES, row);

    if (!(entry[2] & UPMU_ENTRY_MASKED))
        return NULL;
    return upmu_section_here(upmu_catalog_file(catalog), UPMU_SHARED_SETS,
                             upmu_half(upmu_section_here(catalog->byte, UPMU_OWN_MASKED, entry[1])));
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
    out->code2 = upmu_catalog_of_units(catalog) ? 0 : shape[3];
    out->unit = upmu_catalog_of_units(catalog) ? shape[3] : 0;
    out->code = (uint16_t)(upmu_half(shape + 4) | (value & 255u));
    out->umask = (uint16_t)(upmu_half(shape + 6) | value >> 8);
    out->counters = upmu_half(shape + 8);
    out->msr = upmu_half(shape + 10);
    out->payload = payload;
    return true;
}

void upmu_row_resolve(const struct upmu_catalog *catalog, const uint8_t *set, struct upmu_row *row)
{
    row->payload = row->msr ? upmu_payload(upmu_catalog_file(catalog), (unsigned)row->payload) : 0;
    if (row->msr && row->unit && !set) {
        row->code = (uint16_t)(row->code | (row->payload & 255u));
        row->umask = (uint16_t)(row->umask | (row->payload >> 8 & 255u));
        row->payload >>= 32;
        if (row->msr == UPMU_ROW_FILTER_HIGH) {
            row->msr = UPMU_ROW_FILTER;
            row->payload <<= 32;
        }
    }
}

/* ---- Masks ---- */

void upmu_masks_begin(const uint8_t *file, const uint8_t *set, struct upmu_masks *out)
{
    unsigned count = 0, at = set[0] & UPMU_SET_PAYLOAD ? 3 : 1, others = set[0] & UPMU_SET_OTHERS;

    out->file = file;
    out->set = set;
    out->run = at;
    do {
        count += set[at + 1] & UPMU_RUN_MASKS;
        at += 2;
    } while (!(set[at - 2] & UPMU_LAST_RUN) && at < UPMU_FILE_ROOM / 2);
    out->count = count <= UPMU_MASKS ? count : UPMU_MASKS;
    out->heads = at;
    out->wide = upmu_file_wide(file) != 0;
    out->words = at + (out->count + others) * (out->wide ? 3 : 1);
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
            if (masks->run >= masks->heads) {
                masks->count = masks->index; /* other software has changed the file since upmu_masks_begin() */
                return false;
            }
            masks->class = upmu_section_at(masks->file, UPMU_SHARED_CLASSES, set[masks->run] & ~UPMU_LAST_RUN);
            masks->left = set[masks->run + 1] & UPMU_RUN_MASKS;
            masks->run += 2;
        }
        masks->left--;
    } else {
        masks->class = NULL;
        if (masks->index >= masks->count + (set[0] & UPMU_SET_OTHERS))
            return false;
    }
    masks->head = set[masks->heads + masks->index];
    if (masks->wide) {
        count = upmu_half(set + masks->heads + masks->count + (set[0] & UPMU_SET_OTHERS) + 2 * masks->index);
        text = set + count % UPMU_FILE_ROOM;
        count /= UPMU_FILE_ROOM;
    } else {
        text = set + masks->at % UPMU_FILE_ROOM;
        count = masks->head >> 4;
        if (count == UPMU_MASK_MOST)
            count = *text++;
    }
    masks->item = (struct upmu_item){text, count, masks->file[12] >> (masks->class ? 2 : 4) & 3u, masks->wide};
    masks->at = (unsigned)(text - set) + count;
    return true;
}

bool upmu_masks_may_be(const struct upmu_masks *masks, char first)
{
    return !((masks->head ^ ((uint8_t)first | 0x20u)) & (masks->wide ? 255u : 15u));
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
        if (!upmu_masks_next(out))
            return false;
    while (out->index < i);
    return true;
}

bool upmu_row_unpack(const struct upmu_catalog *catalog, unsigned row, struct upmu_unpacked *out)
{
    const uint8_t *file = upmu_catalog_file(catalog);
    const uint8_t *words, *class;
    struct upmu_mask_entry *mask = out->mask;
    struct upmu_masks masks;
    unsigned index = 0, wide;

    if (!upmu_row_read(catalog, row, &out->row, &out->set))
        return false;
    upmu_row_resolve(catalog, out->set, &out->row);
    if (!out->row.mask_count)
        return true;
    upmu_masks_begin(file, out->set, &masks);
    words = out->set + masks.words;
    wide = out->set[0] & UPMU_SET_WIDE;
    /*
     * row.mask_count becomes the number of masks unpacked here, not what upmu_row_read() found: other software may
     * change the file in between.
     */
    for (; masks.run < masks.heads; masks.run += 2) {
        class = upmu_section_at(file, UPMU_SHARED_CLASSES, out->set[masks.run] & ~UPMU_LAST_RUN);
        for (masks.left = out->set[masks.run + 1] & UPMU_RUN_MASKS; masks.left-- != 0 && index < masks.count; mask++) {
            mask->bits = (uint16_t)(wide ? upmu_half(words + 2 * index) : words[index]);
            mask->flags = class[0];
            mask->cmask = class[1];
            mask->class = class[2];
            mask->last = (uint8_t)index++;
        }
    }
    out->row.mask_count = (uint8_t)index;
    while (index-- > 1)
        if (!((out->mask[index - 1].class ^ out->mask[index].class) & UPMU_CLASS_GROUP))
            out->mask[index - 1].last = out->mask[index].last;
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
