#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The importer of event tables: both forms, malformed files, an unknown model.

tests/import holds a made-up model in either form.  With UPMU_PERFMON_DATA, a folder with
intel-perfmon and intel-perfmon-linux-form, every published model is imported, too.
IMPORT_MUTATIONS: how many bytes are changed (10,000 in a soak, else a tenth).
"""
import glob
import json
import os
import random
import re
import shutil
import sys

from checklib import ROOT, Skip, check, main, program_of_catalogues, read, run

sys.path.insert(0, os.path.join(ROOT, "tools"))
import catalog_import  # noqa: E402
import catalog_metrics  # noqa: E402
import catalog_pack  # noqa: E402
import catalog_read  # noqa: E402

WORK = "build/tests/import"
NATIVE, LINUX = "tests/import/native/NEW", "tests/import/linux/newmodel"
CORE = NATIVE + "/events/new_core.json"
MUTATIONS = int(os.environ.get("IMPORT_MUTATIONS", "10000" if os.environ.get("FUZZ_RUNS") == "soak" else "1000"))
SEED = 20261121
IMPORT = [sys.executable, "tools/catalog_import.py"]

# The made-up model's rows: name, code, umask, cmask, flags, counters, payload register, payload.
ROWS = """
INST_RETIRED.ANY 0xc0 0x00 0 precise 0x0 0x0 0x0
INST_RETIRED.PREC_DIST 0x00 0x01 0 fixed-only,precise 0x0 0x0 0x0
CPU_CLK_UNHALTED.THREAD 0x3c 0x00 0 - 0x0 0x0 0x0
CPU_CLK_UNHALTED.REF_TSC 0x00 0x03 0 fixed-only 0x0 0x0 0x0
TOPDOWN.SLOTS 0x00 0x04 0 fixed-only 0x0 0x0 0x0
CPU_CLK_UNHALTED.THREAD_P 0x3c 0x00 0 - 0xff 0x0 0x0
LONGEST_LAT_CACHE.MISS 0x2e 0x41 0 - 0xff 0x0 0x0
BR_MISP_RETIRED.ALL_BRANCHES 0xc5 0x00 0 precise,precise-only 0xff 0x0 0x0
UOPS.STALLS 0x0e 0x01 1 inv 0x4 0x0 0x0
UOPS.STARTS 0x0e 0x01 16 edge 0xff 0x0 0x0
UOPS.ANY_THREAD 0x0e 0x01 0 any 0xff 0x0 0x0
UOPS.OLD_NAME 0x0e 0x02 0 deprecated 0xff 0x0 0x0
RS.EMPTY_COUNT 0xa5 0x07 1 inv,edge 0xff 0x0 0x0
WIDE.LOW_AND_HIGH 0x2b 0x310 0 - 0xff 0x0 0x0
WIDE.HIGH_ONLY 0x2b 0x400 0 - 0xff 0x0 0x0
LOADS.LATENCY_GT_8 0xcd 0x01 0 payload,precise,precise-only 0xff 0x3f6 0x8
FRONTEND.LATE 0xc6 0x01 0 payload 0xff 0x3f7 0x500106
OFFCORE_RESPONSE.DEMAND_RFO.L3_HIT.ANY 0xb7/0xbb 0x01 0 payload 0xf 0x1a6 0x3f803c0002
MODULE_RESPONSE.ANY 0xb7 0x01 0 payload 0xff 0x1a6 0x10001
TRANSLATED.IN_DECIMAL 0x11 0x20 0 - 0xff 0x0 0x0
MODULE_RESPONSE.SECOND_REGISTER 0xb7 0x02 0 payload 0xff 0x1a7 0x14000
LOADS.OF_FOUR_REGISTERS 0xd6 0x01 0 payload 0xf 0x3e0 0xff03f000000001
LOADS.LATENCY 0xd0 0x05 0 - 0xff 0x0 0x0
"""
ALIASES = {"RS_EMPTY.COUNT": "RS.EMPTY_COUNT", "cycles": "CPU_CLK_UNHALTED.THREAD", "instructions": "INST_RETIRED.ANY",
           "OFFCORE_RESPONSE:request=DEMAND_RFO:response=L3_HIT.ANY": "OFFCORE_RESPONSE.DEMAND_RFO.L3_HIT.ANY"}
CPUS = ["# pmu: ix86arch", "# cpu: 6 0xe1 0xffff 0x0 0", "# cpu: 6 0xe2 0x40f 0x0 0"]
UNCORE = """
UNC_CHA_LOOKUP.ALL 0x34 0xff 0 payload 0xf 0x1 0x1fff cha
UNC_Q_FLITS.SNP 0x100 0x01 0 - 0xf 0x0 0x0 qpi
UNC_IIO_REQ.CARD 0x83 0x01 0 payload 0x3 0x1 0x700f0 iio
UNC_C_TOR.OPCODE 0x35 0x03 0 - 0x3 0x0 0x0 cbox
UNC_M_CLOCKTICKS_F 0xff 0x00 0 fixed-only 0x0 0x0 0x0 imc
"""
# What Linux's form of it has lost.
LOST = """
MODULE_RESPONSE.SECOND_REGISTER umask 0x2 0x1
LOADS.OF_FOUR_REGISTERS name LOADS.OF_FOUR_REGISTERS -
WIDE.HIGH_ONLY umask 0x400 0x0
CPU_CLK_UNHALTED.THREAD_P counters 0xff 0xf
"""


def fresh(name):
    path = os.path.join(WORK, name)
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    return path


def lines(text):
    return [line for line in text.split("\n") if line]


@check
def every_key_that_changes_an_encoding_is_read():
    out = fresh("native")
    code, output = run([*IMPORT, "--out", out, NATIVE])
    if code:
        return [output]
    made = lines(read(out + "/new.tsv"))
    rows = {line.replace("\t", " ")[2:] for line in made if line.startswith("E\t")}
    complaints = [f"no row {line}" for line in lines(ROWS) if line not in rows]
    for name, target in ALIASES.items():
        if f"A\t{name}\t{target}" not in made:
            complaints.append(f"no alias {name} of {target}")
    return complaints + [f"no line {line}" for line in CPUS if line not in made]


@check
def descriptions_are_taken_on_request_and_listed():
    """The library's part of a file is the same with them."""
    texts, files, complaints = [], [], []
    for name, options, packer in ("plain", [], ["catalog_pack.py", "--blob"]), ("about", ["--about"], ["catalog_about.py"]):
        out = fresh(name)
        for command in ([*IMPORT, *options, "--out", out, LINUX],
                        [sys.executable, "tools/" + packer[0], *packer[1:], out + "/new.bin", out + "/newmodel.tsv"]):
            code, output = run(command)
            complaints += [output] if code else []
        code, output = run(["build/upmu", "list", "--pmu", "ix86arch", "--blob", out + "/new.bin"])
        complaints += [output] if code else []
        texts.append(output)
        with open(out + "/new.bin", "rb") as file:
            files.append(file.read())
    text = "\n        words that are not taken\n"
    if text in texts[0] or text not in texts[1] or texts[1].replace(text, "\n") != texts[0]:
        complaints.append(f"listed: {texts[1]}")
    return complaints + ([] if files[1].startswith(files[0]) else ["another file of catalogues"])


