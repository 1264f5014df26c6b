/* SPDX-License-Identifier: MIT */
/*
 * Instruction-based sampling on the silicon model: each sample once, with its registers;
 * errata 420, 1197, 1293; late interrupts; a PMU without units is reported.
 */
#include "backends/amd_k8/amd_k8.h"
#include "tests/common/garbage.h"
#include "tests/common/host.h"

#include <stdio.h>

#define SAMPLES 64u

static struct upmu_ibs_sample samples[2][SAMPLES];

static const char *const profiles[] = {"barcelona", "shanghai", "llano", "bobcat", "bulldozer", "jaguar", "zen1",
                                       "hygon",     "zen2",     "zen3",  "zen4",   "zen5",      "zen6"};
#define PROFILES (sizeof profiles / sizeof profiles[0])

static struct upmu_ibs unit(enum upmu_ibs_kind kind, uint32_t period)
{
    return (struct upmu_ibs){.kind = kind, .period = period, .samples = samples[kind], .capacity = SAMPLES};
}

static unsigned drain(struct upmu_ibs *ibs, struct upmu_ibs_sample *out_last)
{
    struct upmu_ibs_sample sample;
    unsigned count = 0;

    while (upmu_ibs_next(ibs, &sample)) {
        assert_int_equal(sample.kind, ibs->kind);
        assert_int_equal(sample.lost, 0);
        count++;
        *out_last = sample;
    }
    return count;
}

static void set_up(struct host *host, const char *profile)
{
    host_prepare(host, profile);
    /* What firmware does from family 12h on and the host on family 10h: an entry of the extended LVT. */
    host->sim.cpu[0].amd.ibs[0xa] = 0x101;
    host_start(host);
}

static void both_units_take_a_sample_each_period(void **state)
{
    (void)state;
    for (unsigned i = 0; i < PROFILES; i++)
        for (unsigned skid = 0; skid < 17; skid += 8) {
            struct upmu_ibs fetch = unit(UPMU_IBS_FETCH, 1600), op = unit(UPMU_IBS_OP, 3200);
            struct upmu_ibs_sample last;
            struct host host;

            set_up(&host, profiles[i]);
            host.sim.skid = skid;
            assert_int_equal(upmu_ibs_start(&host.cpu[0], &fetch), UPMU_OK);
            for (unsigned round = 0; round < 10; round++)
                host_run(&host, 1650);
            assert_in_range(drain(&fetch, &last), skid ? 9 : 10, 10);
            assert_true(last.registers[UPMU_IBS_FETCH_CTL] >> 49 & 1);
            assert_in_range(last.registers[UPMU_IBS_FETCH_LINEAR], 0x1000, 0x2000);
            assert_in_range(last.ip, 0x1000, 0x2000);
            assert_int_equal(last.flags, 0);
            assert_int_equal(upmu_ibs_start(&host.cpu[0], &op), UPMU_OK);
            assert_int_equal(upmu_ibs_stop(&host.cpu[0], &fetch), UPMU_OK);
            for (unsigned round = 0; round < 10; round++)
                host_run(&host, 1650); /* twice as many cycles */
            assert_in_range(drain(&op, &last), skid ? 9 : 10, 10);
            assert_true(last.registers[UPMU_IBS_OP_CTL] >> 18 & 1);
            assert_in_range(last.registers[UPMU_IBS_OP_RIP], 0x1000, 0x2000);
            assert_int_equal(last.registers[UPMU_IBS_OP_DATA1], 0x00100005);
            assert_int_equal(drain(&fetch, &last), 0);
            assert_int_equal(upmu_ibs_stop(&host.cpu[0], &op), UPMU_OK);
            host_run(&host, 20000);
            assert_int_equal(drain(&op, &last), 0);
            for (unsigned k = 0; k < host.answers && k < HOST_ANSWERS; k++)
                assert_int_not_equal(host.answer[k], UPMU_PMI_NOT_OURS, k);
            assert_true(host.sim.cpu[0].amd.ibs[0] == 0 && host.sim.cpu[0].amd.ibs[3] == 0);
            host_no_violation(&host);
            host_end(&host);
        }
}

