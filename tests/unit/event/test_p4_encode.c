/* SPDX-License-Identifier: MIT */
/*
 * NetBurst: which CPUs have the PMU, what specifications and raw words mean, what is
 * refused and why, and canonical text.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/common/assertions.h"

#include "backends/x86_p4/p4_registers.h"
#include "core/hw/backend.h"
#include "core/util/bits.h"
#include "core/catalog/catalog.h"
#include "tests/common/garbage.h"
#include "tests/common/table.h"
#include <upmu/session.h>
#include <upmu/upmu.h>

enum { WILLAMETTE, NORTHWOOD, PRESCOTT, CEDARMILL, MODELS };
static struct upmu_pmu p4[MODELS];

static int describe_models(void **state)
{
    static const char *const names[MODELS] = {"p4_willamette", "netburst", "netburst_p", "p4_cedarmill"};

    (void)state;
    for (unsigned i = 0; i < MODELS; i++)
        if (upmu_pmu_by_name(&p4[i], names[i]) != UPMU_OK)
            return 1;
    return 0;
}

static struct upmu_event made(unsigned model, const char *text)
{
    struct upmu_event event;
    struct upmu_why why;
    char words[200];

    if (upmu_event_parse(&p4[model], text, &event, &why) != UPMU_OK) {
        (void)upmu_why_text(&why, words, sizeof words);
        fail_msg("%s: %s", text, words);
    }
    return event;
}

static uint64_t escr(const char *text)
{
    return made(PRESCOTT, text).config & 0xffffffff;
}

static uint64_t cccr(const char *text)
{
    return made(PRESCOTT, text).config >> 32;
}

static enum upmu_status answer(unsigned model, const char *text)
{
    struct upmu_event event, before;
    enum upmu_status status;

    memset(&event, 0x5a, sizeof event);
    before = event;
    status = upmu_event_parse(&p4[model], text, &event, NULL);
    if (status != UPMU_OK)
        assert_memory_equal(&event, &before, sizeof event);
    return status;
}

/* ---- Detection ---- */

struct fake_p4 {
    uint64_t misc_enable;
    bool readable;
    uint32_t leaf4_eax;
    unsigned reads;
};

static void fake_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    const struct fake_p4 *fake = context;

    (void)subleaf;
    memset(out, 0, 4 * sizeof out[0]);
    assert_int_equal(leaf, 4);
    out[0] = fake->leaf4_eax;
}

static bool fake_rdmsr(void *context, uint32_t msr, bool promised, uint64_t *out_value)
{
    struct fake_p4 *fake = context;

    assert_int_equal(msr, 0x1a0);
    assert_true(promised);
    fake->reads++;
    *out_value = fake->misc_enable;
    return garbage_unless(fake->readable, out_value);
}

/* `threads`: logical CPUs of the package; 0: the flag HTT is clear. */
static struct upmu_detection detection_of(struct fake_p4 *fake, unsigned model, unsigned stepping, unsigned threads,
                                          unsigned apic_id)
{
    struct upmu_detection detection = {.context = fake, .cpuid = fake_cpuid, .rdmsr = fake_rdmsr, .family = 15,
                                       .model = (uint16_t)model, .stepping = (uint8_t)stepping};

    memcpy(&detection.leaf0[1], "GenuntelineI", 12);
    detection.leaf0[0] = model >= 3 ? 5 : 2;
    detection.leaf1[1] = apic_id << 24 | threads << 16;
    detection.leaf1[3] = threads ? UPMU_BIT32(28) : 0;
    return detection;
}

