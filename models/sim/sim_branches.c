/* SPDX-License-Identifier: MIT */
/*
 * Branch records of the silicon model: the stacks of Intel's models, the architectural one, and AMD's of version 2.
 *
 * Numbers, addresses and layouts: Linux 6.12 arch/x86/events/intel/lbr.c,
 * arch/x86/events/amd/lbr.c, asm/msr-index.h; leaf 1CH: asm/perf_event.h.
 */
#include "models/sim/sim_amd.h"

#define LBR_TOP 0x1c9u
#define LBR_SELECT 0x1c8u
#define LBR_CTL 0x14ceu
#define LBR_DEPTH 0x14cfu
#define SELECT_KINDS 0x1ffu /* rings and kinds of branches that LBR_SELECT keeps out */
#define SELECT_CALL_STACK 0x200u
#define LBR_CTL_BITS 0x7f000fu
#define RTIT_CTL 0x570u

#define BRANCH_MISPREDICTED SIM_BIT(63)
#define BRANCH_IN_TX SIM_BIT(62)
#define BRANCH_ABORT SIM_BIT(61)
#define BRANCH_CYCLES_VALID SIM_BIT(60)

#define EXTENSION_LBR SIM_BIT(6) /* C000_010FH */
#define AMD_VALID SIM_BIT(63)
#define AMD_SPECULATIVE SIM_BIT(62)
#define AMD_1452 SIM_BIT(61)
#define AMD_ADDRESS (SIM_BIT(58) - 1u)

/* Layouts of branch records, by PERF_CAPABILITIES[5:0]. */
enum { FORMAT_32, FORMAT_LIP, FORMAT_EIP, FORMAT_FLAGS, FORMAT_TSX, FORMAT_INFO, FORMAT_TIME, FORMAT_INFO2 };

enum stack_kind {
    STACK_NONE,
    STACK_CORE,
    STACK_ATOM,
    STACK_SLM,
    STACK_NHM,
    STACK_SNB,
    STACK_HSW,
    STACK_KNL,
    STACK_SKL,
    STACK_ARCH
};

static const struct sim_stack {
    uint32_t from, to, info;
    uint8_t depth;
    bool top;
    uint16_t select; /* the bits of LBR_SELECT; 0: the stack has no such register */
} stacks[] = {
    [STACK_CORE] = {0x40, 0x60, 0, 4, true, 0},
    [STACK_ATOM] = {0x40, 0x60, 0, 8, true, 0},
    [STACK_SLM] = {0x40, 0x60, 0, 8, true, SELECT_KINDS},
    [STACK_NHM] = {0x680, 0x6c0, 0, 16, true, SELECT_KINDS},
    [STACK_SNB] = {0x680, 0x6c0, 0, 16, true, SELECT_KINDS},
    [STACK_HSW] = {0x680, 0x6c0, 0, 16, true, SELECT_KINDS | SELECT_CALL_STACK},
    [STACK_KNL] = {0x680, 0x6c0, 0, 8, true, SELECT_KINDS},
    [STACK_SKL] = {0x680, 0x6c0, 0xdc0, 32, true, SELECT_KINDS | SELECT_CALL_STACK},
    [STACK_ARCH] = {0x1500, 0x1600, 0x1200, 32, false, 0},
};

/* Model numbers (family 6) of the CPUs that have each kind of stack; 0 after the last of a kind. */
static const uint8_t stack_models[STACK_ARCH][24] = {
    [STACK_CORE] = {0x0f, 0x16, 0x17, 0x1d},
    [STACK_ATOM] = {0x1c, 0x26, 0x27, 0x35, 0x36},
    [STACK_SLM] = {0x37, 0x4a, 0x4c, 0x4d, 0x5a, 0x75},
    [STACK_NHM] = {0x1a, 0x1e, 0x1f, 0x2e, 0x25, 0x2c, 0x2f},
    [STACK_SNB] = {0x2a, 0x2d, 0x3a, 0x3e},
    [STACK_HSW] = {0x3c, 0x45, 0x46, 0x3f, 0x3d, 0x47, 0x4f, 0x56},
    [STACK_KNL] = {0x57, 0x85},
    [STACK_SKL] = {0x4e, 0x5e, 0x8e, 0x9e, 0xa5, 0xa6, 0x55, 0x7d, 0x7e, 0x8c, 0x8d,
                   0x9d, 0xa7, 0x6c, 0x6a, 0x5c, 0x5f, 0x7a, 0x86, 0x96, 0x9c},
};

