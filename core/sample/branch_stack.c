/* SPDX-License-Identifier: MIT */
/*
 * The registers of a branch stack: switch recording on and off, clear the entries, read them, in any context.
 *
 * The control register has two writers: a local call, and a read, a freeze or an emergency stop in an NMI that
 * interrupts the call. A stack records while it is started, not frozen and not being read. A read in an NMI leaves the
 * stack on or off as it was. A freeze, or the end of the last session that has branches, leaves it off: so `frozen` and
 * `stack` are read after each write that switches the stack on.
 */
#include <upmu/branches.h>

#include "core/util/bits.h"
#include "core/hw/backend.h"
#include "core/hw/bank_inline.h"
#include "core/sample/branches_core.h"

#if UPMU_BRANCHES

#define BRANCH_MODES (UPMU_BRANCH_USER | UPMU_BRANCH_KERNEL)
#define BRANCH_ALWAYS (BRANCH_MODES | UPMU_BRANCH_ANY | UPMU_BRANCH_NO_INFO | UPMU_BRANCH_TAKE)

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

bool upmu_branch_stack_halt(struct upmu_bank *bank, const struct upmu_branch_stack *stack, bool *out_recorded)
{
    uint64_t value = 0;

    *out_recorded = false;
    if (stack->traits & UPMU_BRANCH_OWN_CONTROL)
        return upmu_bank_write_address(bank, stack->control, 0);
    if (!upmu_bank_read_address(bank, stack->control, &value))
        return false;
    *out_recorded = value & stack->enable;
    return !*out_recorded || upmu_bank_write_address(bank, stack->control, value & ~(uint64_t)stack->enable);
}

bool upmu_branch_stack_off(struct upmu_bank *bank, const struct upmu_branch_stack *stack)
{
    bool recorded;

    return upmu_branch_stack_halt(bank, stack, &recorded);
}

/*
 * Without UPMU_BRANCH_OWN_CONTROL the control register also has bits of a debugger, which may change them at any time:
 * so the register is read before each write.
 */
bool upmu_branch_stack_on(struct upmu_bank *bank, const struct upmu_branch_stack *stack, uint32_t record)
{
    uint64_t value = 0;

    if (stack->traits & UPMU_BRANCH_OWN_CONTROL)
        value = upmu_branch_select(stack, record & bank->pmu->branch_filters);
    else if (!upmu_bank_read_address(bank, stack->control, &value))
        return false;
    return upmu_bank_write_address(bank, stack->control, value | stack->enable);
}

bool upmu_branch_stack_go_on(struct upmu_cpu *cpu, const struct upmu_branch_stack *stack)
{
    struct upmu_branch_unit *unit = &cpu->branches;
    unsigned record;
    bool fine;

    do {
        record = unit->record;
        fine = upmu_branch_stack_on(&cpu->meter.bank, stack, record);
        UPMU_BARRIER();
    } while (fine && record != unit->record);
    return unit->frozen || upmu_branch_stack_of(cpu) != stack ? upmu_branch_stack_off(&cpu->meter.bank, stack) : fine;
}

#if UPMU_BRANCH_SAMPLES

bool upmu_branch_stack_release(struct upmu_bank *bank)
{
    return bank->pmu->branch_freeze != UPMU_BRANCH_FREEZE_STATUS ||
           upmu_bank_command(bank, bank->pmu->ack_row, UPMU_BRANCH_STATUS_FROZEN) ||
           upmu_bank_command(bank, bank->pmu->ack_row, UPMU_BRANCH_STATUS_FROZEN);
}

#endif

/* ---- Entries ---- */

bool upmu_branch_stack_clear(struct upmu_bank *bank, const struct upmu_branch_stack *stack)
{
    unsigned depth = bank->pmu->branch_depth;

    if (stack->size)
        return upmu_bank_write_address(bank, stack->size, depth);
    for (unsigned i = 0; i < depth; i++)
        if (!upmu_bank_write_address(bank, upmu_branch_place(stack, i), 0))
            return false;
    return true;
}

bool upmu_branch_stack_newest(struct upmu_bank *bank, const struct upmu_branch_stack *stack, unsigned *out_newest)
{
    uint64_t top = 0;

    if (stack->top && !upmu_bank_read_address(bank, stack->top, &top))
        return false;
    *out_newest = (unsigned)top & (bank->pmu->branch_depth - 1u);
    return true;
}

/* ---- Calls in any context ---- */

/* Branches that are not wanted are not written to `out` even for a moment: a program may be able to read it. */
bool upmu_branch_stack_entries(struct upmu_bank *bank, const struct upmu_branch_unit *unit,
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

    if (!upmu_branch_stack_newest(bank, stack, &at))
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
    const struct upmu_branch_stack *stack = upmu_branch_stack_of(cpu);
    struct upmu_bank *bank = &cpu->meter.bank;
    bool fine;

    *out_count = 0;
    if (!stack)
        return UPMU_ERR_STATE;
    unit->readers++;
    UPMU_BARRIER();
    fine = upmu_branch_stack_off(bank, stack) && upmu_branch_stack_entries(bank, unit, stack, out, room, out_count);
    UPMU_BARRIER();
    unit->readers--;
    UPMU_BARRIER();
    if (!unit->readers && !unit->frozen && upmu_branch_stack_of(cpu) && !upmu_branch_stack_halted(unit))
        fine &= upmu_branch_stack_go_on(cpu, stack);
    return fine ? UPMU_OK : UPMU_ERR_PORT;
}

enum upmu_status upmu_branches_freeze(struct upmu_cpu *cpu)
{
    const struct upmu_branch_stack *stack = upmu_branch_stack_of(cpu);
    bool fine;

    if (!stack)
        return UPMU_ERR_STATE;
    do { /* once more if the resume of an NMI has ended this freeze */
        cpu->branches.frozen = 1;
        UPMU_BARRIER();
        fine = upmu_branch_stack_off(&cpu->meter.bank, stack);
        UPMU_BARRIER();
    } while (!cpu->branches.frozen);
    return fine ? UPMU_OK : UPMU_ERR_PORT;
}

#else

struct upmu_branch_facts upmu_branches_facts(const struct upmu_pmu *pmu)
{
    (void)pmu;
    return (struct upmu_branch_facts){0, 0, 0};
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

#endif
