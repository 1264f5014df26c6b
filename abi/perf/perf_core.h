/* SPDX-License-Identifier: MIT */
/* Functions that the files of the perf_event_open layer call from each other, by file. */
#ifndef UPMU_ABI_PERF_CORE_H
#define UPMU_ABI_PERF_CORE_H

#include "abi/perf/perf.h"
#include <upmu/page.h>

/* ---- perf_attr.c: the attributes that a program gives, in the order in which Linux refuses them ---- */

/*
 * Copy a program's attributes, in which it says their size (0: 64).  Returns 0; -EFAULT; -E2BIG: the size is not 64 to
 * 4,096, or bytes behind the known ones are not 0 (the known size is stored in the program's attributes).
 */
int upmu_perf_attr_copy(const struct upmu_perf *perf, void *user, struct upmu_perf_attr *out_attr);

/*
 * Check attributes by themselves: unknown bits, branches (their privileges also by `paranoid`), samples, flags of
 * inheritance and exec.  The checks below also return 0 or a negative errno.  An `attr->sample_max_stack` of 0 is
 * replaced by the limit.
 */
int upmu_perf_attr_check(const struct upmu_perf *perf, uint32_t caller, struct upmu_perf_attr *attr);

/*
 * Check attributes against the rights of the caller (the kernel's mode, namespaces, physical addresses: -EACCES) and
 * the limits of the system (frequency, period: -EINVAL).
 */
int upmu_perf_attr_limits(const struct upmu_perf *perf, uint32_t caller, const struct upmu_perf_attr *attr);

/*
 * Check attributes against the target, before the type of the event is looked at: -EINVAL for SIGTRAP without a task,
 * and for INHERIT with SAMPLE_READ but without SAMPLE_TID.
 */
int upmu_perf_attr_target(const struct upmu_perf_attr *attr, bool of_task);

/*
 * Check attributes of an event whose type is known: refuse XMM registers and traces (AUX), which no PMU of this layer
 * has.
 */
int upmu_perf_attr_type(const struct upmu_perf_attr *attr);

/* Check the number of callers of a sample: -EOVERFLOW above the limit. */
int upmu_perf_attr_callers(const struct upmu_perf *perf, const struct upmu_perf_attr *attr);

/*
 * Do two events take the time of their records from the same clock: the one chosen by clockid, or both the default one?
 */
bool upmu_perf_attr_same_clock(const struct upmu_perf_kept *attr, const struct upmu_perf_kept *other);

/* Refuse attributes that need a group leader with traces (AUX): no event of this layer has traces. */
int upmu_perf_attr_traced(const struct upmu_perf_attr *attr);

/*
 * Translate branch_sample_type to the bits of upmu_session_branches(); *out_record is 0 where the event samples none.
 * `accepted`: upmu_machine_branches().  -EOPNOTSUPP: not these branches, or not this of them.
 */
int upmu_perf_attr_branches(const struct upmu_perf_attr *attr, uint32_t accepted, uint16_t *out_record);

/*
 * Check the clock that a program chooses for its records (UPMU_PERF_USE_CLOCKID): -EINVAL if Linux has no such clock.
 */
int upmu_perf_attr_clock(const struct upmu_perf_attr *attr);

/* Return a limit of the system, the default where the host has set 0: callers of a sample; samples a second. */
uint32_t upmu_perf_most_stack(const struct upmu_perf *perf);
uint32_t upmu_perf_most_rate(const struct upmu_perf *perf);

/* Is `paranoid` above `level`, and the caller no administrator (may_all())? */
bool upmu_perf_forbids(const struct upmu_perf *perf, uint32_t caller, int level);

/* ---- perf_names.c: encode the type and config of attributes as an event of a PMU ---- */

#define UPMU_PERF_TEXT 160 /* bytes for the longest text, the path of an event of a unit, and its final 0 */

/* A text that is put together piece by piece; `bytes` ends with a 0. */
struct upmu_perf_text {
    char bytes[UPMU_PERF_TEXT];
    unsigned length;
};

/*
 * Return the number by which programs name the PMU upmu_machine_pmu(machine, index) (upmu_perf_attr.type, and the high
 * half of config): UPMU_PERF_TYPE_RAW for the PMU of large cores, or of all cores; UPMU_PERF_TYPE_OTHER + index for
 * others of a hybrid.
 */
