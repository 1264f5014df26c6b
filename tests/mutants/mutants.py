#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Mutants: switch a rule of the silicon model round, or change a line of the library; some test must fail.

Rules come from models/sim/sim.h, sim_amd_rules.h and sim_uncore_rules.h, changes of the library from
tests/mutants/mutants.tsv, with the columns file (`HEADER@FILE`: a header, compiled with that file; `SOURCE@TEST`: a source that this
test in tests/unit or tests/inject includes), pattern (a
regular expression), replacement, which (`one`: the pattern matches once; `each`: every
match is a mutant; `each:N`: every N-th), why, tests (tried first; comma-separated, may
be empty).  Survivors that are known, and why they may survive,
stand in tests/mutants/survivors.tsv: name, reason.  These are held against the tests of their row alone, and else
taken for survivors: to try all tests on them took 20 minutes of a whole run, and can only raise the score.

Mutations of the rows of tests/requirements.tsv stand apart, in tests/mutants/requirements.tsv: each is held
against the tests that its row names, and against no other (tests/mutants/rows.py):
  ID           of a row of tests/requirements.tsv; several mutations may have the same
  file         as above.  `FILE@UNIT+UNIT`: what includes FILE and is compiled with it, sources of the library or
               tests.  Files of abi/, tools/ and port/ are compiled with the tests that are named
  pattern      as above, about the behaviour that the row states; `-`: code does nothing for this row (it is about a
               document, or about what is not there), and `why` says so
  replacement  as above
  which        `one`: the pattern matches once; `all`: all matches are changed together
  why          what the mutant does
  tests        names of tests; comma-separated: each must fail.  They are mapped to the ID in tests/requirements.tsv.
               `compiler`: a static assertion fails, in 64 or in 32 bits.  Tests of another layer than unit, inject
               and fuzz run on a copy of the tree, in whole runs only: some minutes each

MUTANT_STATE names a file of what earlier runs have noticed (judged.py): those are not tried again.

Options: --step N: every N-th mutant; --only TEXT: those whose name contains it; --both: rows.py runs with the same
--only, so that a name may be one of its table; --jobs N.  Prints cmocka's lines for each half, the score and the survivors.
"""
import argparse
import concurrent.futures
import glob
import os
import re
import resource
import shutil
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import judged  # noqa: E402

ROWS = "tests/mutants/mutants.tsv"
REQUIREMENTS = "tests/mutants/requirements.tsv"
SURVIVORS = "tests/mutants/survivors.tsv"
AIM = 97
HALVES = "rules_switched_or_changed_are_noticed", "lines_switched_or_changed_are_noticed"
SINCE = os.environ.get("MUTANT_SINCE", "")

# What a test is given so that it takes a moment only.
BRIEF = {"test_inject": {"INJECT_STRIDE": "41"}, "test_inject_amd": {"INJECT_STRIDE": "397"}, "test_step": {"STEP_BRIEF": "1"},
         "test_meet": {"MEET_STRIDE": "7"}, "test_thread_sessions": {"SHARE": "some"}, "test_trap_sample": {},
         "test_inject_p4": {}, "test_phases": {}, "host": {"HOST_SEEDS": os.environ.get("HOST_SEEDS", "160"), "HOST_STEPS": os.environ.get("HOST_STEPS", "6000"), "HOST_SHRINK": "0"},
         "test_fuzz_calls": {"FUZZ_RUNS": "400"}, "test_fuzz_leaves": {"FUZZ_RUNS": "1500"}}
LONGEST_S = 120  # of processor time for a test without a mutant; more is a mistake
MODEL_TESTS = ("test_sim", "test_sim_conformance", "test_p4_model", "test_amd_model", "test_sim_uncore")


# The build whose objects are changed, one at a time; another one by --build.
BUILD = "build/mutants"


def run_test(path, library, extra, limit):
    """True: it passes within `limit` seconds of processor time, so that a busy machine kills no mutant."""
    # LD_BIND_NOW: a test that counts instructions would count the first look-up of a function, too.
    environment = dict(os.environ, LD_LIBRARY_PATH=library, LD_BIND_NOW="1", CMOCKA_MESSAGE_OUTPUT="STDOUT", SHARE="more",
                       **extra)
    environment.update(BRIEF.get(os.path.basename(path), {}))
    try:
        done = subprocess.run([os.path.join(".", path)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              stdin=subprocess.DEVNULL, env=environment, timeout=20 * limit,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1)))
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


class Mutant:
    """A rule by its number, or a file with another text, compiled as `unit`."""
    def __init__(self, name, file=None, unit=None, text=None, first=(), rule=None):
        self.name, self.file, self.unit, self.text, self.first, self.rule = name, file, unit, text, first, rule
        self.killer = None
        self.model = unit is not None and unit.startswith("models/sim/")

    def paths(self, tests):
        """The tests that are named for it: a change of the model is held against no other."""
        return [path for name in self.first for path, _ in tests if os.path.basename(path) == name]


def rule_mutants():
    """One for each rule of the model, in the order of its numbers."""
    text = "".join(open(f"models/sim/{name}.h").read() for name in ("sim", "sim_amd_rules", "sim_uncore_rules"))
    found = re.findall(r'^    R\((\w+), [01], "([^"]*)"', text, re.M)
    return [Mutant(f"rule {name}: not so: {about}", rule=i) for i, (name, about) in enumerate(found)]


def change(file, pattern, replacement, which):
    """(matches, texts): the file's text with each match changed, or with all of them."""
    text = open(file).read() if os.path.exists(file) else ""
    matches = list(re.finditer(pattern, text, re.M))
    if which == "all":
        return matches, [re.sub(pattern, replacement, text, flags=re.M)]
    return matches, [text[:m.start()] + m.expand(replacement) + text[m.end():] for m in matches]


