/* SPDX-License-Identifier: MIT */
/* The guest engine, compiled as a part of a test: its core, then its doors. */
#include "abi/guest/guest_counter.c"
#include "abi/guest/guest_engine.c"
#include "abi/guest/guest_state.c"

#include "abi/guest/x86/guest_amd.c"
#include "abi/guest/x86/guest_event.c"
#include "abi/guest/x86/guest_host_msr.c"
#include "abi/guest/x86/guest_intel.c"
#include "abi/guest/x86/guest_range.c"
#include "abi/guest/x86/guest_shape.c"
#include "abi/guest/x86/guest_x86.c"
#include "abi/guest/x86/guest_x86_registers.c"