static void a_sample_names_the_cpu_that_took_it(void **state)
{
    struct upmu_ibs_sample last;
    struct host host;

    (void)state;
    for (unsigned cpu = 0; cpu < 2; cpu++) {
        struct upmu_ibs fetch = unit(UPMU_IBS_FETCH, 1600);

        set_up(&host, "zen2");
        upmu_sim_switch_cpu(&host.sim, cpu);
        if (cpu) {
            host.sim.cpu[1].amd.ibs[0xa] = 0x101;
            assert_int_equal(upmu_cpu_init(&host.cpu[1], &host.machine, NULL), UPMU_OK);
        }
        assert_int_equal(upmu_ibs_start(&host.cpu[cpu], &fetch), UPMU_OK);
        host_run(&host, 1650);
        assert_int_equal(drain(&fetch, &last), 1);
        assert_int_equal(last.cpu, cpu);
        assert_int_equal(upmu_ibs_stop(&host.cpu[cpu], &fetch), UPMU_OK);
        if (cpu)
            assert_int_equal(upmu_cpu_fini(&host.cpu[1]), UPMU_OK);
        upmu_sim_switch_cpu(&host.sim, 0);
        host_end(&host);
    }
}

static void the_op_unit_counts_ops_as_well(void **state)
{
    struct upmu_ibs op = unit(UPMU_IBS_OP, 0x100000);
    struct upmu_ibs_sample last;
    struct host host;

    (void)state;
    set_up(&host, "zen2");
    op.ops = true;
    assert_int_equal(upmu_ibs_start(&host.cpu[0], &op), UPMU_OK);
    assert_int_equal(host.sim.cpu[0].amd.ibs[3], UINT64_C(1) << 20 | 1u << 19 | 1u << 17);
    host_run(&host, 0x100000);
    host_run(&host, 100);
    assert_int_equal(drain(&op, &last), 1);
    assert_int_equal(upmu_ibs_stop(&host.cpu[0], &op), UPMU_OK);
    host_end(&host);
}

/* Beside a session that samples with counters: an interrupt may be of both. */
static void counters_sample_beside_the_units(void **state)
{
    static const char *const some[] = {"barcelona", "bulldozer", "zen2", "zen4"};

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct upmu_ibs op = unit(UPMU_IBS_OP, 1600);
        struct upmu_ibs_sample last;
        struct host host;

        set_up(&host, some[i]);
        host_sample(&host, "instructions", 700);
        assert_int_equal(upmu_ibs_start(&host.cpu[0], &op), UPMU_OK);
        for (unsigned round = 0; round < 20; round++)
            host_run(&host, 700);
        assert_int_equal(host_drain(&host, NULL), 20);
        assert_in_range(drain(&op, &last), 16, 18);
        assert_int_equal(upmu_ibs_stop(&host.cpu[0], &op), UPMU_OK);
        assert_int_equal(host_value(&host.session, 0), 14000);
        host_no_violation(&host);
        host_end(&host);
    }
}

/* Erratum 420; a stopped unit interrupts once more: that is STALE for a while. */
static void a_late_interrupt_of_a_stopped_unit_is_stale(void **state)
{
    (void)state;
    for (unsigned i = 0; i < PROFILES; i++) {
        struct upmu_ibs fetch = unit(UPMU_IBS_FETCH, 1600);
        struct host host;

        set_up(&host, profiles[i]);
        host.sim.rule[UPMU_SIM_RULE_HAZARD_AMD_IBS_LATE] = 1;
        assert_int_equal(upmu_ibs_start(&host.cpu[0], &fetch), UPMU_OK);
        host_run(&host, 100);
        assert_int_equal(upmu_ibs_stop(&host.cpu[0], &fetch), UPMU_OK);
        host_run(&host, 1000);
        assert_int_equal(host.answers, 1);
        assert_int_equal(host.answer[0], UPMU_PMI_STALE);
        host_end(&host);
    }
}

