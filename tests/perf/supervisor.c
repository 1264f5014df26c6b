/* SPDX-License-Identifier: MIT */
/*
 * A kernel for one program: perf_event_open and what is done with its descriptors are answered by abi/perf on the
 * silicon model, for the program and all that it starts; their instructions drive the model, by single steps. So
 * Debian's own perf counts on upmu.
 *
 *     supervisor MODEL[+MODEL] PROGRAM [ARGUMENT...]
 *
 * A second model is that of CPU 1, a core of another type.  MODEL can be a machine with units outside the cores
 * (supervisor_units.h).
 * Environment: SUPERVISOR_LOG, a file for each call and its answer and, at the end of each process, its instructions
 * since it called exec; SUPERVISOR_FILES, a folder that gets the files of upmu_perf_files() and is mounted in the
 * place of the machine's own; SUPERVISOR_TRUTH, a file with the address of the next instruction behind
 * each one that programs executed; SUPERVISOR_FAST: programs run freely, and with SUPERVISOR_TSC their time is that
 * of this machine's TSC (supervisor_fast.h); SUPERVISOR_ALONE: programs see no others in /proc, and the first is
 * process 1; SUPERVISOR_LENDS: samples have branches and precise records (supervisor_lends.h); SUPERVISOR_CPUID: a
 * program's CPUID is the model's (supervisor_cpuid.h); SUPERVISOR_CALLS, a file for each demand with all that it says,
 * and SUPERVISOR_SEES, a folder for files that hide those of this machine (supervisor_calls.h). Each descriptor is a
 * memory file of the program's, so that dup, fork and close stay the kernel's, and what a program maps of it is the
 * ring of the event.
 *
 * A user without root's rights gets a user namespace, and is root there: programs run as for root, and folders can be
 * mounted.
 */
#define _GNU_SOURCE
#include "tests/common/perf_kernel.h"
#include "tools/child/x86_branch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define TASKS 64
#define EVENTS 512
#define POLLED 512 /* descriptors of a poll, at most */
#define POLL_MS 2
/* Results of interrupted calls, which programs do not see (Linux, include/linux/errno.h). */
#define RESTART_NO_HANDLER (-514) /* the call is made again; where a handler has run, the result is EINTR */
#define RESTART_BLOCK (-516)      /* the call goes on with the time that is left */
#define TICK_INSTRUCTIONS 50u     /* between two ticks of the clock */
#define INSTRUCTION_NS 2000u      /* each takes so long that no event overflows too often */
#define FILE_NAME "upmu-perf"

/* What a thread is doing in a call that was let through. */
enum pending { NOTHING, OPENING, POLLING };

struct task {
    struct upmu_perf_task perf;
    pid_t id, process; /* 0: free */
    pid_t number;      /* `id` as programs know it */
    bool executed;     /* called exec: it is what is measured */
    bool stepping;
    bool announced;      /* its parent's fork was seen: it has what it inherits */
    bool held;           /* it has stopped before that, and waits */
    uint64_t ran;        /* ns of CPU time up to its last stop, where programs run freely */
    unsigned long turns; /* how often it had got a processor until then */
    enum pending pending;
    unsigned event; /* that it opens */
    struct user_regs_struct call;
    uint8_t code[16]; /* of the next instruction */
    bool asks_model;  /* its CPUID is the model's */
    uint64_t moved;   /* from the addresses in its program's file to those in memory, if `asks_model` */
    uint64_t instructions;
};

struct file {
    struct upmu_perf_event *event; /* NULL: free */
    dev_t device;                  /* of its memory file, and that file's number there */
    ino_t inode;
    pid_t process;
    int number;
    uint8_t *memory; /* what the program has mapped, or NULL */
    size_t bytes;
    void **pages;
};

static struct upmu_perf_task idle[PERF_KERNEL_CPUS];
static struct task tasks[TASKS];
static struct file files[EVENTS];
static pid_t caller;
static FILE *log_file, *truth_file;

static void die(const char *what)
{
    fprintf(stderr, "supervisor: %s: %s\n", what, strerror(errno));
    exit(125);
}

/* ---- The kernel's side of abi/perf ---- */

