/* SPDX-License-Identifier: MIT */
/*
 * The bank: the shadow of one PMU's registers on one CPU, or of a unit's, and their only writer.
 *
 * A change of configuration is upmu_bank_load() (close counters, load registers) followed by upmu_bank_gate() (open);
 * between the two the caller reads or loads counters.  After a register fault the counters that the register concerns
 * stay closed, the register is unknown, and bank->faulted has its address.  A function that accesses registers returns
 * false where one faulted, unless its comment says otherwise.
 */
#ifndef UPMU_CORE_BANK_H
#define UPMU_CORE_BANK_H

#include "core/hw/backend.h"
#include "core/hw/register.h"
#include <upmu/session.h>
#include <upmu/unit.h>

/* Bits of upmu_bank.state[row], about the register of that row. */
/* the register holds what the shadow says (but for bits that the hardware or other software changes) */
#define UPMU_ROW_KNOWN (1u << 0)
#define UPMU_ROW_FOUND (1u << 1)     /* bank->found has the register's value before upmu's first write */
#define UPMU_ROW_PUT_OFF (1u << 2)   /* a select is idle; its shadow is written when its counter opens */
#define UPMU_ROW_SHADOWED (1u << 3)  /* the register has a shadow; only such a register can be KNOWN or PUT_OFF */
#define UPMU_ROW_REACHABLE (1u << 4) /* may be accessed at all */

/*
 * the register has bits that upmu does not own: a local call reads them before it changes other bits, and writes them
 * back; a handler writes them as the shadow has them
 */
#define UPMU_ROW_MIXED (1u << 5)
#define UPMU_ROW_THEIRS (1u << 6)    /* has bits of counters in bank->others: other software may change these bits */
#define UPMU_ROW_SHARED (1u << 7)    /* other CPUs of bank->domain have this register, too */

/* upmu_bank.gates: where the enable bits of the counters are.  ANY: neither of the other two. */
enum upmu_gates {
    UPMU_GATES_ANY,
    UPMU_GATES_DENSE, /* all in one register, each at the bit that upmu_enable_bits() gives */
    UPMU_GATES_APART  /* each in the select of its counter, which belongs to no other counter */
};

/*
 * Begin a bank: all registers are unknown.  `safe`: a fault is harmless, so registers that CPUID does not promise may
 * be accessed.  `memory`: UPMU_BANK_WORDS() words for the number of rows of the PMU's table, which stay as long as the
 * bank.
 */
void upmu_bank_init(struct upmu_bank *bank, const struct upmu_pmu *pmu, const struct upmu_port *port, bool safe,
                    uint64_t *memory);

#if UPMU_UNCORE

/* Let the bank of a unit drive `boxes` boxes, which stand side by side in the list of units from *box on. */
void upmu_bank_reach(struct upmu_bank *bank, const struct upmu_unit_info *box, unsigned boxes);

/*
 * After upmu_bank_find(), on a unit: note that other software uses the counters `kept`, and stop all others but
 * free-running ones.  If `kept` is 0, boxes that have a reset are reset.  The found value of a register of several
 * boxes is the OR of their values.  So selects, filters, box control and enable register (UPMU_UNIT_GLOBAL) of several
 * boxes are left idle at the end, not restored; but selects and enable bits of `kept` and, if `kept` is not 0, filters
 * are left alone.  Returns false where a write faulted.
 */
bool upmu_bank_settle(struct upmu_bank *bank, uint32_t kept);

/*
 * Stop the counters of a unit that other software uses (bank->kept), and make them the library's.  Returns false where
 * a write faulted: bank->kept stays as it was.
 */
bool upmu_bank_unkeep(struct upmu_bank *bank);

#endif

/* Return the type of a unit's bank; NULL: the bank is a CPU's. */
static inline const struct upmu_unit_type *upmu_bank_type(const struct upmu_bank *bank)
{
#if UPMU_UNCORE
    return bank->type;
#else
    (void)bank;
    return NULL;
#endif
}

/*
 * Return the mask of a unit's counters whose counts lack an unknown part, as a box was gone or reset, since this was
 * noted last; of a CPU 0.
 */
static inline uint32_t upmu_bank_lacks(const struct upmu_bank *bank)
{
#if UPMU_UNCORE
    return bank->lacks;
#else
    (void)bank;
    return 0;
#endif
}

/*
 * Returns where accesses are counted now: in the numbers of local calls, or in those of a handler, which may have
 * interrupted an addition to the first ones.
 */
