/* SPDX-License-Identifier: MIT */
/*
 * A hypervisor in HS-mode with one guest in VS-mode (vs_guest_riscv.c), whose PMU is that of abi/sbi: each call and
 * each read of a counter traps, and an overflow leaves the guest by the hart's interrupt. The counters are those that
 * the port gets from the firmware.
 *
 * The guest's memory is not translated (vsatp and hgatp are 0). The interrupt of an overflow is delivered to the guest
 * by changing its registers as the CPU does at a trap, because bit 13 of hvip is no interrupt of QEMU 7.2's. QEMU 7.2
 * counts in each mode, whatever an event says, so a guest counts the few instructions between gates and guest, too.
 * The difference of two runs is exact.
 *
 * Sources: RISC-V privileged architecture 1.12, hypervisor extension (tables of hstatus, of the causes of traps, and of
 * the CSRs of VS-mode).
 */
#include <stdio.h>
#include <string.h>
#include "abi/sbi/sbi.h"
#include "port/riscv_native/riscv_csr.h"
#include "tests/foreign/foreign_machine.h"
#include "tests/foreign/vs_guest_riscv.h"

#define HSTATUS "0x600"
#define HEDELEG "0x602"
#define HIDELEG "0x603"
#define HCOUNTEREN "0x606"
#define HGATP "0x680"
#define VSSTATUS "0x200"
#define VSTVEC "0x205"
#define VSEPC "0x241"
#define VSCAUSE "0x242"
#define VSTVAL "0x243"
#define VSATP "0x280"
#define HSTATUS_SPV (1ul << 7)
#define HSTATUS_SPVP (1ul << 8)
#define STATUS_SIE (1ul << 1)
#define STATUS_SPIE (1ul << 5)
#define STATUS_SPP (1ul << 8)
#define COUNTEREN_TM 2ul
#define TOP (1ul << (__riscv_xlen - 1))
#define OVERFLOW_INTERRUPT 13u

enum { ILLEGAL = 2, GUEST_CALL = 10, VIRTUAL_INSTRUCTION = 22 };

#define RESET 0x53525354ul
#define CSRRS_ZERO 0x2073u /* csrrs rd, csr, zero without its fields */
#define INSTRUCTIONS 2u
#define SLACK 20000u /* instructions of the calls and reads in a count */
#define OVERFLOW_AT 20000ul
#define EXITS 100u

/* Registers of the guest; the assembly knows the order. */
struct guest_cpu {
    unsigned long x[32];
    unsigned long host_stack;
    unsigned long pc;
};

void hypervisor_run(struct guest_cpu *cpu);
void hypervisor_exit(void);

#if __riscv_xlen == 64
#define STORE "sd "
#define LOAD "ld "
#define WORD "8"
#else
#define STORE "sw "
#define LOAD "lw "
#define WORD "4"
#endif

/* The hypervisor's registers that a function keeps are on its stack, the guest's in *a0, which sscratch holds. */
__asm__(".macro HV_HOST op\n.set at, 0\n.irp reg, ra, gp, tp, s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11\n"
        "\\op \\reg, at(sp)\n.set at, at + " WORD "\n.endr\n.endm\n"
        ".macro HV_GUEST op\n.irp n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22\n"
        "\\op x\\n, \\n * " WORD "(a0)\n.endr\n"
        ".irp n, 23, 24, 25, 26, 27, 28, 29, 30, 31\n\\op x\\n, \\n * " WORD "(a0)\n.endr\n.endm\n"
        ".text\n.balign 4\n.global hypervisor_run\nhypervisor_run:\naddi sp, sp, -16 * " WORD "\nHV_HOST " STORE
        "\n" STORE "sp, 32 * " WORD "(a0)\ncsrw sscratch, a0\nHV_GUEST " LOAD "\n" LOAD "a0, 10 * " WORD "(a0)\nsret\n"
        ".balign 4\n.global hypervisor_exit\nhypervisor_exit:\ncsrrw a0, sscratch, a0\nHV_GUEST " STORE "\n"
        "csrr t0, sscratch\n" STORE "t0, 10 * " WORD "(a0)\n" LOAD "sp, 32 * " WORD "(a0)\nHV_HOST " LOAD "\n"
        "addi sp, sp, 16 * " WORD "\nret\n");

static struct upmu_sbi_pmu vcpu;
static struct guest_cpu cpu;
static bool is_pending; /* an overflow of which the guest has not been told */
static uint64_t work;   /* turns of a loop of the hypervisor at each exit */
static unsigned exits, overflows_told;
static unsigned long top; /* the upper bits of a value that is above half, as QEMU wants it */

