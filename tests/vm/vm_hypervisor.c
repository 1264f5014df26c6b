/* SPDX-License-Identifier: MIT */
/*
 * The monitor's machine behind examples/hypervisor: see vm_hypervisor.h.
 */
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "tests/guest/guest_sources.h"

#include "abi/paravirt/pv_select.c"
#include "abi/paravirt/pv_call.c"
#include "abi/paravirt/pv_events.c"
#include "abi/paravirt/pv_page.c"

/* By the door that the guest has. */
static enum upmu_status enter_by_door(struct upmu_guest *guest, struct upmu_guest_entry *out_entry);
#define upmu_guest_enter enter_by_door
#include "examples/hypervisor/hypervisor.c"
#undef upmu_guest_enter

#include "tests/common/host.h"
#include "tests/vm/vm_hypervisor.h"
#include "tests/vm/vm_intern.h"

#define MISC_ENABLE 0x1a0u
#define MISC_NO_BTS_PEBS 0x1800u
#define PERF_CAPABILITIES 0x345u
#define CAPABILITIES_SHOWN 0x2000u /* of a shape: full writes */
#define DEBUGCTL 0x1d9u
#define HWCR 0xc0010015u
#define PER_EXIT 100u /* instructions of the host */
#define PAGE_LEAF 0x40000100u
#define PAGE_CALL 0x540u /* an I/O port */

enum { OWN, GUESTS, ALL };

static struct {
    struct host host;
    struct vcpu vcpu;
    struct vm *vm;
    bool inside, beside, over;
    unsigned foreseen; /* interrupts of the guest's CPU */
    uint64_t executed; /* instructions of the host */
    uint32_t leaf[4];  /* CPUID of the guest's CPU */
    bool page;         /* the guest's door is the page */
    struct upmu_pv pv;
    struct upmu_pv_vcpu door;
    uint32_t gate;   /* slots that count */
    uint32_t answer; /* of its last call */
} hypervisor;

static enum upmu_status enter_by_door(struct upmu_guest *guest, struct upmu_guest_entry *out_entry)
{
    return hypervisor.page ? upmu_pv_enter(&hypervisor.door, out_entry) : upmu_guest_enter(guest, out_entry);
}

/* ---- Interrupts ---- */

/* The host's NMI: if it came in the guest, the guest's turn ends. */
static void host_interrupt(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_interrupt *interrupt)
{
    host_deliver(sim, cpu, interrupt);
    hypervisor.vm->left = hypervisor.inside;
}

static void foresee(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_interrupt *interrupt)
{
    (void)sim, (void)cpu, (void)interrupt;
    hypervisor.foreseen++;
}

void machine_inject(struct vcpu *vcpu, unsigned what, unsigned vector)
{
    struct vm *vm = hypervisor.vm;

    (void)vcpu;
    vm->interrupts += vm->vector_due == 0;
    if (what == UPMU_GUEST_INJECT_VECTOR)
        vm->vector_due = (uint8_t)vector;
    else if (ioctl(vm->cpu, KVM_NMI, 0) < 0)
        vm_refuse(vm, "KVM_NMI");
}

/* ---- Exits ---- */

enum exit_reason machine_enter(struct vcpu *vcpu)
{
    struct vm *vm = hypervisor.vm;
    uint32_t value;
    bool runs;

    vm->left = false;
    hypervisor.inside = true;
    runs = vm_enter(vm);
    hypervisor.inside = false;
    hypervisor.over = !runs;
    if (!runs)
        return EXIT_HALT;
    if (vm->left)
        return EXIT_NMI;
    vcpu->user = vm->run->s.regs.sregs.cs.selector & 3u;
    vcpu->rcx = vm->run->msr.index;
    vcpu->value = vm->run->msr.data;
    if (vm->run->exit_reason == KVM_EXIT_X86_RDMSR)
        return EXIT_RDMSR;
    if (vm->run->exit_reason == KVM_EXIT_X86_WRMSR)
        return EXIT_WRMSR;
    if (!vm_writes_lvtpc(vm, &value))
        return EXIT_OTHER;
    vcpu->value = value;
    return EXIT_LVTPC;
}

