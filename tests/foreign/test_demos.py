#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The demos on machines whose PMU others made: the UEFI demo under EDK II on AArch64, the kernels of examples/virt on
AArch64 and RISC-V.

What a loop must count is known by its text: an iteration of `spin` is 2 instructions, one of `memcpy` 6, and QEMU has a
cycle of a nanosecond for each (-icount shift=0).  DEMO_ARM_MISSING and VIRT_MISSING name what is not installed
(efi-demo/demo.mk, examples/virt/virt.mk).  `test_demos.py kernels` looks at the kernels alone.
"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tokens  # noqa: E402

SCRIPT = "tests/demo/test-arm64.cmd"
PERIOD = 20000
LIMIT_S = int(os.environ.get("FOREIGN_LIMIT_S", "120"))
# (folder, CPU, options of QEMU's machine)
EFI_BOOTS = {"el1": ("cortex-a53", ""), "el2_gicv3": ("max", ",virtualization=on,gic-version=3")}

# (machine, CPU)
KERNEL_BOOTS = {"arm64": ("arm64", "cortex-a57"), "arm64_max": ("arm64", "max"),
                "riscv64": ("riscv64", "rv64,pmu-num=16,sscofpmf=on"),
                "riscv64_29_counters": ("riscv64", "rv64,pmu-num=29,sscofpmf=on")}


def behind_title(text):
    """(Blanks behind the title are the rest of its line on the screen.)"""
    return re.split(r"\nupmu demo, arm64 *\n", text, maxsplit=1)[1]


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
            self.text = behind_title(file.read())
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
    """(The loop's two instructions, and at most once the return after it.  An overflow within an interrupt is seen at its end, in the
    loop, so that as many as a_sample_for_each_period allows can lie there.)"""
    places = [row[1] for row in boot.file("cycles.txt") if row[1] != "?"]
    inside = sum(place.startswith("spin+") for place in places)
    return inside >= 2 * 1000000 / PERIOD - 5 and {"spin+0x0", "spin+0x4"} <= set(places) <= \
        {"spin+0x0", "spin+0x4", "spin+0x8"} and places.count("spin+0x8") <= 1


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


