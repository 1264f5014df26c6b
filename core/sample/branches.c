/* SPDX-License-Identifier: MIT */
/*
 * The branch stack of a CPU: start and stop it in brackets, read and freeze it in any context.
 *
 * The control register has two writers: a local call, and a read, a freeze or an emergency stop in an NMI that
 * interrupts the call. A stack records while it is started, not frozen and not being read. A read in an NMI leaves the
 * stack on or off as it was. A freeze in an NMI leaves it off: so `frozen` is read after each write that switches the
 * stack on.
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
#include "core/sample/branches_core.h"
#include "core/sample/records_core.h"

#if UPMU_BRANCHES

#define BRANCH_MODES (UPMU_BRANCH_USER | UPMU_BRANCH_KERNEL)
#define BRANCH_KINDS                                                                                                   \
    (UPMU_BRANCH_ANY | UPMU_BRANCH_CALL | UPMU_BRANCH_IND_CALL | UPMU_BRANCH_RETURN | UPMU_BRANCH_COND |               \
     UPMU_BRANCH_IND_JUMP)
#define BRANCH_ALWAYS (BRANCH_MODES | UPMU_BRANCH_ANY | UPMU_BRANCH_NO_INFO | UPMU_BRANCH_TAKE)
#define KERNEL_FROM UPMU_BIT64(63)

/* The control register of Processor Trace, and its bit that enables the trace: Linux asm/msr-index.h. */
#define TRACE_CONTROL UINT32_C(0x570)
#define TRACE_RUNS UINT64_C(1)

struct upmu_branch_facts upmu_branches_facts(const struct upmu_pmu *pmu)
{
    struct upmu_branch_facts facts = {0, 0, 0};

    if (!pmu->branch_stack)
        return facts;
    facts.depth = pmu->branch_depth;
    facts.record = BRANCH_ALWAYS | pmu->branch_filters;
    facts.info = upmu_branch_info_of((enum upmu_branch_format)pmu->branch_format, pmu->branch_lacks);
    return facts;
}

/* ---- On and off ---- */

static bool record_off(struct upmu_bank *bank, const struct upmu_branch_stack *stack)
{
    uint64_t value;

    if (stack->traits & UPMU_BRANCH_OWN_CONTROL)
        return upmu_bank_write_address(bank, stack->control, 0);
    return upmu_bank_read_address(bank, stack->control, &value) &&
           (!(value & stack->enable) ||
            upmu_bank_write_address(bank, stack->control, value & ~(uint64_t)stack->enable));
}

/*
 * Switch recording on; false: a register faulted. Without UPMU_BRANCH_OWN_CONTROL the control register also has bits of
 * a debugger, which may change them at any time: so the register is read before each write.
 */
static bool record_on(struct upmu_bank *bank, const struct upmu_branch_stack *stack, uint32_t record)
{
    uint64_t value = 0;

    if (stack->traits & UPMU_BRANCH_OWN_CONTROL)
        value = upmu_branch_select(stack, record & bank->pmu->branch_filters);
    else if (!upmu_bank_read_address(bank, stack->control, &value))
        return false;
    return upmu_bank_write_address(bank, stack->control, value | stack->enable);
}

/* Switch recording on; if an NMI has frozen the stack by then, switch it off again. False: a register faulted. */
static bool go_on(struct upmu_bank *bank, const struct upmu_branch_unit *unit, const struct upmu_branch_stack *stack)
{
    bool fine = record_on(bank, stack, unit->record);

    UPMU_BARRIER();
    return unit->frozen ? record_off(bank, stack) : fine;
}

/* ---- Start and stop ---- */

struct branches_start {
    uint32_t record;
    uint64_t kernel_from;
    struct upmu_why *why;
};

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

/* Return the address of a register of entry i; `first` is the address of that register of entry 0. */
static uint32_t entry_at(uint32_t first, const struct upmu_branch_stack *stack, unsigned i)
{
    return first + i * stack->step;
}

/*
 * Return the address, for entry 0, of the register that says whether an entry has a branch. In AMD's entries (step 2)
 * it is the register of the target, in others that of the source, which is then not 0.
 */
static uint32_t deciding_register(const struct upmu_branch_stack *stack)
{
    return stack->step > 1 ? stack->to : stack->from;
}

static bool clear_stack(struct upmu_bank *bank, const struct upmu_branch_stack *stack)
{
    unsigned depth = bank->pmu->branch_depth;

    if (stack->size)
        return upmu_bank_write_address(bank, stack->size, depth);
    for (unsigned i = 0; i < depth; i++)
        if (!upmu_bank_write_address(bank, entry_at(deciding_register(stack), stack, i), 0))
            return false;
    return true;
}

