/* SPDX-License-Identifier: MIT */
/*
 * Branch records on the silicon model: the newest branches of each kind of stack, their filters and refusals, what they
 * cost, and reads in the middle of everything.  The expected forms of entries are those of shared published layouts
 * (Linux 6.12 arch/x86/events/intel/lbr.c, amd/lbr.c), computed here without the library's tables.
 */
#include "core/sample/branches_core.h"
#include "tests/common/host.h"
#include <upmu/abi.h>

#include <stdio.h>

#define KERNEL_CODE UINT64_C(0xffffffff81400000)
#define USER_CODE UINT64_C(0x00007f1234500000)
#define MISPREDICTED UPMU_BRANCH_INFO_MISPREDICTED
#define PREDICTED UPMU_BRANCH_INFO_PREDICTED /* upmu's: a branch that is not mispredicted, where that is known */
#define IN_TX UPMU_BRANCH_INFO_TRANSACTION
#define ABORT UPMU_BRANCH_INFO_ABORT
#define CYCLES UPMU_BRANCH_INFO_CYCLES
#define EVERYTHING (UPMU_BRANCH_USER | UPMU_BRANCH_KERNEL | UPMU_BRANCH_ANY)
#define MODES (UPMU_BRANCH_USER | UPMU_BRANCH_KERNEL)

enum { CORE, NHM_SELECT, SELECT, ARCH, AMD };

/* A CPU: its stack as the published tables have it. */
static const struct cpu_kind {
    const char *profile;
    unsigned depth, kind, registers; /* of an entry */
    uint64_t info;                   /* what it knows of a branch */
} kinds[] = {
    {"core2", 4, CORE, 2, 0},
    {"bonnell_odd", 8, CORE, 2, 0},
    {"silvermont", 8, NHM_SELECT, 2, 0},
    {"nehalem", 16, CORE, 2, MISPREDICTED | PREDICTED},
    {"westmere", 16, CORE, 2, MISPREDICTED | PREDICTED},
    {"sandybridge", 16, SELECT, 2, MISPREDICTED | PREDICTED},
    {"ivb_smtoff", 16, SELECT, 2, MISPREDICTED | PREDICTED},
    {"haswell_smt", 16, SELECT, 2, MISPREDICTED | PREDICTED | IN_TX | ABORT},
    {"broadwell", 16, SELECT, 2, MISPREDICTED | PREDICTED | IN_TX | ABORT},
    {"knl", 8, SELECT, 2, MISPREDICTED | PREDICTED},
    {"skylake", 32, SELECT, 3, MISPREDICTED | PREDICTED | IN_TX | ABORT | CYCLES},
    {"icelake", 32, SELECT, 3, MISPREDICTED | PREDICTED | IN_TX | ABORT | CYCLES},
    {"goldmont_plus", 32, SELECT, 3, MISPREDICTED | PREDICTED | IN_TX | ABORT | CYCLES},
    {"tremont", 32, SELECT, 3, MISPREDICTED | PREDICTED | IN_TX | ABORT | CYCLES},
    {"sapphirerapids", 32, ARCH, 3, MISPREDICTED | PREDICTED | IN_TX | ABORT | CYCLES},
    {"adl_e", 32, ARCH, 3, MISPREDICTED | PREDICTED | IN_TX | ABORT | CYCLES},
    {"lnl_p", 32, ARCH, 3, MISPREDICTED | PREDICTED | IN_TX | ABORT | CYCLES},
    {"ptl_p", 32, ARCH, 3, MISPREDICTED | PREDICTED | IN_TX | ABORT | CYCLES},
    {"zen4", 16, AMD, 2, MISPREDICTED | PREDICTED},
    {"zen5", 16, AMD, 2, MISPREDICTED | PREDICTED},
    {"zen6", 16, AMD, 2, MISPREDICTED | PREDICTED},
};
#define CPU_KINDS (sizeof kinds / sizeof kinds[0])

static enum upmu_status start(struct host *host, uint32_t record, struct upmu_why *why)
{
    return upmu_branches_start(&host->cpu[0], &(struct upmu_branch_filter){.record = record}, why);
}

/*
 * Machine and CPU 0, where interrupts are off: reads take no bracket.  The model's Bonnell has a stepping below 10,
 * which records wrong (Linux lbr.c, intel_pmu_lbr_init_atom).
 */
static void set_up(struct host *host, const char *profile)
{
    static struct upmu_sim_profile bonnell;

    host_prepare(host, profile);
    if (!strcmp(profile, "bonnell_odd")) {
        bonnell = *upmu_sim_profile(profile);
        bonnell.signature = (bonnell.signature & ~0xfu) | 10u;
        upmu_sim_set_profile(&host->sim, 0, &bonnell);
    }
    host_start(host);
    upmu_sim_irqs(&host->sim, false);
}

/* Start it, without what the library's own way to a register adds: the second start on a CPU looks for nothing. */
static void start_alone(struct host *host, uint32_t record)
{
    struct upmu_why why;

    assert_int_equal(start(host, record, &why), UPMU_OK);
    assert_int_equal(why.status, UPMU_OK);
    assert_int_equal(upmu_branches_stop(&host->cpu[0]), UPMU_OK);
    host->sim.rule[UPMU_SIM_RULE_LBR_HOOKS] = 0;
    assert_int_equal(start(host, record, &why), UPMU_OK);
}

static void started(struct host *host, const char *profile, uint32_t record)
{
    set_up(host, profile);
    start_alone(host, record);
}

static void finished(struct host *host)
{
    assert_int_equal(upmu_branches_stop(&host->cpu[0]), UPMU_OK);
    host_no_violation(host);
    host_end(host);
}

/* Branch n of a program: of each kind, in the kernel or not, now and then mispredicted, in a transaction. */
static struct upmu_sim_branch branch_of(unsigned n, bool kernel)
{
    uint64_t code = kernel ? KERNEL_CODE : USER_CODE;

    return (struct upmu_sim_branch){.from = code + 0x100u * n,
                                    .to = code + 0x100u * n + 0x40,
                                    .kind = (enum upmu_sim_branch_kind)(n % 7u),
                                    .mispredicted = n % 3u == 1,
                                    .in_tx = n % 5u == 2,
                                    .abort = n % 5u == 2 && n % 2u,
                                    .cycles = (uint16_t)(10u * n + 1u)};
}

static uint64_t info_of(const struct upmu_sim_branch *branch)
{
    return (branch->mispredicted ? MISPREDICTED : PREDICTED) | (branch->in_tx ? IN_TX : 0) |
           (branch->abort ? ABORT : 0) | branch->cycles;
}

static void check_branch(const struct cpu_kind *kind, const struct upmu_branch *branch,
                         const struct upmu_sim_branch *expected)
{
    assert_true(branch->from == expected->from && branch->to == expected->to);
    assert_int_equal(branch->info & kind->info, info_of(expected) & kind->info);
    if (kind->kind != ARCH && kind->kind != AMD)
        assert_true(!(branch->info & ~kind->info));
    else if (kind->kind == AMD)
        assert_int_equal(branch->info & ~kind->info, UINT64_C(2) << 52);
    else
        assert_true(branch->info & UPMU_BRANCH_INFO_CYCLES_VALID);
}

static void each_stack_gives_its_newest_branches_first(void **state)
{
    (void)state;
    for (unsigned k = 0; k < CPU_KINDS; k++)
        for (unsigned many = 0; many < 70; many += 1 + many / 3) {
            const struct cpu_kind *kind = &kinds[k];
            unsigned kept = many < kind->depth ? many : kind->depth, count;
            struct upmu_branch out[UPMU_BRANCHES_MOST];
            struct host host;

            started(&host, kind->profile, many & 1u ? EVERYTHING : 0);
            assert_int_equal(upmu_branches_facts(host.cpu[0].meter.pmu).depth, kind->depth);
            assert_int_equal(upmu_branches_facts(host.cpu[0].meter.pmu).info & kind->info, kind->info);
            for (unsigned n = 0; n < many; n++) {
                struct upmu_sim_branch branch = branch_of(n, n & 1u);

                branch.abort = branch.abort && kind->kind != SELECT; /* (Haswell: a test of its own.) */
                upmu_sim_branch(&host.sim, &branch);
            }
            for (unsigned round = 0; round < 2; round++) {
                assert_int_equal(upmu_branches_read(&host.cpu[0], out, UPMU_BRANCHES_MOST, &count), UPMU_OK);
                assert_int_equal(count, kept);
                for (unsigned i = 0; i < count; i++) {
                    struct upmu_sim_branch branch = branch_of(many - 1u - i, (many - 1u - i) & 1u);

                    branch.abort = branch.abort && kind->kind != SELECT;
                    check_branch(kind, &out[i], &branch);
                }
            }
            /* A small room has the newest ones, and nothing behind it is written. */
            memset(out, 0x5a, sizeof out);
            assert_int_equal(upmu_branches_read(&host.cpu[0], out, 3, &count), UPMU_OK);
            assert_int_equal(count, kept < 3 ? kept : 3);
            assert_int_equal(out[3].from, UINT64_C(0x5a5a5a5a5a5a5a5a));
            finished(&host);
        }
}

