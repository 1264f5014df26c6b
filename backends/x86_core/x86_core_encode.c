/* SPDX-License-Identifier: MIT */
/*
 * Encode events of the Intel core PMUs: make the select word and the payload of an event from a catalogue row and
 * attributes, check them and find the counters for them; write attributes back as text.
 *
 * Layout: Intel SDM vol 3 (325384-059) 18.2.1.1 and 18.2.3; transactional bits and payloads: Linux
 * arch/x86/events/intel/core.c; qualifiers: FreeBSD's lib/libpmc/libpmc.c, class IAP.
 */
#include "backends/x86_common/x86_select.h"
#include "backends/x86_core/x86_core.h"
#include "backends/x86_core/x86_core_registers.h"
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/hw/register.h"
#include "core/util/text.h"

#if UPMU_BACKEND_X86_CORE

/*
 * Return the bits that may be set in the register of a row. The select of general counter 0 stands for all selects,
 * also where a hypervisor leaves out counter 0. Where the PMU has no offcore registers, their row stands for the OMR
 * registers.
 */
static UPMU_APART uint64_t settable_bits(const struct upmu_pmu *pmu, unsigned row)
{
    const struct upmu_register_class *class = &pmu->table->classes[UPMU_X86_CLASS_SELECT];

    if (row == UPMU_X86_ROW_SELECT)
        return (class->session | class->privileged) & pmu->limit[UPMU_X86_CLASS_SELECT];
    if (row == UPMU_X86_ROW_OFFCORE && !upmu_rows_has(pmu->present, row))
        row = UPMU_X86_ROW_OMR;
    /* The valid bits of both offcore registers: settle_payload() checks the event's own register later. */
    return upmu_register_settable(pmu, row, UPMU_LEVEL_PRIVILEGED) |
           (row == UPMU_X86_ROW_OFFCORE ? upmu_register_settable(pmu, row + 1, UPMU_LEVEL_PRIVILEGED) : 0);
}

#if UPMU_NAMES

/*
 * MSR_PEBS_FRONTEND with code 06h in bits 7:0: the event counts bubbles that last at least as many cycles as bits 19:8
 * say. FRONTEND_LEAST: one cycle.
 */
#define FRONTEND_LATENCY 0x06u
#define FRONTEND_LEAST UINT64_C(0x100)
#define FRONTEND_CYCLES UINT64_C(0xfff00)

enum upmu_status upmu_x86_core_attribute(const struct upmu_pmu *pmu, struct upmu_event *event, const char *name,
                                         size_t length, const uint64_t *value)
{
    /* Indexed by the kind of payload (0: none, the select): the row of the register that has the field. */
    static const uint8_t rows[] = {UPMU_X86_ROW_SELECT, UPMU_X86_ROW_OFFCORE, UPMU_X86_ROW_LDLAT,
                                   UPMU_X86_ROW_FRONTEND, UPMU_X86_ROW_SNOOP};
    unsigned i = upmu_x86_field_of(name, length);
    const struct upmu_x86_field *field = upmu_x86_fields;

    if (i == UPMU_X86_FIELDS)
        return upmu_pmu_level_attribute(event, length, value);
    if (i > UPMU_X86_FIELDS)
        return UPMU_ERR_NO_SUCH_ATTRIBUTE;
    field += i;
    if (!(field->families & UPMU_X86_INTEL) ||
        (field->payload && event->payload && event->payload != field->payload))
        return UPMU_ERR_NO_SUCH_ATTRIBUTE;
    if (i == UPMU_X86_FIELD_THRESHOLD) {
        if ((event->config1 & 0xffu) != FRONTEND_LATENCY)
            return UPMU_ERR_NO_SUCH_ATTRIBUTE;
        /* A row with one cycle leaves the number to the text: clear it, so that any value can be set. */
        if ((event->config1 & FRONTEND_CYCLES) == FRONTEND_LEAST && !(event->attributes & UPMU_ATTR_PAYLOAD))
            event->config1 &= ~FRONTEND_CYCLES;
    }
    return upmu_x86_set(event, i, settable_bits(pmu, rows[field->payload]), value);
}

