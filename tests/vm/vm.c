/* SPDX-License-Identifier: MIT */
/*
 * The monitor: see vm.h.
 *
 * Every exit but a step is completed at once (KVM_RUN with immediate_exit), so that the
 * guest always stands between two instructions when the model is asked something.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "models/sim/sim_intern.h"
#include "tests/trap/trap_decode.h"
#include "tests/vm/vm_intern.h"

#define APIC_BASE_MSR 0x1bu
#define APIC_BASE_VALUE (APIC_PHYSICAL | 0x900u)
#define APIC_LVTPC 0x340u
#define APIC_ICR 0x300u
#define APIC_MODE 0x700u
#define APIC_MODE_NMI 0x400u
#define EXIT_PORT 0x501u
#define POST_PORT 0x80u
#define NO_BRANCH UINT64_MAX /* as an address: of an instruction that is none */
#define TRAP_FLAG 0x100u
#define BREAK_AT_0 0x402u /* DR7: execution of what DR0 points to, in any task */
#define VECTOR_DEBUG 1u
#define ENTRY_BYTES 16u /* of an interrupt entry of the kernel's */
#define PIT_SHOT_NS 20000000u

/* ---- Interrupts ---- */

void vm_inject(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_interrupt *interrupt)
{
    struct vm *vm = sim->test;
    struct kvm_interrupt vector = {.irq = sim->cpu[0].lvtpc & 0xffu};

    (void)cpu;
    vm->interrupts++;
    if (interrupt->nmi) {
        if (ioctl(vm->cpu, KVM_NMI, 0) < 0)
            vm_refuse(vm, "KVM_NMI");
    } else if (ioctl(vm->cpu, KVM_INTERRUPT, &vector) < 0) {
        vm_refuse(vm, "KVM_INTERRUPT");
    }
}

/* What the guest's flags and NMI blocking mean for the model. */
static void tell_model(struct vm *vm)
{
    struct upmu_sim_cpu *cpu = &vm->sim.cpu[0];

    cpu->irqs_on = vm->run->if_flag && vm->run->ready_for_interrupt_injection;
}

static bool nmi_blocked(const struct vm *vm)
{
    return vm->run->s.regs.events.nmi.masked || vm->run->s.regs.events.nmi.injected;
}

/* ---- Stepping ---- */

/* Counters, by bit. */
static uint32_t running(const struct upmu_sim *sim)
{
    uint32_t counters = 0;

    for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++)
        counters |= (uint32_t)upmu_sim_runs(sim, 0, i) << i;
    return counters;
}

/* Would the model count anything of an instruction in ring 0? */
static bool ring0_counts(const struct upmu_sim *sim)
{
    static const struct upmu_sim_burst step = {.instructions = 1, .cycles = 1, .ref_cycles = 1, .branches = 1};

    for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++)
        if (upmu_sim_family_delta(sim, 0, i, 0, &step) != 0)
            return true;
    return false;
}

static void step_guest(struct vm *vm, bool on)
{
    struct kvm_guest_debug debug = {.control = on ? KVM_GUESTDBG_ENABLE | KVM_GUESTDBG_SINGLESTEP : 0};

    if (on == vm->stepping)
        return;
    if (ioctl(vm->cpu, KVM_SET_GUEST_DEBUG, &debug) < 0)
        vm_refuse(vm, "KVM_SET_GUEST_DEBUG");
    vm->stepping = on;
}

static void look(struct vm *vm)
{
    const struct kvm_sregs *sregs = &vm->run->s.regs.sregs;

    vm->last_ip = vm->run->s.regs.regs.rip;
    vm->last_ring = sregs->cs.selector & 3u;
    vm->long_mode = sregs->cs.l;
}

/*
 * The instruction that stood at last_ip was executed, by the CPU or by us; the guest stands at
 * the next.
 */
static void retire(struct vm *vm, bool by_us)
{
    unsigned ring = vm->last_ring != 0;
    bool branch = vm->last_ip < MEMORY_BYTES && trap_is_branch(vm->memory + vm->last_ip, vm->long_mode);
    struct upmu_sim_burst burst = {.instructions = 1,
                                   .cycles = !by_us,
                                   .ref_cycles = !by_us,
                                   .branches = branch,
                                   .user = ring,
                                   .ip = vm->run->s.regs.regs.rip,
                                   .sp = vm->run->s.regs.regs.rsp};

    vm->steps[ring]++;
    vm->branches[ring] += branch;
    if (vm->in_span) {
        vm->span[vm->spans].steps[ring]++;
        vm->span[vm->spans].branches[ring] += branch;
        if (ring && vm->seen_count < VM_SEEN)
            vm->seen[vm->seen_count++] = (uint32_t)burst.ip;
    }
    tell_model(vm);
    upmu_sim_events(&vm->sim, &burst);
    if (!vm->silicon || by_us)
        return;
    vm->executed[ring]++;
    upmu_sim_events(vm->silicon, &burst);
}

