/* SPDX-License-Identifier: MIT */
/*
 * The hooks: functions that upmu needs from the host.
 *
 * Contexts, the same three words for hooks and for calls:
 *   any    pure, or on a detached session, or a single-reader queue; may be
 *          preempted, may run on any CPU
 *   local  on the CPU concerned with interrupts off; only an NMI can interrupt
 *   nmi    inside upmu_pmi_handle()
 */
#ifndef UPMU_PORT_H
#define UPMU_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <upmu/config.h>

struct upmu_cpu;
struct upmu_unit_info;
struct upmu_unit_type;

/* Where a CPU is, as the host numbers it (hook cpu_place). */
struct upmu_cpu_place {
    uint16_t package; /* one for each socket */
    uint16_t die; /* within its package */
    uint16_t node; /* memory node */
    uint16_t llc; /* which last-level cache it uses */
};

/* The interrupted code: fill in what is known, set the rest to 0. */
struct upmu_frame {
    uint64_t ip;      /* instruction pointer */
    uint64_t sp;      /* stack pointer */
    bool user;        /* it was in user mode */
    uint32_t process; /* for messages: the host's numbers of the interrupted program */
    uint32_t thread;  /* the same */
    uint64_t fp;      /* frame pointer, or 0: for callers (upmu_session_callers()) */
    /*
     * Registers of the interrupted code, for formats (upmu_overflow.frame), or NULL: registers[n] is register n if
     * bit n of `register_mask` is set.  You number the registers; the library reads none of them.  The array must
     * stay until upmu_pmi_handle() returns.
     */
    const uint64_t *registers;
    uint64_t register_mask;
};

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

    /* CPUID of the executing CPU: out[0..3] = EAX, EBX, ECX, EDX.
       Context: local, only in upmu_cpu_init() and upmu_cpu_resume(). */
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
     * Unmask the performance-counter entry (LVTPC, offset 340h) of this CPU's local APIC; the hardware masks it when
     * it delivers the interrupt.  The host has chosen NMI or vector delivery before.
     * NULL: no sampling (UPMU_ERR_HOOK_MISSING), and counts stay exact only if upmu_cpu_poll() runs
     * within half a counter's range.
     * Context: local, nmi.
     */
    void (*pmi_rearm)(void *context);

    /*
     * Monotonic time in nanoseconds.
     * NULL: enabled_ns, running_ns and the time of samples are 0, throttling sees only counters that overflow inside
     * the handler, and late interrupts are recognised by number instead of age.
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
     * Run function(argument) on another CPU with interrupts off and wait for it. False if that CPU cannot be reached.
     * NULL: a local call on another CPU's session is UPMU_ERR_WRONG_CPU.
     * Context: any.
     */
    bool (*run_on_cpu)(void *context, struct upmu_cpu *cpu, void (*function)(void *argument), void *argument);

    /*
     * Request that upmu_cpu_tick() is called on this CPU soon (a self-interrupt): the handler has switched sets by
     * overflow and the next set has no place yet, or interrupts came faster than the end of a local call handled them.
     * NULL: the next local call on that CPU does the work.
     * Context: nmi, local.
     */
    void (*request_tick)(void *context);

    /* Time between two calls of upmu_cpu_tick(), to which timeouts are rounded up; 0: unknown. */
    uint64_t tick_ns;

    /*
     * Write a line to the host's log, without a newline: a fake PMU, a foreign owner, a faulting register.
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

    /* ---- A paravirtual PMU (docs/PARAVIRT.md); not called without UPMU_BACKEND_PARAVIRT ---- */

    /*
     * Call the hypervisor: the number that its CPUID leaf gave, and three arguments.  False: the call cannot be made.
     * NULL: a paravirtual PMU is not used.
     * Context: local, nmi.
     */
    bool (*hypercall)(void *context, uint32_t number, const uint32_t argument[3], uint32_t *out_answer);

    /*
     * The page of 4 KiB of the executing CPU that the hypervisor may read and write, on a multiple of 4 KiB, and its
     * guest-physical address.  The same page each time; it must stay until upmu_cpu_fini().
     * NULL as result: there is none (UPMU_ERR_PORT).
     * NULL: a paravirtual PMU is not used.
     * Context: local, only in upmu_cpu_init() and upmu_cpu_resume().
     */
    void *(*shared_page)(void *context, uint64_t *out_guest_physical);

    /* ---- Units outside the cores (upmu/unit.h); not called without UPMU_UNCORE ---- */

    /*
     * Read aligned 32 bits of a function's configuration space by one access that is neither split nor merged.
     * `where` = segment << 16 | bus << 8 | device << 3 | function.  A function that is absent reads all ones, or
     * returns false; so does an offset from 100h on where it cannot be reached (without ECAM).  Any CPU may call it:
     * a host that uses ports CF8h and CFCh holds a lock of its own. NULL (one of both): no units in configuration
     * space, nor memory-mapped ones whose addresses stand there.
     * Context: local.
     */
    bool (*pci_read)(void *context, uint32_t where, uint32_t offset, uint32_t *out_value);
    bool (*pci_write)(void *context, uint32_t where, uint32_t offset, uint32_t value);

    /*
     * Map `bytes` of device memory from `physical` on, uncached; `physical` is a multiple of 4.
     * NULL as result: refused.  It may sleep: it is called only while units are found and opened,
     * outside local calls.  The other hook unmaps the same bytes.
     * NULL: no memory-mapped units, nor tables of units; without mmio_unmap mappings stay.
     * Context: any.
     */
    void *(*mmio_map)(void *context, uint64_t physical, size_t bytes);
    void (*mmio_unmap)(void *context, void *pointer, size_t bytes);

    /*
     * Access 32 or 64 bits of mapped memory.  In 32-bit code accesses of 64 bits come as two of 32.
     * Returns false if the access faulted.
     * NULL: plain volatile accesses.
     * Context: local.
     */
    bool (*mmio_read)(void *context, const volatile void *pointer, unsigned bits, uint64_t *out_value);
    bool (*mmio_write)(void *context, volatile void *pointer, unsigned bits, uint64_t value);

    /*
     * Say where a CPU is.  False: unknown.
     * NULL: CPUID says it.
     * Context: local, on that CPU.
     */
    bool (*cpu_place)(void *context, struct upmu_cpu *cpu, struct upmu_cpu_place *out_place);

    /*
     * Choose the CPU that drives a unit, out of `allowed`.  NULL as result: no opinion.
     * NULL: a CPU of the unit's die that drives the fewest.
     * Context: any.
     */
    struct upmu_cpu *(*nearest_cpu)(void *context, const struct upmu_unit_info *unit, struct upmu_cpu *const *allowed,
                                    unsigned count);

    /*
     * Called for each unit that was found.  False hides it (it is another partition's); `address`
     * and `name` of *info may be changed.
     * NULL: all units are listed, as numbered.
     * Context: any.
     */
    bool (*show_unit)(void *context, struct upmu_unit_info *info);

    /*
     * The host's own device number i, from 0 on: its place, and its type of any style but UPMU_UNIT_DISCOVERED and
     * UPMU_UNIT_CLIENT_IMC; the type must stay as long as the machine. False: there is none with this number.
     * NULL: no units besides those of the processor.
     * Context: any.
     */
    bool (*own_unit)(void *context, unsigned i, struct upmu_unit_info *out_info,
                     const struct upmu_unit_type **out_type);
};

#endif
