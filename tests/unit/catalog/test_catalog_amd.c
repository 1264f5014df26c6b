/* SPDX-License-Identifier: MIT */
/*
 * AMD's catalogues: generic names are Linux's encodings (arch/x86/events/amd/core.c),
 * names of Linux's and of libpfm4's mean the same, and every name of every model is
 * encoded, or refused for a reason, and is equal after its text is encoded.
 */
#include "tests/common/host.h"

#include "core/catalog/catalog.h"

#define TEXT 200
#define WORD UINT64_C(0xf0000ffff)

static struct upmu_pmu pmu_named(const char *name)
{
    struct upmu_pmu pmu;

    assert_int_equal(upmu_pmu_by_name(&pmu, name), UPMU_OK);
    return pmu;
}

static uint64_t word(const struct upmu_pmu *pmu, const char *spec)
{
    struct upmu_event event;

    if (upmu_event_parse(pmu, spec, &event, NULL) != UPMU_OK)
        fail_msg("%s::%s is refused", pmu->name, spec);
    return event.config & WORD;
}

static void generic_names_are_linuxs_encodings(void **state)
{
    static const char *const names[] = {
        "cycles",        "instructions",           "cache-references",      "cache-misses", "branches",
        "branch-misses", "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles"};
    /* 0: the model has none. */
    static const struct {
        const char *pmu;
        uint64_t word[9];
    } models[] = {
        {"amd64_k7", {0x76, 0xc0, 0, 0, 0xc2, 0xc3, 0xd0, 0xd1, 0}}, /* none of an L2: amd_k7_events.csv */
        {"amd64_k8_revc", {0x76, 0xc0, 0x77d, 0x77e, 0xc2, 0xc3, 0xd0, 0xd1, 0}},
        {"amd64_fam10h_istanbul", {0x76, 0xc0, 0x77d, 0x77e, 0xc2, 0xc3, 0xd0, 0xd1, 0}},
        {"amd64_fam12h_llano", {0x76, 0xc0, 0x77d, 0x77e, 0xc2, 0xc3, 0xd0, 0xd1, 0}},
        {"amd64_fam16h", {0x76, 0xc0, 0x77d, 0x77e, 0xc2, 0xc3, 0xd0, 0xd1, 0}},
        {"amd64_fam17h_zen1", {0x76, 0xc0, 0xff60, 0x964, 0xc2, 0xc3, 0x287, 0x187, 0}},
        {"amd64_fam17h_zen2", {0x76, 0xc0, 0xff60, 0x964, 0xc2, 0xc3, 0xa9, 0, 0}},
        {"amd64_fam19h_zen3", {0x76, 0xc0, 0xff60, 0x964, 0xc2, 0xc3, 0xa9, 0, 0}},
        {"amd64_fam19h_zen4", {0x76, 0xc0, 0xff60, 0x964, 0xc2, 0xc3, 0xa9, 0, 0x100000120}},
        {"amd64_fam1ah_zen5", {0x76, 0xc0, 0xff60, 0x964, 0xc2, 0xc3, 0xa9, 0, 0x100000120}},
        {"amd64_fam1ah_zen6", {0x76, 0xc0, 0xff60, 0x964, 0xc2, 0xc3, 0xa9, 0, 0x100000120}},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof models / sizeof models[0]; i++) {
        struct upmu_pmu pmu = pmu_named(models[i].pmu);
        struct upmu_event event;

        for (unsigned k = 0; k < sizeof names / sizeof names[0]; k++) {
            if (!models[i].word[k])
                assert_int_equal(upmu_event_parse(&pmu, names[k], &event, NULL), UPMU_ERR_NO_SUCH_EVENT, k);
            else if (word(&pmu, names[k]) != models[i].word[k])
                fail_msg("%s::%s is %llx", models[i].pmu, names[k], (unsigned long long)word(&pmu, names[k]));
        }
    }
}

/* Names of Linux for events that a processor lacks: a wrong event would be counted. */
static void generic_names_of_no_event_are_refused(void **state)
{
    static const char *const names[] = {"node-loads", "node-load-misses", "LLC-loads", "LLC-load-misses", "LLC-stores",
                                        "L1-dcache-prefetches", "L1-dcache-prefetch-misses", "L1-icache-prefetches"};
    struct upmu_pmu k7 = pmu_named("amd64_k7"), revd = pmu_named("amd64_k8_revd"), reve = pmu_named("amd64_k8_reve");
    struct upmu_event event;

    (void)state;
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_int_equal(upmu_event_parse(&k7, names[i], &event, NULL), UPMU_ERR_NO_SUCH_EVENT, i);
        assert_int_equal(upmu_event_parse(&revd, names[i], &event, NULL), i < 2 ? UPMU_ERR_UNSUPPORTED : UPMU_OK, i);
    }
    assert_int_equal(word(&reve, "node-loads"), 0xb8e9);
    assert_int_equal(word(&k7, "L1-dcache-load-misses"), 0x41);
    assert_int_equal(word(&k7, "dTLB-load-misses"), 0x46);
    assert_int_equal(word(&k7, "iTLB-load-misses"), 0x85);
}

