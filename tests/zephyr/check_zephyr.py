#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The module for Zephyr (zephyr/), built by CMake and Ninja and run on a kernel of our own that stands for Zephyr.

Kconfig is read by kconfiglib; the module's CMakeLists.txt by a CMakeLists.txt that plays Zephyr's functions.  Nothing of
Zephyr itself is here.
"""
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "build"))
from checklib import ROOT, WARNINGS, Skip, check, files, main, read, run  # noqa: E402

ROOM = "build/tests/zephyr with blanks"
HERE = "tests/zephyr"
SAMPLE = "zephyr/samples/count"
X86 = ["CONFIG_X86=y"]
MODEL = [*X86, "CONFIG_UPMU_SIM=y"]


def python_with_kconfiglib():
    """Debian's module belongs to Debian's Python."""
    for python in sys.executable, "/usr/bin/python3":
        if shutil.which(python) and run([python, "-c", "import kconfiglib"])[0] == 0:
            return python
    raise Skip("kconfiglib is not installed (make deps-zephyr)")


def needs(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Skip(f"{program} is not installed (make deps-zephyr)")


def configured(name, compiler, conf, lines, program=(), flags=(), link=""):
    """Make build files in a new folder; the folder, or the complaint."""
    needs("cmake", "ninja", compiler)
    folder = os.path.join(ROOM, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    with open(f"{folder}/own.conf", "w", encoding="ascii") as file:
        file.writelines(line + "\n" for line in lines)
    code, output = run([python_with_kconfiglib(), f"{HERE}/stand_in/stand_in_config.py", ROOT, f"{folder}/.config", *conf,
                        f"{folder}/own.conf"])
    if code:
        return None, output
    program = ";".join(os.path.join(ROOT, path) for path in program)
    code, output = run(["cmake", "-G", "Ninja", "-S", f"{HERE}/stand_in", "-B", folder, f"-DCMAKE_C_COMPILER={compiler}",
                        "-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY", f"-DUPMU={ROOT}",
                        f"-DCONFIG={os.path.abspath(folder)}/.config", f"-DPROGRAM={program}", f"-DLINK={link}",
                        "-DFLAGS=" + " ".join([*WARNINGS, *flags])])
    return (None, output) if code else (folder, "")


def built(*arguments, **options):
    """The folder of a build, or the complaint."""
    folder, complaint = configured(*arguments, **options)
    if not complaint:
        code, output = run(["ninja", "-j1", "-C", folder])
        complaint = output[-3000:] if code else ""
    return folder, complaint


def cases(name, compiler, conf, lines, program, **options):
    """Build a program of cases, and run each; a complaint for each that fails."""
    folder, complaint = built(name, compiler, conf, lines, program=program, **options)
    if complaint:
        return [complaint]
    names = run([f"{folder}/program"])[1].split()
    done = [(case, *run([f"{folder}/program", case])) for case in names]
    print(f"{len(names)} cases")
    return [f"{case}: exit {code}: {output[-500:]}" for case, code, output in done if code] + ([] if names else ["no case"])


def one_cpu(compiler):
    return cases(f"one {compiler}", compiler, [f"{HERE}/common.conf", f"{HERE}/one_cpu.conf"], [],
                 [f"{HERE}/zephyr_one_cpu.c"])


def smp(compiler):
    return cases(f"smp {compiler}", compiler, [f"{HERE}/common.conf", f"{HERE}/smp.conf"], X86,
                 [f"{HERE}/zephyr_smp.c", *files("models/sim/*.c")], link="-Wl,--wrap=upmu_x86_native_port")


@check
def the_module_file_names_what_is_there():
    paths = re.findall(r"^(?:  cmake|  kconfig|  -): (\S+)$|^  - (\S+)$", read("zephyr/module.yml"), re.M)
    found = [first or second for first, second in paths]
    return [f"zephyr/module.yml: {path}" for path in found if not os.path.exists(path)] + \
        ([] if found == ["zephyr", "zephyr/Kconfig", "zephyr/samples"] else [f"read: {found}"])


@check
def the_sample_counts_exact_numbers():
    folder, complaint = built("sample", "gcc", [f"{SAMPLE}/prj.conf"], MODEL, program=files(f"{SAMPLE}/src/*.c"))
    if complaint:
        return [complaint]
    code, output = run([f"{folder}/program"])
    wanted = re.findall(r'^ +- "(.*)"$', read(f"{SAMPLE}/sample.yaml"), re.M)
    return [] if code == 0 and len(wanted) == 2 and output.split("\n")[1:3] == wanted else [f"exit {code}: {output}"]


@check
def providers_and_threads_of_one_cpu_are_counted():
    return one_cpu("gcc")


@check
def providers_and_threads_of_one_cpu_are_counted_with_clang():
    return one_cpu("clang")


@check
def two_cpus_call_each_other():
    return smp("gcc")


@check
def two_cpus_call_each_other_with_clang():
    return smp("clang")


@check
def the_module_without_threads_and_provider_compiles():
    folder, complaint = built("least", "gcc", [], [*X86, "CONFIG_UPMU=y", "CONFIG_ISR_STACK_SIZE=4096",
                                                   'CONFIG_UPMU_OPTIONS="UPMU_NAMES=0 UPMU_THREADS=0 UPMU_SAMPLING=0"'])
    code, output = run(["nm", "-C", f"{folder}/upmu/libupmu.a"]) if folder else (1, complaint)
    if code or complaint:
        return [complaint or output]
    return [f"defined: {name}" for name in ("thread_abort_hook", "sys_trace_thread_switched_in_user") if f" T {name}" in output]


def elsewhere(name, compiler, lines, flags=(), several=True):
    """With everything, for one CPU and for two."""
    complaints = []
    for conf in [[f"{HERE}/common.conf"], [f"{HERE}/common.conf", f"{HERE}/smp.conf"]][:2 if several else 1]:
        _, complaint = built(f"{name} {len(conf)}", compiler, conf, lines, flags=flags)
        complaints += [complaint] if complaint else []
    return complaints


@check
def the_module_compiles_for_arm64():
    return elsewhere("arm64", "aarch64-linux-gnu-gcc", ["CONFIG_ARM64=y"])


@check
def the_module_compiles_for_riscv64():
    return elsewhere("riscv64", "riscv64-linux-gnu-gcc",
                     ["CONFIG_RISCV=y", "CONFIG_UPMU_RISCV_COUNTERS=0x7f8", "CONFIG_UPMU_RISCV_SSCOFPMF=y"],
                     ["-march=rv64gc_zicsr"])


@check
def the_module_compiles_for_riscv32():
    # Without the provider, whose <string.h> Debian has for 64 bits alone.
    return elsewhere("riscv32", "riscv64-linux-gnu-gcc", ["CONFIG_RISCV=y", "CONFIG_UPMU_PERF_EVENTS=n"],
                     ["-march=rv32imac_zicsr", "-mabi=ilp32"], several=False)


@check
def options_and_models_arrive_at_the_compiler():
    complaints = []
    for line, wanted in (('CONFIG_UPMU_EVENTS="all"', ["UPMU_EVENTS_ALL=1"]),
                         ('CONFIG_UPMU_EVENTS="zen3 p4"', ["UPMU_EVENTS_ALL=0", "UPMU_EVENTS_netburst=1", "UPMU_EVENTS_zen3=1"]),
                         ('CONFIG_UPMU_OPTIONS="UPMU_SET_EVENTS=2"', ["UPMU_EVENTS_ALL=0", "UPMU_SET_EVENTS=2"])):
        folder, output = configured("names", "gcc", [f"{SAMPLE}/prj.conf"], [*X86, line])
        prefix = "UPMU_EVENTS" if "EVENTS=" in line.split('"')[0] else "UPMU_"
        found = re.findall(r"^  DEFINES = (.*)$", read(f"{folder}/build.ninja"), re.M) if folder else []
        words = [sorted(word for word in re.findall(r" -D(\S+)", text) if word.startswith(prefix)) for text in found]
        complaints += [f"{line}: {some}" for some in words if some != wanted] + ([] if words else [f"{line}: {output}"])
    return complaints


@check
def a_wrong_name_ends_the_configuration():
    complaints = []
    for line, wanted in (('CONFIG_UPMU_EVENTS="skl skylate"', "no events of skylate"),
                         ('CONFIG_UPMU_OPTIONS="UPMU_PACK=0 UPMU_THRAEDS"', "no option UPMU_THRAEDS"),
                         ('CONFIG_UPMU_SIM_CPU="skylate"', "no model skylate")):
        folder, output = configured("wrong", "gcc", [f"{SAMPLE}/prj.conf"], [*MODEL, line])
        if folder or wanted not in output:
            complaints.append(f"{line}: {output}")
    return complaints


@check
def a_stack_that_is_too_small_ends_the_compilation():
    complaints = []
    for option, source in ("ISR_STACK_SIZE", "upmu_zephyr"), ("IDLE_STACK_SIZE", "upmu_zephyr_threads"):
        folder, output = configured("stack", "gcc", [f"{HERE}/common.conf"], [*X86, f"CONFIG_{option}=2048"])
        code, output = run(["ninja", "-j1", "-C", folder, f"upmu/CMakeFiles/upmu.dir/{source}.c.o"]) if folder else (0, output)
        if code == 0 or f"upmu: set CONFIG_{option}=4096" not in output:
            complaints.append(f"{option}: {output}")
    return complaints


@check
def lines_of_the_page_for_prj_conf_have_their_effect():
    page = read("docs/ZEPHYR.md")
    lines = re.search(r"## prj.conf\n\n```\n(.*?)```", page, re.S)[1].split("\n")
    lines += re.findall(r"`(CONFIG_\w+=[^`]*)`", re.search(r"\n\| for \| add \|\n(.*?)\n\n", page, re.S)[1])
    of_riscv = [line for line in lines if "RISCV" in line]
    complaints = []
    for name, own in ("page x86", [*X86, *(line for line in lines if line not in of_riscv)]), \
                     ("page riscv", ["CONFIG_RISCV=y", *lines[:4], *of_riscv]):
        folder, output = configured(name, "gcc", [], own)
        complaints += [] if folder else [output]
    known = set(re.findall(r"^(?:menu)?config (\w+)", read("zephyr/Kconfig"), re.M))
    complaints += [f"no option {name}" for name in set(re.findall(r"CONFIG_(UPMU\w*)", page)) - known]
    return complaints + ([] if len(of_riscv) == 3 and len(lines) > 14 else [f"read: {lines}"])


@check
def examples_of_the_page_compile():
    """All but the one that takes Zephyr's own interface of performance events."""
    folder, output = configured("page", "gcc", [f"{SAMPLE}/prj.conf"], MODEL)
    if not folder:
        return [output]
    examples = [text for text in re.findall(r"```c\n(.*?)```", read("docs/ZEPHYR.md"), re.S) if "perf_stat" not in text]
    with open(f"{folder}/page.c", "w", encoding="ascii") as file:
        file.write("void something(void);\nvoid measure(void);\n" + "".join(examples).replace("\nenum", "\nstatic enum"))
    code, output = run(["gcc", "-std=c11", "-fsyntax-only", *WARNINGS, "-Wno-unused-function", f"-I{folder}/include",
                        f"-I{HERE}/stand_in", "-Iinclude", "-Izephyr", f"{folder}/page.c"])
    return [output] if code or len(examples) != 2 else []


if __name__ == "__main__":
    main()