static inline struct upmu_accesses *upmu_bank_counted(struct upmu_bank *bank)
{
    return UPMU_SAMPLING ? bank->counted : &bank->accesses;
}

/*
 * Begin a dry run, right after upmu_bank_init(): *dry is emptied, writes are stored there from now on and not made, and
 * each register is believed to hold 0.
 */
void upmu_bank_pretend(struct upmu_bank *bank, struct upmu_dry_run *dry);

/* Make all registers unknown: their values were lost, or changed by other software.  Found values stay. */
void upmu_bank_forget(struct upmu_bank *bank);

void upmu_bank_forget_row(struct upmu_bank *bank, unsigned row);

/*
 * Drop the found value of the select of a counter that the host reserves: the host may change it.  The library's next
 * write of the register finds the value anew.  If the register has bits of several counters, nothing is dropped: this
 * counter's bits of the found value are read anew here.
 */
void upmu_bank_disown(struct upmu_bank *bank, unsigned counter);

/*
 * Take counters back that the host had reserved.  Their enable bits are cleared in the shadow, and their selects, gate
 * registers and auxiliary registers become unknown.  A counter that the host has stopped will not run after
 * upmu_bank_restore(), either (but for metrics, which share one enable bit).
 */
void upmu_bank_regain(struct upmu_bank *bank, uint32_t counters);

/* Note the address of a register that has faulted.  Returns false, as the function does that met the fault. */
static inline bool upmu_bank_note_fault(struct upmu_bank *bank, uint32_t address)
{
    bank->faulted = address;
    return false;
}

static inline bool upmu_bank_knows(const struct upmu_bank *bank, unsigned row)
{
    return bank->state[row] & UPMU_ROW_KNOWN;
}

/* Mark a register that other CPUs of bank->domain see, too. */
static inline void upmu_bank_share_row(struct upmu_bank *bank, unsigned row)
{
    bank->state[row] |= UPMU_ROW_SHARED;
}

/*
 * Forget the found value of a register: another owner restores or changes it.  Only a value that the next write finds
 * is restored at the end.
 */
static inline void upmu_bank_spare_row(struct upmu_bank *bank, unsigned row)
{
    bank->state[row] &= (uint8_t)~UPMU_ROW_FOUND;
}

/*
 * Begin a life of the bank's CPU or unit, with a number that no earlier life of the machine had: a program that was
 * loaded in an earlier life (upmu_program.seen) is compared anew.
 */
static inline void upmu_bank_begin_life(struct upmu_bank *bank, uint32_t life)
{
    bank->version += (uint64_t)life << 40;
}

/*
 * Make all registers unknown that other CPUs of bank->domain see.  `mine`: this bank is to restore the values that
 * these registers held before the first CPU of the domain took over; else another CPU restores them.
 */
void upmu_bank_inherit(struct upmu_bank *bank, bool mine);

/* The last CPU of the domain leaves: the domain forgets the found values, but for those that were not restored. */
void upmu_bank_leave(const struct upmu_bank *bank);

/*
 * At take-over: read each reachable register whose class has `found` set, and store its value in bank->found (unless
 * that has a value which is still to be restored) and, if the register has a shadow, there.  Ends at the first fault.
 */
bool upmu_bank_find(struct upmu_bank *bank);

/*
 * Load steps, which are in load order: close the counters in the guards of steps whose register holds another value,
 * then write these registers.  `opening`: counters that the caller's next upmu_bank_gate() opens (or, after a fault,
 * closes).  If the select of such a counter has its gate, the select is not written here but there, once.  `still`:
 * counters that are not closed.
 */
bool upmu_bank_load(struct upmu_bank *bank, const struct upmu_step *steps, unsigned count, uint32_t opening,
                    uint32_t still);

/*
 * The second half of upmu_bank_load(), after the close: write what differs, in load order.  Returns false where a
 * register faulted: *out_failed is the mask of the counters that the register concerns, and later steps are left out.
 */
bool upmu_bank_put(struct upmu_bank *bank, const struct upmu_step *steps, unsigned count, uint32_t opening,
                   uint32_t *out_failed);

/*
 * Write a register with its bits of `mask` as in `value` and the others as they were, also if nothing changes.  A
 * select that has the gate of a counter in `opening`, or is a unit's whose boxes run, gets only a shadow here:
 * upmu_bank_gate() writes it.
 */
bool upmu_bank_merge(struct upmu_bank *bank, unsigned row, uint64_t mask, uint64_t value, uint32_t opening);

