/* SPDX-License-Identifier: MIT */
/*
 * perfmon2's calls: layouts, whole sessions, refusals that change nothing, and a caller
 * whose memory changes while it is read.
 */
#include <unistd.h>

#include "tests/common/host.h"
#include "tests/common/pointers.h"

#include "abi/perfmon2/pfm_calls.c"
#include "abi/perfmon2/pfm_context.c"
#include "abi/perfmon2/pfm_events.c"
#include "abi/perfmon2/pfm_registers.c"
#include "abi/perfmon2/pfm_rights.c"
#include "abi/perfmon2/pfm_section9.c"
#include "abi/perfmon2/pfm_sets.c"

#define SETS 4
#define VECTOR 24

#define USR_OS 0x30000u
#define INSTRUCTIONS (0xc0u | USR_OS)
#define CYCLES (0x3cu | USR_OS)
#define BRANCHES (0xc4u | USR_OS)

struct program {
    struct host host;
    struct upmu_pfm pfm;
    struct upmu_pfm_context context;
    struct upmu_pfm_memory memory;
    struct upmu_pfm_set sets[SETS];
    struct pfarg_pmd vector[VECTOR];
    struct upmu_message messages[4];
    uint64_t ring[512];
    struct upmu_thread thread;
    struct upmu_pfm_owner owner;
    uint32_t rights; /* that its owner has */
    uint64_t barred; /* no event may have this word */
    unsigned asked;  /* about events */
    bool deny;
    size_t bytes_in;  /* read from the program */
    void *mutate;     /* this byte changes with each copy */
    bool no_memory;   /* copying faults */
    bool thread_runs;
    struct upmu_notify notify;
    bool blocked; /* the thread may not run on */
    unsigned wakes;
};

/* At an address that no word of an event equals: is_forgotten() looks for pointers into it. */
static struct program *program_at;
#define caller (*program_at)

static bool test_copy_in(void *context, void *to, const void *user, size_t bytes)
{
    struct program *c = context;

    if (c->no_memory)
        return false;
    memcpy(to, user, bytes);
    c->bytes_in += bytes;
    if (c->mutate)
        ++*(unsigned char *)c->mutate;
    return true;
}

static bool test_copy_out(void *context, void *user, const void *from, size_t bytes)
{
    if (((struct program *)context)->no_memory)
        return false;
    memcpy(user, from, bytes);
    return true;
}

static bool test_may_create(void *context, struct upmu_pfm_owner *owner, uint32_t flags)
{
    (void)flags;
    assert_ptr_equal(owner, &((struct program *)context)->owner);
    return !((struct program *)context)->deny;
}

static bool test_may_use(void *context, struct upmu_pfm_owner *owner, const struct upmu_event *event, uint32_t rights)
{
    struct program *c = context;

    assert_ptr_equal(owner, &c->owner);
    assert_int_equal(!event, rights == UPMU_PFM_ADDRESSES);
    c->asked += event != NULL;
    return !(rights & ~c->rights) && !(event && c->barred && event->config == c->barred);
}

static struct upmu_thread *test_find_thread(void *context, struct upmu_pfm_owner *owner, uint32_t number,
                                            struct upmu_cpu **out_cpu)
{
    struct program *c = context;

    assert_ptr_equal(owner, &c->owner);
    *out_cpu = c->thread_runs ? &c->host.cpu[0] : NULL;
    return number == 42 ? &c->thread : NULL;
}

static struct upmu_cpu *test_find_cpu(void *context, struct upmu_pfm_owner *owner, uint32_t number)
{
    assert_ptr_equal(owner, &((struct program *)context)->owner);
    return number < 2 ? &((struct program *)context)->host.cpu[number] : NULL;
}

static void test_block(void *context, struct upmu_session *session)
{
    (void)session;
    ((struct program *)context)->blocked = true;
}

static void test_unblock(void *context, struct upmu_session *session)
{
    (void)session;
    ((struct program *)context)->blocked = false;
}

static void test_wake(void *context, struct upmu_session *session)
{
    (void)session;
    ((struct program *)context)->wakes++;
}

static enum upmu_status create(uint32_t flags)
{
    return upmu_pfm_create_context(&caller.pfm, &caller.owner, &caller.context, &caller.memory, flags, NULL, NULL, 0);
}

static void begin(const char *profile, uint32_t flags)
{
    if (!program_at) {
        memory_restart();
        program_at = memory_new("program", sizeof *program_at).at;
    }
    memset(&caller, 0, sizeof caller);
    host_set_up(&caller.host, profile);
    caller.pfm = (struct upmu_pfm){.machine = &caller.host.machine,
                                   .context = &caller,
                                   .copy_in = test_copy_in,
                                   .copy_out = test_copy_out,
                                   .may_create = test_may_create,
                                   .may_use = test_may_use,
                                   .find_thread = test_find_thread,
                                   .find_cpu = test_find_cpu,
                                   .notify = &caller.notify};
    caller.notify =
        (struct upmu_notify){.context = &caller, .wake = test_wake, .block = test_block, .unblock = test_unblock};
    caller.memory = (struct upmu_pfm_memory){.sets = caller.sets,
                                             .set_count = SETS,
                                             .vector = caller.vector,
                                             .vector_bytes = sizeof caller.vector,
                                             .messages = caller.messages,
                                             .message_count = 4,
                                             .ring = caller.ring,
                                             .ring_bytes = sizeof caller.ring};
    upmu_thread_init(&caller.thread, 41, 42, NULL);
    caller.thread_runs = true;
    caller.rights = ~0u;
    assert_int_equal(create(flags), UPMU_OK);
}

/* Nothing that stays points into what a context consisted of. */
static void is_forgotten(void)
{
    struct host *host = &caller.host;
    const struct memory keepers[] = {{"machine", &host->machine, sizeof host->machine},
                                     {"domains", host->domain, sizeof host->domain},
                                     {"CPUs", host->cpu, sizeof host->cpu},
                                     {"thread", &caller.thread, sizeof caller.thread}};
    const struct memory pieces[] = {{"context", &caller.context, sizeof caller.context},
                                    {"sets", caller.sets, sizeof caller.sets},
                                    {"vector", caller.vector, sizeof caller.vector},
                                    {"messages", caller.messages, sizeof caller.messages},
                                    {"ring", caller.ring, sizeof caller.ring}};

    for (unsigned i = 0; i < sizeof pieces / sizeof pieces[0]; i++)
        memory_forgotten("context closed", keepers, sizeof keepers / sizeof keepers[0], &pieces[i]);
}

static void end(void)
{
    bool last;

    assert_int_equal(upmu_pfm_close(&caller.context, &last), UPMU_OK);
    assert_true(last);
    assert_int_equal(caller.pfm.contexts, 0);
    assert_int_equal(caller.owner.contexts, 0);
    assert_int_equal(caller.owner.bytes, 0);
    is_forgotten();
    host_end(&caller.host);
}

static const struct upmu_pmu *pmu(void)
{
    return &caller.host.machine.pmu[0];
}

static struct pfarg_pmc pmc_of(unsigned counter, uint64_t value)
{
    return (struct pfarg_pmc){.reg_num = pmu()->counter[counter].select_row, .reg_value = value};
}

static struct pfarg_pmd pmd_of(unsigned counter, uint64_t value)
{
    return (struct pfarg_pmd){.reg_num = pmu()->counter[counter].value_row, .reg_value = value};
}

static void program(unsigned counter, uint64_t word, uint64_t value)
{
    struct pfarg_pmc pmc = pmc_of(counter, word);
    struct pfarg_pmd pmd = pmd_of(counter, value);

    assert_int_equal(upmu_pfm_write_pmcs(&caller.context, &pmc, sizeof pmc), UPMU_OK);
    assert_int_equal(upmu_pfm_write_pmds(&caller.context, &pmd, sizeof pmd), UPMU_OK);
}

static uint64_t value_of(unsigned counter)
{
    struct pfarg_pmd pmd = pmd_of(counter, 99);

    assert_int_equal(upmu_pfm_read_pmds(&caller.context, &pmd, sizeof pmd), UPMU_OK);
    return pmd.reg_value;
}

static void load_and_start(uint32_t target)
{
    assert_int_equal(upmu_pfm_load_context(&caller.context, 0, target), UPMU_OK);
    assert_int_equal(upmu_pfm_start(&caller.context, 0, 0), UPMU_OK);
}

/* ---- Layouts ---- */

/*
 * What shows which row: P2-079: each sizeof, in 32-bit builds, too.  P2-081: offsets of pfarg_pmc.  P2-084,
 * P2-085: reg_num and reg_set of pfarg_pmd.  P2-097: PFM_PMD_BV.  P2-144: pfarg_setdesc.  P2-075, P2-076: the
 * flags of a context, 0x8421.  P2-146: those of sets, 0x211211.
 */
static void structures_have_the_same_bytes_for_32_and_64_bits(void **state)
{
    (void)state;
    assert_int_equal(sizeof(struct pfarg_pmc), 48);
    assert_int_equal(offsetof(struct pfarg_pmc, reg_set), 2);
    assert_int_equal(offsetof(struct pfarg_pmc, reg_flags), 4);
    assert_int_equal(offsetof(struct pfarg_pmc, reg_value), 8);
    assert_int_equal(sizeof(struct pfarg_pmd), 160);
    assert_int_equal(offsetof(struct pfarg_pmc, reg_num), 0);
    assert_int_equal(offsetof(struct pfarg_pmc, reg_reserved2), 16);
    assert_int_equal(offsetof(struct pfarg_pmd, reg_num), 0);
    assert_int_equal(sizeof((struct pfarg_pmd){0}.reg_num), 2);
    assert_int_equal(offsetof(struct pfarg_pmd, reg_set), 2);
    assert_int_equal(offsetof(struct pfarg_pmd, reg_flags), 4);
    assert_int_equal(offsetof(struct pfarg_pmd, reg_value), 8);
    assert_int_equal(offsetof(struct pfarg_pmd, reg_long_reset), 16);
    assert_int_equal(offsetof(struct pfarg_pmd, reg_short_reset), 24);
    assert_int_equal(offsetof(struct pfarg_pmd, reg_last_reset_val), 32);
    assert_int_equal(offsetof(struct pfarg_pmd, reg_ovfl_switch_cnt), 40);
    assert_int_equal(offsetof(struct pfarg_pmd, reg_reset_pmds), 48);
    assert_int_equal(offsetof(struct pfarg_pmd, reg_smpl_pmds), 80);
    assert_int_equal(offsetof(struct pfarg_pmd, reg_smpl_eventid), 112);
    assert_int_equal(offsetof(struct pfarg_pmd, reg_random_mask), 120);
    assert_int_equal(offsetof(struct pfarg_pmd, reg_reserved2), 128);
    assert_int_equal(sizeof(struct pfarg_setdesc), 64);
    assert_int_equal(offsetof(struct pfarg_setdesc, set_timeout), 8);
    assert_int_equal(sizeof(struct pfarg_setinfo), 176);
    assert_int_equal(offsetof(struct pfarg_setinfo, set_runs), 40);
    assert_int_equal(offsetof(struct pfarg_setinfo, set_avail_pmcs), 64);
    assert_int_equal(offsetof(struct pfarg_setinfo, set_avail_pmds), 96);
    assert_int_equal(sizeof(union pfarg_msg), 56);
    assert_int_equal(offsetof(struct pfarg_ovfl_msg, msg_active_set), 8);
    assert_int_equal(offsetof(struct pfarg_ovfl_msg, msg_ovfl_tid), 12);
    assert_int_equal(offsetof(struct pfarg_ovfl_msg, msg_ovfl_ip), 16);
    assert_int_equal(offsetof(struct pfarg_ovfl_msg, msg_ovfl_pmds), 24);
    assert_int_equal(PFM_PMD_BV, 4);
    assert_compare(UPMU_REGISTERS, <=, 64 * PFM_PMD_BV);
    assert_int_equal(PFM_FL_NOTIFY_BLOCK | PFM_FL_SYSTEM_WIDE << 4 | PFM_FL_SMPL_FMT << 8 | PFM_FL_OVFL_NO_MSG << 12,
                     0x8421);
    assert_int_equal(PFM_PMDFL_SMPL | PFM_PMDFL_SWITCH << 4 | PFM_PMDFL_OVFL_NOTIFY << 8 | PFM_PMDFL_RANDOM << 12,
                     0x8421);
    assert_int_equal(PFM_MSG_OVFL | PFM_SETFL_OVFL_SWITCH << 4 | PFM_SETFL_TIME_SWITCH << 8 |
                         PFM_PMCFL_NO_EMUL64 << 12 | PFM_STARTFL_SET << 16 | PFM_STARTFL_RESTART << 20,
                     0x211211);
}

