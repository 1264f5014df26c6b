/* SPDX-License-Identifier: MIT */
/*
 * The only writer of PMU registers (architecture: close, load, open).
 *
 * The shadow is stored before the register is written, so that an interrupt
 * handler, which brings the hardware to what the shadow says, never undoes a
 * change that is under way.  A 64-bit store is two stores on i386; `in_flux`
 * names the register whose shadow may be half new, and the handler leaves that
 * register closed: its owner is about to write it.  Once the shadow is whole the
 * handler follows it, whether it comes before or after the owner's write.
 */
#include "core/bank.h"
#include "core/bits.h"
#include "core/mem.h"
#include "core/port_call.h"
#include "core/register.h"

void upmu_bank_init(struct upmu_bank *bank, const struct upmu_pmu *pmu, const struct upmu_port *port, bool safe)
{
    memset(bank, 0, sizeof *bank);
    bank->pmu = pmu;
    bank->port = port;
    bank->safe = safe;
    bank->in_flux = UPMU_NO_ROW;
}

void upmu_bank_forget(struct upmu_bank *bank)
{
    memset(bank->known, 0, sizeof bank->known);
    memset(bank->put_off, 0, sizeof bank->put_off);
}

void upmu_bank_forget_row(struct upmu_bank *bank, unsigned row)
{
    upmu_rows_clear(bank->known, row);
    upmu_rows_clear(bank->put_off, row);
}

static const struct upmu_register *row_of(const struct upmu_bank *bank, unsigned row)
{
    return &bank->pmu->table->rows[row];
}

/*
 * Counters, commands and acknowledgements have no shadow: every write is made.  Nor
 * have bits that hardware changes in other registers: an overflow flag that was read
 * as 1 must not be written back with the next change of its neighbours.
 */
static bool has_shadow(const struct upmu_register_class *class)
{
    return class->kind != UPMU_KIND_COUNTER && class->access == UPMU_ACCESS_RW;
}

/* May the register be touched at all? */
static bool reachable(const struct upmu_bank *bank, unsigned row)
{
    const struct upmu_register_class *class = upmu_register_class_of(bank->pmu, row);

    return class->space == UPMU_SPACE_MSR && (class->promised || bank->safe);
}

static bool read_msr(struct upmu_bank *bank, struct upmu_accesses *accesses, unsigned row, uint64_t *out_value)
{
    accesses->reads++;
    if (reachable(bank, row) && port_rdmsr(bank->port, row_of(bank, row)->address, out_value))
        return true;
    bank->faulted = row_of(bank, row)->address;
    return false;
}

static bool write_msr(struct upmu_bank *bank, struct upmu_accesses *accesses, unsigned row, uint64_t value)
{
    accesses->writes++;
    if (reachable(bank, row) && port_wrmsr(bank->port, row_of(bank, row)->address, value))
        return true;
    bank->faulted = row_of(bank, row)->address;
    return false;
}

static void note_dry_write(struct upmu_bank *bank, unsigned row, uint64_t value)
{
    struct upmu_dry_run *dry = bank->dry;

    if (dry->count < dry->capacity)
        dry->writes[dry->count] = (struct upmu_write){ upmu_register_name(bank->pmu, row),
                                                       row_of(bank, row)->address, value };
    dry->count++;
}

static bool read_row(struct upmu_bank *bank, unsigned row, uint64_t *out_value)
{
    if (bank->dry) {
        *out_value = upmu_rows_has(bank->known, row) ? bank->shadow[row]
                                                     : upmu_register_class_of(bank->pmu, row)->reset;
        return true;
    }
    return read_msr(bank, &bank->accesses, row, out_value);
}

/* Remember what a register held before its first write. */
static bool remember(struct upmu_bank *bank, unsigned row)
{
    uint64_t value;

    if (bank->dry || upmu_rows_has(bank->found_known, row))
        return true;
    if (!read_row(bank, row, &value))
        return false;
    bank->found[row] = value;
    upmu_rows_set(bank->found_known, row);
    return true;
}

/* Store a shadow; a handler that comes in the middle finds the row in flux. */
static void store_shadow(struct upmu_bank *bank, unsigned row, uint64_t value)
{
    bank->in_flux = (uint8_t)row;
    UPMU_BARRIER();
    bank->shadow[row] = value & ~upmu_register_class_of(bank->pmu, row)->hardware;
    UPMU_BARRIER();
    bank->in_flux = UPMU_NO_ROW;
    UPMU_BARRIER();
}

