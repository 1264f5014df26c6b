/* SPDX-License-Identifier: MIT */
/*
 * The hooks: functions that upmu needs from the host.
 *
 * Contexts, the same three words for hooks and for calls:
 *   any    pure, or on a detached session, or a single-reader queue; may be
 *          preempted, may run on any CPU
 *   local  on the CPU concerned with interrupts off; only an NMI can interrupt
 *   nmi    inside upmu_handle_pmi()
 */
#ifndef UPMU_PORT_H
#define UPMU_PORT_H

#include <stdbool.h>
#include <stdint.h>
#include <upmu/config.h>

struct upmu_cpu;

/*
 * Counting needs the first three hooks.  All other members may be NULL or 0; the comment says what
 * does not work then.  The structure must stay as long as the machine that was initialised with it.
 * `context` is passed to each hook.
 */
struct upmu_port {
    void *context;

    /*
     * Read a model-specific register of the executing CPU.
     *
     * Returns false if the access faulted (#GP); *out_value is then ignored.  A port that cannot
     * recover from #GP leaves `msr_faults_are_safe` false and may let the fault happen.
     * Context: local, nmi.
     */
    bool (*rdmsr)(void *context, uint32_t msr, uint64_t *out_value);

    /* Write one; the rules and the context are those of rdmsr. */
    bool (*wrmsr)(void *context, uint32_t msr, uint64_t value);

    /*
     * CPUID of the executing CPU: out[0..3] = EAX, EBX, ECX, EDX.
     * Context: local, only in upmu_cpu_init() and upmu_cpu_resume().
     */
    void (*cpuid)(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4]);

    /*
     * The CPU that executes this, as initialised by upmu_cpu_init(), or NULL if it has none yet.
     * Mandatory for a second CPU.
     * NULL: one CPU only, and a call on a wrong CPU is not noticed.
     * Context: local, nmi.
     */
    struct upmu_cpu *(*this_cpu)(void *context);

    /*
     * irq_save disables maskable interrupts on this CPU and returns their former state; irq_restore
     * restores that state.  The library brackets every local call with them.  Give both or neither.
     * NULL: the host disables interrupts before local calls.
     * Context: any.
     */
    uintptr_t (*irq_save)(void *context);
    void (*irq_restore)(void *context, uintptr_t state);

    /*
     * RDPMC with this ECX.  Returns false if it faulted.
     * NULL: counters are read by rdmsr (slower, same results).
     * Context: local, nmi.
     */
    bool (*rdpmc)(void *context, uint32_t index, uint64_t *out_value);

    /*
     * Unmask the performance-counter entry (LVTPC, offset 340h) of this CPU's local APIC; the
     * hardware masks it when it delivers the interrupt.  The host has chosen NMI or vector delivery
     * before.
     * NULL: no sampling (UPMU_ERR_HOOK_MISSING), and counts stay exact only if upmu_cpu_poll() runs
     * within half a counter's range.
     * Context: local, nmi.
     */
    void (*pmi_rearm)(void *context);

    /*
     * Monotonic time in nanoseconds.
     * NULL: enabled_ns, running_ns and the time of samples are 0, throttling sees only counters
     * that overflow inside the handler, and late interrupts are recognised by number instead of
     * age.
     * Context: local, nmi.
     */
    uint64_t (*clock_ns)(void *context);

    /*
     * Allow or forbid RDPMC in user mode on this CPU (CR4.PCE), for the threads or the CPU of
     * upmu_session_publish() (upmu/page.h).
     * NULL: the host must allow it.
     * Context: local.
     */
    void (*allow_rdpmc)(void *context, bool allow);

    /*
     * Run function(argument) on another CPU with interrupts off and wait for it.
     * False if that CPU cannot be reached.
     * NULL: a local call on another CPU's session is UPMU_ERR_WRONG_CPU.
     * Context: any.
     */
    bool (*run_on_cpu)(void *context, struct upmu_cpu *cpu, void (*function)(void *argument), void *argument);

    /*
     * Request that upmu_cpu_tick() is called on this CPU soon (a self-interrupt): the handler left
     * work for it, such as a switch of sets by overflow.
     * NULL: the next local call on that CPU does the work.
     * Context: nmi.
     */
    void (*request_tick)(void *context);

    /* Time between two calls of upmu_cpu_tick(), to which timeouts are rounded up; 0: unknown. */
    uint64_t tick_ns;

    /*
     * One line for the host's log, without a newline: a fake PMU, a foreign owner, a faulting
     * register.
     * NULL: no reports.
     * Context: local.
     */
    void (*log)(void *context, const char *line);

    /*
     * True: rdmsr and wrmsr survive #GP and return false.  False: only registers that CPUID (on
     * bare metal: the family) promises are accessed, and under a hypervisor the probe and payload
     * registers need the caller's `force`.
     */
    bool msr_faults_are_safe;

    /*
     * True: all calls and handlers of the library run in kernel mode (ring 0), as in a kernel, a
     * hypervisor or firmware.  A counter of user mode alone then stands still meanwhile, and on
     * hardware that allows it (AMD without PerfMonV2) it is read, loaded and given another event
     * without a stop.  False: nothing is assumed; these operations cost two register writes more.
     */
    bool in_kernel_mode;
};

#endif
