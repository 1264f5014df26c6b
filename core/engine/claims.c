/* SPDX-License-Identifier: MIT */
/*
 * Claims on what other CPUs share, held for running sessions.  All that a placement needs is claimed before an event
 * moves.  At the end of the bracket, claims that no running session needs are parked: any CPU can take them.  If none
 * has, the next claim by this CPU finds the registers as its shadow says.
 */
#include "core/engine/claims.h"
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/hw/backend.h"
#include "core/hw/bank.h"
#include "core/hw/domain.h"
#include "core/engine/meter.h"

bool upmu_claims_share_set(const struct upmu_meter *meter, const struct upmu_set *set)
{
    bool payload = false;

    if (!upmu_meter_domain(meter))
        return false;
    for (unsigned i = 0; i < set->count; i++)
        payload |= set->event[i].payload != 0;
    return (set->counters & meter->pmu->shared_counters) || upmu_pmu_is_paired(meter->pmu) ||
           (meter->pmu->shared && payload);
}

/*
 * Make the register of `what`, a resource or a UPMU_DOMAIN_COUNTER, unknown: another CPU may have written it, or may
 * write it from now on.  A counter also loses its tag.
 */
static void forget_claim(struct upmu_meter *meter, unsigned what)
{
    unsigned row;

    if (what < UPMU_RESOURCES) {
        row = meter->pmu->backend->resource_row(meter->pmu, what);
    } else {
        upmu_meter_forget_value(meter, what - UPMU_RESOURCES);
        row = meter->pmu->counter[what - UPMU_RESOURCES].select_row;
    }
    if (row != UPMU_NO_ROW)
        upmu_bank_forget_row(&meter->bank, row);
}

static bool claim_one(struct upmu_meter *meter, unsigned what, uint64_t value)
{
    enum upmu_claim claim = upmu_domain_claim(meter->domain, meter->domain_number, what, value);

    if (claim == UPMU_CLAIM_NEW)
        forget_claim(meter, what);
    return claim != UPMU_CLAIM_LOST;
}

/* The ways in which use_resources() uses the shared resources of an event. */
enum purpose {
    CLAIM, /* claim the resources */
    KEEP   /* tell the domain the values that the running event needs */
};

static bool use_one(struct upmu_meter *meter, unsigned resource, uint64_t value, enum purpose purpose, uint64_t *needed)
{
    *needed |= UPMU_BIT64(resource);
    if (purpose == CLAIM)
        return claim_one(meter, resource, value);
    upmu_domain_settle(meter->domain, meter->domain_number, resource, value);
    return true;
}

/*
 * For an event on `counter`, in the way `alternative`: claim its shared resources (CLAIM), or note in the domain the
 * values that it needs (KEEP).  *needed gets a bit for each of them.  On a paired PMU the number of a general counter
 * is such a resource, too: both hyper-threads share it while neither has an exclusive event there.  Returns false where
 * another CPU has a claim that excludes this one.
 */
static bool use_resources(struct upmu_meter *meter, const struct upmu_event *event, unsigned alternative,
                          unsigned counter, enum purpose purpose, uint64_t *needed)
{
    const struct upmu_pmu *pmu = meter->pmu;
    struct upmu_alternative how;

    if (pmu->shared && pmu->backend->alternative(pmu, event, meter->thread, alternative, &how))
        for (unsigned slot = 0; slot < how.slot_count; slot++)
            for (unsigned k = 0; k < how.slot[slot].resource_count; k++) {
                unsigned resource = how.slot[slot].resource[k];

                if ((pmu->shared >> resource & 1u) &&
                    !use_one(meter, resource, how.slot[slot].value[k], purpose, needed))
                    return false;
            }
    return !upmu_pmu_is_paired(pmu) || counter >= 8 ||
           use_one(meter, UPMU_PAIR_RESOURCE(counter), upmu_event_is_exclusive(event) ? 1u + meter->domain_number : 0,
                   purpose, needed);
}

/* For the running sessions: note in the domain the values that they need.  All other claims of this CPU are parked. */
void upmu_claims_trim(struct upmu_meter *meter, bool say_nothing)
{
    uint32_t counters = 0;
    uint64_t resources = 0;

    if (!upmu_meter_domain(meter))
        return;
    for (struct upmu_session *session = meter->sessions; session; session = session->next)
        if (upmu_session_occupies(session)) {
            const struct upmu_set *set = upmu_active(session);

            counters |= session->counters;
            for (unsigned i = 0; i < set->count; i++)
                (void)use_resources(meter, &set->event[i], set->tally[i].alternative, set->tally[i].counter, KEEP,
                                    &resources);
        }
    resources = meter->pmu->shared & ~resources;
    counters = meter->pmu->shared_counters & ~counters;
    for (unsigned i = 0; i < UPMU_DOMAIN_CLAIMS; i++)
        if (i < UPMU_RESOURCES ? resources >> i & 1u : counters >> (i - UPMU_RESOURCES) & 1u) {
            upmu_domain_park(meter->domain, meter->domain_number, i);
            if (say_nothing)
                forget_claim(meter, i);
        }
}

