/* SPDX-License-Identifier: MIT */
/*
 * The UEFI demo's CPU: x86.
 */
#include <efi-demo/demo.h>

#if defined(__x86_64__) || defined(__i386__)

#include <port/efi/efi_port.h>

static struct upmu_efi efi;

static void stall(void *context, unsigned microseconds)
{
    (void)context;
    uefi_call_wrapper(BS->Stall, 1, (UINTN)microseconds);
}

static struct cmd_interrupts interrupts(void *context)
{
    struct cmd_interrupts seen = {efi.traps.handled, efi.traps.stale, efi.traps.not_ours};

    (void)context;
    return seen;
}

const struct upmu_port *demo_port_open(struct shell *shell, struct cmd_live *live, struct upmu_cpu *cpu)
{
    const struct common_traps traps = {&efi.traps.nmis, &efi.traps.faults, &efi.swallow_foreign};
    enum upmu_status status = upmu_efi_open(&efi, stall, NULL, 0);

    efi.cpu = cpu;
    efi.port.log = demo_hook_log;
    upmu_efi_units(&efi, demo_pci_access, NULL);
    if (status == UPMU_OK)
        common_check_port(shell, &efi.port, &efi.apic, &traps, upmu_efi_tsc_khz(&efi));
    live->interrupts = interrupts;
    return &efi.port;
}

void demo_port_try(struct shell *shell, struct cmd_live *live)
{
    (void)shell, (void)live;
}

void demo_port_close(void)
{
    upmu_efi_close(&efi);
}

#endif
