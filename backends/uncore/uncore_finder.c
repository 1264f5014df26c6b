/* SPDX-License-Identifier: MIT */
/*
 * A search for units: its reads, whose number is limited, and the list that gets the boxes.  uncore_find.c,
 * uncore_discovery.c and uncore_reading.c call these functions.
 */
#include "backends/uncore/uncore_find.h"
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/util/mem.h"

#if UPMU_UNCORE

/* ---- Accesses ---- */

static bool may_access(struct upmu_uncore_finder *finder)
{
    if (finder->seen->accesses < UPMU_UNCORE_ACCESSES) {
        finder->seen->accesses++;
        return true;
    }
    upmu_uncore_fail(finder, "too many accesses", 0);
    return false;
}

void upmu_uncore_fail(struct upmu_uncore_finder *finder, const char *failure, uint64_t at)
{
    finder->damaged = true;
    if (finder->seen->failure)
        return;
    finder->seen->failure = failure;
    finder->seen->failed_at = at;
}

bool upmu_uncore_pci(struct upmu_uncore_finder *finder, uint32_t where, uint32_t offset, uint32_t *out_value)
{
    return finder->seen->pci_read && may_access(finder) &&
           finder->seen->pci_read(finder->seen->context, where, offset, out_value) && *out_value != 0xffffffffu;
}

bool upmu_uncore_msr(struct upmu_uncore_finder *finder, uint32_t msr, bool promised, uint64_t *out_value)
{
    return may_access(finder) && finder->seen->rdmsr(finder->seen->context, msr, promised, out_value);
}

bool upmu_uncore_memory(struct upmu_uncore_finder *finder, const void *pointer, unsigned bits, uint64_t *out_value)
{
    uint64_t high;

    /* A value of 64 bits is read as two of 32 bits, the low one first: the hook might do so anyway. */
    if (!may_access(finder) || !finder->seen->mmio_read(finder->seen->context, pointer, 32, out_value))
        return false;
    if (bits == 32)
        return true;
    if (!may_access(finder) || !finder->seen->mmio_read(finder->seen->context, (const char *)pointer + 4, 32, &high))
        return false;
    *out_value |= high << 32;
    return true;
}

void *upmu_uncore_map(struct upmu_uncore_finder *finder, uint64_t physical, size_t bytes)
{
    return finder->seen->map && finder->seen->mmio_read ? finder->seen->map(finder->seen->context, physical, bytes)
                                                        : NULL;
}

void upmu_uncore_unmap(struct upmu_uncore_finder *finder, void *pointer, size_t bytes)
{
    if (finder->seen->unmap)
        finder->seen->unmap(finder->seen->context, pointer, bytes);
}

bool upmu_uncore_answers(struct upmu_uncore_finder *finder, uint64_t physical, unsigned bits)
{
    void *pointer = upmu_uncore_map(finder, physical, bits / 8);
    uint64_t value = 0;
    bool answers = pointer && upmu_uncore_memory(finder, pointer, bits, &value) && value != ~UINT64_C(0) >> (64 - bits);

    if (pointer)
        upmu_uncore_unmap(finder, pointer, bits / 8);
    return answers;
}

/* ---- The list ---- */

/*
 * Return the PMU of a row and of `found` in the list, made if it is new; NULL: the list is full.  If the registers that
 * `found` says cannot be right, the new PMU is not counted: the result is then &list->pmu[list->pmu_count].
 */
static struct upmu_uncore_pmu *pmu_of(struct upmu_uncore_finder *finder, unsigned row,
                                      const struct upmu_uncore_found *found)
{
    struct upmu_unit_list *list = finder->list;
    struct upmu_uncore_pmu *pmu;

    for (unsigned i = 0; i < list->pmu_count; i++) {
        pmu = &list->pmu[i];
        if (pmu->packed == row + 1 && (!found || !memcmp(pmu->found, found, sizeof *found)))
            return pmu;
    }
    if (list->pmu_count == list->pmu_capacity || list->pmu_count == UPMU_UNIT_TYPES)
        return NULL;
    pmu = &list->pmu[list->pmu_count];
    upmu_uncore_make(finder->generation, row, found, pmu);
    pmu->pmu.index = (uint8_t)(UPMU_UNIT_PMU + list->pmu_count);
    if (!found || !upmu_uncore_clash(pmu, 0))
        list->pmu_count++;
    return pmu;
}

