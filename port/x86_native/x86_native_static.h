/* SPDX-License-Identifier: MIT */
/*
 * The ring-0 port bound at compile time, so that no hook costs an indirect call:
 *
 *   -DUPMU_PORT_STATIC=1 -DUPMU_PORT_HEADER='<port/x86_native/x86_native_static.h>'
 *
 * The binding holds for the whole program. Fill in a struct upmu_x86_native with upmu_x86_native_port() as usual and
 * pass its `port` to upmu_machine_init(): its `context` reaches these functions, its function pointers are not used.
 *
 * If there is more than one CPU, define UPMU_X86_THIS_CPU as an expression for the executing CPU's struct upmu_cpu *
 * (and declare what the expression needs in a header of yours that includes this one). UPMU_X86_NO_PMI and
 * UPMU_X86_NO_CLOCK leave the hooks pmi_rearm and clock_ns out. Define them where upmu_x86_native_port() would leave
 * the hook out: UPMU_X86_NO_PMI with neither an APIC page nor x2APIC mode, UPMU_X86_NO_CLOCK with a tsc_khz below 4000.
 * Otherwise these hooks, bound at compile time, would be in use: sampling would be accepted though no interrupt comes,
 * and all times would be 0. With UPMU_X86_PCI the hooks of upmu_x86_native_pci() are in use: call that function, too.
 * For memory-mapped units copy this file, and add upmu_static_mmio_map() in the way of upmu_static_pci_read().
 */
#ifndef UPMU_X86_NATIVE_STATIC_H
#define UPMU_X86_NATIVE_STATIC_H

#include <port/x86_native/x86_guard.h>
#include <port/x86_native/x86_native.h>

#define UPMU_STATIC_irq_save 1
#define UPMU_STATIC_irq_restore 1
#define UPMU_STATIC_rdpmc 1
#define UPMU_STATIC_allow_rdpmc 1

static inline bool upmu_static_rdmsr(void *context, uint32_t msr, uint64_t *out_value)
{
    (void)context;
    *out_value = upmu_x86_rdmsr(msr);
    return true;
}

static inline bool upmu_static_wrmsr(void *context, uint32_t msr, uint64_t value)
{
    (void)context;
    upmu_x86_wrmsr(msr, value);
    return true;
}

static inline void upmu_static_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    (void)context;
    upmu_x86_cpuid(leaf, subleaf, out);
}

static inline bool upmu_static_rdpmc(void *context, uint32_t index, uint64_t *out_value)
{
    (void)context;
    return upmu_x86_guarded_rdpmc(index, out_value);
}

#ifdef UPMU_X86_THIS_CPU
#define UPMU_STATIC_this_cpu 1

static inline struct upmu_cpu *upmu_static_this_cpu(void *context)
{
    (void)context;
    return UPMU_X86_THIS_CPU;
}
#endif

static inline uintptr_t upmu_static_irq_save(void *context)
{
    (void)context;
    return upmu_x86_irq_save();
}

static inline void upmu_static_irq_restore(void *context, uintptr_t state)
{
    (void)context;
    upmu_x86_irq_restore(state);
}

#ifndef UPMU_X86_NO_PMI
#define UPMU_STATIC_pmi_rearm 1

static inline void upmu_static_pmi_rearm(void *context)
{
    const struct upmu_x86_native *native = (const struct upmu_x86_native *)context;

    upmu_apic_write(&native->apic, UPMU_APIC_LVTPC, native->lvtpc);
}
#endif

#ifndef UPMU_X86_NO_CLOCK
#define UPMU_STATIC_clock_ns 1

static inline uint64_t upmu_static_clock_ns(void *context)
{
    const struct upmu_x86_native *native = (const struct upmu_x86_native *)context;

    return upmu_x86_clock_ns(native->clock, upmu_x86_rdtsc());
}
#endif

static inline void upmu_static_allow_rdpmc(void *context, bool allow)
{
    (void)context;
    upmu_x86_user_rdpmc(allow);
}

#ifdef UPMU_X86_PCI
#define UPMU_STATIC_pci_read 1
#define UPMU_STATIC_pci_write 1

static inline bool upmu_static_pci_read(void *context, uint32_t where, uint32_t offset, uint32_t *out_value)
{
    struct upmu_x86_native *native = (struct upmu_x86_native *)context;

    return upmu_x86_pci_access(&native->pci, where, offset, false, out_value);
}

static inline bool upmu_static_pci_write(void *context, uint32_t where, uint32_t offset, uint32_t value)
{
    struct upmu_x86_native *native = (struct upmu_x86_native *)context;

    return upmu_x86_pci_access(&native->pci, where, offset, true, &value);
}
#endif

#endif
