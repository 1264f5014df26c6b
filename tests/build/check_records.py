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
"""
import fnmatch
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


def corrections():
    """[file pattern, name pattern, what is right, reason, records that need it]"""
    rows = [line.rstrip("\n").split("\t") for line in open(CORRECTIONS) if line.strip() and not line.startswith("#")]
    return [row[:4] + [0] for row in rows]


def compare(cpu, rules, blob, ways):
    """(complaints, records compared) of one CPU of a mapfile."""
    signature, leaf, paths = cpu
    name = os.path.basename(paths[0] if "/events/" in paths[0] else os.path.dirname(paths[0]))
    published = [reader.wanted(record) for record in reader.records(paths)]
    words = [signature, leaf] + reader.promised(published)
    rules = [rule for rule in rules if fnmatch.fnmatch(name, rule[0])]
    rows = []
    for row in published:
        matching = [rule for rule in rules if re.fullmatch(rule[1], row["name"])]
        right = row
        for rule in matching:
            right = reader.corrected(right, rule[2])
            rule[4] += right != row
        rows.append(right)
    text = "cpu\t" + " ".join(f"{word:x}" for word in words) + f" {blob or '-'}\n"
    text += "".join(f"event\t{row['name']}\n" for row in rows)
    done = subprocess.run([PROGRAM], input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lines = done.stdout.split("\n")
    if done.returncode or not lines[0].startswith("cpu\t") or lines[0].startswith("cpu\t-"):
        return [f"{name} {signature:x}: {lines[0]}, exit code {done.returncode}"], 0
    answers, complaints = iter(lines[1:]), []
    for row in rows:
        for _ in WAYS:
            way, status, *words = next(answers).split("\t")
            found = reader.difference(row, status, words) if way in ways else ""
            if found:
                images = " or ".join(f"{s:x}" + (f" {m:x}={v:x}" if m else "") for s, m, v in row["images"])
                complaints.append(f"{name} {row['name']}, {way}: {found}; right: {images}, counters {row['general']:x}, "
                                  f"fixed {row['fixed']}; library: {status} {' '.join(words)}")
    return complaints, len(rows) * len(ways)


@check
def every_combination_of_fields_of_a_made_up_model_reaches_the_registers():
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


def published():
    """(mapfile's folder, CPU) of all published records; from packed files if there are only those."""
    if not os.path.isdir(DATA):
        raise Skip(f"no published records in {DATA} (UPMU_PERFMON_DATA names another folder)")
    folder = DATA
    archives = sorted(glob.glob(os.path.join(DATA, "intel-perfmon*.tar.xz")))
    if archives:
        folder = WORK + "/data"
        for archive in archives:
            with tarfile.open(archive) as file:
                file.extractall(os.path.join(folder, os.path.basename(archive).split(".")[0]))
    for path in reader.data_files(folder):
        root, seen = os.path.dirname(path), set()
        for cpu in reader.native(root) if glob.glob(root + "/*/events") else reader.linux(root):
            if cpu[2] and all(os.path.exists(path) for path in cpu[2]) and (SOAK or tuple(cpu[2]) not in seen):
                seen.add(tuple(cpu[2]))
                yield root, cpu


@check
def every_field_of_every_published_record_reaches_the_registers():
    complaints = program()
    if complaints:
        return complaints
    cpus, rules, total = list(published()), corrections(), 0
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
    shutil.rmtree(WORK + "/data", ignore_errors=True)
    if not SOAK and len(blobs) < 20:
        print("    the other models' files of catalogues are left to `make soak`")
    return complaints + [f"{CORRECTIONS}: no record needs the row {rule[:3]}" for rule in rules if rule[4] == 0]


if __name__ == "__main__":
    main()
