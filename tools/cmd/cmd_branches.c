/* SPDX-License-Identifier: MIT */
/*
 * branches: the last branches of a workload or of a program, by the registers that a panic handler reads
 * (upmu/branches.h).
 */
#include <tools/cmd/cmd_args.h>

/* Columns. */
#define BRANCHES_FROM 2u
#define BRANCHES_TO 42u
#define BRANCHES_INFO 82u

/* An address with the function that it is in, from `column` on. */
static void print_place(struct cmd *cmd, unsigned column, uint64_t ip)
{
    struct cmd_symbol symbol = cmd_symbol_of(cmd, ip);

    cmd_print(cmd, "  ");
    cmd_column(cmd, column);
    cmd_print(cmd, "0x%X", ip);
    if (symbol.name != NULL)
        cmd_coloured(cmd, CMD_NAME, " %s+0x%X", symbol.name, ip - symbol.start);
}

/* Print the separator before the next word that is known of a branch. */
static void print_between(struct cmd *cmd, bool *first)
{
    cmd_print(cmd, *first ? "  " : ", ");
    if (*first)
        cmd_column(cmd, BRANCHES_INFO);
    *first = false;
}

/* The words for what is known of a branch; `known`: bits that have a meaning. */
static void print_known(struct cmd *cmd, uint64_t info, uint64_t known)
{
    static const struct {
        uint64_t bits, value;
        const char *text;
    } words[] = {{UPMU_BRANCH_INFO_MISPREDICTED, UPMU_BRANCH_INFO_MISPREDICTED, "mispredicted"},
                 {UPMU_BRANCH_INFO_TRANSACTION, UPMU_BRANCH_INFO_TRANSACTION, "transaction"},
                 {UPMU_BRANCH_INFO_ABORT, UPMU_BRANCH_INFO_ABORT, "abort"},
                 {UPMU_BRANCH_INFO_SPECULATION, UINT64_C(1) << 52, "wrong path"},
                 {UPMU_BRANCH_INFO_TYPE, UINT64_C(0) << 56, "conditional"},
                 {UPMU_BRANCH_INFO_TYPE, UINT64_C(1) << 56, "indirect jump"},
                 {UPMU_BRANCH_INFO_TYPE, UINT64_C(2) << 56, "jump"},
                 {UPMU_BRANCH_INFO_TYPE, UINT64_C(3) << 56, "indirect call"},
                 {UPMU_BRANCH_INFO_TYPE, UINT64_C(4) << 56, "call"},
                 {UPMU_BRANCH_INFO_TYPE, UINT64_C(5) << 56, "return"}};
    bool first = true;

    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++)
        if ((known & words[i].bits) == words[i].bits && (info & words[i].bits) == words[i].value) {
            print_between(cmd, &first);
            cmd_print(cmd, "%s", words[i].text);
        }
    if (info & known & UPMU_BRANCH_INFO_CYCLES) {
        print_between(cmd, &first);
        cmd_print(cmd, "%u cycles", (unsigned)(info & UPMU_BRANCH_INFO_CYCLES));
    }
}

static void print_branches(struct cmd *cmd, const struct cmd_workload *workload, unsigned count)
{
    const uint64_t known = upmu_branches_facts(cmd->pmu).info;

    cmd_coloured(cmd, CMD_TITLE, "\n Last branches of '%s', newest first: %u\n\n  from", workload->name, count);
    cmd_column(cmd, BRANCHES_TO);
    cmd_coloured(cmd, CMD_TITLE, "to\n");
    for (unsigned i = 0; i < count; i++) {
        print_place(cmd, BRANCHES_FROM, cmd->branches[i].from);
        print_place(cmd, BRANCHES_TO, cmd->branches[i].to);
        print_known(cmd, cmd->branches[i].info, known);
        cmd_print(cmd, "\n");
    }
}

/* Reading is for code that nothing but the interrupts of counters interrupts. */
static enum upmu_status read_stack(struct cmd *cmd, unsigned *out_count)
{
    const struct upmu_port *port = cmd->port;
    uintptr_t flags = port->irq_save != NULL ? port->irq_save(port->context) : 0;
    enum upmu_status status = upmu_branches_freeze(cmd->cpu);

    *out_count = 0;
    if (status == UPMU_OK)
        status = upmu_branches_read(cmd->cpu, cmd->branches, UPMU_BRANCHES_MOST, out_count);
    if (port->irq_restore != NULL)
        port->irq_restore(port->context, flags);
    return status;
}

static int take_branches(struct cmd *cmd, const struct cmd_workload *workload, uint64_t iterations)
{
    /* A simulated CPU's kernel is the hooks' alone. */
    const struct upmu_branch_filter filter = {.record = cmd->simulated ? UPMU_BRANCH_USER : 0};
    struct upmu_why why;
    enum upmu_status status = upmu_branches_start(cmd->cpu, &filter, &why), stopped;
    unsigned count;

    if (status != UPMU_OK)
        return cmd_refusal(cmd, status, &why);
    if (cmd_child(cmd) != NULL && !cmd_child(cmd)->start(cmd)) {
        (void)!upmu_branches_stop(cmd->cpu);
        return CMD_REFUSED;
    }
    cmd_progress_begin(cmd, 1);
    for (uint64_t left = iterations; left != 0;)
        left = cmd_workload_piece(cmd, workload, left, left);
    status = read_stack(cmd, &count);
    cmd_progress_end(cmd);
    stopped = upmu_branches_stop(cmd->cpu);
    if (status != UPMU_OK || stopped != UPMU_OK)
        return cmd_refusal(cmd, status != UPMU_OK ? status : stopped, NULL);
    print_branches(cmd, workload, count);
    return CMD_OK;
}

int cmd_branches(struct cmd *cmd, const struct cmd_args *args)
{
    const struct cmd_workload *workload = cmd_workload_operand(cmd, args, "mix");
    int result;

    if (workload == NULL)
        return CMD_USAGE;
    result = cmd_target_open(cmd, args);
    if (result == CMD_OK) {
        cmd_workload_prepare(cmd);
        result = take_branches(cmd, workload, args->iterations != 0 ? args->iterations : workload->iterations);
    }
    cmd_target_close(cmd);
    return result;
}
