#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`perf test`, perf's own tests, are Ok on abi/perf and the silicon model, as far as they ask a kernel for events.

perf runs freely (SUPERVISOR_FAST).  docs/PERF.md says why the others are not.  Class of mistake: what perf's authors
learned about kernels, and our tests do not know.
"""
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from under import WORK, Skip, supervised  # noqa: E402
from checklib import check, main, needs  # noqa: E402

OK = """Number of exit events of a simple workload
Software clock events period values
Use a dummy software event to keep tracking
Parse with no sample_id_all bit set
Track with sched_switch
Session topology
Synthesize attr update
Event times
maps__merge_in
Event expansion for cgroups
User space counter reading of instructions
User space counter reading of cycles
Perf time to TSC
perf stat csv summary test
perf stat metrics (shadow stat) test
perf stat tests""".splitlines()
OF_THE_TSC = "Perf time to TSC"  # the test executes RDTSC: the clock must be this machine's
ATTRIBUTES = "/usr/lib/perf-core/tests"
# perf 6.1 itself opens this with another sample_type than its file expects, on Linux, too.
UNLIKE_ITS_FILE = "test-record-C0"
OPENING = 8  # how many of these open events
MODEL = "zen4"


def perf_test(number, name):
    """What perf says of its tests of that name."""
    folder = f"{WORK}/nothing"  # (in a folder that has tests/ perf looks for its own there)
    os.makedirs(folder, exist_ok=True)
    more = {"SUPERVISOR_TSC": "1"} if name == OF_THE_TSC else {}
    output, _, log = supervised(f"perf-test-{number}", MODEL, "perf", "test", name, files=True, fast=True,
                                folder=folder, **more)
    return dict(re.findall(r"^ *[\d.]+: (\S.*?) *: (\S.*)$", output, re.M)), output, log


@check
def perf_tests_of_events_are_ok():
    needs("perf")
    complaints, opening = [], 0
    for number, name in enumerate(OK):
        verdicts, output, log = perf_test(number, name)
        opening += bool(re.search(r" open .* = 0$", log, re.M))
        if verdicts.get(name) != "Ok":
            complaints.append(f"{name}: {verdicts.get(name)}: {output[-300:]}")
    return complaints + ([] if opening >= OPENING else [f"{opening} tests opened an event, not {OPENING}"])


@check
def perf_asks_for_the_attributes_of_its_own_list():
    """The test "Setup struct perf_event_attr": perf stat and perf record with many options, their attributes."""
    needs("perf")
    if not os.path.exists(f"{ATTRIBUTES}/attr.py"):
        raise Skip("this perf has no tests/attr.py")
    folder = f"{WORK}/attributes"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(f"{ATTRIBUTES}/attr", folder)
    os.unlink(f"{folder}/{UNLIKE_ITS_FILE}")
    words = sys.executable, "-W", "ignore", f"{ATTRIBUTES}/attr.py", "-d", folder, "-p", shutil.which("perf"), "-v"
    output, code, _ = supervised("perf-attributes", MODEL, *words, files=True, fast=True, folder=WORK)
    names = {word: set(re.findall(rf"^{word} .*/(test-[^/']+)'$", output, re.M))
             for word in ("running", "unsupp", "skipped")}
    done = names["running"] - names["unsupp"] - names["skipped"]
    if code or "FAILED" in output or len(done) < 20:
        return [f"exit {code}, {len(done)} done: {output[-500:]}"]
    print(f"{len(done)} files; not supported: {' '.join(sorted(names['unsupp']))}")
    return []


if __name__ == "__main__":
    main()
