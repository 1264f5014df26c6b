#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Catalogues in a build: their bytes, and builds that choose some of them."""
import os
import re
import sys

from checklib import ROOT, check, files, library_sources, main, read, run

WORK = "build/tests/events"
ALL_LIMIT = 259_800
UNITS_LIMIT = 42_900
LIMITS = {"skl": 13 * 1024}
PROGRAM = r"""
#include <stdio.h>
#include <upmu/catalogs.h>
#include <upmu/pmu.h>
#include <upmu/upmu.h>
#include "core/catalog/catalog.h"
int main(void)
{
    const struct upmu_catalog *catalog;
    static struct upmu_pmu pmu;
    struct upmu_event event;
    for (unsigned i = 0; (catalog = upmu_catalog_builtin(i)) != NULL; i++)
        printf("%s ", upmu_catalog_name(catalog));
    if (upmu_pmu_by_name(&pmu, "hsw") == UPMU_OK && upmu_event_parse(&pmu, "instructions", &event, NULL) == UPMU_OK)
        printf("hsw: %s", upmu_catalog_name(pmu.catalog));
    return 0;
}
"""


def alone():
    """{catalogue: bytes of its own packed file}"""
    return {name: int(size) for name, size in
            re.findall(r"^static const uint8_t catalog_(\w+)\[(\d+)\]", read("events/catalog_models.c"), re.M)}


def options(events):
    os.makedirs(WORK, exist_ok=True)
    with open(f"{WORK}/print.mk", "w", encoding="ascii") as file:
        file.write(f"UPMU_EVENTS = {events}\ninclude upmu.mk\nprint: ; @echo $(UPMU_CFLAGS)\n")
    # (The options of the make above are not this one's.)
    clean = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    return run(["make", "-s", "--no-print-directory", "-f", f"{WORK}/print.mk", "print"], env=clean)


def with_catalogues():
    """Sources that the choice reaches: the others' objects are the same."""
    return [source for source in library_sources()
            if source.startswith("events/") or re.search(r'^#include "core/catalog/catalog(_table)?\.h"', read(source), re.M)]


def built(events):
    """(what a program with these catalogues prints, bytes of them)"""
    code, flags = options(events)
    if code:
        return flags, 0
    with open(f"{WORK}/main.c", "w", encoding="ascii") as file:
        file.write(PROGRAM)
    flags = flags.split() + ["-Wall", "-Wundef", "-Werror", "-Iinclude", "-I.", "-fno-pie", "-O0"]
    objects, size = [], 0
    for source in [f"{WORK}/main.c"] + with_catalogues():
        objects.append(f"{WORK}/{os.path.basename(source)[:-2]}.o")
        code, output = run(["gcc", *flags, "-c", "-o", objects[-1], source])
        if code:
            return output, 0
        if source.startswith("events/catalog"):  # constants
            size += sum(int(bytes) for bytes in re.findall(r"^\.rodata\S*\s+(\d+)", run(["size", "-A", objects[-1]])[1],
                                                           re.M))
    code, output = run(["gcc", "-no-pie", "-o", f"{WORK}/main", *objects, "build/os/libupmu.a"])
    if code:
        return output, 0
    return run([f"{WORK}/main"])[1], size


@check
def a_name_spelt_like_an_event_with_its_masks_is_refused():
    """Masks are looked for in any order behind an event's name: such a name would never be found, or the event would not."""
    os.makedirs(WORK, exist_ok=True)
    complaints = []
    for name, refused in (("EVENT.B.A", True), ("EVENT.OTHER_B.A", True), ("EVENT.B.C", False), ("EVENT.BA", False)):
        with open(f"{WORK}/made.tsv", "w", encoding="ascii") as file:
            file.write("# catalogue: made 300\nE\tEVENT\t0x10\t0x00\t0\t-\t0x0\t0x0\t0x0\nM\tA\t0x1\t0\t-\t0\n"
                       f"M\tB\t0x2\t0\t-\t0\nN\tOTHER_B\tB\nE\t{name}\t0x11\t0x00\t0\t-\t0x0\t0x0\t0x0\n")
        code, output = run([sys.executable, "tools/catalog_pack.py", "--blob", f"{WORK}/made.bin", f"{WORK}/made.tsv"])
        if (code != 0 and "is spelt like EVENT with unit masks" in output) != refused or (code != 0) != refused:
            complaints.append(f"{name}: exit code {code}: {output}")
    return complaints


