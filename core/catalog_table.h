/* SPDX-License-Identifier: MIT */
/*
 * The packed form of event catalogues, read with every offset checked: whatever
 * the bytes hold, no read leaves the file (docs/CATALOGUES.md).
 */
#ifndef UPMU_CORE_CATALOG_TABLE_H
#define UPMU_CORE_CATALOG_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include "core/catalog.h"

/* Sections of the shared part, in their order. */
enum upmu_catalog_shared {
    UPMU_SHARED_DICTIONARY,    /* offset in FRAGMENTS, length: 3 bytes for each fragment */
    UPMU_SHARED_FRAGMENTS,     /* text */
    UPMU_SHARED_BLOCKS,        /* offset in NAMES of every 16th name, 3 bytes */
    UPMU_SHARED_NAMES,         /* bytes shared with the block's first name, fragment count, fragments */
    UPMU_SHARED_DISPLACEMENTS, /* perfect hash: one byte for each bucket */
    UPMU_SHARED_SLOTS,         /* perfect hash: name number, or 8000h + first of TWINS */
    UPMU_SHARED_TWINS,         /* names that fold to one text, the last with 8000h */
    UPMU_SHARED_SHAPES,        /* what rows have in common, 12 bytes */
    UPMU_SHARED_VALUES         /* payloads, 8 bytes */
};

/* Sections of one catalogue, in their order. */
enum upmu_catalog_own {
    UPMU_OWN_SHAPES,      /* its shapes: numbers of shared ones */
    UPMU_OWN_ROW_PAGES,   /* first row whose name number is 256 * i or above */
    UPMU_OWN_ALIAS_PAGES, /* the same for aliases */
    UPMU_OWN_ENTRIES,     /* for each row: code and unit mask, or an index; shape */
    UPMU_OWN_MASKED,      /* rows with masks: hash, row, code, unit mask, offset of the set */
    UPMU_OWN_SETS,        /* sets of masks */
    UPMU_OWN_TARGETS,     /* for each alias: row, or 8000h + index in CHOSEN */
    UPMU_OWN_CHOSEN,      /* row, masks */
    UPMU_OWN_ROW_LOW,     /* for each row: low byte of its name's number */
    UPMU_OWN_ALIAS_LOW,
    UPMU_OWN_COUNT
};

#define UPMU_FILE_SHARED 24     /* offsets of the shared sections and of their end, 4 bytes each */
#define UPMU_FILE_DIRECTORY 64  /* offsets of the catalogues, 4 bytes each */
#define UPMU_OWN_OFFSETS 48     /* offsets of a catalogue's sections, 2 bytes each */
#define UPMU_SHAPE_INDEXED 0x8000u /* flag: the row's two bytes are an index */
#define UPMU_PACKED_LISTED 0x80u   /* beside a mask's group: is part of listed names */
#define UPMU_PACKED_WIDE 0x40u     /* beside a mask's group: 16 bits of unit mask */
#define UPMU_PACKED_GROUP 0x0fu
#define UPMU_NO_NAME 0xffffffffu

/* A section: bytes and how many. */
struct upmu_section {
    const uint8_t *at;
    uint32_t size;
};

/* The set of unit masks of a row. */
struct upmu_mask_set {
    const uint8_t *masks;   /* 7 bytes each */
    const uint8_t *aliases; /* 4 bytes each */
    unsigned count, alias_count;
    unsigned value; /* index of the row's payload */
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

static inline unsigned upmu_own_aliases(const struct upmu_catalog *catalog)
{
    return upmu_half(catalog->byte + 16);
}

static inline const uint8_t *upmu_catalog_file(const struct upmu_catalog *catalog)
{
    return catalog->byte - upmu_word(catalog->byte + 4);
}

/* Lower case; the separators - _ . : become '_'.  Of bytes below 128. */
extern const uint8_t upmu_catalog_fold[128];

/* One section; empty if its offsets are not in order. */
struct upmu_section upmu_shared_section(const uint8_t *file, unsigned section);
struct upmu_section upmu_own_section(const struct upmu_catalog *catalog, unsigned section);

/* Entry `index` of a section of `width` bytes each, or NULL. */
static inline const uint8_t *upmu_section_entry(struct upmu_section section, uint32_t index, uint32_t width)
{
    return index < section.size && index * width + width <= section.size ? section.at + index * width : NULL;
}

/* The text of a name: bytes written to `out`, which holds UPMU_CATALOG_NAME; 0: there is none. */
unsigned upmu_name_text(const uint8_t *file, unsigned number, char *out);

/* Whether a name folds to `length` bytes of folded text. */
bool upmu_name_folds_to(const uint8_t *file, unsigned number, const uint8_t *text, unsigned length);

/* Begin of a fold hash, and one byte more. */
uint32_t upmu_name_hash_begin(const uint8_t *file);
static inline uint32_t upmu_name_hash(uint32_t hash, uint8_t folded)
{
    return (hash ^ folded) * UINT32_C(16777619);
}

/* The slot's contents for a hash of folded text, or UPMU_NO_NAME. */
uint32_t upmu_name_slot(const uint8_t *file, uint32_t hash);

/* First row (or alias) whose name has at least this number. */
unsigned upmu_member_from(const struct upmu_catalog *catalog, bool alias, uint32_t name);

/* Name number of a row (or alias), or UPMU_NO_NAME. */
uint32_t upmu_member_name(const struct upmu_catalog *catalog, bool alias, unsigned index);

/* The id that an alias stands for; false if there is no such alias. */
bool upmu_alias_target(const struct upmu_catalog *catalog, unsigned index, struct upmu_event_id *out_id);

/* The masks of a row; false if it has none. */
bool upmu_mask_set(const struct upmu_catalog *catalog, unsigned row, struct upmu_mask_set *out_set);

/* The masks of the set at an offset of UPMU_OWN_SETS. */
bool upmu_mask_set_at(const struct upmu_catalog *catalog, unsigned offset, struct upmu_mask_set *out_set);

#endif
