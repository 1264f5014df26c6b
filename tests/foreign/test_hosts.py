#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The simulated host, made for other processors (HOSTS of hosts.mk), under QEMU's user mode.

No seed breaks a rule; and with points at hook calls and atomic accesses alone each seed has the figures that it has on
x86, where HOSTS_X86 says which program that is.  With HOSTS_INSIDE so many seeds run with points at blocks of code, too.
"""
import concurrent.futures
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import tokens  # noqa: E402

SEEDS, INSIDE = int(os.environ.get("HOSTS_SEEDS", "3")), int(os.environ.get("HOSTS_INSIDE", "0"))
STEPS = int(os.environ.get("HOSTS_STEPS", "2000"))
FIRST = int(os.environ.get("HOSTS_FIRST", "4"))
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


def run_seeds(pool, command, seeds, *how):
    """The same of all seeds, in parts."""
    size = max(1, min(20, seeds // tokens.JOBS))
    parts = [(command, FIRST + at, min(size, seeds - at), how) for at in range(0, seeds, size)]
    return [pool.submit(run, part) for part in parts]


def gather(parts):
    figures, said = {}, []
    for part in parts:
        found, wrong = part.result()
        figures.update(found)
        said += wrong.splitlines()
    return figures, [line for line in said if line.strip()][:60]


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
        on_x86 = run_seeds(pool, [X86], SEEDS, "atomic", "shrink=0") if X86 and commands else []
        there = {machine: (run_seeds(pool, command, SEEDS, "atomic", "shrink=0"), run_seeds(pool, command, INSIDE) if INSIDE else [])
                 for machine, command in commands.items()}
        wanted, wrong = gather(on_x86)
        if on_x86:
            tell("x86: no_rule_is_broken", wrong)
        for machine, (atomic, inside) in there.items():
            figures, wrong = gather(atomic)
            tell(f"{machine}: no_rule_is_broken ({SEEDS} seeds)", wrong)
            if inside:
                tell(f"{machine}: no_rule_is_broken_with_points_inside_code ({INSIDE} seeds)", gather(inside)[1])
            if on_x86:
                tell(f"{machine}: each_seed_has_the_figures_of_x86 ({SEEDS} seeds)",
                     [f"seed {seed}: {figures.get(seed)}\n    on x86: {line}" for seed, line in wanted.items()
                      if figures.get(seed) != line][:3])
            else:
                print(f"[  SKIPPED ] {machine}: each_seed_has_the_figures_of_x86: no build/host/tests/host/host (make test-host)")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
