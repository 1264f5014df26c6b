/* SPDX-License-Identifier: MIT */
/*
 * Fuzzing: paths and packed addresses of units.  What is found lies in the list, has one path, and that path finds it;
 * an ambiguous text names two units, and each of them alone would be found by it.
 */
#include <stdio.h>
#include <string.h>

#include <upmu/unit.h>

#include "tests/common/share.h"
#include "tests/fuzz/fuzz.h"

#define TEXT 160u
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct upmu_unit_type types[] = {
    {.name = "imc", .pmu = "skx_unc_imc"}, {.name = "imc_uclk", .pmu = "knl_unc_imc_uclk"},
    {.name = "l3", .pmu = "zen2_l3"},      {.name = "vectorcopro", .pmu = "lab_vectorcopro"},
};

#define BOX(t, p, d, n) {.type = (t), .package = (p), .die = (d), .number = (n),                                    \
                         .address = UPMU_UNIT_ADDRESS(0, 0, p, d, 0, n)}
#define NAMED(t, path, a) {.type = (t), .name = (path), .address = (a)}

static struct upmu_unit_info units[] = {
    BOX(0, 0, 0, 0),
    BOX(0, 0, 0, 1),
    BOX(0, 0, 0, 12),
    BOX(0, 0, 1, 0),
    BOX(0, 0, 1, 1),
    BOX(1, 0, 0, 0),
    BOX(2, 0, 0, 0),
    BOX(2, 0, 0, 1),
    BOX(2, 1, 0, 1),
    NAMED(0, "rack2/fan0", 0x40000),
    NAMED(0, "rack21/fan0", 0x2a0000),
    NAMED(2, "rack2/blade4/l3", 0x44000),
    NAMED(3, "blade4/cpu0/vectorcopro0", 0x4000),
    NAMED(3, "blade4/cpu0/vectorcopro1", 0x4001),
    NAMED(3, "/blade5/cpu0/VectorCopro1", UPMU_UNIT_NO_ADDRESS),
    NAMED(1, "7", 7),
    NAMED(1, "a//b", 8),
};

static struct upmu_uncore_pmu pmus[COUNT(types)];

static enum upmu_status find(const struct upmu_unit_list *list, unsigned flags, uint32_t address, const char *text,
                             struct upmu_unit_found *found)
{
    enum upmu_status status;

    memset(found, 0xA5, sizeof *found);
    status = upmu_unit_find(list, flags, address, text, found);
    FUZZ_CHECK(status == UPMU_OK || status == UPMU_ERR_NO_SUCH_PMU || status == UPMU_ERR_INVALID, "\"%s\": status %d",
               text, status);
    FUZZ_CHECK(!found->unit == (status == UPMU_ERR_NO_SUCH_PMU || (status == UPMU_ERR_INVALID && !found->other)),
               "\"%s\": status %d does not go with what was found", text, status);
    FUZZ_CHECK(!found->other == (status != UPMU_ERR_INVALID || !found->unit), "\"%s\": a second unit", text);
    return status;
}

/* Boxes of a list, side by side and of one type and die. */
static void check_found(const struct upmu_unit_list *list, const struct upmu_unit_found *found, const char *text)
{
    size_t first = (size_t)(found->unit - list->unit);
    char path[TEXT];

    FUZZ_CHECK(first < list->unit_count && found->boxes && first + found->boxes <= list->unit_count,
               "\"%s\": boxes %u from %u on", text, found->boxes, (unsigned)first);
    for (unsigned i = 0; i < found->boxes; i++) {
        const struct upmu_unit_info *unit = &found->unit[i];
        struct upmu_unit_found again;

        FUZZ_CHECK(unit->type == found->unit->type && unit->package == found->unit->package &&
                       unit->die == found->unit->die,
                   "\"%s\": boxes of two types or dies", text);
        path[0] = '/';
        (void)upmu_unit_path(list, unit, path + 1, sizeof path - 1);
        FUZZ_CHECK(find(list, UPMU_UNIT_PATH, 0, path + (path[1] == '/'), &again) == UPMU_OK && again.unit == unit &&
                       again.boxes == 1,
                   "\"%s\" finds \"%s\", which does not find itself", text, path);
    }
}

