/* SPDX-License-Identifier: MIT */
/*
 * A hypervisor that shows its guests a PMU: seven calls in the loop that runs a virtual CPU.  What
 * this machine's virtualisation does (VMCS or VMCB) stands behind the functions machine_….
 */
#include <abi/guest/guest.h>

#define SESSIONS 12 /* one for each virtual counter */

/* EXIT_OTHER: an instruction that machine_next_instruction() emulates. */
enum exit_reason { EXIT_RDMSR, EXIT_WRMSR, EXIT_RDPMC, EXIT_CPUID, EXIT_NMI, EXIT_APIC, EXIT_OTHER, EXIT_HALT };

struct vcpu {
    uint64_t rax, rbx, rcx, rdx;
    uint64_t value;            /* EXIT_WRMSR: EDX:EAX; EXIT_APIC: what was written to 340h */
    bool user;                 /* the exit came from user mode */
    struct upmu_thread thread; /* of the host's thread that runs it, for upmu_thread_switch() */
    struct upmu_session sessions[SESSIONS];
    struct upmu_guest pmu;
};

/* Enter the guest; returns at its next exit. */
enum exit_reason machine_enter(struct vcpu *vcpu);
void machine_inject(struct vcpu *vcpu, unsigned what, unsigned vector); /* enum upmu_guest_inject */
void machine_general_protection(struct vcpu *vcpu);
void machine_next_instruction(struct vcpu *vcpu);
void machine_cpuid(uint32_t leaf, uint32_t subleaf, uint32_t out[4]);
/* Other registers; false: there is none. */
bool machine_rdmsr(struct vcpu *vcpu, uint32_t msr, uint64_t *out_value);
bool machine_wrmsr(struct vcpu *vcpu, uint32_t msr, uint64_t value);

/*
 * Call it before the thread of the vCPU runs for the first time.  `shape`: of upmu_guest_shape_default(), or
 * less; `policy` NULL: cycles and instructions alone.
 */
enum upmu_status vcpu_create(struct vcpu *vcpu, struct upmu_machine *machine, const struct upmu_guest_shape *shape,
                             const struct upmu_guest_policy *policy)
{
    struct upmu_guest_memory memory = {vcpu->sessions, SESSIONS, &vcpu->thread};

    upmu_thread_init(&vcpu->thread, 0, 0, vcpu);
    return upmu_guest_init(&vcpu->pmu, machine, shape, policy, &memory);
}

static bool emulate(struct vcpu *vcpu, enum exit_reason reason)
{
    enum upmu_guest_access access = UPMU_GUEST_DONE;
    uint32_t msr = (uint32_t)vcpu->rcx, words[4];
    uint64_t own = 0;
    bool fine = true;

    switch (reason) {
    case EXIT_RDMSR:
        access = upmu_guest_rdmsr(&vcpu->pmu, msr, &own);
        if (access == UPMU_GUEST_NOT_OURS || access == UPMU_GUEST_SHARED)
            fine = machine_rdmsr(vcpu, msr, &vcpu->value);
        vcpu->value = access == UPMU_GUEST_SHARED ? vcpu->value | own : access == UPMU_GUEST_DONE ? own : vcpu->value;
        break;
    case EXIT_WRMSR:
        access = upmu_guest_wrmsr(&vcpu->pmu, msr, vcpu->value);
        if (access == UPMU_GUEST_NOT_OURS || access == UPMU_GUEST_SHARED)
            fine = machine_wrmsr(vcpu, msr, vcpu->value);
        break;
    case EXIT_RDPMC:
        access = upmu_guest_rdpmc(&vcpu->pmu, msr, &vcpu->value);
        break;
    case EXIT_CPUID:
        machine_cpuid((uint32_t)vcpu->rax, (uint32_t)vcpu->rcx, words);
        (void)upmu_guest_cpuid(&vcpu->pmu, (uint32_t)vcpu->rax, (uint32_t)vcpu->rcx, words);
        vcpu->rax = words[0], vcpu->rbx = words[1], vcpu->rcx = words[2], vcpu->rdx = words[3];
        break;
    case EXIT_APIC:
        upmu_guest_lvtpc(&vcpu->pmu, (uint32_t)vcpu->value);
        break;
    default:
        break;
    }
    return fine && access != UPMU_GUEST_FAULT;
}

/* Interrupts are off, but while the guest runs. */
void vcpu_run(struct vcpu *vcpu)
{
    struct upmu_guest_entry entry;
    enum exit_reason reason;

    do {
        (void)!upmu_guest_enter(&vcpu->pmu, &entry);
        if (entry.inject != UPMU_GUEST_INJECT_NONE)
            machine_inject(vcpu, entry.inject, entry.vector);
        reason = machine_enter(vcpu);
        (void)!upmu_guest_exit(&vcpu->pmu);
        if (reason == EXIT_NMI || reason == EXIT_HALT)
            continue;
        if (!emulate(vcpu, reason)) {
            machine_general_protection(vcpu);
            continue;
        }
        machine_next_instruction(vcpu);
        upmu_guest_retired(&vcpu->pmu, 1, 0, vcpu->user);
    } while (reason != EXIT_HALT);
}
