#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The package for EDK II (make edk2), without EDK II: its sources compile with EDK II's flags for GCC, and its application is
linked with them into a PE file, by GNU-EFI's linker script and start-up code."""
import os
import re
import shutil
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "build"))
from checklib import ROOT, SOAK, Skip, check, files, library_sources, main, parallel, read, run  # noqa: E402

sys.path.insert(0, "tools")
import edk2  # noqa: E402

ROOM = "build/tests/edk2"
PACKAGE = f"{ROOM}/UpmuPkg"
OPTION = "-DUPMU_PACK=0"
# Of BaseTools/Conf/tools_def.template of EDK II, July 2024 (the same in August 2026): GCC_ALL_CC_COMMON and GCCNOLTO_..._CC_FLAGS.
COMMON = ("-Os -fshort-wchar -fno-builtin -fno-strict-aliasing -Wall -Werror -Wno-array-bounds -fno-common -fstack-protector "
          "-ffunction-sections -fdata-sections -mstack-protector-guard=global -fno-asynchronous-unwind-tables -Wno-address").split()
X86 = [*COMMON, "-fno-omit-frame-pointer"]
FLAGS = {"X64": ["gcc", *X86, "-m64", "-DEFIAPI=__attribute__((ms_abi))", "-maccumulate-outgoing-args", "-mno-red-zone",
                 "-mcmodel=small", "-fpie"],
         "IA32": ["gcc", *X86, "-m32", "-march=i586", "-malign-double", "-DEFI32", "-fno-pic", "-fno-pie"],
         "AARCH64": ["aarch64-linux-gnu-gcc", *COMMON, "-mlittle-endian", "-fno-short-enums", "-fverbose-asm", "-funsigned-char",
                     "-fno-unwind-tables", "-fno-pic", "-fno-pie", "-ffixed-x18", "-mcmodel=small"]}
# Its tool chain GCC compiles with -flto, too, and links what that makes; files that are only read are read without.
LTO = {"X64": ["-flto"], "IA32": ["-flto"], "AARCH64": []}
# GNU-EFI's: the folder of its headers, its libraries' folder and name, the linker's emulation, the machine of a PE file.
GNU_EFI = {"X64": ("x86_64", "/usr/lib", "x86_64", "elf_x86_64", 0x8664),
           "IA32": ("ia32", "/usr/lib32", "ia32", "elf_i386", 0x14c)}
SECTIONS = [f"--only-section={name}" for name in ".text .sdata .data .rodata .dynamic .dynsym .rel .rela .rel.* .rela.* .reloc".split()]
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
# The application's headers of EDK II, on GNU-EFI's.
HEADERS = {"Uefi.h": "#include <efi.h>\n", "Library/UefiLib.h": "#include <efilib.h>\n",
           "Library/UefiBootServicesTableLib.h": "#include <efilib.h>\n#define gBS BS\n"}


def package():
    """Makes it, with an option; the text of its INF."""
    if not os.path.isdir(PACKAGE):
        shutil.rmtree(ROOM, ignore_errors=True)
        os.makedirs(ROOM)
        code, output = run([sys.executable, "tools/edk2.py", ROOM, OPTION])
        assert code == 0, output
        for name, text in {"AutoGen.h": AUTOGEN, **{f"headers/{name}": text for name, text in HEADERS.items()}}.items():
            os.makedirs(os.path.dirname(f"{ROOM}/{name}"), exist_ok=True)
            with open(f"{ROOM}/{name}", "w", encoding="ascii") as file:
                file.write(text)
    return read(f"{PACKAGE}/UpmuLib.inf")


def listed(inf, heading):
    """Sources of a section, as paths in the package."""
    section = re.search(rf"^\[{re.escape(heading)}\]\n((?:  .*\n)*)", inf, re.M)
    return [line.strip() for line in section.group(1).splitlines()] if section else []


