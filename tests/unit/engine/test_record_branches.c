/* SPDX-License-Identifier: MIT */
/*
 * Branches of precise records themselves, on the silicon model: a sample has the branches before its instruction,
 * however late the interrupt comes; the register of groups changes only while no counter stores records; records that
 * are damaged, hostile, or of before a restart of the stack give none.
 */
#include <upmu/branches.h>
#include <upmu/precise.h>
#include <upmu/session.h>
#include "tests/common/host.h"

#define AREA UINT64_C(0xffffc90000010000)
#define BUFFER UINT64_C(0xffffc90000020000)
#define USER_CODE UINT64_C(0x00007f1234500000)
#define KERNEL_CODE UINT64_C(0xffffffff81400000)
#define MODES (UPMU_BRANCH_USER | UPMU_BRANCH_KERNEL)
#define DATA_CONFIG 0x3f2
#define DEBUGCTL 0x1d9
#define LBR_SELECT 0x1c8
#define SHORT UINT64_C(3)          /* memory and registers */
#define GROWN UINT64_C(0x1f00000b) /* and 32 branches */
#define LOADS "MEM_INST_RETIRED.ALL_LOADS:pp"
#define STEP 7u    /* instructions from one branch to the next */
#define RING 1024u /* branches of a burst */
#define SKID 300u  /* steps of a burst, which has two for each instruction */

static struct host host;
static uint64_t rings[HOST_SESSIONS][4096];
static _Alignas(4096) uint8_t area[UPMU_RECORD_AREA_BYTES], buffer[UPMU_RECORD_MOST_BYTES];
static unsigned longest;                 /* the longest record, in bytes */
static void (*damage)(uint8_t *record); /* what happens to a record after it was stored; NULL: nothing */

static bool memory(struct upmu_sim *sim, unsigned cpu, enum upmu_sim_memory_kind kind, uint64_t address, uint8_t *bytes,
                   uint32_t length)
{
    bool of_area = address - AREA <= sizeof area - length;
    uint8_t *at = of_area ? area + (address - AREA) : buffer + (address - BUFFER);
    uint64_t before, after;

    (void)sim, (void)cpu;
    if (!of_area && address - BUFFER > sizeof buffer - length)
        return false;
    if (address == AREA + 40 && (kind & UPMU_SIM_MEMORY_WRITE)) {
        memcpy(&before, at, 8);
        memcpy(&after, bytes, 8);
        longest = after - before > longest ? (unsigned)(after - before) : longest;
        if (damage)
            damage(buffer + (before - BUFFER));
    }
    memcpy(kind & UPMU_SIM_MEMORY_WRITE ? at : bytes, kind & UPMU_SIM_MEMORY_WRITE ? bytes : at, length);
    return true;
}

static void use_memory(unsigned bytes)
{
    const struct upmu_record_memory given = {area, AREA, buffer, BUFFER, bytes, 0};

    host.sim.memory = memory;
    assert_int_equal(upmu_cpu_use_records(&host.cpu[0], &given, NULL), UPMU_OK);
}

static void set_up(const char *profile, unsigned bytes)
{
    const struct upmu_branch_filter use = {.record = 0};

    host_prepare(&host, profile);
    longest = 0;
    damage = NULL;
    upmu_sim_poke(&host.sim, 0, DATA_CONFIG, 8);
    host_start(&host);
    use_memory(bytes);
    assert_int_equal(upmu_cpu_use_branches(&host.cpu[0], &use, NULL), UPMU_OK);
}

static uint64_t groups(void)
{
    return upmu_sim_peek(&host.sim, 0, DATA_CONFIG);
}

static void finish(void)
{
    host_no_violation(&host);
    host_end_idle(&host);
    assert_int_equal(groups(), 8);
}

