/* SPDX-License-Identifier: MIT */
/*
 * The packed form of event catalogues: sections, names, rows, masks (docs/CATALOGUES.md).  Every
 * read goes through upmu_section_at(), so that no read leaves the file, whatever its bytes are.
 */
#ifndef UPMU_CORE_CATALOG_TABLE_H
#define UPMU_CORE_CATALOG_TABLE_H

#include "core/catalog/catalog.h"
#include <stdbool.h>
#include <stdint.h>

/*
 * A section is one number: where the header has the section's offset (3 bytes); the bytes of an entry; how many bytes
 * may be read from the beginning of an entry on.
 */
#define UPMU_SECTION(offset, unit, reach) ((offset) | (unit) << 8 | (reach) << 16)

/* Sections of the file, shared by its catalogues. */
enum upmu_catalog_shared {
    UPMU_SHARED_SETS = UPMU_SECTION(18, 1, 1290),       /* masks of rows: see struct upmu_masks */
    UPMU_SHARED_NAMES = UPMU_SECTION(21, 1, 1290),      /* a name: shared codes << 5 | number of own codes; own codes */
    UPMU_SHARED_FRAGMENTS = UPMU_SECTION(24, 1, 1290),  /* of each fragment: position in the text behind, and length */
    UPMU_SHARED_BLOCKS = UPMU_SECTION(27, 1, 4),        /* offset in NAMES of every 16th name (2 bytes); wide: 4th */
    UPMU_SHARED_SHAPES = UPMU_SECTION(30, 12, 12),      /* what rows have in common */
    UPMU_SHARED_VALUES = UPMU_SECTION(33, 8, 8),        /* payloads */
    UPMU_SHARED_CLASSES = UPMU_SECTION(36, 3, 3)        /* classes of masks: flags, cmask, group and UPMU_CLASS_... */
};

/* Sections of one catalogue; their offsets stand in the catalogue's own header. */
enum upmu_catalog_own {
    UPMU_OWN_FILTER = UPMU_SECTION(24, 1, 144), /* masked rows' names: a bit for each length (16 bytes), each hash */
    UPMU_OWN_HASH = UPMU_SECTION(27, 1, 2),     /* displacements; slots: small file: a name; else: member, hash bits */
    UPMU_OWN_SHAPES = UPMU_SECTION(30, 2, 2),   /* numbers of the shapes that the catalogue uses; small file: none */
    UPMU_OWN_ENTRIES = UPMU_SECTION(33, 3, 3),  /* rows: code, unit mask or index in MASKED (or an index); shape */
    UPMU_OWN_MASKED = UPMU_SECTION(36, 2, 2),   /* for each masked row its position in SETS */
    UPMU_OWN_NAMES = UPMU_SECTION(39, 1, 2),    /* numbers of names, ascending: rows', FFFFh, aliases', FFFFh */
    UPMU_OWN_TARGETS = UPMU_SECTION(42, 1, 2),  /* aliases: a row, or the number of rows + an index in CHOSEN */
    UPMU_OWN_CHOSEN = UPMU_SECTION(45, 6, 6)    /* row, masks */
};

#define UPMU_FILE_DIRECTORY 39    /* offsets of the catalogues, 3 bytes each */
#define UPMU_OWN_HEADER 72        /* bytes of a catalogue's header */
#define UPMU_OWN_NAME 48          /* offset in the header of both names, 12 bytes each */
#define UPMU_FILE_VERSION 5u
#define UPMU_CATALOG_LEAST 216u     /* bytes of the smallest catalogue: header and a filter's reach */
#define UPMU_CATALOG_IMPORTED 256u  /* the first number of catalogues from outside */
#define UPMU_FILE_LEAST 1290      /* bytes of the smallest file: the longest reach */
#define UPMU_FILE_ROOM 1024u      /* most bytes of a dictionary, a block of names, a set of masks */
#define UPMU_SLOT_TWIN 0x8000u /* flag: another name folds to this text; look up the next twin */
#define UPMU_TWIN_STEP UINT32_C(0x9e3779b1) /* how much higher the twin's hash is */
#define UPMU_TWINS 8u          /* names that may fold to one text */
#define UPMU_NO_NAME 0xffffu
#define UPMU_ROW_FILTER_HIGH 3u /* in files only: UPMU_ROW_FILTER, of which the file has bits 63:32 alone */
#define UPMU_OWN_UNITS 0x80u /* flag in byte 23 of a catalogue's header: its rows are events of units */
#define UPMU_SHAPE_INDEXED 0x8000u /* flag of a shape: the first two bytes of a row are the index of a payload */
/* The last byte of a row's entry: the number of its shape, and whether the row has masks, which the shape also says. */
#define UPMU_ENTRY_SHAPE 0x7fu
#define UPMU_ENTRY_MASKED 0x80u
/* The first byte of a set: how many other names its masks have, and the flags below. The payload's index may follow. */
#define UPMU_SET_OTHERS 0x1fu
#define UPMU_SET_WIDE 0x40u    /* flag: bits of a mask are two bytes */
#define UPMU_SET_PAYLOAD 0x80u /* flag: the index of the row's payload follows (2 bytes) */
#define UPMU_LAST_RUN 0x80u    /* flag beside a run's class: no run follows */
/* The second byte of a run: how many masks it has, and two flags. */
#define UPMU_RUN_MASKS 0x3fu
#define UPMU_RUN_GOES_ON 0x40u /* flag: the run belongs to the same group as the run before */
#define UPMU_RUN_CLOSES 0x80u  /* flag: after one of its masks no other mask of the group is used */
#define UPMU_CLASS_GROUP 0x7fu
#define UPMU_CLASS_LISTED 0x80u /* the mask is part of listed names */
#define UPMU_MASK_MOST 15u /* small file: a mask's head counts up to 14 codes; 15: the next byte has the count */
#define UPMU_MASKS 32u
#define UPMU_MASK_NAME 57u     /* bytes of the longest name of a mask, and its NUL */

