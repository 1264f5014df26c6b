#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The package for EDK II (make edk2): its list of sources is upmu.mk's, and they compile with EDK II's flags for GCC."""
import os
import re
import shutil
import sys

from checklib import ROOT, SOAK, check, files, library_sources, main, parallel, read, run

ROOM = "build/tests/edk2"
PACKAGE = f"{ROOM}/UpmuPkg"
# Of BaseTools/Conf/tools_def.template of EDK II, July 2024: GCC_ALL_CC_COMMON and GCCNOLTO_..._CC_FLAGS, with -flto.
COMMON = ("-Os -fshort-wchar -fno-builtin -fno-strict-aliasing -Wall -Werror -Wno-array-bounds -fno-common -fstack-protector "
          "-ffunction-sections -fdata-sections -mstack-protector-guard=global -fno-asynchronous-unwind-tables -Wno-address "
          "-fno-omit-frame-pointer -flto").split()
FLAGS = {"X64": [*COMMON, "-m64", "-DEFIAPI=__attribute__((ms_abi))", "-maccumulate-outgoing-args", "-mno-red-zone",
                 "-mcmodel=small", "-fpie"],
         "IA32": [*COMMON, "-m32", "-march=i586", "-malign-double", "-DEFI32", "-fno-pic", "-fno-pie"]}
# Names that EDK II's AutoGen.h and Base.h put before every source.
AUTOGEN = """
#define IN
#define OUT
#define OPTIONAL
#define CONST const
#define VOID void
#define STATIC static
#define TRUE ((unsigned char)(1 == 1))
#define FALSE ((unsigned char)(0 == 1))
#define NULL ((void *)0)
#define BIT0 0x00000001
#define MIN(a, b) (((a) < (b)) ? (a) : (b))
#define MAX(a, b) (((a) > (b)) ? (a) : (b))
#define OFFSET_OF(type, field) ((unsigned long)__builtin_offsetof(type, field))
typedef unsigned long long UINT64;
typedef unsigned UINT32;
typedef unsigned char BOOLEAN;
typedef unsigned long UINTN;
"""


def package():
    """Makes it; the text of its INF."""
    shutil.rmtree(ROOM, ignore_errors=True)
    os.makedirs(ROOM)
    code, output = run([sys.executable, "tools/edk2.py", ROOM, "-DUPMU_PACK=0"])
    assert code == 0, output
    return read(f"{PACKAGE}/UpmuLib.inf")


def listed(inf, heading):
    """Sources of a section, as paths in the package."""
    section = re.search(rf"^\[{re.escape(heading)}\]\n((?:  .*\n)*)", inf, re.M)
    return [line.strip() for line in section.group(1).splitlines()] if section else []


@check
def the_list_of_sources_is_that_of_upmu_mk():
    """Finds a source that is not in the INF, or is there and not in the package."""
    inf = package()
    sources = listed(inf, "Sources")
    complaints = [f"only one of UpmuLib.inf and upmu.mk has {path}" for path in
                  sorted({f"upmu/{path}" for path in library_sources()} ^ {path for path in sources if "/examples/" not in path})]
    for architecture, port in ("X64", "efi"), ("IA32", "efi"), ("AARCH64", "efi_arm64"):
        ports = listed(inf, f"Sources.{architecture}")
        complaints += [f"{architecture} lacks {path}" for path in files(f"port/{port}/*.c") if f"upmu/{path}" not in ports]
        complaints += [f"the package lacks {path}" for path in sources + ports if not os.path.exists(f"{PACKAGE}/{path}")]
    if "-DUPMU_PACK=0" not in inf:
        complaints.append("an option did not arrive")
    return complaints


@check
def sources_compile_with_the_flags_of_edk_ii():
    inf = package()
    options = re.search(r"CC_FLAGS = (.*)", inf).group(1).split()
    with open(f"{ROOM}/AutoGen.h", "w", encoding="ascii") as file:
        file.write(AUTOGEN)
    if not SOAK:
        print("the sources are read as one; each is compiled in make soak (FUZZ_RUNS=soak)")

    def compile_one(job):
        architecture, source, mode = job
        code, output = run(["gcc", *FLAGS[architecture], *options, "-include", f"{ROOM}/AutoGen.h", f"-I{PACKAGE}/upmu",
                            f"-I{PACKAGE}/upmu/include", *mode, source])
        return [f"{architecture} {source}: {output[:1500]}"] if code else []

    jobs = []
    for architecture in FLAGS:
        paths = [f"{PACKAGE}/{path}" for path in listed(inf, "Sources") + listed(inf, f"Sources.{architecture}")]
        if SOAK:
            jobs += [(architecture, path, ["-c", "-o", "/dev/null"]) for path in paths]
            continue
        with open(f"{ROOM}/{architecture}.c", "w", encoding="ascii") as file:
            file.writelines(f'#include "{ROOT}/{path}"\n' for path in paths)
        jobs.append((architecture, f"{ROOM}/{architecture}.c", ["-fsyntax-only"]))
    return parallel(compile_one, jobs)


if __name__ == "__main__":
    main()
