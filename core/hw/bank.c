/* SPDX-License-Identifier: MIT */
/*
 * The only writer of PMU registers.  A change of configuration closes counters, loads registers and opens counters.
 *
 * The shadow is stored before the register is written, so that an interrupt
 * handler, which stops counters by what the shadow says, never undoes a change
 * that is under way.
 */
#include "core/hw/bank_inline.h"
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/util/shared.h"
#include "core/hw/box.h"
#include "core/hw/domain.h"
#include "core/hw/shared_page.h"
#include "core/hw/port_call.h"
#include "core/hw/register.h"

uint64_t upmu_bank_take_each(const struct upmu_bank *bank, uint32_t *counters, unsigned row)
{
    uint64_t bits = 0;

    for (uint32_t rest = *counters; rest; rest &= rest - 1u) {
        const struct upmu_counter *counter = &bank->pmu->counter[upmu_bits_lowest(rest)];

        if (counter->gate_row == row) {
            bits |= UPMU_BIT64(counter->gate_bit);
            *counters &= ~(rest & (~rest + 1u));
        }
    }
    return bits;
}

/* Is at least one of the bits `state` set in bank->state of a row? */
static bool row_is(const struct upmu_bank *bank, unsigned row, unsigned state)
{
    return bank->state[row] & state;
}

/* Are all of the bits `state` set in bank->state of a row? */
static bool row_has(const struct upmu_bank *bank, unsigned row, unsigned state)
{
    return (bank->state[row] & state) == state;
}

/* Is this the bank of a dry run (upmu_bank_pretend())? */
static inline bool is_dry(const struct upmu_bank *bank)
{
    return UPMU_DRY_RUN && bank->dry;
}

static void row_becomes(struct upmu_bank *bank, unsigned row, unsigned set, unsigned clear)
{
    bank->state[row] = (uint8_t)((bank->state[row] & ~clear) | set);
    bank->version++;
}

/*
 * Find out where the enable bits of the counters are (bank->gates), which counters RDPMC reads (bank->by_rdpmc), and
 * the mask of a counter's bits (bank->value_bits), which is 0 if counters differ in width.
 */
static void learn_counters(struct upmu_bank *bank)
{
    const struct upmu_pmu *pmu = bank->pmu;
    const struct upmu_counter *first = &pmu->counter[0];
    bool has_rdpmc = bank->port && port_has_rdpmc(bank->port) && pmu->index < UPMU_UNIT_PMU;
    bool dense = true, apart = true;
    uint32_t by_rdpmc = 0;

    bank->value_bits = upmu_bits_ones(first->width);
    for (uint32_t rest = pmu->counters; rest; rest &= rest - 1u) {
        const struct upmu_counter *counter = first + upmu_bits_lowest(rest);
        uint32_t bit = rest & (~rest + 1u);

        if (has_rdpmc && counter->rdpmc != UPMU_NO_RDPMC)
            by_rdpmc |= bit;
        if (bit & UPMU_METRIC_COUNTERS(pmu))
            continue;
        if (counter->width != first->width)
            bank->value_bits = 0;
        if (counter->gate_row != first->gate_row || upmu_enable_bits(bit) != UPMU_BIT64(counter->gate_bit))
            dense = false;
        if (counter->gate_row != counter->select_row || first + pmu->table->rows[counter->gate_row].counter != counter)
            apart = false;
    }
    UPMU_STORE(bank->by_rdpmc, by_rdpmc);
    bank->gates = dense ? UPMU_GATES_DENSE : apart ? UPMU_GATES_APART : UPMU_GATES_ANY;
}

/*
 * Counters, commands and acknowledgements have no shadow: every write of them is made.  Bits that the hardware changes
 * are in no shadow, either: an overflow flag that was read as 1 must not be written back when other bits of the
 * register change.
 */
void upmu_bank_init(struct upmu_bank *bank, const struct upmu_pmu *pmu, const struct upmu_port *port, bool safe,
                    uint64_t *memory)
{
    /* A read on another CPU may be storing bank->fresh meanwhile. */
    upmu_shared_clear(bank, sizeof *bank);
    memset(memory, 0, UPMU_BANK_WORDS(pmu->table->row_count) * sizeof *memory);
    bank->shadow = memory;
    bank->found = memory + pmu->table->row_count;
    bank->state = (uint8_t *)(memory + 2u * pmu->table->row_count);
    bank->pmu = pmu;
    bank->rows = pmu->table->rows;
    bank->port = port;
    bank->version = 1;
    bank->counted = &bank->accesses;
    learn_counters(bank);
    bank->direct = !(pmu->capabilities & UPMU_PMU_PAGE);
#if UPMU_UNCORE
    if (pmu->index >= UPMU_UNIT_PMU) {
        bank->type = ((const struct upmu_uncore_pmu *)(const void *)pmu)->type;
        bank->direct = 0;
    }
#endif
    for (unsigned row = 0; row < pmu->table->row_count; row++) {
        const struct upmu_register_class *class = upmu_register_class_of(pmu, row);
        unsigned state = 0;

        if (!upmu_rows_has(pmu->present, row))
            continue;
        if (upmu_bank_type(bank) || class->promised || safe)
            state = UPMU_ROW_REACHABLE;
        if (class->kind != UPMU_KIND_COUNTER &&
            (class->access == UPMU_ACCESS_RW || (UPMU_FOREIGN && class->access == UPMU_ACCESS_SET_CLEAR) ||
             (upmu_bank_type(bank) && class->access == UPMU_ACCESS_WO)))
            state |= UPMU_ROW_SHADOWED;
        if (upmu_register_bits(pmu, row) & ~class->owned)
            state |= UPMU_ROW_MIXED;
        if (class->gates && !(class->gates & upmu_register_bits(pmu, row))) {
            bank->own_gate = class->gates;
            bank->gate_class = pmu->table->rows[row].class_index;
            bank->direct = 0;
        }
#if UPMU_FOREIGN
        if (class->access == UPMU_ACCESS_SET_CLEAR || class->inverted)
            bank->direct = 0;
#endif
        bank->state[row] = (uint8_t)state;
    }
}

void upmu_bank_forget_row(struct upmu_bank *bank, unsigned row)
{
    row_becomes(bank, row, 0, UPMU_ROW_KNOWN | UPMU_ROW_PUT_OFF);
}

void upmu_bank_forget(struct upmu_bank *bank)
{
    for (unsigned row = 0; row < bank->pmu->table->row_count; row++)
        upmu_bank_forget_row(bank, row);
}

#if UPMU_DRY_RUN

void upmu_bank_pretend(struct upmu_bank *bank, struct upmu_dry_run *dry)
{
    bank->dry = dry;
    bank->direct = 0;
    dry->count = 0;
    for (unsigned row = 0; row < bank->pmu->table->row_count; row++)
        if (row_is(bank, row, UPMU_ROW_SHADOWED))
            row_becomes(bank, row, UPMU_ROW_KNOWN | UPMU_ROW_FOUND, 0);
}

#endif

/*
 * Return the gate that a select of P6 has in its shadow alone; 0 for other registers.  While that bit of the shadow is
 * clear, the register holds its idle value, whatever else the shadow says.  Inlined: the handler's stack is short.
 */
__attribute__((always_inline)) static inline uint64_t own_gate(const struct upmu_bank *bank, unsigned row)
{
    return bank->own_gate && bank->rows[row].class_index == bank->gate_class ? bank->own_gate : 0;
}

/* Read the register of a row as it is. */
bool upmu_bank_look(struct upmu_bank *bank, unsigned row, uint64_t *out_value)
{
    uint32_t address = bank->rows[row].address;

#if UPMU_UNCORE
    if (bank->type)
        return upmu_box_read(bank, row, out_value);
#endif
#if UPMU_BACKEND_PARAVIRT
    if (upmu_shared_page_is(bank))
        return upmu_shared_page_read(bank, row, out_value);
#endif
    upmu_bank_counted(bank)->reads++;
    if (row_is(bank, row, UPMU_ROW_REACHABLE) && port_rdmsr(bank->port, address, out_value)) {
#if UPMU_FOREIGN
        *out_value ^= upmu_register_class_of(bank->pmu, row)->inverted;
#endif
        return true;
    }
    return upmu_bank_note_fault(bank, address);
}

bool upmu_bank_read_row(struct upmu_bank *bank, unsigned row, uint64_t *out_value)
{
    const struct upmu_register_class *class = upmu_register_class_of(bank->pmu, row);

    if (!upmu_bank_look(bank, row, out_value))
        return false;
    if ((*out_value ^ class->idle_value) & ~class->idle_keep)
        *out_value |= own_gate(bank, row);
    return true;
}

/*
 * Convert the value of a shadow to the value of its MSR: without P6's own gate; the idle value if that gate is clear.
 * Inlined: the handler's stack is short.
 */
