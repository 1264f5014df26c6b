#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Bytes of the library: prints `name<TAB>value<TAB>unit` lines.

Text is the sum of .text* at gcc -Os for x86-64, without .rodata and .eh_frame;
tables are the .rodata* of the register tables and catalogues.  build/os must be
built (`make size` does).  --limits: print each limit beside its figure and exit 1
if one is broken.
"""
import argparse
import glob
import os
import re
import subprocess
import sys

STRUCTS = {  # struct: limit in bytes
    "upmu_set": 3872, "upmu_session": 4368, "upmu_cpu": 5360, "upmu_event": 64, "upmu_place_work": 4096,
    "upmu_machine": None, "upmu_thread": None, "upmu_pmu": None, "upmu_domain": None, "upmu_region": None, "upmu_port": None,
    "upmu_unit": 2312, "upmu_unit_info": 176, "upmu_sample": None, "upmu_count": None, "upmu_why": None, "upmu_probe": None,
    "upmu_perf_event": 296,  # with its part of a session: PERF_MEMORY
}
HEADERS = "".join(f'#include "{path}"\n' for path in [*sorted(glob.glob("include/upmu/*.h")), "abi/perf/perf.h"])
# Code: what it may not exceed now, and what is aimed at (docs/SIZE.md, "Ceilings, and what was aimed at").
CORE_LIMIT, CORE_AIM = 140880, 79 * 1024
ENGINE_LIMIT, ENGINE_AIM = 73370, 29 * 1024  # core/engine without units
RESULTS_LIMIT = 21960  # core/results, of which a program links what it calls; formulas are 4,800
UNITS_TEXT_LIMIT, UNITS_TEXT_AIM = 40350, 13 * 1024  # in core and backend
BRANCHES_LIMIT = 9040  # files that are there for branch records alone, in core and backends
PRECISE_LIMIT = 11880  # files that are there for precise samples alone: records, their memory, their words in perf.data
MINIMUM_LIMIT = 33140
THREADS_LIMIT, THREADS_AIM = 39340, 34000
PROFILE_LIMITS = {"tiny": (48200, 15760), "count": (71120, 24210), "full": (146900, 334700)}  # text, read-only data: + 1 %
PROFILE_AIMS = {"tiny": (30000, 8000)}
GUEST_LIMIT = 6540  # abi/guest: virtual counters
GUEST_X86_LIMIT, GUEST_X86_AIM = 8200, 5632  # its registers of x86
GUEST_ARM_LIMIT, GUEST_ARM_AIM = 3440, 3072  # its registers of Arm, of AArch64 and AArch32
PAGE_DOOR_LIMIT, PAGE_DOOR_AIM = 3700, 4 * 1024  # abi/paravirt
SBI_LIMIT, SBI_AIM = 3800, 4 * 1024  # abi/sbi: the SBI's PMU in a firmware
SBI_GUEST_LIMIT, SBI_GUEST_AIM = 900, 3072  # what virtual CPUs need besides
PERF_LIMIT, PERF_AIM = 21810, 14 * 1024  # abi/perf without its files
PERF_FILES_LIMIT, PERF_FILES_AIM = 4320, 5 * 1024  # the files that programs read about events
PERF_TABLES_LIMIT = 2820  # names and paths in the read-only data of both
PERF_MEMORY = {"leader": ("UPMU_SESSION_BYTES(1)", 2048), "sibling": ("UPMU_SESSION_BYTES(2) - UPMU_SESSION_BYTES(1)", 640)}
PARAVIRT_LIMIT, PARAVIRT_AIM = 1400, 2560  # its backend
CATALOGUES_LIMIT = 259800
UNITS_LIMIT = 42900  # 56 names of Linux are 614 bytes
CATALOGUE_LIMITS = {"skl": 13000, "zen4": 6000, "k8": 5050, "netburst": 4000}  # alone
# What include/upmu/config.h calls profiles, and of the smallest one builds for Intel alone: counts of a CPU, or cycles and
# instructions of a thread.
PROFILES = {name: [f"-DUPMU_PROFILE=UPMU_PROFILE_{name.upper()}"] for name in ("tiny", "count", "full")}
PARTS_OFF = [f"-DUPMU_{part}=0" for part in ("SHARING", "REMOTE", "SUSPEND", "FIRMWARE", "DRY_RUN")]
THREADS_OPTIONS = [*PROFILES["tiny"], "-DUPMU_BACKEND_AMD=0", "-DUPMU_SLOTS=1", "-DUPMU_SET_EVENTS=2", *PARTS_OFF]
MINIMUM_OPTIONS = [*PROFILES["tiny"], "-DUPMU_BACKEND_AMD=0", "-DUPMU_SLOTS=1", "-DUPMU_THREADS=0"]
FLAGS = "-std=c11 -ffreestanding -mgeneral-regs-only -fno-pie -fno-pic -fno-stack-protector -Iinclude -I.".split()
WORK = "build/size"


def output(command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, **options).stdout.decode()


def sections(path, prefix):
    """Bytes in the sections of a file whose names begin so."""
    return sum(int(size) for name, size in re.findall(r"^(\.\S+)\s+(\d+)", output(["size", "-A", path]), re.M)
               if name.startswith(prefix))


def object_sizes():
    """(folder group, source, text, rodata) of every library object."""
    rows, paths = [], sorted(glob.glob("build/os/core/*/*.o") + glob.glob("build/os/backends/*/*.o") +
                             glob.glob("build/os/events/*.o"))
    for part in output(["size", "-A", *paths]).split("\nbuild/os/"):
        path = part.split(" ", 1)[0].removeprefix("build/os/").removesuffix(":")
        source = path[:-2] + ".c"

        def bytes_in(prefix):
            return sum(int(size) for name, size in re.findall(r"^(\.\S+)\s+(\d+)", part, re.M) if name.startswith(prefix))
        if os.path.exists(source):
            parted = source.startswith(("backends", "core/results"))
            group = "/".join(source.split("/")[:2]) if parted else source.split("/")[0]
            rows.append((group, source, bytes_in(".text"), bytes_in(".rodata")))
    return rows


def struct_sizes(compiler, width, options=()):
    lines = "".join(f"extern char size_{name}[]; char size_{name}[sizeof(struct {name})];\n" for name in STRUCTS)
    target = f"{WORK}/structs-{width}.o"
    subprocess.run([compiler, f"-m{width}", *FLAGS, *options, "-x", "c", "-c", "-o", target, "-"], check=True,
                   input=(HEADERS + lines).encode())
    return {name: int(size, 16)
            for size, name in re.findall(r"^\S+ (\S+) \S size_(\w+)$", output(["nm", "-S", target]), re.M)}


def compiled(compiler, options, sources, prefix="minimum-"):
    """Objects of sources."""
    objects = [f"{WORK}/{prefix}{os.path.splitext(os.path.basename(source))[0]}.o" for source in sources]
    for source, path in zip(sources, objects):
        subprocess.run([compiler, *FLAGS, "-m64", "-Os", "-ffunction-sections", "-fdata-sections", *options, "-c", "-o", path, source],
                       check=True)
    return objects


def library(compiler, options):
    return compiled(compiler, options, sorted(glob.glob("core/*/*.c") + glob.glob("backends/*/*.c") + glob.glob("events/*.c")))


def linked(compiler, options, objects):
    """(text, read-only data) that tests/build/minimum_program.c links: the whole less the program's text."""
    program, = compiled(compiler, options, ["tests/build/minimum_program.c"], "")
    whole = f"{WORK}/minimum"
    subprocess.run(["ld", "-m", "elf_x86_64", "--gc-sections", "-e", "minimum_program", "-o", whole, program, *objects],
                   check=True)
    return sections(whole, ".text") - sections(program, ".text"), sections(whole, ".rodata")