static bool copy_in(void *context, void *to, const void *user, size_t bytes)
{
    struct iovec here = {to, bytes}, there = {(void *)(uintptr_t)user, bytes};

    (void)context;
    return process_vm_readv(caller, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

static bool copy_out(void *context, void *user, const void *from, size_t bytes)
{
    struct iovec here = {(void *)(uintptr_t)from, bytes}, there = {user, bytes};

    (void)context;
    return process_vm_writev(caller, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

static struct task *task_of(pid_t id)
{
    for (unsigned i = 0; i < TASKS; i++)
        if (tasks[i].id == id)
            return &tasks[i];
    return NULL;
}

static struct upmu_perf_task *find_task(void *context, uint32_t of, int32_t pid, bool *out_may)
{
    (void)context;
    *out_may = true;
    for (unsigned i = 0; i < TASKS; i++)
        if (tasks[i].id && (pid ? tasks[i].number == pid : tasks[i].id == (pid_t)of))
            return &tasks[i].perf;
    return NULL;
}

/*
 * The event behind a descriptor: its memory file is known by its device and inode.  By its inode alone any file can be
 * taken for an event: perf read one that has the same number, and never came to its end.
 */
static struct file *file_of(pid_t id, int number)
{
    char path[64];
    struct stat found;

    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)id, number);
    if (number < 0 || stat(path, &found) != 0)
        return NULL;
    for (unsigned i = 0; i < EVENTS; i++)
        if (files[i].event && files[i].device == found.st_dev && files[i].inode == found.st_ino)
            return &files[i];
    return NULL;
}

static struct upmu_perf_event *event_of(void *context, uint32_t of, int number)
{
    struct file *file = file_of((pid_t)of, number);

    (void)context;
    return file ? file->event : NULL;
}

/* Perf's numbers of registers (asm/perf_regs.h). */
#define REGISTERS 0xff0fffu
static uint64_t values[24];

static void registers_keep(const struct user_regs_struct *r)
{
    const uint64_t general[] = {r->rax, r->rbx, r->rcx, r->rdx,    r->rsi, r->rdi,
                                r->rbp, r->rsp, r->rip, r->eflags, r->cs,  r->ss};
    const uint64_t added[] = {r->r8, r->r9, r->r10, r->r11, r->r12, r->r13, r->r14, r->r15};

    memcpy(values, general, sizeof general);
    memcpy(values + 16, added, sizeof added);
    perf_kernel.registers = values;
    perf_kernel.register_mask = REGISTERS;
}

/* Read the stack of the task that runs on CPU 0. */
static size_t read_stack(void *context, uint64_t address, void *to, size_t bytes)
{
    const struct task *task = (const struct task *)perf_kernel.running[0];
    struct iovec here = {to, bytes}, there = {(void *)(uintptr_t)address, bytes};
    ssize_t found = process_vm_readv(task->id, &here, 1, &there, 1, 0);

    (void)context;
    return found > 0 ? (size_t)found : 0;
}

#include "tests/perf/supervisor_lends.h"
#include "tests/perf/supervisor_units.h"

static void machine_make(char *model)
{
    bool has_units = units_model(model);
    char *second = strchr(model, '+');
    const struct upmu_sim_profile *profile;
    const char *missing;

    if (second)
        *second++ = 0;
    profile = upmu_sim_profile(has_units ? "skl" : model);
    perf_kernel_second = second ? upmu_sim_profile(second) : NULL;
    if (!profile || (second && !perf_kernel_second)) {
        fprintf(stderr, "supervisor: no model %s\n", model);
        exit(125);
    }
    for (unsigned i = 0; i < PERF_KERNEL_CPUS; i++)
        upmu_perf_task_init(&idle[i], 0, 0);
    missing = perf_kernel_set_up(profile, idle, UINT_MAX);
    if (missing)
        die(missing);
    if (has_units)
        units_open();
    lends_begin();
    perf_kernel.perf.paranoid = 2;
    perf_kernel.perf.registers = REGISTERS;
    perf_kernel.perf.read_stack = read_stack;
    perf_kernel.perf.tick_rate = 1000000000u / (TICK_INSTRUCTIONS * INSTRUCTION_NS);
    perf_kernel.perf.copy_in = copy_in;
    perf_kernel.perf.copy_out = copy_out;
    perf_kernel.perf.find_task = find_task;
    perf_kernel.perf.event_of = event_of;
}

/* ---- Files ---- */

static bool alone;           /* programs see no others in /proc */
static const char *files_at; /* a folder that stands for /sys/bus/event_source/devices */

/* Write a file of devices below that folder. */
static void file_write(void *context, const char *path, const char *text)
{
    const char devices[] = "/sys/bus/event_source/devices";
    char copy[256];
    FILE *file;

    (void)context;
    if (strncmp(path, devices, sizeof devices - 1) != 0)
        return;
    snprintf(copy, sizeof copy, "%s%s", files_at, path + sizeof devices - 1);
    for (char *end = copy + strlen(files_at) + 1; (end = strchr(end, '/')); *end++ = '/') {
        *end = 0;
        (void)mkdir(copy, 0777);
    }
    file = fopen(copy, "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0)
        die(copy);
}

#include "tests/perf/supervisor_calls.h"

/* ---- Tasks ---- */

/* Return a number of a task in its status file, "Tgid" or the last of "NSpid", that of its own namespace. */
static pid_t status_number(pid_t id, const char *key)
{
    char path[64], line[128];
    int number = 0;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/status", (int)id);
    file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0) {
            number = atoi(strrchr(line, '\t'));
            break;
        }
    if (file)
        fclose(file);
    return number;
}

static pid_t process_of(pid_t id)
{
    return status_number(id, "Tgid:");
}

static struct task *task_make(pid_t id, pid_t process)
{
    struct task *task = task_of(id);

    if (task)
        return task;
    task = task_of(0);
    if (!task) {
        errno = ENOSPC;
        die("tasks");
    }
    memset(task, 0, sizeof *task);
    task->id = id;
    task->process = process;
    task->number = status_number(id, "NSpid:");
    upmu_perf_task_init(&task->perf, (uint32_t)status_number(process, "NSpid:"), (uint32_t)task->number);
    return task;
}

/* Programs run on CPU 0. */
static void run_on_model(struct upmu_perf_task *next)
{
    if (perf_kernel_switch(0, next) != UPMU_OK)
        die("switch");
}

/*
 * Does an event count the instructions that CPU 0 executes, or what they do to a unit? Perf has a dummy that it never
 * disables.
 */
static bool counts_cpu(const struct upmu_perf_event *event)
{
    return event && !event->of_task && (event->cpu == 0 || event->attr.type >= UPMU_PERF_TYPE_UNIT) && event->enabled &&
           !(event->attr.type == UPMU_PERF_TYPE_SOFTWARE && event->attr.config == UPMU_PERF_DUMMY);
}

/*
 * Does anything count this thread? Of CPU 0 those are counted that have called exec: not perf itself. Perf starts
 * helpers when it has disabled its events: some 400,000 steps of theirs took minutes, and counted nothing.
 */
static bool is_counted(const struct task *task)
{
    if (task->perf.events)
        return true;
    for (unsigned i = 0; task->executed && i < EVENTS; i++)
        if (counts_cpu(files[i].event))
            return true;
    return false;
}

static void code_fetch(struct task *task, uint64_t ip)
{
    struct iovec here = {task->code, sizeof task->code}, there = {(void *)(uintptr_t)ip, sizeof task->code};

    memset(task->code, 0, sizeof task->code);
    (void)process_vm_readv(task->id, &here, 1, &there, 1, 0);
}

/* A tick of CPU 0, which interrupts a program with these registers. */
static void tick(const struct user_regs_struct *r)
{
    if (upmu_cpu_tick(&perf_kernel.cpu[0]) != UPMU_OK)
        die("tick");
    upmu_perf_tick(
        &perf_kernel.perf, 0,
        &(struct upmu_frame){
            .ip = r->rip, .sp = r->rsp, .fp = r->rbp, .user = true, .registers = values, .register_mask = REGISTERS});
}

/* A thread has executed an instruction. */
static void step_done(struct task *task)
{
    struct user_regs_struct registers;
    bool branch = x86_is_branch(task->code, true);

    if (ptrace(PTRACE_GETREGS, task->id, NULL, &registers) != 0)
        return;
    run_on_model(&task->perf);
    registers_keep(&registers);
    upmu_sim_advance_ns(&perf_kernel.sim, INSTRUCTION_NS);
    upmu_sim_events(&perf_kernel.sim, &(struct upmu_sim_burst){.instructions = 1,
                                                               .cycles = 2,
                                                               .ref_cycles = 2,
                                                               .branches = branch,
                                                               .user = true,
                                                               .ip = registers.rip,
                                                               .sp = registers.rsp});
    units_step();
    if (truth_file && task->executed)
        fprintf(truth_file, "%llx\n", registers.rip);
    if (++task->instructions % TICK_INSTRUCTIONS == 0)
        tick(&registers);
    code_fetch(task, registers.rip);
}

#include "tests/perf/supervisor_cpuid.h"
#include "tests/perf/supervisor_fast.h"

static void resume(struct task *task, int number)
{
    bool counted = !fast && is_counted(task);
    struct user_regs_struct registers;

    if (counted && !task->stepping && ptrace(PTRACE_GETREGS, task->id, NULL, &registers) == 0)
        code_fetch(task, registers.rip);
    task->stepping = counted;
    (void)ptrace(task->pending ? PTRACE_SYSCALL
                 : counted     ? PTRACE_SINGLESTEP
                               : PTRACE_CONT,
                 task->id, NULL, (void *)(intptr_t)number);
}

/* Threads that run freely, and are counted from now on, are stopped to be stepped. */
static void step_all(void)
{
    for (unsigned i = 0; i < TASKS; i++)
        if (!fast && tasks[i].id && tasks[i].id != caller && !tasks[i].stepping && is_counted(&tasks[i]))
            (void)ptrace(PTRACE_INTERRUPT, tasks[i].id, NULL, NULL);
}

/* ---- Calls ---- */

/* The call is not made; its result is this. */
static void answer(struct task *task, struct user_regs_struct *registers, int64_t result)
{
    registers->orig_rax = ~0ull;
    registers->rax = (unsigned long long)result;
    (void)ptrace(PTRACE_SETREGS, task->id, NULL, registers);
}

static void call_open(struct task *task, struct user_regs_struct *r)
{
    struct upmu_perf_event *event = malloc(sizeof *event);
    unsigned place = 0;
    int64_t result;

    while (place < EVENTS && files[place].event)
        place++;
    result = place < EVENTS ? upmu_perf_open(&perf_kernel.perf, (uint32_t)task->id, event, (void *)(uintptr_t)r->rdi,
                                             (int32_t)r->rsi, (int32_t)r->rdx, (int)r->r10, r->r8)
                            : -UPMU_PERF_EMFILE;
    if (log_file)
        fprintf(log_file, "%d open type %u config %#llx pid %d cpu %d group %d flags %#llx = %d\n", task->id,
                event->attr.type, (unsigned long long)event->attr.config, (int)r->rsi, (int)r->rdx, (int)r->r10, r->r8,
                (int)result);
    calls_open(task, r, result);
    if (result) {
        free(event);
        answer(task, r, result);
        return;
    }
    files[place].event = event;
    files[place].device = 0;
    files[place].inode = 0;
    task->pending = OPENING;
    task->event = place;
    task->call = *r;
    copy_out(NULL, (void *)(uintptr_t)(r->rsp - 1024), FILE_NAME, sizeof FILE_NAME);
    r->orig_rax = SYS_memfd_create;
    r->rdi = r->rsp - 1024;
    r->rsi = task->call.r8 & UPMU_PERF_FLAG_CLOEXEC ? 1 : 0;
    (void)ptrace(PTRACE_SETREGS, task->id, NULL, r);
}

/* The memory file that stands for an event was made. */
static void open_done(struct task *task)
{
    struct file *file = &files[task->event];
    struct user_regs_struct registers = task->call;
    struct user_regs_struct now;
    struct stat made;
    char path[64];

    if (ptrace(PTRACE_GETREGS, task->id, NULL, &now) != 0)
        return;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)task->id, (int)now.rax);
    if ((int64_t)now.rax < 0 || stat(path, &made) != 0)
        die("memfd_create");
    file->device = made.st_dev;
    file->inode = made.st_ino;
    file->process = task->process;
    file->number = (int)now.rax;
    registers.rax = now.rax;
    registers.rip = now.rip;
    registers.rcx = now.rcx;
    registers.r11 = now.r11;
    (void)ptrace(PTRACE_SETREGS, task->id, NULL, &registers);
    if (log_file)
        fprintf(log_file, "%d descriptor %d\n", task->id, (int)now.rax);
    calls_descriptor(task, (int)now.rax);
    step_all();
}

