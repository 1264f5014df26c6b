#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Linux counts by perf_event_open on the SBI's PMU of examples/sbi_firmware, as it does on OpenSBI's.

Linux is made of Debian's package linux-source-6.12, whose sources stay as they are, with tinyconfig and sbi_linux.config: once, in
a temporary folder.  Package and image are kept in build/foreign/linux, which `make clean` leaves.  Folders without which Linux
is made are not unpacked.  sbi_linux_init.c is its only
program.  Both firmwares boot the same image, on a CPU with Sscofpmf and on one without; each instruction is a nanosecond
(-icount).  What OpenSBI refuses the other one may refuse, too.  Samples are reported and not compared: QEMU 7.2 notices few
overflows.  In `make soak` only (FOREIGN_RUNS=soak).
"""
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import tokens  # noqa: E402

AT = "build/foreign/linux"
PACKAGE = "linux-source-6.12"
CONFIG, INIT = "tests/foreign/sbi_linux.config", "tests/foreign/sbi_linux_init.c"
COMPILER = "riscv64-linux-gnu-gcc-12"
PROGRAMS = ["qemu-system-riscv64", COMPILER, "apt-get", "dpkg-deb", "make", "flex", "bison", "bc", "xz"]
OPENSBI = "/usr/share/qemu/opensbi-riscv64-generic-fw_dynamic.bin"
FIRMWARES = {"own": "build/sbi_firmware/firmware.elf", "opensbi": OPENSBI}
CPUS = {"sscofpmf": "rv64,pmu-num=16,sscofpmf=on", "no_sscofpmf": "rv64,pmu-num=16,sscofpmf=off,sstc=off"}
LEFT_OUT = [f"*/{folder}/*.[chS]" for folder in ("drivers/gpu", "drivers/net", "drivers/media", "drivers/staging", "drivers/infiniband",
                                                "drivers/scsi", "sound", "fs/xfs", "tools/testing", "arch/arm", "arch/arm64",
                                                "arch/mips", "arch/powerpc", "arch/x86", "arch/sh", "arch/sparc", "arch/m68k")]
LOOP = 10000000
LIMIT_S = 7200


class Skip(Exception):
    """Why there is no Linux."""


# The make that runs this program is none of Linux's.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}


def run(command, limit=LIMIT_S, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=limit,
                          check=False, env=ENVIRONMENT, **options)
    return done.returncode, done.stdout.decode(errors="replace")


def made(command, **options):
    code, output = run(command, **options)
    if code:
        raise Skip(f"{' '.join(command[:4])}: {output.strip()[-400:]}")


def unpack(tree):
    """Debian's sources, by its package."""
    if not glob.glob(f"{AT}/{PACKAGE}_*_all.deb"):
        made(["apt-get", "download", PACKAGE], cwd=AT)
    package = sorted(glob.glob(f"{AT}/{PACKAGE}_*_all.deb"))[-1]
    made(["sh", "-ec", f"dpkg-deb --fsys-tarfile '{package}' | tar -xO ./usr/src/{PACKAGE}.tar.xz | xz -dc | "
          f"tar -x -C {tree} --strip-components=1 {' '.join(f'--exclude={pattern!r}' for pattern in LEFT_OUT)}"])


def image():
    """The path of the kernel, made where there is none of this configuration."""
    with open(CONFIG, encoding="ascii") as file:
        config = file.read()
    path = f"{AT}/Image-{hashlib.sha256(config.encode()).hexdigest()[:12]}"
    if os.path.exists(path):
        return path
    os.makedirs(AT, exist_ok=True)
    with tempfile.TemporaryDirectory() as tree:
        unpack(tree)
        make = ["make", "-s", "-C", tree, "ARCH=riscv", "CROSS_COMPILE=riscv64-linux-gnu-", f"CC={COMPILER}"]
        made([*make, "tinyconfig"])
        with open(f"{tree}/.config", "a", encoding="ascii") as file:
            file.write(config)
        made([*make, "olddefconfig"])
        made([*make, f"-j{tokens.JOBS}", "Image"])
        shutil.copy(f"{tree}/arch/riscv/boot/Image", path)
    return path


def entry(number, name, mode, content=b"", device=(0, 0)):
    """A file of a cpio archive, in the form that Linux reads (newc)."""
    fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, *device, len(name) + 1, 0)
    head = b"070701" + b"".join(b"%08x" % field for field in fields) + name.encode() + b"\0"
    return head + b"\0" * (-len(head) % 4) + content + b"\0" * (-len(content) % 4)


