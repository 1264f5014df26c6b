/* SPDX-License-Identifier: MIT */
/*
 * The branch stack of a CPU: start and stop it, or lend it to sessions that sample, in brackets.  The host that starts
 * it and the sessions that have it exclude each other: the stack has one owner.
 */
#include <upmu/branches.h>

#include "core/util/bits.h"
#include "core/event/why.h"
#include "core/hw/backend.h"
#include "core/hw/bank_inline.h"
#include "core/hw/domain.h"
#include "core/engine/bracket.h"
#include "core/engine/claims.h"
#include "core/engine/meter.h"
#include "core/sample/branch_samples.h"
#include "core/sample/branches_core.h"
#include "core/sample/records_core.h"
#include "core/sample/traces_core.h"

#if UPMU_BRANCHES

#define BRANCH_MODES (UPMU_BRANCH_USER | UPMU_BRANCH_KERNEL)
#define BRANCH_KINDS                                                                                                   \
    (UPMU_BRANCH_ANY | UPMU_BRANCH_CALL | UPMU_BRANCH_IND_CALL | UPMU_BRANCH_RETURN | UPMU_BRANCH_COND |               \
     UPMU_BRANCH_IND_JUMP)
#define BRANCH_ALWAYS (BRANCH_MODES | UPMU_BRANCH_ANY | UPMU_BRANCH_NO_INFO | UPMU_BRANCH_TAKE)
#define ALL_BRANCHES (BRANCH_MODES | UPMU_BRANCH_ANY)
#define KERNEL_FROM UPMU_BIT64(63)

/* The control register of Processor Trace, and its bit that enables the trace: Linux asm/msr-index.h. */
#define TRACE_CONTROL UINT32_C(0x570)
#define TRACE_RUNS UINT64_C(1)

/* ---- Start and stop ---- */

struct branches_start {
    uint32_t record;
    uint64_t kernel_from;
    struct upmu_why *why;
};

/* Is the stack lent to sessions (upmu_cpu_use_branches())? */
static inline bool is_lent(const struct upmu_branch_unit *unit)
{
#if UPMU_BRANCH_SAMPLES
    return unit->given;
#else
    (void)unit;
    return false;
#endif
}

static enum upmu_status refuse_branches(const struct branches_start *start, const struct upmu_pmu *pmu,
                                        enum upmu_status status, const char *reason)
{
    (void)upmu_why_refuse(start->why, status, pmu, NULL, 0, 0);
    if (UPMU_WHY_TEXT && start->why && reason)
        for (unsigned i = 0; i < UPMU_WHY_WORD - 1u && reason[i]; i++)
            start->why->word[i] = reason[i];
    return status;
}

static enum upmu_status refuse_faulted(const struct branches_start *start, const struct upmu_bank *bank)
{
    (void)refuse_branches(start, bank->pmu, UPMU_ERR_PORT, NULL);
    if (start->why)
        start->why->address = bank->faulted;
    return UPMU_ERR_PORT;
}

/* Execute a call and a return, for the stack to record. Calls of the port's hooks may be inline, without a branch. */
static __attribute__((noinline)) void take_branches(void)
{
    __asm__ volatile("" ::: "memory");
}

/*
 * Record branches of all kinds for a moment with a stack that was cleared, and look for an entry, because a stack that
 * CPUID reports may not work. Recording is off afterwards, and the stack's own filter register may be 0. *out_reason:
 * why the stack cannot be used; unchanged if it can. Returns false if a register faulted.
 */
static bool prove_stack(struct upmu_bank *bank, const struct upmu_branch_stack *stack, uint64_t select,
                        const char **out_reason)
{
    unsigned newest;
    uint64_t control, entry;

    if ((upmu_branch_is_filtered(stack) && select && !upmu_bank_write_address(bank, stack->select, 0)) ||
        !upmu_branch_stack_on(bank, stack, BRANCH_MODES | UPMU_BRANCH_ANY) ||
        !upmu_bank_read_address(bank, stack->control, &control))
        return false;
    take_branches();
    if (!upmu_branch_stack_off(bank, stack) || !upmu_branch_stack_newest(bank, stack, &newest) ||
        !upmu_bank_read_address(bank, upmu_branch_place(stack, newest), &entry))
        return false;
    if (!(control & stack->enable))
        *out_reason = "the bit that lets it record cannot be set";
    else if (!entry)
        *out_reason = "its registers record nothing";
    return true;
}

