/* SPDX-License-Identifier: MIT */
/*
 * The Arm backend: PMUv3 of AArch64 and of AArch32, and PMUv2, which AArch32 alone has.
 *
 * Source: Arm ARM (DDI 0487 M.c) D13, G8; values and masks compared with Linux's include/linux/perf/arm_pmuv3.h and
 * arch/arm/kernel/perf_event_v7.c. The select word of an event (upmu_event.config) is the value of its PMEVTYPERn. Each
 * event counter counts any event; the cycle counter counts cycles alone. The attribute "k" means EL1 and, where the
 * library runs at EL2, EL2, too. MDCR_EL3.SPME decides whether secure states are counted.
 */
#include "backends/arm_pmuv3/arm_registers.h"
#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/util/text.h"
#include "core/hw/backend.h"
#include "core/hw/register.h"

#if UPMU_BACKEND_ARM_PMUV3

extern const struct upmu_backend upmu_arm_pmuv3_backend;

#define ARM_EVENT_CYCLES 0x11u
#define ARM_EVENT_INSTRUCTIONS 0x08u
#define ARM_COMMON_EVENTS 64u
/* Events 4000h to 403Fh, which the upper halves of PMCEID0 and PMCEID1 report, from PMUv3p1 on. */
#define ARM_COMMON_LATER 0x4000u
#define ARM_EVENTS_V2 UINT64_C(0x3fffffff) /* mask: PMUv2 has common events 0 to 29 */
#define ARM_QUIRK_EL2 1u
#define ARM_QUIRK_AARCH32 2u /* AArch32 (MRC, MCR): a register access has 32 bits */

/*
 * Values of upmu_pmu.version: those of ID_AA64DFR0_EL1.PMUVer. PMUv2 has 2, a value that PMUVer does not have. 15 is a
 * PMU of another kind, which is not detected.
 */
#define ARM_PMU_V3 1u
#define ARM_PMU_V2 2u
#define ARM_PMU_V3P1 4u /* from here on event numbers have 16 bits */
#define ARM_PMU_V3P5 6u /* from here on AArch64 has event counters of 64 bits */
#define ARM_PMU_OTHER 15u
#define ARM_PERFMON_V3 3u /* ID_DFR0.PerfMon of PMUv3; its higher values are the same as in PMUVer */

/* ---- Detection ---- */

static void arm_add_counter(struct upmu_pmu *pmu, unsigned n, uint8_t width)
{
    const struct upmu_counter counter = {
        .value_row = (uint8_t)(UPMU_ARM_ROW_CNTR + n), .write_row = (uint8_t)(UPMU_ARM_ROW_CNTR + n),
        .select_row = (uint8_t)(UPMU_ARM_ROW_TYPER + n), .gate_row = UPMU_ARM_ROW_CNTEN, .gate_bit = (uint8_t)n,
        .width = width, .write_bits = width, .rdpmc = UPMU_NO_RDPMC
    };

    upmu_register_add_counter(pmu, n, &counter);
    pmu->preference[pmu->preference_count++] = (uint8_t)n;
}
_Static_assert(UPMU_ARM_ROW_CCNTR == UPMU_ARM_ROW_CNTR + UPMU_ARM_CYCLE &&
                   UPMU_ARM_ROW_CCFILTR == UPMU_ARM_ROW_TYPER + UPMU_ARM_CYCLE,
               "the cycle counter's rows are behind those of the others");

