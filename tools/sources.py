#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The library's source files: upmu.mk's list, for builds that are not make's.  Prints one on each line.

Usage: sources.py [PORT]    with a name: the files of this folder of port/ or models/
       sources.py --version  the version that include/upmu/config.h states
       sources.py --unknown OPTION...  those of these build options that tools/options.tsv does not have
"""
import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def read(tree, path):
    with open(os.path.join(tree, path), encoding="utf-8") as file:
        return file.read()


def sources(port=None):
    """Paths from the tree on, in the order of upmu.mk."""
    line = re.search(r"^UPMU_SOURCES := (.*)$", read(ROOT, "upmu.mk"), re.M)[1]
    patterns = [f"port/{port}/*.c", f"models/{port}/*.c"] if port else re.findall(r"\$\(UPMU_DIR\)/([\w/*.]+)", line)
    found = [path for pattern in patterns for path in glob.glob(os.path.join(glob.escape(ROOT), pattern))]
    return sorted(os.path.relpath(path, ROOT) for path in found)


def version(tree=ROOT):
    numbers = dict(re.findall(r"^#define UPMU_VERSION_(MAJOR|MINOR|PATCH) (\d+)$", read(tree, "include/upmu/config.h"), re.M))
    return ".".join(numbers[name] for name in ("MAJOR", "MINOR", "PATCH"))


def unknown(options):
    """Those that are neither in the table nor a model's events."""
    names = set(re.findall(r"^(UPMU_\w+)\t", read(ROOT, "tools/options.tsv"), re.M))
    models = re.search(r"^ \* models: (.*)$", read(ROOT, "events/catalog_models.c"), re.M)[1].split()
    return [option for option in options if option.partition("=")[0] not in names | {f"UPMU_EVENTS_{model}" for model in models}]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--unknown"]:
        print(" ".join(unknown(sys.argv[2:])))
    else:
        print(version() if sys.argv[1:] == ["--version"] else "\n".join(sources(*sys.argv[1:])))
