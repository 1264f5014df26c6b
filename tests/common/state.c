/* SPDX-License-Identifier: MIT */
/*
 * The one file of the tests that looks into meters, banks and tallies for what state.h has a name for.
 */
#include <string.h>

#include "tests/common/state.h"
#include "core/sample/user_page.h"
#include <upmu/session.h>

void upmu_test_state(const struct upmu_cpu *cpu, struct upmu_test_state *out_state)
{
    const struct upmu_meter *meter = &cpu->meter;

    *out_state = (struct upmu_test_state){
        .running = meter->running,
        .sampling = meter->sampling,
        .failed = meter->failed,
        .unowned = meter->unowned,
        .busy = meter->busy,
        .in_handler = meter->in_handler,
        .mail = cpu->mail.pending,
        .answered = cpu->mail.answered,
        .work_due = meter->work_due,
    };
    for (unsigned i = 0; i < UPMU_COUNTERS; i++)
        out_state->used |= meter->slot[i].tag ? UINT32_C(1) << i : 0;
}

const char *upmu_test_left_over(const struct upmu_cpu *cpu)
{
    struct upmu_test_state state;
    bool kept;

    upmu_test_state(cpu, &state);
    kept = cpu->mail.stopped || cpu->mail.answered || cpu->mail.taken || cpu->mail.has_frame;
    return state.busy         ? "a call is in progress"
           : state.in_handler ? "an interrupt is being handled"
           : state.mail       ? "an interrupt's mail is not read"
           : kept             ? "a part of an interrupt's mail was not taken"
           : state.failed     ? "a fault is not answered"
           : state.work_due   ? "a session is not masked yet"
                              : NULL;
}

const struct upmu_session *upmu_test_stranded(const struct upmu_cpu *cpu)
{
    const struct upmu_session *session = cpu->meter.sessions;

    while (session && !(session->state == UPMU_SESSION_WAITING && !session->queued))
        session = session->next;
    return session;
}

bool upmu_test_program(const struct upmu_set *set, struct upmu_test_program *out_program)
{
    const struct upmu_program *program = &set->program;

    memset(out_program, 0, sizeof *out_program);
    memcpy(&out_program->program, program, sizeof *program);
    if (program->steps)
        memcpy(out_program->step, program->step, program->steps * sizeof program->step[0]);
    out_program->program.step = NULL;
    out_program->program.seen = out_program->program.refused = 0;
    return program->placement != 0;
}

unsigned upmu_test_pages(const struct upmu_machine *machine)
{
    return machine->pages & UPMU_PAGES;
}

void upmu_test_forget_value(struct upmu_cpu *cpu, unsigned counter)
{
    cpu->meter.slot[counter].tag = 0;
}

void upmu_test_begin_call(struct upmu_cpu *cpu)
{
    cpu->meter.busy = 1;
}

void upmu_test_end_call(struct upmu_cpu *cpu)
{
    cpu->meter.busy = 0;
}

void upmu_test_take_mail_back(struct upmu_cpu *cpu, const struct upmu_cpu *before)
{
    cpu->mail = before->mail;
    cpu->expected = before->expected;
    cpu->interrupts = before->interrupts;
    cpu->meter.bank.handler_accesses = before->meter.bank.handler_accesses;
    cpu->meter.bank.stopped = before->meter.bank.stopped;
}

void upmu_test_hold_session(struct upmu_session *session)
{
    session->sequence++;
}

void upmu_test_release_session(struct upmu_session *session)
{
    session->sequence++;
}

bool upmu_test_session_is_held(const struct upmu_session *session)
{
    return session->sequence & 1u;
}
