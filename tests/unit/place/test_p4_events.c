/* SPDX-License-Identifier: MIT */
/*
 * NetBurst events as placement sees them: sides, upstream ESCRs, tag registers,
 * cascades, what cannot be told apart by hyper-thread; and two threads of a core with
 * a session each.
 */
#include <stdio.h>

#include "backends/x86_p4/p4_registers.h"
#include "core/hw/backend.h"
#include "core/util/bits.h"
#include "core/catalog/catalog.h"
#include "core/hw/register.h"
#include "tests/common/host.h"
#include "tests/common/steps.h"

#define TI_RESOURCES 47u

static struct upmu_pmu pmu;

static int describe_northwood(void **state)
{
    (void)state;
    return upmu_pmu_by_name(&pmu, "netburst") == UPMU_OK ? 0 : 1;
}

static struct upmu_event event_of(const struct upmu_pmu *of, const char *text)
{
    struct upmu_event event;
    struct upmu_why why;
    char words[200];

    if (upmu_event_parse(of, text, &event, &why) != UPMU_OK) {
        (void)upmu_why_text(&why, words, sizeof words);
        fail_msg("%s: %s", text, words);
    }
    return event;
}

#define MOST_WAYS 4u
struct ways {
    struct upmu_alternative way[MOST_WAYS + 1]; /* and the one looked at last */
    unsigned count;
};

static struct ways ways_of(const char *text, unsigned thread)
{
    struct upmu_event event = event_of(&pmu, text);
    struct ways ways = {.count = 0};

    /* One without counters is none. */
    for (unsigned i = 0; pmu.backend->alternative(&pmu, &event, thread, i, &ways.way[ways.count]); i++)
        if (ways.way[ways.count].slot[0].counters && ways.count < MOST_WAYS)
            ways.count++;
    assert_in_range(ways.count, 1, MOST_WAYS);
    return ways;
}

/* The value that a slot wants in a resource; UINT64_MAX: it does not want it. */
static uint64_t wanted(const struct upmu_slot *slot, unsigned resource)
{
    for (unsigned k = 0; k < slot->resource_count; k++)
        if (slot->resource[k] == resource)
            return slot->value[k];
    return UINT64_MAX;
}

static unsigned escr_named(const char *name)
{
    for (unsigned n = 0; n < UPMU_P4_ESCRS; n++)
        if (!strcmp(upmu_register_name(&pmu, UPMU_P4_ROW_ESCR + n), name))
            return n;
    fail_msg("no %s", name);
    return 0;
}

/* ---- Ways ---- */

static void an_event_stands_in_either_escr_of_its_unit(void **state)
{
    struct ways ways = ways_of("instr_retired", 0), second = ways_of("instr_retired", 1);

    (void)state;
    assert_int_equal(ways.count, 2);
    assert_int_equal(ways.way[0].slot[0].counters, 0x13000);
    assert_int_equal(ways.way[1].slot[0].counters, 0x2c000);
    assert_int_equal(wanted(&ways.way[0].slot[0], escr_named("MSR_CRU_ESCR0")), 0x04001e0c);
    assert_int_equal(wanted(&ways.way[1].slot[0], escr_named("MSR_CRU_ESCR1")), 0x04001e0c);
    assert_int_equal(wanted(&second.way[0].slot[0], escr_named("MSR_CRU_ESCR0")), 0x04001e03);
    assert_int_equal(ways.way[0].slot[0].resource_count, 1);
    assert_int_equal(ways_of("BSQ_allocation", 0).count, 1);
    assert_int_equal(ways_of("p4-instr-retired,mask=nbogustag:counter=14", 0).count, 1);
}

static void every_event_has_a_way_for_both_threads_within_limits(void **state)
{
    struct upmu_event_id id;
    uint32_t cursor = 0;
    char name[UPMU_CATALOG_NAME];

    (void)state;
    while (upmu_catalog_next(pmu.catalog, NULL, &cursor, &id, name, sizeof name, NULL) == UPMU_OK) {
        if (!strncmp(name, "instr_completed", 15))
            continue;
        for (unsigned thread = 0; thread < 2; thread++) {
            struct ways ways = ways_of(name, thread);
            uint32_t counters = 0;

            for (unsigned i = 0; i < ways.count; i++) {
                counters |= ways.way[i].slot[0].counters;
                for (unsigned slot = 0; slot < ways.way[i].slot_count; slot++) {
                    const struct upmu_slot *one = &ways.way[i].slot[slot];

                    assert_in_range(one->resource_count, 1, UPMU_SLOT_RESOURCES);
                    assert_true(one->counters && !(one->counters & ~pmu.counters));
                    for (unsigned k = 0; k < one->resource_count; k++)
                        assert_true(pmu.shared >> one->resource[k] & 1u, k);
                }
            }
            assert_int_equal(counters, event_of(&pmu, name).counters);
        }
    }
}

