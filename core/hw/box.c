/* SPDX-License-Identifier: MIT */
/* The boxes of a unit, accessed as one: read, write and count in all of them. */
#include "core/hw/box.h"
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/util/shared.h"
#include "core/hw/port_call.h"
#include "core/hw/register.h"
#include "core/hw/space.h"

#if UPMU_UNCORE

/* May a counter of a unit change while it is read?  True also if it is not known to be closed. */
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

/* Returns a place with all that an access to a row needs but for the box, which aim_place() adds. */
static struct upmu_place_in_space place_of(const struct upmu_bank *bank, const struct upmu_register_class *class,
                                           unsigned row)
{
    struct upmu_place_in_space place = {.space = bank->type->space, .bits = class->bits == 32 ? 32 : 64};

    if (class->kind == UPMU_KIND_AUX) /* the row is one MSR for several units */
        place.space = UPMU_SPACE_MSR;
    place.moves = class->kind == UPMU_KIND_COUNTER &&
                  (bank->rows[row].counter >= UPMU_COUNTERS || counter_moves(bank, bank->rows[row].counter));
    return place;
}

/* Complete a place with the address of a box's copy of a register. */
static inline void aim_place(struct upmu_place_in_space *place, const struct upmu_register_class *class,
                             uint32_t address, const struct upmu_unit_info *box)
{
    uint32_t base = class->second ? box->second : (uint32_t)box->base;

    place->address = address;
    if (class->kind == UPMU_KIND_AUX)
        return;
    if (place->space == UPMU_SPACE_MSR)
        place->address += base;
    else if (place->space == UPMU_SPACE_PCI)
        place->where = base;
    else
        place->mapped = (char *)box->mapped + address;
}

/*
 * Return how many copies of a row's register a unit accesses: 1 if the register serves several units, else one in each
 * of its boxes.
 */
static unsigned copies_of(const struct upmu_bank *bank, unsigned row)
{
    return upmu_register_class_of(bank->pmu, row)->kind == UPMU_KIND_AUX ? 1 : bank->boxes;
}

/* Is the row a filter register with bits among `whole` (all that an access reads) that no event may set? */
static UPMU_APART bool is_narrow_filter(const struct upmu_bank *bank, unsigned row, uint64_t whole)
{
    for (unsigned i = 0; i < bank->type->filters; i++)
        if (bank->type->filter[i] == bank->rows[row].address && (whole & ~bank->type->filter_mask[i]))
            return true;
    return false;
}

/*
 * Return the value that a register reads if its PCI function or memory is gone: all ones.  0: the register can hold all
 * ones itself, or is an MSR, which faults instead.  Selects, box control, and counters and filters that are narrower
 * than an access cannot hold all ones.
 */
static uint64_t value_of_gone(const struct upmu_bank *bank, unsigned row, const struct upmu_place_in_space *place)
{
    unsigned kind = upmu_register_class_of(bank->pmu, row)->kind, counter = bank->rows[row].counter;

    if (place->space == UPMU_SPACE_MSR ||
        !(kind == UPMU_KIND_SELECT || kind == UPMU_KIND_CONTROL ||
          (kind == UPMU_KIND_PAYLOAD && is_narrow_filter(bank, row, upmu_bits_ones(place->bits))) ||
          (kind == UPMU_KIND_COUNTER && counter < UPMU_COUNTERS && bank->pmu->counter[counter].width < place->bits)))
        return 0;
    return place->bits == 32 ? UINT32_MAX : UINT64_MAX;
}

