#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pack events/*.tsv into events/catalog_data.c (all together) and catalog_models.c (each alone).

    python3 tools/catalog_pack.py            write the files
    python3 tools/catalog_pack.py --check    compare with the files, exit 1 if one differs
    python3 tools/catalog_pack.py --sizes    bytes of each part
    python3 tools/catalog_pack.py --blob FILE SOURCE.tsv...    a file for upmu_catalog_load()

The packed form is specified in docs/CATALOGUES.md; core/catalog.c reads it.
Equal sources give equal bytes.
"""
import concurrent.futures
import glob
import os
import struct
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OUTPUT = "events/catalog_data.c"
MODELS = "events/catalog_models.c"
ALWAYS = "ix86arch"  # what a PMU has that has no other
VERSION = 3
BLOCK = 8           # names per front-coded block
LONGEST = 120       # bytes of the longest name
ALIAS_MASKS = 0x8000

ROW_FLAGS = {
    "masked": 1 << 0, "inv": 1 << 1, "edge": 1 << 2, "any": 1 << 3, "cmask": 1 << 4, "payload": 1 << 5,
    "fixed-only": 1 << 6, "precise": 1 << 7, "precise-only": 1 << 8, "deprecated": 1 << 9, "generic": 1 << 10,
    "pair": 1 << 11, "composed": 1 << 12, "revisions": 1 << 13,
}
MASK_LISTED = 0x80  # packed form only, beside the last of the group
MASK_BEGINS = 0x40  # the same: a later mask of the group begins with its name
CUTS = 8            # places in a name that are tried as the end of a masked row's name
IMPORTED = 256      # the first number of catalogues from outside
MASK_LONGEST = 56   # bytes of the longest name of a mask
SET_CLOSED = 0x20   # packed form only, beside the count of other names
LAST_TWIN, SLOT_MASKED = 0x8000, 0x4000
TWINS = 8           # names that may fold to one text
HASH_FACTOR = 0x9e3779b97f4a7c15
FRAGMENT = 8        # bytes of the longest fragment
ROW_INDEXED = 1 << 15  # packed form only: the entry's two bytes are an index
MASK_FLAGS = {
    "default": 1 << 0, "exclusive": 1 << 1, "payload": 1 << 2, "required": 1 << 3, "inv": 1 << 4, "edge": 1 << 5,
    "alone": 1 << 6, "last": 1 << 7, "listed": 1 << 8,
}
RESERVED_WORDS = ("os", "usr", "edge", "inv", "any", "anythread", "precise", "complement", "cascade")


def fold(name):
    """Case and the separators - _ . : are equal."""
    return "".join("_" if c in "-_.:" else c.lower() for c in name)


def order(name):
    """Alphabetical order of the tables: upper case, then as written."""
    return (name.upper().encode(), name.encode())


class Row:
    def __init__(self, name, code, umask=0, cmask=0, flags=0, counters=0, msr=0, payload=0, code2=0):
        self.name, self.code, self.umask, self.cmask = name, code, umask, cmask
        self.flags, self.counters, self.msr, self.payload, self.code2 = flags, counters, msr, payload, code2
        self.masks = []         # Mask, in order of group, then name
        self.mask_aliases = []  # (name, name of the mask)

    def encoding(self):
        wired = self.flags & 0x2e
        return (self.code, self.umask, self.cmask, wired, self.msr, self.payload)


class Mask:
    def __init__(self, name, bits, group=0, flags=0, cmask=0):
        self.name, self.bits, self.group, self.flags, self.cmask = name, bits, group, flags, cmask


class Catalogue:
    def __init__(self, name, number, other=""):
        self.name, self.number, self.other = name, number, other
        self.rows, self.aliases = [], []  # aliases: (name, row name, [mask names])
        self.cpus, self.pmu = [], ""      # (family, model, steppings, core type, native model); PMU, if called otherwise
        self.built_in = True

    def events(self):
        """Names that a listing shows as events: aliases not counted, combinations counted."""
        total = 0
        for row in self.rows:
            if not row.flags & ROW_FLAGS["masked"]:
                total += 1
            elif row.flags & ROW_FLAGS["composed"]:
                total += 1 + len(combinations(row))
            else:
                total += max(1, len(row.masks))
        return total


def combinations(row):
    """Flat names of a row that is listed by its combinations, without the row's name."""
    groups = sorted({m.group for m in row.masks if m.flags & MASK_FLAGS["listed"]})
    result = [([], False)]
    for group in groups:
        step = []
        for names, closed in result:
            if closed:
                step.append((names, True))
                continue
            for mask in row.masks:
                if mask.group == group and mask.flags & MASK_FLAGS["listed"]:
                    step.append((names + [mask], bool(mask.flags & MASK_FLAGS["last"])))
        result = step
    return [names for names, _ in result]