@check
def both_forms_give_the_same_but_for_listed_losses():
    code, output = run([*IMPORT, "--out", WORK, "--compare", LINUX, NATIVE])
    found = {line[len("lost\tnew\t"):].replace("\t", " ") for line in lines(output)
             if line.startswith("lost")}
    if code or found != set(lines(LOST)):
        return [output]
    # Intel's own stands.
    out = fresh("both")
    code, output = run([*IMPORT, "--out", out, LINUX, NATIVE])
    return [] if not code and os.listdir(out) == ["new.tsv"] and "WIDE.HIGH_ONLY\t0x2b\t0x400" in read(out + "/new.tsv") \
        else [output]


@check
def events_of_other_units_are_kept_by_unit_where_asked_for():
    out = fresh("uncore")
    code, output = run([*IMPORT, "--out", out, "--uncore", out + "/uncore", NATIVE])
    made = {line.replace("\t", " ")[2:] for line in lines(read(out + "/uncore/new_uncore.tsv")) if line.startswith("E\t")}
    code = code or (made != set(lines(UNCORE)))
    return [output, *sorted(made)] if code or "UNC_" in read(out + "/new.tsv") else []


@check
def units_of_linuxs_form_are_refused_and_nothing_is_written():
    out = fresh("uncore")
    code, output = run([*IMPORT, "--out", out, "--uncore", out, LINUX])
    return [] if code and "is not in Intel's own form" in output and not os.listdir(out) else [output]


@check
def an_unknown_unit_is_refused_by_its_event():
    folder, out = fresh("malformed"), fresh("refused")
    shutil.copytree("tests/import/native", folder, dirs_exist_ok=True)
    path = folder + "/NEW/events/new_uncore.json"
    text = read(path)
    with open(path, "w", encoding="ascii") as file:
        file.write(text.replace('"CHA"', '"CHB"'))
    code, output = run([*IMPORT, "--out", out, "--uncore", out, folder + "/NEW"])
    return [] if code and "unknown unit CHB" in output and not os.listdir(out) else [output]


# ---- Malformed files ----

MALFORMED = {  # what is changed in the sample: text, instead, what the refusal says
    "a code that is none": ('"EventCode": "0xC0"', '"EventCode": "0xCG"', "record 5: EventCode: '0xCG' is no number"),
    "two events of one name": ('"EventName": "UOPS.STARTS"', '"EventName": "Uops.Stalls"', "record 12: Uops.Stalls is also record 11"),
    "a name with a blank": ('"EventName": "UOPS.STARTS"', '"EventName": "UOPS STARTS"', "record 12: EventName"),
    "a key twice": ('"UMask": "0x02",\n   "EventName": "CPU', '"UMask": "0x02", "UMask": "0x02",\n   "EventName": "CPU',
                    "record 2: not JSON: a key stands twice"),
    "no end": (']\n}', '', "record 27"),
    "a comma too many": ('  },\n  {\n   "EventCode": "0x11"', '  },,\n  {\n   "EventCode": "0x11"', "record 23"),
    "an array as value": ('"CounterMask": "16"', '"CounterMask": ["16"]', "record 12: CounterMask"),
    "a counter that is none": ('"Counter": "2"', '"Counter": "two"', "record 11: Counter"),
    "a counter mask of nine bits": ('"CounterMask": "16"', '"CounterMask": "256"', "record 12: CounterMask is above"),
    "no events": ('"Events"', '"Evente"', "key 'Evente'"),
}


