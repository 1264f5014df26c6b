/* SPDX-License-Identifier: MIT */
/*
 * A vCPU as bytes, for migration: struct guest_state without the counters that the shape lacks.
 * Little-endian like every host of this engine, the same for 32 and 64 bits.
 */
#include <abi/guest/guest_core.h>
#include "core/util/mem.h"

#define STATE_MAGIC 0x55504755u /* "UGPU" */
#define STATE_VERSION 1u
#define STATE_COUNTERS (UPMU_GUEST_GENERAL + UPMU_GUEST_FIXED)

struct guest_state {
    uint32_t magic;
    uint16_t version;
    uint16_t reserved;
    uint32_t bytes;
    uint32_t checksum;
    uint64_t reserved1[2];
    struct upmu_guest_shape shape;
    uint64_t global_ctrl, status, debugctl;
    uint64_t offcore[2];
    uint32_t lvtpc;
    uint32_t pending; /* counters whose overflow is still to be injected */
    uint64_t reserved2[2];
    struct {
        uint64_t value, select;
    } counter[STATE_COUNTERS]; /* general ones, then fixed ones */
};

_Static_assert(offsetof(struct guest_state, shape) == 32 && offsetof(struct guest_state, global_ctrl) == 64 &&
                   offsetof(struct guest_state, lvtpc) == 104 && offsetof(struct guest_state, counter) == 128 &&
                   sizeof(struct guest_state) == 128 + 16 * STATE_COUNTERS &&
                   sizeof(struct guest_state) <= UPMU_GUEST_STATE_BYTES,
               "the layout of a saved state is fixed");

static unsigned state_counters(const struct upmu_guest_shape *shape)
{
    return (unsigned)shape->general + shape->fixed;
}

static size_t state_bytes(const struct upmu_guest_shape *shape)
{
    return offsetof(struct guest_state, counter) + 16u * state_counters(shape);
}

/* The counter of the i-th entry. */
static unsigned state_counter(const struct upmu_guest_shape *shape, unsigned i)
{
    return i < shape->general ? i : UPMU_FIXED_COUNTER(i - shape->general);
}

/* FNV-1a, with the field itself as 0. */
static uint32_t state_checksum(const struct guest_state *state, size_t bytes)
{
    const uint8_t *at = (const uint8_t *)state;
    uint32_t sum = 2166136261u;

    for (size_t i = 0; i < bytes; i++)
        sum = (sum ^ (i - offsetof(struct guest_state, checksum) < 4 ? 0 : at[i])) * 16777619u;
    return sum;
}

enum upmu_status upmu_guest_save(struct upmu_guest *guest, void *state, size_t size, size_t *out_used)
{
    const struct upmu_guest_shape *shape = &guest->shape;
    struct guest_state saved;

    *out_used = state_bytes(shape);
    if (size < *out_used)
        return UPMU_ERR_NO_SPACE;
    for (uint32_t rest = guest->started; rest; rest &= rest - 1u) {
        enum upmu_status status = upmu_guest_fold_one(guest, upmu_bits_lowest(rest));

        if (status != UPMU_OK)
            return status;
    }
    memset(&saved, 0, sizeof saved);
    saved.magic = STATE_MAGIC;
    saved.version = STATE_VERSION;
    saved.bytes = (uint32_t)*out_used;
    saved.shape = *shape;
    saved.global_ctrl = guest->global_ctrl;
    saved.status = guest->status;
    saved.debugctl = guest->debugctl;
    memcpy(saved.offcore, guest->offcore, sizeof saved.offcore);
    saved.lvtpc = guest->lvtpc;
    saved.pending = guest->pending;
    for (unsigned i = 0; i < state_counters(shape); i++) {
        saved.counter[i].value = guest->counter[state_counter(shape, i)].value;
        saved.counter[i].select = guest->counter[state_counter(shape, i)].select;
    }
    saved.checksum = state_checksum(&saved, *out_used);
    memcpy(state, &saved, *out_used);
    return UPMU_OK;
}

/* ---- Reading what may be anything ---- */

/* Copy it, and check the frame and the shape. */
static enum upmu_status read_state(const void *state, size_t size, struct guest_state *out_state)
{
    const struct upmu_guest_shape *shape = &out_state->shape;

