/* SPDX-License-Identifier: MIT */
/*
 * The guest's memory: addresses are those of the machine (stage 2 maps each to itself), but for the begin of the RAM,
 * where the hypervisor is. The device tree that the guest gets says so.
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

/* ---- The device tree: big-endian words, in an order that begins with the offset of the structure ---- */

#define TREE_MAGIC 0xd00dfeedu
enum { NODE_BEGIN = 1, NODE_END = 2, PROPERTY = 3, NOTHING = 4 };

static uint32_t word_at(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void put_word(uint8_t *at, uint32_t word)
{
    for (unsigned i = 0; i < 4; i++)
        at[i] = (uint8_t)(word >> (24 - 8 * i));
}

static bool starts_with(const uint8_t *text, const char *start)
{
    while (*start && *text == (uint8_t)*start)
        text++, start++;
    return !*start;
}

/* `reg` of the node memory@40000000 is an address and a size, of 8 bytes each. */
bool el2_memory_shrink(uint8_t *tree)
{
    const uint8_t *names = tree + word_at(tree + 12);
    uint8_t *at = tree + word_at(tree + 8);
    bool in_memory = false;

    if (word_at(tree) != TREE_MAGIC)
        return false;
    for (;;) {
        uint32_t what = word_at(at), bytes = 0;

        at += 4;
        if (what == NODE_BEGIN) {
            in_memory = starts_with(at, "memory@");
            while (at[bytes])
                bytes++;
            at += (bytes + 4u) & ~3u;
        } else if (what == PROPERTY) {
            bytes = word_at(at);
            if (in_memory && bytes == 16 && starts_with(names + word_at(at + 4), "reg") && word_at(at + 12) == RAM) {
                put_word(at + 12, (uint32_t)EL2_GUEST_RAM);
                put_word(at + 20, word_at(at + 20) - (uint32_t)(EL2_GUEST_RAM - RAM));
                return true;
            }
            at += 8 + ((bytes + 3u) & ~3u);
        } else if (what != NODE_END && what != NOTHING) {
            return false;
        }
    }
}
