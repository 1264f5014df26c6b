/* SPDX-License-Identifier: MIT */
/*
 * Fuzzing: lists of specifications, on every PMU of a core and of a unit.  Splitting and plain form are one
 * thing, so are an event and its text; refusals leave outputs alone and name bytes
 * of the text.
 */
#include <stdio.h>
#include <string.h>

#include <upmu/upmu.h>

#include "backends/uncore/uncore.h"
#include "backends/uncore/uncore_tables.h"
#include "core/hw/backend.h"

#include "tests/common/share.h"
#include "tests/fuzz/fuzz.h"

#define TEXT 512u
#define PLAIN 2048u

/* First byte of an input for a type of unit, whose number is the next two. */
#define OF_UNIT 255u

static struct upmu_uncore_pmu unit;

/* Types of units, each generation's; `unit` is the one of this number. */
static unsigned make_unit(unsigned number)
{
    unsigned types = 0;

    for (unsigned g = 0; g < upmu_uncore_generation_count; g++) {
        const struct upmu_uncore_generation *generation = &upmu_uncore_generations[g];

        if (number >= types && number < types + generation->rows)
            upmu_uncore_make(g, generation->first + number - types, NULL, &unit);
        types += generation->rows;
    }
    return types;
}

static void check_part(const struct upmu_spec_part *part, size_t end, const char *list)
{
    FUZZ_CHECK((size_t)part->position + part->length <= end && (size_t)part->value + part->value_length <= end,
               "a part of \"%s\" is outside of it", list);
}

/* The plain form, split again, has the same plain form. */
static void check_plain(const struct upmu_spec *spec, const char *list)
{
    char plain[PLAIN], again[PLAIN];
    struct upmu_spec second;
    size_t cursor = 0, length = upmu_spec_format(spec, plain, sizeof plain);

    FUZZ_CHECK(length < sizeof plain && strlen(plain) == length, "plain form of \"%s\": %u bytes", list,
               (unsigned)length);
    FUZZ_CHECK(upmu_spec_next(plain, &cursor, &second, NULL) == UPMU_OK && !plain[cursor],
               "plain form \"%s\" of \"%s\" is refused", plain, list);
    FUZZ_CHECK(upmu_spec_format(&second, again, sizeof again) == length && !strcmp(plain, again),
               "\"%s\" is plain \"%s\", which is plain \"%s\"", list, plain, again);
    for (size_t size = 0; size < 3; size++) {
        char cut[8] = "???????";

        FUZZ_CHECK(upmu_spec_format(spec, cut, size) == length && (!size || strlen(cut) < size) && cut[size] == '?',
                   "\"%s\" cut to %u bytes", list, (unsigned)size);
    }
}

static void check_why(const struct upmu_why *why, enum upmu_status status, const char *list)
{
    char text[300], cut[16];
    size_t length;

    FUZZ_CHECK(why->status == status, "\"%s\": status %d, but why says %d", list, status, why->status);
    FUZZ_CHECK((size_t)why->position + why->length <= strlen(list), "\"%s\": why names bytes %u to %u", list,
               why->position, why->position + why->length);
    FUZZ_CHECK(memchr(why->word, 0, sizeof why->word), "\"%s\": why.word has no end", list);
    length = upmu_why_text(why, text, sizeof text);
    FUZZ_CHECK(length && (length >= sizeof text || strlen(text) == length), "\"%s\": explanation of %u bytes", list,
               (unsigned)length);
    FUZZ_CHECK(!strchr(text, '\n'), "\"%s\": explanation of several lines", list);
    FUZZ_CHECK(upmu_why_text(why, cut, sizeof cut) == length && strlen(cut) < sizeof cut, "\"%s\": cut explanation",
               list);
}

/*
 * What a start sets, and what no text may ask for: bits 63:48, 39:37, 35, 34, 22, 20, 19 of a
 * select (version 6 has 47:40 and 36); of CCCR << 32 | ESCR the reserved ones, ENABLE, FORCE_OVF,
 * both OVF_PMI, OVF.
 */
