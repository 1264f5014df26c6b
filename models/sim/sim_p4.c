/* SPDX-License-Identifier: MIT */
/*
 * Registers of the Pentium 4's PMU: which exist, which counters are enabled, reset, reads, writes with their effects
 * and the checks of what a caller must not write, RDPMC.
 *
 * Layouts: Intel SDM vol 3 (325384-059) 18.15, tables 35-41 and 35-42. Which bits exist: VirtualBox's CPU database,
 * probed on a CPU of signature 0F43H; the other models are taken to have the same, except IQ_ESCR0/1. Sources of the
 * PMU's behaviour are with the rules in models/sim/sim.h.
 */
#include "models/sim/sim_p4.h"

#define MSR_TSC 0x10u
#define MSR_MISC_ENABLE 0x1a0u
#define MSR_DEBUGCTL 0x1d9u
#define MSR_COUNTER 0x300u
#define MSR_CCCR 0x360u
#define MSR_IQ_ESCR0 0x3bau
#define MSR_TC_PRECISE 0x3f0u
#define MSR_REPLAY 0x3f1u
#define MSR_MATRIX 0x3f2u
#define MSR_DS_AREA 0x600u

#define HIGH_HALF (~UINT64_C(0xffffffff))
#define GARBAGE UINT64_C(0x5a5a3c3c96)

#define MISC_RESET UINT64_C(0x22850089)
#define MISC_PERFMON SIM_BIT(7)
#define MISC_IGNORED UINT64_C(0x20800080)
#define MISC_FAULTS UINT64_C(0xfffffffbdc10f800)
#define REPLAY_BITS UINT64_C(0x07ffffff)
#define REPLAY_PEBS (SIM_BIT(25) | SIM_BIT(26))
#define MATRIX_BITS UINT64_C(0x1fff)

/* ---- What exists ---- */

struct nb_escr {
    uint16_t address;
    uint32_t bits;
};

static const struct nb_escr nb_escrs[UPMU_SIM_P4_ESCRS] = {
    {0x3a0, 0x7fffffff}, {0x3a1, 0x7fffffff}, {0x3a2, 0x3fffffff}, {0x3a3, 0x3fffffff}, {0x3a4, 0x7fffffff},
    {0x3a5, 0x7fffffff}, {0x3a6, 0x7fffffff}, {0x3a7, 0x7fffffff}, {0x3a8, 0x1e01fe0f}, {0x3a9, 0x1e01fe0f},
    {0x3aa, 0x7fffffff}, {0x3ab, 0x7fffffff}, {0x3ac, 0x7fffffff}, {0x3ad, 0x7fffffff}, {0x3ae, 0x7fffffff},
    {0x3af, 0x7fffffff}, {0x3b0, 0x0e3ffe0f}, {0x3b1, 0x0e3ffe0f}, {0x3b2, 0x1e03ffff}, {0x3b3, 0x1e03ffff},
    {0x3b4, 0x0e01fe0f}, {0x3b5, 0x0e01fe0f}, {0x3b6, 0x70000e1f}, {0x3b7, 0x70000e1f}, {0x3b8, 0x0e01fe0f},
    {0x3b9, 0x0e01fe0f}, {0x3ba, 0x7fffffff}, {0x3bb, 0x7fffffff}, {0x3bc, 0x7fffffff}, {0x3bd, 0x7fffffff},
    {0x3be, 0x7fffffff}, {0x3c0, 0x1e007e1f}, {0x3c1, 0x1e007e1f}, {0x3c2, 0x0e01fe0f}, {0x3c3, 0x0e01fe0f},
    {0x3c4, 0x1e07fe0f}, {0x3c5, 0x1e07fe0f}, {0x3c8, 0x0e01fe0f}, {0x3c9, 0x0e01fe0f}, {0x3ca, 0x0ffffe0f},
    {0x3cb, 0x0ffffe0f}, {0x3cc, 0x1e0ffe0f}, {0x3cd, 0x1e0ffe0f}, {0x3e0, 0x0e00fe0f}, {0x3e1, 0x0e00fe0f},
};

