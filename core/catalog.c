/* SPDX-License-Identifier: MIT */
/*
 * Event catalogues: from a name to an id, from an id to a name.  Pure; called by
 * encode.  How a name is found: its folded text is hashed, the hash leads to one
 * name of the file, the name to a row or alias of the catalogue.  A masked row may be
 * followed by its masks: the name is looked up at every separator where the hash so
 * far is one of a masked row.
 */
#include "core/apart.h"
#include "core/catalog_table.h"
#include "core/mem.h"
#include "core/text.h"

#if UPMU_NAMES

/* The hash of names takes eight letters at a time. */
#define HASH_FACTOR UINT64_C(0x9e3779b97f4a7c15)

#define FOLDED_SEPARATOR 0x7fu /* which is '_' and a dot of names' text, but for the case bit */

/* Places in a name that are tried as the end of a masked row's name. */
#define CUTS 8

/* A name being looked up. */
struct wanted {
    const struct upmu_catalog *catalog;
    const uint8_t *file;
    struct upmu_dictionary dictionary;
    const char *name;
    unsigned length;
    bool found;
    struct upmu_event_id id; /* if it is */
    char folded[UPMU_CATALOG_NAME + UPMU_FOLDED_ROOM]; /* the name, a separator, then noughts */
    uint8_t ends[UPMU_CATALOG_NAME / 8 + 9];           /* bit i: it may end or be cut before byte i */
    unsigned cuts;
    uint32_t cut_hash[CUTS]; /* of the name up to where that of a masked row may end */
    uint8_t cut_at[CUTS];
};

/* How long masks may be that begin at a place, by the ends that follow it: in a small file modulo 16. */
static inline uint64_t masks_expected(const struct wanted *wanted, unsigned at, bool wide)
{
    uint64_t ends;

    __builtin_memcpy(&ends, wanted->ends + (at >> 3), 8);
    ends >>= at & 7u;
    if (wide)
        return ends;
    ends |= ends >> 32;
    return ((ends | ends >> 16) & 0xffffu) * UINT64_C(0x0001000100010001);
}

static inline uint64_t eight_differ(const uint8_t *text, const char *folded)
{
    uint64_t present, wanted;

    __builtin_memcpy(&present, text, 8);
    __builtin_memcpy(&wanted, folded, 8);
    return (present ^ wanted) & UPMU_EACH(0xdf);
}

/* Whether a folded text begins with these letters. */
static inline bool letters_begin(const uint8_t *text, unsigned count, const char *folded)
{
    for (; count > 8; count -= 8, text += 8, folded += 8)
        if (eight_differ(text, folded))
            return false;
    return !(eight_differ(text, folded) << ((64 - 8 * count) & 63u));
}

/* A search among the masks of a set for those that a name has, in their order. */
struct search {
    const uint8_t *set, *head; /* of the next mask */
    unsigned next;             /* in the set, its name */
    uint64_t open;             /* how long it may be */
};

/*
 * Go behind the next mask before `stop` that the text at `at` begins with; its letters, 0: none.  Above
 * a length in a head stand other bits: in a small file a length comes four times in `open`.
 */
static inline unsigned letters_find(struct search *search, const struct wanted *wanted, unsigned at,
                                    const uint8_t *stop)
{
    while (search->head < stop) {
        unsigned letters = *search->head++ & UPMU_MASK_LETTERS, next = search->next;

        search->next += letters;
        if (search->open >> letters & 1u &&
            letters_begin(search->set + next % UPMU_FILE_ROOM, letters, wanted->folded + at))
            return letters;
    }
    return 0;
}

static inline unsigned codes_find(struct search *search, const struct wanted *wanted, unsigned at, const uint8_t *stop)
{
    while (search->head < stop) {
        unsigned head = *search->head++, count = head >> 4, next, letters;

        if (count == UPMU_MASK_MOST)
            count = search->set[search->next++ % UPMU_FILE_ROOM];
        next = search->next;
        search->next += count;
        if (!(search->open >> head % 64 & 1u))
            continue;
        letters = upmu_codes_begin(wanted->dictionary, search->set + next % UPMU_FILE_ROOM, count, wanted->folded + at,
                                   wanted->length - at);
        if (letters && wanted->folded[at + letters] == FOLDED_SEPARATOR)
            return letters;
    }
    return 0;
}

