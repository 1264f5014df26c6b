#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""CMake and Meson, as a host has them: the sources and flags of upmu.mk, what an option does, a program with the library.

In the long run each with both compilers, and all is built; otherwise one file of the library and one that uses it.
"""
import json
import os
import re
import shlex
import shutil

from checklib import SOAK, Skip, check, main, read, run

ROOM = "build/tests/hosts with blanks"
NEEDED = ["include", "core", "backends", "events", "port/sim", "port/x86_native", "upmu.mk", "CMakeLists.txt", "meson.build", "meson_options.txt",
          "tools/sources.py"]
CMAKE = """
cmake_minimum_required(VERSION 3.13)
project(host C)
set(UPMU_OPTIONS UPMU_PACK=0)
add_subdirectory(subprojects/upmu)
add_executable(count count.c)
target_link_libraries(count PRIVATE upmu_sim)
get_directory_property(version DIRECTORY subprojects/upmu DEFINITION PROJECT_VERSION)
message(STATUS "upmu is ${version}.")
"""
MESON = """
project('host', 'c')
subproject('upmu', default_options: ['options=UPMU_PACK=0'])
executable('count', 'count.c', dependencies: dependency('upmu_sim'))
message('upmu is ' + dependency('upmu').version() + '.')
"""


def host(name, text):
    """The folder of a host with upmu in it."""
    folder = os.path.join(ROOM, name)
    shutil.rmtree(folder, ignore_errors=True)
    for path in NEEDED:
        place = os.path.join(folder, "subprojects/upmu", path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        if os.path.isdir(path):
            shutil.copytree(path, place, ignore=shutil.ignore_patterns("*.tsv"))
        else:
            shutil.copy(path, place)
    shutil.copy("examples/count.c", folder)
    with open(os.path.join(folder, "CMakeLists.txt" if name == "cmake" else "meson.build"), "w") as file:
        file.write(text)
    return folder


def of_make(folder, variable):
    """What make makes of a variable of this upmu.mk."""
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    code, output = run(["make", "-s", "-C", os.path.join(folder, "subprojects/upmu"), "-f", "upmu.mk", "--eval",
                        f"print: ; @echo $({variable})", "print"], env=environment)
    assert code == 0, output
    return output.split()


def commands_of(made):
    with open(os.path.join(made, "compile_commands.json")) as file:
        return json.load(file)


def looks_right(folder, made):
    """Complaints about the commands that a build has for the library's files."""
    place = os.path.realpath(os.path.join(folder, "subprojects/upmu"))
    flags, found, complaints = set(of_make(folder, "UPMU_CFLAGS")), {}, []
    for row in commands_of(made):
        path = os.path.realpath(os.path.join(row["directory"], row["file"]))
        words = shlex.split(row["command"])
        if path.startswith(place + "/") and "/port/" not in path:
            found[os.path.relpath(path, place)] = words
            lacking = flags - set(words)
            if lacking:
                complaints.append(f"{path}: {lacking}")
        if "-DUPMU_PACK=0" not in words and "/port/" not in path:
            complaints.append(f"{path}: the host's option did not arrive")
    listed = {os.path.normpath(path) for path in of_make(folder, "UPMU_SOURCES")}
    if set(found) != listed:
        complaints.append(f"not as upmu.mk lists: {sorted(set(found) ^ listed)[:5]}")
    return complaints[:5]


def built(folder, made):
    """Complaints about what ninja makes."""
    wanted = [] if SOAK else [re.search(r" -o (\S+) ", row["command"])[1] for row in commands_of(made)
                              if re.search(r"core/util/text\.c$|(^|blanks/\w+/|\.\./)count\.c$", row["file"])]
    code, output = run(["ninja", "-C", made, *wanted])
    if code == 0 and SOAK:
        code, output = run([os.path.join(made, "count")])
        code = code or "   75000 instructions\n" not in output
    return [f"{made}: {output[-1500:]}"] if code or (not SOAK and len(wanted) != 2) else []


def configured(folder, made, command, compiler):
    code, output = run(command, env=dict(os.environ, CC=compiler))
    numbers = re.findall(r"^#define UPMU_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", read("include/upmu/config.h"), re.M)
    if code or f"upmu is {'.'.join(numbers)}.\n" not in output:
        return [f"{made}: {output[-1500:]}"]
    return looks_right(folder, made) or built(folder, made)


def needs(*tools):
    for tool in tools:
        if not shutil.which(tool):
            raise Skip(f"{tool} is not installed (make deps)")


@check
def cmake_builds_what_upmu_mk_lists():
    needs("cmake", "ninja")
    folder, complaints = host("cmake", CMAKE), []
    for compiler in ("gcc", "clang") if SOAK else ("gcc",):
        made = os.path.join(folder, compiler)
        complaints += configured(folder, made, ["cmake", "-G", "Ninja", "-DCMAKE_EXPORT_COMPILE_COMMANDS=1", "-S", folder, "-B", made],
                                 compiler)
    return complaints


@check
def meson_builds_what_upmu_mk_lists():
    needs("meson", "ninja")
    folder, complaints = host("meson", MESON), []
    for compiler in ("gcc", "clang") if SOAK else ("clang",):
        made = os.path.join(folder, compiler)
        complaints += configured(folder, made, ["meson", "setup", made, folder], compiler)
    return complaints


main()
