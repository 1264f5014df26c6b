#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make those catalogue sources that are merged from several tables: core, nhm, skl.

    python3 tools/catalog_merge.py --out events --perfmon FOLDER --libpfm names.csv
        --freebsd core2.csv --generic generic_map.csv

--perfmon    a copy of github.com/intel/perfmon: SKL and NHM-EP are read
--libpfm     model,event,umask,kind,select,payload: what libpfm4 answers for each event and unit mask;
             kind is nomask, single, single* (a default) or pair
--freebsd    table,class,name,enumerator,event,umask of FreeBSD's hwpmc
--generic    uarch,generic_event,event,umask,inv,cmask,... of Linux's generic events

Other models are imported by tools/catalog_import.py.  Only facts are taken: names, codes, masks, restrictions.  Where two sources give
one name two codes, the row is listed with the reason in exceptions.tsv.
"""
import argparse
import csv
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import catalog_pack as pack  # noqa: E402
from catalog_pack import MASK_FLAGS, ROW_FLAGS, Catalogue, Mask, Row, fold  # noqa: E402
from catalog_source import Names, compose, preferred, write  # noqa: E402
import catalog_read as read  # noqa: E402
from catalog_import import MERGED, correct, row_of  # noqa: E402

EXCEPTIONS = []
WIRED = ROW_FLAGS["inv"] | ROW_FLAGS["edge"] | ROW_FLAGS["any"]


def exception(catalogue, name, taken, other, reason):
    EXCEPTIONS.append((catalogue, name, taken, other, reason))


def select(text):
    """code, umask, cmask, flags of a select register's value."""
    value = int(text, 16)
    flags = ((value >> 18 & 1) and ROW_FLAGS["edge"]) | ((value >> 21 & 1) and ROW_FLAGS["any"])
    flags |= (value >> 23 & 1) and ROW_FLAGS["inv"]
    return value & 0xff, value >> 8 & 0xff, value >> 24 & 0xff, flags


# ---- libpfm4 ----

def read_libpfm(path, model):
    events = {}
    with open(path, encoding="ascii") as source:
        for line in csv.reader(source):
            if line[0] == model:
                events.setdefault(line[1], []).append((line[2], line[3], line[4], line[5]))
    return events


GROUP_FIELDS = (({"SELF", "BOTH_CORES"}, 0xc0), ({"THIS_AGENT", "ALL_AGENTS"}, 0x20),
                ({"ANY", "PREFETCH", "EXCL_PREFETCH"}, 0x30),
                ({"MESI", "I_STATE", "S_STATE", "E_STATE", "M_STATE"}, 0x0f))


def group_of(name, names):
    for number, (members, field) in enumerate(GROUP_FIELDS):
        if name in members and (members <= names or number < 2):
            return number, field
    return 4, None


def masked_row(event, answers):
    """A row with masks from libpfm4's answers, its groups read off the legal pairs."""
    singles = {mask: (select(value), kind) for mask, kind, value, _ in answers if kind.startswith("single")}
    names = set(singles)
    pairs = {tuple(mask.split(":")) for mask, kind, _, _ in answers if kind == "pair"}
    nomask = [value for mask, kind, value, _ in answers if kind == "nomask"]
    code = next(iter(singles.values()))[0][0]
    row = Row(event, code)
    groups = sorted({group_of(n, names) for n in names}, key=lambda g: g[0])
    rest = 0xff
    for _, field in groups:
        rest &= ~(field or 0)
    for position, (number, field) in enumerate(groups):
        members = sorted(n for n in names if group_of(n, names)[0] == number)
        inner = {(a, b) for a, b in pairs if a in members and b in members}
        exclusive = len(members) > 1 and not inner and number != 3
        default = any(singles[n][1] == "single*" for n in members)
        for name in members:
            (_, umask, cmask, flags), kind = singles[name]
            mask = Mask(name, umask & (field if field and len(groups) > 1 else rest if len(groups) > 1 else 0xff),
                        position, 0, cmask)
            if flags:
                sys.exit(f"{event}:{name}: wired attributes")
            if kind == "single*":
                mask.flags |= MASK_FLAGS["default"]
            if exclusive:
                mask.flags |= MASK_FLAGS["exclusive"]
            elif len(members) > 1 and number != 3 and not any(name in pair for pair in inner):
                mask.flags |= MASK_FLAGS["alone"]
            if not default and not nomask:
                mask.flags |= MASK_FLAGS["required"]
            row.masks.append(mask)
    for mask, kind, value, _ in answers:
        chosen = [m for m in mask.split(":") if m]
        if merge(row, chosen) != select(value)[:2]:
            sys.exit(f"{event}:{mask}: {merge(row, chosen)} is not {value}")
    return row


