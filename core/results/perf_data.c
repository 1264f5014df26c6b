/* SPDX-License-Identifier: MIT */
/*
 * Write perf.data, as perf of Linux reads it (tools/perf/Documentation/perf.data-file-format.txt and
 * include/uapi/linux/perf_event.h): a header that says where the other parts are; identifiers of events; attributes of
 * events (struct perf_event_attr); records; two or three features: the events' names, the times of the first and last
 * sample, and, if any sample has branches, that there are branches.
 */
#include <upmu/abi.h>
#include <upmu/event.h>
#include "core/results/results_core.h"
#include "core/results/emit.h"
#include "core/results/log_core.h"
#include "core/results/perf_precise.h"
#include "core/util/bits.h"
#include "core/util/mem.h"

#if UPMU_RESULTS

#define PERF_HEADER_BYTES 104u
#define PERF_ATTRIBUTE_BYTES 128u /* PERF_ATTR_SIZE_VER7: a perf that knows shorter attributes only refuses the file */
#define PERF_SECTION_BYTES 16u
#define PERF_TYPE_RAW 4u
#define PERF_FLAG_EXCLUDE_USER (UINT64_C(1) << 4)
#define PERF_FLAG_EXCLUDE_KERNEL (UINT64_C(1) << 5)
#define PERF_FLAG_MMAP (UINT64_C(1) << 8)
#define PERF_FLAG_COMM (UINT64_C(1) << 9)
#define PERF_FLAG_FREQ (UINT64_C(1) << 10)
#define PERF_FLAG_SAMPLE_ID_ALL (UINT64_C(1) << 18)
#define PERF_FLAG_MMAP2 (UINT64_C(1) << 23)
/*
 * Fields of each sample, PERF_SAMPLE_...: IP, TID, TIME, CPU, PERIOD, IDENTIFIER; CALLCHAIN if any sample has callers;
 * ADDR, BRANCH_STACK, WEIGHT and DATA_SRC if any sample has this part.
 */
#define PERF_SAMPLE_BASIC (1u << 0 | 1u << 1 | 1u << 2 | 1u << 7 | 1u << 8 | 1u << 16)
#define PERF_SAMPLE_CALLCHAIN (1u << 5)
#define PERF_SAMPLE_ADDR (1u << 3)
#define PERF_SAMPLE_BRANCH_STACK (1u << 11)
#define PERF_SAMPLE_WEIGHT (1u << 14)
#define PERF_SAMPLE_DATA_SRC (1u << 15)
#define PERF_BRANCHES 0xbu /* PERF_SAMPLE_BRANCH_USER, _KERNEL and _ANY */
#define PERF_RECORD_MMAP 1u
#define PERF_RECORD_LOST 2u
#define PERF_RECORD_COMM 3u
#define PERF_RECORD_SAMPLE 9u
#define PERF_RECORD_MMAP2 10u
#define PERF_MISC_KERNEL 1u
#define PERF_MISC_USER 2u
#define PERF_MISC_EXACT_IP (1u << 14)
#define PERF_CONTEXT_KERNEL (~UINT64_C(127)) /* -128 */
#define PERF_CONTEXT_USER (~UINT64_C(511))   /* -512 */
#define PERF_TRAILER_BYTES 32u
#define PERF_PROTECTION 5u /* PROT_READ | PROT_EXEC */
#define PERF_MAPPED 2u     /* MAP_PRIVATE */
#define PERF_FEATURE_EVENT_DESC 12u
#define PERF_FEATURE_BRANCH_STACK 15u /* without it perf report says that there are no branches */
#define PERF_FEATURE_SAMPLE_TIME 21u
#define PERF_KERNEL_NAME "[kernel.kallsyms]_text"
#define PERF_PAGE UINT64_C(4095)
#define PERF_NAME_BYTES 1024u

static bool is_user(const struct upmu_log_sample *sample)
{
    return (sample->flags & UPMU_SAMPLE_USER) != 0;
}

