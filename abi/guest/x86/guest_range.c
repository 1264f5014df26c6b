/* SPDX-License-Identifier: MIT */
/*
 * The MSRs that upmu_guest_rdmsr() and upmu_guest_wrmsr() answer: registers of the doors, and registers of or near the
 * PMU that no guest has. A table for each vendor says which these are; a hypervisor has to trap all of them.
 */
#include <abi/guest/x86/guest_x86.h>

/*
 * Kinds of ranges. ABSENT: each access faults. DEBUGCTL: only shapes with a register of all gates have the range.
 * LVTPC: only policies without UPMU_GUEST_OWN_LAPIC have the range.
 */
enum range_kind { RANGE_ALWAYS, RANGE_ABSENT, RANGE_DEBUGCTL, RANGE_LVTPC };

struct range {
    uint32_t first;
    uint16_t count;
    uint8_t kind; /* enum range_kind */
};

/*
 * 560h, 561h and 570h to 587h are Processor Trace: output, control, status, CR3, address ranges (Intel SDM vol 4 table
 * 2-2; Linux's msr-index.h and FreeBSD's specialreg.h have the same addresses).  Branch records: 40h, 60h (Core 2,
 * Atom), 1C8h and 1C9h, 680h, 6C0h, DC0h, 1200h, 14CEh, 1500h, 1600h (64 entries, which leaf 1Ch can promise), and 1DBh
 * to 1DEh, the last branch and exception of P6.
 */
static const struct range intel_ranges[] = {
    {0x40, 8, RANGE_ABSENT},       {0x60, 8, RANGE_ABSENT},     {0xc1, 10, RANGE_ALWAYS},
    {0x10f, 1, RANGE_ABSENT},      {0x186, 10, RANGE_ALWAYS},   {0x1a6, 2, RANGE_ALWAYS},
    {0x1c8, 2, RANGE_ABSENT},      {0x1d9, 1, RANGE_ALWAYS},    {0x1db, 4, RANGE_ABSENT},
    {0x309, 7, RANGE_ALWAYS},      {0x329, 1, RANGE_ABSENT},    {0x345, 1, RANGE_ALWAYS},
    {0x38d, 6, RANGE_ALWAYS},      {0x3f1, 2, RANGE_ABSENT},    {0x3f4, 4, RANGE_ABSENT},
    {0x4c1, 10, RANGE_ALWAYS},     {0x560, 2, RANGE_ABSENT},    {0x570, 0x18, RANGE_ABSENT},
    {0x600, 1, RANGE_ABSENT},      {0x680, 0x20, RANGE_ABSENT}, {0x6c0, 0x20, RANGE_ABSENT},
    {0x834, 1, RANGE_LVTPC},       {0xdc0, 0x20, RANGE_ABSENT}, {0x1200, 64, RANGE_ABSENT},
    {0x14ce, 2, RANGE_ABSENT},     {0x1500, 64, RANGE_ABSENT},  {0x1600, 64, RANGE_ABSENT},
    {0x1900, 0x100, RANGE_ABSENT},
};

/* Branch records: C000010Eh, C0010300h.  IBS: C0011030h. */
static const struct range amd_ranges[] = {
    {0x1d9, 1, RANGE_DEBUGCTL},      {0x834, 1, RANGE_LVTPC},           {0xc000010eu, 2, RANGE_ABSENT},
    {0xc0000300u, 4, RANGE_ALWAYS},  {0xc0010000u, 8, RANGE_ALWAYS},    {0xc0010200u, 12, RANGE_ALWAYS},
    {0xc0010300u, 32, RANGE_ABSENT}, {0xc0011030u, 0x10, RANGE_ABSENT},
};

_Static_assert(sizeof intel_ranges / sizeof intel_ranges[0] <= UPMU_GUEST_RANGES, "the header says how many there are");

