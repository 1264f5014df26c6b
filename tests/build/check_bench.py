#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The budgets in register accesses and instructions, on the objects that ship.

Instructions are counted by the code itself (tests/bench/worst/count_blocks.py), or with BENCH_EVERY=N by callgrind, of
one call in N: `make soak` takes all of them.
"""
import os
import platform
import re
import shutil
import sys

from checklib import Skip, check, main, read, run

sys.path.insert(0, "tools")
import readme  # noqa: E402

BY_CALLGRIND = "BENCH_EVERY" in os.environ
MEASURED = {}


def measured(what):
    if what not in MEASURED:
        if what == "--instructions":
            print(f"one call in {os.environ['BENCH_EVERY']} is counted" if BY_CALLGRIND else
                  "all but the padding of loops is counted (1 %); by callgrind in make soak (BENCH_EVERY=1)")
        MEASURED[what] = run([sys.executable, "tools/bench.py", what],
                             env=dict(os.environ, BENCH_BLOCKS=str(int(not BY_CALLGRIND))))
    return MEASURED[what]


CANNOT_COUNT = "instructions are counted in what gcc makes for x86-64"


def counts():
    """Whether instructions can be counted here."""
    return shutil.which("valgrind") if BY_CALLGRIND else platform.machine() == "x86_64" and shutil.which("gcc")


def over(what, prefix):
    if what == "--instructions" and not counts():
        raise Skip("valgrind is not installed" if BY_CALLGRIND else CANNOT_COUNT)
    code, output = measured(what)
    if code > 1:
        return [output[-2000:]]
    values = {name: int(value) for name, value in re.findall(r"^(\S+)\t(\d+)\t\S+$", output, re.M)}
    budgets = {name[len("budget."):]: value for name, value in values.items() if name.startswith("budget." + prefix)}
    if not budgets:
        return ["nothing was measured"]
    for name, budget in budgets.items():
        if what == "--instructions":
            print(f"{name}: {values.get(name)} of {budget}")
    return [f"{name}: {values.get(name)}, budget {budget}" for name, budget in budgets.items()
            if values.get(name, budget + 1) > budget]


@check
def register_accesses_are_within_their_budgets_on_two_cpus():
    return over("--accesses", "accesses.")


@check
def every_lookup_is_within_its_limit():
    return over("--instructions", "instructions.lookup") + over("--instructions", "instructions.row")


@check
def a_trap_of_an_arm_guest_is_within_its_budget():
    return over("--instructions", "instructions.guest-arm")


@check
def the_interrupt_of_a_batch_is_within_its_budget():
    return over("--instructions", "instructions.batch")


@check
def names_to_words_are_within_budget_and_on_the_page_of_figures():
    complaints = over("--instructions", "instructions.name")
    if MEASURED["--instructions"][0] > 1:
        return complaints
    values = dict(re.findall(r"^instructions\.name-own-(\S+)\t(\d+)\t", MEASURED["--instructions"][1], re.M))
    shown = re.findall(r"^\| name → words, all ([\d,]+) names of [^|]*\(`(\w+)`\) \| ([\d,]+) \| ([\d,]+) \|$",
                       read(readme.PAGE), re.M)
    if {row[1] for row in shown} != {name.rsplit("-", 1)[0] for name in values}:
        complaints.append(f"{readme.PAGE} does not show the models that are measured")
    for calls, model, mean, worst in shown:
        for what, text in (("calls", calls), ("mean", mean), ("worst", worst)):
            value, number = int(values.get(f"{model}-{what}", 0)), int(text.replace(",", ""))
            # Another release of the compiler makes a little more or less.
            if abs(value - number) * 33 > value:
                complaints.append(f"{readme.PAGE}: {model}, {what}: {number}, measured {value}")
    return complaints


# Rows of docs/CATALOGUES.md, in their order, and what is measured; models in the column of libpfm4's names.
LOOKUPS = ("lookup-hit", "lookup-folded", "lookup-miss", "lookup-separators", "lookup-masks", "lookup-masks-miss", "lookup-small-masks",
           "lookup-small-masks-miss", "row", "row-name")
BESIDE_LIBPFM4 = {"Core 2": "core", "Nehalem": "nhm", "Skylake": "skl", "K8 rev. G": "amd64_k8_revg", "Zen 2": "amd64_fam17h_zen2"}


@check
def the_page_of_catalogues_shows_the_instructions_of_lookups():
    code, output = measured("--instructions")
    if code > 1 or not counts():
        raise Skip("nothing was measured")
    values = {name: int(value) for name, value in re.findall(r"^instructions\.(\S+)\t(\d+)\t", output, re.M)}
    page = read("docs/CATALOGUES.md")
    table = re.search(r"^\| operation \| worst \| mean \| limit \|\n\|[-:|]*\n((?:\|.*\n)*)", page, re.M)[1]
    rows = [[int(cell.replace(",", "")) for cell in cells] for cells in re.findall(r"\| ([\d,]+) \| ([\d,]+) \| [\d,]+ \|$", table, re.M)]
    shown = {(name, what): value for name, row in zip(LOOKUPS, rows) for what, value in zip(("worst", "mean"), row)}
    for model, names, worst, mean in re.findall(r"^\| (.*?) \| (\d+) \| ([\d,]+) \| [\d,]+ \| ([\d,]+) \| [\d,]+ \|$", page, re.M):
        for what, text in (("calls", names), ("worst", worst), ("mean", mean)):
            shown["name-upmu-" + BESIDE_LIBPFM4[model], what] = int(text.replace(",", ""))
    complaints = [f"docs/CATALOGUES.md: {name}, {what}: {value}, measured {values.get(f'{name}-{what}')}" for (name, what), value in
                  shown.items() if abs(values.get(f"{name}-{what}", 0) - value) * 33 > value]
    return complaints if len(shown) == 35 else complaints + [f"{len(shown)} figures are shown"]


@check
def switches_starts_reads_interrupts_are_within_their_ceilings():
    return over("--instructions", "instructions.engine")


@check
def operations_ask_for_the_clock_and_their_cpu_once():
    return over("--instructions", "hooks.")


@check
def the_page_of_figures_shows_the_instructions_of_operations():
    code, output = measured("--instructions")
    if code > 1 or not counts():
        raise Skip("nothing was measured")
    shown = readme.INSTRUCTIONS.search(read(readme.PAGE))
    if not shown:
        return [f"{readme.PAGE} has no table of instructions"]
    made = readme.instructions({name: int(value) for name, value in re.findall(r"^(\S+)\t(\d+)\t\S+$", output, re.M)})
    same = readme.agree(shown.group(0), shown.group(1) + made + shown.group(2))
    return [] if same else [f"{readme.PAGE} shows other figures: run `make readme`", made]


@check
def placing_12_and_18_events_is_within_its_budgets():
    return over("--instructions", "instructions.place")


@check
def placing_seeded_sets_is_within_budget_but_for_known_shares():
    if platform.machine() != "x86_64" or not shutil.which("gcc"):
        raise Skip(CANNOT_COUNT)
    code, output = run([sys.executable, "tests/bench/worst/worst_place.py", "300"])
    return [line for line in output.splitlines() if code and not re.search(r"\tabove \d+: ", line)] or \
        ([] if code == 0 else ["worst_place.py failed"])


@check
def lists_of_24_events_are_packed_optimally_within_the_budget():
    return over("--instructions", "instructions.pack")


@check
def every_set_of_netburst_events_that_fits_is_placed():
    code, output = measured("--shares")
    shares = re.findall(r"^placed\.p4-(\d+)\.upmu\t(\d+)\t", output, re.M)
    if code != 0 or len(shares) != 18:
        return [output[-2000:] or "nothing was measured"]
    return [f"{events} events: {share} of a million" for events, share in shares if share != "1000000"]


if __name__ == "__main__":
    main()