    if (size < offsetof(struct guest_state, counter) || size > sizeof *out_state)
        return UPMU_ERR_INVALID;
    memset(out_state, 0, sizeof *out_state);
    memcpy(out_state, state, size);
    if (out_state->magic != STATE_MAGIC)
        return UPMU_ERR_INVALID;
    if (out_state->version != STATE_VERSION)
        return UPMU_ERR_VERSION;
    if (!upmu_guest_shape_is_valid(shape) || size != state_bytes(shape) || out_state->bytes != size ||
        out_state->checksum != state_checksum(out_state, size) ||
        (out_state->reserved | out_state->reserved1[0] | out_state->reserved1[1] | out_state->reserved2[0] |
         out_state->reserved2[1]))
        return UPMU_ERR_INVALID;
    return UPMU_OK;
}

/* Does a counter have an event that is no architectural one? */
static bool needs_raw(const struct guest_state *state)
{
    bool raw = false;

    for (unsigned i = 0; i < state->shape.general; i++)
        raw = raw || (state->counter[i].select & GUEST_SELECT_EN &&
                      upmu_guest_event_arch(&state->shape, i, state->counter[i].select) == GUEST_ARCH_NONE);
    return raw && state->shape.family;
}

enum upmu_status upmu_guest_state_needs(const void *state, size_t size, unsigned *out_family, unsigned *out_model)
{
    struct guest_state saved;
    enum upmu_status status = read_state(state, size, &saved);
    bool raw = status == UPMU_OK && needs_raw(&saved);

    *out_family = raw ? saved.shape.family : 0;
    *out_model = raw ? saved.shape.model : 0;
    return status;
}

/* Could the guest have written these registers? */
static bool could_be(const struct upmu_guest *guest, const struct guest_state *state)
{
    const struct upmu_guest_shape *shape = &guest->shape;
    bool intel = shape->door == UPMU_GUEST_INTEL, global = upmu_guest_has_global(guest);
    uint64_t wrong = state->status & ~(!global ? upmu_guest_bits(guest->counters)
                                       : intel ? upmu_guest_intel_status_bits(guest)
                                               : upmu_guest_amd_status_bits(guest));

    wrong |= state->global_ctrl & ~(global ? upmu_guest_bits(guest->counters) : 0);
    wrong |= state->debugctl & ~(global ? GUEST_DEBUGCTL_FREEZE | GUEST_DEBUGCTL_FREEZE_LBR : 0);
    wrong |= state->offcore[0] & ~guest->policy->payload[0];
    wrong |= state->offcore[1] & ~guest->policy->payload[1];
    wrong |= state->pending & ~guest->counters;
    wrong |= state->lvtpc & ~GUEST_LVTPC_BITS;
    for (unsigned i = 0; i < state_counters(shape); i++) {
        uint64_t bits = i >= shape->general ? GUEST_FIXED_RINGS | GUEST_FIXED_INT
                        : intel             ? upmu_guest_intel_select_bits(guest, i)
                                            : upmu_guest_amd_select_bits();

        wrong |= (state->counter[i].value & ~guest->mask) | (state->counter[i].select & ~bits);
    }
    return !wrong;
}

enum upmu_status upmu_guest_restore(struct upmu_guest *guest, const void *state, size_t size)
{
    struct guest_state saved;
    enum upmu_status status = read_state(state, size, &saved);

    if (status != UPMU_OK)
        return status;
    if (memcmp(&saved.shape, &guest->shape, sizeof saved.shape) != 0 || !could_be(guest, &saved))
        return UPMU_ERR_INVALID;
    if (needs_raw(&saved) && !upmu_guest_event_raw_here(&saved.shape, upmu_guest_pmu(guest)))
        return UPMU_ERR_WRONG_PMU;
    upmu_guest_reset(guest);
    for (unsigned i = 0; i < state_counters(&saved.shape); i++) {
        upmu_guest_set_value(guest, state_counter(&saved.shape, i), saved.counter[i].value);
        upmu_guest_set_select(guest, state_counter(&saved.shape, i), saved.counter[i].select);
    }
    guest->global_ctrl = saved.global_ctrl;
    guest->status = saved.status;
    guest->debugctl = saved.debugctl;
    upmu_guest_set_offcore(guest, 0, saved.offcore[0]);
    upmu_guest_set_offcore(guest, 1, saved.offcore[1]);
    guest->lvtpc = saved.lvtpc;
    guest->pending = saved.pending;
    guest->dirty |= guest->counters;
    return UPMU_OK;
}
