#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/common/uncore_map.h: registers, PCI functions and counters of events of units, box by box, as collected
from Linux 6.12, LIKWID, Intel PCM and Intel's manuals.  It knows nothing of the library's tables.

    tests/records/uncore_map.py FOLDER > tests/common/uncore_map.h

FOLDER has the collected tables: uncore_msr_map.csv, uncore_boxes.csv, uncore_pci_devices.csv, uncore_constraints.csv.
"""
import csv
import os
import sys

ORDER = ("box_ctl", "ctl", "ctr", "fixed_ctl", "fixed_ctr", "filter")


def rows(name):
    with open(os.path.join(sys.argv[1], name), encoding="utf-8") as file:
        return list(csv.DictReader(file))


def number(text):
    return int(text, 16) if text.startswith("0x") else None


def words(values):
    return " ".join("%x" % value for value in values) or "-"


def main():
    boxes = {}
    for row in rows("uncore_msr_map.csv"):
        if row["box"] == "global" or not row["unit"]:
            continue
        kind = row["register"].rstrip("0123456789")
        if kind in ORDER:
            box = boxes.setdefault((row["generation"], row["box"], int(row["unit"])), {})
            box.setdefault(kind, []).append((int(row["register"][len(kind):] or "0"), int(row["msr"], 16)))
    print("""/* SPDX-License-Identifier: MIT */
/*
 * Written by tests/records/uncore_map.py.  Registers of units, box by box: control, selects, counters, fixed select,
 * fixed counter, filters, separated by '|'.
 */
#ifndef UPMU_TESTS_UNCORE_MAP_H
#define UPMU_TESTS_UNCORE_MAP_H

#include <stdint.h>

/* clang-format off */
static const struct {
    const char *generation, *box;
    unsigned unit;
    const char *registers;
} uncore_msrs[] = {""")
    for (generation, box, unit), kinds in boxes.items():
        text = "|".join(words(value for _, value in sorted(kinds.get(kind, []))) for kind in ORDER)
        print('    {"%s", "%s", %d, "%s"},' % (generation, box, unit, text))
    print("""};

/* Offsets in configuration space or memory (0 where another register is the base), how many there are, their width. */
static const struct {
    const char *generation, *box, *space;
    unsigned control, select, select_step, counter, counter_step, counters, width, fixed_select, fixed_counter;
    uint64_t mask;
} uncore_offsets[] = {""")
    for row in rows("uncore_boxes.csv"):
        control, select, counter = (number(row[name].split()[0] if row[name] else "") for name in ("box_ctl", "ctl0", "ctr0"))
        if row["access"] == "MSR" or select is None or control is None:
            continue
        step = row["ctr_step"]
        mask = (number(row["raw_event_mask"]) or 0) | (number(row["raw_event_mask_hi32"]) or 0) << 32
        print('    {"%s", "%s", "%s", %#x, %#x, %s, %#x, %s, %s, %s, %#x, %#x, UINT64_C(%#x)},' % (
            row["generation"], row["box"], row["access"], control, select, row["ctl_step"], counter,
            "0" if step.startswith("list") else step, row["counters"], row["counter_bits"],
            number(row["fixed_ctl"]) or 0, number(row["fixed_ctr"]) or 0, mask))
    print("""};

/* PCI functions; where they are (device << 3 | function), or ffffh: anywhere. */
static const struct {
    const char *generation, *box;
    unsigned unit, device, where;
} uncore_functions[] = {""")
    for row in rows("uncore_pci_devices.csv"):
        if not row["unit"] or not row["device"]:
            continue
        where = row["devfn_linux"].split(".")
        print('    {"%s", "%s", %s, %s, %#x},' % (
            row["generation"], row["box"], row["unit"], row["device"],
            int(where[0]) << 3 | int(where[1]) if len(where) == 2 else 0xffff))
    print("""};

/* Counters that Linux allows (where it knows none, Intel's event file), and those of Intel's file that differ. */
static const struct {
    const char *generation, *box;
    unsigned code, mask, counters, intel;
} uncore_constraints[] = {""")
    for row in rows("uncore_constraints.csv"):
        intel = 0
        if row["status"].startswith("DIFFER"):
            intel = 0xffff
            for part in row["intel_event_file"].split("|"):
                intel &= sum(1 << int(counter) for counter in part.split())
        print('    {"%s", "%s", %s, %s, %s, %#x},' % (
            row["generation"], row["box"], row["event_code"], row["code_mask"], row["counter_mask"], intel or 0xffff))
    print("""};

/* Events that a filter applies to: select bits, their mask, filters by their names. */
static const struct {
    const char *generation, *box;
    uint32_t config, mask;
    const char *filters;
} uncore_filtered[] = {""")
    for row in rows("uncore_filter_applicability.csv"):
        for generation in row["generation"].split("/"):
            print('    {"%s", "%s", %s, %s, "%s"},' % (
                generation, row["box"], row["match_config"], row["match_mask"], row["filters_allowed"]))
    print("""};

/* Fields of filters: word 1 or 2 (config1, config2), bits from lowest to highest. */
static const struct {
    const char *generation, *box, *name;
    unsigned word, low, high;
} uncore_fields[] = {""")
    for row in rows("uncore_evsel_layout.csv"):
        bits = row["bits"].split(":")
        if not row["target"].startswith("config") or not bits[0].isdigit():
            continue
        print('    {"%s", "%s", "%s", %s, %s, %s},' % (
            row["generation"], row["box"], row["field"], row["target"][6], bits[0], bits[-1]))
    print("""};
/* clang-format on */

#endif""")


main()
