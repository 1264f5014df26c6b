/* SPDX-License-Identifier: MIT */
/*
 * Commands on the machine's own PMU: a fake of Linux in memory, whose /dev/cpu/N/msr is a silicon model.  It records
 * each write of a register with the value before it, and whether the register was read and journalled first.
 */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/common/assertions.h"
#include <port/linux/linux_journal.c>
#include <port/linux/linux_look.c>
#include <port/linux/linux_msr.c>
#include <port/linux/linux_system.c>
#include "tests/common/commands.h"
#include <tools/msr/msr_left.c>
#include <tools/msr/msr_run.c>

#define FILES 20u
#define FILE_TEXT 9600u
#define REGISTERS_FILE 1000
#define WRITTEN 160u

/* All registers that a model could have, by address. */
#define RANGES 4u
#define RANGE_REGISTERS 0x450u
static const struct {
    uint32_t first, count;
} ranges[RANGES] = {{0xc0, RANGE_REGISTERS}, {0xc0000300, 4}, {0xc0010000, 8}, {0xc0010200, 0x100}};

struct fake_file {
    char path[64], text[FILE_TEXT];
    size_t length;
};

/* A machine: its kernel's files, its registers, and what goes wrong.  In memory that a child process shares. */
struct fake {
    struct upmu_sim sim;
    struct fake_file file[FILES];
    unsigned cpu; /* the CPU that the program runs on */
    uint64_t ns, ns_per_loop;
    /* What goes wrong */
    int open_error, folder_error, bind_error, lock_error, journal_error, sync_error; /* -errno, or 0 */
    uint32_t wrong_at;                                                 /* this access of a register ... */
    int64_t wrong_result;                                              /* ... has this result and no effect */
    uint32_t kill_at;                                                  /* the program ends before this write */
    int raise_in_loop;                                                 /* a signal; 0: none */
    uint32_t poke_address;                                             /* other software writes it in the next loop */
    uint64_t poke_value;
    bool moves;     /* the next loop ends on another CPU */
    uint64_t noise; /* instructions that interrupts add to all loops but each seventh */
    /* Seen */
    uint32_t accesses, writes, loops, accesses_at_first, accesses_at_last; /* loop */
    unsigned written, reads;
    uint32_t write_address[WRITTEN];
    uint64_t was[RANGES][RANGE_REGISTERS]; /* each register before the program */
    bool runs[RANGES][RANGE_REGISTERS];    /* it counted for others */
    uint32_t read_address[WRITTEN];
    bool synced; /* the journal */
    char mistake[120];
};

static struct fake *fake;
static jmp_buf killed;
static char out[1 << 18], err[1 << 16], stored[1 << 18];
static size_t text_bytes_out, text_bytes_err;

/* ---- The system ---- */

static struct fake_file *fake_find(const char *path)
{
    for (unsigned i = 0; i < FILES; i++)
        if (strcmp(fake->file[i].path, path) == 0)
            return &fake->file[i];
    return NULL;
}

static void fake_put(const char *path, const char *text)
{
    struct fake_file *file = fake_find(path);

    if (file == NULL)
        file = fake_find("");
    assert_non_null(file);
    snprintf(file->path, sizeof file->path, "%s", path);
    snprintf(file->text, sizeof file->text, "%s", text);
    file->length = strlen(file->text);
}

static int fake_open(void *context, const char *path, int flags)
{
    struct fake_file *file = fake_find(path);
    bool registers = strncmp(path, "/dev/cpu/", 9) == 0;

    (void)context;
    if (registers && fake->open_error)
        return fake->open_error;
    if (fake->folder_error && strncmp(path, "/run/upmu/", 10) == 0)
        return fake->folder_error;
    if (registers)
        return REGISTERS_FILE;
    if (file != NULL && (flags & O_EXCL))
        return -EEXIST;
    if (file == NULL && !(flags & O_CREAT))
        return -ENOENT;
    if (file == NULL)
        fake_put(path, "");
    return (int)(fake_find(path) - fake->file) + 3;
}

static bool fake_access(int64_t *result)
{
    if (++fake->accesses != fake->wrong_at)
        return true;
    *result = fake->wrong_result;
    return false;
}

static bool was_read(uint32_t address)
{
    for (unsigned i = 0; i < fake->reads; i++)
        if (fake->read_address[i] == address)
            return true;
    return false;
}

static int64_t fake_pread(void *context, int number, void *bytes, size_t length, uint64_t offset)
{
    const struct fake_file *file = &fake->file[number < REGISTERS_FILE ? number - 3 : 0];
    int64_t result = 8;

    (void)context;
    if (number != REGISTERS_FILE) {
        length = offset >= file->length ? 0 : length < file->length - offset ? length : file->length - (size_t)offset;
        memcpy(bytes, file->text + offset, length);
        return (int64_t)length;
    }
    assert_int_equal(length, 8);
    if (!fake_access(&result))
        return result;
    if (!was_read((uint32_t)offset)) {
        assert_compare(fake->reads, <, WRITTEN);
        fake->read_address[fake->reads++] = (uint32_t)offset;
    }
    return upmu_sim_port(&fake->sim)->rdmsr(&fake->sim, (uint32_t)offset, bytes) ? 8 : -EIO;
}

static void mistake(const char *what, uint32_t address)
{
    if (!fake->mistake[0])
        snprintf(fake->mistake, sizeof fake->mistake, "register %#x: %s", (unsigned)address, what);
}

/* Acknowledgements are no values: IA32_PERF_GLOBAL_OVF_CTRL (SDM 18.2.2), PerfCntrGlobalStatusClr (APM 13.2.1). */
static bool is_command(uint32_t address)
{
    return address == 0x390 || address == 0xc0000302;
}

