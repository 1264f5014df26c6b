/* SPDX-License-Identifier: MIT */
/*
 * The port for S-mode before a firmware that writes down what it is asked, in M-mode: what the specification says of
 * each call, and what no firmware of QEMU's does.
 *
 * Numbers here are those of the RISC-V SBI specification 3.0, chapter 11, and of OpenSBI's sbi_ecall_interface.h.
 */
#include <stdio.h>
#include <string.h>
#include "port/riscv_sbi/riscv_sbi.h"
#include "tests/foreign/foreign_machine.h"

#define CALLS 32u
#define NO_MACHINE_MODE (UINT64_C(1) << 62)
#define NO_SUPERVISOR_MODE (UINT64_C(1) << 61)
#define NO_GUEST_SUPERVISOR_MODE (UINT64_C(1) << 59)
#define NO_GUEST_USER_MODE (UINT64_C(1) << 58)
#define RAW 0x20000u
#define RAW_V2 0x30000u

/* a0 to a7 of each call. */
static unsigned long calls[CALLS][8];
static unsigned made;
static bool gives_cycle;     /* the firmware has the counter of cycles alone, which others read */
static bool has_overflows;   /* this machine has */
static unsigned leaves_flag; /* so many starts leave the flag of an overflow */

void firmware(unsigned long *a);
void firmware_entry(void);

#if __riscv_xlen == 64
#define STORE "sd "
#define LOAD "ld "
#define AT(n) #n "*8(sp)\n"
#else
#define STORE "sw "
#define LOAD "lw "
#define AT(n) #n "*4(sp)\n"
#endif
#define ALL(OP)                                                                                                        \
    OP "a0," AT(0) OP "a1," AT(1) OP "a2," AT(2) OP "a3," AT(3) OP "a4," AT(4) OP "a5," AT(5) OP "a6," AT(6)           \
        OP "a7," AT(7) OP "t0," AT(8) OP "t1," AT(9) OP "t2," AT(10) OP "t3," AT(11) OP "t4," AT(12) OP "t5," AT(13)   \
            OP "t6," AT(14) OP "ra," AT(15)
#define RETURN "csrr t0, mepc\naddi t0, t0, 4\ncsrw mepc, t0\n" ALL(LOAD) "addi sp, sp, 128\nmret\n"
__asm__(".text\n.balign 4\n.global firmware_entry\nfirmware_entry:\n"
        "addi sp, sp, -128\n" ALL(STORE) "mv a0, sp\ncall firmware\n" RETURN);

/* mhpmevent3's. */
static void put_flag(bool set)
{
    unsigned long bit = 1ul << (__riscv_xlen - 1);

#if __riscv_xlen == 64
#define FLAG_OF "0x323"
#else
#define FLAG_OF "0x723"
#endif
    if (set)
        __asm__ volatile("csrs " FLAG_OF ", %0" : : "r"(bit) : "memory");
    else
        __asm__ volatile("csrc " FLAG_OF ", %0" : : "r"(bit) : "memory");
}

/* Five counters: cycle, time, instret, hpmcounter3 and hpmcounter4. */
void firmware(unsigned long *a)
{
    unsigned long function = a[6], first = a[0];

    if (made < CALLS)
        memcpy(calls[made++], a, sizeof calls[0]);
    a[0] = 0;
    a[1] = 5;
    if (a[7] != 0x504d55)
        return;
    if (function == 1)
        a[1] = (0xc00 + first) | 47ul << 12;
    else if (function == 2)
        a[1] = gives_cycle ? 0 : 3;
    else if (function == 3 && has_overflows)
        put_flag(leaves_flag && leaves_flag--);
}

static const unsigned long *last(unsigned long function)
{
    for (unsigned i = made; i--;)
        if (calls[i][7] == 0x504d55 && calls[i][6] == function)
            return calls[i];
    return calls[0];
}

static bool has_value(const unsigned long *low, uint64_t value)
{
    return low[0] == (unsigned long)value && (__riscv_xlen == 64 || low[1] == (unsigned long)(value >> 16 >> 16));
}

static void tell(const char *test, bool good)
{
    printf("[%s] %s\n", good ? "       OK " : "  FAILED  ", test);
}

static struct upmu_riscv_sbi sbi;
static struct upmu_port port;

static bool put(uint32_t number, uint64_t value)
{
    return port.wrmsr(port.context, number, value);
}

