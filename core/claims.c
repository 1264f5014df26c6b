/* SPDX-License-Identifier: MIT */
/*
 * A session's claims on what other CPUs share (R2).  Held while it runs.
 */
#include "core/claims.h"
#include "core/backend.h"
#include "core/bank.h"
#include "core/bits.h"
#include "core/domain.h"
#include "core/joint.h"

static uint32_t shared_of(const struct upmu_cpu *cpu, const struct upmu_session *session)
{
    return cpu->domain ? session->counters & cpu->pmu->shared_counters : 0;
}

/* Shared resources that an event uses in its alternative: claim them; or name them in *needed. */
static bool event_resources(struct upmu_cpu *cpu, const struct upmu_session *session, unsigned i, bool claim,
                            uint64_t *needed)
{
    const struct upmu_pmu *pmu = cpu->pmu;
    struct upmu_alternative how;

    if (!pmu->backend->alternative(pmu, &session->set.event[i], session->set.tally[i].alternative, &how))
        return true;
    for (unsigned slot = 0; slot < how.slot_count; slot++)
        for (unsigned k = 0; k < how.slot[slot].resource_count; k++) {
            unsigned resource = how.slot[slot].resource[k];

            if (!(pmu->shared >> resource & 1u))
                continue;
            *needed |= UPMU_BIT64(resource);
            if (claim && !upmu_domain_claim_resource(cpu->domain, cpu->domain_slot, resource, how.slot[slot].value[k]))
                return false;
        }
    return true;
}

/*
 * Give shared parts back that no running session needs; others may change their
 * registers from now on.
 */
void upmu_claims_release(struct upmu_cpu *cpu, struct upmu_session *session)
{
    uint64_t needed = 0;

    for (uint32_t rest = shared_of(cpu, session); rest; rest &= rest - 1u) {
        unsigned counter = upmu_bits_lowest(rest);

        cpu->last_tag[counter] = 0;
        upmu_bank_forget_row(&cpu->bank, cpu->pmu->counter[counter].select_row);
        upmu_domain_release_counter(cpu->domain, cpu->domain_slot, counter);
    }
    for (struct upmu_session *other = cpu->sessions; other; other = other->next)
        for (unsigned i = 0; other != session && upmu_session_holds(other) && i < other->set.count; i++)
            (void)event_resources(cpu, other, i, false, &needed);
    for (unsigned i = 0; i < UPMU_RESOURCES; i++)
        if ((cpu->pmu->shared & ~needed) >> i & 1u) {
            upmu_bank_forget_row(&cpu->bank, cpu->pmu->backend->resource_row(cpu->pmu, i));
            upmu_domain_release_resource(cpu->domain, cpu->domain_slot, i);
        }
}

bool upmu_claims_take(struct upmu_cpu *cpu, struct upmu_session *session)
{
    uint64_t needed = 0;
    bool fine = true;

    for (uint32_t rest = shared_of(cpu, session); fine && rest; rest &= rest - 1u)
        fine = upmu_domain_claim_counter(cpu->domain, cpu->domain_slot, upmu_bits_lowest(rest));
    for (unsigned i = 0; fine && i < session->set.count; i++)
        fine = event_resources(cpu, session, i, true, &needed);
    if (!fine)
        upmu_claims_release(cpu, session);
    return fine;
}
