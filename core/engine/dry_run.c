/* SPDX-License-Identifier: MIT */
/* Dry run: list the register writes that the start of a session would make.  No register is written. */
#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/hw/backend.h"
#include "core/hw/bank.h"
#include "core/engine/count.h"
#include "core/engine/joint.h"
#include "core/engine/bracket.h"
#include "core/engine/program.h"

#if UPMU_DRY_RUN

struct dry_start {
    struct upmu_session *session;
    const struct upmu_pmu *pmu;
    struct upmu_dry_run *dry_run;
};

/*
 * The bank and the steps of a dry run.  They lie in the placement's work area, whose content is no longer needed then.
 */
struct dry_registers {
    struct upmu_bank bank;
    uint64_t memory[UPMU_BANK_WORDS(UPMU_REGISTERS)]; /* states, shadows and found values of the bank */
    struct upmu_step step[UPMU_STEPS];
};

_Static_assert(sizeof(struct dry_registers) <= sizeof(struct upmu_place_work), "the work area is too small");

/*
 * Make the steps of the session's registers, and store the places in its tallies if it is detached.  Returns the
 * counters that the start would open.
 */
static uint32_t want_registers(struct upmu_session *session, const struct upmu_pmu *pmu, const struct upmu_joint *joint,
                               struct upmu_image *image)
{
    const struct upmu_port *port = session->machine->port;
    struct upmu_set *set = upmu_active(session);
    uint32_t counters = 0;

    for (unsigned i = 0; i < joint->count; i++) {
        const struct upmu_place_result *result = &joint->result[i];

        pmu->backend->render(pmu, &set->event[i], result->alternative, result->counter,
                             (port && upmu_program_interrupts(port, pmu, &set->tally[i]) ? UPMU_RENDER_INTERRUPT : 0) |
                                 upmu_program_records(set, i),
                             image);
        for (unsigned slot = upmu_event_cascades(&set->event[i]); slot < UPMU_SLOTS; slot++)
            if (result->counter[slot] != UPMU_NO_COUNTER)
                counters |= UPMU_BIT32(result->counter[slot]);
        if (session->state == UPMU_SESSION_DETACHED)
            upmu_joint_note(&set->tally[i], result);
    }
    return counters;
}

/* List the write of the register that lets the counters of precise events store records. */
static void list_records(struct upmu_bank *bank, const struct upmu_set *set, const struct upmu_joint *joint)
{
#if UPMU_PRECISE
    const struct upmu_pmu *pmu = bank->pmu;
    uint64_t bits = 0;

    for (unsigned i = 0; i < joint->count; i++)
        if (set->tally[i].precise)
            bits |= pmu->backend->record_bits(pmu, &set->event[i], joint->result[i].counter[0]);
    if (bits)
        (void)upmu_bank_merge(bank, pmu->record_row, bits, bits, 0);
#else
    (void)bank, (void)set, (void)joint;
#endif
}

static enum upmu_status list_writes(const struct dry_start *start, const struct upmu_joint *joint,
                                    struct dry_registers *registers)
{
    const struct upmu_pmu *pmu = start->pmu;
    struct upmu_set *set = upmu_active(start->session);
    struct upmu_bank *bank = &registers->bank;
    struct upmu_image image = upmu_image_on(pmu, registers->step, UPMU_STEPS);
    uint32_t counters = want_registers(start->session, pmu, joint, &image);

    if (image.overfull)
        return upmu_session_refuse(start->session, UPMU_ERR_UNSUPPORTED);
    upmu_bank_init(bank, pmu, start->session->machine->port, true, registers->memory);
    upmu_bank_pretend(bank, start->dry_run);
    if (UPMU_PRELUDES && image.prelude)
        (void)upmu_bank_prelude(bank, pmu->backend->prelude, 0);
    (void)upmu_bank_load(bank, image.step, image.count, 0, 0);
    for (unsigned i = 0; i < joint->count; i++) {
        unsigned counter = joint->result[i].counter[0];

        if (set->tally[i].period)
            upmu_bank_list(bank, counter, upmu_count_load(pmu, &set->tally[i], counter));
        if (upmu_event_cascades(&set->event[i]))
            upmu_bank_list(bank, joint->result[i].counter[UPMU_SECOND_SLOT], UINT64_C(0) - set->sampling[i].period);
    }
    if (UPMU_METRICS && (counters & UPMU_METRIC_COUNTERS(pmu))) {
        upmu_bank_list(bank, UPMU_SLOTS_COUNTER, 0);
        upmu_bank_list(bank, upmu_bits_lowest(counters & UPMU_METRIC_COUNTERS(pmu)), 0);
    }
    list_records(bank, set, joint);
    (void)upmu_bank_gate(bank, counters, 0);
    return UPMU_OK;
}

static enum upmu_status place_and_list(struct upmu_place_work *work, void *argument)
{
    const struct dry_start *start = argument;
    struct upmu_joint joint;
    enum upmu_status status;

    upmu_joint_begin(&joint, start->pmu);
    (void)upmu_joint_add(&joint, start->session, false);
    status = upmu_joint_solve(NULL, &joint, true, work, &start->session->why);
    if (status == UPMU_OK)
        status = list_writes(start, &joint, (struct dry_registers *)(void *)work);
    return status;
}

enum upmu_status upmu_session_dry_run(struct upmu_session *session, const struct upmu_pmu *pmu,
                                      struct upmu_dry_run *dry_run)
{
    const struct upmu_set *set = upmu_active(session);
    struct dry_start start = {session, pmu, dry_run};
    enum upmu_status status;

    if (!set || !set->count)
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    status = upmu_bracket_place(session->machine, place_and_list, &start);
    return status == UPMU_ERR_BUSY ? upmu_session_refuse(session, status) : status;
}

#else

enum upmu_status upmu_session_dry_run(struct upmu_session *session, const struct upmu_pmu *pmu,
                                      struct upmu_dry_run *dry_run)
{
    (void)pmu;
    (void)dry_run;
    return upmu_session_refuse(session, UPMU_ERR_COMPILED_OUT);
}

#endif
