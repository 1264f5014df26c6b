/* SPDX-License-Identifier: MIT */
/*
 * Names of units: paths, packed addresses and the spellings of perf and libpfm4, looked up in lists that are written
 * here as the hardware's and a host's would be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/common/assertions.h"
#include <upmu/unit.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct upmu_unit_type types[] = {
    {.name = "imc", .pmu = "skx_unc_imc"},     {.name = "cha", .pmu = "skx_unc_cha"},
    {.name = "l3", .pmu = "zen2_l3"},          {.name = "vectorcopro", .pmu = "lab_vectorcopro"},
    {.name = "imc_uclk", .pmu = "knl_unc_uclk"},
};
enum { IMC, CHA, L3, COPRO, UCLK };

static struct upmu_uncore_pmu pmus[COUNT(types)];

static struct upmu_unit_list list_of(struct upmu_unit_info *units, size_t count)
{
    struct upmu_unit_list list = {.unit = units, .pmu = pmus, .unit_count = (uint16_t)count, .pmu_count = COUNT(types)};

    for (unsigned i = 0; i < COUNT(types); i++)
        pmus[i].type = &types[i];
    return list;
}

#define BOX(t, p, d, n) {.type = (t), .package = (p), .die = (d), .number = (n),                                    \
                         .address = UPMU_UNIT_ADDRESS(0, 0, p, d, 0, n)}

/* Two packages of one die: three channels each, cache slices with gaps and beyond 15, one imc_uclk. */
static struct upmu_unit_info server[] = {
    BOX(IMC, 0, 0, 0), BOX(IMC, 0, 0, 1), BOX(IMC, 0, 0, 2), BOX(IMC, 1, 0, 0), BOX(IMC, 1, 0, 1), BOX(IMC, 1, 0, 2),
    BOX(CHA, 0, 0, 0), BOX(CHA, 0, 0, 3), BOX(CHA, 0, 0, 16), BOX(UCLK, 0, 0, 0), BOX(L3, 0, 0, 0), BOX(L3, 0, 0, 1),
};

/* A host's tree, a unit on each of the founding text's five levels, and the units of one blade. */
#define NAMED(t, path, r, b, c, n, k, i) {.type = (t), .name = (path), .address = UPMU_UNIT_ADDRESS(r, b, c, n, k, i)}
static struct upmu_unit_info lab[] = {
    NAMED(IMC, "rack2/fan0", 2, 0, 0, 0, 0, 0),
    NAMED(IMC, "rack21/fan0", 21, 0, 0, 0, 0, 0),
    NAMED(IMC, "rack2/blade4/link1", 2, 4, 0, 0, 0, 1),
    NAMED(IMC, "rack2/blade4/cpu0/imc0", 2, 4, 0, 0, 0, 0),
    NAMED(IMC, "rack2/blade4/cpu0/node1/imc0", 2, 4, 0, 1, 0, 0),
    NAMED(L3, "rack2/blade4/cpu0/node1/core3/l3", 2, 4, 0, 1, 3, 0),
    NAMED(IMC, "rack2/blade4/cpu1/imc0", 2, 4, 1, 0, 0, 0),
    NAMED(COPRO, "blade4/cpu0/vectorcopro0", 0, 4, 0, 0, 0, 0),
    NAMED(COPRO, "blade4/cpu0/vectorcopro1", 0, 4, 0, 0, 0, 1),
    NAMED(COPRO, "blade5/cpu0/vectorcopro1", 0, 5, 0, 0, 0, 1),
};

/* The found units: "path*boxes", or "path | path" of an ambiguous name, or the status. */
static const char *found(const struct upmu_unit_list *list, unsigned flags, uint32_t address, const char *text)
{
    static char out[200];
    struct upmu_unit_found found;
    enum upmu_status status = upmu_unit_find(list, flags, address, text, &found);
    size_t length;

    if (!found.unit) {
        assert_true(status == UPMU_ERR_NO_SUCH_PMU || status == UPMU_ERR_INVALID);
        return status == UPMU_ERR_INVALID ? "invalid" : "none";
    }
    length = upmu_unit_path(list, found.unit, out, sizeof out);
    if (found.other) {
        assert_int_equal(status, UPMU_ERR_INVALID);
        length += (size_t)snprintf(out + length, sizeof out - length, " | ");
        upmu_unit_path(list, found.other, out + length, sizeof out - length);
    } else {
        assert_int_equal(status, UPMU_OK);
        snprintf(out + length, sizeof out - length, "*%d", found.boxes);
    }
    return out;
}