bool upmu_box_read(struct upmu_bank *bank, unsigned row, uint64_t *out_value)
{
    const struct upmu_register_class *class = upmu_register_class_of(bank->pmu, row);
    struct upmu_place_in_space place = place_of(bank, class, row);
    uint64_t expected = bank->shadow[row], sum = 0, gone = value_of_gone(bank, row, &place);
    bool known = upmu_bank_knows(bank, row), found = false;

    /* A register that cannot be read is taken to hold its idle value; called before upmu's first write of it. */
    if (class->access == UPMU_ACCESS_WO) {
        *out_value = row == UPMU_BOX_ROW ? bank->type->control_idle : class->idle_value;
        return true;
    }
    for (unsigned i = 0; i < copies_of(bank, row); i++) {
        uint64_t value;

        aim_place(&place, class, bank->rows[row].address, bank->of.box + i);
        if (upmu_box_lacks(bank, row, bank->of.box + i) ||
            !upmu_space_read(bank->port, &place, &bank->accesses.reads, &value) || (gone && value == gone))
            return upmu_bank_note_fault(bank, bank->rows[row].address);
        if (!known)
            sum |= value;
        else if (!found)
            sum = value;
        found |= value != expected;
    }
    *out_value = sum;
    return true;
}

/* Returns the values of a box's counters at the last look, to be stored.  Nothing else in the list of units changes. */
static inline uint64_t *seen_of(const struct upmu_unit_info *box)
{
    return ((struct upmu_unit_info *)(uintptr_t)box)->history.last;
}

/* Read a box's counter: by RDPMC if the unit has one box and RDPMC reads its counters, else by its register. */
static UPMU_APART bool read_whole(struct upmu_bank *bank, unsigned row, struct upmu_place_in_space place, uint32_t seen,
                                const struct upmu_unit_info *box, uint64_t *out_value)
{
    unsigned rdpmc = bank->pmu->counter[bank->rows[row].counter].rdpmc;

    if (rdpmc != UPMU_NO_RDPMC && bank->box_rdpmc) {
        bank->accesses.rdpmcs++;
        if (port_rdpmc(bank->port, rdpmc, out_value))
            return true;
        UPMU_STORE(bank->box_rdpmc, false);
    }
    place.high = seen;
    aim_place(&place, upmu_register_class_of(bank->pmu, row), bank->rows[row].address, box);
    return upmu_space_read(bank->port, &place, &bank->accesses.reads, out_value);
}

/*
 * Read a counter in configuration space once more, as its high half was `high` and has changed.  Not inlined: the usual
 * read needs none of its stack.
 */
static UPMU_APART bool read_moved(struct upmu_bank *bank, struct upmu_place_in_space place, uint32_t where,
                                  uint32_t high, uint64_t *out_value)
{
    place.where = where;
    place.high = high;
    return upmu_space_read(bank->port, &place, &bank->accesses.reads, out_value);
}

/*
 * Read a counter in configuration space: the low half, then the high half.  `seen`: the high half at the last look; if
 * it has not changed, or the counter does not move, the two halves belong together.  Else upmu_space_read() reads them
 * again, from the new high half on.  Returns false where a hook did.
 */
static inline bool read_halves(struct upmu_bank *bank, const struct upmu_place_in_space *place, uint32_t seen,
                               uint32_t where, uint64_t *out_value)
{
    const struct upmu_port *port = bank->port;
    uint32_t low, high, address = place->address;

    bank->accesses.reads += 2u;
    if (!port_pci_read(port, where, address, &low)) {
        bank->accesses.reads--;
        return false;
    }
    if (!port_pci_read(port, where, address + 4u, &high))
        return false;
    *out_value = (uint64_t)high << 32 | low;
    if (__builtin_expect(high == seen || !place->moves, 1))
        return true;
    return read_moved(bank, *place, where, high, out_value);
}

/*
 * Returns how much a box has counted since the last look.  A value that is below the last one by less than half of the
 * counter's range is no wrap: the box was reset, the result is 0, and the counter's bit is set in bank->lacks and
 * bank->reset.
 */
static inline uint64_t step_of(struct upmu_bank *bank, unsigned counter, uint64_t last, uint64_t value,
                               uint64_t mask)
{
    uint64_t step = (value - last) & mask;

    if (__builtin_expect(value >= last || step <= mask >> 1, 1))
        return step;
    bank->lacks |= UPMU_BIT32(counter);
    bank->reset |= UPMU_BIT32(counter);
    return 0;
}