/*
 * Addresses of the ESCRs that counters of the even side see, by counter group (BPU, MS, FLAME, IQ) and CCCR select; 0:
 * none. Counters of the odd side see the next address.
 */
static const uint16_t nb_wires[4][8] = {
    {0x3b2, 0x3b4, 0x3aa, 0x3b6, 0x3ac, 0x3c8, 0x3a2, 0x3a0},
    {0x3c0, 0x3c4, 0x3c2, 0, 0, 0, 0, 0},
    {0x3a6, 0x3a4, 0x3ae, 0x3b0, 0, 0x3a8, 0, 0},
    {0x3ba, 0x3ca, 0x3bc, 0x3be, 0x3b8, 0x3cc, 0x3e0, 0},
};

unsigned upmu_sim_p4_model(const struct upmu_sim_profile *profile)
{
    return profile->signature >> 4 & 0xfu;
}

unsigned upmu_sim_p4_home(const struct upmu_sim *sim, unsigned cpu)
{
    return sim->profile->flags & UPMU_SIM_SMT ? cpu & ~1u : cpu;
}

bool upmu_sim_p4_threads(const struct upmu_sim *sim, unsigned home)
{
    return sim->profile->flags & UPMU_SIM_SMT && home + 1u < sim->cpus;
}

unsigned upmu_sim_p4_escr(const struct upmu_sim *sim, uint32_t address)
{
    if (address >> 1 == MSR_IQ_ESCR0 >> 1 && upmu_sim_p4_model(sim->profile) > 2 &&
        sim_on(sim, UPMU_SIM_RULE_P4_IQ_ESCR))
        return UPMU_SIM_P4_ESCRS;
    /* The number of an ESCR is its index in nb_escrs. */
    if (address - 0x3a0u <= 0x3beu - 0x3a0u)
        return address - 0x3a0u;
    if (address - 0x3c0u < 6)
        return 31u + address - 0x3c0u;
    if (address - 0x3c8u < 6)
        return 37u + address - 0x3c8u;
    return address - 0x3e0u < 2 ? 43u + address - 0x3e0u : UPMU_SIM_P4_ESCRS;
}

static unsigned nb_group(unsigned counter)
{
    return counter < 12 ? counter >> 2 : 3;
}

/* Return 0 if a counter sees the even ESCRs (counters 0, 1, 4, 5, 8, 9, 12, 13, 16), 1 if the odd ones. */
static unsigned nb_side(unsigned counter)
{
    return counter < 16 ? counter >> 1 & 1u : counter & 1u;
}

uint32_t upmu_sim_p4_wired(const struct upmu_sim *sim, unsigned counter, uint64_t cccr)
{
    uint32_t address = nb_wires[nb_group(counter)][cccr >> 13 & 7u];

    if (address != 0)
        address += nb_side(counter);
    if (upmu_sim_p4_escr(sim, address) < UPMU_SIM_P4_ESCRS)
        return address;
    return sim_on(sim, UPMU_SIM_RULE_P4_MATRIX) ? 0 : nb_wires[nb_group(counter)][1] + nb_side(counter);
}

bool upmu_sim_p4_reaches(const struct upmu_sim *sim, unsigned counter, uint32_t address)
{
    for (uint64_t select = 0; select < 8; select++) {
        uint32_t wired = upmu_sim_p4_wired(sim, counter, select << 13);

        if (wired != 0 && wired >> 1 == address >> 1)
            return true;
    }
    return false;
}

/* ---- Running ---- */

/*
 * The initiator of each counter: if CCCR bit 30 (CASCADE) of the counter is set, an overflow of the initiator starts
 * the counter. Initiators by CCCR bit 11 are in nb_cascaded().
 */
static const uint8_t nb_initiator[UPMU_SIM_P4_COUNTERS] = {2,  3, 0, 1,  6,  7,  4,  5,  10,
                                                           11, 8, 9, 14, 15, 12, 13, 14, 15};