static void tell(const char *test, bool good)
{
    if (!good)
        printf("    counted %lu, %lu errors, %lu interrupts, flags %lx, %lu illegal, %lu strange, %u exits\n",
               vs_guest.counted, vs_guest.errors, vs_guest.interrupts, vs_guest.flags, vs_guest.illegal,
               vs_guest.strange, exits);
    printf("[%s] %s\n", good ? "       OK " : "  FAILED  ", test);
}

/* The guest's memory that a call may name is its page for snapshots. */
static bool copy_memory(void *context, uint64_t address, void *bytes, uint32_t size, bool write)
{
    uintptr_t page = (uintptr_t)vs_page;
    unsigned char *at = (unsigned char *)page + (address - page);

    (void)context;
    if (address < page || address - page > sizeof vs_page || size > sizeof vs_page - (address - page))
        return false;
    if (bytes)
        memcpy(write ? at : bytes, write ? bytes : at, size);
    return true;
}

/* ---- A guest ---- */

/* Have the guest take a trap, as if the CPU had delivered it to VS-mode. */
static void inject_trap(unsigned long cause)
{
    unsigned long status = UPMU_RV_GET(VSSTATUS), enabled = status & STATUS_SIE;

    UPMU_RV_PUT(VSEPC, cpu.pc);
    UPMU_RV_PUT(VSCAUSE, cause);
    UPMU_RV_PUT(VSTVAL, 0);
    UPMU_RV_PUT(VSSTATUS, (status & ~(STATUS_SIE | STATUS_SPIE)) | STATUS_SPP | (enabled ? STATUS_SPIE : 0));
    cpu.pc = UPMU_RV_GET(VSTVEC) & ~3ul;
}

/* Run the guest to its next exit. Return the cause; 0: the PMU failed, or the trap is not a guest's. */
static unsigned long run_to_exit(void)
{
    unsigned long vector = UPMU_RV_GET("stvec"), cause;
    bool good, overflow = false;

    if (is_pending && UPMU_RV_GET(VSSTATUS) & STATUS_SIE) {
        is_pending = false;
        inject_trap(TOP | OVERFLOW_INTERRUPT);
    }
    UPMU_RV_PUT("sepc", cpu.pc);
    UPMU_RV_SET("sstatus", STATUS_SPP);
    UPMU_RV_SET(HSTATUS, HSTATUS_SPV | HSTATUS_SPVP);
    UPMU_RV_PUT("stvec", (unsigned long)hypervisor_exit);
    UPMU_RV_SET("sie", 1ul << OVERFLOW_INTERRUPT);
    good = upmu_sbi_pmu_enter(&vcpu) == UPMU_OK;
    hypervisor_run(&cpu);
    good &= upmu_sbi_pmu_exit(&vcpu, &overflow) == UPMU_OK;
    good &= (UPMU_RV_GET(HSTATUS) & HSTATUS_SPV) != 0; /* the trap came from the guest */
    cause = UPMU_RV_GET("scause");
    cpu.pc = UPMU_RV_GET("sepc");
    UPMU_RV_CLEAR("sie", 1ul << OVERFLOW_INTERRUPT);
    UPMU_RV_CLEAR("sip", 1ul << OVERFLOW_INTERRUPT);
    UPMU_RV_PUT("stvec", vector);
    is_pending |= overflow;
    overflows_told += overflow;
    exits++;
    machine_loop(work + 1);
    return good ? cause : 0;
}

/* The guest's instruction reads a CSR, or is illegal for it. */
static void read_csr(void)
{
    const uint16_t *at = (const uint16_t *)cpu.pc;
    uint32_t instruction = at[0] | (uint32_t)at[1] << 16;
    unsigned long value;

    if ((instruction & 0xff07fu) != CSRRS_ZERO || !upmu_sbi_pmu_csr(&vcpu, instruction >> 20, &value)) {
        inject_trap(ILLEGAL);
        return;
    }
    cpu.x[instruction >> 7 & 31u] = value;
    cpu.pc += 4;
}

/* Run the guest from its start to its end. False: it did not come to its end. */
static bool run_guest(enum vs_task task, unsigned long turns, unsigned long start)
{
    memset((void *)(uintptr_t)&vs_guest, 0, sizeof vs_guest);
    vs_guest.task = task;
    vs_guest.turns = turns;
    vs_guest.start = start;
    memset(&cpu, 0, sizeof cpu);
    cpu.pc = (unsigned long)vs_guest_start;
    UPMU_RV_PUT(VSSTATUS, 0);
    is_pending = false;
    overflows_told = 0;
    for (exits = 0; exits < EXITS;) {
        unsigned long cause = run_to_exit();

        if (cause == GUEST_CALL && cpu.x[17] == RESET)
            return true;
        if (cause == GUEST_CALL && cpu.x[17] == UPMU_SBI_PMU_EXTENSION) {
            struct upmu_sbi_answer answer = upmu_sbi_pmu_call(&vcpu, cpu.x[16], &cpu.x[10]);

            cpu.x[10] = (unsigned long)answer.error;
            cpu.x[11] = answer.value;
            cpu.pc += 4;
        } else if (cause == VIRTUAL_INSTRUCTION || cause == ILLEGAL) {
            read_csr();
        } else if (cause != (TOP | OVERFLOW_INTERRUPT)) {
            printf("    exit %u: cause %lx at %lx\n", exits, cause, cpu.pc);
            return false;
        }
    }
    return false;
}

