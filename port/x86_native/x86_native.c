/* SPDX-License-Identifier: MIT */
/*
 * Hooks for a kernel in ring 0. A fault of RDMSR or WRMSR goes to the kernel's own #GP handler, so msr_faults_are_safe
 * stays false. RDPMC is guarded (x86_guard.h), because emulators raise #UD for it also where CPUID promises counters.
 */
#include <port/x86_native/x86_native.h>

#include <port/x86_native/x86_guard.h>

static bool native_rdmsr(void *context, uint32_t msr, uint64_t *out_value)
{
    (void)context;
    *out_value = upmu_x86_rdmsr(msr);
    return true;
}

static bool native_wrmsr(void *context, uint32_t msr, uint64_t value)
{
    (void)context;
    upmu_x86_wrmsr(msr, value);
    return true;
}

static void native_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    (void)context;
    upmu_x86_cpuid(leaf, subleaf, out);
}

static bool native_rdpmc(void *context, uint32_t index, uint64_t *out_value)
{
    (void)context;
    return upmu_x86_guarded_rdpmc(index, out_value);
}

static uintptr_t native_irq_save(void *context)
{
    (void)context;
    return upmu_x86_irq_save();
}

static void native_irq_restore(void *context, uintptr_t state)
{
    (void)context;
    upmu_x86_irq_restore(state);
}

static void native_pmi_rearm(void *context)
{
    const struct upmu_x86_native *native = context;

    upmu_apic_write(&native->apic, UPMU_APIC_LVTPC, native->lvtpc);
}

static uint64_t native_clock_ns(void *context)
{
    const struct upmu_x86_native *native = context;

    return upmu_x86_clock_ns(native->clock, upmu_x86_rdtsc());
}

static void native_allow_rdpmc(void *context, bool allow)
{
    (void)context;
    upmu_x86_user_rdpmc(allow);
}

static bool native_pci_read(void *context, uint32_t where, uint32_t offset, uint32_t *out_value)
{
    struct upmu_x86_native *native = context;

    return upmu_x86_pci_access(&native->pci, where, offset, false, out_value);
}

static bool native_pci_write(void *context, uint32_t where, uint32_t offset, uint32_t value)
{
    struct upmu_x86_native *native = context;

    return upmu_x86_pci_access(&native->pci, where, offset, true, &value);
}

void upmu_x86_native_port(struct upmu_x86_native *native, volatile void *apic_page, unsigned vector,
                          uint32_t tsc_khz)
{
    const struct upmu_port port = {
        .context = native,
        .rdmsr = native_rdmsr,
        .wrmsr = native_wrmsr,
        .cpuid = native_cpuid,
        .rdpmc = native_rdpmc,
        .irq_save = native_irq_save,
        .irq_restore = native_irq_restore,
        .allow_rdpmc = native_allow_rdpmc,
        .in_kernel_mode = true,
    };

    native->port = port;
    native->apic = upmu_apic_find(apic_page);
    native->lvtpc = upmu_apic_lvtpc(vector);
    native->clock = upmu_x86_clock_make(tsc_khz);
    if (native->apic.mode != UPMU_APIC_NONE)
        native->port.pmi_rearm = native_pmi_rearm;
    if (native->clock.multiplier != 0)
        native->port.clock_ns = native_clock_ns;
}

void upmu_x86_native_pci(struct upmu_x86_native *native, volatile void *ecam, unsigned segment, unsigned first_bus,
                         unsigned last_bus)
{
    const struct upmu_x86_pci pci = {
        .ecam = ecam,
        .segment = (uint16_t)segment,
        .first_bus = (uint8_t)first_bus,
        .last_bus = (uint8_t)last_bus,
    };

    native->pci = pci;
    native->port.pci_read = native_pci_read;
    native->port.pci_write = native_pci_write;
}

void upmu_x86_native_eoi(const struct upmu_x86_native *native)
{
    upmu_apic_write(&native->apic, UPMU_APIC_EOI, 0);
}

void upmu_x86_native_quiet(const struct upmu_x86_native *native)
{
    upmu_apic_write(&native->apic, UPMU_APIC_LVTPC, native->lvtpc | UPMU_APIC_LVT_MASKED);
}