static bool nb_overflowed(const struct upmu_sim *sim, unsigned home, unsigned counter)
{
    return sim->cpu[home].p4.cccr[counter] & P4_CCCR_OVF && sim_on(sim, UPMU_SIM_RULE_P4_CASCADE);
}

static bool nb_cascaded(const struct upmu_sim *sim, unsigned home, unsigned counter)
{
    static const uint8_t extended[UPMU_SIM_P4_COUNTERS - 12] = {16, 0xff, 0xff, 17, 17, 16};
    uint64_t cccr = sim->cpu[home].p4.cccr[counter];

    if (cccr & P4_CCCR_CASCADE && nb_overflowed(sim, home, nb_initiator[counter]))
        return true;
    return cccr & P4_CCCR_EXTENDED && counter >= 12 && extended[counter - 12] != 0xff &&
           nb_overflowed(sim, home, extended[counter - 12]);
}

bool upmu_sim_p4_enabled(const struct upmu_sim *sim, unsigned home, unsigned counter)
{
    uint64_t cccr = sim->cpu[home].p4.cccr[counter];

    if (cccr & P4_CCCR_ENABLE || nb_cascaded(sim, home, counter))
        return true;
    return !sim_on(sim, UPMU_SIM_RULE_P4_ENABLE) && (cccr & P4_CCCR_THREAD) == P4_CCCR_THREAD;
}

static uint64_t nb_cccr_bits(const struct upmu_sim *sim, unsigned counter)
{
    uint64_t bits = UINT64_C(0xfffff000);

    if ((counter == 12 || counter >= 15) && upmu_sim_p4_model(sim->profile) >= 2 &&
        sim_on(sim, UPMU_SIM_RULE_P4_EXTENDED_CASCADE))
        bits |= P4_CCCR_EXTENDED;
    if (counter >= 16)
        bits |= 0x700u;
    return bits;
}

/* ---- Registers after a reset, and as firmware may leave them ---- */

void upmu_sim_p4_reset(struct upmu_sim *sim, unsigned cpu)
{
    unsigned home = upmu_sim_p4_home(sim, cpu);
    struct upmu_sim_p4 *p4 = &sim->cpu[home].p4;

    for (unsigned i = 0; i < UPMU_SIM_P4_COUNTERS; i++) {
        p4->cccr[i] = 0;
        p4->enabler[i] = (uint8_t)home;
        sim->cpu[home].counter[i].value = sim_on(sim, UPMU_SIM_RULE_RESET_COUNTERS) ? 0 : GARBAGE + i;
        sim->cpu[home].counter[i].late = 0;
    }
    for (unsigned i = 0; i < UPMU_SIM_P4_ESCRS; i++)
        p4->escr[i] = 0;
    p4->tc_precise = 0xfc00;
    p4->replay = p4->matrix = 0;
    p4->pmi_due = p4->carried = 0;
    sim->cpu[cpu].misc_enable = MISC_RESET & ~(sim->profile->version != 0 ? 0 : MISC_PERFMON);
    if (!(sim->profile->flags & UPMU_SIM_DS))
        sim->cpu[cpu].misc_enable |= SIM_BIT(11) | SIM_BIT(12);
}

/*
 * Leave a core as a BIOS or a crashed kernel may: counter 0 counts the cycles of hyper-thread `cpu` in both rings, and
 * interrupts that hyper-thread.
 */
void upmu_sim_p4_firmware(struct upmu_sim *sim, unsigned cpu)
{
    unsigned thread = cpu - upmu_sim_p4_home(sim, cpu);

    *upmu_sim_p4_place(sim, cpu, 0x3a2) = thread != 0 ? 0x26000203 : 0x2600020c;
    *upmu_sim_p4_place(sim, cpu, MSR_CCCR) = 0x3d000 | (thread != 0 ? P4_CCCR_PMI_T1 : P4_CCCR_PMI_T0);
    sim->cpu[upmu_sim_p4_home(sim, cpu)].p4.enabler[0] = (uint8_t)cpu;
}

