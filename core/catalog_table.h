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
    UPMU_SHARED_DICTIONARY,    /* for each fragment: offset in FRAGMENTS (11 bits), length - 1 */
    UPMU_SHARED_FRAGMENTS,     /* text, and 8 bytes more */
    UPMU_SHARED_FOLDED,        /* the same text, folded */
    UPMU_SHARED_BLOCKS,        /* offset in NAMES of every 8th name, 3 bytes */
    UPMU_SHARED_NAMES,         /* bytes shared with the block's first name, fragment count, fragments */
    UPMU_SHARED_DISPLACEMENTS, /* perfect hash: one byte for each bucket */
    UPMU_SHARED_SLOTS,         /* perfect hash: name number, or 8000h + first of TWINS */
    UPMU_SHARED_TWINS,         /* names that fold to one text, the last with 8000h */
    UPMU_SHARED_SHAPES,        /* what rows have in common, 12 bytes */
    UPMU_SHARED_VALUES,        /* payloads, 8 bytes */
    UPMU_SHARED_MASK_TEXT      /* names of masks, of composed rows, and 8 bytes more */
};

/* Sections of one catalogue, in their order. */
enum upmu_catalog_own {
    UPMU_OWN_SHAPES,      /* its shapes: numbers of shared ones */
    UPMU_OWN_ROW_PAGES,   /* first row whose name number is 256 * i or above */
    UPMU_OWN_ALIAS_PAGES, /* the same for aliases */
    UPMU_OWN_ENTRIES,     /* for each row: code and unit mask, or an index; shape */
    UPMU_OWN_MASKED,      /* rows with masks, the longest names first: hash, row,
                             code, unit mask, offset of the set, of the name in MASK_TEXT */
    UPMU_OWN_SETS,        /* sets of masks */
    UPMU_OWN_TARGETS,     /* for each alias: row, or 8000h + index in CHOSEN */
    UPMU_OWN_CHOSEN,      /* row, masks */
    UPMU_OWN_ROW_LOW,     /* for each row: low byte of its name's number */
    UPMU_OWN_ALIAS_LOW,
    UPMU_OWN_LENGTHS, /* lengths of names in MASKED, and how many rows have each */
    UPMU_OWN_COUNT
};

#define UPMU_FILE_SHARED 24        /* offsets of the shared sections and of their end, 4 bytes each */
#define UPMU_FILE_DIRECTORY 72     /* offsets of the catalogues, 4 bytes each */
#define UPMU_OWN_OFFSETS 48        /* offsets of a catalogue's sections, 2 bytes each */
#define UPMU_SHAPE_INDEXED 0x8000u /* flag: the row's two bytes are an index */
#define UPMU_PACKED_LISTED 0x80u   /* beside a mask's group: is part of listed names */
#define UPMU_PACKED_WIDE 0x40u     /* beside a mask's group: 16 bits of unit mask */
#define UPMU_PACKED_FIRST 0x20u    /* beside a mask's group: is the first of it */
#define UPMU_PACKED_GROUP 0x0fu
#define UPMU_PACKED_MASKED 10 /* bytes of a record of UPMU_OWN_MASKED */
#define UPMU_NO_TEXT 0xffffu  /* there: the row's name does not stand in MASK_TEXT */
#define UPMU_PACKED_MASK 8    /* bytes of a packed mask: text, value, length, key, flags, group */
#define UPMU_NO_NAME 0xffffffffu

/* A section: bytes and how many. */
struct upmu_section {
    const uint8_t *at;
    uint32_t size;
};

