/* SPDX-License-Identifier: MIT */
/*
 * Event catalogues: from a name to an id, from an id to a name.  Pure; called by
 * encode.  How a name is found: its folded text is hashed, the hash leads to one
 * name of the file, the name to a row of the catalogue; a masked row's name with its
 * masks is cut where a masked row's name may end.
 */
#include "core/bits.h"
#include "core/catalog_table.h"
#include "core/mem.h"
#include "core/text.h"

#if UPMU_NAMES

/* A name being looked up, folded. */
struct wanted {
    struct upmu_names names;
    struct upmu_section mask_text;
    uint8_t text[UPMU_NAME_ROOM + 8];
    unsigned length;
    uint32_t hash;
    uint32_t begun[UPMU_NAME_ROOM / 8]; /* the hash before every eighth byte */
};

/* Fold and hash; false: no catalogue has such a name. */
static bool wanted_begin(struct wanted *wanted, const uint8_t *file, const char *name, size_t length)
{
    uint32_t hash = upmu_name_hash_begin(file);
    uint64_t all = 0;
    unsigned i;

    if (!length || length >= UPMU_CATALOG_NAME)
        return false;
    memcpy(wanted->text, name, length);
    memset(wanted->text + length, 0, 8);
    wanted->length = (unsigned)length;
    for (i = 0; i < length; i += 8) {
        uint64_t word = upmu_load64(wanted->text + i);

        all |= word;
        word = upmu_fold_word(word);
        upmu_store64(wanted->text + i, word);
        wanted->begun[i / 8] = hash;
        hash = upmu_name_hash(hash, word);
    }
    wanted->begun[i / 8] = hash;
    wanted->hash = upmu_name_hash_end(hash, wanted->length);
    wanted->text[length] = '_'; /* a mask ends at a separator: here too */
    upmu_names_open(file, true, &wanted->names);
    wanted->mask_text = upmu_shared_section(file, UPMU_SHARED_MASK_TEXT);
    return !(all & UPMU_BYTES(0x80));
}

/* The hash of the first bytes of what is looked up. */
static uint16_t prefix_hash(const struct wanted *wanted, unsigned length)
{
    uint32_t hash = wanted->begun[length / 8];

    if (length & 7u)
        hash = upmu_name_hash(hash, upmu_load64(wanted->text + (length & ~7u)) & upmu_bits_ones(8 * (length & 7u)));
    return (uint16_t)upmu_name_hash_end(hash, length);
}

/* The id of a name number: a row's, or what an alias stands for. */
static bool member_id(const struct upmu_catalog *catalog, uint32_t name, struct upmu_event_id *out_id)
{
    unsigned index;

    if (upmu_member_find(catalog, false, name, &index) && index < upmu_own_rows(catalog)) {
        out_id->catalogue = upmu_catalog_number(catalog);
        out_id->row = (uint16_t)index;
        out_id->masks = 0;
        return true;
    }
    return upmu_member_find(catalog, true, name, &index) && upmu_alias_target(catalog, index, out_id);
}

/*
 * Names that fold to one text, of several catalogues or of this one: the one
 * written exactly so, else the first that the catalogue has.
 */
static bool twin_lookup(const struct upmu_catalog *catalog, const struct wanted *wanted, uint32_t first,
                        const char *name, struct upmu_event_id *out_id)
{
    const uint8_t *file = upmu_catalog_file(catalog);
    struct upmu_section twins = upmu_shared_section(file, UPMU_SHARED_TWINS);
    const uint8_t *twin = upmu_section_entry(twins, first, 2);
    struct upmu_names names;
    bool found = false, last = false;

    if (!twin || !upmu_name_is(&wanted->names, upmu_half(twin) & 0x7fffu, wanted->text, wanted->length))
        return false;
    for (; !last && (twin = upmu_section_entry(twins, first, 2)) != NULL; first++) {
        uint32_t number = upmu_half(twin) & 0x7fffu;
        uint8_t text[UPMU_NAME_ROOM];
        struct upmu_event_id id;

        last = (upmu_half(twin) & 0x8000u) != 0;
        if (!member_id(catalog, number, &id))
            continue;
        if (found) {
            upmu_names_open(file, false, &names);
            if (upmu_name_text(&names, number, text) != wanted->length || memcmp(text, name, wanted->length))
                continue;
        }
        *out_id = id;
        found = true;
    }
    return found;
}

