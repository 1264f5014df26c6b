/* SPDX-License-Identifier: MIT */
/* What is refused in a guest, and that it leaves nothing behind.  PV-001: the tests of
   tests/unit/engine/test_refusals.c, as they are. */
#include "tests/guest/in_guest.c"

static const char last_test[] = "the_same_refusals_pass_in_a_guest";

static const struct not_in_guests left_out[] = {
    {"a_read_that_faults_says_so_and_the_session_runs_on", BY_BOTH,
     "registers of the model, which fault, are the host's"},
    {"regions_pass_on_what_refused_and_leave_nothing_behind", BY_BOTH,
     "registers of the model, which fault, are the host's"},
    {"dry_run_lists_writes_and_touches_nothing", BY_PAGE, "a page has no such registers"},
    {"precise_events_count_without_memory_for_records", BY_BOTH, "no record is shown to a guest: NOT_PRECISE"},
    {"attach_needs_a_living_cpu_of_the_events_pmu", BY_BOTH,
     "changes the model's CPU, whose CPUID the guest does not see"},
};

#include "tests/unit/engine/test_refusals.c"
