# SPDX-License-Identifier: MIT
"""What the importers of events share: catalogues under construction and their text."""
import io
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import catalog_pack as pack  # noqa: E402
from catalog_pack import MASK_FLAGS, ROW_FLAGS, Mask, Row, fold  # noqa: E402


def words(flags, table):
    return ",".join(name for name, bit in table.items() if flags & bit) or "-"


def write(catalogue, notes):
    """The text of a catalogue source: sorted, one fact per line."""
    with io.StringIO() as out:
        out.write("# SPDX-License-Identifier: MIT\n")
        out.write(f"# catalogue: {catalogue.name} {catalogue.number} {catalogue.other}".rstrip() + "\n")
        if catalogue.pmu:
            out.write(f"# pmu: {catalogue.pmu}\n")
        for family, model, steppings, core_type, native in catalogue.cpus:
            out.write(f"# cpu: {family} {model:#04x} {steppings:#x} {core_type:#x} {native}\n")
        for unit, number in sorted(catalogue.units.items(), key=lambda item: item[1]):
            out.write(f"# unit: {unit} {number}\n")
        units = {number: unit for unit, number in catalogue.units.items()}
        for note in notes:
            out.write(f"# {note}\n")
        out.write("# E event code[/second code] umask cmask flags counters(0: file says nothing) payload-register payload" +
                  (" unit\n" if units else "\n"))
        out.write("# M unit mask of the event before: bits group flags cmask;  N another name of a mask;  A another name\n")
        for row in sorted(catalogue.rows, key=lambda r: pack.order(r.name)):
            code = f"0x{row.code:02x}" + (f"/0x{row.code2:02x}" if row.code2 else "")
            out.write("\t".join(["E", row.name, code, f"0x{row.umask:02x}", str(row.cmask),
                                 words(row.flags & ~ROW_FLAGS["cmask"] & ~ROW_FLAGS["masked"] & ~ROW_FLAGS["pair"],
                                       ROW_FLAGS),
                                 f"0x{row.counters:x}", f"0x{row.msr:x}", f"0x{row.payload:x}",
                                 *([units[row.unit]] if units else [])]) + "\n")
            if getattr(row, "about", ""):
                out.write(f"# about: {row.about}\n")
            for mask in sorted(row.masks, key=lambda m: (m.group, pack.order(m.name))):
                out.write("\t".join(["M", mask.name, f"0x{mask.bits:x}", str(mask.group),
                                     words(mask.flags, MASK_FLAGS), str(mask.cmask)]) + "\n")
            for name, target in sorted(row.mask_aliases):
                out.write(f"N\t{name}\t{target}\n")
        for name, target, masks in sorted(catalogue.aliases, key=lambda a: pack.order(a[0])):
            out.write("\t".join(["A", name, ":".join([target] + masks)]) + "\n")
        return out.getvalue()


class Names:
    """What the names of a catalogue under construction mean."""

    def __init__(self, catalogue):
        self.catalogue = catalogue
        self.rows = {fold(r.name): r for r in catalogue.rows}
        self.taken = {fold(r.name) for r in catalogue.rows}
        for row in catalogue.rows:
            for mask in row.masks:
                if not row.flags & ROW_FLAGS["composed"]:
                    self.taken.add(fold(row.name + "_" + mask.name))

    def add(self, row):
        self.catalogue.rows.append(row)
        self.rows[fold(row.name)] = row
        self.taken.add(fold(row.name))

    def alias(self, name, target, masks=()):
        if fold(name) not in self.taken:
            self.catalogue.aliases.append((name, target, list(masks)))
            self.taken.add(fold(name))

    def same(self, encoding, near=""):
        """First row by name with an encoding, best one whose name begins with `near`; or None."""
        rows = [r for r in self.catalogue.rows if not r.masks and r.encoding() == encoding]
        return min(rows, key=lambda r: (not r.name.startswith(near), pack.order(r.name))) if rows else None

    def meaning(self, code, umask):
        """A row, or a row and one mask, that counts code/umask."""
        row = self.same(Row("", code, umask).encoding())
        if row:
            return row.name, []
        for row in sorted(self.catalogue.rows, key=lambda r: pack.order(r.name)):
            if row.masks and row.code == code and len({m.group for m in row.masks}) == 1:
                for mask in sorted(row.masks, key=lambda m: pack.order(m.name)):
                    if row.umask | mask.bits == umask and not mask.cmask:
                        return row.name, [mask.name]
        return None, []


