/* SPDX-License-Identifier: MIT */
/*
 * The EFI port: hooks, the interrupt table, LVTPC.  The entries of the table are in efi_stubs.c.
 */
#include <stddef.h>
#include <port/efi/efi_port.h>
#include <port/efi/efi_stubs.h>
#include <port/x86_native/x86_guard.h>

#define UPMU_EFI_GATES 256u
#define UPMU_EFI_SPURIOUS_VECTOR 0xffu

/* An interrupt gate (Intel SDM vol 3 (325384-059) 6.11, 6.14.1). */
struct upmu_efi_gate {
    uint16_t offset_low;
    uint16_t selector;
    uint8_t stack;
    uint8_t type;
    uint16_t offset_middle;
#if defined(__x86_64__)
    uint32_t offset_high;
    uint32_t reserved;
#endif
};

struct upmu_efi_descriptor {
    uint16_t limit;
    uintptr_t base;
} __attribute__((packed));

static struct upmu_efi_gate efi_table[UPMU_EFI_GATES] __attribute__((aligned(16)));

static void efi_hook_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    (void)context;
    upmu_x86_cpuid(leaf, subleaf, out);
}

static uintptr_t efi_hook_irq_save(void *context)
{
    (void)context;
    return upmu_x86_irq_save();
}

static void efi_hook_irq_restore(void *context, uintptr_t state)
{
    (void)context;
    upmu_x86_irq_restore(state);
}

static void efi_hook_pmi_rearm(void *context)
{
    const struct upmu_efi *efi = context;

    upmu_apic_write(&efi->apic, UPMU_APIC_LVTPC, efi->lvtpc);
}

static uint64_t efi_hook_clock_ns(void *context)
{
    const struct upmu_efi *efi = context;

    return upmu_x86_clock_ns(efi->clock, upmu_x86_rdtsc());
}

static bool efi_hook_pci_read(void *context, uint32_t where, uint32_t offset, uint32_t *out_value)
{
    const struct upmu_efi *efi = context;

    return efi->pci(efi->pci_context, where, offset, false, out_value);
}

static bool efi_hook_pci_write(void *context, uint32_t where, uint32_t offset, uint32_t value)
{
    const struct upmu_efi *efi = context;

    return efi->pci(efi->pci_context, where, offset, true, &value);
}

static void *efi_hook_mmio_map(void *context, uint64_t physical, size_t bytes)
{
    (void)context;
    if (physical == 0 || physical > UINTPTR_MAX || bytes > UINTPTR_MAX - (uintptr_t)physical)
        return NULL;
    return (void *)(uintptr_t)physical;
}

static uintptr_t efi_gate_offset(const struct upmu_efi_gate *gate)
{
    uintptr_t offset = (uintptr_t)gate->offset_middle << 16 | gate->offset_low;

#if defined(__x86_64__)
    offset |= (uintptr_t)gate->offset_high << 32;
#endif
    return offset;
}

static void efi_gate_set(unsigned vector, enum upmu_efi_entry entry, uint16_t selector)
{
    uintptr_t offset = upmu_efi_entry_address(entry);
    struct upmu_efi_gate *gate = &efi_table[vector];

    gate->offset_low = (uint16_t)(offset & 0xffffu);
    gate->selector = selector;
    gate->stack = 0;
    gate->type = 0x8e; /* present, ring 0, interrupt gate */
    gate->offset_middle = (uint16_t)(offset >> 16 & 0xffffu);
#if defined(__x86_64__)
    gate->offset_high = (uint32_t)(offset >> 32);
    gate->reserved = 0;
#endif
}

static void efi_table_load(uint16_t limit, uintptr_t base)
{
    struct upmu_efi_descriptor descriptor = {limit, base};

    __asm__ volatile("lidt %0" : : "m"(descriptor) : "memory");
}

static void efi_table_install(struct upmu_efi *efi, unsigned vector)
{
    struct upmu_efi_descriptor found;
    const struct upmu_efi_gate *old;
    uint16_t selector;
    unsigned i;

    __asm__ volatile("sidt %0" : "=m"(found));
    __asm__ volatile("mov %%cs, %0" : "=r"(selector));
    efi->old_limit = found.limit;
    efi->old_table = found.base;
    old = (const struct upmu_efi_gate *)found.base;
    for (i = 0; i < UPMU_EFI_GATES && (i + 1) * sizeof *old <= (size_t)found.limit + 1; i++) {
        efi_table[i] = old[i];
        efi->old_handler[i] = efi_gate_offset(&old[i]);
    }
    efi_gate_set(2, UPMU_EFI_NMI, selector);
    efi_gate_set(6, UPMU_EFI_UD, selector);
    efi_gate_set(13, UPMU_EFI_GP, selector);
    if (vector != 0)
        efi_gate_set(vector, UPMU_EFI_VECTOR, selector);
    if (!(efi->found_spurious & UPMU_APIC_SPURIOUS_ENABLE))
        efi_gate_set(UPMU_EFI_SPURIOUS_VECTOR, UPMU_EFI_SPURIOUS, selector);
    efi_table_load((uint16_t)(sizeof efi_table - 1), (uintptr_t)efi_table);
}

