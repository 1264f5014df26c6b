#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ten small programs on libpfm4 count and sample themselves on abi/perf and the silicon model, exactly.

tests/perf/pfm_programs.c has them.  Class of mistake: what perf never does, and another program may: groups and rings
of its own, a period that changes, a wrong call.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from under import HERE, Skip, supervised  # noqa: E402
from checklib import check, main  # noqa: E402

NAMES = {"skl": ("skl", "INST_RETIRED:ANY_P", "BR_INST_RETIRED:ALL_BRANCHES"),
         "zen4": ("amd64_fam19h_zen4", "RETIRED_INSTRUCTIONS", "RETIRED_BRANCH_INSTRUCTIONS")}


def run(program, *models):
    if not os.path.exists(f"{HERE}/pfm_programs"):
        raise Skip("libpfm4-dev is not installed (make deps-perf)")
    complaints = []
    for model in models or ("skl",):
        family, *events = NAMES[model]
        output, code, log = supervised(f"pfm-{program}", model, f"{HERE}/pfm_programs", program, *events,
                                       LIBPFM_FORCE_PMU=family)
        if code or "= 0" not in log:
            complaints.append(f"{program} on {model}: exit {code}: {output}")
    return complaints


@check
def libpfm4s_names_count_in_their_mode():
    return run("encode", "skl", "zen4")


@check
def a_program_counts_itself_and_resets():
    return run("self")


@check
def a_group_is_read_at_once():
    return run("group", "skl", "zen4")


@check
def more_events_than_counters_are_scaled_by_their_times():
    return run("multiplex")


@check
def a_child_is_counted_from_its_first_instruction():
    return run("inherit")


@check
def each_7th_instruction_is_in_the_ring():
    return run("samples", "skl", "zen4")


@check
def two_events_share_a_ring():
    return run("outputs")


@check
def a_period_changes_at_once():
    return run("period")


@check
def the_mapped_page_gives_the_count_by_rdpmc():
    return run("rdpmc", "skl", "zen4")


@check
def wrong_calls_are_refused_with_linuxs_errors():
    return run("errors")


if __name__ == "__main__":
    main()
