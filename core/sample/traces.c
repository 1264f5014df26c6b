/* SPDX-License-Identifier: MIT */
/*
 * Traces of branches in memory (BTS): begin and end a trace, and read its entries.  The entries form a ring: behind the
 * last one the hardware begins anew, without an interrupt.
 *
 * Words of the debug store area and of an entry: Linux 6.12 arch/x86/include/asm/intel_ds.h, events/intel/ds.c; bits of
 * DEBUGCTL, a ring where BTINT is 0, flag bit 4: SDM vol 3 17.4.1, 17.4.9.
 */
#include <upmu/bts.h>
#include <upmu/precise.h>

#include "core/util/bits.h"
#include "core/event/why.h"
#include "core/hw/bank.h"
#include "core/engine/bracket.h"
#include "core/engine/meter.h"
#include "core/sample/branches_core.h"
#include "core/sample/records_core.h"
#include "core/sample/traces_core.h"

#if UPMU_BTS

#define TRACE_MODES (UPMU_BRANCH_USER | UPMU_BRANCH_KERNEL)
#define TRACE_KERNEL_FROM UPMU_BIT64(63)

/* Words of the debug store area that the trace has; those of precise records follow. */
enum { AREA_BASE, AREA_INDEX, AREA_MAXIMUM, AREA_THRESHOLD };

/* Bits of DEBUGCTL: BTINT, by which the threshold interrupts; no branches of ring 0; none of other rings. */
#define BTINT UPMU_BIT64(8)
#define OFF_KERNEL UPMU_BIT64(9)
#define OFF_USER UPMU_BIT64(10)
#define CONTROL_BITS (UPMU_DEBUGCTL_TRACES | BTINT | OFF_KERNEL | OFF_USER)

/* Words of an entry, and the bit of its flags that says that the branch was predicted right. */
enum { ENTRY_FROM, ENTRY_TO, ENTRY_FLAGS, ENTRY_WORDS };
#define PREDICTED UPMU_BIT64(4)
_Static_assert(8u * ENTRY_WORDS == UPMU_BTS_ENTRY_BYTES, "as the hardware stores them");

/* The control register of Processor Trace, and its bit that enables the trace: Linux asm/msr-index.h. */
#define PROCESSOR_TRACE UINT32_C(0x570)
#define PROCESSOR_TRACE_RUNS UINT64_C(1)

struct traces_start {
    struct upmu_bts *bts;
    struct upmu_why *why;
};

static enum upmu_status refuse_trace(const struct traces_start *start, const struct upmu_pmu *pmu,
                                     enum upmu_status status, const char *reason)
{
    (void)upmu_why_refuse(start->why, status, pmu, NULL, 0, 0);
    if (UPMU_WHY_TEXT && start->why && reason)
        for (unsigned i = 0; i < UPMU_WHY_WORD - 1u && reason[i]; i++)
            start->why->word[i] = reason[i];
    return status;
}

/* ---- Registers ---- */

/* Give the trace's bits of DEBUGCTL a value; the others may be of other software, and stay.  False: a fault. */
static bool set_trace_control(struct upmu_bank *bank, uint64_t bits, uint64_t *out_value)
{
    return upmu_bank_read_address(bank, UPMU_DEBUGCTL, out_value) &&
           upmu_bank_write_address(bank, UPMU_DEBUGCTL, (*out_value & ~CONTROL_BITS) | bits);
}

static uint64_t control_bits(const struct upmu_pmu *pmu, uint32_t record)
{
    uint64_t bits = UPMU_DEBUGCTL_TRACES;

    if (pmu->traces & UPMU_TRACES_BY_RING)
        bits |= (record & UPMU_BRANCH_KERNEL ? 0 : OFF_KERNEL) | (record & UPMU_BRANCH_USER ? 0 : OFF_USER);
    return bits;
}

/*
 * Note which entries are left.  `bytes` of the ring are behind the newest entry's end.  The entry behind the newest one
 * is the oldest, if the ring has been full once: then its last entry is not empty.  An index that is nowhere in the
 * ring, as after a store of other software, leaves none.
 */
