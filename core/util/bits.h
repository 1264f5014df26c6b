/* SPDX-License-Identifier: MIT */
/*
 * Bit arithmetic that never calls the compiler's runtime library.  The functions are in upmu/abi.h, because layers
 * above the library use them, too.
 */
#ifndef UPMU_CORE_BITS_H
#define UPMU_CORE_BITS_H

#include <upmu/abi.h>

#endif
