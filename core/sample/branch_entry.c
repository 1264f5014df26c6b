/* SPDX-License-Identifier: MIT */
/*
 * Entries of branch stacks: translate the registers of all formats to struct upmu_branch, and a filter to the bits of a
 * register.  Pure: no register is read or written.
 *
 * Sources of the formats: Linux 6.12 arch/x86/events/intel/lbr.c,
 * arch/x86/events/amd/lbr.c (erratum 1452: bit 61 of a target), asm/msr-index.h.
 */
#include "core/sample/branches_core.h"
#include "core/util/bits.h"

#if UPMU_BRANCHES

/*
 * AMD: bits 63 and 62 of the target register are validity and speculation.  Its address has 58 bits; Linux uses as many
 * of them as CPUID reports, 57 at most, and 57 are used here.
 */
#define TARGET_STATE_SHIFT 62u
#define TARGET_RESERVED UPMU_BIT64(61)
#define SPECULATION_SHIFT 52u

#define PREDICTION (UPMU_BRANCH_INFO_MISPREDICTED | UPMU_BRANCH_INFO_PREDICTED)
#define TRANSACTIONS (UPMU_BRANCH_INFO_TRANSACTION | UPMU_BRANCH_INFO_ABORT)

static const uint64_t info_bits[] = {
    [UPMU_BRANCH_FORMAT_FLAGS] = PREDICTION,
    [UPMU_BRANCH_FORMAT_TSX] = PREDICTION | TRANSACTIONS,
    [UPMU_BRANCH_FORMAT_INFO] = PREDICTION | TRANSACTIONS | UPMU_BRANCH_INFO_CYCLES,
    [UPMU_BRANCH_FORMAT_TIME] = PREDICTION | UPMU_BRANCH_INFO_CYCLES,
    [UPMU_BRANCH_FORMAT_INFO2] = PREDICTION | UPMU_BRANCH_INFO_CYCLES,
    [UPMU_BRANCH_FORMAT_ARCHITECTURAL] = PREDICTION | TRANSACTIONS | UPMU_BRANCH_INFO_CYCLES_VALID |
                                         UPMU_BRANCH_INFO_TYPE | UPMU_BRANCH_INFO_COUNTS | UPMU_BRANCH_INFO_CYCLES,
    [UPMU_BRANCH_FORMAT_AMD] = PREDICTION | UPMU_BRANCH_INFO_SPECULATION,
};

static const struct {
    uint64_t bits; /* bits of upmu_branch.info that a CPU with `lacks` does not have */
    unsigned lacks;
} parts[] = {{PREDICTION, UPMU_BRANCH_LACKS_MISPREDICTED},
             {UPMU_BRANCH_INFO_CYCLES_VALID | UPMU_BRANCH_INFO_CYCLES, UPMU_BRANCH_LACKS_CYCLES},
             {UPMU_BRANCH_INFO_TYPE, UPMU_BRANCH_LACKS_TYPE},
             {UPMU_BRANCH_INFO_COUNTS, UPMU_BRANCH_LACKS_COUNTS}};

static uint64_t format_bits(enum upmu_branch_format format)
{
    return (unsigned)format < sizeof info_bits / sizeof info_bits[0] ? info_bits[format] : 0;
}

uint64_t upmu_branch_info_of(enum upmu_branch_format format, unsigned lacks)
{
    uint64_t bits = format_bits(format);

    for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (lacks & parts[i].lacks)
            bits &= ~parts[i].bits;
    return bits;
}

/* Return what an entry knows of its branch: the bits that hardware has, and whether it was predicted right. */
static uint64_t known_info(enum upmu_branch_format format, uint64_t info)
{
    if (format == UPMU_BRANCH_FORMAT_ARCHITECTURAL && !(info & UPMU_BRANCH_INFO_CYCLES_VALID))
        info &= ~UPMU_BRANCH_INFO_CYCLES;
    info &= ~UPMU_BRANCH_INFO_PREDICTED;
    info |= info & UPMU_BRANCH_INFO_MISPREDICTED ? 0 : UPMU_BRANCH_INFO_PREDICTED;
    return info & format_bits(format);
}

/* Return the address in the low 64 - `above` bits of `word`, sign-extended. */
static uint64_t address_below(uint64_t word, unsigned above)
{
    return (uint64_t)((int64_t)(word << above) >> above);
}

enum upmu_branch_entry upmu_branch_decode(enum upmu_branch_format format, uint64_t from, uint64_t to, uint64_t info,
                                          struct upmu_branch *out_branch)
{
    unsigned above_from = 0, above_to = 0;

    if (format == UPMU_BRANCH_FORMAT_AMD) {
        unsigned state = (unsigned)(to >> TARGET_STATE_SHIFT);

        if (!state || (to & TARGET_RESERVED))
            return UPMU_BRANCH_SKIP;
        info = (from & UPMU_BRANCH_INFO_MISPREDICTED) | (uint64_t)state << SPECULATION_SHIFT;
        above_from = above_to = 7;
    } else if (!from) {
        return UPMU_BRANCH_END;
    } else if (format == UPMU_BRANCH_FORMAT_32) {
        /*
         * Linux reads source and target from the first register (intel_pmu_lbr_read_32); the manual has two registers.
         */
        to = from >> 32 ? from >> 32 : (uint32_t)to;
        from = (uint32_t)from;
    } else if (format == UPMU_BRANCH_FORMAT_FLAGS) {
        info = from;
        above_from = 1;
    } else if (format == UPMU_BRANCH_FORMAT_TSX) {
        info = from;
        above_from = 3;
    } else if (format == UPMU_BRANCH_FORMAT_TIME) {
        info = (from & UPMU_BRANCH_INFO_MISPREDICTED) | to >> 48;
        above_from = 1;
        above_to = 16;
    }
    out_branch->from = address_below(from, above_from);
    out_branch->to = address_below(to, above_to);
    out_branch->info = known_info(format, info);
    return UPMU_BRANCH_TAKEN;
}

bool upmu_branch_is_wanted(const struct upmu_branch *branch, uint32_t record, uint64_t kernel_from)
{
    bool kernel = branch->from >= kernel_from || branch->to >= kernel_from;

    return record & (kernel ? UPMU_BRANCH_KERNEL : UPMU_BRANCH_USER);
}

uint32_t upmu_branch_select(const struct upmu_branch_stack *stack, uint32_t record)
{
    uint32_t bits = 0;

    for (unsigned i = 0; i < sizeof stack->filter / sizeof stack->filter[0]; i++)
        if (record >> i & 1u)
            bits |= stack->filter[i];
    return stack->traits & UPMU_BRANCH_OWN_CONTROL ? bits | stack->enable : stack->all & ~bits;
}

#endif
