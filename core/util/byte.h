/* SPDX-License-Identifier: MIT */
/*
 * Atomic changes of a byte. The base of RISC-V's atomic instructions has none for bytes, and for bytes some compilers
 * call their library. So there the word that contains the byte is changed, and its other bytes keep their values.
 */
#ifndef UPMU_CORE_BYTE_H
#define UPMU_CORE_BYTE_H

#include <stdint.h>

/*
 * upmu_byte_or() sets the bits `bits` of a byte; upmu_byte_and() clears the bits that are 0 in `bits`.  Both return the
 * byte's former value.
 */
#ifdef __riscv

typedef uint32_t __attribute__((may_alias)) upmu_word_of_bytes;

/*
 * Return a word that has `bits` in the place where the byte stands in its word, and `beside` in its three other bytes.
 */
static inline uint32_t upmu_byte_in_word(const volatile uint8_t *byte, uint8_t bits, uint8_t beside)
{
    return beside * UINT32_C(0x01010101) ^ (uint32_t)(uint8_t)(bits ^ beside) << 8u * ((uintptr_t)byte & 3u);
}

static inline volatile upmu_word_of_bytes *upmu_byte_word(volatile uint8_t *byte)
{
    return (volatile upmu_word_of_bytes *)((uintptr_t)byte & ~(uintptr_t)3u);
}

static inline uint8_t upmu_byte_or(volatile uint8_t *byte, uint8_t bits)
{
    uint32_t before =
        __atomic_fetch_or(upmu_byte_word(byte), upmu_byte_in_word(byte, bits, 0), __ATOMIC_ACQ_REL);

    return (uint8_t)(before >> 8u * ((uintptr_t)byte & 3u));
}

static inline uint8_t upmu_byte_and(volatile uint8_t *byte, uint8_t bits)
{
    uint32_t before =
        __atomic_fetch_and(upmu_byte_word(byte), upmu_byte_in_word(byte, bits, 0xff), __ATOMIC_ACQ_REL);

    return (uint8_t)(before >> 8u * ((uintptr_t)byte & 3u));
}

#else

static inline uint8_t upmu_byte_or(volatile uint8_t *byte, uint8_t bits)
{
    return __atomic_fetch_or(byte, bits, __ATOMIC_ACQ_REL);
}

static inline uint8_t upmu_byte_and(volatile uint8_t *byte, uint8_t bits)
{
    return __atomic_fetch_and(byte, bits, __ATOMIC_ACQ_REL);
}

#endif

#endif
