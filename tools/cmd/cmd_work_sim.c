/* SPDX-License-Identifier: MIT */
/*
 * The workloads as event streams for a simulated CPU: made-up but plausible
 * proportions, in code at made-up addresses.
 */
#include <tools/cmd/cmd_args.h>
#include <tools/cmd/cmd_loops.h>
#include <upmu/precise.h>

/*
 * Addresses of the simulated CPU's memory for precise records: the area is the first page.  The four pages behind it
 * have room for records with branches.
 */
#define SIM_RECORDS UINT64_C(0xffffc90000010000)
#define SIM_RECORDS_BYTES (5u * 4096u)

/* Addresses of the phases' data. */
#define SIM_DATA UINT64_C(0x10000000)
#define SIM_DATA_SPAN UINT64_C(0x1000000)

/* Of a thousand iterations; instructions and branches come from the loop. */
struct sim_phase {
    const char *name;
    uint8_t instructions, branches; /* of each iteration */
    uint32_t cycles;
    uint32_t mispredicts;
    uint32_t llc_references, llc_misses;
    uint32_t loads, stores, l1_misses;
    uint8_t source, latency; /* of each load: its code in a record (Linux 6.12 events/intel/ds.c), and cycles */
};

#define SIM_PHASES 5u
#define SIM_BASE UINT64_C(0x1d0000)
#define SIM_SPAN 0x400u

/*
 * The stack: a frame of two words for each phase's loop, then one of run, which calls the loops, then the last one: run
 * was called by main.
 */
#define SIM_STACK UINT64_C(0x7ef000)
#define SIM_FRAME 16u
#define SIM_RUN SIM_PHASES /* symbols behind those of the phases */
#define SIM_MAIN (SIM_PHASES + 1)

static const struct sim_phase sim_phases[SIM_PHASES] = {
    {"memset", CMD_MEMSET_INSTRUCTIONS, CMD_MEMSET_BRANCHES, 1420, 1, 62, 4, 0, 1000, 63, 0x01, 5},
    {"memcpy", CMD_MEMCPY_INSTRUCTIONS, CMD_MEMCPY_BRANCHES, 1980, 1, 118, 11, 1000, 1000, 125, 0x03, 14},
    {"branches", CMD_BRANCHES_INSTRUCTIONS, CMD_BRANCHES_BRANCHES, 11300, 497, 1, 0, 0, 0, 1, 0x01, 5},
    {"chase", CMD_CHASE_INSTRUCTIONS, CMD_CHASE_BRANCHES, 61800, 1, 960, 610, 1000, 0, 990, 0x1a, 220},
    {"spin", CMD_SPIN_INSTRUCTIONS, CMD_SPIN_BRANCHES, 1003, 0, 0, 0, 0, 0, 0, 0x01, 5},
};

/* A little disorder, the same in every program: 1/1024 of `value`, up or down. */
static uint64_t jittered(struct cmd *cmd, uint64_t value)
{
    uint32_t noise;

    cmd->jitter = cmd->jitter * 1664525u + 1013904223u;
    noise = cmd->jitter >> 20; /* 0 … 4095 */
    return value + cmd_scale(value, noise, UINT64_C(4095) * 512) - cmd_scale(value, 1, 1024);
}

/* The bytes of PERF_METRICS: 255ths of the slots that retired, were thrown away, were not filled, waited. */
static uint64_t top_down(const struct upmu_sim_burst *burst)
{
    uint64_t retired = cmd_scale(burst->retiring_slots, 255, burst->slots);
    uint64_t bad = cmd_scale(burst->bad_slots, 255, burst->slots);
    uint64_t unfilled = cmd_scale(burst->frontend_slots, 255, burst->slots);

    return retired | bad << 8 | unfilled << 16 | (255 - retired - bad - unfilled) << 24;
}

/* The address in run to which a phase's loop returns. */
static uint64_t sim_return(unsigned index)
{
    return SIM_BASE + SIM_RUN * SIM_SPAN + 8 * index + 8;
}

