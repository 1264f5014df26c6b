/* SPDX-License-Identifier: MIT */
/* Checks whether the registers of a CPU may be accessed, before any of them is: by files of the kernel, and CPUID. */
#ifndef UPMU_LINUX_LOOK_H
#define UPMU_LINUX_LOOK_H

#include "port/linux/linux_system.h"

struct upmu_linux_wish {
    bool writes; /* false: registers are only read */
    bool force;  /* do not refuse a CPU because the NMI watchdog uses a counter of it */
    bool yes;    /* accept the kernel's taint, and a CPU on which upmu was never tried (P6, Pentium 4) */
};

struct upmu_linux_look {
    char refusal[240];  /* why the CPU is refused, in one line; "": it is not refused */
    char warnings[480]; /* one warning a line */
    int file;           /* descriptor of the CPU's registers, opened; below 0: refused */
    bool hypervisor;
};

/*
 * Check that the registers of a CPU may be accessed, and open them. Files and CPUID are read; registers are neither
 * read nor written.
 */
void upmu_linux_look(struct upmu_linux_look *look, const struct upmu_linux_system *system, unsigned cpu,
                     const struct upmu_linux_wish *wish);

#endif
