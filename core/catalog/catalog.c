/* SPDX-License-Identifier: MIT */
/*
 * Event catalogues: find the id of an event's name, and write the name of an id. Pure; called to encode events. A text
 * that is looked up is case-folded: letters become lower case, and - . : _ become one separator. The hash of the result
 * gives one row or alias of the catalogue (and others whose case-folded names are equal), whose name is compared with
 * the text. Names of unit masks may follow the name of a row with unit masks. So the part of the text before a
 * separator is also looked up, if its length and its hash may be those of such a row's name.
 */
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/util/text.h"
#include "core/catalog/catalog_table.h"

#if UPMU_NAMES

/* The multiplier of the hash of names. The hash takes eight letters of a name in each step. */
#define HASH_FACTOR UINT64_C(0x9e3779b97f4a7c15)

/*
 * A cut is a separator in a text at which the name of a row may end and the names of its unit masks begin. At most this
 * many cuts of a text are tried.
 */
#define CUTS 8

/* A text that is looked up as the name of an event. */
struct wanted {
    const struct upmu_catalog *catalog;
    const uint8_t *file;
    const char *name;
    unsigned length;
    bool found;
    struct upmu_event_id id; /* valid if `found` */
    unsigned cuts;
    uint32_t cut_hash[CUTS + 1]; /* hash of the text before each cut, then the hash of the whole text */
    uint8_t cut_at[CUTS + 1];    /* the length of the text that cut_hash is of */
    char before[UPMU_FOLDED_BEFORE];                   /* zeros */
    char folded[UPMU_CATALOG_NAME + UPMU_FOLDED_ROOM]; /* the text case-folded, a separator, then zeros */
};

/* ---- Masks ---- */

/* Return 0 if eight letters of `text` in any case are equal to eight of `folded`, which are in lower case. */
static inline uint64_t eight_differ(const uint8_t *text, const char *folded)
{
    uint64_t present, wanted;

    __builtin_memcpy(&present, text, 8);
    __builtin_memcpy(&wanted, folded, 8);
    return (present | UPMU_EACH(0x20)) ^ wanted;
}

/*
 * Does the case-folded text `folded` begin with the first `count` letters of `text`, whatever their case? Eight letters
 * are compared at a time; the last eight may overlap the eight before.
 */
static UPMU_APART_IF_SMALL bool letters_begin(const uint8_t *text, unsigned count, const char *folded)
{
    unsigned at = 0;

    if (count <= 8)
        return !(eight_differ(text, folded) << ((0u - 8 * count) & 63u));
    for (count -= 8; at < count; at += 8)
        if (eight_differ(text + at, folded + at))
            return false;
    return !eight_differ(text + count, folded + count);
}

/*
 * Read the text from letter `at` on as names of unit masks that stand in `set`, the packed unit masks of a row of a
 * wide file, in the order of `set`. Store them in *out_masks (bit n: unit mask n of the row). If two names of a group
 * begin alike, the longer one stands first. After a mask that excludes the others of its group, the rest of the group
 * is skipped. Returns false if a part of the text is no such name.
 */
static UPMU_APART bool letters_take(const struct wanted *wanted, unsigned at, const uint8_t *set, uint32_t *out_masks)
{
    const uint8_t *run = set + (set[0] & UPMU_SET_PAYLOAD ? 3 : 1), *heads = run, *text;
    const char *folded = wanted->folded + at, *end = wanted->folded + wanted->length;
    uint8_t first = (uint8_t)*folded;
    unsigned count = 0, all, letters;
    size_t i = 0, stop = 0;
    uint32_t taken = 0;
    bool shut = false;

    do {
        count += heads[1] & UPMU_RUN_MASKS;
        heads += 2;
    } while (!(heads[-2] & UPMU_LAST_RUN) && heads - set < (int)UPMU_FILE_ROOM / 2);
    if (count > UPMU_MASKS)
        count = UPMU_MASKS;
    all = count + (set[0] & UPMU_SET_OTHERS);
    for (; i < count && run < heads; run += 2) {
        stop += run[1] & UPMU_RUN_MASKS;
        if (stop > count)
            stop = count;
        shut = shut && run[1] & UPMU_RUN_GOES_ON;
        if (shut)
            i = stop;
        for (; i < stop; i++) {
            if (heads[i] != first)
                continue;
            letters = upmu_half(heads + all + 2 * i);
            text = set + letters % UPMU_FILE_ROOM;
            letters /= UPMU_FILE_ROOM;
            if (folded[letters] != UPMU_FOLDED_SEPARATOR || !letters_begin(text, letters, folded))
                continue;
            taken |= UINT32_C(1) << i;
            folded += letters + 1;
            if (folded > end) {
                *out_masks = taken;
                return true;
            }
            first = (uint8_t)*folded;
            if (run[1] & UPMU_RUN_CLOSES) {
                shut = true;
                i = stop - 1;
            }
        }
    }
    return false;
}

