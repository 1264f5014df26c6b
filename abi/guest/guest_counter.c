/* SPDX-License-Identifier: MIT */
/*
 * Virtual counters: their values, the guest's writes, and which of them the shape has; also whether a policy is valid.
 * The value of a counter that counts is read from its session; guest_engine.c starts and stops sessions.
 */
#include <abi/guest/guest_core.h>

#define POLICY_FLAGS                                                                                                   \
    (UPMU_GUEST_OWN_LAPIC | UPMU_GUEST_STRICT | UPMU_GUEST_POLLED | UPMU_GUEST_BESIDE_STRANGERS | UPMU_GUEST_PASSES |  \
     UPMU_GUEST_NO_HYPERVISOR_BIT | UPMU_GUEST_NESTED_SVM)

/* ---- Values ---- */

/* Return how many events a counter with this value counts without an overflow. */
static uint64_t room_of(const struct upmu_guest *guest, unsigned counter, uint64_t value)
{
    uint64_t round = guest->halves >> counter & 1u ? UINT32_MAX : guest->mask;

    return round & ~value;
}

uint64_t upmu_guest_left(const struct upmu_guest *guest, unsigned counter, uint64_t value)
{
    uint64_t room = room_of(guest, counter, value);

    return room < INT64_MAX ? room + 1u : INT64_MAX;
}

/*
 * Return the value of a counter `more` events after `value`. If it wraps between them, set its overflow flag and, if it
 * interrupts the guest, have the next entry inject that.
 */
static uint64_t advance_value(struct upmu_guest *guest, unsigned counter, uint64_t value, uint64_t more,
                              bool interrupts)
{
    if (more > room_of(guest, counter, value)) {
        guest->raised |= UPMU_BIT32(counter);
        if (interrupts)
            guest->pending |= UPMU_BIT32(counter);
    }
    return (value + more) & guest->mask;
}

enum upmu_status upmu_guest_fold_one(struct upmu_guest *guest, unsigned counter)
{
    struct upmu_guest_counter *virtual = &guest->counter[counter];
    struct upmu_count count;
    enum upmu_status status = upmu_set_read(&guest->memory.sessions[virtual->session - 1u].set, 0, 1, &count);
    uint64_t value, more;

    /* If the session cannot be read, value and total stay as they were at the last read. */
    if (status != UPMU_OK)
        return status;
    more = count.raw - virtual->origin;
    value = advance_value(guest, counter, virtual->flags & GUEST_COUNTER_WRITTEN ? virtual->before : virtual->value,
                          more, virtual->flags & GUEST_COUNTER_INT);
    if (!(virtual->flags & GUEST_COUNTER_WRITTEN))
        virtual->value = value;
    virtual->origin = count.raw;
    virtual->total += more;
    virtual->flags &= (uint8_t)~GUEST_COUNTER_WRITTEN;
    return UPMU_OK;
}

void upmu_guest_fold(struct upmu_guest *guest, uint32_t counters)
{
    for (uint32_t rest = counters & guest->started; rest; rest &= rest - 1u)
        (void)upmu_guest_fold_one(guest, upmu_bits_lowest(rest));
}

uint64_t upmu_guest_value(struct upmu_guest *guest, unsigned counter)
{
    struct upmu_guest_counter *virtual = upmu_guest_counter(guest, counter);

    if (!(virtual->flags & GUEST_COUNTER_WRITTEN))
        upmu_guest_fold(guest, UPMU_BIT32(counter & (UPMU_GUEST_COUNTERS - 1u)));
    return virtual->value;
}

uint32_t upmu_guest_lower(struct upmu_guest *guest, uint32_t counters)
{
    uint32_t raised;

    upmu_guest_fold(guest, guest->started);
    raised = guest->raised & counters;
    guest->raised &= ~counters;
    return raised;
}

/* ---- Writes of the guest: a counter's value, a counter's select ---- */

void upmu_guest_set_value(struct upmu_guest *guest, unsigned counter, uint64_t value)
{
    struct upmu_guest_counter *virtual = upmu_guest_counter(guest, counter);
    uint32_t bit = UPMU_BIT32(counter & (UPMU_GUEST_COUNTERS - 1u));

    if (guest->started & bit) {
        if (!(virtual->flags & GUEST_COUNTER_WRITTEN))
            virtual->before = virtual->value;
        virtual->flags |= GUEST_COUNTER_WRITTEN;
        guest->dirty |= bit;
    }
    virtual->value = value;
    virtual->flags |= GUEST_COUNTER_LOAD;
}

void upmu_guest_set_select(struct upmu_guest *guest, unsigned counter, uint64_t select)
{
    struct upmu_guest_counter *virtual = upmu_guest_counter(guest, counter);

    if (virtual->select != select) {
        guest->dirty |= UPMU_BIT32(counter & (UPMU_GUEST_COUNTERS - 1u));
        virtual->flags &= (uint8_t)~GUEST_COUNTER_DENIED;
        if (virtual->flags & GUEST_COUNTER_AWAY)
            virtual->flags &= (uint8_t) ~(GUEST_COUNTER_AWAY | GUEST_COUNTER_EVENT);
    }
    virtual->select = select;
}

/* ---- Counting instructions that the hypervisor executes for the guest ---- */

void upmu_guest_add(struct upmu_guest *guest, unsigned counter, uint64_t more)
{
    bool interrupts = guest->door->interrupts(guest, counter);

    upmu_guest_set_value(guest, counter,
                         advance_value(guest, counter, upmu_guest_value(guest, counter), more, interrupts));
    guest->counter[counter].total += more;
}

/*
 * The instruction's own access has taken effect already. A counter that it opened, or gave another event, counts the
 * instruction, but no session counts for it yet. So the registers and the policy decide here, and not the sessions.
 */
void upmu_guest_retired(struct upmu_guest *guest, uint64_t instructions, uint64_t branches, bool user)
{
    for (uint32_t rest = guest->door->open(guest) & ~guest->waiting; rest; rest &= rest - 1u) {
        unsigned counter = upmu_bits_lowest(rest);
        uint64_t more = guest->door->retires(guest, counter, instructions, branches, user);

        if (more)
            upmu_guest_add(guest, counter, more);
    }
}

/* ---- Which counters the shape has; registers at a reset; which policies are valid ---- */

void upmu_guest_count_shape(struct upmu_guest *guest)
{
    uint32_t fixed = (UPMU_BIT32(guest->shape.fixed) - 1u) << UPMU_FIXED_COUNTER(0);

    guest->counters = (UPMU_BIT32(guest->shape.general) - 1u) | fixed;
    guest->dirty = UINT32_MAX;
}

void upmu_guest_reset_registers(struct upmu_guest *guest)
{
    for (uint32_t rest = guest->counters; rest; rest &= rest - 1u) {
        unsigned counter = upmu_bits_lowest(rest);

        upmu_guest_set_value(guest, counter, 0);
        upmu_guest_set_select(guest, counter, 0);
        guest->counter[counter].before = 0;
    }
    upmu_guest_fold(guest, guest->started);
    guest->door->reset(guest);
    guest->raised = guest->pending = guest->passes = 0;
}

bool upmu_guest_policy_is_valid(const struct upmu_guest_policy *policy)
{
    return policy->level <= UPMU_GUEST_OFF && !(policy->flags & ~POLICY_FLAGS) && !(policy->min_period >> 32);
}

const struct upmu_guest_policy upmu_guest_default_policy = {.level = UPMU_GUEST_IPC};