# The event to show for a generic name where several rows have its encoding.
SHOWN = {"instructions": "INST_RETIRED.ANY", "cycles": "CPU_CLK_UNHALTED.THREAD",
         "bus-cycles": "CPU_CLK_UNHALTED.REF_XCLK", "ref-cycles": "CPU_CLK_UNHALTED.REF_TSC"}


def preferred(names, event, code, umask):
    row = names.rows.get(fold(SHOWN.get(event, "-")))
    if row and not row.masks and row.encoding()[:3] == (code, umask, 0):
        return row.name, []
    target, masks = names.meaning(code, umask)
    if not target:
        row = next((r for r in names.catalogue.rows if (r.code, r.umask) == (code, umask)), None)
        target = row.name if row else sys.exit(f"{event}: no event {code:#x}/{umask:#x}")
    return target, masks


def generic_names(names, uarch):
    """Linux's generic events of a micro-architecture: other names of what they mean, else rows."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "catalog_generic.tsv")
    with open(path, encoding="ascii") as source:
        lines = [line.rstrip("\n").split("\t") for line in source if line.startswith(uarch + "\t")]
    for _, event, code, umask, cmask, word in lines:
        row = Row(event, int(code, 16), int(umask, 16), int(cmask), ROW_FLAGS.get(word, 0))
        pack.complete(row)
        shown = names.rows.get(fold(SHOWN.get(event, "-")))
        same = shown if shown and shown.encoding() == row.encoding() else names.same(row.encoding())
        target, masks = (same.name, []) if same else names.meaning(row.code, row.umask) if not row.cmask else (None, [])
        if not target:
            row.flags |= ROW_FLAGS["generic"]
            names.add(row)
            target = event
        names.alias(event, target, masks)
        other = {"cache-misses": "LLC-misses", "cache-references": "LLC-references"}.get(event)
        if other:
            names.alias(other, target, masks)


def compose(rows, head):
    """
    One masked row for rows NAME.REQUEST.SUPPLIER.SNOOP whose payloads are the OR
    of a value for each part; None if they are not.  One supplier without a snoop
    (ANY_RESPONSE) may stand alone.
    """
    table, closed = {}, {}
    for row in rows:
        parts = row.name.split(".")[1:]
        if len(parts) == 3:
            table[tuple(parts)] = row.payload
        elif len(parts) == 2:
            closed[tuple(parts)] = row.payload
        else:
            return None
    requests = sorted({k[0] for k in table} | {k[0] for k in closed})
    suppliers, snoops = sorted({k[1] for k in table}), sorted({k[2] for k in table})
    finals = sorted({k[1] for k in closed})
    if len(table) != len(requests) * len(suppliers) * len(snoops) or len(closed) != len(requests) * len(finals):
        return None
    if len(requests) + len(suppliers) + len(snoops) + len(finals) > 32 or set(suppliers) & set(finals):
        return None
    every = list(table.items()) + [(k + (None,), v) for k, v in closed.items()]

    def common(position, part):
        value = (1 << 64) - 1
        for key, payload in every:
            if key[position] == part:
                value &= payload
        return value
    parts = [{r: common(0, r) for r in requests}, {s: common(1, s) for s in suppliers + finals},
             {s: common(2, s) for s in snoops}]
    shared = (1 << 64) - 1
    for _, payload in every:
        shared &= payload
    for key, payload in every:
        if parts[0][key[0]] | parts[1][key[1]] | (parts[2][key[2]] if key[2] else 0) != payload:
            return None
    model = rows[0]
    result = Row(head, model.code, model.umask, 0, ROW_FLAGS["composed"] | ROW_FLAGS["payload"], model.counters,
                 model.msr, shared, model.code2)
    base = MASK_FLAGS["payload"] | MASK_FLAGS["listed"] | MASK_FLAGS["required"]  # no part alone is an event
    for group, names in enumerate(parts):
        for name, bits in names.items():
            final = MASK_FLAGS["last"] | MASK_FLAGS["alone"] if group == 1 and name in finals else 0
            result.masks.append(Mask(name, bits & ~shared, group, base | final))
    return result
