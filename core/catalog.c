/* SPDX-License-Identifier: MIT */
/*
 * Event catalogues: from a name to an id, from an id to a name.  Pure; called by
 * encode.  How a name is found: its folded text is hashed, the hash leads to one
 * name of the file, the name to a row or alias of the catalogue.  A masked row may be
 * followed by its masks: the name is looked up at every separator where the hash so
 * far is one of a masked row.
 */
#include "core/catalog_table.h"
#include "core/mem.h"
#include "core/text.h"

#if UPMU_NAMES

/* The hash of names takes eight letters at a time. */
#define HASH_FACTOR UINT64_C(0x9e3779b97f4a7c15)

/* Places in a name that are tried as the end of a masked row's name. */
#define CUTS 8

/* A name being looked up. */
struct wanted {
    const struct upmu_catalog *catalog;
    const char *name;
    unsigned length;
    struct upmu_event_id id; /* found, if status is UPMU_OK */
    enum upmu_status status;
    uint8_t ends[UPMU_CATALOG_NAME / 8 + 9]; /* bit i: it may end or be cut before byte i */
    unsigned cuts;
    struct {
        uint32_t hash;
        uint32_t at;
    } cut[CUTS]; /* where the name of a masked row may end */
};

/* The high half of a product: a remainder of evenly spread numbers without a division. */
static uint32_t scaled(uint32_t hash, const uint8_t *count)
{
    return (uint32_t)(((uint64_t)hash * upmu_half(count)) >> 32);
}

/* Whether the name ends at a place, or has a separator there: the bits of `ends` are a little generous. */
static bool is_end(const struct wanted *wanted, unsigned at)
{
    return at >= wanted->length || upmu_catalog_fold[(uint8_t)wanted->name[at]] == '_';
}

/*
 * The mask that a text begins with, from mask `first` on.  A mask whose name others of
 * its group begin with says so, and is before them; the longest is taken.
 */
static unsigned mask_at(const struct upmu_unpacked *row, unsigned first, const struct wanted *wanted, unsigned at)
{
    const uint8_t *mask = row->masks + UPMU_PACKED_MASK * first, *near = wanted->ends + (at >> 3);
    uint64_t ends = (upmu_word(near) | (uint64_t)upmu_word(near + 4) << 32) >> (at & 7u) & ~UINT64_C(1);
    const char *last = wanted->name + at - 1, *text;
    unsigned found = row->row.mask_count, count = found;

    for (; first < count; first++, mask += UPMU_PACKED_MASK) {
        unsigned length = mask[4];

        if (!(ends >> (length % UPMU_MASK_ROOM) & 1u))
            continue;
        length %= UPMU_MASK_ROOM;
        text = upmu_mask_text(row, mask);
        if ((((last[length] ^ text[length - 1]) | (last[1] ^ text[0])) & 0xdf) ||
            !upmu_same_folded(last + 1, text, length) || !is_end(wanted, at + length))
            continue;
        found = first;
        if (!(mask[7] & UPMU_PACKED_BEGINS))
            break;
        count = upmu_mask_group_end(row, first);
    }
    return found;
}

/*
 * Take the masks that the text from `at` on consists of, in the order of the row, into
 * an id.  UPMU_ERR_NO_SUCH_EVENT: it begins with masks and goes on with none,
 * UPMU_ERR_END: it is no text of masks, so that the name may be another.
 */
static enum upmu_status masks_take(const struct wanted *wanted, unsigned at, struct upmu_event_id *id)
{
    unsigned first = 0, mask;
    struct upmu_unpacked row;

    if (!upmu_row_masks(wanted->catalog, id->row, &row))
        return UPMU_ERR_END;
    id->masks = 0;
    while (at <= wanted->length) {
        mask = mask_at(&row, first, wanted, at);
        if (mask >= row.row.mask_count)
            return id->masks && row.closed ? UPMU_ERR_NO_SUCH_EVENT : UPMU_ERR_END;
        id->masks |= UINT32_C(1) << mask;
        first = mask + 1;
        if (row.masks[UPMU_PACKED_MASK * mask + 6] & (UPMU_MASK_ALONE | UPMU_MASK_EXCLUSIVE))
            first = upmu_mask_group_end(&row, mask);
        at += (row.masks[UPMU_PACKED_MASK * mask + 4] % UPMU_MASK_ROOM) + 1;
    }
    return UPMU_OK;
}

