/* SPDX-License-Identifier: MIT */
/*
 * Interrupts, and the port: port/x86_native with register accesses that survive faults.
 */
#include <examples/kernel/kernel.h>
#include <examples/kernel/kernel_layout.h>
#include <port/x86_native/x86_guard.h>

#define VECTOR_DB 1u
#define VECTOR_NMI 2u
#define VECTOR_UD 6u
#define VECTOR_GP 13u
#define VECTOR_PIC 0x20u
#define VECTOR_CALL 0x80u
#define VECTOR_SPURIOUS 0xffu
#define ENTRY_BYTES 16u

/* Where the registers of a system call and the frame pointer are in what is saved. */
#if defined(__x86_64__)
enum { SAVED_BP = 0, SAVED_DI = 5, SAVED_SI = 6, SAVED_DX = 7, SAVED_AX = 9 };
#else
enum { SAVED_DI = 0, SAVED_SI = 1, SAVED_BP = 2, SAVED_DX = 5, SAVED_AX = 7 };
#endif

/* The frame that kernel_stubs.S saves, lowest address first. */
struct kernel_trap {
#if defined(__x86_64__)
    uintptr_t saved[10];
#else
    uintptr_t saved[8];
#endif
    uintptr_t vector;
    uintptr_t error;
    uintptr_t ip;
    uintptr_t cs;
    uintptr_t flags;
    uintptr_t sp; /* in 32 bits only if a ring was changed */
    uintptr_t ss;
};

/* An interrupt gate (Intel SDM vol 3 (325384-059) 6.11, 6.14.1). */
struct kernel_gate {
    uint16_t offset_low;
    uint16_t selector;
    uint8_t stack;
    uint8_t type;
    uint16_t offset_middle;
#if defined(__x86_64__)
    uint32_t offset_high;
    uint32_t reserved;
#endif
};

struct kernel_descriptor {
    uint16_t limit;
    uintptr_t base;
} __attribute__((packed));

extern const char kernel_entries[]; /* kernel_stubs.S */
extern uint8_t kernel_tss[128];     /* kernel_start.S */
extern uint8_t kernel_stack_end[];
__attribute__((noreturn)) void kernel_user_leave(void);
void kernel_trap(struct kernel_trap *trap);

volatile struct kernel_traps kernel_traps;
void (*kernel_stepper)(const struct kernel_registers *now);
uint32_t kernel_process;

static struct kernel_gate gates[256] __attribute__((aligned(16)));
static struct upmu_cpu *pmi_cpu;
static const struct upmu_x86_native *pmi_native;
static unsigned pmi_vector;

static void overflow(const struct kernel_trap *trap)
{
    struct upmu_frame frame = {.ip = trap->ip, .user = (trap->cs & 3u) != 0, .fp = trap->saved[SAVED_BP]};

    frame.process = frame.thread = kernel_process;
#if defined(__x86_64__)
    frame.sp = trap->sp;
#else
    frame.sp = frame.user ? trap->sp : (uintptr_t)&trap->sp;
#endif
    kernel_traps.from_user += frame.user ? 1 : 0;
    switch (upmu_pmi_handle(pmi_cpu, &frame)) {
    case UPMU_PMI_HANDLED:
        kernel_traps.handled++;
        break;
    case UPMU_PMI_STALE:
        kernel_traps.stale++;
        break;
    case UPMU_PMI_NOT_OURS:
    default:
        kernel_traps.not_ours++;
        break;
    }
}

static void call_of(struct kernel_trap *trap)
{
    trap->saved[SAVED_AX] = kernel_call(trap->saved[SAVED_AX], trap->saved[SAVED_DI], trap->saved[SAVED_SI],
                                        trap->saved[SAVED_DX]);
    if (kernel_stepper)
        trap->flags |= KERNEL_FLAGS_TF;
}

/*
 * A fault of ring 3: HLT is its way back, and SYSCALL that of a program for Linux; a monitor that emulates knows no
 * INT n (Linux's KVM: #UD).
 */