static unsigned model_of(const struct upmu_sim_profile *profile)
{
    return (profile->signature >> 4 & 0xfu) | (profile->signature >> 12 & 0xf0u);
}

static enum stack_kind kind_of(const struct upmu_sim_profile *profile)
{
    unsigned model = model_of(profile);

    if (profile->amd != NULL || profile->flags & (UPMU_SIM_P4 | UPMU_SIM_P6) || profile->version == 0)
        return STACK_NONE;
    /* Under a hypervisor PERF_CAPABILITIES[5:0] of 0 means: no branch records (Linux kvm/vmx/vmx.c). */
    if (profile->flags & UPMU_SIM_HYPERVISOR && (profile->capabilities & 0x3fu) == 0)
        return STACK_NONE;
    for (unsigned kind = STACK_CORE; kind < STACK_ARCH; kind++)
        for (unsigned i = 0; i < sizeof stack_models[kind] && stack_models[kind][i] != 0; i++)
            if (stack_models[kind][i] == model)
                return (enum stack_kind)kind;
    return profile->version >= 5 ? STACK_ARCH : STACK_NONE;
}

bool upmu_sim_branches_architectural(const struct upmu_sim_profile *profile)
{
    return kind_of(profile) == STACK_ARCH;
}

/*
 * Answer leaf 1CH. EAX: 32 entries are the only depth; bit 30: deep sleep loses the entries. EBX: branches are filtered
 * by privilege and by kind, there is a call-stack mode. ECX: entries have misprediction, cycles and type of the branch.
 */
void upmu_sim_branches_cpuid(const struct upmu_sim_profile *profile, uint32_t out[4])
{
    if (kind_of(profile) != STACK_ARCH)
        return;
    out[0] = 1u << (stacks[STACK_ARCH].depth / 8u - 1u) | 1u << 30;
    out[1] = out[2] = 7;
}

/*
 * Return the layout of a stack's entries (FORMAT_…): that of PERF_CAPABILITIES[5:0], but on Knights Landing, which
 * reports another one than it has, FORMAT_FLAGS (Linux lbr.c).
 */
static unsigned format_of(const struct upmu_sim_profile *profile)
{
    return kind_of(profile) == STACK_KNL ? FORMAT_FLAGS : profile->capabilities & 0x3fu;
}

/*
 * Return the CPU that has LBR_SELECT of a CPU. Hyper-threads that share OFFCORE_RSP share LBR_SELECT (Nehalem,
 * Westmere); the two cores of a Silvermont module share OFFCORE_RSP alone.
 */
static unsigned select_home(const struct upmu_sim *sim, unsigned cpu)
{
    const unsigned both = UPMU_SIM_SHARED_PAYLOAD | UPMU_SIM_SMT;
    bool shared = (sim_is(sim, cpu)->flags & both) == both && sim_on(sim, UPMU_SIM_RULE_LBR_SELECT_SHARED);

    return shared ? cpu & ~1u : cpu;
}

void upmu_sim_branches_reset(struct upmu_sim *sim, unsigned index)
{
    __builtin_memset(&sim->cpu[index].lbr, 0, sizeof sim->cpu[index].lbr);
    sim->cpu[index].lbr.depth = upmu_sim_branches_architectural(sim_is(sim, index)) ? stacks[STACK_ARCH].depth : 0;
}

/* ---- Recording ---- */

static bool is_recording(const struct upmu_sim *sim, unsigned index)
{
    const struct upmu_sim_profile *profile = sim_is(sim, index);
    const struct upmu_sim_cpu *cpu = &sim->cpu[index];

    if (profile->amd != NULL)
        return profile->amd->perfmon[0] & 2u && cpu->amd.debug_extension & EXTENSION_LBR &&
               !(cpu->status & SIM_STATUS_LBR_FROZEN);
    if (kind_of(profile) == STACK_NONE || profile->flags & UPMU_SIM_COUNTS_NOTHING ||
        (profile->version >= 4 && cpu->status & SIM_STATUS_LBR_FROZEN))
        return false;
    return (kind_of(profile) == STACK_ARCH ? cpu->lbr.ctl : cpu->debugctl) & 1u;
}

/*
 * The bit of each kind of branch. In LBR_SELECT, Intel's or AMD's, the bit excludes the kind; in LBR_CTL (second table)
 * the bit includes it.
 */
static const uint32_t select_bit[] = {
    [UPMU_SIM_BRANCH_COND] = 1u << 2,   [UPMU_SIM_BRANCH_CALL] = 1u << 3,     [UPMU_SIM_BRANCH_IND_CALL] = 1u << 4,
    [UPMU_SIM_BRANCH_RETURN] = 1u << 5, [UPMU_SIM_BRANCH_IND_JUMP] = 1u << 6, [UPMU_SIM_BRANCH_JUMP] = 1u << 7,
    [UPMU_SIM_BRANCH_FAR] = 1u << 8};
