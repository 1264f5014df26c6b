/* SPDX-License-Identifier: MIT */
/*
 * Hooks over /dev/cpu/N/msr (Linux arch/x86/kernel/msr.c): 8 bytes at the register's number, EIO for #GP.
 *
 * A write is made only to a register of the PMU's table, and sets no interrupt bit that was not found set. Before the
 * first write of a register that keeps what is written, the journal gets a line with the value found.
 */
#include "port/linux/linux_msr.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <upmu/cpu.h>

void upmu_linux_register_path(char path[UPMU_LINUX_PATH], unsigned cpu)
{
    (void)snprintf(path, UPMU_LINUX_PATH, "/dev/cpu/%u/msr", cpu);
}

void upmu_linux_journal_path(char path[UPMU_LINUX_PATH], unsigned cpu)
{
    (void)snprintf(path, UPMU_LINUX_PATH, UPMU_LINUX_FOLDER "/cpu%u.journal", cpu);
}

__attribute__((format(printf, 2, 3))) static bool trouble(struct upmu_linux *host, const char *format, ...)
{
    va_list list;

    if (host->trouble[0])
        return false;
    va_start(list, format);
    (void)vsnprintf(host->trouble, sizeof host->trouble, format, list);
    va_end(list);
    return false;
}

/* ---- Registers ---- */

/* Return the row of an MSR in the register table of the CPU's PMU; NULL: the PMU has no such register. */
static const struct upmu_register *row_of(const struct upmu_linux *host, uint32_t msr, const char **out_name)
{
    const struct upmu_pmu *pmu = host->pmu;

    if (!pmu)
        return NULL;
    for (unsigned i = 0; i < pmu->table->row_count; i++) {
        const struct upmu_register *row = &pmu->table->rows[i];

        if (row->address != msr || pmu->table->classes[row->class_index].space != UPMU_SPACE_MSR)
            continue;
        *out_name = upmu_register_name(pmu, i);
        if (*out_name)
            return row;
    }
    return NULL;
}

static const struct upmu_register_class *class_of(const struct upmu_linux *host, uint32_t msr)
{
    const char *name;
    const struct upmu_register *row = row_of(host, msr, &name);

    return row ? &host->pmu->table->classes[row->class_index] : NULL;
}

/*
 * Return the address of the MSR through which an MSR is written. A counter may have two MSRs, of which one takes the
 * counter's whole width and stands for both.
 */
static uint32_t write_through(const struct upmu_linux *host, uint32_t msr)
{
    const struct upmu_pmu *pmu = host->pmu;

    for (unsigned i = 0; pmu && i < UPMU_COUNTERS; i++)
        if ((pmu->counters >> i & 1u) && upmu_register_address(pmu, pmu->counter[i].value_row) == msr)
            return upmu_register_address(pmu, pmu->counter[i].write_row);
    return msr;
}

/* Does a register of this class keep what is written, so that its value can be restored? */
static bool holds(const struct upmu_register_class *class)
{
    return class->access == UPMU_ACCESS_RW && class->kind != UPMU_KIND_STATUS && class->kind != UPMU_KIND_ACK;
}

/*
 * Were 8 bytes transferred? A register fault (#GP, which is EIO) just gives false; any other failure is also noted in
 * host->trouble.
 */
static bool transferred(struct upmu_linux *host, const char *what, uint32_t msr, int64_t bytes)
{
    if (bytes == (int64_t)sizeof(uint64_t) || bytes == -EIO || host->trouble[0])
        return bytes == (int64_t)sizeof(uint64_t);
    return trouble(host, "register 0x%" PRIx32 " was not %s: %s", msr, what,
                   bytes < 0 ? strerror((int)-bytes) : "only a part was transferred");
}

static bool get(struct upmu_linux *host, uint32_t msr, uint64_t *out_value)
{
    int64_t bytes = host->system->pread(host->system->context, host->file, out_value, sizeof *out_value, msr);

    return transferred(host, "read", msr, bytes);
}

static bool put(struct upmu_linux *host, uint32_t msr, uint64_t value)
{
    int64_t bytes = host->system->pwrite(host->system->context, host->file, &value, sizeof value, msr);

    host->writes++;
    return transferred(host, "written", msr, bytes);
}

/* ---- A dry run ---- */

static struct upmu_linux_found *kept_of(struct upmu_linux *host, uint32_t msr)
{
    msr = write_through(host, msr);
    for (unsigned i = 0; i < host->kept_count; i++)
        if (host->kept[i].address == msr)
            return &host->kept[i];
    return NULL;
}

