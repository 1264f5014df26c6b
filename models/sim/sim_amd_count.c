/* SPDX-License-Identifier: MIT */
/*
 * When a core counter of AMD's PMUs counts, how much it counts, and what an overflow does. Sources are with the rules
 * in models/sim/sim_amd_rules.h.
 */
#include "models/sim/sim_amd.h"

#define EVENT_WIDE 0x003u  /* wide event, FP ops: more of them in a cycle than a counter can add */
#define EVENT_MERGE 0xfffu /* merge event: the odd counter extends the even one */
#define NARROW 15u         /* the most that the counter of a wide event adds in a cycle without the merge event */

/* ---- Which counter ---- */

static bool sa_nb_code(uint64_t select)
{
    return (select & 0xe0u) == 0xe0;
}

bool upmu_sim_amd_is_nb(const struct upmu_sim *sim, unsigned cpu, uint64_t select)
{
    unsigned family = sa_family(sim_is(sim, cpu));

    return family >= 0xf && family < 0x15 && sa_nb_code(select);
}

static bool sa_several_bits(uint32_t mask)
{
    return (mask & (mask - 1u)) != 0;
}

/*
 * Find the counters, as a mask, of an event of family 15H that is an exception to the rule by groups (LX core.c
 * amd_get_event_constraints_f15h); false: the event is no exception.
 */
static bool sa_f15h_exception(uint32_t event, uint32_t umask, uint32_t *out_counters)
{
    switch (event) {
    case 0x000:
        *out_counters = (umask & 0xf0u) && (umask & 0x0fu) ? 0x08 : 0x38;
        return true;
    case 0x004:
        *out_counters = sa_several_bits(umask) ? 0x08 : 0x38;
        return true;
    case 0x003:
    case 0x00b:
    case 0x00d:
    case 0x02d:
        *out_counters = 0x08;
        return true;
    case 0x02e:
        *out_counters = 0x09;
        return true;
    case 0x031:
        *out_counters = sa_several_bits(umask) ? 0 : 0x07;
        return true;
    case 0x023:
    case 0x043:
    case 0x045:
    case 0x046:
    case 0x054:
    case 0x055:
        *out_counters = 0x07;
        return true;
    case 0x08f:
    case 0x187:
    case 0x188:
        *out_counters = 0x01;
        return true;
    case 0x1c0:
        *out_counters = 0x38;
        return true;
    case 0x0db:
    case 0x0dc:
    case 0x0dd:
    case 0x0de:
    case 0x0df:
    case 0x1d6:
    case 0x1d8:
        *out_counters = 0x3f;
        return true;
    default:
        return false;
    }
}

static uint32_t sa_f15h_counters(uint64_t select)
{
    /*
     * The mask of the counters that an event may use, by bits 7:4 of the event. The groups are FP (0, 1), LS (2, 3), DC
     * (4, 5), CU (6, 7), IC and DE (8, 9), no events (AH, BH), EX and LS (CH), DE (DH), northbridge (EH, FH).
     */
    static const uint8_t groups[16] = {0x38, 0x38, 0x3f, 0x3f, 0x3f, 0x3f, 0x07, 0x07,
                                       0x07, 0x07, 0,    0,    0x3f, 0x07, 0,    0};
    uint32_t counters;

    if (sa_f15h_exception(sa_event(select), sa_umask(select), &counters))
        return counters;
    return groups[select >> 4 & 0xfu];
}

uint32_t upmu_sim_amd_counters(const struct upmu_sim *sim, unsigned cpu, uint64_t select)
{
    unsigned family = sa_family(sim_is(sim, cpu));

    if ((family == 0x15 || family == 0x16) && sa_nb_code(select))
        return sim_on(sim, UPMU_SIM_RULE_AMD_NB_DEDICATED) ? 0 : UINT32_MAX;
    if (family == 0x15 && sim_on(sim, UPMU_SIM_RULE_AMD_F15H))
        return sa_f15h_counters(select);
    if (family >= 0x17 && sa_event(select) == EVENT_WIDE && sim_on(sim, UPMU_SIM_RULE_AMD_MERGE_EVEN))
        return 0x55555555;
    return UINT32_MAX;
}

/* ---- Gates ---- */

static bool sa_gates_open(const struct upmu_sim *sim, unsigned cpu, unsigned counter)
{
    const struct upmu_sim_cpu *c = &sim->cpu[cpu];

    if (!(sa_facts(sim, cpu)->perfmon[0] & 1u))
        return true;
    if (sim_on(sim, UPMU_SIM_RULE_AMD_COUNT_CONTROL) && !(c->global_ctrl >> counter & 1u))
        return false;
    return !(c->status & SIM_STATUS_FROZEN);
}

