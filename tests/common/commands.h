/* SPDX-License-Identifier: MIT */
/*
 * All commands of the tool as a part of the program that tests them, with their static functions and tables.
 */
#ifndef TESTS_COMMON_COMMANDS_H
#define TESTS_COMMON_COMMANDS_H

#include <tools/cmd/cmd_branches.c>
#include <tools/cmd/cmd_catalog.c>
#include <tools/cmd/cmd_completion.c>
#include <tools/cmd/cmd_elf.c>
#include <tools/cmd/cmd_encode.c>
#include <tools/cmd/cmd_info.c>
#include <tools/cmd/cmd_level.c>
#include <tools/cmd/cmd_loops.c>
#include <tools/cmd/cmd_main.c>
#include <tools/cmd/cmd_metric.c>
#include <tools/cmd/cmd_nearest.c>
#include <tools/cmd/cmd_pack.c>
#include <tools/cmd/cmd_pack_exact.c>
#include <tools/cmd/cmd_pack_search.c>
#include <tools/cmd/cmd_pmc.c>
#include <tools/cmd/cmd_print.c>
#include <tools/cmd/cmd_progress.c>
#include <tools/cmd/cmd_record.c>
#include <tools/cmd/cmd_results.c>
#include <tools/cmd/cmd_selftest.c>
#include <tools/cmd/cmd_stat.c>
#include <tools/cmd/cmd_target.c>
#include <tools/cmd/cmd_uncore.c>
#include <tools/cmd/cmd_watch.c>
#include <tools/cmd/cmd_work.c>
#include <tools/cmd/cmd_work_sim.c>

#endif
