/* SPDX-License-Identifier: MIT */
/*
 * What units count of memory traffic (struct upmu_sim_load): look-ups in the last-level cache, lines read from and
 * written to memory. Codes: Intel's event files (CAS_COUNT, LLC_LOOKUP, TOR_INSERTS, LLC_HITS); Linux amdzen2, amdzen4
 * (data fabric, L3, UMC). Also what a burst adds to readings of its CPU: APERF counts cycles, MPERF those of the TSC's
 * frequency (SDM vol 3 14.2), PPERF cycles, of which none stalls here; and 1/1024 of the cycles to the energy of the
 * package, which is made up.
 */
#include "models/sim/sim_uncore_intern.h"

enum su_what { SU_READS, SU_WRITES, SU_LOOKUPS, SU_HITS, SU_MISSES };

/* A row says that an event of a machine's units, or a free-running counter of theirs, counts one part of a load. */
struct su_traffic {
    const char *machine;
    const char *type;
    uint8_t what;
    uint16_t event; /* event code; of a free-running unit, number of the counter */
    uint16_t umask;
    bool exact; /* a select must have this unit mask; false: one common bit is enough */
};

/* clang-format off */
static const struct su_traffic su_traffic[] = {
    {"nhm", "uncore", SU_HITS, 0x08, 0x01, false}, {"nhm", "uncore", SU_MISSES, 0x09, 0x01, false},
    {"snb", "imc", SU_READS, 0, 0, false}, {"snb", "imc", SU_WRITES, 1, 0, false},
    {"skx2", "imc", SU_READS, 0x04, 0x01, false}, {"skx2", "imc", SU_WRITES, 0x04, 0x04, false},
    {"skx2", "cha", SU_LOOKUPS, 0x34, 0x12, false}, {"skx2", "cha", SU_LOOKUPS, 0x35, 0x31, true},
    {"skx2", "cha", SU_HITS, 0x35, 0x11, true}, {"skx2", "cha", SU_MISSES, 0x35, 0x21, true},
    {"hsx2", "imc", SU_READS, 0x04, 0x01, false}, {"hsx2", "imc", SU_WRITES, 0x04, 0x04, false},
    {"hsx2", "cbox", SU_LOOKUPS, 0x34, 0x12, false},
    {"bdx2", "imc", SU_READS, 0x04, 0x01, false}, {"bdx2", "imc", SU_WRITES, 0x04, 0x04, false},
    {"bdx2", "cbox", SU_LOOKUPS, 0x34, 0x12, false},
    {"knl1", "imc", SU_READS, 0x03, 0x01, false}, {"knl1", "imc", SU_WRITES, 0x03, 0x02, false},
    {"icx", "imc", SU_READS, 0x04, 0x01, false}, {"icx", "imc", SU_WRITES, 0x04, 0x10, false},
    {"spr", "imc", SU_READS, 0x05, 0x01, false}, {"spr", "imc", SU_WRITES, 0x05, 0x10, false},
    {"emr", "imc", SU_READS, 0x05, 0x01, false}, {"emr", "imc", SU_WRITES, 0x05, 0x10, false},
    {"adl", "imc_free_running", SU_READS, 0, 0, false}, {"adl", "imc_free_running", SU_WRITES, 0, 0, false},
    {"adl", "imc_free_running", SU_READS, 1, 0, false}, {"adl", "imc_free_running", SU_WRITES, 2, 0, false},
    {"zen2", "df", SU_READS, 0x07, 0x38, false}, {"zen2", "l3", SU_HITS, 0x04, 0xfe, false},
    {"zen2", "l3", SU_MISSES, 0x04, 0x01, false},
    {"zen4", "umc", SU_READS, 0x0a, 0x01, false}, {"zen4", "umc", SU_WRITES, 0x0a, 0x02, false},
    {"zen4", "l3", SU_HITS, 0x04, 0xfe, false}, {"zen4", "l3", SU_MISSES, 0x04, 0x01, false},
};
/* clang-format on */

