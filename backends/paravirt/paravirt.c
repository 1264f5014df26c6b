/* SPDX-License-Identifier: MIT */
/*
 * The PMU that a hypervisor gives to its guests: detection, events, registers (upmu/paravirt.h, docs/PARAVIRT.md).
 *
 * The registers are words of a page that guest and hypervisor share, and look like those of an architectural PMU: each
 * slot of the page is a counter with a select, one word has the enable bits of all counters, one the overflow flags.
 */
#include "backends/x86_common/x86_select.h"
#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/util/text.h"
#include "core/catalog/catalog.h"
#include "core/hw/page_registers.h"
#include "core/hw/register.h"

#if UPMU_BACKEND_PARAVIRT

/* Bits of upmu_pmu.quirks. */
#define PV_RAW 1u /* the hypervisor accepts raw select words (UPMU_PV_HAS_RAW) */

/*
 * Bit of upmu_event.flags: bits 3:0 of `config` are the number of a generic event (UPMU_PV_CYCLES, ...), not a select
 * word.
 */
#define PV_GENERIC 1u

/* Bits that raw select words may have. The hypervisor can still refuse a word. */
#define PV_RAW_BITS                                                                                                    \
    (UINT64_C(0xff) | UPMU_SELECT_UMASK | UPMU_SELECT_BOTH | UPMU_SELECT_EDGE | UPMU_SELECT_INV | UPMU_SELECT_CMASK |  \
     UINT64_C(0xff1f00000000))

/* ---- Registers ---- */

enum { PV_CLASS_CONFIG, PV_CLASS_VALUE, PV_CLASS_GATE, PV_CLASS_STATUS, PV_CLASS_ACK, PV_CLASSES };
enum {
    PV_ROW_CONFIG,
    PV_ROW_VALUE = PV_ROW_CONFIG + UPMU_PV_SLOTS,
    PV_ROW_GATE = PV_ROW_VALUE + UPMU_PV_SLOTS,
    PV_ROW_STATUS,
    PV_ROW_ACK,
    PV_ROWS
};

/* clang-format off */
#define PV_SLOTS(R) R(0) R(1) R(2) R(3) R(4) R(5) R(6) R(7) R(8) R(9) R(10) R(11) R(12) R(13) R(14) R(15) R(16)        \
    R(17) R(18) R(19) R(20) R(21) R(22) R(23)
#define PV_MEMBERS(n) char config##n[sizeof "config" #n], value##n[sizeof "value" #n];
#define PV_NAMES(n) "config" #n, "value" #n,
static const struct pv_names {
    char source[sizeof "docs/PARAVIRT.md"];
    PV_SLOTS(PV_MEMBERS)
    char gate[sizeof "gate"], status[sizeof "overflowed"], ack[sizeof "overflowed (clear)"];
} pv_names = {"docs/PARAVIRT.md", PV_SLOTS(PV_NAMES) "gate", "overflowed", "overflowed (clear)"};

