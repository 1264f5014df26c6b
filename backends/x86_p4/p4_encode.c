/* SPDX-License-Identifier: MIT */
/*
 * Encode NetBurst events: make the words of an event (x86_p4.h) from a catalogue row, attributes or raw words, check
 * them and find the counters for them; write attributes back as text.
 *
 * Layout: Intel SDM vol 3 (325384-059) 18.15.1 to 18.15.4; recipes: tables 19-32 to 19-34 there; keywords: FreeBSD's
 * lib/libpmc/libpmc.c and pmc.p4(3), libpfm4 4.13.
 */
#include "backends/x86_p4/x86_p4.h"
#include "core/util/bits.h"
#include "core/catalog/catalog.h"
#include "core/util/mem.h"
#include "core/hw/register.h"
#include "core/util/text.h"

#if UPMU_BACKEND_X86_P4

#define CCCR(bits) ((bits) << 32)
#define T0_BOTH (UPMU_P4_ESCR_T0_USR | UPMU_P4_ESCR_T0_OS)
#define T1_BOTH (UPMU_P4_ESCR_T1_USR | UPMU_P4_ESCR_T1_OS)
#define THREADS CCCR(UPMU_P4_CCCR_THREAD)
#define FILTERS CCCR(UPMU_P4_CCCR_COMPLEMENT | UPMU_P4_CCCR_THRESHOLD | UPMU_P4_CCCR_EDGE)
#define CASCADES CCCR(UPMU_P4_CCCR_CASCADE | UPMU_P4_CCCR_EXTENDED_CASCADE)
/*
 * CCCR bits that are cleared in an event's word: the enable bit and the interrupt requests, which upmu sets itself, and
 * the overflow flag.
 */
#define RUN_BITS \
    CCCR(UPMU_P4_CCCR_ENABLE | UPMU_P4_CCCR_OVF_PMI_T0 | UPMU_P4_CCCR_OVF_PMI_T1 | UPMU_P4_CCCR_OVF)

/* Attributes that are fields of event->config. Privileges are first. */
static const struct p4_field {
    uint16_t attribute; /* UPMU_ATTR_… */
    uint8_t shift;
    uint8_t room; /* greatest value of the field: a mask, before the shift */
    char name[6]; /* in canonical text */
} p4_fields[] = {
    {UPMU_ATTR_USR, 2, 1, ":u"},    {UPMU_ATTR_OS, 3, 1, ":k"},     {UPMU_ATTR_EDGE, 56, 1, ":e="},
    {UPMU_ATTR_INV, 51, 1, ":i="},  {UPMU_ATTR_CMASK, 52, 15, ":c="}, {UPMU_ATTR_ANY, 0, 3, ":t="},
};
#define P4_FIELDS (sizeof p4_fields / sizeof p4_fields[0])
#define FIELD_EDGE 2u
#define FIELD_ANY 5u

#if UPMU_NAMES

#define WORD_PRECISE 6u
#define WORD_ACTIVE 7u
#define WORD_CASCADE 8u
#define WORD_UMASK 9u
#define WORD_AFTER 10u

static const struct {
    char name[11];
    uint8_t what;
} p4_words[] = {
    {"u", 0},         {"usr", 0},       {"k", 1},     {"os", 1},          {"e", 2},         {"edge", 2},
    {"i", 3},         {"inv", 3},       {"cmpl", 3},  {"complement", 3},  {"c", 4},         {"cmask", 4},
    {"count", 4},     {"thr", 4},       {"t", 5},     {"threshold", 4},   {"any", 5},       {"anythread", 5},
    {"p", WORD_PRECISE}, {"precise", WORD_PRECISE}, {"active", WORD_ACTIVE}, {"cascade", WORD_CASCADE},
    {"umask", WORD_UMASK}, {"after", WORD_AFTER},
};

/* Names of the values 0 to 3 of the CCCR field ACTIVE_THREAD in texts (active=both). */
static const char active_words[4][7] = {"none", "single", "both", "any"};