/* ---- Parts of precise samples ---- */

#if UPMU_PRECISE

static bool has_part(const struct upmu_results_call *call, unsigned part)
{
    return call->parts & part;
}

/* Return the fields of samples, PERF_SAMPLE_..., for the parts that samples of the log have. */
static unsigned perf_part_fields(const struct upmu_results_call *call)
{
    return (has_part(call, UPMU_PART_ADDRESS) ? PERF_SAMPLE_ADDR : 0) |
           (has_part(call, UPMU_PART_BRANCHES) ? PERF_SAMPLE_BRANCH_STACK : 0) |
           (has_part(call, UPMU_PART_WEIGHT) ? PERF_SAMPLE_WEIGHT : 0) |
           (has_part(call, UPMU_PART_SOURCE) ? PERF_SAMPLE_DATA_SRC : 0);
}

static size_t perf_part_bytes(const struct upmu_results_call *call, const struct upmu_log_sample *sample)
{
    return (has_part(call, UPMU_PART_ADDRESS) ? 8u : 0) + (has_part(call, UPMU_PART_WEIGHT) ? 8u : 0) +
           (has_part(call, UPMU_PART_SOURCE) ? 8u : 0) +
           (has_part(call, UPMU_PART_BRANCHES) ? 8u + 8u * (size_t)sample->branch.count : 0);
}

static unsigned perf_exact(const struct upmu_log_sample *sample)
{
    return sample->exact ? PERF_MISC_EXACT_IP : 0;
}

static void perf_address(struct upmu_emit *emit, const struct upmu_results_call *call,
                         const struct upmu_log_sample *sample)
{
    if (has_part(call, UPMU_PART_ADDRESS))
        upmu_emit_number(emit, sample->address, 8);
}

/* Write the parts that stand at the end of a sample.  A sample that lacks one has 0, or no branches. */
static void perf_parts(struct upmu_emit *emit, const struct upmu_results_call *call,
                       const struct upmu_log_sample *sample, unsigned kind)
{
    struct upmu_log_event event;
    unsigned i;

    if (!call->parts)
        return;
    (void)upmu_results_kind(call, kind, &event);
    if (has_part(call, UPMU_PART_BRANCHES))
        upmu_emit_number(emit, sample->branch.count / 3u, 8);
    for (i = 0; i < sample->branch.count; i++)
        upmu_emit_number(emit,
                         i % 3u == 2 ? upmu_branch_flags(upmu_log_word(sample->branch, i))
                                     : upmu_log_word(sample->branch, i),
                         8);
    if (has_part(call, UPMU_PART_WEIGHT))
        upmu_emit_number(emit, upmu_perf_weight(&event, sample->weight), 8);
    if (has_part(call, UPMU_PART_SOURCE)) {
        if (!(sample->parts & UPMU_PART_SOURCE))
            event.pmu.length = 0; /* the source of this sample is not known */
        upmu_emit_number(emit, upmu_perf_source(&event, sample->data_source), 8);
    }
}

#else

static bool has_part(const struct upmu_results_call *call, unsigned part)
{
    (void)call, (void)part;
    return false;
}

static unsigned perf_part_fields(const struct upmu_results_call *call)
{
    (void)call;
    return 0;
}

static size_t perf_part_bytes(const struct upmu_results_call *call, const struct upmu_log_sample *sample)
{
    (void)call, (void)sample;
    return 0;
}

static unsigned perf_exact(const struct upmu_log_sample *sample)
{
    (void)sample;
    return 0;
}

static void perf_address(struct upmu_emit *emit, const struct upmu_results_call *call,
                         const struct upmu_log_sample *sample)
{
    (void)emit, (void)call, (void)sample;
}

static void perf_parts(struct upmu_emit *emit, const struct upmu_results_call *call,
                       const struct upmu_log_sample *sample, unsigned kind)
{
    (void)emit, (void)call, (void)sample, (void)kind;
}

