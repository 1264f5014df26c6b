/* SPDX-License-Identifier: MIT */
/*
 * The port: the hooks, which are functions that the library calls and the host gives.
 *
 * A comment says in which context a call of the library may be made, or in which a hook is called:
 *   any    on any CPU; may be preempted.  The call is pure, or works on a detached session or a single-reader queue
 *   local  on the CPU concerned (a session's, or that of the argument) with interrupts off; only an NMI can interrupt
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

/* Where a CPU is, by the host's numbers: what the hook cpu_place fills in. */
struct upmu_cpu_place {
    uint16_t package; /* number of the package (socket) */
    uint16_t die; /* number of the die within the package */
    uint16_t node; /* number of the memory node */
    uint16_t llc; /* number of the last-level cache that the CPU uses */
};

/* The interrupted code, as the host tells upmu_pmi_handle(): fill in what is known, set the rest to 0. */
struct upmu_frame {
    uint64_t ip;      /* instruction pointer */
    uint64_t sp;      /* stack pointer */
    bool user;        /* true: the code was in user mode */
    uint32_t process; /* the host's number of the interrupted process, for messages and records */
    uint32_t thread;  /* the host's number of the interrupted thread, for messages and records */
    uint64_t fp;      /* frame pointer, by which callers are found (upmu_session_callers()); 0: unknown */
    /*
     * Registers of the interrupted code, for formats (upmu_overflow.frame), or NULL: registers[n] is register n if
     * bit n of `register_mask` is set.  You number the registers; the library reads none of them.  The array must
     * stay until upmu_pmi_handle() returns.
     */
    const uint64_t *registers;
    uint64_t register_mask;
};

