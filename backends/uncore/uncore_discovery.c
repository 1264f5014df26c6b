/* SPDX-License-Identifier: MIT */
/*
 * Read tables of discovery, the lists of their units that servers have from Sapphire Rapids on, and clients from
 * Panther Lake on, and add the units.
 *
 * Layout: Linux 6.12 uncore_discovery.h, Intel's Agilex PMON guide 817760; checks: docs/uncore.md.
 */
#include "backends/uncore/uncore_find.h"

#if UPMU_UNCORE

#define UNCORE_CAPABILITIES 0x100u /* offset of the first extended capability in configuration space */
#define UNCORE_CAPABILITY_DVSEC 0x23u
#define UNCORE_CAPABILITY_STEPS 96u /* a longer chain of capabilities is taken for a loop */
#define UNCORE_DVSEC_PMON 1u
#define UNCORE_GLOBAL_WORDS 3u
#define UNCORE_UNIT_WORDS 3u
#define UNCORE_ALL_ONES (~UINT64_C(0))
#define UNCORE_NO_FUNCTION 0x100u

/* Read `count` words of 64 bits from mapped memory into `out`; false: one of them could not be read. */
static bool read_words(struct upmu_uncore_finder *finder, const void *pointer, unsigned count, uint64_t *out)
{
    for (unsigned i = 0; i < count; i++)
        if (!upmu_uncore_memory(finder, (const char *)pointer + 8 * i, 64, &out[i]))
            return false;
    return true;
}

/*
 * Does a row describe the box of its type at this device and function number? A row with a list describes the boxes of
 * the list, a row without one all others. For a box that is no PCI function, `function` is UNCORE_NO_FUNCTION.
 */
static bool has_boxes_at(const struct upmu_uncore_row *row, uint32_t function)
{
    const uint16_t *places = &upmu_uncore_words[row->words];

    for (unsigned i = row->words ? places[0] : 0; i; i--)
        if (places[i] == function)
            return true;
    return !row->words;
}

/*
 * Return the row of upmu_uncore_rows for a type's number in the table of discovery; upmu_uncore_other: the type is
 * unknown; -1: ignore the box, because the table is wrong about this type.
 */
static int row_of(const struct upmu_uncore_finder *finder, unsigned type, uint32_t function)
{
    const struct upmu_uncore_generation *generation = &upmu_uncore_generations[finder->generation];

    for (unsigned i = generation->first; i < generation->first + (unsigned)generation->rows; i++) {
        const struct upmu_uncore_row *row = &upmu_uncore_rows[i];

        if (row->base == type && row->rule == UPMU_UNCORE_RULE_TABLE && has_boxes_at(row, function))
            return (int)i;
        if (row->base == type && row->rule == UPMU_UNCORE_RULE_BROKEN)
            return -1;
    }
    return upmu_uncore_other;
}

/*
 * Add the unit that an entry of the table describes, unless the entry is invalid. `place` has package, die and
 * last-level cache.
 */
static void use_unit(struct upmu_uncore_finder *finder, const uint64_t words[UNCORE_UNIT_WORDS],
                     const struct upmu_unit_info *place)
{
    static const uint8_t spaces[3] = {UPMU_SPACE_MSR, UPMU_SPACE_MMIO, UPMU_SPACE_PCI};
    unsigned access = (unsigned)(words[0] >> 62);
    struct upmu_unit_info box = *place;
    struct upmu_uncore_found found;
    int row;

    if (!words[0] || !words[1] || words[0] == UNCORE_ALL_ONES || words[1] == UNCORE_ALL_ONES ||
        words[2] == UNCORE_ALL_ONES || access > 2 || (access == 1 && words[1] % 4))
        return;
    found = (struct upmu_uncore_found){.space = spaces[access],
                                       .counters = (uint8_t)words[0],
                                       .width = (uint8_t)(words[0] >> 16),
                                       .select = (uint8_t)(words[0] >> 8),
                                       .counter = (uint8_t)(words[0] >> 24),
                                       .type = (uint16_t)words[2]};
    box.base = words[1];
    box.number = (uint16_t)(words[2] >> 16);
    if (access == 2) {
        found.control = (uint16_t)(words[1] & 0xfffu);
        box.base = (words[1] >> 28 & 7u) << 16 | (words[1] >> 12 & 0xffffu);
    } else if (access == 0) {
        box.base &= 0xffffffffu;
    }
    row = row_of(finder, found.type, access == 2 ? (uint32_t)box.base & 0xffu : UNCORE_NO_FUNCTION);
    if (row < 0 || !found.counters || found.counters > UPMU_FIXED_COUNTER(0) || !found.width || found.width > 64)
        return;
    (void)upmu_uncore_add(finder, (unsigned)row, &found, &box);
}

/*
 * Note the register that stops all units of a table, which the first entry of the table names: an MSR, or memory.
 * Panther Lake, Nova Lake and Diamond Rapids begin with its bit 0 set (Linux patches 2025/2026).  Returns false where
 * there is no room to note it: the table's units must be left out then.
 */
static bool note_stop(struct upmu_uncore_finder *finder, const uint64_t words[UNCORE_GLOBAL_WORDS], uint8_t package,
                      uint8_t die)
{
    struct upmu_unit_stop *stop = finder->list->search.stop, *end = stop + UPMU_UNIT_STOPS;
    bool in_memory = words[0] >> 62 == 1;

    if (!words[1] || words[0] >> 62 > 1 || (in_memory ? words[1] >> 52 || words[1] % 4 : words[1] >> 32))
        return true;
    for (; stop < end && stop->address; stop++)
        if (stop->address == words[1] && stop->package == package && stop->die == die)
            return true; /* of an earlier search: open units may use it */
    if (stop == end) {
        finder->full = finder->seen->stops_full = true;
        return false;
    }
    *stop = (struct upmu_unit_stop){.address = words[1], .package = package, .die = die, .in_memory = in_memory};
    return true;
}

