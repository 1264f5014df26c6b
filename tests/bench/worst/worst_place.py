#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The worst placements of many seeded sets, in instructions of gcc -O2 (x86-64).

    worst_place.py [SETS [KIND [FIRST SEED]]]

Builds the library's solver, the backends and tests/bench/worst/worst_place.c so that they
count what they execute (count_blocks.py), and runs that: exit code 1 if more sets than are
allowed cost more than 20,000 instructions, or refusals with their explanation more than 120,000.
"""
import glob
import os
import subprocess
import sys

from count_blocks import count_blocks

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "../../..")
WORK = "build/worst"
LIBRARY = "-std=c11 -ffreestanding -mgeneral-regs-only -fno-stack-protector".split()
FLAGS = "-m64 -O2 -fno-pie -fno-pic -fcf-protection=none -Iinclude -I.".split()
COUNTED = ["core/place/place.c", "core/place/place_read.c", "core/place/place_search.c", "core/place/place_why.c"] + \
    sorted(glob.glob("backends/*/*.c", root_dir=ROOT))


def compiled(source, counted):
    """The object of a source."""
    name = os.path.join(WORK, source.replace("/", "-")[:-2])
    flags = FLAGS + (LIBRARY if not source.startswith("tests/") else ["-std=gnu11"])
    text = subprocess.run(["gcc", *flags, "-S", "-o", "-", source], check=True, stdout=subprocess.PIPE).stdout.decode()
    if counted:
        text = count_blocks(text)
    with open(name + ".s", "w") as file:
        file.write(text)
    subprocess.run(["gcc", "-m64", "-c", "-o", name + ".o", name + ".s"], check=True)
    return name + ".o"


def main():
    os.chdir(ROOT)
    os.makedirs(WORK, exist_ok=True)
    objects = [compiled(source, True) for source in
               COUNTED + ["tests/bench/worst/worst_place.c", "tests/bench/callgrind_count.c"]]
    subprocess.run(["make", "-s", "build/gcc-64/libupmu.a"], check=True)
    program = f"{WORK}/worst_place"
    subprocess.run(["gcc", "-m64", "-no-pie", "-o", program, *objects, "build/gcc-64/libupmu.a"], check=True)
    return subprocess.run([program, *sys.argv[1:]]).returncode


if __name__ == "__main__":
    sys.exit(main())