static void family_15_of_intel_with_its_flag_set_is_a_pentium_4(void **state)
{
    static const char *const names[] = {"netburst", "netburst", "netburst", "netburst_p", "netburst_p", NULL,
                                        "netburst_p", NULL};
    struct fake_p4 fake = {.misc_enable = 0x80, .readable = true};
    struct upmu_pmu pmu;

    (void)state;
    for (unsigned model = 0; model < 8; model++) {
        struct upmu_detection detection = detection_of(&fake, model, 5, 0, 0);

        assert_int_equal(p4[0].backend->detect(&detection, &pmu), names[model] != NULL);
        if (!names[model])
            continue;
        assert_string_equal(pmu.name, names[model]);
        assert_int_equal(pmu.family, 15);
        assert_int_equal(pmu.model, model);
        assert_int_equal(pmu.stepping, 5);
        assert_int_equal(pmu.counters, 0x3ffff);
        /* IQ_ESCR0/1: models 0 to 2 only; writing them crashed a model 3. */
        assert_int_equal(upmu_register_name(&pmu, UPMU_P4_ROW_ESCR + UPMU_P4_IQ_ESCR0) != NULL, model < 3);
        assert_int_equal(pmu.preference_count, 18);
        assert_int_equal(pmu.preference[17], 1);
        for (unsigned n = 0; n < 17; n++)
            assert_int_equal(pmu.preference[n], n < 1 ? n : n + 1, n);
        /* perfctr 2.6.42: loads of -8 to -1 interrupt one instruction for ever. */
        assert_compare(pmu.min_period, >, 8);
        assert_true(pmu.capabilities & UPMU_PMU_REARM_LAST);
    }
}

static void what_lacks_the_flag_or_only_borrows_the_number_is_none(void **state)
{
    struct fake_p4 fake = {.misc_enable = 0x80, .readable = true};
    struct upmu_detection detection = detection_of(&fake, 2, 9, 0, 0);
    struct upmu_pmu pmu;

    (void)state;
    /* QEMU's qemu32 and the like: family 15, MISC_ENABLE 1 or a fault. */
    fake.misc_enable = 1;
    assert_false(p4[0].backend->detect(&detection, &pmu));
    fake.misc_enable = 0x80;
    fake.readable = false;
    assert_false(p4[0].backend->detect(&detection, &pmu));
    fake.readable = true;
    fake.reads = 0;
    detection.family = 6;
    assert_false(p4[0].backend->detect(&detection, &pmu));
    detection.family = 15;
    memcpy(&detection.leaf0[1], "AuthcAMDenti", 12);
    assert_false(p4[0].backend->detect(&detection, &pmu));
    assert_int_equal(fake.reads, 0);
    detection = detection_of(&fake, 2, 9, 0, 0);
    detection.hypervisor = true;
    assert_true(p4[0].backend->detect(&detection, &pmu));
    assert_true(pmu.capabilities & UPMU_PMU_HYPERVISOR);
}

static void without_pebs_there_are_no_replay_tags(void **state)
{
    struct fake_p4 fake = {.misc_enable = 0x1080, .readable = true};
    struct upmu_detection detection = detection_of(&fake, 2, 9, 0, 0);
    struct upmu_event event;
    struct upmu_pmu pmu;

    (void)state;
    assert_true(p4[0].backend->detect(&detection, &pmu));
    pmu.backend = p4[0].backend;
    upmu_pmu_find_catalog(&pmu);
    assert_null(upmu_register_name(&pmu, UPMU_P4_ROW_PEBS_ENABLE));
    assert_null(upmu_register_name(&pmu, UPMU_P4_ROW_MATRIX_VERT));
    assert_int_equal(upmu_event_parse(&pmu, "L1-dcache-load-misses", &event, NULL), UPMU_ERR_UNSUPPORTED);
    assert_int_equal(upmu_event_parse(&pmu, "packed_SP_retired", &event, NULL), UPMU_OK);
}

