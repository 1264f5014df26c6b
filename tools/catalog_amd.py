#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write events/*.tsv of AMD's cores from tables of facts.

    python3 tools/catalog_amd.py --facts FOLDER [--out events]

FOLDER holds amd_k7_events.csv, amd_k8_events.csv (FreeBSD 10.4's names and masks beside
those of libpfm4 4.13), amd_events_libpfm_names.csv (libpfm4's amd64 tables),
amd_zen_events.csv (Linux tools/perf/pmu-events/arch/x86/amdzen*) and
amd_generic_map.csv (Linux arch/x86/events/amd/core.c).  What a row of these
catalogues means is in docs/CATALOGUES.md.

Up to family 16h the events have libpfm4's names, FreeBSD's are other names.  From Zen
on they have Linux's; libpfm4's are other names where the unit masks agree, else events.
"""
import argparse
import csv
import os
import re

from catalog_pack import RESERVED_WORDS, fold, order

# Revisions that limits name, from the first: bit i of the limits is the i-th.
REVISIONS = {"k8": "BCDEFG", "fam10h": "BCD"}
LOCKED_OPS = 0x24  # has unit masks from revision C of K8 on (FreeBSD 10.4, perfctr), before none
BY_REVISION = 1  # payload register of a row: its payload has the unit masks of each revision

# name, number, other name, libpfm4's table, Linux's folder, map of generic names, map of caches
CATALOGUES = (
    ("k7", 101, "athlon", "k7", "", "K7", "K7"),
    ("k8", 102, "hammer", "k8", "", "K7", "K7"),
    ("fam10h", 103, "k10", "fam10h", "", "K7", "K7"),
    ("fam11h", 104, "griffin", "fam11h", "", "K7", "K7"),
    ("fam12h", 105, "llano", "fam12h", "", "K7", "K7"),
    ("fam14h", 106, "bobcat", "fam14h", "", "K7", "K7"),
    ("fam15h", 107, "bulldozer", "fam15h", "", "K7", "K7"),
    ("fam16h", 108, "jaguar", "fam16h", "", "K7", "K7"),
    ("zen1", 109, "amdzen1", "fam17h_zen1", "amdzen1", "17h Zen1", "17h"),
    ("zen2", 110, "amdzen2", "fam17h_zen2", "amdzen2", "17h Zen2", "17h"),
    ("zen3", 111, "amdzen3", "fam19h_zen3", "amdzen3", "17h Zen2", "17h"),
    ("zen4", 112, "amdzen4", "fam19h_zen4", "amdzen4", "19h Zen4", "17h"),
    ("zen5", 113, "amdzen5", "fam1ah_zen5", "amdzen5", "19h Zen4", "17h"),
    ("zen6", 114, "amdzen6", "", "amdzen6", "19h Zen4", "17h"),
)

GENERIC = {
    "cycles": "cycles", "instructions": "instructions", "cache_references": "cache-references",
    "cache_misses": "cache-misses", "branches": "branches", "branch_misses": "branch-misses",
    "stalled_frontend": "stalled-cycles-frontend", "stalled_backend": "stalled-cycles-backend",
    "ref_cycles": "ref-cycles",
}
CACHES = {
    "L1D read access": "L1-dcache-loads", "L1D read miss": "L1-dcache-load-misses",
    "L1D prefetch access": "L1-dcache-prefetches", "L1D prefetch miss": "L1-dcache-prefetch-misses",
    "L1I read access": "L1-icache-loads", "L1I read miss": "L1-icache-load-misses",
    "L1I prefetch access": "L1-icache-prefetches", "LL read access": "LLC-loads", "LL read miss": "LLC-load-misses",
    "LL write access": "LLC-stores", "DTLB read access": "dTLB-loads", "DTLB read miss": "dTLB-load-misses",
    "ITLB read access": "iTLB-loads", "ITLB read miss": "iTLB-load-misses", "BPU read access": "branch-loads",
    "BPU read miss": "branch-load-misses", "NODE read access": "node-loads", "NODE read miss": "node-load-misses",
}
# FreeBSD's, where no name of Linux's has the spelling; the encodings are K8's and K7's.
FREEBSD = {"branch-mispredicts": {"k7": 0xc3, "k8": 0xc5, "": 0xc3}, "unhalted-cycles": {"": 0x76},
           "dc-misses": {"k7": 0x41, "k8": 0x41}, "ic-misses": {"k7": 0x81, "k8": 0x81, "": 0x81},
           "interrupts": {"k7": 0xcf, "k8": 0xcf}}


ZEN = ("amdzen1", "amdzen2", "amdzen3", "amdzen4", "amdzen5", "amdzen6")


class Event:
    def __init__(self, name, code, umask=0):
        self.name, self.code, self.umask, self.flags, self.payload = name, code, umask, [], 0
        self.masks, self.others = [], []  # Mask; (other name, name) of masks
        self.absent = 0                   # revisions that lack it

    def mask(self, name):
        for mask in self.masks:
            if fold(mask.name) == fold(name):
                return mask
        for other, target in self.others:
            if fold(other) == fold(name):
                return self.mask(target)
        return None

    def default(self):
        """The unit mask without any named; None: one must be named."""
        if not self.masks:
            return self.umask
        bits = 0
        for group in {mask.group for mask in self.masks}:
            defaults = [m.bits for m in self.masks if m.group == group and "default" in m.flags]
            if not defaults:
                return None
            bits |= sum(defaults)
        return bits


class Mask:
    def __init__(self, name, bits, flags=(), absent=0):
        self.name, self.bits, self.flags, self.absent, self.group = name, bits, list(flags), absent, 0


class Tables:
    """The tables of facts."""

    def __init__(self, folder):
        self.folder = folder
        self.libpfm, self.linux, self.generic = {}, {}, []
        for row in self.rows("amd_events_libpfm_names.csv"):
            self.libpfm.setdefault(row["table"], []).append(row)
        for row in self.rows("amd_zen_events.csv"):
            if row["unit"] == "core":
                self.linux.setdefault(row["uarch"], []).append(row)
        self.keep_synonyms()
        self.generic = list(self.rows("amd_generic_map.csv"))
        self.k7, self.k8 = list(self.rows("amd_k7_events.csv")), list(self.rows("amd_k8_events.csv"))

    def keep_synonyms(self):
        """Two names of one code and unit mask in a generation of Zen: where the next one's table has one, it gets both.

        Linux's file of Zen 5 has ls_any_fills_from_sys.all_dram_io and .dram_io_all, as that of Zen 4; the table has one.
        """
        for before, uarch in zip(ZEN, ZEN[1:]):
            kept = {row["event_name"]: row for row in self.linux[uarch]}
            for row in self.linux[before]:
                same = [other for name, other in kept.items() if row["event_name"] not in kept and encoding(other) == encoding(row)
                        and any(name == older["event_name"] and encoding(older) == encoding(row) for older in self.linux[before])]
                self.linux[uarch] += [{**other, "event_name": row["event_name"]} for other in same[:1]]

    def rows(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8", newline="") as source:
            yield from csv.DictReader(source)


def number(text):
    return int(text, 16) if text else 0


def encoding(row):
    """Stem, code and unit mask of a row of Linux's."""
    return row["event_name"].partition(".")[0], number(row["event_code"]), number(row["umask"])


def absent(row, revisions):
    """Revisions outside a row's limits, as bits."""
    first, last = row["rev_from"][-1:], row["rev_till"][-1:]
    return sum(1 << i for i, revision in enumerate(revisions)
               if (first and revision < first) or (last and revision > last))


def set_groups(event):
    """Masks whose bits overlap are one group; only where several defaults say that there are more."""
    defaults = [m for m in event.masks if "default" in m.flags and not m.absent]
    if len(defaults) < 2:
        # Which half of a HyperTransport link is a choice of its own, which need not be made.
        for mask in event.masks:
            if mask.name == "SUBLINK_MASK":
                mask.group = 1
                mask.flags.append("optional")
        return
    groups = []  # bits, words that names begin with
    for mask in sorted(event.masks, key=lambda m: m.bits == 0):
        word = mask.name.split("_")[0]
        touched = [g for g in groups if (g[0] & mask.bits if mask.bits else word in g[1])]
        joined = [mask.bits, {word}, [mask]]
        for group in touched:
            joined = [joined[0] | group[0], joined[1] | group[1], joined[2] + group[2]]
            groups.remove(group)
        groups.append(joined)
    for index, group in enumerate(sorted(groups, key=lambda g: g[0])):
        for mask in group[2]:
            mask.group = index


def libpfm4(tables, table):
    """Events of one of libpfm4's tables."""
    revisions = REVISIONS.get(table, "")
    events, event = {}, None
    for row in tables.libpfm.get(table, []):
        name, missing = row["event"], absent(row, revisions)
        if not row["umask_name"]:
            if name in events:  # twice, for different revisions
                event = events[name]
                event.absent &= missing
            else:
                event = events[name] = Event(name, number(row["code"]))
                event.absent = missing
            continue
        flags = ["default"] if "default" in row["umask_flags"] else []
        flags += ["alone"] if "no-combine" in row["umask_flags"] else []
        mask = event.mask(row["umask_name"])
        if not mask:
            event.masks.append(Mask(row["umask_name"], number(row["umask_code"]), flags, missing))
        elif mask.bits != number(row["umask_code"]):
            by_revision(event, mask, Mask(mask.name, number(row["umask_code"]), flags, missing), len(revisions))
    for event in events.values():
        set_groups(event)
        for group in {m.group for m in event.masks}:
            if not any({"default", "optional"} & set(m.flags) for m in event.masks if m.group == group):
                for mask in event.masks:
                    if mask.group == group:
                        mask.flags.append("required")
    return events


def by_revision(event, mask, other, revisions):
    """A mask that has two values: of its bits each revision has those that the payload says."""
    event.payload = sum((mask.bits if not mask.absent >> i & 1 else other.bits) << 8 * i for i in range(revisions))
    mask.bits, mask.absent = mask.bits | other.bits, mask.absent & other.absent


# ---- K7 and K8: FreeBSD's names ----

def freebsd_k7(tables, events, aliases):
    for row in tables.k7:
        code, name = number(row["event_code"]), row["freebsd_event"].removeprefix("k7-")
        unofficial = row["perfctr_event"].removeprefix("K7_")
        event = next((e for e in events.values() if e.code == code), None)
        if not event:
            event = events[unofficial] = Event(unofficial, code, number(row["umask_default"]))
            for part in re.split(r",(?=\d|bit)", row["umask_bits"]):
                match = re.match(r"(?:bit)?(\d) (.*)", part)
                if match:
                    word = re.sub(r"\(.*?\)", "", match[2]).strip()
                    event.masks.append(Mask(re.sub(r"[^A-Za-z0-9]+", "_", word).upper(), 1 << int(match[1])))
            if event.masks:
                event.umask = 0
                event.masks.append(Mask("ALL", number(row["umask_default"]), ["default", "alone"]))
        if name:
            aliases.append((name, event.name, []))  # unitmask=moesi is the backend's


def freebsd_k8(tables, events, aliases):
    """FreeBSD's names are other names of libpfm4's events, or events where the unit masks differ."""
    for row in tables.k8:
        if row["row_type"] != "event" or not row["freebsd_event"]:
            continue
        name, code = row["freebsd_event"].removeprefix("k8-"), number(row["event_code"])
        keywords = [(r["freebsd_umask_keyword"], number(r["umask_bits"])) for r in tables.k8
                    if r["row_type"] == "umask" and r["freebsd_event"] == row["freebsd_event"]
                    and r["freebsd_umask_keyword"]]
        allowed = number(row["freebsd_allowed_umask"])
        default = number(row["freebsd_default_umask"]) or allowed
        event = next((e for e in events.values() if e.code == code), None)
        single = {m.bits for m in event.masks} if event else set()
        limits = absent(row, REVISIONS["k8"])
        if event:
            event.absent |= limits
        same = event and not event.payload and (event.default() == default or not allowed and not event.masks) \
            and all(bits in single for _, bits in keywords)
        if same:
            aliases.append((name, event.name, []))
            for keyword, bits in keywords:
                target = min((m for m in event.masks if m.bits == bits), key=lambda m: "alone" in m.flags)
                if fold(keyword) != fold(target.name):
                    event.others.append((keyword.replace("-", "_"), target.name))
        else:
            new = events[name] = Event(name, code)
            new.absent = limits
            only_one = row["freebsd_default_umask"] == "0x01" and len(keywords) > 1
            new.masks = [Mask(k.replace("-", "_"), b, ["exclusive"] if only_one else []) for k, b in keywords]
            for mask in new.masks:
                if not only_one or mask.bits == default:
                    mask.flags.append("default")
            if code == LOCKED_OPS:
                for locked in (new, event):
                    locked.payload = sum(allowed << 8 * i for i in range(1, len(REVISIONS["k8"])))
        if row["freebsd_man_spelling_if_different"]:
            aliases.append((row["freebsd_man_spelling_if_different"].removeprefix("k8-"),
                            event.name if same else name, []))


# ---- Zen: Linux's names ----

def linux_events(tables, uarch, theirs, aliases):
    """Linux's names: one event per name before a dot, with libpfm4's names and masks of the same code."""
    events, groups = {}, {}
    for row in tables.linux[uarch]:
        stem, _, suffix = row["event_name"].partition(".")
        groups.setdefault((stem, number(row["event_code"])), []).append((suffix, number(row["umask"])))
    taken = set()
    for (stem, code), parts in sorted(groups.items()):
        others = [e for e in theirs.values() if e.code == code and e.name not in taken]
        if len(parts) == 1 and not parts[0][0]:
            event = events[stem] = Event(stem, code, parts[0][1])
            match = next((e for e in others if not e.masks and e.umask == event.umask), None)
            if match:
                taken.add(match.name)
                aliases.append((match.name, stem, []))
            continue
        match = next((e for e in others if unite(stem, code, parts, e, None)), None)
        if match and not any(fold(p[0]) == fold("") for p in parts if False):
            taken.add(match.name)
            unite(stem, code, parts, match, events)
            if fold(match.name) != fold(stem):
                aliases.append((match.name, stem, []))
            continue
        for suffix, umask in parts:
            name = f"{stem}.{suffix}" if suffix else stem
            events[name] = Event(name, code, umask)
    for name, event in theirs.items():
        if name not in taken:
            if any(fold(name) == fold(other) for other in events):
                raise SystemExit(f"{uarch}: {name} stands twice")
            events[name] = event
    return events


def unite(stem, code, parts, theirs, events):
    """One event of Linux's names and libpfm4's masks; False: they contradict each other."""
    if not theirs.masks or any(m.group for m in theirs.masks) or theirs.payload:
        return False
    event = Event(stem, code)
    event.flags = ["composed"]
    bare = next((umask for suffix, umask in parts if not suffix), None)
    default = theirs.default()
    if bare is not None and default is not None and bare != default:
        return False
    for suffix, umask in parts:
        if suffix:
            event.masks.append(Mask(suffix.replace(".", "_"), umask, ["listed"]))
    if any("." in suffix for suffix, _ in parts) or len(event.masks) + len(theirs.masks) > 60:
        return False
    for mask in theirs.masks:
        ours = event.mask(mask.name)
        if ours and ours.bits != mask.bits:
            return False
        same = ours or next((m for m in event.masks if m.bits == mask.bits), None)
        if not same:
            event.masks.append(Mask(mask.name, mask.bits, mask.flags))
            continue
        same.flags += [flag for flag in mask.flags if flag not in same.flags]
        if not ours:
            event.others.append((mask.name, same.name))
    if default is None and bare is not None:
        whole = next((m for m in event.masks if m.bits == bare), None)
        if not whole:
            whole = Mask("all", bare, ["alone"])
            if event.mask("all"):
                return False
            event.masks.append(whole)
        for mask in event.masks:
            mask.flags = [flag for flag in mask.flags if flag != "required"]
        whole.flags.append("default")
    required = any("required" in m.flags for m in event.masks)
    for mask in event.masks:
        if required and "required" not in mask.flags:
            mask.flags.append("required")
    if len(event.masks) > 32 or len(event.others) > 31:
        return False
    if events is not None:
        events[stem] = event
    return True


# ---- Generic names ----

def chosen(event, umask):
    """Fewest masks of an event that make up a unit mask, or None."""
    if not event.masks:
        return [] if event.umask == umask and not event.absent else None
    if event.payload or event.absent or any(m.group for m in event.masks):
        return None
    whole = [m for m in event.masks if m.bits == umask and not m.absent]
    if whole:
        return [whole[0].name]
    names, bits = [], 0
    for mask in event.masks:
        if not mask.absent and mask.bits & ~bits and not mask.bits & ~umask and \
                not set(mask.flags) & {"alone", "exclusive"}:
            names.append(mask.name)
            bits |= mask.bits
    return names if bits == umask and bits else None


def add_generic(name, code, umask, events, aliases, only=False):
    """`only`: a name whose code the processor does not have is left out, and unit masks do nothing where it has none."""
    if any(fold(name) == fold(n) for n in list(events) + [a[0] for a in aliases]):
        return
    for event in sorted(events.values(), key=lambda e: (bool(e.masks), order(e.name))):
        if event.code == code and "generic" not in event.flags:
            masks = chosen(event, umask)
            if masks is not None:
                aliases.append((name, event.name, masks))
                return
    own = [e for e in events.values() if e.code == code and "generic" not in e.flags]
    if only and (not own or not own[0].masks):
        aliases.extend((name, e.name, []) for e in own[:1])
        return
    event = events[name] = Event(name, code, umask)
    event.flags.append("generic")
    if own and all(e.absent for e in own):
        event.absent = own[0].absent


def generic_names(tables, name, family, caches, events, aliases):
    for row in tables.generic:
        if not row["raw_config"].startswith("0x"):
            continue
        code, umask = number(row["event_code"]), number(row["umask"])
        if row["map"] == "linux generic" and row["family"].startswith((family, "17h Zen2; 19h" if family == "17h Zen2"
                                                                       else family)):
            add_generic(GENERIC[row["generic_event"]], code, umask, events, aliases, name == "k7")
        elif row["map"] == "linux cache" and row["family"].startswith(caches):
            add_generic(CACHES[row["generic_event"]], code, umask, events, aliases, name == "k7")
    for alias, codes in FREEBSD.items():
        if name in codes or "" in codes:
            add_generic(alias, codes.get(name, codes.get("")), 0, events, aliases)


# ---- The file ----

def mask_text(mask):
    return f"0x{mask.bits | mask.absent << 8:x}"


def write(path, catalogue, events, aliases):
    name, catalogue_number, other = catalogue[:3]
    sources = ["libpfm4 4.13 lib/events/amd64_events_" + catalogue[3] + ".h"] if catalogue[3] else []
    if catalogue[4]:
        sources.insert(0, "Linux tools/perf/pmu-events/arch/x86/" + catalogue[4])
    if name in ("k7", "k8"):
        sources.append(f"FreeBSD 10.4 lib/libpmc ({name}- names, masks)")
        sources.append("perfctr 2.6.42.2 usr.lib/event_set_amd.c")
    lines = ["# SPDX-License-Identifier: MIT", f"# catalogue: {name} {catalogue_number} {other}",
             f"# source: {', '.join(sources)},", "# source: Linux arch/x86/events/amd/core.c (generic names)",
             "# E event code umask cmask flags counters payload-register payload",
             "# M unit mask of the event before: bits group flags cmask;  N another name of a mask;  A another name"]
    if name in REVISIONS:
        first = ", ".join(f"{1 << (8 + i):x}h: {r}" for i, r in enumerate(REVISIONS[name]))
        lines.append(f"#   umask, bits: bits 15:8 are the revisions that lack it ({first})")
        lines.append("#   payload, with register 1: byte i has the unit masks of the i-th revision")
    for event in sorted(events.values(), key=lambda e: order(e.name)):
        flags = ",".join(event.flags + (["revisions"] if event.absent or event.payload or
                                        any(m.absent for m in event.masks) else [])) or "-"
        lines.append(f"E\t{event.name}\t0x{event.code:03x}\t0x{event.umask | event.absent << 8:02x}\t0\t{flags}\t0x0\t"
                     f"0x{BY_REVISION if event.payload else 0:x}\t0x{event.payload:x}")
        for mask in sorted(event.masks, key=lambda m: (m.group, order(m.name))):
            lines.append(f"M\t{mask.name}\t{mask_text(mask)}\t{mask.group}\t{','.join(f for f in mask.flags if f != 'optional') or '-'}\t0")
        for alias, target in sorted(event.others, key=lambda o: order(o[0])):
            lines.append(f"N\t{alias}\t{target}")
    names = {fold(event) for event in events}
    for alias, target, masks in sorted(aliases, key=lambda a: order(a[0])):
        if fold(alias) in RESERVED_WORDS or fold(alias) in names:
            continue
        lines.append("A\t" + alias + "\t" + ":".join([target] + masks))
    with open(path, "w", encoding="ascii") as out:
        out.write("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--facts", required=True)
    parser.add_argument("--out", default=os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                                      "events"))
    options = parser.parse_args()
    tables = Tables(options.facts)
    for catalogue in CATALOGUES:
        name, _, _, table, uarch, family, caches = catalogue
        events, aliases = libpfm4(tables, table), []
        if name == "k7":
            freebsd_k7(tables, events, aliases)
        elif name == "k8":
            freebsd_k8(tables, events, aliases)
        elif uarch:
            events = linux_events(tables, uarch, events, aliases)
        generic_names(tables, name, family, caches, events, aliases)
        write(os.path.join(options.out, name + ".tsv"), catalogue, events, aliases)


if __name__ == "__main__":
    main()
