/* SPDX-License-Identifier: MIT */
/*
 * The only file that calls hooks of the port: at run time through struct upmu_port or, with UPMU_PORT_STATIC, as the
 * inline functions of the header UPMU_PORT_HEADER.  port_has_...(): has the port the hook?
 */
#ifndef UPMU_CORE_PORT_CALL_H
#define UPMU_CORE_PORT_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <upmu/format.h>
#include <upmu/message.h>
#include <upmu/port.h>
#include <upmu/unit.h>

/* Keep the compiler from moving memory accesses across this line: a handler may come here, and read or write memory. */
#define UPMU_BARRIER() __asm__ volatile("" ::: "memory")

#if UPMU_PORT_STATIC
#include UPMU_PORT_HEADER
#include "core/hw/port_static.h"
#define PORT_CALL(port, hook) ((void)(port), upmu_static_##hook)
#define PORT_HAS(port, hook) ((void)(port), UPMU_STATIC_##hook)
#else
#define PORT_CALL(port, hook) (port)->hook
#define PORT_HAS(port, hook) ((port)->hook != NULL)
#endif

static inline bool port_rdmsr(const struct upmu_port *port, uint32_t msr, uint64_t *out_value)
{
    return PORT_CALL(port, rdmsr)(port->context, msr, out_value);
}

#if UPMU_TRACE
void upmu_trace_write(uint32_t msr, uint64_t value); /* defined by the host */
#endif

static inline bool port_wrmsr(const struct upmu_port *port, uint32_t msr, uint64_t value)
{
#if UPMU_TRACE
    upmu_trace_write(msr, value);
#endif
    return PORT_CALL(port, wrmsr)(port->context, msr, value);
}

static inline void port_cpuid(const struct upmu_port *port, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    PORT_CALL(port, cpuid)(port->context, leaf, subleaf, out);
}

static inline bool port_has_this_cpu(const struct upmu_port *port)
{
    return PORT_HAS(port, this_cpu);
}

static inline struct upmu_cpu *port_this_cpu(const struct upmu_port *port)
{
    return PORT_CALL(port, this_cpu)(port->context);
}

static inline uintptr_t port_irq_save(const struct upmu_port *port)
{
    return PORT_HAS(port, irq_save) ? PORT_CALL(port, irq_save)(port->context) : 0;
}

static inline void port_irq_restore(const struct upmu_port *port, uintptr_t state)
{
    if (PORT_HAS(port, irq_restore))
        PORT_CALL(port, irq_restore)(port->context, state);
}

static inline bool port_has_rdpmc(const struct upmu_port *port)
{
    return PORT_HAS(port, rdpmc);
}

static inline bool port_rdpmc(const struct upmu_port *port, uint32_t index, uint64_t *out_value)
{
    return PORT_CALL(port, rdpmc)(port->context, index, out_value);
}

static inline bool port_has_pmi(const struct upmu_port *port)
{
    return PORT_HAS(port, pmi_rearm);
}

static inline void port_pmi_rearm(const struct upmu_port *port)
{
    PORT_CALL(port, pmi_rearm)(port->context);
}

static inline bool port_has_clock(const struct upmu_port *port)
{
    return PORT_HAS(port, clock_ns);
}

static inline uint64_t port_clock_ns(const struct upmu_port *port)
{
    return PORT_HAS(port, clock_ns) ? PORT_CALL(port, clock_ns)(port->context) : 0;
}

struct upmu_machine;

/* As port_clock_ns(), for a machine; not inline, because it is called at many places.  In core/hw/port_call.c. */
uint64_t upmu_machine_clock_ns(const struct upmu_machine *machine);

static inline bool port_has_allow_rdpmc(const struct upmu_port *port)
{
    return PORT_HAS(port, allow_rdpmc);
}

static inline void port_allow_rdpmc(const struct upmu_port *port, bool allow)
{
    PORT_CALL(port, allow_rdpmc)(port->context, allow);
}

static inline void port_request_tick(const struct upmu_port *port)
{
    if (PORT_HAS(port, request_tick))
        PORT_CALL(port, request_tick)(port->context);
}

static inline bool port_run_on_cpu(const struct upmu_port *port, struct upmu_cpu *cpu, void (*function)(void *argument),
                                   void *argument)
{
    return UPMU_REMOTE && PORT_HAS(port, run_on_cpu) &&
           PORT_CALL(port, run_on_cpu)(port->context, cpu, function, argument);
}

static inline void port_log(const struct upmu_port *port, const char *line)
{
    if (PORT_HAS(port, log))
        PORT_CALL(port, log)(port->context, line);
}

#if UPMU_BACKEND_PARAVIRT

static inline bool port_has_page(const struct upmu_port *port)
{
    return PORT_HAS(port, hypercall) && PORT_HAS(port, shared_page);
}

static inline bool port_hypercall(const struct upmu_port *port, uint32_t number, const uint32_t argument[3],
                                  uint32_t *out_answer)
{
    return PORT_CALL(port, hypercall)(port->context, number, argument, out_answer);
}

static inline void *port_shared_page(const struct upmu_port *port, uint64_t *out_guest_physical)
{
    return PORT_CALL(port, shared_page)(port->context, out_guest_physical);
}

