/* SPDX-License-Identifier: MIT */
/*
 * Encode AMD's events: make the select word (upmu_event.config) from a catalogue row and attributes, check it and find
 * the counters for it; write attributes back as text.
 *
 * Layout: AMD APM vol 2 (24593) 13.2; generic names: Linux arch/x86/events/amd/core.c; qualifiers: FreeBSD 10.4
 * lib/libpmc/libpmc.c, classes K7 and K8.
 */
#include "backends/amd_k8/amd_k8.h"
#include "backends/amd_k8/amd_registers.h"
#include "backends/x86_common/x86_select.h"
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/catalog/catalog.h"
#include "core/hw/register.h"
#include "core/util/text.h"

#if UPMU_BACKEND_AMD

#define AMD_SELECT_WORLDS (UPMU_AMD_SELECT_GUEST | UPMU_AMD_SELECT_HOST)

/*
 * Return the mask of the select bits that the words of an event may have; upmu_x86_settle() refuses an event with other
 * bits. The enable bit and the interrupt bit are in the mask, but never stay in the select word of an event.
 */
static UPMU_APART uint64_t amd_settable(const struct upmu_pmu *pmu)
{
    return upmu_register_settable(pmu, UPMU_AMD_ROW_SELECT, UPMU_LEVEL_PRIVILEGED);
}

#if UPMU_NAMES

enum upmu_status upmu_amd_attribute(const struct upmu_pmu *pmu, struct upmu_event *event, const char *name,
                                    size_t length, const uint64_t *value)
{
    unsigned i = upmu_x86_field_of(name, length);
    uint64_t code;

    /*
     * In the text an event code is one number of up to 12 bits. In the select its bits 11:8 stand at bits 35:32. A
     * code above FFFh becomes a value that upmu_x86_set() refuses.
     */
    if (i == UPMU_X86_FIELD_EVENT) {
        i = UPMU_X86_FIELD_AMD_EVENT;
        if (value) {
            code = *value > 0xfff ? ~UINT64_C(0) : upmu_amd_word((unsigned)*value);
            value = &code;
        }
    }
    /* No AMD counter makes precise samples: `precise` or `p` with value 0 is accepted, other levels are refused. */
    if (i == UPMU_X86_FIELDS && (!value || *value <= 3))
        return value && !*value ? UPMU_OK : UPMU_ERR_NOT_PRECISE;
    if (i >= UPMU_X86_FIELDS || !(upmu_x86_fields[i].families & UPMU_X86_AMD))
        return UPMU_ERR_NO_SUCH_ATTRIBUTE;
    return upmu_x86_set(event, i, amd_settable(pmu), value);
}

/*
 * Convert a word of FreeBSD's unitmask= of K7 to unit mask bits: each letter is a state of the cache line (m, o, e, s,
 * i). In unitmask=m+o the caller separates the words at '+'; in unitmask=mo one word has both letters.
 */
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
 * The codes of architectural events on each generation. `from` is the select word in the architectural catalogue. `to`
 * has a column for each UPMU_AMD_GENERIC_…: the event code, and the unit mask in bits 23:16; 0: there is no such event.
 */
static const struct {
    uint32_t from;
    uint32_t to[UPMU_AMD_GENERIC_ZEN4 + 1];
} amd_generic[] = {
    {UPMU_WORD_CYCLES, {0x76, 0x76, 0x76, 0x76, 0x76, 0x76}},
    {UPMU_WORD_INSTRUCTIONS, {0xc0, 0xc0, 0xc0, 0xc0, 0xc0, 0xc0}},
    {UPMU_WORD_BRANCHES, {0xc2, 0xc2, 0xc2, 0xc2, 0xc2, 0xc2}},
    {UPMU_WORD_BRANCH_MISSES, {0xc3, 0xc3, 0xc3, 0xc3, 0xc3, 0xc3}},
    {UPMU_WORD_CACHE_REFERENCES, {0, 0, 0x07007d, 0xff0060, 0xff0060, 0xff0060}},
    {UPMU_WORD_CACHE_MISSES, {0, 0, 0x07007e, 0x090064, 0x090064, 0x090064}},
    {UPMU_WORD_FRONTEND, {0, 0xd0, 0xd0, 0x020087, 0xa9, 0xa9}},
    {UPMU_WORD_BACKEND, {0, 0xd1, 0xd1, 0x010087, 0, 0}},
    {UPMU_WORD_REF_CYCLES, {0, 0, 0, 0, 0, 0x010120}},
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
 * Find the unit mask of a row on this revision of the CPU. Returns false: the revision lacks the event or one of the
 * masks that were named: bit 8 + revision of row->umask is set. If row->msr is not 0, byte `revision` of row->payload
 * has the unit mask bits that exist on it.
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
    event->config = upmu_amd_word(row->code) | umask << 8 | upmu_x86_modifiers(row);
    event->counters = row->counters;
    if (upmu_catalog_is_architectural(upmu_catalog_of(pmu, event->id))) {
        event->config = translate_generic(pmu, event->config);
        event->counters = 0;
    }
    return event->config ? UPMU_OK : UPMU_ERR_UNSUPPORTED;
}

void upmu_amd_format(const struct upmu_pmu *pmu, const struct upmu_event *event, const struct upmu_row *row,
                     struct upmu_text *out)
{
    (void)pmu;
    upmu_x86_format(event, row, UPMU_X86_AMD, out);
}

#endif

/*
 * Mark an event of the northbridge (upmu_event.payload), or one that needs two counters (UPMU_ATTR_WIDE), by its code.
 * Returns UPMU_OK, or UPMU_ERR_UNSUPPORTED: the counts would be cleared (UPMU_AMD_NB_RESET), or it is the merge event.
 */
static UPMU_APART enum upmu_status settle_code(const struct upmu_pmu *pmu, struct upmu_event *event)
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
        /* A text may not name the merge event: alone, it would add to the count of another counter's event. */
        if (code == upmu_amd_code(UPMU_AMD_MERGE))
            return UPMU_ERR_UNSUPPORTED;
    }
    return UPMU_OK;
}

enum upmu_status upmu_amd_finish(const struct upmu_pmu *pmu, struct upmu_event *event)
{
    enum upmu_status status = upmu_x86_settle(event, amd_settable(pmu));
    uint32_t counters;

    if (status != UPMU_OK)
        return status;
    if (event->config1)
        return UPMU_ERR_NOT_PERMITTED;
    /* Guest and host together are no restriction. Clear both bits then: the event counts in both, also without SVM. */
    if ((event->config & AMD_SELECT_WORLDS) == AMD_SELECT_WORLDS)
        event->config &= ~AMD_SELECT_WORLDS;
    upmu_x86_settle_attributes(event);
    counters = upmu_amd_counters(pmu, event->config);
    if (event->counters & counters)
        counters &= event->counters;
    event->counters = counters;
    if (!counters)
        return UPMU_ERR_DOES_NOT_FIT;
    return settle_code(pmu, event);
}

#endif
