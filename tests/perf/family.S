/* SPDX-License-Identifier: MIT */
/*
 * A program that forks, whose child makes a thread; all three count down, and the program waits for its child. x86-64
 * Linux, without a library.
 */
        .globl  _start
_start:
        mov     $57, %eax       /* fork */
        syscall
        mov     %eax, %ebx
        test    %ebx, %ebx
        jnz     parent
        mov     $56, %eax       /* clone: a thread of this process, with a stack of its own */
        mov     $0x50f00, %edi  /* VM FS FILES SIGHAND THREAD SYSVSEM */
        lea     stack_end(%rip), %rsi
        xor     %edx, %edx
        xor     %r10d, %r10d
        xor     %r8d, %r8d
        syscall
        test    %eax, %eax
        jz      thread
        mov     $1000, %ecx
1:      dec     %ecx
        jnz     1b
wait:
        cmpl    $0, ended(%rip)
        je      wait
        mov     $231, %eax      /* exit_group */
        xor     %edi, %edi
        syscall
thread:
        mov     $500, %ecx
1:      dec     %ecx
        jnz     1b
        movl    $1, ended(%rip)
        mov     $60, %eax       /* exit */
        xor     %edi, %edi
        syscall
parent:
        mov     $250, %ecx
1:      dec     %ecx
        jnz     1b
        mov     $61, %eax       /* wait4: any child */
        mov     $-1, %rdi
        xor     %esi, %esi
        xor     %edx, %edx
        xor     %r10d, %r10d
        syscall
        mov     $231, %eax
        xor     %edi, %edi
        syscall
        .bss
ended:  .skip   4
        .balign 16
stack:  .skip   4096
stack_end:
        .section .note.GNU-stack, "", @progbits