/* P2-061, P2-062 and P2-064: fields, and two types though they are alike.  Catches one type that serves both. */
static void section_9_has_two_types_of_the_same_fields(void **state)
{
    (void)state;
    assert_int_equal(sizeof(struct pfarg_pmc9), 48);
    assert_int_equal(sizeof((struct pfarg_pmc9){0}.reg_num), 2);
    assert_int_equal(offsetof(struct pfarg_pmc9, reg_num), 0);
    assert_int_equal(sizeof((struct pfarg_pmc9){0}.reg_value), 8);
    assert_int_equal(offsetof(struct pfarg_pmc9, reg_value), 8);
    assert_int_equal(offsetof(struct pfarg_pmc9, reserved), 16);
    assert_int_equal(sizeof(struct pfarg_pmd9), 48);
    assert_int_equal(sizeof((struct pfarg_pmd9){0}.reg_num), 2);
    assert_int_equal(offsetof(struct pfarg_pmd9, reg_num), 0);
    assert_int_equal(sizeof((struct pfarg_pmd9){0}.reg_value), 8);
    assert_int_equal(offsetof(struct pfarg_pmd9, reg_value), 8);
    assert_int_equal(offsetof(struct pfarg_pmd9, reserved), 16);
    assert_false(_Generic((struct pfarg_pmc9 *)0, struct pfarg_pmd9 * : true, default : false));
    assert_int_equal(sizeof(struct pfarg_load), 40);
    assert_int_equal(sizeof((struct pfarg_load){0}.target), 4);
    assert_int_equal(offsetof(struct pfarg_load, target), 0);
    assert_int_equal(offsetof(struct pfarg_load, reserved), 8);
}

/* ---- Sessions ---- */

/*
 * What shows which row: P2-001, P2-073: begin() and end() create and close, the calls between are the other six.
 * P2-059, P2-060: counts of 1000 and (1 << 60) + 500 after program().  P2-063: load_and_start().  P2-075: a CPU is
 * counted without a thread.  P2-043: the reads while it runs.  P2-003: 1500 after a stop and a second start.
 * P2-025, P2-032, P2-067: two unloads, the second of which does nothing; 1500 is still read (P2-042).
 * P2-108: the vector of two.  P2-024: loaded and started again, it goes on to 1510.  P2-102: PMDs
 * with flags 0 count.
 */
static void the_eight_actions_count_a_cpu(void **state)
{
    static const char *const profiles[] = {"skylake", "core2", "nehalem", "icelake", "yonah"};
    struct pfarg_pmd pmds[2];

    (void)state;
    for (unsigned i = 0; i < sizeof profiles / sizeof *profiles; i++) {
        begin(profiles[i], PFM_FL_SYSTEM_WIDE);
        assert_int_equal(value_of(0), 0);
        program(0, INSTRUCTIONS, 0);
        program(1, BRANCHES, UINT64_C(1) << 60);
        load_and_start(0);
        host_run(&caller.host, 1000);
        assert_int_equal(value_of(0), 1000);
        assert_int_equal(value_of(1), (UINT64_C(1) << 60) + 500);
        assert_int_equal(upmu_pfm_stop(&caller.context, 0), UPMU_OK);
        host_run(&caller.host, 1000);
        assert_int_equal(upmu_pfm_start(&caller.context, 0, 0), UPMU_OK);
        host_run(&caller.host, 500);
        assert_int_equal(upmu_pfm_unload_context(&caller.context, 0), UPMU_OK);
        assert_int_equal(upmu_pfm_unload_context(&caller.context, 0), UPMU_OK);
        host_run(&caller.host, 500);
        assert_int_equal(value_of(0), 1500);
        /* A vector is read by its size. */
        pmds[0] = pmd_of(1, 7);
        pmds[1] = pmd_of(0, 7);
        assert_int_equal(upmu_pfm_read_pmds(&caller.context, pmds, sizeof pmds), UPMU_OK);
        assert_true(pmds[0].reg_value == (UINT64_C(1) << 60) + 750 && pmds[1].reg_value == 1500);
        /* And on from there. */
        load_and_start(0);
        host_run(&caller.host, 10);
        assert_int_equal(value_of(0), 1510);
        end();
    }
}

static void a_thread_is_counted_while_it_runs(void **state)
{
    struct upmu_thread other;

    (void)state;
    begin("skylake", 0);
    upmu_thread_init(&other, 1, 1, NULL);
    program(0, INSTRUCTIONS, 0);
    assert_int_equal(upmu_pfm_load_context(&caller.context, 0, 43), UPMU_ERR_INVALID);
    load_and_start(42);
    assert_int_equal(upmu_pfm_load_context(&caller.context, 0, 42), UPMU_ERR_STATE);
    host_run(&caller.host, 100);
    assert_int_equal(upmu_thread_switch(&caller.host.cpu[0], &caller.thread, &other), UPMU_OK);
    caller.thread_runs = false;
    host_run(&caller.host, 1000);
    assert_int_equal(value_of(0), 100);
    assert_int_equal(upmu_thread_switch(&caller.host.cpu[0], &other, &caller.thread), UPMU_OK);
    host_run(&caller.host, 11);
    assert_int_equal(value_of(0), 111);
    /* The thread ends: only detached. */
    assert_int_equal(upmu_thread_exit(&caller.thread), UPMU_OK);
    assert_int_equal(value_of(0), 111);
    assert_int_equal(upmu_pfm_unload_context(&caller.context, 0), UPMU_OK);
    assert_int_equal(value_of(0), 111);
    end();
}

/*
 * What shows which row: P2-066: UPMU_ERR_WRONG_CPU.  P2-103: flags of load and unload.  P2-026, P2-034: a start
 * before the load is refused.  P2-023: session.cpu, and 10 after the start.  P2-033: 0 before it.
 */
static void a_cpus_context_is_loaded_on_that_cpu_only(void **state)
{
    (void)state;
    begin("skylake", PFM_FL_SYSTEM_WIDE);
    program(0, INSTRUCTIONS, 0);
    assert_int_equal(upmu_pfm_load_context(&caller.context, 0, 1), UPMU_ERR_WRONG_CPU);
    assert_int_equal(upmu_pfm_load_context(&caller.context, 0, 2), UPMU_ERR_INVALID);
    assert_int_equal(upmu_pfm_load_context(&caller.context, 1, 0), UPMU_ERR_INVALID);
    assert_int_equal(upmu_pfm_start(&caller.context, 0, 0), UPMU_ERR_STATE);
    assert_int_equal(upmu_pfm_load_context(&caller.context, 0, 0), UPMU_OK);
    /* It is bound to that CPU, and stopped. */
    assert_ptr_equal(caller.context.session.meter, &caller.host.cpu[0]);
    host_run(&caller.host, 10);
    assert_int_equal(value_of(0), 0);
    assert_int_equal(upmu_pfm_start(&caller.context, 0, 0), UPMU_OK);
    host_run(&caller.host, 10);
    assert_int_equal(value_of(0), 10);
    assert_int_equal(upmu_pfm_unload_context(&caller.context, 1), UPMU_ERR_INVALID);
    end();
}

/*
 * P2-006: what a context is, is said when it is created.  A number stands for a thread or a CPU by that alone, before
 * and after a target of the other kind would have been there.  Catches an attribute that a later call can change.
 */
static void what_a_context_is_stays_so_until_it_is_closed(void **state)
{
    (void)state;
    begin("skylake", PFM_FL_SYSTEM_WIDE);
    program(0, INSTRUCTIONS, 0);
    for (unsigned round = 0; round < 2; round++) {
        /* 42 is a thread, and no CPU. */
        assert_int_equal(upmu_pfm_load_context(&caller.context, 0, 42), UPMU_ERR_INVALID);
        assert_null(caller.thread.sessions);
        load_and_start(0);
        assert_ptr_equal(caller.context.session.meter, &caller.host.cpu[0]);
        assert_null(caller.context.session.thread);
        assert_int_equal(upmu_pfm_unload_context(&caller.context, 0), UPMU_OK);
    }
    end();
    begin("skylake", 0);
    program(0, INSTRUCTIONS, 0);
    for (unsigned round = 0; round < 2; round++) {
        /* 0 is a CPU, and no thread. */
        assert_int_equal(upmu_pfm_load_context(&caller.context, 0, 0), UPMU_ERR_INVALID);
        assert_null(caller.host.cpu[0].meter.sessions);
        load_and_start(42);
        assert_ptr_equal(caller.context.session.thread, &caller.thread);
        assert_int_equal(upmu_pfm_unload_context(&caller.context, 0), UPMU_OK);
    }
    end();
}

static void fixed_counters_are_programmed_by_their_control(void **state)
{
    (void)state;
    begin("skylake", PFM_FL_SYSTEM_WIDE);
    /* INST_RETIRED in both rings, CPU_CLK_UNHALTED in ring 3 alone. */
    program(16, 0x23, 7);
    load_and_start(0);
    host_run(&caller.host, 1000);
    assert_int_equal(value_of(16), 1007);
    assert_int_equal(value_of(17), 0);
    end();
}

static void a_value_is_rewritten_without_touching_any_register(void **state)
{
    struct pfarg_pmd pmd;
    uint32_t writes;

    (void)state;
    begin("skylake", PFM_FL_SYSTEM_WIDE);
    program(0, INSTRUCTIONS, 0);
    load_and_start(0);
    writes = caller.host.sim.access_count[UPMU_SIM_WRMSR];
    for (unsigned i = 0; i < 10; i++) {
        host_run(&caller.host, 100);
        assert_int_equal(value_of(0), i ? 5100 : 100, i);
        pmd = pmd_of(0, 5000);
        assert_int_equal(upmu_pfm_write_pmds(&caller.context, &pmd, sizeof pmd), UPMU_OK);
    }
    assert_int_equal(caller.host.sim.access_count[UPMU_SIM_WRMSR], writes);
    end();
}

static void an_event_is_changed_while_the_session_runs(void **state)
{
    struct pfarg_pmc pmc;

    (void)state;
    begin("skylake", PFM_FL_SYSTEM_WIDE);
    program(0, INSTRUCTIONS, 0);
    load_and_start(0);
    host_run(&caller.host, 100);
    pmc = pmc_of(0, BRANCHES);
    assert_int_equal(upmu_pfm_write_pmcs(&caller.context, &pmc, sizeof pmc), UPMU_OK);
    assert_int_equal(caller.context.session.state, UPMU_SESSION_RUNNING);
    host_run(&caller.host, 100);
    assert_int_equal(value_of(0), 150);
    end();
}

static bool asks_for_interrupts(unsigned counter)
{
    return upmu_sim_peek(&caller.host.sim, 0, 0x186 + counter) >> 20 & 1u;
}

/*
 * P2-083: no interrupt comes from such a counter: the bit of its select is clear, and stays so beside a counter that
 * has it.  Catches a width that is cut in a read alone.
 */
static void without_emulation_a_counter_keeps_the_hardwares_width(void **state)
{
    struct pfarg_pmc pmc;

    (void)state;
    begin("core2", PFM_FL_SYSTEM_WIDE);
    program(0, INSTRUCTIONS, (UINT64_C(1) << 40) - 50);
    program(1, BRANCHES, 0);
    load_and_start(0);
    assert_true(asks_for_interrupts(0));
    host_run(&caller.host, 100);
    assert_int_equal(value_of(0), (UINT64_C(1) << 40) + 50);
    pmc = pmc_of(0, INSTRUCTIONS);
    pmc.reg_flags = PFM_PMCFL_NO_EMUL64;
    assert_int_equal(upmu_pfm_write_pmcs(&caller.context, &pmc, sizeof pmc), UPMU_OK);
    assert_int_equal(value_of(0), 50);
    assert_false(asks_for_interrupts(0));
    assert_true(asks_for_interrupts(1));
    pmc.reg_flags = 0;
    assert_int_equal(upmu_pfm_write_pmcs(&caller.context, &pmc, sizeof pmc), UPMU_OK);
    assert_true(asks_for_interrupts(0));
    end();
}

static void eighteen_registers_of_a_pentium_4_go_in_one_vector(void **state)
{
    struct pfarg_pmd pmds[18];
    struct pfarg_pmc pmcs[2];
    const struct upmu_pmu *p4;

    (void)state;
    begin("prescott", PFM_FL_SYSTEM_WIDE);
    p4 = pmu();
    for (unsigned counter = 0; counter < 18; counter++)
        pmds[counter] = pmd_of(counter, 1000 + counter);
    assert_int_equal(upmu_pfm_write_pmds(&caller.context, pmds, sizeof pmds), UPMU_OK);
    for (unsigned counter = 0; counter < 18; counter++)
        assert_int_equal(value_of(counter), 1000 + counter);
    /* instr_retired on MSR_IQ_COUNTER0: CRU_ESCR0 (select 4), event 2, NBOGUSNTAG, both rings of thread 0. */
    pmcs[0] = pmc_of(12, 0x3b000u & ~0xe000u);
    pmcs[0].reg_value = 0x30000u | 4u << 13 | 1u << 12;
    pmcs[1] = (struct pfarg_pmc){.reg_value = 2u << 25 | 1u << 9 | 3u << 2};
    for (unsigned row = 0; row < p4->table->row_count; row++)
        if (!strcmp(p4->table->text + p4->table->rows[row].name, "MSR_CRU_ESCR0"))
            pmcs[1].reg_num = (uint16_t)row;
    assert_int_not_equal(pmcs[1].reg_num, 0);
    assert_int_equal(upmu_pfm_write_pmcs(&caller.context, pmcs, sizeof pmcs), UPMU_OK);
    load_and_start(0);
    host_run(&caller.host, 100);
    assert_int_equal(value_of(12), 1012 + 100);
    end();
}

/* ---- Sampling and messages ---- */

/*
 * What shows which row: P2-087: nothing after 99, masked after 100.  P2-122: three sizes are refused.  P2-113: one
 * message of the two asked for.  P2-100: the flag that asks for it.  P2-121: its type.  P2-105, P2-088: after the
 * restart 300 more until it is masked.
 */
