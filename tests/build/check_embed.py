#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The library as others take it: upmu.mk from elsewhere, a vendored copy, odd paths."""
import glob
import os
import re
import shutil

from checklib import COMPILERS, FREESTANDING, SOAK, WARNINGS, Skip, check, files, library_sources, main, parallel, read, run, tokens

EMBEDDER = """
include third-party/upmu/upmu.mk
OBJECTS := $(if $(ONE),library.o,$(UPMU_SOURCES:%.c=%.o))
library.c:
\t@printf '#include "%s"\\n' $(UPMU_SOURCES) > $@
kernel.o: main.o $(OBJECTS)
\tld -r -o $@ $^
%.o: %.c
\t@gcc -Werror -Wall $(UPMU_CFLAGS) -fno-pie $(UPMU_INCLUDES) -c -o $@ $<
"""
# A kernel with one layer of abi, by that layer's .mk alone: every file of the layer is in the link.
LAYER = """
include third-party/upmu/upmu.mk
include third-party/upmu/abi/$(NAME)/$(NAME).mk
SOURCES := $(UPMU_$(shell echo $(NAME) | tr a-z A-Z)_SOURCES) $(if $(filter paravirt,$(NAME)),$(UPMU_GUEST_SOURCES))
# What a program for the layer compiles, beside the function that it has of the system's.
SOURCES += $(UPMU_PMC_CLIENT)
BUILD := gcc -Werror -Wall -O1 $(UPMU_CFLAGS) -fno-pie -fno-stack-protector $(UPMU_INCLUDES)
$(NAME): main.c library.o $(SOURCES)
\t@$(BUILD) $(if $(UPMU_PMC_CLIENT),-DSYSCALLS=1) -nostdlib -no-pie -Wl,-e,main -o $@ main.c library.o $(SOURCES) third-party/upmu/port/template/mem.c
library.o: $(UPMU_SOURCES)
\t@printf '#include "%s"\\n' $(UPMU_SOURCES) > library.c
\t@$(BUILD) -c -o $@ library.c
"""
LAYERS = ("guest", "paravirt", "perf", "perfmon2", "pmc", "sbi")
PROGRAM = """
#include <upmu/upmu.h>
static struct upmu_machine machine;
int main(void);
int main(void) { static const struct upmu_port port; return upmu_machine_init(&machine, &port) != UPMU_ERR_HOOK_MISSING; }
#if SYSCALLS
#include <abi/pmc/pmc.h>
int pmc_syscall(unsigned call, void *argument, uint32_t bytes) { return call && argument && bytes ? 0 : -1; }
#endif
"""


# The functions of port/template/mem.c under other names, beside those of libc.
MEMORY = """
#include <stdio.h>
#include <string.h>
#define memcpy template_memcpy
#define memmove template_memmove
#define memset template_memset
#define memcmp template_memcmp
#include <port/template/mem.c>
#undef memcpy
#undef memmove
#undef memset
#undef memcmp
static int sign(int value) { return (value > 0) - (value < 0); }
int main(void)
{
    unsigned char ours[64], theirs[64];
    for (size_t to = 0; to < 20; to++)
        for (size_t from = 0; from < 20; from++)
            for (size_t bytes = 0; bytes < 40; bytes++) {
                for (size_t i = 0; i < 64; i++)
                    ours[i] = theirs[i] = (unsigned char)(37 * i);
                void *end = template_memmove(ours + to, ours + from, bytes);
                memmove(theirs + to, theirs + from, bytes);
                if (end != ours + to || memcmp(ours, theirs, 64))
                    return printf("memmove %zu %zu %zu\\n", to, from, bytes), 1;
                end = template_memset(ours + from, 0x180 + (int)to, bytes);
                memset(theirs + from, 0x180 + (int)to, bytes);
                if (end != ours + from || memcmp(ours, theirs, 64))
                    return printf("memset %zu %zu\\n", from, bytes), 1;
                if (sign(template_memcmp(ours + to, theirs + from, bytes)) != sign(memcmp(ours + to, theirs + from, bytes)))
                    return printf("memcmp %zu %zu %zu\\n", to, from, bytes), 1;
                end = template_memcpy(ours + to, theirs, bytes / 2);
                memcpy(theirs + to, theirs, bytes / 2 <= to ? bytes / 2 : 0);
                if (end != ours + to || (bytes / 2 <= to && memcmp(ours, theirs, 64)))
                    return printf("memcpy %zu %zu\\n", to, bytes), 1;
            }
    return 0;
}
"""
# A kernel with a memcmp() of its own.
OWN = """
#include <stddef.h>
int memcmp(const void *a, const void *b, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes) { return a == b && bytes == 3 ? 42 : 1; }
int main(void) { int (*volatile compare)(const void *, const void *, size_t) = memcmp; return compare("x", "y", 4) == 1 && compare(main, main, 3) == 42 ? 0 : 1; }
"""