static void file_close(struct file *file)
{
    if (upmu_perf_close(file->event) != 0)
        die("close");
    free(file->event);
    if (file->memory && munmap(file->memory, file->bytes) != 0)
        die("munmap");
    free(file->pages);
    memset(file, 0, sizeof *file);
}

/* The program maps an event: its memory file gets that size, and the event a ring in it. */
static int64_t call_map(struct task *task, struct file *file, const struct user_regs_struct *r)
{
    size_t pages = r->rsi / UPMU_PERF_PAGE_BYTES;
    char path[64];
    int64_t result;
    int memory;

    if (file->memory)
        return r->rsi == file->bytes ? 0 : -UPMU_PERF_EINVAL;
    if (!(r->r10 & MAP_SHARED) || r->r9 || !pages || pages > UINT32_MAX)
        return -UPMU_PERF_EINVAL;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)task->id, (int)r->r8);
    memory = open(path, O_RDWR | O_CLOEXEC);
    if (memory < 0 || ftruncate(memory, (off_t)r->rsi) != 0)
        die("memory file");
    file->bytes = r->rsi;
    file->memory = mmap(NULL, file->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    file->pages = malloc(pages * sizeof *file->pages);
    if (file->memory == MAP_FAILED || !file->pages)
        die("pages");
    close(memory);
    for (size_t i = 0; i < pages; i++)
        file->pages[i] = file->memory + i * UPMU_PERF_PAGE_BYTES;
    result = upmu_perf_map(file->event, file->pages, (uint32_t)pages, r->rdx & PROT_WRITE);
    if (result) {
        (void)munmap(file->memory, file->bytes);
        free(file->pages);
        file->memory = NULL;
        file->pages = NULL;
    }
    return result;
}