/* perfctr 2.6.42: threads of a core = logical CPUs of the package / cores of leaf 4. */
static void hyper_threads_are_numbered_within_their_core(void **state)
{
    static const struct {
        unsigned model, logical, cores, apic_id, thread;
        bool shared;
    } cases[] = {
        {2, 0, 1, 0, 0, false}, {2, 1, 1, 1, 0, false}, {2, 2, 1, 0, 0, true},  {2, 2, 1, 1, 1, true},
        {2, 2, 1, 6, 0, true},  {3, 2, 1, 7, 1, true},  {4, 2, 2, 0, 0, false}, {4, 2, 2, 1, 0, false},
        {6, 4, 2, 1, 1, true},  {6, 4, 2, 2, 0, true},  {6, 4, 2, 3, 1, true},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fake_p4 fake = {.misc_enable = 0x80, .readable = true, .leaf4_eax = (cases[i].cores - 1) << 26};
        struct upmu_detection detection =
            detection_of(&fake, cases[i].model, 4, cases[i].logical, cases[i].apic_id);
        struct upmu_pmu pmu;

        assert_int_equal(p4[0].backend->thread(&detection), cases[i].thread, i);
        assert_true(p4[0].backend->detect(&detection, &pmu));
        /* Bits of a second thread exist where there is one. */
        assert_int_equal(pmu.limit[UPMU_P4_CLASS_ESCR] & 3, cases[i].shared ? 3 : 0, i);
        assert_int_equal(!!(pmu.limit[UPMU_P4_CLASS_CCCR] & UPMU_P4_CCCR_OVF_PMI_T1), cases[i].shared, i);
    }
}

/* ---- The classic ---- */

static void row_12_of_branch_retired_is_classic_and_row_18_is_refused(void **state)
{
    struct upmu_event event = made(NORTHWOOD, "12 p4-branch-retired,mask=mmtm+mmnm");
    struct upmu_alternative way;
    struct upmu_step steps[UPMU_IMAGE_STEPS];
    struct upmu_image image = upmu_image_on(&p4[NORTHWOOD], steps, UPMU_IMAGE_STEPS);
    const uint8_t counters[UPMU_SLOTS] = {12, UPMU_NO_COUNTER, UPMU_NO_COUNTER};
    struct upmu_why why;
    char words[100];

    (void)state;
    assert_int_equal(event.counters, 1u << 12);
    assert_true(p4[NORTHWOOD].backend->alternative(&p4[NORTHWOOD], &event, 0, 0, &way));
    assert_int_equal(way.slot[0].counters, 1u << 12);
    p4[NORTHWOOD].backend->render(&p4[NORTHWOOD], &event, 0, counters, 0, &image);
    assert_int_equal(image.count, 2);
    for (unsigned i = 0; i < 2; i++) {
        uint32_t address = upmu_register_address(&p4[NORTHWOOD], steps[i].row);

        assert_true(address == 0x36c ? (steps[i].value | UPMU_P4_CCCR_ENABLE) == 0x3b000
                                     : address == 0x3cc && steps[i].value == 0x0c00140c, i);
    }
    assert_int_equal(upmu_register_address(&p4[NORTHWOOD], p4[NORTHWOOD].counter[12].value_row), 0x30c);
    assert_int_equal(upmu_event_parse(&p4[NORTHWOOD], "18 p4-branch-retired", &event, &why), UPMU_ERR_BAD_VALUE);
    (void)upmu_why_text(&why, words, sizeof words);
    assert_string_equal(words, "\"18\": value out of range");
    assert_int_equal(answer(NORTHWOOD, "0 p4-branch-retired"), UPMU_ERR_DOES_NOT_FIT);
    assert_int_equal(made(NORTHWOOD, "17 p4-branch-retired").counters, 1u << 17);
}

/* ---- Keywords ---- */

