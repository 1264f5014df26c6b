/* SPDX-License-Identifier: MIT */
/*
 * Register accesses that survive a fault.
 *
 * Behind each instruction stands a jump over a four-byte mark and the landing for
 * the fault.  The handler knows a fault as ours by the mark and resumes at the
 * landing: no table, no variable, so accesses may nest in an NMI.
 */
#ifndef UPMU_EFI_ACCESS_H
#define UPMU_EFI_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#define UPMU_EFI_MARK UINT32_C(0x756d7075) /* "upmu" */
/* rdmsr 0f 32, wrmsr 0f 30, rdpmc 0f 33; then eb xx, then the mark. */
#define UPMU_EFI_INSTRUCTION_BYTES 2u
#define UPMU_EFI_LANDING 8u

#define UPMU_EFI_GUARD "jmp 1f\n\t.byte 0x75, 0x70, 0x6d, 0x75\n\txorl %[ok], %[ok]\n1:"

static inline bool upmu_efi_rdmsr(uint32_t msr, uint64_t *out_value)
{
    uint32_t low, high, ok = 1;

    __asm__ volatile("rdmsr\n\t" UPMU_EFI_GUARD
                     : "=a"(low), "=d"(high), [ok] "+r"(ok)
                     : "c"(msr)
                     : "memory", "cc");
    *out_value = (uint64_t)high << 32 | low;
    return ok != 0;
}

static inline bool upmu_efi_wrmsr(uint32_t msr, uint64_t value)
{
    uint32_t ok = 1;

    __asm__ volatile("wrmsr\n\t" UPMU_EFI_GUARD
                     : [ok] "+r"(ok)
                     : "c"(msr), "a"((uint32_t)value), "d"((uint32_t)(value >> 32))
                     : "memory", "cc");
    return ok != 0;
}

static inline bool upmu_efi_rdpmc(uint32_t index, uint64_t *out_value)
{
    uint32_t low, high, ok = 1;

    __asm__ volatile("rdpmc\n\t" UPMU_EFI_GUARD
                     : "=a"(low), "=d"(high), [ok] "+r"(ok)
                     : "c"(index)
                     : "memory", "cc");
    *out_value = (uint64_t)high << 32 | low;
    return ok != 0;
}

#endif
