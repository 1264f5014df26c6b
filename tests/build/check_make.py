#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The makefiles: help names every target, objects depend on their flags, a failed list of apt ends make deps."""
import glob
import os
import re
import sys
import tempfile

from checklib import check, files, main, read, run

OBJECT = "core/util/muldiv.o"
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}


def make(*words, **more):
    return run(["make", "--no-print-directory", *words], env=dict(ENVIRONMENT, **more))


@check
def help_names_every_target():
    """Finds a target that was added, and not to the help."""
    code, rules = make("-pnq", "apt")
    phony = max(re.findall(r"^\.PHONY: (.*)$", rules, re.M), key=len, default="")
    targets = {word for word in phony.split() if re.fullmatch(r"[a-z][a-z-]*", word)}
    if len(targets) < 80:
        return [f"{len(targets)} targets are found: {rules[-1000:]}"]
    code, output = make("help")
    named = set(re.findall(r"[\w-]+", output))
    layers = re.search(r"^test-LAYER +one of: ([^(]*)", output, re.M)
    named |= {"test-" + layer for layer in layers.group(1).split()} if layers else set()
    return [output] if code else [f"make help does not name {target}" for target in sorted(targets - named)]


@check
def objects_are_made_again_when_their_flags_change():
    """Finds objects of two sets of options in one library: they were kept when an option changed."""
    path, times = f"build/flags-test/{OBJECT}", []
    for words in [], [], ["UPMU_EVENTS=skl"], ["UPMU_EVENTS=skl"], ["flags-test_FLAGS=-O2", "UPMU_EVENTS=skl"], \
            ["UPMU_OPTIONS=UPMU_PACK=0", "flags-test_FLAGS=-O2", "UPMU_EVENTS=skl"]:
        with open("build/flags-test.mk", "w", encoding="ascii") as file:
            file.write("include Makefile\n$(eval $(call BUILD_RULES,flags-test))\n")
        code, output = make("-f", "build/flags-test.mk", "flags-test_CC=gcc", "flags-test_FLAGS=-O1", *words, path)
        if code:
            return [output]
        times.append(os.stat(path).st_mtime_ns)
    made = [after != before for before, after in zip(times, times[1:])]
    return [] if made == [False, True, False, True, True] else [f"made again: {made}"]


@check
def options_reach_the_library_and_its_tests_and_not_the_command():
    """Finds tests whose structures are not the library's, and a command that cannot be linked with what is left of the library."""
    complaints = []
    for path, reached in (f"gcc-64/{OBJECT}", True), ("gcc-64/tests/unit/util/test_bits.o", True), (f"tool/{OBJECT}", False), \
            ("tool/tools/cmd/cmd_stat.o", False):
        code, output = make("-n", "-B", "CC=gcc", "UPMU_OPTIONS=UPMU_PACK=0", f"build/{path}")
        commands = re.findall(r"^gcc .*", output, re.M)
        if code or [" -DUPMU_PACK=0 " in command for command in commands] != [reached]:
            complaints.append(f"{path}: {commands or output[-1000:]}")
    texts = {tuple(re.findall(r"^printf .*", make("-n", *words, "build/tool/flags")[1], re.M)) for words in
             ([], ["UPMU_OPTIONS=UPMU_PACK=0"], ["UPMU_EVENTS=skl"])}
    if len(texts) != 1 or not all(texts):  # checks that run side by side would make the command anew, each its own
        complaints.append("the flags of the command depend on what is left out of the library")
    code, output = make("--eval=print: ; @echo $(INSTALL_TOOL)", "UPMU_OPTIONS=UPMU_PACK=0", "print")
    return complaints + ([] if output == "build/upmu\n" else [f"the command that is installed: {output}"])


@check
def rules_of_objects_name_the_file_of_their_flags():
    """Finds a folder whose objects are kept when its flags change: the check above makes those of one rule alone."""
    rules = [(path, line) for path in files("Makefile", "*/*.mk", "tests/*/*.mk", "examples/*/*.mk", "examples/*/Makefile")
             for line in read(path).splitlines() if re.match(r"\S*%\.o: .*%\.[cS]\b", line)]
    return [f"{path}: {line}" for path, line in rules if "/flags" not in line] + ([] if len(rules) > 7 else ["few rules"])


# The Makefile and its parts, without upmu.mk and those of abi, which are for embedders.
PARTS, LINES = ["Makefile", *files("tools/*.mk", "efi-demo/*.mk", "examples/*/*.mk", "tests/*/*.mk")], 900
TABLES = files("tools/builds.tsv", "tools/packages.tsv", "tests/layers.tsv", "*/machines.tsv", "tests/*/machines.tsv")


@check
def makefiles_stay_short_and_name_no_test():
    """Finds what belongs into a table: rules are for layers and builds, tables for single ones."""
    named = [(path, line) for path in PARTS for line in read(path).split("\n") if not line.startswith("#")]
    tests = {os.path.splitext(os.path.basename(path))[0] for path in files("tests/**/test_*.[cp]*", "tests/**/check_*.py", "tests/**/test-*.sh")}
    complaints = [f"{path}: {line}" for path, line in named if tests & set(re.findall(r"\b(?:test|check)[_-][\w-]+", line)) and
                  not line.startswith((".PHONY", "test-demo:"))]
    return complaints + ([] if len(named) <= LINES else [f"{len(named)} lines, at most {LINES}"])


