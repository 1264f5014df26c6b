#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The PMU extension of the SBI in a firmware (examples/sbi_firmware) on QEMU's RISC-V: a program in S-mode makes each call,
and counts loops of known length.

SBI_MISSING has what is not installed (examples/sbi_firmware/sbi_firmware.mk).  Each instruction is a nanosecond (-icount).
"""
import concurrent.futures
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import tokens  # noqa: E402

LIMIT_S = int(os.environ.get("FOREIGN_LIMIT_S", "120"))
CPUS = {"16_counters": "rv64,pmu-num=16,sscofpmf=on", "29_counters": "rv64,pmu-num=29,sscofpmf=on",
        "4_counters_no_sstc": "rv64,pmu-num=4,sscofpmf=on,sstc=off", "no_overflows": "rv64,pmu-num=16,sscofpmf=off"}
LINES = {"16_counters": 13, "29_counters": 13, "4_counters_no_sstc": 13, "no_overflows": 12}
QEMU = ["qemu-system-riscv64", "-M", "virt", "-m", "64", "-nic", "none", "-nographic", "-monitor", "none", "-icount", "shift=0",
        "-bios", "build/sbi_firmware/firmware.elf"]


def boot(name):
    """Lines of results, and what else the program said."""
    try:
        done = subprocess.run([*QEMU, "-cpu", CPUS[name], "-kernel", "build/sbi_firmware/caller.elf"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=LIMIT_S, check=False)
        output, end = done.stdout.decode(errors="replace"), done.returncode
    except subprocess.TimeoutExpired as late:
        output, end = (late.stdout or b"").decode(errors="replace"), "late"
    lines = [re.sub(r"^(\[.{10}\]) ", rf"\1 sbi_{name}: ", line) for line in output.splitlines() if line.strip()]
    results = [line for line in lines if line.startswith("[")]
    if end != 0 or not re.search(rf"^{LINES[name]} passed, 0 failed$", output, re.M) or len(results) != LINES[name]:
        lines.append(f"[  FAILED  ] sbi_{name}: it ended with {end}")
    return [line for line in lines if not re.match(r"\d+ passed", line)]


def main():
    missing = [what.partition(":")[2] for what in os.environ.get("SBI_MISSING", "").split()]
    lines = [f"[  SKIPPED ] the SBI's PMU in a firmware: no {' '.join(missing)} (make deps-foreign)"] if missing else []
    if not missing:
        with concurrent.futures.ThreadPoolExecutor(tokens.JOBS) as pool:
            lines = [line for result in pool.map(boot, CPUS) for line in result]
    passed, failed = (sum(line.startswith(mark) for line in lines) for mark in ("[       OK", "[  FAILED"))
    print("\n".join([*lines, f"{passed} passed, {failed} failed"]))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
