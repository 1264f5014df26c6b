# SPDX-License-Identifier: MIT
"""What the library's objects for a foreign machine need from outside: the four functions of memory, nothing else.

    closure.py FOLDER MACHINE...    those that foreign.mk made below FOLDER
"""
import glob
import subprocess
import sys

NM = {"aarch64": "aarch64-linux-gnu-nm", "arm": "build/foreign/usr/bin/arm-none-eabi-nm",
      "riscv32": "riscv64-unknown-elf-nm", "riscv64": "riscv64-unknown-elf-nm"}
ALLOWED = {"memcpy", "memmove", "memset", "memcmp"}
# RV32 has no shift of 64 bits by a variable; the compiler's library has.
MORE = {"riscv32": {"__ashldi3", "__lshrdi3"}}


def needed(folder, machine):
    """Names that no object of the library defines; how many objects there are."""
    objects = [path for part in ("core", "backends", "port", "models", "events")
               for path in glob.glob(f"{folder}/{machine}/{part}/**/*.o", recursive=True)]
    listed = subprocess.run([NM[machine], "-g", *objects], stdout=subprocess.PIPE, check=True, text=True).stdout
    fields = [line.split() for line in listed.splitlines() if line and not line.endswith(":")]
    defined = {words[-1] for words in fields if words[-2] != "U"}
    return {words[-1] for words in fields} - defined, len(objects)


def complaint(folder, machine):
    """What is wrong, as a text; empty if nothing is."""
    names, count = needed(folder, machine)
    names -= ALLOWED | MORE.get(machine, set())
    return f"{machine}: {' '.join(sorted(names))}" if names else "" if count > 50 else f"{machine}: {count} objects"


def main():
    folder, machines = sys.argv[1], sys.argv[2:]
    wrong = [text for text in (complaint(folder, machine) for machine in machines) if text]
    print("\n".join(wrong + [f"{len(machines) - len(wrong)} passed, {len(wrong)} failed"]))
    return len(wrong) != 0


if __name__ == "__main__":
    sys.exit(main())