/* Whether a packed mask is what a text begins with, up to a separator or its end. */
static inline bool mask_begins(const struct wanted *wanted, const uint8_t *mask, const uint8_t *text, unsigned left)
{
    unsigned length = mask[4];

    return length <= left && text[length] == '_' && mask[5] == upmu_name_key(text, length) &&
           upmu_mask_text_is(wanted->mask_text, upmu_half(mask), text, length);
}

/*
 * The longest mask that begins at `position` and ends at a separator, from mask
 * `first` on; of the first group that has one.
 */
static unsigned mask_at(const struct upmu_mask_set *set, const struct wanted *wanted, unsigned position, unsigned first)
{
    unsigned left = wanted->length - position;
    const uint8_t *text = wanted->text + position, *best;
    const uint8_t *mask = set->masks + UPMU_PACKED_MASK * first, *end = set->masks + UPMU_PACKED_MASK * set->count;

    while (mask < end && !mask_begins(wanted, mask, text, left))
        mask += UPMU_PACKED_MASK;
    if (mask >= end)
        return set->count;
    best = mask;
    for (mask += UPMU_PACKED_MASK; mask < end && !(mask[7] & UPMU_PACKED_FIRST); mask += UPMU_PACKED_MASK)
        if (mask[4] > best[4] && mask_begins(wanted, mask, text, left))
            best = mask;
    return (unsigned)(best - set->masks) / UPMU_PACKED_MASK;
}

/* The masks that the rest of a name consists of, in the order of the set; 0: it does not. */
static uint32_t masks_of(const struct upmu_mask_set *set, const struct wanted *wanted, unsigned position)
{
    uint32_t masks = 0;
    unsigned first = 0;

    while (position < wanted->length) {
        unsigned mask = mask_at(set, wanted, position, first);

        if (mask >= set->count || masks >> mask & 1u)
            return 0;
        masks |= UINT32_C(1) << mask;
        position += set->masks[UPMU_PACKED_MASK * mask + 4] + 1u;
        first = mask + 1;
        if (set->masks[UPMU_PACKED_MASK * mask + 6] & (UPMU_MASK_ALONE | UPMU_MASK_EXCLUSIVE))
            first = upmu_mask_group_end(set, mask);
    }
    return masks;
}

/* One masked row's name with masks behind it. */
static bool masked_row_lookup(const struct upmu_catalog *catalog, const struct wanted *wanted, const uint8_t *record,
                              unsigned length, struct upmu_event_id *out_id)
{
    unsigned row = upmu_half(record + 2), plain = upmu_half(record + 8);
    struct upmu_mask_set set;
    uint32_t masks;

    if (plain != UPMU_NO_TEXT
            ? !upmu_mask_text_is(wanted->mask_text, plain, wanted->text, length)
            : !upmu_name_is(&wanted->names, upmu_member_name(catalog, false, row), wanted->text, length))
        return false;
    if (!upmu_mask_set_at(catalog, upmu_half(record + 6), &set))
        return false;
    masks = masks_of(&set, wanted, length + 1);
    if (!masks)
        return false;
    out_id->catalogue = upmu_catalog_number(catalog);
    out_id->row = (uint16_t)row;
    out_id->masks = masks;
    return true;
}