/* Erratum 420: on family 10h an enable bit that falls over a maximum leaves an interrupt. */
static void a_unit_that_is_stopped_in_order_interrupts_no_more(void **state)
{
    (void)state;
    for (unsigned i = 0; i < PROFILES; i++)
        for (unsigned kind = 0; kind < UPMU_IBS_KINDS; kind++) {
            struct upmu_ibs ibs = unit((enum upmu_ibs_kind)kind, 16000);
            struct host host;

            set_up(&host, profiles[i]);
            assert_int_equal(upmu_ibs_start(&host.cpu[0], &ibs), UPMU_OK);
            host_run(&host, 100);
            assert_int_equal(upmu_ibs_stop(&host.cpu[0], &ibs), UPMU_OK);
            host_run(&host, 1000);
            assert_int_equal(host.answers, 0);
            host_end(&host);
        }
}

/* At one access of a stop just so much happens that the unit completes its sample. */
static unsigned accesses, complete_at;

static void complete(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind, uint32_t address)
{
    (void)cpu, (void)number, (void)kind, (void)address;
    if (++accesses == complete_at)
        host_run(sim->test, 40);
}

/*
 * A sample that completes while its unit is stopped is given or counted as lost.  The class: a look, and a write that
 * throws away what came after it.
 */
static void a_sample_that_completes_during_a_stop_is_given_or_lost(void **state)
{
    unsigned given = 0, lost = 0;

    (void)state;
    for (unsigned i = 0; i < PROFILES; i++)
        for (unsigned kind = 0; kind < 2; kind++)
            for (complete_at = 1;; complete_at++) {
                struct upmu_ibs ibs = unit(kind ? UPMU_IBS_OP : UPMU_IBS_FETCH, kind ? 3200 : 1600);
                struct upmu_ibs_sample last;
                struct host host;
                unsigned taken, before;

                set_up(&host, profiles[i]);
                assert_int_equal(upmu_ibs_start(&host.cpu[0], &ibs), UPMU_OK);
                host_run(&host, 1650);
                before = drain(&ibs, &last);
                host_run(&host, 1590 - 50);
                assert_int_equal(drain(&ibs, &last), 0);
                accesses = 0;
                host.sim.before_access = complete;
                assert_int_equal(upmu_ibs_stop(&host.cpu[0], &ibs), UPMU_OK);
                host.sim.before_access = NULL;
                taken = drain(&ibs, &last);
                assert_int_equal(before, 1);
                given += taken;
                lost += ibs.state.lost;
                if (upmu_ibs_capabilities(host.cpu[0].meter.pmu) >> 13 & 1u)
                    assert_int_equal(ibs.state.lost, 0); /* disabled first, then looked at */
                if (complete_at > accesses)
                    break;
                if (host.sim.cpu[0].counter[kind ? UPMU_SIM_AMD_OP : UPMU_SIM_AMD_FETCH].wraps !=
                    before + taken + ibs.state.lost)
                    fail_msg("%s, unit %u, access %u: a sample is missing", profiles[i], kind, complete_at);
                host_end(&host);
            }
    assert_true(given > PROFILES && lost > 0);
    printf("%u samples given, %u lost while their units were stopped\n", given, lost);
}

/* Capability bit 13 (Linux amd/ibs.c): the second control's bit 0 stops; it is left as it was found. */
static void the_alternate_disable_bit_is_cleared_set_and_put_back(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < UPMU_IBS_KINDS; kind++) {
        struct upmu_ibs ibs = unit((enum upmu_ibs_kind)kind, 1600);
        unsigned second = kind ? 0xe : 0xf, writes = 0;
        struct upmu_sim_access trace[16];
        struct upmu_ibs_sample last;
        struct host host;

        set_up(&host, "zen6");
        host.sim.cpu[0].amd.ibs[second] = 1;
        assert_int_equal(upmu_ibs_start(&host.cpu[0], &ibs), UPMU_OK);
        assert_int_equal(host.sim.cpu[0].amd.ibs[second], 0, second);
        host_run(&host, 1650);
        assert_in_range(drain(&ibs, &last), 1, 3);
        assert_int_equal(upmu_ibs_stop(&host.cpu[0], &ibs), UPMU_OK);
        assert_int_equal(host.sim.cpu[0].amd.ibs[second], 1, second);
        host.sim.cpu[0].amd.ibs[second] = 0;
        assert_int_equal(upmu_ibs_start(&host.cpu[0], &ibs), UPMU_OK);
        host.sim.trace = trace;
        host.sim.trace_size = 16;
        assert_int_equal(upmu_ibs_stop(&host.cpu[0], &ibs), UPMU_OK);
        for (unsigned i = 0; i < host.sim.trace_count; i++)
            if (trace[i].kind == UPMU_SIM_WRMSR && trace[i].address == 0xc0011030 + second)
                assert_int_equal(trace[i].value, writes++ == 0, i);
        assert_int_equal(writes, 2);
        host.sim.trace_size = 0;
        assert_int_equal(host.sim.cpu[0].amd.ibs[second], 0, second);
        host_end(&host);
    }
}