def growth(compiler, options, objects):
    """Bytes that the example kernel's image grows by: one with its console alone, and one that counts."""
    shared = compiled(compiler, [], ["examples/kernel/kernel_start.S", "examples/kernel/kernel_console.c", "examples/kernel/kernel_memory.c",
                                     "examples/common/common_memory.c"], "kernel-")
    bytes_of = []
    for counts, more in ((0, []), (1, objects)):
        own = compiled(compiler, [*options, f"-DCOUNTS={counts}"], ["tests/build/kernel_program.c", *(
            ["tests/build/minimum_program.c", "port/x86_native/x86_native.c"] if counts else [])], "kernel-")
        subprocess.run(["ld", "-m", "elf_x86_64", "-n", "--gc-sections", "--no-warn-rwx-segments", "-T", "examples/kernel/kernel.ld", "-o",
                        f"{WORK}/kernel", *own, *shared, *more], check=True)
        bytes_of.append(sum(sections(f"{WORK}/kernel", name) for name in (".text", ".rodata", ".data")))
    return bytes_of[1] - bytes_of[0]


def memory(compiler, options):
    """Bytes of one structure each: of machine, CPU and session, and where a build has threads of a thread."""
    structs = struct_sizes(compiler, 64, options)
    return sum(structs["upmu_" + name] for name in ("machine", "cpu", "session", "thread")
               if name != "thread" or "-DUPMU_THREADS=0" not in options)


