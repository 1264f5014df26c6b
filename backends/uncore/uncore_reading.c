/* SPDX-License-Identifier: MIT */
/*
 * Readings: registers that count or measure without any control, as counters of units (msr, cstate_core, cstate_pkg,
 * power), and levels, registers that show a value of the moment. Which CPUs have which of them, by models and CPUID,
 * and in what a count is measured. The registers are only read, and so are the registers that say the unit of energy
 * or whether a counter is switched on.
 */
#include "backends/uncore/uncore_find.h"
#include "core/hw/register.h"
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/util/text.h"

#if UPMU_UNCORE

#define UNCORE_MSR_ENERGY_INTEL 0x606u
#define UNCORE_MSR_ENERGY_AMD 0xc0010299u
#define UNCORE_MICRO 1000000u

/* ---- Which CPUs ---- */

/* Does the executing CPU have a feature in CPUID, and is the feature switched on? */
static UPMU_APART bool has_feature(struct upmu_uncore_finder *finder, const struct upmu_uncore_feature *feature)
{
    const struct upmu_uncore_seen *seen = finder->seen;
    uint32_t out[4];
    uint64_t value;

    seen->cpuid(seen->context, feature->leaf & 0x80000000u, 0, out);
    if (out[0] < feature->leaf)
        return false;
    seen->cpuid(seen->context, feature->leaf, 0, out);
    if (!(out[feature->bit >> 5] >> (feature->bit & 31u) & 1u))
        return false;
    return !feature->msr ||
           (upmu_uncore_msr(finder, feature->msr, !seen->hypervisor, &value) && value >> feature->enable & 1u);
}

/* Return the mask of the kinds that the executing CPU is of. */
static uint32_t kinds_here(struct upmu_uncore_finder *finder)
{
    const struct upmu_uncore_seen *seen = finder->seen;
    uint32_t kinds = 0;

    for (unsigned i = 0; i < upmu_uncore_feature_count; i++)
        if (has_feature(finder, &upmu_uncore_features[i]))
            kinds |= UPMU_BIT32(i);
    for (unsigned i = 0; i < upmu_uncore_model_count; i++) {
        const struct upmu_uncore_cpu *cpu = &upmu_uncore_models[i];

        if (cpu->family == seen->family && seen->model >= cpu->first && seen->model <= cpu->last &&
            seen->amd == cpu->stepping >> 7)
            kinds |= UPMU_BIT32(cpu->generation);
    }
    return kinds;
}

/* Is a CPU of these kinds one that has the reading? */
static bool is_for(const struct upmu_uncore_reading *reading, uint32_t kinds)
{
    uint64_t mask = upmu_uncore_masks[reading->mask];

    return (uint32_t)mask & kinds && !((uint32_t)(mask >> 32) & ~kinds);
}

/*
 * Can a reading that the executing CPU has be read there? A register that CPUID promises is read in any case, another
 * one only where a fault is safe. Under a hypervisor CPUID promises nothing, and a register that holds 0 is taken to be
 * missing, because a hypervisor may answer 0 for a register that it does not have.
 */
static bool can_be_read(struct upmu_uncore_finder *finder, const struct upmu_uncore_reading *reading)
{
    uint32_t features = UPMU_BIT32(upmu_uncore_feature_count) - 1u;
    bool promised = !finder->seen->hypervisor && (uint32_t)upmu_uncore_masks[reading->mask] & features;
    uint64_t value;

    return upmu_uncore_msr(finder, reading->msr, promised, &value) && (value || !finder->seen->hypervisor);
}

/* ---- The unit ---- */

/*
 * Note in a new PMU what upmu_unit_scale() needs: the kinds of the CPU, and by how many bits the unit of energy is
 * shifted, plus 1; 0: none of the readings needs that, or the register that says it cannot be read.
 */
static void note_scale(struct upmu_uncore_finder *finder, struct upmu_uncore_pmu *pmu, uint32_t kinds, unsigned scales)
{
    uint64_t value;

    pmu->found[0] = 0;
    pmu->found[1] = (uint16_t)kinds;
    pmu->found[2] = (uint16_t)(kinds >> 16);
    pmu->found[3] = !finder->seen->hypervisor; /* a hypervisor's CPUID promises no levels */
    if (!(scales & ~UPMU_UNCORE_SCALE_SHIFT))
        return;
    if (upmu_uncore_msr(finder, scales & UPMU_UNCORE_SCALE_AMD ? UNCORE_MSR_ENERGY_AMD : UNCORE_MSR_ENERGY_INTEL, false,
                        &value))
        pmu->found[0] = (uint16_t)(1u + (value >> 8 & 0x1fu));
}