/* The way into the library takes branches, too: few of them, and before the others. */
static void the_way_to_a_read_takes_four_entries_at_most(void **state)
{
    (void)state;
    for (unsigned k = 0; k < CPU_KINDS; k++) {
        struct upmu_branch out[UPMU_BRANCHES_MOST];
        unsigned count, own = 0;
        struct host host;

        set_up(&host, kinds[k].profile);
        assert_int_equal(start(&host, EVERYTHING, NULL), UPMU_OK);
        for (unsigned n = 0; n < 64; n++) {
            struct upmu_sim_branch branch = branch_of(n, true);

            branch.in_tx = branch.abort = false;
            upmu_sim_branch(&host.sim, &branch);
        }
        assert_int_equal(upmu_branches_read(&host.cpu[0], out, UPMU_BRANCHES_MOST, &count), UPMU_OK);
        assert_int_equal(count, kinds[k].depth, k);
        while (out[own].from < KERNEL_CODE)
            own++;
        assert_int_equal(own, kinds[k].kind == ARCH ? 1 : 3, k);
        for (unsigned i = own; i < count; i++)
            assert_int_equal(out[i].from, branch_of(63 - (i - own), true).from, i);
        finished(&host);
    }
}

/* ---- Filters ---- */

static const struct {
    uint32_t record;
    enum upmu_sim_branch_kind kind;
} filters[] = {{UPMU_BRANCH_CALL, UPMU_SIM_BRANCH_CALL},
               {UPMU_BRANCH_IND_CALL, UPMU_SIM_BRANCH_IND_CALL},
               {UPMU_BRANCH_RETURN, UPMU_SIM_BRANCH_RETURN},
               {UPMU_BRANCH_COND, UPMU_SIM_BRANCH_COND},
               {UPMU_BRANCH_IND_JUMP, UPMU_SIM_BRANCH_IND_JUMP}};

/* Can the stack sort out this kind?  Nehalem's filter, which Silvermont has, too, mixes calls with jumps. */
static bool sorts(const struct cpu_kind *kind, unsigned filter)
{
    return kind->kind != CORE && !(kind->kind == NHM_SELECT && filter < 2);
}

static void kinds_are_recorded_alone_or_refused(void **state)
{
    (void)state;
    for (unsigned k = 0; k < CPU_KINDS; k++)
        for (unsigned set = 1; set < 32; set++) {
            struct upmu_branch out[UPMU_BRANCHES_MOST];
            unsigned count, possible = 1, seen = 0;
            uint32_t record = set & 1u ? MODES : 0;
            struct upmu_why why;
            struct host host;

            for (unsigned i = 0; i < 5; i++)
                if (set >> i & 1u) {
                    record |= filters[i].record;
                    possible &= sorts(&kinds[k], i);
                }
            set_up(&host, kinds[k].profile);
            assert_int_equal(start(&host, record, &why), possible ? UPMU_OK : UPMU_ERR_UNSUPPORTED);
            assert_int_equal((upmu_branches_facts(host.cpu[0].meter.pmu).record & record) == record, possible);
            if (!possible) {
                assert_string_equal(why.word, "it cannot record this kind alone");
                assert_int_equal(upmu_branches_read(&host.cpu[0], out, 1, &count), UPMU_ERR_STATE);
                host_end(&host);
                continue;
            }
            assert_int_equal(upmu_branches_stop(&host.cpu[0]), UPMU_OK);
            start_alone(&host, record);
            for (unsigned n = 0; n < 14; n++)
                upmu_sim_branch(&host.sim, &(struct upmu_sim_branch){.from = KERNEL_CODE + n,
                                                                     .to = USER_CODE,
                                                                     .kind = (enum upmu_sim_branch_kind)(n % 7u)});
            assert_int_equal(upmu_branches_read(&host.cpu[0], out, UPMU_BRANCHES_MOST, &count), UPMU_OK);
            for (unsigned i = 0; i < count; i++)
                for (unsigned f = 0; f < 5; f++)
                    if ((out[i].from - KERNEL_CODE) % 7u == (unsigned)filters[f].kind && set >> f & 1u)
                        seen++;
            for (unsigned f = 0, wanted = 0; f < 5; f++) {
                wanted += 2u * (set >> f & 1u);
                if (f == 4)
                    assert_true(count == (wanted < kinds[k].depth ? wanted : kinds[k].depth) && seen == count, k);
            }
            finished(&host);
        }
}

/* From and to the kernel: an address of the kernel is in no branch of user mode, whatever the hardware lets in. */
static void a_branch_of_user_mode_has_no_end_in_the_kernel(void **state)
{
    static const uint64_t code[] = {USER_CODE, KERNEL_CODE};

    (void)state;
    for (unsigned k = 0; k < CPU_KINDS; k++)
        for (uint32_t record = UPMU_BRANCH_USER; record <= MODES; record++)
            for (unsigned filtered = 0; filtered < 2; filtered++) {
                struct upmu_branch out[UPMU_BRANCHES_MOST];
                unsigned count, user = 0, kernel = 0;
                struct host host;

                started(&host, kinds[k].profile, record | UPMU_BRANCH_ANY);
                host.sim.rule[UPMU_SIM_RULE_LBR_FILTERS] = (uint8_t)filtered;
                for (unsigned n = 0; n < 4; n++)
                    upmu_sim_branch(&host.sim,
                                    &(struct upmu_sim_branch){.from = code[n & 1u] + n, .to = code[n >> 1] + n});
                assert_int_equal(upmu_branches_read(&host.cpu[0], out, UPMU_BRANCHES_MOST, &count), UPMU_OK);
                for (unsigned i = 0; i < count; i++) {
                    user += !(out[i].from >> 63) && !(out[i].to >> 63);
                    kernel += out[i].from >> 63 || out[i].to >> 63;
                }
                assert_int_equal(user, record & UPMU_BRANCH_USER ? 1 : 0);
                if (record & UPMU_BRANCH_KERNEL) /* the hardware goes by one end */
                    assert_in_range(kernel, record == MODES || !filtered ? 3 : 2, 3);
                else
                    assert_int_equal(kernel, 0);
                finished(&host);
            }
}

