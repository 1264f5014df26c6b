#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The trips of docs/ENGINE.md: through which files one interrupt and one thread switch go, and in which order; and the pictures of
docs/DESIGN.md, which have some of their steps.

The library is compiled with -O0 -fno-inline -finstrument-functions, so that each function is called, those of headers, too;
tests/build/trips_program.c has the calls printed.  A stay is a run of called functions that one file defines.  The page has a
numbered line for each stay in a .c file, and names the headers whose inline functions are called on the way.
`check_trips.py --show` prints what was measured.
"""
import os
import re
import sys

from checklib import ROOT, check, library_sources, main, read, run

WORK = "build/tests/trips"
FLAGS = ["-std=c11", "-Iinclude", "-I.", "-O0", "-gdwarf-4", "-g1", "-fno-inline", "-fno-pie", "-no-pie"]
PAGE = "docs/ENGINE.md"
TRIPS = {"interrupt": "The trip of one interrupt", "switch": "The trip of one thread switch"}
PICTURES = {"One interrupt": "interrupt", "One thread switch": "switch", "From a name to words": None}  # the trip that it is of
PATH = r"\b(?:core|backends|include)/[\w/]+\.[ch]\b"
CALLS = {}


def calls():
    """{trip: [(function, file)] in the order of calls}, measured once."""
    if CALLS:
        return CALLS
    os.makedirs(WORK, exist_ok=True)
    with open(f"{WORK}/library.c", "w", encoding="ascii") as file:
        file.writelines(f'#include "{source}"\n' for source in library_sources())
    for command in (["gcc", *FLAGS, "-finstrument-functions", "-c", "-o", f"{WORK}/library.o", f"{WORK}/library.c"],
                    ["gcc", *FLAGS, "-o", f"{WORK}/trips", "tests/build/trips_program.c", f"{WORK}/library.o",
                     "build/gcc-64/libsim.a"],
                    [f"{WORK}/trips"]):
        code, output = run(command)
        if code:
            raise SystemExit(f"{' '.join(command)}: exit {code}: {output[:2000]}")
    lines = [line.split() for line in output.splitlines()]
    addresses = sorted({address for _, address in lines})
    found = run(["addr2line", "-f", "-e", f"{WORK}/trips", *addresses])[1].splitlines()
    where = {address: (found[2 * i], os.path.relpath(found[2 * i + 1].split(":")[0], ROOT))
             for i, address in enumerate(addresses)}
    for trip in TRIPS:
        CALLS[trip] = [where[address] for name, address in lines if name == trip]
    return CALLS


def stays(trip, ending):
    """[(file, functions)] of a trip, of files with such an ending."""
    found = []
    for function, path in calls()[trip]:
        if not path.endswith(ending):
            continue
        if not found or found[-1][0] != path:
            found.append((path, []))
        if function not in found[-1][1]:
            found[-1][1].append(function)
    return found


def section(trip):
    """The part of the page that has this trip."""
    return re.search(rf"^### {TRIPS[trip]}\n(.*?)^##", read(PAGE), re.M | re.S).group(1)


def figures(trip):
    """(stays, files) in .c files, and with headers."""
    return [(len(found), len({path for path, _ in found})) for found in (stays(trip, ".c"), stays(trip, (".c", ".h")))]


@check
def the_page_has_the_stays_of_each_trip():
    """Finds a stay that came, went or moved, and a function that a stay does not call."""
    complaints = []
    for trip in TRIPS:
        measured = stays(trip, ".c")
        shown = re.findall(r"^\d+\. (.*(?:\n   .*)*)", section(trip), re.M)
        paths = [re.search(PATH, line).group(0) for line in shown]
        if paths != [path for path, _ in measured]:
            complaints.append(f"{TRIPS[trip]}: the page has {' '.join(paths)}, measured {' '.join(path for path, _ in measured)}")
        for line, (path, functions) in zip(shown, measured):
            complaints += [f"{TRIPS[trip]}: {path} does not call {name}() there"
                           for name in re.findall(r"`(\w+)\(\)`", line) if name not in functions]
    return complaints


@check
def the_page_names_the_files_of_each_trip():
    """Finds a file, of .c or .h, that a trip does not visit, and one that the page does not name."""
    complaints = []
    for trip in TRIPS:
        measured, shown = {path for _, path in calls()[trip]}, set(re.findall(PATH, section(trip)))
        complaints += [f"{TRIPS[trip]}: the page names {path}, which it does not visit" for path in sorted(shown - measured)]
        complaints += [f"{TRIPS[trip]}: the page does not name {path}" for path in sorted(measured - shown)]
    return complaints


@check
def the_page_has_the_figures_of_each_trip():
    """Stays with inline functions may be 5 % apart: a helper that comes or goes tells no reader another way."""
    complaints = []
    for trip in TRIPS:
        (some, files), (every, all_files) = figures(trip)
        line = f"{some} stays in {files} files; with inline functions {every} in {all_files}"
        print(f"{trip}: {line}")
        shown = re.search(r"(\d+) stays in (\d+) files; with inline functions (\d+) in (\d+)", re.sub(r"\s+", " ", section(trip)))
        numbers = [int(number) for number in shown.groups()] if shown else [0] * 4
        if numbers != [some, files, numbers[2], all_files] or abs(numbers[2] - every) > 0.05 * every:
            complaints.append(f"{TRIPS[trip]}: the page does not say: {line}")
    return complaints


def steps(picture):
    """[(function, file)] of a picture"""
    text = re.search(rf"^## {picture}\n.*?^```\n(.*?)^```", read("docs/DESIGN.md"), re.M | re.S)
    return re.findall(r"(\w+)\(\) +((?:core|backends)/\S+\.c)", text.group(1)) if text else []


@check
def pictures_show_functions_that_their_files_define():
    """Finds a picture that was lost, and a function that was renamed or moved."""
    complaints = [f"docs/DESIGN.md has no picture {picture}" for picture in PICTURES if len(steps(picture)) < 8]
    return complaints + [f"{picture}: {name}() is not in {path}" for picture in PICTURES for name, path in steps(picture)
                         if not os.path.exists(path) or not re.search(rf"^[\w \*]*\b{name}\([^;]*?\n\{{", read(path), re.M)]


@check
def pictures_have_the_order_of_their_trips():
    """Each line is called in the stay of the line before, or later."""
    complaints = []
    for picture, trip in PICTURES.items():
        measured, at = stays(trip, ".c") if trip else [], 0
        for name, path in steps(picture) if trip else []:
            later = [i for i, (file, functions) in enumerate(measured) if i >= at and file == path and name in functions]
            complaints += [] if later else [f"{picture}: {name}() of {path} does not come there"]
            at = later[0] if later else at
    return complaints


def show():
    for trip in TRIPS:
        print(trip, figures(trip))
        for number, (path, functions) in enumerate(stays(trip, ".c"), 1):
            print(f"{number}. {path}: {' '.join(functions)}")
        print(*sorted({path for _, path in calls()[trip] if path.endswith(".h")}))


if __name__ == "__main__":
    if "--show" in sys.argv:
        os.chdir(ROOT)
        show()
    else:
        main()