static void errata_of_early_zen_3_are_known(void **state)
{
    struct upmu_pmu pmu;
    struct upmu_ibs_sample sample;
    struct host host;

    (void)state;
    set_up(&host, "zen3");
    pmu = *host.cpu[0].meter.pmu;
    memset(&sample, 0, sizeof sample);
    assert_false(upmu_amd_ibs_sample(&pmu, &sample));
    sample.registers[UPMU_IBS_FETCH_LINEAR] = 1;
    assert_true(upmu_amd_ibs_sample(&pmu, &sample));
    sample.kind = UPMU_IBS_OP;
    for (unsigned bit = 0; bit < 64; bit++) {
        bool garbage = bit == 21 || bit == 16;

        sample.flags = 0;
        sample.registers[UPMU_IBS_OP_DATA2] = 7;
        sample.registers[UPMU_IBS_OP_DATA3] = UINT64_C(1) << bit;
        assert_true(upmu_amd_ibs_sample(&pmu, &sample));
        assert_int_equal(sample.flags, garbage ? UPMU_IBS_NO_DATA2 : 0);
        assert_int_equal(sample.registers[UPMU_IBS_OP_DATA2], garbage ? 0 : 7);
    }
    sample.registers[UPMU_IBS_OP_DATA1] = UINT64_C(1) << 38;
    sample.flags = 0;
    assert_true(upmu_amd_ibs_sample(&pmu, &sample));
    assert_true(sample.flags & UPMU_IBS_NO_RIP);
    pmu.model = 0x21;
    memset(&sample, 0, sizeof sample);
    assert_true(upmu_amd_ibs_sample(&pmu, &sample));
    host_end(&host);
}

static void samples_without_room_are_counted(void **state)
{
    struct upmu_ibs fetch = unit(UPMU_IBS_FETCH, 1600);
    struct upmu_ibs_sample sample;
    struct host host;

    (void)state;
    set_up(&host, "zen2");
    fetch.capacity = 2;
    assert_int_equal(upmu_ibs_start(&host.cpu[0], &fetch), UPMU_OK);
    for (unsigned round = 0; round < 5; round++)
        host_run(&host, 1650);
    assert_true(upmu_ibs_next(&fetch, &sample) && sample.lost == 0);
    host_run(&host, 1650);
    assert_true(upmu_ibs_next(&fetch, &sample) && sample.lost == 0);
    assert_true(upmu_ibs_next(&fetch, &sample) && sample.lost == 3);
    assert_false(upmu_ibs_next(&fetch, &sample));
    assert_int_equal(upmu_ibs_stop(&host.cpu[0], &fetch), UPMU_OK);
    host_end(&host);
}

static struct upmu_port real;
static uint32_t faulty;
static unsigned faults;

/* The next reads of a register fault, so many. */
static bool read_faults(void *context, uint32_t msr, uint64_t *out_value)
{
    if (msr != faulty || !faults)
        return real.rdmsr(context, msr, out_value);
    faults--;
    return garbage(out_value);
}

/*
 * A register of a sample that faults once is read again; twice, the sample is lost, and told.  Catches: a way out on
 * which a sample that was there is counted nowhere.
 */
