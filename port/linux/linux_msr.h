/* SPDX-License-Identifier: MIT */
/*
 * A port for a program of Linux: the registers of one CPU through the kernel's /dev/cpu/N/msr. Overflows cause no
 * interrupt: call upmu_cpu_poll() within half a counter's range (upmu/port.h, pmi_rearm).
 *
 *     upmu_linux_open()      and pass host.port to upmu_machine_init()
 *     upmu_cpu_init()        before a register that keeps values is first written, it is read and noted in the journal
 *     ...
 *     upmu_cpu_fini()        the library restores what it changed
 *     upmu_linux_restore()   restores registers that are still not as found; the only call in a signal handler
 *     upmu_linux_close()
 *
 * A program that was killed leaves its journal. Another program reads it (upmu_linux_journal_read()), copies its
 * registers to host.found, and calls upmu_linux_restore().
 */
#ifndef UPMU_LINUX_MSR_H
#define UPMU_LINUX_MSR_H

#include <upmu/upmu.h>

#include "port/linux/linux_journal.h"
#include "port/linux/linux_system.h"

/*
 * The folder of the journals, and a file in it that a program locks: one program of the machine can have the lock at a
 * time.
 */
#define UPMU_LINUX_FOLDER "/run/upmu"
#define UPMU_LINUX_LOCK UPMU_LINUX_FOLDER "/lock"

/* Whether upmu_linux writes registers. */
enum upmu_linux_mode {
    UPMU_LINUX_WRITE,   /* write registers when the library calls the hook wrmsr */
    UPMU_LINUX_DRY_RUN, /* write no register: keep the values in `kept`, read them from there, and call `on_write` */
};

/* The port of one CPU. Set all fields to 0 before upmu_linux_open(). */
struct upmu_linux {
    struct upmu_port port;
    /* Text of the first failure that is not a register fault (#GP), as of the journal or a file; "": there was none. */
    char trouble[200];
    uint32_t changed; /* address of a register that other software changed between two writes; 0: none */
    uint32_t writes;  /* number of writes that were tried */
    enum upmu_linux_mode mode;
    void (*on_write)(void *context, const char *name, uint32_t address, uint64_t value); /* NULL: not called */
    void *on_write_context;
    /* Registers that were written, and counters that were free before the first write, with their values as found. */
    struct upmu_linux_found found[UPMU_REGISTERS];
    volatile unsigned found_count;
    /* private */
    const struct upmu_linux_system *system;
    const struct upmu_machine *machine;
    /* PMU of the CPU, to whose registers writes are limited; NULL: not detected yet, so each write is refused */
    const struct upmu_pmu *pmu;
    struct upmu_cpu *upmu;
    unsigned cpu;
    /* by index in `found`: value that this program wrote last; before that the found value */
    uint64_t last[UPMU_REGISTERS];
    const struct upmu_register_class *class[UPMU_REGISTERS]; /* by index in `found`: the register's class */
    int file;
    int journal; /* descriptor of the journal's file; below 0: no journal is open */
    uint64_t journal_bytes;
    char journal_path[UPMU_LINUX_PATH];
    /* UPMU_LINUX_DRY_RUN: registers with the values that would have been written */
    struct upmu_linux_found kept[UPMU_REGISTERS];
    unsigned kept_count;
};

/*
 * Bind this thread to a CPU, and fill in host->port and the private fields. `file`: descriptor of the CPU's registers
 * (upmu_linux_look()), which upmu_linux_close() closes. `machine` and `upmu` are those that upmu_machine_init() and
 * upmu_cpu_init() get.
 *
 * Returns 0; below 0: -errno, the thread could not be bound, and the file stays open.
 */
int upmu_linux_open(struct upmu_linux *host, const struct upmu_linux_system *system, unsigned cpu, int file,
                    struct upmu_machine *machine, struct upmu_cpu *upmu, enum upmu_linux_mode mode);

/*
 * Restore the values of all registers in host->found, last those that let counters count. Only registers that differ
 * are written. The function may be called in a signal handler at any point of a call of the library, which must not be
 * called afterwards.
 *
 * Returns how many restores failed (a register that lets counters count is closed and opened, and may count twice); 0:
 * none failed, and the journal that this program made is removed. If host->trouble is set, no text is formatted, as a
 * signal handler requires.
 */
unsigned upmu_linux_restore(struct upmu_linux *host);

void upmu_linux_close(struct upmu_linux *host);

/* Store the path of a CPU's registers (register_path), and that of its journal (journal_path). */
void upmu_linux_register_path(char path[UPMU_LINUX_PATH], unsigned cpu);
void upmu_linux_journal_path(char path[UPMU_LINUX_PATH], unsigned cpu);

#endif