static const struct range *ranges_of(const struct upmu_guest *guest, unsigned *out_count)
{
    bool intel = guest->shape.door == UPMU_GUEST_INTEL;

    *out_count = intel ? sizeof intel_ranges / sizeof intel_ranges[0] : sizeof amd_ranges / sizeof amd_ranges[0];
    return intel ? intel_ranges : amd_ranges;
}

static bool has_range(const struct upmu_guest *guest, const struct range *range)
{
    return range->kind == RANGE_DEBUGCTL ? upmu_guest_has_global(guest)
           : range->kind == RANGE_LVTPC  ? !(guest->policy->flags & UPMU_GUEST_OWN_LAPIC)
                                         : true;
}

bool upmu_guest_range_has(const struct upmu_guest *guest, uint32_t msr)
{
    unsigned count, low = 0;
    const struct range *range = ranges_of(guest, &count);

    /* Find the last range that begins at the address or below it. */
    while (count > 1) {
        unsigned half = count / 2;

        low += range[low + half].first <= msr ? half : 0;
        count -= half;
    }
    return msr - range[low].first < range[low].count && has_range(guest, &range[low]);
}

bool upmu_guest_msr_range(const struct upmu_guest *guest, unsigned index, struct upmu_guest_range *out_range)
{
    unsigned count;
    const struct range *range = ranges_of(guest, &count);

    for (unsigned i = 0; i < count; i++)
        if (has_range(guest, &range[i]) && !index--) {
            out_range->first = range[i].first;
            out_range->last = range[i].first + range[i].count - 1u;
            out_range->absent = range[i].kind == RANGE_ABSENT;
            return true;
        }
    return false;
}

/* ---- Bitmaps of the hardware ---- */

bool upmu_guest_passes(const struct upmu_guest *guest, uint32_t msr)
{
    unsigned counter = guest->shape.door == UPMU_GUEST_INTEL ? upmu_guest_intel_counter(guest, msr)
                                                             : upmu_guest_amd_counter(guest, msr);

    return counter != UPMU_NO_COUNTER && guest->passes >> counter & 1u;
}

static void set_bit(uint8_t *map, uint32_t bit, bool set)
{
    uint8_t mask = (uint8_t)(1u << (bit & 7u));

    map[bit >> 3] = (uint8_t)(set ? map[bit >> 3] | mask : map[bit >> 3] & ~mask);
}

/* How many MSRs each part of a bitmap is for. Parts begin at MSR 0, C0000000h and, in a VMCB, C0010000h. */
#define MAP_REGISTERS 0x2000u

void upmu_guest_msr_bitmap_vmx(const struct upmu_guest *guest, void *page)
{
    struct upmu_guest_range range;

    for (unsigned i = 0; upmu_guest_msr_range(guest, i, &range); i++)
        for (uint32_t msr = range.first; msr <= range.last; msr++) {
            uint32_t high = msr >= 0xc0000000u ? MAP_REGISTERS : 0, at = high + (msr & (MAP_REGISTERS - 1u));

            if (msr - (high ? 0xc0000000u : 0) >= MAP_REGISTERS)
                continue; /* Outside of both parts: each access is an exit. */
            set_bit(page, at, !upmu_guest_passes(guest, msr));
            set_bit(page, 2 * MAP_REGISTERS + at, true);
        }
}

void upmu_guest_msr_bitmap_svm(const struct upmu_guest *guest, void *pages)
{
    static const uint32_t firsts[] = {0, 0xc0000000u, 0xc0010000u};
    struct upmu_guest_range range;

    for (unsigned i = 0; upmu_guest_msr_range(guest, i, &range); i++)
        for (uint32_t msr = range.first; msr <= range.last; msr++)
            for (unsigned part = 0; part < 3; part++) {
                uint32_t at = 2 * (part * MAP_REGISTERS + (msr - firsts[part]));

                if (msr - firsts[part] >= MAP_REGISTERS)
                    continue;
                set_bit(pages, at, !upmu_guest_passes(guest, msr));
                set_bit(pages, at + 1u, true);
            }
}
