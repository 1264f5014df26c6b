/* SPDX-License-Identifier: MIT */
/*
 * The trap harness: see trap.h.
 *
 * A signal handler is the hardware.  SIGSEGV is an instruction that ring 3 may not
 * execute: no step is reported for it (the trap flag traps after the next one), so it
 * is retired here.  SIGTRAP comes after every other instruction.
 */
#define _GNU_SOURCE /* REG_RIP */
#include <asm/prctl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/common/assertions.h"
#include <upmu/cpu.h>

#include "models/sim/sim_intern.h"
#include "tests/common/garbage.h"
#include "tests/common/trap_flag.h"
#include "tests/common/workload.h"
#include "tests/trap/trap.h"
#include "tests/trap/trap_decode.h"

#ifndef ARCH_CPUID_SET
#define ARCH_CPUID_SET 0x1012
#endif

#define INTERRUPT_FLAG 0x200u
#define APIC_PHYSICAL UINT64_C(0xfee00000)
#define APIC_BYTES 4096u
#define APIC_BASE_BSP 0x100u

#ifdef __x86_64__
#define IP REG_RIP
#define SP REG_RSP
#define AX REG_RAX
#define CX REG_RCX
#define DX REG_RDX
static const int registers[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                  REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
#define RED_ZONE 128u
#define LONG_MODE true
#else
#define IP REG_EIP
#define SP REG_ESP
#define AX REG_EAX
#define CX REG_ECX
#define DX REG_EDX
static const int registers[8] = {REG_EAX, REG_ECX, REG_EDX, REG_EBX, REG_ESP, REG_EBP, REG_ESI, REG_EDI};
#define RED_ZONE 0u
#define LONG_MODE false
#endif
#define GREG(context, name) ((context)->uc_mcontext.gregs[name])

static struct trap *now; /* for the signal handlers */
static unsigned char *apic_page;

/* What a stepped handler interrupted. */
struct interrupted {
    gregset_t registers;
    bool nmi;
    bool irqs_on;
};
static struct interrupted interrupted[2];
static unsigned depth;

/* ---- Time and truth ---- */

static bool in_workload(uint64_t ip)
{
    return ip >= (uintptr_t)workload_begin && ip < (uintptr_t)workload_end;
}

static bool is_user(const struct trap *trap, uint64_t ip)
{
    return trap->rings == TRAP_RING_WORKLOAD && in_workload(ip);
}

static bool anything_runs(const struct upmu_sim *sim)
{
    for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++)
        if (upmu_sim_runs(sim, 0, i))
            return true;
    return false;
}

/* The instruction at `from` was executed; the context shows the next one. */
static void retire(struct trap *trap, uintptr_t from, const ucontext_t *context)
{
    bool user = is_user(trap, from), branch = trap_is_branch((const uint8_t *)from, LONG_MODE);
    uint64_t index;
    struct upmu_sim_burst burst = {.instructions = 1,
                                   .cycles = 1,
                                   .ref_cycles = 1,
                                   .branches = branch,
                                   .user = user,
                                   .ip = (uintptr_t)GREG(context, IP),
                                   .sp = (uintptr_t)GREG(context, SP)};

    trap->steps++;
    trap->branches += branch;
    trap->user_steps += user;
    if (trap->was_enabled && anything_runs(&trap->sim)) {
        trap->running.steps++;
        trap->running.branches += branch;
        trap->running.user_steps += user;
        index = trap->rings == TRAP_RING_WORKLOAD ? trap->running.user_steps
                                                  : trap->running.steps + !trap->enabling_counts;
        if (index < TRAP_SEEN && (trap->rings == TRAP_RING_KERNEL || user))
            trap->seen[index] = (uint32_t)GREG(context, IP);
    }
    upmu_sim_events(&trap->sim, &burst);
}

/* ---- Interrupts ---- */

static const ucontext_t *boundary; /* between two instructions, here */

static void answer(struct trap *trap, uint64_t ip, uint64_t sp, bool nmi)
{
    struct upmu_frame frame = {.ip = ip, .sp = sp, .user = is_user(trap, ip)};

    trap->interrupts++;
    trap->last_answer = upmu_pmi_handle(&trap->cpu, &frame);
    trap->answers[trap->last_answer]++;
    if (!nmi)
        upmu_x86_native_eoi(&trap->native);
}

