#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Boot the library on QEMU's Arm and RISC-V machines, and read what tests/foreign/main.c says there.

Each instruction is a nanosecond (-icount), so that a boot is the same each time.  foreign.mk names the machines that are
built (FOREIGN_NOW), and what others want (FOREIGN_MISSING, as machine:what): these are skipped by name and counted, in
`make test` too.  The rest is left for `make soak`.
"""
import concurrent.futures
import os
import re
import subprocess
import sys

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
import closure  # noqa: E402
import tokens  # noqa: E402

LIMIT_S = int(os.environ.get("FOREIGN_LIMIT_S", "120"))
ARM = ["qemu-system-aarch64", "-kernel", "build/foreign/aarch64.elf"]
ARM32 = ["qemu-system-arm", "-kernel", "build/foreign/arm.elf"]
RISCV = {bits: [f"qemu-system-riscv{bits}", "-M", "virt", "-bios", "none", "-kernel", f"build/foreign/riscv{bits}.elf"]
         for bits in (64, 32)}
RISCV_S = {bits: [f"qemu-system-riscv{bits}", "-M", "virt", "-bios", firmware, "-kernel", f"build/foreign/riscv{bits}_s.elf"]
           for bits, firmware in ((64, "default"), (32, os.environ.get("FOREIGN_OPENSBI_32", "default")))}
BOOTS = {
    **{f"{cpu}_{level}": ARM + ["-M", f"virt{option}", "-cpu", model]
       for cpu, model in (("a53", "cortex-a53"), ("a57", "cortex-a57"), ("n1", "neoverse-n1"), ("max", "max"))
       for level, option in (("el1", ""), ("el2", ",virtualization=on"))},
    **{name: ARM32 + ["-M", f"virt{option}", "-cpu", model]
       for name, model, option in (("a15_svc", "cortex-a15", ""), ("a15_hyp", "cortex-a15", ",virtualization=on"),
                                   ("a7_svc", "cortex-a7", ""), ("a7_hyp", "cortex-a7", ",virtualization=on"),
                                   ("max32_svc", "max", ""))},
    "riscv64_m": RISCV[64] + ["-cpu", "rv64,pmu-num=16,sscofpmf=on"],
    "riscv64_m_29_counters": RISCV[64] + ["-cpu", "rv64,pmu-num=29,sscofpmf=on"],
    "riscv32_m": RISCV[32] + ["-cpu", "rv32,pmu-num=16,sscofpmf=on"],
    "riscv64_s": RISCV_S[64] + ["-cpu", "rv64,pmu-num=16,sscofpmf=on"],
    "riscv64_s_4_counters": RISCV_S[64] + ["-cpu", "rv64,pmu-num=4,sscofpmf=on"],
    "riscv64_s_no_overflows": RISCV_S[64] + ["-cpu", "rv64,pmu-num=16,sscofpmf=off"],
    "riscv32_s": RISCV_S[32] + ["-cpu", "rv32,pmu-num=16,sscofpmf=on"],
    "riscv64_m_no_overflows": RISCV[64] + ["-cpu", "rv64,pmu-num=16,sscofpmf=off"],
    "riscv32_m_no_overflows": RISCV[32] + ["-cpu", "rv32,pmu-num=16,sscofpmf=off"],
}
# The catalogue that a CPU finds, by the begin of a boot's name.
CATALOGUES = {"a53": "cortex_a53", "a57": "cortex_a57", "n1": "neoverse_n1", "max32": "cortex_a57",
              "max": "armv8_pmuv3", "a15": "cortex_a15", "a7": "cortex_a7", "riscv": "riscv_sbi"}
NOW = os.environ.get("FOREIGN_NOW", "aarch64 arm riscv32 riscv32_s riscv64 riscv64_s").split()
HELP = {"riscv32_s": "docs/riscv.md"}
MISSING = os.environ.get("FOREIGN_MISSING", "").split()
LINE = re.compile(r"^\[\s*(OK|FAILED|SKIPPED)\s*\] (\S+)")
COMMON = ["-m", "64", "-nic", "none", "-nographic", "-serial", "none", "-monitor", "none", "-icount", "shift=0",
          "-semihosting-config", "enable=on,target=native"]


def boot(name):
    """Lines of results, and what else the machine said."""
    command = BOOTS[name] + COMMON
    machine = os.path.splitext(os.path.basename(command[command.index("-kernel") + 1]))[0]
    wants = [what.partition(":")[2] for what in MISSING if what.startswith(machine + ":")]
    if wants:
        return [f"[  SKIPPED ] {name}: no {' '.join(wants)} ({HELP.get(machine, 'make deps-foreign')})"], []
    if machine not in NOW:
        return [], [f"    {name}: left for make soak"]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                              timeout=LIMIT_S, check=False)
        output, end = done.stdout.decode(errors="replace"), done.returncode
    except subprocess.TimeoutExpired as late:
        output, end = (late.stdout or b"").decode(errors="replace"), "late"
    results, others = [], []
    for line in output.splitlines():
        match = LINE.match(line)
        if match:
            results.append(f"[{'       OK ' if match[1] == 'OK' else '  ' + match[1] + '  ' if match[1] == 'FAILED' else '  SKIPPED '}] "
                           f"{name}: {match[2]}")
        else:
            others.append(f"    {name}: {line.strip()}")
    wanted = next(CATALOGUES[begin] for begin in CATALOGUES if name.startswith(begin))
    found = re.search(r"; events: (\w+);", output)
    fine = found and found[1] == wanted and ("Arm PMUv2" in output) == name.startswith(("a15", "a7"))
    results.append(f"[{'       OK ' if fine else '  FAILED  '}] {name}: events_are_those_of_the_cpu")
    if not re.search(r"^\d+ passed, 0 failed$", output, re.M) or end != 0:
        results.append(f"[  FAILED  ] {name}: ends well (it ended with {end})")
    return results, others


def main():
    wanted = [name for name in BOOTS if all(word in name for word in sys.argv[1:])]
    with concurrent.futures.ThreadPoolExecutor(tokens.JOBS) as pool:
        done = list(pool.map(boot, wanted))
    for machine in [] if sys.argv[1:] else sorted(set(NOW) & set(closure.NM)):
        wrong = closure.complaint("build/foreign", machine)
        done.append(([f"[{'  FAILED  ' if wrong else '       OK '}] {machine}: the_library_needs_four_functions_from_outside"],
                     [f"    {wrong}"] * bool(wrong)))
    passed = failed = 0
    for results, others in done:
        print("\n".join(others + results))
        passed += sum(line.startswith("[       OK") for line in results)
        failed += sum(line.startswith("[  FAILED") for line in results)
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
