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
    uint32_t mine[SPLIT_CLIENTS]; /* the counters of each client; no two have the same one */
    uint32_t payload; /* clients, as bits, that may write registers which hyper-threads share (off-core responses) */
    uint32_t refused;
    /* private */
    uint32_t asked;   /* clients, as bits, that asked for RDPMC */
    unsigned running; /* the client that runs now; SPLIT_CLIENTS: none */
    bool open;        /* CR4.PCE */
    /* The instructions; false: it faulted. */
    bool (*rdmsr)(void *context, uint32_t msr, uint64_t *out_value);
    bool (*wrmsr)(void *context, uint32_t msr, uint64_t value);
    void (*set_pce)(void *context, bool on);
    void *context;
};

/* Begin, with the first part filled in: RDPMC is closed. */
void split_begin(struct split_server *server);

/*
 * The CPU goes to a client (SPLIT_CLIENTS: to a program that is none); call it at every switch.  RDPMC is open while a
 * client runs that asked for it, if all registers of counters that are not its own are 0 then.
 */
void split_run(struct split_server *server, unsigned client);

/* Answer a message of a client, which runs. */
void split_serve(struct split_server *server, unsigned client, struct split_message *message);

#endif
