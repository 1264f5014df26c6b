#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The demos on machines whose PMU others made: the UEFI demo under EDK II, AArch64.

What a loop must count is known by its text: an iteration of `spin` is 2 instructions, one of `memcpy` 6, and QEMU has a
cycle of a nanosecond for each (-icount shift=0).  DEMO_ARM_MISSING names what is not installed (efi-demo/demo.mk).
"""
import os
import re
import shutil
import subprocess
import sys

SCRIPT = "tests/demo/test-arm64.cmd"
PERIOD = 20000
# (folder, CPU, options of QEMU's machine)
EFI_BOOTS = {"el1": ("cortex-a57", ""), "el2_gicv3": ("max", ",virtualization=on,gic-version=3")}


class Boot:
    def __init__(self, name):
        cpu, machine = EFI_BOOTS[name]
        self.folder = f"build/demo/arm64/{name}"
        os.makedirs(self.folder, exist_ok=True)
        shutil.copy("build/demo/arm64/upmu.efi", self.folder)
        done = subprocess.run(["tests/demo/run-demo.sh", "script", "arm64", f"{self.folder}/upmu.efi", SCRIPT],
                              env=dict(os.environ, DEMO_CPU=cpu, DEMO_MACHINE=machine, DEMO_TIMEOUT="300"),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.ended_well, self.said = done.returncode == 0, done.stdout.decode(errors="replace")
        with open(f"{self.folder}/serial.txt", errors="replace") as file:
            self.text = file.read().partition("\nupmu demo, arm64\n")[2]
        pieces = self.text.split("\nupmu> ")
        self.greeting = pieces[0]
        self.screens = [(piece.partition("\n")[0], piece) for piece in pieces[1:]]

    def screen(self, command):
        return next(text for line, text in self.screens if line == command)

    def count(self, command, event):
        return int(re.search(rf"^ +([\d,]+)  {event}\b", self.screen(command), re.M)[1].replace(",", ""))

    def file(self, name):
        with open(f"{self.folder}/out/{name}") as file:
            return [line.split() for line in file if not line.startswith("#")]


def runs_its_script_and_switches_off(boot):
    return boot.ended_well


def no_screen_but_the_simulators_says_simulated(boot):
    return "SIMULATED" not in boot.greeting and \
        ["SIMULATED" in text for _, text in boot.screens] == ["--sim" in line for line, _ in boot.screens]


def finds_the_pmu_and_its_interrupts(boot):
    return "PMU: Arm PMUv3" in boot.greeting and "Port: interrupts by the firmware" in boot.greeting and \
        "Probe        interrupts" in boot.screen("info") and "CYCLE0            64" in boot.screen("info")


def loops_differ_by_their_length(boot):
    def differences(loop):
        return [boot.count(f"stat -n 101000 -e instructions,cycles {loop}", event) -
                boot.count(f"stat -n 1000 -e instructions,cycles {loop}", event) for event in ("instructions", "cycles")]
    return differences("spin") == [200000, 200000] and differences("memcpy") == [600000, 600000]


def a_sample_for_each_period(boot):
    """What was counted while nothing sampled, and half as much again for interrupts and polls, at most."""
    loop = 2 * 1000000
    for event, name in ("cycles", "cycles.txt"), ("instructions", "counted.txt"):
        screen = boot.screen(f"record -e {event} -c {PERIOD} -o {name} spin")
        told = int(re.search(rf"^ (\d+) samples of {event} every 20,000", screen, re.M)[1])
        if not (loop / PERIOD <= told <= 1.5 * loop / PERIOD and len(boot.file(name)) == told and "were due" not in screen):
            return False
    return True


def samples_of_cycles_lie_in_the_loop(boot):
    rows = boot.file("cycles.txt")
    inside = sum(row[1].startswith("spin+") for row in rows)
    return 100 - 5 <= inside <= 100 + 25 and {row[1] for row in rows if row[1] != "?"} == {"spin+0x0", "spin+0x4"}


def top_shows_the_loop(boot):
    return re.search(r"^ +\d+ +(8|9)\d\.\d%  branches", boot.screen("top -r 1 branches"), re.M) is not None


def passes_its_selftest(boot):
    page = boot.screen("selftest")
    return re.search(r"^1[4-9] passed, 0 failed", page, re.M) and "of a SIMULATED" not in page and \
        re.search(r"interrupts: 5\d handled, 0 stale, 0 not ours", page)


def stores_its_page(boot):
    with open(f"{boot.folder}/out/upmu-01.txt") as file:
        page = file.read()
    return "PMU: Arm PMUv3" in page and "Firmware: EDK II" in page and re.search(r"^1[4-9] passed, 0 failed", page, re.M)


EFI_TESTS = [runs_its_script_and_switches_off, no_screen_but_the_simulators_says_simulated, finds_the_pmu_and_its_interrupts,
             loops_differ_by_their_length, a_sample_for_each_period, samples_of_cycles_lie_in_the_loop, top_shows_the_loop,
             passes_its_selftest, stores_its_page]


def main():
    passed = failed = 0
    missing = os.environ.get("DEMO_ARM_MISSING", "")
    if missing:
        print(f"[  SKIPPED ] demo_efi_arm: no {missing} (make deps-demo-arm)")
    for name in [] if missing else EFI_BOOTS:
        boot = Boot(name)
        for test in EFI_TESTS:
            try:
                good = test(boot)
            except (AttributeError, OSError, StopIteration, TypeError) as error:
                good = False
                print(f"    {test.__name__}: {error!r}")
            passed, failed = passed + bool(good), failed + (not good)
            print(f"[{'       OK' if good else '  FAILED '} ] demo_efi_arm_{name}: {test.__name__}")
        if failed:
            print(boot.said)
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
