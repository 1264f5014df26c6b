#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
What `make demo-bios` shows: the example kernel, 32-bit, booted by QEMU on the identity
of a Pentium 4 (Prescott), with the demo's commands; and how to boot it on a real one.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import machine  # noqa: E402

COMMANDS = "info; stat -r 5 mix; stat -e instructions,cycles,branches,branch-misses branches; " \
    "record -e cycles -c 10000 mix; list *branch*; encode p4-branch-retired,mask=mmtm+mmnm,os,usr; " \
    "place branches branch-misses instructions cycles; probe; selftest; off"

ON_A_REAL_ONE = """
QEMU has no performance counters: what you saw beyond the first lines is a simulated CPU.
On a real machine, for example a Pentium 4 with a BIOS:

    GRUB        copy build/kernel/upmu32.elf to /boot; at GRUB's prompt (c):
                    multiboot /boot/upmu32.elf info \\; selftest
                    boot
    CD or USB   make -C examples/kernel iso      build/kernel/upmu.iso, with GRUB on it
    USB alone   make -C examples/kernel images   build/kernel/upmu32.img; write it to a stick

It talks on the VGA text screen and on COM1 (115200 8n1), and listens to a PS/2 keyboard
(USB ones as far as the BIOS passes them off as that) and COM1.  docs/DEMO.md has more.
"""


def main():
    try:
        status, text = machine.run(machine.kernel("upmu32.elf", "debug-exit " + COMMANDS), machine.PENTIUM_4)
    except FileNotFoundError:
        print("demo-bios: qemu-system-x86_64 is not installed (make deps)", file=sys.stderr)
        return 3
    print(text)
    if status != machine.LEFT_WELL:
        print(f"demo-bios: QEMU ended with {status}", file=sys.stderr)
        return 1
    print(ON_A_REAL_ONE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