static void keywords_set_their_fields(void **state)
{
    (void)state;
    assert_int_equal(cccr("cycles"), 0x3c000);
    assert_int_equal(cccr("p4-global-power-events,threshold=3"), 0x37c000);
    assert_int_equal(cccr("cycles:thr=3"), 0x37c000);
    assert_int_equal(cccr("p4-global-power-events,threshold=3,complement"), 0x3fc000);
    assert_int_equal(cccr("cycles:cmpl:c=3"), 0x3fc000);
    assert_int_equal(cccr("p4-global-power-events,edge"), 0x103c000 + 0x40000); /* COMPARE: nothing to see without */
    assert_int_equal(cccr("cycles:c=0"), 0x7c000);
    assert_int_equal(cccr("p4-global-power-events,active=none"), 0xc000);
    assert_int_equal(cccr("p4-global-power-events,active=single"), 0x1c000);
    assert_int_equal(cccr("p4-global-power-events,active=both"), 0x2c000);
    assert_int_equal(cccr("p4-global-power-events,active=any"), 0x3c000);
    assert_int_equal(escr("cycles"), 0x2600020c);
    assert_int_equal(escr("p4-global-power-events,usr"), 0x26000204);
    assert_int_equal(escr("p4-global-power-events,os"), 0x26000208);
    assert_int_equal(escr("cycles:u=0"), 0x26000208);
    assert_int_equal(escr("cycles:uk"), 0x2600020c);
    assert_int_equal(escr("cycles:any:u"), 0x26000205);
    assert_int_equal(escr("p4-packed-sp-uop,tag=5"), 0x110000bc);
    assert_int_equal(escr("packed_SP_uop:TAG2"), 0x1100009c);
    assert_int_equal(escr("p4-ioq-allocation,busreqtype=5"), 0x06000a0c);
    assert_int_equal(escr("p4-ioq-allocation,mask=own+all-read,busreqtype=0x1f"), 0x06407e0c);
    assert_int_equal(answer(PRESCOTT, "p4-ioq-allocation,busreqtype=32"), UPMU_ERR_BAD_VALUE);
    assert_int_equal(answer(PRESCOTT, "p4-packed-sp-uop,tag=16"), UPMU_ERR_BAD_VALUE);
    assert_int_equal(answer(PRESCOTT, "p4-instr-retired,tag=1"), UPMU_ERR_NO_SUCH_ATTRIBUTE);
    assert_int_equal(answer(PRESCOTT, "p4-instr-retired,busreqtype=1"), UPMU_ERR_NO_SUCH_ATTRIBUTE);
    assert_int_equal(answer(PRESCOTT, "cycles:c=16"), UPMU_ERR_BAD_VALUE);
    assert_int_equal(answer(PRESCOTT, "cycles:c=1:c=2"), UPMU_ERR_CONTRADICTION);
    assert_int_equal(answer(PRESCOTT, "nonsleep_clockticks:c=2"), UPMU_ERR_CONTRADICTION);
    assert_int_equal(answer(PRESCOTT, "cycles:u=0:k=0"), UPMU_ERR_CONTRADICTION);
    assert_int_equal(answer(PRESCOTT, "cycles:active=many"), UPMU_ERR_BAD_VALUE);
    assert_int_equal(answer(PRESCOTT, "cycles:active=both:active=any"), UPMU_ERR_CONTRADICTION);
    assert_int_equal(answer(PRESCOTT, "branches,cascade,after=0"), UPMU_ERR_BAD_VALUE);
    assert_int_equal(answer(PRESCOTT, "branches,cascade,after=0x8000000000"), UPMU_ERR_BAD_VALUE);
    assert_int_equal(answer(PRESCOTT, "branches,cascade,after=5:after=6"), UPMU_ERR_CONTRADICTION);
    assert_int_equal(answer(PRESCOTT, "L1-dcache-load-misses,cascade=uops_retired,after=5"), UPMU_ERR_CONTRADICTION);
    assert_int_equal(answer(PRESCOTT, "branches,after=5"), UPMU_ERR_UNSUPPORTED);
    assert_int_equal(answer(PRESCOTT, "cycles:frontend=1"), UPMU_ERR_NO_SUCH_ATTRIBUTE);
    assert_int_equal(answer(PRESCOTT, "instr_retired:NBOGUSNTAGS"), UPMU_ERR_NO_SUCH_MASK);
    assert_int_equal(answer(PRESCOTT, "p4-p4-instr-retired"), UPMU_ERR_NO_SUCH_EVENT);
    assert_int_equal(answer(PRESCOTT, "p4-"), UPMU_ERR_NO_SUCH_EVENT);
    assert_int_equal(answer(PRESCOTT, "p4"), UPMU_ERR_NO_SUCH_EVENT);
}