/* Intel SDM vol 3 table 19-31: what cannot be told apart has one owner. */
static void thread_independent_events_have_one_resource_each(void **state)
{
    static const char *const independent[] = {
        "tc_deliver_mode", "page_walk_type", "FSB_data_activity", "SSE_input_assist", "packed_SP_uop",
        "packed_DP_uop",   "scalar_SP_uop",  "scalar_DP_uop",     "64bit_MMX_uop",    "128bit_MMX_uop",
        "x87_FP_uop",      "x87_SIMD_moves_uop", "WC_Buffer",     "b2b_cycles",       "bnr",
        "snoop",           "response",
    };
    uint64_t seen = 0;

    (void)state;
    for (unsigned i = 0; i < sizeof independent / sizeof independent[0]; i++)
        for (unsigned thread = 0; thread < 2; thread++) {
            struct ways ways = ways_of(independent[i], thread);

            for (unsigned k = 0; k < ways.count; k++) {
                unsigned resource = ways.way[k].slot[0].resource[1];

                assert_true(resource >= TI_RESOURCES && resource < UPMU_RESOURCES);
                assert_int_equal(pmu.backend->resource_row(&pmu, resource), UPMU_NO_ROW);
                assert_int_equal(ways.way[k].slot[0].value[1], thread, k);
                assert_true(!(seen >> resource & 1u) || k || thread, k);
                seen |= UPMU_BIT64(resource);
            }
        }
    assert_int_equal(upmu_bits_count((uint32_t)(seen >> 32)), sizeof independent / sizeof independent[0]);
    for (unsigned k = 0; k < 2; k++)
        assert_compare(ways_of("uops_retired", 0).way[k].slot[0].resource[0], <, UPMU_P4_ESCRS, k);
}

/* ---- Recipes ---- */

/* Intel SDM vol 3 table 19-33: tag value 1 with NBOGUS0; of the odd ESCR the next bit of either. */
static void execution_recipes_tag_upstream_with_a_bit_of_that_escr(void **state)
{
    static const struct {
        const char *name;
        uint64_t upstream;
    } recipes[] = {
        {"packed_SP_retired", 0x1100003c},  {"packed_DP_retired", 0x1900003c},  {"scalar_SP_retired", 0x1500003c},
        {"scalar_DP_retired", 0x1d00003c},  {"64_bit_MMX_retired", 0x0500003c}, {"128_bit_MMX_retired", 0x3500003c},
        {"X87_FP_retired", 0x0900003c},     {"X87_SIMD_memory_moves_retired", 0x5c00303c},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof recipes / sizeof recipes[0]; i++) {
        struct ways ways = ways_of(recipes[i].name, 0);

        assert_int_equal(ways.count, 4);
        for (unsigned k = 0; k < 4; k++) {
            const struct upmu_alternative *way = &ways.way[k];
            unsigned odd = way->slot[1].resource[0] & 1u;

            assert_int_equal(way->slot_count, 2);
            assert_true(way->helper);
            assert_int_equal(way->slot[1].resource[0], escr_named("MSR_FIRM_ESCR0") + odd);
            assert_int_equal(way->slot[1].value[0], odd ? recipes[i].upstream + 0x20 : recipes[i].upstream, i);
            assert_int_equal(way->slot[1].counters, odd ? 0xc00 : 0x300);
            assert_int_equal(way->slot[0].value[0], odd ? 0x1800040c : 0x1800020c);
        }
    }
    /* What is counted of the tagged is the counted ESCR's to say. */
    assert_int_equal(ways_of("packed_SP_retired:u", 0).way[0].slot[0].value[0], 0x18000204);
    assert_int_equal(ways_of("packed_SP_retired:u", 0).way[0].slot[1].value[0], 0x1100003c);
    assert_int_equal(ways_of("packed_SP_retired", 1).way[0].slot[1].value[0], 0x11000033);
}

