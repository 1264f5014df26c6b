/* SPDX-License-Identifier: MIT */
/*
 * The host of the tests of units: a machine of the silicon model with all its CPUs taken over and its units
 * found, and what the test needs to move a unit's events without looking at the library.
 */
#ifndef UPMU_TESTS_UNIT_ENGINE_UNCORE_HOST_H
#define UPMU_TESTS_UNIT_ENGINE_UNCORE_HOST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/common/assertions.h"

#include "models/sim/sim_uncore.h"
#include <upmu/unit.h>
#include <upmu/upmu.h>

#define HOST_UNITS 4
#define HOST_SESSIONS 6

struct uncore_host {
    struct upmu_sim sim;
    struct upmu_sim_uncore uncore;
    struct upmu_machine machine;
    struct upmu_cpu cpu[UPMU_SIM_CPUS];
    struct upmu_unit_list list;
    struct upmu_unit_info info[UPMU_SIM_UNITS];
    struct upmu_uncore_pmu pmu[UPMU_UNIT_TYPES];
    struct upmu_unit unit[HOST_UNITS];
    struct upmu_session session[HOST_SESSIONS];
};

/* The model alone: hooks may be changed, counters poked. */
static inline void uncore_prepare(struct uncore_host *host, const char *machine)
{
    memset(host, 0, sizeof *host);
    upmu_sim_uncore_init(&host->uncore, &host->sim, upmu_sim_machine(machine));
    host->list.unit = host->info;
    host->list.unit_capacity = UPMU_SIM_UNITS;
    host->list.pmu = host->pmu;
    host->list.pmu_capacity = UPMU_UNIT_TYPES;
}

/* CPUs from `first` on that are so many; the last one executes. */
static inline void uncore_take_over(struct uncore_host *host, unsigned first, unsigned count)
{
    for (unsigned i = first; i < first + count && i < host->sim.cpus; i++) {
        upmu_sim_switch_cpu(&host->sim, i);
        upmu_sim_bind_cpu(&host->sim, i, &host->cpu[i]);
        upmu_sim_irqs(&host->sim, false);
        assert_int_equal(upmu_cpu_init(&host->cpu[i], &host->machine, NULL), UPMU_OK, i);
        upmu_sim_irqs(&host->sim, true);
    }
}

/* Every CPU looks, as AMD's core complexes have units of their own. */
static inline void uncore_find(struct uncore_host *host)
{
    for (unsigned i = 0; i < host->sim.cpus; i++) {
        upmu_sim_switch_cpu(&host->sim, i);
        upmu_sim_irqs(&host->sim, false);
        assert_int_equal(upmu_units_find(&host->cpu[i], &host->list, 0), UPMU_OK, i);
        upmu_sim_irqs(&host->sim, true);
    }
    upmu_sim_switch_cpu(&host->sim, 0);
}

static inline void uncore_set_up(struct uncore_host *host, const char *machine)
{
    uncore_prepare(host, machine);
    assert_int_equal(upmu_machine_init(&host->machine, upmu_sim_port(&host->sim)), UPMU_OK);
    uncore_take_over(host, 0, host->sim.cpus);
    uncore_find(host);
}

/* Die of the machine that the library says a box is on. */
static inline unsigned uncore_die(const struct uncore_host *host, const struct upmu_unit_info *info)
{
    return (unsigned)info->package * host->uncore.machine->dies + info->die;
}

static inline const char *uncore_type(const struct uncore_host *host, const struct upmu_unit_info *info)
{
    return host->list.pmu[info->type].type->name;
}

/* The model's box that a library's box is, or NULL. */
static inline struct upmu_sim_unit *uncore_box(struct uncore_host *host, const struct upmu_unit_info *info)
{
    for (unsigned i = 0; i < host->uncore.units; i++) {
        struct upmu_sim_unit *unit = &host->uncore.unit[i];

        if (!unit->absent && unit->die == uncore_die(host, info) && unit->number == info->number &&
            strcmp(unit->type->name, uncore_type(host, info)) == 0)
            return unit;
    }
    return NULL;
}

/* The library's box of a model's box, or NULL. */
static inline const struct upmu_unit_info *uncore_info(struct uncore_host *host, const struct upmu_sim_unit *unit)
{
    for (unsigned i = 0; i < host->list.unit_count; i++) {
        if (uncore_box(host, &host->list.unit[i]) == unit)
            return &host->list.unit[i];
    }
    return NULL;
}

