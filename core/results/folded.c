/* SPDX-License-Identifier: MIT */
/*
 * Write "folded" stacks, the text that flamegraph.pl and its successors read: a line for each stack, with the outermost
 * frame first, frames separated by ';', and the number of the stack's samples at the end.
 */
#include "core/results/results_core.h"
#include "core/results/emit.h"
#include "core/results/log_core.h"

#if UPMU_RESULTS

static void folded_frame(struct upmu_emit *emit, const struct upmu_results_call *call, uint64_t ip)
{
    struct upmu_symbol symbol;

    if (upmu_results_symbol_of(call, ip, &symbol)) {
        upmu_results_text(emit, symbol.name, symbol.length);
        return;
    }
    upmu_emit_string(emit, "0x");
    upmu_emit_hex(emit, ip, 1);
}

static void folded_leaf(struct upmu_emit *emit, const struct upmu_results_call *call,
                        const struct upmu_log_sample *sample)
{
    if (upmu_results_flags(sample) & UPMU_SAMPLE_NO_FRAME)
        upmu_emit_string(emit, "[no address]");
    else if (sample->flags & UPMU_SAMPLE_HIDDEN)
        upmu_emit_string(emit, "[kernel]");
    else
        folded_frame(emit, call, sample->ip);
}

static void folded_event(struct upmu_emit *emit, const struct upmu_results_call *call, unsigned kind)
{
    struct upmu_log_event event;

    (void)upmu_results_kind(call, kind, &event);
    upmu_results_name(emit, &event);
    upmu_emit_byte(emit, ';');
}

static void folded_write(struct upmu_emit *emit, struct upmu_results_call *call)
{
    struct upmu_log_item item;
    uint32_t i;
    unsigned frame;

    for (i = 0; i < call->stacks; i++) {
        upmu_results_item(call, call->stack[i].at, &item);
        if (call->kinds > 1)
            folded_event(emit, call, call->stack[i].kind);
        for (frame = item.of.sample.frame.count; frame; frame--) {
            folded_frame(emit, call, upmu_log_word(item.of.sample.frame, frame - 1));
            upmu_emit_byte(emit, ';');
        }
        folded_leaf(emit, call, &item.of.sample);
        upmu_emit_byte(emit, ' ');
        upmu_emit_decimal(emit, call->stack[i].samples);
        upmu_emit_byte(emit, '\n');
    }
}

static enum upmu_status folded_prepare(struct upmu_results_call *call)
{
    call->by_symbol = true;
    return upmu_results_stacks(call);
}

enum upmu_status upmu_results_folded(const struct upmu_results *results, struct upmu_output *output)
{
    static const struct upmu_results_form form = {folded_prepare, folded_write};

    return upmu_results_make(results, output, &form);
}

#else

enum upmu_status upmu_results_folded(const struct upmu_results *results, struct upmu_output *output)
{
    (void)results, (void)output;
    return UPMU_ERR_COMPILED_OUT;
}

#endif
