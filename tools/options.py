#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The build options of the library: the rows of tools/options.tsv, and every place that differs from them.

Usage: options.py [TREE]    names each place that differs, with what to do; the exit code is 1 if there is one
"""
import collections
import glob
import os
import re
import sys

import sources

CONFIG, TARGET, LIMITS, TABLE, PAGE, KCONFIG = "include/upmu/config.h", "include/upmu/private/target.h", \
    "include/upmu/private/options.h", "tools/options.tsv", "docs/SIZE.md", "zephyr/Kconfig"
Option = collections.namedtuple("Option", "name default values other beside needs zephyr built price part")

# Builders that pass on any option, and the place where each does.  Zephyr's has a default besides, which the table states.
BUILDERS = {"upmu.mk": "$(UPMU_OPTIONS:%=-D%)", "CMakeLists.txt": '"${UPMU_OPTIONS}"', "meson.build": "get_option('options')",
            "bindings/rust/upmu-sys/build.rs": 'variable("UPMU_OPTIONS", "")', "tools/edk2.py": "{options}",
            "zephyr/CMakeLists.txt": '"${CONFIG_UPMU_OPTIONS}"'}
# Texts that may name options with a value.  (CHANGELOG.md tells of options that are gone, check_source.py makes up wrong ones.)
TEXTS = ("*", "tests/*", "tests/*/*", *(f"{folder}/**/*" for folder in ("docs", "include", "abi", "port", "models", "tools", "zephyr",
                                                                          "bindings", "examples", "efi-demo")))
NO_TEXT = re.compile(r"^CHANGELOG\.md$|/check_source\.py$|/target/|\.(tsv|pyc)$")
ASSIGNED = re.compile(r"(?<!\w)(?:-D)?(UPMU_\w+)=(\d+)")
NO_OPTIONS = {"UPMU_RUST_SIM", "UPMU_DOXYGEN"}  # (of a binding's own source and of the reference)
MODELS = "events/catalog_models.c"


def rows(tree=sources.ROOT):
    """The options, in the order of the table; "-" is an empty text."""
    lines = [line for line in sources.read(tree, TABLE).splitlines() if line and not line.startswith("#")]
    for line in lines:
        if line.count("\t") != len(Option._fields) - 1:
            sys.exit(f"{TABLE}: a row has {len(Option._fields)} cells, which are explained above the rows: {line}")
    return [Option(*("" if cell == "-" else cell for cell in line.split("\t"))) for line in lines]


def values_of(option):
    """All values that an option can have."""
    first, _, last = option.values.partition(" to ")
    return range(int(first), int(last) + 1) if last else [int(word) for word in option.values.split()]


def cells(option):
    """What docs/SIZE.md says of an option beside its figures: values, and what it is."""
    beside = ", ".join(f"`{word}`" for word in option.beside.split())
    return [option.values.replace(" ", ", ") if " to " not in option.values else option.values,
            option.part + (f"; compared with {beside}" if beside else "") +
            ("" if option.price == "measured" else f"; not measured: {option.price}")]


def default_of(lines):
    """The lines between an option's #ifndef and #endif, as a default of the table."""
    text = " ".join(line.strip() for line in lines)
    chosen = re.fullmatch(r"#if(def)? (.+?) #define \w+ (.+?) #else #define \w+ (.+?) #endif", text)
    if chosen:
        return f"{chosen[3]} if {'defined ' * bool(chosen[1])}{chosen[2]}, else {chosen[4]}"
    return re.sub(r"^#define \w+ ", "", re.sub(r"^(#define \w+) \((.*)\)$", r"\1 \2", text))


def of_config(text):
    """{option: (its default, the lines above it since the last blank one)}"""
    found, lines = {}, text.splitlines()
    for i, line in enumerate(lines):
        name = re.fullmatch(r"#ifndef (UPMU_\w+)", line)
        if not name or lines[i + 1] == f"#define {name[1]}":
            continue
        depth, end = 1, i
        while depth:
            end += 1
            depth += lines[end].startswith("#if") - (lines[end] == "#endif")
        above = "\n".join(lines[:i]).rpartition("\n\n")[2]
        found[name[1]] = default_of(lines[i + 1:end]), above
    return found