static void note_entries(struct upmu_bts *bts)
{
    struct upmu_bts_state *state = &bts->state;
    const volatile uint64_t *last =
        (const volatile uint64_t *)bts->entries + (size_t)ENTRY_WORDS * (state->entries - 1u);
    uint64_t bytes = state->area[AREA_INDEX] - bts->entries_linear;
    bool full = last[ENTRY_FROM] | last[ENTRY_TO] | last[ENTRY_FLAGS];

    if (bytes > (uint64_t)UPMU_BTS_ENTRY_BYTES * state->entries || (uint32_t)bytes % UPMU_BTS_ENTRY_BYTES)
        return;
    state->next = (uint32_t)bytes / UPMU_BTS_ENTRY_BYTES;
    state->left = full ? state->entries : state->next;
    state->next = full ? state->next % state->entries : 0;
}

/*
 * Stop the stores, restore the register of the area's address, and note which entries are left.  Returns false where a
 * register faulted twice: then the trace counts as running.
 */
static bool end_trace(struct upmu_meter *meter)
{
    struct upmu_bts *bts = meter->cpu->bts;
    struct upmu_bts_state *state = &bts->state;
    uint64_t before;

    if (!set_trace_control(&meter->bank, 0, &before) && !set_trace_control(&meter->bank, 0, &before))
        return false;
    if (state->own_area && !upmu_bank_write_address(&meter->bank, UPMU_DS_AREA, state->found) &&
        !upmu_bank_write_address(&meter->bank, UPMU_DS_AREA, state->found))
        return false;
    UPMU_BARRIER();
    meter->cpu->bts = NULL;
    note_entries(bts);
    return true;
}

/* ---- Begin and end ---- */

/* Does other software, or the branch stack, have what the trace needs? */
static enum upmu_status look_for_others(struct upmu_meter *meter, const struct traces_start *start,
                                        uint64_t *out_control)
{
    const struct upmu_cpu *cpu = meter->cpu;
    uint64_t trace = 0;

    if (cpu->bts)
        return refuse_trace(start, meter->pmu, UPMU_ERR_STATE, "a trace runs");
    if (cpu->branches.ours)
        return refuse_trace(start, meter->pmu, UPMU_ERR_STATE, "the branch stack is in use");
    if (upmu_meter_by_hardware(meter))
        return refuse_trace(start, meter->pmu, UPMU_ERR_STATE, "the hardware changes worlds");
#if UPMU_WORLDS
    if (meter->in_guest)
        return refuse_trace(start, meter->pmu, UPMU_ERR_STATE, "a guest runs");
#endif
    if (!cpu->records.area != (start->bts->area != NULL))
        return refuse_trace(start, meter->pmu, UPMU_ERR_INVALID, NULL);
    if (cpu->records.area && !meter->takes_records)
        return refuse_trace(start, meter->pmu, UPMU_ERR_STATE, "other software has the debug store");
    if ((meter->pmu->branch_trace && !upmu_bank_read_address(&meter->bank, PROCESSOR_TRACE, &trace)) ||
        !upmu_bank_read_address(&meter->bank, UPMU_DEBUGCTL, out_control))
        return refuse_trace(start, meter->pmu, UPMU_ERR_PORT, NULL);
    if (trace & PROCESSOR_TRACE_RUNS)
        return refuse_trace(start, meter->pmu, UPMU_ERR_STATE, "Processor Trace runs");
    if (*out_control & UPMU_DEBUGCTL_TRACES)
        return refuse_trace(start, meter->pmu, UPMU_ERR_STATE, "other software traces branches");
    return UPMU_OK;
}

