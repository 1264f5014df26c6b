/* SPDX-License-Identifier: MIT */
/*
 * Part of supervisor.c: SUPERVISOR_CALLS, a file that gets each demand of programs on perf_event_open with all that it
 * says and what is answered, for tests/perf/perf_calls.py; and SUPERVISOR_SEES, a folder for files that hide those of
 * this machine, on which perf's demands depend: the machine's PMUs, its CPUs and limits of its kernel.
 *
 * A line of the file is a word, the numbers of thread and process, and:
 *
 *     open TASK CPU GROUP FLAGS RESULT ATTR    perf_event_open: TASK is the class of its pid, ATTR the bytes in hex
 *     descriptor NUMBER                        of the last open of the thread
 *     read NUMBER BYTES RESULT
 *     ioctl NUMBER COMMAND ARGUMENT VALUE RESULT    VALUE: the 8 bytes behind an argument that is an address, or 0
 *     mmap NUMBER BYTES PROTECTION FLAGS OFFSET RESULT
 *     fcntl NUMBER COMMAND ARGUMENT            the kernel answers
 *     poll COUNT EVENTS WAIT                   of COUNT descriptors of events: all bits asked for, and "ms" or "ever"
 *     file PATH                                opens a file of SUPERVISOR_FILES or a limit of perf_event_open
 *
 * The first line is "sees own" where programs see the files of SUPERVISOR_SEES, else "sees host".
 */
#ifndef UPMU_TESTS_PERF_SUPERVISOR_CALLS_H
#define UPMU_TESTS_PERF_SUPERVISOR_CALLS_H

#define CALLS_DEVICES "/sys/bus/event_source/devices"
#define CALLS_CPUS "/sys/devices/system/cpu/"
#define CALLS_KERNEL "/proc/sys/kernel/perf_event_"
#define CALLS_SEEN 16u

static FILE *calls_file;
static const char *calls_sees; /* a folder, or NULL */
static struct {
    char here[PATH_MAX], there[128];
} calls_seen[CALLS_SEEN];
static unsigned calls_seen_count;

static void calls_line(const struct task *task, const char *what)
{
    fprintf(calls_file, "%s %d %d", what, (int)task->number, (int)task->process);
}

/* ---- What programs see of the machine ---- */