/* Do as letters_take() for a small file, where the name of a unit mask is stored as codes of text fragments. */
static UPMU_APART bool codes_take(const struct wanted *wanted, unsigned at, const uint8_t *set, uint32_t *out_masks)
{
    const char *folded = wanted->folded + at;
    unsigned letters, group, shut = 0;
    struct upmu_masks masks;

    *out_masks = 0;
    upmu_masks_begin(wanted->file, set, &masks);
    while (upmu_masks_next(&masks) && masks.class) {
        group = (masks.class[2] & UPMU_CLASS_GROUP) + 1u;
        if (group == shut || !upmu_masks_may_be(&masks, *folded) ||
            !(letters = upmu_codes_begin(wanted->file, masks.item.codes, masks.item.count, folded)))
            continue;
        *out_masks |= UINT32_C(1) << masks.index;
        folded += letters + 1;
        if (folded > wanted->folded + wanted->length)
            return true;
        if (masks.class[0] & (UPMU_MASK_ALONE | UPMU_MASK_EXCLUSIVE))
            shut = group;
    }
    return false;
}

/* ---- Names ---- */

/* Return the member of a catalogue, a row or an alias (upmu_member_name()), whose name has this number in the file. */
static unsigned member_of(const struct upmu_catalog *catalog, unsigned name)
{
    unsigned present, member = upmu_member_from(catalog, true, name, &present);

    return present == name ? member : upmu_member_from(catalog, false, name, &present);
}

/*
 * Map a 32-bit hash to the range 0 to `count` - 1: return the high half of hash * count, which spreads as evenly as a
 * remainder and needs no division.
 */
static uint32_t scaled_hash(uint32_t hash, uint32_t count)
{
    return (uint32_t)(((uint64_t)hash * count) >> 32);
}

/*
 * Return what the catalogue's hash table has in the slot of a hash: in a small file the number of a name; in a wide
 * file a member, above it some bits of the hash of the member's name, and UPMU_SLOT_TWIN. The hash is perfect: for each
 * bucket of names the packer chose a byte that sends each of the names to a slot of its own.
 */
static inline unsigned slot_of(const struct upmu_catalog *catalog, unsigned wide, uint32_t hash)
{
    unsigned members = upmu_own_rows(catalog) + upmu_own_aliases(catalog), buckets = members / 4 + 1;
    const uint8_t *place = upmu_section_here(catalog->byte, UPMU_OWN_HASH, scaled_hash(hash, buckets));

    hash = (hash ^ *place * UINT32_C(0x9e3779b1)) * UINT32_C(0x85ebca6b);
    hash = scaled_hash(hash, members + members / 16 + 1) << wide;
    place = upmu_section_here(catalog->byte, UPMU_OWN_HASH, buckets + hash);
    return wide ? upmu_half(place) : *place;
}

/*
 * Compare the first `at` letters of the text with the name that `entry`, the contents of a slot, stands for. If they
 * are equal, the rest of the text must be names of that row's unit masks; then the id is stored in *wanted. Returns
 * true if no shorter part of the text needs a look: the event is found, or the row has unit masks and the rest is none
 * of them. Returns false if the name is another one, or the row has no unit masks to follow it.
 */
