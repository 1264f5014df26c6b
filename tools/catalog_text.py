# SPDX-License-Identifier: MIT
"""Names as packed catalogues hold them: spelt in fragments, beside switches of case and dash.

docs/CATALOGUES.md, "Text", specifies the form; core/catalog/catalog_table.c reads it.
"""
import functools

FRAGMENT = 8         # bytes of the longest fragment
FRAGMENTS = 256      # codes, switches included
SWITCHES = "\1\2\3"  # codes 0 to 2: bit 0 small letters, bit 1 '-' for '_', from here on
DOT = "\x7f"         # '.', which differs from '_' in the bit of the case only
SHARED, OWN = 7, 15  # most fragments shared with the name before; own ones: from here on a byte says how many
OTHER = 16           # beside how many are its own: the name begins in the file's other style
MASK_MOST = 15       # the same of masks, of a small file
MORE = 2             # so many times the fragments are found first: the best are kept
HEAVY = 4            # how much more often names of rows with masks count, where speed does
RARE = 3             # pairs that come no more often are not merged
WORTH = 3            # codes that a fragment saves at least
ROOM = 1024          # where a dictionary, a block of names, a set of masks ends


def plain(name, style=0):
    """A name in capitals and '_', with switches where it is neither; `style`: those that are on."""
    needs = []  # (place, switch, whether it is on there)
    for place, letter in enumerate(name):
        if letter.isalpha():
            needs.append((place, 1, letter.islower()))
        elif letter in "-_":
            needs.append((place, 2, letter == "-"))
    out = []
    own = {at: (switch, on) for at, switch, on in needs}
    for place, letter in enumerate(name):
        change = 0
        if place in own and bool(style & own[place][0]) != own[place][1]:
            for switch in (1, 2):
                following = next((on for at, s, on in needs if s == switch and at >= place), None)
                if following is not None and bool(style & switch) != following:
                    change |= switch
        if change:
            out.append(SWITCHES[change - 1])
            style ^= change
        out.append({"-": "_", ".": DOT}.get(letter, letter.upper()))
    return "".join(out)


@functools.lru_cache(None)
def switches(name, style):
    """How many switches a name needs that begins in a style."""
    return sum(letter in SWITCHES for letter in plain(name, style))


def best_styles(names, styles=range(4)):
    """The switches to begin with that need the fewest changes, two to choose from."""
    return min(((style, other) for style in styles for other in range(style, 4)), key=lambda pair: (
        sum(min(switches(name, style) for style in pair) for name in names), pair))


def best_style(names):
    return min(range(4), key=lambda style: (sum(switches(name, style) for name in names), style))


def train(words, limit):
    """Fragments that save most: pairs that come most often are merged, over and over, until `limit` are in use."""
    texts = {}
    for word in words:
        for part in "".join(" " if c in SWITCHES else c for c in word).split(" "):
            if part:
                texts[part] = texts.get(part, 0) + 1
    tokens, uses = set("".join(texts)), {}
    for text, count in texts.items():
        for letter in text:
            uses[letter] = uses.get(letter, 0) + count
    spelt = [(list(text), count) for text, count in sorted(texts.items())]
    pairs, places = {}, {}
    for index, (word, count) in enumerate(spelt):
        for pair in zip(word, word[1:]):
            pairs[pair] = pairs.get(pair, 0) + count
            places.setdefault(pair, set()).add(index)
    while len(uses) < limit and pairs:
        (left, right), count = max(pairs.items(), key=lambda item: (item[1], item[0]))
        merged = left + right
        if count <= RARE:
            break
        if len(merged) > FRAGMENT:
            del pairs[left, right]
            continue
        tokens.add(merged)
        for index in sorted(places.pop((left, right), ())):
            word, weight = spelt[index]
            for pair in zip(word, word[1:]):
                pairs[pair] = pairs.get(pair, 0) - weight
                if pairs[pair] <= 0:
                    del pairs[pair]
            joined, i = [], 0
            while i < len(word):
                if i + 1 < len(word) and word[i] == left and word[i + 1] == right:
                    joined.append(merged)
                    i += 2
                    for part, step in ((left, -weight), (right, -weight), (merged, weight)):
                        uses[part] = uses.get(part, 0) + step
                else:
                    joined.append(word[i])
                    i += 1
            spelt[index] = (joined, weight)
            for pair in zip(joined, joined[1:]):
                pairs[pair] = pairs.get(pair, 0) + weight
                places.setdefault(pair, set()).add(index)
        pairs.pop((left, right), None)
        uses = {part: count for part, count in uses.items() if count > 0}
    return tokens