/* The value before the first write, which must have been read and be in the journal. */
static void record_write(uint32_t address)
{
    char line[40];
    const struct fake_file *journal = fake_find("/run/upmu/cpu0.journal");
    uint64_t was = 0;

    for (unsigned i = 0; i < fake->written; i++)
        if (fake->write_address[i] == address)
            return;
    assert_compare(fake->written, <, WRITTEN);
    fake->write_address[fake->written++] = address;
    if (is_command(address))
        return;
    if (!was_read(address))
        mistake("written before it was read", address);
    for (unsigned range = 0; range < RANGES; range++)
        if (address - ranges[range].first < ranges[range].count)
            was = fake->was[range][address - ranges[range].first];
    snprintf(line, sizeof line, "\n%x %016llx ", (unsigned)address, (unsigned long long)was);
    if (journal != NULL && strstr(journal->text, line) == NULL && address - 0xc1 < 8) /* a counter's wider alias */
        snprintf(line, sizeof line, "\n%x %016llx ", (unsigned)address + 0x400, (unsigned long long)was);
    if (journal == NULL || strstr(journal->text, line) == NULL || !fake->synced)
        mistake("written before the journal had it", address);
}

static int64_t fake_pwrite(void *context, int number, const void *bytes, size_t length, uint64_t offset)
{
    struct fake_file *file = &fake->file[number < REGISTERS_FILE ? number - 3 : 0];
    int64_t result = 8;
    uint64_t value;

    (void)context;
    if (number != REGISTERS_FILE) {
        if (fake->journal_error)
            return fake->journal_error;
        assert_true(offset + length < sizeof file->text && offset == file->length);
        memcpy(file->text + offset, bytes, length);
        file->length = (size_t)offset + length;
        file->text[file->length] = '\0';
        fake->synced = false;
        return (int64_t)length;
    }
    assert_int_equal(length, 8);
    if (++fake->writes == fake->kill_at)
        longjmp(killed, 1);
    record_write((uint32_t)offset);
    if (!fake_access(&result))
        return result;
    memcpy(&value, bytes, 8);
    return upmu_sim_port(&fake->sim)->wrmsr(&fake->sim, (uint32_t)offset, value) ? 8 : -EIO;
}

static int fake_sync(void *context, int number)
{
    (void)context, (void)number;
    fake->synced = true;
    return fake->sync_error;
}

static int fake_lock(void *context, int number)
{
    (void)context, (void)number;
    return fake->lock_error;
}

static void fake_close(void *context, int number)
{
    (void)context, (void)number;
}

static int fake_remove(void *context, const char *path)
{
    struct fake_file *file = fake_find(path);

    (void)context;
    if (file != NULL)
        file->path[0] = '\0';
    return file != NULL ? 0 : -ENOENT;
}

static int fake_make_folder(void *context, const char *path)
{
    (void)context;
    assert_string_equal(path, "/run/upmu");
    return -EEXIST;
}

static int fake_bind(void *context, unsigned cpu)
{
    (void)context;
    if (!fake->bind_error)
        fake->cpu = cpu;
    return fake->bind_error;
}

static int fake_this_cpu(void *context)
{
    (void)context;
    return (int)fake->cpu;
}

static void fake_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t words[4])
{
    (void)context;
    upmu_sim_port(&fake->sim)->cpuid(&fake->sim, leaf, subleaf, words);
}

static uint64_t fake_clock(void *context)
{
    (void)context;
    return fake->ns += 100;
}

static const struct upmu_linux_system fake_system = {.open = fake_open,
                                                     .pread = fake_pread,
                                                     .pwrite = fake_pwrite,
                                                     .sync = fake_sync,
                                                     .lock = fake_lock,
                                                     .close = fake_close,
                                                     .remove = fake_remove,
                                                     .make_folder = fake_make_folder,
                                                     .bind = fake_bind,
                                                     .this_cpu = fake_this_cpu,
                                                     .cpuid = fake_cpuid,
                                                     .clock_ns = fake_clock};

/* ---- Running commands ---- */

static void write_out(void *context, const char *text, size_t length)
{
    (void)context;
    assert_compare(text_bytes_out + length, <, sizeof out);
    memcpy(out + text_bytes_out, text, length);
    out[text_bytes_out += length] = '\0';
}

static unsigned colours;

static void write_colour(void *context, enum cmd_colour colour)
{
    (void)context, (void)colour;
    colours++;
}

static void write_err(void *context, const char *text, size_t length)
{
    (void)context;
    assert_compare(text_bytes_err + length, <, sizeof err);
    memcpy(err + text_bytes_err, text, length);
    err[text_bytes_err += length] = '\0';
}

static bool write_stored(void *context, const char *name, const void *bytes, size_t length)
{
    (void)context;
    memcpy(stored, bytes, length);
    stored[length] = '\0';
    return strcmp(name, "full") != 0;
}

/* The loops, in user mode: what each iteration retires is the table of tools/cmd/cmd_loops.h. */
static void fake_loops(struct cmd *cmd, const struct cmd_workload *workload, uint64_t iterations)
{
    const struct upmu_sim_burst burst = {.instructions = iterations * workload->instructions,
                                         .cycles = iterations * 3,
                                         .branches = iterations * workload->branches,
                                         .uops = iterations * workload->instructions,
                                         .user = true};
    const struct upmu_sim_burst interrupt = {.instructions = fake->noise, .cycles = fake->noise};

    (void)cmd;
    fake->ns += fake->ns_per_loop;
    upmu_sim_events(&fake->sim, &burst);
    if (fake->noise && fake->loops / 3 % 7 != 6)
        upmu_sim_events(&fake->sim, &interrupt);
    if (iterations <= 1000) /* (the probe's) */
        return;
    fake->accesses_at_first = fake->loops++ ? fake->accesses_at_first : fake->accesses;
    fake->accesses_at_last = fake->accesses;
    if (fake->poke_address)
        upmu_sim_poke(&fake->sim, 0, fake->poke_address, fake->poke_value);
    if (fake->moves)
        fake->cpu = 1;
    if (fake->raise_in_loop)
        raise(fake->raise_in_loop);
}

