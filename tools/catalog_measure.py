#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Bytes per event of the catalogue packer.

    python3 tools/catalog_measure.py                 the catalogues of events/, each alone and together
    python3 tools/catalog_measure.py PERFMON_FOLDER  every core event file of a copy of github.com/intel/perfmon

Prints `name<TAB>value<TAB>unit` lines.  docs/CATALOGUES.md quotes them.
"""
import glob
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import catalog_import  # noqa: E402
import catalog_pack as pack  # noqa: E402


def line(name, value, unit):
    print(f"{name}\t{value:.2f}\t{unit}" if isinstance(value, float) else f"{name}\t{value}\t{unit}")


def fold_composed(catalogue):
    """Replace offcore responses by one masked row where they factor into one."""
    families = {}
    for row in catalogue.rows:
        head = row.name.split(".")[0]
        if row.msr in (0x1a6, 0x1a7) and "." in row.name:
            families.setdefault((head, row.code, row.umask, row.msr), []).append(row)
    taken = {row.name for row in catalogue.rows}
    for (head, _, _, _), rows in sorted(families.items()):
        if len(rows) > 30 and head not in taken:
            composed = catalog_import.compose(rows, head)
            if composed:
                gone = {row.name for row in rows}
                catalogue.rows = [r for r in catalogue.rows if r.name not in gone] + [composed]
                taken.add(head)


def perfmon(folder):
    catalogues, events = [], 0
    for number, path in enumerate(sorted(glob.glob(os.path.join(folder, "*", "events", "*_core.json"))), 1):
        with open(path, encoding="ascii") as source:
            records = json.load(source)["Events"]
        catalogue = pack.Catalogue(os.path.basename(path)[:11], number)
        catalogue.rows = [catalog_import.intel_row(record) for record in records]
        events += len(records)
        fold_composed(catalogue)
        catalogues.append(catalogue)
    data, sizes = pack.pack(catalogues)
    shared, parts = sizes["shared"]
    line("perfmon.models", len(catalogues), "models")
    line("perfmon.events", events, "events")
    line("perfmon.names", len(pack.Pool(catalogues).names), "names")
    line("perfmon.bytes", len(data), "bytes")
    line("perfmon.shared", shared, "bytes")
    for part, size in parts.items():
        line("perfmon.shared." + part.replace(" ", "_"), size, "bytes")
    line("perfmon.bytes_per_event", len(data) / events, "bytes")


def built_in():
    catalogues, _ = pack.sources()
    for catalogue in catalogues:
        data, _ = pack.pack([catalogue])
        line(f"{catalogue.name}.bytes", len(data), "bytes")
        line(f"{catalogue.name}.events", catalogue.events(), "events")
        line(f"{catalogue.name}.aliases", len(catalogue.aliases), "aliases")
        line(f"{catalogue.name}.bytes_per_event", len(data) / catalogue.events(), "bytes")
    data, sizes = pack.pack(catalogues)
    events = sum(c.events() for c in catalogues)
    line("together.bytes", len(data), "bytes")
    for name, (size, _) in sizes.items():
        line(f"together.{name}", size, "bytes")
    line("together.events", events, "events")
    line("together.bytes_per_event", len(data) / events, "bytes")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        perfmon(sys.argv[1])
    else:
        built_in()