bool upmu_box_count(struct upmu_bank *bank, unsigned counter, bool begins, bool *out_zero, uint64_t *out_doubtful,
                    uint64_t *out_value)
{
    unsigned row = bank->pmu->counter[counter].value_row, width = bank->pmu->counter[counter].width;
    const struct upmu_register_class *class = upmu_register_class_of(bank->pmu, row);
    const struct upmu_unit_info *box = bank->of.box, *end = box + bank->boxes;
    struct upmu_place_in_space place = place_of(bank, class, row);
    uint64_t gone = value_of_gone(bank, row, &place), mask = upmu_bits_ones(width), sum = bank->shadow[row], value;
    uint64_t doubtful = 0, step;
    bool second = class->second, fine = true, zero = false;
    /* Events share a free-running counter: another event's count needs what it counted before this one begins. */
    bool steps = !begins || bank->type->style == UPMU_UNIT_FREE;
    bool quick = place.space == UPMU_SPACE_PCI && place.bits != 32 && !begins;

    place.has_high = !begins;
    place.address = bank->rows[row].address;
    for (; box < end; box++) {
        uint64_t *last = &seen_of(box)[counter], before = *last;
        uint32_t seen = (uint32_t)(before >> 32);

        if ((second && upmu_box_lacks(bank, row, box)) ||
            !(quick ? read_halves(bank, &place, seen, second ? box->second : (uint32_t)box->base, &value)
                    : read_whole(bank, row, place, seen, box, &value)) ||
            (value == gone && gone && begins)) {
            fine = upmu_bank_note_fault(bank, place.address);
        } else if (__builtin_expect(value == gone && gone, 0)) {
            bank->lacks |= UPMU_BIT32(counter);
            bank->missed |= UPMU_BIT32(counter);
        } else {
            value &= mask;
            step = steps ? step_of(bank, counter, before, value, mask) : 0;
            sum += step;
            if (__builtin_expect(!value, 0)) {
                zero = true;
                doubtful += step;
            }
            *last = value;
        }
    }
    *out_zero = zero;
    *out_doubtful = doubtful;
    *out_value = sum;
    return fine;
}

bool upmu_box_holds(struct upmu_bank *bank, unsigned row, uint64_t value, uint64_t bits, bool *out_fault)
{
    const struct upmu_register_class *class = upmu_register_class_of(bank->pmu, row);
    struct upmu_place_in_space place = place_of(bank, class, row);
    uint64_t now;

    *out_fault = false;
    for (unsigned i = 0; i < copies_of(bank, row); i++) {
        aim_place(&place, class, bank->rows[row].address, bank->of.box + i);
        if (!upmu_space_read(bank->port, &place, &bank->accesses.reads, &now)) {
            *out_fault = true;
            return upmu_bank_note_fault(bank, bank->rows[row].address);
        }
        if ((now ^ value) & bits)
            return false;
    }
    return true;
}

/* After a write of a row: if the row is a counter, its value at the last look is the written one. */
static void begin_from(struct upmu_bank *bank, unsigned row, const struct upmu_unit_info *box, uint64_t value)
{
    unsigned counter = bank->rows[row].counter;

    if (upmu_register_class_of(bank->pmu, row)->kind == UPMU_KIND_COUNTER && counter < UPMU_COUNTERS)
        seen_of(box)[counter] = value;
}

bool upmu_box_write(struct upmu_bank *bank, unsigned row, uint64_t value)
{
    const struct upmu_register_class *class = upmu_register_class_of(bank->pmu, row);
    struct upmu_place_in_space place = place_of(bank, class, row);
    bool fine = true;

    for (unsigned i = 0; i < copies_of(bank, row); i++) {
        aim_place(&place, class, bank->rows[row].address, bank->of.box + i);
        if (upmu_box_lacks(bank, row, bank->of.box + i) ||
            !upmu_space_write(bank->port, &place, &bank->accesses.writes, value)) {
            fine = upmu_bank_note_fault(bank, bank->rows[row].address);
        } else {
            begin_from(bank, row, bank->of.box + i, value);
        }
    }
    return fine;
}

#endif