/* A masked row with masks: the rows whose names may end where a separator stands, longest first. */
static bool masked_lookup(const struct upmu_catalog *catalog, const struct wanted *wanted, struct upmu_event_id *out_id)
{
    struct upmu_section lengths = upmu_own_section(catalog, UPMU_OWN_LENGTHS);
    struct upmu_section masked = upmu_own_section(catalog, UPMU_OWN_MASKED);
    const uint8_t *length = lengths.at, *end = length + (lengths.size & ~1u);
    uint32_t first = 0;

    for (; length < end; first += length[1], length += 2) {
        const uint8_t *record = masked.at + UPMU_PACKED_MASKED * first;
        uint16_t hash;
        unsigned i;

        if (length[0] >= wanted->length || wanted->text[length[0]] != '_')
            continue;
        if (UPMU_PACKED_MASKED * (first + length[1]) > masked.size)
            return false;
        hash = prefix_hash(wanted, length[0]);
        for (i = 0; i < length[1]; i++, record += UPMU_PACKED_MASKED)
            if (upmu_half(record) == hash && masked_row_lookup(catalog, wanted, record, length[0], out_id))
                return true;
    }
    return false;
}

enum upmu_status upmu_catalog_lookup(const struct upmu_catalog *catalog, const char *name, size_t length,
                                     struct upmu_event_id *out_id)
{
    const uint8_t *file = upmu_catalog_file(catalog);
    struct wanted wanted;
    uint32_t slot;
    bool found;

    if (!wanted_begin(&wanted, file, name, length))
        return UPMU_ERR_NO_SUCH_EVENT;
    slot = upmu_name_slot(file, wanted.hash);
    if (slot == UPMU_NO_NAME)
        found = false;
    else if (slot & 0x8000u)
        found = twin_lookup(catalog, &wanted, slot & 0x7fffu, name, out_id);
    else
        found = upmu_name_is(&wanted.names, slot, wanted.text, wanted.length) && member_id(catalog, slot, out_id);
    if (!found)
        found = masked_lookup(catalog, &wanted, out_id);
    return found ? UPMU_OK : UPMU_ERR_NO_SUCH_EVENT;
}

bool upmu_catalog_mask_lookup(const struct upmu_catalog *catalog, unsigned row, const char *name, size_t length,
                              unsigned *out_mask)
{
    struct upmu_mask_set set;
    struct wanted wanted;
    struct upmu_row contents;
    unsigned i;

    if (!upmu_row_read(catalog, row, &contents, &set) ||
        !wanted_begin(&wanted, upmu_catalog_file(catalog), name, length))
        return false;
    for (i = 0; i < set.count; i++) {
        const uint8_t *mask = set.masks + UPMU_PACKED_MASK * i;

        if (mask[4] == wanted.length &&
            upmu_mask_text_is(wanted.mask_text, upmu_half(mask), wanted.text, wanted.length)) {
            *out_mask = i;
            return true;
        }
    }
    for (i = 0; i < set.alias_count; i++) {
        const uint8_t *alias = set.aliases + 4 * i;

        if (alias[2] == wanted.length && alias[3] < set.count &&
            upmu_mask_text_is(wanted.mask_text, upmu_half(alias), wanted.text, wanted.length)) {
            *out_mask = alias[3];
            return true;
        }
    }
    return false;
}

/* ---- Masks into the row ---- */

/* What one mask adds; false: another mask has wired a different counter mask. */
static bool mask_merge(struct upmu_row *row, const struct upmu_mask *mask)
{
    if (mask->flags & UPMU_MASK_PAYLOAD)
        row->payload |= mask->bits;
    else
        row->umask = (uint16_t)(row->umask | mask->bits);
    if (mask->flags & UPMU_MASK_INV)
        row->flags |= UPMU_ROW_INV;
    if (mask->flags & UPMU_MASK_EDGE)
        row->flags |= UPMU_ROW_EDGE;
    if (mask->cmask) {
        if (row->flags & UPMU_ROW_CMASK && row->cmask != mask->cmask)
            return false;
        row->cmask = mask->cmask;
        row->flags |= UPMU_ROW_CMASK;
    }
    return true;
}

/*
 * Which masks are in force: those named, and the defaults of groups of which none
 * is.  A named LAST mask refuses masks of later groups; a LAST mask of either kind
 * keeps their defaults away.
 */
