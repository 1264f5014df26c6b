#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pack events/*.tsv into events/catalog_data.c (all of cores), catalog_models.c (each alone), catalog_units.c (of units).

    python3 tools/catalog_pack.py            write the files
    python3 tools/catalog_pack.py --check    are the files of these sources and this packer?  exit 1 if not
    python3 tools/catalog_pack.py --check --whole    pack again and compare (half a minute)
    python3 tools/catalog_pack.py --sizes    bytes of each part
    python3 tools/catalog_pack.py --blob FILE SOURCE.tsv...    a file for upmu_catalog_load()

The packed form is specified in docs/CATALOGUES.md; core/catalog/catalog.c reads it.
Equal sources give equal bytes.
"""
import concurrent.futures
import glob
import hashlib
import heapq
import os
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import catalog_text  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OUTPUT = "events/catalog_data.c"
MODELS = "events/catalog_models.c"
UNITS = "events/catalog_units.c"
FOREIGN = "events/catalog_foreign.c"
# Files of events/foreign: begin of the sources' names, condition.
FAMILIES = (("arm", "UPMU_BACKEND_ARM_PMUV3 && UPMU_EVENTS_ARM"),
            ("a32", "UPMU_BACKEND_ARM_PMUV3 && UPMU_EVENTS_ARM && !defined(__aarch64__)"),
            ("armv8", "UPMU_BACKEND_ARM_PMUV3 && !UPMU_EVENTS_ARM"), ("riscv", "UPMU_BACKEND_RISCV_HPM"))
PACKERS = ["tools/catalog_pack.py", "tools/catalog_text.py"]
CHECKED = ("k8", "netburst")  # packed again by a quick check
ALWAYS = "ix86arch"  # what a PMU has that has no other
VERSION = 5
LONGEST = 120       # bytes of the longest name
FILTER_REACH = 144  # the same of a catalogue's filter
FILE_HEADER, OWN_HEADER, OWN_NAME = 39, 72, 48
OWN_LEAST = 216
REACH = 1290        # bytes that the reader may look at from the begin of a dictionary, a block of names, a set on

ROW_FLAGS = {
    "masked": 1 << 0, "inv": 1 << 1, "edge": 1 << 2, "any": 1 << 3, "cmask": 1 << 4, "payload": 1 << 5,
    "fixed-only": 1 << 6, "precise": 1 << 7, "precise-only": 1 << 8, "deprecated": 1 << 9, "generic": 1 << 10,
    "pair": 1 << 11, "composed": 1 << 12, "revisions": 1 << 13, "equal": 1 << 14,
}
MASK_LISTED = 0x80  # packed form only, beside the group
CUTS = 8            # places in a name that are tried as the end of a masked row's name
UNIT_FILES = (range(120, 150), range(151, 180), (150,))  # numbers of catalogues of units, by the file that has them
IMPORTED = 256      # the first number of catalogues from outside
MASK_LONGEST = 56   # bytes of the longest name of a mask
SET_WIDE = 0x40     # packed form only, beside the count of other names: bits of masks are two bytes
SET_PAYLOAD = 0x80  # the same: the row's payload follows
LAST_RUN = 0x80     # packed form only, beside the class of a set's last run
RUN_GOES_ON, RUN_CLOSES = 0x40, 0x80  # the same, beside how many: same group as the run before; none behind one of it
SLOT_TWIN = 0x8000  # another name folds to the same text: its hash is so much higher
TWIN_STEP = 0x9e3779b1
MOST_NAMES = 0xfffe
TWINS = 8           # names that may fold to one text
HASH_FACTOR = 0x9e3779b97f4a7c15
HASH_ALONE, HASH_SEEDS = 800, 1200  # up to so many names and seeds, no bucket of the hash is moved
HASH_TRIALS = 256   # displacements tried for each bucket, on the average, before the next seed
FILTER_HIGH = 3     # packed form only: payload register of a filter word of which bits 31:0 are not there
OWN_UNITS = 0x80    # packed form only, beside the filter's shift: rows are of units
ENTRY_MASKED = 0x80  # packed form only, beside a row's shape: it has masks
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
        self.unit = 0           # type of the unit that counts it; 0: a core
        self.masks = []         # Mask, in order of group, then name
        self.mask_aliases = []  # (name, name of the mask)

    def encoding(self):
        wired = self.flags & 0x2e
        return (self.code, self.umask, self.cmask, wired, self.msr, self.payload, self.unit)


class Mask:
    def __init__(self, name, bits, group=0, flags=0, cmask=0):
        self.name, self.bits, self.group, self.flags, self.cmask = name, bits, group, flags, cmask


class Catalogue:
    def __init__(self, name, number, other=""):
        self.name, self.number, self.other = name, number, other
        self.rows, self.aliases = [], []  # aliases: (name, row name, [mask names])
        self.cpus, self.pmu = [], ""      # (family, model, steppings, core type, native model); PMU, if called otherwise
        self.units = {}                   # numbers of types of units by name; none: events of a core
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
                elif line.startswith("# unit:"):
                    words = line.split(":", 1)[1].split()
                    catalogue.units[words[0]] = int(words[1])
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
                if catalogue.units or field[9:]:
                    if len(field) != 10 or field[9] not in catalogue.units:
                        sys.exit(f"{where}: no unit of this catalogue")
                    row.unit = catalogue.units[field[9]]
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
        # Within a group those that listings show come first; of names that begin with another, that one last.
        row.masks.sort(key=lambda m: (m.group, bool(m.flags & MASK_FLAGS["listed"]), order(m.name + "~")))
        for index, mask in enumerate(row.masks):
            for before in row.masks[:index]:
                if before.group == mask.group and fold(mask.name).startswith(fold(before.name) + "_"):
                    sys.exit(f"{row.name}: mask {before.name} hides {mask.name}")
    if row.code2:
        row.flags |= ROW_FLAGS["pair"]


def consists_of(text, words):
    """Whether a text consists of some words, each with a separator behind it."""
    return not text or any(text.startswith(word) and consists_of(text[len(word):], words) for word in words)


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
        if "__" in f"_{fold(name)}_":
            sys.exit(f"{catalogue.name}: {name} has a separator at an end, or two side by side")
        seen[name] = True
    rows = {r.name: r for r in catalogue.rows}
    for row in catalogue.rows:
        if len(row.masks) > 32:
            sys.exit(f"{catalogue.name}: {row.name} has more than 32 masks")
    masked = {fold(name) + "_": row for name, row in begin_names(catalogue).items()}
    for begin in masked:
        for before in (begin[:end + 1] for end, letter in enumerate(begin[:-1]) if letter == "_" and begin[:end + 1] in masked):
            row = masked[before]
            for mask in [mask.name for mask in row.masks] + [name for name, _ in row.mask_aliases]:
                text = before + fold(mask) + "_"
                if text.startswith(begin) or begin.startswith(text):
                    sys.exit(f"{catalogue.name}: {row.name} with {mask} begins like {masked[begin].name}")
    # Unit masks are looked for in any order: no name of another event may be one that masks follow, and masks.
    targets = {name: target for name, target, _ in catalogue.aliases}
    words = {begin: [fold(mask) + "_" for mask in [m.name for m in row.masks] + [name for name, _ in row.mask_aliases]]
             for begin, row in masked.items()}
    for name in seen:
        text = fold(name) + "_"
        for end, letter in enumerate(text[:-1]):
            if letter == "_" and text[:end + 1] in words and consists_of(text[end + 1:], words[text[:end + 1]]) and \
                    targets.get(name) != masked[text[:end + 1]].name:
                sys.exit(f"{catalogue.name}: {name} is spelt like {masked[text[:end + 1]].name} with unit masks")
    for name, target, masks in catalogue.aliases:
        if target not in rows:
            sys.exit(f"{catalogue.name}: alias {name} of unknown {target}")
        known = {m.name for m in rows[target].masks}
        for mask in masks:
            if mask not in known:
                sys.exit(f"{catalogue.name}: alias {name}: {target} has no mask {mask}")


# ---- names ----

def name_hash(text, seed):
    """Hash of folded text: eight letters at a time, the last nought to seven once more."""
    value, letters = seed, text.encode().replace(b"_", b"\x7f")
    whole = len(letters) // 8 * 8
    for at in range(0, whole, 8):
        value = ((value ^ int.from_bytes(letters[at:at + 8], "little")) * HASH_FACTOR) & (1 << 64) - 1
        value = value >> 32 | (value & 0xffffffff) << 32
    return ((value ^ int.from_bytes(letters[whole:], "little")) * HASH_FACTOR & (1 << 64) - 1) >> 32


def slot_of(value, displacement, slots):
    value = ((value ^ (displacement * 0x9e3779b1)) * 0x85ebca6b) & 0xffffffff
    return (value * slots) >> 32


def begin_names(catalogue):
    """{name: row}: what masks may follow: masked rows, and aliases of composed ones."""
    rows = {row.name: row for row in catalogue.rows if row.masks}
    composed = {name: rows[target] for name, target, masks in catalogue.aliases
                if not masks and target in rows and rows[target].flags & ROW_FLAGS["composed"]}
    return {**rows, **composed}


def filter_of(catalogue, seed, small):
    """Which hashes names have that masks may follow: high bits that are dropped, bits as bytes."""
    masked = list(begin_names(catalogue))
    bits = [0] * 8
    while len(bits) < min(len(masked) // (2 if small else 1), 128):  # bits for each: 4 at least, or 8
        bits += [0] * len(bits)
    shift = 32 - (8 * len(bits) - 1).bit_length()
    for name in masked:
        value = name_hash(fold(name), seed) >> shift
        bits[value >> 3] |= 1 << (value & 7)
    return shift, bits


def lengths_of(catalogue):
    """How long the names are that masks may follow: a bit for each length."""
    return sum(1 << length for length in set(map(len, begin_names(catalogue)))).to_bytes(16, "little")


def prefixes(names):
    """What stands before separators in names, folded."""
    return {name[:end] for name in map(fold, names) for end, letter in enumerate(name) if letter == "_"}


def members_of(catalogue, number):
    """Names of rows, None, names of aliases: each in the order of the file's names."""
    return (sorted((row.name for row in catalogue.rows), key=number.get) + [None] +
            sorted((alias[0] for alias in catalogue.aliases), key=number.get))


