#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What make install puts where: programs built against it by pkg-config, CMake and Meson, manual pages, versions; make deps
without apt.

In the long run the objects are those that make install makes; otherwise those that are there, which need -no-pie.
"""
import glob
import os
import re
import shlex
import shutil

from checklib import SOAK, check, main, needs, read, run

ROOM = "build/tests/install with a blank"
PREFIX = "/opt/a blank"
TREE = os.path.abspath(ROOM) + PREFIX
BUILD = [] if SOAK else ["INSTALL_BUILD=gcc-64"]
LINK = [] if SOAK else ["-no-pie"]
# The empty project of a stranger.  The package is below a symbolic link, as /lib is one to usr/lib.  A newer version, and a
# library for other pointers, are not found.
CMAKE = """
cmake_minimum_required(VERSION 3.13)
project(stranger C)
find_package(upmu 99 QUIET)
set(bytes ${CMAKE_SIZEOF_VOID_P})
set(CMAKE_SIZEOF_VOID_P 3)
find_package(upmu QUIET)
set(CMAKE_SIZEOF_VOID_P ${bytes})
if(TARGET upmu::upmu)
  message(FATAL_ERROR "${upmu_CONSIDERED_VERSIONS} is found")
endif()
find_package(upmu SERIES REQUIRED)
find_package(upmu THIS EXACT REQUIRED)
find_package(upmu REQUIRED)
add_executable(count ../count.c)
target_link_libraries(count PRIVATE upmu::sim)
"""
MESON = """
project('stranger', 'c')
executable('count', '../count.c', dependencies: dependency('upmu-sim', version: '=THIS'))
"""
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}


def make(*words, **more):
    return run(["make", "--no-print-directory", *words], env=dict(ENVIRONMENT, **more))


def installed():
    """Everything in the tree; installed once."""
    if not os.path.isdir(TREE):
        shutil.rmtree(ROOM, ignore_errors=True)
        code, output = make("install", f"DESTDIR={os.path.abspath(ROOM)}", f"PREFIX={PREFIX}", *BUILD)
        assert code == 0, output[-3000:]
        # Away from the sources: all that programs include is what was installed.
        shutil.copy("examples/count.c", ROOM)
        os.symlink(f"{TREE}/lib", f"{ROOM}/lib")
    return sorted(os.path.relpath(os.path.join(folder, name), TREE) for folder, _, names in os.walk(TREE) for name in names)


def package(*words, where="--define-prefix"):
    """What pkg-config says of the tree: where it stands, below DESTDIR, or where it was made for."""
    code, output = run(["pkg-config", where, *words],
                       env=dict(ENVIRONMENT, PKG_CONFIG_LIBDIR=os.path.join(TREE, "lib/pkgconfig")))
    assert code == 0, output
    return shlex.split(output)


def version():
    """By the headers' own arithmetic."""
    text = '#include <upmu/config.h>\nversion UPMU_VERSION UPMU_VERSION_MAJOR.UPMU_VERSION_MINOR.UPMU_VERSION_PATCH\n'
    output = run(["gcc", "-E", "-P", "-Iinclude", "-"], input=text.encode())[1]
    number, words = re.search(r"version (\(.*\)) ([\d .]+)", output).groups()
    number, words = eval(re.sub(r"(?<=[\da-f])u", "", number)), words.replace(" ", "")  # (sums and products)
    assert number == sum(int(word) << shift for word, shift in zip(words.split("."), (16, 8, 0))), (number, words)
    return words


def stranger(tool, text, *command, **more):
    """Complaints about a project of this text, which the command configures in its folder, and about what it prints."""
    needs(tool, "ninja")
    installed()
    folder = os.path.join(ROOM, tool)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    with open(os.path.join(folder, "CMakeLists.txt" if tool == "cmake" else "meson.build"), "w", encoding="ascii") as file:
        file.write(text.replace("THIS", version()).replace("SERIES", version().rpartition(".")[0]))
    for words in [tool, *command], ["ninja", "-C", "made"], ["made/count"]:
        code, output = run([*words], cwd=folder, env=dict(ENVIRONMENT, **more))
        if code:
            return [output[-1500:]]
    return [] if "   75000 instructions\n" in output else [output]


