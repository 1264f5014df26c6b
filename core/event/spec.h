/* SPDX-License-Identifier: MIT */
/*
 * Specifications inside the library.
 */
#ifndef UPMU_CORE_SPEC_H
#define UPMU_CORE_SPEC_H

#include <upmu/event.h>

/* Return the position in the text where a part ends, with its value. */
size_t upmu_spec_part_end(const struct upmu_spec_part *part);

#endif