/* Store the number of the newest entry: 0 if the stack has no top register. False: a register faulted. */
static bool find_newest(struct upmu_bank *bank, const struct upmu_branch_stack *stack, unsigned *out_newest)
{
    uint64_t top = 0;

    if (stack->top && !upmu_bank_read_address(bank, stack->top, &top))
        return false;
    *out_newest = (unsigned)top & (bank->pmu->branch_depth - 1u);
    return true;
}

/* Execute a call and a return, for the stack to record. Calls of the port's hooks may be inline, without a branch. */
static __attribute__((noinline)) void take_branches(void)
{
    __asm__ volatile("" ::: "memory");
}

/* Does the stack have a filter register that is not shared by hyper-threads? A shared one is not used. */
static bool is_filtered(const struct upmu_branch_stack *stack)
{
    return stack->select && !(stack->traits & UPMU_BRANCH_SHARED_SELECT);
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

    if ((is_filtered(stack) && select && !upmu_bank_write_address(bank, stack->select, 0)) ||
        !record_on(bank, stack, BRANCH_MODES | UPMU_BRANCH_ANY) ||
        !upmu_bank_read_address(bank, stack->control, &control))
        return false;
    take_branches();
    if (!record_off(bank, stack) || !find_newest(bank, stack, &newest) ||
        !upmu_bank_read_address(bank, entry_at(deciding_register(stack), stack, newest), &entry))
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

    if (is_filtered(stack))
        fine &= upmu_bank_write_address(bank, stack->select, unit->select);
    else if (is_filter_shared(stack))
        fine &= leave_filter(meter, stack);
    /* unit->depth is 0 if the stack has no depth register. A depth register does not contain 0, and 0 would fault. */
    if (unit->depth && unit->depth != bank->pmu->branch_depth)
        fine &= upmu_bank_write_address(bank, stack->size, unit->depth);
    if (stack->traits & UPMU_BRANCH_OWN_CONTROL)
        fine &= !unit->control || upmu_bank_write_address(bank, stack->control, unit->control);
    else if (unit->control & stack->enable)
        fine &= record_on(bank, stack, 0);
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

    unit->select = unit->depth = 0;
    if (bank->pmu->branch_trace && !upmu_bank_read_address(bank, TRACE_CONTROL, &trace))
        return refuse_faulted(start, bank);
    if (trace & TRACE_RUNS)
        return refuse_branches(start, bank->pmu, UPMU_ERR_STATE, "Processor Trace runs");
    if (!upmu_bank_read_address(bank, stack->control, &unit->control) ||
        (is_filtered(stack) && !upmu_bank_read_address(bank, stack->select, &unit->select)) ||
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

    if ((unit->control & stack->enable) && !record_off(bank, stack))
        return refuse_faulted(start, bank);
    /* All hyper-threads that share the filter register record without a filter. */
    if (unit->select && is_filter_shared(stack) && !upmu_bank_write_address(bank, stack->select, 0))
        return refuse_faulted(start, bank);
    if (!unit->proven && !(clear_stack(bank, stack) && prove_stack(bank, stack, unit->select, &reason)))
        return refuse_faulted(start, bank);
    if (reason)
        return refuse_branches(start, bank->pmu, UPMU_ERR_UNSUPPORTED, reason);
    unit->proven = 1;
    if (!clear_stack(bank, stack) ||
        (is_filtered(stack) && !upmu_bank_write_address(bank, stack->select, upmu_branch_select(stack, start->record))))
        return refuse_faulted(start, bank);
    return UPMU_OK;
}

static enum upmu_status start_stack(struct upmu_meter *meter, void *argument)
{
    const struct branches_start *start = argument;
    const struct upmu_branch_stack *stack = meter->pmu->branch_stack;
    struct upmu_branch_unit *unit = &meter->cpu->branches;
    struct upmu_bank *bank = &meter->bank;
    enum upmu_status status;

    if (unit->stack)
        return refuse_branches(start, meter->pmu, UPMU_ERR_STATE, "it records already");
    status = look_around(meter, stack, start);
    if (status != UPMU_OK)
        return status;
    unit->record = (uint16_t)start->record;
    unit->kernel_from = start->kernel_from;
    unit->frozen = unit->readers = 0;
    unit->ours = 1;
    UPMU_BARRIER();
    status = prepare_stack(bank, unit, stack, start);
    if (status == UPMU_OK) {
        UPMU_BARRIER();
        unit->stack = stack;
        UPMU_BARRIER();
        if (go_on(bank, unit, stack))
            return UPMU_OK;
        unit->stack = NULL;
        status = refuse_faulted(start, bank);
    }
    (void)(record_off(bank, stack) || record_off(bank, stack));
    (void)restore_stack(meter, stack);
    UPMU_BARRIER();
    unit->ours = 0;
    return status;
}

static enum upmu_status stop_stack(struct upmu_meter *meter, void *unused)
{
    struct upmu_branch_unit *unit = &meter->cpu->branches;
    const struct upmu_branch_stack *stack = unit->stack;
    bool fine;

    (void)unused;
    if (!stack)
        return UPMU_OK;
    unit->stack = NULL;
    UPMU_BARRIER();
    fine = record_off(&meter->bank, stack) || record_off(&meter->bank, stack);
    fine &= restore_stack(meter, stack);
    UPMU_BARRIER();
    unit->ours = 0;
    return fine ? UPMU_OK : UPMU_ERR_PORT;
}

bool upmu_branches_end(struct upmu_meter *meter)
{
    meter->cpu->branches.proven = 0;
    return stop_stack(meter, NULL) == UPMU_OK;
}

/* Complete a filter (UPMU_BRANCH_… bits): all modes if no mode is named, all kinds of branches if no kind is named. */
static uint32_t whole_record(uint32_t record)
{
    return record | (record & BRANCH_MODES ? 0 : BRANCH_MODES) | (record & BRANCH_KINDS ? 0 : UPMU_BRANCH_ANY);
}

enum upmu_status upmu_branches_start(struct upmu_cpu *cpu, const struct upmu_branch_filter *filter,
                                     struct upmu_why *why)
{
    const struct upmu_pmu *pmu = cpu->meter.pmu;
    struct branches_start start = {whole_record(filter->record),
                                   filter->kernel_from ? filter->kernel_from : KERNEL_FROM, why};
    enum upmu_status status;

    upmu_why_clear(why);
    if (!cpu->meter.live || !pmu)
        return refuse_branches(&start, NULL, UPMU_ERR_NO_PMU, NULL);
    if (start.record & ~(uint32_t)(BRANCH_ALWAYS | BRANCH_KINDS))
        return refuse_branches(&start, pmu, UPMU_ERR_INVALID, NULL);
    if (!pmu->branch_stack)
        return refuse_branches(&start, pmu, UPMU_ERR_UNSUPPORTED,
                               pmu->no_branches ? pmu->no_branches : "no branch records");
    if ((pmu->capabilities & UPMU_PMU_HYPERVISOR) && !cpu->meter.bank.port->msr_faults_are_safe)
        return refuse_branches(&start, pmu, UPMU_ERR_UNSUPPORTED, "a hypervisor, and faults are not safe");
    if (start.record & ~upmu_branches_facts(pmu).record)
        return refuse_branches(&start, pmu, UPMU_ERR_UNSUPPORTED, "it cannot record this kind alone");
    status = upmu_bracket_run(&cpu->meter, start_stack, &start);
    if (why && status != why->status)
        (void)refuse_branches(&start, pmu, status, NULL);
    return status;
}

enum upmu_status upmu_branches_stop(struct upmu_cpu *cpu)
{
    return cpu->meter.pmu ? upmu_bracket_run(&cpu->meter, stop_stack, NULL) : UPMU_ERR_NO_PMU;
}

/* ---- Calls in any context ---- */

/*
 * Read the entries of a stack that is off, and store in `out` those branches that the filter's modes want, the newest
 * first. Returns false if a register faulted. Other branches are not written to `out` even for a moment, because a
 * program may be able to read that memory.
 */
static bool read_entries(struct upmu_bank *bank, const struct upmu_branch_unit *unit,
                         const struct upmu_branch_stack *stack, struct upmu_branch *out, unsigned room,
                         unsigned *out_count)
{
    const enum upmu_branch_format format = (enum upmu_branch_format)bank->pmu->branch_format;
    const unsigned depth = bank->pmu->branch_depth, record = unit->record;
    const bool plain = record & UPMU_BRANCH_NO_INFO, info = stack->info && !plain;
    const uint64_t known = plain ? 0 : upmu_branch_info_of(format, bank->pmu->branch_lacks);
    const struct upmu_port *port = bank->port;
    struct upmu_branch branch;
    uint64_t from, to, more = 0;
    bool fine = true, newer = false;
    unsigned at, count = 0;
    uint32_t reads = 0;

    if (!find_newest(bank, stack, &at))
        return false;
    for (unsigned left = depth; left && count < room; left--) {
        const uint32_t offset = at * stack->step;
        enum upmu_branch_entry entry;

        fine = upmu_bank_read_next(bank, port, stack->from + offset, &reads, &from) &&
               upmu_bank_read_next(bank, port, stack->to + offset, &reads, &to) &&
               (!info || upmu_bank_read_next(bank, port, stack->info + offset, &reads, &more));
        if (!fine)
            break;
        at = stack->top ? (at - 1u) & (depth - 1u) : at + 1u;
        entry = upmu_branch_decode(format, from, to, more, &branch);
        if (entry == UPMU_BRANCH_END)
            break;
        if (entry == UPMU_BRANCH_SKIP ||
            ((record & BRANCH_MODES) != BRANCH_MODES && !upmu_branch_is_wanted(&branch, record, unit->kernel_from))) {
            newer = false;
            continue;
        }
        /* An aborted transaction makes two entries. The newer one, which has no abort bit, is removed from `out`. */
        if ((stack->traits & UPMU_BRANCH_ABORTS_TWICE) && (branch.info & UPMU_BRANCH_INFO_ABORT))
            count -= newer;
        newer = true;
        branch.info &= known;
        out[count++] = branch;
    }
    bank->accesses.reads += reads;
    *out_count = count;
    return fine;
}

enum upmu_status upmu_branches_read(struct upmu_cpu *cpu, struct upmu_branch *out, unsigned room, unsigned *out_count)
{
    struct upmu_branch_unit *unit = &cpu->branches;
    const struct upmu_branch_stack *stack = unit->stack;
    struct upmu_bank *bank = &cpu->meter.bank;
    bool fine;

    *out_count = 0;
    if (!stack)
        return UPMU_ERR_STATE;
    unit->readers++;
    UPMU_BARRIER();
    fine = record_off(bank, stack) && read_entries(bank, unit, stack, out, room, out_count);
    UPMU_BARRIER();
    unit->readers--;
    UPMU_BARRIER();
    if (!unit->readers && !unit->frozen)
        fine &= go_on(bank, unit, stack);
    return fine ? UPMU_OK : UPMU_ERR_PORT;
}

enum upmu_status upmu_branches_freeze(struct upmu_cpu *cpu)
{
    const struct upmu_branch_stack *stack = cpu->branches.stack;

    if (!stack)
        return UPMU_ERR_STATE;
    cpu->branches.frozen = 1;
    UPMU_BARRIER();
    return record_off(&cpu->meter.bank, stack) ? UPMU_OK : UPMU_ERR_PORT;
}

enum upmu_status upmu_branches_resume(struct upmu_cpu *cpu)
{
    const struct upmu_branch_stack *stack = cpu->branches.stack;

    if (!stack)
        return UPMU_ERR_STATE;
    cpu->branches.frozen = 0;
    UPMU_BARRIER();
    return cpu->branches.readers || go_on(&cpu->meter.bank, &cpu->branches, stack) ? UPMU_OK : UPMU_ERR_PORT;
}

/*
 * `ours` says if the library has written the stack's registers: `stack` is NULL during parts of a start or a stop, in
 * which the emergency may have come, while the stack already or still records.
 */
void upmu_records_emergency(struct upmu_cpu *cpu)
{
    const struct upmu_branch_stack *stack;

    upmu_records_off(cpu);
    if (!cpu->branches.ours)
        return;
    stack = cpu->meter.pmu->branch_stack;
    cpu->branches.stack = NULL;
    cpu->branches.ours = 0;
    (void)upmu_bank_write_address(&cpu->meter.bank, stack->control,
                                  cpu->branches.control & stack->kept & ~(uint64_t)stack->enable);
}

#else

struct upmu_branch_facts upmu_branches_facts(const struct upmu_pmu *pmu)
{
    (void)pmu;
    return (struct upmu_branch_facts){0, 0, 0};
}

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

enum upmu_status upmu_branches_read(struct upmu_cpu *cpu, struct upmu_branch *out, unsigned room, unsigned *out_count)
{
    (void)cpu, (void)out, (void)room;
    *out_count = 0;
    return UPMU_ERR_COMPILED_OUT;
}

enum upmu_status upmu_branches_freeze(struct upmu_cpu *cpu)
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
