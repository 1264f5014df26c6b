/* SPDX-License-Identifier: MIT */
/* The guest engine with the door of Arm, compiled as a part of a test. */
#include "abi/guest/guest_counter.c"
#include "abi/guest/guest_engine.c"
#include "abi/guest/guest_state.c"

#include "abi/guest/arm/guest_arm.c"
#include "abi/guest/arm/guest_arm_cp15.c"
#include "abi/guest/arm/guest_arm_registers.c"
#include "abi/guest/arm/guest_arm_shape.c"
