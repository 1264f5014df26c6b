#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Convert C sources that use upmu 0.2 to the names and headers of this tree.

Usage: upgrade.py [--dry-run] FILE...

Functions: those of tools/renames.tsv; calls through pointers and macros are yours to look at.  Lines of #include get the folders of
that table.  Headers: <upmu/upmu.h> has what most hosts need; for each further name that a file
uses, the header that has it is included.  A file without a line `#include <upmu/...>` is taken to have <upmu/upmu.h>
from a header of yours.
"""
import argparse
import functools
import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
INCLUDE = os.path.join(ROOT, "include")
# Headers that are no more, and what has their contents.
GONE = {"upmu/thread.h": "upmu/upmu.h"}
LINE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"](upmu/[\w/]+\.h)[>"].*\n', re.M)
STEADY = ("upmu/config.h", "upmu/status.h", "upmu/port.h")  # as they were


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def upgrade(path, dry_run):
    """Convert a file: bytes that are no UTF-8 and ends of lines stay as they are.  False: nothing was to be changed."""
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
        old = file.read()
    end = "\r\n" if old.count("\r\n") == old.count("\n") > 0 else "\n"
    new = convert(old.replace(end, "\n")).replace("\n", end)
    if new != old and not dry_run:
        with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            file.write(new)
    return new != old


def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)


def renames():
    """Rows of the table: [old name, number of its arguments, what becomes of the first, new name]."""
    rows = [line.split("\t") for line in read(os.path.join(ROOT, "tools/renames.tsv")).splitlines()
            if line and not line.startswith("#")]
    return [(old, int(count), first, new) for old, count, first, new in rows if count != "-"]


def paths():
    """Rows of the table: (old folder, new folder) in lines of #include."""
    rows = [line.split("\t") for line in read(os.path.join(ROOT, "tools/renames.tsv")).splitlines() if line[:1] not in ("", "#")]
    return [(old, new) for old, count, _, new in rows if count == "-"]


def with_paths(text):
    """Lines of #include that name a header of this tree by its old folder."""
    for old, new in paths():
        text = re.sub(rf'^([ \t]*#[ \t]*include[ \t]*[<"](?:[^>"\n]*/)?){re.escape(old)}(\w+\.h)', lambda line, new=new: line[1] + new +
                      line[2] if os.path.exists(os.path.join(ROOT, new, line[2])) else line[0], text, flags=re.M)
    return text


def arguments(text, at):
    """The arguments of a call whose "(" stands before text[at], and the place of its ")"."""
    depth, found, begin, end = 0, [], at, at
    for token in re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|/\*.*?\*/|[()\[\]{},]', re.S).finditer(text, at):
        sign, end = token.group(), token.start()
        if sign in ",)" and depth == 0:
            found.append(text[begin:end])
            begin = token.end()
            if sign == ")":
                return found, end
        depth += (sign in "([{") - (sign in ")]}")
    return [], at


def set_of(session):
    """The first set of a session that an expression points to."""
    session = session.strip()
    plain = re.fullmatch(r"&?\w+(?:\.\w+|->\w+|\[[^\[\]]*\]|\([\w&.>\-, ]*\))*", session)
    if session.startswith("&") and plain:
        return f"{session}.set"
    return f"&{session}->set" if plain else f"&({session})->set"


def converted_calls(text, old, count, first, new):
    """Calls with as many arguments as the old function has; other mentions of its name get the new one."""
    done, at = [], 0
    for call in re.finditer(rf"\b{old}\b(\s*\(|)", text):
        given, end = arguments(text, call.end()) if call.group(1) else ([], 0)
        given = [] if given == [""] else given  # a mention: "upmu_session_add()"
        if call.start() < at or len(given) not in (0, count) and first != "-":
            continue
        if len(given) == count and first != "-":
            head = text[at:call.start()] + f"{new}("
            rest = text[call.end() + len(given[0]) + 1:end]
            done.append(head + (set_of(given[0]) + "," + rest if first == "its set" else rest.lstrip()))
            at = end
        else:
            done.append(text[at:call.start()] + new + call.group(1))
            at = call.end()
    return "".join(done) + text[at:]