static const char *by_path(const struct upmu_unit_list *list, const char *path)
{
    return found(list, UPMU_UNIT_PATH, 0, path);
}

static void paths_of_the_library_name_package_die_and_box(void **state)
{
    struct upmu_unit_list list = list_of(server, COUNT(server));
    char small[8];

    (void)state;
    for (unsigned i = 0; i < COUNT(server); i++) {
        char path[64], expected[64];

        snprintf(expected, sizeof expected, server[i].type == L3 ? "package%d/die%d/%s_%d" : "package%d/die%d/%s%d",
                 server[i].package, server[i].die, types[server[i].type].name, server[i].number);
        assert_int_equal(upmu_unit_path(&list, &server[i], path, sizeof path), strlen(expected), i);
        assert_string_equal(path, expected);
        strcat(expected, "*1");
        assert_string_equal(by_path(&list, path), expected);
        memmove(path + 1, path, strlen(path) + 1);
        path[0] = '/';
        assert_string_equal(by_path(&list, path), expected);
    }
    assert_int_equal(upmu_unit_path(&list, &server[0], small, sizeof small), 18);
    assert_string_equal(small, "package");
}

static void a_path_is_looked_up_by_its_last_components(void **state)
{
    struct upmu_unit_list list = list_of(server, COUNT(server));

    (void)state;
    assert_string_equal(by_path(&list, "package1/die0/imc2"), "package1/die0/imc2*1");
    assert_string_equal(by_path(&list, "PACKAGE1/Die0/IMC2"), "package1/die0/imc2*1");
    assert_string_equal(by_path(&list, "cha16"), "package0/die0/cha16*1");
    assert_string_equal(by_path(&list, "die0/cha3"), "package0/die0/cha3*1");
    assert_string_equal(by_path(&list, "cha1"), "none");
    assert_string_equal(by_path(&list, "ha3"), "none");
    assert_string_equal(by_path(&list, "package0/cha3"), "none");
    assert_string_equal(by_path(&list, "/die0/cha3"), "none");
    assert_string_equal(by_path(&list, "package0/package0/die0/cha3"), "none");
    assert_string_equal(by_path(&list, ""), "none");
    assert_string_equal(by_path(&list, "/"), "none");
    assert_string_equal(by_path(&list, "die0//cha3"), "none");
    assert_string_equal(by_path(&list, "cha3/"), "none");
    assert_string_equal(by_path(&list, "cha 3"), "none");
    assert_string_equal(by_path(&list, "cha-1"), "none");
    assert_string_equal(by_path(&list, "cha4294967296"), "none");
    assert_string_equal(by_path(&list, NULL), "invalid");
}

static void an_ambiguous_path_names_the_first_two(void **state)
{
    struct upmu_unit_list list = list_of(server, COUNT(server));

    (void)state;
    assert_string_equal(by_path(&list, "imc2"), "package0/die0/imc2 | package1/die0/imc2");
    assert_string_equal(by_path(&list, "imc"), "package0/die0/imc0 | package1/die0/imc0");
    assert_string_equal(by_path(&list, "package/die0/imc1"), "package0/die0/imc1 | package1/die0/imc1");
}

static void without_a_number_all_boxes_of_a_die_are_one_unit(void **state)
{
    struct upmu_unit_list list = list_of(server, COUNT(server));

    (void)state;
    assert_string_equal(by_path(&list, "package0/die0/imc"), "package0/die0/imc0*3");
    assert_string_equal(by_path(&list, "package1/die0/imc"), "package1/die0/imc0*3");
    assert_string_equal(by_path(&list, "cha"), "package0/die0/cha0*3");
    assert_string_equal(by_path(&list, "imc_uclk"), "package0/die0/imc_uclk0*1");
}

