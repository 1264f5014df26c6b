# SPDX-License-Identifier: MIT
"""Read published event tables: Intel's own files and the form that Linux keeps.

Both are described at github.com/intel/perfmon and in Linux's tools/perf/pmu-events.
A record becomes an Event, in which both forms look alike; what is malformed raises
Refused, which names the file and the record.  Nothing is guessed across records: a
changed record changes its own event only.
"""
import csv
import json
import os
import re

LONGEST_NAME = 120
NAME = re.compile(r"[A-Za-z0-9_.:=\-]+\Z")
# Keys that say how an event is encoded, and how many values each may list.
NUMBERS = {"EventCode": 16, "UMask": 16, "UMaskExt": 16, "ExtSel": 0, "CounterMask": 0, "Invert": 0, "EdgeDetect": 0,
           "AnyThread": 0, "MSRIndex": 0, "MSRValue": 0, "PEBS": 0, "Precise": 0, "Deprecated": 0, "PortMask": 16,
           "FCMask": 16, "Equal": 0}
NOTHING = ("", "null", "na", "none", "n/a")


class Refused(Exception):
    """A file cannot be imported."""

    def __init__(self, path, record, what):
        super().__init__(f"{path}: record {record}: {what}" if record else f"{path}: {what}")
        self.path, self.record = path, record


class Event:
    """One record: numbers as they are, lists as lists."""

    def __init__(self, name):
        self.name = name
        self.codes, self.umasks, self.registers = [0], [0], []
        self.umask_high = self.select = self.cmask = self.inv = self.edge = self.any = 0
        self.value = self.precise = self.deprecated = self.port_mask = self.class_mask = self.equal = 0
        self.counters, self.fixed, self.unit, self.filter = 0, None, "", ""
        self.filter_register = ""
        self.about = ""  # for people


