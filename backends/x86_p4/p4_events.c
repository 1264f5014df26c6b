/* SPDX-License-Identifier: MIT */
/*
 * Facts of the manuals about NetBurst's events: where each event is counted, which are thread-independent (counted for
 * both hyper-threads together), and which some models lack. No hardware is accessed; events are encoded and placed by
 * these facts.
 *
 * Sources: Intel SDM vol 3 (325384-059) 18.15, tables 19-28 to 19-34. The CCCR select of b2b_cycles, bnr, snoop and
 * response is printed there as 3, which leads to ITLB_ESCR; they are FSB events, and FSB_ESCR is 6.
 */
#include "backends/x86_p4/x86_p4.h"
#include "core/util/bits.h"

#if UPMU_BACKEND_X86_P4

#define CODE_BITS 0x7ffu
#define EVENT_SELECT 0x3fu

/* Bits of a row of p4_events besides the event's code. */
#define EVEN_ONLY 0x0800u
#define ODD_ONLY 0x1000u
#define EVEN_BEFORE_F27 0x2000u
#define FROM_MODEL_3 0x4000u

#define BPU(cccr_select, event_select) UPMU_P4_CODE(UPMU_P4_GROUP_BPU, cccr_select, event_select)
#define MS(cccr_select, event_select) UPMU_P4_CODE(UPMU_P4_GROUP_MS, cccr_select, event_select)
#define FLAME(cccr_select, event_select) UPMU_P4_CODE(UPMU_P4_GROUP_FLAME, cccr_select, event_select)
#define IQ(cccr_select, event_select) UPMU_P4_CODE(UPMU_P4_GROUP_IQ, cccr_select, event_select)

/*
 * Documented events. Bits 10:0 are the event's UPMU_P4_CODE(); the bits above say which ESCRs and models have it. The
 * first UPMU_P4_TI_EVENTS are thread-independent: thirteen by the manual's list of such events; the last four, which
 * that list lacks, by the list of FreeBSD (sys/dev/hwpmc/hwpmc_piv.c).
 */
static const uint16_t p4_events[] = {
    MS(1, 0x01),    /* tc_deliver_mode */
    BPU(4, 0x01),   /* page_walk_type */
    BPU(6, 0x17),   /* FSB_data_activity */
    FLAME(1, 0x34), /* SSE_input_assist */
    FLAME(1, 0x08), /* packed_SP_uop */
    FLAME(1, 0x0c), /* packed_DP_uop */
    FLAME(1, 0x0a), /* scalar_SP_uop */
    FLAME(1, 0x0e), /* scalar_DP_uop */
    FLAME(1, 0x02), /* 64bit_MMX_uop */
    FLAME(1, 0x1a), /* 128bit_MMX_uop */
    FLAME(1, 0x04), /* x87_FP_uop */
    FLAME(1, 0x2e), /* x87_SIMD_moves_uop */
    FLAME(5, 0x05), /* WC_Buffer */
    BPU(6, 0x16),   /* b2b_cycles */
    BPU(6, 0x08),   /* bnr */
    BPU(6, 0x06),   /* snoop */
    BPU(6, 0x04),   /* response */
    BPU(0, 0x03),                   /* BPU_fetch_request */
    BPU(3, 0x18),                   /* ITLB_reference */
    FLAME(5, 0x02),                 /* memory_cancel */
    FLAME(2, 0x08),                 /* memory_complete */
    FLAME(2, 0x04),                 /* load_port_replay */
    FLAME(2, 0x05),                 /* store_port_replay */
    BPU(2, 0x03),                   /* MOB_load_replay */
    BPU(7, 0x0c),                   /* BSQ_cache_reference */
    BPU(6, 0x03) | EVEN_BEFORE_F27, /* IOQ_allocation */
    BPU(6, 0x1a) | ODD_ONLY,        /* IOQ_active_entries */
    BPU(7, 0x05) | EVEN_ONLY,       /* BSQ_allocation */
    BPU(7, 0x06) | ODD_ONLY,        /* BSQ_active_entries */
    MS(1, 0x06),                    /* TC_misc */
    BPU(6, 0x13),                   /* global_power_events */
    MS(0, 0x05),                    /* tc_ms_xfer */
    MS(0, 0x09),                    /* uop_queue_writes */
    MS(2, 0x05),                    /* retired_mispred_branch_type */
    MS(2, 0x04),                    /* retired_branch_type */
    IQ(1, 0x01),                    /* resource_stall */
    IQ(5, 0x08),                    /* front_end_event */
    IQ(5, 0x0c),                    /* execution_event */
    IQ(5, 0x09),                    /* replay_event */
    IQ(4, 0x02),                    /* instr_retired */
    IQ(4, 0x01),                    /* uops_retired */
    IQ(2, 0x02),                    /* uop_type */
    IQ(5, 0x06),                    /* branch_retired */
    IQ(4, 0x03),                    /* mispred_branch_retired */
    IQ(5, 0x03),                    /* x87_assist */
    IQ(5, 0x02),                    /* machine_clear */
    IQ(4, 0x07) | FROM_MODEL_3,     /* instr_completed */
};

