#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The table of all test programs, tests/programs.tsv: program, room, seconds of CPU, what it proves.

What a program proves is the first sentence of its source; its seconds are those of the last run of its layer
(build/tests/*.times, of the build gcc-64 or of a script), and stay as they are where it was not run.

Usage: programs.py           names each program that the table lacks or says something else about (make check)
       programs.py --write   writes it
"""
import glob
import os
import re
import sys

TABLE = "tests/programs.tsv"
SOURCES = ("tests/*/test_*.[cp]*", "tests/unit/*/test_*.c", "tests/oracle/oracle*.c", "tests/bench/bench_*.c", "tests/build/check_*.py",
           "tests/zephyr/check_*.py", "tests/edk2/check_*.py", "tests/demo/test-demo.sh", "tests/host/host_main.c", "tests/host/mends.py", "tests/guest/threads_*.[cp]*",
           "tests/mutants/rows.py")
COMMENTS = {".c": r"/\*(?! SPDX)(.*?)\*/", ".py": r'"""(.*?)"""', ".sh": r"#\n((?:# [^\n]*\n)+)"}
HEAD = """# SPDX-License-Identifier: MIT
# Test programs: tests/programs.py --write.  Seconds are those of one processor at the last run.
# program\troom\tseconds\twhat it proves
"""


def proves(path):
    """The first sentence of the source."""
    with open(path, encoding="utf-8") as file:
        found = re.search(COMMENTS[os.path.splitext(path)[1]], file.read(), re.S)
    text = " ".join(re.sub(r"^ ?[*#] ?", "", found[1], flags=re.M).split()) if found else ""
    return re.split(r"(?<=[a-zA-Z0-9)'-][a-zA-Z0-9)])[.?](?: |$)", text)[0]


def programs():
    """{program: (room, what it proves)}"""
    paths = sorted({path for pattern in SOURCES for path in glob.glob(pattern)})
    return {re.sub(r"_main$", "", os.path.splitext(os.path.basename(path))[0]): (os.path.dirname(path)[len("tests/"):], proves(path))
            for path in paths}


def rows():
    """{program: [room, seconds, what it proves]} of the table."""
    if not os.path.exists(TABLE):
        return {}
    with open(TABLE, encoding="utf-8") as file:
        cells = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
    return {row[0]: row[1:] for row in cells}


def seconds():
    """{program: seconds of CPU at its last run}"""
    found = {}
    for path in sorted(glob.glob("build/tests/*.times"), key=os.path.getmtime):
        with open(path, encoding="utf-8") as file:
            for used, _, name in (line.rstrip("\n").split("\t") for line in file):
                build, program = name.split(" ")
                if build in ("gcc-64", "source", "host"):
                    found[program] = f"{float(used):.2f}"
    return found


def complaints():
    there, table = programs(), rows()
    wrong = [name for name, (room, text) in there.items() if name not in table or [table[name][0], table[name][2]] != [room, text]]
    return ([f"{TABLE}: {name}: tests/programs.py --write" for name in sorted({*wrong, *(table.keys() - there.keys())})] +
            [f"{room}/{name}: its first comment does not say what it proves" for name, (room, text) in there.items() if len(text) < 10])


def main():
    if sys.argv[1:] != ["--write"]:
        print("\n".join(complaints()))
        return 1 if complaints() else 0
    table, new = rows(), seconds()
    with open(TABLE, "w", encoding="utf-8") as file:
        file.write(HEAD)
        for name, (room, text) in sorted(programs().items(), key=lambda item: (item[1][0], item[0])):
            file.write(f"{name}\t{room}\t{new.get(name, table.get(name, ['', '-'])[1])}\t{text}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
