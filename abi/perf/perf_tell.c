/* SPDX-License-Identifier: MIT */
/*
 * Records of what tasks do: names, mappings, forks, ends and switches. A note of the host becomes a record of each
 * enabled event that asks for it and counts the task, or the CPU on which the task does that.
 *
 * Layouts: perf_event_open(2), "MMAP layout".
 */
#include <string.h>
#include "abi/perf/perf_core.h"

/* Events with one of these get records of forks and ends. */
#define LIVES (UPMU_PERF_TASK | UPMU_PERF_COMM | UPMU_PERF_MMAP | UPMU_PERF_MMAP2 | UPMU_PERF_MMAP_DATA)

/* A record that is to be told, and the task that it is about. */
struct note {
    struct upmu_perf_task *task; /* the one that runs here */
    uint64_t flags;              /* events with one of these are told */
    uint64_t time_ns;
    uint32_t type;
    const struct upmu_perf_task *other; /* FORK: the new task; EXIT: the task; SWITCH: the one before or after it */
    bool stops;                         /* SWITCH: the task stops to run */
    const char *name;                   /* COMM */
    bool is_exec;                       /* COMM */
    const struct upmu_perf_mapping *mapping;
};

static uint64_t identity_of(const struct upmu_perf_task *task)
{
    return task->thread.pid | (uint64_t)task->thread.tid << 32;
}

/* Return the bytes of a text without its final 0. */
static uint32_t text_bytes(const char *text)
{
    uint32_t bytes = 0;

    while (text[bytes])
        bytes++;
    return bytes;
}

/* Return the words of a text and its final 0. */
static uint32_t text_words(const char *text)
{
    return text_bytes(text) / 8u + 1u;
}

static void put_text(struct upmu_perf_record *record, const char *text)
{
    for (uint32_t left = text_bytes(text) + 1u; left;) {
        uint32_t bytes = left < 8u ? left : 8u;
        uint64_t word = 0;

        memcpy(&word, text, bytes);
        upmu_perf_record_word(record, word);
        text += bytes;
        left -= bytes;
    }
}

static void tell_name(struct upmu_perf_record *record, const struct note *note)
{
    if (!upmu_perf_record_begin(record, UPMU_PERF_RECORD_COMM, note->is_exec ? UPMU_PERF_MISC_EXEC : 0,
                                1u + text_words(note->name)))
        return;
    upmu_perf_record_word(record, identity_of(note->task));
    put_text(record, note->name);
    upmu_perf_record_end(record, UPMU_PERF_RECORD_COMM);
}

/* Tell a fork or an end: pid and parent's pid in one word, tid and parent's tid in the next, the time. */
static void tell_life(struct upmu_perf_record *record, const struct note *note)
{
    const struct upmu_thread *who = &note->other->thread, *parent = &note->task->thread;

    if (!upmu_perf_record_begin(record, note->type, 0, 3u))
        return;
    upmu_perf_record_word(record, who->pid | (uint64_t)parent->pid << 32);
    upmu_perf_record_word(record, who->tid | (uint64_t)parent->tid << 32);
    upmu_perf_record_word(record, upmu_perf_record_time(record));
    upmu_perf_record_end(record, note->type);
}

static void tell_mapping(struct upmu_perf_record *record, const struct note *note)
{
    const struct upmu_perf_mapping *mapping = note->mapping;
    bool is_second = record->event->attr.flags & UPMU_PERF_MMAP2;
    uint32_t type = is_second ? UPMU_PERF_RECORD_MMAP2 : UPMU_PERF_RECORD_MMAP;
    uint32_t misc =
        UPMU_PERF_MISC_USER | (mapping->protection & UPMU_PERF_PROTECTION_EXECUTE ? 0 : UPMU_PERF_MISC_MMAP_DATA);

    if (!upmu_perf_record_begin(record, type, misc, (is_second ? 8u : 4u) + text_words(mapping->path)))
        return;
    upmu_perf_record_word(record, identity_of(note->task));
    upmu_perf_record_word(record, mapping->address);
    upmu_perf_record_word(record, mapping->bytes);
    upmu_perf_record_word(record, mapping->offset);
    if (is_second) {
        upmu_perf_record_word(record, mapping->major | (uint64_t)mapping->minor << 32);
        upmu_perf_record_word(record, mapping->inode);
        upmu_perf_record_word(record, mapping->generation);
        upmu_perf_record_word(record, mapping->protection | (uint64_t)mapping->flags << 32);
    }
    put_text(record, mapping->path);
    upmu_perf_record_end(record, type);
}