def units_size(compiler):
    """{source: text that is there for units outside the cores}, of the core's files that name their option"""
    sizes = {}
    for source in sorted(glob.glob("core/*/*.c")):
        if "UPMU_UNCORE" not in open(source).read():
            continue
        target = f"{WORK}/units.o"
        subprocess.run([compiler, *FLAGS, "-m64", "-Os", "-DUPMU_UNCORE=0", "-c", "-o", target, source], check=True)
        sizes[source] = sections(f"build/os/{source[:-2]}.o", ".text") - sections(target, ".text")
    return sizes


def folder_size(compiler, folder, name="*"):
    """Text of the sources of a folder that is no part of the library, or of one of them."""
    total = 0
    for source in sorted(glob.glob(f"{folder}/{name}.c")):
        target = f"{WORK}/folder.o"
        subprocess.run([compiler, *FLAGS, "-m64", "-Os", "-c", "-o", target, source], check=True)
        total += sections(target, ".text")
    return total


def perf_sizes(compiler):
    """[(source, text, rodata)] of abi/perf, which is no part of the library."""
    rows = []
    for source in sorted(glob.glob("abi/perf/*.c")):
        target = f"{WORK}/perf.o"
        subprocess.run([compiler, *FLAGS, "-m64", "-Os", "-c", "-o", target, source], check=True)
        rows.append((source, sections(target, ".text"), sections(target, ".rodata")))
    return rows


