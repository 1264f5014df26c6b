/* SPDX-License-Identifier: MIT */
/*
 * Results of commands as lines "KEY VALUE", for programs that read them from COM1; arguments of commands.
 */
#include <examples/kernel/kernel.h>

static void key(const struct shell *shell, const char *first, const char *second)
{
    shell_text(shell, first);
    shell_text(shell, second);
    shell_text(shell, " ");
}

void kernel_line_number(const struct shell *shell, const char *first, const char *second, uint64_t value)
{
    key(shell, first, second);
    shell_number(shell, value);
    shell_text(shell, "\n");
}

void kernel_line_hex(const struct shell *shell, const char *first, const char *second, uint64_t value)
{
    key(shell, first, second);
    shell_hex(shell, value);
    shell_text(shell, "\n");
}

void kernel_line_text(const struct shell *shell, const char *first, const char *second, const char *value)
{
    key(shell, first, second);
    shell_text(shell, value);
    shell_text(shell, "\n");
}

void kernel_line_why(const struct shell *shell, const char *first, const struct upmu_why *why)
{
    char text[200];

    (void)upmu_why_text(why, text, sizeof text);
    kernel_line_text(shell, first, "why", text);
}

static const char *next_word(const char *rest)
{
    while (*rest == ' ')
        rest++;
    return rest;
}

bool kernel_take_word(const char **rest, const char *word)
{
    const char *at = *rest;

    while (*word != '\0' && *at == *word) {
        at++;
        word++;
    }
    if (*word != '\0' || (*at != '\0' && *at != ' '))
        return false;
    *rest = next_word(at);
    return true;
}

void kernel_take_argument(const char **rest, char *out_word, size_t size)
{
    const char *at = *rest;
    size_t i = 0;

    for (; *at != '\0' && *at != ' '; at++)
        if (i + 1 < size)
            out_word[i++] = *at;
    out_word[i] = '\0';
    *rest = next_word(at);
}
