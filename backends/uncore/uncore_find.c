/* SPDX-License-Identifier: MIT */
/*
 * Find units: by model, PCI scan, registers that say how many there are, CPUID. Nothing is written.
 *
 * Dies of buses: each U-box says its node, and which die that is; for a bus without a U-box see complete_dies() (Linux
 * 6.12 uncore_snbep.c). Memory controllers of clients: registers 48h and 68h of the host bridge (Linux uncore_snb.c);
 * of servers: D0h and D8h of a function (Linux, Intel PCM). AMD: CPUID 80000001h, 80000022h (Linux amd/uncore.c).
 */
#include "backends/uncore/uncore_find.h"
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/util/mem.h"

#if UPMU_UNCORE

#define UNCORE_VENDOR_INTEL 0x8086u
#define UNCORE_HOST_BRIDGE 0u
#define UNCORE_CLIENT_BAR 0x48u
#define UNCORE_CLIENT_SAFBAR 0x68u
#define UNCORE_MSR_CBO_CONFIG 0x396u
#define UNCORE_AMD_MSRS UINT64_C(0xc0010000)
#define UNCORE_DIES (sizeof(((struct upmu_unit_list *)0)->search.counts_at) / sizeof(uint16_t))

/* ---- Rows of the tables: addresses of a type's boxes, and how many boxes there are ---- */

static UPMU_APART const struct upmu_uncore_row *row_at(unsigned row)
{
    return &upmu_uncore_rows[row];
}

static const struct upmu_uncore_layout *layout_of(unsigned row)
{
    return &upmu_uncore_layouts[row_at(row)->layout];
}

/* Does a row have a list of its boxes' offsets? Without a list the boxes are at equal steps. */
static bool has_list(const struct upmu_uncore_row *row)
{
    return row->most > 1 && !row->step && row->rule <= UPMU_UNCORE_RULE_CAPID;
}

const uint16_t *upmu_uncore_second(const struct upmu_uncore_row *row)
{
    unsigned boxes = row->rule == UPMU_UNCORE_RULE_PCI ? 2u * row->most : has_list(row) ? row->most : 0u;

    return &upmu_uncore_words[row->words + boxes];
}

uint64_t upmu_uncore_base(const struct upmu_uncore_row *row, unsigned n)
{
    const struct upmu_uncore_layout *layout = &upmu_uncore_layouts[row->layout];
    int64_t offset = has_list(row) ? upmu_uncore_words[row->words + n] : row->step * (int64_t)n;
    uint64_t base = (uint64_t)((int64_t)row->base + offset);

    if (row->rule == UPMU_UNCORE_RULE_SAFBAR)
        return base << 12;
    if (layout->space == UPMU_SPACE_MMIO)
        return base << 3;
    return row->rule >= UPMU_UNCORE_RULE_AMD_NB && !upmu_uncore_has_readings(row) ? base + UNCORE_AMD_MSRS : base;
}

uint32_t upmu_uncore_second_base(const struct upmu_uncore_row *row, unsigned n)
{
    const uint16_t *words = upmu_uncore_second(row);

    if (!(upmu_uncore_layouts[row->layout].quirks & UPMU_UNCORE_SECOND_FIXED))
        return 0;
    return words[0] + (has_list(row) ? words[1 + n] : words[1] * n);
}

/*
 * Return the PCI function whose registers say how many boxes this die has. If this die's function is unknown, return
 * that of any die; 0: no die's function is known.
 */
static uint32_t counting_function(const struct upmu_uncore_finder *finder)
{
    const struct upmu_uncore_seen *seen = finder->seen;
    unsigned die = seen->place.package * (seen->dies ? seen->dies : 1u) + seen->place.die;
    uint32_t where = die < UNCORE_DIES ? finder->list->search.counts_at[die] : 0;

    for (unsigned i = 0; !where && i < UNCORE_DIES; i++)
        where = finder->list->search.counts_at[i];
    return where ? where - 1 : 0;
}

/*
 * Count the bits that are set in registers of the function that says how many boxes there are. `words`: its device id,
 * then pairs of offset and number of low bits that count, then 0.
 */
