/* SPDX-License-Identifier: MIT */
/*
 * Fuzzing: packed catalogues from outside with bytes changed and the checksum put right.
 * None that is accepted reads outside itself (with the address sanitizer), and each that
 * is accepted is consistent: every name leads to its id and back, every event that a PMU
 * encodes has only bits that the PMU's registers have, and is equal after encoding its text.
 * While a byte behind its headers changes, and after that, no call reads or writes outside
 * (what it answers does not matter).
 */
#include <stdlib.h>
#include <string.h>

#include <upmu/upmu.h>

#include "core/catalog/catalog_table.h"

#include "tests/common/blobs.h"
#include "tests/common/share.h"
#include "tests/common/flipper.h"
#include "tests/fuzz/fuzz.h"

#define NAME 160

/* Names of an accepted file that are encoded. */
#define ENCODED 24u

static const char *const models[] = {"skl", "coreduo", "zen2", "k8", "netburst"};
#define MODELS (sizeof models / sizeof models[0])

/* An event encoded by name is equal after encoding its text, and has raw words that the PMU permits. */
static void check_event(const struct upmu_pmu *pmu, const char *name)
{
    struct upmu_event event, again;
    char text[NAME * 2];

    if (upmu_event_parse(pmu, name, &event, NULL) != UPMU_OK)
        return;
    FUZZ_CHECK(upmu_event_format(pmu, &event, text, sizeof text) < sizeof text, "%s: too long a text", name);
    if (upmu_event_parse(pmu, text, &again, NULL) == UPMU_OK && again.id.catalogue == event.id.catalogue)
        FUZZ_CHECK(again.config == event.config && again.config1 == event.config1, "%s: %s is another event", name,
                   text);
}

static void check_catalog(const struct upmu_catalog *catalog, const void *file, unsigned model)
{
    char name[NAME], back[NAME];
    unsigned names = 0, every;
    struct upmu_event_id id, found;
    struct upmu_mask mask;
    struct upmu_row row;
    uint32_t cursor = 0;
    struct upmu_pmu pmu;
    bool alias;

    if (upmu_pmu_by_name(&pmu, models[model]) != UPMU_OK)
        return;
    if (upmu_pmu_import(&pmu, file) != UPMU_OK)
        pmu.imported = catalog; /* a host could be that careless */
    every = upmu_catalog_rows(catalog) / ENCODED + 1;
    for (unsigned i = 0; i < upmu_catalog_rows(catalog); i++) {
        FUZZ_CHECK(upmu_catalog_row(catalog, i, &row), "row %u is missing", i);
        for (unsigned k = 0; k < row.mask_count; k++)
            FUZZ_CHECK(upmu_catalog_mask(catalog, i, k, &mask) &&
                           upmu_catalog_mask_name(catalog, i, k, name, sizeof name) < sizeof name,
                       "row %u: mask %u is missing", i, k);
    }
    while (upmu_catalog_next(catalog, NULL, &cursor, &id, name, sizeof name, &alias) == UPMU_OK) {
        FUZZ_CHECK(upmu_catalog_lookup(catalog, name, strlen(name), &found) == UPMU_OK &&
                       memcmp(&found, &id, sizeof id) == 0,
                   "%s leads elsewhere", name);
        (void)upmu_catalog_id_name(catalog, id, back, sizeof back);
        FUZZ_CHECK(alias || strcmp(name, back) == 0, "%s is formatted as %s", name, back);
        if (names++ % every == 0)
            check_event(&pmu, name);
    }
    row.code = 0xc0, row.umask = 0, row.payload = 0;
    (void)!upmu_catalog_by_encoding(catalog, &row, &id);
    (void)upmu_catalog_nearest(catalog, "instuctions", 11, &id);
}

