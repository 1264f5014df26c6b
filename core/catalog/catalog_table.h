/* SPDX-License-Identifier: MIT */
/*
 * The packed form of event catalogues: sections, names, rows, unit masks (docs/CATALOGUES.md).  Each read is in a
 * header that was checked, or begins within the reach of an entry that upmu_section_at() or upmu_section_here() gives.
 * So no read leaves the file, whatever bytes follow the headers.
 */
#ifndef UPMU_CORE_CATALOG_TABLE_H
#define UPMU_CORE_CATALOG_TABLE_H

#include "core/catalog/catalog.h"
#include <stdbool.h>
#include <stdint.h>

/*
 * A section is described by one number. Bits 7:0: the place in the header of the file or catalogue that has the
 * section's offset (3 bytes). Bits 15:8: the bytes of an entry. Bits 31:16: the reach, which is the number of bytes
 * that may be read from the beginning of an entry on.
 */
#define UPMU_SECTION(offset, unit, reach) ((offset) | (unit) << 8 | (reach) << 16)

/* Sections of the file, shared by its catalogues. A file is small or wide: upmu_file_wide(). */
enum upmu_catalog_shared {
    /*
     * of each row with unit masks: its set, which is the packed form of its unit masks; struct upmu_masks walks in it
     */
    UPMU_SHARED_SETS = UPMU_SECTION(18, 1, 1290),
    /*
     * names; first byte: bits 7:5: codes shared with the name before, bit 4: other style, bits 3:0: number of own codes
     * (15: the next byte has the number); then own codes
     */
    UPMU_SHARED_NAMES = UPMU_SECTION(21, 1, 1290),
    /*
     * the dictionary: for each code 2 bytes, bits 9:0: where its text is in the section, 15:13: 8 - its length; texts
     */
    UPMU_SHARED_FRAGMENTS = UPMU_SECTION(24, 1, 1290),
    /* offset in NAMES of every 16th name (2 bytes), in a wide file of every 4th (3 bytes) */
    UPMU_SHARED_BLOCKS = UPMU_SECTION(27, 1, 4),
    /* flags, cmask, codes, umask, counters, payload register: the fields that several rows have in common */
    UPMU_SHARED_SHAPES = UPMU_SECTION(30, 12, 12),
    UPMU_SHARED_VALUES = UPMU_SECTION(33, 8, 8),        /* payloads */
    UPMU_SHARED_CLASSES = UPMU_SECTION(36, 3, 3)        /* of unit masks: flags; cmask; group and UPMU_CLASS_... */
};

/* Sections of one catalogue; their offsets stand in the header of the catalogue. */
enum upmu_catalog_own {
    /* names of rows with unit masks: a bit for each length that one has (16 bytes), then a bit for each hash */
    UPMU_OWN_FILTER = UPMU_SECTION(24, 1, 144),
    /* the hash table: a displacement for each bucket (1 byte), then slots (small file: 1 byte, else 2) */
    UPMU_OWN_HASH = UPMU_SECTION(27, 1, 2),
    /* numbers, in SHAPES of the file, of the shapes that the catalogue uses; small file: none */
    UPMU_OWN_SHAPES = UPMU_SECTION(30, 2, 2),
    /*
     * of each row: code; unit mask, or its index in MASKED; shape.  With UPMU_SHAPE_INDEXED: payload's index (2); shape
     */
    UPMU_OWN_ENTRIES = UPMU_SECTION(33, 3, 3),
    UPMU_OWN_MASKED = UPMU_SECTION(36, 2, 2),   /* for each row with unit masks, where its set is in SETS */
    /* name numbers, ascending: of the rows, FFFFh, of the aliases, FFFFh; small file: of the aliases, FFh (1 byte) */
    UPMU_OWN_NAMES = UPMU_SECTION(39, 1, 2),
    UPMU_OWN_TARGETS = UPMU_SECTION(42, 1, 2),  /* of each alias: a row, or the number of rows + an index in CHOSEN */
    UPMU_OWN_CHOSEN = UPMU_SECTION(45, 6, 6)    /* of aliases with unit masks: row (2 bytes), bits of the masks (4) */
};

