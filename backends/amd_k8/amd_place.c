/* SPDX-License-Identifier: MIT */
/*
 * The counters that an AMD event may use, its alternatives, and the register values of one alternative.
 *
 * Sources: Linux arch/x86/events/amd/core.c (groups of family 15h, pairs, northbridge); OProfile's
 * events/x86-64/family15h, which agrees except for 000h and 004h, where it lists counter 3 for all unit masks; erratum
 * 1292: LKML 20220203095841.
 */
#include "backends/amd_k8/amd_k8.h"
#include "backends/amd_k8/amd_registers.h"
#include "core/util/bits.h"
#include "core/util/mem.h"

#if UPMU_BACKEND_AMD

/* The unit masks that a rule of amd_groups is for. */
enum { AMD_UMASK_ANY, AMD_UMASK_SEVERAL /* more than one bit */, AMD_UMASK_BOTH_HALVES /* a bit of each nibble */ };

#define AMD_C0 0x01u
#define AMD_C3 0x08u
#define AMD_C03 0x09u /* 0 and 3 */
#define AMD_C02 0x07u /* 0 to 2 */
#define AMD_C35 0x38u /* 3 to 5 */
#define AMD_C05 0x3fu

/*
 * Counters of family 15h's events. A rule is for the events whose code equals `code` in the bits of `mask`, with a unit
 * mask as `umask` says (AMD_UMASK_…); the first matching rule counts. `counters` 0: no counter counts these events.
 */
static const struct {
    uint16_t code, mask;
    uint8_t umask, counters;
} amd_groups[] = {
    {0x000, 0xfff, AMD_UMASK_BOTH_HALVES, AMD_C3},
    {0x003, 0xfff, AMD_UMASK_ANY, AMD_C3},
    {0x004, 0xfff, AMD_UMASK_SEVERAL, AMD_C3},
    {0x00b, 0xfff, AMD_UMASK_ANY, AMD_C3},
    {0x00d, 0xfff, AMD_UMASK_ANY, AMD_C3},
    {0x023, 0xfff, AMD_UMASK_ANY, AMD_C02},
    {0x02d, 0xfff, AMD_UMASK_ANY, AMD_C3},
    {0x02e, 0xfff, AMD_UMASK_ANY, AMD_C03},
    {0x031, 0xfff, AMD_UMASK_SEVERAL, 0},
    {0x031, 0xfff, AMD_UMASK_ANY, AMD_C02},
    {0x043, 0xfff, AMD_UMASK_ANY, AMD_C02},
    {0x045, 0xfff, AMD_UMASK_ANY, AMD_C02},
    {0x046, 0xfff, AMD_UMASK_ANY, AMD_C02},
    {0x054, 0xffe, AMD_UMASK_ANY, AMD_C02}, /* and 055h */
    {0x08f, 0xfff, AMD_UMASK_ANY, AMD_C0},
    {0x0db, 0xfff, AMD_UMASK_ANY, AMD_C05},
    {0x0dc, 0xffc, AMD_UMASK_ANY, AMD_C05}, /* to 0DFh */
    {0x187, 0xfff, AMD_UMASK_ANY, AMD_C0},
    {0x188, 0xfff, AMD_UMASK_ANY, AMD_C0},
    {0x1c0, 0xfff, AMD_UMASK_ANY, AMD_C35},
    {0x1d6, 0xfff, AMD_UMASK_ANY, AMD_C05},
    {0x1d8, 0xfff, AMD_UMASK_ANY, AMD_C05},
    {0x000, 0x0e0, AMD_UMASK_ANY, AMD_C35}, /* floating point */
    {0x020, 0x0e0, AMD_UMASK_ANY, AMD_C05}, /* loads and stores */
    {0x040, 0x0e0, AMD_UMASK_ANY, AMD_C05}, /* data cache */
    {0x060, 0x0e0, AMD_UMASK_ANY, AMD_C02}, /* compute unit */
    {0x080, 0x0e0, AMD_UMASK_ANY, AMD_C02}, /* instruction cache, decoder */
    {0x0c0, 0x0f0, AMD_UMASK_ANY, AMD_C05}, /* execution */
    {0x0d0, 0x0f0, AMD_UMASK_ANY, AMD_C02}, /* decoder */
    {0x000, 0x000, AMD_UMASK_ANY, 0},       /* A0h to BFh: no counter */
};

static bool umask_fits(unsigned umask, unsigned how)
{
    switch (how) {
    case AMD_UMASK_SEVERAL:
        return umask & (umask - 1u);
    case AMD_UMASK_BOTH_HALVES:
        return (umask & 0xf0u) && (umask & 0x0fu);
    default:
        return true;
    }
}

