#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The worst placements of many seeded sets, in instructions of gcc -O2 (x86-64).

    worst_place.py [SETS [KIND [FIRST SEED]]]

Builds the library and tests/bench/worst/worst_place.c so that they count what they execute
(count_blocks.py), and runs that: exit code 1 if more sets than are allowed cost more than 20,000 instructions, or refusals with their explanation more than 120,000.
"""
import os
import subprocess
import sys

from count_blocks import counting_program

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")


def main():
    os.chdir(ROOT)
    subprocess.run(["make", "-s", "build/gcc-64/libupmu.a"], check=True)
    program = counting_program("worst_place", ["tests/bench/worst/worst_place.c", "tests/bench/callgrind_count.c"])
    return subprocess.run([program, *sys.argv[1:]]).returncode


if __name__ == "__main__":
    sys.exit(main())
