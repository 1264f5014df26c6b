#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds without parts of the engine: their calls say that they are left out, all others work, and sessions count."""
import os
import sys

from checklib import check, files, library_sources, main, parallel, run

sys.path.insert(0, "tools")
import options  # noqa: E402

ROOM = "build/tests/left_out"
# Units, and NetBurst for its records; no names, so that a build takes seconds.
BASE = ["-DUPMU_PROFILE=UPMU_PROFILE_TINY", "-DUPMU_BACKEND_X86_P4=1", "-DUPMU_UNCORE=1", "-DUPMU_SHARING=1"]
PARTS = {  # option: the calls that it leaves out
    "UPMU_SHARING": ["upmu_session_share"],
    "UPMU_REMOTE": [],
    "UPMU_SUSPEND": ["upmu_cpu_suspend", "upmu_cpu_resume", "upmu_cpu_changed"],
    "UPMU_FIRMWARE": ["upmu_cpu_reserve", "upmu_unit_take_firmware"],
    "UPMU_DRY_RUN": ["upmu_session_dry_run"],
}
# What the calls return where nothing is left out: the unit is not open, and the counter is in use.
ANSWERS = {"upmu_session_share": "ok", "upmu_session_dry_run": "ok", "upmu_cpu_suspend": "ok", "upmu_cpu_resume": "ok",
           "upmu_cpu_changed": "ok", "upmu_cpu_reserve": "ok", "upmu_unit_take_firmware": "other"}


def lines(left_out):
    """What tests/build/left_out_program.c prints in a build without these options."""
    out = {call for option in left_out for call in PARTS[option]}
    remote, firmware = "UPMU_REMOTE" not in left_out, "UPMU_FIRMWARE" not in left_out
    return [*(f"{call} {'compiled out' if call in out else answer}" for call, answer in ANSWERS.items()),
            "counts of a CPU 12000 24000", "counts of a thread 6000",
            "stop on another CPU done, read done, 1 calls there" if remote else
            "stop on another CPU wrong CPU, read wrong CPU, 0 calls there",
            *(f"{model}: counter 0 {'firmware, runs, records on' if firmware else 'free, stopped, records off'}"
              for model in ("skl", "willamette"))]


def complaints_of(left_out):
    os.makedirs(ROOM, exist_ok=True)
    program = f"{ROOM}/{'-'.join(left_out) or 'all'}"
    with open(f"{program}.c", "w", encoding="ascii") as file:
        file.writelines(f'#include "{source}"\n' for source in library_sources())
    code, output = run(["gcc", "-std=c11", "-O0", "-Iinclude", "-I.", *BASE, *(f"-D{option}=0" for option in left_out),
                        "-o", program, "tests/build/left_out_program.c", f"{program}.c", *files("models/sim/*.c")])
    if code:
        return [f"without {' '.join(left_out)}: {output[:800]}"]
    code, output = run([program])
    found, wanted = output.splitlines(), lines(left_out)
    return [f"without {' '.join(left_out)}: code {code}: {line}" for line in found if line not in wanted] + \
           [f"without {' '.join(left_out)}: not printed: {line}" for line in wanted if line not in found] + \
           ([] if code == 0 else [f"without {' '.join(left_out)}: code {code}"])


@check
def a_part_that_is_left_out_says_so_and_the_rest_counts():
    """Each option alone, all of them together, and a build with all parts."""
    return parallel(complaints_of, [[], *([option] for option in PARTS), list(PARTS)])


@check
def each_part_of_the_engine_has_its_option():
    names = {option.name for option in options.rows()}
    return [f"tools/options.tsv has no {name}" for name in PARTS if name not in names]


if __name__ == "__main__":
    main()