def lines_before(table):
    """What a table had at the commit MUTANT_SINCE, if that is set: only rows that came since are tried."""
    if not SINCE:
        return set()
    return set(subprocess.run(["git", "show", f"{SINCE}:{table}"], stdout=subprocess.PIPE, text=True, check=True).stdout.split("\n"))


def line_mutants():
    """(mutants, rows whose pattern does not match as it should)"""
    mutants, stale, seen, before = [], [], {}, lines_before(ROWS)
    programs = {os.path.basename(path)[:-2] for path in glob.glob("tests/**/*.c", recursive=True)}
    for number, line in enumerate(open(ROWS), 1):
        if line.startswith("#") or not line.strip():
            continue
        fields = (line.rstrip("\n").split("\t") + ["", ""])[:6]
        file, pattern, replacement, which, why, tests = fields
        file, unit = (file.split("@") + [file])[:2]
        matches, texts = change(file, pattern, replacement, which)
        step = int(which.split(":")[1]) if ":" in which else 1
        matches, texts = matches[::step], texts[::step]
        if not matches or (which == "one" and len(matches) != 1):
            stale.append(f"{ROWS}:{number}: {len(matches)} matches in {file}: {pattern}")
            continue
        stale += [f"{ROWS}:{number}: there is no such test: {test}" for test in tests.split(",") if test and test not in programs]
        if not unit.endswith(".c"):
            stale.append(f"{ROWS}:{number}: a header is compiled with a file: {file}@FILE")
            continue
        for match, changed in zip(matches, texts):
            text = match.string
            if which.startswith("each"):
                # Told apart by the line, which does not move when others come above it.
                line = text[text.rfind("\n", 0, match.start() + 1) + 1:].split("\n")[0].strip()
                name, count = f"{file}: {why}: {line[:70]}", seen.get((file, why, line), 0)
                seen[(file, why, line)] = count + 1
                name += f" ({count + 1})" if count else ""
            else:
                name = f"{file}: {why}"
            if changed != text and line.rstrip("\n") not in before:
                mutants.append(Mutant(name, file, unit, changed, [t for t in tests.split(",") if t]))
    return mutants, stale