/* A kernel of 32 bits has no addresses with bit 63. */
static void the_host_says_where_its_kernel_begins(void **state)
{
    struct upmu_branch_filter filter = {.record = UPMU_BRANCH_USER, .kernel_from = 0xc0000000};
    struct upmu_branch out[UPMU_BRANCHES_MOST];
    unsigned count;
    struct host host;

    (void)state;
    set_up(&host, "core2");
    start_alone(&host, 0);
    assert_int_equal(upmu_branches_stop(&host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_branches_start(&host.cpu[0], &filter, NULL), UPMU_OK);
    upmu_sim_branch(&host.sim, &(struct upmu_sim_branch){.from = 0x8048000, .to = 0xc0000000});
    upmu_sim_branch(&host.sim, &(struct upmu_sim_branch){.from = 0xbfffffff, .to = 0x8048000});
    upmu_sim_branch(&host.sim, &(struct upmu_sim_branch){.from = 0xc0000000, .to = 0x8048000});
    assert_int_equal(upmu_branches_read(&host.cpu[0], out, UPMU_BRANCHES_MOST, &count), UPMU_OK);
    assert_int_equal(count, 1);
    assert_int_equal(out[0].from, 0xbfffffff);
    finished(&host);
}

static void without_info_a_third_of_the_reads_is_saved(void **state)
{
    (void)state;
    for (unsigned k = 0; k < CPU_KINDS; k++) {
        struct upmu_branch out[UPMU_BRANCHES_MOST];
        unsigned count;
        struct host host;

        started(&host, kinds[k].profile, UPMU_BRANCH_NO_INFO);
        for (unsigned n = 0; n < 64; n++) {
            struct upmu_sim_branch branch = branch_of(n, true);

            branch.in_tx = branch.abort = false;
            upmu_sim_branch(&host.sim, &branch);
        }
        host_forget_cost(&host);
        assert_int_equal(upmu_branches_read(&host.cpu[0], out, UPMU_BRANCHES_MOST, &count), UPMU_OK);
        assert_int_equal(count, kinds[k].depth, k);
        assert_compare(host.sim.access_count[UPMU_SIM_RDMSR], <=, 2 * kinds[k].depth + 3, k);
        for (unsigned i = 0; i < count; i++)
            assert_true(!out[i].info, i);
        finished(&host);
    }
}

/* ---- What is dropped ---- */

/*
 * An abort's second entry has no bit that says so (Linux lbr.c, intel_pmu_lbr_read_64). Aborts alone, one behind the
 * other, at both ends, and with branches between that are not wanted.
 */
static void haswell_shows_an_abort_once(void **state)
{
    static const char *const profiles[] = {"haswell_smt", "broadwell", "skylake"};
    static const unsigned aborts_of[] = {0x04, 0x0c, 0x21, 0x3f, 0};

    (void)state;
    for (unsigned k = 0; k < 3; k++)
        for (unsigned which = 0; which < 5; which++)
            for (uint32_t modes = UPMU_BRANCH_USER; modes <= MODES; modes++) {
                struct upmu_branch out[UPMU_BRANCHES_MOST];
                unsigned count, aborts = aborts_of[which], next = 0;
                struct host host;

                started(&host, profiles[k], modes | UPMU_BRANCH_ANY);
                host.sim.rule[UPMU_SIM_RULE_LBR_FILTERS] = 0;
                for (unsigned n = 0; n < 6; n++) {
                    uint64_t code = n & 1u ? KERNEL_CODE : USER_CODE;

                    upmu_sim_branch(&host.sim, &(struct upmu_sim_branch){.from = code + n,
                                                                         .to = code,
                                                                         .in_tx = aborts >> n & 1u,
                                                                         .abort = aborts >> n & 1u});
                }
                assert_int_equal(upmu_branches_read(&host.cpu[0], out, UPMU_BRANCHES_MOST, &count), UPMU_OK);
                assert_int_equal(count, modes == MODES ? 6 : 3);
                for (unsigned n = 6; n-- > 0;)
                    if (modes & (n & 1u ? UPMU_BRANCH_KERNEL : UPMU_BRANCH_USER)) {
                        assert_int_equal(out[next].from, (n & 1u ? KERNEL_CODE : USER_CODE) + n, next, n);
                        assert_int_equal(!(out[next++].info & ABORT), !(aborts >> n & 1u), next, n);
                    }
                finished(&host);
            }
}

/* An abort's second entry is the next one; another one behind a branch that is not wanted is a branch of its own. */
static void only_the_entry_after_an_abort_is_dropped(void **state)
{
    const struct upmu_branch_filter user = {.record = UPMU_BRANCH_USER};
    struct upmu_branch out[UPMU_BRANCHES_MOST];
    unsigned count;
    struct host host;

    (void)state;
    started(&host, "haswell_smt", 0);
    assert_int_equal(upmu_branches_stop(&host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_branches_start(&host.cpu[0], &user, NULL), UPMU_OK);
    host.sim.rule[UPMU_SIM_RULE_LBR_FILTERS] = host.sim.rule[UPMU_SIM_RULE_LBR_DOUBLE_ABORT] = 0;
    upmu_sim_branch(&host.sim, &(struct upmu_sim_branch){.from = USER_CODE, .to = USER_CODE, .abort = true});
    upmu_sim_branch(&host.sim, &(struct upmu_sim_branch){.from = KERNEL_CODE, .to = KERNEL_CODE});
    upmu_sim_branch(&host.sim, &(struct upmu_sim_branch){.from = USER_CODE + 2, .to = USER_CODE});
    assert_int_equal(upmu_branches_read(&host.cpu[0], out, UPMU_BRANCHES_MOST, &count), UPMU_OK);
    assert_int_equal(count, 2);
    assert_true(out[0].from == USER_CODE + 2 && out[1].from == USER_CODE && out[1].info == (PREDICTED | ABORT));
    finished(&host);
}

static void amd_entries_are_valid_or_speculative(void **state)
{
    struct upmu_branch out[UPMU_BRANCHES_MOST];
    unsigned count;
    struct host host;

    (void)state;
    started(&host, "zen4", EVERYTHING);
    for (unsigned n = 0; n < 8; n++)
        upmu_sim_branch(&host.sim, &(struct upmu_sim_branch){.from = KERNEL_CODE + n,
                                                             .to = KERNEL_CODE + 0x10 + n,
                                                             .wrong_path = n == 1,
                                                             .speculative = n == 2,
                                                             .reserved = n == 5});
    assert_int_equal(upmu_branches_read(&host.cpu[0], out, UPMU_BRANCHES_MOST, &count), UPMU_OK);
    assert_int_equal(count, 7); /* without that of erratum 1452 */
    for (unsigned i = 0; i < count; i++) {
        unsigned n = i < 2 ? 7 - i : 6 - i;

        assert_true(out[i].from == KERNEL_CODE + n && out[i].to == KERNEL_CODE + 0x10 + n, i, n);
        assert_int_equal(out[i].info, PREDICTED | (uint64_t)(n == 1 ? 1 : n == 2 ? 3 : 2) << 52, i, n);
    }
    finished(&host);
}

/* ---- Refusals ---- */

static void refused_with(const char *profile, void (*before)(struct host *host), uint32_t record,
                         enum upmu_status status, const char *text)
{
    struct upmu_why why;
    struct host host;
    char line[160];

    host_prepare(&host, profile);
    host.sim.expect_faults = true;
    host_start(&host);
    if (before)
        before(&host);
    assert_int_equal(start(&host, record, &why), status);
    assert_int_equal(why.status, status);
    assert_in_range(upmu_why_text(&why, line, sizeof line), 1, sizeof line - 1);
    assert_string_equal(line, text);
    assert_int_equal(start(&host, record, NULL), status);
    host.sim.fault_address = 0;
    host_end(&host);
}

static void drop_enable(struct host *host)
{
    host->sim.rule[UPMU_SIM_RULE_LBR_ENABLE] = 0;
}

static void record_nothing(struct host *host)
{
    host->sim.rule[UPMU_SIM_RULE_LBR_RECORDS] = 0;
}

static void fault_at_an_entry(struct host *host)
{
    host->sim.fault_address = 0x685;
}

static void fault_at_the_depth(struct host *host)
{
    host->sim.fault_address = 0x14cf;
}

static void leave_recording(struct host *host)
{
    upmu_sim_poke(&host->sim, 0, 0x1d9, 1);
}

static void leave_filtering(struct host *host)
{
    upmu_sim_poke(&host->sim, 0, 0x1c8, 4);
}

static void trace(struct host *host)
{
    upmu_sim_poke(&host->sim, 0, 0x570, 1);
}

static void start_before(struct host *host)
{
    assert_int_equal(start(host, 0, NULL), UPMU_OK);
}

static void sleep_before(struct host *host)
{
    assert_int_equal(upmu_cpu_suspend(&host->cpu[0]), UPMU_OK);
}

static void make_faults_unsafe(struct host *host)
{
    host->sim.port.msr_faults_are_safe = false;
}

static void each_refusal_says_why(void **state)
{
    (void)state;
    refused_with("p6", NULL, 0, UPMU_ERR_UNSUPPORTED,
                 "not supported on p6: upmu knows no branch records of this model");
    refused_with("yonah", NULL, 0, UPMU_ERR_UNSUPPORTED,
                 "not supported on coreduo: upmu knows no branch records of this model");
    refused_with("bonnell_odd", NULL, 0, UPMU_ERR_UNSUPPORTED,
                 "not supported on atom: steppings below 10 record wrong");
    refused_with("zen2", NULL, 0, UPMU_ERR_UNSUPPORTED,
                 "not supported on amd64_fam17h_zen2: no branch records of version 2");
    refused_with("zen3", NULL, 0, UPMU_ERR_UNSUPPORTED,
                 "not supported on amd64_fam19h_zen3: upmu does not drive Zen 3's branch sampling");
    refused_with("hypervisor_v2_nofixed", NULL, 0, UPMU_ERR_UNSUPPORTED,
                 "not supported on skl: the hypervisor shows no branch records");
    refused_with("hypervisor_faults", NULL, 0, UPMU_ERR_UNSUPPORTED,
                 "not supported on skl: the hypervisor shows no branch records");
    refused_with("counts_nothing", NULL, 0, UPMU_ERR_UNSUPPORTED, "not supported on skl: its registers record nothing");
    refused_with("counts_nothing", make_faults_unsafe, 0, UPMU_ERR_UNSUPPORTED,
                 "not supported on skl: a hypervisor, and faults are not safe");
    refused_with("skylake", drop_enable, 0, UPMU_ERR_UNSUPPORTED,
                 "not supported on skl: the bit that lets it record cannot be set");
    refused_with("sapphirerapids", record_nothing, 0, UPMU_ERR_UNSUPPORTED,
                 "not supported on spr: its registers record nothing");
    refused_with("zen4", record_nothing, 0, UPMU_ERR_UNSUPPORTED,
                 "not supported on amd64_fam19h_zen4: its registers record nothing");
    refused_with("skylake", NULL, 1u << 10, UPMU_ERR_INVALID, "invalid argument on skl");
    refused_with("nehalem", NULL, UPMU_BRANCH_CALL, UPMU_ERR_UNSUPPORTED,
                 "not supported on nhm: it cannot record this kind alone");
    refused_with("skylake", fault_at_an_entry, 0, UPMU_ERR_PORT, "register access faulted on skl: register 0x685");
    refused_with("sapphirerapids", fault_at_the_depth, 0, UPMU_ERR_PORT,
                 "register access faulted on spr: register 0x14cf");
    refused_with("sandybridge", leave_recording, 0, UPMU_ERR_STATE,
                 "not possible in this state on snb: other software records branches");
    refused_with("westmere", leave_filtering, 0, UPMU_ERR_STATE,
                 "not possible in this state on wsm_dp: other software filters branches");
    refused_with("skylake", trace, 0, UPMU_ERR_STATE, "not possible in this state on skl: Processor Trace runs");
    refused_with("skylake", start_before, 0, UPMU_ERR_STATE, "not possible in this state on skl: it records already");
    refused_with("skylake", sleep_before, 0, UPMU_ERR_NO_PMU, "no usable PMU");
}

/* ---- What CPUID and PERF_CAPABILITIES say ---- */

static void (*models_cpuid)(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4]);
static uint32_t leaf_1c[4], features_without;

static void changed_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    models_cpuid(context, leaf, subleaf, out);
    if (leaf == 7 && subleaf == 0)
        out[3] &= ~features_without;
    if (leaf == 0x1c)
        memcpy(out, leaf_1c, sizeof leaf_1c);
}

/* A Sapphire Rapids with another leaf 1CH: eax, ebx, ecx; NULL: without bit 19 of leaf 7. */
static void set_up_leaf(struct host *host, const uint32_t *words)
{
    host_prepare(host, "sapphirerapids");
    models_cpuid = host->sim.port.cpuid;
    host->sim.port.cpuid = changed_cpuid;
    features_without = words ? 0 : 1u << 19;
    memset(leaf_1c, 0, sizeof leaf_1c);
    if (words)
        memcpy(leaf_1c, words, 3 * sizeof words[0]);
    host_start(host);
    upmu_sim_irqs(&host->sim, false);
}

