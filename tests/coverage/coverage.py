#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Report what the tests reach of core/ and backends/ (gcov; pages by gcovr), and compare with the aims.

tests/coverage/unreached.tsv explains what no test reaches: file, function, text that
the line contains, reason.  Lines that are neither reached nor explained are listed, and
so are rows that explain no line any more.
"""
import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys

UNREACHED = "tests/coverage/unreached.tsv"


def gcov(data):
    """gcov's records of what one file of counts (.gcda) says; names of files are absolute, or relative to the root."""
    output = subprocess.run(["gcov", "--branch-probabilities", "--json-format", "--stdout", "--object-directory",
                             os.path.dirname(data), data], check=True, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL).stdout
    return [file for text in output.splitlines() for file in json.loads(text)["files"]]


def add(files, record, is_library):
    """
    Add the counts of a record.  Which lines have code is what the library's own objects say; a test that includes a
    source, and is compiled in another way, adds its counts to these lines.  A count below zero is none: a test that
    goes back to a saved context leaves functions in the middle, and gcov reckons some counts from the others.
    """
    lines = files.setdefault(os.path.relpath(record["file"]), {})
    for line in record["lines"]:
        if not is_library and line["line_number"] not in lines:
            continue
        known = lines.setdefault(line["line_number"], [0, []])
        known[0] += max(0, line["count"])
        if is_library:
            known[1] += [0] * (len(line["branches"]) - len(known[1]))
        for index, branch in enumerate(line["branches"][:len(known[1])]):
            known[1][index] += max(0, branch["count"])


def measure(folder):
    """
    The records of core/ and backends/ in gcovr's form, from gcov's own: gcovr leaves out what follows the first
    negative count of a file.  Branches of lines without code (braces alone) are the compiler's.
    """
    files = {}
    found = [os.path.join(place, name) for place, _, names in os.walk(folder) for name in names if name.endswith(".gcda")]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        library = [data for data in found if not os.path.relpath(data, folder).startswith("tests/")]
        for data in (library, sorted(set(found) - set(library))):
            for records in pool.map(gcov, data):
                for record in records:
                    if os.path.relpath(record["file"]).startswith(("core/", "backends/")):
                        add(files, record, data is library)
    result = []
    for name in sorted(files):
        source = open(name).read().split("\n")
        lines = []
        for number, (count, branches) in sorted(files[name].items()):
            code = source[number - 1].strip("{}; \t")
            lines.append({"line_number": number, "count": count, "gcovr/noncode": False,
                          "gcovr/excluded": False, "branches": [
                {"count": taken, "fallthrough": False, "throw": False} for taken in (branches if code else [])]})
        result.append({"file": name, "lines": lines, "functions": []})
    report(folder, result)
    return result


def report(folder, records):
    """The pages that show each line."""
    trace = os.path.join(folder, "coverage.json")
    with open(trace, "w") as file:
        json.dump({"gcovr/format_version": "0.3", "files": records}, file)
    subprocess.run(["gcovr", "--root", ".", "--add-tracefile", trace, "--html-details",
                    os.path.join(folder, "index.html")], check=True, stderr=subprocess.DEVNULL)


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
        lines = record["lines"]
        branches = [branch for line in lines for branch in line["branches"]]
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
