/* SPDX-License-Identifier: MIT */
/*
 * Placement of AMD's events: family 15h's counters event by event, and seeded sets of
 * family 15h and of Zen with wide events against a search of its own over the rules.
 * Slow builds run a share of the sets (tests/common/share.h).
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/util/bits.h"
#include "tests/common/amd_leaves.h"
#include "tests/common/share.h"
#include "tests/common/table.h"

#define SETS 100000u
#define REQUESTS 7u

static struct upmu_pmu pmu;

static unsigned draw(uint64_t *random, unsigned below)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return (unsigned)(*random >> 32) % below;
}

/* tests/golden/amd_f15h.tsv: code, unit mask, counters. */
static void family_15h_counts_each_event_where_both_sources_say(void **state)
{
    FILE *file = source_open("tests/golden/amd_f15h.tsv");
    unsigned code, umask, counters, rows = 0;
    char line[200];

    (void)state;
    assert_int_equal(upmu_pmu_by_name(&pmu, "fam15h"), UPMU_OK);
    while (fgets(line, sizeof line, file)) {
        struct upmu_event event;
        enum upmu_status status;

        if (line[0] == '#')
            continue;
        assert_int_equal(sscanf(line, "%x %x %x", &code, &umask, &counters), 3);
        status = upmu_event_raw(&pmu, upmu_amd_word(code) | umask << 8, 0, 0, &event);
        assert_int_equal(status, counters ? UPMU_OK : UPMU_ERR_DOES_NOT_FIT);
        if (counters && event.counters != counters)
            fail_msg("%03x/%02x: %x", code, umask, event.counters);
        rows++;
    }
    (void)fclose(file);
    assert_compare(rows, >, 120);
}

/* ---- Seeded sets ---- */

struct request {
    struct upmu_event event;
    uint32_t counters; /* by the rules of this file */
    bool wide;
};

static struct request request[REQUESTS];
static unsigned request_count;
static uint32_t taken;

static bool way(const void *context, unsigned which, unsigned i, struct upmu_alternative *out)
{
    (void)context;
    return pmu.backend->alternative(&pmu, &request[which].event, 0, i, out);
}

/* Every counter for one after the other. */
static bool search(unsigned which, uint32_t free)
{
    if (which == request_count)
        return true;
    for (unsigned n = 0; n < 6; n++) {
        uint32_t needs = (request[which].wide ? 3u : 1u) << n;

        if ((request[which].counters >> n & 1u) && (needs & ~free) == 0 && !(request[which].wide && n % 2) &&
            search(which + 1, free & ~needs))
            return true;
    }
    return false;
}

static bool is_right(const struct upmu_place_result *result)
{
    uint32_t used = taken;

    for (unsigned i = 0; i < request_count; i++) {
        unsigned n = result[i].counter[0];

        if (n > 5 || !(request[i].counters >> n & 1u) || (used >> n & 1u))
            return false;
        used |= 1u << n;
        if (!request[i].wide)
            continue;
        if (n % 2 || result[i].counter[1] != n + 1 || (used >> (n + 1) & 1u))
            return false;
        used |= 2u << n;
    }
    return true;
}

/* Place the requests; they fit exactly when the search says so. */
static bool place(void)
{
    static struct upmu_place_work work;
    struct upmu_place_result result[REQUESTS];
    struct upmu_why why;
    struct upmu_place_input input = {.alternative = way,
                                     .request_count = request_count,
                                     .counters = pmu.counters,
                                     .taken = taken,
                                     .preference = pmu.preference,
                                     .preference_count = pmu.preference_count};
    bool fits = search(0, 0x3fu & ~taken);

    assert_int_equal(upmu_requests_place(&input, &work, result, &why), fits ? UPMU_OK : UPMU_ERR_DOES_NOT_FIT);
    if (fits)
        assert_true(is_right(result));
    return fits;
}

