#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stack and recursion, from the compiler's own call graph (gcc -fcallgraph-info=su).

An indirect call is taken for a call of each function that a backend's vtable offers
for use inside the handler; a hook's stack is the host's and not counted.
"""
import os
import re

from checklib import FREESTANDING, check, code_of, files, main, parallel, run

HANDLER_LIMIT_BYTES = 512
LOOKUP_LIMIT_BYTES = 1024
# Files with code that runs in the handler.
HANDLER_FILES = ["core/pmi.c", "core/bank.c", "core/count.c", "core/ring.c"]
LOOKUPS = ["upmu_catalog_lookup", "upmu_catalog_row", "upmu_catalog_name", "upmu_catalog_mask_name"]
SETTINGS = {"O2-64": ["-m64", "-O2"], "Os-64": ["-m64", "-Os"], "O2-32": ["-m32", "-O2"], "Os-32": ["-m32", "-Os"]}


def lent_to_the_handler():
    """Backend functions that the handler's files call through the backend's table."""
    members = {name for path in files(*HANDLER_FILES) for name in re.findall(r"backend->(\w+)\(", code_of(path))}
    return {name for path in files("backends/*/*.c")
            for member, name in re.findall(r"^\s*\.(\w+) = (\w+),", code_of(path), re.M) if member in members}


class Graph:
    def __init__(self, folder):
        self.bytes, self.calls, self.lent = {}, {}, lent_to_the_handler()
        for path in sorted(f"{folder}/{name}" for name in os.listdir(folder) if name.endswith(".ci")):
            text = open(path).read()
            for title, label in re.findall(r'node: \{ title: "([^"]+)" label: "((?:[^"\\]|\\.)*)"', text):
                found = re.search(r"(\d+) bytes \((\w+)", label)
                if found:
                    name = self.name(title)
                    self.bytes[name] = max(self.bytes.get(name, 0), int(found.group(1)))
            for source, target in re.findall(r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"', text):
                self.calls.setdefault(self.name(source), set()).add(self.name(target))

    @staticmethod
    def name(title):
        return title.split(":")[-1].split(".")[0]

    def targets(self, function):
        found = self.calls.get(function, set())
        return (found - {"__indirect_call"}) | (self.lent if "__indirect_call" in found else set())

    def deepest(self, function, path=()):
        """(bytes, path) of the deepest chain; raises RecursionError with the cycle."""
        if function in path:
            raise RecursionError(" -> ".join(path[path.index(function):] + (function,)))
        best, chain = 0, ()
        for target in sorted(self.targets(function)):
            if target in self.bytes:
                deep, below = self.deepest(target, path + (function,))
                if deep > best:
                    best, chain = deep, below
        # The return address of each call is the callee's.
        return self.bytes.get(function, 0) + 8 + best, (function,) + chain

    def reachable(self, function):
        seen, todo = set(), [function]
        while todo:
            name = todo.pop()
            if name not in seen:
                seen.add(name)
                todo += self.targets(name)
        return seen


GRAPHS = {}


def graph(setting):
    if setting not in GRAPHS:
        folder = f"build/tests/stack-{setting}"
        os.makedirs(folder, exist_ok=True)
        for old in os.listdir(folder):
            os.unlink(f"{folder}/{old}")

        def compile_one(source):
            built = f"{folder}/{os.path.basename(source)[:-2]}.o"
            code, output = run(["gcc"] + FREESTANDING + SETTINGS[setting] +
                               ["-fstack-usage", "-fcallgraph-info=su", "-c", "-o", built, source])
            return [output] if code else []
        problems = parallel(compile_one, files("core/*.c", "backends/*/*.c"))
        GRAPHS[setting] = Graph(folder), problems
    return GRAPHS[setting]


def deeper_than(limit, functions):
    complaints = []
    for setting in SETTINGS:
        found, problems = graph(setting)
        complaints += problems
        worst = (0, ())
        for function in functions:
            if function not in found.bytes:
                complaints.append(f"{setting}: there is no {function}")
                continue
            try:
                worst = max(worst, found.deepest(function))
            except RecursionError as cycle:
                complaints.append(f"{setting}: {function} recurses: {cycle}")
        print(f"stack {functions[0]} {setting}: {worst[0]} of {limit} bytes: {' > '.join(worst[1])}")
        if worst[0] > limit:
            complaints.append(f"{setting}: {worst[0]} bytes: {' > '.join(worst[1])}")
    return complaints


@check
def handler_needs_at_most_512_bytes_of_stack():
    return deeper_than(HANDLER_LIMIT_BYTES, ["upmu_handle_pmi"])


@check
def lookups_need_less_than_1_kib_of_stack():
    return deeper_than(LOOKUP_LIMIT_BYTES - 1, LOOKUPS)


@check
def no_function_recurses():
    complaints = []
    for setting in SETTINGS:
        found, problems = graph(setting)
        complaints += problems
        for function in sorted(found.bytes):
            try:
                found.deepest(function)
            except RecursionError as cycle:
                complaints.append(f"{setting}: {cycle}")
    return sorted(set(complaints))


@check
def handler_calls_nothing_that_allocates_logs_or_asserts():
    complaints = []
    for setting in SETTINGS:
        found, problems = graph(setting)
        complaints += problems
        if "upmu_handle_pmi" not in found.bytes:
            complaints.append(f"{setting}: there is no upmu_handle_pmi")
        for name in sorted(found.reachable("upmu_handle_pmi")):
            if re.search(r"(^|_)(log|assert|format|text|why|encode|place)(_|$)", name):
                complaints.append(f"{setting}: {name}")
    return complaints


if __name__ == "__main__":
    main()