/* One front-end tag: within a thread loads and stores have one ESCR between them. */
static void front_end_recipes_tag_in_their_threads_escr(void **state)
{
    (void)state;
    for (unsigned thread = 0; thread < 2; thread++)
        for (unsigned stores = 0; stores < 2; stores++) {
            struct ways ways = ways_of(stores ? "memory_stores" : "memory_loads", thread);

            assert_int_equal(ways.count, 2);
            for (unsigned k = 0; k < 2; k++) {
                assert_int_equal(ways.way[k].slot[1].resource[0], escr_named("MSR_RAT_ESCR0") + thread, k);
                assert_int_equal(ways.way[k].slot[1].value[0],
                                 (uint64_t)(stores ? 0x04000800 : 0x04000400) + (thread ? 3 : 12), k);
            }
        }
}

static void replay_recipes_hold_both_tag_registers(void **state)
{
    struct ways loads = ways_of("split_load_retired", 0), stores = ways_of("split_store_retired", 0);
    struct ways mob = ways_of("MOB_load_replay_retired", 0), misses = ways_of("L1-dcache-load-misses", 0);

    (void)state;
    assert_int_equal(loads.count, 2);
    assert_int_equal(wanted(&loads.way[0].slot[0], UPMU_P4_RESOURCE_PEBS_ENABLE), 0x01000400);
    assert_int_equal(wanted(&loads.way[0].slot[0], UPMU_P4_RESOURCE_MATRIX_VERT), 1);
    assert_int_equal(wanted(&stores.way[0].slot[0], UPMU_P4_RESOURCE_MATRIX_VERT), 2);
    /* Intel SDM vol 3 table 19-34: SAAT_ESCR1 for loads, SAAT_ESCR0 for stores. */
    assert_int_equal(loads.way[0].slot[1].resource[0], escr_named("MSR_SAAT_ESCR1"));
    assert_int_equal(stores.way[0].slot[1].resource[0], escr_named("MSR_SAAT_ESCR0"));
    assert_int_equal(mob.count, 4);
    assert_int_equal(misses.count, 2);
    assert_int_equal(misses.way[0].slot_count, 1);
}

/* Each way by its number, and by what the way before it says of it: the same. */
static unsigned check_hints(const struct upmu_event *event, unsigned thread)
{
    struct upmu_alternative way, next;
    unsigned twins = 0;

    for (unsigned i = 0; pmu.backend->alternative(&pmu, event, thread, i, &way); i++) {
        bool more = pmu.backend->alternative(&pmu, event, thread, i + 1, &next);

        if (way.twin) {
            twins++;
            assert_true(more && way.slot[0].counters && !way.pair_count);
            way.slot[0].counters = way.twin;
            way.slot[0].resource[0]++;
            assert_int_equal(next.slot_count, way.slot_count);
            assert_int_equal(next.helper, way.helper);
            assert_int_equal(next.dormant, way.dormant);
            for (unsigned k = 0; k < way.slot_count; k++) {
                assert_int_equal(next.slot[k].counters, way.slot[k].counters, k);
                assert_int_equal(next.slot[k].resource_count, way.slot[k].resource_count, k);
                for (unsigned j = 0; j < way.slot[k].resource_count; j++) {
                    assert_int_equal(next.slot[k].resource[j], way.slot[k].resource[j], k, j);
                    assert_int_equal(next.slot[k].value[j], way.slot[k].value[j], k, j);
                }
            }
        }
        for (unsigned k = i + 1 + (way.twin != 0); way.last && k < MOST_WAYS + 2; k++)
            assert_true(!pmu.backend->alternative(&pmu, event, thread, k, &next) || !next.slot[0].counters, k);
    }
    return twins;
}

static void what_a_way_says_of_the_next_one_holds(void **state)
{
    static const char *const texts[] = {
        "IOQ_active_entries:ALL_READ:OWN", "BSQ_allocation", "global_power_events", "memory_loads", "memory_stores",
        "packed_SP_retired", "1stL_cache_load_miss_retired", "MOB_load_replay_retired", "split_load_retired",
        "split_store_retired", "front_end_event:NBOGUS:cascade=uops_retired.NBOGUS", "uops_retired:NBOGUS:counter=17",
        "tc_deliver_mode", "BSQ_active_entries", "mob_load_replay_retired:pp"};
    unsigned twins = 0;

    (void)state;
    for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct upmu_event event;

        for (unsigned thread = 0; thread < 2; thread++)
            if (upmu_event_parse(&pmu, texts[i], &event, NULL) == UPMU_OK)
                twins += check_hints(&event, thread);
    }
    assert_in_range(twins, 15, 60);
}

