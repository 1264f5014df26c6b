# SPDX-License-Identifier: MIT
"""The library's calls and the stack of each function, from what the compilers write.

Each source is compiled to assembly text with call frame information: a function's
stack is its largest distance to the caller's frame, return address included, and its
calls stand there by name.  An indirect call is looked up by its source line.  A
hook's stack is the host's and not counted; neither are memcpy() and the like.
"""
import functools
import os
import re

import checklib
from checklib import FREESTANDING, files, parallel, read, run

code_of = functools.cache(checklib.code_of)

# (Of the builds named here the objects' assembly text is at hand.)
BUILDS = {"gcc-O2-64": "gcc-64", "gcc-O2-32": "gcc-32", "clang-O2-64": "clang-64", "clang-O2-32": "clang-32",
          "gcc-Os-64": "os"}
SETTINGS = {f"{compiler}-{level}-{bits}": [compiler, f"-m{bits}", f"-{level}"]
            for compiler, level in (("gcc", "O2"), ("gcc", "Os"), ("clang", "O2")) for bits in (64, 32)}

# Indirect calls by what stands in their source line: definitions of the functions that they reach.
ALTERNATIVE = r"\(const void \*context, unsigned request, unsigned i,\s+struct upmu_alternative \*out\)"
INDIRECT = [
    (r"\bplacing\((&work|cpu->meter\.work), argument\)", r"(\w+)\(struct upmu_place_work \*work, void \*\w+\)"),
    (r"\bleaves\(other\)", r"static bool (session_shares|session_yields)\(const struct upmu_session \*session\)"),
    (r"call->work\(call\)", r"(\w+)\(const struct upmu_call \*call\)"),
    (r"input->alternative\(", r"(\w+)" + ALTERNATIVE),
    (r"place->alternative\(", r"(event_alternative)" + ALTERNATIVE),  # (a list's: not its own again)
    (r"letters_take : codes_take\)\(", r"(letters_take|codes_take)\([^;{]*\)"),
    (r"\bleaves\(other\)", r"static bool (\w+)\(const struct upmu_session \*session\)"),
    (r"probe->loop\(", r"(built_in_loop)\(void \*\w+\)"),
    (r"detection->(cpuid|rdmsr)\(", None),  # through the port's hooks
    (r"watched->written\(", None),  # the host's: include/upmu/page.h says how much stack it may use
    (r"\bport_\w+\(|UPMU_BARRIER", None),
    (r"\bvisit\(finder, where, id >> 16\)", r"(note_ubox|visit_for_units)\([^;{]*\)"),
    (r"seen->(cpuid|rdmsr|pci_read|mmio_read|map|unmap)\(",
     r"static [\w *]+\b(see_\w+)\(void \*context, [^)]*\)"),
    (r"\bwork\(meter, argument\)", None),  # (see PASSED)
    (r"\bwrite\((&count|emit), call, index\)", None),  # (the same)
    (r"\brename\(context, &queue", None),  # the host's
    (r"group->(un)?lock\(group->context\)", None),  # the host's
    (r"output->write\(|results->symbol\(|values->value\(", None),  # the host's
    (r"\bcall\(hybrid->session", r"enum upmu_status (upmu_session_(?:stop|detach|close))\(struct upmu_session \*session\)"),
    (r"form->write\(", r"static void (\w+_write)\(struct upmu_emit \*emit, struct upmu_results_call \*call\)"),
    (r"form->prepare\(", r"static enum upmu_status (\w+_prepare)\(struct upmu_results_call \*call\)"),
]

# Functions that call one that is passed to them: each of their calls is a function of its own here, with what it passes.
PASSED = {"upmu_bracket_run": re.compile(r"\bupmu_bracket_run\([^,]+, (\w+),"),
          "field_message": re.compile(r"\bfield_message\([^;]*, (\w+)\);")}
# Functions that pass it on: what stands in their callers' source line, and the functions between.
PASSED_ON = {"call_unit": (re.compile(r"\bcall_unit\([^,]+, (\w+), [^)]+\)"), ("call_here", "upmu_bracket_run")),
             "upmu_units_each": (re.compile(r"\bupmu_units_each\([^,]+, (\w+), [^)]+\)"), ("upmu_bracket_run",)),
             "on_all": (re.compile(r"\bon_all\([^,]+, (\w+), (\w+)\)"), ("upmu_units_each", "upmu_bracket_run"))}


def backend_functions():
    """{member of the backend's table: its functions}"""
    found = {}
    for path in files("backends/*/*.c"):
        for member, name in re.findall(r"^\s*\.(\w+) = (\w+),", code_of(path), re.M):
            found.setdefault(member, set()).update((name, f"{path}:{name}"))
    return found