/*
 * Take the masks that the text from `at` on consists of, in the order of the row, into
 * an id: of masks of a group that begin alike the longest comes first, and behind one that
 * takes no other the rest of its group is passed over.  False: it goes on with something else.
 */
static UPMU_APART bool masks_take(const struct wanted *wanted, unsigned at, const uint8_t *set,
                                  struct upmu_event_id *id)
{
    const uint8_t *heads, *end, *stop, *class;
    unsigned run, letters, shut = 0;
    struct upmu_masks masks;
    struct search search;
    uint64_t expected;

    upmu_masks_begin(wanted->file, set, &masks);
    heads = set + masks.heads;
    end = heads + masks.count;
    search = (struct search){set, heads, masks.at, 0};
    expected = masks_expected(wanted, at, masks.wide);
    for (run = masks.run; search.head < end; run += 2) {
        class = upmu_section_here(wanted->file, UPMU_SHARED_CLASSES, set[run] & ~UPMU_LAST_RUN);
        stop = set[run + 1] < end - search.head ? search.head + set[run + 1] : end;
        search.open = (class[2] & UPMU_CLASS_GROUP) + 1u == shut ? 0 : expected;
        while ((letters = masks.wide ? letters_find(&search, wanted, at, stop)
                                     : codes_find(&search, wanted, at, stop)) != 0) {
            id->masks |= UINT32_C(1) << (search.head - heads - 1);
            at += letters + 1;
            if (at > wanted->length)
                return true;
            search.open = expected = masks_expected(wanted, at, masks.wide);
            if (class[0] & (UPMU_MASK_ALONE | UPMU_MASK_EXCLUSIVE)) {
                shut = (class[2] & UPMU_CLASS_GROUP) + 1u;
                search.open = 0;
            }
        }
    }
    return false;
}

/* The row or alias with a name. */
static unsigned member_of(const struct upmu_catalog *catalog, unsigned name)
{
    unsigned present, member = upmu_member_from(catalog, true, name, &present);

    return present == name ? member : upmu_member_from(catalog, false, name, &present);
}

/* Whether a name is the wanted one up to `at`; of several that fold to one text: letter by letter. */
static UPMU_APART bool name_is(const struct wanted *wanted, unsigned name, unsigned at, bool exactly)
{
    uint8_t room[UPMU_CODES_ROOM];
    struct upmu_item item = upmu_name_item(wanted->file, name, room);

    return upmu_codes_begin(wanted->dictionary, item.codes, item.count, wanted->folded, at) == at &&
           (!exactly || upmu_codes_are(wanted->dictionary, wanted->file[13] & 3u, item, wanted->name));
}

/* The high half of a product: a remainder of evenly spread numbers without a division. */
static uint32_t scaled(uint32_t hash, uint32_t count)
{
    return (uint32_t)(((uint64_t)hash * count) >> 32);
}

/* What the slot of a hash holds.  It is perfect, by displacement: a bucket's byte moves its names to free slots. */
static unsigned slot_of(const struct upmu_catalog *catalog, unsigned wide, uint32_t hash)
{
    unsigned members = upmu_own_rows(catalog) + upmu_own_aliases(catalog), buckets = members / 4 + 1;
    const uint8_t *place = upmu_section_here(catalog->byte, UPMU_OWN_HASH, scaled(hash, buckets));

    hash = (hash ^ *place * UINT32_C(0x9e3779b1)) * UINT32_C(0x85ebca6b);
    hash = scaled(hash, members + members / 8 + 1) << wide;
    place = upmu_section_here(catalog->byte, UPMU_OWN_HASH, buckets + hash);
    return wide ? upmu_half(place) : *place;
}

/*
 * Look up a name that goes up to `at` and has this hash; behind that masks follow, if
 * it is not the end.  The slot of a wide file says of most other hashes that they are not
 * its name's.  Of names that fold to one text: the one written exactly so, else the first.
 * False if the name may yet end elsewhere: not before that of a masked row.
 */
