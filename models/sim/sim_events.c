/* SPDX-License-Identifier: MIT */
/*
 * Execute bursts: a burst is executed in pieces, cut at every overflow and at every late status bit or interrupt, so
 * that each comes at its exact step.
 *
 * A burst is `span` steps long. At a step, an event that happens `total` times in the burst has happened floor(total *
 * step / span) times. So events are evenly spread, and their number is exact at the end wherever the cuts were.
 */
#include "models/sim/sim_intern.h"

struct sim_run {
    struct upmu_sim *sim;
    const struct upmu_sim_burst *burst;
    unsigned from;
    uint64_t span;
    uint64_t step;
    uint64_t total[UPMU_SIM_CPUS][UPMU_SIM_COUNTERS];
};

/* Return the 128-bit number high:low divided by c. The caller makes sure that high < c: the result has 64 bits. */
static uint64_t sim_divide_long(uint64_t high, uint64_t low, uint64_t c)
{
#if defined(__x86_64__)
    __asm__("divq %2" : "+a"(low), "+d"(high) : "r"(c) : "cc");
    return low;
#else
    for (unsigned i = 0; i < 64; i++) {
        bool carry = high >> 63;

        high = high << 1 | low >> 63;
        low <<= 1;
        if (carry || high >= c) {
            high -= c;
            low |= 1;
        }
    }
    return low;
#endif
}

/* Return (a * b + add) / c, rounded down, with a product of 128 bits. The result must fit into 64 bits. */
static uint64_t sim_scale(uint64_t a, uint64_t b, uint64_t add, uint64_t c)
{
    uint64_t a0 = a & 0xffffffffu, a1 = a >> 32, b0 = b & 0xffffffffu, b1 = b >> 32;
    uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
    uint64_t middle2 = a0 * b1 + (middle & 0xffffffffu);
    uint64_t high = a1 * b1 + (middle >> 32) + (middle2 >> 32);
    uint64_t low = middle2 << 32 | (a0 * b0 & 0xffffffffu);

    low += add;
    high += low < add ? 1u : 0u;
    return high ? sim_divide_long(high, low, c) : upmu_sim_divide(low, c);
}

/* Return how often an event that happens `total` times in a burst of `span` steps has happened after `step` steps. */
static uint64_t sim_happened(uint64_t total, uint64_t step, uint64_t span)
{
    if (step == span)
        return total;
    if (total == span || step == 0)
        return step;
    return sim_scale(total, step, 0, span);
}

/* Return the step of the burst after which an event, `total` times in `span` steps, has happened `count` times. */
static uint64_t sim_step_of(uint64_t count, uint64_t total, uint64_t span)
{
    return total == span ? count : sim_scale(count, span, total - 1u, total);
}

static uint64_t sim_larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t burst_span(const struct upmu_sim_burst *burst)
{
    uint64_t span = sim_larger(burst->instructions, burst->cycles);

    span = sim_larger(span, sim_larger(burst->ref_cycles, burst->bus_cycles));
    span = sim_larger(span, sim_larger(burst->branches, burst->mispredicts));
    span = sim_larger(span, sim_larger(burst->llc_references, burst->llc_misses));
    span = sim_larger(span, burst->slots);
    span = sim_larger(span, sim_larger(burst->bad_slots, sim_larger(burst->frontend_slots, burst->retiring_slots)));
    span = sim_larger(span, sim_larger(burst->uops, sim_larger(burst->loads, burst->stores)));
    for (unsigned i = 0; i < UPMU_SIM_OTHERS && burst->other[i].count != 0; i++)
        span = sim_larger(span, burst->other[i].count);
    return span;
}

static uint64_t burst_ns(const struct upmu_sim_burst *burst)
{
    if (burst->ref_cycles != 0)
        return burst->ref_cycles;
    return burst->cycles != 0 ? burst->cycles : burst->instructions;
}

static bool sim_concerned(const struct sim_run *run, unsigned cpu)
{
    return upmu_sim_family_concerned(run->sim, cpu, run->from);
}

/* Return the number of instructions of the burst that have retired at a step. */
static uint64_t sim_retired_at(const struct sim_run *run, uint64_t step)
{
    return run->burst->instructions != 0 ? sim_happened(run->burst->instructions, step, run->span) : step;
}

static uint64_t sim_retired(const struct sim_run *run)
{
    return sim_retired_at(run, run->step);
}

/*
 * Return the step after which the next branch of a burst is taken, if the CPU stores its branches into memory; else the
 * end of the burst. The entry may be the one whose threshold interrupts.
 */
