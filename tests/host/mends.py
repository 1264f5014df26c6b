#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does the simulated host notice when a mend is taken back?

tests/host/mends.tsv names mends that were made and, for each, rows of tests/mutants/mutants.tsv that take it back:
  mend     its number; several rows may have the same
  mutant   "FILE: WHY" of the row
  by       `host`: the simulated host notices it, and if it does not this program fails; `host!`: soon, and it is in the
           sample of `make test`; else the test that notices
  how      arguments of the host (its --help; seeds=N: so many instead of 160) and `rule=NAME`: violations of that rule
           alone count, else those of any but `interrupt`; of a test: why the host does not notice it

Each is compiled and linked with the objects of build/host, and runs seed after seed until one breaks a rule that
the unchanged program does not break with that seed.  A line tells the seed, the step and the rule.

Options: --seeds, --steps: how many; --only TEXT: mends whose number or mutant contains it; --rows TEXT: rows of
mutants.tsv instead, whose name contains it.  Environment: MENDS_COMPILE, the compiler and its flags; MENDS_OBJECTS, what
the program is linked from; MENDS=sample, those marked so alone, which take a moment.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, "tests/mutants")
import mutants  # noqa: E402

ROWS = "tests/host/mends.tsv"
VIOLATION = re.compile(r'^VIOLATION of rule "(\w+)" with seed (\d+) at step (\d+)', re.M)
FOLDER = "build/host/mends"
PROGRAM = "build/host/tests/host/host"


class Mend:
    def __init__(self, number, name, by="host", how=""):
        self.number, self.name, self.by, self.how, self.in_sample = number, name, by.strip("!"), how, by.endswith("!")
        words = how.split() if self.by == "host" else []
        rules = [word[5:] for word in words if word.startswith("rule=")]
        self.rule = rules[0] if rules else None
        seeds = [int(word[6:]) for word in words if word.startswith("seeds=")]
        self.seeds = seeds[0] if seeds else None
        self.arguments = [word for word in words if not word.startswith(("rule=", "seeds="))]
        if not self.rule:
            self.arguments.append("without=interrupt")


def read_mends():
    rows = [line.rstrip("\n").split("\t") for line in open(ROWS) if line.strip() and not line.startswith("#")]
    return [Mend(*row) for row in rows]


class Host:
    """The program with one object of the library replaced."""
    def __init__(self, options):
        self.options, self.known = options, {}

    def build(self, mutant):
        """The program, which is as it was if the mutant is in no part of it; None: it does not compile."""
        # (A test that includes the file is no part of the host: there the file stands by itself.)
        unit = mutant.file if mutant.unit.startswith("tests/") else mutant.unit
        objects, own = os.environ["MENDS_OBJECTS"].split(), "build/host/" + unit[:-2] + ".o"
        if own not in objects:
            return PROGRAM
        shutil.rmtree(FOLDER, ignore_errors=True)
        changed, target = os.path.join(FOLDER, mutant.file), os.path.join(FOLDER, "mutant.o")
        os.makedirs(os.path.dirname(changed))
        with open(changed, "w") as file:
            file.write(mutant.text)
        source = changed if unit == mutant.file else unit
        command = os.environ["MENDS_COMPILE"].split()
        command[1:1] = ["-iquote", FOLDER, "-I" + FOLDER, "-I" + FOLDER + "/include"]
        if subprocess.run(command + ["-c", "-o", target, source], stderr=subprocess.DEVNULL).returncode:
            return None
        program = os.path.join(FOLDER, "host")
        link = [command[0], "-m64", "-no-pie", "-o", program] + [target if o == own else o for o in objects]
        return program if not subprocess.run(link, stderr=subprocess.DEVNULL).returncode else None

    def run(self, program, arguments, first, seeds):
        """(rule, seed, step) of the first violation, or None."""
        command = [program, f"first={first}", f"seeds={seeds}", f"steps={self.options.steps}", "shrink=0", "most=1"]
        done = subprocess.run(command + arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        found = VIOLATION.search(done.stdout.decode("utf-8", "replace"))
        if done.returncode and not found:
            sys.exit(f"{program} fails without a violation")
        return (found.group(1), int(found.group(2)), int(found.group(3))) if found else None

    def breaks(self, mend, rule, seed):
        """Does the unchanged program break this rule with this seed?"""
        key = (seed, *mend.arguments)
        if key not in self.known:
            found = self.run(PROGRAM, mend.arguments, seed, 1)
            self.known[key] = found[0] if found else None
        return self.known[key] == rule

    def notices(self, mend, program):
        first, last = 1, mend.seeds or self.options.seeds
        while first <= last:
            found = self.run(program, mend.arguments, first, last - first + 1)
            if not found or (found[0] == (mend.rule or found[0]) and not self.breaks(mend, found[0], found[1])):
                return found
            first = found[1] + 1
        return None


def judge(host, mend, mutant):
    """Prints a line; true: it is noticed, or a test of its own does."""
    program = host.build(mutant)
    found = program and host.notices(mend, program)
    if found:
        verdict = f"noticed by seed {found[1]} in {found[2] + 1} steps ({found[0]})"
    elif not program:
        verdict = "DOES NOT COMPILE"
    else:
        verdict = "not noticed" + (f", {mend.by} notices: {mend.how}" if mend.by != "host" else " (UNEXPLAINED)")
    print(f"    {mend.number:3} {mend.name}: {verdict}", flush=True)
    return bool(found) or (program is not None and mend.by != "host")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=160)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--only", default="")
    parser.add_argument("--rows", default="")
    options = parser.parse_args()
    sample = os.environ.get("MENDS") == "sample"
    lines = mutants.line_mutants()[0]
    if options.rows:
        mends = [Mend("", mutant.name) for mutant in lines if options.rows in mutant.name]
    else:
        mends = [m for m in read_mends() if options.only in f"{m.number} {m.name}" and m.in_sample >= sample]
    host, passed = Host(options), []

    def rows_of(mend):
        return [m for m in lines if m.name == mend.name or m.name.startswith(mend.name + ": ")]

    # (Of all mends, also where a few are tried: a row that went to another file is missed at once.)
    missing = [mend.name for mend in (mends if options.rows else read_mends())
               if not rows_of(mend) or (mend.by != "host" and mend.by not in rows_of(mend)[0].first)]
    for mend in mends:
        passed += [judge(host, mend, mutant) for mutant in rows_of(mend)]
    for name in missing:
        print(f"    {ROWS}: no row of {mutants.ROWS}, or not of that test: {name}")
    results = [("each_mend_that_is_taken_back_is_noticed", all(passed) and bool(passed)), ("each_mend_has_a_row", not missing)]
    for name, good in results:
        print(f"[ {'      OK' if good else ' FAILED '} ] {name}")
    print(f"{sum(good for _, good in results)} passed, {sum(not good for _, good in results)} failed")
    return 0 if all(good for _, good in results) else 1


if __name__ == "__main__":
    sys.exit(main())