uint32_t upmu_perf_pmu_type(const struct upmu_perf *perf, unsigned index);

/* Is the machine a hybrid: do its CPUs have several types of cores, and say so? */
bool upmu_perf_is_hybrid(const struct upmu_perf *perf);

/* Have raw words of this PMU the layout of Intel's and AMD's selects? */
bool upmu_perf_has_fields(const struct upmu_pmu *pmu);

void upmu_perf_text_add(struct upmu_perf_text *text, const char *more);
void upmu_perf_text_add_digits(struct upmu_perf_text *text, int64_t value);

/*
 * Encode the hardware event that attributes describe, at the level of attr.precise_ip.  Returns 0; -ENOENT: this PMU
 * has no such event; -EINVAL: the attributes are not valid, or exclude both user mode and the kernel's, or the event
 * has no records.
 */
int upmu_perf_encode(const struct upmu_pmu *pmu, const struct upmu_perf_attr *attr, struct upmu_event *out_event);

/* Return the negative errno for a status, or 0 for UPMU_OK. */
int upmu_perf_errno(enum upmu_status status);

/* ---- perf_unit.c: units outside the cores ---- */

/* Is an event counted by a unit outside the cores? */
bool upmu_perf_is_unit(const struct upmu_perf_event *event);

/*
 * Check the attributes of an event of a unit, find the unit that counts it, and encode it.  Returns 0; -ENOENT: no PMU
 * has this type; -EINVAL: units count no tasks, do not sample and exclude nothing, or the CPU has no such unit, or the
 * unit no such event.
 */
int upmu_perf_unit_check(const struct upmu_perf *perf, const struct upmu_perf_attr *attr,
                         struct upmu_perf_event *event);

/* Bind a session to the unit of an event. */
enum upmu_status upmu_perf_unit_attach(struct upmu_session *session, const struct upmu_perf_event *event);

/* Are two hardware events counted by different units, or one by a unit and one by a CPU? */
bool upmu_perf_unit_differs(const struct upmu_perf_event *event, const struct upmu_perf_event *other);

/* Return the PMU of an open unit. */
const struct upmu_uncore_pmu *upmu_perf_unit_pmu(const struct upmu_unit *unit);

/*
 * Return the unit at a place in upmu_perf.units if it is the first one of its PMU, whose type is UPMU_PERF_TYPE_UNIT +
 * `index`; else NULL.
 */
const struct upmu_unit *upmu_perf_unit_first(const struct upmu_perf *perf, unsigned index);

/* Does a CPU drive a unit of the PMU that has this first unit? */
bool upmu_perf_unit_is_driven(const struct upmu_perf *perf, const struct upmu_unit *first, unsigned cpu);

/* Is a unit one of readings of the CPU, which Linux names without a prefix: energy, residencies, registers of CPUs? */
bool upmu_perf_unit_is_reading(const struct upmu_unit *unit);

/* Write the name of a unit's PMU, which is that of its folder. */
void upmu_perf_unit_name(const struct upmu_perf *perf, const struct upmu_unit *unit, struct upmu_perf_text *out_name);

/* ---- perf_folder.c: folders of PMUs ---- */

/* A folder of a PMU. */
struct upmu_perf_folder {
    const struct upmu_perf *perf;
    upmu_perf_emit *emit;
    const struct upmu_pmu *pmu;
    const struct upmu_unit *unit; /* the first unit of the PMU; NULL: the PMU is that of CPUs */
    const char *name;
};

/* Emit a file of a folder, by its path below the folder. */
void upmu_perf_folder_add(const struct upmu_perf_folder *folder, const char *path, const char *text);

/*
 * Emit the file with the list of the CPUs that have the PMU, or drive its units, in ranges ("0-3,6"); at most as many
 * as a text holds.
 */
void upmu_perf_folder_cpus(const struct upmu_perf_folder *folder, const char *path);

/* ---- perf_unit_files.c: the files of units ---- */

/* Emit the folders of all units. */
void upmu_perf_unit_files(const struct upmu_perf *perf, upmu_perf_emit *emit);

