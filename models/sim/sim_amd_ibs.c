/* SPDX-License-Identifier: MIT */
/*
 * AMD's instruction-based sampling: a unit for fetches, a unit for ops. Each counts up to its maximum, stores a sample
 * and waits until its VAL bit is cleared. Layouts: AMD APM vol 2 (24593) 13.3; Linux arch/x86/events/amd/ibs.c.
 */
#include "models/sim/sim_amd.h"

#define COUNT_16 0xffffu
/* Bits of the fetch control that hardware writes with a sample, besides VAL: 61, 60, 58, 56:50, 47:32. */
#define FETCH_SAMPLE (UINT64_C(0xd7f) << 50 | UINT64_C(0xffff) << 32)
#define OP_COUNT_SHIFT 32
#define OP_COUNT_MASK (UINT64_C(0x7ffffff) << OP_COUNT_SHIFT)
#define FETCH_RESERVED (UINT64_C(3) << 62)
#define FETCH_MISSES_ONLY SIM_BIT(59)
#define OP_RESERVED (UINT64_C(0x1f) << 27)
#define OP_LATENCY (UINT64_C(0x1f) << 59)
#define OP_MISSES_ONLY SIM_BIT(16)
#define OP_EXTENDED_COUNT (UINT64_C(0x7f) << 20)
#define OP_LEAST 9u /* the shortest maximum of the op unit, 90H, in bits 15:0 of its control */
#define CAP_COUNT_WRITE 3
#define CAP_COUNTS_OPS 4
#define CAP_EXTENDED_COUNT 6
#define CAP_MISSES_ONLY 11
#define CAP_LOAD_LATENCY 12
#define CAP_DISABLE 13
#define CAP_FETCH_LATENCY 14
#define CAP_ADDRESS_FILTER 15
#define CAP_STREAM_FILTER 16
#define AGAIN 4u /* steps from the stop of a unit to an interrupt without a sample, and to the next */

static bool sa_capable(const struct upmu_sim *sim, unsigned cpu, unsigned bit)
{
    return sa_facts(sim, cpu)->ibs >> bit & 1u;
}

bool upmu_sim_amd_ibs_exists(const struct upmu_sim *sim, unsigned cpu, unsigned index)
{
    bool all = !sim_on(sim, UPMU_SIM_RULE_AMD_IBS_REGISTERS);
    bool both = sa_capable(sim, cpu, CAP_DISABLE) || sa_capable(sim, cpu, CAP_ADDRESS_FILTER);

    if (!(sa_facts(sim, cpu)->features & UPMU_SIM_AMD_IBS))
        return all;
    switch (index) {
    case SA_BR_TARGET:
        return all || sa_capable(sim, cpu, 5);
    case SA_FETCH_EXTENDED:
        return all || sa_capable(sim, cpu, 9);
    case SA_OP_DATA4:
        return all || sa_capable(sim, cpu, 10);
    case SA_OP_CTL2:
        return all || both || sa_capable(sim, cpu, CAP_STREAM_FILTER);
    case SA_FETCH_CTL2:
        return all || both || sa_capable(sim, cpu, CAP_FETCH_LATENCY);
    default:
        return true;
    }
}

/* ---- Counting ---- */

static bool sa_is_fetch(unsigned counter)
{
    return counter == UPMU_SIM_AMD_FETCH;
}

static uint64_t *sa_control(struct upmu_sim *sim, unsigned cpu, unsigned counter)
{
    return &sim->cpu[cpu].amd.ibs[sa_is_fetch(counter) ? SA_FETCH_CTL : SA_OP_CTL];
}

static uint64_t sa_enable(unsigned counter)
{
    return sa_is_fetch(counter) ? SA_FETCH_EN : SA_OP_EN;
}

static uint64_t sa_valid(unsigned counter)
{
    return sa_is_fetch(counter) ? SA_FETCH_VAL : SA_OP_VAL;
}