static UPMU_APART bool slot_lookup(struct wanted *wanted, unsigned at, unsigned entry)
{
    const struct upmu_catalog *catalog = wanted->catalog;
    unsigned wide = upmu_file_wide(wanted->file), member = entry & ((1u << (catalog->byte[23] & 15u)) - 1);
    unsigned name = wide ? upmu_half(upmu_section_here(catalog->byte, UPMU_OWN_NAMES, 2 * member)) : entry;
    struct upmu_event_id id;
    const uint8_t *set = NULL;

    if (!upmu_name_is(wanted->file, name, wanted->folded, at) ||
        (wanted->found && !upmu_name_written(wanted->file, name, wanted->name)))
        return false;
    upmu_member_id(catalog, wide ? member : member_of(catalog, name), &id);
    if (at < wanted->length) {
        set = id.masks ? NULL : upmu_row_set(catalog, id.row);
        if (!set || !(wide ? letters_take : codes_take)(wanted, at + 1, set, &id.masks))
            return set != NULL;
    }
    wanted->found = true;
    wanted->id = id;
    return true;
}

/*
 * Look up the whole text, then the part of it before each cut, the longest first. In a wide file the contents of a slot
 * have bits of the hash of its name: if they differ from the text's, the names are not compared. If several names are
 * equal when case-folded, the name that is spelt exactly like the text has priority, then the first of them.
 */
static inline void cuts_lookup(struct wanted *wanted)
{
    const struct upmu_catalog *catalog = wanted->catalog;
    unsigned wide = upmu_file_wide(wanted->file), bits = catalog->byte[23] & 15u, prints = 0x7fffu >> bits;
    unsigned entry, at;
    bool settled = false;
    uint32_t hash;

    while (wanted->cuts-- && !settled) {
        hash = wanted->cut_hash[wanted->cuts];
        at = wanted->cut_at[wanted->cuts];
        for (unsigned twin = 0; twin < UPMU_TWINS; twin++, hash += UPMU_TWIN_STEP) {
            entry = slot_of(catalog, wide, hash);
            if (wide && (entry >> bits ^ hash) & prints)
                break;
            settled |= slot_lookup(wanted, at, entry);
            if (!wide || !(entry & UPMU_SLOT_TWIN))
                break;
        }
    }
}

/* ---- The hash ---- */

/*
 * Return eight bytes of text case-folded: letters in lower case, - . : _ as UPMU_FOLDED_SEPARATOR. *out_separators: the
 * lowest bit of each byte that is a separator. Bit 7 of a byte of *high is set if the byte is DEL or not ASCII: DEL
 * looks like a separator, and a byte that is not ASCII may make the next byte look like one. FFh is an exception: its
 * bit in *high is not set, but no name has a letter that is equal to FFh.
 */
static inline uint64_t fold_eight(uint64_t eight, uint64_t *out_separators, uint64_t *high)
{
    uint64_t lower = eight | (eight >> 1 & UPMU_EACH(0x20));
    /*
     * Each sum has bit 7 set in the bytes that are not below a certain letter; the letters are, sum by sum, '-', '/',
     * ':', ';' and 7Fh, which '_' has become in `lower`. So the XOR of the sums has bit 7 set in separators only.
     */
    uint64_t spread = (lower + UPMU_EACH(0x53)) ^ (lower + UPMU_EACH(0x51)) ^ (lower + UPMU_EACH(0x46)) ^
                      (lower + UPMU_EACH(0x45)) ^ (lower + UPMU_EACH(0x01));

    *high |= eight + UPMU_EACH(0x01);
    *out_separators = spread = spread >> 7 & UPMU_EACH(1);
    return lower | ((spread << 7) - spread);
}

/* Return a byte whose bit n is the lowest bit of byte n of `bits`; all other bits of `bits` are 0. */
static inline unsigned bits_gathered(uint64_t bits)
{
    return (unsigned)(bits * UINT64_C(0x0102040810204080) >> 56);
}

/*
 * Return the last `length` % 8 letters of a text, which has `length` letters, as the low bytes of a word, the first of
 * them lowest; the other bytes are 0.
 */
static inline uint64_t last_of(const char *text, unsigned length)
{
    uint64_t eight = 0;
    unsigned left = length % 8;

    if (length < 8) {
        while (left-- > 0)
            eight = eight << 8 | (uint8_t)text[left];
    } else if (left) {
        __builtin_memcpy(&eight, text + length - 8, 8);
        eight >>= 64 - 8 * left;
    }
    return eight;
}