static void occupancy_takes_both_escrs_of_its_unit_and_one_counter(void **state)
{
    struct ways ways = ways_of("IOQ_active_entries:ALL_READ:OWN", 0), bsq = ways_of("BSQ_active_entries", 1);

    (void)state;
    assert_int_equal(ways.count, 1);
    assert_int_equal(ways.way[0].slot_count, 1);
    assert_int_equal(ways.way[0].slot[0].counters, 0xc);
    assert_int_equal(wanted(&ways.way[0].slot[0], escr_named("MSR_FSB_ESCR1")), 0x3440400c);
    assert_int_equal(wanted(&ways.way[0].slot[0], escr_named("MSR_FSB_ESCR0")), 0x0640400c);
    /* The same as the allocation event wants, which so runs beside it. */
    assert_int_equal(wanted(&ways_of("IOQ_allocation:ALL_READ:OWN:e", 0).way[0].slot[0], escr_named("MSR_FSB_ESCR0")),
                     0x0640400c);
    assert_int_equal(wanted(&bsq.way[0].slot[0], escr_named("MSR_BSU_ESCR0")), 0x0a000000 | 0x3fef << 9 | 3);
}

static void a_tag_value_belongs_to_a_side(void **state)
{
    (void)state;
    assert_int_equal(event_of(&pmu, "packed_SP_uop:TAG0").counters, 0x300);
    assert_int_equal(event_of(&pmu, "packed_SP_uop:TAG1").counters, 0xc00);
    assert_int_equal(event_of(&pmu, "packed_SP_uop:TAG2").counters, 0x300);
    assert_int_equal(event_of(&pmu, "packed_SP_uop:TAG0:TAG1").counters, 0xf00);
    assert_int_equal(event_of(&pmu, "packed_SP_uop").counters, 0xf00);
}

/* Intel SDM vol 3 18.15.7: IQ_COUNTER4 makes records, for the second thread IQ_COUNTER5. */
static void each_thread_samples_precisely_on_a_counter_of_its_own(void **state)
{
    struct ways first = ways_of("replay_event:L1_LD_MISS:precise", 0);
    struct ways second = ways_of("replay_event:L1_LD_MISS:precise", 1);

    (void)state;
    assert_int_equal(first.count, 1);
    assert_int_equal(second.count, 1);
    assert_int_equal(first.way[0].slot[0].counters, 1u << 16);
    assert_int_equal(second.way[0].slot[0].counters, 1u << 17);
}

/* An ESCR changes only while the counters that look at it, or live by its tags, are closed. */
static void an_upstream_escr_is_guarded_by_the_counters_of_its_recipe(void **state)
{
    static const uint8_t counters[2][UPMU_SLOTS] = {{12, UPMU_NO_COUNTER, UPMU_NO_COUNTER},
                                                    {12, 8, UPMU_NO_COUNTER}};
    struct upmu_event event = event_of(&pmu, "packed_SP_retired");

    (void)state;
    for (unsigned helped = 0; helped < 2; helped++) {
        struct upmu_step steps[UPMU_IMAGE_STEPS];
        struct upmu_image image = upmu_image_on(&pmu, steps, UPMU_IMAGE_STEPS);

        pmu.backend->render(&pmu, &event, 0, counters[helped], 0, &image);
        assert_int_equal(image_guard(&image, UPMU_P4_ROW_ESCR + escr_named("MSR_FIRM_ESCR0")),
                         helped ? 1u << 12 | 1u << 8 : 1u << 12);
    }
}

/* ---- Cascades ---- */

static bool has_pair(const struct upmu_alternative *way, unsigned target, unsigned initiator)
{
    for (unsigned i = 0; i < way->pair_count; i++)
        if (way->pairs[i].first == target && way->pairs[i].second == initiator)
            return true;
    return false;
}