def perf_memory(compiler):
    """{kind: bytes} of an event of abi/perf: the host's structure, and what the event adds to the session of its group."""
    lines = "".join(f"extern char size_{kind}[]; char size_{kind}[sizeof(struct upmu_perf_event) + {session}];\n"
                    for kind, (session, _) in PERF_MEMORY.items())
    target = f"{WORK}/perf-memory.o"
    subprocess.run([compiler, "-m64", *FLAGS, "-x", "c", "-c", "-o", target, "-"], check=True, input=(HEADERS + lines).encode())
    return {kind: int(size, 16) for size, kind in re.findall(r"^\S+ (\S+) \S size_(\w+)$", output(["nm", "-S", target]), re.M)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cc", default="gcc")
    parser.add_argument("--limits", action="store_true")
    arguments = parser.parse_args()
    os.makedirs(WORK, exist_ok=True)
    broken = []

    def line(name, value, unit="bytes", limit=None, aim=None):
        print(f"{name}\t{value}\t{unit}")
        if aim is not None:
            print(f"aim.{name}\t{aim}\t{unit}")
        if limit is not None and arguments.limits:
            print(f"limit.{name}\t{limit}\t{unit}")
        if limit is not None and value > limit:
            broken.append(f"{name} is {value} {unit}, limit {limit}")

    rows = object_sizes()
    for group, source, text, rodata in rows:
        if text:
            line(f"text.{source}", text)
    for group in sorted({row[0] for row in rows}):
        line(f"text.{group}", sum(row[2] for row in rows if row[0] == group))
    units = units_size(arguments.cc)
    branches = {source for _, source, _, _ in rows if re.search(r"(?<!record_)branch(es|_entry|_stack|_samples)\.c$", source)}
    precise = {source for _, source, _, _ in rows if re.search(r"(precise|record_(memory|branches)|records_handle|batch)\.c$", source)}
    line("text.core+x86_core", sum(row[2] for row in rows if row[0] in ("core", "backends/x86_common", "backends/x86_core")
                                   and row[1] not in branches | precise) - sum(units.values()), limit=CORE_LIMIT, aim=CORE_AIM)
    line("text.branches", sum(row[2] for row in rows if row[1] in branches), limit=BRANCHES_LIMIT)
    line("text.precise", sum(row[2] for row in rows if row[1] in precise), limit=PRECISE_LIMIT)
    line("text.engine", sum(row[2] - units.get(row[1], 0) for row in rows if row[1].startswith("core/engine/")),
         limit=ENGINE_LIMIT, aim=ENGINE_AIM)
    line("text.units", sum(units.values()) + sum(row[2] for row in rows if row[0] == "backends/uncore"), limit=UNITS_TEXT_LIMIT,
         aim=UNITS_TEXT_AIM)
    line("text.results", sum(row[2] for row in rows if row[0] == "core/results" and row[1] not in precise), limit=RESULTS_LIMIT)
    line("text.guest", folder_size(arguments.cc, "abi/guest"), limit=GUEST_LIMIT)
    line("text.guest_x86", folder_size(arguments.cc, "abi/guest/x86"), limit=GUEST_X86_LIMIT, aim=GUEST_X86_AIM)
    line("text.guest_arm", folder_size(arguments.cc, "abi/guest/arm"), limit=GUEST_ARM_LIMIT, aim=GUEST_ARM_AIM)
    line("text.page_door", folder_size(arguments.cc, "abi/paravirt"), limit=PAGE_DOOR_LIMIT, aim=PAGE_DOOR_AIM)
    line("text.sbi", folder_size(arguments.cc, "abi/sbi", "sbi_pmu"), limit=SBI_LIMIT, aim=SBI_AIM)
    line("text.sbi_guest", folder_size(arguments.cc, "abi/sbi", "sbi_guest"), limit=SBI_GUEST_LIMIT, aim=SBI_GUEST_AIM)
    perf = perf_sizes(arguments.cc)
    for source, text, _ in perf:
        line(f"text.{source}", text)
    files = sum(text for source, text, _ in perf if re.search("files|folder", source))
    line("text.perf", sum(text for _, text, _ in perf) - files, limit=PERF_LIMIT, aim=PERF_AIM)
    line("text.perf_files", files, limit=PERF_FILES_LIMIT, aim=PERF_FILES_AIM)
    line("rodata.perf", sum(rodata for _, _, rodata in perf), limit=PERF_TABLES_LIMIT)
    for kind, size in perf_memory(arguments.cc).items():
        line("ram.perf_" + kind, size, limit=PERF_MEMORY[kind][1])
    line("text.paravirt", sum(row[2] for row in rows if row[0] == "backends/paravirt"), limit=PARAVIRT_LIMIT,
         aim=PARAVIRT_AIM)
    for group, source, text, rodata in rows:
        if rodata:
            line(f"rodata.{source}", rodata)
    for name, size in re.findall(r"^static const uint8_t catalog_(\w+)\[(\d+)\]", open("events/catalog_models.c").read(), re.M):
        line(f"catalogue.{name}", int(size), limit=CATALOGUE_LIMITS.get(name))
    for size in re.findall(r"upmu_catalog_data\[(\d+)\]", open("events/catalog_data.c").read()):
        line("catalogue.all", int(size), limit=CATALOGUES_LIMIT)
    units = sum(int(size) for size in re.findall(r" units_\d\[(\d+)\]", open("events/catalog_units.c").read()))
    line("catalogue.units", units, limit=UNITS_LIMIT)
    for name, options, limit, aim in (("minimum", MINIMUM_OPTIONS, MINIMUM_LIMIT, None),
                                       ("threads", THREADS_OPTIONS, THREADS_LIMIT, THREADS_AIM)):
        objects = library(arguments.cc, options)
        text, rodata = linked(arguments.cc, options, objects)
        line("kernel." + name, growth(arguments.cc, options, objects))
        line("text." + name, text, limit=limit, aim=aim)
        line("rodata." + name, rodata)
        line("ram." + name, memory(arguments.cc, options))
    for name, options in PROFILES.items():
        objects = library(arguments.cc, options)
        for kind, value, limit, aim in zip(("text", "rodata"), linked(arguments.cc, options, objects), PROFILE_LIMITS[name],
                                           PROFILE_AIMS.get(name, (None, None))):
            line(f"{kind}.profile_{name}", value, limit=limit, aim=aim)
        line(f"kernel.profile_{name}", growth(arguments.cc, options, objects))
        line(f"ram.profile_{name}", memory(arguments.cc, options))
    for width in (64, 32):
        for name, size in struct_sizes(arguments.cc, width).items():
            line(f"struct.{name}.{width}", size, limit=STRUCTS[name])
    for complaint in broken:
        print("OVER: " + complaint, file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
