/* SPDX-License-Identifier: MIT */
/* Write and read lines of the journal, as text in memory: no file is accessed here. */
#include "port/linux/linux_journal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* FNV-1a. */
static uint32_t checksum(const char *text, size_t length)
{
    uint32_t sum = 2166136261u;

    for (size_t i = 0; i < length; i++)
        sum = (sum ^ (uint8_t)text[i]) * 16777619u;
    return sum;
}

static size_t finish_line(char line[UPMU_LINUX_LINE], int length)
{
    size_t used = (size_t)length;

    return used + (size_t)snprintf(line + used, UPMU_LINUX_LINE - used, " %08" PRIx32 "\n", checksum(line, used));
}

size_t upmu_linux_journal_head(char line[UPMU_LINUX_LINE], unsigned cpu, const char *boot)
{
    return finish_line(line, snprintf(line, UPMU_LINUX_LINE, "upmu 1 cpu %u boot %.*s", cpu, (int)UPMU_LINUX_BOOT - 1,
                                      boot[0] ? boot : "-"));
}

size_t upmu_linux_journal_line(char line[UPMU_LINUX_LINE], const struct upmu_linux_found *found)
{
    return finish_line(line, snprintf(line, UPMU_LINUX_LINE, "%" PRIx32 " %016" PRIx64, found->address, found->value));
}

static bool add(struct upmu_linux_journal *journal, const struct upmu_linux_found *found)
{
    for (unsigned i = 0; i < journal->count; i++)
        if (journal->found[i].address == found->address)
            return false;
    if (journal->count == UPMU_REGISTERS)
        return false;
    journal->found[journal->count++] = *found;
    return true;
}

/*
 * Read a line into *journal: the head (`first`) or a register. False: upmu would not write this very line for the
 * values that were read, or the journal has the register already, or is full.
 */
static bool read_line(struct upmu_linux_journal *journal, const char *line, size_t length, bool first)
{
    char copy[UPMU_LINUX_LINE], again[UPMU_LINUX_LINE];
    struct upmu_linux_found found;

    if (length >= sizeof copy)
        return false;
    memcpy(copy, line, length);
    copy[length] = '\0';
    if (first)
        return sscanf(copy, "upmu 1 cpu %u boot %36s", &journal->cpu, journal->boot) == 2 &&
               upmu_linux_journal_head(again, journal->cpu, journal->boot) == length && !memcmp(again, line, length);
    return sscanf(copy, "%" SCNx32 " %" SCNx64, &found.address, &found.value) == 2 &&
           upmu_linux_journal_line(again, &found) == length && !memcmp(again, line, length) && add(journal, &found);
}

bool upmu_linux_journal_read(struct upmu_linux_journal *journal, const char *text, size_t length)
{
    bool first = true;

    memset(journal, 0, sizeof *journal);
    while (length) {
        const char *end = memchr(text, '\n', length);
        size_t bytes;

        if (!end)
            return true;
        bytes = (size_t)(end - text) + 1;
        if (!read_line(journal, text, bytes, first))
            return false;
        first = false;
        text += bytes;
        length -= bytes;
    }
    return true;
}
