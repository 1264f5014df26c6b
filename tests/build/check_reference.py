#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The comments of the public headers, which are the reference: each declaration has one, each call says where it may be
made and what it returns, times are in nanoseconds.  In the long run Doxygen reads them, too (make reference)."""
import glob
import os
import re
import sys

from checklib import SOAK, Skip, check, main, needs, read, run

sys.path.insert(0, "tools")
from reference import Header  # noqa: E402

CALL = re.compile(r"^(?:UPMU_MUST_CHECK\n)?((?:static inline )?[a-z][\w ]*[ *])(upmu_\w+)\([^;{}()]*(?:\([^()]*\)[^;{}()]*)*\)\s*[;{]", re.M)


def headers():
    """What docs/Doxyfile names, file by file."""
    named = re.search(r"^INPUT += ((?:.*\\\n)*.*)", read("docs/Doxyfile"), re.M)[1].replace("\\\n", " ").split()
    found = []
    for path in named:
        found += sorted(glob.glob(os.path.join(path, "*.h"))) if os.path.isdir(path) else [path]
    assert len(found) > 20, found
    return found


def calls(text):
    """(name, type, comment) of each declared function; those without an empty line between them share it."""
    for block in re.split(r"\n\s*\n(?!\s*\*)", re.sub(r"/\*(?:(?!\*/)[\s\S])*\*/", lambda m: m[0].replace("\n\n", "\n \n"), text)):
        comment = " ".join(re.sub(r"[\s*]+", " ", found) for found in re.findall(r"/\*([\s\S]*?)\*/", block))
        for found in CALL.finditer(re.sub(r"/\*[\s\S]*?\*/", "", block)):
            yield found[2], found[1].strip(), comment


@check
def every_public_declaration_has_a_comment():
    complaints = []
    for path in headers():
        header = Header(read(path), "")
        header.whole()
        complaints += [f"{path}:{number}: {code}" for number, code in header.bare]
    return complaints


@check
def every_public_call_says_its_context_and_its_errors():
    complaints, known, count = [], set(re.findall(r"^    (UPMU_\w+) = \d", read("include/upmu/status.h"), re.M)), 0
    for path in headers():
        if not path.startswith("include/"):
            continue
        said = {}
        for name, kind, comment in calls(read(path)):
            said[name] = kind, said.get(name, ("", ""))[1] + comment
        count += len(said)
        for name, (kind, comment) in said.items():
            other = re.search(r"\bupmu_\w+\(\)", comment)  # whose contract holds here, too
            if not other and not re.search(r"\bcontext", comment, re.I):
                complaints.append(f"{path}: {name} does not say where it may be called")
            if kind.endswith("enum upmu_status") and not other and not re.search(r"\b[Rr]eturns\b|UPMU_OK|UPMU_ERR", comment):
                complaints.append(f"{path}: {name} does not say what it returns")
        unknown = set(re.findall(r"\bUPMU_ERR_\w+", read(path))) - known
        complaints += [f"{path}: no status {name}" for name in sorted(unknown)]
    return complaints + ([] if count >= 150 else [f"only {count} calls found"])


@check
def times_are_in_nanoseconds_and_say_so():
    complaints = []
    for path in headers():
        for number, line in enumerate(re.sub(r"/\*[\s\S]*?\*/", lambda m: re.sub(r"[^\n]", "", m[0]), read(path)).split("\n"), 1):
            for name in re.findall(r"\buint(?:32|64)_t \*?(\w*(?:time|delay|interval|duration)\w*)", line):
                if not re.search(r"_(ns|ms)$", name) and not name.startswith("upmu_"):
                    complaints.append(f"{path}:{number}: {name} does not end in _ns")
    return complaints


@check
def doxygen_has_nothing_to_complain_about():
    if not SOAK and "doxygen_has_nothing_to_complain_about" not in sys.argv:
        raise Skip("in the long run and by make check-reference")
    needs("doxygen")
    code, output = run(["make", "--no-print-directory", "reference"])
    there = os.path.exists("build/reference/html/index.html")
    return [line for line in output.split("\n") if "warning" in line or "error" in line][:20] or (
        [output[-1500:]] if code or not there else [])


main()
