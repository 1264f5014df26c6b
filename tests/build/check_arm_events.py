#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Arm's events: files that Arm publishes become catalogues; each CPU finds its own; names lead to codes and back.

What asks is the half of the library that encodes events, compiled for this machine with Arm's backend alone: no
processor of Arm's is needed.  tests/foreign counts such events.
"""
import glob
import json
import os
import re
import shutil
import sys

from checklib import check, files, main, run

WORK = "build/tests/arm_events"
OPTIONS = ("-std=c11 -O0 -Wall -Wextra -Werror -Iinclude -I. -no-pie -DUPMU_BACKEND_ARM_PMUV3=1 -DUPMU_BACKEND_X86_CORE=0 "
           "-DUPMU_BACKEND_X86_P4=0 -DUPMU_BACKEND_AMD=0 -DUPMU_BACKEND_PARAVIRT=0 -DUPMU_UNCORE=0 -DUPMU_EVENTS_ALL=0 "
           "-DUPMU_METRICS=0 -DUPMU_PRELUDES=0").split()
SOURCES = ["core/hw/register.c", "core/hw/image.c", "events/catalog_foreign.c", "events/catalog_models.c"]

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <upmu/catalogs.h>
#include <upmu/pmu.h>
#include <upmu/upmu.h>
#include "core/catalog/catalog.h"
#include "core/hw/backend.h"

static char blob[1 << 16];
static struct upmu_pmu pmu;

/* Every name of a catalogue, what it is encoded as, and the name that this leads back to. */
static void list(const struct upmu_catalog *catalog)
{
    struct upmu_event event;
    struct upmu_event_id id;
    uint32_t cursor = 0;
    char name[128], back[128];
    bool alias;

    while (upmu_catalog_next(catalog, NULL, &cursor, &id, name, sizeof name, &alias) == UPMU_OK) {
        if (upmu_event_parse(&pmu, name, &event, NULL) != UPMU_OK)
            printf("%s is refused\n", name);
        (void)upmu_event_name(&pmu, event.id, back, sizeof back);
        printf("%s %llx %s\n", name, (unsigned long long)event.config, back);
    }
}

static void try(const char *name)
{
    struct upmu_event event;

    if (upmu_event_parse(&pmu, name, &event, NULL) == UPMU_OK)
        printf("%s: %llx of %u\n", name, (unsigned long long)event.config, event.id.catalogue);
    else
        printf("%s: none\n", name);
}

/* what NAME [FILE]: "list"; "take" and "refuse" events of the file; "of" the CPU implementer.part */
int main(int count, char **word)
{
    FILE *file = count > 3 ? fopen(word[3], "rb") : NULL;
    size_t size = file ? fread(blob, 1, sizeof blob, file) : 0;
    unsigned implementer, part;

    if (sscanf(word[2], "%x.%x", &implementer, &part) == 2) {
        if (upmu_pmu_by_name(&pmu, "armv8_pmuv3") != UPMU_OK)
            return 1;
        pmu.family = (uint16_t)implementer, pmu.model = (uint16_t)part, pmu.native = (uint8_t)(0x10 | part >> 8);
        upmu_pmu_find_catalog(&pmu);
    } else if (upmu_pmu_by_name(&pmu, word[2]) != UPMU_OK) {
        return 1;
    }
    printf("%s %s %x.%x\n", pmu.name, upmu_catalog_name(pmu.catalog), (unsigned)pmu.family, (unsigned)pmu.model);
    if (!strcmp(word[1], "list"))
        list(pmu.catalog);
    if (!size)
        return 0;
    printf("loaded: %d\n", upmu_catalog_load(blob, size));
    if (!strcmp(word[1], "refuse"))
        pmu.refuses = 1u << UPMU_SOURCE_IMPORTED;
    printf("imported: %s\n", upmu_status_text(upmu_pmu_import(&pmu, blob)));
    try("MADE_UP");
    try("L1D_CACHE");
    try("ISB_SPEC");
    if (pmu.imported)
        list(pmu.imported);
    return 0;
}
"""


def arm_json(name, cpuid, events, architecture="pmuv3"):
    return {name: {"_type": "Events", "cpu": name, "cpuid": cpuid, "pmu_architecture": architecture,
                   "events": [dict(zip(("name", "code", "description"), (*event, "a text that is not taken")))
                              for event in events]}}


SOUND = {**arm_json("cortex-a57", "0x41d07", [("MADE_UP", 0xc7), ("L1D_CACHE", 0x99)]),
         **arm_json("cortex-a72", "0x41d08", [("L1D_CACHE", 0x99), ("MADE_UP", 0xc7)]),
         **arm_json("cortex-a15", "0x41c0f", [("WIDE", 0xff)], "pmuv2"),
         **arm_json("cortex-a9", "0x41c09", [("OLD", 1)], "pmuv2"),
         **arm_json("cortex-a32", "0x41d01", [("WIDE", 0xff)])}