@check
def malformed_files_are_refused_by_record_and_nothing_is_written():
    complaints = []
    for what, (old, new, says) in MALFORMED.items():
        folder, out = fresh("malformed"), fresh("refused")
        shutil.copytree("tests/import/native", folder, dirs_exist_ok=True)
        text = read(CORE)
        if text.count(old) < 1:
            complaints.append(f"{what}: the sample lacks it")
        at = text.rindex(old) if what == "no end" else text.index(old)
        with open(folder + "/NEW/events/new_core.json", "w", encoding="ascii") as file:
            file.write(text[:at] + new + text[at + len(old):])
        code, output = run([*IMPORT, "--out", out, folder + "/NEW"])
        if not code or "new_core.json" not in output or says not in output or "Traceback" in output:
            complaints.append(f"{what}: {output}")
        if os.listdir(out):
            complaints.append(f"{what}: something was written")
    return complaints


@check
def a_mapfile_that_says_nothing_of_a_folder_is_refused():
    complaints = []
    for rows, says in (("", "names no core events"), ("GenuineIntel-6-E1,V1\n", "mapfile.csv: record 2"),
                       ("GenuineIntel-6-E(1,V1,/NEW/events/new_core.json,core\n", "mapfile.csv: record 2")):
        folder = fresh("mapfile")
        shutil.copytree("tests/import/native", folder, dirs_exist_ok=True)
        with open(folder + "/mapfile.csv", "w", encoding="ascii") as file:
            file.write("Family-model,Version,Filename,EventType\n" + rows)
        code, output = run([*IMPORT, "--out", fresh("refused"), folder + "/NEW"])
        if not code or says not in output or "Traceback" in output:
            complaints.append(f"{rows!r}: {output}")
    return complaints


def table(text, path):
    """{(unit, name): what it means} of a file's text."""
    return {(event.unit, event.name): (catalog_import.meaning(event), event.precise, event.deprecated, event.umasks,
                                       event.filter, event.select, event.umask_high, event.port_mask, event.class_mask)
            for event in catalog_read.read_text(path, text)[1]}


def spans(text):
    """Where each record begins and ends."""
    walk = catalog_read.Walk("", text)
    at, found = text.index("[", text.find('"Events"') if '"Events"' in text else 0), []
    walk.at = at + 1
    while walk.next() != "]":
        begin = walk.at
        walk.value()
        found.append((begin, walk.at))
        if walk.next() == ",":
            walk.at += 1
    return found


def mutate(path, count, chance):
    """Complaints about so many changed bytes of a file, each alone; how many were refused."""
    with open(path, "rb") as file:
        data = file.read()
    text = data.decode()
    whole, records, refused, complaints = table(text, path), spans(text), 0, []
    names = [json.loads(text[begin:end]).get("EventName") for begin, end in records]
    for _ in range(count):
        at, letter = chance.randrange(len(data)), chance.randrange(1, 256)
        if chance.randrange(4):  # mostly another character that may stand there
            letter = data[at] ^ chance.choice(b"0123456789abcdefABCDEFxX,.:_ \"{}[]\\") or 1
        changed = data[:at] + bytes([data[at] ^ letter]) + data[at + 1:]
        # Near the changed record or between two: that one or the next.
        number = next((n for n, (_, end) in enumerate(records, 1) if at < end), len(records) + 1)
        where = f"{path}: byte {at} {data[at]:#x} -> {data[at] ^ letter:#x}"
        try:
            now = table(changed.decode("utf-8", "surrogateescape"), path)
        except catalog_read.Refused as refusal:
            refused += 1
            inside = number <= len(records) and records[number - 1][0] <= at
            if path not in str(refusal) or (inside and f"record {number}:" not in str(refusal) and
                                            f"is also record {number}" not in str(refusal)):
                complaints.append(f"{where} is record {number}: {refusal}")
            continue
        old = {key for key in whole if now.get(key) != whole[key]}
        new = {key for key in now if key not in whole}
        if len(old) > 1 or len(new) > 1 or any(name != names[number - 1] for _, name in old):
            complaints.append(f"{where}, record {number}: {sorted(old)[:3]} {sorted(new)[:3]}")
    return complaints, refused


