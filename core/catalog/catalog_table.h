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
 * A section: where the header has its offset (3 bytes), bytes of an entry, bytes that may be
 * read from the begin of one on.
 */
#define UPMU_SECTION(offset, unit, reach) ((offset) | (unit) << 8 | (reach) << 16)

/* Sections of the file, shared by its catalogues. */
enum upmu_catalog_shared {
    UPMU_SHARED_SETS = UPMU_SECTION(18, 1, 1290),       /* masks of rows: see struct upmu_masks */
    UPMU_SHARED_NAMES = UPMU_SECTION(21, 1, 1290),      /* shared fragments << 5 | own ones; codes */
    UPMU_SHARED_FRAGMENTS = UPMU_SECTION(24, 1, 1290),  /* position of fragments in the text that follows, and length */
    UPMU_SHARED_BLOCKS = UPMU_SECTION(27, 1, 4),        /* offset in NAMES of every 16th name (2), 4th (3) */
    UPMU_SHARED_SHAPES = UPMU_SECTION(30, 12, 12),      /* what rows have in common */
    UPMU_SHARED_VALUES = UPMU_SECTION(33, 8, 8),        /* payloads */
    UPMU_SHARED_CLASSES = UPMU_SECTION(36, 3, 3)        /* of masks: flags, cmask, group and UPMU_CLASS_... */
};

/* Sections of one catalogue. */
enum upmu_catalog_own {
    UPMU_OWN_FILTER = UPMU_SECTION(24, 1, 144), /* of masked rows' names: a bit for each length (16), for each hash */
    UPMU_OWN_HASH = UPMU_SECTION(27, 1, 2),     /* perfect: displacements; slots: small: name, else member, print (2) */
    UPMU_OWN_SHAPES = UPMU_SECTION(30, 2, 2),   /* its shapes: numbers of shared ones; small: none */
    UPMU_OWN_ENTRIES = UPMU_SECTION(33, 3, 3),  /* rows: code, unit mask or index in MASKED, or an index; shape */
    UPMU_OWN_MASKED = UPMU_SECTION(36, 2, 2),   /* places in SETS */
    UPMU_OWN_NAMES = UPMU_SECTION(39, 1, 2),    /* name numbers: of rows, FFFFh, of aliases, FFFFh; ascending */
    UPMU_OWN_TARGETS = UPMU_SECTION(42, 1, 2),  /* aliases: row, or behind the rows an index in CHOSEN */
    UPMU_OWN_CHOSEN = UPMU_SECTION(45, 6, 6)    /* row, masks */
};

#define UPMU_FILE_DIRECTORY 39    /* offsets of the catalogues, 3 bytes each */
#define UPMU_OWN_HEADER 72        /* bytes of a catalogue's header */
#define UPMU_OWN_NAME 48          /* in it: its name and its other name, 12 bytes each */
#define UPMU_FILE_VERSION 5u
#define UPMU_CATALOG_LEAST 216u     /* bytes of the smallest catalogue: header and a filter's reach */
#define UPMU_CATALOG_IMPORTED 256u  /* the first number of catalogues from outside */
#define UPMU_FILE_LEAST 1290      /* bytes of the smallest file: the longest reach */
#define UPMU_FILE_ROOM 1024u      /* the end of a dictionary, a block of names, a set of masks */
#define UPMU_SLOT_TWIN 0x8000u /* another name folds to the same text, the next twin */
#define UPMU_TWIN_STEP UINT32_C(0x9e3779b1) /* by which its hash is higher */
#define UPMU_TWINS 8u          /* names that may fold to one text */
#define UPMU_NO_NAME 0xffffu
#define UPMU_ROW_FILTER_HIGH 3u /* packed only: a filter word of which bits 31:0 are not there */
#define UPMU_OWN_UNITS 0x80u /* byte 23 of a catalogue's header: its rows are of units */
#define UPMU_SHAPE_INDEXED 0x8000u /* flag: the row's two bytes are an index */
/* Last byte of a row's entry: its shape, and whether it has masks, as the shape's flags say. */
#define UPMU_ENTRY_SHAPE 0x7fu
#define UPMU_ENTRY_MASKED 0x80u
/* First byte of a set: how many other names of masks, and these; it goes on with the payload. */
#define UPMU_SET_OTHERS 0x1fu
#define UPMU_SET_WIDE 0x40u    /* bits of a mask are two bytes */
#define UPMU_SET_PAYLOAD 0x80u /* index of the row's payload (2) */
#define UPMU_LAST_RUN 0x80u    /* beside the class of a run of masks */
/* Second byte of a run: how many masks, and */
#define UPMU_RUN_MASKS 0x3fu
#define UPMU_RUN_GOES_ON 0x40u /* with the group of the run before */
#define UPMU_RUN_CLOSES 0x80u  /* after one of its masks no other of the group is used */
#define UPMU_CLASS_GROUP 0x7fu
#define UPMU_CLASS_LISTED 0x80u /* is part of listed names */
#define UPMU_MASK_MOST 15u /* codes in a mask's head, in a small file; then a byte says how many */
#define UPMU_MASKS 32u
#define UPMU_MASK_NAME 57u     /* bytes of the longest name of a mask, and its NUL */