static uint64_t sa_maximum(const struct upmu_sim *sim, unsigned cpu, unsigned counter, uint64_t control)
{
    uint64_t maximum = (control & COUNT_16) << 4;

    if (!sa_is_fetch(counter) && sa_capable(sim, cpu, CAP_EXTENDED_COUNT))
        maximum |= control & UINT64_C(0x7f) << 20;
    return maximum;
}

bool upmu_sim_amd_ibs_runs(const struct upmu_sim *sim, unsigned cpu, unsigned counter)
{
    const struct upmu_sim_amd *amd = &sim->cpu[cpu].amd;
    uint64_t control = amd->ibs[sa_is_fetch(counter) ? SA_FETCH_CTL : SA_OP_CTL];
    uint64_t second = amd->ibs[sa_is_fetch(counter) ? SA_FETCH_CTL2 : SA_OP_CTL2];

    if (!(control & sa_enable(counter)) || sa_maximum(sim, cpu, counter, control) == 0)
        return false;
    if (control & sa_valid(counter) && sim_on(sim, UPMU_SIM_RULE_AMD_IBS_VALID))
        return false;
    if (sa_is_fetch(counter) && amd->fetch_waiting)
        return false;
    return !(sa_capable(sim, cpu, CAP_DISABLE) && second & 1u && sim_on(sim, UPMU_SIM_RULE_AMD_IBS_DIS));
}

uint64_t upmu_sim_amd_ibs_delta(const struct upmu_sim *sim, unsigned cpu, unsigned counter,
                                const struct upmu_sim_burst *burst)
{
    uint64_t ops = burst->uops != 0 ? burst->uops : burst->instructions;

    if (!upmu_sim_amd_ibs_runs(sim, cpu, counter) ||
        sim_is(sim, cpu)->flags & (UPMU_SIM_COUNTS_NOTHING | UPMU_SIM_IGNORES_WRITES))
        return 0;
    if (sa_is_fetch(counter))
        return burst->instructions;
    return sim->cpu[cpu].amd.ibs[SA_OP_CTL] & SA_OP_COUNTS_OPS ? ops : burst->cycles;
}

uint64_t upmu_sim_amd_ibs_room(const struct upmu_sim *sim, unsigned cpu, unsigned counter)
{
    uint64_t control = sim->cpu[cpu].amd.ibs[sa_is_fetch(counter) ? SA_FETCH_CTL : SA_OP_CTL];
    uint64_t maximum = sa_maximum(sim, cpu, counter, control);
    uint64_t value = sim->cpu[cpu].counter[counter].value;

    return maximum > value ? maximum - value : 1;
}

/* ---- Samples ---- */

void upmu_sim_amd_ibs_fire(struct upmu_sim *sim, unsigned index)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];
    uint64_t stuck = cpu->amd.ibs[SA_FETCH_CTL] & SA_FETCH_EN ? 0 : cpu->amd.ibs[SA_FETCH_CTL] & COUNT_16;

    stuck |= cpu->amd.ibs[SA_OP_CTL] & SA_OP_EN ? 0 : cpu->amd.ibs[SA_OP_CTL] & COUNT_16;
    if (cpu->amd.stuck && stuck != 0)
        cpu->amd.ibs_left = AGAIN;
    else
        cpu->amd.stuck = false;
    if (!(cpu->amd.ibs[SA_IBS_CONTROL] >> 8 & 1u))
        return;
    cpu->ibs_requests++;
    cpu->merged += cpu->nmi_pending && cpu->nmi_foreign ? 1u : 0u;
    cpu->nmi_pending = cpu->nmi_pending || !cpu->in_nmi || sim_on(sim, UPMU_SIM_RULE_NMI_PENDS);
}