static unsigned count_bits(struct upmu_uncore_finder *finder, const uint16_t *words)
{
    uint32_t where = counting_function(finder), value = 0;
    unsigned count = 0;

    for (words++; where && *words; words += 2)
        /*
         * All ones mean 32 boxes here, not an absent register: upmu_uncore_pci() returns false, but stores the value.
         */
        if (upmu_uncore_pci(finder, where, words[0], &value) || value == 0xffffffffu)
            for (value &= words[1] == 32 ? 0xffffffffu : (1u << words[1]) - 1u; value; value &= value - 1u)
                count++;
    if (!where)
        upmu_uncore_fail(finder, "the function that says how many boxes there are was not found", words[-1]);
    return count;
}

static unsigned boxes_of(struct upmu_uncore_finder *finder, unsigned row)
{
    const struct upmu_uncore_row *is = row_at(row);
    const uint16_t *words = upmu_uncore_second(is);
    unsigned boxes = is->most;
    uint64_t value;
    uint32_t capabilities = 0;

    switch (is->rule) {
    case UPMU_UNCORE_RULE_CORES:
        boxes = finder->seen->cores;
        break;
    case UPMU_UNCORE_RULE_CBO:
        boxes = upmu_uncore_msr(finder, UNCORE_MSR_CBO_CONFIG, true, &value) ? (unsigned)value & 0xfu : 0;
        break;
    case UPMU_UNCORE_RULE_CAPID:
        boxes = count_bits(finder, words);
        break;
    case UPMU_UNCORE_RULE_SBOX:
        (void)(counting_function(finder) &&
               upmu_uncore_pci(finder, counting_function(finder), words[1], &capabilities));
        boxes = capabilities & words[2] ? boxes : words[3];
        break;
    default:
        break;
    }
    return boxes < is->most ? boxes : is->most;
}

/* ---- MSRs ---- */

/* Return the offset of the register that is read to find out if a box exists. */
static uint32_t probe_of(const struct upmu_uncore_layout *layout)
{
    if (layout->select != UPMU_UNCORE_NONE)
        return (uint32_t)layout->select;
    return (uint32_t)(layout->counter != UPMU_UNCORE_NONE ? layout->counter : layout->fixed_select);
}

static void find_msrs(struct upmu_uncore_finder *finder, unsigned row)
{
    const struct upmu_uncore_layout *layout = layout_of(row);
    unsigned boxes = boxes_of(finder, row);

    for (unsigned n = 0; n < boxes; n++) {
        struct upmu_unit_info box = upmu_uncore_here(finder, upmu_uncore_base(row_at(row), n), n);
        uint64_t value;

        /* Processors have different numbers of boxes with free-running counters: the read of one may fault. */
        if (!upmu_uncore_msr(finder, (uint32_t)box.base + probe_of(layout), layout->style != UPMU_UNIT_FREE, &value))
            continue;
        box.second = upmu_uncore_second_base(row_at(row), n);
        (void)upmu_uncore_add(finder, row, NULL, &box);
    }
}

/* ---- AMD ---- */