__attribute__((always_inline)) static inline uint64_t to_msr(const struct upmu_bank *bank, unsigned row, uint64_t value)
{
    uint64_t gate = own_gate(bank, row);
    const struct upmu_register_class *class;

    if (!gate || (value & gate))
        return value & ~gate;
    class = &bank->pmu->table->classes[bank->rows[row].class_index];
    return (value & class->idle_keep) | (class->idle_value & ~class->idle_keep);
}

static uint64_t to_register(const struct upmu_bank *bank, unsigned row, uint64_t value)
{
    uint32_t freeze = upmu_box_freeze(bank);

    if (freeze && row == UPMU_BOX_ROW)
        return ((uint32_t)value & ~freeze) | (upmu_box_counts(bank, value) ? 0 : freeze);
    return to_msr(bank, row, value);
}

static void list_write(struct upmu_bank *bank, unsigned row, uint32_t address, uint64_t value)
{
    struct upmu_write *write;

    if (bank->dry->count++ >= bank->dry->capacity)
        return;
    write = &bank->dry->writes[bank->dry->count - 1];
    write->name = bank->pmu->table->text + bank->rows[row].name;
    write->address = address;
    write->value = value;
}

#if UPMU_FOREIGN

/* Write `value` to the MSR at `address`, a row's own or the one behind it; a dry run lists the write. */
static bool write_address(struct upmu_bank *bank, unsigned row, uint32_t address, uint64_t value)
{
    if (is_dry(bank)) {
        list_write(bank, row, address, value);
        return true;
    }
    upmu_bank_counted(bank)->writes++;
    if (row_is(bank, row, UPMU_ROW_REACHABLE) && port_wrmsr(bank->port, address, value))
        return true;
    return upmu_bank_note_fault(bank, address);
}

/*
 * Write the register of a row.  If the class has two addresses, of which one sets bits and the next one clears them,
 * only the bits of `changed` are sent: first those to clear.  Bits in class->inverted are sent inverted.
 */
static bool write_changed(struct upmu_bank *bank, unsigned row, uint64_t value, uint64_t changed)
{
    const struct upmu_register_class *class = upmu_register_class_of(bank->pmu, row);
    uint32_t address = bank->rows[row].address;

    value ^= class->inverted;
    if (class->access != UPMU_ACCESS_SET_CLEAR)
        return write_address(bank, row, address, value);
    changed &= upmu_register_bits(bank->pmu, row);
    return (!(changed & ~value) || write_address(bank, row, address + 1u, changed & ~value)) &&
           (!(changed & value) || write_address(bank, row, address, changed & value));
}

/*
 * Are the bank's registers MSRs, which write_changed() can write?  Not those of a unit, and not those in a page of a
 * hypervisor.
 */
static bool has_plain_registers(const struct upmu_bank *bank)
{
#if UPMU_BACKEND_PARAVIRT
    if (upmu_shared_page_is(bank))
        return false;
#endif
    return !upmu_bank_type(bank);
}

#endif

/*
 * Write `value` to the MSR of a row.  Without `is_there` (UPMU_ROW_REACHABLE) no write is made, as if it had faulted.
 */
static UPMU_INSIDE bool write_register(struct upmu_bank *bank, unsigned row, uint64_t value, bool is_there)
{
    upmu_bank_counted(bank)->writes++;
    if (__builtin_expect(is_there && port_wrmsr(bank->port, bank->rows[row].address, value), 1))
        return true;
    return upmu_bank_note_fault(bank, bank->rows[row].address);
}

#if UPMU_UNCORE

/* Write a register of all boxes.  The shadow of a counter is the sum of the boxes' counts. */
static inline bool write_boxes(struct upmu_bank *bank, unsigned row, uint64_t value)
{
    if (!upmu_box_write(bank, row, value))
        return false;
    if (upmu_register_class_of(bank->pmu, row)->kind == UPMU_KIND_COUNTER)
        bank->shadow[row] = value * bank->boxes;
    return true;
}

#endif

/*
 * As write_register(), for a bank that is not `direct`: the register may be in the boxes of a unit or in a page of a
 * hypervisor, or have two addresses.
 */
static UPMU_APART bool command_odd(struct upmu_bank *bank, unsigned row, uint64_t value)
{
#if UPMU_UNCORE
    if (bank->type)
        return write_boxes(bank, row, value);
#endif
#if UPMU_BACKEND_PARAVIRT
    if (upmu_shared_page_is(bank))
        return upmu_shared_page_write(bank, row, value);
#endif
#if UPMU_FOREIGN
    return write_changed(bank, row, value, ~UINT64_C(0));
#else
    return write_register(bank, row, value, row_is(bank, row, UPMU_ROW_REACHABLE));
#endif
}

bool upmu_bank_command(struct upmu_bank *bank, unsigned row, uint64_t value)
{
    return __builtin_expect(bank->direct, 1)
               ? write_register(bank, row, value, row_is(bank, row, UPMU_ROW_REACHABLE))
               : command_odd(bank, row, value);
}

/* In a dry run: list the write, or the two writes, that would bring the value of a shadow to its register. */
static void note_dry_write(struct upmu_bank *bank, unsigned row, uint64_t value, uint64_t changed)
{
    value = to_register(bank, row, value);
#if UPMU_FOREIGN
    if (has_plain_registers(bank)) {
        (void)write_changed(bank, row, value, changed);
        return;
    }
#endif
    (void)changed;
    list_write(bank, row, bank->rows[row].address, value);
}

/*
 * As send_value(), for a bank that is not `direct`: in a dry run the write is listed, else made in the way that the
 * register needs.
 */
static UPMU_APART bool send_odd(struct upmu_bank *bank, unsigned row, uint64_t value, uint64_t changed)
{
    if (is_dry(bank)) {
        note_dry_write(bank, row, value, changed);
        return true;
    }
    value = to_register(bank, row, value);
#if UPMU_FOREIGN
    if (has_plain_registers(bank))
        return write_changed(bank, row, value, changed);
#endif
    return command_odd(bank, row, value);
}

/*
 * Write the value of a shadow to its register.  `changed`: the bits in which it may differ from the register's value;
 * the others need not be sent.  `is_there`: UPMU_ROW_REACHABLE.
 */
static UPMU_INSIDE bool send_value(struct upmu_bank *bank, unsigned row, uint64_t value, uint64_t changed,
                                   bool is_there)
{
    return __builtin_expect(bank->direct, 1) ? write_register(bank, row, value, is_there)
                                             : send_odd(bank, row, value, changed);
}

/*
 * Returns the domain that keeps the found value of a register which other CPUs see, too; NULL: only this CPU sees it.
 */
static struct upmu_domain *domain_of(const struct upmu_bank *bank, unsigned row)
{
    return UPMU_DOMAINS && row_is(bank, row, UPMU_ROW_SHARED) ? bank->domain : NULL;
}

/*
 * Is it known what a register held before upmu's first write?  For a shared register the domain may know that from
 * another CPU: then this bank takes the value over.
 */
static bool is_found(struct upmu_bank *bank, unsigned row)
{
    struct upmu_domain *domain = domain_of(bank, row);

    if (!row_is(bank, row, UPMU_ROW_FOUND) && domain && upmu_domain_recall(domain, row, &bank->found[row]))
        row_becomes(bank, row, UPMU_ROW_FOUND, 0);
    return row_is(bank, row, UPMU_ROW_FOUND);
}

/*
 * Read what a register holds before upmu's first write into bank->found, unless that is known.  For a shared register
 * that is the value before the first write of any CPU, and the domain keeps it, too.  Returns false where the register
 * faulted.
 */
static bool find_row(struct upmu_bank *bank, unsigned row)
{
    if (is_found(bank, row))
        return true;
    if (!upmu_bank_read_row(bank, row, &bank->found[row]))
        return false;
    if (domain_of(bank, row))
        upmu_domain_remember(domain_of(bank, row), row, bank->found[row]);
    row_becomes(bank, row, UPMU_ROW_FOUND, 0);
    return true;
}

/* Return the bits that one counter has in a register which has bits of several counters. */
static UPMU_INSIDE uint64_t counters_bits(const struct upmu_bank *bank, unsigned row, unsigned counter)
{
    return bank->pmu->backend->bits_of(bank->pmu, row, counter);
}

#if UPMU_FIRMWARE

void upmu_bank_disown(struct upmu_bank *bank, unsigned index)
{
    unsigned row = bank->pmu->counter[index].select_row;

    if (upmu_register_class_of(bank->pmu, row)->by_counter) { /* the found bits of other counters stay */
        uint64_t bits = counters_bits(bank, row, index), value = 0;

        if (!upmu_bank_read_row(bank, row, &value))
            value = 0;
        bank->found[row] = (bank->found[row] & ~bits) | (value & bits);
        return;
    }
    if (domain_of(bank, row))
        upmu_domain_disown(bank->domain, row);
    row_becomes(bank, row, 0, UPMU_ROW_FOUND);
}

#endif