static enum upmu_status masks_complete(const struct upmu_mask_set *set, uint32_t named, uint32_t *out_masks)
{
    bool closed = false, refused = false;
    unsigned i, end;

    *out_masks = 0;
    if (set->count < 32 && named >> set->count)
        return UPMU_ERR_NO_SUCH_MASK;
    for (i = 0; i < set->count; i = end) {
        uint32_t all = 0, defaults = 0, single = 0, last = 0, taken;
        unsigned flags = 0;

        end = upmu_mask_group_end(set, i);
        for (; i < end; i++) {
            unsigned own = set->masks[UPMU_PACKED_MASK * i + 6];
            uint32_t bit = UINT32_C(1) << i;

            flags |= own;
            all |= bit;
            defaults |= own & UPMU_MASK_DEFAULT ? bit : 0;
            single |= own & (UPMU_MASK_ALONE | UPMU_MASK_EXCLUSIVE) ? bit : 0;
            last |= own & UPMU_MASK_LAST ? bit : 0;
        }
        taken = named & all;
        if (taken && (refused || (taken & single && taken & (taken - 1))))
            return UPMU_ERR_MASKS_EXCLUSIVE;
        refused |= (taken & last) != 0;
        if (!taken && !closed) {
            if (flags & UPMU_MASK_REQUIRED)
                return UPMU_ERR_MASK_REQUIRED;
            taken = defaults;
        }
        closed |= (taken & last) != 0;
        *out_masks |= taken;
    }
    return UPMU_OK;
}

enum upmu_status upmu_catalog_merge(const struct upmu_catalog *catalog, struct upmu_event_id id,
                                    struct upmu_row *out_row, uint32_t *out_masks)
{
    enum upmu_status status;
    struct upmu_mask_set set;
    struct upmu_row row;
    uint32_t masks;
    unsigned i;

    if (id.catalogue != upmu_catalog_number(catalog) || !upmu_row_read(catalog, id.row, &row, &set))
        return UPMU_ERR_NO_SUCH_EVENT;
    status = masks_complete(&set, id.masks, &masks);
    if (status)
        return status;
    for (i = 0; i < set.count; i++) {
        struct upmu_mask mask;

        if (!(masks >> i & 1u))
            continue;
        upmu_mask_read(catalog, &set, i, &mask);
        if (!mask_merge(&row, &mask))
            return UPMU_ERR_CONTRADICTION;
        /* A payload that somebody named is wired; one of defaults may be replaced. */
        if (mask.flags & UPMU_MASK_PAYLOAD && id.masks >> i & 1u)
            row.flags |= UPMU_ROW_PAYLOAD;
    }
    *out_row = row;
    if (out_masks)
        *out_masks = masks;
    return UPMU_OK;
}

bool upmu_catalog_row(const struct upmu_catalog *catalog, unsigned row, struct upmu_row *out_row)
{
    struct upmu_mask_set set;

    return upmu_row_read(catalog, row, out_row, &set);
}

bool upmu_catalog_mask(const struct upmu_catalog *catalog, unsigned row, unsigned mask, struct upmu_mask *out_mask)
{
    struct upmu_mask_set set;
    struct upmu_row contents;

    if (!upmu_row_read(catalog, row, &contents, &set) || mask >= set.count)
        return false;
    upmu_mask_read(catalog, &set, mask, out_mask);
    return true;
}

/* ---- Names ---- */

/* upmu_text_bytes() in one go. */
static void append(struct upmu_text *text, const void *bytes, size_t count)
{
    if (text->length < text->size) {
        size_t left = text->size - text->length;

        memcpy(text->buffer + text->length, bytes, count < left ? count : left);
    }
    text->length += count;
}

static void append_row(struct upmu_text *text, const struct upmu_catalog *catalog, unsigned row)
{
    uint8_t name[UPMU_NAME_ROOM];
    struct upmu_names names;

    upmu_names_open(upmu_catalog_file(catalog), false, &names);
    append(text, name, upmu_name_text(&names, upmu_member_name(catalog, false, row), name));
}