@check
def all_catalogues_and_single_ones_are_within_their_limits():
    whole = int(re.search(r"upmu_catalog_data\[(\d+)\]", read("events/catalog_data.c")).group(1))
    print(f"all: {whole} of {ALL_LIMIT} bytes")
    units = sum(int(size) for size in re.findall(r" units_\d\[(\d+)\]", read("events/catalog_units.c")))
    print(f"units: {units} of {UNITS_LIMIT} bytes")
    complaints = [f"all: {whole} bytes"] if whole > ALL_LIMIT else []
    complaints += [f"units: {units} bytes"] if not 0 < units <= UNITS_LIMIT else []
    for name, limit in LIMITS.items():
        print(f"{name}: {alone()[name]} of {limit} bytes")
        complaints += [f"{name}: {alone()[name]} bytes"] if alone()[name] > limit else []
    return complaints


@check
def chosen_catalogues_are_there_and_others_cost_nothing():
    complaints, sizes = [], alone()
    for events, wanted in (("skl", ["skl"]), ("haswell p4 zen2", ["netburst", "hsw", "zen2"])):
        printed, size = built(events)
        expected = "ix86arch " + " ".join(wanted) + (" hsw: hsw" if "hsw" in wanted else " hsw: ix86arch")
        if printed != expected:
            complaints.append(f"UPMU_EVENTS={events}: {printed[-300:]}, not {expected}")
        bytes = sum(sizes[name] for name in ["ix86arch"] + wanted)
        if not bytes <= size <= bytes + 32 * (len(wanted) + 1):
            complaints.append(f"UPMU_EVENTS={events}: {size} bytes, not {bytes}")
    return complaints


@check
def a_catalogue_that_there_is_not_is_refused():
    code, output = options("skl nosuch")
    return [] if code and "no events of nosuch" in output else [output]


@check
def every_source_has_a_catalogue_of_its_own():
    present = {os.path.basename(path)[:-4] for path in files("events/*.tsv") if not path.endswith("_uncore.tsv")} - {"exceptions"}
    return [f"{name}: events/catalog_models.c lacks it" for name in sorted(present - set(alone()))] + \
        [f"{name}: no source" for name in sorted(set(alone()) - present)]


@check
def metrics_of_models_that_were_left_out_cost_nothing():
    complaints = []
    for events, has, lacks in (("", ["IDQ_UOPS", "topdown-fe"], []), ("skl", ["IDQ_UOPS"], ["topdown-fe", "TOPDOWN_FE"]),
                               ("icelake zen2", ["topdown-fe"], ["IDQ_UOPS"]), ("p4", ["{instructions}"], ["INST_RETIRED"])):
        flags = options(events)[1].split() + ["-Wall", "-Wundef", "-Werror", "-Iinclude", "-I.", "-O0"]
        code, output = run(["gcc", *flags, "-c", "-o", f"{WORK}/metrics.o", "events/metric_data.c"])
        with open(f"{WORK}/metrics.o", "rb") as file:
            found = file.read().decode("latin-1")
        complaints += [output] * (code != 0) + [f"UPMU_EVENTS={events}: no {text}" for text in has if text not in found]
        complaints += [f"UPMU_EVENTS={events}: {text}" for text in lacks if text in found]
    return complaints


@check
def the_table_of_metrics_is_made_of_its_sources():
    code, output = run([sys.executable, "tools/catalog_metrics.py", "--check"])
    return [output] if code else []


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