/* Is a register known to hold what a step wants?  False for a step with bits that the hardware changes. */
bool upmu_bank_same(const struct upmu_bank *bank, const struct upmu_step *step);

/* Returns the guards of the steps that upmu_bank_same() is false of: the counters that a load would close. */
uint32_t upmu_bank_changes(const struct upmu_bank *bank, const struct upmu_step *steps, unsigned count);

/*
 * Close the counters that a prelude overwrites, and make its writes; the written registers are unknown then.  The
 * counters `keep` belong to other software, and are left alone.
 */
bool upmu_bank_prelude(struct upmu_bank *bank, const struct upmu_prelude *prelude, uint32_t keep);

/*
 * Open the gates of the counters `open` and close those of `close`, by one write for each register whose bits change.
 * Absent counters do not open.  A select that has its counter's gate gets its idle value at the close, also that of a
 * cascade's target, which only the hardware opens.  If the running handler has already stopped all counters of `close`
 * in a register (bank->stopped) and none opens there, only the shadow is changed.
 */
bool upmu_bank_gate(struct upmu_bank *bank, uint32_t open, uint32_t close);

/* Close those of `counters` whose gate is open or unknown.  No register is accessed if all are known to be closed. */
bool upmu_bank_close(struct upmu_bank *bank, uint32_t counters);

/* Store in bank->others which counters other software (the host, or foreign) has: it may change their registers. */
void upmu_bank_others(struct upmu_bank *bank, uint32_t counters);

/* Return those of `counters` whose gate is open by the shadow, or in a register that is unknown. */
uint32_t upmu_bank_open(const struct upmu_bank *bank, uint32_t counters);

/*
 * Return those of `counters` that are open and count user mode alone, on a PMU that says so by a bit of the select
 * (kernel_select) and if the library runs in kernel mode (upmu_port.in_kernel_mode).  These counters stand still while
 * the library runs, and may be written without a stop.
 */
uint32_t upmu_bank_still(const struct upmu_bank *bank, uint32_t counters);

/* Returns the counters that no call opens now, because their sessions belong to the other world. */
static inline uint32_t upmu_bank_absent(const struct upmu_bank *bank)
{
#if UPMU_WORLDS
    return bank->absent;
#else
    (void)bank;
    return 0;
#endif
}

/*
 * Read a counter by its register, not by RDPMC; a unit's counter in all of its boxes.  *out_value gets the bits that
 * the counter has; of a CPU's counter 0 after a fault.
 */
bool upmu_bank_read_register(struct upmu_bank *bank, unsigned counter, uint64_t *out_value);

/*
 * Read a counter, by RDPMC where the port has it and the counter can be read so, else by its register.  If RDPMC
 * faults, it is not used again.  A unit's value is the count of its boxes (upmu_box_count()), which *out_value gets
 * also where a box faulted.
 */
bool upmu_bank_read(struct upmu_bank *bank, unsigned counter, uint64_t *out_value);

#if UPMU_UNCORE

/*
 * Read a unit's counter as upmu_bank_read() does, where a count begins, and clear the counter's bit in bank->missed:
 * later reads set the bit if a box is gone.  Returns false if a box is gone now, or an access faulted.  *out_value gets
 * the sum of the boxes in either case.
 */
bool upmu_bank_begin(struct upmu_bank *bank, unsigned counter, uint64_t *out_value);

/*
 * After a box of a unit was reset, or gone: make the selects of these counters unknown, so that they are written again.
 * If no counter of the unit is open, so are its payload registers; if its boxes are frozen, so is box control.  The
 * counters are removed from bank->reset.
 */
void upmu_bank_unlearn(struct upmu_bank *bank, uint32_t counters);

#else

static inline bool upmu_bank_begin(struct upmu_bank *bank, unsigned counter, uint64_t *out_value)
{
    return upmu_bank_read(bank, counter, out_value);
}

#endif

/* Write a counter whose gate is closed, or that stands still.  Bits of `value` that a write cannot set are cut off. */
bool upmu_bank_write(struct upmu_bank *bank, unsigned counter, uint64_t value);

/* Read the register of a row, in the form of a shadow: a P6 select that counts has its enable bit, too. */
bool upmu_bank_read_row(struct upmu_bank *bank, unsigned row, uint64_t *out_value);

/* Does the select of a counter hold what the shadow says?  True also where it is unknown or its read faulted. */
bool upmu_bank_agrees(struct upmu_bank *bank, unsigned counter);

