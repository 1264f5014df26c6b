/* SPDX-License-Identifier: MIT */
/*
 * Results that other programs open: a log of events, samples and counts, and the forms into which a log is converted:
 * folded stacks (flame graphs), pprof's profile.proto, perf.data.
 *
 * A log is a sequence of bytes that can be read without the session and the machine that it is from (docs/RESULTS.md).
 * Write a log while a session runs, into memory or through a function.  Convert it at once, or on another machine by
 * `upmu convert`.
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
 * An output: the caller's buffer, or the caller's function that sends bytes to a serial line, a file, ...
 */
struct upmu_output {
    /* Takes all of `length` bytes, at most 64 at a time, or returns false; after that it is not called again.
       NULL: bytes go to `buffer`. */
    bool (*write)(void *context, const void *bytes, size_t length);
    void *context; /* for `write` */
    void *buffer;
    size_t size;   /* bytes of `buffer` */
    /* number of bytes written; after UPMU_ERR_NO_SPACE of upmu_results_...() the bytes that `buffer` needs */
    size_t length;
};

/* ---- The log: writing events, samples, counts and names into an output ---- */

/* Version of a log's layout. */
#define UPMU_LOG_VERSION 2u
#define UPMU_LOG_FRAMES 256u /* the most callers of one sample */

/*
 * Begin a log: `output` must stay until upmu_log_end().  `machine` is a text that describes the machine for a reader,
 * `time_ns` the present time of the clock that samples have, or 0.
 *
 * Returns UPMU_OK; UPMU_ERR_NO_SPACE (a buffer below 256 bytes, or without room for `machine`); UPMU_ERR_WRITE;
 * UPMU_ERR_COMPILED_OUT.
 * Context: any.  Calls on one log, here and below, are made one at a time.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_log_begin(struct upmu_log *log, struct upmu_output *output, const char *machine,
                                uint64_t time_ns);

/*
 * The calls below add records to a log.  Names are cut after 1,023 bytes.  UPMU_ERR_NO_SPACE means that the buffer has
 * no room for the record and the log's end: nothing was added, and further calls may add other records.  UPMU_ERR_WRITE
 * means that `write` returned false: all further calls return UPMU_ERR_WRITE.
 * UPMU_ERR_STATE means that upmu_log_end() has ended the log, or upmu_log_begin() failed.
 */

/*
 * Add the events of all sets of a session.  `source` is a number below 65,536 that the caller gives to the session,
 * another one for each session of the log.
 *
 * Returns UPMU_OK, UPMU_ERR_NO_SPACE (the first events may have been added), UPMU_ERR_WRITE, UPMU_ERR_STATE or
 * UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_log_session(struct upmu_log *log, const struct upmu_session *session, unsigned source);

/*
 * Add the counts of events 0 to `count` - 1 of a set, as upmu_set_read() gave them.  `source` is the number that
 * upmu_log_session() had for the session, `set` is upmu_set.number.
 *
 * Returns and context: as upmu_log_session(); after UPMU_ERR_NO_SPACE the first counts may have been added.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_log_counts(struct upmu_log *log, unsigned source, unsigned set, const struct upmu_count *counts,
                                 unsigned count);

/*
 * Add a symbol: the name of the code at addresses from `start` to `end` - 1.
 *
 * Returns UPMU_OK, UPMU_ERR_INVALID (`end` is not above `start`), UPMU_ERR_NO_SPACE, UPMU_ERR_WRITE, UPMU_ERR_STATE or
 * UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_log_symbol(struct upmu_log *log, uint64_t start, uint64_t end, const char *name);

/*
 * Add the name of a thread.  `process` and `thread` are its numbers in upmu_frame.
 *
 * Returns UPMU_OK, UPMU_ERR_NO_SPACE, UPMU_ERR_WRITE, UPMU_ERR_STATE or UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_log_task(struct upmu_log *log, uint32_t process, uint32_t thread, const char *name);

/*
 * Add a mapping: the process has the bytes of file `name`, from byte `offset` of the file on, at addresses from `start`
 * to `end` - 1.
 *
 * Returns and context: as upmu_log_symbol().
 */