bool upmu_sim_amd_runs(const struct upmu_sim *sim, unsigned cpu, unsigned counter)
{
    uint64_t select;

    if (counter >= sim_is(sim, cpu)->general)
        return sim_has_counter(sim_is(sim, cpu), counter) && upmu_sim_amd_ibs_runs(sim, cpu, counter);
    select = sim->cpu[cpu].select[counter];
    return select & SIM_SELECT_EN && select & (SIM_SELECT_OS | SIM_SELECT_USR) && sa_gates_open(sim, cpu, counter);
}

bool upmu_sim_amd_merged(const struct upmu_sim *sim, unsigned cpu, unsigned counter)
{
    uint64_t select;

    if (sa_family(sim_is(sim, cpu)) < 0x17 || counter & 1u || counter + 1u >= sim_is(sim, cpu)->general)
        return false;
    select = sim->cpu[cpu].select[counter + 1u];
    return sa_event(select) == EVENT_MERGE && select & SIM_SELECT_EN && sa_gates_open(sim, cpu, counter + 1u) &&
           sa_event(sim->cpu[cpu].select[counter]) == EVENT_WIDE;
}

/*
 * Do HostOnly and GuestOnly of a select let it count in the present mode of the CPU? APM table 13-4: with neither bit
 * always; otherwise only with EFER.SVME, and in the mode, host or guest, whose bit is set. True if rule AMD_COUNT_VIRT
 * is off.
 */
static bool sa_mode_counts(const struct upmu_sim *sim, unsigned cpu, uint64_t select)
{
    const struct upmu_sim_amd *amd = &sim->cpu[cpu].amd;

    if (!(select & (SA_HOST_ONLY | SA_GUEST_ONLY)) || !sim_on(sim, UPMU_SIM_RULE_AMD_COUNT_VIRT))
        return true;
    return amd->efer & SA_EFER_SVME && select & (sim->cpu[cpu].guest ? SA_GUEST_ONLY : SA_HOST_ONLY);
}

/* ---- Events ---- */

static bool sa_cache_event(const struct upmu_sim_profile *profile, bool misses, uint32_t event, uint32_t umask)
{
    if (sa_family(profile) >= 0x17)
        return misses ? event == 0x64 && umask == 0x09 : event == 0x60 && umask == 0xff;
    return event == (misses ? 0x7eu : 0x7du) && umask == 0x07;
}

/*
 * Return how often the event of a select happens in a burst, if the burst has a field for the event (LX core.c
 * amd_perfmon_event_map); else 0.
 */
static uint64_t sa_named(const struct upmu_sim *sim, unsigned cpu, uint64_t select, const struct upmu_sim_burst *burst)
{
    const struct upmu_sim_profile *profile = sim_is(sim, cpu);
    uint32_t event = sa_event(select), umask = sa_umask(select);

    if (sa_cache_event(profile, false, event, umask))
        return burst->llc_references;
    if (sa_cache_event(profile, true, event, umask))
        return burst->llc_misses;
    switch (event) {
    case 0x076:
        return umask == 0 ? burst->cycles : 0;
    case 0x0c0:
        return umask == 0 ? burst->instructions : 0;
    case 0x0c1:
        return umask == 0 ? burst->uops : 0;
    case 0x0c2:
        return umask == 0 ? burst->branches : 0;
    case 0x0c3:
        return umask == 0 ? burst->mispredicts : 0;
    case 0x120:
        return umask == 1 && sa_facts(sim, cpu)->perfmon[0] & 1u ? burst->ref_cycles : 0;
    default:
        return 0;
    }
}

static uint64_t sa_others(unsigned counter, uint64_t select, unsigned unit, const struct upmu_sim_burst *burst)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < UPMU_SIM_OTHERS && burst->other[i].count != 0; i++) {
        const struct upmu_sim_other *other = &burst->other[i];

        if (other->unit == unit && sa_event(select) == (other->event | (uint32_t)other->high << 8) &&
            sa_umask(select) == other->umask && (other->counters == 0 || other->counters >> counter & 1u))
            sum += other->count;
    }
    return sum;
}

/*
 * Return how many northbridge events a core counter counts in a burst. Counters with the same number on all cores of a
 * node are one counter (rule AMD_NB_SHARED): the events that other cores have selected there count, too.
 */
static uint64_t sa_nb_happened(const struct upmu_sim *sim, unsigned cpu, unsigned counter,
                               const struct upmu_sim_burst *burst)
{
    uint64_t sum = sa_others(counter, sim->cpu[cpu].select[counter], UPMU_SIM_UNIT_NB, burst);

    for (unsigned other = 0; other < sim->cpus && sim_on(sim, UPMU_SIM_RULE_AMD_NB_SHARED); other++) {
        uint64_t select = sim->cpu[other].select[counter];

        if (other != cpu && upmu_sim_amd_home(sim, other) == upmu_sim_amd_home(sim, cpu) &&
            upmu_sim_amd_runs(sim, other, counter) && upmu_sim_amd_is_nb(sim, other, select))
            sum += sa_others(counter, select, UPMU_SIM_UNIT_NB, burst);
    }
    return sum;
}