def hash_table(catalogue, members, number, small):
    """Perfect hash of a catalogue's folded names: displacement bytes, slots, bits of a member in a slot, seed."""
    folded = {}
    for member, name in enumerate(members):
        if name is not None:
            folded.setdefault(fold(name), []).append(number[name] if small else member)
    keys = [(key, turn) for key in sorted(folded) for turn in range(len(folded[key]))]
    bits = 0 if small else len(members).bit_length()
    count = len(members) - 1
    buckets, slots = count // 4 + 1, count + count // 16 + 1
    if bits > 15 or any(len(twins) > TWINS for twins in folded.values()):
        sys.exit(f"{catalogue.name}: too many names, or too many that are equal but for case and separators")
    for seed in range(65536):
        lists = [[] for _ in range(buckets)]
        for key in keys:
            value = (name_hash(key[0], seed) + key[1] * TWIN_STEP) & 0xffffffff
            lists[(value * buckets) >> 32].append((value, key))
        moves = catalogue.units or count > HASH_ALONE or seed >= HASH_SEEDS
        displacements = place_buckets([[value for value, _ in own] for own in lists], slots, moves)
        if displacements and cuts_are_few(catalogue, seed, small):
            table = [0] * slots  # empty: any name
            for bucket, displacement in enumerate(displacements):
                for value, (key, turn) in lists[bucket]:
                    member = folded[key][turn]
                    if not small:
                        member |= (value & 0x7fff >> bits) << bits | (SLOT_TWIN if turn + 1 < len(folded[key]) else 0)
                    table[slot_of(value, displacement, slots)] = member
            return displacements, table, bits, seed
    sys.exit(f"{catalogue.name}: no perfect hash found")


