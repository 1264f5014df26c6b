/* SPDX-License-Identifier: MIT */
/*
 * The workloads: small loops whose instruction counts are known.
 */
#include <tools/cmd/cmd_args.h>
#include <tools/cmd/cmd_loops.h>

enum workload_index { WORK_MEMSET, WORK_MEMCPY, WORK_BRANCHES, WORK_CHASE, WORK_SPIN, WORK_MIX, WORKLOADS };

static const struct cmd_workload workloads[WORKLOADS] = {
    [WORK_MEMSET] = {"memset", "stores, word by word", 200000, CMD_MEMSET_INSTRUCTIONS, CMD_MEMSET_BRANCHES, 0, 1},
    [WORK_MEMCPY] = {"memcpy", "a load and a store of each word", 200000, CMD_MEMCPY_INSTRUCTIONS, CMD_MEMCPY_BRANCHES,
                     1, 1},
    [WORK_BRANCHES] = {"branches", "branches that cannot be predicted", 200000, CMD_BRANCHES_INSTRUCTIONS,
                       CMD_BRANCHES_BRANCHES, 2, 1},
    [WORK_CHASE] = {"chase", "loads that wait for each other, all over memory", 200000, CMD_CHASE_INSTRUCTIONS,
                    CMD_CHASE_BRANCHES, 3, 1},
    [WORK_SPIN] = {"spin", "an empty loop", 1000000, CMD_SPIN_INSTRUCTIONS, CMD_SPIN_BRANCHES, 4, 1},
    [WORK_MIX] = {"mix", "all of them, one after the other", 100000,
                  CMD_MEMSET_INSTRUCTIONS + CMD_MEMCPY_INSTRUCTIONS + CMD_BRANCHES_INSTRUCTIONS +
                      CMD_CHASE_INSTRUCTIONS + CMD_SPIN_INSTRUCTIONS,
                  CMD_MEMSET_BRANCHES + CMD_MEMCPY_BRANCHES + CMD_BRANCHES_BRANCHES + CMD_CHASE_BRANCHES +
                      CMD_SPIN_BRANCHES,
                  0, 5},
};

const struct cmd_workload *cmd_workload(unsigned index)
{
    return index < WORKLOADS ? &workloads[index] : NULL;
}

const struct cmd_workload *cmd_workload_find(const char *name)
{
    unsigned i;

    for (i = 0; i < WORKLOADS; i++)
        if (cmd_equal(workloads[i].name, name))
            return &workloads[i];
    return NULL;
}

static const char *workload_at(const void *context, unsigned index)
{
    (void)context;
    return index < WORKLOADS ? workloads[index].name : NULL;
}

const struct cmd_workload *cmd_workload_operand(struct cmd *cmd, const struct cmd_args *args, const char *otherwise)
{
    const char *name = args->count > 0 ? args->operand[0] : otherwise;
    const struct cmd_workload *workload = cmd_workload_find(name);

    if (cmd_child(cmd) != NULL && args->count == 0 && args->iterations == 0)
        return &cmd_child(cmd)->workload;
    if (cmd_child(cmd) != NULL) {
        cmd_error(cmd, "a program takes neither a workload nor -n beside it");
        return NULL;
    }
    if (workload == NULL)
        cmd_unknown(cmd, "workload", name, cmd_nearest(name, workload_at, NULL), "help");
    return workload;
}

#if CMD_HAVE_LOOPS

/*
 * Chain one pointer in every 64 bytes into a cycle that visits all of them in an
 * order no prefetcher follows: i -> 5 i + 1 modulo a power of two.
 */
static void live_prepare(struct cmd *cmd)
{
    uintptr_t half = cmd->live->buffer_bytes / 2;
    uintptr_t lines = half / 64, i;
    char *chain = (char *)cmd->live->buffer + half;

    for (i = 0; i < lines; i++) {
        uintptr_t next = (i * 5 + 1) & (lines - 1);

        *(void **)(void *)(chain + i * 64) = chain + next * 64;
    }
    cmd->chain_at = chain;
}

