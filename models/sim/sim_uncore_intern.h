/* SPDX-License-Identifier: MIT */
/*
 * Functions shared by the model's files about uncore units.
 *
 *   sim_uncore_init.c      machines are set up: dies, CPUs, boxes
 *   sim_uncore.c           machines at work: MSRs, global registers, CPUID
 *   sim_uncore_box.c       a box's registers: where they are, what reads and writes do
 *   sim_uncore_count.c     what makes its counters count
 *   sim_uncore_traffic.c   which events a load (struct upmu_sim_load) makes happen
 *   sim_uncore_bus.c       configuration space, memory, discovery tables
 *   sim_uncore_types.c     what boxes look like
 *   sim_uncore_machines.c  which machines
 *   sim_uncore_port.c      hooks with the library's types: places of CPUs, the host's own devices
 */
#ifndef UPMU_SIM_UNCORE_INTERN_H
#define UPMU_SIM_UNCORE_INTERN_H

#include "models/sim/sim_intern.h"
#include "models/sim/sim_uncore_types.h"

#define SU_RESET_BIT 17u
#define SU_OVERFLOW_BIT 20u

/* The kind of a box's register; SU_GLOBAL_COPY: the second box control of ADL's IMC (upmu_sim_unit_type.global). */
enum su_kind {
    SU_NOTHING,
    SU_CONTROL,
    SU_GLOBAL_COPY,
    SU_SELECT,
    SU_COUNTER,
    SU_STATUS,
    SU_FILTER
};

struct su_register {
    enum su_kind kind;
    unsigned index; /* of SU_SELECT, SU_COUNTER: the counter (fixed: type->counters); SU_FILTER: the filter */
    bool high;      /* the offset is that of the register's high dword */
    bool wide;      /* the register is in memory and has 64 bits */
};

/*
 * sim_uncore_box.c: find the register at an offset: an MSR number less the box's base, an offset in the PCI function,
 * or bytes from the box's physical address.
 */

struct su_register upmu_sim_uncore_box_find(const struct upmu_sim_unit *unit, uint32_t offset);

/* Return the whole value of a register, of both dwords, whatever at.high is; 0 for SU_NOTHING. */
uint64_t upmu_sim_uncore_box_read(const struct upmu_sim_uncore *u, struct upmu_sim_unit *unit, struct su_register at);

/* Write `bits` bits of a register: 32 (the half that `at.high` says) or 64. False: #GP. */
bool upmu_sim_uncore_box_write(struct upmu_sim_uncore *u, struct upmu_sim_unit *unit, struct su_register at,
                               unsigned bits, uint64_t value);

/* Set selects, counters and control of a box to 0. */
void upmu_sim_uncore_box_reset(struct upmu_sim_uncore *u, struct upmu_sim_unit *unit);

/* sim_uncore_count.c */

bool upmu_sim_uncore_count_enabled(const struct upmu_sim_uncore *u, const struct upmu_sim_unit *unit, unsigned counter,
                                   uint64_t select);
/* Does any counter of the unit run that other software uses (upmu_sim_stranger())? */
bool upmu_sim_uncore_count_stranger(const struct upmu_sim_uncore *u, const struct upmu_sim_unit *unit);

/* sim_uncore_bus.c */

void upmu_sim_uncore_bus_fill(struct upmu_sim_uncore *u, struct upmu_port *port);

/* sim_uncore.c */

static inline bool su_on(const struct upmu_sim_uncore *u, enum upmu_sim_rule_id rule)
{
    return sim_on(u->sim, rule);
}

static inline unsigned su_dies(const struct upmu_sim_machine *machine)
{
    return (unsigned)machine->packages * machine->dies;
}

static inline unsigned su_threads(const struct upmu_sim_machine *machine)
{
    return machine->threads != 0 ? machine->threads : 1u;
}

static inline unsigned su_package(const struct upmu_sim_uncore *u, unsigned die)
{
    return die / u->machine->dies;
}

/*
 * Note an access to a register of a unit: its time passes, and it is counted. Violations: an MSR of an excluded die; a
 * write by another CPU than the last one that wrote to the unit.
 */
void upmu_sim_uncore_touch(struct upmu_sim_uncore *u, struct upmu_sim_unit *unit, uint32_t address, bool writes);

#endif