/* Text as a file holds it: codes of fragments, or of a mask in a wide file letters. */
struct upmu_item {
    const uint8_t *codes;
    unsigned count;
    uint8_t style; /* to begin with: bit 0: small letters, bit 1: '-' for '_' */
    bool letters;  /* the codes are the text itself */
};

/* Room to put a name's codes together, shared ones and its own: copied eight at a time. */
#define UPMU_CODES_ROOM 80

/* A mask of a row, unpacked, all but its name: that is upmu_mask_item(). */
struct upmu_mask_entry {
    uint16_t bits; /* or index of a payload */
    uint8_t flags, cmask;
    uint8_t class; /* group, UPMU_CLASS_... */
    uint8_t last;  /* the last mask of its group */
};

/* A row, unpacked, and its row.mask_count masks. */
struct upmu_unpacked {
    struct upmu_row row;
    const uint8_t *set; /* of masks */
    struct upmu_mask_entry mask[UPMU_MASKS];
};

/* A walk through the masks of a row, then through their other names. */
struct upmu_masks {
    const uint8_t *file, *set;
    unsigned run, left;    /* in the set, of the next run; masks left in this one */
    unsigned heads, words; /* in the set, of the masks' heads and of their bits */
    unsigned at;           /* in the set, behind this mask's name */
    unsigned count;        /* masks */
    unsigned index;        /* of this mask; of another name: behind the masks */
    unsigned head;
    bool wide;             /* names are as they are written, and heads their first letters */
    const uint8_t *class;  /* flags, cmask, group; of another name NULL */
    struct upmu_item item; /* its name */
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

/* Header fields of a catalogue. */
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

/* Bytes of a name number, less one: in a small file of one catalogue a byte will do, and all names are its. */
static inline unsigned upmu_file_wide(const uint8_t *file)
{
    return !(file[13] & 4u);
}

/* Lower case; the separators - _ . : become '_'.  0 for what no name contains. */
uint8_t upmu_catalog_fold(char letter);

/* Do `length` bytes fold to the same text? */
bool upmu_same_folded(const char *text, const char *other, unsigned length);

#define UPMU_EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/*
 * An entry of a section of a file or a catalogue (upmu_catalog_file(), ->byte).  If it is outside:
 * the header, because any bytes will do.
 */
const uint8_t *upmu_section_at(const uint8_t *base, unsigned section, uint32_t index);

/*
 * As upmu_section_at(), inline, because each look-up uses it.  The reach is checked against the whole file (or
 * catalogue), not the section: that is what safety needs, and sections need no end.  No file is smaller than a reach.
 */
static inline const uint8_t *upmu_section_here(const uint8_t *base, unsigned section, uint32_t index)
{
    uint32_t at = upmu_offset(base + (section & 255u)) + index * (section >> 8 & 255u);

    return base + (at <= upmu_word(base + 4) - (section >> 16) ? at : 0);
}

/* Bytes to spell a name in: UPMU_CATALOG_NAME, and room for a fragment more. */
#define UPMU_NAME_ROOM 144

/* The codes of a name, in `room` or in the file. */
struct upmu_item upmu_name_item(const uint8_t *file, uint32_t number, uint8_t room[UPMU_CODES_ROOM]);

/* Spell an item into UPMU_NAME_ROOM bytes, with a NUL; its length, below UPMU_CATALOG_NAME; 0: it is too long. */
unsigned upmu_item_spell(const uint8_t *file, struct upmu_item item, char *out);

/*
 * A folded text: behind it stands a separator, then UPMU_FOLDED_ROOM noughts or more, which no fragment has;
 * before it UPMU_FOLDED_BEFORE.
 */
#define UPMU_FOLDED_SEPARATOR 0x7f /* which is '_' and a dot of names' text, but for the case bit */
#define UPMU_FOLDED_ROOM 72        /* as far as a mask's place may reach, and eight more */
#define UPMU_FOLDED_BEFORE 8

/* The letters that codes spell, if a folded text begins with these and a separator; else 0. */
unsigned upmu_codes_begin(const uint8_t *file, const uint8_t *codes, unsigned count, const char *folded);

/* Has a name these `length` folded letters? */
bool upmu_name_is(const uint8_t *file, uint32_t number, const char *folded, unsigned length);

/* Is a name that is equal when folded also spelt so? */
bool upmu_name_written(const uint8_t *file, uint32_t number, const char *name);

/* Spell a name into UPMU_NAME_ROOM bytes, with a NUL; its length, below UPMU_CATALOG_NAME. */
unsigned upmu_name_text(const uint8_t *file, uint32_t number, char *out);

/* Members are rows, from 0 on, then one that is none, then aliases: the name number of one. */
unsigned upmu_member_name(const struct upmu_catalog *catalog, unsigned member);

/*
 * First row (or alias) whose name has at least this number, and the number that it has; otherwise
 * the one after the last, UPMU_NO_NAME.
 */
unsigned upmu_member_from(const struct upmu_catalog *catalog, bool alias, unsigned name, unsigned *out_name);

/* The id of a row, or the id that an alias stands for. */
void upmu_member_id(const struct upmu_catalog *catalog, unsigned member, struct upmu_event_id *out_id);

/* Are its rows events of units outside the cores? */
static inline bool upmu_catalog_of_units(const struct upmu_catalog *catalog)
{
    return (catalog->byte[23] & UPMU_OWN_UNITS) != 0;
}

/* The masks of an existing row; NULL: it has none. */
const uint8_t *upmu_row_set(const struct upmu_catalog *catalog, unsigned row);

/* A row, its payload an index; its set of masks, NULL: it has none.  False if there is no such row. */
bool upmu_row_read(const struct upmu_catalog *catalog, unsigned row, struct upmu_row *out, const uint8_t **out_set);

/* Put the payload of a row in place of its index; in a unit's row without masks also event code and unit mask, which
 * stand there. */
void upmu_row_resolve(const struct upmu_catalog *catalog, const uint8_t *set, struct upmu_row *row);

/* A payload by its index. */
uint64_t upmu_payload(const uint8_t *file, unsigned index);

/* Unpack a row with its payload and masks; false if there is no such row. */
bool upmu_row_unpack(const struct upmu_catalog *catalog, unsigned row, struct upmu_unpacked *out);

/* Begin a walk through a set of masks, before the first. */
void upmu_masks_begin(const uint8_t *file, const uint8_t *set, struct upmu_masks *out);

/* Go to the next mask, then to the next other name; false after the last. */
bool upmu_masks_next(struct upmu_masks *masks);

/* May this mask or other name begin with a letter? */
bool upmu_masks_may_be(const struct upmu_masks *masks, char first);

/* core/catalog/catalog.c: the number of a mask of a set by its name or other name; `masks` stands before the first. */
bool upmu_masks_lookup(struct upmu_masks masks, const char *name, size_t length, unsigned *out_mask);

/* The bits of this mask, or index of a payload; of another name its mask. */
unsigned upmu_masks_bits(const struct upmu_masks *masks);

/* Go to mask `i` of a row; false: there is none. */
bool upmu_masks_find(const struct upmu_catalog *catalog, const uint8_t *set, unsigned i, struct upmu_masks *out);

/* The contents of a mask of an unpacked row. */
void upmu_mask_read(const struct upmu_catalog *catalog, const struct upmu_mask_entry *entry,
                    struct upmu_mask *out_mask);

/* The first mask after the group that mask `first` begins or is in. */
static inline unsigned upmu_mask_group_end(const struct upmu_unpacked *row, unsigned first)
{
    return row->mask[first].last + 1u;
}

#endif