/*
 * Read each register that is known and has a found value, and compare the bits that are the library's with the shadow.
 * Selects that are put off, and write-only registers of units, are left out.  Returns the first row that differs, or
 * whose read faulted (*out_fault is true then); UPMU_NO_ROW: there is none.
 */
unsigned upmu_bank_verify(struct upmu_bank *bank, bool *out_fault);

/*
 * Close `counters`, and write back the found values of these counters and of all registers with a shadow.  Returns
 * false where a register faulted or a unit's box is gone: the faulted registers, or all of the unit's, keep their found
 * values for another attempt, or for the next life of the CPU.
 */
bool upmu_bank_restore(struct upmu_bank *bank, uint32_t counters);

#if UPMU_CLEAR

/*
 * Stop the PMU of a CPU, whatever it does: write 0 to each register of its table that can be written, gates first, and
 * acknowledge overflows.  Left alone are bits that upmu does not own (but for those of payload registers), bits of
 * counters in bank->others, and, if `alone` is false, registers that other CPUs see, too.  From now on the written
 * values are the found ones.  Returns false where a register faulted: bank->faulted is the address of the first one,
 * and all others were written.
 */
bool upmu_bank_clear(struct upmu_bank *bank, bool alone);

#endif

#if UPMU_UNCORE

/* Does bank->found of a unit have values that are still to be restored? */
bool upmu_bank_owes(const struct upmu_bank *bank);

#endif

/* In a dry run (upmu_bank_pretend()): list the write of `value` to a counter. */
void upmu_bank_list(struct upmu_bank *bank, unsigned counter, uint64_t value);

/*
 * Write `value` to the register of a row as it is.  A shadow is neither read nor changed, but for that of a unit's
 * counter: it gets the sum of the boxes' new counts.
 */
bool upmu_bank_command(struct upmu_bank *bank, unsigned row, uint64_t value);

#if UPMU_FOREIGN

/*
 * Acknowledge overflows of `counters` in the PMU's acknowledge register.  A PMU that has a status register and no such
 * register has the flags in the counters' selects: these are written.
 */
bool upmu_bank_acknowledge(struct upmu_bank *bank, uint32_t counters);

#else

static inline bool upmu_bank_acknowledge(struct upmu_bank *bank, uint32_t counters)
{
    const struct upmu_pmu *pmu = bank->pmu;

    return pmu->ack_row == UPMU_NO_ROW ||
           upmu_bank_command(bank, pmu->ack_row, pmu->backend->acknowledge(pmu, counters));
}

#endif

/* Read the register of a row as it is.  Not for a P6 select, whose value lacks the enable bit: upmu_bank_read_row(). */
bool upmu_bank_look(struct upmu_bank *bank, unsigned row, uint64_t *out_value);

#if UPMU_BRANCHES || UPMU_PRECISE

/*
 * Read or write a register of branch records, or that of the debug store area, by its address.  These registers have no
 * row in the table and no shadow: there are more of them than a table can have rows, and no event needs them.  Also in
 * an NMI: if it has interrupted a local call that counts an access, bank->accesses may lack this one.
 */
bool upmu_bank_read_address(struct upmu_bank *bank, uint32_t address, uint64_t *out_value);
bool upmu_bank_write_address(struct upmu_bank *bank, uint32_t address, uint64_t value);

#endif

/*
 * In a handler: upmu_bank_handler_close() stops `counters`; upmu_bank_handler_open() lets `counters` run again where
 * the shadow has them open, and stops the counters `keep_closed` that have their enable bits in the same registers.
 * The shadow stays as it is: bank->stopped has the counters that are stopped though the shadow has them open.  Any
 * other write of such a register by its shadow lets them run again, too.
 */
bool upmu_bank_handler_close(struct upmu_bank *bank, uint32_t counters);
bool upmu_bank_handler_open(struct upmu_bank *bank, uint32_t counters, uint32_t keep_closed);

/* Let counters that a handler has stopped stay closed: their sessions have left them meanwhile. */
static inline void upmu_bank_keep_closed(struct upmu_bank *bank, uint32_t counters)
{
    __atomic_fetch_and(&bank->stopped, ~counters, __ATOMIC_RELAXED);
}

/*
 * Return the enable bits that counters of *counters have in the register of a row, and remove these counters from
 * *counters.  Each counter is looked up in the PMU's table: upmu_bank_take_gates() calls this where the enable bits
 * have no simple order.
 */
uint64_t upmu_bank_take_each(const struct upmu_bank *bank, uint32_t *counters, unsigned row);

#endif
