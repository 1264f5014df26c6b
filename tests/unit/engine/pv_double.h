/* SPDX-License-Identifier: MIT */
/*
 * A hypervisor with a paravirtual PMU, written from docs/PARAVIRT.md by numbers: it shares no layout with the library.
 *
 * Each guest CPU has its page.  Generic event n happens (n + 1) times in each step.  What the guest does wrong stops
 * the test.
 */
#ifndef UPMU_TESTS_UNIT_PV_DOUBLE_H
#define UPMU_TESTS_UNIT_PV_DOUBLE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tests/common/assertions.h"

#include <upmu/upmu.h>
#include "tests/common/garbage.h"

#define PV_CPUS 2
#define PV_COUNTERS 24
#define PV_NUMBER 0x1234u
#define PV_WRAP (UINT64_C(1) << 48)
#define PV_FOREIGN_LEAF 0x40000000u

struct pv_vcpu {
    uint8_t page[4096];
    bool mapped;
    uint32_t gate;
    uint64_t value[PV_COUNTERS], wish[PV_COUNTERS];
    uint16_t taken[PV_COUNTERS];
};

struct pv_host {
    struct upmu_port port;
    struct upmu_machine machine;
    struct upmu_cpu cpu[PV_CPUS];
    struct pv_vcpu vcpu[PV_CPUS];
    unsigned running;       /* the CPU that executes */
    uint32_t leaf;          /* of the PMU */
    uint32_t has[4], events[4];
    bool hypervisor;
    unsigned calls, by_op[32];
    unsigned fail_at;       /* 1: the next call fails, and so on; 0: none */
    bool refuse;            /* it is answered with BAD_EVENT, instead of not at all */
    uint32_t magic;
    bool user;              /* what runs is user mode */
    unsigned injected, answered[3];
    uint64_t now_ns;
};

static struct pv_host pv;

static uint64_t pv_get(const struct pv_vcpu *vcpu, unsigned at, unsigned bytes)
{
    uint64_t value = 0;

    memcpy(&value, vcpu->page + at, bytes);
    return value;
}

static void pv_put(struct pv_vcpu *vcpu, unsigned at, unsigned bytes, uint64_t value)
{
    assert_true(vcpu->mapped);
    memcpy(vcpu->page + at, &value, bytes);
}

/* The host's words of a slot at 64 + 64 n: count 0, overflows 8, sequence 12, value 16, status 60. */
static void pv_publish(struct pv_vcpu *vcpu, uint32_t slots)
{
    for (unsigned n = 0; n < PV_COUNTERS; n++)
        if (slots >> n & 1u) {
            uint64_t sequence = pv_get(vcpu, 64 + 64 * n + 12, 4);

            assert_true(!(sequence & 1u));
            pv_put(vcpu, 64 + 64 * n + 16, 8, vcpu->value[n]);
            pv_put(vcpu, 64 + 64 * n + 60, 4, vcpu->taken[n]);
            pv_put(vcpu, 64 + 64 * n + 12, 4, sequence + 2);
        }
}

/* Wish n at 1600 + 32 n: configuration 0, load 16. */
static uint32_t pv_gate(struct pv_vcpu *vcpu, uint32_t slots)
{
    for (unsigned n = 0; n < PV_COUNTERS; n++) {
        uint64_t load = pv_get(vcpu, 1600 + 32 * n + 16, 8), wish = pv_get(vcpu, 1600 + 32 * n, 8);

        if (!(slots >> n & 1u) || (vcpu->gate >> n & 1u))
            continue;
        vcpu->wish[n] = wish;
        if (wish >> 56 & 1u)
            assert_true(pv.has[0] & 8u); /* raw events are taken */
        else if (wish >> 63)
            assert_compare(wish & 0xffffff, <, 10);
        if ((uint16_t)(load >> 48) != vcpu->taken[n]) {
            vcpu->taken[n] = (uint16_t)(load >> 48);
            vcpu->value[n] = load & (PV_WRAP - 1);
        }
    }
    pv_publish(vcpu, vcpu->gate | slots);
    vcpu->gate = slots;
    pv_put(vcpu, 8, 4, slots);
    return 0;
}

static uint32_t pv_map(struct pv_vcpu *vcpu, uint64_t address)
{
    if (vcpu->mapped)
        return 10;
    assert_int_equal(address, (UINT64_C(0x123456789) + (unsigned)(vcpu - pv.vcpu)) << 12);
    vcpu->mapped = true;
    vcpu->gate = 0;
    memset(vcpu->value, 0, sizeof vcpu->value);
    memset(vcpu->taken, 0, sizeof vcpu->taken);
    pv_put(vcpu, 0, 4, pv.magic);
    pv_put(vcpu, 4, 2, 1);
    pv_put(vcpu, 6, 2, pv.has[3]);
    pv_put(vcpu, 8, 4, 0);
    pv_publish(vcpu, 0xffffff);
    return 0;
}

