/* SPDX-License-Identifier: MIT */
/*
 * The firmware's begin, and traps: S-mode's timer, and what S-mode cannot handle itself.
 */
#include <examples/device_tree/device_tree.h>
#include <examples/sbi_firmware/firmware.h>

#if defined(__riscv)

#include <port/riscv_native/riscv_csr.h>

#define MTIMECMP ((volatile uint32_t *)0x02004000) /* two halves, the lower one first */
#define CLINT 0x02000000ul
#define CLINT_SIZE 0x10000ul

#define STIMECMP "0x14d"
#define STIMECMPH "0x15d"
#if __riscv_xlen == 64
#define MENVCFG_UPPER "0x30a"
#else
#define MENVCFG_UPPER "0x31a"
#endif
/* Where a trap says in M-mode whether it came from a guest (MPV), and whether mtval is an address of the guest (GVA) */
#if __riscv_xlen == 64
#define GUEST_STATUS "mstatus"
#define MPV (1ul << 39)
#define GVA (1ul << 38)
#else
#define GUEST_STATUS "0x310" /* mstatush */
#define MPV (1ul << 7)
#define GVA (1ul << 6)
#endif
#define HSTATUS "0x600"
#define HSTATUS_GVA (1ul << 6)
#define HSTATUS_SPV (1ul << 7)
#define HSTATUS_SPVP (1ul << 8)
#define MISA_H (1ul << 7)
#define TOP (1ul << (__riscv_xlen - 1)) /* of mcause: an interrupt; of menvcfg: STCE, which lets S-mode use stimecmp */
#define SSI (1ul << 1)
#define STI (1ul << 5)
#define MTI (1ul << 7)
#define SEI (1ul << 9)
#define LCOFI (1ul << 13)
#define MSTATUS_SIE (1ul << 1)
#define MSTATUS_SPIE (1ul << 5)
#define MSTATUS_SPP (1ul << 8)
#define MSTATUS_MPP (3ul << 11)
#define MSTATUS_MPP_S (1ul << 11)
#define COUNTEREN_TM 2ul
#define PMP_NAPOT 0x18ul
#define PMP_ALL 0x07ul

/*
 * Exceptions by their codes in mcause; S-mode handles those of DELEGATED itself. GUESTS are those of a hypervisor's
 * guests: calls, page faults of the second level, instructions that the hypervisor executes.
 */
enum { ILLEGAL = 2, BREAKPOINT = 3, LOAD_MISALIGNED = 4, LOAD_ACCESS, STORE_MISALIGNED, STORE_ACCESS, USER_CALL, CALL };
#define GUESTS (1ul << 10 | 1ul << 20 | 1ul << 21 | 1ul << 22 | 1ul << 23)
#define DELEGATED (1ul << 0 | 1ul << BREAKPOINT | 1ul << USER_CALL | 1ul << 12 | 1ul << 13 | 1ul << 15 | GUESTS)

struct firmware_hart firmware_hart;
static volatile unsigned skips;

/* Until S-mode begins: an instruction that traps is skipped. */
__attribute__((interrupt("machine"), aligned(4))) static void skip_trap(void)
{
    unsigned long at = UPMU_RV_GET("mepc");

    skips++;
    UPMU_RV_PUT("mepc", at + ((*(const uint16_t *)at & 3u) == 3u ? 4u : 2u));
}

void firmware_set_timer(uint64_t time)
{
    if (firmware_hart.has_sstc) {
#if __riscv_xlen == 64
        UPMU_RV_PUT(STIMECMP, time);
#else
        UPMU_RV_PUT(STIMECMP, ~0ul); /* no time between the old and the new one */
        UPMU_RV_PUT(STIMECMPH, time >> 32);
        UPMU_RV_PUT(STIMECMP, time);
#endif
        return;
    }
    MTIMECMP[1] = ~UINT32_C(0);
    MTIMECMP[0] = (uint32_t)time;
    MTIMECMP[1] = (uint32_t)(time >> 32);
    UPMU_RV_CLEAR("mip", STI);
    UPMU_RV_SET("mie", MTI);
}

/* Sstc: the hart has a timer for S-mode, which S-mode sets itself. */
static void find_timer(void)
{
    unsigned before = skips;

    UPMU_RV_PUT(STIMECMP, ~0ul);
    if (skips != before)
        return;
    firmware_hart.has_sstc = true;
    UPMU_RV_SET(MENVCFG_UPPER, TOP);
    firmware_set_timer(~UINT64_C(0));
}