/* ---- Tests ---- */

static bool is_fine(void)
{
    return !vs_guest.errors && !vs_guest.strange && !vs_guest.illegal;
}

static void a_guest_in_vs_mode_counts_its_loop_exactly(void)
{
    unsigned long one = 0;
    bool good = run_guest(VS_COUNT, 1000, top) && is_fine();

    one = vs_guest.counted;
    good &= run_guest(VS_COUNT, 51000, top) && is_fine();
    good &= one >= 2000 && one < SLACK && vs_guest.counted - one == 100000 && exits >= 6;
    tell("a_guest_in_vs_mode_counts_its_loop_exactly", good);
}

/* At each exit the hypervisor executes more than the guest does in all. */
static void what_the_hypervisor_executes_is_no_guests(void)
{
    unsigned long alone;
    bool good = run_guest(VS_COUNT, 1000, top);

    alone = vs_guest.counted;
    work = 50000;
    good &= run_guest(VS_COUNT, 1000, top) && is_fine() && vs_guest.counted == alone;
    work = 0;
    tell("what_the_hypervisor_executes_is_no_guests", good);
}

/* One interrupt in each run, with the flag of this counter, and no event lost. */
static void an_overflow_interrupts_a_guest_in_vs_mode(void)
{
    unsigned long one;
    bool good = run_guest(VS_OVERFLOW, 40000, 0 - OVERFLOW_AT) && is_fine();

    one = vs_guest.counted;
    good &= vs_guest.interrupts == 1 && vs_guest.flags == 1 && overflows_told == 1;
    good &= one >= 80000 && one < 80000 + SLACK;
    good &= run_guest(VS_OVERFLOW, 90000, 0 - OVERFLOW_AT) && is_fine();
    good &= vs_guest.interrupts == 1 && overflows_told == 1 && vs_guest.counted - one == 100000;
    /* A loop that ends before. */
    good &= run_guest(VS_OVERFLOW, 1000, 0 - 2 * OVERFLOW_AT) && is_fine();
    good &= !vs_guest.interrupts && !overflows_told;
    tell("an_overflow_interrupts_a_guest_in_vs_mode", good);
}

static void a_counter_that_a_guest_lacks_is_illegal(void)
{
    bool good = run_guest(VS_ABSENT, 0, 0);

    tell("a_counter_that_a_guest_lacks_is_illegal", good && vs_guest.illegal == 1 && !vs_guest.strange);
}

void hypervisor_tests(const struct upmu_port *port, unsigned width, bool overflows)
{
    static const struct upmu_sbi_event events[] = {
        {.first = INSTRUCTIONS, .last = INSTRUCTIONS, .counters = 1u << VS_COUNTER, .select = INSTRUCTIONS}};
    static struct upmu_sbi_config config = {
        .copy = copy_memory, .events = events, .event_count = 1, .counters = 1u << VS_COUNTER, .guest = true};

    config.port = port;
    config.width = (uint8_t)width;
    config.sscofpmf = config.hypervisor = overflows;
    top = __riscv_xlen == 32 ? 0 : 3ul << (__riscv_xlen - 2);
    UPMU_RV_PUT(HEDELEG, 0);
    UPMU_RV_PUT(HIDELEG, 0);
    UPMU_RV_PUT(HCOUNTEREN, COUNTEREN_TM);
    UPMU_RV_PUT(HGATP, 0);
    UPMU_RV_PUT(VSATP, 0);
    if (upmu_sbi_pmu_init(&vcpu, &config) != UPMU_OK || upmu_sbi_pmu_load(&vcpu) != UPMU_OK) {
        tell("a_guest_in_vs_mode_has_a_pmu", false);
        return;
    }
    a_guest_in_vs_mode_counts_its_loop_exactly();
    what_the_hypervisor_executes_is_no_guests();
    a_counter_that_a_guest_lacks_is_illegal();
    if (overflows)
        an_overflow_interrupts_a_guest_in_vs_mode();
    if (upmu_sbi_pmu_put(&vcpu) != UPMU_OK)
        tell("a_guest_in_vs_mode_goes", false);
}