static void minus_n_overflows_after_n_and_resets_long_after_a_message(void **state)
{
    struct pfarg_pmc pmc;
    struct pfarg_pmd pmd;
    union pfarg_msg message[2];
    size_t bytes;

    (void)state;
    begin("core2", PFM_FL_SYSTEM_WIDE);
    caller.host.process = 7;
    caller.host.thread = 8;
    pmc = pmc_of(0, INSTRUCTIONS);
    pmd = pmd_of(0, UINT64_C(0) - 100);
    pmd.reg_flags = PFM_PMDFL_OVFL_NOTIFY;
    pmd.reg_short_reset = UINT64_C(0) - 100;
    pmd.reg_long_reset = UINT64_C(0) - 300;
    assert_int_equal(upmu_pfm_write_pmcs(&caller.context, &pmc, sizeof pmc), UPMU_OK);
    assert_int_equal(upmu_pfm_write_pmds(&caller.context, &pmd, sizeof pmd), UPMU_OK);
    load_and_start(0);
    host_run(&caller.host, 99);
    assert_int_equal(value_of(0), UINT64_MAX);
    assert_int_equal(upmu_pfm_read(&caller.context, message, sizeof message, &bytes), UPMU_ERR_END);
    host_run(&caller.host, 1);
    assert_int_equal(caller.context.session.state, UPMU_SESSION_MASKED);
    assert_int_equal(upmu_pfm_read(&caller.context, message, sizeof message[0] - 1, &bytes), UPMU_ERR_INVALID);
    assert_int_equal(upmu_pfm_read(&caller.context, message, sizeof message[0] * 5 / 2, &bytes), UPMU_ERR_INVALID);
    assert_int_equal(upmu_pfm_read(&caller.context, message, 0, &bytes), UPMU_ERR_INVALID);
    assert_int_equal(upmu_pfm_read(&caller.context, message, sizeof message, &bytes), UPMU_OK);
    assert_int_equal(bytes, sizeof message[0]);
    assert_int_equal(message[0].type, PFM_MSG_OVFL);
    assert_int_equal(message[0].pfm_ovfl_msg.msg_ovfl_pid, 7);
    assert_int_equal(message[0].pfm_ovfl_msg.msg_ovfl_tid, 8);
    assert_int_equal(message[0].pfm_ovfl_msg.msg_active_set, 0);
    assert_int_equal(message[0].pfm_ovfl_msg.msg_ovfl_cpu, 0);
    assert_int_equal(message[0].pfm_ovfl_msg.msg_ovfl_ip, 0x1001);
    assert_int_equal(message[0].pfm_ovfl_msg.msg_ovfl_pmds[0], UINT64_C(1) << pmd.reg_num);
    assert_int_equal(upmu_pfm_start(&caller.context, PFM_STARTFL_RESTART, 0), UPMU_OK);
    host_run(&caller.host, 299);
    assert_int_equal(caller.context.session.state, UPMU_SESSION_RUNNING);
    host_run(&caller.host, 1);
    assert_int_equal(caller.context.session.state, UPMU_SESSION_MASKED);
    end();
}

/* Counters 0 and 1 notify every 100 instructions and 50 branches, after a restart every 300 and 150. */
static void mask_by_both(uint32_t flags, uint32_t target)
{
    struct pfarg_pmc pmc[2];
    struct pfarg_pmd pmd[2];

    begin("core2", flags);
    for (unsigned i = 0; i < 2; i++) {
        pmc[i] = pmc_of(i, i ? BRANCHES : INSTRUCTIONS);
        pmd[i] = pmd_of(i, UINT64_C(0) - (i ? 50 : 100));
        pmd[i].reg_flags = PFM_PMDFL_OVFL_NOTIFY;
        pmd[i].reg_short_reset = pmd[i].reg_value;
        pmd[i].reg_long_reset = UINT64_C(0) - (i ? 150 : 300);
    }
    assert_int_equal(upmu_pfm_write_pmcs(&caller.context, pmc, sizeof pmc), UPMU_OK);
    assert_int_equal(upmu_pfm_write_pmds(&caller.context, pmd, sizeof pmd), UPMU_OK);
    load_and_start(target);
    host_run(&caller.host, 100);
    assert_int_equal(caller.context.session.state, UPMU_SESSION_MASKED);
}

/* What a program does with a message: it writes what comes next, and restarts. */
static void a_masked_context_is_programmed_and_restarted(void **state)
{
    struct pfarg_pmd pmd;
    struct pfarg_pmc pmc;

    (void)state;
    mask_by_both(PFM_FL_SYSTEM_WIDE, 0);
    pmd = pmd_of(0, UINT64_C(0) - 70);
    pmd.reg_flags = PFM_PMDFL_OVFL_NOTIFY;
    pmd.reg_short_reset = UINT64_C(0) - 100;
    pmd.reg_long_reset = UINT64_C(0) - 300;
    assert_int_equal(upmu_pfm_write_pmds(&caller.context, &pmd, sizeof pmd), UPMU_OK);
    assert_int_equal(caller.context.session.state, UPMU_SESSION_MASKED);
    host_run(&caller.host, 1000);
    assert_int_equal(upmu_pfm_start(&caller.context, PFM_STARTFL_RESTART, 0), UPMU_OK);
    assert_int_equal(caller.context.session.state, UPMU_SESSION_RUNNING);
    /* What was written stays, also where the long reset was due. */
    assert_int_equal(value_of(0), UINT64_C(0) - 70);
    host_run(&caller.host, 69);
    assert_int_equal(caller.context.session.state, UPMU_SESSION_RUNNING);
    host_run(&caller.host, 1);
    assert_int_equal(caller.context.session.state, UPMU_SESSION_MASKED);
    /* A PMC fewer: the reset that is due is that of the same PMD as before. */
    pmc = pmc_of(1, 0);
    assert_int_equal(upmu_pfm_write_pmcs(&caller.context, &pmc, sizeof pmc), UPMU_OK);
    assert_int_equal(caller.context.session.state, UPMU_SESSION_MASKED);
    assert_int_equal(upmu_pfm_start(&caller.context, PFM_STARTFL_RESTART, 0), UPMU_OK);
    assert_int_equal(value_of(0), UINT64_C(0) - 300);
    end();
}

static void a_reset_that_is_due_stays_with_its_pmd_when_events_come(void **state)
{
    struct pfarg_pmc pmc;

    (void)state;
    mask_by_both(PFM_FL_SYSTEM_WIDE, 0);
    pmc = pmc_of(0, 0);
    assert_int_equal(upmu_pfm_write_pmcs(&caller.context, &pmc, sizeof pmc), UPMU_OK);
    assert_int_equal(upmu_pfm_start(&caller.context, PFM_STARTFL_RESTART, 0), UPMU_OK);
    assert_int_equal(value_of(1), UINT64_C(0) - 150);
    end();
}

/* Only the library knows that it is. */
static void a_thread_that_a_message_blocked_runs_on_however_it_ends(void **state)
{
    struct pfarg_pmd pmd;
    bool last;

    (void)state;
    for (unsigned way = 0; way < 6; way++) {
        mask_by_both(PFM_FL_NOTIFY_BLOCK, 42);
        assert_true(caller.blocked);
        pmd = pmd_of(0, UINT64_C(0) - 70);
        pmd.reg_flags = PFM_PMDFL_OVFL_NOTIFY;
        assert_int_equal(upmu_pfm_write_pmds(&caller.context, &pmd, sizeof pmd), UPMU_OK);
        assert_true(caller.blocked);
        switch (way) {
        case 0:
            assert_int_equal(upmu_pfm_start(&caller.context, PFM_STARTFL_RESTART, 0), UPMU_OK);
            break;
        case 1:
            assert_int_equal(upmu_pfm_start(&caller.context, 0, 0), UPMU_OK);
            break;
        case 2:
            assert_int_equal(upmu_pfm_start(&caller.context, PFM_STARTFL_SET, 0), UPMU_OK);
            break;
        case 3:
            assert_int_equal(upmu_pfm_stop(&caller.context, 0), UPMU_OK);
            break;
        case 4:
            assert_int_equal(upmu_pfm_unload_context(&caller.context, 0), UPMU_OK);
            break;
        default:
            upmu_pfm_share(&caller.context);
            assert_int_equal(upmu_pfm_close(&caller.context, &last), UPMU_OK);
            assert_true(caller.blocked && !last);
        }
        assert_int_equal(caller.blocked, way == 5);
        end();
        assert_false(caller.blocked);
    }
}

/*
 * What shows which row: P2-094: event_id.  P2-093: value[0].  P2-092: the refusal of reg_reset_pmds[2].  P2-054:
 * the last write, whose fields would be refused with their flag.
 */
static void samples_carry_pmds_and_the_event_id(void **state)
{
    struct upmu_record record;
    struct pfarg_pmd pmd;

    (void)state;
    begin("skylake", PFM_FL_SYSTEM_WIDE);
    program(1, BRANCHES, 0);
    program(0, INSTRUCTIONS, 0);
    pmd = pmd_of(0, UINT64_C(0) - 100);
    pmd.reg_flags = PFM_PMDFL_SMPL;
    pmd.reg_short_reset = UINT64_C(0) - 100;
    pmd.reg_smpl_eventid = 0x1234567890;
    pmd.reg_smpl_pmds[0] = UINT64_C(1) << pmu()->counter[1].value_row;
    assert_int_equal(upmu_pfm_write_pmds(&caller.context, &pmd, sizeof pmd), UPMU_OK);
    load_and_start(0);
    host_run(&caller.host, 250);
    for (unsigned i = 1; i <= 2; i++) {
        assert_true(upmu_ring_view(&caller.context.session.ring, &record));
        assert_int_equal(record.event_id, 0x1234567890);
        assert_in_range(record.value[0], 50 * i - 1, 50 * i, i);
        upmu_ring_drop(&caller.context.session.ring);
    }
    assert_false(upmu_ring_view(&caller.context.session.ring, &record));
    /* Registers that do not exist. */
    pmd.reg_smpl_pmds[3] = UINT64_C(1) << 63;
    assert_int_equal(upmu_pfm_write_pmds(&caller.context, &pmd, sizeof pmd), UPMU_ERR_INVALID);
    pmd.reg_smpl_pmds[3] = 0;
    pmd.reg_reset_pmds[2] = 1;
    assert_int_equal(upmu_pfm_write_pmds(&caller.context, &pmd, sizeof pmd), UPMU_ERR_INVALID);
    /* Without their flag the fields are not looked at. */
    pmd.reg_flags = 0;
    assert_int_equal(upmu_pfm_write_pmds(&caller.context, &pmd, sizeof pmd), UPMU_OK);
    end();
}

/*
 * Catches work that grows with a number that a program chose: a read of 2^64 - 16 bytes (whole messages) stepped
 * through them 56 at a time.  The alarm ends a test that hangs.
 */
static void sizes_of_any_number_cost_the_same(void **state)
{
    const size_t most = SIZE_MAX - SIZE_MAX % sizeof(union pfarg_msg);
    union pfarg_msg message;
    struct pfarg_pmd pmd;
    size_t bytes;

    (void)state;
    mask_by_both(PFM_FL_SYSTEM_WIDE, 0);
    (void)alarm(10);
    assert_int_equal(upmu_pfm_read(&caller.context, &message, most, &bytes), UPMU_OK);
    assert_int_equal(bytes, sizeof message);
    assert_int_equal(upmu_pfm_read(&caller.context, &message, most, &bytes), UPMU_ERR_END);
    assert_int_equal(upmu_pfm_read(&caller.context, &message, most + 8, &bytes), UPMU_ERR_INVALID);
    assert_int_equal(upmu_pfm_write_pmds(&caller.context, &pmd, SIZE_MAX - SIZE_MAX % sizeof pmd), UPMU_ERR_NO_SPACE);
    /* Where the host sets no limit to a vector. */
    caller.context.memory.vector_bytes = SIZE_MAX;
    caller.no_memory = true;
    assert_int_equal(upmu_pfm_write_pmds(&caller.context, &pmd, SIZE_MAX - SIZE_MAX % sizeof pmd), UPMU_ERR_PORT);
    assert_int_equal(upmu_pfm9_write_pmds(&caller.context, &pmd, UINT32_MAX),
                     sizeof(size_t) == 8 ? UPMU_ERR_PORT : UPMU_ERR_NO_SPACE);
    (void)alarm(0);
    caller.context.memory.vector_bytes = sizeof caller.vector;
    caller.no_memory = false;
    end();
}

static void overflows_set_other_pmds_back_and_say_the_last_reset_value(void **state)
{
    struct pfarg_pmd pmd, read;

    (void)state;
    begin("skylake", PFM_FL_SYSTEM_WIDE);
    program(1, BRANCHES, 0);
    program(0, INSTRUCTIONS, 0);
    pmd = pmd_of(0, UINT64_C(0) - 70);
    pmd.reg_flags = PFM_PMDFL_SMPL;
    pmd.reg_short_reset = UINT64_C(0) - 100;
    pmd.reg_reset_pmds[0] = UINT64_C(1) << pmu()->counter[1].value_row;
    assert_int_equal(upmu_pfm_write_pmds(&caller.context, &pmd, sizeof pmd), UPMU_OK);
    load_and_start(0);
    read = pmd_of(0, 0);
    assert_int_equal(upmu_pfm_read_pmds(&caller.context, &read, sizeof read), UPMU_OK);
    assert_int_equal(read.reg_last_reset_val, UINT64_C(0) - 70);
    host_run(&caller.host, 170); /* overflows at 70 and 170 */
    host_run(&caller.host, 40);
    assert_int_equal(value_of(1), 20);
    assert_int_equal(upmu_pfm_read_pmds(&caller.context, &read, sizeof read), UPMU_OK);
    assert_int_equal(read.reg_last_reset_val, UINT64_C(0) - 100);
    assert_int_equal(read.reg_value, UINT64_C(0) - 60);
    end();
}

