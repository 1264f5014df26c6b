/* SPDX-License-Identifier: MIT */
/*
 * Imported event catalogues: check a packed file (docs/CATALOGUES.md) before any of its catalogues is used, and let a
 * PMU use one. Pure. The check is for consistency. Reads stay within the file even if its rows, names and unit masks
 * change after the check. Headers are trusted after it: a file that other software can write must be copied first.
 */
#include <upmu/unit.h>
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/util/text.h"
#include "core/hw/backend.h"
#include "core/catalog/catalog_table.h"

#if UPMU_NAMES && UPMU_IMPORT

#define FILE_MOST 0x1000000u /* bytes of the greatest file */
#define CHECKSUM 4u          /* bytes of the checksum at the end of the file */
#define NAMES_MOST 0x10000u  /* how many names one catalogue can have at most */

/* Are the first `count` entries of a section all within the file or catalogue that begins at `base`? */
static bool section_fits(const uint8_t *base, unsigned section, uint32_t count)
{
    uint32_t at = upmu_offset(base + (section & 255u)), size = upmu_word(base + 4);

    return at <= size && count <= FILE_MOST / 16 && count * (section >> 8 & 255u) <= size - at;
}

static uint32_t file_checksum(const uint8_t *bytes, size_t size)
{
    uint32_t sum = UINT32_C(2166136261);

    while (size--)
        sum = (sum ^ *bytes++) * UINT32_C(0x01000193);
    return sum;
}

/*
 * Do all members from `first` to `first` + `count` - 1 (rows or aliases) have a name that exists in the file? The order
 * of the names is checked in names_lead_back(): a listing leaves out names that do not ascend.
 */
static bool members_have_names(const struct upmu_catalog *catalog, unsigned first, unsigned count)
{
    while (count--)
        if (upmu_member_name(catalog, first + count) >= upmu_half(upmu_catalog_file(catalog) + 10))
            return false;
    return true;
}

/*
 * Is the group of unit masks that begins with mask `first` consistent? A mask with UPMU_MASK_LAST must exclude the
 * others of its group (_ALONE or _EXCLUSIVE). A default mask that excludes them is the only default of the group. If
 * one mask is _EXCLUSIVE, all of the group are.
 */
static UPMU_INSIDE bool group_is_sound(const struct upmu_unpacked *unpacked, unsigned first)
{
    unsigned defaults = 0, alone = 0, exclusive = 0, last = unpacked->mask[first].last;

    for (unsigned i = first; i <= last; i++) {
        unsigned flags = unpacked->mask[i].flags;
        bool stands_alone = (flags & (UPMU_MASK_ALONE | UPMU_MASK_EXCLUSIVE)) != 0;

        if (flags & UPMU_MASK_LAST && !stands_alone)
            return false;
        exclusive += (flags & UPMU_MASK_EXCLUSIVE) != 0;
        defaults += (flags & UPMU_MASK_DEFAULT) != 0;
        alone += flags & UPMU_MASK_DEFAULT && stands_alone;
    }
    return (!alone || defaults == 1) && (!exclusive || exclusive == last - first + 1);
}

/* Is each group of a row's unit masks consistent, and do the groups' numbers ascend? False for a row without masks. */
static bool groups_are_sound(const struct upmu_unpacked *unpacked)
{
    unsigned first = 0, group = 0;

    for (; first < unpacked->row.mask_count; first = upmu_mask_group_end(unpacked, first)) {
        unsigned own = (unpacked->mask[first].class & UPMU_CLASS_GROUP) + 1u;

        if (own <= group || !group_is_sound(unpacked, first))
            return false;
        group = own;
    }
    return first > 0;
}

/*
 * Are all names of a row's unit masks valid, and does a look-up find a mask by each: by a mask's own name this mask?
 * Are the indices of payloads within the file's payloads?
 */
