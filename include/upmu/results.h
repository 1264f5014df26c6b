/* SPDX-License-Identifier: MIT */
/*
 * Results that other programs open: a log of events, samples and counts, and what is made of it:
 * folded stacks (flame graphs), pprof's profile.proto, perf.data.
 *
 * A log is bytes that need neither the session nor the machine to be understood (docs/RESULTS.md).
 * Write one while a session runs, into memory or through a function; make the other forms of it at
 * once, or on another machine by `upmu convert`.
 */
#ifndef UPMU_RESULTS_H
#define UPMU_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <upmu/format.h>
#include <upmu/private/results.h>
#include <upmu/upmu.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Where bytes go ---- */

/*
 * The caller's buffer, or a function: a serial line, a file.
 */
struct upmu_output {
    /* Takes all of `length` bytes, at most 64 at a time, or returns false, and is not called again.
       NULL: `buffer` is filled. */
    bool (*write)(void *context, const void *bytes, size_t length);
    void *context;
    void *buffer;
    size_t size;
    size_t length; /* bytes written; with UPMU_ERR_NO_SPACE of upmu_results_...(): bytes needed */
};

/* ---- The log: writing ---- */

/* Of a log's layout. */
#define UPMU_LOG_VERSION 2u
#define UPMU_LOG_FRAMES 256u /* callers of one sample, at most */

/*
 * Begin a log: `output` must stay until upmu_log_end().  `machine` is a description for people,
 * `time_ns` the present time of the clock that samples have, or 0.
 *
 * Returns UPMU_OK; UPMU_ERR_NO_SPACE (a buffer below 256 bytes); UPMU_ERR_WRITE; UPMU_ERR_COMPILED_OUT.
 * Context: any; one log by one caller at a time, as for all calls below.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_log_begin(struct upmu_log *log, struct upmu_output *output, const char *machine,
                                uint64_t time_ns);

/*
 * The calls below add to a log.  Names are cut behind 1,023 bytes.  UPMU_ERR_NO_SPACE means that the buffer has no
 * room for this and the end: nothing was added, and the log can go on.  UPMU_ERR_WRITE means that `write` returned
 * false: all further calls return it.  UPMU_ERR_STATE means that the log has its end, or never began.
 */

/*
 * Add the events of all sets of a session.  `source` is a number of the caller's for it: one each, below 65,536.
 *
 * Returns UPMU_OK, UPMU_ERR_NO_SPACE (the first events may have been added), UPMU_ERR_WRITE, UPMU_ERR_STATE or
 * UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_log_session(struct upmu_log *log, const struct upmu_session *session, unsigned source);

/*
 * Add counts of a set's events from 0 on, as upmu_set_read() or upmu_set_read() gave them.
 *
 * Returns and context: as upmu_log_session().
 */
UPMU_MUST_CHECK
enum upmu_status upmu_log_counts(struct upmu_log *log, unsigned source, unsigned set, const struct upmu_count *counts,
                                 unsigned count);

/*
 * Add the name of the code from `start` to before `end`.
 *
 * Returns UPMU_OK, UPMU_ERR_INVALID (no code), UPMU_ERR_NO_SPACE, UPMU_ERR_WRITE, UPMU_ERR_STATE or
 * UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_log_symbol(struct upmu_log *log, uint64_t start, uint64_t end, const char *name);

/*
 * Add the name of a thread, by the numbers of upmu_frame.
 *
 * Returns UPMU_OK, UPMU_ERR_NO_SPACE, UPMU_ERR_WRITE, UPMU_ERR_STATE or UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_log_task(struct upmu_log *log, uint32_t process, uint32_t thread, const char *name);

/*
 * Add that a process has the file `name`, from `offset` on, at the addresses from `start` to before `end`.
 *
 * Returns and context: as upmu_log_symbol().
 */
UPMU_MUST_CHECK
enum upmu_status upmu_log_mapping(struct upmu_log *log, uint32_t process, uint64_t start, uint64_t end,
                                  uint64_t offset, const char *name);

/*
 * Add a record of a session's ring, as upmu_ring_view() gave it.  If it finds no room in the log's buffer it is
 * counted in log->cut, and the log says so at its end; that is no failure.
 *
 * Returns UPMU_OK, UPMU_ERR_WRITE, UPMU_ERR_STATE or UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_log_sample(struct upmu_log *log, const struct upmu_record *record, unsigned source);

/*
 * Take all samples out of a session's ring, each as upmu_log_sample() does.
 *
 * Returns as upmu_log_sample(): with an error the sample that failed is still in the ring.
 * Context: any; it is the ring's one reader.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_log_samples(struct upmu_log *log, struct upmu_session *session, unsigned source);

/*
 * Add the end, which a whole log has, with the losses that no sample could report (of the rings of `count` sessions
 * after they stopped; NULL if `count` is 0).
 *
 * Returns UPMU_OK, UPMU_ERR_WRITE, UPMU_ERR_STATE or UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_log_end(struct upmu_log *log, struct upmu_session *const *sessions, unsigned count,
                              uint64_t time_ns);

/* ---- The log: reading ---- */