/* ---- Reads ---- */

/* Is this a register that exists on 0F43H, but that no driver needs? Each access to it is a violation. */
static bool nb_untouchable(const struct upmu_sim *sim, uint32_t msr)
{
    return msr - 0x3f5u < 4u || (msr >> 1 == MSR_IQ_ESCR0 >> 1 && upmu_sim_p4_escr(sim, msr) == UPMU_SIM_P4_ESCRS);
}

uint64_t *upmu_sim_p4_place(struct upmu_sim *sim, unsigned cpu, uint32_t msr)
{
    struct upmu_sim_cpu *home = &sim->cpu[upmu_sim_p4_home(sim, cpu)];
    unsigned escr = upmu_sim_p4_escr(sim, msr);

    if (msr - MSR_COUNTER < UPMU_SIM_P4_COUNTERS)
        return &home->counter[msr - MSR_COUNTER].value;
    if (msr - MSR_CCCR < UPMU_SIM_P4_COUNTERS)
        return &home->p4.cccr[msr - MSR_CCCR];
    if (escr < UPMU_SIM_P4_ESCRS)
        return &home->p4.escr[escr];
    switch (msr) {
    case MSR_MISC_ENABLE:
        return &sim->cpu[cpu].misc_enable;
    case MSR_DEBUGCTL:
        return &sim->cpu[cpu].debugctl;
    case MSR_TC_PRECISE:
        return &home->p4.tc_precise;
    case MSR_REPLAY:
        return &home->p4.replay;
    case MSR_MATRIX:
        return &home->p4.matrix;
    case MSR_DS_AREA:
        return &sim->cpu[cpu].ds_area;
    default:
        return NULL;
    }
}

static void nb_check_untouchable(struct upmu_sim *sim, uint32_t msr, uint64_t value)
{
    if (nb_untouchable(sim, msr) && sim_on(sim, UPMU_SIM_RULE_CHECK_P4_UNTOUCHABLE))
        upmu_sim_violate(sim, "a register that must not be written", msr, value);
}

bool upmu_sim_p4_read(struct upmu_sim *sim, unsigned cpu, uint32_t msr, uint64_t *out_value)
{
    const uint64_t *place = upmu_sim_p4_place(sim, cpu, msr);

    *out_value = 0;
    if (sim->profile->flags & UPMU_SIM_IGNORES_WRITES) {
        *out_value = msr == MSR_MISC_ENABLE ? MISC_RESET : 0;
        return true;
    }
    if (sim->profile->flags & UPMU_SIM_FEATURES_FAULT && msr >= MSR_COUNTER)
        return false;
    if (msr == MSR_TSC) {
        *out_value = sim->now_ns + sim->cpu[cpu].tsc_offset;
        return true;
    }
    nb_check_untouchable(sim, msr, 0);
    if (place == NULL)
        return nb_untouchable(sim, msr) || !sim_on(sim, UPMU_SIM_RULE_MISSING_FAULTS);
    *out_value = *place;
    return true;
}

/* ---- Writes ---- */

static void nb_check(struct upmu_sim *sim, bool wrong, enum upmu_sim_rule_id rule, const char *text, uint32_t msr,
                     uint64_t value)
{
    if (wrong && sim_on(sim, rule))
        upmu_sim_violate(sim, text, msr, value);
}

static void nb_check_sibling(struct upmu_sim *sim, unsigned cpu, unsigned counter, uint32_t msr, uint64_t value)
{
    const struct upmu_sim_p4 *p4 = &sim->cpu[upmu_sim_p4_home(sim, cpu)].p4;

    nb_check(sim, p4->cccr[counter] & (P4_CCCR_ENABLE | P4_CCCR_CASCADES) && p4->enabler[counter] != cpu,
             UPMU_SIM_RULE_CHECK_P4_SIBLING, "the other thread's counter is written", msr, value);
}

