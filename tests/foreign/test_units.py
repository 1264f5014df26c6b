#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Boot unit programs, made for other processors (FOREIGN_UNITS of foreign.mk), on QEMU's machines: they pass as they are."""
import concurrent.futures
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import tokens  # noqa: E402

LIMIT_S = int(os.environ.get("FOREIGN_LIMIT_S", "600"))
MACHINES = {"aarch64": ["qemu-system-aarch64", "-M", "virt", "-cpu", "cortex-a57"],
            "riscv32": ["qemu-system-riscv32", "-M", "virt", "-cpu", "rv32", "-bios", "none"]}
COMMON = ["-m", "128", "-nic", "none", "-nographic", "-serial", "none", "-monitor", "none",
          "-semihosting-config", "enable=on,target=native"]


def boot(path):
    """Results of one program, and what else it said."""
    machine = path.split("/")[-2]
    name = f"{machine}: {os.path.splitext(os.path.basename(path))[0]}"
    try:
        done = subprocess.run([*MACHINES[machine], *COMMON, "-kernel", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, timeout=LIMIT_S, check=False)
        output, end = done.stdout.decode(errors="replace"), done.returncode
    except subprocess.TimeoutExpired as late:
        output, end = (late.stdout or b"").decode(errors="replace"), "late"
    found = re.search(r"^(\d+) passed, 0 failed\r?$", output, re.M)
    if found and int(found[1]) and end == 0:
        skipped = [f"[  SKIPPED ] {name}: {test}" for test in re.findall(r"^\[  SKIPPED \] (\w+)", output, re.M)]
        return [*skipped, f"[       OK ] {name} ({found[1]} tests)"]
    return [*output.splitlines()[-20:], f"[  FAILED  ] {name}: it ended with {end}"]


def main():
    programs = os.environ.get("FOREIGN_UNITS", "").split()
    missing = [what.partition(":") for what in os.environ.get("FOREIGN_MISSING", "").split()]
    lines = [f"[  SKIPPED ] unit programs of {machine}: no {what} (make deps-foreign)" for machine, _, what in missing
             if machine in MACHINES]
    with concurrent.futures.ThreadPoolExecutor(tokens.JOBS) as pool:
        lines += [line for result in pool.map(boot, programs) for line in result]
    failed = sum(line.startswith("[  FAILED") for line in lines)
    print("\n".join([*lines, f"{len(programs) - failed} passed, {failed} failed"]))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
