#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Boot the example kernel by every loader and check what it prints, shows and hears."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "build"))
import machine  # noqa: E402
import misses  # noqa: E402
from checklib import Skip, check, main  # noqa: E402

CHECK = "debug-exit vmtest; probe; off"


def lacks(text, *patterns):
    return [f"prints nothing like {pattern!r}" for pattern in patterns if not re.search(pattern, text, re.M)]


def boots(medium, *patterns, cpu="qemu64"):
    status, text = machine.run(medium, cpu)
    complaints = lacks(text, *patterns, r"^vmtest\.ring3 returned$", r"^vmtest\.end ok$", r"^probe\.end ok$",
                       r"^Port: xAPIC, NMI arrives, faults are survived, user RDPMC switches, TSC [1-9]")
    return complaints + ([] if status == machine.LEFT_WELL else [f"QEMU ended with {status}"])


def without_multiboot(name):
    """A copy that can only be booted by PVH."""
    copy = machine.path(name.replace(".elf", "pvh.elf"))
    subprocess.run(["objcopy", "-R", ".multiboot", machine.path(name), copy], check=True)
    return copy


@check
def kernel_32_boots_by_multiboot():
    return boots(machine.kernel("upmu32.elf", CHECK), "^upmu kernel, 32-bit, multiboot$", "^vmtest.bits 32$")


@check
def kernel_32_boots_by_pvh():
    return boots(machine.kernel(without_multiboot("upmu32.elf"), CHECK), "^upmu kernel, 32-bit, PVH$")


@check
def kernel_64_boots_by_pvh():
    return boots(machine.kernel("upmu64.elf", CHECK), "^upmu kernel, 64-bit, PVH$", "^vmtest.bits 64$")


@check
def kernel_64_boots_by_multiboot():
    return boots(machine.kernel("upmu64mb.elf", CHECK), "^upmu kernel, 64-bit, multiboot$")


def disk(name):
    if not os.path.exists(machine.path(name)):
        raise Skip("nasm is not installed (make deps)")
    with open(machine.path(name), "rb") as file:
        image = bytearray(file.read())
    line = CHECK.encode() + b"\0"
    image[512:512 + len(line)] = line
    with open(machine.path("test.img"), "wb") as file:
        file.write(image)
    return ["-drive", "format=raw,file=test.img"]


@check
def kernel_32_boots_from_its_disk_image():
    return boots(disk("upmu32.img"), "^upmu kernel, 32-bit, multiboot$")


@check
def kernel_64_boots_from_its_disk_image():
    return boots(disk("upmu64.img"), "^upmu kernel, 64-bit, multiboot$")


@check
def kernel_boots_by_grub():
    if not os.path.exists(machine.path("upmu.iso")):
        raise Skip("grub-mkrescue, xorriso or grub-pc-bin is not installed (make deps)")
    talk = machine.Conversation(["-cdrom", "upmu.iso", "-boot", "d"], monitor=True)
    for _ in range(100):  # the menu's hot key, until it is there
        talk.send("sendkey p\n")
        if talk.wait_briefly("vmtest.end ok"):
            break
    status = talk.end()
    return lacks(talk.text, "^upmu kernel, 32-bit, multiboot$", "^probe.end ok$") + \
        ([] if status == machine.LEFT_WELL else [f"QEMU ended with {status}"])


@check
def kernel_says_at_once_that_there_is_no_pmu():
    text = machine.run(machine.kernel("upmu32.elf", "debug-exit off"))[1]
    return lacks("\n".join(text.split("\n")[:5]), "no PMU that can be used")


@check
def kernel_has_the_commands_of_the_demo():
    complaints = []
    for name in ("upmu32.elf", "upmu64.elf"):
        line = "debug-exit help; list *miss*; encode branch-misses; stat -n 1000 -e instructions,branches spin; " \
            "place instructions,counter=0 cycles,counter=0; record -c 5000 mix; selftest; off"
        text = machine.run(machine.kernel(name, line))[1]
        complaints += lacks(text, "^ *record ", "^IA32_PERFEVTSEL0 0x186 0x4300c5$", " 2,000  instructions",
                            "both need counter", r"%  *[0-9,]*  chase", "^1[0-9] passed, 0 failed", "SIMULATED")
    return complaints


def value(text, key):
    found = re.search(rf"^{re.escape(key)} (\d+)$", text, re.M)
    return int(found[1]) if found else -1


