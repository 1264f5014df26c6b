/* SPDX-License-Identifier: MIT */
/*
 * Requests to perf_event_open by a seed: one that is right, with up to three fields changed.  The same request on each
 * machine, so that the answers of a kernel can be recorded.
 */
#ifndef UPMU_TESTS_PERF_ATTRS_H
#define UPMU_TESTS_PERF_ATTRS_H

#include <stdint.h>
#include <string.h>

#include "abi/perf/perf_event.h"

#define PERF_REQUEST_BYTES 5000u /* the longest that is allowed, and some */

/* Process, and group, of a request; a number stands for it where the request is made. */
enum perf_pid { PERF_SELF, PERF_ANY, PERF_NOBODY, PERF_NEGATIVE, PERF_PIDS };
enum perf_group { PERF_ALONE, PERF_LEADER, PERF_SIBLING, PERF_CLOSED, PERF_OTHER_FILE, PERF_GROUPS };

struct perf_request {
    union {
        struct upmu_perf_attr attr;
        uint8_t bytes[PERF_REQUEST_BYTES];
    };
    enum perf_pid pid;
    int32_t cpu;
    enum perf_group group;
    uint64_t flags;
};

static uint64_t perf_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* One bit, two, several, or a small number. */
static uint64_t perf_bits(uint64_t *state, unsigned width)
{
    uint64_t one = UINT64_C(1) << perf_random(state) % width, other = UINT64_C(1) << perf_random(state) % width;

    switch (perf_random(state) % 4u) {
    case 0:
        return one;
    case 1:
        return one | other;
    case 2:
        return perf_random(state) & perf_random(state) & perf_random(state) & (one | (one - 1u));
    default:
        return perf_random(state) % 8u;
    }
}

static void perf_request_change(struct perf_request *request, uint64_t *state)
{
    static const int32_t cpus[] = {-1, -1, 0, 0, 1, -2, 1 << 20};
    static const uint32_t sizes[] = {0, 1, 63, 64, 72, 80, 96, 104, 112, 120, 128, 136, 144, 160, 4096, 4097};
    struct upmu_perf_attr *attr = &request->attr;

    switch (perf_random(state) % 22u) {
    case 0:
        attr->config = perf_random(state) % 14u;
        break;
    case 1:
        attr->size = sizes[perf_random(state) % 16u];
        break;
    case 2:
        attr->sample_period = perf_bits(state, 64);
        break;
    case 3:
        attr->sample_type = perf_bits(state, 27);
        break;
    case 4:
        attr->read_format = perf_bits(state, 6);
        break;
    case 5:
    case 6:
    case 7:
        attr->flags ^= perf_bits(state, 40);
        break;
    case 8:
        attr->wakeup = (uint32_t)perf_bits(state, 32);
        break;
    case 9:
        attr->aux_action = (uint32_t)perf_bits(state, 4);
        break;
    case 10:
        attr->config1 = perf_bits(state, 64);
        break;
    case 11:
        attr->branch_sample_type = perf_bits(state, 22);
        attr->sample_type |= UPMU_PERF_SAMPLE_BRANCH_STACK;
        break;
    case 12:
        attr->sample_regs_user = perf_bits(state, 34);
        attr->sample_type |= UPMU_PERF_SAMPLE_REGS_USER;
        break;
    case 13:
        attr->sample_stack_user = (uint32_t)perf_bits(state, 18) * (perf_random(state) % 2u ? 8u : 1u);
        attr->sample_type |= UPMU_PERF_SAMPLE_STACK_USER;
        break;
    case 14:
        attr->clockid = (int32_t)(perf_random(state) % 14u) - 1;
        attr->flags |= UPMU_PERF_USE_CLOCKID;
        break;
    case 15:
        attr->sample_regs_intr = perf_bits(state, 34);
        attr->sample_type |= UPMU_PERF_SAMPLE_REGS_INTR;
        break;
    case 16:
        attr->sample_max_stack = (uint16_t)perf_bits(state, 9);
        attr->sample_type |= UPMU_PERF_SAMPLE_CALLCHAIN;
        break;
    case 17:
        request->bytes[104 + perf_random(state) % 60u] = (uint8_t)perf_random(state);
        break;
    case 18:
        request->pid = (enum perf_pid)(perf_random(state) % PERF_PIDS);
        break;
    case 19:
        request->cpu = cpus[perf_random(state) % 7u];
        break;
    case 20:
        request->group = (enum perf_group)(perf_random(state) % PERF_GROUPS);
        break;
    default:
        request->flags = perf_random(state) % 4u ? perf_random(state) % 16u : perf_bits(state, 6);
        break;
    }
}

/* The request of a seed: for a software event. */
static void perf_request_make(struct perf_request *request, uint64_t seed)
{
    uint64_t state = seed * UINT64_C(0xd1342543de82ef95) + 1u;

    memset(request, 0, sizeof *request);
    request->cpu = -1;
    request->attr.type = UPMU_PERF_TYPE_SOFTWARE;
    request->attr.size = sizeof request->attr;
    request->attr.config = perf_random(&state) % 12u;
    request->attr.flags = perf_random(&state) % 2u ? UPMU_PERF_DISABLED : 0;
    if (perf_random(&state) % 2u)
        request->attr.flags |= UPMU_PERF_EXCLUDE_KERNEL;
    for (uint64_t changes = perf_random(&state) % 4u; changes; changes--)
        perf_request_change(request, &state);
}

#endif
