/* SPDX-License-Identifier: MIT */
/*
 * Results over the serial line (docs/RESULTS.md): a program in ring 3 is sampled with its callers, the log stays in
 * memory, and what is made of it is written as it is made.
 *
 *     results          folded stacks, a line of text each
 *     results perf     perf.data, in hexadecimal
 *     results pprof    pprof's profile.proto, in hexadecimal
 */
#include <upmu/format.h>
#include <upmu/results.h>
#include <examples/kernel/kernel.h>

#define PASSES 10u
#define PERIOD 61u
#define DEPTH 8u
#define RING_WORDS 8192u
#define WORK_BYTES (1024u * 1024u) /* of the buffer, at its begin */

void program_main(void);
extern const uint8_t program_begin[], program_render[], program_shade[], program_blend[], program_end[];

static struct upmu_session session;
static uint64_t ring[RING_WORDS];
static struct upmu_log records;
static uint8_t program_stack[4096] __attribute__((aligned(16)));

static const struct {
    const char *name;
    const uint8_t *begin, *end;
} functions[] = {{"main", program_begin, program_render},
                 {"render", program_render, program_shade},
                 {"shade", program_shade, program_blend},
                 {"blend", program_blend, program_end}};

/* Frame pointers are the program's: they count only inside its stack. */
static bool read_frame(void *context, uint64_t fp, bool user, uint64_t *out_next, uint64_t *out_return)
{
    const uintptr_t *words = (const uintptr_t *)(uintptr_t)fp;

    (void)context;
    if (!user || fp % sizeof *words || fp < (uintptr_t)program_stack ||
        fp > (uintptr_t)program_stack + sizeof program_stack - 2 * sizeof *words)
        return false;
    *out_next = words[0];
    *out_return = words[1];
    return true;
}

static bool write_text(void *context, const void *bytes, size_t length)
{
    (void)context;
    kernel_write(NULL, bytes, length);
    return true;
}

/* A line for each piece that is written. */
static bool write_hexadecimal(void *context, const void *bytes, size_t length)
{
    const uint8_t *at = bytes;
    char line[2 * 64 + 1];
    size_t i;

    (void)context;
    for (i = 0; i < 2 * length; i++)
        line[i] = "0123456789abcdef"[at[i / 2] >> (i % 2 ? 0 : 4) & 15u];
    line[i++] = '\n';
    kernel_write(NULL, line, i);
    return true;
}

static enum upmu_status run_program(const struct cmd_live *live)
{
    static const struct upmu_callers callers = {.read = read_frame, .depth = DEPTH};
    const struct upmu_sampling sampling = {.period = PERIOD};
    enum upmu_status status = upmu_session_init(&session, live->machine);

    if (status == UPMU_OK)
        status = upmu_set_add(&session.set, "instructions:u", &sampling);
    if (status == UPMU_OK)
        status = upmu_session_ring(&session, ring, sizeof ring);
    if (status == UPMU_OK)
        status = upmu_session_callers(&session, &callers);
    if (status == UPMU_OK)
        status = upmu_session_attach_cpu(&session, live->cpu);
    if (status == UPMU_OK)
        status = upmu_session_start(&session);
    if (status != UPMU_OK)
        return status;
    kernel_user_enter(program_main, &program_stack[sizeof program_stack - 16], PASSES);
    return upmu_session_stop(&session);
}

static enum upmu_status make_log(struct upmu_output *output)
{
    struct upmu_session *const sessions[] = {&session};
    enum upmu_status status = upmu_log_begin(&records, output, "the example kernel", 0);
    unsigned i;

    if (status == UPMU_OK)
        status = upmu_log_session(&records, &session, 0);
    for (i = 0; i < sizeof functions / sizeof functions[0] && status == UPMU_OK; i++)
        status =
            upmu_log_symbol(&records, (uintptr_t)functions[i].begin, (uintptr_t)functions[i].end, functions[i].name);
    if (status == UPMU_OK)
        status = upmu_log_samples(&records, &session, 0);
    return status == UPMU_OK ? upmu_log_end(&records, sessions, 1, 0) : status;
}

struct upmu_output kernel_results_log(const struct cmd_live *live)
{
    return (struct upmu_output){.buffer = (uint8_t *)live->buffer + live->buffer_bytes / 2,
                                .size = live->buffer_bytes / 2};
}

enum upmu_status kernel_results_form(const struct cmd_live *live, const struct upmu_output *log, const char *form)
{
    struct upmu_results results = {
        .log = log->buffer, .log_bytes = log->length, .work = live->buffer, .work_bytes = WORK_BYTES};
    struct upmu_output line = {.write = *form == 'p' ? write_hexadecimal : write_text};

    if (*form != 'p')
        return upmu_results_folded(&results, &line);
    return form[1] == 'p' ? upmu_results_pprof(&results, &line) : upmu_results_perf(&results, &line);
}

int kernel_results(struct shell *shell, const char *rest)
{
    const struct cmd_live *live = shell->cmd->live;
    struct upmu_output log = kernel_results_log(live);
    enum upmu_status status = live->cpu->meter.pmu == NULL ? UPMU_ERR_NO_PMU : run_program(live);

    if (status == UPMU_OK)
        status = make_log(&log);
    kernel_line_number(shell, "results.", "period", PERIOD);
    kernel_line_number(shell, "results.", "samples", records.samples);
    kernel_line_number(shell, "results.", "lost", records.lost + records.cut);
    for (unsigned i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        shell_text(shell, "results.");
        kernel_line_number(shell, functions[i].name, ".begin", (uintptr_t)functions[i].begin);
        shell_text(shell, "results.");
        kernel_line_number(shell, functions[i].name, ".end", (uintptr_t)functions[i].end);
    }
    shell_text(shell, "results.begin\n");
    if (status == UPMU_OK)
        status = kernel_results_form(live, &log, rest);
    kernel_line_text(shell, "results.", "end", upmu_status_text(status));
    (void)!upmu_session_close(&session);
    return status == UPMU_OK ? CMD_OK : CMD_REFUSED;
}