/* Intel SDM vol 3 18.16: ACTIVE_THREAD must be 3 and T1 bits 0 where there is no second thread. */
static void without_a_second_thread_nothing_of_it_can_be_asked(void **state)
{
    (void)state;
    assert_int_equal(answer(WILLAMETTE, "cycles:active=any"), UPMU_OK);
    assert_int_equal(answer(WILLAMETTE, "cycles:active=both"), UPMU_ERR_UNSUPPORTED);
    assert_int_equal(answer(WILLAMETTE, "cycles,any"), UPMU_ERR_NO_SUCH_ATTRIBUTE);
    assert_int_equal(answer(WILLAMETTE, "raw:escr=0x2600020f:cccr=0x3d000"), UPMU_ERR_BAD_VALUE);
    assert_int_equal(made(WILLAMETTE, "raw:escr=0x2600020c:cccr=0xd000").config >> 32, 0x3c000);
}

static void below_signature_f27_bus_allocations_have_one_escr(void **state)
{
    struct fake_p4 fake = {.misc_enable = 0x80, .readable = true};

    (void)state;
    for (unsigned stepping = 4; stepping < 10; stepping++) {
        struct upmu_detection detection = detection_of(&fake, 2, stepping, 0, 0);
        struct upmu_event event;
        struct upmu_pmu pmu;

        assert_true(p4[0].backend->detect(&detection, &pmu));
        pmu.backend = p4[0].backend;
        upmu_pmu_find_catalog(&pmu);
        assert_int_equal(upmu_event_parse(&pmu, "IOQ_allocation", &event, NULL), UPMU_OK);
        assert_int_equal(event.counters, stepping < 7 ? 0x3 : 0xf);
    }
}

static void models_have_the_events_that_they_have(void **state)
{
    (void)state;
    assert_int_equal(answer(NORTHWOOD, "instr_completed"), UPMU_ERR_UNSUPPORTED);
    assert_int_equal(answer(PRESCOTT, "instr_completed"), UPMU_OK);
    assert_int_equal(answer(CEDARMILL, "instr_completed"), UPMU_OK);
    /* Below signature F27h IOQ_allocation is counted by FSB_ESCR0 only: even counters. */
    assert_int_equal(made(NORTHWOOD, "IOQ_allocation").counters, 0xf);
    assert_int_equal(made(WILLAMETTE, "IOQ_allocation").counters, 0x3);
    assert_int_equal(made(WILLAMETTE, "cycles").counters, 0xf);
    assert_int_equal(made(PRESCOTT, "BSQ_allocation").counters, 0x3);
    assert_int_equal(made(PRESCOTT, "BSQ_active_entries").counters, 0xc);
}

static void masks_that_cannot_be_counted_together_are_refused(void **state)
{
    (void)state;
    assert_int_equal(answer(PRESCOTT, "machine_clear:CLEAR:SMCLEAR"), UPMU_ERR_MASKS_EXCLUSIVE);
    assert_int_equal(answer(PRESCOTT, "FSB_data_activity:DRDY_OWN:DRDY_OTHER"), UPMU_ERR_MASKS_EXCLUSIVE);
    assert_int_equal(answer(PRESCOTT, "p4-fsb-data-activity,mask=dbsy-own+dbsy-other"), UPMU_ERR_MASKS_EXCLUSIVE);
    assert_int_equal(answer(PRESCOTT, "FSB_data_activity:DRDY_OWN:DBSY_OTHER"), UPMU_OK);
    assert_int_equal(answer(PRESCOTT, "replay_event:L1_LD_MISS:L2_LD_MISS"), UPMU_ERR_MASKS_EXCLUSIVE);
}

static void precise_events_are_the_three_that_count_tags(void **state)
{
    (void)state;
    assert_int_equal(made(PRESCOTT, "replay_event:L1_LD_MISS:precise").counters, 3u << 16);
    assert_int_equal(made(PRESCOTT, "p4-execution-event,precise").counters, 3u << 16);
    assert_int_equal(answer(PRESCOTT, "instructions:precise"), UPMU_ERR_NOT_PRECISE);
    assert_int_equal(answer(PRESCOTT, "p4-branch-retired,precise"), UPMU_ERR_NOT_PRECISE);
    assert_int_equal(answer(PRESCOTT, "12 p4-replay-event,precise"), UPMU_ERR_DOES_NOT_FIT);
}

