#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The budgets in register accesses and instructions, on the objects that ship."""
import re

from checklib import check, main, run

PROGRAMS = "build/gcc-64/tests/bench"


def over(program, prefix):
    code, output = run([f"{PROGRAMS}/{program}"])
    if code:
        return [f"{program} ended with {code}", output[-2000:]]
    values = {name: int(value) for name, value in re.findall(r"^(\S+)\t(\d+)\t\S+$", output, re.M)}
    budgets = {name[len("budget."):]: value for name, value in values.items() if name.startswith("budget." + prefix)}
    if not budgets:
        return ["nothing was measured"]
    for name, budget in budgets.items():
        if budget or values[name]:
            print(f"{name}: {values[name]} of {budget}")
    return [f"{name}: {values[name]}, budget {budget}" for name, budget in budgets.items() if values[name] > budget]


@check
def register_accesses_are_within_their_budgets_on_two_cpus():
    return over("bench_accesses", "accesses.")


@check
def every_lookup_is_within_2000_instructions():
    return over("bench_instructions", "instructions.")


if __name__ == "__main__":
    main()
