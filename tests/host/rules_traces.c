/* SPDX-License-Identifier: MIT */
/*
 * What must hold of branch traces in memory: written from upmu/bts.h and docs/BRANCHES.md, "Traces in memory".
 *
 * The hardware tells of each branch that is taken, and whether it is stored.  So what a trace shows after its end is
 * known: the last branches that were stored and fit, the oldest first, without those of modes that it does not record.
 */
#include <string.h>

#include "tests/host/simulated.h"

#define ENTRY 24u /* bytes, of 64-bit words */
#define ON UINT64_C(0xc0)
#define OFF UINT64_C(0x600)
#define ALL UINT64_C(0x7c0)

static uint64_t value_of(unsigned number, uint32_t msr)
{
    uint64_t value = 0;

    (void)host.setting.family->rdmsr(host.hardware, number, msr, &value);
    return value;
}

static bool is_on(unsigned number)
{
    return (value_of(number, 0x1d9) & ON) == ON;
}

/* Has the CPU what a trace needs?  (A first version of architectural monitoring here has no debug store.) */
static bool is_promised(void)
{
    return host.setting.family == &hardware_intel &&
           !(host.setting.options.trace_ways & (HARDWARE_TRACES_DENIED | HARDWARE_TRACES_NARROW)) &&
           strcmp(host.setting.family->models[host.setting.model].name, "version 1") != 0;
}

static bool can_trace(void)
{
    return is_promised() && !(host.setting.options.trace_ways & (HARDWARE_TRACES_DROPS | HARDWARE_TRACES_NO_AREA));
}

/* Did a former kernel leave a trace on, which the library has not ended? */
static bool is_left_on(unsigned number)
{
    return (rules_found(number, 0x1d9) & ON) == ON && value_of(number, 0x600) == rules_found(number, 0x600);
}

/* A fault since its start. */
static bool is_doubtful(unsigned number)
{
    return host.cpu[number].faulted || host.cpu[number].traces.faults != host.verdict->figures.faults;
}

/* ---- What is stored ---- */

/* branches.h: a branch is of user mode if both its ends are. */
static bool is_wanted(uint32_t record, bool from_user, bool to_user)
{
    bool user = record & UPMU_BRANCH_USER, kernel = record & UPMU_BRANCH_KERNEL;

    return user == kernel || user == (from_user && to_user);
}

static void check_taken(const struct hardware_branch *branch, bool on, bool stored)
{
    const struct host_cpu *cpu = &host.cpu[branch->cpu];
    const struct host_traces *at = &cpu->traces;
    bool qualified = !(host.setting.options.trace_ways & HARDWARE_TRACES_PLAIN);
    bool wanted = is_wanted(at->record, branch->from_user, branch->to_user);

    if (stored && cpu->world == CPU_IN_GUEST && !cpu->faulted && !is_left_on(branch->cpu))
        rules_fail(RULE_DAMAGE, "CPU %u stores a branch in a guest", branch->cpu);
    if (!rules_on(RULE_TRACES) || cpu->calls || cpu->in_nmi || cpu->in_vector || at->busy || cpu->coming != HOST_NONE ||
        cpu->power != CPU_LIVE || !cpu->cpu || cpu->useless || cpu->unreachable || cpu->world != CPU_IN_HOST ||
        is_doubtful(branch->cpu))
        return;
    if (!traces_lent(branch->cpu) && on && !is_left_on(branch->cpu))
        rules_fail(RULE_TRACES, "CPU %u: branches are stored, and no trace runs", branch->cpu);
    if (at->state != TRACE_RUNS)
        return;
    /* (Which end of others the hardware looks at is not known.) */
    if (!on || (wanted && !stored && branch->from_user == branch->to_user))
        rules_fail(RULE_TRACES, "CPU %u: a trace of %x runs, and a branch from %llx to %llx is not stored", branch->cpu,
                   (unsigned)at->record, (unsigned long long)branch->from, (unsigned long long)branch->to);
    if (stored && qualified && !wanted && branch->from_user == branch->to_user)
        rules_fail(RULE_TRACES, "CPU %u: the hardware stores branches of the mode that a trace of %x leaves out",
                   branch->cpu, (unsigned)at->record);
}

/* (What was found on may be on again before the call returns that ends the trace.) */
static uint64_t area_of(unsigned number)
{
    const struct host_cpu *cpu = &host.cpu[number];

    return cpu->traces.area ? cpu->traces.bts->area_linear : cpu->precise.linear;
}