/* The id of the row or alias with a name; false: the catalogue has none. */
static bool member_lookup(const struct upmu_catalog *catalog, unsigned name, bool alias, struct upmu_event_id *out_id)
{
    unsigned present, member = upmu_member_from(catalog, false, name, &present);

    if (present != name && alias)
        member = upmu_member_from(catalog, true, name, &present);
    if (present != name)
        return false;
    upmu_member_id(catalog, member, out_id);
    return true;
}

/* Whether a name may be that of the whole text: one that is not differs in its first letters, most often. */
static bool begins_alike(const struct wanted *wanted, unsigned name, char text[UPMU_NAME_ROOM])
{
    unsigned length = upmu_name_begin(upmu_catalog_file(wanted->catalog), name, text, 4);

    return upmu_same_folded(wanted->name, text, length < wanted->length ? length : wanted->length);
}

static bool same_bytes(const char *a, const char *b, unsigned length)
{
    while (length && a[length - 1] == b[length - 1])
        length--;
    return !length;
}

/*
 * Look up a name that goes up to `at` and has this hash; behind that masks follow, if
 * it is not the end.  The hash is perfect, by displacement: a bucket's byte moves its
 * names to free slots, and of most other hashes the slot says that they are not its
 * name's.  Of names that fold to one text: the one written exactly so, else the first
 * that the catalogue has.  False if the name may yet end elsewhere.
 */
static bool name_lookup(struct wanted *wanted, unsigned at, uint32_t hash)
{
    const uint8_t *file = upmu_catalog_file(wanted->catalog);
    const uint8_t *slot = upmu_section_here(file, UPMU_SHARED_DISPLACEMENTS, scaled(hash, file + 14));
    bool whole = at == wanted->length, found = false;
    unsigned left = UPMU_TWINS, entry, print = hash & 255u;
    char text[UPMU_NAME_ROOM];

    hash = (hash ^ *slot * UINT32_C(0x9e3779b1)) * UINT32_C(0x85ebca6b);
    slot = upmu_section_here(file, UPMU_SHARED_SLOTS, scaled(hash, file + 12));
    entry = upmu_half(slot);
    if (slot[2] != print || (!whole && !(entry & UPMU_SLOT_MASKED)))
        return false;
    if (!(entry & UPMU_LAST_TWIN))
        slot = upmu_section_at(file, UPMU_SHARED_TWINS, entry & UPMU_SLOT_NAME);
    do {
        enum upmu_status status = UPMU_OK;
        struct upmu_event_id id;

        entry = upmu_half(slot);
        slot += 2;
        if ((whole && wanted->cuts && !begins_alike(wanted, entry & UPMU_SLOT_NAME, text)) ||
            !member_lookup(wanted->catalog, entry & UPMU_SLOT_NAME, whole, &id))
            continue;
        if (!whole)
            status = masks_take(wanted, at + 1, &id);
        if (status == UPMU_ERR_END || upmu_name_text(file, entry & UPMU_SLOT_NAME, text) != at ||
            !upmu_same_folded(wanted->name, text, at) || (found && !same_bytes(wanted->name, text, at)))
            continue;
        if (status == UPMU_ERR_NO_SUCH_EVENT)
            return true;
        found = true;
        wanted->id = id;
        wanted->status = UPMU_OK;
    } while (!(entry & UPMU_LAST_TWIN) && --left);
    return found;
}

/* ---- The hash ---- */

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/*
 * Fold eight bytes: letters to lower case, - . : _ to one byte.  Other bytes fold like
 * these, too, all below the digits as separators; what is found is compared.
 */
static inline uint64_t fold_eight(uint64_t eight, uint64_t *out_separators)
{
    uint64_t lower = (eight | EACH(0x20)) & EACH(0x7f), spread;

    /* Below '0', above '9' and not above ':', above 'z'. */
    spread = ~(lower + EACH(0x50)) | ((lower + EACH(0x46)) & ~(lower + EACH(0x45))) | (lower + EACH(0x05));
    *out_separators = spread >> 7 & EACH(1);
    spread = *out_separators * 255;
    return (lower & ~spread) | (spread & EACH('_'));
}

/*
 * Hash the name; note where separators are, and where the name of a masked row may
 * end: at most one in eight of the other names passes the filter.
 */