def functions_with(signature):
    found = set()
    for path in files("core/*/*.c", "backends/*/*.c"):
        for name in re.findall(signature + r"\s*\{", code_of(path)):
            found.update((name, f"{path}:{name}"))
    return found


class Frame:
    """Bytes on the stack of one function, line by line: by the call frame information or, where that only names a
    frame pointer, by the instructions."""

    def __init__(self, own):
        self.own = self.now = self.most = own
        self.pointer, self.kept, self.lost = None, [], False

    def follow(self, kind, rest):
        if kind in (".cfi_def_cfa_offset", ".cfi_adjust_cfa_offset"):
            amount = int(rest.split()[0])
            self.now = amount if kind == ".cfi_def_cfa_offset" else self.now + amount
        elif kind in (".cfi_def_cfa_register", ".cfi_def_cfa"):
            register, _, offset = rest.replace("%", "").partition(",")
            on_stack = register.strip() in ("esp", "rsp", "4" if self.own == 4 else "7")
            self.pointer = None if on_stack else self.now
            self.now = int(offset) if on_stack and offset else self.now
        elif kind == ".cfi_remember_state":
            self.kept.append((self.now, self.pointer))
        elif kind == ".cfi_restore_state":
            self.now, self.pointer = self.kept.pop()
        elif self.pointer is not None:
            self.instruct(kind, rest)
        self.most = max(self.most, self.now)

    def instruct(self, kind, rest):
        if "sp" not in rest and not kind.startswith(("push", "pop")):
            return
        amount = re.fullmatch(r"\$(-?\d+), %[er]sp", rest)
        address = re.fullmatch(r"-(\d+)\(%[er]bp\), %[er]sp", rest)
        if kind.startswith("push"):
            self.now += self.own
        elif kind.startswith("pop"):
            self.now -= self.own
        elif kind.startswith("sub") and amount:
            self.now += int(amount.group(1))
        elif kind.startswith("add") and amount:
            self.now -= int(amount.group(1))
        elif kind.startswith("and") and amount:
            self.now += -int(amount.group(1)) - self.own
        elif kind.startswith("lea") and address:
            self.now = self.pointer + int(address.group(1))
        elif re.search(r"%[er]sp$", rest) and not kind.startswith(("cmp", "test", "mov%")) and kind != "leave":
            self.lost = True


