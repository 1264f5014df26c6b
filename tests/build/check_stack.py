#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stack and recursion, for gcc and clang in 64 and 32 bits, and the table of docs/PORTING.md.

`check_stack.py --write` (`make stack`) puts what it measures into that table.
"""
import os
import re
import sys

from checklib import IN_ONE, ROOT, SOAK, check, files, main, read
from stackgraph import BUILDS, SETTINGS as ALL_SETTINGS, graph

# Those whose objects are at hand; all in a soak, and for the table.
SETTINGS = [setting for setting in ALL_SETTINGS if SOAK or BUILDS.get(setting, IN_ONE[0]) not in IN_ONE]

HANDLER_LIMIT_BYTES = 1024
LOOKUP_LIMIT_BYTES = 1024
WITHOUT_AREA_LIMIT_BYTES = 8192
WITH_AREA_LIMIT_BYTES = 3200
LOOKUPS = ["upmu_catalog_lookup", "upmu_catalog_row", "upmu_catalog_name", "upmu_catalog_mask_name"]

# Where a CPU has a work area none of these is called.
WITHOUT_AREA = ("place_on_stack", "place_on_own_stack")

# A handler works on the PMU of its CPU: units outside the cores interrupt none.
OF_UNITS = ("upmu_box_read", "upmu_box_write", "gate_box", "put_off_select", "upmu_box_count", "read_boxes",
            "upmu_bank_begin", "look_for_reset", "mar_lacking")
# A handler's plan claims nothing, moves nothing, and needs no sequence of an erratum (plan_next_set).
OF_CALLS = ("upmu_claims_take_set", "upmu_plan_again", "upmu_special_sequence", "upmu_special_opened")
# A guest's own PMU is a page and calls (UPMU_BACKEND_PARAVIRT), for which a handler needs more.
OF_GUESTS = ("upmu_shared_page_read", "upmu_shared_page_write")
GUEST_LIMIT_BYTES = 1024
# Such a PMU has no precise records: upmu_cpu_use_records() refuses it memory, without which none of these is called.
OF_RECORDS = ("enable_records", "upmu_records_leave", "upmu_records_interrupt")

# The table's rows: what stands there, and its functions, each in the first row that has it.
STEP_BYTES = 256
SLACK_BYTES = 1024
ROWS = [
    ("`upmu_pmi_handle`", r"upmu_pmi_handle$"),
    ("`upmu_cpu_init`, `upmu_machine_init`", r"upmu_(cpu|machine)_init"),
    ("`upmu_cpu_probe`", r"upmu_cpu_probe$"),
    ("`upmu_cpu_suspend`, `upmu_cpu_resume`, `upmu_cpu_changed`, `upmu_cpu_fini`", r"upmu_cpu_(suspend|resume|changed|fini)$"),
    ("`upmu_cpu_tick`, `upmu_cpu_poll`, `upmu_thread_switch`", r"upmu_(cpu_tick|cpu_poll|thread_switch(_monitored)?)$"),
    ("`upmu_session_attach_thread`, `upmu_session_dry_run`", r"upmu_session_(attach_thread|dry_run)$"),
    ("`upmu_set_add`, `upmu_event_parse` and all that reads or writes names, logs, results or formulas",
     r"upmu_(session_add|set_add|hybrid_add|machine_precise|event_|catalog_|why_text|spec_|log_|results_|formula|metric_)"),
    ("`upmu_requests_place`, `upmu_requests_pack` (their work areas are yours)", r"upmu_(requests_place|requests_pack|events_pack)"),
    ("`upmu_units_find`", r"upmu_units_find$"),
    ("any other call on a CPU, session, region, unit or IBS unit: start, stop, read, attach, ...", "upmu_bracket_leave"),
    ("everything else", r"upmu_"),
]


def public_functions():
    """Those that public headers declare."""
    names = set()
    for path in files("include/upmu/**/*.h"):
        names |= set(re.findall(r"\b(upmu_\w+)\(", read(path)))
    return names


def measure(found, function):
    """(bytes without a work area, bytes with one)"""
    units = OF_UNITS + OF_CALLS + OF_GUESTS if function == "upmu_pmi_handle" else ()
    return found.deepest(function, units)[0], found.deepest(function, WITHOUT_AREA + units)[0]


def rows_measured():
    """({row: [bytes without, bytes with]}, {row: functions})"""
    most, members = {}, {}
    for setting in SETTINGS:
        found, _ = graph(setting)
        for function in sorted(public_functions() & set(found.bytes)):
            reached = found.reachable(function)
            row = next(text for text, pattern in ROWS if re.match(pattern, function) or pattern in reached)
            members.setdefault(row, set()).add(function)
            old = most.get(row, (0, 0))
            most[row] = [max(pair) for pair in zip(old, measure(found, function))]
    return most, members


def table(most):
    lines = ["| calls | without a work area | with one |", "|---|---:|---:|"]
    for text, _ in ROWS:
        shown = [-(-size // STEP_BYTES) * STEP_BYTES for size in most[text]]
        lines.append(f"| {text} | {shown[0]:,} | {shown[1]:,} |")
    return "\n".join(lines) + "\n"


def shown_in_page():
    """{row: [bytes without, bytes with]} of docs/PORTING.md"""
    page = re.search(r"<!-- stack -->\n(.*?)<!-- end of stack -->", read("docs/PORTING.md"), re.S).group(1)
    found = re.findall(r"^\| (.*) \| ([\d,]+) \| ([\d,]+) \|$", page, re.M)
    return {text: [int(size.replace(",", "")) for size in sizes] for text, *sizes in found}


def problems_and_doubts(functions=None):
    """Sources that do not compile, calls and frames that are not understood."""
    complaints = []
    for setting in SETTINGS:
        found, problems = graph(setting)
        complaints += problems
        for name, what in sorted(found.unknown.items()):
            complaints += [f"{setting}: {name}: {one}" for one in what if functions is None or name in functions]
    return complaints


def deeper_than(limit, functions, without=()):
    complaints = []
    for setting in SETTINGS:
        found, _ = graph(setting)
        worst = (0, ())
        for function in functions:
            if function not in found.bytes:
                complaints.append(f"{setting}: there is no {function}")
                continue
            worst = max(worst, found.deepest(function, without))
        print(f"stack {setting}: {worst[0]} of {limit} bytes: {' > '.join(worst[1])}")
        if worst[0] > limit:
            complaints.append(f"{setting}: {worst[0]} bytes: {' > '.join(worst[1])}")
    return complaints


@check
def every_call_and_frame_is_understood():
    if len(SETTINGS) < len(ALL_SETTINGS):
        print(f"{len(SETTINGS)} of {len(ALL_SETTINGS)} ways to compile; all of them in make soak (FUZZ_RUNS=soak)")
    return problems_and_doubts()


@check
def no_function_recurses():
    complaints = []
    for setting in SETTINGS:
        found, _ = graph(setting)
        for function in sorted(found.bytes):
            try:
                found.deepest(function)
            except RecursionError as cycle:
                complaints.append(f"{setting}: {cycle}")
    return sorted(set(complaints))


@check
def handler_needs_less_than_1_kib_of_stack():
    return deeper_than(HANDLER_LIMIT_BYTES - 1, ["upmu_pmi_handle"], OF_UNITS + OF_CALLS + OF_GUESTS)


@check
def handler_of_a_paravirtual_pmu_needs_at_most_1_kib_of_stack():
    return deeper_than(GUEST_LIMIT_BYTES, ["upmu_pmi_handle"], OF_UNITS + OF_CALLS + OF_RECORDS)


@check
def lookups_need_less_than_1_kib_of_stack():
    return deeper_than(LOOKUP_LIMIT_BYTES - 1, LOOKUPS)


def known(setting_free):
    return sorted(setting_free & set(graph("gcc-O2-64")[0].bytes))


@check
def every_call_needs_at_most_8_kib_or_3_with_a_work_area():
    functions = known(public_functions())
    return (deeper_than(WITHOUT_AREA_LIMIT_BYTES, functions) +
            deeper_than(WITH_AREA_LIMIT_BYTES, functions, WITHOUT_AREA))


@check
def a_frame_between_a_call_and_what_it_passes_is_counted_once():
    """Finds a chain that has the frame of call_here() under the end of the bracket twice: 112 bytes too many."""
    found, _ = graph("gcc-Os-64")
    passed = {function: name for function, (name, _, between) in found.passing.items() if between}
    complaints = [f"{function} has {found.bytes[function]} bytes, {name} {found.bytes[name]}" for function, name in passed.items()
                  if found.bytes[function] != found.bytes[name]]
    complaints += [f"{function}: no chain leads through its frames to what is passed" for function in passed
                   if not any("(" in one for one in found.calls[function])]
    return complaints if len(passed) > 5 else complaints + [f"only {len(passed)} such calls"]


@check
def functions_that_a_work_area_saves_exist():
    found, _ = graph("gcc-Os-64")
    there = {name.split(":")[-1].split(".")[0] for name in found.bytes}
    return [f"there is no {name}" for name in WITHOUT_AREA if name not in there]


@check
def porting_states_the_stack_of_every_call():
    shown = shown_in_page()
    most, members = rows_measured()
    complaints = [f"docs/PORTING.md's stack table has no row {text!r}" for text, _ in ROWS if text not in shown]
    complaints += [f"nothing stands behind {text!r}" for text in shown if text not in most]
    for text, sizes in most.items():
        for which, size, stated in zip(("without", "with"), sizes, shown.get(text, sizes)):
            if not size <= stated <= size + SLACK_BYTES:
                complaints.append(f"{text} {which} a work area: {stated} bytes stated, {size} measured: `make stack`")
    if not complaints:
        print(table(most))
    return complaints


@check
def handler_calls_nothing_that_allocates_logs_or_asserts():
    complaints = []
    for setting in SETTINGS:
        found, _ = graph(setting)
        if "upmu_pmi_handle" not in found.bytes:
            complaints.append(f"{setting}: there is no upmu_pmi_handle")
        complaints += [f"{setting}: {name}" for name in sorted(found.reachable("upmu_pmi_handle"))
                       if re.search(r"(^|_)(log|assert|format|text|why|encode|place)(_|$)", name) and
                       name != "upmu_format_report"]  # (it gives an overflow to the session's format of samples)
    return complaints


if __name__ == "__main__":
    if "--write" in sys.argv:
        os.chdir(ROOT)
        page = re.sub(r"(<!-- stack -->\n).*?(<!-- end of stack -->)",
                      lambda found: found.group(1) + table(rows_measured()[0]) + found.group(2),
                      read("docs/PORTING.md"), flags=re.S)
        with open("docs/PORTING.md", "w") as file:
            file.write(page)
    else:
        main()
