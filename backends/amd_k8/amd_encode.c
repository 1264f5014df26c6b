/* SPDX-License-Identifier: MIT */
/*
 * AMD's events: catalogue rows and attributes to select words, and back to text.
 *
 * Layout: AMD APM vol 2 (24593) 13.2; generic names: Linux arch/x86/events/amd/core.c;
 * qualifiers: FreeBSD 10.4 lib/libpmc/libpmc.c, classes K7 and K8.
 */
#include "backends/amd_k8/amd_k8.h"
#include "backends/amd_k8/amd_registers.h"
#include "core/bits.h"
#include "core/mem.h"
#include "core/register.h"
#include "core/text.h"

#if UPMU_BACKEND_AMD

#define AMD_SELECT_BOTH (UPMU_AMD_SELECT_USR | UPMU_AMD_SELECT_OS)
#define AMD_SELECT_WORLDS (UPMU_AMD_SELECT_GUEST | UPMU_AMD_SELECT_HOST)

/* What can be set in a select. */
static uint64_t amd_settable(const struct upmu_pmu *pmu)
{
    return upmu_register_settable(pmu, UPMU_AMD_ROW_SELECT, UPMU_LEVEL_PRIVILEGED);
}

#if UPMU_NAMES

/* What can be given to an event: fields of its select word. */
static const struct amd_field {
    uint64_t bits;
    uint16_t attribute; /* UPMU_ATTR_…; _RAW: part of the code, which only raw events can be given; 0: never wired */
    uint8_t shift;
    char name[5]; /* in canonical text */
} amd_fields[] = {
    {UPMU_AMD_SELECT_USR, UPMU_ATTR_USR, 16, ":u"},
    {UPMU_AMD_SELECT_OS, UPMU_ATTR_OS, 17, ":k"},
    {UPMU_AMD_SELECT_EDGE, UPMU_ATTR_EDGE, 18, ":e="},
    {UPMU_AMD_SELECT_INV, UPMU_ATTR_INV, 23, ":i="},
    {UPMU_AMD_SELECT_CMASK, UPMU_ATTR_CMASK, 24, ":c="},
    {UPMU_AMD_SELECT_GUEST, 0, 40, ":g="},
    {UPMU_AMD_SELECT_HOST, 0, 41, ":h="},
    {UPMU_AMD_SELECT_PC, 0, 19, ":pc="},
    {UPMU_AMD_SELECT_UMASK, UPMU_ATTR_RAW, 8, ""},
    {UPMU_AMD_SELECT_EVENT, UPMU_ATTR_RAW, 0, ""},
};
#define AMD_FIELD_FILTERS 2u /* behind the privileges */
#define AMD_FIELD_CODES 8u

/* Words for them, with an index into `amd_fields`. */
static const struct {
    char name[10];
    uint8_t field;
} amd_words[] = {
    {"u", 0},     {"usr", 0}, {"k", 1},     {"os", 1},    {"e", 2},     {"edge", 2},      {"i", 3},
    {"inv", 3},   {"c", 4},   {"cmask", 4}, {"count", 4}, {"thr", 4},   {"threshold", 4}, {"g", 5},
    {"guest", 5}, {"h", 6},   {"host", 6},  {"pc", 7},    {"umask", 8}, {"event", 9},
};
#define AMD_WORDS (sizeof amd_words / sizeof amd_words[0])

/*
 * A field that is set already without having been given is wired in the event: it may
 * only be confirmed.
 */
static enum upmu_status set_amd_field(struct upmu_event *event, uint64_t bits, const struct amd_field *field,
                                      const uint64_t *given)
{
    uint64_t value = given ? *given : 1, room = bits >> field->shift;

    /* The code's bits stand apart: as a number they are together. */
    if (bits == UPMU_AMD_SELECT_EVENT)
        room = 0xfff;
    if (!bits)
        return UPMU_ERR_NO_SUCH_ATTRIBUTE;
    if ((!given && room != 1) || (value & ~room))
        return UPMU_ERR_BAD_VALUE;
    value = bits == UPMU_AMD_SELECT_EVENT ? upmu_amd_word((unsigned)value) : value << field->shift;
    bits &= event->config;
    if (bits || ((event->attributes ^ UPMU_ATTR_RAW) & field->attribute))
        return bits == value ? UPMU_OK : UPMU_ERR_CONTRADICTION;
    event->config |= value;
    event->attributes |= field->attribute;
    return UPMU_OK;
}

