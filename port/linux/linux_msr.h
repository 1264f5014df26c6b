/* SPDX-License-Identifier: MIT */
/*
 * A port for a program of Linux: the registers of one CPU through the kernel's /dev/cpu/N/msr.  Overflows cause no
 * interrupt: call upmu_cpu_poll() within half a counter's range (upmu/port.h, pmi_rearm).
 *
 *     upmu_linux_open()      and pass host.port to upmu_machine_init()
 *     upmu_cpu_init()        the first write of each register is preceded by a read and a line of the journal
 *     ...
 *     upmu_cpu_fini()        the library restores what it changed
 *     upmu_linux_restore()   what is still not as found; alone in a signal handler
 *     upmu_linux_close()
 *
 * A program that was killed leaves its journal: fill in host.found from it and call upmu_linux_restore().
 */
#ifndef UPMU_LINUX_MSR_H
#define UPMU_LINUX_MSR_H

#include <upmu/upmu.h>

#include "port/linux/linux_journal.h"
#include "port/linux/linux_system.h"

/* Where the journals are, and the file whose lock one program of a machine has at a time. */
#define UPMU_LINUX_FOLDER "/run/upmu"
#define UPMU_LINUX_LOCK UPMU_LINUX_FOLDER "/lock"

/* How registers are written. */
enum upmu_linux_mode {
    UPMU_LINUX_WRITE,   /* as the library says */
    UPMU_LINUX_DRY_RUN, /* only in this program's memory, where they are read from then; `on_write` is told */
};

/* The registers of a CPU.  Zero it before upmu_linux_open(). */
struct upmu_linux {
    struct upmu_port port;
    /* The first thing that went wrong beside registers that fault (#GP); "": nothing. */
    char trouble[200];
    uint32_t changed; /* a register that other software changed between two writes; 0: none */
    uint32_t writes;  /* made */
    enum upmu_linux_mode mode;
    void (*on_write)(void *context, const char *name, uint32_t address, uint64_t value); /* NULL: not called */
    void *on_write_context;
    /* Registers that were written, as found. */
    struct upmu_linux_found found[UPMU_REGISTERS];
    volatile unsigned found_count;
    /* private */
    const struct upmu_linux_system *system;
    const struct upmu_machine *machine;
    const struct upmu_pmu *pmu; /* whose registers may be written; NULL: not detected yet */
    struct upmu_cpu *upmu;
    unsigned cpu;
    uint64_t last[UPMU_REGISTERS];                           /* of host->found: written last */
    const struct upmu_register_class *class[UPMU_REGISTERS]; /* likewise */
    int file;
    int journal; /* file, or below 0 */
    uint64_t journal_bytes;
    char journal_path[UPMU_LINUX_PATH];
    struct upmu_linux_found kept[UPMU_REGISTERS]; /* UPMU_LINUX_DRY_RUN: values written */
    unsigned kept_count;
};

/*
 * Bind this thread to a CPU and fill in host->port.  `file`: the CPU's registers, opened; upmu_linux_close() closes it.
 * `machine` and `upmu` are those that upmu_machine_init() and upmu_cpu_init() get.
 *
 * Returns 0 or -errno; on error the file stays open.
 */
int upmu_linux_open(struct upmu_linux *host, const struct upmu_linux_system *system, unsigned cpu, int file,
                    struct upmu_machine *machine, struct upmu_cpu *upmu, enum upmu_linux_mode mode);

/*
 * Give all registers of host->found their values again, those that count last.  Writes only what differs.  It may be
 * called in a signal handler at any point of a call of the library, which must not be called afterwards.
 *
 * Returns the number of registers that could not be restored; 0: the journal was removed.  With host->trouble set it
 * formats no text, as a signal handler needs it.
 */
unsigned upmu_linux_restore(struct upmu_linux *host);

void upmu_linux_close(struct upmu_linux *host);

/* Path of a CPU's registers, and of its journal. */
void upmu_linux_register_path(char path[UPMU_LINUX_PATH], unsigned cpu);
void upmu_linux_journal_path(char path[UPMU_LINUX_PATH], unsigned cpu);

#endif
