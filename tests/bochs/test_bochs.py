#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Boot the example kernel on every CPU identity that Bochs 2.7 has and check what it
finds.  Bochs has the CPUID leaves of real CPUs and no PMU behind them, in three ways:

    faults    registers of the PMU fault (ignore_bad_msrs=0)
    ignores   they read 0 and drop writes (ignore_bad_msrs=1, what Bochs does by default)
    stores    they are memory, bits that do not exist fault (a file given as msrs=)

RDPMC always answers 0 or faults; in 64 bits the kernel goes without it.  A library that believes CPUID counts zeros on all of them.  What is right stands in
identities.tsv; how a register file looks, in stored.py.
"""
import concurrent.futures
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import stored  # noqa: E402

OUT = os.path.join(ROOT, "build", "bochs")
KERNEL = {32: "build/kernel/upmu32.img", 64: "build/kernel/upmu64.img"}
COMMANDS = "debug-exit {options}{commands}; off\0"
X2APIC = "tigerlake"
# On these the demo's commands run, too, in what they store and in a simulated CPU.
SHOWN = ("p4_willamette", "p4_prescott_celeron_336", "core2_penryn_t9600")
DEMO = "info; stat -n 1000 -e instructions,cycles spin; record -c 1000 spin; selftest"
CYLINDER = 16 * 63 * 512
LIMIT_S = 60

CONFIGURATION = """\
plugin_ctrl: unmapped=1, biosdev=1, speaker=0, extfpuirq=1, parallel=0, serial=1, e1000=0, gameport=0
config_interface: textconfig
display_library: rfb, options="timeout=0"
memory: guest=32, host=32
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/bochs/VGABIOS-lgpl-latest
cpu: model={model}, count=1, ips=50000000, reset_on_triple_fault=0, {registers}
ata0: enabled=1
ata0-master: type=disk, path=disk.img, mode=flat, cylinders={cylinders}, heads=16, spt=63
boot: disk
com1: enabled=1, mode=file, dev=serial.txt
clock: sync=none, time0=utc
log: bochs.log
panic: action=fatal
error: action=report
info: action=report
"""


def identities():
    """Rows of identities.tsv as dictionaries."""
    with open(os.path.join(HERE, "identities.tsv")) as file:
        lines = [line.rstrip("\n").split("\t") for line in file if line.strip() and not line.startswith("#")]
    return [dict(zip(lines[0], line)) for line in lines[1:]]


def boot(row, mode, bits, options="", commands="probe"):
    """Run it; (what it printed, complaints)."""
    folder = os.path.join(OUT, f"{row['model']}-{mode}-{bits}{options}{commands[:5]}")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(ROOT, KERNEL[bits]), "rb") as file:
        disk = bytearray(file.read())
    line = COMMANDS.format(options="nordpmc " + options if bits == 64 else options, commands=commands).encode()
    disk[512:512 + len(line)] = line
    cylinders = -(-len(disk) // CYLINDER)
    registers = {"faults": "ignore_bad_msrs=0", "ignores": "ignore_bad_msrs=1", "stores": "msrs=msrs.def"}[mode]
    serial = os.path.join(folder, "serial.txt")
    for path in (serial, os.path.join(folder, "bochs.log")):
        if os.path.exists(path):
            os.unlink(path)
    with open(os.path.join(folder, "disk.img"), "wb") as file:
        file.write(disk + bytes(cylinders * CYLINDER - len(disk)))
    with open(os.path.join(folder, "msrs.def"), "w") as file:
        file.write(stored.registers(row))
    with open(os.path.join(folder, "bochsrc"), "w") as file:
        file.write(CONFIGURATION.format(model=row["model"], registers=registers, cylinders=cylinders))
    with open(os.path.join(folder, "debugger.rc"), "w") as file:
        file.write("c\nquit\n")
    complaints = []
    for attempt in range(5):
        try:  # the exit code is always 1
            subprocess.run(["bochs", "-q", "-f", "bochsrc", "-rc", "debugger.rc"], cwd=folder,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            complaints.append(f"no end within {LIMIT_S} s")
        log = open(os.path.join(folder, "bochs.log"), errors="replace").read()
        # Its display is a server without a client, and wants a port that another instance may be taking just now.
        if "RFB could not bind" not in log:
            break
        time.sleep(1 + attempt)
    text = open(serial, errors="replace").read() if os.path.exists(serial) else ""
    complaints += [line for line in log.split("\n") if ">>PANIC<<" in line and "shutdown requested" not in line.lower()]
    return text, complaints


def expected(row, mode, bits):
    """What the kernel has to print, key by key."""
    want = {"vendor": row["vendor"], "signature": row["signature"], "leaf0a": row["leaf0a"], "end": "ok"}
    verdict = row[mode]
    want["verdict"] = verdict
    if verdict == "absent":
        want.update({"pmu": "none", "counted": "0"})
        if row["pmu"] == "-":  # nothing was touched: the one fault is the port's own test of RDPMC
            want["faults"] = "1" if bits == 32 else "0"
        return want
    general, fixed = int(row["general"]), int(row["fixed"])
    want.update({"pmu": row["pmu"], "version": row["version"], "general": hex((1 << general) - 1),
                 "counters": hex((1 << general) - 1 | ((1 << fixed) - 1) << 16), "counted": "0"})
    if verdict == "counts nothing":
        # refused or marked: a zero is never data
        want.update({"init": "no error", "count.status": "no error", "count.value": "0", "count.quality": "unproven"})
    else:
        want["init"] = "no usable PMU"
    return want


def local_apic(row, bits, options, *patterns):
    text, complaints = boot(row, "ignores", bits, options)
    complaints += [f"prints nothing like {pattern!r}" for pattern in patterns if not re.search(pattern, text, re.M)]
    return f"bochs_{row['model']}_{bits}_takes_interrupts_with_{re.sub('[^a-z0-9]+', '_', options.strip())}", complaints


def demo(row, mode):
    """No command shows a zero of the hardware as data."""
    text, complaints = boot(row, mode, 32, commands=DEMO)
    patterns = {
        "stores": ["^Probe +counts nothing$", r"^ +0  instructions +\(unproven\)$", "^ 0 samples of cycles",
                   "^FAIL  probe: counts nothing$", "^ok    registers hold what was written$"],
        "ignores": [r"SIMULATED CPU, a model of a Pentium 4 \((Northwood|Prescott)\)" if row["model"].startswith("p4")
                    else "SIMULATED CPU, a model of Skylake", "^ +2,000  instructions", "^1[0-9] passed, 0 failed$"]}
    complaints += [f"prints nothing like {pattern!r}" for pattern in patterns[mode] if not re.search(pattern, text, re.M)]
    return f"bochs_{row['model']}_demo_where_registers_{mode.rstrip('s')}", complaints


def user_rdpmc(row):
    """The tool's hook writes CR4.PCE; then RDPMC is executed in ring 3, and its fault returns to ring 0."""
    text, complaints = boot(row, "stores", 32, commands="setpce on; setpce off; setpce on")
    said = re.findall("^RDPMC in user mode (.*?)\r?$", text, re.M)
    if said != ["reads counters", "faults", "reads counters"]:
        complaints.append(f"said {said}")
    return "setpce_lets_ring_3_read_and_takes_it_back", complaints


