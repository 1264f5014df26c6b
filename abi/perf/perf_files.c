/* SPDX-License-Identifier: MIT */
/*
 * The files of a kernel that programs read about events: the PMU of the CPUs, the fields of its raw words, its generic
 * events in these fields, and limits.
 *
 * Source of the fields: Linux 6.12, arch/x86/events/intel/core.c and amd/core.c (format attributes),
 * arch/x86/events/core.c (events_sysfs_show).
 */
#include "abi/perf/perf_core.h"
#include <upmu/precise.h>

#define DEVICES "/sys/bus/event_source/devices/"
#define SETTINGS "/proc/sys/kernel/perf_event_"

/* A field of raw words: its file below the PMU's folder. */
struct field {
    const char *path, *text;
    uint32_t capability; /* bits of upmu_pmu.capabilities that a PMU with this field has */
};

static const struct field intel_fields[] = {
    {"format/event", "config:0-7\n", 0},
    {"format/umask", "config:8-15\n", 0},
    {"format/edge", "config:18\n", 0},
    {"format/any", "config:21\n", UPMU_PMU_ANYTHREAD},
    {"format/inv", "config:23\n", 0},
    {"format/cmask", "config:24-31\n", 0},
    {"format/in_tx", "config:32\n", UPMU_PMU_TSX},
    {"format/in_tx_cp", "config:33\n", UPMU_PMU_TSX},
    {"format/offcore_rsp", "config1:0-63\n", UPMU_PMU_GLOBAL_CTRL},
    {"format/ldlat", "config1:0-15\n", UPMU_PMU_GLOBAL_CTRL},
    {"format/frontend", "config1:0-23\n", UPMU_PMU_GLOBAL_CTRL},
    {NULL, NULL, 0},
};
static const struct field amd_fields[] = {
    {"format/event", "config:0-7,32-35\n", 0}, {"format/umask", "config:8-15\n", 0},  {"format/edge", "config:18\n", 0},
    {"format/inv", "config:23\n", 0},          {"format/cmask", "config:24-31\n", 0}, {NULL, NULL, 0},
};

/* Paths of generic events, by their numbers (config of UPMU_PERF_TYPE_HARDWARE). */
static const char *const generic[UPMU_PERF_HARDWARE_EVENTS] = {"events/cpu-cycles",
                                                               "events/instructions",
                                                               "events/cache-references",
                                                               "events/cache-misses",
                                                               "events/branch-instructions",
                                                               "events/branch-misses",
                                                               "events/bus-cycles",
                                                               "events/stalled-cycles-frontend",
                                                               "events/stalled-cycles-backend",
                                                               "events/ref-cycles"};

/* ---- Texts ---- */

/* Add a value of 12 bits at most in hexadecimal, with two digits or three. */
static void text_add_value(struct upmu_perf_text *text, const char *before, uint32_t value)
{
    const char *digit = "0123456789abcdef";
    const char digits[] = {digit[value >> 8 & 15u], digit[value >> 4 & 15u], digit[value & 15u], 0};

    upmu_perf_text_add(text, before);
    upmu_perf_text_add(text, digits[0] == '0' ? digits + 1 : digits);
}

static void text_add_number(struct upmu_perf_text *text, int64_t value)
{
    upmu_perf_text_add_digits(text, value);
    upmu_perf_text_add(text, "\n");
}

/* ---- Files ---- */

static void emit_number(const struct upmu_perf *perf, upmu_perf_emit *emit, const char *path, int64_t value)
{
    struct upmu_perf_text text = {.length = 0};

    text_add_number(&text, value);
    emit(perf->context, path, text.bytes);
}

/*
 * Emit the file of a generic event: the fields of its word, as Linux writes them. An event that the CPU lacks has no
 * file.
 */