/* The set of unit masks of a row. */
struct upmu_mask_set {
    const uint8_t *masks;   /* UPMU_PACKED_MASK bytes each */
    const uint8_t *aliases; /* 4 bytes each */
    unsigned count, alias_count;
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

/* Eight bytes as a number, the first lowest. */
static inline uint64_t upmu_load64(const uint8_t *at)
{
    return upmu_word(at) | (uint64_t)upmu_word(at + 4) << 32;
}

#define UPMU_BYTES(value) (UINT64_C(0x0101010101010101) * (value))

/* 80h for each byte, all of them below 80h, that is in a range. */
static inline uint64_t upmu_bytes_within(uint64_t word, unsigned first, unsigned last)
{
    return (word + UPMU_BYTES(0x80 - first)) & ~(word + UPMU_BYTES(0x7f - last)) & UPMU_BYTES(0x80);
}

/* Fold eight bytes at once: lower case, separators become '_'. */
static inline uint64_t upmu_fold_word(uint64_t word)
{
    uint64_t separators = upmu_bytes_within(word, '-', '.') | upmu_bytes_within(word, ':', ':');
    uint64_t all = (separators << 1) - (separators >> 7);

    word |= upmu_bytes_within(word, 'A', 'Z') >> 2;
    return (word & ~all) | (UPMU_BYTES('_') & all);
}

/* Bytes to spell a name in: UPMU_CATALOG_NAME, and room to copy eight bytes at a time. */
#define UPMU_NAME_ROOM 136

/* Where names are spelt: opened once for a look-up, which spells several. */
struct upmu_names {
    struct upmu_section dictionary, fragments, blocks, names;
};

/* Open for spelling names as they are, or folded. */
void upmu_names_open(const uint8_t *file, bool folded, struct upmu_names *out_names);

/* Spell a name into UPMU_NAME_ROOM bytes; its length, 0: there is none. */
unsigned upmu_name_text(const struct upmu_names *names, uint32_t number, uint8_t *out);

/* Whether a name is these `length` bytes; they stand in an array of UPMU_NAME_ROOM + 8. */
bool upmu_name_is(const struct upmu_names *names, uint32_t number, const uint8_t *text, unsigned length);

/* Whether the `length` bytes at an offset of UPMU_SHARED_MASK_TEXT fold to a text with 8 bytes behind it. */
bool upmu_mask_text_is(struct upmu_section mask_text, unsigned offset, const uint8_t *text, unsigned length);

/* A byte that tells most names of one length apart. */
static inline uint8_t upmu_name_key(const uint8_t *folded, unsigned length)
{
    return (uint8_t)(folded[0] + 3u * folded[length / 2] + 5u * folded[length ? length - 1 : 0]);
}

static inline void upmu_store64(uint8_t *at, uint64_t word)
{
    at[0] = (uint8_t)word;
    at[1] = (uint8_t)(word >> 8);
    at[2] = (uint8_t)(word >> 16);
    at[3] = (uint8_t)(word >> 24);
    at[4] = (uint8_t)(word >> 32);
    at[5] = (uint8_t)(word >> 40);
    at[6] = (uint8_t)(word >> 48);
    at[7] = (uint8_t)(word >> 56);
}

/* Hash of folded text: begin, eight bytes more (the last with zeros behind), end. */
uint32_t upmu_name_hash_begin(const uint8_t *file);
static inline uint32_t upmu_name_hash(uint32_t hash, uint64_t word)
{
    hash = (hash ^ (uint32_t)word) * UINT32_C(0x9e3779b1);
    hash = (hash ^ hash >> 15 ^ (uint32_t)(word >> 32)) * UINT32_C(0x85ebca6b);
    return hash ^ hash >> 13;
}
static inline uint32_t upmu_name_hash_end(uint32_t hash, unsigned length)
{
    hash = (hash ^ length) * UINT32_C(0xc2b2ae35);
    return hash ^ hash >> 16;
}

/* The slot's contents for a hash of folded text, or UPMU_NO_NAME. */
uint32_t upmu_name_slot(const uint8_t *file, uint32_t hash);

/* The row (or alias) with a name; false: the catalogue has none. */
bool upmu_member_find(const struct upmu_catalog *catalog, bool alias, uint32_t name, unsigned *out_index);

/* First row (or alias) whose name has at least this number. */
unsigned upmu_member_from(const struct upmu_catalog *catalog, bool alias, uint32_t name);

/* Name number of a row (or alias), or UPMU_NO_NAME. */
uint32_t upmu_member_name(const struct upmu_catalog *catalog, bool alias, unsigned index);

/* The id that an alias stands for; false if there is no such alias. */
bool upmu_alias_target(const struct upmu_catalog *catalog, unsigned index, struct upmu_event_id *out_id);

/* Unpack a row and find its masks (count 0: a flat row); false if there is no such row. */
bool upmu_row_read(const struct upmu_catalog *catalog, unsigned row, struct upmu_row *out_row,
                   struct upmu_mask_set *out_set);

/* The masks of the set at an offset of UPMU_OWN_SETS. */
bool upmu_mask_set_at(const struct upmu_catalog *catalog, unsigned offset, struct upmu_mask_set *out_set);

/* Unpack a mask of a set, below its count. */
void upmu_mask_read(const struct upmu_catalog *catalog, const struct upmu_mask_set *set, unsigned mask,
                    struct upmu_mask *out_mask);

/* The first mask after the group that mask `first` is in. */
static inline unsigned upmu_mask_group_end(const struct upmu_mask_set *set, unsigned first)
{
    while (++first < set->count && !(set->masks[UPMU_PACKED_MASK * first + 7] & UPMU_PACKED_FIRST))
        ;
    return first;
}

#endif