def judge(row, mode, bits):
    """Name of the test and its complaints."""
    how = {"faults": "registers_fault", "ignores": "registers_ignore", "stores": "registers_store"}[mode]
    name = f"bochs_{row['model']}_whose_{how}_{bits}"
    text, complaints = boot(row, mode, bits)
    found = dict(re.findall(r"^probe\.(\S+) (.*?)\s*$", text, re.M))
    for key, value in expected(row, mode, bits).items():
        if found.get(key) != value:
            complaints.append(f"{key} is {found.get(key)!r}, should be {value!r}")
    complaints += [line for line in text.split("\n") if "unexpected trap" in line]
    if row[mode] in ("absent", "ignores writes") and "SIMULATED" not in text:
        complaints.append("does not say that it goes on with a simulated CPU")
    return name, complaints


def no_long_mode(row):
    text, complaints = boot(row, "ignores", 64)
    if "this CPU has no 64-bit mode" not in text:
        complaints.append("the 64-bit kernel does not say that this CPU is none for it")
    return f"bochs_{row['model']}_is_told_apart_by_the_64_bit_kernel", complaints


def main():
    rows = identities()
    jobs = []
    known = subprocess.run(["bochs", "--help", "cpu"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True).stdout
    models = re.findall(r"^([a-z]\w+)$", known, re.M)
    for row in rows:
        for mode in ("faults", "ignores", "stores"):
            if row[mode] != "-":
                jobs.append((judge, row, mode, 32))
                if row["bits"] == "64" and mode != "faults":
                    jobs.append((judge, row, mode, 64))
    if os.environ.get("BOCHS_RUNS") != "soak":
        print(f"every tenth of {len(jobs)} identities and ways, the others with BOCHS_RUNS=soak")
        jobs = jobs[::10]
    jobs += [(demo, row, mode) for row in rows if row["model"] in SHOWN for mode in ("ignores", "stores")]
    row = next(row for row in rows if row["model"] == X2APIC)
    for bits in (32, 64):
        jobs.append((local_apic, row, bits, "x2apic vector=0xe0 ", "^Port: x2APIC, NMI arrives", "^Vector arrives$"))
        jobs.append((local_apic, row, bits, "vector=0xe0 ", "^Port: xAPIC, NMI arrives", "^Vector arrives$"))
    jobs.append((user_rdpmc, next(row for row in rows if row["model"] == "core2_penryn_t9600")))
    jobs.append((no_long_mode, next(row for row in rows if row["model"] == "p4_willamette")))
    listed = {row["model"] for row in rows}
    results = [("every_identity_of_bochs_is_tried", [f"{model} is not in identities.tsv" for model in models
                                                     if model not in listed] + ([] if models else ["found none"]))]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results += pool.map(lambda job: job[0](*job[1:]), jobs)
    for name, complaints in results:
        for complaint in complaints:
            print(f"    {complaint}")
        print(f"[  {'FAILED  ' if complaints else '     OK '}] {name}")
    return 1 if any(complaints for _, complaints in results) else 0


if __name__ == "__main__":
    sys.exit(main())