/* Instructions of the code at `code` from number `done` on: each STEP of them end with the next branch. */
static void execute_on(uint64_t code, uint64_t done, uint64_t instructions)
{
    static struct upmu_sim_branch branches[RING];

    for (unsigned i = 0; i < RING; i++) {
        uint64_t n = done / STEP + i;

        branches[i] = (struct upmu_sim_branch){.from = code + 64u * n,
                                               .to = code + 64u * n + 128u,
                                               .kind = UPMU_SIM_BRANCH_COND,
                                               .mispredicted = n % 3u == 1,
                                               .cycles = (uint16_t)(n % 50u + 1u)};
    }
    assert_int_equal(done % STEP, 0);
    assert_compare(instructions, <=, RING * STEP);
    upmu_sim_events(&host.sim, &(struct upmu_sim_burst){.instructions = instructions,
                                                        .cycles = 2 * instructions,
                                                        .other = {{instructions, .event = 0xd0, .umask = 0x81}},
                                                        .user = !(code >> 63),
                                                        .ip = code + done,
                                                        .ip_step = 1,
                                                        .sp = code + 0x100000,
                                                        .branch = branches,
                                                        .branch_count = RING,
                                                        .branch_step = STEP});
}

static void execute(uint64_t code, uint64_t instructions)
{
    execute_on(code, 0, instructions);
}

/* Session i samples an event with these branches. */
static void add(unsigned i, const char *event, uint64_t period, unsigned parts, uint32_t branches)
{
    const struct upmu_sampling sampling = {.period = period, .flags = UPMU_SAMPLING_PARTS(parts)};

    assert_int_equal(upmu_set_add(&host.sessions[i].set, event, &sampling), UPMU_OK, i);
    assert_int_equal(upmu_session_ring(&host.sessions[i], rings[i], sizeof rings[i]), UPMU_OK, i);
    assert_int_equal(upmu_session_branches(&host.sessions[i], branches), UPMU_OK, i);
}

/* The same, and it is started on CPU 0. */
static void begin(unsigned i, const char *event, uint64_t period, unsigned parts, uint32_t branches)
{
    add(i, event, period, parts, branches);
    assert_int_equal(upmu_session_attach_cpu(&host.sessions[i], &host.cpu[0]), UPMU_OK, i);
    assert_int_equal(upmu_session_start(&host.sessions[i]), UPMU_OK, i);
}

/* Session i samples loads of a thread. */
static void begin_thread(unsigned i, unsigned thread, uint32_t branches)
{
    add(i, LOADS, 1000, 0, branches);
    assert_int_equal(upmu_session_attach_thread(&host.sessions[i], &host.threads[thread], NULL), UPMU_OK, i);
    assert_int_equal(upmu_session_start(&host.sessions[i]), UPMU_OK, i);
}

/* The number of branches that the code at `code` had taken when the instruction at `ip` was over. */
static uint64_t taken_by(uint64_t code, uint64_t ip)
{
    return (ip - code + 1) / STEP;
}

static void check_branches(const struct upmu_record *record, uint64_t code, uint64_t taken)
{
    assert_int_equal(record->parts & UPMU_PART_BRANCHES, UPMU_PART_BRANCHES, taken);
    for (unsigned i = 0; i < record->branches; i++) {
        uint64_t n = taken - 1u - i;

        assert_int_equal(record->branch[i].from, code + 64u * n, taken, i);
        assert_int_equal(record->branch[i].to, code + 64u * n + 128u, taken, i);
        assert_int_equal(!(record->branch[i].info & UPMU_BRANCH_INFO_MISPREDICTED), n % 3u != 1, taken, i);
    }
}

/* The samples of a session have the branches before their instructions.  Returns how many samples there were. */
static unsigned check_samples(unsigned session, uint64_t code, unsigned parts)
{
    struct upmu_record record;
    unsigned samples = 0;

    for (; upmu_ring_view(&host.sessions[session].ring, &record); upmu_ring_drop(&host.sessions[session].ring)) {
        uint64_t taken = taken_by(code, record.sample->ip);

        assert_int_equal(record.sample->flags & UPMU_SAMPLE_PRECISE, UPMU_SAMPLE_PRECISE);
        assert_int_equal(record.parts, parts | UPMU_PART_BRANCHES, samples);
        assert_int_equal(record.branches, taken < 32 ? taken : 32, samples);
        check_branches(&record, code, taken);
        samples++;
    }
    return samples;
}

