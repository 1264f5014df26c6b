#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Bytes of the Pentium 4 backend, at gcc -Os for i386.

Code is the .text of backends/x86_p4; tables are the .rodata of its files that hold registers, ESCRs, events and
cascades, and the packed catalogue `netburst`, alone and with its names.
"""
import functools
import os
import re
import sys

from checklib import COMPILERS, FREESTANDING, ROOT, check, files, library_sources, main, run

sys.path.insert(0, os.path.join(ROOT, "tools"))
import catalog_pack  # noqa: E402

CODE_LIMIT = 12 * 1024
TABLES_LIMIT = 8 * 1024
TABLE_FILES = ("p4_registers.c", "p4_events.c", "p4_place.c")
WORK = "build/size"


@functools.lru_cache(None)
def sections(source, options=()):
    """(bytes of .text, of constants) of one source."""
    os.makedirs(WORK, exist_ok=True)
    target = f"{WORK}/i386-{os.path.basename(source)[:-2]}.o"
    code, output = run([*COMPILERS["gcc-32"], *FREESTANDING, "-Os", *options, "-c", "-o", target, source])
    assert code == 0, output
    rows = re.findall(r"^(\.\S+)\s+(\d+)", run(["size", "-A", target])[1], re.M)
    return (sum(int(size) for name, size in rows if name.startswith(".text")),
            sum(int(size) for name, size in rows if name.startswith((".rodata", ".data"))))


@check
def code_of_the_backend_is_at_most_12_kib():
    text = sum(sections(source)[0] for source in files("backends/x86_p4/*.c"))
    print(f"text.x86_p4.i386: {text} of {CODE_LIMIT} bytes")
    return [f"{text} bytes of code"] if text > CODE_LIMIT else []


@check
def tables_with_their_names_are_at_most_8_kib():
    registers = sum(sections(source)[1] for source in files("backends/x86_p4/*.c")
                    if os.path.basename(source) in TABLE_FILES)
    events = len(catalog_pack.pack([c for c in catalog_pack.sources()[0] if c.name == "netburst"])[0])
    print(f"tables.x86_p4: {registers} + catalogue {events} of {TABLES_LIMIT} bytes")
    return [f"{registers + events} bytes of tables"] if registers + events > TABLES_LIMIT else []


@check
def a_build_without_it_holds_none_of_it():
    return [f"{source}: {sizes}" for source in files("backends/x86_p4/*.c")
            for sizes in [sections(source, ("-DUPMU_BACKEND_X86_P4=0",))] if sizes != (0, 0)]


@check
def eighteen_events_run_in_one_session_within_the_budgets():
    program = f"{WORK}/p4_eighteen"
    os.makedirs(WORK, exist_ok=True)
    # (The library is compiled as one file, by the quicker compiler.)
    whole = f"{WORK}/p4_whole.c"
    with open(whole, "w") as file:
        file.writelines(f'#include "{source}"\n' for source in library_sources())
    sources = [whole, *files("models/sim/*.c"), "tests/build/p4_eighteen.c"]
    code, output = run(["clang", "-std=gnu11", "-O0", "-DUPMU_SET_EVENTS=18", "-Iinclude", "-I.", "-o", program, *sources])
    if code == 0:
        code, output = run([program])
    return output.split("\n") if code else []


if __name__ == "__main__":
    main()