def fresh(name):
    path = os.path.join("build/tests", name)
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    return path


def finished(folder, complaints):
    """Returns the complaints; without any the folder is removed."""
    if not complaints:
        shutil.rmtree(folder)
    return complaints


def environment():
    """The environment, without the variables of the make that runs this program."""
    return {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}


@check
def vendored_copy_builds_from_another_directory_by_upmu_mk():
    code, output = run(["make", "--no-print-directory", "vendor"], env=environment())
    if code:
        return [output]
    folder = fresh("a kernel")
    shutil.copytree("build/vendor", os.path.join(folder, "third-party/upmu"))
    with open(os.path.join(folder, "Makefile"), "w") as file:
        file.write(EMBEDDER)
    with open(os.path.join(folder, "main.c"), "w") as file:
        file.write(PROGRAM)
    if not SOAK:
        print("the vendored sources are compiled as one; file by file in make soak (FUZZ_RUNS=soak)")
    code, output = run(["make", "-C", folder, f"-j{tokens.JOBS}", *([] if SOAK else ["ONE=1"]), "kernel.o"], env=environment())
    complaints = [output[-3000:]] if code else []
    if "UPMU_CFLAGS" not in read("docs/PORTING.md").split("## 2.")[0]:
        complaints.append("docs/PORTING.md's makefile leaves out UPMU_CFLAGS")
    copied = [path[len(folder) + len("/third-party/upmu/"):]
              for path in files(os.path.join(folder, "third-party/upmu/**/*.c"))] or None
    built = run(["make", "-C", folder, "-s", "--eval", "print: ; @echo $(words $(UPMU_SOURCES))", "print"],
                env=environment())[1].strip()
    if built != str(len(library_sources())):
        complaints.append(f"upmu.mk lists {built} sources, the tree has {len(library_sources())} ({copied})")
    return finished(folder, complaints)


@check
def each_layer_of_a_vendored_copy_links_by_its_own_mk():
    """One layer is vendored at a time, so that a layer which needs another says so."""
    folder, complaints = fresh("layers"), []
    for name, text in ("Makefile", LAYER), ("main.c", PROGRAM):
        with open(os.path.join(folder, name), "w", encoding="ascii") as file:
            file.write(text)
    for name in LAYERS:
        code, output = run(["make", "--no-print-directory", "vendor", "VENDOR_SIM=0", f"VENDOR_ABI={name}"], env=environment())
        shutil.rmtree(os.path.join(folder, "third-party"), ignore_errors=True)
        shutil.copytree("build/vendor", os.path.join(folder, "third-party/upmu"))
        there = sorted(os.listdir("build/vendor/abi")) if not code else [output]
        if there != sorted({name, "guest"} if name == "paravirt" else {name}):
            complaints.append(f"VENDOR_ABI={name}: {there}")
        code, output = run(["make", "-C", folder, "-s", f"NAME={name}", name], env=environment())
        if code or not os.path.exists(os.path.join(folder, name)):
            complaints.append(f"{name}: {output[-2000:]}")
    present = sorted(os.path.basename(os.path.dirname(path)) for path in files("abi/*/*.mk"))
    return finished(folder, complaints + ([] if present == sorted(LAYERS) else [f"layers: {present}"]))


