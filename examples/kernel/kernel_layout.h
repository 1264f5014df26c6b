/* SPDX-License-Identifier: MIT */
/*
 * Numbers that the example kernel's assembly and C share.
 */
#ifndef UPMU_KERNEL_LAYOUT_H
#define UPMU_KERNEL_LAYOUT_H

/* Selectors of the segments in kernel_start.S. */
#define KERNEL_CS 0x08
#define KERNEL_DS 0x10
#define USER_DS 0x1b
#define USER_CS 0x23
#define KERNEL_TSS 0x28

/* Where the stack for interrupts from ring 3 stands in the TSS (Intel SDM vol 3
   (325384-059) 7.2.1, 7.7). */
#define TSS_STACK 4
#define TSS_STACK_SEGMENT 8 /* 32-bit only */
#define TSS_IO_MAP 102

/* What kernel_misses.S reads: nodes of a list, words of a table. */
#define MISSES_NODES 2048
#define MISSES_WORDS 1024

#endif