def archive():
    """The path of the first file system: a console, and the program."""
    program, path = f"{AT}/init", f"{AT}/init.cpio"
    made([COMPILER, "-std=c11", "-ffreestanding", "-O1", "-march=rv64imac", "-mabi=lp64", "-static", "-nostdlib", "-fno-pie", "-no-pie",
          "-fno-stack-protector", "-Wall", "-Wextra", "-Werror", "-o", program, INIT])
    with open(program, "rb") as file:
        content = file.read()
    with open(path, "wb") as file:
        file.write(entry(1, "dev", 0o40755) + entry(2, "dev/console", 0o20600, device=(5, 1)) +
                   entry(3, "init", 0o100755, content) + entry(4, "TRAILER!!!", 0))
    return path


def boot(firmware, cpu, kernel, files):
    """What Linux and its program say."""
    code, output = run(["qemu-system-riscv64", "-M", "virt", "-m", "64", "-nic", "none", "-nographic", "-monitor", "none",
                        "-icount", "shift=0", "-cpu", CPUS[cpu], "-bios", FIRMWARES[firmware], "-kernel", kernel, "-initrd", files,
                        "-append", "console=ttyS0 earlycon=sbi"], 120)
    with open(f"{AT}/{firmware}_{cpu}.txt", "w", encoding="utf-8") as file:
        file.write(output)
    return output.replace("\r", "") if code == 0 else ""


def events(said):
    """{event: its count, or None where it was refused}"""
    return {name: int(count) if count else None for name, count in re.findall(r"^EV (\S+) (?:= (\d+)|refused -\d+)$", said, re.M)}


def compare(cpu, said):
    """(test, is it good, what else there is to say)"""
    own, reference = events(said["own"]), events(said["opensbi"])
    shown = ["counters: " + "; ".join(re.findall(r"riscv-pmu-sbi: (.*)", said[name])) for name in said]
    shown += [f"{name}: {own.get(name)}, on OpenSBI {reference.get(name)}" for name in reference]
    shown += [f"samples ({name}): " + "".join(re.findall(r"^SAMPLES (.*)$", said[name], re.M)) for name in said]

    def close(name):
        return own.get(name) is not None and reference.get(name) and abs(own[name] - reference[name]) <= reference[name] // 100
    exact = [name for name in ("cycles", "instructions", "instructions:u") if reference.get(name) is not None]
    counters = {name: re.findall(r"(\d+) firmware and (\d+) hardware counters", said[name]) for name in said}
    yield "linux_boots_and_ends", all(re.search(r"^DONE$", text, re.M) for text in said.values()), shown
    yield "linux_finds_the_counters_that_it_finds_on_opensbi", counters["own"] and counters["own"] == counters["opensbi"], []
    yield "linux_has_a_snapshot_memory", "SBI PMU snapshot detected" in said["own"], []
    yield "counts_are_those_on_opensbi_within_one_percent", len(exact) > 1 and all(close(name) for name in exact), []
    yield "counts_are_those_of_the_loop_within_one_percent", all(LOOP <= (own.get(name) or 0) < LOOP * 1.01 for name in exact), []
    yield "what_opensbi_counts_is_counted", len(reference) == 10 and all(
        own.get(name) is not None for name in reference if reference[name] is not None), []


def main():
    lines, missing = [], [name for name in PROGRAMS if not shutil.which(name)] + [path for path in FIRMWARES.values() if not os.path.exists(path)]
    try:
        if missing:
            raise Skip(f"no {' '.join(missing)} (make deps-foreign)")
        kernel, files = image(), archive()
        for cpu in CPUS:
            for test, good, shown in compare(cpu, {name: boot(name, cpu, kernel, files) for name in FIRMWARES}):
                lines += [f"    {cpu}: {line}" for line in shown] + [f"[{'       OK ' if good else '  FAILED  '}] linux_{cpu}: {test}"]
    except (Skip, subprocess.TimeoutExpired) as why:
        lines.append(f"[  SKIPPED ] linux on examples/sbi_firmware: {why}")
    passed, failed = (sum(line.startswith(mark) for line in lines) for mark in ("[       OK", "[  FAILED"))
    print("\n".join([*lines, f"{passed} passed, {failed} failed"]))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