static void run(const uint8_t *bytes, size_t length)
{
    struct upmu_unit_list list = {
        .unit = units, .pmu = pmus, .unit_count = COUNT(units), .pmu_count = COUNT(types)};
    struct fuzz_bytes in = {bytes, bytes + length};
    unsigned flags = fuzz_u8(&in) & UPMU_UNIT_PATH;
    uint32_t address = fuzz_u32(&in);
    struct upmu_unit_found found;
    char text[TEXT];
    unsigned end = 0;

    for (unsigned i = 0; i < COUNT(types); i++)
        pmus[i].type = &types[i];
    while (fuzz_more(&in) && end < sizeof text - 1)
        text[end++] = (char)fuzz_u8(&in);
    text[end] = '\0';
    if (find(&list, flags, address, text, &found) == UPMU_OK) {
        check_found(&list, &found, text);
        FUZZ_CHECK(flags || found.unit->address == address, "\"%s\" is not at address %x", text, (unsigned)address);
    } else if (found.other) {
        const struct upmu_unit_info *both[] = {found.unit, found.other};

        FUZZ_CHECK(found.unit < found.other, "\"%s\": two units in the wrong order", text);
        for (unsigned i = 0; i < 2; i++) {
            list.unit = &units[both[i] - units];
            list.unit_count = (uint16_t)(i ? 1 : found.other - found.unit);
            FUZZ_CHECK(find(&list, flags, address, text, &found) == UPMU_OK && found.unit == both[i],
                       "\"%s\" does not find unit %u alone", text, i);
        }
    }
}

static void make(uint64_t *random, struct fuzz_draft *draft)
{
    static const char *const spelled[] = {"imc",     "imc1",         "imc_1", "imc/1", "uncore_imc_12", "skx_unc_imc0",
                                          "imc_uclk", "l3",          "l3_1",  "l31",   "amd_l3",        "vectorcopro",
                                          "fan",     "vectorcopro1", "7",     "b"};
    static const char *const parents[] = {"package0", "package", "die1", "die0", "rack2", "rack",
                                          "blade4",   "cpu0",    "cpu",  "",     "a"};

    fuzz_put(draft, fuzz_below(random, 4) ? UPMU_UNIT_PATH : 0, 1);
    fuzz_put(draft, units[fuzz_below(random, COUNT(units))].address, 4);
    if (!fuzz_below(random, 3)) {
        struct upmu_unit_list list = {.unit = units, .pmu = pmus};
        char path[TEXT];
        size_t length;

        for (unsigned i = 0; i < COUNT(types); i++)
            pmus[i].type = &types[i];
        length = upmu_unit_path(&list, &units[fuzz_below(random, COUNT(units))], path, sizeof path);
        fuzz_put_text(draft, path + fuzz_below(random, (unsigned)length));
    } else {
        for (unsigned left = fuzz_below(random, 4); left; left--) {
            fuzz_put_text(draft, parents[fuzz_below(random, COUNT(parents))]);
            fuzz_put_text(draft, "/");
        }
        fuzz_put_text(draft, spelled[fuzz_below(random, COUNT(spelled))]);
    }
    if (draft->length > 5 && !fuzz_below(random, 3))
        draft->bytes[5 + fuzz_below(random, (unsigned)draft->length - 5)] =
            fuzz_below(random, 2) ? (uint8_t) "/_019aIl:"[fuzz_below(random, 9)] : (uint8_t)fuzz_random(random);
}

#define RUNS (SHARE_SLOW_BUILD ? 20000 : 100000)

const struct fuzz_target fuzz_target = {
    "units", "any_path_finds_units_of_the_list_or_none", RUNS, 5000000, run, make, 0};