/*
 * Nothing counts in ring 0: let the handler run without steps as far as its IRET, or
 * until a write lets ring 0 count.
 */
static void rest_until(struct vm *vm, uint64_t iret)
{
    struct kvm_guest_debug debug = {.control = KVM_GUESTDBG_ENABLE | KVM_GUESTDBG_USE_HW_BP,
                                    .arch.debugreg = {[0] = iret, [7] = BREAK_AT_0}};

    if (ioctl(vm->cpu, KVM_SET_GUEST_DEBUG, &debug) < 0)
        return;
    vm->stepping = false;
    vm->resting = true;
}

/* ---- IRET ---- */

/*
 * Done here, always while stepping: the flags it loads end the stepping, and in 32
 * bits not every KVM can emulate it.
 */
static bool at_iret(const struct vm *vm)
{
    const uint8_t *code = vm->memory + vm->last_ip;

    if (vm->last_ip >= MEMORY_BYTES - 1)
        return false;
    return *code == 0xcf || (vm->long_mode && *code == 0x48 && code[1] == 0xcf);
}

static void user_segment(struct kvm_segment *segment, uint64_t selector, bool code, bool long_mode)
{
    vm_flat_segment(segment, code);
    segment->selector = (uint16_t)selector;
    segment->dpl = selector & 3u;
    segment->l = code && long_mode;
    segment->db = !segment->l;
}

static uint64_t stack_word(const struct vm *vm, uint64_t sp, unsigned word)
{
    unsigned bytes = vm->long_mode ? 8 : 4;
    uint64_t value = 0, at = sp + word * bytes;

    if (at + bytes <= MEMORY_BYTES)
        memcpy(&value, vm->memory + at, bytes);
    return value;
}

/*
 * Leave an interrupt whose frame is at `sp`.  The trap flag of ring 3 is set while we
 * step: some KVMs step ring 0 by themselves, and ring 3 only by its own flag.
 */
static void leave_to(struct vm *vm, uint64_t sp)
{
    struct kvm_regs *regs = &vm->run->s.regs.regs;
    struct kvm_sregs *sregs = &vm->run->s.regs.sregs;
    uint64_t cs = stack_word(vm, sp, 1);
    bool outward = (cs & 3u) > (sregs->cs.selector & 3u);

    regs->rip = stack_word(vm, sp, 0);
    regs->rflags = stack_word(vm, sp, 2) & ~TRAP_FLAG;
    if (vm->stepping && (cs & 3u) && vm->long_mode)
        regs->rflags |= TRAP_FLAG;
    user_segment(&sregs->cs, cs, true, vm->long_mode);
    if (vm->long_mode || outward) {
        regs->rsp = stack_word(vm, sp, 3);
        user_segment(&sregs->ss, stack_word(vm, sp, 4), false, false);
    } else {
        regs->rsp = sp + 12;
    }
    if (ioctl(vm->cpu, KVM_SET_SREGS, sregs) < 0 || ioctl(vm->cpu, KVM_SET_REGS, regs) < 0)
        vm_refuse(vm, "IRET");
    vm->run->if_flag = regs->rflags >> 9 & 1;
    vm->run->ready_for_interrupt_injection = vm->run->if_flag;
}

/* Stepping is tied to the flags that were just replaced. */
static void step_again(struct vm *vm)
{
    if (!vm->stepping)
        return;
    vm->stepping = false;
    step_guest(vm, true);
}

static bool iret_is_ours(const struct vm *vm)
{
    return vm->stepping || vm->run->exit_reason == KVM_EXIT_INTERNAL_ERROR ||
           (vm->resting && vm->run->exit_reason == KVM_EXIT_DEBUG);
}

