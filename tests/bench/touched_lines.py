#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The cache lines of 64 bytes that calls of the library touch: of code, of data.

bench_engine runs under lackey, which prints the address of each instruction, load and store.  What the bench itself
executes and touches (its hooks, what counts) is left out.  Ends after the last of NAMES.

    touched_lines.py [NAME...]      default: engine-switch-same engine-switch-changed engine-pmi-1-of-5
"""
import os
import subprocess
import sys

PROGRAM = "build/gcc-64/tests/bench/bench_engine"
OWN = ("tests/bench/bench_engine.c", "tests/bench/callgrind_count.c")


def symbols():
    """{function: (address, bytes)} of the program, and the ranges of what the bench's own sources have."""
    listing = subprocess.run(["nm", "-S", "-l", "--defined-only", PROGRAM], check=True, stdout=subprocess.PIPE,
                             encoding="utf-8").stdout
    known, own = {}, []
    for line in listing.splitlines():
        words, _, place = line.partition("\t")
        fields = words.split()
        if len(fields) != 4 or fields[2] not in "tT":
            continue
        first, size = int(fields[0], 16), int(fields[1], 16)
        known[fields[3]] = (first, size)
        if any(source in place for source in OWN):
            own.append((first, first + size))
    return known, own


def touched(wanted):
    """Yields (name, lines of code, lines of data)."""
    known, own = symbols()
    begins, ends = known["call_counted"][0], known["bench_count_name"][0]
    counts = f"{PROGRAM}.names"
    subprocess.run([PROGRAM], env=dict(os.environ, BENCH_COUNTS=counts), check=True, stdout=subprocess.DEVNULL)
    with open(counts, encoding="ascii") as file:
        names = iter([line.split()[0] for line in file])
    left, code, data, collecting, ours = set(wanted), set(), set(), False, False
    process = subprocess.Popen(["valgrind", "--tool=lackey", "--trace-mem=yes", "--log-fd=1", PROGRAM], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, encoding="ascii", errors="replace")
    for line in process.stdout:
        if line[:2] not in ("I ", " L", " S", " M"):
            continue
        address, _, size = line[3:].partition(",")
        address = int(address, 16)
        if line[0] == "I":
            if address == begins:
                collecting, code, data = True, set(), set()
            elif address == ends:
                name, collecting = next(names), False
                if name in left:
                    left.discard(name)
                    yield name, len(code), len(data)
                    if not left:
                        break
            ours = collecting and not any(first <= address < last for first, last in own)
            if ours:
                code.update((address >> 6, (address + int(size) - 1) >> 6))
        elif ours:
            data.update((address >> 6, (address + int(size) - 1) >> 6))
    process.kill()
    process.wait()


def main():
    for name, code, data in touched(sys.argv[1:] or ["engine-switch-same", "engine-switch-changed", "engine-pmi-1-of-5"]):
        print(f"{name}\t{code} lines of code\t{data} lines of data", flush=True)


if __name__ == "__main__":
    main()
