/* SPDX-License-Identifier: MIT */
/*
 * The walk through a device tree to its node "memory". Source: Devicetree Specification 0.4, chapter 5.
 */
#include <examples/device_tree/device_tree.h>
#include <stdbool.h>

enum { BEGIN_NODE = 1, END_NODE, PROPERTY, NOTHING };
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

/* `reg` has an address and a size. */
static uint64_t begin_at(unsigned char *reg, uint64_t begin)
{
    uint64_t base = wide_at(reg), end = base + wide_at(reg + 8);

    if (base < begin && begin < end) {
        put_wide(reg, begin);
        put_wide(reg + 8, end - begin);
    }
    return end;
}

uint64_t device_tree_begin_memory(unsigned char *tree, uint64_t begin)
{
    unsigned char *at, *names;
    bool in_memory = false;

    if (word_at(tree) != MAGIC)
        return 0;
    at = tree + word_at(tree + 8);
    names = tree + word_at(tree + 12);
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
                return begin_at(at + 8, begin);
            at += 8 + padded(length);
            break;
        case NOTHING:
            break;
        default: /* the end, or no tree */
            return 0;
        }
    }
}