static void emit_event(const struct upmu_perf_folder *folder, unsigned number)
{
    const struct upmu_perf_attr attr = {.type = UPMU_PERF_TYPE_HARDWARE, .config = number};
    struct upmu_perf_text text = {.length = 0};
    struct upmu_event event;
    uint64_t config;

    if (upmu_perf_encode(folder->pmu, &attr, &event))
        return;
    config = event.config;
    text_add_value(&text, "event=0x", (uint32_t)(config & 255u) | (uint32_t)(config >> 24 & 0xf00u));
    if (config >> 8 & 255u)
        text_add_value(&text, ",umask=0x", (uint32_t)(config >> 8 & 255u));
    if (config >> 18 & 1u)
        upmu_perf_text_add(&text, ",edge");
    if (config >> 23 & 1u)
        upmu_perf_text_add(&text, ",inv");
    if (config >> 24 & 255u)
        text_add_value(&text, ",cmask=0x", (uint32_t)(config >> 24 & 255u));
    upmu_perf_text_add(&text, "\n");
    upmu_perf_folder_add(folder, generic[number], text.bytes);
}

static const char *max_precise(const struct upmu_perf_folder *folder)
{
#if UPMU_PRECISE
    static const char *const levels[] = {"0\n", "1\n", "2\n", "3\n"};

    return levels[upmu_machine_precise(folder->perf->machine, folder->pmu)];
#else
    (void)folder;
    return "0\n";
#endif
}

static void emit_pmu(const struct upmu_perf_folder *folder, uint32_t type)
{
    const struct upmu_pmu *pmu = folder->pmu;
    const struct field *fields = !upmu_perf_has_fields(pmu) ? NULL : upmu_pmu_is_amd(pmu) ? amd_fields : intel_fields;
    struct upmu_perf_text text = {.length = 0};

    text_add_number(&text, type);
    upmu_perf_folder_add(folder, "type", text.bytes);
    upmu_perf_folder_add(folder, "caps/max_precise", max_precise(folder));
    if (!fields) /* raw words of other PMUs than Intel's and AMD's have other fields */
        return;
    for (const struct field *field = fields; field->path; field++)
        if ((pmu->capabilities & field->capability) == field->capability)
            upmu_perf_folder_add(folder, field->path, field->text);
    for (unsigned i = 0; i < UPMU_PERF_HARDWARE_EVENTS; i++)
        emit_event(folder, i);
}

/* Emit a folder for each type of core; names: Linux 6.12 arch/x86/events/intel/core.c, intel_hybrid_pmu_type_map. */
static void emit_types(const struct upmu_perf *perf, upmu_perf_emit *emit)
{
    static const char *const smaller[] = {"cpu_atom", "cpu_lowpower"};
    unsigned small = 0;

    for (unsigned i = 0; i < UPMU_CORE_TYPES; i++) {
        uint32_t type = upmu_perf_pmu_type(perf, i);
        struct upmu_perf_folder folder = {
            .perf = perf, .emit = emit, .pmu = upmu_machine_pmu(perf->machine, i), .name = "cpu_core"};

        if (!folder.pmu)
            continue;
        if (type != UPMU_PERF_TYPE_RAW) {
            if (small == 2u)
                continue;
            folder.name = smaller[small++];
        }
        emit_pmu(&folder, type);
        upmu_perf_folder_cpus(&folder, "cpus");
    }
}

void upmu_perf_files(const struct upmu_perf *perf, upmu_perf_emit *emit)
{
    const struct upmu_perf_folder folder = {
        .perf = perf, .emit = emit, .pmu = upmu_machine_pmu(perf->machine, 0), .name = "cpu"};

    emit_number(perf, emit, DEVICES "software/type", UPMU_PERF_TYPE_SOFTWARE);
    if (upmu_perf_is_hybrid(perf))
        emit_types(perf, emit);
    else if (folder.pmu)
        emit_pmu(&folder, UPMU_PERF_TYPE_RAW);
    upmu_perf_unit_files(perf, emit);
    emit_number(perf, emit, SETTINGS "paranoid", perf->paranoid);
    emit_number(perf, emit, SETTINGS "max_sample_rate", upmu_perf_most_rate(perf));
    emit_number(perf, emit, SETTINGS "max_stack", upmu_perf_most_stack(perf));
}