/*
 * Note in *wanted the cuts among eight letters of the text, the first of which is letter `at`. `ends`: bit n: letter n
 * of `eight` is a separator, and the name of some row with unit masks has the length of the text before it. `hash`: of
 * the letters before `at`. `filter`: a bit for each hash, shifted right by `shift`, that the name of such a row has;
 * most other texts have a hash without a bit.
 */
static inline void cuts_note(struct wanted *wanted, unsigned at, unsigned ends, uint64_t eight, uint64_t hash,
                             const uint8_t *filter, unsigned shift)
{
    /* Of two separators side by side the second is no cut, because no name has two side by side. */
    for (ends &= ~(ends << 1); ends; ends &= ends - 1) {
        unsigned i = upmu_bits_lowest(ends);
        uint64_t whole = (hash ^ (eight & ((UINT64_C(1) << 8 * i) - 1))) * HASH_FACTOR;

        if ((unsigned)filter[whole >> shift >> 3] >> (whole >> shift & 7u) & 1u && wanted->cuts < CUTS) {
            wanted->cut_hash[wanted->cuts] = (uint32_t)(whole >> 32);
            wanted->cut_at[wanted->cuts++] = (uint8_t)(at + i);
        }
    }
}

/*
 * Case-fold the text into wanted->folded, and note its cuts in *wanted. *out_hash: the hash of the whole text. Returns
 * false if the text has bytes of which fold_eight() sets bits in *high; no name has them.
 */
static UPMU_APART bool wanted_hash(struct wanted *wanted, uint32_t *out_hash)
{
    const uint8_t *lengths = upmu_section_here(wanted->catalog->byte, UPMU_OWN_FILTER, 0);
    const char *name = wanted->name;
    unsigned length = wanted->length, shift = 54 + (wanted->catalog->byte[23] >> 4 & 7u);
    size_t at, words = length / 8, hashed = (wanted->catalog->byte[22] & 0x7fu) / 8 + 1;
    uint64_t hash = upmu_half(wanted->catalog->byte + 20), eight, separators, high = 0;

    __builtin_memset(wanted->before, 0, sizeof wanted->before);
    wanted->cuts = 0;
    if (hashed > words)
        hashed = words;
    for (at = 0; at < hashed; at++) {
        __builtin_memcpy(&eight, name + 8 * at, 8);
        eight = fold_eight(eight, &separators, &high);
        __builtin_memcpy(wanted->folded + 8 * at, &eight, 8);
        if (lengths[at])
            cuts_note(wanted, 8 * (unsigned)at, bits_gathered(separators) & lengths[at], eight, hash, lengths + 16,
                      shift);
        hash = (hash ^ eight) * HASH_FACTOR;
        hash = hash >> 32 | hash << 32;
    }
    /* Letters behind the catalogue's longest name can only name unit masks: they are case-folded and not hashed. */
    for (; at < words; at++) {
        __builtin_memcpy(&eight, name + 8 * at, 8);
        eight = fold_eight(eight, &separators, &high);
        __builtin_memcpy(wanted->folded + 8 * at, &eight, 8);
    }
    eight = fold_eight(last_of(name, length), &separators, &high);
    __builtin_memcpy(wanted->folded + 8 * at, &eight, 8);
    for (unsigned i = 8; i < UPMU_FOLDED_ROOM; i += 32)
        __builtin_memset(wanted->folded + 8 * at + i, 0, 32);
    wanted->folded[length] = UPMU_FOLDED_SEPARATOR;
    cuts_note(wanted, 8 * (unsigned)at, bits_gathered(separators) & lengths[at], eight, hash, lengths + 16, shift);
    *out_hash = (uint32_t)((hash ^ eight) * HASH_FACTOR >> 32);
    return !(high & UPMU_EACH(0x80));
}

static enum upmu_status plain_lookup(const struct upmu_catalog *catalog, const char *name, size_t length,
                                     struct upmu_event_id *out_id)
{
    struct wanted wanted;
    uint32_t hash;

