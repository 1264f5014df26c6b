/* SPDX-License-Identifier: MIT */
/* Sessions of threads in a guest.  PV-001: the tests of
   tests/unit/engine/test_thread_sessions.c, as they are. */
#define _GNU_SOURCE /* sigaction */
#include "tests/guest/in_guest.c"

static const char last_test[] = "the_same_thread_sessions_pass_in_a_guest";

static const struct not_in_guests left_out[] = {
    {"sleep_of_a_cpu_is_nobodys_time", BY_BOTH, "the model's sleep is the host's"},
    {"what_ran_before_a_sleep_comes_before_what_waited", BY_BOTH, "the model's sleep is the host's"},
    {"an_overflow_inside_a_switch_is_of_the_thread_that_made_it", BY_BOTH,
     "counts at accesses, which are the host's here"},
    {"a_session_whose_interrupt_was_dropped_is_not_silent_for_ever", BY_BOTH,
     "the interrupt that is dropped is the host's"},
    {"a_session_that_faults_when_its_thread_comes_was_not_enabled", BY_BOTH,
     "registers of the model, which fault, are the host's"},
    {"a_remembered_place_holds_only_beside_the_same_company", BY_BOTH, "takes an event that this guest is not given"},
    {"beyond_256_cpus_a_placement_is_good_beside_its_makers_alone", BY_BOTH,
     "takes an event that this guest is not given"},
    {"a_static_counter_that_a_prelude_stopped_is_read_again", BY_BOTH, "takes an event that this guest is not given"},
    {"no_select_changes_under_a_counter_that_was_left_running", BY_BOTH,
     "looks at a counter of the model by its number"},
    {"a_wrap_of_what_a_static_session_left_running_is_in_no_count", BY_BOTH, "sets the model's counters"},
    {"a_wrap_before_an_errata_sequence_closed_is_in_no_count", BY_BOTH, "sets the model's counters"},
    {"a_counter_closed_for_a_set_that_does_not_come_begins_anew", BY_BOTH, "sets the model's counters"},
    {"no_counter_runs_on_without_the_claim_on_its_registers", BY_BOTH, "looks at counters of the model by number"},
    {"a_counter_that_was_reserved_meanwhile_is_left_alone", BY_BOTH, "looks at a counter of the model by its number"},
    {"on_another_type_of_core_a_session_waits_and_says_why", BY_BOTH, "CPUs of a guest are of one type"},
    {"sessions_that_do_not_run_leave_a_cpu_that_ends", BY_BOTH, "CPUs of a guest are of one type"},
    {"a_cpu_that_goes_offline_keeps_no_thread", BY_BOTH, "the CPU that goes offline is the host's"},
    {"a_switch_and_a_tick_cost_the_same_with_ten_thousand_sessions", BY_BOTH, "counts accesses to registers"},
    {"what_runs_where_is_known_whatever_a_switch_met", BY_BOTH,
     "goes through the library one instruction at a time: that is slow"},
    {"a_read_outlives_a_thread_that_passes_by_elsewhere", BY_BOTH,
     "goes through the library one instruction at a time: that is slow"},
    {"a_session_is_closed_if_and_only_if_its_close_says_so", BY_BOTH,
     "goes through the library one instruction at a time: that is slow"},
    {"a_read_in_which_a_set_ends_calls_no_hook_that_the_host_lacks", BY_BOTH,
     "goes through the library one instruction at a time: that is slow"},
};

#include "tests/unit/engine/test_thread_sessions.c"