/* RDMSR and WRMSR of the guest's CPU, and what came of them. */
static void judge(struct vm *vm, uint64_t seen, bool write)
{
    struct upmu_port *port = &vm->sim.port;
    uint32_t msr = vm->run->msr.index;
    uint64_t expected = seen;
    bool fine;

    if (vm_other_msr(vm, msr, &expected))
        return;
    expected = seen;
    fine = write ? port->wrmsr(&vm->sim, msr, seen) : port->rdmsr(&vm->sim, msr, &expected);
    expected |= msr == MISC_ENABLE ? MISC_NO_BTS_PEBS : 0;
    expected &= msr == PERF_CAPABILITIES ? CAPABILITIES_SHOWN : UINT64_MAX;
    fine &= !hypervisor.page; /* (It has no registers of a PMU.) */
    if ((fine && seen == expected) || vm->failure[0])
        return;
    snprintf(vm->failure, sizeof vm->failure, "%s %x: %llx, on the guest's CPU %s %llx", write ? "WRMSR" : "RDMSR", msr,
             (unsigned long long)seen, fine ? "" : "a fault", (unsigned long long)expected);
    vm->done = true;
}

/* ---- The page ---- */

static void *guest_memory(void *context, uint64_t address, size_t bytes)
{
    (void)context;
    return address < MEMORY_BYTES && bytes <= MEMORY_BYTES - address ? hypervisor.vm->memory + address : NULL;
}

static bool copy_guest_memory(void *context, void *to, uint64_t address, size_t bytes)
{
    const void *from = guest_memory(context, address, bytes);

    if (from)
        memcpy(to, from, bytes);
    return from;
}

static void unpin_guest_memory(void *context, void *memory, size_t bytes)
{
    (void)context, (void)memory, (void)bytes;
}

static const struct upmu_pv_hooks page_hooks = {
    .copy_in = copy_guest_memory, .pin = guest_memory, .unpin = unpin_guest_memory};

/* What slots show is what counters of the guest's CPU have. */
static void judge_slots(struct vm *vm, uint32_t slots)
{
    for (unsigned n = 0; n < hypervisor.vcpu.pmu.shape.general; n++) {
        uint64_t seen = hypervisor.door.page ? hypervisor.door.page->slot[n].value : 0, expected = seen;

        if (!(slots >> n & 1u) || !hypervisor.door.page)
            continue;
        (void)vm->sim.port.rdmsr(&vm->sim, 0xc1 + n, &expected);
        if (seen == expected || vm->failure[0])
            continue;
        snprintf(vm->failure, sizeof vm->failure, "slot %u shows %llx, a counter of the guest's CPU %llx", n,
                 (unsigned long long)seen, (unsigned long long)expected);
        vm->done = true;
    }
}

/* The guest's CPU counts what the slots count that begin. */
static void tell_slots(struct vm *vm, uint32_t slots)
{
    static const uint16_t generic[] = {0x003c, 0x00c0, 0x4f2e, 0x412e, 0x00c4, 0x00c5, 0x013c};
    struct upmu_port *port = &vm->sim.port;
    bool fine = port->wrmsr(&vm->sim, 0x38f, 0);

    judge_slots(vm, hypervisor.gate & ~slots);
    for (unsigned n = 0; n < hypervisor.vcpu.pmu.shape.general; n++) {
        const struct upmu_pv_page *page = hypervisor.door.page;
        uint64_t config = page->wish[n].config, select = config & 0xff84ffff;

        if (!(slots & ~hypervisor.gate & UPMU_BIT32(n)) || !(config & UPMU_PV_WISH_USED))
            continue;
        if (!(config & UPMU_PV_WISH_RAW))
            select = generic[(config & 15u) % 7u];
        select |= (config & UPMU_PV_WISH_USER ? 1u << 16 : 0) | (config & UPMU_PV_WISH_KERNEL ? 1u << 17 : 0) |
                  (config & UPMU_PV_WISH_INTERRUPT ? 1u << 20 : 0) | 1u << 22;
        fine &= port->wrmsr(&vm->sim, 0x186 + n, select) && port->wrmsr(&vm->sim, 0x4c1 + n, page->slot[n].value);
    }
    fine &= port->wrmsr(&vm->sim, 0x390, UPMU_BIT32(hypervisor.vcpu.pmu.shape.general) - 1u) &&
            port->wrmsr(&vm->sim, 0x38f, slots);
    hypervisor.gate = slots;
    assert_true(fine);
}