/* Each register as it is, and which of them change while others count. */
static void look_at_registers(void)
{
    const struct upmu_sim_burst burst = {.instructions = 64, .cycles = 64, .ref_cycles = 64, .slots = 64, .uops = 64};

    for (unsigned pass = 0; pass < 2; pass++) {
        for (unsigned range = 0; range < RANGES; range++)
            for (unsigned i = 0; i < ranges[range].count; i++) {
                uint64_t now = upmu_sim_peek(&fake->sim, 0, ranges[range].first + i);

                fake->runs[range][i] = pass && now != fake->was[range][i];
                fake->was[range][i] = now;
            }
        if (!pass)
            upmu_sim_events(&fake->sim, &burst);
    }
}

/* A machine with this CPU, that counts for others if `used`. */
static void fresh_machine(const char *profile, bool used)
{
    if (fake == NULL)
        fake = mmap(NULL, sizeof *fake, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_int_not_equal(fake, MAP_FAILED);
    memset(fake, 0, sizeof *fake);
    upmu_sim_init(&fake->sim, upmu_sim_profile(profile), 1);
    fake->sim.expect_faults = true;
    upmu_sim_irqs(&fake->sim, false); /* the model's hooks ask for it */
    if (used)
        upmu_sim_firmware(&fake->sim, 0);
    if (used && fake->sim.profile->general && fake->sim.profile->general < 4)
        upmu_sim_poke(&fake->sim, 0, 0x38f, (1u << fake->sim.profile->general) - 1u); /* (it assumes four) */
    look_at_registers();
    fake_put("/proc/sys/kernel/random/boot_id", "0f7d34b6-3b5f-4a0e-9b5f-1f5c7f6f2d11\n");
    fake_put("/proc/cpuinfo", "processor\t: 0\nmodel name\t: Model of a CPU @ 3 GHz\nmicrocode\t: 0xf4\n");
    fake_put("/proc/version", "Linux version 6.1.0-test\n");
    fake_put("/sys/devices/system/cpu/online", "0-3\n");
    fake_put("/sys/devices/system/cpu/cpu0/uevent", "\n");
    fake_put("/sys/kernel/security/lockdown", "[none] integrity confidentiality\n");
    fake_put("/sys/module/msr/parameters/allow_writes", "on\n");
    fake_put("/proc/sys/kernel/nmi_watchdog", "0\n");
}

static const struct cmd_child *counted; /* a program; NULL: the loops */

static int run_line(const char *line)
{
    static struct cmd cmd;
    static const struct cmd_sink sink = {
        .write = write_out, .write_error = write_err, .write_file = write_stored, .colour = write_colour};
    static char copy[200];
    const char *words[20];
    unsigned count = 0;

    memset(&cmd, 0, sizeof cmd);
    cmd.sink = &sink;
    cmd.program = "upmu";
    cmd.chain_at = copy; /* the fake's loops need no chain */
    cmd.child = counted;
    text_bytes_out = text_bytes_err = colours = 0;
    out[0] = err[0] = stored[0] = '\0';
    snprintf(copy, sizeof copy, "%s", line);
    for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " "))
        words[count++] = word;
    assert_true(msr_asked(count, words));
    return msr_run(&cmd, &fake_system, count, words, fake_loops);
}

static void must_be(int result, int wanted, const char *line)
{
    if (result != wanted)
        fail_msg("%s: exit status %d, not %d\n%s%s", line, result, wanted, out, err);
}

static void run_to(const char *line, int wanted)
{
    must_be(run_line(line), wanted, line);
}

static void says(const char *text)
{
    if (strstr(out, text) == NULL && strstr(err, text) == NULL)
        fail_msg("no '%s' in:\n%s%s", text, out, err);
}

static void registers_are_as_found(const char *what)
{
    for (unsigned range = 0; range < RANGES; range++)
        for (unsigned i = 0; i < ranges[range].count; i++) {
            uint64_t now = upmu_sim_peek(&fake->sim, 0, ranges[range].first + i);

            if (!fake->runs[range][i] && now != fake->was[range][i])
                fail_msg("%s: register %#x is %#llx, was %#llx\n%s%s", what, (unsigned)(ranges[range].first + i),
                         (unsigned long long)now, (unsigned long long)fake->was[range][i], out, err);
        }
    if (fake->mistake[0])
        fail_msg("%s: %s", what, fake->mistake);
    if (fake->sim.violation_count)
        fail_msg("%s: %s, register %#x", what, fake->sim.first_violation.text,
                 (unsigned)fake->sim.first_violation.address);
    if (fake_find("/run/upmu/cpu0.journal") != NULL)
        fail_msg("%s: the journal is still there\n%s%s", what, out, err);
}

static void nothing_was_written(const char *what)
{
    if (fake->writes || fake->written)
        fail_msg("%s: %u writes", what, (unsigned)fake->writes);
    if (fake_find("/run/upmu/cpu0.journal") && fake_find("/run/upmu/cpu0.journal")->length)
        fail_msg("%s: a journal", what);
}

/* ---- Refusals ---- */

/* A machine that refuses, or one that is only warned about: one file of it differs. */
struct root {
    const char *what, *profile, *path, *text, *line;
    int open_error, bind_error, lock_error, journal_error;
    int wanted;
    const char *says;
};