static void arm_build(struct upmu_pmu *pmu, unsigned counters, unsigned version, uint64_t common, uint64_t later,
                      unsigned quirks)
{
    uint8_t width = !(quirks & ARM_QUIRK_AARCH32) && version >= ARM_PMU_V3P5 ? 64 : 32;
    bool v2 = version == ARM_PMU_V2;

    memset(pmu, 0, sizeof *pmu);
    pmu->name = v2 ? "armv7_pmuv2" : "armv8_pmuv3";
    pmu->title = v2 ? "Arm PMUv2" : "Arm PMUv3";
    pmu->table = &upmu_arm_table;
    pmu->version = (uint8_t)version;
    pmu->quirks = quirks;
    pmu->capabilities = UPMU_PMU_GLOBAL_CTRL | UPMU_PMU_STATUS | UPMU_PMU_FULL_WRITE;
    pmu->status_row = UPMU_ARM_ROW_STATUS;
    pmu->ack_row = UPMU_ARM_ROW_ACK;
    pmu->inuse_row = UPMU_NO_ROW;
    pmu->min_period = 2;
    /*
     * The probe counts instructions rather than cycles, because some CPUs count cycles even where all other events are
     * prohibited.
     */
    pmu->loop_config = common >> ARM_EVENT_INSTRUCTIONS & 1u ? ARM_EVENT_INSTRUCTIONS : ARM_EVENT_CYCLES;
    pmu->cycles_config = ARM_EVENT_CYCLES;
    arm_add_counter(pmu, UPMU_ARM_CYCLE, quirks & ARM_QUIRK_AARCH32 ? 32 : 64);
    for (unsigned n = 0; n < counters && n < UPMU_ARM_EVENT_COUNTERS; n++)
        arm_add_counter(pmu, n, width);
    pmu->max_period = upmu_bits_ones(width - 1u);
    pmu->general = pmu->counters & ~UPMU_BIT32(UPMU_ARM_CYCLE);
    for (unsigned row = UPMU_ARM_ROW_CNTEN; row < UPMU_ARM_ROWS; row++)
        upmu_rows_set(pmu->present, row);
    memset(pmu->limit, 0xff, sizeof pmu->limit);
    pmu->limit[UPMU_ARM_CLASS_TYPER] = UPMU_ARM_TYPER_WHO | (v2                       ? UPMU_ARM_TYPER_EVENT_V2
                                                             : version < ARM_PMU_V3P1 ? UPMU_ARM_TYPER_EVENT_V3
                                                                                      : UPMU_ARM_TYPER_EVENT);
    pmu->limit[UPMU_ARM_CLASS_CCFILTR] = UPMU_ARM_TYPER_WHO;
    pmu->limit[UPMU_ARM_CLASS_CNTEN] = pmu->limit[UPMU_ARM_CLASS_INTEN] = pmu->counters;
    pmu->limit[UPMU_ARM_COMMON] = common;
    pmu->limit[UPMU_ARM_COMMON_LATER] = later;
}

static bool arm_read(const struct upmu_detection *detection, uint32_t number, uint64_t *out)
{
    return detection->rdmsr(detection->context, number, true, out);
}

/*
 * Return the version of the PMU (upmu_pmu.version); 0: there is no PMU of a known version. *out_quirks is 0 on AArch64,
 * and ARM_QUIRK_AARCH32 where the port can read ID_DFR0, but not ID_AA64DFR0.
 */
static unsigned arm_version(const struct upmu_detection *detection, unsigned *out_quirks)
{
    uint64_t dfr0;
    unsigned version;

    if (arm_read(detection, UPMU_ARM_DFR0, &dfr0)) {
        *out_quirks = 0;
        version = (unsigned)(dfr0 >> 8) & 15u;
    } else if (arm_read(detection, UPMU_ARM_DFR0_AARCH32, &dfr0)) {
        *out_quirks = ARM_QUIRK_AARCH32;
        version = (unsigned)(dfr0 >> 24) & 15u;
        if (version == ARM_PERFMON_V3)
            version = ARM_PMU_V3;
        else if (version < ARM_PMU_V2) /* 0: no PMU; 1: PMUv1, whose registers cannot exclude modes */
            version = 0;
    } else {
        version = 0;
    }
    return version == ARM_PMU_OTHER ? 0 : version;
}

static bool arm_detect(const struct upmu_detection *detection, struct upmu_pmu *out_pmu)
{
    uint64_t midr, level, pmcr, low, high, later;
    unsigned quirks = 0, version;

    if (!arm_read(detection, UPMU_ARM_MIDR, &midr))
        return false;
    version = arm_version(detection, &quirks);
    if (!version || !arm_read(detection, UPMU_ARM_CURRENT_EL, &level) ||
        !arm_read(detection, UPMU_ARM_PMCR, &pmcr) || !arm_read(detection, UPMU_ARM_CEID0, &low) ||
        !arm_read(detection, UPMU_ARM_CEID1, &high))
        return false;
    if ((level >> 2 & 3u) == 2)
        quirks |= ARM_QUIRK_EL2;
    /*
     * AArch32 has the upper halves of PMCEID0 and PMCEID1 in separate registers, which a port need not know. So `later`
     * says that all events from 4000h to 403Fh exist.
     */
    later = quirks & ARM_QUIRK_AARCH32 ? ~UINT64_C(0) : low >> 32 | (high >> 32 << 32);
    arm_build(out_pmu, (unsigned)(pmcr >> 11) & 31u, version, (uint32_t)low | high << 32, later, quirks);
    out_pmu->family = (uint16_t)(midr >> 24 & 0xffu); /* implementer */
    out_pmu->model = (uint16_t)(midr >> 4 & 0xfffu);  /* part number; `native` has its bits 11:8 */
    out_pmu->native = (uint8_t)(0x10u | out_pmu->model >> 8);
    out_pmu->stepping = (uint8_t)((midr >> 16 & 0xf0u) | (midr & 0xfu));
    return true;
}