/* Return a mask of the even counters n of `counters` with counter n + 1 in `counters`, too: a wide event needs both. */
static uint32_t even_counters(uint32_t counters)
{
    return counters & counters >> 1 & 0x55555555u;
}

uint32_t upmu_amd_counters(const struct upmu_pmu *pmu, uint64_t config)
{
    unsigned code = upmu_amd_code(config), i = 0;

    if ((pmu->quirks & UPMU_AMD_PAIRS) && code == UPMU_AMD_WIDE_CODE)
        return even_counters(pmu->counters);
    if ((pmu->quirks & UPMU_AMD_NB_APART) && upmu_amd_is_nb(code))
        return 0;
    if (!(pmu->quirks & UPMU_AMD_GROUPS))
        return pmu->counters;
    while (((code ^ amd_groups[i].code) & amd_groups[i].mask) ||
           !umask_fits((unsigned)(config >> 8) & 0xffu, amd_groups[i].umask))
        i++;
    return amd_groups[i].counters & pmu->counters;
}

bool upmu_amd_overcounts(const struct upmu_pmu *pmu, uint64_t config)
{
    static const uint16_t listed[] = {0x0c0, 0x0c1, 0x0c2, 0x0c3, 0x0c4, 0x0c5, 0x0c8,
                                      0x0c9, 0x0ca, 0x0cc, 0x0d1, 0x1c7, 0x1d0};

    for (unsigned i = 0; (pmu->quirks & UPMU_AMD_1292) && i < sizeof listed / sizeof listed[0]; i++)
        if (listed[i] == upmu_amd_code(config))
            return true;
    return false;
}

/*
 * Pairs of counters that a wide event can use: the event is on the even counter, its merge event on the next odd one
 * (Linux arch/x86/events/amd/core.c).
 */
static const struct upmu_pair amd_pairs[] = {{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}, {12, 13}};

static void add_merge(const struct upmu_pmu *pmu, struct upmu_alternative *out)
{
    out->slot_count = 2;
    out->pairs = amd_pairs;
    out->pair_count = sizeof amd_pairs / sizeof amd_pairs[0];
    out->slot[1].counters = even_counters(pmu->counters) << 1;
}

/* The counter that is right in spite of erratum 1292, if bit 43 of its select is set and it requests no interrupt. */
#define AMD_GOOD_COUNTER UPMU_BIT32(2)

bool upmu_amd_alternative(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned thread, unsigned i,
                          struct upmu_alternative *out)
{
    uint32_t first = event->counters;

    if (upmu_amd_overcounts(pmu, event->config) && (first & AMD_GOOD_COUNTER))
        first = AMD_GOOD_COUNTER;
    memset(out, 0, sizeof *out);
    out->slot_count = 1;
    out->slot[0].counters = i ? event->counters & ~first : first;
    if (i > 1 || !out->slot[0].counters)
        return false;
    if (event->attributes & UPMU_ATTR_WIDE)
        add_merge(pmu, out);
    /* Only one core of a node may count northbridge events: the value, the core's APIC id, excludes other cores. */
    if (event->payload == UPMU_AMD_PAYLOAD_NB) {
        out->slot[0].resource_count = 1;
        out->slot[0].resource[0] = UPMU_AMD_RESOURCE_NB;
        out->slot[0].value[0] = thread;
    }
    return true;
}

static void add_select(struct upmu_image *image, unsigned counter, uint64_t value, uint32_t guard)
{
    upmu_image_add(image, UPMU_AMD_ROW_SELECT + counter, ~UINT64_C(0), value | UPMU_AMD_SELECT_EN, guard);
}

void upmu_amd_render(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned alternative,
                     const uint8_t *counters, unsigned flags, struct upmu_image *image)
{
    uint64_t select = event->config;
    uint32_t guard = UPMU_BIT32(counters[0]);

    (void)alternative;
    if (flags & UPMU_RENDER_INTERRUPT)
        select |= UPMU_AMD_SELECT_INT;
    /*
     * Erratum 1292: with bit 43 set, counter 2 counts right an event that may overcount, if it requests no interrupt.
     * With an interrupt the bit stays clear.
     */
    else if (guard == AMD_GOOD_COUNTER && upmu_amd_overcounts(pmu, event->config))
        select |= UPMU_AMD_SELECT_PRECISE;
    /* If EFER.SVME was clear at detection, all code is host code, and a select with HostOnly would count nothing. */
    if (!(pmu->quirks & UPMU_AMD_SVME))
        select &= ~UPMU_AMD_SELECT_HOST;
    if (event->attributes & UPMU_ATTR_WIDE) {
        guard |= UPMU_BIT32(counters[1]);
        add_select(image, counters[1], UPMU_AMD_MERGE, guard);
    }
    add_select(image, counters[0], select, guard);
}

#endif
