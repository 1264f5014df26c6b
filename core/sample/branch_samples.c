/* SPDX-License-Identifier: MIT */
/*
 * Branch records in samples (docs/BRANCHES.md, "In samples").
 *
 * The stack records exactly while a session that wants branches runs (meter->branches).  An interrupt stops it: by
 * hardware where that can (upmu_pmu.branch_freeze), else by the first write of the handler.  The first sample of the
 * interrupt reads the stack into unit->newest, all others share that, and then the stack records again.  A handler that
 * interrupts a bracket leaves the stack stopped, for the end of the bracket stores the samples.  Where the bracket has
 * started the stack anew by then, the branches of the interrupt are lost (BRANCHES_LOST).
 */
#include "core/sample/branch_samples.h"
#include "core/util/byte.h"
#include "core/event/why.h"
#include "core/hw/backend.h"
#include "core/hw/bank.h"
#include "core/engine/machine.h"
#include "core/engine/meter.h"
#include "core/engine/program.h"
#include "core/sample/batch.h"
#include "core/sample/branches_core.h"
#include "core/sample/record_branches.h"
#include <upmu/abi.h>
#include <upmu/precise.h>

#if UPMU_BRANCH_SAMPLES

#define SAMPLE_MODES (UPMU_BRANCH_USER | UPMU_BRANCH_KERNEL)
#define SAMPLE_KINDS                                                                                                   \
    (UPMU_BRANCH_ANY | UPMU_BRANCH_CALL | UPMU_BRANCH_IND_CALL | UPMU_BRANCH_RETURN | UPMU_BRANCH_COND |               \
     UPMU_BRANCH_IND_JUMP)

_Static_assert(sizeof(struct upmu_branch) * UPMU_BRANCHES_MOST == sizeof((struct upmu_branch_unit *)0)->newest,
               "room for the deepest stack");

/* Values of upmu_branch_unit.taken. */
enum branch_taken {
    BRANCHES_UNREAD, /* the stack was not read since the interrupt */
    BRANCHES_READ,   /* `newest` has the branches of the interrupt */
    BRANCHES_LOST    /* the stack has recorded, or was started anew, since the interrupt */
};

/* ---- On and off ---- */

static bool is_in_guest(const struct upmu_meter *meter)
{
#if UPMU_WORLDS
    return meter->in_guest;
#else
    (void)meter;
    return false;
#endif
}

static void stop_samples(struct upmu_meter *meter)
{
    struct upmu_branch_unit *unit = &meter->cpu->branches;
    const struct upmu_branch_stack *stack = meter->pmu->branch_stack;

    meter->branches = 0;
    if (!unit->frozen) /* else the host may read it yet */
        unit->stack = NULL;
    unit->halted = 0;
    UPMU_BARRIER();
    (void)(upmu_branch_stack_off(&meter->bank, stack) || upmu_branch_stack_off(&meter->bank, stack));
}

/* Write the filter register of a stack that is off, unless it has the value.  False: the register faulted. */
static bool write_filter(struct upmu_meter *meter, const struct upmu_branch_stack *stack, uint32_t record)
{
    struct upmu_branch_unit *unit = &meter->cpu->branches;
    uint64_t value = upmu_branch_select(stack, record);

    if (!upmu_branch_is_filtered(stack) || value == unit->written)
        return true;
    unit->written = ~UINT64_C(0); /* if the write faults, the next start writes again */
    if (!upmu_bank_write_address(&meter->bank, stack->select, value))
        return false;
    unit->written = value;
    return true;
}

/*
 * Clear the stack and record from now on.  After a fault samples have no branches, until the next plan tries again.
 * Handlers that interrupt this leave the stack alone, as meter->branches is 0 meanwhile.  If any interrupt has left
 * mail in this bracket, its samples get no branches: they would be later ones.  A stack that the host has frozen is
 * kept, as is its filter: its resume comes here.
 */