/* From the model: an interrupt is delivered. */
static void deliver(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_interrupt *interrupt)
{
    struct trap *trap = sim->test;

    (void)cpu;
    if (trap->step_handler) {
        trap->entry_due = true;
        trap->entry_nmi = interrupt->nmi;
        return;
    }
    answer(trap, (uintptr_t)GREG(boundary, IP), (uintptr_t)GREG(boundary, SP), interrupt->nmi);
}

/* The stepped handler: code of ring 0, entered by enter() and left by HLT. */
static void stepped_handler(void)
{
    const struct interrupted *from = &interrupted[depth - 1];

    answer(now, (uintptr_t)from->registers[IP], (uintptr_t)from->registers[SP], from->nmi);
}

void trap_handler_return(void);
__asm__(".text\n.globl trap_handler_return\ntrap_handler_return:\n\thlt\n");

static void enter(struct trap *trap, ucontext_t *context)
{
    struct upmu_sim_cpu *cpu = &trap->sim.cpu[0];
    struct interrupted *save = &interrupted[depth++];
    uintptr_t *stack = (uintptr_t *)(((uintptr_t)GREG(context, SP) - RED_ZONE) & ~(uintptr_t)15);

    memcpy(save->registers, context->uc_mcontext.gregs, sizeof save->registers);
    save->nmi = trap->entry_nmi;
    save->irqs_on = cpu->irqs_on;
    trap->entry_due = false;
    cpu->in_nmi = cpu->in_nmi || save->nmi;
    cpu->in_irq = cpu->in_irq || !save->nmi;
    cpu->irqs_on = false;
    *--stack = (uintptr_t)trap_handler_return;
    GREG(context, SP) = (greg_t)(uintptr_t)stack;
    GREG(context, IP) = (greg_t)(uintptr_t)stepped_handler;
}

static void leave(struct trap *trap, ucontext_t *context)
{
    struct upmu_sim_cpu *cpu = &trap->sim.cpu[0];
    const struct interrupted *saved = &interrupted[--depth];

    memcpy(context->uc_mcontext.gregs, saved->registers, sizeof saved->registers);
    if (saved->nmi)
        cpu->in_nmi = false;
    else
        cpu->in_irq = false;
    cpu->irqs_on = saved->irqs_on;
    upmu_sim_poll(&trap->sim, 0);
}

/* ---- Emulation ---- */

/* What a write would do to the counters: 1 lets them run, -1 stops them. */
static int direction(const struct trap *trap, uint32_t msr, uint64_t value)
{
    static struct upmu_sim scratch;
    bool before = anything_runs(&trap->sim), after;

    scratch = trap->sim;
    scratch.deliver = NULL;
    scratch.trace = NULL;
    scratch.trace_size = 0;
    (void)scratch.port.wrmsr(&scratch, msr, value);
    after = anything_runs(&scratch);
    return (int)after - (int)before;
}

static uint32_t apic_read(struct trap *trap, uint32_t offset)
{
    return offset == UPMU_APIC_LVTPC ? trap->sim.cpu[0].lvtpc : 0;
}

static void apic_write(struct trap *trap, uint32_t offset, uint32_t value)
{
    if (offset == UPMU_APIC_EOI)
        trap->eois++;
    else if (offset == UPMU_APIC_LVTPC)
        upmu_sim_write_lvtpc(&trap->sim, 0, value);
}

static bool is_x2apic(const struct trap *trap, uint32_t msr)
{
    return trap->x2apic && msr >= 0x800 && msr < 0x900;
}

static bool read_msr(struct trap *trap, uint32_t msr, uint64_t *out_value)
{
    if (msr == UPMU_APIC_BASE_MSR) {
        *out_value =
            APIC_PHYSICAL | APIC_BASE_BSP | UPMU_APIC_BASE_ENABLED | (trap->x2apic ? UPMU_APIC_BASE_X2APIC : 0);
        return true;
    }
    if (is_x2apic(trap, msr)) {
        *out_value = apic_read(trap, (msr - 0x800) << 4);
        return true;
    }
    return trap->sim.port.rdmsr(&trap->sim, msr, out_value);
}

static bool write_msr(struct trap *trap, uint32_t msr, uint64_t value)
{
    if (is_x2apic(trap, msr)) {
        apic_write(trap, (msr - 0x800) << 4, (uint32_t)value);
        return true;
    }
    return trap->sim.port.wrmsr(&trap->sim, msr, value);
}