static void keep_value(struct upmu_bank *bank, unsigned row, uint64_t value)
{
    store_shadow(bank, row, value);
    upmu_rows_set(bank->known, row);
}

/*
 * Write one register.  A fault puts the shadow back (the handler must not bring
 * the hardware to a value that it refused) and makes the register unknown.
 */
static bool write_row(struct upmu_bank *bank, unsigned row, uint64_t value)
{
    uint64_t before = bank->shadow[row];
    bool shadowed = has_shadow(upmu_register_class_of(bank->pmu, row));

    if (shadowed && !remember(bank, row))
        return false;
    if (shadowed) {
        keep_value(bank, row, value);
        upmu_rows_clear(bank->put_off, row);
    }
    if (bank->dry) {
        note_dry_write(bank, row, value);
        return true;
    }
    UPMU_BARRIER();
    if (write_msr(bank, &bank->accesses, row, value))
        return true;
    if (shadowed) {
        store_shadow(bank, row, before);
        upmu_rows_clear(bank->known, row);
    }
    return false;
}

/* What a register holds: the shadow, or what a read says. */
static bool present_value(struct upmu_bank *bank, unsigned row, uint64_t *out_value)
{
    if (upmu_rows_has(bank->known, row)) {
        *out_value = bank->shadow[row];
        return true;
    }
    if (!read_row(bank, row, out_value))
        return false;
    if (has_shadow(upmu_register_class_of(bank->pmu, row))) {
        keep_value(bank, row, *out_value);
        *out_value = bank->shadow[row];
    }
    return true;
}

/* The same, if the register has bits that are not ours: those have no shadow either. */
static bool present_value_of_all(struct upmu_bank *bank, unsigned row, uint64_t *out_value)
{
    if (upmu_register_bits(bank->pmu, row) & ~upmu_register_class_of(bank->pmu, row)->owned)
        upmu_rows_clear(bank->known, row);
    return present_value(bank, row, out_value);
}

bool upmu_bank_find(struct upmu_bank *bank)
{
    const struct upmu_pmu *pmu = bank->pmu;

    for (unsigned row = 0; row < pmu->table->row_count; row++) {
        const struct upmu_register_class *class = upmu_register_class_of(pmu, row);
        uint64_t value;

        if (!upmu_rows_has(pmu->present, row) || !class->found || !reachable(bank, row))
            continue;
        if (!read_row(bank, row, &value))
            return false;
        bank->found[row] = value;
        upmu_rows_set(bank->found_known, row);
        if (has_shadow(class))
            keep_value(bank, row, value);
    }
    return true;
}

/* The gate of a counter is a bit of its own select register. */
static bool gate_is_select(const struct upmu_counter *counter)
{
    return counter->gate_row == counter->select_row;
}

uint32_t upmu_bank_open(const struct upmu_bank *bank, uint32_t counters)
{
    uint32_t open = 0;

    for (uint32_t rest = counters; rest; rest &= rest - 1u) {
        unsigned i = upmu_bits_lowest(rest);
        const struct upmu_counter *counter = &bank->pmu->counter[i];

        if (upmu_rows_has(bank->known, counter->gate_row) &&
            (bank->shadow[counter->gate_row] >> counter->gate_bit & 1u))
            open |= UPMU_BIT32(i);
    }
    return open;
}

/* Those of `counters` that are open or, after the shadow was forgotten, may be. */
static uint32_t maybe_open(const struct upmu_bank *bank, uint32_t counters)
{
    uint32_t open = upmu_bank_open(bank, counters);

    for (uint32_t rest = counters; rest; rest &= rest - 1u)
        if (!upmu_rows_has(bank->known, bank->pmu->counter[upmu_bits_lowest(rest)].gate_row))
            open |= rest & (~rest + 1u);
    return open;
}

/* Gate bits that the counters of a mask have in one register; takes them off the mask. */
static uint64_t take_gates(const struct upmu_pmu *pmu, uint32_t *counters, unsigned row)
{
    uint64_t bits = 0;

    for (uint32_t rest = *counters; rest; rest &= rest - 1u) {
        unsigned i = upmu_bits_lowest(rest);

        if (pmu->counter[i].gate_row == row) {
            bits |= UPMU_BIT64(pmu->counter[i].gate_bit);
            *counters &= ~UPMU_BIT32(i);
        }
    }
    return bits;
}

static uint64_t idle_value(const struct upmu_pmu *pmu, unsigned row, uint64_t value)
{
    const struct upmu_register_class *class = upmu_register_class_of(pmu, row);

    return (value & class->idle_keep) | class->idle_value;
}

