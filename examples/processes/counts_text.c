/* SPDX-License-Identifier: MIT */
/*
 * Numbers and complaints of counts.c, for a console that takes text.
 */
#include <examples/processes/counts_text.h>

/* The console before counts_begin() gives one. */
static void no_console(const char *text)
{
    (void)text;
}

void (*counts_out)(const char *text) = no_console;

/* A number without a 64-bit division, for which 32 bits need a function of the compiler's library. */
void counts_number(uint64_t value, unsigned width)
{
    uint64_t unit[20] = {1};
    char text[21] = "";
    unsigned i, at = 20 - width;

    for (i = 1; i < 20; i++)
        unit[i] = unit[i - 1] * 10;
    for (i = 20; i-- > 0;) {
        unsigned digit = 0;

        for (; value >= unit[i]; value -= unit[i])
            digit++;
        if (digit != 0 && 19 - i < at)
            at = 19 - i;
        text[19 - i] = (char)(digit || i == 0 || (19 - i && text[18 - i] != ' ') ? '0' + digit : ' ');
    }
    counts_out(&text[at]);
}

bool counts_complain(const char *what, enum upmu_status status, const struct upmu_why *why)
{
    char text[120];

    (void)upmu_why_text(why, text, sizeof text);
    counts_out("upmu: ");
    counts_out(what);
    counts_out(": ");
    counts_out(why->status ? text : upmu_status_text(status));
    counts_out("\n");
    return false;
}
