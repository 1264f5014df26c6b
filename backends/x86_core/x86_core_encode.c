/* SPDX-License-Identifier: MIT */
/*
 * Events of the Intel core PMUs: catalogue rows and attributes to select words and
 * payloads, and back to text.
 *
 * Layout: Intel SDM vol 3 (325384-059) 18.2.1.1 and 18.2.3; transactional bits and
 * payloads: Linux arch/x86/events/intel/core.c; qualifiers: FreeBSD's
 * lib/libpmc/libpmc.c, class IAP.
 */
#include "backends/x86_core/x86_core.h"
#include "backends/x86_core/x86_core_registers.h"
#include "core/bits.h"
#include "core/mem.h"
#include "core/register.h"
#include "core/text.h"

#if UPMU_BACKEND_X86_CORE

/* Shortest threshold that the load latency facility takes (Linux, libpfm4 4.13). */
#define LDLAT_LEAST 3u

#define SELECT_BOTH (UPMU_X86_SELECT_USR | UPMU_X86_SELECT_OS)

/* Compare with the counter mask for equality; the bit of an attribute that only NetBurst has. */
#define UPMU_X86_ATTR_EQ UPMU_ATTR_ACTIVE

/* What can be given to an event: fields of its select word, and with `payload` the payload of that kind. */
static const struct field {
    uint64_t bits;
    uint16_t attribute; /* UPMU_ATTR_…; _RAW: part of the code, which only raw events can be given */
    uint8_t shift;
    uint8_t row;
    uint8_t payload;
    uint8_t least;
    char name[14]; /* in canonical text */
} fields[] = {
    {UPMU_X86_SELECT_USR, UPMU_ATTR_USR, 16, UPMU_X86_ROW_SELECT, 0, 0, ":u"},
    {UPMU_X86_SELECT_OS, UPMU_ATTR_OS, 17, UPMU_X86_ROW_SELECT, 0, 0, ":k"},
    {UPMU_X86_SELECT_EDGE, UPMU_ATTR_EDGE, 18, UPMU_X86_ROW_SELECT, 0, 0, ":e="},
    {UPMU_X86_SELECT_INV, UPMU_ATTR_INV, 23, UPMU_X86_ROW_SELECT, 0, 0, ":i="},
    {UPMU_X86_SELECT_CMASK, UPMU_ATTR_CMASK, 24, UPMU_X86_ROW_SELECT, 0, 0, ":c="},
    {UPMU_X86_SELECT_ANY, UPMU_ATTR_ANY, 21, UPMU_X86_ROW_SELECT, 0, 0, ":t="},
    {UPMU_X86_SELECT_IN_TX, UPMU_ATTR_IN_TX, 32, UPMU_X86_ROW_SELECT, 0, 0, ":intx="},
    {UPMU_X86_SELECT_IN_TXCP, UPMU_ATTR_IN_TXCP, 33, UPMU_X86_ROW_SELECT, 0, 0, ":intxcp="},
    {UPMU_X86_SELECT_EQ, UPMU_X86_ATTR_EQ, 36, UPMU_X86_ROW_SELECT, 0, 0, ":eq="},
    {~UINT64_C(0), UPMU_ATTR_PAYLOAD, 0, UPMU_X86_ROW_OFFCORE, UPMU_X86_PAYLOAD_OFFCORE, 1, ":offcore_rsp="},
    {~UINT64_C(0), UPMU_ATTR_PAYLOAD, 0, UPMU_X86_ROW_LDLAT, UPMU_X86_PAYLOAD_LDLAT, LDLAT_LEAST, ":ldlat="},
    {~UINT64_C(0), UPMU_ATTR_PAYLOAD, 0, UPMU_X86_ROW_FRONTEND, UPMU_X86_PAYLOAD_FRONTEND, 1, ":frontend="},
    {~UINT64_C(0), UPMU_ATTR_PAYLOAD, 0, UPMU_X86_ROW_SNOOP, UPMU_X86_PAYLOAD_SNOOP, 1, ":snoop_rsp="},
    {UPMU_X86_SELECT_UMASK, UPMU_ATTR_RAW, 8, UPMU_X86_ROW_SELECT, 0, 0, ":umask="},
    {UPMU_X86_SELECT_EVENT, UPMU_ATTR_RAW, 0, UPMU_X86_ROW_SELECT, 0, 0, ":event="},
    {UINT64_C(0xfff00), UPMU_ATTR_PAYLOAD, 8, UPMU_X86_ROW_FRONTEND, UPMU_X86_PAYLOAD_FRONTEND, 1, ":fe_thres="},
};

