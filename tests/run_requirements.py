#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every requirement in reach is answered by a test that exists and ran.

tests/requirements.tsv: ID, test name, file.  tests/requirements.required: the IDs.
What ran is in build/tests/LAYER.tsv; give the layers that were run.  A test of a program
that this machine cannot run at all (no /dev/kvm) is skipped, and said to be: its
requirement needs another one that passes.

A requirement of which only programs of tests/foreign tell, of which `make test` runs a share, is said to be skipped
there.  With --foreign their layers were run, and are asked for these rows alone; what only `make soak` runs is skipped
without it.
"""
import os
import re
import sys


def made_by_soak(path):
    """Does tests/layers.tsv run this program in `make soak` only?"""
    with open("tests/layers.tsv", encoding="ascii") as file:
        return path in re.findall(r"\$\(if \$\(filter soak,[^,]*,([^)]*)\)", file.read())


def main():
    foreign = sys.argv[1] == "--foreign"
    ran = {}
    for layer in sys.argv[1 + foreign:]:
        path = f"build/tests/{layer}.tsv"
        if not os.path.exists(path):
            continue
        for line in open(path):
            _, program, test, result = line.rstrip("\n").split("\t")
            # (A test of several machines has theirs in front: "MACHINE: test".)
            ran.setdefault((program, test.rpartition(": ")[2]), []).append(result)
    skipped_programs = {program for program, _ in ran} - {
        program for (program, _), results in ran.items() if set(results) != {"SKIPPED"}}
    passed, skipped, problems, answered, seen, elsewhere = 0, [], [], {}, set(), set()
    for number, line in enumerate(open("tests/requirements.tsv"), 1):
        line = line.rstrip("\n")
        if not line or line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) != 3 or not all(fields):
            problems.append(f"requirements.tsv:{number}: not ID<TAB>test name<TAB>file")
            continue
        identifier, test, path = fields
        if line in seen:
            problems.append(f"requirements.tsv:{number}: said twice: {identifier} {test}")
        seen.add(line)
        program = os.path.splitext(os.path.basename(path))[0]
        of_foreign = path.startswith("tests/foreign/")
        if foreign and not of_foreign:
            continue
        left_out = of_foreign and program not in {known for known, _ in ran} and (
            not foreign or made_by_soak(path) and os.environ.get("FOREIGN_RUNS") != "soak")
        results = ran.get((program, test), []) + ran.get(("*", test), [])
        if not os.path.exists(path):
            problems.append(f"requirements.tsv:{number}: {identifier}: no file {path}")
        elif test not in open(path, errors="replace").read():
            problems.append(f"requirements.tsv:{number}: {identifier}: no test {test} in {path}")
        elif left_out:
            elsewhere.add(identifier)
            skipped.append(f"requirements.tsv:{number}: {identifier}: {test}: {program} is run by make "
                           f"{'soak' if made_by_soak(path) else 'test-foreign'}")
        elif program in skipped_programs:
            skipped.append(f"requirements.tsv:{number}: {identifier}: {test}: {program} was skipped")
        elif "OK" not in results:
            problems.append(f"requirements.tsv:{number}: {identifier}: {test} did not run and pass ({results})")
        else:
            answered.setdefault(identifier, []).append(test)
            passed += 1
    required = [line.strip() for line in open("tests/requirements.required") if line.strip() and line[0] != "#"]
    missing = [identifier for identifier in required if not foreign and identifier not in answered and identifier not in elsewhere]
    for text in skipped:
        print("skipped: " + text)
    for problem in problems:
        print("FAILED " + problem)
    if missing:
        print(f"FAILED {len(missing)} requirements without a test: {' '.join(missing)}")
    if not foreign:
        there = len(required) - len(missing) - len(elsewhere - set(answered))
        print(f"{there} of {len(required)} requirements answered by {passed} pairs")
    failed = len(problems) + len(missing)
    print(f"{passed} passed, {failed} failed" + (f", {len(skipped)} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