static uint32_t wanted_hash(struct wanted *wanted)
{
    const struct upmu_catalog *catalog = wanted->catalog;
    const uint8_t *filter = upmu_section_at(catalog->byte, UPMU_OWN_FILTER, 0);
    unsigned shift = 54 + (catalog->byte[23] & 7u), last = catalog->byte[22] & 127u, left, i;
    uint64_t hash = upmu_half(upmu_catalog_file(catalog) + 22);

    memset(wanted->ends, 0, sizeof wanted->ends);
    wanted->cuts = 0;
    for (unsigned at = 0;; at += 8) {
        uint64_t eight = 0, separators;
        unsigned ends;

        left = wanted->length - at;
        if (left >= 8)
            __builtin_memcpy(&eight, wanted->name + at, 8);
        else
            for (i = 0; i < left; i++)
                eight |= (uint64_t)(uint8_t)wanted->name[at + i] << 8 * i;
        eight = fold_eight(eight, &separators);
        /* Of each byte its lowest bit, side by side. */
        ends = (unsigned)(separators * UINT64_C(0x0102040810204080) >> 56);
        if (left < 8) {
            ends = (ends & ((1u << left) - 1)) | 1u << left;
            eight &= (UINT64_C(1) << 8 * left) - 1;
        }
        wanted->ends[at >> 3] = (uint8_t)ends;
        if (at > last && left >= 8)
            ends = 0;
        for (; ends; ends &= ends - 1) {
            uint64_t whole;

            i = (unsigned)__builtin_ctz(ends);
            whole = (hash ^ (eight & ((UINT64_C(1) << 8 * i) - 1))) * HASH_FACTOR;
            if (i == left)
                return (uint32_t)(whole >> 32);
            if (((unsigned)filter[whole >> shift >> 3] >> (whole >> shift & 7u) & 1u) && at + i <= last &&
                wanted->cuts < CUTS && is_end(wanted, at + i)) {
                wanted->cut[wanted->cuts].hash = (uint32_t)(whole >> 32);
                wanted->cut[wanted->cuts++].at = at + i;
            }
        }
        hash = (hash ^ eight) * HASH_FACTOR;
        hash ^= hash >> 32;
    }
}

static enum upmu_status plain_lookup(const struct upmu_catalog *catalog, const char *name, size_t length,
                                     struct upmu_event_id *out_id)
{
    struct wanted wanted;
    bool found;
    uint32_t hash;

    if (!length || length >= UPMU_CATALOG_NAME)
        return UPMU_ERR_NO_SUCH_EVENT;
    wanted.catalog = catalog;
    wanted.name = name;
    wanted.length = (unsigned)length;
    wanted.status = UPMU_ERR_NO_SUCH_EVENT;
    hash = wanted_hash(&wanted);
    found = name_lookup(&wanted, wanted.length, hash);
    for (unsigned i = 0; i < wanted.cuts && !found; i++)
        found = name_lookup(&wanted, wanted.cut[i].at, wanted.cut[i].hash);
    if (wanted.status == UPMU_OK)
        *out_id = wanted.id;
    return wanted.status;
}

/* Where Intel spells OFFCORE_RESPONSE.X.Y as OFFCORE_RESPONSE:request=X:response=Y. */
#define FIRST_KEYWORD 17u
#define FIRST_EQUALS (FIRST_KEYWORD + 7)

/* Such a name without its keywords; its length, 0: it is none. */
static size_t without_keywords(const char *name, size_t length, char plain[UPMU_CATALOG_NAME])
{
    size_t count = FIRST_KEYWORD, at = FIRST_EQUALS + 1;

    if (length <= at || length >= UPMU_CATALOG_NAME || name[FIRST_EQUALS] != '=' ||
        !upmu_same_folded(name + FIRST_KEYWORD, "request", 7))
        return 0;
    memcpy(plain, name, count);
    while (at < length) {
        if (length - at > 9 && upmu_same_folded(name + at, "_response=", 10)) {
            plain[count++] = '_';
            at += 10;
        } else {
            plain[count++] = name[at++];
        }
    }
    return count;
}

enum upmu_status upmu_catalog_lookup(const struct upmu_catalog *catalog, const char *name, size_t length,
                                     struct upmu_event_id *out_id)
{
    enum upmu_status status = plain_lookup(catalog, name, length, out_id);
    char plain[UPMU_CATALOG_NAME];