def merge(row, chosen):
    """code and umask with masks and defaults, as core/catalog/catalog.c merges them."""
    umask = row.umask
    for group in {m.group for m in row.masks}:
        members = [m for m in row.masks if m.group == group]
        taken = [m for m in members if m.name in chosen] or [m for m in members if m.flags & MASK_FLAGS["default"]]
        for mask in taken:
            umask |= mask.bits
    return row.code, umask


# ---- Core 2 ----

ARCH_ENUMERATORS = {"INS_RET": (0xc0, 0), "UNH_COR_CYC": (0x3c, 0), "UNH_REF_CYC": (0x3c, 1), "LLC_REF": (0x2e, 0x4f),
                    "LLC_MIS": (0x2e, 0x41), "BR_INS_RET": (0xc4, 0), "BR_MIS_RET": (0xc5, 0)}
FREEBSD_FIELDS = {"IAP_M_CORE": {"SELF", "BOTH_CORES"}, "IAP_M_AGENT": {"THIS_AGENT", "ALL_AGENTS"},
                  "IAP_M_PREFETCH": {"ANY", "PREFETCH", "EXCL_PREFETCH"},
                  "IAP_M_MESI": {"MESI", "I_STATE", "S_STATE", "E_STATE", "M_STATE"}}
CORE_SYNONYMS = ("UNHALTED_CORE_CYCLES", "INSTRUCTION_RETIRED", "INSTRUCTIONS_RETIRED", "BRANCH_INSTRUCTIONS_RETIRED",
                 "MISPREDICTED_BRANCH_RETIRED", "LAST_LEVEL_CACHE_REFERENCES", "LAST_LEVEL_CACHE_MISSES")


def core2(options):
    catalogue = Catalogue("core", 2, "core2")
    events = read_libpfm(options.libpfm, "core")
    synonyms = []
    for event, answers in events.items():
        if any(kind.startswith("single") for _, kind, _, _ in answers):
            catalogue.rows.append(masked_row(event, answers))
            continue
        code, umask, cmask, flags = select(answers[0][2])
        if event in CORE_SYNONYMS:
            synonyms.append((event, code, umask))
            continue
        if code == 0:
            flags |= ROW_FLAGS["fixed-only"]
        catalogue.rows.append(Row(event, code, umask, cmask, flags))
    names = Names(catalogue)
    for event, code, umask in synonyms:
        names.alias(event, *names.meaning(code, umask))
    freebsd_core2(options, names)
    names.alias("INSTR_RETIRED.ANY", "INST_RETIRED", ["ANY_P"])
    names.alias("CPU_CLK_UNHALTED.CORE", "CPU_CLK_UNHALTED", ["CORE_P"])
    names.alias("CPU_CLK_UNHALTED.REF", "UNHALTED_REFERENCE_CYCLES")
    generic(options, names, "core2")
    for alias, target in (("branch-mispredicts", "BR_INST_RETIRED_MISPRED"), ("ic-misses", "L1I_MISSES"),
                          ("interrupts", "HW_INT_RCV")):
        names.alias(alias, target)
    names.alias("unhalted-cycles", "CPU_CLK_UNHALTED", ["CORE_P"])
    return catalogue


def freebsd_core2(options, names):
    with open(options.freebsd, encoding="ascii") as source:
        for line in list(csv.DictReader(source)):
            freebsd_row(names, line)


