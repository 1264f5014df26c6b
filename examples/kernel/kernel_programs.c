/* SPDX-License-Identifier: MIT */
/*
 * The second image's commands: programs in ring 3 and what becomes of their counts and samples.
 */
#include <examples/kernel/kernel.h>

const struct shell_command kernel_commands[] = {
    {"split", kernel_split},
    {"results", kernel_results},
    {"perf", kernel_perf},
    {"precise", kernel_precise},
    {"module", kernel_run_module},
    {NULL, NULL},
};
