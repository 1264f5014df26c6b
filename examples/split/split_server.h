/* SPDX-License-Identifier: MIT */
/*
 * The privileged half: what a small server needs to execute RDMSR and WRMSR for a driver.
 */
#ifndef UPMU_SPLIT_SERVER_H
#define UPMU_SPLIT_SERVER_H

#include <examples/split/split_message.h>
#include <upmu/permit.h>

#define SPLIT_CLIENTS 4

struct split_server {
    const struct upmu_permit *rows; /* of the CPU's PMU: `upmu permits`, or upmu_permit_list() */
    size_t count;
    uint32_t mine[SPLIT_CLIENTS]; /* the counters of each client: all that the server remembers */
    uint32_t refused;
    /* The instructions; false: it faulted. */
    bool (*rdmsr)(void *context, uint32_t msr, uint64_t *out_value);
    bool (*wrmsr)(void *context, uint32_t msr, uint64_t value);
    void (*set_pce)(void *context, bool on);
    void *context;
};

/* Answer a message of a client. */
void split_serve(struct split_server *server, unsigned client, struct split_message *message);

#endif