static void start_samples(struct upmu_meter *meter, uint32_t record)
{
    struct upmu_branch_unit *unit = &meter->cpu->branches;
    const struct upmu_branch_stack *stack = meter->pmu->branch_stack;
    struct upmu_bank *bank = &meter->bank;
    bool records = false, fine;

    for (;;) {
        if (unit->frozen && unit->stack) {
            meter->branches = (uint16_t)record;
            unit->stale = 1;
            UPMU_BARRIER();
            if (unit->frozen)
                return;
        }
        records = records || meter->branches;
        meter->branches = 0;
        unit->stack = NULL;
        UPMU_BARRIER(); /* from here on a freeze is refused */
        if (!records || !unit->frozen)
            break;
        unit->stack = stack; /* an NMI has frozen it just before */
        meter->branches = (uint16_t)record;
    }
    fine = !records || upmu_branch_stack_off(bank, stack) || upmu_branch_stack_off(bank, stack);
    unit->record = (uint16_t)record;
    unit->stale = 0;
    unit->taken = BRANCHES_LOST;
    if (fine && upmu_branch_stack_clear(bank, stack) && write_filter(meter, stack, record)) {
        unit->halted = is_in_guest(meter) ? UPMU_BRANCH_OFF : 0;
        UPMU_BARRIER();
        unit->stack = stack;
        meter->branches = (uint16_t)record;
        UPMU_BARRIER();
        /*
         * An interrupt that comes later notes that it freezes the stack; one that came before is released here.  A read
         * that this has interrupted switches recording on at its end.
         */
        if (upmu_branch_stack_release(bank) &&
            (is_in_guest(meter) || unit->readers || upmu_branch_stack_go_on(meter->cpu, stack))) {
            UPMU_BARRIER();
            upmu_record_branches_restart(&meter->cpu->records);
            if (!meter->cpu->mail.pending)
                unit->taken = BRANCHES_UNREAD;
            return;
        }
    }
    stop_samples(meter);
}

void upmu_branch_samples_come(struct upmu_meter *meter)
{
    uint32_t rest = meter->running, wanted = 0;
    const struct upmu_session *session;

    if (!meter->takes_branches)
        return;
    while (!wanted && (session = upmu_meter_next_running(meter, &rest)) != NULL)
        wanted = upmu_branch_samples_wanted(upmu_active(session));
    if (wanted && (wanted != meter->branches || meter->cpu->branches.stale))
        start_samples(meter, wanted);
    else if (!wanted && meter->branches)
        stop_samples(meter);
}

void upmu_branch_samples_switch(struct upmu_meter *meter)
{
    if (meter->cpu->branches.stale)
        start_samples(meter, meter->branches);
}

void upmu_branch_samples_cross(struct upmu_meter *meter)
{
#if UPMU_WORLDS
    struct upmu_branch_unit *unit = &meter->cpu->branches;

    if (!meter->in_guest)
        upmu_branch_samples_resume(meter);
    else if (upmu_branch_stack_off(&meter->bank, unit->stack) || upmu_branch_stack_off(&meter->bank, unit->stack))
        unit->halted = UPMU_BRANCH_OFF;
    else
        stop_samples(meter);
#else
    (void)meter;
#endif
}

/* ---- Interrupts ---- */

void upmu_branch_samples_interrupt(struct upmu_meter *meter)
{
    struct upmu_branch_unit *unit = &meter->cpu->branches;

    if (meter->pmu->branch_freeze == UPMU_BRANCH_FREEZE_STATUS)
        return;
    unit->halted = UPMU_BRANCH_OFF;
    if (meter->pmu->branch_freeze == UPMU_BRANCH_FREEZE_NONE)
        (void)upmu_branch_stack_off(&meter->bank, unit->stack);
}

void upmu_branch_samples_status(struct upmu_meter *meter, uint64_t status)
{
    struct upmu_branch_unit *unit = &meter->cpu->branches;

    if (meter->pmu->branch_freeze == UPMU_BRANCH_FREEZE_STATUS && (status & UPMU_BRANCH_STATUS_FROZEN) && !unit->halted)
        unit->halted = UPMU_BRANCH_FROZEN;
}

bool upmu_branch_samples_missed(struct upmu_meter *meter)
{
    struct upmu_branch_unit *unit = &meter->cpu->branches;

    if (meter->pmu->branch_freeze == UPMU_BRANCH_FREEZE_NONE || unit->halted)
        return false;
    /* Where the hardware sets a status bit instead, the look at the status tells. */
    if (meter->pmu->branch_freeze == UPMU_BRANCH_FREEZE_CLEARS)
        unit->halted = UPMU_BRANCH_OFF;
    return true;
}