def number_of(text):
    return int(text, 0) if text not in ("", "-") else 0


def flags_of(text, table, where):
    value = 0
    for word in text.split(","):
        if word not in ("", "-"):
            if word not in table:
                sys.exit(f"{where}: unknown flag {word}")
            value |= table[word]
    return value


def read_source(path):
    """One catalogue from its tab-separated source."""
    catalogue = None
    with open(path, encoding="ascii") as source:
        for index, line in enumerate(source, 1):
            line = line.rstrip("\n")
            where = f"{path}:{index}"
            if line.startswith("#") or not line:
                if line.startswith("# catalogue:"):
                    words = line.split(":", 1)[1].split()
                    catalogue = Catalogue(words[0], int(words[1]), words[2] if len(words) > 2 else "")
                elif line.startswith("# pmu:"):
                    catalogue.pmu = line.split(":", 1)[1].strip()
                elif line.startswith("# cpu:"):
                    catalogue.cpus.append(tuple(int(word, 0) for word in line.split(":", 1)[1].split()))
                continue
            field = line.split("\t")
            if field[0] == "E":
                name, code, umask, cmask, flags, counters, msr, payload = field[1:9]
                code, _, code2 = code.partition("/")
                row = Row(name, number_of(code), number_of(umask), number_of(cmask), flags_of(flags, ROW_FLAGS, where),
                          number_of(counters), number_of(msr), number_of(payload), number_of(code2))
                catalogue.rows.append(row)
            elif field[0] == "M":
                name, bits, group, flags, cmask = field[1:6]
                row.masks.append(Mask(name, number_of(bits), number_of(group), flags_of(flags, MASK_FLAGS, where),
                                      number_of(cmask)))
            elif field[0] == "N":
                row.mask_aliases.append((field[1], field[2]))
            elif field[0] == "A":
                target = field[2].split(":")
                catalogue.aliases.append((field[1], target[0], target[1:]))
            else:
                sys.exit(f"{where}: unknown line {field[0]}")
    return catalogue


def complete(row):
    """Flags that follow from the fields."""
    if row.cmask:
        row.flags |= ROW_FLAGS["cmask"]
    if row.masks:
        row.flags |= ROW_FLAGS["masked"]
        # Within a group those that listings show come first; of names that begin alike, the longest last.
        row.masks.sort(key=lambda m: (m.group, not m.flags & MASK_FLAGS["listed"], order(m.name)))
        for index, mask in enumerate(row.masks):
            for before in row.masks[:index]:
                if before.group == mask.group and fold(before.name).startswith(fold(mask.name) + "_"):
                    sys.exit(f"{row.name}: mask {mask.name} hides {before.name}")
    if row.code2:
        row.flags |= ROW_FLAGS["pair"]


def check(catalogue):
    """What the tables promise; a mistake stops the packer."""
    seen = {}
    for name in [r.name for r in catalogue.rows] + [a[0] for a in catalogue.aliases]:
        if fold(name) in RESERVED_WORDS:
            sys.exit(f"{catalogue.name}: {name} is a reserved word")
        if name in seen:
            sys.exit(f"{catalogue.name}: {name} stands twice")
        if not 0 < len(name) <= LONGEST:
            sys.exit(f"{catalogue.name}: {name} is too long")
        seen[name] = True
    rows = {r.name: r for r in catalogue.rows}
    for row in catalogue.rows:
        if len(row.masks) > 32:
            sys.exit(f"{catalogue.name}: {row.name} has more than 32 masks")
    for name, target, masks in catalogue.aliases:
        if target not in rows:
            sys.exit(f"{catalogue.name}: alias {name} of unknown {target}")
        known = {m.name for m in rows[target].masks}
        for mask in masks:
            if mask not in known:
                sys.exit(f"{catalogue.name}: alias {name}: {target} has no mask {mask}")