def freebsd_row(names, line):
    name, umask = line["name"], line["umask"]
    if not line["event"]:
        code, bits = ARCH_ENUMERATORS[line["enumerator"].split("ARCH_")[1]]
        if fold(name) == "unhalted_reference_cycles":
            exception("core", name, "0x300", "0x13c", "libpfm4's event is the fixed counter, FreeBSD's is "
                      "CPU_CLK_UNHALTED:BUS; libpfm4's name stands")
            return
        names.alias(name, *names.meaning(code, bits))
        return
    code = int(line["event"], 16)
    head, _, tail = name.partition(".")
    row = names.rows.get(fold(name))
    if umask.startswith("IAP_M"):
        offered = set()
        for field in umask.split(" | "):
            offered |= FREEBSD_FIELDS.get(field, set())
        ours = {m.name for m in row.masks}
        if row.code != code:
            sys.exit(f"{name}: code")
        if offered and not offered <= ours:
            exception("core", name, ",".join(sorted(ours)), ",".join(sorted(offered)),
                      "unit masks as libpfm4 has them; FreeBSD offers others")
        return
    bits = int(umask, 16)
    if row:
        if not row.masks and row.encoding() != Row("", code, bits).encoding():
            exception("core", name, f"{row.umask:#04x}{row.code:02x}", f"{bits:#04x}{code:02x}", "libpfm4's code stands")
        elif row.masks and merge(row, []) != (code, bits):
            sys.exit(f"{name}: default mask")
        return
    row, mask = names.rows.get(fold(head)), None
    if row:
        mask = next((m for m in row.masks if fold(m.name) == fold(tail)), None)
    if mask:
        if (row.code, row.umask | mask.bits) != (code, bits):
            exception("core", name, f"{row.umask | mask.bits:#04x}{row.code:02x}", f"{bits:#04x}{code:02x}",
                      "libpfm4's code stands; it agrees with the Intel SDM's table for the Core micro-architecture")
        return
    if fold(name) in names.taken:
        return
    target, masks = names.meaning(code, bits)
    if target:
        names.alias(name, target, masks)
    elif row and row.masks and row.code == code and tail:
        flags = row.masks[0].flags & MASK_FLAGS["required"]
        row.masks.append(Mask(tail, bits, 0, flags))
        names.taken.add(fold(name))
    else:
        names.add(Row(name, code, bits))


def generic(options, names, uarch, errata=()):
    """Linux's generic events: aliases of the events that they mean; `errata`: those that an erratum replaces."""
    with open(options.generic, encoding="ascii") as source:
        for line in csv.DictReader(source):
            if line["uarch"] != uarch or line["status"] != (
                    "linux_erratum" if line["generic_event"] in errata else "linux"):
                continue
            code, umask = int(line["event"], 16), int(line["umask"], 16)
            if int(line["cmask"]):
                inverted = ROW_FLAGS["inv"] if int(line["inv"]) else 0
                same = names.same(Row("", code, umask, int(line["cmask"]), inverted).encoding())
                if not same:
                    names.add(Row(line["generic_event"], code, umask, int(line["cmask"]),
                                  inverted | ROW_FLAGS["generic"]))
                    continue
                target, masks = same.name, []
            else:
                target, masks = preferred(names, line["generic_event"], code, umask)
            names.alias(line["generic_event"], target, masks)
            other = {"cache-misses": "LLC-misses", "cache-references": "LLC-references"}.get(line["generic_event"])
            if other:
                names.alias(other, target, masks)


# ---- Skylake ----

def intel(options, catalogue, folder):
    """Rows and version of a folder of Intel's files."""
    part, = read.native_parts(os.path.join(options.perfmon, folder))
    catalogue.cpus = sorted(part.cpus)
    return [row_of(event) for event in correct(catalogue.name, part.events)], part.version