enum upmu_status upmu_amd_attribute(const struct upmu_pmu *pmu, struct upmu_event *event, const char *name,
                                    size_t length, const uint64_t *value)
{
    unsigned i = 0;

    while (!upmu_text_is(name, length, amd_words[i].name))
        if (++i == AMD_WORDS)
            return UPMU_ERR_NO_SUCH_ATTRIBUTE;
    i = amd_words[i].field;
    /* USR and OS of raw words give way to attributes; elsewhere they are never wired. */
    if (i < AMD_FIELD_FILTERS && !(event->attributes & (UPMU_ATTR_USR | UPMU_ATTR_OS)))
        event->config &= ~AMD_SELECT_BOTH;
    return set_amd_field(event, amd_fields[i].bits & amd_settable(pmu), &amd_fields[i], value);
}

/* FreeBSD's unitmask=m+o+e+s+i of K7: states of the cache line, letters together or apart. */
bool upmu_amd_qualifier(const char *name, size_t name_length, const char *word, size_t length, uint16_t *out_field,
                        uint16_t *out_bits)
{
    static const char states[] = "iseom";
    unsigned bits = 0;

    if (!upmu_text_is(name, name_length, "unitmask"))
        return false;
    *out_field = 0x1f;
    for (; length; length--, word++) {
        unsigned i = 0;

        while (states[i] != upmu_text_lower(*word))
            if (!states[++i])
                return false;
        bits |= 1u << i;
    }
    *out_bits = (uint16_t)bits;
    return bits;
}

/*
 * Events of the architectural catalogue, by its select words, on each generation (columns:
 * UPMU_AMD_GENERIC_…): event code, unit mask in bits 23:16; 0: none.
 */
static const struct {
    uint32_t from;
    uint32_t to[UPMU_AMD_GENERIC_ZEN4 + 1];
} amd_generic[] = {
    {0x003c, {0x76, 0x76, 0x76, 0x76, 0x76}},              /* cycles */
    {0x00c0, {0xc0, 0xc0, 0xc0, 0xc0, 0xc0}},              /* instructions */
    {0x00c4, {0xc2, 0xc2, 0xc2, 0xc2, 0xc2}},              /* branches */
    {0x00c5, {0xc3, 0xc3, 0xc3, 0xc3, 0xc3}},              /* branch-misses */
    {0x4f2e, {0, 0x07007d, 0xff0060, 0xff0060, 0xff0060}}, /* cache-references */
    {0x412e, {0, 0x07007e, 0x090064, 0x090064, 0x090064}}, /* cache-misses */
    {0x0180010e, {0, 0xd0, 0x020087, 0xa9, 0xa9}},         /* stalled-cycles-frontend */
    {0x018001b1, {0, 0xd1, 0x010087, 0, 0}},               /* stalled-cycles-backend */
    {0x0300, {0, 0, 0, 0, 0x010120}},                      /* ref-cycles */
};

static uint64_t translate_generic(const struct upmu_pmu *pmu, uint64_t config)
{
    unsigned i = 0;
    uint32_t to;

    while (amd_generic[i].from != config)
        if (++i == sizeof amd_generic / sizeof amd_generic[0])
            return 0;
    to = amd_generic[i].to[upmu_amd_generic(pmu)];
    return upmu_amd_word(to) | (to >> 16) << 8;
}

/*
 * The unit mask of a row on this revision; false: it lacks the event, or a mask that was
 * taken.  Bits 15:8 are revisions that do, bytes of the payload the masks of each.
 */
static bool umask_of_revision(const struct upmu_pmu *pmu, const struct upmu_row *row, unsigned *out_umask)
{
    unsigned revision = upmu_amd_revision(pmu);

    *out_umask = row->umask & 0xffu;
    if (!(row->flags & UPMU_ROW_REVISIONS))
        return true;
    if (row->msr)
        *out_umask &= (unsigned)(row->payload >> 8 * revision);
    return !(row->umask >> 8 >> revision & 1u);
}

enum upmu_status upmu_amd_from_row(const struct upmu_pmu *pmu, const struct upmu_row *row, struct upmu_event *event)
{
    unsigned umask;

    if (!umask_of_revision(pmu, row, &umask))
        return UPMU_ERR_UNSUPPORTED;
    event->config = upmu_amd_word(row->code) | umask << 8;
    if (row->flags & UPMU_ROW_EDGE)
        event->config |= UPMU_AMD_SELECT_EDGE;
    if (row->flags & UPMU_ROW_INV)
        event->config |= UPMU_AMD_SELECT_INV;
    if (row->flags & UPMU_ROW_CMASK)
        event->config |= (uint64_t)row->cmask << 24;
    event->counters = row->counters;
    if (memcmp(upmu_catalog_name(pmu->catalog), "ix86arch", sizeof "ix86arch") == 0) {
        event->config = translate_generic(pmu, event->config);
        event->counters = 0;
    }
    return event->config ? UPMU_OK : UPMU_ERR_UNSUPPORTED;
}

