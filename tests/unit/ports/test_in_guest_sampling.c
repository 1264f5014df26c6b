/* SPDX-License-Identifier: MIT */
/* Sampling with its attributes in a guest.  PV-001: the tests of
   tests/unit/sample/test_sampling_attributes.c, as they are. */
#include "tests/guest/in_guest.c"

static const char last_test[] = "the_same_sampling_passes_in_a_guest";

static const struct not_in_guests left_out[] = {
    {"a_counter_that_may_wrap_does_and_asks_for_no_interrupt", BY_BOTH,
     "looks at a select of the model, which is the host's"},
};

#include "tests/unit/sample/test_sampling_attributes.c"