def names_of(text):
    """The names that a header declares: macros, structures with their fields, enumerators, functions."""
    text = without_comments(text)
    names = set(re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", text, re.M))
    text = re.sub(r"^[ \t]*#.*(?:\\\n.*)*", "", text, flags=re.M)
    names |= set(re.findall(r"\b(?:struct|enum|union)\s+(\w+)\s*\{", text))
    for body in re.findall(r"\benum\s*\w*\s*\{([^}]*)\}", text):
        names |= set(re.findall(r"(\w+)\s*(?:=[^,]*)?(?:,|$)", body.strip()))
    names |= set(re.findall(r"^(?:[\w*]+[ \t*]+)+(\w+)\([^{;]*\)\s*[;{]", text, re.M))
    return {name for name in names if re.match(r"(?i)upmu_", name)}


@functools.lru_cache(maxsize=None)
def included(header):
    """A header and all that it includes."""
    found, due = set(), [header]
    while due:
        at = due.pop()
        path = os.path.join(INCLUDE, at)
        if at not in found and os.path.exists(path):
            found.add(at)
            due += LINE.findall(read(path))
    return frozenset(found)


@functools.lru_cache(maxsize=None)
def header_of():
    """Name -> the public header that a user includes for it."""
    found = {}
    public = sorted("upmu/" + os.path.basename(path) for path in glob.glob(os.path.join(glob.escape(INCLUDE), "upmu/*.h")))
    for header in public:
        for name in names_of(read(os.path.join(INCLUDE, header))):
            found[name] = header
    for header in sorted(public, key=lambda header: header != "upmu/upmu.h"):
        for inner in included(header):
            if inner.startswith("upmu/private/"):
                for name in names_of(read(os.path.join(INCLUDE, inner))):
                    found.setdefault(name, header)
    return found


def convert(text):
    """A source's text in the names and with the headers of this tree."""
    text = with_paths(text)
    for row in reversed(renames()):  # calls of sets lose their session before others get their name
        before = None
        while text != before:  # a call may be an argument of another
            before, text = text, converted_calls(text, *row)
    lines = list(LINE.finditer(text))
    has = [GONE.get(line.group(1), line.group(1)) for line in lines]
    words = set(re.findall(r"\w+", without_comments(text)))
    wanted = {header_of()[word] for word in words if word in header_of()} - set(STEADY)
    reached = set().union(*(included(header) for header in has or ["upmu/upmu.h"]))
    more = []
    for header in sorted(wanted, key=lambda header: (-len(included(header)), header)):
        if header not in reached:
            more.append(header)
            reached |= included(header)
    new = sorted(dict.fromkeys(has + more))
    if not lines and more:  # another header of the user's includes upmu's
        first = re.search(r"^[ \t]*#[ \t]*include\b", text, re.M)
        place = first.start() if first else 0
        return text[:place] + "".join(f"#include <{header}>\n" for header in new) + text[place:]
    if not lines or not set(has) - set(STEADY) and not more:
        return text
    block = "".join(f"#include <{header}>\n" for header in new)
    first, last = lines[0].start(), lines[-1].end()
    between = text[first:last]
    if LINE.sub("", between).strip():  # other lines stand between: the first keeps its place
        for line in reversed(lines[1:]):
            text = text[:line.start()] + text[line.end():]
        return text[:first] + block + text[lines[0].end():]
    return text[:first] + block + text[last:]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry-run", action="store_true", help="name the files that would change")
    parser.add_argument("files", nargs="+", metavar="FILE")
    options = parser.parse_args()
    failed = False
    for path in options.files:
        try:
            if upgrade(path, options.dry_run):
                print(path)
        except OSError as error:
            print(f"upgrade.py: {path}: {error.strerror}", file=sys.stderr)
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