/*
 * Return the most that a counter adds in one cycle: of event 003H from family 17H on NARROW, or any number if its merge
 * event runs; of others 32, on family 11H 3; UINT64_MAX: any number.
 */
static uint64_t sa_limit(const struct upmu_sim *sim, unsigned cpu, unsigned counter)
{
    bool wide = sa_family(sim_is(sim, cpu)) >= 0x17 && sa_event(sim->cpu[cpu].select[counter]) == EVENT_WIDE;

    if (wide && sim_on(sim, UPMU_SIM_RULE_AMD_MERGE))
        return upmu_sim_amd_merged(sim, cpu, counter) ? UINT64_MAX : NARROW;
    if (!sim_on(sim, UPMU_SIM_RULE_AMD_COUNT_CLAMP))
        return UINT64_MAX;
    return sa_family(sim_is(sim, cpu)) == 0x11 ? 3 : 32;
}

/*
 * Return what a counter counts of `count` occurrences with CMASK, INV and EDGE of its select, as for Intel's counters
 * (sim_conditioned() in sim_intel_count.c); without them no more a cycle than sa_limit().
 */
static uint64_t sa_conditioned(const struct upmu_sim *sim, unsigned cpu, unsigned counter, uint64_t count,
                               const struct upmu_sim_burst *burst)
{
    uint64_t select = sim->cpu[cpu].select[counter];
    uint64_t per_cycle = burst->per_cycle != 0 ? burst->per_cycle : 1;
    uint64_t runs = burst->runs != 0 ? burst->runs : 1;
    uint64_t active = upmu_sim_divide(count + per_cycle - 1u, per_cycle);
    uint64_t cmask = sim_on(sim, UPMU_SIM_RULE_COUNT_CMASK) ? select >> 24 & 0xffu : 0;
    uint64_t cycles = cmask == 0 || per_cycle >= cmask ? active : 0;
    uint64_t limit = sa_limit(sim, cpu, counter);

    if (cmask != 0 && select & SIM_SELECT_INV && sim_on(sim, UPMU_SIM_RULE_COUNT_INV))
        cycles = burst->cycles > cycles ? burst->cycles - cycles : 0;
    if (select & SIM_SELECT_EDGE && sim_on(sim, UPMU_SIM_RULE_COUNT_EDGE))
        return cycles < runs ? cycles : runs;
    if (cmask != 0)
        return cycles;
    return per_cycle > limit ? upmu_sim_divide(count * limit, per_cycle) : count;
}

/*
 * Apply erratum 1292: counts of retire events are an eighth too high, except on counter 2 with bit 43 and without INT.
 */
static uint64_t sa_overcounted(const struct upmu_sim *sim, unsigned cpu, unsigned counter, uint64_t count)
{
    static const uint16_t events[] = {0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc8, 0xc9, 0xca, 0xcc, 0xd1, 0x1c7, 0x1d0};
    uint64_t select = sim->cpu[cpu].select[counter];

    if (!(sa_facts(sim, cpu)->quirks & UPMU_SIM_AMD_1292) || !sim_on(sim, UPMU_SIM_RULE_HAZARD_AMD_1292) ||
        (counter == 2 && select & SA_PRECISE && !(select & SIM_SELECT_INT)))
        return count;
    for (unsigned i = 0; i < sizeof events / sizeof events[0]; i++) {
        if (events[i] == sa_event(select))
            return count + (count >> 3);
    }
    return count;
}

/*
 * Does a counter count a burst: EN, ring, gates, and guest or host mode allow it, and the counter can count the event?
 */
static bool sa_listens(const struct upmu_sim *sim, unsigned cpu, unsigned counter, const struct upmu_sim_burst *burst)
{
    uint64_t select = sim->cpu[cpu].select[counter];
    uint64_t ring = burst->user ? SIM_SELECT_USR : SIM_SELECT_OS;

    if (upmu_sim_amd_is_nb(sim, cpu, select))
        ring = SIM_SELECT_USR | SIM_SELECT_OS;
    if (sim_is(sim, cpu)->flags & (UPMU_SIM_COUNTS_NOTHING | UPMU_SIM_IGNORES_WRITES))
        return false;
    if (sim_on(sim, UPMU_SIM_RULE_COUNT_ENABLE) && !(select & SIM_SELECT_EN))
        return false;
    if (sim_on(sim, UPMU_SIM_RULE_COUNT_RING) && !(select & ring))
        return false;
    if (!(upmu_sim_amd_counters(sim, cpu, select) >> counter & 1u))
        return false;
    return sa_gates_open(sim, cpu, counter) && sa_mode_counts(sim, cpu, select);
}