static bool fault_of_user(struct kernel_trap *trap)
{
    const uint8_t *code = (const uint8_t *)trap->ip;

    /* WRMSR, RDMSR and RDPMC, too */
    if (trap->vector == VECTOR_GP &&
        (code[0] == 0xf4 || (code[0] == 0x0f && (code[1] == 0x30 || code[1] >> 1 == 0x19))))
        kernel_user_leave();
    if (trap->vector == VECTOR_UD && code[0] == 0x0f && code[1] == 0x05) /* EFER.SCE is 0 */
        kernel_user_leave();
    if (trap->vector != VECTOR_UD || code[0] != 0xcd || code[1] != VECTOR_CALL)
        return false;
    trap->ip += 2;
    trap->flags &= ~(uintptr_t)KERNEL_FLAGS_TF; /* one that steps us leaves its trap flag behind */
    call_of(trap);
    return true;
}

/* After a register access that faulted, execution continues behind it. */
static bool fault(struct kernel_trap *trap)
{
    uintptr_t landing;

    if ((trap->cs & 3u) != 0)
        return fault_of_user(trap);
    landing = upmu_x86_guard_landing(trap->ip);
    if (landing == 0)
        return false;
    trap->ip = landing;
    kernel_traps.faults++;
    return true;
}

void kernel_trap(struct kernel_trap *trap)
{
    unsigned vector = (unsigned)trap->vector;

    if (vector == VECTOR_NMI) {
        kernel_traps.nmis++;
        overflow(trap);
    } else if (pmi_vector != 0 && vector == pmi_vector) {
        kernel_traps.vectors++;
        overflow(trap);
        upmu_x86_native_eoi(pmi_native);
    } else if (vector == VECTOR_CALL) {
        call_of(trap);
    } else if (vector == VECTOR_DB && kernel_stepper && (trap->cs & 3u) != 0) {
        kernel_stepper(&(struct kernel_registers){trap->ip, trap->sp, trap->saved[SAVED_SI]});
    } else if (vector == VECTOR_GP || vector == VECTOR_UD) {
        if (!fault(trap))
            kernel_panic(vector, trap->error, trap->ip);
    } else if (vector != VECTOR_SPURIOUS && (vector < VECTOR_PIC || vector >= VECTOR_PIC + 16)) {
        kernel_panic(vector, trap->error, trap->ip); /* masked PICs still send spurious ones */
    }
}

static void gate_set(unsigned vector)
{
    uintptr_t offset = (uintptr_t)kernel_entries + vector * ENTRY_BYTES;
    struct kernel_gate *gate = &gates[vector];

    gate->offset_low = (uint16_t)(offset & 0xffffu);
    gate->selector = KERNEL_CS;
    gate->stack = 0;
    gate->type = vector == VECTOR_CALL ? 0xee : 0x8e; /* present, for ring 3 or 0 alone, interrupt gate */
    gate->offset_middle = (uint16_t)(offset >> 16 & 0xffffu);
#if defined(__x86_64__)
    gate->offset_high = (uint32_t)(offset >> 32);
    gate->reserved = 0;
#endif
}

/* 8259A: vectors 20h to 2Fh, everything masked. */
static void pics_off(void)
{
    unsigned i;

    for (i = 0; i < 2; i++) {
        uint16_t command = i == 0 ? 0x20 : 0xa0;
        uint16_t mask = (uint16_t)(command + 1);

        kernel_out8(command, 0x11);
        kernel_out8(mask, (uint8_t)(VECTOR_PIC + i * 8));
        kernel_out8(mask, i == 0 ? 4 : 2);
        kernel_out8(mask, 1);
        kernel_out8(mask, 0xff);
    }
}

void kernel_interrupts_open(void)
{
    struct kernel_descriptor descriptor = {(uint16_t)(sizeof gates - 1), (uintptr_t)gates};
    unsigned i;

    for (i = 0; i < 256; i++)
        gate_set(i);
    pics_off();
    /* before the first entry into ring 3 no stack is taken from the TSS */
    kernel_tss[TSS_IO_MAP] = sizeof kernel_tss;
    __asm__ volatile("lidt %0\n\tsti" : : "m"(descriptor) : "memory");
}

/*
 * CPUID hides an APIC that is switched off, and many BIOSes of the Pentium 4's time
 * leave it so.  Not done unasked: those BIOSes may have had a reason.
 */