    if (!length || length >= UPMU_CATALOG_NAME)
        return UPMU_ERR_NO_SUCH_EVENT;
    wanted.catalog = catalog;
    wanted.file = upmu_catalog_file(catalog);
    wanted.name = name;
    wanted.length = (unsigned)length;
    wanted.found = false;
    if (!wanted_hash(&wanted, &hash))
        return UPMU_ERR_NO_SUCH_EVENT;
    /* The whole text is noted as the last cut, because cuts_lookup() begins with the last. */
    if (length <= (catalog->byte[22] & 0x7fu)) {
        wanted.cut_hash[wanted.cuts] = hash;
        wanted.cut_at[wanted.cuts++] = (uint8_t)length;
    }
    cuts_lookup(&wanted);
    if (!wanted.found)
        return UPMU_ERR_NO_SUCH_EVENT;
    *out_id = wanted.id;
    return UPMU_OK;
}

/*
 * Intel also spells OFFCORE_RESPONSE.X.Y as OFFCORE_RESPONSE:request=X:response=Y. "request" and its '=' stand at these
 * places in the text.
 */
#define FIRST_KEYWORD 17u
#define FIRST_EQUALS (FIRST_KEYWORD + 7)

/* Bytes for a name without its keywords: at least "request=" (8 bytes) is left out, and no NUL is stored. */
#define PLAIN_ROOM (UPMU_CATALOG_NAME - 8)

/*
 * Copy a name to `plain` without its keywords request= and response=. Returns the length of the copy, which has no NUL;
 * 0: the name has no "request=" behind the name of its event.
 */
static size_t without_keywords(const char *name, size_t length, char plain[PLAIN_ROOM])
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
    char plain[PLAIN_ROOM];

    if (status != UPMU_ERR_NO_SUCH_EVENT)
        return status;
    length = without_keywords(name, length, plain);
    return length ? plain_lookup(catalog, plain, length, out_id) : status;
}

/*
 * Write the case-folded name of a unit mask to `folded`, with a separator and zeros behind it, as wanted_hash() does
 * for a text. Returns false if the name is empty or too long, or has bytes for which wanted_hash() returns false.
 */
static bool fold_mask(const char *name, size_t length, char *folded)
{
    uint64_t eight, separators, high = 0;
    size_t at;

    if (length - 1 >= UPMU_MASK_NAME - 1)
        return false;
    for (at = 0; at <= length; at += 8) {
        if (at + 8 <= length)
            __builtin_memcpy(&eight, name + at, 8);
        else
            eight = last_of(name, (unsigned)length);
        eight = fold_eight(eight, &separators, &high);
        __builtin_memcpy(folded + at, &eight, 8);
    }
    __builtin_memset(folded + at, 0, 8);
    folded[length] = UPMU_FOLDED_SEPARATOR;
    return !(high & UPMU_EACH(0x80));
}

/*
 * Find a unit mask by its case-folded name, or by another name that it has. masks->index and masks->class say which one
 * it is, as after upmu_masks_next(). Returns false if no unit mask of the row has this name.
 */
static bool masks_search(struct upmu_masks *masks, const char *folded, unsigned length)
{
    const uint8_t *heads = masks->set + masks->heads;
    unsigned all = masks->count + (masks->set[0] & UPMU_SET_OTHERS), place, i = 0;
    uint8_t first = (uint8_t)*folded;

    if (!masks->wide) {
        while (upmu_masks_next(masks))
            if (upmu_masks_may_be(masks, *folded) &&
                upmu_codes_begin(masks->file, masks->item.codes, masks->item.count, folded) == length)
                return true;
        return false;
    }
    for (; i < all; i++) {
        if (heads[i] != first)
            continue;
        place = upmu_half(heads + all + 2 * i);
        if (place / UPMU_FILE_ROOM == length && letters_begin(masks->set + place % UPMU_FILE_ROOM, length, folded))
            break;
    }
    masks->index = i;
    masks->class = i < masks->count ? masks->set : NULL;
    return i < all;
}

bool upmu_masks_lookup(struct upmu_masks masks, const char *name, size_t length, unsigned *out_mask)
{
    char folded[UPMU_MASK_NAME + UPMU_FOLDED_ROOM];

    if (!fold_mask(name, length, folded) || !masks_search(&masks, folded, (unsigned)length))
        return false;
    *out_mask = masks.class ? masks.index : upmu_masks_bits(&masks);
    return *out_mask < masks.count;
}

