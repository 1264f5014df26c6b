/* SPDX-License-Identifier: MIT */
/*
 * PCI configuration space in ring 0, for units outside the cores: by memory (ECAM), or by the ports CF8h and CFCh.
 *
 * Ports: bit 31 enables, bus 23:16, device 15:11, function 10:8, register 7:2 (PCI Local Bus Specification 3.0,
 * 3.2.2.3.2; Intel's datasheets of host bridges, CONFIG_ADDRESS).  Memory: bus 27:20, device 19:15, function 14:12,
 * register 11:0 (PCI Express Base Specification, 7.2.2).
 */
#ifndef UPMU_X86_PCI_H
#define UPMU_X86_PCI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How configuration space is reached. */
struct upmu_x86_pci {
    /* where the configuration space from `first_bus` on is mapped, uncached; NULL: use the ports */
    volatile uint8_t *ecam;
    uint16_t segment;       /* the segment that `ecam` is for */
    uint8_t first_bus;      /* the first bus in `ecam` */
    uint8_t last_bus;       /* the last bus in `ecam` */
    /* private */
    uint32_t lock; /* taken while the two ports are used */
};

static inline void upmu_x86_out32(uint16_t port, uint32_t value)
{
    __asm__ volatile("outl %0, %1" : : "a"(value), "Nd"(port) : "memory");
}

static inline uint32_t upmu_x86_in32(uint16_t port)
{
    uint32_t value;

    __asm__ volatile("inl %1, %0" : "=a"(value) : "Nd"(port) : "memory");
    return value;
}

/* Return the address of a register in the memory `ecam`; NULL: the register is not in it. */
static inline volatile uint32_t *upmu_x86_pci_memory(const struct upmu_x86_pci *pci, uint32_t where, uint32_t offset)
{
    uint32_t bus = where >> 8 & 0xffu;

    if (!pci->ecam || where >> 16 != pci->segment || bus < pci->first_bus || bus > pci->last_bus || offset > 0xffcu ||
        (offset & 3u) != 0)
        return NULL;
    return (volatile uint32_t *)(volatile void *)(pci->ecam + ((where & 0xffffu) - ((uint32_t)pci->first_bus << 8)) *
                                                                  4096u + offset);
}

/* Return the word for port CF8h that selects a register; 0: the ports cannot reach this register. */
static inline uint32_t upmu_x86_pci_address(uint32_t where, uint32_t offset)
{
    return where >> 16 != 0 || offset > 0xfcu || (offset & 3u) != 0 ? 0 : 1u << 31 | where << 8 | offset;
}

/*
 * Read or write one register. `where` and `offset` are as in upmu_port.pci_read. False: the register cannot be reached.
 * An access by ports holds pci->lock, which only this function takes: if your kernel uses these ports, too, write hooks
 * that take your kernel's lock. The library's handler never makes such an access.
 * Context: local.
 */
static inline bool upmu_x86_pci_access(struct upmu_x86_pci *pci, uint32_t where, uint32_t offset, bool write,
                                       uint32_t *value)
{
    volatile uint32_t *memory = upmu_x86_pci_memory(pci, where, offset);
    uint32_t address = upmu_x86_pci_address(where, offset);

    if (memory) {
        if (write)
            *memory = *value;
        else
            *value = *memory;
        return true;
    }
    if (!address)
        return false;
    while (__atomic_exchange_n(&pci->lock, 1, __ATOMIC_ACQUIRE))
        __asm__ volatile("pause");
    upmu_x86_out32(0xcf8, address);
    if (write)
        upmu_x86_out32(0xcfc, *value);
    else
        *value = upmu_x86_in32(0xcfc);
    __atomic_store_n(&pci->lock, 0, __ATOMIC_RELEASE);
    return true;
}

#ifdef __cplusplus
}
#endif

#endif
