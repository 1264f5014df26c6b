/* SPDX-License-Identifier: MIT */
/*
 * Fields of select registers and payloads, by name and by number, for Intel's core PMUs and AMD's.
 *
 * Layout: Intel SDM vol 3 (325384-059) 18.2.1.1 and 18.2.3, AMD APM vol 2 (24593) 13.2; transactional bits and
 * payloads: Linux arch/x86/events/intel/core.c.
 */
#include "backends/x86_common/x86_select.h"
#include "core/util/text.h"

#if UPMU_BACKEND_X86_CORE || UPMU_BACKEND_AMD || UPMU_BACKEND_PARAVIRT

#define BIT(n) (UINT64_C(1) << (n))

const struct upmu_x86_field upmu_x86_fields[UPMU_X86_FIELDS] = {
    [UPMU_X86_FIELD_USR] = {UPMU_SELECT_USR, UPMU_ATTR_USR, 16, UPMU_X86_ALL, 0, 0, ":u"},
    [UPMU_X86_FIELD_OS] = {UPMU_SELECT_OS, UPMU_ATTR_OS, 17, UPMU_X86_ALL, 0, 0, ":k"},
    [UPMU_X86_FIELD_EDGE] = {UPMU_SELECT_EDGE, UPMU_ATTR_EDGE, 18, UPMU_X86_ALL, 0, 0, ":e="},
    [UPMU_X86_FIELD_INV] = {UPMU_SELECT_INV, UPMU_ATTR_INV, 23, UPMU_X86_ALL, 0, 0, ":i="},
    [UPMU_X86_FIELD_CMASK] = {UPMU_SELECT_CMASK, UPMU_ATTR_CMASK, 24, UPMU_X86_ALL, 0, 0, ":c="},
    [UPMU_X86_FIELD_GUEST] = {BIT(40), 0, 40, UPMU_X86_AMD, 0, 0, ":g="},
    [UPMU_X86_FIELD_HOST] = {BIT(41), 0, 41, UPMU_X86_AMD, 0, 0, ":h="},
    [UPMU_X86_FIELD_PC] = {BIT(19), 0, 19, UPMU_X86_AMD, 0, 0, ":pc="},
    [UPMU_X86_FIELD_UMASK] = {UPMU_SELECT_UMASK, UPMU_ATTR_RAW, 8, UPMU_X86_ALL, 0, 0, ":umask="},
    [UPMU_X86_FIELD_EVENT] = {UINT64_C(0xff), UPMU_ATTR_RAW, 0, UPMU_X86_INTEL, 0, 0, ""},
    [UPMU_X86_FIELD_AMD_EVENT] = {UINT64_C(0xf000000ff), UPMU_ATTR_RAW, 0, UPMU_X86_AMD, 0, 0, ""},
#if UPMU_BACKEND_X86_CORE
#define PAYLOAD(kind, least, name) \
    {~UINT64_C(0), UPMU_ATTR_PAYLOAD, 0, UPMU_X86_INTEL, UPMU_X86_PAYLOAD_##kind, least, name}
    [UPMU_X86_FIELD_ANY] = {UPMU_SELECT_ANY, UPMU_ATTR_ANY, 21, UPMU_X86_INTEL, 0, 0, ":t="},
    [UPMU_X86_FIELD_IN_TX] = {BIT(32), UPMU_ATTR_IN_TX, 32, UPMU_X86_INTEL, 0, 0, ":intx="},
    [UPMU_X86_FIELD_IN_TXCP] = {BIT(33), UPMU_ATTR_IN_TXCP, 33, UPMU_X86_INTEL, 0, 0, ":intxcp="},
    [UPMU_X86_FIELD_EQ] = {UPMU_SELECT_EQ, UPMU_ATTR_EQ, 36, UPMU_X86_INTEL, 0, 0, ":eq="},
    [UPMU_X86_FIELD_OFFCORE] = PAYLOAD(OFFCORE, 1, ":offcore_rsp="),
    [UPMU_X86_FIELD_LDLAT] = PAYLOAD(LDLAT, UPMU_X86_LDLAT_LEAST, ":ldlat="),
    [UPMU_X86_FIELD_FRONTEND] = PAYLOAD(FRONTEND, 1, ":frontend="),
    [UPMU_X86_FIELD_SNOOP] = PAYLOAD(SNOOP, 1, ":snoop_rsp="),
    [UPMU_X86_FIELD_THRESHOLD] = {UINT64_C(0xfff00), UPMU_ATTR_PAYLOAD, 8, UPMU_X86_INTEL, UPMU_X86_PAYLOAD_FRONTEND,
                                  1, ":fe_thres="},
#undef PAYLOAD
#endif
};

#if UPMU_NAMES

#define WORD(name, field) {name, UPMU_X86_FIELD_##field}
static const struct {
    char name[UPMU_BACKEND_X86_CORE ? 12 : 10];
    uint8_t field;
} field_words[] = {
    WORD("u", USR),
    WORD("usr", USR),
    WORD("k", OS),
    WORD("os", OS),
    WORD("e", EDGE),
    WORD("edge", EDGE),
    WORD("i", INV),
    WORD("inv", INV),
    WORD("c", CMASK),
    WORD("cmask", CMASK),
    WORD("count", CMASK),
    WORD("thr", CMASK),
    WORD("threshold", CMASK),
    WORD("g", GUEST),
    WORD("guest", GUEST),
    WORD("h", HOST),
    WORD("host", HOST),
    WORD("pc", PC),
    WORD("umask", UMASK),
    WORD("event", EVENT),
#if UPMU_BACKEND_X86_CORE
    WORD("t", ANY),
    WORD("any", ANY),
    WORD("anythread", ANY),
    WORD("intx", IN_TX),
    WORD("in_tx", IN_TX),
    WORD("intxcp", IN_TXCP),
    WORD("in_txcp", IN_TXCP),
    WORD("in_tx_cp", IN_TXCP),
    WORD("eq", EQ),
    WORD("offcore_rsp", OFFCORE),
    WORD("ldlat", LDLAT),
    WORD("frontend", FRONTEND),
    WORD("fe_thres", THRESHOLD),
    WORD("snoop_rsp", SNOOP),
#endif
    {"p", UPMU_X86_FIELDS},
    {"precise", UPMU_X86_FIELDS},
};
#undef WORD
#define FIELD_WORDS (sizeof field_words / sizeof field_words[0])

unsigned upmu_x86_field_of(const char *name, size_t length)
{
    for (unsigned i = 0; i < FIELD_WORDS; i++)
        if (upmu_text_is(name, length, field_words[i].name))
            return field_words[i].field;
    return UPMU_X86_FIELDS + 1u;
}

enum upmu_status upmu_x86_set(struct upmu_event *event, unsigned index, uint64_t settable, const uint64_t *given)
{
    const struct upmu_x86_field *field = &upmu_x86_fields[index];
    uint64_t *word = field->payload ? &event->config1 : &event->config;
    uint64_t bits = field->bits & settable, value = given ? *given : 1, room = bits >> field->shift;

    if (!bits)
        return UPMU_ERR_NO_SUCH_ATTRIBUTE;
    if ((!given && room != 1) || (value & ~room) || value < field->least)
        return UPMU_ERR_BAD_VALUE;
    /* The first privilege that the text gives replaces those of a raw word. Rows of catalogues have no privileges. */
    if (index < UPMU_X86_FIELD_EDGE && !(event->attributes & (UPMU_ATTR_USR | UPMU_ATTR_OS)))
        *word &= ~UPMU_SELECT_BOTH;
    value <<= field->shift;
    bits &= *word;
    if (bits || ((event->attributes ^ UPMU_ATTR_RAW) & field->attribute))
        return bits == value ? UPMU_OK : UPMU_ERR_CONTRADICTION;
    *word |= value;
    event->attributes |= field->attribute;
    event->payload |= field->payload;
    return UPMU_OK;
}

uint64_t upmu_x86_modifiers(const struct upmu_row *row)
{
    uint64_t bits = 0;

    if (row->flags & UPMU_ROW_CMASK)
        bits = (uint64_t)row->cmask << 24;
    if (row->flags & UPMU_ROW_EDGE)
        bits |= UPMU_SELECT_EDGE;
    if (row->flags & UPMU_ROW_INV)
        bits |= UPMU_SELECT_INV;
    if (row->flags & UPMU_ROW_ANY)
        bits |= UPMU_SELECT_ANY;
    if (row->flags & UPMU_ROW_EQUAL)
        bits |= UPMU_SELECT_EQ;
    return bits;
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
 * Attributes are written with '=', because unit masks may have the names of attributes (E, I, ANY). No unit mask is
 * named u or k.
 */
void upmu_x86_format(const struct upmu_event *event, const struct upmu_row *row, unsigned families,
                     struct upmu_text *out)
{
    if (event->attributes & UPMU_ATTR_RAW)
        return;
    if ((row->flags & UPMU_ROW_MASKED) && !event->id.masks) {
        upmu_text_string(out, upmu_x86_fields[UPMU_X86_FIELD_UMASK].name);
        upmu_text_hex(out, event->config >> 8 & 0xffu);
    }
    if ((event->config & UPMU_SELECT_BOTH) != UPMU_SELECT_BOTH)
        upmu_text_string(out, upmu_x86_fields[event->config & UPMU_SELECT_USR ? 0 : 1].name);
    for (unsigned i = UPMU_X86_FIELD_EDGE; i < UPMU_X86_FIELD_UMASK; i++) {
#if UPMU_BACKEND_X86_CORE
        /* If the row has a payload, the text can have changed only its threshold (fe_thres=). */
        bool threshold = i == UPMU_X86_FIELD_FRONTEND && (row->flags & UPMU_ROW_PAYLOAD);
        const struct upmu_x86_field *field = &upmu_x86_fields[threshold ? (unsigned)UPMU_X86_FIELD_THRESHOLD : i];
#else
        const struct upmu_x86_field *field = &upmu_x86_fields[i];
#endif
        uint64_t bits = (field->payload ? event->config1 : event->config) & field->bits;

        if (bits && (field->families & families) && (!field->attribute || (event->attributes & field->attribute)) &&
            (!field->payload || field->payload == event->payload))
            write_field(out, field->name, bits >> field->shift);
    }
}

#endif

enum upmu_status upmu_x86_settle(struct upmu_event *event, uint64_t settable)
{
    event->config &= ~(UPMU_SELECT_EN | UPMU_SELECT_INT);
    if ((event->config & ~settable) || event->config2)
        return UPMU_ERR_NOT_PERMITTED;
    /* The text set neither privilege. If it excluded one (its attribute is set, its bit is 0), the other one is set. */
    if (!(event->config & UPMU_SELECT_BOTH))
        event->config |= UPMU_SELECT_BOTH & ~((uint64_t)event->attributes * UPMU_SELECT_USR);
    return event->config & UPMU_SELECT_BOTH ? UPMU_OK : UPMU_ERR_CONTRADICTION;
}

/* Attributes of fields that are in the select word, but for the privileges. */
#define SELECT_ATTRIBUTES                                                                                              \
    (UPMU_ATTR_EDGE | UPMU_ATTR_INV | UPMU_ATTR_CMASK | UPMU_ATTR_ANY | UPMU_ATTR_IN_TX | UPMU_ATTR_IN_TXCP |          \
     UPMU_ATTR_EQ)

/*
 * The attributes that stay are those that the event's text has. The text of a raw event has the whole select word, so
 * it needs no attribute of a field of that word, except the privileges.
 */
void upmu_x86_settle_attributes(struct upmu_event *event)
{
    uint32_t attributes = event->attributes | UPMU_ATTR_USR | UPMU_ATTR_OS;

    if (attributes & UPMU_ATTR_RAW) {
        attributes &= ~(unsigned)SELECT_ATTRIBUTES;
        if (event->config1)
            attributes |= UPMU_ATTR_PAYLOAD;
    }
    for (unsigned i = 0; i < UPMU_X86_FIELD_PAYLOADS; i++)
        if (!(event->config & upmu_x86_fields[i].bits))
            attributes &= ~(unsigned)upmu_x86_fields[i].attribute;
    event->attributes = attributes;
}

#undef BIT

#endif