static void a_sample_that_cannot_be_read_is_counted_as_lost(void **state)
{
    static const uint32_t registers[] = {0xC0011031, 0xC0011034};

    (void)state;
    for (unsigned kind = 0; kind < 2; kind++)
        for (unsigned so_many = 1; so_many <= 2; so_many++) {
            struct upmu_ibs ibs = unit(kind ? UPMU_IBS_OP : UPMU_IBS_FETCH, 1600);
            struct upmu_ibs_sample sample;
            struct host host;

            set_up(&host, "zen2");
            real = host.sim.port;
            host.sim.port.rdmsr = read_faults;
            faulty = registers[kind];
            assert_int_equal(upmu_ibs_start(&host.cpu[0], &ibs), UPMU_OK);
            faults = so_many;
            host_run(&host, kind ? 825 : 1650);
            assert_int_equal(faults, 0);
            assert_int_equal(ibs.state.lost, so_many == 2);
            assert_int_equal(upmu_ibs_next(&ibs, &sample), so_many == 1);
            host_run(&host, kind ? 825 : 1650);
            assert_true(upmu_ibs_next(&ibs, &sample));
            assert_int_equal(sample.lost, so_many == 2);
            assert_int_equal(upmu_ibs_stop(&host.cpu[0], &ibs), UPMU_OK);
            host_end(&host);
        }
}

static void what_cannot_be_is_refused(void **state)
{
    static const struct {
        enum upmu_ibs_kind kind;
        uint32_t period;
        const char *profile;
        enum upmu_status status;
    } periods[] = {
        {UPMU_IBS_FETCH, 0, "zen2", UPMU_ERR_INVALID},
        {UPMU_IBS_FETCH, 16, "zen2", UPMU_OK},
        {UPMU_IBS_FETCH, 0xffff0, "zen2", UPMU_OK},
        {UPMU_IBS_FETCH, 0x100000, "zen2", UPMU_ERR_INVALID},
        {UPMU_IBS_FETCH, 1601, "zen2", UPMU_ERR_INVALID},
        {UPMU_IBS_OP, 0x80, "zen2", UPMU_ERR_INVALID},
        {UPMU_IBS_OP, 0x90, "zen2", UPMU_OK},
        {UPMU_IBS_OP, 0x7fffff0, "zen2", UPMU_OK},
        {UPMU_IBS_OP, 0x8000000, "zen2", UPMU_ERR_INVALID},
        {UPMU_IBS_OP, 0x100000, "barcelona", UPMU_ERR_INVALID},
        {UPMU_IBS_OP, 0xffff0, "barcelona", UPMU_OK},
        {UPMU_IBS_OP, 0x90, "k8_revf", UPMU_ERR_UNSUPPORTED},
        {UPMU_IBS_FETCH, 16, "griffin", UPMU_ERR_UNSUPPORTED},
        {UPMU_IBS_FETCH, 16, "skylake", UPMU_ERR_UNSUPPORTED},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof periods / sizeof periods[0]; i++) {
        struct upmu_ibs ibs = unit(periods[i].kind, periods[i].period), again = ibs;
        struct host host;

        host_set_up(&host, periods[i].profile);
        assert_int_equal(upmu_ibs_start(&host.cpu[0], &ibs), periods[i].status, i);
        if (periods[i].status == UPMU_OK) {
            assert_int_equal(upmu_ibs_start(&host.cpu[0], &again), UPMU_ERR_STATE);
            assert_int_equal(upmu_ibs_stop(&host.cpu[0], &again), UPMU_OK);
            assert_int_equal(upmu_ibs_stop(&host.cpu[0], &ibs), UPMU_OK);
            /* A unit of other software is left alone. */
            host.sim.cpu[0].amd.ibs[periods[i].kind == UPMU_IBS_OP ? 3 : 0] =
                periods[i].kind == UPMU_IBS_OP ? UINT64_C(1) << 17 : UINT64_C(1) << 48;
            assert_int_equal(upmu_ibs_start(&host.cpu[0], &ibs), UPMU_ERR_STATE);
            host.sim.cpu[0].amd.ibs[0] = host.sim.cpu[0].amd.ibs[3] = 0;
            ibs.capacity = 3;
            assert_int_equal(upmu_ibs_start(&host.cpu[0], &ibs), UPMU_ERR_INVALID);
        } else if (periods[i].status == UPMU_ERR_UNSUPPORTED) {
            assert_int_equal(upmu_ibs_capabilities(host.cpu[0].meter.pmu), 0);
        }
        host_end(&host);
    }
}

