#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Figures of speed as `name<TAB>value<TAB>unit` lines; `budget.NAME` is the limit of NAME.

Register accesses are the silicon model's count; instructions are counted by
single-stepping (tests/bench/step_counter.h) or by callgrind.  `make bench` builds the
programs, from the objects that ship.  Exit code 1 if a budget is broken.
"""
import os
import re
import subprocess
import sys

PROGRAMS = "build/gcc-64/tests/bench"
# Programs whose instructions callgrind counts: (program, argument, function, figure, budget).
CALLGRIND = [
    ("bench_place", "feasible", "upmu_place", "place-12-events-feasible-worst", 20000),
    ("bench_place", "refused", "upmu_place", "place-12-events-refused-worst", 120000),
]


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


def callgrind(program, argument, function):
    """Instructions inside a function, callees included, per call of it; None if it cannot be had."""
    out = f"build/tests/callgrind.{program}.{argument}"
    os.makedirs("build/tests", exist_ok=True)
    code, _, errors = run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--collect-atstart=no",
                           f"--toggle-collect={function}", f"{PROGRAMS}/{program}", argument])
    if code != 0:
        print(errors[-2000:], file=sys.stderr)
        return None
    found = re.search(r"^(?:totals|summary): (\d+)", open(out).read(), re.M)
    return int(found.group(1)) if found else None


def main():
    lines = []
    for program in ("bench_accesses", "bench_instructions"):
        code, output, errors = run([f"{PROGRAMS}/{program}"])
        if code != 0:
            print(f"{program} ended with {code}: {errors}", file=sys.stderr)
            return 1
        lines += [line.split("\t") for line in output.split("\n") if line.count("\t") == 2]
    for program, argument, function, figure, budget in CALLGRIND:
        if os.path.exists(f"{PROGRAMS}/{program}"):
            value = callgrind(program, argument, function)
            if value is not None:
                lines += [[f"instructions.{figure}", str(value), "instructions"],
                          [f"budget.instructions.{figure}", str(budget), "instructions"]]
    values = {name: int(value) for name, value, _ in lines}
    broken = 0
    for name, value, unit in lines:
        print(f"{name}\t{value}\t{unit}")
    for name, budget in values.items():
        figure = name[len("budget."):]
        if name.startswith("budget.") and values.get(figure, budget + 1) > budget:
            print(f"OVER: {figure} is {values.get(figure)}, budget {budget}", file=sys.stderr)
            broken += 1
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