static void random_reset_values_stay_within_their_mask(void **state)
{
    struct pfarg_pmd pmd, read;
    uint64_t first = 0;
    bool varies = false;

    (void)state;
    begin("skylake", PFM_FL_SYSTEM_WIDE);
    program(0, INSTRUCTIONS, 0);
    pmd = pmd_of(0, UINT64_C(0) - 1000);
    pmd.reg_flags = PFM_PMDFL_SMPL | PFM_PMDFL_RANDOM;
    pmd.reg_short_reset = UINT64_C(0) - 1000;
    pmd.reg_random_mask = 0xff;
    assert_int_equal(upmu_pfm_write_pmds(&caller.context, &pmd, sizeof pmd), UPMU_OK);
    load_and_start(0);
    for (unsigned i = 0; i < 50; i++) {
        host_run(&caller.host, 1256);
        read = pmd_of(0, 0);
        assert_int_equal(upmu_pfm_read_pmds(&caller.context, &read, sizeof read), UPMU_OK);
        assert_in_range(UINT64_C(0) - read.reg_last_reset_val, 1000, 1255);
        varies = varies || (i && read.reg_last_reset_val != first);
        first = read.reg_last_reset_val;
    }
    assert_true(varies);
    end();
}

/* Write the PMD of counter 0 of set 0 with these flags. */
static void flag(struct pfarg_pmd *pmd, uint32_t flags)
{
    pmd->reg_flags = flags;
    assert_int_equal(upmu_pfm_write_pmds(&caller.context, pmd, sizeof *pmd), UPMU_OK);
}

static unsigned records(struct upmu_record *out_last)
{
    unsigned count = 0;

    while (upmu_ring_view(&caller.context.session.ring, out_last)) {
        count++;
        upmu_ring_drop(&caller.context.session.ring);
    }
    return count;
}

/*
 * P2-098: without PFM_PMDFL_SMPL the fields for sampling are not looked at, though another flag is set, and a flag
 * that was set is cleared by a write without it.  Catches flags that are only ever or-ed, and fields that are used
 * without their flag.
 */
static void sampling_fields_count_with_their_flag_alone(void **state)
{
    struct upmu_record record;
    struct pfarg_pmd pmd;

    (void)state;
    begin("skylake", PFM_FL_SYSTEM_WIDE);
    program(1, BRANCHES, 0);
    program(0, INSTRUCTIONS, 0);
    pmd = pmd_of(0, UINT64_C(0) - 100);
    pmd.reg_short_reset = UINT64_C(0) - 100;
    pmd.reg_smpl_eventid = 7;
    pmd.reg_smpl_pmds[0] = pmd.reg_reset_pmds[0] = UINT64_C(1) << pmu()->counter[1].value_row;
    for (unsigned round = 0; round < 2; round++) {
        flag(&pmd, PFM_PMDFL_SMPL);
        if (!round)
            load_and_start(0);
        host_run(&caller.host, 100);
        assert_true(upmu_ring_view(&caller.context.session.ring, &record));
        assert_true(record.extended && record.event_id == 7 && record.values != 0);
        assert_int_equal(records(&record), 1);
        assert_int_equal(value_of(1), 0); /* it was reset */
        /* It samples for another reason: neither validated nor used. */
        pmd.reg_smpl_pmds[3] = pmd.reg_reset_pmds[3] = UINT64_C(1) << 63;
        flag(&pmd, PFM_PMDFL_RANDOM);
        pmd.reg_smpl_pmds[3] = pmd.reg_reset_pmds[3] = 0;
        host_run(&caller.host, 100);
        assert_true(upmu_ring_view(&caller.context.session.ring, &record));
        assert_false(record.extended);
        assert_int_equal(records(&record), 1);
        assert_int_equal(value_of(1), 50);
        /* And none: it counts. */
        flag(&pmd, 0);
        host_run(&caller.host, 1000);
        assert_int_equal(records(&record), 0);
        assert_int_equal(value_of(0), UINT64_C(0) - 100 + 1000);
    }
    end();
}

/*
 * P2-089: after a sample the short reset, whatever the long one is; after a message the long one.  Catches one taken
 * for the other where a test gives both the same value.
 */
static void a_sample_takes_the_short_reset_and_a_message_the_long_one(void **state)
{
    struct upmu_record record;
    struct pfarg_pmd pmd;

    (void)state;
    begin("skylake", PFM_FL_SYSTEM_WIDE);
    program(0, INSTRUCTIONS, 0);
    pmd = pmd_of(0, UINT64_C(0) - 50);
    pmd.reg_short_reset = UINT64_C(0) - 100;
    pmd.reg_long_reset = UINT64_C(0) - 700;
    flag(&pmd, PFM_PMDFL_SMPL);
    load_and_start(0);
    for (unsigned i = 0; i < 3; i++) {
        host_run(&caller.host, i ? 100 : 50);
        assert_int_equal(records(&record), 1);
        assert_int_equal(value_of(0), UINT64_C(0) - 100);
    }
    flag(&pmd, PFM_PMDFL_SMPL | PFM_PMDFL_OVFL_NOTIFY);
    host_run(&caller.host, 50);
    assert_int_equal(caller.context.session.state, UPMU_SESSION_MASKED);
    assert_int_equal(upmu_pfm_start(&caller.context, PFM_STARTFL_RESTART, 0), UPMU_OK);
    assert_int_equal(value_of(0), UINT64_C(0) - 700);
    /* Without the flag again: no message, no mask. */
    flag(&pmd, PFM_PMDFL_SMPL);
    host_run(&caller.host, 50);
    assert_int_equal(caller.context.session.state, UPMU_SESSION_RUNNING);
    assert_int_equal(value_of(0), UINT64_C(0) - 100);
    end();
}

/* P2-101: a random part with the flag, none any more without it, though the mask still stands there. */
static void random_parts_end_with_their_flag(void **state)
{
    struct upmu_record record;
    struct pfarg_pmd pmd;
    unsigned odd = 0;

    (void)state;
    begin("skylake", PFM_FL_SYSTEM_WIDE);
    program(0, INSTRUCTIONS, 0);
    pmd = pmd_of(0, UINT64_C(0) - 1000);
    pmd.reg_short_reset = UINT64_C(0) - 1000;
    pmd.reg_random_mask = 0xff;
    flag(&pmd, PFM_PMDFL_SMPL | PFM_PMDFL_RANDOM);
    load_and_start(0);
    for (unsigned round = 0; round < 4; round++) {
        odd = 0;
        for (unsigned i = 0; i < 20; i++) {
            host_run(&caller.host, 1000);
            odd += records(&record) && value_of(0) != UINT64_C(0) - 1000;
        }
        assert_int_equal(odd != 0, round % 2 == 0);
        flag(&pmd, round % 2 ? PFM_PMDFL_SMPL | PFM_PMDFL_RANDOM : PFM_PMDFL_SMPL);
    }
    end();
}

/* P2-077: hooks are called and the context is masked, but no message is kept. */
static void without_messages_a_context_wakes_and_queues_none(void **state)
{
    union pfarg_msg message;
    size_t bytes;

    (void)state;
    for (unsigned keep = 0; keep < 2; keep++) {
        mask_by_both(PFM_FL_SYSTEM_WIDE | (keep ? 0u : PFM_FL_OVFL_NO_MSG), 0);
        assert_int_equal(caller.wakes, 1);
        assert_int_equal(upmu_pfm_read(&caller.context, &message, sizeof message, &bytes),
                         keep ? UPMU_OK : UPMU_ERR_END);
        assert_int_equal(bytes, keep ? sizeof message : 0);
        assert_int_equal(upmu_pfm_start(&caller.context, PFM_STARTFL_RESTART, 0), UPMU_OK);
        assert_int_equal(caller.context.session.state, UPMU_SESSION_RUNNING);
        end();
    }
}

/* ---- Refusals ---- */

/* All that a context is, but for its vector. */
struct image {
    struct upmu_pfm_context context;
    struct upmu_pfm_set sets[SETS];
};

static void take_image(struct image *image)
{
    memset(&caller.context.session.why, 0, sizeof caller.context.session.why);
    image->context = caller.context;
    memcpy(image->sets, caller.sets, sizeof image->sets);
}

static void nothing_changed(const struct image *image)
{
    memset(&caller.context.session.why, 0, sizeof caller.context.session.why);
    assert_memory_equal(&image->context, &caller.context, sizeof caller.context);
    assert_memory_equal(image->sets, caller.sets, sizeof caller.sets);
}

/*
 * What shows which row: P2-019, P2-080, P2-020: the sizes (NO_SPACE; one byte less; 0).  P2-053: reg_reserved2 of
 * PMCs. P2-086, P2-052: reg_flags 0x10 and 2.  P2-096: reg_reserved2 of PMDs.  P2-107: flags of a stop.
 */
static void refused_vectors_change_nothing(void **state)
{
    static struct image image;
    struct pfarg_pmc good, pmcs[3];
    struct pfarg_pmd fine, pmds[VECTOR + 1];
    uint32_t writes;

    (void)state;
    for (unsigned loaded = 0; loaded < 2; loaded++) {
        begin("skylake", PFM_FL_SYSTEM_WIDE);
        program(0, INSTRUCTIONS, 5);
        if (loaded)
            load_and_start(0);
        take_image(&image);
        writes = caller.host.sim.access_count[UPMU_SIM_WRMSR];
        good = pmc_of(1, BRANCHES);
        for (unsigned bad = 0; bad < 3; bad++) {
            pmcs[0] = pmcs[1] = pmcs[2] = good;
#define REFUSED(field, value, status)                                                                            \
    do {                                                                                                         \
        pmcs[bad].field = (value);                                                                               \
        assert_int_equal(upmu_pfm_write_pmcs(&caller.context, pmcs, sizeof pmcs), (status));                     \
        nothing_changed(&image);                                                                                 \
        pmcs[bad] = good;                                                                                        \
    } while (0)
            REFUSED(reg_num, 95, UPMU_ERR_INVALID);
            REFUSED(reg_num, 0xffff, UPMU_ERR_INVALID);
            REFUSED(reg_num, pmu()->counter[0].value_row, UPMU_ERR_INVALID);
            REFUSED(reg_num, 38, UPMU_ERR_INVALID); /* IA32_PERF_GLOBAL_CTRL */
            REFUSED(reg_set, 1, UPMU_ERR_INVALID);
            REFUSED(reg_flags, 2, UPMU_ERR_INVALID);
            REFUSED(reg_reserved2[3], 1, UPMU_ERR_INVALID);
            REFUSED(reg_value, UINT64_C(1) << 40, UPMU_ERR_NOT_PERMITTED);
#undef REFUSED
        }
        fine = pmd_of(1, 3);
        for (unsigned bad = 0; bad < 3; bad++) {
            pmds[0] = pmds[1] = pmds[2] = fine;
#define REFUSED(field, value)                                                                                    \
    do {                                                                                                         \
        pmds[bad].field = (value);                                                                               \
        assert_int_equal(upmu_pfm_write_pmds(&caller.context, pmds, 3 * sizeof *pmds), UPMU_ERR_INVALID);        \
        nothing_changed(&image);                                                                                 \
        pmds[bad] = fine;                                                                                        \
    } while (0)
            REFUSED(reg_num, pmu()->counter[0].select_row);
            REFUSED(reg_set, 7);
            REFUSED(reg_flags, 0x10);
            REFUSED(reg_reserved2[7], 1);
#undef REFUSED
            pmds[bad].reg_flags = PFM_PMDFL_SWITCH; /* after no overflow */
            assert_int_equal(upmu_pfm_write_pmds(&caller.context, pmds, 3 * sizeof *pmds), UPMU_ERR_INVALID);
            nothing_changed(&image);
        }
        /* Sizes. */
        assert_int_equal(upmu_pfm_write_pmcs(&caller.context, pmcs, sizeof pmcs - 1), UPMU_ERR_INVALID);
        assert_int_equal(upmu_pfm_write_pmcs(&caller.context, pmcs, 0), UPMU_ERR_INVALID);
        assert_int_equal(upmu_pfm_write_pmds(&caller.context, pmds, sizeof *pmds + 8), UPMU_ERR_INVALID);
        assert_int_equal(upmu_pfm_write_pmds(&caller.context, pmds, sizeof pmds), UPMU_ERR_NO_SPACE);
        assert_int_equal(upmu_pfm_read_pmds(&caller.context, pmds, sizeof pmds), UPMU_ERR_NO_SPACE);
        caller.no_memory = true;
        assert_int_equal(upmu_pfm_write_pmcs(&caller.context, pmcs, sizeof pmcs), UPMU_ERR_PORT);
        caller.no_memory = false;
        assert_int_equal(upmu_pfm_start(&caller.context, 4, 0), UPMU_ERR_INVALID);
        assert_int_equal(upmu_pfm_start(&caller.context, PFM_STARTFL_SET, 9), UPMU_ERR_INVALID);
        assert_int_equal(upmu_pfm_stop(&caller.context, 1), UPMU_ERR_INVALID);
        assert_int_equal(upmu_pfm_unload_context(&caller.context, 1), UPMU_ERR_INVALID);
        nothing_changed(&image);
        assert_int_equal(caller.host.sim.access_count[UPMU_SIM_WRMSR], writes);
        end();
    }
}