@check
def vendor_takes_the_silicon_model_along_unless_told_not_to():
    complaints = []
    for options, expected in (["VENDOR_SIM=0"], False), ([], True):
        code, output = run(["make", "--no-print-directory", "vendor"] + options, env=environment())
        if code or os.path.exists("build/vendor/models/sim/sim.h") != expected or os.path.exists("build/vendor/abi"):
            complaints.append(f"make vendor {' '.join(options)}: {output}")
    return complaints


@check
def old_name_of_the_choice_of_events_is_told_a_hosts_own_is_not():
    """A host's EVENTS changes nothing; one that names upmu's models alone is told where they are chosen now."""
    folder = fresh("events")
    with open(os.path.join(folder, "Makefile"), "w") as file:
        file.write("include ../../../upmu.mk\nprint: ; @echo $(UPMU_EVENT_OPTIONS)\n")
    complaints = []
    for events, told in ("skl zen2 p4", True), ("keyboard timer", False), ("skl timer", False):
        code, output = run(["make", "-s", "-C", folder, f"EVENTS={events}", "print"], env=environment())
        if code or ("UPMU_EVENTS" in output) != told or "-DUPMU" in output:
            complaints.append(f"EVENTS={events!r}: {output}")
    code, output = run(["make", "-s", "-C", folder, "UPMU_EVENTS=nonesuch", "print"], env=environment())
    if not code or "no events of nonesuch" not in output:
        complaints.append(f"UPMU_EVENTS=nonesuch: {output}")
    return complaints


def take_objects_along(folder):
    """The objects that are made already, but for one of each rule, newer than the files of their flags."""
    made, again = 0, set()
    sources = files("core/*/*.c", "backends/*/*.c", "events/*.c", "models/*/*.c", "port/*/*.c", "tools/**/*.c", "tests/unit/*.c", "tests/common/*.c")
    for build, path in ((build, path) for build in ("gcc-64", "tool") for path in sources):
        rule = (build, *path.split("/")[:2 if path.startswith("port/linux") else 1])
        built = f"build/{build}/{path[:-2]}.o"
        if not os.path.exists(built) or os.path.getmtime(built) < os.path.getmtime(path):
            continue
        if rule in again:
            os.makedirs(os.path.dirname(os.path.join(folder, built)), exist_ok=True)
            shutil.copy(built, os.path.join(folder, built))
            made += 1
        again.add(rule)
    print(f"{made} objects were made already; none is taken along in make soak (FUZZ_RUNS=soak)")


@check
def builds_and_tests_from_a_path_with_a_blank():
    folder = fresh("a path with blanks")
    for path in ["Makefile", "upmu.mk", "include", "core", "backends", "events", "models", "port", "tools", "tests"]:
        if os.path.isdir(path):
            shutil.copytree(path, os.path.join(folder, path), ignore=shutil.ignore_patterns("__pycache__"))
        elif os.path.exists(path):
            shutil.copy(path, folder)
    for path in glob.glob(os.path.join(glob.escape(folder), "tests/unit/*/*")):
        if os.path.basename(path) != "test_bits.c":
            os.unlink(path)
    command = ["make", "-C", folder, f"-j{tokens.JOBS}", "TEST_BUILDS=gcc-64", "gcc-64_FLAGS=-O0"]
    if not SOAK:
        run([*command, "build/gcc-64/flags", "build/tool/flags"], env=environment())
        take_objects_along(folder)
    code, output = run([*command, "all", "test-unit"], env=environment())
    if code or "2 passed, 0 failed" not in output.split("\n"):
        return [output[-3000:]]
    made = [name for name in os.listdir(folder) if name not in
            ("Makefile", "upmu.mk", "include", "core", "backends", "events", "models", "port", "tools", "tests", "build")]
    return finished(folder, [f"written outside build/: {name}" for name in made])