bool upmu_catalog_mask_lookup(const struct upmu_catalog *catalog, unsigned row, const char *name, size_t length,
                              unsigned *out_mask)
{
    const uint8_t *set = row < upmu_own_rows(catalog) ? upmu_row_set(catalog, row) : NULL;
    struct upmu_masks masks;

    if (!set)
        return false;
    upmu_masks_begin(upmu_catalog_file(catalog), set, &masks);
    return upmu_masks_lookup(masks, name, length, out_mask);
}

/* ---- Merge unit masks into a row ---- */

/* Add the bits and flags of a unit mask to a row; false: the row already has a different counter mask (cmask). */
static UPMU_INSIDE bool mask_merge(struct upmu_row *row, const struct upmu_mask *mask)
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
 * Read the next run of a row's unit masks: masks of one class, side by side. Returns the class in the file: flags,
 * counter mask, group, a byte each. *out_run: bit n: unit mask n is in the run. Returns NULL if no run is left. The
 * walk *masks then stands behind the run.
 */
static UPMU_APART_IF_SMALL const uint8_t *run_next(struct upmu_masks *masks, uint32_t *out_run)
{
    unsigned begin = masks->index, count;
    const uint8_t *run = masks->set + masks->run;

    if (masks->run >= masks->heads || begin >= masks->count)
        return NULL;
    count = run[1] & UPMU_RUN_MASKS;
    if (count > masks->count - begin)
        count = masks->count - begin;
    masks->run += 2;
    masks->index = begin + count;
    *out_run = (uint32_t)((UINT64_C(1) << masks->index) - (UINT64_C(1) << begin));
    return upmu_section_at(masks->file, UPMU_SHARED_CLASSES, run[0] & ~UPMU_LAST_RUN);
}

/*
 * Store in *out_masks the unit masks in force: the named ones (bit n of `named`: unit mask n of the row), and of each
 * group without a named mask its default masks, if it has any. Returns UPMU_ERR_MASK_REQUIRED if no mask is named of a
 * group with UPMU_MASK_REQUIRED; UPMU_ERR_MASKS_EXCLUSIVE if a mask of a group must be its only one and is not. Once a
 * mask with UPMU_MASK_LAST is in force, later groups get no defaults and require no mask. If that mask was named, a
 * named mask of the next group that has one is refused, too (UPMU_ERR_MASKS_EXCLUSIVE).
 */
static enum upmu_status masks_complete(struct upmu_masks masks, uint32_t named, uint32_t *out_masks)
{
    bool refused = false, closed = false;
    uint32_t run;
    const uint8_t *class = run_next(&masks, &run);