static UPMU_APART void find_amd(struct upmu_uncore_finder *finder, unsigned row)
{
    const struct upmu_uncore_row *is = row_at(row);
    struct upmu_unit_info box = upmu_uncore_here(finder, upmu_uncore_base(is, 0), 0);
    uint32_t features[4], highest[4], extended[4] = {0, 0, 0, 0};
    struct upmu_uncore_pmu *pmu = NULL;
    unsigned counters = 0, each;

    finder->seen->cpuid(finder->seen->context, 0x80000000u, 0, highest);
    finder->seen->cpuid(finder->seen->context, 0x80000001u, 0, features);
    if (highest[0] >= 0x80000022u)
        finder->seen->cpuid(finder->seen->context, 0x80000022u, 0, extended);
    switch (is->rule) {
    case UPMU_UNCORE_RULE_AMD_NB:
        if (!(features[2] >> 24 & 1u))
            return;
        /* With PerfMonV2, CPUID says how many counters there are; otherwise there are four. */
        counters = extended[0] & 1u ? extended[1] >> 10 & 0x3fu : 4;
        break;
    case UPMU_UNCORE_RULE_AMD_UMC:
        counters = extended[0] & 1u ? extended[1] >> 16 & 0x3fu : 0;
        each = upmu_bits_count(extended[2]);
        counters = each ? counters / each : 0;
        for (unsigned n = 0; n < each && counters && n < is->most; n++) {
            box.base = upmu_uncore_base(is, 0) + 2u * n * counters;
            box.number = (uint16_t)n;
            pmu = upmu_uncore_add(finder, row, NULL, &box);
        }
        break;
    default:
        if (!(features[2] >> 28 & 1u))
            return;
        counters = layout_of(row)->counters;
    }
    if (!counters)
        return;
    if (is->rule != UPMU_UNCORE_RULE_AMD_UMC)
        pmu = upmu_uncore_add(finder, row, NULL, &box);
    /* The row may have more counters than the CPU: remove these. */
    if (pmu && counters < layout_of(row)->counters)
        upmu_uncore_keep(pmu, UPMU_BIT32(counters) - 1u);
}

/* ---- Memory controllers of clients and of servers, whose addresses are in PCI registers ---- */

static uint64_t read_bar(struct upmu_uncore_finder *finder, uint32_t where, uint32_t offset)
{
    uint32_t low, high;

    /* A physical address has 52 bits at most: return 0, no address, if a higher bit is set. */
    if (!upmu_uncore_pci(finder, where, offset, &low) || !upmu_uncore_pci(finder, where, offset + 4, &high) ||
        high >> 20)
        return 0;
    return (uint64_t)high << 32 | low;
}

/* Find the memory controllers of a client by the host bridge, a register of which has their physical address. */
static void find_client_memory(struct upmu_uncore_finder *finder, unsigned row)
{
    const struct upmu_uncore_row *is = row_at(row);
    const struct upmu_uncore_layout *layout = layout_of(row);
    bool old = is->rule == UPMU_UNCORE_RULE_CLIENT_IMC;
    uint32_t id;
    uint64_t bar;

    if (!upmu_uncore_pci(finder, UNCORE_HOST_BRIDGE, 0, &id) || (id & 0xffffu) != UNCORE_VENDOR_INTEL)
        return;
    bar = read_bar(finder, UNCORE_HOST_BRIDGE,
                   is->rule == UPMU_UNCORE_RULE_SAFBAR ? UNCORE_CLIENT_SAFBAR : UNCORE_CLIENT_BAR);
    /* Bit 0 says that the range is enabled. For old clients (rule CLIENT_IMC) it is not looked at, as in Linux. */
    if (!(bar >> 12) || (!old && !(bar & 1u)))
        return;
    bar &= ~UINT64_C(0xfff);
    for (unsigned n = 0; n < is->most; n++) {
        uint64_t base = bar + upmu_uncore_base(is, n);
        const uint16_t *list = &upmu_uncore_words[layout->counter_list];
        unsigned probe = layout->counter_list ? list[0] : (unsigned)layout->counter;
        struct upmu_unit_info box = upmu_uncore_here(finder, base, n);

        /*
         * An old counter has 32 bits, and a count of all ones would look like an absent box: so 64 bits, two counters,
         * are read.
         */
        if (upmu_uncore_answers(finder, base + probe, 64))
            (void)upmu_uncore_add(finder, row, NULL, &box);
    }
}

/*
 * Find the boxes of memory controllers of a server by a PCI function, which has the address of each controller. A
 * controller has three boxes (channels), fewer if the type has fewer, or one box of free-running counters.
 */