static void give(ucontext_t *context, uint64_t value)
{
    GREG(context, AX) = (greg_t)(uint32_t)value;
    GREG(context, DX) = (greg_t)(uint32_t)(value >> 32);
}

/* The instruction that faulted, but WRMSR.  False: it is not one of ours. */
static bool emulate(struct trap *trap, ucontext_t *context, const struct trap_instruction *instruction,
                    uint32_t apic_offset)
{
    uint64_t value = 0;
    uint32_t leaf[4];
    bool irqs_on;

    switch (instruction->operation) {
    case TRAP_RDMSR:
        trap->faulted = !read_msr(trap, (uint32_t)GREG(context, CX), &value);
        give(context, value);
        return true;
    case TRAP_RDPMC:
        trap->faulted = !trap->sim.port.rdpmc(&trap->sim, (uint32_t)GREG(context, CX), &value);
        give(context, value);
        return true;
    case TRAP_RDTSC:
        give(context, trap->sim.now_ns);
        return true;
    case TRAP_CPUID:
        irqs_on = trap->sim.cpu[trap->sim.current].irqs_on;
        trap->cpuids++;
        upmu_sim_irqs(&trap->sim, false); /* the port's own instruction may stand where interrupts are on */
        trap->sim.port.cpuid(&trap->sim, (uint32_t)GREG(context, AX), (uint32_t)GREG(context, CX), leaf);
        upmu_sim_irqs(&trap->sim, irqs_on);
        GREG(context, AX) = (greg_t)leaf[0];
        GREG(context, registers[3]) = (greg_t)leaf[1];
        GREG(context, CX) = (greg_t)leaf[2];
        GREG(context, DX) = (greg_t)leaf[3];
        return true;
    case TRAP_CLI:
    case TRAP_STI:
        upmu_sim_irqs(&trap->sim, instruction->operation == TRAP_STI);
        return true;
    case TRAP_LOAD:
        GREG(context, registers[instruction->reg]) = (greg_t)apic_read(trap, apic_offset);
        return apic_offset < APIC_BYTES;
    case TRAP_STORE:
        if (apic_offset < APIC_BYTES)
            apic_write(trap, apic_offset,
                       instruction->immediate ? instruction->value
                                              : (uint32_t)GREG(context, registers[instruction->reg]));
        return apic_offset < APIC_BYTES;
    default:
        return false;
    }
}

/* WRMSR: the one instruction of which it matters whether it is counted before or after. */
static void emulate_wrmsr(struct trap *trap, ucontext_t *context, uintptr_t from, bool ticking)
{
    uint64_t value = (uint64_t)(uint32_t)GREG(context, DX) << 32 | (uint32_t)GREG(context, AX);
    uint32_t msr = (uint32_t)GREG(context, CX);
    int turn = trap->stepping ? direction(trap, msr, value) : 0; /* (a handler may stop counters for good, too) */
    bool first = turn > 0 ? !trap->enabling_counts : turn < 0 ? trap->disabling_counts : true;

    if (turn > 0 && !trap->was_enabled) {
        memset(&trap->running, 0, sizeof trap->running);
        trap->was_enabled = true;
    }
    if (ticking && first)
        retire(trap, from, context);
    trap->faulted = !write_msr(trap, msr, value);
    if (ticking && !first)
        retire(trap, from, context);
}

static void give_up(const ucontext_t *context, const siginfo_t *info)
{
    fprintf(stderr, "trap: a real fault at %lx, address %p\n", (unsigned long)GREG(context, IP), info->si_addr);
    abort();
}

static void on_fault(int number, siginfo_t *info, void *where)
{
    ucontext_t *context = where;
    struct trap *trap = now;
    uintptr_t from = (uintptr_t)GREG(context, IP);
    struct trap_instruction instruction = trap_decode((const uint8_t *)from, LONG_MODE);
    uint64_t offset = (uint64_t)((uintptr_t)info->si_addr - (uintptr_t)apic_page);
    bool ticking = trap->stepping && FLAGS_OF(context) & TRAP_FLAG;
    const ucontext_t *outer = boundary;

    (void)number;
    boundary = context;
    if (instruction.operation == TRAP_HLT && depth && from == (uintptr_t)trap_handler_return) {
        if (ticking)
            retire(trap, from, context);
        leave(trap, context);
    } else if (instruction.operation == TRAP_WRMSR) {
        GREG(context, IP) += (greg_t)instruction.length;
        emulate_wrmsr(trap, context, from, ticking);
    } else {
        GREG(context, IP) += (greg_t)instruction.length;
        if (!emulate(trap, context, &instruction, offset < APIC_BYTES ? (uint32_t)offset : APIC_BYTES)) {
            GREG(context, IP) = (greg_t)from;
            give_up(context, info);
        }
        if (ticking)
            retire(trap, from, context);
    }
    trap->faults += trap->faulted;
    if (trap->entry_due)
        enter(trap, context);
    trap->last_ip = (uintptr_t)GREG(context, IP);
    boundary = outer;
}