UPMU_MUST_CHECK
enum upmu_status upmu_log_mapping(struct upmu_log *log, uint32_t process, uint64_t start, uint64_t end,
                                  uint64_t offset, const char *name);

/*
 * Add a record of a session's ring, as upmu_ring_view() gave it, or a precise sample of the host's own driver: the
 * parts that record->parts names, and record->exact, are kept where the build has UPMU_PRECISE.  `source` is the number
 * that upmu_log_session() had for the session.  If the log's buffer has no room for the record, the record is counted
 * in log->cut, which the log's end states, and the call returns UPMU_OK.
 *
 * Returns UPMU_OK, UPMU_ERR_WRITE, UPMU_ERR_STATE or UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_log_sample(struct upmu_log *log, const struct upmu_record *record, unsigned source);

/*
 * Take all samples out of a session's ring, and add each as upmu_log_sample() does.
 *
 * Returns as upmu_log_sample(): after an error the sample that could not be added is still in the ring.
 * Context: any; there is no other reader of the ring at the same time.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_log_samples(struct upmu_log *log, struct upmu_session *session, unsigned source);

/*
 * Add the log's end, without which a log is not whole.  The end states the losses; for those that no later sample has
 * reported, give the `count` sessions of the log, which are stopped (NULL if `count` is 0).  `time_ns` as in
 * upmu_log_begin().
 *
 * Returns UPMU_OK, UPMU_ERR_WRITE, UPMU_ERR_STATE or UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_log_end(struct upmu_log *log, struct upmu_session *const *sessions, unsigned count,
                              uint64_t time_ns);

/* ---- The log: reading its records, whole or damaged ---- */

/* The kinds of records in a log: upmu_log_item.kind. */
enum upmu_log_kind {
    UPMU_LOG_MACHINE = 1,
    UPMU_LOG_EVENT = 2,
    UPMU_LOG_SYMBOL = 3,
    UPMU_LOG_TASK = 4,
    UPMU_LOG_MAPPING = 5,
    UPMU_LOG_SAMPLE = 6,
    UPMU_LOG_COUNT = 7,
    UPMU_LOG_END = 8
}; /* a log's records of kind 9, samples with parts, are read as UPMU_LOG_SAMPLE */

/* A text inside the bytes of a log, without a NUL at its end. */
struct upmu_log_text {
    const char *at; /* the first byte */
    size_t length; /* bytes */
};

/* 64-bit words inside a log, which may not be aligned: read them by upmu_log_word(). */
struct upmu_log_words {
    const uint8_t *at; /* the first byte */
    unsigned count;    /* words of 8 bytes */
};

/* Return word number `index` (from 0) of a list of words; 0: the list has fewer words.  Context: any. */
uint64_t upmu_log_word(struct upmu_log_words words, unsigned index);

/* The first record: which machine the log is from. */
struct upmu_log_machine {
    uint64_t time_ns;          /* as upmu_log_begin() had it */
    uint32_t version;          /* UPMU_VERSION of the library that wrote the log */
    struct upmu_log_text name; /* the machine's description, as upmu_log_begin() had it */
};

/* An event of a session. */
struct upmu_log_event {
    uint16_t source, set;      /* source: the writer's number of the session; set: upmu_set.number */
    uint8_t event;             /* index of the event in the set */
    uint8_t origin;            /* enum upmu_source of the event's catalogue; 0: raw words, too */
    uint32_t attributes;       /* UPMU_ATTR_... */
    /* id of the event, all zero for raw words; its numbers mean the same in builds with the same catalogue */
    struct upmu_event_id id;
    uint32_t frequency;        /* samples per second, or 0 */
    uint32_t values;           /* upmu_sampling.values */
    uint64_t config, config1, config2; /* as in struct upmu_event */
    uint64_t period;           /* upmu_sampling.period; if `frequency` is 0, too, the event is only counted */
    uint64_t random_mask;      /* upmu_sampling.random_mask: mask of the random part of periods */
    uint64_t event_id;         /* upmu_sampling.event_id */
    /* canonical name (upmu_event_format()), at most 1,023 bytes; empty if the writer had no UPMU_NAMES */
    struct upmu_log_text name;
    struct upmu_log_text pmu;  /* upmu_pmu.name */
    struct upmu_log_text catalogue; /* upmu_catalog_name(); empty for an event given as raw words */
};

