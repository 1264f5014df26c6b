#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run every layer of tests by `make test-LAYER`, check the list of requirements, add up.

Usage: run_all.py MAKE JOBS LAYER...

Layers that boot one machine after the other keep one processor busy: the lanes of them
run side by side at the end, and each lane is shown when it has ended.
"""
import concurrent.futures
import os
import re
import subprocess
import sys
import time

CLOSING = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$")

TEST_LINE = re.compile(r"^\[\s*(OK|FAILED|SKIPPED)\s*\] (\S.*)$")
LANES = (("demo",), ("kernel", "bochs"))


def show(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def run_layer(command, layer=None, show=show):
    """
    Show the output of one layer; return its (passed, failed, skipped).  A layer
    that keeps no list of its tests in build/tests gets one from the lines it prints.
    """
    counts, rows, kept = None, [], f"build/tests/{layer}.tsv"
    if layer and os.path.exists(kept):
        os.unlink(kept)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, close_fds=False,
                               text=True, errors="replace")
    for line in process.stdout:
        found = TEST_LINE.match(line)
        if found:
            rows.append(f"{layer}\t*\t{found.group(2).strip()}\t{found.group(1)}\n")
        found = CLOSING.match(line.rstrip("\n"))
        if found:
            counts = tuple(int(number or 0) for number in found.groups())
            line = "    " + line
        show(line)
    code = process.wait()
    if layer and not os.path.exists(kept):
        os.makedirs("build/tests", exist_ok=True)
        with open(kept, "w") as file:
            file.writelines(rows)
    if counts is None or (code != 0 and counts[1] == 0):
        show(f"    {' '.join(command)} ended with {code}\n")
        counts = (counts or (0, 0, 0))
        counts = (counts[0], counts[1] + 1, counts[2])
    return counts


def main():
    make, jobs, layers = sys.argv[1], sys.argv[2], sys.argv[3:]
    own_jobs = [] if "jobserver" in os.environ.get("MAKEFLAGS", "") else ["-j" + jobs]
    totals, seconds = {}, {}

    def run(layer, show=show):
        begun = time.monotonic()
        show(f"== {layer}\n")
        totals[layer] = run_layer([make, "--no-print-directory", *own_jobs, "test-" + layer], layer, show)
        seconds[layer] = f" ({time.monotonic() - begun:.0f} s)"

    def run_lane(lane):
        lines = []
        for layer in lane:
            run(layer, lines.append)
        return "".join(lines)

    lanes = [[layer for layer in lane if layer in layers] for lane in LANES]
    for layer in layers:
        if not any(layer in lane for lane in lanes):
            run(layer)
    with concurrent.futures.ThreadPoolExecutor(max(1, int(jobs))) as pool:
        for text in pool.map(run_lane, lanes):
            show(text)
    totals = {layer: totals[layer] for layer in layers}
    print("== requirements", flush=True)
    totals["requirements"] = run_layer([sys.executable, "tests/run_requirements.py", *layers])
    print("== totals")
    for layer, (passed, failed, skipped) in totals.items():
        print(f"    {layer}: {passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else "") +
              seconds.get(layer, "") + ".")
    passed, failed, skipped = (sum(column) for column in zip(*totals.values()))
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