/* What only the load finds out: the session runs on as it was. */
static void a_loaded_session_survives_registers_that_make_no_event(void **state)
{
    struct pfarg_pmc pmcs[2];
    struct pfarg_pmd pmd;

    (void)state;
    begin("skylake", PFM_FL_SYSTEM_WIDE);
    program(0, INSTRUCTIONS, 0);
    load_and_start(0);
    host_run(&caller.host, 100);
    /* Reference cycles exist on fixed counter 2 alone. */
    pmcs[0] = pmc_of(0, BRANCHES);
    pmcs[1] = pmc_of(1, 0x300u | USR_OS);
    assert_int_equal(upmu_pfm_write_pmcs(&caller.context, pmcs, sizeof pmcs), UPMU_ERR_DOES_NOT_FIT);
    assert_int_equal(caller.context.session.state, UPMU_SESSION_RUNNING);
    assert_int_equal(caller.sets[0].pmc[pmcs[0].reg_num], INSTRUCTIONS);
    host_run(&caller.host, 100);
    assert_int_equal(value_of(0), 200);
    /* A period that the PMU cannot have. */
    pmd = pmd_of(0, UINT64_C(0) - 1);
    pmd.reg_flags = PFM_PMDFL_OVFL_NOTIFY;
    pmd.reg_short_reset = UINT64_C(0) - 1;
    assert_int_equal(upmu_pfm_write_pmds(&caller.context, &pmd, sizeof pmd), UPMU_ERR_INVALID);
    host_run(&caller.host, 100);
    assert_int_equal(value_of(0), 300);
    end();
}

static void vectors_up_to_the_limit_are_taken(void **state)
{
    struct pfarg_pmd pmds[VECTOR];

    (void)state;
    begin("skylake", 0);
    for (unsigned i = 0; i < VECTOR; i++)
        pmds[i] = pmd_of(i % 4, i);
    assert_int_equal(upmu_pfm_write_pmds(&caller.context, pmds, sizeof pmds), UPMU_OK);
    assert_int_equal(value_of(3), VECTOR - 1);
    assert_int_equal(upmu_pfm_write_pmds(&caller.context, pmds, sizeof pmds[0]), UPMU_OK);
    end();
}

/*
 * What shows which row: P2-008: UPMU_ERR_NOT_PERMITTED.  P2-074: a CPU's context that blocks.  P2-058: name,
 * argument and size without the flag.  P2-076: format "none", then "default".  P2-009: UPMU_ERR_NO_SPACE, and 0
 * contexts in end().
 */
static void creation_can_be_denied_and_leaves_nothing(void **state)
{
    struct image image;
    unsigned argument = 0;
    bool last;

    (void)state;
    begin("skylake", 0);
    assert_int_equal(upmu_pfm_close(&caller.context, &last), UPMU_OK);
    take_image(&image);
    caller.deny = true;
    assert_int_equal(create(0), UPMU_ERR_NOT_PERMITTED);
    nothing_changed(&image);
    caller.deny = false;
    assert_int_equal(create(0x10), UPMU_ERR_INVALID);
    assert_int_equal(create(PFM_FL_SMPL_FMT), UPMU_ERR_INVALID);
    assert_int_equal(create(PFM_FL_SYSTEM_WIDE | PFM_FL_NOTIFY_BLOCK), UPMU_ERR_INVALID);
    assert_int_equal(
        upmu_pfm_create_context(&caller.pfm, &caller.owner, &caller.context, &caller.memory, 0, "default", NULL, 0),
        UPMU_ERR_INVALID);
    assert_int_equal(
        upmu_pfm_create_context(&caller.pfm, &caller.owner, &caller.context, &caller.memory, 0, NULL, &argument, 0),
        UPMU_ERR_INVALID);
    assert_int_equal(
        upmu_pfm_create_context(&caller.pfm, &caller.owner, &caller.context, &caller.memory, 0, NULL, NULL, 4),
        UPMU_ERR_INVALID);
    nothing_changed(&image);
    assert_int_equal(upmu_pfm_create_context(&caller.pfm, &caller.owner, &caller.context, &caller.memory,
                                             PFM_FL_SMPL_FMT, "none", NULL, 0),
                     UPMU_ERR_INVALID);
    assert_int_equal(caller.pfm.contexts, 0);
    caller.pfm.most_contexts = 1;
    assert_int_equal(upmu_pfm_create_context(&caller.pfm, &caller.owner, &caller.context, &caller.memory,
                                             PFM_FL_SMPL_FMT, "default", NULL, 0),
                     UPMU_OK);
    assert_int_equal(create(0), UPMU_ERR_NO_SPACE);
    end();
}

static void the_last_descriptor_ends_the_session(void **state)
{
    bool last;

    (void)state;
    begin("skylake", PFM_FL_SYSTEM_WIDE);
    program(0, INSTRUCTIONS, 0);
    load_and_start(0);
    upmu_pfm_share(&caller.context);
    assert_int_equal(upmu_pfm_close(&caller.context, &last), UPMU_OK);
    assert_false(last);
    host_run(&caller.host, 100);
    assert_int_equal(value_of(0), 100);
    end();
    assert_int_equal(caller.context.session.id, 0);
}

/* The program changes its memory behind each copy: what was fetched counts, and nothing is fetched twice. */
static void callers_memory_is_read_once(void **state)
{
    struct pfarg_setdesc sets[2] = {{.set_id = 3}, {.set_id = 5}};
    struct pfarg_setinfo info = {.set_id = 5};
    struct pfarg_pmc pmcs[3];
    struct pfarg_pmd pmds[3];

    (void)state;
    begin("skylake", 0);
    for (unsigned i = 0; i < 3; i++) {
        pmcs[i] = pmc_of(i, INSTRUCTIONS);
        pmds[i] = pmd_of(i, 10 * i);
    }
    caller.mutate = &pmcs[2].reg_num;
    caller.bytes_in = 0;
    assert_int_equal(upmu_pfm_write_pmcs(&caller.context, pmcs, sizeof pmcs), UPMU_OK);
    assert_int_equal(caller.bytes_in, sizeof pmcs);
    assert_int_equal(caller.sets[0].pmc[pmu()->counter[2].select_row], INSTRUCTIONS);
    assert_int_equal(caller.sets[0].pmc[pmu()->counter[3].select_row], 0);
    caller.mutate = &pmds[1].reg_flags;
    caller.bytes_in = 0;
    assert_int_equal(upmu_pfm_write_pmds(&caller.context, pmds, sizeof pmds), UPMU_OK);
    assert_int_equal(caller.bytes_in, sizeof pmds);
    assert_int_equal(caller.sets[0].pmd[1].reg_flags, 0);
    caller.bytes_in = 0;
    caller.mutate = NULL;
    assert_int_equal(upmu_pfm_read_pmds(&caller.context, pmds, sizeof pmds), UPMU_OK);
    assert_int_equal(caller.bytes_in, sizeof pmds);
    assert_int_equal(pmds[2].reg_value, 20);
    caller.mutate = &sets[1].set_id;
    caller.bytes_in = 0;
    assert_int_equal(upmu_pfm_create_evtsets(&caller.context, sets, sizeof sets), UPMU_OK);
    assert_int_equal(caller.bytes_in, sizeof sets);
    caller.mutate = &info.set_id;
    caller.bytes_in = 0;
    assert_int_equal(upmu_pfm_getinfo_evtsets(&caller.context, &info, sizeof info), UPMU_OK);
    assert_int_equal(caller.bytes_in, sizeof info);
    assert_int_equal(info.set_id, 5);
    sets[1].set_id = 5;
    caller.mutate = &sets[1].set_id;
    caller.bytes_in = 0;
    assert_int_equal(upmu_pfm_delete_evtsets(&caller.context, sets, sizeof sets), UPMU_OK);
    assert_int_equal(caller.bytes_in, sizeof sets);
    end();
}

/* ---- Event sets ---- */

static struct pfarg_setdesc set_of(unsigned number, unsigned flags, uint64_t timeout)
{
    return (struct pfarg_setdesc){.set_id = (uint16_t)number, .set_flags = flags, .set_timeout = timeout};
}

static void make_set(unsigned number, unsigned flags, uint64_t timeout)
{
    struct pfarg_setdesc set = set_of(number, flags, timeout);

    assert_int_equal(upmu_pfm_create_evtsets(&caller.context, &set, sizeof set), UPMU_OK);
}

static void program_in(unsigned set, unsigned counter, uint64_t word, uint64_t value)
{
    struct pfarg_pmc pmc = pmc_of(counter, word);
    struct pfarg_pmd pmd = pmd_of(counter, value);

    pmc.reg_set = pmd.reg_set = (uint16_t)set;
    assert_int_equal(upmu_pfm_write_pmcs(&caller.context, &pmc, sizeof pmc), UPMU_OK);
    assert_int_equal(upmu_pfm_write_pmds(&caller.context, &pmd, sizeof pmd), UPMU_OK);
}

static uint64_t value_in(unsigned set, unsigned counter)
{
    struct pfarg_pmd pmd = pmd_of(counter, 0);

    pmd.reg_set = (uint16_t)set;
    assert_int_equal(upmu_pfm_read_pmds(&caller.context, &pmd, sizeof pmd), UPMU_OK);
    return pmd.reg_value;
}

static struct pfarg_setinfo info_of(unsigned set)
{
    struct pfarg_setinfo info = {.set_id = (uint16_t)set};

    assert_int_equal(upmu_pfm_getinfo_evtsets(&caller.context, &info, sizeof info), UPMU_OK);
    assert_int_equal(info.set_id, set);
    return info;
}

/*
 * What shows which row: P2-082, P2-085: 100 and 200 in one register.  P2-106: 110 in set 0 at first, later 210 in
 * set 7. P2-104: 205 after PFM_STARTFL_SET.  P2-127: set 0 keeps 110 meanwhile.  P2-131: set 65535.
 */
static void a_register_has_a_value_in_each_set_and_start_says_which(void **state)
{
    (void)state;
    begin("skylake", PFM_FL_SYSTEM_WIDE);
    make_set(7, 0, 0);
    make_set(65535, 0, 0);
    program_in(0, 0, INSTRUCTIONS, 100);
    program_in(7, 0, BRANCHES, 200);
    assert_int_equal(value_in(0, 0), 100);
    assert_int_equal(value_in(7, 0), 200);
    /* The first set is the first in the list; afterwards the last that was active. */
    load_and_start(0);
    host_run(&caller.host, 10);
    assert_int_equal(value_in(0, 0), 110);
    assert_int_equal(upmu_pfm_stop(&caller.context, 0), UPMU_OK);
    assert_int_equal(upmu_pfm_start(&caller.context, PFM_STARTFL_SET, 7), UPMU_OK);
    host_run(&caller.host, 10);
    assert_int_equal(value_in(7, 0), 205);
    assert_int_equal(upmu_pfm_stop(&caller.context, 0), UPMU_OK);
    assert_int_equal(upmu_pfm_start(&caller.context, 0, 0), UPMU_OK);
    host_run(&caller.host, 10);
    assert_int_equal(value_in(7, 0), 210);
    assert_int_equal(value_in(0, 0), 110);
    assert_int_equal(info_of(0).set_runs, 1);
    assert_int_equal(info_of(65535).set_runs, 0);
    end();
}

/*
 * What shows which row: P2-144: a vector of three, whose last element is refused in turn; P2-146: set_flags 4.
 * P2-145, P2-136, P2-148: set 9 made again has 77 still, its flags and a timeout that is not shorter.  P2-147,
 * P2-142: deleting, set 0 as well, all or none.  P2-133: set 3 is the first that is left.  P2-143: UPMU_ERR_STATE
 * at the end.
 */