static void do_iret(struct vm *vm)
{
    struct kvm_vcpu_events *events = &vm->run->s.regs.events;

    if (stack_word(vm, vm->run->s.regs.regs.rsp, 1) & 3u) {
        vm->iret_of[vm->vector] = vm->last_ip;
        if (vm->resting) {
            step_guest(vm, true);
            step_guest(vm, running(&vm->sim) != 0);
        }
        vm->resting = false;
    }
    leave_to(vm, vm->run->s.regs.regs.rsp);
    events->nmi.masked = 0;
    events->flags = 0;
    if (ioctl(vm->cpu, KVM_SET_VCPU_EVENTS, events) < 0)
        vm_refuse(vm, "KVM_SET_VCPU_EVENTS");
    vm->irets++;
    if (vm->stepping)
        retire(vm, false);
    step_again(vm);
    look(vm);
}

/* ---- Steps ---- */

/* Where the guest's interrupt descriptor table sends a vector. */
static uint64_t gate(const struct vm *vm, unsigned vector)
{
    unsigned bytes = vm->long_mode ? 16 : 8;
    uint64_t at = vm->run->s.regs.sregs.idt.base + vector * bytes;
    const uint8_t *descriptor = vm->memory + at;
    uint16_t low, middle;
    uint32_t high = 0;

    if (at + bytes > MEMORY_BYTES)
        return UINT64_MAX;
    memcpy(&low, descriptor, 2);
    memcpy(&middle, descriptor + 6, 2);
    if (vm->long_mode)
        memcpy(&high, descriptor + 8, 4);
    return (uint64_t)high << 32 | (uint32_t)middle << 16 | low;
}

static bool inside_entry(uint64_t ip, uint64_t entry)
{
    return ip >= entry && ip < entry + ENTRY_BYTES;
}

/*
 * A step was reported.  If an interrupt or a fault was taken, the handler's first
 * instruction is what was executed.  If it was ring 3's own trap, which some KVMs give
 * to the guest, its handler has pushed a word; the guest must never know.
 */
static void take_step(struct vm *vm)
{
    uint64_t ip = vm->run->s.regs.regs.rip, entry = gate(vm, VECTOR_DEBUG);
    bool from_ring3 = false, ring0 = !(vm->run->s.regs.sregs.cs.selector & 3u);

    if (vm->last_ring && ring0 && inside_entry(ip, entry)) {
        leave_to(vm, vm->run->s.regs.regs.rsp + (ip != entry ? 8 : 0));
        retire(vm, false);
        step_again(vm);
        return;
    }
    for (unsigned vector = 0; ring0 && vector < 256 && ip >= gate(vm, 0); vector++) {
        entry = gate(vm, vector);
        if (inside_entry(ip, entry) && !inside_entry(vm->last_ip, entry)) {
            from_ring3 = vm->last_ring != 0;
            if (from_ring3)
                vm->vector = (uint8_t)vector;
            vm->last_ip = entry;
            vm->last_ring = 0;
            break;
        }
    }
    retire(vm, false);
    if (from_ring3 && vm->iret_of[vm->vector] && !ring0_counts(&vm->sim))
        rest_until(vm, vm->iret_of[vm->vector]);
}

/* ---- Exits ---- */

bool vm_other_msr(const struct vm *vm, uint32_t msr, uint64_t *out_value)
{
    (void)vm;
    *out_value = APIC_BASE_VALUE;
    return msr == APIC_BASE_MSR;
}

static void answer_rdmsr(struct vm *vm)
{
    uint64_t value = 0;
    bool done = vm_other_msr(vm, vm->run->msr.index, &value) ||
                vm->sim.port.rdmsr(&vm->sim, vm->run->msr.index, &value);

    vm->run->msr.data = value;
    vm->run->msr.error = !done;
}

static void answer_wrmsr(struct vm *vm)
{
    uint64_t base;

    vm->run->msr.error = !vm_other_msr(vm, vm->run->msr.index, &base) &&
                         !vm->sim.port.wrmsr(&vm->sim, vm->run->msr.index, vm->run->msr.data);
}

bool vm_writes_lvtpc(const struct vm *vm, uint32_t *out_value)
{
    memcpy(out_value, vm->run->mmio.data, sizeof *out_value);
    return vm->run->exit_reason == KVM_EXIT_MMIO && vm->run->mmio.is_write &&
           vm->run->mmio.phys_addr == APIC_PHYSICAL + APIC_LVTPC;
}

