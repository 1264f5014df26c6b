# SPDX-License-Identifier: MIT
"""What earlier runs have noticed, so that a run that was stopped goes on: a file, named by MUTANT_STATE.

A line is the hash of a mutant, the test that noticed it, and the hash of that test's program without the mutant.  The
hash of a mutant has all that it is made of.  So a line counts only while neither has changed.  What survives is in no
line, and is tried again each time.
"""
import hashlib
import os
import threading


def digest(*texts):
    """The hash of texts, or of bytes, in this order."""
    sums = hashlib.sha256()
    for text in texts:
        piece = text if isinstance(text, bytes) else str(text).encode()
        sums.update(f"{len(piece)} ".encode() + piece)
    return sums.hexdigest()[:20]


def digest_file(path):
    with open(path, "rb") as file:
        return digest(file.read())


class Judged:
    def __init__(self, path=None):
        self.path, self.lock = os.environ.get("MUTANT_STATE", "") if path is None else path, threading.Lock()
        self.lines, self.programs, self.kept = {}, {}, 0
        if self.path and os.path.exists(self.path):
            with open(self.path, encoding="utf-8") as file:
                self.lines = {row[0]: row[1:] for row in (line.rstrip("\n").split("\t") for line in file) if len(row) == 3}

    def program(self, path):
        if path not in self.programs:
            self.programs[path] = digest_file(path)
        return self.programs[path]

    def killer(self, mutant, find):
        """The test that has noticed a mutant; find(test) is the path of its program.  None: it has to be tried."""
        test, program = self.lines.get(mutant, (None, None))
        path = find(test) if test else None
        if not path or self.program(path) != program:
            return None
        with self.lock:
            self.kept += 1
        return test

    def note(self, mutant, test, path):
        if not self.path:
            return
        with self.lock:
            os.makedirs(os.path.dirname(self.path) or ".", exist_ok=True)
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(f"{mutant}\t{test}\t{self.program(path)}\n")


def counts_while_nothing_changes(folder):
    """Does a line count in the next run, and no more once the mutant or the program is another?"""
    os.makedirs(folder, exist_ok=True)
    state, program = os.path.join(folder, "judged.tsv"), os.path.join(folder, "judged_program")
    if os.path.exists(state):
        os.remove(state)
    answers = []
    for text in "one", "two":
        with open(program, "w", encoding="utf-8") as file:
            file.write(text)
        answers += [Judged(state).killer(digest("mutant"), lambda test: program)]
        if text == "one":
            Judged(state).note(digest("mutant"), "test_x", program)
            answers += [Judged(state).killer(mutant, lambda test: program) for mutant in (digest("mutant"), digest("other"))]
    return answers == [None, "test_x", None, None]
