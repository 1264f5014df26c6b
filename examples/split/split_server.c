/* SPDX-License-Identifier: MIT */
/*
 * The privileged half: checks a register and a value, executes the instruction, and knows nothing else of performance
 * monitoring.  It is linked with core/hw/permit.c and a table of rows, and needs nothing more.
 */
#include <examples/split/split_server.h>

/* Read by detection, never written. */
#define PERF_CAPABILITIES 0x345u
#define MISC_ENABLE 0x1a0u

/* The present value of a register with bits of several counters; an acknowledgement has none. */
static bool present_value(struct split_server *server, uint32_t msr, uint64_t *out_value)
{
    *out_value = 0;
    return !upmu_permit_check(server->rows, server->count, ~UINT32_C(0), UPMU_LEVEL_SESSION, msr, NULL) ||
           server->rdmsr(server->context, msr, out_value);
}

/* A driver may see each register of the PMU, as others use it, too, and those that say which PMU it is. */
static enum split_answer read_register(struct split_server *server, struct split_message *message)
{
    if (message->number != PERF_CAPABILITIES && message->number != MISC_ENABLE &&
        !upmu_permit_check(server->rows, server->count, ~UINT32_C(0), UPMU_LEVEL_SESSION, message->number, NULL))
        return SPLIT_REFUSED;
    return server->rdmsr(server->context, message->number, &message->value) ? SPLIT_OK : SPLIT_FAULT;
}

static enum split_answer write_register(struct split_server *server, uint32_t mine, uint32_t msr, uint64_t *value)
{
    uint64_t present, asked = *value, none = 0;
    /* A driver raises no interrupts: it has more than a session only where that has nothing (off-core responses). */
    enum upmu_level level = upmu_permit_check(server->rows, server->count, ~UINT32_C(0), UPMU_LEVEL_SESSION, msr, &none)
                                ? UPMU_LEVEL_SESSION
                                : UPMU_LEVEL_PRIVILEGED;

    if (!present_value(server, msr, &present))
        return SPLIT_FAULT;
    if (!upmu_permit_merge(server->rows, server->count, mine, level, msr, present, value) &&
        !upmu_permit_check(server->rows, server->count, mine, level, msr, &asked))
        return SPLIT_REFUSED;
    return server->wrmsr(server->context, msr, *value) ? SPLIT_OK : SPLIT_FAULT;
}

static enum split_answer refusals(struct split_server *server, uint32_t mine, uint64_t *value)
{
    (void)mine;
    *value = server->refused;
    return SPLIT_OK;
}

static enum split_answer forget(struct split_server *server, uint32_t mine, uint64_t *value)
{
    for (size_t i = 0; i < server->count; i++) {
        *value = 0;
        (void)write_register(server, mine, server->rows[i].address, value);
    }
    return SPLIT_OK;
}

typedef enum split_answer split_function_of(struct split_server *server, uint32_t mine, uint64_t *value);
static split_function_of *const functions[] = {[SPLIT_REFUSALS] = refusals, [SPLIT_FORGET] = forget};

static enum split_answer answer(struct split_server *server, uint32_t mine, struct split_message *message)
{
    switch (message->operation) {
    case SPLIT_RDMSR:
        return read_register(server, message);
    case SPLIT_WRMSR:
        return write_register(server, mine, message->number, &message->value);
    case SPLIT_SETPCE:
        server->set_pce(server->context, message->value != 0);
        return SPLIT_OK;
    case SPLIT_LEVEL0:
        if (message->number < sizeof functions / sizeof functions[0])
            return functions[message->number](server, mine, &message->value);
        return SPLIT_REFUSED;
    default:
        return SPLIT_REFUSED;
    }
}

void split_serve(struct split_server *server, unsigned client, struct split_message *message)
{
    uint32_t mine = client < SPLIT_CLIENTS ? server->mine[client] : 0;

    message->answer = mine ? answer(server, mine, message) : SPLIT_REFUSED;
    if (message->answer == SPLIT_REFUSED)
        server->refused++;
}