#define P4_EVENTS ((int)(sizeof p4_events / sizeof p4_events[0]))

/*
 * Numbers of even ESCRs, by group and CCCR select. The odd ESCR of the same part of the CPU has the next number;
 * SSU_ESCR0 has no odd one.
 */
#define NONE UPMU_P4_NO_ESCR
const uint8_t upmu_p4_even_escrs[UPMU_P4_GROUPS][8] = {
    [UPMU_P4_GROUP_BPU] = {18, 20, 10, 22, 12, 37, 2, 0},
    [UPMU_P4_GROUP_MS] = {31, 35, 33, NONE, NONE, NONE, NONE, NONE},
    [UPMU_P4_GROUP_FLAME] = {6, 4, 14, 16, NONE, 8, NONE, NONE},
    [UPMU_P4_GROUP_IQ] = {UPMU_P4_IQ_ESCR0, 39, 28, 30, 24, 41, 43, NONE},
};

const uint32_t upmu_p4_sides[2][UPMU_P4_GROUPS] = {{0x3, 0x30, 0x300, 0x13000}, {0xc, 0xc0, 0xc00, 0x2c000}};

static unsigned word_code(unsigned group, uint64_t word)
{
    return UPMU_P4_CODE(group, (unsigned)(word >> 45) & 7u, (unsigned)(word >> 25) & EVENT_SELECT);
}

int upmu_p4_find(unsigned group, uint64_t config)
{
    for (int row = 0; row < P4_EVENTS; row++)
        if ((p4_events[row] & CODE_BITS) ==
            word_code(group < UPMU_P4_GROUPS ? group : UPMU_P4_CODE_GROUP(p4_events[row]), config))
            return row;
    return -1;
}

unsigned upmu_p4_code(unsigned row)
{
    return p4_events[row] & CODE_BITS;
}

/*
 * upmu uses tag bits 0 and 2 with even ESCRs alone, 1 and 3 with odd ones, so that one tag never has two meanings. An
 * event with tag bits of both kinds may use either ESCR.
 */
uint32_t upmu_p4_counters(const struct upmu_pmu *pmu, unsigned group, uint64_t word, int row)
{
    unsigned event = row < 0 ? 0 : p4_events[row], even = upmu_p4_even_escr(group, word);
    unsigned tags = (unsigned)(word >> 5) & 0xfu;
    uint32_t counters = 0;

    if ((event & FROM_MODEL_3) && pmu->model < 3)
        return 0;
    if (!(event & ODD_ONLY) && !((tags & 0xau) && !(tags & 5u)))
        counters = upmu_p4_side(group, 0);
    if (!(event & EVEN_ONLY) && !((event & EVEN_BEFORE_F27) && (pmu->quirks & UPMU_P4_EARLY_BUS)) &&
        !((tags & 5u) && !(tags & 0xau)) && even != UPMU_P4_SSU_ESCR0)
        counters |= upmu_p4_side(group, 1);
    return counters;
}

uint64_t upmu_p4_word(unsigned code, unsigned mask)
{
    return ((uint64_t)(code >> 6 & 7u) << 13 | UPMU_P4_CCCR_THREAD) << 32 | (uint64_t)(code & EVENT_SELECT) << 25 |
           (uint64_t)mask << 9;
}

enum upmu_p4_second upmu_p4_second(const struct upmu_event *event)
{
    unsigned first = UPMU_P4_PAYLOAD_GROUP(event->payload), second = UPMU_P4_PAYLOAD_SECOND(event->payload);

    if (second >= UPMU_P4_GROUPS)
        return UPMU_P4_ALONE;
    if (event->attributes & UPMU_ATTR_CASCADE)
        return UPMU_P4_INITIATOR;
    return upmu_p4_even_escr(first, event->config) == upmu_p4_even_escr(second, event->config1) ? UPMU_P4_PARTNER
                                                                                                : UPMU_P4_UPSTREAM;
}

#endif
