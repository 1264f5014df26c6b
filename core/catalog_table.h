/* SPDX-License-Identifier: MIT */
/*
 * The packed form of event catalogues: sections, names, rows, masks
 * (docs/CATALOGUES.md).  Every read goes through upmu_section_at(), so that whatever
 * the bytes hold, none leaves the file.
 */
#ifndef UPMU_CORE_CATALOG_TABLE_H
#define UPMU_CORE_CATALOG_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include "core/catalog.h"

/* A section: number, bytes of an entry, bytes that may be read from the begin of one on. */
#define UPMU_SECTION(number, unit, reach) ((number) | (unit) << 8 | (reach) << 16)

/* Sections of the file, shared by its catalogues. */
enum upmu_catalog_shared {
    UPMU_SHARED_MASK_TEXT = UPMU_SECTION(0, 1, 255),   /* names of masks */
    UPMU_SHARED_FRAGMENTS = UPMU_SECTION(1, 1, 2056),  /* at most 256: offset (11 bits), length; then text */
    UPMU_SHARED_BLOCKS = UPMU_SECTION(2, 3, 4),        /* offset in NAMES of every 8th name */
    UPMU_SHARED_NAMES = UPMU_SECTION(3, 1, 2056),      /* bytes shared with the block's first, count, fragments */
    UPMU_SHARED_DISPLACEMENTS = UPMU_SECTION(4, 1, 1), /* perfect hash: one byte for each bucket */
    UPMU_SHARED_SLOTS = UPMU_SECTION(5, 3, 3),         /* name + LAST_TWIN, or index in TWINS; + SLOT_MASKED; print */
    UPMU_SHARED_TWINS = UPMU_SECTION(6, 2, 16),        /* names that fold to one text, the last + UPMU_LAST_TWIN */
    UPMU_SHARED_SHAPES = UPMU_SECTION(7, 12, 12),      /* what rows have in common */
    UPMU_SHARED_VALUES = UPMU_SECTION(8, 8, 8),        /* payloads */
    UPMU_SHARED_SETS = UPMU_SECTION(9, 4, 508)         /* masks of rows */
};

/* Sections of one catalogue. */
enum upmu_catalog_own {
    UPMU_OWN_FILTER = UPMU_SECTION(0, 1, 128), /* a bit for the hash of each masked row's name */
    UPMU_OWN_SHAPES = UPMU_SECTION(1, 2, 2),   /* its shapes: numbers of shared ones */
    UPMU_OWN_ENTRIES = UPMU_SECTION(2, 3, 3),  /* rows: code and unit mask, or an index; shape */
    UPMU_OWN_MASKED = UPMU_SECTION(3, 4, 4),   /* rows with masks: code, unit mask, index in SETS */
    UPMU_OWN_NAMES = UPMU_SECTION(4, 2, 2),    /* name numbers: of rows, FFFFh, of aliases, FFFFh; ascending */
    UPMU_OWN_TARGETS = UPMU_SECTION(5, 2, 2),  /* aliases: row, or UPMU_TARGET_CHOSEN + index in CHOSEN */
    UPMU_OWN_CHOSEN = UPMU_SECTION(6, 6, 6)    /* row, masks */
};

#define UPMU_HEADER_SECTIONS 24   /* in either header: offsets of the sections, 4 bytes each */
#define UPMU_FILE_DIRECTORY 64    /* offsets of the catalogues, 4 bytes each */
#define UPMU_OWN_NAME 52          /* its name and its other name, 12 bytes each */
#define UPMU_FILE_VERSION 3u
#define UPMU_CATALOG_LEAST 204u     /* bytes of the smallest catalogue: header and a filter's reach */
#define UPMU_CATALOG_IMPORTED 256u  /* the first number of those from outside */
#define UPMU_FILE_LEAST 2056      /* bytes of the smallest file: the longest reach */
#define UPMU_LAST_TWIN 0x8000u
#define UPMU_SLOT_MASKED 0x4000u /* some catalogue has a masked row of the name */
#define UPMU_SLOT_NAME 0x3fffu
#define UPMU_TWINS 8u             /* names that may fold to one text */
#define UPMU_TARGET_CHOSEN 0x8000u
#define UPMU_NO_NAME 0xffffu
#define UPMU_SHAPE_INDEXED 0x8000u /* flag: the row's two bytes are an index */
/* Bytes of a mask: offset of the name (2), bits (2), length, cmask, flags, last of its group. */
#define UPMU_PACKED_MASK 8u
#define UPMU_PACKED_LISTED_SHIFT 7 /* beside the last of its group: is part of listed names */
#define UPMU_PACKED_LAST 0x1fu
#define UPMU_PACKED_BEGINS 0x40u /* beside it: a later mask of the group begins with its name */
#define UPMU_MASK_ROOM 64u       /* names of masks are shorter, by 8 bytes at least */
#define UPMU_SET_CLOSED 0x20u /* beside the count of a set's other names */

