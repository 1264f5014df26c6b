/* SPDX-License-Identifier: MIT */
/*
 * Functions for all forms of a log's results (struct upmu_results_form). A call reads the log into its tables, then
 * writes. Before it writes into a buffer, it counts the bytes in a first pass: if these do not fit, nothing is written,
 * and output->length says how many are needed.
 */
#include "core/results/results_core.h"
#include "core/results/emit.h"
#include "core/results/log_core.h"
#include "core/util/bits.h"
#include "core/util/mem.h"

#if UPMU_RESULTS

#define LOG_WORDS 0x7ffffff8u /* the most words of 8 bytes in a log: positions in it are 32-bit numbers of words */

void *upmu_results_room(struct upmu_results_call *call, size_t count, size_t bytes)
{
    uint8_t *room = call->work;

    if (count > call->work_left / bytes)
        return NULL;
    call->work += count * bytes;
    call->work_left -= count * bytes;
    return room;
}

void upmu_results_item(const struct upmu_results_call *call, uint64_t at, struct upmu_log_item *out_item)
{
    (void)upmu_log_item_at(&call->reader, (size_t)at * 8u, out_item);
}

/* Sift the row at `at` down the heap of `count` rows, until no row below it has a greater first word. */
static void heap_sift(uint64_t *rows, size_t at, size_t count, unsigned words)
{
    size_t below;
    unsigned i;

    while ((below = 2 * at + 1) < count) {
        below += below + 1 < count && rows[(below + 1) * words] > rows[below * words];
        if (rows[at * words] >= rows[below * words])
            return;
        for (i = 0; i < words; i++) {
            uint64_t word = rows[at * words + i];

            rows[at * words + i] = rows[below * words + i];
            rows[below * words + i] = word;
        }
        at = below;
    }
}

void upmu_results_sort(uint64_t *rows, size_t count, unsigned words)
{
    size_t i;
    unsigned k;

    for (i = count / 2; i-- > 0;)
        heap_sift(rows, i, count, words);
    for (i = count; i-- > 1;) {
        for (k = 0; k < words; k++) {
            uint64_t word = rows[k];

            rows[k] = rows[i * words + k];
            rows[i * words + k] = word;
        }
        heap_sift(rows, 0, i, words);
    }
}

/* ---- Events ---- */

static bool texts_equal(struct upmu_log_text a, struct upmu_log_text b)
{
    return a.length == b.length && memcmp(a.at, b.at, a.length) == 0;
}

/* Are two events, of any source and set, of one kind: the same event with the same period or frequency? */
static bool one_kind(const struct upmu_log_event *a, const struct upmu_log_event *b)
{
    return a->config == b->config && a->config1 == b->config1 && a->config2 == b->config2 &&
           a->period == b->period && a->frequency == b->frequency && texts_equal(a->name, b->name) &&
           texts_equal(a->pmu, b->pmu);
}

static enum upmu_status event_add(struct upmu_results_call *call, const struct upmu_log_event *event, size_t at)
{
    struct upmu_results_event *row = upmu_results_room(call, 1, sizeof *row);

    if (!row || call->events == 0xffff)
        return UPMU_ERR_NO_SPACE;
    memset(row, 0, sizeof *row);
    row->period = event->period;
    row->at = (uint32_t)(at / 8u);
    row->source = event->source;
    row->set = event->set;
    row->event = event->event;
    if (!call->event)
        call->event = row;
    call->events++;
    return UPMU_OK;
}

static void kind_record(const struct upmu_results_call *call, unsigned index, struct upmu_log_event *out_event)
{
    struct upmu_log_item item;

    upmu_results_item(call, call->event[index].at, &item);
    *out_event = item.of.event;
}

