/* SPDX-License-Identifier: MIT */
/*
 * The bank: the shadow of one PMU's registers on one CPU, and their only writer.
 *
 * A change of configuration is upmu_bank_load() (close, load) followed by upmu_bank_gate() (open); between the two the
 * caller reads or loads counters.  A register fault leaves the gates concerned closed and the register unknown; the
 * address is in bank->faulted.  Functions that access registers return false where one faulted.
 */
#ifndef UPMU_CORE_BANK_H
#define UPMU_CORE_BANK_H

#include "core/hw/backend.h"
#include "core/hw/register.h"
#include <upmu/session.h>
#include <upmu/unit.h>

/* Bits of upmu_bank.state, about one register. */
#define UPMU_ROW_KNOWN (1u << 0)     /* the shadow is what the register holds */
#define UPMU_ROW_FOUND (1u << 1)     /* bank->found has the value before upmu's first write */
#define UPMU_ROW_PUT_OFF (1u << 2)   /* its shadow is written later, with the gate */
#define UPMU_ROW_SHADOWED (1u << 3)  /* has a shadow: UPMU_ROW_KNOWN and UPMU_ROW_PUT_OFF imply it */
#define UPMU_ROW_REACHABLE (1u << 4) /* may be accessed at all */
#define UPMU_ROW_MIXED (1u << 5)     /* has bits that upmu does not own */
#define UPMU_ROW_THEIRS (1u << 6)    /* has bits of counters of the host, which may change them */
#define UPMU_ROW_SHARED (1u << 7)    /* other CPUs of bank->domain see this register, too */

/* upmu_bank.gates: where the enable bits of counters are. */
enum upmu_gates {
    UPMU_GATES_ANY,
    UPMU_GATES_DENSE, /* all in one register, in the order of upmu_enable_bits() */
    UPMU_GATES_APART  /* each in its counter's select */
};

/*
 * Begin a bank: all registers are unknown.  `safe`: registers that CPUID does not promise may be accessed.  `memory`:
 * UPMU_BANK_WORDS() of the PMU's rows, which stay as long as the bank.
 */
void upmu_bank_init(struct upmu_bank *bank, const struct upmu_pmu *pmu, const struct upmu_port *port, bool safe,
                    uint64_t *memory);

#if UPMU_UNCORE

/* Let the bank of a unit drive `boxes` boxes, which stand side by side in the list. */
void upmu_bank_reach(struct upmu_bank *bank, const struct upmu_unit_info *box, unsigned boxes);

/*
 * After upmu_bank_find(): note that others use the counters `kept` of the boxes.  Boxes that nothing uses are reset.
 * Values that several boxes held are not restored: these registers are left idle at the end.
 */
bool upmu_bank_settle(struct upmu_bank *bank, uint32_t kept);

/* Stop the counters that others use, and give them to upmu.  Returns false where a write faulted: they are all kept. */
bool upmu_bank_unkeep(struct upmu_bank *bank);

#endif

/* The type of a unit, or NULL: the bank is a CPU's. */
static inline const struct upmu_unit_type *upmu_bank_type(const struct upmu_bank *bank)
{
#if UPMU_UNCORE
    return bank->type;
#else
    (void)bank;
    return NULL;
#endif
}

/* Returns the counters of a unit of which an unknown part was not counted, as a box was gone or reset. */
static inline uint32_t upmu_bank_lacks(const struct upmu_bank *bank)
{
#if UPMU_UNCORE
    return bank->lacks;
#else
    (void)bank;
    return 0;
#endif
}

/* The accesses that are counted now: a handler has a number of its own, as it may have interrupted an addition. */
static inline struct upmu_accesses *upmu_bank_counted(struct upmu_bank *bank)
{
    return UPMU_SAMPLING ? bank->counted : &bank->accesses;
}

/* Begin a dry run: from now on writes are listed in *dry, which is emptied, and registers hold 0. */
void upmu_bank_pretend(struct upmu_bank *bank, struct upmu_dry_run *dry);

/* Make all registers unknown: they were lost, or changed by other software. */
void upmu_bank_forget(struct upmu_bank *bank);

void upmu_bank_forget_row(struct upmu_bank *bank, unsigned row);

/*
 * Drop the found value of a counter's select, which is the host's own.  The next write of the register finds it anew.
 * If the register has bits of several counters, this counter's bits are read now instead.
 */