#define UPMU_FILE_DIRECTORY 39    /* where a file has the offsets of its catalogues, 3 bytes each */
#define UPMU_OWN_HEADER 72        /* bytes of the header of a catalogue */
#define UPMU_OWN_NAME 48          /* offset in the header of the catalogue's two names, 12 bytes each */
#define UPMU_FILE_VERSION 5u
#define UPMU_CATALOG_LEAST 216u     /* bytes of the smallest catalogue: its header, and the reach of UPMU_OWN_FILTER */
#define UPMU_CATALOG_IMPORTED 256u  /* numbers of imported catalogues are not below this; built-in ones are below */
/* bytes of the smallest file, without its checksum: as many as may be read from an entry on (the longest reach) */
#define UPMU_FILE_LEAST 1290
#define UPMU_FILE_ROOM 1024u      /* the most bytes of a dictionary, a block of names, a set of unit masks */
#define UPMU_SLOT_TWIN 0x8000u /* flag of a slot: its name has a twin, another name that is equal when case-folded */
#define UPMU_TWIN_STEP UINT32_C(0x9e3779b1) /* the hash of a twin is this much higher than that of the name before */
#define UPMU_TWINS 8u          /* the most names of a catalogue that are equal when case-folded */
#define UPMU_NO_NAME 0xffffu
#define UPMU_ROW_FILTER_HIGH 3u /* row.msr in a file: UPMU_ROW_FILTER, and the file has bits 63:32 of the value only */
#define UPMU_OWN_UNITS 0x80u /* flag in byte 23 of a catalogue's header: its rows are events of units */
#define UPMU_SHAPE_INDEXED 0x8000u /* flag of a shape: two bytes of the row's entry are the index of a payload */
/*
 * The last byte of a row's entry: the number of its shape, and whether the row has unit masks (the shape says it, too).
 */
#define UPMU_ENTRY_SHAPE 0x7fu
#define UPMU_ENTRY_MASKED 0x80u
/* The first byte of a set of unit masks: how many other names the masks have, and two flags. */
#define UPMU_SET_OTHERS 0x1fu
#define UPMU_SET_WIDE 0x40u    /* flag: the bits of each unit mask take two bytes, not one */
#define UPMU_SET_PAYLOAD 0x80u /* flag: the index of the row's payload follows this byte (2 bytes) */
/* The first byte of a run (unit masks of one class, side by side): the number of its class, and a flag. */
#define UPMU_LAST_RUN 0x80u    /* flag: no run follows in this set */
/* The second byte of a run: how many unit masks it has, and two flags. */
#define UPMU_RUN_MASKS 0x3fu
#define UPMU_RUN_GOES_ON 0x40u /* flag: the unit masks of this run are of the same group as those of the run before */
#define UPMU_RUN_CLOSES 0x80u  /* flag: each unit mask of the run excludes the other masks of its group */
#define UPMU_CLASS_GROUP 0x7fu
#define UPMU_CLASS_LISTED 0x80u /* flag: listed names of a composed row contain the unit masks of this class */
#define UPMU_MASK_MOST 15u /* small file, bits 7:4 of a mask's head: codes of its name; 15: a byte before them says */
#define UPMU_MASKS 32u
#define UPMU_MASK_NAME 57u     /* bytes of the longest name of a unit mask, and its NUL */

/*
 * A name as a file holds it: a string of codes, each of which stands for a fragment of up to 8 letters or switches the
 * style. In a wide file the name of a unit mask is plain letters.
 */
struct upmu_item {
    const uint8_t *codes;
    unsigned count;
    uint8_t style; /* style at the first code: bit 0: small letters, bit 1: '-' for '_' */
    bool letters;  /* `codes` are the letters of the name */
};

/* Bytes for all codes of a name: those shared with the name before, and its own. Eight are copied at a time. */
#define UPMU_CODES_ROOM 80

/* An unpacked unit mask of a row, without its name. */
struct upmu_mask_entry {
    uint16_t bits; /* or, with UPMU_MASK_PAYLOAD, the index of a payload in the file */
    uint8_t flags, cmask;
    uint8_t class; /* group, UPMU_CLASS_... */
    uint8_t last;  /* index of the last unit mask of its group */
};

/* An unpacked row, and its row.mask_count unit masks. */
struct upmu_unpacked {
    struct upmu_row row;
    const uint8_t *set; /* the packed form of the row's unit masks; NULL: the row has none */
    struct upmu_mask_entry mask[UPMU_MASKS];
};