static uint64_t next_branch(const struct sim_run *run)
{
    const struct upmu_sim_burst *burst = run->burst;
    uint64_t instructions = burst->instructions != 0 ? burst->instructions : run->span, next, step;

    if (burst->branch_step == 0 || !upmu_sim_traces(run->sim, run->from))
        return run->span;
    next = (upmu_sim_divide(sim_retired(run), burst->branch_step) + 1u) * burst->branch_step;
    step = next < instructions ? sim_step_of(next, instructions, run->span) : run->span;
    return step > run->step ? step : run->step + 1u;
}

/*
 * Return the step at which the burst is cut next: its end, the next overflow of a counter, or the step at which a late
 * status bit or interrupt is due. Fills in run->total: how much each counter would count of the whole burst with its
 * present registers.
 */
static uint64_t next_cut(struct sim_run *run)
{
    uint64_t cut = run->span;

    for (unsigned cpu = 0; cpu < run->sim->cpus; cpu++) {
        if (!sim_concerned(run, cpu))
            continue;
        for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++) {
            bool moves = !(run->sim->unmoved >> i & 1u);
            uint64_t total = moves ? upmu_sim_family_delta(run->sim, cpu, i, run->from, run->burst) : 0;
            uint64_t before, room;

            run->total[cpu][i] = total;
            if (total == 0)
                continue;
            before = sim_happened(total, run->step, run->span);
            room = upmu_sim_family_room(run->sim, cpu, i);
            if (total - before >= room && sim_step_of(before + room, total, run->span) < cut)
                cut = sim_step_of(before + room, total, run->span);
        }
        if (upmu_sim_steps_left(&run->sim->cpu[cpu]) < cut - run->step)
            cut = run->step + upmu_sim_steps_left(&run->sim->cpu[cpu]);
    }
    return next_branch(run) < cut ? next_branch(run) : cut;
}

/* Take the branches of the burst from run->step up to the step `cut`: of many the last ones, as a stack is short. */
static void take_branches(const struct sim_run *run, uint64_t cut)
{
    const struct upmu_sim_burst *burst = run->burst;
    uint64_t from, to, most = 2u * UPMU_SIM_LBR * burst->branch_count;

    if (burst->branch_step == 0)
        return;
    from = upmu_sim_divide(sim_retired(run), burst->branch_step);
    to = upmu_sim_divide(sim_retired_at(run, cut), burst->branch_step);
    if (to - from > most && !upmu_sim_traces(run->sim, run->from))
        from = to - most;
    for (; from < to; from++)
        upmu_sim_branch(run->sim,
                        &burst->branch[from - upmu_sim_divide(from, burst->branch_count) * burst->branch_count]);
}

/* Return the address of an instruction of the burst, by its number from 0 on. */
static uint64_t instruction_at(const struct upmu_sim_burst *burst, uint64_t number)
{
    if (burst->ip_loop != 0)
        number -= upmu_sim_divide(number, burst->ip_loop) * burst->ip_loop;
    return burst->ip + burst->ip_step * number;
}

static void sim_locate(const struct sim_run *run)
{
    struct upmu_sim_interrupt *where = &run->sim->cpu[run->from].where;

    where->ip = instruction_at(run->burst, sim_retired(run));
    where->sp = run->burst->sp;
    where->user = run->burst->user;
}

/* Store the PEBS records of events that were reached: of the instruction that has just retired. */
static void store_records(const struct sim_run *run, unsigned cpu)
{
    uint64_t retired = sim_retired(run), number = retired != 0 ? retired - 1u : 0;

    upmu_sim_pebs_store(run->sim, cpu, run->burst, number, instruction_at(run->burst, number),
                        instruction_at(run->burst, retired));
}

static void count_up_to(struct sim_run *run, uint64_t cut, unsigned cpu)
{
    for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++) {
        uint64_t total = run->total[cpu][i];

        if (total != 0)
            upmu_sim_family_count(run->sim, cpu, i,
                                  sim_happened(total, cut, run->span) - sim_happened(total, run->step, run->span),
                                  run->burst);
    }
}

/*
 * Execute the burst from run->step up to the step `cut`: time passes, late status bits and interrupts become due,
 * counters count, interrupts are delivered. Late ones come before the counting, because a counter that overflows in
 * this piece does so at its end.
 */
static void run_up_to(struct sim_run *run, uint64_t cut)
{
    struct upmu_sim *sim = run->sim;
    uint64_t ns = burst_ns(run->burst);

    sim->now_ns += sim_happened(ns, cut, run->span) - sim_happened(ns, run->step, run->span);
    take_branches(run, cut); /* before the counting: an overflow at the end of this piece may freeze the records */
    for (unsigned cpu = 0; cpu < sim->cpus; cpu++) {
        if (!sim_concerned(run, cpu))
            continue;
        upmu_sim_step(sim, cpu, cut - run->step);
        count_up_to(run, cut, cpu);
    }
    run->step = cut;
    sim_locate(run);
    if (sim_is_amd(sim))
        upmu_sim_amd_ibs_fill(sim, run->from);
    for (unsigned cpu = 0; cpu < sim->cpus; cpu++)
        if (sim_concerned(run, cpu) && sim->cpu[cpu].pebs_due)
            store_records(run, cpu);
    for (unsigned cpu = 0; cpu < sim->cpus; cpu++) {
        if (sim_concerned(run, cpu))
            upmu_sim_poll(sim, cpu);
    }
}