static bool masks_are_sound(const struct upmu_catalog *catalog, unsigned row, const uint8_t *set)
{
    const uint8_t *file = upmu_catalog_file(catalog);
    unsigned values = upmu_half(file + 16), found, length;
    char name[UPMU_NAME_ROOM];
    struct upmu_masks masks;

    upmu_masks_begin(file, set, &masks);
    while (upmu_masks_next(&masks)) {
        length = upmu_item_spell(file, masks.item, name);
        if (!length || length >= UPMU_MASK_NAME)
            return false;
        for (unsigned i = 0; i < length; i++)
            if (upmu_catalog_fold(name[i]) < '0')
                return false;
        if (name[0] == '_' || name[length - 1] == '_' || !upmu_catalog_mask_lookup(catalog, row, name, length, &found))
            return false;
        if (!masks.class)
            continue;
        if (found != masks.index || (masks.class[0] & UPMU_MASK_PAYLOAD && upmu_masks_bits(&masks) >= values))
            return false;
    }
    return true;
}

static UPMU_APART bool row_is_sound(const struct upmu_catalog *catalog, unsigned row)
{
    const uint8_t *file = upmu_catalog_file(catalog), *entry = upmu_section_at(catalog->byte, UPMU_OWN_ENTRIES, row);
    unsigned values = upmu_half(file + 16), shape = entry[2] & UPMU_ENTRY_SHAPE;
    struct upmu_unpacked unpacked;

    if (upmu_file_wide(file)) {
        if (shape >= catalog->byte[19])
            return false;
        shape = upmu_half(upmu_section_at(catalog->byte, UPMU_OWN_SHAPES, shape));
    }
    if (shape >= upmu_half(file + 14) || !upmu_row_unpack(catalog, row, &unpacked))
        return false;
    if (!(unpacked.row.flags & UPMU_ROW_MASKED) != !unpacked.set)
        return false;
    if (!unpacked.set) {
        bool indexed = (upmu_half(upmu_section_at(file, UPMU_SHARED_SHAPES, shape)) & UPMU_SHAPE_INDEXED) != 0;

        return !(unpacked.row.flags & UPMU_ROW_COMPOSED) && indexed == (unpacked.row.msr != 0) &&
               (!indexed || upmu_half(entry) < values);
    }
    return entry[1] < catalog->byte[18] && groups_are_sound(&unpacked) &&
           (!unpacked.row.msr || (unpacked.set[0] & UPMU_SET_PAYLOAD && upmu_half(unpacked.set + 1) < values)) &&
           masks_are_sound(catalog, row, unpacked.set);
}

static bool alias_is_sound(const struct upmu_catalog *catalog, unsigned alias)
{
    struct upmu_event_id id;
    struct upmu_row row;

    upmu_member_id(catalog, upmu_own_rows(catalog) + 1 + alias, &id);
    return upmu_catalog_row(catalog, id.row, &row) && (row.mask_count == 32 || !(id.masks >> row.mask_count));
}

/* Does a look-up of every listed name give its id, and does the id give the name (of an alias: any name)? */
static UPMU_INSIDE bool names_lead_back(const struct upmu_catalog *catalog)
{
    char name[UPMU_CATALOG_NAME], back[UPMU_CATALOG_NAME];
    uint32_t cursor = 0;
    struct upmu_event_id id, found;
    unsigned names = 0, members = 0;
    bool alias;

    while (upmu_catalog_next(catalog, NULL, &cursor, &id, name, sizeof name, &alias) == UPMU_OK) {
        size_t length = upmu_text_length(name);

        /* With more names than a catalogue can have, the file is refused: the list may have no end. */
        if (++names > NAMES_MOST || upmu_catalog_id_name(catalog, id, back, sizeof back) >= sizeof back ||
            upmu_catalog_lookup(catalog, name, length, &found) != UPMU_OK || memcmp(&found, &id, sizeof id) != 0 ||
            (!alias && memcmp(name, back, length + 1) != 0))
            return false;
        members += alias || !id.masks;
    }
    /*
     * A name that is empty or too long ends the listing, and a name out of order is not listed: then the numbers
     * differ.
     */
    return members == upmu_own_rows(catalog) + upmu_own_aliases(catalog);
}