static void find_server_memory(struct upmu_uncore_finder *finder, unsigned row, uint32_t where)
{
    const struct upmu_uncore_row *is = row_at(row);
    unsigned channels = is->rule == UPMU_UNCORE_RULE_SERVER_IMC ? is->most > 3 ? 3 : is->most : 1;
    uint32_t high, low;

    /* The register at D0h has the address from bit 23 on. If it is 0, the address is in RAM, not a controller's. */
    if (!upmu_uncore_pci(finder, where, 0xd0, &high) || !(high & 0x1fffffffu))
        return;
    for (unsigned n = 0; n < is->most; n++) {
        struct upmu_unit_info box = {.number = (uint16_t)n};

        if (!upmu_uncore_pci(finder, where, 0xd8 + 4 * (n / channels), &low))
            continue;
        box.base = (uint64_t)(high & 0x1fffffffu) << 23 | (uint64_t)(low & 0x7ffu) << 12;
        box.base += upmu_uncore_base(is, 0) + (uint64_t)is->step * 8 * (n % channels);
        box.second = where;
        upmu_uncore_place(finder, finder->die_of[where >> 8 & 0xffu], &box);
        if (upmu_uncore_answers(finder, box.base, 32))
            (void)upmu_uncore_add(finder, row, NULL, &box);
    }
}

/* ---- PCI ---- */

#define UNCORE_UBOX(device, node, map)                                                                                 \
    {                                                                                                                  \
        0x##device, 0x##node, 0x##map                                                                                  \
    }
static const struct {
    uint16_t device;
    uint8_t node, map;
} uboxes[] = {UNCORE_UBOX(3ce0, 40, 54), UNCORE_UBOX(0e1e, 40, 54), UNCORE_UBOX(2f1e, 40, 54),
              UNCORE_UBOX(6f1e, 40, 54), UNCORE_UBOX(2014, c0, d4), UNCORE_UBOX(3460, c0, d4),
              UNCORE_UBOX(3450, c0, d4), UNCORE_UBOX(3250, c0, d4)};

/*
 * Note which die the bus of a U-box belongs to. The map has a field of three bits for each of eight dies, with the node
 * of the die.
 */
static void note_ubox(struct upmu_uncore_finder *finder, uint32_t where, unsigned device)
{
    uint32_t node, map = 0;

    for (unsigned i = 0; i < sizeof uboxes / sizeof uboxes[0]; i++) {
        if (uboxes[i].device != device || !upmu_uncore_pci(finder, where, uboxes[i].node, &node) ||
            !upmu_uncore_pci(finder, where, uboxes[i].map, &map))
            continue;
        for (unsigned die = 8; die-- > 0;)
            if ((map >> 3 * die & 7u) == (node & 7u))
                finder->die_of[where >> 8 & 0xffu] = (uint8_t)die;
    }
}

/*
 * Give each bus without a U-box the die of the next higher bus that has one; on Skylake-X (`upward`) of the next lower
 * bus that has one. If there is no such bus, the die stays UPMU_UNCORE_NO_DIE.
 */
static void complete_dies(struct upmu_uncore_finder *finder, bool upward)
{
    uint8_t last = UPMU_UNCORE_NO_DIE;

    for (unsigned i = 0; i < UPMU_UNCORE_BUSES; i++) {
        uint8_t *die = &finder->die_of[upward ? i : UPMU_UNCORE_BUSES - 1 - i];

        if (*die == UPMU_UNCORE_NO_DIE)
            *die = last;
        last = *die;
    }
}

/*
 * Return the index of a function in a list of pairs (device id, device and function number or UPMU_UNCORE_ANYWHERE);
 * -1: the list does not have it.
 */
static int index_in(const uint16_t *devices, unsigned count, uint32_t where, unsigned device)
{
    for (unsigned i = 0; i < count; i++)
        if (devices[2 * i] == device &&
            (devices[2 * i + 1] == UPMU_UNCORE_ANYWHERE || devices[2 * i + 1] == (where & 0xffu)))
            return (int)i;
    return -1;
}

/*
 * Return the function with the filters of the n-th link, its companion, which is on the same bus; 0: there is none.
 * `words`: how many links have one, then pairs of device id and place.
 */
