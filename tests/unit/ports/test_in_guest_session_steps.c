/* SPDX-License-Identifier: MIT */
/* What a session can be asked, in a guest.  PV-001: the tests of
   tests/unit/engine/test_session_steps.c, as they are. */
#include "tests/guest/in_guest.c"

static const char last_test[] = "the_same_session_steps_pass_in_a_guest";

static const struct not_in_guests left_out[] = {
    {"a_count_is_given_a_value_without_touching_its_event", BY_BOTH, "counts accesses to registers"},
    {"starting_and_stopping_touch_no_event_select", BY_BOTH, "counts accesses to registers"},
    {"counters_are_read_with_the_index_of_their_kind", BY_BOTH, "counts accesses to registers"},
    {"an_event_that_moves_away_and_back_counts_and_samples_on", BY_BOTH,
     "every counter of a guest takes every event: none moves"},
    {"the_time_of_a_move_is_missed_once", BY_BOTH, "every counter of a guest takes every event: none moves"},
};

#include "tests/unit/engine/test_session_steps.c"