/* ---- What samples have ---- */

static const struct {
    const char *profile, *event;
} models[] = {{"icelake", LOADS},
              {"icelake", "INST_RETIRED.PREC_DIST:ppp"},
              {"tremont", "MEM_UOPS_RETIRED.ALL_LOADS:pp"},
              {"sapphirerapids", LOADS},
              {"adl_e", "MEM_UOPS_RETIRED.ALL_LOADS:pp"},
              {"lnl_p", LOADS}};

/* Catches: the stack at the interrupt, an order, entries of the handler, a group that is too long or too short. */
static void branches_are_those_before_the_instruction(void **state)
{
    static const uint64_t codes[] = {USER_CODE, KERNEL_CODE};

    (void)state;
    for (unsigned m = 0; m < sizeof models / sizeof models[0]; m++)
        for (unsigned turn = 0; turn < 8; turn++) {
            const unsigned parts = turn & 1 ? UPMU_PART_ADDRESS | UPMU_PART_REGISTERS : 0;
            const uint64_t code = codes[turn >> 1 & 1];

            set_up(models[m].profile, 16384);
            host.sim.skid = turn & 4 ? SKID : 0;
            begin(0, models[m].event, 1000, parts, MODES);
            assert_int_equal(groups(), GROWN, m, turn);
            execute(code, 3500);
            assert_int_equal(longest, 32 + 32 + 144 + 32 * 24, m, turn);
            assert_int_equal(check_samples(0, code, parts), 3, m, turn);
            assert_int_equal(host_value(&host.session, 0), 3500, m, turn);
            finish();
        }
}

/* What a session does not ask for is not in its samples: information, and the other mode. */
static void samples_have_what_the_session_wants(void **state)
{
    struct upmu_record record;

    (void)state;
    for (unsigned turn = 0; turn < 3; turn++) {
        set_up("icelake", 16384);
        begin(0, LOADS, 1000, 0,
              turn == 0   ? MODES | UPMU_BRANCH_ANY | UPMU_BRANCH_NO_INFO
              : turn == 1 ? UPMU_BRANCH_KERNEL
                          : UPMU_BRANCH_USER);
        execute(USER_CODE, 1500);
        assert_true(upmu_ring_view(&host.session.ring, &record));
        if (turn != 1)
            assert_int_equal(record.branches, 32, turn);
        for (unsigned i = 0; i < record.branches; i++) {
            assert_int_equal(!record.branch[i].info, turn == 0, i);
            assert_int_equal(record.branch[i].from >> 63, turn == 1, i);
        }
        finish();
    }
}

/* ---- The register ---- */

static void records_have_the_group_while_a_session_needs_it(void **state)
{
    uint64_t maximum;

    (void)state;
    set_up("icelake", 16384);
    memcpy(&maximum, area + 48, 8);
    /* A record that begins before the maximum, at a multiple of 8, is stored whole. */
    assert_int_equal(BUFFER + sizeof buffer / 4 - (maximum - 8), 32 + 32 + 144 + 32 * 24);
    assert_int_equal(groups(), SHORT);
    begin(0, LOADS, 1000, UPMU_PART_ADDRESS, 0);
    assert_int_equal(groups(), SHORT);
    execute(USER_CODE, 1500);
    assert_int_equal(longest, 208);
    assert_int_equal(host_drain(&host, NULL), 1);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    begin(1, LOADS, 1000, 0, UPMU_BRANCH_USER);
    assert_int_equal(groups(), GROWN);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK); /* beside it: the records stay as they are */
    assert_int_equal(groups(), GROWN);
    execute(USER_CODE, 1400);
    assert_int_equal(check_samples(1, USER_CODE, 0), 1);
    assert_int_equal(host_drain(&host, NULL), 1);
    assert_int_equal(upmu_session_stop(&host.sessions[1]), UPMU_OK);
    assert_int_equal(groups(), GROWN);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    assert_int_equal(groups(), SHORT);
    finish();
}

