/* SPDX-License-Identifier: MIT */
/*
 * Write pprof's profile.proto (github.com/google/pprof, proto/profile.proto), not compressed.
 *
 * In protocol buffers a field is a number and a wire type in one varint, then a varint (type 0) or a length and bytes
 * (type 2). The length of a message comes first, so each message is made at least twice: counted, then written.
 */
#include "core/results/results_core.h"
#include "core/results/emit.h"
#include "core/results/log_core.h"
#include "core/util/mem.h"
#include "core/util/text.h"

#if UPMU_RESULTS

/* Numbers, in profile.proto, of the fields that are written: of a Profile, then of its messages. */
enum profile_field {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_DURATION = 10,
    PROFILE_PERIOD_TYPE = 11,
    PROFILE_PERIOD = 12,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_TYPE = 14,
    VALUE_TYPE = 1,
    VALUE_UNIT = 2,
    SAMPLE_LOCATION = 1,
    SAMPLE_VALUE = 2,
    LOCATION_ID = 1,
    LOCATION_ADDRESS = 3,
    LOCATION_LINE = 4,
    LINE_FUNCTION = 1,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_SYSTEM_NAME = 3
};

/*
 * Indices in the profile's table of strings. The table has "", the strings named here, two for each kind of event (one
 * begins with "samples of"), the names of functions, "[no address]", and a comment for each event with periods without
 * a sample.
 */
enum profile_string { STRING_NONE, STRING_COUNT, STRING_EVENTS, STRING_MACHINE, STRING_KINDS };

static void write_varint(struct upmu_emit *emit, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        upmu_emit_byte(emit, (unsigned)(value & 0x7fu) | 0x80u);
    upmu_emit_byte(emit, (unsigned)value);
}

static void field_number(struct upmu_emit *emit, enum profile_field field, uint64_t value)
{
    write_varint(emit, (unsigned)field << 3);
    write_varint(emit, value);
}

static void field_bytes(struct upmu_emit *emit, enum profile_field field, size_t length)
{
    write_varint(emit, (unsigned)field << 3 | 2u);
    write_varint(emit, length);
}

/*
 * Write a field with the message that the function `write` makes for `index`. Its first call counts the bytes of the
 * message, which stand before it; its second call writes them.
 */
static void field_message(struct upmu_emit *emit, enum profile_field field, const struct upmu_results_call *call,
                          uint64_t index, void (*write)(struct upmu_emit *, const struct upmu_results_call *, uint64_t))
{
    struct upmu_emit count;

    upmu_emit_begin(&count, NULL);
    write(&count, call, index);
    field_bytes(emit, field, count.length);
    write(emit, call, index);
}

/*
 * Return the number of the location that an address is: 1 + the address's index in call->address. Samples without an
 * address have a location of their own, whose number is call->addresses + 1.
 */
static uint64_t location_of(const struct upmu_results_call *call, uint64_t ip)
{
    size_t low = 0, high = call->addresses;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (call->address[middle] <= ip)
            low = middle;
        else
            high = middle;
    }
    return low + 1;
}

/* ---- Messages ---- */

static void write_type(struct upmu_emit *emit, const struct upmu_results_call *call, uint64_t index)
{
    (void)call;
    field_number(emit, VALUE_TYPE, STRING_KINDS + index);
    field_number(emit, VALUE_UNIT, (index & 1u) ? STRING_EVENTS : STRING_COUNT);
}

static void write_locations(struct upmu_emit *emit, const struct upmu_results_call *call, uint64_t index)
{
    struct upmu_log_item item;
    const struct upmu_log_sample *sample = &item.of.sample;
    unsigned i;

    upmu_results_item(call, call->stack[index].at, &item);
    write_varint(emit, upmu_results_flags(sample) & UPMU_RESULTS_HIDES ? call->addresses + UINT64_C(1)
                                                                       : location_of(call, sample->ip));
    for (i = 0; i < sample->frame.count; i++)
        write_varint(emit, location_of(call, upmu_log_word(sample->frame, i)));
}