#define SELECT_RUN (UINT64_C(0xffff00ec00580000))
/* AMD's: bits 63:42, 39:36, 22 to 20. */
#define AMD_RUN (UINT64_C(0xfffffcf000700000))
#define CCCR_RUN (UINT64_C(0xbe0017ff80000000))

static uint64_t bits_of_a_start(const struct upmu_pmu *pmu)
{
    if (pmu == &unit.pmu)
        return unit.type->enable_bit < 64 ? UINT64_C(1) << unit.type->enable_bit : 0;
    if (!strcmp(pmu->backend->name, "amd_k8"))
        return AMD_RUN;
    return strncmp(pmu->name, "netburst", 8) ? SELECT_RUN : CCCR_RUN;
}

static void check_event(const struct upmu_pmu *pmu, const struct upmu_event *event, const char *list)
{
    char text[PLAIN];
    struct upmu_event again;
    struct upmu_why why;
    size_t length = upmu_event_format(pmu, event, text, sizeof text);

    FUZZ_CHECK(event->counters && !(event->counters & ~pmu->counters), "%s: \"%s\" on counters %x", pmu->name, list,
               (unsigned)event->counters);
    FUZZ_CHECK(!(event->config & bits_of_a_start(pmu)), "%s: \"%s\" has config %llx", pmu->name, list,
               (unsigned long long)event->config);
    FUZZ_CHECK(length < sizeof text && strlen(text) == length, "%s: \"%s\" has a text of %u bytes", pmu->name, list,
               (unsigned)length);
    memset(&again, 0, sizeof again);
    FUZZ_CHECK(upmu_event_parse(pmu, text, &again, &why) == UPMU_OK, "%s: \"%s\" is \"%s\", which is refused (%d)",
               pmu->name, list, text, why.status);
    FUZZ_CHECK(!memcmp(event, &again, sizeof again),
               "%s: \"%s\" is \"%s\", which is another event: config %llx %llx, attributes %x %x, masks %x %x",
               pmu->name, list, text, (unsigned long long)event->config, (unsigned long long)again.config,
               event->attributes, again.attributes, (unsigned)event->id.masks, (unsigned)again.id.masks);
}

static enum upmu_status run_spec(const struct upmu_pmu *pmu, const struct upmu_spec *spec, const char *list)
{
    struct upmu_event event, before;
    struct upmu_why why;
    enum upmu_status status;

    memset(&event, 0xA5, sizeof event);
    memset(&why, 0xA5, sizeof why);
    before = event;
    status = upmu_event_encode(pmu, spec, &event, &why);
    if (status == UPMU_OK) {
        check_event(pmu, &event, list);
        FUZZ_CHECK(why.status == UPMU_OK && !why.culprits, "\"%s\": accepted, but why is not cleared", list);
    } else {
        FUZZ_CHECK(!memcmp(&event, &before, sizeof event), "%s: \"%s\" is refused, but the event is written", pmu->name,
                   list);
        check_why(&why, status, list);
    }
    return status;
}

/* All events of a list are added, or none. */
static void run_session(const struct upmu_pmu *pmu, const char *list, unsigned accepted, bool refused)
{
    struct upmu_machine machine;
    struct upmu_session session;
    enum upmu_status status;

    memset(&machine, 0, sizeof machine);
    machine.pmu[0] = *pmu;
    machine.pmu_count = 1;
    FUZZ_CHECK(upmu_session_init(&session, &machine) == UPMU_OK, "session_init");
    status = upmu_set_add(&session.set, list, NULL);
    FUZZ_CHECK(session.set.count == (status == UPMU_OK ? accepted : 0), "%s: \"%s\" gave %u of %u events (%d)",
               pmu->name, list, session.set.count, accepted, status);
    FUZZ_CHECK(status != UPMU_OK || !refused, "%s: \"%s\" is accepted as a whole", pmu->name, list);
    if (status != UPMU_OK)
        check_why(&session.why, status, list);
}