void upmu_bank_disown(struct upmu_bank *bank, unsigned counter);

/* Take counters back from another owner.  The shadow says that they are closed; else their registers are unknown. */
void upmu_bank_regain(struct upmu_bank *bank, uint32_t counters);

static inline bool upmu_bank_knows(const struct upmu_bank *bank, unsigned row)
{
    return bank->state[row] & UPMU_ROW_KNOWN;
}

/* Note that other CPUs of the domain see a register, too. */
static inline void upmu_bank_share_row(struct upmu_bank *bank, unsigned row)
{
    bank->state[row] |= UPMU_ROW_SHARED;
}

/*
 * Make all shared registers unknown.  The values that they held before the first CPU are this bank's to restore if
 * `mine`; else another CPU restores them.
 */
void upmu_bank_inherit(struct upmu_bank *bank, bool mine);
/* The last CPU of a domain leaves: the domain keeps only the found values that could not be restored. */
void upmu_bank_leave(const struct upmu_bank *bank);

/* At take-over: read each register that exists and can be read, and remember its value as `found`. */
bool upmu_bank_find(struct upmu_bank *bank);

/*
 * Load steps, which are in load order: close the counters that a differing register concerns, and write what differs.
 * `opening`: counters that the caller's next upmu_bank_gate() opens (or, after a fault, closes); if such a counter's
 * select has its gate, the select is written there, once.  `still`: counters that are not closed.
 */
bool upmu_bank_load(struct upmu_bank *bank, const struct upmu_step *steps, unsigned count, uint32_t opening,
                    uint32_t still);

/*
 * The second half of upmu_bank_load(), after the close: write what differs, in load order.  Returns false where a
 * register faulted: *out_failed are the counters that it concerns, and later steps are left out.
 */
bool upmu_bank_put(struct upmu_bank *bank, const struct upmu_step *steps, unsigned count, uint32_t opening,
                   uint32_t *out_failed);

/*
 * Give some bits of a register a value, whatever is known of the register.  A select whose counter is among `opening`,
 * and which has that counter's gate, is left to upmu_bank_gate().
 */
bool upmu_bank_merge(struct upmu_bank *bank, unsigned row, uint64_t mask, uint64_t value, uint32_t opening);

/* Is it known that a register holds what a step wants, in bits that hardware does not change? */
bool upmu_bank_same(const struct upmu_bank *bank, const struct upmu_step *step);

/* Returns the counters that a load of these steps would concern. */
uint32_t upmu_bank_changes(const struct upmu_bank *bank, const struct upmu_step *steps, unsigned count);

/* Run a prelude, with the gates of its counters closed.  The counters `keep` belong to others: they are left alone. */
bool upmu_bank_prelude(struct upmu_bank *bank, const struct upmu_prelude *prelude, uint32_t keep);

/*
 * Open and close gates, by one write for each register whose bits change.  Absent counters do not open.  A select that
 * has its counter's gate gets its idle value at the close, also that of a cascade's target, which only the hardware
 * opens.  Counters that the running handler has stopped already (bank->stopped) are closed without a write.
 */
bool upmu_bank_gate(struct upmu_bank *bank, uint32_t open, uint32_t close);

/* Close those of `counters` whose gate is open or unknown.  No access is made if all are known to be closed. */
bool upmu_bank_close(struct upmu_bank *bank, uint32_t counters);

/* Note all counters that are the host's: the host may change their registers at any time. */
void upmu_bank_others(struct upmu_bank *bank, uint32_t counters);

/* Returns those of `counters` whose gate is open by the shadow, or unknown. */
uint32_t upmu_bank_open(const struct upmu_bank *bank, uint32_t counters);

/*
 * Returns those of `counters` that run but stand still while the library does, because they count user mode alone: they
 * may be written without a stop (upmu_port.in_kernel_mode).
 */
uint32_t upmu_bank_still(const struct upmu_bank *bank, uint32_t counters);

/* Counters that no call opens now, because their sessions belong to the other world. */
static inline uint32_t upmu_bank_absent(const struct upmu_bank *bank)
{
#if UPMU_WORLDS
    return bank->absent;
#else
    (void)bank;
    return 0;
#endif
}

/* Read a counter by its register, not by RDPMC; a unit's counter by its boxes. */
bool upmu_bank_read_register(struct upmu_bank *bank, unsigned counter, uint64_t *out_value);