def without_a_pmu_each_screen_says_simulated():
    folder = "build/demo/arm64/no_pmu"
    os.makedirs(folder, exist_ok=True)
    shutil.copy("build/demo/arm64/upmu.efi", folder)
    with open(f"{folder}/short.cmd", "w") as file:
        file.write("info\nstat -e instructions spin\nselftest\n")
    done = subprocess.run(["tests/demo/run-demo.sh", "script", "arm64", f"{folder}/upmu.efi", f"{folder}/short.cmd"],
                          env=dict(os.environ, DEMO_CPU="cortex-a57,pmu=off", DEMO_TIMEOUT="300"),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    with open(f"{folder}/serial.txt", errors="replace") as file:
        screens = behind_title(file.read()).partition("\nscript: ")[0].split("\nupmu> ")
    return done.returncode == 0 and len(screens) == 4 and all("SIMULATED" in screen for screen in screens)


def boots_from_a_usb_stick():
    """One key stores the page on it; the image is that of `make usb-arm`, with this application alone."""
    folder = "build/demo/arm64/stick"
    os.makedirs(folder, exist_ok=True)
    shutil.copy("build/upmu-usb-arm.img", folder)
    done = subprocess.run(["tests/demo/run-demo.sh", "stick", "arm64", f"{folder}/upmu-usb-arm.img", "tests/demo/typed_page.txt"],
                          env=dict(os.environ, DEMO_TIMEOUT="300"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    with open(f"{folder}/out/upmu-01.txt") as file:
        page = file.read()
    return done.returncode == 0 and "SIMULATED" not in page and re.search(r"^1[4-9] passed, 0 failed", page, re.M) and \
        page.rstrip().endswith("end of the page")


EFI_TESTS = [runs_its_script_and_switches_off, no_screen_but_the_simulators_says_simulated, finds_the_pmu_and_its_interrupts,
             loops_differ_by_their_length, a_sample_for_each_period, samples_of_cycles_lie_in_the_loop, top_shows_the_loop,
             passes_its_selftest, stores_its_page]


def boot_kernel(machine, cpu):
    """(exit code of QEMU, what the kernel said)"""
    done = subprocess.run(["examples/virt/boot.sh", machine, f"build/virt/upmu-{machine}.elf", cpu], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=LIMIT_S, check=False)
    return done.returncode, done.stdout.decode(errors="replace")


class Kernel:
    def __init__(self, name):
        self.machine, cpu = KERNEL_BOOTS[name]
        self.code, self.said = boot_kernel(self.machine, cpu)

    def numbers(self, line):
        return [int(number) for number in re.findall(r"\d+", re.search(rf"^{line}: .*$", self.said, re.M)[0])]


def kernel_finds_its_pmu(boot):
    title = {"arm64": "Arm PMUv3", "riscv64": "RISC-V HPM"}[boot.machine]
    return f"PMU: {title}, " in boot.said and "probe: interrupts, as it should be" in boot.said


def kernel_counts_loops_exactly(boot):
    """Loops of 1,000 and of 101,000 turns, 2 instructions each; less than 4,000 more around them."""
    for event in "instructions", "cycles":
        few, many, difference = map(int, re.search(rf"^count: (\d+) and (\d+) {event}, difference (\d+)", boot.said, re.M).groups())
        if not (many - few == difference == 200000 and 2000 <= few < 6000):
            return False
    return True


def kernel_samples_each_loop_as_often_as_it_runs(boot):
    """3,000,000 and 1,000,000 cycles, a sample for each 20,000; more come from the interrupts themselves."""
    first, second, elsewhere, lost = boot.numbers("samples")
    return 150 <= first <= 200 and 50 <= second <= 67 and 2.5 < first / second < 3.5 and elsewhere <= 8 and lost == 0


def kernel_ends_well(boot):
    return boot.code == 0 and re.search(r"^end: 0 wrong$", boot.said, re.M) and "WRONG" not in boot.said


def without_interrupts_it_says_what_is_wrong():
    """(Not a word of the above is printed whatever happens.)  A verdict and the call that is refused are counted."""
    code, said = boot_kernel("riscv64", "rv64,pmu-num=16,sscofpmf=off")
    return code != 0 and "probe: counts, WRONG\n" in said and "add: not supported\nend: 2 wrong\n" in said


# What the reader's kernel has.
PORTING = {
    "arm64": (["aarch64-linux-gnu-gcc-12", "-mgeneral-regs-only"], "unsigned long elr, sp, spsr;"),
    "arm32": (["build/foreign/usr/bin/arm-none-eabi-gcc", "-march=armv7ve", "-mfloat-abi=soft", "-mgeneral-regs-only"],
              "unsigned long pc, sp, cpsr;"),
    "riscv64": (["riscv64-unknown-elf-gcc", "-march=rv64imac_zicsr", "-mabi=lp64"], "unsigned long mepc, sp, mstatus;"),
    "riscv64_s": (["riscv64-unknown-elf-gcc", "-march=rv64imac_zicsr", "-mabi=lp64"], "unsigned long sepc, sp, sstatus;"),
}


def porting_page_compiles(machine):
    with open("docs/PORTING.md") as file:
        code = re.search(rf"<!-- port: {machine} -->\n```c\n(.*?)```", file.read(), re.S)[1]
    compiler, trap = PORTING[machine]
    head = (f"#include <upmu/upmu.h>\nstruct trap_frame {{ {trap} }};\nvoid other_interrupt(struct trap_frame *trap);\n"
            "uint64_t time_ns(void *context);\nenum upmu_status pmu_open(void);\nvoid pmu_interrupt(struct trap_frame *trap);\n")
    done = subprocess.run(compiler + ["-std=c11", "-ffreestanding", "-O1", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror",
                                      "-Iinclude", "-I.", "-x", "c", "-c", "-o", "/dev/null", "-"],
                          input=(head + code).encode(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    print(done.stdout.decode(), end="")
    return done.returncode == 0


KERNEL_TESTS = [kernel_finds_its_pmu, kernel_counts_loops_exactly, kernel_samples_each_loop_as_often_as_it_runs, kernel_ends_well]


def attempt(test, *arguments):
    """(does it pass, what went wrong on the way)"""
    try:
        return bool(test(*arguments)), ""
    except (AttributeError, OSError, StopIteration, TypeError, ValueError, subprocess.TimeoutExpired) as error:
        return False, repr(error)


def main():
    passed = failed = 0

    def note(name, test, good, trouble):
        nonlocal passed, failed
        passed, failed = passed + good, failed + (not good)
        if trouble:
            print(f"    {test.__name__}: {trouble}")
        print(f"[{'       OK' if good else '  FAILED '} ] {name}: {test.__name__}")
        return good

    there, single = [], []
    missing = os.environ.get("DEMO_ARM_MISSING", "")
    if missing:
        print(f"[  SKIPPED ] demo_efi_arm: no {missing} (make deps-demo-arm)")
    else:
        single += [("demo_efi_arm", boots_from_a_usb_stick), ("demo_efi_arm", without_a_pmu_each_screen_says_simulated)]
    if os.path.exists(PORTING["arm32"][0][0]):
        single.append(("porting_arm32", porting_page_compiles, "arm32"))
    else:
        print("[  SKIPPED ] porting_arm32: no arm-none-eabi-gcc (make deps-foreign)")
    for machine in "arm64", "riscv64":
        missing = [what.partition(":")[2] for what in os.environ.get("VIRT_MISSING", "").split() if what.startswith(machine)]
        if missing:
            print(f"[  SKIPPED ] demo_{machine}: no {' '.join(missing)} (make deps-foreign)")
        else:
            there.append(machine)
            single.append((f"demo_{machine}", porting_page_compiles, machine))
    if "riscv64" in there:
        single.append(("demo_riscv64", porting_page_compiles, "riscv64_s"))
        single.append(("demo_riscv64", without_interrupts_it_says_what_is_wrong))
    if sys.argv[1:] == ["kernels"]:
        single = [row for row in single if row[1] is without_interrupts_it_says_what_is_wrong]
    boots = [("demo_efi_arm", Boot, name, EFI_TESTS) for name in EFI_BOOTS
             if sys.argv[1:] != ["kernels"] and not os.environ.get("DEMO_ARM_MISSING")]
    boots += [("demo", Kernel, name, KERNEL_TESTS) for name, (machine, _) in KERNEL_BOOTS.items() if machine in there]
    with concurrent.futures.ThreadPoolExecutor(tokens.JOBS) as pool:
        booted = [pool.submit(kind, name) for _, kind, name, _ in boots]
        done = [pool.submit(attempt, test, *arguments) for _, test, *arguments in single]
        for (prefix, _, name, tests), boot in zip(boots, booted):
            if not all([note(f"{prefix}_{name}", test, *attempt(test, boot.result())) for test in tests]):
                print("\n".join("    " + line for line in boot.result().said.splitlines()))
        for (name, test, *_), result in zip(single, done):
            note(name, test, *result.result())
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