static bool nb_write_counter(struct upmu_sim *sim, unsigned cpu, unsigned index, uint64_t value)
{
    struct upmu_sim_cpu *home = &sim->cpu[upmu_sim_p4_home(sim, cpu)];
    bool enabled = upmu_sim_p4_enabled(sim, upmu_sim_p4_home(sim, cpu), index);

    if (value >> 40 != 0 && !sim_on(sim, UPMU_SIM_RULE_P4_COUNTER_HIGH))
        return false;
    nb_check(sim, value >> 40 != 0, UPMU_SIM_RULE_CHECK_P4_RESERVED, "reserved counter bits", MSR_COUNTER + index,
             value);
    nb_check(sim, enabled, UPMU_SIM_RULE_CHECK_RUNNING_COUNTER, "write of a running counter", MSR_COUNTER + index,
             value);
    nb_check_sibling(sim, cpu, index, MSR_COUNTER + index, value);
    if (enabled && sim_on(sim, UPMU_SIM_RULE_P4_WRITE_LOST))
        return true;
    home->counter[index].value = value & (SIM_BIT(40) - 1u);
    home->p4.carried &= ~(1u << index);
    return true;
}

/*
 * Check a value before it is written to a CCCR. Violations: reserved bits; bits of a hyper-thread that does not exist;
 * enabled with a select that is not wired; OVF written as 1 where it is 0; another configuration while the counter
 * stays enabled; a counter that the other hyper-thread has enabled.
 */
static void nb_check_cccr(struct upmu_sim *sim, unsigned cpu, unsigned index, uint64_t value)
{
    unsigned home = upmu_sim_p4_home(sim, cpu);
    uint64_t old = sim->cpu[home].p4.cccr[index];
    uint64_t bits = nb_cccr_bits(sim, index) & ~(P4_CCCR_RESERVED | UINT64_C(0x700));
    bool will = value & (P4_CCCR_ENABLE | P4_CCCR_CASCADES);
    uint32_t msr = MSR_CCCR + index;

    nb_check(sim, value & ~bits, UPMU_SIM_RULE_CHECK_P4_RESERVED, "reserved CCCR bits", msr, value);
    nb_check(sim,
             !upmu_sim_p4_threads(sim, home) &&
                 ((will && (value & P4_CCCR_THREAD) != P4_CCCR_THREAD) || value & P4_CCCR_PMI_T1),
             UPMU_SIM_RULE_CHECK_P4_ONE_THREAD, "CCCR of a second thread that is not there", msr, value);
    nb_check(sim, will && upmu_sim_p4_wired(sim, index, value) == 0, UPMU_SIM_RULE_CHECK_P4_SELECT,
             "ESCR select that is not wired", msr, value);
    nb_check(sim, value & ~old & P4_CCCR_OVF, UPMU_SIM_RULE_CHECK_P4_OVF, "OVF set by a write", msr, value);
    nb_check(sim, old & value & P4_CCCR_ENABLE && (old ^ value) & P4_CCCR_CONFIG, UPMU_SIM_RULE_CHECK_RUNNING_SELECT,
             "change of a running counter's CCCR", msr, value);
    nb_check_sibling(sim, cpu, index, msr, value);
}

/* N17: the counter stops less than 8 events after a carry into bits 39:32: the carry is lost. */
static void nb_lose_carry(struct upmu_sim *sim, unsigned home, unsigned index)
{
    struct upmu_sim_cpu *core = &sim->cpu[home];

    if (core->p4.carried >> index & 1u && (core->counter[index].value & 0xffffffffu) < 8 &&
        sim_on(sim, UPMU_SIM_RULE_HAZARD_P4_CARRY))
        core->counter[index].value = (core->counter[index].value - SIM_BIT(32)) & (SIM_BIT(40) - 1u);
    core->p4.carried &= ~(1u << index);
}

