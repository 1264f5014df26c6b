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
    const uint8_t *file;
    const char *name;
    unsigned length;
    struct upmu_event_id id; /* found, if status is UPMU_OK */
    enum upmu_status status;
    char folded[UPMU_CATALOG_NAME + UPMU_FOLDED_ROOM]; /* the name, then noughts */
    uint8_t ends[UPMU_CATALOG_NAME / 8 + 9];           /* bit i: it may end or be cut before byte i */
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

/* How long masks may be that begin at a place, by the ends that follow it: in a small file modulo 16. */
static uint64_t masks_expected(const struct wanted *wanted, unsigned at, bool wide)
{
    const uint8_t *near = wanted->ends + (at >> 3);
    uint64_t ends = (upmu_word(near) | (uint64_t)upmu_word(near + 4) << 32) >> (at & 7u);

    if (wide)
        return ends;
    ends |= ends >> 32;
    return ((ends | ends >> 16) & 0xffffu) * UINT64_C(0x0001000100010001);
}

/* Where masks are looked for in a set. */
struct place {
    unsigned index, end, run; /* next mask, where its run ends, next run */
    unsigned named, at;       /* a mask, and where its name is */
    const uint8_t *class;     /* of the run */
};

/* Whether the text from `from` on begins with the name of the mask at a place; how many letters that has. */
static unsigned mask_letters(const struct wanted *wanted, const struct upmu_masks *masks, struct place *place,
                             unsigned from)
{
    const uint8_t *set = masks->set, *heads = set + masks->heads, *text;
    unsigned count, letters, i, at = place->at;

    for (i = place->named;; i++, at += count) {
        text = set + at % UPMU_FILE_ROOM;
        count = masks->wide ? heads[i] & UPMU_MASK_LETTERS : heads[i] >> 4;
        if (!masks->wide && count == UPMU_MASK_MOST) {
            count = *text++;
            at++;
        }
        if (i == place->index)
            break;
    }
    place->named = i + 1;
    place->at = at + count;
    letters = upmu_item_begins(wanted->file, (struct upmu_item){text, count, masks->wide}, wanted->folded + from,
                               wanted->length - from);
    return from + letters == wanted->length || wanted->folded[from + letters] == '_' ? letters : 0;
}

/*
 * The mask from a place on that the text begins with at `from`; how many letters it has,
 * 0: none.  Of masks of a group that begin alike it is the longest, which is the last of them.
 */
static unsigned mask_next(const struct wanted *wanted, const struct upmu_masks *masks, unsigned from,
                          uint64_t expected, struct place *place)
{
    const uint8_t *heads = masks->set + masks->heads;
    unsigned letters = 0, begins = masks->wide ? UPMU_CLASS_BEGINS : 0, more;
    struct place here = *place;

    for (;; here.index++) {
        const uint8_t *head = heads + here.index, *end = heads + here.end;

        /* Above a length stand other bits: one of a small file comes four times. */
        while (head < end && !(expected >> *head % 64 & 1u))
            head++;
        here.index = (unsigned)(head - heads);
        if (here.index == here.end) {
            const uint8_t *run = masks->set + here.run, *class;

            if (here.end >= masks->count)
                break;
            class = upmu_section_at(masks->file, UPMU_SHARED_CLASSES, run[0] & ~UPMU_LAST_RUN);
            if (letters && (class[2] ^ here.class[2]) & UPMU_CLASS_GROUP)
                break;
            here.class = class;
            here.end += run[1];
            if (here.end > masks->count)
                here.end = masks->count;
            here.run += 2;
            here.index--;
            continue;
        }
        more = mask_letters(wanted, masks, &here, from);
        if (!more)
            continue;
        letters = more;
        *place = here;
        place->index++;
        if (!((here.class[2] | (*head & begins)) & UPMU_CLASS_BEGINS))
            break;
    }
    return letters;
}