void upmu_branch_samples_resume(struct upmu_meter *meter)
{
    struct upmu_branch_unit *unit = &meter->cpu->branches;
    bool off;

    unit->taken = BRANCHES_UNREAD;
    if (!meter->branches || !unit->halted || is_in_guest(meter))
        return;
    off = upmu_byte_and(&unit->halted, 0) == UPMU_BRANCH_OFF; /* in one step: the read of an NMI may change it */
    UPMU_BARRIER();
    /* A read that this interrupt has interrupted switches recording on at its end. */
    if (!upmu_branch_stack_release(&meter->bank) ||
        (off && !unit->readers && !unit->frozen && !upmu_branch_stack_go_on(meter->cpu, unit->stack)))
        stop_samples(meter);
}

/*
 * Read the stack of the present interrupt into unit->newest.  Where hardware freezes the stack, and it is not frozen,
 * it has recorded since the overflow: a call has started it anew while the interrupt was on its way, or the host's
 * handler has read it (before version 4 a read lets it record again).  Its branches are later ones.
 */
static void read_stack(struct upmu_meter *meter)
{
    struct upmu_branch_unit *unit = &meter->cpu->branches;
    unsigned freeze = meter->pmu->branch_freeze, count = 0;
    bool fine = true, recorded = freeze == UPMU_BRANCH_FREEZE_STATUS && !unit->halted;

    /* Entries are read only while nothing is recorded.  A stack that the status bit has frozen needs no write. */
    if (!recorded && unit->halted != UPMU_BRANCH_FROZEN) {
        unit->halted = UPMU_BRANCH_OFF;
        fine = upmu_branch_stack_halt(&meter->bank, unit->stack, &recorded);
        recorded = recorded && freeze == UPMU_BRANCH_FREEZE_CLEARS;
    }
    if (fine && !recorded)
        (void)upmu_branch_stack_entries(&meter->bank, unit, unit->stack, (void *)unit->newest, UPMU_BRANCHES_MOST,
                                        &count);
    unit->count = (uint8_t)count;
    unit->taken = recorded ? BRANCHES_LOST : BRANCHES_READ;
}

void upmu_branch_samples_forget(struct upmu_branch_unit *unit)
{
    if (unit->taken == BRANCHES_READ)
        unit->taken = BRANCHES_UNREAD;
}

void upmu_branch_samples_take(struct upmu_overflow *overflow, bool of_interrupt)
{
    struct upmu_meter *meter = &overflow->cpu->meter;
    struct upmu_branch_unit *unit = &overflow->cpu->branches;

    if ((overflow->flags & UPMU_SAMPLE_PRECISE) && upmu_record_branches_apply(meter))
        return; /* it has the branches of its record, or none */
    overflow->branches = 0;
    if (!(overflow->flags & UPMU_SAMPLE_PRECISE))
        overflow->parts = 0;
    if (!of_interrupt || !meter->branches || unit->frozen || unit->stale || unit->taken == BRANCHES_LOST ||
        upmu_branch_samples_wanted(overflow->set) != meter->branches || upmu_branch_samples_hidden(overflow->session))
        return;
    if (unit->taken == BRANCHES_UNREAD)
        read_stack(meter);
    if (unit->taken == BRANCHES_LOST)
        return;
    overflow->branch = (const void *)unit->newest;
    overflow->branches = unit->count;
    overflow->parts |= UPMU_PART_BRANCHES;
}

/* ---- Which sessions ---- */

void upmu_branch_samples_begin(struct upmu_session *session)
{
    uint8_t hides = UPMU_LOAD(session->hides_kernel);

    if (!session->branches || session->began_hidden == hides)
        return;
    session->began_hidden = hides;
    for (struct upmu_set *set = session->sets; set; set = upmu_set_after(set))
        upmu_program_forget(set);
}

bool upmu_branch_samples_agree(const struct upmu_set *one, const struct upmu_set *other)
{
    uint32_t wanted = upmu_branch_samples_wanted(one), beside = upmu_branch_samples_wanted(other);

    return !wanted || !beside || wanted == beside;
}