#endif

/* ---- Attributes ---- */

static void perf_attribute(struct upmu_emit *emit, const struct upmu_results_call *call, unsigned kind)
{
    struct upmu_log_event event;
    uint64_t flags = PERF_FLAG_MMAP | PERF_FLAG_COMM | PERF_FLAG_SAMPLE_ID_ALL | PERF_FLAG_MMAP2;

    (void)upmu_results_kind(call, kind, &event);
    if (event.attributes & (UPMU_ATTR_USR | UPMU_ATTR_OS)) {
        flags |= event.attributes & UPMU_ATTR_USR ? 0 : PERF_FLAG_EXCLUDE_USER;
        flags |= event.attributes & UPMU_ATTR_OS ? 0 : PERF_FLAG_EXCLUDE_KERNEL;
    }
    flags |= event.frequency ? PERF_FLAG_FREQ : 0;
    upmu_emit_number(emit, PERF_TYPE_RAW, 4);
    upmu_emit_number(emit, PERF_ATTRIBUTE_BYTES, 4);
    upmu_emit_number(emit, event.config, 8);
    upmu_emit_number(emit, event.frequency ? event.frequency : event.period, 8);
    upmu_emit_number(emit, PERF_SAMPLE_BASIC | (call->frames ? PERF_SAMPLE_CALLCHAIN : 0) | perf_part_fields(call), 8);
    upmu_emit_zeros(emit, 8); /* read_format */
    upmu_emit_number(emit, flags, 8);
    upmu_emit_zeros(emit, 8); /* wakeup_events, bp_type */
    upmu_emit_number(emit, event.config1, 8);
    if (has_part(call, UPMU_PART_BRANCHES)) {
        upmu_emit_zeros(emit, 8); /* config2 */
        upmu_emit_number(emit, PERF_BRANCHES, 8);
        upmu_emit_zeros(emit, PERF_ATTRIBUTE_BYTES - 80u); /* sample_regs_user to sig_data */
    } else {
        upmu_emit_zeros(emit, PERF_ATTRIBUTE_BYTES - 64u); /* config2 to sig_data */
    }
}

/*
 * Write the identifiers of a kind of event, one for each event of the kind, and return how many there are. An event's
 * identifier is 1 + its index in call->event. If `emit` is NULL, the identifiers are only counted.
 */
static unsigned perf_identifiers(struct upmu_emit *emit, const struct upmu_results_call *call, unsigned kind)
{
    unsigned id, count = 0;

    for (id = call->event[kind].head + 1u; id; id = call->event[id - 1].next, count++)
        if (emit)
            upmu_emit_number(emit, id, 8);
    return count;
}

/* ---- Records ---- */

static void perf_record(struct upmu_emit *emit, unsigned type, unsigned misc, size_t bytes)
{
    upmu_emit_number(emit, type, 4);
    upmu_emit_number(emit, misc, 2);
    upmu_emit_number(emit, bytes, 2);
}

/*
 * Write the end of a record that is no sample: process, thread, time (0), CPU (0), identifier (1: the first event's).
 */
static void perf_trailer(struct upmu_emit *emit, uint32_t process, uint32_t thread)
{
    upmu_emit_number(emit, process, 4);
    upmu_emit_number(emit, thread, 4);
    upmu_emit_zeros(emit, 16);
    upmu_emit_number(emit, 1, 8);
}

static size_t perf_name_bytes(size_t length)
{
    return ((length < PERF_NAME_BYTES ? length : PERF_NAME_BYTES) + 8u) & ~(size_t)7;
}

/* Write a text, cut to PERF_NAME_BYTES, then a NUL and zeros up to a multiple of 8 bytes. */
static void perf_name(struct upmu_emit *emit, const char *name, size_t length)
{
    size_t bytes = perf_name_bytes(length);

    length = length < PERF_NAME_BYTES ? length : PERF_NAME_BYTES;
    upmu_results_text(emit, name, length);
    upmu_emit_zeros(emit, bytes - length);
}

