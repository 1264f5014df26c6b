/* SPDX-License-Identifier: MIT */
/*
 * The shadow of one PMU's registers on one CPU, and their only writer.
 *
 * A change of configuration is upmu_bank_load() (close, load) followed by
 * upmu_bank_gate() (open); between the two the caller reads or loads counters.
 * A register fault leaves the gates concerned closed and the register unknown;
 * the address is in bank->faulted.
 */
#ifndef UPMU_CORE_BANK_H
#define UPMU_CORE_BANK_H

#include "core/hw/backend.h"
#include "core/hw/register.h"
#include <upmu/session.h>
#include <upmu/unit.h>

/* Bits of upmu_bank.state. */
#define UPMU_ROW_KNOWN (1u << 0)     /* the shadow is what the register holds */
#define UPMU_ROW_FOUND (1u << 1)     /* `found` is what it held before us */
#define UPMU_ROW_PUT_OFF (1u << 2)   /* the shadow is written with the gate */
#define UPMU_ROW_SHADOWED (1u << 3)  /* has a shadow: the others below imply it, but for UPMU_ROW_FOUND */
#define UPMU_ROW_REACHABLE (1u << 4) /* may be touched at all */
#define UPMU_ROW_MIXED (1u << 5)     /* has bits that are not ours, too */
#define UPMU_ROW_THEIRS (1u << 6)    /* has bits of counters of the host, which may change them */
#define UPMU_ROW_SHARED (1u << 7)    /* other CPUs of bank->domain see it, too */

/* upmu_bank.gates: where the enable bits of counters are. */
enum upmu_gates {
    UPMU_GATES_ANY,
    UPMU_GATES_DENSE, /* all in one register, in the order of upmu_enable_bits() */
    UPMU_GATES_APART  /* each in its counter's select */
};

/*
 * Begin with unknown registers.  `safe`: registers that CPUID does not promise may be accessed.  `memory`:
 * UPMU_BANK_WORDS() of the PMU's rows, which stay as long as the bank.
 */
void upmu_bank_init(struct upmu_bank *bank, const struct upmu_pmu *pmu, const struct upmu_port *port, bool safe,
                    uint64_t *memory);

#if UPMU_UNCORE

/* Make the bank that of so many boxes, which stand side by side. */
void upmu_bank_reach(struct upmu_bank *bank, const struct upmu_unit_info *box, unsigned boxes);

/*
 * After upmu_bank_find(): these counters of the boxes are in use by others.  Boxes that nothing uses are reset.
 * What several boxes held is not restored: they are left idle.
 */
bool upmu_bank_settle(struct upmu_bank *bank, uint32_t kept);

/* Stop the counters that others use, and keep them no more.  False: a write faulted, and all are kept. */
bool upmu_bank_unkeep(struct upmu_bank *bank);

#endif

/* The type of a unit, as its registers have it; NULL: the bank is a CPU's. */
static inline const struct upmu_unit_type *upmu_bank_type(const struct upmu_bank *bank)
{
#if UPMU_UNCORE
    return bank->type;
#else
    (void)bank;
    return NULL;
#endif
}

/* Counters of a unit of which an unknown part was not counted. */
static inline uint32_t upmu_bank_lacks(const struct upmu_bank *bank)
{
#if UPMU_UNCORE
    return bank->lacks;
#else
    (void)bank;
    return 0;
#endif
}

/* Accesses of the handler are counted apart: it may have interrupted an addition. */
static inline struct upmu_accesses *upmu_bank_counted(struct upmu_bank *bank)
{
    return UPMU_SAMPLING ? bank->counted : &bank->accesses;
}

/* From now on writes are listed in *dry, which is emptied, and registers hold 0. */
void upmu_bank_pretend(struct upmu_bank *bank, struct upmu_dry_run *dry);

/* All registers are unknown from now on (they were lost or changed by other software). */
void upmu_bank_forget(struct upmu_bank *bank);

