/* SPDX-License-Identifier: MIT */
/*
 * The private state of the engine, as tests see it.  Tests name no private field of a meter, a bank or a tally that
 * this file has a name for: where the engine changes its fields, state.c alone changes.
 */
#ifndef TESTS_STATE_H
#define TESTS_STATE_H

#include <upmu/upmu.h>

/* Masks of counters, unless another type says otherwise. */
struct upmu_test_state {
    uint32_t running;  /* run for a session */
    uint32_t sampling; /* of these, loaded to overflow */
    uint32_t failed;   /* a register faulted, and their sessions have not been stopped yet */
    uint32_t unowned;  /* left running by static sessions */
    uint32_t answered; /* overflowed in the present call, and an interrupt has been answered for it */
    uint32_t used;     /* hold the value of an event that ran last */
    bool busy;         /* a local call is in progress */
    bool in_handler;   /* an interrupt is being handled */
    bool mail;         /* a handler that interrupted a local call has left mail */
    bool work_due;     /* a session is to be masked, or gets its next set */
};

void upmu_test_state(const struct upmu_cpu *cpu, struct upmu_test_state *out_state);

/*
 * What the end of a local call has left undone; NULL: nothing.  No mail may be unread, no fault unanswered, and no
 * session may wait for its masking.
 */
const char *upmu_test_left_over(const struct upmu_cpu *cpu);

/* A session that waits here and is in no list of those that wait, so that nothing ever starts it; NULL: none. */
const struct upmu_session *upmu_test_stranded(const struct upmu_cpu *cpu);

/* The compiled placement of a set with its steps, without the notes that plans make in it. */
struct upmu_test_program {
    struct upmu_program program; /* whose `step` is NULL */
    struct upmu_step step[UPMU_STEPS];
};

/* Copy it; false: there is none. */
bool upmu_test_program(const struct upmu_set *set, struct upmu_test_program *out_program);

/* Pages that are published. */
unsigned upmu_test_pages(const struct upmu_machine *machine);

/* The value of a counter belongs to no event any more. */
void upmu_test_forget_value(struct upmu_cpu *cpu, unsigned counter);

/* As if a local call were in progress, or had come to the last look that it takes. */
void upmu_test_begin_call(struct upmu_cpu *cpu);
void upmu_test_end_call(struct upmu_cpu *cpu);

/* What a handler may change that interrupts a local call is as it was before. */
void upmu_test_take_mail_back(struct upmu_cpu *cpu, const struct upmu_cpu *before);

/* As if a local call were changing the counts of a session, or had finished. */
void upmu_test_hold_session(struct upmu_session *session);
void upmu_test_release_session(struct upmu_session *session);
bool upmu_test_session_is_held(const struct upmu_session *session);

#endif