/* Indices of fields: the privileges stand first; then other fields of the select word. */
#define FIELD_EDGE 2u
#define FIELD_PAYLOADS 9u
#define FIELD_FRONTEND 11u
#define FIELD_UMASK 13u
#define FIELD_THRESHOLD 15u
#define FIELDS (sizeof fields / sizeof fields[0])

/* Attributes that a select word implies, without the privileges. */
#define SELECT_ATTRIBUTES                                                                                              \
    (UPMU_ATTR_EDGE | UPMU_ATTR_INV | UPMU_ATTR_CMASK | UPMU_ATTR_ANY | UPMU_ATTR_IN_TX | UPMU_ATTR_IN_TXCP |          \
     UPMU_X86_ATTR_EQ)

/*
 * What may be set in a row; newer CPUs have OMR registers where others have offcore ones.
 * A hypervisor may leave out general counter 0, whose select stands for all.
 */
static uint64_t settable(const struct upmu_pmu *pmu, unsigned row)
{
    const struct upmu_register_class *class = &pmu->table->classes[UPMU_X86_CLASS_SELECT];

    if (row == UPMU_X86_ROW_SELECT)
        return (class->session | class->privileged) & pmu->limit[UPMU_X86_CLASS_SELECT];
    if (row == UPMU_X86_ROW_OFFCORE && !upmu_rows_has(pmu->present, row))
        row = UPMU_X86_ROW_OMR;
    return upmu_register_settable(pmu, row, UPMU_LEVEL_PRIVILEGED);
}

#if UPMU_NAMES

/* Names of attributes, the family's first, with an index into `fields`. */
#define WORD_PRECISELY FIELDS

static const struct {
    char name[12];
    uint8_t what;
} attribute_words[] = {
    {"u", 0},
    {"usr", 0},
    {"k", 1},
    {"os", 1},
    {"e", 2},
    {"edge", 2},
    {"i", 3},
    {"inv", 3},
    {"c", 4},
    {"cmask", 4},
    {"count", 4},
    {"thr", 4},
    {"threshold", 4},
    {"t", 5},
    {"any", 5},
    {"anythread", 5},
    {"intx", 6},
    {"in_tx", 6},
    {"intxcp", 7},
    {"in_txcp", 7},
    {"in_tx_cp", 7},
    {"eq", 8},
    {"offcore_rsp", FIELD_PAYLOADS},
    {"ldlat", 10},
    {"frontend", FIELD_FRONTEND},
    {"fe_thres", FIELD_THRESHOLD},
    {"snoop_rsp", 12},
    {"umask", FIELD_UMASK},
    {"event", 14},
    {"p", WORD_PRECISELY},
    {"precise", WORD_PRECISELY},
};
#define ATTRIBUTE_WORDS (sizeof attribute_words / sizeof attribute_words[0])

/* A front-end event of latency: bubbles for so many cycles, 1 unless the event says more. */
#define FRONTEND_LATENCY 0x06u
#define FRONTEND_LEAST UINT64_C(0x100)

/*
 * Give a field its value.  A field that is set already without having been given
 * is wired in the event: it may only be confirmed, but for the shortest latency.
 */