static UPMU_APART bool stands_before(const struct upmu_unit_info *a, const struct upmu_unit_info *b)
{
    if (a->type != b->type)
        return a->type < b->type;
    if (a->package != b->package)
        return a->package < b->package;
    if (a->die != b->die)
        return a->die < b->die;
    return a->number < b->number;
}

/*
 * Would the registers of two boxes of a table of discovery have bytes in common? Those of one box are within 383 bytes.
 * Boxes that are PCI functions never have bytes in common.
 */
static bool are_too_near(const struct upmu_uncore_pmu *pmu, uint64_t base, uint64_t other)
{
    return pmu->type->space != UPMU_SPACE_PCI && base - other + 0x200 < 0x400 &&
           (upmu_uncore_clash(pmu, base - other) || upmu_uncore_clash(pmu, other - base));
}

struct upmu_uncore_pmu *upmu_uncore_add(struct upmu_uncore_finder *finder, unsigned row,
                                        const struct upmu_uncore_found *found, const struct upmu_unit_info *box)
{
    struct upmu_unit_list *list = finder->list;
    struct upmu_uncore_pmu *pmu = pmu_of(finder, row, found);
    struct upmu_unit_info info = *box;
    unsigned at = list->unit_count;

    if (pmu == &list->pmu[list->pmu_count])
        return NULL;
    if (pmu)
        info.type = (uint8_t)(pmu - list->pmu);
    for (unsigned i = 0; pmu && i < list->unit_count; i++) {
        const struct upmu_unit_info *other = &list->unit[i];

        if (other->type != info.type || other->package != info.package || other->die != info.die)
            continue;
        if (pmu->type->scope != UPMU_SCOPE_LLC
                ? (pmu->type->space == UPMU_SPACE_MSR && other->number == info.number) ||
                      (other->base == info.base && !upmu_uncore_is_narrow(pmu))
                : other->llc == info.llc)
            return pmu;
        if (found && are_too_near(pmu, info.base, other->base))
            return pmu;
        /* A die may have several last-level caches: number their boxes in the order in which they are found. */
        if (pmu->type->scope == UPMU_SCOPE_LLC)
            info.number++;
    }
    if (!pmu || list->unit_count == list->unit_capacity) {
        finder->full = true;
        return pmu;
    }
    info.address = UPMU_UNIT_NO_ADDRESS;
    /* Insert the box by type, package, die and number among those of this search; earlier boxes keep their place. */
    for (; at > finder->seen->first && stands_before(&info, &list->unit[at - 1]); at--)
        list->unit[at] = list->unit[at - 1];
    list->unit[at] = info;
    list->unit_count++;
    return pmu;
}

void upmu_uncore_place(const struct upmu_uncore_finder *finder, unsigned die, struct upmu_unit_info *box)
{
    unsigned dies = finder->seen->dies ? finder->seen->dies : 1;

    if (die == UPMU_UNCORE_NO_DIE) {
        box->package = (uint8_t)finder->seen->place.package;
        box->die = (uint8_t)finder->seen->place.die;
        return;
    }
    box->package = box->die = 0;
    for (; die >= dies; die -= dies)
        box->package++;
    box->die = (uint8_t)die;
}

struct upmu_unit_info upmu_uncore_here(const struct upmu_uncore_finder *finder, uint64_t base, unsigned number)
{
    const struct upmu_cpu_place *place = &finder->seen->place;

    return (struct upmu_unit_info){.base = base,
                                   .number = (uint16_t)number,
                                   .llc = place->llc,
                                   .package = (uint8_t)place->package,
                                   .die = (uint8_t)place->die};
}

void upmu_uncore_keep(struct upmu_uncore_pmu *uncore, uint32_t counters)
{
    uncore->pmu.counters &= counters;
    uncore->pmu.general &= counters;
    for (unsigned row = 0; row < uncore->table.row_count; row++)
        if (uncore->row[row].counter < UPMU_COUNTERS && !(counters >> uncore->row[row].counter & 1u))
            upmu_rows_clear(uncore->pmu.present, row);
}

#endif
