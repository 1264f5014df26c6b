/* SPDX-License-Identifier: MIT */
/*
 * Starting a session without hardware: the writes that it would make.
 */
#include "core/backend.h"
#include "core/bank.h"
#include "core/bits.h"
#include "core/count.h"
#include "core/joint.h"
#include "core/mem.h"

enum upmu_status upmu_session_dry_run(struct upmu_session *session, const struct upmu_pmu *pmu,
                                      struct upmu_dry_run *dry_run)
{
    const struct upmu_set *set = upmu_active(session);
    struct upmu_joint joint;
    struct upmu_image image;
    struct upmu_bank bank;
    enum upmu_status status;
    uint32_t counters = 0, changed;

    if (!set || !set->count)
        return UPMU_ERR_STATE;
    upmu_joint_begin(&joint, pmu);
    (void)upmu_joint_add(&joint, session, false);
    status = upmu_joint_solve(NULL, &joint, true, &session->why);
    if (status != UPMU_OK)
        return status;
    upmu_bank_init(&bank, pmu, session->machine->port, true);
    upmu_bank_pretend(&bank, dry_run);
    upmu_image_clear(&image);
    for (unsigned i = 0; i < joint.count; i++) {
        const struct upmu_place_result *result = &joint.result[i];

        pmu->backend->render(pmu, &upmu_active(session)->event[i], result->alternative, result->counter,
                             upmu_active(session)->tally[i].period ? UPMU_RENDER_INTERRUPT : 0, &image);
        for (unsigned slot = upmu_event_cascades(&upmu_active(session)->event[i]); slot < UPMU_SLOTS; slot++)
            if (result->counter[slot] != UPMU_NO_COUNTER)
                counters |= UPMU_BIT32(result->counter[slot]);
        if (session->state == UPMU_SESSION_DETACHED)
            upmu_tally_place(&upmu_active(session)->tally[i], result);
    }
    if (UPMU_PRELUDES && image.prelude)
        (void)upmu_bank_prelude(&bank, image.prelude, 0);
    (void)upmu_bank_load(&bank, &image, 0, &changed);
    for (unsigned i = 0; i < joint.count; i++) {
        const struct upmu_tally *tally = &upmu_active(session)->tally[i];
        unsigned counter = joint.result[i].counter[0];

        if (tally->period)
            upmu_bank_list(&bank, counter, upmu_count_load(pmu, tally, counter));
        if (upmu_event_cascades(&upmu_active(session)->event[i]))
            upmu_bank_list(&bank, joint.result[i].counter[UPMU_SECOND_SLOT],
                                  UINT64_C(0) - upmu_active(session)->sampling[i].period);
    }
    if (UPMU_METRICS && (counters & UPMU_METRIC_COUNTERS)) {
        upmu_bank_list(&bank, UPMU_SLOTS_COUNTER, 0);
        upmu_bank_list(&bank, upmu_bits_lowest(counters & UPMU_METRIC_COUNTERS), 0);
    }
    (void)upmu_bank_gate(&bank, counters, 0);
    return UPMU_OK;
}
