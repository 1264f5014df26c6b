# SPDX-License-Identifier: MIT
"""The words that people read in a file: comments, strings, documents; and words that Plain English does without.

docs/DESIGN.md, "Plain English", says which words and why.  tests/build/plain_english.tsv has the number of uses
that each file still has; `python3 tests/build/prose.py` prints them all, with `--write` it makes that table.
"""
import io
import os
import re
import subprocess
import sys
import tokenize

TABLE = "tests/build/plain_english.tsv"
# Counters, requests and sessions are not people; an image is not the field's term.
PEOPLE = r"who|whoever|whom|nobody|somebody|everybody|anybody|someone|anyone|everyone|neighbou?rs?|company"
IMAGES = (r"to blame|blame[sd]?|last hope|giv(?:es?|en|ing)\s+way|gave\s+way|tak(?:es?|en|ing)\s+turns|took\s+turns|"
          r"com(?:es?|ing)\s+back|came\s+back|lets?\s+go|bars|barred")
BANNED = re.compile(rf"\b(?:{PEOPLE}|{IMAGES})\b", re.I)

# A comment of the library, and of the programs that users read beside it, names its subject, does not stand in
# parentheses, and cites no number of a list that is not in the tree.  Labels of a few words are not counted.
LIBRARY = ("core/", "backends/", "abi/", "include/", "port/", "models/")
PROGRAMS = ("tools/", "efi-demo/", "examples/")
PRONOUN = re.compile(r"(?:It|Its|They|This|That|Those|These|What|One|Both|Others|All that|The same|Such)\b")
LABEL = 25
RULING = re.compile(r"\bR[1-9]\d?\b")

# This file and the tables that it writes; generated tables; what tests read as input; names that a system gives.
EXEMPT = re.compile(r"tests/build/(prose\.py|plain_english\.tsv)$|events/|tests/(records|import)/|LICENSE$")


def of_c(text):
    """(line, text) of each comment and literal."""
    for found in re.finditer(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', text, re.S):
        yield text.count("\n", 0, found.start()) + 1, found.group()


def comments_of(text):
    """(line, words) of each comment of a C source."""
    for line, found in of_c(text):
        if found.startswith("/"):
            words = re.sub(r"^\s*\*+(?!/)", "", found.strip("/"), flags=re.M).strip("* \n")
            yield line, " ".join(words.split())


def lacks_subject(words):
    return len(words) >= LABEL and PRONOUN.match(words) is not None


def is_in_parentheses(words):
    depth = 0
    for place, letter in enumerate(words.rstrip(".") if words.startswith("(") else ""):
        depth += (letter == "(") - (letter == ")")
        if not depth:
            return place == len(words.rstrip(".")) - 1
    return False


def of_python(text):
    kinds = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in kinds:
            yield token.start[0], token.string


def of_hashes(text):
    for number, line in enumerate(text.split("\n"), 1):
        found = re.search(r"(?:^|\s)#.*", line)
        if found:
            yield number, found.group()


def of_mutants(text):
    """Comments, and the column that says why: patterns are source text, which is looked at where it stands."""
    header = next((line for line in text.split("\n") if "\twhy\t" in line), "")
    for number, line in enumerate(text.split("\n"), 1):
        cells = line.split("\t")
        column = header.split("\t").index("why") if header else len(cells)
        yield number, line if line.startswith("#") else " ".join(cells[column:column + 1])


def of_document(text):
    yield 1, text


def reader(path):
    if path.startswith("tests/mutants/") and path.endswith(".tsv"):
        return of_mutants
    if path.endswith((".sh", ".mk", ".tsv", ".asm")) or os.path.basename(path) == "Makefile":
        return of_hashes
    for suffix, function in ((".c", of_c), (".h", of_c), (".S", of_c), (".pml", of_c), (".py", of_python), (".md", of_document)):
        if path.endswith(suffix):
            return function
    return None


def uses(path):
    """(line, word) of each banned word in the file."""
    function = reader(path)
    if not function or EXEMPT.search(path):
        return []
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    return [(first + words.count("\n", 0, found.start()), " ".join(found.group().split()))
            for first, words in function(text) for found in BANNED.finditer(words)]


def tracked():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], stdout=subprocess.PIPE,
                            check=True).stdout.decode()
    return [path for path in listed.split("\n") if os.path.isfile(path)]


def key(path):
    """Sources keep their number when they move: their names are unique."""
    return os.path.basename(path) if path.endswith((".c", ".h", ".S")) else path


def allowed():
    with open(TABLE, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file if line.strip() and not line.startswith("#")]
    return {name: int(number) for name, number in rows}


def write(found):
    with open(TABLE, "w", encoding="utf-8") as file:
        file.write("# SPDX-License-Identifier: MIT\n"
                   "# Uses of words that Plain English does without: tests/build/prose.py --write. Only ever lower.\n")
        for path in sorted(found, key=key):
            file.write(f"{key(path)}\t{len(found[path])}\n")


if __name__ == "__main__":
    FOUND = {path: uses(path) for path in tracked()}
    FOUND = {path: places for path, places in FOUND.items() if places}
    if sys.argv[1:] == ["--write"]:
        write(FOUND)
    else:
        for path, places in FOUND.items():
            for line, word in places:
                print(f"{path}:{line}: {word}")
    print(sum(map(len, FOUND.values())), "uses in", len(FOUND), "files", file=sys.stderr)
