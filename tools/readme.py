#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Put the measured bytes of whole builds into README.md, and bytes, register accesses and instructions into docs/FIGURES.md."""
import re
import shutil
import subprocess
import sys

PAGE = "docs/FIGURES.md"
INSTRUCTIONS = re.compile(r"(<!-- instructions -->\n).*?(<!-- end of instructions -->)", re.S)
ENGINE = [("switch-same", "thread switch, both monitored, same events"),
          ("switch-changed", "thread switch, both monitored, all events changed"),
          ("switch-changed-k8", "the same on K8 (4 events)"), ("switch-changed-p4", "the same on NetBurst (4 events)"),
          ("switch-out", "thread switch to a thread without sessions"), ("switch-in", "thread switch from one"),
          ("start", "start"), ("stop", "stop"), ("read-1", "read of one event"), ("read-5", "read of all"),
          ("region-begin", "region begin"), ("region-end", "region end"),
          ("pmi-1-of-5-worst", "overflow interrupt, one of 5 events samples"),
          ("pmi-8-one", "overflow interrupt, 8 events sample, one has overflowed"),
          ("pmi-8-all", "the same, all have overflowed"),
          ("pmi-8-foreign", "the same, none has: another source's interrupt"),
          ("switch-10000-worst", "thread switch, 10,000 sharing sessions wait, worst"),
          ("switch-10000-search-worst", "the same with a search for a place"),
          ("tick-10000-searching-worst", "tick, 10,000 sharing sessions, with searches, worst"),
          ("tick-10000-private-worst", "tick, 10,000 sessions that do not share wait, worst"),
          ("stop-10000-worst", "stop, 10,000 sharing sessions wait, worst"),
          ("stop-10000-private-worst", "stop, 10,000 sessions that do not share wait, worst"),
          ("start-10000-private", "start of a session that waits behind 10,000 others"),
          ("switch-in-10000-private", "thread switch, 10,000 sessions that wait are those of the thread that comes"),
          ("switch-out-10000-private", "the same, of the thread that leaves"),
          ("stop-1000-hard-worst", "stop, 1,000 sessions of 8 events wait, worst"),
          ("switch-10000-stopped", "thread switch, 10,000 stopped sessions"),
          ("switch-in-10000-own-stopped", "the same, all of the thread that comes"),
          ("switch-out-10000-own-stopped", "the same, all of the thread that leaves"),
          ("switch-in-10000-own-limited-64", "thread switch, 10,000 sessions of that thread, limited to 64 other CPUs")]
MARKERS = re.compile(r"(<!-- figures -->\n).*?(<!-- end of figures -->)", re.S)
BUILDS = re.compile(r"(<!-- builds -->\n).*?(<!-- end of builds -->)", re.S)  # in README.md
OPERATIONS = [("attach", "attach (loads what a start will need)"), ("start", "start"),
              ("read", "read while running"), ("stop", "stop"), ("region-begin", "region begin"),
              ("region-end", "region end"), ("switch-changed", "stop, and start with everything changed"),
              ("thread-switch-changed", "thread switch, both monitored, everything changed"),
              ("thread-switch-same", "thread switch, both monitored, same events"),
              ("thread-switch-unmonitored", "thread switch to a thread without sessions"),
              ("start-sampling", "start with one event sampling"), ("interrupt", "overflow interrupt, one of n samples")]


def figures(command):
    done = subprocess.run(command, stdout=subprocess.PIPE)
    rows = (line.split("\t") for line in done.stdout.decode().split("\n"))
    return {row[0]: int(row[1]) for row in rows if len(row) == 3}


def accesses(found, prefix, operation):
    names = (("writes", "W"), ("reads", "R"), ("rdpmcs", "P"), ("rearms", "LVT"))
    parts = [f"{found[f'{prefix}.skl.{operation}.{kind}']} {letter}" for kind, letter in names
             if found[f"{prefix}.skl.{operation}.{kind}"]]
    return " + ".join(parts) or "0"


def catalogues(size):
    return sum(value for name, value in size.items() if name.startswith("rodata.events/"))