/* ---- Raw words ---- */

static void raw_words_are_checked_against_the_registers(void **state)
{
    struct upmu_event event;

    (void)state;
    assert_int_equal(upmu_event_raw(&p4[PRESCOTT], UINT64_C(0x3b0000c00140c), 0, 0, &event), UPMU_OK);
    assert_int_equal(event.counters, 0x3f000);
    assert_int_equal(event.config, UINT64_C(0x3a0000c00140c));
    /* OVF, OVF_PMI and ENABLE are the library's. */
    assert_int_equal(upmu_event_raw(&p4[PRESCOTT], UINT64_C(0x8c03b0000c00140c), 0, 0, &event), UPMU_OK);
    assert_int_equal(event.config, UINT64_C(0x3a0000c00140c));
    /* ESCR bit 31, tag bits that CRU_ESCR2 lacks, undocumented CCCR bits, a select that is not wired. */
    assert_int_equal(upmu_event_raw(&p4[PRESCOTT], UINT64_C(0x3b0008c00140c), 0, 0, &event), UPMU_ERR_NOT_PERMITTED);
    assert_int_equal(upmu_event_raw(&p4[PRESCOTT], UINT64_C(0x3b0000c00143c), 0, 0, &event), UPMU_ERR_NOT_PERMITTED);
    assert_int_equal(upmu_event_raw(&p4[PRESCOTT], UINT64_C(0x3b1000c00140c), 0, 0, &event), UPMU_ERR_NOT_PERMITTED);
    assert_int_equal(answer(PRESCOTT, "raw:escr=0x0c00140c:cccr=0x3b000:counter=4"), UPMU_ERR_BAD_VALUE);
    /* Record bits of PEBS_ENABLE: never. */
    assert_int_equal(answer(PRESCOTT, "raw:escr=0x1200020c:cccr=0x3b000:pebs=0x1000001:vert=1"), UPMU_OK);
    assert_int_equal(answer(PRESCOTT, "raw:escr=0x1200020c:cccr=0x3b000:pebs=0x3000001:vert=1"), UPMU_ERR_BAD_VALUE);
    assert_int_equal(answer(PRESCOTT, "raw:escr=0x1200020c:cccr=0x3b000:vert=0x2000"), UPMU_ERR_BAD_VALUE);
    assert_int_equal(answer(PRESCOTT, "raw:escr=0x10000000c:cccr=0x3b000"), UPMU_ERR_BAD_VALUE);
    assert_int_equal(made(PRESCOTT, "raw:cccr=0x3b000:escr=0x0c00140c").config,
                     made(PRESCOTT, "raw:config=0x3b0000c00140c").config);
    /* IQ_ESCR0/1 (select 0 of the IQ group): on models 0 to 2. */
    assert_int_equal(answer(NORTHWOOD, "raw:escr=0x0200020c:cccr=0x31000:counter=12"), UPMU_OK);
    assert_int_equal(answer(PRESCOTT, "raw:escr=0x0200020c:cccr=0x31000:counter=12"), UPMU_ERR_BAD_VALUE);
    /* There is no SSU_ESCR1. */
    assert_int_equal(made(PRESCOTT, "raw:escr=0x0200020c:cccr=0x37000:counter=12").counters, 1u << 12);
    assert_int_equal(answer(PRESCOTT, "raw:escr=0x0200020c:cccr=0x37000:counter=14"), UPMU_ERR_DOES_NOT_FIT);
}

/* tc_deliver_mode and resource_stall have one code and one select, in two groups. */
static void a_pin_says_which_of_two_equal_codes_is_meant(void **state)
{
    (void)state;
    assert_int_equal(made(PRESCOTT, "raw:escr=0x0200400c:cccr=0x33000").counters, 0xf0);
    assert_int_equal(made(PRESCOTT, "raw:escr=0x0200400c:cccr=0x33000:counter=13").counters, 1u << 13);
    assert_int_equal(made(PRESCOTT, "resource_stall").counters, 0x3f000);
    assert_int_equal(made(PRESCOTT, "tc_deliver_mode").counters, 0xf0);
}