/*
 * The port.  Counting needs the hooks rdmsr, wrmsr and (not on Arm) cpuid.  All other members may be NULL or 0; their
 * comments say what does not work then ("NULL: ...").  The structure must stay as long as the machine that was
 * initialised with it.  `context` is passed to each hook.
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

    /* Write a model-specific register of the executing CPU.  Returns and context: as rdmsr. */
    bool (*wrmsr)(void *context, uint32_t msr, uint64_t value);

    /* Execute CPUID on the executing CPU: out[0..3] = EAX, EBX, ECX, EDX.
       Context: local, only in upmu_cpu_init(), upmu_cpu_clear() and upmu_units_find(). */
    void (*cpuid)(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4]);

    /*
     * Return the struct upmu_cpu of the executing CPU, as given to upmu_cpu_init(); NULL if this CPU has none yet.
     * The hook is mandatory for a second CPU.
     * NULL: there is one CPU only, and a call on a wrong CPU is not noticed.
     * Context: local, nmi.
     */
    struct upmu_cpu *(*this_cpu)(void *context);

    /*
     * irq_save disables maskable interrupts on the executing CPU and returns their former state; irq_restore restores
     * that state.  The library calls them at the begin and the end of every local call.  Give both or neither.
     * NULL: the host disables interrupts before local calls.
     * Context: any.
     */
    uintptr_t (*irq_save)(void *context);
    void (*irq_restore)(void *context, uintptr_t state);

    /*
     * Execute RDPMC with ECX = `index`.  Returns false if it faulted.
     * NULL: counters are read by rdmsr (slower, same results).
     * Context: local, nmi.
     */
    bool (*rdpmc)(void *context, uint32_t index, uint64_t *out_value);

    /*
     * On x86: unmask the performance-counter entry (LVTPC, offset 340h) of this CPU's local APIC, which Intel's CPUs
     * mask at delivery.  The host has chosen NMI or vector before.  Elsewhere: let the PMU's interrupt come again.
     * NULL: no sampling (UPMU_ERR_HOOK_MISSING); counts stay exact only if upmu_cpu_poll() runs each half round.
     * Context: local, nmi.
     */
    void (*pmi_rearm)(void *context);

    /*
     * Return a monotonic time in nanoseconds.
     * NULL: enabled_ns, running_ns and the time of samples are 0; a frequency and UPMU_SET_TIME_SWITCH are refused
     * (UPMU_ERR_HOOK_MISSING); multiplexed counts are UPMU_QUALITY_PARTIAL; upmu_cpu_poll() has to run each half round;
     * throttling sees only overflows inside the handler; late interrupts are told by number, not age (docs/ENGINE.md).
     * Context: local, nmi.
     */
    uint64_t (*clock_ns)(void *context);

    /*
     * Allow (`allow` true) or forbid RDPMC in user mode on the executing CPU (x86: CR4.PCE), as the thread there, or
     * the CPU, has or no longer has the right that upmu_session_publish() gives (upmu/page.h).
     * NULL: the host must allow it.
     * Context: local.
     */
    void (*allow_rdpmc)(void *context, bool allow);

    /*
     * Run function(argument) on another CPU with interrupts off, and wait until it returns.  Returns false if that CPU
     * cannot be reached.
     * NULL: a local call on another CPU's session returns UPMU_ERR_WRONG_CPU.
     * Context: any.
     */
    bool (*run_on_cpu)(void *context, struct upmu_cpu *cpu, void (*function)(void *argument), void *argument);

    /*
     * Let upmu_cpu_tick() be called on the executing CPU soon (by a self-interrupt): the handler has switched sets by
     * overflow and the next set has no place yet, or interrupts came faster than the end of a local call handled them.
     * NULL: the next local call on that CPU does the work.
     * Context: nmi, local.
     */
    void (*request_tick)(void *context);

    /* Time between two calls of upmu_cpu_tick(); timeouts of sets are rounded up to multiples of it.  0: unknown. */
    uint64_t tick_ns;

    /*
     * Write a line, which has no newline, to the host's log: a fake PMU, a foreign owner, a faulting register.
     * NULL: no reports.
     * Context: local.
     */
    void (*log)(void *context, const char *line);

    /*
     * True: rdmsr and wrmsr return false at #GP.  False: only registers that CPUID (on bare metal: the family)
     * promises are accessed, not Intel's payload registers (off-core responses, load latency, front end); and under a
     * hypervisor upmu_cpu_probe() needs upmu_probe.force.
     */
    bool msr_faults_are_safe;

    /*
     * True: all calls and handlers of the library run in kernel mode (ring 0), as in a kernel, a hypervisor or
     * firmware.  So a counter that counts user mode alone does not count while the library runs; on hardware that
     * allows it (AMD without PerfMonV2) such a counter is read, loaded and given another event without being closed.
     * False: nothing is assumed, and each of these operations costs two register writes more.
     */
    bool in_kernel_mode;

    /* ---- Hooks of a guest for a paravirtual PMU (docs/PARAVIRT.md); not called without UPMU_BACKEND_PARAVIRT ---- */

    /*
     * Make a hypercall: `number` is that of the PMU's CPUID leaf.  Returns false if the call cannot be made.
     * NULL: a paravirtual PMU is not used.
     * Context: local, nmi.
     */
    bool (*hypercall)(void *context, uint32_t number, const uint32_t argument[3], uint32_t *out_answer);

    /*
     * Return the executing CPU's page of 4 KiB that the hypervisor may read and write, on a multiple of 4 KiB, and its
     * guest-physical address.  Return the same page each time; it must stay until upmu_cpu_fini().
     * NULL as result: there is no page (UPMU_ERR_PORT).
     * NULL: a paravirtual PMU is not used.
     * Context: local, only in upmu_cpu_init(), upmu_cpu_resume() and upmu_cpu_clear().
     */
    void *(*shared_page)(void *context, uint64_t *out_guest_physical);

    /* ---- Hooks for units outside the cores (upmu/unit.h); not called without UPMU_UNCORE ---- */

    /*
     * Read or write 32 aligned bits of a PCI function's configuration space by one access that is neither split nor
     * merged.  `where` = segment << 16 | bus << 8 | device << 3 | function.  A read of a function that is absent gives
     * all ones or returns false; so does an offset from 100h on where it cannot be reached (without ECAM).  Several
     * CPUs may call the hooks at once: a host that uses ports CF8h and CFCh takes a lock of its own.
     * NULL (one of both): no units in configuration space, nor memory-mapped units whose addresses are there.
     * Context: local.
     */
    bool (*pci_read)(void *context, uint32_t where, uint32_t offset, uint32_t *out_value);
    bool (*pci_write)(void *context, uint32_t where, uint32_t offset, uint32_t value);

    /*
     * mmio_map maps `bytes` bytes of device memory from `physical` on, uncached; `physical` is a multiple of 4.
     * NULL as result: refused.  The hook may sleep: it is called only while units are found and opened, outside local
     * calls.  mmio_unmap unmaps the same bytes again.
     * NULL: no memory-mapped units, and no processor's own table of units; without mmio_unmap mappings stay.
     * Context: any.
     */
    void *(*mmio_map)(void *context, uint64_t physical, size_t bytes);
    void (*mmio_unmap)(void *context, void *pointer, size_t bytes);

    /*
     * Read or write 32 or 64 bits of mapped memory; in 32-bit code the library uses two accesses of 32 bits for 64.
     * Returns false if the access faulted.
     * NULL: plain volatile accesses.
     * Context: local.
     */
    bool (*mmio_read)(void *context, const volatile void *pointer, unsigned bits, uint64_t *out_value);
    bool (*mmio_write)(void *context, volatile void *pointer, unsigned bits, uint64_t value);

    /* Fill in where a CPU is.  False: unknown, CPUID is used.
       NULL: CPUID is used.  Context: local, on that CPU. */
    bool (*cpu_place)(void *context, struct upmu_cpu *cpu, struct upmu_cpu_place *out_place);

    /*
     * Choose the CPU that drives a unit, out of the `count` CPUs in `allowed`.  Any other result: the library chooses.
     * NULL: the library chooses: of the CPUs nearest to the unit (die, package), the one that drives the fewest units.
     * Context: any.
     */
    struct upmu_cpu *(*nearest_cpu)(void *context, const struct upmu_unit_info *unit, struct upmu_cpu *const *allowed,
                                    unsigned count);

    /*
     * Called for each box that upmu_units_find() has found.  False: the box is hidden, and not in the list (as it
     * belongs to another partition).  The hook may change `address` and `name` of *info.
     * NULL: all boxes are listed as they were found.
     * Context: any.
     */
    bool (*show_unit)(void *context, struct upmu_unit_info *info);

    /*
     * Describe the host's own device number i, from 0 on: where it is (*out_info), and its type, of any style but
     * UPMU_UNIT_DISCOVERED and UPMU_UNIT_CLIENT_IMC.  The type must stay as long as the machine.  False: no such
     * device.  NULL: there are no units besides those of the processor.
     * Context: any.
     */
    bool (*own_unit)(void *context, unsigned i, struct upmu_unit_info *out_info,
                     const struct upmu_unit_type **out_type);
};

#endif