static void leaf_1c_says_what_architectural_records_are(void **state)
{
    static const struct {
        uint32_t words[3];
        unsigned depth;
        uint32_t filters;
    } leaves[] = {{{0x01, 0, 7}, 8, 0},
                  {{0x0b, 7, 7}, 32, 0xff},
                  {{0x83, 3, 7}, 64, 0xff},
                  {{0x40000003, 1, 7}, 16, MODES},
                  {{0x02, 2, 7}, 16, 0xff & ~MODES}};

    (void)state;
    for (unsigned i = 0; i < sizeof leaves / sizeof leaves[0]; i++) {
        const struct upmu_pmu *pmu;
        struct host host;

        set_up_leaf(&host, leaves[i].words);
        pmu = host.cpu[0].meter.pmu;
        assert_int_equal(upmu_branches_facts(pmu).depth, leaves[i].depth, i);
        assert_int_equal(pmu->branch_filters, leaves[i].filters, i);
        /* The modes are sorted out in any case, and any kind can be asked for. */
        assert_int_equal(upmu_branches_facts(pmu).record & 0xff, leaves[i].filters | EVERYTHING, i);
        if (!(leaves[i].filters & UPMU_BRANCH_CALL))
            assert_int_equal(start(&host, UPMU_BRANCH_CALL, NULL), UPMU_ERR_UNSUPPORTED);
        host_end(&host);
    }
}

/*
 * Bits of the third register that leaf 1CH ECX does not promise are 0, whatever is in the register (Linux
 * asm/perf_event.h, union cpuid28_ecx).
 */
static void what_leaf_1c_does_not_promise_is_not_shown(void **state)
{
    static const struct {
        uint32_t ecx;
        uint64_t info;
    } leaves[] = {{0, IN_TX | ABORT},
                  {1, IN_TX | ABORT | MISPREDICTED | PREDICTED},
                  {2, IN_TX | ABORT | UPMU_BRANCH_INFO_CYCLES_VALID | CYCLES},
                  {4, IN_TX | ABORT | UPMU_BRANCH_INFO_TYPE},
                  {7, UINT64_C(0xff0000000000ffff) | PREDICTED},
                  {0x10000, IN_TX | ABORT | UPMU_BRANCH_INFO_COUNTS},
                  {0xfffff, UINT64_C(0xff0000ff0000ffff) | PREDICTED},
                  {0xfff0fff8, IN_TX | ABORT}};

    (void)state;
    for (unsigned i = 0; i < sizeof leaves / sizeof leaves[0]; i++) {
        const uint32_t words[3] = {8, 7, leaves[i].ecx};
        struct upmu_branch out;
        unsigned count;
        struct host host;

        set_up_leaf(&host, words);
        assert_int_equal(upmu_branches_facts(host.cpu[0].meter.pmu).info, leaves[i].info, i);
        start_alone(&host, EVERYTHING);
        upmu_sim_branch(&host.sim, &(struct upmu_sim_branch){.from = KERNEL_CODE, .to = KERNEL_CODE});
        assert_int_equal(upmu_branches_freeze(&host.cpu[0]), UPMU_OK);
        upmu_sim_poke(&host.sim, 0, 0x1200, ~UINT64_C(0));
        assert_int_equal(upmu_branches_read(&host.cpu[0], &out, 1, &count), UPMU_OK);
        assert_true(count == 1 && out.from == KERNEL_CODE && out.info == (leaves[i].info & ~PREDICTED), i);
        finished(&host);
    }
}

/* LBR_CTL has no bit that leaf 1CH does not promise. */
static void filters_that_do_not_exist_are_not_written(void **state)
{
    static const uint32_t words[][3] = {{8, 0, 7}, {8, 1, 7}, {8, 2, 7}, {8, 7, 7}};
    static const uint64_t controls_of[] = {1, 7, 0x7f0001, 0x7f0007};

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct host host;

        set_up_leaf(&host, words[i]);
        host.sim.rule[UPMU_SIM_RULE_LBR_FILTERS] = 0;
        assert_int_equal(start(&host, EVERYTHING, NULL), UPMU_OK);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x14ce), controls_of[i], i);
        finished(&host);
    }
}

static void told(struct host *host, const char *reason)
{
    struct upmu_why why;

    assert_int_equal(upmu_branches_facts(host->cpu[0].meter.pmu).depth, 0);
    assert_int_equal(start(host, 0, &why), UPMU_ERR_UNSUPPORTED);
    assert_string_equal(why.word, reason);
    host_end(host);
}

static void contradictions_are_refused(void **state)
{
    static const uint32_t none[3] = {0x40000000, 7, 7};
    static struct upmu_sim_profile changed;
    struct host host;

    (void)state;
    set_up_leaf(&host, none);
    told(&host, "CPUID 1CH has no depth of branch records");
    set_up_leaf(&host, NULL);
    told(&host, "CPUID shows no architectural branch records");
    for (unsigned format = 0; format < 64; format++) {
        changed = *upmu_sim_profile(format & 1u ? "skylake" : "sandybridge");
        changed.capabilities = (changed.capabilities & ~0x3fu) | format;
        host_prepare(&host, "skylake");
        upmu_sim_set_profile(&host.sim, 0, &changed);
        host_start(&host);
        if (format & 1u ? format == 5 || format == 7 : format < 7)
            host_end(&host);
        else
            told(&host, "PERF_CAPABILITIES[5:0] is not this model's");
    }
    changed = *upmu_sim_profile("skylake");
    changed.flags &= ~UPMU_SIM_PDCM;
    host_prepare(&host, "skylake");
    upmu_sim_set_profile(&host.sim, 0, &changed);
    host_start(&host);
    told(&host, "PERF_CAPABILITIES cannot be read");
}

/* An early Core 2 or Atom without PERF_CAPABILITIES has the first format: addresses of 32 bits. */
static void the_first_models_need_no_capabilities(void **state)
{
    static struct upmu_sim_profile changed;
    struct upmu_branch out[UPMU_BRANCHES_MOST];
    unsigned count;
    struct host host;

    (void)state;
    changed = *upmu_sim_profile("core2");
    changed.flags &= ~UPMU_SIM_PDCM;
    changed.capabilities = 0;
    host_prepare(&host, "core2");
    upmu_sim_set_profile(&host.sim, 0, &changed);
    host_start(&host);
    upmu_sim_irqs(&host.sim, false);
    start_alone(&host, EVERYTHING);
    upmu_sim_branch(&host.sim, &(struct upmu_sim_branch){.from = 0xc0100000, .to = 0xc0200000, .mispredicted = true});
    assert_int_equal(upmu_branches_read(&host.cpu[0], out, UPMU_BRANCHES_MOST, &count), UPMU_OK);
    assert_int_equal(count, 1);
    assert_true(out[0].from == 0xc0100000 && out[0].to == 0xc0200000 && out[0].info == 0);
    finished(&host);
}

/* Ice Lake records beside Processor Trace. */
static void a_trace_does_not_matter_where_both_exist(void **state)
{
    struct host host;

    (void)state;
    host_prepare(&host, "icelake");
    host_start(&host);
    trace(&host);
    assert_int_equal(start(&host, 0, NULL), UPMU_OK);
    finished(&host);
}

static void the_wrong_cpu_and_a_dead_one_are_refused(void **state)
{
    struct upmu_branch out;
    struct upmu_why why;
    struct host host;
    unsigned count = 7;

    (void)state;
    host_set_up_two(&host, "skylake");
    upmu_sim_irqs(&host.sim, false);
    upmu_sim_switch_cpu(&host.sim, 1);
    assert_int_equal(start(&host, 0, &why), UPMU_ERR_WRONG_CPU);
    assert_int_equal(why.status, UPMU_ERR_WRONG_CPU);
    assert_int_equal(upmu_branches_stop(&host.cpu[0]), UPMU_ERR_WRONG_CPU);
    upmu_sim_switch_cpu(&host.sim, 0);
    assert_int_equal(upmu_branches_read(&host.cpu[0], &out, 1, &count), UPMU_ERR_STATE);
    assert_int_equal(count, 0);
    assert_int_equal(upmu_branches_freeze(&host.cpu[0]), UPMU_ERR_STATE);
    assert_int_equal(upmu_branches_resume(&host.cpu[0]), UPMU_ERR_STATE);
    assert_int_equal(upmu_branches_stop(&host.cpu[0]), UPMU_OK);
    upmu_records_emergency(&host.cpu[0]);
    host_end(&host);
    assert_int_equal(upmu_branches_stop(&host.cpu[0]), UPMU_ERR_NO_PMU);
    assert_int_equal(start(&host, 0, NULL), UPMU_ERR_NO_PMU);
}

/* ---- Registers as they were ---- */

static const uint32_t controls[] = {0x1d9, 0x1c8, 0x14ce, 0x14cf, 0xc000010e, 0xc000010f};
#define CONTROLS (sizeof controls / sizeof controls[0])

static void look_at(struct host *host, uint64_t out[CONTROLS])
{
    for (unsigned i = 0; i < CONTROLS; i++)
        out[i] = upmu_sim_peek(&host->sim, 0, controls[i]);
}

