/* SPDX-License-Identifier: MIT */
/*
 * Placement of random events of real catalogues, from their names on, against an
 * exhaustive search over what the backend says about each event.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "tests/common/assertions.h"
#include <upmu/upmu.h>
#include "core/hw/backend.h"
#include "tests/common/place_exhaustive.h"
#include "tests/common/share.h"

#define EVENTS 4096
#define SETS 60000

static struct upmu_pmu pmu;
static struct upmu_event event[EVENTS];
static unsigned event_count;

static struct shape shape;
static struct upmu_place_work work;
static struct upmu_place_result result[UPMU_REQUESTS];
static struct upmu_why why;

/* Every name of the catalogue that can be encoded as it stands. */
static void encode_catalogue(const char *pmu_name)
{
    uint32_t cursor = 0;
    struct upmu_event_id id;
    char name[256];

    event_count = 0;
    assert_int_equal(upmu_pmu_by_name(&pmu, pmu_name), UPMU_OK);
    while (upmu_catalog_next(pmu.catalog, NULL, &cursor, &id, name, sizeof name, NULL) == UPMU_OK)
        if (event_count < EVENTS && upmu_event_parse(&pmu, name, &event[event_count], NULL) == UPMU_OK)
            event_count++;
    printf("%s: %u events\n", pmu_name, event_count);
    assert_compare(event_count, >, 100);
}

/* Events that many share a counter or register with, drawn oftener than their number deserves. */
static const struct upmu_event *draw_event(uint64_t *random)
{
    const struct upmu_event *drawn = &event[shape_random(random, event_count)];
    for (unsigned i = 0; i < 20 && !drawn->payload && exhaustive_ones(drawn->counters) > 1; i++)
        drawn = &event[shape_random(random, event_count)];
    return shape_chance(random, 50) ? drawn : &event[shape_random(random, event_count)];
}

static void draw_set(uint64_t *random)
{
    shape_begin(&shape, pmu.counters);
    shape.input.request_count = 1 + shape_random(random, 6);
    memcpy(shape.preference, pmu.preference, sizeof shape.preference);
    shape.input.preference = shape.preference;
    shape.input.preference_count = pmu.preference_count;
    for (unsigned request = 0; request < shape.input.request_count; request++) {
        const struct upmu_event *drawn = draw_event(random);
        unsigned *count = &shape.alternative_count[request];
        while (*count < SHAPE_ALTERNATIVES &&
               pmu.backend->alternative(&pmu, drawn, 0, *count, &shape.alternative[request][*count]))
            ++*count;
        assert_in_range(*count, 1, SHAPE_ALTERNATIVES - 1);
    }
    if (shape_chance(random, 20))
        shape.input.taken = pmu.counters & (UINT32_C(1) << shape_random(random, 20));
}

static bool result_is_a_placement(void)
{
    shape.input.stay = (const uint8_t(*)[UPMU_SLOTS])shape.stay;
    for (unsigned request = 0; request < shape.input.request_count; request++) {
        memcpy(shape.stay[request], result[request].counter, UPMU_SLOTS);
        shape.stay_alternative[request] = result[request].alternative;
    }
    return exhaustive_fits(&shape, exhaustive_all(&shape), MUST_STAY);
}

static void check_drawn_set(void)
{
    bool fits = exhaustive_fits(&shape, exhaustive_all(&shape), 0);

    assert_int_equal(upmu_requests_place(&shape.input, &work, result, &why), fits ? UPMU_OK : UPMU_ERR_DOES_NOT_FIT);
    if (fits) {
        assert_true(result_is_a_placement());
        return;
    }
    assert_false(exhaustive_fits(&shape, why.culprits, 0));
    for (unsigned request = 0; request < shape.input.request_count; request++)
        if (why.culprits >> request & 1u)
            assert_true(exhaustive_fits(&shape, why.culprits & ~(UINT32_C(1) << request), 0));
}

static void check_pmu(const char *name, uint64_t seed)
{
    unsigned refused = 0, sets = share_of("sets", SETS, 1, 10);

    encode_catalogue(name);
    printf("%s: seeds 0x%llx + 0..%u\n", name, (unsigned long long)seed, sets - 1);
    for (unsigned i = 0; i < sets; i++) {
        uint64_t random = (seed + i) * UINT64_C(0x9e3779b97f4a7c15) | 1u;
        draw_set(&random);
        check_drawn_set();
        refused += why.status != UPMU_OK;
    }
    printf("%s: %u of %u sets refused\n", name, refused, sets);
    assert_in_range(refused, sets / 50, sets - sets / 50);
}

static void place_agrees_with_exhaustive_search_on_skylake_events(void **state)
{
    (void)state;
    check_pmu("skl", 0x5e1);
}

static void place_agrees_with_exhaustive_search_on_core2_events(void **state)
{
    (void)state;
    check_pmu("core", 0xc0e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(place_agrees_with_exhaustive_search_on_skylake_events),
        cmocka_unit_test(place_agrees_with_exhaustive_search_on_core2_events),
    };
    return cmocka_run_group_tests_name("place_events", tests, NULL, NULL);
}
