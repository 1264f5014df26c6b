/* SPDX-License-Identifier: MIT */
/*
 * The sweeps on all other Intel models: each as it is, after a hostile reset, and in
 * one variant more.
 */
#define RIG_PROFILES                                                                                                   \
    "westmere", "bonnell_odd", "sandybridge", "ivb_smtoff", "haswell_smt", "broadwell", "silvermont", "knl",           \
        "goldmont_plus", "tremont", "rkl_es", "sapphirerapids", "adl_p", "adl_e", "rpl_p", "mtl_p", "mtl_e",           \
        "arl_h_p", "lnl_p", "lnl_e", "ptl_p", "skylake_tfa", "p6", "pentium_m", "yonah"
#define RIG_P4 0
#define RIG_SOME 1
#define RIG_STRIDE 4u
#define RIG_PROGRAM "test_inject_models"

#include "tests/inject/test_inject.c"