static bool name_lookup(struct wanted *wanted, unsigned at, uint32_t hash)
{
    const struct upmu_catalog *catalog = wanted->catalog;
    unsigned wide = upmu_file_wide(wanted->file), bits = catalog->byte[23] & 15u, prints = 0x7fffu >> bits;
    bool settled = false;

    for (unsigned twin = 0; twin < UPMU_TWINS; twin++, hash += UPMU_TWIN_STEP) {
        unsigned entry = slot_of(catalog, wide, hash), member = entry & ((1u << bits) - 1), name = entry;
        struct upmu_event_id id;
        const uint8_t *set;

        if (wide) {
            if ((entry >> bits ^ hash) & prints)
                break;
            name = upmu_half(upmu_section_at(catalog->byte, UPMU_OWN_NAMES, 2 * member));
        }
        if (name_is(wanted, name, at, wanted->found)) {
            upmu_member_id(catalog, wide ? member : member_of(catalog, name), &id);
            set = at == wanted->length || id.masks ? NULL : upmu_row_set(catalog, id.row);
            settled |= set != NULL;
            if (at == wanted->length || (set && masks_take(wanted, at + 1, set, &id))) {
                wanted->found = settled = true;
                wanted->id = id;
            }
        }
        if (!wide || !(entry & UPMU_SLOT_TWIN))
            break;
    }
    return settled;
}

/* ---- The hash ---- */

/*
 * Fold eight bytes: letters to lower case, - . : _ to FOLDED_SEPARATOR.  *out_separators: the
 * lowest bit of each byte that is one.  Bit 7 of each byte of *valid stays if that is in no name by
 * its value: below '-', DEL, no ASCII.
 */
static inline uint64_t fold_eight(uint64_t eight, uint64_t *out_separators, uint64_t *valid)
{
    uint64_t lower = eight | (eight & UPMU_EACH(0x40)) >> 1, dash = lower + UPMU_EACH(0x53);
    /* Bit 7: from '-' on, but not from '/' on; from ':' on, but not behind it; '_'. */
    uint64_t spread = (dash & ~(lower + UPMU_EACH(0x51))) |
                      ((lower + UPMU_EACH(0x46)) & ~(lower + UPMU_EACH(0x45))) | (lower + UPMU_EACH(0x01));

    *valid &= dash & ~(eight + UPMU_EACH(0x01));
    *out_separators = spread >> 7 & UPMU_EACH(1);
    return lower | *out_separators * FOLDED_SEPARATOR;
}

/* Of each byte the lowest bit, side by side. */
static inline unsigned bits_gathered(uint64_t bits)
{
    return (unsigned)(bits * UINT64_C(0x0102040810204080) >> 56);
}

/* The last letters of a text, at most eight, as the first bytes; '0' behind them. */
static inline uint64_t last_of(const char *text, unsigned length, unsigned left)
{
    uint64_t eight = UPMU_EACH('0');

    if (length >= 8 && left) {
        __builtin_memcpy(&eight, text + length - 8, 8);
        return eight >> (64 - 8 * left) | UPMU_EACH('0') << 8 * left;
    }
    while (left-- > 0)
        eight = eight << 8 | (uint8_t)text[left];
    return eight;
}

/*
 * Note where the name of a masked row may end, of the ends in eight letters: by its length and its
 * hash, which at most one in four of the other names passes.
 */
static inline void cuts_note(struct wanted *wanted, unsigned at, unsigned ends, uint64_t eight, uint64_t hash,
                             const uint8_t *filter)
{
    unsigned shift = 54 + (wanted->catalog->byte[23] >> 4 & 7u);

    for (; ends; ends &= ends - 1) {
        unsigned i = (unsigned)__builtin_ctz(ends);
        uint64_t whole = (hash ^ (eight & ((UINT64_C(1) << 8 * i) - 1))) * HASH_FACTOR;

        if ((unsigned)filter[whole >> shift >> 3] >> (whole >> shift & 7u) & 1u && wanted->cuts < CUTS) {
            wanted->cut_hash[wanted->cuts] = (uint32_t)(whole >> 32);
            wanted->cut_at[wanted->cuts++] = (uint8_t)(at + i);
        }
    }
}

