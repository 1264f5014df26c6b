/* SPDX-License-Identifier: MIT */
/*
 * A monitor for /dev/kvm with one CPU: the example kernel runs in it, and the silicon
 * model answers its CPUID, RDMSR, WRMSR and local APIC.
 *
 * While a counter runs the guest is single-stepped (but for the handler, when it
 * interrupts ring 3 and nothing counts in ring 0), and every retired instruction is one
 * instruction, cycle and reference cycle for the model, in the ring that executed it.
 * An overflow's interrupt is a real one: KVM_NMI, or KVM_INTERRUPT for a vector.
 * RDPMC always #GPs in such guests; the kernel's port reads by RDMSR then.
 */
#ifndef UPMU_TESTS_VM_VM_H
#define UPMU_TESTS_VM_VM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/sim/sim.h"

#define VM_SERIAL (1u << 18)
#define VM_SPANS 8192u
#define VM_LINES 4096u
#define VM_SEEN (1u << 18)
#define VM_MARKS 256u

/* Register accesses as their exits were seen. */
struct vm_accesses {
    uint32_t reads, writes, rearms; /* RDMSR, WRMSR, writes of LVTPC */
};

/* From the write that lets the first counter run to the one that stops the last. */
struct vm_span {
    uint64_t steps[2], branches[2]; /* [0] ring 0, [1] ring 3; strictly between the two */
    uint32_t user_at;               /* in vm.seen: how many ring-3 steps there were before */
};

struct vm {
    struct upmu_sim sim; /* the guest's CPU, as the guest sees it */
    const char *line; /* the kernel's command line */

    /* How */
    bool enabling_counts;
    double seconds; /* give up after */

    /* Under a hypervisor (vm_hypervisor.h) */
    struct upmu_sim *silicon; /* the host's CPU, which executes the guest; NULL: `sim` does */
    bool left;                /* an interrupt of the host's ended the guest's turn */
    uint64_t executed[2];     /* instructions that `silicon` executed in the guest, by ring */

    /* Seen */
    char serial[VM_SERIAL];
    size_t serial_length;
    int exit_code; /* of port 501h; -1: none */
    char failure[200];
    struct vm_span span[VM_SPANS];
    unsigned spans;
    unsigned lines;
    unsigned spans_at[VM_LINES];              /* how many there were when a serial line ended */
    struct vm_accesses accesses_at[VM_MARKS]; /* how many there were when the guest wrote a POST code */
    uint8_t mark[VM_MARKS];
    unsigned marks;
    uint64_t steps[2], branches[2];
    uint32_t seen[VM_SEEN]; /* where ring-3 instructions led, in order, all spans */
    uint32_t seen_count;
    uint32_t interrupts, msr_reads, msr_writes, msr_faults, lapic_writes, irets;

    /* Private */
    int kvm, vm, cpu;
    struct kvm_run *run;
    unsigned char *memory;
    bool long_mode; /* of the guest, now */
    bool stepping;
    bool resting;          /* not stepping until the handler's IRET: nothing counts before */
    uint8_t vector;        /* that interrupted ring 3 last */
    uint64_t iret_of[256]; /* with which each vector's handler went back to ring 3; 0: not seen yet */
    bool in_span;
    bool done;
    uint32_t ran; /* what counted when the access came */
    uint64_t last_ip;
    unsigned last_ring;
    unsigned exits;
    double end;
    uint8_t vector_due; /* to be injected as soon as the guest can take it; 0: none */
    uint64_t shot_at;   /* PIT channel 2 */
    uint32_t line_control;
    uint32_t lapic[1024];
};

/* NULL, or why guests do not run here. */
const char *vm_unable(void);

/*
 * Load an ELF file (32 or 64 bits) as a multiboot loader would, run it as `profile`
 * with a command line until it ends itself.  False: vm->failure says why not.
 */
bool vm_open(struct vm *vm, const char *profile, const char *elf, const char *line);
bool vm_run(struct vm *vm);
void vm_close(struct vm *vm);

/* The value behind "key " at the beginning of a serial line. */
bool vm_value(const struct vm *vm, const char *key, uint64_t *out_value);
bool vm_text(const struct vm *vm, const char *key, char *buffer, size_t size);

/* The spans that ended between the line before that one and its own end. */
bool vm_spans_of(const struct vm *vm, const char *key, unsigned *out_first, unsigned *out_behind);

/* Register accesses between the n-th (from 0) POST code of that value and the next one. */
bool vm_accesses_of(const struct vm *vm, uint8_t code, unsigned n, struct vm_accesses *out_accesses);

#endif