void upmu_bank_inherit(struct upmu_bank *bank, bool mine)
{
    for (unsigned row = 0; row < bank->pmu->table->row_count; row++)
        if (domain_of(bank, row)) {
            upmu_bank_forget_row(bank, row);
            row_becomes(bank, row, 0, UPMU_ROW_FOUND);
            if (mine && upmu_domain_recall(bank->domain, row, &bank->found[row]))
                row_becomes(bank, row, UPMU_ROW_FOUND, 0);
        }
}

void upmu_bank_leave(const struct upmu_bank *bank)
{
    upmu_domain_forget(bank->domain);
    for (unsigned row = 0; row < bank->pmu->table->row_count; row++)
        if (domain_of(bank, row) && row_is(bank, row, UPMU_ROW_FOUND))
            upmu_domain_remember(bank->domain, row, bank->found[row]);
}

/*
 * Store the shadow of a register, without the bits that the hardware changes, and mark the register as known.
 * bank->version grows if the register was unknown, or if bits besides the enable bits change; programs do not compare
 * enable bits.
 */
static inline void keep_value(struct upmu_bank *bank, unsigned row, uint64_t value)
{
    const struct upmu_register_class *class = upmu_register_class_of(bank->pmu, row);

    value &= ~class->hardware;
    if (!upmu_bank_knows(bank, row) || ((bank->shadow[row] ^ value) & ~class->gates))
        bank->version++;
    bank->shadow[row] = value;
    UPMU_BARRIER();
    bank->state[row] |= UPMU_ROW_KNOWN;
}

/* Is the gate of a counter a bit of its select? */
static bool gate_is_select(const struct upmu_counter *counter)
{
    return counter->gate_row == counter->select_row;
}

static uint64_t idle_value(const struct upmu_bank *bank, unsigned row, uint64_t value)
{
    const struct upmu_register_class *class = upmu_register_class_of(bank->pmu, row);
    uint64_t gate = own_gate(bank, row);

    return gate ? value & ~gate : (value & class->idle_keep) | class->idle_value;
}

#if UPMU_FIRMWARE

/* Is a register auxiliary, and does it, or do some of its bits, say what a counter does? */
static bool row_is_beside(const struct upmu_pmu *pmu, unsigned row, unsigned counter)
{
    const struct upmu_register_class *class = upmu_register_class_of(pmu, row);

    return class->kind == UPMU_KIND_AUX && (class->by_counter || pmu->table->rows[row].counter == counter);
}

/*
 * When the host gives a counter back that it has stopped: keep it from running after the restore.  The counter would
 * run if its enable bit, its select and on P6 the bit that enables all counters got their found values (or, where none
 * is found, those that they have now).  Then its enable bit is cleared in the found value; a register that is the
 * select, too, gets its idle value there.  Counters that run now are left alone, and metrics, which share one enable
 * bit.
 */
static void keep_stopped(struct upmu_bank *bank, unsigned index)
{
    const struct upmu_counter *counter = &bank->pmu->counter[index];
    const uint8_t rows[] = {counter->select_row, bank->pmu->counter[0].select_row, counter->gate_row};
    uint64_t bit = UPMU_BIT64(counter->gate_bit), now[3], end[3];

    if ((UPMU_METRIC_COUNTERS(bank->pmu) & UPMU_BIT32(index)) || !is_found(bank, rows[2]) ||
        !(bank->found[rows[2]] & bit))
        return;
    for (unsigned i = 0; i < 3; i++) {
        if (!upmu_bank_read_row(bank, rows[i], &now[i]))
            return;
        end[i] = row_is(bank, rows[i], UPMU_ROW_FOUND) ? bank->found[rows[i]] : now[i];
    }
    if (!upmu_register_in_use(bank->pmu, index, end[0], end[1]) ||
        ((now[2] & bit) && upmu_register_in_use(bank->pmu, index, now[0], now[1])))
        return;
    bank->found[rows[2]] = gate_is_select(counter) ? idle_value(bank, rows[2], end[2]) : end[2] & ~bit;
    if (domain_of(bank, rows[2]))
        upmu_domain_remember(bank->domain, rows[2], bank->found[rows[2]]);
}

/*
 * The host may have changed a reserved counter's bits in an auxiliary register, which has this value.  Store the bits
 * that differ from the shadow as found ones: the restore leaves them as the host has set them.
 */
static void keep_beside(struct upmu_bank *bank, unsigned row, unsigned counter, uint64_t value)
{
    bool others_too = upmu_register_class_of(bank->pmu, row)->by_counter;
    uint64_t bits = others_too ? counters_bits(bank, row, counter) : ~UINT64_C(0);

    if (!row_is(bank, row, UPMU_ROW_FOUND))
        return;
    bits &= value ^ bank->shadow[row];
    bank->found[row] = (bank->found[row] & ~bits) | (value & bits);
    keep_value(bank, row, bank->shadow[row] ^ bits);
    if (bits && !others_too)
        row_becomes(bank, row, 0, UPMU_ROW_FOUND);
}

/* As keep_beside(), for all counters of other software, before the shadow gets the value that the register has. */
static void keep_theirs(struct upmu_bank *bank, unsigned row, uint64_t value)
{
    for (uint32_t rest = bank->others; rest; rest &= rest - 1u)
        if (row_is_beside(bank->pmu, row, upmu_bits_lowest(rest)))
            keep_beside(bank, row, upmu_bits_lowest(rest), value);
}

void upmu_bank_regain(struct upmu_bank *bank, uint32_t counters)
{
    uint64_t value;

    for (; counters; counters &= counters - 1u) {
        const struct upmu_counter *counter = &bank->pmu->counter[upmu_bits_lowest(counters)];

        keep_stopped(bank, upmu_bits_lowest(counters));
        keep_value(bank, counter->gate_row, bank->shadow[counter->gate_row] & ~UPMU_BIT64(counter->gate_bit));
        upmu_bank_forget_row(bank, counter->select_row);
        upmu_bank_forget_row(bank, counter->gate_row);
        for (unsigned row = 0; row < bank->pmu->table->row_count; row++)
            if (row_is_beside(bank->pmu, row, upmu_bits_lowest(counters))) {
                if (row_is(bank, row, UPMU_ROW_FOUND) && upmu_bank_look(bank, row, &value))
                    keep_beside(bank, row, upmu_bits_lowest(counters), value);
                upmu_bank_forget_row(bank, row);
            }
    }
}

#endif

static UPMU_APART uint32_t forget_stopped(struct upmu_bank *bank, unsigned row)
{
    uint32_t stopped = bank->stopped, rest = stopped;

    (void)upmu_bank_take_gates(bank, &rest, row);
    stopped &= ~rest;
    __atomic_fetch_and(&bank->stopped, ~stopped, __ATOMIC_RELAXED); /* a handler may add counters meanwhile */
    return stopped;
}

/*
 * If the next write of this register starts counters again that a handler has stopped: remove these counters from
 * bank->stopped, and return them.
 */
static inline uint32_t take_stopped(struct upmu_bank *bank, unsigned row)
{
    return UPMU_SAMPLING && __builtin_expect(bank->stopped != 0, 0) ? forget_stopped(bank, row) : 0;
}

/*
 * Return the enable bits in a register of stopped counters.  A write that sends only bits that change has to send them,
 * too, as the register does not hold what the shadow says of them.
 */
static inline uint64_t stopped_bits(const struct upmu_bank *bank, unsigned row, uint32_t stopped)
{
    return UPMU_FOREIGN && __builtin_expect(stopped != 0, 0) ? upmu_bank_take_gates(bank, &stopped, row) : 0;
}

/* Add counters to bank->stopped.  Atomic, because a handler may change it at any instruction of a local call. */
static inline void note_stopped(struct upmu_bank *bank, uint32_t counters)
{
    if (UPMU_SAMPLING && counters)
        __atomic_fetch_or(&bank->stopped, counters, __ATOMIC_RELAXED);
}

/* Mark a register that has a shadow as known and not put off, as it is about to be written. */
static UPMU_APART void note_known(struct upmu_bank *bank, unsigned row)
{
    if (row_is(bank, row, UPMU_ROW_SHADOWED))
        bank->state[row] = (uint8_t)((bank->state[row] & ~UPMU_ROW_PUT_OFF) | UPMU_ROW_KNOWN);
}

/*
 * Write one register and its shadow.  `plain`: upmu_bank_is_plain(); `hardware`: bits that no shadow has; `is_other`:
 * bits change that programs compare (bank->version); `odd`: the register may have enable bits.  After a fault the
 * shadow has its former value, so that no handler writes the refused one, and the register is unknown.
 */
