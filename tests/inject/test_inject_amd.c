/* SPDX-License-Identifier: MIT */
/*
 * The sweeps of tests/inject/test_inject.c on AMD's families: the scenarios of all PMUs,
 * each profile as it is, after a hostile reset, with interrupts up to 16 steps late, and in
 * one variant more.
 */
#define RIG_PROFILES                                                                                                   \
    "k8_revc", "zen4", "bulldozer", "zen2", "k7", "k8_reve", "barcelona", "griffin", "bobcat", "jaguar", "zen1",       \
        "hygon", "zen3", "zen5", "zen6", "amd_future", "amd_kvm_legacy", "amd_kvm_ext", "amd_kvm_v2", "amd_kvm_v2_few"
#define RIG_P4 0
#define RIG_SOME 1
#define RIG_SKIDS 1
#define RIG_STRIDE 3u
#define RIG_PROGRAM "test_inject_amd"

#include "tests/inject/test_inject.c"