#if UPMU_NAMES

static bool arm_describe(const char *name, struct upmu_pmu *out_pmu)
{
    size_t length = upmu_text_length(name);

    if (upmu_text_is(name, length, "armv8_pmuv3"))
        arm_build(out_pmu, 6, ARM_PMU_V3P1, ~UINT64_C(0), ~UINT64_C(0), 0);
    else if (upmu_text_is(name, length, "armv7_pmuv2"))
        arm_build(out_pmu, 6, ARM_PMU_V2, ARM_EVENTS_V2, 0, ARM_QUIRK_AARCH32);
    else
        return false;
    return true;
}

static const char *arm_known(unsigned i)
{
    return !i ? "armv8_pmuv3" : i == 1 ? "armv7_pmuv2" : NULL;
}

/*
 * Return the name of the catalogue of common events, for a CPU that no catalogue names. PMUv2 has this catalogue, too:
 * its common events are the first of PMUv3's.
 */
static const char *arm_catalog(const struct upmu_pmu *pmu)
{
    (void)pmu;
    return "armv8_pmuv3";
}

/* ---- Events ---- */

static enum upmu_status arm_attribute(const struct upmu_pmu *pmu, struct upmu_event *event, const char *name,
                                      size_t length, const uint64_t *value)
{
    (void)pmu;
    return upmu_pmu_mode_attribute(event, name, length, value);
}

static enum upmu_status arm_from_row(const struct upmu_pmu *pmu, const struct upmu_row *row, struct upmu_event *event)
{
    (void)pmu;
    event->config = row->code;
    event->counters = row->counters;
    return UPMU_OK;
}

static void arm_format(const struct upmu_pmu *pmu, const struct upmu_event *event, const struct upmu_row *row,
                       struct upmu_text *out)
{
    (void)pmu, (void)row;
    if (event->attributes & UPMU_ATTR_RAW)
        return;
    if (event->config & UPMU_ARM_TYPER_P)
        upmu_text_string(out, ":u");
    else if (event->config & UPMU_ARM_TYPER_U)
        upmu_text_string(out, ":k");
}

#endif

/*
 * Finish an event. If the text names user or kernel alone, the other is not counted. A common event that the CPU does
 * not report (PMCEID) is refused with UPMU_ERR_UNSUPPORTED, but cycles never are.
 */
static enum upmu_status arm_finish(const struct upmu_pmu *pmu, struct upmu_event *event)
{
    unsigned code = (unsigned)(event->config & UPMU_ARM_TYPER_EVENT);
    unsigned who = event->attributes & (UPMU_ATTR_USR | UPMU_ATTR_OS);

    if (event->config1 || event->config2 || (event->config & ~pmu->limit[UPMU_ARM_CLASS_TYPER]))
        return UPMU_ERR_NOT_PERMITTED;
    if (code != ARM_EVENT_CYCLES && code < ARM_COMMON_EVENTS && !(pmu->limit[UPMU_ARM_COMMON] >> code & 1u))
        return UPMU_ERR_UNSUPPORTED;
    if (code - ARM_COMMON_LATER < ARM_COMMON_EVENTS &&
        !(pmu->limit[UPMU_ARM_COMMON_LATER] >> (code - ARM_COMMON_LATER) & 1u))
        return UPMU_ERR_UNSUPPORTED;
    if (who == UPMU_ATTR_USR)
        event->config |= UPMU_ARM_TYPER_P;
    else if (who == UPMU_ATTR_OS)
        event->config |= UPMU_ARM_TYPER_U;
    if ((pmu->quirks & ARM_QUIRK_EL2) && who != UPMU_ATTR_USR)
        event->config |= UPMU_ARM_TYPER_NSH;
    if (!who)
        event->attributes |= UPMU_ATTR_USR | UPMU_ATTR_OS;
    event->counters = event->counters ? event->counters & pmu->general : pmu->general;
    if (code == ARM_EVENT_CYCLES)
        event->counters |= UPMU_BIT32(UPMU_ARM_CYCLE);
    return event->counters ? UPMU_OK : UPMU_ERR_DOES_NOT_FIT;
}

