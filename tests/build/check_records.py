#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every field of every published event record reaches the registers.

Class of mistake: a field that is lost on the way (a select cut to 32 bits, the first of two
unit masks taken, a counter list dropped), which tests that compare two readings of one
importer cannot see.  tests/records/reader.py reads the records apart from the importer;
tests/records/records.c says what the library would write: for a PMU on paper, for a detected CPU,
and for either with a file of catalogues that the importer and the packer made.

tests/records/made is a made-up model whose records hold every combination of fields.  Published
records are read from UPMU_PERFMON_DATA, else from the folder shared beside the checkout: every record of
all models through the first two ways; files of catalogues of a few models, of all with RECORDS_RUNS=soak.
Where a record is wrong, tests/records/corrections.tsv says what is right, and why; that is compared then.

Records that can be sampled precisely are asked for once more with `:precise`: their registers, and their counters where
the record lists those.  They must also be the rows of tests/golden/precise.tsv, which tests/unit/event/test_precise.c reads.
"""
import atexit
import fnmatch
import functools
import glob
import os
import re
import shutil
import subprocess
import sys
import tarfile

from checklib import COMPILERS, ROOT, Skip, check, main, parallel, run

sys.path.insert(0, os.path.join(ROOT, "tests", "records"))
import reader  # noqa: E402

WORK = "build/tests/records"
PROGRAM = WORK + "/records"
MADE = "tests/records/made"
CORRECTIONS = "tests/records/corrections.tsv"
PRECISE, PRECISE_EXCEPTIONS = "tests/golden/precise.tsv", "tests/golden/precise_exceptions.tsv"
DATA = os.environ.get("UPMU_PERFMON_DATA", os.path.join("..", "shared", "data"))
PACKED = ("KNL", "LNL", "NVL", "NHM-EX")  # models whose file is made in a quick run
SOAK = os.environ.get("RECORDS_RUNS") == "soak"
WAYS = ("paper", "detected", "file", "paper-file")


def program():
    """Complaints about building the program that asks the library."""
    os.makedirs(WORK, exist_ok=True)
    code, output = run(COMPILERS["gcc-64"] + ["-std=gnu11", "-g", "-no-pie", "-Wall", "-Wextra", "-Wshadow", "-Werror", "-Iinclude",
                                              "-I.", "-o", PROGRAM, "tests/records/records.c", "build/gcc-64/libupmu.a"])
    return [output] if code else []


def pack(folder):
    """Path of a file of catalogues of one model's folder as importer and packer make it; None: the importer leaves it alone."""
    out = f"{WORK}/{os.path.basename(folder)}"
    os.makedirs(out, exist_ok=True)
    for old in glob.glob(out + "/*"):
        os.unlink(old)
    for command in ([sys.executable, "tools/catalog_import.py", "--out", out, folder], None):
        sources = sorted(glob.glob(out + "/*.tsv"))
        if command is None and not sources:
            return None
        done = subprocess.run(command or [sys.executable, "tools/catalog_pack.py", "--blob", out + "/blob", *sources],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise RuntimeError(f"{folder}: {done.stdout}")
    return out + "/blob"


def rows_of(path):
    """The fields of each row of a table."""
    return [line.rstrip("\n").split("\t") for line in open(path) if line.strip() and not line.startswith("#")]


def corrections():
    """[file pattern, name pattern, what is right, reason, records that need it]"""
    return [row[:4] + [0] for row in rows_of(CORRECTIONS)]


def file_of(paths):
    return os.path.basename(paths[0] if "/events/" in paths[0] else os.path.dirname(paths[0]))


def read(cpu, rules):
    """(words of CPUID, corrected records) of one CPU of a mapfile."""
    signature, leaf, paths = cpu
    published = [reader.wanted(record) for record in reader.records(paths)]
    words = [signature, leaf] + reader.promised(published)
    rules = [rule for rule in rules if fnmatch.fnmatch(file_of(paths), rule[0])]
    rows = []
    for row in published:
        matching = [rule for rule in rules if re.fullmatch(rule[1], row["name"])]
        right = row
        for rule in matching:
            right = reader.corrected(right, rule[2])
            rule[4] += right != row
        rows.append(right)
    return words, rows


def ask(words, blob, names):
    """(fields of the CPU's line, answers: way, status, words of each name and way); no answers: the line and the exit code."""
    text = "cpu\t" + " ".join(f"{word:x}" for word in words) + f" {blob or '-'}\n"
    text += "".join(f"event\t{name}\n" for name in names)
    done = subprocess.run([PROGRAM], input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lines = done.stdout.split("\n")
    if done.returncode or not lines[0].startswith("cpu\t") or lines[0].startswith("cpu\t-"):
        return [lines[0], f"exit code {done.returncode}"], None
    return lines[0].split("\t"), (line.split("\t") for line in lines[1:])


def compare(cpu, rules, blob, ways):
    """(complaints, records compared) of one CPU of a mapfile."""
    words, rows = read(cpu, rules)
    line, answers = ask(words, blob, [row["name"] for row in rows])
    if not answers:
        return [f"{file_of(cpu[2])} {cpu[0]:x}: {line}"], 0
    complaints = []
    for row in rows:
        for _ in WAYS:
            way, status, *words = next(answers)
            found = reader.difference(row, status, words) if way in ways else ""
            if found:
                complaints.append(complaint(cpu, row, way, found, status, words))
    return complaints, len(rows) * len(ways)


def complaint(cpu, row, way, found, status, words):
    images = " or ".join(f"{s:x}" + (f" {m:x}={v:x}" if m else "") for s, m, v in row["images"])
    return (f"{file_of(cpu[2])} {row['name']}, {way}: {found}; right: {images}, counters {row['general']:x}, "
            f"fixed {row['fixed']}; library: {status} {' '.join(words)}")


def compare_precise(cpu, rules, exceptions):
    """(complaints, catalogue, {name: fields of a golden row}, images compared) of the precise records of one CPU of a mapfile."""
    words, rows = read(cpu, rules)
    rows = [row for row in rows if reader.precise(row["record"])[0]]
    line, answers = ask(words, None, [row["name"] + ":precise" for row in rows])
    if not answers:
        return [f"{file_of(cpu[2])} {cpu[0]:x}: {line}"], "", {}, 0
    catalogue, complaints, found_rows, count = line[2], [], {}, 0
    for row in rows:
        level, general, fixed = reader.precise(row["record"])
        mask = general | sum(1 << 32 + n for n in fixed)
        found_rows[row["name"]] = [str(level), f"{mask:#x}" if mask else "-"]
        for _ in WAYS:
            way, status, *words = next(answers)
            if way not in WAYS[:2] or exceptions & {(catalogue, row["name"]), ("*", row["name"])}:
                continue
            if mask:
                row = dict(row, general=general, fixed=fixed)
            elif status == "ok":  # the record does not list them
                row = dict(row, general=int(words[0], 16) & int(words[1], 16))
            found = reader.difference(row, status, words)
            count += 1
            if found:
                complaints.append(complaint(cpu, row, way + " precise", found, status, words))
    return complaints, catalogue, found_rows, count


@check
def every_combination_of_made_up_fields_reaches_the_registers():
    complaints = program()
    if complaints:
        return complaints
    blob, total = pack(MADE + "/MADE"), 0
    for cpu in reader.native(MADE):
        found, count = compare(cpu, [], blob, ("file", "paper-file"))
        complaints += found
        total += count
    print(f"    made-up model: {total:,} register images compared")
    return complaints


@functools.cache
def published():
    """[(mapfile's folder, CPU)] of all published records; from packed files if there are only those."""
    if not os.path.isdir(DATA):
        raise Skip(f"no published records in {DATA} (UPMU_PERFMON_DATA names another folder)")
    folder = DATA
    archives = sorted(glob.glob(os.path.join(DATA, "intel-perfmon*.tar.xz")))
    if archives:
        folder = WORK + "/data"
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        for archive in archives:
            with tarfile.open(archive) as file:
                file.extractall(os.path.join(folder, os.path.basename(archive).split(".")[0]))
    found = []
    for path in reader.data_files(folder):
        root, seen = os.path.dirname(path), set()
        for cpu in reader.native(root) if glob.glob(root + "/*/events") else reader.linux(root):
            if cpu[2] and all(os.path.exists(path) for path in cpu[2]) and (SOAK or tuple(cpu[2]) not in seen):
                seen.add(tuple(cpu[2]))
                found.append((root, cpu))
    return found


@check
def every_field_of_every_published_record_reaches_the_registers():
    complaints = program()
    if complaints:
        return complaints
    cpus, rules, total = published(), corrections(), 0
    models = sorted({os.path.dirname(os.path.dirname(cpu[2][0])) for _, cpu in cpus if "/events/" in cpu[2][0]})
    models = [model for model in models if SOAK or os.path.basename(model) in PACKED]
    blobs = {}
    complaints += parallel(lambda model: blobs.update({model: pack(model)}) or [], models)
    for _, cpu in cpus:
        blob = blobs.get(os.path.dirname(os.path.dirname(cpu[2][0])))
        found, count = compare(cpu, rules, blob, WAYS if blob else WAYS[:2])
        complaints += found
        total += count
    print(f"    {len(cpus)} CPUs and forms, {len(blobs)} files of catalogues: {total:,} register images compared, "
          f"{sum(rule[4] for rule in rules)} records as {CORRECTIONS} says")
    if not SOAK and len(blobs) < 20:
        print("    the other models' files of catalogues are left to `make soak`")
    return complaints + [f"{CORRECTIONS}: no record needs the row {rule[:3]}" for rule in rules if rule[4] == 0]


@check
def every_precise_record_is_golden_and_reaches_its_registers():
    complaints = program()
    if complaints:
        return complaints
    golden, seen, total = {}, set(), 0
    for catalogue, *row in rows_of(PRECISE):
        golden.setdefault(catalogue, {})[row[0]] = row[1:]
    exceptions = {tuple(row[:2]) for row in rows_of(PRECISE_EXCEPTIONS)}
    for _, cpu in published():
        if "/events/" not in cpu[2][0]:  # Linux's form lacks the counters
            continue
        found, catalogue, rows, count = compare_precise(cpu, corrections(), exceptions)
        complaints += found
        total += count
        seen.add(catalogue)
        listed = golden.get(catalogue, {})
        complaints += [f"{file_of(cpu[2])} {name}: {rows.get(name)}; {PRECISE}, {catalogue}: {listed.get(name)}"
                       for name in sorted(rows.keys() | listed.keys()) if rows.get(name) != listed.get(name)]
    print(f"    {sum(len(golden[name]) for name in seen & golden.keys()):,} rows of {PRECISE}, {len(seen & golden.keys())} "
          f"catalogues: {total:,} register images compared")
    return complaints + [f"{PRECISE}: no records of {name}" for name in sorted(golden.keys() - seen)]


if __name__ == "__main__":
    main()
