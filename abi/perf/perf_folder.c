/* SPDX-License-Identifier: MIT */
/* Folders of PMUs: their files, among them the list of their CPUs. */
#include "abi/perf/perf_core.h"

#define DEVICES "/sys/bus/event_source/devices/"

void upmu_perf_folder_add(const struct upmu_perf_folder *folder, const char *path, const char *text)
{
    struct upmu_perf_text whole = {.length = 0};

    upmu_perf_text_add(&whole, DEVICES);
    upmu_perf_text_add(&whole, folder->name);
    upmu_perf_text_add(&whole, "/");
    upmu_perf_text_add(&whole, path);
    folder->emit(folder->perf->context, whole.bytes, text);
}

#define RANGE 24u /* bytes of the longest range of CPUs in their list */

/* Is a CPU in the list of a folder: a CPU of that type of core, or one that drives a unit of that PMU? */
static bool is_listed(const struct upmu_perf_folder *folder, unsigned cpu)
{
    if (folder->unit)
        return upmu_perf_unit_is_driven(folder->perf, folder->unit, cpu);
    return folder->perf->cpus[cpu].cpu && folder->perf->cpus[cpu].cpu->meter.pmu == folder->pmu;
}

void upmu_perf_folder_cpus(const struct upmu_perf_folder *folder, const char *path)
{
    const struct upmu_perf *perf = folder->perf;
    struct upmu_perf_text text = {.length = 0};

    for (unsigned cpu = 0, end; cpu < perf->cpu_count && text.length + RANGE < UPMU_PERF_TEXT; cpu = end + 1u) {
        for (end = cpu; end < perf->cpu_count && is_listed(folder, end);)
            end++;
        if (end == cpu)
            continue;
        if (text.length)
            upmu_perf_text_add(&text, ",");
        upmu_perf_text_add_digits(&text, cpu);
        if (end == cpu + 1u)
            continue;
        upmu_perf_text_add(&text, "-");
        upmu_perf_text_add_digits(&text, end - 1u);
    }
    upmu_perf_text_add(&text, "\n");
    upmu_perf_folder_add(folder, path, text.bytes);
}