class Graph:
    """`bytes` and `calls` of functions; static ones are called path:name.  `unknown`: {function: source lines}."""

    def __init__(self, texts, own):
        """From the assembly texts {source: path}; `own`: bytes of a return address."""
        self.bytes, self.calls, self.unknown, self.lines = {}, {}, {}, {}
        self.members = backend_functions()
        self.reached = {signature: functions_with(signature) for _, signature in INDIRECT if signature}
        self.deep = {}
        self.passing = {}
        for source, path in sorted(texts.items()):
            self.add_source(path, source, own)
        for function, (name, passed, between) in self.passing.items():
            most = {}
            for one, size in self.bytes.items():
                plain = label_of(one).split(".")[0].split("(")[0]
                most[plain] = max(most.get(plain, 0), size)
            self.bytes[function], self.calls[function] = self.bytes.get(name, 0), self.calls.get(name, set()) | {passed}
            if between:  # frames between it and what is passed, which its other calls do not stand on
                inner = f"{', '.join(between)}({passed})"
                self.bytes[inner], self.calls[inner] = sum(most.get(one, 0) for one in between), {passed}
                self.calls[function] = self.calls.get(name, set()) | {inner}

    def add_source(self, path, source, own):
        text = read(path)
        globals_ = set(re.findall(r"^[ \t]*\.globl[ \t]+(\S+)", text, re.M))
        functions = set(re.findall(r"^[ \t]*\.type[ \t]+(\S+?),[ \t]*[@%]function", text, re.M))
        names = {name: name if name in globals_ else f"{source}:{name}" for name in functions}
        numbers, function, where, frame = {}, None, (source, 0), Frame(own)
        for line in text.split("\n"):
            label = re.match(r"([\w.$]+):", line) if line[:1] != "\t" else None
            if label and label.group(1) in functions:
                function, frame = names[label.group(1)], Frame(own)
                self.calls.setdefault(function, set())
            word = line.split("#")[0].split(None, 1)
            if not word or label:
                continue
            kind, rest = word[0], word[1].strip() if len(word) > 1 else ""
            if kind[0] == "." and not kind.startswith((".cfi_", ".file", ".loc")):
                continue
            if kind == ".file" and re.match(r"\d", rest):
                quoted = re.findall(r'"([^"]*)"', rest)
                numbers[rest.split()[0]] = "/".join(quoted[:2] if quoted[0][:1] != "/" else quoted[1:2])
            elif kind == ".loc":
                parts = rest.split()
                if parts[1] != "0":
                    where = (numbers.get(parts[0], source), int(parts[1]))
            elif function:
                frame.follow(kind, rest)
                self.bytes[function] = frame.most
                if frame.lost:
                    self.unknown.setdefault(function, []).append(f"its stack after '{kind} {rest}'?")
                    frame.lost = False
                if kind.startswith("call") or (kind.startswith("j") and not rest.startswith(".L")):
                    self.add_call(function, kind, rest, where, names)

    def add_call(self, function, kind, target, where, names):
        if not target.startswith("*"):
            name = re.match(r"[\w.$]+", target).group(0)
            self.calls[function] |= (self.with_passed(function, name, where, names) if name.split(".")[0] in {*PASSED, *PASSED_ON} else {names.get(name, name)})
        elif kind.startswith("call") or not re.match(r"\*\.L|\*.*\.L\w*J?TI?", target):
            self.calls[function] |= self.indirect(function, where)

    def source_line(self, path, line):
        if path not in self.lines:
            self.lines[path] = code_of(path).split("\n")
        return " ".join(self.lines[path][int(line) - 1:int(line) + 1])

    def with_passed(self, function, name, where, names):
        """The functions that stand for a call of one in PASSED or PASSED_ON."""
        path, line = re.sub(r"^\./", "", where[0]), where[1]
        plain = name.split(".")[0]
        pattern, between = PASSED_ON.get(plain, (PASSED.get(plain), ()))
        passed = pattern.search(self.source_line(path, line))
        groups = [names.get(one, one) for one in passed.groups()] if passed else []
        if not groups or not all(one in names.values() or one.startswith("upmu_") for one in groups):
            if label_of(function).split(".")[0] not in {"call_here", *PASSED_ON}:
                self.unknown.setdefault(function, []).append(f"what is passed at {path}:{line}?")
            return {names.get(name, name)}
        for one in groups:
            self.passing[f"{name}({one})"] = (names.get(name, name), one, between)
        return {f"{name}({one})" for one in groups}

    def indirect(self, function, where):
        path, line = where
        path = re.sub(r"^\./", "", path)
        if path == "core/hw/port_call.h":
            return set()
        text = self.source_line(path, line)
        called = re.findall(r"(?:backend|backends\[i\])->(\w+)\(", text)
        if called:
            return set().union(*(self.members.get(name, set()) for name in called))
        for pattern, signature in INDIRECT:
            if re.search(pattern, text):
                return self.reached[signature] if signature else set()
        self.unknown.setdefault(function, []).append(f"what is called at {path}:{line}?")
        return set()

    def targets(self, function, without=()):
        return [name for name in sorted(self.calls.get(function, ())) if name in self.bytes and
                label_of(name).split(".")[0] not in without]

    def deepest(self, function, without=(), path=()):
        """(bytes, path) of the deepest chain that leaves out some functions; RecursionError with the cycle."""
        if function in path:
            raise RecursionError(" -> ".join(path[path.index(function):] + (function,)))
        if (function, without) not in self.deep:
            best = (0, ())
            for target in self.targets(function, without):
                best = max(best, self.deepest(target, without, path + (function,)))
            self.deep[function, without] = (self.bytes.get(function, 0) + best[0], (function,) + best[1])
        return self.deep[function, without]

    def reachable(self, function):
        seen, todo = set(), [function]
        while todo:
            name = todo.pop()
            if name not in seen:
                seen.add(name)
                todo += self.targets(name)
        return seen


def label_of(function):
    return function.split(":")[-1]


GRAPHS = {}


def graph(setting):
    """(Graph, complaints) of a setting, read once; what no build has is compiled."""
    if setting not in GRAPHS:
        texts = {source: f"build/{BUILDS.get(setting)}/{source[:-2]}.s" for source in files("core/*/*.c", "backends/*/*.c")}

        def compile_one(source):
            if os.path.exists(texts[source]) and os.path.getmtime(texts[source]) >= os.path.getmtime(source):
                return []
            texts[source] = f"build/tests/stack-{setting}/{source[:-2]}.s"
            os.makedirs(os.path.dirname(texts[source]), exist_ok=True)
            code, output = run(SETTINGS[setting] + FREESTANDING +
                               ["-fasynchronous-unwind-tables", "-g1", "-S", "-o", texts[source], source])
            return [output] if code else []
        problems = parallel(compile_one, list(texts))
        GRAPHS[setting] = Graph(texts, 4 if setting.endswith("32") else 8), problems
    return GRAPHS[setting]
