/* SPDX-License-Identifier: MIT */
/*
 * The UEFI demo: upmu's commands on whatever machine boots it.
 *
 * Started with arguments it runs these, several commands with ';' between them.  Started bare it
 * runs the lines of \upmu.cmd, if there is one, keeps what it printed in \upmu.log and switches the
 * machine off; otherwise it shows a prompt, where the space bar makes a page to send in (demo_page.c).
 */
#include <efi-demo/demo.h>
#include <upmu/cpu.h>

#define DEMO_LOG_BYTES (1024u * 1024u)
#define DEMO_BUFFER_BYTES (32u * 1024u * 1024u)

#if defined(__x86_64__)
#define DEMO_MACHINE "x64"
#elif defined(__aarch64__)
#define DEMO_MACHINE "arm64"
#else
#define DEMO_MACHINE "ia32"
#endif

/* Lives outside the stack: firmware gives 128 KiB of that. */
struct demo {
    struct upmu_machine machine;
    struct upmu_cpu cpu;
    struct cmd_live live;
    struct cmd cmd;
    struct shell shell;
    struct demo_log log;
};

static const struct upmu_port *clock_port;

static uint64_t now_ms(void *context)
{
    (void)context;
    return cmd_divide(cmd_port_time(clock_port), 1000000);
}

static int clear(struct shell *shell, const char *rest)
{
    (void)shell, (void)rest;
    demo_clear(NULL);
    return CMD_OK;
}

static const struct shell_command own_commands[] = {{"page", demo_page}, {"clear", clear}, {NULL, NULL}};

void demo_hook_log(void *context, const char *line)
{
    (void)context;
    demo_text(line);
    demo_text("\n");
}

/* Bring up the executing CPU; live.cpu->meter.pmu stays NULL if it has no PMU. */
static void bring_up(struct demo *demo)
{
    const struct upmu_port *port = demo_port_open(&demo->shell, &demo->live, &demo->cpu);

    common_bring_up(&demo->shell, &demo->live, &demo->machine, &demo->cpu, port);
    if (demo->cpu.meter.pmu != NULL)
        demo_port_try(&demo->shell, &demo->live);
}

static void take_down(struct demo *demo)
{
    if (demo->cpu.meter.pmu != NULL)
        (void)!upmu_cpu_fini(&demo->cpu);
    demo_port_close();
}

static void find_buffer(struct demo *demo)
{
    size_t bytes;

    for (bytes = DEMO_BUFFER_BYTES; bytes >= 64u * 1024u; bytes /= 2) {
        demo->live.buffer = AllocatePool(bytes);
        demo->live.buffer_bytes = bytes;
        if (demo->live.buffer != NULL)
            return;
    }
}

/* True: switch the machine off afterwards. */
static bool run_demo(EFI_HANDLE image, struct demo *demo, struct cmd_sink *sink)
{
    char line[SHELL_LINE];
    char *script, *commands;
    size_t bytes;

    if (demo_options_line(image, line, sizeof line) && (commands = shell_find_command(&demo->shell, line)) != NULL)
        return shell_line(&demo->shell, commands);
    script = demo_volume_read("upmu.cmd", &bytes);
    if (script == NULL)
        return shell_converse(&demo->shell);
    sink->read_key = NULL; /* there is no console input */
    sink->clear = NULL;
    sink->progress = NULL;
    (void)shell_script(&demo->shell, script);
    FreePool(script);
    if (demo->log.text != NULL && !demo_volume_write(NULL, "upmu.log", demo->log.text, demo->log.used))
        demo_text("upmu.log could not be written\n");
    return true;
}

EFI_STATUS efi_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *system_table);
EFI_STATUS efi_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *system_table)
{
    struct cmd_sink sink = {.write = demo_write,
                            .write_file = demo_volume_write,
                            .read_key = demo_key,
                            .clear = demo_clear,
                            .colour = demo_colour,
                            .progress = demo_progress};
    struct demo *demo;
    bool off;

    InitializeLib(image, system_table);
    uefi_call_wrapper(BS->SetWatchdogTimer, 4, (UINTN)0, (UINT64)0, (UINTN)0, NULL);
    demo = AllocateZeroPool(sizeof *demo);
    if (demo == NULL)
        return EFI_OUT_OF_RESOURCES;
    demo->log.text = AllocatePool(DEMO_LOG_BYTES);
    demo->log.size = demo->log.text != NULL ? DEMO_LOG_BYTES : 0;
    demo_log_all(&demo->log);
    demo_volume_open(image);
    demo->shell.cmd = &demo->cmd;
    demo->shell.read_line = demo_line;
    demo->shell.own = own_commands;
    demo->shell.hint = "Space bar: the page to send in (info, uncore, selftest), stored as upmu-01.txt.\n";
    demo->cmd.sink = &sink;
    demo_screen_open("upmu demo, " DEMO_MACHINE);
    bring_up(demo);
    clock_port = demo->live.port;
    sink.now_ms = now_ms;
    demo_page_open(&demo->log);
    find_buffer(demo);
    demo->cmd.program = "upmu";
    demo->cmd.live = &demo->live;
    off = run_demo(image, demo, &sink);
    take_down(demo);
    demo_screen_close();
    if (off)
        uefi_call_wrapper(RT->ResetSystem, 4, EfiResetShutdown, EFI_SUCCESS, (UINTN)0, NULL);
    return EFI_SUCCESS;
}