/* Intel SDM vol 3 18.15.5: initiators by bit 30, and by bit 11 from model 2 on. */
static void cascades_have_the_pairs_that_are_wired(void **state)
{
    static const unsigned by_bit_30[18] = {2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13, 14, 15};
    static const char *const by_group[4] = {"page_walk_type,cascade=ITLB_reference", "TC_misc,cascade=tc_ms_xfer",
                                            "memory_cancel,cascade=memory_complete",
                                            "branch_retired,cascade=instr_retired.nbogusntag"};
    struct upmu_alternative way = ways_of(by_group[3], 0).way[0];
    struct upmu_pmu old, *const models[] = {&pmu, &old};

    (void)state;
    assert_int_equal(upmu_pmu_by_name(&old, "p4_willamette"), UPMU_OK);
    assert_int_equal(way.slot_count, 2);
    assert_int_equal(way.dormant, 1);
    assert_false(way.helper);
    for (unsigned m = 0; m < 2; m++) {
        uint32_t initiators[18] = {0};

        for (unsigned group = 0; group < 4; group++) {
            struct upmu_event event = event_of(models[m], by_group[group]);

            assert_true(event.attributes & UPMU_ATTR_CASCADE);
            for (unsigned i = 0; pmu.backend->alternative(models[m], &event, 0, i, &way); i++)
                for (unsigned n = 0; n < 18; n++)
                    for (unsigned from = 0; from < 18; from++)
                        if ((way.slot[0].counters >> n & 1u) && (way.slot[1].counters >> from & 1u) &&
                            has_pair(&way, n, from))
                            initiators[n] |= 1u << from;
        }
        for (unsigned n = 0; n < 18; n++)
            for (unsigned from = 0; from < 18; from++) {
                bool extended = (n == 12 && from == 16) || (n == 15 && from == 17) || (n == 16 && from == 17) ||
                                (n == 17 && from == 16);

                assert_int_equal(initiators[n] >> from & 1u, by_bit_30[n] == from || (extended && !m), n, m);
            }
    }
}

static void a_target_names_its_initiator_by_the_bit_of_the_pair(void **state)
{
    static const struct {
        uint8_t target, initiator;
        uint64_t bit;
    } pairs[] = {{16, 14, UPMU_P4_CCCR_CASCADE}, {16, 17, UPMU_P4_CCCR_EXTENDED_CASCADE},
                 {12, 14, UPMU_P4_CCCR_CASCADE}};
    struct upmu_event event = event_of(&pmu, "branch_retired:MMTM,cascade=instr_retired.nbogusntag");

    (void)state;
    for (unsigned i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        const uint8_t counters[UPMU_SLOTS] = {pairs[i].target, pairs[i].initiator, UPMU_NO_COUNTER};
        struct upmu_step steps[UPMU_IMAGE_STEPS];
        struct upmu_image image = upmu_image_on(&pmu, steps, UPMU_IMAGE_STEPS);
        uint64_t target, initiator;

        pmu.backend->render(&pmu, &event, 0, counters, UPMU_RENDER_INTERRUPT, &image);
        target = image_value(&image, UPMU_P4_ROW_CCCR + pairs[i].target);
        initiator = image_value(&image, UPMU_P4_ROW_CCCR + pairs[i].initiator);
        /* Neither interrupts: targets cannot on models 0 to 2, an initiator's OVF must stay. */
        assert_int_equal(target, 0x3a000 | pairs[i].bit, i);
        assert_int_equal(initiator, 0x38000);
    }
}

/* ---- Two threads of one core ---- */

static void core_set_up(struct host *core, const char *const texts[2])
{
    host_prepare(core, "northwood");
    host_machine(core);
    host_take_over(core, 2, true);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(core->cpu[i].meter.thread, i);
        host_add(core, i, texts[i], 0);
        host_attach(core, i, i);
    }
    assert_int_equal(core->machine.pmu_count, 1);
}

static enum upmu_status core_start(struct host *core, unsigned i)
{
    upmu_sim_switch_cpu(&core->sim, i);
    return upmu_session_start(&core->sessions[i]);
}

static void a_thread_independent_event_of_two_owners_is_refused(void **state)
{
    static const char *const texts[2] = {"page_walk_type:DTMISS", "page_walk_type:ITMISS"};
    static struct host core;
    char words[200];

    (void)state;
    core_set_up(&core, texts);
    assert_int_equal(core_start(&core, 0), UPMU_OK);
    assert_int_equal(core_start(&core, 1), UPMU_ERR_DOES_NOT_FIT);
    (void)upmu_why_text(&core.sessions[1].why, words, sizeof words);
    assert_string_equal(words,
                        "page_walk_type:ITMISS needs both hyper-threads, which it cannot tell apart, in use by others");
    upmu_sim_switch_cpu(&core.sim, 0);
    assert_int_equal(upmu_session_stop(&core.sessions[0]), UPMU_OK);
    assert_int_equal(core_start(&core, 1), UPMU_OK);
    host_end(&core);
}

