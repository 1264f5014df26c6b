#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Packs the lists backends/uncore/*.tsv into backends/uncore/uncore_tables.c, and writes the names of readings to events/.

    tools/uncore_tables.py            write them
    tools/uncore_tables.py --check    fail if they are not what the lists give
"""
import fnmatch
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from catalog_pack import order, read_source  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(ROOT, "backends", "uncore")
OUT = os.path.join(FOLDER, "uncore_tables.c")

STYLES = {"G": "GLOBAL", "S": "SELECT", "B": "BOX", "D": "DISCOVERED", "A": "CLIENT_IMC", "F": "FREE"}
SPACES = {"msr": "MSR", "pci": "PCI", "mmio": "MMIO"}
SCOPES = {"die": "DIE", "node": "NODE", "llc": "LLC", "thread": "THREAD", "core": "CORE"}
READINGS = ("reading", "reading_package")  # rules of types whose registers are rows of uncore_readings.tsv
REGISTERS = ("eax", "ebx", "ecx", "edx")
# Scales of readings as a byte: bits 4:0 are n of 1/2^n, or a flag says where n is.
SCALES = {"1": 0, "1/65536": 16, "intel": 0x20, "amd": 0x40, "micro": 0x80}
EVENTS = {"power_uncore": 146, "msr_uncore": 147, "core_uncore": 148, "pkg_uncore": 149}  # numbers of catalogues
NONE = -0x8000  # an offset of a register that does not exist
ANYWHERE = 0xffff  # a device wherever it is


def read(name):
    """The lines of a list, by the names of its columns."""
    with open(os.path.join(FOLDER, "uncore_%s.tsv" % name), encoding="ascii") as file:
        lines = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
    return [dict(zip(lines[0], line)) for line in lines[1:]]


def number(text, default=0):
    return default if text == "-" else int(text, 0)


def cpus_of(text):
    """CPUs in the form of uncore_generations.tsv: (family, first model, last model, stepping and vendor)."""
    out = []
    for family in text.split():
        family, models = family.split(":")
        for model in models.split(","):
            amd = 0x80 if model.endswith("a") and len(model.split("-")[-1]) == 3 else 0
            model, _, stepping = (model[:-1] if amd else model).partition("+")
            first, _, last = model.partition("-")
            out.append((int(family, 16), int(first, 16), int(last or first, 16), amd | int(stepping or "0", 16)))
    return out


class Pool:
    """Sequences that stand one after the other; one that is there already is found again."""

    def __init__(self, first):
        self.items = list(first)

    def add(self, items):
        items = list(items)
        for at in range(len(self.items) - len(items) + 1):
            if self.items[at:at + len(items)] == items:
                return at
        self.items += items
        return len(self.items) - len(items)


class Rows:
    """Different values, numbered."""

    def __init__(self, first=()):
        self.items = list(first)

    def add(self, item):
        if item not in self.items:
            self.items.append(item)
        return self.items.index(item)


def devices(text):
    """PCI devices, two words each: device, and where (device << 3 | function) it must be."""
    words = []
    for one in text.split(","):
        device, _, where = one.partition("@")
        words.append(int(device, 16))
        words.append(place(where) if where else ANYWHERE)
    return words


def place(text):
    """Device << 3 | function."""
    device, function = text.split(".")
    return int(device) << 3 | int(function)


def registers(text):
    """A device, then registers that have a bit per box: offset and number of bits; ends with 0."""
    first, *rest = text.split(",")
    words = [int(first, 16)]
    for one in rest:
        offset, bits = one.split(":")
        words += [int(offset, 16), int(bits)]
    return words + [0]


def merged(rules):
    """Rules with codes that differ in one compared bit only become one."""
    rules = list(dict.fromkeys(rules))
    again = True
    while again:
        again = False
        for i, (code, mask, what) in enumerate(rules):
            for bit in (1 << n for n in range(16) if mask >> n & 1):
                twin = (code ^ bit, mask, what)
                if twin in rules[i + 1:]:
                    rules.remove(twin)
                    rules[i] = (code & ~bit, mask & ~bit, what)
                    again = True
                    break
            if again:
                break
    return sorted(rules)


def absent(generations):
    """Rows of catalogues that a generation's PMUs refuse: (generation, how many, the first), for each range of them."""
    numbers = {line["key"]: i for i, line in enumerate(generations)}
    refused = {}
    for line in read("absent"):
        catalogue = read_source(os.path.join(ROOT, "events", generations[numbers[line["generation"]]]["catalog"] + ".tsv"))
        names = sorted((row.name for row in catalogue.rows), key=order)
        for pattern in line["names"].split():
            rows = [i for i, name in enumerate(names) if fnmatch.fnmatchcase(name, pattern)]
            if not rows:
                sys.exit("uncore_tables: %s: no event %s" % (line["generation"], pattern))
            refused.setdefault(numbers[line["generation"]], set()).update(rows)
    out = []
    for generation, rows in sorted(refused.items()):
        for row in sorted(rows):
            if row - 1 in rows and out[-1][1] < 255:
                out[-1] = (generation, out[-1][1] + 1, out[-1][2])
            else:
                out.append((generation, 1, row))
    return out