/* ---- perf_group.c: groups, each counted by one session; their members, start, stop and counts ---- */

/*
 * Put an event into the group of `leader` (itself: a new group), and into the list of its task or its CPU.  The session
 * of the group must be stopped.
 */
void upmu_perf_link(struct upmu_perf_event *event, struct upmu_perf_event *leader);

/* Return the event of the same group that was opened after this one; NULL: this is the last one. */
static inline struct upmu_perf_event *upmu_perf_group_next(const struct upmu_perf_event *event)
{
    struct upmu_perf_event *next = event->next;

    return next && next->leader == event->leader ? next : NULL;
}

/* Return the number of events of a group, its leader included; 1 for an event without siblings. */
static inline unsigned upmu_perf_group_size(const struct upmu_perf_event *leader)
{
    unsigned events = 0;

    for (; leader; leader = upmu_perf_group_next(leader))
        events++;
    return events;
}

/* Return the bytes that a read of an event with this format gives, if its group has so many events. */
static inline size_t upmu_perf_read_bytes(uint64_t format, unsigned events)
{
    size_t words = (format & UPMU_PERF_READ_ENABLED ? 1u : 0) + (format & UPMU_PERF_READ_RUNNING ? 1u : 0);
    unsigned words_of_value = 1u + !!(format & UPMU_PERF_READ_ID) + !!(format & UPMU_PERF_READ_LOST);

    words += format & UPMU_PERF_READ_GROUP ? 1u + (size_t)events * words_of_value : words_of_value;
    return 8u * words;
}

/*
 * Take an event out of its task's list, and set event->task to NULL, so that the task may end; or take it out of its
 * CPU's list.
 */
void upmu_perf_leave_task(struct upmu_perf_event *event);

/*
 * Wait until no switch looks at an event of a CPU any more, which was taken out of the CPU's list, or whose ring was
 * changed, before.  A switch takes no lock, and looks at the events of its CPU for a moment.
 */
void upmu_perf_wait_switch(const struct upmu_perf_event *event);

/* Is an event counted in software (UPMU_PERF_TYPE_SOFTWARE), without a counter? */
bool upmu_perf_is_software(const struct upmu_perf_event *event);

/*
 * Does a switch have to look at an event of a task: does it get records of switches, sample them, or count in software
 * on one CPU alone?  The answer holds as long as the event is open.
 */
bool upmu_perf_is_switched(const struct upmu_perf_event *event);

/* Return the events of a task, if a switch has to look at any of them; else NULL. */
static inline struct upmu_perf_event *upmu_perf_switched(const struct upmu_perf_task *task)
{
    return task->watches ? task->events : NULL;
}

/*
 * Call the hook task_cpu() for the task of an event: the host keeps the task from being started or stopped by the
 * scheduler until the present call has ended.  Nothing is done for an event without a task, or without the hook.
 */
void upmu_perf_hold(const struct upmu_perf_event *event);

/*
 * Take memory for the session of a group that has none, as large as its hardware events need.  Returns 0, or -ENOMEM.
 */
int upmu_perf_group_room(struct upmu_perf_event *leader);

/*
 * Make ready that `more` joins the group of `leader` (itself: a new group): try whether all their events can run
 * together, stop the group, and give it a session of its own with room for all.  Returns 0; -ENOMEM; -EINVAL: they
 * cannot run together; -EBUSY: a CPU cannot be reached.  After an error nothing is changed.
 */
int upmu_perf_group_grow(struct upmu_perf_event *leader, struct upmu_perf_event *more);

/*
 * Make the stopped session of an event anew from the enabled hardware events of its list, and start it and the enabled
 * software events.  Events do not count while their leader is disabled.  Counts until now stay in the events.  A group
 * that is not pinned is a sharing session, and waits where its counters are in use.
 *
 * Returns 0, also where nothing was started: the leaders are disabled or have failed, the task has ended, or the CPU is
 * offline.  Else a negative errno: the events cannot count, and `failed` of their leaders is set.  For a pinned group
 * that, too, is 0.
 */
int upmu_perf_session_start(struct upmu_perf_event *event);