static const struct {
    char name[14];
    char word[8];
    uint8_t field;
    uint8_t bits;
} qualifiers[] = {
    {"core", "all", 0xC0, 0xC0},          {"core", "this", 0xC0, 0x40},          {"agent", "this", 0x20, 0x00},
    {"agent", "any", 0x20, 0x20},         {"prefetch", "both", 0x30, 0x30},      {"prefetch", "only", 0x30, 0x10},
    {"prefetch", "exclude", 0x30, 0x00},  {"cachestate", "i", 0x0F, 0x01},       {"cachestate", "s", 0x0F, 0x02},
    {"cachestate", "e", 0x0F, 0x04},      {"cachestate", "m", 0x0F, 0x08},       {"snoopresponse", "clean", 0x0B, 0x01},
    {"snoopresponse", "hit", 0x0B, 0x02}, {"snoopresponse", "hitm", 0x0B, 0x08}, {"snooptype", "cmp2s", 0x03, 0x01},
    {"snooptype", "cmp2i", 0x03, 0x02},
};

bool upmu_x86_core_qualifier(const char *name, size_t name_length, const char *word, size_t length, uint16_t *out_field,
                             uint16_t *out_bits)
{
    for (unsigned i = 0; i < sizeof qualifiers / sizeof qualifiers[0]; i++) {
        if (!upmu_text_is(name, name_length, qualifiers[i].name))
            continue;
        *out_field = qualifiers[i].field;
        *out_bits = qualifiers[i].bits;
        if (upmu_text_is(word, length, qualifiers[i].word))
            return true;
    }
    return false;
}

enum upmu_status upmu_x86_core_from_row(const struct upmu_pmu *pmu, const struct upmu_row *row,
                                        struct upmu_event *event)
{
    event->config = (row->code & UPMU_X86_SELECT_EVENT) | (row->umask & 0xffu) << 8 |
                    (uint64_t)(row->umask >> 8) << 40 | upmu_x86_modifiers(row);
    /*
     * The text gave the unit mask as a number (umask=), so the canonical text has no mask names. Mark the other fields
     * that the row sets as given, so that the canonical text has them.
     */
    if ((row->flags & UPMU_ROW_MASKED) && !event->id.masks)
        for (unsigned i = UPMU_X86_FIELD_EDGE; i < UPMU_X86_FIELD_PAYLOADS; i++)
            if (event->config & upmu_x86_fields[i].bits)
                event->attributes |= upmu_x86_fields[i].attribute;
    /* The payload of other rows is a default, which settle_payload() sets (ldlat). */
    if (row->flags & (UPMU_ROW_PAYLOAD | UPMU_ROW_MASKED))
        event->config1 = row->payload;
    event->counters = row->counters;
    if (row->flags & UPMU_ROW_FIXED_ONLY)
        event->counters = ~UINT32_C(0xffff);
    if (!(row->flags & UPMU_ROW_PRECISE))
        event->flags = UPMU_X86_EVENT_PLAIN;
    return upmu_x86_core_translate(pmu, row, event) ? UPMU_OK : UPMU_ERR_UNSUPPORTED;
}

void upmu_x86_core_format(const struct upmu_pmu *pmu, const struct upmu_event *event, const struct upmu_row *row,
                          struct upmu_text *out)
{
    (void)pmu;
    upmu_x86_format(event, row, UPMU_X86_INTEL, out);
    if (event->attributes & UPMU_ATTR_PRECISE) {
        upmu_text_string(out, ":precise=");
        upmu_text_decimal(out, UPMU_PRECISE_LEVEL(event->attributes));
    }
}

#endif

/*
 * Set the shortest period of C0h/01h (128) and, with BDM55, the step of its periods (64). HSW11 and BDM11: general
 * counters count retired instructions wrong at short periods; BDM55: bits 5:0 of longer periods are ignored.
 */
static void settle_period(const struct upmu_pmu *pmu, struct upmu_event *event)
{
    if ((event->config & UPMU_X86_CODE) != 0x01c0 ||
        !(pmu->quirks & (UPMU_X86_QUIRK_HSW11 | UPMU_X86_QUIRK_BDM55)))
        return;
    event->least_log2 = 7;
    if (pmu->quirks & UPMU_X86_QUIRK_BDM55)
        event->step_log2 = 6;
}

/*
 * Set kind and resource of the payload by the select word, and check its value (event->config1). Returns UPMU_OK;
 * UPMU_ERR_NO_SUCH_ATTRIBUTE: the text gave a payload of another kind; UPMU_ERR_NOT_PERMITTED: the register cannot have
 * the value; UPMU_ERR_COMPILED_OUT: the event needs two slots.
 */
