#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""PMCTools and what is beside them: a trace that costs nothing, a guide that names what exists, one target for the
tools, an allow-list that needs no other file."""
import os
import re
import subprocess
import tempfile

from checklib import COMPILERS, FREESTANDING, check, main, read, run

WORK = "build/tests/pmc"
# What writes registers: the bank, and whatever has its short ways inline.
WRITERS = ["core/hw/bank.c", "core/hw/space.c"]
PERMIT_LIMIT = 1228  # permit.o, and the rows of a Core 2, 704 bytes of it
PMC_LIMIT = 6700     # the kernel's side of abi/pmc: all but pmc_client.c
NO_UNWINDING = "-fno-asynchronous-unwind-tables"  # as kernels compile


def compiled(source, *options):
    """The code of one source, as bytes."""
    target = f"{WORK}/one.o"
    os.makedirs(WORK, exist_ok=True)
    code, output = run([*COMPILERS["gcc-64"], *FREESTANDING, "-O1", *options, "-c", "-o", target, source])
    assert code == 0, output
    subprocess.run(["objcopy", "-O", "binary", "--only-section=.text*", target, target + ".text"], check=True)
    with open(target + ".text", "rb") as file:
        return file.read(), run(["nm", target])[1]


@check
def trace_costs_nothing_when_off():
    """Without the option the code is what it is without the lines of the trace; with it each write is told."""
    complaints = []
    lines = read("core/hw/port_call.h")
    bare = re.sub(r"#if UPMU_TRACE\n.*?#endif\n\n?", "", lines, flags=re.S)
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(f"{folder}/core/hw")
        with open(f"{folder}/core/hw/port_call.h", "w") as file:
            file.write(bare)
        for source in WRITERS:
            off, names = compiled(source)
            without, _ = compiled(source, "-iquote", folder, f"-I{folder}", "-include", f"{folder}/core/hw/port_call.h")
            _, traced = compiled(source, "-DUPMU_TRACE=1", "-O0")
            if off != without or not off:
                complaints.append(f"{source}: other code than without the trace")
            if "upmu_trace_write" in names:
                complaints.append(f"{source}: calls the trace though it is off")
            if "U upmu_trace_write" not in traced:
                complaints.append(f"{source}: writes without telling the trace")
    return complaints if bare != lines else ["core/hw/port_call.h has no trace"]


@check
def the_reading_guide_names_what_exists():
    guide = re.search(r"^## Adding a family\n(.*?)^## ", read("docs/DESIGN.md"), re.S | re.M)
    if not guide:
        return ["docs/DESIGN.md has no guide"]
    rows = re.findall(r"^\| [^|]+ \| ([^|]+) \| (\S+\.c) \|$", guide.group(1), re.M)
    complaints = [] if len(rows) >= 10 else ["the guide has lost its rows"]
    for names, path in rows:
        text = read(path) if os.path.exists(path) else ""
        for name in re.findall(r"`(\w+)`", names):
            if not re.search(rf"^[\w \*]*\b{name}(\(| = \{{)", text, re.M):
                complaints.append(f"{name} is not in {path}")
    return complaints


@check
def tools_are_rebuilt_by_one_target():
    """`make tools` makes the program and its names; one build is every family's."""
    code, output = run(["make", "--no-print-directory", "tools"])
    complaints = [] if code == 0 else [output[-2000:]]
    for name, index, event in (("p4", "12", "p4-instr-retired,mask=nbogusntag"), ("k8", "3", "instructions"),
                               ("iaf", "0", "PMC_EV_IAF_INSTR_RETIRED_ANY"), ("iap", "1", "instructions")):
        code, output = run([f"build/pmcstat_{name}", "-n", "1000", index, event, "spin"])
        if code or f"2000 {index} {event}" not in output:
            complaints.append(f"pmcstat_{name}: {code}: {output}")
    return complaints