/* Does the stack have a filter register that hyper-threads share? While any of them records, the register is 0. */
static bool is_filter_shared(const struct upmu_branch_stack *stack)
{
    return stack->traits & UPMU_BRANCH_SHARED_SELECT;
}

/*
 * Store in unit->select the value of a filter register that hyper-threads share, and note in the core's domain that
 * this CPU records. A CPU without a domain counts as alone. Returns UPMU_OK, or refuses the start.
 */
static enum upmu_status join_filter(struct upmu_meter *meter, const struct upmu_branch_stack *stack,
                                    const struct branches_start *start)
{
    struct upmu_branch_unit *unit = &meter->cpu->branches;
    struct upmu_domain *domain = upmu_meter_domain(meter);
    uint32_t word;

    do {
        word = domain ? upmu_domain_filter(domain) : 0;
        if (!upmu_bank_read_address(&meter->bank, stack->select, &unit->select))
            return refuse_faulted(start, &meter->bank);
        if (unit->select && !(start->record & UPMU_BRANCH_TAKE))
            return refuse_branches(start, meter->pmu, UPMU_ERR_STATE, "other software filters branches");
    } while (domain && !upmu_domain_filter_join(domain, meter->domain_number, word, unit->select));
    return UPMU_OK;
}

/*
 * After join_filter(): the last CPU of the core that stops writes the value back that the first one found. The write
 * comes before this CPU leaves the domain's word, so that a CPU that starts finds either the value or this CPU; if one
 * has started meanwhile, the register becomes 0 again. False: the register faulted.
 */
static bool leave_filter(struct upmu_meter *meter, const struct upmu_branch_stack *stack)
{
    struct upmu_domain *domain = upmu_meter_domain(meter);
    uint64_t value = meter->cpu->branches.select;
    bool fine, written = value;
    uint32_t word = 0;

    do {
        if (domain) {
            word = upmu_domain_filter(domain);
            written = upmu_domain_filter_after(word, meter->domain_number, &value);
        }
        fine = !written || upmu_bank_write_address(&meter->bank, stack->select, value);
    } while (domain && !upmu_domain_filter_leave(domain, meter->domain_number, word));
    return fine;
}

/*
 * Write back to the control, depth and filter registers of a stopped stack the values that look_around() found. False:
 * a register faulted.
 */
static bool restore_stack(struct upmu_meter *meter, const struct upmu_branch_stack *stack)
{
    const struct upmu_branch_unit *unit = &meter->cpu->branches;
    struct upmu_bank *bank = &meter->bank;
    bool fine = true;

    if (upmu_branch_is_filtered(stack))
        fine &= upmu_bank_write_address(bank, stack->select, unit->select);
    else if (is_filter_shared(stack))
        fine &= leave_filter(meter, stack);
    /* unit->depth is 0 if the stack has no depth register. A depth register does not contain 0, and 0 would fault. */
    if (unit->depth && unit->depth != bank->pmu->branch_depth)
        fine &= upmu_bank_write_address(bank, stack->size, unit->depth);
    if (stack->traits & UPMU_BRANCH_OWN_CONTROL)
        fine &= !unit->control || upmu_bank_write_address(bank, stack->control, unit->control);
    else if (unit->control & stack->enable)
        fine &= upmu_branch_stack_on(bank, stack, 0);
    return fine;
}

/* Switch recording off and restore the registers.  False: a register faulted. */
static bool give_stack_back(struct upmu_meter *meter, const struct upmu_branch_stack *stack)
{
    bool fine = upmu_branch_stack_off(&meter->bank, stack) || upmu_branch_stack_off(&meter->bank, stack);

    fine &= restore_stack(meter, stack);
    UPMU_BARRIER();
    meter->cpu->branches.ours = 0;
    return fine;
}

/*
 * Store in the CPU's branch unit the values of the stack's registers, which restore_stack() writes back. Refuse if
 * Processor Trace runs or, without UPMU_BRANCH_TAKE, if other software records or filters branches. Returns UPMU_OK,
 * UPMU_ERR_STATE (refused) or UPMU_ERR_PORT (a register faulted).
 */
