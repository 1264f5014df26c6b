/* SPDX-License-Identifier: MIT */
/*
 * The hypervisor: its start, the loop that runs the vCPU, and what it does at each exit. Calls of the PMU are those of
 * abi/guest/arm/arm.h.
 */
#include <examples/device_tree/device_tree.h>
#include <examples/el2_hypervisor/el2.h>
#include <port/arm64_native/arm64_native.h>
#include <upmu/cpu.h>

#define UART (*(volatile uint32_t *)0x09000000)

/* HCR_EL2: stage 2, interrupts to EL2, SMC and ID registers trap, EL1 executes AArch64. */
#define HCR (UINT64_C(1) | 7u << 3 | 1u << 18 | 1u << 19 | UINT64_C(1) << 31)
#define MDCR_TPM (1u << 6)
#define MDCR_TPMCR (1u << 5)
#define PSTATE_EL1H 0x3c5u /* EL1 with its own stack pointer, everything masked */

/* Exception classes, and the offsets of EL1's vectors. */
enum { EC_UNKNOWN = 0, EC_HVC = 0x16, EC_SMC = 0x17, EC_SYSTEM = 0x18 };
enum { VECTOR_SP0 = 0, VECTOR_SPX = 0x200, VECTOR_A64 = 0x400, VECTOR_A32 = 0x600 };
#define ESR_UNDEFINED (UINT64_C(1) << 25)

#define ICC_SGI1R UPMU_GUEST_SYSREG(3, 0, 12, 11, 5)
#define PSCI_VERSION 0x84000000u
#define PSCI_MIGRATE_INFO_TYPE 0x84000006u
#define PSCI_SYSTEM_OFF 0x84000008u
#define PSCI_SYSTEM_RESET 0x84000009u
#define PSCI_FEATURES 0x8400000au

_Noreturn void el2_main(uint8_t *tree);

static struct upmu_machine machine;
static struct upmu_cpu cpu;
static struct upmu_thread idle;
static struct el2_vcpu vcpu;

/* ---- Messages ---- */

void el2_print(const char *text)
{
    while (*text)
        UART = (unsigned char)*text++;
}

void el2_print_number(const char *name, uint64_t number)
{
    char digits[17];

    for (unsigned i = 0; i < 16; i++)
        digits[i] = "0123456789abcdef"[number >> (60 - 4 * i) & 15u];
    digits[16] = '\0';
    el2_print(name);
    el2_print(digits);
    el2_print("\n");
}

static _Noreturn void stop(void)
{
    register uint64_t call __asm__("x0") = PSCI_SYSTEM_OFF;

    __asm__ volatile("smc #0" : "+r"(call) : : "memory");
    for (;;)
        __asm__ volatile("wfi");
}

static _Noreturn void fail(const char *what, uint64_t number)
{
    el2_print("el2: ");
    el2_print_number(what, number);
    stop();
}

void el2_dies(uint64_t elr, uint64_t esr, uint64_t far)
{
    el2_print_number("el2: ELR ", elr);
    el2_print_number("el2: ESR ", esr);
    fail("an exception of the hypervisor, FAR ", far);
}

static void must(const char *what, enum upmu_status status)
{
    if (status != UPMU_OK)
        fail(what, (uint64_t)status);
}

/* ---- Exits ---- */

/* Let the guest take a synchronous exception at its EL1. */
static void inject(uint64_t esr)
{
    unsigned level = vcpu.spsr & 15u;
    uint64_t vector = vcpu.spsr & 16u ? VECTOR_A32 : !level ? VECTOR_A64 : level == 4 ? VECTOR_SP0 : VECTOR_SPX;

    EL2_WRITE("elr_el1", vcpu.elr);
    EL2_WRITE("spsr_el1", vcpu.spsr);
    EL2_WRITE("esr_el1", esr);
    vcpu.elr = EL2_READ("vbar_el1") + vector;
    vcpu.spsr = PSTATE_EL1H;
}

/* The instruction is done: the guest goes on behind it, and its counters count it. */
static void retire(void)
{
    vcpu.elr += 4;
    upmu_guest_retired(&vcpu.pmu, 1, 0, !(vcpu.spsr & 15u));
}

/* Registers beside the PMU's: ID registers, and SGIs, which stay within this CPU. */
static bool other_register(uint32_t reg, bool write, uint64_t *inout)
{
    if (!write && reg >> 7 == UPMU_GUEST_SYSREG(3, 0, 0, 0, 0) >> 7) {
        *inout = el2_id_register(reg);
        (void)upmu_guest_id_register(&vcpu.pmu, reg, inout);
        return true;
    }
    if (!write || reg != ICC_SGI1R)
        return false;
    EL2_WRITE("icc_sgi1r_el1", *inout);
    __asm__ volatile("isb");
    return true;
}

/* MRS and MSR. The syndrome has the number of the register, the direction and the general register. */
static void access_register(uint64_t esr)
{
    uint32_t reg = UPMU_GUEST_SYSREG(esr >> 20 & 3u, esr >> 14 & 7u, esr >> 10 & 15u, esr >> 1 & 15u, esr >> 17 & 7u);
    unsigned which = esr >> 5 & 31u;
    bool write = !(esr & 1u), from_el0 = !(vcpu.spsr & 15u);
    uint64_t value = write && which < 31 ? vcpu.x[which] : 0;
    enum upmu_guest_access access = upmu_guest_sysreg(&vcpu.pmu, reg, write, from_el0, &value);

    vcpu.traps += access != UPMU_GUEST_NOT_OURS;
    if (access == UPMU_GUEST_NOT_OURS)
        access = !from_el0 && other_register(reg, write, &value) ? UPMU_GUEST_DONE : UPMU_GUEST_FAULT;
    if (access != UPMU_GUEST_DONE) {
        inject(access == UPMU_GUEST_TRAP_EL1 ? esr : ESR_UNDEFINED);
        return;
    }
    if (!write && which < 31)
        vcpu.x[which] = value;
    retire();
}

