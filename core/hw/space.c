/* SPDX-License-Identifier: MIT */
/* Access registers of units in their spaces: MSRs, PCI configuration space, device memory. */
#include "core/hw/space.h"
#include "core/hw/port_call.h"

#if UPMU_UNCORE

/*
 * How often a register that changes meanwhile is looked at in one read.  The low half of a counter wraps once in
 * seconds.
 */
#define LOOKS 3u

/*
 * Is a register of 64 bits accessed by halves?  An access has 32 bits in configuration space, and in 32-bit code to
 * memory, too.
 */
static bool is_halved(const struct upmu_place_in_space *place)
{
    bool has_halves = place->space == UPMU_SPACE_MMIO ? sizeof(uintptr_t) < sizeof(uint64_t)
                                                      : place->space == UPMU_SPACE_PCI;

    return has_halves && place->bits != 32;
}

static bool read_at(const struct upmu_port *port, const struct upmu_place_in_space *place, uint32_t offset,
                    unsigned bits, uint32_t *accesses, uint64_t *out_value)
{
    uint32_t value;

    ++*accesses;
    if (place->space == UPMU_SPACE_MSR)
        return port_rdmsr(port, place->address, out_value);
    if (place->space == UPMU_SPACE_MMIO)
        return port_mmio_read(port, (const volatile char *)place->mapped + offset, bits, out_value);
    if (!port_pci_read(port, place->where, place->address + offset, &value))
        return false;
    *out_value = value;
    return true;
}

static bool write_at(const struct upmu_port *port, const struct upmu_place_in_space *place, uint32_t offset,
                     unsigned bits, uint32_t *accesses, uint64_t value)
{
    ++*accesses;
    if (place->space == UPMU_SPACE_MSR)
        return port_wrmsr(port, place->address, value);
    if (place->space == UPMU_SPACE_MMIO)
        return port_mmio_write(port, (volatile char *)place->mapped + offset, bits, value);
    return port_pci_write(port, place->where, place->address + offset, (uint32_t)value);
}

bool upmu_space_read(const struct upmu_port *port, const struct upmu_place_in_space *place, uint32_t *accesses,
                     uint64_t *out_value)
{
    uint64_t low, high = place->high, before;

    if (!is_halved(place))
        return read_at(port, place, 0, place->bits, accesses, out_value);
    if (place->moves && !place->has_high && !read_at(port, place, 4, 32, accesses, &high))
        return false;
    for (unsigned looks = 0; looks < LOOKS; looks++) {
        before = high;
        if (!read_at(port, place, 0, 32, accesses, &low) || !read_at(port, place, 4, 32, accesses, &high))
            return false;
        if (high == before || !place->moves) {
            *out_value = high << 32 | low;
            return true;
        }
    }
    /*
     * The last two high halves differ, as all before did, so the register has passed each of them over a low half of 0.
     * The smaller one is taken: a device that is gone reads as all ones, and its value must not be the result.
     */
    *out_value = (before < high ? before : high) << 32;
    return true;
}

bool upmu_space_write(const struct upmu_port *port, const struct upmu_place_in_space *place, uint32_t *accesses,
                      uint64_t value)
{
    if (!is_halved(place))
        return write_at(port, place, 0, place->bits, accesses, value);
    return write_at(port, place, 4, 32, accesses, value >> 32) &&
           write_at(port, place, 0, 32, accesses, value & 0xffffffffu);
}

#endif