/* True: the exit was a call, or the read of its answer. */
static bool answer_call(struct vm *vm)
{
    const struct kvm_regs *regs = &vm->run->s.regs.regs;
    uint32_t *data = (void *)((uint8_t *)vm->run + vm->run->io.data_offset);

    if (!hypervisor.page || vm->run->exit_reason != KVM_EXIT_IO || vm->run->io.port != PAGE_CALL)
        return false;
    if (vm->run->io.direction == KVM_EXIT_IO_IN) {
        *data = hypervisor.answer;
        return true;
    }
    hypervisor.answer = upmu_pv_call(&hypervisor.door, *data, (uint32_t)regs->rbx, (uint32_t)regs->rcx);
    if (*data == UPMU_PV_GATE && hypervisor.answer == UPMU_PV_OK)
        tell_slots(vm, (uint32_t)regs->rbx);
    else if (*data == UPMU_PV_READ_ALL)
        judge_slots(vm, (uint32_t)regs->rbx & hypervisor.gate);
    return true;
}

void machine_next_instruction(struct vcpu *vcpu)
{
    struct vm *vm = hypervisor.vm;

    if (hypervisor.over)
        return;
    if (vm->run->exit_reason == KVM_EXIT_X86_RDMSR) {
        vm->run->msr.error = 0;
        vm->run->msr.data = vcpu->value;
        judge(vm, vcpu->value, false);
    } else if (vm->run->exit_reason == KVM_EXIT_X86_WRMSR) {
        vm->run->msr.error = 0;
        judge(vm, vcpu->value, true);
    } else if (!answer_call(vm)) {
        vm_answer(vm);
    }
    vm_finish(vm);
    hypervisor.executed += PER_EXIT;
    host_run(&hypervisor.host, PER_EXIT);
}

void machine_general_protection(struct vcpu *vcpu)
{
    (void)vcpu;
    hypervisor.vm->run->msr.error = 1;
    vm_finish(hypervisor.vm);
}

/* ---- Registers that are not the engine's ---- */

/* What the guest's CPU has beside its PMU. */
static bool has_register(const struct vm *vm, uint32_t msr)
{
    uint64_t ignored;

    return vm_other_msr(vm, msr, &ignored) || msr == DEBUGCTL || msr == (vm->sim.profile->amd ? HWCR : MISC_ENABLE);
}

bool machine_rdmsr(struct vcpu *vcpu, uint32_t msr, uint64_t *out_value)
{
    struct vm *vm = hypervisor.vm;

    (void)vcpu;
    if (!has_register(vm, msr))
        return false;
    if (vm_other_msr(vm, msr, out_value))
        return true;
    *out_value = 0;
    if (msr == DEBUGCTL)
        return true;
    if (!vm->sim.port.rdmsr(&vm->sim, msr, out_value))
        return false;
    *out_value |= msr == MISC_ENABLE ? MISC_NO_BTS_PEBS : 0;
    return true;
}

/* machine_next_instruction() tells the guest's CPU. */
bool machine_wrmsr(struct vcpu *vcpu, uint32_t msr, uint64_t value)
{
    (void)vcpu, (void)value;
    return has_register(hypervisor.vm, msr);
}

/* KVM wants all answers beforehand: each is an exit that never was. */
static void show(uint32_t leaf, uint32_t subleaf, uint32_t inout[4])
{
    struct vcpu *vcpu = &hypervisor.vcpu;

    if (hypervisor.page && upmu_pv_cpuid(&hypervisor.door, PAGE_LEAF, PAGE_CALL, leaf, inout))
        return;
    memcpy(hypervisor.leaf, inout, sizeof hypervisor.leaf);
    vcpu->rax = leaf;
    vcpu->rcx = subleaf;
    (void)emulate(vcpu, EXIT_CPUID);
    inout[0] = (uint32_t)vcpu->rax;
    inout[1] = (uint32_t)vcpu->rbx;
    inout[2] = (uint32_t)vcpu->rcx;
    inout[3] = (uint32_t)vcpu->rdx;
}

void machine_cpuid(uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    (void)leaf, (void)subleaf;
    memcpy(out, hypervisor.leaf, sizeof hypervisor.leaf);
}

/* ---- Life ---- */

static const struct upmu_guest_policy all_events = {
    .level = UPMU_GUEST_ALL, .flags = UPMU_GUEST_BESIDE_STRANGERS, .min_period = 1};

