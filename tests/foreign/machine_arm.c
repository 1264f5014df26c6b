/* SPDX-License-Identifier: MIT */
/*
 * QEMU's "virt" with a CPU of AArch32: interrupts by its GICv2, in SVC mode or in Hyp mode.
 */
#include "port/arm32_native/arm32_cp15.h"
#include "port/arm32_native/arm32_native.h"
#include "tests/foreign/foreign_machine.h"

struct saved {
    uint32_t r[7], ip, mode;
};

#define WAS_USER(mode) (((mode)&31u) == 16)
#define READ_COUNTER(value) upmu_a32_read(UPMU_A32_COUNTERS, value)
#define INTERRUPTS_ON "cpsie i"
#include "tests/foreign/machine_arm.h"

#define PMCR UPMU_A32_NUMBER(3, 9, 12, 0)
#define PMCNTENSET UPMU_A32_NUMBER(3, 9, 12, 1)
#define PMCNTENCLR UPMU_A32_NUMBER(3, 9, 12, 2)
#define PMOVSR UPMU_A32_NUMBER(3, 9, 12, 3)
#define PMCCNTR UPMU_A32_NUMBER(3, 9, 13, 0)
#define PMCEID0 UPMU_A32_NUMBER(3, 9, 12, 6)
#define PMCEID1 UPMU_A32_NUMBER(3, 9, 12, 7)
#define PMINTENSET UPMU_A32_NUMBER(0, 9, 14, 1)
#define PMINTENCLR UPMU_A32_NUMBER(0, 9, 14, 2)
#define PMCCFILTR (UPMU_A32_TYPERS + 31u)
#define SCTLR_TE (1u << 30)
#define PMSELR_FOUND 3u /* what other software left there */
/* SW_INCR, INST_RETIRED, CPU_CYCLES. */
#define EVENTS_OF_QEMU (1u | 1u << 0x08 | 1u << 0x11)

static bool hides_events; /* there is no PMCEID */

/* Two tables of vectors, for SVC mode and for Hyp mode.  An instruction that is not defined is left out. */
#define VECTORS(name, undefined, interrupt)                                                                            \
    ".balign 32\n" name ":\n1: b 1b\n" undefined "\n2: b 2b\n3: b 3b\n4: b 4b\n5: b 5b\nb " interrupt "\n6: b 6b\n"
#define CALL "mov r0, sp\nand r4, sp, #4\nsub sp, sp, r4\nbl machine_interrupt\nadd sp, sp, r4\n"
extern const char vectors_svc[], vectors_hyp[];
__asm__(".text\n.arm\n.arch_extension virt\n" VECTORS("vectors_svc", "movs pc, lr", "interrupt_svc")
            VECTORS("vectors_hyp", "b undefined_hyp", "interrupt_hyp")
        "interrupt_svc:\n"
        "sub lr, lr, #4\nsrsdb sp!, #19\ncps #19\n"
        "push {r0-r4, r12, lr}\n" CALL "pop {r0-r4, r12, lr}\nrfeia sp!\n"
        "undefined_hyp:\n"
        "push {r0}\nmrs r0, elr_hyp\nadd r0, r0, #4\nmsr elr_hyp, r0\npop {r0}\neret\n"
        "interrupt_hyp:\n"
        "sub sp, sp, #8\npush {r0-r4, r12, lr}\n"
        "mrs r0, elr_hyp\nmrs r1, spsr\nstr r0, [sp, #28]\nstr r1, [sp, #32]\n" CALL
        "ldr r0, [sp, #28]\nldr r1, [sp, #32]\nmsr elr_hyp, r0\nmsr spsr_cxsf, r1\n"
        "pop {r0-r4, r12, lr}\nadd sp, sp, #8\neret\n"
        ".global machine_loop\nmachine_loop:\nloop_begin:\n"
        "subs r0, r0, #1\nbne loop_begin\nloop_end:\nbx lr\n");

static bool add_events(void *context, uint32_t number, uint64_t *out_value)
{
    if (!hides_events || (number != PMCEID0 && number != PMCEID1))
        return native.rdmsr(context, number, out_value);
    *out_value = number == PMCEID0 ? EVENTS_OF_QEMU : 0;
    return true;
}

/* Does a read of PMCEID0 change a register, whatever it held? */
static bool is_pmceid_missing(void)
{
    uint32_t first = 0, second = 1;

    __asm__ volatile("mrc p15, 0, %0, c9, c12, 6" : "+r"(first) : : "memory");
    __asm__ volatile("mrc p15, 0, %0, c9, c12, 6" : "+r"(second) : : "memory");
    return first != second;
}