static bool is_recording(struct host *host)
{
    return (upmu_sim_peek(&host->sim, 0, 0x1d9) & 1) || (upmu_sim_peek(&host->sim, 0, 0x14ce) & 1) ||
           (upmu_sim_peek(&host->sim, 0, 0xc000010f) & 0x40);
}

/* A debugger steps by branches (DEBUGCTL 1), a former owner filtered: all that is there before is there after. */
static void a_stop_restores_what_the_start_found(void **state)
{
    (void)state;
    for (unsigned k = 0; k < CPU_KINDS; k++)
        for (unsigned end = 0; end < 3; end++) {
            uint64_t before[CONTROLS], after[CONTROLS];
            struct host host;

            set_up(&host, kinds[k].profile);
            assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
            upmu_sim_poke(&host.sim, 0, 0x1d9, 2);
            upmu_sim_poke(&host.sim, 0, 0xc000010f, 0x18);
            upmu_sim_poke(&host.sim, 0, 0x14ce, 0x10006);
            if (kinds[k].kind != CORE)
                upmu_sim_poke(&host.sim, 0, kinds[k].kind == AMD ? 0xc000010e : 0x1c8, 0x44);
            assert_int_equal(upmu_cpu_init(&host.cpu[0], &host.machine, NULL), UPMU_OK);
            look_at(&host, before);
            assert_int_equal(start(&host, UPMU_BRANCH_USER, NULL), UPMU_OK);
            assert_true(is_recording(&host));
            assert_true(upmu_sim_peek(&host.sim, 0, 0x1d9) & 2);
            if (kinds[k].kind == AMD)
                assert_int_equal(upmu_sim_peek(&host.sim, 0, 0xc000010f), 0x58);
            if (end == 0)
                assert_int_equal(upmu_branches_stop(&host.cpu[0]), UPMU_OK);
            else if (end == 1)
                assert_int_equal(upmu_cpu_suspend(&host.cpu[0]), UPMU_OK);
            else
                assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
            look_at(&host, after);
            assert_memory_equal(before, after, sizeof before);
            assert_false(is_recording(&host));
            host_forget_cost(&host);
            upmu_records_emergency(&host.cpu[0]);
            host_costs(&host, "an emergency afterwards", 0, 0);
            host_no_violation(&host);
            if (end == 1) {
                assert_int_equal(upmu_cpu_resume(&host.cpu[0]), UPMU_OK);
                assert_false(is_recording(&host));
                assert_int_equal(start(&host, 0, NULL), UPMU_OK);
                assert_int_equal(upmu_branches_stop(&host.cpu[0]), UPMU_OK);
            }
            host_end(&host);
        }
}

/* Do the model's hyper-threads share LBR_SELECT (intel_core.md: Nehalem, Westmere)? */
static bool shares_select(const char *profile)
{
    return !strcmp(profile, "nehalem") || !strcmp(profile, "westmere");
}

static void what_others_left_can_be_taken_and_comes_back(void **state)
{
    (void)state;
    for (unsigned k = 0; k < CPU_KINDS; k++) {
        bool arch = kinds[k].kind == ARCH, amd = kinds[k].kind == AMD;
        uint64_t before[CONTROLS], after[CONTROLS];
        struct upmu_branch out[UPMU_BRANCHES_MOST];
        unsigned count;
        struct host host;

        set_up(&host, kinds[k].profile);
        assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
        upmu_sim_poke(&host.sim, 0, arch ? 0x14ce : amd ? 0xc000010f : 0x1d9, arch ? 0x7f0007 : amd ? 0x40 : 3);
        if (kinds[k].kind != CORE || shares_select(kinds[k].profile))
            upmu_sim_poke(&host.sim, 0, amd ? 0xc000010e : 0x1c8, 0x44);
        assert_int_equal(upmu_cpu_init(&host.cpu[0], &host.machine, NULL), UPMU_OK);
        look_at(&host, before);
        assert_int_equal(start(&host, 0, NULL), UPMU_ERR_STATE);
        look_at(&host, after);
        assert_memory_equal(before, after, sizeof before);
        assert_int_equal(start(&host, UPMU_BRANCH_TAKE, NULL), UPMU_OK);
        assert_int_equal(upmu_sim_peek(&host.sim, 0, amd ? 0xc000010e : 0x1c8), 0);
        assert_int_equal(upmu_branches_read(&host.cpu[0], out, UPMU_BRANCHES_MOST, &count), UPMU_OK);
        assert_int_equal(count, kinds[k].kind == ARCH ? 2 : 4, k); /* what was there before is cleared */
        assert_int_equal(upmu_branches_stop(&host.cpu[0]), UPMU_OK);
        look_at(&host, after);
        assert_memory_equal(before, after, sizeof before);
        host_end(&host);
    }
}

/* Hyper-threads see one register of filters: neither thread may change what the other records. */
static void a_shared_filter_is_never_used(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 2; k++) {
        struct upmu_branch out[UPMU_BRANCHES_MOST];
        unsigned count;
        struct host host;

        host_prepare(&host, k ? "westmere" : "nehalem");
        host_machine(&host);
        host_take_over(&host, 2, true);
        for (unsigned cpu = 0; cpu < 2; cpu++) {
            struct upmu_branch_filter filter = {.record = cpu ? UPMU_BRANCH_USER : UPMU_BRANCH_KERNEL};

            upmu_sim_switch_cpu(&host.sim, cpu);
            upmu_sim_irqs(&host.sim, false);
            assert_int_equal(upmu_branches_start(&host.cpu[cpu], &filter, NULL), UPMU_OK, cpu);
        }
        host.sim.rule[UPMU_SIM_RULE_LBR_HOOKS] = 0;
        assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x1c8), 0);
        for (unsigned cpu = 0; cpu < 2; cpu++) {
            upmu_sim_switch_cpu(&host.sim, cpu);
            for (unsigned n = 0; n < 8; n++) {
                struct upmu_sim_branch branch = branch_of(n, n & 1u);

                upmu_sim_branch(&host.sim, &branch);
            }
            assert_int_equal(upmu_branches_read(&host.cpu[cpu], out, UPMU_BRANCHES_MOST, &count), UPMU_OK, cpu);
            assert_in_range(count, 4, 8);
            for (unsigned i = 0; i < count; i++)
                assert_int_equal(out[i].from >> 63, !cpu, i);
            assert_int_equal(upmu_branches_stop(&host.cpu[cpu]), UPMU_OK, cpu);
        }
        upmu_sim_switch_cpu(&host.sim, 0);
        host_no_violation(&host);
        host_end(&host);
    }
}

/* A register of filters, other software's value in it, and two hyper-threads. */
static void set_up_shared(struct host *host, const char *profile)
{
    host_prepare(host, profile);
    host->sim.test = host;
    host_machine(host);
    host_take_over(host, 2, true);
    upmu_sim_poke(&host->sim, 0, 0x1c8, 0x44);
    assert_int_equal(upmu_sim_peek(&host->sim, 1, 0x1c8), 0x44);
    for (unsigned cpu = 0; cpu < 2; cpu++) {
        upmu_sim_switch_cpu(&host->sim, cpu);
        upmu_sim_irqs(&host->sim, false);
    }
}

static enum upmu_status start_on(struct host *host, unsigned cpu, uint32_t record)
{
    upmu_sim_switch_cpu(&host->sim, cpu);
    return upmu_branches_start(&host->cpu[cpu], &(struct upmu_branch_filter){.record = record}, NULL);
}

static enum upmu_status stop_on(struct host *host, unsigned cpu)
{
    upmu_sim_switch_cpu(&host->sim, cpu);
    return upmu_branches_stop(&host->cpu[cpu]);
}

/* One hyper-thread takes the register, the other finds 0; the last of them that stops writes the filter back. */
static void a_shared_filter_comes_back_when_the_last_one_stops(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 2; k++)
        for (unsigned first = 0; first < 2; first++) {
            struct host host;

            set_up_shared(&host, k ? "westmere" : "nehalem");
            for (unsigned round = 0; round < 2; round++) {
                assert_int_equal(start_on(&host, 1, 0), UPMU_ERR_STATE);
                assert_int_equal(start_on(&host, 0, UPMU_BRANCH_TAKE), UPMU_OK);
                assert_int_equal(start_on(&host, 1, round ? UPMU_BRANCH_TAKE : 0), UPMU_OK);
                assert_int_equal(stop_on(&host, first), UPMU_OK);
                assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x1c8), 0);
                assert_int_equal(stop_on(&host, !first), UPMU_OK);
                assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x1c8), 0x44);
                assert_int_equal(stop_on(&host, first), UPMU_OK);
            }
            upmu_sim_switch_cpu(&host.sim, 0);
            host_no_violation(&host);
            host_end(&host);
        }
}

