#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write UpmuPkg, the library as a package of EDK II: its INF has no patterns, so that the list of sources is generated.

Usage: edk2.py FOLDER [OPTION...]   FOLDER/UpmuPkg, with the sources in it; options of include/upmu/config.h as -DNAME=VALUE
"""
import os
import shutil
import sys

from sources import ROOT, sources, version

# The ports of each architecture of EDK II.  Sources of other architectures' backends compile to nothing.
PORTS = {"IA32": ["port/efi"], "X64": ["port/efi"], "AARCH64": ["port/efi_arm64", "port/arm64_native"]}
# memmove() and memcmp(), which EDK II's CompilerIntrinsicsLib does not have for GCC.
MEMORY = "examples/common/common_memory.c"
COPIED = ["include", "core", "backends", "events", "port/efi", "port/x86_native", "port/efi_arm64", "port/arm64_native"]

DEC = """## @file
#  upmu, a library that drives the performance-monitoring unit.  Written by tools/edk2.py of upmu.
#
#  SPDX-License-Identifier: MIT
##
[Defines]
  DEC_SPECIFICATION = 0x00010005
  PACKAGE_NAME      = UpmuPkg
  PACKAGE_GUID      = 88db7206-0a8a-49de-9744-241e4e14e1ea
  PACKAGE_VERSION   = {version}

[Includes]
  upmu
  upmu/include

[LibraryClasses]
  UpmuLib|upmu/include/upmu/upmu.h
"""
INF = """## @file
#  upmu and its ports for UEFI.  Written by tools/edk2.py of upmu.
#
#  SPDX-License-Identifier: MIT
##
[Defines]
  INF_VERSION    = 0x00010005
  BASE_NAME      = UpmuLib
  FILE_GUID      = 7088dc4f-ad46-4bec-8087-2e1a42ea8294
  MODULE_TYPE    = BASE
  VERSION_STRING = {version}
  LIBRARY_CLASS  = UpmuLib

[Packages]
  MdePkg/MdePkg.dec
  UpmuPkg/UpmuPkg.dec

[BuildOptions]
  GCC:*_*_*_CC_FLAGS = -std=c11 -ffreestanding -mgeneral-regs-only{options}

[Sources]
{sources}"""


def lines(paths):
    return "".join(f"  upmu/{path}\n" for path in paths)


def inf(options=()):
    """The text of UpmuLib.inf."""
    text = INF.format(version=version(), options="".join(f" {option}" for option in options),
                      sources=lines([*sources(), MEMORY]))
    for architecture, folders in PORTS.items():
        ports = [path for folder in folders for path in sources(folder.removeprefix("port/"))]
        text += f"\n[Sources.{architecture}]\n" + lines(ports)
    return text


def main(folder, *options):
    package = os.path.join(folder, "UpmuPkg")
    shutil.rmtree(package, ignore_errors=True)
    for path in COPIED:
        shutil.copytree(os.path.join(ROOT, path), os.path.join(package, "upmu", path), ignore=shutil.ignore_patterns("*.tsv"))
    for path in (MEMORY, "LICENSE"):
        os.makedirs(os.path.dirname(os.path.join(package, "upmu", path)), exist_ok=True)
        shutil.copy(os.path.join(ROOT, path), os.path.join(package, "upmu", path))
    # (the version of a package has two numbers)
    for name, text in (("UpmuPkg.dec", DEC.format(version=version().rpartition(".")[0])), ("UpmuLib.inf", inf(options))):
        with open(os.path.join(package, name), "w", encoding="ascii") as file:
            file.write(text)
    print(f"{package} is a package for EDK II: UpmuPkg/UpmuLib.inf is the library")


if __name__ == "__main__":
    main(*sys.argv[1:])