static UPMU_INSIDE_IF_LARGE bool write_value(struct upmu_bank *bank, unsigned row, bool plain, uint64_t value,
                                             uint64_t hardware, bool is_other, bool odd)
{
    bool known = plain || upmu_bank_knows(bank, row);
    uint64_t before = bank->shadow[row];
    uint32_t stopped;

    /* Before the first write of a register with a shadow its value is read into bank->found. */
    if (__builtin_expect(!plain, 0) && row_is(bank, row, UPMU_ROW_SHADOWED) && !find_row(bank, row))
        return false;
    if (plain || row_is(bank, row, UPMU_ROW_SHADOWED)) {
        bank->version += is_other;
        bank->shadow[row] = value & ~hardware;
        UPMU_BARRIER();
    }
    if (__builtin_expect(!plain, 0))
        note_known(bank, row);
    stopped = odd ? take_stopped(bank, row) : 0;
    if (__builtin_expect(send_value(bank, row, value,
                                    known ? (before ^ value) | stopped_bits(bank, row, stopped) : ~UINT64_C(0),
                                    plain || row_is(bank, row, UPMU_ROW_REACHABLE)), 1))
        return true;
    note_stopped(bank, stopped);
    if (row_is(bank, row, UPMU_ROW_SHADOWED)) {
        keep_value(bank, row, before);
        upmu_bank_forget_row(bank, row);
    }
    return false;
}

/* Is a register unknown, or does a value differ from its shadow in bits that programs compare: all but `gates`? */
static inline bool is_other_value(const struct upmu_bank *bank, unsigned row, uint64_t value, uint64_t gates)
{
    return !upmu_bank_knows(bank, row) || ((bank->shadow[row] ^ value) & ~gates);
}

static bool write_row(struct upmu_bank *bank, unsigned row, uint64_t value)
{
    const struct upmu_register_class *class = upmu_register_class_of(bank->pmu, row);

    return write_value(bank, row, upmu_bank_is_plain(bank, row), value, class->hardware,
                       is_other_value(bank, row, value, class->gates), true);
}

#if UPMU_FIRMWARE

/* Returns the bits of a row that say what counters of other software (bank->others) do: it may have changed them. */
static UPMU_APART uint64_t others_bits(const struct upmu_bank *bank, unsigned row)
{
    const struct upmu_pmu *pmu = bank->pmu;
    const struct upmu_register *is = &pmu->table->rows[row];
    const struct upmu_register_class *class = &pmu->table->classes[is->class_index];
    uint64_t bits = 0;

    for (uint32_t rest = bank->others; rest; rest &= rest - 1u) {
        unsigned other = upmu_bits_lowest(rest);
        const struct upmu_counter *counter = &pmu->counter[other];

        if (class->kind == UPMU_KIND_AUX && is->counter == other)
            return ~UINT64_C(0);
        if (class->by_counter)
            bits |= counters_bits(bank, row, other);
        else if (counter->select_row == row)
            return ~UINT64_C(0);
        if (counter->gate_row == row)
            bits |= UPMU_BIT64(counter->gate_bit);
        if (row == pmu->counter[0].select_row)
            bits |= class->enables_all;
    }
    return bits;
}

void upmu_bank_others(struct upmu_bank *bank, uint32_t counters)
{
    bank->others = counters;
    for (unsigned row = 0; row < bank->pmu->table->row_count; row++)
        row_becomes(bank, row, others_bits(bank, row) ? UPMU_ROW_THEIRS : 0, UPMU_ROW_THEIRS);
}

#else

static inline uint64_t others_bits(const struct upmu_bank *bank, unsigned row)
{
    (void)bank;
    (void)row;
    return 0;
}

static inline void keep_theirs(struct upmu_bank *bank, unsigned row, uint64_t value)
{
    (void)bank;
    (void)row;
    (void)value;
}

#endif

/*
 * Read a register into its shadow: all of it if it is unknown or (but for a dry run) has bits that upmu does not own,
 * else only the bits of counters of other software.
 */
static UPMU_APART bool learn_value(struct upmu_bank *bank, unsigned row)
{
    uint64_t value, mine = 0;
    uint32_t stopped;

    if (!(row_is(bank, row, UPMU_ROW_MIXED) && !is_dry(bank)) && upmu_bank_knows(bank, row))
        mine = ~others_bits(bank, row);
    if (mine == ~UINT64_C(0))
        return true;
    if (!upmu_bank_read_row(bank, row, &value))
        return false;
    /* A handler just before the read may have stopped counters that are to run: their bits stay set in the shadow. */
    stopped = bank->stopped;
    value |= upmu_bank_take_gates(bank, &stopped, row) & bank->shadow[row];
    keep_theirs(bank, row, value);
    keep_value(bank, row, (bank->shadow[row] & mine) | (value & ~mine));
    return true;
}

/*
 * Get the present value of a register with a shadow.  The register is read if it is unknown, or has bits of other
 * software, which the shadow may not show.
 */
static UPMU_INSIDE bool present_value(struct upmu_bank *bank, unsigned row, uint64_t *out_value)
{
    if (__builtin_expect((bank->state[row] & (UPMU_ROW_KNOWN | UPMU_ROW_MIXED | UPMU_ROW_THEIRS)) != UPMU_ROW_KNOWN,
                         0) && !learn_value(bank, row))
        return false;
    *out_value = bank->shadow[row];
    return true;
}

bool upmu_bank_find(struct upmu_bank *bank)
{
    for (unsigned row = 0; row < bank->pmu->table->row_count; row++) {
        uint64_t value;

        /*
         * The domain has the found values of shared registers, and may have new ones since this CPU's last take-over.
         */
        if (domain_of(bank, row))
            row_becomes(bank, row, 0, UPMU_ROW_FOUND);
        if (!row_is(bank, row, UPMU_ROW_REACHABLE) || !upmu_register_class_of(bank->pmu, row)->found)
            continue;
        if (row_is(bank, row, UPMU_ROW_FOUND)) { /* the found value is still to be restored */
            if (!upmu_bank_read_row(bank, row, &value))
                return false;
        } else {
            if (!find_row(bank, row))
                return false;
            value = bank->found[row];
        }
        if (row_is(bank, row, UPMU_ROW_SHADOWED))
            keep_value(bank, row, value);
    }
    return true;
}

uint32_t upmu_bank_open(const struct upmu_bank *bank, uint32_t counters)
{
    unsigned row = bank->pmu->counter[0].gate_row;
    uint32_t open = 0;

    /* The common case first: all of them are closed. */
    if (upmu_bank_is_dense(bank, counters) && upmu_bank_knows(bank, row) &&
        !(bank->shadow[row] & upmu_enable_bits(counters)))
        return 0;
    for (uint32_t rest = counters; rest; rest &= rest - 1u) {
        const struct upmu_counter *counter = &bank->pmu->counter[upmu_bits_lowest(rest)];

        if (!upmu_bank_knows(bank, counter->gate_row) || (bank->shadow[counter->gate_row] >> counter->gate_bit & 1u))
            open |= rest & (~rest + 1u);
    }
    return open;
}

uint32_t upmu_bank_still(const struct upmu_bank *bank, uint32_t counters)
{
    uint32_t still = 0;

    if (!bank->pmu->kernel_select || !bank->port->in_kernel_mode)
        return 0;
    for (uint32_t rest = counters; rest; rest &= rest - 1u) {
        unsigned i = upmu_bits_lowest(rest), row = bank->pmu->counter[i].select_row;

        if (upmu_bank_knows(bank, row) && !row_is(bank, row, UPMU_ROW_PUT_OFF) &&
            (bank->shadow[row] >> bank->pmu->counter[i].gate_bit & 1u) &&
            !(bank->shadow[row] & bank->pmu->kernel_select))
            still |= UPMU_BIT32(i);
    }
    return still;
}

#if UPMU_UNCORE

static bool is_idle(const struct upmu_bank *bank, unsigned row)
{
    return idle_value(bank, row, bank->shadow[row]) == bank->shadow[row];
}

/*
 * Write the idle value to a select but leave its shadow, which is written when its counter opens (UPMU_ROW_PUT_OFF).
 * After a fault in one box the register is unknown, as the other boxes may be idle already.
 */
static bool silence_select(struct upmu_bank *bank, unsigned row)
{
    uint64_t idle = idle_value(bank, row, bank->shadow[row]);

    if (is_dry(bank)) {
        note_dry_write(bank, row, idle, ~UINT64_C(0));
    } else if (!upmu_bank_command(bank, row, idle)) {
        upmu_bank_forget_row(bank, row);
        return false;
    }
    row_becomes(bank, row, UPMU_ROW_PUT_OFF, 0);
    return true;
}

/* Let the selects of the counters `open` count, and make all other selects of the library idle: the boxes run. */
static bool select_open(struct upmu_bank *bank, uint32_t open)
{
    bool fine = true;

    for (uint32_t rest = bank->pmu->counters & ~bank->kept; rest; rest &= rest - 1u) {
        unsigned row = bank->pmu->counter[upmu_bits_lowest(rest)].select_row;

        if (row_is(bank, row, UPMU_ROW_PUT_OFF) == !(open & rest & (~rest + 1u)))
            continue;
        if (row_is(bank, row, UPMU_ROW_PUT_OFF))
            fine &= write_row(bank, row, bank->shadow[row]);
        else if (!upmu_bank_knows(bank, row))
            fine &= write_row(bank, row, idle_value(bank, row, bank->shadow[row]));
        else if (!is_idle(bank, row))
            fine &= silence_select(bank, row);
    }
    return fine;
}