static void tell_switch(struct upmu_perf_record *record, const struct note *note)
{
    bool is_wide = !record->event->of_task; /* events of a CPU are told which task was, or is, the other one */
    uint32_t type = is_wide ? UPMU_PERF_RECORD_SWITCH_CPU_WIDE : UPMU_PERF_RECORD_SWITCH;

    if (!upmu_perf_record_begin(record, type, note->stops ? UPMU_PERF_MISC_SWITCH_OUT : 0, is_wide ? 1u : 0))
        return;
    if (is_wide)
        upmu_perf_record_word(record, identity_of(note->other));
    upmu_perf_record_end(record, type);
}

/* Tell one event, if it is enabled, asks for the note, and may write on this CPU. */
static void tell_event(const struct upmu_perf_event *event, const struct note *note)
{
    struct upmu_perf_record record = {.event = upmu_perf_opened(event)};

    if (!event->enabled || !(event->attr.flags & note->flags) ||
        (event->cpu >= 0 && (unsigned)event->cpu != note->task->cpu))
        return;
    record.origin =
        (struct upmu_perf_origin){.task = identity_of(note->task), .time_ns = note->time_ns, .cpu = note->task->cpu};
    if (note->name)
        tell_name(&record, note);
    else if (note->mapping)
        tell_mapping(&record, note);
    else if (note->type == UPMU_PERF_RECORD_SWITCH)
        tell_switch(&record, note);
    else
        tell_life(&record, note);
}

static void tell_task(const struct note *note)
{
    for (const struct upmu_perf_event *event = note->task->events; event; event = event->next_of_task)
        tell_event(event, note);
}

/* Tell all events that count the task or its CPU. A task that has never run has no CPU: nothing is told. */
static void tell_all(struct note *note)
{
    const struct upmu_perf *perf = note->task->perf;

    if (!perf)
        return;
    note->time_ns = perf->clock_ns ? perf->clock_ns(perf->context) : 0;
    tell_task(note);
    for (struct upmu_perf_event *event = perf->cpus[note->task->cpu].events; event; event = event->next_of_task)
        tell_event(event, note);
}

void upmu_perf_comm(struct upmu_perf_task *task, const char *name, bool is_exec)
{
    tell_all(&(struct note){.task = task, .flags = UPMU_PERF_COMM, .name = name, .is_exec = is_exec});
}

void upmu_perf_mmap(struct upmu_perf_task *task, const struct upmu_perf_mapping *mapping)
{
    bool executes = mapping->protection & UPMU_PERF_PROTECTION_EXECUTE;

    tell_all(&(struct note){
        .task = task, .flags = executes ? UPMU_PERF_MMAP | UPMU_PERF_MMAP2 : UPMU_PERF_MMAP_DATA, .mapping = mapping});
}

void upmu_perf_tell_life(struct upmu_perf_task *task, const struct upmu_perf_task *other, uint32_t type)
{
    tell_all(&(struct note){.task = task, .flags = LIVES, .other = other, .type = type});
}

static void event_switches(struct upmu_perf_event *event, const struct note *note)
{
    if (note->stops)
        upmu_perf_sample_switch(event, note->time_ns);
    tell_event(event, note);
}

/* Other CPUs may change the list of this CPU meanwhile: upmu_perf_wait_switch(). */
void upmu_perf_tell_switch(struct upmu_perf_task *task, const struct upmu_perf_task *other, bool begins,
                           uint64_t time_ns)
{
    const struct note note = {.task = task,
                              .flags = UPMU_PERF_CONTEXT_SWITCH,
                              .time_ns = time_ns,
                              .type = UPMU_PERF_RECORD_SWITCH,
                              .other = other,
                              .stops = !begins};
    struct upmu_perf_cpu *here = &task->perf->cpus[task->cpu];

    for (struct upmu_perf_event *event = upmu_perf_switched(task); event; event = event->next_of_task)
        event_switches(event, &note);
    if (!__atomic_load_n(&here->events, __ATOMIC_RELAXED))
        return;
    (void)__atomic_fetch_add(&here->walks, 1u, __ATOMIC_SEQ_CST);
    for (struct upmu_perf_event *event = __atomic_load_n(&here->events, __ATOMIC_ACQUIRE); event;
         event = __atomic_load_n(&event->next_of_task, __ATOMIC_ACQUIRE))
        event_switches(event, &note);
    (void)__atomic_fetch_add(&here->walks, 1u, __ATOMIC_RELEASE);
}