/*
 * Return the text of an attribute's value, which follows its name and '='; *out_length: bytes. No NUL ends the value.
 */
static const char *value_text(const char *name, size_t length, size_t *out_length)
{
    const char *text = name + length + 1, *end = text;

    while (*end > ' ' && *end != ',' && *end != ':' && *end != '/')
        end++;
    *out_length = (size_t)(end - text);
    return text;
}

static enum upmu_status set_active(const struct upmu_pmu *pmu, struct upmu_event *event, const char *text,
                                   size_t length)
{
    for (unsigned value = 0; value < 4; value++) {
        uint64_t bits = (uint64_t)value << 48;

        if (!upmu_text_is(text, length, active_words[value]))
            continue;
        /* Without a second hyper-thread the field must be 3. */
        if (value != 3 && !(pmu->quirks & UPMU_P4_HT))
            return UPMU_ERR_UNSUPPORTED;
        if ((event->attributes & UPMU_ATTR_ACTIVE) && (event->config & THREADS) != bits)
            return UPMU_ERR_CONTRADICTION;
        event->config = (event->config & ~THREADS) | bits;
        event->attributes |= UPMU_ATTR_ACTIVE;
        return UPMU_OK;
    }
    return UPMU_ERR_BAD_VALUE;
}

/*
 * Return the i-th catalogue for the look-up of names: 0 is the imported one, 1 the built-in one; NULL: there is none,
 * or the PMU refuses the built-in one.
 */
static const struct upmu_catalog *p4_catalog(const struct upmu_pmu *pmu, unsigned i)
{
    return i == 0 ? pmu->imported : pmu->refuses & 1u << UPMU_SOURCE_BUILT_IN ? NULL : pmu->catalog;
}

/*
 * Set the second word of an event to its initiator, the event that starts it in a cascade: the one that the text names,
 * or the event itself if `text` is NULL.
 */
static enum upmu_status set_initiator(const struct upmu_pmu *pmu, struct upmu_event *event, const char *text,
                                      size_t length)
{
    struct upmu_event_id id = event->id;
    struct upmu_event initiator;
    struct upmu_row row;
    enum upmu_status status = UPMU_ERR_NO_SUCH_EVENT;

    if ((event->attributes & (UPMU_ATTR_CASCADE | UPMU_ATTR_RAW)) || event->config1)
        return UPMU_ERR_CONTRADICTION;
    if (text) {
        size_t prefix = sizeof UPMU_P4_PREFIX - 1;

        if (length < prefix || !upmu_text_is(text, prefix, UPMU_P4_PREFIX))
            prefix = 0;
        for (unsigned i = 0; i < 2 && status != UPMU_OK; i++)
            if (p4_catalog(pmu, i))
                status = upmu_catalog_lookup(p4_catalog(pmu, i), text + prefix, length - prefix, &id);
        if (status != UPMU_OK)
            return status;
    }
    memset(&initiator, 0, sizeof initiator);
    status = upmu_catalog_merge(upmu_catalog_of(pmu, id), id, &row, NULL);
    if (status == UPMU_OK)
        status = upmu_p4_from_row(pmu, &row, &initiator);
    if (status != UPMU_OK)
        return status;
    if (initiator.config1 || initiator.config2)
        return UPMU_ERR_BAD_VALUE;
    event->config1 = initiator.config;
    event->payload |= (uint8_t)(initiator.payload << 3);
    event->config |= CASCADES & CCCR(upmu_register_settable(pmu, UPMU_P4_ROW_CCCR + 12, UPMU_LEVEL_SESSION));
    event->attributes |= UPMU_ATTR_CASCADE;
    return UPMU_OK;
}

