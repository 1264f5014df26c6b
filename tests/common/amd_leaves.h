/* SPDX-License-Identifier: MIT */
/*
 * An AMD CPU as CPUID and two registers describe it, for tests of detection.
 */
#ifndef TESTS_COMMON_AMD_LEAVES_H
#define TESTS_COMMON_AMD_LEAVES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tests/common/assertions.h"

#include "backends/amd_k8/amd_k8.h"
#include "backends/amd_k8/amd_registers.h"
#include <upmu/upmu.h>
#include "tests/common/garbage.h"

#define AMD_SVM (1u << 2)
#define AMD_PERFCTR_CORE (1u << 23)
#define AMD_V2 1u
#define AMD_FREEZE 4u

struct amd_leaves {
    unsigned family, model, stepping;
    const char *vendor;  /* EBX, ECX, EDX of leaf 0; NULL: AMD's */
    uint32_t highest;    /* extended leaf; 0: 8000_0022h */
    uint32_t features;   /* 8000_0001h ECX */
    uint32_t cores;      /* 8000_0008h ECX */
    uint32_t perfmon[2]; /* 8000_0022h EAX, EBX */
    uint64_t efer;
    bool hypervisor, faults; /* reads of registers fault */
    unsigned reads;
    unsigned apic_id;
};

static inline void amd_leaves_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    struct amd_leaves *leaves = context;

    assert_int_equal(subleaf, 0);
    memset(out, 0, 4 * sizeof out[0]);
    if (leaf == 0x80000000) {
        out[0] = leaves->highest ? leaves->highest : 0x80000022;
        return;
    }
    assert_compare(leaf, <=, leaves->highest ? leaves->highest : 0x80000022);
    switch (leaf) {
    case 0x80000001:
        out[2] = leaves->features;
        break;
    case 0x80000008:
        out[2] = leaves->cores;
        break;
    case 0x80000022:
        out[0] = leaves->perfmon[0];
        out[1] = leaves->perfmon[1];
        break;
    default:
        fail_msg("leaf %x", leaf);
    }
}

static inline bool amd_leaves_rdmsr(void *context, uint32_t msr, bool promised, uint64_t *out_value)
{
    struct amd_leaves *leaves = context;

    (void)promised;
    assert_true(msr == 0xc0000080 || msr == 0xc0010000);
    leaves->reads++;
    *out_value = msr == 0xc0000080 ? leaves->efer : 0;
    return garbage_unless(!leaves->faults, out_value);
}

static inline void amd_leaves_fill(struct amd_leaves *leaves, struct upmu_detection *detection)
{
    memset(detection, 0, sizeof *detection);
    detection->context = leaves;
    detection->cpuid = amd_leaves_cpuid;
    detection->rdmsr = amd_leaves_rdmsr;
    detection->leaf0[0] = 1;
    memcpy(&detection->leaf0[1], leaves->vendor ? leaves->vendor : "AuthcAMDenti", 12);
    detection->leaf1[1] = (uint32_t)leaves->apic_id << 24;
    detection->family = (uint16_t)leaves->family;
    detection->model = (uint16_t)leaves->model;
    detection->stepping = (uint8_t)leaves->stepping;
    detection->hypervisor = leaves->hypervisor;
}

static inline bool amd_leaves_detect(struct amd_leaves *leaves, struct upmu_pmu *pmu)
{
    struct upmu_detection detection;

    memset(pmu, 0xa5, sizeof *pmu);
    amd_leaves_fill(leaves, &detection);
    if (!upmu_amd_k8_backend.detect(&detection, pmu))
        return false;
    pmu->backend = &upmu_amd_k8_backend;
    return true;
}

#endif