/* A symbol or a mapping. */
struct upmu_log_range {
    uint64_t start, end; /* the addresses from `start` to `end` - 1 */
    uint64_t offset;     /* of a mapping: byte of the file that is at `start` */
    uint32_t process;    /* of a mapping: number of the process that has it */
    struct upmu_log_text name; /* name of the code, or of the file */
};

/* The name of a thread. */
struct upmu_log_task {
    uint32_t process, thread; /* as in upmu_frame */
    struct upmu_log_text name; /* name of the thread */
};

/* A sample. */
struct upmu_log_sample {
    uint16_t source, set, flags; /* source and set as in upmu_log_event; flags: UPMU_SAMPLE_... */
    /* cpu, events, lost: as in upmu_sample; process, thread: as in upmu_record */
    uint32_t cpu, events, process, thread, lost;
    uint32_t values;             /* mask of the events whose counts are in `value`: a count for each set bit only */
    uint64_t ip, sp, time_ns;    /* as in upmu_sample */
    uint64_t event_id;           /* upmu_sampling.event_id */
    uint64_t period;             /* upmu_record.last_reset: the period that ended; 0: not known */
    struct upmu_log_words value; /* a count for each bit of `values`, the lowest bit first */
    struct upmu_log_words frame; /* return addresses of the callers of `ip`, the nearest first */
#if UPMU_PRECISE
    /* Parts of a precise sample, as in upmu_record; 0 for other samples.  UPMU_PART_COUNTERS is not in logs. */
    uint16_t parts, retire;
    bool exact;
    uint64_t address, data_source, weight, transaction; /* data_source: upmu_record.source */
    struct upmu_log_words registers; /* UPMU_RECORD_REGISTERS */
    struct upmu_log_words branch;    /* three words for each branch: source, target, information */
#endif
};

/* The count of an event. */
struct upmu_log_count {
    uint16_t source, set; /* as in upmu_log_event */
    uint8_t event;        /* index of the event in the set */
    uint8_t quality;      /* enum upmu_quality */
    uint32_t lost;        /* as in upmu_count */
    uint64_t value, raw, error, enabled_ns, running_ns; /* as in upmu_count */
};

/* The last record: the log's end. */
struct upmu_log_total {
    uint64_t records; /* number of records before this one */
    uint64_t samples, lost, cut; /* as in struct upmu_log */
    uint64_t time_ns; /* as upmu_log_end() had it */
};

/* A record of a log: `kind` says which member of `of` is valid. */
struct upmu_log_item {
    unsigned kind; /* enum upmu_log_kind */
    union {
        struct upmu_log_machine machine; /* UPMU_LOG_MACHINE */
        struct upmu_log_event event;     /* UPMU_LOG_EVENT */
        struct upmu_log_range range;     /* UPMU_LOG_SYMBOL and UPMU_LOG_MAPPING */
        struct upmu_log_task task;       /* UPMU_LOG_TASK */
        struct upmu_log_sample sample;   /* UPMU_LOG_SAMPLE */
        struct upmu_log_count count;     /* UPMU_LOG_COUNT */
        struct upmu_log_total total;     /* UPMU_LOG_END */
    } of; /* the record's content */
};

/*
 * Begin to read a log, whose bytes must stay unchanged.  The whole log is checked: the form, the numbers and the
 * checksum of each record.
 *
 * Returns UPMU_OK; UPMU_ERR_VERSION (of another version); UPMU_ERR_DAMAGED (no log, changed, or without its end);
 * UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_log_open(struct upmu_log_reader *reader, const void *log, size_t bytes);

/* What upmu_log_salvage() has found in a damaged log. */
struct upmu_log_salvaged {
    uint64_t records; /* number of sound records */
    uint64_t dropped; /* number of damaged records before the last sound one */
    uint64_t left;    /* number of bytes after the last sound record */
    bool ended;       /* the last sound record is the log's end; false: the end, which states the losses, is missing */
};