@check
def a_program_counts_and_samples_itself_by_perf_event_open():
    complaints = []
    for bits in (32, 64):
        status, text = machine.run(machine.kernel(f"programs{bits}.elf", "debug-exit perf; off"))
        short, long, samples = (value(text, f"perf.{key}") for key in ("self.100", "self.300", "samples"))
        expected = {"failed": 0, "refused": 13, "self.300": short + 200 * 13, "group.instructions": short,
                    "group.cycles": 2 * short, "sampled": long, "period": 100, "samples": long // 100, "inside": samples,
                    "polled": 1, "left": 0}
        found = {key: value(text, f"perf.{key}") for key in expected}
        complaints += [f"{bits} bits: perf.{key} {found[key]}, not {expected[key]}" for key in expected
                       if found[key] != expected[key]]
        complaints += [] if 1300 <= short < 1400 else [f"{bits} bits: {short} instructions around 100 passes of 13"]
        complaints += lacks(text, "^perf.end no error$") + \
            ([] if status == machine.LEFT_WELL else [f"{bits} bits: QEMU ended with {status}"])
    return complaints


@check
def a_host_of_perf_event_open_has_250_lines_and_docs_show_it():
    with open("examples/kernel/kernel_perf.c", encoding="ascii") as file:
        host = file.read()
    with open("docs/PERF.md", encoding="ascii") as file:
        shown = re.findall(r"^```c\n(.*?)^```$", file.read(), re.M | re.S)
    functions = [function for block in shown for function in re.split(r"\n(?=\S[^\n]*\()", block)]
    return [f"docs/PERF.md: not in kernel_perf.c: {function[:60]}" for function in functions
            if function.strip() not in host] + \
        ([] if host.count("\n") <= 250 else [f"kernel_perf.c has {host.count(chr(10))} lines"]) + \
        ([] if len(functions) >= 4 else [f"docs/PERF.md shows {len(functions)} functions"])


@check
def precise_samples_are_each_nth_miss_and_need_no_interrupt():
    """On records of format 3 and of format 4, in both widths."""
    complaints = []
    for bits in (32, 64):
        image = f"programs{bits}.elf"
        wanted, all_misses = misses.samples(machine.path(image)), len(misses.misses(machine.path(image)))
        status, text = machine.run(machine.kernel(image, "debug-exit precise; precise --sim icl; off"))
        runs = text.split("precise.end no error\n")
        complaints += [] if status == machine.LEFT_WELL and len(runs) == 3 else [f"{bits} bits: QEMU ended with {status}: {text}"]
        for run in runs[:-1]:
            found = misses.printed(run)
            complaints += [f"{bits} bits: sample {i}: {is_}, not {should}" for i, (is_, should) in enumerate(zip(found, wanted))
                           if is_ != should]
            expected = {"period": misses.PERIOD, "misses": all_misses, "samples": len(wanted), "records": len(wanted), "lost": 0,
                        "interrupts": 0, "violations": 0}
            complaints += [f"{bits} bits: precise.{key} {value(run, 'precise.' + key)}, not {expected[key]}" for key in expected
                           if value(run, "precise." + key) != expected[key]]
            complaints += [] if len(found) == len(wanted) > 60 else [f"{bits} bits: {len(found)} samples, not {len(wanted)}"]
        names = {(sample.name, sample.source) for sample in wanted}
        complaints += [] if len(names) == 4 else [f"samples of {names} are too few to say anything"]
    return complaints


@check
def a_cpu_without_precise_samples_says_so():
    text = machine.run(machine.kernel("programs32.elf", "debug-exit precise --sim zen4; precise --sim core2; off"))[1]
    return lacks(text, "^precise.why not supported on amd64_fam19h_zen4: no precise records that upmu drives$", "^precise.end not supported$",
                 '^precise.why "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_8": no such event on core$', "^precise.end no such event$") + \
        ([text] if "precise.sample" in text else [])


@check
def a_module_that_is_no_program_is_refused():
    complaints = []
    for name, module, reason in (("programs64.elf", None, "the loader has brought no module"),
                                 ("programs64.elf", "upmu32.elf", "it is for other CPUs"),
                                 ("programs64.elf", "upmu64.elf", "it does not run at any address"),
                                 ("programs32.elf", "flags.txt", "it is no ELF file")):
        medium = machine.kernel(name, "debug-exit module /x; off") + (["-initrd", module] if module else [])
        complaints += lacks(machine.run(medium)[1], reason)
    return complaints


