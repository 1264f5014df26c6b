# SPDX-License-Identifier: MIT
"""What published event records of units outside the cores ask for, read apart from the importer (tools/catalog_*.py) and
from the library's tables of units.

Sources of the rules: the field descriptions of Intel's event files; Linux 6.12's format files and event constraints
(positions of the fields in a select, counters), LIKWID and Intel PCM where Linux lacks a type.
"""
import glob
import json
import os
import re

# Folder of Intel's event files: the processor's name in the library.
MODELS = {
    "SNB": "Sandy Bridge", "IVB": "Ivy Bridge", "HSW": "Haswell", "BDW": "Broadwell", "SKL": "Skylake", "ICL": "Ice Lake",
    "RKL": "Rocket Lake", "TGL": "Tiger Lake", "ADL": "Alder Lake", "MTL": "Meteor Lake", "ARL": "Arrow Lake",
    "LNL": "Lunar Lake", "PTL": "Panther Lake", "NVL": "Nova Lake", "JKT": "Sandy Bridge-EP", "IVT": "Ivy Bridge-EP",
    "HSX": "Haswell-EP", "BDX": "Broadwell-EP", "BDW-DE": "Broadwell-DE", "KNL": "Knights Landing", "SKX": "Skylake-X",
    "CLX": "Cascade Lake-X", "SNR": "Snow Ridge", "ICX": "Ice Lake-X", "SPR": "Sapphire Rapids", "EMR": "Emerald Rapids",
    "GNR": "Granite Rapids", "SRF": "Sierra Forest", "GRR": "Grand Ridge", "CWF": "Clearwater Forest"}

# Unit of a record, in capitals: Linux's name of the type.
BOXES = {"CBO": "cbox", "SBO": "sbox", "UPI LL": "upi", "QPI LL": "qpi", "MCHBM": "hbm", "HAC_CBO": "hac_cbox",
         "IMC_DCLK": "imc", "M2HBM": "m2m_hbm"}

FIXED = 1 << 16  # the fixed counter in a mask of counters

# Registers of free-running counters: part of the record's name, address in the first box, from one part to the next.
SPR_FREE = {"IIO_CLOCKTICKS": (0x340E, 0), "BANDWIDTH_IN": (0x3800, 1), "BANDWIDTH_OUT": (0x3808, 1)}
GNR_FREE = {"IIO_CLOCKTICKS": (0x290E, 0), "BANDWIDTH_IN": (0x360E, 16), "BANDWIDTH_OUT": (0x2E0E, 16)}
CLIENT_FREE = {"TOTAL_REQCOUNT": (0x40, 0), "RDCAS_COUNT": (0x58, 0), "WRCAS_COUNT": (0xA0, 0)}
FREE_RUNNING = {
    "SNR": {"IIO_CLOCKTICKS": (0x1EAC, 0), "BANDWIDTH_IN": (0x1F00, 1), "M_CLOCKTICKS": (0x22B0, 0)},
    "ICX": {"IIO_CLOCKTICKS": (0xA55, 0), "BANDWIDTH_IN": (0xAA0, 1), "M_CLOCKTICKS": (0x22B0, 0)},
    "SPR": SPR_FREE, "EMR": SPR_FREE, "GNR": GNR_FREE, "SRF": GNR_FREE, "GRR": GNR_FREE, "CWF": GNR_FREE,
    "TGL": CLIENT_FREE, "ADL": CLIENT_FREE, "MTL": CLIENT_FREE, "ARL": CLIENT_FREE}

# Linux's tables of constraints, where they are tighter than a record: model, type, code, counters.
TIGHTER = {("SNB", "arb", 0x80): 1, ("IVB", "arb", 0x80): 1, ("HSX", "cbox", 0x09): 1, ("HSX", "r3qpi", 0x01): 3,
           ("BDX", "pcu", 0x80): 14, ("BDW-DE", "pcu", 0x80): 14, ("GNR", "iio", 0x88): 12, ("SRF", "iio", 0x88): 12,
           ("CWF", "iio", 0x88): 12}


def hexadecimal(record, key):
    return int(record.get(key) or "0", 16)


def decimal(record, key):
    return int(record.get(key) or "0")


def box_of(model, unit, fixed, free_running):
    """The type of units that counts a record."""
    box = BOXES.get(unit.upper(), unit.lower())
    if unit == "MDF" and model in ("GNR", "SRF", "GRR", "CWF"):
        return "mdf_sbo"
    if free_running:
        return box + "_free_running"
    if fixed and box in ("arb", "ncu", "santa"):  # of clients: a clock of the whole package
        return {"MTL": "cncu", "ARL": "cncu", "LNL": "no", "PTL": "cncu"}.get(model, "clock")
    return box