/* Change gate bits; a register that is select and gate at once goes idle. */
static bool move_gates(struct upmu_bank *bank, uint32_t open, uint32_t close)
{
    const struct upmu_pmu *pmu = bank->pmu;
    uint32_t rest = open | close;
    bool fine = true;

    while (rest) {
        const struct upmu_counter *counter = &pmu->counter[upmu_bits_lowest(rest)];
        unsigned row = counter->gate_row;
        uint64_t before, after, opened, closed;

        take_gates(pmu, &rest, row);
        opened = take_gates(pmu, &open, row);
        closed = take_gates(pmu, &close, row);
        if (!present_value(bank, row, &before)) {
            fine = false;
            continue;
        }
        after = before;
        if (closed && gate_is_select(counter))
            after = before & closed ? idle_value(pmu, row, before) : before;
        after = (after & ~closed) | opened;
        if ((after != before || upmu_rows_has(bank->put_off, row)) && !write_row(bank, row, after))
            fine = false;
    }
    return fine;
}

bool upmu_bank_gate(struct upmu_bank *bank, uint32_t open, uint32_t close)
{
    return move_gates(bank, open, close);
}

bool upmu_bank_close(struct upmu_bank *bank, uint32_t counters)
{
    return move_gates(bank, 0, maybe_open(bank, counters));
}

/* Bits of a register that a load may change: ours, but gates stay as they are. */
static uint64_t loadable(const struct upmu_pmu *pmu, unsigned row)
{
    const struct upmu_register_class *class = upmu_register_class_of(pmu, row);

    return class->owned & ~class->gates;
}

/*
 * Which entries differ from what the registers hold, or ask for a write of bits that
 * hardware changes?  *out_guard: counters that they concern.
 */
static void find_changes(const struct upmu_bank *bank, const struct upmu_image *image, uint64_t *out_changes,
                         uint32_t *out_guard)
{
    *out_changes = 0;
    *out_guard = 0;
    for (unsigned i = 0; i < image->count; i++) {
        const struct upmu_image_entry *entry = &image->entry[i];
        const struct upmu_register_class *class = upmu_register_class_of(bank->pmu, entry->row);
        uint64_t mask = entry->mask & loadable(bank->pmu, entry->row);

        if (upmu_rows_has(bank->known, entry->row) && has_shadow(class) && !(mask & class->hardware) &&
            !((bank->shadow[entry->row] ^ entry->value) & mask))
            continue;
        *out_changes |= UPMU_BIT64(i);
        *out_guard |= entry->guard;
    }
}

/*
 * Keep a value that upmu_bank_gate() writes with the gate.  Handlers may write it
 * earlier; its gate is closed in it.
 */
static void put_off(struct upmu_bank *bank, unsigned row, uint64_t value)
{
    keep_value(bank, row, value);
    upmu_rows_set(bank->put_off, row);
}

/* Is the register select and gate at once of one of `counters`? */
static bool gates_itself(const struct upmu_pmu *pmu, unsigned row, uint32_t counters)
{
    for (; counters; counters &= counters - 1u) {
        const struct upmu_counter *counter = &pmu->counter[upmu_bits_lowest(counters)];

        if (counter->gate_row == row && gate_is_select(counter))
            return true;
    }
    return false;
}

/* Write one register with all its changed entries, and take them off *changes. */
static bool load_row(struct upmu_bank *bank, const struct upmu_image *image, unsigned row, uint32_t opening,
                     uint64_t *changes)
{
    const struct upmu_register_class *class = upmu_register_class_of(bank->pmu, row);
    uint64_t whole = upmu_register_bits(bank->pmu, row);
    uint64_t mask = 0, value = 0, before = 0;

    for (unsigned i = 0; i < image->count; i++)
        if ((*changes >> i & 1u) && image->entry[i].row == row) {
            mask |= image->entry[i].mask;
            value |= image->entry[i].value & image->entry[i].mask;
            *changes &= ~UPMU_BIT64(i);
        }
    mask &= loadable(bank->pmu, row);
    if (has_shadow(class) && ((mask & whole) != whole || upmu_rows_has(bank->known, row)) &&
        !present_value_of_all(bank, row, &before))
        return false;
    value = (before & ~mask) | (value & mask);
    if ((value & class->gates) || !gates_itself(bank->pmu, row, opening))
        return write_row(bank, row, value);
    put_off(bank, row, value);
    return true;
}

static unsigned rank_of(const struct upmu_bank *bank, const struct upmu_image_entry *entry)
{
    const struct upmu_register_class *class = upmu_register_class_of(bank->pmu, entry->row);

    return entry->release ? class->release_rank : class->load_rank;
}