@check
def programs_build_against_what_was_installed():
    needs("pkg-config")
    shutil.rmtree(ROOM, ignore_errors=True)
    files, complaints = installed(), []
    for wanted in "bin/upmu", "lib/libupmu.a", "lib/libupmu_sim.a", "include/upmu/upmu.h", "include/upmu-sim/models/sim/sim.h", \
            "share/bash-completion/completions/upmu", "share/zsh/site-functions/_upmu", "share/fish/vendor_completions.d/upmu.fish":
        complaints += [] if wanted in files else [f"{wanted} is not there"]
    flags, libraries = package("--cflags", "upmu-sim"), package("--libs", "upmu-sim")
    unmoved = package("--cflags", "--libs", "upmu", where="--dont-define-prefix")
    complaints += [] if unmoved == [f"-I{PREFIX}/include", f"-L{PREFIX}/lib", "-lupmu"] else [f"pkg-config: {unmoved}"]
    for name, compiler in ("gcc", ["gcc", "-std=c11"]), ("clang", ["clang", "-std=c11"]):
        program = os.path.join(ROOM, f"count-{name}")
        code, output = run([*compiler, "-Wall", "-Wextra", "-Werror", *LINK, *flags, "-o", os.path.basename(program), "count.c",
                            *libraries], cwd=ROOM)
        if code == 0:
            code, output = run([program])
        if code or "   75000 instructions\n" not in output:
            complaints.append(f"{name}: {output[-1500:]}")
    for header in sorted(glob.glob(os.path.join(glob.escape(TREE), "include/upmu*/**/*.h"), recursive=True)):
        code, output = run(["gcc", "-std=c11", "-Werror", "-fsyntax-only", *flags, "-x", "c", header])
        complaints += [f"{header}: {output[-500:]}"] if code else []
    code, output = run([os.path.join(TREE, "bin/upmu"), "encode", "--pmu", "skl", "instructions"])
    return complaints + ([] if code == 0 and output == "IA32_PERFEVTSEL0 0x186 0x4300c0\n" else [output])


@check
def cmake_finds_what_was_installed():
    return stranger("cmake", CMAKE, "-G", "Ninja", "-S", ".", "-B", "made", f"-DCMAKE_PREFIX_PATH={os.path.abspath(ROOM)}",
                    f"-DCMAKE_EXE_LINKER_FLAGS={' '.join(LINK)}")


@check
def meson_finds_what_was_installed():
    needs("pkg-config")
    return stranger("meson", MESON, "setup", "made", f"-Dc_link_args={','.join(LINK)}",
                    PKG_CONFIG="pkg-config --define-prefix", PKG_CONFIG_LIBDIR=os.path.join(TREE, "lib/pkgconfig"))


@check
def options_of_what_was_installed_reach_its_users():
    """Finds a program whose structures are not the library's.  The files of objects are taken for made with these options."""
    needs("pkg-config", "cmake")
    installed()
    room, wanted = os.path.abspath(ROOM) + "/options", ["UPMU_EVENTS_ALL=0", "UPMU_EVENTS_skl=1", "UPMU_THREADS=0", "UPMU_PACK=0"]
    made = [f"-o{path}" for path in ("build/upmu", "build/installed/upmu", "build/man/upmu.1", *(
        f"build/{build}/lib{name}.a" for build in ("gcc-64", "installed") for name in ("upmu", "sim")))]
    code, output = make("install", f"DESTDIR={room}", "PREFIX=/usr", "UPMU_EVENTS=skl", "UPMU_OPTIONS=UPMU_THREADS=0 UPMU_PACK=0", *BUILD, *made)
    if code:
        return [output[-1500:]]
    code, output = run(["pkg-config", "--cflags", "upmu-sim"], env=dict(ENVIRONMENT, PKG_CONFIG_LIBDIR=f"{room}/usr/lib/pkgconfig"))
    complaints = [] if {f"-D{option}" for option in wanted} <= set(output.split()) else [f"pkg-config: {output}"]
    with open(f"{room}/CMakeLists.txt", "w", encoding="ascii") as file:
        file.write("cmake_minimum_required(VERSION 3.13)\nproject(stranger NONE)\nfind_package(upmu REQUIRED)\n"
                   "get_target_property(options upmu::upmu INTERFACE_COMPILE_DEFINITIONS)\nmessage(STATUS \"options: ${options}.\")\n")
    code, output = run(["cmake", "-G", "Unix Makefiles", f"-DCMAKE_PREFIX_PATH={room}/usr", "-S", room, "-B", f"{room}/made"])
    return complaints + ([] if code == 0 and f"options: {';'.join(wanted)}." in output else [output])


