/* SPDX-License-Identifier: MIT */
/* Calls of hooks from many places, as functions that are not inline. */
#include "core/hw/port_call.h"

uint64_t upmu_machine_clock_ns(const struct upmu_machine *machine)
{
    return port_clock_ns(machine->port);
}