static void sets_come_and_go_in_vectors_while_detached(void **state)
{
    static struct image image;
    struct pfarg_setdesc sets[3];
    struct pfarg_setinfo info = {.set_id = 9};

    (void)state;
    begin("skylake", PFM_FL_SYSTEM_WIDE);
    sets[0] = set_of(9, 0, 0);
    sets[1] = set_of(3, PFM_SETFL_TIME_SWITCH, 1000000);
    sets[2] = set_of(5, PFM_SETFL_OVFL_SWITCH, 0);
    take_image(&image);
#define REFUSED(field, value, status)                                                                            \
    do {                                                                                                         \
        struct pfarg_setdesc kept = sets[2];                                                                     \
        sets[2].field = (value);                                                                                 \
        assert_int_equal(upmu_pfm_create_evtsets(&caller.context, sets, sizeof sets), (status));                 \
        nothing_changed(&image);                                                                                 \
        sets[2] = kept;                                                                                          \
    } while (0)
    REFUSED(set_flags, 4, UPMU_ERR_INVALID);
    REFUSED(set_flags, PFM_SETFL_TIME_SWITCH, UPMU_ERR_INVALID);
    REFUSED(set_timeout, 5, UPMU_ERR_INVALID);
    REFUSED(set_reserved1, 1, UPMU_ERR_INVALID);
    REFUSED(reserved[5], 1, UPMU_ERR_INVALID);
#undef REFUSED
    assert_int_equal(upmu_pfm_create_evtsets(&caller.context, sets, sizeof sets - 1), UPMU_ERR_INVALID);
    nothing_changed(&image);
    assert_int_equal(upmu_pfm_create_evtsets(&caller.context, sets, sizeof sets), UPMU_OK);
    /* Four are all that there is memory for. */
    take_image(&image);
    sets[0] = set_of(1, 0, 0);
    assert_int_equal(upmu_pfm_create_evtsets(&caller.context, sets, sizeof sets[0]), UPMU_ERR_NO_SPACE);
    nothing_changed(&image);
    /* One that exists gets other properties and keeps its registers. */
    program_in(9, 2, CYCLES, 77);
    make_set(9, PFM_SETFL_TIME_SWITCH, 5000000);
    assert_int_equal(value_in(9, 2), 77);
    assert_int_equal(info_of(9).set_flags, PFM_SETFL_TIME_SWITCH);
    assert_compare(info_of(9).set_timeout, >=, 5000000);
    /* Deleting: all or none, set 0, too. */
    sets[0] = set_of(0, 0, 0);
    sets[1] = set_of(4, 0, 0);
    take_image(&image);
    assert_int_equal(upmu_pfm_delete_evtsets(&caller.context, sets, 2 * sizeof sets[0]), UPMU_ERR_INVALID);
    sets[1] = set_of(0, 0, 0);
    assert_int_equal(upmu_pfm_delete_evtsets(&caller.context, sets, 2 * sizeof sets[0]), UPMU_ERR_INVALID);
    nothing_changed(&image);
    sets[1] = set_of(9, 0, 0);
    assert_int_equal(upmu_pfm_delete_evtsets(&caller.context, sets, 2 * sizeof sets[0]), UPMU_OK);
    assert_int_equal(upmu_pfm_getinfo_evtsets(&caller.context, &info, sizeof info), UPMU_ERR_INVALID);
    /* The first is the lowest that is left. */
    program_in(3, 0, INSTRUCTIONS, 0);
    load_and_start(0);
    host_run(&caller.host, 10);
    assert_int_equal(value_in(3, 0), 10);
    assert_int_equal(upmu_pfm_create_evtsets(&caller.context, sets, sizeof sets[0]), UPMU_ERR_STATE);
    assert_int_equal(upmu_pfm_delete_evtsets(&caller.context, sets, sizeof sets[0]), UPMU_ERR_STATE);
    end();
}

/*
 * What shows which row: P2-091, P2-099, P2-135: set 2 has 0 after 299 and 50 after 300 + 50.  P2-139: the same PMD
 * has PFM_PMDFL_SMPL.  P2-148: set_ovfl_pmds.  P2-116: msg_active_set is 1 though set 2 is active when it is read.
 */