/* Each thread tags and counts what is its own; loads of one and stores of the other do not mix. */
static void two_threads_tag_in_escrs_of_their_own(void **state)
{
    static const char *const texts[2] = {"memory_loads,instr_retired", "memory_stores,instr_retired"};
    static struct host core;

    (void)state;
    core_set_up(&core, texts);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(core_start(&core, i), UPMU_OK, i);
    for (unsigned i = 0; i < 2; i++) {
        struct upmu_count counts[2];

        upmu_sim_switch_cpu(&core.sim, i);
        upmu_sim_work(&core.sim);
        assert_int_equal(upmu_set_read(&core.sessions[i].set, 0, 2, counts), UPMU_OK, i);
        assert_compare(counts[1].value, >=, 1000);
    }
    host_end(&core);
}

/* PEBS_ENABLE and PEBS_MATRIX_VERT hold one metric for the whole core. */
static void two_replay_metrics_never_run_together(void **state)
{
    static const char *const texts[2] = {"L1-dcache-load-misses", "dTLB-load-misses"};
    static struct host core;
    char words[200];

    (void)state;
    core_set_up(&core, texts);
    assert_int_equal(core_start(&core, 0), UPMU_OK);
    assert_int_equal(core_start(&core, 1), UPMU_ERR_DOES_NOT_FIT);
    (void)upmu_why_text(&core.sessions[1].why, words, sizeof words);
    assert_non_null(strstr(words, "in use by others"));
    host_end(&core);
}

/* ---- On the silicon model ---- */

static void every_event_runs_on_every_model_as_the_silicon_allows(void **state)
{
    static const char *const profiles[] = {"willamette", "northwood",       "northwood_smtoff", "prescott",
                                           "nocona",     "prescott_smtoff", "smithfield",       "cedarmill"};
    static struct host host;
    unsigned ran = 0, missing = 0;

    (void)state;
    for (unsigned i = 0; i < sizeof profiles / sizeof profiles[0]; i++) {
        struct upmu_event_id id;
        uint32_t cursor = 0;
        char name[UPMU_CATALOG_NAME];

        host_set_up(&host, profiles[i]);
        while (upmu_catalog_next(pmu.catalog, NULL, &cursor, &id, name, sizeof name, NULL) == UPMU_OK) {
            enum upmu_status status;

            assert_int_equal(upmu_session_init(&host.session, &host.machine), UPMU_OK);
            status = upmu_set_add(&host.session.set, name, NULL);
            if (status != UPMU_OK) {
                assert_int_equal(status, UPMU_ERR_UNSUPPORTED);
                missing++;
                continue;
            }
            host_begin(&host, &host.session);
            host_run(&host, 100);
            assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
            host_no_violation(&host);
            ran++;
        }
        host_end(&host);
    }
    assert_int_equal(missing, 3); /* instr_completed on models 1 and 2 */
    assert_compare(ran, >, 600);
}

static uint64_t counted_of(struct host *host, const char *text, const struct upmu_sim_burst *burst)
{
    uint64_t value;

    assert_int_equal(upmu_session_init(&host->session, &host->machine), UPMU_OK);
    assert_int_equal(upmu_set_add(&host->session.set, text, NULL), UPMU_OK);
    host_begin(host, &host->session);
    upmu_sim_events(&host->sim, burst);
    value = host_value(&host->session, 0);
    assert_int_equal(upmu_session_close(&host->session), UPMU_OK);
    host_no_violation(host);
    return value;
}