static void write_values(struct upmu_emit *emit, const struct upmu_results_call *call, uint64_t index)
{
    const struct upmu_results_stack *stack = &call->stack[index];

    upmu_emit_zeros(emit, 2 * (size_t)stack->kind); /* two zeros for each kind with a lower number */
    write_varint(emit, stack->samples);
    write_varint(emit, stack->events);
    upmu_emit_zeros(emit, 2 * ((size_t)call->kinds - 1 - stack->kind));
}

static void write_sample(struct upmu_emit *emit, const struct upmu_results_call *call, uint64_t index)
{
    field_message(emit, SAMPLE_LOCATION, call, index, write_locations);
    field_message(emit, SAMPLE_VALUE, call, index, write_values);
}

static void write_line(struct upmu_emit *emit, const struct upmu_results_call *call, uint64_t index)
{
    (void)call;
    field_number(emit, LINE_FUNCTION, index);
}

static void write_function(struct upmu_emit *emit, const struct upmu_results_call *call, uint64_t index)
{
    uint64_t name = STRING_KINDS + UINT64_C(2) * call->kinds + index - 1;

    field_number(emit, FUNCTION_ID, index);
    field_number(emit, FUNCTION_NAME, name);
    field_number(emit, FUNCTION_SYSTEM_NAME, name);
}

/* Write a location: its number, its address, and the number of the function that contains it (0: unknown). */
static void write_location(struct upmu_emit *emit, const struct upmu_results_call *call, uint64_t number,
                           uint64_t address, uint64_t function)
{
    struct upmu_emit count;
    struct upmu_emit *to = &count;
    unsigned pass;

    upmu_emit_begin(&count, NULL);
    for (pass = 0; pass < 2; pass++, to = emit) {
        if (pass)
            field_bytes(emit, PROFILE_LOCATION, count.length);
        field_number(to, LOCATION_ID, number);
        field_number(to, LOCATION_ADDRESS, address);
        if (function)
            field_message(to, LOCATION_LINE, call, function, write_line);
    }
}

/* ---- Functions: addresses are looked up in rising order, so that all of one function follow each other ---- */

struct function_walk {
    struct upmu_symbol symbol;
    uint64_t count; /* functions found so far */
    bool known;     /* an address was in a function; `symbol` is the last such function */
};

/*
 * Return the number of the function that contains the address `ip`; 0: unknown. *out_new: no address before this one in
 * the walk was in that function.
 */
static uint64_t function_next(struct function_walk *walk, const struct upmu_results_call *call, uint64_t ip,
                              bool *out_new)
{
    struct upmu_symbol symbol;

    *out_new = false;
    if (!upmu_results_symbol_of(call, ip, &symbol))
        return 0;
    *out_new = !walk->known || symbol.start != walk->symbol.start;
    walk->known = true;
    walk->symbol = symbol;
    walk->count += *out_new;
    return walk->count;
}

static void field_text(struct upmu_emit *emit, const char *front, const char *text, size_t length)
{
    field_bytes(emit, PROFILE_STRING, upmu_text_length(front) + length);
    upmu_emit_string(emit, front);
    upmu_results_text(emit, text, length);
}

static void write_kind(struct upmu_emit *emit, const struct upmu_results_call *call, uint64_t index)
{
    struct upmu_log_event event;

    (void)upmu_results_kind(call, (unsigned)index >> 1, &event);
    upmu_emit_string(emit, (index & 1u) ? "" : "samples of ");
    upmu_results_name(emit, &event);
}

/* Write the comment on the event with this index in call->event: how many of its periods had no sample. */
static void write_lost(struct upmu_emit *emit, const struct upmu_results_call *call, uint64_t index)
{
    struct upmu_log_event event;

    (void)upmu_results_kind(call, call->event[index].kind, &event);
    upmu_emit_decimal(emit, call->event[index].lost);
    upmu_emit_string(emit, " periods without a sample: ");
    upmu_results_name(emit, &event);
}