void upmu_bank_forget_row(struct upmu_bank *bank, unsigned row);

/* The value that was found in the counter's select was the host's own, and is dropped.  The next write finds the
 * register anew; of a register that has bits of several counters, this counter's bits are read now. */
void upmu_bank_disown(struct upmu_bank *bank, unsigned counter);

/* Take counters back from another owner, closed: the shadow says so; all else about them is unknown. */
void upmu_bank_regain(struct upmu_bank *bank, uint32_t counters);

static inline bool upmu_bank_knows(const struct upmu_bank *bank, unsigned row)
{
    return bank->state[row] & UPMU_ROW_KNOWN;
}

/* Row is seen by other CPUs of the domain. */
static inline void upmu_bank_share_row(struct upmu_bank *bank, unsigned row)
{
    bank->state[row] |= UPMU_ROW_SHARED;
}

/*
 * Nothing is known of shared registers.  What they held before the first CPU becomes
 * this bank's to restore, or (`mine` false) is left to another CPU.
 */
void upmu_bank_inherit(struct upmu_bank *bank, bool mine);
/* The last CPU has gone: the domain knows only what shared registers hold that could not be restored. */
void upmu_bank_leave(const struct upmu_bank *bank);

/* Read and remember every register that exists and can be read at take-over; false: one faulted. */
bool upmu_bank_find(struct upmu_bank *bank);

/*
 * Close what must be closed and load what differs from what the registers hold, by steps in load order.  `opening`:
 * counters that the caller's next upmu_bank_gate() opens (or, if something fails, closes); where such a counter's
 * select register holds its gate, too, the select is written there, once.  `still`: counters that are not closed.
 */
bool upmu_bank_load(struct upmu_bank *bank, const struct upmu_step *steps, unsigned count, uint32_t opening,
                    uint32_t still);

/*
 * The second half of upmu_bank_load(): what differs is written, by steps in load order, and counters that it concerns
 * are closed.  False: the register of *out_failed faulted, and later steps are left out.
 */
bool upmu_bank_put(struct upmu_bank *bank, const struct upmu_step *steps, unsigned count, uint32_t opening,
                   uint32_t *out_failed);

/*
 * Give some bits of a register a value, whatever is known of it.  A select whose counter is among
 * `opening` and is its own gate is left to upmu_bank_gate().  False: it faulted.
 */
bool upmu_bank_merge(struct upmu_bank *bank, unsigned row, uint64_t mask, uint64_t value, uint32_t opening);

/* Does a register hold what a step wants, as far as is known, and has it no bits there that hardware changes? */
bool upmu_bank_same(const struct upmu_bank *bank, const struct upmu_step *step);

/* Which counters would a load of these steps concern? */
uint32_t upmu_bank_changes(const struct upmu_bank *bank, const struct upmu_step *steps, unsigned count);

/* Run a prelude; the gates are closed, but for those of the counters to `keep`, which are others'. */
bool upmu_bank_prelude(struct upmu_bank *bank, const struct upmu_prelude *prelude, uint32_t keep);

/*
 * Let gates fall and rise, but for those of absent counters; one write per gate register whose bits change.  A select
 * that holds its gate goes idle, also if only the overflow of another counter opens it.  A handler that has stopped the
 * counters already (bank->stopped) closes them without a write.
 */
bool upmu_bank_gate(struct upmu_bank *bank, uint32_t open, uint32_t close);

/*
 * Close those of `counters` that are open or, as their gate is unknown, may be: no
 * access if all are known to be closed.
 */
bool upmu_bank_close(struct upmu_bank *bank, uint32_t counters);

/* Counters that are the host's from now on: the host may change their registers. */
void upmu_bank_others(struct upmu_bank *bank, uint32_t counters);

/* Counters among `counters` whose gate is open, by the shadow, or unknown. */
uint32_t upmu_bank_open(const struct upmu_bank *bank, uint32_t counters);

