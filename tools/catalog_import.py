#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make catalogue sources events/*.tsv from folders of published event tables.

    python3 tools/catalog_import.py MODEL-FOLDER...

A folder is one of github.com/intel/perfmon (SKX, with SKX/events/*.json) or of Linux's
tools/perf/pmu-events/arch/x86 (skylakex, with *.json); mapfile.csv stands beside it and
says which CPUs it is for.  Afterwards run tools/catalog_pack.py.

--out DIR     where the sources go (events)
--uncore DIR  events of other units go to DIR/MODEL_uncore.tsv (of Intel's own files); without it they are left out
--about       the descriptions of events, too, which `upmu list` shows; the files are yours, those of this tree have none
--compare     write nothing; say where the folders, some in either form, differ

Given both forms of one model, Intel's own stands, and what the other has lost is
reported.  What is malformed is refused, by file and record; then nothing is written.
Only facts are taken: names, codes, masks, restrictions.
"""
import argparse
import fnmatch
import glob
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import catalog_pack as pack  # noqa: E402
import catalog_read as read  # noqa: E402
import catalog_uncore as units  # noqa: E402
from catalog_pack import MASK_FLAGS, ROW_FLAGS, Catalogue, Row, fold  # noqa: E402
from catalog_source import Names, compose, generic_names, write  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
NEW_AMD = "zen5"  # the PMU of AMD models that are not in catalog_models.tsv
MERGED = ("core", "skl", "nhm")  # of several tables: tools/catalog_merge.py
FIRST_NUMBER = 256               # of models that are not in catalog_models.tsv
LEAST_COMPOSED = 60              # rows that are worth a masked one in their place
# Payload registers that do for one another: the backend knows the code or unit mask of each.
SIBLINGS = ((0x1a6, 0x1a7), (0x3e0, 0x3e1, 0x3e2, 0x3e3))
LOAD_LATENCY, LEAST_LATENCY = 0x3f6, 3  # the register, and the least threshold that it takes
FIXED = {1: (0xc0, 0x00, 0), 2: (0x3c, 0x00, 0), 3: (0x00, 0x03, ROW_FLAGS["fixed-only"])}


class Model:
    def __init__(self, name, number, other="", pmu="", uarch="generic_v5plus"):
        self.name, self.number, self.other, self.pmu, self.uarch = name, number, other, pmu, uarch


def models():
    """Known models by the file or folder that they come in."""
    known = {}
    with open(os.path.join(HERE, "catalog_models.tsv"), encoding="ascii") as source:
        for line in source:
            if line.startswith("#"):
                continue
            native, linux, name, number, other, pmu, uarch = line.rstrip("\n").split("\t")
            model = Model(name, int(number), other if other != "-" else "", pmu, uarch)
            known.update({key: model for key in (native, linux) if key != "-"})
    return known


def sources(folder):
    """Names and numbers of the sources that a folder has."""
    found = {}
    for path in glob.glob(os.path.join(folder, "*.tsv")):
        with open(path, encoding="ascii") as source:
            words = re.search(r"^# catalogue: (\S+) (\d+)", source.read(400), re.M)
        if words:
            found[words.group(1)] = int(words.group(2))
    return found


def short_name(key, short=""):
    """
    The file's name if it has at most 11 characters, for which a catalogue has room, else Intel's short name of the
    model (nvl_core).  Where there is none it is cut, so that the core types of a hybrid still differ.
    """
    name, short = (re.sub(r"[^a-z0-9_]", "", text.lower().replace(":", "_")) for text in (key, short))
    head, _, tail = name.rpartition("_")
    if len(name) <= 11:
        return name
    return short if 0 < len(short) <= 11 else f"{head[:6]}_{tail[:4]}" if head else name[:11]


def new_model(key, present, amd=False, short=""):
    """A model that catalog_models.tsv does not have: called after its file, architectural until a backend knows it."""
    name = short_name(key, short)
    if not re.sub(r"\W", "_", key.lower()).startswith(name):
        print(f"called\t{key}: {name}")
    taken = set(present.values()) | {model.number for model in models().values()}
    number = present.get(name) or next(n for n in range(FIRST_NUMBER, 0xffff) if n not in taken)
    present[name] = number
    return Model(name, number, "", NEW_AMD, "") if amd else Model(name, number, "", "ix86arch")


# ---- Rows ----

def linux_name(name):
    """Names with ':' and '=' as Linux spells them."""
    return name.replace(":request=", ".").replace(":response=", ".").replace(":", ".").replace("=", "_")


def corrections(catalogue):
    """(event, field, what the file says, what is taken) where a second source contradicts a file."""
    with open(os.path.join(HERE, "catalog_corrections.tsv"), encoding="ascii") as source:
        rows = [line.rstrip("\n").split("\t") for line in source if not line.startswith("#")]
    return [(event, field, [int(n, 16) for n in says.split(",")], [int(n, 16) for n in taken.split(",")])
            for name, event, field, says, taken, _ in rows if name == catalogue]


def correct(catalogue, events):
    """Events as the second source has them; a row of corrections that no event needs is said."""
    for pattern, field, says, taken in corrections(catalogue):
        found = 0
        for event in events:
            if not fnmatch.fnmatchcase(event.name, pattern):
                continue
            if field == "counters" and event.counters == says[0]:
                event.counters = taken[0]
            elif field == "registers" and event.registers == says:
                event.registers = taken
            elif field == "payload-bits" and event.value & says[0]:
                event.value &= ~says[0]
            else:
                continue
            found += 1
        if not found:
            print(f"not needed\t{catalogue}: {pattern} {field}")
    return events


def row_of(event):
    flags = sum(ROW_FLAGS[flag] for flag, is_set in (
        ("inv", event.inv), ("edge", event.edge), ("any", event.any), ("equal", event.equal), ("deprecated", event.deprecated),
        ("precise", event.precise), ("precise-only", event.precise == 2)) if is_set)
    # The n-th code or unit mask goes with the n-th register of those that do for one another.
    place = next((same.index(event.registers[0]) for same in SIBLINGS if event.registers[:1] and event.registers[0] in same), 0)
    code = event.codes[place if place < len(event.codes) else 0]
    umask = event.umasks[place if place < len(event.umasks) else 0]
    row = Row(linux_name(event.name), code, umask | (event.umask_high & 0xff) << 8, event.cmask, flags, event.counters)
    row.about = event.about  # for people: no part of what is packed
    row.code2 = event.codes[1] if len(event.codes) > 1 and len(event.registers) != 1 and event.codes[1] != code else 0
    if event.fixed is not None and event.codes[0] in (0x00, 0x0a):
        # Fixed counters are numbered in the unit mask; in older files, from 1 on, beside them only.
        which = event.umasks[0] or event.fixed
        # Fixed counter 0 alone samples this one without a shadow; what it counts are the instructions of C0H.
        alone = which == 1 and row.name.endswith(".PREC_DIST")
        row.code, row.umask, more = FIXED.get(-1 if alone else which, (0, which, ROW_FLAGS["fixed-only"]))
        row.flags |= more
    # A threshold that the register does not take stands for any: the event has ldlat.
    if event.registers and not (event.registers[0] == LOAD_LATENCY and 0 < event.value < LEAST_LATENCY):
        row.msr, row.payload = event.registers[0], event.value
        row.flags |= ROW_FLAGS["payload"]
    if row.cmask:
        row.flags |= ROW_FLAGS["cmask"]
    return row


def fold_twins(catalogue):
    """Of names that are compared as equal and mean the same, the old one becomes another name of the new one."""
    first = {}
    for row in sorted(catalogue.rows, key=lambda r: r.flags & ROW_FLAGS["deprecated"]):
        twin = first.setdefault(fold(row.name), row)
        if twin is not row and twin.encoding() == row.encoding():
            catalogue.rows.remove(row)
            catalogue.aliases.append((row.name, twin.name, []))


def product(rows):
    """
    Of rows NAME.REQUEST.SUPPLIER.SNOOP (or NAME.REQUEST.SUPPLIER) those that are all
    combinations of some requests, suppliers and snoops: while they are not, the part
    that is in the smallest share of its combinations is left out.
    """
    kept = {}
    for row in rows:
        parts = tuple(row.name.split(".")[1:])
        if 2 <= len(parts) <= 3:
            # A part is known by what it is and by how many follow it: requests are common to both.
            kept[tuple((len(parts) if position else 0, position, part)
                       for position, part in enumerate(parts))] = row
    while kept:
        counts, names = {}, {}
        for parts in kept:
            for part in parts:
                counts[part] = counts.get(part, 0) + 1
                names.setdefault(part[:2], set()).add(part)
        short = len([parts for parts in kept if len(parts) == 2])
        requests = len({parts[0][2] for parts in kept})
        size = {2: requests * len(names.get((2, 1), ())),
                3: requests * len(names.get((3, 1), ())) * len(names.get((3, 2), ()))}
        if size[2] == short and size[3] == len(kept) - short and sum(map(len, names.values())) <= 32:
            break

        def share(part):
            whole = size[3] + size[2] if part[1] == 0 else size[part[0]]
            return counts[part] * len(names[part[:2]]) / whole, counts[part], part
        worst = min(counts, key=share)
        kept = {parts: row for parts, row in kept.items() if worst not in parts}
    return list(kept.values())


def fold_offcore(catalogue):
    """Offcore responses become one masked row where they are combinations of their parts."""
    families = {}
    for row in catalogue.rows:
        head = row.name.split(".")[0]
        if row.msr in (0x1a6, 0x1a7) and "." in row.name:
            families.setdefault((head, row.code, row.umask, row.msr, row.flags), []).append(row)
    taken = {fold(row.name) for row in catalogue.rows}
    for (head, _, _, _, flags), rows in sorted(families.items()):
        rows = product(rows) if fold(head) not in taken else []
        composed = compose(rows, head) if len(rows) >= LEAST_COMPOSED else None
        gone = {row.name for row in rows}
        if composed and not any(is_combination(composed, row.name) for row in catalogue.rows if row.name not in gone):
            composed.flags |= flags
            for mask in composed.masks:
                # Where a name of the next part begins like one of this, only one of this can be named.
                if any(other.group > mask.group and fold(other.name).startswith(fold(mask.name) + "_")
                       for other in composed.masks):
                    for same in composed.masks:
                        same.flags |= MASK_FLAGS["alone"] if same.group == mask.group else 0
            catalogue.rows = [row for row in catalogue.rows if row.name not in gone] + [composed]
            catalogue.aliases = [(name, *composed_name(composed, target)) if target in gone else (name, target, masks)
                                 for name, target, masks in catalogue.aliases]
            taken.add(fold(head))


def is_combination(row, name):
    """Whether a name would be read as a row and masks of it, in order, of whatever groups."""
    head, *parts = name.split(".")
    groups = {mask.name: mask.group for mask in row.masks}
    found = [groups.get(part) for part in parts]
    return head == row.name and None not in found and found == sorted(found)


def composed_name(row, name):
    return row.name, name.split(".")[1:]


# Second names of FreeBSD's, where such an event exists.
SECOND_NAMES = (("INSTR_RETIRED.ANY", "INST_RETIRED.ANY"), ("CPU_CLK_UNHALTED.CORE", "CPU_CLK_UNHALTED.THREAD"),
                ("CPU_CLK_UNHALTED.THREAD", "CPU_CLK_UNHALTED.CORE"), ("CPU_CLK_UNHALTED.REF", "CPU_CLK_UNHALTED.REF_TSC"),
                ("unhalted-cycles", "CPU_CLK_UNHALTED.THREAD"), ("unhalted-cycles", "CPU_CLK_UNHALTED.CORE"),
                ("branch-mispredicts", "BR_MISP_RETIRED.ALL_BRANCHES"), ("interrupts", "HW_INTERRUPTS.RECEIVED"),
                ("interrupts", "HW_INT_RCV"))


def catalogue_of(model, part):
    catalogue = Catalogue(model.name, model.number, model.other)
    catalogue.cpus, catalogue.pmu = sorted(set(part.cpus)), model.pmu if model.pmu != model.name else ""
    catalogue.rows = [row_of(event) for event in correct(model.name, part.events)]
    catalogue.aliases = [(event.name, linux_name(event.name), []) for event in part.events
                         if linux_name(event.name) != event.name]
    fold_twins(catalogue)
    fold_offcore(catalogue)
    names = Names(catalogue)
    if model.uarch:
        generic_names(names, model.uarch)
    for name, target in SECOND_NAMES:
        if fold(target) in names.rows:
            names.alias(name, target)
    # Linux has them without a number, also where there is but one register.
    for row in list(catalogue.rows):
        if row.name.startswith("OFFCORE_RESPONSE_0"):
            names.alias(row.name.replace("_0", "", 1), row.name)
    return catalogue


def provenance(part, native):
    files = ", ".join(os.path.relpath(path, os.path.dirname(os.path.abspath(part.folder))) for path in part.paths)
    owner = "Intel perfmon" if native else "Linux tools/perf/pmu-events/arch/x86"
    return [f"source: {owner} {files} {part.version}, Linux arch/x86/events/intel/core.c (generic names)"]


# ---- Two forms of one model ----

FIELDS = ("code", "umask", "cmask", "flags", "counters", "register", "payload")


def meaning(event):
    row = row_of(event)
    wired = row.flags & (ROW_FLAGS["inv"] | ROW_FLAGS["edge"] | ROW_FLAGS["any"] | ROW_FLAGS["equal"] | ROW_FLAGS["fixed-only"])
    return (row.code | row.code2 << 16, row.umask, row.cmask, wired, row.counters, row.msr, row.payload)


def losses(native, linux):
    """(name, field, here, there) of each difference of the second from the first."""
    found = []
    theirs = {event.name.upper(): event for event in linux}
    seen = set()
    for event in native:
        name = linux_name(event.name)
        other = theirs.get(name.upper()) or theirs.get(name.upper().replace("OFFCORE_RESPONSE_0", "OFFCORE_RESPONSE"))
        if not other:
            found.append((name, "name", name, "-"))
            continue
        seen.add(other.name.upper())
        for field, mine, its in zip(FIELDS, meaning(event), meaning(other)):
            if mine != its:
                found.append((name, field, f"{mine:#x}", f"{its:#x}"))
        if event.precise != other.precise:
            found.append((name, "precise", str(event.precise), str(other.precise)))
    return found + [(event.name, "name", "-", event.name) for event in linux if event.name.upper() not in seen]


# ---- Everything ----

def gather(folders, out):
    """(model, part, native) of every part of the folders."""
    known, present, found = models(), sources(out), []
    for folder in sorted(folders, key=lambda folder: not read.is_native(folder)):
        if not os.path.isdir(folder):
            raise read.Refused(folder, 0, "is no folder")
        native = read.is_native(folder)
        parts = read.native_parts(folder) if native else read.linux_parts(folder)
        if not parts:
            raise read.Refused(folder, 0, "mapfile.csv names no core events of it")
        for part in parts:
            if not part.cpus:
                raise read.Refused(folder, 0, "mapfile.csv has no row for it")
            found.append((known.get(part.key) or same_cpus(part, native, found) or
                          new_model(part.key, present, bool(part.cpus[0][0] & read.AMD), part.short), part, native))
    return found


def same_cpus(part, native, found):
    """A model that was found already for the same CPUs, in the other form."""
    mine = {(family, model, core_type) for family, model, _, core_type, _ in part.cpus}
    for model, other, form in found:
        same_role = part.key.endswith(":lowpower") == other.short.endswith("_lp")
        if form != native and same_role and mine & {(family, number, core_type) for family, number, _, core_type, _ in other.cpus}:
            return model
    return None


def both_forms(found):
    """The parts to write, Intel's own first; and differences: (catalogue, name, field, native, linux)."""
    chosen, differences = {}, []
    for model, part, native in sorted(found, key=lambda entry: not entry[2]):
        if model.name not in chosen:
            chosen[model.name] = (model, part, native)
        elif chosen[model.name][2] == native and model.number < FIRST_NUMBER:
            chosen[model.name][1].cpus += part.cpus
        elif chosen[model.name][2] == native:
            raise read.Refused(part.folder, 0, f"{part.key} and {chosen[model.name][1].key} would both be called {model.name}")
        elif chosen[model.name][2] and not native:
            differences += [(model.name,) + loss for loss in losses(chosen[model.name][1].events, part.events)]
    return chosen, differences


def left_out(chosen):
    """What a source has no place for, and CPUs that cannot be told apart."""
    owners = {}
    for name, (_, part, _) in sorted(chosen.items()):
        more = [event for event in part.events
                if len(event.registers) > 1 and not any(set(event.registers) <= set(same) for same in SIBLINGS)]
        if more:
            yield f"{name}: {len(more)} events: all payload registers but the first"
        for family, model, _, core_type, native in part.cpus:
            other = owners.setdefault((family, model, core_type, native), name)
            if other != name and not all(chosen[n][1].cpus[0][2] != 0xffff for n in (name, other)):
                yield f"{name}: family {family} model {model:#x} type {core_type:#x} is {other}'s, too"


def uncore(folders, out, writes):
    """Catalogues of events of other units."""
    boxes, taken = units.Boxes(), set()
    for folder in folders:
        if not read.is_native(folder):
            raise read.Refused(folder, 0, "is not in Intel's own form, from which --uncore reads")
        name = os.path.basename(os.path.abspath(folder)).upper()
        events = [event for _, event in read.uncore_events(folder)]
        if events:
            try:
                catalogue = units.imported(name, events, boxes, taken)
            except ValueError as mistake:
                raise read.Refused(folder, 0, str(mistake)) from None
            taken.add(catalogue.number)
            writes.append((os.path.join(out, catalogue.name + ".tsv"), write(catalogue, [f"source: Intel perfmon {name}"])))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--out", default=os.path.join(pack.ROOT, "events"))
    parser.add_argument("--uncore")
    parser.add_argument("--about", action="store_true")
    parser.add_argument("--compare", action="store_true")
    options = parser.parse_args()
    try:
        found = gather(options.folders, options.out)
        chosen, differences = both_forms(found)
        writes = []
        for name, (model, part, native) in sorted(chosen.items()):
            if name in MERGED:
                print(f"{name}: left alone (tools/catalog_merge.py)")
                continue
            catalogue = catalogue_of(model, part)
            for row in catalogue.rows if not options.about else ():
                row.about = ""
            pack.check(catalogue)
            writes.append((os.path.join(options.out, name + ".tsv"), write(catalogue, provenance(part, native))))
        if options.uncore:
            uncore(options.folders, options.uncore, writes)
    except read.Refused as refusal:
        sys.exit(f"refused: {refusal}")
    for loss in differences:
        print("lost\t" + "\t".join(loss))
    for note in left_out(chosen):
        print("left out\t" + note)
    if options.compare:
        return
    for path, text in writes:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path + ".new", "w", encoding="ascii") as out:
            out.write(text)
    for path, _ in writes:
        os.replace(path + ".new", path)
        print(path)


if __name__ == "__main__":
    main()