@check
def one_version_is_said_everywhere():
    installed()
    said = {"upmu --version": run([os.path.join(TREE, "bin/upmu"), "--version"])[1].strip().replace("upmu ", "")}
    said["tools/sources.py"] = run(["python3", "tools/sources.py", "--version"])[1].strip()
    said["make version"] = make("version")[1].strip()
    said["upmu-config-version.cmake"] = re.search(r"^set\(PACKAGE_VERSION (.*)\)", read(f"{TREE}/lib/cmake/upmu/upmu-config-version.cmake"), re.M)[1]
    if shutil.which("pkg-config"):
        said.update((f"{name}.pc", package("--modversion", name)[0]) for name in ("upmu", "upmu-sim"))
    for page in glob.glob(os.path.join(glob.escape(TREE), "share/man/man1/*")):
        said[page] = re.search(r'^\.TH .*"upmu (\S+)"', read(page), re.M)[1]
    return [f"{place}: {text}, and the headers say {version()}" for place, text in said.items() if text != version()]


@check
def manual_pages_say_what_the_tool_says():
    needs("groff")
    installed()
    tool, complaints = os.path.join(TREE, "bin/upmu"), []
    help_text = run([tool, "help"])[1]
    commands = re.findall(r"^  (\w+) ", help_text[help_text.index("Commands"):help_text.index("Workloads")], re.M)
    pages = {"upmu": help_text, **{f"upmu-{name}": run([tool, name, "--help"])[1] for name in commands}}
    there = {os.path.basename(path)[:-2] for path in glob.glob(os.path.join(glob.escape(TREE), "share/man/man1/*.1"))}
    if there != set(pages) or len(commands) < 10:
        complaints.append(f"pages: {sorted(there ^ set(pages))}")
    for name in sorted(there & set(pages)):
        path = os.path.join(TREE, "share/man/man1", name + ".1")
        code, shown = run(["groff", "-ww", "-man", "-Tascii", "-P-c", "-P-b", "-P-u", "-rHY=0", "-rLL=1000n", path])
        warned = run(["groff", "-ww", "-man", "-z", path])[1]
        # The words of the help in their order, but for its own headings and colons.
        plain = [re.sub(r"[\W_]", "", word).lower() for word in re.sub(r"^usage:", "", pages[name], flags=re.M).split()]
        page = iter(re.sub(r"[\W_]", "", word).lower() for word in shown.split())
        missing = next((word for word in plain if word and word not in page), None)
        complaints += [f"{path}: {warned}"] if code or warned else []
        complaints += [f"{path}: lacks '{missing}' of the help"] if missing else []
        if shutil.which("mandoc"):
            code, output = run(["mandoc", "-Tlint", "-Wwarning", path])
            complaints += [output] if code else []
    return complaints


@check
def uninstall_leaves_nothing():
    installed()
    stranger = os.path.join(TREE, "include/upmu/of-another.h")
    with open(stranger, "w"):
        pass
    code, output = make("uninstall", f"DESTDIR={os.path.abspath(ROOM)}", f"PREFIX={PREFIX}", *BUILD)
    complaints = [output] if code else []
    left = installed()
    os.remove(stranger)
    complaints += [] if left == ["include/upmu/of-another.h"] else [f"left: {left}"]
    complaints += ["the folder of the CMake package is left"] if os.path.exists(f"{TREE}/lib/cmake/upmu") else []
    shutil.rmtree(ROOM)
    return complaints


@check
def deps_names_packages_where_apt_is_absent():
    folder = os.path.abspath("build/tests/no apt")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for tool in "bash", "make", "sed", "find", "python3", "id", "gcc", "mkdir", "ls", "uname", "cat", "grep", "echo", "printf":
        if shutil.which(tool):
            os.symlink(shutil.which(tool), os.path.join(folder, tool))
    complaints = []
    for target in "deps", "deps-demo":
        code, output = run([shutil.which("make"), "--no-print-directory", target], env=dict(ENVIRONMENT, PATH=folder))
        for system, installer in ("Debian", "apt-get install"), ("Fedora", "dnf install"), ("Arch", "pacman -S"), ("macOS", "brew install"):
            if code == 0 or not re.search(rf"^{system}: {installer} .*\bqemu", output, re.M):
                complaints.append(f"{target}: {system}: {output[-600:]}")
    return complaints


main()