/* A walk through the packed unit masks of a row (`set`), then through other names of these masks. */
struct upmu_masks {
    const uint8_t *file, *set;
    unsigned run, left;    /* offset in `set` of the next run; unit masks left in the present run */
    unsigned heads, words; /* byte offsets in `set` of two arrays, by `index`: heads of the names, bits of the masks */
    unsigned at;           /* offset in `set` of the first byte behind the present mask's name */
    unsigned count;        /* number of unit masks, without other names */
    unsigned index;        /* the present unit mask; at another name: `count` + the number of that name */
    unsigned head;         /* the present mask's head; small file: codes of its name << 4 | first letter % 16 */
    bool wide;             /* the file is wide: names are letters, and a head is the first letter of a name */
    const uint8_t *class;  /* flags, cmask, group of the present unit mask (a byte each); at another name: NULL */
    struct upmu_item item; /* the name of the present unit mask, or its other name */
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

/* Return the number of a catalogue's rows. */
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

/*
 * Is a file wide? 0: the file is small: it has one catalogue of fewer than 255 names, and a number of a name or member
 * takes one byte. 1: any other file; the numbers take two bytes.
 */
static inline unsigned upmu_file_wide(const uint8_t *file)
{
    return !(file[13] & 4u);
}

/* Return a letter case-folded: in lower case; '_' for each separator - _ . : and 0 for a byte that no name contains. */
uint8_t upmu_catalog_fold(char letter);

/* Are the first `length` bytes of two texts equal when case-folded (upmu_catalog_fold())? */
bool upmu_same_folded(const char *text, const char *other, unsigned length);

#define UPMU_EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/*
 * Return the address of entry `index` of a section. `base`: the file (upmu_catalog_file()) or the catalogue's bytes
 * (->byte) that the section is in. If the entry's reach leaves them, returns `base`: then the header is read in place
 * of an entry, which gives wrong values but no read outside.
 */
const uint8_t *upmu_section_at(const uint8_t *base, unsigned section, uint32_t index);

/*
 * An inline form of upmu_section_at() for look-ups. The reach is checked against the end of the whole file (or
 * catalogue), not of the section, because no more is needed for safety. No file or catalogue is smaller than a reach.
 */
static inline const uint8_t *upmu_section_here(const uint8_t *base, unsigned section, uint32_t index)
{
    uint32_t at = upmu_offset(base + (section & 255u)) + index * (section >> 8 & 255u);

    return base + (at <= upmu_word(base + 4) - (section >> 16) ? at : 0);
}

/* Bytes of a buffer for a name's text: UPMU_CATALOG_NAME, and room for more, as eight letters are written at a time. */
#define UPMU_NAME_ROOM 144

/* Put together in `room` the codes of the name that has this number in the file, and return the name. */
struct upmu_item upmu_name_item(const uint8_t *file, uint32_t number, uint8_t room[UPMU_CODES_ROOM]);

/*
 * Write the text of an item, with a NUL, to `out`, which has UPMU_NAME_ROOM bytes. Returns its length without the NUL,
 * below UPMU_CATALOG_NAME; 0: the text is too long.
 */
unsigned upmu_item_spell(const uint8_t *file, struct upmu_item item, char *out);

/*
 * A buffer for case-folded text has the text, a separator, and at least UPMU_FOLDED_ROOM bytes more. Of these bytes all
 * that a comparison with a stored name can read are zeros, which no name contains. Before a text that is looked up
 * stand UPMU_FOLDED_BEFORE zeros.
 */
#define UPMU_FOLDED_SEPARATOR 0x7f /* '_' and the dot (7Fh) of stored names, with bit 20h set, which makes lower case */
#define UPMU_FOLDED_ROOM 72        /* the greatest length that a wide file can give a mask's name, and eight more */
#define UPMU_FOLDED_BEFORE 8

/*
 * Return how many letters `count` codes spell if a case-folded text begins with these letters and a separator; else 0.
 */
unsigned upmu_codes_begin(const uint8_t *file, const uint8_t *codes, unsigned count, const char *folded);

/* Is the name with this number in the file, when case-folded, equal to the first `length` letters of `folded`? */
bool upmu_name_is(const uint8_t *file, uint32_t number, const char *folded, unsigned length);

/* Is a name of the file, known to be equal to the beginning of `name` when case-folded, also spelt exactly like it? */
bool upmu_name_written(const uint8_t *file, uint32_t number, const char *name);

/* Do as upmu_item_spell() for the name that has this number in the file. */
unsigned upmu_name_text(const uint8_t *file, uint32_t number, char *out);

/*
 * Return the number, in the file, of a member's name; UPMU_NO_NAME: there is no such member. A member is a row, with
 * its number (0 to rows - 1), or an alias, whose number is rows + 1 + its index. The number `rows` is no member's.
 */
unsigned upmu_member_name(const struct upmu_catalog *catalog, unsigned member);

/*
 * Return the first row (with `alias`: the first alias), as a member, whose name number is at least `name`; *out_name:
 * its name number. If there is none, returns the number behind the last row (alias), and *out_name is UPMU_NO_NAME.
 */
unsigned upmu_member_from(const struct upmu_catalog *catalog, bool alias, unsigned name, unsigned *out_name);

/* Store the id of a member: of a row, or the id that an alias stands for. */
void upmu_member_id(const struct upmu_catalog *catalog, unsigned member, struct upmu_event_id *out_id);

/* Are the rows of a catalogue events of units outside the cores (not of a core)? */
static inline bool upmu_catalog_of_units(const struct upmu_catalog *catalog)
{
    return (catalog->byte[23] & UPMU_OWN_UNITS) != 0;
}

/* Return the packed unit masks (the set) of a row that exists; NULL: the row has no unit masks. */
const uint8_t *upmu_row_set(const struct upmu_catalog *catalog, unsigned row);

/*
 * Read a row; out->payload is only the index of its payload in the file (see upmu_row_resolve()). *out_set: the row's
 * packed unit masks; NULL: the row has none. Returns false if there is no such row.
 */
bool upmu_row_read(const struct upmu_catalog *catalog, unsigned row, struct upmu_row *out, const uint8_t **out_set);

/*
 * Replace the index in row->payload by the payload of the file; by 0, if the row has no payload register (row->msr). In
 * a row of a unit that has no unit masks to choose, the value in the file has the event code (7:0), the unit mask
 * (15:8) and 32 bits of the payload (63:32): they are stored in row->code, row->umask and row->payload.
 */
void upmu_row_resolve(const struct upmu_catalog *catalog, const uint8_t *set, struct upmu_row *row);

/* Return the payload that has this index in the file. */
uint64_t upmu_payload(const uint8_t *file, unsigned index);

/* Unpack a row with its payload and unit masks; false: there is no such row. */
bool upmu_row_unpack(const struct upmu_catalog *catalog, unsigned row, struct upmu_unpacked *out);

/* Begin a walk through a row's packed unit masks: the first upmu_masks_next() goes to the first mask. */
void upmu_masks_begin(const uint8_t *file, const uint8_t *set, struct upmu_masks *out);

/* Go to the next unit mask; after the last to the next of the masks' other names; false after the last of these. */
bool upmu_masks_next(struct upmu_masks *masks);

/* Can the present name of a walk begin with this letter? In a small file only four bits of the letter are compared. */
bool upmu_masks_may_be(const struct upmu_masks *masks, char first);

/*
 * core/catalog/catalog.c: find a unit mask by its name or by another name of it. `masks` comes from upmu_masks_begin().
 * *out_mask: its index in the row. Returns false if no unit mask has the name.
 */
bool upmu_masks_lookup(struct upmu_masks masks, const char *name, size_t length, unsigned *out_mask);

/*
 * Return the bits of the present unit mask, or the index of its payload; at another name: the index of its unit mask.
 */
unsigned upmu_masks_bits(const struct upmu_masks *masks);

/* Go to unit mask `i` of a row's packed unit masks; false: the row has no such mask, or `set` is NULL. */
bool upmu_masks_find(const struct upmu_catalog *catalog, const uint8_t *set, unsigned i, struct upmu_masks *out);

/* Read a unit mask of an unpacked row, with its payload in place of the payload's index. */
void upmu_mask_read(const struct upmu_catalog *catalog, const struct upmu_mask_entry *entry,
                    struct upmu_mask *out_mask);

/* Return the index of the first unit mask behind the group that unit mask `first` belongs to. */
static inline unsigned upmu_mask_group_end(const struct upmu_unpacked *row, unsigned first)
{
    return row->mask[first].last + 1u;
}

#endif
