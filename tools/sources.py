#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The library's source files: upmu.mk's list, for builds that are not make's.  Prints one on each line."""
import glob
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def sources(root=ROOT):
    """Paths from `root` on, in the order of upmu.mk."""
    with open(os.path.join(root, "upmu.mk"), encoding="utf-8") as file:
        line = re.search(r"^UPMU_SOURCES := (.*)$", file.read(), re.M)[1]
    patterns = re.findall(r"\$\(UPMU_DIR\)/([\w/*.]+)", line)
    found = [path for pattern in patterns for path in glob.glob(os.path.join(glob.escape(root), pattern))]
    return sorted(os.path.relpath(path, root) for path in found)


if __name__ == "__main__":
    print("\n".join(sources()))
