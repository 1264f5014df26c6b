/* SPDX-License-Identifier: MIT */
/*
 * How many of the sets of NetBurst events that fit are placed, for each number of
 * events, beside what four placers without look-back place (tests/golden/p4_greedy.tsv).
 * Sets are drawn evenly from all that fit, and shuffled.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/common/p4_place_fits.h"

#define SETS 5000 /* of each number of events */
#define MILLION 1000000u

/* Subsets of a counter group that fit, by number of events; bit 0 is the group's first event. */
static uint16_t *fitting[4][7];
static unsigned fitting_count[4][7];

static struct upmu_place_work work;
static struct upmu_place_result result[UPMU_REQUESTS];
static struct shape shape;

static void find_fitting(unsigned group)
{
    unsigned events = (unsigned)(p4_group_first[group + 1] - p4_group_first[group]);

    for (unsigned size = 0; size < 7; size++)
        fitting[group][size] = malloc(sizeof(uint16_t) << events);
    for (uint32_t subset = 0; subset < UINT32_C(1) << events; subset++) {
        struct p4_set set;
        if (p4_ones(subset) > 6)
            continue;
        memset(&set, 0, sizeof set);
        for (unsigned i = 0; i < events; i++)
            if (subset >> i & 1)
                p4_add(&set, p4_group_first[group] + i, 0);
        if (group == 2 && (subset >> (P4_X87_SIMD_MOVES_UOP - p4_group_first[2]) & 1))
            continue;
        if (p4_groups_fit(&set, ~UINT32_C(0)))
            fitting[group][set.count][fitting_count[group][set.count]++] = (uint16_t)subset;
    }
}

/* Sets of `size` events that fit groups `group` to 3. */
static uint64_t count_sets(unsigned group, unsigned size)
{
    uint64_t sets = 0;
    if (group == 4)
        return size == 0;
    for (unsigned own = 0; own < 7 && own <= size; own++)
        sets += fitting_count[group][own] * count_sets(group + 1, size - own);
    return sets;
}

static uint64_t random_below(uint64_t *random, uint64_t below)
{
    uint64_t high = shape_random(random, 1u << 31);
    return ((high << 31) | shape_random(random, 1u << 31)) % below;
}

static void draw_set(struct p4_set *set, uint64_t *random, unsigned size)
{
    uint64_t which = random_below(random, count_sets(0, size));

    memset(set, 0, sizeof *set);
    for (unsigned group = 0; group < 4; group++) {
        unsigned own = 0;
        uint32_t subset;
        for (;; own++) {
            uint64_t sets = fitting_count[group][own] * count_sets(group + 1, size - own);
            if (which < sets)
                break;
            which -= sets;
        }
        subset = fitting[group][own][which % fitting_count[group][own]];
        which /= fitting_count[group][own];
        size -= own;
        for (unsigned i = 0; subset >> i; i++)
            if (subset >> i & 1)
                p4_add(set, p4_group_first[group] + i, 0);
    }
    for (unsigned i = set->count; i > 1; i--) {
        unsigned other = shape_random(random, i);
        struct p4_request moved = set->request[i - 1];
        set->request[i - 1] = set->request[other];
        set->request[other] = moved;
    }
}

static unsigned place_sets(unsigned size)
{
    unsigned placed = 0;

    for (unsigned i = 0; i < SETS; i++) {
        uint64_t random = (uint64_t)(size * SETS + i) * UINT64_C(0x9e3779b97f4a7c15) | 1u;
        struct p4_set set;
        draw_set(&set, &random, size);
        p4_fill_shape(&shape, &set);
        if (upmu_requests_place(&shape.input, &work, result, NULL) == UPMU_OK &&
            p4_result_is_right(&set, &shape, result))
            placed++;
    }
    return (unsigned)((uint64_t)placed * MILLION / SETS);
}

int main(void)
{
    char line[512];
    FILE *file = fopen(UPMU_SOURCE_DIR "/tests/golden/p4_greedy.tsv", "r");

    if (!file)
        return 1;
    for (unsigned group = 0; group < 4; group++)
        find_fitting(group);
    while (fgets(line, sizeof line, file)) {
        unsigned size, failed[4];
        unsigned long long sets;
        if (sscanf(line, "distinct all %u %llu %u %u %u %u", &size, &sets, &failed[0], &failed[1], &failed[2],
                   &failed[3]) != 6)
            continue;
        if (count_sets(0, size) != sets) {
            fprintf(stderr, "%u events: %llu sets should fit\n", size, sets);
            return 1;
        }
        printf("placed.p4-%02u.upmu\t%u\tof-a-million\n", size, place_sets(size));
        printf("placed.p4-%02u.fewest-options-first\t%u\tof-a-million\n", size, MILLION - failed[3]);
        printf("placed.p4-%02u.first-fit\t%u\tof-a-million\n", size, MILLION - failed[1]);
        printf("placed.p4-%02u.row-order\t%u\tof-a-million\n", size, MILLION - failed[2]);
        printf("placed.p4-%02u.linux-thread0\t%u\tof-a-million\n", size, MILLION - failed[0]);
    }
    fclose(file);
    return 0;
}
