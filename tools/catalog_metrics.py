#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make the table of derived metrics from published files of formulas.

    python3 tools/catalog_metrics.py MODEL-FOLDER...    events/metrics/intel.tsv, then as --pack
    python3 tools/catalog_metrics.py --pack             events/metrics/*.tsv -> events/metric_data.c
    python3 tools/catalog_metrics.py --check            is events/metric_data.c made of these?  exit 1 if not

A folder is one of github.com/intel/perfmon, with metrics/*_metrics*.json (SKX).  Of each model that has a catalogue, the
metrics of tools/catalog_metrics.tsv are taken.  What a formula is, docs/METRICS.md says.  A formula with anything else in
it, or with an event that the model's catalogue does not have, is left out, and that is said.
Only facts are taken: formulas, not descriptions.
"""
import ast
import decimal
import glob
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import catalog_pack as pack  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = "events/metrics"
INTEL = FOLDER + "/intel.tsv"
OUTPUT = "events/metric_data.c"
# Intel's names for what upmu calls otherwise.
EVENTS = {"PERF_METRICS.FRONTEND_BOUND": "topdown-fe-bound", "PERF_METRICS.BAD_SPECULATION": "topdown-bad-spec",
          "PERF_METRICS.RETIRING": "topdown-retiring", "PERF_METRICS.BACKEND_BOUND": "topdown-be-bound",
          "TOPDOWN.SLOTS:PERF_METRICS": "TOPDOWN.SLOTS"}
CONSTANTS = {"HYPERTHREADING_ON": "smt", "DURATIONTIMEINSECONDS": "seconds"}
MILLISECONDS = "DURATIONTIMEINMILLISECONDS"
SIGNS = {ast.Add: ("+", 2), ast.Sub: ("-", 2), ast.Mult: ("*", 3), ast.Div: ("/", 3)}
COMPARISONS = {ast.Lt: "<", ast.Gt: ">", ast.LtE: "<=", ast.GtE: ">="}
CATALOGUES = 32  # in a mask of the table


class LeftOut(Exception):
    pass


def rows_of(path):
    """The rows of a file of tabbed columns; its notes "# from: ..."."""
    with open(os.path.join(pack.ROOT, path), encoding="ascii") as file:
        lines = file.read().split("\n")
    return ([line.split("\t") for line in lines if line and not line.startswith("#")],
            [line[8:] for line in lines if line.startswith("# from: ")])


def names_of(paths):
    """{folded name: unit, or "" of a core} of all events in sources of catalogues."""
    found = {}
    for path in paths:
        catalogue = pack.read_source(path)
        units = {number: unit for unit, number in catalogue.units.items()}
        for row in catalogue.rows:
            names = [row.name] + [row.name + "." + mask.name for mask in row.masks]
            names += [row.name + "." + other for other, _ in row.mask_aliases]
            found.update({pack.fold(name): units.get(row.unit, "") for name in names})
        found.update({pack.fold(name): "" for name, _, _ in catalogue.aliases if not catalogue.units})
    return found


class Text(ast.NodeVisitor):
    """A formula in Python's syntax, as upmu has it: visit() gives (text, how strongly it binds)."""

    def __init__(self, words, events):
        self.words, self.events = words, events

    def inner(self, node, least):
        text, binds = self.visit(node)
        return text if binds >= least else f"({text})"

    def visit_Expression(self, node):
        return self.visit(node.body)

    def visit_Constant(self, node):
        if not isinstance(node.value, (int, float)) or isinstance(node.value, bool):
            raise LeftOut(f"constant {node.value!r}")
        return format(decimal.Decimal(repr(node.value)), "f"), 5

    def visit_Name(self, node):
        word = self.words.get(node.id, node.id)
        if word in CONSTANTS:
            return CONSTANTS[word], 5
        if word == MILLISECONDS:
            return "1000 * seconds", 3
        if node.id not in self.words:
            raise LeftOut(f"name {node.id}")
        return "{" + self.event(word) + "}", 5

    def event(self, name):
        name = EVENTS.get(name.upper(), name)
        if pack.fold(name) not in self.events:
            raise LeftOut(f"event {name}")
        unit = self.events[pack.fold(name)]
        return f"{unit}/{name}" if unit else name

    def visit_BinOp(self, node):
        if type(node.op) not in SIGNS:
            raise LeftOut(ast.dump(node.op))
        if (isinstance(node.op, ast.Div) and isinstance(node.left, ast.Name) and
                self.words.get(node.left.id, node.left.id) == MILLISECONDS and
                isinstance(node.right, ast.Constant) and node.right.value == 1000):
            return "seconds", 5
        sign, binds = SIGNS[type(node.op)]
        return f"{self.inner(node.left, binds)} {sign} {self.inner(node.right, binds + 1)}", binds

    def visit_UnaryOp(self, node):
        if not isinstance(node.op, ast.USub):
            raise LeftOut(ast.dump(node.op))
        return "-" + self.inner(node.operand, 4), 4

    def visit_IfExp(self, node):
        return f"if({', '.join(self.visit(part)[0] for part in (node.test, node.body, node.orelse))})", 5

    def visit_Call(self, node):
        name = getattr(node.func, "id", "")
        if name not in ("min", "max") or len(node.args) != 2 or node.keywords:
            raise LeftOut(f"call {name}")
        return f"{name}({', '.join(self.visit(part)[0] for part in node.args)})", 5

    def visit_Compare(self, node):
        if len(node.ops) != 1 or type(node.ops[0]) not in COMPARISONS:
            raise LeftOut("comparison")
        return f"{self.inner(node.left, 2)} {COMPARISONS[type(node.ops[0])]} {self.inner(node.comparators[0], 2)}", 1

    def generic_visit(self, node):
        raise LeftOut(type(node).__name__)


def formula_of(metric, factor, events):
    words = {one["Alias"]: one["Name"] for one in metric["Events"] + metric["Constants"]}
    try:
        tree = ast.parse(metric["Formula"].strip(), mode="eval")
    except SyntaxError as error:
        raise LeftOut(f"syntax: {error}") from error
    text, binds = Text(words, events).visit(tree)
    return text if factor == 1 else f"{factor} * {text if binds >= 3 else '(' + text + ')'}"


def catalogues():
    """{a file's model: catalogue}, as the importer of events calls them."""
    rows, _ = rows_of("tools/catalog_models.tsv")
    return {row[0].lower(): row[2] for row in rows if row[0] != "-"}


def units_of(events, catalogue):
    """The source of a model's units: whose name begins as the catalogue's, or that stands for several."""
    alias = {"clx": "skx", "hsw_ep": "hsx", "bdw_ep": "bdx", "emr": "spr", "adl_glc": "adl", "rkl": "rkl", "lnc": "lnl",
             "arl_lnc": "mtl", "mtl_rwc": "mtl", "srf": "gnr", "grr": "gnr", "cwf": "gnr"}
    path = os.path.join(events, alias.get(catalogue, catalogue) + "_uncore.tsv")
    return [path] if os.path.exists(path) else []


def take(folders):
    """(the text of events/metrics/intel.tsv, what was left out)"""
    wanted, _ = rows_of("tools/catalog_metrics.tsv")
    known, found, notes, left = catalogues(), {}, [], []
    events = os.path.join(pack.ROOT, "events")
    for path in sorted(path for folder in folders for path in glob.glob(os.path.join(folder, "metrics", "*_metrics*.json"))):
        model = re.sub(r"_metrics|_core(?=\.json)|\.json", "", os.path.basename(path)).lower()
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        if "Metrics" not in data:
            continue
        if model not in known:
            left.append(f"{model}: no catalogue")
            continue
        catalogue = known[model]
        source = os.path.join(events, catalogue + ".tsv")
        names = names_of(units_of(events, catalogue) + [source])
        published = {metric["MetricName"].lower(): metric for metric in data["Metrics"]}
        notes.append(f"{catalogue}: Intel perfmon, {os.path.basename(path)} V{data['Header']['Version']} of "
                     f"{data['Header']['DatePublished']}")
        for metric, group, unit, choices in wanted:
            for choice in choices.split():
                name, _, factor = choice.partition("*")
                if name.lower() not in published:
                    continue
                try:
                    key = (metric, group, unit, formula_of(published[name.lower()], int(factor or 1), names))
                    found.setdefault(key, []).append(catalogue)
                    break
                except LeftOut as why:
                    left.append(f"{model}: {name}: {why}")
    order = [row[0] for row in wanted]
    lines = ["# SPDX-License-Identifier: MIT", "# Made by tools/catalog_metrics.py from published formulas: do not edit."]
    lines += ["# from: " + note for note in notes] + ["# metric, group, unit, catalogues, formula"]
    lines += ["\t".join([metric, group, unit, " ".join(sorted(models)), formula])
              for (metric, group, unit, formula), models in sorted(found.items(), key=lambda item: (order.index(item[0][0]), item[1]))]
    return "\n".join(lines) + "\n", left


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def table():
    """The text of events/metric_data.c."""
    paths = sorted(glob.glob(os.path.join(pack.ROOT, FOLDER, "*.tsv")), key=lambda path: (path.endswith("generic.tsv"), path))
    rows = [row for path in paths for row in rows_of(path)[0]]
    models = sorted({model for row in rows for model in row[3].split() if model != "-"})
    assert len(models) <= CATALOGUES, "more catalogues than bits"
    lines = ["/* SPDX-License-Identifier: MIT */", "/*",
             " * Derived metrics.  Generated by tools/catalog_metrics.py from events/metrics/: do not edit.", " */",
             '#include "core/results/metric_core.h"', "", "#if UPMU_FORMULAS && UPMU_NAMES", "",
             "/* Is the catalogue in this build?  Either of its names may be chosen. */"]
    for model in models:
        names = [name for name in (model, pack.read_source(os.path.join(pack.ROOT, "events", model + ".tsv")).other) if name]
        for name in names:
            lines += [f"#ifndef UPMU_EVENTS_{name}", f"#define UPMU_EVENTS_{name} 0", "#endif"]
        lines.append(f"#define WITH_{model} ({' || '.join('UPMU_EVENTS_' + name for name in ['ALL'] + names)})")
    lines += ["", "/* Bit i of a row: for the i-th of these catalogues. */",
             "const char upmu_metric_catalogues[] ="] + [f'    "{model}\\0"' for model in models]
    lines[-1] += ";"
    lines += ["", "const struct upmu_metric_row upmu_metric_row[] = {"]
    for name, group, unit, chosen, formula in rows:
        mask = sum(1 << models.index(model) for model in chosen.split() if model != "-")
        lines += ["#if " + " || ".join("WITH_" + model for model in chosen.split())] if mask else []
        lines += [f"    {{{quoted(name)}, {quoted(group)}, {quoted(unit if unit != '-' else '')}, {mask:#x},"]
        lines += ["     " + quoted(formula[at:at + 100]) for at in range(0, len(formula), 100)]
        lines[-1] += "},"
        lines += ["#endif"] if mask else []
    lines += ["};", "", "const unsigned upmu_metric_rows = sizeof upmu_metric_row / sizeof upmu_metric_row[0];"]
    return "\n".join(lines + ["", "#endif", ""])


def main():
    path = os.path.join(pack.ROOT, OUTPUT)
    if sys.argv[1:] == ["--check"]:
        with open(path, encoding="ascii") as file:
            return 0 if file.read() == table() else f"{OUTPUT} is not made of {FOLDER}: python3 tools/catalog_metrics.py --pack"
    if sys.argv[1:] in ([], ["--help"], ["-h"]):
        return __doc__
    if sys.argv[1:] != ["--pack"]:
        text, left = take(sys.argv[1:])
        print("".join(f"left out: {line}\n" for line in left), end="")
        with open(os.path.join(pack.ROOT, INTEL), "w", encoding="ascii") as file:
            file.write(text)
    with open(path, "w", encoding="ascii") as file:
        file.write(table())
    return 0


if __name__ == "__main__":
    sys.exit(main())
