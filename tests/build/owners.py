# SPDX-License-Identifier: MIT
"""Which file of the library assigns which field (docs/ENGINE.md, "Owners of fields").

owners.tsv has a row for each field: the structure, the field, the files that may assign the field ("-": none, the
field is to go), and a ceiling for the assignments elsewhere.

    tests/build/owners.py           the assignments outside of owners, field by field
    tests/build/owners.py --files   how many assignments of each field each file has
    tests/build/owners.py --write   lower the ceilings to what is found

An assignment of FIELD is one of these, where X is an expression that ends in the name of the structure (`session`,
`call->session`, `tally[i]`; NAMES has names that differ):

    X->FIELD = ...    and |=, &=, ^=, +=, -=, <<=, >>=; the same behind ".", with [i] or .member after FIELD
    X->FIELD++        and --, before or behind
    UPMU_STORE(X->FIELD, ...)
    f(&X->FIELD)      and `= &X->FIELD`: the address is taken.  Calls that only load are exempt: ONLY_LOAD
    f(X->FIELD, ...)  where f writes memory: memset(), memcpy(), upmu_shared_clear(), upmu_shared_copy()

Writes of a structure as a whole are not seen, because they name no field: `*X = ...`, memset(X, ...),
upmu_shared_clear(X, ...), and initialisers `{.FIELD = ...}`.
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from checklib import ROOT, code_of, files  # noqa: E402

TABLE = "tests/build/owners.tsv"
# How the sources call a structure, where that is not its name alone.
NAMES = {"tally": "tally|upmu_joint_tally", "set": "set|upmu_active", "thread": "thread|prev|next"}
ONLY_LOAD = {"__atomic_load_n", "sizeof"}
WRITE_MEMORY = "memset|memcpy|memmove|upmu_shared_clear|upmu_shared_copy"
PATH = re.compile(r"(?:\w+(?:\[[^\]]*\])?(?:->|\.))*$")  # `call->` of call->session->state
BEHIND = re.compile(r"\s*(?:\[[^\]]*\]\s*|\.\w+\s*)*")  # [i] and .member


def sources():
    """What may hold a structure of the engine."""
    return files("core/engine/*.[ch]", "core/hw/*.[ch]", "core/sample/*.[ch]", "core/results/*.[ch]")


def rows():
    """The line of each row, and [structure, field, files, ceiling]."""
    with open(TABLE, encoding="ascii") as file:
        for number, line in enumerate(file, 1):
            if line.strip() and not line.startswith("#"):
                yield number, line.rstrip("\n").split("\t")


def function_of(before):
    """The function whose argument begins behind this text; "": none."""
    depth = 0
    for at in range(len(before) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(before[at], 0)
        if depth < 0:
            return re.search(r"(\w*)\s*$", before[:at]).group(1)
        if before[at] in ";{}":
            break
    return ""


def is_assigned(before, behind):
    """Is the field assigned that stands between these texts?"""
    behind = BEHIND.sub("", behind, count=1)
    before = PATH.search(before)
    before = before.string[:before.start()]
    if re.match(r"(?:[-+|&^*]|<<|>>)?=(?!=)|\+\+|--", behind) or re.search(r"(?:\+\+|--)[*(]*$", before):
        return True
    if before.endswith("&"):  # the operator of two operands has a space behind it
        return not re.match(r"->|\(", behind) and function_of(before[:-1]) not in ONLY_LOAD
    return behind.startswith(",") and bool(re.search(rf"\b(?:UPMU_STORE|{WRITE_MEMORY})\(\s*$", before))


def assignments(structure, field, texts):
    """{file: [line]} of the assignments of a field."""
    place = re.compile(rf"\b(?:{NAMES.get(structure, structure)})(?:\[[^\]]*\]|\([^()]*\))?(?:->|\.){field}\b")
    found = {}
    for path, text in texts.items():
        for match in place.finditer(text):
            if is_assigned(text[max(0, match.start() - 300):match.start()], text[match.end():match.end() + 100]):
                found.setdefault(path, []).append(text.count("\n", 0, match.start()) + 1)
    return found


def texts_of(paths):
    return {path: code_of(path) for path in paths}


def outside(found, owner):
    """The assignments that stand in no file of the owner."""
    return [f"{path}:{line}" for path, lines in found.items() for line in lines
            if os.path.basename(path) not in owner.split()]


def complaints():
    """What `make check` says of the table and the sources."""
    texts, wrong, known = texts_of(sources()), [], {os.path.basename(path) for path in sources()}
    seen = set()
    for number, (structure, field, owner, ceiling) in rows():
        where = f"{TABLE}:{number}: {structure}.{field}"
        found = assignments(structure, field, texts)
        others = outside(found, owner)
        if (structure, field) in seen:
            wrong.append(f"{where}: is there twice")
        seen.add((structure, field))
        wrong += [f"{where}: there is no file {name}" for name in owner.split() if name not in known | {"-"}]
        if not found:
            wrong.append(f"{where}: nothing assigns it: has it another name now?")
        if len(others) > int(ceiling):
            wrong.append(f"{where}: {len(others)} assignments outside of {owner}, not {ceiling}: {' '.join(others)}")
        elif len(others) < int(ceiling):
            wrong.append(f"{where}: {len(others)} assignments outside of {owner}: lower the ceiling from {ceiling}")
    return wrong


def write():
    """Lower ceilings; what rose stays a complaint."""
    texts, found = texts_of(sources()), {number: row for number, row in rows()}
    with open(TABLE, encoding="ascii") as file:
        lines = file.read().split("\n")
    for number, (structure, field, owner, ceiling) in found.items():
        count = len(outside(assignments(structure, field, texts), owner))
        if ceiling == "-" or count < int(ceiling):
            lines[number - 1] = "\t".join([structure, field, owner, str(count)])
    with open(TABLE, "w", encoding="ascii") as file:
        file.write("\n".join(lines))


def main():
    os.chdir(ROOT)
    if "--write" in sys.argv:
        write()
        return
    texts = texts_of(sources())
    for _, (structure, field, owner, ceiling) in rows():
        found = assignments(structure, field, texts)
        if "--files" in sys.argv:
            print(f"{structure}.{field}:", *(f"{os.path.basename(path)} {len(lines)}" for path, lines in found.items()))
        else:
            print(f"{structure}.{field}: {ceiling}:", *outside(found, owner))


if __name__ == "__main__":
    main()