def place_buckets(buckets, slots, moves):
    """
    A displacement for each bucket of hashes, so that no two share a slot; None: none was found.

    The largest are placed first, each where it meets no other.  The more buckets there are, the fewer seeds let that
    succeed.  With `moves` a bucket for which there is no such place takes that of the smallest others, and of those
    that had to go least often; they are placed again.  So a bucket needs a few trials, however many there are.
    """
    owner, displacements, moved = [-1] * slots, [0] * len(buckets), [0] * len(buckets)
    waiting = [(-len(own), bucket) for bucket, own in enumerate(buckets)]
    heapq.heapify(waiting)
    trials = 0
    while waiting:
        bucket = heapq.heappop(waiting)[1]
        best = None
        for displacement in range(256):
            trials += 1
            places = [slot_of(value, displacement, slots) for value in buckets[bucket]]
            if not moves and any(owner[place] >= 0 for place in places) or len(set(places)) < len(places):
                continue
            others = {owner[place] for place in places} - {-1}
            cost = sum(len(buckets[other]) ** 2 + moved[other] for other in others)
            if best is None or cost < best[0]:
                best = (cost, displacement, places, others)
            if not others:
                break
        if best is None or trials > HASH_TRIALS * len(buckets):
            displacements = None
            break
        _, displacements[bucket], places, others = best
        for other in others:
            for value in buckets[other]:
                owner[slot_of(value, displacements[other], slots)] = -1
            moved[other] += 1
            heapq.heappush(waiting, (-len(buckets[other]), other))
        for place in places:
            owner[place] = bucket
    place_buckets.trials += trials
    return displacements