/* A start that is refused or that faults leaves the shared filter, and the other hyper-thread is alone with it. */
static void a_start_that_fails_gives_the_shared_filter_back(void **state)
{
    (void)state;
    for (unsigned other = 0; other < 2; other++)
        for (uint32_t at = 0, more = 1; more; at++) {
            struct host host;
            enum upmu_status status;
            uint64_t left;

            set_up_shared(&host, "nehalem");
            host.sim.expect_faults = true;
            if (other)
                assert_int_equal(start_on(&host, 1, UPMU_BRANCH_TAKE), UPMU_OK);
            upmu_sim_switch_cpu(&host.sim, 0);
            if (at)
                host.sim.fault_at = host.sim.accesses + at;
            else
                host.sim.rule[UPMU_SIM_RULE_LBR_RECORDS] = 0;
            status = start_on(&host, 0, UPMU_BRANCH_TAKE);
            more = !at || host.sim.accesses >= host.sim.fault_at;
            host.sim.fault_at = 0;
            assert_int_equal(status, !at ? UPMU_ERR_UNSUPPORTED : more ? UPMU_ERR_PORT : UPMU_OK);
            assert_int_equal(stop_on(&host, 0), UPMU_OK);
            left = upmu_sim_peek(&host.sim, 0, 0x1c8);
            assert_int_equal(left, other ? 0 : 0x44);
            if (other)
                assert_int_equal(stop_on(&host, 1), UPMU_OK);
            assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x1c8), 0x44);
            upmu_sim_switch_cpu(&host.sim, 0);
            host_end(&host);
        }
}

/* The other hyper-thread's call, at an access of this one's. */
static struct {
    uint32_t at;
    bool stops, happened;
    enum upmu_status status;
} neighbour;

static void neighbour_calls(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind,
                            uint32_t address)
{
    struct host *host = sim->test;

    (void)kind, (void)address;
    if (number != neighbour.at || cpu)
        return;
    neighbour.happened = true;
    neighbour.status = start_on(host, 1, UPMU_BRANCH_TAKE);
    if (neighbour.status == UPMU_OK && neighbour.stops)
        neighbour.status = stop_on(host, 1);
    upmu_sim_switch_cpu(sim, 0);
}

/* At each access of a start and of a stop the other one starts, or starts and stops: no branch is filtered. */
static void hyper_threads_take_a_shared_filter_at_the_same_time(void **state)
{
    (void)state;
    for (unsigned which = 0; which < 8; which++)
        for (uint32_t at = 1, more = 1; more; at++) {
            bool stopping = which & 1u, after = which & 4u;
            enum upmu_status status;
            struct host host;

            neighbour.stops = which & 2u;
            set_up_shared(&host, "nehalem");
            upmu_sim_switch_cpu(&host.sim, 0);
            if (stopping)
                assert_int_equal(start_on(&host, 0, UPMU_BRANCH_TAKE), UPMU_OK);
            neighbour.at = host.sim.accesses + at;
            neighbour.happened = false;
            *(after ? &host.sim.after_access : &host.sim.before_access) = neighbour_calls;
            status = stopping ? upmu_branches_stop(&host.cpu[0]) : start_on(&host, 0, UPMU_BRANCH_TAKE);
            assert_int_equal(status, UPMU_OK, at);
            host.sim.before_access = host.sim.after_access = NULL;
            more = neighbour.happened;
            assert_true(!more || neighbour.status == UPMU_OK, at);
            if (!stopping || (more && !neighbour.stops))
                assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x1c8), 0, at);
            assert_int_equal(stop_on(&host, 1), UPMU_OK);
            assert_int_equal(stop_on(&host, 0), UPMU_OK);
            assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x1c8), 0x44, at);
            host_no_violation(&host);
            host_end(&host);
        }
}

/* ---- At any moment ---- */

static void frozen_entries_stay_until_the_stack_is_resumed(void **state)
{
    (void)state;
    for (unsigned k = 0; k < CPU_KINDS; k++) {
        struct upmu_branch out[UPMU_BRANCHES_MOST];
        struct upmu_sim_branch branch = branch_of(1, true), other = branch_of(2, true);
        unsigned count;
        struct host host;

        started(&host, kinds[k].profile, EVERYTHING);
        upmu_sim_branch(&host.sim, &branch);
        for (unsigned round = 0; round < 2; round++) {
            assert_int_equal(upmu_branches_freeze(&host.cpu[0]), UPMU_OK);
            assert_false(is_recording(&host));
            upmu_sim_branch(&host.sim, &other);
            host_forget_cost(&host);
            assert_int_equal(upmu_branches_read(&host.cpu[0], out, UPMU_BRANCHES_MOST, &count), UPMU_OK);
            assert_int_equal(host.sim.access_count[UPMU_SIM_WRMSR], kinds[k].kind == ARCH, k);
            assert_false(is_recording(&host));
            assert_int_equal(count, 1);
            check_branch(&kinds[k], &out[0], &branch);
        }
        assert_int_equal(upmu_branches_resume(&host.cpu[0]), UPMU_OK);
        assert_true(is_recording(&host));
        upmu_sim_branch(&host.sim, &other);
        assert_int_equal(upmu_branches_read(&host.cpu[0], out, UPMU_BRANCHES_MOST, &count), UPMU_OK);
        assert_int_equal(count, 2);
        assert_true(out[0].from == other.from && out[1].from == branch.from);
        finished(&host);
    }
}

/* What comes in between: at one access of a call, before or after it. */
enum between { READ, FREEZE };

static struct {
    uint32_t at;
    enum between what;
    bool happened;
} nmi;

static void interrupt_there(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind,
                            uint32_t address)
{
    struct host *host = sim->test;
    struct upmu_branch out[UPMU_BRANCHES_MOST];
    unsigned count;
    enum upmu_status status;

    (void)cpu, (void)kind, (void)address;
    if (number != nmi.at)
        return;
    nmi.happened = true;
    status = nmi.what == READ ? upmu_branches_read(&host->cpu[0], out, UPMU_BRANCHES_MOST, &count)
                              : upmu_branches_freeze(&host->cpu[0]);
    assert_true(status == UPMU_OK || status == UPMU_ERR_STATE);
    if (status == UPMU_OK && nmi.what == FREEZE)
        assert_false(is_recording(host));
}

/* The machine goes down here: the call that was interrupted has no end. */
static void panic_there(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind, uint32_t address)
{
    struct host *host = sim->test;
    uint32_t writes;

    (void)cpu, (void)kind, (void)address;
    if (number != nmi.at)
        return;
    nmi.happened = true;
    writes = host->sim.access_count[UPMU_SIM_WRMSR];
    upmu_records_emergency(&host->cpu[0]);
    assert_false(is_recording(host));
    assert_in_range(host->sim.access_count[UPMU_SIM_WRMSR] - writes, 0, 1);
}

static enum upmu_status call(struct host *host, unsigned which)
{
    struct upmu_branch out[UPMU_BRANCHES_MOST];
    unsigned count;

    switch (which) {
    case 0:
        return start(host, EVERYTHING, NULL);
    case 1:
        return upmu_branches_read(&host->cpu[0], out, UPMU_BRANCHES_MOST, &count);
    case 2:
        return upmu_branches_resume(&host->cpu[0]);
    case 3:
        return upmu_branches_freeze(&host->cpu[0]);
    default:
        return upmu_branches_stop(&host->cpu[0]);
    }
}

/* A read or a freeze in an NMI, at each access of each call: what records afterwards is what should. */
static void a_call_that_is_interrupted_records_as_it_should(void **state)
{
    static const char *const some[] = {"core2", "haswell_smt", "skylake", "sapphirerapids", "zen4"};

    (void)state;
    for (unsigned k = 0; k < 5; k++)
        for (unsigned which = 0; which < 5; which++)
            for (unsigned what = READ; what <= FREEZE; what++)
                for (unsigned after = 0; after < 2; after++)
                    for (uint32_t at = 1, more = 1; more; at++) {
                        struct host host;
                        bool frozen, records;

                        set_up(&host, some[k]);
                        host.sim.test = &host;
                        if (which)
                            assert_int_equal(start(&host, EVERYTHING, NULL), UPMU_OK);
                        if (which == 2)
                            assert_int_equal(upmu_branches_freeze(&host.cpu[0]), UPMU_OK);
                        nmi.at = host.sim.accesses + at;
                        nmi.what = (enum between)what;
                        nmi.happened = false;
                        *(after ? &host.sim.after_access : &host.sim.before_access) = interrupt_there;
                        assert_int_equal(call(&host, which), UPMU_OK);
                        host.sim.before_access = host.sim.after_access = NULL;
                        frozen = host.cpu[0].branches.frozen;
                        records = host.cpu[0].branches.stack && !frozen;
                        assert_int_equal(is_recording(&host), records);
                        assert_int_equal(records, which < 3 && !(nmi.happened && what == FREEZE && frozen));
                        if (which == 1 && what == FREEZE) /* a read undoes no freeze */
                            assert_int_equal(frozen, nmi.happened, k, at);
                        more = nmi.happened;
                        assert_int_equal(host.cpu[0].branches.readers, 0);
                        finished(&host);
                        assert_false(is_recording(&host));
                    }
}

/* The machine goes down in the middle of a call: nothing records any more, by one write and no read. */
static void an_emergency_stop_is_one_write(void **state)
{
    (void)state;
    for (unsigned k = 0; k < CPU_KINDS; k++) {
        struct host host;

        started(&host, kinds[k].profile, EVERYTHING);
        upmu_sim_poke(&host.sim, 0, 0x1d9, upmu_sim_peek(&host.sim, 0, 0x1d9) | 0xc2);
        host_forget_cost(&host);
        upmu_records_emergency(&host.cpu[0]);
        host_costs(&host, kinds[k].profile, 1, 0);
        assert_false(is_recording(&host));
        if (kinds[k].kind < ARCH)
            assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x1d9), 0);
        upmu_records_emergency(&host.cpu[0]);
        host_costs(&host, kinds[k].profile, 0, 0);
        host_no_violation(&host);
    }
}