    *out_masks = 0;
    while (class) {
        uint32_t taken = 0, defaults = 0;
        unsigned group = class[2] & UPMU_CLASS_GROUP, flags = 0, taken_flags = 0, default_flags = 0;

        do {
            flags |= class[0];
            if (run & named)
                taken_flags |= class[0];
            taken |= run & named;
            if (class[0] & UPMU_MASK_DEFAULT && run & ~named) {
                defaults |= run & ~named;
                default_flags |= class[0];
            }
            class = run_next(&masks, &run);
        } while (class && (class[2] & UPMU_CLASS_GROUP) == group);
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

/*
 * Merge the unit masks of `taken` into a row; those in `named` are in the event's text, the others are defaults.
 * Returns false if two of their counter masks differ, or one differs from the row's own.
 */
static bool masks_merge(struct upmu_masks masks, uint32_t taken, uint32_t named, struct upmu_row *row)
{
    const uint8_t *words = masks.set + masks.words, *class;
    uint32_t run;

    while (taken && (class = run_next(&masks, &run)) != NULL)
        for (run &= taken; run; run &= run - 1) {
            unsigned i = upmu_bits_lowest(run);
            struct upmu_mask mask = {.flags = class[0], .cmask = class[1]};

            mask.bits = masks.set[0] & UPMU_SET_WIDE ? upmu_half(words + 2 * i) : words[i];
            if (mask.flags & UPMU_MASK_PAYLOAD)
                mask.bits = upmu_payload(masks.file, (unsigned)mask.bits);
            if (!mask_merge(row, &mask))
                return false;
            /* An attribute in the event's text may replace the payload of default masks, but not of a named mask. */
            if (mask.flags & UPMU_MASK_PAYLOAD && named >> i & 1u)
                row->flags |= UPMU_ROW_PAYLOAD;
            taken &= ~(UINT32_C(1) << i);
        }
    return true;
}

enum upmu_status upmu_catalog_merge(const struct upmu_catalog *catalog, struct upmu_event_id id,
                                    struct upmu_row *out_row, uint32_t *out_masks)
{
    enum upmu_status status;
    struct upmu_row row;
    struct upmu_masks masks;
    const uint8_t *set;
    uint32_t taken = 0;

    if (id.catalogue != upmu_catalog_number(catalog) || !upmu_row_read(catalog, id.row, &row, &set))
        return UPMU_ERR_NO_SUCH_EVENT;
    upmu_row_resolve(catalog, set, &row);
    if (id.masks && (!set || (row.mask_count < UPMU_MASKS && id.masks >> row.mask_count)))
        return UPMU_ERR_NO_SUCH_MASK;
    if (set) {
        upmu_masks_begin(upmu_catalog_file(catalog), set, &masks);
        masks.index = 0;
        status = masks_complete(masks, id.masks, &taken);
        if (status)
            return status;
        if (!masks_merge(masks, taken, id.masks, &row))
            return UPMU_ERR_CONTRADICTION;
    }
    *out_row = row;
    if (out_masks)
        *out_masks = taken;
    return UPMU_OK;
}

bool upmu_catalog_row(const struct upmu_catalog *catalog, unsigned row, struct upmu_row *out_row)
{
    const uint8_t *set;

    if (!upmu_row_read(catalog, row, out_row, &set))
        return false;
    upmu_row_resolve(catalog, set, out_row);
    return true;
}

unsigned upmu_catalog_row_unit(const struct upmu_catalog *catalog, unsigned row)
{
    struct upmu_row found;
    const uint8_t *set;

    return upmu_row_read(catalog, row, &found, &set) ? found.unit : 0;
}

UPMU_APART bool upmu_catalog_mask(const struct upmu_catalog *catalog, unsigned row, unsigned mask,
                                  struct upmu_mask *out_mask)
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
    unsigned group = ~0u, before;

    upmu_text_begin(&text, buffer, size);
    if (id.catalogue == upmu_catalog_number(catalog) && upmu_row_read(catalog, id.row, &row, &set)) {
        append_item(&text, file, upmu_name_item(file, upmu_member_name(catalog, id.row), room));
        if (set && id.masks)
            upmu_masks_begin(file, set, &masks);
        while (set && id.masks && upmu_masks_next(&masks) && masks.class) {
            /*
             * A default mask with UPMU_MASK_LAST is left out if the id has masks of later groups: a name with both
             * would be refused, and without its name the mask is in force all the same.
             */
            if (!(id.masks >> masks.index & 1u) ||
                (masks.class[0] & UPMU_MASK_LAST && masks.class[0] & UPMU_MASK_DEFAULT && id.masks >> masks.index > 1))
                continue;
            /*
             * In the name of a composed row '.' stands before the first mask of a group, as in listed names, and ':'
             * before each further mask of the group.
             */
            before = group;
            group = masks.class[2] & UPMU_CLASS_GROUP;
            upmu_text_char(&text, row.flags & UPMU_ROW_COMPOSED && group != before ? '.' : ':');
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

/* ---- The built-in catalogues: by number, by name, and facts of one ---- */

static const struct upmu_catalog *in_file(const uint8_t *file, unsigned i)
{
    return (const struct upmu_catalog *)(const void *)(file + upmu_offset(file + UPMU_FILE_DIRECTORY + 3 * i));
}

const struct upmu_catalog *upmu_catalog_builtin(unsigned i)
{
    const uint8_t *file;

    for (unsigned k = 0; (file = upmu_catalog_file_at(k)) != NULL; k++) {
        if (i < upmu_half(file + 8))
            return in_file(file, i);
        i -= upmu_half(file + 8);
    }
#if UPMU_FOREIGN
    for (unsigned k = 0; (file = upmu_catalog_foreign_at(k)) != NULL; k++) {
        if (i < upmu_half(file + 8))
            return in_file(file, i);
        i -= upmu_half(file + 8);
    }
#endif
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
