#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An unmodified Linux of Debian at EL1 of examples/el2_hypervisor counts as the same Linux does without a hypervisor.

Both boot on QEMU's AArch64, where an instruction is a nanosecond (-icount), with tests/foreign/el2_init.c as the first program.  QEMU
finds few overflows of counters: so counts are compared, and of samples that there are some.  EL2_MISSING names what is not
installed, and the kernel is Debian's package for arm64, which `make deps-linux-arm` unpacks below build/.
"""
import concurrent.futures
import os
import re
import subprocess
import sys

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
import tokens  # noqa: E402
from test_el2 import GUEST_AT, HYPERVISOR, MACHINE, attempt, report  # noqa: E402

LIMIT_S = int(os.environ.get("FOREIGN_LIMIT_S", "240"))
KERNEL = "build/foreign/arm64/boot/vmlinuz"
INIT, INITRD = "build/foreign/el2_init", "build/foreign/el2_initrd"
CPU = ["-cpu", "cortex-a57"]
LINUX = ["-initrd", INITRD, "-append", "console=ttyAMA0"]
BOOTS = {"reference": ["-kernel", KERNEL],
         "guest": [*HYPERVISOR, "-device", f"loader,file={KERNEL},addr={GUEST_AT},force-raw=on"]}


def entry(number, name, data, mode):
    """A file of a cpio archive (newc)."""
    head = b"070701" + b"".join(b"%08x" % value for value in (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0))
    text = head + name.encode() + b"\0"
    text += bytes(-len(text) % 4) + data
    return text + bytes(-len(text) % 4)


def write_initrd():
    with open(INIT, "rb") as file:
        program = file.read()
    with open(INITRD, "wb") as file:
        file.write(entry(1, "init", program, 0o100755) + entry(2, "TRAILER!!!", b"", 0))


class Boot:
    def __init__(self, name):
        done = subprocess.run([*MACHINE, *CPU, *BOOTS[name], *LINUX], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, timeout=LIMIT_S, check=False)
        self.code, self.said = done.returncode, done.stdout.decode(errors="replace")
        self.counts = {name: int(value) for name, value in re.findall(r"^count (\S+) (-?\d+)\r?$", self.said, re.M)}


def linux_finds_the_pmu(reference, guest):
    """With all counters of the host: it has no session beside."""
    line = r"armv8_pmuv3 PMU driver, (\d+) counters available"
    return re.search(line, guest.said)[1] == re.search(line, reference.said)[1] == "7"


def counts_are_those_of_the_reference(reference, guest):
    """What the reference refuses is refused."""
    if reference.counts.keys() != guest.counts.keys() or len(guest.counts) != 5:
        return False
    return all(guest.counts[name] == value if value < 0 else abs(guest.counts[name] - value) <= value / 100
               for name, value in reference.counts.items())


def instructions_of_user_mode_are_equal(reference, guest):
    return 1000000 < guest.counts["instructions:u"] < 1000100 and guest.counts["instructions:u"] == reference.counts["instructions:u"]


def samples_come(reference, guest):
    taken, total = map(int, re.search(r"^samples (\d+) of (\d+)\r?$", guest.said, re.M).groups())
    return 1 <= taken <= 100 and total == int(re.search(r"^samples \d+ of (\d+)\r?$", reference.said, re.M)[1])


def the_interrupt_of_the_pmu_is_counted(reference, guest):
    del reference
    return int(re.search(r"^\s*\d+:\s+(\d+)\s+GICv3\s+23 Level\s+arm-pmu\r?$", guest.said, re.M)[1]) >= 1


def both_switch_off(reference, guest):
    return all(boot.code == 0 and "init: end" in boot.said and "Power down" in boot.said for boot in (reference, guest)) and \
        re.search(r"^el2: interrupts of the PMU 0*[1-9a-f][0-9a-f]*\r?$", guest.said, re.M)


TESTS = [linux_finds_the_pmu, counts_are_those_of_the_reference, instructions_of_user_mode_are_equal, samples_come,
         the_interrupt_of_the_pmu_is_counted, both_switch_off]


def main():
    missing = os.environ.get("EL2_MISSING", "").replace("arm64:", "").split()
    if missing or not os.path.exists(KERNEL):
        print(f"[  SKIPPED ] el2_linux: {f'no {missing[0]} (make deps-foreign)' if missing else 'no kernel (make deps-linux-arm)'}\n"
              "0 passed, 0 failed")
        return 0
    write_initrd()
    with concurrent.futures.ThreadPoolExecutor(min(2, tokens.JOBS)) as pool:
        reference, guest = pool.map(Boot, BOOTS)
    failed = report([(f"el2_linux: {test.__name__}", *attempt(test, reference, guest)) for test in TESTS],
                    f"{reference.said}\n{guest.said}")
    print(f"{len(TESTS) - failed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