def against_config(tree, options):
    text = sources.read(tree, TARGET) + sources.read(tree, CONFIG)
    found, names = of_config(text), [option.name for option in options]
    for name in found:
        if name not in names:
            yield f"{TABLE}: no row of {name}, an option of {CONFIG}: add one at its place there (the columns are explained " \
                  "above the rows), then `make prices`"
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"{TABLE}: two rows of {name}: remove one"
    for name in names:
        if name not in found:
            yield f"{TABLE}: {CONFIG} has no option {name}: remove the row, or define the option there behind #ifndef {name}"
    if sorted(names) == sorted(found) and names != list(found):
        yield f"{TABLE}: rows stand in the order of {CONFIG}: move {next(a for a, b in zip(names, found) if a != b)}"
    limits = sources.read(tree, LIMITS)
    needs = dict(re.findall(r'^#error "(UPMU_\w+) needs (UPMU_\w+)"', limits, re.M))
    ranges = dict(re.findall(r'^#error "(UPMU_\w+) is (\d+ to \d+)"', limits, re.M))
    for option in options:
        default, above = found.get(option.name, (option.default, "/*"))
        if default != option.default:
            yield f"{TABLE}: {option.name}: {CONFIG} has the default \"{default}\": write that in place of \"{option.default}\""
        if "/*" not in above:
            yield f"{CONFIG}: {option.name} has no comment above it: say there what 0, or the number, does"
        if needs.get(option.name, "") != option.needs:
            yield f"{TABLE}: {option.name} needs \"{option.needs}\", and {LIMITS} has no or another #error that says so: let them agree"
        if " to " in option.values and option.name != "UPMU_PROFILE" and ranges.get(option.name) != option.values:
            yield f"{LIMITS}: {option.name}: no #error says that it \"is {option.values}\", as the values in {TABLE}: let them agree"


def against_itself(tree, options):
    checks = "\n".join(sources.read(tree, path) for path in sorted(glob.glob("tests/build/check_*.py", root_dir=tree)))
    names = {option.name for option in options}
    for option in options:
        if int(option.other) not in values_of(option):
            yield f"{TABLE}: {option.name}: the other value {option.other} is none of {option.values}"
        if option.built not in ("pairs", "alone") and f"\ndef {option.built}():" not in checks:
            yield f"{TABLE}: {option.name}: no check {option.built} in tests/build: write pairs, alone, or the check that compiles it"
        if option.built == "pairs" and (option.values != "0 1" or option.beside):
            yield f"{TABLE}: {option.name}: an option with other values than 0 and 1, or with options beside it, is built alone"
        for name in [word.partition("=")[0] for word in option.beside.split()] + [option.needs] * bool(option.needs):
            if name not in names:
                yield f"{TABLE}: {option.name}: {name} beside it is no option"


def against_page(tree, options):
    shown = {found[1]: found[2] for found in re.finditer(r"^\| `(UPMU_\w+)`(.*)$", sources.read(tree, PAGE), re.M)}
    for option in options:
        if option.name not in shown or not all(f"| {cell} |" in shown[option.name] for cell in cells(option)):
            yield f"{PAGE}: {option.name} is not there as {TABLE} has it: run `make prices`"
    for name in sorted(set(shown) - {option.name for option in options}):
        yield f"{PAGE}: a row of {name}, which is no option: run `make prices`"


def against_builders(tree, options):
    for path, place in BUILDERS.items():
        if place not in sources.read(tree, path):
            yield f"{path}: does not contain {place}, by which it passes on any option: mend it, or BUILDERS in tools/options.py"
    kconfig = sources.read(tree, KCONFIG)
    line = re.search(r'^config UPMU_OPTIONS\n(?:\t.*\n)*?\tdefault "([^"]*)"', kconfig, re.M)
    default = dict(word.split("=") for word in line[1].split()) if line else {}
    for option in options:
        if option.zephyr.startswith("CONFIG_"):
            if f"config {option.zephyr[7:]}\n" not in kconfig or option.name not in sources.read(tree, "zephyr/CMakeLists.txt"):
                yield f"{KCONFIG}: {option.zephyr} does not set {option.name}: mend it there, or the column zephyr in {TABLE}"
        elif default.get(option.name, "") != option.zephyr:
            yield f"{KCONFIG}: the default of UPMU_OPTIONS has {option.name}={default.get(option.name, '')}, and {TABLE} has " \
                  f"\"{option.zephyr or '-'}\" in the column zephyr: let them agree"


def against_texts(tree, options):
    known = {option.name: values_of(option) for option in options}
    known.update((name, [0, 1]) for name in re.findall(r"^#ifndef (UPMU_EVENTS_\w+)", sources.read(tree, MODELS), re.M))
    paths = {path for pattern in TEXTS for path in glob.glob(pattern, root_dir=tree, recursive=True)}
    for path in sorted(path for path in paths if os.path.isfile(os.path.join(tree, path)) and not NO_TEXT.search(path)):
        with open(os.path.join(tree, path), encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                for name, value in ASSIGNED.findall(line):
                    if name in NO_OPTIONS:
                        continue
                    if name not in known:
                        yield f"{path}:{number}: {name}={value}: no option of {CONFIG} has this name: mend it, or NO_OPTIONS in tools/options.py"
                    elif int(value) not in known[name]:
                        yield f"{path}:{number}: {name}={value} is none of its values"


def complaints(tree=sources.ROOT):
    options = rows(tree)
    return [text for compare in (against_config, against_itself, against_page, against_builders, against_texts)
            for text in compare(tree, options)]


def main(tree=sources.ROOT):
    found = complaints(tree)
    print("\n".join(found) or f"{len(rows(tree))} options")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
