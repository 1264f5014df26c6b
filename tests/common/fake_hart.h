/* SPDX-License-Identifier: MIT */
/*
 * The counters of a RISC-V hart, and memory of S-mode, for tests of abi/sbi. Written from the specifications: RISC-V
 * privileged architecture 1.12, 3.1.10 to 3.1.12 and 4.1.5, and Sscofpmf 1.0. No driver was looked at.
 *
 * A mhpmevent counts the event whose number is in its bits 55:0. Registers that firmware must leave alone are noted in
 * hart.wrong: counters that are not S-mode's, an event that is changed while its counter runs.
 *
 * A test whose harts are threads defines HART_STORAGE as _Thread_local, and brings its own port: the address of `hart`
 * is no constant then.
 */
#ifndef UPMU_TESTS_COMMON_FAKE_HART_H
#define UPMU_TESTS_COMMON_FAKE_HART_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <upmu/port.h>

#define HART_OF (UINT64_C(1) << 63)
#define HART_EVENT (~UINT64_C(0) >> 8)
#define HART_CYCLES 0x1001u /* events that mcycle and minstret count */
#define HART_INSTRUCTIONS 0x1002u
#define HART_RAM UINT64_C(0x80000000)
#define HART_RAM_SIZE (20u * 4096u)

enum hart_mode { HART_U, HART_S, HART_M, HART_VU, HART_VS };

#ifndef HART_STORAGE
#define HART_STORAGE
#define HART_IS_ALONE 1
#endif

static HART_STORAGE struct hart {
    uint32_t exist; /* counters: bit n is mhpmcounter n, bits 0 and 2 are mcycle and minstret */
    uint32_t lent;  /* those of them that are S-mode's */
    bool sscofpmf, hypervisor;
    unsigned width;
    uint32_t inhibit, counteren;
    uint64_t event[32], counter[32];
    bool lcofi; /* mip.LCOFIP */
    unsigned reads, writes, copies;
    unsigned fails; /* the access with this number from now on fails; 0: none does */
    bool denied;    /* S-mode may not access its memory */
    bool flips;     /* S-mode changes each byte as soon as it was read */
    const char *wrong;
    uint8_t ram[HART_RAM_SIZE];
} hart;

static uint64_t hart_ones(unsigned n)
{
    return n < 3 ? ~UINT64_C(0) : ~UINT64_C(0) >> (64 - hart.width);
}

/* Bit n of mhpmevent that excludes a mode; 0: this hart has no such bit. */
static uint64_t hart_excludes(enum hart_mode mode)
{
    static const uint8_t bit[] = {[HART_U] = 60, [HART_S] = 61, [HART_M] = 62, [HART_VU] = 58, [HART_VS] = 59};

    if (!hart.sscofpmf || (!hart.hypervisor && (mode == HART_VU || mode == HART_VS)))
        return 0;
    return UINT64_C(1) << bit[mode];
}

static uint64_t hart_event_bits(void)
{
    uint64_t bits = HART_EVENT;

    for (unsigned mode = HART_U; mode <= HART_VS; mode++)
        bits |= hart_excludes((enum hart_mode)mode);
    return hart.sscofpmf ? bits | HART_OF : bits;
}

static uint32_t hart_scountovf(void)
{
    uint32_t flags = 0;

    for (unsigned n = 3; n < 32; n++)
        flags |= (uint32_t)(hart.event[n] >> 63) << n;
    return flags;
}

/* The hart has so many events of a number, in a mode. */
static void hart_run(enum hart_mode mode, uint64_t event, uint64_t count)
{
    for (unsigned n = 0; n < 32; n++) {
        uint64_t counts = n == 0 ? HART_CYCLES : n == 2 ? HART_INSTRUCTIONS : hart.event[n] & HART_EVENT;
        uint64_t before = hart.counter[n];

        if (n == 1 || !(hart.exist >> n & 1u) || hart.inhibit >> n & 1u || counts != event ||
            (n >= 3 && hart.event[n] & hart_excludes(mode)))
            continue;
        hart.counter[n] = (before + count) & hart_ones(n);
        if (n >= 3 && hart.sscofpmf && count > hart_ones(n) - before) {
            hart.lcofi |= !(hart.event[n] & HART_OF);
            hart.event[n] |= HART_OF;
        }
    }
}

static bool hart_access_fails(void)
{
    return hart.fails && !--hart.fails;
}