bool upmu_branch_samples_join(const struct upmu_meter *meter, const struct upmu_set *set)
{
    const struct upmu_plan *plan = &meter->plan;
    uint32_t rest = meter->running & ~plan->leave;
    const struct upmu_session *other;

    if (!upmu_branch_samples_wanted(set)) /* it hides the kernel, and wants branches of the kernel alone */
        return true;
    if (!meter->takes_branches)
        return false;
    while ((other = upmu_meter_next_running(meter, &rest)) != NULL)
        if (!upmu_branch_samples_agree(set, upmu_active(other)))
            return false;
    for (unsigned part = 0; part < plan->ins; part++)
        if (!upmu_branch_samples_agree(set, plan->set[part]))
            return false;
    return true;
}

static enum upmu_status refuse_samples(struct upmu_session *session, const struct upmu_pmu *pmu, const char *reason)
{
    (void)upmu_why_refuse(&session->why, UPMU_ERR_UNSUPPORTED, pmu, NULL, 0, 0);
    for (unsigned i = 0; UPMU_WHY_TEXT && i < UPMU_WHY_WORD - 1u && reason[i]; i++)
        session->why.word[i] = reason[i];
    return UPMU_ERR_UNSUPPORTED;
}

static enum upmu_status check_stack(const struct upmu_pmu *pmu, struct upmu_session *session, uint32_t record)
{
    if (!pmu->branch_stack)
        return refuse_samples(session, pmu, pmu->no_branches ? pmu->no_branches : "no branch records");
    if (record & ~upmu_branches_facts(pmu).record)
        return refuse_samples(session, pmu, "it cannot record this kind alone");
    return UPMU_OK;
}

enum upmu_status upmu_branch_samples_check(const struct upmu_meter *meter, struct upmu_session *session)
{
    if (!meter->takes_branches)
        return upmu_why_hook(&session->why, "upmu_cpu_use_branches");
    return check_stack(meter->pmu, session, session->branches);
}

enum upmu_status upmu_session_branches(struct upmu_session *session, uint32_t record)
{
    const uint32_t known = SAMPLE_MODES | SAMPLE_KINDS | UPMU_BRANCH_NO_INFO;
    const struct upmu_machine *machine = session->machine;
    enum upmu_status status;

    if (session->state != UPMU_SESSION_DETACHED)
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    if (record & ~known)
        return upmu_session_refuse(session, UPMU_ERR_INVALID);
    if (record && (!machine || !__atomic_load_n(&machine->pmu_count, __ATOMIC_ACQUIRE)))
        return upmu_session_refuse(session, UPMU_ERR_NO_PMU);
    (void)upmu_session_refuse(session, UPMU_OK);
    if (record && upmu_batch_any(session))
        return refuse_samples(session, NULL, "BATCH: its samples have no branches");
    if (record) {
        record |= (record & SAMPLE_MODES ? 0 : SAMPLE_MODES) | (record & SAMPLE_KINDS ? 0 : UPMU_BRANCH_ANY);
        if (upmu_session_world_of(session) == UPMU_WORLD_GUEST)
            return refuse_samples(session, NULL, "it counts guests");
        status = check_stack(upmu_machine_pmu_of(machine, session->pmu), session, record);
        if (status != UPMU_OK)
            return status;
        if (!__atomic_load_n(&machine->branch_cpus, __ATOMIC_RELAXED))
            return upmu_why_hook(&session->why, "upmu_cpu_use_branches");
#if UPMU_WORLDS
        session->world = UPMU_WORLD_HOST;
#endif
    }
    session->branches = (uint16_t)record;
    for (struct upmu_set *set = session->sets; set; set = upmu_set_after(set))
        upmu_program_forget(set);
    return UPMU_OK;
}

uint32_t upmu_machine_branches(const struct upmu_machine *machine, const struct upmu_pmu *pmu)
{
    if (!__atomic_load_n(&machine->branch_cpus, __ATOMIC_RELAXED))
        return 0;
    return upmu_branches_facts(pmu).record & ~(uint32_t)UPMU_BRANCH_TAKE;
}

#else

enum upmu_status upmu_session_branches(struct upmu_session *session, uint32_t record)
{
    (void)record;
    return upmu_session_refuse(session, UPMU_ERR_COMPILED_OUT);
}

enum upmu_status upmu_cpu_use_branches(struct upmu_cpu *cpu, const struct upmu_branch_filter *use,
                                       struct upmu_why *why)
{
    (void)cpu, (void)use;
    return upmu_why_refuse(why, UPMU_ERR_COMPILED_OUT, NULL, NULL, 0, 0);
}

#endif
