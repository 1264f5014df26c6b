#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does a boot of tests/foreign notice each change of tests/foreign/mutants.tsv?  A few boots, in a copy of the tree."""
import os
import shutil
import subprocess
import sys

TREE = "build/foreign/mutants"
PARTS = ("backends", "core", "events", "include", "port", "tests/foreign", "examples/virt", "tools")
FILES = ("tests/tokens.py",)
BOOTS = ("a57_el1", "max_el2", "a15_hyp", "riscv64_m_29_counters", "riscv64_s_4_counters", "riscv64_s_no_overflows")
MACHINES = ("aarch64", "arm", "riscv64")
IMAGES = tuple(f"build/foreign/{machine}.elf" for machine in MACHINES + ("riscv64_s",))


def run(*command):
    environment = dict(os.environ, FOREIGN_LIMIT_S="40")
    return subprocess.run(command, cwd=TREE, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, text=True)


def make():
    headers = "-include $(shell find build/foreign -name '*.d')"  # (a change of a header is one of what includes it)
    done = run("make", "-j2", "--eval", headers, "-f", "tests/foreign/foreign.mk", *IMAGES)
    return done.returncode == 0, done.stdout


def copy_tree():
    shutil.rmtree(TREE, ignore_errors=True)
    for part in PARTS:
        shutil.copytree(part, os.path.join(TREE, part), symlinks=True)
    for name in FILES:
        shutil.copy(name, os.path.join(TREE, name))
    # (With its objects: what is not changed is not compiled.)
    for machine in MACHINES:
        shutil.copytree(f"build/foreign/{machine}", os.path.join(TREE, f"build/foreign/{machine}"))
    os.symlink(os.path.abspath("build/foreign/usr"), os.path.join(TREE, "build/foreign/usr"))


def notices():
    """The first boot that fails, or None."""
    for name in BOOTS:
        done = run(sys.executable, "tests/foreign/test_foreign.py", name)
        if done.returncode:
            return name
    return None


def main():
    missing = [image for image in IMAGES if not os.path.exists(image)]
    if missing:
        print(f"[  SKIPPED ] mutants of the foreign machines: no {missing[0]}\n0 passed, 0 failed")
        return 0
    with open("tests/foreign/mutants.tsv", encoding="ascii") as table:
        rows = [line.rstrip("\n").split("\t") for line in table if not line.startswith("#")]
    copy_tree()
    fine, output = make()
    if not fine or notices():
        print(f"{output}\n[  FAILED  ] the library as it is passes\n0 passed, 1 failed")
        return 1
    passed = failed = 0
    rows = [row for row in rows if not sys.argv[1:] or any(word in row[3] for word in sys.argv[1:])]
    for path, text, replacement, why in rows:
        changed = os.path.join(TREE, path)
        with open(path, encoding="ascii") as source:
            whole = source.read()
        with open(changed, "w", encoding="ascii") as out:
            out.write(whole.replace(text, replacement))
        found = whole.count(text) == 1 and make()[0] and notices()
        print(f"[{'       OK ' if found else '  FAILED  '}] {why} ({path}){': ' + found if found else ''}", flush=True)
        passed, failed = passed + bool(found), failed + (not found)
        with open(changed, "w", encoding="ascii") as out:
            out.write(whole)
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