static uint32_t find_companion(struct upmu_uncore_finder *finder, const uint16_t *words, unsigned n, uint32_t bus)
{
    uint32_t id;

    if (n >= words[0])
        return 0;
    for (uint32_t where = bus; where < bus + 0x100; where++) {
        /* The companion is function 6 of its device. Firmware may hide it: then the link has no filters. */
        if ((where & 7u) == 6 && upmu_uncore_pci(finder, where, 0, &id) && id >> 16 == words[1 + 2 * n])
            return where;
    }
    return 0;
}

static UPMU_APART void use_function(struct upmu_uncore_finder *finder, unsigned row, uint32_t where, unsigned device)
{
    const struct upmu_uncore_row *is = row_at(row);
    const uint16_t *second = upmu_uncore_second(is);
    unsigned die = finder->die_of[where >> 8 & 0xffu];
    struct upmu_unit_info box = {.base = where};
    int n;

    switch (is->rule) {
    case UPMU_UNCORE_RULE_PCI:
        n = index_in(&upmu_uncore_words[is->words], is->most, where, device);
        if (n < 0)
            return;
        box.number = (uint16_t)n;
        upmu_uncore_place(finder, die, &box);
        if (layout_of(row)->quirks & UPMU_UNCORE_SECOND_FILTERS)
            box.second = find_companion(finder, second, (unsigned)n, where & ~0xffu);
        (void)upmu_uncore_add(finder, row, NULL, &box);
        break;
    case UPMU_UNCORE_RULE_CAPID:
    case UPMU_UNCORE_RULE_SBOX:
        if (second[0] == device)
            finder->list->search.counts_at[die % UNCORE_DIES] = (uint16_t)(where + 1);
        break;
    case UPMU_UNCORE_RULE_SERVER_IMC:
    case UPMU_UNCORE_RULE_SERVER_MEM:
        if (second[0] == device)
            find_server_memory(finder, row, where);
        break;
    default:
        break;
    }
}

/*
 * Call `visit` for each PCI function of Intel's. A scan notes the buses without functions in finder->empty; the next
 * scan leaves them out.
 */
static void visit_functions(struct upmu_uncore_finder *finder,
                            void (*visit)(struct upmu_uncore_finder *finder, uint32_t where, unsigned device))
{
    for (uint32_t where = 0; where < UPMU_UNCORE_BUSES << 8; where++) {
        uint8_t *empty = &finder->empty[where >> 11];
        uint32_t id, header = 0, bus = 1u << (where >> 8 & 7u);

        if (!(where & 0xffu)) {
            if (*empty & bus) {
                where |= 0xffu;
                continue;
            }
            *empty |= (uint8_t)bus;
        }
        if (!upmu_uncore_pci(finder, where, 0, &id)) {
            /* A device without function 0 has no functions: go to the next device. */
            where |= where & 7u ? 0u : 7u;
            continue;
        }
        *empty &= (uint8_t)~bus;
        if ((id & 0xffffu) == UNCORE_VENDOR_INTEL)
            visit(finder, where, id >> 16);
        if (!(where & 7u)) {
            (void)upmu_uncore_pci(finder, where, 0xc, &header);
            where |= header >> 23 & 1u ? 0u : 7u;
        }
    }
}

static void visit_for_units(struct upmu_uncore_finder *finder, uint32_t where, unsigned device)
{
    const struct upmu_uncore_generation *generation = &upmu_uncore_generations[finder->generation];

    for (unsigned i = 0; i < generation->rows; i++)
        use_function(finder, generation->first + i, where, device);
    if (device == 0x09a7 || device == 0x09a1)
        upmu_uncore_find_table(finder, where);
}

/* ---- All ---- */

static bool needs_scan(const struct upmu_uncore_generation *generation)
{
    for (unsigned i = 0; i < generation->rows; i++) {
        unsigned rule = row_at(generation->first + i)->rule;

        if (rule >= UPMU_UNCORE_RULE_CAPID && rule <= UPMU_UNCORE_RULE_TABLE)
            return true;
    }
    return false;
}

