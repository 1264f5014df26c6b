/* SPDX-License-Identifier: MIT */
/*
 * In a build with a static port (UPMU_PORT_STATIC): hooks that the port's header does not define are absent (0), so
 * that a new hook breaks no port.  Their names stand for members of `port`, which are never called.
 */
#ifndef UPMU_CORE_PORT_STATIC_H
#define UPMU_CORE_PORT_STATIC_H

#ifndef UPMU_STATIC_this_cpu
#define UPMU_STATIC_this_cpu 0
#define upmu_static_this_cpu (port)->this_cpu
#endif
#ifndef UPMU_STATIC_irq_save
#define UPMU_STATIC_irq_save 0
#define upmu_static_irq_save (port)->irq_save
#endif
#ifndef UPMU_STATIC_irq_restore
#define UPMU_STATIC_irq_restore 0
#define upmu_static_irq_restore (port)->irq_restore
#endif
#if !UPMU_STATIC_irq_save != !UPMU_STATIC_irq_restore
#error "a static port has both of irq_save and irq_restore, or neither (upmu/port.h)"
#endif
#ifndef UPMU_STATIC_rdpmc
#define UPMU_STATIC_rdpmc 0
#define upmu_static_rdpmc (port)->rdpmc
#endif
#ifndef UPMU_STATIC_pmi_rearm
#define UPMU_STATIC_pmi_rearm 0
#define upmu_static_pmi_rearm (port)->pmi_rearm
#endif
#ifndef UPMU_STATIC_clock_ns
#define UPMU_STATIC_clock_ns 0
#define upmu_static_clock_ns (port)->clock_ns
#endif
#ifndef UPMU_STATIC_allow_rdpmc
#define UPMU_STATIC_allow_rdpmc 0
#define upmu_static_allow_rdpmc (port)->allow_rdpmc
#endif
#ifndef UPMU_STATIC_run_on_cpu
#define UPMU_STATIC_run_on_cpu 0
#define upmu_static_run_on_cpu (port)->run_on_cpu
#endif
#ifndef UPMU_STATIC_request_tick
#define UPMU_STATIC_request_tick 0
#define upmu_static_request_tick (port)->request_tick
#endif
#ifndef UPMU_STATIC_log
#define UPMU_STATIC_log 0
#define upmu_static_log (port)->log
#endif
#ifndef UPMU_STATIC_hypercall
#define UPMU_STATIC_hypercall 0
#define upmu_static_hypercall (port)->hypercall
#endif
#ifndef UPMU_STATIC_shared_page
#define UPMU_STATIC_shared_page 0
#define upmu_static_shared_page (port)->shared_page
#endif
#ifndef UPMU_STATIC_pci_read
#define UPMU_STATIC_pci_read 0
#define upmu_static_pci_read (port)->pci_read
#endif
#ifndef UPMU_STATIC_pci_write
#define UPMU_STATIC_pci_write 0
#define upmu_static_pci_write (port)->pci_write
#endif
#ifndef UPMU_STATIC_mmio_map
#define UPMU_STATIC_mmio_map 0
#define upmu_static_mmio_map (port)->mmio_map
#endif
#ifndef UPMU_STATIC_mmio_unmap
#define UPMU_STATIC_mmio_unmap 0
#define upmu_static_mmio_unmap (port)->mmio_unmap
#endif
#ifndef UPMU_STATIC_mmio_read
#define UPMU_STATIC_mmio_read 0
#define upmu_static_mmio_read (port)->mmio_read
#endif
#ifndef UPMU_STATIC_mmio_write
#define UPMU_STATIC_mmio_write 0
#define upmu_static_mmio_write (port)->mmio_write
#endif
#ifndef UPMU_STATIC_cpu_place
#define UPMU_STATIC_cpu_place 0
#define upmu_static_cpu_place (port)->cpu_place
#endif
#ifndef UPMU_STATIC_nearest_cpu
#define UPMU_STATIC_nearest_cpu 0
#define upmu_static_nearest_cpu (port)->nearest_cpu
#endif
#ifndef UPMU_STATIC_show_unit
#define UPMU_STATIC_show_unit 0
#define upmu_static_show_unit (port)->show_unit
#endif
#ifndef UPMU_STATIC_own_unit
#define UPMU_STATIC_own_unit 0
#define upmu_static_own_unit (port)->own_unit
#endif

#endif