void traces_taken(const struct hardware_branch *branch, bool on, bool stored)
{
    struct host_traces *at = &host.cpu[branch->cpu].traces;

    if (host.looking)
        return;
    check_taken(branch, on, stored);
    if (!stored || !traces_lent(branch->cpu) || value_of(branch->cpu, 0x600) != area_of(branch->cpu))
        return;
    host.verdict->figures.traced++;
    at->seen[at->stored++ % TRACES_SEEN] = (struct trace_seen){branch->number, branch->from_user, branch->to_user};
}

/* (An index that the host has written over is its own fault.) */
void traces_lost(unsigned number)
{
    if (host.looking || host.cpu[number].traces.damaged || is_left_on(number))
        return;
    rules_fail(RULE_DAMAGE, "CPU %u stores a branch into memory that is not lent to it: the area is at %llx", number,
               (unsigned long long)value_of(number, 0x600));
}

/* ---- Answers ---- */

/* (After a fault it may have been given up.) */
static bool stack_is_used(const struct host_cpu *cpu)
{
    return cpu->branches.owner != BRANCHES_FREE && !host.verdict->figures.faults;
}

/* What a start must be refused for; NULL: nothing. */
static const char *reason_of(const struct host_cpu *cpu, bool wrong)
{
    if (wrong)
        return "arguments that cannot be used";
    if (cpu->power == CPU_ASLEEP)
        return "a CPU that sleeps";
    if (!can_trace())
        return "a CPU without traces";
    if (stack_is_used(cpu))
        return "a branch stack that is in use";
    if (cpu->by_hardware)
        return "worlds that the hardware changes";
    if (cpu->world == CPU_IN_GUEST)
        return "a guest that runs";
    return NULL;
}

void traces_started(unsigned number, enum upmu_status status, const char *why, bool wrong)
{
    const struct host_cpu *cpu = &host.cpu[number];
    const char *reason = reason_of(cpu, wrong);

    rules_status("upmu_bts_start", status, "INVALID UNSUPPORTED STATE NO_PMU PORT BUSY");
    host.verdict->figures.traces += status == UPMU_OK;
    if (status == UPMU_OK && reason)
        rules_fail(RULE_STATUS, "upmu_bts_start: OK with %s", reason);
    if ((status == UPMU_ERR_INVALID && !wrong) ||
        (status == UPMU_ERR_UNSUPPORTED && can_trace() && !host.verdict->figures.faults) ||
        (status == UPMU_ERR_NO_PMU && cpu->power != CPU_ASLEEP))
        rules_fail(RULE_STATUS, "upmu_bts_start: refused: %s", why);
    if (status != UPMU_OK && status != UPMU_ERR_BUSY && !reason && !cpu->left && !host.setting.leavings &&
        !host.verdict->figures.faults)
        rules_fail(RULE_STATUS, "upmu_bts_start: refused with nothing in its way: %s", why);
}

/* Both are as before the trace, or as before the library came. */
static bool is_restored(uint64_t value, uint64_t before, uint64_t found, uint64_t bits)
{
    return !((value ^ before) & bits) || !((value ^ found) & bits);
}

/* (OFF bits without the others do nothing; those that were left on may be gone.) */
void traces_ended(unsigned number, const char *call)
{
    const struct host_traces *at = &host.cpu[number].traces;
    uint64_t control = value_of(number, 0x1d9), ds = value_of(number, 0x600);
    uint64_t found = rules_found(number, 0x1d9);

    if (!rules_on(RULE_TRACES) || is_doubtful(number))
        return;
    if (!is_restored(control, at->control, found, ALL & ~OFF) || (control & OFF & ~(at->control | found)))
        rules_fail(RULE_TRACES, "CPU %u: after %s register 1d9 holds %llx; before the trace it held %llx", number, call,
                   (unsigned long long)control, (unsigned long long)at->control);
    if (at->area && !is_restored(ds, at->ds, rules_found(number, 0x600), ~UINT64_C(0)))
        rules_fail(RULE_TRACES, "CPU %u: after %s register 600 holds %llx; before the trace it held %llx", number, call,
                   (unsigned long long)ds, (unsigned long long)at->ds);
}

void traces_panicked(unsigned number)
{
    if (is_on(number) && !is_left_on(number) && rules_on(RULE_TRACES))
        rules_fail(RULE_TRACES, "CPU %u: a panic leaves a trace on", number);
}

/* ---- What is shown ---- */

/* The next branch to be shown; NULL: none is left. */
static const struct trace_seen *find_next(struct host_traces *at)
{
    uint64_t room = at->bytes / ENTRY;

    if (at->stored > room && at->shown < at->stored - room)
        at->shown = at->stored - room;
    while (at->shown < at->stored) {
        const struct trace_seen *seen = &at->seen[at->shown++ % TRACES_SEEN];

        if (is_wanted(at->record, seen->from_user, seen->to_user))
            return seen;
    }
    return NULL;
}