OFFCORE_ALIASES = {"DMND_DATA_RD": "DEMAND_DATA_RD", "DMND_RFO": "DEMAND_RFO", "DMND_CODE_RD": "DEMAND_CODE_RD",
                   "NO_SUPP": "SUPPLIER_NONE", "L3_HITM": "L3_HIT_M", "L3_HITE": "L3_HIT_E", "L3_HITS": "L3_HIT_S",
                   "L3_HITMES": "L3_HIT", "L3_MISS_LOCAL": "L3_MISS_LOCAL_DRAM", "SNP_NONE": "SNOOP_NONE",
                   "SNP_NOT_NEEDED": "SNOOP_NOT_NEEDED", "SNP_MISS": "SNOOP_MISS",
                   "SNP_HIT_NO_FWD": "SNOOP_HIT_NO_FWD", "SNP_HITM": "SNOOP_HITM", "SNP_NON_DRAM": "SNOOP_NON_DRAM"}


def skylake_offcore(row, answers):
    """libpfm4's names and defaults for the offcore response row."""
    row.flags &= ~ROW_FLAGS["payload"]
    for mask in row.masks:
        mask.flags &= ~MASK_FLAGS["required"]  # there are defaults
    add = MASK_FLAGS["payload"]
    row.masks += [Mask("ANY_REQUEST", 0x8007, 0, add | MASK_FLAGS["default"]),
                  Mask("L3_MISS_REMOTE_HOP1_DRAM", 0x10000000, 1, add),
                  Mask("SNP_ANY", 0x3f80000000, 2, add | MASK_FLAGS["default"]),
                  Mask("SNP_HIT_WITH_FWD", 0x800000000, 2, add)]
    bits = {m.name: m for m in row.masks}
    bits["ANY_RESPONSE"].flags |= MASK_FLAGS["default"]
    row.mask_aliases = sorted(OFFCORE_ALIASES.items())
    snoops = {m.name for m in row.masks if m.group == 2}
    for mask, kind, _, payload in answers:
        if kind.startswith("single"):
            name = OFFCORE_ALIASES.get(mask, mask)
            value = bits[name].bits
            group = bits[name].group
            value |= 0 if group == 0 else 0x8007
            value |= 0x10000 if group != 1 else 0
            value |= 0x3f80000000 if group == 1 and name != "ANY_RESPONSE" and name not in snoops else 0
            if value != int(payload, 16):
                reason = "libpfm4 adds the any-response bit to the default request; with it the response is not looked at"
                if mask in ("L3_MISS", "SPL_HIT"):
                    reason = "Intel's file stands"
                exception("skl", f"OFFCORE_RESPONSE_0:{mask}", f"{value:#x}", payload, reason)
    exception("skl", "OFFCORE_RESPONSE_1", "0x1b7", "0x1bb",
              "the same event: upmu takes the register, and with it the code, that is free")


def summed(catalogue, head, other):
    """
    One row whose unit masks may be named together, of the rows HEAD.MASK and
    OTHER.MASK; names that stood for these rows stand for the masks, and OTHER for HEAD.
    """
    place = {}  # name of a row that goes -> its mask
    row = Row(head, 0, 0, 0, ROW_FLAGS["composed"])
    for present in sorted(catalogue.rows, key=lambda r: pack.order(r.name)):
        event, _, mask = present.name.partition(".")
        if event not in (head, other):
            continue
        place[present.name] = mask
        row.code, row.counters = present.code, row.counters | present.counters
        row.masks.append(Mask(mask, present.umask, 0, MASK_FLAGS["required"] |
                              (MASK_FLAGS["listed"] if event == head else 0)))
    catalogue.rows = [r for r in catalogue.rows if r.name not in place] + [row]
    own = {fold(f"{head}.{mask}") for mask in place.values()}
    catalogue.aliases = [(name, head, [place[target]]) if target in place else (name, target, chosen)
                         for name, target, chosen in catalogue.aliases if fold(name) not in own]
    catalogue.aliases += [(name, head, [mask]) for name, mask in place.items() if fold(name) not in own]
    catalogue.aliases.append((other, head, []))