/* After an instruction. */
static void on_step(int number, siginfo_t *info, void *where)
{
    ucontext_t *context = where;
    struct trap *trap = now;
    uintptr_t from = trap->last_ip;
    const ucontext_t *outer = boundary;

    (void)number;
    (void)info;
    if (!trap->stepping) {
        FLAGS_OF(context) &= ~TRAP_FLAG;
        return;
    }
    boundary = context;
    if (from != 0) {
        uintptr_t *top = (uintptr_t *)(uintptr_t)GREG(context, SP);

        /* ring 3 sees the real interrupt flag, which is always set */
        if (trap_is_pushf((const uint8_t *)from) && !trap->sim.cpu[0].irqs_on)
            *top &= ~(uintptr_t)INTERRUPT_FLAG;
        retire(trap, from, context);
    }
    if (trap->entry_due)
        enter(trap, context);
    trap->last_ip = (uintptr_t)GREG(context, IP);
    boundary = outer;
}

void trap_step_on(struct trap *trap)
{
    trap->last_ip = 0;
    trap->stepping = true;
    trap_flag_set();
}

void trap_step_off(struct trap *trap)
{
    trap_flag_clear();
    trap->stepping = false;
}

/*
 * The C library's way to the time executes RDTSC, which faults here: a test that
 * fails could not even be told.
 */
int clock_gettime(clockid_t clock, struct timespec *time)
{
    return (int)syscall(SYS_clock_gettime, clock, time);
}

/* ---- The port ---- */

static bool safe_rdmsr(void *context, uint32_t msr, uint64_t *out_value)
{
    now->faulted = false;
    return garbage_unless(now->native.port.rdmsr(context, msr, out_value) && !now->faulted, out_value);
}

static bool safe_wrmsr(void *context, uint32_t msr, uint64_t value)
{
    now->faulted = false;
    return now->native.port.wrmsr(context, msr, value) && !now->faulted;
}

static bool safe_rdpmc(void *context, uint32_t index, uint64_t *out_value)
{
    now->faulted = false;
    return garbage_unless(now->native.port.rdpmc(context, index, out_value) && !now->faulted, out_value);
}

static void model_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    (void)context;
    now->sim.port.cpuid(&now->sim, leaf, subleaf, out);
}

static int set_cpuid(bool allowed)
{
    return (int)syscall(SYS_arch_prctl, ARCH_CPUID_SET, (unsigned long)allowed);
}

static sigjmp_buf back;

static void on_probe(int number)
{
    siglongjmp(back, number);
}

/* Does an instruction fault, as it must in ring 3? */
static bool probe(void (*instruction)(void))
{
    struct sigaction action, old;
    bool faulted = true;

    memset(&action, 0, sizeof action);
    action.sa_handler = on_probe;
    sigaction(SIGSEGV, &action, &old);
    if (sigsetjmp(back, 1) == 0) {
        instruction();
        faulted = false;
    }
    sigaction(SIGSEGV, &old, NULL);
    return faulted;
}

static void probe_rdmsr(void)
{
    (void)upmu_x86_rdmsr(0xc1);
}

static void probe_rdpmc(void)
{
    (void)upmu_x86_rdpmc(0);
}

static void probe_cli(void)
{
    __asm__ volatile("cli");
}

bool trap_soaks(void)
{
    const char *wanted = getenv("TRAP_RUNS");

    return wanted && !strcmp(wanted, "soak");
}