/*
 * Is a catalogue consistent? A read behind the end of the file gives bytes of its header, and rows, names and aliases
 * are checked as they are read. So only the filter section must be checked for its bounds: if it is outside of the
 * catalogue, names of events are found, but none with unit masks behind it.
 */
static bool catalog_is_sound(const struct upmu_catalog *catalog)
{
    unsigned rows = upmu_own_rows(catalog), aliases = upmu_own_aliases(catalog);

    if (!rows || !section_fits(catalog->byte, UPMU_OWN_FILTER, UPMU_OWN_FILTER >> 16) ||
        !members_have_names(catalog, 0, rows) || !members_have_names(catalog, rows + 1, aliases))
        return false;
    for (unsigned i = 0; i < rows; i++)
        if (!row_is_sound(catalog, i))
            return false;
    for (unsigned i = 0; i < aliases; i++)
        if (!alias_is_sound(catalog, i))
            return false;
    return names_lead_back(catalog);
}

/*
 * Does catalogue `i` stand where the file's directory says, with a consistent header, and with the number of an
 * imported catalogue that no catalogue before it in the file has?
 */
static UPMU_APART bool stands_there(const uint8_t *file, unsigned i)
{
    uint32_t size = upmu_word(file + 4), at = upmu_offset(file + UPMU_FILE_DIRECTORY + 3 * i), own;
    const struct upmu_catalog *catalog;

    if (at > size - UPMU_CATALOG_LEAST)
        return false;
    catalog = (const struct upmu_catalog *)(const void *)(file + at);
    own = upmu_word(catalog->byte + 4);
    if (memcmp(catalog->byte, "upm", 3) != 0 || catalog->byte[3] != UPMU_FILE_VERSION || own < UPMU_CATALOG_LEAST ||
        own > size - at || upmu_word(catalog->byte + 8) != at)
        return false;
    if (upmu_catalog_number(catalog) < UPMU_CATALOG_IMPORTED || upmu_catalog_source(catalog) != UPMU_SOURCE_IMPORTED)
        return false;
    for (unsigned k = 0; k < i; k++)
        if (upmu_catalog_number(upmu_catalog_loaded(file, k)) == upmu_catalog_number(catalog))
            return false;
    /* Each of the two names must end in a NUL: if the first takes all its 12 bytes, the empty second one is its NUL. */
    return *upmu_catalog_name(catalog) && !(catalog->byte[UPMU_OWN_NAME + 11] && catalog->byte[UPMU_OWN_NAME + 12]) &&
           !catalog->byte[UPMU_OWN_NAME + 23];
}

enum upmu_status upmu_catalog_load(const void *bytes, size_t size)
{
    const uint8_t *file = bytes;
    unsigned count;

    if (size < UPMU_FILE_LEAST + CHECKSUM || size > FILE_MOST || memcmp(file, "upc", 3) != 0)
        return UPMU_ERR_INVALID;
    if (file[3] != UPMU_FILE_VERSION)
        return UPMU_ERR_VERSION;
    count = upmu_half(file + 8);
    if (upmu_word(file + 4) != size || upmu_word(file + size - CHECKSUM) != file_checksum(file, size - CHECKSUM) ||
        !count || UPMU_FILE_DIRECTORY + 3 * count > size ||
        !section_fits(file, UPMU_SHARED_BLOCKS, (upmu_half(file + 10) + 15) >> 4 << 1) ||
        !section_fits(file, UPMU_SHARED_SHAPES, upmu_half(file + 14)) ||
        !section_fits(file, UPMU_SHARED_VALUES, upmu_half(file + 16)))
        return UPMU_ERR_INVALID;
    for (unsigned i = 0; i < count; i++)
        if (!stands_there(file, i))
            return UPMU_ERR_INVALID;
    for (unsigned i = 0; i < count; i++)
        if (!catalog_is_sound(upmu_catalog_loaded(file, i)))
            return UPMU_ERR_INVALID;
    return UPMU_OK;
}