def skylake(options):
    catalogue = Catalogue("skl", 3, "skylake")
    rows, version = intel(options, catalogue, "SKL")
    offcore = [r for r in rows if r.name.startswith("OFFCORE_RESPONSE.")]
    events = read_libpfm(options.libpfm, "skl")
    composed = compose(offcore, "OFFCORE_RESPONSE")
    skylake_offcore(composed, events["OFFCORE_RESPONSE_0"])
    catalogue.rows = [r for r in rows if not r.name.startswith("OFFCORE_RESPONSE")] + [composed]
    for row in catalogue.rows:
        if row.name == "INST_RETIRED.TOTAL_CYCLES_PS":
            exception("skl", row.name, "0x0", f"{row.counters:#x}", "counters: the file's list excludes the only counter "
                      "that counts it without precise sampling")
            row.counters = 0
    names = Names(catalogue)
    names.alias("OFFCORE_RESPONSE_0", "OFFCORE_RESPONSE")
    names.alias("OFFCORE_RESPONSE_1", "OFFCORE_RESPONSE")
    default = []
    for event, answers in events.items():
        if not event.startswith("OFFCORE_RESPONSE_"):
            libpfm_flat(names, event, answers, default)
    for event, encoding, payload in default:
        libpfm_name(names, event, encoding, payload)
    generic(options, names, "skylake")
    names.alias("INSTR_RETIRED.ANY", "INST_RETIRED.ANY")
    names.alias("CPU_CLK_UNHALTED.CORE", "CPU_CLK_UNHALTED.THREAD")
    names.alias("CPU_CLK_UNHALTED.REF", "CPU_CLK_UNHALTED.REF_TSC")
    names.alias("branch-mispredicts", "BR_MISP_RETIRED.ALL_BRANCHES")
    names.alias("interrupts", "HW_INTERRUPTS.RECEIVED")
    names.alias("unhalted-cycles", "CPU_CLK_UNHALTED.THREAD")
    # Intel's own SCALAR, VECTOR and 4_FLOPS are sums of the others.
    summed(catalogue, "FP_ARITH_INST_RETIRED", "FP_ARITH")
    return catalogue, version


def libpfm_flat(names, event, answers, default):
    """libpfm4's EVENT:UMASK in a catalogue of flat names; events without a mask come last."""
    for mask, kind, value, payload in answers:
        if kind.startswith("single"):
            libpfm_name(names, f"{event}.{mask}", value, payload)
        elif kind == "nomask":
            default.append((event, value, payload))


def libpfm_name(names, name, value, payload):
    code, umask, cmask, flags = select(value)
    if code == 0:
        flags |= ROW_FLAGS["fixed-only"]
    row = Row(name, code, umask, cmask, flags)
    if payload:
        row.msr, row.payload = (0x3f6 if code in (0xcd, 0x0b) else 0x3f7), int(payload, 16)
        if row.msr == 0x3f7:
            row.flags |= ROW_FLAGS["payload"]
    if cmask:
        row.flags |= ROW_FLAGS["cmask"]
    for other in names.catalogue.rows:
        pack.complete(other)
    present = names.rows.get(fold(name))
    if present:
        if present.encoding()[:3] != row.encoding()[:3] or (present.flags ^ row.flags) & WIRED:
            exception(names.catalogue.name, name, f"{present.code:#x}/{present.umask:#x}/{present.cmask}",
                      f"{row.code:#x}/{row.umask:#x}/{row.cmask}", "Intel's file stands")
        return
    same = names.same(row.encoding(), name.partition(".")[0] + ".")
    if same:
        names.alias(name, same.name)
    else:
        names.add(row)


# ---- Nehalem ----