def written(name, folder):
    """What the importer says to these files."""
    shutil.rmtree(f"{WORK}/{name}", ignore_errors=True)
    os.makedirs(f"{WORK}/{name}/in")
    for stem, data in folder.items():
        with open(f"{WORK}/{name}/in/{stem}.json", "w", encoding="ascii") as file:
            file.write(data if isinstance(data, str) else json.dumps(data))
    return run([sys.executable, "tools/catalog_arm.py", "--out", f"{WORK}/{name}/out", f"{WORK}/{name}/in"])


def program():
    """Made when it is first asked for."""
    if not os.path.exists(f"{WORK}/program"):
        os.makedirs(WORK, exist_ok=True)
        with open(f"{WORK}/main.c", "w", encoding="ascii") as file:
            file.write(PROGRAM)
        code, output = run(["gcc", *OPTIONS, "-o", f"{WORK}/program", f"{WORK}/main.c", *SOURCES,
                            *files("core/event/*.c", "core/catalog/*.c", "core/hw/backend.c", "core/util/*.c", "backends/arm_pmuv3/*.c")])
        if code:
            raise RuntimeError(output)
    return f"{WORK}/program"


def said(*words):
    code, output = run([program(), *words])
    return output.splitlines() if code == 0 else [f"exit {code}"]


@check
def files_that_arm_publishes_become_catalogues():
    """FB-008: the events of another architecture come from its JSON, as x86's do."""
    code, output = written("sound", SOUND)
    if code:
        return [output]
    text = open(f"{WORK}/sound/out/arm_cortex_a57.tsv", encoding="ascii").read()
    rows = [line.split("\t")[1:3] for line in text.splitlines() if line.startswith("E")]
    complaints = [f"events: {rows}"] if rows != [["L1D_CACHE", "0x99"], ["MADE_UP", "0xc7"]] else []
    cpus = re.findall("^# cpu: (.*)", text, re.M)
    complaints += [f"CPUs: {cpus}"] if cpus != ["65 0x07 0xffff 0x0 29", "65 0x08 0xffff 0x0 29"] else []
    made = sorted(os.listdir(f"{WORK}/sound/out"))
    if made != ["a32_cortex_a15.tsv", "a32_cortex_a32.tsv", "arm_cortex_a57.tsv"]:
        return [*complaints, "others: " + " ".join(made)]
    complaints += ["a text of Arm's was taken"] if "not taken" in text else []
    narrow = {name: re.findall("^# (?:pmu|cpu): (.*)", open(f"{WORK}/sound/out/a32_cortex_{name}.tsv", encoding="ascii").read(), re.M)
              for name in ("a15", "a32")}
    if narrow != {"a15": ["armv7_pmuv2", "65 0x0f 0xffff 0x0 28"], "a32": ["armv8_pmuv3", "65 0x01 0xffff 0x0 29"]}:
        complaints += [f"CPUs of AArch32: {narrow}"]
    broken = {"no JSON": {"cortex-a57": "{"}, "no events": {"cortex-a57": {"pmu_architecture": "pmuv3"}}}
    for what, event in (("a name", ("made up", 1)), ("a code", ("MADE", 0x10000)), ("a text for a code", ("MADE", "1"))):
        broken[what] = arm_json("cortex-a57", "0x41d07", [event])
    broken["a name twice"] = arm_json("cortex-a57", "0x41d07", [("MADE", 1), ("MADE", 2)])
    broken["an unknown CPU"] = arm_json("cortex-a1000", "0x41fff", [("MADE", 1)])
    broken["a code of PMUv2"] = arm_json("cortex-a15", "0x41c0f", [("MADE", 0x100)], "pmuv2")
    broken["no CPU"] = arm_json("cortex-a57", "0x0", [("MADE", 1)])
    for what, folder in broken.items():
        code, output = written("broken", folder)
        if code == 0 or "refused: " not in output or os.path.exists(f"{WORK}/broken/out"):
            complaints.append(f"{what}: exit {code}: {output[-300:]}")
    return complaints


@check
def each_name_of_each_arm_catalogue_leads_to_its_code_and_back():
    complaints, events = [], 0
    for path in sorted(glob.glob("events/foreign/a*.tsv")):
        lines = [line.rstrip("\n").split("\t") for line in open(path, encoding="ascii")]
        name = next(line[0].split()[2] for line in lines if line[0].startswith("# catalogue"))
        pmu = next((line[0].split()[2] for line in lines if line[0].startswith("# pmu")), "armv8_pmuv3")
        code = {line[1]: int(line[2], 16) for line in lines if line[0] == "E"}
        wanted = {f"{event} {value:x} {event}" for event, value in code.items()}
        wanted |= {f"{line[1]} {code[line[2]]:x} {line[2]}" for line in lines if line[0] == "A"}
        found = said("list", name)
        events += len(code)
        if not found[0].startswith(f"{pmu} {name} ") or len(found) != len(wanted) + 1 or set(found[1:]) != wanted:
            complaints.append(f"{name}: {found[:1]} {sorted(set(found[1:]) ^ wanted)[:5]}")
    print(f"{events} events")
    return complaints if events > 2500 else [*complaints, f"{events} events"]