static void names_of_linux_and_of_libpfm4_mean_the_same(void **state)
{
    static const struct {
        const char *pmu, *ours, *theirs;
        uint64_t word;
    } cases[] = {
        {"amd64_fam17h_zen2", "l2_request_g1.rd_blk_l", "REQUESTS_TO_L2_GROUP1:RD_BLK_L", 0x8060},
        {"amd64_fam17h_zen2", "l2_request_g1.prefetch_l2_cmd", "REQUESTS_TO_L2_GROUP1:PREFETCH_L2", 0x0460},
        {"amd64_fam17h_zen2", "l2_request_g1.rd_blk_l.rd_blk_x", "REQUESTS_TO_L2_GROUP1:RD_BLK_L:RD_BLK_X", 0xc060},
        {"amd64_fam17h_zen2", "fp_ret_sse_avx_ops", "RETIRED_SSE_AVX_FLOPS:ANY", 0x0f03},
        {"amd64_fam17h_zen2", "ex_ret_fus_brnch_inst", "RETIRED_FUSED_INSTRUCTIONS", 0x1000000d0},
        {"amd64_fam17h_zen1", "ex_ret_brn", "RETIRED_BRANCH_INSTRUCTIONS", 0x00c2},
        {"amd64_fam19h_zen4", "ls_not_halted_cyc", "CYCLES_NOT_IN_HALT", 0x0076},
        {"amd64_fam10h_istanbul", "READ_REQUEST_TO_L3_CACHE", "READ_REQUEST_TO_L3_CACHE:ANY_READ:ALL_CORES",
         0x40000f7e0},
        {"amd64_fam10h_istanbul", "HYPERTRANSPORT_LINK0:SUBLINK_MASK", "HYPERTRANSPORT_LINK0:ALL:SUBLINK_MASK",
         0xbff6},
        /* a synonym of one generation holds in the next, whose table has one of the two names */
        {"amd64_fam19h_zen4", "ls_any_fills_from_sys.dram_io_all", "ls_any_fills_from_sys.all_dram_io", 0x4844},
        {"amd64_fam1ah_zen5", "ls_any_fills_from_sys.dram_io_all", "ls_any_fills_from_sys.all_dram_io", 0x4844},
        {"amd64_fam1ah_zen6", "ls_any_fills_from_sys.dram_io_all", "ls_any_fills_from_sys.all_dram_io", 0x4844},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct upmu_pmu pmu = pmu_named(cases[i].pmu);

        if (word(&pmu, cases[i].ours) != cases[i].word || word(&pmu, cases[i].theirs) != cases[i].word)
            fail_msg("%s: %llx, %s: %llx", cases[i].ours, (unsigned long long)word(&pmu, cases[i].ours),
                     cases[i].theirs, (unsigned long long)word(&pmu, cases[i].theirs));
    }
}

static void every_name_of_every_model_is_encoded_and_comes_back(void **state)
{
    unsigned models = 0, encoded = 0;
    const char *known;

    (void)state;
    for (unsigned p = 0; (known = upmu_pmu_known(p)) != NULL; p++) {
        struct upmu_pmu pmu = pmu_named(known);
        char name[TEXT], text[TEXT];
        struct upmu_event_id id;
        uint32_t cursor = 0;

        if (strncmp(known, "amd64_", 6) != 0)
            continue;
        models++;
        while (upmu_catalog_next(pmu.catalog, NULL, &cursor, &id, name, sizeof name, NULL) == UPMU_OK) {
            struct upmu_event event, again;
            enum upmu_status status = upmu_event_parse(&pmu, name, &event, NULL);

            /* A revision or a family may lack it; a unit mask may have to be chosen. */
            if (status == UPMU_ERR_UNSUPPORTED || status == UPMU_ERR_MASK_REQUIRED || status == UPMU_ERR_DOES_NOT_FIT)
                continue;
            if (status != UPMU_OK)
                fail_msg("%s::%s: %s", known, name, upmu_status_text(status));
            /* The event knows the default masks, too. */
            assert_true(event.id.catalogue == id.catalogue && event.id.row == id.row);
            assert_int_equal(event.id.masks & id.masks, id.masks);
            assert_compare(upmu_event_format(&pmu, &event, text, sizeof text), <, sizeof text);
            assert_int_equal(upmu_event_parse(&pmu, text, &again, NULL), UPMU_OK);
            assert_int_equal(again.config, event.config);
            assert_memory_equal(&again.id, &event.id, sizeof id);
            encoded++;
        }
    }
    assert_true(models >= 20 && encoded > 4000);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(generic_names_are_linuxs_encodings),
        cmocka_unit_test(generic_names_of_no_event_are_refused),
        cmocka_unit_test(names_of_linux_and_of_libpfm4_mean_the_same),
        cmocka_unit_test(every_name_of_every_model_is_encoded_and_comes_back),
    };

    return cmocka_run_group_tests_name("catalog_amd", tests, NULL, NULL);
}