bool upmu_claims_take_set(struct upmu_meter *meter, struct upmu_set *set)
{
    uint64_t needed = 0;
    bool fine = !meter->in_handler;

    upmu_claims_review(meter);
    for UPMU_TALLIES(tally, set) {
        for (uint32_t rest = tally->counters & meter->pmu->shared_counters; fine && rest; rest &= rest - 1u)
            fine = claim_one(meter, UPMU_DOMAIN_COUNTER(upmu_bits_lowest(rest)), 0);
        fine = fine && use_resources(meter, &set->event[tally->index], tally->alternative, tally->counter, CLAIM,
                                     &needed);
    }
    return fine;
}

bool upmu_claims_take(struct upmu_meter *meter, const struct upmu_joint *joint)
{
    uint64_t needed = 0;
    bool fine = true;

    if (!upmu_meter_domain(meter))
        return true;
    upmu_claims_review(meter);
    for (unsigned i = 0; fine && i < joint->count; i++) {
        const struct upmu_place_result *result = &joint->result[i];

        for (unsigned slot = 0; fine && slot < UPMU_SLOTS; slot++)
            if (result->counter[slot] != UPMU_NO_COUNTER && (meter->pmu->shared_counters >> result->counter[slot] & 1u))
                fine = claim_one(meter, UPMU_DOMAIN_COUNTER(result->counter[slot]), 0);
        fine = fine && use_resources(meter, upmu_joint_event(joint, i), result->alternative, result->counter[0], CLAIM,
                                     &needed);
    }
    return fine;
}

void upmu_claims_share(struct upmu_meter *meter)
{
    const struct upmu_pmu *pmu = meter->pmu;

    meter->bank.domain = meter->domain;
    for (uint32_t rest = pmu->shared_counters; rest; rest &= rest - 1u) {
        const struct upmu_counter *counter = &pmu->counter[upmu_bits_lowest(rest)];

        upmu_bank_share_row(&meter->bank, counter->value_row);
        upmu_bank_share_row(&meter->bank, counter->select_row);
    }
    for (unsigned i = 0; i < UPMU_RESOURCES; i++)
        if ((pmu->shared >> i & 1u) && pmu->backend->resource_row(pmu, i) != UPMU_NO_ROW)
            upmu_bank_share_row(&meter->bank, pmu->backend->resource_row(pmu, i));
}

bool upmu_claims_others(const struct upmu_meter *meter)
{
    return upmu_meter_domain(meter) && upmu_domain_others(meter->domain, meter->domain_number);
}

uint32_t upmu_claims_counters(struct upmu_meter *meter, uint32_t counters)
{
    for (uint32_t rest = counters & meter->pmu->shared_counters; rest && upmu_meter_domain(meter); rest &= rest - 1u)
        if (!claim_one(meter, UPMU_DOMAIN_COUNTER(upmu_bits_lowest(rest)), 0))
            counters &= ~(rest & (~rest + 1u));
    return counters;
}

/*
 * If a counter that the host has reserved needs a resource (an ESCR), which its select tells, do not restore the
 * register of that resource: it stays as the host has set it.
 */
static void spare_watchdog(struct upmu_meter *meter)
{
    const struct upmu_pmu *pmu = meter->pmu;

    for (uint32_t rest = UPMU_BACKEND_X86_P4 && pmu->backend->seen_by ? meter->watchdog : 0; rest; rest &= rest - 1u) {
        unsigned counter = upmu_bits_lowest(rest), resource = UPMU_NO_RESOURCE;
        uint64_t select;

        if (upmu_bank_read_row(&meter->bank, pmu->counter[counter].select_row, &select))
            resource = pmu->backend->seen_by(pmu, counter, select);
        if (resource != UPMU_NO_RESOURCE && pmu->backend->resource_row(pmu, resource) != UPMU_NO_ROW)
            upmu_bank_spare_row(&meter->bank, pmu->backend->resource_row(pmu, resource));
    }
}

/*
 * Restore registers, and the values of these counters, as they were found.  After a fault try once more with those that
 * are not restored yet.
 */
static bool restore_counters(struct upmu_meter *meter, uint32_t counters)
{
    return upmu_bank_restore(&meter->bank, counters) || upmu_bank_restore(&meter->bank, counters);
}

bool upmu_claims_restore(struct upmu_meter *meter)
{
    struct upmu_domain *domain = upmu_meter_domain(meter);
    uint32_t counters = meter->used, used;
    bool last, fine;

    if (!domain) {
        spare_watchdog(meter);
        return restore_counters(meter, counters);
    }
    __atomic_fetch_or(&domain->used, counters & meter->pmu->shared_counters, __ATOMIC_RELAXED);
    last = upmu_domain_end(domain, meter->domain_number);
    used = __atomic_load_n(&domain->used, __ATOMIC_RELAXED);
    upmu_bank_inherit(&meter->bank, last);
    /* The firmware's shared counters that no CPU has written may be running: their selects are not restored. */
    for (uint32_t rest = meter->firmware & ~used & meter->pmu->shared_counters; rest; rest &= rest - 1u)
        upmu_bank_spare_row(&meter->bank, meter->pmu->counter[upmu_bits_lowest(rest)].select_row);
    /* Counters that the host has reserved meanwhile (meter->watchdog) are not restored: the host's values stay. */
    counters = last ? (counters | used) & ~meter->watchdog : counters & ~meter->pmu->shared_counters;
    spare_watchdog(meter);
    fine = restore_counters(meter, counters);
    if (last)
        upmu_bank_leave(&meter->bank);
    return fine;
}
