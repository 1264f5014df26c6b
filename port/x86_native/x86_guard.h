/* SPDX-License-Identifier: MIT */
/*
 * Register accesses that survive a fault (#GP, and #UD of an RDPMC that does not exist).
 *
 * Behind the instruction stand a jump, a mark of four bytes, and the landing, code that makes the access report
 * failure; without a fault the jump skips both. Your handlers of #GP and #UD call upmu_x86_guard_landing(), for faults
 * in ring 0 only: test the saved CS first. The function recognises the fault by the mark, and the handler resumes at
 * the landing. There is no table and no variable, so accesses may nest in an NMI.
 */
#ifndef UPMU_X86_GUARD_H
#define UPMU_X86_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#define UPMU_X86_GUARD_MARK UINT32_C(0x756d7075) /* "upmu" */
/*
 * Bytes from the access to the landing: 2 of the access (rdmsr 0f 32, wrmsr 0f 30, rdpmc 0f 33), 2 of the jump (eb xx),
 * 4 of the mark.
 */
#define UPMU_X86_GUARD_LANDING 8u

/*
 * The code behind an access: jump, mark, landing. Its operand `ok`, which is 1, becomes 0 at the landing. The jump is
 * written in bytes, because an assembler may choose a longer one, as clang's does without optimisation.
 */
#define UPMU_X86_GUARD ".byte 0xeb, 1f - 0f\n0:\t.byte 0x75, 0x70, 0x6d, 0x75\n\txorl %[ok], %[ok]\n1:"

static inline bool upmu_x86_guarded_rdmsr(uint32_t msr, uint64_t *out_value)
{
    uint32_t low, high, ok = 1;

    __asm__ volatile("rdmsr\n\t" UPMU_X86_GUARD : "=a"(low), "=d"(high), [ok] "+r"(ok) : "c"(msr) : "memory", "cc");
    *out_value = (uint64_t)high << 32 | low;
    return ok != 0;
}

static inline bool upmu_x86_guarded_wrmsr(uint32_t msr, uint64_t value)
{
    uint32_t ok = 1;

    __asm__ volatile("wrmsr\n\t" UPMU_X86_GUARD
                     : [ok] "+r"(ok)
                     : "c"(msr), "a"((uint32_t)value), "d"((uint32_t)(value >> 32))
                     : "memory", "cc");
    return ok != 0;
}

static inline bool upmu_x86_guarded_rdpmc(uint32_t index, uint64_t *out_value)
{
    uint32_t low, high, ok = 1;

    __asm__ volatile("rdpmc\n\t" UPMU_X86_GUARD : "=a"(low), "=d"(high), [ok] "+r"(ok) : "c"(index) : "memory", "cc");
    *out_value = (uint64_t)high << 32 | low;
    return ok != 0;
}

/* Guarded accesses in the form of the hooks rdmsr, wrmsr and rdpmc (upmu/port.h). `context` is not used. */
static inline bool upmu_x86_hook_rdmsr(void *context, uint32_t msr, uint64_t *out_value)
{
    (void)context;
    return upmu_x86_guarded_rdmsr(msr, out_value);
}

static inline bool upmu_x86_hook_wrmsr(void *context, uint32_t msr, uint64_t value)
{
    (void)context;
    return upmu_x86_guarded_wrmsr(msr, value);
}

static inline bool upmu_x86_hook_rdpmc(void *context, uint32_t index, uint64_t *out_value)
{
    (void)context;
    return upmu_x86_guarded_rdpmc(index, out_value);
}

/*
 * Return the address at which to resume after a fault of the instruction at `ip`; 0: the instruction is no access of
 * this header. Call this function only for a fault in ring 0 (saved CS & 3 is 0): the bytes at `ip` are read and must
 * be readable, which an address of user mode does not promise, and a program can have the same bytes.
 */
static inline uintptr_t upmu_x86_guard_landing(uintptr_t ip)
{
    const uint8_t *code = (const uint8_t *)ip;
    uint32_t mark;

    if (code[0] != 0x0f || (code[1] != 0x30 && code[1] != 0x32 && code[1] != 0x33) || code[2] != 0xeb)
        return 0;
    mark = (uint32_t)code[4] | (uint32_t)code[5] << 8 | (uint32_t)code[6] << 16 | (uint32_t)code[7] << 24;
    return mark == UPMU_X86_GUARD_MARK ? ip + UPMU_X86_GUARD_LANDING : 0;
}

#endif
