#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Report what the tests reach of core/ and backends/ (gcovr), and compare with the aims.

tests/coverage/unreached.tsv explains what no test reaches: file, function, text that
the line contains, reason.  Lines that are neither reached nor explained are listed, and
so are rows that explain no line any more.
"""
import argparse
import json
import os
import re
import subprocess
import sys

UNREACHED = "tests/coverage/unreached.tsv"


def measure(folder):
    """
    gcovr's records of the files that count.  (Parse errors: tests that go back to a saved
    context leave functions in the middle, and gcov then reckons some lines below zero.)
    """
    output = os.path.join(folder, "coverage.json")
    command = ["gcovr", "--root", ".", "--object-directory", folder, "--filter", "core/", "--filter",
               "backends/", "--exclude-unreachable-branches", "--gcov-ignore-parse-errors", "--json", output,
               "--html-details", os.path.join(folder, "index.html")]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    with open(output) as file:
        return json.load(file)["files"]


def explained():
    rows = [line.rstrip("\n").split("\t") for line in open(UNREACHED) if line.strip() and not line.startswith("#")]
    return [tuple(row[:3]) for row in rows]


def function_of(source, number):
    """The function in whose definition a line (from 1) stands: its head begins in the first column."""
    for line in reversed(source[:number]):
        found = re.match(r"[A-Za-z_].*?\b(\w+)\(", line)
        if found and not line.endswith(";"):
            return found.group(1)
    return ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--line", type=float, required=True)
    parser.add_argument("--branch", type=float, required=True)
    parser.add_argument("folder")
    options = parser.parse_args()
    known = explained()
    totals = [0, 0, 0, 0]
    unexplained, used = [], set()
    for record in measure(options.folder):
        name = record["file"]
        source = open(name).read().split("\n")
        lines = [l for l in record["lines"] if not l.get("gcovr/noncode")]
        branches = [b for l in lines for b in l.get("branches", []) if not b.get("gcovr/excluded")]
        figures = [len(lines), sum(l["count"] > 0 for l in lines),
                   len(branches), sum(b["count"] > 0 for b in branches)]
        totals = [a + b for a, b in zip(totals, figures)]
        print(f"    {name:44} lines {figures[1]:4}/{figures[0]:4}  branches {figures[3]:4}/{figures[2]:4}")
        for line in lines:
            text = source[line["line_number"] - 1].strip()
            if line["count"] > 0:
                continue
            function = function_of(source, line["line_number"])
            fitting = [row for row in known if row[:2] == (name, function) and row[2] in text]
            used.update(fitting)
            if not fitting:
                unexplained.append(f"{name}:{line['line_number']}: {function}: {text}")
    line = 100.0 * totals[1] / max(1, totals[0])
    branch = 100.0 * totals[3] / max(1, totals[2])
    for text in unexplained:
        print("    not reached, not explained: " + text)
    for row in sorted(set(known) - used):
        print("    explained, but reached (or gone): " + ": ".join(row))
    print(f"    lines {line:.1f} % (aim {options.line:.0f}), branches {branch:.1f} % (aim {options.branch:.0f}); "
          f"{options.folder}/index.html")
    print(f"    {len(unexplained)} lines are neither reached nor explained")
    return 0 if line >= options.line and branch >= options.branch else 1


if __name__ == "__main__":
    sys.exit(main())