/*
 * Of `counters`, those that run, but stand still while the library does, as they count
 * user mode alone, and may be written meanwhile (upmu_port.in_kernel_mode).
 */
uint32_t upmu_bank_still(const struct upmu_bank *bank, uint32_t counters);

/* Counters that no call opens now: sessions of the other world have them. */
static inline uint32_t upmu_bank_absent(const struct upmu_bank *bank)
{
#if UPMU_WORLDS
    return bank->absent;
#else
    (void)bank;
    return 0;
#endif
}

/* Read a counter by its register, or of a unit. */
bool upmu_bank_read_register(struct upmu_bank *bank, unsigned counter, uint64_t *out_value);

/*
 * Read a counter, by RDPMC where there is one.  Of a unit: the count of its boxes (upmu_box_count()), *out_value also
 * if a box faulted.
 */
bool upmu_bank_read(struct upmu_bank *bank, unsigned counter, uint64_t *out_value);

#if UPMU_UNCORE

/* As upmu_bank_read(), at the begin of a count on a unit: false if not all boxes answer. */
bool upmu_bank_begin(struct upmu_bank *bank, unsigned counter, uint64_t *out_value);

/* A box was reset, or gone: what selects the events of these counters is written again before they run. */
void upmu_bank_unlearn(struct upmu_bank *bank, uint32_t counters);

#else

static inline bool upmu_bank_begin(struct upmu_bank *bank, unsigned counter, uint64_t *out_value)
{
    return upmu_bank_read(bank, counter, out_value);
}

#endif

/* Write a counter whose gate is closed, or that stands still. */
bool upmu_bank_write(struct upmu_bank *bank, unsigned counter, uint64_t value);

/* Read any row. */
bool upmu_bank_read_row(struct upmu_bank *bank, unsigned row, uint64_t *out_value);

/* Is what the shadow says of a counter's event what its select register holds, as far as it is known? */
bool upmu_bank_agrees(struct upmu_bank *bank, unsigned counter);

/* Read owned rows back; UPMU_NO_ROW: all agree.  *out_fault: a read faulted. */
unsigned upmu_bank_verify(struct upmu_bank *bank, bool *out_fault);

/*
 * Write back what upmu_bank_find() and first writes found; `counters`: values, too.  False: what
 * faulted, or all of a unit of which a box is gone, is left for another attempt, or for the next life of the CPU.
 */
bool upmu_bank_restore(struct upmu_bank *bank, uint32_t counters);

#if UPMU_UNCORE

/* Of a unit: is something left to be restored? */
bool upmu_bank_owes(const struct upmu_bank *bank);

#endif

/* List the write of a counter (upmu_bank_pretend()). */
void upmu_bank_list(struct upmu_bank *bank, unsigned counter, uint64_t value);

/* Write a register that has no shadow, nor a gate that it lacks. */
bool upmu_bank_command(struct upmu_bank *bank, unsigned row, uint64_t value);

#if UPMU_FOREIGN

/* Acknowledge overflows: in the register for it or, if the status is all there is, in their selects. */
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
 * Registers without a row or a shadow, by their address: those of branch records.  They are more than a table has rows.
 * Also in an NMI: an access that interrupts a local call may be left out of bank->accesses.
 */
bool upmu_bank_read_address(struct upmu_bank *bank, uint32_t address, uint64_t *out_value);
bool upmu_bank_write_address(struct upmu_bank *bank, uint32_t address, uint64_t value);

#endif

/*
 * Stop counters (bank->stopped), and bring them to what the shadow says again: the shadow stays as it is.  Each write
 * of their registers starts them again, too.
 */
bool upmu_bank_handler_close(struct upmu_bank *bank, uint32_t counters);
bool upmu_bank_handler_open(struct upmu_bank *bank, uint32_t counters, uint32_t keep_closed);

/* upmu_bank_take_gates() of core/hw/bank_inline.h, counter by counter. */
uint64_t upmu_bank_take_each(const struct upmu_bank *bank, uint32_t *counters, unsigned row);

#endif
