/* SPDX-License-Identifier: MIT */
/*
 * The loops of the workloads.  What an iteration retires stands in cmd_loops.h.
 * memcpy copies the lower half of the buffer to its upper half; in branches the sign
 * of a linear congruential sequence decides, and both ways are equally long.
 */
#include <tools/cmd/cmd_loops.h>

#define CMD_LOOP(name) ".balign 32\n.globl cmd_loop_" name "\n.hidden cmd_loop_" name "\ncmd_loop_" name ":\n"

/* clang-format off */
#if defined(__x86_64__)

/* rdi iterations, rsi buffer, rdx mask */
__asm__(
    ".text\n"
    CMD_LOOP("spin")
    "1: subq $1, %rdi\n"
    "jnz 1b\n"
    "ret\n"
    CMD_LOOP("memset")
    "xorl %ecx, %ecx\n"
    "xorl %eax, %eax\n"
    "1: movq %rax, (%rsi,%rcx)\n"
    "addq $8, %rcx\n"
    "andq %rdx, %rcx\n"
    "subq $1, %rdi\n"
    "jnz 1b\n"
    "ret\n"
    CMD_LOOP("memcpy")
    "xorl %ecx, %ecx\n"
    "shrq $1, %rdx\n"
    "leaq 1(%rsi,%rdx), %r8\n"
    "1: movq (%rsi,%rcx), %rax\n"
    "movq %rax, (%r8,%rcx)\n"
    "addq $8, %rcx\n"
    "andq %rdx, %rcx\n"
    "subq $1, %rdi\n"
    "jnz 1b\n"
    "ret\n"
    CMD_LOOP("branches")
    "movl $1, %eax\n"
    "1: imull $1664525, %eax, %eax\n"
    "addl $1013904223, %eax\n"
    "js 2f\n"
    "2: subq $1, %rdi\n"
    "jnz 1b\n"
    "ret\n"
    CMD_LOOP("chase")
    "1: movq (%rsi), %rsi\n"
    "subq $1, %rdi\n"
    "jnz 1b\n"
    "movq %rsi, %rax\n"
    "ret\n"
    ".balign 32\n.globl cmd_loop_end\n.hidden cmd_loop_end\ncmd_loop_end:\n");

#elif defined(__i386__)

/* Above the return address: iterations, buffer, mask */
__asm__(
    ".text\n"
    CMD_LOOP("spin")
    "movl 4(%esp), %edx\n"
    "1: subl $1, %edx\n"
    "jnz 1b\n"
    "ret\n"
    CMD_LOOP("memset")
    "pushl %esi\n"
    "pushl %edi\n"
    "movl 12(%esp), %edi\n"
    "movl 16(%esp), %esi\n"
    "movl 20(%esp), %edx\n"
    "xorl %ecx, %ecx\n"
    "xorl %eax, %eax\n"
    "1: movl %eax, (%esi,%ecx)\n"
    "addl $4, %ecx\n"
    "andl %edx, %ecx\n"
    "subl $1, %edi\n"
    "jnz 1b\n"
    "popl %edi\n"
    "popl %esi\n"
    "ret\n"
    CMD_LOOP("memcpy")
    "pushl %esi\n"
    "pushl %edi\n"
    "pushl %ebx\n"
    "movl 16(%esp), %edi\n"
    "movl 20(%esp), %esi\n"
    "movl 24(%esp), %edx\n"
    "xorl %ecx, %ecx\n"
    "shrl $1, %edx\n"
    "leal 1(%esi,%edx), %ebx\n"
    "1: movl (%esi,%ecx), %eax\n"
    "movl %eax, (%ebx,%ecx)\n"
    "addl $4, %ecx\n"
    "andl %edx, %ecx\n"
    "subl $1, %edi\n"
    "jnz 1b\n"
    "popl %ebx\n"
    "popl %edi\n"
    "popl %esi\n"
    "ret\n"
    CMD_LOOP("branches")
    "movl 4(%esp), %edx\n"
    "movl $1, %eax\n"
    "1: imull $1664525, %eax, %eax\n"
    "addl $1013904223, %eax\n"
    "js 2f\n"
    "2: subl $1, %edx\n"
    "jnz 1b\n"
    "ret\n"
    CMD_LOOP("chase")
    "movl 4(%esp), %edx\n"
    "movl 8(%esp), %ecx\n"
    "1: movl (%ecx), %ecx\n"
    "subl $1, %edx\n"
    "jnz 1b\n"
    "movl %ecx, %eax\n"
    "ret\n"
    ".balign 32\n.globl cmd_loop_end\n.hidden cmd_loop_end\ncmd_loop_end:\n");

#elif defined(__aarch64__)

/* x0 iterations, x1 buffer, x2 mask */
__asm__(
    ".text\n"
    CMD_LOOP("spin")
    "1: subs x0, x0, #1\n"
    "b.ne 1b\n"
    "ret\n"
    CMD_LOOP("memset")
    "mov x3, #0\n"
    "1: str xzr, [x1, x3]\n"
    "add x3, x3, #8\n"
    "and x3, x3, x2\n"
    "subs x0, x0, #1\n"
    "b.ne 1b\n"
    "ret\n"
    CMD_LOOP("memcpy")
    "mov x3, #0\n"
    "lsr x2, x2, #1\n"
    "add x4, x1, x2\n"
    "add x4, x4, #1\n"
    "1: ldr x5, [x1, x3]\n"
    "str x5, [x4, x3]\n"
    "add x3, x3, #8\n"
    "and x3, x3, x2\n"
    "subs x0, x0, #1\n"
    "b.ne 1b\n"
    "ret\n"
    CMD_LOOP("branches")
    "mov w3, #1\n"
    "mov w4, #0x660d\n"         /* 1664525 */
    "movk w4, #0x19, lsl #16\n"
    "mov w5, #0xf35f\n"         /* 1013904223 */
    "movk w5, #0x3c6e, lsl #16\n"
    "1: mul w3, w3, w4\n"
    "add w3, w3, w5\n"
    "tbnz w3, #31, 2f\n"
    "2: subs x0, x0, #1\n"
    "b.ne 1b\n"
    "ret\n"
    CMD_LOOP("chase")
    "1: ldr x1, [x1]\n"
    "subs x0, x0, #1\n"
    "b.ne 1b\n"
    "mov x0, x1\n"
    "ret\n"
    ".balign 32\n.globl cmd_loop_end\n.hidden cmd_loop_end\ncmd_loop_end:\n");

#endif
/* clang-format on */
