#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stack and recursion, from the compiler's own call graph (gcc -fcallgraph-info=su).

An indirect call of a backend's function is taken for a call of each backend's; a
hook's stack is the host's and not counted.
"""
import os
import re

from checklib import FREESTANDING, check, code_of, files, main, parallel, run

HANDLER_LIMIT_BYTES = 512
LOOKUP_LIMIT_BYTES = 1024
LOOKUPS = ["upmu_catalog_lookup", "upmu_catalog_row", "upmu_catalog_name", "upmu_catalog_mask_name"]
SETTINGS = {"O2-64": ["-m64", "-O2"], "Os-64": ["-m64", "-Os"], "O2-32": ["-m32", "-O2"], "Os-32": ["-m32", "-Os"]}


def backend_functions():
    """{member of the backend's table: its functions}"""
    found = {}
    for path in files("backends/*/*.c"):
        for member, name in re.findall(r"^\s*\.(\w+) = (\w+),", code_of(path), re.M):
            found.setdefault(member, set()).update((name, f"{path}:{name}"))
    return found


class Graph:
    def __init__(self, folder):
        self.bytes, self.calls, self.unknown, self.lines = {}, {}, {}, {}
        members = backend_functions()
        for path in sorted(f"{folder}/{name}" for name in os.listdir(folder) if name.endswith(".ci")):
            text = open(path).read()
            for title, label in re.findall(r'node: \{ title: "([^"]+)" label: "((?:[^"\\]|\\.)*)"', text):
                found = re.search(r"(\d+) bytes \((\w+)", label)
                if found:
                    name = self.name(title)
                    self.bytes[name] = max(self.bytes.get(name, 0), int(found.group(1)))
            for source, target, where in re.findall(
                    r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"(?: label: "([^"]*)")?', text):
                targets = {self.name(target)}
                if target == "__indirect_call":
                    targets = self.indirect(where, members)
                    if targets is None:
                        self.unknown.setdefault(self.name(source), []).append(where)
                        targets = set()
                self.calls.setdefault(self.name(source), set()).update(targets)

    @staticmethod
    def name(title):
        return title[2:] if title.startswith("./") else title

    def indirect(self, where, members):
        """Functions that an indirect call may reach; None if that cannot be told."""
        path, line = re.match(r"(?:\./)?(.+?):(\d+)", where).groups()
        if path == "core/port_call.h":
            return set()
        if path not in self.lines:
            self.lines[path] = code_of(path).split("\n")
        called = re.findall(r"backend->(\w+)\(", " ".join(self.lines[path][int(line) - 1:int(line) + 1]))
        return set().union(*(members.get(name, set()) for name in called)) if called else None

    def targets(self, function):
        return self.calls.get(function, set())

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
                               ["-fstack-usage", "-fcallgraph-info=su", "-c", "-o", built, source],
                               env=dict(os.environ, CCACHE_DISABLE="1"))  # (it would keep the graphs to itself)
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
            complaints += [f"{setting}: {name}: what is called at {where}?" for where in found.unknown.get(name, [])]
            if re.search(r"(^|_)(log|assert|format|text|why|encode|place)(_|$)", name):
                complaints.append(f"{setting}: {name}")
    return complaints


if __name__ == "__main__":
    main()