/*
 * Ordinary events have the branches of the interrupt, before and after a precise one of the same interrupt.  The stack
 * is frozen when the interrupt comes, and not at the overflow, so that the two differ.
 */
static void freeze_and_deliver(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_interrupt *interrupt)
{
    upmu_sim_poke(sim, cpu, 0x38e, upmu_sim_peek(sim, cpu, 0x38e) | UINT64_C(1) << 58);
    host_deliver(sim, cpu, interrupt);
}

static void ordinary_samples_have_those_of_the_interrupt(void **state)
{
    static const struct {
        const char *event;
        uint64_t period;
    } sessions[] = {{"MEM_INST_RETIRED.ALL_LOADS", 1000}, {LOADS, 1000}, {"cycles", 2000}};

    (void)state;
    set_up("icelake", 16384);
    host.sim.skid = SKID;
    for (unsigned i = 0; i < 3; i++)
        begin(i, sessions[i].event, sessions[i].period, 0, UPMU_BRANCH_USER);
    upmu_sim_poke(&host.sim, 0, DEBUGCTL, upmu_sim_peek(&host.sim, 0, DEBUGCTL) & ~UINT64_C(0x800));
    host.sim.deliver = freeze_and_deliver;
    execute(USER_CODE, 3500);
    for (unsigned i = 0; i < 3; i++) {
        struct upmu_record record;
        unsigned samples = 0;

        for (; upmu_ring_view(&host.sessions[i].ring, &record); upmu_ring_drop(&host.sessions[i].ring)) {
            bool exact = record.sample->flags & UPMU_SAMPLE_PRECISE;
            /* an interrupt shows the next instruction */
            check_branches(&record, USER_CODE, taken_by(USER_CODE, record.sample->ip - !exact));
            assert_int_equal(record.branches, 32, i);
            samples++;
        }
        assert_int_equal(samples, 3, i);
    }
    finish();
}

/* With memory for fewer records than counters, samples have the branches of the interrupt, as on older CPUs. */
static void little_memory_has_no_room_for_branches(void **state)
{
    struct upmu_record record;

    (void)state;
    for (unsigned bytes = 4096; bytes <= 16384; bytes += 4096) {
        set_up("icelake", bytes);
        begin(0, LOADS, 1000, 0, UPMU_BRANCH_USER);
        assert_int_equal(groups(), bytes < 16384 ? SHORT : GROWN, bytes);
        execute(USER_CODE, 1500);
        assert_true(upmu_ring_view(&host.session.ring, &record));
        assert_int_equal(record.branches, 32, bytes);
        finish();
    }
}

/* Catches: a register that is written while counters store records, a session that is not loaded again. */
static void a_session_with_branches_comes_to_others(void **state)
{
    (void)state;
    for (unsigned others = 1; others <= 3; others++) {
        set_up("icelake", 16384);
        host.sim.ns_per_access = 10;
        host.sim.cpu[0].in_nmi = others == 3; /* the records of before are taken by the plan */
        for (unsigned i = 0; i < others; i++)
            begin(i, LOADS, 1000 + 10 * i, UPMU_PART_ADDRESS, 0);
        execute(USER_CODE, 1400);
        assert_int_equal(groups(), SHORT);
        begin(others, LOADS, 1000, 0, UPMU_BRANCH_USER);
        assert_int_equal(groups(), GROWN);
        host.sim.cpu[0].in_nmi = false;
        for (unsigned i = 0; i < others; i++)
            assert_int_equal(host.sessions[i].state, UPMU_SESSION_RUNNING, i);
        execute(USER_CODE, 2100);
        assert_int_equal(check_samples(others, USER_CODE, 0), 2);
        for (unsigned i = 0; i < others; i++) {
            struct upmu_record record;
            unsigned samples = 0;

            for (; upmu_ring_view(&host.sessions[i].ring, &record); upmu_ring_drop(&host.sessions[i].ring)) {
                assert_int_equal(record.parts, UPMU_PART_ADDRESS, i);
                samples++;
            }
            assert_int_equal(samples, 3, i, others);
            assert_int_equal(host_value(&host.sessions[i], 0), 3500, i);
            assert_compare(host.sessions[i].set.tally[0].gap_ns, >, 0, i);
        }
        finish();
    }
}

