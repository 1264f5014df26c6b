/* SPDX-License-Identifier: MIT */
/*
 * Results of commands as lines "KEY VALUE", for programs that read them from COM1.
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
