# SPDX-License-Identifier: MIT
"""Shared by the build checks: named checks that report as cmocka programs do."""
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
import tokens  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CHECKS = []
SOAK = os.environ.get("FUZZ_RUNS") == "soak"  # all of what `make test` takes a share of

WARNINGS = ("-Wall -Wextra -Wpedantic -Wshadow -Wundef -Wconversion -Wsign-conversion -Wcast-qual "
            "-Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror").split()
FREESTANDING = "-std=c11 -ffreestanding -mgeneral-regs-only -fno-pie -fno-pic -fno-stack-protector -Iinclude -I.".split()
COMPILERS = {"gcc-64": ["gcc", "-m64"], "gcc-32": ["gcc", "-m32"],
             "clang-64": ["clang", "-m64"], "clang-32": ["clang", "-m32"]}

IN_ONE = () if SOAK else ("gcc-32", "clang-64")  # made of one source (the Makefile's IN_ONE)


class Skip(Exception):
    """The check cannot be made here; the text says why."""


def needs(*tools):
    """Skip the check that calls this if a tool is missing."""
    for tool in tools:
        if not shutil.which(tool):
            raise Skip(f"{tool} is not installed (make deps)")


# Each folder of core/ includes and calls those before it alone.
CORE_FOLDERS = "util hw catalog event place engine sample results".split()


def check(function):
    """Register a check: it returns a list of complaints, empty if what its name says holds."""
    CHECKS.append(function)
    return function


def run(command, **options):
    """Run a command; (exit code, output)."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    return done.returncode, done.stdout.decode("utf-8", "replace")


def parallel(function, items):
    """Complaints of all items, two at a time; one where other programs run beside."""
    with concurrent.futures.ThreadPoolExecutor(tokens.JOBS) as pool:
        return [complaint for found in pool.map(function, items) for complaint in found]


def files(*patterns):
    return sorted(path for pattern in patterns for path in glob.glob(pattern, recursive=True)
                  if not path.startswith("build/"))


def library_sources():
    return files("core/*/*.c", "backends/*/*.c", "events/*.c")


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def code_of(path):
    """A source's text with comments and strings blanked out, lines kept."""
    def blank(match):
        text = match.group(0)
        return re.sub(r"[^\n]", " ", text) if text.startswith("/") else '""'
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, read(path), flags=re.S)


def grep(pattern, paths):
    """Complaints for lines of code that match."""
    found = []
    for path in paths:
        for number, line in enumerate(code_of(path).split("\n"), 1):
            if re.search(pattern, line):
                found.append(f"{path}:{number}: {line.strip()}")
    return found


def program_of_catalogues(folder, paths, program, expected, sources=()):
    """Pack these sources of catalogues into `folder`, build a program with them, run it; complaints."""
    with open(f"{folder}/main.c", "w", encoding="ascii") as file:
        file.write(program)
    pack = ("import sys; sys.dont_write_bytecode = True; sys.path.insert(0, 'tools'); import catalog_pack as pack; "
            f"paths = {paths!r}; "
            "pack.sources = lambda: ([pack.read_source(path) for path in paths], paths); "
            f"open('{folder}/catalog_data.c', 'w').write(pack.generate()[0])")
    code, output = run([sys.executable, "-c", pack])
    if code:
        return [output[-1000:]]
    code, output = run(["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-no-pie", "-Iinclude", "-I.", "-o",
                        f"{folder}/main", f"{folder}/main.c", f"{folder}/catalog_data.c", *sources,
                        "build/gcc-64/libupmu.a"])
    if code:
        return [output[-1000:]]
    code, output = run([f"{folder}/main"])
    return [] if code == 0 and output == expected else [f"exit {code}:", *output.split("\n")]


def verdict(name, complaints):
    """Print the line that ends a test; returns whether it failed."""
    print(f"[{'  FAILED  ' if complaints else '       OK '}] {name}", flush=True)
    return bool(complaints)


def main():
    """All checks, or those that are named."""
    os.chdir(ROOT)
    failed = 0
    for function in CHECKS:
        if sys.argv[1:] and function.__name__ not in sys.argv[1:]:
            continue
        try:
            complaints = function()
        except Skip as reason:
            print(f"{function.__name__} skipped: {reason}")
            print(f"[  SKIPPED ] {function.__name__}", flush=True)
            continue
        for complaint in complaints[:10]:
            print("    " + complaint)
        if len(complaints) > 10:
            print(f"    ... {len(complaints) - 10} more")
        failed += verdict(function.__name__, complaints)
    sys.exit(1 if failed else 0)
