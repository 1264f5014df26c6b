/* SPDX-License-Identifier: MIT */
/*
 * The one file of the tests that looks into meters, banks and tallies for what state.h has a name for.
 */
#include "core/hw/bank.h"
#include "tests/common/state.h"

void upmu_test_state(const struct upmu_cpu *cpu, struct upmu_test_state *out_state)
{
    const struct upmu_meter *meter = &cpu->meter;

    *out_state = (struct upmu_test_state){
        .running = meter->running,
        .sampling = meter->sampling,
        .held = meter->held,
        .deferred = meter->deferred,
        .staying = meter->staying,
        .busy = meter->busy,
        .in_handler = meter->in_handler,
        .half_written = !upmu_test_bank_is_settled(&meter->bank),
        .mask_due = meter->mask_due,
    };
    for (unsigned i = 0; i < UPMU_COUNTERS; i++)
        out_state->used |= meter->last_tag[i] ? UINT32_C(1) << i : 0;
}

const char *upmu_test_left_over(const struct upmu_cpu *cpu)
{
    struct upmu_test_state state;

    upmu_test_state(cpu, &state);
    return state.busy           ? "a call is in progress"
           : state.in_handler   ? "an interrupt is being handled"
           : state.held         ? "a counter is held"
           : state.deferred     ? "an overflow is deferred"
           : state.staying      ? "a counter is carried"
           : state.half_written ? "a register is half written"
           : state.mask_due     ? "a session is not masked yet"
                                : NULL;
}

void upmu_test_forget_value(struct upmu_cpu *cpu, unsigned counter)
{
    cpu->meter.last_tag[counter] = 0;
}

void upmu_test_hold_event(struct upmu_session *session, unsigned i)
{
    session->set.tally[i].sequence++;
}

void upmu_test_release_event(struct upmu_session *session, unsigned i)
{
    session->set.tally[i].sequence++;
}

bool upmu_test_event_is_held(const struct upmu_session *session, unsigned i)
{
    return session->set.tally[i].sequence & 1u;
}

void upmu_test_begin_write(struct upmu_bank *bank, unsigned row)
{
    bank->in_flux = (uint8_t)row;
}

bool upmu_test_bank_is_settled(const struct upmu_bank *bank)
{
    return bank->in_flux == UPMU_NO_ROW;
}