/* The lower half of the buffer is written to; the upper half holds the chain. */
static void live_run(struct cmd *cmd, const struct cmd_workload *workload, uintptr_t iterations)
{
    uintptr_t half = cmd->live->buffer_bytes / 2;
    void *buffer = cmd->live->buffer;
    uintptr_t mask = half - 1;
    bool all = workload == &workloads[WORK_MIX];

    if (all || workload == &workloads[WORK_MEMSET])
        cmd_loop_memset(iterations, buffer, mask);
    if (all || workload == &workloads[WORK_MEMCPY])
        cmd_loop_memcpy(iterations, buffer, mask);
    if (all || workload == &workloads[WORK_BRANCHES])
        cmd_loop_branches(iterations, buffer, mask);
    if (all || workload == &workloads[WORK_CHASE])
        cmd->chain_at = cmd_loop_chase(iterations, cmd->chain_at);
    if (all || workload == &workloads[WORK_SPIN])
        cmd_loop_spin(iterations, buffer, mask);
}

static bool live_symbol(unsigned index, struct cmd_symbol *out_symbol)
{
    static const char *const names[] = {"spin", "memset", "memcpy", "branches", "chase"};
    uint64_t start[6];

    if (index >= sizeof names / sizeof names[0])
        return false;
    start[0] = (uintptr_t)cmd_loop_spin;
    start[1] = (uintptr_t)cmd_loop_memset;
    start[2] = (uintptr_t)cmd_loop_memcpy;
    start[3] = (uintptr_t)cmd_loop_branches;
    start[4] = (uintptr_t)cmd_loop_chase;
    start[5] = (uintptr_t)cmd_loop_end;
    out_symbol->name = names[index];
    out_symbol->start = start[index];
    out_symbol->end = start[index + 1];
    return true;
}

#else

static void live_prepare(struct cmd *cmd)
{
    (void)cmd;
}

static void live_run(struct cmd *cmd, const struct cmd_workload *workload, uintptr_t iterations)
{
    (void)cmd, (void)workload, (void)iterations;
}

static bool live_symbol(unsigned index, struct cmd_symbol *out_symbol)
{
    (void)index, (void)out_symbol;
    return false;
}

#endif

void cmd_workload_prepare(struct cmd *cmd)
{
    if (!cmd->simulated && cmd->chain_at == NULL)
        live_prepare(cmd);
}

void cmd_workload_run(struct cmd *cmd, const struct cmd_workload *workload, uint64_t iterations)
{
    if (cmd_child(cmd) != NULL && workload == &cmd_child(cmd)->workload)
        while (cmd_child(cmd)->run(cmd))
            ;
    else if (cmd->simulated)
        cmd_work_simulate(cmd, workload, iterations);
    else if (cmd->live->run != NULL)
        cmd->live->run(cmd->live->program, cmd, workload, iterations);
    else
        cmd_workload_loops(cmd, workload, iterations);
}

void cmd_workload_loops(struct cmd *cmd, const struct cmd_workload *workload, uint64_t iterations)
{
    live_run(cmd, workload, (uintptr_t)(iterations > UINTPTR_MAX ? UINTPTR_MAX : iterations));
}

bool cmd_symbol(const struct cmd *cmd, unsigned index, struct cmd_symbol *out_symbol)
{
    if (cmd_child(cmd) != NULL)
        return cmd_child(cmd)->symbol(index, out_symbol);
    return cmd->simulated ? cmd_work_sim_symbol(index, out_symbol) : live_symbol(index, out_symbol);
}

struct cmd_symbol cmd_symbol_of(const struct cmd *cmd, uint64_t ip)
{
    struct cmd_symbol symbol;
    unsigned i;

    for (i = 0; cmd_symbol(cmd, i, &symbol); i++)
        if (ip >= symbol.start && ip < symbol.end)
            return symbol;
    symbol.name = NULL;
    symbol.start = symbol.end = 0;
    return symbol;
}
