#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What each option of tools/options.tsv costs: `make prices` writes the table into docs/SIZE.md, between the markers; and
beside it the bytes of abi/perf, file by file.

For each option the library is measured with its other value, and with all else as it is by default on x86-64, but for the
options beside it.  Text and read-only data are those of all objects of core/, backends/ and events/, as tools/size.py
measures them.  A source that an option does not change, after the preprocessor, is as it is in build/os; results of the others
are kept in build/size.
"""
import functools
import hashlib
import os
import re
import subprocess
import sys

import options as table
import readme
import size

PAGE = "docs/SIZE.md"
MARKERS = re.compile(r"(<!-- prices -->\n).*?(<!-- end of prices -->)", re.S)
FLAGS = [*size.FLAGS, "-m64", "-Os"]
PERF = re.compile(r"(<!-- perf -->\n).*?(<!-- end of perf -->)", re.S)
PERF_PARTS = {  # of tools/size.py, and what they are
    "text.perf": "calls, events, groups, rings, records, samples, notes: all but the files below",
    "text.perf_files": "files that programs read about events (`perf_files.c`, `perf_folder.c`, `perf_unit_files.c`)",
    "rodata.perf": "names and paths of both, read-only data",
    "ram.perf_leader": "memory of an event that leads a group, or is alone",
    "ram.perf_sibling": "memory of another event of a group"}
STRUCTS = ["machine", "cpu", "session", "thread", "unit"]
COLUMNS = ["text", "rodata", *STRUCTS]
PLAIN = {}


def option_values(compiler, options):
    """{option: value} of a build with these options on its command line."""
    text = "#include <upmu/config.h>\n" + "".join(f'"{option.name}" {option.name}\n' for option in table.rows())
    made = size.output([compiler, *FLAGS, *options, "-E", "-P", "-x", "c", "-"], input=text.encode())
    return {name: int(eval(value.replace("&&", " and ").replace("||", " or ")))
            for name, value in re.findall(r'^"(\w+)" (.*)$', made, re.M)}


@functools.lru_cache
def version(compiler):
    return size.output([compiler, "--version"])


def preprocessed(compiler, source, options):
    return size.output([compiler, *FLAGS, *options, "-E", "-P", source])


def plain_sources(compiler):
    """{source: (its text after the preprocessor without options, (bytes of text, of read-only data) in build/os)}"""
    if not PLAIN:
        for _, source, text, rodata in size.object_sizes():
            PLAIN[source] = preprocessed(compiler, source, []), (text, rodata)
    return PLAIN


def measure_source(compiler, source, options):
    """(text, read-only data) of a source."""
    made = preprocessed(compiler, source, options)
    plain, figures = plain_sources(compiler)[source]
    if made == plain:
        return figures
    key = hashlib.sha256("\0".join([version(compiler), *FLAGS, made]).encode()).hexdigest()
    kept = f"{size.WORK}/kept/{key}"
    if not os.path.exists(kept):
        target = f"{size.WORK}/price-{os.getpid()}.o"  # (another run may measure at the same time, and what is kept stays)
        subprocess.run([compiler, *FLAGS, "-x", "cpp-output", "-c", "-o", target, "-"], input=made.encode(), check=True)
        found = f"{size.sections(target, '.text')} {size.sections(target, '.rodata')}"
        os.unlink(target)
        with open(kept, "w", encoding="ascii") as file:
            file.write(found)
    with open(kept, encoding="ascii") as file:
        return tuple(int(word) for word in file.read().split())


def measure(compiler, options):
    """{column: bytes} of the whole library with these options."""
    os.makedirs(f"{size.WORK}/kept", exist_ok=True)
    parts = [measure_source(compiler, source, options) for source in plain_sources(compiler)]
    return {"text": sum(text for text, _ in parts), "rodata": sum(rodata for _, rodata in parts),
            **measure_structs(compiler, options)}


def measure_structs(compiler, options):
    """{structure: bytes} of those that the host has memory for."""
    found = size.struct_sizes(compiler, 64, options)
    return {name: found["upmu_" + name] for name in STRUCTS}


def option_words(compiler, option):
    """The cells before the figures: the option and those that follow it, its defaults, its values, what it is."""
    name, beside = option.name, [f"-D{word}" for word in option.beside.split()]
    defaults = [str(option_values(compiler, size.PROFILES[profile])[name]) for profile in ("full", "count", "tiny")]
    before, after = option_values(compiler, beside), option_values(compiler, [*beside, f"-D{name}={option.other}"])
    also = [f"`{other}`" for other in after if other != name and after[other] != before[other]]
    label = f"`{name}`"
    if option.price == "measured":
        label += (f" {before[name]} → {option.other}" if (before[name], option.other) != (1, "0") else "")
        label += f", with {', '.join(also)}" if also else ""
    return [label, ", ".join(defaults if len(set(defaults)) > 1 else defaults[:1]), *table.cells(option)]


def option_row(compiler, option):
    """Words and figures of an option: what is saved by its other value."""
    saved = [0] * len(COLUMNS)
    if option.price == "measured":
        beside = [f"-D{word}" for word in option.beside.split()]
        full, less = measure(compiler, beside), measure(compiler, [*beside, f"-D{option.name}={option.other}"])
        saved = [full[column] - less[column] for column in COLUMNS]
    return f"| {' | '.join(option_words(compiler, option))} | " + " | ".join(f"{number:,}" if number else "" for number in saved) + " |"


def whole_rows(compiler, sizes):
    """Rows of whole configurations; `sizes` are the figures of tools/size.py."""
    rows = []
    for label, name, options in (*((f"profile {name}", "profile_" + name, options) for name, options in size.PROFILES.items()),
                                 ("everything: all objects", None, []),
                                 ("cycles and instructions of each thread, Intel, no names", "threads", size.THREADS_OPTIONS),
                                 ("counting only, Intel, raw events", "minimum", size.MINIMUM_OPTIONS)):
        figures = measure(compiler, options) if not name else measure_structs(compiler, options)
        if name:
            figures.update(text=sizes["text." + name], rodata=sizes["rodata." + name])
        rows.append(f"| {label} | " + " | ".join(f"{figures[column]:,}" for column in COLUMNS) + " |")
    return rows


def page(compiler, sizes):
    def lines(headings, rows):
        titles = [*headings, "text", "read-only data", *(f"`upmu_{name}`" for name in STRUCTS)]
        return ["| " + " | ".join(titles) + " |", "|---" * len(headings) + "|" + "---:|" * len(COLUMNS), *rows]
    return "\n".join([*lines(["whole"], whole_rows(compiler, sizes)), "",
                      *lines(["option", "full, count, tiny", "values", "what is left out without it, or what its number is"],
                             [option_row(compiler, option) for option in table.rows()])]) + "\n"


def perf_table(sizes):
    """The bytes of abi/perf beside their ceilings, and its files; `sizes` are the figures of tools/size.py."""
    lines = ["| part of `abi/perf` | bytes | ceiling | aim |", "|---|---:|---:|---:|"]
    for name, text in PERF_PARTS.items():
        aim = f"{sizes['aim.' + name]:,}" if "aim." + name in sizes else ""
        lines.append(f"| {text} | {sizes[name]:,} | {sizes['limit.' + name]:,} | {aim} |")
    files = {name.removeprefix("text.abi/perf/"): value for name, value in sizes.items() if name.startswith("text.abi/perf/")}
    lines += ["", "| file | text |", "|---|---:|"]
    lines += [f"| `{name}` | {files[name]:,} |" for name in sorted(files)]
    return "\n".join(lines) + "\n"


def main():
    compiler = os.environ.get("CC", "gcc")
    sizes = readme.figures([sys.executable, "tools/size.py", "--limits"])
    readme.put(PAGE, PERF, perf_table(sizes))
    made = page(compiler, sizes)
    with open(PAGE, encoding="utf-8") as file:
        old = file.read()
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(MARKERS.sub(lambda found: found.group(1) + made + found.group(2), old))
    return 0


if __name__ == "__main__":
    sys.exit(main())