/* Go behind the group of a place: it takes no other mask. */
static void place_leave_group(const struct upmu_masks *masks, struct place *place)
{
    const uint8_t *run;

    for (place->index = place->end; place->end < masks->count; place->index = place->end, place->run += 2) {
        run = masks->set + place->run;
        if ((upmu_section_at(masks->file, UPMU_SHARED_CLASSES, run[0] & ~UPMU_LAST_RUN)[2] ^ place->class[2]) &
            UPMU_CLASS_GROUP)
            break;
        place->end += run[1];
    }
    if (place->end > masks->count)
        place->index = place->end = masks->count;
}

/*
 * Take the masks that the text from `at` on consists of, in the order of the row, into
 * an id.  UPMU_ERR_NO_SUCH_EVENT: it begins with masks and goes on with none,
 * UPMU_ERR_END: it is no text of masks, so that the name may be another.
 */
static enum upmu_status masks_take(const struct wanted *wanted, unsigned at, const uint8_t *set,
                                   struct upmu_event_id *id)
{
    struct upmu_masks masks;
    struct place place;
    unsigned letters;

    id->masks = 0;
    upmu_masks_begin(wanted->file, set, &masks);
    place = (struct place){0, 0, masks.run, 0, masks.at, NULL};
    for (; at <= wanted->length; at += letters + 1) {
        letters = mask_next(wanted, &masks, at, masks_expected(wanted, at, masks.wide), &place);
        if (!letters)
            return id->masks && set[0] & UPMU_SET_CLOSED ? UPMU_ERR_NO_SUCH_EVENT : UPMU_ERR_END;
        id->masks |= UINT32_C(1) << (place.index - 1);
        if (place.class[0] & (UPMU_MASK_ALONE | UPMU_MASK_EXCLUSIVE))
            place_leave_group(&masks, &place);
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

/* Whether a name is the wanted one up to `at`. */
static bool name_is(const struct wanted *wanted, unsigned name, unsigned at)
{
    uint8_t room[UPMU_CODES_ROOM];

    return upmu_item_begins(wanted->file, upmu_name_item(wanted->file, name, room), wanted->folded, at) == at;
}

/* Letter by letter. */
static bool name_is_exactly(const struct wanted *wanted, unsigned name, unsigned at)
{
    char text[UPMU_NAME_ROOM];

    return upmu_name_text(wanted->file, name, text) == at && memcmp(text, wanted->name, at) == 0;
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
    const uint8_t *file = wanted->file, *slot, *set;
    bool whole = at == wanted->length, found = false;
    unsigned wide = upmu_file_wide(file), left = UPMU_TWINS, entry, print = hash & 255u;

    slot = upmu_section_at(file, UPMU_SHARED_DISPLACEMENTS, scaled(hash, file + 14));
    hash = (hash ^ *slot * UINT32_C(0x9e3779b1)) * UINT32_C(0x85ebca6b);
    slot = upmu_section_at(file, UPMU_SHARED_SLOTS, scaled(hash, file + 12) * (2 * wide + 1));
    entry = wide ? upmu_half(slot) : slot[0] | UPMU_LAST_TWIN;
    if (wide && (slot[2] != print || (!whole && !(entry & UPMU_SLOT_MASKED))))
        return false;
    if (!(entry & UPMU_LAST_TWIN)) {
        slot = upmu_section_at(file, UPMU_SHARED_TWINS, entry & UPMU_SLOT_NAME);
        entry = upmu_half(slot);
    }
    for (;; slot += 2, entry = upmu_half(slot)) {
        enum upmu_status status = UPMU_OK;
        struct upmu_event_id id;

        if (member_lookup(wanted->catalog, entry & UPMU_SLOT_NAME, whole, &id) &&
            name_is(wanted, entry & UPMU_SLOT_NAME, at) &&
            (!found || name_is_exactly(wanted, entry & UPMU_SLOT_NAME, at))) {
            if (!whole && (set = upmu_row_set(wanted->catalog, id.row)) != NULL)
                status = masks_take(wanted, at + 1, set, &id);
            else if (!whole)
                status = UPMU_ERR_END;
            if (status == UPMU_ERR_NO_SUCH_EVENT)
                return true;
            if (status == UPMU_OK) {
                found = true;
                wanted->id = id;
                wanted->status = UPMU_OK;
            }
        }
        if (entry & UPMU_LAST_TWIN || !--left)
            return found;
    }
}

/* ---- The hash ---- */

/*
 * Fold eight bytes: letters to lower case, - . : _ to one byte.  Other bytes fold like
 * these, too, all below the digits as separators: *out_wrong is not 0 if one does, but
 * for separators.
 */
static inline uint64_t fold_eight(uint64_t eight, uint64_t *out_separators, uint64_t *out_wrong)
{
    uint64_t lower = (eight | UPMU_EACH(0x20)) & UPMU_EACH(0x7f), spread;

    /* Not ASCII, or a control character. */
    *out_wrong = (eight | ~(eight << 1 | eight << 2)) & UPMU_EACH(0x80);
    /* Below '0', above '9' and not above ':', above 'z'. */
    spread = ~(lower + UPMU_EACH(0x50)) | ((lower + UPMU_EACH(0x46)) & ~(lower + UPMU_EACH(0x45))) |
             (lower + UPMU_EACH(0x05));
    *out_separators = spread >> 7 & UPMU_EACH(1);
    spread = *out_separators * 255;
    return (lower & ~spread) | (spread & UPMU_EACH('_'));
}

/*
 * Fold and hash the name; note where separators are, and where the name of a masked row
 * may end: at most one in four of the other names passes the filter.  False: no name
 * looks like that.
 */
static bool wanted_hash(struct wanted *wanted, uint32_t *out_hash)
{
    const struct upmu_catalog *catalog = wanted->catalog;
    const uint8_t *filter = upmu_section_at(catalog->byte, UPMU_OWN_FILTER, 0);
    unsigned shift = 54 + (catalog->byte[23] & 7u), last = catalog->byte[22] & 127u, before = 1;
    uint64_t hash = upmu_half(wanted->file + 16);

    memset(wanted->ends, 0, sizeof wanted->ends);
    wanted->cuts = 0;
    for (unsigned at = 0;; at += 8) {
        unsigned left = wanted->length - at, ends, i;
        uint64_t eight = 0, separators, wrong, used = UINT64_MAX;

        if (left >= 8) {
            __builtin_memcpy(&eight, wanted->name + at, 8);
        } else if (at && left) {
            __builtin_memcpy(&eight, wanted->name + wanted->length - 8, 8);
            eight >>= 64 - 8 * left;
            used = (UINT64_C(1) << 8 * left) - 1;
        } else {
            for (i = 0; i < left; i++)
                eight |= (uint64_t)(uint8_t)wanted->name[at + i] << 8 * i;
            used = (UINT64_C(1) << 8 * left) - 1;
        }
        eight = fold_eight(eight, &separators, &wrong) & used;
        __builtin_memcpy(wanted->folded + at, &eight, 8);
        /* Of each byte its lowest bit, side by side. */
        ends = (unsigned)(separators * UINT64_C(0x0102040810204080) >> 56);
        if (left < 8)
            ends = (ends & ((1u << left) - 1)) | 1u << left;
        /* No name has two separators side by side, or one at its begin or end. */
        if (wrong & used || ends & (ends << 1 | before))
            return false;
        before = ends >> 7;
        wanted->ends[at >> 3] = (uint8_t)ends;
        for (; ends; ends &= ends - 1) {
            uint64_t whole;

            i = (unsigned)__builtin_ctz(ends);
            if (i != left && upmu_catalog_fold[(uint8_t)wanted->name[at + i]] != '_')
                return false;
            if (i != left && at + i > last)
                continue;
            whole = (hash ^ (eight & ((UINT64_C(1) << 8 * i) - 1))) * HASH_FACTOR;
            if (i == left) {
                memset(wanted->folded + at + 8, 0, 8);
                *out_hash = (uint32_t)(whole >> 32);
                return true;
            }
            if (((unsigned)filter[whole >> shift >> 3] >> (whole >> shift & 7u) & 1u) && wanted->cuts < CUTS) {
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
    wanted.file = upmu_catalog_file(catalog);
    wanted.name = name;
    wanted.length = (unsigned)length;
    wanted.status = UPMU_ERR_NO_SUCH_EVENT;
    if (!wanted_hash(&wanted, &hash))
        return UPMU_ERR_NO_SUCH_EVENT;
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
    char text[UPMU_NAME_ROOM];
    struct upmu_masks masks;
    struct upmu_row unused;
    const uint8_t *set;

    if (!upmu_row_read(catalog, row, &unused, &set) || !set)
        return false;
    upmu_masks_begin(upmu_catalog_file(catalog), set, &masks);
    while (upmu_masks_next(&masks)) {
        if (upmu_masks_may_be(&masks, length) && upmu_item_spell(masks.file, masks.item, text) == length &&
            upmu_same_folded(name, text, (unsigned)length)) {
            *out_mask = masks.class ? masks.index : upmu_masks_bits(&masks);
            return *out_mask < masks.count;
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
            unsigned own = row->mask[i].flags;

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

    if (id.catalogue != upmu_catalog_number(catalog) || !upmu_row_unpack(catalog, id.row, &row))
        return UPMU_ERR_NO_SUCH_EVENT;
    status = masks_complete(&row, id.masks, &masks);
    if (status)
        return status;
    for (i = 0; i < row.row.mask_count; i++) {
        struct upmu_mask mask;

        if (!(masks >> i & 1u))
            continue;
        upmu_mask_read(catalog, &row.mask[i], &mask);
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
    const uint8_t *set;

    if (!upmu_row_read(catalog, row, out_row, &set))
        return false;
    out_row->payload = out_row->msr ? upmu_payload(upmu_catalog_file(catalog), (unsigned)out_row->payload) : 0;
    return true;
}

bool upmu_catalog_mask(const struct upmu_catalog *catalog, unsigned row, unsigned mask, struct upmu_mask *out_mask)
{
    struct upmu_unpacked unpacked;

    if (!upmu_row_unpack(catalog, row, &unpacked) || mask >= unpacked.row.mask_count)
        return false;
    upmu_mask_read(catalog, &unpacked.mask[mask], out_mask);
    return true;
}

/* ---- Names ---- */

static void append_item(struct upmu_text *text, const uint8_t *file, struct upmu_item item)
{
    char name[UPMU_NAME_ROOM];

    upmu_text_bytes(text, name, upmu_item_spell(file, item, name));
}

size_t upmu_catalog_id_name(const struct upmu_catalog *catalog, struct upmu_event_id id, char *buffer, size_t size)
{
    const uint8_t *file = upmu_catalog_file(catalog);
    struct upmu_masks masks;
    uint8_t room[UPMU_CODES_ROOM];
    struct upmu_text text;
    const uint8_t *set;
    struct upmu_row row;

    upmu_text_begin(&text, buffer, size);
    if (id.catalogue == upmu_catalog_number(catalog) && upmu_row_read(catalog, id.row, &row, &set)) {
        append_item(&text, file, upmu_name_item(file, upmu_member_name(catalog, id.row), room));
        if (set && id.masks)
            upmu_masks_begin(file, set, &masks);
        while (set && id.masks && upmu_masks_next(&masks) && masks.class) {
            /* A default that excludes what follows stands aside where it may not be named, but is taken. */
            if (!(id.masks >> masks.index & 1u) ||
                (masks.class[0] & UPMU_MASK_LAST && masks.class[0] & UPMU_MASK_DEFAULT && id.masks >> masks.index > 1))
                continue;
            upmu_text_char(&text, row.flags & UPMU_ROW_COMPOSED ? '.' : ':');
            append_item(&text, masks.file, masks.item);
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
    struct upmu_masks masks;
    struct upmu_row unused;
    struct upmu_text text;
    const uint8_t *set;

    upmu_text_begin(&text, buffer, size);
    if (upmu_row_read(catalog, row, &unused, &set) && upmu_masks_find(catalog, set, mask, &masks))
        append_item(&text, masks.file, masks.item);
    return upmu_text_end(&text);
}

/* ---- Which catalogues there are ---- */

const struct upmu_catalog *upmu_catalog_builtin(unsigned i)
{
    const uint8_t *file;

    for (unsigned k = 0; (file = upmu_catalog_file_at(k)) != NULL; k++) {
        if (i < upmu_half(file + 8))
            return (const struct upmu_catalog *)(const void *)(file + upmu_offset(file + UPMU_FILE_DIRECTORY + 3 * i));
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
