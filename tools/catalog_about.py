#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A file of catalogues with the descriptions of its events, for `upmu list --blob`.

    python3 tools/catalog_about.py FILE SOURCE.tsv...

What tools/catalog_pack.py --blob makes of these sources, and behind it a line of catalogue, name and text for each event with
a line "# about: TEXT" (tools/catalog_import.py --about), in the order of their bytes.
"""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import catalog_pack as pack  # noqa: E402

BEGIN = b"upmu about 1\n"


def descriptions(path):
    """The lines of one source."""
    catalogue = pack.read_source(path).name
    with open(path, encoding="ascii") as source:
        name = None
        for line in source:
            if line.startswith("E\t"):
                name = line.split("\t")[1]
            elif line.startswith("# about: ") and name:
                yield f"{catalogue}\t{name}\t{line[len('# about: '):]}".encode("ascii")


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    path, *sources = sys.argv[1:]
    pack.write_blob(path, sources)
    lines = sorted(line for source in sources for line in descriptions(source))
    if lines:
        with open(path, "ab") as out:
            out.write(BEGIN + b"".join(lines))


if __name__ == "__main__":
    main()