# ---- names ----

def train(suffixes, limit=256):
    """Fragments that save most bytes: byte-pair merges over the suffixes."""
    tokens = sorted(set("".join(suffixes)))
    texts = {}
    for suffix in suffixes:
        if suffix:
            texts[suffix] = texts.get(suffix, 0) + 1
    words = [(list(text), count) for text, count in sorted(texts.items())]
    pairs, places = {}, {}
    for index, (word, count) in enumerate(words):
        for pair in zip(word, word[1:]):
            pairs[pair] = pairs.get(pair, 0) + count
            places.setdefault(pair, set()).add(index)
    while len(tokens) < limit and pairs:
        best = max(pairs.items(), key=lambda item: (item[1] - len(item[0][0]) - len(item[0][1]), item[0]))
        (left, right), count = best
        merged = left + right
        if count <= len(merged) + 3:
            break
        if len(merged) <= FRAGMENT and merged not in tokens:
            tokens.append(merged)
        elif len(merged) > FRAGMENT:
            del pairs[best[0]]
            continue
        for index in sorted(places.pop((left, right), ())):
            word, weight = words[index]
            for pair in zip(word, word[1:]):
                pairs[pair] = pairs.get(pair, 0) - weight
                if pairs[pair] <= 0:
                    del pairs[pair]
            joined, i = [], 0
            while i < len(word):
                if i + 1 < len(word) and word[i] == left and word[i + 1] == right:
                    joined.append(merged)
                    i += 2
                else:
                    joined.append(word[i])
                    i += 1
            words[index] = (joined, weight)
            for pair in zip(joined, joined[1:]):
                pairs[pair] = pairs.get(pair, 0) + weight
                places.setdefault(pair, set()).add(index)
        pairs.pop((left, right), None)
    return tokens


def spell(text, index, longest):
    """The fewest fragments that make up a text."""
    best = [(0, None)] + [(1 << 30, None)] * len(text)
    for end in range(1, len(text) + 1):
        for start in range(max(0, end - longest), end):
            if text[start:end] in index and best[start][0] + 1 < best[end][0]:
                best[end] = (best[start][0] + 1, start)
    out, end = [], len(text)
    while end:
        start = best[end][1]
        out.append(index[text[start:end]])
        end = start
    return out[::-1]


def superstring(texts):
    """One text that holds all fragments: contained ones vanish, ends overlap, the longest overlaps first."""
    kept, whole = [], ""
    for part in sorted(set(texts), key=lambda t: (-len(t), t)):
        if part not in whole:
            kept.append(part)
            whole += "\0" + part
    kept.sort()
    follows, chain = {}, list(range(len(kept)))  # who stands behind whom; a part of the same chain

    def root(i):
        while chain[i] != i:
            i = chain[i]
        return i

    preceded = set()
    for size in range(max(map(len, kept), default=0) - 1, 0, -1):
        begins = {}
        for j, text in enumerate(kept):
            if j not in preceded and len(text) > size:
                begins.setdefault(text[:size], []).append(j)
        for i, text in enumerate(kept):
            if i in follows or len(text) <= size:
                continue
            for j in begins.get(text[-size:], ()):
                if j not in preceded and root(i) != root(j):
                    follows[i] = (j, size)
                    preceded.add(j)
                    chain[root(j)] = root(i)
                    break
    result = []
    for i in range(len(kept)):
        if i in preceded:
            continue
        result.append(kept[i])
        while i in follows:
            i, size = follows[i]
            result.append(kept[i][size:])
    return "".join(result)


def shared_prefix(a, b):
    size = 0
    while size < min(len(a), len(b), 255) and a[size] == b[size]:
        size += 1
    return size


def name_hash(text, seed):
    """Hash of folded text: eight letters at a time, the last nought to seven once more."""
    value, letters = seed, bytes(0x5f if c < 0x30 or c == 0x3a or c > 0x7a else c
                                 for c in ((c | 0x20) & 0x7f for c in text.encode()))
    whole = len(letters) // 8 * 8
    for at in range(0, whole, 8):
        value = ((value ^ int.from_bytes(letters[at:at + 8], "little")) * HASH_FACTOR) & (1 << 64) - 1
        value ^= value >> 32
    return ((value ^ int.from_bytes(letters[whole:], "little")) * HASH_FACTOR & (1 << 64) - 1) >> 32