def prune(words, tokens, limit):
    """
    The fragments of `tokens` that are worth their place: while there are more than `limit`, or some that save
    less than WORTH codes, those go that save least, some at a time.
    """
    spelt = {}  # text: how often, its fragments
    for word in words:
        for part in "".join(" " if c in SWITCHES else c for c in word).split():
            spelt[part] = (spelt.get(part, (0,))[0] + 1, None)
    tokens, gone = set(tokens), None
    while True:
        for text, (count, fragments) in spelt.items():
            if fragments is None or not gone.isdisjoint(fragments):
                spelt[text] = (count, spell(text, tokens))
        uses = {}
        for count, fragments in spelt.values():
            for fragment in fragments:
                uses[fragment] = uses.get(fragment, 0) + count
        letters = {token for token in tokens if len(token) == 1}
        tokens = set(uses)
        saved = sorted((uses[fragment] * (len(spell(fragment, tokens - {fragment})) - 1), fragment)
                       for fragment in tokens if len(fragment) > 1)
        worthless = sum(save < WORTH for save, _ in saved)
        excess = max(len(tokens) - limit, min(worthless, 4))
        if excess <= 0 or not saved:
            return tokens | letters
        gone = {fragment for _, fragment in saved[:min(excess, max(4, excess // 3))]}
        tokens = tokens - gone | letters


def spell(text, tokens):
    """The fewest fragments that make up a text."""
    best = [(0, None)] + [(1 << 30, None)] * len(text)
    for end in range(1, len(text) + 1):
        for start in range(max(0, end - FRAGMENT), end):
            if best[start][0] + 1 < best[end][0] and text[start:end] in tokens:
                best[end] = (best[start][0] + 1, start)
    out, end = [], len(text)
    while end:
        start = best[end][1]
        out.append(text[start:end])
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
    follows, chain = {}, list(range(len(kept)))  # the next part; a part of the same chain

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


def shared_letters(a, b):
    size = 0
    while size < min(len(a), len(b)) and a[size] == b[size]:
        size += 1
    return size


class Text:
    """The dictionary of one file, its names in blocks, and what spells its masks."""

    def __init__(self, names, masks, others, masked, small):
        """
        `names` in their order; `masks`: names of masks, as often as they stand in the file, `others` their other
        names; `masked`: of rows with masks; `small`: rather than quick.
        """
        self.small, self.block = small, 16 if small else 4
        self.style, self.other = best_styles(names)
        self.mask_styles = (best_style(masks), best_style(others))
        self.begins = [switches(name, self.other) < switches(name, self.style) for name in names]
        texts = [plain(name, self.other if other else self.style) for name, other in zip(names, self.begins)]
        words = [text if i % self.block == 0 or shared_letters(texts[i - 1], text) < 3 else
                 text[shared_letters(texts[i - 1], text):] for i, text in enumerate(texts)]
        spelt = [(mask, False) for mask in masks] + [(mask, True) for mask in others] if small else []
        words += [plain(mask, self.mask_styles[other]) for mask, other in spelt]
        if not small:  # a look-up has most to do where masks follow: let it find few fragments there
            words += [text for name, text in zip(names, texts) if name in masked] * HEAVY
        limit = room = FRAGMENTS - len(SWITCHES)
        while True:
            self.known = prune(words, train(words, int(limit * MORE)), limit) | set(SWITCHES)
            items = self.items(texts)
            used = {f for _, own in items for f in own} | {f for mask in spelt for f in self.mask_fragments(*mask)}
            used = sorted(used - set(SWITCHES))
            text = superstring(used)
            base = 2 * (len(SWITCHES) + len(used))
            if len(used) <= room and all(base + text.index(fragment) < ROOM for fragment in used):
                break
            limit -= max(len(used) - room, 4)
        used.sort(key=lambda f: (text.index(f), len(f)))
        self.codes = {f: i for i, f in enumerate(list(SWITCHES) + used)}
        self.dictionary = self.pack_dictionary(used, text)
        self.blocks, self.names = self.pack_names(items)

    def items(self, texts):
        """Of each name: how many fragments it shares with the one before, and its own."""
        items, before = [], []
        for i, text in enumerate(texts):
            best = (spell(text, self.known), 0)
            at = 0
            for count, fragment in enumerate(before[:SHARED] if i % self.block else [], 1):
                if not text.startswith(fragment, at):
                    break
                at += len(fragment)
                own = spell(text[at:], self.known)
                if len(own) < len(best[0]):
                    best = (own, count)
            items.append((best[1], best[0]))
            before = before[:best[1]] + best[0]
        return items

    def mask_fragments(self, name, other):
        return spell(plain(name, self.mask_styles[other]), self.known)

    def styles(self):
        """With which style names may begin instead, and names of masks and their other names do: two bits each."""
        return self.other | self.mask_styles[0] << 2 | self.mask_styles[1] << 4

    def pack_dictionary(self, fragments, text):
        """The fragments' places in `text` and their lengths; text."""
        places = [0] * len(SWITCHES) + [text.index(fragment) for fragment in fragments]
        lengths = [1] * len(SWITCHES) + [len(fragment) for fragment in fragments]
        base = 2 * len(places)
        table = b"".join((base + place | FRAGMENT - length << 13).to_bytes(2, "little")
                         for place, length in zip(places, lengths))
        return table + text.encode("latin-1")

    def code_bytes(self, fragments):
        return bytes(self.codes[f] for f in fragments)

    def pack_names(self, items):
        blocks, packed = [], bytearray()
        for i, (shared, own) in enumerate(items):
            if i % self.block == 0:
                if blocks and len(packed) - blocks[-1] >= ROOM:
                    raise SystemExit("names take too much room")
                blocks.append(len(packed))
            packed.append(shared << 5 | min(len(own), OWN) | (OTHER if self.begins[i] else 0))
            if len(own) >= OWN:
                packed.append(len(own))
            if len(own) > 63:
                raise SystemExit("a name cannot be spelt")
            packed += self.code_bytes(own)
        return blocks, bytes(packed)

    def mask(self, name, other):
        """What a set of masks has of a name, or other name: head, text."""
        first = name[0].lower().encode()[0]
        if not self.small:
            return first, name.encode()
        own = self.code_bytes(self.mask_fragments(name, other))
        return min(len(own), MASK_MOST) << 4 | first % 16, bytes([len(own)] * (len(own) >= MASK_MOST)) + own