/* The last branches of a phase: run calls the loop, its last two rounds, the return. */
enum { BRANCH_CALL, BRANCH_ROUND_SLOW, BRANCH_ROUND, BRANCH_RETURN, PHASE_BRANCHES };

static void sim_phase_branches(unsigned index, struct upmu_sim_branch out[PHASE_BRANCHES])
{
    const uint64_t begin = SIM_BASE + index * SIM_SPAN, end = begin + 4u * sim_phases[index].instructions;

    out[BRANCH_CALL] = (struct upmu_sim_branch){
        .from = sim_return(index) - 5, .to = begin, .kind = UPMU_SIM_BRANCH_CALL, .cycles = 2};
    out[BRANCH_ROUND_SLOW] =
        (struct upmu_sim_branch){.from = end - 4, .to = begin, .kind = UPMU_SIM_BRANCH_COND, .cycles = 12};
    out[BRANCH_ROUND] =
        (struct upmu_sim_branch){.from = end - 4, .to = begin, .kind = UPMU_SIM_BRANCH_COND, .cycles = 3};
    out[BRANCH_RETURN] = (struct upmu_sim_branch){
        .from = end, .to = sim_return(index), .kind = UPMU_SIM_BRANCH_RETURN, .mispredicted = true, .cycles = 21};
}

static void sim_phase_run(struct cmd *cmd, unsigned index, uint64_t iterations)
{
    const struct sim_phase *phase = &sim_phases[index];
    uint64_t cycles = jittered(cmd, cmd_scale(iterations, phase->cycles, 1000));
    struct upmu_sim_burst burst = {
        .instructions = iterations * phase->instructions,
        .cycles = cycles,
        .ref_cycles = cmd_scale(cycles, 5, 8),
        .bus_cycles = cmd_scale(cycles, 1, 125),
        .branches = iterations * phase->branches,
        .mispredicts = jittered(cmd, cmd_scale(iterations, phase->mispredicts, 1000)),
        .llc_references = jittered(cmd, cmd_scale(iterations, phase->llc_references, 1000)),
        .llc_misses = jittered(cmd, cmd_scale(iterations, phase->llc_misses, 1000)),
        .slots = cycles * 4,
        .retiring_slots = iterations * phase->instructions,
        .ip = SIM_BASE + index * SIM_SPAN,
        .ip_step = 4,
        .ip_loop = phase->instructions,
        .sp = SIM_STACK + index * SIM_FRAME,
        .data = SIM_DATA + index * SIM_DATA_SPAN,
        .data_step = 8,
        .data_source = phase->source,
        .latency = phase->latency,
    };
    /* A branch that was mispredicted has 12 slots of what is thrown away, 40 of recovering, 8 of fetching anew. */
    const uint64_t misses = burst.mispredicts, undelivered = cmd_scale(cycles, 1, 5) + 8 * misses;
    /* libpfm4 4.13 intel_skl_events.h: MEM_INST_RETIRED, MEM_TRANS_RETIRED:LOAD_LATENCY, MEM_LOAD_RETIRED, UOPS_ISSUED,
       UOPS_RETIRED:RETIRE_SLOTS, INT_MISC:RECOVERY_CYCLES, IDQ_UOPS_NOT_DELIVERED:CORE */
    const struct upmu_sim_other others[] = {
        {.event = 0xd0, .umask = 0x81, .count = cmd_scale(iterations, phase->loads, 1000)},
        {.event = 0xd0, .umask = 0x82, .count = cmd_scale(iterations, phase->stores, 1000)},
        {.event = 0xcd, .umask = 0x01, .count = cmd_scale(iterations, phase->loads, 1000)},
        {.event = 0xd1, .umask = 0x08, .count = cmd_scale(iterations, phase->l1_misses, 1000)},
        {.event = 0xd1, .umask = 0x20, .count = burst.llc_misses},
        {.event = 0x0e, .umask = 0x01, .count = burst.retiring_slots + 12 * misses},
        {.event = 0xc2, .umask = 0x02, .count = burst.retiring_slots},
        {.event = 0x0d, .umask = 0x01, .count = 10 * misses},
        {.event = 0x9c, .umask = 0x01, .count = undelivered},
    };
    struct upmu_sim_branch branches[PHASE_BRANCHES];
    unsigned i, used = 0;

    _Static_assert(sizeof others / sizeof others[0] <= UPMU_SIM_OTHERS, "what a burst holds");
    burst.bad_slots = 52 * misses;
    burst.frontend_slots = undelivered;
    burst.metrics = top_down(&burst);
    for (i = 0; i < sizeof others / sizeof others[0]; i++)
        if (others[i].count != 0)
            burst.other[used++] = others[i];
    sim_phase_branches(index, branches);
    upmu_sim_branch(&cmd->sim, &branches[BRANCH_CALL]);
    if (cmd->takes_branches) { /* each round of the loop ends with a branch */
        burst.branch = &branches[BRANCH_ROUND];
        burst.branch_count = 1;
        burst.branch_step = phase->instructions;
    }
    upmu_sim_events(&cmd->sim, &burst);
    for (i = cmd->takes_branches ? BRANCH_RETURN : BRANCH_ROUND_SLOW; i < PHASE_BRANCHES; i++)
        upmu_sim_branch(&cmd->sim, &branches[i]);
}

