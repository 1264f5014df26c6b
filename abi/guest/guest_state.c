/* SPDX-License-Identifier: MIT */
/*
 * A vCPU as bytes, for migration: struct guest_state, which ends after the last counter that the shape has.
 * Little-endian like every host of this engine, and the same from hosts of 32 and of 64 bits.
 */
#include <abi/guest/guest_core.h>

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
    uint64_t word[5];   /* upmu_guest_registers.word: registers that belong to no single counter */
    uint32_t interrupt; /* upmu_guest_registers.interrupt */
    uint32_t pending; /* mask of counters whose overflow is still to be injected */
    uint64_t reserved2[2];
    struct {
        uint64_t value, select;
    } counter[STATE_COUNTERS]; /* general counters from 0 on, then fixed ones, without gaps */
};

_Static_assert(offsetof(struct guest_state, shape) == 32 && offsetof(struct guest_state, word) == 64 &&
                   offsetof(struct guest_state, interrupt) == 104 && offsetof(struct guest_state, counter) == 128 &&
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

/* Return the number of the virtual counter that entry i of guest_state.counter is for. */
static unsigned state_counter(const struct upmu_guest_shape *shape, unsigned i)
{
    return i < shape->general ? i : UPMU_FIXED_COUNTER(i - shape->general);
}

/* Return the FNV-1a checksum of a state, computed as if the field `checksum` were 0. */
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
    struct upmu_guest_registers registers;
    struct guest_state saved;

    *out_used = state_bytes(shape);
    if (size < *out_used)
        return UPMU_ERR_NO_SPACE;
    for (uint32_t rest = guest->started; rest; rest &= rest - 1u) {
        enum upmu_status status = upmu_guest_fold_one(guest, upmu_bits_lowest(rest));

        if (status != UPMU_OK)
            return status;
    }
    __builtin_memset(&saved, 0, sizeof saved);
    saved.magic = STATE_MAGIC;
    saved.version = STATE_VERSION;
    saved.bytes = (uint32_t)*out_used;
    saved.shape = *shape;
    guest->door->save(guest, &registers);
    __builtin_memcpy(saved.word, registers.word, sizeof saved.word);
    saved.interrupt = registers.interrupt;
    saved.pending = guest->pending;
    for (unsigned i = 0; i < state_counters(shape); i++) {
        saved.counter[i].value = guest->counter[state_counter(shape, i)].value;
        saved.counter[i].select = guest->counter[state_counter(shape, i)].select;
    }
    saved.checksum = state_checksum(&saved, *out_used);
    __builtin_memcpy(state, &saved, *out_used);
    return UPMU_OK;
}

/* ---- Reading a saved state, whose bytes may be anything ---- */

/*
 * Copy a saved state to *out_state, and check magic, version, size, checksum, reserved fields and shape.
 * UPMU_ERR_VERSION: saved by another version; UPMU_ERR_INVALID: any other check failed.
 */
static enum upmu_status read_state(const void *state, size_t size, struct guest_state *out_state)
{
    const struct upmu_guest_shape *shape = &out_state->shape;
    const struct upmu_guest_door_table *door;

    if (size < offsetof(struct guest_state, counter) || size > sizeof *out_state)
        return UPMU_ERR_INVALID;
    __builtin_memset(out_state, 0, sizeof *out_state);
    __builtin_memcpy(out_state, state, size);
    if (out_state->magic != STATE_MAGIC)
        return UPMU_ERR_INVALID;
    if (out_state->version != STATE_VERSION)
        return UPMU_ERR_VERSION;
    door = upmu_guest_door_of(shape);
    if (!door || !door->is_shape(shape) || size != state_bytes(shape) || out_state->bytes != size ||
        out_state->checksum != state_checksum(out_state, size) ||
        (out_state->reserved | out_state->reserved1[0] | out_state->reserved1[1] | out_state->reserved2[0] |
         out_state->reserved2[1]))
        return UPMU_ERR_INVALID;
    return UPMU_OK;
}

/* Does a counter of a saved state have an event that only CPUs of the shape's model have? */
static bool needs_model(const struct guest_state *state)
{
    const struct upmu_guest_door_table *door = upmu_guest_door_of(&state->shape);
    bool needs = false;

    for (unsigned i = 0; i < state_counters(&state->shape); i++)
        needs =
            needs || door->needs_model(&state->shape, state_counter(&state->shape, i), state->counter[i].select);
    return needs;
}

enum upmu_status upmu_guest_state_needs(const void *state, size_t size, unsigned *out_family, unsigned *out_model)
{
    struct guest_state saved;
    enum upmu_status status = read_state(state, size, &saved);
    bool needs = status == UPMU_OK && needs_model(&saved);

    *out_family = needs ? saved.shape.family : 0;
    *out_model = needs ? saved.shape.model : 0;
    return status;
}

static struct upmu_guest_registers registers_of(const struct guest_state *state)
{
    struct upmu_guest_registers registers;

    __builtin_memcpy(registers.word, state->word, sizeof registers.word);
    registers.interrupt = state->interrupt;
    return registers;
}

/* Could the guest have written the registers of a saved state? */
static bool could_be(const struct upmu_guest *guest, const struct guest_state *state)
{
    const struct upmu_guest_registers registers = registers_of(state);
    bool could = guest->door->could_be(guest, &registers) && !(state->pending & ~guest->counters);

    for (unsigned i = 0; i < state_counters(&guest->shape); i++)
        could = could && !(state->counter[i].value & ~guest->mask) &&
                guest->door->could_select(guest, state_counter(&guest->shape, i), state->counter[i].select);
    return could;
}

enum upmu_status upmu_guest_restore(struct upmu_guest *guest, const void *state, size_t size)
{
    struct upmu_guest_registers registers;
    struct guest_state saved;
    enum upmu_status status = read_state(state, size, &saved);

    if (status != UPMU_OK)
        return status;
    if (__builtin_memcmp(&saved.shape, &guest->shape, sizeof saved.shape) != 0 || !could_be(guest, &saved))
        return UPMU_ERR_INVALID;
    if (needs_model(&saved) && !guest->door->model_is_here(guest))
        return UPMU_ERR_WRONG_PMU;
    upmu_guest_reset_registers(guest);
    for (unsigned i = 0; i < state_counters(&saved.shape); i++) {
        upmu_guest_set_value(guest, state_counter(&saved.shape, i), saved.counter[i].value);
        upmu_guest_set_select(guest, state_counter(&saved.shape, i), saved.counter[i].select);
    }
    registers = registers_of(&saved);
    guest->door->restore(guest, &registers);
    guest->pending = saved.pending;
    guest->dirty |= guest->counters;
    return UPMU_OK;
}