def builds(size):
    """Whole builds, the smallest first."""
    lines = ["| build | text | read-only data | RAM | a kernel grows by |", "|---|---:|---:|---:|---:|"]
    for name, text in (("minimum", "the smallest: Intel, counts of a CPU, 4 events without names"),
                       ("profile_tiny", "`UPMU_PROFILE_TINY`: Intel and AMD, counts of CPUs and threads, 4 events without names"),
                       ("profile_count", "`UPMU_PROFILE_COUNT`: 12 events, generic names"),
                       ("profile_full", "`UPMU_PROFILE_FULL`: all; catalogues of all models")):
        lines.append(f"| {text} | " + " | ".join(f"{size[f'{kind}.{name}']:,}" for kind in ("text", "rodata", "ram", "kernel")) + " |")
    return "\n".join(lines) + "\n"


def table(size):
    bench = figures(["build/gcc-64/tests/bench/bench_accesses"])
    lines = ["| code | bytes | ceiling | aim |", "|---|---:|---:|---:|"]
    for name, text in (("text.core+x86_core", "core and Intel backend, everything on"),
                       ("text.engine", "of these the engine (`core/engine`)"),
                       ("text.units", "units outside the cores, core and backend"),
                       ("text.guest", "the PMU that a hypervisor shows its guests (`abi/guest`)"),
                       ("text.guest_x86", "its registers of x86 (`abi/guest/x86`)"),
                       ("text.page_door", "its page for guests (`abi/paravirt`)"),
                       ("text.paravirt", "a guest's backend for the page"),
                       ("text.minimum", "counting only, raw events, unused functions dropped by the linker")):
        aim = f"{size['aim.' + name]:,}" if "aim." + name in size else ""
        lines.append(f"| {text} | {size[name]:,} | {size['limit.' + name]:,} | {aim} |")
    lines += [f"| tables of counting only, in its read-only data | {size['rodata.minimum']:,} | | |"]
    lines += [f"| event catalogues, all of them (tables) | {catalogues(size):,} | | |", "",
              "| memory | bytes, 64-bit | 32-bit | limit |", "|---|---:|---:|---:|"]
    for name, text in (("upmu_cpu", "one `struct upmu_cpu` per CPU"), ("upmu_session", "`struct upmu_session`, 12 events"),
                       ("upmu_event", "`struct upmu_event`"), ("upmu_machine", "`struct upmu_machine`")):
        limit = size.get(f"limit.struct.{name}.64")
        lines.append(f"| {text} | {size[f'struct.{name}.64']:,} | {size[f'struct.{name}.32']:,} | "
                     f"{f'{limit:,}' if limit else ''} |")
    lines += ["", "| operation (W register write, R read, P RDPMC, LVT re-arming the local APIC) | measured | budget |",
              "|---|---|---|"]
    for name, text in OPERATIONS:
        lines.append(f"| {text} | {accesses(bench, 'accesses', name)} | {accesses(bench, 'budget.accesses', name)} |")
    return "\n".join(lines) + "\n"


def instructions(found):
    """Beside them the calls of two hooks."""
    lines = ["| operation (5 events on Skylake if not stated otherwise) | instructions | clock_ns | this_cpu |",
             "|---|---:|---:|---:|"]
    for name, text in ENGINE:
        hooks = "hooks.engine-" + name.removesuffix("-worst")
        calls = f"{found[hooks + '.clock']} | {found[hooks + '.this_cpu']}"
        lines.append(f"| {text} | {found['instructions.engine-' + name]:,} | {calls} |")
    return "\n".join(lines) + "\n"


def agree(old, new):
    """The same text, with numbers of four digits and more 3 % apart at most: so far compilers of two releases are."""
    number = r"\d{1,3}(?:,\d{3})+|\d{3,}"
    if re.sub(number, "#", old) != re.sub(number, "#", new):
        return False
    pairs = zip(re.findall(number, old), re.findall(number, new))
    values = [(int(left.replace(",", "")), int(right.replace(",", ""))) for left, right in pairs]
    return all(abs(left - right) <= 0.03 * right for left, right in values)


def put(path, markers, made):
    """What stands between the markers of a page is replaced."""
    with open(path, encoding="utf-8") as file:
        old = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(markers.sub(lambda found: found.group(1) + made + found.group(2), old))


def main():
    size = figures([sys.executable, "tools/size.py", "--limits"])
    put("README.md", BUILDS, builds(size))
    put(PAGE, MARKERS, table(size))
    if shutil.which("valgrind"):
        put(PAGE, INSTRUCTIONS, instructions(figures([sys.executable, "tools/bench.py", "--instructions", "bench_engine"])))
    else:
        print("valgrind is not installed: the table of instructions stays as it is")
    return 0


if __name__ == "__main__":
    sys.exit(main())