/* The PMU that the guest's CPU has, as far as a shape can show it. */
static struct upmu_guest_shape shape_of(const char *profile)
{
    const struct upmu_sim_profile *guest = upmu_sim_profile(profile);
    struct upmu_guest_shape shape;
    enum upmu_guest_door door = UPMU_GUEST_INTEL;

    if (guest->amd)
        door = strcmp(profile, "zen4") == 0   ? UPMU_GUEST_AMD_V2
               : strncmp(profile, "k", 1) == 0 ? UPMU_GUEST_AMD_K7
                                              : UPMU_GUEST_AMD_CORE;
    assert_int_equal(upmu_guest_shape_default(&hypervisor.host.machine, door, &all_events, &shape), UPMU_OK);
    if (door != UPMU_GUEST_INTEL)
        return shape;
    shape.width = guest->general_width;
    shape.full_write = guest->capabilities >> 13 & 1u;
    return shape;
}

static void count_beside(unsigned i, enum upmu_world world)
{
    struct upmu_session *session = &hypervisor.host.sessions[i];

    host_add(&hypervisor.host, i, "instructions", 0);
    assert_int_equal(upmu_session_world(session, world), UPMU_OK);
    host_begin(&hypervisor.host, session);
}

bool vm_hypervisor_open(struct vm *vm, const char *host, const char *profile, const char *elf, const char *line,
                        bool beside, bool page)
{
    struct upmu_guest_shape shape;

    memset(&hypervisor, 0, sizeof hypervisor);
    host_set_up(&hypervisor.host, host);
    host_threads(&hypervisor.host, 1);
    hypervisor.host.sim.deliver = host_interrupt;
    shape = shape_of(profile);
    assert_int_equal(vcpu_create(&hypervisor.vcpu, &hypervisor.host.machine, &shape, &all_events), UPMU_OK);
    hypervisor.page = page;
    if (page) {
        assert_int_equal(upmu_pv_init(&hypervisor.pv, &page_hooks, NULL, 0), UPMU_OK);
        assert_int_equal(upmu_pv_vcpu_init(&hypervisor.door, &hypervisor.pv, &hypervisor.vcpu.pmu), UPMU_OK);
    }
    assert_int_equal(
        upmu_thread_switch(&hypervisor.host.cpu[0], &hypervisor.host.threads[0], &hypervisor.vcpu.thread), UPMU_OK);
    hypervisor.vm = vm;
    hypervisor.beside = beside;
    if (beside) {
        count_beside(OWN, UPMU_WORLD_HOST);
        count_beside(GUESTS, UPMU_WORLD_GUEST);
        count_beside(ALL, UPMU_WORLD_BOTH);
    }
    if (!vm_open_shown(vm, profile, elf, line, show))
        return false;
    vm->sim.deliver = foresee;
    vm->silicon = &hypervisor.host.sim;
    return true;
}

bool vm_hypervisor_run(struct vm *vm)
{
    vm_begin(vm);
    vcpu_run(&hypervisor.vcpu);
    if (!vm->failure[0] && vm->interrupts != hypervisor.foreseen)
        snprintf(vm->failure, sizeof vm->failure, "%u interrupts, of the guest's CPU %u", (unsigned)vm->interrupts,
                 hypervisor.foreseen);
    return vm_end(vm);
}

void vm_hypervisor_close(struct vm *vm, struct vm_beside *out_beside)
{
    struct host *host = &hypervisor.host;

    if (out_beside)
        *out_beside = (struct vm_beside){host_value(&host->sessions[OWN], 0), host_value(&host->sessions[GUESTS], 0),
                                         host_value(&host->sessions[ALL], 0), hypervisor.executed,
                                         vm->executed[0] + vm->executed[1]};
    assert_int_equal(upmu_thread_switch(&host->cpu[0], &hypervisor.vcpu.thread, &host->threads[0]), UPMU_OK);
    if (hypervisor.page)
        upmu_pv_vcpu_fini(&hypervisor.door);
    assert_int_equal(upmu_guest_fini(&hypervisor.vcpu.pmu), UPMU_OK);
    for (unsigned i = OWN; i <= ALL && hypervisor.beside; i++)
        assert_int_equal(upmu_session_close(&host->sessions[i]), UPMU_OK, i);
    host_no_violation(host);
    host_end_idle(host);
    vm_close(vm);
}