void cmd_work_simulate(struct cmd *cmd, const struct cmd_workload *workload, uint64_t iterations)
{
    unsigned i;

    for (i = 0; i < workload->phases; i++)
        sim_phase_run(cmd, workload->first_phase + i, iterations);
}

/* ---- Memory for precise records ---- */

static uint8_t *records_of(struct cmd *cmd)
{
    return cmd->records + (0 - (uintptr_t)cmd->records) % 4096u;
}

static bool access_records(struct upmu_sim *sim, unsigned number, enum upmu_sim_memory_kind kind, uint64_t address,
                           uint8_t *bytes, uint32_t length)
{
    uint8_t *at = records_of(sim->test);

    if (number != 0 || address < SIM_RECORDS || address - SIM_RECORDS > SIM_RECORDS_BYTES - length)
        return false;
    at += address - SIM_RECORDS;
    for (uint32_t i = 0; i < length; i++)
        if (kind & UPMU_SIM_MEMORY_WRITE)
            at[i] = bytes[i];
        else
            bytes[i] = at[i];
    return true;
}

void cmd_work_sim_records(struct cmd *cmd)
{
    uint8_t *at = records_of(cmd);
    const struct upmu_record_memory memory = {.area = at,
                                              .area_linear = SIM_RECORDS,
                                              .records = at + 4096,
                                              .records_linear = SIM_RECORDS + 4096,
                                              .record_bytes = SIM_RECORDS_BYTES - 4096u,
                                              .kernel_from = cmd_child(cmd) != NULL ? 0 : 1};

    cmd->sim.memory = access_records;
    (void)!upmu_cpu_use_records(cmd->cpu, &memory, NULL);
}

bool cmd_work_sim_symbol(unsigned index, struct cmd_symbol *out_symbol)
{
    if (index > SIM_MAIN)
        return false;
    out_symbol->name = index < SIM_PHASES ? sim_phases[index].name : index == SIM_RUN ? "run" : "main";
    out_symbol->start = SIM_BASE + index * SIM_SPAN;
    out_symbol->end = out_symbol->start + SIM_SPAN;
    return true;
}

/* The loops return to five places in run, which returns to one in main, whose frame is the last. */
static bool sim_stack_read(void *context, uint64_t fp, bool user, uint64_t *out_next, uint64_t *out_return)
{
    uint64_t frame = (fp - SIM_STACK) / SIM_FRAME;

    (void)context, (void)user;
    if (fp < SIM_STACK || frame > SIM_RUN)
        return false;
    *out_next = SIM_STACK + (frame < SIM_RUN ? SIM_RUN : SIM_MAIN) * SIM_FRAME;
    *out_return = frame < SIM_RUN ? sim_return((unsigned)frame) : SIM_BASE + SIM_MAIN * SIM_SPAN + 8;
    return true;
}

const struct upmu_callers cmd_work_sim_callers = {.read = sim_stack_read, .depth = 8};
