/* SPDX-License-Identifier: MIT */
/*
 * A command on the machine's own PMU, from its options to its report.
 */
#include <tools/msr/msr.h>

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <port/linux/linux_look.h>
#include <tools/cmd/cmd_args.h>
#include <tools/msr/msr_left.h>
#include <upmu/cpu.h>

#define MSR_WORDS 48u
#define MSR_BUFFER (32u << 20)
#define MSR_REPORT (128u << 10)
#define MSR_RUNS 30u
/* Iterations between two looks at the clock: below half a second for every workload. */
#define MSR_PIECE (UINT64_C(1) << 20)
#define MSR_POLL_NS UINT64_C(500000000)

struct msr {
    struct cmd *cmd;
    const struct upmu_linux_system *system;
    void (*loops)(struct cmd *cmd, const struct cmd_workload *workload, uint64_t iterations);
    /* Asked */
    const char *word[MSR_WORDS];
    unsigned words;
    bool dry_run, force, yes, chosen;
    unsigned cpu;
    const char *report;
    /* At work */
    const struct cmd_sink *outer;
    struct cmd_sink sink;
    struct upmu_linux_look look;
    struct upmu_linux host;
    struct upmu_machine machine;
    struct upmu_cpu upmu;
    struct upmu_probe probe;
    struct cmd_live live;
    uint64_t polled_ns;
    unsigned dry_writes;
    char text[MSR_REPORT]; /* what was printed */
    size_t text_bytes;
};

static struct msr msr_state;
static _Alignas(4096) unsigned char msr_buffer[MSR_BUFFER];

/* ---- Output: kept for the report, and in a dry run not shown ---- */

static void keep_text(struct msr *msr, const char *text, size_t length)
{
    size_t room = sizeof msr->text - msr->text_bytes;

    memcpy(msr->text + msr->text_bytes, text, length < room ? length : room);
    msr->text_bytes += length < room ? length : room;
}

static void msr_write(void *context, const char *text, size_t length)
{
    struct msr *msr = context;

    if (msr->dry_run)
        return;
    keep_text(msr, text, length);
    msr->outer->write(msr->outer->context, text, length);
}

static void msr_write_error(void *context, const char *text, size_t length)
{
    struct msr *msr = context;

    keep_text(msr, text, length);
    (msr->outer->write_error ? msr->outer->write_error : msr->outer->write)(msr->outer->context, text, length);
}

/* Reports have none: they are of the text. */
static void msr_colour(void *context, enum cmd_colour colour)
{
    const struct msr *msr = context;

    if (!msr->dry_run && msr->outer->colour != NULL)
        msr->outer->colour(msr->outer->context, colour);
}

static void msr_dry_write(void *context, const char *name, uint32_t address, uint64_t value)
{
    struct msr *msr = context;
    char line[120];
    int length = snprintf(line, sizeof line, "wrmsr 0x%" PRIx32 " 0x%" PRIx64 " # %s\n", address, value, name);

    msr->dry_writes++;
    keep_text(msr, line, (size_t)length);
    msr->outer->write(msr->outer->context, line, (size_t)length);
}

static void msr_say_lines(struct msr *msr, const char *lines)
{
    for (const char *end; (end = strchr(lines, '\n')) != NULL; lines = end + 1) {
        char line[240];

        (void)snprintf(line, sizeof line, "%.*s", (int)(end - lines), lines);
        cmd_error(msr->cmd, "%s", line);
    }
}

static int msr_refuse(struct msr *msr, const char *why)
{
    cmd_error(msr->cmd, "CPU %u: %s", msr->cpu, why);
    return MSR_REFUSED;
}

/* ---- Signals ---- */

static const int msr_signals[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGILL,  SIGABRT, SIGBUS,  SIGFPE,    SIGSEGV,
                                  SIGPIPE, SIGALRM, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGVTALRM, SIGPROF};
#define MSR_SIGNALS (sizeof msr_signals / sizeof msr_signals[0])

