/* SPDX-License-Identifier: MIT */
/*
 * The kernel's information about the registers of a CPU, read before any of them is accessed.
 */
#ifndef UPMU_LINUX_LOOK_H
#define UPMU_LINUX_LOOK_H

#include "port/linux/linux_system.h"

struct upmu_linux_wish {
    bool writes; /* false: registers are only read */
    bool force;  /* go on beside the NMI watchdog */
    bool yes;    /* accept the kernel's taint, and CPUs on which a wrong write was never tried */
};

struct upmu_linux_look {
    char refusal[240];  /* one line; "": no refusal */
    char warnings[480]; /* lines */
    int file;           /* the registers, opened; below 0 after a refusal */
    bool hypervisor;
};

/*
 * Check that the registers of a CPU may be accessed, and open them. Files and CPUID are read; registers are neither
 * read nor written.
 */
void upmu_linux_look(struct upmu_linux_look *look, const struct upmu_linux_system *system, unsigned cpu,
                     const struct upmu_linux_wish *wish);

#endif