/* ---- poll ---- */

static struct pollfd polled[POLLED];

/* Ask the events among the descriptors of a poll. Returns how many are ready; *out_events: how many are events. */
static unsigned poll_events(const struct task *task, size_t count, bool hide, unsigned *out_events)
{
    unsigned ready = 0;

    *out_events = 0;
    for (size_t i = 0; i < count; i++) {
        int number = polled[i].fd < -1 ? -2 - polled[i].fd : polled[i].fd;
        struct file *file = file_of(task->id, number);

        if (!file)
            continue;
        ++*out_events;
        polled[i].revents = (short)upmu_perf_poll(file->event);
        ready += polled[i].revents != 0;
        polled[i].fd = hide ? -2 - number : number;
    }
    return ready;
}

/*
 * A program polls. Where no event is ready, the kernel polls the other descriptors for a moment, and is then asked
 * again.
 */
static void call_poll(struct task *task, struct user_regs_struct *r)
{
    void *user = (void *)(uintptr_t)r->rdi;
    size_t bytes = r->rsi * sizeof *polled;
    unsigned events, ready;

    if (r->rsi > POLLED || !copy_in(NULL, polled, user, bytes))
        return;
    ready = poll_events(task, r->rsi, false, &events);
    calls_poll(task, polled, r->rsi, events, (int)r->rdx);
    if (ready) {
        (void)copy_out(NULL, user, polled, bytes);
        answer(task, r, ready);
        return;
    }
    if (!events)
        return;
    (void)poll_events(task, r->rsi, true, &events);
    (void)copy_out(NULL, user, polled, bytes);
    task->pending = POLLING;
    task->call = *r;
    if ((int)r->rdx < 0 || (int)r->rdx > POLL_MS)
        r->rdx = POLL_MS;
    (void)ptrace(PTRACE_SETREGS, task->id, NULL, r);
}