static const uint32_t ctl_bit[] = {
    [UPMU_SIM_BRANCH_COND] = 1u << 16, [UPMU_SIM_BRANCH_JUMP] = 1u << 17,     [UPMU_SIM_BRANCH_IND_JUMP] = 1u << 18,
    [UPMU_SIM_BRANCH_CALL] = 1u << 19, [UPMU_SIM_BRANCH_IND_CALL] = 1u << 20, [UPMU_SIM_BRANCH_RETURN] = 1u << 21,
    [UPMU_SIM_BRANCH_FAR] = 1u << 22};
/* Numbers of the branch's kind in an architectural entry, from bit 56 of LBR_INFO on. */
static const uint8_t type_of[] = {
    [UPMU_SIM_BRANCH_COND] = 0,     [UPMU_SIM_BRANCH_IND_JUMP] = 1, [UPMU_SIM_BRANCH_JUMP] = 2,
    [UPMU_SIM_BRANCH_IND_CALL] = 3, [UPMU_SIM_BRANCH_CALL] = 4,     [UPMU_SIM_BRANCH_RETURN] = 5,
    [UPMU_SIM_BRANCH_FAR] = 8};

/* Is the target of a branch in the kernel (bit 63 of its address is 1)? */
static bool ends_in_kernel(const struct upmu_sim_branch *branch)
{
    return branch->to >> 63;
}

/*
 * Return the bits of LBR_SELECT that keep out a call besides the call's own: on Nehalem, Westmere and Silvermont those
 * of near indirect jumps (6) and, for a relative call, of near relative jumps (7).
 */
static uint64_t jumps_of_call(const struct upmu_sim *sim, enum stack_kind stack, enum upmu_sim_branch_kind kind)
{
    if ((stack != STACK_NHM && stack != STACK_SLM) || !sim_on(sim, UPMU_SIM_RULE_LBR_CALLS_NEED_JUMPS))
        return 0;
    return kind == UPMU_SIM_BRANCH_CALL ? 0xc0u : kind == UPMU_SIM_BRANCH_IND_CALL ? 0x40u : 0;
}

static bool passes(const struct upmu_sim *sim, unsigned index, const struct upmu_sim_branch *branch)
{
    const struct upmu_sim_profile *profile = sim_is(sim, index);
    bool kernel = ends_in_kernel(branch);
    uint64_t select;

    if (!sim_on(sim, UPMU_SIM_RULE_LBR_FILTERS))
        return true;
    if (kind_of(profile) == STACK_ARCH) {
        uint64_t ctl = sim->cpu[index].lbr.ctl;

        return ctl >> (kernel ? 1 : 2) & 1u && ctl & ctl_bit[branch->kind];
    }
    if (profile->amd == NULL && stacks[kind_of(profile)].select == 0)
        return true;
    select = profile->amd != NULL ? sim->cpu[index].amd.lbr_select : sim->cpu[select_home(sim, index)].lbr.select;
    if (select & jumps_of_call(sim, kind_of(profile), branch->kind))
        return false;
    return !(select >> (kernel ? 0 : 1) & 1u) && !(select & select_bit[branch->kind]);
}

static void record_amd(struct upmu_sim_amd *amd, unsigned depth, const struct upmu_sim_branch *branch)
{
    for (unsigned i = depth - 1u; i != 0; i--) {
        amd->lbr[i][0] = amd->lbr[i - 1u][0];
        amd->lbr[i][1] = amd->lbr[i - 1u][1];
    }
    amd->lbr[0][0] = (branch->from & AMD_ADDRESS) | (branch->mispredicted ? BRANCH_MISPREDICTED : 0);
    amd->lbr[0][1] = (branch->to & AMD_ADDRESS) | (branch->wrong_path    ? AMD_SPECULATIVE
                                                   : branch->speculative ? AMD_VALID | AMD_SPECULATIVE
                                                                         : AMD_VALID);
    if (branch->reserved)
        amd->lbr[0][1] |= AMD_1452;
}

static uint64_t with_top(uint64_t address, unsigned bits, uint64_t flags)
{
    return (address << bits >> bits) | flags;
}