static enum upmu_status settle_payload(const struct upmu_pmu *pmu, struct upmu_event *event)
{
    static const uint8_t kinds[UPMU_X86_PAYLOADS] = {
        UPMU_X86_PAYLOAD_OFFCORE, UPMU_X86_PAYLOAD_OFFCORE, UPMU_X86_PAYLOAD_LDLAT,   UPMU_X86_PAYLOAD_FRONTEND,
        UPMU_X86_PAYLOAD_SNOOP,   UPMU_X86_PAYLOAD_SNOOP,   UPMU_X86_PAYLOAD_OFFCORE, UPMU_X86_PAYLOAD_OFFCORE,
        UPMU_X86_PAYLOAD_OFFCORE, UPMU_X86_PAYLOAD_OFFCORE};
    uint64_t bits, other;
    unsigned resource = upmu_x86_core_payload(pmu, event->config, &bits);
    unsigned payload = resource < UPMU_X86_PAYLOADS ? kinds[resource] : 0;

    if (event->payload && event->payload != payload)
        return UPMU_ERR_NO_SUCH_ATTRIBUTE;
    event->payload = (uint8_t)payload;
    event->flags = (uint8_t)(resource & UPMU_X86_EVENT_RESOURCE);
    if (payload == UPMU_X86_PAYLOAD_OFFCORE) {
        /* On Atoms unit mask 1 or 2 tells the offcore register: the other mask stands for the other register. */
        if (upmu_x86_core_payload(pmu, event->config ^ 0x300, &other) == (resource ^ 1u))
            event->flags |= UPMU_X86_EVENT_BY_UMASK;
        /* If this register does not accept the value of a named event, but the other one does, use the other one. */
        if (!(event->attributes & UPMU_ATTR_RAW) && (event->config1 & ~bits) &&
            upmu_x86_core_payload(pmu, upmu_x86_core_select(event, 1), &other) == (resource ^ 1u) &&
            !(event->config1 & ~other)) {
            event->config = upmu_x86_core_select(event, 1);
            event->flags ^= 1u;
            bits = other;
        }
    }
    if (UPMU_SLOTS == 1 && payload == UPMU_X86_PAYLOAD_LDLAT && (pmu->quirks & UPMU_X86_QUIRK_LDLAT_AUX))
        return UPMU_ERR_COMPILED_OUT;
    if (payload == UPMU_X86_PAYLOAD_LDLAT && !event->config1)
        event->config1 = UPMU_X86_LDLAT_LEAST;
    return (event->config1 & ~bits) || (payload == UPMU_X86_PAYLOAD_LDLAT && event->config1 < UPMU_X86_LDLAT_LEAST)
               ? UPMU_ERR_NOT_PERMITTED
               : UPMU_OK;
}

enum upmu_status upmu_x86_core_finish(const struct upmu_pmu *pmu, struct upmu_event *event)
{
    enum upmu_status status = upmu_x86_settle(event, settable_bits(pmu, UPMU_X86_ROW_SELECT));
    bool plain = !upmu_x86_core_recipe(pmu, event) && (event->flags & UPMU_X86_EVENT_PLAIN);
    uint32_t counters;

    if (status == UPMU_OK)
        status = settle_payload(pmu, event);
    if (status != UPMU_OK)
        return status;
    settle_period(pmu, event);
    upmu_x86_settle_attributes(event);
    /*
     * With IN_TXCP the count can fall, which the attribute tells the engine. Set it also for raw words and rows with
     * the bit: upmu_x86_settle_attributes() has removed it from raw events.
     */
    if (event->config & UPMU_X86_SELECT_IN_TXCP)
        event->attributes |= UPMU_ATTR_IN_TXCP;
    /*
     * BJ122, BV98, HSD29: D0h to D3h disturb the counter of the same number on the other hyper-thread, which must be
     * idle.
     */
    if ((pmu->quirks & UPMU_X86_QUIRK_EXCLUSIVE) && (event->config & 0xfc) == 0xd0)
        event->attributes |= UPMU_ATTR_EXCLUSIVE;
    counters = upmu_x86_core_counters(pmu, event);
    if ((event->attributes & UPMU_ATTR_PRECISE) && (!counters || (plain && upmu_x86_core_needs_row(pmu))))
        return UPMU_ERR_NOT_PRECISE;
    event->counters = counters;
    return counters ? UPMU_OK : UPMU_ERR_DOES_NOT_FIT;
}

#endif
