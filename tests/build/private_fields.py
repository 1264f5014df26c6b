#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Where sources outside of the library name a private field of its structures.

In include/upmu/private a comment that begins with `private` stands above the private fields of a structure, and
`public again` above what follows them.  marked() copies include/ with each private field declared deprecated, so that a
compiler reports every use by the field's type, whatever the name of the pointer; numbers beside them are constant there, unless
their comment says that they may be changed.  A compiler reports nothing in system
headers: the copy is searched as they are, and the functions at the end of upmu/upmu.h use what they like.

    tests/build/private_fields.py FILE...   the private fields that these sources name
"""
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from checklib import ROOT, files, read, run  # noqa: E402

MARKED = "build/tests/marked"
COMMENT = re.compile(r"/\*.*?\*/", re.S)
STRUCTURE = re.compile(r"^struct \w+ \{\n.*?^\};", re.M | re.S)
SCALAR = re.compile(r"^([ \t]+)(?=(?:volatile )?(?:enum \w+|u?int\d+_t|bool|size_t) [\w, ]+;)", re.M)
FIELD = re.compile(r"^([ \t]+)(?=(?:const |volatile |struct |enum )*\w+[ *]+[^;={}]*;)", re.M)
ZEPHYR = [f"-I{MARKED}", "-Izephyr", "-Itests/zephyr/stand_in", "-Itests/zephyr/stand_in/subsys/profiling/perf/event", "-DCONFIG_X86=1",
          "-DCONFIG_UPMU_SIM=1", '-DCONFIG_UPMU_SIM_CPU="skl"', "-DCONFIG_SMP=1", "-DCONFIG_UPMU_FOLLOW_THREADS=1",
          "-DCONFIG_MP_MAX_NUM_CPUS=2", *(f"-DCONFIG_{name}=8" for name in ("UPMU_THREADS_MAX", "UPMU_TICK_MS", "UPMU_PERF_LOOKUPS_MAX",
                                              "PROFILING_PERF_EVENTS_MAX_EVENTS")),
          *(f"-DCONFIG_{name}=8192" for name in ("ISR_STACK_SIZE", "IDLE_STACK_SIZE"))]
EFI = "/usr/include/efi"
FLAGS = {"zephyr": ZEPHYR, "bindings": ["-DUPMU_RUST_SIM=1"], "tools": ["-D_DEFAULT_SOURCE"],
         "efi-demo": ["-fshort-wchar", "-ffreestanding", f"-isystem{EFI}", f"-isystem{EFI}/x86_64"]}


def mark_structure(text):
    """A structure whose private fields are deprecated and the others constant; how many declarations are private."""
    out, count, private, at = [], 0, False, 0
    for comment in [*COMMENT.finditer(text), None]:
        code = text[at:comment.start() if comment else len(text)]
        if private:
            code, changed = FIELD.subn(r"\1__attribute__((deprecated)) ", code)
            count += changed
        out.append(code)
        if comment:
            word = comment[0][2:].split()[0] if text[:comment.start()].rpartition("\n")[2].isspace() else ""
            private = (private or word.startswith("private")) and word != "public"
            out.append(comment[0])
            at = comment.end()
    text = "".join(out)
    return SCALAR.sub(r"\1const ", text) if count and "may be changed" not in text else text, count


def marked():
    """Make the copy of include/; the number of private declarations in it."""
    shutil.rmtree(MARKED, ignore_errors=True)
    count = 0

    def structure(found):
        nonlocal count
        text, private = mark_structure(found[0])
        count += private
        return text
    for path in files("include/upmu/**/*.h"):
        os.makedirs(os.path.dirname(f"{MARKED}/{path}"), exist_ok=True)
        text = read(path)
        with open(f"{MARKED}/{path}", "w", encoding="utf-8") as file:
            file.write(STRUCTURE.sub(structure, text) if "/private/" in path else text)
    os.makedirs(f"{MARKED}/zephyr")
    with open(f"{MARKED}/zephyr/kernel.h", "w", encoding="ascii") as file:
        file.write('#include "zephyr_kernel.h"\n')
    return count


def uses(path, *flags):
    """The private fields that a source names, the fields that it writes and may only read, and its other errors."""
    code, output = run(["clang", "-std=c11", "-fsyntax-only", "-Wno-everything", "-Wdeprecated-declarations", "-fno-caret-diagnostics",
                        "-isystem", f"{MARKED}/include", "-I.", *FLAGS.get(path.split("/")[0], ()), *flags, path])
    named = re.findall(r"^(\S+): warning: ('\w+') is deprecated", output, re.M)
    written = re.findall(r"^(\S+): error: cannot assign to .*member ('\w+') ", output, re.M)
    others = code and len(re.findall(r"^\S+: (?:fatal )?error:", output, re.M)) != len(written)
    return [f"{where}: {field} is private" for where, field in sorted(set(named))] + \
        [f"{where}: {field} is written" for where, field in written] + ([f"{path}: {output[-800:]}"] if others else [])


if __name__ == "__main__":
    os.chdir(ROOT)
    print(f"{marked()} private declarations")
    for source in sys.argv[1:]:
        print("\n".join(uses(source)))