static enum upmu_status look_around(struct upmu_meter *meter, const struct upmu_branch_stack *stack,
                                    const struct branches_start *start)
{
    struct upmu_branch_unit *unit = &meter->cpu->branches;
    struct upmu_bank *bank = &meter->bank;
    uint64_t trace = 0;

    if (upmu_traces_run(meter->cpu))
        return refuse_branches(start, bank->pmu, UPMU_ERR_STATE, "a trace of branches runs");
    unit->select = unit->depth = 0;
    if (bank->pmu->branch_trace && !upmu_bank_read_address(bank, TRACE_CONTROL, &trace))
        return refuse_faulted(start, bank);
    if (trace & TRACE_RUNS)
        return refuse_branches(start, bank->pmu, UPMU_ERR_STATE, "Processor Trace runs");
    if (!upmu_bank_read_address(bank, stack->control, &unit->control) ||
        (upmu_branch_is_filtered(stack) && !upmu_bank_read_address(bank, stack->select, &unit->select)) ||
        (stack->size && !upmu_bank_read_address(bank, stack->size, &unit->depth)))
        return refuse_faulted(start, bank);
    if (!(start->record & UPMU_BRANCH_TAKE) && (unit->control & stack->enable))
        return refuse_branches(start, bank->pmu, UPMU_ERR_STATE, "other software records branches");
    return is_filter_shared(stack) ? join_filter(meter, stack, start) : UPMU_OK;
}

/*
 * After look_around(): stop the stack if it records, prove that it works unless that is done, clear it and write its
 * filter register. Returns UPMU_OK, UPMU_ERR_UNSUPPORTED (it does not work) or UPMU_ERR_PORT (a register faulted).
 */
static enum upmu_status prepare_stack(struct upmu_bank *bank, struct upmu_branch_unit *unit,
                                      const struct upmu_branch_stack *stack, const struct branches_start *start)
{
    const char *reason = NULL;

    if ((unit->control & stack->enable) && !upmu_branch_stack_off(bank, stack))
        return refuse_faulted(start, bank);
    /* All hyper-threads that share the filter register record without a filter. */
    if (unit->select && is_filter_shared(stack) && !upmu_bank_write_address(bank, stack->select, 0))
        return refuse_faulted(start, bank);
    if (!unit->proven && !(upmu_branch_stack_clear(bank, stack) && prove_stack(bank, stack, unit->select, &reason)))
        return refuse_faulted(start, bank);
    if (reason)
        return refuse_branches(start, bank->pmu, UPMU_ERR_UNSUPPORTED, reason);
    unit->proven = 1;
    if (!upmu_branch_stack_clear(bank, stack) ||
        (upmu_branch_is_filtered(stack) &&
         !upmu_bank_write_address(bank, stack->select, upmu_branch_select(stack, start->record))))
        return refuse_faulted(start, bank);
    return UPMU_OK;
}

/*
 * Take the stack: look_around(), note the filter, and prepare_stack().  Recording is off afterwards.  After a refusal
 * the registers are restored.
 */
static enum upmu_status take_stack(struct upmu_meter *meter, const struct branches_start *start)
{
    const struct upmu_branch_stack *stack = meter->pmu->branch_stack;
    struct upmu_branch_unit *unit = &meter->cpu->branches;
    enum upmu_status status = look_around(meter, stack, start);

    if (status != UPMU_OK)
        return status;
    unit->record = (uint16_t)start->record;
    unit->kernel_from = start->kernel_from;
    unit->frozen = unit->readers = 0;
    unit->ours = 1;
    UPMU_BARRIER();
    status = prepare_stack(&meter->bank, unit, stack, start);
    if (status != UPMU_OK)
        (void)give_stack_back(meter, stack);
    return status;
}

static enum upmu_status start_stack(struct upmu_meter *meter, void *argument)
{
    const struct branches_start *start = argument;
    const struct upmu_branch_stack *stack = meter->pmu->branch_stack;
    struct upmu_branch_unit *unit = &meter->cpu->branches;
    enum upmu_status status;

    if (is_lent(unit))
        return refuse_branches(start, meter->pmu, UPMU_ERR_STATE, "sessions have it");
    if (unit->stack)
        return refuse_branches(start, meter->pmu, UPMU_ERR_STATE, "it records already");
    status = take_stack(meter, start);
    if (status != UPMU_OK)
        return status;
    UPMU_BARRIER();
    unit->stack = stack;
    UPMU_BARRIER();
    if (upmu_branch_stack_go_on(meter->cpu, stack))
        return UPMU_OK;
    unit->stack = NULL;
    status = refuse_faulted(start, &meter->bank);
    (void)give_stack_back(meter, stack);
    return status;
}