static bool open_port(bool numbers)
{
    memset(&sbi, 0, sizeof sbi);
    memset(&port, 0, sizeof port);
    sbi.identity.sscofpmf = has_overflows;
    sbi.identity.sbi_events = numbers;
    made = 0;
    return upmu_riscv_sbi_port(&sbi, &port) && sbi.identity.counters == 0x18 && sbi.identity.width == 48;
}

static void a_call_says_what_the_specification_says(void)
{
    bool good = open_port(true) && calls[0][7] == 0x10 && calls[0][6] == 3 && calls[0][0] == 0x504d55;
    const unsigned long *call;

    good &= put(0x323, 2 | NO_MACHINE_MODE | NO_SUPERVISOR_MODE);
    call = last(2);
    good &= call[0] == 0 && call[1] == 1ul << 3 && call[2] == (0x40 | 0x80) && call[3] == 2 && has_value(call + 4, 0);
    good &= put(0xb03, UINT64_C(0x812345678912)) && put(0x320, ~UINT64_C(8));
    call = last(3);
    good &= call[0] == 0 && call[1] == 1ul << 3 && call[2] == 1 && has_value(call + 3, UINT64_C(0x812345678912));
    good &= put(0x320, ~UINT64_C(0));
    call = last(4);
    good &= call[0] == 0 && call[1] == 1ul << 3 && call[2] == 0;
    good &= put(0x323, 1) && put(0x323, 1 | NO_GUEST_SUPERVISOR_MODE) && last(2)[2] == 0x10;
    good &= put(0x323, 1 | NO_GUEST_USER_MODE) && last(2)[2] == 8 && put(0x323, 1);
    tell("a_call_says_what_the_specification_says", good && last(4)[2] == 1);
}

/* Of the older kind of raw event the firmware takes 48 bits, of the newer one 56. */
static void a_raw_event_keeps_all_its_bits(void)
{
    const uint64_t wide = UINT64_C(0x81000000000005), narrow = UINT64_C(0xffff00000005);
    bool good = open_port(false);

    good &= put(0x323, narrow) && last(2)[3] == RAW && has_value(last(2) + 4, narrow);
    good &= put(0x323, wide) && last(2)[3] == RAW_V2 && has_value(last(2) + 4, wide);
    tell("a_raw_event_keeps_all_its_bits", good);
}

/* The firmware has put the modes into it that were asked for: it is asked once more, for all. */
static void a_counter_of_others_is_refused_and_keeps_its_modes(void)
{
    bool good;

    gives_cycle = true;
    good = open_port(true);
    sbi.identity.sscofpmf = true;
    good &= !put(0x323, 1 | NO_SUPERVISOR_MODE) && last(2)[2] == 0 && last(2)[3] == 1;
    gives_cycle = false;
    tell("a_counter_of_others_is_refused_and_keeps_its_modes", good);
}

/* Another counter's overflow came between: the firmware left this one's flag, which keeps it from interrupting. */
static void a_start_that_left_a_flag_is_made_again(void)
{
    static const unsigned long wanted[] = {3, 4, 3};
    bool good = open_port(true) && put(0x323, 1) && put(0xb03, 0);

    leaves_flag = 1;
    made = 0;
    good &= put(0x320, ~UINT64_C(8)) && made == 3;
    for (unsigned i = 0; good && i < 3; i++)
        good &= calls[i][7] == 0x504d55 && calls[i][6] == wanted[i] && calls[i][1] == 1ul << 3;
    good &= calls[1][2] == 0 && put(0x320, ~UINT64_C(0));
    /* Not for ever: it may be a fault of the hardware. */
    leaves_flag = 100;
    made = 0;
    good &= put(0x320, ~UINT64_C(8)) && made < 8;
    leaves_flag = 0;
    put_flag(false);
    tell("a_start_that_left_a_flag_is_made_again", good);
}

void firmware_tests(bool overflows)
{
    unsigned long before;

    has_overflows = overflows;
    __asm__ volatile("csrrw %0, mtvec, %1" : "=r"(before) : "r"(firmware_entry) : "memory");
    a_call_says_what_the_specification_says();
    a_raw_event_keeps_all_its_bits();
    a_counter_of_others_is_refused_and_keeps_its_modes();
    if (overflows)
        a_start_that_left_a_flag_is_made_again();
    __asm__ volatile("csrw mtvec, %0" : : "r"(before) : "memory");
}