/* Returns the shadow of box control, which has the gates above its own bits; without open gates if it is unknown. */
static uint64_t box_control(const struct upmu_bank *bank)
{
    return upmu_bank_knows(bank, UPMU_BOX_ROW) ? bank->shadow[UPMU_BOX_ROW] : bank->type->control_idle;
}

/*
 * Open and close counters of boxes whose control has a bit that freezes all counters.  The last counter that closes
 * sets that bit and leaves the selects as they are; the first counter that opens clears it.  While other counters of
 * the boxes run, a counter is closed by the idle value of its select.
 */
static UPMU_APART bool gate_box(struct upmu_bank *bank, uint32_t open, uint32_t close)
{
    bool known = upmu_bank_knows(bank, UPMU_BOX_ROW), ran = upmu_box_runs(bank), fine;
    uint64_t after = (box_control(bank) & ~((uint64_t)close << UPMU_BOX_GATES)) | (uint64_t)open << UPMU_BOX_GATES;

    if (upmu_box_counts(bank, after)) {
        fine = select_open(bank, (uint32_t)(after >> UPMU_BOX_GATES));
        if (!fine)
            return false;
        if (known && ran) {
            keep_value(bank, UPMU_BOX_ROW, after);
            return true;
        }
    } else if (known && !ran) {
        return true;
    }
    return write_row(bank, UPMU_BOX_ROW, after);
}

#endif

/*
 * Is a handler at work, and has it stopped all of these counters?  A handler that interrupted a bracket never asks:
 * counters that it stopped may run again.
 */
static inline bool has_stopped(const struct upmu_bank *bank, uint32_t counters)
{
    return UPMU_SAMPLING && bank->counted == &bank->handler_accesses && counters && !(counters & ~bank->stopped);
}

/* Store the shadow without the gates of `counters`, which the handler has closed in the register already. */
static UPMU_APART void note_closed(struct upmu_bank *bank, unsigned row, uint64_t value, uint32_t counters)
{
    keep_value(bank, row, value);
    bank->stopped &= ~counters;
}

/*
 * Open and close gates in one register, the gate register of `counter`.  `opened`, `closed`: the enable bits to set and
 * to clear; `closing`: the counters that close.  `is_select`: the register is a select, too, and gets its idle value at
 * a close.
 */
static UPMU_INSIDE bool gate_row(struct upmu_bank *bank, const struct upmu_counter *counter, bool is_select,
                                 uint64_t opened, uint64_t closed, uint32_t closing)
{
    unsigned row = counter->gate_row;
    bool plain = upmu_bank_is_plain(bank, row), other = false;
    uint64_t before, after;

    if (__builtin_expect(!plain, 0) && !present_value(bank, row, &before))
        return false;
    after = before = bank->shadow[row];
    if (is_select && closed) {
        after = idle_value(bank, row, before);
        other = (after ^ before) & ~(opened | closed);
    }
    after = (after & ~closed) | opened;
    if (!opened && has_stopped(bank, closing)) {
        note_closed(bank, row, after, closing);
        return true;
    }
    return (after == before && (plain || !row_is(bank, row, UPMU_ROW_PUT_OFF))) ||
           write_value(bank, row, plain, after, 0, other, true);
}

/*
 * Open and close gates register by register, for counters whose enable bits are not dense (upmu_bank_is_dense()).  An
 * error in one register does not keep the others from being written.
 */
static UPMU_APART bool gate_each(struct upmu_bank *bank, uint32_t open, uint32_t close)
{
    bool fine = true;

    /* The counter with the higher number of an AMD pair opens first and closes last. */
    while (open | close) {
        const struct upmu_counter *counter =
            &bank->pmu->counter[close ? upmu_bits_lowest(close) : upmu_bits_highest(open)];
        uint32_t closing = close;
        uint64_t opened = upmu_bank_take_gates(bank, &open, counter->gate_row);
        uint64_t closed = upmu_bank_take_gates(bank, &close, counter->gate_row);

        fine &= gate_row(bank, counter, gate_is_select(counter), opened, closed, closing & ~close);
    }
    return fine;
}

bool upmu_bank_gate(struct upmu_bank *bank, uint32_t open, uint32_t close)
{
#if UPMU_UNCORE
    if (__builtin_expect(!bank->direct, 0) && upmu_box_freeze(bank))
        return gate_box(bank, open, close);
#endif
    open &= ~upmu_bank_absent(bank);
    if (!(open | close))
        return true;
    if (__builtin_expect(!upmu_bank_is_dense(bank, open | close), 0))
        return gate_each(bank, open, close);
    return gate_row(bank, &bank->pmu->counter[0], false, upmu_enable_bits(open), upmu_enable_bits(close), close);
}

bool upmu_bank_close(struct upmu_bank *bank, uint32_t counters)
{
    return upmu_bank_gate(bank, 0, upmu_bank_open(bank, counters));
}

static inline bool is_same(const struct upmu_bank *bank, const struct upmu_step *step)
{
    return !upmu_step_differs(step, bank->shadow[step->row]) && upmu_bank_knows(bank, step->row) &&
           !(step->odd && (upmu_step_mask(step) & upmu_register_class_of(bank->pmu, step->row)->hardware));
}

bool upmu_bank_same(const struct upmu_bank *bank, const struct upmu_step *step)
{
    return is_same(bank, step);
}

#if UPMU_UNCORE

/* Store a new shadow for the select of a closed counter, and keep the select idle: its boxes run. */
static bool put_off_select(struct upmu_bank *bank, unsigned row, uint64_t value)
{
    if (!upmu_bank_knows(bank, row) && !silence_select(bank, row))
        return false;
    keep_value(bank, row, value);
    row_becomes(bank, row, UPMU_ROW_PUT_OFF, 0);
    return true;
}

#endif

/*
 * Get the value of a register in which only `mask` is to be changed; 0 if the former value does not matter: there is no
 * shadow, or the register is unknown and `mask` has all its bits.
 */
static UPMU_APART bool merge_with(struct upmu_bank *bank, unsigned row, uint64_t mask, uint64_t *out_before)
{
    *out_before = 0;
    return !row_is(bank, row, UPMU_ROW_SHADOWED) ||
           !(upmu_bank_knows(bank, row) || (upmu_register_bits(bank->pmu, row) & ~mask)) ||
           present_value(bank, row, out_before);
}

/*
 * Give the bits `mask` of a register a value.  A select that has the gate of a counter in `opening` gets only a shadow,
 * which upmu_bank_gate() writes.  A handler may write that shadow earlier, without harm: its gate is closed.
 */
static UPMU_INSIDE_IF_LARGE bool merge_bits(struct upmu_bank *bank, unsigned row, uint64_t mask, uint64_t value,
                                            uint32_t opening, bool odd)
{
    bool plain = upmu_bank_is_plain(bank, row);
    uint64_t before = bank->shadow[row], hardware = 0;

    if (__builtin_expect(!plain, 0) && !merge_with(bank, row, mask, &before))
        return false;
    value = (before & ~mask) | (value & mask);
    if (odd) {
        const struct upmu_register_class *class = upmu_register_class_of(bank->pmu, row);

#if UPMU_UNCORE
        if (upmu_box_freeze(bank) && upmu_box_runs(bank) && class->kind == UPMU_KIND_SELECT)
            return put_off_select(bank, row, value);
#endif
        hardware = class->hardware;
        if (class->gates && !(value & class->gates) && upmu_bank_take_gates(bank, &opening, row)) {
            keep_value(bank, row, value);
            row_becomes(bank, row, UPMU_ROW_PUT_OFF, 0);
            return true;
        }
    }
    return write_value(bank, row, plain, value, hardware, true, odd);
}

bool upmu_bank_merge(struct upmu_bank *bank, unsigned row, uint64_t mask, uint64_t value, uint32_t opening)
{
    return merge_bits(bank, row, mask, value, opening, true);
}

/*
 * The enable bits of counters in `keep` stay as they are in a register that the prelude writes.  In a dry run the
 * written registers stay known.
 */
bool upmu_bank_prelude(struct upmu_bank *bank, const struct upmu_prelude *prelude, uint32_t keep)
{
    const struct upmu_prelude_step *step = prelude->steps;

    /* A fault in the last prelude may have left gates open. */
    if (!upmu_bank_close(bank, prelude->counters & ~keep))
        return false;
    for (unsigned i = 0; i < prelude->step_count; i++, step++) {
        unsigned counter = bank->rows[step->row].counter;
        uint32_t others = keep;

        if (counter < UPMU_COUNTERS && (keep >> counter & 1u))
            continue;
        if (!upmu_bank_merge(bank, step->row, ~upmu_bank_take_gates(bank, &others, step->row), step->value, 0))
            return false;
        if (!is_dry(bank))
            upmu_bank_forget_row(bank, step->row);
    }
    return true;
}

