/* SPDX-License-Identifier: MIT */
/*
 * The example kernel: brings up upmu on the CPU that booted it and runs commands, first
 * those of its command line, then what is typed on the keyboard or COM1.
 *
 * Options come before the commands: vector=N, noapic, nordpmc, noclock, unsafe, lapic,
 * x2apic, branches, debug-exit (README.md has them).
 */
#include <examples/kernel/kernel.h>
#include <upmu/branches.h>
#include <upmu/cpu.h>

#define MULTIBOOT_LOADED 0x2badb002u
#define PVH_LOADED 0x336ec578u
#define COMMAND_LINE 512u
#define BUFFER_BYTES (4u * 1024u * 1024u)

#if defined(__x86_64__)
#define KERNEL_BITS "64-bit"
#else
#define KERNEL_BITS "32-bit"
#endif

extern uint8_t kernel_stack[];

__attribute__((noreturn)) void kernel_main(uint32_t magic, uint32_t information);

static struct upmu_x86_native native;
static struct upmu_machine machine;
static struct upmu_cpu cpu;
static struct cmd_live live;
static struct cmd cmd;
static struct shell shell;
static struct kernel_port_options options;
static bool debug_exit, wants_branches;
struct kernel_module kernel_module;
static char command_line[COMMAND_LINE];
static uint8_t buffer[BUFFER_BYTES] __attribute__((aligned(4096)));

/*
 * QEMU's isa-debug-exit, or a monitor like it, at port 501h (QEMU ends with 33 or 35),
 * and Bochs, which stops when it reads "Shutdown" on port 8900h.  On real hardware
 * these ports may be something else, so only if asked to or under a hypervisor.
 */
void kernel_exit(bool failed)
{
    static const char shutdown[] = "Shutdown";
    uint32_t leaf[4];
    unsigned i;

    kernel_flush();
    upmu_x86_cpuid(1, 0, leaf);
    if (debug_exit || (leaf[2] >> 31) != 0) {
        kernel_out32(0x501, failed ? 0x11 : 0x10);
        for (i = 0; i < sizeof shutdown - 1; i++)
            kernel_out8(0x8900, (uint8_t)shutdown[i]);
    }
    shell_text(&shell, "It is now safe to switch off.\n");
    for (;;)
        __asm__ volatile("cli\n\thlt");
}

/* The option `branches`: the CPU keeps its last branches for a panic. */
static void record_branches(void)
{
    const struct upmu_branch_filter all = {0, 0};
    static char text[160];
    struct upmu_why why;

    if (upmu_branches_start(&cpu, &all, &why) == UPMU_OK)
        return;
    (void)upmu_why_text(&why, text, sizeof text);
    shell_text(&shell, "No branch records: ");
    shell_text(&shell, text);
    shell_text(&shell, "\n");
}

/* The branches are read first: what prints them takes branches, too. */
void kernel_panic(uintptr_t vector, uintptr_t error, uintptr_t ip)
{
    static struct upmu_branch last[UPMU_BRANCHES_MOST];
    unsigned count, i;

    (void)!upmu_branches_read(&cpu, last, UPMU_BRANCHES_MOST, &count);
    shell_text(&shell, "\nkernel: unexpected trap ");
    shell_number(&shell, vector);
    shell_text(&shell, ", error ");
    shell_hex(&shell, error);
    shell_text(&shell, ", at ");
    shell_hex(&shell, ip);
    shell_text(&shell, "\n");
    for (i = 0; i < count; i++) {
        shell_text(&shell, i == 0 ? "last branches, newest first:\n  " : "  ");
        shell_hex(&shell, last[i].from);
        shell_text(&shell, " -> ");
        shell_hex(&shell, last[i].to);
        shell_text(&shell, "\n");
    }
    kernel_exit(true);
}

static void log_line(void *context, const char *line)
{
    (void)context;
    shell_text(&shell, line);
    shell_text(&shell, "\n");
}

static struct cmd_interrupts interrupts(void *context)
{
    const struct cmd_interrupts seen = {kernel_traps.handled, kernel_traps.stale, kernel_traps.not_ours};

    (void)context;
    return seen;
}

static uint32_t word_at(uintptr_t address)
{
    return *(const uint32_t *)address;
}

/*
 * Copy the command line away before anything is written to memory beyond the image
 * (Multiboot 0.6.96 3.3: flags bit 2, line at 16; Xen public/arch-x86/hvm/start_info.h:
 * line at 24).
 */
static const char *take_command_line(uint32_t magic, uint32_t information)
{
    const char *line = NULL, *loader = "unknown loader";
    unsigned i = 0;

    if (magic == MULTIBOOT_LOADED) {
        loader = "multiboot";
        if (word_at(information) & 4u)
            line = (const char *)(uintptr_t)word_at(information + 16);
    } else if (information != 0 && word_at(information) == PVH_LOADED) {
        loader = "PVH";
        line = (const char *)(uintptr_t)word_at(information + 24);
    }
    for (; line != NULL && *line != '\0' && i + 1 < COMMAND_LINE; line++) {
        if (*line != '"' && *line != '\'' && *line != '\\') /* GRUB puts words with blanks in quotes */
            command_line[i++] = *line >= ' ' && *line < 127 ? *line : ' ';
    }
    command_line[i] = '\0';
    return loader;
}