static enum upmu_status set_p4_field(const struct upmu_pmu *pmu, struct upmu_event *event,
                                     const struct p4_field *field, const uint64_t *given)
{
    uint64_t value = given ? *given : 1, mask = (uint64_t)field->room << field->shift, present;

    if (field == &p4_fields[FIELD_ANY]) {
        if (!(pmu->quirks & UPMU_P4_HT))
            return UPMU_ERR_NO_SUCH_ATTRIBUTE;
        if (value > 1)
            return UPMU_ERR_BAD_VALUE;
        /* The field has two bits, T1_USR and T1_OS. upmu_p4_finish() copies the privileges to them. */
        value *= 3;
    }
    if ((!given && field->room == 15) || value > field->room)
        return UPMU_ERR_BAD_VALUE;
    value <<= field->shift;
    present = event->config & mask;
    if (present || ((event->attributes ^ UPMU_ATTR_RAW) & field->attribute))
        return present == value ? UPMU_OK : UPMU_ERR_CONTRADICTION;
    event->config |= value;
    if (field->attribute & UPMU_ATTR_CMASK)
        event->config |= CCCR(UPMU_P4_CCCR_COMPARE);
    event->attributes |= field->attribute;
    return UPMU_OK;
}

enum upmu_status upmu_p4_attribute(const struct upmu_pmu *pmu, struct upmu_event *event, const char *name,
                                   size_t length, const uint64_t *value)
{
    const char *text = NULL;
    size_t text_length = 0;
    unsigned i = 0;

    while (!upmu_text_is(name, length, p4_words[i].name))
        if (++i == sizeof p4_words / sizeof p4_words[0])
            return UPMU_ERR_NO_SUCH_ATTRIBUTE;
    if (value)
        text = value_text(name, length, &text_length);
    switch (p4_words[i].what) {
    case WORD_PRECISE:
        return upmu_pmu_level_attribute(event, length, value);
    case WORD_ACTIVE:
        return text ? set_active(pmu, event, text, text_length) : UPMU_ERR_BAD_VALUE;
    case WORD_UMASK:
        /* The caller has set the unit mask already: the text may only give the same value once more. */
        return !value || *value > 0xffff ? UPMU_ERR_BAD_VALUE
               : *value == (event->config >> 9 & 0xffffu) ? UPMU_OK
                                                          : UPMU_ERR_CONTRADICTION;
    case WORD_AFTER:
        if (!value || !*value || *value > pmu->max_period)
            return UPMU_ERR_BAD_VALUE;
        if (event->config2 && event->config2 != (UPMU_EVENT_AFTER | *value))
            return UPMU_ERR_CONTRADICTION;
        event->config2 = UPMU_EVENT_AFTER | *value;
        return UPMU_OK;
    case WORD_CASCADE:
        return set_initiator(pmu, event, text, text_length);
    default:
        break;
    }
    /* The first privilege that the text gives replaces those of a raw word. Rows of catalogues have no privileges. */
    if (p4_words[i].what < FIELD_EDGE && !(event->attributes & (UPMU_ATTR_USR | UPMU_ATTR_OS)))
        event->config &= ~(T0_BOTH | T1_BOTH);
    return set_p4_field(pmu, event, &p4_fields[p4_words[i].what], value);
}

/* ---- Rows ---- */

#define FSB(event_select) UPMU_P4_CODE(UPMU_P4_GROUP_BPU, 6, event_select)
#define BSU(event_select) UPMU_P4_CODE(UPMU_P4_GROUP_BPU, 7, event_select)
#define FIRM(event_select) UPMU_P4_CODE(UPMU_P4_GROUP_FLAME, 1, event_select)
#define SAAT(event_select) UPMU_P4_CODE(UPMU_P4_GROUP_FLAME, 2, event_select)
#define RAT_UOP_TYPE UPMU_P4_CODE(UPMU_P4_GROUP_IQ, 2, 0x02)
#define MOB_REPLAY UPMU_P4_CODE(UPMU_P4_GROUP_BPU, 2, 0x03)

/*
 * Bits of upmu_row.payload: PEBS_ENABLE at 26:0, tag enable and tag value of the ESCR (bits 8:4 there) at 31:27,
 * MATRIX_VERT at 44:32, index of the upstream event in upstream_events (0: none) at 63:56.
 */
