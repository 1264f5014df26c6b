/* SPDX-License-Identifier: MIT */
/*
 * Fuzzing: the journal of port/linux.  Any bytes are a journal or are refused; an accepted one, written again, is the
 * whole lines of the input; one that was made and cut anywhere is accepted.
 */
#include <stdio.h>
#include <string.h>

#include <port/linux/linux_journal.c>

#include "tests/fuzz/fuzz.h"

/* The whole lines of an accepted file, written again. */
static size_t write_again(const struct upmu_linux_journal *journal, char *text)
{
    size_t length = upmu_linux_journal_head(text, journal->cpu, journal->boot);

    for (unsigned i = 0; i < journal->count; i++)
        length += upmu_linux_journal_line(text + length, &journal->found[i]);
    return length;
}

static void run(const uint8_t *bytes, size_t length)
{
    static char again[UPMU_LINUX_JOURNAL];
    struct upmu_linux_journal journal;
    const char *text = (const char *)bytes;
    size_t whole = length;

    while (whole && text[whole - 1] != '\n')
        whole--;
    if (!upmu_linux_journal_read(&journal, text, length))
        return;
    FUZZ_CHECK(journal.count <= UPMU_REGISTERS && memchr(journal.boot, 0, sizeof journal.boot), "no room for it");
    FUZZ_CHECK(whole ? write_again(&journal, again) == whole && !memcmp(again, text, whole) : !journal.count,
               "accepted: \"%.*s\"", (int)whole, text);
    for (size_t cut = 0; cut < length; cut += 7) {
        struct upmu_linux_journal shorter;

        FUZZ_CHECK(upmu_linux_journal_read(&shorter, text, cut) && shorter.count <= journal.count,
                   "cut to %u bytes it is refused", (unsigned)cut);
    }
}

static void make(uint64_t *random, struct fuzz_draft *draft)
{
    struct upmu_linux_journal journal = {.cpu = fuzz_below(random, 300), .boot = "0f7d34b6-3b5f"};
    char text[UPMU_LINUX_JOURNAL + 1];
    size_t length;

    journal.count = fuzz_below(random, 16);
    for (unsigned i = 0; i < journal.count; i++)
        journal.found[i] = (struct upmu_linux_found){(uint32_t)fuzz_word(random), fuzz_word(random)};
    length = write_again(&journal, text);
    text[length - fuzz_below(random, 2) * fuzz_below(random, 20)] = '\0';
    fuzz_put_text(draft, text);
    if (draft->length && !fuzz_below(random, 3))
        for (unsigned changes = 1 + fuzz_below(random, 3); changes; changes--)
            draft->bytes[fuzz_below(random, (unsigned)draft->length)] =
                fuzz_below(random, 2) ? (uint8_t) "\n 0x-+afz"[fuzz_below(random, 9)] : (uint8_t)fuzz_random(random);
}

const struct fuzz_target fuzz_target = {
    "journal", "any_bytes_are_a_journal_that_writes_itself_or_refused", 20000, 2000000, run, make, 0};