static void poll_done(struct task *task)
{
    struct user_regs_struct registers = task->call, now;
    void *user = (void *)(uintptr_t)registers.rdi;
    size_t bytes = registers.rsi * sizeof *polled;
    unsigned events, ready;
    bool again;

    caller = task->id;
    if (ptrace(PTRACE_GETREGS, task->id, NULL, &now) != 0 || !copy_in(NULL, polled, user, bytes))
        return;
    ready = poll_events(task, registers.rsi, false, &events);
    (void)copy_out(NULL, user, polled, bytes);
    now.rdx = registers.rdx;
    if ((int64_t)now.rax == RESTART_BLOCK)
        now.rax = 0;
    if ((int64_t)now.rax >= 0)
        now.rax += ready;
    /* The program waits for ever. The kernel makes the call again, unless a handler has run. */
    again = now.rax == 0 && (int)registers.rdx < 0;
    if (again)
        now.rax = (unsigned long long)RESTART_NO_HANDLER;
    (void)ptrace(PTRACE_SETREGS, task->id, NULL, &now);
    if (again)
        (void)ptrace(PTRACE_INTERRUPT, task->id, NULL, NULL);
}

/* A program gives itself another name. */
static void call_prctl(struct task *task, const struct user_regs_struct *r)
{
    char name[16] = "";

    if (r->rdi != PR_SET_NAME || !copy_in(NULL, name, (void *)(uintptr_t)r->rsi, sizeof name))
        return;
    name[sizeof name - 1] = 0;
    upmu_perf_comm(&task->perf, name, false);
}

