/* SPDX-License-Identifier: MIT */
/*
 * Specifications of events: a declaration for other files of the core.
 */
#ifndef UPMU_CORE_SPEC_H
#define UPMU_CORE_SPEC_H

#include <upmu/event.h>

/* Return the position in the specification's text behind a part, which includes the part's value. */
size_t upmu_spec_part_end(const struct upmu_spec_part *part);

#endif