static void pretend(struct upmu_linux *host, uint32_t msr, uint64_t value)
{
    struct upmu_linux_found *kept = kept_of(host, msr);
    const char *name = "";

    if (!kept && host->kept_count < UPMU_REGISTERS)
        kept = &host->kept[host->kept_count++];
    if (kept)
        *kept = (struct upmu_linux_found){write_through(host, msr), value};
    (void)row_of(host, msr, &name);
    if (host->on_write)
        host->on_write(host->on_write_context, name, msr, value);
}

/* ---- The journal ---- */

static bool append(struct upmu_linux *host, const char *line, size_t length)
{
    const struct upmu_linux_system *system = host->system;
    int64_t bytes = system->pwrite(system->context, host->journal, line, length, host->journal_bytes);

    if (bytes != (int64_t)length)
        return trouble(host, "the journal cannot be written: %s", strerror((int)(bytes < 0 ? -bytes : ENOSPC)));
    host->journal_bytes += length;
    return true;
}

static bool sync_journal(struct upmu_linux *host)
{
    int synced = host->system->sync(host->system->context, host->journal);

    return synced < 0 ? trouble(host, "the journal cannot be written: %s", strerror(-synced)) : true;
}

/* Return the index of a register in host->found; found_count: the register is not there. */
static unsigned found_at(const struct upmu_linux *host, uint32_t msr)
{
    unsigned i = 0;

    while (i < host->found_count && host->found[i].address != msr)
        i++;
    return i;
}

/* Add a register and the value found to the journal and to host->found. The journal's file is not synced here. */
static bool note(struct upmu_linux *host, const struct upmu_linux_found *found)
{
    char line[UPMU_LINUX_LINE];
    unsigned count = host->found_count;

    if (count == UPMU_REGISTERS || !append(host, line, upmu_linux_journal_line(line, found)))
        return false;
    host->found[count] = *found;
    host->last[count] = found->value;
    host->class[count] = class_of(host, found->address);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    host->found_count = count + 1;
    return true;
}

/*
 * Put all free counters into the journal before the first write of any register, because their values change as soon as
 * they count, without a write.
 */
static bool note_counters(struct upmu_linux *host)
{
    for (unsigned i = 0; i < UPMU_COUNTERS; i++) {
        struct upmu_linux_found found;

        if (upmu_cpu_owner(host->upmu, i) != UPMU_OWNER_FREE)
            continue;
        found.address = upmu_register_address(host->pmu, host->pmu->counter[i].write_row);
        if (found_at(host, found.address) == host->found_count &&
            (!get(host, found.address, &found.value) || !note(host, &found)))
            return false;
    }
    return true;
}

static bool begin_journal(struct upmu_linux *host)
{
    char boot[UPMU_LINUX_BOOT], line[UPMU_LINUX_LINE];
    const struct upmu_linux_system *system = host->system;

    host->journal = system->open(system->context, host->journal_path, O_RDWR | O_CREAT | O_EXCL);
    if (host->journal < 0)
        return trouble(host, "%s cannot be created: %s", host->journal_path, strerror(-host->journal));
    (void)upmu_linux_line(system, "/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    return append(host, line, upmu_linux_journal_head(line, host->cpu, boot)) && note_counters(host) &&
           sync_journal(host);
}

/*
 * Return the index of a register in host->found. A register that is not there is read, and put into the journal before
 * its first write. found_count: that failed.
 */
static unsigned remember(struct upmu_linux *host, uint32_t msr)
{
    struct upmu_linux_found found = {write_through(host, msr), 0};
    unsigned at;

    if (host->journal < 0 && !begin_journal(host))
        return host->found_count;
    at = found_at(host, found.address);
    if (at == host->found_count && get(host, msr, &found.value) && note(host, &found) && !sync_journal(host))
        return host->found_count;
    return at;
}

/*
 * Note in host->changed if other software has changed a register with gates since the last write by this program. Such
 * a register is read before each write. False: it cannot be read.
 */
static bool compare(struct upmu_linux *host, const struct upmu_register_class *class, uint32_t msr, uint64_t last)
{
    uint64_t now;

    if (!get(host, msr, &now))
        return false;
    if (((now ^ last) & class->owned & ~class->hardware) && !host->changed)
        host->changed = msr;
    return true;
}

/* ---- Hooks ---- */

static bool linux_rdmsr(void *context, uint32_t msr, uint64_t *out_value)
{
    struct upmu_linux *host = context;
    const struct upmu_linux_found *kept = kept_of(host, msr);

    if (!kept)
        return get(host, msr, out_value);
    *out_value = kept->value;
    return true;
}

/*
 * Write a register that was written before. This function is short, because all that runs until the gate closes is
 * counted.
 */
static bool write_again(struct upmu_linux *host, unsigned at, uint32_t msr, uint64_t value)
{
    const struct upmu_register_class *class = host->class[at];

    if (class->gates && !compare(host, class, msr, host->last[at]))
        return false;
    if (value & class->interrupt & ~host->found[at].value)
        return trouble(host, "no write of 0x%" PRIx64 " to 0x%" PRIx32 ": an overflow would interrupt", value, msr);
    host->last[at] = value;
    return put(host, msr, value);
}

static bool linux_wrmsr(void *context, uint32_t msr, uint64_t value)
{
    struct upmu_linux *host = context;
    const struct upmu_register_class *class;
    unsigned at = found_at(host, msr);

    if (at < host->found_count)
        return write_again(host, at, msr, value);
    /* The CPU's PMU is known after its detection; the machine publishes it only after take-over. */
    if (!host->pmu)
        host->pmu = host->upmu->meter.pmu;
    class = class_of(host, msr);
    if (!class)
        return trouble(host, "no write to 0x%" PRIx32 ": the PMU has no such register", msr);
    if (host->mode == UPMU_LINUX_DRY_RUN) {
        pretend(host, msr, value);
        return true;
    }
    if (!holds(class))
        return put(host, msr, value);
    at = remember(host, msr);
    return at < host->found_count && write_again(host, at, msr, value);
}

static void linux_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    const struct upmu_linux *host = context;

    host->system->cpuid(host->system->context, leaf, subleaf, out);
}

