/* SPDX-License-Identifier: MIT */
/*
 * Hooks for RISC-V in M-mode. Sources: RISC-V privileged architecture 1.12, 3.1.6 and 3.1.9; Sscofpmf 1.0 (mhpmevent
 * has upper halves only with this extension: the RISC-V unified database, mhpmevent3h).
 */
#include "port/riscv_native/riscv_native.h"

#ifdef __riscv

#include "port/riscv_native/riscv_csr.h"

#define MSTATUS_MIE 8
#define MIP_LCOFIP (1ul << 13)

static bool read_register(void *context, uint32_t number, uint64_t *out_value)
{
    (void)context;
    return upmu_riscv_csr_read(number, out_value);
}

static bool write_register(void *context, uint32_t number, uint64_t value)
{
    (void)context;
    return upmu_riscv_csr_write(number, value);
}

#if __riscv_xlen == 32
static bool is_event(uint32_t number)
{
    return number >= 0x323u && number < 0x340u;
}

static bool read_narrow(void *context, uint32_t number, uint64_t *out_value)
{
    return is_event(number) ? upmu_riscv_csr_read_narrow_event(number, out_value)
                            : read_register(context, number, out_value);
}

static bool write_narrow(void *context, uint32_t number, uint64_t value)
{
    return is_event(number) ? upmu_riscv_csr_write_narrow_event(number, value) : write_register(context, number, value);
}
#endif

static uintptr_t irq_save(void *context)
{
    uintptr_t state;

    (void)context;
    __asm__ volatile("csrrci %0, mstatus, %1" : "=r"(state) : "i"(MSTATUS_MIE) : "memory");
    return state & MSTATUS_MIE;
}

static void irq_restore(void *context, uintptr_t state)
{
    (void)context;
    UPMU_RV_SET("mstatus", state);
}

/*
 * An overflow sets the pending bit of the interrupt, which the hardware never clears: clear the bit before the next
 * overflow.
 */
static void pmi_rearm(void *context)
{
    (void)context;
    UPMU_RV_CLEAR("mip", MIP_LCOFIP);
}

void upmu_riscv_cpuid(const struct upmu_riscv_identity *identity, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    bool first = !leaf && !subleaf;

    out[0] = first ? identity->counters & ~UINT32_C(7) : 0;
    out[1] = first ? identity->width : 0;
    out[2] = first ? identity->sscofpmf | (uint32_t)identity->sbi_events << 1 : 0;
    out[3] = 0;
}

void upmu_riscv_port(struct upmu_port *port)
{
    port->rdmsr = read_register;
    port->wrmsr = write_register;
    port->irq_save = irq_save;
    port->irq_restore = irq_restore;
    port->pmi_rearm = pmi_rearm;
    port->in_kernel_mode = true;
}

void upmu_riscv_port_without_sscofpmf(struct upmu_port *port)
{
    upmu_riscv_port(port);
#if __riscv_xlen == 32
    port->rdmsr = read_narrow;
    port->wrmsr = write_narrow;
#endif
    port->pmi_rearm = NULL;
}

#endif