static enum upmu_status stop_stack(struct upmu_meter *meter, void *unused)
{
    struct upmu_branch_unit *unit = &meter->cpu->branches;
    const struct upmu_branch_stack *stack = unit->stack;

    (void)unused;
    if (!stack || is_lent(unit))
        return UPMU_OK;
    unit->stack = NULL;
    UPMU_BARRIER();
    return give_stack_back(meter, stack) ? UPMU_OK : UPMU_ERR_PORT;
}

/* ---- Lent to sessions ---- */

#if UPMU_BRANCH_SAMPLES

/* The bit of DEBUGCTL, Intel's and AMD's, with which an interrupt freezes the stack: Linux asm/msr-index.h. */
#define FREEZE_BIT UPMU_BIT64(11)

/* Let interrupts freeze the stack from now on, or no more, where the hardware can.  False: the register faulted. */
static bool set_freeze(struct upmu_meter *meter, bool freezes)
{
    const struct upmu_pmu *pmu = meter->pmu;

    return pmu->branch_freeze == UPMU_BRANCH_FREEZE_NONE ||
           upmu_bank_merge(&meter->bank, pmu->freeze_row, FREEZE_BIT, freezes ? FREEZE_BIT : 0, 0);
}

/* After take_stack(): let sessions have the stack, which is off.  The filter register has the value for all kinds. */
static enum upmu_status lend_stack(struct upmu_meter *meter, const struct branches_start *start)
{
    const struct upmu_branch_stack *stack = meter->pmu->branch_stack;
    struct upmu_branch_unit *unit = &meter->cpu->branches;

    if (!set_freeze(meter, true) && !set_freeze(meter, true)) {
        enum upmu_status status = refuse_faulted(start, &meter->bank);

        (void)set_freeze(meter, false);
        (void)upmu_branch_stack_release(&meter->bank);
        (void)give_stack_back(meter, stack);
        return status;
    }
    unit->written = upmu_branch_is_filtered(stack) ? upmu_branch_select(stack, start->record) : 0;
    unit->halted = unit->stale = unit->taken = 0;
    meter->takes_branches = 1;
    return UPMU_OK;
}

/* Take the stack from sessions, none of which records, and restore the registers.  False: a register faulted. */
static bool end_loan(struct upmu_meter *meter)
{
    struct upmu_branch_unit *unit = &meter->cpu->branches;
    bool fine;

    meter->takes_branches = 0;
    meter->branches = 0;
    unit->stack = NULL;
    UPMU_BARRIER();
    if (!unit->ours)
        return true;
    fine = set_freeze(meter, false) || set_freeze(meter, false);
    /* Interrupts of sessions that want no branches have frozen the stack, too. */
    fine &= upmu_branch_stack_release(&meter->bank);
    return give_stack_back(meter, meter->pmu->branch_stack) && fine;
}

static enum upmu_status begin_use(struct upmu_meter *meter, void *argument)
{
    const struct branches_start *start = argument;
    struct upmu_branch_unit *unit = &meter->cpu->branches;
    enum upmu_status status;

    if (unit->given)
        return refuse_branches(start, meter->pmu, UPMU_ERR_STATE, "sessions have it");
    if (unit->stack)
        return refuse_branches(start, meter->pmu, UPMU_ERR_STATE, "it records already");
    if (upmu_meter_by_hardware(meter))
        return refuse_branches(start, meter->pmu, UPMU_ERR_STATE, "the hardware changes worlds");
    status = take_stack(meter, start);
    if (status == UPMU_OK)
        status = lend_stack(meter, start);
    if (status != UPMU_OK)
        return status;
    unit->given = 1;
    unit->take = (start->record & UPMU_BRANCH_TAKE) != 0;
    __atomic_fetch_add(&meter->machine->branch_cpus, 1, __ATOMIC_RELAXED);
    return UPMU_OK;
}

static enum upmu_status end_use(struct upmu_meter *meter, void *argument)
{
    bool fine;

