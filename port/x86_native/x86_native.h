/* SPDX-License-Identifier: MIT */
/*
 * The port for your kernel in ring 0 on x86: fill in one structure and pass its `port` to upmu_machine_init().
 *
 * Afterwards add to `port` what only your kernel can provide: this_cpu (mandatory with a second CPU), run_on_cpu, log.
 * If your kernel recovers from #GP, also add rdmsr, wrmsr and rdpmc of your own (x86_guard.h has them), and set
 * msr_faults_are_safe.
 */
#ifndef UPMU_X86_NATIVE_H
#define UPMU_X86_NATIVE_H

#include <stdint.h>
#include <upmu/upmu.h>
#include <port/x86_native/x86_apic.h>
#include <port/x86_native/x86_clock.h>
#include <port/x86_native/x86_pci.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The native port. One structure serves all CPUs; it must stay in memory as long as the machine. */
struct upmu_x86_native {
    struct upmu_port port; /* the port: pass its address to upmu_machine_init() */
    /* private */
    struct upmu_apic apic;
    uint32_t lvtpc;
    struct upmu_x86_clock clock;
    struct upmu_x86_pci pci;
};

/*
 * Fill in `native->port`. The APIC's mode is found out on the executing CPU, and taken for that of all CPUs.
 *
 * `apic_page`: the address at which the local APIC's page (upmu_apic_base()) is mapped. The address is needed in xAPIC
 * mode only; if it is NULL in this mode, there is no sampling. `vector`: 0 delivers overflows as NMI, 16 to 255 on that
 * vector, whose handler calls upmu_x86_native_eoi(). `tsc_khz`: the time-stamp counter's rate in thousand ticks a
 * second; below 4000 (as 0) there is no clock_ns. upmu_cpu_init() is the first to write the LVTPC entry: the handler
 * must be installed before.
 * Context: local.
 */
void upmu_x86_native_port(struct upmu_x86_native *native, volatile void *apic_page, unsigned vector, uint32_t tsc_khz);

/*
 * Add the hooks pci_read and pci_write, for units outside the cores. Call this function after upmu_x86_native_port().
 *
 * `ecam`: the address at which your kernel has mapped the configuration space of a segment's buses `first_bus` to
 * `last_bus` (ACPI's table MCFG says where it is), uncached; the mapping must stay. NULL: the ports CF8h and CFCh are
 * used, which reach segment 0 and offsets below 100h; your kernel must not use these ports meanwhile, or gives hooks
 * with a lock of its own. Your kernel adds mmio_map itself.
 * Context: any.
 */
void upmu_x86_native_pci(struct upmu_x86_native *native, volatile void *ecam, unsigned segment, unsigned first_bus,
                         unsigned last_bus);

/*
 * Signal the end of an interrupt to the executing CPU's APIC: the last call of the handler of `vector`, not of an NMI.
 * Context: nmi.
 */
void upmu_x86_native_eoi(const struct upmu_x86_native *native);

/*
 * Mask the performance-counter entry (LVTPC) of the executing CPU's APIC; call it after upmu_cpu_fini().  Context:
 * local.
 */
void upmu_x86_native_quiet(const struct upmu_x86_native *native);

#ifdef __cplusplus
}
#endif

#endif