/*
 * Write a mapping. A program's is a record MMAP2, because llvm-profgen and perf2bolt do not look at MMAP; device and
 * inode are not known: they are written as 0. The kernel's is a record MMAP of process -1 and thread 0, as perf writes
 * it: llvm-profgen 14 refuses a file with an MMAP2 of a process below 0.
 */
static void perf_mapping(struct upmu_emit *emit, unsigned misc, const struct upmu_log_range *range)
{
    const bool kernel = misc == PERF_MISC_KERNEL;
    size_t bytes = (kernel ? 40u : 72u) + perf_name_bytes(range->name.length) + PERF_TRAILER_BYTES;

    perf_record(emit, kernel ? PERF_RECORD_MMAP : PERF_RECORD_MMAP2, misc, bytes);
    upmu_emit_number(emit, range->process, 4);
    upmu_emit_number(emit, kernel ? 0 : range->process, 4);
    upmu_emit_number(emit, range->start, 8);
    upmu_emit_number(emit, range->end - range->start, 8);
    upmu_emit_number(emit, range->offset, 8);
    if (!kernel) {
        upmu_emit_zeros(emit, 24); /* fields maj, min, ino and ino_generation */
        upmu_emit_number(emit, PERF_PROTECTION, 4);
        upmu_emit_number(emit, PERF_MAPPED, 4);
    }
    perf_name(emit, range->name.at, range->name.length);
    perf_trailer(emit, range->process, range->process);
}

static void perf_task(struct upmu_emit *emit, const struct upmu_log_task *task)
{
    perf_record(emit, PERF_RECORD_COMM, 0, 16 + perf_name_bytes(task->name.length) + PERF_TRAILER_BYTES);
    upmu_emit_number(emit, task->process, 4);
    upmu_emit_number(emit, task->thread, 4);
    perf_name(emit, task->name.at, task->name.length);
    perf_trailer(emit, task->process, task->thread);
}

/* Write a record of lost samples. `identifier`: that of the event; 1 if it is unknown of which events they were. */
static void perf_lost(struct upmu_emit *emit, uint64_t identifier, uint64_t lost)
{
    perf_record(emit, PERF_RECORD_LOST, 0, 24 + PERF_TRAILER_BYTES);
    upmu_emit_number(emit, identifier, 8);
    upmu_emit_number(emit, lost, 8);
    perf_trailer(emit, 0, 0);
}

static void perf_sample(struct upmu_emit *emit, const struct upmu_results_call *call,
                        const struct upmu_log_sample *sample, unsigned index)
{
    const struct upmu_results_event *event = upmu_results_event_of(call, sample, index);
    unsigned i;

    if (!event) /* in a salvaged log, whose record of the event is missing */
        return;
    perf_record(emit, PERF_RECORD_SAMPLE, (is_user(sample) ? PERF_MISC_USER : PERF_MISC_KERNEL) | perf_exact(sample),
                56 + (call->frames ? 24 + 8u * sample->frame.count : 0) + perf_part_bytes(call, sample));
    upmu_emit_number(emit, (uint64_t)(event - call->event) + 1, 8);
    upmu_emit_number(emit, sample->ip, 8);
    upmu_emit_number(emit, sample->process, 4);
    upmu_emit_number(emit, sample->thread, 4);
    upmu_emit_number(emit, sample->time_ns, 8);
    perf_address(emit, call, sample);
    upmu_emit_number(emit, sample->cpu, 8);
    upmu_emit_number(emit, upmu_results_period(sample, event), 8);
    if (call->frames) {
        upmu_emit_number(emit, 2 + sample->frame.count, 8);
        upmu_emit_number(emit, is_user(sample) ? PERF_CONTEXT_USER : PERF_CONTEXT_KERNEL, 8);
        upmu_emit_number(emit, sample->ip, 8);
        for (i = 0; i < sample->frame.count; i++)
            upmu_emit_number(emit, upmu_log_word(sample->frame, i), 8);
    }
    perf_parts(emit, call, sample, event->kind);
}

