#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Manual pages of the host tool, made of what it prints itself.  Usage: man.py TOOL FOLDER

Writes FOLDER/upmu.1 from `TOOL help`, and FOLDER/upmu-COMMAND.1 from `TOOL COMMAND --help` for each command.  Nothing
but headings and their arrangement is added, so a page says what the tool says.
"""
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
from sources import ROOT, version  # noqa: E402


def said(tool, *words):
    done = subprocess.run([tool, *words], stdout=subprocess.PIPE, check=True)
    return done.stdout.decode("utf-8").rstrip("\n").split("\n")


def released():
    """The date of this version in the changelog."""
    with open(os.path.join(ROOT, "CHANGELOG.md"), encoding="utf-8") as file:
        return re.search(rf"^## {re.escape(version())} \((\d{{4}}-\d\d-\d\d)\)$", file.read(), re.M)[1]


def text(line):
    """A line as groff has to read it."""
    line = line.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("^", "\\(ha").replace("~", "\\(ti")
    return "\\&" + line if line.startswith(".") else line


def title(name, about):
    return [f'.TH {text(name.upper())} 1 {released()} "upmu {version()}" "User Commands"', ".SH NAME",
            f"{text(name)} \\- {text(about)}"]


def synopsis(lines):
    made = [".SH SYNOPSIS"]
    for number, line in enumerate(lines):
        program, _, rest = re.sub(r"^usage: ", "", line).strip().partition(" ")
        made += ([".br"] if number else []) + [f".B {text(program)}"] + ([text(rest)] if rest else [])
    return made


def rows(lines):
    """Lines of two columns as a list with terms; a line of one column is a term of its own."""
    made = []
    for line in lines:
        term, _, about = line.strip().partition("  ")
        made += [".TP", f".B {text(term)}"] + ([text(about.strip())] if about else [])
    return made


def section(heading, lines):
    return [f".SH {text(heading if ' ' in heading else heading.upper())}", *rows(lines)]


def sections(lines):
    """Parts that begin with `Heading:` and go on with indented lines."""
    made, heading, inside = [], None, []
    for line in lines:
        if line.startswith(" "):
            inside.append(line)
            continue
        made += section(heading, inside) if heading else []
        heading, inside = line.rstrip(":"), []
    return made + (section(heading, inside) if heading else [])


def whole(tool):
    """(page of the tool, its commands)"""
    lines = said(tool, "help")
    first = next(number for number, line in enumerate(lines) if not re.match(r"usage: |  +upmu ", line))
    after = next(number for number in range(first + 1, len(lines)) if not lines[number].startswith(" "))
    commands = [line.split()[0] for line in lines[first + 1:after]]
    page = title("upmu", "performance counters: names, encodings, counts") + synopsis(lines[:first]) + sections(lines[first:])
    others = [f'.BR upmu\\-{text(name)} (1){"" if name == commands[-1] else ","}' for name in commands]
    return page + [".SH SEE ALSO", *others], commands


def one(tool, name):
    """The page of a command."""
    usage, about, *lines = said(tool, name, "--help")
    first = next((number for number, line in enumerate(lines) if re.fullmatch(r"\w+:", line)), len(lines))
    return (title(f"upmu-{name}", about) + synopsis([usage.replace(f"upmu {name}", f"upmu\u00a0{name}", 1)]) +
            [".SH DESCRIPTION", text(about), *([".PP"] + [text(line) for line in lines[:first]] if first else [])] +
            sections(lines[first:]) + [".SH SEE ALSO", ".BR upmu (1)"])


def main():
    tool, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    page, commands = whole(tool)
    pages = {"upmu": page, **{f"upmu-{name}": one(tool, name) for name in commands}}
    for name, lines in pages.items():
        with open(os.path.join(folder, f"{name}.1"), "w", encoding="utf-8") as file:
            file.write('.\\" SPDX-License-Identifier: MIT\n' + "\n".join(lines).replace("\u00a0", " ") + "\n")


if __name__ == "__main__":
    main()