@check
def an_allow_list_is_linked_alone():
    """core/hw/permit.c needs nothing; with the table that the tool prints for a Core 2 it is small."""
    os.makedirs(WORK, exist_ok=True)
    with open(f"{WORK}/rows.c", "w") as file:
        file.write(run(["build/gcc-64/../upmu", "permits", "--pmu", "core"])[1])
    complaints, size = [], 0
    for source in ("core/hw/permit.c", f"{WORK}/rows.c"):
        for build, compiler in COMPILERS.items():
            target = f"{WORK}/{build}-{os.path.basename(source)[:-2]}.o"
            code, output = run([*compiler, *FREESTANDING, NO_UNWINDING, "-Os", "-c", "-o", target, source])
            missing = run(["nm", "-u", target])[1].split()
            if code or missing:
                complaints.append(f"{source}, {build}: {output} {missing}")
        size += int(run(["size", f"{WORK}/gcc-64-{os.path.basename(source)[:-2]}.o"])[1].split()[6])
    if size > PERMIT_LIMIT:
        complaints.append(f"{size} bytes, at most {PERMIT_LIMIT}")
    return complaints


@check
def libpmcs_side_of_the_kernel_is_small():
    os.makedirs(WORK, exist_ok=True)
    complaints = []
    for build in ("gcc-64", "gcc-32"):
        size = 0
        for name in ("pmc_calls", "pmc_find", "pmc_info", "pmc_log"):
            target, source = f"{WORK}/{build}-{name}.o", f"abi/pmc/{name}.c"
            code, output = run([*COMPILERS[build], *FREESTANDING, NO_UNWINDING, "-Os", "-c", "-o", target, source])
            complaints += [output] if code else []
            size += int(run(["size", target])[1].split()[6])
        print(f"{build}: {size} bytes")
        complaints += [f"{build}: {size} bytes, at most {PMC_LIMIT}"] if size > PMC_LIMIT else []
    return complaints


@check
def three_processes_count_what_the_model_ran():
    """examples/split as its comment says; the server needs the allow-list and its table, and nothing of the library."""
    options, sources = re.search(r"cc (-I.*?) -o split (.*?) && ", read("examples/split/split_hosted.c")).groups()
    sources = sources.replace("$A", "examples/split/[a-z]*.c abi/pmc/[a-z]*.c").replace("$L", "build/gcc-64")
    command = f"gcc -std=gnu11 -Wall -Wextra -Werror {options} -o {WORK}/split {sources}"
    os.makedirs(WORK, exist_ok=True)
    code, output = run(["bash", "-c", command])
    complaints = [output[-2000:]] if code else []
    for cpu, pmu in () if code else (("core2", "core"), ("northwood", "netburst"), ("k8_revf", "amd64_k8_revf")):
        code, output = run([f"{WORK}/split", cpu, pmu])
        if code or output != "75000 instructions\n":
            complaints.append(f"{cpu}: {code}: {output}")
    # A server that ends at once ends the others.
    code, output = (1, "split: error 5\n") if code else run(["timeout", "20", f"{WORK}/split", "core2", "nosuch"])
    if code != 1 or output != "split: error 5\n":
        complaints.append(f"a server that ends: {code}: {output}")
    for build, compiler in COMPILERS.items():
        target = f"{WORK}/{build}-server.o"
        code, output = run([*compiler, *FREESTANDING, "-Wall", "-Wextra", "-Werror", "-Os", "-c", "-o", target,
                            "examples/split/split_server.c"])
        missing = set(run(["nm", "-u", target])[1].split()) - {"U", "upmu_permit_check", "upmu_permit_merge"}
        if code or missing:
            complaints.append(f"split_server.c, {build}: {output} {missing}")
    lines = len(read("examples/split/split_server.c").splitlines())
    return complaints + ([f"split_server.c has {lines} lines"] if lines > 160 else [])


@check
def the_porting_guide_says_what_a_ring_means():
    text = " ".join(read("docs/PORTING.md").split())
    return [f"docs/PORTING.md lacks: {part}" for part in
            ("What a ring means is your system's matter", "rings 1 and 2", "Keep the core awake".lower())
            if part not in text]


if __name__ == "__main__":
    main()
