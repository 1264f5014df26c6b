/* SPDX-License-Identifier: MIT */
/*
 * Calls of hooks that are needed at many places, as functions.
 */
#include "core/hw/port_call.h"

uint64_t upmu_machine_clock_ns(const struct upmu_machine *machine)
{
    return port_clock_ns(machine->port);
}
