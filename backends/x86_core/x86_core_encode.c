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

/* Fields of the select word with an attribute bit. */
static const struct select_field {
    uint64_t bits;
    uint16_t attribute;
    uint8_t shift;
} select_fields[] = {
    { UPMU_X86_SELECT_USR, UPMU_ATTR_USR, 16 },     { UPMU_X86_SELECT_OS, UPMU_ATTR_OS, 17 },
    { UPMU_X86_SELECT_EDGE, UPMU_ATTR_EDGE, 18 },   { UPMU_X86_SELECT_INV, UPMU_ATTR_INV, 23 },
    { UPMU_X86_SELECT_CMASK, UPMU_ATTR_CMASK, 24 }, { UPMU_X86_SELECT_ANY, UPMU_ATTR_ANY, 21 },
    { UPMU_X86_SELECT_IN_TX, UPMU_ATTR_IN_TX, 32 }, { UPMU_X86_SELECT_IN_TXCP, UPMU_ATTR_IN_TXCP, 33 },
};

/* First of select_fields that is not a privilege. */
#define FIELD_EDGE 2u
#define SELECT_FIELDS (sizeof select_fields / sizeof select_fields[0])

/* Every bit that a select word of an event may have on this PMU. */
static uint64_t settable_bits(const struct upmu_pmu *pmu)
{
    if (!pmu->general)
        return 0;
    return upmu_register_settable(pmu, UPMU_X86_ROW_SELECT + upmu_bits_lowest(pmu->general), UPMU_LEVEL_PRIVILEGED);
}

/* The first resource of a payload kind. */
static unsigned payload_resource(unsigned payload)
{
    return payload == UPMU_X86_PAYLOAD_OFFCORE ? UPMU_X86_RESOURCE_OFFCORE0
                                               : UPMU_X86_RESOURCE_LDLAT + payload - UPMU_X86_PAYLOAD_LDLAT;
}

/* Bits that a payload may have; 0: the PMU has no such register. */
static uint64_t payload_bits(const struct upmu_pmu *pmu, unsigned payload)
{
    unsigned row = upmu_x86_core_resource_row(pmu, payload_resource(payload));

    return row == UPMU_NO_ROW ? 0 : upmu_register_bits(pmu, row);
}

#if UPMU_NAMES

/* Names of attributes, the family's first; `what` is an index into select_fields or one of these. */
enum { WORD_PRECISE = 16, WORD_UMASK, WORD_EVENT, WORD_PAYLOAD };

static const struct {
    char name[12];
    uint8_t what;
} attribute_words[] = {
    { "u", 0 },
    { "usr", 0 },
    { "k", 1 },
    { "os", 1 },
    { "e", 2 },
    { "edge", 2 },
    { "i", 3 },
    { "inv", 3 },
    { "c", 4 },
    { "cmask", 4 },
    { "count", 4 },
    { "thr", 4 },
    { "threshold", 4 },
    { "t", 5 },
    { "any", 5 },
    { "anythread", 5 },
    { "intx", 6 },
    { "in_tx", 6 },
    { "intxcp", 7 },
    { "in_txcp", 7 },
    { "in_tx_cp", 7 },
    { "p", WORD_PRECISE },
    { "precise", WORD_PRECISE },
    { "umask", WORD_UMASK },
    { "event", WORD_EVENT },
    { "offcore_rsp", WORD_PAYLOAD + UPMU_X86_PAYLOAD_OFFCORE },
    { "ldlat", WORD_PAYLOAD + UPMU_X86_PAYLOAD_LDLAT },
    { "frontend", WORD_PAYLOAD + UPMU_X86_PAYLOAD_FRONTEND },
};
#define ATTRIBUTE_WORDS (sizeof attribute_words / sizeof attribute_words[0])

/*
 * Give a field its value.  A field that is set already without having been given
 * is wired in the event: it may only be confirmed.
 */
static enum upmu_status set_field(const struct upmu_pmu *pmu, struct upmu_event *event,
                                  const struct select_field *field, uint64_t value)
{
    uint64_t wanted;

    if (!(field->bits & settable_bits(pmu)))
        return UPMU_ERR_NO_SUCH_ATTRIBUTE;
    if (value > field->bits >> field->shift)
        return UPMU_ERR_BAD_VALUE;
    wanted = value << field->shift;
    if ((event->attributes & field->attribute) || (event->config & field->bits))
        return (event->config & field->bits) == wanted ? UPMU_OK : UPMU_ERR_CONTRADICTION;
    event->config |= wanted;
    event->attributes |= field->attribute;
    return UPMU_OK;
}

/* USR and OS of raw words give way to attributes; elsewhere they are never wired. */
static enum upmu_status set_privilege(const struct upmu_pmu *pmu, struct upmu_event *event,
                                      const struct select_field *field, uint64_t value)
{
    if (!(event->attributes & (UPMU_ATTR_USR | UPMU_ATTR_OS)))
        event->config &= ~SELECT_BOTH;
    return set_field(pmu, event, field, value);
}

