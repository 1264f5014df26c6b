#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Mutants for the requirements: break what a row of tests/requirements.tsv states; the test mapped to it must fail.

The table is tests/mutants/requirements.tsv; its columns stand at the head of mutants.py.  The objects are those of
the build gcc-64, which `make test` has made anyway: the changed file is compiled and linked in front of them, so a
mutant costs one compilation, one link and one run.  Survivors are explained in survivors.tsv ("ID: why").

Tests of other layers (a script of tests/build, the demo, guests) run on a copy of the tree, in build/mutants/tree, and
only where all rows do, or where --only names one.

Options: --step N: every N-th; --only TEXT: whose "ID: why" contains it; --both: mutants.py runs with the same --only, so
that a name may be one of its mutants; --programs: print what has to be made first.
"""
import argparse
import concurrent.futures
import os
import re
import resource
import shutil
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(__file__))
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
import judged  # noqa: E402
import mutants  # noqa: E402
import tokens  # noqa: E402

TABLE = mutants.REQUIREMENTS
MAP = "tests/requirements.tsv"
AIM = 97
BUILD = "build/gcc-64/"
ALL = "those that did not run"
TEST_LINE = re.compile(r"^\[\s*(RUN|OK|FAILED)\s*\] (\w+)$", re.M)


class Row:
    def __init__(self, identifier, file, units, text, why, tests):
        self.file, self.units, self.text, self.tests = file, units, text, tests
        self.identifier, self.name, self.answer = identifier, f"{identifier}: {why}", None


def mapped():
    """{ID: {test: [file]}}"""
    tests = {}
    for line in open(MAP):
        if line.strip() and not line.startswith("#"):
            identifier, test, file = line.rstrip("\n").split("\t")
            tests.setdefault(identifier, {}).setdefault(test, []).append(file)
    return tests


def is_program(file):
    return re.match(r"tests/(unit/\w+|inject|fuzz)/test_\w+\.c$", file)


def read_row(fields, known):
    """A Row, None for one without code, or a complaint."""
    identifier, file, pattern, replacement, which, why, names = fields
    if identifier not in known:
        return f"{identifier} is no row of {MAP}"
    if pattern == "-":
        return None if why else "no reason"
    file, units = (file.split("@") + [""])[:2]
    matches, texts = mutants.change(file, pattern, replacement, which)
    if which not in ("one", "all") or not matches or (which == "one" and len(matches) != 1):
        return f"{len(matches)} matches in {file}: {pattern}"
    if texts[0] == open(file).read():
        return f"changes nothing in {file}"
    tests = {}
    for name in names.split(",") if names != "compiler" else []:
        places = known[identifier].get(name, [])
        if not places:
            return f"{name} is no test that {MAP} names for {identifier}"
        if not all(name in open(place, errors="replace").read() for place in places):
            return f"{name} has gone from {places}"
        for place in places:
            tests.setdefault(place, []).append(name)
    # What tests include, not what the library is made of, is compiled with the test.
    own = file.startswith(("abi/", "tools/", "port/")) and not file.startswith("models/sim/")
    programs = [place for place in tests if is_program(place)]
    units = units.split("+") if units else programs if own and programs else [file]
    return Row(identifier, file, units, texts[0], why, tests)


def read_table():
    """(rows, IDs that have one, complaints)"""
    rows, seen, stale, known, before = [], set(), [], mapped(), mutants.lines_before(TABLE)
    for number, line in enumerate(open(TABLE), 1):
        if line.startswith("#") or not line.strip():
            continue
        fields = line.rstrip("\n").split("\t")
        row = read_row(fields, known) if len(fields) == 7 else f"{len(fields)} columns"
        seen.add(fields[0])
        if isinstance(row, Row) and line.rstrip("\n") in before:
            continue
        if isinstance(row, Row):
            rows.append(row)
        elif row:
            stale.append(f"{TABLE}:{number}: {row}")
    return rows, seen, stale


def run(path, limit):
    """
    {test: OK or FAILED}; a test in which the program ends or hangs has failed, and those behind it, which it
    keeps from running, have as ALL.
    """
    environment = {**os.environ, "CMOCKA_MESSAGE_OUTPUT": "STDOUT", "SHARE": "more"}
    environment.update(mutants.BRIEF.get(os.path.basename(path), {}))
    process = subprocess.Popen([os.path.join(".", path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               stdin=subprocess.DEVNULL, env=environment,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1)))
    try:
        output = process.communicate(timeout=20 * limit)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        output = process.communicate()[0]
    results = {}
    for result, name in TEST_LINE.findall(output.decode("utf-8", "replace")):
        results[name] = "FAILED" if result == "RUN" else result
    if process.returncode < 0:
        results[ALL] = "FAILED"
    return results


class Runner:
    def __init__(self, options):
        self.options, self.lock = options, threading.Lock()
        self.folders = [f"build/mutants/row{job}" for job in range(options.jobs)]
        self.seconds, self.objects, self.judged = {}, {}, judged.Judged()

    def measure(self, program):
        """Complaint, or "": how long the program takes, and whether it passes unchanged."""
        begun = resource.getrusage(resource.RUSAGE_CHILDREN)
        with tokens.token():
            results = run(program, 60)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.seconds[program] = used.ru_utime + used.ru_stime - begun.ru_utime - begun.ru_stime
        failed = [name for name, result in results.items() if result != "OK"]
        return f"{program} fails without a mutant: {failed}" if failed or not results else ""

    def refused(self, row, folder):
        """Does an assertion of the compiler fail, in 64 or 32 bits?"""
        command = self.options.library.split()
        command[1:1] = ["-iquote", folder, "-I" + folder, "-I" + folder + "/include"]
        for width in ("-m64", "-m32"):
            for unit in row.units:
                source = os.path.join(folder, unit) if unit == row.file else unit
                done = subprocess.run(command + [width, "-c", "-o", os.path.join(folder, "refused.o"), source],
                                      stderr=subprocess.PIPE)
                if done.returncode:
                    return b"static assertion failed" in done.stderr
        return False

    def build(self, row, test, folder):
        """The changed program, or None: it does not compile."""
        objects = []
        for unit in row.units:
            own = unit.startswith("tests/")
            if own and unit != test:
                continue
            target = os.path.join(folder, unit[:-2].replace("/", "_") + ".o")
            command = (self.options.host if own else self.options.library).split()
            command[1:1] = ["-iquote", folder, "-I" + folder, "-I" + folder + "/include"]
            source = os.path.join(folder, unit) if unit == row.file else unit
            command.append(f'-DUPMU_SOURCE_DIR="{os.getcwd()}"')
            if subprocess.run(command + ["-c", "-o", target, source], stderr=subprocess.DEVNULL).returncode:
                return None
            objects.append(target)
        program = os.path.join(folder, os.path.basename(test)[:-2])
        if test not in row.units:
            objects.append(BUILD + test[:-2] + ".o")
        layer = test.split("/")[1]
        objects += self.options.helpers[layer].split()
        command = self.options.library.split()[0:2] + ["-no-pie", "-o", program] + objects
        command += ["-Wl,--start-group", BUILD + "libsim.a", BUILD + "libupmu.a", "-Wl,--end-group", "-lcmocka"]
        return program if not subprocess.run(command, stderr=subprocess.DEVNULL).returncode else None

    def judge(self, row):
        """Try a mutation, unless an earlier run has noticed it: then with these programs, which have the library."""
        programs = [BUILD + test[:-2] for test in row.tests]
        mark = judged.digest(row.name, row.file, row.text, *row.units, *(self.judged.program(path) for path in programs))
        if programs and self.judged.killer(mark, {"row": programs[0]}.get):
            row.answer = "noticed"
            return row
        with self.lock:
            folder = self.folders.pop()
        try:
            with tokens.token():
                self.judge_in(row, folder)
        finally:
            with self.lock:
                self.folders.append(folder)
        if programs and row.answer == "noticed":
            self.judged.note(mark, "row", programs[0])
        return row

    def judge_in(self, row, folder):
        try:
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(os.path.dirname(os.path.join(folder, row.file)))
            with open(os.path.join(folder, row.file), "w") as file:
                file.write(row.text)
            left = []
            if not row.tests:
                row.answer = "noticed" if self.refused(row, folder) else "passes: the compiler"
                return row
            for test, names in row.tests.items():
                program = self.build(row, test, folder)
                if not program:
                    row.answer = "does not compile"
                    return row
                limit = 3 + int(10 * self.seconds.get(BUILD + test[:-2], 1))
                results = run(program, limit)
                left += [name for name in names if results.get(name, results.get(ALL)) != "FAILED"]
            row.answer = "passes: " + ", ".join(left) if left else "noticed"
            return row
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def tells_what_hangs(options):
    """Does a test that never ends count as failed, and those behind it, and none before it?"""
    program = "build/mutants/hangs"
    text = "\n".join(f"#include <{name}.h>" for name in ("setjmp", "stdarg", "stddef", "stdint", "cmocka")) + """
        static void ends(void **state) { (void)state; }
        static void behind(void **state) { (void)state; }
        static void hangs(void **state) { volatile int on = 1; (void)state; while (on) { } }
        int main(void) {
            const struct CMUnitTest tests[] = {cmocka_unit_test(ends), cmocka_unit_test(hangs), cmocka_unit_test(behind)};
            return cmocka_run_group_tests(tests, NULL, NULL); }"""
    os.makedirs(os.path.dirname(program), exist_ok=True)
    done = subprocess.run(options.host.split() + ["-no-pie", "-x", "c", "-o", program, "-", "-lcmocka"], input=text.encode())
    return done.returncode == 0 and run(program, 1) == {"ends": "OK", "hangs": "FAILED", ALL: "FAILED"}


TREE = "build/mutants/tree"


class Tree:
    """A copy of the tree for tests that are not linked with the library: made once, changed for each row."""
    def __init__(self):
        os.makedirs(TREE, exist_ok=True)
        subprocess.run(f"git ls-files -z | tar --null -T - -c | tar x -C {TREE}", shell=True, check=True)

    def failed(self, place, names):
        """The tests that fail there; of a script those named are run."""
        layer = place.split("/")[1]
        command = f"make -s test-{layer}"
        if place.endswith(".py"):
            command = f"make -k -s objects; {sys.executable} {place} {' '.join(names)}"
        done = subprocess.run(command, shell=True, cwd=TREE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL)
        output = done.stdout.decode("utf-8", "replace")
        return set(re.findall(r"\[\s*FAILED\s*\] (\S+)", output)), output

    def judge(self, row):
        with open(os.path.join(TREE, row.file), "w") as file:
            file.write(row.text)
        try:
            left = []
            for place, names in row.tests.items():
                failed, output = self.failed(place, names)
                left += [name for name in names if name not in failed]
            row.answer = "passes: " + ", ".join(left) + " " + output[-300:] if left else "noticed"
        finally:
            shutil.copy(row.file, os.path.join(TREE, row.file))
        return row


def say(name, good):
    print(f"[ {'      OK' if good else ' FAILED '} ] {name}")
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--both", action="store_true", help="mutants.py runs, too")
    parser.add_argument("--programs", action="store_true")
    parser.add_argument("--library", help="how a source of the library is compiled")
    parser.add_argument("--host", help="how a test is compiled")
    parser.add_argument("--helpers", action="append", default=[], help="LAYER=objects that its tests are linked with")
    options = parser.parse_args()
    options.helpers = dict(text.split("=", 1) for text in options.helpers)
    rows, seen, stale = read_table()
    chosen = [row for row in rows[options.step // 2::options.step] if options.only in row.name]
    elsewhere = [row for row in chosen if not all(is_program(test) for test in row.tests)]
    chosen = [row for row in chosen if row not in elsewhere]
    programs = sorted({BUILD + test[:-2] for row in chosen for test in row.tests})
    if options.programs:
        print(" ".join(programs))
        return 0
    for complaint in stale:
        print("    stale: " + complaint)
    runner = Runner(options)
    broken = [complaint for complaint in map(runner.measure, programs) if complaint]
    for complaint in broken:
        print("    " + complaint)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for row in pool.map(runner.judge, chosen):
            if options.only or mutants.SINCE or row.answer != "noticed":
                print(f"    {row.answer}: {row.name}", flush=True)
    if elsewhere and options.step == 1:
        tree = Tree()
        for row in map(tree.judge, elsewhere):
            print(f"    {row.answer}: {row.name}", flush=True)
        chosen += elsewhere
    if runner.judged.kept:
        print(f"    {runner.judged.kept} of these an earlier run has noticed ({runner.judged.path})")
    known = mutants.known_survivors()
    noticed = sum(row.answer == "noticed" for row in chosen)
    score = 100.0 * noticed / len(chosen) if chosen else 100.0
    whole = options.step == 1 and not options.only
    without = sorted(set(mapped()) - seen)
    print(f"    requirements: {noticed} of {len(chosen)} mutations noticed, {score:.1f} %; {len(seen)} rows of "
          f"{len(seen) + len(without)} have one")
    if whole and without:
        print("    without a mutation: " + " ".join(without))
    results = [say("mutations_of_requirements_are_noticed_by_the_test_named",
                   not broken and (score >= AIM or not whole) and
                   all(row.answer == "noticed" or row.name in known for row in chosen)),
               say("every_row_of_the_table_fits_its_file_and_its_test", not stale),
               say("test_that_hangs_has_failed", tells_what_hangs(options)),
               say("an_earlier_verdict_counts_while_nothing_changes", judged.counts_while_nothing_changes("build/mutants"))]
    if options.only:
        others = mutants.rule_mutants() + mutants.line_mutants()[0] if options.both else []
        results.append(say("some_mutant_has_the_name",
                           mutants.is_named(options.only, [row.name for row in rows + others])))
    if whole:
        results.append(say("every_requirement_has_a_mutation_or_a_reason", not without))
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