def nehalem_offcore(rows, answers):
    """
    One masked row: what libpfm4 names, by its bits, and Intel's names for requests and
    responses that it has not.  Payload: requests 7:0, responses 15:8 (Intel SDM vol 3).
    """
    row = Row("OFFCORE_RESPONSE_0", 0xb7, 0x01, 0, ROW_FLAGS["composed"], 0, 0x1a6)
    base = MASK_FLAGS["payload"]
    bits = {}
    for mask, kind, _, payload in answers:
        if kind.startswith("single"):
            value = int(payload, 16)
            request = value >> 8 == 0xff and mask != "ANY_RESPONSE"
            bits[mask] = (0 if request else 1, value & 0xff if request else value & 0xff00,
                          MASK_FLAGS["default"] if kind == "single*" else 0)
    for record in rows:
        _, request, response = record.name.split(".")
        for group, name, value in ((0, request, record.payload & 0xff), (1, response, record.payload & 0xff00)):
            known = bits.get(name)
            if known is None:
                bits[name] = (group, value, MASK_FLAGS["listed"])
            elif known[:2] == (group, value):
                bits[name] = (group, value, known[2] | MASK_FLAGS["listed"])
            else:
                bits[name] = (group, value, known[2] | MASK_FLAGS["listed"])
                exception("nhm", f"OFFCORE_RESPONSE_0:{name}", f"{value:#x}", f"{known[1]:#x}", "Intel's file stands")
    # A row has 32 masks at most: two names of one value share a mask, and one request is the sum of two.
    shown = {}
    for name, (group, value, flags) in sorted(bits.items(), key=lambda b: (-(b[1][2] & MASK_FLAGS["listed"]), b[0])):
        if (group, value) in shown:
            shown[group, value].flags |= flags & MASK_FLAGS["default"]
            row.mask_aliases.append((name, shown[group, value].name))
        else:
            shown[group, value] = Mask(name, value, group, base | flags)
    del shown[0, 0x70]
    row.masks = list(shown.values())
    for record in rows:
        row.counters |= record.counters
    exception("nhm", "OFFCORE_RESPONSE_0", f"{row.counters:#x}", "0x4",
              "counters: any of four in the Intel SDM, Linux and the files of Westmere-EP")
    aliases = [(f"OFFCORE_RESPONSE_0.PREFETCH.{mask.name}", row.name, ["PF_DATA", "PF_IFETCH", mask.name])
               for mask in row.masks if mask.group == 1 and mask.flags & MASK_FLAGS["listed"]]
    return row, aliases


def nehalem_masked(head, code, answers, records):
    """A row whose unit masks add up: libpfm4's, and those that only Intel's file has."""
    row = Row(head, code, 0, 0, ROW_FLAGS["composed"])
    nomask = [value for _, kind, value, _ in answers if kind == "nomask"]
    pairs = {name for mask, kind, _, _ in answers if kind == "pair" for name in mask.split(":")}
    required = 0 if nomask or any(kind == "single*" for _, kind, _, _ in answers) else MASK_FLAGS["required"]
    for mask, kind, value, payload in answers:
        if not kind.startswith("single") or payload:
            continue
        event, umask, cmask, flags = select(value)
        if event != code or flags & ROW_FLAGS["any"]:
            return None
        add = required | (MASK_FLAGS["default"] if kind == "single*" else 0) | MASK_FLAGS["listed"]
        add |= (flags & ROW_FLAGS["inv"] and MASK_FLAGS["inv"]) | (flags & ROW_FLAGS["edge"] and MASK_FLAGS["edge"])
        add |= 0 if mask in pairs else MASK_FLAGS["alone"] if pairs else MASK_FLAGS["exclusive"]
        row.masks.append(Mask(mask, umask, 0, add, cmask))
    return row if row.masks else None


