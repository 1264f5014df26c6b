/* SPDX-License-Identifier: MIT */
/*
 * Bit arithmetic that never calls the compiler's runtime library.
 */
#ifndef UPMU_CORE_BITS_H
#define UPMU_CORE_BITS_H

#include <stdbool.h>
#include <stdint.h>

#define UPMU_BIT32(n) (UINT32_C(1) << (n))
#define UPMU_BIT64(n) (UINT64_C(1) << (n))

/*
 * Return the number of ones in a mask. There are few of them, so a loop is shortest; gcc's __builtin_popcount calls
 * libgcc.
 */
static inline unsigned upmu_bits_count(uint32_t mask)
{
    unsigned count = 0;

    for (; mask; mask &= mask - 1u)
        count++;
    return count;
}

/* RISC-V counts zeros by an instruction only with Zbb. Without Zbb the compiler would call its library. */
#if defined __riscv && !defined __riscv_zbb
#define UPMU_BITS_BY_HAND 1
#else
#define UPMU_BITS_BY_HAND 0
#endif

#if UPMU_BITS_BY_HAND

/* Return the index of the only one in a mask. */
static inline unsigned upmu_bits_index(uint32_t one)
{
    return (unsigned)((one & 0xffff0000u) != 0) << 4 | (unsigned)((one & 0xff00ff00u) != 0) << 3 |
           (unsigned)((one & 0xf0f0f0f0u) != 0) << 2 | (unsigned)((one & 0xccccccccu) != 0) << 1 |
           (unsigned)((one & 0xaaaaaaaau) != 0);
}

#endif

/* Return the index of the lowest one in a mask that is not 0. */
static inline unsigned upmu_bits_lowest(uint32_t mask)
{
#if UPMU_BITS_BY_HAND
    return upmu_bits_index(mask & (0u - mask));
#else
    return (unsigned)__builtin_ctz(mask);
#endif
}

/* Return the index of the lowest one in a mask of 64 bits that is not 0. */
static inline unsigned upmu_bits_lowest64(uint64_t mask)
{
    return (uint32_t)mask ? upmu_bits_lowest((uint32_t)mask) : 32u + upmu_bits_lowest((uint32_t)(mask >> 32));
}

/* Return the index of the highest one in a mask that is not 0. */
static inline unsigned upmu_bits_highest(uint32_t mask)
{
#if UPMU_BITS_BY_HAND
    for (unsigned shift = 1; shift < 32; shift <<= 1)
        mask |= mask >> shift;
    return upmu_bits_index(mask ^ mask >> 1);
#else
    return 31u - (unsigned)__builtin_clz(mask);
#endif
}

/* Return a value with the low `width` bits set, width 1 to 64. */
static inline uint64_t upmu_bits_ones(unsigned width)
{
    return ~UINT64_C(0) >> ((64u - width) & 63u);
}

/* Return the low `width` bits of a value, width 1 to 64. */
static inline uint64_t upmu_bits_low(uint64_t value, unsigned width)
{
    unsigned above = (64u - width) & 63u;

    return value << above >> above;
}

/* Read, set and clear the bit of a row in a mask of rows, such as struct upmu_pmu.present. */
static inline bool upmu_rows_has(const uint32_t *rows, unsigned row)
{
    return (rows[row >> 5] >> (row & 31u)) & 1u;
}

static inline void upmu_rows_set(uint32_t *rows, unsigned row)
{
    rows[row >> 5] |= UPMU_BIT32(row & 31u);
}

static inline void upmu_rows_clear(uint32_t *rows, unsigned row)
{
    rows[row >> 5] &= ~UPMU_BIT32(row & 31u);
}

#endif