#define JOURNAL "/run/upmu/cpu0.journal"
static const struct root roots[] = {
    {"module", "skl", NULL, NULL, "stat --msr", -ENOENT, 0, 0, 0, 3, "modprobe msr"},
    {"module, reading", "skl", NULL, NULL, "pmus --msr", -ENOENT, 0, 0, 0, 3, "modprobe msr"},
    {"no such CPU", "skl", NULL, NULL, "stat --msr -C 9", -ENOENT, 0, 0, 0, 3, "there is no CPU 9; online: 0-3"},
    {"offline", "skl", NULL, NULL, "stat --msr -C 2", -ENXIO, 0, 0, 0, 3, "CPU 2 is offline"},
    {"offline, without a file", "skl", "/sys/devices/system/cpu/cpu0/online", "0\n", "stat --msr -C 0", -ENOENT, 0, 0,
     0, 3, "CPU 0 is offline"},
    {"root", "skl", NULL, NULL, "selftest --msr", -EACCES, 0, 0, 0, 3, "run it as root"},
    {"root, reading", "skl", NULL, NULL, "pmus --msr", -EACCES, 0, 0, 0, 3, "run it as root"},
    {"capability", "skl", NULL, NULL, "selftest --msr", -EPERM, 0, 0, 0, 3, "CAP_SYS_RAWIO"},
    {"no MSRs", "skl", NULL, NULL, "selftest --msr", -EIO, 0, 0, 0, 3, "cannot be opened"},
    {"integrity", "skl", "/sys/kernel/security/lockdown", "none [integrity] confidentiality\n",
     "stat --msr --yes --force", 0, 0, 0, 0, 3, "locked down"},
    {"confidentiality", "skl", "/sys/kernel/security/lockdown", "none integrity [confidentiality]\n", "selftest --msr",
     0, 0, 0, 0, 3, "locked down"},
    {"writes off", "skl", "/sys/module/msr/parameters/allow_writes", "off\n", "stat --msr --yes", 0, 0, 0, 0, 3,
     "msr.allow_writes is off"},
    {"taint", "skl", "/sys/module/msr/parameters/allow_writes", "default\n", "stat --msr", 0, 0, 0, 0, 3, "with --yes"},
    {"watchdog", "skl", "/proc/sys/kernel/nmi_watchdog", "1\n", "stat --msr --yes", 0, 0, 0, 0, 3,
     "sysctl kernel.nmi_watchdog=0"},
    {"Pentium 4", "northwood", NULL, NULL, "stat --msr", 0, 0, 0, 0, 3, "accept that with --yes"},
    {"P6", "p6", NULL, NULL, "stat --msr", 0, 0, 0, 0, 3, "accept that with --yes"},
    {"cpuset", "skl", NULL, NULL, "stat --msr", 0, -EINVAL, 0, 0, 3, "choose another with -C"},
    {"another upmu", "skl", NULL, NULL, "stat --msr", 0, 0, -EWOULDBLOCK, 0, 3, "another upmu"},
    {"journal on a full disk", "skl", NULL, NULL, "stat --msr", 0, 0, 0, -ENOSPC, 3, "No space left"},
    {"damaged journal", "skl", JOURNAL, "nonsense\n", "stat --msr", 0, 0, 0, 0, 1, "is damaged"},
    {"damaged journal, restoring", "skl", JOURNAL, "nonsense\n", "restore --msr", 0, 0, 0, 0, 1, "is damaged"},
    {"a journal and another upmu", "skl", JOURNAL, "", "restore --msr", 0, 0, -EWOULDBLOCK, 0, 3, "another upmu"},
    {"no PMU", "no_pmu", NULL, NULL, "stat --msr --yes", 0, 0, 0, 0, 4, "no PMU that can be used"},
};

static void a_machine_that_refuses_is_told_in_a_line_nothing_is_written(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof roots / sizeof roots[0]; i++) {
        const struct root *root = &roots[i];
        bool damaged = root->path != NULL && strcmp(root->path, JOURNAL) == 0;

        fresh_machine(root->profile, false);
        if (root->path != NULL)
            fake_put(root->path, root->text);
        fake->open_error = root->open_error;
        fake->bind_error = root->bind_error;
        fake->lock_error = root->lock_error;
        fake->journal_error = root->journal_error;
        run_to(root->line, root->wanted);
        says(root->says);
        assert_string_equal(out, "");
        if (!damaged)
            nothing_was_written(root->what);
        assert_int_equal(fake->writes, 0);
        if (root->wanted == 3 && !root->journal_error) {
            assert_int_equal(fake->accesses, 0);
            assert_ptr_equal(strchr(err, '\n') + 1, err + text_bytes_err); /* one line */
        }
    }
}

static void a_machine_that_is_accepted_is_warned_about(void **state)
{
    static const struct root accepted[] = {
        {"taint", "skl", "/sys/module/msr/parameters/allow_writes", "default\n", "stat --msr --yes", 0, 0, 0, 0, 0,
         "tainted"},
        {"watchdog", "skl", "/proc/sys/kernel/nmi_watchdog", "1\n", "stat --msr --force", 0, 0, 0, 0, 0, "left alone"},
        {"hypervisor", "hypervisor_v2_nofixed", NULL, NULL, "stat --msr", 0, 0, 0, 0, 0, "a hypervisor"},
        {"watchdog, reading", "skl", "/proc/sys/kernel/nmi_watchdog", "1\n", "pmus --msr", 0, 0, 0, 0, 0, "PMC0"},
        {"lockdown, dry", "skl", "/sys/kernel/security/lockdown", "none [integrity]\n", "stat --msr --dry-run", 0, 0, 0,
         0, 0, "a dry run"},
        {"Pentium 4", "northwood", NULL, NULL, "stat --msr --yes", 0, 0, 0, 0, 0, "Counts of"},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof accepted / sizeof accepted[0]; i++) {
        const struct upmu_sim_profile *profile = upmu_sim_profile(accepted[i].profile);

        assert_non_null(profile);
        fresh_machine(accepted[i].profile, false);
        if (accepted[i].path != NULL)
            fake_put(accepted[i].path, accepted[i].text);
        run_to(accepted[i].line, accepted[i].wanted);
        says(accepted[i].says);
        registers_are_as_found(accepted[i].what);
    }
}

static void a_pmu_that_counts_nothing_is_found_out(void **state)
{
    static const char *const bad[] = {"ignores_writes", "counts_nothing"};
    static const char *const verdicts[] = {"probe: ignores writes\n", "probe: counts nothing\n"};

    (void)state;
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        fresh_machine(bad[i], false);
        run_to("selftest --msr --yes --report page", 4);
        assert_non_null(strstr(stored, verdicts[i]), i);
        registers_are_as_found(bad[i]);
        fresh_machine(bad[i], false);
        run_to("stat --msr --yes", 4);
        registers_are_as_found(bad[i]);
    }
}