    if (meter->branches)
        return refuse_branches(argument, meter->pmu, UPMU_ERR_STATE, "sessions record branches");
    if (!meter->cpu->branches.given)
        return UPMU_OK;
    fine = end_loan(meter);
    upmu_branches_forget(meter->cpu);
    return fine ? UPMU_OK : UPMU_ERR_PORT;
}

void upmu_branches_again(struct upmu_meter *meter)
{
    struct upmu_branch_unit *unit = &meter->cpu->branches;
    struct branches_start start = {ALL_BRANCHES, unit->kernel_from, NULL};
    bool fine;

    if (!unit->given)
        return;
    meter->branches = 0;
    unit->stack = NULL;
    UPMU_BARRIER(); /* from here on a freeze is refused, and a former one ends: the entries are cleared */
    unit->frozen = 0;
    start.record |= unit->take ? UPMU_BRANCH_TAKE : 0;
    /* The values that were found at the first time stay those to restore, unless a sleep has restored them. */
    fine = !unit->ours || upmu_branch_stack_off(&meter->bank, meter->pmu->branch_stack);
    fine = fine && (unit->ours ? prepare_stack(&meter->bank, unit, meter->pmu->branch_stack, &start)
                               : take_stack(meter, &start)) == UPMU_OK;
    if (!fine || lend_stack(meter, &start) != UPMU_OK) {
        meter->takes_branches = 0;
        upmu_meter_log(meter, "upmu: branches in samples cannot go on: other software has the stack, or a fault");
    }
}

void upmu_branches_forget(struct upmu_cpu *cpu)
{
    if (!cpu->branches.given)
        return;
    cpu->branches.given = 0;
    __atomic_fetch_sub(&cpu->meter.machine->branch_cpus, 1, __ATOMIC_RELAXED);
}

#else

static inline bool end_loan(struct upmu_meter *meter)
{
    (void)meter;
    return true;
}

#endif

bool upmu_branches_end(struct upmu_meter *meter)
{
    meter->cpu->branches.proven = 0;
    return is_lent(&meter->cpu->branches) ? end_loan(meter) : stop_stack(meter, NULL) == UPMU_OK;
}

/* ---- Public calls ---- */

/* Complete a filter, UPMU_BRANCH_… bits: all modes if it names none, and all kinds of branches if it names none. */
static uint32_t whole_record(uint32_t record)
{
    return record | (record & BRANCH_MODES ? 0 : BRANCH_MODES) | (record & BRANCH_KINDS ? 0 : UPMU_BRANCH_ANY);
}

/*
 * Check what a start, or a loan to sessions, needs besides a bracket.  Bits of start->record that are not in `allowed`
 * are unknown ones.
 */
static enum upmu_status check_start(const struct upmu_cpu *cpu, const struct branches_start *start, uint32_t allowed)
{
    const struct upmu_pmu *pmu = cpu->meter.pmu;

    upmu_why_clear(start->why);
    if (!cpu->meter.live || !pmu)
        return refuse_branches(start, NULL, UPMU_ERR_NO_PMU, NULL);
    if (start->record & ~allowed)
        return refuse_branches(start, pmu, UPMU_ERR_INVALID, NULL);
    if (!pmu->branch_stack)
        return refuse_branches(start, pmu, UPMU_ERR_UNSUPPORTED,
                               pmu->no_branches ? pmu->no_branches : "no branch records");
    if ((pmu->capabilities & UPMU_PMU_HYPERVISOR) && !cpu->meter.bank.port->msr_faults_are_safe)
        return refuse_branches(start, pmu, UPMU_ERR_UNSUPPORTED, "a hypervisor, and faults are not safe");
    if (start->record & ~upmu_branches_facts(pmu).record)
        return refuse_branches(start, pmu, UPMU_ERR_UNSUPPORTED, "it cannot record this kind alone");
    return UPMU_OK;
}

/* Note in the reason of a start a status that the bracket has given.  Returns that status. */
static enum upmu_status note_start(const struct upmu_cpu *cpu, const struct branches_start *start,
                                   enum upmu_status status)
{
    if (start->why && status != start->why->status)
        (void)refuse_branches(start, cpu->meter.pmu, status, NULL);
    return status;
}

static uint64_t kernel_begin(const struct upmu_branch_filter *filter)
{
    return filter->kernel_from ? filter->kernel_from : KERNEL_FROM;
}

