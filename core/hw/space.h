/* SPDX-License-Identifier: MIT */
/*
 * Registers in other spaces than the executing CPU's MSRs: one register of one device.
 */
#ifndef UPMU_CORE_SPACE_H
#define UPMU_CORE_SPACE_H

#include <upmu/pmu.h>

/* Where a register is. */
struct upmu_place_in_space {
    void *mapped;     /* UPMU_SPACE_MMIO: the register itself */
    uint32_t where;   /* UPMU_SPACE_PCI: the function (upmu/port.h) */
    uint32_t address; /* UPMU_SPACE_PCI: offset in the function; UPMU_SPACE_MSR: number */
    uint8_t space;    /* enum upmu_register_space */
    uint8_t bits;     /* outside MSRs: 32 or 64 */
    bool moves;       /* the register may change while it is read */
    bool has_high;    /* the register moves, and `high` was seen */
    uint32_t high;    /* the register's high half at an earlier look */
};

/*
 * Read one value, by accesses of at most the register's width.  Each call of a hook adds 1 to *accesses.  A register
 * that moves only grows: its low half belongs to a high half that is the same before and after it, where an earlier
 * look counts as before.  If each look shows another high half, the value is such a half over 0, which the register has
 * passed during the call.  Returns false where an access faulted.
 */
bool upmu_space_read(const struct upmu_port *port, const struct upmu_place_in_space *place, uint32_t *accesses,
                     uint64_t *out_value);

/* Write one value.  Of two halves the high one is written first, because the enable bit is in the low one. */
bool upmu_space_write(const struct upmu_port *port, const struct upmu_place_in_space *place, uint32_t *accesses,
                      uint64_t value);

#endif