void upmu_uncore_read_table(struct upmu_uncore_finder *finder, uint64_t physical, uint8_t package, uint8_t die)
{
    struct upmu_unit_info place = {.package = package, .die = die, .llc = finder->seen->place.llc};
    void *table = upmu_uncore_map(finder, physical, 8 * UNCORE_GLOBAL_WORDS);
    uint64_t words[UNCORE_GLOBAL_WORDS];
    size_t stride, bytes;
    unsigned units;
    bool read;

    if (!table) {
        upmu_uncore_fail(finder, "a table of units could not be mapped", physical);
        return;
    }
    read = read_words(finder, table, UNCORE_GLOBAL_WORDS, words);
    upmu_uncore_unmap(finder, table, 8 * UNCORE_GLOBAL_WORDS);
    if (!read || words[0] == UNCORE_ALL_ONES || !words[0]) {
        upmu_uncore_fail(finder, "a table of units is not there", physical);
        return;
    }
    stride = 8 * (size_t)(words[0] >> 8 & 0xffu);
    units = (unsigned)(words[0] >> 16) & 0x3ffu;
    if (stride < 8 * UNCORE_UNIT_WORDS || words[0] >> 62 > 2) {
        upmu_uncore_fail(finder, "the head of a table of units is damaged", physical);
        return;
    }
    if (!note_stop(finder, words, package, die))
        return;
    bytes = stride * (1 + units);
    table = upmu_uncore_map(finder, physical, bytes);
    for (unsigned i = 1; table && i <= units && read; i++) {
        const char *unit = (const char *)table + i * stride;

        read = read_words(finder, unit, UNCORE_UNIT_WORDS, words);
        if (read)
            use_unit(finder, words, &place);
    }
    if (!table || !read)
        upmu_uncore_fail(finder, "a table of units could not be read", physical);
    if (table)
        upmu_uncore_unmap(finder, table, bytes);
}

/* Is a box a cache slice (type 0 of the table) of the executing CPU's die? */
static bool is_own_slice(const struct upmu_uncore_finder *finder, const struct upmu_unit_info *box)
{
    const struct upmu_uncore_pmu *pmu = &finder->list->pmu[box->type];
    const struct upmu_uncore_row *row = &upmu_uncore_rows[pmu->packed ? pmu->packed - 1u : 0];

    return pmu->packed && row->rule == UPMU_UNCORE_RULE_TABLE && !row->base &&
           box->package == finder->seen->place.package && box->die == finder->seen->place.die;
}

/*
 * The table of Sapphire Rapids may list cache slices that do not exist. MSR 2FFEh of a die has the number of its
 * slices; 0: unknown (Linux uncore_snbep.c). Numbers of slices have holes: so the first slices in the order of their
 * numbers exist.  While units are open, all boxes stay in the list: units hold places in it.
 */
void upmu_uncore_drop_slices(struct upmu_uncore_finder *finder)
{
    struct upmu_unit_list *list = finder->list;
    uint64_t left;

    if (finder->seen->model != 0x8f || finder->seen->open || !upmu_uncore_msr(finder, 0x2ffe, false, &left) || !left)
        return;
    for (unsigned i = 0; i < list->unit_count; i++) {
        if (!is_own_slice(finder, &list->unit[i]) || (left && left--))
            continue;
        list->unit_count--;
        if (i < finder->seen->first)
            finder->seen->first--;
        for (unsigned k = i; k < list->unit_count; k++)
            list->unit[k] = list->unit[k + 1];
        i--;
    }
}

/*
 * Find the table of discovery of a PCI function, if the function has one, and read it. A vendor's capability of the
 * function names the base address register that has the table's address. An endless chain of capabilities, or a table
 * without a valid address, is noted as a failure.
 */
void upmu_uncore_find_table(struct upmu_uncore_finder *finder, uint32_t where)
{
    uint32_t at = UNCORE_CAPABILITIES, head, id, bar, low, high = 0;
    struct upmu_unit_info place = {.base = where};

    for (unsigned steps = 0; at >= UNCORE_CAPABILITIES && upmu_uncore_pci(finder, where, at, &head);
         at = head >> 20 & 0xffcu) {
        if (++steps > UNCORE_CAPABILITY_STEPS) {
            upmu_uncore_fail(finder, "a chain of capabilities has no end", where);
            return;
        }
        if ((head & 0xffffu) != UNCORE_CAPABILITY_DVSEC || !upmu_uncore_pci(finder, where, at + 8, &id) ||
            (id & 0xffffu) != UNCORE_DVSEC_PMON || !upmu_uncore_pci(finder, where, at + 0xc, &bar) || bar > 5)
            continue;
        if (!upmu_uncore_pci(finder, where, 0x10 + 4 * bar, &low) || (low & 1u) ||
            ((low & 6u) == 4 && !upmu_uncore_pci(finder, where, 0x14 + 4 * bar, &high)) || high >> 20 ||
            !(high | (low & ~0xfu))) {
            upmu_uncore_fail(finder, "a table of units has no address", where);
            return;
        }
        upmu_uncore_place(finder, finder->die_of[where >> 8 & 0xffu], &place);
        upmu_uncore_read_table(finder, (uint64_t)high << 32 | (low & ~0xfu), place.package, place.die);
        return;
    }
}

#endif