/* True: the call is the kernel's to make. */
static bool call_begins(struct task *task)
{
    struct user_regs_struct r;
    struct file *file;
    int64_t result;

    if (ptrace(PTRACE_GETREGS, task->id, NULL, &r) != 0)
        return false;
    caller = task->id;
    if (r.orig_rax == SYS_perf_event_open) {
        call_open(task, &r);
        return true;
    }
    if (r.orig_rax == SYS_poll) {
        call_poll(task, &r);
        return true;
    }
    if (r.orig_rax == SYS_prctl) {
        call_prctl(task, &r);
        return true;
    }
    if (r.orig_rax == SYS_openat) {
        calls_path(task, &r);
        return true;
    }
    file = file_of(task->id, (int)(r.orig_rax == SYS_mmap ? r.r8 : r.rdi));
    if (!file)
        return true;
    switch (r.orig_rax) {
    case SYS_read:
        result = upmu_perf_read(file->event, (void *)(uintptr_t)r.rsi, r.rdx);
        break;
    case SYS_ioctl:
        result = upmu_perf_ioctl(file->event, (uint32_t)task->id, (uint32_t)r.rsi, r.rdx);
        break;
    case SYS_mmap:
        result = call_map(task, file, &r);
        if (log_file)
            fprintf(log_file, "%d mmap %d bytes %#llx = %d\n", task->id, (int)r.r8, r.rsi, (int)result);
        calls_use(task, &r, result);
        if (result)
            answer(task, &r, result);
        return true;
    case SYS_fcntl:
        calls_use(task, &r, 0);
        return true;
    default: /* close: by the process that opened it */
        if (file->process == task->process && file->number == (int)r.rdi)
            file_close(file);
        return true;
    }
    if (log_file)
        fprintf(log_file, "%d %s %d %#llx = %d\n", task->id, r.orig_rax == SYS_read ? "read" : "ioctl", (int)r.rdi,
                r.rsi, (int)result);
    calls_use(task, &r, result);
    answer(task, &r, result);
    step_all();
    return true;
}

/* ---- Begin and end of tasks ---- */

static void task_forks(struct task *parent)
{
    unsigned long id = 0;
    struct task *child;

    (void)ptrace(PTRACE_GETEVENTMSG, parent->id, NULL, &id);
    child = task_make((pid_t)id, process_of((pid_t)id));
    child->executed = parent->executed;
    child->asks_model = parent->asks_model;
    child->moved = parent->moved;
    if (upmu_perf_fork(&parent->perf, &child->perf, child->process == parent->process) != 0)
        die("fork");
    child->announced = true;
    if (child->held)
        resume(child, 0);
    child->held = false;
}

static void task_ends(struct task *task)
{
    if (perf_kernel.running[0] == &task->perf)
        run_on_model(&idle[0]);
    if (upmu_perf_exit(&task->perf) != UPMU_OK)
        die("exit");
    if (log_file && task->executed)
        fprintf(log_file, "%d executed %llu\n", task->id, (unsigned long long)task->instructions);
    if (task->id == task->process)
        for (unsigned i = 0; i < EVENTS; i++)
            if (files[i].event && files[i].process == task->process)
                file_close(&files[i]);
    task->id = 0;
}

/* Tell the name of a program that begins, and what exec has mapped for it. */
static void program_tell(struct task *task)
{
    char path[64], line[512], name[16] = "", flags[8], file_name[256];
    unsigned long long begin, end, offset, inode;
    unsigned major, minor;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/comm", (int)task->id);
    file = fopen(path, "r");
    if (!file || fscanf(file, "%15s", name) != 1 || fclose(file) != 0)
        die(path);
    upmu_perf_comm(&task->perf, name, true);
    snprintf(path, sizeof path, "/proc/%d/maps", (int)task->id);
    file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "%llx-%llx %7s %llx %x:%x %llu %255[^\n]", &begin, &end, flags, &offset, &major, &minor,
                   &inode, file_name) != 8)
            continue;
        upmu_perf_mmap(&task->perf, &(struct upmu_perf_mapping){.address = begin,
                                                                .bytes = end - begin,
                                                                .offset = offset,
                                                                .major = major,
                                                                .minor = minor,
                                                                .inode = inode,
                                                                .protection = (flags[0] == 'r' ? PROT_READ : 0u) |
                                                                              (flags[1] == 'w' ? PROT_WRITE : 0u) |
                                                                              (flags[2] == 'x' ? PROT_EXEC : 0u),
                                                                .flags = MAP_PRIVATE,
                                                                .path = file_name});
    }
    if (file)
        fclose(file);
}

