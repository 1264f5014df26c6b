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
perf record tests
perf stat CSV output linter
perf stat csv summary test
perf stat JSON output linter
perf stat metrics (shadow stat) test
perf stat tests""".splitlines()
# What a test needs of the machine: the clock is that of RDTSC, which the test executes; /proc has no threads of others,
# which can end while perf looks at them; samples have registers of precise records.
NEEDS = {"Perf time to TSC": {"SUPERVISOR_TSC": "1"},
         "perf stat CSV output linter": {"SUPERVISOR_ALONE": "1"},
         "perf stat JSON output linter": {"SUPERVISOR_ALONE": "1"},
         "perf record tests": {"SUPERVISOR_LENDS": "1"}}
ATTRIBUTES = "/usr/lib/perf-core/tests"
# Files of attributes that are not matched, and why (docs/PERF.md); all others are.
UNMATCHED = {
    "test-record-C0": "perf 6.1 itself opens this with another sample_type than its file expects, on Linux, too",
    "test-record-pfm-period": "Debian's perf is built without libpfm4",
    "test-record-graph-default-aarch64": "of Arm",
    "test-record-graph-fp-aarch64": "of Arm",
    "test-record-spe-period": "of Arm",
    "test-record-spe-period-term": "of Arm",
    "test-record-spe-physical-address": "of Arm"}
OPENING = 8  # how many of these open events
MODEL = "zen4"
MODEL_THAT_LENDS = "skylake"  # with branch stacks and precise records


def perf_test(number, name):
    """What perf says of its tests of that name."""
    folder = f"{WORK}/nothing"  # (in a folder that has tests/ perf looks for its own there)
    os.makedirs(folder, exist_ok=True)
    more = NEEDS.get(name, {})
    # Process 1 gets the orphans of others, which perf would take for its own: it is a shell.
    shell = "sh", "-c", 'perf test "$1"; exit $?', "sh", name
    words = shell if "SUPERVISOR_ALONE" in more else ("perf", "test", name)
    model = MODEL_THAT_LENDS if "SUPERVISOR_LENDS" in more else MODEL
    output, _, log = supervised(f"perf-test-{number}", model, *words, files=True, fast=True, folder=folder, **more)
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


def attributes_asked(folder, files, *more):
    """Output and exit code of perf's attr.py, and which of these files were not matched."""
    words = (sys.executable, "-W", "ignore", f"{ATTRIBUTES}/attr.py", "-d", folder, "-p", shutil.which("perf"), "-v",
             *more)
    output, code, _ = supervised("perf-attributes", MODEL_THAT_LENDS, *words, files=True, fast=True, limit=300,
                                 folder=WORK, SUPERVISOR_LENDS="1")
    names = {word: set(re.findall(rf"^{word} .*/(test-[^/']+)'$", output, re.M))
             for word in ("running", "unsupp", "skipped")}
    return output, code, files - (names["running"] - names["unsupp"] - names["skipped"])


@check
def perf_asks_for_the_attributes_of_its_own_list():
    """The test "Setup struct perf_event_attr": perf stat and perf record with many options, their attributes."""
    needs("perf")
    if not os.path.exists(f"{ATTRIBUTES}/attr.py"):
        raise Skip("this perf has no tests/attr.py")
    folder = f"{WORK}/attributes"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(f"{ATTRIBUTES}/attr", folder)
    files = {name for name in os.listdir(folder) if name.startswith("test-")}
    os.unlink(f"{folder}/test-record-C0")  # the test ends at a file that does not match
    output, code, unmatched = attributes_asked(folder, files)
    # One `perf stat kill` of 500 ends with 0 instead of its child's exit code, which attr.py calls "unsupp": presumably
    # the child has ended before perf waits for it.  Such files are asked for again.
    for name in sorted(unmatched - set(UNMATCHED)):
        for _ in range(3):
            if name in unmatched and not attributes_asked(folder, {name}, "-t", name)[2]:
                print(f"{name} is matched when it runs again")
                unmatched = unmatched - {name}
    complaints = [] if not code and "FAILED" not in output else [f"exit {code}: {output[-500:]}"]
    complaints += [f"{name} is not matched" for name in sorted(unmatched - set(UNMATCHED))]
    complaints += [f"{name} is matched, and the list says: {UNMATCHED[name]}"
                   for name in sorted(set(UNMATCHED) - unmatched)]
    print(f"{len(files - unmatched)} files are matched, {len(unmatched)} are not")
    return complaints


if __name__ == "__main__":
    main()