static void record_intel(const struct upmu_sim_profile *profile, struct upmu_sim_lbr *lbr,
                         const struct upmu_sim_branch *branch)
{
    const struct sim_stack *stack = &stacks[kind_of(profile)];
    unsigned at = 0, format = format_of(profile);
    uint64_t misses = branch->mispredicted ? BRANCH_MISPREDICTED : 0;
    uint64_t transaction = (branch->in_tx ? BRANCH_IN_TX : 0) | (branch->abort ? BRANCH_ABORT : 0);

    if (stack->top) {
        at = (unsigned)(lbr->top + 1u) & (stack->depth - 1u);
        lbr->top = at;
    } else {
        for (unsigned i = stack->depth - 1u; i != 0; i--) {
            lbr->from[i] = lbr->from[i - 1u];
            lbr->to[i] = lbr->to[i - 1u];
            lbr->info[i] = lbr->info[i - 1u];
        }
    }
    lbr->from[at] = branch->from;
    lbr->to[at] = branch->to;
    lbr->info[at] = 0;
    if (stack->info != 0)
        lbr->info[at] = misses | branch->cycles | (format == FORMAT_INFO2 ? 0 : transaction);
    if (!stack->top)
        lbr->info[at] |= BRANCH_CYCLES_VALID | (uint64_t)type_of[branch->kind] << 56;
    if (stack->info == 0 && format == FORMAT_32) {
        lbr->from[at] = (uint32_t)branch->from;
        lbr->to[at] = (uint32_t)branch->to;
    } else if (stack->info == 0 && format == FORMAT_FLAGS) {
        lbr->from[at] = with_top(branch->from, 1, misses);
    } else if (stack->info == 0 && format == FORMAT_TSX) {
        lbr->from[at] = with_top(branch->from, 3, misses | transaction);
    } else if (format == FORMAT_TIME) {
        lbr->info[at] = 0;
        lbr->from[at] = with_top(branch->from, 1, misses);
        lbr->to[at] = with_top(branch->to, 16, (uint64_t)branch->cycles << 48);
    }
}

/*
 * Does a CPU of this model number record an abort twice, the second time without the abort bit? Haswell does, Broadwell
 * does not.
 */
static bool records_aborts_twice(const struct upmu_sim *sim, unsigned model)
{
    return (model == 0x3c || model == 0x3f || model == 0x45 || model == 0x46) &&
           sim_on(sim, UPMU_SIM_RULE_LBR_DOUBLE_ABORT);
}

void upmu_sim_branches_take(struct upmu_sim *sim, const struct upmu_sim_branch *branch)
{
    unsigned index = sim->current;
    struct upmu_sim_cpu *cpu = &sim->cpu[index];

    /* For speed return early if no stack is enabled: with rule LBR_HOOKS each access of a test is two branches. */
    if (!((cpu->debugctl | cpu->lbr.ctl) & 1u) && !(cpu->amd.debug_extension & EXTENSION_LBR))
        return;
    if (!is_recording(sim, index) || !passes(sim, index, branch) || !sim_on(sim, UPMU_SIM_RULE_LBR_RECORDS))
        return;
    if (sim_is(sim, index)->amd != NULL) {
        record_amd(&cpu->amd, sa_branch_depth(sim_is(sim, index)->amd), branch);
        return;
    }
    record_intel(sim_is(sim, index), &cpu->lbr, branch);
    if (branch->abort && records_aborts_twice(sim, model_of(sim_is(sim, index)))) {
        struct upmu_sim_branch second = *branch;

        second.abort = false;
        record_intel(sim_is(sim, index), &cpu->lbr, &second);
    }
}

/* ---- Registers ---- */

/*
 * Check that branches are not being recorded when an entry, or LBR_TOS, is accessed: the caller would get entries of
 * different moments.
 */
static void check_entry(struct upmu_sim *sim, unsigned index, uint32_t msr)
{
    if (is_recording(sim, index) && sim_on(sim, UPMU_SIM_RULE_CHECK_LBR_READ))
        upmu_sim_violate(sim, "an entry of the branch stack is accessed while it records", msr, 0);
}

uint64_t *upmu_sim_branches_place(struct upmu_sim *sim, unsigned index, uint32_t msr)
{
    const struct sim_stack *stack = &stacks[kind_of(sim_is(sim, index))];
    struct upmu_sim_lbr *lbr = &sim->cpu[index].lbr;

    if (kind_of(sim_is(sim, index)) == STACK_NONE)
        return NULL;
    if (msr - stack->from < stack->depth)
        return &lbr->from[msr - stack->from];
    if (msr - stack->to < stack->depth)
        return &lbr->to[msr - stack->to];
    if (stack->info != 0 && msr - stack->info < stack->depth)
        return &lbr->info[msr - stack->info];
    if (msr == LBR_TOP && stack->top)
        return &lbr->top;
    if (msr == LBR_SELECT && stack->select != 0)
        return &sim->cpu[select_home(sim, index)].lbr.select;
    if (!stack->top && (msr == LBR_CTL || msr == LBR_DEPTH))
        return msr == LBR_CTL ? &lbr->ctl : &lbr->depth;
    if (msr == RTIT_CTL && sim_is(sim, index)->flags & UPMU_SIM_PT)
        return &lbr->trace;
    return NULL;
}

