#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Report what the tests reach of core/ and backends/x86_core/ (gcovr), and compare with the aims.

tests/coverage/unreached.tsv explains, file by file, what no test can reach: file, text
that the line contains, reason.  Lines that are neither reached nor explained are listed.
"""
import argparse
import json
import os
import subprocess
import sys

UNREACHED = "tests/coverage/unreached.tsv"


def measure(folder):
    """gcovr's records of the files that count."""
    output = os.path.join(folder, "coverage.json")
    command = ["gcovr", "--root", ".", "--object-directory", folder, "--filter", "core/", "--filter",
               "backends/x86_core/", "--exclude-unreachable-branches", "--gcov-ignore-parse-errors", "--json", output,
               "--html-details", os.path.join(folder, "index.html")]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    with open(output) as file:
        return json.load(file)["files"]


def explained():
    rows = [line.rstrip("\n").split("\t") for line in open(UNREACHED) if line.strip() and not line.startswith("#")]
    return [(row[0], row[1]) for row in rows]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--line", type=float, required=True)
    parser.add_argument("--branch", type=float, required=True)
    parser.add_argument("folder")
    options = parser.parse_args()
    known = explained()
    totals = [0, 0, 0, 0]
    unexplained = []
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
            if line["count"] == 0 and not any(name == f and t in text for f, t in known):
                unexplained.append(f"{name}:{line['line_number']}: {text}")
    line = 100.0 * totals[1] / max(1, totals[0])
    branch = 100.0 * totals[3] / max(1, totals[2])
    for text in unexplained:
        print("    not reached, not explained: " + text)
    print(f"    lines {line:.1f} % (aim {options.line:.0f}), branches {branch:.1f} % (aim {options.branch:.0f}); "
          f"{options.folder}/index.html")
    print(f"    {len(unexplained)} lines are neither reached nor explained")
    return 0 if line >= options.line and branch >= options.branch else 1


if __name__ == "__main__":
    sys.exit(main())
