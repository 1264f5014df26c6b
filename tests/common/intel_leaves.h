/* SPDX-License-Identifier: MIT */
/*
 * CPUID leaves and PERF_CAPABILITIES of an Intel core CPU that a test makes up, and
 * what the driver detects from them.
 */
#ifndef UPMU_TESTS_INTEL_LEAVES_H
#define UPMU_TESTS_INTEL_LEAVES_H

#include <string.h>

#include "tests/common/assertions.h"
#include <upmu/upmu.h>

#include "backends/x86_core/x86_core.h"
#include "tests/common/garbage.h"

struct leaves {
    unsigned family, model, stepping;
    bool hypervisor;
    uint32_t max_leaf;        /* 0: as high as what is set below needs */
    uint32_t perfmon[4];      /* 0Ah */
    uint32_t core_type;       /* 1Ah EAX */
    uint32_t extended[4][2];  /* 23h, subleaves 0 to 3: EAX, EBX; subleaf 0 EAX 0: there is none */
    uint32_t features_edx;    /* 7 EDX */
    uint32_t features_ebx;
    bool no_capabilities;     /* PERF_CAPABILITIES faults */
    uint64_t capabilities;
    unsigned capability_reads;
};

static inline void leaves_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    const struct leaves *leaves = context;

    memset(out, 0, 4 * sizeof out[0]);
    if (leaf == 7 && subleaf == 0) {
        out[0] = leaves->extended[0][0] ? 1 : 0;
        out[1] = leaves->features_ebx;
        out[3] = leaves->features_edx | (leaves->core_type ? 1u << 15 : 0); /* core types differ */
    } else if (leaf == 7 && subleaf == 1) {
        out[0] = leaves->extended[0][0] ? 1u << 8 : 0;
    } else if (leaf == 0xA && subleaf == 0) {
        memcpy(out, leaves->perfmon, sizeof leaves->perfmon);
    } else if (leaf == 0x1A && subleaf == 0) {
        out[0] = leaves->core_type;
    } else if (leaf == 0x23 && subleaf < 4) {
        out[0] = leaves->extended[subleaf][0];
        out[1] = leaves->extended[subleaf][1];
    }
}

static inline bool leaves_rdmsr(void *context, uint32_t msr, bool promised, uint64_t *out_value)
{
    struct leaves *leaves = context;

    (void)promised;
    assert_int_equal(msr, 0x345);
    leaves->capability_reads++;
    *out_value = leaves->capabilities;
    return garbage_unless(!leaves->no_capabilities, out_value);
}

static inline bool leaves_detect(struct leaves *leaves, struct upmu_pmu *pmu)
{
    struct upmu_detection detection;
    uint32_t most = leaves->perfmon[0] ? 0xA : 2;

    memset(&detection, 0, sizeof detection);
    memset(pmu, 0xa5, sizeof *pmu);
    if (leaves->core_type)
        most = 0x1A;
    if (leaves->extended[0][0])
        most = 0x23;
    detection.context = leaves;
    detection.cpuid = leaves_cpuid;
    detection.rdmsr = leaves_rdmsr;
    detection.leaf0[0] = leaves->max_leaf ? leaves->max_leaf : most;
    memcpy(&detection.leaf0[1], "GenuntelineI", 12);
    detection.leaf1[2] = 1u << 15; /* PDCM */
    detection.family = (uint16_t)leaves->family;
    detection.model = (uint16_t)leaves->model;
    detection.stepping = (uint8_t)leaves->stepping;
    detection.hypervisor = leaves->hypervisor;
    if (!upmu_x86_core_backend.detect(&detection, pmu))
        return false;
    pmu->backend = &upmu_x86_core_backend;
    return true;
}

/* Leaf 0Ah of a version with so many counters of 48 bits and seven events. */
static inline void leaves_perfmon(struct leaves *leaves, unsigned version, unsigned general, unsigned fixed)
{
    leaves->perfmon[0] = version | general << 8 | 48u << 16 | 7u << 24;
    leaves->perfmon[2] = version >= 5 ? (1u << fixed) - 1 : 0;
    leaves->perfmon[3] = fixed | 48u << 5 | (version >= 5 ? 0x8000u : 0);
}

#endif