/*
 * Stop and close the session of an event: counts are added to `stopped` of all events of its list.  Returns 0; -EBUSY:
 * a CPU cannot be reached, and the session counts on.
 */
int upmu_perf_session_stop(struct upmu_perf_event *event);

/*
 * Take an event out of the list of its session, which is stopped, and so out of its group.  Events that it led become
 * groups of one.  The last event of a list gives the memory of the session back.  Returns the first of those that stay;
 * NULL: it was the last.
 */
struct upmu_perf_event *upmu_perf_session_leave(struct upmu_perf_event *event);

/*
 * Stop the group of an event, take the event out of it and out of its task, and start the rest again.  If the event
 * leads, each of the others becomes a group of its own.  Returns 0, or a negative errno (-EBUSY): nothing is changed.
 */
int upmu_perf_remove(struct upmu_perf_event *event);

/* Store the raw count and the times of an event at this moment.  Returns 0, or a negative errno. */
int upmu_perf_count(struct upmu_perf_event *event, struct upmu_perf_sum *out_sum);


/* ---- perf_count.c: the count of one event ---- */

/*
 * Add what an event has counted in its session to `sum`, and store that; *out_count is not changed if the event is in
 * no session.  Returns 0, or a negative errno.
 */
int upmu_perf_count_add(const struct upmu_perf_event *event, struct upmu_count *out_count, struct upmu_perf_sum *sum);

/*
 * Do as upmu_perf_count(), for an event whose task runs on this CPU, or has just stopped to run here: nothing has to be
 * held.
 */
int upmu_perf_count_here(const struct upmu_perf_event *event, struct upmu_perf_sum *out_sum);

/* ---- perf_inherit.c: events that a child inherits, and sums with them ---- */

/*
 * Store the sums of raw counts and times of an event and of all that were inherited from it.  Returns 0, or a negative
 * errno.
 */
int upmu_perf_count_all(struct upmu_perf_event *event, struct upmu_perf_sum *out_sum);

/* Add the count and the times of an event to those of another. */
static inline void upmu_perf_sum_add(struct upmu_perf_sum *sum, const struct upmu_perf_sum *more)
{
    sum->value += more->value;
    sum->enabled_ns += more->enabled_ns;
    sum->running_ns += more->running_ns;
}

/*
 * Copy the events of a group for a child, in their order, and start the new group.  Returns 0, or -ENOMEM: the host has
 * no memory for all of them; those that were copied are in the child's list.
 */
int upmu_perf_group_copy(struct upmu_perf_event *leader, struct upmu_perf_task *child);

/*
 * End an inherited event that is stopped: add its count and times to the sums of its original, and give its memory back
 * to the host.
 */
void upmu_perf_child_end(struct upmu_perf_event *event);

/* Count a note, for its task and its CPU. */
static inline void upmu_perf_notes_add(struct upmu_perf *perf, unsigned cpu, struct upmu_perf_task *task,
                                       enum upmu_perf_note note, bool user)
{
    task->notes.count[user][note]++;
    perf->cpus[cpu].notes.count[user][note]++;
}

/* ---- perf_soft.c: software events, counted by the sums of struct upmu_perf_notes ---- */

/*
 * soft_begin(): let a software event begin to count; nothing is done if it counts already, or is limited to a CPU that
 * its task does not run on now.  soft_end(): let it end, and keep its count and times.
 */
void upmu_perf_soft_begin(struct upmu_perf_event *event);
void upmu_perf_soft_end(struct upmu_perf_event *event);

/* Return how much a software event that counts has counted since it began. */
uint64_t upmu_perf_soft_since(const struct upmu_perf_event *event);

/* Store the count and the times of an event at this moment; of a hardware event without its present session's. */
void upmu_perf_soft_count(const struct upmu_perf_event *event, struct upmu_perf_sum *out_sum);

/* ---- perf_ring.c: rings of records in pages that a program maps ---- */

/*
 * The layer's side of a ring, in memory that programs do not see.  The program may write any byte of the pages at any
 * time: of the pages only the tail is read, and only compared.
 *
 * One CPU writes a ring at a time.  A record may be begun while another one is not yet ended only by an interrupt of
 * that other one's code, and ends before it: records in such a nest are published together, by the end of the
 * outermost.  `begun` counts bytes of records up; in a ring that is written backward the positions of records fall.
 */