static void run_list(const struct upmu_pmu *pmu, const char *list)
{
    struct upmu_spec spec, before;
    struct upmu_why why;
    size_t cursor = 0, from = 0;
    unsigned accepted = 0;
    bool refused = false;
    enum upmu_status status;

    for (;;) {
        memset(&spec, 0xA5, sizeof spec);
        before = spec;
        status = upmu_spec_next(list, &cursor, &spec, &why);
        if (status != UPMU_OK)
            break;
        FUZZ_CHECK(cursor > from && cursor <= strlen(list), "\"%s\": from %u to %u", list, (unsigned)from,
                   (unsigned)cursor);
        from = cursor;
        check_part(&spec.unit, cursor, list);
        check_part(&spec.pmu, cursor, list);
        check_part(&spec.name, cursor, list);
        check_part(&spec.row, cursor, list);
        FUZZ_CHECK(spec.attribute_count <= UPMU_SPEC_ATTRIBUTES, "\"%s\": %u attributes", list, spec.attribute_count);
        for (unsigned i = 0; i < spec.attribute_count; i++)
            check_part(&spec.attribute[i], cursor, list);
        check_plain(&spec, list);
        if (run_spec(pmu, &spec, list) == UPMU_OK)
            accepted++;
        else
            refused = true;
    }
    if (status != UPMU_ERR_END) {
        FUZZ_CHECK(!memcmp(&spec, &before, sizeof spec), "\"%s\" is refused, but the specification is written", list);
        check_why(&why, status, list);
        refused = true;
    }
    if (pmu != &unit.pmu)
        run_session(pmu, list, accepted, refused);
}

static void run(const uint8_t *bytes, size_t length)
{
    static struct upmu_pmu pmu;
    char list[TEXT];
    unsigned which = length ? bytes[0] : 0, known = 0;
    bool of_unit = which == OF_UNIT && length > 2;

    while (upmu_pmu_known(known))
        known++;
    if (of_unit) {
        (void)make_unit((bytes[1] | (unsigned)bytes[2] << 8) % make_unit(0));
        bytes += 2;
        length -= 2;
    }
    length = length ? length - 1 : 0;
    if (length >= sizeof list)
        length = sizeof list - 1;
    memcpy(list, bytes + 1 - !length, length);
    list[length] = 0;
    if (of_unit) {
        run_list(&unit.pmu, list);
        return;
    }
    for (unsigned i = 0; i < known; i++) {
        if (which && (which - 1) % known != i)
            continue;
        FUZZ_CHECK(upmu_pmu_by_name(&pmu, upmu_pmu_known(i)) == UPMU_OK, "%s", upmu_pmu_known(i));
        run_list(&pmu, list);
    }
}

/* ---- Making lists ---- */

static void put_name(uint64_t *random, struct fuzz_draft *draft, const struct upmu_catalog *catalog)
{
    static const char *const names[] = {"cycles",
                                        "instructions:u",
                                        "branch-misses",
                                        "raw:config=0x1c0",
                                        "r1c0",
                                        "cpu/event=0x3c,umask=0/",
                                        "skl::cycles",
                                        "2 instructions",
                                        "LLC-misses",
                                        "cpu/cycles/u",
                                        "OFFCORE_RESPONSE_0",
                                        "L2_LINES_IN,core=all,prefetch=only",
                                        "raw:config=0x1b7:config1=1",
                                        "mask=self+m_state",
                                        "nonsense"};
    char name[200];
    struct upmu_row row;
    unsigned number, masks;

    if (!catalog || !upmu_catalog_rows(catalog) || !fuzz_below(random, 4)) {
        fuzz_put_text(draft, names[fuzz_below(random, sizeof names / sizeof names[0])]);
        return;
    }
    number = fuzz_below(random, upmu_catalog_rows(catalog));
    (void)upmu_catalog_row_name(catalog, number, name, sizeof name);
    fuzz_put_text(draft, name);
    if (!upmu_catalog_row(catalog, number, &row) || !row.mask_count)
        return;
    for (masks = fuzz_below(random, 4); masks; masks--) {
        (void)upmu_catalog_mask_name(catalog, number, fuzz_below(random, row.mask_count), name, sizeof name);
        fuzz_put_text(draft, ":");
        fuzz_put_text(draft, name);
    }
}