/* A CPU of the die (of AMD's L3: of the core complex) of this box; the which-th of them. */
static inline unsigned uncore_cpu_of(const struct uncore_host *host, const struct upmu_sim_unit *unit, unsigned which)
{
    for (unsigned i = 0; i < host->sim.cpus; i++) {
        const struct upmu_sim_place *place = &host->uncore.place[i];
        bool here = unit->type->quirks & UPMU_SIM_QUIRK_LLC ? place->llc == unit->llc : place->die == unit->die;

        if (here && which-- == 0)
            return i;
    }
    return host->sim.cpus;
}

/*
 * The counters of a type that the library uses.  Sources disagree about Haswell's IRP but for its first counter, and
 * about the step of selects of Sapphire Rapids' M3UPI.
 */
static inline unsigned uncore_counters(const struct upmu_sim_unit_type *type)
{
    bool disputed = strcmp(type->name, "irp") == 0 && type->space == UPMU_SIM_SPACE_PCI;

    disputed = disputed || (strcmp(type->name, "m3upi") == 0 && type->style == UPMU_SIM_UNIT_LIVE);
    return disputed ? 1 : type->counters;
}

/* ---- Raw events that each type has, and what makes them happen ---- */

/* The configuration of the n-th event: all of one type differ, and any counter counts them. */
static inline uint64_t uncore_config(const struct upmu_sim_unit_type *type, unsigned n)
{
    uint64_t config = 0x60 + n; /* no list ties these codes to counters */

    if (type->style == UPMU_SIM_UNIT_FREE) {
        unsigned group = 0;

        if (type->bits == 32) /* the old client's: reads, writes, graphics, cores, I/O */
            return 1 + n;
        if (strcmp(type->name, "chipsensor") == 0) /* the host's own */
            return n;
        while (n >= type->free[group].count)
            n -= type->free[group++].count;
        return 0xff | (uint64_t)(0x10 * (group + 1) + n) << 8;
    }
    if (type->layout == UPMU_SIM_LAYOUT_INTEL && type->name[0] == 'p') /* pcu: no unit mask */
        return 0x60 + n;
    if (type->layout == UPMU_SIM_LAYOUT_AMD_L3)
        config |= UINT64_C(0xff0f) << 48;
    if (type->layout == UPMU_SIM_LAYOUT_AMD_19)
        config |= UINT64_C(3) << 56 | UINT64_C(3) << 46;
    if (type->select_bits >> 8 & 1)
        config |= 0x100;
    return config;
}

static inline void uncore_happen(struct uncore_host *host, struct upmu_sim_unit *unit, unsigned n, uint64_t count)
{
    uint64_t config = uncore_config(unit->type, n);
    const struct upmu_sim_happening happening = {
        .count = count, .event = (uint16_t)(config & 0xff), .umask = (uint16_t)(config >> 8 & 0xff)};

    if (unit->type->style == UPMU_SIM_UNIT_FREE)
        upmu_sim_flow(&host->uncore, unit, n, count);
    else
        upmu_sim_happen(&host->uncore, unit, &happening);
}

/* "imc/raw:config=0x160" */
static inline const char *uncore_spec(const struct upmu_sim_unit_type *type, unsigned n, char text[96])
{
    snprintf(text, 96, "%s/raw:config=0x%llx", type->name, (unsigned long long)uncore_config(type, n));
    return text;
}

/* ---- Sessions ---- */

static inline uint64_t uncore_value(struct upmu_session *session, unsigned index)
{
    struct upmu_count count;

    assert_int_equal(upmu_set_read(&session->set, index, 1, &count), UPMU_OK);
    return count.value;
}

/* Raw events of a type, from the first-th on, in one session; what is refused is printed. */
static inline enum upmu_status uncore_add(struct uncore_host *host, unsigned session,
                                          const struct upmu_sim_unit_type *type, unsigned first, unsigned events)
{
    enum upmu_status status = upmu_session_init(&host->session[session], &host->machine);
    char text[96];

    for (unsigned i = 0; i < events && status == UPMU_OK; i++)
        status = upmu_set_add(&host->session[session].set, uncore_spec(type, first + i, text), NULL);
    if (status != UPMU_OK)
        print_error("%s: %s: %s\n", host->uncore.machine->name, text, upmu_status_text(status));
    return status;
}

static inline void uncore_no_violation(const struct uncore_host *host)
{
    if (host->sim.violation_count != 0)
        print_error("%u violations, the first: %s (%x, %llx)\n", host->sim.violation_count,
                    host->sim.first_violation.text, host->sim.first_violation.address,
                    (unsigned long long)host->sim.first_violation.value);
    assert_int_equal(host->sim.violation_count, 0);
}

#endif
