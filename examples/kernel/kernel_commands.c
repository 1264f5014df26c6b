/* SPDX-License-Identifier: MIT */
/*
 * The commands that only this kernel has; kernel_programs.c has those of the second image.
 */
#include <examples/kernel/kernel.h>

const struct shell_command kernel_commands[] = {
    {"vmtest", kernel_vmtest}, {"switches", kernel_switches}, {"perfmon2", kernel_perfmon2},
    {"probe", kernel_probe},   {"msr", kernel_msr},           {NULL, NULL},
};
