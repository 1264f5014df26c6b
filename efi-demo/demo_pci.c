/* SPDX-License-Identifier: MIT */
/*
 * Configuration space by the firmware's root bridges (UEFI Specification 2.10, 14.2: EFI_PCI_ROOT_BRIDGE_IO_PROTOCOL).
 */
#include <efi-demo/demo.h>
#include <efipciio.h>

#define DEMO_BRIDGES 16u

struct demo_bridge {
    EFI_PCI_ROOT_BRIDGE_IO_PROTOCOL *protocol;
    UINT64 first_bus, last_bus;
};

static struct demo_bridge demo_bridges[DEMO_BRIDGES];
static unsigned demo_bridge_count;
static bool demo_bridges_found;

/* The buses of a bridge: its resource of type 2 in a list of 46-byte descriptors (ACPI 6.4, 6.4.3.5.1; 79h ends). */
static void find_buses(struct demo_bridge *bridge)
{
    UINT8 *resource = NULL;

    bridge->first_bus = 0;
    bridge->last_bus = 255;
    if (EFI_ERROR(uefi_call_wrapper(bridge->protocol->Configuration, 2, bridge->protocol, (VOID **)&resource)))
        return;
    for (; resource != NULL && resource[0] == 0x8a; resource += 46)
        if (resource[3] == 2) {
            CopyMem(&bridge->first_bus, resource + 14, sizeof bridge->first_bus);
            CopyMem(&bridge->last_bus, resource + 22, sizeof bridge->last_bus);
            return;
        }
}

static void find_bridges(void)
{
    EFI_GUID guid = EFI_PCI_ROOT_BRIDGE_IO_PROTOCOL_GUID;
    EFI_HANDLE *handles = NULL;
    UINTN count = 0;

    demo_bridges_found = true;
    if (EFI_ERROR(LibLocateHandle(ByProtocol, &guid, NULL, &count, &handles)))
        return;
    for (UINTN i = 0; i < count && demo_bridge_count < DEMO_BRIDGES; i++) {
        struct demo_bridge *bridge = &demo_bridges[demo_bridge_count];

        if (EFI_ERROR(uefi_call_wrapper(BS->HandleProtocol, 3, handles[i], &guid, (VOID **)&bridge->protocol)))
            continue;
        find_buses(bridge);
        demo_bridge_count++;
    }
    FreePool(handles);
}

/* A register below 100h stands in the low byte, others in the high half of the address. */
static UINT64 address_of(uint32_t where, uint32_t offset)
{
    uint32_t function = (where >> 8 & 0xffu) << 24 | (where >> 3 & 0x1fu) << 16 | (where & 7u) << 8;

    return function | (offset < 0x100 ? offset : (UINT64)offset << 32);
}

bool demo_pci_access(void *context, uint32_t where, uint32_t offset, bool write, uint32_t *value)
{
    uint32_t bus = where >> 8 & 0xffu;

    (void)context;
    if (!demo_bridges_found)
        find_bridges();
    for (unsigned i = 0; i < demo_bridge_count; i++) {
        struct demo_bridge *bridge = &demo_bridges[i];
        EFI_PCI_ROOT_BRIDGE_IO_PROTOCOL *protocol = bridge->protocol;
        EFI_PCI_ROOT_BRIDGE_IO_PROTOCOL_IO_MEM access = write ? protocol->Pci.Write : protocol->Pci.Read;

        if (protocol->SegmentNumber == where >> 16 && bus >= bridge->first_bus && bus <= bridge->last_bus)
            return !EFI_ERROR(uefi_call_wrapper(access, 5, protocol, EfiPciIoWidthUint32, address_of(where, offset),
                                                (UINTN)1, value));
    }
    return false;
}
