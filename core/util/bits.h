/* SPDX-License-Identifier: MIT */
/*
 * Bit arithmetic that never calls the compiler's runtime library.  Layers above the library use it, too.
 */
#ifndef UPMU_CORE_BITS_H
#define UPMU_CORE_BITS_H

#include <upmu/abi.h>

#endif
