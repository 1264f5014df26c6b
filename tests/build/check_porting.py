#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/PORTING.md: its examples compile for a kernel, run on the silicon model, and are as short as promised."""
import errno
import os
import re

from checklib import COMPILERS, FREESTANDING, check, main, parallel, read, run

PAGE = "docs/PORTING.md"
LINES = {"counting": 30, "sampling": 60, "probing": 30, "work area": 10, "threads": 70, "branches": 30}

# What the reader's kernel has.
KERNEL = """#pragma once
struct trap_frame { unsigned long ip, sp, cs; };
int printk(const char *format, ...);
void something(void);
void other_nmi(struct trap_frame *trap);
"""

PROTOTYPES = """#pragma once
#include <upmu/cpu.h>
#include <upmu/session.h>
#include <upmu/upmu.h>
void count_something(void);
void nmi_entry(struct trap_frame *trap);
enum upmu_status profile_start(volatile void *apic_page);
void profile_show(void);
void probe_pmu(struct upmu_cpu *cpu);
enum upmu_status lend_work(struct upmu_cpu *cpu, unsigned number);
void watch_branches(struct upmu_cpu *cpu);
void show_branches(struct upmu_cpu *cpu);
struct thread;
void thread_make(struct thread *thread, unsigned number);
enum upmu_status thread_monitor(struct thread *thread, struct upmu_machine *machine, const char *events);
void switch_to(struct upmu_cpu *cpu, struct thread *prev, struct thread *next);
void clock_tick(struct upmu_cpu *cpu);
uint64_t thread_count(struct thread *thread, unsigned event);
void thread_end(struct thread *thread);
"""

# Two threads of the example, in one file with it: its structure is its own.
THREADS = """
#include <stdio.h>
#include <string.h>
#include <models/sim/sim.h>
#include "threads.c"
static struct upmu_sim sim;
static struct upmu_machine machine;
static struct upmu_cpu cpu;
static struct thread a, b, plain; /* the last is never monitored */
int printk(const char *format, ...)
{
    return puts(format);
}
static void work(uint64_t instructions)
{
    upmu_sim_events(&sim, &(struct upmu_sim_burst){ .instructions = instructions, .cycles = 2 * instructions });
}
static void run(struct thread *prev, struct thread *next, uint64_t instructions)
{
    uintptr_t irq = sim.port.irq_save(sim.port.context);
    switch_to(&cpu, prev, next);
    clock_tick(&cpu);
    sim.port.irq_restore(sim.port.context, irq);
    work(instructions);
}
int main(void)
{
    upmu_sim_init(&sim, upmu_sim_profile("skl"), 1);
    upmu_sim_bind_cpu(&sim, 0, &cpu);
    if (upmu_machine_init(&machine, upmu_sim_port(&sim)) || upmu_cpu_init(&cpu, &machine, NULL) ||
        lend_work(&cpu, 0))
        return 1;
    memset(&a, 0xa5, sizeof a); /* as an allocator hands memory out */
    memset(&b, 0xff, sizeof b);
    memset(&plain, 0xa5, sizeof plain);
    thread_make(&a, 1);
    thread_make(&b, 2);
    thread_make(&plain, 3);
    if (thread_monitor(&a, &machine, "instructions,cycles") || thread_monitor(&b, &machine, "instructions"))
        return 2;
    run(NULL, &a, 1000);
    run(&a, NULL, 70000); /* idle: in neither count */
    run(NULL, &b, 200);
    run(&b, &plain, 900); /* in no count */
    run(&plain, &a, 30);
    printf("%u %u\\n", (unsigned)thread_count(&a, 0), (unsigned)thread_count(&a, 1));
    run(&a, &b, 4);
    printf("%u %u %u\\n", (unsigned)thread_count(&a, 0), (unsigned)thread_count(&b, 0),
           (unsigned)thread_count(&plain, 0));
    thread_end(&a); /* while it does not run */
    thread_end(&plain);
    thread_end(&b); /* on its CPU */
    run(&b, NULL, 5);
    if (upmu_cpu_fini(&cpu) || sim.violation_count)
        return 3;
    return a.session.state == UPMU_SESSION_CLOSED && b.session.state == UPMU_SESSION_CLOSED ? 0 : 4;
}
"""

PRINTK = """int printk(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int length = vprintf(format, list);
    va_end(list);
    return length;
}
"""

# A CPU that records, and panics after two branches; and one that has no records.
BRANCHES = """
#include <stdarg.h>
#include <stdio.h>
#include <models/sim/sim.h>
#include "branches.c"
static struct upmu_sim sim;
static struct upmu_machine machine;
static struct upmu_cpu cpu;
""" + PRINTK + """int main(int count, char **names)
{
    upmu_sim_init(&sim, upmu_sim_profile(names[count - 1]), 1);
    upmu_sim_bind_cpu(&sim, 0, &cpu);
    upmu_sim_irqs(&sim, false);
    if (upmu_machine_init(&machine, upmu_sim_port(&sim)) || upmu_cpu_init(&cpu, &machine, NULL))
        return 1;
    watch_branches(&cpu);
    upmu_sim_branch(&sim, &(struct upmu_sim_branch){ .from = 0x1000, .to = 0x2000 });
    upmu_sim_branch(&sim, &(struct upmu_sim_branch){ .from = 0xffffffff82000000, .to = 0xffffffff83000000 });
    show_branches(&cpu);
    return upmu_cpu_fini(&cpu) || sim.violation_count ? 2 : 0;
}
"""