place_buckets.trials = 0  # of all calls: what a pack costs (tests/build/check_import.py)


def cuts_are_few(catalogue, seed, small):
    """Whether a look-up of each masked row's name and its masks comes to that row: it tries CUTS places."""
    masked = set(map(fold, begin_names(catalogue)))
    shift, bits = filter_of(catalogue, seed, small)
    lengths = {len(name) for name in masked}
    for name in masked:
        ends = [name_hash(p, seed) >> shift for p in prefixes([name]) if len(p) in lengths]
        if sum(bits[end >> 3] >> (end & 7) & 1 for end in ends) >= CUTS:
            return False
    return True


# ---- tables ----

class Table:
    """Values of one kind, each once."""

    def __init__(self):
        self.values, self.index = [], {}

    def number(self, value):
        if value not in self.index:
            self.index[value] = len(self.values)
            self.values.append(value)
        return self.index[value]


def set_key(row):
    """What rows with equal sets of masks have in common."""
    return (tuple((m.name, m.bits, m.group, m.flags, m.cmask) for m in row.masks),
            tuple(sorted(row.mask_aliases, key=lambda a: order(a[0]))), row.payload if row.msr else None)


def mask_class(mask):
    """What masks have in common besides bits and name: flags, counter mask, group and how they are listed."""
    return (mask.flags & 255, mask.cmask, mask.group | (MASK_LISTED if mask.flags & MASK_FLAGS["listed"] else 0))


class Pool:
    """What all catalogues of one file share."""

    def __init__(self, catalogues):
        names, self.set_of = set(), {}
        for catalogue in catalogues:
            own = {row.name for row in catalogue.rows} | {a[0] for a in catalogue.aliases}
            for row in catalogue.rows:
                if row.masks:
                    self.set_of[catalogue.name, row.name] = set_key(row)
            names |= own
        self.names = sorted(names, key=order)
        if len(self.names) > MOST_NAMES:
            sys.exit("too many names")
        self.number = {name: i for i, name in enumerate(self.names)}
        self.small = (len(catalogues) == 1 and len(self.names) < 255 and
                      len({fold(name) for name in self.names}) == len(self.names) and
                      len(catalogues[0].rows) + sum(1 for a in catalogues[0].aliases if a[2]) < 255)
        self.hash = {}  # of each catalogue
        keys = dict.fromkeys(self.set_of.values())
        masks, others = ([entry[0] for key in keys for entry in key[part]] for part in (0, 1))
        for mask in masks + others:
            if fold(mask) != mask.lower() or len(mask) > MASK_LONGEST:
                sys.exit(f"mask {mask} cannot be packed")
        self.text = catalog_text.Text(self.names, masks, others, {name for _, name in self.set_of}, self.small)
        self.shapes, self.values, self.classes = Table(), Table(), Table()
        self.sets, self.set_index = bytearray(), {}

    def mask_set(self, key, row):
        """Where a set of masks begins; rows with equal ones share them."""
        if key not in self.set_index:
            self.set_index[key] = len(self.sets)
            self.sets += mask_set(row, self)
            if len(self.sets) - self.set_index[key] >= catalog_text.ROOM:
                sys.exit(f"{row.name}: its masks take too much room")
        return self.set_index[key]


