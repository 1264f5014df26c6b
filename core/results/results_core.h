/* SPDX-License-Identifier: MIT */
/*
 * Declarations for all forms of a log's results: tables in the caller's work area, and the two passes of a call, of
 * which the first counts bytes and the second writes them.
 */
#ifndef UPMU_CORE_RESULTS_CORE_H
#define UPMU_CORE_RESULTS_CORE_H

#include <upmu/results.h>

/* An event of a log that is sampled. Equal events of several sources are one kind. */
struct upmu_results_event {
    uint64_t period;
    uint32_t at;   /* position of the event's record in the log, in words of 8 bytes */
    uint16_t source, set;
    uint16_t kind; /* number of the event's kind, in the order of the kinds' first events */
    uint16_t next; /* 1 + index of the next event of the same kind; 0: none follows */
    uint16_t head; /* index of the first event of the kind that has this row's number */
    uint16_t any;  /* index of the first event with its source and index, in any set */
    uint8_t event;
    bool first;    /* the event is the first of its kind */
    uint32_t lost; /* periods without a sample, by the event's last count */
};

/* Bits of an event's index in the sorted table. */
#define UPMU_RESULTS_EVENT_BITS 16u

/* A symbol of the log. */
struct upmu_results_symbol {
    uint64_t start, end;
    uint64_t at;
};

/* Samples of one kind of event that have the same stack. */
struct upmu_results_stack {
    uint64_t hash;
    uint64_t samples;
    uint64_t events; /* events that the samples stand for: the sum of their periods */
    uint32_t at;     /* position of the first sample in the log, in words of 8 bytes */
    uint32_t next;   /* 1 + index of the next stack in the same list; 0: none follows */
    uint16_t kind;
};

/* The state of a call. */
struct upmu_results_call {
    const struct upmu_results *results;
    struct upmu_log_reader reader;
    uint8_t *work;
    size_t work_left;
    struct upmu_results_event *event;
    uint64_t *order; /* sorted: for each event its source, index, set, and place in `event` */
    unsigned events, kinds;
    struct upmu_results_symbol *symbol;
    uint32_t symbols;
    struct upmu_results_stack *stack;
    uint32_t stacks;
    uint64_t *address; /* pprof: all addresses of stacks, rising */
    uint32_t addresses;
    uint64_t lost;       /* samples lost or cut, of all kinds */
    uint64_t begin_ns, end_ns;
    bool by_symbol;      /* addresses of one symbol are one frame */
    bool frames;         /* some sample has callers */
    struct upmu_log_text machine;
};

/* A form of results: how its tables are made, and how it is written. */
struct upmu_results_form {
    enum upmu_status (*prepare)(struct upmu_results_call *call); /* or NULL */
    void (*write)(struct upmu_emit *emit, struct upmu_results_call *call);
};

/* Do all that a call of upmu_results_...() does, in one of the forms. */
enum upmu_status upmu_results_make(const struct upmu_results *results, struct upmu_output *output,
                                   const struct upmu_results_form *form);

/* Return the sampled event that bit `event` of sample->events stands for; NULL: the log has no such event. */
const struct upmu_results_event *upmu_results_event_of(const struct upmu_results_call *call,
                                                       const struct upmu_log_sample *sample, unsigned event);

/* Return the first event of a kind, and in *out_event its record in the log. */
const struct upmu_results_event *upmu_results_kind(const struct upmu_results_call *call, unsigned kind,
                                                   struct upmu_log_event *out_event);

/* Write the name of an event: the text of its specification, or "raw-" and its select word. */
void upmu_results_name(struct upmu_emit *emit, const struct upmu_log_event *event);

/* Write text for a line; characters that separate frames or lines are replaced. */
void upmu_results_text(struct upmu_emit *emit, const char *text, size_t length);

/* Find the symbol that contains an address; false: none does. */
bool upmu_results_symbol_of(const struct upmu_results_call *call, uint64_t ip, struct upmu_symbol *out_symbol);

/* Fill in call->stack. With call->by_symbol, stacks are equal if their symbols are. */
enum upmu_status upmu_results_stacks(struct upmu_results_call *call);

/* Read the record at `at` words of 8 bytes from the start of the log, which upmu_results_make() has checked. */
void upmu_results_item(const struct upmu_results_call *call, uint64_t at, struct upmu_log_item *out_item);

/* Sort rows of `words` words by their first word, rising. */
void upmu_results_sort(uint64_t *rows, size_t count, unsigned words);

/* Take `count` rows of `bytes` bytes from the work area; NULL: there is no room. */
void *upmu_results_room(struct upmu_results_call *call, size_t count, size_t bytes);

/* Return the number of events that a sample stands for. */
static inline uint64_t upmu_results_period(const struct upmu_log_sample *sample, const struct upmu_results_event *event)
{
    return sample->period ? sample->period : event->period;
}

#endif
