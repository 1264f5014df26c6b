# SPDX-License-Identifier: MIT
"""What published event records ask for, read apart from the importer (tools/catalog_*.py).

Sources of the rules: the field descriptions of Intel's event files, Linux's
tools/perf/pmu-events/jevents.py (order and base of the fields), Linux's x86 format files
(positions of the fields in the select register).
"""
import csv
import glob
import json
import os
import re

FIRST_OF_PAIRS = (0x1A6, 0x3E0)  # response registers, of which the i-th goes with the i-th code or unit mask


def numbers(text):
    """A list of numbers: hexadecimal with 0x, else decimal."""
    return [int(word, 16 if word.lower().startswith("0x") else 10) for word in re.findall(r"0[xX][0-9a-fA-F]+|\d+", text or "")]


def pick(values, msrs, msr):
    """The entry of a list that goes with register `msr`."""
    if len(values) <= 1:
        return values[0] if values else 0
    if len(values) == len(msrs):
        return values[msrs.index(msr)]
    first = [base for base in FIRST_OF_PAIRS if base <= msr < base + len(values)]
    return values[msr - first[0]] if first else values[0]


def counters(text):
    """(mask of general counters, numbers of fixed ones) of a Counter field."""
    if "fixed" in text.lower():
        return 0, numbers(text)
    listed = numbers(text)
    return sum(1 << n for n in listed if n < 32), [n - 32 for n in listed if n >= 32]


def wanted(record):
    """{name, images: [(select, payload register or 0, its value)], general, fixed} of one record of a core."""
    msrs = [n for n in numbers(record.get("MSRIndex")) if n] or [0]
    value = (numbers(record.get("MSRValue")) or [0])[0]
    codes, umasks = numbers(record.get("EventCode")), numbers(record.get("UMask"))
    one = {key: (numbers(record.get(key)) or [0])[0] for key in
           ("UMaskExt", "CounterMask", "Invert", "EdgeDetect", "AnyThread", "Equal")}
    images = []
    for msr in msrs:
        umask = pick(umasks, msrs, msr)
        images.append((pick(codes, msrs, msr) | (umask & 0xff) << 8 | one["EdgeDetect"] << 18 | one["AnyThread"] << 21 |
                       one["Invert"] << 23 | one["CounterMask"] << 24 | one["Equal"] << 36 |
                       (umask >> 8 | one["UMaskExt"]) << 40, msr, value))
    general, fixed = counters(record.get("Counter", ""))
    return {"name": record["EventName"], "images": images, "general": general, "fixed": fixed, "record": record}


def precise(record):
    """(1: can be sampled precisely, 2: counts right in such records alone, 0: neither; general counters; fixed ones)."""
    level = max((numbers(record.get(key)) or [0])[0] for key in ("PEBS", "Precise"))
    return (level, *counters(record.get("PEBScounters", "")))


def corrected(row, text):
    """A record's wishes as a correction has them: counters=, fixed=, payload=, payload&=, register=, name=PREFIX."""
    row = dict(row, images=list(row["images"]))
    for part in text.split():
        field, value = part.split("=", 1)
        number = int(value, 0) if field != "name" else 0
        if field == "counters":
            row["general"] = number
        elif field == "fixed":
            row["fixed"] = [number]
        elif field == "payload":
            row["images"] = [(select, msr or 0x1A6, number) for select, msr, _ in row["images"]]
        elif field == "payload&":
            row["images"] = [(select, msr, old & number) for select, msr, old in row["images"]]
        elif field == "register":
            row["images"] = [(select & ~0xff00 | (number - 0x1A5) << 8, number, old) for select, _, old in row["images"][:1]]
        elif field == "name":
            row["name"] = value + row["name"].split(".", 1)[1]
    return row


def native(root):
    """(signature, leaf 1AH, event files) of each CPU that a mapfile of Intel's form names."""
    found = {}
    for row in csv.DictReader(open(os.path.join(root, "mapfile.csv"))):
        if row["EventType"] in ("core", "hybridcore"):
            found.setdefault((row["Family-model"], row["Core Type"], row["Native Model ID"]), []).append(row["Filename"])
    for (cpu, core, model), names in found.items():
        _, family, number, *stepping = cpu.split("-")
        steppings = re.findall(r"[0-9A-F]", stepping[0]) if stepping else ["0"]
        leaf = int(core, 16) << 24 | int(model, 16) if core else 0
        yield signature(int(family), int(number, 16), int(steppings[0], 16)), leaf, [root + name for name in names]