/*
 * One session with branches leaves and another without comes, by one plan, while a third one's counter stores records:
 * these keep their size until it leaves, too.
 */
static void the_group_stays_while_another_counter_stores(void **state)
{
    (void)state;
    set_up("icelake", 16384);
    host_threads(&host, 2);
    begin(0, LOADS, 1000, UPMU_PART_ADDRESS, 0);
    host_thread_switch(&host, 0, 0);
    begin_thread(1, 0, UPMU_BRANCH_USER);
    begin_thread(2, 1, 0);
    host_thread_switch(&host, 0, 1);
    host_thread_switch(&host, 0, 0);
    assert_int_equal(groups(), GROWN);
    for (unsigned turn = 0; turn < 4; turn++) {
        host_thread_switch(&host, 0, !(turn & 1));
        assert_int_equal(groups(), GROWN, turn);
        execute(USER_CODE, 1400);
    }
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    host_thread_switch(&host, 0, 1);
    assert_int_equal(groups(), SHORT);
    finish();
}

/* A write of the register that faults once is made again; twice: samples have the branches of the interrupt. */
static void a_register_that_faults_is_written_again(void **state)
{
    struct upmu_record record;

    (void)state;
    set_up("icelake", 16384);
    host.sim.expect_faults = true;
    host.sim.fault_address = DATA_CONFIG;
    begin(0, LOADS, 1000, 0, UPMU_BRANCH_USER);
    host.sim.fault_address = 0;
    assert_int_equal(groups(), SHORT);
    execute(USER_CODE, 1500);
    assert_true(upmu_ring_view(&host.session.ring, &record));
    assert_int_equal(record.parts, UPMU_PART_BRANCHES);
    assert_int_equal(record.branches, 32);
    upmu_ring_drop(&host.session.ring);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    assert_int_equal(groups(), GROWN);
    execute(USER_CODE, 1500);
    assert_compare(check_samples(0, USER_CODE, 0), >=, 1);
    finish();
}

static unsigned written;

static void note_group_access(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind,
                              uint32_t address)
{
    (void)sim, (void)cpu, (void)number, (void)kind;
    written += address == DATA_CONFIG;
}

/* Catches: each session that comes takes the others off their counters once more, after a fault of the register. */
static void after_faults_sessions_do_not_leave_for_each_other(void **state)
{
    (void)state;
    set_up("icelake", 16384);
    begin(0, LOADS, 1000, 0, 0);
    host.sim.expect_faults = true;
    host.sim.fault_address = DATA_CONFIG;
    begin(1, LOADS, 1000, 0, UPMU_BRANCH_USER);
    written = 0;
    host.sim.before_access = note_group_access;
    begin(2, LOADS, 1000, 0, UPMU_BRANCH_USER);
    host.sim.before_access = NULL;
    assert_int_equal(written, 0);
    host.sim.fault_address = 0;
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(upmu_session_stop(&host.sessions[i]), UPMU_OK, i);
    assert_int_equal(upmu_session_start(&host.sessions[1]), UPMU_OK);
    assert_int_equal(groups(), GROWN);
    finish();
}