void upmu_sim_amd_ibs_count(struct upmu_sim *sim, unsigned index, unsigned counter, uint64_t count,
                            const struct upmu_sim_burst *burst)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];
    uint64_t *control = sa_control(sim, index, counter);
    uint64_t *value = &cpu->counter[counter].value;

    (void)burst;
    *value += count;
    if (*value < sa_maximum(sim, index, counter, *control))
        return;
    *value = 0;
    cpu->counter[counter].wraps++;
    *control |= sa_valid(counter);
    cpu->amd.sampled |= sa_is_fetch(counter) ? 1u : 2u;
    if (sim->skid != 0)
        cpu->amd.ibs_left = sim->skid;
    else
        upmu_sim_amd_ibs_fire(sim, index);
}

/* Complete the samples just taken: write the address of the instruction that was reached, and made-up data. */
void upmu_sim_amd_ibs_fill(struct upmu_sim *sim, unsigned index)
{
    struct upmu_sim_amd *amd = &sim->cpu[index].amd;
    uint64_t ip = sim->cpu[index].where.ip;

    if (amd->sampled & 1u) {
        amd->ibs[SA_FETCH_CTL] = (amd->ibs[SA_FETCH_CTL] & ~FETCH_SAMPLE) | SIM_BIT(50) | UINT64_C(7) << 32;
        amd->ibs[SA_FETCH_LINEAR] = ip;
    }
    if (amd->sampled & 2u) {
        amd->random = amd->random * 1103515245u + 12345u;
        amd->ibs[SA_OP_RIP] = ip;
        amd->ibs[SA_OP_DATA1] = 0x00100005;
        amd->ibs[SA_OP_CTL] &= ~OP_COUNT_MASK;
        if (sim_on(sim, UPMU_SIM_RULE_AMD_IBS_RANDOM))
            amd->ibs[SA_OP_CTL] |= (uint64_t)(amd->random >> 16 & 0x7fu) << OP_COUNT_SHIFT;
    }
    amd->sampled = 0;
}

/*
 * Return the value that a read of an IBS register shows. The controls of fetch and op contain the unit's present count
 * (op: only without VAL).
 */
uint64_t upmu_sim_amd_ibs_control(const struct upmu_sim *sim, unsigned index, unsigned distance)
{
    const struct upmu_sim_cpu *cpu = &sim->cpu[index];
    uint64_t control = cpu->amd.ibs[distance];

    if (distance == SA_FETCH_CTL)
        return (control & ~(UINT64_C(0xffff) << 16)) | (cpu->counter[UPMU_SIM_AMD_FETCH].value >> 4 & COUNT_16) << 16;
    if (distance == SA_OP_CTL && !(control & SA_OP_VAL))
        return (control & ~OP_COUNT_MASK) | (cpu->counter[UPMU_SIM_AMD_OP].value << OP_COUNT_SHIFT & OP_COUNT_MASK);
    return control;
}

/* ---- Writes ---- */

/*
 * A unit's EN was cleared; `old` is its control before. Schedule the interrupt that comes although there is no sample:
 * on family 10H by erratum 420, else with rule HAZARD_AMD_IBS_LATE.
 */
static void sa_stopped(struct upmu_sim *sim, unsigned index, uint64_t old)
{
    struct upmu_sim_amd *amd = &sim->cpu[index].amd;

    if (sa_family(sim_is(sim, index)) == 0x10 && old & COUNT_16 && sim_on(sim, UPMU_SIM_RULE_AMD_IBS_420)) {
        amd->stuck = true;
        amd->ibs_left = AGAIN;
    } else if (sim_on(sim, UPMU_SIM_RULE_HAZARD_AMD_IBS_LATE)) {
        amd->ibs_left = AGAIN;
    }
}

