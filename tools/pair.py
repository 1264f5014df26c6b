#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write the whole library as two files, upmu_all.h and upmu_all.c.  Usage: pair.py FOLDER

The header has the public headers, the source all others and the sources, each once and in the order in which they are
included first.  A header that is included under a condition keeps that place and may be there twice: its guard decides.
"""
import glob
import os
import re
import sys

sys.dont_write_bytecode = True
from sources import ROOT, sources  # noqa: E402

INCLUDE = re.compile(r'\s*#\s*include\s+["<]([^">]+)[">]')
HEAD = """/* SPDX-License-Identifier: MIT */
/*
 * upmu in one piece (tools/pair.py): {what}
 *
{licence}
 */
"""
COMPILE = """compile upmu_all.c with -std=c11 -ffreestanding -mgeneral-regs-only, include upmu_all.h.
 * Options (include/upmu/config.h in the tree) are the same for both: -DUPMU_...=..."""


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


class Piece:
    """Files put behind one another, with what they include in the place of the line that does."""

    def __init__(self, done):
        self.done, self.lines = set(done), []

    def find(self, name):
        for path in name, "include/" + name:
            if os.path.isfile(os.path.join(ROOT, path)):
                return path
        return None

    def add(self, path, always=True):
        """`always`: nothing but guards is around this place."""
        depth, guards = 0, int(path.endswith(".h"))
        if always:
            self.done.add(path)
        self.lines.append(f"\n/* ---- {path} ---- */\n")
        for line in read(path).splitlines(keepends=True):
            depth += bool(re.match(r"\s*#\s*if", line)) - bool(re.match(r"\s*#\s*endif", line))
            name = INCLUDE.match(line)
            inside = self.find(name[1]) if name else None
            if inside is None:
                self.lines.append(line)
            elif inside not in self.done:
                self.add(inside, always and depth == guards)
                self.lines.append(f"\n/* ---- {path}, goes on ---- */\n")


def write(folder, name, head, lines):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(head + "".join(lines))


def main():
    folder = sys.argv[1]
    licence = "\n".join((" * " + line).rstrip() for line in read("LICENSE").strip().splitlines())
    head = HEAD.format(what=COMPILE, licence=licence)
    public = ["include/upmu/upmu.h"] + sorted(os.path.relpath(path, ROOT) for path in
                                              glob.glob(os.path.join(glob.escape(ROOT), "include/upmu/*.h")))
    header = Piece([])
    for path in public:
        if path not in header.done:
            header.add(path)
    # A compiler warns of small functions in a source that are not called, and of the same in a header it does not.
    source = Piece(header.done)
    source.lines += ['#include "upmu_all.h"\n', '#pragma GCC diagnostic ignored "-Wunused-function"\n']
    for path in sources():
        source.add(path)
    os.makedirs(folder, exist_ok=True)
    write(folder, "upmu_all.h", head, header.lines)
    write(folder, "upmu_all.c", head, source.lines)


main()
