/* SPDX-License-Identifier: MIT */
/*
 * The loops of the workloads in machine code, so that what they retire is known to
 * the instruction.  x86 and AArch64 only; elsewhere nothing runs live.
 */
#ifndef UPMU_CMD_LOOPS_H
#define UPMU_CMD_LOOPS_H

#include <stdint.h>

#if defined(__x86_64__)
#define CMD_LOOP_ABI __attribute__((sysv_abi))
#define CMD_HAVE_LOOPS 1
#elif defined(__i386__)
#define CMD_LOOP_ABI __attribute__((cdecl))
#define CMD_HAVE_LOOPS 1
#elif defined(__aarch64__)
#define CMD_LOOP_ABI
#define CMD_HAVE_LOOPS 1
#else
#define CMD_LOOP_ABI
#define CMD_HAVE_LOOPS 0
#endif

/*
 * Each runs `iterations` times (at least once) over a buffer of mask + 1 bytes, a
 * power of two.  Beside the loop at most CMD_LOOP_EXTRA instructions, one branch.
 */
typedef void CMD_LOOP_ABI cmd_loop(uintptr_t iterations, void *buffer, uintptr_t mask);

#define CMD_LOOP_EXTRA 16u

/* Instructions and branches of one iteration. */
#define CMD_SPIN_INSTRUCTIONS 2u
#define CMD_SPIN_BRANCHES 1u
#define CMD_MEMSET_INSTRUCTIONS 5u
#define CMD_MEMSET_BRANCHES 1u
#define CMD_MEMCPY_INSTRUCTIONS 6u
#define CMD_MEMCPY_BRANCHES 1u
#define CMD_BRANCHES_INSTRUCTIONS 5u
#define CMD_BRANCHES_BRANCHES 2u
#define CMD_CHASE_INSTRUCTIONS 3u
#define CMD_CHASE_BRANCHES 1u

#if CMD_HAVE_LOOPS
#define CMD_LOOP_HIDDEN __attribute__((visibility("hidden")))
CMD_LOOP_HIDDEN cmd_loop cmd_loop_spin;     /* nothing */
CMD_LOOP_HIDDEN cmd_loop cmd_loop_memset;   /* one word stored */
CMD_LOOP_HIDDEN cmd_loop cmd_loop_memcpy;   /* one word loaded, stored half a buffer further */
CMD_LOOP_HIDDEN cmd_loop cmd_loop_branches; /* one branch that follows a random bit */
/* Each iteration loads the next address from the last one; returns the address to continue at. */
CMD_LOOP_HIDDEN void *CMD_LOOP_ABI cmd_loop_chase(uintptr_t iterations, void *at);
extern CMD_LOOP_HIDDEN const char cmd_loop_end[];
#endif

#endif
