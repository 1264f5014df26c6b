/* SPDX-License-Identifier: MIT */
/*
 * The command `switches EVENT,...`: thread switches, set switches and an interrupt, each
 * between two writes to the POST code port, so that a monitor can count what registers
 * they touch.  The first names it:
 *
 *   s   thread switch, the same events on both sides
 *   c   thread switch, each event becomes its ring-3 self and back
 *   a   thread switch to one that is not monitored; b: back
 *   e   set switch, all events changed
 *   i   one overflow in ring 3
 *
 * The second is 0.  Lines: switches.events N, switches.status TEXT.
 */
#include <examples/kernel/kernel.h>
#include <upmu/session.h>
#include <upmu/set.h>

#define ROUNDS 1u /* there and back */
#define POST_PORT 0x80
#define IDLE 2u /* the thread that is not monitored */
#define PERIOD 1000u
#define PASSES 100u /* of 13 instructions in ring 3: one period, not two */

void kernel_user_workload(void);

static struct {
    struct shell *shell;
    const char *events;
    unsigned count;
    struct upmu_thread thread[3];
    struct upmu_session session[2];
    struct upmu_set set;
    unsigned running;
    uint64_t ring[64];
    uint8_t user_stack[1024] __attribute__((aligned(16)));
} bench;

/* Each event of the command, with `tail` behind it. */
static enum upmu_status add_events(struct upmu_set *set, const char *tail)
{
    const char *at = bench.events;
    enum upmu_status status = UPMU_OK;

    bench.count = 0;
    while (*at != '\0' && status == UPMU_OK) {
        char event[32];
        unsigned length = 0;

        for (; *at != '\0' && *at != ',' && *at != ' '; at++)
            if (length < sizeof event - 3)
                event[length++] = *at;
        event[length] = tail[0];
        event[length + (tail[0] != '\0')] = tail[0] != '\0' ? tail[1] : '\0';
        event[length + 2] = '\0';
        at += *at != '\0';
        status = upmu_set_add(set, event, NULL);
        bench.count++;
    }
    return status;
}

/* The scheduler. */
static enum upmu_status to_thread(char name, unsigned next)
{
    struct upmu_cpu *cpu = bench.shell->cmd->live->cpu;
    enum upmu_status status;

    kernel_out8(POST_PORT, (uint8_t)name);
    status = upmu_thread_switch(cpu, &bench.thread[bench.running], &bench.thread[next]);
    kernel_out8(POST_PORT, 0);
    bench.running = next;
    return status;
}

/* A session for thread i. */
static enum upmu_status open_session(unsigned i, const char *tail)
{
    enum upmu_status status = upmu_session_init(&bench.session[i], bench.shell->cmd->live->machine);

    if (status == UPMU_OK)
        status = add_events(&bench.session[i].set, tail);
    if (status == UPMU_OK)
        status = upmu_session_attach_thread(&bench.session[i], &bench.thread[i], NULL);
    if (status == UPMU_OK)
        status = upmu_session_start(&bench.session[i]);
    return status;
}

static enum upmu_status close_sessions(enum upmu_status status)
{
    if (bench.running != IDLE)
        (void)!to_thread('\0', IDLE);
    for (unsigned i = 0; i < 2; i++)
        if (bench.session[i].id != 0) /* initialised, and not closed yet */
            (void)!upmu_session_close(&bench.session[i]);
    return status;
}

/* Each side is placed when it comes first; from then on a switch only switches. */
static enum upmu_status two_threads(char name, const char *tail)
{
    enum upmu_status status = open_session(0, "");
    unsigned round;

    if (status == UPMU_OK)
        status = open_session(1, tail);
    for (round = 0; round < 2 && status == UPMU_OK; round++)
        status = to_thread('\0', round);
    for (round = 0; round < 2 * ROUNDS && status == UPMU_OK; round++)
        status = to_thread(name, round & 1u);
    return close_sessions(status);
}

static enum upmu_status one_thread(void)
{
    enum upmu_status status = open_session(0, "");
    unsigned round;

    if (status == UPMU_OK)
        status = to_thread('\0', 0);
    for (round = 0; round < ROUNDS && status == UPMU_OK; round++) {
        status = to_thread('a', IDLE);
        if (status == UPMU_OK)
            status = to_thread('b', 0);
    }
    return close_sessions(status);
}

static enum upmu_status two_sets(void)
{
    struct upmu_session *session = &bench.session[0];
    enum upmu_status status = upmu_session_init(session, bench.shell->cmd->live->machine);
    unsigned round;

    if (status == UPMU_OK)
        status = upmu_session_shuffle(session, false, 0);
    if (status == UPMU_OK)
        status = upmu_session_add_set(session, &bench.set, 1, 0, 0);
    if (status == UPMU_OK)
        status = add_events(&session->set, "");
    if (status == UPMU_OK)
        status = add_events(&bench.set, ":u");
    if (status == UPMU_OK)
        status = upmu_session_attach_cpu(session, bench.shell->cmd->live->cpu);
    if (status == UPMU_OK)
        status = upmu_session_start(session);
    for (round = 0; round < 2 && status == UPMU_OK; round++)
        status = upmu_session_switch(session, NULL);
    for (round = 0; round < 2 * ROUNDS && status == UPMU_OK; round++) {
        kernel_out8(POST_PORT, 'e');
        status = upmu_session_switch(session, NULL);
        kernel_out8(POST_PORT, 0);
    }
    return close_sessions(status);
}

static enum upmu_status one_interrupt(void)
{
    const struct upmu_sampling sampling = {.period = PERIOD};
    struct upmu_session *session = &bench.session[0];
    enum upmu_status status = upmu_session_init(session, bench.shell->cmd->live->machine);

    if (status == UPMU_OK)
        status = upmu_set_add(&session->set, "instructions:u", &sampling);
    if (status == UPMU_OK)
        status = upmu_session_ring(session, bench.ring, sizeof bench.ring);
    if (status == UPMU_OK)
        status = upmu_session_attach_cpu(session, bench.shell->cmd->live->cpu);
    if (status == UPMU_OK)
        status = upmu_session_start(session);
    if (status == UPMU_OK) {
        kernel_out8(POST_PORT, 'i');
        kernel_user_enter(kernel_user_workload, &bench.user_stack[sizeof bench.user_stack - 16], PASSES);
        kernel_out8(POST_PORT, 0);
    }
    return close_sessions(status);
}

int kernel_switches(struct shell *shell, const char *rest)
{
    enum upmu_status status = UPMU_ERR_NO_PMU;
    unsigned i;

    bench.shell = shell;
    bench.events = rest;
    bench.running = IDLE;
    for (i = 0; i < 3; i++)
        upmu_thread_init(&bench.thread[i], 1, i, NULL);
    if (shell->cmd->live->cpu->meter.pmu != NULL)
        status = two_threads('s', "");
    if (status == UPMU_OK)
        status = two_threads('c', ":u");
    if (status == UPMU_OK)
        status = one_thread();
    if (status == UPMU_OK)
        status = two_sets();
    if (status == UPMU_OK)
        status = one_interrupt();
    kernel_line_number(shell, "switches.", "events", bench.count);
    kernel_line_text(shell, "switches.", "status", upmu_status_text(status));
    return status == UPMU_OK ? CMD_OK : CMD_REFUSED;
}
