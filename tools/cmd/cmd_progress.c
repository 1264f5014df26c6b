/* SPDX-License-Identifier: MIT */
/*
 * How far a command is that takes longer than two seconds: a line that other text replaces.  The line is shown between
 * what is measured, on consoles that have a clock and can replace a line.
 */
#include <tools/cmd/cmd_args.h>

#define PROGRESS_WAIT_MS 2000u
#define PROGRESS_STEP_MS 500u
#define PROGRESS_BAR 30u
#define PROGRESS_BYTES (PROGRESS_BAR + 8u)

static uint64_t progress_clock(const struct cmd *cmd)
{
    return cmd->sink->now_ms(cmd->sink->context);
}

void cmd_progress_begin(struct cmd *cmd, unsigned parts)
{
    cmd_progress_end(cmd);
    if (cmd->sink->progress == NULL || cmd->sink->now_ms == NULL)
        return;
    cmd->progress_parts = parts;
    cmd->progress_part = 0;
    cmd->progress_due_ms = progress_clock(cmd) + PROGRESS_WAIT_MS;
}

bool cmd_progress_due(const struct cmd *cmd)
{
    return cmd->progress_parts != 0 && progress_clock(cmd) >= cmd->progress_due_ms;
}

/* "[######......]  42 %" */
static void progress_text(char text[PROGRESS_BYTES], unsigned percent)
{
    unsigned used = 0, i;

    text[used++] = '[';
    for (i = 0; i < PROGRESS_BAR; i++)
        text[used++] = i < PROGRESS_BAR * percent / 100 ? '#' : '.';
    text[used++] = ']';
    text[used++] = ' ';
    text[used++] = percent >= 100 ? '1' : ' ';
    text[used++] = percent >= 10 ? (char)('0' + percent / 10 % 10) : ' ';
    text[used++] = (char)('0' + percent % 10);
    text[used++] = '%';
    text[used] = '\0';
}

void cmd_progress_text(struct cmd *cmd, const char *text)
{
    cmd->sink->progress(cmd->sink->context, text);
    cmd->progress_shown = true;
    cmd->progress_due_ms = progress_clock(cmd) + PROGRESS_STEP_MS;
}

void cmd_progress(struct cmd *cmd, uint64_t done, uint64_t total)
{
    char text[PROGRESS_BYTES];
    uint64_t percent;

    if (!cmd_progress_due(cmd))
        return;
    percent = cmd_divide(cmd->progress_part * 100u + cmd_scale(done, 100, total), cmd->progress_parts);
    progress_text(text, percent < 100 ? (unsigned)percent : 100);
    cmd_progress_text(cmd, text);
}

void cmd_progress_part(struct cmd *cmd, unsigned part)
{
    cmd->progress_part = part;
    cmd_progress(cmd, 0, 1);
}

void cmd_progress_hide(struct cmd *cmd)
{
    if (cmd->progress_shown)
        cmd->sink->progress(cmd->sink->context, "");
    cmd->progress_shown = false;
}

void cmd_progress_end(struct cmd *cmd)
{
    cmd_progress_hide(cmd);
    cmd->progress_parts = 0;
}