uint64_t upmu_sim_amd_delta(const struct upmu_sim *sim, unsigned cpu, unsigned counter, unsigned from,
                            const struct upmu_sim_burst *burst)
{
    uint64_t count, select;

    if (counter >= sim_is(sim, cpu)->general)
        return cpu == from ? upmu_sim_amd_ibs_delta(sim, cpu, counter, burst) : 0;
    select = sim->cpu[cpu].select[counter];
    if (!sa_listens(sim, cpu, counter, burst))
        return 0;
    if (sim->cpu[cpu].halted) /* a core counter of a halted core does not count, not even other cores' NB events */
        return 0;
    if (upmu_sim_amd_is_nb(sim, cpu, select)) {
        if (upmu_sim_amd_home(sim, cpu) != upmu_sim_amd_home(sim, from) ||
            (cpu != from && !sim_on(sim, UPMU_SIM_RULE_AMD_NB_NODE)))
            return 0;
        return sa_conditioned(sim, cpu, counter, sa_nb_happened(sim, cpu, counter, burst), burst);
    }
    if (cpu != from)
        return 0;
    count = sa_named(sim, cpu, select, burst) + sa_others(counter, select, UPMU_SIM_UNIT_CORE, burst);
    return sa_overcounted(sim, cpu, counter, sa_conditioned(sim, cpu, counter, count, burst));
}

/* ---- Overflow ---- */

/*
 * Is a counter the even one of a merged pair that counts and overflows as one number of 64 bits: 48 of the even
 * counter, then 16 of the odd one? False if rule AMD_MERGE_CARRY is off.
 */
static bool sa_wide(const struct upmu_sim *sim, unsigned cpu, unsigned counter)
{
    return upmu_sim_amd_merged(sim, cpu, counter) && sim_on(sim, UPMU_SIM_RULE_AMD_MERGE_CARRY);
}

uint64_t upmu_sim_amd_room(const struct upmu_sim *sim, unsigned index, unsigned counter)
{
    const struct upmu_sim_cpu *cpu = &sim->cpu[index];
    uint64_t total;

    if (counter >= sim_is(sim, index)->general)
        return upmu_sim_amd_ibs_room(sim, index, counter);
    if (!sa_wide(sim, index, counter))
        return SA_COUNTER_MASK - cpu->counter[counter].value + 1u;
    total = cpu->counter[counter].value | cpu->counter[counter + 1u].value << 48;
    return total != 0 ? 0 - total : UINT64_MAX;
}

static void sa_overflow(struct upmu_sim *sim, unsigned index, unsigned counter)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];
    bool wants_pmi = cpu->select[counter] & SIM_SELECT_INT;
    uint32_t perfmon = sa_facts(sim, index)->perfmon[0];

    cpu->counter[counter].wraps++;
    if (perfmon & 1u && (wants_pmi || sim_on(sim, UPMU_SIM_RULE_STATUS_WITHOUT_INT))) {
        if (sim->status_lag != 0)
            cpu->counter[counter].late = sim->status_lag;
        else
            cpu->status |= SIM_BIT(counter);
    }
    if (wants_pmi && perfmon & 4u && sim_on(sim, UPMU_SIM_RULE_AMD_FREEZE)) {
        cpu->status |= cpu->debugctl & SIM_DEBUGCTL_FREEZE ? SIM_STATUS_FROZEN : 0;
        cpu->status |= cpu->debugctl & SIM_DEBUGCTL_FREEZE_LBR ? SIM_STATUS_LBR_FROZEN : 0;
    }
    if ((wants_pmi && sim_on(sim, UPMU_SIM_RULE_INT_REQUESTS_PMI)) ||
        (!wants_pmi && !sim_on(sim, UPMU_SIM_RULE_INT_NEEDED)))
        upmu_sim_request_pmi(sim, index);
}

void upmu_sim_amd_count(struct upmu_sim *sim, unsigned index, unsigned counter, uint64_t count,
                        const struct upmu_sim_burst *burst)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];
    uint64_t *value = &cpu->counter[counter].value;
    bool over;

    if (counter >= sim_is(sim, index)->general) {
        upmu_sim_amd_ibs_count(sim, index, counter, count, burst);
        return;
    }
    if (sa_wide(sim, index, counter)) {
        uint64_t *high = &cpu->counter[counter + 1u].value;
        uint64_t total = (*value | *high << 48) + count;

        over = total < count;
        *high = (*high & ~UINT64_C(0xffff)) | total >> 48;
        *value = total & SA_COUNTER_MASK;
    } else {
        over = *value + count > SA_COUNTER_MASK;
        *value = (*value + count) & SA_COUNTER_MASK;
    }
    if (over)
        sa_overflow(sim, index, counter);
}
