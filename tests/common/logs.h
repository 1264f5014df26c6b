/* SPDX-License-Identifier: MIT */
/*
 * Logs made by hand, from their description in docs/RESULTS.md alone: nothing of the library is called.
 */
#ifndef UPMU_TESTS_COMMON_LOGS_H
#define UPMU_TESTS_COMMON_LOGS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct made_log {
    uint8_t bytes[1 << 16];
    size_t length, record;
    uint64_t records, samples;
    uint32_t first_check;
    const char *pmu; /* of events; NULL: "made" */
};

/* CRC-32 of zlib, bit by bit, from a start value. */
static inline uint32_t made_crc(uint32_t start, const uint8_t *bytes, size_t length)
{
    uint32_t crc = ~start;

    for (; length; length--) {
        crc ^= *bytes++;
        for (unsigned bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ UINT32_C(0xedb88320) : crc >> 1;
    }
    return ~crc;
}

static inline void made_put(struct made_log *log, uint64_t value, unsigned count)
{
    while (count--) {
        log->bytes[log->length++] = (uint8_t)value;
        value >>= 8;
    }
}

static inline void made_begin(struct made_log *log, unsigned kind)
{
    log->record = log->length;
    made_put(log, 0, 4);
    made_put(log, kind, 4);
}

/* The check of the record that was made last, of its bytes as they are now. */
static inline void made_check(struct made_log *log)
{
    uint64_t number = log->records - 1;
    uint32_t check;

    log->length -= 4;
    check = made_crc(number ? log->first_check + (uint32_t)number : 0, log->bytes + log->record,
                     log->length - log->record);
    if (!number)
        log->first_check = check;
    made_put(log, check, 4);
}

static inline void made_end(struct made_log *log)
{
    size_t bytes;

    while (log->length % 8 != 4)
        log->bytes[log->length++] = 0;
    log->length += 4;
    bytes = log->length - log->record;
    for (unsigned i = 0; i < 4; i++)
        log->bytes[log->record + i] = (uint8_t)(bytes >> 8 * i);
    log->records++;
    made_check(log);
}

static inline void made_text(struct made_log *log, const char *text)
{
    made_put(log, strlen(text), 2);
    memcpy(log->bytes + log->length, text, strlen(text));
    log->length += strlen(text);
}

static inline void made_open(struct made_log *log, const char *machine)
{
    log->length = 0;
    log->records = log->samples = 0;
    log->pmu = NULL;
    memcpy(log->bytes, "upmu-log", 8);
    log->length = 8;
    made_put(log, 2, 8);
    made_begin(log, 1);
    made_put(log, 1000, 8);
    made_put(log, 0x200, 4);
    made_text(log, machine);
    made_end(log);
}

static inline void made_event(struct made_log *log, unsigned source, unsigned event, uint64_t config, uint64_t period,
                              const char *name)
{
    made_begin(log, 2);
    made_put(log, source, 2);
    made_put(log, 0, 2); /* set */
    made_put(log, event, 1);
    made_put(log, 0, 1);  /* origin */
    made_put(log, 3, 4);  /* user and kernel mode */
    made_put(log, 0, 16); /* id; frequency; values */
    made_put(log, config, 8);
    made_put(log, 0, 16);
    made_put(log, period, 8);
    made_put(log, 0, 16);
    made_text(log, name);
    made_text(log, log->pmu ? log->pmu : "made");
    made_text(log, "");
    made_end(log);
}

static inline void made_symbol(struct made_log *log, uint64_t start, uint64_t end, const char *name)
{
    made_begin(log, 3);
    made_put(log, start, 8);
    made_put(log, end, 8);
    made_put(log, 0, 12);
    made_text(log, name);
    made_end(log);
}

static inline void made_task(struct made_log *log, uint32_t process, uint32_t thread, const char *name)
{
    made_begin(log, 4);
    made_put(log, process, 4);
    made_put(log, thread, 4);
    made_text(log, name);
    made_end(log);
}

static inline void made_mapping(struct made_log *log, uint32_t process, uint64_t start, uint64_t end, const char *name)
{
    made_begin(log, 5);
    made_put(log, start, 8);
    made_put(log, end, 8);
    made_put(log, 0, 8);
    made_put(log, process, 4);
    made_text(log, name);
    made_end(log);
}

/* What a sample says beside its address. */
struct made_sample {
    unsigned source, flags;
    uint32_t cpu, events, process, thread, lost;
    uint64_t ip, time_ns, period;
    unsigned frames;
    uint64_t frame[8];
    unsigned parts, retire, exact, branches; /* a precise sample, if parts or exact is not 0 */
    uint64_t part[4], registers[18], branch[3 * 8];
};

/* What stands behind the callers of a precise sample. */
static inline void made_parts(struct made_log *log, const struct made_sample *sample)
{
    made_put(log, sample->parts, 2);
    made_put(log, sample->retire, 2);
    made_put(log, sample->branches, 1);
    made_put(log, sample->exact, 3);
    for (unsigned i = 0; i < 4; i++)
        if (sample->parts >> i & 1)
            made_put(log, sample->part[i], 8);
    for (unsigned i = 0; i < 18 && sample->parts & 16; i++)
        made_put(log, sample->registers[i], 8);
    for (unsigned i = 0; i < 3 * sample->branches; i++)
        made_put(log, sample->branch[i], 8);
}

static inline void made_sample(struct made_log *log, const struct made_sample *sample)
{
    made_begin(log, sample->parts || sample->exact ? 9 : 6);
    made_put(log, sample->source, 2);
    made_put(log, 0, 2);
    made_put(log, sample->flags, 2);
    made_put(log, sample->frames, 2);
    made_put(log, sample->cpu, 4);
    made_put(log, sample->events, 4);
    made_put(log, sample->process, 4);
    made_put(log, sample->thread, 4);
    made_put(log, sample->lost, 4);
    made_put(log, 0, 4); /* values */
    made_put(log, sample->ip, 8);
    made_put(log, 0, 8); /* sp */
    made_put(log, sample->time_ns, 8);
    made_put(log, 0, 8); /* event_id */
    made_put(log, sample->period, 8);
    for (unsigned i = 0; i < sample->frames; i++)
        made_put(log, sample->frame[i], 8);
    if (sample->parts || sample->exact)
        made_parts(log, sample);
    made_end(log);
    log->samples++;
}

static inline void made_count(struct made_log *log, unsigned source, unsigned event, uint32_t lost)
{
    made_begin(log, 7);
    made_put(log, source, 2);
    made_put(log, 0, 2); /* set */
    made_put(log, event, 1);
    made_put(log, 0, 8 + 3); /* quality, zeros, value */
    made_put(log, 0, 32);
    made_put(log, lost, 4);
    made_end(log);
}

static inline void made_close(struct made_log *log, uint64_t lost, uint64_t cut)
{
    uint64_t records = log->records;

    made_begin(log, 8);
    made_put(log, records, 8);
    made_put(log, log->samples, 8);
    made_put(log, lost, 8);
    made_put(log, cut, 8);
    made_put(log, 900000, 8);
    made_end(log);
}

#endif