def linux(root):
    """The same of a mapfile of Linux's form, whose hybrids tell core types by the records' unit."""
    for expression, _, folder, _ in csv.reader(open(os.path.join(root, "mapfile.csv"))):
        paths = sorted(glob.glob(os.path.join(root, folder, "*.json")))
        text = expression.split("-")
        family, number = int(text[1]), text[2]
        number = number.strip("()").split("|")[0]  # the first of the models that the expression stands for
        number = re.sub(r"\[(.).*?\]", r"\1", number)
        stepping = int(re.sub(r"\[(.).*", r"\1", text[3]), 16) if len(text) > 3 else 0
        if paths and not any(record.get("Unit", "").startswith("cpu_") for record in records(paths)):
            yield signature(family, int(number, 16), stepping), 0, paths


def signature(family, model, stepping):
    """CPUID leaf 1 EAX."""
    base, extended = min(family, 15), max(family - 15, 0)
    return extended << 20 | (model >> 4) << 16 | base << 8 | (model & 15) << 4 | stepping


def records(paths):
    """The records of core events in event files of either form."""
    for path in paths:
        text = json.load(open(path))
        for record in text.get("Events", []) if isinstance(text, dict) else text:
            if "EventName" in record and record.get("Unit", "cpu").startswith("cpu"):
                yield record


def data_files(folder):
    return sorted(glob.glob(os.path.join(folder, "**", "mapfile.csv"), recursive=True))


# Event and unit mask of a general counter that count what a fixed counter does (facts of the SDM's
# fixed-function counters and of Linux's constraint tables).
TWINS = {0: (0x00C0,), 1: (0x003C,), 2: (0x013C,), 3: (0x01A4,), 4: (0x0073,), 5: (0x019C,), 6: (0x02C2,)}
REGISTERS = {0x1A6, 0x1A7, 0x3F6, 0x3F7, 0x3E0, 0x3E1, 0x3E2, 0x3E3}
ANY_PRIVILEGE = 0x430000  # EN, OS, USR
FIXED_CONTROL, FIXED_ANY_PRIVILEGE, FIXED_ANY_THREAD = 0x38D, 3, 4  # four bits a counter


def promised(rows):
    """Words of CPUID leaves 0AH and 23H (EAX EBX of subleaves 0 and 1) of a CPU that has what these records use."""
    from_one = any(row["name"] == "INST_RETIRED.ANY" and row["fixed"] == [1] for row in rows)
    general = fixed = selects = 0
    for row in rows:
        row["fixed"] = [n - from_one for n in row["fixed"]]
        general |= row["general"]
        fixed |= sum(1 << n for n in row["fixed"])
        for select, _, _ in row["images"]:
            selects |= select
    version = 6 if selects >> 36 or fixed >> 4 else 5 if fixed >> 3 else 3
    leaf = [version | general.bit_length() << 8 | 48 << 16 | 8 << 24, 0, fixed if version >= 5 else 0,
            3 | 48 << 5 | (0 if selects >> 21 & 1 else 1 << 15)]
    return leaf + ([3, 3, general, fixed] if version == 6 else [0] * 4)


def difference(row, status, words):
    """What of one record did not reach the registers: '' or a word for it, and the words."""
    if status != "ok":
        return f"refused: {status}"
    offered, general = int(words[0], 16), int(words[1], 16)
    if any("=" not in word for word in words[2:]):
        return f"refused: {words[-1]}"
    image = dict((int(part, 16) for part in word.split("=")) for word in words[2:])
    select = [value for msr, value in image.items() if value and (0x186 <= msr < 0x190 or 0x1901 <= msr < 0x1930)]
    if len(select) > 1:  # with an event that it needs beside it: its own is on the lowest counter that may count it
        own = (offered & general & -(offered & general)).bit_length() - 1
        select = [value for msr, value in image.items() if value and msr in (0x186 + own, 0x1901 + 4 * own)]
    payload = {msr: value for msr, value in image.items() if msr in REGISTERS}
    extra = [n for n in range(16) if offered >> (16 + n) & 1 and n not in row["fixed"]]
    if row["fixed"]:
        if any(not offered >> (16 + n) & 1 for n in row["fixed"]):
            return "counters: not on its fixed counter"
        flags = row["images"][0][0] & 0x200000
        twins = [twin | flags for n in row["fixed"] for twin in TWINS[n]]
        if not select:
            nibbles = [(FIXED_ANY_PRIVILEGE | (FIXED_ANY_THREAD if flags else 0)) << 4 * n for n in row["fixed"]]
            return "" if image.get(FIXED_CONTROL, 0) in nibbles else "control of the fixed counter"
        return "" if select[0] ^ ANY_PRIVILEGE in twins and not extra else "select"
    if not select or select[0] ^ ANY_PRIVILEGE not in [image[0] for image in row["images"]]:
        return "select"
    if (select[0] ^ ANY_PRIVILEGE, payload) not in [(s, {m: v} if m else {}) for s, m, v in row["images"]]:
        return "payload"
    if any(select[0] & 0xffff not in TWINS.get(n, ()) for n in extra):
        return "counters: a fixed one counts something else"
    if (offered ^ row["general"]) & general:
        return "counters: fewer" if not offered & general & ~row["general"] else "counters: others"
    return ""