uint32_t upmu_bank_changes(const struct upmu_bank *bank, const struct upmu_step *steps, unsigned count)
{
    uint32_t guard = 0;

    for (const struct upmu_step *step = steps; step < steps + count; step++)
        if (!is_same(bank, step))
            guard |= step->guard;
    return guard;
}

bool upmu_bank_put(struct upmu_bank *bank, const struct upmu_step *steps, unsigned count, uint32_t opening,
                   uint32_t *out_failed)
{
    const struct upmu_step *step = steps, *end = steps + count;

    while (step < end) {
        unsigned row = step->row;
        uint64_t mask = 0, value = 0;
        uint32_t guard = 0;
        bool odd = step->odd;

        do {
            if (!is_same(bank, step)) {
                mask |= upmu_step_mask(step);
                value |= upmu_step_value(step);
                guard |= step->guard;
            }
        } while (++step < end && step->row == row);
        if (mask && !merge_bits(bank, row, mask, value, opening, odd)) {
            *out_failed = guard;
            return false;
        }
    }
    return true;
}

bool upmu_bank_load(struct upmu_bank *bank, const struct upmu_step *steps, unsigned count, uint32_t opening,
                    uint32_t still)
{
    uint32_t failed;

    return upmu_bank_close(bank, upmu_bank_changes(bank, steps, count) & ~still) &&
           upmu_bank_put(bank, steps, count, opening, &failed);
}

/* Cut a counter's value to the bits that a write can set; the hardware sign-extends from there. */
static UPMU_INSIDE uint64_t to_write(const struct upmu_counter *counter, uint64_t value)
{
    return upmu_bits_low(value, counter->write_bits < counter->width ? counter->write_bits : counter->width);
}

/*
 * Returns the bits of a register that are the library's and stay as they are written.  In an auxiliary register the
 * bits `in_use` are the library's only if they were found set by a former kernel: upmu only clears them.
 */
static uint64_t lasting_bits(const struct upmu_bank *bank, unsigned row)
{
    const struct upmu_register_class *class = upmu_register_class_of(bank->pmu, row);

    return class->owned & ~class->hardware & ~(class->kind == UPMU_KIND_AUX ? class->in_use & ~bank->found[row] : 0);
}

#if UPMU_UNCORE

/*
 * When a counter holds 0: was its box reset?  If so, set the counter's bit in bank->lacks and bank->reset.  A box that
 * was reset counts from 0, and not before its select is written, so the selects are compared with the shadow.  Where
 * the select is the gate, a stop has cleared it: then a counter that has gone back to 0 was reset if its box was gone
 * before.  Returns false where a register faulted.
 */
static UPMU_APART bool look_for_reset(struct upmu_bank *bank, unsigned index, bool went_back)
{
    unsigned row = bank->pmu->counter[index].select_row;
    uint64_t bits, value;
    bool fault = false;

    if (bank->type->style == UPMU_UNIT_FREE || !upmu_bank_knows(bank, row) || row_is(bank, row, UPMU_ROW_PUT_OFF) ||
        upmu_register_class_of(bank->pmu, row)->access == UPMU_ACCESS_WO)
        return true;
    bits = lasting_bits(bank, row) & upmu_register_bits(bank->pmu, row);
    value = to_register(bank, row, bank->shadow[row]);
    if (!(value & bits) ? !went_back : upmu_box_holds(bank, row, value, bits, &fault))
        return true;
    if (fault)
        return false;
    bank->lacks |= UPMU_BIT32(index);
    bank->reset |= UPMU_BIT32(index);
    return true;
}

static UPMU_APART bool read_boxes(struct upmu_bank *bank, unsigned index, bool begins, uint64_t *out_value)
{
    unsigned row = bank->pmu->counter[index].value_row;
    uint32_t reset = bank->reset;
    uint64_t doubtful;
    bool zero, fine = upmu_box_count(bank, index, begins, &zero, &doubtful, out_value);

    if (__builtin_expect(zero, 0) && !begins) {
        fine = look_for_reset(bank, index, doubtful && (bank->missed >> index & 1u)) && fine;
        if ((bank->reset & ~reset) >> index & 1u) /* the reset was counted as a wrap: subtract those events */
            *out_value -= doubtful;
    }
    bank->shadow[row] = *out_value;
    return fine;
}

bool upmu_bank_begin(struct upmu_bank *bank, unsigned index, uint64_t *out_value)
{
    bool fine = read_boxes(bank, index, true, out_value);

    bank->missed &= ~UPMU_BIT32(index);
    *out_value = upmu_bits_low(*out_value, bank->pmu->counter[index].width);
    return fine;
}

void upmu_bank_unlearn(struct upmu_bank *bank, uint32_t counters)
{
    bool still = !upmu_bank_open(bank, bank->pmu->counters);

    for (unsigned row = 0; row < bank->pmu->table->row_count; row++)
        if (still && upmu_register_class_of(bank->pmu, row)->kind == UPMU_KIND_PAYLOAD)
            upmu_bank_forget_row(bank, row);
    for (uint32_t rest = counters; rest; rest &= rest - 1u)
        upmu_bank_forget_row(bank, bank->pmu->counter[upmu_bits_lowest(rest)].select_row);
    if (upmu_box_freeze(bank) && !upmu_box_runs(bank))
        upmu_bank_forget_row(bank, UPMU_BOX_ROW);
    bank->reset &= ~counters;
}

#endif

bool upmu_bank_read_register(struct upmu_bank *bank, unsigned index, uint64_t *out_value)
{
    const struct upmu_counter *counter = &bank->pmu->counter[index];
    bool fine;

    *out_value = 0;
#if UPMU_UNCORE
    if (bank->type)
        fine = read_boxes(bank, index, false, out_value);
    else
#endif
        fine = upmu_bank_look(bank, counter->value_row, out_value);
    if (fine || upmu_bank_type(bank))
        *out_value = upmu_bits_low(*out_value, counter->width);
    return fine;
}

bool upmu_bank_read(struct upmu_bank *bank, unsigned index, uint64_t *out_value)
{
    return upmu_bank_count(bank, index, upmu_bank_value_bits(bank, index), out_value);
}

#if UPMU_BRANCHES || UPMU_PRECISE

bool upmu_bank_read_address(struct upmu_bank *bank, uint32_t address, uint64_t *out_value)
{
    return upmu_bank_read_next(bank, bank->port, address, &bank->accesses.reads, out_value);
}

bool upmu_bank_write_address(struct upmu_bank *bank, uint32_t address, uint64_t value)
{
    bank->accesses.writes++;
    if (port_wrmsr(bank->port, address, value))
        return true;
    return upmu_bank_note_fault(bank, address);
}

#endif

#if UPMU_FOREIGN

bool upmu_bank_acknowledge(struct upmu_bank *bank, uint32_t counters)
{
    const struct upmu_pmu *pmu = bank->pmu;
    bool fine = true;

    if (pmu->ack_row != UPMU_NO_ROW)
        return upmu_bank_command(bank, pmu->ack_row, pmu->backend->acknowledge(pmu, counters));
    /* Overflow flags are in no shadow: a write of the select's shadow clears the flag. */
    for (; counters && pmu->status_row != UPMU_NO_ROW; counters &= counters - 1u) {
        unsigned row = pmu->counter[upmu_bits_lowest(counters)].select_row;

        if (upmu_bank_knows(bank, row))
            fine &= upmu_bank_command(bank, row, to_register(bank, row, bank->shadow[row]));
    }
    return fine;
}

#endif

bool upmu_bank_write(struct upmu_bank *bank, unsigned counter, uint64_t value)
{
    const struct upmu_counter *where = &bank->pmu->counter[counter];

    return upmu_bank_command(bank, where->write_row, to_write(where, value));
}

#if UPMU_DRY_RUN

void upmu_bank_list(struct upmu_bank *bank, unsigned counter, uint64_t value)
{
    const struct upmu_counter *where = &bank->pmu->counter[counter];

    note_dry_write(bank, where->write_row, to_write(where, value), ~UINT64_C(0));
}

#endif

/*
 * Return the bits in which `value`, as upmu_bank_read_row() read it from a register, differs from what the bank would
 * write there for the shadow of row `row`.  Gates that the shadow has beside the register's bits are left out.  The
 * caller masks the bits that are not the library's, or that the hardware changes.
 */
static UPMU_APART uint64_t differing_bits(const struct upmu_bank *bank, unsigned row, uint64_t value)
{
    if (upmu_box_freeze(bank) && row == UPMU_BOX_ROW) /* gates of boxes are in no register */
        return value || !upmu_box_is_blind(bank) ? value ^ to_register(bank, row, bank->shadow[row]) : 0;
    return to_register(bank, row, value) ^ to_register(bank, row, bank->shadow[row]);
}