def select_of(model, box, record):
    """The select register's value, without the bit that enables it."""
    select = hexadecimal(record, "EventCode") & 0xff | hexadecimal(record, "UMask") << 8 | decimal(record, "ExtSel") << 21
    select |= decimal(record, "EdgeDetect") << 18 | decimal(record, "Invert") << 23 | decimal(record, "CounterMask") << 24
    channels, flows = hexadecimal(record, "PortMask"), hexadecimal(record, "FCMask")
    if channels or flows:  # the extended unit mask holds the same bits, in some records not all of them
        return select | channels << 36 | flows << (44 if model in ("SKX", "CLX") else 48)
    return select | hexadecimal(record, "UMaskExt") << 32


def address_of(model, name):
    """The register of a free-running counter in the first box; None: no source knows it."""
    for word, (first, step) in FREE_RUNNING.get(model, {}).items():
        if word in name:
            part = re.search(r"PART(\d+)", name)
            return first + step * int(part.group(1) if part else 0)
    return None


def wanted(model, record):
    """{name, box, select or None, filters: {register: value}, counters or None, address or None} of one record.

    `box` None: no register is known that counts it, so the library has to refuse it.  `counters` are of a select;
    `address` is of a free-running counter.
    """
    listed, kind = record["Counter"], record.get("CounterType")
    fixed, free_running = listed.lower() == "fixed", kind == "FREERUN"
    box = box_of(model, record["Unit"], fixed, free_running)
    row = {"name": record["EventName"], "box": box, "select": None, "filters": {}, "address": None}
    if fixed:
        row["counters"] = FIXED
    elif free_running:
        row["counters"], row["address"] = None, address_of(model, row["name"])
        if row["address"] is None:
            row["box"] = None
    else:
        row["counters"] = sum(1 << int(counter) for counter in listed.split(","))
        row["select"] = select_of(model, box, record)
        row["counters"] &= TIGHTER.get((model, box, row["select"] & 0xff), 0xffff)
        value = hexadecimal(record, "FILTER_VALUE")
        if value:
            row["filters"] = {"FILTER1": value}
    return row


def corrected(row, text):
    """A record's wishes as a correction has them: refused, name=, box=, counters=, select=, FILTER0=, FILTER1=."""
    row = dict(row)
    for part in text.split():
        field, _, value = part.partition("=")
        if field == "refused":
            row["box"] = None
        elif field.startswith("FILTER"):
            row["filters"] = {field: int(value, 0)}
        else:
            row[field] = value if field in ("box", "name") else int(value, 0)
    return row


def folders(root):
    """{model: its folder} of all folders below `root` with event files of units in Intel's own form."""
    found = sorted(glob.glob(os.path.join(root, "**", "events", "*uncore*.json"), recursive=True))
    return {os.path.basename(os.path.dirname(os.path.dirname(path))): os.path.dirname(os.path.dirname(path)) for path in found}


def records(folder):
    """The records of units in a model's folder."""
    for path in sorted(glob.glob(os.path.join(folder, "events", "*uncore*.json"))):
        yield from (record for record in json.load(open(path))["Events"] if record.get("Unit"))


def written(words):
    """({register: value}, {register: offset}) of the library's words; the last write of a register counts."""
    parts = [re.fullmatch(r"(.*):([0-9a-f]+)=([0-9a-f]+)", word).groups() for word in words]
    return ({name: int(value, 16) for name, _, value in parts}, {name: int(offset, 16) for name, offset, _ in parts})


def difference(row, status, words, bases):
    """What of one record did not reach the registers: '' or a word for it.

    `bases` collects the address of the first box of each type with free-running counters: all records must lead to one.
    A fixed counter may be at a base of its own.
    """
    if row["box"] is None or status != "ok":
        return "" if row["box"] is None and status != "ok" else f"refused: {status}" if status != "ok" else "not refused"
    if any("=" not in word for word in words[1:]):
        return f"refused: {words[-1]}"
    counters = int(words[0], 16)
    image, offsets = written(words[1:])
    selects = {name: value for name, value in image.items() if re.fullmatch(r"CTL\d+|FIXED_CTL", name)}
    if row["address"] is not None:
        places = [(name[:3], row["address"] - offset) for name, offset in offsets.items() if re.fullmatch(r"CTR\d+|FIXED_CTR", name)]
        if selects or len(places) != 1 or counters & (counters - 1):
            return "free-running"
        kind, base = places[0]
        return "" if bases.setdefault((row["box"], kind), base) == base else "address"
    if counters != row["counters"]:
        return "counters"
    if counters == FIXED:
        return "" if list(selects) == ["FIXED_CTL"] and selects["FIXED_CTL"] in (1, 1 << 22) else "fixed"
    own = "CTL%d" % ((counters & -counters).bit_length() - 1)
    if list(selects) != [own] or selects[own] & ~(1 << 22) != row["select"]:
        return "select"
    filters = {name: value for name, value in image.items() if name.startswith("FILTER") and value}
    return "" if filters == row["filters"] else "filters"