static void answer_mmio(struct vm *vm)
{
    uint64_t offset = vm->run->mmio.phys_addr - APIC_PHYSICAL;
    uint32_t value = 0;

    if (!vm->run->mmio.is_write) {
        value = offset == APIC_LVTPC ? vm->sim.cpu[0].lvtpc : offset < 4096 ? vm->lapic[offset / 4] : 0;
        memset(vm->run->mmio.data, 0, sizeof vm->run->mmio.data);
        memcpy(vm->run->mmio.data, &value, sizeof value);
        return;
    }
    if (vm_writes_lvtpc(vm, &value)) {
        upmu_sim_write_lvtpc(&vm->sim, 0, value);
    } else if (offset == APIC_ICR && (value & APIC_MODE) == APIC_MODE_NMI) {
        if (ioctl(vm->cpu, KVM_NMI, 0) < 0)
            vm_refuse(vm, "KVM_NMI");
    } else if (offset == APIC_ICR && (value & APIC_MODE) == 0) {
        vm->vector_due = (uint8_t)value;
    } else if (offset < 4096) {
        vm->lapic[offset / 4] = value;
    }
}

static uint8_t read_port(struct vm *vm, unsigned port)
{
    double late = vm_seconds() * 1e9 - (double)vm->shot_at;

    switch (port) {
    case 0x3fd:
        return 0x60; /* sent */
    case 0x61:
        return vm->shot_at && late >= PIT_SHOT_NS ? 0x20 : 0;
    case 0x64:
    case 0x60:
        return 0;
    default:
        return 0xff;
    }
}

static void write_port(struct vm *vm, unsigned port, uint8_t value)
{
    switch (port) {
    case 0x3f8:
        if (vm->line_control & 0x80u || vm->serial_length >= VM_SERIAL - 1)
            break;
        vm->serial[vm->serial_length++] = (char)value;
        if (value == '\n' && vm->lines < VM_LINES)
            vm->spans_at[vm->lines++] = vm->spans;
        break;
    case 0x3fb:
        vm->line_control = value;
        break;
    case 0x42:
        vm->shot_at = (uint64_t)(vm_seconds() * 1e9);
        break;
    case POST_PORT:
        if (vm->marks == VM_MARKS)
            break;
        vm->accesses_at[vm->marks] = (struct vm_accesses){vm->msr_reads, vm->msr_writes, vm->lapic_writes};
        vm->mark[vm->marks++] = value;
        break;
    case EXIT_PORT:
        vm->exit_code = value;
        vm->done = true;
        break;
    default:
        break;
    }
}

static void answer_io(struct vm *vm)
{
    uint8_t *data = (uint8_t *)vm->run + vm->run->io.data_offset;

    for (uint32_t i = 0; i < vm->run->io.count; i++, data += vm->run->io.size) {
        if (vm->run->io.direction == KVM_EXIT_IO_OUT) {
            write_port(vm, vm->run->io.port, *data);
        } else {
            memset(data, 0xff, vm->run->io.size);
            *data = read_port(vm, vm->run->io.port);
        }
    }
}

/* The access is answered: have the guest stand behind its instruction. */
static void complete(struct vm *vm)
{
    vm->run->immediate_exit = 1;
    if (ioctl(vm->cpu, KVM_RUN, 0) < 0 && errno != EINTR)
        vm_refuse(vm, "KVM_RUN to complete an access");
    vm->run->immediate_exit = 0;
}

static void begin_access(struct vm *vm)
{
    uint32_t value;

    vm->ran = running(&vm->sim);
    vm->msr_reads += vm->run->exit_reason == KVM_EXIT_X86_RDMSR;
    vm->msr_writes += vm->run->exit_reason == KVM_EXIT_X86_WRMSR;
    vm->lapic_writes += vm_writes_lvtpc(vm, &value);
    vm->sim.cpu[0].irqs_on = vm->run->if_flag && !nmi_blocked(vm);
}

void vm_answer(struct vm *vm)
{
    switch (vm->run->exit_reason) {
    case KVM_EXIT_X86_RDMSR:
        answer_rdmsr(vm);
        break;
    case KVM_EXIT_X86_WRMSR:
        answer_wrmsr(vm);
        break;
    case KVM_EXIT_MMIO:
        answer_mmio(vm);
        break;
    default:
        answer_io(vm);
        break;
    }
}

/*
 * A write that lets counters run begins a span, one that stops all ends it.  Unless the enabling one counts, a
 * counter counts it only if it ran before.
 */
