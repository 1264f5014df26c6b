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

static bool may_read(const struct split_server *server, uint32_t mine, uint32_t msr)
{
    return msr == PERF_CAPABILITIES || msr == MISC_ENABLE ||
           upmu_permit_check(server->rows, server->count, mine, UPMU_LEVEL_SESSION, msr, NULL);
}

/* A driver may see the registers of its own counters, those of several counters, and those that say which PMU it is. */
static enum split_answer read_register(struct split_server *server, uint32_t mine, struct split_message *message)
{
    message->value = 0;
    if (!may_read(server, mine, message->number))
        return may_read(server, ~UINT32_C(0), message->number) ? SPLIT_OTHERS : SPLIT_REFUSED;
    return server->rdmsr(server->context, message->number, &message->value) ? SPLIT_OK : SPLIT_FAULT;
}

static enum split_answer write_register(struct split_server *server, unsigned client, uint32_t msr, uint64_t *value)
{
    uint32_t mine = server->mine[client];
    uint64_t present, asked = *value, none = 0;
    /*
     * A driver raises no interrupts and counts no other thread.  A client that may has more than a session only where
     * that has nothing (off-core responses).
     */
    bool payload = server->payload >> client & 1u && !upmu_permit_check(server->rows, server->count, ~UINT32_C(0),
                                                                       UPMU_LEVEL_SESSION, msr, &none);
    enum upmu_level level = payload ? UPMU_LEVEL_PRIVILEGED : UPMU_LEVEL_SESSION;

    if (!present_value(server, msr, &present))
        return SPLIT_FAULT;
    if (!upmu_permit_merge(server->rows, server->count, mine, level, msr, present, value) &&
        !upmu_permit_check(server->rows, server->count, mine, level, msr, &asked))
        return SPLIT_REFUSED;
    return server->wrmsr(server->context, msr, *value) ? SPLIT_OK : SPLIT_FAULT;
}

/* ---- RDPMC ---- */

/*
 * Are the registers of others 0, so that RDPMC shows nothing of them?  Their bits of a fixed control count as a select.
 * Of registers of several counters those that a program may write show no counts; metrics do, which none may write.
 */
static bool is_quiet(struct split_server *server, uint32_t mine, const struct upmu_permit *row)
{
    bool several = row->counters & (row->counters - 1u);
    uint64_t value;

    if (!(row->counters & ~mine) || (several && row->privileged) || row->flags & UPMU_PERMIT_MERGED ||
        !(row->flags & UPMU_PERMIT_READ))
        return true;
    if (!server->rdmsr(server->context, row->address, &value))
        return false;
    return (row->flags & UPMU_PERMIT_PART ? value & row->privileged : value) == 0;
}

static void set_open(struct split_server *server)
{
    unsigned client = server->running;
    bool open = client < SPLIT_CLIENTS && server->asked >> client & 1u;

    for (size_t i = 0; open && i < server->count; i++)
        open = is_quiet(server, server->mine[client], &server->rows[i]);
    if (open != server->open)
        server->set_pce(server->context, open);
    server->open = open;
}

void split_begin(struct split_server *server)
{
    server->asked = 0;
    server->running = SPLIT_CLIENTS;
    server->open = false;
    server->set_pce(server->context, false);
}

void split_run(struct split_server *server, unsigned client)
{
    server->running = client < SPLIT_CLIENTS && server->mine[client] ? client : SPLIT_CLIENTS;
    set_open(server);
}

static enum split_answer set_pce(struct split_server *server, unsigned client, uint64_t *value)
{
    server->asked &= ~(1u << client);
    server->asked |= *value ? 1u << client : 0;
    set_open(server);
    *value = server->open;
    return SPLIT_OK;
}

/* ---- Messages ---- */

static enum split_answer refusals(struct split_server *server, unsigned client, uint64_t *value)
{
    (void)client;
    *value = server->refused;
    return SPLIT_OK;
}

static enum split_answer forget(struct split_server *server, unsigned client, uint64_t *value)
{
    for (size_t i = 0; i < server->count; i++) {
        *value = 0;
        (void)write_register(server, client, server->rows[i].address, value);
    }
    return SPLIT_OK;
}

typedef enum split_answer split_function_of(struct split_server *server, unsigned client, uint64_t *value);
static split_function_of *const functions[] = {[SPLIT_REFUSALS] = refusals, [SPLIT_FORGET] = forget};

static enum split_answer answer(struct split_server *server, unsigned client, struct split_message *message)
{
    switch (message->operation) {
    case SPLIT_RDMSR:
        return read_register(server, server->mine[client], message);
    case SPLIT_WRMSR:
        return write_register(server, client, message->number, &message->value);
    case SPLIT_SETPCE:
        return set_pce(server, client, &message->value);
    case SPLIT_LEVEL0:
        if (message->number < sizeof functions / sizeof functions[0])
            return functions[message->number](server, client, &message->value);
        return SPLIT_REFUSED;
    default:
        return SPLIT_REFUSED;
    }
}

void split_serve(struct split_server *server, unsigned client, struct split_message *message)
{
    bool known = client < SPLIT_CLIENTS && server->mine[client];

    if (known && server->running != client)
        split_run(server, client);
    message->answer = known ? answer(server, client, message) : SPLIT_REFUSED;
    if (message->answer == SPLIT_REFUSED || message->answer == SPLIT_OTHERS)
        server->refused++;
}