/* A CSR as M-mode reads it. */
static bool hart_read(void *context, uint32_t number, uint64_t *out_value)
{
    unsigned n = number & 31u;

    (void)context;
    hart.reads++;
    if (hart_access_fails())
        return false;
    if (number == 0x306)
        *out_value = hart.counteren;
    else if (number == 0x320)
        *out_value = hart.inhibit;
    else if (number >= 0x323 && number < 0x340)
        *out_value = hart.event[n];
    else if (number >= 0xb00 && number < 0xb20 && n != 1)
        *out_value = hart.counter[n];
    else if (number == 0xda0 && hart.sscofpmf)
        *out_value = hart_scountovf();
    else
        return false;
    return true;
}

static void hart_blame(const char *what, uint32_t counters)
{
    if (counters & ~hart.lent)
        hart.wrong = what;
}

static bool hart_write(void *context, uint32_t number, uint64_t value)
{
    unsigned n = number & 31u;
    uint32_t bit = UINT32_C(1) << n;

    (void)context;
    hart.writes++;
    if (hart_access_fails())
        return false;
    if (number == 0x306) {
        hart_blame("the right to read another's counter was changed", hart.counteren ^ (uint32_t)value);
        hart.counteren = (uint32_t)value;
    } else if (number == 0x320) {
        value &= hart.exist; /* bit 1, and counters that are not there, read 0 */
        hart_blame("the gate of another's counter was changed", hart.inhibit ^ (uint32_t)value);
        hart.inhibit = (uint32_t)value;
    } else if (number >= 0x323 && number < 0x340) {
        hart_blame("the event of another's counter was changed", bit);
        if (!(hart.inhibit & bit))
            hart.wrong = "the event of a running counter was changed";
        if (value & ~hart_event_bits())
            hart.wrong = "an event has bits that this hart has not";
        hart.event[n] = hart.exist & bit ? value & hart_event_bits() : 0;
    } else if (number >= 0xb00 && number < 0xb20 && n != 1) {
        hart_blame("the value of another's counter was changed", bit);
        if (!(hart.inhibit & bit))
            hart.wrong = "the value of a running counter was changed";
        hart.counter[n] = hart.exist & bit ? value & hart_ones(n) : 0;
    } else {
        return false;
    }
    return true;
}

/* A CSR as S-mode reads it; false: it traps. */
static bool hart_read_in_s_mode(uint32_t number, uint64_t *out_value)
{
    unsigned n = number & 31u;

    if (number == 0xda0 && hart.sscofpmf)
        *out_value = hart_scountovf() & hart.counteren;
    else if (number >= 0xc00 && number < 0xc20 && hart.counteren >> n & 1u)
        *out_value = hart.counter[n];
    else
        return false;
    return true;
}

#ifdef HART_IS_ALONE

static bool hart_is_ram(uint64_t address, uint64_t size)
{
    return !hart.denied && address >= HART_RAM && size <= HART_RAM_SIZE && address - HART_RAM <= HART_RAM_SIZE - size;
}

/* The hook of abi/sbi. */
static bool hart_copy(void *context, uint64_t address, void *bytes, uint32_t size, bool write)
{
    uint8_t *at;

    if (context != &hart)
        hart.wrong = "a hook got another context";
    hart.copies++;
    if (!hart_is_ram(address, size))
        return false;
    at = hart.ram + (address - HART_RAM);
    if (bytes == NULL)
        return true;
    if (write)
        memcpy(at, bytes, size);
    else
        memcpy(bytes, at, size);
    for (uint32_t i = 0; hart.flips && !write && i < size; i++)
        at[i] ^= 0xff;
    return true;
}

static const struct upmu_port hart_port = {.context = &hart, .rdmsr = hart_read, .wrmsr = hart_write};
#endif

/* After a reset the counters hold anything; firmware of the machine uses those that are not lent, and runs them. */
static void hart_reset(uint32_t exist, uint32_t lent, unsigned width, bool sscofpmf, bool hypervisor)
{
    memset(&hart, 0, sizeof hart);
    hart.exist = exist;
    hart.lent = lent;
    hart.width = width;
    hart.sscofpmf = sscofpmf;
    hart.hypervisor = hypervisor;
    hart.counteren = 2;
    hart.inhibit = lent & exist & 0xaaaaaaaa;
    for (unsigned n = 0; n < 32; n++)
        if (exist >> n & 1u)
            hart.counter[n] = UINT64_C(0x123456789abcdef) * (n + 1) & hart_ones(n);
}

#endif