@check
def one_changed_byte_changes_one_record_or_is_refused():
    chance, complaints = random.Random(SEED), []
    for path in (CORE, NATIVE + "/events/new_uncore.json", LINUX + "/pipeline.json", LINUX + "/other.json"):
        found, refused = mutate(path, MUTATIONS // 4, chance)
        complaints += found
        print(f"{path}: seed {SEED}, {MUTATIONS // 4} changed bytes, {refused} refused")
    return complaints


@check
def units_of_catalogues_have_the_numbers_of_their_types():
    rows = [line.split("\t") for line in lines(read("backends/uncore/uncore_boxes.tsv")) if not line.startswith("#")]
    numbers = {row[2]: row[1] for row in rows[1:]}
    units = [(path, *line.split()[2:4]) for path in sorted(glob.glob("events/*_uncore.tsv"))
             for line in lines(read(path)) if line.startswith("# unit:")]
    print(f"{len(units)} units of {len({path for path, _, _ in units})} catalogues")
    return [f"{path}: {unit} is {number}" for path, unit, number in units if numbers.get(unit) != number] or \
        ([] if len(units) > 100 else ["too few units"])


# ---- The packer ----

@check
def the_hash_of_a_large_catalogue_needs_few_trials_for_each_name():
    """Near-linear: the same for 1,000 names and for 8,000."""
    complaints = []
    for count in (1000, 4000, 8000):
        names = [f"UNC_{'CHA IIO M2M UPI'.split()[i % 4]}_EVENT_{i // 16:03}.MASK_{i % 16:X}" for i in range(count)]
        catalogue = catalog_pack.Catalogue("large", 300)
        catalogue.rows = [catalog_pack.Row(name, 1) for name in names]
        number = {name: i for i, name in enumerate(sorted(names, key=catalog_pack.order))}
        members = catalog_pack.members_of(catalogue, number)
        before = catalog_pack.place_buckets.trials
        displacements, slots, bits, seed = catalog_pack.hash_table(catalogue, members, number, False)
        trials = (catalog_pack.place_buckets.trials - before) / count
        print(f"{count} names: {trials:.1f} trials for each, seed {seed}")
        if trials > 64:
            complaints.append(f"{count} names: {trials:.1f} trials for each")
        for name in names:
            value = catalog_pack.name_hash(catalog_pack.fold(name), seed)
            slot = slots[catalog_pack.slot_of(value, displacements[value * len(displacements) >> 32], len(slots))]
            if members[slot & (1 << bits) - 1] != name:
                complaints.append(f"{name} is not in its slot")
    return complaints


# ---- An unknown model ----

PROGRAM = r"""
#include <stdio.h>
#include <upmu/catalogs.h>
#include <upmu/pmu.h>
#include "core/hw/backend.h"
#include "core/catalog/catalog.h"
int main(void)
{
    static struct upmu_pmu pmu;
    struct upmu_event event;
    if (upmu_pmu_by_name(&pmu, "new") != UPMU_OK)
        return 1;
    printf("%s %s %u %#x\n", pmu.name, upmu_catalog_name(pmu.catalog), pmu.family, pmu.model);
    if (upmu_event_parse(&pmu, "UOPS.STALLS", &event, NULL) != UPMU_OK)
        return 2;
    printf("%#llx\n", (unsigned long long)event.config);
    if (upmu_pmu_by_name(&pmu, "ix86arch") != UPMU_OK)
        return 3;
    pmu.family = 6; /* as detection finds it on such a CPU */
    pmu.model = 0xE2;
    for (pmu.stepping = 9; pmu.stepping < 11; pmu.stepping++) {
        upmu_pmu_find_catalog(&pmu);
        printf("%u: %s\n", pmu.stepping, upmu_catalog_name(pmu.catalog));
    }
    return 0;
}
"""
EXPECTED = "ix86arch new 6 0xe1\n0x183010e\n9: ix86arch\n10: new\n"


@check
def a_folder_and_a_row_of_the_mapfile_make_a_new_model():
    folder = fresh("new")
    code, output = run([*IMPORT, "--out", folder, NATIVE])
    if code:
        return [output]
    return program_of_catalogues(folder, ["events/ix86arch.tsv", f"{folder}/new.tsv"], PROGRAM, EXPECTED)


@check
def a_folder_of_amds_events_makes_a_model_of_its_vendor():
    root, out = fresh("amd"), fresh("amd-out")
    os.makedirs(root + "/amdnew")
    records = [{"EventName": "ex_ret_instr", "EventCode": "0xc0", "BriefDescription": "x"},
               {"EventName": "op_cache_hit_miss.op_cache_miss", "EventCode": "0x28f", "UMask": "0x04"},
               {"EventName": "l3_lookup_state.all", "EventCode": "0x04", "UMask": "0xff", "Unit": "L3PMC"}]
    with open(root + "/amdnew/core.json", "w", encoding="ascii") as file:
        json.dump(records, file)
    with open(root + "/mapfile.csv", "w", encoding="ascii") as file:
        file.write("Family-model,Version,Filename,EventType\nAuthenticAMD-26-7[[:xdigit:]],v1,amdnew,core\n")
    code, output = run([*IMPORT, "--out", out, root + "/amdnew"])
    made = lines(read(out + "/amdnew.tsv"))
    wanted = ["# pmu: zen5", "# cpu: 154 0x70 0xffff 0x0 0", "# cpu: 154 0x7f 0xffff 0x0 0",
              "E\tex_ret_instr\t0xc0\t0x00\t0\t-\t0x0\t0x0\t0x0",
              "E\top_cache_hit_miss.op_cache_miss\t0x28f\t0x04\t0\t-\t0x0\t0x0\t0x0"]
    complaints = [f"no line {line}" for line in wanted if line not in made]
    return complaints + ([output] if code or any("l3_lookup" in line for line in made) else [])


@check
def a_new_model_keeps_its_number():
    folder = fresh("number")
    for present in ("# catalogue: other 256\n", "# catalogue: new 300\n"):
        with open(f"{folder}/{present.split()[2]}.tsv", "w", encoding="ascii") as file:
            file.write(present)
    code, output = run([*IMPORT, "--out", folder, NATIVE])
    return [] if not code and "# catalogue: new 300" in read(folder + "/new.tsv") else [output]


@check
def core_types_of_a_new_hybrid_have_names_of_their_own():
    keys = ("pantherlake:atom", "pantherlake:core", "novalake_arcticwolf", "novalake_coyotecove", "newlake", "averylonglakename")
    names = [catalog_import.short_name(key) for key in keys]
    return [] if len(set(names)) == len(keys) and max(map(len, names)) <= 11 else [" ".join(names)]


@check
def a_name_that_is_too_long_gives_way_to_that_of_the_folder():
    """Not to a part of itself: a new hybrid of two files whose names are long."""
    root, out = fresh("hybrid"), fresh("hybrid-out")
    os.makedirs(root + "/ABL/events")
    rows = ["Family-model,Version,Filename,EventType,Core Type,Native Model ID,Core Role Name"]
    for name, kind, role in (("averylake_bigcovecove", "0x40", "Core"), ("averylake_smallmonths", "0x20", "Atom"),
                             ("averylake_tinymonthss", "0x20", "LowPower_Atom")):
        shutil.copyfile(CORE, f"{root}/ABL/events/{name}_core.json")
        rows.append(f"GenuineIntel-18-9,V1,/ABL/events/{name}_core.json,hybridcore,{kind},0x000009,{role}")
    with open(root + "/mapfile.csv", "w", encoding="ascii") as file:
        file.write("\n".join(rows) + "\n")
    code, output = run([*IMPORT, "--out", out, root + "/ABL"])
    wanted = ["abl_atom.tsv", "abl_core.tsv", "abl_lp.tsv"]
    return [] if not code and sorted(os.listdir(out)) == wanted and "called\taverylake_bigcovecove: abl_core" in output \
        else [output, *os.listdir(out)]


@check
def corrections_of_files_name_a_source_and_are_needed():
    complaints = []
    known = {model.name for model in catalog_import.models().values()}
    for line in lines(read("tools/catalog_corrections.tsv")):
        fields = line.split("\t")
        if not line.startswith("#") and (len(fields) != 6 or fields[0] not in known or not fields[5] or
                                         fields[2] not in ("counters", "registers", "payload-bits")):
            complaints.append(line)
    event = catalog_read.Event("OFFCORE_RESPONSE.ANY_REQUEST.L2_MISS")
    event.registers, event.value = [0x1a6, 0x1a7], 0x81f8
    catalog_import.correct("knl", [event])
    if (event.registers, event.value) != ([0x1a7], 0x81e0):
        complaints.append(f"{event.registers} {event.value:#x}")
    event.registers, event.value = [0x1a6], 0x81e0  # a file that was mended
    catalog_import.correct("knl", [event])
    return complaints if event.registers == [0x1a6] else complaints + ["a correction of what the file does not say"]


# ---- What is published ----

def published(name):
    folder = os.environ.get("UPMU_PERFMON_DATA")
    if not folder or not os.path.isdir(os.path.join(folder, name)):
        raise Skip("UPMU_PERFMON_DATA names no folder with " + name)
    return sorted(path for path in glob.glob(os.path.join(folder, name, "*")) if os.path.isdir(path))


def newest():
    """Models that are there in Intel's form only."""
    return sorted(glob.glob(os.path.join(os.environ.get("UPMU_PERFMON_DATA", ""), "intel-perfmon-newest", "[A-Z]*", "")))


@check
def both_published_forms_give_the_same_but_for_listed_losses():
    """Encodings; which counters Linux's form lists, and what can be precise, is counted only."""
    code, output = run([*IMPORT, "--compare", *published("intel-perfmon"), *published("intel-perfmon-linux-form")])
    fields = {}
    for line in lines(output):
        if line.startswith("lost\t"):
            fields.setdefault(line.split("\t")[3], []).append(line)
    print(", ".join(f"{len(found)} {field}" for field, found in sorted(fields.items())))
    listed = {line for line in lines(read("tests/import/losses.tsv")) if not line.startswith("#")}
    lost = {line for field, found in fields.items() if field not in ("counters", "precise") for line in found}
    return [f"exit {code}: {output[-500:]}"] if code else sorted(lost ^ listed)


@check
def published_models_are_checked_in_as_imported():
    out = fresh("published")
    code, output = run([*IMPORT, "--out", out, *published("intel-perfmon"), *newest()])
    made = sorted(os.listdir(out))
    print(f"{len(made)} models")
    return [output[-500:]] if code or len(made) < 40 else \
        [name for name in made if read(f"{out}/{name}") != read(f"events/{name}")]


@check
def every_published_event_is_in_its_catalogue():
    """Combinations of composed rows spelt out."""
    complaints, events = [], 0
    for folder in published("intel-perfmon") + newest():
        for part in catalog_read.native_parts(folder):
            model = catalog_import.models()[part.key]
            catalogue = catalog_pack.read_source(f"events/{model.name}.tsv")
            if model.name in catalog_import.MERGED:
                continue
            flat = {}
            for row in catalogue.rows:
                catalog_pack.complete(row)
                for masks in catalog_pack.combinations(row) if row.masks else [[]]:
                    payload = row.payload
                    for mask in masks:
                        payload |= mask.bits
                    flat[".".join([row.name] + [mask.name for mask in masks])] = (
                        row.code, row.umask, row.cmask, row.msr, payload, row.code2, row.counters)
            aliases = {name: ".".join([target] + masks) for name, target, masks in catalogue.aliases}
            for event in catalog_import.correct(model.name, part.events):
                row = catalog_import.row_of(event)
                wanted = (row.code, row.umask, row.cmask, row.msr, row.payload, row.code2, row.counters)
                events += 1
                if flat.get(row.name, flat.get(aliases.get(row.name))) != wanted:
                    complaints.append(f"{model.name}: {event.name}")
    print(f"{events} events")
    return complaints


@check
def one_changed_byte_of_a_file_changes_one_record_or_is_refused():
    chance, complaints, count = random.Random(SEED + 1), [], 0
    paths = [path for folder in published("intel-perfmon") for path in glob.glob(folder + "/events/*_core.json")]
    paths += [path for folder in published("intel-perfmon-linux-form") for path in glob.glob(folder + "/pipeline.json")]
    for path in sorted(paths):
        each = max(1, MUTATIONS // len(paths) // (1 if MUTATIONS >= 10000 else 5))
        found, _ = mutate(path, each, chance)
        complaints += found
        count += each
    print(f"seed {SEED + 1}, {count} changed bytes of {len(paths)} files")
    return complaints

# Rows of a packed file of units: name, unit, code, unit mask, counter mask, flags, register, payload.
# Behind them, of types that there are, "=" and the words that the library encodes, or its refusal.
ROWS_PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <upmu/catalogs.h>
#include <upmu/unit.h>
#include "backends/uncore/uncore.h"
#include "backends/uncore/uncore_tables.h"
#include "core/catalog/catalog.h"
static void encode(const struct upmu_uncore_pmu *pmu)
{
    char name[128];
    for (unsigned i = 0; i < upmu_catalog_rows(pmu->pmu.imported); i++) {
        struct upmu_event event;
        if (upmu_catalog_row_unit(pmu->pmu.imported, i) != pmu->type->number)
            continue;
        upmu_catalog_row_name(pmu->pmu.imported, i, name, sizeof name);
        enum upmu_status status = upmu_event_parse(&pmu->pmu, name, &event, NULL);
        printf("= %s %s %llu %llu %s\n", upmu_catalog_name(pmu->pmu.imported), name, (unsigned long long)event.config,
               (unsigned long long)event.config1, status == UPMU_OK ? "" : upmu_status_text(status));
    }
}
static void encode_all(const void *blob)
{
    for (unsigned g = 0; g < upmu_uncore_generation_count; g++)
        for (unsigned r = 0; r < upmu_uncore_generations[g].rows; r++) {
            const struct upmu_uncore_found found = {.counters = 8, .width = 48, .select = 8, .counter = 64};
            static struct upmu_uncore_pmu pmu;
            unsigned row = upmu_uncore_generations[g].first + r;
            if (row == upmu_uncore_other)
                continue;
            upmu_uncore_make(g, row, NULL, &pmu);
            if (!pmu.type->counters && pmu.type->style == UPMU_UNIT_DISCOVERED)
                upmu_uncore_make(g, row, &found, &pmu);
            if (upmu_pmu_import(&pmu.pmu, blob) == UPMU_OK)
                encode(&pmu);
        }
}
int main(int arguments, char **argument)
{
    static unsigned char bytes[1 << 20];
    FILE *file = arguments > 1 ? fopen(argument[1], "rb") : NULL;
    size_t size = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    const struct upmu_catalog *catalog;
    if (upmu_catalog_load(bytes, size) != UPMU_OK)
        return 1;
    for (unsigned i = 0; (catalog = upmu_catalog_loaded(bytes, i)) != NULL; i++) {
        struct upmu_event_id id;
        unsigned cursor = 0;
        char name[128];
        while (upmu_catalog_next(catalog, NULL, &cursor, &id, name, sizeof name, NULL) == UPMU_OK) {
            struct upmu_row row;
            if (!upmu_catalog_row(catalog, id.row, &row))
                return 2;
            printf("%s %s %u %u %u %u %u %u %llu\n", upmu_catalog_name(catalog), name, upmu_catalog_row_unit(catalog, id.row),
                   row.code, row.umask, row.cmask, row.flags, row.msr, (unsigned long long)row.payload);
        }
    }
    encode_all(bytes);
    return 0;
}
"""


# The PMUs of a model's units, by what their names begin with, where that is not the model's catalogue.
UNIT_PMUS = {"hsx": "hswep", "bdwde": "bdx"}
# Events that no source has registers or select bits of (docs/uncore.md).
NO_REGISTERS = (r"\w+ UNC_CHACMS_|snbep UNC_(I_|U_(MSG_CHNL_SIZE_COUNT|PHOLD_CYCLES|RACU_REQUESTS)\.)|"
                r"(snr|icx) UNC_IIO_BANDWIDTH_OUT\.|lnl UNC_CLOCK\.SOCKET")


@check
def the_list_of_each_models_units_is_accepted_on_its_machine():
    """Class of mistake: an importer and a library that call one thing by two names, each right by its own tests."""
    folders, out, complaints, listed = published("intel-perfmon") + newest(), fresh("lists"), [], 0
    code, output = run([*IMPORT, "--out", out, "--uncore", out, *folders])
    sources = sorted(glob.glob(out + "/*_uncore.tsv"))
    if code or len(sources) < 30:
        return [output[-500:]]
    known = [line.split()[0] for line in lines(run(["build/upmu", "list", "--unit"])[1])]
    for source in sources:
        model = os.path.basename(source)[:-len("_uncore.tsv")]
        code, output = run([sys.executable, "tools/catalog_pack.py", "--blob", out + "/one.bin", source])
        events = {line.split("\t")[1] for line in lines(read(source)) if line.startswith("E\t")}
        total = len(events)
        for pmu in dict.fromkeys(name for name in known if re.match(UNIT_PMUS.get(model, model) + "_unc(_|$)", name)):
            code, output = run(["build/upmu", "list", "--unit", "--pmu", pmu, "--blob", out + "/one.bin"])
            if code and "no event of" not in output:
                complaints.append(f"{model}: {pmu}: {output.strip()}")
            events -= set(lines(output))
        listed += total - len(events)
        complaints += [f"{model}: no PMU has {name}" for name in sorted(events) if not re.match(NO_REGISTERS, f"{model} {name}")]
    print(f"{listed} events of {len(sources)} models")
    return complaints


# Events that the library refuses: bit 21 of a U-box's select is in Intel's file of Sandy Bridge-EP only, and no source has
# the addresses of the free-running counters of outgoing bandwidth of Snow Ridge and Ice Lake-SP.
REFUSED = (r"snbep_uncore UNC_U_(MSG_CHNL_SIZE_COUNT|PHOLD_CYCLES|RACU_REQUESTS)\..* not supported",
           r"(snr|icx)_uncore UNC_IIO_BANDWIDTH_OUT\.PART\d_FREERUN not supported")


def plain(record, key):
    """A number of a record as the file has it."""
    text = str(record.get(key, "")).split(",")[0].strip().lower()
    return int(text, 0 if text.startswith("0x") or key not in ("UMask", "EventCode", "UMaskExt", "PortMask", "FCMask") else 16) \
        if text not in ("", "na", "null") else 0


def published_select(folder, record):
    """(select, filter word) of a record: as Intel's guides lay a select out, in all its generations."""
    umask = plain(record, "UMask")
    skylake = os.path.basename(folder.rstrip("/")) in ("SKX", "CLX")
    high = plain(record, "UMaskExt") or umask >> 8
    high |= plain(record, "PortMask") << 4 | plain(record, "FCMask") << (12 if skylake else 16)
    select = plain(record, "EventCode") | (umask & 255) << 8 | plain(record, "EdgeDetect") << 18 | plain(record, "ExtSel") << 21
    word = str(record.get("FILTER_VALUE", ""))
    return (select | plain(record, "Invert") << 23 | plain(record, "CounterMask") << 24 | high << 32,
            int(word, 16) << (32 if str(record.get("Filter")).endswith("1") else 0) if word.startswith("0x") else 0)


@check
def every_published_event_of_a_unit_is_packed_as_its_file_has_it():
    """All models in one file from outside; fixed and free-running counters have no select and are counted only."""
    folders, out, complaints = published("intel-perfmon") + newest(), fresh("units"), []
    code, output = run([*IMPORT, "--out", out, "--uncore", out, *folders])
    sources = sorted(glob.glob(out + "/*_uncore.tsv"))
    if code or len(sources) < 28:
        return [output[-500:]]
    code, output = run([sys.executable, "tools/catalog_pack.py", "--blob", out + "/units.bin", *sources])
    if code:
        return [output[-500:]]
    with open(out + "/rows.c", "w", encoding="ascii") as file:
        file.write(ROWS_PROGRAM)
    code, output = run(["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-no-pie", "-Iinclude", "-I.", "-o", out + "/rows",
                        out + "/rows.c", "build/gcc-64/libupmu.a"])
    code, rows = (code, output) if code else run([out + "/rows", out + "/units.bin"])
    if code:
        return [rows[-500:]]
    found, expected, encoded, refused = {}, {}, 0, 0
    for line in lines(rows):
        if line.startswith("= "):
            catalogue, name, select, word, refusal = line[2:].split(" ", 4)
            encoded += 1
            if refusal and any(re.match(pattern, f"{catalogue} {name} {refusal}$") for pattern in REFUSED):
                refused += 1
            elif refusal or (int(select), int(word)) != expected[catalogue, name]:
                complaints.append(f"{catalogue} {name}: {refusal or (select, word)}, not {expected[catalogue, name]}")
            continue
        catalogue, name, *numbers = line.split(" ")
        unit, event, umask, cmask, flags, register, payload = map(int, numbers)
        select = event & 255 | umask << 8 | (event >> 8) << 21 | cmask << 24 | bool(flags & 4) << 18 | bool(flags & 2) << 23
        select |= payload << 32 if register == 1 else 0
        found[catalogue, name.upper()] = (unit, select, payload if register == 2 and flags & 32 else 0)
        expected[catalogue, name] = (select, payload if register == 2 else 0)
        if catalogue == "knl_uncore" and "_TOR_" in name:  # 1 at all times: Linux ec336c879c3b, by Intel
            expected[catalogue, name] = (select, 0x2300000000)
    names = {"JKT": "snbep", "IVT": "ivbep", "BDW-DE": "bdwde"}
    compared = without = 0
    for folder in folders:
        model = os.path.basename(folder.rstrip("/"))
        for path in sorted(glob.glob(folder + "/events/*_uncore*.json")):
            text = json.loads(read(path))
            for record in text["Events"] if isinstance(text, dict) else text:
                name = record["EventName"].upper().rstrip(".")
                row = found.pop((names.get(model, model.lower()) + "_uncore", name), None)
                if not row or not row[0]:
                    complaints.append(f"{model} {name}: not there, or without a unit")
                elif str(record.get("Counter", "")).lower().startswith("fixed") or name.endswith("_FREERUN"):
                    without += 1
                elif (model, name) == ("IVT", "UNC_P_FREQ_MIN_PERF_P_CYCLES"):  # tools/catalog_uncore.py: CORRECTIONS
                    compared += row[1:] == (0x200002, 0)
                elif row[1:] != published_select(folder, record):
                    complaints.append(f"{model} {name}: {row[1]:#x} {row[2]:#x}, published {published_select(folder, record)}")
                else:
                    compared += 1
    print(f"{compared} events of {len(sources)} models have the words of their files, {without} have no select; "
          f"{encoded} encoded, of these {refused} refused")
    complaints += [] if encoded > 15000 else [f"only {encoded} events were encoded"]
    return complaints + [f"{key}: in no file" for key in sorted(found)]



@check
def formulas_of_metrics_are_taken_or_left_out_aloud():
    """A folder of made-up metrics of Skylake: each formula as upmu has it, or why it has not."""
    def metric(name, formula, events=(), constants=()):
        return {"MetricName": name, "Formula": formula, "Events": [{"Alias": a, "Name": n} for a, n in events],
                "Constants": [{"Alias": a, "Name": n} for a, n in constants]}
    ipc = [("a", "INST_RETIRED.ANY"), ("b", "CPU_CLK_UNHALTED.THREAD")]
    made = [metric("Info_Thread_IPC", "a / ( b )", ipc),
            metric("Frontend_Bound", "100 * ( a - ( b - 1 ) ) / ( ( b / 2 ) if smt_on else ( b ) )", ipc,
                   [("smt_on", "HYPERTHREADING_ON")]),
            metric("Retiring", "max( a * -b , 0.0001 ) + ( 2.5 if a >= 1e-5 else 1 )", ipc),
            metric("Bad_Speculation", "a ** 2", ipc), metric("Backend_Bound", "a / c", ipc),
            metric("Info_Memory_L1MPKI", "1000 * a", [("a", "NO.SUCH_EVENT")]),
            metric("Info_Memory_L2MPKI", "1000 *", ipc), metric("Info_Memory_L3MPKI", "sum( a , b )", ipc),
            metric("Info_System_DRAM_BW_Use", "64 * a / ( ms / 1000 ) + ms", [("a", "UNC_ARB_TRK_REQUESTS.ALL")],
                   [("ms", "DURATIONTIMEINMILLISECONDS")])]
    folder = f"{WORK}/metrics/SKL"
    os.makedirs(folder + "/metrics", exist_ok=True)
    with open(folder + "/metrics/skylake_metrics.json", "w", encoding="ascii") as file:
        json.dump({"Header": {"Version": "9", "DatePublished": "today"}, "Metrics": made}, file)
    text, left = catalog_metrics.take([folder])
    rows = {line.split("\t")[0]: line.split("\t")[3:] for line in text.split("\n") if line and not line.startswith("#")}
    ours, threads = "{INST_RETIRED.ANY}", "{CPU_CLK_UNHALTED.THREAD}"
    wanted = {"ipc": f"{ours} / {threads}",
              "frontend_bound": f"100 * ({ours} - ({threads} - 1)) / if(smt, {threads} / 2, {threads})",
              "retiring": f"max({ours} * -{threads}, 0.0001) + if({ours} >= 0.00001, 2.5, 1)",
              "memory_total": "1000 * (64 * {arb/UNC_ARB_TRK_REQUESTS.ALL} / seconds + 1000 * seconds)"}
    complaints = [f"{name}: {rows.get(name)}" for name in sorted(set(wanted) | set(rows)) if rows.get(name) != ["skl", wanted.get(name)]]
    reasons = ["Info_Memory_L1MPKI: event NO.SUCH_EVENT", "Info_Memory_L2MPKI: syntax", "Info_Memory_L3MPKI: call sum",
               "Bad_Speculation: Pow()", "Backend_Bound: name c"]
    complaints += [f"left out: {left}" for reason in reasons if not any(reason in line for line in left)]
    return complaints + ([] if len(left) == len(reasons) and "skylake_metrics.json V9 of today" in text else [text])


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
