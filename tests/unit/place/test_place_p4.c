/* SPDX-License-Identifier: MIT */
/*
 * Placement of NetBurst events: published cases, all subsets of each counter group, and
 * seeded sets against the rules of the groups: a share of them, unless FUZZ_RUNS=soak.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/common/assertions.h"
#include "tests/common/p4_place_fits.h"
#include "tests/common/table.h"

static struct upmu_place_work work;
static struct upmu_place_result result[UPMU_REQUESTS];
static struct upmu_why why;
static struct shape shape;

static enum upmu_status place(const struct p4_set *set, bool explain)
{
    p4_fill_shape(&shape, set);
    return upmu_requests_place(&shape.input, &work, result, explain ? &why : NULL);
}

/* ---- Cases ---- */

static void parse_requests(struct p4_set *set, char *text)
{
    unsigned settings = 0;
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        size_t length = strcspn(word, "#%");
        unsigned event = p4_event_by_name(word, length);
        assert_compare(event, <, P4_EVENTS);
        /* Settings of one event are told apart by '#'; by '%' they are the same. */
        p4_add(set, event, word[length] == '#' ? ++settings : 0);
    }
}

static void parse_pin(struct p4_set *set, char *text)
{
    char *colon = strchr(text, ':');
    unsigned event;
    assert_non_null(colon);
    event = p4_event_by_name(text, (size_t)(colon - text));
    for (unsigned i = 0; i < set->count; i++)
        if (set->request[i].event == event) {
            if (strstr(colon, "_ESCR"))
                set->request[i].sides &= strstr(colon, "_ESCR1") ? 2 : 1;
            else
                set->request[i].counters = UINT32_C(1) << atoi(colon + 1);
            return;
        }
    fail_msg("no %s", text);
}

static void parse_constraint(struct p4_set *set, char *text)
{
    char *next;
    for (; text; text = next) {
        next = strstr(text, "; ");
        if (next) {
            *next = 0;
            next += 2;
        }
        if (!strcmp(text, "signature <F27h")) {
            for (unsigned i = 0; i < set->count; i++)
                if (set->request[i].event == P4_IOQ_ALLOCATION)
                    set->request[i].sides = 1;
        } else if (!strcmp(text, "counter 1 unused")) {
            set->taken = 2;
        } else if (!strncmp(text, "pin ", 4)) {
            for (char *pin = text + 4; pin;) {
                char *comma = strchr(pin, ',');
                if (comma)
                    *comma++ = 0;
                parse_pin(set, pin);
                pin = comma;
            }
        } else {
            assert_string_equal(text, "-");
        }
    }
}

static void check_case(const struct p4_set *set, uint64_t placements)
{
    enum upmu_status status = place(set, true);

    assert_int_equal(p4_count_placements(set), placements);
    assert_int_equal(status, placements ? UPMU_OK : UPMU_ERR_DOES_NOT_FIT);
    if (status == UPMU_OK) {
        assert_true(p4_result_is_right(set, &shape, result));
        return;
    }
    assert_false(p4_groups_fit(set, why.culprits));
    for (unsigned i = 0; i < set->count; i++)
        if (why.culprits >> i & 1)
            assert_true(p4_groups_fit(set, why.culprits & ~(UINT32_C(1) << i)), i);
}

static void every_published_case_fits_or_not_as_worked_out_by_hand(void **state)
{
    char line[2048], *field[6];
    unsigned cases = 0;
    FILE *file = source_open("tests/golden/p4_conflicts.tsv");
    (void)state;

    while (table_row(file, line, sizeof line, field, 6)) {
        struct p4_set set;
        uint64_t placements = strtoull(field[3], NULL, 10), without = strtoull(field[4], NULL, 10);
        memset(&set, 0, sizeof set);
        parse_requests(&set, field[1]);
        parse_constraint(&set, field[2]);
        check_case(&set, placements);
        set.taken = 2;
        check_case(&set, without);
        cases++;
    }
    fclose(file);
    assert_int_equal(cases, 95);
}

/* ---- All subsets ---- */

static uint64_t fits_by_size[2][2][19]; /* distinct or repeated, without counter 1, how many events */

