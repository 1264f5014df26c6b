#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write the crates of bindings/rust with the C sources in them, and package them: what can be vendored, or published.

Usage: crates.py FOLDER   FOLDER/upmu-sys, FOLDER/upmu and, where cargo is (CARGO names it), FOLDER/NAME-VERSION.crate
"""
import glob
import os
import shutil
import subprocess
import sys

from sources import ROOT

CRATES = ("upmu-sys", "upmu")
# Beside the folders of upmu.mk's patterns: headers, the list itself, and what the features `guest` and `sim` compile.
COPIED = ("upmu.mk", "LICENSE", "include", "core", "backends", "events", "abi/guest", "models/sim")


def copy(source, target):
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.isdir(source):
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.tsv", "target", "__pycache__"))
    else:
        shutil.copy(source, target)


def main(folder):
    folder = os.path.abspath(folder)
    shutil.rmtree(folder, ignore_errors=True)
    for name in CRATES:
        copy(os.path.join(ROOT, "bindings/rust", name), os.path.join(folder, name))
        copy(os.path.join(ROOT, "LICENSE"), os.path.join(folder, name, "LICENSE"))
    for path in COPIED:
        copy(os.path.join(ROOT, path), os.path.join(folder, "upmu-sys/upmu", path))
    cargo = shutil.which(os.environ.get("CARGO", "cargo"))
    # A registry would be asked for the crate that the other one needs.
    here = f"patch.crates-io.upmu-sys.path = '{folder}/upmu-sys'"
    for name in CRATES if cargo else ():
        # (Not verified: that builds the crate.)
        subprocess.run([cargo, "package", "--config", here, "--offline", "--quiet", "--allow-dirty", "--no-verify", "--manifest-path",
                        os.path.join(folder, name, "Cargo.toml"), "--target-dir", os.path.join(folder, "target")], check=True)
    for path in glob.glob(os.path.join(glob.escape(folder), "target/package/*.crate")):
        shutil.move(path, folder)
    shutil.rmtree(os.path.join(folder, "target"), ignore_errors=True)
    print(f"{folder} holds the crates" if cargo else f"{folder} holds the crates' folders; cargo, which packs them, is not installed")


if __name__ == "__main__":
    main(*sys.argv[1:])