/* The same at each access of each call, of the first start on a CPU, too, which records for a moment. */
static void an_emergency_in_any_call_leaves_nothing_recording(void **state)
{
    static const char *const some[] = {"core2", "haswell_smt", "skylake", "sapphirerapids", "zen4"};

    (void)state;
    for (unsigned k = 0; k < 5; k++)
        for (unsigned which = 0; which < 5; which++)
            for (unsigned after = 0; after < 2; after++)
                for (uint32_t at = 1, more = 1; more; at++) {
                    struct host host;

                    set_up(&host, some[k]);
                    host.sim.test = &host;
                    if (which)
                        assert_int_equal(start(&host, EVERYTHING, NULL), UPMU_OK);
                    if (which == 2)
                        assert_int_equal(upmu_branches_freeze(&host.cpu[0]), UPMU_OK);
                    nmi.at = host.sim.accesses + at;
                    nmi.happened = false;
                    *(after ? &host.sim.after_access : &host.sim.before_access) = panic_there;
                    (void)!call(&host, which);
                    more = nmi.happened;
                }
}

/* A fault at each access: nothing is left recording that counts as stopped, and no fault is hidden. */
static void a_fault_at_any_access_leaves_nothing_recording(void **state)
{
    static const char *const some[] = {"core2", "nehalem", "skylake", "sapphirerapids", "zen4"};

    (void)state;
    for (unsigned k = 0; k < 5; k++)
        for (unsigned which = 0; which < 5; which++)
            for (uint32_t at = 1, more = 1; more; at++) {
                enum upmu_status status;
                struct host host;

                set_up(&host, some[k]);
                host.sim.expect_faults = true;
                if (which)
                    assert_int_equal(start(&host, EVERYTHING, NULL), UPMU_OK);
                if (which == 2)
                    assert_int_equal(upmu_branches_freeze(&host.cpu[0]), UPMU_OK);
                host.sim.fault_at = host.sim.accesses + at;
                status = call(&host, which);
                more = host.sim.accesses >= host.sim.fault_at;
                host.sim.fault_at = 0;
                if (!more)
                    assert_int_equal(status, UPMU_OK);
                else if (which < 4) /* (A stop tries the write that matters again.) */
                    assert_int_equal(status, UPMU_ERR_PORT);
                if (status != UPMU_OK && which == 0)
                    assert_true(!host.cpu[0].branches.stack);
                if (!host.cpu[0].branches.stack)
                    assert_false(is_recording(&host));
                assert_int_equal(upmu_branches_stop(&host.cpu[0]), UPMU_OK);
                assert_false(is_recording(&host));
                host_end(&host);
            }
}

/* ---- Beside samples ---- */

static struct upmu_branch last[UPMU_BRANCHES_MOST];
static unsigned last_count;

/* The NMI entry of docs/BRANCHES.md: what the handler does is not in the stack. */
static void entry_that_freezes(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_interrupt *interrupt)
{
    struct host *host = sim->test;
    const struct upmu_frame frame = {.ip = interrupt->ip, .sp = interrupt->sp, .user = interrupt->user};

    (void)cpu;
    assert_int_equal(upmu_branches_freeze(&host->cpu[0]), UPMU_OK);
    if (upmu_pmi_handle(&host->cpu[0], &frame) == UPMU_PMI_HANDLED)
        assert_int_equal(upmu_branches_read(&host->cpu[0], last, UPMU_BRANCHES_MOST, &last_count), UPMU_OK);
    assert_int_equal(upmu_branches_resume(&host->cpu[0]), UPMU_OK);
}

static void an_interrupts_entry_has_the_branches_before_the_overflow(void **state)
{
    static const char *const some[] = {"core2", "nehalem", "haswell_smt", "skylake", "sapphirerapids", "zen4"};
    const struct upmu_sampling each = {.period = 1000};

    (void)state;
    for (unsigned k = 0; k < sizeof some / sizeof some[0]; k++) {
        const unsigned own = k == 4 ? 1 : 3; /* the way into the freeze */
        struct upmu_sample sample;
        struct host host;

        set_up(&host, some[k]);
        host.sim.test = &host;
        host.sim.deliver = entry_that_freezes;
        assert_int_equal(start(&host, EVERYTHING, NULL), UPMU_OK);
        assert_int_equal(upmu_set_add(&host.session.set, "instructions", &each), UPMU_OK);
        assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
        assert_int_equal(upmu_session_attach_cpu(&host.session, &host.cpu[0]), UPMU_OK);
        assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
        upmu_sim_irqs(&host.sim, true);
        for (unsigned n = 0; n < 5; n++) {
            struct upmu_sim_branch branch = {.from = KERNEL_CODE + 0x100 * n, .to = KERNEL_CODE + 0x40 * n};

            last_count = 0;
            upmu_sim_branch(&host.sim, &branch);
            upmu_sim_events(&host.sim, &(struct upmu_sim_burst){.instructions = 1000, .cycles = 1000, .ip = branch.to});
            assert_compare(last_count, >, own);
            assert_true(last[own].from == branch.from && last[own].to == branch.to, own);
            assert_true(is_recording(&host));
            assert_true(upmu_ring_next(&host.session.ring, &sample) && sample.ip == branch.to);
        }
        upmu_sim_irqs(&host.sim, false);
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        finished(&host);
    }
}

/* ---- What it costs ---- */

/* Of upmu/branches.h, in this order: the first start, another one, a read of a full stack, freeze, resume, stop. */
static void calls_cost_what_the_header_says(void **state)
{
    (void)state;
    for (unsigned k = 0; k < CPU_KINDS; k++) {
        const struct cpu_kind *kind = &kinds[k];
        unsigned depth = kind->depth, arch = kind->kind == ARCH, amd = kind->kind == AMD;
        bool selects = kind->kind == SELECT || kind->kind == NHM_SELECT || amd;
        bool nehalem = shares_select(kind->profile);
        bool traces = !strcmp(kind->profile, "skylake");
        unsigned looks = 1u + (selects || nehalem) + arch + traces;
        unsigned clears = arch ? 1 : depth, others = arch ? 0 : 1;
        struct upmu_branch out[UPMU_BRANCHES_MOST];
        unsigned count;
        struct host host;

        set_up(&host, kind->profile);
        host_forget_cost(&host);
        assert_int_equal(start(&host, 0, NULL), UPMU_OK);
        host_costs(&host, "first start", 2 * clears + selects + 3u, looks + 3u * others + 2u + (!arch && !amd));
        assert_int_equal(upmu_branches_stop(&host.cpu[0]), UPMU_OK);
        host_forget_cost(&host);
        assert_int_equal(start(&host, 0, NULL), UPMU_OK);
        host_costs(&host, "start", clears + selects + 1u, looks + others);
        for (unsigned n = 0; n < 64; n++) {
            struct upmu_sim_branch branch = branch_of(n, true);

            branch.in_tx = branch.abort = false;
            upmu_sim_branch(&host.sim, &branch);
        }
        host_forget_cost(&host);
        assert_int_equal(upmu_branches_read(&host.cpu[0], out, UPMU_BRANCHES_MOST, &count), UPMU_OK);
        assert_int_equal(count, depth);
        host_costs(&host, "read", 2, kind->registers * depth + 2u * others + (!arch && !amd));
        assert_int_equal(upmu_branches_freeze(&host.cpu[0]), UPMU_OK);
        host_costs(&host, "freeze", 1, others);
        assert_int_equal(upmu_branches_resume(&host.cpu[0]), UPMU_OK);
        host_costs(&host, "resume", 1, others);
        assert_int_equal(upmu_branches_stop(&host.cpu[0]), UPMU_OK);
        host_costs(&host, "stop", 1u + selects, others);
        host_end(&host);
    }
}

/* ---- The decoder ---- */

/* Addresses of 57 bits have their sign in bit 56. */
static void addresses_keep_their_sign(void **state)
{
    static const uint64_t addresses[] = {0x1000,
                                         UINT64_C(0x00ffffffffffffff),
                                         UINT64_C(0xff00000000000000),
                                         UINT64_C(0xffffffffffffffff),
                                         UINT64_C(0x00007fffffffffff),
                                         UINT64_C(0xffff800000000000)};

    (void)state;
    for (unsigned i = 0; i < sizeof addresses / sizeof addresses[0]; i++) {
        uint64_t address = addresses[i];
        struct upmu_branch out;

        for (uint64_t flags = 0; flags < 8; flags++) {
            uint64_t low = address << 3 >> 3;

            assert_int_equal(upmu_branch_decode(UPMU_BRANCH_FORMAT_TSX, low | flags << 61, address, 0, &out),
                             UPMU_BRANCH_TAKEN);
            assert_true(out.from == address && out.to == address);
            assert_int_equal(out.info, flags << 61 | (flags & 4u ? 0 : PREDICTED));
        }
        assert_int_equal(upmu_branch_decode(UPMU_BRANCH_FORMAT_FLAGS, address << 1 >> 1, address, 7, &out),
                         UPMU_BRANCH_TAKEN);
        assert_true(out.from == address && out.to == address && out.info == PREDICTED);
        /* AMD: with 58 bits, and with the 57 that CPUID promises at most (Linux amd/lbr.c, sign_ext_branch_ip). */
        for (unsigned above = 6; above < 8; above++) {
            uint64_t low = address << above >> above;

            assert_int_equal(
                upmu_branch_decode(UPMU_BRANCH_FORMAT_AMD, low, low | UINT64_C(2) << 62, ~UINT64_C(0), &out),
                UPMU_BRANCH_TAKEN);
            assert_true(out.from == address && out.to == address && out.info == (PREDICTED | UINT64_C(2) << 52));
        }
    }
}

