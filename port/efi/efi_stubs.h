/* SPDX-License-Identifier: MIT */
/* The assembly entries to which the EFI port's interrupt table leads, and the C function that they call. */
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
    UPMU_EFI_GP = 4, /* of NMI, #UD and #GP the only one with an error code on the stack */
    UPMU_EFI_ENTRIES = 5
};

/*
 * The words that the processor has pushed at an interrupt, lowest address first. 64-bit mode always pushes sp and ss,
 * too; protected mode does so only if the ring changes.
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

/* The port that upmu_efi_open() has installed; NULL: none. Entries find the port by it. */
extern struct upmu_efi *upmu_efi_installed UPMU_EFI_HIDDEN;

/*
 * Handle an interrupt; the assembly entries call it with the interrupted state and their number. Returns 0: resume at
 * frame->ip; or the address of the firmware's handler, to which the entry jumps with the stack as it was.
 */
uintptr_t upmu_efi_trap(struct upmu_efi_frame *frame, unsigned entry);

/* Return the address of the assembly code of an entry, for the interrupt table. */
uintptr_t upmu_efi_entry_address(enum upmu_efi_entry entry);

#endif