static void a_cpu_that_wakes_has_the_group_again(void **state)
{
    (void)state;
    set_up("icelake", 16384);
    begin(0, LOADS, 1000, 0, UPMU_BRANCH_USER);
    assert_int_equal(upmu_cpu_suspend(&host.cpu[0]), UPMU_OK);
    assert_int_equal(groups(), 8);
    assert_int_equal(upmu_cpu_resume(&host.cpu[0]), UPMU_OK);
    assert_int_equal(groups(), GROWN);
    execute(USER_CODE, 2100);
    assert_int_equal(check_samples(0, USER_CODE, 0), 2);
    finish();
}

/* ---- Whose branches ---- */

/* A record whose interrupt has not come yet, when the stack is cleared for another thread. */
static void records_of_before_a_switch_have_no_branches(void **state)
{
    (void)state;
    for (unsigned turn = 0; turn < 2; turn++) {
        struct upmu_record record;

        set_up("icelake", 16384);
        host_threads(&host, 2);
        host_thread_switch(&host, 0, 0);
        begin(0, LOADS, 1000, 0, UPMU_BRANCH_USER);
        host.sim.cpu[0].in_nmi = true;
        execute(USER_CODE, 1050);
        if (turn)
            host_thread_switch(&host, 0, 1);
        host.sim.cpu[0].in_nmi = false;
        upmu_sim_irqs(&host.sim, true); /* the interrupt comes */
        execute_on(USER_CODE, 1050, 1400);
        assert_true(upmu_ring_view(&host.session.ring, &record));
        assert_int_equal(record.sample->ip, USER_CODE + 1000);
        assert_int_equal(record.parts, turn ? 0 : UPMU_PART_BRANCHES, turn);
        assert_int_equal(record.branches, turn ? 0 : 32, turn);
        upmu_ring_drop(&host.session.ring);
        assert_true(upmu_ring_view(&host.session.ring, &record));
        check_branches(&record, USER_CODE, taken_by(USER_CODE, record.sample->ip));
        finish();
    }
}

/* The record of a counter that leaves is found without an interrupt: its branches are known all the same. */
static void a_record_without_an_interrupt_has_branches(void **state)
{
    (void)state;
    set_up("icelake", 16384);
    host.sim.cpu[0].in_nmi = true;
    begin(0, LOADS, 1000, 0, UPMU_BRANCH_USER);
    execute(USER_CODE, 1500);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    assert_int_equal(check_samples(0, USER_CODE, 0), 1);
    host.sim.cpu[0].in_nmi = false;
    finish();
}

/* The filter cannot be written: what the stack holds is not what the session asked for. */
static void a_stack_without_the_filter_gives_records_no_branches(void **state)
{
    struct upmu_record record;

    (void)state;
    set_up("icelake", 16384);
    host.sim.expect_faults = true;
    host.sim.fault_address = LBR_SELECT;
    begin(0, LOADS, 1000, 0, UPMU_BRANCH_USER);
    assert_int_equal(groups(), GROWN);
    execute(USER_CODE, 1400);
    host.sim.fault_address = 0;
    assert_true(upmu_ring_view(&host.session.ring, &record));
    assert_int_equal(record.parts, 0);
    finish();
}

/* What the host has frozen is not of the moment of a record. */
static void a_frozen_stack_gives_records_no_branches(void **state)
{
    struct upmu_record record;

    (void)state;
    set_up("icelake", 16384);
    begin(0, LOADS, 1000, 0, UPMU_BRANCH_USER);
    execute(USER_CODE, 700);
    upmu_sim_irqs(&host.sim, false);
    assert_int_equal(upmu_branches_freeze(&host.cpu[0]), UPMU_OK);
    upmu_sim_irqs(&host.sim, true);
    execute_on(USER_CODE, 700, 700);
    assert_true(upmu_ring_view(&host.session.ring, &record));
    assert_int_equal(record.parts, 0);
    upmu_ring_drop(&host.session.ring);
    upmu_sim_irqs(&host.sim, false);
    assert_int_equal(upmu_branches_resume(&host.cpu[0]), UPMU_OK);
    upmu_sim_irqs(&host.sim, true);
    finish();
}