/* Return the number of a box of a scope among those of its type on a die: that of the executing CPU or of its core. */
static unsigned number_here(const struct upmu_uncore_seen *seen, unsigned scope)
{
    if (scope == UPMU_SCOPE_THREAD)
        return seen->number;
    return scope == UPMU_SCOPE_CORE ? seen->core : 0;
}

void upmu_uncore_find_readings(struct upmu_uncore_finder *finder, unsigned row)
{
    const struct upmu_uncore_row *is = &upmu_uncore_rows[row];
    unsigned scope = upmu_uncore_layouts[is->layout].scope, types = finder->list->pmu_count, scales = 0;
    struct upmu_unit_info box = upmu_uncore_here(finder, 0, number_here(finder->seen, scope));
    const struct upmu_uncore_reading *reading = &upmu_uncore_readings[is->words];
    const struct upmu_uncore_reading *of[UPMU_FIXED_COUNTER(0)];
    struct upmu_uncore_pmu *pmu;
    uint32_t counters = 0, kinds;

    if (scope <= UPMU_SCOPE_CORE && !finder->seen->each_cpu)
        return;
    kinds = kinds_here(finder);
    for (; reading->width; reading++)
        if (!(counters >> reading->counter & 1u) && is_for(reading, kinds) && can_be_read(finder, reading)) {
            counters |= UPMU_BIT32(reading->counter);
            of[reading->counter] = reading;
            scales |= reading->scale;
        }
    if (!counters)
        return;
    /* The nodes of an AMD package share one unit, that of die 0 (Linux hwmon/amd_energy, by AMD, and perf's rapl.c). */
    if (is->rule == UPMU_UNCORE_RULE_READING_PACKAGE)
        box.die = 0;
    pmu = upmu_uncore_add(finder, row, NULL, &box);
    if (!pmu || finder->list->pmu_count == types) /* the PMU was made on another CPU: units that use it may be open */
        return;
    upmu_uncore_keep(pmu, counters);
    for (; counters; counters &= counters - 1u)
        upmu_uncore_use_reading(pmu, of[upmu_bits_lowest(counters)]);
    note_scale(finder, pmu, kinds, scales);
}

/* ---- What a count is measured in, and levels ---- */

/* Return the kinds of the CPU on which the search made a PMU of readings. */
static UPMU_APART uint32_t kinds_found(const struct upmu_uncore_pmu *pmu)
{
    return pmu->found[1] | (uint32_t)pmu->found[2] << 16;
}

bool upmu_uncore_level_of(const struct upmu_pmu *pmu, const char *name, struct upmu_level_place *out)
{
    const struct upmu_uncore_pmu *uncore = upmu_uncore_of(pmu);

    if (!uncore->packed || !upmu_uncore_has_readings(&upmu_uncore_rows[uncore->packed - 1u]) || !uncore->found[3])
        return false;
    for (unsigned i = 0; i < upmu_uncore_level_count; i++) {
        const struct upmu_uncore_level *level = &upmu_uncore_levels[i];

        if (level->box != uncore->type->number || level->all & ~kinds_found(uncore) ||
            !upmu_text_is(name, upmu_text_length(name), &upmu_uncore_text[level->name]))
            continue;
        *out = (struct upmu_level_place){level->msr, level->low, level->bits, level->valid,
                                         &upmu_uncore_text[level->text]};
        return true;
    }
    return false;
}

bool upmu_unit_scale(const struct upmu_unit *unit, const struct upmu_event *event, struct upmu_unit_scale *out_scale)
{
    const struct upmu_uncore_pmu *pmu = upmu_uncore_of(unit->meter.pmu);
    const struct upmu_uncore_row *row;
    unsigned counter, shift;
    uint32_t kinds;

    if (!unit->meter.machine || !pmu->packed || !event->counters)
        return false;
    row = &upmu_uncore_rows[pmu->packed - 1u];
    if (!upmu_uncore_has_readings(row))
        return false;
    counter = upmu_bits_lowest(event->counters);
    kinds = kinds_found(pmu);
    for (const struct upmu_uncore_reading *reading = &upmu_uncore_readings[row->words]; reading->width; reading++) {
        if (reading->counter != counter || !is_for(reading, kinds))
            continue;
        if (reading->scale & ~UPMU_UNCORE_SCALE_SHIFT && !pmu->found[0])
            return false;
        shift = reading->scale & ~UPMU_UNCORE_SCALE_SHIFT ? pmu->found[0] - 1u : reading->scale;
        out_scale->measure = &upmu_uncore_text[reading->text];
        out_scale->multiplier = reading->scale & UPMU_UNCORE_SCALE_MICRO ? UPMU_BIT32(shift) : 1u;
        out_scale->divisor = reading->scale & UPMU_UNCORE_SCALE_MICRO ? UNCORE_MICRO : UPMU_BIT32(shift);
        return true;
    }
    return false;
}

#endif