/* ---- Counting ---- */

static void stat_counts_what_the_loop_retires(void **state)
{
    (void)state;
    fresh_machine("skl", false);
    run_to("stat --msr -e instructions:u,branches:u,cycles:u -n 200000 memset", 0);
    says("         1,000,000  instructions:u");
    says("           200,000  branches:u");
    says("           600,000  cycles:u");
    registers_are_as_found("stat");
    fresh_machine("skl", false);
    run_to("stat --msr -M bandwidth -n 2000 spin", 1);
    says("not supported"); /* a program reaches no units */
    run_to("stat --msr --json -r 3 -e instructions:u -n 2000 spin", 0);
    says("\"counts\":[4000,4000,4000]");
}

static void selftest_takes_the_least_of_its_runs(void **state)
{
    (void)state;
    fresh_machine("skl", true);
    fake->sim.events_per_access = 60;
    fake->noise = 40000;
    run_to("selftest --msr", 0);
    says(" 0 failed");
    says("skip  PMC0: firmware");
    says("ok    instructions:u: 8,000,000, expected 8,000,000 to 8,002,000");
    registers_are_as_found("selftest");
    fresh_machine("skl", false);
    fake->sim.events_per_access = 20000; /* more than 0.1 % on the way */
    run_to("selftest --msr", 1);
    says("FAIL  instructions on PMC0");
    registers_are_as_found("selftest that fails");
}

/* Half of a P6's 32 bits can pass in a second. */
static void counters_are_read_twice_in_a_second_while_the_loops_run(void **state)
{
    (void)state;
    fresh_machine("p6", false);
    fake->ns_per_loop = 300000000;
    run_to("stat --msr --yes -e instructions:u -n 3000000000 spin", 0);
    says("     6,000,000,000  instructions:u");
    assert_compare(fake->loops, >, 2000);
    assert_compare(fake->accesses_at_last - fake->accesses_at_first, >=, fake->loops / 2 - 1);
    registers_are_as_found("p6");
    fresh_machine("p6", false);
    fake->ns_per_loop = 1000000; /* and not more often */
    run_to("stat --msr --yes -e instructions:u -n 30000000 spin", 0);
    assert_compare(fake->loops, >, 20);
    assert_int_equal(fake->accesses_at_last, fake->accesses_at_first);
}

static bool counts_nothing(const char *profile)
{
    static const char *const names[] = {"no_pmu", "ignores_writes", "counts_nothing", "faults", "no_perfmon", "tcg"};

    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strstr(profile, names[i]))
            return true;
    return false;
}

static void counters_in_use_are_left_alone_on_every_cpu(void **state)
{
    const struct upmu_sim_profile *profile;
    unsigned beside = 0;

    (void)state;
    for (unsigned i = 0; (profile = upmu_sim_profile_at(i)) != NULL; i++)
        for (unsigned used = 0; used < 2; used++) {
            int result;

            fresh_machine(profile->name, used);
            result = run_line("stat --msr --yes -e instructions:u -n 1000000 spin");
            registers_are_as_found(profile->name);
            must_be(result, result == 4 && (used || counts_nothing(profile->name)) ? 4 : 0, profile->name);
            if (result == 0)
                says("         2,000,000  instructions:u");
            beside += used && result == 0;
        }
    assert_compare(beside, >=, 40); /* (a CPU whose counters are all in use has none to count with) */
}

static void pmus_and_a_dry_run_write_nothing(void **state)
{
    static const char *const lines[] = {"pmus --msr", "stat --msr --dry-run", "selftest --msr --dry-run --yes"};

    (void)state;
    for (unsigned i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        fresh_machine("skl", true);
        run_line(lines[i]);
        nothing_was_written(lines[i]);
        assert_null(fake_find("/run/upmu/lock"));
        says(i == 0 ? "PMC1              48  0x00000001  free" : "wrmsr 0x38f ");
        if (i == 0)
            says("PMC0              48  0x00000000  firmware");
    }
    fresh_machine("skl", false);
    run_to("stat --msr --dry-run -e branches", 0);
    says("wrmsr 0x186 0x4300c4 # IA32_PERFEVTSEL0\n");
    assert_null(strstr(out, "Counts of"));
    assert_int_equal(colours, 0); /* of text that is not shown */
    run_to("selftest --msr --dry-run", 0);
    run_to("stat --msr --dry-run -e nonsense", 1);
}

/* ---- Disturbances ---- */

static void a_result_is_void_if_registers_changed_meanwhile(void **state)
{
    (void)state;
    fresh_machine("skl", false);
    fake->poke_address = 0x186; /* perf takes general counter 0 */
    fake->poke_value = 0x5300c0;
    run_to("stat --msr -e branches:u", 1);
    says("void: register 0x186");
    assert_null(strstr(out, "Counts of"));
    fresh_machine("skl", true);
    fake->poke_address = 0x186; /* found in use, and reprogrammed */
    fake->poke_value = 0x5300c5;
    run_to("stat --msr -e branches:u", 1);
    says("void: register 0x186");
    fresh_machine("skl", true);
    fake->poke_address = 0x38d; /* fixed counters found in use */
    fake->poke_value = 0;
    run_to("stat --msr -e branches:u", 1);
    says("void: register 0x38d");
    fresh_machine("skl", false);
    fake->poke_address = 0x38f; /* all counters closed */
    run_to("selftest --msr", 1);
    says("void: register 0x38f");
    says("FAIL");
}

static void a_program_that_was_moved_restores_all_the_same(void **state)
{
    (void)state;
    fresh_machine("skl", false);
    fake->moves = true;
    run_to("stat --msr", 1);
    registers_are_as_found("moved");
}

/* ---- The port alone ---- */

