#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""PAPI of Debian counts on abi/perf and the silicon model: its tools, and programs of papi-examples.

They execute too much for single steps: the supervisor gives the model an instruction for each ns of CPU time, two
cycles and a fifth of a branch (SUPERVISOR_FAST).  Counts are compared with each other.  Class of mistake: a library that
probes the interface in other ways than perf.
"""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from under import WORK, Skip, supervised  # noqa: E402
from checklib import check, main  # noqa: E402

EXAMPLES = "/usr/share/doc/papi-examples/examples"
LIBRARY = ["testlib/do_loops", "testlib/test_utils", "testlib/clockcore", "validation_tests/instructions_testcode",
           "validation_tests/display_error"]
PROGRAMS = """zero zero_named zero_fork zero_pthreads fork exec inherit reset remove_events case1 johnmay2 low-level
tenth eventname""".split()
# They compare the CPU time of two runs of a loop, 20 % apart at most: on a machine that is at work that fails now and then.
TRIES = 3


def papi(name, *words, model="skl", family="skl"):
    if not shutil.which("papi_avail"):
        raise Skip("papi-tools is not installed (make deps-perf)")
    return supervised(f"papi-{name}", model, *words, files=True, fast=True, LIBPFM_FORCE_PMU=family)


@check
def papi_avail_finds_the_counters_and_the_preset_events():
    output, code, log = papi("avail", "papi_avail", "-a")
    presets = set(re.findall(r"^(PAPI_\w+) +0x8", output, re.M))
    complaints = [f"{name}: not available" for name in ("PAPI_TOT_INS", "PAPI_TOT_CYC", "PAPI_BR_INS", "PAPI_REF_CYC",
                                                        "PAPI_L1_DCM") if name not in presets]
    if code or len(presets) < 50 or f"Of {len(presets)} available events" not in output:
        complaints.append(f"exit {code}, {len(presets)} presets: {output[-500:]}")
    return complaints + ([] if " = 0" in log else [f"no event was opened: {log}"])


@check
def papi_command_line_counts():
    complaints = []
    for model, family, events in ("skl", "skl", ()), ("zen3", "amd64_fam19h_zen3", ("PAPI_BR_INS",)):
        output, code, log = papi(f"line-{model}", "papi_command_line", "PAPI_TOT_INS", "PAPI_TOT_CYC", *events,
                                 model=model, family=family)
        found = {name: int(value) for name, value in re.findall(r"^(PAPI_\w+) :\s*(\d+)", output, re.M)}
        instructions = found.get("PAPI_TOT_INS", 0)
        # PAPI reads each counter by RDPMC, at a moment of its own.
        cycles = found.get("PAPI_TOT_CYC", 0)
        if code or instructions < 1000000 or abs(cycles - 2 * instructions) > instructions / 50 or \
                (events and abs(found.get("PAPI_BR_INS", 0) * 5 - instructions) > instructions / 100):
            complaints.append(f"{model}: exit {code}: {output}")
        if not re.search(r"open type 4 config 0xc0 pid 0 cpu -1 group -1 flags 0 = 0", log):
            complaints.append(f"{model}: instructions are not opened as a raw word: {log}")
    return complaints


def examples():
    """Compile programs of papi-examples; the folder that they are in."""
    if not os.path.isdir(EXAMPLES) or not os.path.exists("/usr/include/papi.h"):
        raise Skip("papi-examples or libpapi-dev is not installed (make deps-perf)")
    folder = f"{WORK}/papi-examples"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(EXAMPLES, folder)
    compiler = ["gcc", "-O1", "-w", "-pthread", "-I.", "-Itestlib", "-Ivalidation_tests"]
    objects = [f"{name}.o" for name in LIBRARY]
    for name in LIBRARY:
        subprocess.run([*compiler, "-c", "-o", f"{name}.o", f"{name}.c"], cwd=folder, check=True)
    for name in PROGRAMS:
        subprocess.run([*compiler, "-o", name, f"ctests/{name}.c", *objects, "-l:libpapi.so.7.0", "-lm"], cwd=folder,
                       check=True)
    return folder


@check
def programs_of_papi_examples_pass():
    folder, complaints = examples(), []
    for name in PROGRAMS:
        for again in range(TRIES):
            output, code, log = papi(name, f"{folder}/{name}")
            if not code and re.search(r"PASSED\s*$", output) and " = 0" in log:
                break
            if again + 1 < TRIES:
                print(f"{name} runs again: exit {code}: {' '.join(output[-300:].split())}")
        else:
            complaints.append(f"{name}: exit {code}: {output[-300:]}")
    return complaints


if __name__ == "__main__":
    main()
