/* SPDX-License-Identifier: MIT */
/*
 * The device tree: the node "memory" loses the firmware's memory. Source: Devicetree Specification 0.4, chapter 5.
 */
#include <examples/sbi_firmware/firmware.h>

enum { BEGIN_NODE = 1, END_NODE, PROPERTY, NOTHING, END = 9 };
#define MAGIC 0xd00dfeedu

static uint32_t word_at(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static uint64_t wide_at(const unsigned char *at)
{
    return (uint64_t)word_at(at) << 32 | word_at(at + 4);
}

static void put_wide(unsigned char *at, uint64_t value)
{
    for (unsigned i = 0; i < 8; i++)
        at[i] = (unsigned char)(value >> (56 - 8 * i));
}

static bool begins_with(const unsigned char *text, const char *word)
{
    while (*word && *text == (unsigned char)*word) {
        text++;
        word++;
    }
    return !*word;
}

static uint32_t padded(uint32_t bytes)
{
    return (bytes + 3u) & ~3u;
}

/* `reg` of a node in the root, whose addresses and sizes have 64 bits each, as those of "virt" have. */
static uint64_t take_from(unsigned char *reg)
{
    uint64_t base = wide_at(reg), size = wide_at(reg + 8);

    if (base <= FIRMWARE_BASE && FIRMWARE_BASE - base < size) {
        put_wide(reg, FIRMWARE_BASE + FIRMWARE_SIZE);
        put_wide(reg + 8, base + size - FIRMWARE_BASE - FIRMWARE_SIZE);
    }
    return base + size;
}

uint64_t firmware_take_memory(unsigned long tree)
{
    unsigned char *blob = (unsigned char *)tree, *at, *names;
    bool in_memory = false;

    if (word_at(blob) != MAGIC)
        return 0;
    at = blob + word_at(blob + 8);
    names = blob + word_at(blob + 12);
    for (;;) {
        uint32_t token = word_at(at), length = 0;

        at += 4;
        switch (token) {
        case BEGIN_NODE:
            in_memory = begins_with(at, "memory@");
            while (at[length])
                length++;
            at += padded(length + 1u);
            break;
        case END_NODE:
            in_memory = false;
            break;
        case PROPERTY:
            length = word_at(at);
            if (in_memory && length == 16 && begins_with(names + word_at(at + 4), "reg"))
                return take_from(at + 8);
            at += 8 + padded(length);
            break;
        case NOTHING:
            break;
        default: /* the end, or no tree */
            return 0;
        }
    }
}
