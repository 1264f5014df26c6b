#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Bytes per event of the catalogue packer.

    python3 tools/catalog_measure.py                 the catalogues of events/, each alone and together

Prints `name<TAB>value<TAB>unit` lines.  docs/CATALOGUES.md quotes them.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import catalog_pack as pack  # noqa: E402


def line(name, value, unit):
    print(f"{name}\t{value:.2f}\t{unit}" if isinstance(value, float) else f"{name}\t{value}\t{unit}")


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
    built_in()