static void task_executes(struct task *task, pid_t first)
{
    task->executed = task->id != first;
    task->instructions = 0;
    run_on_model(&task->perf);
    if (upmu_perf_exec(&task->perf, true) != 0)
        die("exec");
    program_tell(task);
    cpuid_replace(task);
}

/* ---- The loop ---- */

/*
 * A program has executed RDPMC, which this machine's kernel refuses: it gets the value of the model's counter, if it
 * may read it. Returns true: the instruction is done.
 */
static bool rdpmc_done(struct task *task)
{
    struct user_regs_struct r;
    uint64_t value;
    uintptr_t irq;
    bool fine;

    if (ptrace(PTRACE_GETREGS, task->id, NULL, &r) != 0)
        return false;
    code_fetch(task, r.rip);
    if (task->code[0] != 0x0f || task->code[1] != 0x33)
        return false;
    run_on_model(&task->perf);
    irq = perf_kernel.sim.port.irq_save(perf_kernel.sim.port.context);
    fine = perf_kernel.reads[0] && perf_kernel.sim.port.rdpmc(perf_kernel.sim.port.context, (uint32_t)r.rcx, &value);
    perf_kernel.sim.port.irq_restore(perf_kernel.sim.port.context, irq);
    if (!fine)
        return false;
    r.rax = (uint32_t)value;
    r.rdx = value >> 32;
    r.rip += 2;
    (void)ptrace(PTRACE_SETREGS, task->id, NULL, &r);
    if (task->stepping)
        step_done(task);
    return true;
}

/* A stop of a thread; the signal that it gets when it goes on. */
static int stop_handle(struct task *task, int status, pid_t first)
{
    int number = WSTOPSIG(status), event = status >> 16;
    siginfo_t info;

    if (fast)
        fast_execute(task);
    switch (event) {
    case PTRACE_EVENT_SECCOMP:
        (void)call_begins(task);
        return 0;
    case PTRACE_EVENT_FORK:
    case PTRACE_EVENT_VFORK:
    case PTRACE_EVENT_CLONE:
        task_forks(task);
        return 0;
    case PTRACE_EVENT_EXEC:
        task_executes(task, first);
        return 0;
    case PTRACE_EVENT_STOP:
        return 0;
    default:
        break;
    }
    if (number == (SIGTRAP | 0x80)) { /* a call ends */
        if (task->pending == OPENING)
            open_done(task);
        if (task->pending == POLLING)
            poll_done(task);
        task->pending = NOTHING;
        if (task->stepping)
            step_done(task);
        return 0;
    }
    if (number == SIGTRAP && task->stepping && ptrace(PTRACE_GETSIGINFO, task->id, NULL, &info) == 0 &&
        (info.si_code == TRAP_TRACE || info.si_code == TRAP_BRKPT || info.si_code > 0)) {
        step_done(task);
        return 0;
    }
    if ((number == SIGSEGV && rdpmc_done(task)) || (number == SIGILL && cpuid_done(task)))
        return 0;
    return number;
}