@check
def memory_functions_of_the_template_are_right_weak_and_enough():
    """Finds a loop that a compiler makes a call of the same function, where -ffreestanding is forgotten, too, and a definition that
    excludes the kernel's own."""
    folder = fresh("memory")
    for name, text in ("memory.c", MEMORY), ("own.c", OWN):
        with open(os.path.join(folder, name), "w", encoding="ascii") as file:
            file.write(text)

    def compiled(each):
        build, level = each
        made = os.path.join(folder, f"{build}{level}")
        words = [word for word in FREESTANDING if word != "-ffreestanding" or level == "-O2"]
        code, output = run([*COMPILERS[build], *WARNINGS, *words, level, "-c", "-o", made + ".o", "port/template/mem.c"])
        names = sorted(tuple(line.split()[-2:]) for line in run(["nm", made + ".o"])[1].splitlines())
        calls = re.findall(r"^[\da-f]+ +R_.*", run(["objdump", "-r", "-j", ".text", made + ".o"])[1], re.M)
        if code or calls or names != [("W", name) for name in ("memcmp", "memcpy", "memmove", "memset")]:
            return [f"{build} {level}: {names} {calls} {output}"]
        if not build.endswith("64"):
            return []
        for words in ["memory.c"], ["own.c", f"{build}{level}.o"]:
            words = [os.path.join(folder, word) for word in words]
            code, output = run([*COMPILERS[build], level, "-I.", "-no-pie", "-o", made, *words])
            code, output = (code, output) if code else run([made])
            if code:
                return [f"{build} {level}: {words}: {output[-1000:]}"]
        return []

    complaints = parallel(compiled, [(build, level) for build in COMPILERS for level in ("-O0", "-O2", "-O3", "-Os")])
    whole = os.path.join(folder, "whole.o")
    code, output = run(["ld", "-r", "-o", whole, os.path.join(folder, "gcc-64-O2.o"), "--whole-archive", "build/gcc-64/libupmu.a"])
    complaints += [output] if code else run(["nm", "-u", whole])[1].splitlines()
    return finished(folder, complaints)


@check
def the_compiler_that_cannot_build_it_is_told_so():
    complaints = []
    for words, refused in (["gcc"], False), (["gcc", "-D_MSC_VER=1940"], True), (["clang", "-D_MSC_VER=1940"], False):
        code, output = run([*words, "-fsyntax-only", "-Iinclude", "-x", "c", "-"], input=b"#include <upmu/upmu.h>\n")
        if bool(code) != refused or ("upmu needs gcc or clang" in output) != refused:
            complaints.append(f"{' '.join(words)}: {output[-500:]}")
    return complaints


@check
def clean_leaves_what_deps_foreign_unpacked_distclean_nothing():
    folder = fresh("clean")
    for path in ["Makefile", "upmu.mk", "tools/install.mk", "tools/try.mk"]:
        os.makedirs(os.path.join(folder, os.path.dirname(path)), exist_ok=True)
        shutil.copy(path, os.path.join(folder, path))
    unpacked, made = ["build/foreign/arm64/lib", "build/foreign/usr/bin/cc"], ["build/os/x.o", "build/foreign/arm/x.o", "build/.x", "build/x"]
    for path in unpacked + made:
        os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
        with open(os.path.join(folder, path), "w"):
            pass
    complaints = []
    for target, left in ("clean", unpacked), ("distclean", []), ("clean", []):
        code, output = run(["make", "-s", "-C", folder, target], env=environment())
        there = sorted(os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(f"{folder}/build") for name in names)
        if code or there != left:
            complaints.append(f"make {target}: {output}; left: {there}")
    if os.path.exists(f"{folder}/build"):
        complaints.append("an empty build/ is left")
    return finished(folder, complaints)


@check
def nothing_but_build_is_written():
    code, output = run(["git", "status", "--porcelain", "--ignored", "--", "."])
    if code:
        raise Skip("not a git checkout")
    return [line for line in output.split("\n") if line.startswith("!!") and line != "!! build/"
            and "__pycache__" not in line]


if __name__ == "__main__":
    main()