static enum upmu_status set_payload(const struct upmu_pmu *pmu, struct upmu_event *event, unsigned payload,
                                    uint64_t value)
{
    uint64_t bits = payload_bits(pmu, payload);

    if (!bits || (event->payload && event->payload != payload))
        return UPMU_ERR_NO_SUCH_ATTRIBUTE;
    if (!value || (value & ~bits) || (payload == UPMU_X86_PAYLOAD_LDLAT && value < LDLAT_LEAST))
        return UPMU_ERR_BAD_VALUE;
    if (event->config1)
        return event->config1 == value ? UPMU_OK : UPMU_ERR_CONTRADICTION;
    event->config1 = value;
    event->payload = (uint8_t)payload;
    event->attributes |= UPMU_ATTR_PAYLOAD;
    return UPMU_OK;
}

/* umask=, event=: parts of a raw word; a named event has them wired. */
static enum upmu_status set_code(struct upmu_event *event, uint64_t bits, unsigned shift, uint64_t value)
{
    if (value > 0xff)
        return UPMU_ERR_BAD_VALUE;
    value <<= shift;
    if (!(event->attributes & UPMU_ATTR_RAW) || (event->config & bits))
        return (event->config & bits) == value ? UPMU_OK : UPMU_ERR_CONTRADICTION;
    event->config |= value;
    return UPMU_OK;
}

enum upmu_status upmu_x86_core_attribute(const struct upmu_pmu *pmu, struct upmu_event *event, const char *name,
                                         size_t length, const uint64_t *given)
{
    uint64_t value = given ? *given : 1;
    unsigned i = 0, what;

    while (i < ATTRIBUTE_WORDS && !upmu_text_is(name, length, attribute_words[i].name))
        i++;
    if (i == ATTRIBUTE_WORDS)
        return UPMU_ERR_NO_SUCH_ATTRIBUTE;
    what = attribute_words[i].what;
    if (!given && (what == 4 || what > WORD_PRECISE))
        return UPMU_ERR_BAD_VALUE;
    if (what < FIELD_EDGE)
        return set_privilege(pmu, event, &select_fields[what], value);
    if (what < SELECT_FIELDS)
        return set_field(pmu, event, &select_fields[what], value);
    if (what == WORD_UMASK)
        return set_code(event, UPMU_X86_SELECT_UMASK, 8, value);
    if (what == WORD_EVENT)
        return set_code(event, UPMU_X86_SELECT_EVENT, 0, value);
    if (what > WORD_PAYLOAD)
        return set_payload(pmu, event, what - WORD_PAYLOAD, value);
    if (value > 3)
        return UPMU_ERR_BAD_VALUE;
    if (value)
        event->attributes |= UPMU_ATTR_PRECISE;
    return UPMU_OK;
}

static const struct {
    char name[14];
    char word[8];
    uint8_t field;
    uint8_t bits;
} qualifiers[] = {
    { "core", "all", 0xC0, 0xC0 },
    { "core", "this", 0xC0, 0x40 },
    { "agent", "this", 0x20, 0x00 },
    { "agent", "any", 0x20, 0x20 },
    { "prefetch", "both", 0x30, 0x30 },
    { "prefetch", "only", 0x30, 0x10 },
    { "prefetch", "exclude", 0x30, 0x00 },
    { "cachestate", "i", 0x0F, 0x01 },
    { "cachestate", "s", 0x0F, 0x02 },
    { "cachestate", "e", 0x0F, 0x04 },
    { "cachestate", "m", 0x0F, 0x08 },
    { "snoopresponse", "clean", 0x0B, 0x01 },
    { "snoopresponse", "hit", 0x0B, 0x02 },
    { "snoopresponse", "hitm", 0x0B, 0x08 },
    { "snooptype", "cmp2s", 0x03, 0x01 },
    { "snooptype", "cmp2i", 0x03, 0x02 },
};

bool upmu_x86_core_qualifier(const char *name, size_t name_length, const char *word, size_t length,
                             uint16_t *out_field, uint16_t *out_bits)
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
    event->config = (row->code & UPMU_X86_SELECT_EVENT) | (row->umask & 0xffu) << 8;
    if (!upmu_x86_core_announced(pmu, event->config))
        return UPMU_ERR_UNSUPPORTED;
    if (row->flags & UPMU_ROW_EDGE)
        event->config |= UPMU_X86_SELECT_EDGE;
    if (row->flags & UPMU_ROW_INV)
        event->config |= UPMU_X86_SELECT_INV;
    if (row->flags & UPMU_ROW_ANY)
        event->config |= UPMU_X86_SELECT_ANY;
    if (row->flags & UPMU_ROW_CMASK)
        event->config |= (uint64_t)row->cmask << 24;
    /* Elsewhere it is only a default: see settle_payload(). */
    if (row->flags & (UPMU_ROW_PAYLOAD | UPMU_ROW_MASKED))
        event->config1 = row->payload;
    event->counters = row->counters;
    if (row->flags & UPMU_ROW_FIXED_ONLY)
        event->counters = ~pmu->general;
    return UPMU_OK;
}