/* A row, unpacked, and its row.mask_count packed masks. */
struct upmu_unpacked {
    struct upmu_row row;
    /* UPMU_PACKED_MASK bytes each, in a group by name; behind them other names, with the mask as bits. */
    const uint8_t *masks;
    unsigned other_names;
    bool closed;      /* no other name begins with the row's and one of its masks */
    const char *text;   /* where the names of masks are */
    unsigned text_room; /* the last offset in it that a name may have */
};

static inline unsigned upmu_half(const uint8_t *at)
{
    return at[0] | (unsigned)at[1] << 8;
}

static inline uint32_t upmu_word(const uint8_t *at)
{
    return upmu_half(at) | (uint32_t)upmu_half(at + 2) << 16;
}

/* Header fields of a catalogue. */
static inline unsigned upmu_own_rows(const struct upmu_catalog *catalog)
{
    return upmu_half(catalog->byte + 14);
}

static inline const uint8_t *upmu_catalog_file(const struct upmu_catalog *catalog)
{
    return catalog->byte - upmu_word(catalog->byte + 8);
}

/* Lower case; the separators - _ . : become '_'.  0 for what no name contains. */
extern const uint8_t upmu_catalog_fold[256];

/* Whether `length` bytes fold to the same. */
bool upmu_same_folded(const char *text, const char *other, unsigned length);

/*
 * An entry of a section of a file or a catalogue (upmu_catalog_file(), ->byte).  If
 * it is outside: the header, which is as good as any other bytes.
 */
const uint8_t *upmu_section_at(const uint8_t *base, unsigned section, uint32_t index);

/*
 * The same in the caller, where each look-up comes by.  The reach is checked against
 * the whole file (or catalogue), not the section: that is what safety needs, and
 * sections need no end.  No file is smaller than a reach.
 */
static inline const uint8_t *upmu_section_here(const uint8_t *base, unsigned section, uint32_t index)
{
    uint32_t at = upmu_word(base + UPMU_HEADER_SECTIONS + 4 * (section & 255u)) + index * (section >> 8 & 255u);

    return base + (at <= upmu_word(base + 4) - (section >> 16) ? at : 0);
}

/* Bytes to spell a name in: UPMU_CATALOG_NAME, and room to copy eight bytes at a time. */
#define UPMU_NAME_ROOM 136

/* Spell a name into UPMU_NAME_ROOM bytes, without a NUL; its length, below UPMU_CATALOG_NAME. */
unsigned upmu_name_text(const uint8_t *file, uint32_t number, char *out);

/* Spell its first letters, up to `limit` and a few more; how many. */
unsigned upmu_name_begin(const uint8_t *file, uint32_t number, char *out, unsigned limit);

/* Members are rows, from 0 on, then one that is none, then aliases: the name number of one. */
static inline unsigned upmu_member_name(const struct upmu_catalog *catalog, unsigned member)
{
    return upmu_half(upmu_section_at(catalog->byte, UPMU_OWN_NAMES, member));
}

/*
 * First row (or alias) whose name has at least this number, and the number that it
 * has; else the one behind the last, UPMU_NO_NAME.
 */
unsigned upmu_member_from(const struct upmu_catalog *catalog, bool alias, unsigned name, unsigned *out_name);

/* The id of a row, or that an alias stands for. */
void upmu_member_id(const struct upmu_catalog *catalog, unsigned member, struct upmu_event_id *out_id);

/* Unpack a row, all but its payload; false if there is no such row. */
bool upmu_row_masks(const struct upmu_catalog *catalog, unsigned row, struct upmu_unpacked *out);

/* Unpack a row; false if there is no such row. */
bool upmu_row_read(const struct upmu_catalog *catalog, unsigned row, struct upmu_unpacked *out);

/* Unpack a mask of a row, below its count. */
void upmu_mask_read(const struct upmu_catalog *catalog, const struct upmu_unpacked *row, unsigned mask,
                    struct upmu_mask *out_mask);

/* The name of a packed mask, its length in mask[4]. */
static inline const char *upmu_mask_text(const struct upmu_unpacked *row, const uint8_t *mask)
{
    unsigned at = upmu_half(mask);

    return row->text + (at <= row->text_room ? at : 0);
}

/* The first mask after the group that mask `first` begins or is in. */
static inline unsigned upmu_mask_group_end(const struct upmu_unpacked *row, unsigned first)
{
    unsigned last = row->masks[UPMU_PACKED_MASK * first + 7] & UPMU_PACKED_LAST;

    /* Forwards, whatever a damaged set says. */
    return last >= first && last < row->row.mask_count ? last + 1 : row->row.mask_count;
}

#endif
