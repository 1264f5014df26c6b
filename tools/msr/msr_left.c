/* SPDX-License-Identifier: MIT */
/*
 * Restoring from a journal.  The PMU is detected without a write, so that the table of its registers decides again
 * which of them may be written.
 */
#include <tools/msr/msr_left.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

int msr_left_lock(const struct upmu_linux_system *system)
{
    int made = system->make_folder(system->context, UPMU_LINUX_FOLDER);
    int file = made < 0 && made != -EEXIST ? made : system->open(system->context, UPMU_LINUX_LOCK, O_RDWR | O_CREAT);
    int locked = file < 0 ? file : system->lock(system->context, file);

    if (file >= 0 && locked < 0)
        system->close(system->context, file);
    return locked < 0 ? locked : file;
}

unsigned msr_left_find(const struct upmu_linux_system *system, unsigned cpu)
{
    char path[UPMU_LINUX_PATH];

    for (; cpu < MSR_CPUS; cpu++) {
        int file;

        upmu_linux_journal_path(path, cpu);
        file = system->open(system->context, path, O_RDONLY);
        if (file >= 0) {
            system->close(system->context, file);
            break;
        }
    }
    return cpu;
}

bool msr_left_may_look(const struct upmu_linux_system *system)
{
    int file = system->open(system->context, UPMU_LINUX_LOCK, O_RDONLY);

    if (file >= 0)
        system->close(system->context, file);
    return file != -EACCES;
}

static bool read_journal(struct upmu_linux_journal *journal, const struct upmu_linux_system *system, const char *path,
                         char *why, size_t why_size)
{
    static char text[UPMU_LINUX_JOURNAL];
    int file = system->open(system->context, path, O_RDONLY);
    int64_t length = file < 0 ? file : system->pread(system->context, file, text, sizeof text, 0);

    if (file >= 0)
        system->close(system->context, file);
    if (length < 0)
        (void)snprintf(why, why_size, "%s cannot be read: %s", path, strerror((int)-length));
    else if (!upmu_linux_journal_read(journal, text, (size_t)length))
        (void)snprintf(why, why_size, "%s is damaged: a restart of the machine resets the registers", path);
    else
        return true;
    return false;
}

/* The table of the CPU's registers, from CPUID: what the take-over writes stays in memory. */
static bool detect(struct upmu_linux *host, const struct upmu_linux_system *system, unsigned cpu, int file,
                   struct upmu_machine *machine)
{
    static struct upmu_cpu upmu;

    memset(&upmu, 0, sizeof upmu);
    if (upmu_linux_open(host, system, cpu, file, machine, &upmu, UPMU_LINUX_DRY_RUN) < 0 ||
        upmu_machine_init(machine, &host->port) != UPMU_OK)
        return false;
    (void)!upmu_cpu_init(&upmu, machine, NULL);
    host->pmu = machine->pmu_count ? &machine->pmu[0] : NULL;
    return host->pmu != NULL;
}

bool msr_left_restore(struct upmu_linux *host, const struct upmu_linux_system *system, unsigned cpu, int file,
                      enum upmu_linux_mode mode, char *why, size_t why_size)
{
    static struct upmu_linux_journal journal;
    static struct upmu_machine machine;
    char path[UPMU_LINUX_PATH], boot[UPMU_LINUX_BOOT];
    void (*on_write)(void *context, const char *name, uint32_t address, uint64_t value) = host->on_write;
    unsigned failed = 0;

    upmu_linux_journal_path(path, cpu);
    if (!read_journal(&journal, system, path, why, why_size))
        return false;
    (void)upmu_linux_line(system, "/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    if (journal.count && !strcmp(journal.boot, boot[0] ? boot : "-")) {
        if (journal.cpu != cpu) {
            (void)snprintf(why, why_size, "%s is of CPU %u", path, journal.cpu);
            return false;
        }
        memset(&machine, 0, sizeof machine);
        host->on_write = NULL;
        if (!detect(host, system, cpu, file, &machine)) {
            (void)snprintf(why, why_size, "CPU %u: no PMU was detected, to which %s could belong", cpu, path);
            return false;
        }
        host->on_write = on_write;
        host->mode = mode;
        host->kept_count = 0;
        host->trouble[0] = '\0';
        memcpy(host->found, journal.found, sizeof host->found);
        host->found_count = journal.count;
        failed = upmu_linux_restore(host);
    }
    if (failed)
        (void)snprintf(why, why_size, "CPU %u: %u registers were not restored: %s", cpu, failed,
                       host->trouble[0] ? host->trouble : "a write faults");
    else if (mode == UPMU_LINUX_WRITE)
        (void)system->remove(system->context, path);
    return !failed;
}