static void add_truth(struct upmu_sim_totals *truth, const struct upmu_sim_burst *burst)
{
    truth->instructions += burst->instructions;
    truth->cycles += burst->cycles;
    truth->ref_cycles += burst->ref_cycles;
    truth->bus_cycles += burst->bus_cycles;
    truth->branches += burst->branches;
    truth->mispredicts += burst->mispredicts;
    truth->llc_references += burst->llc_references;
    truth->llc_misses += burst->llc_misses;
    truth->slots += burst->slots;
    truth->bad_slots += burst->bad_slots;
    truth->frontend_slots += burst->frontend_slots;
    truth->retiring_slots += burst->retiring_slots;
    truth->uops += burst->uops;
    truth->loads += burst->loads;
    truth->stores += burst->stores;
}

/*
 * Begin or end the transaction of a burst, if there is one. At the begin the microcode may change counter 3 (rule
 * ERRATUM_TFA). If the transaction aborts, counters with IN_TXCP get the value that they had at the begin (Linux
 * core.c).
 */
static void sim_transaction(struct upmu_sim *sim, const struct upmu_sim_burst *burst, bool end)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[sim->current];

    if (sim_is_p4(sim) || sim_is_amd(sim))
        return;
    if (burst->in_tx && !end && sim_is(sim, sim->current)->flags & UPMU_SIM_TFA && !(cpu->force_abort & 1u) &&
        sim_on(sim, UPMU_SIM_RULE_ERRATUM_TFA))
        cpu->counter[3].value ^= 0x1f;
    if (!burst->in_tx || !sim_on(sim, UPMU_SIM_RULE_COUNT_TX))
        return;
    for (unsigned i = 0; i < sim_is(sim, sim->current)->general; i++) {
        if (!(cpu->select[i] & SIM_SELECT_IN_TXCP))
            continue;
        if (!end) {
            cpu->counter[i].abort_value = cpu->counter[i].value;
        } else if (burst->tx_abort) {
            cpu->counter[i].value = cpu->counter[i].abort_value;
            cpu->counter[i].late = 0;
            cpu->status &= ~sim_global_bit(i);
        }
    }
}

void upmu_sim_events(struct upmu_sim *sim, const struct upmu_sim_burst *burst)
{
    struct sim_run run;
    struct upmu_sim_cpu *cpu = &sim->cpu[sim->current];

    run.sim = sim;
    run.burst = burst;
    run.from = sim->current;
    run.span = burst_span(burst);
    run.step = 0;
    sim_transaction(sim, burst, false);
    while (run.step < run.span)
        run_up_to(&run, next_cut(&run));
    sim_transaction(sim, burst, true);
    if (sim_is_amd(sim))
        upmu_sim_amd_after(sim, run.from, burst);
    upmu_sim_uncore_traffic_after(sim, run.from, burst);
    add_truth(&cpu->truth[burst->user ? 1 : 0], burst);
    for (unsigned i = 0; i < UPMU_SIM_METRICS; i++)
        cpu->metric_truth[i] += burst->slots * (burst->metrics >> 8u * i & 0xffu);
}

void upmu_sim_work(void *sim)
{
    struct upmu_sim_burst burst = {
        .instructions = UPMU_SIM_WORK_INSTRUCTIONS,
        .cycles = UPMU_SIM_WORK_CYCLES,
        .ref_cycles = UPMU_SIM_WORK_CYCLES,
        .bus_cycles = UPMU_SIM_WORK_CYCLES / 20u,
        .branches = UPMU_SIM_WORK_INSTRUCTIONS / 5u,
        .mispredicts = UPMU_SIM_WORK_INSTRUCTIONS / 100u,
        .llc_references = UPMU_SIM_WORK_INSTRUCTIONS / 50u,
        .llc_misses = UPMU_SIM_WORK_INSTRUCTIONS / 200u,
        .slots = UPMU_SIM_WORK_CYCLES * 4u,
        .uops = UPMU_SIM_WORK_INSTRUCTIONS + UPMU_SIM_WORK_INSTRUCTIONS / 2u,
        .loads = UPMU_SIM_WORK_INSTRUCTIONS / 4u,
        .stores = UPMU_SIM_WORK_INSTRUCTIONS / 8u,
        .ip = UPMU_SIM_WORK_IP,
        .ip_step = 4,
        .ip_loop = 50,
        .sp = UPMU_SIM_KERNEL_SP,
    };

    upmu_sim_events(sim, &burst);
}