#define ROW_CONFIG2 UINT64_C(0x00001fff07ffffff)
#define ROW_TAGS(payload) ((payload) >> 27 & 0x1fu)
#define ROW_UPSTREAM(payload) ((unsigned)((payload) >> 56))

/*
 * Upstream events, by their number in a row's payload, from 1 on. From FIRST_EXECUTION on the ESCR needs a tag value.
 */
#define FIRST_EXECUTION 6u
static const struct {
    uint16_t code, mask;
} upstream_events[] = {
    {0, 0},
    {RAT_UOP_TYPE, 1u << 1},       /* TAGLOADS */
    {RAT_UOP_TYPE, 1u << 2},       /* TAGSTORES */
    {MOB_REPLAY, 1u << 4 | 1u << 5}, /* MOB_load_replay: PARTIAL_DATA, UNALGN_ADDR */
    {SAAT(0x04), 1u << 1},         /* load_port_replay SPLIT_LD */
    {SAAT(0x05), 1u << 1},         /* store_port_replay SPLIT_ST */
    {FIRM(0x08), 1u << 15},        /* packed_SP_uop */
    {FIRM(0x0c), 1u << 15},        /* packed_DP_uop */
    {FIRM(0x0a), 1u << 15},        /* scalar_SP_uop */
    {FIRM(0x0e), 1u << 15},        /* scalar_DP_uop */
    {FIRM(0x02), 1u << 15},        /* 64bit_MMX_uop */
    {FIRM(0x1a), 1u << 15},        /* 128bit_MMX_uop */
    {FIRM(0x04), 1u << 15},        /* x87_FP_uop */
    {FIRM(0x2e), 1u << 3 | 1u << 4}, /* x87_SIMD_moves_uop */
};

static void set_second(struct upmu_event *event, unsigned code, unsigned mask)
{
    event->config1 = upmu_p4_word(code, mask);
    event->payload |= (uint8_t)((UPMU_P4_CODE_GROUP(code) + 1u) << 3);
}

/*
 * Set the second word of an event that needs a second ESCR. An event of occupancy (IOQ_active_entries,
 * BSQ_active_entries) needs the event of allocation with the same mask in the other ESCR. A tagged event needs an
 * upstream event.
 */
static void set_recipe(struct upmu_event *event, const struct upmu_row *row)
{
    unsigned upstream = ROW_UPSTREAM(row->payload);

    if (row->code == FSB(0x1a))
        set_second(event, FSB(0x03), row->umask);
    else if (row->code == BSU(0x06))
        set_second(event, BSU(0x05), row->umask);
    if (!upstream || upstream >= sizeof upstream_events / sizeof upstream_events[0])
        return;
    /* Tagging is on in every ring; the ESCR of the counted event selects the rings. */
    set_second(event, upstream_events[upstream].code, upstream_events[upstream].mask);
    event->config1 |= T0_BOTH;
    if (upstream >= FIRST_EXECUTION)
        event->config1 |= UPMU_P4_ESCR_TAG_ENABLE | UPMU_P4_ESCR_TAG_BIT0;
}

enum upmu_status upmu_p4_from_row(const struct upmu_pmu *pmu, const struct upmu_row *row, struct upmu_event *event)
{
    unsigned mask = row->umask;
    int known;