/* Text as a file holds it: codes of fragments. A mask's name in a wide file is letters. */
struct upmu_item {
    const uint8_t *codes;
    unsigned count;
    uint8_t style; /* initial style: bit 0: small letters, bit 1: '-' for '_' */
    bool letters;  /* the codes are the text itself */
};

/* Bytes to put the codes of a name together, shared ones and the name's own: codes are copied eight at a time. */
#define UPMU_CODES_ROOM 80

/* An unpacked mask of a row, without its name. */
struct upmu_mask_entry {
    uint16_t bits; /* or index of a payload */
    uint8_t flags, cmask;
    uint8_t class; /* group, UPMU_CLASS_... */
    uint8_t last;  /* the last mask of its group */
};

/* A row, unpacked, and its row.mask_count masks. */
struct upmu_unpacked {
    struct upmu_row row;
    const uint8_t *set; /* the row's set of masks; NULL: the row has no masks */
    struct upmu_mask_entry mask[UPMU_MASKS];
};

/* A walk through the masks of a row, then through their other names. */
struct upmu_masks {
    const uint8_t *file, *set;
    unsigned run, left;    /* position in the set of the next run; masks left in this run */
    unsigned heads, words; /* positions in the set of the masks' heads and of their bits */
    unsigned at;           /* position in the set behind this mask's name */
    unsigned count;        /* masks */
    unsigned index;        /* number of this mask; another name: `count` + its number */
    unsigned head;
    bool wide;             /* wide file: names are letters, and heads are their first letters */
    const uint8_t *class;  /* flags, cmask, group of this mask; another name: NULL */
    struct upmu_item item; /* the name of the mask, or its other name */
};

static inline unsigned upmu_half(const uint8_t *at)
{
    return at[0] | (unsigned)at[1] << 8;
}

static inline uint32_t upmu_word(const uint8_t *at)
{
    return upmu_half(at) | (uint32_t)upmu_half(at + 2) << 16;
}

static inline uint32_t upmu_offset(const uint8_t *at)
{
    return upmu_word(at) & 0xffffffu;
}

/* Fields of a catalogue's header. */
static inline unsigned upmu_own_rows(const struct upmu_catalog *catalog)
{
    return upmu_half(catalog->byte + 14);
}

static inline const uint8_t *upmu_catalog_file(const struct upmu_catalog *catalog)
{
    return (const uint8_t *)catalog - upmu_word(catalog->byte + 8);
}

static inline unsigned upmu_own_aliases(const struct upmu_catalog *catalog)
{
    return upmu_half(catalog->byte + 16);
}

/* Bytes of a name number, less one: 1. In a small file, which has one catalogue, to which all names belong: 0. */
static inline unsigned upmu_file_wide(const uint8_t *file)
{
    return !(file[13] & 4u);
}

/* Fold a letter: to lower case; each separator - _ . : to '_'; any letter that no name contains to 0. */
uint8_t upmu_catalog_fold(char letter);

/* Do `length` bytes of two texts fold to the same text? */
bool upmu_same_folded(const char *text, const char *other, unsigned length);

#define UPMU_EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/*
 * Return entry `index` of a section. `base` is a file (upmu_catalog_file()) or a catalogue's bytes (->byte). For an
 * entry outside of them the header is returned, because any bytes will do.
 */
const uint8_t *upmu_section_at(const uint8_t *base, unsigned section, uint32_t index);

/*
 * An inline form of upmu_section_at() for look-ups. The reach is checked against the whole file (or catalogue), not the
 * section: that is what safety needs, and sections need no end. No file is smaller than a reach.
 */
static inline const uint8_t *upmu_section_here(const uint8_t *base, unsigned section, uint32_t index)
{
    uint32_t at = upmu_offset(base + (section & 255u)) + index * (section >> 8 & 255u);

    return base + (at <= upmu_word(base + 4) - (section >> 16) ? at : 0);
}

/* Bytes to spell a name in: UPMU_CATALOG_NAME, and room for one more fragment. */
#define UPMU_NAME_ROOM 144