/* Records of a log, by kind. */
enum upmu_log_kind {
    UPMU_LOG_MACHINE = 1,
    UPMU_LOG_EVENT = 2,
    UPMU_LOG_SYMBOL = 3,
    UPMU_LOG_TASK = 4,
    UPMU_LOG_MAPPING = 5,
    UPMU_LOG_SAMPLE = 6,
    UPMU_LOG_COUNT = 7,
    UPMU_LOG_END = 8
};

/* Text inside a log, without a NUL. */
struct upmu_log_text {
    const char *at; /* the first byte */
    size_t length; /* bytes */
};

/* Words inside a log; not aligned: upmu_log_word(). */
struct upmu_log_words {
    const uint8_t *at; /* the first byte */
    unsigned count;    /* words of 8 bytes */
};

/* A word by its index; 0 behind the last.  Context: any. */
uint64_t upmu_log_word(struct upmu_log_words words, unsigned index);

/* The first record. */
struct upmu_log_machine {
    uint64_t time_ns;          /* at the begin */
    uint32_t version;          /* UPMU_VERSION of the writer */
    struct upmu_log_text name; /* a description for people */
};

/* An event of a session. */
struct upmu_log_event {
    uint16_t source, set;      /* the writer's number of the session; upmu_set.number */
    uint8_t event;             /* its index in the set */
    uint8_t origin;            /* enum upmu_source of its catalogue */
    uint32_t attributes;       /* UPMU_ATTR_... */
    struct upmu_event_id id;   /* valid in builds with the same catalogue */
    uint32_t frequency;        /* samples per second, or 0 */
    uint32_t values;           /* upmu_sampling.values */
    uint64_t config, config1, config2; /* as in struct upmu_event */
    uint64_t period;           /* 0 with frequency 0: counted only */
    uint64_t random_mask;      /* upmu_sampling.random_mask */
    uint64_t event_id;         /* upmu_sampling.event_id */
    struct upmu_log_text name; /* upmu_event_format(); empty without UPMU_NAMES */
    struct upmu_log_text pmu;  /* upmu_pmu.name */
    struct upmu_log_text catalogue; /* empty: raw words */
};

/* A symbol or a mapping. */
struct upmu_log_range {
    uint64_t start, end; /* addresses; `end` is behind the last */
    uint64_t offset;     /* of a mapping: in the file */
    uint32_t process;    /* of a mapping */
    struct upmu_log_text name; /* of the code, or of the file */
};

/* The name of a thread. */
struct upmu_log_task {
    uint32_t process, thread; /* upmu_frame's */
    struct upmu_log_text name; /* of the thread */
};

/* A sample. */
struct upmu_log_sample {
    uint16_t source, set, flags; /* as of its event; UPMU_SAMPLE_... */
    uint32_t cpu, events, process, thread, lost; /* as in upmu_sample and upmu_record */
    uint32_t values;             /* events that `value` is of */
    uint64_t ip, sp, time_ns;    /* as in upmu_sample */
    uint64_t event_id;           /* upmu_sampling.event_id */
    uint64_t period;             /* that ended; 0: not known */
    struct upmu_log_words value; /* counts, the lowest event first */
    struct upmu_log_words frame; /* callers of ip, the nearest first */
};

/* The count of an event. */
struct upmu_log_count {
    uint16_t source, set; /* as of its event */
    uint8_t event;        /* its index in the set */
    uint8_t quality;      /* enum upmu_quality */
    uint32_t lost;        /* as in upmu_count */
    uint64_t value, raw, error, enabled_ns, running_ns; /* as in upmu_count */
};

/* The end. */
struct upmu_log_total {
    uint64_t records; /* before this one */
    uint64_t samples, lost, cut; /* as in struct upmu_log */
    uint64_t time_ns; /* at the end */
};