#if UPMU_FIRMWARE

bool upmu_bank_agrees(struct upmu_bank *bank, unsigned counter)
{
    const struct upmu_pmu *pmu = bank->pmu;
    unsigned row = pmu->counter[counter].select_row;
    const struct upmu_register_class *class = upmu_register_class_of(pmu, row);
    uint64_t value;

    return !upmu_bank_knows(bank, row) || !upmu_bank_read_row(bank, row, &value) ||
           !(differing_bits(bank, row, value) & (class->by_counter ? counters_bits(bank, row, counter) : class->owned));
}

#endif

unsigned upmu_bank_verify(struct upmu_bank *bank, bool *out_fault)
{
    *out_fault = false;
    for (unsigned row = 0; row < bank->pmu->table->row_count; row++) {
        uint64_t value;

        if ((bank->state[row] & (UPMU_ROW_KNOWN | UPMU_ROW_FOUND | UPMU_ROW_PUT_OFF)) !=
            (UPMU_ROW_KNOWN | UPMU_ROW_FOUND) ||
            (upmu_bank_type(bank) && upmu_register_class_of(bank->pmu, row)->access == UPMU_ACCESS_WO))
            continue;
        if (!upmu_bank_read_row(bank, row, &value)) {
            *out_fault = true;
            return row;
        }
        /* Only bits that the register has are compared: others read as 0, whatever was written. */
        if (differing_bits(bank, row, value) & lasting_bits(bank, row) & upmu_register_bits(bank->pmu, row) &
            ~others_bits(bank, row)) {
            bank->faulted = upmu_register_address(bank->pmu, row);
            return row;
        }
    }
    return UPMU_NO_ROW;
}

/*
 * Restore the library's bits of a register to their found values, and flags of the hardware to 0.  If the library's
 * bits have these values already, nothing is written, which leaves the bits of other software alone.
 */
static bool restore_row(struct upmu_bank *bank, unsigned row)
{
    uint64_t ours = lasting_bits(bank, row) & ~others_bits(bank, row), now;

    /*
     * A counter whose select was found counting is not the library's.  So this found value counts nothing, and may be
     * written while boxes run.
     */
    if (upmu_box_freeze(bank) && upmu_register_class_of(bank->pmu, row)->kind == UPMU_KIND_SELECT)
        return (upmu_bank_knows(bank, row) && !row_is(bank, row, UPMU_ROW_PUT_OFF) &&
                bank->shadow[row] == bank->found[row]) ||
               write_row(bank, row, bank->found[row]);
    if (ours && !upmu_bank_knows(bank, row) && row_is(bank, row, UPMU_ROW_MIXED) && present_value(bank, row, &now) &&
        !((now ^ bank->found[row]) & ours))
        return true;
    return !ours ||
           (upmu_bank_knows(bank, row) && !row_is(bank, row, UPMU_ROW_PUT_OFF) &&
            !((bank->shadow[row] ^ bank->found[row]) & ours)) ||
           upmu_bank_merge(bank, row, ours, bank->found[row], 0);
}

#if UPMU_UNCORE

/*
 * Do all boxes of a unit answer a read of one register that all of them have?  A restore of a box that is gone would be
 * lost: the box drops what is written to it, and has its old registers when it answers again.  True for boxes of MSRs,
 * where a write of a box that is gone would fault.
 */
static UPMU_APART bool all_boxes_answer(struct upmu_bank *bank)
{
    for (unsigned row = 0; bank->type->space != UPMU_SPACE_MSR && row < bank->pmu->table->row_count; row++) {
        const struct upmu_register_class *class = upmu_register_class_of(bank->pmu, row);
        uint64_t value;

        if (row_is(bank, row, UPMU_ROW_FOUND) && class->access == UPMU_ACCESS_RW &&
            (class->kind == UPMU_KIND_SELECT || class->kind == UPMU_KIND_CONTROL))
            return upmu_bank_look(bank, row, &value);
    }
    return true;
}

/*
 * Restore box control, after all other registers of the boxes: its found value may let the boxes run.  Several boxes,
 * whose found value is a mixture, get the idle value instead.  `ends`: the bit of bank->state that a restored row
 * loses.
 */
static bool restore_box(struct upmu_bank *bank, unsigned ends)
{
    uint64_t value = bank->boxes > 1 ? bank->type->control_idle : bank->found[UPMU_BOX_ROW];

    if (!row_is(bank, UPMU_BOX_ROW, UPMU_ROW_FOUND))
        return true;
    if (!(upmu_bank_knows(bank, UPMU_BOX_ROW) &&
          to_register(bank, UPMU_BOX_ROW, bank->shadow[UPMU_BOX_ROW]) == value) &&
        !upmu_bank_command(bank, UPMU_BOX_ROW, value))
        return false;
    row_becomes(bank, UPMU_BOX_ROW, 0, ends | UPMU_ROW_KNOWN);
    return true;
}

/*
 * Reset boxes by the bits of box control that do that: all in one write, or (UPMU_UNIT_GROWING_RESET) in several
 * writes, each with one bit more than the last.
 */
static bool reset_boxes(struct upmu_bank *bank)
{
    uint32_t bits = bank->type->control_idle | bank->type->reset, sent = 0;
    bool grows = bank->type->quirks & UPMU_UNIT_GROWING_RESET, fine = true;

    for (uint32_t rest = bits; rest && fine; rest &= rest - 1u) {
        sent |= rest & (~rest + 1u);
        if (grows || sent == bits)
            fine = upmu_bank_command(bank, UPMU_BOX_ROW, sent);
    }
    return fine;
}

void upmu_bank_reach(struct upmu_bank *bank, const struct upmu_unit_info *box, unsigned boxes)
{
    bank->of.box = box;
    bank->boxes = (uint16_t)boxes;
    UPMU_STORE(bank->box_rdpmc, boxes == 1 && port_has_rdpmc(bank->port));
    /* A register of the class's `second` address base does not exist if one of the boxes lacks this base. */
    for (unsigned row = 0; row < bank->pmu->table->row_count; row++)
        for (unsigned i = 0; i < boxes; i++)
            if (upmu_box_lacks(bank, row, &box[i]))
                bank->state[row] = 0;
}

/*
 * Style GLOBAL: several boxes get an enable register back whose bits are 0, because the found value is a mixture.  Only
 * the bits of counters in bank->kept stay as they were found.
 */
static void find_idle_enables(struct upmu_bank *bank)
{
    uint64_t enables = 0;

    if (bank->type->style != UPMU_UNIT_GLOBAL || bank->boxes == 1)
        return;
    for (uint32_t rest = bank->kept; rest; rest &= rest - 1u)
        enables |= UPMU_BIT64(bank->pmu->counter[upmu_bits_lowest(rest)].gate_bit);
    bank->found[UPMU_BOX_ROW] &= enables;
}

bool upmu_bank_settle(struct upmu_bank *bank, uint32_t kept)
{
    const struct upmu_pmu *pmu = bank->pmu;
    bool resets = upmu_box_freeze(bank) && bank->type->reset && !kept, fine = true;

    bank->kept = kept;
    for (unsigned row = 0; row < pmu->table->row_count; row++) {
        unsigned counter = bank->rows[row].counter, kind = upmu_register_class_of(pmu, row)->kind;

        if (!row_is(bank, row, UPMU_ROW_FOUND) || (kind != UPMU_KIND_SELECT && kind != UPMU_KIND_PAYLOAD))
            continue;
        if (counter < UPMU_COUNTERS ? kept >> counter & 1u : kept) {
            if (bank->boxes > 1) /* the found value is a mixture of the boxes' values */
                row_becomes(bank, row, 0, UPMU_ROW_KNOWN | UPMU_ROW_FOUND);
            continue;
        }
        if (kind == UPMU_KIND_SELECT && upmu_box_freeze(bank) && !is_idle(bank, row))
            fine &= write_row(bank, row, idle_value(bank, row, bank->shadow[row]));
        if (kind == UPMU_KIND_PAYLOAD && (resets || bank->boxes > 1))
            upmu_bank_forget_row(bank, row);
        if (bank->boxes > 1)
            bank->found[row] = idle_value(bank, row, bank->found[row]);
    }
    if (upmu_box_freeze(bank)) {
        fine = fine && (!resets || reset_boxes(bank));
        upmu_bank_forget_row(bank, UPMU_BOX_ROW);
    }
    find_idle_enables(bank);
    return fine && upmu_bank_gate(bank, 0, bank->type->style == UPMU_UNIT_FREE ? 0 : pmu->counters & ~kept);
}

