/* SPDX-License-Identifier: MIT */
/*
 * Attributes of perf_event_open: copied, and refused as Linux refuses them. A program sees the first refusal, so the
 * order of the checks is a part of the interface. No function keeps or changes state, except that attributes are
 * copied.
 *
 * Source of the order: answers of a Linux kernel 6.18 to tests/perf/perf_attrs.h (tests/golden/perf_errors_*.txt).
 */
#include <string.h>
#include "abi/perf/perf_core.h"
#include <upmu/branches.h>

_Static_assert(sizeof(struct upmu_perf_attr) == 136, "layouts are the same for 32 and 64 bits");

#define MAX_RATE 100000u
#define MAX_STACK 127u
#define AUX_ACTIONS 7u
#define AUX_START_PAUSED 1u
#define AUX_PAUSE_RESUME 6u

/*
 * Masks of x86 registers in sample_regs_user and sample_regs_intr.  REGISTERS: the general ones, without the segment
 * registers ds, es, fs and gs.  REGISTERS_XMM, bits 32 on: XMM registers, for which no PMU of this layer has values.
 */
#define REGISTERS UINT64_C(0x00ff0fff)
#define REGISTERS_XMM (~UINT64_C(0xffffffff))

static bool attr_has(const struct upmu_perf_attr *attr, uint64_t flag)
{
    return attr->flags & flag;
}

static bool attr_samples(const struct upmu_perf_attr *attr, uint64_t what)
{
    return attr->sample_type & what;
}

uint32_t upmu_perf_most_stack(const struct upmu_perf *perf)
{
    return perf->max_stack ? perf->max_stack : MAX_STACK;
}

uint32_t upmu_perf_most_rate(const struct upmu_perf *perf)
{
    return perf->max_rate ? perf->max_rate : MAX_RATE;
}

/* ---- Copying ---- */

/* Are the bytes from `from` to `to` of a program's attributes all 0? Returns 1, 0 or -EFAULT. */
static int rest_is_zero(const struct upmu_perf *perf, const uint8_t *user, uint32_t from, uint32_t to)
{
    uint8_t piece[64];

    for (uint32_t length; from < to; from += length) {
        length = to - from < sizeof piece ? to - from : (uint32_t)sizeof piece;
        if (!perf->copy_in(perf->context, piece, user + from, length))
            return -UPMU_PERF_EFAULT;
        for (uint32_t i = 0; i < length; i++)
            if (piece[i])
                return 0;
    }
    return 1;
}

int upmu_perf_attr_copy(const struct upmu_perf *perf, void *user, struct upmu_perf_attr *out_attr)
{
    const uint32_t known = sizeof *out_attr;
    uint8_t *bytes = user;
    uint32_t size;
    int rest;

    memset(out_attr, 0, sizeof *out_attr);
    if (!perf->copy_in(perf->context, &size, bytes + 4, sizeof size))
        return -UPMU_PERF_EFAULT;
    if (!size)
        size = UPMU_PERF_ATTR_BYTES_FIRST;
    rest = size < UPMU_PERF_ATTR_BYTES_FIRST || size > UPMU_PERF_ATTR_BYTES_MOST
               ? 0
               : rest_is_zero(perf, bytes, known, size);
    if (!rest) {
        (void)perf->copy_out(perf->context, bytes + 4, &known, sizeof known);
        return -UPMU_PERF_E2BIG;
    }
    if (rest < 0 || !perf->copy_in(perf->context, out_attr, user, size < known ? size : known))
        return -UPMU_PERF_EFAULT;
    out_attr->size = size;
    return 0;
}

/* ---- Checking ---- */

static bool are_registers(uint64_t mask)
{
    return mask && !(mask & ~(REGISTERS | REGISTERS_XMM));
}

static int check_known_bits(const struct upmu_perf_attr *attr)
{
    return attr->flags & ~UPMU_PERF_FLAGS || attr->reserved_2 || attr->aux_action & ~AUX_ACTIONS ||
                   attr->sample_type & ~UPMU_PERF_SAMPLES || attr->read_format & ~UPMU_PERF_READS
               ? -UPMU_PERF_EINVAL
               : 0;
}

/*
 * Return the levels at which branches are recorded: those in branch_sample_type, or else those that the event does not
 * exclude.
 */
static uint64_t branch_levels(const struct upmu_perf_attr *attr)
{
    uint64_t given = attr->branch_sample_type & UPMU_PERF_BRANCH_LEVELS;
    uint64_t excluded = attr->flags / UPMU_PERF_EXCLUDE_USER & UPMU_PERF_BRANCH_LEVELS;

    return given ? given : ~excluded & UPMU_PERF_BRANCH_LEVELS;
}