static void the_nth_overflow_switches_its_message_names_the_set_before(void **state)
{
    union pfarg_msg message;
    struct upmu_record record;
    struct pfarg_pmd pmd;
    size_t bytes;

    (void)state;
    begin("skylake", PFM_FL_SYSTEM_WIDE);
    make_set(0, PFM_SETFL_OVFL_SWITCH, 0);
    make_set(2, 0, 0);
    program_in(0, 0, INSTRUCTIONS, 0);
    program_in(2, 0, INSTRUCTIONS, 0);
    pmd = pmd_of(0, UINT64_C(0) - 100);
    pmd.reg_flags = PFM_PMDFL_SWITCH | PFM_PMDFL_SMPL;
    pmd.reg_short_reset = UINT64_C(0) - 100;
    pmd.reg_ovfl_switch_cnt = 3;
    assert_int_equal(upmu_pfm_write_pmds(&caller.context, &pmd, sizeof pmd), UPMU_OK);
    load_and_start(0);
    host_run(&caller.host, 299);
    assert_int_equal(upmu_cpu_tick(&caller.host.cpu[0]), UPMU_OK);
    assert_int_equal(value_in(2, 0), 0);
    host_run(&caller.host, 1);
    assert_int_equal(upmu_cpu_tick(&caller.host.cpu[0]), UPMU_OK);
    assert_int_equal(records(&record), 3);
    host_run(&caller.host, 50);
    assert_int_equal(value_in(2, 0), 50);
    assert_int_equal(info_of(0).set_ovfl_pmds[0], UINT64_C(1) << pmd.reg_num);
    end();
    /* With a message on the same overflow. */
    begin("skylake", PFM_FL_SYSTEM_WIDE);
    make_set(1, PFM_SETFL_OVFL_SWITCH, 0);
    make_set(2, 0, 0);
    program_in(1, 0, INSTRUCTIONS, 0);
    program_in(2, 0, INSTRUCTIONS, 0);
    pmd.reg_set = 1;
    pmd.reg_ovfl_switch_cnt = 1;
    pmd.reg_flags |= PFM_PMDFL_OVFL_NOTIFY;
    assert_int_equal(upmu_pfm_write_pmds(&caller.context, &pmd, sizeof pmd), UPMU_OK);
    assert_int_equal(upmu_pfm_load_context(&caller.context, 0, 0), UPMU_OK);
    assert_int_equal(upmu_pfm_start(&caller.context, PFM_STARTFL_SET, 1), UPMU_OK);
    host_run(&caller.host, 100);
    assert_int_equal(upmu_cpu_tick(&caller.host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_pfm_read(&caller.context, &message, sizeof message, &bytes), UPMU_OK);
    assert_int_equal(message.pfm_ovfl_msg.msg_active_set, 1);
    assert_int_equal(message.pfm_ovfl_msg.msg_ovfl_pmds[0], UINT64_C(1) << pmd.reg_num);
    end();
}

/* P2-099: the flag ends with a write without it, and its count is looked at with it alone. */
static void switching_ends_with_its_flag(void **state)
{
    struct pfarg_pmd pmd;

    (void)state;
    begin("skylake", PFM_FL_SYSTEM_WIDE);
    make_set(0, PFM_SETFL_OVFL_SWITCH, 0);
    make_set(2, 0, 0);
    program_in(0, 0, INSTRUCTIONS, 0);
    program_in(2, 0, INSTRUCTIONS, 0);
    pmd = pmd_of(0, UINT64_C(0) - 100);
    pmd.reg_short_reset = UINT64_C(0) - 100;
    for (unsigned round = 0; round < 4; round++) {
        bool switches = round % 2;

        /* (0 and 2^32 + 1 are refused where the flag is set.) */
        pmd.reg_ovfl_switch_cnt = switches ? 1 : round ? (UINT64_C(1) << 32) + 1 : 0;
        flag(&pmd, switches ? PFM_PMDFL_SMPL | PFM_PMDFL_SWITCH : PFM_PMDFL_SMPL);
        assert_int_equal(upmu_pfm_load_context(&caller.context, 0, 0), UPMU_OK);
        assert_int_equal(upmu_pfm_start(&caller.context, PFM_STARTFL_SET, 0), UPMU_OK);
        host_run(&caller.host, 350);
        assert_int_equal(upmu_cpu_tick(&caller.host.cpu[0]), UPMU_OK);
        host_run(&caller.host, 10);
        assert_int_equal(info_of(2).set_runs, (round + 1) / 2);
        assert_int_equal(upmu_pfm_unload_context(&caller.context, 0), UPMU_OK);
    }
    end();
}

/*
 * A write that loads the context anew changes nothing else: overflows that are left until a switch, the last reset
 * value, and what a reset goes back to.  Catches state of the core that lives in the events that a reload replaces.
 */
static void a_reload_keeps_what_the_core_knew_of_the_events(void **state)
{
    struct pfarg_pmd pmd, other, read;
    struct pfarg_pmc pmc;

    (void)state;
    begin("skylake", PFM_FL_SYSTEM_WIDE);
    make_set(0, PFM_SETFL_OVFL_SWITCH, 0);
    make_set(2, 0, 0);
    program_in(0, 0, INSTRUCTIONS, 0);
    program_in(0, 1, BRANCHES, 10);
    program_in(2, 0, INSTRUCTIONS, 0);
    pmd = pmd_of(0, UINT64_C(0) - 70);
    pmd.reg_flags = PFM_PMDFL_SWITCH | PFM_PMDFL_SMPL;
    pmd.reg_short_reset = UINT64_C(0) - 100;
    pmd.reg_ovfl_switch_cnt = 3;
    pmd.reg_reset_pmds[0] = UINT64_C(1) << pmu()->counter[1].value_row;
    assert_int_equal(upmu_pfm_write_pmds(&caller.context, &pmd, sizeof pmd), UPMU_OK);
    load_and_start(0);
    host_run(&caller.host, 190); /* overflows at 70 and 170 */
    assert_int_equal(value_of(1), 10 + 10);
    pmc = pmc_of(2, CYCLES);
    assert_int_equal(upmu_pfm_write_pmcs(&caller.context, &pmc, sizeof pmc), UPMU_OK);
    /* A refusal that only the load finds out, too. */
    other = pmd_of(2, UINT64_C(0) - 1);
    other.reg_flags = PFM_PMDFL_SMPL | PFM_PMDFL_SWITCH;
    other.reg_short_reset = UINT64_C(0) - 1;
    other.reg_ovfl_switch_cnt = 1;
    assert_int_equal(upmu_pfm_write_pmds(&caller.context, &other, sizeof other), UPMU_ERR_INVALID);
    read = pmd_of(0, 0);
    assert_int_equal(upmu_pfm_read_pmds(&caller.context, &read, sizeof read), UPMU_OK);
    assert_int_equal(read.reg_value, UINT64_C(0) - 80);
    assert_int_equal(read.reg_last_reset_val, UINT64_C(0) - 100);
    /* What it is given now is what the next overflow, which is the third, sets it to. */
    other = pmd_of(1, 500);
    assert_int_equal(upmu_pfm_write_pmds(&caller.context, &other, sizeof other), UPMU_OK);
    host_run(&caller.host, 78);
    assert_int_equal(value_of(1), 539);
    assert_int_equal(upmu_cpu_tick(&caller.host.cpu[0]), UPMU_OK);
    assert_int_equal(info_of(2).set_runs, 0);
    host_run(&caller.host, 2);
    assert_int_equal(upmu_cpu_tick(&caller.host.cpu[0]), UPMU_OK);
    assert_int_equal(info_of(2).set_runs, 1);
    assert_int_equal(info_of(0).set_runs, 1);
    assert_int_equal(value_of(1), 500);
    /* Unloaded, it says so still. */
    assert_int_equal(upmu_pfm_unload_context(&caller.context, 0), UPMU_OK);
    assert_int_equal(upmu_pfm_read_pmds(&caller.context, &read, sizeof read), UPMU_OK);
    assert_int_equal(read.reg_last_reset_val, UINT64_C(0) - 100);
    end();
}

static void info_tells_runs_durations_and_registers_that_are_to_be_had(void **state)
{
    struct pfarg_setinfo info;

    (void)state;
    begin("skylake", PFM_FL_SYSTEM_WIDE);
    assert_int_equal(upmu_cpu_reserve(&caller.host.cpu[0], 1u << 3), UPMU_OK);
    make_set(0, PFM_SETFL_TIME_SWITCH, 1000000);
    make_set(1, PFM_SETFL_TIME_SWITCH, 1000000);
    program_in(0, 0, INSTRUCTIONS, 0);
    program_in(1, 0, BRANCHES, 0);
    load_and_start(0);
    for (unsigned i = 0; i < 40; i++) {
        host_run(&caller.host, 1000);
        caller.host.sim.now_ns += 1000000;
        assert_int_equal(upmu_cpu_tick(&caller.host.cpu[0]), UPMU_OK);
    }
    for (unsigned set = 0; set < 2; set++) {
        info = info_of(set);
        assert_in_range(info.set_runs, 10, 30);
        assert_in_range(info.set_act_duration, 10000000, 30000000);
        assert_int_equal(info.set_flags, PFM_SETFL_TIME_SWITCH);
        assert_in_range(info.set_timeout, 0, 1000000);
        assert_true(info.set_avail_pmds[0] >> pmu()->counter[0].value_row & 1u);
        assert_true(info.set_avail_pmcs[0] >> pmu()->counter[0].select_row & 1u);
        assert_false(info.set_avail_pmds[0] >> pmu()->counter[3].value_row & 1u);
        assert_false(info.set_avail_pmcs[0] >> pmu()->counter[3].select_row & 1u);
    }
    /* Stopped 300 us after a tick: the active set tells what is left of its turn, the other one its whole turn. */
    caller.host.sim.now_ns += 300000;
    assert_int_equal(upmu_pfm_stop(&caller.context, 0), UPMU_OK);
    assert_int_equal(info_of(0).set_timeout + info_of(1).set_timeout, 1700000);
    /* Counts while they ran, and both ran: each instruction in one of them, each branch half of one. */
    assert_true(value_in(0, 0) > 0 && value_in(1, 0) > 0);
    assert_in_range(value_in(0, 0) + 2 * value_in(1, 0), 39000, 40000);
    end();
}

/*
 * P2-148: set_act_duration has the time that the thread ran, and none of the time in which another one did.
 * Catches a duration by the wall clock.
 */
static void the_duration_of_a_threads_set_is_its_time_on_a_cpu(void **state)
{
    const uint64_t ms = 1000000;
    struct upmu_thread other;

    (void)state;
    begin("skylake", 0);
    upmu_thread_init(&other, 1, 1, NULL);
    program_in(0, 0, INSTRUCTIONS, 0);
    load_and_start(42);
    for (unsigned i = 1; i <= 3; i++) {
        host_run(&caller.host, 100);
        caller.host.sim.now_ns += ms;
        assert_int_equal(upmu_thread_switch(&caller.host.cpu[0], &caller.thread, &other), UPMU_OK);
        caller.thread_runs = false;
        assert_in_range(info_of(0).set_act_duration, i * ms, i * ms + ms / 10);
        caller.host.sim.now_ns += 50 * ms;
        assert_in_range(info_of(0).set_act_duration, i * ms, i * ms + ms / 10);
        assert_int_equal(upmu_thread_switch(&caller.host.cpu[0], &other, &caller.thread), UPMU_OK);
        caller.thread_runs = true;
    }
    assert_int_equal(info_of(0).set_runs, 1);
    end();
}

static void a_set_with_both_switches_gives_way_to_whichever_comes_first(void **state)
{
    struct pfarg_pmd pmd;

    (void)state;
    for (unsigned by_time = 0; by_time < 2; by_time++) {
        begin("skylake", PFM_FL_SYSTEM_WIDE);
        make_set(0, PFM_SETFL_TIME_SWITCH | PFM_SETFL_OVFL_SWITCH, 2000000);
        make_set(2, 0, 0);
        program_in(0, 0, INSTRUCTIONS, 0);
        program_in(2, 0, INSTRUCTIONS, 0);
        pmd = pmd_of(0, UINT64_C(0) - 1000);
        pmd.reg_flags = PFM_PMDFL_SWITCH;
        pmd.reg_short_reset = UINT64_C(0) - 1000;
        pmd.reg_ovfl_switch_cnt = 1;
        assert_int_equal(upmu_pfm_write_pmds(&caller.context, &pmd, sizeof pmd), UPMU_OK);
        load_and_start(0);
        host_run(&caller.host, by_time ? 999 : 1000);
        caller.host.sim.now_ns += by_time ? 3000000 : 1000;
        assert_int_equal(upmu_cpu_tick(&caller.host.cpu[0]), UPMU_OK);
        host_run(&caller.host, 10);
        assert_int_equal(value_in(2, 0), 10);
        end();
    }
}

/* ---- Rights ---- */

/* Programs this word, with these rights; what a load answers. */
static enum upmu_status load_with(uint32_t rights, unsigned counter, uint64_t word)
{
    enum upmu_status status;

    program(counter, word, 0);
    caller.rights = rights;
    status = upmu_pfm_load_context(&caller.context, 0, 42);
    if (status == UPMU_OK)
        assert_int_equal(upmu_pfm_unload_context(&caller.context, 0), UPMU_OK);
    program(counter, 0, 0);
    return status;
}

/* Each right by itself opens this word, and all the others together do not; 0: none is needed. */
static void needs(unsigned counter, uint64_t word, uint32_t rights)
{
    assert_int_equal(load_with(rights, counter, word), UPMU_OK);
    if (rights)
        assert_int_equal(load_with(0, counter, word), UPMU_ERR_NOT_PERMITTED);
    for (uint32_t rest = rights; rest; rest &= rest - 1u)
        assert_int_equal(load_with(~(rest & (0u - rest)), counter, word), UPMU_ERR_NOT_PERMITTED);
}

/*
 * What a program gains by an event is asked for, by what will stand in its registers.  Catches an interface that takes
 * every bit that the hardware has for a bit that every program may set.
 */
static void events_need_the_rights_to_what_they_count(void **state)
{
    struct pfarg_pmc pmc;

    (void)state;
    begin("nehalem", 0);
    needs(0, 0x100c0, 0);
    needs(0, 0x200c0, UPMU_PFM_KERNEL);
    needs(0, 0x300c0, UPMU_PFM_KERNEL);
    needs(0, 0x21003c, UPMU_PFM_BEYOND); /* AnyThread, user mode */
    needs(16, 2, 0);
    needs(16, 1, UPMU_PFM_KERNEL);
    needs(17, 0x60, UPMU_PFM_BEYOND);
    needs(17, 0x70, UPMU_PFM_BEYOND | UPMU_PFM_KERNEL);
    caller.rights = ~0u;
    program(17, 0x70, 0);
    load_and_start(42);
    assert_int_equal(upmu_sim_peek(&caller.host.sim, 0, 0x38d) & 0x70, 0x70);
    assert_int_equal(upmu_pfm_unload_context(&caller.context, 0), UPMU_OK);
    program(17, 0, 0);
    /* OFFCORE_RESPONSE_0 with its register. */
    pmc = pmc_of(0, 0x4001);
    pmc.reg_num = 0;
    for (unsigned row = 0; row < pmu()->table->row_count; row++)
        if (!strcmp(pmu()->table->text + pmu()->table->rows[row].name, "MSR_OFFCORE_RSP_0"))
            pmc.reg_num = (uint16_t)row;
    assert_int_not_equal(pmc.reg_num, 0);
    assert_int_equal(upmu_pfm_write_pmcs(&caller.context, &pmc, sizeof pmc), UPMU_OK);
    needs(0, 0x101b7, UPMU_PFM_PRIVILEGED);
    end();
    /* NetBurst: a CCCR says nothing, its ESCR does. */
    begin("prescott", 0);
    for (unsigned bits = 1; bits < 16; bits++) {
        pmc = (struct pfarg_pmc){.reg_value = 2u << 25 | 1u << 9 | bits};
        for (unsigned row = 0; row < pmu()->table->row_count; row++)
            if (!strcmp(pmu()->table->text + pmu()->table->rows[row].name, "MSR_CRU_ESCR0"))
                pmc.reg_num = (uint16_t)row;
        assert_int_equal(upmu_pfm_write_pmcs(&caller.context, &pmc, sizeof pmc), UPMU_OK);
        needs(12, 0x30000u | 4u << 13 | 1u << 12,
              (bits & 0xa ? UPMU_PFM_KERNEL : 0) | (bits & 3 ? UPMU_PFM_BEYOND : 0));
    }
    end();
}

/* One that is refused leaves what runs as it is; without a hook nothing that needs a right is given. */
static void a_right_that_is_missing_changes_nothing(void **state)
{
    struct pfarg_pmc pmc;

    (void)state;
    begin("skylake", 0);
    program(0, 0x100c0, 0);
    caller.rights = 0;
    load_and_start(42);
    host_run(&caller.host, 100);
    pmc = pmc_of(0, 0x300c0);
    assert_int_equal(upmu_pfm_write_pmcs(&caller.context, &pmc, sizeof pmc), UPMU_ERR_NOT_PERMITTED);
    assert_int_equal(caller.context.session.state, UPMU_SESSION_RUNNING);
    assert_true(upmu_sim_peek(&caller.host.sim, 0, 0x186) >> 16 == 0x51 ||
                upmu_sim_peek(&caller.host.sim, 0, 0x186) >> 16 == 0x41);
    assert_int_equal(caller.sets[0].pmc[pmc.reg_num], 0x100c0);
    /* The host knows the event: it may refuse one that needs no right. */
    caller.asked = 0;
    caller.barred = 0x100c4;
    pmc = pmc_of(1, 0x100c4);
    assert_int_equal(upmu_pfm_write_pmcs(&caller.context, &pmc, sizeof pmc), UPMU_ERR_NOT_PERMITTED);
    assert_compare(caller.asked, >, 0);
    pmc = pmc_of(1, 0x100c5);
    assert_int_equal(upmu_pfm_write_pmcs(&caller.context, &pmc, sizeof pmc), UPMU_OK);
    caller.pfm.may_use = NULL;
    pmc = pmc_of(1, 0x200c5);
    assert_int_equal(upmu_pfm_write_pmcs(&caller.context, &pmc, sizeof pmc), UPMU_ERR_NOT_PERMITTED);
    pmc = pmc_of(1, 0x100c4);
    assert_int_equal(upmu_pfm_write_pmcs(&caller.context, &pmc, sizeof pmc), UPMU_OK);
    end();
    /* And no CPU's context, which counts every thread. */
    begin("skylake", 0);
    caller.pfm.may_create = NULL;
    end();
    assert_int_equal(create(PFM_FL_SYSTEM_WIDE), UPMU_ERR_NOT_PERMITTED);
    assert_int_equal(create(0), UPMU_OK);
    end();
}

/* One sample and one message from an overflow at this place. */
static void overflow_at(bool user, struct upmu_record *record, union pfarg_msg *message)
{
    struct upmu_sim_burst burst = {.instructions = 100, .cycles = 200, .user = user, .ip = 0x7000, .ip_step = 1};
    size_t bytes;

    upmu_sim_events(&caller.host.sim, &burst);
    assert_true(upmu_ring_view(&caller.context.session.ring, record));
    upmu_ring_drop(&caller.context.session.ring);
    assert_int_equal(upmu_pfm_read(&caller.context, message, sizeof *message, &bytes), UPMU_OK);
    assert_int_equal(upmu_pfm_start(&caller.context, PFM_STARTFL_RESTART, 0), UPMU_OK);
}

/*
 * A sampler of user mode is interrupted in the kernel, too.  Catches an address of the kernel that reaches a program
 * without the right to it: by a sample, by a message, after a load with fewer rights than the creation had.
 */
static void kernel_addresses_are_shown_to_who_may_see_them(void **state)
{
    struct upmu_record record;
    union pfarg_msg message;
    struct pfarg_pmd pmd;

    (void)state;
    begin("skylake", 0);
    program(0, INSTRUCTIONS, 0);
    pmd = pmd_of(0, UINT64_C(0) - 100);
    pmd.reg_short_reset = pmd.reg_long_reset = UINT64_C(0) - 100;
    flag(&pmd, PFM_PMDFL_SMPL | PFM_PMDFL_OVFL_NOTIFY);
    for (unsigned may = 0; may < 2; may++) {
        caller.rights = may ? ~0u : ~UPMU_PFM_ADDRESSES;
        load_and_start(42);
        overflow_at(true, &record, &message);
        assert_true(record.sample->ip != 0 && message.pfm_ovfl_msg.msg_ovfl_ip == record.sample->ip);
        assert_int_equal(record.sample->flags, UPMU_SAMPLE_USER);
        overflow_at(false, &record, &message);
        assert_int_equal(record.sample->ip != 0, may);
        assert_int_equal(record.sample->flags, may ? 0 : UPMU_SAMPLE_HIDDEN);
        assert_int_equal(message.pfm_ovfl_msg.msg_ovfl_ip, record.sample->ip);
        assert_true(may || record.sample->sp == 0);
        assert_int_equal(upmu_pfm_unload_context(&caller.context, 0), UPMU_OK);
    }
    end();
}

/* Catches a limit of all that one user can use up for the others. */
static void an_owner_holds_no_more_than_it_may(void **state)
{
    static struct upmu_pfm_context second;
    static struct upmu_pfm_set sets[2];
    static struct pfarg_pmd vector[2];
    const struct upmu_pfm_memory memory = {
        .sets = sets, .set_count = 2, .vector = vector, .vector_bytes = sizeof vector};
    struct upmu_pfm_owner other = {.most_contexts = 1};
    size_t bytes;
    bool last;

    (void)state;
    begin("skylake", 0);
    caller.pfm.may_create = NULL;
    caller.pfm.may_use = NULL;
    bytes = caller.owner.bytes;
    assert_int_equal(bytes, sizeof caller.sets + sizeof caller.vector + sizeof caller.messages + sizeof caller.ring);
    caller.owner.most_contexts = 1;
    assert_int_equal(upmu_pfm_create_context(&caller.pfm, &caller.owner, &second, &memory, 0, NULL, NULL, 0),
                     UPMU_ERR_NO_SPACE);
    caller.owner.most_contexts = 0;
    caller.owner.most_bytes = bytes + sizeof sets + sizeof vector - 1;
    assert_int_equal(upmu_pfm_create_context(&caller.pfm, &caller.owner, &second, &memory, 0, NULL, NULL, 0),
                     UPMU_ERR_NO_SPACE);
    caller.owner.most_bytes++;
    assert_int_equal(upmu_pfm_create_context(&caller.pfm, &caller.owner, &second, &memory, 0, NULL, NULL, 0), UPMU_OK);
    assert_int_equal(caller.owner.bytes, caller.owner.most_bytes);
    assert_int_equal(upmu_pfm_close(&second, &last), UPMU_OK);
    assert_int_equal(caller.owner.bytes, bytes);
    /* Another user is not touched by it; a creation that fails holds nothing. */
    assert_int_equal(upmu_pfm_create_context(&caller.pfm, &other, &second, &memory, PFM_FL_SMPL_FMT, "none", NULL, 0),
                     UPMU_ERR_INVALID);
    assert_int_equal(other.contexts, 0);
    assert_int_equal(upmu_pfm_create_context(&caller.pfm, &other, &second, &memory, 0, NULL, NULL, 0), UPMU_OK);
    assert_int_equal(caller.pfm.contexts, 2);
    assert_int_equal(upmu_pfm_close(&second, &last), UPMU_OK);
    assert_int_equal(other.contexts + other.bytes, 0);
    end();
}

/* ---- The end ---- */

static void a_process_that_ends_closes_all_its_descriptors(void **state)
{
    static struct upmu_pfm_context second;
    static struct upmu_pfm_set sets[2];
    static struct pfarg_pmd vector[2];
    const struct upmu_pfm_memory memory = {
        .sets = sets, .set_count = 2, .vector = vector, .vector_bytes = sizeof vector};
    struct upmu_pfm_context *const descriptors[] = {&caller.context, &second, &caller.context};
    unsigned ended = 0;

    (void)state;
    begin("skylake", PFM_FL_SYSTEM_WIDE);
    assert_int_equal(upmu_pfm_create_context(&caller.pfm, &caller.owner, &second, &memory, 0, NULL, NULL, 0), UPMU_OK);
    upmu_pfm_share(&caller.context);
    assert_int_equal(caller.pfm.contexts, 2);
    program(0, INSTRUCTIONS, 0);
    load_and_start(0);
    for (unsigned i = 0; i < 3; i++) {
        bool last;

        assert_int_equal(upmu_pfm_close(descriptors[i], &last), UPMU_OK, i);
        ended += last;
    }
    assert_int_equal(ended, 2);
    assert_int_equal(caller.pfm.contexts, 0);
    assert_null(caller.host.cpu[0].meter.sessions);
    assert_int_equal(upmu_sim_peek(&caller.host.sim, 0, 0x38f) & 0xf, 0);
    host_end(&caller.host);
}

static void a_cpus_context_is_closed_from_another_cpu(void **state)
{
    bool last;

    (void)state;
    begin("skylake", PFM_FL_SYSTEM_WIDE);
    upmu_sim_switch_cpu(&caller.host.sim, 1);
    assert_int_equal(upmu_cpu_init(&caller.host.cpu[1], &caller.host.machine, NULL), UPMU_OK);
    upmu_sim_switch_cpu(&caller.host.sim, 0);
    program(0, INSTRUCTIONS, 0);
    load_and_start(0);
    upmu_sim_switch_cpu(&caller.host.sim, 1);
    assert_int_equal(upmu_pfm_close(&caller.context, &last), UPMU_OK);
    assert_true(last);
    assert_int_equal(upmu_sim_peek(&caller.host.sim, 0, 0x38f) & 0xf, 0);
    assert_int_equal(upmu_cpu_fini(&caller.host.cpu[1]), UPMU_OK);
    upmu_sim_switch_cpu(&caller.host.sim, 0);
    host_end(&caller.host);
}

static void a_value_that_cannot_be_written_from_here_is_refused(void **state)
{
    struct pfarg_pmd pmd;

    (void)state;
    begin("skylake", PFM_FL_SYSTEM_WIDE);
    upmu_sim_switch_cpu(&caller.host.sim, 1);
    assert_int_equal(upmu_cpu_init(&caller.host.cpu[1], &caller.host.machine, NULL), UPMU_OK);
    upmu_sim_switch_cpu(&caller.host.sim, 0);
    program(0, INSTRUCTIONS, 0);
    load_and_start(0);
    host_run(&caller.host, 100);
    upmu_sim_switch_cpu(&caller.host.sim, 1);
    caller.host.sim.port.run_on_cpu = NULL;
    pmd = pmd_of(0, 5000);
    assert_int_equal(upmu_pfm_write_pmds(&caller.context, &pmd, sizeof pmd), UPMU_ERR_WRONG_CPU);
    assert_int_equal(upmu_cpu_fini(&caller.host.cpu[1]), UPMU_OK);
    upmu_sim_switch_cpu(&caller.host.sim, 0);
    assert_int_equal(value_of(0), 100);
    assert_int_equal(upmu_pfm_write_pmds(&caller.context, &pmd, sizeof pmd), UPMU_OK);
    assert_int_equal(value_of(0), 5000);
    end();
}

/* It was not unloaded: its thread has ended. */
static void what_is_written_after_a_threads_end_begins_the_next_load(void **state)
{
    struct pfarg_pmd pmd;

    (void)state;
    mask_by_both(0, 42);
    assert_int_equal(upmu_thread_exit(&caller.thread), UPMU_OK);
    pmd = pmd_of(0, UINT64_C(0) - 70);
    pmd.reg_flags = PFM_PMDFL_OVFL_NOTIFY;
    assert_int_equal(upmu_pfm_write_pmds(&caller.context, &pmd, sizeof pmd), UPMU_OK);
    assert_int_equal(value_of(0), UINT64_C(0) - 70);
    upmu_thread_init(&caller.thread, 41, 42, NULL);
    load_and_start(42);
    assert_int_equal(value_of(0), UINT64_C(0) - 70);
    host_run(&caller.host, 70);
    assert_int_equal(caller.context.session.state, UPMU_SESSION_MASKED);
    end();
}

static void messages_name_their_pmds_whatever_becomes_of_the_events(void **state)
{
    union pfarg_msg message;
    struct pfarg_pmc pmc;
    size_t bytes;

    (void)state;
    for (unsigned way = 0; way < 2; way++) {
        /* Branches overflow after 50, with the 100th instruction. */
        mask_by_both(PFM_FL_SYSTEM_WIDE, 0);
        if (way) {
            assert_int_equal(upmu_pfm_unload_context(&caller.context, 0), UPMU_OK);
        } else {
            pmc = pmc_of(0, 0);
            assert_int_equal(upmu_pfm_write_pmcs(&caller.context, &pmc, sizeof pmc), UPMU_OK);
        }
        assert_int_equal(upmu_pfm_read(&caller.context, &message, sizeof message, &bytes), UPMU_OK);
        assert_int_equal(message.pfm_ovfl_msg.msg_ovfl_pmds[0],
                         UINT64_C(1) << pmd_of(0, 0).reg_num | UINT64_C(1) << pmd_of(1, 0).reg_num);
        end();
    }
}

static void a_started_threads_context_needs_no_restart_while_it_waits(void **state)
{
    struct upmu_thread other;

    (void)state;
    mask_by_both(0, 42);
    upmu_thread_init(&other, 1, 1, NULL);
    assert_int_equal(upmu_thread_switch(&caller.host.cpu[0], &caller.thread, &other), UPMU_OK);
    caller.thread_runs = false;
    assert_int_equal(upmu_pfm_start(&caller.context, PFM_STARTFL_RESTART, 0), UPMU_OK);
    assert_int_equal(upmu_pfm_start(&caller.context, PFM_STARTFL_RESTART, 0), UPMU_OK);
    assert_int_equal(upmu_pfm_stop(&caller.context, 0), UPMU_OK);
    assert_int_equal(upmu_pfm_start(&caller.context, PFM_STARTFL_RESTART, 0), UPMU_ERR_STATE);
    end();
}

/* ---- Section 9 ---- */

/*
 * What shows which row: P2-055, P2-056: the refusals by argument size, flags and reserved; P2-057: it is loaded on
 * CPU 0. P2-064: load.reserved, load.target.  P2-068: 1000 and no more after the stop.  P2-069: both values are
 * read.
 */
static void section_9_is_served_by_the_same_session(void **state)
{
    struct pfarg_ctx context = {.flags = PFM_CTX_SYSTEM_WIDE};
    struct pfarg_pmc9 pmcs[2];
    struct pfarg_pmd9 pmds[2];
    struct pfarg_load load = {.target = 0};
    bool last;

    (void)state;
    begin("skylake", 0);
    assert_int_equal(upmu_pfm_close(&caller.context, &last), UPMU_OK);
    context.reserved[2] = 1;
    assert_int_equal(
        upmu_pfm9_create_session(&caller.pfm, &caller.owner, &caller.context, &caller.memory, &context, NULL, NULL, 0),
        UPMU_ERR_INVALID);
    context.reserved[2] = 0;
    context.flags = 1;
    assert_int_equal(
        upmu_pfm9_create_session(&caller.pfm, &caller.owner, &caller.context, &caller.memory, &context, NULL, NULL, 0),
        UPMU_ERR_INVALID);
    context.flags = PFM_CTX_SYSTEM_WIDE;
    assert_int_equal(
        upmu_pfm9_create_session(&caller.pfm, &caller.owner, &caller.context, &caller.memory, &context, NULL, NULL, 1),
        UPMU_ERR_INVALID);
    assert_int_equal(
        upmu_pfm9_create_session(&caller.pfm, &caller.owner, &caller.context, &caller.memory, &context, NULL, NULL, 0),
        UPMU_OK);
    for (unsigned i = 0; i < 2; i++) {
        pmcs[i] =
            (struct pfarg_pmc9){.reg_num = pmu()->counter[i].select_row, .reg_value = i ? BRANCHES : INSTRUCTIONS};
        pmds[i] = (struct pfarg_pmd9){.reg_num = pmu()->counter[i].value_row, .reg_value = i};
    }
    assert_int_equal(upmu_pfm9_write_pmcs(&caller.context, pmcs, 0), UPMU_ERR_INVALID);
    assert_int_equal(upmu_pfm9_write_pmcs(&caller.context, pmcs, 2), UPMU_OK);
    assert_int_equal(upmu_pfm9_write_pmds(&caller.context, pmds, 2), UPMU_OK);
    assert_int_equal(upmu_pfm9_write_pmds(&caller.context, pmds, VECTOR + 1), UPMU_ERR_NO_SPACE);
    pmds[1].reserved[0] = 1;
    assert_int_equal(upmu_pfm9_write_pmds(&caller.context, pmds, 2), UPMU_ERR_INVALID);
    pmds[1].reserved[0] = 0;
    load.reserved[0] = 1;
    assert_int_equal(upmu_pfm9_load_context(&caller.context, &load), UPMU_ERR_INVALID);
    load.reserved[0] = 0;
    assert_int_equal(upmu_pfm9_load_context(&caller.context, &load), UPMU_OK);
    assert_int_equal(upmu_pfm9_start(&caller.context), UPMU_OK);
    host_run(&caller.host, 1000);
    assert_int_equal(upmu_pfm9_stop(&caller.context), UPMU_OK);
    host_run(&caller.host, 1000);
    assert_int_equal(upmu_pfm9_read_pmds(&caller.context, pmds, 2), UPMU_OK);
    assert_int_equal(pmds[0].reg_value, 1000);
    assert_int_equal(pmds[1].reg_value, 501);
    assert_int_equal(pmds[1].reg_num, pmu()->counter[1].value_row);
    assert_int_equal(upmu_pfm9_unload_context(&caller.context), UPMU_OK);
    assert_int_equal(caller.context.session.state, UPMU_SESSION_DETACHED);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structures_have_the_same_bytes_for_32_and_64_bits),
        cmocka_unit_test(section_9_has_two_types_of_the_same_fields),
        cmocka_unit_test(the_eight_actions_count_a_cpu),
        cmocka_unit_test(a_thread_is_counted_while_it_runs),
        cmocka_unit_test(a_cpus_context_is_loaded_on_that_cpu_only),
        cmocka_unit_test(what_a_context_is_stays_so_until_it_is_closed),
        cmocka_unit_test(fixed_counters_are_programmed_by_their_control),
        cmocka_unit_test(a_value_is_rewritten_without_touching_any_register),
        cmocka_unit_test(an_event_is_changed_while_the_session_runs),
        cmocka_unit_test(without_emulation_a_counter_keeps_the_hardwares_width),
        cmocka_unit_test(eighteen_registers_of_a_pentium_4_go_in_one_vector),
        cmocka_unit_test(minus_n_overflows_after_n_and_resets_long_after_a_message),
        cmocka_unit_test(a_masked_context_is_programmed_and_restarted),
        cmocka_unit_test(a_reset_that_is_due_stays_with_its_pmd_when_events_come),
        cmocka_unit_test(a_thread_that_a_message_blocked_runs_on_however_it_ends),
        cmocka_unit_test(samples_carry_pmds_and_the_event_id),
        cmocka_unit_test(sizes_of_any_number_cost_the_same),
        cmocka_unit_test(overflows_set_other_pmds_back_and_say_the_last_reset_value),
        cmocka_unit_test(random_reset_values_stay_within_their_mask),
        cmocka_unit_test(without_messages_a_context_wakes_and_queues_none),
        cmocka_unit_test(random_parts_end_with_their_flag),
        cmocka_unit_test(a_sample_takes_the_short_reset_and_a_message_the_long_one),
        cmocka_unit_test(sampling_fields_count_with_their_flag_alone),
        cmocka_unit_test(refused_vectors_change_nothing),
        cmocka_unit_test(a_loaded_session_survives_registers_that_make_no_event),
        cmocka_unit_test(vectors_up_to_the_limit_are_taken),
        cmocka_unit_test(creation_can_be_denied_and_leaves_nothing),
        cmocka_unit_test(the_last_descriptor_ends_the_session),
        cmocka_unit_test(callers_memory_is_read_once),
        cmocka_unit_test(a_register_has_a_value_in_each_set_and_start_says_which),
        cmocka_unit_test(sets_come_and_go_in_vectors_while_detached),
        cmocka_unit_test(the_nth_overflow_switches_its_message_names_the_set_before),
        cmocka_unit_test(switching_ends_with_its_flag),
        cmocka_unit_test(a_reload_keeps_what_the_core_knew_of_the_events),
        cmocka_unit_test(info_tells_runs_durations_and_registers_that_are_to_be_had),
        cmocka_unit_test(the_duration_of_a_threads_set_is_its_time_on_a_cpu),
        cmocka_unit_test(a_set_with_both_switches_gives_way_to_whichever_comes_first),
        cmocka_unit_test(events_need_the_rights_to_what_they_count),
        cmocka_unit_test(a_right_that_is_missing_changes_nothing),
        cmocka_unit_test(kernel_addresses_are_shown_to_who_may_see_them),
        cmocka_unit_test(an_owner_holds_no_more_than_it_may),
        cmocka_unit_test(a_process_that_ends_closes_all_its_descriptors),
        cmocka_unit_test(a_cpus_context_is_closed_from_another_cpu),
        cmocka_unit_test(a_value_that_cannot_be_written_from_here_is_refused),
        cmocka_unit_test(what_is_written_after_a_threads_end_begins_the_next_load),
        cmocka_unit_test(messages_name_their_pmds_whatever_becomes_of_the_events),
        cmocka_unit_test(a_started_threads_context_needs_no_restart_while_it_waits),
        cmocka_unit_test(section_9_is_served_by_the_same_session),
    };
    return cmocka_run_group_tests_name("abi_perfmon2", tests, NULL, NULL);
}
