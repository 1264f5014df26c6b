/* SPDX-License-Identifier: MIT */
/*
 * The sweeps of tests/inject/test_inject.c on the Pentium 4: its own profiles, the
 * scenarios of all PMUs and those of two hyper-threads, cascades and tags.
 */
#define RIG_P4 1
#define RIG_PROGRAM "test_inject_p4"
#define RIG_STRIDE 12u
#define RIG_PROFILES "prescott", "northwood", "willamette", "prescott_smtoff", "cedarmill"
#include "tests/inject/test_inject.c"