/* A prelude overwrites whole registers: nothing of them is known afterwards. */
static bool run_prelude(struct upmu_bank *bank, const struct upmu_prelude *prelude)
{
    for (unsigned i = 0; i < prelude->step_count; i++) {
        if (!write_row(bank, prelude->steps[i].row, prelude->steps[i].value))
            return false;
        upmu_rows_clear(bank->known, prelude->steps[i].row);
    }
    return true;
}

bool upmu_bank_load(struct upmu_bank *bank, const struct upmu_image *image, uint32_t opening, uint32_t *out_changed)
{
    uint64_t changes;
    uint32_t guard;

    *out_changed = 0;
    find_changes(bank, image, &changes, &guard);
    if (!changes)
        return true;
    if (image->prelude)
        guard |= bank->pmu->counters;
    if (!upmu_bank_close(bank, guard))
        return false;
    *out_changed = guard;
    if (image->prelude && !run_prelude(bank, image->prelude))
        return false;
    for (unsigned rank = 0; rank < 8; rank++)
        for (unsigned i = 0; i < image->count; i++)
            if ((changes >> i & 1u) && rank_of(bank, &image->entry[i]) == rank &&
                !load_row(bank, image, image->entry[i].row, opening, &changes))
                return false;
    return true;
}

static bool read_counter(struct upmu_bank *bank, struct upmu_accesses *accesses, unsigned index, uint64_t *out_value)
{
    const struct upmu_counter *counter = &bank->pmu->counter[index];
    uint64_t value;

    if (bank->dry) {
        *out_value = 0;
        return true;
    }
    if (counter->rdpmc != UPMU_NO_RDPMC && !bank->no_rdpmc && port_has_rdpmc(bank->port)) {
        accesses->rdpmcs++;
        if (port_rdpmc(bank->port, counter->rdpmc, &value)) {
            *out_value = value & upmu_bits_ones(counter->width);
            return true;
        }
        bank->no_rdpmc = true;
    }
    if (!read_msr(bank, accesses, counter->value_row, &value))
        return false;
    *out_value = value & upmu_bits_ones(counter->width);
    return true;
}

/* Where the hardware sign-extends a short write, only the short part is sent. */
static uint64_t to_write(const struct upmu_counter *counter, uint64_t value)
{
    return value & upmu_bits_ones(counter->write_bits < counter->width ? counter->write_bits : counter->width);
}

bool upmu_bank_read(struct upmu_bank *bank, unsigned counter, uint64_t *out_value)
{
    return read_counter(bank, &bank->accesses, counter, out_value);
}

bool upmu_bank_write(struct upmu_bank *bank, unsigned counter, uint64_t value)
{
    const struct upmu_counter *where = &bank->pmu->counter[counter];

    return write_row(bank, where->write_row, to_write(where, value));
}

bool upmu_bank_read_row(struct upmu_bank *bank, unsigned row, uint64_t *out_value)
{
    return read_row(bank, row, out_value);
}

bool upmu_bank_acknowledge(struct upmu_bank *bank, uint64_t bits)
{
    return write_row(bank, bank->pmu->ack_row, bits);
}

bool upmu_bank_agrees(const struct upmu_bank *bank, unsigned row, unsigned counter, uint64_t value)
{
    const struct upmu_pmu *pmu = bank->pmu;
    struct upmu_image image = { .count = 0 };

    if (!upmu_rows_has(bank->known, row))
        return true;
    pmu->backend->release(pmu, UPMU_BIT32(counter), &image);
    for (unsigned i = 0; i < image.count; i++)
        if (image.entry[i].row == row && ((value ^ bank->shadow[row]) & image.entry[i].mask))
            return false;
    return true;
}

unsigned upmu_bank_verify(struct upmu_bank *bank, bool *out_fault)
{
    const struct upmu_pmu *pmu = bank->pmu;

    *out_fault = false;
    for (unsigned row = 0; row < pmu->table->row_count; row++) {
        const struct upmu_register_class *class = upmu_register_class_of(pmu, row);
        uint64_t value;

        if (!upmu_rows_has(bank->known, row) || !upmu_rows_has(bank->found_known, row) || !has_shadow(class) ||
            upmu_rows_has(bank->put_off, row))
            continue;
        if (!read_row(bank, row, &value)) {
            *out_fault = true;
            return row;
        }
        /* Bits that a register lacks read 0, whatever was written. */
        if ((value ^ bank->shadow[row]) & class->owned & ~class->hardware & upmu_register_bits(pmu, row)) {
            bank->faulted = row_of(bank, row)->address;
            return row;
        }
    }
    return UPMU_NO_ROW;
}