/* ---- Register values: of events, of released counters, of overflow flags, of take-over ---- */

static void arm_render(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned alternative,
                       const uint8_t *counters, unsigned flags, struct upmu_image *image)
{
    unsigned counter = counters[0], row = UPMU_ARM_ROW_TYPER + counter;
    uint32_t bit = UPMU_BIT32(counter);

    (void)alternative;
    upmu_image_add(image, row, upmu_register_bits(pmu, row), event->config & upmu_register_bits(pmu, row), bit);
    upmu_image_add(image, UPMU_ARM_ROW_INTEN, bit, flags & UPMU_RENDER_INTERRUPT ? bit : 0, bit);
}

static void arm_release(const struct upmu_pmu *pmu, uint32_t counters, struct upmu_image *image)
{
    for (; counters; counters &= counters - 1u) {
        unsigned row = UPMU_ARM_ROW_TYPER + upmu_bits_lowest(counters);
        uint32_t bit = counters & (0u - counters);

        upmu_image_add(image, row, upmu_register_bits(pmu, row), 0, bit);
        upmu_image_add(image, UPMU_ARM_ROW_INTEN, bit, 0, bit);
    }
}

static uint32_t arm_overflowed(const struct upmu_pmu *pmu, uint64_t status)
{
    return (uint32_t)status & pmu->counters;
}

static uint64_t arm_acknowledge(const struct upmu_pmu *pmu, uint32_t counters)
{
    (void)pmu;
    return counters;
}

/*
 * Return the counters in use at take-over: none if PMCR.E is clear, because no counter counts then. A reset clears
 * PMCR.E, but leaves unknown bits in PMCNTEN.
 */
static uint32_t arm_claims(const struct upmu_pmu *pmu, const uint64_t *found)
{
    return found[UPMU_ARM_ROW_PMCR] & UPMU_ARM_PMCR_E ? (uint32_t)found[UPMU_ARM_ROW_CNTEN] & pmu->counters : 0;
}

/*
 * Add the write of PMCR at take-over. E is set: counters run. D and DP are clear: the cycle counter counts each cycle,
 * and everywhere. On AArch64 LC is set, and LP where event counters have 64 bits: counters overflow at 64 bits.
 */
static void arm_take_over(const struct upmu_pmu *pmu, struct upmu_image *image)
{
    uint64_t on = UPMU_ARM_PMCR_E;

    if (!(pmu->quirks & ARM_QUIRK_AARCH32)) {
        on |= UPMU_ARM_PMCR_LC;
        if (pmu->version >= ARM_PMU_V3P5)
            on |= UPMU_ARM_PMCR_LP;
    }
    upmu_image_add(image, UPMU_ARM_ROW_PMCR, UPMU_ARM_PMCR_OWNED, on, 0);
}

static const char *arm_counter_prefix(const struct upmu_pmu *pmu, unsigned counter, unsigned *out_index)
{
    (void)pmu;
    *out_index = counter == UPMU_ARM_CYCLE ? 0 : counter;
    return counter == UPMU_ARM_CYCLE ? "CYCLE" : "PMC";
}

const struct upmu_backend upmu_arm_pmuv3_backend = {
    .name = "arm_pmuv3",
    .vendor = UPMU_VENDOR_OTHER,
    .detect = arm_detect,
#if UPMU_NAMES
    .describe = arm_describe,
    .names = arm_known,
    .catalog = arm_catalog,
    .attribute = arm_attribute,
    .from_row = arm_from_row,
    .format = arm_format,
#endif
    .finish = arm_finish,
    .alternative = upmu_pmu_any_counter,
    .render = arm_render,
    .release = arm_release,
    .overflowed = arm_overflowed,
    .acknowledge = arm_acknowledge,
    .claims = arm_claims,
    .take_over = arm_take_over,
    .resource_name = upmu_pmu_no_resource,
    .counter_prefix = arm_counter_prefix,
};

#endif