/* Return the codes of a name, which stand in `room` or in the file. */
struct upmu_item upmu_name_item(const uint8_t *file, uint32_t number, uint8_t room[UPMU_CODES_ROOM]);

/*
 * Spell an item into UPMU_NAME_ROOM bytes, with a NUL. Returns its length, below UPMU_CATALOG_NAME; 0: the text is too
 * long.
 */
unsigned upmu_item_spell(const uint8_t *file, struct upmu_item item, char *out);

/*
 * Behind a folded text stand a separator and at least UPMU_FOLDED_ROOM zeros, which no fragment contains; before the
 * text stand UPMU_FOLDED_BEFORE zeros.
 */
#define UPMU_FOLDED_SEPARATOR 0x7f /* equal to '_' and to the dot in names' text, except for the case bit */
#define UPMU_FOLDED_ROOM 72        /* the greatest length that a mask's place can state, and eight more */
#define UPMU_FOLDED_BEFORE 8

/* Return how many letters some codes spell, if a folded text begins with these and a separator; else 0. */
unsigned upmu_codes_begin(const uint8_t *file, const uint8_t *codes, unsigned count, const char *folded);

/* Is a name, when folded, equal to these `length` letters? */
bool upmu_name_is(const uint8_t *file, uint32_t number, const char *folded, unsigned length);

/* Is a name, known to be equal when folded, also spelt exactly like `name`? */
bool upmu_name_written(const uint8_t *file, uint32_t number, const char *name);

/* Spell a name into UPMU_NAME_ROOM bytes, with a NUL. Returns its length, below UPMU_CATALOG_NAME. */
unsigned upmu_name_text(const uint8_t *file, uint32_t number, char *out);

/*
 * Return the name number of a member. Members are rows, numbered from 0 on, then a member that does not exist, then
 * aliases.
 */
unsigned upmu_member_name(const struct upmu_catalog *catalog, unsigned member);

/*
 * Find the first row (or alias) whose name number is at least `name`; *out_name: its name number. If no row has such a
 * number: the number behind the last, and UPMU_NO_NAME.
 */
unsigned upmu_member_from(const struct upmu_catalog *catalog, bool alias, unsigned name, unsigned *out_name);

/* Store the id of a row, or the id that an alias stands for. */
void upmu_member_id(const struct upmu_catalog *catalog, unsigned member, struct upmu_event_id *out_id);

/* Are the rows of a catalogue events of units outside the cores? */
static inline bool upmu_catalog_of_units(const struct upmu_catalog *catalog)
{
    return (catalog->byte[23] & UPMU_OWN_UNITS) != 0;
}

/* Return the set of masks of an existing row; NULL: the row has no masks. */
const uint8_t *upmu_row_set(const struct upmu_catalog *catalog, unsigned row);

/*
 * Read a row, with the index of its payload as its payload. *out_set: the row's set of masks; NULL: the row has no
 * masks. Returns false if there is no such row.
 */
bool upmu_row_read(const struct upmu_catalog *catalog, unsigned row, struct upmu_row *out, const uint8_t **out_set);

/*
 * Replace the index of a row's payload by the payload. In a unit's row without masks, event code and unit mask are bits
 * of the payload: they are moved to their fields.
 */
void upmu_row_resolve(const struct upmu_catalog *catalog, const uint8_t *set, struct upmu_row *row);

/* Return the payload that has this index. */
uint64_t upmu_payload(const uint8_t *file, unsigned index);

/* Unpack a row with its payload and masks; false if there is no such row. */
bool upmu_row_unpack(const struct upmu_catalog *catalog, unsigned row, struct upmu_unpacked *out);

/* Begin a walk through a set of masks, before the first. */
void upmu_masks_begin(const uint8_t *file, const uint8_t *set, struct upmu_masks *out);

/* Go to the next mask, then to the next other name; false after the last. */
bool upmu_masks_next(struct upmu_masks *masks);

/* May the present mask or other name begin with this letter? */
bool upmu_masks_may_be(const struct upmu_masks *masks, char first);

/*
 * core/catalog/catalog.c: find the number of a mask by its name or other name. `masks` comes from upmu_masks_begin().
 */
bool upmu_masks_lookup(struct upmu_masks masks, const char *name, size_t length, unsigned *out_mask);

/* Return the bits of the present mask, or the index of its payload; for another name: the number of its mask. */
unsigned upmu_masks_bits(const struct upmu_masks *masks);

/* Go to mask `i` of a row's set; false: the row has no such mask. */
bool upmu_masks_find(const struct upmu_catalog *catalog, const uint8_t *set, unsigned i, struct upmu_masks *out);

/* Read a mask of an unpacked row, with its payload in place of the payload's index. */
void upmu_mask_read(const struct upmu_catalog *catalog, const struct upmu_mask_entry *entry,
                    struct upmu_mask *out_mask);

/* Return the first mask behind the group that mask `first` belongs to. */
static inline unsigned upmu_mask_group_end(const struct upmu_unpacked *row, unsigned first)
{
    return row->mask[first].last + 1u;
}

#endif