class Tables:
    def __init__(self):
        self.text = Pool("\0")
        self.words = Pool([0])
        self.masks = Rows([0])
        self.rates = Rows()
        self.layouts = Rows()
        self.rules = Pool([(0, 0, 0)])  # counters of events, then events of filters
        self.fields = Pool([(0, 0, 0, 0)])
        self.rows = Pool([])
        self.readings = []
        self.levels = []
        self.kinds, self.features, self.models = {}, [], []
        self.boxes = []
        self.generations = []
        self.cpus = []
        self.read()

    def string(self, text):
        return 0 if text == "-" else self.text.add(text + "\0")

    def rules_of(self, rules, applies, style):
        """Counters of events, then (where there are fields) events of filters; style F: codes in words, by counter."""
        if style == "F":
            codes = sorted((counters, code) for code, _, counters in rules)
            return self.words.add(code for _, code in codes)
        if not rules and not applies:
            return 0
        return self.rules.add(merged(rules) + [(0, 0, 0)] + (merged(applies) + [(0, 0, 0)] if applies else []))

    def read_kinds(self):
        """Bits of kinds of CPUs, by key; those that CPUID tells stand first."""
        for bit, line in enumerate(read("kinds")):
            self.kinds[line["key"]] = 1 << bit
            if line["cpuid"] == "-":
                self.models += [cpu + (bit,) for cpu in cpus_of(line["cpus"])]
                continue
            if len(self.features) != bit:
                sys.exit("uncore_tables: kinds by CPUID stand first: %s" % line)
            leaf, register, at = line["cpuid"].split(".")
            msr, _, enable = line["enable"].partition(".")
            self.features.append((int(leaf, 0), number(msr), 32 * REGISTERS.index(register) + int(at), int(enable or 0)))
        if len(self.kinds) > 32:
            sys.exit("uncore_tables: more than 32 kinds")

    def readings_of(self, lines):
        """The index of the first of a type's readings, which end with one of width 0."""
        at, codes = len(self.readings), sorted({int(line["code"]) for line in lines})
        mask = lambda text: 0 if text == "-" else sum(self.kinds[key] for key in text.split(","))
        for line in lines:
            self.readings.append((int(line["msr"], 0), self.string(line["unit"]),
                                  self.masks.add(mask(line["all"]) << 32 | mask(line["any"])),
                                  codes.index(int(line["code"])), int(line["width"]), SCALES[line["scale"]]))
        self.readings.append((0, 0, 0, 0, 0, 0))
        return at

    def words_of(self, row):
        """Offsets or devices of boxes, then what the second base is, or what the rule reads."""
        words = []
        if row["rule"] == "table" and row["boxes"] != "-":
            places = [place(x.lstrip("@")) for x in row["boxes"].split(",")]
            words = [len(places)] + places
        elif row["boxes"] != "-":
            words = devices(row["boxes"]) if row["rule"] == "pci" else [int(x, 0) for x in row["boxes"].split(",")]
        words += self.second(row)
        return self.words.add(words) if words else 0

    def base(self, row):
        """Base and step, in units that fit."""
        base, step = int(row["base"], 0), int(row["step"], 0)
        unit = 0x1000 if row["rule"] == "safbar" else 8 if row["space"] == "mmio" and row["style"] != "D" else 1
        if base >= 0xc0010000:
            base -= 0xc0010000
        if base % unit or step % unit or not -0x8000 <= step // unit < 0x8000 or not 0 <= base // unit < 0x10000:
            sys.exit("uncore_tables: base and step do not fit: %s" % row)
        return step // unit, base // unit

    def layout(self, row):
        offset = lambda name: NONE if row[name] == "-" else int(row[name], 0)
        filters = [] if row["filters"] == "-" else [f.split(":") for f in row["filters"].split(",")]
        quirks = set(row["quirks"].split()) - {"-"}
        counter_list = 0 if row["counter_list"] == "-" else self.words.add(int(x, 0) for x in row["counter_list"].split(","))
        return self.layouts.add((
            STYLES[row["style"]], SPACES[row["space"]], int(row["counters"]), int(row["width"]),
            int(row["fixed_width"]), int(row["select_step"]), int(row["counter_step"]), number(row["enable"], 0xff),
            SCOPES[row["scope"]], number(row["rdpmc"], 0xffff), tuple(sorted(q.upper() for q in quirks)),
            offset("control"), offset("select"), offset("counter"), offset("fixed_select"), offset("fixed_counter"),
            counter_list,
            self.words.add(x for f in filters for x in (int(f[0], 16), self.masks.add(int(f[1], 16)))) if filters else 0,
            len(filters), self.rates.add(int(row["rate"]))))

    def second(self, row):
        text = row["second"]
        if text == "-":
            return []
        if row["rule"] == "capid":
            return registers(text)
        if row["rule"] == "sbox":
            return [int(x, 16) for x in text.replace(",", ":").split(":")]
        if ":" not in text:
            return ([text.count(",") + 1] if row["rule"] == "pci" else []) + devices(text)
        base, steps = text.split(":")
        return [int(base, 0)] + [int(x, 0) for x in steps.split(",")]

    def read(self):
        boxes, rules, applies, fields = read("boxes"), {}, {}, {}
        for line in boxes:
            cut = len(line["name"]) - len(line["libpfm"].strip("-"))
            if not line["name"].startswith(line["libpfm"].strip("-")):
                sys.exit("uncore_tables: libpfm4's name is no beginning of the name: %s" % line)
            self.boxes.append((int(line["number"]), cut, self.string(line["name"]), self.string(line["prefix"])))
        box_number = {line["key"]: i for i, line in enumerate(boxes)}
        for line in read("constraints"):
            rules.setdefault((line["generation"], line["box"]), []).append(
                (int(line["code"], 0), int(line["mask"], 0), int(line["counters"], 0)))
        for line in read("applies"):
            for where in line["boxes"].split():
                applies.setdefault(tuple(where.split("/")), []).append(
                    (int(line["code"], 0), int(line["mask"], 0), int(line["resources"], 0)))
        for line in read("filters"):
            for where in line["boxes"].split():
                fields.setdefault(tuple(where.split("/")), []).append(
                    (self.string(line["name"]), (int(line["word"]) - 1) * 64 + int(line["bit"]), int(line["width"]),
                     int(line["resource"])))
        packed, readings = {}, {}
        self.read_kinds()
        for line in read("readings"):
            where = (line["generation"], line["box"])
            readings.setdefault(where, []).append(line)
            rule = (int(line["code"]), 0xffff, 1 << int(line["code"]))
            if rule not in rules.setdefault(where, []):
                rules[where].append(rule)
        packed_readings = set(readings)
        for line in read("types"):
            where = (line["generation"], line["box"])
            if (line["rule"] in READINGS) != (where in readings):
                sys.exit("uncore_tables: readings and their rule belong together: %s %s" % where)
            if where in readings and len(rules[where]) != int(line["counters"]):
                sys.exit("uncore_tables: %s %s has %d readings" % (where + (len(rules[where]),)))
            fields_at = self.fields.add(fields.pop(where) + [(0, 0, 0, 0)]) if where in fields else 0
            packed.setdefault(line["generation"], []).append((
                box_number[line["box"]], self.layout(line), line["rule"].upper(), int(line["most"]),
                self.masks.add(int(line["mask"], 0)), fields_at,
                self.rules_of(rules.pop(where, []), applies.pop(where, []) if fields_at else [], line["style"]),
                self.readings_of(readings.pop(where)) if where in readings else self.words_of(line)) + self.base(line))
        for line in read("levels"):
            where, box = (line["generation"], line["box"]), boxes[box_number[line["box"]]]
            if where not in packed_readings:
                sys.exit("uncore_tables: levels are of units with readings: %s %s" % where)
            self.levels.append((int(line["msr"], 0), self.kinds[line["all"]], self.string(line["level"]),
                                self.string(line["unit"]), int(box["number"]), int(line["low"]), int(line["bits"]),
                                int(line["valid"])))
        left = list(rules) + list(applies) + list(fields) + list(readings)
        if left:
            sys.exit("uncore_tables: no such boxes: %s" % left)
        self.other = self.rows.add(packed["ANY"])
        generations = read("generations")
        self.absent = absent(generations)
        for i, line in enumerate(generations):
            rows = [row for key in line["rows"].split(",") for row in packed[key]]
            libpfm = line["libpfm"] if line["libpfm"] != line["catalog"][:-3] else "-"
            self.generations.append((self.rows.add(rows), len(rows), self.string(line["catalog"]),
                                     self.string(libpfm), self.string(line["title"])))
            self.cpus += [cpu + (i,) for cpu in cpus_of(line["cpus"])]

    def bytes(self):
        return {"text": len(self.text.items), "words": 2 * len(self.words.items), "masks": 8 * len(self.masks.items),
                "layouts": 30 * len(self.layouts.items), "rules": 6 * len(self.rules.items),
                "fields": 6 * len(self.fields.items), "rows": 14 * len(self.rows.items), "boxes": 6 * len(self.boxes),
                "generations": 8 * len(self.generations), "readings": 12 * len(self.readings), "levels": 16 * len(self.levels),
                "kinds": 12 * len(self.features) + 5 * len(self.models), "cpus": 5 * len(self.cpus), "absent": 4 * len(self.absent)}


