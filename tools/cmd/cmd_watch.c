/* SPDX-License-Identifier: MIT */
/*
 * A workload in pieces, with a line of counts at each interval: `stat -I`, `pmcstat -w`.  Between lines the clock is
 * looked at, and nothing of the PMU.
 */
#include <tools/cmd/cmd_args.h>

#define WATCH_PIECES 256u
#define WATCH_NS_PER_MS 1000000u
#define WATCH_MOST_MS UINT64_C(1000000000000) /* 31 years: nanoseconds do not overflow */

/* A line for what was counted since the last one. */
static enum upmu_status watch_line(struct cmd *cmd, struct cmd_watch *watch, uint64_t now)
{
    unsigned events = cmd->session.set.count;
    enum upmu_status status = upmu_set_read(&cmd->session.set, 0, events, cmd->counts);

    if (status != UPMU_OK)
        return status;
    watch->line(cmd, watch, cmd_divide(now - watch->begin, 1000));
    for (unsigned i = 0; i < events; i++)
        watch->last[i] = cmd->counts[i].value;
    watch->lines++;
    watch->next = now + watch->ms * WATCH_NS_PER_MS;
    return UPMU_OK;
}

enum upmu_status cmd_watch_run(struct cmd *cmd, struct cmd_watch *watch, const struct cmd_workload *workload,
                               uint64_t iterations)
{
    uint64_t piece = cmd_divide(iterations, WATCH_PIECES) + 1, left = iterations;
    enum upmu_status status = upmu_set_read(&cmd->session.set, 0, cmd->session.set.count, cmd->counts);

    for (unsigned i = 0; status == UPMU_OK && i < cmd->session.set.count; i++)
        watch->last[i] = cmd->counts[i].value;
    if (watch->ms > WATCH_MOST_MS)
        watch->ms = WATCH_MOST_MS;
    watch->begin = cmd_target_time(cmd);
    watch->next = watch->begin + watch->ms * WATCH_NS_PER_MS;
    while (status == UPMU_OK && left != 0) {
        uint64_t now;

        if (piece > left)
            piece = left;
        left = cmd_workload_piece(cmd, workload, piece, left);
        if (watch->between != NULL)
            status = watch->between(cmd, watch);
        now = cmd_target_time(cmd);
        if (status == UPMU_OK && (left == 0 || now >= watch->next))
            status = watch_line(cmd, watch, now);
    }
    return status;
}

bool cmd_watch_ready(struct cmd *cmd)
{
    if (cmd->port->clock_ns == NULL)
        cmd_error(cmd, "intervals need a clock, which this port lacks");
    return cmd->port->clock_ns != NULL;
}