    event->payload = (uint8_t)(UPMU_P4_CODE_GROUP(row->code) + 1u);
    event->config = upmu_p4_word(row->code, mask) | ROW_TAGS(row->payload) << 4;
    event->config2 = row->payload & ROW_CONFIG2;
    known = upmu_p4_find(UPMU_P4_CODE_GROUP(row->code), event->config);
    if (known < 0 || !upmu_p4_counters(pmu, UPMU_P4_CODE_GROUP(row->code), event->config, known))
        return UPMU_ERR_UNSUPPORTED;
    /* Of FSB_data_activity, DRDY_OWN and DRDY_OTHER exclude each other, and so do DBSY_OWN and DBSY_OTHER. */
    if (row->code == FSB(0x17) && ((mask & 0x06) == 0x06 || (mask & 0x30) == 0x30))
        return UPMU_ERR_MASKS_EXCLUSIVE;
    if (row->flags & UPMU_ROW_EDGE)
        event->config |= CCCR(UPMU_P4_CCCR_EDGE);
    if (row->flags & UPMU_ROW_INV)
        event->config |= CCCR(UPMU_P4_CCCR_COMPLEMENT);
    if (row->flags & UPMU_ROW_CMASK)
        event->config |= CCCR(UPMU_P4_CCCR_COMPARE) | (uint64_t)(row->cmask & 15u) << 52;
    set_recipe(event, row);
    return UPMU_OK;
}

/* ---- Text ---- */

/* Write the initiator as ":cascade=NAME.MASK", with '.' instead of ':', which would end the value. */
static void write_initiator(const struct upmu_pmu *pmu, const struct upmu_event *event, struct upmu_text *out)
{
    char name[UPMU_CATALOG_NAME];
    struct upmu_event_id id;
    struct upmu_row row;
    int known = upmu_p4_find(UPMU_P4_PAYLOAD_SECOND(event->payload), event->config1);

    upmu_text_string(out, ":cascade");
    memset(&row, 0, sizeof row);
    row.code = (uint16_t)upmu_p4_code(known < 0 ? 0 : (unsigned)known);
    row.umask = (uint16_t)(event->config1 >> 9);
    row.flags = UPMU_ROW_MASKED;
    for (unsigned i = 0;; i++) {
        if (i == 2)
            return;
        if (p4_catalog(pmu, i) && upmu_catalog_by_encoding(p4_catalog(pmu, i), &row, &id) == UPMU_OK)
            break;
    }
    upmu_text_char(out, '=');
    (void)upmu_catalog_id_name(upmu_catalog_of(pmu, id), id, name, sizeof name);
    for (const char *at = name; *at; at++)
        upmu_text_char(out, *at == ':' ? '.' : *at);
}

void upmu_p4_format(const struct upmu_pmu *pmu, const struct upmu_event *event, const struct upmu_row *row,
                    struct upmu_text *out)
{
    if (!(event->attributes & UPMU_ATTR_RAW)) {
        if ((row->flags & UPMU_ROW_MASKED) && !event->id.masks) {
            upmu_text_string(out, ":umask=");
            upmu_text_hex(out, event->config >> 9 & 0xffffu);
        }
        if ((event->config & T0_BOTH) != T0_BOTH)
            upmu_text_string(out, p4_fields[event->config & UPMU_P4_ESCR_T0_USR ? 0 : 1].name);
        for (unsigned i = FIELD_EDGE; i < P4_FIELDS; i++)
            if (event->attributes & p4_fields[i].attribute) {
                upmu_text_string(out, p4_fields[i].name);
                upmu_text_decimal(out, i == FIELD_ANY ? 1 : event->config >> p4_fields[i].shift & p4_fields[i].room);
            }
        if (event->attributes & UPMU_ATTR_ACTIVE) {
            upmu_text_string(out, ":active=");
            upmu_text_string(out, active_words[event->config >> 48 & 3u]);
        }
        if (event->attributes & UPMU_ATTR_CASCADE)
            write_initiator(pmu, event, out);
        if (event->config2 & UPMU_EVENT_AFTER) {
            upmu_text_string(out, ":after=");
            upmu_text_decimal(out, event->config2 & ~UPMU_EVENT_AFTER);
        }
    }
    if (event->attributes & UPMU_ATTR_PRECISE)
        upmu_text_string(out, ":precise=1"); /* there is no other level */
}

#endif

/* ---- Finishing ---- */

/*
 * Clear RUN_BITS in a word (CCCR << 32 | ESCR), and check the word. Returns false: a bit may not be set on this PMU, or
 * the CCCR select leads to no ESCR. Without a second hyper-thread ACTIVE_THREAD becomes 3, whatever a raw word has.
 */