static void sa_write_fetch(struct upmu_sim *sim, unsigned index, uint64_t value)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];
    unsigned family = sa_family(sim_is(sim, index));
    uint64_t old = cpu->amd.ibs[SA_FETCH_CTL];
    bool needs_edge = family >= 0x16 && family <= 0x18 && sim_on(sim, UPMU_SIM_RULE_AMD_IBS_EDGE);
    uint64_t reserved = FETCH_RESERVED | (sa_capable(sim, index, CAP_MISSES_ONLY) ? 0 : FETCH_MISSES_ONLY);

    if (value & reserved && sim_on(sim, UPMU_SIM_RULE_CHECK_AMD_IBS))
        upmu_sim_violate(sim, "reserved bits of the IBS fetch control", SA_MSR_IBS + SA_FETCH_CTL, value);
    value &= ~reserved;
    cpu->amd.ibs[SA_FETCH_CTL] = value;
    if (value & SA_FETCH_EN && old & SA_FETCH_EN && needs_edge) {
        /* No rising EN: the count continues. If the unit holds a sample, it does not count again until EN rises. */
        cpu->amd.fetch_waiting = cpu->amd.fetch_waiting || old & SA_FETCH_VAL;
    } else if (value & SA_FETCH_EN) {
        cpu->amd.fetch_waiting = false;
        cpu->counter[UPMU_SIM_AMD_FETCH].value = (value >> 16 & COUNT_16) << 4;
    }
    if (old & SA_FETCH_EN && !(value & SA_FETCH_EN))
        sa_stopped(sim, index, old);
}

/* Return the mask of the bits of the op control that are reserved on a CPU with its capabilities. */
static uint64_t sa_op_reserved(const struct upmu_sim *sim, unsigned cpu)
{
    return OP_RESERVED | (sa_capable(sim, cpu, CAP_COUNTS_OPS) ? 0 : SA_OP_COUNTS_OPS) |
           (sa_capable(sim, cpu, CAP_EXTENDED_COUNT) ? 0 : OP_EXTENDED_COUNT) |
           (sa_capable(sim, cpu, CAP_MISSES_ONLY) ? 0 : OP_MISSES_ONLY) |
           (sa_capable(sim, cpu, CAP_LOAD_LATENCY) ? 0 : OP_LATENCY);
}

static void sa_write_op(struct upmu_sim *sim, unsigned index, uint64_t value)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];
    uint64_t old = cpu->amd.ibs[SA_OP_CTL], reserved = sa_op_reserved(sim, index);
    bool counts = sa_capable(sim, index, CAP_COUNT_WRITE);

    if (value & reserved && sim_on(sim, UPMU_SIM_RULE_CHECK_AMD_IBS))
        upmu_sim_violate(sim, "reserved bits of the IBS op control", SA_MSR_IBS + SA_OP_CTL, value);
    value &= ~reserved;
    if (value & SA_OP_EN && (value & COUNT_16) != 0 && (value & (COUNT_16 | OP_EXTENDED_COUNT)) < OP_LEAST &&
        sim_on(sim, UPMU_SIM_RULE_CHECK_AMD_IBS))
        upmu_sim_violate(sim, "the maximum of the IBS op unit is below 90H", SA_MSR_IBS + SA_OP_CTL, value);
    cpu->amd.ibs[SA_OP_CTL] = value;
    if (value & SA_OP_EN)
        cpu->counter[UPMU_SIM_AMD_OP].value = counts ? (value & OP_COUNT_MASK) >> OP_COUNT_SHIFT : 0;
    if (old & SA_OP_EN && !(value & SA_OP_EN))
        sa_stopped(sim, index, old);
}

void upmu_sim_amd_ibs_write(struct upmu_sim *sim, unsigned cpu, unsigned index, uint64_t value)
{
    switch (index) {
    case SA_FETCH_CTL:
        sa_write_fetch(sim, cpu, value);
        return;
    case SA_OP_CTL:
        sa_write_op(sim, cpu, value);
        return;
    case SA_FETCH_LINEAR:
    case SA_FETCH_LINEAR + 1:
    case SA_IBS_CONTROL:
    case SA_FETCH_EXTENDED:
    case SA_OP_DATA4:
        return; /* read-only */
    default:
        sim->cpu[cpu].amd.ibs[index] = value;
        return;
    }
}
