/* SPDX-License-Identifier: MIT */
/*
 * What the interrupt handler and the local side share: emitting samples.
 */
#ifndef UPMU_CORE_PMI_H
#define UPMU_CORE_PMI_H

#include <upmu/session.h>

#endif