struct upmu_perf_ring {
    void *const *pages;             /* addresses of the pages: struct upmu_perf_page, then the data */
    uintptr_t bytes;                /* of the data, a power of two */
    uintptr_t begun;                /* bytes of all records that were begun */
    uintptr_t told;                 /* of these, where the program was last woken because of `watermark` */
    uintptr_t watermark;            /* the program is woken after so many bytes */
    uint32_t writers;               /* records that are begun and not ended */
    uint32_t lost;                  /* records that found no room since the last record of type LOST */
    uint32_t samples;               /* samples since the program was last woken because of them */
    uint32_t woken;                 /* 1: the next poll finds the ring readable */
    bool overwrite;                 /* the program cannot write the tail: old records are overwritten */
    bool backward;                  /* records are written at falling positions */
    bool paused;                    /* no record finds room */
    uint32_t lock;                  /* of the first page: odd while the count in it is written */
    struct upmu_perf_counts *counts; /* of an event that programs may read by RDPMC; else NULL */
    struct upmu_perf_event *owner;  /* the event whose descriptor mapped the pages */
    struct upmu_perf_event *events; /* list by `next_of_ring`: events whose records go here */
};

/* Where the next word of a record is written. */
struct upmu_perf_cursor {
    struct upmu_perf_ring *ring;
    uintptr_t at;  /* position of the word */
    uint32_t lost; /* what a record of type LOST is to tell, which stands before the record */
    bool has_lost; /* there is room for that record of type LOST, which has to be written */
};

/*
 * Make an empty ring of `count` pages (1 to 65537, 1 or 1 + 2^n, of UPMU_PERF_PAGE_BYTES, aligned to 8 bytes), and
 * write the first page.  A ring of one page has no room for records.  `watermark`: bytes after which the program is
 * woken; 0: half of the data; more than the data: all of the data.  Returns 0, or -EINVAL: another number of pages.
 */
int upmu_perf_ring_init(struct upmu_perf_ring *ring, void *const *pages, uint32_t count, uint32_t watermark);

/*
 * Begin a record of `bytes` bytes, a multiple of 8.  If records were lost before, room for a record of type LOST, of
 * `lost_bytes` bytes, is taken before it.  Exactly these bytes must be written by upmu_perf_ring_word(), and then
 * upmu_perf_ring_end() must be called.  Returns false: there is no room; the record is counted as lost, and nothing is
 * to be written or ended.
 * Context: nmi, on the one CPU that writes the ring.
 */
bool upmu_perf_ring_begin(struct upmu_perf_ring *ring, uint32_t bytes, uint32_t lost_bytes,
                          struct upmu_perf_cursor *out_cursor);

/* Write a word of a record. */
static inline void upmu_perf_ring_word(struct upmu_perf_cursor *cursor, uint64_t word)
{
    uintptr_t at = cursor->at & (cursor->ring->bytes - 1u);
    uint64_t *page = cursor->ring->pages[1u + at / UPMU_PERF_PAGE_BYTES];

    page[at % UPMU_PERF_PAGE_BYTES / sizeof word] = word;
    cursor->at += sizeof word;
}

/* Return where the next `most` bytes of a record are written, or as many (*out_bytes) as stand in one piece. */
static inline uint8_t *upmu_perf_ring_span(struct upmu_perf_cursor *cursor, uint32_t most, uint32_t *out_bytes)
{
    uintptr_t at = cursor->at & (cursor->ring->bytes - 1u);
    uint32_t left = UPMU_PERF_PAGE_BYTES - (uint32_t)(at % UPMU_PERF_PAGE_BYTES);
    uint8_t *page = cursor->ring->pages[1u + at / UPMU_PERF_PAGE_BYTES];

    *out_bytes = most < left ? most : left;
    cursor->at += *out_bytes;
    return page + at % UPMU_PERF_PAGE_BYTES;
}

/*
 * End the record that was begun last, and publish it if it interrupted no other one.  Returns true: the watermark is
 * passed, and the program is to be woken.
 */
bool upmu_perf_ring_end(struct upmu_perf_ring *ring);

/* ---- perf_output.c: which ring an event's records go to ---- */