    if (status != UPMU_ERR_NO_SUCH_EVENT)
        return status;
    length = without_keywords(name, length, plain);
    return length ? plain_lookup(catalog, plain, length, out_id) : status;
}

bool upmu_catalog_mask_lookup(const struct upmu_catalog *catalog, unsigned row, const char *name, size_t length,
                              unsigned *out_mask)
{
    struct upmu_unpacked unpacked;
    const uint8_t *mask;
    unsigned i;

    if (!upmu_row_read(catalog, row, &unpacked))
        return false;
    for (i = 0; i < unpacked.row.mask_count + unpacked.other_names; i++) {
        mask = unpacked.masks + UPMU_PACKED_MASK * i;
        if (mask[4] == length && upmu_same_folded(name, upmu_mask_text(&unpacked, mask), mask[4])) {
            *out_mask = i < unpacked.row.mask_count ? i : upmu_half(mask + 2);
            return *out_mask < unpacked.row.mask_count;
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
static enum upmu_status masks_complete(const struct upmu_unpacked *row, uint32_t named, uint32_t *out_masks)
{
    unsigned count = row->row.mask_count, i, end;
    bool refused = false, closed = false;

    *out_masks = 0;
    if (count < 32 && named >> count)
        return UPMU_ERR_NO_SUCH_MASK;
    for (i = 0; i < count;) {
        uint32_t taken = 0, defaults = 0;
        unsigned flags = 0, taken_flags = 0, default_flags = 0;

        for (end = upmu_mask_group_end(row, i); i < end; i++) {
            unsigned own = row->masks[UPMU_PACKED_MASK * i + 6];

            flags |= own;
            if (named >> i & 1u) {
                taken |= UINT32_C(1) << i;
                taken_flags |= own;
            } else if (own & UPMU_MASK_DEFAULT) {
                defaults |= UINT32_C(1) << i;
                default_flags |= own;
            }
        }
        if (taken) {
            if (refused || (taken_flags & (UPMU_MASK_ALONE | UPMU_MASK_EXCLUSIVE) && taken & (taken - 1)))
                return UPMU_ERR_MASKS_EXCLUSIVE;
            refused = (taken_flags & UPMU_MASK_LAST) != 0;
        } else if (!closed) {
            if (flags & UPMU_MASK_REQUIRED)
                return UPMU_ERR_MASK_REQUIRED;
            taken = defaults;
            taken_flags = default_flags;
        }
        closed |= (taken_flags & UPMU_MASK_LAST) != 0;
        *out_masks |= taken;
    }
    return UPMU_OK;
}

enum upmu_status upmu_catalog_merge(const struct upmu_catalog *catalog, struct upmu_event_id id,
                                    struct upmu_row *out_row, uint32_t *out_masks)
{
    enum upmu_status status;
    struct upmu_unpacked row;
    uint32_t masks;
    unsigned i;

    if (id.catalogue != upmu_catalog_number(catalog) || !upmu_row_read(catalog, id.row, &row))
        return UPMU_ERR_NO_SUCH_EVENT;
    status = masks_complete(&row, id.masks, &masks);
    if (status)
        return status;
    for (i = 0; i < row.row.mask_count; i++) {
        struct upmu_mask mask;

        if (!(masks >> i & 1u))
            continue;
        upmu_mask_read(catalog, &row, i, &mask);
        if (!mask_merge(&row.row, &mask))
            return UPMU_ERR_CONTRADICTION;
        /* A payload that somebody named is wired; one of defaults may be replaced. */
        if (mask.flags & UPMU_MASK_PAYLOAD && id.masks >> i & 1u)
            row.row.flags |= UPMU_ROW_PAYLOAD;
    }
    *out_row = row.row;
    if (out_masks)
        *out_masks = masks;
    return UPMU_OK;
}

bool upmu_catalog_row(const struct upmu_catalog *catalog, unsigned row, struct upmu_row *out_row)
{
    struct upmu_unpacked unpacked;

    if (!upmu_row_read(catalog, row, &unpacked))
        return false;
    *out_row = unpacked.row;
    return true;
}

bool upmu_catalog_mask(const struct upmu_catalog *catalog, unsigned row, unsigned mask, struct upmu_mask *out_mask)
{
    struct upmu_unpacked unpacked;

    if (!upmu_row_read(catalog, row, &unpacked) || mask >= unpacked.row.mask_count)
        return false;
    upmu_mask_read(catalog, &unpacked, mask, out_mask);
    return true;
}

/* ---- Names ---- */

static void append_mask(struct upmu_text *text, const struct upmu_unpacked *row, const uint8_t *mask)
{
    upmu_text_bytes(text, upmu_mask_text(row, mask), mask[4]);
}

size_t upmu_catalog_id_name(const struct upmu_catalog *catalog, struct upmu_event_id id, char *buffer, size_t size)
{
    struct upmu_unpacked row;
    char name[UPMU_NAME_ROOM];
    struct upmu_text text;
    unsigned i;

    upmu_text_begin(&text, buffer, size);
    if (id.catalogue == upmu_catalog_number(catalog) && upmu_row_read(catalog, id.row, &row)) {
        upmu_text_bytes(&text, name,
                        upmu_name_text(upmu_catalog_file(catalog), upmu_member_name(catalog, id.row), name));
        for (i = 0; i < row.row.mask_count; i++) {
            const uint8_t *mask = row.masks + UPMU_PACKED_MASK * i;

            /* A default that excludes what follows stands aside where it may not be named, but is taken. */
            if (!(id.masks >> i & 1u) ||
                (mask[6] & UPMU_MASK_LAST && mask[6] & UPMU_MASK_DEFAULT && id.masks >> i > 1))
                continue;
            upmu_text_char(&text, row.row.flags & UPMU_ROW_COMPOSED ? '.' : ':');
            append_mask(&text, &row, mask);
        }
    }
    return upmu_text_end(&text);
}

size_t upmu_catalog_row_name(const struct upmu_catalog *catalog, unsigned row, char *buffer, size_t size)
{
    struct upmu_event_id id = {upmu_catalog_number(catalog), (uint16_t)(row < UINT16_MAX ? row : UINT16_MAX), 0};

    return upmu_catalog_id_name(catalog, id, buffer, size);
}

size_t upmu_catalog_mask_name(const struct upmu_catalog *catalog, unsigned row, unsigned mask, char *buffer,
                              size_t size)
{
    struct upmu_unpacked unpacked;
    struct upmu_text text;

    upmu_text_begin(&text, buffer, size);
    if (upmu_row_read(catalog, row, &unpacked) && mask < unpacked.row.mask_count)
        append_mask(&text, &unpacked, unpacked.masks + UPMU_PACKED_MASK * mask);
    return upmu_text_end(&text);
}

/* ---- Which catalogues there are ---- */

const struct upmu_catalog *upmu_catalog_builtin(unsigned i)
{
    const uint8_t *file;

    for (unsigned k = 0; (file = upmu_catalog_file_at(k)) != NULL; k++) {
        if (i < upmu_half(file + 8))
            return (const struct upmu_catalog *)(const void *)(file + upmu_word(file + UPMU_FILE_DIRECTORY + 4 * i));
        i -= upmu_half(file + 8);
    }
    return NULL;
}

const struct upmu_catalog *upmu_catalog_find(const char *pmu_name)
{
    const struct upmu_catalog *catalog;
    size_t length = upmu_text_length(pmu_name);
    unsigned i;

    for (i = 0; length && (catalog = upmu_catalog_builtin(i >> 1)) != NULL; i++)
        if (upmu_text_is(pmu_name, length, (const char *)catalog->byte + UPMU_OWN_NAME + 12 * (i & 1u)))
            return catalog;
    return NULL;
}

uint16_t upmu_catalog_number(const struct upmu_catalog *catalog)
{
    return (uint16_t)upmu_half(catalog->byte + 12);
}

const char *upmu_catalog_name(const struct upmu_catalog *catalog)
{
    return (const char *)(catalog->byte + UPMU_OWN_NAME);
}

enum upmu_source upmu_catalog_source(const struct upmu_catalog *catalog)
{
    return catalog->byte[22] & 128u ? UPMU_SOURCE_IMPORTED : UPMU_SOURCE_BUILT_IN;
}

unsigned upmu_catalog_rows(const struct upmu_catalog *catalog)
{
    return upmu_own_rows(catalog);
}

#endif
