#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Units outside the cores: every field of every published event record reaches the registers; docs/uncore.md lists every
type, and on how many sources its registers rest; its code compiles, and the example that has it measures.

Class of mistake that the records find: a field that is lost on the way (an extended unit mask, the limit to certain
counters, a unit), or a model that no file can be imported for; tests that compare two readings of one importer see
neither.  tests/records/unit_reader.py reads the records apart from the importer and from the library's tables;
tests/records/units.c says what the library would write, in three ways: with the built-in catalogue, with the catalogue
of a file that importer and packer made, and after that file's run-time import.

tests/records/units has small records of four models.  Published records are read from UPMU_PERFMON_DATA, else from the
folder shared beside the checkout: of a few models, of all with RECORDS_RUNS=soak.  Where a record is wrong or leaves
something open, tests/records/unit_corrections.tsv says what is right, and why; that is compared then, and is
"explained" in the output.  A name that the built-in list lacks is "not built in".

With --write the table is put into the page.
"""
import copy
import glob
import os
import re
import shutil
import subprocess
import sys
import tarfile

from checklib import COMPILERS, ROOT, Skip, check, main, parallel, read, run

sys.path.insert(0, os.path.join(ROOT, "tests", "records"))
import unit_reader as reader  # noqa: E402

PAGE = "docs/uncore.md"
LINUX = "tests/golden/units_linux.tsv"
EXAMPLE = "examples/bandwidth.c"
WORK = "build/tests/units"
PROGRAM = WORK + "/units"
MADE = "tests/records/units"
CORRECTIONS = "tests/records/unit_corrections.tsv"
DATA = os.environ.get("UPMU_PERFMON_DATA", os.path.join("..", "shared", "data"))
SOAK = os.environ.get("RECORDS_RUNS") == "soak"
QUICK = ("MTL", "IVT", "CWF")  # models that a quick run reads
WAYS = ("built-in", "blob", "import")
FIELDS = {"EventCode": "0x{:02x}", "UMask": "0x{:02x}", "UMaskExt": "0x{:08x}", "PortMask": "0x{:02x}", "FCMask": "0x{:02x}",
          "ExtSel": "{}", "EdgeDetect": "{}", "Invert": "{}", "CounterMask": "{}", "FILTER_VALUE": "0x{:x}"}
HEAD = "| generation | two or more sources agree | one source |\n|---|---|---|\n"


def rows_of(path):
    lines = [line.split("\t") for line in read(path).splitlines() if line and line[0] != "#"]
    return [dict(zip(lines[0], line)) for line in lines[1:]]


def table():
    """A line for each processor, or for several that have the same types."""
    names = {row["key"]: row["name"] for row in rows_of("backends/uncore/uncore_boxes.tsv")}
    titles, types = {}, {}
    for row in rows_of("backends/uncore/uncore_generations.tsv"):
        titles.setdefault(row["rows"], []).append(row["title"])
    for row in rows_of("backends/uncore/uncore_types.tsv"):
        if row["rule"] == "broken":
            continue
        title = ", ".join(dict.fromkeys(titles.get(row["generation"], ["others, by their tables"])))
        name, one = "`" + names[row["box"]] + "`", len(row["source"].split()) == 1
        lists = types.setdefault(title, ([], []))
        if name not in lists[one]:
            lists[one].append(name)
    return HEAD + "".join(f"| {title} | {' '.join(several)} | {' '.join(one)} |\n" for title, (several, one) in types.items())


@check
def the_page_of_units_lists_every_type_and_its_evidence():
    if table() in read(PAGE):
        return []
    return [f"{PAGE}: the table is not that of backends/uncore/*.tsv: python3 {sys.argv[0]} --write"]


@check
def the_ten_lines_compile_and_the_readme_has_five_of_them():
    code = re.search(r"```c\n(.*?)```", read(PAGE), re.S).group(1)
    program = ("#include <upmu/unit.h>\nextern struct upmu_machine machine;\nextern struct upmu_cpu cpu;\nvoid work(void);\n"
               f"void measure(void);\nvoid measure(void)\n{{\n{code}(void)lines;\n}}\n")
    failed, output = run(["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-Wno-unused-result", "-fsyntax-only", "-Iinclude",
                          "-x", "c", "-"], input=program.encode())
    calls = [re.sub(r" */\*.*?\*/", "", line).strip() for line in code.splitlines() if re.match(r"(upmu_|work)", line)]
    shown = [re.sub(r" */\*.*?\*/", "", line).strip() for line in read("README.md").splitlines()]
    complaints = [output.strip()[:600]] if failed else []
    return complaints + [f"README.md lacks: {call}" for call in calls[:5] if call not in shown]


@check
def the_example_measures_the_bytes_that_were_moved():
    """Both dies of the machine: 3,500,000 lines of 64 bytes are read, 1,250,000 written."""
    source = read(EXAMPLE)
    complaints = [f"{EXAMPLE} does not call {call}()" for call in
                  re.findall(r"^(upmu_\w+)\(", re.search(r"```c\n(.*?)```", read(PAGE), re.S).group(1), re.M)
                  if call + "(" not in source]
    os.makedirs("build/tests", exist_ok=True)
    line = re.search(r"cc (-I.*?) -o bandwidth (.*?) && ", source)
    for compiler in "gcc", "clang":
        program = f"build/tests/bandwidth-{compiler}"
        code, output = run(["bash", "-c", f"{compiler} -std=c11 -Wall -Wextra -Werror {line[1]} -o {program} {line[2].replace('$L', 'build/gcc-64')}"])
        if code == 0:
            code, output = run([program])
        if (code, output) != (0, "read 224000000 bytes\nwritten 80000000 bytes\n"):
            complaints.append(f"{compiler}: exit {code}: {output[:600]}")
    return complaints


def program():
    """Complaints about building the program that asks the library."""
    os.makedirs(WORK, exist_ok=True)
    code, output = run(COMPILERS["gcc-64"] + ["-std=gnu11", "-g", "-no-pie", "-Wall", "-Wextra", "-Wshadow", "-Werror", "-Iinclude",
                                              "-I.", "-o", PROGRAM, "tests/records/units.c", "build/gcc-64/libupmu.a"])
    return [output] if code else []


def ask(text):
    """({processor: {type: index}}, the library's answers to `text`)."""
    done = subprocess.run([PROGRAM], input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise RuntimeError(f"{PROGRAM}: exit code {done.returncode}")
    head, _, answers = done.stdout.partition("\nend\n")
    types = {}
    for line in head.split("\n"):
        _, index, _, box, _, title = line.split("\t")
        types.setdefault(title[:-len(box) - 1], {}).setdefault(box, int(index))
    return types, iter(answers.split("\n"))


def pack(folder, out):
    """Path of a file with the units' catalogue of a model's folder, as importer and packer make it."""
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    model, commands = os.path.basename(folder), []
    commands.append([sys.executable, "tools/catalog_import.py", "--out", out, "--uncore", out, folder])
    commands.append([sys.executable, "tools/catalog_pack.py", "--blob", out + "/blob"])
    for command in commands:
        sources = sorted(glob.glob(out + "/*_uncore.tsv")) if command is commands[1] else []
        done = subprocess.run(command + sources, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise RuntimeError(f"{model}: {done.stdout[-600:]}")
    return out + "/blob"


def corrections():
    """[[models, name pattern, what is right, reason, records that need it]]"""
    rows = [line.rstrip("\n").split("\t") for line in open(CORRECTIONS) if line.strip() and not line.startswith("#")]
    return [[row[0].split()] + row[1:4] + [0] for row in rows]


def right(model, row, rules):
    """What is right of a record: (its wishes, whether a correction changed them)."""
    corrected = row
    for rule in rules:
        if model in rule[0] and re.fullmatch(rule[1], row["name"]):
            corrected = reader.corrected(corrected, rule[2])
            rule[4] += corrected != row
    return corrected, corrected != row


def counters_of(rows):
    """{type: how many counters its boxes have, where a processor's table tells}: four, or as many as records name."""
    most = {}
    for row in rows:
        if row["counters"] and row["counters"] != reader.FIXED:
            most[row["box"]] = max(most.get(row["box"], 4), row["counters"].bit_length())
    return most


def answers_of(model, folder, rows):
    """[(row, way, status, words)] of all records, and complaints about the file."""
    blob = pack(folder, f"{WORK}/{model}")
    types = ask("")[0][reader.MODELS[model]]
    plan, text, most = [], f"file\t{blob}\n", counters_of(rows)
    for row in sorted(rows, key=lambda row: row["box"] or ""):
        for box in types if row["box"] is None else [row["box"]]:
            text += f"use\t{types[box]} {most.get(box, 4)}\nevent\t{row['name']}\n" if box in types else ""
            plan.append((row, box, box in types))
    answers, found, complaints = ask(text)[1], [], []
    if next(answers) != "file\tno error":
        complaints.append(f"{model}: the file is refused")
    for row, box, known in plan:
        used = next(answers) if known else "use\tno such unit"
        if used != "use\tno error":
            complaints.append(f"{model} {box}: {used.replace(chr(9), ' ')}")
        for way in WAYS:
            line = next(answers).split("\t") if known else [way, "no such unit"]
            found.append((row, way, line[1], line[2:]))
    return found, list(dict.fromkeys(complaints))


def compare(model, folder, rules):
    """(complaints, {way: [compared, explained, unexplained, not built in]}, answers) of one model."""
    rows, changed = [], set()
    for record in reader.records(folder):
        row, explained = right(model, reader.wanted(model, record), rules)
        rows.append(row)
        if explained:
            changed.add(id(row))
    answers, complaints = answers_of(model, folder, rows)
    figures, bases, seen = {way: [0, 0, 0, 0] for way in WAYS}, {way: {} for way in WAYS}, set()
    for row, way, status, words in answers:
        first = (id(row), way) not in seen
        seen.add((id(row), way))
        if way == "built-in" and status == "no such event" and row["box"]:
            figures[way][3] += first
            continue
        figures[way][0] += first
        figures[way][1] += first and id(row) in changed
        different = reader.difference(row, status, words, bases[way])
        if different:
            figures[way][2] += 1
            complaints.append(f"{model} {row['name']}, {way}: {different}; right: {wishes(row)}; library: {status} {' '.join(words)}")
    return complaints, figures, answers


def wishes(row):
    if row["box"] is None:
        return "refused"
    counter = f"register {row['address']:x}" if row["counters"] is None else f"counters {row['counters']:x}"
    select = f", select {row['select']:x}" if row["select"] is not None else ""
    return f"{row['box']} {counter}{select}" + "".join(f", {name} {value:x}" for name, value in row["filters"].items())


def show(model, figures):
    parts = [f"{way}: records compared: {n:,}, explained: {explained:,}, unexplained: {wrong:,}" +
             (f", not built in: {absent:,}" if way == "built-in" else "") for way, (n, explained, wrong, absent) in figures.items()]
    print(f"    {model:7}" + "; ".join(parts))


@check
def made_records_of_units_reach_the_registers_in_every_way():
    complaints = program()
    if complaints:
        return complaints
    for model, folder in reader.folders(MADE).items():
        found, figures, _ = compare(model, folder, [])
        show(model, figures)
        complaints += found
    return complaints


def asked(model, pairs):
    """The answers, of the file alone, to names asked of given types of units."""
    types = ask("")[0][reader.MODELS[model]]
    known = [(name, box) for name, box in pairs if box in types]
    text = "".join(f"use\t{types[box]} 4\nevent\t{name}\n" for name, box in known)
    answers, found = ask(f"file\t{WORK}/{model}/blob\n" + text)[1], {}
    next(answers)
    for pair in known:
        next(answers)
        lines = {line[0]: (line[1], line[2:]) for line in (next(answers).split("\t") for _ in WAYS)}
        found[pair] = lines["blob"]
    return [found.get(pair, ("no such unit", [])) for pair in pairs]


def mutants(model, folder):
    """(field, wishes of a record without its change, with it): each record with one field changed."""
    for record in reader.records(folder):
        for field in list(FIELDS) + ["Counter", "CounterType", "Unit"]:
            changed = copy.copy(record)
            if field in FIELDS and field in record:
                base = 10 if FIELDS[field] == "{}" else 16
                changed[field] = FIELDS[field].format(int(record[field], base) ^ 1)
            elif field == "Counter" and "," in record[field]:
                changed[field] = record[field].rsplit(",", 1)[0]
            elif field == "CounterType" and record.get(field) == "FIXED":
                changed.update({field: "PGMABLE", "Counter": "0"})
            elif field == "Unit":
                changed[field] = "iMC" if record[field] != "iMC" else "PCU"
            yield field, reader.wanted(model, record), reader.wanted(model, changed)


@check
def a_change_of_any_field_of_a_record_is_reported():
    complaints, noticed = program(), {}
    if complaints:
        return complaints
    for model, folder in reader.folders(MADE).items():
        said = {row["name"]: (status, words) for row, way, status, words in compare(model, folder, [])[2] if way == "blob"}
        changes = [change for change in mutants(model, folder) if change[1] != change[2]]
        elsewhere = [(name, box) for _, before, after in changes for name, box in [(before["name"], after["box"])]
                     if box != before["box"]]
        others = dict(zip(elsewhere, asked(model, elsewhere)))
        for field, before, after in changes:
            status, words = others.get((before["name"], after["box"])) or said[before["name"]]
            noticed[field] = noticed.get(field, 0) + 1
            if not reader.difference(after, status, words, {(after["box"], kind): 0 for kind in ("CTR", "FIX")}):
                complaints.append(f"{model} {before['name']}: a change of {field} is not reported")
    fields = list(FIELDS) + ["Counter", "CounterType", "Unit"]
    print(f"    {sum(noticed.values())} changes of {len(noticed)} fields")
    return complaints + [f"no record of {MADE} shows a change of {field}" for field in fields if field not in noticed]


def published():
    """{model: folder} of all published records; from packed files if there are only those."""
    if not os.path.isdir(DATA):
        raise Skip(f"no published records in {DATA} (UPMU_PERFMON_DATA names another folder)")
    folder = DATA
    archives = [path for path in sorted(glob.glob(os.path.join(DATA, "intel-perfmon*.tar.xz"))) if "-linux" not in path]
    if archives:
        folder = WORK + "/data"
        for archive in archives:
            with tarfile.open(archive) as file:
                file.extractall(os.path.join(folder, os.path.basename(archive).split(".")[0]))
    return reader.folders(folder)


def folded(name):
    return re.sub(r"[-_.:]", "_", name).upper()


def linux_names():
    """{PMU: names that Linux has for events of it}"""
    names = {}
    for line in read(LINUX).splitlines():
        if line[0] != "#":
            for pmu in line.split("\t")[0].split():
                names.setdefault(pmu, []).append("_" + folded(line.split("\t")[1]))
    return names


def offered(title):
    """(PMU, name) of all names that the PMUs of a processor have built in."""
    head = subprocess.run([PROGRAM], input="", stdout=subprocess.PIPE, text=True, check=True).stdout.partition("\nend\n")[0]
    types = [line.split("\t")[1:] for line in head.split("\n")]
    types = [(index, pmu) for index, pmu, box, _, name in types if name == f"{title} {box}"]
    answers = ask("".join(f"use\t{index} 4\nnames\n" for index, _ in types))[1]
    for _, pmu in types:
        next(answers)
        yield from ((pmu, line.split("\t")[1]) for line in iter(lambda: next(answers), "names"))


@check
def a_pmu_offers_no_name_that_its_models_file_and_linux_lack():
    """Class of mistake: processors share a built-in list, and one has names of another one's events."""
    complaints, folders, names, count = program(), published(), linux_names(), 0
    if complaints:
        return complaints
    for model in (model for model in reader.MODELS if model in folders):
        listed = {folded(record["EventName"].rstrip(".")) for record in reader.records(folders[model])}
        for pmu, name in offered(reader.MODELS[model]):
            count += 1
            if folded(name) not in listed and not folded(name).endswith(tuple(names.get(pmu, ["?"]))):
                complaints.append(f"{model}: {pmu} offers {name}")
    print(f"    {count:,} names of {len(folders)} models")
    return complaints


@check
def every_field_of_every_record_of_a_unit_reaches_the_registers():
    complaints = program()
    if complaints:
        return complaints
    folders, rules, totals = published(), corrections(), {way: [0, 0, 0, 0] for way in WAYS}
    complaints += [f"no records of {model}" for model in reader.MODELS if model not in folders]
    complaints += [f"{model}: tests/records/unit_reader.py has no name of it" for model in folders if model not in reader.MODELS]
    models = [model for model in reader.MODELS if model in folders and (SOAK or model in QUICK)]
    results = {}
    complaints += parallel(lambda model: results.update({model: compare(model, folders[model], rules)}) or [], models)
    for model in models:
        show(model, results[model][1])
        complaints += results[model][0]
        for way in WAYS:
            totals[way] = [a + b for a, b in zip(totals[way], results[model][1][way])]
    show(f"{len(models)}", totals)
    shutil.rmtree(WORK + "/data", ignore_errors=True)
    if not SOAK:
        print(f"    skipped: the records of {len(folders) - len(models)} more models are left to `make soak`")
        return complaints
    return complaints + [f"{CORRECTIONS}: no record needs the row {rule[:3]}" for rule in rules if rule[4] == 0]


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        text = read(PAGE)
        begin = text.index(HEAD)
        end = text.index("\n\n", begin) + 1
        with open(PAGE, "w") as page:
            page.write(text[:begin] + table() + text[end:])
    else:
        main()