/* A model that knows the ESCRs and not the recipes counts what each recipe's name says. */
static void recipes_count_what_their_names_say(void **state)
{
    static const struct upmu_sim_burst burst = {
        .instructions = 5000, .cycles = 10000, .branches = 100, .mispredicts = 7, .uops = 6000, .loads = 800,
        .stores = 300, .ip = 0x1000, .ip_step = 1,
        .other = {{.count = 111, .escr = 0x3a4, .event = 0x08, .mask = 0x8000},
                  {.count = 222, .escr = 0x3a4, .event = 0x0e, .mask = 0x8000},
                  {.count = 55, .escr = 0x3cc, .event = 0x09, .mask = 1, .payload = 1u << 0, .matrix = 1},
                  {.count = 44, .escr = 0x3cc, .event = 0x09, .mask = 1, .payload = 1u << 2, .matrix = 2},
                  {.count = 33, .escr = 0x3cc, .event = 0x09, .mask = 1, .payload = 1u << 10, .matrix = 1}}};
    static const struct {
        const char *text;
        uint64_t counts;
    } recipes[] = {
        {"memory_loads", 800},
        {"memory_stores", 300},
        {"packed_SP_retired", 111},
        {"scalar_DP_retired", 222},
        {"packed_DP_retired", 0},
        {"packed_SP_retired:counter=14", 111},
        {"L1-dcache-load-misses", 55},
        {"DTLB_load_miss_retired", 0},
        {"DTLB_store_miss_retired", 44},
        {"DTLB_all_miss_retired", 44},
        {"split_load_retired", 33},
        {"nonsleep_clockticks", 10000},
        {"instructions", 5000},
        {"branches", 100},
        {"branch-misses", 7},
        {"cycles", 10000},
    };
    static struct host host;

    (void)state;
    host_set_up(&host, "northwood");
    for (unsigned i = 0; i < sizeof recipes / sizeof recipes[0]; i++)
        if (counted_of(&host, recipes[i].text, &burst) != recipes[i].counts)
            fail_msg("%s: %u", recipes[i].text, (unsigned)counted_of(&host, recipes[i].text, &burst));
    host_end(&host);
}

/* Two kinds at once, each by the tag of the ESCR that it got. */
static void two_execution_recipes_do_not_mix(void **state)
{
    static const struct upmu_sim_burst burst = {
        .instructions = 5000, .cycles = 10000, .uops = 6000, .ip = 0x1000, .ip_step = 1,
        .other = {{.count = 111, .escr = 0x3a4, .event = 0x08, .mask = 0x8000},
                  {.count = 222, .escr = 0x3a4, .event = 0x0e, .mask = 0x8000}}};
    static struct host host;

    (void)state;
    host_set_up(&host, "prescott");
    assert_int_equal(upmu_set_add(&host.session.set, "scalar_DP_retired packed_SP_retired instructions", NULL),
                     UPMU_OK);
    host_begin(&host, &host.session);
    upmu_sim_events(&host.sim, &burst);
    assert_int_equal(host_value(&host.session, 0), 222);
    assert_int_equal(host_value(&host.session, 1), 111);
    assert_int_equal(host_value(&host.session, 2), 5000);
    assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
    host_end(&host);
}

/* The initiator's overflow after 1000 uops starts the target. */
static void a_cascade_counts_from_the_overflow_of_its_initiator_on(void **state)
{
    static const struct upmu_sim_burst burst = {.instructions = 600, .cycles = 2000, .uops = 600, .ip_step = 1};
    static struct host host;
    struct upmu_count count;

    (void)state;
    host_set_up(&host, "northwood_smtoff");
    assert_int_equal(
        upmu_set_add(&host.session.set, "instr_retired:NBOGUSNTAG,cascade=uops_retired.nbogus,after=1000", NULL),
        UPMU_OK);
    host_begin(&host, &host.session);
    upmu_sim_events(&host.sim, &burst);
    assert_int_equal(upmu_set_read(&host.session.set, 0, 1, &count), UPMU_OK);
    assert_int_equal(count.quality, UPMU_QUALITY_NEVER_RAN);
    upmu_sim_events(&host.sim, &burst);
    assert_in_range(host_value(&host.session, 0), 199, 201);
    upmu_sim_events(&host.sim, &burst);
    assert_in_range(host_value(&host.session, 0), 799, 801);
    assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
    host_end(&host);
}