static enum upmu_status set_field(const struct upmu_pmu *pmu, struct upmu_event *event, const struct field *field,
                                  const uint64_t *given)
{
    uint64_t bits = field->bits & settable(pmu, field->row);
    uint64_t *word = field->payload ? &event->config1 : &event->config;
    uint64_t value = given ? *given : 1, room = bits >> field->shift;

    if (!bits || (field->payload && event->payload && event->payload != field->payload))
        return UPMU_ERR_NO_SUCH_ATTRIBUTE;
    if ((!given && room != 1) || (value & ~room) || value < field->least)
        return UPMU_ERR_BAD_VALUE;
    value <<= field->shift;
    if (field == &fields[FIELD_THRESHOLD]) {
        if ((*word & 0xffu) != FRONTEND_LATENCY)
            return UPMU_ERR_NO_SUCH_ATTRIBUTE;
        if (value != FRONTEND_LEAST && (*word & bits) == FRONTEND_LEAST && !(event->attributes & UPMU_ATTR_PAYLOAD))
            *word &= ~bits;
    }
    bits &= *word;
    if (bits || ((event->attributes ^ UPMU_ATTR_RAW) & field->attribute))
        return bits == value ? UPMU_OK : UPMU_ERR_CONTRADICTION;
    *word |= value;
    event->attributes |= field->attribute;
    event->payload |= field->payload;
    return UPMU_OK;
}

enum upmu_status upmu_x86_core_attribute(const struct upmu_pmu *pmu, struct upmu_event *event, const char *name,
                                         size_t length, const uint64_t *value)
{
    unsigned i = 0;

    while (!upmu_text_is(name, length, attribute_words[i].name))
        if (++i == ATTRIBUTE_WORDS)
            return UPMU_ERR_NO_SUCH_ATTRIBUTE;
    i = attribute_words[i].what;
    if (i == WORD_PRECISELY) {
        if (value && *value > 3)
            return UPMU_ERR_BAD_VALUE;
        if (!value || *value)
            event->attributes |= UPMU_ATTR_PRECISE;
        return UPMU_OK;
    }
    /* USR and OS of raw words give way to attributes; elsewhere they are never wired. */
    if (i < FIELD_EDGE && !(event->attributes & (UPMU_ATTR_USR | UPMU_ATTR_OS)))
        event->config &= ~SELECT_BOTH;
    return set_field(pmu, event, &fields[i], value);
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
    event->config = (row->code & UPMU_X86_SELECT_EVENT) | (row->umask & 0xffu) << 8 | (uint64_t)(row->umask >> 8) << 40;
    if (row->flags & UPMU_ROW_EDGE)
        event->config |= UPMU_X86_SELECT_EDGE;
    if (row->flags & UPMU_ROW_INV)
        event->config |= UPMU_X86_SELECT_INV;
    if (row->flags & UPMU_ROW_ANY)
        event->config |= UPMU_X86_SELECT_ANY;
    if (row->flags & UPMU_ROW_CMASK)
        event->config |= (uint64_t)row->cmask << 24;
    /* Where the text will say a number instead of masks, it says what they wired, too. */
    for (unsigned i = FIELD_EDGE; (row->flags & UPMU_ROW_MASKED) && !event->id.masks && i < FIELD_PAYLOADS; i++)
        if (event->config & fields[i].bits)
            event->attributes |= fields[i].attribute;
    /* Elsewhere it is only a default: see upmu_x86_core_finish(). */
    if (row->flags & (UPMU_ROW_PAYLOAD | UPMU_ROW_MASKED))
        event->config1 = row->payload;
    event->counters = row->counters;
    if (row->flags & UPMU_ROW_FIXED_ONLY)
        event->counters = ~UINT32_C(0xffff);
    return upmu_x86_core_translate(pmu, &event->config, &event->counters) ? UPMU_OK : UPMU_ERR_UNSUPPORTED;
}

static void write_field(struct upmu_text *out, const char *name, uint64_t value)
{
    upmu_text_string(out, name);
    if (value < 256)
        upmu_text_decimal(out, value);
    else
        upmu_text_hex(out, value);
}

/*
 * With '=', because unit masks may have the names of attributes (E, I, ANY), but
 * none is called u or k.
 */