/* Is `msr` the source, target or information of an entry? */
static bool is_entry(const struct upmu_sim *sim, unsigned index, uint32_t msr)
{
    const struct sim_stack *stack = &stacks[kind_of(sim_is(sim, index))];

    return msr - stack->from < stack->depth || msr - stack->to < stack->depth ||
           (stack->info != 0 && msr - stack->info < stack->depth);
}

bool upmu_sim_branches_read(struct upmu_sim *sim, unsigned index, uint32_t msr, uint64_t *out_value)
{
    const uint64_t *place = upmu_sim_branches_place(sim, index, msr);

    if (place == NULL)
        return false;
    if (is_entry(sim, index, msr) || msr == LBR_TOP)
        check_entry(sim, index, msr);
    *out_value = *place;
    return true;
}

void upmu_sim_branches_amd_access(struct upmu_sim *sim, unsigned index, uint32_t msr)
{
    if (msr - SA_MSR_LBR < 2u * UPMU_SIM_AMD_LBR)
        check_entry(sim, index, msr);
}

/*
 * Does a write of a branch's source meet #GP unless bits 62 and 61 are copies of the address's sign, bits 60 and 59? So
 * it is with the layout of transactions on a CPU that has none; what the CPU records has 0 in both bits.
 */
static bool has_sign(const struct upmu_sim *sim, unsigned index)
{
    const struct upmu_sim_profile *profile = sim_is(sim, index);

    return kind_of(profile) == STACK_HSW && format_of(profile) == FORMAT_TSX && !(profile->flags & UPMU_SIM_RTM) &&
           sim_on(sim, UPMU_SIM_RULE_LBR_SIGN_EXTENDS);
}

bool upmu_sim_branches_write(struct upmu_sim *sim, unsigned index, uint32_t msr, uint64_t value)
{
    struct upmu_sim_lbr *lbr = &sim->cpu[index].lbr;
    uint64_t *place = upmu_sim_branches_place(sim, index, msr);

    if (msr == LBR_TOP && sim_on(sim, UPMU_SIM_RULE_LBR_TOP_READ_ONLY))
        return false;
    if ((msr == LBR_SELECT && value & ~(uint64_t)stacks[kind_of(sim_is(sim, index))].select) ||
        (msr == LBR_CTL && value & ~(uint64_t)LBR_CTL_BITS))
        return !sim_on(sim, UPMU_SIM_RULE_LBR_RESERVED);
    if (msr == LBR_DEPTH) {
        if (value != stacks[STACK_ARCH].depth)
            return !sim_on(sim, UPMU_SIM_RULE_LBR_RESERVED);
        if (sim_on(sim, UPMU_SIM_RULE_LBR_DEPTH_CLEARS)) {
            __builtin_memset(lbr->from, 0, sizeof lbr->from);
            __builtin_memset(lbr->to, 0, sizeof lbr->to);
            __builtin_memset(lbr->info, 0, sizeof lbr->info);
        }
        return true;
    }
    if (is_entry(sim, index, msr))
        check_entry(sim, index, msr);
    if (has_sign(sim, index) && msr - stacks[STACK_HSW].from < stacks[STACK_HSW].depth &&
        (value >> 61 & 3u) != (value >> 59 & 3u))
        return false;
    *place = value;
    return true;
}

void upmu_sim_branches_entry(const struct upmu_sim *sim, unsigned index, unsigned entry, uint64_t out[3])
{
    const struct sim_stack *stack = &stacks[kind_of(sim_is(sim, index))];
    const struct upmu_sim_lbr *lbr = &sim->cpu[index].lbr;
    unsigned at = stack->top ? ((unsigned)lbr->top - entry) & (stack->depth - 1u) : entry;
    bool exists = kind_of(sim_is(sim, index)) != STACK_NONE && entry < stack->depth;

    out[0] = exists ? lbr->from[at] : 0;
    out[1] = exists ? lbr->to[at] : 0;
    out[2] = exists ? lbr->info[at] : 0;
}