/* Linux clears CCCRs at its start: an OVF left set keeps the interrupt asserted. */
static void a_leftover_overflow_is_cleared_and_a_released_cccr_is_zero(void **state)
{
    static struct host host;
    uint64_t value;

    (void)state;
    host_prepare(&host, "northwood_smtoff");
    host.sim.cpu[0].irqs_on = false;
    host.sim.cpu[0].p4.cccr[12] = 0x80000000;
    host_start(&host);
    assert_int_equal(upmu_set_add(&host.session.set, "instructions:counter=12", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    host.sim.cpu[0].irqs_on = false;
    assert_true(host.sim.port.rdmsr(host.sim.port.context, 0x36c, &value) && value == 0x39000);
    assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
    assert_true(host.sim.port.rdmsr(host.sim.port.context, 0x36c, &value) && value == 0);
    host_end(&host);
}

/* A kernel's watchdog counts with CRU_ESCR0 on counter 12: neither is upmu's. */
static void what_a_watchdogs_counter_looks_at_is_left_alone(void **state)
{
    static struct host host;
    struct upmu_why *why = &host.session.why;
    uint64_t value;
    char words[200];

    (void)state;
    host_prepare(&host, "northwood_smtoff");
    host.sim.cpu[0].irqs_on = false;
    assert_true(host.sim.port.wrmsr(host.sim.port.context, 0x3b8, 0x0400020c));
    assert_true(host.sim.port.wrmsr(host.sim.port.context, 0x36c, 0x00039000));
    assert_true(host.sim.port.wrmsr(host.sim.port.context, 0x364, 0x04000000)); /* asks for interrupts only */
    host_start(&host);
    assert_int_equal(upmu_cpu_owner(&host.cpu[0], 12), UPMU_OWNER_FIRMWARE);
    assert_int_equal(upmu_cpu_owner(&host.cpu[0], 4), UPMU_OWNER_FIRMWARE);
    assert_int_equal(upmu_cpu_owner(&host.cpu[0], 5), UPMU_OWNER_FREE);
    assert_int_equal(upmu_set_add(&host.session.set, "branch-misses", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    assert_int_equal(host.session.set.tally[0].counter, 14); /* CRU_ESCR1 */
    assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
    assert_int_equal(upmu_session_init(&host.session, &host.machine), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.session.set, "branch-misses uops_retired", NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[0]), UPMU_ERR_DOES_NOT_FIT);
    (void)upmu_why_text(why, words, sizeof words);
    assert_non_null(strstr(words, "MSR_CRU_ESCR0, in use by others"));
    assert_true(host.sim.port.rdmsr(host.sim.port.context, 0x3b8, &value) && value == 0x0400020c);
    host_end(&host);
    assert_true(host.sim.port.rdmsr(host.sim.port.context, 0x36c, &value) && value == 0x00039000);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_stands_in_either_escr_of_its_unit),
        cmocka_unit_test(every_event_has_a_way_for_both_threads_within_limits),
        cmocka_unit_test(thread_independent_events_have_one_resource_each),
        cmocka_unit_test(execution_recipes_tag_upstream_with_a_bit_of_that_escr),
        cmocka_unit_test(front_end_recipes_tag_in_their_threads_escr),
        cmocka_unit_test(replay_recipes_hold_both_tag_registers),
        cmocka_unit_test(occupancy_takes_both_escrs_of_its_unit_and_one_counter),
        cmocka_unit_test(a_tag_value_belongs_to_a_side),
        cmocka_unit_test(cascades_have_the_pairs_that_are_wired),
        cmocka_unit_test(a_target_names_its_initiator_by_the_bit_of_the_pair),
        cmocka_unit_test(a_thread_independent_event_of_two_owners_is_refused),
        cmocka_unit_test(two_threads_tag_in_escrs_of_their_own),
        cmocka_unit_test(two_replay_metrics_never_run_together),
        cmocka_unit_test(every_event_runs_on_every_model_as_the_silicon_allows),
        cmocka_unit_test(recipes_count_what_their_names_say),
        cmocka_unit_test(two_execution_recipes_do_not_mix),
        cmocka_unit_test(a_cascade_counts_from_the_overflow_of_its_initiator_on),
        cmocka_unit_test(each_thread_samples_precisely_on_a_counter_of_its_own),
        cmocka_unit_test(what_a_way_says_of_the_next_one_holds),
        cmocka_unit_test(an_upstream_escr_is_guarded_by_the_counters_of_its_recipe),
        cmocka_unit_test(a_leftover_overflow_is_cleared_and_a_released_cccr_is_zero),
        cmocka_unit_test(what_a_watchdogs_counter_looks_at_is_left_alone),
    };

    return cmocka_run_group_tests_name("p4_events", tests, describe_northwood, NULL);
}