static bool pv_hypercall(void *context, uint32_t number, const uint32_t argument[3], uint32_t *out_answer)
{
    struct pv_vcpu *vcpu = &pv.vcpu[pv.running];
    unsigned op = argument[0];

    (void)context;
    assert_int_equal(number, PV_NUMBER);
    assert_true(op == 16 || op == 17 || op == 18 || op == 19);
    pv.calls++;
    pv.by_op[op]++;
    *out_answer = 4;
    if (pv.fail_at && !--pv.fail_at)
        return pv.refuse;
    if (op == 16) {
        *out_answer = pv_map(vcpu, argument[1] | (uint64_t)argument[2] << 32);
        return true;
    }
    assert_int_equal(argument[2], 0);
    *out_answer = vcpu->mapped ? 0 : 10;
    if (op == 17 && vcpu->mapped) {
        pv_gate(vcpu, 0);
        vcpu->mapped = false;
    } else if (op == 18 && vcpu->mapped) {
        assert_int_equal(argument[1] >> pv.has[3], 0);
        pv_gate(vcpu, argument[1]);
    } else if (op == 19 && vcpu->mapped) {
        pv_publish(vcpu, argument[1] & vcpu->gate);
    }
    return true;
}

static void *pv_shared_page(void *context, uint64_t *out_guest_physical)
{
    (void)context;
    *out_guest_physical = (UINT64_C(0x123456789) + pv.running) << 12;
    return pv.vcpu[pv.running].page;
}

/* The guest must not touch an MSR. */
static bool pv_rdmsr(void *context, uint32_t msr, uint64_t *out_value)
{
    (void)context, (void)msr;
    return garbage(out_value);
}

static bool pv_wrmsr(void *context, uint32_t msr, uint64_t value)
{
    (void)context, (void)msr, (void)value;
    fail_msg("MSR %x is written", msr);
    return false;
}

static void pv_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    (void)context, (void)subleaf;
    memset(out, 0, 4 * sizeof *out);
    if (leaf == 1)
        out[2] = (uint32_t)pv.hypervisor << 31;
    else if (leaf == PV_FOREIGN_LEAF && pv.leaf != PV_FOREIGN_LEAF)
        memcpy(out + 1, "KVMKVMKVM\0\0", 12);
    else if (leaf == pv.leaf) {
        out[0] = leaf + 2;
        memcpy(out + 1, "upmuPMUupmu", 12);
    } else if (leaf == pv.leaf + 1)
        memcpy(out, pv.has, sizeof pv.has);
    else if (leaf == pv.leaf + 2)
        memcpy(out, pv.events, sizeof pv.events);
}

static struct upmu_cpu *pv_this_cpu(void *context)
{
    (void)context;
    return &pv.cpu[pv.running];
}

static uint64_t pv_clock(void *context)
{
    (void)context;
    return pv.now_ns += 10;
}

static void pv_rearm(void *context)
{
    (void)context;
}

static void pv_prepare(void)
{
    memset(&pv, 0, sizeof pv);
    pv.leaf = 0x40000100u;
    pv.hypervisor = true;
    pv.magic = 0x75767075u;
    pv.has[0] = 2;
    pv.has[1] = PV_NUMBER;
    pv.has[2] = 1;
    pv.has[3] = PV_COUNTERS;
    pv.events[1] = 0x3ff;
    pv.port = (struct upmu_port){
        .rdmsr = pv_rdmsr, .wrmsr = pv_wrmsr, .cpuid = pv_cpuid, .this_cpu = pv_this_cpu, .clock_ns = pv_clock,
        .pmi_rearm = pv_rearm, .hypercall = pv_hypercall, .shared_page = pv_shared_page
    };
    assert_int_equal(upmu_machine_init(&pv.machine, &pv.port), UPMU_OK);
}

static void pv_set_up(void)
{
    pv_prepare();
    assert_int_equal(upmu_cpu_init(&pv.cpu[0], &pv.machine, NULL), UPMU_OK);
}

static void pv_inject(struct pv_vcpu *vcpu)
{
    struct upmu_frame frame = {.ip = 0x1000, .user = pv.user};

    (void)vcpu;
    pv.injected++;
    pv.answered[upmu_pmi_handle(&pv.cpu[pv.running], &frame)]++;
}

/* The guest executes; a wrap is injected at once. */
static void pv_run(unsigned steps)
{
    struct pv_vcpu *vcpu = &pv.vcpu[pv.running];

    while (steps--) {
        uint32_t wrapped = 0, wants = 0;

        for (unsigned n = 0; n < PV_COUNTERS; n++) {
            uint64_t wish = vcpu->wish[n];

            if (!(vcpu->gate >> n & 1u) || !(wish >> 63) || !(wish >> (pv.user ? 57 : 58) & 1u))
                continue;
            vcpu->value[n] += wish >> 56 & 1u ? 100 : (wish & 0xf) + 1;
            if (vcpu->value[n] >> 48) {
                vcpu->value[n] &= PV_WRAP - 1;
                wrapped |= 1u << n;
                if (wish >> 59 & 1u)
                    wants |= 1u << n;
            }
        }
        if (!wrapped)
            continue;
        pv_put(vcpu, 12, 4, pv_get(vcpu, 12, 4) | wrapped);
        pv_publish(vcpu, wrapped);
        if (wants)
            pv_inject(vcpu);
    }
}

static unsigned pv_calls(void)
{
    unsigned calls = pv.calls;

    pv.calls = 0;
    return calls;
}

#endif
