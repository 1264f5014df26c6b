#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The long runs (tests/soak.tsv), step by step, going on where an earlier run was stopped.

Usage: soak.py MAKE JOBS [core | all | NAME...]     (make soak SOAK="...": all if empty)

build/soak/passed.tsv has each step that passed, with the library that it judged: the hash of all files of LIBRARY.  A
step that has passed on the library as it is now is not run again (SOAK_AGAIN=1: it is).  What a step prints is in
build/soak/NAME.log; its last line is shown every minute.  Ends with "N passed, N failed", of steps.
"""
import concurrent.futures
import hashlib
import os
import subprocess
import sys
import threading
import time

LIBRARY = ("abi", "backends", "core", "events", "include", "port")
AT = "build/soak"
PASSED = f"{AT}/passed.tsv"
COLUMNS = ("name", "list", "processors", "minutes", "made", "command", "judges")
printing = threading.Lock()


def say(text):
    with printing:
        print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def read_steps():
    with open("tests/soak.tsv", encoding="utf-8") as table:
        rows = [line.rstrip("\n").split("\t") for line in table if line.strip() and not line.startswith("#")]
    wrong = [row[0] for row in rows if len(row) != len(COLUMNS)]
    if wrong:
        sys.exit(f"tests/soak.tsv: not {len(COLUMNS)} columns: {', '.join(wrong)}")
    return [dict(zip(COLUMNS, row)) for row in rows]


def choose(steps, words):
    known = {step["name"] for step in steps} | {"core", "all"}
    unknown = [word for word in words if word not in known]
    if unknown:
        sys.exit(f"no such step: {', '.join(unknown)}; there are: core, all, {', '.join(s['name'] for s in steps)}")
    if not words or "all" in words:
        return steps
    return [step for step in steps if step["name"] in words or step["list"] in words]


def library_hash():
    sums = hashlib.sha256()
    for folder in LIBRARY:
        for path, folders, names in os.walk(folder):
            folders.sort()
            for name in sorted(names):
                with open(os.path.join(path, name), "rb") as file:
                    sums.update(f"{path}/{name}\0".encode() + hashlib.sha256(file.read()).digest())
    return sums.hexdigest()[:12]


def read_passed(library):
    """{step: when} of those that passed on this library"""
    if not os.path.exists(PASSED):
        return {}
    with open(PASSED, encoding="utf-8") as table:
        rows = [line.rstrip("\n").split("\t") for line in table]
    return {row[0]: row[2] for row in rows if row[1] == library}


def last_line(log):
    with open(log, "rb") as file:
        file.seek(max(0, os.path.getsize(log) - 400))
        lines = file.read().decode("utf-8", "replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def run(step, library):
    """Run one step; True if it passed."""
    name, log, begun = step["name"], f"{AT}/{step['name']}.log", time.monotonic()
    environment = dict(os.environ, LAYER=f"{os.environ['PYTHON']} tests/run_layer.py soak-{name} --jobs "
                       + ("1" if step["processors"] == "1" else os.environ["JOBS"]))
    environment.setdefault("TEST_LIMIT_S", "7200")
    say(f"{name}: {step['judges']} ({step['minutes']} minutes of CPU)")
    with open(log, "wb") as output:
        process = subprocess.Popen(step["command"], shell=True, stdout=output, stderr=subprocess.STDOUT,
                                   stdin=subprocess.DEVNULL, env=environment)
        while True:
            try:
                code = process.wait(60)
                break
            except subprocess.TimeoutExpired:
                say(f"{name}: {last_line(log)}")
    result = f"{int(time.monotonic() - begun)} s: {last_line(log)}"
    say(f"{name}: {'passed' if code == 0 else f'FAILED ({log})'}, {result}")
    if code == 0 and " skipped" in result:
        say(f"{name}: what was skipped ({log}) has not passed: the step will be run again")
    elif code == 0:
        with printing, open(PASSED, "a", encoding="utf-8") as table:
            table.write("\t".join((name, library, time.strftime("%F %T"), result)) + "\n")
    return code == 0


def make(step, make_program):
    """Make what a step runs; True if that succeeded."""
    if step["made"] == "-":
        return True
    with open(f"{AT}/{step['name']}.made.log", "wb") as output:
        code = subprocess.call(f'"{make_program}" --no-print-directory -j$JOBS {step["made"]}', shell=True, stdout=output,
                               stderr=subprocess.STDOUT)
    if code:
        say(f"{step['name']}: FAILED: cannot be made ({AT}/{step['name']}.made.log)")
    return code == 0


def main():
    make_program, jobs = sys.argv[1], int(sys.argv[2])
    steps = choose(read_steps(), sys.argv[3:])
    os.makedirs(AT, exist_ok=True)
    library = library_hash()
    before = {} if os.environ.get("SOAK_AGAIN") else read_passed(library)
    for name in (step["name"] for step in steps if step["name"] in before):
        say(f"{name}: passed on this library at {before[name]}")
    left = [step for step in steps if step["name"] not in before]
    made = [step for step in left if make(step, make_program)]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        good = list(pool.map(lambda step: run(step, library), [s for s in made if s["processors"] == "1"]))
    good += [run(step, library) for step in made if step["processors"] != "1"]
    if library_hash() != library:
        sys.exit("files of the library changed meanwhile: what passed is not known of either")
    passed = len(steps) - len(left) + sum(good)
    print(f"{passed} passed, {len(steps) - passed} failed")
    return passed < len(steps)


if __name__ == "__main__":
    sys.exit(main())
