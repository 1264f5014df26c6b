#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does a boot of tests/foreign notice each change of tests/foreign/mutants.tsv?  A few boots, in a copy of the tree.

A row with "demo" behind it is a change that the tests of examples/virt's kernels have to notice, with "el2" those of the
guest of examples/el2_hypervisor, with "sbi" those of what runs on examples/sbi_firmware; with "el2_linux" and "sbi_linux"
those of an unmodified Linux on the two: the kernel that test-foreign or `make soak` has left below build/foreign.
    mutants.py [WORD...]    rows with one of these words in their last columns
MUTANT_STATE names a file of what earlier runs have noticed (tests/mutants/judged.py): a row counts while the changed text, the
programs without the change and the script that boots them are the same.
"""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "mutants"))
import judged  # noqa: E402

TREE = "build/foreign/mutants"
PARTS = ("backends", "core", "events", "include", "models", "port", "tests/common", "tests/foreign", "examples/virt",
         "examples/device_tree", "examples/el2_hypervisor", "examples/sbi_firmware", "abi/guest", "abi/sbi", "tools")
FILES = ("Makefile", "tests/tokens.py", "upmu.mk")
BOOTS = ("a57_el1", "max_el2", "a15_hyp", "riscv64_m_29_counters", "riscv64_s_4_counters", "riscv64_s_no_overflows")
MACHINES = ("aarch64", "arm", "riscv64")
IMAGES = tuple(f"build/foreign/{machine}.elf" for machine in MACHINES + ("riscv64_s",))


# Kind of a row: what makes its programs, and what runs them.
KINDS = {"demo": (("make", "-s", "-j2", "-C", "examples/virt"), ("tests/foreign/test_demos.py", "kernels")),
         "el2": (("make", "-s", "-j2", "-C", "examples/el2_hypervisor"), ("tests/foreign/test_el2.py",)),
         "sbi": (("make", "-s", "-j2", "build/sbi_firmware/firmware.elf", "build/foreign/riscv64_s.elf"),
                 ("tests/foreign/test_sbi_firmware.py", "library_16_counters"))}
KINDS["el2_linux"] = (KINDS["el2"][0], ("tests/foreign/test_el2_linux.py",))
KINDS["sbi_linux"] = (("make", "-s", "-j2", "build/sbi_firmware/firmware.elf"), ("tests/foreign/test_sbi_linux.py",))
# What a kind needs and does not make: the kernels and their first program.
THERE = {"el2_linux": ("build/foreign/arm64/boot/vmlinuz", "build/foreign/el2_init"), "sbi_linux": ("build/foreign/linux/init",)}
# What these make, of which a kind's verdicts are.
MADE = {"": IMAGES, "demo": ("build/virt/upmu-arm64.elf", "build/virt/upmu-riscv64.elf"),
        "el2": ("build/el2/el2.bin", "build/el2/guest.bin"),
        "sbi": ("build/sbi_firmware/firmware.elf", "build/foreign/riscv64_s.elf"),
        "el2_linux": ("build/el2/el2.bin",), "sbi_linux": ("build/sbi_firmware/firmware.elf",)}


def run(*command):
    environment = dict(os.environ, FOREIGN_LIMIT_S="40")
    return subprocess.run(command, cwd=TREE, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                          encoding="utf-8", errors="replace")


def make(kind):
    done = run(*(KINDS[kind][0] if kind else ("make", "-j2", *IMAGES)))
    return done.returncode == 0, done.stdout


def copy_tree(machines):
    shutil.rmtree(TREE, ignore_errors=True)
    for part in PARTS:
        shutil.copytree(part, os.path.join(TREE, part), symlinks=True)
    for name in FILES:
        shutil.copy(name, os.path.join(TREE, name))
    # (With its objects: what is not changed is not compiled.)
    for machine in machines:
        shutil.copytree(f"build/foreign/{machine}", os.path.join(TREE, f"build/foreign/{machine}"))
    os.makedirs(os.path.join(TREE, "build/foreign"), exist_ok=True)
    for name in "usr", "arm64", "el2_init", "linux":
        os.symlink(os.path.abspath(f"build/foreign/{name}"), os.path.join(TREE, "build/foreign", name))


def notices(kind):
    """The first boot that fails, or None."""
    if kind:
        done = run(sys.executable, *KINDS[kind][1])
        failed = [line.partition("] ")[2] for line in done.stdout.splitlines() if line.startswith("[  FAILED")]
        return failed[0] if failed else f"it ended with {done.returncode}" if done.returncode else None
    for name in BOOTS:
        done = run(sys.executable, "tests/foreign/test_foreign.py", name)
        if done.returncode:
            return name
    return None


def script_of(kind):
    return KINDS[kind][1][0] if kind else "tests/foreign/test_foreign.py"


def mark_of(made, row, text):
    """The hash of a mutant: what it changes, and what its boots are made of without it."""
    return judged.digest(*made, row[0], text, "".join(row[4:]))


def main():
    known = judged.Judged()
    with open("tests/foreign/mutants.tsv", encoding="ascii") as table:
        rows = [line.rstrip("\n").split("\t") for line in table if not line.startswith("#")]
    rows = [row for row in rows if not sys.argv[1:] or any(word in " ".join(row[3:]) for word in sys.argv[1:])]
    for kind, path in [(kind, path) for kind, paths in THERE.items() for path in paths if not os.path.exists(path)]:
        skipped = [row for row in rows if row[4:] == [kind]]
        rows = [row for row in rows if row not in skipped]
        for row in skipped:
            print(f"[  SKIPPED ] {row[3]} ({row[0]}): no {path}")
    kinds = sorted({"".join(row[4:]) for row in rows})
    missing = [image for image in IMAGES if not os.path.exists(image)] if "" in kinds else []
    if missing:
        print(f"[  SKIPPED ] mutants of the foreign machines: no {missing[0]}\n0 passed, 0 failed")
        return 0
    copy_tree(MACHINES if "" in kinds else ("riscv64",) if "sbi" in kinds else ())
    made = {}
    for kind in kinds:
        fine, output = make(kind)
        if not fine:
            print(f"{output}\n[  FAILED  ] the library as it is can be made\n0 passed, 1 failed")
            return 1
        made[kind] = [judged.digest_file(os.path.join(TREE, path)) for path in MADE[kind]]
    passed = failed = 0
    booted = set()  # kinds whose programs have passed without a change
    for row in rows:
        path, text, replacement, why, *rest = row
        kind = "".join(rest)
        changed = os.path.join(TREE, path)
        with open(path, encoding="ascii") as source:
            whole = source.read()
        mark = mark_of(made[kind], row, whole.replace(text, replacement))
        if known.killer(mark, {script_of(kind): script_of(kind)}.get):
            passed += 1
            continue
        # Programs of one kind may be of another, too: make those that a mutant has left behind.
        if kind not in booted and (found := notices(kind) if make(kind)[0] else "it cannot be made"):
            print(f"{found}\n[  FAILED  ] the library as it is passes\n0 passed, 1 failed")
            return 1
        booted.add(kind)
        with open(changed, "w", encoding="ascii") as out:
            out.write(whole.replace(text, replacement))
        found = whole.count(text) == 1 and make(kind)[0] and notices(kind)
        if found:
            known.note(mark, script_of(kind), script_of(kind))
        print(f"[{'       OK ' if found else '  FAILED  '}] {why} ({path}){': ' + found if found else ''}", flush=True)
        passed, failed = passed + bool(found), failed + (not found)
        with open(changed, "w", encoding="ascii") as out:
            out.write(whole)
    if known.kept:
        print(f"    {known.kept} of these an earlier run has noticed ({known.path})")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