@check
def the_package_has_the_sources_that_it_lists():
    """Finds a source that is not in the INF, or is there and not in the package."""
    shutil.rmtree(ROOM, ignore_errors=True)
    inf = package()
    sources = listed(inf, "Sources")
    complaints = [f"only one of UpmuLib.inf and upmu.mk has {path}" for path in
                  sorted({f"upmu/{path}" for path in library_sources()} ^ {path for path in sources if "/examples/" not in path})]
    for architecture, port in ("X64", "efi"), ("IA32", "efi"), ("AARCH64", "efi_arm64"):
        ports = listed(inf, f"Sources.{architecture}")
        complaints += [f"{architecture} lacks {path}" for path in files(f"port/{port}/*.c") if f"upmu/{path}" not in ports]
        complaints += [f"the package lacks {path}" for path in sources + ports if not os.path.exists(f"{PACKAGE}/{path}")]
    for name, text in edk2.written([OPTION]).items():
        complaints += [] if read(f"{PACKAGE}/{name}") == text else [f"{name} is not what edk2.py writes"]
        complaints += [] if OPTION in text or name.endswith((".dec", ".dsc")) else [f"{name}: an option did not arrive"]
    for name in re.findall(r"\bUpmuPkg/(\S+)", read(f"{PACKAGE}/UpmuPkg.dsc") + read(f"{PACKAGE}/Application/UpmuStat/UpmuStat.inf")):
        complaints += [] if os.path.exists(f"{PACKAGE}/{name}") else [f"the package lacks {name}"]
    return complaints + ([] if os.path.exists(f"{PACKAGE}/Application/UpmuStat/UpmuStat.c") else ["the application has no source"])


@check
def step_3_of_the_page_makes_a_module_of_ones_own():
    """Runs the lines of docs/EDK2.md up to `build`; finds those that no longer fit what edk2.py writes."""
    package()
    lines = re.search(r"^## 3\. .*?```\n(.*?)^build ", read("docs/EDK2.md"), re.M | re.S).group(1)
    shutil.rmtree(f"{ROOM}/OwnPkg", ignore_errors=True)
    code, output = run(["sh", "-e", "-c", f"cd {ROOM}\n{lines}"])
    if code:
        return [output]
    dsc, module = read(f"{ROOM}/OwnPkg/Own.dsc"), read(f"{ROOM}/OwnPkg/Own.inf")
    wanted = {"PLATFORM_NAME           = OwnPkg\n": dsc, "OUTPUT_DIRECTORY        = Build/OwnPkg\n": dsc,
              "[Components]\n  UpmuPkg/UpmuLib.inf\n  OwnPkg/Own.inf\n": dsc, "BASE_NAME      = Own\n": module,
              "[Sources]\n  Own.c\n": module}
    guid = r"FILE_GUID *= ([0-9a-f-]{36})\n"
    same = re.search(guid, module)[1] == re.search(guid, read(f"{PACKAGE}/Application/UpmuStat/UpmuStat.inf"))[1]
    return [f"not written: {text!r}" for text, file in wanted.items() if text not in file] + (["UpmuStat's GUID"] if same else [])


def compile_command(architecture, *more):
    options = re.search(r"CC_FLAGS = (.*)", package()).group(1).split()
    return [*FLAGS[architecture], *options, f"-I{PACKAGE}/upmu", f"-I{PACKAGE}/upmu/include", *more]


def units(architecture):
    """Files that are all sources of an architecture: the library as one, and its ports, whose static names may be the library's."""
    path, inf = f"{ROOM}/{architecture}.c", package()
    with open(path, "w", encoding="ascii") as file:
        file.writelines(f'#include "{ROOT}/{PACKAGE}/{source}"\n' for source in listed(inf, "Sources"))
    return [path] + [f"{PACKAGE}/{source}" for source in listed(inf, f"Sources.{architecture}")]