@check
def kernel_refuses_what_it_cannot_do():
    text = machine.run(machine.kernel("upmu32.elf", "debug-exit pmus; nonsense; msr zz; stat nonsense; off"))[1]
    return lacks(text, "no command 'nonsense'", "usage: msr ADDRESS", "no workload 'nonsense'")


@check
def kernel_obeys_its_options():
    text = machine.run(machine.kernel("upmu32.elf", "debug-exit noapic nordpmc info; off"))[1]
    return lacks(text, "^Port: no APIC, user RDPMC switches")


@check
def kernel_is_called_a_pentium_4_where_it_runs_on_one():
    complaints = boots(machine.kernel("upmu32.elf", CHECK), "^probe.signature 0xf43$", cpu=machine.PENTIUM_4)
    return complaints


@check
def kernel_runs_on_old_and_new_cpus():
    complaints = []
    # QEMU gives none of them a PMU.  AMD's have one in every book, so its registers are tried.
    verdicts = {"athlon": "ignores writes", "phenom": "ignores writes", "max": "ignores writes"}
    for cpu in ("486", "pentium", "pentium2", "athlon", "n270", "phenom", "Skylake-Client", "max"):
        verdict = verdicts.get(cpu, "absent")
        status, text = machine.run(machine.kernel("upmu32.elf", CHECK), cpu)
        complaints += [f"-cpu {cpu}: {complaint}" for complaint in
                       lacks(text, "^vmtest.ring3 returned$", f"^probe.verdict {verdict}$", "^probe.end ok$") +
                       ([] if status == machine.LEFT_WELL else [f"QEMU ended with {status}"])]
    return complaints


@check
def kernel_simulates_a_pentium_4_where_one_has_no_pmu():
    text = machine.run(machine.kernel("upmu32.elf", "debug-exit info; stat -n 1000 -e instructions,branches spin; "
                                      "encode p4-branch-retired,mask=mmtm+mmnm,os,usr; selftest; off"),
                       machine.PENTIUM_4)[1]
    return lacks(text, "family 0fH model 04H stepping 3", "SIMULATED CPU, a model of a Pentium 4",
                 r"^PMU +netburst_p ", " 2,000  instructions", " 1,000  branches", r"\b0xc00140c$", "^1[0-9] passed, 0 failed")


@check
def kernel_takes_commands_from_com1():
    talk = machine.Conversation(machine.kernel("upmu32.elf", "debug-exit"))
    talk.wait("upmu> ")
    for count, line in enumerate(("encode cycles", "menu", "2", "off")):
        talk.wait("upmu> ", count + 1)
        talk.send(line + "\r")
    status = talk.end()
    return lacks(talk.text, "0x43003c", "mean of 5 runs") + \
        ([] if status == machine.LEFT_WELL else [f"QEMU ended with {status}"])


@check
def kernel_takes_commands_from_a_keyboard_and_shows_them():
    screen = machine.path("screen.bin")
    if os.path.exists(screen):
        os.unlink(screen)
    talk = machine.Conversation(machine.kernel("upmu32.elf", "debug-exit"), monitor=True)
    talk.wait("upmu> ")
    for key in ("shift-e", "backspace", "e", "n", "c", "o", "d", "e", "spc", "c", "y", "c", "l", "e", "s", "ret"):
        talk.send(f"sendkey {key}\n")
        talk.pause()
    talk.wait("upmu> ", 2)
    talk.send("pmemsave 0xb8000 4000 screen.bin\n")
    talk.pause()
    for key in ("o", "f", "f", "ret"):
        talk.send(f"sendkey {key}\n")
        talk.pause()
    status = talk.end()
    with open(screen, "rb") as file:
        shown = file.read()[::2].decode("latin-1")
    rows = "\n".join(shown[i:i + 80].rstrip() for i in range(0, len(shown), 80))
    return lacks(talk.text, "0x43003c") + lacks(rows, "^upmu> encode cycles$", "^IA32_PERFEVTSEL0 0x186 0x43003c$",
                                                "^upmu>$", "SIMULATED") + \
        ([] if status == machine.LEFT_WELL else [f"QEMU ended with {status}"])


if __name__ == "__main__":
    main()
