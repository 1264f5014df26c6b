/* SPDX-License-Identifier: MIT */
/*
 * Record how the kernel of this machine answers the requests of perf_attrs.h: record_errors SEEDS prints a head that
 * says which kernel it was and with which rights, then the errno of each request, 0 where it was granted, 40 to a
 * line.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "tests/perf/perf_attrs.h"

static long open_event(void *attr, int pid, int cpu, int group, unsigned long flags)
{
    return syscall(SYS_perf_event_open, attr, pid, cpu, group, flags);
}

static long setting(const char *name)
{
    char path[96];
    long value = -99;
    FILE *file;

    snprintf(path, sizeof path, "/proc/sys/kernel/%s", name);
    file = fopen(path, "r");
    if (!file || fscanf(file, "%ld", &value) != 1)
        value = -99;
    if (file)
        fclose(file);
    return value;
}

int main(int count, char **words)
{
    unsigned long seeds = count > 1 ? strtoul(words[1], NULL, 0) : 20000;
    static struct perf_request request;
    struct upmu_perf_attr dummy = {.type = UPMU_PERF_TYPE_SOFTWARE,
                                   .size = 64,
                                   .config = UPMU_PERF_DUMMY,
                                   .flags = UPMU_PERF_DISABLED | UPMU_PERF_EXCLUDE_KERNEL};
    struct upmu_perf_attr small = {.type = UPMU_PERF_TYPE_SOFTWARE, .size = 1};
    struct utsname system;
    int leader = (int)open_event(&dummy, 0, -1, -1, 0), sibling = (int)open_event(&dummy, 0, -1, leader, 0);
    int other = open("/dev/null", O_RDONLY);

    if (leader < 0 || sibling < 0 || other < 0 || uname(&system)) {
        fprintf(stderr, "perf_event_open: errno %d\n", errno);
        return 2;
    }
    (void)open_event(&small, 0, -1, -1, 0);
    printf("# %s: seeds %lu, attribute bytes %u, uid %d, paranoid %ld, rate %ld, stack %ld, cpus %ld\n", system.release,
           seeds, small.size, (int)getuid(), setting("perf_event_paranoid"), setting("perf_event_max_sample_rate"),
           setting("perf_event_max_stack"), sysconf(_SC_NPROCESSORS_CONF));
    for (unsigned long seed = 0; seed < seeds; seed++) {
        const int pids[PERF_PIDS] = {0, -1, 0x3ffffff, -2}, groups[PERF_GROUPS] = {-1, leader, sibling, 999, other};
        long file;

        perf_request_make(&request, seed);
        file = open_event(request.bytes, pids[request.pid], request.cpu, groups[request.group], request.flags);
        printf("%d%c", file < 0 ? errno : 0, seed % 40 == 39 ? '\n' : ' ');
        if (file >= 0)
            close((int)file);
    }
    return 0;
}
