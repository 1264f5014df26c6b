/* SPDX-License-Identifier: MIT */
/*
 * Hooks that are called at many places.
 */
#include "core/hw/port_call.h"

uint64_t upmu_machine_clock_ns(const struct upmu_machine *machine)
{
    return port_clock_ns(machine->port);
}