def mask_set(row, pool):
    """The masks of one row and their other names."""
    if len(row.mask_aliases) > 31:
        sys.exit(f"{row.name} has more than 31 other names of masks")
    bits = [pool.values.number(m.bits) if m.flags & MASK_FLAGS["payload"] else m.bits for m in row.masks]
    wide = max(bits) > 255
    if max(bits) > 65535:
        sys.exit(f"{row.name}: a mask has more than 16 bits")
    packed = bytearray([len(row.mask_aliases) | (SET_WIDE if wide else 0) |
                        (SET_PAYLOAD if row.msr else 0)])
    if row.msr:
        packed += struct.pack("<H", pool.values.number(row.payload))
    runs, group = [], None  # class, how many
    for mask in row.masks:
        kind = pool.classes.number(mask_class(mask))
        if runs and runs[-1][0] == kind:
            runs[-1][1] += 1
        else:
            closes = mask.flags & (MASK_FLAGS["alone"] | MASK_FLAGS["exclusive"])
            runs.append([kind, 1 | (RUN_GOES_ON if mask.group == group else 0) | (RUN_CLOSES if closes else 0)])
        group = mask.group
    if len(pool.classes.values) > LAST_RUN:
        sys.exit("too many kinds of masks")
    runs[-1][0] |= LAST_RUN
    packed += bytes(byte for run in runs for byte in run)
    numbers = {m.name: i for i, m in enumerate(row.masks)}
    others = sorted(row.mask_aliases, key=lambda a: order(a[0]))
    names = [pool.text.mask(m.name, False) for m in row.masks] + [pool.text.mask(name, True) for name, _ in others]
    packed += bytes(head for head, _ in names)
    bits = b"".join(struct.pack("<H", value)[:2 if wide else 1] for value in bits)
    bits += bytes(numbers[target] for _, target in others)
    at = len(packed) + 2 * len(names) + len(bits)
    for _, text in names if not pool.small else ():
        if at >= catalog_text.ROOM:
            sys.exit(f"{row.name}: its masks take too much room")
        packed += struct.pack("<H", at | len(text) << 10)
        at += len(text)
    return packed + bits + b"".join(text for _, text in names)


def pack_rows(rows, catalogue, pool):
    """Own shapes, entries and places of sets of masks."""
    local, places, entries = Table(), Table(), bytearray()
    for row in rows:
        flags, high_code, high_umask, more = row.flags, row.code & 0xff00, row.umask & 0xff00, row.unit or row.code2 & 255
        register, payload = row.msr, row.payload
        entry = bytes([row.code & 255, row.umask & 255])
        if row.masks:
            high_umask = row.umask
            place = places.number(pool.mask_set(pool.set_of[catalogue.name, row.name], row))
            entry = bytes([row.code & 255, place & 255])
        elif row.unit and row.msr:
            flags |= ROW_INDEXED
            if payload >> 32:  # of the second filter register
                if payload & 0xffffffff:
                    sys.exit(f"{catalogue.name}: {row.name} has two filter words")
                register, payload = FILTER_HIGH, payload >> 32
            entry = struct.pack("<H", pool.values.number(payload << 32 | entry[1] << 8 | entry[0]))
        elif row.msr:
            flags |= ROW_INDEXED
            high_code, high_umask = row.code, row.umask
            entry = struct.pack("<H", pool.values.number(row.payload))
        shape = pool.shapes.number((flags, row.cmask, more, high_code, high_umask, row.counters, register))
        entries += entry + bytes([(shape if pool.small else local.number(shape)) & 127 | (ENTRY_MASKED if row.masks else 0)])
    if len(pool.shapes.values if pool.small else local.values) > 128 or len(places.values) > 256:
        sys.exit(f"{catalogue.name}: more than 128 shapes of rows, or 256 sets of masks")
    return (b"".join(struct.pack("<H", s) for s in local.values), bytes(entries),
            b"".join(struct.pack("<H", p) for p in places.values))


