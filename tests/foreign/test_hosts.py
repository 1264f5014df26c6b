#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The simulated host, made for other processors (HOSTS of hosts.mk), under QEMU's user mode.

No seed breaks a rule; and with points at hook calls and atomic accesses alone each seed has the figures that it has on
x86, where HOSTS_X86 says which program that is.  With HOSTS_SEEDS so many run with points at blocks of code, too.
--mutants: does it notice each change of hosts_mutants.tsv?
"""
import concurrent.futures
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import tokens  # noqa: E402

# HOSTS_SEEDS: from the first on; else one of each family: units outside the cores and guests, P6, NetBurst, AMD.
SEEDS = int(os.environ.get("HOSTS_SEEDS") or 0)
FEW = [9, 13, 17, 26]
CHANGED = "build/foreign/hosts/mutant"
STEPS = 3000 if SEEDS else 1500
X86 = os.environ.get("HOSTS_X86")
SEED = re.compile(r"^seed (\d+): (.*)$", re.M)


def run(task):
    """{seed: verdict and figures} of a part of the seeds, and what else was said if not all is well."""
    command, first, seeds, how = task
    done = subprocess.run([*command, f"first={first}", f"seeds={seeds}", f"steps={STEPS}", "each", *how],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, check=False, text=True,
                          env={name: value for name, value in os.environ.items() if not name.startswith("HOST_")})
    found = dict(SEED.findall(done.stdout))
    fine = done.returncode == 0 and sorted(map(int, found)) == list(range(first, first + seeds))
    return found, "" if fine else f"ended with {done.returncode}\n" + SEED.sub("", done.stdout)


def run_seeds(pool, command, *how):
    """The same of all seeds, in parts."""
    parts = [(at, min(20, SEEDS + 1 - at)) for at in range(1, SEEDS + 1, 20)] or [(seed, 1) for seed in FEW]
    return [pool.submit(run, (command, first, seeds, how)) for first, seeds in parts]


def gather(parts):
    figures, said = {}, []
    for part in parts:
        found, wrong = part.result()
        figures.update(found)
        said += wrong.splitlines()
    return figures, [line for line in said if line.strip()][:60]


def notices(row, command, figures):
    """Does a seed do something else, or break a rule, with the library changed so?"""
    path, text, replacement, _ = row
    changed = os.path.join(CHANGED, path)
    os.makedirs(os.path.dirname(changed), exist_ok=True)
    with open(path, encoding="ascii") as source, open(changed, "w", encoding="ascii") as out:
        whole = source.read()
        out.write(whole.replace(text, replacement))
    made = whole.count(text) == 1 and not any(subprocess.run(os.environ[step], shell=True, check=False).returncode
                                              for step in ("HOSTS_COMPILE", "HOSTS_LINK"))
    os.remove(changed)
    return made and any(run((command, seed, 1, ("atomic", "shrink=0")))[0].get(str(seed)) != figures[str(seed)] for seed in FEW)


def try_mutants():
    command = ["qemu-aarch64", os.path.join(CHANGED, "host")]
    figures = {}
    for seed in FEW:
        figures.update(run((["qemu-aarch64", os.environ["HOSTS"]], seed, 1, ("atomic", "shrink=0")))[0])
    with open("tests/foreign/hosts_mutants.tsv", encoding="ascii") as table:
        rows = [line.rstrip("\n").split("\t") for line in table if not line.startswith("#")]
    noticed = 0
    for row in rows:
        found = notices(row, command, figures)
        print(f"[{'       OK ' if found else '  FAILED  '}] {row[3]} ({row[0]})", flush=True)
        noticed += bool(found)
    print(f"{noticed} passed, {len(rows) - noticed} failed")
    return noticed != len(rows)


def main():
    failed = passed = 0

    def tell(name, complaint):
        nonlocal failed, passed
        print("\n".join(complaint + [f"[{'  FAILED  ' if complaint else '       OK '}] {name}"]))
        failed, passed = failed + bool(complaint), passed + (not complaint)

    for machine, _, what in (missing.partition(":") for missing in os.environ.get("HOSTS_MISSING", "").split()):
        print(f"[  SKIPPED ] the simulated host on {machine}: no {what} (make deps-foreign)")
    with concurrent.futures.ThreadPoolExecutor(tokens.JOBS) as pool:
        commands = {path.split("/")[-2]: [f"qemu-{path.split('/')[-2]}", path] for path in os.environ.get("HOSTS", "").split()}
        on_x86 = run_seeds(pool, [X86], "atomic", "shrink=0") if X86 and commands else []
        there = {machine: (run_seeds(pool, command, "atomic", "shrink=0"), run_seeds(pool, command) if SEEDS else [])
                 for machine, command in commands.items()}
        wanted, wrong = gather(on_x86)
        if on_x86:
            tell("x86: no_rule_is_broken", wrong)
        for machine, (atomic, inside) in there.items():
            figures, wrong = gather(atomic)
            tell(f"{machine}: no_rule_is_broken ({len(figures)} seeds)", wrong)
            if inside:
                tell(f"{machine}: no_rule_is_broken_with_points_inside_code ({SEEDS} seeds)", gather(inside)[1])
            if on_x86:
                tell(f"{machine}: each_seed_has_the_figures_of_x86 ({len(figures)} seeds)",
                     [f"seed {seed}: {figures.get(seed)}\n    on x86: {line}" for seed, line in wanted.items()
                      if figures.get(seed) != line][:3])
            else:
                print(f"[  SKIPPED ] {machine}: each_seed_has_the_figures_of_x86: no build/host/tests/host/host (make test-host)")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(try_mutants() if sys.argv[1:] == ["--mutants"] else main())