static void spellings_of_perf_and_libpfm4_name_the_same_box(void **state)
{
    static const char *const spelled[] = {"package1/die0/imc2", "package1/die0/imc_2", "package1/die0/imc/2",
                                          "package1/die0/uncore_imc_2", "package1/die0/skx_unc_imc2",
                                          "package1/die0/uncore_imc2", "package1/die0/imc02"};
    struct upmu_unit_list list = list_of(server, COUNT(server));

    (void)state;
    for (unsigned i = 0; i < COUNT(spelled); i++)
        assert_string_equal(by_path(&list, spelled[i]), "package1/die0/imc2*1");
    assert_string_equal(by_path(&list, "uncore_cha"), "package0/die0/cha0*3");
    assert_string_equal(by_path(&list, "skx_unc_cha"), "package0/die0/cha0*3");
    assert_string_equal(by_path(&list, "cha/16"), "package0/die0/cha16*1");
    /* A type whose name ends in a digit. */
    assert_string_equal(by_path(&list, "l3"), "package0/die0/l3_0*2");
    assert_string_equal(by_path(&list, "l31"), "package0/die0/l3_1*1");
    assert_string_equal(by_path(&list, "amd_l3_1"), "package0/die0/l3_1*1");
    assert_string_equal(by_path(&list, "amd_l3"), "package0/die0/l3_0*2");
    /* No CPU reaches two caches. */
    server[COUNT(server) - 1].llc = 1;
    assert_string_equal(by_path(&list, "l3"), "package0/die0/l3_0 | package0/die0/l3_1");
    server[COUNT(server) - 1].llc = 0;
    assert_string_equal(by_path(&list, "imc__2"), "none");
    assert_string_equal(by_path(&list, "imc_"), "none");
    assert_string_equal(by_path(&list, "2"), "none");
    assert_string_equal(by_path(&list, "/2"), "none");
}

/* UN-014 core, UN-015 node, UN-016 chip, UN-017 blade, UN-018 rack, and UN-031 one tree: a unit on each level. */
static void units_stand_on_five_levels_of_one_tree(void **state)
{
    static const struct {
        const char *path;
        uint32_t address;
    } levels[] = {
        {"rack2/blade4/cpu0/node1/core3/l3", UPMU_UNIT_ADDRESS(2, 4, 0, 1, 3, 0)},
        {"rack2/blade4/cpu0/node1/imc0", UPMU_UNIT_ADDRESS(2, 4, 0, 1, 0, 0)},
        {"rack2/blade4/cpu0/imc0", UPMU_UNIT_ADDRESS(2, 4, 0, 0, 0, 0)},
        {"rack2/blade4/cpu1/imc0", UPMU_UNIT_ADDRESS(2, 4, 1, 0, 0, 0)},
        {"rack2/blade4/link1", UPMU_UNIT_ADDRESS(2, 4, 0, 0, 0, 1)},
        {"rack2/fan0", UPMU_UNIT_ADDRESS(2, 0, 0, 0, 0, 0)},
    };
    struct upmu_unit_list list = list_of(lab, COUNT(lab));

    (void)state;
    for (unsigned i = 0; i < COUNT(levels); i++) {
        char expected[64];

        snprintf(expected, sizeof expected, "%s*1", levels[i].path);
        assert_string_equal(by_path(&list, levels[i].path), expected);
        assert_string_equal(found(&list, 0, levels[i].address, NULL), expected);
    }
    assert_string_equal(by_path(&list, "cpu0/imc0"), "rack2/blade4/cpu0/imc0*1");
    assert_string_equal(by_path(&list, "imc0"), "rack2/blade4/cpu0/imc0 | rack2/blade4/cpu0/node1/imc0");
    assert_string_equal(by_path(&list, "rack2/fan"), "rack2/fan0*1");
    assert_string_equal(by_path(&list, "link"), "rack2/blade4/link1*1");
    assert_string_equal(by_path(&list, "rack3/fan0"), "none");
}

static void blade4_cpu0_vectorcopro1_is_found_by_exactly_this_path(void **state)
{
    struct upmu_unit_list list = list_of(lab, COUNT(lab)), other;

    (void)state;
    assert_string_equal(by_path(&list, "blade4/cpu0/vectorcopro1"), "blade4/cpu0/vectorcopro1*1");
    assert_string_equal(by_path(&list, "/blade4/cpu0/vectorcopro1"), "blade4/cpu0/vectorcopro1*1");
    assert_string_equal(by_path(&list, "blade4/cpu0/vectorcopro/1"), "blade4/cpu0/vectorcopro1*1");
    assert_string_equal(by_path(&list, "blade4/cpu0/lab_vectorcopro1"), "blade4/cpu0/vectorcopro1*1");
    assert_string_equal(by_path(&list, "vectorcopro1"), "blade4/cpu0/vectorcopro1 | blade5/cpu0/vectorcopro1");
    /* All boxes of a blade are one unit, those of two blades are not. */
    assert_string_equal(by_path(&list, "blade4/cpu0/vectorcopro"), "blade4/cpu0/vectorcopro0*2");
    assert_string_equal(by_path(&list, "vectorcopro"), "blade4/cpu0/vectorcopro0 | blade5/cpu0/vectorcopro1");
    assert_string_equal(by_path(&list, "blade/cpu0/vectorcopro0"), "blade4/cpu0/vectorcopro0*1");
    /* Another partition does not have it. */
    other = list_of(lab, 7);
    assert_string_equal(by_path(&other, "blade4/cpu0/vectorcopro1"), "none");
}