/* With '=', because unit masks may have the names of attributes. */
void upmu_amd_format(const struct upmu_pmu *pmu, const struct upmu_event *event, const struct upmu_row *row,
                     struct upmu_text *out)
{
    (void)pmu;
    if (event->attributes & UPMU_ATTR_RAW)
        return;
    if ((row->flags & UPMU_ROW_MASKED) && !event->id.masks) {
        upmu_text_string(out, ":umask=");
        upmu_text_hex(out, event->config >> 8 & 0xffu);
    }
    if ((event->config & AMD_SELECT_BOTH) != AMD_SELECT_BOTH)
        upmu_text_string(out, amd_fields[event->config & UPMU_AMD_SELECT_USR ? 0 : 1].name);
    for (const struct amd_field *field = &amd_fields[AMD_FIELD_FILTERS]; field < &amd_fields[AMD_FIELD_CODES]; field++)
        if ((event->config & field->bits) && (!field->attribute || (event->attributes & field->attribute))) {
            upmu_text_string(out, field->name);
            upmu_text_decimal(out, (event->config & field->bits) >> field->shift);
        }
}

#endif

/*
 * Attribute bits follow the word: of a named event, those that were given and are not 0;
 * of a raw one the privileges, since the word says the rest.
 */
static void settle_amd_attributes(struct upmu_event *event)
{
    unsigned attributes = event->attributes;

    if (attributes & UPMU_ATTR_RAW)
        attributes &= ~(UPMU_ATTR_EDGE | UPMU_ATTR_INV | UPMU_ATTR_CMASK);
    if (!(event->config & UPMU_AMD_SELECT_EDGE))
        attributes &= ~UPMU_ATTR_EDGE;
    if (!(event->config & UPMU_AMD_SELECT_INV))
        attributes &= ~UPMU_ATTR_INV;
    if (!(event->config & UPMU_AMD_SELECT_CMASK))
        attributes &= ~UPMU_ATTR_CMASK;
    attributes &= ~(UPMU_ATTR_USR | UPMU_ATTR_OS);
    attributes |= (unsigned)(event->config >> 16) & (UPMU_ATTR_USR | UPMU_ATTR_OS);
    event->attributes = (uint16_t)attributes;
}
_Static_assert(UPMU_AMD_SELECT_USR >> 16 == UPMU_ATTR_USR && UPMU_AMD_SELECT_OS >> 16 == UPMU_ATTR_OS, "bits 17:16");

/* What is said of an event by its code: northbridge, two counters. */
static enum upmu_status settle_code(const struct upmu_pmu *pmu, struct upmu_event *event)
{
    unsigned code = upmu_amd_code(event->config);

    if ((pmu->quirks & UPMU_AMD_NB_SHARED) && upmu_amd_is_nb(code)) {
        event->payload = UPMU_AMD_PAYLOAD_NB;
        if (pmu->quirks & UPMU_AMD_NB_RESET)
            return UPMU_ERR_UNSUPPORTED;
    }
    if (pmu->quirks & UPMU_AMD_PAIRS) {
        if (code == UPMU_AMD_WIDE_CODE)
            event->attributes |= UPMU_ATTR_WIDE;
        /* By itself it would lend its counter to another's event. */
        if (code == upmu_amd_code(UPMU_AMD_MERGE))
            return UPMU_ERR_UNSUPPORTED;
    }
    return UPMU_OK;
}

enum upmu_status upmu_amd_finish(const struct upmu_pmu *pmu, struct upmu_event *event)
{
    uint32_t counters;

    event->config &= ~(UPMU_AMD_SELECT_EN | UPMU_AMD_SELECT_INT);
    if ((event->config & ~amd_settable(pmu)) || event->config1 || event->config2)
        return UPMU_ERR_NOT_PERMITTED;
    /* Both privileges unless one is named; what is named decides the other. */
    if (!(event->config & AMD_SELECT_BOTH))
        event->config |= AMD_SELECT_BOTH & ~((uint64_t)event->attributes * UPMU_AMD_SELECT_USR);
    if (!(event->config & AMD_SELECT_BOTH))
        return UPMU_ERR_CONTRADICTION;
    /* Guest and host together are everything, which counts without SVM, too. */
    if ((event->config & AMD_SELECT_WORLDS) == AMD_SELECT_WORLDS)
        event->config &= ~AMD_SELECT_WORLDS;
    settle_amd_attributes(event);
    counters = upmu_amd_counters(pmu, event->config);
    if (event->counters & counters)
        counters &= event->counters;
    event->counters = counters;
    if (!counters)
        return UPMU_ERR_DOES_NOT_FIT;
    return settle_code(pmu, event);
}

#endif
