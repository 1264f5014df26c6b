#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make try, the first command of README.md: what it prints, and that make and a C compiler are all that it needs."""
import os
import re
import shutil
import time

from checklib import ROOT, check, main, read, run

# The compiler with its assembler and linker, make, and what each Linux has; no bash, no python3, no git, no gcc by name.
NEEDED = ["cc", "as", "ld", "make", "sh", "mkdir", "cmp", "find", "id", "sed"]
TREE = "build/tests/try tree"
FOLDERS = ["backends", "core", "efi-demo", "events", "examples", "include", "models", "port", "tests", "tools"]
FILES = ["Makefile", "upmu.mk", "tools/builds.tsv", "tools/packages.tsv", "tests/layers.tsv"]

EXPECTED = f"""simulated: these are counts of a model of Intel's Skylake, not of this machine
events by name, counts of 64 bits (2^48, where a counter begins again, is {2 ** 48}):
{300 * 2 ** 40:>18} instructions
{300 * 2 ** 39:>18} cycles
{300 * 31:>18} BR_MISP_RETIRED.ALL_BRANCHES
thread switches, a session of one thread:
{1000 + 200:>18} instructions (another thread's {500000 + 30} are not in it)
samples, each 1000th instruction by an interrupt:
{0x400000 + 4 * 1000:>#18x} instruction pointer
{0x400000 + 4 * 2000:>#18x} instruction pointer
{0x400000 + 4 * 3000:>#18x} instruction pointer
no error
"""


def make_tree():
    """A copy of what `make try` reads, where nothing was made yet."""
    shutil.rmtree(TREE, ignore_errors=True)
    for folder in FOLDERS:
        shutil.copytree(folder, f"{TREE}/{folder}", ignore=shutil.ignore_patterns("*.tsv", "corpus", "*.txt", "__pycache__"))
    for path in FILES:
        shutil.copy(path, f"{TREE}/{path}")
    os.makedirs(f"{TREE}/bin")
    for name in NEEDED:
        os.symlink(shutil.which(name) or f"/usr/bin/{name}", f"{TREE}/bin/{name}")


@check
def make_try_needs_make_and_a_compiler_alone():
    """Finds a script, a package or bash in its way."""
    make_tree()
    begun = time.monotonic()
    code, output = run(["make", "SHELL=/bin/sh", "try"], cwd=TREE, env={"PATH": f"{ROOT}/{TREE}/bin"})
    print(f"make try took {time.monotonic() - begun:.1f} s; on two idle processors it is to take less than 10")
    if (code, output) != (0, EXPECTED):
        return [f"exit {code}: {output[:2000]}"]
    shutil.rmtree(TREE)
    return []


@check
def readme_begins_with_make_try():
    """Finds another first command, and lines that the program does not print."""
    blocks = re.findall(r"^```\n(.*?)^```\n", read("README.md"), re.M | re.S)
    first = blocks[0].splitlines()[0].split()[:2]
    complaints = [] if first == ["make", "try"] else [f"README.md's first command is {' '.join(first)}"]
    return complaints + ([] if EXPECTED in blocks else ["README.md does not show what make try prints"])


if __name__ == "__main__":
    main()
