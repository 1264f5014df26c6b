#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write UpmuPkg, the library as a package of EDK II: its INF has no patterns, so that the list of sources is generated.

Usage: edk2.py FOLDER [OPTION...]   FOLDER/UpmuPkg, with the sources in it; options of include/upmu/config.h as -DNAME=VALUE.
                                    Without -DUPMU_EVENTS_ALL=1 events of single models have no names.

UpmuLib.inf is the library with its ports for UEFI, Application/UpmuStat an application, UpmuPkg.dsc builds both (docs/EDK2.md).
"""
import os
import shutil
import sys

from sources import ROOT, sources, version

# The ports of each architecture of EDK II.  Sources of other architectures' backends compile to nothing.
PORTS = {"IA32": ["port/efi"], "X64": ["port/efi"], "AARCH64": ["port/efi_arm64", "port/arm64_native"]}
# memmove() and memcmp(), which EDK II's CompilerIntrinsicsLib does not have for GCC.
MEMORY = "examples/common/common_memory.c"
APPLICATION = "examples/edk2/edk2_stat.c"
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
STAT = """## @file
#  UpmuStat, an application that counts.  Written by tools/edk2.py of upmu.
#
#  SPDX-License-Identifier: MIT
##
[Defines]
  INF_VERSION    = 0x00010005
  BASE_NAME      = UpmuStat
  FILE_GUID      = 5d0f4c9b-52a1-4f0e-9a3f-6a1fd1c6b7e4
  MODULE_TYPE    = UEFI_APPLICATION
  VERSION_STRING = {version}
  ENTRY_POINT    = UefiMain

[Sources]
  UpmuStat.c

[Packages]
  MdePkg/MdePkg.dec
  UpmuPkg/UpmuPkg.dec

[LibraryClasses]
  UefiApplicationEntryPoint
  UefiBootServicesTableLib
  UefiLib
  UpmuLib

[BuildOptions]
  GCC:*_*_*_CC_FLAGS = -std=gnu11{options}
"""
DSC = """## @file
#  Builds UpmuLib and UpmuStat alone.  Written by tools/edk2.py of upmu.
#
#  SPDX-License-Identifier: MIT
##
[Defines]
  DSC_SPECIFICATION       = 0x00010005
  PLATFORM_NAME           = UpmuPkg
  PLATFORM_GUID           = c2ab5c8d-9d0b-4f52-8c31-0c7f5d3f7a10
  PLATFORM_VERSION        = {version}
  OUTPUT_DIRECTORY        = Build/UpmuPkg
  SUPPORTED_ARCHITECTURES = IA32|X64|AARCH64
  BUILD_TARGETS           = DEBUG|RELEASE|NOOPT
  SKUID_IDENTIFIER        = DEFAULT

!include MdePkg/MdeLibs.dsc.inc

[LibraryClasses]
  BaseLib|MdePkg/Library/BaseLib/BaseLib.inf
  BaseMemoryLib|MdePkg/Library/BaseMemoryLib/BaseMemoryLib.inf
  DebugLib|MdePkg/Library/BaseDebugLibNull/BaseDebugLibNull.inf
  DevicePathLib|MdePkg/Library/UefiDevicePathLib/UefiDevicePathLib.inf
  MemoryAllocationLib|MdePkg/Library/UefiMemoryAllocationLib/UefiMemoryAllocationLib.inf
  PcdLib|MdePkg/Library/BasePcdLibNull/BasePcdLibNull.inf
  PrintLib|MdePkg/Library/BasePrintLib/BasePrintLib.inf
  UefiApplicationEntryPoint|MdePkg/Library/UefiApplicationEntryPoint/UefiApplicationEntryPoint.inf
  UefiBootServicesTableLib|MdePkg/Library/UefiBootServicesTableLib/UefiBootServicesTableLib.inf
  UefiLib|MdePkg/Library/UefiLib/UefiLib.inf
  UefiRuntimeServicesTableLib|MdePkg/Library/UefiRuntimeServicesTableLib/UefiRuntimeServicesTableLib.inf
  UpmuLib|UpmuPkg/UpmuLib.inf

[LibraryClasses.IA32, LibraryClasses.X64]
  NULL|MdePkg/Library/CompilerIntrinsicsLib/CompilerIntrinsicsLib.inf

[Components]
  UpmuPkg/UpmuLib.inf
  UpmuPkg/Application/UpmuStat/UpmuStat.inf
"""


def lines(paths):
    return "".join(f"  upmu/{path}\n" for path in paths)


def beside(options):
    """Options as the end of a line; no catalogue of a model is in unless it is asked for."""
    asked = any(option.startswith("-DUPMU_EVENTS_ALL=") for option in options)
    return "".join(f" {option}" for option in (*([] if asked else ["-DUPMU_EVENTS_ALL=0"]), *options))


def inf(options=()):
    """The text of UpmuLib.inf."""
    text = INF.format(version=version(), options=beside(options),
                      sources=lines([*sources(), MEMORY]))
    for architecture, folders in PORTS.items():
        ports = [path for folder in folders for path in sources(folder.removeprefix("port/"))]
        text += f"\n[Sources.{architecture}]\n" + lines(ports)
    return text


def written(options=()):
    """{path in the package: its text} of what is not copied."""
    # A package and a platform have versions of two numbers.
    short = version().rpartition(".")[0]
    return {"UpmuPkg.dec": DEC.format(version=short), "UpmuLib.inf": inf(options), "UpmuPkg.dsc": DSC.format(version=short),
            "Application/UpmuStat/UpmuStat.inf": STAT.format(version=version(), options=beside(options))}


def main(folder, *options):
    package = os.path.join(folder, "UpmuPkg")
    shutil.rmtree(package, ignore_errors=True)
    for path in COPIED:
        shutil.copytree(os.path.join(ROOT, path), os.path.join(package, "upmu", path), ignore=shutil.ignore_patterns("*.tsv"))
    for path in (MEMORY, "LICENSE"):
        os.makedirs(os.path.dirname(os.path.join(package, "upmu", path)), exist_ok=True)
        shutil.copy(os.path.join(ROOT, path), os.path.join(package, "upmu", path))
    for name, text in written(options).items():
        os.makedirs(os.path.dirname(os.path.join(package, name)), exist_ok=True)
        with open(os.path.join(package, name), "w", encoding="ascii") as file:
            file.write(text)
    shutil.copy(os.path.join(ROOT, APPLICATION), os.path.join(package, "Application/UpmuStat/UpmuStat.c"))
    print(f"{package} is a package for EDK II: docs/EDK2.md says how it is built")


if __name__ == "__main__":
    main(*sys.argv[1:])