static void the_port_writes_registers_of_the_pmu_alone_and_no_interrupt(void **state)
{
    static struct upmu_linux host;
    static struct upmu_machine machine;
    static struct upmu_cpu upmu;
    const struct upmu_port *port = &host.port;

    (void)state;
    memset(&host, 0, sizeof host);
    memset(&machine, 0, sizeof machine);
    memset(&upmu, 0, sizeof upmu);
    fresh_machine("skl", false);
    assert_int_equal(upmu_linux_open(&host, &fake_system, 0, REGISTERS_FILE, &machine, &upmu, UPMU_LINUX_WRITE), 0);
    assert_int_equal(upmu_machine_init(&machine, port), UPMU_OK);
    assert_false(port->wrmsr(port->context, 0x186, 0)); /* nothing is detected yet */
    assert_non_null(strstr(host.trouble, "no such register"));
    assert_int_equal(upmu_cpu_init(&upmu, &machine, NULL), UPMU_OK);
    fake->writes = 0;
    host.trouble[0] = '\0';
    assert_false(port->wrmsr(port->context, 0xc0000080, 0)); /* EFER */
    assert_non_null(strstr(host.trouble, "no such register"));
    host.trouble[0] = '\0';
    assert_false(port->wrmsr(port->context, 0x186, 0x5300c0));
    assert_non_null(strstr(host.trouble, "would interrupt"));
    assert_int_equal(fake->writes, 0);
    host.trouble[0] = '\0';
    fake->sync_error = -EIO;
    assert_false(port->wrmsr(port->context, 0x187, 0x4300c0)); /* its journal is not on the disk */
    assert_non_null(strstr(host.trouble, "the journal cannot be written"));
    assert_int_equal(fake->writes, 0);
    fake->sync_error = 0;
    assert_int_equal(upmu_cpu_fini(&upmu), UPMU_OK);
    assert_int_equal(upmu_linux_restore(&host), 0);
    upmu_linux_close(&host);
    registers_are_as_found("port");
}

/* ---- Errors of single accesses ---- */

static const char *const swept[] = {"skl", "adl_p", "zen2", "zen4", "k8_revf", "core2", "northwood", "p6"};

static void any_access_that_fails_ends_with_the_registers_as_found(void **state)
{
    static const int64_t results[] = {-EIO, 4, -EPERM};

    (void)state;
    for (unsigned i = 0; i < 2 * sizeof results / sizeof results[0]; i++) {
        uint32_t total = UINT32_MAX;
        int64_t result = results[i / 2];

        for (uint32_t at = 1; at <= total; at++) {
            char what[80];
            int status;

            snprintf(what, sizeof what, "%s, access %u: %d", swept[i % 2 * 2], (unsigned)at, (int)result);
            fresh_machine(swept[i % 2 * 2], true);
            fake->wrong_at = at;
            fake->wrong_result = result;
            status = run_line("stat --msr --yes -e instructions:u,cycles:u -n 2000 spin");
            total = fake->accesses < at ? 0 : total;
            registers_are_as_found(what);
            if (total && result != -EIO) {
                assert_int_not_equal(status, 0);
                if (fake->writes)
                    assert_int_equal(status, 1);
            }
        }
    }
}

/* ---- The end of the program ---- */

static void after_kill_9_restore_gives_every_register_back(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof swept / sizeof swept[0]; i++) {
        volatile bool done = false;

        if (upmu_sim_profile(swept[i]) == NULL)
            fail_msg("no profile %s", swept[i]);
        for (volatile uint32_t at = 1; !done; at++) {
            char what[80];

            snprintf(what, sizeof what, "%s, killed at write %u", swept[i], (unsigned)at);
            fresh_machine(swept[i], at % 2 != 0);
            fake->kill_at = at;
            if (setjmp(killed) == 0) {
                (void)run_line("stat --msr --yes -e instructions:u,branches -n 2000 spin");
                done = true;
            }
            fake->kill_at = 0;
            fake->sim.violation_count = 0;
            if (!done) {
                assert_non_null(fake_find(JOURNAL));
                if (at % 3 != 0) { /* else the next command does it */
                    run_to("restore --msr", 0);
                    says("is restored");
                } else {
                    run_to("stat --msr --yes -e instructions:u -n 2000 spin", 0);
                    says("             4,000  instructions:u");
                }
            }
            registers_are_as_found(what);
        }
    }
}

static void a_signal_restores_before_it_ends_the_program(void **state)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGSEGV};

    (void)state;
    for (unsigned i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        int status;
        pid_t child;

        fresh_machine(i % 2 ? "zen2" : "skl", true);
        fake->raise_in_loop = signals[i];
        child = fork();
        if (child == 0) {
            (void)signal(signals[i], SIG_DFL); /* (one that is ignored is left so) */
            (void)run_line("stat --msr -e branches:u");
            _exit(77);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != signals[i])
            fail_msg("signal %d: status %#x", signals[i], (unsigned)status);
        assert_int_not_equal(fake->written, 0);
        registers_are_as_found("signal");
    }
}

static void kill_in_the_loop(void)
{
    fake->raise_in_loop = SIGKILL;
    if (fork() == 0) {
        (void)run_line("stat --msr");
        _exit(77);
    }
    (void)wait(NULL);
    fake->raise_in_loop = 0;
    assert_non_null(fake_find(JOURNAL));
}