/* Codes by group, with the counters that stand in Linux amd/core.c for them. */
static const struct {
    uint16_t code;
    uint8_t umask, counters;
} f15h[] = {
    {0x001, 0x00, 0x38}, {0x000, 0x01, 0x38}, {0x000, 0x11, 0x08}, {0x003, 0xff, 0x08}, {0x004, 0x03, 0x08},
    {0x004, 0x02, 0x38}, {0x02e, 0x00, 0x09}, {0x02d, 0x00, 0x08}, {0x023, 0x01, 0x07}, {0x041, 0x01, 0x3f},
    {0x046, 0x01, 0x07}, {0x065, 0x01, 0x07}, {0x076, 0x00, 0x07}, {0x07e, 0x07, 0x07}, {0x081, 0x00, 0x07},
    {0x08f, 0x00, 0x01}, {0x187, 0x00, 0x01}, {0x0c0, 0x00, 0x3f}, {0x0c3, 0x00, 0x3f}, {0x0d0, 0x00, 0x07},
    {0x1c0, 0x01, 0x38}, {0x1d8, 0x00, 0x3f}, {0x0db, 0x01, 0x3f}, {0x031, 0x01, 0x07},
};

static void draw_f15h(uint64_t *random)
{
    request_count = 1 + draw(random, REQUESTS);
    taken = draw(random, 4) ? 0 : 1u << draw(random, 6);
    for (unsigned i = 0; i < request_count; i++) {
        unsigned row = draw(random, sizeof f15h / sizeof f15h[0]);

        assert_int_equal(upmu_event_raw(&pmu, upmu_amd_word(f15h[row].code) | (unsigned)f15h[row].umask << 8, 0, 0,
                                        &request[i].event),
                         UPMU_OK, row, i);
        request[i].counters = f15h[row].counters;
        request[i].wide = false;
    }
}

static void draw_zen(uint64_t *random)
{
    request_count = 1 + draw(random, 6);
    taken = draw(random, 4) ? 0 : 1u << draw(random, 6);
    for (unsigned i = 0; i < request_count; i++) {
        bool wide = draw(random, 3) == 0;
        unsigned pin = draw(random, 4) ? 6 : draw(random, 6);

        assert_int_equal(upmu_event_raw(&pmu, wide ? 0xff03 : 0xc0 + draw(random, 4), 0, 0, &request[i].event),
                         UPMU_OK, i);
        request[i].counters = wide ? 0x15 : 0x3f;
        request[i].wide = wide;
        if (pin < 6 && (request[i].counters >> pin & 1u)) {
            request[i].counters = 1u << pin;
            request[i].event.counters &= 1u << pin;
        }
    }
}

static void check_sets(const char *name, void (*draw_set)(uint64_t *), uint64_t seed)
{
    unsigned fit = 0, sets = share_of("sets", SETS, 1, 20);

    printf("%s: seeds 0x%llx + 0..%u\n", name, (unsigned long long)seed, sets - 1);
    for (unsigned i = 0; i < sets; i++) {
        uint64_t random = (seed + i) * UINT64_C(0x9e3779b97f4a7c15) | 1u;

        draw_set(&random);
        fit += place();
    }
    printf("%s: %u fit, %u do not\n", name, fit, sets - fit);
    assert_in_range(fit, sets / 20, sets - sets / 20);
}

static void seeded_sets_of_family_15h_fit_exactly_when_a_search_says_so(void **state)
{
    (void)state;
    assert_int_equal(upmu_pmu_by_name(&pmu, "fam15h"), UPMU_OK);
    check_sets("fam15h", draw_f15h, 0x15000000);
}

static void seeded_sets_of_zen_with_pairs_fit_when_a_search_says_so(void **state)
{
    struct amd_leaves early_zen_3 = {.family = 0x19, .model = 1, .features = AMD_PERFCTR_CORE};

    (void)state;
    assert_int_equal(upmu_pmu_by_name(&pmu, "zen2"), UPMU_OK);
    check_sets("zen2", draw_zen, 0x17000000);
    /* Erratum 1292 only prefers a counter: the same sets fit. */
    assert_true(amd_leaves_detect(&early_zen_3, &pmu));
    check_sets("zen3", draw_zen, 0x19000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(family_15h_counts_each_event_where_both_sources_say),
        cmocka_unit_test(seeded_sets_of_family_15h_fit_exactly_when_a_search_says_so),
        cmocka_unit_test(seeded_sets_of_zen_with_pairs_fit_when_a_search_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
