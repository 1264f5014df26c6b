/* SPDX-License-Identifier: MIT */
/*
 * Packed addresses of uncore units: 24 bits that say where a unit is.  There are only macros and one inline function
 * here, so tools can use this header without the library.
 *
 *   bits   field    values
 *   23…17  rack     0…127
 *   16…12  blade    0…31
 *   11…9   chip     0…7
 *   8      node     0…1
 *   7…4    core     0…15
 *   3…0    number   0…15, which of several identical units
 *
 * Bits 31…24 are 0.  Which unit has an address depends on the machine: upmu_unit_find() finds it.  A unit with a number
 * that does not fit (cache slice 16) has no address; use its path instead.
 */
#ifndef UPMU_UNIT_ADDR_H
#define UPMU_UNIT_ADDR_H

#include <stdbool.h>
#include <stdint.h>

/* Number of values of each field: the highest value is one less. */
#define UPMU_UNIT_RACKS 128u
#define UPMU_UNIT_BLADES 32u
#define UPMU_UNIT_CHIPS 8u
#define UPMU_UNIT_NODES 2u
#define UPMU_UNIT_CORES 16u
#define UPMU_UNIT_NUMBERS 16u

/* The result of UPMU_UNIT_ADDRESS() with an invalid field: no address. */
#define UPMU_UNIT_NO_ADDRESS UINT32_C(0xffffffff)

/*
 * The address of a unit from its fields; UPMU_UNIT_NO_ADDRESS if a field is negative or too great.  A constant
 * expression if the fields are constant.  Each argument is evaluated up to twice.
 */
#define UPMU_UNIT_ADDRESS(rack, blade, chip, node, core, number)                                                     \
    ((uint64_t)(rack) < UPMU_UNIT_RACKS && (uint64_t)(blade) < UPMU_UNIT_BLADES &&                                   \
             (uint64_t)(chip) < UPMU_UNIT_CHIPS && (uint64_t)(node) < UPMU_UNIT_NODES &&                             \
             (uint64_t)(core) < UPMU_UNIT_CORES && (uint64_t)(number) < UPMU_UNIT_NUMBERS                            \
         ? (uint32_t)(rack) << 17 | (uint32_t)(blade) << 12 | (uint32_t)(chip) << 9 | (uint32_t)(node) << 8 |        \
               (uint32_t)(core) << 4 | (uint32_t)(number)                                                            \
         : UPMU_UNIT_NO_ADDRESS)

/* Get one field of a valid address, as UPMU_UNIT_ADDRESS() was given it. */
#define UPMU_UNIT_RACK(address) ((uint32_t)(address) >> 17 & (UPMU_UNIT_RACKS - 1u))
#define UPMU_UNIT_BLADE(address) ((uint32_t)(address) >> 12 & (UPMU_UNIT_BLADES - 1u))
#define UPMU_UNIT_CHIP(address) ((uint32_t)(address) >> 9 & (UPMU_UNIT_CHIPS - 1u))
#define UPMU_UNIT_NODE(address) ((uint32_t)(address) >> 8 & (UPMU_UNIT_NODES - 1u))
#define UPMU_UNIT_CORE(address) ((uint32_t)(address) >> 4 & (UPMU_UNIT_CORES - 1u))
#define UPMU_UNIT_NUMBER(address) ((uint32_t)(address) & (UPMU_UNIT_NUMBERS - 1u))

/* Can a number be an address: are bits 31 to 24 clear?  Context: any. */
static inline bool upmu_unit_address_valid(uint32_t address)
{
    return address >> 24 == 0;
}

#endif