static void restore_belongs_to_a_cpu_and_a_boot(void **state)
{
    uint32_t writes;

    (void)state;
    fresh_machine("skl", false);
    run_to("restore --msr", 0);
    says("nothing to restore");
    assert_null(fake_find("/run/upmu/lock"));
    kill_in_the_loop();
    writes = fake->writes;
    run_to("restore --msr --dry-run", 0);
    says("wrmsr 0x38f 0x");
    assert_int_equal(fake->writes, writes);
    run_to("restore --msr -C 2", 0);
    says("nothing to restore: there is no journal of CPU 2");
    fake->folder_error = fake->open_error = -EACCES; /* another user may not look into the folder */
    run_to("restore --msr", 3);
    says("run it as root");
    run_to("restore --msr -C 2 --dry-run", 3);
    says("run it as root");
    run_to("pmus --msr", 3);
    assert_null(strstr(err, "killed"));
    fake->folder_error = fake->open_error = 0;
    assert_non_null(fake_find(JOURNAL));
    run_to("pmus --msr", 0);
    says("see 'restore --msr'");
    fake_put("/proc/sys/kernel/random/boot_id", "ffffffff-3b5f-4a0e-9b5f-1f5c7f6f2d11\n");
    run_to("restore --msr", 0); /* the registers were reset */
    assert_int_equal(fake->writes, writes);
    assert_null(fake_find(JOURNAL));
    fresh_machine("skl", false);
    kill_in_the_loop();
    snprintf(fake_find(JOURNAL)->path, 64, "/run/upmu/cpu3.journal");
    run_to("restore --msr", 1);
    says("is of CPU 0");
}

/* IA32_DEBUGCTL: bit 12 freezes counters, which upmu clears; bit 0, the last-branch record, is not upmu's. */
static void restore_keeps_what_other_software_changed_beside_it(void **state)
{
    (void)state;
    fresh_machine("skl", false);
    upmu_sim_poke(&fake->sim, 0, 0x1d9, 0x1000);
    kill_in_the_loop();
    assert_int_equal(upmu_sim_peek(&fake->sim, 0, 0x1d9), 0);
    upmu_sim_poke(&fake->sim, 0, 0x1d9, 1);
    run_to("restore --msr", 0);
    assert_int_equal(upmu_sim_peek(&fake->sim, 0, 0x1d9), 0x1001);
}

static void a_journal_with_a_register_of_another_cpu_is_refused(void **state)
{
    const struct upmu_linux_found efer = {0xc0000080, 0};
    char line[UPMU_LINUX_LINE], text[400];

    (void)state;
    fresh_machine("skl", false);
    upmu_linux_journal_head(line, 0, "0f7d34b6-3b5f-4a0e-9b5f-1f5c7f6f2d11");
    snprintf(text, sizeof text, "%s", line);
    upmu_linux_journal_line(line, &efer);
    snprintf(text + strlen(text), 100, "%s", line);
    fake_put(JOURNAL, text);
    run_to("restore --msr", 1);
    says("0xc0000080 is no register of the PMU");
    assert_int_equal(fake->writes, 0);
}

/* ---- The journal's text ---- */

static void a_torn_last_line_is_ignored_and_damage_is_found(void **state)
{
    const struct upmu_linux_found found[] = {{0x38f, 0xff}, {0xc0010200, UINT64_MAX}};
    struct upmu_linux_journal journal;
    char text[300], damaged[300];
    size_t length = upmu_linux_journal_head(text, 3, "boot"), first = length;

    (void)state;
    for (unsigned i = 0; i < 2; i++)
        length += upmu_linux_journal_line(text + length, &found[i]);
    assert_true(upmu_linux_journal_read(&journal, text, length));
    assert_int_equal(journal.cpu, 3);
    assert_string_equal(journal.boot, "boot");
    assert_int_equal(journal.count, 2);
    assert_memory_equal(&journal.found[1].value, &found[1].value, 8);
    for (size_t cut = 0; cut < length; cut++) {
        assert_true(upmu_linux_journal_read(&journal, text, cut));
        assert_int_equal(journal.count, cut <= first ? 0 : journal.count < 2 ? journal.count : 1);
        memcpy(damaged, text, length);
        damaged[cut] ^= 1;
        if (cut + 1 < length)
            assert_false(upmu_linux_journal_read(&journal, damaged, length));
    }
    length += upmu_linux_journal_line(text + length, &found[0]);
    assert_false(upmu_linux_journal_read(&journal, text, length)); /* a register twice */
}

/* ---- Linux itself ---- */

static void the_systems_functions_do_what_their_names_say(void **state)
{
    const struct upmu_linux_system *system = &upmu_linux_system_itself;
    char folder[] = "/tmp/test_msr.XXXXXX", path[60], line[8];
    int file, second;

    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(system->make_folder(NULL, folder), -EEXIST);
    snprintf(path, sizeof path, "%s/file", folder);
    assert_int_equal(system->open(NULL, path, O_RDONLY), -ENOENT);
    assert_false(upmu_linux_line(system, path, line, sizeof line));
    file = system->open(NULL, path, O_RDWR | O_CREAT | O_EXCL);
    assert_compare(file, >=, 0);
    assert_int_equal(system->open(NULL, path, O_RDWR | O_CREAT | O_EXCL), -EEXIST);
    second = system->open(NULL, path, O_RDWR);
    assert_int_equal(system->lock(NULL, file), 0);
    assert_int_equal(system->lock(NULL, second), -EWOULDBLOCK);
    assert_int_equal(system->pwrite(NULL, file, "one\ntwo\nthree\n", 14, 0), 14);
    assert_int_equal(system->sync(NULL, file), 0);
    assert_int_equal(system->pread(NULL, second, line, 3, 4), 3);
    assert_memory_equal(line, "two", 3);
    assert_int_equal(system->pread(NULL, second, line, 3, UINT64_C(0xc0010200)), 0); /* a register's number */
    assert_true(upmu_linux_line(system, path, line, sizeof line));
    assert_string_equal(line, "one");
    system->close(NULL, file);
    system->close(NULL, second);
    assert_int_equal(system->pread(NULL, file, line, 1, 0), -EBADF);
    assert_int_equal(system->remove(NULL, path), 0);
    assert_int_equal(system->remove(NULL, path), -ENOENT);
    assert_int_equal(rmdir(folder), 0);
    if (fork() == 0) { /* bound for itself alone */
        int cpu = system->this_cpu(NULL);

        _exit(system->bind(NULL, (unsigned)cpu) == 0 && system->this_cpu(NULL) == cpu &&
                      system->bind(NULL, 100000) == -EINVAL
                  ? 0
                  : 1);
    }
    assert_true(wait(&file) > 0 && file == 0);
    assert_compare(system->clock_ns(NULL), <=, system->clock_ns(NULL));
}