class Runner:
    def __init__(self, options):
        self.options, self.lock, self.folders, self.left_out = options, threading.Lock(), [], []
        self.known = known_survivors()
        for job in range(options.jobs):
            folder = f"{self.options.build}/job{job}"
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)
            self.folders.append(folder)
        self.tests = self.measure(options.tests)
        self.judged = judged.Judged()
        made = [f"{options.build}/libupmu.so"] + options.test_objects.split()
        self.made = judged.digest(*(judged.digest_file(path) for path in made)) if self.judged.path else ""

    def measure(self, tests):
        """[(path, seconds)], the quickest first; those that fail unchanged are left out, which fails the run."""
        timed = []
        for path in tests:
            begun = resource.getrusage(resource.RUSAGE_CHILDREN)
            if not run_test(path, self.options.build, {}, LONGEST_S):
                self.left_out.append(os.path.basename(path))
                continue
            used = resource.getrusage(resource.RUSAGE_CHILDREN)
            timed.append((path, used.ru_utime + used.ru_stime - begun.ru_utime - begun.ru_stime))
        return sorted(timed, key=lambda test: test[1])

    def order(self, mutant):
        named = [t for name in mutant.first for t in self.tests if os.path.basename(t[0]) == name]
        if mutant.name in self.known:
            return named
        if mutant.rule is not None:
            rest = sorted(self.tests, key=lambda t: os.path.basename(t[0]) not in MODEL_TESTS)
        else:
            rest = [t for t in self.tests if os.path.basename(t[0]) not in MODEL_TESTS]
        return named + [test for test in rest if test not in named]

    def build(self, mutant, folder):
        """False: it does not compile, which is no test of the tests."""
        changed, target = os.path.join(folder, mutant.file), os.path.join(folder, "mutant.o")
        shutil.rmtree(folder)
        os.makedirs(os.path.dirname(changed))
        with open(changed, "w") as file:
            file.write(mutant.text)
        # A changed header is found before the real one.
        source = changed if mutant.unit == mutant.file else mutant.unit
        test = mutant.unit.startswith("tests/")
        command = (self.options.host if test else self.options.compile).split()
        command[1:1] = ["-iquote", folder, "-I" + folder, "-I" + folder + "/include"]
        command.append(f'-DUPMU_SOURCE_DIR="{os.getcwd()}"')
        if subprocess.run(command + ["-c", "-o", target, source], stderr=subprocess.DEVNULL).returncode:
            return False
        if test:
            program = os.path.join(folder, os.path.basename(mutant.unit)[:-2])
            return subprocess.run([command[0], "-m64", "-no-pie", "-o", program, target] + self.options.test_objects.split() +
                                  ["-Lbuild/mutants", "-lupmu", "-lcmocka"], stderr=subprocess.DEVNULL).returncode == 0
        own = self.options.build + "/" + mutant.unit[:-2] + ".o"
        if mutant.model:
            return all(self.link(path, own, target, folder) for path in mutant.paths(self.tests))
        objects = [target if o == own else o for o in self.options.objects.split()]
        return subprocess.run([command[0], "-m64", "-shared", "-Wl,-z,now", "-o", folder + "/libupmu.so"] + objects,
                              stderr=subprocess.DEVNULL).returncode == 0

    def link(self, path, own, target, folder):
        """A test with another object of the model, which is no part of the library."""
        objects = [target if o == own else o for o in self.options.test_objects.split()]
        command = [self.options.compile.split()[0], "-m64", "-no-pie", "-o", os.path.join(folder, os.path.basename(path))]
        return subprocess.run(command + [path + ".o"] + objects + ["-Lbuild/mutants", "-lupmu", "-lcmocka"],
                              stderr=subprocess.DEVNULL).returncode == 0

    def judge(self, mutant):
        """Try a mutant, unless an earlier run has noticed it."""
        mark = judged.digest(self.made, mutant.name, mutant.unit, mutant.text, mutant.rule)
        paths = {os.path.basename(path): path for path, _ in self.tests}
        mutant.killer = self.judged.killer(mark, paths.get)
        if mutant.killer is None:
            self.try_one(mutant)
            if mutant.killer in paths:
                self.judged.note(mark, mutant.killer, paths[mutant.killer])
        return mutant

    def try_one(self, mutant):
        with self.lock:
            folder = self.folders.pop()
        try:
            if mutant.rule is not None:
                library, extra = self.options.build, {"UPMU_SIM_MUTANT": str(mutant.rule)}
            else:
                library, extra = folder, {}
                if not self.build(mutant, folder):
                    mutant.killer = "the compiler"
                    return
            tests = self.order(mutant)
            if mutant.unit and mutant.unit.startswith("tests/"):
                library, tests = "build/mutants", [(os.path.join(folder, os.path.basename(mutant.unit)[:-2]), 1)]
            elif mutant.model:
                library = "build/mutants"
                tests = [(os.path.join(folder, os.path.basename(path)), 1) for path in mutant.paths(self.tests)]
            for path, seconds in tests:
                if not run_test(path, library, extra, 3 + int(10 * seconds)):
                    mutant.killer = os.path.basename(path)
                    break
        finally:
            with self.lock:
                self.folders.append(folder)