/*
 * Let the records of an event go where those of `output` go, or nowhere (NULL).  Returns 0; -EINVAL: `output` has no
 * ring, or the two may not share one, or the event has pages of its own; -EBUSY: a CPU cannot be reached.
 */
int upmu_perf_output_set(struct upmu_perf_event *event, const struct upmu_perf_event *output);

/* Before the event ends: end its ring, or let its records go nowhere.  Returns 0; -EBUSY: the event keeps its ring. */
int upmu_perf_output_end(struct upmu_perf_event *event);

/* ---- perf_page.c: counts in mapped pages ---- */

/* The counts of a session, from which the pages that programs have mapped of its events are written. */
struct upmu_perf_counts {
    struct upmu_watched_page watched;
    struct upmu_perf_event *first; /* of the list whose session is published here */
};

/*
 * May a program read the counter of an event itself: a hardware event of a task that takes no samples and is not
 * inherited, on a machine whose counters interrupt when they are full?
 */
bool upmu_perf_page_is_readable(const struct upmu_perf_event *event);

/*
 * Write into the page of an event how the TSC tells the time, and these capabilities besides, in one store: the program
 * may change the page at any time.
 */
void upmu_perf_page_clock(const struct upmu_perf_event *event, struct upmu_perf_page *page, uint64_t capabilities);

/* Publish the session of a list, which is made anew, if an event of the list is mapped and can be read. */
void upmu_perf_page_begin(struct upmu_session *session, struct upmu_perf_event *first);

/* ---- perf_record.c: records as they all are ---- */

/* Return the event that a program opened: the event itself, or that from which it was inherited. */
static inline struct upmu_perf_event *upmu_perf_opened(const struct upmu_perf_event *event)
{
    return event->original ? event->original : (struct upmu_perf_event *)(uintptr_t)event;
}

/* Where and when a record came about. */
struct upmu_perf_origin {
    uint64_t task;    /* pid in bits 31:0, tid in bits 63:32 */
    uint64_t time_ns; /* by the clock of upmu_perf.clock_ns */
    uint32_t cpu;     /* number of the CPU */
};

/* A record of an event that a program opened, while it is written. */
struct upmu_perf_record {
    struct upmu_perf_cursor cursor;
    struct upmu_perf_event *event;
    struct upmu_perf_origin origin;
};

/*
 * Begin a record of `words` words between its header and the identity of the event: record->event and record->origin
 * are given.  These words must be written, and upmu_perf_record_end() be called.  Returns false: the event has no ring,
 * or the record found no room and is lost.
 * Context: nmi, on the CPU that writes the event's ring.
 */
bool upmu_perf_record_begin(struct upmu_perf_record *record, uint32_t type, uint32_t misc, uint32_t words);

static inline void upmu_perf_record_word(struct upmu_perf_record *record, uint64_t word)
{
    upmu_perf_ring_word(&record->cursor, word);
}

/* End a record of this type, and wake its program if that is due. */
void upmu_perf_record_end(struct upmu_perf_record *record, uint32_t type);

/* Find out where an event is now that counts on this CPU. */
void upmu_perf_origin_find(const struct upmu_perf_event *event, uint64_t time_ns, struct upmu_perf_origin *out_origin);

/* Return the time of a record, by the clock that its event has chosen. */
uint64_t upmu_perf_record_time(const struct upmu_perf_record *record);

/* ---- perf_sample.c: samples of hardware events ---- */

/* Refuse with -EOPNOTSUPP what Linux grants of samples, but not this layer or this host. */
int upmu_perf_sample_check(const struct upmu_perf *perf, const struct upmu_perf_attr *attr);

/* Return the period that an event gets for the one that was asked for: as Linux, at least the least of its PMU. */
uint64_t upmu_perf_sample_period(const struct upmu_perf_event *event, uint64_t period);

/* Is an event sampled by ticks or switches: a software event, or one on a port without interrupts at overflows? */
static inline bool upmu_perf_is_polled(const struct upmu_perf_event *event)
{
    return event->attr.period && (upmu_perf_is_software(event) || !upmu_machine_has_pmi(event->perf->machine));
}

