/* SPDX-License-Identifier: MIT */
/*
 * A build of a profile answers lists of raw events.  tests/build/check_profiles.py compiles this program with two
 * profiles and compares their answers.
 *
 *     profile_places events     CPU CONFIG CONFIG1: events of each simulated CPU that differ in where they are counted
 *     profile_places < LISTS    for each line "CPU CONFIG,CONFIG1,COUNTERS ...": the status of its start, then the
 *                               counters of its events, or the culprits; COUNTERS, if not 0: all that an event may have
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <models/sim/sim.h>
#include <upmu/catalogs.h>
#include <upmu/cpu.h>
#include <upmu/event.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include <upmu/upmu.h>

static struct upmu_sim sim;
static struct upmu_machine machine;
static struct upmu_cpu cpu;
static struct upmu_session session;

static enum upmu_status boot(const struct upmu_sim_profile *profile)
{
    memset(&cpu, 0, sizeof cpu);
    upmu_sim_init(&sim, profile, 1);
    upmu_sim_bind_cpu(&sim, 0, &cpu);
    if (upmu_machine_init(&machine, upmu_sim_port(&sim)) != UPMU_OK)
        return UPMU_ERR_NO_PMU;
    return upmu_cpu_init(&cpu, &machine, NULL);
}

#if UPMU_NAMES
static void print_events(const char *profile)
{
    static struct upmu_event seen[4096];
    const struct upmu_pmu *pmu = cpu.meter.pmu;
    struct upmu_event event;
    struct upmu_event_id id;
    unsigned count = 0, i;
    uint32_t cursor = 0;
    char name[160];

    while (pmu->catalog && count < 4096 &&
           upmu_catalog_next(pmu->catalog, NULL, &cursor, &id, name, sizeof name, NULL) == UPMU_OK) {
        if (upmu_event_parse(pmu, name, &event, NULL) != UPMU_OK || event.config2)
            continue;
        for (i = 0; i < count; i++)
            if (seen[i].counters == event.counters && seen[i].payload == event.payload && seen[i].flags == event.flags)
                break;
        if (i < count)
            continue;
        seen[count++] = event;
        printf("%s %" PRIx64 " %" PRIx64 "\n", profile, event.config, event.config1);
    }
}
#endif

/* The status of a list, which words follow; where it starts, the counter of each event. */
static enum upmu_status place_list(const char *words, char text[64])
{
    enum upmu_status status = upmu_session_init(&session, &machine);
    struct upmu_event event;
    uint64_t config, config1;
    uint32_t counters;
    int length;

    while (status == UPMU_OK &&
           sscanf(words, " %" SCNx64 ",%" SCNx64 ",%" SCNx32 "%n", &config, &config1, &counters, &length) == 3) {
        status = upmu_event_raw(cpu.meter.pmu, config, config1, 0, &event);
        if (counters)
            event.counters = counters;
        if (status == UPMU_OK)
            status = upmu_set_add_event(&session.set, &event, NULL);
        words += length;
    }
    if (status == UPMU_OK)
        status = upmu_session_attach_cpu(&session, &cpu);
    if (status == UPMU_OK)
        status = upmu_session_start(&session);
    snprintf(text, 64, "%x", (unsigned)session.why.culprits);
    for (unsigned i = 0, at = 0; status == UPMU_OK && i < session.set.count; i++)
        at += (unsigned)snprintf(text + at, 64 - at, "%x.", 1u << session.set.tally[i].counter);
    return upmu_session_close(&session) == UPMU_OK ? status : UPMU_ERR_PORT;
}

int main(int argc, char **argv)
{
    static char line[512], now[64], name[64], text[64];
    enum upmu_status booted = UPMU_ERR_NO_PMU;
    int length;

    (void)argv;
#if UPMU_NAMES
    const struct upmu_sim_profile *profile;

    for (unsigned i = 0; argc > 1 && (profile = upmu_sim_profile_at(i)) != NULL; i++)
        if (boot(profile) == UPMU_OK)
            print_events(profile->name);
#endif
    while (argc == 1 && fgets(line, sizeof line, stdin) && sscanf(line, "%63s%n", name, &length) == 1) {
        enum upmu_status status;

        if (strcmp(name, now) != 0) {
            booted = boot(upmu_sim_profile(name));
            strcpy(now, name);
        }
        status = booted == UPMU_OK ? place_list(line + length, text) : booted;
        printf("%d %s\n", (int)status, booted == UPMU_OK ? text : "0");
    }
    return 0;
}