/*
 * Bits of branch_sample_type, and what they are to the library.  Linux's ANY_CALL and ANY_RETURN have far calls and
 * returns as well, for which the library has no filter.
 */
static const struct {
    uint64_t type;
    uint16_t record;
} branch_types[] = {{UPMU_PERF_BRANCH_ANY, UPMU_BRANCH_ANY},
                    {UPMU_PERF_BRANCH_ANY_CALL, UPMU_BRANCH_CALL | UPMU_BRANCH_IND_CALL},
                    {UPMU_PERF_BRANCH_ANY_RETURN, UPMU_BRANCH_RETURN},
                    {UPMU_PERF_BRANCH_IND_CALL, UPMU_BRANCH_IND_CALL},
                    {UPMU_PERF_BRANCH_COND, UPMU_BRANCH_COND},
                    {UPMU_PERF_BRANCH_IND_JUMP, UPMU_BRANCH_IND_JUMP},
                    {UPMU_PERF_BRANCH_CALL, UPMU_BRANCH_CALL}};

int upmu_perf_attr_branches(const struct upmu_perf_attr *attr, uint32_t accepted, uint16_t *out_record)
{
    const uint64_t no_info = UPMU_PERF_BRANCH_NO_FLAGS | UPMU_PERF_BRANCH_NO_CYCLES;
    uint64_t rest = attr->branch_sample_type & ~(UPMU_PERF_BRANCH_LEVELS | no_info);
    uint32_t record = 0;

    *out_record = 0;
    if (!attr_samples(attr, UPMU_PERF_SAMPLE_BRANCH_STACK))
        return 0;
    for (unsigned i = 0; i < sizeof branch_types / sizeof branch_types[0]; i++)
        if (rest & branch_types[i].type) {
            rest &= ~branch_types[i].type;
            record |= branch_types[i].record;
        }
    record |= branch_levels(attr) & UPMU_PERF_BRANCH_USER ? UPMU_BRANCH_USER : 0;
    record |= branch_levels(attr) & UPMU_PERF_BRANCH_KERNEL ? UPMU_BRANCH_KERNEL : 0;
    record |= (attr->branch_sample_type & no_info) == no_info ? UPMU_BRANCH_NO_INFO : 0;
    if (rest || record & ~accepted || !(record & (UPMU_BRANCH_USER | UPMU_BRANCH_KERNEL)))
        return -UPMU_PERF_EOPNOTSUPP;
    if (attr->sample_period)
        *out_record = (uint16_t)record;
    return 0;
}

static int check_branches(const struct upmu_perf *perf, uint32_t caller, const struct upmu_perf_attr *attr)
{
    if (!attr_samples(attr, UPMU_PERF_SAMPLE_BRANCH_STACK))
        return 0;
    if (attr->branch_sample_type & ~UPMU_PERF_BRANCHES || !(attr->branch_sample_type & ~UPMU_PERF_BRANCH_LEVELS))
        return -UPMU_PERF_EINVAL;
    return branch_levels(attr) & ~UPMU_PERF_BRANCH_USER && upmu_perf_forbids(perf, caller, 1) ? -UPMU_PERF_EACCES : 0;
}

static int check_samples(const struct upmu_perf_attr *attr)
{
    bool bad_stack = attr->sample_stack_user >= 65535u || attr->sample_stack_user % 8u;

    return (attr_samples(attr, UPMU_PERF_SAMPLE_REGS_USER) && !are_registers(attr->sample_regs_user)) ||
                   (attr_samples(attr, UPMU_PERF_SAMPLE_STACK_USER) && bad_stack) ||
                   (attr_samples(attr, UPMU_PERF_SAMPLE_REGS_INTR) && !are_registers(attr->sample_regs_intr)) ||
                   (attr_samples(attr, UPMU_PERF_SAMPLE_WEIGHT) && attr_samples(attr, UPMU_PERF_SAMPLE_WEIGHT_STRUCT))
               ? -UPMU_PERF_EINVAL
               : 0;
}

static int check_life(const struct upmu_perf_attr *attr)
{
    return (attr_has(attr, UPMU_PERF_INHERIT_THREAD) && !attr_has(attr, UPMU_PERF_INHERIT)) ||
                   (attr_has(attr, UPMU_PERF_REMOVE_ON_EXEC) && attr_has(attr, UPMU_PERF_ENABLE_ON_EXEC)) ||
                   (attr_has(attr, UPMU_PERF_SIGTRAP) && !attr_has(attr, UPMU_PERF_REMOVE_ON_EXEC))
               ? -UPMU_PERF_EINVAL
               : 0;
}