static _Noreturn void switch_off(void)
{
    el2_print_number("el2: exits ", vcpu.exits);
    el2_print_number("el2: accesses to the PMU ", vcpu.traps);
    el2_print_number("el2: interrupts of the PMU ", vcpu.interrupts);
    must("put ", upmu_thread_switch(&cpu, &vcpu.thread, &idle));
    must("fini ", upmu_guest_fini(&vcpu.pmu));
    must("CPU ", upmu_cpu_fini(&cpu));
    stop();
}

/* PSCI, by HVC or SMC: the firmware answers what concerns the machine; there is no second CPU. */
static void call_firmware(void)
{
    register uint64_t x0 __asm__("x0") = vcpu.x[0];
    register uint64_t x1 __asm__("x1") = vcpu.x[1];
    register uint64_t x2 __asm__("x2") = vcpu.x[2];
    register uint64_t x3 __asm__("x3") = vcpu.x[3];
    uint32_t call = (uint32_t)x0;

    if (call == PSCI_SYSTEM_OFF || call == PSCI_SYSTEM_RESET)
        switch_off();
    if (call != PSCI_VERSION && call != PSCI_FEATURES && call != PSCI_MIGRATE_INFO_TYPE) {
        vcpu.x[0] = ~UINT64_C(0); /* not supported */
        return;
    }
    __asm__ volatile("smc #0" : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3) : : "memory");
    vcpu.x[0] = x0;
}

static void handle_exit(unsigned reason)
{
    uint64_t esr = EL2_READ("esr_el2");

    vcpu.exits++;
    if (reason == EL2_INTERRUPT) {
        if (el2_vgic_take())
            return;
        vcpu.interrupts++;
        (void)upmu_pmi_handle(&cpu, NULL);
        el2_vgic_end(EL2_PMU_INTERRUPT);
        return;
    }
    switch (esr >> 26 & 63u) {
    case EC_SYSTEM:
        access_register(esr);
        break;
    case EC_SMC:
        call_firmware();
        retire();
        break;
    case EC_HVC: /* the CPU has executed and counted it, and the return address is behind it */
        call_firmware();
        break;
    case EC_UNKNOWN:
        inject(ESR_UNDEFINED);
        break;
    default:
        el2_print_number("el2: ELR ", vcpu.elr);
        el2_print_number("el2: FAR ", EL2_READ("far_el2"));
        fail("no exit that this hypervisor knows, ESR ", esr);
    }
}

/* ---- Start ---- */

/* The CPU's registers for a guest at EL1. The PMU's: its registers trap, all counters are the host's. */
static void open_el1(void)
{
    EL2_WRITE("hcr_el2", HCR);
    EL2_WRITE("cptr_el2", 0x33ff);
    EL2_WRITE("cnthctl_el2", 3);
    EL2_WRITE("cntvoff_el2", 0);
    EL2_WRITE("hstr_el2", 0);
    EL2_WRITE("vpidr_el2", EL2_READ("midr_el1"));
    EL2_WRITE("vmpidr_el2", EL2_READ("mpidr_el1"));
    EL2_WRITE("sctlr_el1", 0x30d00800);
    EL2_WRITE("mdcr_el2", MDCR_TPM | MDCR_TPMCR | (EL2_READ("pmcr_el0") >> 11 & 31u));
    /* EN alone: each access by EL0 traps to EL2; QEMU 7.2 lets pass what SW, CR and ER permit. */
    EL2_WRITE("pmuserenr_el0", 1);
    __asm__ volatile("isb");
}

static void open_pmu(void)
{
    static struct upmu_port port;
    static const struct upmu_guest_policy policy = {.level = UPMU_GUEST_ARCH, .flags = UPMU_GUEST_BESIDE_STRANGERS};
    struct upmu_guest_memory memory = {vcpu.sessions, sizeof vcpu.sessions / sizeof vcpu.sessions[0], &vcpu.thread};
    struct upmu_guest_shape shape;

    upmu_arm64_port(&port);
    must("machine ", upmu_machine_init(&machine, &port));
    must("CPU ", upmu_cpu_init(&cpu, &machine, NULL));
    upmu_thread_init(&idle, 0, 0, NULL);
    upmu_thread_init(&vcpu.thread, 1, 1, &vcpu);
    must("shape ", upmu_guest_shape_default(&machine, UPMU_GUEST_ARM, &policy, &shape));
    must("vCPU ", upmu_guest_init(&vcpu.pmu, &machine, &shape, &policy, &memory));
    must("load ", upmu_thread_switch(&cpu, &idle, &vcpu.thread));
    el2_print_number("el2: counters of the guest ", shape.general + 1u);
}

void el2_main(uint8_t *tree)
{
    struct upmu_guest_entry entry;
    unsigned reason;

    el2_vgic_open();
    open_el1();
    open_pmu();
    el2_memory_open();
    if (!device_tree_begin_memory(tree, EL2_GUEST_RAM))
        fail("no device tree at ", (uintptr_t)tree);
    vcpu.x[0] = (uintptr_t)tree;
    vcpu.elr = EL2_GUEST_ENTRY;
    vcpu.spsr = PSTATE_EL1H;
    for (;;) {
        must("entry ", upmu_guest_enter(&vcpu.pmu, &entry));
        el2_vgic_fill(entry.irq_level);
        reason = el2_run(&vcpu);
        must("exit ", upmu_guest_exit(&vcpu.pmu));
        handle_exit(reason);
    }
}