static bool nb_write_cccr(struct upmu_sim *sim, unsigned cpu, unsigned index, uint64_t value)
{
    unsigned home = upmu_sim_p4_home(sim, cpu);
    struct upmu_sim_p4 *p4 = &sim->cpu[home].p4;
    uint64_t bits = sim_on(sim, UPMU_SIM_RULE_P4_UNIMPLEMENTED) ? nb_cccr_bits(sim, index) : 0xffffffffu;

    nb_check_cccr(sim, cpu, index, value);
    if (p4->cccr[index] & ~value & P4_CCCR_ENABLE)
        nb_lose_carry(sim, home, index);
    if (value & (P4_CCCR_ENABLE | P4_CCCR_CASCADES))
        p4->enabler[index] = (uint8_t)cpu;
    if (!sim_on(sim, UPMU_SIM_RULE_P4_OVF_WRITE_CLEARS))
        value ^= P4_CCCR_OVF;
    p4->cccr[index] = value & bits;
    if (!(value & P4_CCCR_OVF)) {
        p4->pmi_due &= ~(1u << index);
        sim->cpu[home].counter[index].late = 0;
    }
    return true;
}

/*
 * Does an enabled counter of the core see the ESCR with this address? With address 0: does one see an ESCR whose event
 * is replay_event, so that it needs the replay tags of 3F1H and 3F2H?
 */
static bool nb_in_use(const struct upmu_sim *sim, unsigned home, uint32_t address)
{
    const struct upmu_sim_p4 *p4 = &sim->cpu[home].p4;

    for (unsigned i = 0; i < UPMU_SIM_P4_COUNTERS; i++) {
        uint32_t wired = upmu_sim_p4_wired(sim, i, p4->cccr[i]);

        if (!upmu_sim_p4_enabled(sim, home, i) || wired == 0)
            continue;
        if (wired == address)
            return true;
        if (address == 0 && wired >> 1 == 0x3cc >> 1 &&
            P4_ESCR_EVENT(p4->escr[upmu_sim_p4_escr(sim, wired)]) == P4_REPLAY_EVENT)
            return true;
    }
    return false;
}

static bool nb_write_escr(struct upmu_sim *sim, unsigned cpu, unsigned index, uint64_t value)
{
    unsigned home = upmu_sim_p4_home(sim, cpu);
    uint32_t msr = nb_escrs[index].address;
    uint64_t *place = &sim->cpu[home].p4.escr[index];
    uint64_t kept = value & (sim_on(sim, UPMU_SIM_RULE_P4_UNIMPLEMENTED) ? nb_escrs[index].bits : 0x7fffffffu);

    nb_check(sim, value & ~(uint64_t)nb_escrs[index].bits, UPMU_SIM_RULE_CHECK_P4_RESERVED,
             "reserved or unimplemented ESCR bits", msr, value);
    nb_check(sim, !upmu_sim_p4_threads(sim, home) && value & P4_ESCR_T1, UPMU_SIM_RULE_CHECK_P4_ONE_THREAD,
             "ESCR of a second thread that is not there", msr, value);
    nb_check(sim, kept != *place && nb_in_use(sim, home, msr), UPMU_SIM_RULE_CHECK_P4_RUNNING_ESCR,
             "ESCR of a running counter changed", msr, value);
    if (value & SIM_BIT(31) && sim_on(sim, UPMU_SIM_RULE_P4_ESCR_BIT31))
        return false;
    *place = kept;
    return true;
}

static bool nb_write_tags(struct upmu_sim *sim, unsigned cpu, uint32_t msr, uint64_t value)
{
    uint64_t bits = msr == MSR_REPLAY ? REPLAY_BITS : MATRIX_BITS;
    uint64_t *place = upmu_sim_p4_place(sim, cpu, msr);

    nb_check(sim, value & ~bits, UPMU_SIM_RULE_CHECK_P4_RESERVED, "reserved tag bits", msr, value);
    nb_check(sim, msr == MSR_REPLAY && value & REPLAY_PEBS, UPMU_SIM_RULE_CHECK_P4_UNTOUCHABLE, "PEBS enabled", msr,
             value);
    nb_check(sim, (value & bits) != *place && nb_in_use(sim, upmu_sim_p4_home(sim, cpu), 0),
             UPMU_SIM_RULE_CHECK_P4_RUNNING_ESCR, "replay tags changed under a running counter", msr, value);
    *place = value & bits;
    return true;
}

