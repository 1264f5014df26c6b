#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The counts for each process of a kernel (examples/processes/): in a kernel of our own that stands for others, under QEMU.

In the long run with the object that examples/processes/object.sh makes, for 32 bits and for the upper half of 64; otherwise with
the libraries that are there.
"""
import os
import re
import shutil
import subprocess

from checklib import FREESTANDING, SOAK, WARNINGS, check, main, needs, read, run

ROOM = "build/tests/processes with a blank"
HIGH = 0xffffffff80000000
OURS = ["examples/processes/counts.c", "examples/processes/counts_text.c", "port/x86_native/x86_native.c"]


def booted(name, flags, base, emulation, rest):
    """Complaints about the stand-in that is linked with these objects and archives."""
    objects = []
    for source in ["tests/processes/stand_in_start.S", "tests/processes/stand_in.c"] + ([] if rest else OURS):
        objects.append(os.path.join(ROOM, name + "_" + os.path.basename(source)[:-2] + ".o"))
        words = [*WARNINGS, *FREESTANDING] if source.endswith(".c") else ["-fno-pie", "-fno-pic"]
        code, output = run(["gcc", *flags, f"-DBASE={base:#x}", "-O2", *words, "-c", "-o", objects[-1], source])
        if code:
            return [f"{name}: {output}"]
    kernel = os.path.join(ROOM, name + ".elf")
    rest = rest or ["--start-group", "build/gcc-64/libsim.a", "build/gcc-64/libupmu.a", "--end-group"]
    code, output = run(["ld", "-m", emulation, "--defsym", f"BASE={base:#x}", "-z", "noexecstack", "--no-warn-rwx-segments",
                        "-T", "tests/processes/stand_in.ld", "-o", kernel, *objects, *rest])
    if code:
        return [f"{name}: {output[-1500:]}"]
    try:
        code, output = run(["qemu-system-x86_64", "-accel", "tcg", "-cpu", "qemu64", "-nodefaults", "-m", "32", "-display", "none",
                            "-no-reboot", "-device", "isa-debug-exit,iobase=0x501,iosize=4", "-serial", "stdio", "-monitor", "none",
                            "-kernel", kernel], timeout=120, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return [f"{name}: no end"]
    # 10 turns of the first and the third, 5 of the second, which has ended: 1,000 instructions and 2,500 cycles times its number.
    wanted = [(2, 10000, 25000, "shell"), (1, 10000, 25000, "init"), (3, 30000, 75000, "compiler")]
    found = [(int(n), int(i), int(c), name) for n, i, c, name in re.findall(r"^ +(\d+) +(\d+) +(\d+)  (\w+)\r?$", output, re.M)]
    return [] if code == 33 and found == wanted else [f"{name}: exit {code}: {output[-1500:]}"]


@check
def a_kernel_counts_each_of_its_processes():
    needs("qemu-system-x86_64")
    shutil.rmtree(ROOM, ignore_errors=True)
    os.makedirs(ROOM)
    print("a kernel of our own stands for others; none of others is built here")
    complaints = [] if SOAK else booted("64", ["-m64", "-mno-red-zone"], 0, "elf_x86_64", None)
    for name, flags, base, emulation in [("32", ["-m32"], 0, "elf_i386"),
                                         ("high", ["-m64", "-mcmodel=kernel", "-mno-red-zone"], HIGH, "elf_x86_64")] if SOAK else []:
        for compiler in "gcc", "clang":
            made = os.path.join(ROOM, f"upmu {name} {compiler}.o")
            code, output = run(["examples/processes/object.sh", made, *flags], env=dict(os.environ, CC=compiler))
            complaints += [f"{made}: {output[-1500:]}"] if code else booted(f"{name}-{compiler}", flags, base, emulation, [made])
    return complaints


@check
def the_port_is_short_and_its_page_names_its_calls():
    lines, page = len(read("examples/processes/counts.c").split("\n")), read("examples/processes/README.md")
    calls = re.findall(r"\b(counts_\w+)\(", re.sub(r"/\*[\s\S]*?\*/", "", read("examples/processes/counts.h")))
    return ([f"counts.c has {lines} lines"] if lines > 153 else []) + [f"README.md lacks {name}()" for name in calls if f"{name}(" not in page]


if __name__ == "__main__":
    main()