/*
 * Prepare LVTPC, which pmi_rearm writes. An APIC that software has not enabled keeps every local vector masked: enable
 * it.
 */
static void efi_apic_open(struct upmu_efi *efi, unsigned vector)
{
    efi->lvtpc = upmu_apic_lvtpc(vector);
    if (efi->apic.mode == UPMU_APIC_NONE)
        return;
    efi->found_lvtpc = upmu_apic_read(&efi->apic, UPMU_APIC_LVTPC);
    if (!(efi->found_spurious & UPMU_APIC_SPURIOUS_ENABLE))
        upmu_apic_write(&efi->apic, UPMU_APIC_SPURIOUS, UPMU_APIC_SPURIOUS_ENABLE | UPMU_EFI_SPURIOUS_VECTOR);
    efi->port.pmi_rearm = efi_hook_pmi_rearm;
}

static uint32_t efi_tsc_measure(void (*stall)(void *context, unsigned microseconds), void *context)
{
    const unsigned ms = 20;
    uint64_t ticks = upmu_x86_rdtsc();

    stall(context, ms * 1000);
    ticks = upmu_x86_rdtsc() - ticks;
    return (uint32_t)ticks / ms; /* below 200 GHz the ticks of 20 ms fit 32 bits */
}

enum upmu_status upmu_efi_open(struct upmu_efi *efi, void (*stall)(void *context, unsigned microseconds),
                               void *stall_context, unsigned vector)
{
    const struct upmu_port port = {
        .context = efi,
        .rdmsr = upmu_x86_hook_rdmsr,
        .wrmsr = upmu_x86_hook_wrmsr,
        .cpuid = efi_hook_cpuid,
        .rdpmc = upmu_x86_hook_rdpmc,
        .irq_save = efi_hook_irq_save,
        .irq_restore = efi_hook_irq_restore,
        .msr_faults_are_safe = true,
        .in_kernel_mode = true,
    };
    uintptr_t flags;

    if (upmu_efi_installed != NULL)
        return UPMU_ERR_STATE;
    if (vector != 0 && (vector < 32 || vector >= UPMU_EFI_SPURIOUS_VECTOR))
        return UPMU_ERR_INVALID;
    efi->port = port;
    efi->tsc_khz = stall != NULL ? efi_tsc_measure(stall, stall_context) : 0;
    efi->clock = upmu_x86_clock_make(efi->tsc_khz);
    if (efi->clock.multiplier != 0)
        efi->port.clock_ns = efi_hook_clock_ns;
    flags = upmu_x86_irq_save();
    upmu_efi_installed = efi;
    efi->apic = upmu_apic_find(upmu_apic_exists() ? (volatile void *)(uintptr_t)upmu_apic_base() : NULL);
    efi->found_spurious = upmu_apic_read(&efi->apic, UPMU_APIC_SPURIOUS);
    efi_table_install(efi, vector);
    efi_apic_open(efi, vector);
    upmu_x86_irq_restore(flags);
    return UPMU_OK;
}

void upmu_efi_units(struct upmu_efi *efi,
                    bool (*pci)(void *context, uint32_t where, uint32_t offset, bool write, uint32_t *value),
                    void *pci_context)
{
    efi->pci = pci;
    efi->pci_context = pci_context;
    efi->port.pci_read = efi_hook_pci_read;
    efi->port.pci_write = efi_hook_pci_write;
    efi->port.mmio_map = efi_hook_mmio_map;
}

void upmu_efi_close(struct upmu_efi *efi)
{
    uintptr_t flags;

    if (upmu_efi_installed != efi)
        return;
    flags = upmu_x86_irq_save();
    if (efi->apic.mode != UPMU_APIC_NONE) {
        upmu_apic_write(&efi->apic, UPMU_APIC_LVTPC, efi->found_lvtpc);
        upmu_apic_write(&efi->apic, UPMU_APIC_SPURIOUS, efi->found_spurious);
    }
    efi_table_load(efi->old_limit, efi->old_table);
    upmu_efi_installed = NULL;
    upmu_x86_irq_restore(flags);
}

uint32_t upmu_efi_tsc_khz(const struct upmu_efi *efi)
{
    return efi->tsc_khz;
}

bool upmu_efi_self_nmi(const struct upmu_efi *efi)
{
    return upmu_apic_self_nmi(&efi->apic);
}
