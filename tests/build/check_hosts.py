#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""CMake and Meson, as a host has them by the lines of docs/PORTING.md: the sources and flags of upmu.mk, what an option does, a
program with the library.

In the long run each with both compilers, and all is built file by file; otherwise one file of the library and one that uses it,
and once, where the tree is elsewhere, the whole library as one source with the events of one model.
"""
import glob
import json
import os
import re
import shlex
import shutil

from checklib import SOAK, check, main, needs, read, run

ROOM = "build/tests/hosts with blanks"
NEEDED = ["include", "core", "backends", "events", *glob.glob("port/*_native"), "port/riscv_sbi", "models/sim", "upmu.mk", "CMakeLists.txt", "meson.build", "meson_options.txt",
          "tools/sources.py", "tools/options.tsv"]
# The blocks of the page, one for each tool, cut at their comments: for a tree inside of the host's, for one elsewhere, for both.
BLOCKS = {language: re.split(r"^# .*:\n", re.search(rf"^```{language}\n(.*?)^```", read("docs/PORTING.md"), re.M | re.S)[1],
                             flags=re.M)[1:] for language in ("cmake", "meson")}
CMAKE, FETCH = [part + BLOCKS["cmake"][2] for part in BLOCKS["cmake"][:2]]
MESON = BLOCKS["meson"][0] + BLOCKS["meson"][1]
WRAP = re.sub(r"^#   ", "", BLOCKS["meson"][2], flags=re.M)
OPTIONS = re.search(r"UPMU_OPTIONS (.*)\)", CMAKE)[1].split()
CMAKE = f"""
cmake_minimum_required(VERSION 3.13)
project(host C)
add_executable(count count.c)
{CMAKE.replace("third_party", "subprojects").replace("(kernel", "(count").replace("x86_native", "sim")}
get_directory_property(version DIRECTORY subprojects/upmu DEFINITION PROJECT_VERSION)
message(STATUS "upmu is ${{version}}.")
"""
FETCH = f"""
cmake_minimum_required(VERSION 3.14)
project(host C)
add_executable(program count.c)
{FETCH.replace("/usr/src", "${CMAKE_SOURCE_DIR}/else where").replace("(kernel", "(program").replace("x86_native", "sim")}
"""
MESON = f"""
project('host', 'c')
{MESON.replace("upmu_x86_native", "upmu-sim")}
executable('count', 'count.c', dependencies: upmu)
message('upmu is ' + upmu.version() + '.')
"""
WRAPPED = """
project('host', 'c')
executable('program', 'count.c', dependencies: dependency('upmu-sim'))
"""


def host(name, text, tree="subprojects/upmu"):
    """The folder of a host with upmu's files in `tree`."""
    folder = os.path.join(ROOM, name)
    shutil.rmtree(folder, ignore_errors=True)
    for path in NEEDED:
        place = os.path.join(folder, tree, path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        if os.path.isdir(path):
            shutil.copytree(path, place, ignore=shutil.ignore_patterns("*.tsv"))
        else:
            shutil.copy(path, place)
    shutil.copy("examples/count.c", folder)
    with open(os.path.join(folder, "meson.build" if "project('" in text else "CMakeLists.txt"), "w") as file:
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
        if path.startswith(place + "/") and "/port/" not in path and "/models/" not in path:
            found[os.path.relpath(path, place)] = words
            lacking = flags - set(words)
            if lacking:
                complaints.append(f"{path}: {lacking}")
        if not {f"-D{option}" for option in OPTIONS} <= set(words):
            complaints.append(f"{path}: the host's options did not arrive")
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
        complaints += configured(folder, made, ["meson", "setup", made, folder, "-Dupmu:options=" + ",".join(OPTIONS)], compiler)
    return complaints


MISTYPED = {  # options, and the one of them that there is not
    "UPMU_PACK=0 UPMU_THRAEDS": "UPMU_THRAEDS", "UPMU_EVENTS_ALL=0 UPMU_EVENTS_skylate": "UPMU_EVENTS_skylate", "UPMU_SET": "UPMU_SET",
    "UPMU_SET_EVENTS=4 UPMU_EVENTS_skl=1 UPMU_EVENTS_UNCORE=0": None}


@check
def a_mistyped_option_is_refused():
    """Finds a builder that passes on a name that the library does not know: nothing would be left out, without a word."""
    needs("cmake", "meson", "ninja")
    folders, complaints = {"cmake": host("mistyped-cmake", CMAKE), "meson": host("mistyped-meson", MESON)}, []
    for number, (words, wrong) in enumerate(MISTYPED.items()):
        for tool, command in {
                "cmake": ["cmake", "-G", "Ninja", f"-DUPMU_OPTIONS={words}", "-S", os.path.join(folders["cmake"], "subprojects/upmu")],
                "meson": ["meson", "setup", "-Dupmu:options=" + words.replace(" ", ","), folders["meson"]],
                "make": ["make", "-s", "-C", os.path.join(folders["cmake"], "subprojects/upmu"), "-f", "upmu.mk", "--eval=print: ; @echo", "print",
                         f"UPMU_OPTIONS={words}"]}.items():
            made = os.path.join(ROOM, f"mistyped-{tool}-{number}")
            code, output = run([*command, *(["-B", made] if tool == "cmake" else [made] if tool == "meson" else [])])
            if bool(code) != bool(wrong) or (wrong and f"no option {wrong}" not in output):
                complaints.append(f"{tool}: {words}: exit {code}: {output[-600:]}")
    return complaints


def runs(folder, *command):
    """Complaints about the program of a host, configured by this command, whose library is elsewhere."""
    made = os.path.join(folder, "made")
    for words in command, ["ninja", "-C", made], [os.path.join(made, "program")]:
        code, output = run([*words])
        if code:
            return [output[-1500:]]
    return [] if "   75000 instructions\n" in output else [output]


@check
def cmake_builds_and_runs_a_program_with_a_tree_elsewhere():
    """Finds lines of the page for FetchContent that do not work, and targets that are not those of find_package() (check_install.py)."""
    needs("cmake", "ninja")
    folder = host("fetch", FETCH, "else where/upmu")
    quick = ["-DUPMU_OPTIONS=UPMU_EVENTS_ALL=0 UPMU_EVENTS_skl=1", "-DCMAKE_UNITY_BUILD=1", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=0"]
    complaints = runs(folder, "cmake", "-G", "Ninja", "-S", folder, "-B", os.path.join(folder, "made"), *([] if SOAK else quick))
    code, output = run(["cmake", "-DMSVC=1", "-S", folder, "-B", os.path.join(folder, "msvc")])
    return complaints + ([] if code and "upmu needs gcc or clang" in output else [f"Microsoft's compiler: {output[-500:]}"])


@check
def meson_builds_and_runs_a_program_with_a_cloned_tree():
    """Finds a wrap file on the page that does not work, and another name of the model than pkg-config's (check_install.py)."""
    needs("meson", "ninja", "git")
    folder = host("wrap", WRAPPED, "else where")
    tree, complaints = os.path.abspath(os.path.join(folder, "else where")), []
    for words in ["init", "-q"], ["add", "-A"], ["-c", "user.name=upmu", "-c", "user.email=upmu@example.org", "commit", "-q", "-m", "tree"]:
        code, output = run(["git", "-C", tree, *words])
        complaints += [output] if code else []
    os.mkdir(os.path.join(folder, "subprojects"))
    with open(os.path.join(folder, "subprojects/upmu.wrap"), "w") as file:
        file.write(re.sub(r"^url = .*", f"url = {tree}", WRAP, flags=re.M))
    quick = ["-Dupmu:options=UPMU_EVENTS_ALL=0,UPMU_EVENTS_skl=1", "--unity=on", "-Dunity_size=1000", "--buildtype=plain"]
    return complaints or runs(folder, "meson", "setup", os.path.join(folder, "made"), folder, *([] if SOAK else quick))


# Kernels of other processors: their compiler, its options, their port.
FOREIGN = {"aarch64": ("aarch64-linux-gnu-gcc", ["-ffreestanding"], "arm64_native"),
           "riscv64": ("riscv64-linux-gnu-gcc", ["-ffreestanding", "-march=rv64imac_zicsr", "-mabi=lp64"], "riscv_sbi")}
FOREIGN_CMAKE = """
cmake_minimum_required(VERSION 3.13)
project(host C)
add_subdirectory(subprojects/upmu)
add_library(kernel STATIC kernel.c)
target_link_libraries(kernel PRIVATE upmu::PORT)
"""
FOREIGN_MESON = """
project('host', 'c')
subproject('upmu')
static_library('kernel', 'kernel.c', dependencies: dependency('upmu_PORT'))
"""


def foreign(tool, text, command):
    """Complaints about kernels of other processors; in the long run with the library, otherwise one file of it, and the port."""
    needs(tool, "ninja")
    complaints = []
    for processor, (compiler, options, port) in FOREIGN.items():
        if not shutil.which(compiler):
            print(f"{tool} for {processor} skipped: {compiler} is not installed (make deps-foreign)")
            continue
        folder = host(f"{tool}-{processor}", text.replace("PORT", port))
        made, cross = os.path.join(folder, "made"), os.path.join(folder, "cross")
        with open(os.path.join(folder, "kernel.c"), "w", encoding="ascii") as file:
            file.write(f"#include <upmu/upmu.h>\n#include <port/{port}/{port}.h>\n")
        with open(cross, "w", encoding="ascii") as file:
            file.write(f"[binaries]\nc = {[compiler, *options]}\nar = 'ar'\n[host_machine]\nsystem = 'none'\n"
                       f"cpu_family = '{processor}'\ncpu = '{processor}'\nendian = 'little'\n")
        code, output = run(command(folder, made, cross, processor, compiler, options))
        wanted = [] if code or SOAK else [re.search(r" -o (\S+) ", row["command"])[1] for row in commands_of(made)
                                          if re.search(rf"(core/util/text|kernel|port/{port}/{port})\.c$", row["file"])]
        code, output = (code, output) if code else run(["ninja", "-C", made, *wanted])
        complaints += [f"{processor}: {output[-1500:]}"] if code or (not SOAK and len(wanted) != 3) else []
    return complaints


@check
def cmake_builds_kernels_of_other_processors():
    return foreign("cmake", FOREIGN_CMAKE, lambda folder, made, cross, processor, compiler, options: [
        "cmake", "-G", "Ninja", "-DCMAKE_SYSTEM_NAME=Generic", f"-DCMAKE_SYSTEM_PROCESSOR={processor}", f"-DCMAKE_C_COMPILER={compiler}",
        f"-DCMAKE_C_FLAGS={' '.join(options)}", "-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY", "-DCMAKE_EXPORT_COMPILE_COMMANDS=1",
        "-S", folder, "-B", made])


@check
def meson_builds_kernels_of_other_processors():
    return foreign("meson", FOREIGN_MESON, lambda folder, made, cross, processor, compiler, options: [
        "meson", "setup", "--cross-file", cross, made, folder])


# CMake refuses a cache that it has made in another place: the tree was moved or copied with its build folder.
for cache in glob.glob(f"{ROOM}/**/CMakeCache.txt", recursive=True):
    if f"={os.path.realpath(ROOM)}/" not in read(cache):
        shutil.rmtree(os.path.dirname(cache))
main()