static int supervise(pid_t first)
{
    int code = 0, status;
    pid_t id;

    while ((id = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
        struct task *task = id > 0 ? task_of(id) : NULL;

        if (id <= 0) {
            fast_interrupt();
            continue;
        }
        if (!WIFSTOPPED(status)) {
            if (task)
                task_ends(task);
            if (id == first) {
                code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
                break;
            }
            continue;
        }
        if (!task)
            task = task_make(id, process_of(id));
        if (status >> 16 == PTRACE_EVENT_EXIT) {
            if (fast)
                fast_execute(task);
            task_ends(task);
            (void)ptrace(PTRACE_CONT, id, NULL, NULL);
            continue;
        }
        task->held = !task->announced;
        if (!task->held)
            resume(task, stop_handle(task, status, first));
    }
    return code;
}

static void map_write(const char *path, const char *format, unsigned number)
{
    FILE *file = fopen(path, "w");

    if (!file || fprintf(file, format, number) < 0 || fclose(file) != 0)
        die("files cannot be mounted here: a user namespace without names");
}

/*
 * Become root of a user namespace of one's own, where the machine lets this user (Linux, user_namespaces(7)). Returns
 * false with errno where it does not.
 */
static bool root_become(void)
{
    const unsigned user = geteuid(), group = getegid();

    if (unshare(CLONE_NEWUSER) != 0)
        return false;
    map_write("/proc/self/setgroups", "deny", 0);
    map_write("/proc/self/uid_map", "0 %u 1", user);
    map_write("/proc/self/gid_map", "0 %u 1", group);
    return true;
}

/* Calls that are looked at; all others are the kernel's. */
#define LOOK_AT(number) LOOK_AT_IF(true, number)
#define LOOK_AT_IF(condition, number)                                                                                  \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),                                                                 \
        BPF_STMT(BPF_RET | BPF_K, (condition) ? SECCOMP_RET_TRACE : SECCOMP_RET_ALLOW)

/*
 * From here on mounts are those of this process and its programs. The program has no namespace apart from the
 * supervisor's: in a chroot /proc/PID/maps would name its files from the root outside. Returns 0 or errno: a chroot
 * that is no mount of its own refuses.
 */
static int mounts_own(void)
{
    return unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ? errno : 0;
}

static _Noreturn void refuse_mounts(int code)
{
    fprintf(stderr, "supervisor: files cannot be mounted here: %s\n", strerror(code));
    _exit(125);
}

/* `refused`: what mounts_own() said. */
static _Noreturn void become(char **words, int ready, int refused)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        LOOK_AT(SYS_perf_event_open),
        LOOK_AT(SYS_read),
        LOOK_AT(SYS_ioctl),
        LOOK_AT(SYS_mmap),
        LOOK_AT(SYS_poll),
        LOOK_AT(SYS_close),
        LOOK_AT(SYS_prctl),
        LOOK_AT_IF(calls_file, SYS_fcntl),
        LOOK_AT_IF(calls_file, SYS_openat),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    char byte;

    if (files_at && (refused || mount(files_at, "/sys/bus/event_source/devices", NULL, MS_BIND, NULL)))
        refuse_mounts(refused ? refused : errno);
    /* Its /proc has other processes than the supervisor's. */
    if (alone) {
        refused = mounts_own();
        if (refused || mount("proc", "/proc", "proc", 0, NULL))
            refuse_mounts(refused ? refused : errno);
    }
    calls_mount(refused != 0, files_at != NULL);
    if (read(ready, &byte, 1) != 1 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        _exit(125);
    close(ready);
    execvp(words[0], words);
    fprintf(stderr, "supervisor: %s: %s\n", words[0], strerror(errno));
    _exit(127);
}

int main(int count, char **words)
{
    const long wishes = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
                        PTRACE_O_TRACEEXEC | PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL;
    const char *log = getenv("SUPERVISOR_LOG"), *truth = getenv("SUPERVISOR_TRUTH");
    int ready[2], refused;
    pid_t first;

    if (count < 3) {
        fprintf(stderr, "usage: supervisor MODEL PROGRAM [ARGUMENT...]\n");
        return 125;
    }
    machine_make(words[1]);
    if (log && !(log_file = fopen(log, "w")))
        die(log);
    if (truth && !(truth_file = fopen(truth, "w")))
        die(truth);
    if (getenv("SUPERVISOR_TSC"))
        fast_use_tsc();
    calls_begin();
    cpuid_begin();
    files_at = getenv("SUPERVISOR_FILES");
    if (files_at)
        upmu_perf_files(&perf_kernel.perf, file_write);
    alone = getenv("SUPERVISOR_ALONE") != NULL;
    if (geteuid() != 0 && !root_become() && (files_at || alone))
        die("files cannot be mounted here: no root, and no user namespace");
    refused = files_at || calls_sees ? mounts_own() : 0;
    if (alone && unshare(CLONE_NEWPID) != 0)
        die("files cannot be mounted here");
    if (pipe(ready) != 0 || (first = fork()) < 0)
        die("fork");
    if (!first) {
        close(ready[1]);
        become(words + 2, ready[0], refused);
    }
    if (ptrace(PTRACE_SEIZE, first, NULL, (void *)wishes) != 0)
        die("programs cannot be traced here");
    task_make(first, first)->announced = true;
    if (write(ready[1], "x", 1) != 1)
        die("pipe");
    close(ready[0]);
    close(ready[1]);
    fast_begin();
    return supervise(first);
}
