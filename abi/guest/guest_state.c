/* SPDX-License-Identifier: MIT */
/*
 * A vCPU as bytes, for migration.  Little-endian, in this order:
 *
 *     32  header: magic 0, version u16 4, 0 u16 6, bytes u32 8, checksum u32 12, 0
 *     32  shape, as struct upmu_guest_shape
 *     64  controls: GLOBAL_CTRL 0, status 8, DEBUGCTL 16, OFFCORE_RSP 24 and 32, LVTPC u32 40, counters whose
 *         overflow is still to be injected u32 44, 0
 *     16  for each counter, lowest first: value, select
 */
#include <abi/guest/guest_core.h>
#include "core/util/mem.h"

#define STATE_MAGIC 0x55504755u /* "UGPU" */
#define STATE_VERSION 1u

#define STATE_VERSION_AT 4u
#define STATE_BYTES_AT 8u
#define STATE_CHECKSUM_AT 12u
#define STATE_SHAPE_AT 32u
#define STATE_CONTROLS_AT 64u
#define STATE_COUNTERS_AT 128u
#define COUNTER_BYTES 16u
#define CONTROLS_END (STATE_CONTROLS_AT + 48u)

_Static_assert(STATE_COUNTERS_AT + COUNTER_BYTES * (UPMU_GUEST_GENERAL + UPMU_GUEST_FIXED) <= UPMU_GUEST_STATE_BYTES,
               "UPMU_GUEST_STATE_BYTES is too small");

