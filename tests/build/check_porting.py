#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/PORTING.md: its examples compile for a kernel, run on the silicon model, and are as short as promised."""
import os
import re

from checklib import COMPILERS, FREESTANDING, check, main, parallel, read, run

PAGE = "docs/PORTING.md"
LINES = {"counting": 30, "sampling": 60, "probing": 30, "work area": 10}

# What the reader's kernel has.
KERNEL = """#pragma once
struct trap_frame { unsigned long ip, sp, cs; };
int printk(const char *format, ...);
void something(void);
void other_nmi(struct trap_frame *trap);
"""

PROTOTYPES = """#pragma once
#include <upmu/upmu.h>
void count_something(void);
void nmi_entry(struct trap_frame *trap);
enum upmu_status profile_start(volatile void *apic_page);
void profile_show(void);
void probe_pmu(struct upmu_cpu *cpu);
"""

# A kernel on the silicon model: the native port's place is taken by the model's.
HARNESS = """
#include <stdarg.h>
#include <stdio.h>
#include <port/sim/sim.h>
#include <port/x86_native/x86_native.h>
#include "kernel.h"
#include "prototypes.h"
static struct upmu_sim sim;
int printk(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int length = vprintf(format, list);
    va_end(list);
    return length;
}
void upmu_x86_native_port(struct upmu_x86_native *native, volatile void *page, unsigned vector, uint32_t khz)
{
    (void)page, (void)vector, (void)khz;
    upmu_sim_init(&sim, upmu_sim_profile("skl"), 1);
    native->port = *upmu_sim_port(&sim);
    native->port.this_cpu = NULL;
}
static void work(void)
{
    upmu_sim_events(&sim, &(struct upmu_sim_burst){ .instructions = 1000000, .cycles = 2000000, .mispredicts = 77,
                                                    .ip = 0x1000, .ip_step = 4, .ip_loop = 16 });
}
void something(void)
{
    work();
}
void other_nmi(struct trap_frame *trap)
{
    (void)trap;
    printf("not ours\\n");
}
#if SAMPLING
static void deliver(struct upmu_sim *model, unsigned number, const struct upmu_sim_interrupt *interrupt)
{
    struct trap_frame trap = { interrupt->ip, interrupt->sp, interrupt->user ? 3 : 0 };
    (void)model, (void)number;
    nmi_entry(&trap);
}
int main(void)
{
    enum upmu_status status = profile_start(NULL);
    if (status != UPMU_OK)
        return 1;
    sim.deliver = deliver;
    work();
    profile_show();
    return 0;
}
#else
int main(void)
{
    count_something();
    return 0;
}
#endif
"""


def example(name):
    found = re.search(rf"<!-- example: {name} -->\n```c\n(.*?)```", read(PAGE), re.S)
    return found.group(1) if found else ""


def write(name, text):
    os.makedirs("build/tests/porting", exist_ok=True)
    path = f"build/tests/porting/{name}"
    with open(path, "w") as file:
        file.write(text)
    return path


def prepare():
    write("kernel.h", KERNEL)
    write("prototypes.h", PROTOTYPES)
    write("harness.c", HARNESS)
    return {name: write(name + ".c", example(name)) for name in LINES}


@check
def porting_examples_are_as_short_as_promised():
    return [f"{name}: {len(example(name).splitlines())} lines" for name, limit in LINES.items()
            if not 5 < len(example(name).splitlines()) <= limit]


@check
def porting_examples_compile_for_a_kernel():
    paths = prepare()

    def compile_one(job):
        build, name = job
        code, output = run(COMPILERS[build] + FREESTANDING + ["-Wall", "-Wextra", "-Werror", "-include",
                                                              "build/tests/porting/kernel.h", "-include",
                                                              "build/tests/porting/prototypes.h", "-c", "-o",
                                                              f"build/tests/porting/{name}.{build}.o", paths[name]])
        return [] if code == 0 else [f"{name} {build}: {output[:1000]}"]
    return parallel(compile_one, [(build, name) for build in COMPILERS for name in paths])


def run_example(name):
    paths = prepare()
    program = f"build/tests/porting/{name}"
    code, output = run(["gcc", "-std=gnu11", "-O1", "-no-pie", "-Iinclude", "-I.", "-Ibuild/tests/porting", "-Wall",
                        "-Werror", f"-DSAMPLING={int(name == 'sampling')}", "-include",
                        "build/tests/porting/kernel.h", paths[name], "build/tests/porting/harness.c", "-o", program,
                        "build/gcc-64/libsim.a", "build/gcc-64/libupmu.a"])
    return run([program]) if code == 0 else (code, output)


@check
def porting_example_counts():
    code, output = run_example("counting")
    return [] if (code, output) == (0, "1000000\n2000000\n77\n") else [f"exit {code}", output[:1000]]


@check
def porting_example_samples():
    code, output = run_example("sampling")
    lines = output.splitlines()
    good = code == 0 and len(lines) == 20 and all(re.fullmatch(r"0x10[0-3][0-9a-f]", line) for line in lines)
    return [] if good else [f"exit {code}, {len(lines)} samples, not 20", output[:1000]]


@check
def porting_page_names_every_hook_and_existing_files():
    page = read(PAGE)
    hooks = re.findall(r"\(\*(\w+)\)\(void \*context", read("include/upmu/port.h")) + ["msr_faults_are_safe"]
    complaints = [f"no word on {hook}" for hook in hooks if f"`{hook}`" not in page]
    for path in set(re.findall(r"`((?:port|core|backends|events|include|docs)/[\w./]*)`", page)):
        if not os.path.exists(path):
            complaints.append(f"no {path}")
    return complaints


if __name__ == "__main__":
    main()