static void apic_enable(void)
{
    uint32_t leaf[4];
    uint64_t base;

    upmu_x86_cpuid(1, 0, leaf);
    if ((leaf[3] >> 5 & 1u) != 0 && upmu_x86_guarded_rdmsr(UPMU_APIC_BASE_MSR, &base) &&
        !(base & UPMU_APIC_BASE_ENABLED))
        (void)upmu_x86_guarded_wrmsr(UPMU_APIC_BASE_MSR, base | UPMU_APIC_BASE_ENABLED);
}

/* Intel SDM vol 3 (325384-059) 10.12.1: CPUID.1:ECX[21], IA32_APIC_BASE[10]. */
static void x2apic_enter(void)
{
    uint32_t leaf[4];
    uint64_t base;

    upmu_x86_cpuid(1, 0, leaf);
    if ((leaf[2] >> 21 & 1u) != 0 && upmu_x86_guarded_rdmsr(UPMU_APIC_BASE_MSR, &base))
        (void)upmu_x86_guarded_wrmsr(UPMU_APIC_BASE_MSR, base | UPMU_APIC_BASE_X2APIC);
}

/* The interrupt command register, shorthand "self", fixed (10.6.1, 10.12.9). */
bool kernel_vector_arrives(const struct upmu_x86_native *native)
{
    const uint32_t to_self = 1u << 18 | 1u << 14 | pmi_vector;
    uint32_t before = kernel_traps.vectors;
    unsigned i;

    if (native->apic.mode == UPMU_APIC_X2)
        upmu_x86_wrmsr(0x830u, to_self);
    else if (native->apic.mode == UPMU_APIC_PAGE)
        upmu_apic_write(&native->apic, 0x300u, to_self);
    for (i = 0; i < 100000 && kernel_traps.vectors == before; i++)
        __asm__ volatile("pause");
    return kernel_traps.vectors != before;
}

/*
 * The paravirtual PMU's call (docs/PARAVIRT.md), where the number is that of an I/O port: what is written there is the
 * operation, with its arguments in EBX and ECX; then the answer is read.
 */
static bool port_call(void *context, uint32_t number, const uint32_t argument[3], uint32_t *out_answer)
{
    uint32_t word = argument[0];

    (void)context;
    __asm__ volatile("outl %%eax, %%dx\n\tinl %%dx, %%eax"
                     : "+a"(word)
                     : "d"((uint16_t)number), "b"(argument[1]), "c"(argument[2])
                     : "memory");
    *out_answer = word;
    return true;
}

/* Memory is mapped where it is. */
static void *shared_page(void *context, uint64_t *out_guest_physical)
{
    static uint8_t page[4096] __attribute__((aligned(4096)));

    (void)context;
    *out_guest_physical = (uintptr_t)page;
    return page;
}

void kernel_port_open(struct upmu_x86_native *native, const struct kernel_port_options *options, uint32_t tsc_khz,
                      struct upmu_cpu *cpu)
{
    volatile void *page = NULL;

    if (options->enable_apic)
        apic_enable();
    if (options->x2apic)
        x2apic_enter();
    if (!options->no_apic && upmu_apic_exists())
        page = (volatile void *)(uintptr_t)upmu_apic_base();
    upmu_x86_native_port(native, page, options->vector, options->no_clock ? 0 : tsc_khz);
    if (options->no_apic)
        native->port.pmi_rearm = NULL;
    native->port.rdmsr = upmu_x86_hook_rdmsr;
    native->port.wrmsr = upmu_x86_hook_wrmsr;
    native->port.rdpmc = options->no_rdpmc ? NULL : upmu_x86_hook_rdpmc;
    native->port.msr_faults_are_safe = !options->unsafe;
    native->port.hypercall = port_call;
    native->port.shared_page = shared_page;
    pmi_vector = options->vector;
    pmi_native = native;
    pmi_cpu = cpu;
    /* an APIC that software has not enabled keeps every local vector masked */
    if (native->apic.mode != UPMU_APIC_NONE)
        upmu_apic_write(&native->apic, UPMU_APIC_SPURIOUS, UPMU_APIC_SPURIOUS_ENABLE | VECTOR_SPURIOUS);
}