/*
 * ---- The kernel is written as one mapping, in whole pages, of all its symbols and all its addresses in samples ----
 */

static void kernel_include(struct upmu_log_range *kernel, uint64_t first, uint64_t last)
{
    first &= ~PERF_PAGE;
    last |= PERF_PAGE;
    if (first < kernel->start)
        kernel->start = first;
    if (last > kernel->end)
        kernel->end = last;
}

static void perf_kernel(struct upmu_emit *emit, const struct upmu_results_call *call)
{
    struct upmu_log_range kernel = {.start = ~UINT64_C(0), .end = 0, .process = ~UINT32_C(0)};
    struct upmu_log_reader reader = call->reader;
    struct upmu_log_item item;
    unsigned i;

    while (upmu_log_next(&reader, &item)) {
        const struct upmu_log_sample *sample = &item.of.sample;

        if (item.kind == UPMU_LOG_SYMBOL)
            kernel_include(&kernel, item.of.range.start, item.of.range.end - 1);
        if (item.kind != UPMU_LOG_SAMPLE || is_user(sample) || !sample->ip)
            continue;
        kernel_include(&kernel, sample->ip, sample->ip);
        for (i = 0; i < sample->frame.count; i++)
            kernel_include(&kernel, upmu_log_word(sample->frame, i), upmu_log_word(sample->frame, i));
    }
    if (kernel.start > kernel.end)
        return;
    kernel.end += kernel.end != ~UINT64_C(0);
    kernel.name.at = PERF_KERNEL_NAME;
    kernel.name.length = sizeof PERF_KERNEL_NAME - 1;
    perf_mapping(emit, PERF_MISC_KERNEL, &kernel);
}

static void perf_records(struct upmu_emit *emit, const struct upmu_results_call *call)
{
    struct upmu_log_reader reader = call->reader;
    struct upmu_log_item item;
    uint64_t reported = 0;
    uint32_t events;
    unsigned i;

    perf_kernel(emit, call);
    while (upmu_log_next(&reader, &item)) {
        if (item.kind == UPMU_LOG_TASK)
            perf_task(emit, &item.of.task);
        else if (item.kind == UPMU_LOG_MAPPING)
            perf_mapping(emit, PERF_MISC_USER, &item.of.range);
    }
    for (reader = call->reader; upmu_log_next(&reader, &item);) {
        if (item.kind != UPMU_LOG_SAMPLE)
            continue;
        if (item.of.sample.lost)
            perf_lost(emit, 1, item.of.sample.lost);
        reported += item.of.sample.lost;
        for (events = item.of.sample.events; events; events &= events - 1u)
            perf_sample(emit, call, &item.of.sample, upmu_bits_lowest(events));
    }
    if (call->lost > reported)
        perf_lost(emit, 1, call->lost - reported);
    for (i = 0; i < call->events; i++)
        if (call->event[i].lost)
            perf_lost(emit, i + 1, call->event[i].lost);
}

/* ---- Features ---- */

/*
 * Write the name of an event: the number of bytes that follow (4 bytes), the text, a NUL, and zeros up to a multiple of
 * 8 bytes.
 */
static void perf_event_name(struct upmu_emit *emit, const struct upmu_log_event *event)
{
    struct upmu_emit count;

    upmu_emit_begin(&count, NULL);
    upmu_results_name(&count, event);
    upmu_emit_number(emit, (count.length + 8) & ~(size_t)7, 4);
    upmu_results_name(emit, event);
    upmu_emit_zeros(emit, 8 - (count.length & 7));
}

