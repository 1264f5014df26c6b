#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/uncore.md: every type of unit that the library knows, and on how many sources its registers rest; its code compiles,
and the example that has it measures.

With --write the table is put into the page.
"""
import os
import re
import sys

from checklib import check, main, read, run

PAGE = "docs/uncore.md"
EXAMPLE = "examples/bandwidth.c"
HEAD = "| generation | two or more sources agree | one source |\n|---|---|---|\n"


def rows_of(path):
    lines = [line.split("\t") for line in read(path).splitlines() if line and line[0] != "#"]
    return [dict(zip(lines[0], line)) for line in lines[1:]]


def table():
    """A line for each processor, or for several that have the same types."""
    names = {row["key"]: row["name"] for row in rows_of("backends/uncore/uncore_boxes.tsv")}
    titles, types = {}, {}
    for row in rows_of("backends/uncore/uncore_generations.tsv"):
        titles.setdefault(row["rows"], []).append(row["title"])
    for row in rows_of("backends/uncore/uncore_types.tsv"):
        if row["rule"] == "broken":
            continue
        title = ", ".join(dict.fromkeys(titles.get(row["generation"], ["others, by their tables"])))
        name, one = "`" + names[row["box"]] + "`", len(row["source"].split()) == 1
        lists = types.setdefault(title, ([], []))
        if name not in lists[one]:
            lists[one].append(name)
    return HEAD + "".join(f"| {title} | {' '.join(several)} | {' '.join(one)} |\n" for title, (several, one) in types.items())


@check
def the_page_of_units_lists_every_type_and_its_evidence():
    if table() in read(PAGE):
        return []
    return [f"{PAGE}: the table is not that of backends/uncore/*.tsv: python3 {sys.argv[0]} --write"]


@check
def the_ten_lines_compile_and_the_readme_has_five_of_them():
    code = re.search(r"```c\n(.*?)```", read(PAGE), re.S).group(1)
    program = ("#include <upmu/upmu.h>\nextern struct upmu_machine machine;\nextern struct upmu_cpu cpu;\nvoid work(void);\n"
               f"void measure(void);\nvoid measure(void)\n{{\n{code}(void)lines;\n}}\n")
    failed, output = run(["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-Wno-unused-result", "-fsyntax-only", "-Iinclude",
                          "-x", "c", "-"], input=program.encode())
    calls = [re.sub(r" */\*.*?\*/", "", line).strip() for line in code.splitlines() if re.match(r"(upmu_|work)", line)]
    shown = [re.sub(r" */\*.*?\*/", "", line).strip() for line in read("README.md").splitlines()]
    complaints = [output.strip()[:600]] if failed else []
    return complaints + [f"README.md lacks: {call}" for call in calls[:5] if call not in shown]


@check
def the_example_measures_the_bytes_that_were_moved():
    """Both dies of the machine: 3,500,000 lines of 64 bytes are read, 1,250,000 written."""
    source = read(EXAMPLE)
    complaints = [f"{EXAMPLE} does not call {call}()" for call in
                  re.findall(r"^(upmu_\w+)\(", re.search(r"```c\n(.*?)```", read(PAGE), re.S).group(1), re.M)
                  if call + "(" not in source]
    os.makedirs("build/tests", exist_ok=True)
    line = re.search(r"cc (-I.*?) -o bandwidth (.*?) && ", source)
    for compiler in "gcc", "clang":
        program = f"build/tests/bandwidth-{compiler}"
        code, output = run(["bash", "-c", f"{compiler} -std=c11 -Wall -Wextra -Werror {line[1]} -o {program} {line[2].replace('$L', 'build/gcc-64')}"])
        if code == 0:
            code, output = run([program])
        if (code, output) != (0, "read 224000000 bytes\nwritten 80000000 bytes\n"):
            complaints.append(f"{compiler}: exit {code}: {output[:600]}")
    return complaints


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        text = read(PAGE)
        begin = text.index(HEAD)
        end = text.index("\n\n", begin) + 1
        with open(PAGE, "w") as page:
            page.write(text[:begin] + table() + text[end:])
    else:
        main()
