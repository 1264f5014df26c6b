# SPDX-License-Identifier: MIT
"""Pictures of a screen: QEMU's PPM is read, PNG with a palette is written and read, and a blank one is noticed.

A picture is (width, rows), each row the bytes of its pixels, three for each.  The formats: PPM (P6, 255), and PNG, third
edition.
"""
import re
import struct
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"
SOFTWARE = b"Software\0"
LEAST_COLOURS = 4          # letters, the ground, and two more
LEAST_LIT, MOST_LIT = 0.01, 0.6  # of all pixels: those that are not of the most frequent colour


def read_ppm(data):
    head = re.match(rb"P6\s+(\d+)\s+(\d+)\s+255\s", data)
    assert head, "no PPM"
    width, height = int(head[1]), int(head[2])
    pixels = data[head.end():]
    assert width and height and len(pixels) == 3 * width * height, "a PPM of another size"
    return width, [pixels[3 * width * y:3 * width * (y + 1)] for y in range(height)]


def colours(picture):
    """{colour: pixels}"""
    found = {}
    for row in picture[1]:
        for x in range(0, len(row), 3):
            found[row[x:x + 3]] = found.get(row[x:x + 3], 0) + 1
    return found


def complaints(picture):
    """Why this is no picture of a screen with text and colours."""
    found = colours(picture)
    total = sum(found.values())
    lit = 1 - max(found.values()) / total
    return ([f"{len(found)} colours, at least {LEAST_COLOURS} are wanted"] if len(found) < LEAST_COLOURS else []) + \
        ([f"{100 * lit:.1f} % of the pixels are lit"] if not LEAST_LIT <= lit <= MOST_LIT else [])


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def packed(indices, bits):
    """A row of a palette's indices, the first pixel in the highest bits."""
    each = 8 // bits
    padded = indices + [0] * (-len(indices) % each)
    return bytes(sum(padded[x + i] << (8 - bits * (i + 1)) for i in range(each)) for x in range(0, len(padded), each))


def png(picture, software):
    """The bytes of a file: a palette, as small as its colours allow; and the name and version of what is shown."""
    width, rows = picture
    palette = sorted(colours(picture))
    assert len(palette) <= 256, f"{len(palette)} colours: this is no text"
    bits = next(bits for bits in (1, 2, 4, 8) if len(palette) <= 1 << bits)
    index = {colour: number for number, colour in enumerate(palette)}
    data = b"".join(b"\0" + packed([index[row[x:x + 3]] for x in range(0, len(row), 3)], bits) for row in rows)
    head = struct.pack(">IIBBBBB", width, len(rows), bits, 3, 0, 0, 0)
    return SIGNATURE + chunk(b"IHDR", head) + chunk(b"tEXt", SOFTWARE + software.encode("latin-1")) + chunk(b"PLTE", b"".join(palette)) + \
        chunk(b"IDAT", zlib.compress(data, 9)) + chunk(b"IEND", b"")


def chunks(data):
    """(kind, content) of each, its sum checked."""
    assert data.startswith(SIGNATURE), "no PNG"
    at = len(SIGNATURE)
    while at < len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        content = data[at + 8:at + 8 + length]
        assert len(content) == length, "a PNG that was cut"
        assert struct.unpack_from(">I", data, at + 8 + length)[0] == zlib.crc32(kind + content), f"the sum of {kind}"
        yield kind, content
        at += 12 + length


def software_of(data):
    """What png() was told that is shown; empty: the file does not say."""
    return "".join(content[len(SOFTWARE):].decode("latin-1") for kind, content in chunks(data) if kind == b"tEXt" and content.startswith(SOFTWARE))


def read_png(data):
    parts = [(kind, content) for kind, content in chunks(data) if kind != b"tEXt"]
    assert [kind for kind, _ in parts] == [b"IHDR", b"PLTE", b"IDAT", b"IEND"], "other chunks than png() writes"
    width, height, bits, kind, *rest = struct.unpack(">IIBBBBB", parts[0][1])
    assert kind == 3 and bits in (1, 2, 4, 8) and rest == [0, 0, 0], "another kind of PNG than png() writes"
    palette, raw, length = parts[1][1], zlib.decompress(parts[2][1]), (width * bits + 7) // 8
    assert len(raw) == height * (length + 1) and not any(raw[::length + 1]), "a PNG of another size, or with filters"
    rows = []
    for y in range(height):
        line = raw[y * (length + 1) + 1:(y + 1) * (length + 1)]
        indices = [byte >> shift & (1 << bits) - 1 for byte in line for shift in range(8 - bits, -1, -bits)][:width]
        rows.append(b"".join(palette[3 * index:3 * index + 3] for index in indices))
    assert all(len(row) == 3 * width for row in rows), "a colour that the palette lacks"
    return width, rows