def without_repeats(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in an object")
    return found


DECODER = json.JSONDecoder(object_pairs_hook=without_repeats)
SPACE = re.compile(r"[ \t\r\n]*")


class Walk:
    """Goes through a text value by value, so that a mistake is known by its record."""

    def __init__(self, path, text):
        self.path, self.text, self.at, self.record = path, text, 0, 0

    def refuse(self, what):
        raise Refused(self.path, self.record, what)

    def next(self):
        self.at = SPACE.match(self.text, self.at).end()
        return self.text[self.at:self.at + 1]

    def take(self, letters):
        letter = self.next()
        if not letter or letter not in letters:
            self.refuse(f"expected {' or '.join(letters)} at byte {self.at}")
        self.at += 1
        return letter

    def value(self):
        self.next()
        try:
            value, end = DECODER.raw_decode(self.text, self.at)
        except (ValueError, RecursionError) as mistake:
            self.refuse(f"not JSON: {mistake}")
        if any("\ud800" <= letter <= "\udfff" for letter in self.text[self.at:end]):
            self.refuse("not UTF-8")
        self.at = end
        return value

    def array(self):
        """Records of an array, numbered from 1."""
        records = []
        self.take("[")
        if self.next() == "]":
            self.at += 1
            return records
        while True:
            self.record = len(records) + 1
            records.append(self.value())
            if self.take(",]") == "]":
                self.record = 0
                return records

    def whole(self):
        """(header, records) of a file: an array, or an object with Header and Events."""
        header, records = {}, None
        if self.next() == "[":
            records = self.array()
        else:
            self.take("{")
            while True:
                key = self.value()
                self.take(":")
                if key == "Events" and records is None:
                    records = self.array()
                elif key == "Header" and not header:
                    header = self.value()
                else:
                    self.refuse(f"key {key!r} beside Header and Events")
                if self.take(",}") == "}":
                    break
        if self.next():
            self.record = len(records or []) + 1
            self.refuse("something follows the end")
        if records is None or not isinstance(header, dict):
            self.refuse("no Events")
        return header, records


def number(text, base):
    """One number: 0x..., or digits of the base that the key has (0: decimal)."""
    text = str(text).strip()
    if text.lower() in NOTHING:
        return 0
    if re.fullmatch(r"0[xX][0-9a-fA-F]{1,16}", text):
        return int(text, 16)
    if re.fullmatch(r"[0-9]{1,20}", text) or (base == 16 and re.fullmatch(r"[0-9a-fA-F]{1,16}", text)):
        return int(text, base or 10)
    raise ValueError(f"{text!r} is no number")


def numbers(record, key):
    value = record.get(key)
    if value is None:
        return []
    if not isinstance(value, (str, int)):
        raise ValueError(f"{key} is neither text nor a number")
    try:
        return [number(part, NUMBERS[key]) for part in str(value).split(",")]
    except ValueError as mistake:
        raise ValueError(f"{key}: {mistake}") from None


def single(record, key, most):
    """The first number of a key, 0 where it is missing."""
    found = numbers(record, key)
    if found and max(found) > most:
        raise ValueError(f"{key} is above {most:#x}")
    return found[0] if found else 0


def counters(event, text):
    """General counters as bits, or the number of a fixed one."""
    if text.strip().lower() in NOTHING:
        return
    fixed = re.fullmatch(r"[Ff](?:ixed|IXED)(?: counter ([0-9]{1,2}))?", text.strip())
    if fixed:
        event.fixed = int(fixed.group(1) or 0)
        return
    for part in text.split(","):
        place = part.strip()
        if not re.fullmatch(r"[0-9]{1,2}", place):
            raise ValueError(f"Counter: {text!r}")
        if int(place) >= 32:
            event.fixed = int(place) - 32
        else:
            event.counters |= 1 << int(place)


def event_of(record):
    """The event of a record; None for metrics and the like, which have no name of an event."""
    if not isinstance(record, dict):
        raise ValueError("is no object")
    if "EventName" not in record:
        return None
    name = record["EventName"]
    if not isinstance(name, str) or not NAME.match(name) or len(name) > LONGEST_NAME:
        raise ValueError(f"EventName {name!r}")
    event = Event(name)
    for key in ("Unit", "Counter", "CounterHTOff", "Filter", "FILTER_VALUE"):
        if not isinstance(record.get(key, ""), (str, int)):
            raise ValueError(f"{key} is neither text nor a number")
    event.unit = str(record.get("Unit", ""))
    event.codes = numbers(record, "EventCode") or [0]
    event.umasks = numbers(record, "UMask") or [0]
    if max(event.codes) > 0xffff or max(event.umasks) >> 40:
        raise ValueError("EventCode or UMask is too large")
    # The extended part has a key of its own, or stands above the eight bits of UMask.
    event.umask_high = single(record, "UMaskExt", 0xffffffff) or event.umasks[0] >> 8
    event.umasks = [umask & 0xff for umask in event.umasks]
    event.select = single(record, "ExtSel", 1)
    event.cmask = single(record, "CounterMask", 255)
    event.inv, event.edge, event.any, event.deprecated, event.equal = (
        single(record, key, 1) for key in ("Invert", "EdgeDetect", "AnyThread", "Deprecated", "Equal"))
    event.precise = max(single(record, "PEBS", 2), single(record, "Precise", 2))
    event.registers = [register for register in numbers(record, "MSRIndex") if register]
    event.value = single(record, "MSRValue", (1 << 64) - 1)
    if any(register > 0xffff for register in event.registers):
        raise ValueError("MSRIndex is too large")
    event.port_mask, event.class_mask = single(record, "PortMask", 0xffffffff), single(record, "FCMask", 0xffffffff)
    event.filter = str(record.get("FILTER_VALUE") or record.get("Filter") or "")
    event.filter_register = str(record.get("Filter", ""))
    counters(event, str(record.get("CounterHTOff") or record.get("Counter") or ""))
    event.about = " ".join(str(record.get("BriefDescription") or "").encode("ascii", "replace").decode().split())
    return event


def is_core(event):
    return event.unit == "" or event.unit.startswith("cpu_")


def read_text(path, text):
    """Header and events of a file's text; names stand once in each unit."""
    walk = Walk(path, text)
    header, records = walk.whole()
    events, seen = [], {}
    for index, record in enumerate(records, 1):
        try:
            event = event_of(record)
        except ValueError as mistake:
            raise Refused(path, index, str(mistake)) from None
        if event is None:
            continue
        if (event.unit, event.name.upper()) in seen:
            raise Refused(path, index, f"{event.name} is also record {seen[event.unit, event.name.upper()]}")
        seen[event.unit, event.name.upper()] = index
        events.append(event)
    return header, events


def read_events(path):
    with open(path, "rb") as source:
        return read_text(path, source.read().decode("utf-8", "surrogateescape"))


# ---- Which CPU has which events ----

class Part:
    """The core events of one core type of a model, and which CPUs have it."""

    def __init__(self, key, folder):
        self.key, self.folder = key, folder  # key: the file without _core.json, or folder and unit
        self.paths, self.version, self.events, self.cpus = [], "", [], []
        self.short = ""  # Intel's own short name: of the folder and of the core type


UNITS = {"cpu_core": (0x40, "core"), "cpu_atom": (0x20, "atom"), "cpu_lowpower": (0x20, "lowpower")}


ROLES = {"LowPower_Atom": "lp"}  # of core types, where Intel's word is too long
AMD = 0x80  # beside the family


def bracket(text):
    """What [...] stands for, in lower case."""
    found, index = set(), 0
    while index < len(text):
        if text[index:].startswith("[:xdigit:]"):
            found |= set("0123456789abcdef")
            index += len("[:xdigit:]")
        elif text[index + 1:index + 2] == "-" and index + 2 < len(text):
            found |= {chr(c) for c in range(ord(text[index]), ord(text[index + 2]) + 1)}
            index += 3
        else:
            found.add(text[index])
            index += 1
    return {letter.lower() for letter in found}


def alternatives(pattern):
    """The texts that an expression of a mapfile stands for: letters, [...], ( | )."""
    results, index = [""], 0
    while index < len(pattern):
        letter = pattern[index]
        if letter == "[":
            end = pattern.index("]", pattern.index(":]", index) + 2 if pattern.startswith("[[:", index) else index)
            step = sorted(bracket(pattern[index + 1:end]))
            index = end + 1
        elif letter == "(":
            depth, end = 1, index + 1
            while depth:
                depth += {"(": 1, ")": -1}.get(pattern[end], 0)
                end += 1
            inner, parts, level = pattern[index + 1:end - 1], [""], 0
            for c in inner:
                level += {"(": 1, ")": -1, "[": 1, "]": -1}.get(c, 0)
                if c == "|" and level == 0:
                    parts.append("")
                else:
                    parts[-1] += c
            step = [text for part in parts for text in alternatives(part)]
            index = end
        elif re.match(r"[0-9A-Za-z.\-]", letter):
            step = [letter]
            index += 1
        else:
            raise ValueError(f"{pattern!r} has {letter!r}")
        results = [result + part for result in results for part in step]
    return results


def cpus_of(pattern):
    """(family, AMD: + 80h, model, steppings) of Vendor-family-MODEL[-STEPPING]; bit n of steppings: stepping n."""
    vendor, _, rest = pattern.partition("-")
    if vendor not in ("GenuineIntel", "AuthenticAMD"):
        raise ValueError(f"vendor {vendor!r}")
    found = {}
    for text in alternatives(rest):
        parts = text.split("-")
        if not 2 <= len(parts) <= 3 or not re.fullmatch(r"[0-9]{1,3}", parts[0]):
            raise ValueError(f"{pattern!r} is no family and model")
        key = int(parts[0]) | (AMD if vendor == "AuthenticAMD" else 0), int(parts[1], 16)
        found[key] = found.get(key, 0) | (1 << int(parts[2], 16) if len(parts) == 3 else 0xffff)
    return [(family, model, steppings) for (family, model), steppings in found.items()]


def map_rows(root):
    """Rows of a mapfile: (line, fields)."""
    path = os.path.join(root, "mapfile.csv")
    if not os.path.exists(path):
        raise Refused(path, 0, "is missing")
    rows = []
    with open(path, encoding="ascii", errors="surrogateescape", newline="") as source:
        for line, fields in enumerate(csv.reader(source), 1):
            if not fields or fields[0] == "Family-model" or fields[0].startswith("#"):
                continue
            if len(fields) < 4:
                raise Refused(path, line, "has fewer than four columns")
            try:
                cpus = cpus_of(fields[0].strip())
            except (ValueError, IndexError) as mistake:
                raise Refused(path, line, str(mistake)) from None
            rows.append((path, line, cpus, [field.strip() for field in fields]))
    return rows


def native_parts(folder):
    """Parts of a folder of Intel's own files."""
    root, name = os.path.split(os.path.abspath(folder))
    parts = {}
    for path, line, cpus, fields in map_rows(root):
        file, kind = fields[2].lstrip("/"), fields[3]
        if not file.startswith(name + "/") or kind not in ("core", "hybridcore"):
            continue
        key = os.path.basename(file)[:-len("_core.json")] if file.endswith("_core.json") else file
        part = parts.setdefault(key, Part(key, folder))
        part.paths, part.version = [os.path.join(root, file)], fields[1]
        role = fields[6] if len(fields) > 6 and kind == "hybridcore" else ""
        part.short = f"{name}_{ROLES.get(role, role)}" if role else name
        try:
            core_type = int(fields[4], 16) if len(fields) > 4 and fields[4] else 0
            native = int(fields[5], 16) if len(fields) > 5 and fields[5] else 0
        except ValueError as mistake:
            raise Refused(path, line, str(mistake)) from None
        part.cpus += [(family, model, steppings, core_type, native) for family, model, steppings in cpus]
    for part in parts.values():
        header, events = read_events(part.paths[0])
        part.events = [event for event in events if is_core(event)]
        part.version = "V" + str(header["Version"]) if "Version" in header else part.version
    return list(parts.values())


def linux_parts(folder):
    """Parts of a folder in Linux's form: one for each kind of core."""
    root, name = os.path.split(os.path.abspath(folder))
    parts, seen, cpus, version = {}, {}, [], ""
    for _, _, found, fields in map_rows(root):
        if fields[2] == name:
            cpus, version = cpus + found, fields[1]
    for file in sorted(os.listdir(folder)):
        path = os.path.join(folder, file)
        if not file.endswith(".json") or file.endswith("-metrics.json") or file in ("metricgroups.json", "counter.json"):
            continue
        for event in read_events(path)[1]:
            if (event.unit, event.name.upper()) in seen:
                raise Refused(path, 0, f"{event.name} stands also in {seen[event.unit, event.name.upper()]}")
            seen[event.unit, event.name.upper()] = file
            if is_core(event):
                core_type, key = UNITS.get(event.unit, (0, ""))
                part = parts.setdefault(key, Part(f"{name}:{key}" if key else name, folder))
                part.version = version.upper()
                part.cpus = [(family, model, steppings, core_type, 0) for family, model, steppings in cpus]
                part.events.append(event)
                if path not in part.paths:
                    part.paths.append(path)
    return list(parts.values())


def is_native(folder):
    return os.path.isdir(os.path.join(folder, "events"))


def uncore_events(folder):
    """(file, event) of the events of other units."""
    inner = os.path.join(folder, "events") if is_native(folder) else folder
    for file in sorted(os.listdir(inner)):
        if not file.endswith(".json") or file in ("metricgroups.json", "counter.json"):
            continue
        if is_native(folder) and "_uncore" not in file or "metrics" in file:
            continue
        for event in read_events(os.path.join(inner, file))[1]:
            if not is_core(event):
                yield file, event