def lines_of(items, width=110):
    """Items in lines of a table."""
    line, out = "", []
    for item in items:
        if len(line) + len(item) > width:
            out.append("    " + line.rstrip())
            line = ""
        line += item + ", "
    return "\n".join(out + ["    " + line.rstrip()])


def text_lines(text):
    out, line = [], ""
    for word in text.split("\0")[:-1]:
        if len(line) + len(word) > 100:
            out.append('    "%s"' % line)
            line = ""
        line += word + "\\0"
    return "\n".join(out + ['    "%s"' % line])


def render(tables):
    out = []
    add = out.append
    add("""/* SPDX-License-Identifier: MIT */
/*
 * Types of units: packed by tools/uncore_tables.py from the lists beside this file, which have the sources.
 */
#include "backends/uncore/uncore_tables.h"

#if UPMU_UNCORE

/* clang-format off */""")
    add("const char upmu_uncore_text[] =\n%s;\n" % text_lines("".join(tables.text.items)))
    add("const uint16_t upmu_uncore_words[] = {\n%s\n};\n" % lines_of("%#x" % w for w in tables.words.items))
    add("const uint64_t upmu_uncore_masks[] = {\n%s\n};\n" % lines_of("UINT64_C(%#x)" % m for m in tables.masks.items))
    add("const uint16_t upmu_uncore_rates[] = {\n%s\n};\n" % lines_of("%d" % r for r in tables.rates.items))
    add("const struct upmu_uncore_rule upmu_uncore_rules[] = {\n%s\n};\n"
        % lines_of("{%#x, %#x, %#x}" % r for r in tables.rules.items))
    add("const struct upmu_uncore_field upmu_uncore_fields[] = {\n%s\n};\n"
        % lines_of("{%d, %d, %d, %d}" % f for f in tables.fields.items))
    add("#define NONE UPMU_UNCORE_NONE\n#define QUIRK(name) UPMU_UNCORE_##name\n"
        "const struct upmu_uncore_layout upmu_uncore_layouts[] = {")
    for (style, space, counters, width, fixed, step, counter_step, enable, scope, rdpmc, quirks, control, select,
         counter, fixed_select, fixed_counter, counter_list, filters, filter_count, rate) in tables.layouts.items:
        at = lambda offset: "NONE" if offset == NONE else "%#x" % offset
        add("    {UPMU_UNIT_%s, UPMU_SPACE_%s, %d, %d, %d, %d, %d, %d, %d, %#x, %d, UPMU_SCOPE_%s,\n     %s, %#x, %s, %d, %d},"
            % (style, space, rate, counters, width, fixed, step, counter_step, 32 if space == "PCI" else 64, enable,
               filter_count, scope, " | ".join("QUIRK(%s)" % q for q in quirks) or "0", rdpmc,
               ", ".join(map(at, (control, select, counter, fixed_select, fixed_counter))), counter_list, filters))
    add("};\n#undef NONE\n#undef QUIRK\n\n#define RULE(name) UPMU_UNCORE_RULE_##name\n"
        "const struct upmu_uncore_row upmu_uncore_rows[] = {")
    for row in tables.rows.items:
        add("    {%d, %d, RULE(%s), %d, %d, %d, %d, %d, %d, %#x}," % row)
    add("};\n#undef RULE\n\nconst struct upmu_uncore_box upmu_uncore_boxes[] = {\n%s\n};\n"
        % lines_of("{%d, %d, %d, %d}" % b for b in tables.boxes))
    add("const struct upmu_uncore_generation upmu_uncore_generations[] = {\n%s\n};\n"
        % lines_of("{%d, %d, %d, %d, %d}" % g for g in tables.generations))
    add("const struct upmu_uncore_absent upmu_uncore_absent[] = {\n%s\n};\nconst uint8_t upmu_uncore_absent_count = %d;\n"
        % (lines_of("{%d, %d, %d}" % a for a in tables.absent), len(tables.absent)))
    add("const struct upmu_uncore_cpu upmu_uncore_cpus[] = {\n%s\n};\nconst uint8_t upmu_uncore_cpu_count = %d;\n"
        "const uint8_t upmu_uncore_other = %d;\nconst uint8_t upmu_uncore_box_count = %d;\n"
        "const uint8_t upmu_uncore_generation_count = %d;\n"
        % (lines_of("{%#x, %#x, %#x, %#x, %d}" % c for c in tables.cpus), len(tables.cpus), tables.other,
           len(tables.boxes), len(tables.generations)))
    add("const struct upmu_uncore_reading upmu_uncore_readings[] = {\n%s\n};\n"
        % lines_of("{%#x, %d, %d, %d, %d, %#x}" % r for r in tables.readings))
    add("const struct upmu_uncore_level upmu_uncore_levels[] = {\n%s\n};\nconst uint8_t upmu_uncore_level_count = %d;\n"
        % (lines_of("{%#x, %#x, %d, %d, %d, %d, %d, %d}" % r for r in tables.levels), len(tables.levels)))
    add("const struct upmu_uncore_feature upmu_uncore_features[] = {\n%s\n};\nconst uint8_t upmu_uncore_feature_count = %d;\n"
        % (lines_of("{%#x, %#x, %d, %d}" % f for f in tables.features), len(tables.features)))
    add("const struct upmu_uncore_cpu upmu_uncore_models[] = {\n%s\n};\nconst uint8_t upmu_uncore_model_count = %d;\n"
        % (lines_of("{%#x, %#x, %#x, %#x, %d}" % c for c in tables.models), len(tables.models)))
    add("/* clang-format on */\n\n#endif")
    return "\n".join(out) + "\n"


