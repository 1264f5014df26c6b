/* SPDX-License-Identifier: MIT */
/*
 * Registers and stacks in samples: what an unwinder needs that has no frame pointers. They are those of the interrupted
 * code, in the host's frame and by the host's hook.
 *
 * Layout: perf_event_open(2), "MMAP layout", PERF_RECORD_SAMPLE.
 */
#include <string.h>
#include "abi/perf/perf_core.h"
#include <upmu/precise.h>

/* Word before the registers of a sample: it has none, or those of code of this width. */
#define REGISTERS_NONE 0
#define REGISTERS_HERE (sizeof(void *) == 8 ? 2u : 1u)

/* Largest record of whole words: its header has 16 bits for its bytes. */
#define RECORD_MOST 65528u

int upmu_perf_state_check(const struct upmu_perf *perf, const struct upmu_perf_attr *attr)
{
    bool refused = (attr->sample_type & UPMU_PERF_SAMPLE_REGS_USER && attr->sample_regs_user & ~perf->registers) ||
                   (attr->sample_type & UPMU_PERF_SAMPLE_REGS_INTR && attr->sample_regs_intr & ~perf->registers) ||
                   (attr->sample_type & UPMU_PERF_SAMPLE_STACK_USER && !perf->read_stack);

    return refused ? -UPMU_PERF_EOPNOTSUPP : 0;
}

/* Return the words of a set of registers with the word before them; `has`: there are registers. */
static unsigned words_of_registers(uint32_t registers, bool has)
{
    return 1u + (has ? upmu_bits_count(registers) : 0);
}

/* Are the registers of REGS_INTR known?  Of a precise sample they are those of its record, or none. */
static bool has_sampled(const struct upmu_perf_state *state)
{
#if UPMU_PRECISE
    if (state->precise)
        return state->precise->parts & UPMU_PART_REGISTERS;
#endif
    return state->has;
}

unsigned upmu_perf_state_find(const struct upmu_perf_event *event, const struct upmu_frame *frame, unsigned others,
                              struct upmu_perf_state *out_state)
{
    uint32_t parts = event->attr.sample_type, stack = event->attr.stack_user;
    unsigned words = 0;
#if UPMU_PRECISE
    const struct upmu_overflow *precise = out_state->precise;
#endif

    *out_state = (struct upmu_perf_state){.frame = frame, .has = frame && frame->registers};
#if UPMU_PRECISE
    out_state->precise = precise;
#endif
    out_state->has_user = out_state->has && frame->user;
    if (parts & UPMU_PERF_SAMPLE_REGS_USER)
        words += words_of_registers(event->attr.regs_user, out_state->has_user);
    if (parts & UPMU_PERF_SAMPLE_REGS_INTR)
        words += words_of_registers(event->attr.regs_intr, has_sampled(out_state));
    if (!(parts & UPMU_PERF_SAMPLE_STACK_USER))
        return words;
    words += 1u;
    if (!frame || !frame->user || !stack || 8u * (others + words + 2u) > RECORD_MOST)
        return words;
    if (stack > RECORD_MOST - 8u * (others + words + 2u))
        stack = RECORD_MOST - 8u * (others + words + 2u);
    out_state->stack_bytes = stack;
    return words + stack / 8u + (stack ? 1u : 0);
}

static void put_registers(struct upmu_perf_record *record, const struct upmu_frame *frame, uint32_t registers, bool has)
{
    upmu_perf_record_word(record, has ? REGISTERS_HERE : REGISTERS_NONE);
    for (; has && registers; registers &= registers - 1u) {
        unsigned number = upmu_bits_lowest(registers);

        upmu_perf_record_word(record, frame->register_mask >> number & 1u ? frame->registers[number] : 0);
    }
}

/* Write the bytes of the stack, of which the hook may read a part; the rest is 0. */
static void put_stack(struct upmu_perf_record *record, const struct upmu_perf_state *state)
{
    const struct upmu_perf *perf = record->event->perf;
    uint64_t copied = 0;
    bool stopped = false;

    upmu_perf_record_word(record, state->stack_bytes);
    if (!state->stack_bytes)
        return;
    for (uint32_t left = state->stack_bytes, bytes; left; left -= bytes) {
        uint8_t *to = upmu_perf_ring_span(&record->cursor, left, &bytes);
        size_t found = stopped ? 0 : perf->read_stack(perf->context, state->frame->sp + copied, to, bytes);

        stopped |= found < bytes;
        memset(to + found, 0, bytes - found);
        copied += found;
    }
    upmu_perf_record_word(record, copied);
}

void upmu_perf_state_user(struct upmu_perf_record *record, const struct upmu_perf_state *state)
{
    const struct upmu_perf_kept *attr = &record->event->attr;

    if (attr->sample_type & UPMU_PERF_SAMPLE_REGS_USER)
        put_registers(record, state->frame, attr->regs_user, state->has_user);
    if (attr->sample_type & UPMU_PERF_SAMPLE_STACK_USER)
        put_stack(record, state);
}

#if UPMU_PRECISE

/*
 * Write registers of a record, by Linux's numbers: ax, bx, cx, dx, si, di, bp, sp, ip, flags, then segments, which
 * records lack, and from 16 on r8 to r15 (arch/x86/include/uapi/asm/perf_regs.h).  ip is the sample's.
 */
static void put_sampled(struct upmu_perf_record *record, const struct upmu_overflow *overflow, uint32_t registers)
{
    static const uint8_t number_of[] = {2, 5, 3, 4, 8, 9, 7, 6, 1, 0};
    bool has = overflow->parts & UPMU_PART_REGISTERS;

    upmu_perf_record_word(record, has ? REGISTERS_HERE : REGISTERS_NONE);
    for (; has && registers; registers &= registers - 1u) {
        unsigned number = upmu_bits_lowest(registers);

        if (number == 8)
            upmu_perf_record_word(record, overflow->ip);
        else if (number >= sizeof number_of && number < 16)
            upmu_perf_record_word(record, 0);
        else
            upmu_perf_record_word(record,
                                  upmu_overflow_register(overflow, number < 16 ? number_of[number] : number - 6u));
    }
}

#endif

void upmu_perf_state_interrupted(struct upmu_perf_record *record, const struct upmu_perf_state *state)
{
    const struct upmu_perf_kept *attr = &record->event->attr;

#if UPMU_PRECISE
    if (state->precise && attr->sample_type & UPMU_PERF_SAMPLE_REGS_INTR) {
        put_sampled(record, state->precise, attr->regs_intr);
        return;
    }
#endif
    if (attr->sample_type & UPMU_PERF_SAMPLE_REGS_INTR)
        put_registers(record, state->frame, attr->regs_intr, state->has);
}