static void put_number(uint8_t *at, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t get_number(const uint8_t *at, unsigned bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

/* FNV-1a, with the field itself as 0. */
static uint32_t checksum_of(const uint8_t *state, size_t bytes)
{
    uint32_t sum = 2166136261u;

    for (size_t i = 0; i < bytes; i++)
        sum = (sum ^ (i - STATE_CHECKSUM_AT < 4 ? 0 : state[i])) * 16777619u;
    return sum;
}

static void put_shape(uint8_t *at, const struct upmu_guest_shape *shape)
{
    at[0] = shape->door;
    at[1] = shape->version;
    at[2] = shape->general;
    at[3] = shape->fixed;
    at[4] = shape->width;
    at[5] = shape->full_write;
    put_number(at + 6, shape->arch_events, 2);
    put_number(at + 8, shape->family, 2);
    put_number(at + 10, shape->model, 2);
    at[12] = shape->stepping;
}

/* What the counters of a shape are. */
static void get_shape(const uint8_t *at, struct upmu_guest_shape *out_shape)
{
    memset(out_shape, 0, sizeof *out_shape);
    out_shape->door = at[0];
    out_shape->version = at[1];
    out_shape->general = at[2];
    out_shape->fixed = at[3];
    out_shape->width = at[4];
    out_shape->full_write = at[5];
    out_shape->arch_events = (uint16_t)get_number(at + 6, 2);
    out_shape->family = (uint16_t)get_number(at + 8, 2);
    out_shape->model = (uint16_t)get_number(at + 10, 2);
    out_shape->stepping = at[12];
}

static size_t bytes_of(const struct upmu_guest_shape *shape)
{
    return STATE_COUNTERS_AT + COUNTER_BYTES * ((size_t)shape->general + shape->fixed);
}

/* The counter of the i-th entry. */
static unsigned nth_counter(const struct upmu_guest_shape *shape, unsigned i)
{
    return i < shape->general ? i : UPMU_FIXED_COUNTER(i - shape->general);
}

enum upmu_status upmu_guest_save(struct upmu_guest *guest, void *state, size_t size, size_t *out_used)
{
    const struct upmu_guest_shape *shape = &guest->shape;
    uint8_t *at = state;
    uint8_t *counter;

    *out_used = bytes_of(shape);
    if (size < *out_used)
        return UPMU_ERR_NO_SPACE;
    for (uint32_t rest = guest->started; rest; rest &= rest - 1u) {
        enum upmu_status status = upmu_guest_fold_one(guest, upmu_bits_lowest(rest));

        if (status != UPMU_OK)
            return status;
    }
    memset(at, 0, *out_used);
    put_number(at, STATE_MAGIC, 4);
    put_number(at + STATE_VERSION_AT, STATE_VERSION, 2);
    put_number(at + STATE_BYTES_AT, *out_used, 4);
    put_shape(at + STATE_SHAPE_AT, shape);
    counter = at + STATE_COUNTERS_AT;
    for (unsigned i = 0; i < (unsigned)shape->general + shape->fixed; i++, counter += COUNTER_BYTES) {
        put_number(counter, guest->counter[nth_counter(shape, i)].value, 8);
        put_number(counter + 8, guest->counter[nth_counter(shape, i)].select, 8);
    }
    put_number(at + STATE_CONTROLS_AT, guest->global_ctrl, 8);
    put_number(at + STATE_CONTROLS_AT + 8, guest->status, 8);
    put_number(at + STATE_CONTROLS_AT + 16, guest->debugctl, 8);
    put_number(at + STATE_CONTROLS_AT + 24, guest->offcore[0], 8);
    put_number(at + STATE_CONTROLS_AT + 32, guest->offcore[1], 8);
    put_number(at + STATE_CONTROLS_AT + 40, guest->lvtpc, 4);
    put_number(at + STATE_CONTROLS_AT + 44, guest->pending, 4);
    put_number(at + STATE_CHECKSUM_AT, checksum_of(at, *out_used), 4);
    return UPMU_OK;
}

/* ---- Reading what may be anything ---- */

static bool is_zero(const uint8_t *at, size_t bytes)
{
    while (bytes)
        if (at[--bytes])
            return false;
    return true;
}

/* The frame and the shape; then all counters are within `size`. */
static enum upmu_status check_frame(const uint8_t *state, size_t size, struct upmu_guest_shape *out_shape)
{
    if (size < STATE_COUNTERS_AT || get_number(state, 4) != STATE_MAGIC)
        return UPMU_ERR_INVALID;
    if (get_number(state + STATE_VERSION_AT, 2) != STATE_VERSION)
        return UPMU_ERR_VERSION;
    get_shape(state + STATE_SHAPE_AT, out_shape);
    if (out_shape->door < UPMU_GUEST_INTEL || out_shape->door > UPMU_GUEST_AMD_V2 ||
        !(out_shape->door == UPMU_GUEST_INTEL ? upmu_guest_intel_shape(out_shape) : upmu_guest_amd_shape(out_shape)) ||
        size != bytes_of(out_shape) || get_number(state + STATE_BYTES_AT, 4) != size ||
        get_number(state + STATE_CHECKSUM_AT, 4) != checksum_of(state, size) || !is_zero(state + 6, 2) ||
        !is_zero(state + 16, 16) || !is_zero(state + STATE_SHAPE_AT + 13, 19) ||
        !is_zero(state + CONTROLS_END, STATE_COUNTERS_AT - CONTROLS_END))
        return UPMU_ERR_INVALID;
    return UPMU_OK;
}

/* Does a counter have an event that is no architectural one? */
static bool needs_raw(const uint8_t *state, const struct upmu_guest_shape *shape)
{
    for (unsigned i = 0; i < shape->general; i++) {
        uint64_t select = get_number(state + STATE_COUNTERS_AT + COUNTER_BYTES * i + 8, 8);

        if (select & GUEST_SELECT_EN && upmu_guest_event_arch(shape, i, select) == GUEST_ARCH_NONE)
            return true;
    }
    return false;
}

enum upmu_status upmu_guest_state_needs(const void *state, size_t size, unsigned *out_family, unsigned *out_model)
{
    struct upmu_guest_shape shape;
    enum upmu_status status = check_frame(state, size, &shape);
    bool raw = status == UPMU_OK && shape.family && needs_raw(state, &shape);

    *out_family = raw ? shape.family : 0;
    *out_model = raw ? shape.model : 0;
    return status;
}

/* Could the guest have written these registers? */
static bool could_be(const struct upmu_guest *guest, const uint8_t *state)
{
    const struct upmu_guest_shape *shape = &guest->shape;
    const uint8_t *controls = state + STATE_CONTROLS_AT;
    bool intel = shape->door == UPMU_GUEST_INTEL, global = upmu_guest_has_global(guest);
    uint64_t status_bits = intel ? upmu_guest_intel_status_bits(guest) : upmu_guest_amd_status_bits(guest);

    if (get_number(controls, 8) & ~(global ? upmu_guest_bits(guest->counters) : 0) ||
        get_number(controls + 8, 8) & ~status_bits ||
        get_number(controls + 16, 8) & ~(global ? GUEST_DEBUGCTL_FREEZE | GUEST_DEBUGCTL_FREEZE_LBR : 0) ||
        get_number(controls + 24, 8) & ~guest->policy->payload[0] ||
        get_number(controls + 32, 8) & ~guest->policy->payload[1] || get_number(controls + 44, 4) & ~guest->counters)
        return false;
    for (unsigned i = 0; i < (unsigned)shape->general + shape->fixed; i++) {
        const uint8_t *at = state + STATE_COUNTERS_AT + COUNTER_BYTES * i;
        uint64_t bits = i >= shape->general ? GUEST_FIXED_RINGS | GUEST_FIXED_INT
                        : intel             ? upmu_guest_intel_select_bits(guest, i)
                                            : upmu_guest_amd_select_bits();

        if (get_number(at, 8) & ~guest->mask || get_number(at + 8, 8) & ~bits)
            return false;
    }
    return true;
}

enum upmu_status upmu_guest_restore(struct upmu_guest *guest, const void *state, size_t size)
{
    const uint8_t *at = state;
    const uint8_t *controls = at + STATE_CONTROLS_AT;
    struct upmu_guest_shape shape;
    enum upmu_status status = check_frame(at, size, &shape);

    if (status != UPMU_OK)
        return status;
    if (memcmp(&shape, &guest->shape, sizeof shape) != 0 || !could_be(guest, at))
        return UPMU_ERR_INVALID;
    if (shape.family && needs_raw(at, &shape) && !upmu_guest_event_raw_here(&shape, upmu_guest_pmu(guest)))
        return UPMU_ERR_WRONG_PMU;
    upmu_guest_reset(guest);
    for (unsigned i = 0; i < (unsigned)shape.general + shape.fixed; i++) {
        const uint8_t *counter = at + STATE_COUNTERS_AT + COUNTER_BYTES * i;

        upmu_guest_set_value(guest, nth_counter(&shape, i), get_number(counter, 8));
        upmu_guest_set_select(guest, nth_counter(&shape, i), get_number(counter + 8, 8));
    }
    upmu_guest_set_global(guest, get_number(controls, 8));
    upmu_guest_set_status(guest, get_number(controls + 8, 8));
    guest->debugctl = get_number(controls + 16, 8);
    guest->offcore[0] = get_number(controls + 24, 8);
    guest->offcore[1] = get_number(controls + 32, 8);
    guest->lvtpc = (uint32_t)get_number(controls + 40, 4);
    guest->pending = (uint32_t)get_number(controls + 44, 4);
    guest->dirty |= guest->counters;
    return UPMU_OK;
}