/* Return a hash that is the same for all events of one kind; its UPMU_RESULTS_EVENT_BITS low bits are 0. */
static uint64_t kind_hash(const struct upmu_log_event *event)
{
    const uint64_t words[] = {event->config, event->config1, event->config2, event->period, event->frequency,
                              upmu_emit_crc(0, event->name.at, event->name.length),
                              upmu_emit_crc(0, event->pmu.at, event->pmu.length)};
    uint64_t hash = 0;
    unsigned i;

    for (i = 0; i < sizeof words / sizeof *words; i++) {
        hash = (hash ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return hash << UPMU_RESULTS_EVENT_BITS;
}

static unsigned order_event(uint64_t row)
{
    return (unsigned)(row & ((1u << UPMU_RESULTS_EVENT_BITS) - 1u));
}

/*
 * Append the event at `place` in call->order to the list (`next`) of the events of its kind, or begin a new kind. In
 * call->order, events with the same hash stand together, from `group` on, and those of one kind have the same hash.
 * Until kinds_number() two fields have another meaning, in the first event of each kind: `kind` is the index of the
 * last event of this kind so far; `head` is the index of the first event of the next kind with the same hash, or the
 * event's own index if there is no next kind.
 */
static void kind_join(struct upmu_results_call *call, unsigned place, unsigned group)
{
    unsigned index = order_event(call->order[place]), first = order_event(call->order[group]);
    struct upmu_results_event *rows = call->event, *row = &rows[index];
    struct upmu_log_event event, other;

    row->kind = row->head = (uint16_t)index;
    kind_record(call, index, &event);
    while (place != group) {
        kind_record(call, first, &other);
        if (one_kind(&event, &other)) {
            rows[rows[first].kind].next = (uint16_t)(index + 1u);
            rows[first].kind = (uint16_t)index;
            return;
        }
        if (rows[first].head == first)
            break;
        first = rows[first].head;
    }
    if (place != group)
        rows[first].head = (uint16_t)index;
    row->first = true;
}

/* Number the kinds in the order in which their first events stand in the log, and set `kind` and `head` to these. */
static void kinds_number(struct upmu_results_call *call)
{
    struct upmu_results_event *rows = call->event;
    unsigned i, member;

    for (i = 0; i < call->events; i++) {
        if (!rows[i].first)
            continue;
        for (member = i + 1; member; member = rows[member - 1].next)
            rows[member - 1].kind = (uint16_t)call->kinds;
        rows[call->kinds++].head = (uint16_t)i;
    }
}

static uint64_t order_key(unsigned source, unsigned event, unsigned set)
{
    return ((uint64_t)source << 24 | (uint64_t)event << 16 | set) << UPMU_RESULTS_EVENT_BITS;
}

/*
 * For each source and event index store, in `any` of all events that have them, the one of these events that is first
 * in the log. Such events stand together in call->order.
 */
static void order_join(struct upmu_results_call *call)
{
    unsigned i, begin = 0, k, any = 0;

    for (i = 0; i < call->events; i++) {
        unsigned index = order_event(call->order[i]);

        any = i == begin || index < any ? index : any;
        if (i + 1 < call->events && call->order[i + 1] >> 32 == call->order[i] >> 32)
            continue;
        for (k = begin; k <= i; k++)
            call->event[order_event(call->order[k])].any = (uint16_t)any;
        begin = i + 1;
    }
}

/*
 * Sort the events by the hash of their kind, and number the kinds. Then sort them by source, index and set, by which
 * samples are looked up, and leave them in call->order.
 */
static enum upmu_status events_order(struct upmu_results_call *call)
{
    struct upmu_log_event event;
    unsigned i, group = 0;

    call->order = upmu_results_room(call, call->events, sizeof *call->order);
    if (call->events && !call->order)
        return UPMU_ERR_NO_SPACE;
    for (i = 0; i < call->events; i++) {
        kind_record(call, i, &event);
        call->order[i] = kind_hash(&event) | i;
    }
    upmu_results_sort(call->order, call->events, 1);
    for (i = 0; i < call->events; i++) {
        if ((call->order[i] ^ call->order[group]) >> UPMU_RESULTS_EVENT_BITS)
            group = i;
        kind_join(call, i, group);
    }
    kinds_number(call);
    for (i = 0; i < call->events; i++)
        call->order[i] = order_key(call->event[i].source, call->event[i].event, call->event[i].set) | i;
    upmu_results_sort(call->order, call->events, 1);
    order_join(call);
    return UPMU_OK;
}

/* A sample whose record has no extension does not state its set (0): then source and index decide. */
const struct upmu_results_event *upmu_results_event_of(const struct upmu_results_call *call,
                                                       const struct upmu_log_sample *sample, unsigned event)
{
    uint64_t key = order_key(sample->source, event, sample->set);
    const struct upmu_results_event *row;
    size_t low = 0, high = call->events;

    while (low < high) { /* find the first entry of call->order that is not below the key */
        size_t middle = low + (high - low) / 2;

        if (call->order[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < call->events && (call->order[low] ^ key) >> UPMU_RESULTS_EVENT_BITS == 0)
        return &call->event[order_event(call->order[low])];
    /* No element has this set. The element before may have the same source and event, with a lower set. */
    low -= low == call->events || (call->order[low] ^ key) >> 32 != 0;
    if (low >= call->events || (call->order[low] ^ key) >> 32 != 0)
        return NULL;
    row = &call->event[order_event(call->order[low])];
    return &call->event[row->any];
}

const struct upmu_results_event *upmu_results_kind(const struct upmu_results_call *call, unsigned kind,
                                                   struct upmu_log_event *out_event)
{
    unsigned first = call->event[kind].head;

    kind_record(call, first, out_event);
    return &call->event[first];
}

void upmu_results_name(struct upmu_emit *emit, const struct upmu_log_event *event)
{
    upmu_results_text(emit, event->name.at, event->name.length);
    if (event->name.length)
        return;
    upmu_emit_string(emit, "raw-0x");
    upmu_emit_hex(emit, event->config, 1);
}

static unsigned plain_character(unsigned char c)
{
    if (c == ';')
        return ':';
    return c < 32 ? '_' : c < 127 ? c : '?';
}

/*
 * Characters with a meaning in a form are replaced: a ';' separates the frames of a folded stack, a newline ends a
 * line, and profile.proto must be UTF-8.
 */
void upmu_results_text(struct upmu_emit *emit, const char *text, size_t length)
{
    while (length--)
        upmu_emit_byte(emit, plain_character((unsigned char)*text++));
}

/* ---- Symbols ---- */

bool upmu_results_symbol_of(const struct upmu_results_call *call, uint64_t ip, struct upmu_symbol *out_symbol)
{
    const struct upmu_results *results = call->results;
    size_t low = 0, high = call->symbols;
    struct upmu_log_item item;

    if (results->symbol)
        return results->symbol(results->context, ip, out_symbol);
    while (low < high) { /* find the first symbol that begins behind `ip`: only the one before it can contain `ip` */
        size_t middle = low + (high - low) / 2;

        if (call->symbol[middle].start <= ip)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || ip >= call->symbol[low - 1].end)
        return false;
    upmu_results_item(call, call->symbol[low - 1].at, &item);
    out_symbol->start = call->symbol[low - 1].start;
    out_symbol->end = call->symbol[low - 1].end;
    out_symbol->name = item.of.range.name.at;
    out_symbol->length = item.of.range.name.length;
    return true;
}

static enum upmu_status symbols_add(struct upmu_results_call *call)
{
    struct upmu_log_reader reader = call->reader;
    struct upmu_log_item item;

    while (upmu_log_next(&reader, &item)) {
        struct upmu_results_symbol *row;

        if (item.kind != UPMU_LOG_SYMBOL)
            continue;
        row = upmu_results_room(call, 1, sizeof *row);
        if (!row)
            return UPMU_ERR_NO_SPACE;
        row->start = item.of.range.start;
        row->end = item.of.range.end;
        row->at = reader.item / 8u;
        if (!call->symbol)
            call->symbol = row;
        call->symbols++;
    }
    if (call->symbols)
        upmu_results_sort(&call->symbol->start, call->symbols, sizeof *call->symbol / 8u);
    return UPMU_OK;
}

/* ---- Stacks ---- */

/*
 * Return frame `index` of a sample (0: the sample's own address; 1: the caller): the frame's address or, with
 * call->by_symbol, the first address of the symbol that contains it.
 */
static uint64_t frame_of(const struct upmu_results_call *call, const struct upmu_log_sample *sample, unsigned index)
{
    uint64_t ip = index ? upmu_log_word(sample->frame, index - 1) : sample->ip;
    struct upmu_symbol symbol;

    return call->by_symbol && upmu_results_symbol_of(call, ip, &symbol) ? symbol.start : ip;
}

static uint64_t stack_hash(const struct upmu_results_call *call, const struct upmu_log_sample *sample, unsigned kind)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) + kind +
                    ((uint64_t)(upmu_results_flags(sample) & UPMU_RESULTS_HIDES) << 32);
    unsigned i;

    for (i = 0; i <= sample->frame.count; i++) {
        hash = (hash ^ frame_of(call, sample, i)) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return hash;
}

static bool stacks_equal(const struct upmu_results_call *call, const struct upmu_results_stack *stack,
                         const struct upmu_log_sample *sample)
{
    struct upmu_log_item item;
    unsigned i;

    upmu_results_item(call, stack->at, &item);
    if (item.of.sample.frame.count != sample->frame.count ||
        ((upmu_results_flags(&item.of.sample) ^ upmu_results_flags(sample)) & UPMU_RESULTS_HIDES))
        return false;
    for (i = 0; i <= sample->frame.count; i++)
        if (frame_of(call, &item.of.sample, i) != frame_of(call, sample, i))
            return false;
    return true;
}

static enum upmu_status stack_add(struct upmu_results_call *call, uint32_t *list, const struct upmu_log_sample *sample,
                                  size_t at, const struct upmu_results_event *event, uint64_t hash)
{
    uint32_t index;
    struct upmu_results_stack *stack;

    for (index = *list; index; index = stack->next) {
        stack = &call->stack[index - 1];
        if (stack->hash == hash && stack->kind == event->kind && stacks_equal(call, stack, sample))
            break;
    }
    if (!index) {
        stack = upmu_results_room(call, 1, sizeof *stack);
        if (!stack)
            return UPMU_ERR_NO_SPACE;
        memset(stack, 0, sizeof *stack);
        stack->hash = hash;
        stack->at = (uint32_t)(at / 8u);
        stack->kind = event->kind;
        stack->next = *list;
        *list = ++call->stacks;
    }
    stack->samples++;
    stack->events += upmu_results_period(sample, event);
    return UPMU_OK;
}

enum upmu_status upmu_results_stacks(struct upmu_results_call *call)
{
    struct upmu_log_reader reader = call->reader;
    struct upmu_log_item item;
    enum upmu_status status = UPMU_OK;
    size_t lists = 2;
    uint32_t *list;
    uint32_t events;

    while (lists * 2 * (sizeof *list + sizeof *call->stack) <= call->work_left)
        lists *= 2;
    list = upmu_results_room(call, lists / 2, 2 * sizeof *list);
    if (!list)
        return UPMU_ERR_NO_SPACE;
    memset(list, 0, lists * sizeof *list);
    call->stack = (void *)call->work;
    while (status == UPMU_OK && upmu_log_next(&reader, &item)) {
        const struct upmu_log_sample *sample = &item.of.sample;

        if (item.kind != UPMU_LOG_SAMPLE)
            continue;
        for (events = sample->events; events && status == UPMU_OK; events &= events - 1u) {
            const struct upmu_results_event *event = upmu_results_event_of(call, sample, upmu_bits_lowest(events));
            uint64_t hash;

            if (!event) /* a salvaged log */
                continue;
            hash = stack_hash(call, sample, event->kind);
            status = stack_add(call, &list[(hash >> 32 ^ hash) & (lists - 1)], sample, reader.item,
                               event, hash);
        }
    }
    return status;
}

/* ---- The call ---- */

/* Return how many of a sample's events are not in call->event. */
static unsigned events_unknown(const struct upmu_results_call *call, const struct upmu_log_sample *sample)
{
    unsigned unknown = 0;
    uint32_t events;

    for (events = sample->events; events; events &= events - 1u)
        unknown += !upmu_results_event_of(call, sample, upmu_bits_lowest(events));
    return unknown;
}

/*
 * Store in call->event how many periods of an event had no sample. Each count record has the total from the event's
 * start on, so that the last one of an event in the log decides.
 */
static void lost_add(struct upmu_results_call *call, const struct upmu_log_count *count)
{
    const struct upmu_log_sample of = {.source = count->source, .set = count->set};
    const struct upmu_results_event *row = upmu_results_event_of(call, &of, count->event);

    if (row && row->set == count->set)
        call->event[row - call->event].lost = count->lost;
}

static enum upmu_status look_through(struct upmu_results_call *call)
{
    struct upmu_log_reader reader = call->reader;
    struct upmu_log_item item;
    enum upmu_status status = UPMU_OK;
    uint64_t reported = 0;
    unsigned unknown;
    bool ended = false;

    while (status == UPMU_OK && upmu_log_next(&reader, &item)) {
        if (item.kind == UPMU_LOG_MACHINE) {
            call->machine = item.of.machine.name;
            call->begin_ns = item.of.machine.time_ns;
        } else if (item.kind == UPMU_LOG_EVENT && (item.of.event.period || item.of.event.frequency)) {
            status = event_add(call, &item.of.event, reader.item);
        } else if (item.kind == UPMU_LOG_END) {
            ended = true;
            call->lost = item.of.total.lost + item.of.total.cut;
            call->end_ns = item.of.total.time_ns;
        }
    }
    if (status == UPMU_OK)
        status = events_order(call);
    for (reader = call->reader; status == UPMU_OK && upmu_log_next(&reader, &item);) {
        if (item.kind == UPMU_LOG_COUNT)
            lost_add(call, &item.of.count);
        if (item.kind != UPMU_LOG_SAMPLE)
            continue;
        call->frames |= item.of.sample.frame.count != 0;
#if UPMU_PRECISE
        call->parts |= item.of.sample.parts;
#endif
        unknown = events_unknown(call, &item.of.sample);
        status = !unknown || call->results->salvage ? UPMU_OK : UPMU_ERR_DAMAGED;
        call->lost += unknown;
        reported += item.of.sample.lost;
    }
    if (!ended) /* a salvaged log without its end: only the samples say how many before them were lost */
        call->lost += reported;
    return status;
}

static enum upmu_status write_all(struct upmu_results_call *call, struct upmu_output *output,
                                  const struct upmu_results_form *form)
{
    struct upmu_emit emit;

    if (!output->write) {
        upmu_emit_begin(&emit, NULL);
        form->write(&emit, call);
        if (emit.length > output->size) {
            output->length = emit.length;
            return UPMU_ERR_NO_SPACE;
        }
    }
    upmu_emit_begin(&emit, output);
    form->write(&emit, call);
    return upmu_emit_flush(&emit) ? UPMU_OK : UPMU_ERR_WRITE;
}

enum upmu_status upmu_results_make(const struct upmu_results *results, struct upmu_output *output,
                                   const struct upmu_results_form *form)
{
    struct upmu_log_salvaged salvaged;
    struct upmu_results_call call;
    enum upmu_status status;

    memset(&call, 0, sizeof call);
    call.results = results;
    call.work = results->work;
    call.work_left = results->work_bytes & ~(size_t)7;
    output->length = 0;
    status = UPMU_ERR_NO_SPACE;
    if (results->log_bytes / 8u <= LOG_WORDS)
        status = results->salvage ? upmu_log_salvage(&call.reader, results->log, results->log_bytes, &salvaged)
                                  : upmu_log_open(&call.reader, results->log, results->log_bytes);
    if (status == UPMU_OK)
        status = look_through(&call);
    if (status == UPMU_OK && !results->symbol)
        status = symbols_add(&call);
    if (status == UPMU_OK && form->prepare)
        status = form->prepare(&call);
    return status == UPMU_OK ? write_all(&call, output, form) : status;
}

/* ---- The symbols of a log, as /proc/kallsyms has them ---- */

static void kallsyms_write(struct upmu_emit *emit, struct upmu_results_call *call)
{
    struct upmu_log_item item;
    uint32_t i;

    for (i = 0; i < call->symbols; i++) {
        upmu_results_item(call, call->symbol[i].at, &item);
        upmu_emit_hex(emit, call->symbol[i].start, 16);
        upmu_emit_string(emit, " t ");
        upmu_results_text(emit, item.of.range.name.at, item.of.range.name.length);
        upmu_emit_byte(emit, '\n');
    }
}

enum upmu_status upmu_results_kallsyms(const struct upmu_results *results, struct upmu_output *output)
{
    static const struct upmu_results_form form = {NULL, kallsyms_write};
    struct upmu_results own = *results;

    own.symbol = NULL;
    return upmu_results_make(&own, output, &form);
}

#else

enum upmu_status upmu_results_kallsyms(const struct upmu_results *results, struct upmu_output *output)
{
    (void)results, (void)output;
    return UPMU_ERR_COMPILED_OUT;
}

#endif