bool trap_able(void)
{
    const char *reason = NULL;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!probe(probe_rdmsr))
        reason = "RDMSR does not fault in this process";
    else if (!probe(probe_rdpmc))
        reason = "RDPMC does not fault in this process";
    else if (!probe(probe_cli))
        reason = "CLI does not fault in this process";
    if (reason) {
        printf("skipped: %s\n[  SKIPPED ] trap\n", reason);
        return false;
    }
    if (set_cpuid(false) == 0)
        printf("CPUID faults and is answered by the model%s\n", set_cpuid(true) == 0 ? "" : "; and stays so");
    else
        printf("CPUID cannot be made to fault here: its leaves come through the cpuid hook\n");
    return true;
}

void trap_prepare(struct trap *trap, const char *profile)
{
    const struct upmu_sim_profile *found = upmu_sim_profile(profile);

    memset(trap, 0, sizeof *trap);
    if (!found)
        fail_msg("no profile %s", profile);
    upmu_sim_init(&trap->sim, found, 1);
    trap->sim.test = trap;
    trap->sim.deliver = deliver;
    upmu_sim_bind_cpu(&trap->sim, 0, &trap->cpu);
    trap->enabling_counts = true;
}

static void catch_signals(void)
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    action.sa_sigaction = on_fault;
    sigaction(SIGSEGV, &action, NULL);
    action.sa_sigaction = on_step;
    sigaction(SIGTRAP, &action, NULL);
}

void trap_up(struct trap *trap)
{
    now = trap;
    depth = 0;
    if (!apic_page)
        apic_page = mmap(NULL, APIC_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_int_not_equal(apic_page, MAP_FAILED);
    catch_signals();
    trap->cpuid_faults = set_cpuid(false) == 0;
    assert_int_equal(prctl(PR_SET_TSC, PR_TSC_SIGSEGV), 0);
    upmu_x86_native_port(&trap->native, (volatile void *)apic_page, trap->vector, TRAP_TSC_KHZ);
    trap->port = trap->native.port;
    trap->port.in_kernel_mode = false; /* its instructions are those of a process */
    if (!trap->cpuid_faults)
        trap->port.cpuid = model_cpuid;
    if (trap->no_rdpmc)
        trap->port.rdpmc = NULL;
    if (trap->safe_faults) {
        trap->port.rdmsr = safe_rdmsr;
        trap->port.wrmsr = safe_wrmsr;
        trap->port.rdpmc = trap->no_rdpmc ? NULL : safe_rdpmc;
        trap->port.msr_faults_are_safe = true;
    }
    trap->sim.port.msr_faults_are_safe = trap->safe_faults;
    assert_int_equal(upmu_machine_init(&trap->machine, &trap->port), UPMU_OK);
    assert_int_equal(upmu_cpu_init(&trap->cpu, &trap->machine, NULL), UPMU_OK);
}

void trap_down(struct trap *trap)
{
    assert_int_equal(upmu_cpu_fini(&trap->cpu), UPMU_OK);
    upmu_x86_native_quiet(&trap->native);
    assert_true(trap->sim.cpu[0].lvtpc & UPMU_SIM_LVTPC_MASKED);
    assert_int_equal(prctl(PR_SET_TSC, PR_TSC_ENABLE), 0);
    if (trap->cpuid_faults) {
        (void)set_cpuid(true);
        assert_compare(trap->cpuids, >, 0);
    }
    signal(SIGSEGV, SIG_DFL);
    signal(SIGTRAP, SIG_DFL);
    now = NULL;
    if (trap->sim.violation_count)
        fail_msg("%s (register %x)", trap->sim.first_violation.text, (unsigned)trap->sim.first_violation.address);
}

void trap_session(struct trap *trap, const char *list, uint64_t period)
{
    struct upmu_sampling sampling = {.period = period};

    assert_int_equal(upmu_session_init(&trap->session, &trap->machine), UPMU_OK);
    assert_int_equal(upmu_set_add(&trap->session.set, list, &sampling), UPMU_OK);
    if (period)
        assert_int_equal(upmu_session_ring(&trap->session, trap->ring, sizeof trap->ring), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(&trap->session, &trap->cpu), UPMU_OK);
}

uint64_t trap_value(struct trap *trap, unsigned event)
{
    struct upmu_count count;

    assert_int_equal(upmu_set_read(&trap->session.set, event, 1, &count), UPMU_OK);
    assert_int_equal(count.quality, UPMU_QUALITY_EXACT);
    return count.value;
}

uint64_t trap_between(const struct trap *trap)
{
    return trap->running.steps - trap->enabling_counts - trap->disabling_counts;
}

uint64_t trap_branches_between(const struct trap *trap)
{
    return trap->running.branches;
}