/*
 * Begin to read the sound records of a log that was cut or damaged: each record is read as it was written, or not at
 * all.  A damaged record is passed over by its length; where that leads to no further sound record, reading ends.
 * `upmu_results.salvage` does the same for the forms.  A log that is written into memory that has an earlier log must
 * differ from that one in machine or time, so that old records do not pass for new ones; else clear the memory first.
 *
 * Returns UPMU_OK (also for a whole log); UPMU_ERR_VERSION; UPMU_ERR_DAMAGED (no log, or no record is sound);
 * UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_log_salvage(struct upmu_log_reader *reader, const void *log, size_t bytes,
                                  struct upmu_log_salvaged *out_salvaged);

/* Read the next record of a kind that this build knows; false: no such record is left.  Context: any. */
bool upmu_log_next(struct upmu_log_reader *reader, struct upmu_log_item *out_item);

/* ---- Converting a log: to folded stacks, pprof's profile, perf.data, kallsyms ---- */

/* A symbol: the name of a piece of code.  The name may be without a NUL. */
struct upmu_symbol {
    uint64_t start, end; /* the addresses from `start` to `end` - 1 */
    const char *name;    /* first byte of the name */
    size_t length;       /* bytes of the name */
};

/* A log, and all that is needed to convert it. */
struct upmu_results {
    const void *log;  /* the bytes of the log, as upmu_log_open() takes them */
    size_t log_bytes; /* bytes of the log */
    /* Find the symbol of the code at address `ip`; false: not known.  Must give the same answer each time.
       NULL: the symbols in the log are used. */
    bool (*symbol)(void *context, uint64_t ip, struct upmu_symbol *out_symbol);
    void *context; /* for `symbol` */
    /* Memory for the call, aligned as uint64_t: 40 bytes for each event and symbol of the log; for folded stacks and
       pprof also 48 bytes for each different stack; for pprof also 8 bytes for each frame of these stacks. */
    void *work;
    size_t work_bytes;
    /* true: read the log as upmu_log_salvage() does.  Of a sample, an event that is not in the log counts as lost. */
    bool salvage;
};

/*
 * Write folded stacks: one line of text for each stack, "caller;callee COUNT"; if several events were sampled, the
 * event stands in front.  If the form does not fit into the buffer as a whole, nothing is written; the same holds for
 * the other forms.
 *
 * Returns UPMU_OK; those of upmu_log_open(); UPMU_ERR_DAMAGED also where a sample names an event that the log does
 * not have; UPMU_ERR_NO_SPACE (the buffer: output->length is what it needs; the work area: output->length is 0);
 * UPMU_ERR_WRITE (what was written is not whole); UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_results_folded(const struct upmu_results *results, struct upmu_output *output);

/*
 * Write pprof's profile.proto, not compressed.  Each event has two values: the number of samples, and the number of
 * events that these samples stand for.
 *
 * Returns and context: as upmu_results_folded().
 */
UPMU_MUST_CHECK
enum upmu_status upmu_results_pprof(const struct upmu_results *results, struct upmu_output *output);

/*
 * Write perf.data, for perf report and perf script.  With --kallsyms these take names from a file that
 * upmu_results_kallsyms() has written.
 *
 * Returns and context: as upmu_results_folded().
 */
UPMU_MUST_CHECK
enum upmu_status upmu_results_perf(const struct upmu_results *results, struct upmu_output *output);

/*
 * Write the symbols of the log in the form of Linux' kallsyms: "ADDRESS t NAME".  upmu_results.symbol is not called.
 *
 * Returns and context: as upmu_results_folded().
 */
UPMU_MUST_CHECK
enum upmu_status upmu_results_kallsyms(const struct upmu_results *results, struct upmu_output *output);

#ifdef __cplusplus
}
#endif

#endif
