/* SPDX-License-Identifier: MIT */
/*
 * Part of supervisor.c: SUPERVISOR_CPUID, a program's CPUID is answered by CPU 0 of the model.  The file of that name
 * has the program's path, its entry, and the address of each CPUID instruction, as a disassembler says them
 * (tests/perf/under.py writes it).  After exec the instructions of this program are replaced by UD2, which is as long.
 * Libraries and other programs keep the machine's CPUID: the C library chooses its memcpy by it.
 */
#ifndef UPMU_TESTS_PERF_SUPERVISOR_CPUID_H
#define UPMU_TESTS_PERF_SUPERVISOR_CPUID_H

#include <elf.h>

#define CPUID_PLACES 64
#define CPUID_CODE 0xa20fu
#define UD2_CODE 0x0b0fu

static struct {
    struct stat program;
    uint64_t entry;
    uint64_t places[CPUID_PLACES];
    unsigned count;
} cpuid;

static void cpuid_begin(void)
{
    const char *name = getenv("SUPERVISOR_CPUID");
    unsigned long long number;
    char path[PATH_MAX];
    FILE *file;

    if (!name)
        return;
    file = fopen(name, "r");
    if (!file || !fgets(path, sizeof path, file) || fscanf(file, "%llx", &number) != 1)
        die(name);
    path[strcspn(path, "\n")] = 0;
    cpuid.entry = number;
    if (stat(path, &cpuid.program) != 0)
        die(path);
    while (fscanf(file, "%llx", &number) == 1) {
        if (cpuid.count == CPUID_PLACES) {
            errno = ENOSPC;
            die(name);
        }
        cpuid.places[cpuid.count++] = number;
    }
    fclose(file);
}

/* Return the address at which a program begins: with its entry in the file, how far it was moved. */
static uint64_t cpuid_entry(const struct task *task)
{
    char path[64];
    Elf64_auxv_t value;
    uint64_t entry = 0;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/auxv", (int)task->id);
    file = fopen(path, "r");
    while (file && !entry && fread(&value, sizeof value, 1, file) == 1)
        if (value.a_type == AT_ENTRY)
            entry = value.a_un.a_val;
    if (file)
        fclose(file);
    return entry;
}

/* A task has called exec. If this is the program, its CPUID instructions trap from now on. */
static void cpuid_replace(struct task *task)
{
    struct stat executed;
    char path[64];

    task->asks_model = false;
    snprintf(path, sizeof path, "/proc/%d/exe", (int)task->id);
    if (!cpuid.count || stat(path, &executed) != 0 || executed.st_dev != cpuid.program.st_dev ||
        executed.st_ino != cpuid.program.st_ino)
        return;
    task->asks_model = true;
    task->moved = cpuid_entry(task) - cpuid.entry;
    for (unsigned i = 0; i < cpuid.count; i++) {
        void *place = (void *)(uintptr_t)(cpuid.places[i] + task->moved);
        unsigned long word;

        errno = 0;
        word = (unsigned long)ptrace(PTRACE_PEEKTEXT, task->id, place, NULL);
        if (!errno && (word & 0xffffu) != CPUID_CODE)
            errno = ENOEXEC;
        word = (word & ~0xfffful) | UD2_CODE;
        if (errno || ptrace(PTRACE_POKETEXT, task->id, place, (void *)word) != 0)
            die("CPUID of the program");
    }
}

/* A thread has got SIGILL. Returns true: it stood at a CPUID instruction, which is done. */
static bool cpuid_done(struct task *task)
{
    const struct upmu_port *port = &perf_kernel.sim.port;
    struct user_regs_struct r;
    uint32_t leaf, subleaf, out[4];
    unsigned place = 0;
    uintptr_t irq;

    if (!task->asks_model || ptrace(PTRACE_GETREGS, task->id, NULL, &r) != 0)
        return false;
    while (place < cpuid.count && cpuid.places[place] + task->moved != r.rip)
        place++;
    if (place == cpuid.count)
        return false;
    leaf = (uint32_t)r.rax;
    subleaf = (uint32_t)r.rcx;
    run_on_model(&task->perf);
    irq = port->irq_save(port->context);
    port->cpuid(port->context, leaf, subleaf, out);
    port->irq_restore(port->context, irq);
    if (log_file)
        fprintf(log_file, "%d cpuid %x:%x = %08x %08x %08x %08x\n", task->id, leaf, subleaf, out[0], out[1], out[2],
                out[3]);
    r.rax = out[0];
    r.rbx = out[1];
    r.rcx = out[2];
    r.rdx = out[3];
    r.rip += 2;
    (void)ptrace(PTRACE_SETREGS, task->id, NULL, &r);
    if (task->stepping)
        step_done(task);
    return true;
}

#endif