static bool nb_write_misc_enable(struct upmu_sim *sim, unsigned cpu, uint64_t value)
{
    uint64_t *place = &sim->cpu[cpu].misc_enable;

    if (value & MISC_FAULTS && sim_on(sim, UPMU_SIM_RULE_P4_MISC_RESERVED))
        return false;
    *place = (*place & (MISC_IGNORED | MISC_FAULTS)) | (value & ~(MISC_IGNORED | MISC_FAULTS));
    return true;
}

static bool nb_write_control(struct upmu_sim *sim, unsigned cpu, uint32_t msr, uint64_t value)
{
    switch (msr) {
    case MSR_TSC:
        sim->cpu[cpu].tsc_offset = value - sim->now_ns;
        return true;
    case MSR_MISC_ENABLE:
        return nb_write_misc_enable(sim, cpu, value);
    case MSR_DEBUGCTL:
        if (value & ~UINT64_C(0x7f) && sim_on(sim, UPMU_SIM_RULE_DEBUGCTL_RESERVED))
            return false;
        sim->cpu[cpu].debugctl = value;
        return true;
    case MSR_REPLAY:
    case MSR_MATRIX:
        return nb_write_tags(sim, cpu, msr, value);
    case MSR_TC_PRECISE:
        nb_check(sim, true, UPMU_SIM_RULE_CHECK_P4_UNTOUCHABLE, "a register that must not be written", msr, value);
        *upmu_sim_p4_place(sim, cpu, msr) = value & 0x3ffe0u;
        return true;
    case MSR_DS_AREA:
        sim->cpu[cpu].ds_area = value;
        return true;
    default:
        return nb_untouchable(sim, msr) ? !(msr < 0x3f0u && value & SIM_BIT(31))
                                        : !sim_on(sim, UPMU_SIM_RULE_MISSING_FAULTS);
    }
}

bool upmu_sim_p4_write(struct upmu_sim *sim, unsigned cpu, uint32_t msr, uint64_t value)
{
    unsigned escr = upmu_sim_p4_escr(sim, msr);

    if (sim->profile->flags & UPMU_SIM_IGNORES_WRITES)
        return true;
    if (sim->profile->flags & UPMU_SIM_FEATURES_FAULT && msr >= MSR_COUNTER)
        return false;
    nb_check_untouchable(sim, msr, value);
    if (msr - MSR_COUNTER < UPMU_SIM_P4_COUNTERS)
        return nb_write_counter(sim, cpu, msr - MSR_COUNTER, value);
    if (msr - MSR_CCCR < UPMU_SIM_P4_COUNTERS)
        return nb_write_cccr(sim, cpu, msr - MSR_CCCR, value);
    if (escr < UPMU_SIM_P4_ESCRS)
        return nb_write_escr(sim, cpu, escr, value);
    return nb_write_control(sim, cpu, msr, value);
}

/* ---- RDPMC ---- */

bool upmu_sim_p4_rdpmc(struct upmu_sim *sim, unsigned cpu, uint32_t which, uint64_t *out_value)
{
    const struct upmu_sim_profile *profile = sim->profile;
    const struct upmu_sim_cpu *home = &sim->cpu[upmu_sim_p4_home(sim, cpu)];
    unsigned counter = which & 0x7fffffffu;

    *out_value = 0;
    if (profile->flags & UPMU_SIM_IGNORES_WRITES)
        return true;
    if (profile->flags & UPMU_SIM_FEATURES_FAULT)
        return false;
    if (counter >= UPMU_SIM_P4_COUNTERS)
        return !sim_on(sim, UPMU_SIM_RULE_RDPMC_RANGE);
    *out_value = home->counter[counter].value;
    if (which >> 31 && sim_on(sim, UPMU_SIM_RULE_P4_RDPMC_FAST))
        *out_value &= 0xffffffffu;
    return true;
}