/* Every kind of call, whatever it answers. */
static void ask_everything(const struct upmu_catalog *catalog, const void *file, unsigned model, unsigned seed)
{
    unsigned rows = upmu_catalog_rows(catalog), which = rows ? seed % rows : 0, mask;
    struct upmu_event_id id, found;
    char name[NAME], back[NAME];
    struct upmu_event event;
    struct upmu_mask one;
    struct upmu_pmu pmu;
    struct upmu_row row;
    uint32_t cursor = seed << 16, taken;
    bool alias;

    if (upmu_pmu_by_name(&pmu, models[model]) != UPMU_OK)
        return;
    if (upmu_pmu_import(&pmu, file) != UPMU_OK)
        pmu.imported = catalog;
    for (unsigned i = 0; i < 8; i++, which = rows ? (which + 1) % rows : 0) {
        if (!upmu_catalog_row(catalog, which, &row))
            continue;
        id = (struct upmu_event_id){upmu_catalog_number(catalog), (uint16_t)which, 1u << i};
        (void)upmu_catalog_mask(catalog, which, i, &one);
        (void)!upmu_catalog_merge(catalog, id, &row, &taken);
        (void)upmu_catalog_id_name(catalog, id, name, sizeof name);
        (void)!upmu_catalog_lookup(catalog, name, strlen(name), &found);
        (void)upmu_catalog_mask_name(catalog, which, i, back, sizeof back);
        (void)upmu_catalog_mask_lookup(catalog, which, back, strlen(back), &mask);
        (void)!upmu_event_parse(&pmu, name, &event, NULL);
        if (upmu_catalog_next(catalog, NULL, &cursor, &id, name, sizeof name, &alias) != UPMU_OK)
            cursor = 0;
    }
    (void)!upmu_catalog_by_encoding(catalog, &row, &id);
    (void)upmu_catalog_nearest(catalog, "instuctions", 11, &id);
}

/* Often a byte of what says how many masks a row has: what walks through them trusts it most. */
static uint8_t *place_to_change(uint8_t *file, size_t size, const struct upmu_catalog *catalog,
                                struct fuzz_bytes *input)
{
    size_t header = (size_t)(catalog->byte - file), behind = header + UPMU_OWN_HEADER + 12;
    size_t begin = UPMU_FILE_DIRECTORY + 3, at = (size_t)fuzz_take(input, 2);
    const uint8_t *set = upmu_row_set(catalog, (unsigned)at % (upmu_catalog_rows(catalog) + 1u));

    if (set && fuzz_u8(input) % 4u)
        return file + (set - file) + at % 9u;
    at = begin + at % (size - begin);
    return file + (at >= header && at < behind ? behind : at);
}

/* Which file, which PMU, then changes: where (2 bytes), to what. */
static void run(const uint8_t *bytes, size_t length)
{
    struct fuzz_bytes input = {bytes, bytes + length};
    static uint8_t made[BLOB_ROOM];
    unsigned which = fuzz_u8(&input) % blob_count(), model = fuzz_u8(&input) % MODELS;
    size_t size = blob_make(which, made);
    uint8_t *file = malloc(size);

    if (!file)
        abort();
    memcpy(file, made, size);
    while (fuzz_more(&input)) {
        size_t at = (size_t)fuzz_take(&input, 2) % (size - 4);

        file[at] = fuzz_u8(&input);
    }
    blob_seal(file, size);
    if (upmu_catalog_load(file, size) == UPMU_OK)
        for (unsigned i = 0; upmu_catalog_loaded(file, i); i++) {
            const struct upmu_catalog *catalog = upmu_catalog_loaded(file, i);
            struct fuzz_bytes again = {bytes, bytes + length};
            uint8_t *place = place_to_change(file, size, catalog, &again), value = fuzz_u8(&again);

            check_catalog(catalog, file, model);
            flipper_begin(place, value);
            for (unsigned k = 0; k < 3; k++)
                ask_everything(catalog, file, model, 8 * k + value);
            flipper_end();
            *place = value;
            ask_everything(catalog, file, model, value);
        }
    free(file);
}

/* Half of them of at most 4 KiB; few changes, near the headers more often than elsewhere. */
static void make(uint64_t *random, struct fuzz_draft *draft)
{
    unsigned small = blob_small_count(), which;
    static uint8_t made[BLOB_ROOM];
    size_t size;

    which = fuzz_below(random, 2) ? fuzz_below(random, small) : small + fuzz_below(random, blob_count() - small);
    size = blob_make(which, made);
    fuzz_put(draft, which, 1);
    fuzz_put(draft, fuzz_below(random, MODELS), 1);
    for (unsigned changes = 1 + fuzz_below(random, fuzz_below(random, 4) ? 2 : 12); changes; changes--) {
        unsigned at = fuzz_below(random, fuzz_below(random, 4) ? (unsigned)size : 68);

        fuzz_put(draft, at, 2);
        fuzz_put(draft, fuzz_below(random, 3) ? made[at] ^ 1u << fuzz_below(random, 8) : fuzz_word(random) & 255u, 1);
    }
}

/* (What reads outside is seen by sanitizers: more of them there.) */
#define RUNS (SHARE_SLOW_BUILD ? 2500 : 2000)

const struct fuzz_target fuzz_target = {
    "catalog", "a_changed_catalogue_is_refused_or_consistent", RUNS, 1000000, run,
    make, 0};
