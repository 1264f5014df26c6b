/* SPDX-License-Identifier: MIT */
/*
 * Declarations shared by the writers of a log's results in their forms (perf.data, pprof, folded stacks): tables in the
 * caller's work area, and the two passes of a call, of which the first counts bytes and the second writes them.
 */
#ifndef UPMU_CORE_RESULTS_CORE_H
#define UPMU_CORE_RESULTS_CORE_H

#include <upmu/precise.h>
#include <upmu/results.h>

/*
 * A sampled event of a log. Events of several sources and sets with the same encoding, name and PMU, and the same
 * period or frequency, are one kind.
 */
struct upmu_results_event {
    uint64_t period;
    uint32_t at;   /* position of the event's record in the log, in words of 8 bytes */
    uint16_t source, set;
    uint16_t kind; /* number of the event's kind: kinds are numbered in the order in which the log first has them */
    uint16_t next; /* 1 + index in the table of the next event of the same kind; 0: this is the last */
    uint16_t head; /* in row k of the table, whatever event it has: index of the first event of kind k */
    uint16_t any;  /* index of the first event in the log with the same source and the same `event`, in any set */
    uint8_t event;
    bool first;    /* no earlier event of the log is of this kind */
    uint32_t lost; /* periods that had no sample, as the last count record of the event states */
};

/* In an element of upmu_results_call.order: the number of low bits that are an index in upmu_results_call.event. */
#define UPMU_RESULTS_EVENT_BITS 16u

/* A symbol of the log. */
struct upmu_results_symbol {
    uint64_t start, end;
    uint64_t at; /* position of the symbol's record in the log, in words of 8 bytes */
};

/* All samples of one kind of event that have the same stack. */
struct upmu_results_stack {
    uint64_t hash;
    uint64_t samples;
    uint64_t events; /* how many events the samples stand for: the sum of their periods */
    uint32_t at;     /* position in the log of the first sample with this stack, in words of 8 bytes */
    uint32_t next;   /* 1 + index of the next stack in the same list of the hash table; 0: none follows */
    uint16_t kind;
};

/* The state of one call of a upmu_results_...() function. */
struct upmu_results_call {
    const struct upmu_results *results;
    struct upmu_log_reader reader;
    uint8_t *work;
    size_t work_left;
    struct upmu_results_event *event;
    uint64_t *order; /* sorted: of each event, from the high bits down, its source, event, set, and index in `event` */
    unsigned events, kinds;
    struct upmu_results_symbol *symbol;
    uint32_t symbols;
    struct upmu_results_stack *stack;
    uint32_t stacks;
    uint64_t *address; /* pprof: all addresses that occur in stacks, each once, rising */
    uint32_t addresses;
    uint64_t lost;       /* samples of all kinds that found no room in a ring or the log, or whose event is missing */
    uint64_t begin_ns, end_ns;
    bool by_symbol;      /* for the comparison of stacks, all addresses of one symbol are the same */
    bool frames;         /* at least one sample of the log has callers' addresses */
#if UPMU_PRECISE
    unsigned parts; /* UPMU_PART_…: those that at least one sample of the log has */
#endif
    struct upmu_log_text machine;
};

/* A form of results: the function that makes its own tables, and the function that writes it. */
struct upmu_results_form {
    enum upmu_status (*prepare)(struct upmu_results_call *call); /* NULL: the form has no tables of its own */
    void (*write)(struct upmu_emit *emit, struct upmu_results_call *call);
};

/* Read a log and write its results in a form: the whole work of a public upmu_results_...() function. */
enum upmu_status upmu_results_make(const struct upmu_results *results, struct upmu_output *output,
                                   const struct upmu_results_form *form);

/*
 * Return the sampled event that bit `event` of sample->events stands for. If the log has none with the sample's set,
 * the source and the bit decide alone. NULL: the log has no such event.
 */
const struct upmu_results_event *upmu_results_event_of(const struct upmu_results_call *call,
                                                       const struct upmu_log_sample *sample, unsigned event);

/* Return the first event of kind number `kind`; *out_event gets its record in the log. */
const struct upmu_results_event *upmu_results_kind(const struct upmu_results_call *call, unsigned kind,
                                                   struct upmu_log_event *out_event);

/* Write the name of an event: the text of its specification or, if the log has none, "raw-0x" and its config. */
void upmu_results_name(struct upmu_emit *emit, const struct upmu_log_event *event);

/*
 * Write text that is part of a line; characters that separate frames or lines, and such as are not ASCII, are replaced.
 */
void upmu_results_text(struct upmu_emit *emit, const char *text, size_t length);

/* Find the symbol that contains an address: by the caller's function if there is one, else in the log; false: none. */
bool upmu_results_symbol_of(const struct upmu_results_call *call, uint64_t ip, struct upmu_symbol *out_symbol);

/* Fill in call->stack from the log's samples. With call->by_symbol, stacks with the same symbols are one stack. */
enum upmu_status upmu_results_stacks(struct upmu_results_call *call);

/* Read the log's record at position `at`, in words of 8 bytes; upmu_results_make() has checked that there is one. */
void upmu_results_item(const struct upmu_results_call *call, uint64_t at, struct upmu_log_item *out_item);

/* Sort `count` rows of `words` words each, by the first word of a row, rising. */
void upmu_results_sort(uint64_t *rows, size_t count, unsigned words);

/* Return room for `count` rows of `bytes` bytes, taken from the call's work area; NULL: too little is left. */
void *upmu_results_room(struct upmu_results_call *call, size_t count, size_t bytes);

/* Return the number of events that a sample stands for: the period that it states, else the period of its event. */
static inline uint64_t upmu_results_period(const struct upmu_log_sample *sample, const struct upmu_results_event *event)
{
    return sample->period ? sample->period : event->period;
}

/* Flags of a sample that has no address.  Its stack is not equal to that of a sample at address 0. */
#define UPMU_RESULTS_HIDES (UPMU_SAMPLE_NO_FRAME | UPMU_SAMPLE_HIDDEN)

/* Return the flags of a sample; without UPMU_SAMPLE_NO_FRAME where a precise sample has an address all the same. */
static inline uint16_t upmu_results_flags(const struct upmu_log_sample *sample)
{
#if UPMU_PRECISE
    if (sample->flags & UPMU_SAMPLE_PRECISE)
        return (uint16_t)(sample->flags & ~UPMU_SAMPLE_NO_FRAME);
#endif
    return sample->flags;
}

#endif