@check
def each_arm_cpu_finds_its_own_catalogue():
    """By implementer and part; others have the common events."""
    cpus = {"41.d03": "cortex_a53", "41.d02": "cortex_a34", "41.d08": "cortex_a57", "41.d07": "cortex_a57", "41.d0c": "neoverse_n1",
            "41.d4f": "neoverse_n2", "3f.412": "rainier", "41.d06": "cortex_a65", "41.006": "armv8_pmuv3",
            "41.c05": "cortex_a5", "41.c07": "cortex_a7", "41.c0e": "cortex_a17", "41.c0f": "cortex_a15", "41.d01": "cortex_a32",
            "41.d13": "cortex_r52", "41.c09": "armv8_pmuv3", "00.051": "armv8_pmuv3", "51.d03": "armv8_pmuv3"}
    found = {cpu: said("of", cpu)[0].split()[1] for cpu in cpus}
    names = {"cortex_a72": "armv8_pmuv3 cortex_a57 41.d07", "neoverse_v2": "armv8_pmuv3 neoverse_n2 41.d49",
             "cortex_a15": "armv7_pmuv2 cortex_a15 41.c0f"}
    by_name = {name: said("of", name)[0] for name in names}
    return [f"{found}, {by_name}"] if found != cpus or by_name != names else []


@check
def events_that_arm_gives_no_name_have_that_of_linux():
    """Catches a catalogue that drops what its source only numbers: each code of Arm's file is a row, on the CPUs that have it."""
    named = {"cortex_a53": 25, "cortex_a34": 23, "cortex_a35": 24, "cortex_a32": 24}
    found = {name: [line.split()[:2] for line in said("list", name)[1:] if 0xc0 <= int(line.split()[1], 16) <= 0xe8]
             for name in named}
    complaints = [f"{name}: {len(found[name])}" for name in named if len(found[name]) != named[name]]
    linux = [["EXT_MEM_REQ_NC", "c1"], ["STALL_SB_FULL", "c7"], ["BR_COND_MISPRED", "cc"], ["TLB_ERR", "d2"], ["ST_DEP_STALL", "e8"]]
    complaints += [f"{name} {event}" for name in named for event in linux if event not in found[name]]
    if ["PREFETCH_LINEFILL_DROP", "c3"] in found["cortex_a34"] or ["PREFETCH_LINEFILL_DROP", "c3"] not in found["cortex_a53"]:
        complaints.append("C3h is an event of A53, not of A34")
    return complaints


@check
def the_command_of_a_pc_knows_the_events_of_arm_and_riscv():
    """Catches a command that is built with the backends of its own machine alone: names of others could not be looked up."""
    code, output = run(["make", "-s", "build/upmu"])
    complaints = [output] if code else []
    for pmu, event, wanted in (("cortex_a53", "STALL_SB_FULL", "0xc7"), ("armv8_pmuv3", "INST_RETIRED", "0x8"),
                               ("riscv_sbi", "BPU_PREFETCH_MISS", "0x1002d")):
        code, listed = run(["build/upmu", "list", "--pmu", pmu])
        if code or event not in listed.split():
            complaints.append(f"list --pmu {pmu}: exit {code}")
        code, encoded = run(["build/upmu", "encode", "--pmu", pmu, event])
        if code or not encoded.strip().lower().endswith(wanted):
            complaints.append(f"encode --pmu {pmu} {event}: exit {code}: {encoded}")
    code, pmus = run(["build/upmu", "pmus"])
    missing = {"armv8_pmuv3", "armv7_pmuv2", "riscv_sbi", "cortex_a53"} - {line.split()[0] for line in pmus.splitlines() if line.split()}
    return complaints + [f"pmus: no {name}" for name in sorted(missing)]


@check
def an_arm_pmu_takes_events_of_both_kinds():
    """FB-013, FB-021: as it ships: its own tables, and a file that is read at run time, beside each other."""
    return both_kinds("take", ["imported: no error", "MADE_UP: c7 of 461", "L1D_CACHE: 99 of 461", "ISB_SPEC: 7c of 205",
                               "cache-references 99 L1D_CACHE", "L1D_CACHE 99 L1D_CACHE", "MADE_UP c7 MADE_UP"])


@check
def static_tables_of_arm_alone_refuse_events_from_outside():
    """FB-020: and its own events are encoded as before."""
    return both_kinds("refuse", ["imported: not permitted", "MADE_UP: none", "L1D_CACHE: 4 of 205", "ISB_SPEC: 7c of 205"])


def both_kinds(what, wanted):
    code, output = written("both", SOUND)
    if code == 0:
        code, output = run([sys.executable, "tools/catalog_pack.py", "--blob", f"{WORK}/both/blob",
                            f"{WORK}/both/out/arm_cortex_a57.tsv"])
    if code:
        return [output]
    found = said(what, "41.d08", f"{WORK}/both/blob")
    return [] if found == ["armv8_pmuv3 cortex_a57 41.d08", "loaded: 0", *wanted] else found


if __name__ == "__main__":
    shutil.rmtree(WORK, ignore_errors=True)
    main()