static void write_number(struct upmu_text *out, const char *name, uint64_t value)
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
static void write_attributes(struct upmu_text *out, const struct upmu_event *event)
{
    static const char names[][10] = { ":u", ":k", ":e=1", ":i=1", ":c=", ":t=1", ":intx=1", ":intxcp=1" };
    static const char payloads[][14] = { ":offcore_rsp=", ":ldlat=", ":frontend=" };

    if ((event->config & SELECT_BOTH) != SELECT_BOTH)
        upmu_text_string(out, names[event->config & UPMU_X86_SELECT_USR ? 0 : 1]);
    for (unsigned i = FIELD_EDGE; i < SELECT_FIELDS; i++)
        if (event->attributes & select_fields[i].attribute) {
            upmu_text_string(out, names[i]);
            if (select_fields[i].attribute == UPMU_ATTR_CMASK)
                upmu_text_decimal(out, event->config >> 24 & 0xffu);
        }
    if ((event->attributes & UPMU_ATTR_PAYLOAD) && event->payload)
        write_number(out, payloads[event->payload - 1u], event->config1);
}

void upmu_x86_core_format(const struct upmu_pmu *pmu, const struct upmu_event *event, const struct upmu_row *row,
                          struct upmu_text *out)
{
    (void)pmu;
    if (!(event->attributes & UPMU_ATTR_RAW)) {
        if ((row->flags & UPMU_ROW_MASKED) && !event->id.masks) {
            upmu_text_string(out, ":umask=");
            upmu_text_hex(out, event->config >> 8 & 0xffu);
        }
        write_attributes(out, event);
    }
    if (event->attributes & UPMU_ATTR_PRECISE)
        upmu_text_string(out, ":precise=1");
}

#endif

/* Both privileges unless one is named; what is named decides the other. */
static enum upmu_status settle_privileges(struct upmu_event *event)
{
    unsigned given = event->attributes & (UPMU_ATTR_USR | UPMU_ATTR_OS);

    if (given == UPMU_ATTR_USR && !(event->config & UPMU_X86_SELECT_USR))
        event->config |= UPMU_X86_SELECT_OS;
    if (given == UPMU_ATTR_OS && !(event->config & UPMU_X86_SELECT_OS))
        event->config |= UPMU_X86_SELECT_USR;
    if (!given && !(event->config & SELECT_BOTH))
        event->config |= SELECT_BOTH;
    return event->config & SELECT_BOTH ? UPMU_OK : UPMU_ERR_CONTRADICTION;
}

/*
 * Attribute bits follow the words: of a named event, those that were given and are
 * not 0; of a raw one, privileges and payload, since the word says the rest.
 */
static void settle_attributes(struct upmu_event *event)
{
    bool raw = event->attributes & UPMU_ATTR_RAW;

    for (unsigned i = 0; i < SELECT_FIELDS; i++) {
        unsigned bit = select_fields[i].attribute;

        if (i < FIELD_EDGE)
            event->attributes |= (uint16_t)bit;
        if (!(event->config & select_fields[i].bits) || (raw && i >= FIELD_EDGE))
            event->attributes = (uint16_t)(event->attributes & ~bit);
    }
    if (raw && event->config1)
        event->attributes |= UPMU_ATTR_PAYLOAD;
}

/* The payload's kind is the event's; its value must be one that the register takes. */
static enum upmu_status settle_payload(const struct upmu_pmu *pmu, struct upmu_event *event)
{
    unsigned payload = upmu_x86_core_payload(pmu, event->config);

    if (event->payload && event->payload != payload)
        return UPMU_ERR_NO_SUCH_ATTRIBUTE;
    if (!payload)
        return event->config1 ? UPMU_ERR_NOT_PERMITTED : UPMU_OK;
    event->payload = (uint8_t)payload;
    if (payload == UPMU_X86_PAYLOAD_LDLAT) {
        if (!event->config1)
            event->config1 = LDLAT_LEAST;
        if (event->config1 < LDLAT_LEAST)
            return UPMU_ERR_NOT_PERMITTED;
    }
    return event->config1 & ~payload_bits(pmu, payload) ? UPMU_ERR_NOT_PERMITTED : UPMU_OK;
}

enum upmu_status upmu_x86_core_finish(const struct upmu_pmu *pmu, struct upmu_event *event)
{
    enum upmu_status status;

    event->config &= ~(UPMU_X86_SELECT_EN | UPMU_X86_SELECT_INT);
    if ((event->config & ~settable_bits(pmu)) || event->config2)
        return UPMU_ERR_NOT_PERMITTED;
    status = settle_privileges(event);
    if (status == UPMU_OK)
        status = settle_payload(pmu, event);
    if (status != UPMU_OK)
        return status;
    settle_attributes(event);
    event->counters = upmu_x86_core_counters(pmu, event);
    return event->counters ? UPMU_OK : UPMU_ERR_DOES_NOT_FIT;
}

#endif
