/* SPDX-License-Identifier: MIT */
/*
 * Kinds of x86 instructions by their first bytes: just as much as counting them needs.
 * Intel SDM vol 2 (325383-059) 2.1, 2.2 and the opcode map of appendix A.
 */
#ifndef UPMU_X86_BRANCH_H
#define UPMU_X86_BRANCH_H

#include <stdbool.h>
#include <stdint.h>

/* The opcode behind all prefixes and REX; the latter in *rex. */
static inline const uint8_t *x86_skip_prefixes(const uint8_t *code, bool long_mode, unsigned *rex)
{
    *rex = 0;
    for (;; code++) {
        bool segment =
            *code == 0x2e || *code == 0x36 || *code == 0x3e || *code == 0x26 || *code == 0x64 || *code == 0x65;

        if (!segment && *code != 0x66 && *code != 0x67 && *code != 0xf0 && *code != 0xf2 && *code != 0xf3)
            break;
    }
    if (long_mode && (*code & 0xf0) == 0x40)
        *rex = *code++;
    return code;
}

/* Jumps, calls, returns and loops; no system calls and interrupts. */
enum x86_branch {
    X86_NO_BRANCH,
    X86_COND, /* a loop, too */
    X86_JUMP,
    X86_CALL,
    X86_RETURN,
    X86_IND_JUMP,
    X86_IND_CALL,
    X86_FAR
};

/* The kind of a branch; of a conditional one also the bytes up to the instruction behind it. */
static inline enum x86_branch x86_branch_of(const uint8_t *code, bool long_mode, unsigned *out_bytes)
{
    static const uint8_t of_ff[8] = {0, 0, X86_IND_CALL, X86_FAR, X86_IND_JUMP, X86_FAR, 0, 0};
    const uint8_t *const begin = code;
    bool narrow = false;
    unsigned rex;

    code = x86_skip_prefixes(code, long_mode, &rex);
    for (const uint8_t *prefix = begin; prefix < code; prefix++)
        narrow |= *prefix == 0x66 && !long_mode;
    if ((*code >= 0x70 && *code <= 0x7f) || (*code >= 0xe0 && *code <= 0xe3)) {
        *out_bytes = (unsigned)(code - begin) + 2;
        return X86_COND;
    }
    if (*code == 0x0f && code[1] >= 0x80 && code[1] <= 0x8f) {
        *out_bytes = (unsigned)(code - begin) + (narrow ? 4 : 6);
        return X86_COND;
    }
    if (*code == 0xff)
        return (enum x86_branch)of_ff[code[1] >> 3 & 7u];
    return *code == 0xc2 || *code == 0xc3 ? X86_RETURN
           : *code == 0xe8                ? X86_CALL
           : *code == 0xe9 || *code == 0xeb ? X86_JUMP
                                            : X86_NO_BRANCH;
}

/* Is it a branch, taken or not? */
static inline bool x86_is_branch(const uint8_t *code, bool long_mode)
{
    unsigned bytes;

    return x86_branch_of(code, long_mode, &bytes) != X86_NO_BRANCH;
}

/* A string instruction, of which a single step with a REP prefix executes one iteration. */
static inline bool x86_is_string(const uint8_t *code, bool long_mode)
{
    unsigned rex;

    code = x86_skip_prefixes(code, long_mode, &rex);
    return (*code >= 0x6c && *code <= 0x6f) || (*code >= 0xa4 && *code <= 0xa7) || (*code >= 0xaa && *code <= 0xaf);
}

/* SYSCALL, SYSENTER, INT 80H. */
static inline bool x86_is_system_call(const uint8_t *code, bool long_mode)
{
    unsigned rex;

    code = x86_skip_prefixes(code, long_mode, &rex);
    return (code[0] == 0x0f && (code[1] == 0x05 || code[1] == 0x34)) || (code[0] == 0xcd && code[1] == 0x80);
}

#endif