/* ---- Damaged and hostile records ---- */

#define AT_BRANCHES (32 + 32 + 144)

static void add_kernel(uint8_t *record)
{
    const uint64_t kernel = KERNEL_CODE;

    memcpy(record + AT_BRANCHES, &kernel, 8);          /* a source */
    memcpy(record + AT_BRANCHES + 24 * 5 + 8, &kernel, 8); /* a target */
}

/* A program sees no branch with an end in the kernel, whatever the record has. */
static void a_program_gets_no_branch_of_the_kernel(void **state)
{
    struct upmu_record record;

    (void)state;
    set_up("icelake", 16384);
    upmu_session_hide_kernel(&host.session, true);
    damage = add_kernel;
    begin(0, LOADS, 1000, 0, MODES);
    execute(USER_CODE, 1500);
    assert_true(upmu_ring_view(&host.session.ring, &record));
    assert_int_equal(record.branches, 30);
    for (unsigned i = 0; i < record.branches; i++)
        assert_int_equal(record.branch[i].from >> 63 | record.branch[i].to >> 63, 0, i);
    upmu_ring_drop(&host.session.ring);
    upmu_session_hide_kernel(&host.session, false); /* of branches this holds from the next start on */
    execute_on(USER_CODE, 1505, 1505);
    assert_true(upmu_ring_view(&host.session.ring, &record));
    assert_int_equal(record.branches, 30);
    finish();
}

static void a_session_that_hides_the_kernel_later_gets_none(void **state)
{
    struct upmu_record record;

    (void)state;
    set_up("icelake", 16384);
    begin(0, LOADS, 1000, 0, MODES);
    upmu_session_hide_kernel(&host.session, true);
    execute(USER_CODE, 1500);
    assert_true(upmu_ring_view(&host.session.ring, &record));
    assert_int_equal(record.parts, 0);
    finish();
}

static void end_early(uint8_t *record)
{
    memset(record + AT_BRANCHES + 24 * 9, 0, 8);
}

static void entries_after_an_empty_one_are_none(void **state)
{
    struct upmu_record record;

    (void)state;
    set_up("icelake", 16384);
    damage = end_early;
    begin(0, LOADS, 1000, 0, UPMU_BRANCH_USER);
    execute(USER_CODE, 1500);
    assert_true(upmu_ring_view(&host.session.ring, &record));
    assert_int_equal(record.branches, 9);
    finish();
}

static void set_count(uint8_t *record)
{
    record[3] = 255; /* 256 branches */
}

static void set_more(uint8_t *record)
{
    record[3] = 32; /* one more than the record's size has */
}

static void set_size(uint8_t *record)
{
    record[6] = (uint8_t)(record[6] - 24);
}

static void set_long(uint8_t *record)
{
    record[7] = 0xff; /* beyond the index */
}

static void drop_group(uint8_t *record)
{
    record[0] &= 0xf7;
}

static void name_group(uint8_t *record)
{
    record[0] |= 0x10; /* counters, which format 4 does not have */
}

/* A record that cannot be read ends the reading, is counted, and costs its sample alone. */
static void a_damaged_record_is_counted(void **state)
{
    static void (*const damages[])(uint8_t *) = {set_count, set_more, set_size, set_long, drop_group, name_group};

    (void)state;
    for (unsigned i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        set_up("icelake", 16384);
        damage = damages[i];
        begin(0, LOADS, 1000, 0, UPMU_BRANCH_USER);
        execute(USER_CODE, 1400);
        assert_int_equal(host_drain(&host, NULL), 0, i);
        assert_int_equal(upmu_cpu_records(&host.cpu[0]).strange, 1, i);
        assert_int_equal(host_count(&host.session, 0).lost, 1, i);
        damage = NULL;
        execute_on(USER_CODE, 1400, 1400);
        assert_int_equal(check_samples(0, USER_CODE, 0), 1, i);
        assert_int_equal(host_value(&host.session, 0), 2800, i);
        finish();
    }
}