/* A counter that is about to overflow, and has its interrupt: does its flag come? */
static bool is_missed(void)
{
    uint64_t flags;

    upmu_a32_write(PMCR, 1);
    upmu_a32_write(UPMU_A32_TYPERS, 1u << 27 | 0x08);
    upmu_a32_write(UPMU_A32_COUNTERS, 0u - 3000u);
    upmu_a32_write(PMINTENSET, 1);
    upmu_a32_write(PMCNTENSET, 1);
    machine_loop(2000);
    machine_loop(2000);
    flags = GICD[0x200 / 4] >> PMU_INTERRUPT & 1u; /* (A read of the PMU would make it look.) */
    upmu_a32_write(PMCNTENCLR, 1);
    upmu_a32_write(PMINTENCLR, 1);
    upmu_a32_write(PMOVSR, 1);
    upmu_a32_write(UPMU_A32_COUNTERS, 0);
    upmu_a32_write(UPMU_A32_TYPERS, 0);
    upmu_a32_write(PMCR, 0);
    return !flags;
}

void machine_begin(struct upmu_port *port)
{
    uint32_t control;

    if (upmu_a32_mode() == UPMU_A32_MODE_HYP) {
        __asm__ volatile("mcr p15, 4, %0, c12, c0, 0" : : "r"(vectors_hyp));  /* HVBAR */
        __asm__ volatile("mcr p15, 4, %0, c1, c1, 0\n\tisb" : : "r"(0x10)); /* interrupts are taken here: HCR.IMO */
    } else {
        /* (Picolibc lets exceptions start in Thumb state: SCTLR.TE.) */
        UPMU_A32_MRC(control, 1, 0, 0);
        UPMU_A32_MCR(control & ~SCTLR_TE, 1, 0, 0);
        __asm__ volatile("mcr p15, 0, %0, c12, c0, 0\n\tisb" : : "r"(vectors_svc)); /* VBAR */
    }
    open_gic();
    hides_events = is_pmceid_missing();
    looks_early = machine_does.look_elsewhere = is_missed();
    /* What firmware left behind: a counter that is on, but all stand still (PMCR.E is 0). */
    upmu_a32_write(UPMU_A32_TYPERS + 1, 0x4000001b);
    upmu_a32_write(UPMU_A32_COUNTERS + 1, 0x1234567);
    upmu_a32_write(PMCNTENSET, 2);
    upmu_a32_write(PMCCFILTR, 0x40000000);
    UPMU_A32_MCR(PMSELR_FOUND, 9, 12, 5);
    upmu_arm32_port(port);
    native = *port;
    port->clock_ns = slow_clock;
    port->wrmsr = count_write;
    port->rdmsr = add_events;
}

const char *machine_repairs(void)
{
#define EARLY "overflows of event counters are looked for one event early"
#define NO_PMCEID "PMCEID is not there"
    static const char *const texts[] = {"", EARLY, NO_PMCEID, EARLY ", " NO_PMCEID};

    return texts[looks_early + 2 * hides_events];
}

unsigned machine_registers(uint64_t out[MACHINE_REGISTERS])
{
    static const uint32_t controls[] = {PMCR, PMCNTENSET, PMOVSR, PMINTENSET, PMCCFILTR, PMCCNTR};
    unsigned count = 0;
    uint32_t selected;
    uint64_t pmcr;

    UPMU_A32_MRC(selected, 9, 12, 5); /* first: reads of counters select them */
    out[count++] = selected;
    for (unsigned i = 0; i < sizeof controls / sizeof controls[0]; i++)
        upmu_a32_read(controls[i], &out[count++]);
    upmu_a32_read(PMCR, &pmcr);
    for (unsigned n = 0; n < (pmcr >> 11 & 31); n++) {
        upmu_a32_read(UPMU_A32_TYPERS + n, &out[count++]);
        upmu_a32_read(UPMU_A32_COUNTERS + n, &out[count++]);
    }
    return count;
}

void machine_disturb(unsigned counter)
{
    uint64_t value = 0;

    upmu_a32_read(UPMU_A32_TYPERS + counter, &value);
    upmu_a32_write(UPMU_A32_TYPERS + counter, (uint32_t)value ^ 1u << 30);
}