/* Place a group's set, drawn and so on with each further event as long as it may fit. */
static void place_subsets(struct p4_set *set, unsigned event, unsigned group, unsigned room, bool repeats,
                          uint64_t *fitting)
{
    for (; event < p4_group_first[group + 1]; event++) {
        if (event == P4_X87_SIMD_MOVES_UOP)
            continue;
        for (unsigned copies = 1; copies <= (repeats ? 2 : 1); copies++) {
            p4_add(set, event, copies);
            if (set->count <= room)
                place_subsets(set, event + 1, group, room, repeats, fitting);
            enum upmu_status status = place(set, false);
            assert_in_range(status, UPMU_OK, UPMU_ERR_DOES_NOT_FIT);
            assert_true(status == UPMU_OK || status == UPMU_ERR_DOES_NOT_FIT);
            if (status == UPMU_OK) {
                assert_true(p4_result_is_right(set, &shape, result));
                fitting[set->count]++;
            }
        }
        set->count -= repeats ? 2 : 1;
    }
}

/* `room`: sets of more events are left out. */
static void place_all_groups(bool repeats, bool without, unsigned room)
{
    uint64_t *all = fits_by_size[repeats][without];

    memset(all, 0, sizeof fits_by_size[0][0]);
    all[0] = 1;
    for (unsigned group = 0; group < 4; group++) {
        uint64_t fitting[P4_EVENTS + 1] = {1}, sum[19] = {0};
        struct p4_set set;
        memset(&set, 0, sizeof set);
        set.taken = without ? 2 : 0;
        place_subsets(&set, p4_group_first[group], group, room ? room : P4_EVENTS, repeats, fitting);
        for (unsigned size = 7; size <= P4_EVENTS; size++)
            assert_int_equal(fitting[size], 0, size);
        for (unsigned a = 0; a < 19; a++)
            for (unsigned b = 0; b <= 6 && a + b < 19; b++)
                sum[a + b] += all[a] * fitting[b];
        memcpy(all, sum, sizeof sum);
    }
}

static void compare_with_published(bool repeats, bool without)
{
    char line[512], *field[8];
    unsigned compared = 0;
    FILE *file = source_open("tests/golden/p4_greedy.tsv");

    while (table_row(file, line, sizeof line, field, 8)) {
        unsigned size = (unsigned)atoi(field[2]);
        if (strcmp(field[0], repeats ? "repeat2" : "distinct") || strcmp(field[1], without ? "without-1" : "all"))
            continue;
        assert_int_equal(fits_by_size[repeats][without][size], strtoull(field[3], NULL, 10), repeats, without, size);
        compared++;
    }
    fclose(file);
    assert_int_equal(compared, without ? 17 : 18);
}

static void all_subsets_of_the_groups_are_the_published_number_of_sets(void **state)
{
    (void)state;
    for (unsigned without = 0; without < 2; without++) {
        place_all_groups(false, without, 0);
        compare_with_published(false, without);
    }
}

static void the_same_with_each_event_up_to_twice(void **state)
{
    (void)state;
    for (unsigned without = 0; without < 2; without++) {
        place_all_groups(true, without, 5);
        compare_with_published(true, without);
    }
}

/* ---- Seeded sets ---- */

/* An event of a group that still has room and a unit with an ESCR left: most such sets fit. */
static unsigned draw_fitting_event(const struct p4_set *set, uint64_t *random)
{
    for (unsigned tries = 0;; tries++) {
        unsigned event = shape_random(random, P4_EVENTS), unit = p4_event_unit(event), users = 0, members = 0;
        for (unsigned i = 0; i < set->count; i++) {
            users += p4_event_unit(set->request[i].event) == unit;
            members += p4_group_of(&set->request[i]) == p4_unit_group[unit];
        }
        if ((users < 2 && members < (p4_unit_group[unit] == 3 ? 6u : 4u)) || tries == 40)
            return event;
    }
}

