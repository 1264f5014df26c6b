/* SPDX-License-Identifier: MIT */
/*
 * The hooks: what upmu needs from the system it is built into.
 *
 * Contexts, the same three words for hooks and for calls:
 *   any    pure, or on a detached session, or a single-reader queue; may be
 *          preempted, may run anywhere
 *   local  on the CPU in question with interrupts off; only an NMI comes between
 *   nmi    inside upmu_handle_pmi()
 */
#ifndef UPMU_PORT_H
#define UPMU_PORT_H

#include <stdbool.h>
#include <stdint.h>
#include <upmu/config.h>

struct upmu_cpu;

/*
 * Counting needs the first three hooks.  Everything else may be NULL or 0, and
 * what that turns off is written beside it.  The structure must stay as long as
 * the machine that was initialised with it; `context` is handed to each hook.
 */
struct upmu_port {
    void *context;

    /*
     * Read a model-specific register of the executing CPU.
     *
     * Returns false if the access faulted (#GP); *out_value is then ignored.  A
     * port that cannot recover from #GP may let it happen and leaves
     * `msr_faults_are_safe` false.
     * Context: local, nmi.
     */
    bool (*rdmsr)(void *context, uint32_t msr, uint64_t *out_value);

    /* Write one; same rules as rdmsr. */
    bool (*wrmsr)(void *context, uint32_t msr, uint64_t value);

    /*
     * CPUID of the executing CPU: out[0..3] = EAX, EBX, ECX, EDX.
     * Context: local, only in upmu_cpu_init() and upmu_cpu_resume().
     */
    void (*cpuid)(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4]);

    /*
     * The CPU that executes this, as initialised by upmu_cpu_init(), or NULL if
     * it has none yet.  Mandatory as soon as a second CPU is initialised.
     * NULL: one CPU only, and calls cannot notice that they run elsewhere.
     * Context: local, nmi.
     */
    struct upmu_cpu *(*this_cpu)(void *context);

    /*
     * Turn maskable interrupts off on this CPU and say what they were; put that
     * back.  The library brackets every local call with them.  Come in a pair.
     * NULL: the host makes local calls with interrupts already off.
     * Context: any.
     */
    uintptr_t (*irq_save)(void *context);
    void (*irq_restore)(void *context, uintptr_t state);

    /*
     * RDPMC with this ECX.  False if it faulted.
     * NULL: counters are read by rdmsr (slower, same results).
     * Context: local, nmi.
     */
    bool (*rdpmc)(void *context, uint32_t index, uint64_t *out_value);

    /*
     * Unmask the performance-counter entry (LVTPC, offset 340h) of this CPU's
     * local APIC; the hardware masks it when it delivers.  The host chose NMI or
     * vector delivery beforehand.
     * NULL: no sampling (UPMU_ERR_HOOK_MISSING), and counts stay exact only if
     * upmu_cpu_poll() runs within half a counter's range.
     * Context: local, nmi.
     */
    void (*pmi_rearm)(void *context);

    /*
     * Monotonic time in nanoseconds.
     * NULL: enabled_ns and running_ns are 0, samples carry time 0, throttling
     * sees only counters that overflow inside the handler, and late interrupts
     * are recognised by number instead of age.
     * Context: local, nmi.
     */
    uint64_t (*clock_ns)(void *context);

    /*
     * Let user mode execute RDPMC on this CPU or not (CR4.PCE): for the threads, or for the
     * CPU, that upmu_session_publish() names (upmu/page.h).  NULL: you see to that yourself.
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
     * Ask that upmu_cpu_tick() is called on this CPU soon (a self-interrupt): the handler
     * has left something to do there, such as a switch of sets by overflow.
     * NULL: it is done with the next local call on that CPU.
     * Context: nmi.
     */
    void (*request_tick)(void *context);

    /* Time between two calls of upmu_cpu_tick(), to which timeouts are rounded up; 0: unknown. */
    uint64_t tick_ns;

    /*
     * One line of news for the host's log, without a newline: a faked PMU, a
     * foreign owner, a faulting register.  NULL: silence.
     * Context: local.
     */
    void (*log)(void *context, const char *line);

    /*
     * rdmsr and wrmsr survive #GP and return false.  If not, only registers that
     * CPUID (on bare metal: the family) promises are touched, and under a
     * hypervisor the probe and payload registers need the caller's `force`.
     */
    bool msr_faults_are_safe;

    /*
     * All calls and handlers of the library run in kernel mode (ring 0), as in a kernel,
     * a hypervisor or firmware: a counter of user mode alone stands still meanwhile, and
     * on hardware that allows it (AMD without PerfMonV2) it is read, loaded and given
     * another event without being stopped and started around it.  False: nothing is
     * presumed, and these cost two register writes more.
     */
    bool in_kernel_mode;
};

#endif
