/* SPDX-License-Identifier: MIT */
/* Event sets in a guest.  PV-001: the tests of
   tests/unit/engine/test_sets.c, as they are. */
#include "tests/guest/in_guest.c"

static const char last_test[] = "the_same_sets_pass_in_a_guest";

static const struct not_in_guests left_out[] = {
    {"a_set_switch_costs_what_a_thread_switch_does", BY_BOTH, "counts accesses to registers"},
    {"a_stationary_load_is_estimated_to_1_percent_within_its_error", BY_BOTH,
     "statistics, which take seconds: of times, and those are the same"},
    {"a_load_of_any_period_is_inside_the_stated_error", BY_BOTH,
     "statistics, which take seconds: of times, and those are the same"},
    {"a_counter_that_stays_open_stops_with_a_fault", BY_BOTH, "lets accesses of the model fault"},
    {"a_counter_that_both_sets_have_runs_on_after_an_overflow", BY_PAGE,
     "takes cache references on a K8, which has no such event by the page's number"},
};

#include "tests/unit/engine/test_sets.c"
