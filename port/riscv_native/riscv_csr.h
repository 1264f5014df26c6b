/* SPDX-License-Identifier: MIT */
/*
 * CSRs by name, and by number. CSRRS and CSRRW name a register by an immediate operand, so each register has its own
 * instruction: a switch selects it. On RV32 a 64-bit register is two: both are read again if the upper half changed
 * meanwhile, and the lower half is 0 while the upper one is written.
 *
 * The upper half of mhpmevent comes with Sscofpmf (mhpmeventNh): without that, mhpmevent is a register of 32 bits.
 */
#ifndef UPMU_RISCV_CSR_H
#define UPMU_RISCV_CSR_H

#include <stdbool.h>
#include <stdint.h>

#define UPMU_RV_GET(name)                                                                                              \
    __extension__({                                                                                                    \
        unsigned long value_;                                                                                          \
        __asm__ volatile("csrr %0, " name : "=r"(value_) : : "memory");                                                \
        value_;                                                                                                        \
    })
#define UPMU_RV_PUT(name, value) __asm__ volatile("csrw " name ", %0" : : "r"((unsigned long)(value)) : "memory")
#define UPMU_RV_SET(name, bits) __asm__ volatile("csrs " name ", %0" : : "r"((unsigned long)(bits)) : "memory")
#define UPMU_RV_CLEAR(name, bits) __asm__ volatile("csrc " name ", %0" : : "r"((unsigned long)(bits)) : "memory")

#define UPMU_RV_READ(n, out) __asm__ volatile("csrr %0, %1" : "+r"(out) : "i"(n) : "memory")
#define UPMU_RV_WRITE(n, in) __asm__ volatile("csrw %0, %1" : : "i"(n), "r"(in) : "memory")
#define UPMU_RV_29(R, base)                                                                                            \
    R(base + 3) R(base + 4) R(base + 5) R(base + 6) R(base + 7) R(base + 8) R(base + 9) R(base + 10) R(base + 11)      \
    R(base + 12) R(base + 13) R(base + 14) R(base + 15) R(base + 16) R(base + 17) R(base + 18) R(base + 19)            \
    R(base + 20) R(base + 21) R(base + 22) R(base + 23) R(base + 24) R(base + 25) R(base + 26) R(base + 27)            \
    R(base + 28) R(base + 29) R(base + 30) R(base + 31)

#if __riscv_xlen == 32
/* number of the upper half: mhpmcounterNh, mhpmeventNh */
#define UPMU_RV_UPPER(n) ((n) >= 0xB00 ? (n) + 0x80 : (n) + 0x400)
#endif

static inline bool upmu_riscv_csr_read(uint32_t number, uint64_t *out)
{
    unsigned long low = 0;

    switch (number) {
#define UPMU_RV_CASE_READ(n)                                                                                           \
    case n:                                                                                                            \
        UPMU_RV_READ(n, low);                                                                                          \
        break;
        UPMU_RV_CASE_READ(0x306) UPMU_RV_CASE_READ(0x320) UPMU_RV_CASE_READ(0xDA0) UPMU_RV_CASE_READ(0xF11)
#if __riscv_xlen == 64
        UPMU_RV_CASE_READ(0xB00) UPMU_RV_CASE_READ(0xB02)
        UPMU_RV_29(UPMU_RV_CASE_READ, 0xB00) UPMU_RV_29(UPMU_RV_CASE_READ, 0x320)
#else
#define UPMU_RV_READ_TWO(n)                                                                                            \
    case n: {                                                                                                          \
        unsigned long high = 0, again = 0;                                                                             \
        do {                                                                                                           \
            UPMU_RV_READ(UPMU_RV_UPPER(n), high);                                                                      \
            UPMU_RV_READ(n, low);                                                                                      \
            UPMU_RV_READ(UPMU_RV_UPPER(n), again);                                                                     \
        } while (high != again);                                                                                       \
        *out = (uint64_t)high << 32 | low;                                                                             \
        return true;                                                                                                   \
    }
        UPMU_RV_READ_TWO(0xB00) UPMU_RV_READ_TWO(0xB02)
        UPMU_RV_29(UPMU_RV_READ_TWO, 0xB00) UPMU_RV_29(UPMU_RV_READ_TWO, 0x320)
#endif
    default:
        return false;
    }
    *out = low;
    return true;
}

static inline bool upmu_riscv_csr_write(uint32_t number, uint64_t value)
{
    switch (number) {
#define UPMU_RV_CASE_WRITE(n)                                                                                          \
    case n:                                                                                                            \
        UPMU_RV_WRITE(n, (unsigned long)value);                                                                        \
        return true;
        UPMU_RV_CASE_WRITE(0x306) UPMU_RV_CASE_WRITE(0x320)
#if __riscv_xlen == 64
        UPMU_RV_CASE_WRITE(0xB00) UPMU_RV_CASE_WRITE(0xB02)
        UPMU_RV_29(UPMU_RV_CASE_WRITE, 0xB00) UPMU_RV_29(UPMU_RV_CASE_WRITE, 0x320)
#else
#define UPMU_RV_WRITE_TWO(n)                                                                                           \
    case n:                                                                                                            \
        UPMU_RV_WRITE(n, 0ul);                                                                                         \
        UPMU_RV_WRITE(UPMU_RV_UPPER(n), (unsigned long)(value >> 32));                                                 \
        UPMU_RV_WRITE(n, (unsigned long)value);                                                                        \
        return true;
        UPMU_RV_WRITE_TWO(0xB00) UPMU_RV_WRITE_TWO(0xB02)
        UPMU_RV_29(UPMU_RV_WRITE_TWO, 0xB00) UPMU_RV_29(UPMU_RV_WRITE_TWO, 0x320)
#endif
    default:
        return false;
    }
}

#if __riscv_xlen == 32
/*
 * Access an mhpmevent of 32 bits, which has no upper half. False: the number is another register, or the value needs an
 * upper half.
 */
static inline bool upmu_riscv_csr_read_narrow_event(uint32_t number, uint64_t *out)
{
    unsigned long low = 0;

    switch (number) {
        UPMU_RV_29(UPMU_RV_CASE_READ, 0x320)
    default:
        return false;
    }
    *out = low;
    return true;
}

static inline bool upmu_riscv_csr_write_narrow_event(uint32_t number, uint64_t value)
{
    if (value >> 32)
        return false;
    switch (number) {
        UPMU_RV_29(UPMU_RV_CASE_WRITE, 0x320)
    default:
        return false;
    }
}
#endif

#endif