@check
def sources_compile_with_the_flags_of_edk_ii():
    """X64 and IA32 are compiled by the next check, too: here what is read is read as it stands, without GNU-EFI."""
    missing = [] if shutil.which("aarch64-linux-gnu-gcc") else ["AARCH64"]
    print("".join(f"{name} skipped: aarch64-linux-gnu-gcc is not installed (make deps-edk2)\n" for name in missing) +
          ("" if SOAK else "the library is read as one source; each is compiled in make soak (FUZZ_RUNS=soak)"))

    def compile_one(job):
        architecture, source, mode = job
        code, output = run(compile_command(architecture, "-include", f"{ROOM}/AutoGen.h", *mode, source))
        return [f"{architecture} {source}: {output[:1500]}"] if code else []

    jobs, inf = [], package()
    for architecture in sorted(set(FLAGS) - set(missing)):
        sources = listed(inf, "Sources") + listed(inf, f"Sources.{architecture}")
        jobs += [(architecture, f"{PACKAGE}/{source}", ["-c", "-o", "/dev/null"]) for source in sources] if SOAK else \
            [(architecture, source, ["-fsyntax-only"]) for source in units(architecture)]
    return parallel(compile_one, jobs)


def link(architecture):
    """Complaints about the application of one architecture, which becomes ROOM/ARCHITECTURE.efi."""
    headers, folder, called, emulation, machine = GNU_EFI[architecture]
    made = f"{ROOM}/{architecture}"
    efi = ["-DGNU_EFI_USE_MS_ABI", "-isystem", "/usr/include/efi", "-isystem", f"/usr/include/efi/{headers}"]
    # A shared object, of which objcopy makes the PE file, is position-independent on IA32, too.
    place = ["-fpic", "-fvisibility=hidden"]
    application = f"{PACKAGE}/Application/UpmuStat/UpmuStat.c"
    script = f"{folder}/elf_{called}_efi.lds"
    jobs = [*((source, ["-include", f"{ROOM}/AutoGen.h"]) for source in units(architecture)),
            (application, [f"-I{ROOM}/headers", *efi]), ("tests/edk2/edk2_entry.c", efi)]
    objects = []
    for source, more in jobs:
        objects.append(f"{made}-{os.path.basename(source)[:-2]}.o")
        code, output = run(compile_command(architecture, *LTO[architecture], *place, "-fno-stack-protector", *more, "-c", "-o",
                                           objects[-1], source))
        if code:
            return [f"{architecture} {source}: {output[-1500:]}"]
    for command in (["gcc", "-m32" if architecture == "IA32" else "-m64", "-Os", "-flto", *place, "-nostdlib", "-shared", "-Wl,-znocombreloc,-Bsymbolic,--no-undefined,--no-warn-rwx-segments",
                     f"-Wl,-m{emulation},-T,{script}", f"{folder}/crt0-efi-{called}.o", *objects, f"-L{folder}", "-lefi", "-lgnuefi",
                     "-o", f"{made}.so"],
                    ["objcopy", *SECTIONS, f"--target=efi-app-{called}", f"{made}.so", f"{made}.efi"]):
        code, output = run(command)
        if code:
            return [f"{' '.join(command)}: {output[-1500:]}"]
    with open(f"{made}.efi", "rb") as file:
        image = file.read()
    at = struct.unpack_from("<I", image, 0x3c)[0]
    found = image[:2], image[at:at + 4], *struct.unpack_from("<H", image, at + 4), *struct.unpack_from("<H", image, at + 24 + 68)
    print(f"{architecture}: {len(image)} bytes")
    # The subsystem 10 is an application.
    return [] if found == (b"MZ", b"PE\0\0", machine, 10) else [f"{made}.efi is no application of UEFI: {found}"]


@check
def the_application_is_linked_into_a_pe_file():
    """Finds a function that neither upmu, nor EDK II's libraries that the package names, have."""
    there = [name for name, (_, folder, called, _, _) in GNU_EFI.items() if os.path.exists(f"{folder}/crt0-efi-{called}.o")]
    if not there:
        raise Skip("gnu-efi is not installed (make deps-edk2)")
    package()
    return parallel(link, there)


if __name__ == "__main__":
    main()
