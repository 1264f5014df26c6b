/* SPDX-License-Identifier: MIT */
/* Registers of a hart, for both files of this folder. */
#ifndef UPMU_ABI_SBI_SBI_PMU_H
#define UPMU_ABI_SBI_SBI_PMU_H

#include "abi/sbi/sbi.h"
#include <upmu/abi.h>

#define SBI_MCOUNTEREN 0x306u
#define SBI_MCOUNTINHIBIT 0x320u
#define SBI_MHPMEVENT(n) (0x320u + (n))
#define SBI_MHPMCOUNTER(n) (0xb00u + (n))
#define SBI_CYCLE 0xc00u
#define SBI_SCOUNTOVF 0xda0u

#define SBI_XLEN ((unsigned)sizeof(unsigned long) * 8u)

static inline bool csr_read(const struct upmu_sbi_pmu *pmu, uint32_t number, uint64_t *out_value)
{
    const struct upmu_port *port = pmu->config->port;

    return port->rdmsr(port->context, number, out_value);
}

static inline bool csr_write(const struct upmu_sbi_pmu *pmu, uint32_t number, uint64_t value)
{
    const struct upmu_port *port = pmu->config->port;

    return port->wrmsr(port->context, number, value);
}

/* Set the bits `set` of a register and clear the bits `clear`. No write is made if nothing changes. */
static inline bool csr_change(const struct upmu_sbi_pmu *pmu, uint32_t number, uint32_t set, uint32_t clear)
{
    uint64_t value = 0;

    if (!csr_read(pmu, number, &value))
        return false;
    return ((value | set) & ~(uint64_t)clear) == value || csr_write(pmu, number, (value | set) & ~(uint64_t)clear);
}

#endif