/* A found counter value as its write register takes it; false: it cannot be written back exactly. */
static bool restore_counter(struct upmu_bank *bank, unsigned counter)
{
    const struct upmu_counter *where = &bank->pmu->counter[counter];

    if (!upmu_rows_has(bank->found_known, where->value_row))
        return true;
    return write_row(bank, where->write_row, to_write(where, bank->found[where->value_row]));
}

/* Our bits as they were found; flags of the hardware 0. */
static bool restore_row(struct upmu_bank *bank, unsigned row)
{
    const struct upmu_register_class *class = upmu_register_class_of(bank->pmu, row);
    uint64_t ours = class->owned & ~class->hardware;
    uint64_t before, after = bank->found[row] & ours;

    if (upmu_rows_has(bank->known, row) && !upmu_rows_has(bank->put_off, row) &&
        (bank->shadow[row] & ours) == after)
        return true;
    if (~class->owned & upmu_register_bits(bank->pmu, row)) {
        if (!present_value_of_all(bank, row, &before))
            return false;
        after |= before & ~class->owned;
    }
    return write_row(bank, row, after);
}

bool upmu_bank_restore(struct upmu_bank *bank, uint32_t counters)
{
    const struct upmu_pmu *pmu = bank->pmu;
    bool fine = upmu_bank_close(bank, counters);

    for (uint32_t rest = counters; rest; rest &= rest - 1u)
        fine &= restore_counter(bank, upmu_bits_lowest(rest));
    for (unsigned rank = 0; rank < 8; rank++)
        for (unsigned row = 0; row < pmu->table->row_count; row++) {
            const struct upmu_register_class *class = upmu_register_class_of(pmu, row);

            if (class->load_rank != rank || !has_shadow(class) || !upmu_rows_has(bank->found_known, row))
                continue;
            /* A common gate is not opened over a select that still holds our event. */
            if (!fine && class->kind == UPMU_KIND_CONTROL && class->gates)
                (void)upmu_bank_close(bank, counters);
            else
                fine &= restore_row(bank, row);
        }
    return fine;
}

/* ---- The handler's half ---- */

bool upmu_bank_handler_close(struct upmu_bank *bank, uint32_t counters)
{
    const struct upmu_pmu *pmu = bank->pmu;
    bool fine = true;

    while (counters) {
        const struct upmu_counter *counter = &pmu->counter[upmu_bits_lowest(counters)];
        unsigned row = counter->gate_row;
        uint64_t bits = take_gates(pmu, &counters, row);
        uint64_t value = bank->shadow[row];

        if (gate_is_select(counter))
            value = idle_value(pmu, row, value);
        fine &= write_msr(bank, &bank->handler_accesses, row, value & ~bits);
    }
    return fine;
}

/* Bring the gates of `counters` to the shadow, but for those to keep closed. */
bool upmu_bank_handler_open(struct upmu_bank *bank, uint32_t counters, uint32_t keep_closed)
{
    const struct upmu_pmu *pmu = bank->pmu;
    bool fine = true;

    while (counters) {
        const struct upmu_counter *counter = &pmu->counter[upmu_bits_lowest(counters)];
        unsigned row = counter->gate_row;
        uint64_t closed = take_gates(pmu, &keep_closed, row);

        take_gates(pmu, &counters, row);
        if (gate_is_select(counter) && (closed || bank->in_flux == row || !upmu_rows_has(bank->known, row)))
            continue;
        fine &= write_msr(bank, &bank->handler_accesses, row, bank->shadow[row] & ~closed);
    }
    return fine;
}

bool upmu_bank_handler_read(struct upmu_bank *bank, unsigned counter, uint64_t *out_value)
{
    return read_counter(bank, &bank->handler_accesses, counter, out_value);
}

bool upmu_bank_handler_write(struct upmu_bank *bank, unsigned counter, uint64_t value)
{
    const struct upmu_counter *where = &bank->pmu->counter[counter];

    return write_msr(bank, &bank->handler_accesses, where->write_row, to_write(where, value));
}

bool upmu_bank_handler_status(struct upmu_bank *bank, uint64_t *out_status)
{
    return read_msr(bank, &bank->handler_accesses, bank->pmu->status_row, out_status);
}

bool upmu_bank_handler_acknowledge(struct upmu_bank *bank, uint64_t bits)
{
    return write_msr(bank, &bank->handler_accesses, bank->pmu->ack_row, bits);
}