/* ---- Text ---- */

static void round_trip(unsigned model, const char *text)
{
    struct upmu_event event = made(model, text), again;
    char canonical[256];

    assert_compare(upmu_event_format(&p4[model], &event, canonical, sizeof canonical), <, sizeof canonical, model);
    again = made(model, canonical);
    if (memcmp(&event, &again, sizeof event) != 0)
        fail_msg("%s became %s", text, canonical);
}

static void canonical_text_encodes_to_the_same_event(void **state)
{
    static const char *const texts[] = {
        "cycles:u", "instructions:k:c=3:e:i", "cycles:active=both", "cycles:any:u", "nonsleep_clockticks",
        "packed_SP_retired:u", "split_load_retired", "IOQ_active_entries:OWN", "p4-ioq-allocation,busreqtype=3",
        "p4_branch_retired:MMTM:cascade=p4-uops-retired.nbogus", "P4-Instr-Retired,mask=nbogusntag",
        "packed_DP_uop:TAG1:TAG3", "replay_event:BOGUS:BR_MSP:precise", "12 p4-branch-retired,mask=mmtm",
        "instr_retired:cascade=uops_retired.nbogus", "branch_retired:MMTM:cascade", "machine_clear:umask=4",
        "branches,cascade=p4-uops-retired,after=100000",
        "raw:escr=0x0400060c:cccr=0x40039000:config1=0x390000200020c:config2=0x8000000000000064",
        "raw:escr=0x0200400c:cccr=0x33000:counter=13", "raw:config=0x3a0000c00140c:k",
        "raw:escr=0x1200020c:cccr=0x3b000:pebs=0x1000400:vert=1:escr1=0x800040c:cccr1=0x34000",
        "raw:escr=0x0400060c:cccr=0x40039000:escr1=0x0200020c:cccr1=0x39000", "cycles:c=0",
    };
    char name[UPMU_CATALOG_NAME];
    const struct upmu_catalog *catalog = p4[PRESCOTT].catalog;
    struct upmu_event_id id;
    uint32_t cursor = 0;
    unsigned listed = 0;

    (void)state;
    for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++)
        round_trip(PRESCOTT, texts[i]);
    while (upmu_catalog_next(catalog, NULL, &cursor, &id, name, sizeof name, NULL) == UPMU_OK) {
        struct upmu_row row;
        char text[160];

        round_trip(PRESCOTT, name);
        assert_true(upmu_catalog_row(catalog, id.row, &row));
        for (unsigned mask = 0; mask < row.mask_count; mask++) {
            char mask_name[40];

            (void)upmu_catalog_mask_name(catalog, id.row, mask, mask_name, sizeof mask_name);
            snprintf(text, sizeof text, "%s:u", name);
            round_trip(PRESCOTT, text);
            if (upmu_catalog_row_name(catalog, id.row, text, sizeof text) && strchr(name, ':') == NULL) {
                strcat(text, ":");
                strcat(text, mask_name);
                round_trip(PRESCOTT, text);
            }
        }
        listed++;
    }
    assert_compare(listed, >, 80);
}

static void generic_names_mean_netbursts_events(void **state)
{
    static const struct {
        const char *name, *means;
    } names[] = {
        {"cycles", "global_power_events:RUNNING"},
        {"unhalted-cycles", "p4-global-power-events"},
        {"instructions", "instr_retired:NBOGUSNTAG:NBOGUSTAG"},
        {"branches", "branch_retired:MMNP:MMNM:MMTP:MMTM"},
        {"branch-misses", "mispred_branch_retired:NBOGUS"},
        {"branch-mispredicts", "p4-mispred-branch-retired"},
        {"cache-misses", "BSQ_cache_reference:RD_2ndL_MISS"},
        {"L1-dcache-load-misses", "1stL_cache_load_miss_retired"},
        {"dTLB-load-misses", "DTLB_load_miss_retired"},
        {"iTLB-load-misses", "p4-itlb-reference,mask=miss"},
        {"uops_type:TAGLOADS", "p4-uop-type,mask=tagloads"},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct upmu_event a = made(NORTHWOOD, names[i].name), b = made(NORTHWOOD, names[i].means);

        assert_true(a.config == b.config && a.config1 == b.config1 && a.config2 == b.config2);
        assert_memory_equal(&a.id, &b.id, sizeof a.id);
    }
    /* Intel SDM vol 3 18.17: COMPARE, COMPLEMENT, threshold 15 count every clock while either thread is awake. */
    assert_int_equal(cccr("nonsleep_clockticks"), 0xffa000);
}