@check
def tables_have_the_keys_that_they_explain():
    """Finds a row that nothing reads: its key is wrong."""
    complaints, rows = [], [(path, line.split("\t")) for path in TABLES for line in read(path).split("\n") if line and line[0] != "#"]
    machines = {"aarch64", "riscv32", "riscv32-soak"}
    builds = {row[0] for path, row in rows if path == "tools/builds.tsv"}
    for path, row in rows:
        explained = set(re.findall(r"[A-Z]{2,}", "".join(line for line in read(path).split("\n") if line.startswith("#"))))
        if len(row) != 3 or row[1] not in explained | builds | machines:
            complaints.append(f"{path}: {row}")
    if builds != set(re.search(r"^BUILDS := (.*)$", read("Makefile"), re.M)[1].split()):
        complaints.append("the builds of tools/builds.tsv and of BUILDS differ")
    return complaints + ([] if len(rows) > 100 else ["few rows"])


@check
def steps_of_soak_name_targets_and_files_that_there_are():
    """Finds a step that ends at once, when its turn comes after hours."""
    rows = [line.split("\t") for line in read("tests/soak.tsv").split("\n") if line and line[0] != "#"]
    _code, rules = make("-pnq", "apt")
    targets = {word for line in re.findall(r"^\.PHONY: (.*)$", rules, re.M) for word in line.split()}
    complaints = [f"{row[0]}: {len(row)} columns" for row in rows if len(row) != 7]
    for row in rows:
        named = {word for words in re.findall(r"\$MAKE ([^&;|]*)", row[5]) for word in re.sub(r'"[^"]*"', "", words).split()}
        complaints += [f"{row[0]}: no target {word}" for word in named - targets if "=" not in word]
        complaints += [f"{row[0]}: no file {path}" for path in re.findall(r"tests/[\w/]+\.py", row[5]) if not os.path.exists(path)]
    return complaints + ([] if len(rows) > 20 else ["few steps"])


@check
def soak_goes_on_where_it_was_stopped():
    """Finds a step that is run twice, one that is left out though the library changed, and one that failed and is taken for passed."""
    script, results = os.path.abspath("tests/soak.py"), []
    with tempfile.TemporaryDirectory() as place:
        os.makedirs(f"{place}/tests")
        os.makedirs(f"{place}/core")
        with open(f"{place}/tests/soak.tsv", "w", encoding="ascii") as table:
            table.write("good\tcore\t1\t-\t-\techo ran >> ran\ta\nbad\tall\t*\t-\t-\t! echo ran >> ran\tb\n")

        def soak(*names):
            code, output = run([sys.executable, script, "make", "2", *names], cwd=place, env=dict(os.environ, JOBS="2", PYTHON=sys.executable))
            with open(f"{place}/ran", encoding="ascii") as file:
                results.append((code != 0, len(file.readlines()), output.split("\n")[-2]))

        soak("core")
        soak()
        soak("core")
        with open(f"{place}/core/new.c", "w", encoding="ascii") as file:
            file.write("int i;\n")
        soak("good")
    wanted = [(False, 1, "1 passed, 0 failed"), (True, 2, "1 passed, 1 failed"), (False, 2, "1 passed, 0 failed"),
              (False, 3, "1 passed, 0 failed")]
    return [] if results == wanted else [f"{results}"]


@check
def a_failed_list_ends_make_deps():
    """Finds success after a failed update of apt's lists; what fails beside is only of another architecture."""
    complaints = []
    for old, wanted in ("", False), ("1", True):
        with open("build/lists-test.mk", "w", encoding="ascii") as file:
            file.write("include Makefile\nlists-test:\n\t$(APT_UPDATE)\n")
        code, output = make("-f", "build/lists-test.mk", "SUDO=false", f"DEPS_OLD_LISTS={old}", "lists-test")
        if (code == 0) != wanted or "apt has no new list" not in output:
            complaints.append(f"DEPS_OLD_LISTS={old}: ended with {code}: {output}")
    return complaints


@check
def linux_says_what_it_is_made_with_and_deps_foreign_has_it():
    """Finds a program that Linux's build needs, and that neither is installed nor named when it is missing."""
    package = {"xz": "xz-utils"}
    needed = re.search(r"^PROGRAMS = (\[.*\])$", read("tests/foreign/test_sbi_linux.py"), re.M)[1]
    tools = [word for word in re.findall(r'"([\w.-]+)"', needed) if not word.startswith(("qemu", "apt", "dpkg"))]
    installed = " ".join(re.findall(r"^deps-foreign\tDEBIAN\t(.*)$", read("tools/packages.tsv"), re.M)).split()
    _code, output = run([sys.executable, "tests/foreign/test_sbi_linux.py"], env={"PATH": "/nonexistent"})
    complaints = [f"deps-foreign has no {tool}" for tool in tools if package.get(tool, tool) not in installed]
    complaints += [f"{tool} is missing, and nothing says so" for tool in tools if f" {tool} " not in output]
    return complaints if {"flex", "bison", "bc"} <= set(tools) and "[  SKIPPED ]" in output else complaints + [output]


if __name__ == "__main__":
    main()
