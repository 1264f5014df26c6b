#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each rule about hostile guests has a test for each door, or a reason why it has no object there: tests/guest/rules.tsv.

Names of tests are looked for in the sources of tests; cases in the first column of tests/conformance.  Tests whose name has
the number of a rule (s07_...) stand in that row.
"""
import glob
import re

from checklib import check, main

TABLE = "tests/guest/rules.tsv"
RULES, DOORS = 42, ("Intel", "AMD", "Arm", "SBI")
NAMES = re.compile(r'cmocka_unit_test(?:_setup_teardown)?\((\w+)|fuzz_target = \{\s*"\w+",\s*"(\w+)"|\] (\w+)\\n"|report\("(\w+)"')
FOLDERS = ("tests/unit/ports", "tests/fuzz", "tests/inject", "tests/guest")


def tests_there():
    names = set()
    for folder in FOLDERS:
        for path in glob.glob(folder + "/*.c") + glob.glob(folder + "/*.py"):
            names.update(name for found in NAMES.findall(open(path).read()) for name in found if name)
    return names


def cases_there():
    return {line.split("\t")[0] for path in glob.glob("tests/conformance/*.tsv") for line in open(path)
            if line[0] not in "#\t\n"}


def rows():
    return [line.rstrip("\n").split("\t") for line in open(TABLE) if not line.startswith("#")]


def wrong_cell(cell, number, tests, cases):
    """What is wrong with a cell, or None."""
    if cell.startswith("- "):
        return None if len(cell) > 30 else "is no reason"
    if not cell.strip():
        return "is empty"
    for item in cell.split("; "):
        name, _, case = item.partition(": ")
        if name not in tests:
            return f"names {name}, which is no test"
        if case and case not in cases:
            return f"names the case \"{case}\", which no table has"
        if re.match(r"s\d\d_", name) and int(name[1:3]) != number:
            return f"names {name}, which is of another rule"
    return None


def faults_of(table, tests, cases):
    faults = []
    if [row[0] for row in table] != [str(n) for n in range(1, RULES + 1)]:
        faults.append(f"{TABLE}: not the rules 1 to {RULES} in their order")
    for row in table:
        if len(row) != 2 + len(DOORS):
            faults.append(f"rule {row[0]}: {len(row)} columns, not {2 + len(DOORS)}")
            continue
        for door, cell in zip(DOORS, row[2:]):
            wrong = wrong_cell(cell, int(row[0]), tests, cases)
            if wrong:
                faults.append(f"rule {row[0]}, {door}: the cell {wrong}")
        if all(cell.startswith("- ") for cell in row[2:]):
            faults.append(f"rule {row[0]}: no door has a test")
    return faults


@check
def each_rule_of_guests_has_a_test_for_each_door():
    tests, table = tests_there(), rows()
    faults = faults_of(table, tests, cases_there())
    text = "\n".join("\t".join(row[2:]) for row in table)
    faults += [f"{name} has the number of a rule, and {TABLE} does not name it"
               for name in sorted(tests) if re.match(r"s\d\d_", name) and not re.search(rf"\b{name}\b", text)]
    return faults


@check
def a_table_of_rules_with_a_gap_is_noticed():
    tests, cases, table, faults = tests_there(), cases_there(), rows(), []
    for column, cell in ((2, ""), (3, "s04_no_such_test"), (4, "- because"), (5, "s07_selects_hold_only_what_a_guest_may_choose"),
                         (5, table[0][5].split("; ")[0] + " and so on")):
        changed = [list(row) for row in table]
        changed[3][column] = cell
        if len(faults_of(changed, tests, cases)) != 1:
            faults.append(f"column {column}: \"{cell}\" is taken")
    for changed in (table[:-1], [row[:5] for row in table]):
        if not faults_of(changed, tests, cases):
            faults.append("a row or a column that is missing is not noticed")
    return faults


if __name__ == "__main__":
    main()
