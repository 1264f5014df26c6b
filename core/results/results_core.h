/* SPDX-License-Identifier: MIT */
/*
 * Declarations for all forms of a log: tables in the caller's work area, and the two passes of a call, one that counts
 * bytes and one that writes them.
 */
#ifndef UPMU_CORE_RESULTS_CORE_H
#define UPMU_CORE_RESULTS_CORE_H

#include <upmu/results.h>

/* Events of a log that are sampled.  Events of several sources that are the same are one kind. */
struct upmu_results_event {
    uint64_t period;
    uint32_t at;   /* in the log, in words of 8 bytes */
    uint16_t source, set;
    uint16_t kind; /* from 0 on, in the order of their first events */
    uint16_t next; /* 1 + the next event of its kind; 0: none */
    uint16_t head; /* the first event of the kind with this row's number */
    uint16_t any;  /* the first event with its source and index, in any set */
    uint8_t event;
    bool first;    /* of its kind */
    uint32_t lost; /* its periods without a sample, by its last count */
};

/* Events are numbers of 16 bits in the table that finds them. */
#define UPMU_RESULTS_EVENT_BITS 16u

/* A symbol of the log. */
struct upmu_results_symbol {
    uint64_t start, end;
    uint64_t at;
};

/* Samples of one kind with the same stack. */
struct upmu_results_stack {
    uint64_t hash;
    uint64_t samples;
    uint64_t events; /* that they stand for: the sum of their periods */
    uint32_t at;     /* of the first of them */
    uint32_t next;   /* in its list, 1 + index; 0: none */
    uint16_t kind;
};

/* The state of a call. */
struct upmu_results_call {
    const struct upmu_results *results;
    struct upmu_log_reader reader;
    uint8_t *work;
    size_t work_left;
    struct upmu_results_event *event;
    uint64_t *order; /* of each event: source, index, set and its place, rising */
    unsigned events, kinds;
    struct upmu_results_symbol *symbol;
    uint32_t symbols;
    struct upmu_results_stack *stack;
    uint32_t stacks;
    uint64_t *address; /* pprof: all that occur, rising */
    uint32_t addresses;
    uint64_t lost;       /* of all kinds, and cut */
    uint64_t begin_ns, end_ns;
    bool by_symbol;      /* addresses of one symbol are one frame */
    bool frames;         /* some sample has callers */
    struct upmu_log_text machine;
};

/* A form: the tables that it needs, and how it is written. */
struct upmu_results_form {
    enum upmu_status (*prepare)(struct upmu_results_call *call); /* or NULL */
    void (*write)(struct upmu_emit *emit, struct upmu_results_call *call);
};

/* All of a call of upmu_results_...(). */
enum upmu_status upmu_results_make(const struct upmu_results *results, struct upmu_output *output,
                                   const struct upmu_results_form *form);

/* The sampled event of a bit of sample->events; NULL: there is none. */
const struct upmu_results_event *upmu_results_event_of(const struct upmu_results_call *call,
                                                       const struct upmu_log_sample *sample, unsigned event);

/* The i-th kind's first event, and its record in the log. */
const struct upmu_results_event *upmu_results_kind(const struct upmu_results_call *call, unsigned kind,
                                                   struct upmu_log_event *out_event);

/* The name of an event: the text of its specification, or "raw-" and its select word. */
void upmu_results_name(struct upmu_emit *emit, const struct upmu_log_event *event);

/* Text for a line of text: what separates is replaced. */
void upmu_results_text(struct upmu_emit *emit, const char *text, size_t length);

/* The symbol that holds an address. */
bool upmu_results_symbol_of(const struct upmu_results_call *call, uint64_t ip, struct upmu_symbol *out_symbol);

/* Fill in call->stack; by symbol if call->by_symbol. */
enum upmu_status upmu_results_stacks(struct upmu_results_call *call);

/* Record of the log at a multiple of 8 bytes, which upmu_results_make() has checked. */
void upmu_results_item(const struct upmu_results_call *call, uint64_t at, struct upmu_log_item *out_item);

/* Sort rows of `words` words by their first, rising. */
void upmu_results_sort(uint64_t *rows, size_t count, unsigned words);

/* So many rows from the work area; NULL: there is no room. */
void *upmu_results_room(struct upmu_results_call *call, size_t count, size_t bytes);

/* Events that a sample stands for. */
static inline uint64_t upmu_results_period(const struct upmu_log_sample *sample, const struct upmu_results_event *event)
{
    return sample->period ? sample->period : event->period;
}

#endif