static void draw_pins(struct p4_set *set, uint64_t *random)
{
    for (unsigned i = 0; i < set->count; i++) {
        struct p4_request *request = &set->request[i];
        unsigned side = shape_random(random, 2);
        if (!shape_chance(random, 15))
            continue;
        if (shape_chance(random, 30)) {
            request->sides &= (uint8_t)(1u << side);
        } else {
            uint32_t left = p4_side_counters[p4_group_of(request)][side];
            for (unsigned skip = shape_random(random, p4_ones(left)); skip; skip--)
                left &= left - 1;
            request->counters = left & (0u - left);
        }
    }
}

/* What the other hyper-thread runs already: some counters and the ESCRs that they see. */
static void draw_sibling(struct p4_set *set, uint64_t *random)
{
    set->held_shareable = shape_chance(random, 50);
    for (unsigned held = 1 + shape_random(random, SHAPE_HELD); held; held--) {
        unsigned event = shape_random(random, P4_EVENTS), unit = p4_event_unit(event), side = shape_random(random, 2);
        uint32_t counters = p4_side_counters[p4_unit_group[unit]][side];
        set->held[unit][side] = p4_content(event, shape_random(random, 2));
        set->taken |= counters & (0u - counters);
    }
}

static void draw_set(struct p4_set *set, uint64_t *random)
{
    unsigned count = 2 + shape_random(random, 17), style = shape_random(random, 4);
    bool halves = shape_chance(random, 30);

    memset(set, 0, sizeof *set);
    while (set->count < count) {
        unsigned event = style ? draw_fitting_event(set, random) : shape_random(random, P4_EVENTS);
        unsigned mask = shape_random(random, 3);
        if (set->count && style == 3 && shape_chance(random, 30))
            event = set->request[shape_random(random, set->count)].event;
        p4_add(set, event, mask | (halves ? shape_random(random, 2) << 2 : 0));
    }
    if (shape_chance(random, 10))
        for (unsigned i = 0; i < count; i++)
            if (set->request[i].event == P4_IOQ_ALLOCATION)
                set->request[i].sides = 1;
    if (shape_chance(random, 20))
        set->taken = 2;
    if (shape_chance(random, 30))
        draw_pins(set, random);
    if (shape_chance(random, 20))
        draw_sibling(set, random);
}

static void seeded_sets_fit_exactly_when_the_rules_of_the_groups_say_so(void **state)
{
    unsigned sets = share_of("sets", 1000000, share_few(4, 6), 40), fitting = 0, refused = 0, large = 0;
    const uint64_t seed = UINT64_C(0x9407) << 32;
    (void)state;

    printf("seeds 0x%llx + 0..%u\n", (unsigned long long)seed, sets - 1);
    for (unsigned i = 0; i < sets; i++) {
        uint64_t random = (seed + i) * UINT64_C(0x9e3779b97f4a7c15) | 1u;
        struct p4_set set;
        bool explain = i % 16 == 0, right;
        enum upmu_status status;

        draw_set(&set, &random);
        status = place(&set, explain);
        if (p4_groups_fit(&set, ~UINT32_C(0))) {
            right = status == UPMU_OK && p4_result_is_right(&set, &shape, result);
            fitting++;
            large += set.count >= 14;
        } else {
            right = status == UPMU_ERR_DOES_NOT_FIT;
            refused++;
            if (right && explain)
                right = why.culprits && !p4_groups_fit(&set, why.culprits);
            for (unsigned k = 0; k < set.count && right && explain; k++)
                right = !(why.culprits >> k & 1) || p4_groups_fit(&set, why.culprits & ~(UINT32_C(1) << k));
        }
        if (!right)
            fail_msg("seed 0x%llx: status %d", (unsigned long long)(seed + i), (int)status);
    }
    printf("%u sets fit and were placed (%u of 14 to 18 events), %u do not fit and were refused\n", fitting, large,
           refused);
    assert_true(fitting > sets / 5 && refused > sets / 5 && large > sets / 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_published_case_fits_or_not_as_worked_out_by_hand),
        cmocka_unit_test(all_subsets_of_the_groups_are_the_published_number_of_sets),
        cmocka_unit_test(the_same_with_each_event_up_to_twice),
        cmocka_unit_test(seeded_sets_fit_exactly_when_the_rules_of_the_groups_say_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