static bool check_word(const struct upmu_pmu *pmu, unsigned group, uint64_t *word)
{
    unsigned even = upmu_p4_even_escr(group, *word), odd = even == UPMU_P4_SSU_ESCR0 ? even : even + 1;
    uint64_t cccr, escr;

    *word &= ~RUN_BITS;
    if (even == UPMU_P4_NO_ESCR)
        return false;
    cccr = upmu_register_settable(pmu, UPMU_P4_ROW_CCCR, UPMU_LEVEL_SESSION) |
           upmu_register_settable(pmu, UPMU_P4_ROW_CCCR + 12, UPMU_LEVEL_SESSION);
    escr = upmu_register_settable(pmu, UPMU_P4_ROW_ESCR + even, UPMU_LEVEL_PRIVILEGED) |
           upmu_register_settable(pmu, UPMU_P4_ROW_ESCR + odd, UPMU_LEVEL_PRIVILEGED);
    if (!(pmu->quirks & UPMU_P4_HT))
        *word |= THREADS;
    return !(*word & ~(cccr << 32 | escr));
}

/*
 * Return the counter group of a raw event's word. If `pinned` is true and the text pins a counter: the group of this
 * counter; otherwise the group of the first documented event with this code, or IQ.
 */
static unsigned raw_group(const struct upmu_event *event, uint64_t word, bool pinned)
{
    int row;

    if (pinned && (event->attributes & UPMU_ATTR_PIN))
        return event->pin < 12 ? event->pin >> 2 : UPMU_P4_GROUP_IQ;
    row = upmu_p4_find(UPMU_P4_GROUPS, word);
    return row >= 0 ? UPMU_P4_CODE_GROUP(upmu_p4_code((unsigned)row)) : UPMU_P4_GROUP_IQ;
}

static enum upmu_status finish_second(const struct upmu_pmu *pmu, struct upmu_event *event)
{
    unsigned group;

    if ((event->attributes & UPMU_ATTR_RAW) && (event->config & CASCADES))
        event->attributes |= UPMU_ATTR_CASCADE;
    if (!event->config1)
        return event->attributes & UPMU_ATTR_CASCADE ? UPMU_ERR_NOT_PERMITTED : UPMU_OK;
    /*
     * A raw event has no catalogue row that tells the counter group of the second word. In a cascade it is that of the
     * first word; otherwise the group of the first documented event with this code.
     */
    if (event->attributes & UPMU_ATTR_RAW)
        event->payload |= (uint8_t)(event->attributes & UPMU_ATTR_CASCADE
                                        ? (event->payload & 7u) << 3
                                        : (raw_group(event, event->config1, false) + 1u) << 3);
    group = UPMU_P4_PAYLOAD_SECOND(event->payload);
    if (!(event->config1 & (T0_BOTH | T1_BOTH)))
        event->config1 |= event->config & (T0_BOTH | T1_BOTH);
    event->flags1 = (uint8_t)(upmu_p4_find(group, event->config1) + 1);
    /* The second event, which starts, tags or accompanies the first, cannot be the target of a cascade itself. */
    return !(event->config1 & CASCADES) && check_word(pmu, group, &event->config1) ? UPMU_OK : UPMU_ERR_NOT_PERMITTED;
}

/*
 * Correct event->attributes by event->config: an attribute whose field is 0 is removed, except a counter mask of 0,
 * which still compares. Of a raw event the attributes of other fields than the privileges are removed, too, because its
 * text has the whole word.
 */
static void settle_p4_attributes(struct upmu_event *event)
{
    unsigned attributes = event->attributes | UPMU_ATTR_USR | UPMU_ATTR_OS;

    if (attributes & UPMU_ATTR_RAW)
        attributes &= ~(unsigned)(UPMU_ATTR_EDGE | UPMU_ATTR_INV | UPMU_ATTR_CMASK | UPMU_ATTR_ANY | UPMU_ATTR_ACTIVE);
    for (unsigned i = 0; i < P4_FIELDS; i++)
        if (!(event->config >> p4_fields[i].shift & p4_fields[i].room) && !(p4_fields[i].attribute & UPMU_ATTR_CMASK))
            attributes &= ~(unsigned)p4_fields[i].attribute;
    event->attributes = attributes;
}

