#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Check the models of this folder with spin: the protocol has no error, each variant of models.tsv has the one named.

A run is a whole search: no reduction, no hashing, no limit of depth or memory reached.  Lines of a model that no run
of its protocol reaches are a failure, too: what is not executed is not checked.  MODEL_RUNS=soak: larger bounds,
and all variants; otherwise the errors that the code once had, and one in ten of the other variants of each model.
"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "build"))
from checklib import verdict  # noqa: E402

BUILD = "build/model"
DEPTH = 100000
VARIANTS_STEP = 10
# Errors that the code or its prototype once had: found in each run.
ALWAYS = ("H5", "H11", "FIRST", "EARLY", "K1", "MEND", "A3", "DROP")
MEGABYTES = {"test": 1000, "soak": 4000}
# A search that ended without having seen everything.
INCOMPLETE = re.compile(r"max search depth too small|Search not completed|out of memory|memory bound|hash-?compact|"
                        r"bit-?state|VECTORSZ|aborting", re.IGNORECASE)


class Failed(Exception):
    pass


def rows():
    for line in open(os.path.join(HERE, "models.tsv")):
        if line.strip() and not line.startswith("#"):
            yield line.rstrip("\n").split("\t")


def command(arguments, folder, limit_s=3000):
    done = subprocess.run(arguments, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", timeout=limit_s)
    return done.returncode, done.stdout


def make(model, variant, check, bounds, run):
    """Returns the folder of ./pan, the search that spin writes."""
    folder = os.path.join(BUILD, "-".join([model, variant, check, *bounds]).replace("=", ""))
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    defines = [f"-D{bound}" for bound in bounds] + ([f"-D{variant}"] if variant != "-" else [])
    code, text = command(["spin", *defines, "-a", os.path.join(HERE, model + ".pml")], folder)
    if code or not os.path.exists(os.path.join(folder, "pan.c")):
        raise Failed("spin: " + text.strip())
    # In each test run compiling takes longer than the search; clang takes half of gcc's time.
    compiler = ["clang" if shutil.which("clang") else "gcc", "-O0" if run == "test" else "-O1"]
    how = [*compiler, "-w", "-DNOREDUCE", "-DNOFAIR", f"-DMEMLIM={MEGABYTES[run]}"]
    how += ["-DNP"] if check == "ends" else ["-DSAFETY"]
    how += ["-DCOLLAPSE"] if run == "soak" else []
    code, text = command([*how, "-o", "pan", "pan.c"], folder)
    if code:
        raise Failed(f"{compiler[0]}: {text.strip()[-2000:]}")
    return folder


def lines_of(folder):
    """{(process, state): line of the model} for every state that has a step"""
    process, found = None, {}
    for line in command(["./pan", "-d"], folder)[1].splitlines():
        if line.startswith("proctype "):
            process = line.split()[1]
        step = re.match(r"\s+state\s+(\d+) -\(tr.*?\.pml:(\d+) => (.*)", line)
        if step and step.group(3) != "-end-":
            found[(process, int(step.group(1)))] = int(step.group(2))
    return found


def unreached(output):
    process, found = None, set()
    for line in output.splitlines():
        heading = re.match(r"unreached in (?:proctype )?(\S+)", line)
        process = heading.group(1) if heading else process
        state = re.match(r"\s+.*, state (\d+), ", line)
        if state and process:
            found.add((process, int(state.group(1))))
    return found


def search(model, variant, check, bounds, run):
    """(output, numbers, the model's lines that were reached, all lines)"""
    folder = make(model, variant, check, bounds, run)
    begun = time.monotonic()
    code, output = command(["./pan", f"-m{DEPTH}", {"soak": "-w26", "test": "-w22" if variant == "-" else "-w18"}[run], *(["-l"] if check == "ends" else [])],
                           folder)
    errors = re.search(r"errors: (\d+)", output)
    states = re.search(r"([\d.e+]+) states, stored", output)
    if code or not errors or not states:
        raise Failed(f"pan ended with {code}: {output.strip()[-2000:]}")
    stated, missed = lines_of(folder), unreached(output)
    reached = {line for state, line in stated.items() if state not in missed}
    if bool(int(errors.group(1))) == (variant != "-"): # else it is left to be looked at
        shutil.rmtree(folder)
    return output, int(errors.group(1)), f"{states.group(1)} states, {time.monotonic() - begun:.1f} s", reached, set(stated.values())


def check_protocol(model, check, bounds, run):
    output, errors, figures, reached, lines = search(model, "-", check, bounds, run)
    what = re.search(r"^pan:1: (.*)", output, re.MULTILINE)
    if errors or what:
        raise Failed(f"an error: {what.group(1) if what else output[-500:]}")
    if INCOMPLETE.search(output) or "+ Partial Order" in output:
        raise Failed("the search was not complete: " + output.strip()[-1000:])
    return figures, reached, lines


def check_variant(model, variant, check, bounds, pattern):
    if not re.search(r"#ifn?def " + variant + r"\b", open(os.path.join(HERE, model + ".pml")).read()):
        raise Failed(f"{model}.pml has no such variant")
    output, errors, figures, _, _ = search(model, variant, check, bounds, "test")
    what = re.search(r"^pan:1: (.*)", output, re.MULTILINE)
    if not errors or not what:
        raise Failed("no error was found")
    if not re.search(pattern, what.group(1)):
        raise Failed(f"found otherwise: {what.group(1)}")
    return figures


def bounds_of(row, run):
    return [bound for bound in row[4 if run == "soak" else 3].split() if bound != "-"]


def name_of(row, run):
    model, variant, check = row[:3]
    if variant != "-":
        return f"{model}_{variant.lower()}_is_found"
    return "_".join([model, "holds" if check == "states" else "ends", *bounds_of(row, run)]).replace("=", "_").lower()


def run_row(row, run):
    """(why it failed or None, figures, lines of the model that were reached, all lines)"""
    model, variant, check, _, _, pattern = row[:6]
    try:
        if variant == "-":
            return (None, *check_protocol(model, check, bounds_of(row, run), run))
        return None, check_variant(model, variant, check, bounds_of(row, "test"), pattern), set(), set()
    except (Failed, subprocess.TimeoutExpired) as why:
        return str(why), "", set(), set()


def main():
    run = "soak" if os.environ.get("MODEL_RUNS") == "soak" else "test"
    chosen, variants, left_out = [], {}, 0
    for row in rows():
        if sys.argv[1:] and row[0] not in sys.argv[1:]:
            continue
        if row[1] == "-":
            wanted = run == "test" or row[4] != "-"
        else:
            variants[row[0]] = variants.get(row[0], -1) + 1
            wanted = run == "soak" or variants[row[0]] % VARIANTS_STEP == 0 or row[1] in ALWAYS
            left_out += not wanted
        chosen += [row] if wanted else []
    if left_out:
        print(f"{left_out} variants are left out; all of them in make soak (MODEL_RUNS=soak)")
    if not shutil.which("spin"):
        print("skipped: spin is not installed")
        for row in chosen:
            print(f"[  SKIPPED ] {name_of(row, run)}")
        return 0
    failed, reached, lines = 0, {}, {}
    jobs = int(os.environ.get("MODEL_JOBS", "1")) if run == "test" else 1
    with concurrent.futures.ThreadPoolExecutor(max(1, jobs)) as pool:
        for row, (why, figures, seen, stated) in zip(chosen, pool.map(lambda row: run_row(row, run), chosen)):
            reached.setdefault(row[0], set()).update(seen)
            lines.setdefault(row[0], set()).update(stated)
            print(f"{name_of(row, run)}: {why or figures}")
            failed += verdict(name_of(row, run), why)
    for model in lines if run == "test" else []:
        dead = sorted(lines[model] - reached[model])
        for line in dead:
            print(f"tests/model/{model}.pml:{line}: no run reaches this line")
        failed += verdict(f"{model}_is_reached_everywhere", dead)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
