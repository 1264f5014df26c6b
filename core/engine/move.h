/* SPDX-License-Identifier: MIT */
/*
 * Running events that must move.
 */
#ifndef UPMU_CORE_MOVE_H
#define UPMU_CORE_MOVE_H

#include "core/engine/joint.h"

/* Move what must move for a joint placement; its results are then where events run. */
enum upmu_status upmu_move_all(struct upmu_meter *meter, struct upmu_joint *joint);

#endif