enum upmu_status upmu_catalog_copy(void *to, size_t room, const void *file, size_t size)
{
    if (size > room)
        return UPMU_ERR_NO_SPACE;
    memcpy(to, file, size);
    __asm__ volatile("" ::: "memory"); /* the compiler must read the copy below, not the original again */
    return upmu_catalog_load(to, size);
}

const struct upmu_catalog *upmu_catalog_loaded(const void *file, unsigned i)
{
    const uint8_t *bytes = file;

    if (i >= upmu_half(bytes + 8))
        return NULL;
    return (const struct upmu_catalog *)(const void *)(bytes + upmu_offset(bytes + UPMU_FILE_DIRECTORY + 3 * i));
}

/* Is a name of a catalogue (its own two, or its PMU's) the name of this PMU, or of this PMU's built-in catalogue? */
static UPMU_APART bool is_named_for(const struct upmu_catalog *catalog, const struct upmu_pmu *pmu)
{
    const char *names[] = {pmu->name, pmu->catalog ? upmu_catalog_name(pmu->catalog) : pmu->name};

    for (unsigned i = 0; i < 2; i++) {
        size_t length = upmu_text_length(names[i]);

        if (upmu_text_is(names[i], length, upmu_catalog_name(catalog)) ||
            upmu_text_is(names[i], length, upmu_catalog_other_name(catalog)) ||
            upmu_text_is(names[i], length, upmu_catalog_pmu(catalog)))
            return true;
    }
    return false;
}

/*
 * Is a PMU that of a unit of the processor for whose units the catalogue is? "clx_uncore" is for the PMU "clx_unc_cha",
 * even if that PMU's built-in catalogue is another processor's (Skylake-X), or it has none.
 */
static UPMU_APART bool is_of_processor(const struct upmu_catalog *catalog, const struct upmu_pmu *pmu)
{
    const char *name = upmu_catalog_name(catalog);
    size_t length = upmu_text_length(name), begin = length - 3; /* of "clx_unc" */

    return pmu->index >= UPMU_UNIT_PMU && length > 7 && memcmp(name + length - 7, "_uncore", 7) == 0 &&
           upmu_text_length(pmu->name) >= begin && memcmp(pmu->name, name, begin) == 0 &&
           (!pmu->name[begin] || pmu->name[begin] == '_');
}

enum upmu_status upmu_pmu_import(struct upmu_pmu *pmu, const void *file)
{
    const struct upmu_catalog *catalog, *named = NULL;

    if (!file) {
        pmu->imported = NULL;
        return UPMU_OK;
    }
    if (pmu->refuses & 1u << UPMU_SOURCE_IMPORTED)
        return UPMU_ERR_NOT_PERMITTED;
    for (unsigned i = 0; (catalog = upmu_catalog_loaded(file, i)) != NULL; i++) {
        if (upmu_catalog_serves(catalog, pmu) || is_of_processor(catalog, pmu)) {
            pmu->imported = catalog;
            return UPMU_OK;
        }
        if (!named && is_named_for(catalog, pmu))
            named = catalog;
    }
    if (!named)
        return UPMU_ERR_NO_SUCH_PMU;
    pmu->imported = named;
    return UPMU_OK;
}

#else

enum upmu_status upmu_catalog_load(const void *bytes, size_t size)
{
    (void)bytes, (void)size;
    return UPMU_ERR_COMPILED_OUT;
}

enum upmu_status upmu_catalog_copy(void *to, size_t room, const void *file, size_t size)
{
    (void)to, (void)room, (void)file, (void)size;
    return UPMU_ERR_COMPILED_OUT;
}

const struct upmu_catalog *upmu_catalog_loaded(const void *file, unsigned i)
{
    (void)file, (void)i;
    return NULL;
}

enum upmu_status upmu_pmu_import(struct upmu_pmu *pmu, const void *file)
{
    (void)pmu, (void)file;
    return UPMU_ERR_COMPILED_OUT;
}

#endif