void vm_finish(struct vm *vm)
{
    uint32_t before = vm->ran, after = running(&vm->sim);

    if (vm->run->exit_reason == KVM_EXIT_X86_RDMSR || vm->run->exit_reason == KVM_EXIT_X86_WRMSR)
        vm->msr_faults += vm->run->msr.error;
    if (vm->done || (!before && !after && vm->run->exit_reason == KVM_EXIT_IO))
        return; /* the guest's position is not needed: the next KVM_RUN completes it */
    complete(vm);
    vm->last_ip = NO_BRANCH;
    vm->last_ring = 0;
    if (before && !after) {
        vm->in_span = false;
        vm->spans++;
    }
    vm->sim.unmoved = vm->enabling_counts ? 0 : after & ~before;
    if (before || (after && vm->enabling_counts))
        retire(vm, true);
    vm->sim.unmoved = 0;
    if (after && !before && vm->spans < VM_SPANS) {
        vm->in_span = true;
        vm->span[vm->spans].user_at = vm->seen_count;
    }
    if (vm->resting && ring0_counts(&vm->sim))
        vm->resting = false;
    if (!vm->resting)
        step_guest(vm, after != 0);
}

static void describe_stop(struct vm *vm)
{
    snprintf(vm->failure, sizeof vm->failure, "exit %u (suberror %u) at %llx", vm->run->exit_reason,
             vm->run->exit_reason == KVM_EXIT_INTERNAL_ERROR ? vm->run->internal.suberror : 0,
             (unsigned long long)vm->run->s.regs.regs.rip);
    vm->done = true;
}

/* True: an access, which is to be answered. */
static bool handle_exit(struct vm *vm)
{
    switch (vm->run->exit_reason) {
    case KVM_EXIT_DEBUG:
        if (vm->stepping)
            take_step(vm);
        return false;
    case KVM_EXIT_X86_RDMSR:
    case KVM_EXIT_X86_WRMSR:
    case KVM_EXIT_MMIO:
    case KVM_EXIT_IO:
        begin_access(vm);
        return true;
    case KVM_EXIT_IRQ_WINDOW_OPEN:
    case KVM_EXIT_INTR:
        return false;
    case KVM_EXIT_INTERNAL_ERROR:
        look(vm);
        if (!at_iret(vm))
            describe_stop(vm);
        return false;
    default:
        describe_stop(vm);
        return false;
    }
}

/* Where the guest stands; an IRET there is done by us. */
static void stand(struct vm *vm)
{
    look(vm);
    while (!vm->done && !vm->left && at_iret(vm) && iret_is_ours(vm)) {
        vm->run->exit_reason = KVM_EXIT_DEBUG;
        do_iret(vm);
    }
}

static void interrupt_when_possible(struct vm *vm)
{
    struct kvm_interrupt vector = {.irq = vm->vector_due};

    tell_model(vm);
    upmu_sim_poll(&vm->sim, 0);
    if (vm->vector_due && vm->sim.cpu[0].irqs_on) {
        vm->vector_due = 0;
        if (ioctl(vm->cpu, KVM_INTERRUPT, &vector) < 0)
            vm_refuse(vm, "KVM_INTERRUPT");
        vm->run->ready_for_interrupt_injection = false;
    }
    vm->run->request_interrupt_window = vm->sim.cpu[0].irq_pending || vm->vector_due;
}

bool vm_enter(struct vm *vm)
{
    for (;;) {
        stand(vm);
        if (vm->done || vm->left)
            return !vm->done;
        interrupt_when_possible(vm);
        if (ioctl(vm->cpu, KVM_RUN, 0) < 0 && errno != EINTR && errno != EAGAIN)
            return vm_refuse(vm, "KVM_RUN");
        if (handle_exit(vm))
            return true;
        if ((++vm->exits & 0xfff) == 0 && vm_seconds() > vm->end) {
            snprintf(vm->failure, sizeof vm->failure, "not done after %.0f s, at %llx", vm->seconds,
                     (unsigned long long)vm->last_ip);
            vm->done = true;
        }
    }
}

void vm_begin(struct vm *vm)
{
    vm->end = vm_seconds() + vm->seconds;
    vm->run->kvm_valid_regs = KVM_SYNC_X86_REGS | KVM_SYNC_X86_SREGS | KVM_SYNC_X86_EVENTS;
}

bool vm_end(struct vm *vm)
{
    vm->serial[vm->serial_length] = '\0';
    return !vm->failure[0];
}

bool vm_run(struct vm *vm)
{
    vm_begin(vm);
    while (vm_enter(vm)) {
        vm_answer(vm);
        vm_finish(vm);
    }
    return vm_end(vm);
}
