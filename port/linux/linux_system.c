/* SPDX-License-Identifier: MIT */
/* Linux itself as a struct upmu_linux_system, by system calls (`cpuid`: by the instruction); and upmu_linux_line(). */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include "port/linux/linux_system.h"

#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int or_error(int result)
{
    return result < 0 ? -errno : result;
}

static int itself_open(void *context, const char *path, int flags)
{
    (void)context;
    return or_error(open(path, flags | O_CLOEXEC | (flags & O_CREAT ? O_NOFOLLOW : 0), 0600));
}

static int64_t itself_pread(void *context, int file, void *bytes, size_t length, uint64_t offset)
{
    ssize_t done = pread(file, bytes, length, (off_t)offset);

    (void)context;
    return done < 0 ? -errno : done;
}

static int64_t itself_pwrite(void *context, int file, const void *bytes, size_t length, uint64_t offset)
{
    ssize_t done = pwrite(file, bytes, length, (off_t)offset);

    (void)context;
    return done < 0 ? -errno : done;
}

static int itself_sync(void *context, int file)
{
    (void)context;
    return or_error(fsync(file));
}

static int itself_lock(void *context, int file)
{
    (void)context;
    return or_error(flock(file, LOCK_EX | LOCK_NB));
}

static void itself_close(void *context, int file)
{
    (void)context;
    (void)close(file);
}

static int itself_remove(void *context, const char *path)
{
    (void)context;
    return or_error(unlink(path));
}

static int itself_make_folder(void *context, const char *path)
{
    (void)context;
    return or_error(mkdir(path, 0700));
}

static int itself_bind(void *context, unsigned cpu)
{
    cpu_set_t set;

    (void)context;
    if (cpu >= CPU_SETSIZE)
        return -EINVAL;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    return or_error(sched_setaffinity(0, sizeof set, &set));
}

static int itself_this_cpu(void *context)
{
    (void)context;
    return or_error(sched_getcpu());
}

static void itself_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    (void)context;
    __cpuid_count(leaf, subleaf, out[0], out[1], out[2], out[3]);
}

static uint64_t itself_clock_ns(void *context)
{
    struct timespec now;

    (void)context;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

const struct upmu_linux_system upmu_linux_system_itself = {
    .open = itself_open,
    .pread = itself_pread,
    .pwrite = itself_pwrite,
    .sync = itself_sync,
    .lock = itself_lock,
    .close = itself_close,
    .remove = itself_remove,
    .make_folder = itself_make_folder,
    .bind = itself_bind,
    .this_cpu = itself_this_cpu,
    .cpuid = itself_cpuid,
    .clock_ns = itself_clock_ns,
};

bool upmu_linux_line(const struct upmu_linux_system *system, const char *path, char *line, size_t size)
{
    int file = system->open(system->context, path, O_RDONLY);
    int64_t length;

    line[0] = '\0';
    if (file < 0)
        return false;
    length = system->pread(system->context, file, line, size - 1, 0);
    system->close(system->context, file);
    line[length > 0 ? length : 0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    return length >= 0;
}