/* A file that hides another one of the machine. */
static void calls_hide(void *context, const char *path, const char *text)
{
    FILE *file;

    (void)context;
    if (strncmp(path, CALLS_KERNEL, sizeof CALLS_KERNEL - 1) != 0 &&
        strncmp(path, CALLS_CPUS, sizeof CALLS_CPUS - 1) != 0)
        return;
    if (calls_seen_count >= CALLS_SEEN)
        die("files that programs see");
    snprintf(calls_seen[calls_seen_count].here, PATH_MAX, "%s/%s", calls_sees, strrchr(path, '/') + 1);
    snprintf(calls_seen[calls_seen_count].there, sizeof calls_seen->there, "%s", path);
    file = fopen(calls_seen[calls_seen_count].here, "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0)
        die(path);
    calls_seen_count++;
}

static void calls_begin(void)
{
    const char *path = getenv("SUPERVISOR_CALLS");
    char cpus[16], folder[PATH_MAX];

    if (path && (!(calls_file = fopen(path, "we")) || setvbuf(calls_file, NULL, _IOLBF, 0) != 0))
        die(path);
    calls_sees = getenv("SUPERVISOR_SEES");
    if (!calls_sees)
        return;
    snprintf(folder, sizeof folder, "%s/devices", calls_sees);
    (void)mkdir(folder, 0777);
    snprintf(cpus, sizeof cpus, "0-%u\n", PERF_KERNEL_CPUS - 1u);
    calls_hide(NULL, CALLS_CPUS "online", cpus);
    calls_hide(NULL, CALLS_CPUS "possible", cpus);
    calls_hide(NULL, CALLS_CPUS "present", cpus);
    upmu_perf_files(&perf_kernel.perf, calls_hide);
}

/*
 * In the process that becomes the program: hide the machine's files, where this is allowed.  A file that the machine
 * lacks stays away.  `refused`: nothing can be mounted; `has_files`: files of devices are mounted already.
 */
static void calls_mount(bool refused, bool has_files)
{
    bool own = calls_sees && !refused;
    char folder[PATH_MAX];

    if (own && !has_files) {
        snprintf(folder, sizeof folder, "%s/devices", calls_sees);
        own = mount(folder, CALLS_DEVICES, NULL, MS_BIND, NULL) == 0 || errno == ENOENT;
    }
    for (unsigned i = 0; own && i < calls_seen_count; i++)
        own = mount(calls_seen[i].here, calls_seen[i].there, NULL, MS_BIND, NULL) == 0 || errno == ENOENT;
    if (!calls_file)
        return;
    fprintf(calls_file, "sees %s\n", own ? "own" : "host");
}

/* ---- Demands ---- */

static const char *calls_task(const struct task *task, int32_t pid)
{
    if (pid == -1)
        return "-1";
    if (pid == 0 || pid == task->number)
        return "self";
    for (unsigned i = 0; i < TASKS; i++)
        if (tasks[i].id && tasks[i].number == pid)
            return tasks[i].process == task->process ? "thread" : "child";
    return pid < 0 ? "negative" : "other";
}

static void calls_open(const struct task *task, const struct user_regs_struct *r, int64_t result)
{
    uint8_t attr[UPMU_PERF_PAGE_BYTES];
    uint32_t size = 0;

    if (!calls_file)
        return;
    if (!copy_in(NULL, attr, (void *)(uintptr_t)r->rdi, 8))
        memset(attr, 0, 8);
    else
        memcpy(&size, attr + 4, sizeof size);
    if (size < 64 || size > sizeof attr)
        size = 64;
    if (!copy_in(NULL, attr, (void *)(uintptr_t)r->rdi, size))
        size = 8;
    calls_line(task, "open");
    fprintf(calls_file, " %s %d %d %#llx %lld ", calls_task(task, (int32_t)r->rsi), (int)r->rdx, (int)r->r10, r->r8,
            (long long)result);
    for (uint32_t i = 0; i < size; i++)
        fprintf(calls_file, "%02x", attr[i]);
    fputc('\n', calls_file);
}

static void calls_descriptor(const struct task *task, int number)
{
    if (!calls_file)
        return;
    calls_line(task, "descriptor");
    fprintf(calls_file, " %d\n", number);
}

/* A call on the descriptor of an event. */
static void calls_use(const struct task *task, const struct user_regs_struct *r, int64_t result)
{
    uint64_t value = 0;

    if (!calls_file)
        return;
    switch (r->orig_rax) {
    case SYS_read:
        calls_line(task, "read");
        fprintf(calls_file, " %d %llu %lld\n", (int)r->rdi, r->rdx, (long long)result);
        break;
    case SYS_ioctl:
        if (!copy_in(NULL, &value, (void *)(uintptr_t)r->rdx, sizeof value))
            value = 0;
        calls_line(task, "ioctl");
        fprintf(calls_file, " %d %#x %#llx %llu %lld\n", (int)r->rdi, (unsigned)r->rsi, r->rdx,
                (unsigned long long)value, (long long)result);
        break;
    case SYS_mmap:
        calls_line(task, "mmap");
        fprintf(calls_file, " %d %llu %llu %llu %llu %lld\n", (int)r->r8, r->rsi, r->rdx, r->r10, r->r9,
                (long long)result);
        break;
    case SYS_fcntl:
        calls_line(task, "fcntl");
        fprintf(calls_file, " %d %llu %llu\n", (int)r->rdi, r->rsi, r->rdx);
        break;
    default:
        break;
    }
}

/* A poll of descriptors, of which so many are those of events. */
static void calls_poll(const struct task *task, const struct pollfd *list, size_t count, unsigned events, int wait)
{
    unsigned bits = 0;

    if (!calls_file || !events)
        return;
    for (size_t i = 0; i < count; i++)
        if (file_of(task->id, list[i].fd))
            bits |= (unsigned)list[i].events;
    calls_line(task, "poll");
    fprintf(calls_file, " %u %#x %s\n", events, bits, wait < 0 ? "ever" : wait ? "ms" : "0");
}

/* Read a string of the caller's, which may end where its memory does: then byte by byte. */
static void calls_string(uint64_t at, char *to, size_t bytes)
{
    size_t length = 0;

    memset(to, 0, bytes);
    if (!copy_in(NULL, to, (void *)(uintptr_t)at, bytes))
        while (length < bytes && copy_in(NULL, to + length, (void *)(uintptr_t)(at + length), 1) && to[length])
            length++;
    to[bytes - 1] = 0;
}

/* A program opens a file, by its name, or below a folder that is open: one about events is noted, if it is there. */
static void calls_path(const struct task *task, const struct user_regs_struct *r)
{
    char name[256], path[512] = "", here[PATH_MAX], folder[64];
    ssize_t length;

    calls_string(r->rsi, name, sizeof name);
    if (files_at && name[0] != '/' && (int)r->rdi >= 0) {
        snprintf(folder, sizeof folder, "/proc/%d/fd/%d", (int)task->id, (int)r->rdi);
        length = readlink(folder, path, sizeof path - sizeof name - 1);
        path[length > 0 ? length : 0] = 0;
        strcat(path, "/");
    }
    strcat(path, name);
    if (files_at && strncmp(path, CALLS_DEVICES "/", sizeof CALLS_DEVICES) == 0) {
        snprintf(here, sizeof here, "%s%s", files_at, path + sizeof CALLS_DEVICES - 1);
        if (access(here, F_OK) != 0)
            return;
    } else if (strncmp(path, CALLS_KERNEL, sizeof CALLS_KERNEL - 1) != 0) {
        return;
    }
    calls_line(task, "file");
    fprintf(calls_file, " %s\n", path);
}

#endif