bool upmu_bank_unkeep(struct upmu_bank *bank)
{
    uint32_t kept = bank->kept;

    for (uint32_t rest = kept; rest; rest &= rest - 1u) {
        unsigned row = bank->pmu->counter[upmu_bits_lowest(rest)].select_row;

        if (!write_row(bank, row, idle_value(bank, row, bank->shadow[row])))
            return false;
        if (bank->boxes > 1)
            bank->found[row] = idle_value(bank, row, bank->found[row]);
    }
    if (!upmu_box_freeze(bank) && !upmu_bank_gate(bank, 0, kept))
        return false;
    /* If no counter of the library runs, freeze the boxes now. */
    bank->kept = 0;
    find_idle_enables(bank);
    if (kept && upmu_box_freeze(bank) && !upmu_box_counts(bank, box_control(bank)) &&
        !write_row(bank, UPMU_BOX_ROW, box_control(bank)))
        bank->kept = kept;
    return bank->kept == 0;
}

bool upmu_bank_owes(const struct upmu_bank *bank)
{
    for (unsigned row = 0; row < bank->pmu->table->row_count; row++)
        if (row_has(bank, row, UPMU_ROW_SHADOWED | UPMU_ROW_FOUND))
            return true;
    return false;
}

#endif

bool upmu_bank_restore(struct upmu_bank *bank, uint32_t counters)
{
    bool fine = upmu_bank_close(bank, counters), restored = true;
    unsigned ends = UPMU_ROW_FOUND; /* the bit of bank->state that a restored row loses */

#if UPMU_UNCORE
    if (bank->type && !all_boxes_answer(bank))
        ends = UPMU_ROW_KNOWN;
#endif
    for (uint32_t rest = counters; rest; rest &= rest - 1u) {
        const struct upmu_counter *where = &bank->pmu->counter[upmu_bits_lowest(rest)];

        if (!row_is(bank, where->value_row, UPMU_ROW_FOUND))
            continue;
        if (upmu_bank_write(bank, upmu_bits_lowest(rest), bank->found[where->value_row]))
            row_becomes(bank, where->value_row, 0, UPMU_ROW_FOUND);
        else
            fine = false;
    }
    for (unsigned rank = 0; rank < 8; rank++)
        for (unsigned row = 0; row < bank->pmu->table->row_count; row++) {
            const struct upmu_register_class *class;

            if (!row_has(bank, row, UPMU_ROW_SHADOWED | UPMU_ROW_FOUND) ||
                (upmu_box_freeze(bank) && row == UPMU_BOX_ROW))
                continue;
            class = upmu_register_class_of(bank->pmu, row);
            if (class->load_rank != rank)
                continue;
            /*
             * After a fault a common gate is not restored, as a select may still hold an event of the library:
             * `counters` are closed instead.
             */
            if (!fine && class->gates && (class->kind == UPMU_KIND_CONTROL || own_gate(bank, row)))
                (void)upmu_bank_close(bank, counters);
            else if (restore_row(bank, row))
                row_becomes(bank, row, 0, ends);
            else
                fine = restored = false;
        }
#if UPMU_UNCORE
    /* Boxes that hold no event of the library any more become as they were found, also where one did not freeze. */
    if (upmu_box_freeze(bank))
        fine &= restored && restore_box(bank, ends);
#endif
    return fine && ends == UPMU_ROW_FOUND;
}

#if UPMU_CLEAR

/*
 * Clear the library's bits of a register with a shadow, whatever the shadow says.  The bits are cleared in the found
 * value first, so the write reads the register only where it has bits of other software.
 */
static bool clear_shadowed(struct upmu_bank *bank, unsigned row)
{
    const struct upmu_register_class *class = upmu_register_class_of(bank->pmu, row);
    /*
     * All bits of a payload register, also those that upmu does not own: a former kernel's records (PEBS of NetBurst)
     * are to end.
     */
    uint64_t mask = (class->kind == UPMU_KIND_PAYLOAD ? ~UINT64_C(0) : class->owned) & ~others_bits(bank, row);

    if (mask != ~UINT64_C(0) && !find_row(bank, row))
        return false;
    bank->found[row] &= ~mask;
    row_becomes(bank, row, UPMU_ROW_FOUND, 0);
    if (domain_of(bank, row))
        upmu_domain_remember(domain_of(bank, row), row, bank->found[row]);
    upmu_bank_forget_row(bank, row);
    return upmu_bank_merge(bank, row, mask, 0, 0);
}

/* Clear a counter, its alias, or the metrics (of UPMU_SLOTS_COUNTER), unless that counter is the host's. */
static bool clear_counter(struct upmu_bank *bank, unsigned row)
{
    unsigned counter = bank->rows[row].counter;

    if (bank->others >> (counter < UPMU_COUNTERS ? counter : UPMU_SLOTS_COUNTER) & 1u)
        return true;
    bank->found[row] = 0;
    if (domain_of(bank, row))
        upmu_domain_remember(domain_of(bank, row), row, 0);
    return upmu_bank_command(bank, row, 0);
}

static bool clear_row(struct upmu_bank *bank, unsigned row)
{
    const struct upmu_register_class *class = upmu_register_class_of(bank->pmu, row);

    if (row_is(bank, row, UPMU_ROW_SHADOWED))
        return clear_shadowed(bank, row);
    if (class->kind == UPMU_KIND_COUNTER)
        return clear_counter(bank, row);
    return class->access != UPMU_ACCESS_COMMAND || upmu_bank_command(bank, row, 0);
}

/* Acknowledge all overflows of the library's counters, and other flags that the status shows and upmu owns (freeze). */
static bool clear_status(struct upmu_bank *bank)
{
    const struct upmu_pmu *pmu = bank->pmu;
    uint64_t status = 0, ours;
    bool fine;

    if (pmu->ack_row == UPMU_NO_ROW)
        return true;
    ours = pmu->backend->acknowledge(pmu, pmu->counters & ~bank->others);
    fine = upmu_bank_read_row(bank, pmu->status_row, &status);
    if (fine)
        ours |= status & upmu_register_class_of(pmu, pmu->ack_row)->owned;
    return upmu_bank_command(bank, pmu->ack_row, ours) && fine;
}

bool upmu_bank_clear(struct upmu_bank *bank, bool alone)
{
    uint32_t first = 0;
    bool fine = true;

    for (unsigned rank = 0; rank < 8; rank++)
        for (unsigned row = 0; row < bank->pmu->table->row_count; row++) {
            if (upmu_register_class_of(bank->pmu, row)->release_rank != rank ||
                !row_is(bank, row, UPMU_ROW_REACHABLE) || (!alone && row_is(bank, row, UPMU_ROW_SHARED)) ||
                clear_row(bank, row))
                continue;
            first = fine ? bank->faulted : first;
            fine = false;
        }
    if (clear_status(bank) && fine)
        return true;
    bank->faulted = fine ? bank->faulted : first;
    return false;
}

#endif

/* ---- Writes by which a handler stops counters, and lets them run again ---- */

/*
 * Store in *out_value the shadow of a register, with the bits of counters in bank->others as the register has them now.
 * Not inlined: the handler's stack is short.
 */
static UPMU_APART bool beside_host(struct upmu_bank *bank, unsigned row, uint64_t *out_value)
{
    uint64_t theirs = others_bits(bank, row), now;

    if (!upmu_bank_look(bank, row, &now))
        return false;
    *out_value = (bank->shadow[row] & ~theirs) | (now & theirs);
    return true;
}

/*
 * Set the gates of `counters` as the shadow has them, but close those that are in `keep_closed`, too.  A select that
 * has its counter's gate gets its idle value if the counter is in `keep_closed`, or the register is unknown.
 */
bool upmu_bank_handler_open(struct upmu_bank *bank, uint32_t counters, uint32_t keep_closed)
{
    const struct upmu_pmu *pmu = bank->pmu;
    bool fine = true;

    while (counters) {
        const struct upmu_counter *counter = &pmu->counter[upmu_bits_lowest(counters)];
        unsigned row = counter->gate_row;
        uint32_t closing = keep_closed, stopped;
        uint64_t closed = upmu_bank_take_gates(bank, &keep_closed, row);
        uint64_t mine = upmu_bank_take_gates(bank, &counters, row), value = bank->shadow[row];

        /* The bits of other software's counters are read now, so that no old value of them is written. */
        if (UPMU_FIRMWARE && row_is(bank, row, UPMU_ROW_THEIRS) && !beside_host(bank, row, &value)) {
            fine = false;
            continue;
        }
        if (gate_is_select(counter) && (closed || !upmu_bank_knows(bank, row)))
            value = idle_value(bank, row, value);
        stopped = take_stopped(bank, row);
        closing &= ~keep_closed;
        note_stopped(bank, closed & ~bank->shadow[row] ? upmu_bank_open(bank, closing) : closing);
        mine |= stopped_bits(bank, row, stopped);
        if (!send_value(bank, row, value & ~closed, mine | closed, row_is(bank, row, UPMU_ROW_REACHABLE))) {
            (void)take_stopped(bank, row);
            note_stopped(bank, stopped);
            fine = false;
        }
    }
    return fine;
}

bool upmu_bank_handler_close(struct upmu_bank *bank, uint32_t counters)
{
    return upmu_bank_handler_open(bank, counters, counters);
}