/* ---- The manual ---- */

/* What a cell of a table holds between backquotes. */
static bool quoted_cell(const char *line, char *out, size_t size)
{
    const char *begin = strncmp(line, "| `", 3) == 0 ? line + 3 : NULL;
    const char *end = begin ? strchr(begin, '`') : NULL;

    if (!end || strncmp(end, "` |", 3) != 0)
        return false;
    snprintf(out, size, "%.*s", (int)(end - begin), begin);
    return true;
}

/* Recipes of docs/pentium4.md are placed; what it says is refused is, in its words. */
static void the_manuals_recipes_hold(void **state)
{
    FILE *manual = source_open("docs/pentium4.md");
    char line[400], text[200], words[300];
    unsigned placed = 0, refused = 0;
    bool recipes = false;

    (void)state;
    while (fgets(line, sizeof line, manual)) {
        static struct upmu_session session;
        static struct upmu_machine machine;
        struct upmu_write writes[64];
        struct upmu_dry_run dry = {writes, 64, 0};
        const char *reason;
        enum upmu_status status;

        if (line[0] == '#')
            recipes = strncmp(line, "## Recipes", 10) == 0;
        if (!recipes || !quoted_cell(line, text, sizeof text))
            continue;
        memset(&machine, 0, sizeof machine);
        machine.pmu[0] = p4[PRESCOTT];
        machine.pmu_count = 1;
        machine.port = &(const struct upmu_port){.context = NULL};
        assert_int_equal(upmu_session_init(&session, &machine), UPMU_OK);
        status = upmu_set_add(&session.set, text, NULL);
        if (status == UPMU_OK)
            status = upmu_session_dry_run(&session, &machine.pmu[0], &dry);
        (void)upmu_why_text(&session.why, words, sizeof words);
        reason = strstr(line, "` | ") + 4;
        line[strcspn(line, "\n") - 2] = '\0';
        if (status == UPMU_OK) {
            placed++;
            continue;
        }
        if (strcmp(words, reason) != 0)
            fail_msg("%s: %s", text, words);
        refused++;
    }
    fclose(manual);
    assert_int_equal(placed, 15);
    assert_int_equal(refused, 10);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_manuals_recipes_hold),
        cmocka_unit_test(family_15_of_intel_with_its_flag_set_is_a_pentium_4),
        cmocka_unit_test(what_lacks_the_flag_or_only_borrows_the_number_is_none),
        cmocka_unit_test(without_pebs_there_are_no_replay_tags),
        cmocka_unit_test(hyper_threads_are_numbered_within_their_core),
        cmocka_unit_test(row_12_of_branch_retired_is_classic_and_row_18_is_refused),
        cmocka_unit_test(keywords_set_their_fields),
        cmocka_unit_test(without_a_second_thread_nothing_of_it_can_be_asked),
        cmocka_unit_test(below_signature_f27_bus_allocations_have_one_escr),
        cmocka_unit_test(models_have_the_events_that_they_have),
        cmocka_unit_test(masks_that_cannot_be_counted_together_are_refused),
        cmocka_unit_test(precise_events_are_the_three_that_count_tags),
        cmocka_unit_test(raw_words_are_checked_against_the_registers),
        cmocka_unit_test(a_pin_says_which_of_two_equal_codes_is_meant),
        cmocka_unit_test(canonical_text_encodes_to_the_same_event),
        cmocka_unit_test(generic_names_mean_netbursts_events),
    };

    return cmocka_run_group_tests_name("p4_encode", tests, describe_models, NULL);
}