static void check_shown(unsigned number, const struct trace_seen *seen, const struct upmu_branch *shown)
{
    struct hardware_branch branch = {
        .cpu = (uint8_t)number, .from_user = seen->from_user, .to_user = seen->to_user, .number = seen->number};

    hardware_branch_fill(&branch);
    if (shown->from != branch.from || shown->to != branch.to)
        rules_fail(RULE_TRACES, "CPU %u: a trace shows a branch from %llx to %llx; the next is from %llx to %llx",
                   number, (unsigned long long)shown->from, (unsigned long long)shown->to,
                   (unsigned long long)branch.from, (unsigned long long)branch.to);
    if (shown->info != (branch.mispredicted ? 0 : UPMU_BRANCH_INFO_PREDICTED))
        rules_fail(RULE_TRACES, "CPU %u: a branch %s predicted is shown with %llx", number,
                   branch.mispredicted ? "not" : "that was", (unsigned long long)shown->info);
}

/* docs: an index that is nowhere in the memory leaves no branch. */
static void check_damaged(unsigned number, const struct upmu_branch *branch)
{
    struct host_traces *at = &host.cpu[number].traces;
    const uint64_t *area = at->area;
    uint64_t room = at->bytes / ENTRY, offset = area ? area[1] - at->linear : 0;

    at->shown += branch != NULL;
    if (branch && at->state == TRACE_ENDED && (offset > room * ENTRY || offset % ENTRY || at->shown > room))
        rules_fail(RULE_TRACES, "CPU %u: a trace whose index is %llx bytes behind its memory's begin shows a branch",
                   number, (unsigned long long)offset);
}

void traces_read(unsigned number, const struct upmu_branch *branch)
{
    struct host_cpu *cpu = &host.cpu[number];
    struct host_traces *at = &cpu->traces;
    const struct trace_seen *seen;

    if (!rules_on(RULE_TRACES) || at->state == TRACE_UNSURE)
        return;
    if (at->damaged) {
        check_damaged(number, branch);
        return;
    }
    /* (In a handler the call that ends it may be under way.) */
    if (branch && at->state == TRACE_RUNS && (!cpu->calls || (is_on(number) && !is_left_on(number))))
        rules_fail(RULE_TRACES, "CPU %u: a trace that runs shows a branch", number);
    if (!branch && at->state != TRACE_ENDED)
        return;
    seen = find_next(at);
    if (!branch && seen)
        rules_fail(RULE_TRACES, "CPU %u: a trace of %llu branches ends %llu too early", number,
                   (unsigned long long)at->stored, (unsigned long long)(at->stored - at->shown + 1u));
    if (branch && !seen)
        rules_fail(RULE_TRACES, "CPU %u: a trace of %llu branches shows one more, from %llx to %llx", number,
                   (unsigned long long)at->stored, (unsigned long long)branch->from, (unsigned long long)branch->to);
    if (branch)
        check_shown(number, seen, branch);
    host.verdict->figures.traced_shown += branch != NULL;
    host.verdict->figures.trace_rings += !branch && at->stored > at->bytes / ENTRY;
}

/* ---- Registers ---- */

/* Bits of traces are set for a trace alone, or as they were found; so is IA32_DS_AREA written. */
void traces_write(unsigned number, uint32_t msr, uint64_t value)
{
    bool lent = traces_lent(number) && is_promised();

    if (!traces_are_on() || !rules_on(RULE_WRITE) || lent || host.verdict->figures.faults)
        return;
    if (msr == 0x1d9 && (value & ALL & ~rules_found(number, msr)))
        rules_fail(RULE_WRITE, "CPU %u: a write of %llx to register %x, and no trace runs", number,
                   (unsigned long long)value, (unsigned)msr);
    if (msr == 0x600 && value != rules_found(number, msr) && !host.cpu[number].precise.area &&
        !host.cpu[number].precise.unsafe && !host.cpu[number].traces.unsafe)
        rules_fail(RULE_WRITE, "CPU %u: a write of %llx to register %x, and no trace runs", number,
                   (unsigned long long)value, (unsigned)msr);
}

bool traces_excuse(unsigned number, uint32_t msr)
{
    return !rules_strict && msr == 0x1d9 && (traces_lent(number) || host.cpu[number].traces.mixed) &&
           (rules_found(number, msr) & ALL & ~OFF);
}
