/* SPDX-License-Identifier: MIT */
/*
 * The journal: a file with the values of registers as found, so that they can be restored after the program was killed.
 *
 * The file is text, only ever appended to, and each line has a checksum. The first line names the CPU and the boot.
 * Each further line is a register (address and value found, in hexadecimal) that is about to be written for the first
 * time, or a counter that was free when the journal began:
 *
 *     upmu 1 cpu 3 boot 0f7d34b6-3b5f-4a0e-9b5f-1f5c7f6f2d11 8d0a41c2
 *     186 0000000000000000 c35c9a2f
 */
#ifndef UPMU_LINUX_JOURNAL_H
#define UPMU_LINUX_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <upmu/pmu.h>

#define UPMU_LINUX_BOOT 37u                                          /* bytes of a boot's name, with its NUL */
#define UPMU_LINUX_LINE 96u                                          /* room for any line */
#define UPMU_LINUX_JOURNAL (UPMU_LINUX_LINE * (UPMU_REGISTERS + 1u)) /* bytes of the longest file */

struct upmu_linux_found {
    uint32_t address;
    uint64_t value;
};

struct upmu_linux_journal {
    unsigned cpu;
    char boot[UPMU_LINUX_BOOT];
    unsigned count;
    struct upmu_linux_found found[UPMU_REGISTERS];
};

/* Make a line of the file: the first one (head), or one with a register (line). Each returns the length of the line. */
size_t upmu_linux_journal_head(char line[UPMU_LINUX_LINE], unsigned cpu, const char *boot);
size_t upmu_linux_journal_line(char line[UPMU_LINUX_LINE], const struct upmu_linux_found *found);

/*
 * Read a file. A last line without its end is ignored: its register was not written yet. A file without a whole line
 * has no registers, and boot "". False: the file is damaged, and *journal has no meaning.
 */
bool upmu_linux_journal_read(struct upmu_linux_journal *journal, const char *text, size_t length);

#endif