/* Does an event take samples when it overflows? */
bool upmu_perf_samples(const struct upmu_perf_event *event);

/*
 * Add a hardware event to a session that is being made anew, with its sampling attributes and the rest of its period.
 * `events`: how many events the session gets.
 */
enum upmu_status upmu_perf_sample_add(struct upmu_session *session, struct upmu_perf_event *event, unsigned events);

/* Give a session the format and the chains of callers that its list of events needs, if any of them samples. */
enum upmu_status upmu_perf_sample_begin(struct upmu_session *session, const struct upmu_perf_event *first);

/* Keep the rest of an event's period, from its last count in a session that is stopped. */
void upmu_perf_sample_stop(struct upmu_perf_event *event, const struct upmu_count *count);

/* Write a sample of an event, for an overflow, or for a tick or a switch (overflow->set is NULL). */
void upmu_perf_sample_write(const struct upmu_perf_event *event, const struct upmu_overflow *overflow, uint64_t period);

/*
 * Note a sample for the program, and count it where REFRESH has set a limit.  Returns true: it was the last one that is
 * allowed, the event is disabled, and its session is to stop.
 */
bool upmu_perf_sample_told(struct upmu_perf_event *event);

/* ---- perf_throttle.c: events that overflow too often ---- */

/*
 * Count an overflow of an event in the present tick.  Returns true: there were too many, the program was told, and no
 * sample is to be taken until the next tick.  The event counts on.
 */
bool upmu_perf_throttles(struct upmu_perf_event *event, uint64_t time_ns);

/* Let an event that counts on this CPU take samples again, if it is throttled. */
void upmu_perf_unthrottle(struct upmu_perf_event *event, uint64_t time_ns);

/* Before a task runs on task->cpu: let its throttled events take samples again. */
void upmu_perf_unthrottle_task(struct upmu_perf_task *task);

/* ---- perf_state.c: registers and stacks in samples ---- */

/* What is known of the interrupted code. */
struct upmu_perf_state {
    const struct upmu_frame *frame; /* NULL: nothing */
    uint32_t stack_bytes;           /* of the stack, that a sample has */
    bool has, has_user;             /* its registers are known; and it was user mode */
#if UPMU_PRECISE
    /* set by the caller before: a precise sample, whose registers stand in place of those of `frame`; or NULL */
    const struct upmu_overflow *precise;
#endif
};

/* Refuse with -EOPNOTSUPP registers that the host does not have, and stacks without its hook. */
int upmu_perf_state_check(const struct upmu_perf *perf, const struct upmu_perf_attr *attr);

/*
 * Find out what a sample has of the state.  `others`: its other words.  Returns the words of all that; a stack is cut
 * where the record would be too long.
 */
unsigned upmu_perf_state_find(const struct upmu_perf_event *event, const struct upmu_frame *frame, unsigned others,
                              struct upmu_perf_state *out_state);

/* Write the parts of a sample: the user's registers and stack, which stand before the access; the interrupted ones. */
void upmu_perf_state_user(struct upmu_perf_record *record, const struct upmu_perf_state *state);
void upmu_perf_state_interrupted(struct upmu_perf_record *record, const struct upmu_perf_state *state);

/* ---- perf_tick.c: samples that no overflow takes ---- */

/* Begin a period of an event, which is stopped; nothing is done for one that is not polled. */
void upmu_perf_polled_begin(struct upmu_perf_event *event);

/* After a switch: sample an event that counts switches, if its period has ended. */
void upmu_perf_sample_switch(struct upmu_perf_event *event, uint64_t time_ns);

/* ---- perf_tell.c: records of what tasks do ---- */

/*
 * Tell the events of a task that it makes another task (FORK) or ends (EXIT, `other` is the task itself).
 * Context: as upmu_perf_comm().
 */
void upmu_perf_tell_life(struct upmu_perf_task *task, const struct upmu_perf_task *other, uint32_t type);

/*
 * Tell the events of a task, and those of its CPU, that it begins or stops to run there; `other` ran before, or runs
 * now.  Context: that of upmu_thread_switch().
 */
void upmu_perf_tell_switch(struct upmu_perf_task *task, const struct upmu_perf_task *other, bool begins,
                           uint64_t time_ns);

#endif