/* A CPU that sleeps or leaves leaves no unit running. */
static void leaving_and_sleeping_stop_the_units(void **state)
{
    struct upmu_ibs fetch = unit(UPMU_IBS_FETCH, 1600), op = unit(UPMU_IBS_OP, 1600);
    struct host host;

    (void)state;
    set_up(&host, "zen6");
    assert_int_equal(upmu_ibs_start(&host.cpu[0], &fetch), UPMU_OK);
    assert_int_equal(upmu_ibs_start(&host.cpu[0], &op), UPMU_OK);
    assert_int_equal(upmu_cpu_suspend(&host.cpu[0]), UPMU_OK);
    assert_true(host.sim.cpu[0].amd.ibs[0] == 0 && host.sim.cpu[0].amd.ibs[3] == 0);
    assert_int_equal(upmu_ibs_start(&host.cpu[0], &op), UPMU_ERR_NO_PMU);
    assert_int_equal(upmu_cpu_resume(&host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_ibs_start(&host.cpu[0], &op), UPMU_OK);
    assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
    assert_int_equal(host.sim.cpu[0].amd.ibs[3], 0);
    host_no_violation(&host);
}

/* One access faults, whichever: a start fails and leaves nothing, a handler and a stop try again. */
static void a_fault_leaves_no_unit_half_started(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PROFILES; p++)
        for (unsigned k = 1; k < 12; k++) {
            struct upmu_ibs op = unit(UPMU_IBS_OP, 3200);
            struct upmu_ibs_sample last;
            struct host host;

            set_up(&host, profiles[p]);
            host.sim.expect_faults = true;
            host.sim.fault_at = host.sim.accesses + k;
            if (upmu_ibs_start(&host.cpu[0], &op) != UPMU_OK) {
                assert_null(host.cpu[0].ibs[UPMU_IBS_OP]);
                assert_int_equal(host.sim.cpu[0].amd.ibs[3] >> 17 & 1, 0);
                assert_int_equal(upmu_ibs_start(&host.cpu[0], &op), UPMU_OK);
            }
            for (unsigned round = 0; round < 5; round++)
                host_run(&host, 1650);
            assert_in_range(drain(&op, &last), 3, 5);
            assert_int_equal(upmu_ibs_stop(&host.cpu[0], &op), UPMU_OK);
            assert_int_equal(host.sim.cpu[0].amd.ibs[3] >> 17 & 1, 0);
            host_run(&host, 5000);
            (void)drain(&op, &last);
            host.sim.fault_at = 0;
            assert_int_equal(upmu_ibs_start(&host.cpu[0], &op), UPMU_OK);
            host_run(&host, 1650);
            assert_int_equal(drain(&op, &last), 1);
            host.sim.fault_at = host.sim.accesses + k;
            assert_int_equal(upmu_ibs_stop(&host.cpu[0], &op), UPMU_OK);
            host.sim.fault_at = 0;
            assert_int_equal(upmu_ibs_start(&host.cpu[0], &op), UPMU_OK);
            assert_int_equal(upmu_ibs_stop(&host.cpu[0], &op), UPMU_OK);
            assert_int_equal(host.sim.cpu[0].amd.ibs[3] >> 17 & 1, 0);
            host_no_violation(&host);
            host_end(&host);
        }
}

static void nmi_before(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind, uint32_t address)
{
    (void)cpu, (void)number, (void)kind, (void)address;
    upmu_sim_foreign_nmi(sim);
}

/* What another driver left in the registers is no sample of this unit, whenever a handler looks. */
static void a_sample_of_before_the_start_is_not_taken(void **state)
{
    (void)state;
    for (unsigned i = 0; i < PROFILES; i++)
        for (unsigned kind = 0; kind < 2; kind++) {
            struct upmu_ibs ibs = unit((enum upmu_ibs_kind)kind, 1600);
            struct upmu_ibs_sample last;
            struct host host;

            set_up(&host, profiles[i]);
            host.sim.cpu[0].amd.ibs[kind ? 3 : 0] = UINT64_C(1) << (kind ? 18 : 49);
            host.sim.before_access = nmi_before;
            assert_int_equal(upmu_ibs_start(&host.cpu[0], &ibs), UPMU_OK);
            host.sim.before_access = NULL;
            assert_int_equal(drain(&ibs, &last), 0);
            assert_int_equal(upmu_ibs_stop(&host.cpu[0], &ibs), UPMU_OK);
            host_end(&host);
        }
}

