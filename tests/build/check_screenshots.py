#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The pictures of the demo's screen in the documents, and what makes them: a blank screen is no picture.

`make screenshots` itself boots a machine (tools/screenshots.py); here it gets screens that no machine showed.
"""
import os
import re
import shutil
import sys

from checklib import check, main, read, run

sys.path.insert(0, "tools")
import picture  # noqa: E402
import screenshots  # noqa: E402

FOLDER = "docs/screenshots"
ROOM = "build/tests/screenshots"
LEAST_PICTURES, MOST_BYTES = 3, 60000
BLACK, WHITE = bytes(3), bytes([255] * 3)


def pictures():
    return {name: open(f"{FOLDER}/{name}", "rb").read() for name in sorted(os.listdir(FOLDER))}


def shown(path):
    """Files of the pictures that a document shows, from the root of the tree."""
    return {os.path.normpath(os.path.join(os.path.dirname(path), file)) for file in re.findall(r"!\[[^]]+\]\(([^)]+)\)", read(path))}


@check
def pictures_show_text_and_colours_of_this_version():
    found, complaints, seen = pictures(), [], {}
    if sorted(found) != sorted(f"{name}.png" for name, _ in screenshots.SHOTS) or len(found) < LEAST_PICTURES:
        complaints.append(f"{FOLDER} has {sorted(found)}: make screenshots")
    for name, data in found.items():
        try:
            image = picture.read_png(data)
        except AssertionError as error:
            complaints.append(f"{name}: {error}")
            continue
        complaints += [f"{name}: {complaint}" for complaint in picture.complaints(image)]
        complaints += [f"{name}: {len(data)} bytes"] if len(data) >= MOST_BYTES else []
        shown = picture.software_of(data)
        complaints += [] if shown == screenshots.SHOWN else [f"{name} shows {shown or 'no version'}, not {screenshots.SHOWN}: make screenshots"]
        complaints += [f"{name} shows what {seen[data]} shows"] if data in seen else []
        seen[data] = name
    return complaints


@check
def pictures_are_shown_in_the_documents():
    files = {f"{FOLDER}/{name}" for name in pictures()}
    complaints = [f"docs/DEMO.md does not show {file}" for file in files - shown("docs/DEMO.md")]
    complaints += [] if shown("README.md") & files else ["README.md shows none of them"]
    return complaints + [f"{path} shows {file}, which is not there" for path in ("README.md", "docs/DEMO.md")
                         for file in shown(path) if not os.path.exists(file)]


def screen(pixel, width=97, height=50):
    """A picture, pixel by pixel."""
    return width, [b"".join(pixel(x, y) for x in range(width)) for y in range(height)]


def converted(image):
    """(exit code, the file's bytes or none) of what stores a picture."""
    shutil.rmtree(ROOM, ignore_errors=True)
    os.makedirs(ROOM)
    with open(f"{ROOM}/shot.ppm", "wb") as file:
        file.write(b"P6\n%d %d\n255\n" % (image[0], len(image[1])) + b"".join(image[1]))
    code, _ = run(["tools/screenshots.py", "convert", f"{ROOM}/shot.ppm", f"{ROOM}/shot.png"])
    return code, open(f"{ROOM}/shot.png", "rb").read() if os.path.exists(f"{ROOM}/shot.png") else None


@check
def a_screen_is_stored_as_it_is():
    """(Of each number of bits that a palette has.)"""
    complaints = []
    for colours in 4, 5, 16, 17, 200:
        image = screen(lambda x, y: bytes([x * y % colours, 7, 9]) if (x + y) % 3 == 0 else BLACK)
        code, data = converted(image)
        if code or data is None or picture.read_png(data) != image or picture.software_of(data) != screenshots.SHOWN:
            complaints.append(f"{colours} colours: exit {code}")
    return complaints


@check
def a_blank_screen_is_no_picture():
    def cursor(x, y):
        return WHITE if x < 8 and y == 10 else BLACK
    blank = {"black": lambda x, y: BLACK, "white": lambda x, y: WHITE, "a cursor": cursor,
             "two colours": lambda x, y: WHITE if (x + y) % 3 == 0 else BLACK,
             "a corner": lambda x, y: bytes([x, y, 1]) if x < 4 and y < 4 else BLACK,
             "noise": lambda x, y: bytes([x, y, x ^ y])}
    return [f"{name} is stored" for name, pixel in blank.items() if converted(screen(pixel))[0] != 1 or os.path.exists(f"{ROOM}/shot.png")]


if __name__ == "__main__":
    main()