enum upmu_status upmu_branches_start(struct upmu_cpu *cpu, const struct upmu_branch_filter *filter,
                                     struct upmu_why *why)
{
    struct branches_start start = {whole_record(filter->record), kernel_begin(filter), why};
    enum upmu_status status = check_start(cpu, &start, BRANCH_ALWAYS | BRANCH_KINDS);

    if (status == UPMU_OK)
        status = note_start(cpu, &start, upmu_bracket_run(&cpu->meter, start_stack, &start));
    return status;
}

enum upmu_status upmu_branches_stop(struct upmu_cpu *cpu)
{
    return cpu->meter.pmu ? upmu_bracket_run(&cpu->meter, stop_stack, NULL) : UPMU_ERR_NO_PMU;
}

enum upmu_status upmu_branches_resume(struct upmu_cpu *cpu)
{
    const struct upmu_branch_stack *stack;

    cpu->branches.frozen = 0;
    UPMU_BARRIER();
    stack = upmu_branch_stack_of(cpu);
    if (!stack)
        return UPMU_ERR_STATE;
#if UPMU_BRANCH_SAMPLES
    if (cpu->meter.branches && cpu->branches.stale) { /* what it has is of before */
        if (upmu_bracket_run_briefly(&cpu->meter, upmu_branch_samples_switch))
            return cpu->meter.branches ? UPMU_OK : UPMU_ERR_PORT;
        upmu_interrupt_raise(&cpu->meter); /* the end of the interrupted call clears it */
        return UPMU_OK;
    }
#endif
    return cpu->branches.readers || upmu_branch_stack_halted(&cpu->branches) || upmu_branch_stack_go_on(cpu, stack)
               ? UPMU_OK
               : UPMU_ERR_PORT;
}

#if UPMU_BRANCH_SAMPLES

enum upmu_status upmu_cpu_use_branches(struct upmu_cpu *cpu, const struct upmu_branch_filter *use, struct upmu_why *why)
{
    struct branches_start start = {ALL_BRANCHES, 0, why};
    enum upmu_status status;

    if (!use) {
        status = check_start(cpu, &start, ALL_BRANCHES);
        return status == UPMU_OK ? note_start(cpu, &start, upmu_bracket_run(&cpu->meter, end_use, &start)) : status;
    }
    start.record |= use->record;
    start.kernel_from = kernel_begin(use);
    status = check_start(cpu, &start, use->record & ALL_BRANCHES ? 0 : ALL_BRANCHES | UPMU_BRANCH_TAKE);
    if (status == UPMU_OK)
        status = note_start(cpu, &start, upmu_bracket_run(&cpu->meter, begin_use, &start));
    return status;
}

#endif

/*
 * `ours` says if the library has written the stack's registers: `stack` is NULL during parts of a start or a stop, in
 * which the emergency may have come, while the stack already or still records.
 */
void upmu_records_emergency(struct upmu_cpu *cpu)
{
    const struct upmu_branch_stack *stack;

    upmu_traces_off(cpu); /* first: the area of precise records may be the trace's, too */
    upmu_records_off(cpu);
    if (!cpu->branches.ours)
        return;
    stack = cpu->meter.bank.pmu->branch_stack;
    cpu->branches.stack = NULL;
    cpu->branches.ours = 0;
#if UPMU_BRANCH_SAMPLES
    cpu->meter.branches = 0;
    cpu->meter.takes_branches = 0;
#endif
    (void)upmu_bank_write_address(&cpu->meter.bank, stack->control,
                                  cpu->branches.control & stack->kept & ~(uint64_t)stack->enable);
}

#else

enum upmu_status upmu_branches_start(struct upmu_cpu *cpu, const struct upmu_branch_filter *filter,
                                     struct upmu_why *why)
{
    (void)cpu, (void)filter;
    return upmu_why_refuse(why, UPMU_ERR_COMPILED_OUT, NULL, NULL, 0, 0);
}

enum upmu_status upmu_branches_stop(struct upmu_cpu *cpu)
{
    (void)cpu;
    return UPMU_ERR_COMPILED_OUT;
}

enum upmu_status upmu_branches_resume(struct upmu_cpu *cpu)
{
    (void)cpu;
    return UPMU_ERR_COMPILED_OUT;
}

void upmu_records_emergency(struct upmu_cpu *cpu)
{
    upmu_records_off(cpu);
}

#endif