/*
 * Format 0: addresses of 32 bits. Linux takes both ends from the first register (lbr.c, intel_pmu_lbr_read_32), the
 * models have two registers: an upper half of the first one decides.
 */
static void an_entry_of_32_bits_may_be_one_register(void **state)
{
    struct upmu_branch out;

    (void)state;
    assert_int_equal(upmu_branch_decode(UPMU_BRANCH_FORMAT_32, UINT64_C(0xc0200000c0100000), 0x1234, 7, &out),
                     UPMU_BRANCH_TAKEN);
    assert_true(out.from == 0xc0100000 && out.to == 0xc0200000 && out.info == 0);
    assert_int_equal(upmu_branch_decode(UPMU_BRANCH_FORMAT_32, 0xc0100000, UINT64_C(0x7c0200000), 7, &out),
                     UPMU_BRANCH_TAKEN);
    assert_true(out.from == 0xc0100000 && out.to == 0xc0200000 && out.info == 0);
    assert_int_equal(upmu_branch_decode(UPMU_BRANCH_FORMAT_32, 0, 0xc0200000, 7, &out), UPMU_BRANCH_END);
}

/* Goldmont: cycles above the 48 bits of a target (Linux lbr.c, LBR_FORMAT_TIME). */
static void goldmont_has_cycles_in_its_targets(void **state)
{
    struct upmu_branch out;

    (void)state;
    assert_int_equal(upmu_branch_decode(UPMU_BRANCH_FORMAT_TIME, UINT64_C(0xffffffff81000000),
                                        UINT64_C(0x1234ffff81000040), ~UINT64_C(0), &out),
                     UPMU_BRANCH_TAKEN);
    assert_true(out.from == UINT64_C(0xffffffff81000000) && out.to == UINT64_C(0xffffffff81000040));
    assert_int_equal(out.info, MISPREDICTED | 0x1234);
    assert_int_equal(upmu_branch_decode(UPMU_BRANCH_FORMAT_TIME, 0x1000, 0x7fff00001000, 0, &out), UPMU_BRANCH_TAKEN);
    assert_true(out.from == 0x1000 && out.to == 0x7fff00001000 && out.info == PREDICTED);
}

/* Bits of the third register that a format does not have. */
static void unknown_bits_of_an_entry_are_dropped(void **state)
{
    struct upmu_branch out;

    (void)state;
    assert_int_equal(upmu_branch_decode(UPMU_BRANCH_FORMAT_INFO, 1, 2, ~UINT64_C(0), &out), UPMU_BRANCH_TAKEN);
    assert_int_equal(out.info, UINT64_C(0xe00000000000ffff));
    assert_int_equal(upmu_branch_decode(UPMU_BRANCH_FORMAT_INFO2, 1, 2, ~UINT64_C(0), &out), UPMU_BRANCH_TAKEN);
    assert_int_equal(out.info, UINT64_C(0x800000000000ffff));
    assert_int_equal(upmu_branch_decode(UPMU_BRANCH_FORMAT_ARCHITECTURAL, 1, 2, ~UINT64_C(0), &out), UPMU_BRANCH_TAKEN);
    assert_int_equal(out.info, UINT64_C(0xff0000ff0000ffff));
    assert_int_equal(upmu_branch_decode(UPMU_BRANCH_FORMAT_EFFECTIVE, 1, 2, ~UINT64_C(0), &out), UPMU_BRANCH_TAKEN);
    assert_int_equal(out.info, 0);
    assert_int_equal(upmu_branch_decode(UPMU_BRANCH_FORMAT_INFO, 0, 2, 3, &out), UPMU_BRANCH_END);
    assert_int_equal(upmu_branch_decode(UPMU_BRANCH_FORMAT_AMD, 1, 2, 3, &out), UPMU_BRANCH_SKIP);
}

/*
 * Whether a branch was predicted right is said only where the hardware can say it, and not by a bit of its own; cycles
 * without their bit 60 have no value (Linux lbr.c, get_lbr_cycles).
 */
static void what_is_not_known_is_said_neither_way(void **state)
{
    static const struct {
        enum upmu_branch_format format;
        uint64_t info, expected;
    } rows[] = {{UPMU_BRANCH_FORMAT_INFO, PREDICTED | MISPREDICTED | 5, MISPREDICTED | 5},
                {UPMU_BRANCH_FORMAT_INFO, 5, PREDICTED | 5},
                {UPMU_BRANCH_FORMAT_EFFECTIVE, PREDICTED, 0},
                {UPMU_BRANCH_FORMAT_ARCHITECTURAL, 5, PREDICTED},
                {UPMU_BRANCH_FORMAT_ARCHITECTURAL, UPMU_BRANCH_INFO_CYCLES_VALID | 5,
                 PREDICTED | UPMU_BRANCH_INFO_CYCLES_VALID | 5}};
    struct upmu_branch out;

    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(upmu_branch_decode(rows[i].format, 1, 2, rows[i].info, &out), UPMU_BRANCH_TAKEN, i);
        assert_int_equal(out.info, rows[i].expected, i);
    }
    assert_int_equal(upmu_branch_flags(MISPREDICTED), 1);
    assert_int_equal(upmu_branch_flags(PREDICTED), 2);
    assert_int_equal(upmu_branch_flags(0), 0);
}

/* PMUs by name have the stacks of their models (published depths). */
static void pmus_by_name_know_their_stacks(void **state)
{
    static const struct {
        const char *name;
        unsigned depth;
        uint64_t info;
    } pmus[] = {{"core", 4, 0},
                {"atom", 8, 0},
                {"nhm", 16, MISPREDICTED | PREDICTED},
                {"hsw", 16, MISPREDICTED | PREDICTED | IN_TX | ABORT},
                {"glm", 32, MISPREDICTED | PREDICTED | CYCLES},
                {"skl", 32, MISPREDICTED | PREDICTED | IN_TX | ABORT | CYCLES},
                {"p6", 0, 0},
                {"zen2", 0, 0}};

    (void)state;
    for (unsigned i = 0; i < sizeof pmus / sizeof pmus[0]; i++) {
        struct upmu_pmu pmu;

        assert_int_equal(upmu_pmu_by_name(&pmu, pmus[i].name), UPMU_OK, i);
        assert_int_equal(upmu_branches_facts(&pmu).depth, pmus[i].depth, i);
        assert_int_equal(upmu_branches_facts(&pmu).info, pmus[i].info, i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_stack_gives_its_newest_branches_first),
        cmocka_unit_test(the_way_to_a_read_takes_four_entries_at_most),
        cmocka_unit_test(kinds_are_recorded_alone_or_refused),
        cmocka_unit_test(a_branch_of_user_mode_has_no_end_in_the_kernel),
        cmocka_unit_test(the_host_says_where_its_kernel_begins),
        cmocka_unit_test(without_info_a_third_of_the_reads_is_saved),
        cmocka_unit_test(haswell_shows_an_abort_once),
        cmocka_unit_test(only_the_entry_after_an_abort_is_dropped),
        cmocka_unit_test(amd_entries_are_valid_or_speculative),
        cmocka_unit_test(each_refusal_says_why),
        cmocka_unit_test(leaf_1c_says_what_architectural_records_are),
        cmocka_unit_test(what_leaf_1c_does_not_promise_is_not_shown),
        cmocka_unit_test(filters_that_do_not_exist_are_not_written),
        cmocka_unit_test(contradictions_are_refused),
        cmocka_unit_test(the_first_models_need_no_capabilities),
        cmocka_unit_test(a_trace_does_not_matter_where_both_exist),
        cmocka_unit_test(the_wrong_cpu_and_a_dead_one_are_refused),
        cmocka_unit_test(a_stop_restores_what_the_start_found),
        cmocka_unit_test(what_others_left_can_be_taken_and_comes_back),
        cmocka_unit_test(a_shared_filter_is_never_used),
        cmocka_unit_test(a_shared_filter_comes_back_when_the_last_one_stops),
        cmocka_unit_test(a_start_that_fails_gives_the_shared_filter_back),
        cmocka_unit_test(hyper_threads_take_a_shared_filter_at_the_same_time),
        cmocka_unit_test(frozen_entries_stay_until_the_stack_is_resumed),
        cmocka_unit_test(a_call_that_is_interrupted_records_as_it_should),
        cmocka_unit_test(an_emergency_stop_is_one_write),
        cmocka_unit_test(an_emergency_in_any_call_leaves_nothing_recording),
        cmocka_unit_test(a_fault_at_any_access_leaves_nothing_recording),
        cmocka_unit_test(an_interrupts_entry_has_the_branches_before_the_overflow),
        cmocka_unit_test(calls_cost_what_the_header_says),
        cmocka_unit_test(addresses_keep_their_sign),
        cmocka_unit_test(an_entry_of_32_bits_may_be_one_register),
        cmocka_unit_test(goldmont_has_cycles_in_its_targets),
        cmocka_unit_test(unknown_bits_of_an_entry_are_dropped),
        cmocka_unit_test(what_is_not_known_is_said_neither_way),
        cmocka_unit_test(pmus_by_name_know_their_stacks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