static void perf_descriptions(struct upmu_emit *emit, const struct upmu_results_call *call)
{
    struct upmu_log_event event;
    unsigned kind;

    upmu_emit_number(emit, call->kinds, 4);
    upmu_emit_number(emit, PERF_ATTRIBUTE_BYTES, 4);
    for (kind = 0; kind < call->kinds; kind++) {
        (void)upmu_results_kind(call, kind, &event);
        perf_attribute(emit, call, kind);
        upmu_emit_number(emit, perf_identifiers(NULL, call, kind), 4);
        perf_event_name(emit, &event);
        (void)perf_identifiers(emit, call, kind);
    }
}

static void perf_times(struct upmu_emit *emit, const struct upmu_results_call *call)
{
    struct upmu_log_reader reader = call->reader;
    struct upmu_log_item item;
    uint64_t first = ~UINT64_C(0), last = 0;

    while (upmu_log_next(&reader, &item)) {
        if (item.kind != UPMU_LOG_SAMPLE)
            continue;
        first = item.of.sample.time_ns < first ? item.of.sample.time_ns : first;
        last = item.of.sample.time_ns > last ? item.of.sample.time_ns : last;
    }
    upmu_emit_number(emit, first <= last ? first : 0, 8);
    upmu_emit_number(emit, last, 8);
}

/* ---- The file ---- */

static void perf_section(struct upmu_emit *emit, size_t at, size_t bytes)
{
    upmu_emit_number(emit, at, 8);
    upmu_emit_number(emit, bytes, 8);
}

static void perf_write(struct upmu_emit *emit, struct upmu_results_call *call)
{
    size_t identifiers = PERF_HEADER_BYTES, attributes = identifiers + 8 * (size_t)call->events;
    size_t attribute = PERF_ATTRIBUTE_BYTES + PERF_SECTION_BYTES;
    size_t data = attributes + call->kinds * attribute;
    size_t records, descriptions, features;
    struct upmu_emit count;
    unsigned kind;

    upmu_emit_begin(&count, NULL);
    perf_records(&count, call);
    records = count.length;
    perf_descriptions(&count, call);
    descriptions = count.length - records;
    features = data + records + (has_part(call, UPMU_PART_BRANCHES) ? 3 : 2) * PERF_SECTION_BYTES;
    upmu_emit_string(emit, "PERFILE2");
    upmu_emit_number(emit, PERF_HEADER_BYTES, 8);
    upmu_emit_number(emit, attribute, 8);
    perf_section(emit, attributes, call->kinds * attribute);
    perf_section(emit, data, records);
    perf_section(emit, 0, 0);
    upmu_emit_number(emit,
                     UINT64_C(1) << PERF_FEATURE_EVENT_DESC | UINT64_C(1) << PERF_FEATURE_SAMPLE_TIME |
                         (uint64_t)has_part(call, UPMU_PART_BRANCHES) << PERF_FEATURE_BRANCH_STACK,
                     8);
    upmu_emit_zeros(emit, 24);
    for (kind = 0; kind < call->kinds; kind++)
        (void)perf_identifiers(emit, call, kind);
    for (kind = 0; kind < call->kinds; kind++) {
        perf_attribute(emit, call, kind);
        perf_section(emit, identifiers, 8 * (size_t)perf_identifiers(NULL, call, kind));
        identifiers += 8 * (size_t)perf_identifiers(NULL, call, kind);
    }
    perf_records(emit, call);
    perf_section(emit, features, descriptions);
    if (has_part(call, UPMU_PART_BRANCHES))
        perf_section(emit, features + descriptions, 0);
    perf_section(emit, features + descriptions, 16);
    perf_descriptions(emit, call);
    perf_times(emit, call);
}

enum upmu_status upmu_results_perf(const struct upmu_results *results, struct upmu_output *output)
{
    static const struct upmu_results_form form = {NULL, perf_write};

    return upmu_results_make(results, output, &form);
}

#else

enum upmu_status upmu_results_perf(const struct upmu_results *results, struct upmu_output *output)
{
    (void)results, (void)output;
    return UPMU_ERR_COMPILED_OUT;
}

#endif