/* Return the CPU, or NULL if the thread was moved to another CPU, so that the library refuses the call. */
static struct upmu_cpu *linux_this_cpu(void *context)
{
    const struct upmu_linux *host = context;

    return host->system->this_cpu(host->system->context) == (int)host->cpu ? host->upmu : NULL;
}

static uint64_t linux_clock_ns(void *context)
{
    const struct upmu_linux *host = context;

    return host->system->clock_ns(host->system->context);
}

int upmu_linux_open(struct upmu_linux *host, const struct upmu_linux_system *system, unsigned cpu, int file,
                    struct upmu_machine *machine, struct upmu_cpu *upmu, enum upmu_linux_mode mode)
{
    int bound = system->bind(system->context, cpu);

    if (bound < 0)
        return bound;
    host->system = system;
    host->machine = machine;
    host->upmu = upmu;
    host->cpu = cpu;
    host->file = file;
    host->journal = -1;
    upmu_linux_journal_path(host->journal_path, cpu);
    host->mode = mode;
    host->port = (struct upmu_port){
        .context = host,
        .rdmsr = linux_rdmsr,
        .wrmsr = linux_wrmsr,
        .cpuid = linux_cpuid,
        .this_cpu = linux_this_cpu,
        .clock_ns = linux_clock_ns,
        .msr_faults_are_safe = true,
    };
    return 0;
}

/* ---- Restoring ---- */

/*
 * The rounds of restoring: close the gates that were found closed; restore the registers behind them; then restore
 * selects and controls with gates, the last written first. A bit that is not the library's keeps its present value.
 */
enum round { ROUND_CLOSE, ROUND_LOAD, ROUND_OPEN, ROUNDS };

static bool restore_one(struct upmu_linux *host, const struct upmu_linux_found *found, enum round round)
{
    const struct upmu_register_class *class = class_of(host, found->address);
    uint64_t now, value, compared;

    if (!class || !holds(class))
        return !class ? trouble(host, "0x%" PRIx32 " is no register of the PMU", found->address) : true;
    if ((class->gates != 0) != (round != ROUND_LOAD))
        return true;
    if (!get(host, found->address, &now))
        return false;
    compared = class->kind == UPMU_KIND_COUNTER ? UINT64_MAX : class->owned;
    value = (now & ~compared) | (found->value & compared);
    if (round == ROUND_CLOSE && value != now)
        value = class->kind == UPMU_KIND_SELECT ? (now & class->idle_keep) | class->idle_value
                                                : now & ~(class->gates & ~found->value);
    if (((value ^ now) & ~(class->kind == UPMU_KIND_COUNTER ? 0 : class->hardware)) == 0)
        return true;
    if (host->mode != UPMU_LINUX_DRY_RUN)
        return put(host, found->address, value);
    pretend(host, found->address, value);
    return true;
}

unsigned upmu_linux_restore(struct upmu_linux *host)
{
    unsigned failed = 0;

    for (unsigned attempt = 0; attempt == 0 || (attempt < 2 && failed); attempt++) {
        failed = 0;
        for (unsigned round = ROUND_CLOSE; round < ROUNDS; round++)
            for (unsigned i = host->found_count; i-- > 0;)
                failed += !restore_one(host, &host->found[i], (enum round)round);
    }
    if (!failed && host->journal >= 0)
        (void)host->system->remove(host->system->context, host->journal_path);
    return failed;
}

void upmu_linux_close(struct upmu_linux *host)
{
    if (host->journal >= 0)
        host->system->close(host->system->context, host->journal);
    host->system->close(host->system->context, host->file);
    host->journal = -1;
}