# A kernel on the silicon model: the native port's place is taken by the model's.
HARNESS = """
#include <stdarg.h>
#include <stdio.h>
#include <models/sim/sim.h>
#include <port/x86_native/x86_native.h>
#include "kernel.h"
#include "prototypes.h"
static struct upmu_sim sim;
""" + PRINTK + """void upmu_x86_native_port(struct upmu_x86_native *native, volatile void *page, unsigned vector, uint32_t khz)
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


UNRELOCATED = """#include <upmu/upmu.h>
#include "build/library.c"
#include "port/template/mem.c"
static struct upmu_machine machine;
static struct upmu_port port;
static bool rdmsr(void *context, uint32_t msr, uint64_t *out_value)
{
    (void)context, (void)msr;
    *out_value = 0;
    return true;
}
static bool wrmsr(void *context, uint32_t msr, uint64_t value)
{
    (void)context, (void)msr, (void)value;
    return true;
}
static void cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    (void)context, (void)leaf, (void)subleaf;
    out[0] = out[1] = out[2] = out[3] = 0;
}
/* The start-up code: nothing is relocated, so that these hooks are stored at run time. */
__attribute__((force_align_arg_pointer)) void _start(void)
{
    long status;
    port.rdmsr = rdmsr;
    port.wrmsr = wrmsr;
    port.cpuid = cpuid;
    status = upmu_machine_init(&machine, &port);
#ifdef __i386__
    __asm__ volatile("int $0x80" ::"a"(1L), "b"(status));
#else
    __asm__ volatile("syscall" ::"a"(60L), "D"(status) : "rcx", "r11");
#endif
}
"""


@check
def tables_that_nothing_relocates_are_noticed():
    """A static program that is loaded elsewhere than it is linked, and whose start-up code relocates nothing."""
    path = write("unrelocated.c", UNRELOCATED)
    wanted = re.search(r"UPMU_ERR_NOT_LINKED = (\d+)", read("include/upmu/status.h")).group(1)

    def start(width):
        made, complaints = f"build/tests/porting/unrelocated{width}", []
        code, output = run(["gcc", f"-m{width}", "-std=gnu11", "-O0", "-w", "-Iinclude", "-I.", "-fpie", "-ffreestanding",
                            "-fno-stack-protector", "-c", "-o", made + ".o", path])
        for form, status in (("-static-pie", int(wanted)), ("-no-pie", 0)) if not code else ():
            code, output = run(["gcc", f"-m{width}", "-nostdlib", form, "-o", made, made + ".o"])
            try:
                found = code or run([made])[0]
            except OSError as error:
                if width != 32 or error.errno != errno.ENOEXEC:
                    raise
                print("tables_that_nothing_relocates_are_noticed: skipped for 32 bits: this machine's kernel runs no such programs")
                return []
            complaints += [] if not code and found == status else \
                [f"{width} bits, {form}: upmu_machine_init() returns {found}, not {status}: {output[:1000]}"]
        return complaints if not code else [output[:1000]]
    return parallel(start, (64, 32))


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
                                                              "build/tests/porting/prototypes.h", "-DCPUS=4", "-c", "-o",
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
def porting_example_shows_the_last_branches_in_a_panic():
    prepare()
    source, program = write("branches_main.c", BRANCHES), "build/tests/porting/branches"
    code, output = run(["gcc", "-std=gnu11", "-O1", "-Iinclude", "-I.", "-Ibuild/tests/porting", "-Wall", "-Werror",
                        "-include", "build/tests/porting/kernel.h", "-include", "build/tests/porting/prototypes.h", source,
                        "-o", program, "build/gcc-64/libsim.a", "build/gcc-64/libupmu.a", "-no-pie"])
    if code != 0:
        return [output[:1000]]
    code, output = run([program, "skl"])
    complaints = [] if code == 0 and re.search(r"^0xffffffff82000000 -> 0xffffffff83000000\n0x1000 -> 0x2000$", output, re.M) \
        else [f"exit {code}: {output[:1000]}"]
    code, output = run([program, "zen2"])
    return complaints + ([] if (code, output.split(":")[0]) == (0, "no branch records") else [f"exit {code}: {output[:1000]}"])


@check
def porting_example_follows_threads_from_creation_to_end():
    """Two monitored threads, one that is not, and the idle thread: each count is what its thread ran, and nothing is
    left at the end.  Their memory holds garbage before they are made: it catches an example that leaves a part of a
    thread uninitialised and looks at it later, and one that works in zeroed memory only."""
    prepare()
    source, program = write("threads_main.c", THREADS), "build/tests/porting/threads"
    code, output = run(["gcc", "-std=gnu11", "-O1", "-g", "-fsanitize=address,undefined", "-Iinclude", "-I.",
                        "-Ibuild/tests/porting", "-Wall", "-Werror", "-DCPUS=4", "-include", "build/tests/porting/kernel.h",
                        "-include", "build/tests/porting/prototypes.h", source, "build/tests/porting/work area.c", "-o",
                        program, "build/gcc-64/libsim.a", "build/gcc-64/libupmu.a", "-no-pie"])
    if code == 0:
        code, output = run([program])
    return [] if (code, output) == (0, "1030 2060\n1030 204 0\n") else [f"exit {code}: {output[:1000]}"]


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
