#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write events/*_uncore.tsv, the events of units outside the cores, from tables of facts.

    python3 tools/catalog_uncore.py --facts FOLDER --amd FOLDER [--out events]

FOLDER of --facts holds uncore_events.csv (Intel's event files, libpfm4, LIKWID, Linux) and
tables/uncore_freerunning.csv (Linux's names of these counters), that of --amd
amd_uncore.csv (Linux, libpfm4).  Numbers of types of units: backends/uncore/uncore_boxes.tsv.
What a row of these catalogues means is in docs/CATALOGUES.md, "Units".  catalog_import.py makes rows of
Intel's complete event files by unit_row().
"""
import argparse
import csv
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from catalog_pack import MASK_FLAGS, ROOT, ROW_FLAGS, Catalogue, Mask, Row, check, complete, fold  # noqa: E402
from catalog_source import write  # noqa: E402

BOXES = "backends/uncore/uncore_boxes.tsv"
SELECT_HIGH, FILTER = 1, 2  # payload registers: UPMU_ROW_SELECT_HIGH, UPMU_ROW_FILTER
EXTENDED = 0x100            # of the event code: bit 21 of the select
FIXED_CODE = 0xff
# Generations of the table: number of the catalogue, another name: a processor with these events.
INTEL = {
    "NHM": (120, ""), "WSM": (121, ""), "NHMEX": (122, ""), "WSMEX": (123, ""), "SNB": (124, ""), "IVB": (125, ""),
    "HSW": (126, ""), "BDW": (127, ""), "SKL": (128, ""), "ICL": (129, ""), "RKL": (130, ""), "TGL": (131, ""),
    "ADL": (132, ""), "MTL": (133, ""), "LNL": (134, ""), "PTL": (135, ""), "SNBEP": (136, ""), "IVBEP": (137, ""),
    "HSX": (138, ""), "BDX": (139, ""), "KNL": (140, ""), "SKX": (141, ""), "SNR": (142, ""), "ICX": (143, ""),
    "SPR": (144, ""), "GNR": (145, ""),
}
AMD = {"f15h": 150, "zen1": 151, "zen2": 152, "zen3": 153, "zen4": 154, "zen5": 155, "zen6": 156}
CLIENTS = ("SNB", "IVB", "HSW", "BDW", "SKL", "ICL", "RKL", "TGL", "ADL", "MTL", "ARL", "LNL", "PTL", "NVL")
OLD_IMC = ("SNB", "IVB", "HSW", "BDW", "SKL", "ICL", "RKL")  # client memory controllers that only have free-running counters
# The fixed counter of the chip's clock: Linux's name of the unit that has it, if not "clock"; None: no source has its registers,
# and its unit is that of the event file.  Panther Lake's file says SANTA: there, and on Nova Lake, only CNCU has a fixed counter.
CLOCKS = {"MTL": "cncu", "ARL": "cncu", "LNL": None, "PTL": "cncu", "NVL": "cncu"}
# Free-running counters by their events' names: perf's unit masks (event code ffh) of the first.
FREE = {"TOTAL_REQCOUNT": 0x10, "RDCAS_COUNT": 0x20, "WRCAS_COUNT": 0x30, "CLOCKTICKS": 0x10, "BANDWIDTH_IN.PART": 0x20,
        "BANDWIDTH_OUT.PART": 0x30}
# Generations that have Linux's names of units of another one: which, and of which units.
SAME_ALIASES = {"IVBEP": ("SNBEP", "imc"), "BDX": ("HSX", "imc"), "SKX": ("HSX", "imc"), "WSM": ("NHM", "uncore"),
                "WSMEX": ("NHMEX", "wbox")}
# Linux's names that the table lacks (Linux 6.12, uncore_snbep.c and uncore_snb.c): unit, name, code, unit mask.
LINUX = {"SNBEP": (("qpi", "TXL_FLITS_ACTIVE", 0x00, 0x06), ("qpi", "DRS_DATA", 0x102, 0x08), ("qpi", "NCB_DATA", 0x103, 0x04)),
         "MTL": (("sncu", "CLOCKTICKS", 0xff, 0x00),)}
# Counters side by side that the table has in one line.
PAIRS = {"ddr": ["read", "write"], "ddrt": ["ddrt_read", "ddrt_write"], "pq_cycles": ["rpq_cycles", "wpq_cycles"],
         "bw_in": [f"bw_in_port{port}" for port in range(8)],
         "bw": [f"bw_{way}_port{port}" for way in ("in", "out") for port in range(4)],
         "util": [f"util_{way}_port{port}" for port in range(4) for way in ("in", "out")]}
# Generations whose I/O stacks' free-running counters have names in Linux 6.12 (Sapphire Rapids: those of incoming bandwidth).
STACKS = ("SKX", "SNR", "ICX", "SPR")
# Intel's folders of event files, and generations: a folder's own name, if it is not here.
FOLDERS = {"JKT": "SNBEP", "IVT": "IVBEP", "BDW-DE": "BDWDE"}
# Generations whose PMUs have the names of another one: the catalogue by which they are found.
PMUS = {"BDWDE": "bdx_uncore"}
# Units as event files call them, where that is not their name in lower case.
UNITS = {"qpi ll": "qpi", "upi ll": "upi", "cbo": "cbox", "sbo": "sbox", "hac_cbo": "hac_cbox", "imc_dclk": "imc", "ncu": "clock",
         "m2hbm": "m2m_hbm", "mchbm": "hbm"}
# Units whose first counters the library does not use (docs/uncore.md): the file's number of its counter 0.
FIRST = {("ICL", "arb"): 1}
MESH_ENDS = ("GNR", "SRF", "CWF")  # whose "mdf" has another name
OTHERS = 180  # number of the first catalogue of a generation that INTEL lacks
# A look-up is counted only in the states that the filter has: all of them, until the caller names some.
STATES = {"SNBEP": 0x7c0000, "IVBEP": 0x7e0000, "HSX": 0xfe0000, "BDX": 0xfe0000, "BDWDE": 0xfe0000, "SKX": 0x1fe0000, "CLX": 0x1fe0000}
# Where a table is wrong: code and unit mask.  The manual of IVB-EP's power unit (329468) has the event with the extended
# event bit; bit 3 of NHM's unit masks of one kind of reads or writes is another kind (three channels, libpfm4, PCM).
CORRECTIONS = {("IVBEP", "UNC_P_FREQ_MIN_PERF_P_CYCLES"): (EXTENDED | 0x02, 0x00),
               ("NHM", "linux:qmc_writes_full_any"): (0x2f, 0x07), ("NHM", "linux:qmc_normal_reads_any"): (0x2c, 0x07)}
# Where the high half of an I/O stack's select has its port and completion masks.
PORTS = {"SKX": (4, 12), "CLX": (4, 12), "": (4, 16)}


class Boxes:
    """Types of units: numbers, and the prefixes of their events' names."""

    def __init__(self, path=os.path.join(ROOT, BOXES)):
        with open(path, encoding="ascii") as source:
            rows = [line.rstrip("\n").split("\t") for line in source if not line.startswith("#")]
        self.numbers = {row[2]: int(row[1]) for row in rows[1:]}
        self.prefixes = {row[0]: row[4] for row in rows[1:]}
        self.names = {row[0]: row[2] for row in rows[1:]}
        self.generations, self.types = (self.beside(path, name) for name in ("generations", "types"))

    @staticmethod
    def beside(path, name):
        """Rows of another list of the folder."""
        with open(os.path.join(os.path.dirname(path), f"uncore_{name}.tsv"), encoding="ascii") as source:
            return list(csv.DictReader((line for line in source if not line.startswith("#")), delimiter="\t"))

    def general(self, generation, catalogue, unit):
        """
        Mask of the general counters of a generation's boxes; None: only a table of the machine, or nothing, says how many.
        `catalogue`: of a generation that has no PMUs of its own.
        """
        lines = [line for line in self.generations if line["key"] == generation] or \
            [line for line in self.generations if line["catalog"] == catalogue]
        keys = {key for line in lines for key in line["rows"].split(",")}
        most = max((int(row["counters"]) for row in self.types if row["generation"] in keys and self.names[row["box"]] == unit
                    and row["style"] not in "DF"), default=0)
        return (1 << most) - 1 if most else None

    def prefix(self, generation, unit):
        if generation in CLIENTS and f"client_{unit}" in self.prefixes and (unit != "imc" or generation in OLD_IMC):
            unit = f"client_{unit}"
        return self.prefixes[unit] if self.prefixes[unit] != "-" else ""


def number(text):
    return int(text, 0) if text else 0


def filter_word(register, value):
    """A value as part of config1: the second filter register's is its high half."""
    return value << 32 if "filter1" in register.lower() else value


def unit_row(generation, unit, name, code, umask, cmask=0, flags=0, counters=0, high=0, ports=(0, 0), word=0, how=""):
    """
    The row of an event.  `code` has bit 21 of the select in bit EXTENDED; `high`: bits 63:32 of the select; `ports`: masks of
    ports and completions; `word`: filter word; `how`: "fixed" and "free-running" counters.  The row, and the unit's name.
    """
    if how == "fixed":
        unit = CLOCKS.get(generation, "clock") or unit if generation in CLIENTS else unit
        code, umask, flags = FIXED_CODE, 0, flags | ROW_FLAGS["fixed-only"]
    elif how == "free-running":
        counters = 0
        if generation not in OLD_IMC:
            kind = next((kind for kind in FREE if kind in name), None)
            if unit not in ("imc", "iio") or not kind:
                raise ValueError(f"{name}: unknown free-running counter")
            part = re.search(r"\.PART(\d)", name)
            unit, code, umask = unit + "_free_running", FIXED_CODE, FREE[kind] + (int(part.group(1)) if part else 0)
    if unit == "mdf" and generation in MESH_ENDS:
        unit = "mdf_sbo"
    code, umask = CORRECTIONS.get((generation, name), (code, umask))
    port_at, class_at = PORTS.get(generation, PORTS[""])
    masks = ports[0] << port_at | ports[1] << class_at
    if masks & high not in (masks, high):  # one may have a part only: Emerald Rapids' completion buffers
        raise ValueError(f"{name}: masks of ports are {masks:#x} and {high:#x}")
    high |= masks
    states = STATES.get(generation, 0) if unit in ("cbox", "cha") and "LLC_LOOKUP" in name and not word else 0
    if high and word:
        raise ValueError(f"{name} has a filter word and a high half of its select")
    row = Row(name, code, umask, cmask, flags, counters, SELECT_HIGH if high else FILTER if word or states else 0, high or word or states)
    if row.msr and not states:
        row.flags |= ROW_FLAGS["payload"]
    return row, unit


def finish(catalogue, boxes, units, generation=""):
    """Units of a catalogue's rows, in the order of `units`.  An event that may have all counters of its unit has no restriction."""
    general = {unit: boxes.general(generation, catalogue.pmu or catalogue.name, unit) for unit in set(units)}
    for row, unit in zip(catalogue.rows, units):
        row.counters >>= FIRST.get((generation, unit), 0)
        if general[unit] is not None and row.counters & general[unit] == general[unit]:
            row.counters = 0
    catalogue.units = {unit: boxes.numbers[unit] for unit in sorted(set(units), key=boxes.numbers.get)}
    for row, unit in zip(catalogue.rows, units):
        row.unit = boxes.numbers[unit]
        complete(row)
    check(catalogue)
    return catalogue


# ---- Intel's ----

def event_row(generation, event):
    """The row of a line of uncore_events.csv, and its unit."""
    counters, how = event["counters"], ""
    if counters in ("fixed", "free-running"):
        counters, how = "", counters
    elif not re.fullmatch(r"[0-9 ]*", counters):  # the event code says which counter (NHM-EX B-box)
        counters = ""
    mask = sum(1 << int(counter) for counter in counters.split())
    hint = dict(re.findall(r"(\w+)=(0x[0-9a-f]+)", event["filter_hint"]))
    code, umask = number(hint.get("event") or event["event_code"]), number(event["umask"])
    if "inc_sel" in hint:  # the M-box has no event code: bits 13:9 choose what counts
        umask = number(hint["inc_sel"]) << 1
    if number(event["ext_sel"]):
        code |= EXTENDED
    cmask = dict(re.findall(r"(\w+)=(\w+)", event["modifiers"])).get("cmask")
    row, unit = unit_row(generation, event["box"], event["event_name"], code, umask, number(cmask), 0, mask, number(event["umask_ext"]),
                         (number(event["port_mask"]), number(event["fc_mask"])),
                         filter_word(event["filter_hint"], number(event["filter_value"])) or
                         number(hint.get("fvc") or hint.get("iperf_cfg")), how)
    raw = number(event["raw_config"]) if (generation, row.name) not in CORRECTIONS else 0
    if raw and not how and raw != (row.code & 255 | row.umask << 8 | (1 << 21 if row.code & EXTENDED else 0) |
                                   (row.payload << 32 if row.msr == SELECT_HIGH else 0)):
        raise ValueError(f"{generation} {row.name}: raw_config {raw:#x}")
    return row, unit


def free_running(path):
    """Linux's names of free-running counters: (generations, unit, name, code, umask)."""
    with open(path, encoding="ascii", newline="") as source:
        for line in csv.DictReader(source):
            if line["box"] == "iio_free_running" and (line["generation"] not in STACKS or line["counter"] == "bw_out"):
                continue
            generations = OLD_IMC if "SNB" in line["generation"] else line["generation"].split(",")
            code, _, umask = line["linux_encoding"].replace("+n", "").partition(" umask=")
            code = number(re.search("event=(0x[0-9a-f]+)", code).group(1))
            name = re.sub("^[a-z]+_imc_", "", line["counter"])
            for i, title in enumerate(PAIRS.get(name, [name])):
                yield generations, line["box"], title.upper(), code, number(umask) + i


def linux_names(generation, catalogue, units, boxes, free):
    """Linux's names that are no rows of uncore_events.csv: other names of rows, or rows."""
    def add(unit, name, code, umask, flags):
        row = Row(boxes.prefix(generation, unit) + name, code, umask, 0, flags)
        known = {fold(name) for name in [old.name for old in catalogue.rows] + [alias[0] for alias in catalogue.aliases]}
        same = [old.name for old, its in zip(catalogue.rows, units) if its == unit and old.encoding() == row.encoding()]
        if fold(row.name) not in known and same:
            catalogue.aliases.append((row.name, same[0], []))
        elif fold(row.name) not in known:
            catalogue.rows.append(row)
            units.append(unit)

    for generations, unit, name, code, umask in free:
        if generation in generations:
            add(unit, name, code, umask, 0)
    for unit, name, code, umask in LINUX.get(generation, ()):
        add(unit, name, code, umask, ROW_FLAGS["fixed-only"] if code == FIXED_CODE else 0)
    clock = CLOCKS.get(generation, "clock")
    if generation in CLIENTS and clock in units:
        add(clock, "CLOCKTICKS", FIXED_CODE, 0, ROW_FLAGS["fixed-only"])


def intel(folder, boxes):
    """Catalogues of Intel's generations."""
    with open(os.path.join(folder, "uncore_events.csv"), encoding="ascii", newline="") as source:
        events = list(csv.DictReader(line for line in source if not line.startswith("#")))
    free = list(free_running(os.path.join(folder, "tables", "uncore_freerunning.csv")))
    for generation, (catalogue_number, other) in INTEL.items():
        catalogue, units = Catalogue(generation.lower() + "_uncore", catalogue_number, other), []
        origin, units_of_it = SAME_ALIASES.get(generation, ("", ""))
        for event in (event for event in events if event["generation"] == generation or
                      (event["generation"] == origin and event["box"] in units_of_it.split() and
                       event["event_name"].startswith("linux:"))):
            row, unit = event_row(generation, event)
            linux = row.name.startswith("linux:")
            if linux:
                row.name = boxes.prefix(generation, unit) + row.name[len("linux:"):].upper()
                names = {fold(old.name) for old in catalogue.rows}
                same = [old.name for old, its in zip(catalogue.rows, units) if its == unit and old.encoding() == row.encoding()]
                if same:
                    catalogue.aliases += [(row.name, same[0], [])] if fold(row.name) not in names else []
                    continue
                if fold(row.name) in names:  # the memory controller's clock, on the fixed counter or on a general one
                    if not row.flags & ROW_FLAGS["fixed-only"]:
                        continue
                    row.name += "_F"
            catalogue.rows.append(row)
            units.append(unit)
        linux_names(generation, catalogue, units, boxes, free)
        yield finish(catalogue, boxes, units, generation), "Intel perfmon, libpfm4 4.13, LIKWID, Linux 6.12"


def imported(folder, events, boxes, taken):
    """The catalogue of a folder of Intel's event files: `events` of catalog_read; `taken`: numbers of others."""
    generation = FOLDERS.get(folder, folder)
    free = next(n for n in range(OTHERS, 256) if n not in taken)
    catalogue, units = Catalogue(generation.lower()[:5] + "_uncore", INTEL.get(generation, (free,))[0]), []
    for event in events:
        unit = UNITS.get(event.unit.lower(), event.unit.lower())
        if unit not in boxes.numbers:
            raise ValueError(f"{event.name}: unknown unit {event.unit}")
        word = re.fullmatch(r"0x[0-9A-Fa-f]+", event.filter)
        flags = sum(ROW_FLAGS[flag] for flag in ("inv", "edge", "deprecated") if getattr(event, flag))
        how = "fixed" if event.fixed is not None else "free-running" if event.name.endswith("_FREERUN") else ""
        name = re.sub(r"([-_.:])[-_.:]+", r"\1", event.name).strip("-_.:")  # Cascade Lake has UNC_H_SNOOPS_SENT.
        row, unit = unit_row(generation, unit, name, event.codes[0] | (EXTENDED if event.select else 0), event.umasks[0],
                             event.cmask, flags, event.counters & 0xffff, event.umask_high,
                             (event.port_mask, event.class_mask), filter_word(event.filter_register, int(word.group(), 16) if word else 0), how)
        catalogue.rows.append(row)
        units.append(unit)
    catalogue.pmu = PMUS.get(generation, "")
    return finish(catalogue, boxes, units, generation)


# ---- AMD's ----

L3_BY_CORE = (0x4e0, 0x4e1, 0x4e2, 0x4ed)


def northbridge_masks(row, masks):
    """
    Unit masks of a northbridge event of family 15h.  REQUEST_LOCAL_TO_NODE_n are two choices, a request and a node; so is
    the half of a link beside what it sends.  ALL is what no mask means.
    """
    pairs = [(name.partition("_LOCAL_TO_"), bits) for name, bits in masks if "_LOCAL_TO_NODE_" in name]
    low = 0x07 if any(name.endswith("LOCAL_TO_NODE_0_3") for name, _ in masks) else 0x0f  # bits of the request
    nodes = {node: bits & ~low for (_, _, node), bits in pairs}
    requests = {request: bits & low for (request, _, _), bits in pairs}
    by_core = row.code in L3_BY_CORE  # bits 7:4 choose a core
    paired = pairs and all(bits == requests[request] | nodes[node] for (request, _, node), bits in pairs)
    for name, bits in masks:
        name, group, flags = name.replace("-", "_"), 0, 0
        if paired and "_LOCAL_TO_NODE_" in name:
            continue
        if name == "ALL":
            flags = MASK_FLAGS["default"] | MASK_FLAGS["alone"]
            if paired:  # of requests; all nodes are a choice, too
                bits &= low
                row.masks.append(Mask("LOCAL_TO_NODE_" + row.name[-3:], 0xff & ~low, 1, flags))
            bits &= 0x0f if by_core else 0xff
        elif name == "READ_BLOCK_ANY":
            flags = MASK_FLAGS["default"]
        elif name.startswith("SUBLINK_"):
            group, flags = 1, MASK_FLAGS["exclusive"]
        row.masks.append(Mask(name, bits, group, flags))
    if by_core:
        row.masks += [Mask(f"CORE_{core}", core << 4, 1, MASK_FLAGS["exclusive"]) for core in range(8)]
        row.masks.append(Mask("ANY_CORE", 0xf0, 1, MASK_FLAGS["exclusive"] | MASK_FLAGS["default"]))
    if paired:
        row.masks += [Mask(request, bits, 0) for request, bits in requests.items()]
        row.masks += [Mask("LOCAL_TO_" + node, bits, 1) for node, bits in nodes.items()]
    if masks and not any(mask.flags & MASK_FLAGS["default"] for mask in row.masks):
        for mask in row.masks:
            mask.flags |= MASK_FLAGS["required"]


def amd(path, boxes):
    """Catalogues of AMD's families; northbridge events on core counters are events of the cores."""
    with open(path, encoding="ascii", newline="") as source:
        events = [event for event in csv.DictReader(source) if event["unit"] != "NB-on-core"]
    for name, catalogue_number in AMD.items():
        catalogue, units, masks = Catalogue(name + "_uncore", catalogue_number), [], {}
        for event in (event for event in events if (event["uarch"] or "f15h") == name):
            unit, title = event["unit"].lower(), event["event_name"]
            if event["umask_name"]:
                found = masks[title]
                if any(mask == event["umask_name"] for mask, _ in found):
                    found = masks.setdefault("L3_EVICTIONS", [])  # the table has its masks behind those of another event
                found.append((event["umask_name"], number(event["umask"])))
                continue
            extra = {key: number(value) for key, value in re.findall(r"(\w+)=(0x[0-9a-f]+)", event["extra"])}
            masks.setdefault(title, [])
            high = extra.get("enallslices", 0) << 14 | extra.get("enallcores", 0) << 15 | \
                extra.get("sliceid", 0) << 16 | extra.get("threadmask", 0) << 24
            row, _ = unit_row("", unit, title, number(event["event_code"]), number(event["umask"]) | extra.get("rdwrmask", 0), high=high)
            catalogue.rows.append(row)
            units.append(unit)
        for row in catalogue.rows:
            northbridge_masks(row, masks[row.name])
        yield finish(catalogue, boxes, units), "libpfm4 4.13" if name == "f15h" else "Linux tools/perf/pmu-events/arch/x86, libpfm4 4.13"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--facts", required=True)
    parser.add_argument("--amd", required=True)
    parser.add_argument("--boxes", default=os.path.join(ROOT, BOXES))
    parser.add_argument("--out", default=os.path.join(ROOT, "events"))
    options = parser.parse_args()
    boxes = Boxes(options.boxes)
    for catalogue, source in [*intel(options.facts, boxes),
                              *amd(os.path.join(options.amd, "amd_uncore.csv"), boxes)]:
        with open(os.path.join(options.out, catalogue.name + ".tsv"), "w", encoding="ascii") as out:
            out.write(write(catalogue, [f"source: {source}"]))


if __name__ == "__main__":
    main()
