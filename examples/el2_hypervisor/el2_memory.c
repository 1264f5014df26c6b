/* SPDX-License-Identifier: MIT */
/*
 * The guest's memory: addresses are those of the machine (stage 2 maps each to itself), but for the begin of the RAM,
 * where the hypervisor is.
 */
#include <examples/el2_hypervisor/el2.h>

#define RAM UINT64_C(0x40000000)
#define GIGABYTE (UINT64_C(1) << 30)
#define BLOCK (UINT64_C(2) << 20)
/* Attributes of a block of stage 2: accessed, inner shareable, read and write; device or normal memory. */
#define BLOCK_DEVICE (UINT64_C(0x6c1) | UINT64_C(1) << 2)
#define BLOCK_NORMAL (UINT64_C(0x7c1) | UINT64_C(0xf) << 2)
#define TABLE 3u

static uint64_t level1[4] __attribute__((aligned(4096)));
static uint64_t level2[512] __attribute__((aligned(4096))); /* of the gigabyte at RAM */

void el2_memory_open(void)
{
    level1[0] = BLOCK_DEVICE;
    level1[1] = (uintptr_t)level2 | TABLE;
    for (unsigned i = 0; i < 512; i++)
        level2[i] = RAM + i * BLOCK >= EL2_GUEST_RAM ? (RAM + i * BLOCK) | BLOCK_NORMAL : 0;
    /* Tables begin at level 1, addresses have 32 bits, pages of 4 KB; inner and outer write-back, inner shareable. */
    EL2_WRITE("vtcr_el2", UINT64_C(1) << 31 | 1u << 16 | 3u << 12 | 1u << 10 | 1u << 8 | 1u << 6 | 32u);
    EL2_WRITE("vttbr_el2", (uintptr_t)level1);
    __asm__ volatile("dsb ish\n\ttlbi vmalls12e1\n\tdsb ish\n\tisb" : : : "memory");
}
