/* SPDX-License-Identifier: MIT */
/*
 * The commands that only this kernel has; kernel_programs.c has those of the second image.
 */
#include <examples/kernel/kernel.h>

/* An instruction that does not exist. */
static int panics(struct shell *shell, const char *rest)
{
    (void)shell, (void)rest;
    __asm__ volatile("ud2");
    return 1;
}

const struct shell_command kernel_commands[] = {
    {"vmtest", kernel_vmtest}, {"switches", kernel_switches}, {"perfmon2", kernel_perfmon2},
    {"probe", kernel_probe},   {"msr", kernel_msr},           {"panic", panics},
    {NULL, NULL},
};
