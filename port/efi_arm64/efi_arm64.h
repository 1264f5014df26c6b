/* SPDX-License-Identifier: MIT */
/*
 * The port for a UEFI application or driver under boot services on AArch64. Register accesses are those of
 * port/arm64_native; overflows come by the firmware's protocol for interrupts. The port needs no EFI headers and works
 * with those of any tool chain.
 *
 * The protocol for interrupts (EmbeddedPkg/Include/Protocol/HardwareInterrupt.h) is EDK II's, not the UEFI
 * Specification's: on firmware without it the port can count and poll, but not sample.
 */
#ifndef UPMU_EFI_ARM64_H
#define UPMU_EFI_ARM64_H

#include <upmu/upmu.h>

/* The GUID of the firmware's protocol for interrupts, as the initialiser of an EFI_GUID: locate the protocol by it. */
#define UPMU_EFI_ARM64_INTERRUPTS                                                                                      \
    {                                                                                                                  \
        0x2890b3ea, 0x053d, 0x1643, {0xad, 0x0c, 0xd6, 0x48, 0x08, 0xda, 0x3f, 0xf1}                                   \
    }

/* Number of the PMU's interrupt (PPI 7) on machines that follow Arm's Base System Architecture. */
#define UPMU_EFI_ARM64_SOURCE 23u

/* Counts of what the interrupt handler saw, for a report. */
struct upmu_efi_arm64_seen {
    uint32_t interrupts;
    uint32_t handled; /* handled, stale, not_ours: how often upmu_pmi_handle() gave this answer */
    uint32_t stale;
    uint32_t not_ours;
};

struct upmu_efi_arm64 {
    struct upmu_port port;
    volatile struct upmu_efi_arm64_seen seen;
    struct upmu_cpu *cpu; /* the CPU that the handler passes to upmu_pmi_handle(); set it before upmu_cpu_init() */
    /* private */
    void *interrupts;
    uintptr_t source;
};

/*
 * Install the port on the executing CPU. A program can have one such port at a time.
 *
 * `interrupts` is the firmware's instance of the protocol above, or NULL; `source` is the number of the PMU's
 * interrupt. port.pmi_rearm is NULL if `interrupts` is NULL, or if the protocol refuses the handler, as it does if
 * another program has one for that interrupt. Call upmu_efi_arm64_close() before the application returns. Returns
 * UPMU_OK or UPMU_ERR_STATE (installed already).
 * Context: local, or with interrupts on.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_efi_arm64_open(struct upmu_efi_arm64 *efi, void *interrupts, unsigned source);

/*
 * Disable the interrupt and remove its handler; call this function after upmu_cpu_fini().
 *
 * Context: as upmu_efi_arm64_open().
 */
void upmu_efi_arm64_close(struct upmu_efi_arm64 *efi);

#endif