/* Where a handler cannot read whether there is a sample, the interrupt may be for one: now and later. */
static void an_interrupt_whose_register_cannot_be_read_may_be_of_a_unit(void **state)
{
    static const uint32_t control[] = {0xc0011030, 0xc0011033};

    (void)state;
    for (unsigned i = 0; i < PROFILES; i++)
        for (unsigned kind = 0; kind < 2; kind++) {
            struct upmu_ibs ibs = unit((enum upmu_ibs_kind)kind, 100000);
            struct host host;

            set_up(&host, profiles[i]);
            assert_int_equal(upmu_ibs_start(&host.cpu[0], &ibs), UPMU_OK);
            upmu_sim_advance_ns(&host.sim, 101000000);
            upmu_sim_foreign_nmi(&host.sim);
            assert_int_equal(host.answer[host.answers - 1], UPMU_PMI_NOT_OURS);
            host.sim.fault_address = control[kind];
            upmu_sim_foreign_nmi(&host.sim);
            assert_int_equal(host.answer[host.answers - 1], UPMU_PMI_STALE);
            host.sim.fault_address = 0;
            upmu_sim_foreign_nmi(&host.sim);
            assert_int_equal(host.answer[host.answers - 1], UPMU_PMI_STALE);
            assert_int_equal(upmu_ibs_stop(&host.cpu[0], &ibs), UPMU_OK);
            host_end(&host);
        }
}

/* Time passes in a register that cannot be read. */
static struct upmu_sim *slow;

static bool read_faults_slowly(void *context, uint32_t msr, uint64_t *out_value)
{
    if (msr != faulty || !faults)
        return real.rdmsr(context, msr, out_value);
    faults--;
    upmu_sim_advance_ns(slow, UINT64_C(1) << 20); /* by a step of upmu_count_stamp() */
    return garbage(out_value);
}

/* The same where the clock goes on meanwhile.  Catches: an interrupt is expected only from a later time on. */
static void the_same_holds_where_time_passes_in_the_handler(void **state)
{
    static const uint32_t control[] = {0xc0011030, 0xc0011033};

    (void)state;
    for (unsigned kind = 0; kind < 2; kind++) {
        struct upmu_ibs ibs = unit((enum upmu_ibs_kind)kind, 100000);
        struct host host;

        set_up(&host, "zen2");
        real = host.sim.port;
        slow = &host.sim;
        host.sim.port.rdmsr = read_faults_slowly;
        faulty = control[kind];
        faults = 0;
        assert_int_equal(upmu_ibs_start(&host.cpu[0], &ibs), UPMU_OK);
        upmu_sim_advance_ns(&host.sim, 101000000);
        faults = 2;
        upmu_sim_foreign_nmi(&host.sim);
        assert_int_equal(host.answer[host.answers - 1], UPMU_PMI_STALE);
        assert_int_equal(faults, 0);
        assert_int_equal(upmu_ibs_stop(&host.cpu[0], &ibs), UPMU_OK);
        host_end(&host);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_units_take_a_sample_each_period),
        cmocka_unit_test(a_sample_names_the_cpu_that_took_it),
        cmocka_unit_test(the_op_unit_counts_ops_as_well),
        cmocka_unit_test(counters_sample_beside_the_units),
        cmocka_unit_test(a_late_interrupt_of_a_stopped_unit_is_stale),
        cmocka_unit_test(a_unit_that_is_stopped_in_order_interrupts_no_more),
        cmocka_unit_test(a_sample_that_completes_during_a_stop_is_given_or_lost),
        cmocka_unit_test(the_alternate_disable_bit_is_cleared_set_and_put_back),
        cmocka_unit_test(errata_of_early_zen_3_are_known),
        cmocka_unit_test(samples_without_room_are_counted),
        cmocka_unit_test(a_sample_that_cannot_be_read_is_counted_as_lost),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(leaving_and_sleeping_stop_the_units),
        cmocka_unit_test(a_fault_leaves_no_unit_half_started),
        cmocka_unit_test(a_sample_of_before_the_start_is_not_taken),
        cmocka_unit_test(an_interrupt_whose_register_cannot_be_read_may_be_of_a_unit),
        cmocka_unit_test(the_same_holds_where_time_passes_in_the_handler),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