/* Fill the trace's part of the area.  In an area of its own the rest is 0: no counter can store records there. */
static void set_up_trace(struct upmu_bts *bts)
{
    struct upmu_bts_state *state = &bts->state;
    volatile uint64_t *last = (volatile uint64_t *)bts->entries + (size_t)ENTRY_WORDS * (state->entries - 1u);

    for (unsigned i = 0; state->own_area && i < UPMU_RECORD_AREA_BYTES / 8u; i++)
        state->area[i] = 0;
    state->area[AREA_BASE] = state->area[AREA_INDEX] = bts->entries_linear;
    state->area[AREA_MAXIMUM] = bts->entries_linear + (uint64_t)UPMU_BTS_ENTRY_BYTES * state->entries;
    state->area[AREA_THRESHOLD] = state->area[AREA_MAXIMUM];
    last[ENTRY_FROM] = last[ENTRY_TO] = last[ENTRY_FLAGS] = 0;
}

/* Give the hardware the address of an own area.  *out_kept: does the register keep what is written? */
static bool give_area(struct upmu_meter *meter, const struct upmu_bts *bts, bool *out_kept)
{
    uint64_t area = bts->area_linear;
    bool fine = !bts->state.own_area || (upmu_bank_write_address(&meter->bank, UPMU_DS_AREA, area) &&
                                         upmu_bank_read_address(&meter->bank, UPMU_DS_AREA, &area));

    *out_kept = area == bts->area_linear;
    return fine;
}

static enum upmu_status start_trace(struct upmu_meter *meter, void *argument)
{
    const struct traces_start *start = argument;
    struct upmu_bts *bts = start->bts;
    struct upmu_bts_state *state = &bts->state;
    uint64_t control = 0;
    bool fine, kept = true;
    enum upmu_status status = look_for_others(meter, start, &control);

    if (status != UPMU_OK)
        return status;
    *state = (struct upmu_bts_state){.area = bts->area ? bts->area : meter->cpu->records.area,
                                     .control = control_bits(meter->pmu, bts->record ? bts->record : TRACE_MODES),
                                     .kernel_from = bts->kernel_from ? bts->kernel_from : TRACE_KERNEL_FROM,
                                     .entries = (uint32_t)(bts->entry_bytes / UPMU_BTS_ENTRY_BYTES),
                                     .own_area = bts->area != NULL};
    if (state->own_area && !upmu_bank_read_address(&meter->bank, UPMU_DS_AREA, &state->found))
        return refuse_trace(start, meter->pmu, UPMU_ERR_PORT, NULL);
    set_up_trace(bts);
    UPMU_BARRIER();
    meter->cpu->bts = bts; /* from here on upmu_records_emergency() ends the trace */
    UPMU_BARRIER();
    fine = give_area(meter, bts, &kept);
    if (fine && kept) {
        fine = upmu_bank_write_address(&meter->bank, UPMU_DEBUGCTL, (control & ~CONTROL_BITS) | state->control) &&
               upmu_bank_read_address(&meter->bank, UPMU_DEBUGCTL, &control);
        kept = !fine || (control & UPMU_DEBUGCTL_TRACES) == UPMU_DEBUGCTL_TRACES;
    }
    if (fine && kept)
        return UPMU_OK;
    fine &= end_trace(meter);
    return fine ? refuse_trace(start, meter->pmu, UPMU_ERR_UNSUPPORTED, "a register of traces drops what is written")
                : refuse_trace(start, meter->pmu, UPMU_ERR_PORT, NULL);
}

static bool is_trace_usable(const struct upmu_bts *bts)
{
    return bts->entries && !((uintptr_t)bts->entries & 4095u) && upmu_records_is_page(bts->entries_linear) &&
           bts->entry_bytes >= UPMU_BTS_LEAST_BYTES && bts->entry_bytes <= UPMU_BTS_MOST_BYTES &&
           !(bts->entry_bytes & 4095u) && bts->entries_linear + (bts->entry_bytes - 1u) >= bts->entries_linear &&
           !(bts->record & ~TRACE_MODES) &&
           (!bts->area || (!((uintptr_t)bts->area & 4095u) && upmu_records_is_page(bts->area_linear) &&
                           bts->area_linear - bts->entries_linear >= bts->entry_bytes));
}

