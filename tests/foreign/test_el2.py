#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A guest at EL1 of examples/el2_hypervisor on QEMU's AArch64 has a PMU that counts, interrupts and refuses as PMUv3 does.

The guest (guest_main.c there) writes the registers itself.  QEMU counts each instruction that traps once before it traps, and the
hypervisor counts it once more: of the two writes around a loop the first is counted by the hypervisor alone, the second by
QEMU alone.  EL2_MISSING names what is not installed.
"""
import concurrent.futures
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import tokens  # noqa: E402

LIMIT_S = int(os.environ.get("FOREIGN_LIMIT_S", "120"))
MACHINE = ["qemu-system-aarch64", "-M", "virt,virtualization=on,gic-version=3,highmem=off", "-m", "256", "-nic", "none",
           "-icount", "shift=0", "-display", "none", "-serial", "stdio", "-monitor", "none"]
HYPERVISOR = ["-kernel", "build/el2/el2.bin"]
GUEST_AT = "0x41200000"
# CPU: (version of the PMU, event counters)
CPUS = {"cortex-a53": (1, 6), "cortex-a57": (1, 6), "neoverse-n1": (4, 6), "max": (6, 6)}


class Boot:
    def __init__(self, cpu):
        self.version, self.counters = CPUS[cpu]
        done = subprocess.run([*MACHINE, "-cpu", cpu, *HYPERVISOR, "-device", f"loader,file=build/el2/guest.bin,addr={GUEST_AT},force-raw=on"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=LIMIT_S, check=False)
        self.code, self.said = done.returncode, done.stdout.decode(errors="replace")

    def number(self, what):
        return int(re.search(rf"^guest: {re.escape(what)} (\d+)\r?$", self.said, re.M)[1])


def the_guest_has_the_pmu_of_its_cpu(boot):
    return boot.number("version") == boot.version and boot.number("event counters") == boot.counters


def a_loop_counts_exactly(boot):
    """N turns of two instructions, two barriers, and one for each of the writes that open and close."""
    return all(boot.number(f"instructions of {turns} turns") == 2 * turns + 2 + 2 for turns in (1000, 101000))


def cycles_are_those_of_the_guest_alone(boot):
    """A cycle each; of the write that opens, which the hypervisor executes, none."""
    return all(boot.number(f"cycles of {turns} turns") == 2 * turns + 2 + 1 for turns in (1000, 101000))


def what_el0_alone_counts_is_not_el1(boot):
    return boot.number("instructions at EL0") == 0


def each_overflow_is_an_interrupt(boot):
    """A hundred loops of 2,004 instructions: an overflow each 20,000, and what the handler executes."""
    return 10 <= boot.number("interrupts") <= 11 and boot.number("other interrupts") == 0 and \
        boot.number("flags that no interrupt cleared") == 0


def a_counter_that_is_not_there_is_undefined(boot):
    return boot.number("undefined accesses") == 1


def pmuserenr_decides_about_el0(boot):
    return boot.number("EL0 is trapped") == 1 and boot.number("EL0 reads") == 1234


def the_hypervisor_ends_well(boot):
    return boot.code == 0 and re.search(r"^el2: interrupts of the PMU 0*a\r?$", boot.said, re.M)


TESTS = [the_guest_has_the_pmu_of_its_cpu, a_loop_counts_exactly, cycles_are_those_of_the_guest_alone,
         what_el0_alone_counts_is_not_el1, each_overflow_is_an_interrupt, a_counter_that_is_not_there_is_undefined,
         pmuserenr_decides_about_el0, the_hypervisor_ends_well]


def report(results, said):
    """Print cmocka's lines; returns how many failed."""
    for name, good, trouble in results:
        print(f"[{'       OK' if good else '  FAILED '} ] {name}")
        if trouble:
            print(f"    {trouble}")
    if not all(good for _, good, _ in results):
        print("\n".join("    " + line for line in said.splitlines()))
    return sum(not good for _, good, _ in results)


def attempt(test, *arguments):
    """(does it pass, what went wrong on the way)"""
    try:
        return bool(test(*arguments)), ""
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        return False, repr(error)


def main():
    missing = os.environ.get("EL2_MISSING", "").replace("arm64:", "").split()
    if missing:
        print(f"[  SKIPPED ] el2: no {' '.join(missing)} (make deps-foreign)\n0 passed, 0 failed")
        return 0
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(tokens.JOBS) as pool:
        for cpu, boot in zip(CPUS, pool.map(Boot, CPUS)):
            failed += report([(f"el2_{cpu}: {test.__name__}", *attempt(test, boot)) for test in TESTS], boot.said)
    print(f"{len(CPUS) * len(TESTS) - failed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