/* PMP: entries of a power of two in size. The first that has an address decides. */
static void protect_memory(void)
{
    UPMU_RV_PUT("pmpaddr0", (FIRMWARE_BASE + FIRMWARE_SIZE / 2 - 1) >> 2);
    UPMU_RV_PUT("pmpaddr1", (CLINT + CLINT_SIZE / 2 - 1) >> 2);
    UPMU_RV_PUT("pmpaddr2", ~0ul);
    UPMU_RV_PUT("pmpcfg0", PMP_NAPOT | PMP_NAPOT << 8 | (PMP_NAPOT | PMP_ALL) << 16);
}

/* Tell HS-mode in hstatus whether a trap came from a guest. S-mode's handler, where MRET goes, is no guest's. */
static void forward_guest(bool from_supervisor)
{
    unsigned long status = UPMU_RV_GET(GUEST_STATUS);

    UPMU_RV_CLEAR(HSTATUS, HSTATUS_GVA | HSTATUS_SPV);
    if (!(status & MPV))
        return;
    UPMU_RV_CLEAR(HSTATUS, HSTATUS_SPVP);
    UPMU_RV_SET(HSTATUS, HSTATUS_SPV | (status & GVA ? HSTATUS_GVA : 0) | (from_supervisor ? HSTATUS_SPVP : 0));
    UPMU_RV_CLEAR(GUEST_STATUS, MPV);
}

/* Hand a trap to S-mode, as if it had been delegated. */
static void forward_trap(unsigned long cause)
{
    unsigned long status, before;

    if (UPMU_RV_GET("misa") & MISA_H)
        forward_guest((UPMU_RV_GET("mstatus") & MSTATUS_MPP) != 0);
    before = status = UPMU_RV_GET("mstatus");
    UPMU_RV_PUT("scause", cause);
    UPMU_RV_PUT("sepc", UPMU_RV_GET("mepc"));
    UPMU_RV_PUT("stval", UPMU_RV_GET("mtval"));
    status &= ~(MSTATUS_SIE | MSTATUS_SPIE | MSTATUS_SPP | MSTATUS_MPP);
    status |= MSTATUS_MPP_S | (before & MSTATUS_SIE ? MSTATUS_SPIE : 0) | (before & MSTATUS_MPP ? MSTATUS_SPP : 0);
    UPMU_RV_PUT("mstatus", status);
    UPMU_RV_PUT("mepc", UPMU_RV_GET("stvec") & ~3ul);
}

void firmware_handle(struct firmware_frame *frame)
{
    /* The firmware's event of each exception that S-mode does not handle itself. */
    static const uint8_t events[] = {
        [ILLEGAL] = 4, [LOAD_MISALIGNED] = 0, [LOAD_ACCESS] = 2, [STORE_MISALIGNED] = 1, [STORE_ACCESS] = 3};
    unsigned long cause = UPMU_RV_GET("mcause");

    if (cause == CALL) {
        UPMU_RV_PUT("mepc", UPMU_RV_GET("mepc") + 4);
        firmware_call(frame);
    } else if (cause & TOP) { /* the machine's timer, which is S-mode's: no other one is enabled */
        UPMU_RV_CLEAR("mie", MTI);
        UPMU_RV_SET("mip", STI);
    } else {
        if (firmware_hart.has_pmu && cause >= ILLEGAL && cause <= STORE_ACCESS && cause != BREAKPOINT)
            upmu_sbi_pmu_firmware(&firmware_hart.pmu, events[cause]);
        forward_trap(cause);
    }
}

void firmware_main(unsigned long hart, unsigned long tree, unsigned long address)
{
    UPMU_RV_PUT("mtvec", (unsigned long)skip_trap);
    UPMU_RV_PUT("mie", 0);
    UPMU_RV_PUT("mcounteren", COUNTEREN_TM);
    firmware_hart.id = hart;
    firmware_hart.ram_end = device_tree_begin_memory((unsigned char *)tree, FIRMWARE_BASE + FIRMWARE_SIZE);
    find_timer();
    firmware_open_pmu(&skips);
    protect_memory();
    UPMU_RV_PUT("medeleg", DELEGATED);
    UPMU_RV_PUT("mideleg", SSI | STI | SEI | LCOFI);
    UPMU_RV_CLEAR("mip", SSI | STI | LCOFI);
    UPMU_RV_PUT("satp", 0);
    UPMU_RV_CLEAR("mstatus", MSTATUS_MPP | MSTATUS_SIE);
    UPMU_RV_SET("mstatus", MSTATUS_MPP_S);
    UPMU_RV_PUT("mtvec", (unsigned long)firmware_trap);
    firmware_enter(hart, tree, address);
}

#endif
