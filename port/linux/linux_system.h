/* SPDX-License-Identifier: MIT */
/*
 * The requests of port/linux to the operating system, as functions: a test can answer in the system's place.
 */
#ifndef UPMU_LINUX_SYSTEM_H
#define UPMU_LINUX_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UPMU_LINUX_PATH 200u

/* Results below 0 are -errno. Functions that access a file's bytes return how many they transferred. */
struct upmu_linux_system {
    void *context;
    int (*open)(void *context, const char *path, int flags); /* only its owner may read or write a new file */
    int64_t (*pread)(void *context, int file, void *bytes, size_t length, uint64_t offset);
    int64_t (*pwrite)(void *context, int file, const void *bytes, size_t length, uint64_t offset);
    int (*sync)(void *context, int file);
    /* lock a file until this program ends; -EWOULDBLOCK: another program has the lock */
    int (*lock)(void *context, int file);
    void (*close)(void *context, int file);
    int (*remove)(void *context, const char *path);
    int (*make_folder)(void *context, const char *path);
    int (*bind)(void *context, unsigned cpu); /* from now on this thread runs on that CPU alone */
    int (*this_cpu)(void *context);
    void (*cpuid)(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4]);
    uint64_t (*clock_ns)(void *context);
};

/* Linux itself. */
extern const struct upmu_linux_system upmu_linux_system_itself;

/* Read the first line of a file, without its end, or as much as fits; false: the file cannot be read. */
bool upmu_linux_line(const struct upmu_linux_system *system, const char *path, char *line, size_t size);

#endif