static UPMU_APART void find_by_rule(struct upmu_uncore_finder *finder, unsigned row)
{
    switch (row_at(row)->rule) {
    case UPMU_UNCORE_RULE_ONE:
    case UPMU_UNCORE_RULE_ALL:
    case UPMU_UNCORE_RULE_CORES:
    case UPMU_UNCORE_RULE_CBO:
    case UPMU_UNCORE_RULE_CAPID:
    case UPMU_UNCORE_RULE_SBOX:
        find_msrs(finder, row);
        break;
    case UPMU_UNCORE_RULE_CLIENT_IMC:
    case UPMU_UNCORE_RULE_CLIENT_MCS:
    case UPMU_UNCORE_RULE_SAFBAR:
        find_client_memory(finder, row);
        break;
    case UPMU_UNCORE_RULE_AMD_NB:
    case UPMU_UNCORE_RULE_AMD_L2:
    case UPMU_UNCORE_RULE_AMD_L3:
    case UPMU_UNCORE_RULE_AMD_UMC:
        find_amd(finder, row);
        break;
    case UPMU_UNCORE_RULE_READING:
    case UPMU_UNCORE_RULE_READING_PACKAGE:
        upmu_uncore_find_readings(finder, row);
        break;
    default: /* by a scan, or a table */
        break;
    }
}

/*
 * Return the MSR with the address of a table of discovery, which Panther Lake, Wildcat Lake, Nova Lake and Diamond
 * Rapids have; 0: the CPU has no such MSR (Linux patches 2025/2026).
 */
static uint32_t table_msr(const struct upmu_uncore_seen *seen)
{
    if (seen->family == 0x12)
        return 0x711;
    if (seen->family == 0x13)
        return 0x710;
    return seen->model == 0xcc || seen->model == 0xd5 ? 0x201e : 0;
}

static UPMU_APART void find_generation(struct upmu_uncore_finder *finder)
{
    const struct upmu_uncore_generation *generation = &upmu_uncore_generations[finder->generation];
    const struct upmu_uncore_seen *seen = finder->seen;
    uint64_t table;

    memset(finder->die_of, UPMU_UNCORE_NO_DIE, sizeof finder->die_of);
    memset(finder->empty, 0, sizeof finder->empty);
    if (needs_scan(generation) && !finder->list->search.scanned) {
        finder->list->search.scanned = 1;
        visit_functions(finder, note_ubox);
        complete_dies(finder, seen->family == 6 && seen->model == 0x55);
        visit_functions(finder, visit_for_units);
    }
    if (table_msr(seen) && needs_scan(generation) && upmu_uncore_msr(finder, table_msr(seen), true, &table) && table)
        upmu_uncore_read_table(finder, table, (uint8_t)seen->place.package, (uint8_t)seen->place.die);
    if (needs_scan(generation))
        upmu_uncore_drop_slices(finder);
    for (unsigned i = 0; i < generation->rows; i++)
        find_by_rule(finder, generation->first + i);
}

enum upmu_status upmu_uncore_find(struct upmu_uncore_seen *seen, struct upmu_unit_list *list)
{
    struct upmu_uncore_finder finder;
    int generation;

    memset(&finder, 0, sizeof finder);
    finder.seen = seen;
    finder.list = list;
    seen->first = list->unit_count;
    if (!list->unit_count)
        list->search.scanned = 0;
    seen->accesses = 0;
    seen->stops_full = false;
    seen->failure = NULL;
    seen->failed_at = 0;
    if (seen->hypervisor && !seen->force)
        return UPMU_ERR_NO_PMU;
    for (unsigned i = 0;
         (generation = upmu_uncore_generation_of(seen->amd, seen->family, seen->model, seen->stepping, i)) >= 0; i++) {
        finder.generation = (unsigned)generation;
        find_generation(&finder);
    }
    /* Let the next call scan configuration space again: that call finds the rest, or fails in the same way. */
    if (finder.full || finder.damaged)
        list->search.scanned = 0;
    if (finder.full)
        return UPMU_ERR_NO_SPACE;
    if (finder.damaged)
        return UPMU_ERR_PORT;
    return list->unit_count ? UPMU_OK : UPMU_ERR_NO_PMU;
}

#endif