void upmu_x86_core_format(const struct upmu_pmu *pmu, const struct upmu_event *event, const struct upmu_row *row,
                          struct upmu_text *out)
{
    (void)pmu;
    if (!(event->attributes & UPMU_ATTR_RAW)) {
        if ((row->flags & UPMU_ROW_MASKED) && !event->id.masks) {
            upmu_text_string(out, ":umask=");
            upmu_text_hex(out, event->config >> 8 & 0xffu);
        }
        if ((event->config & SELECT_BOTH) != SELECT_BOTH)
            upmu_text_string(out, fields[event->config & UPMU_X86_SELECT_USR ? 0 : 1].name);
        for (unsigned i = FIELD_EDGE; i < FIELD_UMASK; i++) {
            /* Where the row has a payload only its threshold can be given. */
            const struct field *field =
                &fields[i == FIELD_FRONTEND && (row->flags & UPMU_ROW_PAYLOAD) ? FIELD_THRESHOLD : i];

            if ((event->attributes & field->attribute) && (!field->payload || field->payload == event->payload))
                write_field(out, field->name,
                            ((field->payload ? event->config1 : event->config) & field->bits) >> field->shift);
        }
    }
    if (event->attributes & UPMU_ATTR_PRECISE)
        upmu_text_string(out, ":precise=1");
}

#endif

/*
 * Attribute bits follow the words: of a named event, those that were given and are
 * not 0; of a raw one, privileges and payload, since the word says the rest.
 */
static void settle_attributes(struct upmu_event *event)
{
    unsigned attributes = event->attributes | UPMU_ATTR_USR | UPMU_ATTR_OS;

    if (attributes & UPMU_ATTR_RAW) {
        attributes &= ~(unsigned)SELECT_ATTRIBUTES;
        if (event->config1)
            attributes |= UPMU_ATTR_PAYLOAD;
    }
    for (unsigned i = 0; i < FIELD_PAYLOADS; i++)
        if (!(event->config & fields[i].bits))
            attributes &= ~(unsigned)fields[i].attribute;
    event->attributes = (uint16_t)attributes;
}

/*
 * Periods: HSW11 and BDM11, instructions retired by general counters miscount at
 * short ones; BDM55, bits 5:0 of the count that is left are ignored.
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

/* The payload's register and kind are the event's; its value must be one that the register takes. */
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
    /* Atoms choose the offcore register by the unit mask, 1 or 2. */
    if (payload == UPMU_X86_PAYLOAD_OFFCORE &&
        upmu_x86_core_payload(pmu, event->config ^ 0x300, &other) == (resource ^ 1u))
        event->flags |= UPMU_X86_EVENT_BY_UMASK;
    if (payload == UPMU_X86_PAYLOAD_LDLAT && !event->config1)
        event->config1 = LDLAT_LEAST;
    return (event->config1 & ~bits) || (payload == UPMU_X86_PAYLOAD_LDLAT && event->config1 < LDLAT_LEAST)
               ? UPMU_ERR_NOT_PERMITTED
               : UPMU_OK;
}

enum upmu_status upmu_x86_core_finish(const struct upmu_pmu *pmu, struct upmu_event *event)
{
    enum upmu_status status;

    event->config &= ~(UPMU_X86_SELECT_EN | UPMU_X86_SELECT_INT);
    if ((event->config & ~settable(pmu, UPMU_X86_ROW_SELECT)) || event->config2)
        return UPMU_ERR_NOT_PERMITTED;
    /* Both privileges unless one is named; what is named decides the other. */
    if (!(event->config & SELECT_BOTH))
        event->config |= SELECT_BOTH & ~((uint64_t)event->attributes * UPMU_X86_SELECT_USR);
    if (!(event->config & SELECT_BOTH))
        return UPMU_ERR_CONTRADICTION;
    status = settle_payload(pmu, event);
    if (status != UPMU_OK)
        return status;
    settle_period(pmu, event);
    settle_attributes(event);
    /* BJ122, BV98, HSD29: D0h to D3h. */
    if ((pmu->quirks & UPMU_X86_QUIRK_EXCLUSIVE) && (event->config & 0xfc) == 0xd0)
        event->attributes |= UPMU_ATTR_EXCLUSIVE;
    event->counters = upmu_x86_core_counters(pmu, event);
    return event->counters ? UPMU_OK : UPMU_ERR_DOES_NOT_FIT;
}

#endif