/* A record: `of` has what its kind says. */
struct upmu_log_item {
    unsigned kind; /* enum upmu_log_kind */
    union {
        struct upmu_log_machine machine; /* UPMU_LOG_MACHINE */
        struct upmu_log_event event;     /* UPMU_LOG_EVENT */
        struct upmu_log_range range;     /* UPMU_LOG_SYMBOL, UPMU_LOG_MAPPING */
        struct upmu_log_task task;       /* UPMU_LOG_TASK */
        struct upmu_log_sample sample;   /* UPMU_LOG_SAMPLE */
        struct upmu_log_count count;     /* UPMU_LOG_COUNT */
        struct upmu_log_total total;     /* UPMU_LOG_END */
    } of; /* by kind */
};

/*
 * Begin to read a log, which must stay unchanged.  All of it is checked: shape, numbers, the check of each record.
 *
 * Returns UPMU_OK; UPMU_ERR_VERSION (of another version); UPMU_ERR_DAMAGED (no log, changed, or without its end);
 * UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_log_open(struct upmu_log_reader *reader, const void *log, size_t bytes);

/* The findings of upmu_log_salvage(). */
struct upmu_log_salvaged {
    uint64_t records; /* that are sound */
    uint64_t dropped; /* damaged ones before the last of these */
    uint64_t left;    /* bytes behind it, of which no record is sound */
    bool ended;       /* it is the end; else the end is missing, and with it what it says of losses */
};

/*
 * Begin to read what is sound of a log that was cut or damaged: each record as it was written or not at all.  The
 * reading ends where the length of a damaged record leads to no sound one.  `upmu_results.salvage` does the same
 * for the forms.  A log that was written over an earlier one must differ from it in machine or time; else clear the
 * memory first.
 *
 * Returns UPMU_OK (also for a whole log); UPMU_ERR_VERSION; UPMU_ERR_DAMAGED (no record is sound);
 * UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_log_salvage(struct upmu_log_reader *reader, const void *log, size_t bytes,
                                  struct upmu_log_salvaged *out_salvaged);

/* The next record of a known kind; false: there is none.  Context: any. */
bool upmu_log_next(struct upmu_log_reader *reader, struct upmu_log_item *out_item);

/* ---- What is made of a log ---- */

/* Code with a name, which needs no NUL. */
struct upmu_symbol {
    uint64_t start, end; /* addresses; `end` is behind the last */
    const char *name;    /* the first byte */
    size_t length;       /* of the name */
};

/* A log and what is needed to convert it. */
struct upmu_results {
    const void *log;  /* as upmu_log_open() takes it */
    size_t log_bytes; /* of the log */
    /* Find the code that holds an address; false: not known.  Must answer the same each time.
       NULL: the symbols in the log. */
    bool (*symbol)(void *context, uint64_t ip, struct upmu_symbol *out_symbol);
    void *context;
    /* Memory for the call, aligned as uint64_t: 40 bytes for each event and symbol of the log; for folded
       stacks and pprof also 48 for each different stack, for pprof 8 for each of its frames. */
    void *work;
    size_t work_bytes;
    /* As upmu_log_salvage() reads the log.  A sample's events that the log does not say are lost ones in the forms. */
    bool salvage;
};

/*
 * Folded stacks: one line of text for each stack, "caller;callee COUNT"; in front the event, if several were sampled.
 * Nothing is written into a buffer that does not hold all of it; the same holds for the other forms.
 *
 * Returns UPMU_OK; those of upmu_log_open(); UPMU_ERR_DAMAGED also where a sample names an event that the log does
 * not have; UPMU_ERR_NO_SPACE (the buffer: output->length is what it needs; the work area: output->length is 0);
 * UPMU_ERR_WRITE (what was written is not whole); UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_results_folded(const struct upmu_results *results, struct upmu_output *output);

/*
 * pprof's profile.proto, not compressed.  Two values for each event: samples, and events that they stand for.
 *
 * Returns and context: as upmu_results_folded().
 */
UPMU_MUST_CHECK
enum upmu_status upmu_results_pprof(const struct upmu_results *results, struct upmu_output *output);

/*
 * perf.data, for perf report and perf script; with --kallsyms they take the names of upmu_results_kallsyms().
 *
 * Returns and context: as upmu_results_folded().
 */
UPMU_MUST_CHECK
enum upmu_status upmu_results_perf(const struct upmu_results *results, struct upmu_output *output);

/*
 * The symbols of the log (never those of `symbol`) in the form of Linux' kallsyms: "ADDRESS t NAME".
 *
 * Returns and context: as upmu_results_folded().
 */
UPMU_MUST_CHECK
enum upmu_status upmu_results_kallsyms(const struct upmu_results *results, struct upmu_output *output);

#ifdef __cplusplus
}
#endif

#endif
