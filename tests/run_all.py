#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make what all layers of tests run, run them by `make test-LAYER`, check the list of requirements, add up.

Usage: run_all.py [--again] MAKE JOBS LAYER...
       run_all.py --parts MAKE LAYER...

The layers run side by side; of all their programs JOBS run at a time (tokens.py).  What a layer prints is shown when
it has ended.  SLOW=1: the ten slowest programs, too.  With --again the layers run in another build than that of
`make test`, which has checked the list of requirements.  With --parts they run one after the other, each with what it
makes itself.
"""
import os
import re
import resource
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
import tokens  # noqa: E402

CLOSING = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$")

TEST_LINE = re.compile(r"^\[\s*(OK|FAILED|SKIPPED)\s*\] (\S.*)$")
# These take no token themselves; what boots one machine after the other begins first.
WITHOUT_TOKENS = ("demo",)
FIRST = ("demo", "bochs", "model", "host", "kernel", "rows", "build", "inject", "fuzz")


def show(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def run_layer(command, layer=None, show=show):
    """
    Show the output of one layer; return its (passed, failed, skipped) and the CPU seconds it took.  A layer
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
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = code = os.waitstatus_to_exitcode(status)
    if layer and not os.path.exists(kept):
        os.makedirs("build/tests", exist_ok=True)
        with open(kept, "w") as file:
            file.writelines(rows)
    if counts is None or (code != 0 and counts[1] == 0):
        show(f"    {' '.join(command)} ended with {code}\n")
        counts = (counts or (0, 0, 0))
        counts = (counts[0], counts[1] + 1, counts[2])
    return counts, used.ru_utime + used.ru_stime


def cpu_seconds():
    """What all programs that have ended took, with what they started."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def make_tokens(count):
    """The open pipe with so many tokens; layers find it by name."""
    path = os.path.abspath("build/tests/tokens")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.exists(path):
        os.unlink(path)
    os.mkfifo(path)
    os.environ[tokens.NAME] = tokens.PATH = path
    pipe = os.open(path, os.O_RDWR)
    os.write(pipe, b"t" * count)
    return pipe


def show_slowest(layers, count=10):
    """By what run_layer.py kept: the programs of these layers that took most seconds of CPU."""
    rows = [line.rstrip("\n").split("\t") for path in (f"build/tests/{layer}.times" for layer in layers)
            if os.path.exists(path) for line in open(path)]
    print("== slowest (CPU, clock)")
    for used, seconds, name in sorted(rows, key=lambda row: -float(row[0]))[:count]:
        print(f"    {used} s, {seconds} s: {name}")


def show_sum(totals):
    """The last line; the exit code."""
    passed, failed, skipped = (sum(column) for column in zip(*totals))
    show(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else "") + "\n")
    return 1 if failed else 0


def run_parts(make, *layers):
    """The layers that are parts of tests/foreign, and the requirements of which they tell."""
    totals = [run_layer([make, "--no-print-directory", "test-" + layer])[0] for layer in layers]
    totals.append(run_layer([sys.executable, "tests/run_requirements.py", "--foreign", *layers])[0])
    return show_sum(totals)


def main():
    if sys.argv[1] == "--parts":
        return run_parts(*sys.argv[2:])
    again = sys.argv[1] == "--again"
    make, jobs, *layers = sys.argv[2 if again else 1:]
    own_jobs = [] if "jobserver" in os.environ.get("MAKEFLAGS", "") else ["-j" + jobs]
    command = [make, "--no-print-directory", *own_jobs]
    totals, seconds, lock = {}, {}, threading.Lock()

    begun = time.monotonic()
    show("== programs\n")
    code = subprocess.run([*command, "-k", "programs"], close_fds=False).returncode
    show(f"    {time.monotonic() - begun:.0f} s, {cpu_seconds():.0f} s of CPU" + (f", ended with {code}" if code else "") + "\n")
    pipe = make_tokens(max(1, int(jobs)))

    def run(layer):
        lines = [f"== {layer}\n"]
        if layer in WITHOUT_TOKENS:
            with tokens.token():
                totals[layer], used = run_layer([*command, "test-" + layer], layer, lines.append)
        else:
            totals[layer], used = run_layer([*command, "test-" + layer], layer, lines.append)
        seconds[layer] = f" ({used:.0f} s of CPU)"
        with lock:
            show("".join(lines))

    threads = [threading.Thread(target=run, args=(layer,)) for layer in
               [*(layer for layer in FIRST if layer in layers), *(layer for layer in layers if layer not in FIRST)]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os.close(pipe)
    totals = {layer: totals.get(layer, (0, 1, 0)) for layer in layers}
    if not again:
        print("== requirements", flush=True)
        totals["requirements"], _ = run_layer([sys.executable, "tests/run_requirements.py", *layers])
    if os.environ.get("SLOW"):
        show_slowest(layers)
    print("== totals")
    for layer, (passed, failed, skipped) in totals.items():
        print(f"    {layer}: {passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else "") +
              seconds.get(layer, "") + ".")
    print(f"    {time.monotonic() - begun:.0f} s, {cpu_seconds():.0f} s of CPU with the programs")
    return show_sum(totals.values())


if __name__ == "__main__":
    sys.exit(main())