/* ---- Batches ---- */

/*
 * Branches come beside a batch with records in the buffer: the plan takes its records once, and they are its samples.
 * Then the records of the batch are grown, too, also when the session of branches has gone, and the buffer gets full.
 * Catches: records lost or counted twice, or stored behind the buffer.
 */
static void a_batch_keeps_its_records_beside_branches(void **state)
{
    static const unsigned parts[] = {0, UPMU_PART_ADDRESS, UPMU_PART_REGISTERS};

    (void)state;
    for (unsigned shape = 0; shape < 3; shape++) {
        const struct upmu_tally *tally;
        const struct upmu_sampling batch = {.period = 140,
                                            .flags = UPMU_SAMPLING_BATCH | UPMU_SAMPLING_PARTS(parts[shape])};
        unsigned samples = 0;
        uint64_t events = 0;

        set_up("icelake", UPMU_RECORD_MOST_BYTES / 4);
        assert_int_equal(upmu_set_add(&host.session.set, LOADS, &batch), UPMU_OK);
        assert_int_equal(upmu_session_ring(&host.session, rings[0], sizeof rings[0]), UPMU_OK);
        assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[0]), UPMU_OK);
        assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
        tally = &host.session.set.tally[0];
        execute(KERNEL_CODE, 5 * 140 + 70);
        events += 5 * 140 + 70;
        begin(1, LOADS, 1400, 0, MODES);
        assert_int_equal(groups(), GROWN);
        for (unsigned i = 0; i < 40; i++) {
            host.sim.now_ns += 20000000;
            if (i == 20)
                assert_int_equal(upmu_session_stop(&host.sessions[1]), UPMU_OK);
            execute(KERNEL_CODE, 700);
            events += 700;
            assert_int_equal(host_value(&host.session, 0), events, shape, i);
            samples += host_drain(&host, NULL);
        }
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        samples += host_drain(&host, NULL);
        assert_int_equal(host_value(&host.session, 0), events, shape);
        assert_int_equal(tally->overflows, events / 140, shape);
        assert_int_equal(samples + tally->lost, events / 140, shape);
        assert_compare(tally->lost, <=, 1, shape);
        assert_int_equal(upmu_cpu_records(&host.cpu[0]).strange, 0, shape);
        finish();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_keeps_its_records_beside_branches),
        cmocka_unit_test(branches_are_those_before_the_instruction),
        cmocka_unit_test(samples_have_what_the_session_wants),
        cmocka_unit_test(records_have_the_group_while_a_session_needs_it),
        cmocka_unit_test(ordinary_samples_have_those_of_the_interrupt),
        cmocka_unit_test(little_memory_has_no_room_for_branches),
        cmocka_unit_test(a_session_with_branches_comes_to_others),
        cmocka_unit_test(the_group_stays_while_another_counter_stores),
        cmocka_unit_test(a_register_that_faults_is_written_again),
        cmocka_unit_test(after_faults_sessions_do_not_leave_for_each_other),
        cmocka_unit_test(a_cpu_that_wakes_has_the_group_again),
        cmocka_unit_test(records_of_before_a_switch_have_no_branches),
        cmocka_unit_test(a_record_without_an_interrupt_has_branches),
        cmocka_unit_test(a_stack_without_the_filter_gives_records_no_branches),
        cmocka_unit_test(a_frozen_stack_gives_records_no_branches),
        cmocka_unit_test(a_program_gets_no_branch_of_the_kernel),
        cmocka_unit_test(a_session_that_hides_the_kernel_later_gets_none),
        cmocka_unit_test(entries_after_an_empty_one_are_none),
        cmocka_unit_test(a_damaged_record_is_counted),
    };

    return cmocka_run_group_tests_name("branches of records", tests, NULL, NULL);
}