#define PV_NAME(field) (uint16_t)offsetof(struct pv_names, field)
#define PV_ROWS_OF(n)                                                                                                  \
    [PV_ROW_CONFIG + (n)] = {UPMU_PAGE_CONFIG(n), PV_CLASS_CONFIG, (n), PV_NAME(config##n)},                           \
    [PV_ROW_VALUE + (n)] = {UPMU_PAGE_VALUE(n), PV_CLASS_VALUE, (n), PV_NAME(value##n)},
#define PV_ROW(row, name) [PV_ROW_##row] = {UPMU_PAGE_##row, PV_CLASS_##row, UPMU_NO_COUNTER, PV_NAME(name)}
static const struct upmu_register pv_rows[PV_ROWS] = {
    PV_SLOTS(PV_ROWS_OF)
    PV_ROW(GATE, gate), PV_ROW(STATUS, status), PV_ROW(ACK, ack)
};
/* clang-format on */

#define PV_ALL (~UINT64_C(0))

static const struct upmu_register_class pv_classes[PV_CLASSES] = {
    [PV_CLASS_CONFIG] = {.kind = UPMU_KIND_SELECT, .space = UPMU_SPACE_PAGE, .load_rank = 3, .release_rank = 2,
                         .found = 1, .promised = 1, .owned = PV_ALL, .interrupt = UPMU_PV_WISH_INTERRUPT,
                         .in_use = UPMU_PV_WISH_USED, .session = PV_RAW_BITS,
                         .privileged = UPMU_PV_WISH_INTERRUPT, .kernel = UPMU_SELECT_OS},
    [PV_CLASS_VALUE] = {.kind = UPMU_KIND_COUNTER, .space = UPMU_SPACE_PAGE, .load_rank = 5, .release_rank = 5,
                        .found = 1, .promised = 1, .owned = PV_ALL, .hardware = PV_ALL, .session = PV_ALL,
                        .privileged = PV_ALL},
    [PV_CLASS_GATE] = {.kind = UPMU_KIND_CONTROL, .space = UPMU_SPACE_PAGE, .load_rank = 7, .found = 1, .promised = 1,
                       .owned = PV_ALL, .gates = PV_ALL},
    [PV_CLASS_STATUS] = {.kind = UPMU_KIND_STATUS, .space = UPMU_SPACE_PAGE, .access = UPMU_ACCESS_RO, .promised = 1,
                         .hardware = PV_ALL},
    [PV_CLASS_ACK] = {.kind = UPMU_KIND_ACK, .space = UPMU_SPACE_PAGE, .access = UPMU_ACCESS_W1C, .load_rank = 6,
                      .promised = 1, .hardware = PV_ALL},
};

static const struct upmu_register_table pv_table = {
    pv_rows, pv_classes, (const char *)&pv_names, PV_ROWS, PV_CLASSES, 0
};

/* ---- Detection ---- */

extern const struct upmu_backend upmu_paravirt_backend;

static void pv_build(struct upmu_pmu *pmu, unsigned slots, uint32_t generic, bool raw)
{
    memset(pmu, 0, sizeof *pmu);
    pmu->name = "pv";
    pmu->title = "paravirtual PMU";
    pmu->table = &pv_table;
    pmu->capabilities = UPMU_PMU_GLOBAL_CTRL | UPMU_PMU_STATUS | UPMU_PMU_FULL_WRITE | UPMU_PMU_PAGE;
    pmu->quirks = raw ? PV_RAW : 0;
    pmu->refuses = 1u << UPMU_SOURCE_IMPORTED; /* imported catalogues are refused: only generic events have names */
    pmu->arch_events = generic;
    pmu->version = 2;
    pmu->status_row = PV_ROW_STATUS;
    pmu->ack_row = PV_ROW_ACK;
    pmu->inuse_row = UPMU_NO_ROW;
    pmu->max_period = (UINT64_C(1) << (UPMU_PV_WIDTH - 1u)) - 1u;
    pmu->min_period = 1;
    pmu->loop_config = 0xc0 | UPMU_SELECT_BOTH; /* instructions */
    for (unsigned i = 0; i < PV_CLASSES; i++)
        pmu->limit[i] = i == PV_CLASS_CONFIG  ? PV_ALL
                        : i == PV_CLASS_VALUE ? (UINT64_C(1) << UPMU_PV_WIDTH) - 1u
                                              : (UINT64_C(1) << slots) - 1u;
    upmu_rows_set(pmu->present, PV_ROW_STATUS);
    upmu_rows_set(pmu->present, PV_ROW_ACK);
    for (unsigned i = 0; i < slots; i++) {
        const struct upmu_counter counter = {
            .value_row = (uint8_t)(PV_ROW_VALUE + i), .write_row = (uint8_t)(PV_ROW_VALUE + i),
            .select_row = (uint8_t)(PV_ROW_CONFIG + i), .gate_row = PV_ROW_GATE, .gate_bit = (uint8_t)i,
            .width = UPMU_PV_WIDTH, .write_bits = UPMU_PV_WIDTH, .rdpmc = UPMU_NO_RDPMC
        };

        upmu_register_add_counter(pmu, i, &counter);
        pmu->preference[pmu->preference_count++] = (uint8_t)i;
    }
    pmu->general = pmu->counters;
}

/* Return the CPUID leaf with the signature of the paravirtual PMU (upmu/paravirt.h); 0: no leaf has it. */
static uint32_t pv_find_leaf(const struct upmu_detection *detection)
{
    uint32_t out[4];

    for (uint32_t leaf = UPMU_PV_LEAF_FIRST; leaf <= UPMU_PV_LEAF_LAST; leaf += UPMU_PV_LEAF_STEP) {
        detection->cpuid(detection->context, leaf, 0, out);
        if (out[1] == UPMU_PV_SIGNATURE_EBX && out[2] == UPMU_PV_SIGNATURE_ECX && out[3] == UPMU_PV_SIGNATURE_EDX &&
            out[0] - leaf >= 2 && out[0] - leaf < UPMU_PV_LEAF_STEP)
            return leaf;
    }
    return 0;
}

static bool pv_detect(const struct upmu_detection *detection, struct upmu_pmu *out_pmu)
{
    uint32_t leaf = detection->page && detection->hypervisor ? pv_find_leaf(detection) : 0, has[4], events[4];

    if (!leaf)
        return false;
    detection->cpuid(detection->context, leaf + 1u, 0, has);
    detection->cpuid(detection->context, leaf + 2u, 0, events);
    if (!(has[0] & UPMU_PV_HAS_PAGE) || has[2] != UPMU_PV_VERSION || !has[3])
        return false;
    pv_build(out_pmu, has[3] < UPMU_PV_SLOTS ? has[3] : UPMU_PV_SLOTS, events[1], has[0] & UPMU_PV_HAS_RAW);
    out_pmu->call = has[1];
    if (events[2])
        out_pmu->min_period = events[2];
    (void)upmu_detection_identify(detection, out_pmu);
    out_pmu->family = 0; /* no catalogue of the CPU's own events serves this PMU */
    return true;
}

/* ---- Events ---- */

/* By number of a generic event: the select word of the event in the architectural catalogue, without privileges. */
static const uint32_t pv_generic[UPMU_PV_GENERIC_EVENTS] = {
    [UPMU_PV_CYCLES] = UPMU_WORD_CYCLES,
    [UPMU_PV_INSTRUCTIONS] = UPMU_WORD_INSTRUCTIONS,
    [UPMU_PV_CACHE_REFERENCES] = UPMU_WORD_CACHE_REFERENCES,
    [UPMU_PV_CACHE_MISSES] = UPMU_WORD_CACHE_MISSES,
    [UPMU_PV_BRANCHES] = UPMU_WORD_BRANCHES,
    [UPMU_PV_BRANCH_MISSES] = UPMU_WORD_BRANCH_MISSES,
    [UPMU_PV_BUS_CYCLES] = UPMU_WORD_BUS_CYCLES,
    [UPMU_PV_STALLED_FRONTEND] = UPMU_WORD_FRONTEND,
    [UPMU_PV_STALLED_BACKEND] = UPMU_WORD_BACKEND,
    [UPMU_PV_REF_CYCLES] = UPMU_WORD_REF_CYCLES,
};

/*
 * Return the number (UPMU_PV_CYCLES, ...) of the generic event with this select word; UPMU_PV_GENERIC_EVENTS: no
 * generic event has this word, or the hypervisor does not offer the event.
 */
static unsigned pv_generic_of(const struct upmu_pmu *pmu, uint64_t select)
{
    unsigned i = 0;

    while (i < UPMU_PV_GENERIC_EVENTS && (pv_generic[i] != select || !(pmu->arch_events >> i & 1u)))
        i++;
    return i;
}

#if UPMU_NAMES

static bool pv_describe(const char *name, struct upmu_pmu *out_pmu)
{
    if (!upmu_text_is(name, upmu_text_length(name), "pv"))
        return false;
    pv_build(out_pmu, UPMU_PV_SLOTS, (1u << UPMU_PV_GENERIC_EVENTS) - 1u, true);
    return true;
}

static const char *pv_known(unsigned i)
{
    return i ? NULL : "pv";
}

static enum upmu_status pv_attribute(const struct upmu_pmu *pmu, struct upmu_event *event, const char *name,
                                  size_t length, const uint64_t *value)
{
    unsigned i = upmu_x86_field_of(name, length);
    bool raw = event->attributes & UPMU_ATTR_RAW;

    (void)pmu;
    if (i >= UPMU_X86_FIELDS || (i > UPMU_X86_FIELD_OS && !raw))
        return UPMU_ERR_NO_SUCH_ATTRIBUTE;
    return upmu_x86_set(event, i, raw ? PV_RAW_BITS : UPMU_SELECT_BOTH, value);
}

static enum upmu_status pv_from_row(const struct upmu_pmu *pmu, const struct upmu_row *row, struct upmu_event *event)
{
    uint64_t select = row->code | (uint64_t)(row->umask & 0xffu) << 8 | upmu_x86_modifiers(row);

    if (!upmu_catalog_is_architectural(upmu_catalog_of(pmu, event->id)))
        return UPMU_ERR_UNSUPPORTED;
    event->config = pv_generic_of(pmu, select);
    if (event->config == UPMU_PV_GENERIC_EVENTS)
        return UPMU_ERR_UNSUPPORTED;
    event->flags = PV_GENERIC;
    return UPMU_OK;
}

static void pv_format(const struct upmu_pmu *pmu, const struct upmu_event *event, const struct upmu_row *row,
                   struct upmu_text *out)
{
    (void)pmu;
    upmu_x86_format(event, row, UPMU_X86_INTEL, out);
}

#endif

/*
 * Finish an event. Any slot (counter of the page) can count it. Without PV_RAW a raw event is permitted only if its
 * select word, apart from the privileges and the enable and interrupt bits, is that of a generic event: pv_render()
 * then asks for the generic event.
 */
static enum upmu_status pv_finish(const struct upmu_pmu *pmu, struct upmu_event *event)
{
    bool generic = event->flags & PV_GENERIC;
    enum upmu_status status = upmu_x86_settle(event, generic ? UPMU_SELECT_BOTH | 0xfu : PV_RAW_BITS);

    if (status != UPMU_OK)
        return status;
    if (event->config1 || (!generic && !(pmu->quirks & PV_RAW) &&
                           pv_generic_of(pmu, event->config & ~UPMU_SELECT_BOTH) == UPMU_PV_GENERIC_EVENTS))
        return UPMU_ERR_NOT_PERMITTED;
    upmu_x86_settle_attributes(event);
    event->counters = pmu->counters;
    return UPMU_OK;
}

/* ---- Register values: of events, of released slots, of overflow flags ---- */

static void pv_render(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned number,
                   const uint8_t *counters, unsigned flags, struct upmu_image *image)
{
    uint64_t select = event->config & ~UPMU_SELECT_BOTH, wish = UPMU_PV_WISH_USED;

    (void)number;
    if (event->flags & PV_GENERIC)
        wish |= select;
    else
        wish |= pmu->quirks & PV_RAW ? UPMU_PV_WISH_RAW | select : pv_generic_of(pmu, select);
    if (event->config & UPMU_SELECT_USR)
        wish |= UPMU_PV_WISH_USER;
    if (event->config & UPMU_SELECT_OS)
        wish |= UPMU_PV_WISH_KERNEL;
    if (flags & UPMU_RENDER_INTERRUPT)
        wish |= UPMU_PV_WISH_INTERRUPT;
    upmu_image_add(image, PV_ROW_CONFIG + counters[0], PV_ALL, wish, UPMU_BIT32(counters[0]));
}

static void pv_release(const struct upmu_pmu *pmu, uint32_t counters, struct upmu_image *image)
{
    (void)pmu;
    for (; counters; counters &= counters - 1u)
        upmu_image_add(image, PV_ROW_CONFIG + upmu_bits_lowest(counters), PV_ALL, 0, counters & (0u - counters));
}

static uint32_t pv_overflowed(const struct upmu_pmu *pmu, uint64_t status)
{
    return pmu->counters & (uint32_t)status;
}

static uint64_t pv_acknowledge(const struct upmu_pmu *pmu, uint32_t counters)
{
    (void)pmu;
    return counters;
}

static const char *pv_counter_prefix(const struct upmu_pmu *pmu, unsigned counter, unsigned *out_index)
{
    (void)pmu;
    *out_index = counter;
    return "slot ";
}

const struct upmu_backend upmu_paravirt_backend = {
    .name = "paravirt",
    .detect = pv_detect,
#if UPMU_NAMES
    .describe = pv_describe,
    .names = pv_known,
    .attribute = pv_attribute,
    .from_row = pv_from_row,
    .format = pv_format,
#endif
    .finish = pv_finish,
    .alternative = upmu_pmu_any_counter,
    .render = pv_render,
    .release = pv_release,
    .overflowed = pv_overflowed,
    .acknowledge = pv_acknowledge,
    .resource_name = upmu_pmu_no_resource,
    .counter_prefix = pv_counter_prefix,
};

#endif