static void append_mask(struct upmu_text *text, const struct upmu_catalog *catalog, const uint8_t *mask)
{
    struct upmu_section names = upmu_shared_section(upmu_catalog_file(catalog), UPMU_SHARED_MASK_TEXT);

    if (upmu_half(mask) + mask[4] <= names.size)
        append(text, names.at + upmu_half(mask), mask[4]);
}

size_t upmu_catalog_row_name(const struct upmu_catalog *catalog, unsigned row, char *buffer, size_t size)
{
    struct upmu_text text;

    upmu_text_begin(&text, buffer, size);
    append_row(&text, catalog, row);
    return upmu_text_end(&text);
}

size_t upmu_catalog_mask_name(const struct upmu_catalog *catalog, unsigned row, unsigned mask, char *buffer,
                              size_t size)
{
    struct upmu_mask_set set;
    struct upmu_row contents;
    struct upmu_text text;

    upmu_text_begin(&text, buffer, size);
    if (upmu_row_read(catalog, row, &contents, &set) && mask < set.count)
        append_mask(&text, catalog, set.masks + UPMU_PACKED_MASK * mask);
    return upmu_text_end(&text);
}

size_t upmu_catalog_id_name(const struct upmu_catalog *catalog, struct upmu_event_id id, char *buffer, size_t size)
{
    struct upmu_mask_set set;
    struct upmu_row row;
    struct upmu_text text;

    upmu_text_begin(&text, buffer, size);
    if (id.catalogue == upmu_catalog_number(catalog) && upmu_row_read(catalog, id.row, &row, &set)) {
        append_row(&text, catalog, id.row);
        for (unsigned i = 0; i < set.count; i++) {
            const uint8_t *mask = set.masks + UPMU_PACKED_MASK * i;

            /* A default that excludes what follows stands aside where it may not be named, but is taken. */
            if (mask[6] & UPMU_MASK_LAST && mask[6] & UPMU_MASK_DEFAULT && id.masks >> i > 1)
                continue;
            if (id.masks >> i & 1u) {
                upmu_text_char(&text, row.flags & UPMU_ROW_COMPOSED ? '.' : ':');
                append_mask(&text, catalog, mask);
            }
        }
    }
    return upmu_text_end(&text);
}

/* ---- Which catalogues there are ---- */

static bool name_is_other_case(const uint8_t *name, const char *text)
{
    unsigned i;

    for (i = 0; i < 12 && name[i]; i++)
        if ((uint8_t)text[i] >= 128 || upmu_catalog_fold[name[i] & 127u] != upmu_catalog_fold[(uint8_t)text[i]])
            return false;
    return i && !text[i];
}

const struct upmu_catalog *upmu_catalog_builtin(unsigned i)
{
    if (i >= upmu_half(upmu_catalog_data + 8))
        return NULL;
    return (const struct upmu_catalog *)(const void *)(upmu_catalog_data +
                                                       upmu_word(upmu_catalog_data + UPMU_FILE_DIRECTORY + 4 * i));
}

const struct upmu_catalog *upmu_catalog_find(const char *pmu_name)
{
    const struct upmu_catalog *catalog;
    unsigned i;

    for (i = 0; (catalog = upmu_catalog_builtin(i)) != NULL; i++)
        if (name_is_other_case(catalog->byte + 24, pmu_name) || name_is_other_case(catalog->byte + 36, pmu_name))
            return catalog;
    return NULL;
}

uint16_t upmu_catalog_number(const struct upmu_catalog *catalog)
{
    return (uint16_t)upmu_half(catalog->byte + 12);
}

const char *upmu_catalog_name(const struct upmu_catalog *catalog)
{
    return (const char *)(catalog->byte + 24);
}

enum upmu_source upmu_catalog_source(const struct upmu_catalog *catalog)
{
    return catalog->byte[22] ? UPMU_SOURCE_IMPORTED : UPMU_SOURCE_BUILT_IN;
}

unsigned upmu_catalog_rows(const struct upmu_catalog *catalog)
{
    return upmu_own_rows(catalog);
}

#endif
