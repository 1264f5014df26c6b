#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The PMU extension of the SBI in a firmware (examples/sbi_firmware) on QEMU's RISC-V, of 64 and of 32 bits: a program in S-mode
makes each call, and counts loops of known length; the library counts and samples there by port/riscv_sbi, with the tests that it
has on OpenSBI (tests/foreign/main.c).

SBI_MISSING has what is not installed (examples/sbi_firmware/sbi_firmware.mk).  Each instruction is a nanosecond (-icount).
    test_sbi_firmware.py [WORD...]    boots with all of these words in their names
"""
import concurrent.futures
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import tokens  # noqa: E402

LIMIT_S = int(os.environ.get("FOREIGN_LIMIT_S", "120"))
# name: (bits, CPU, program in S-mode, its lines of results)
CALLER, LIBRARY = "build/sbi_firmware/caller{}.elf", "build/foreign/riscv{}_s.elf"
BOOTS = {"16_counters": (64, "pmu-num=16,sscofpmf=on", CALLER, 13), "29_counters": (64, "pmu-num=29,sscofpmf=on", CALLER, 13),
         "4_counters_no_sstc": (64, "pmu-num=4,sscofpmf=on,sstc=off", CALLER, 13),
         "no_overflows": (64, "pmu-num=16,sscofpmf=off", CALLER, 12),
         "rv32_16_counters": (32, "pmu-num=16,sscofpmf=on", CALLER, 13),
         "rv32_4_counters_no_sstc": (32, "pmu-num=4,sscofpmf=on,sstc=off", CALLER, 13),
         "rv32_no_overflows": (32, "pmu-num=16,sscofpmf=off", CALLER, 12),
         "library_4_counters": (64, "pmu-num=4,sscofpmf=on", LIBRARY, 32),
         "library_16_counters": (64, "pmu-num=16,sscofpmf=on", LIBRARY, 31),
         "library_29_counters": (64, "pmu-num=29,sscofpmf=on", LIBRARY, 31),
         "library_no_overflows": (64, "pmu-num=16,sscofpmf=off", LIBRARY, 26),
         "library_rv32": (32, "pmu-num=16,sscofpmf=on", LIBRARY, 31)}
QEMU = ["-M", "virt", "-m", "64", "-nic", "none", "-nographic", "-monitor", "none", "-icount", "shift=0"]


def command(name):
    bits, cpu, program, _lines = BOOTS[name]
    suffix = "32" if bits == 32 else ""
    output = [] if program == CALLER else ["-serial", "none", "-semihosting-config", "enable=on,target=native"]
    return [f"qemu-system-riscv{bits}", *QEMU, *output, "-cpu", f"rv{bits},{cpu}", "-bios", f"build/sbi_firmware/firmware{suffix}.elf",
            "-kernel", program.format(suffix if program == CALLER else bits)]


def boot(name):
    """Lines of results, and what else the program said."""
    try:
        done = subprocess.run(command(name), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                              timeout=LIMIT_S, check=False)
        output, end = done.stdout.decode(errors="replace"), done.returncode
    except subprocess.TimeoutExpired as late:
        output, end = (late.stdout or b"").decode(errors="replace"), "late"
    lines = [re.sub(r"^(\[.{10}\]) ", rf"\1 sbi_{name}: ", line) for line in output.splitlines() if line.strip()]
    results = [line for line in lines if line.startswith("[")]
    if end != 0 or not re.search(r"^\d+ passed, 0 failed$", output, re.M) or len(results) != BOOTS[name][3]:
        lines.append(f"[  FAILED  ] sbi_{name}: it ended with {end}, {len(results)} results")
    return [line for line in lines if not re.match(r"\d+ passed", line)]


def main():
    missing = [what.partition(":")[2] for what in os.environ.get("SBI_MISSING", "").split()]
    lines = [f"[  SKIPPED ] the SBI's PMU in a firmware: no {' '.join(missing)} (make deps-foreign)"] if missing else []
    if not missing:
        with concurrent.futures.ThreadPoolExecutor(tokens.JOBS) as pool:
            names = [name for name in BOOTS if all(word in name for word in sys.argv[1:])]
            lines = [line for result in pool.map(boot, names) for line in result]
    passed, failed = (sum(line.startswith(mark) for line in lines) for mark in ("[       OK", "[  FAILED"))
    print("\n".join([*lines, f"{passed} passed, {failed} failed"]))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
