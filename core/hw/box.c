/* SPDX-License-Identifier: MIT */
/*
 * The boxes of a unit, accessed as one.
 */
#include "core/hw/box.h"
#include "core/hw/port_call.h"
#include "core/hw/register.h"
#include "core/hw/space.h"

#if UPMU_UNCORE

/* May a counter change while it is read? */
static bool counter_moves(const struct upmu_bank *bank, unsigned counter)
{
    const struct upmu_counter *where = &bank->pmu->counter[counter];

    if (bank->type->style == UPMU_UNIT_FREE)
        return true;
    if (upmu_box_freeze(bank))
        return upmu_box_runs(bank);
    return !upmu_bank_knows(bank, where->gate_row) || (bank->shadow[where->gate_row] >> where->gate_bit & 1u);
}

bool upmu_box_lacks(const struct upmu_bank *bank, unsigned row, const struct upmu_unit_info *box)
{
    const struct upmu_register_class *class = upmu_register_class_of(bank->pmu, row);

    return class->second && class->kind != UPMU_KIND_AUX && !box->second;
}

static struct upmu_place_in_space place_of(const struct upmu_bank *bank, unsigned row, const struct upmu_unit_info *box)
{
    const struct upmu_register_class *class = upmu_register_class_of(bank->pmu, row);
    uint64_t base = class->second ? box->second : box->base;
    struct upmu_place_in_space place = {
        .space = bank->type->space, .bits = class->bits == 32 ? 32 : 64, .address = bank->rows[row].address
    };

    if (class->kind == UPMU_KIND_AUX) { /* an MSR of several units */
        place.space = UPMU_SPACE_MSR;
        return place;
    }
    if (place.space == UPMU_SPACE_MSR)
        place.address += (uint32_t)base;
    else if (place.space == UPMU_SPACE_PCI)
        place.where = (uint32_t)base;
    else
        place.mapped = (char *)box->mapped + place.address;
    place.moves = class->kind == UPMU_KIND_COUNTER &&
                  (bank->rows[row].counter >= UPMU_COUNTERS || counter_moves(bank, bank->rows[row].counter));
    return place;
}

/* One that is written by all units, or by one of them, stands once. */
static unsigned copies_of(const struct upmu_bank *bank, unsigned row)
{
    return upmu_register_class_of(bank->pmu, row)->kind == UPMU_KIND_AUX ? 1 : bank->boxes;
}

/* A function or device that is gone reads all ones, which no select, no control and no narrower counter can hold. */
static bool is_gone(const struct upmu_bank *bank, unsigned row, const struct upmu_place_in_space *place, uint64_t value)
{
    unsigned kind = upmu_register_class_of(bank->pmu, row)->kind, counter = bank->rows[row].counter;

    if (place->space == UPMU_SPACE_MSR || value != (place->bits == 32 ? UINT32_MAX : UINT64_MAX))
        return false;
    return kind == UPMU_KIND_SELECT || kind == UPMU_KIND_CONTROL ||
           (kind == UPMU_KIND_COUNTER && counter < UPMU_COUNTERS && bank->pmu->counter[counter].width < place->bits);
}

bool upmu_box_read(struct upmu_bank *bank, unsigned row, uint64_t *out_value)
{
    const struct upmu_register_class *class = upmu_register_class_of(bank->pmu, row);
    uint64_t expected = bank->shadow[row], sum = 0;
    bool known = upmu_bank_knows(bank, row), found = false;

    /* What cannot be read was not written before us. */
    if (class->access == UPMU_ACCESS_WO) {
        *out_value = row == UPMU_BOX_ROW ? bank->type->control_idle : class->idle_value;
        return true;
    }
    for (unsigned i = 0; i < copies_of(bank, row); i++) {
        struct upmu_place_in_space place = place_of(bank, row, bank->of.box + i);
        uint64_t value;

        if (upmu_box_lacks(bank, row, bank->of.box + i) ||
            !upmu_space_read(bank->port, &place, &bank->accesses.reads, &value) ||
            is_gone(bank, row, &place, value)) {
            bank->faulted = bank->rows[row].address;
            return false;
        }
        if (class->kind == UPMU_KIND_COUNTER)
            sum += value;
        else if (!known)
            sum |= value;
        else if (!found)
            sum = value;
        found |= value != expected;
    }
    *out_value = sum;
    return true;
}

bool upmu_box_write(struct upmu_bank *bank, unsigned row, uint64_t value)
{
    for (unsigned i = 0; i < copies_of(bank, row); i++) {
        struct upmu_place_in_space place = place_of(bank, row, bank->of.box + i);

        if (upmu_box_lacks(bank, row, bank->of.box + i) ||
            !upmu_space_write(bank->port, &place, &bank->accesses.writes, value)) {
            bank->faulted = bank->rows[row].address;
            return false;
        }
    }
    return true;
}

#endif
