/* SPDX-License-Identifier: MIT */
/*
 * The assembly entries of the EFI port's interrupt table, and what they pass to C.
 */
#ifndef UPMU_EFI_STUBS_H
#define UPMU_EFI_STUBS_H

#include <stdbool.h>
#include <stdint.h>

struct upmu_efi;

enum upmu_efi_entry {
    UPMU_EFI_NMI = 0,
    UPMU_EFI_VECTOR = 1,
    UPMU_EFI_SPURIOUS = 2,
    UPMU_EFI_UD = 3,
    UPMU_EFI_GP = 4, /* the only one of these exceptions with an error code */
    UPMU_EFI_ENTRIES = 5
};

/*
 * The words that the processor pushed, lowest address first. 64-bit mode always pushes sp and ss; protected mode does
 * so only if the ring changes.
 */
struct upmu_efi_frame {
    uintptr_t ip;
    uintptr_t cs;
    uintptr_t flags;
#if defined(__x86_64__)
    uintptr_t sp;
    uintptr_t ss;
#endif
};

#define UPMU_EFI_HIDDEN __attribute__((visibility("hidden")))

/* The port that is installed, or NULL. */
extern struct upmu_efi *upmu_efi_installed UPMU_EFI_HIDDEN;

/*
 * Handle an interrupt; called by the entries. Returns 0 to resume at frame->ip, or the address of the firmware's
 * handler that is to go on with the interrupt.
 */
uintptr_t upmu_efi_trap(struct upmu_efi_frame *frame, unsigned entry);

/* Return the address of an entry. */
uintptr_t upmu_efi_entry_address(enum upmu_efi_entry entry);

#endif
