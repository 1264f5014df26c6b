/* SPDX-License-Identifier: MIT */
/* Access one register of one device outside of the cores, in the space in which it is. */
#ifndef UPMU_CORE_SPACE_H
#define UPMU_CORE_SPACE_H

#include <upmu/pmu.h>

/* Where a register is. */
struct upmu_place_in_space {
    void *mapped;     /* UPMU_SPACE_MMIO: address at which the register is mapped */
    uint32_t where;   /* UPMU_SPACE_PCI: segment, bus, device and function, as for pci_read() (upmu/port.h) */
    uint32_t address; /* UPMU_SPACE_PCI: offset in the function; UPMU_SPACE_MSR: number of the MSR */
    uint8_t space;    /* enum upmu_register_space */
    uint8_t bits;     /* outside MSRs: 32 or 64 */
    bool moves;       /* the register may change while it is read in two halves */
    bool has_high;    /* for a register that moves: `high` is known */
    uint32_t high;    /* the high half that the register had at an earlier look */
};

/*
 * Read a register, in one access or in halves of 32 bits.  Each call of a hook adds 1 to *accesses.  A register that
 * moves only grows: a low half belongs to the high half if that is the same before and after, where an earlier look
 * counts as before.  If each look shows another high half, the value is such a half over a low half of 0, which the
 * register has passed during the call.  Returns false where an access faulted.
 */
bool upmu_space_read(const struct upmu_port *port, const struct upmu_place_in_space *place, uint32_t *accesses,
                     uint64_t *out_value);

/*
 * Write a register.  If it is written in two halves, the high one is first, because the enable bit is in the low one.
 * Returns false where an access faulted.
 */
bool upmu_space_write(const struct upmu_port *port, const struct upmu_place_in_space *place, uint32_t *accesses,
                      uint64_t value);

#endif