static void the_flag_says_whether_the_text_is_a_path(void **state)
{
    struct upmu_unit_list list = list_of(server, COUNT(server));
    const uint32_t at_0_1 = UPMU_UNIT_ADDRESS(0, 0, 0, 0, 0, 1), at_1_2 = UPMU_UNIT_ADDRESS(0, 0, 1, 0, 0, 2);

    (void)state;
    assert_string_equal(found(&list, 0, at_0_1, "imc"), "package0/die0/imc1*1");
    assert_string_equal(found(&list, UPMU_UNIT_PATH, at_0_1, "cha3"), "package0/die0/cha3*1");
    assert_string_equal(found(&list, 0, at_0_1, "cha3"), "none");
    assert_string_equal(found(&list, 0, at_1_2, "imc"), "package1/die0/imc2*1");
    assert_string_equal(found(&list, 0, at_1_2, "uncore_imc"), "package1/die0/imc2*1");
    assert_string_equal(found(&list, 0, at_1_2, NULL), "package1/die0/imc2*1");
    assert_string_equal(found(&list, 0, at_0_1, NULL), "package0/die0/imc1 | package0/die0/l3_1");
    assert_string_equal(found(&list, 0, at_1_2, "cha"), "none");
    assert_string_equal(found(&list, 0, UPMU_UNIT_NO_ADDRESS, "cha"), "invalid");
    assert_string_equal(found(&list, 0, UINT32_C(1) << 24, NULL), "invalid");
}

static void a_unit_that_the_host_renames_has_its_new_name_alone(void **state)
{
    struct upmu_unit_info units[3];
    struct upmu_unit_list list = list_of(units, COUNT(units));

    (void)state;
    memcpy(units, server, sizeof units);
    units[1].name = "board0/dimm_b";
    units[1].address = UPMU_UNIT_ADDRESS(7, 0, 0, 0, 0, 0);
    assert_string_equal(by_path(&list, "dimm_b"), "board0/dimm_b*1");
    assert_string_equal(by_path(&list, "Board0/DIMM_B"), "board0/dimm_b*1");
    assert_string_equal(by_path(&list, "imc1"), "none");
    assert_string_equal(found(&list, 0, UPMU_UNIT_ADDRESS(7, 0, 0, 0, 0, 0), "imc"), "board0/dimm_b*1");
    assert_string_equal(found(&list, 0, UPMU_UNIT_ADDRESS(0, 0, 0, 0, 0, 1), "imc"), "none");
    assert_string_equal(by_path(&list, "imc"), "package0/die0/imc0 | package0/die0/imc2");
    /* Names of one level do not make one unit of boxes of two dies. */
    units[0].name = "board0/imc0";
    units[1].name = "board0/imc1";
    assert_string_equal(by_path(&list, "board0/imc"), "board0/imc0*2");
    units[1].die = 1;
    assert_string_equal(by_path(&list, "board0/imc"), "board0/imc0 | board0/imc1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_of_the_library_name_package_die_and_box),
        cmocka_unit_test(a_path_is_looked_up_by_its_last_components),
        cmocka_unit_test(an_ambiguous_path_names_the_first_two),
        cmocka_unit_test(without_a_number_all_boxes_of_a_die_are_one_unit),
        cmocka_unit_test(spellings_of_perf_and_libpfm4_name_the_same_box),
        cmocka_unit_test(units_stand_on_five_levels_of_one_tree),
        cmocka_unit_test(blade4_cpu0_vectorcopro1_is_found_by_exactly_this_path),
        cmocka_unit_test(the_flag_says_whether_the_text_is_a_path),
        cmocka_unit_test(a_unit_that_the_host_renames_has_its_new_name_alone),
    };

    return cmocka_run_group_tests_name("unit_names", tests, NULL, NULL);
}