def render_events(catalogue, generations):
    """The names of a catalogue's readings, as tools/catalog_pack.py reads them."""
    boxes = {line["key"]: line for line in read("boxes")}
    lines = [line for line in read("readings") if line["generation"] in generations]
    units = {boxes[line["box"]]["name"]: boxes[line["box"]]["number"] for line in lines}
    out = ["# SPDX-License-Identifier: MIT", "# catalogue: %s %d" % (catalogue, EVENTS[catalogue])]
    out += ["# unit: %s %s" % unit for unit in units.items()]
    out += ["# source: backends/uncore/uncore_readings.tsv, from which tools/uncore_tables.py writes this file",
            "# E event code[/second code] umask cmask flags counters(0: file says nothing) payload-register payload unit"]
    rows = {"E\t%s\t%#04x\t0x00\t0\t-\t0x0\t0x0\t0x0\t%s" % (line["event"], int(line["code"]), boxes[line["box"]]["name"])
            for line in lines}
    return "\n".join(out + sorted(rows)) + "\n"


def main():
    texts = {}
    generations = read("generations")
    for catalogue in EVENTS:
        texts[os.path.join(ROOT, "events", catalogue + ".tsv")] = render_events(
            catalogue, [line["rows"] for line in generations if line["catalog"] == catalogue])
    if "--check" not in sys.argv and "--size" not in sys.argv:
        for path, text in texts.items():
            with open(path, "w", encoding="ascii") as file:
                file.write(text)
    tables = Tables()
    texts[OUT] = text = render(tables)
    if "--size" in sys.argv:
        sizes = tables.bytes()
        print(sizes, sum(sizes.values()), len(tables.generations))
    elif "--check" in sys.argv:
        for path, text in texts.items():
            with open(path, encoding="ascii") as file:
                if file.read() != text:
                    sys.exit("uncore_tables: run tools/uncore_tables.py")
    else:
        with open(OUT, "w", encoding="ascii") as file:
            file.write(text)


if __name__ == "__main__":
    main()
