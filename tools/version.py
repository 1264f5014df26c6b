#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The version of the tree, if every file that states one agrees with include/upmu/config.h.

Usage: version.py [TREE]    prints the version; a file that states another one, or none, is named, and the exit code is 1
"""
import glob
import os
import re
import sys

import sources

# File, pattern of the place, and what may stand there in place of a number: an expression that reads config.h.
PLACES = [
    ("CHANGELOG.md", r"^## (\d\S*)", None),  # the newest version that has a number
    ("CMakeLists.txt", r"^project\(upmu VERSION (\S+)", "${version}"),
    ("meson.build", r"^ +version: (\S.*)\)$",
     "run_command(find_program('python3', 'python'), files('tools/sources.py'), '--version', check: true).stdout().strip()"),
    ("tools/install.mk", r"^UPMU_VERSION = (.*)$", "$(shell $(PYTHON) tools/sources.py --version)"),
    ("tools/install.mk", r"'Version: (\S+)'", "$(UPMU_VERSION)"),  # of the files for pkg-config
    ("tools/cmake/upmu-config-version.cmake", r"^set\(PACKAGE_VERSION (\S+)\)", "@VERSION@"),
]
# Bindings may be absent; their packages need no foreign ones.  0.0.0 is a program that is not published.
CRATES, CRATE, UNPUBLISHED = "bindings/**/Cargo.*", r'^(?:upmu[\w-]* = \{.*)?version = "=?([^"]*)"', "0.0.0"


def stated(tree):
    """(file, its version, the expression that may stand there) of each place; the version is None if it is not found."""
    for path, pattern, expression in PLACES:
        found = re.search(pattern, sources.read(tree, path), re.M)
        yield path, found and found[1], expression
    for path in sorted(glob.glob(CRATES, root_dir=tree, recursive=True)):
        for number in re.findall(CRATE, sources.read(tree, path), re.M):
            yield path, number, UNPUBLISHED


def main(tree=sources.ROOT):
    version = sources.version(tree)
    differ = [f"{path}: {text or 'no version'}, and include/upmu/config.h says {version}"
              for path, text, expression in stated(tree) if text is None or text not in (version, expression)]
    print("\n".join(differ) or version)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
