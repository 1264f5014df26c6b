/* SPDX-License-Identifier: MIT */
/* The functions of the operating system that port/linux needs, as a table: a test can give a table of its own. */
#ifndef UPMU_LINUX_SYSTEM_H
#define UPMU_LINUX_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UPMU_LINUX_PATH 200u

/*
 * Functions of the operating system. Results below 0 are -errno. pread and pwrite return how many bytes they
 * transferred.
 */
struct upmu_linux_system {
    void *context;
    /* open a file; a file that is created can be read and written by its owner alone */
    int (*open)(void *context, const char *path, int flags);
    int64_t (*pread)(void *context, int file, void *bytes, size_t length, uint64_t offset);
    int64_t (*pwrite)(void *context, int file, const void *bytes, size_t length, uint64_t offset);
    int (*sync)(void *context, int file);
    /* lock a file until this program ends; -EWOULDBLOCK: another program has the lock */
    int (*lock)(void *context, int file);
    void (*close)(void *context, int file);
    int (*remove)(void *context, const char *path);
    int (*make_folder)(void *context, const char *path);
    int (*bind)(void *context, unsigned cpu); /* limit this thread to one CPU, from now on */
    int (*this_cpu)(void *context);
    void (*cpuid)(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4]);
    uint64_t (*clock_ns)(void *context);
};

/* Linux itself. */
extern const struct upmu_linux_system upmu_linux_system_itself;

/*
 * Read the first line of the file `path` into `line`, without its newline; a longer line is cut to `size` - 1 bytes.
 * False: the file cannot be read, and `line` is "".
 */
bool upmu_linux_line(const struct upmu_linux_system *system, const char *path, char *line, size_t size);

#endif