/* ---- Words ---- */

/* Both with their colours: the table of counts, and the list of facts. */
static void text_has_its_colours(void **state)
{
    (void)state;
    fresh_machine("skl", false);
    run_to("stat --msr -e instructions", 0);
    assert_compare(colours, >, 4);
    run_to("pmus --msr", 0);
    assert_compare(colours, >, 4);
}

static void the_report_has_what_a_reader_needs(void **state)
{
    static const char *const parts[] = {
        "upmu 0.",           ": selftest --msr, CPU 0\n",          "model: Model of a CPU @ 3 GHz\n",
        "microcode: 0xf4\n", "kernel: Linux version 6.1.0-test\n", "probe: counts",
        "exit status: 0\n",  "instructions:u: 8,000,000",          " 0 failed"};

    (void)state;
    fresh_machine("skl", false);
    run_to("selftest --msr --report page.txt", 0);
    for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strstr(stored, parts[i]) == NULL)
            fail_msg("no '%s' in:\n%s", parts[i], stored);
    fake->open_error = -EACCES;
    run_to("selftest --msr --report page.txt", 3);
    assert_non_null(strstr(stored, "run it as root"));
    fake->open_error = 0;
    run_to("selftest --msr --report full", 1);
    says("cannot write full");
}

/* ---- A program in place of the loops: three pieces of a third of a second ---- */

static unsigned starts, pieces;

static bool fake_start(struct cmd *cmd)
{
    starts++;
    pieces = 3;
    if (fake->raise_in_loop == 0)
        return true;
    cmd_error(cmd, "there is no such program");
    return false;
}

static bool fake_run(struct cmd *cmd)
{
    const struct upmu_sim_burst burst = {.instructions = 1000, .cycles = 3000, .user = true};

    if (pieces == 0)
        fail_msg("the program runs before its start");
    fake->ns += UINT64_C(333333333);
    upmu_sim_events(&fake->sim, &burst);
    assert_int_equal(upmu_cpu_poll(cmd->cpu), UPMU_OK);
    return --pieces != 0;
}

static void a_program_is_counted_from_its_start_to_its_end(void **state)
{
    static const struct cmd_child program = {
        .workload = {.name = "./a.out", .iterations = 1}, .start = fake_start, .run = fake_run};

    (void)state;
    counted = &program;
    starts = 0;
    fresh_machine("skl", false);
    run_to("stat --msr -r 2 -e instructions,cycles", 0);
    assert_int_equal(starts, 2);
    says("Counts of './a.out' on skl, mean of 2 runs:");
    says(" 3,000  instructions");
    says(" 9,000  cycles");
    registers_are_as_found("program");
    run_to("stat --msr -I 300 -e instructions", 0);
    says("us              1,000  instructions");
    says(" 3,000  instructions");
    assert_int_equal(starts, 3);
    fake->raise_in_loop = 1; /* it cannot be started */
    run_to("stat --msr -e instructions", 1);
    assert_string_equal(strchr(err, '\n') + 1, "upmu: there is no such program\n"); /* behind a warning */
    registers_are_as_found("no program");
    counted = NULL;
}

static void words_that_do_not_fit_are_refused(void **state)
{
    static const char *const lines[] = {"record --msr",         "restore",
                                        "stat --msr -C",        "stat --msr -C x",
                                        "stat --msr -C 9999",   "stat --msr --sim skl",
                                        "restore --msr word",   "pmus --msr --report",
                                        "stat --msr --nonsense"};

    (void)state;
    for (unsigned i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        fresh_machine("skl", false);
        run_to(lines[i], 2);
    }
    run_to("stat --msr --help", 0);
    says("restore --msr");
    run_to("stat --msr -e imc/CAS_COUNT.RD", 1); /* units are not the port's */
    registers_are_as_found("units");
    run_to("stat --msr -C 2 -e cycles", 0);
    assert_null(fake_find("/run/upmu/cpu2.journal"));
    assert_int_equal(fake->cpu, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_that_refuses_is_told_in_a_line_nothing_is_written),
        cmocka_unit_test(a_machine_that_is_accepted_is_warned_about),
        cmocka_unit_test(a_pmu_that_counts_nothing_is_found_out),
        cmocka_unit_test(stat_counts_what_the_loop_retires),
        cmocka_unit_test(selftest_takes_the_least_of_its_runs),
        cmocka_unit_test(counters_are_read_twice_in_a_second_while_the_loops_run),
        cmocka_unit_test(counters_in_use_are_left_alone_on_every_cpu),
        cmocka_unit_test(pmus_and_a_dry_run_write_nothing),
        cmocka_unit_test(a_result_is_void_if_registers_changed_meanwhile),
        cmocka_unit_test(a_program_that_was_moved_restores_all_the_same),
        cmocka_unit_test(the_port_writes_registers_of_the_pmu_alone_and_no_interrupt),
        cmocka_unit_test(any_access_that_fails_ends_with_the_registers_as_found),
        cmocka_unit_test(after_kill_9_restore_gives_every_register_back),
        cmocka_unit_test(a_signal_restores_before_it_ends_the_program),
        cmocka_unit_test(restore_belongs_to_a_cpu_and_a_boot),
        cmocka_unit_test(restore_keeps_what_other_software_changed_beside_it),
        cmocka_unit_test(a_journal_with_a_register_of_another_cpu_is_refused),
        cmocka_unit_test(a_torn_last_line_is_ignored_and_damage_is_found),
        cmocka_unit_test(the_systems_functions_do_what_their_names_say),
        cmocka_unit_test(text_has_its_colours),
        cmocka_unit_test(the_report_has_what_a_reader_needs),
        cmocka_unit_test(a_program_is_counted_from_its_start_to_its_end),
        cmocka_unit_test(words_that_do_not_fit_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