static void write_strings(struct upmu_emit *emit, const struct upmu_results_call *call)
{
    struct function_walk walk;
    uint32_t i;
    bool first;

    field_text(emit, "", "", 0);
    field_text(emit, "count", "", 0);
    field_text(emit, "events", "", 0);
    field_text(emit, "upmu: ", call->machine.at, call->machine.length);
    for (i = 0; i < 2 * call->kinds; i++)
        field_message(emit, PROFILE_STRING, call, i, write_kind);
    memset(&walk, 0, sizeof walk);
    for (i = 0; i < call->addresses; i++)
        if (function_next(&walk, call, call->address[i], &first) && first)
            field_text(emit, "", walk.symbol.name, walk.symbol.length);
    field_text(emit, "[no address]", "", 0);
    for (i = 0; i < call->events; i++)
        if (call->event[i].lost)
            field_message(emit, PROFILE_STRING, call, i, write_lost);
}

static void pprof_write(struct upmu_emit *emit, struct upmu_results_call *call)
{
    struct function_walk walk;
    uint64_t comment;
    uint32_t i;
    bool first;

    for (i = 0; i < 2 * call->kinds; i++)
        field_message(emit, PROFILE_SAMPLE_TYPE, call, i, write_type);
    for (i = 0; i < call->stacks; i++)
        field_message(emit, PROFILE_SAMPLE, call, i, write_sample);
    memset(&walk, 0, sizeof walk);
    for (i = 0; i < call->addresses; i++)
        write_location(emit, call, i + UINT64_C(1), call->address[i],
                       function_next(&walk, call, call->address[i], &first));
    write_location(emit, call, call->addresses + UINT64_C(1), 0, walk.count + 1);
    for (i = 0; i <= walk.count; i++)
        field_message(emit, PROFILE_FUNCTION, call, i + UINT64_C(1), write_function);
    write_strings(emit, call);
    if (call->end_ns > call->begin_ns)
        field_number(emit, PROFILE_DURATION, call->end_ns - call->begin_ns);
    if (call->events) {
        field_message(emit, PROFILE_PERIOD_TYPE, call, 1, write_type);
        field_number(emit, PROFILE_PERIOD, call->event[0].period);
        field_number(emit, PROFILE_DEFAULT_TYPE, STRING_KINDS + 1);
    }
    field_number(emit, PROFILE_COMMENT, STRING_MACHINE);
    comment = STRING_KINDS + UINT64_C(2) * call->kinds + walk.count + 1;
    for (i = 0; i < call->events; i++)
        if (call->event[i].lost)
            field_number(emit, PROFILE_COMMENT, comment++);
}

/* Make call->stack, and collect in call->address all addresses that occur in stacks, each once, in rising order. */
static enum upmu_status pprof_prepare(struct upmu_results_call *call)
{
    enum upmu_status status = upmu_results_stacks(call);
    struct upmu_log_item item;
    uint32_t i, from, to = 0;
    unsigned frame;

    call->address = (void *)call->work;
    for (i = 0; i < call->stacks && status == UPMU_OK; i++) {
        const struct upmu_log_sample *sample = &item.of.sample;

        upmu_results_item(call, call->stack[i].at, &item);
        for (frame = upmu_results_flags(sample) & UPMU_RESULTS_HIDES ? 1 : 0; frame <= sample->frame.count; frame++) {
            uint64_t *row = upmu_results_room(call, 1, sizeof *row);

            if (!row)
                return UPMU_ERR_NO_SPACE;
            *row = frame ? upmu_log_word(sample->frame, frame - 1) : sample->ip;
            call->addresses++;
        }
    }
    upmu_results_sort(call->address, call->addresses, 1);
    for (from = 0; from < call->addresses; from++)
        if (from == 0 || call->address[from] != call->address[to - 1])
            call->address[to++] = call->address[from];
    call->addresses = to;
    return status;
}

enum upmu_status upmu_results_pprof(const struct upmu_results *results, struct upmu_output *output)
{
    static const struct upmu_results_form form = {pprof_prepare, pprof_write};

    return upmu_results_make(results, output, &form);
}

#else

enum upmu_status upmu_results_pprof(const struct upmu_results *results, struct upmu_output *output)
{
    (void)results, (void)output;
    return UPMU_ERR_COMPILED_OUT;
}

#endif
