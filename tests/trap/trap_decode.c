/* SPDX-License-Identifier: MIT */
/*
 * Decoding: see trap_decode.h.
 */
#include <string.h>

#include "tests/trap/trap_decode.h"
#include <tools/child/x86_branch.h>

/* Bytes of ModRM, SIB and displacement. */
static unsigned address_bytes(const uint8_t *modrm)
{
    unsigned mod = *modrm >> 6, rm = *modrm & 7u, bytes = 1;

    if (mod == 3)
        return 1;
    if (rm == 4) {
        bytes++;
        if (mod == 0 && (modrm[1] & 7u) == 5)
            return bytes + 4;
    }
    if (mod == 0 && rm == 5)
        return bytes + 4;
    return bytes + (mod == 1 ? 1 : mod == 2 ? 4 : 0);
}

static void decode_memory(struct trap_instruction *instruction, const uint8_t *code, unsigned rex)
{
    instruction->reg = (code[1] >> 3 & 7u) | (rex & 4u) << 1;
    instruction->length += address_bytes(code + 1);
    if (*code == 0x89) {
        instruction->operation = TRAP_STORE;
    } else if (*code == 0x8b) {
        instruction->operation = TRAP_LOAD;
    } else if (*code == 0xc7 && (code[1] >> 3 & 7u) == 0) {
        instruction->operation = TRAP_STORE;
        instruction->immediate = true;
        memcpy(&instruction->value, code + 1 + address_bytes(code + 1), 4);
        instruction->length += 4;
    }
}

static enum trap_operation of_two_bytes(const uint8_t *code)
{
    switch (code[1]) {
    case 0x30:
        return TRAP_WRMSR;
    case 0x31:
        return TRAP_RDTSC;
    case 0x32:
        return TRAP_RDMSR;
    case 0x33:
        return TRAP_RDPMC;
    case 0xa2:
        return TRAP_CPUID;
    default:
        return TRAP_OTHER;
    }
}

struct trap_instruction trap_decode(const uint8_t *code, bool long_mode)
{
    struct trap_instruction instruction = {.operation = TRAP_OTHER};
    unsigned rex;
    const uint8_t *opcode = x86_skip_prefixes(code, long_mode, &rex);

    instruction.length = (unsigned)(opcode - code) + 1;
    switch (*opcode) {
    case 0x0f:
        instruction.operation = of_two_bytes(opcode);
        instruction.length++;
        break;
    case 0xf4:
        instruction.operation = TRAP_HLT;
        break;
    case 0xfa:
        instruction.operation = TRAP_CLI;
        break;
    case 0xfb:
        instruction.operation = TRAP_STI;
        break;
    case 0x89:
    case 0x8b:
    case 0xc7:
        decode_memory(&instruction, opcode, rex);
        break;
    case 0xa1: /* EAX, absolute address */
    case 0xa3:
        instruction.operation = *opcode == 0xa1 ? TRAP_LOAD : TRAP_STORE;
        instruction.length += long_mode ? 8 : 4;
        break;
    default:
        break;
    }
    return instruction;
}

bool trap_is_branch(const uint8_t *code, bool long_mode)
{
    return x86_is_branch(code, long_mode);
}

bool trap_is_pushf(const uint8_t *code)
{
    return *code == 0x9c;
}