static void put_attribute(uint64_t *random, struct fuzz_draft *draft)
{
    static const char *const words[] = {"u",
                                        "k",
                                        "usr",
                                        "os",
                                        "e",
                                        "edge",
                                        "i",
                                        "inv",
                                        "c=",
                                        "cmask=",
                                        "t",
                                        "any",
                                        "intx",
                                        "intxcp",
                                        "p",
                                        "precise=",
                                        "ldlat=",
                                        "fe_thres=",
                                        "offcore_rsp=",
                                        "frontend=",
                                        "umask=",
                                        "event=",
                                        "counter=",
                                        "u=",
                                        "k=",
                                        "e=",
                                        "i=",
                                        "uk",
                                        "pp",
                                        "core=",
                                        "agent=any",
                                        "cachestate=m+e",
                                        "mask=",
                                        "config=",
                                        "config1=",
                                        "config2=",
                                        "thresh=",
                                        "tid_en",
                                        "filter=",
                                        "filter_opc=",
                                        "filter_nid=",
                                        "match_opc=",
                                        "occ_sel=",
                                        "ch_mask=",
                                        "fc_mask=",
                                        "umask_ext=",
                                        "xyz"};
    const char *word = words[fuzz_below(random, sizeof words / sizeof words[0])];
    char value[24];

    fuzz_put_text(draft, fuzz_below(random, 4) ? ":" : ",");
    fuzz_put_text(draft, word);
    if (word[strlen(word) - 1] != '=')
        return;
    snprintf(value, sizeof value, fuzz_below(random, 2) ? "%llu" : "0x%llx",
             (unsigned long long)(fuzz_below(random, 2) ? fuzz_below(random, 6) : fuzz_word(random)));
    fuzz_put_text(draft, value);
}

/* A box, spelt somehow, or nothing. */
static void put_unit(uint64_t *random, struct fuzz_draft *draft)
{
    static const char *const prefixes[] = {"", "uncore_", "amd_", "die0/", "package1/die1/", "x"};
    static const char *const numbers[] = {"", "0", "_3", "/7", "_", "65535", "99999999999"};

    if (!fuzz_below(random, 3))
        return;
    if (fuzz_below(random, 3)) {
        fuzz_put_text(draft, prefixes[fuzz_below(random, sizeof prefixes / sizeof prefixes[0])]);
        fuzz_put_text(draft, unit.type->name);
    } else {
        fuzz_put_text(draft, unit.type->pmu);
    }
    fuzz_put_text(draft, numbers[fuzz_below(random, sizeof numbers / sizeof numbers[0])]);
    fuzz_put_text(draft, fuzz_below(random, 3) ? "/" : "::");
}

static void make(uint64_t *random, struct fuzz_draft *draft)
{
    unsigned known = 0, which;
    static struct upmu_pmu core;
    const struct upmu_pmu *pmu = &core;

    while (upmu_pmu_known(known))
        known++;
    if (fuzz_below(random, 3)) {
        which = fuzz_below(random, known);
        fuzz_put(draft, which + 1, 1);
        if (upmu_pmu_by_name(&core, upmu_pmu_known(which)) != UPMU_OK)
            return;
    } else {
        which = fuzz_below(random, make_unit(0));
        fuzz_put(draft, OF_UNIT, 1);
        fuzz_put(draft, which, 2);
        (void)make_unit(which);
        pmu = &unit.pmu;
    }
    for (unsigned specs = 1 + fuzz_below(random, 3); specs; specs--) {
        if (pmu == &unit.pmu)
            put_unit(random, draft);
        put_name(random, draft, pmu->catalog);
        for (unsigned attributes = fuzz_below(random, 4); attributes; attributes--)
            put_attribute(random, draft);
        fuzz_put_text(draft, specs > 1 ? "," : "");
    }
    if (!fuzz_below(random, 3))
        for (unsigned changes = 1 + fuzz_below(random, 3); changes; changes--)
            draft->bytes[1 + fuzz_below(random, (unsigned)draft->length - 1)] =
                fuzz_below(random, 2) ? (uint8_t) " ,:=/+_.019xXuk\t"[fuzz_below(random, 16)]
                                      : (uint8_t)fuzz_random(random);
}

#define RUNS (SHARE_SLOW_BUILD ? 5000 : 20000)

const struct fuzz_target fuzz_target = {
    "text", "any_text_is_an_event_with_a_text_or_refused", RUNS, 2000000, run, make, 0};