static bool su_is(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

/* Return how many boxes of a row's type are present on the die; *out_unit: the box with index `which` among these. */
static unsigned su_sharers(struct upmu_sim_uncore *u, const struct su_traffic *row, unsigned die, unsigned which,
                           struct upmu_sim_unit **out_unit)
{
    unsigned count = 0;

    for (unsigned i = 0; i < u->units; i++) {
        struct upmu_sim_unit *unit = &u->unit[i];

        if (unit->die != die || unit->absent || !su_is(unit->type->name, row->type))
            continue;
        if (count++ == which)
            *out_unit = unit;
    }
    return count;
}

static void su_share(struct upmu_sim_uncore *u, const struct su_traffic *row, unsigned die, uint64_t lines)
{
    struct upmu_sim_unit *unit = NULL;
    unsigned sharers = su_sharers(u, row, die, 0, &unit);
    uint64_t each = sharers != 0 ? upmu_sim_divide(lines, sharers) : 0;

    for (unsigned i = 0; i < sharers; i++) {
        uint64_t count = i + 1u < sharers ? each : lines - each * (sharers - 1u);
        const struct upmu_sim_happening happening = {
            .count = count, .event = row->event, .umask = row->umask, .some = !row->exact};

        (void)su_sharers(u, row, die, i, &unit);
        if (unit->type->style == UPMU_SIM_UNIT_FREE)
            upmu_sim_flow(u, unit, row->event, count);
        else
            upmu_sim_happen(u, unit, &happening);
    }
}

void upmu_sim_traffic(struct upmu_sim_uncore *u, unsigned die, const struct upmu_sim_load *load)
{
    const uint64_t amounts[] = {load->reads, load->writes, load->lookups, load->lookups - load->misses, load->misses};

    for (unsigned i = 0; i < sizeof su_traffic / sizeof *su_traffic; i++) {
        if (su_is(su_traffic[i].machine, u->machine->name))
            su_share(u, &su_traffic[i], die, amounts[su_traffic[i].what]);
    }
}

/* Let free-running counters of the CPU that executed a burst, and the energy of its die, move. */
static void su_move_readings(struct upmu_sim_uncore *u, unsigned cpu, const struct upmu_sim_burst *burst)
{
    const struct {
        uint32_t msr;
        uint64_t count;
    } moves[] = {{0xe8, burst->cycles},
                 {0xe7, burst->ref_cycles},
                 {0x64e, burst->cycles},
                 {0x611, burst->cycles >> 10},
                 {0xc001029b, burst->cycles >> 10}};
    const struct upmu_sim_place *place = &u->place[cpu];

    for (unsigned i = 0; i < u->units; i++) {
        struct upmu_sim_unit *unit = &u->unit[i];
        bool own = unit->index == place->core * su_threads(u->machine) + place->thread;

        if (unit->type->style != UPMU_SIM_UNIT_FREE || unit->type->space != UPMU_SIM_SPACE_MSR ||
            unit->die != place->die || (unit->type->quirks & UPMU_SIM_QUIRK_CPU && !own))
            continue;
        for (unsigned k = 0; k < sizeof moves / sizeof *moves; k++) {
            struct su_register at = upmu_sim_uncore_box_find(unit, moves[k].msr - (uint32_t)unit->base);

            if (at.kind == SU_COUNTER)
                upmu_sim_flow(u, unit, at.index, moves[k].count);
        }
    }
}

/*
 * After a burst, let units of the CPU's die count its references to the last-level cache, the misses among these, the
 * line that each miss reads, and the line that each fourth miss writes back.
 */
void upmu_sim_uncore_traffic_after(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_burst *burst)
{
    const struct upmu_sim_load load = {.reads = burst->llc_misses,
                                       .writes = burst->llc_misses >> 2,
                                       .lookups = burst->llc_references,
                                       .misses = burst->llc_misses};

    if (sim->uncore == NULL)
        return;
    upmu_sim_traffic(sim->uncore, sim->uncore->place[cpu].die, &load);
    su_move_readings(sim->uncore, cpu, burst);
}