def nehalem(options):
    catalogue = Catalogue("nhm", 4, "nehalem")
    rows, version = intel(options, catalogue, "NHM-EP")
    events = read_libpfm(options.libpfm, "nhm")
    offcore, prefetches = nehalem_offcore([r for r in rows if r.name.startswith("OFFCORE_RESPONSE")], events["OFFCORE_RESPONSE_0"])
    rows = [r for r in rows if not r.name.startswith("OFFCORE_RESPONSE")]
    heads = {}
    for event, answers in events.items():
        if event.startswith("OFFCORE_RESPONSE") or not any(kind.startswith("single") for _, kind, _, _ in answers):
            continue
        code = next(select(value)[0] for _, kind, value, _ in answers if kind.startswith("single"))
        if sum(kind.startswith("single") for _, kind, _, _ in answers) < 2:
            continue
        row = nehalem_masked(event, code, answers, rows)
        if row:
            heads[event] = row
    flat = []
    for row in rows:
        head, _, tail = row.name.partition(".")
        place = heads.get(head)
        mask = next((m for m in place.masks if fold(m.name) == fold(tail)), None) if place else None
        if place and row.counters:
            place.counters |= row.counters
        if mask:
            place.flags |= row.flags & ROW_FLAGS["precise"]
            present = (place.code, mask.bits, mask.cmask, bool(mask.flags & MASK_FLAGS["inv"]),
                       bool(mask.flags & MASK_FLAGS["edge"]))
            theirs = (row.code, row.umask, row.cmask, bool(row.flags & ROW_FLAGS["inv"]),
                      bool(row.flags & ROW_FLAGS["edge"]))
            if present == theirs:
                continue
            exception("nhm", row.name, f"{theirs}", f"{present}", "Intel's file stands")
            place.masks.remove(mask)
        flat.append(row)
    catalogue.rows = flat + list(heads.values()) + [offcore]
    names = Names(catalogue)
    default = []
    for event, answers in events.items():
        if event.startswith("OFFCORE_RESPONSE"):
            continue
        if event in heads:
            answers = [answer for answer in answers if answer[3] and answer[1] != "pair"]
        libpfm_flat(names, event, answers, default)
    for event, encoding, payload in default:
        libpfm_name(names, event, encoding, payload)
    names.alias("OFFCORE_RESPONSE", "OFFCORE_RESPONSE_0")
    for alias in prefetches:
        names.alias(*alias)
        names.alias(alias[0].replace("_0", "", 1), *alias[1:])
    generic(options, names, "nehalem", ("branch-misses",))
    names.alias("INSTR_RETIRED.ANY", "INST_RETIRED.ANY")
    names.alias("CPU_CLK_UNHALTED.CORE", "CPU_CLK_UNHALTED.THREAD")
    names.alias("unhalted-cycles", "CPU_CLK_UNHALTED.THREAD")
    names.alias("branch-mispredicts", "BR_MISP_EXEC", ["ANY"])
    return catalogue, version


def put(path, catalogue, note):
    with open(path, "w", encoding="ascii") as out:
        out.write(write(catalogue, [note]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("out", "perfmon", "libpfm", "freebsd", "generic"):
        parser.add_argument("--" + option, required=True)
    options = parser.parse_args()
    linux = "Linux arch/x86/events/intel/core.c (generic names)"
    put(os.path.join(options.out, "core.tsv"), core2(options),
        "source: libpfm4 4.13, FreeBSD 10.4 sys/dev/hwpmc (second names), " + linux)
    catalogue, version = skylake(options)
    put(os.path.join(options.out, "skl.tsv"), catalogue,
        f"source: Intel perfmon SKL/events/skylake_core.json {version} (2026-08-13), libpfm4 4.13 (second names), " + linux)
    catalogue, version = nehalem(options)
    put(os.path.join(options.out, "nhm.tsv"), catalogue,
        f"source: Intel perfmon NHM-EP/events/NehalemEP_core.json {version} (2026-08-13), libpfm4 4.13 (unit masks, "
        "second names), " + linux)
    path = os.path.join(options.out, "exceptions.tsv")
    if os.path.exists(path):
        with open(path, encoding="ascii") as present:
            lines = [line.rstrip("\n").split("\t") for line in present if not line.startswith("#")]
        EXCEPTIONS.extend(tuple(line) for line in lines if line[0] not in MERGED)
    with open(path, "w", encoding="ascii") as out:
        out.write("# SPDX-License-Identifier: MIT\n# Names to which two sources give different codes: what upmu takes, "
                  "what the other says, why.\n# catalogue name taken other reason\n")
        for line in sorted(EXCEPTIONS):
            out.write("\t".join(line) + "\n")


if __name__ == "__main__":
    main()