/* Whether two bits side by side are set. */
static inline bool neighbours(const uint8_t *bits)
{
    uint64_t low, high;

    __builtin_memcpy(&low, bits, 8);
    __builtin_memcpy(&high, bits + 8, 8);
    return (low & low << 1) | (high & (high << 1 | low >> 63));
}

/*
 * Fold the name, and hash it as far as names of the catalogue go; note where separators are, and
 * where the name of a masked row may end.  False: no name looks like that.
 */
static UPMU_APART bool wanted_hash(struct wanted *wanted, uint32_t *out_hash)
{
    const uint8_t *lengths = upmu_section_at(wanted->catalog->byte, UPMU_OWN_FILTER, 0);
    unsigned hashed = wanted->catalog->byte[22] & 0x7fu, length = wanted->length, left = length, ends, at;
    uint64_t hash = upmu_half(wanted->catalog->byte + 20), eight, separators, valid = UPMU_EACH(0x80);
    const char *name = wanted->name;

    memset(wanted->ends, 0, sizeof wanted->ends);
    wanted->cuts = 0;
    for (at = 0; left >= 8; at += 8, left -= 8) {
        __builtin_memcpy(&eight, name + at, 8);
        eight = fold_eight(eight, &separators, &valid);
        __builtin_memcpy(wanted->folded + at, &eight, 8);
        ends = bits_gathered(separators);
        wanted->ends[at >> 3] = (uint8_t)ends;
        if (at > hashed)
            continue;
        ends &= lengths[at >> 3];
        if (ends)
            cuts_note(wanted, at, ends, eight, hash, lengths + 16);
        hash = (hash ^ eight) * HASH_FACTOR;
        hash ^= hash >> 32;
    }
    eight = fold_eight(last_of(name, length, left), &separators, &valid);
    eight &= (UINT64_C(1) << 8 * left) - 1;
    ends = bits_gathered(separators) | 1u << left;
    wanted->ends[at >> 3] = (uint8_t)ends;
    __builtin_memcpy(wanted->folded + at, &eight, 8);
    memset(wanted->folded + at + 8, 0, 8);
    wanted->folded[length] = (char)FOLDED_SEPARATOR;
    if (at <= hashed)
        cuts_note(wanted, at, ends & lengths[at >> 3], eight, hash, lengths + 16);
    *out_hash = (uint32_t)((hash ^ eight) * HASH_FACTOR >> 32);
    /* No name has two separators side by side, or one at its begin or end. */
    return !(wanted->ends[0] & 1u) && !neighbours(wanted->ends) && !(~valid & UPMU_EACH(0x80));
}

static enum upmu_status plain_lookup(const struct upmu_catalog *catalog, const char *name, size_t length,
                                     struct upmu_event_id *out_id)
{
    struct wanted wanted;
    bool settled;
    uint32_t hash;

    if (!length || length >= UPMU_CATALOG_NAME)
        return UPMU_ERR_NO_SUCH_EVENT;
    wanted.catalog = catalog;
    wanted.file = upmu_catalog_file(catalog);
    wanted.dictionary = upmu_dictionary(wanted.file);
    wanted.name = name;
    wanted.length = (unsigned)length;
    wanted.found = false;
    if (!wanted_hash(&wanted, &hash))
        return UPMU_ERR_NO_SUCH_EVENT;
    settled = length <= (catalog->byte[22] & 0x7fu) && name_lookup(&wanted, wanted.length, hash);
    for (unsigned i = wanted.cuts; i-- > 0 && !settled;)
        settled = name_lookup(&wanted, wanted.cut_at[i], wanted.cut_hash[i]);
    if (!wanted.found)
        return UPMU_ERR_NO_SUCH_EVENT;
    *out_id = wanted.id;
    return UPMU_OK;
}

/* Where Intel spells OFFCORE_RESPONSE.X.Y as OFFCORE_RESPONSE:request=X:response=Y. */
#define FIRST_KEYWORD 17u
#define FIRST_EQUALS (FIRST_KEYWORD + 7)

/* A name without "request=", which is as much as is left out at least. */
#define PLAIN_ROOM (UPMU_CATALOG_NAME - 8)

/* Such a name without its keywords; its length, 0: it is none. */
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