int upmu_perf_attr_check(const struct upmu_perf *perf, uint32_t caller, struct upmu_perf_attr *attr)
{
    int error = check_known_bits(attr);

    if (!error)
        error = check_branches(perf, caller, attr);
    if (!error)
        error = check_samples(attr);
    if (!attr->sample_max_stack)
        attr->sample_max_stack = (uint16_t)upmu_perf_most_stack(perf);
    return error ? error : check_life(attr);
}

bool upmu_perf_forbids(const struct upmu_perf *perf, uint32_t caller, int level)
{
    return perf->paranoid > level && !(perf->may_all && perf->may_all(perf->context, caller));
}

int upmu_perf_attr_limits(const struct upmu_perf *perf, uint32_t caller, const struct upmu_perf_attr *attr)
{
    if (!attr_has(attr, UPMU_PERF_EXCLUDE_KERNEL) && upmu_perf_forbids(perf, caller, 1))
        return -UPMU_PERF_EACCES;
    if (attr_has(attr, UPMU_PERF_NAMESPACES) && upmu_perf_forbids(perf, caller, INT32_MIN))
        return -UPMU_PERF_EACCES;
    if (attr_has(attr, UPMU_PERF_FREQ) ? attr->sample_period > upmu_perf_most_rate(perf) : attr->sample_period >> 63)
        return -UPMU_PERF_EINVAL;
    if (attr_samples(attr, UPMU_PERF_SAMPLE_PHYS_ADDR) && upmu_perf_forbids(perf, caller, 1))
        return -UPMU_PERF_EACCES;
    return 0;
}

int upmu_perf_attr_target(const struct upmu_perf_attr *attr, bool of_task)
{
    if (attr_has(attr, UPMU_PERF_SIGTRAP) && !of_task)
        return -UPMU_PERF_EINVAL;
    if (attr_has(attr, UPMU_PERF_INHERIT) && attr_samples(attr, UPMU_PERF_SAMPLE_READ) &&
        !attr_samples(attr, UPMU_PERF_SAMPLE_TID))
        return -UPMU_PERF_EINVAL;
    return 0;
}

/*
 * Does a mask of registers have XMM registers? Linux looks at the masks even if sample_type does not ask for registers.
 */
static bool has_xmm(const struct upmu_perf_attr *attr)
{
    return (attr->sample_regs_user | attr->sample_regs_intr) & REGISTERS_XMM;
}

/* Refuse traces beside the samples (AUX), which no PMU of this layer has. */
static int check_traces(const struct upmu_perf_attr *attr)
{
    if (attr_has(attr, UPMU_PERF_AUX_OUTPUT))
        return -UPMU_PERF_EOPNOTSUPP;
    if ((attr->aux_action & AUX_PAUSE_RESUME) == AUX_PAUSE_RESUME)
        return -UPMU_PERF_EINVAL;
    return attr->aux_action & AUX_START_PAUSED ? -UPMU_PERF_EOPNOTSUPP : 0;
}

int upmu_perf_attr_type(const struct upmu_perf_attr *attr)
{
    return has_xmm(attr) ? -UPMU_PERF_EOPNOTSUPP : check_traces(attr);
}

int upmu_perf_attr_callers(const struct upmu_perf *perf, const struct upmu_perf_attr *attr)
{
    if (attr_samples(attr, UPMU_PERF_SAMPLE_CALLCHAIN) && attr->sample_max_stack > upmu_perf_most_stack(perf))
        return -UPMU_PERF_EOVERFLOW;
    return 0;
}

int upmu_perf_attr_traced(const struct upmu_perf_attr *attr)
{
    return attr->aux_sample_size || attr->aux_action ? -UPMU_PERF_EINVAL : 0;
}

int upmu_perf_attr_clock(const struct upmu_perf_attr *attr)
{
    /* Linux's numbers: CLOCK_REALTIME 0, MONOTONIC 1, MONOTONIC_RAW 4, BOOTTIME 7, TAI 11 */
    const uint32_t clocks = 1u << 0 | 1u << 1 | 1u << 4 | 1u << 7 | 1u << 11;

    if (!attr_has(attr, UPMU_PERF_USE_CLOCKID))
        return 0;
    return attr->clockid >= 0 && attr->clockid < 32 && clocks >> attr->clockid & 1u ? 0 : -UPMU_PERF_EINVAL;
}

bool upmu_perf_attr_same_clock(const struct upmu_perf_kept *attr, const struct upmu_perf_kept *other)
{
    uint64_t chosen = attr->flags & UPMU_PERF_USE_CLOCKID;

    return chosen == (other->flags & UPMU_PERF_USE_CLOCKID) && (!chosen || attr->clockid == other->clockid);
}