enum upmu_status upmu_bts_start(struct upmu_cpu *cpu, struct upmu_bts *bts, struct upmu_why *why)
{
    const struct upmu_pmu *pmu = cpu->meter.pmu;
    struct traces_start start = {bts, why};
    enum upmu_status status;

    upmu_why_clear(why);
    if (!cpu->meter.live || !pmu)
        return refuse_trace(&start, NULL, UPMU_ERR_NO_PMU, NULL);
    if (!pmu->traces)
        return refuse_trace(&start, pmu, UPMU_ERR_UNSUPPORTED, "no traces of branches that upmu drives");
    if ((pmu->capabilities & UPMU_PMU_HYPERVISOR) && !cpu->meter.bank.port->msr_faults_are_safe)
        return refuse_trace(&start, pmu, UPMU_ERR_UNSUPPORTED, "a hypervisor, and faults are not safe");
    if (!is_trace_usable(bts))
        return refuse_trace(&start, pmu, UPMU_ERR_INVALID, NULL);
    status = upmu_bracket_run(&cpu->meter, start_trace, &start);
    if (why && status != why->status)
        (void)refuse_trace(&start, pmu, status, NULL);
    return status;
}

static enum upmu_status stop_trace(struct upmu_meter *meter, void *bts)
{
    return meter->cpu->bts != bts || end_trace(meter) ? UPMU_OK : UPMU_ERR_PORT;
}

enum upmu_status upmu_bts_stop(struct upmu_cpu *cpu, struct upmu_bts *bts)
{
    return cpu->meter.pmu ? upmu_bracket_run(&cpu->meter, stop_trace, bts) : UPMU_ERR_NO_PMU;
}

bool upmu_traces_end(struct upmu_meter *meter)
{
    return !meter->cpu->bts || end_trace(meter);
}

bool upmu_traces_cross(struct upmu_meter *meter)
{
    struct upmu_bts *bts = meter->cpu->bts;
    uint64_t before, bits;

    if (!bts)
        return true;
#if UPMU_WORLDS
    bits = meter->in_guest ? 0 : bts->state.control;
#else
    bits = bts->state.control;
#endif
    return set_trace_control(&meter->bank, bits, &before) || set_trace_control(&meter->bank, bits, &before);
}

void upmu_traces_off(struct upmu_cpu *cpu)
{
    struct upmu_bts *bts = cpu->bts;

    if (!bts)
        return;
    cpu->bts = NULL;
    (void)upmu_bank_write_address(&cpu->meter.bank, UPMU_DEBUGCTL, 0);
    note_entries(bts);
}

/* ---- Entries ---- */

bool upmu_bts_next(struct upmu_bts *bts, struct upmu_branch *out_branch)
{
    struct upmu_bts_state *state = &bts->state;

    while (state->left) {
        const volatile uint64_t *entry = (const volatile uint64_t *)bts->entries + (size_t)ENTRY_WORDS * state->next;
        struct upmu_branch branch = {entry[ENTRY_FROM], entry[ENTRY_TO],
                                     entry[ENTRY_FLAGS] & PREDICTED ? UPMU_BRANCH_INFO_PREDICTED : 0};

        state->next = state->next + 1u == state->entries ? 0 : state->next + 1u;
        state->left--;
        if (!upmu_branch_is_wanted(&branch, bts->record ? bts->record : TRACE_MODES, state->kernel_from))
            continue;
        *out_branch = branch;
        return true;
    }
    return false;
}

#else

enum upmu_status upmu_bts_start(struct upmu_cpu *cpu, struct upmu_bts *bts, struct upmu_why *why)
{
    (void)cpu, (void)bts;
    return upmu_why_refuse(why, UPMU_ERR_COMPILED_OUT, NULL, NULL, 0, 0);
}

enum upmu_status upmu_bts_stop(struct upmu_cpu *cpu, struct upmu_bts *bts)
{
    (void)cpu, (void)bts;
    return UPMU_ERR_COMPILED_OUT;
}

bool upmu_bts_next(struct upmu_bts *bts, struct upmu_branch *out_branch)
{
    (void)bts, (void)out_branch;
    return false;
}

#endif
