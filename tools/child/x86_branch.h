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

/* Jumps, calls, returns and loops, taken or not; no system calls and interrupts. */
static inline bool x86_is_branch(const uint8_t *code, bool long_mode)
{
    unsigned rex, group;

    code = x86_skip_prefixes(code, long_mode, &rex);
    if (*code >= 0x70 && *code <= 0x7f)
        return true;
    if (*code == 0x0f)
        return code[1] >= 0x80 && code[1] <= 0x8f;
    if (*code == 0xff) {
        group = code[1] >> 3 & 7u;
        return group >= 2 && group <= 5;
    }
    return *code == 0xc2 || *code == 0xc3 || (*code >= 0xe0 && *code <= 0xe3) || *code == 0xe8 || *code == 0xe9 ||
           *code == 0xeb;
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
