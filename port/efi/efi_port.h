/* SPDX-License-Identifier: MIT */
/*
 * The port for a UEFI application or driver under boot services, x64 and ia32. It needs no EFI headers and works with
 * those of any tool chain.
 *
 * The port loads its own interrupt table (a copy of the firmware's) on the executing CPU, so that register accesses
 * survive #GP and #UD, and overflows reach upmu_pmi_handle(). Build all of the application without a red zone
 * (-mno-red-zone), and upmu and this port with -mgeneral-regs-only.
 */
#ifndef UPMU_EFI_PORT_H
#define UPMU_EFI_PORT_H

#include <upmu/upmu.h>
#include <port/x86_native/x86_apic.h>
#include <port/x86_native/x86_clock.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How often the handlers saw each event, for a report. */
struct upmu_efi_traps {
    uint32_t faults;   /* #GP and #UD that a register access survived */
    uint32_t nmis;
    uint32_t vectors;
    uint32_t handled;  /* handled, stale, not_ours: how often upmu_pmi_handle() gave this answer */
    uint32_t stale;
    uint32_t not_ours; /* such an NMI is passed on to the firmware, unless swallow_foreign */
};

struct upmu_efi {
    struct upmu_port port;
    volatile struct upmu_efi_traps traps;
    struct upmu_cpu *cpu; /* the CPU that the handler passes to upmu_pmi_handle(); set it before upmu_cpu_init() */
    /* Drop NMIs that are not upmu's, instead of passing them on to the firmware. */
    bool swallow_foreign;
    /* private */
    bool (*pci)(void *context, uint32_t where, uint32_t offset, bool write, uint32_t *value);
    void *pci_context;
    struct upmu_apic apic;
    struct upmu_x86_clock clock;
    uint32_t tsc_khz;
    uint32_t lvtpc;
    uint32_t found_lvtpc;
    uint32_t found_spurious;
    uint16_t old_limit;
    uintptr_t old_table;
    uintptr_t old_handler[256];
};

/*
 * Install the port on the executing CPU. A program can have one such port at a time.
 *
 * `stall(context, microseconds)` is a wrapper around the boot service Stall(), used once for 20 ms to time the TSC; if
 * it is NULL, there is no clock_ns. `vector`: 0 for NMI, or 32 to 254. Call upmu_efi_close() before the application
 * returns. Returns UPMU_OK, UPMU_ERR_STATE (installed already) or UPMU_ERR_INVALID.
 * Context: local, or with interrupts on.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_efi_open(struct upmu_efi *efi, void (*stall)(void *context, unsigned microseconds),
                               void *stall_context, unsigned vector);

/*
 * Add the hooks for units outside the cores: pci_read, pci_write, mmio_map. Call this function after upmu_efi_open().
 *
 * `pci` is a wrapper around the protocol EFI_PCI_ROOT_BRIDGE_IO_PROTOCOL: it reads or writes aligned 32 bits of
 * configuration space, `where` and `offset` as in upmu_port.pci_read, and returns false if no root bridge has that bus.
 * Device memory is used at its physical address: firmware maps it there (the UEFI Specification, 2.3.4, promises this
 * for everything in its memory map; for other memory it is common practice). On ia32 addresses above 4 GB are refused.
 * Context: as upmu_efi_open().
 */
void upmu_efi_units(struct upmu_efi *efi,
                    bool (*pci)(void *context, uint32_t where, uint32_t offset, bool write, uint32_t *value),
                    void *pci_context);

/*
 * Restore LVTPC, the APIC's spurious-interrupt vector register and the firmware's interrupt table; call this function
 * after upmu_cpu_fini().
 *
 * Context: as upmu_efi_open().
 */
void upmu_efi_close(struct upmu_efi *efi);

/* Return the measured TSC rate in thousand ticks a second; 0: it was not measured. */
uint32_t upmu_efi_tsc_khz(const struct upmu_efi *efi);

/*
 * Raise an NMI on the executing CPU through its APIC, to show that NMIs arrive (traps.nmis). False: the CPU has no
 * APIC.
 */
bool upmu_efi_self_nmi(const struct upmu_efi *efi);

#ifdef __cplusplus
}
#endif

#endif
