/* SPDX-License-Identifier: MIT */
/*
 * Find out by CPUID where the executing CPU is in its machine (package, die, node, last-level cache), and how many
 * cores and dies a package has.
 *
 * Intel SDM vol 2, CPUID leaves 0BH and 1FH: ECX[15:8] is a level (1: hyper-threads, 5: dies); EAX[4:0] is by how many
 * bits the APIC's number is shifted to have the number of the next higher level; EBX[15:0] is how many logical
 * processors this level has; EDX is the APIC's number.
 */
#include "core/hw/unit_backend.h"

#if UPMU_UNCORE

#define UNCORE_LEVEL_THREAD 1u
#define UNCORE_LEVEL_DIE 5u

/*
 * How many logical processors are in a core, in a die (0: CPUID has no level of dies), and in a package. `core_bits`,
 * `die_bits` and `package_bits`: shifted by so many bits, the APIC's number is that of the core, the die, or the
 * package.
 */
struct uncore_levels {
    unsigned threads, in_die, in_package;
    unsigned core_bits, die_bits, package_bits;
    uint32_t number; /* the APIC's number of the CPU */
};

static bool read_levels(const struct upmu_uncore_seen *seen, uint32_t leaf, struct uncore_levels *levels)
{
    uint32_t out[4];
    unsigned i;

    *levels = (struct uncore_levels){.threads = 1, .in_package = 1};
    for (i = 0; i < 8; i++) {
        unsigned level;

        seen->cpuid(seen->context, leaf, i, out);
        level = out[2] >> 8 & 0xffu;
        if (!level)
            break;
        if (level == UNCORE_LEVEL_THREAD) {
            levels->threads = out[1] & 0xffffu;
            levels->core_bits = out[0] & 31u;
        }
        if (level == UNCORE_LEVEL_DIE) {
            levels->in_die = levels->in_package;
            levels->die_bits = levels->package_bits;
        }
        levels->in_package = out[1] & 0xffffu;
        levels->package_bits = out[0] & 31u;
        levels->number = out[3];
    }
    return i > 0;
}

/* Read the levels from leaf 1FH or, without that, from leaf 0BH; false: the CPU has neither. */
static bool find_levels(const struct upmu_uncore_seen *seen, struct uncore_levels *levels)
{
    uint32_t out[4];

    seen->cpuid(seen->context, 0, 0, out);
    return (out[0] >= 0x1f && read_levels(seen, 0x1f, levels)) || (out[0] >= 0xb && read_levels(seen, 0xb, levels));
}

/*
 * Does leaf 0 begin like "AuthenticAMD" or "HygonGenuine"? (EBX is compared.) The PMU's backend does not tell: a
 * hypervisor's PMU may be the same on any processor.
 */
static bool is_amd(const uint32_t leaf[4])
{
    return leaf[1] == 0x68747541u || leaf[1] == 0x6f677948u;
}

void upmu_uncore_count(struct upmu_uncore_seen *seen)
{
    struct uncore_levels levels;
    uint32_t out[4];

    seen->cpuid(seen->context, 0, 0, out);
    seen->amd = is_amd(out);
    if (!find_levels(seen, &levels))
        return;
    if (levels.threads)
        seen->cores = (uint16_t)(levels.in_package / levels.threads);
    if (levels.in_die)
        seen->dies = (uint8_t)(levels.in_package / levels.in_die);
}

/* Return how many bits are needed to number `count` objects from 0; 16 at most. */
static unsigned bits_for(unsigned count)
{
    unsigned bits = 0;

    while (bits < 16 && (1u << bits) < count)
        bits++;
    return bits;
}

/*
 * Set place->llc to the number of the CPU's level-3 cache: the APIC's number (`number`) without the low bits that tell
 * apart the logical processors that share the cache. Leaf 4, or 8000_001DH: EAX[7:5] is the level of a cache,
 * EAX[25:14] how many logical processors share it, less 1. Without a level 3 the member stays.
 */
static void find_cache(const struct upmu_uncore_seen *seen, uint32_t leaf, uint32_t number,
                       struct upmu_cpu_place *place)
{
    uint32_t out[4];

    for (unsigned i = 0; i < 8; i++) {
        seen->cpuid(seen->context, leaf, i, out);
        if (!(out[0] & 31u))
            return;
        if ((out[0] >> 5 & 7u) == 3)
            place->llc = (uint16_t)(number >> bits_for((out[0] >> 14 & 0xfffu) + 1u));
    }
}

/*
 * Set node, die (the node's number in its package) and last-level cache of an AMD CPU, and, if CPUID has no levels
 * (`has_levels` is false), the package; `number` is the APIC's number. A member whose leaf is missing stays. AMD APM
 * vol 3: 8000_0008H ECX[15:12] is how many bits of an APIC's number are within its processor, or 0. E.4.16 and 17:
 * 8000_001EH ECX[7:0] is the node, ECX[10:8] how many nodes a processor has, less 1.
 */
static void place_amd(const struct upmu_uncore_seen *seen, bool has_levels, uint32_t number,
                      struct upmu_cpu_place *place)
{
    uint32_t out[4], highest;

    seen->cpuid(seen->context, 0x80000000u, 0, out);
    highest = out[0];
    if (!has_levels && highest >= 0x80000008u) {
        seen->cpuid(seen->context, 0x80000008u, 0, out);
        if (out[2] >> 12 & 0xfu)
            place->package = (uint16_t)(number >> (out[2] >> 12 & 0xfu));
    }
    if (highest >= 0x8000001eu) {
        seen->cpuid(seen->context, 0x8000001eu, 0, out);
        place->node = (uint16_t)(out[2] & 0xffu);
        place->die = (uint16_t)(place->node % ((out[2] >> 8 & 7u) + 1u));
    }
    if (highest >= 0x8000001du)
        find_cache(seen, 0x8000001du, number, place);
}

void upmu_uncore_number(const struct upmu_uncore_seen *seen, uint16_t *out_number, uint16_t *out_core)
{
    struct uncore_levels levels;
    uint32_t out[4];

    if (!find_levels(seen, &levels)) {
        seen->cpuid(seen->context, 1, 0, out);
        levels = (struct uncore_levels){.number = out[1] >> 24, .package_bits = 8};
    }
    levels.number &= (UINT32_C(1) << levels.package_bits) - 1u;
    *out_number = (uint16_t)levels.number;
    *out_core = (uint16_t)(levels.number >> levels.core_bits);
}

void upmu_uncore_where(const struct upmu_uncore_seen *seen, struct upmu_cpu_place *place)
{
    struct uncore_levels levels;
    bool has_levels = find_levels(seen, &levels);
    uint32_t out[4], number;

    *place = (struct upmu_cpu_place){0};
    seen->cpuid(seen->context, 1, 0, out);
    number = has_levels ? levels.number : out[1] >> 24;
    if (has_levels) {
        place->package = (uint16_t)((uint64_t)number >> levels.package_bits);
        if (levels.in_die)
            place->die = (uint16_t)((number & ((UINT32_C(1) << levels.package_bits) - 1u)) >> levels.die_bits);
    }
    seen->cpuid(seen->context, 0, 0, out);
    if (is_amd(out))
        place_amd(seen, has_levels, number, place);
    else if (out[0] >= 4)
        find_cache(seen, 4, number, place);
}

#endif
