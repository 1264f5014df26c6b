/* SPDX-License-Identifier: MIT */
/*
 * The unprivileged half: a port for the whole library in user mode.
 */
#ifndef UPMU_SPLIT_DRIVER_H
#define UPMU_SPLIT_DRIVER_H

#include <examples/split/split_message.h>
#include <upmu/upmu.h>

struct split_driver {
    struct upmu_port port;
    /* Send it to the server and wait for the answer; false: the server is gone. */
    bool (*exchange)(void *context, struct split_message *message);
    void *context;
    uint32_t messages; /* so far */
};

/*
 * A port whose RDMSR and WRMSR are messages; it counts and does not sample.  `rdpmc` may be NULL: then counters are
 * read by message, too.
 */
void split_driver_init(struct split_driver *driver, bool (*exchange)(void *context, struct split_message *message),
                       void *context, void (*cpuid)(void *, uint32_t, uint32_t, uint32_t[4]),
                       bool (*rdpmc)(void *, uint32_t, uint64_t *));

/* Run a function of the server's by number. */
bool split_level0(struct split_driver *driver, enum split_function function, uint64_t *value);

#endif