#endif

#if UPMU_UNCORE

static inline bool port_has_pci(const struct upmu_port *port)
{
    return PORT_HAS(port, pci_read) && PORT_HAS(port, pci_write);
}

static inline bool port_pci_read(const struct upmu_port *port, uint32_t where, uint32_t offset, uint32_t *out_value)
{
    return PORT_CALL(port, pci_read)(port->context, where, offset, out_value);
}

static inline bool port_pci_write(const struct upmu_port *port, uint32_t where, uint32_t offset, uint32_t value)
{
    return PORT_CALL(port, pci_write)(port->context, where, offset, value);
}

static inline bool port_has_mmio_map(const struct upmu_port *port)
{
    return PORT_HAS(port, mmio_map);
}

static inline void *port_mmio_map(const struct upmu_port *port, uint64_t physical, size_t bytes)
{
    return PORT_HAS(port, mmio_map) ? PORT_CALL(port, mmio_map)(port->context, physical, bytes) : NULL;
}

static inline void port_mmio_unmap(const struct upmu_port *port, void *pointer, size_t bytes)
{
    if (PORT_HAS(port, mmio_unmap))
        PORT_CALL(port, mmio_unmap)(port->context, pointer, bytes);
}

/* Read a register in device memory of 32 bits, or (only in 64-bit code) of 64 bits at once. */
static inline bool port_mmio_read(const struct upmu_port *port, const volatile void *pointer, unsigned bits,
                                  uint64_t *out_value)
{
    if (PORT_HAS(port, mmio_read))
        return PORT_CALL(port, mmio_read)(port->context, pointer, bits, out_value);
    *out_value = bits == 32 ? *(const volatile uint32_t *)pointer : *(const volatile uint64_t *)pointer;
    return true;
}

static inline bool port_mmio_write(const struct upmu_port *port, volatile void *pointer, unsigned bits, uint64_t value)
{
    if (PORT_HAS(port, mmio_write))
        return PORT_CALL(port, mmio_write)(port->context, pointer, bits, value);
    if (bits == 32)
        *(volatile uint32_t *)pointer = (uint32_t)value;
    else
        *(volatile uint64_t *)pointer = value;
    return true;
}

/* Ask the host in which package, die and L3 a CPU is.  Returns false: the host does not say it, and CPUID has to. */
static inline bool port_cpu_place(const struct upmu_port *port, struct upmu_cpu *cpu, struct upmu_cpu_place *out_place)
{
    return PORT_HAS(port, cpu_place) && PORT_CALL(port, cpu_place)(port->context, cpu, out_place);
}

static inline struct upmu_cpu *port_nearest_cpu(const struct upmu_port *port, const struct upmu_unit_info *unit,
                                                struct upmu_cpu *const *allowed, unsigned count)
{
    return PORT_HAS(port, nearest_cpu) ? PORT_CALL(port, nearest_cpu)(port->context, unit, allowed, count) : NULL;
}

static inline bool port_show_unit(const struct upmu_port *port, struct upmu_unit_info *info)
{
    return !PORT_HAS(port, show_unit) || PORT_CALL(port, show_unit)(port->context, info);
}

static inline bool port_own_unit(const struct upmu_port *port, unsigned i, struct upmu_unit_info *out_info,
                                 const struct upmu_unit_type **out_type)
{
    return PORT_HAS(port, own_unit) && PORT_CALL(port, own_unit)(port->context, i, out_info, out_type);
}

#endif

/* ---- Hooks that a session was given: of its format, and for notification ---- */

static inline unsigned format_overflow(const struct upmu_session *session, const struct upmu_overflow *overflow,
                                       bool notify)
{
    return session->format->overflow(session->format_state, overflow, notify);
}

static inline bool callers_read(const struct upmu_callers *callers, const struct upmu_overflow *overflow, uint64_t fp,
                                uint64_t *out_next, uint64_t *out_return)
{
    return callers->read(callers->context, fp, (overflow->flags & UPMU_SAMPLE_USER) != 0, out_next, out_return);
}

static inline enum upmu_status format_begin(struct upmu_session *session, const struct upmu_format *format,
                                            const void *argument, size_t bytes, void **out_state)
{
    return format->begin(session, argument, bytes, out_state);
}

static inline unsigned format_restart(struct upmu_session *session)
{
    return session->format->restart ? session->format->restart(session->format_state, session) : 0;
}

static inline void format_end(struct upmu_session *session)
{
    session->format->end(session->format_state, session);
}

static inline void notify_wake(const struct upmu_notify *notify, struct upmu_session *session)
{
    if (notify->wake)
        notify->wake(notify->context, session);
}

static inline void notify_signal(const struct upmu_notify *notify, struct upmu_session *session)
{
    if (notify->signal && notify->signal_number)
        notify->signal(notify->context, session, notify->signal_number);
}

static inline void notify_block(const struct upmu_notify *notify, struct upmu_session *session)
{
    if (notify->block)
        notify->block(notify->context, session);
}

static inline void notify_unblock(const struct upmu_notify *notify, struct upmu_session *session)
{
    if (notify->unblock)
        notify->unblock(notify->context, session);
}

#endif