/*
 * The first module (Multiboot 0.6.96 3.3: flags bit 3, count at 20, list of begin and end at 24; Xen
 * public/arch-x86/hvm/start_info.h: count at 12, list of address and size at 16).
 */
static void take_module(uint32_t magic, uint32_t information)
{
    if (magic == MULTIBOOT_LOADED) {
        if ((word_at(information) & 8u) && word_at(information + 20) != 0) {
            uint32_t list = word_at(information + 24);

            kernel_module.bytes = (const uint8_t *)(uintptr_t)word_at(list);
            kernel_module.length = word_at(list + 4) - word_at(list);
        }
    } else if (information != 0 && word_at(information) == PVH_LOADED && word_at(information + 12) != 0) {
        uint32_t list = word_at(information + 16);

        kernel_module.bytes = (const uint8_t *)(uintptr_t)word_at(list);
        kernel_module.length = word_at(list + 8);
    }
}

static bool ends_word(char c)
{
    return c == ' ' || c == ';' || c == '\0';
}

/* The option at the beginning of `word`?  Then blank it out. */
static bool option(char *word, const char *name, unsigned *out_value)
{
    unsigned length = 0, value = 0, base = 10;

    for (; name[length] != '\0'; length++)
        if (word[length] != name[length])
            return false;
    if (out_value != NULL) {
        if (word[length] == '0' && word[length + 1] == 'x') {
            base = 16;
            length += 2;
        }
        for (; !ends_word(word[length]); length++) {
            unsigned digit = (unsigned)word[length] - '0';

            value = value * base + (digit < 10 ? digit : ((unsigned)word[length] & 7u) + 9);
        }
        *out_value = value;
    }
    if (!ends_word(word[length]))
        return false;
    while (length-- > 0)
        word[length] = ' ';
    return true;
}

/* Options are words anywhere before the first ';'; they are blanked out. */
static void take_options(void)
{
    static const struct {
        const char *name;
        bool *value;
    } flags[] = {
        {"noapic", &options.no_apic}, {"nordpmc", &options.no_rdpmc},  {"noclock", &options.no_clock},
        {"unsafe", &options.unsafe},  {"lapic", &options.enable_apic}, {"x2apic", &options.x2apic},
        {"debug-exit", &debug_exit},  {"branches", &wants_branches},
    };
    unsigned i, at, vector;

    for (at = 0; command_line[at] != '\0' && command_line[at] != ';'; at++) {
        if (at != 0 && command_line[at - 1] != ' ')
            continue;
        for (i = 0; i < sizeof flags / sizeof flags[0]; i++)
            if (option(&command_line[at], flags[i].name, NULL))
                *flags[i].value = true;
        if (option(&command_line[at], "vector=", &vector) && vector >= 0x30 && vector < 0xff)
            options.vector = (uint8_t)vector;
    }
}

static void bring_up(const char *loader)
{
    const struct common_traps traps = {&kernel_traps.nmis, &kernel_traps.faults, NULL};
    uint32_t tsc_khz;

    shell_text(&shell, "\nupmu kernel, " KERNEL_BITS ", ");
    shell_text(&shell, loader);
    shell_text(&shell, "\n");
    kernel_interrupts_open();
    tsc_khz = kernel_tsc_khz();
    kernel_port_open(&native, &options, tsc_khz, &cpu);
    native.port.log = log_line;
    common_check_port(&shell, &native.port, &native.apic, &traps, tsc_khz);
    if (options.vector != 0)
        shell_text(&shell, kernel_vector_arrives(&native) ? "Vector arrives\n" : "VECTOR DOES NOT ARRIVE\n");
    live.interrupts = interrupts;
    live.rdpmc_of_user = kernel_rdpmc_of_user;
    live.buffer = buffer;
    live.buffer_bytes = sizeof buffer;
    common_bring_up(&shell, &live, &machine, &cpu, &native.port);
    if (wants_branches)
        record_branches();
}

void kernel_main(uint32_t magic, uint32_t information)
{
    static const struct cmd_sink sink = {.write = kernel_write, .read_key = kernel_key};
    const char *loader = take_command_line(magic, information);
    char *commands;
    bool off = false;

    take_module(magic, information);
    shell.cmd = &cmd;
    shell.read_line = kernel_read_line;
    shell.own = kernel_commands;
    cmd.sink = &sink;
    cmd.program = "upmu";
    cmd.live = &live;
    kernel_console_open();
    take_options();
    bring_up(loader);
    commands = shell_find_command(&shell, command_line);
    if (commands != NULL)
        off = shell_line(&shell, commands);
    if (!off)
        (void)shell_converse(&shell);
    if (cpu.meter.pmu != NULL)
        (void)!upmu_cpu_fini(&cpu);
    upmu_x86_native_quiet(&native);
    kernel_exit(false);
}
