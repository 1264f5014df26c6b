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
    uint32_t held;     /* are being changed by a local call: handlers leave them alone */
    uint32_t deferred; /* overflowed, and the local side has not taken that yet */
    uint32_t staying;  /* continue although their session leaves */
    uint32_t used;     /* hold the value of an event that ran last */
    bool busy;         /* a local call is in progress */
    bool in_handler;   /* an interrupt is being handled */
    bool half_written; /* a register's value is stored, and perhaps not written */
    bool mask_due;     /* a session is to be masked */
};

void upmu_test_state(const struct upmu_cpu *cpu, struct upmu_test_state *out_state);

/*
 * What the end of a local call has left undone; NULL: nothing.  Nothing may be held, deferred or half written, and no
 * session may wait for its masking.
 */
const char *upmu_test_left_over(const struct upmu_cpu *cpu);

/* The value of a counter belongs to no event any more. */
void upmu_test_forget_value(struct upmu_cpu *cpu, unsigned counter);

/* As if a local call were changing event `i` of the session's first set, or had finished. */
void upmu_test_hold_event(struct upmu_session *session, unsigned i);
void upmu_test_release_event(struct upmu_session *session, unsigned i);
bool upmu_test_event_is_held(const struct upmu_session *session, unsigned i);

/* As if a local call were writing this register of a bank; is none being written? */
void upmu_test_begin_write(struct upmu_bank *bank, unsigned row);
bool upmu_test_bank_is_settled(const struct upmu_bank *bank);

#endif