/* The registers, then what the signal does without us. */
static void msr_on_signal(int number)
{
    msr_state.host.trouble[0] = '!'; /* no text is formatted */
    (void)upmu_linux_restore(&msr_state.host);
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static void msr_catch_signals(struct sigaction before[MSR_SIGNALS])
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = msr_on_signal;
    (void)sigfillset(&action.sa_mask);
    for (unsigned i = 0; i < MSR_SIGNALS; i++) {
        (void)sigaction(msr_signals[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN)
            (void)sigaction(msr_signals[i], &action, NULL);
    }
}

static void msr_release_signals(const struct sigaction before[MSR_SIGNALS])
{
    for (unsigned i = 0; i < MSR_SIGNALS; i++)
        (void)sigaction(msr_signals[i], &before[i], NULL);
}

/* ---- A program among others ---- */

/* Counts are taken before a counter has gone half round: P6's have 32 bits. */
static void msr_workload(void *program, struct cmd *cmd, const struct cmd_workload *workload, uint64_t iterations)
{
    struct msr *msr = program;

    const uint64_t all = iterations;

    while (iterations > 0) {
        uint64_t piece = iterations < MSR_PIECE * 2 ? iterations : MSR_PIECE;
        uint64_t now;

        msr->loops(cmd, workload, piece);
        iterations -= piece;
        now = msr->system->clock_ns(msr->system->context);
        if (now - msr->polled_ns >= MSR_POLL_NS) {
            (void)!upmu_cpu_poll(&msr->upmu);
            msr->polled_ns = now;
            cmd_progress(cmd, all - iterations, all);
        }
    }
}

/* Did nothing else write the registers: up to the last stop, and now, those of counters found in use, too? */
static bool msr_undisturbed(void *program, struct cmd *cmd)
{
    struct msr *msr = program;
    struct upmu_why why = {0};
    enum upmu_status status = msr->dry_run ? UPMU_OK : upmu_cpu_verify(&msr->upmu, &why);
    uint32_t changed = msr->host.changed ? msr->host.changed : why.address;

    msr->host.changed = 0;
    if (status == UPMU_OK && changed == 0)
        return true;
    cmd_error(cmd, "void: register 0x%x: %s; perf or the kernel used the counters meanwhile", (unsigned)changed,
              upmu_status_text(status == UPMU_OK ? UPMU_ERR_CHANGED : status));
    return false;
}

/* ---- The options ---- */

static bool msr_number(struct msr *msr, const char *word)
{
    uint64_t number;

    if (word == NULL || !cmd_number(word, &number) || number >= MSR_CPUS) {
        cmd_error(msr->cmd, "-C needs the number of a CPU, below %u", MSR_CPUS);
        return false;
    }
    msr->cpu = (unsigned)number;
    msr->chosen = true;
    return true;
}

/* Options of --msr are taken out; the command sees the others. */
static bool msr_parse(struct msr *msr, unsigned count, const char *const *words)
{
    for (unsigned i = 0; i < count; i++) {
        const char *value = i + 1 < count ? words[i + 1] : NULL;

        if (cmd_equal(words[i], "--dry-run")) {
            msr->dry_run = true;
        } else if (cmd_equal(words[i], "--force")) {
            msr->force = true;
        } else if (cmd_equal(words[i], "--yes")) {
            msr->yes = true;
        } else if (cmd_equal(words[i], "-C")) {
            if (!msr_number(msr, value))
                return false;
            i++;
        } else if (cmd_equal(words[i], "--report") && value != NULL) {
            msr->report = value;
            i++;
        } else if (cmd_equal(words[i], "--report") || cmd_equal(words[i], "--sim")) {
            cmd_error(msr->cmd, "'%s' %s", words[i], value == NULL ? "needs a value" : "and --msr exclude each other");
            return false;
        } else if (!cmd_equal(words[i], "--msr") && msr->words == MSR_WORDS) {
            cmd_error(msr->cmd, "too many words");
            return false;
        } else if (!cmd_equal(words[i], "--msr")) {
            msr->word[msr->words++] = words[i];
        }
    }
    return true;
}

static bool msr_is(const struct msr *msr, const char *name)
{
    return msr->words != 0 && cmd_equal(msr->word[0], name);
}

const struct cmd_other msr_commands[] = {
    {"pmus", NULL},
    {"stat", NULL},
    {"selftest", NULL},
    {"restore", "registers that a killed upmu left changed"},
    {NULL, NULL},
};

const struct cmd_option msr_options[] = {
    {"--msr", 0, CMD_VALUE_NONE, "--msr", "on this machine's own PMU, as root"},
    {"-C", 0, CMD_VALUE_NUMBER, "-C CPU", "on this CPU"},
    {"--dry-run", 0, CMD_VALUE_NONE, "--dry-run", "list the writes, make none"},
    {"--force", 0, CMD_VALUE_NONE, "--force", "beside the NMI watchdog"},
    {"--yes", 0, CMD_VALUE_NONE, "--yes", "accept that the kernel logs the writes and is tainted"},
    {"--report", 0, CMD_VALUE_FILE, "--report FILE", "write the page with what we need to know"},
    {"", 0, CMD_VALUE_NONE, NULL, NULL},
};

bool msr_asked(unsigned count, const char *const *words)
{
    if (count > 0 && cmd_equal(words[0], "restore"))
        return true;
    for (unsigned i = 1; i < count; i++)
        if (cmd_equal(words[i], "--msr"))
            return true;
    return false;
}

void msr_help(struct cmd *cmd)
{
    cmd_print(cmd, "On this machine's own PMU, as root (docs/LINUX.md):\n"
                   "  pmus --msr       what it is; registers are only read\n"
                   "  selftest --msr   the page to send in\n"
                   "  stat --msr ...   counts\n"
                   "  restore --msr    registers that a killed upmu left changed\n");
    for (const struct cmd_option *option = &msr_options[1]; option->name[0] != '\0'; option++)
        cmd_print(cmd, "  %-15s  %s\n", option->shown, option->about);
    cmd_print(cmd, "Exit status with --msr:\n"
                   "  3                refused, nothing was written\n"
                   "  4                no PMU that counts\n");
}

/* ---- Journals that were left ---- */

static int msr_restore_cpu(struct msr *msr, unsigned cpu)
{
    const struct upmu_linux_wish wish = {.writes = !msr->dry_run, .force = true, .yes = true};
    char why[240];
    bool done;

    msr->cpu = cpu;
    upmu_linux_look(&msr->look, msr->system, cpu, &wish);
    if (msr->look.refusal[0])
        return msr_refuse(msr, msr->look.refusal);
    memset(&msr->host, 0, sizeof msr->host);
    msr->host.on_write = msr_dry_write;
    msr->host.on_write_context = msr;
    done = msr_left_restore(&msr->host, msr->system, cpu, msr->look.file,
                            msr->dry_run ? UPMU_LINUX_DRY_RUN : UPMU_LINUX_WRITE, why, sizeof why);
    msr->system->close(msr->system->context, msr->look.file);
    if (!done) {
        cmd_error(msr->cmd, "%s", why);
        return CMD_REFUSED;
    }
    cmd_print(msr->cmd, "CPU %u: what a killed upmu had changed is restored, %u writes\n", cpu,
              (unsigned)msr->host.writes);
    return CMD_OK;
}

/* Of all CPUs, or of the one chosen. */
static int msr_restore(struct msr *msr, bool all)
{
    unsigned first = all ? 0 : msr->cpu, cpu = first, kept = msr->cpu, restored = 0;
    int result = CMD_OK;

    while ((cpu = msr_left_find(msr->system, cpu)) < MSR_CPUS && (all || cpu == first) && result == CMD_OK) {
        result = msr_restore_cpu(msr, cpu++);
        restored++;
    }
    if (result == CMD_OK)
        msr->cpu = kept;
    if (!restored && msr_is(msr, "restore") && all)
        cmd_print(msr->cmd, "nothing to restore: there is no journal in %s\n", UPMU_LINUX_FOLDER);
    else if (!restored && msr_is(msr, "restore"))
        cmd_print(msr->cmd, "nothing to restore: there is no journal of CPU %u in %s\n", first, UPMU_LINUX_FOLDER);
    return result;
}

/* ---- A command ---- */

/* No PMU, or a port in trouble. */
static int msr_no_pmu(struct msr *msr, const char *why)
{
    cmd_error(msr->cmd, "CPU %u: no PMU that can be used: %s%s", msr->cpu, why,
              msr->look.hypervisor ? " (the hypervisor gives this guest none)" : "");
    return MSR_NO_PMU;
}

static int msr_trouble(struct msr *msr)
{
    cmd_error(msr->cmd, "CPU %u: %s", msr->cpu, msr->host.trouble);
    return msr->host.writes == 0 && !msr->dry_run ? MSR_REFUSED : CMD_REFUSED;
}

static int msr_take_over(struct msr *msr)
{
    char why[300];
    enum upmu_status status = upmu_machine_init(&msr->machine, &msr->host.port);

    if (status == UPMU_OK)
        status = upmu_cpu_init(&msr->upmu, &msr->machine, NULL);
    if (msr->host.trouble[0])
        return msr_trouble(msr);
    if (status == UPMU_ERR_NO_PMU || status == UPMU_ERR_PORT) {
        (void)upmu_why_text(&msr->machine.why, why, sizeof why);
        if (status == UPMU_ERR_NO_PMU) /* the take-over has found it out, without access to registers */
            (void)!upmu_cpu_probe(&msr->upmu, &msr->probe);
        return msr_no_pmu(msr, why);
    }
    if (status != UPMU_OK)
        return msr_refuse(msr, upmu_status_text(status));
    return CMD_OK;
}

/* Registers that are memory, or belong to a hypervisor that counts nothing. */
static int msr_probe(struct msr *msr)
{
    enum upmu_status status;

    cmd_target_probe(msr->cmd, &msr->probe);
    status = upmu_cpu_probe(&msr->upmu, &msr->probe);
    if (msr->host.trouble[0])
        return msr_trouble(msr);
    if (status == UPMU_ERR_DOES_NOT_FIT)
        return msr_no_pmu(msr, "all counters are used by others (perf, the NMI watchdog)");
    if (status != UPMU_OK)
        return msr_no_pmu(msr, upmu_status_text(status));
    return msr->probe.verdict >= UPMU_VERDICT_COUNTS ? CMD_OK : msr_no_pmu(msr, upmu_verdict_text(msr->probe.verdict));
}

static int msr_command(struct msr *msr)
{
    bool reads = msr_is(msr, "pmus");
    int result;

    msr->live = (struct cmd_live){
        .port = &msr->host.port,
        .machine = &msr->machine,
        .cpu = &msr->upmu,
        .buffer = msr_buffer,
        .buffer_bytes = sizeof msr_buffer,
        .read_only = reads,
        .least_of = msr->dry_run ? 1 : MSR_RUNS,
        .program = msr,
        .run = msr_workload,
        .undisturbed = msr_undisturbed,
    };
    msr->cmd->live = &msr->live;
    if (reads)
        msr->word[0] = "info";
    msr->polled_ns = msr->system->clock_ns(msr->system->context);
    result = reads || msr->dry_run ? CMD_OK : msr_probe(msr);
    if (result == CMD_OK)
        result = cmd_run(msr->cmd, msr->words, msr->word);
    if (msr->host.trouble[0] && result <= CMD_REFUSED)
        result = msr_trouble(msr);
    if (reads)
        msr->word[0] = "pmus";
    msr->cmd->live = NULL;
    return result;
}

/* The library restores in its own order; what it could not (a fault, another CPU) comes from what was found. */
static int msr_give_back(struct msr *msr, int result)
{
    unsigned left;

    (void)!upmu_cpu_fini(&msr->upmu);
    if (msr->host.mode == UPMU_LINUX_DRY_RUN)
        return result;
    left = upmu_linux_restore(&msr->host);
    if (left == 0)
        return msr->host.trouble[0] && result == CMD_OK ? msr_trouble(msr) : result;
    cmd_error(msr->cmd, "CPU %u: %u registers were not restored (%s): try 'restore --msr', or restart the machine",
              msr->cpu, left, msr->host.trouble[0] ? msr->host.trouble : "a write faults");
    return CMD_REFUSED;
}

static int msr_drive(struct msr *msr)
{
    bool writes = !msr->dry_run && !msr_is(msr, "pmus");
    const struct upmu_linux_wish wish = {.writes = writes, .force = msr->force, .yes = msr->yes};
    struct sigaction before[MSR_SIGNALS];
    int result;

    upmu_linux_look(&msr->look, msr->system, msr->cpu, &wish);
    if (msr->look.refusal[0])
        return msr_refuse(msr, msr->look.refusal);
    result = upmu_linux_open(&msr->host, msr->system, msr->cpu, msr->look.file, &msr->machine, &msr->upmu,
                             writes ? UPMU_LINUX_WRITE : UPMU_LINUX_DRY_RUN);
    if (result < 0) {
        msr->system->close(msr->system->context, msr->look.file);
        return msr_refuse(msr, "this program may not run there (taskset, a cpuset?): choose another with -C");
    }
    msr_say_lines(msr, msr->look.warnings);
    if (msr->dry_run)
        msr->host.on_write = msr_dry_write;
    msr->host.on_write_context = msr;
    msr_catch_signals(before);
    result = msr_take_over(msr);
    if (result == CMD_OK)
        result = msr_command(msr);
    result = msr_give_back(msr, result);
    msr_release_signals(before);
    upmu_linux_close(&msr->host);
    if (msr->dry_run && msr_is(msr, "selftest") && result == CMD_REFUSED && !msr->host.trouble[0])
        result = CMD_OK; /* nothing counted */
    if (msr->dry_run && result <= CMD_REFUSED)
        cmd_error(msr->cmd, "a dry run: %u writes listed, none made", msr->dry_writes);
    return result;
}

/* Journals are restored first: what they changed would be found and called the firmware's. */
static int msr_alone(struct msr *msr)
{
    bool restore = msr_is(msr, "restore");
    int lock, result;

    if (restore && !msr_left_may_look(msr->system))
        return msr_refuse(msr, "what is in " UPMU_LINUX_FOLDER " cannot be read: run it as root");
    if (restore && (msr->dry_run || msr_left_find(msr->system, 0) == MSR_CPUS))
        return msr_restore(msr, !msr->chosen);
    if (msr->dry_run || msr_is(msr, "pmus")) {
        if (msr_left_find(msr->system, 0) < MSR_CPUS)
            cmd_error(msr->cmd, "a killed upmu left registers changed, or one runs: see 'restore --msr'");
        return msr_drive(msr);
    }
    if (!restore) { /* what refuses needs no lock, and leaves no file */
        const struct upmu_linux_wish wish = {.writes = true, .force = msr->force, .yes = msr->yes};

        upmu_linux_look(&msr->look, msr->system, msr->cpu, &wish);
        if (msr->look.refusal[0])
            return msr_refuse(msr, msr->look.refusal);
        msr->system->close(msr->system->context, msr->look.file);
    }
    lock = msr_left_lock(msr->system);
    if (lock < 0) {
        char why[200];

        (void)snprintf(why, sizeof why, "%s cannot be locked: %s", UPMU_LINUX_LOCK,
                       lock == -EWOULDBLOCK ? "another upmu drives a PMU of this machine" : strerror(-lock));
        return msr_refuse(msr, why);
    }
    result = msr_restore(msr, !restore || !msr->chosen);
    if (result == CMD_OK && !restore) {
        memset(&msr->host, 0, sizeof msr->host);
        result = msr_drive(msr);
    }
    msr->system->close(msr->system->context, lock);
    return result;
}

/* ---- The report ---- */

static size_t report_line(char *file, size_t size, size_t used, const char *format, ...)
{
    va_list list;
    int length;

    va_start(list, format);
    length = vsnprintf(file + used, size - used, format, list);
    va_end(list);
    return length < 0 || (size_t)length >= size - used ? size - 1 : used + (size_t)length;
}

/* The value of "name<tab>: value" of /proc/cpuinfo. */
static const char *report_cpu(const char *cpuinfo, const char *name, char *value, size_t size)
{
    const char *line = strstr(cpuinfo, name), *colon = line ? strchr(line, ':') : NULL;

    (void)snprintf(value, size, "unknown");
    if (colon)
        (void)snprintf(value, size, "%.*s", (int)strcspn(colon + 1, "\n"), colon + 1 + (colon[1] == ' '));
    value[strcspn(value, "\n")] = '\0';
    return value;
}

static bool msr_report(struct msr *msr, int result)
{
    static const char *const files[] = {"/proc/sys/kernel/nmi_watchdog", "/sys/module/msr/parameters/allow_writes",
                                        "/sys/kernel/security/lockdown"};
    static char file[MSR_REPORT + 4096], cpuinfo[4096];
    const struct upmu_linux_system *system = msr->system;
    int opened = system->open(system->context, "/proc/cpuinfo", 0);
    int64_t length = opened < 0 ? 0 : system->pread(system->context, opened, cpuinfo, sizeof cpuinfo - 1, 0);
    char line[240];
    size_t used = 0;

    if (opened >= 0)
        system->close(system->context, opened);
    cpuinfo[length > 0 ? length : 0] = '\0';
    used = report_line(file, sizeof file, used, "upmu %u.%u.%u:", UPMU_VERSION_MAJOR, UPMU_VERSION_MINOR,
                       UPMU_VERSION_PATCH);
    for (unsigned i = 0; i < msr->words; i++)
        used = report_line(file, sizeof file, used, " %s", msr->word[i]);
    used = report_line(file, sizeof file, used, " --msr%s%s, CPU %u\n", msr->force ? " --force" : "",
                       msr->dry_run ? " --dry-run" : "", msr->cpu);
    used = report_line(file, sizeof file, used, "model: %s\n", report_cpu(cpuinfo, "model name", line, sizeof line));
    used = report_line(file, sizeof file, used, "microcode: %s\n", report_cpu(cpuinfo, "microcode", line, sizeof line));
    (void)upmu_linux_line(system, "/proc/version", line, sizeof line);
    used = report_line(file, sizeof file, used, "kernel: %s\n", line);
    for (unsigned i = 0; i < sizeof files / sizeof files[0]; i++)
        used = report_line(file, sizeof file, used, "%s: %s\n", files[i],
                           upmu_linux_line(system, files[i], line, sizeof line) ? line : "none");
    used = report_line(file, sizeof file, used, "hypervisor: %s\n", msr->look.hypervisor ? "yes" : "no");
    used = report_line(file, sizeof file, used, "probe: %s\n", upmu_verdict_text(msr->probe.verdict));
    used = report_line(file, sizeof file, used, "exit status: %d\n\n%.*s", result, (int)msr->text_bytes, msr->text);
    if (msr->outer->write_file && msr->outer->write_file(msr->outer->context, msr->report, file, used))
        return true;
    cmd_error(msr->cmd, "cannot write %s", msr->report);
    return false;
}

int msr_run(struct cmd *cmd, const struct upmu_linux_system *system, unsigned count, const char *const *words,
            void (*loops)(struct cmd *cmd, const struct cmd_workload *workload, uint64_t iterations))
{
    static const char *const known[] = {"pmus", "stat", "selftest", "restore"};
    struct msr *msr = &msr_state;
    bool can = false, asked = false, help = false;
    int here, result;

    memset(msr, 0, sizeof *msr);
    msr->cmd = cmd;
    msr->system = system;
    msr->loops = loops;
    msr->outer = cmd->sink;
    if (!msr_parse(msr, count, words))
        return CMD_USAGE;
    for (unsigned i = 0; i < count; i++) {
        asked |= cmd_equal(words[i], "--msr");
        help |= cmd_equal(words[i], "--help") || cmd_equal(words[i], "-h");
    }
    for (unsigned i = 0; i < sizeof known / sizeof known[0]; i++)
        can |= msr_is(msr, known[i]);
    if (help) {
        msr_help(cmd);
        return CMD_OK;
    }
    if (!asked || !can || (msr_is(msr, "restore") && msr->words > 1)) {
        cmd_error(cmd, "--msr is for pmus, stat, selftest and restore; 'restore' needs it and takes -C and --dry-run");
        return CMD_USAGE;
    }
    here = msr->chosen ? (int)msr->cpu : system->this_cpu(system->context);
    msr->cpu = here < 0 ? 0 : (unsigned)here;
    msr->sink = (struct cmd_sink){.context = msr,
                                  .write = msr_write,
                                  .write_error = msr_write_error,
                                  .colour = msr_colour,
                                  .now_ms = cmd->sink->now_ms,
                                  .progress = cmd->sink->progress};
    cmd->sink = &msr->sink;
    result = msr_alone(msr);
    if (msr->report != NULL && !msr_report(msr, result) && result == CMD_OK)
        result = CMD_REFUSED;
    cmd->sink = msr->outer;
    return result;
}
