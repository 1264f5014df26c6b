#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which source file uses a function or an object of which other one, over core, backends, abi, port and models together.

Read from the text, and not from objects: so the files of all processors, firmwares and options are in it at once.
A name that a file uses is a name in its code, or in a macro or an inline function of a header that its code names.
Where two files define a name (a part, and what stands for the part in a build without it), a file that defines it uses
its own.  Calls in assembly text are not seen.

    tests/build/links.py            circles of files
    tests/build/links.py FILE       the files and names that FILE uses
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from checklib import ROOT, code_of, files  # noqa: E402

FOLDERS = ("core/*", "backends/*", "abi/**", "port/*", "models/*")
WORD = re.compile(r"(?<!struct )(?<!enum )(?<!union )\b[A-Za-z_]\w+")
INLINE = re.compile(r"^static (?:\w+ )*?inline\b[^;{}()]*?\b(\w+)\([^;{}]*\)\s*\{(.*?)^\}", re.M | re.S)
MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)((?:\\\n|[^\n])*)", re.M)
# A function with its body, or an object, which no other file can see if it is static.
DEFINED = re.compile(r"^(?!static\b|extern\b|typedef\b)(?:__attribute__\(\(\w+\)\)\s*)?[A-Za-z_][\w \t*]*?\b(upmu_\w+)"
                     r"(?:\([^;{}]*\)\s*\{|(?:\[[^\]\n]*\])*\s*(?:=|;))", re.M)


def texts():
    """{path: code} of the headers that files of these folders include, and of the files."""
    paths = files("include/upmu/**/*.h", *(f"{folder}/*.[ch]" for folder in FOLDERS))
    return {path: code_of(path) for path in paths}


def links(code):
    """{file: {file that it uses: names}}"""
    bodies, where, found = {}, {}, {}
    for path, text in code.items():
        if path.endswith(".h"):
            for name, body in INLINE.findall(text) + MACRO.findall(text):
                bodies[name] = bodies.get(name, "") + " " + body
        for name in DEFINED.findall(text) if path.endswith(".c") else ():
            where.setdefault(name, set()).add(path)
    for path in (path for path in code if path.endswith(".c")):
        names, rest = set(), [code[path]]
        while rest:
            fresh = set(WORD.findall(rest.pop())) - names
            names |= fresh
            rest += [bodies[name] for name in fresh if name in bodies]
        found[path] = {}
        for name in names:
            for other in where.get(name, set()) if path not in where.get(name, set()) else ():
                found[path].setdefault(other, set()).add(name)
    return found


def circles(found):
    """Files that use one another, on whatever way: a set for each circle."""
    reached = {}
    for path in found:
        seen, rest = set(), [path]
        while rest:
            fresh = set(found[rest.pop()]) - seen
            seen |= fresh
            rest += fresh
        reached[path] = seen
    return {frozenset(other for other in reached[path] if path in reached[other]) for path in found} - {frozenset()}


def main():
    os.chdir(ROOT)
    found = links(texts())
    for path in sys.argv[1:]:
        for other, names in sorted(found[path].items()):
            print(f"{other}: {' '.join(sorted(names))}")
    for circle in circles(found) if not sys.argv[1:] else ():
        print(" ".join(sorted(circle)))


if __name__ == "__main__":
    main()