def requirement_names():
    """The names of the mutations that rows.py makes."""
    rows = [line.rstrip("\n").split("\t") for line in open(REQUIREMENTS) if line.strip() and not line.startswith("#")]
    return [f"{row[0]}: {row[5]}" for row in rows if len(row) == 7 and row[2] != "-"]


def is_named(only, names):
    """Does one of these names contain the text that --only gave?  A line says so where none does."""
    found = any(only in name for name in names)
    if not found:
        print(f'    no mutant has "{only}" in its name')
    return found


def known_survivors():
    if not os.path.exists(SURVIVORS):
        return {}
    rows = [line.rstrip("\n").split("\t") for line in open(SURVIVORS) if line.strip() and not line.startswith("#")]
    return {row[0]: row[1] for row in rows if len(row) > 1}


def report(half, mutants, known):
    """Prints one half; true: its score is reached and every survivor explained."""
    tried = [m for m in mutants if m.killer != "the compiler"]
    left = [m for m in tried if m.killer is None]
    score = 100.0 * (len(tried) - len(left)) / len(tried) if tried else 100.0
    for mutant in mutants:
        if mutant.killer == "the compiler":
            print(f"    does not compile: {mutant.name}")
    for mutant in left:
        print(f"    survives: {mutant.name}" + (f" ({known[mutant.name]})" if mutant.name in known else " (UNEXPLAINED)"))
    print(f"    {half}: {len(tried) - len(left)} of {len(tried)} killed, {score:.1f} %")
    return score >= AIM, all(m.name in known for m in left) and len(tried) == len(mutants)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--both", action="store_true", help="rows.py runs, too")
    parser.add_argument("--build", default=BUILD)
    parser.add_argument("--lines", action="store_true", help="only changes of the library")
    parser.add_argument("--compile", required=True)
    parser.add_argument("--host", required=True)
    parser.add_argument("--objects", required=True)
    parser.add_argument("--test-objects", required=True)
    parser.add_argument("tests", nargs="+")
    options = parser.parse_args()
    rules, (lines, stale) = [] if options.lines or SINCE else rule_mutants(), line_mutants()
    chosen = [m for m in (rules + lines)[::options.step] if options.only in m.name]
    linked = {own.partition("/")[2].partition("/")[2] for own in (options.objects + " " + options.test_objects).split()}
    stale += [f"{m.name}: {m.unit} is in no test" for m in lines
              if not m.unit.startswith("tests/") and m.unit[:-2] + ".o" not in linked]
    tried = {os.path.basename(path) for path in options.tests}
    stale += [f"{m.name}: {test} is not tried" for m in lines if not m.unit.startswith("tests/")
              for test in m.first if test not in tried]
    for row in stale:
        print("    stale: " + row)
    if not chosen:
        options.tests = []
    runner, begun, done = Runner(options), time.monotonic(), 0
    print(f"    {len(runner.tests)} tests on {len(chosen)} of {len(rules)} + {len(lines)} mutants", flush=True)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for mutant in pool.map(runner.judge, chosen):
            done += 1
            if options.step == 1 and not options.only and done % 20 == 0:
                print(f"    {done} of {len(chosen)} in {time.monotonic() - begun:.0f} s", flush=True)
            if options.only or SINCE or not mutant.killer:
                print(f"    {mutant.killer or 'SURVIVES'}: {mutant.name}", flush=True)
    if runner.judged.kept:
        print(f"    {runner.judged.kept} of these an earlier run has noticed ({runner.judged.path})")
    known, results = known_survivors(), []
    for half, mutants in zip(HALVES, ([m for m in chosen if m.rule is not None], [m for m in chosen if m.rule is None])):
        results.append((half, *report(half.partition("_")[0], mutants, known)))
    passed = failed = 0
    sampled = options.step > 1 or bool(options.only or SINCE)
    for name in runner.left_out:
        print(f"    left out: {name} fails without a mutant, or takes more than {LONGEST_S} s")
    results.append(("every_pattern_matches", not stale, True))
    results.append(("every_test_is_tried", not runner.left_out, True))
    if options.only:
        names = [m.name for m in rules + lines] + (requirement_names() if options.both else [])
        results.append(("some_mutant_has_the_name", True, is_named(options.only, names)))
    for name, enough, explained in results:
        # Of a sample the score says little: every survivor must be a known one.
        good = explained and (enough or (sampled and name in HALVES))
        print(f"[ {'      OK' if good else ' FAILED '} ] {name}")
        passed, failed = passed + good, failed + (not good)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
