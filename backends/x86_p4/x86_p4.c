/* SPDX-License-Identifier: MIT */
/*
 * The NetBurst backend: idle values, counters that write records, ESCRs of other software, names, events of the bus,
 * and the table of the backend's functions.
 */
#include "backends/x86_p4/x86_p4.h"
#include "core/util/bits.h"

#if UPMU_BACKEND_X86_P4

/* Let released counters count nothing, start no cascade, and assert no interrupt (OVF): write 0 to their CCCRs. */
static void release_counters(const struct upmu_pmu *pmu, uint32_t counters, struct upmu_image *image)
{
    (void)pmu;
    for (; counters; counters &= counters - 1u)
        upmu_image_add(image, UPMU_P4_ROW_CCCR + upmu_bits_lowest(counters), 0xffffffffu, 0,
                       counters & (0u - counters));
}

/*
 * Return counters 16 and 17 if bit 25 or 26 of PEBS_ENABLE makes one of them write records, each for one hyper-thread
 * (SDM 18.15.7). With UPMU_FIRMWARE upmu does not clear these bits, because the other hyper-thread may use them;
 * without it all counters are the library's, and the bits are cleared.
 */
static uint32_t counters_with_records(const struct upmu_pmu *pmu, const uint64_t *found, struct upmu_image *image)
{
    if (!UPMU_FIRMWARE && image && (found[UPMU_P4_ROW_PEBS_ENABLE] & UPMU_P4_PEBS_RECORDS))
        upmu_image_add(image, UPMU_P4_ROW_PEBS_ENABLE, UPMU_P4_PEBS_RECORDS, 0, 0);
    return found[UPMU_P4_ROW_PEBS_ENABLE] & UPMU_P4_PEBS_RECORDS ? pmu->counters & 3u << 16 : 0;
}

/*
 * Return the resource (ESCR) that a counter of other software, such as a watchdog's, uses by its CCCR;
 * UPMU_NO_RESOURCE: the CCCR is not in use, or its select leads to no ESCR.
 */
static unsigned escr_seen_by(const struct upmu_pmu *pmu, unsigned counter, uint64_t cccr)
{
    unsigned group = counter < 12 ? counter >> 2 : UPMU_P4_GROUP_IQ;
    unsigned even = upmu_p4_even_escr(group, cccr << 32);

    (void)pmu;
    if (!(cccr & UPMU_P4_CCCR_IN_USE) || even == UPMU_P4_NO_ESCR)
        return UPMU_NO_RESOURCE;
    return even + (upmu_p4_side(group, 1) >> counter & 1u);
}

static const char *resource_text(const struct upmu_pmu *pmu, unsigned resource)
{
    unsigned row = upmu_p4_resource_row(pmu, resource);

    return row == UPMU_NO_ROW ? "both hyper-threads, which it cannot tell apart"
                              : pmu->table->text + pmu->table->rows[row].name;
}

/* Return the prefix of a counter's name, "IQ_COUNTER" of "IQ_COUNTER4", and in *out_index the number behind it. */
static const char *counter_group_prefix(const struct upmu_pmu *pmu, unsigned counter, unsigned *out_index)
{
    static const char prefixes[UPMU_P4_GROUPS][14] = {"BPU_COUNTER", "MS_COUNTER", "FLAME_COUNTER", "IQ_COUNTER"};
    unsigned group = counter < 12 ? counter >> 2 : UPMU_P4_GROUP_IQ;

    (void)pmu;
    *out_index = counter - 4 * group;
    return prefixes[group];
}

/*
 * Events of the front-side bus, which several processors share. The first four count transfers of other processors only
 * with the mask OTHER, the last four always.
 */
#define FSB_EVENT(select, masks)                                                                                       \
    {UPMU_P4_ROW_ESCR + UPMU_P4_FSB_ESCR0, 2, UINT64_C(0x3f) << 25 | (uint64_t)(masks) << 9,                           \
     UINT64_C(select) << 25 | (uint64_t)(masks) << 9}

static const struct upmu_beyond *p4_beyond(const struct upmu_pmu *pmu)
{
    static const struct upmu_beyond bus[] = {
        FSB_EVENT(0x03, 0x4000), /* IOQ_allocation */
        FSB_EVENT(0x1a, 0x4000), /* IOQ_active_entries */
        FSB_EVENT(0x17, 0x0004), /* FSB_data_activity: DRDY_OTHER */
        FSB_EVENT(0x17, 0x0020), /* DBSY_OTHER */
        FSB_EVENT(0x16, 0),      /* b2b_cycles */
        FSB_EVENT(0x08, 0),      /* bnr */
        FSB_EVENT(0x06, 0),      /* snoop */
        FSB_EVENT(0x04, 0),      /* response */
        {0}};

    (void)pmu;
    return bus;
}

/*
 * The NetBurst backend. There is no status register: the library finds overflows by the values of counters, and every
 * write of a CCCR clears its OVF.
 */
const struct upmu_backend upmu_x86_p4_backend = {
    .name = "x86_p4",
    .detect = upmu_p4_detect,
#if UPMU_NAMES
    .describe = upmu_p4_describe,
    .names = upmu_p4_names,
    .prefixes = UPMU_P4_PREFIX "\0pmc_ev_p4_\0",
    .attribute = upmu_p4_attribute,
    .from_row = upmu_p4_from_row,
    .format = upmu_p4_format,
#endif
    .finish = upmu_p4_finish,
    .thread = upmu_p4_thread,
    .alternative = upmu_p4_alternative,
    .render = upmu_p4_render,
    .release = release_counters,
    .records = counters_with_records,
    .seen_by = escr_seen_by,
    .resource_name = resource_text,
    .counter_prefix = counter_group_prefix,
    .resource_row = upmu_p4_resource_row,
    .beyond = p4_beyond,
};

#endif