def pack_aliases(catalogue, aliases, rows, pool):
    """Targets of other names, and the masks that some choose."""
    row_number = {r.name: i for i, r in enumerate(rows)}
    targets, chosen = [], bytearray()
    for _, target, masks in aliases:
        if masks:
            positions = {m.name: i for i, m in enumerate(rows[row_number[target]].masks)}
            targets.append(len(rows) + len(chosen) // 6)
            chosen += struct.pack("<HI", row_number[target], sum(1 << positions[m] for m in masks))
        else:
            targets.append(row_number[target])
    return struct.pack(f"<{len(targets)}{'B' if pool.small else 'H'}", *targets), bytes(chosen)


def pack_model(catalogue, pool, position):
    """One catalogue; `position` is where it stands in the file."""
    rows = sorted(catalogue.rows, key=lambda r: pool.number[r.name])
    aliases = sorted(catalogue.aliases, key=lambda a: pool.number[a[0]])
    if catalogue.name not in pool.hash:
        pool.hash[catalogue.name] = hash_table(catalogue, members_of(catalogue, pool.number), pool.number, pool.small)
    displacements, slots, slot_bits, seed = pool.hash[catalogue.name]
    hashed = bytes(displacements) + struct.pack(f"<{len(slots)}{'B' if pool.small else 'H'}", *slots)
    filter_shift, filter_bits = filter_of(catalogue, seed, pool.small)
    shapes, entries, places = pack_rows(rows, catalogue, pool)
    targets, chosen = pack_aliases(catalogue, aliases, rows, pool)
    others = [pool.number[a[0]] for a in aliases]
    if pool.small:
        names = bytes(others + [0xff])
    else:
        names = [pool.number[r.name] for r in rows] + [0xffff] + others + [0xffff]
        names = struct.pack(f"<{len(names)}H", *names)
    sections = [lengths_of(catalogue) + bytes(filter_bits), hashed, shapes, entries, places, names, targets, chosen]
    cpus = b""
    if catalogue.cpus or catalogue.pmu:
        cpus = catalogue.pmu.encode().ljust(12, b"\0") + b"".join(struct.pack("<BBHBB", *cpu) for cpu in catalogue.cpus)
        if len(catalogue.pmu) > 11:
            sys.exit(f"{catalogue.name}: {catalogue.pmu} is too long")
    offsets, at = [], OWN_HEADER + len(cpus)
    for section in sections:
        offsets.append(at)
        at += len(section)
    # The filter's reach, that of a target.
    sections.append(bytes(max(0, offsets[0] + FILTER_REACH - at, OWN_LEAST - at, 0 if chosen else 1)))
    at += len(sections[-1])
    longest = max(len(name) for name in [row.name for row in rows] + [alias[0] for alias in aliases])
    header = struct.pack("<3sBIIHHHBBHBB", b"upm", VERSION, at, position, catalogue.number, len(rows), len(aliases),
                         len(places) // 2, len(shapes) // 2, seed, longest | (0 if catalogue.built_in else 128),
                         (OWN_UNITS if catalogue.units else 0) | (filter_shift - 22) << 4 | slot_bits)
    header += b"".join(offset.to_bytes(3, "little") for offset in offsets)
    header = header.ljust(OWN_NAME, b"\0")
    if max(len(catalogue.name) - (not catalogue.other), len(catalogue.other)) > 11:
        sys.exit(f"{catalogue.name}: its name is too long")
    header += (catalogue.name.encode().ljust(12, b"\0") + catalogue.other.encode()).ljust(24, b"\0")
    return header + cpus + b"".join(sections), dict(zip(
        ("filter", "hash", "shapes", "entries", "masked", "names", "targets", "chosen"), map(len, sections)))


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
        check(catalogue)
    pool = Pool(catalogues)
    # Catalogues first fill the shared tables, then are packed at their places.
    for catalogue in catalogues:
        pack_model(catalogue, pool, 0)
    if len(pool.sets) > 65535:
        sys.exit("sets of masks need more than 16 bits of offset")
    parts = {  # first those of which the reader looks furthest
        "sets": bytes(pool.sets),
        "names": pool.text.names,
        "fragments": pool.text.dictionary,
        "blocks": b"".join(b.to_bytes(2 if pool.small else 3, "little") for b in pool.text.blocks),
        "shapes": b"".join(struct.pack("<HBBHHHH", *shape) for shape in pool.shapes.values),
        "values": b"".join(struct.pack("<Q", v) for v in pool.values.values),
        "classes": b"".join(bytes(c) for c in pool.classes.values),
    }
    at = FILE_HEADER + 3 * len(catalogues)
    offsets = []
    for section in parts.values():
        offsets.append(at)
        at += len(section)
    models, places, sizes = bytearray(), [], {}
    for catalogue in catalogues:
        places.append(at + len(models))
        packed, own = pack_model(catalogue, pool, at + len(models))
        sizes[catalogue.name] = (len(packed), own)
        models += packed
    # How far the reader looks behind the last entry of a section (core/catalog/catalog_table.h).
    starts = dict(zip(parts, offsets))
    ends = {name: starts[name] + len(part) for name, part in parts.items()}
    for begin, reach in ((starts["fragments"], REACH), (ends["blocks"] - 2, 4), (ends["names"] - 1, REACH),
                         (ends["sets"] - 1, REACH)):
        models += bytes(max(0, begin + reach - at - len(models)))
    size = at + len(models) + 4
    header = struct.pack("<3sBIHHBBHH", b"upc", VERSION, size, len(catalogues), len(pool.names), pool.text.styles(), pool.text.style | (4 if pool.small else 0),
                         len(pool.shapes.values), len(pool.values.values))
    header += b"".join(offset.to_bytes(3, "little") for offset in offsets)
    header = header.ljust(FILE_HEADER, b"\0") + b"".join(p.to_bytes(3, "little") for p in places)
    sizes["shared"] = (at, {name: len(part) for name, part in parts.items()})
    data = header + b"".join(parts.values()) + bytes(models)
    return data + struct.pack("<I", checksum(data)), sizes


def paths_of(units):
    """The sources of cores or of units."""
    return sorted(p for p in glob.glob(os.path.join(ROOT, "events", "*.tsv"))
                  if os.path.basename(p) != "exceptions.tsv" and p.endswith("_uncore.tsv") == units)


def foreign_paths(family=""):
    """The sources of other CPUs than x86's, by the first letters of their names."""
    return sorted(glob.glob(os.path.join(ROOT, "events", "foreign", family + "*.tsv")))


def sources(units=False):
    paths = paths_of(units)
    catalogues = [read_source(path) for path in paths]
    return sorted(catalogues, key=lambda c: c.number), [os.path.relpath(p, ROOT) for p in paths]


def array(name, data):
    """A packed file as C."""
    lines = [f"const uint8_t {name}[{len(data)}] = {{"]
    for start in range(0, len(data), 24):
        lines.append("    " + ", ".join(str(b) for b in data[start:start + 24]) + ",")
    return lines + ["};"]


def made_from(paths):
    """A digest of all that a file is made of."""
    digest = hashlib.sha256()
    for path in paths + [os.path.join(ROOT, p) for p in PACKERS]:
        with open(path, "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()[:16]


def stamped(text, paths=None):
    """A file's text below a line that says what it was made from, and what it was then."""
    return (f"/* Generated by tools/catalog_pack.py from events/: do not edit.  Of {made_from(paths or paths_of(False))}, "
            f"{hashlib.sha256(text.encode()).hexdigest()[:16]}. */\n{text}")


def generate():
    catalogues, _ = sources()
    data, sizes = pack(catalogues)
    lines = ["/* SPDX-License-Identifier: MIT */", "/*", " * Event catalogues, packed as docs/CATALOGUES.md specifies.",
             " */", '#include "core/catalog/catalog.h"', "", "#if UPMU_NAMES && UPMU_EVENTS_ALL"]
    lines += array("upmu_catalog_data", data) + ["#endif", ""]
    return stamped("\n".join(lines)), data, sizes, catalogues


def alone(catalogue):
    """The packed file of one catalogue."""
    return pack([catalogue])[0]


def file_at(function, table, chosen, behind):
    """The files that a build has, and the function that gives the i-th; `behind` them comes something else."""
    lines = ["", f"static const uint8_t *const {table}[] = {{"]
    for option, name in chosen:
        lines += [f"#if {option}", f"    catalog_{name},", "#endif"]
    return lines + ["    NULL,", "};", "", f"const uint8_t *{function}(unsigned i)", "{",
                    f"    const unsigned count = sizeof {table} / sizeof {table}[0] - 1;", "",
                    f"    return i < count ? {table}[i] : {behind};", "}"]


def generate_models(catalogues):
    """Each catalogue in a file of its own, for builds that choose some of them."""
    lines = ["/* SPDX-License-Identifier: MIT */", "/*",
             " * Event catalogues, each packed alone: those that UPMU_EVENTS_name asks for.",
             f" * models: {' '.join(name for c in catalogues for name in (c.name, c.other) if name)}", " */",
             '#include "core/catalog/catalog.h"', "", "#if UPMU_NAMES && !UPMU_EVENTS_ALL"]
    chosen = []
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        packed = dict(zip([c.name for c in catalogues], pool.map(alone, catalogues)))
    for catalogue in catalogues:
        wanted = " || ".join(f"UPMU_EVENTS_{name}" for name in (catalogue.name, catalogue.other) if name)
        wanted = f"UPMU_FOR_X86 || {wanted}" if catalogue.name == ALWAYS else wanted
        for name in filter(None, (catalogue.name, catalogue.other)):
            lines += [f"#ifndef UPMU_EVENTS_{name}", f"#define UPMU_EVENTS_{name} 0", "#endif"]
        lines += [f"#if {wanted}", f"static {array(f'catalog_{catalogue.name}', packed[catalogue.name])[0]}"]
        lines += array(f"catalog_{catalogue.name}", packed[catalogue.name])[1:] + ["#endif"]
        chosen.append((wanted, catalogue.name))
    lines += file_at("upmu_catalog_file_at", "model_files", chosen, "upmu_catalog_units_at(i - count)")
    lines += ["#endif", ""]
    return stamped("\n".join(lines)), {name: len(data) for name, data in packed.items()}


def generate_units(catalogues):
    """
    Catalogues of units, in files with a dictionary each: Intel's, AMD's, and those of AMD's first northbridge, which has
    unit masks with long names.
    """
    families = [[c for c in catalogues if c.number in numbers] for numbers in UNIT_FILES]
    packed = [pack(family)[0] for family in families if family]
    lines = ["/* SPDX-License-Identifier: MIT */", "/*", " * Events of units outside the cores, packed as docs/CATALOGUES.md specifies.",
             " */", '#include "core/catalog/catalog.h"', "", "#if UPMU_NAMES && UPMU_EVENTS_UNCORE"]
    for i, data in enumerate(packed):
        lines += ["static " + array(f"units_{i}", data)[0]] + array(f"units_{i}", data)[1:]
    lines += ["", "const uint8_t *upmu_catalog_units_at(unsigned i)", "{",
              f"    static const uint8_t *const files[] = {{{', '.join(f'units_{i}' for i in range(len(packed)))}}};", "",
              "    return i < sizeof files / sizeof files[0] ? files[i] : NULL;", "}", "#endif", ""]
    return stamped("\n".join(lines), paths_of(True)), sum(map(len, packed))


def generate_foreign():
    """Catalogues of other CPUs than x86's: a file for each backend."""
    lines = ["/* SPDX-License-Identifier: MIT */", "/*", " * Events of Arm and RISC-V, packed as docs/CATALOGUES.md specifies.  Names and codes of Arm's CPUs are facts from",
             " * files that Arm publishes (ARM-software/data, Copyright (C) Arm Ltd., Apache-2.0).",
             " */", '#include "core/catalog/catalog.h"', "", "#if UPMU_NAMES && UPMU_FOREIGN"]
    chosen = []
    for family, option in FAMILIES:
        data = pack(sorted((read_source(path) for path in foreign_paths(family)), key=lambda c: c.number))[0]
        packed = array(f"catalog_{family}", data)
        lines += [f"#if {option}", "static " + packed[0]] + packed[1:] + ["#endif"]
        chosen.append((option, family))
    lines += file_at("upmu_catalog_foreign_at", "foreign_files", chosen, "NULL") + ["#endif", ""]
    return stamped("\n".join(lines), foreign_paths())


def is_as_stamped():
    """Complaint: a file is not what was made last, or what it was made from has changed; two catalogues are packed again."""
    for name, paths in ((UNITS, paths_of(True)), (FOREIGN, foreign_paths()), (OUTPUT, None), (MODELS, None)):
        with open(os.path.join(ROOT, name), encoding="ascii") as file:
            text = file.read()
        if text != stamped(text[text.index("\n") + 1:], paths):
            return f"{name} is not what tools/catalog_pack.py made last, or of other sources"
    for catalogue in sources()[0]:
        if catalogue.name in CHECKED and "\n".join(array(f"catalog_{catalogue.name}", alone(catalogue))) not in text:
            return f"{MODELS}: {catalogue.name} is packed in another way"
    return None


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
    if "--check" in sys.argv and "--whole" not in sys.argv:
        sys.exit(is_as_stamped())
    text, data, sizes, catalogues = generate()
    models, alone_sizes = generate_models(catalogues)
    units, unit_bytes = generate_units(sources(True)[0])
    if "--sizes" in sys.argv:
        show_sizes(data, sizes, catalogues, alone_sizes)
        print(f"units\t{unit_bytes} bytes, {sum(c.events() for c in sources(True)[0])} events")
        return
    for name, wanted in ((OUTPUT, text), (MODELS, models), (UNITS, units), (FOREIGN, generate_foreign())):
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