/*
 * Read a counter, by RDPMC where there is one.  A unit's value is the count of its boxes (upmu_box_count()), in
 * *out_value also where a box faulted.
 */
bool upmu_bank_read(struct upmu_bank *bank, unsigned counter, uint64_t *out_value);

#if UPMU_UNCORE

/* As upmu_bank_read(), at the begin of a count on a unit.  Returns false unless all boxes answer. */
bool upmu_bank_begin(struct upmu_bank *bank, unsigned counter, uint64_t *out_value);

/*
 * A box was reset, or gone: make the registers unknown that select the events of these counters, so that they are
 * written again.
 */
void upmu_bank_unlearn(struct upmu_bank *bank, uint32_t counters);

#else

static inline bool upmu_bank_begin(struct upmu_bank *bank, unsigned counter, uint64_t *out_value)
{
    return upmu_bank_read(bank, counter, out_value);
}

#endif

/* Write a counter whose gate is closed, or that stands still. */
bool upmu_bank_write(struct upmu_bank *bank, unsigned counter, uint64_t value);

/* Read the register of any row. */
bool upmu_bank_read_row(struct upmu_bank *bank, unsigned row, uint64_t *out_value);

/* Does the select of a counter hold what the shadow says?  True also where that is unknown. */
bool upmu_bank_agrees(struct upmu_bank *bank, unsigned counter);

/*
 * Compare the owned bits of all registers with the shadow.  Returns the first row that differs, or UPMU_NO_ROW.
 * *out_fault: the row could not be read.
 */
unsigned upmu_bank_verify(struct upmu_bank *bank, bool *out_fault);

/*
 * Write back the found values of all registers, and of the values of `counters`.  Returns false where a register
 * faulted, or a unit's box is gone: these (or all of the unit's) are left for another attempt, or for the next life of
 * the CPU.
 */
bool upmu_bank_restore(struct upmu_bank *bank, uint32_t counters);

#if UPMU_CLEAR

/*
 * Stop the PMU of a CPU, whatever it does: write 0 to each register of its table that can be written, gates first, and
 * acknowledge overflows.  Left alone: bits that upmu does not own, what belongs to counters of bank->others, and, if
 * not `alone`, registers that other CPUs see, too.  The values written are the found ones from now on.  Returns false
 * where a register faulted: bank->faulted is the first one, and all others were written.
 */
bool upmu_bank_clear(struct upmu_bank *bank, bool alone);

#endif

#if UPMU_UNCORE

/* Has a unit found values that are still to be restored? */
bool upmu_bank_owes(const struct upmu_bank *bank);

#endif

/* List the write of a counter (upmu_bank_pretend()). */
void upmu_bank_list(struct upmu_bank *bank, unsigned counter, uint64_t value);

/* Write a register that has no shadow, and no gate that is a bit of the shadow alone (P6). */
bool upmu_bank_command(struct upmu_bank *bank, unsigned row, uint64_t value);

#if UPMU_FOREIGN

/*
 * Acknowledge overflows of these counters: in the PMU's register for it or, where it has only a status, in their
 * selects.
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

/* Read a register that is no select. */
bool upmu_bank_look(struct upmu_bank *bank, unsigned row, uint64_t *out_value);

#if UPMU_BRANCHES

/*
 * Read or write a register of branch records by its address: these registers have no row and no shadow, as they are
 * more than a table can have rows.  Also in an NMI: an access that interrupts a local call may be missing in
 * bank->accesses.
 */
bool upmu_bank_read_address(struct upmu_bank *bank, uint32_t address, uint64_t *out_value);
bool upmu_bank_write_address(struct upmu_bank *bank, uint32_t address, uint64_t value);

#endif

/*
 * Stop counters in a handler (bank->stopped), or let them run again as the shadow says; the shadow stays as it is.  Any
 * other write of their registers starts them again, too.  `keep_closed`: counters that are stopped by the same write.
 */
bool upmu_bank_handler_close(struct upmu_bank *bank, uint32_t counters);
bool upmu_bank_handler_open(struct upmu_bank *bank, uint32_t counters, uint32_t keep_closed);

/*
 * Return the enable bits that counters of *counters have in a register (a row), and remove these counters from
 * *counters.  Each counter is looked up: for upmu_bank_take_gates(), where the bits have no simple order.
 */
uint64_t upmu_bank_take_each(const struct upmu_bank *bank, uint32_t *counters, unsigned row);

#endif