/* Is the event of a word front_end_event, execution_event or replay_event? Other events have no precise samples. */
static bool is_tagged(unsigned group, uint64_t word)
{
    unsigned select = (unsigned)(word >> 25) & 0x3fu;

    return group == UPMU_P4_GROUP_IQ && (word >> 45 & 7u) == 5 && (select == 8 || select == 9 || select == 12);
}

enum upmu_status upmu_p4_finish(const struct upmu_pmu *pmu, struct upmu_event *event)
{
    uint64_t replay = event->config2;
    enum upmu_status status;
    unsigned group;
    int row;

    if (!event->payload)
        event->payload = (uint8_t)(raw_group(event, event->config, true) + 1u);
    group = UPMU_P4_PAYLOAD_GROUP(event->payload);
    /* If no privilege is set, set both, except one that the text excluded (u=0). */
    if (!(event->config & (T0_BOTH | (event->attributes & UPMU_ATTR_ANY ? 0 : T1_BOTH))))
        event->config |= T0_BOTH & ~((uint64_t)event->attributes * UPMU_P4_ESCR_T0_USR);
    if (event->attributes & UPMU_ATTR_ANY)
        event->config = (event->config & ~T1_BOTH) | (event->config & T0_BOTH) >> 2;
    if (!(event->config & (T0_BOTH | T1_BOTH)))
        return UPMU_ERR_CONTRADICTION;
    if ((replay & UPMU_EVENT_AFTER) && (event->config & CASCADES) && (replay & ~UPMU_EVENT_AFTER) <= pmu->max_period)
        replay = 0;
    /* Threshold, edge and complement need the comparison. */
    if (event->config & FILTERS)
        event->config |= CCCR(UPMU_P4_CCCR_COMPARE);
    if (!check_word(pmu, group, &event->config) ||
        (replay & ~(UPMU_P4_PEBS_TAGS | pmu->limit[UPMU_P4_CLASS_MATRIX_VERT] << 32)))
        return UPMU_ERR_NOT_PERMITTED;
    if (replay && !upmu_rows_has(pmu->present, UPMU_P4_ROW_PEBS_ENABLE))
        return UPMU_ERR_UNSUPPORTED;
    status = finish_second(pmu, event);
    if (status != UPMU_OK)
        return status;
    /* NetBurst has precise level 1 alone, and only for events that count tagged uops. */
    if (UPMU_PRECISE_LEVEL(event->attributes) > 1 ||
        ((event->attributes & UPMU_ATTR_PRECISE) && !is_tagged(group, event->config)))
        return UPMU_ERR_NOT_PRECISE;
    settle_p4_attributes(event);
    row = upmu_p4_find(group, event->config);
    event->flags = (uint8_t)(row + 1);
    /* A slot has room for three resources. The ESCR and replay tags are three, so a further one does not fit. */
    if (replay && ((row >= 0 && row < (int)UPMU_P4_TI_EVENTS) || upmu_p4_second(event) == UPMU_P4_PARTNER))
        return UPMU_ERR_DOES_NOT_FIT;
    if (!event->counters)
        event->counters = pmu->counters;
    event->counters &= upmu_p4_counters(pmu, group, event->config, row);
    if (event->attributes & UPMU_ATTR_PRECISE)
        event->counters &= UPMU_BIT32(16) | UPMU_BIT32(17);
    if ((event->attributes & UPMU_ATTR_CASCADE) && group != UPMU_P4_PAYLOAD_SECOND(event->payload))
        return UPMU_ERR_DOES_NOT_FIT;
    return event->counters ? UPMU_OK : UPMU_ERR_DOES_NOT_FIT;
}

#endif