def slot_of(value, displacement, slots):
    value = ((value ^ (displacement * 0x9e3779b1)) * 0x85ebca6b) & 0xffffffff
    return (value * slots) >> 32


def filter_of(rows, seed):
    """Which hashes a catalogue's masked rows have: high bits that are dropped, bits as bytes."""
    masked = [row.name for row in rows if row.masks]
    bits = [0] * 8
    while len(bits) < min(len(masked), 128):  # a bit for 8 hashes
        bits += [0] * len(bits)
    shift = 32 - (8 * len(bits) - 1).bit_length()
    for name in masked:
        value = name_hash(fold(name), seed) >> shift
        bits[value >> 3] |= 1 << (value & 7)
    return shift, bits


def prefixes(names):
    """What stands before separators in names, folded."""
    return {name[:end] for name in map(fold, names) for end, letter in enumerate(name) if letter == "_"}


def closed(row, names):
    """Whether no other name begins with the row's and one of its masks."""
    begins = tuple(fold(f"{row.name}_{mask.name}_") for mask in row.masks)
    return not any((fold(name) + "_").startswith(begins) for name in names)


def hash_table(names, catalogues):
    """Perfect hash of the folded names: displacement bytes, slots, names of equal folding, seed."""
    masked = {fold(row.name) for c in catalogues for row in c.rows if row.masks}
    folded = {}
    for number, name in enumerate(names):
        folded.setdefault(fold(name), []).append(number)
    twins, values = [], {}
    for key in sorted(folded):
        numbers = folded[key]
        values[key] = numbers[0] | LAST_TWIN
        if len(numbers) > 1:
            if len(numbers) > TWINS:
                sys.exit(f"{key}: {len(numbers)} names")
            values[key] = len(twins)
            twins += numbers[:-1] + [numbers[-1] | LAST_TWIN]
        if key in masked:
            values[key] |= SLOT_MASKED
    keys = sorted(values)
    buckets = max(1, (len(keys) + 2) // 3)
    slots = len(keys) + len(keys) // 10 + 1
    for seed in range(4096):
        table, displacements = [None] * slots, [0] * buckets
        lists = [[] for _ in range(buckets)]
        for key in keys:
            value = name_hash(key, seed)
            lists[(value * buckets) >> 32].append((value, key))
        for bucket in sorted(range(buckets), key=lambda b: (-len(lists[b]), b)):
            for displacement in range(256):
                places = [slot_of(v, displacement, slots) for v, _ in lists[bucket]]
                if len(set(places)) == len(places) and all(table[p] is None for p in places):
                    break
            else:
                break
            displacements[bucket] = displacement
            for place, (_, key) in zip(places, lists[bucket]):
                table[place] = values[key] | (name_hash(key, seed) & 255) << 16
        else:
            table = [LAST_TWIN if s is None else s for s in table]  # empty: any name
            if look_ups_are_quick(names, catalogues, displacements, table, twins, seed):
                return displacements, table, twins, seed
    sys.exit("no perfect hash found")


def look_ups_are_quick(names, catalogues, displacements, slots, twins, seed):
    """Whether no name of a catalogue is taken for a masked row and one of its masks before both are compared."""
    for catalogue in catalogues:
        masks = {row.name: [fold(m.name) + "_" for m in row.masks] + [fold(a[0]) + "_" for a in row.mask_aliases]
                 for row in catalogue.rows if row.masks}
        masked = {fold(name) for name in masks}
        longest = max(map(len, masked), default=0)
        shift, bits = filter_of(catalogue.rows, seed)
        for name in masked:
            ends = [value >> shift for value in (name_hash(p, seed) for p in prefixes([name]))]
            if sum(bits[end >> 3] >> (end & 7) & 1 for end in ends) >= CUTS:
                return False
        for name in map(fold, [row.name for row in catalogue.rows] + [alias[0] for alias in catalogue.aliases]):
            for begin in prefixes([name]) - masked:
                value = name_hash(begin, seed)
                slot = slots[slot_of(value, displacements[(value * len(displacements)) >> 32], len(slots))]
                if (len(begin) > longest or not slot & SLOT_MASKED or slot >> 16 != value & 255 or
                        not bits[value >> shift >> 3] >> (value >> shift & 7) & 1):
                    continue
                entry, others = slot & 0xffff & ~SLOT_MASKED, []
                while not entry & LAST_TWIN:
                    others.append(twins[entry + len(others)])
                    if others[-1] & LAST_TWIN:
                        break
                for number in others or [entry]:
                    rest = name[len(begin) + 1:] + "_"
                    if any(rest.startswith(m) for m in masks.get(names[number & ~LAST_TWIN], [])):
                        return False
    return True


def pack_names(names):
    """Front-coded blocks of names, spelt in fragments."""
    items = []
    for start in range(0, len(names), BLOCK):
        head = names[start]
        for name in names[start:start + BLOCK]:
            shared = 0 if name is head else shared_prefix(head, name)
            items.append((shared, name[shared:]))
    tokens = train([suffix for _, suffix in items])
    longest = max(len(t) for t in tokens)
    used = set()
    index = {t: t for t in tokens}
    for _, suffix in items:
        used.update(spell(suffix, index, longest))
    tokens = sorted(used, key=order)
    index = {t: i for i, t in enumerate(tokens)}
    text = superstring(tokens)
    if 2 * len(tokens) + len(text) > 2048:
        sys.exit("fragments need more than 11 bits of offset")
    dictionary = b"".join(struct.pack("<H", (2 * len(tokens) + text.index(t)) | len(t) << 11) for t in tokens)
    blocks, packed = [], bytearray()
    for number, (shared, suffix) in enumerate(items):
        if number % BLOCK == 0:
            blocks.append(len(packed))
        spelling = spell(suffix, index, longest)
        packed += bytes([shared, len(spelling)] + spelling)
    # Fragments are copied as if they had 8 bytes, so 8 bytes more stand behind them.
    return (dictionary + text.encode() + bytes(8), blocks, bytes(packed))


# ---- tables ----

class Pool:
    """What all catalogues of one file share."""

    def __init__(self, catalogues):
        names, masks = set(), set()
        for catalogue in catalogues:
            for row in catalogue.rows:
                names.add(row.name)
                masks.update(m.name for m in row.masks)
                masks.update(a for a, _ in row.mask_aliases)
            names.update(a[0] for a in catalogue.aliases)
        self.names = sorted(names, key=order)
        if len(self.names) >= SLOT_MASKED - 1:
            sys.exit("too many names")
        self.number = {name: i for i, name in enumerate(self.names)}
        self.displacements, self.slots, self.twins, self.seed = hash_table(self.names, catalogues)
        for mask in masks:
            if fold(mask) != mask.lower():
                sys.exit(f"mask {mask} has a separator other than _")
        self.mask_text = superstring(masks)
        if len(self.mask_text) > 65535:
            sys.exit("names of masks need more than 16 bits of offset")
        self.shapes, self.shape_index = [], {}
        self.values, self.value_index = [], {}
        self.sets, self.set_index = bytearray(), {}

    def shape(self, record):
        if record not in self.shape_index:
            self.shape_index[record] = len(self.shapes)
            self.shapes.append(record)
        return self.shape_index[record]

    def value(self, value):
        if value not in self.value_index:
            self.value_index[value] = len(self.values)
            self.values.append(value)
        return self.value_index[value]

    def mask_set(self, packed):
        """Rows with equal sets of masks share them; numbered by fours of bytes."""
        if packed not in self.set_index:
            self.set_index[packed] = len(self.sets) // 4
            self.sets += packed
        return self.set_index[packed]


def mask_record(pool, name, bits, cmask=0, flags=0, where=0):
    if bits > 65535 or len(name) > MASK_LONGEST:
        sys.exit(f"mask {name} cannot be packed")
    return struct.pack("<HHBBBB", pool.mask_text.index(name), bits, len(name), cmask, flags & 255, where)


def mask_set(row, pool, names):
    """The masks of one row and their other names."""
    if len(row.mask_aliases) > 31:
        sys.exit(f"{row.name} has more than 31 other names of masks")
    packed = struct.pack("<BBH", len(row.masks), len(row.mask_aliases) | (SET_CLOSED if closed(row, names) else 0),
                         pool.value(row.payload) if row.msr else 0)
    groups = [m.group for m in row.masks]
    for mask in row.masks:
        where = len(groups) - 1 - groups[::-1].index(mask.group)
        if mask.flags & MASK_FLAGS["listed"]:
            where |= MASK_LISTED
        if any(m.group == mask.group and fold(m.name).startswith(fold(mask.name) + "_") for m in row.masks):
            where |= MASK_BEGINS
        bits = pool.value(mask.bits) if mask.flags & MASK_FLAGS["payload"] else mask.bits
        packed += mask_record(pool, mask.name, bits, mask.cmask, mask.flags, where)
    numbers = {m.name: i for i, m in enumerate(row.masks)}
    for name, target in sorted(row.mask_aliases, key=lambda a: order(a[0])):
        packed += mask_record(pool, name, numbers[target])
    return packed


def pack_model(catalogue, pool, position):
    """One catalogue; `position` is where it stands in the file."""
    for row in catalogue.rows:
        complete(row)
    check(catalogue)
    rows = sorted(catalogue.rows, key=lambda r: pool.number[r.name])
    row_number = {r.name: i for i, r in enumerate(rows)}
    local, local_index = [], {}
    entries, masked = bytearray(), bytearray()
    longest = max([len(row.name) for row in rows if row.masks], default=0)
    others = {r.name for r in rows} | {a[0] for a in catalogue.aliases}
    filter_shift, filter_bits = filter_of(rows, pool.seed)
    for row in rows:
        flags, high_code, high_umask = row.flags, row.code & 0xff00, row.umask & 0xff00
        if row.masks:
            flags |= ROW_INDEXED
        elif row.msr:
            flags |= ROW_INDEXED
            high_code, high_umask = row.code, row.umask
        record = (flags, row.cmask, row.code2 & 255, high_code, high_umask, row.counters, row.msr)
        shape = pool.shape(record)
        if shape not in local_index:
            local_index[shape] = len(local)
            local.append(shape)
        if row.masks:
            entry = struct.pack("<H", len(masked) // 4)
            masked_set = pool.mask_set(mask_set(row, pool, others - {row.name}))
            masked += struct.pack("<BBH", row.code & 255, row.umask & 255, masked_set)
        elif row.msr:
            entry = struct.pack("<H", pool.value(row.payload))
        else:
            entry = bytes([row.code & 255, row.umask & 255])
        entries += entry + bytes([local_index[shape]])
    if len(local) > 256:
        sys.exit(f"{catalogue.name}: {len(local)} shapes of rows")

    aliases = sorted(catalogue.aliases, key=lambda a: pool.number[a[0]])
    targets, chosen = bytearray(), bytearray()
    for name, target, masks in aliases:
        if masks:
            positions = {m.name: i for i, m in enumerate(rows[row_number[target]].masks)}
            bits = sum(1 << positions[m] for m in masks)
            targets += struct.pack("<H", ALIAS_MASKS | (len(chosen) // 6))
            chosen += struct.pack("<HI", row_number[target], bits)
        else:
            targets += struct.pack("<H", row_number[target])

    numbers = [pool.number[r.name] for r in rows] + [0xffff] + [pool.number[a[0]] for a in aliases] + [0xffff]
    sections = [bytes(filter_bits), b"".join(struct.pack("<H", s) for s in local), bytes(entries), bytes(masked),
                struct.pack(f"<{len(numbers)}H", *numbers), bytes(targets), bytes(chosen)]
    cpus = b""
    if catalogue.cpus or catalogue.pmu:
        cpus = catalogue.pmu.encode().ljust(12, b"\0") + b"".join(struct.pack("<BBHBB", *cpu) for cpu in catalogue.cpus)
        if len(catalogue.pmu) > 11:
            sys.exit(f"{catalogue.name}: {catalogue.pmu} is too long")
    offsets, at = [], 76 + len(cpus)
    for section in sections:
        offsets.append(at)
        at += len(section)
    sections.append(bytes(max(0, offsets[0] + 128 - at)))  # the filter's reach
    at += len(sections[-1])
    header = struct.pack("<3sBIIHHHHHBB7I", b"upm", VERSION, at, position, catalogue.number, len(rows), len(aliases),
                         len(masked) // 4, len(local), longest | (0 if catalogue.built_in else 128),
                         filter_shift - 22, *offsets)
    header += catalogue.name.encode().ljust(12, b"\0") + catalogue.other.encode().ljust(12, b"\0")
    return header + cpus + b"".join(sections), dict(zip(
        ("filter", "shapes", "entries", "masked", "names", "targets", "chosen"), map(len, sections)))


def has_keywords(name, target, masks):
    """Whether an alias is Intel's spelling of an offcore response, which the reader knows by itself."""
    plain = name.replace(":request=", ".", 1).replace(":response=", ".", 1)
    return plain != name and name.startswith("OFFCORE_RESPONSE:request=") and plain == ".".join([target] + masks)


def checksum(data):
    """FNV-1a, 32 bits."""
    value = 2166136261
    for byte in data:
        value = ((value ^ byte) * 0x01000193) & 0xffffffff
    return value


def write_blob(path, names):
    """A file that upmu_catalog_load() takes, of sources by their paths."""
    catalogues = [read_source(name) for name in names]
    for catalogue in catalogues:
        catalogue.built_in = False
        if catalogue.number < IMPORTED:
            catalogue.number += IMPORTED
    with open(path, "wb") as out:
        out.write(pack(catalogues)[0])


def pack(catalogues):
    """The whole file: header, shared part, catalogues."""
    for catalogue in catalogues:
        catalogue.aliases = [alias for alias in catalogue.aliases if not has_keywords(*alias)]
        for row in catalogue.rows:
            complete(row)
    pool = Pool(catalogues)
    fragments, blocks, text = pack_names(pool.names)
    # Catalogues first fill the shared tables, then are packed at their places.
    for catalogue in catalogues:
        pack_model(catalogue, pool, 0)
    shapes = b"".join(struct.pack("<HBBHHHH", f, c, c2, code, umask, counters, msr)
                      for f, c, c2, code, umask, counters, msr in pool.shapes)
    values = b"".join(struct.pack("<Q", v) for v in pool.values)
    sections = [pool.mask_text.encode(), fragments, b"".join(struct.pack("<I", b)[:3] for b in blocks), text,
                bytes(pool.displacements), b"".join(struct.pack("<I", s)[:3] for s in pool.slots),
                b"".join(struct.pack("<H", t) for t in pool.twins), shapes, values,
                bytes(pool.sets)]
    directory_at = 64
    at = directory_at + 4 * len(catalogues)
    offsets = []
    for section in sections:
        offsets.append(at)
        at += len(section)
    models, places, sizes = bytearray(), [], {}
    for catalogue in catalogues:
        places.append(at + len(models))
        packed, parts = pack_model(catalogue, pool, at + len(models))
        sizes[catalogue.name] = (len(packed), parts)
        models += packed
    # How far the reader looks behind the last entry of a section (core/catalog_table.h).
    ends = dict(enumerate(offsets[1:] + [at]))
    for begin, reach in ((ends[0], 255), (offsets[1], 2056), (ends[2] - 3, 4), (ends[3] - 2, 2056),
                         (ends[6] - 2, 2 * TWINS), (ends[9] - 4, 508)):
        models += bytes(max(0, begin + reach - at - len(models)))
    size = at + len(models) + 4
    header = struct.pack("<3sBIHHHHHHHH", b"upc", VERSION, size, len(catalogues), len(pool.names),
                         len(pool.slots), len(pool.displacements), 0, len(pool.shapes), len(pool.values),
                         pool.seed)
    header += struct.pack("<10I", *offsets)
    header += b"".join(struct.pack("<I", p) for p in places)
    sizes["shared"] = (at, dict(zip(("mask text", "fragments", "blocks", "names", "displacements", "slots", "twins",
                                     "shapes", "values", "sets"), map(len, sections))))
    data = header + b"".join(sections) + bytes(models)
    return data + struct.pack("<I", checksum(data)), sizes


def sources():
    paths = sorted(p for p in glob.glob(os.path.join(ROOT, "events", "*.tsv"))
                   if os.path.basename(p) != "exceptions.tsv")
    catalogues = [read_source(path) for path in paths]
    return sorted(catalogues, key=lambda c: c.number), [os.path.relpath(p, ROOT) for p in paths]


def array(name, data):
    """A packed file as C."""
    lines = [f"const uint8_t {name}[{len(data)}] = {{"]
    for start in range(0, len(data), 24):
        lines.append("    " + ", ".join(str(b) for b in data[start:start + 24]) + ",")
    return lines + ["};"]


def generate():
    catalogues, paths = sources()
    data, sizes = pack(catalogues)
    lines = [f"/* Generated by tools/catalog_pack.py from {' '.join(paths)}: do not edit. */",
             "/* SPDX-License-Identifier: MIT */", "/*", " * Event catalogues, packed as docs/CATALOGUES.md specifies.",
             " */", '#include "core/catalog.h"', "", "#if UPMU_NAMES && UPMU_EVENTS_ALL"]
    lines += array("upmu_catalog_data", data) + ["#endif", ""]
    return "\n".join(lines), data, sizes, catalogues


def alone(catalogue):
    """The packed file of one catalogue."""
    return pack([catalogue])[0]


def generate_models(catalogues):
    """Each catalogue in a file of its own, for builds that choose some of them."""
    lines = ["/* Generated by tools/catalog_pack.py from events/: do not edit. */", "/* SPDX-License-Identifier: MIT */", "/*",
             " * Event catalogues, each packed alone: those that UPMU_EVENTS_name asks for.",
             f" * models: {' '.join(name for c in catalogues for name in (c.name, c.other) if name)}", " */",
             '#include "core/catalog.h"', "", "#if UPMU_NAMES && !UPMU_EVENTS_ALL"]
    chosen = []
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        packed = dict(zip([c.name for c in catalogues], pool.map(alone, catalogues)))
    for catalogue in catalogues:
        wanted = " || ".join(f"UPMU_EVENTS_{name}" for name in (catalogue.name, catalogue.other) if name)
        wanted = "1" if catalogue.name == ALWAYS else wanted
        for name in filter(None, (catalogue.name, catalogue.other)):
            lines += [f"#ifndef UPMU_EVENTS_{name}", f"#define UPMU_EVENTS_{name} 0", "#endif"]
        lines += [f"#if {wanted}", f"static {array(f'catalog_{catalogue.name}', packed[catalogue.name])[0]}"]
        lines += array(f"catalog_{catalogue.name}", packed[catalogue.name])[1:] + ["#endif"]
        chosen += [f"#if {wanted}", "    if (!i--)", f"        return catalog_{catalogue.name};", "#endif"]
    lines += ["", "const uint8_t *upmu_catalog_file_at(unsigned i)", "{"] + chosen + ["    return NULL;", "}", "#endif", ""]
    return "\n".join(lines), {name: len(data) for name, data in packed.items()}


def show_sizes(data, sizes, catalogues, models):
    for name, (size, parts) in sizes.items():
        print(f"{name}\t{size}\t{parts}")
    for name, size in models.items():
        print(f"{name} alone\t{size}")
    events = sum(c.events() for c in catalogues)
    aliases = sum(len(c.aliases) for c in catalogues)
    print(f"total\t{len(data)} bytes, {events} events, {aliases} aliases, {len(data) / events:.2f} bytes per event")


def main():
    if "--blob" in sys.argv:
        at = sys.argv.index("--blob")
        if len(sys.argv) < at + 3:
            sys.exit("--blob FILE SOURCE.tsv...")
        for name in sys.argv[at + 2:]:
            if not os.path.isfile(name):
                sys.exit(f"{name}: no such source")
        write_blob(sys.argv[at + 1], sys.argv[at + 2:])
        return
    text, data, sizes, catalogues = generate()
    models, alone_sizes = generate_models(catalogues)
    if "--sizes" in sys.argv:
        show_sizes(data, sizes, catalogues, alone_sizes)
        return
    for name, wanted in ((OUTPUT, text), (MODELS, models)):
        path = os.path.join(ROOT, name)
        if "--check" not in sys.argv:
            with open(path, "w", encoding="ascii") as out:
                out.write(wanted)
            continue
        with open(path, encoding="ascii") as present:
            if present.read() != wanted:
                print(f"{name} is not what tools/catalog_pack.py makes of events/*.tsv")
                sys.exit(1)


if __name__ == "__main__":
    main()
