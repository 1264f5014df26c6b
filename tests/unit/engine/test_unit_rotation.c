/* SPDX-License-Identifier: MIT */
/*
 * Why each unit rotates a list of its own: one list for the events of three units, as an early proposal had it, written
 * here in a few lines, is skewed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/common/assertions.h"

#define EVENTS 12
#define TICKS 60

/* One list: unit and number of each event. */
struct one_list {
    char event[EVENTS][3];
};

static const struct one_list founding = {
    {"A1", "A2", "A3", "B1", "B2", "B3", "B4", "C1", "C2", "C3", "C4", "C5"},
};

/* A rotation: the last event becomes the first. */
static void rotate(struct one_list *list)
{
    char last[3];

    memcpy(last, list->event[EVENTS - 1], sizeof last);
    memmove(list->event[1], list->event[0], sizeof list->event[0] * (EVENTS - 1));
    memcpy(list->event[0], last, sizeof last);
}

/* Ticks that an event ran in: of each unit, which has one counter, the first event of the list runs. */
static unsigned ticks_of(const char *event, unsigned ticks)
{
    struct one_list list = founding;
    unsigned ran = 0;

    for (unsigned tick = 0; tick < ticks; tick++, rotate(&list)) {
        unsigned first = 0;

        while (list.event[first][0] != event[0])
            first++;
        ran += list.event[first][1] == event[1];
    }
    return ran;
}

static const char *text_of(const struct one_list *list)
{
    static char text[EVENTS * 3 + 1];

    for (unsigned i = 0; i < EVENTS; i++)
        sprintf(text + 3 * i, "%s ", list->event[i]);
    text[EVENTS * 3 - 1] = '\0';
    return text;
}

static void one_list_rotates_as_the_founding_text_shows(void **state)
{
    struct one_list list = founding;

    (void)state;
    assert_string_equal(text_of(&list), "A1 A2 A3 B1 B2 B3 B4 C1 C2 C3 C4 C5");
    rotate(&list);
    assert_string_equal(text_of(&list), "C5 A1 A2 A3 B1 B2 B3 B4 C1 C2 C3 C4");
    rotate(&list);
    assert_string_equal(text_of(&list), "C4 C5 A1 A2 A3 B1 B2 B3 B4 C1 C2 C3");
    /* The events of A and of B keep their order for five rotations. */
    rotate(&list);
    rotate(&list);
    rotate(&list);
    assert_string_equal(text_of(&list), "C1 C2 C3 C4 C5 A1 A2 A3 B1 B2 B3 B4");
}

static void one_list_for_three_units_is_skewed(void **state)
{
    static const struct {
        char unit, events;
        unsigned first, others; /* ticks of 60 */
    } units[] = {{'A', 3, 50, 5}, {'B', 4, 45, 5}, {'C', 5, 40, 5}};

    (void)state;
    for (unsigned i = 0; i < 3; i++)
        for (char number = '1'; number < '1' + units[i].events; number++) {
            const char event[3] = {units[i].unit, number, '\0'};

            assert_int_equal(ticks_of(event, TICKS), number == '1' ? units[i].first : units[i].others, i);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_list_rotates_as_the_founding_text_shows),
        cmocka_unit_test(one_list_for_three_units_is_skewed),
    };

    return cmocka_run_group_tests_name("unit_rotation", tests, NULL, NULL);
}
