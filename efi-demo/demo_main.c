/* SPDX-License-Identifier: MIT */
/*
 * The UEFI demo: upmu's commands on whatever machine boots it.
 *
 * Started with arguments it runs these, several commands with ';' between them.  Started bare it runs the lines of
 * \upmu.cmd, if there is one, keeps what it printed in \upmu.log and switches the
 * machine off; otherwise it asks for commands.
 */
#include <efi-demo/demo.h>
#include <port/efi/efi_port.h>

#define DEMO_LOG_BYTES (1024u * 1024u)
#define DEMO_BUFFER_BYTES (32u * 1024u * 1024u)
#define DEMO_FALLBACK "skl"

#if defined(__x86_64__)
#define DEMO_MACHINE "x64"
#else
#define DEMO_MACHINE "ia32"
#endif

/* Lives outside the stack: firmware gives 128 KiB of that. */
struct demo {
    struct upmu_efi efi;
    struct upmu_machine machine;
    struct upmu_cpu cpu;
    struct cmd_live live;
    struct cmd cmd;
};

static void demo_stall(void *context, unsigned microseconds)
{
    (void)context;
    uefi_call_wrapper(BS->Stall, 1, (UINTN)microseconds);
}

static struct cmd_interrupts demo_interrupts(void *context)
{
    const struct upmu_efi *efi = context;
    struct cmd_interrupts seen = {efi->traps.handled, efi->traps.stale, efi->traps.not_ours};

    return seen;
}

static void demo_hook_log(void *context, const char *line)
{
    (void)context;
    demo_text("upmu: ");
    demo_text(line);
    demo_text("\n");
}

/* CR4.PCE lets programs use RDPMC: does it take both values?  Left as found. */
static bool user_rdpmc_switches(void)
{
    bool found = upmu_x86_user_rdpmc_allowed(), on, off;

    upmu_x86_user_rdpmc(true);
    on = upmu_x86_user_rdpmc_allowed();
    upmu_x86_user_rdpmc(false);
    off = !upmu_x86_user_rdpmc_allowed();
    upmu_x86_user_rdpmc(found);
    return on && off && upmu_x86_user_rdpmc_allowed() == found;
}

/* An NMI of our own and an RDPMC that cannot work: do both come back? */
static void check_port(struct demo *demo)
{
    struct upmu_efi *efi = &demo->efi;
    uint32_t nmis = efi->traps.nmis, faults = efi->traps.faults;
    uint64_t value;
    unsigned i;

    efi->swallow_foreign = true;
    if (upmu_efi_self_nmi(efi))
        for (i = 0; i < 100000 && efi->traps.nmis == nmis; i++)
            __asm__ volatile("pause");
    efi->swallow_foreign = false;
    demo_text("Port: ");
    demo_text(efi->apic.mode == UPMU_APIC_X2 ? "x2APIC" : efi->apic.mode == UPMU_APIC_PAGE ? "xAPIC" : "no APIC");
    demo_text(efi->traps.nmis != nmis ? ", NMI arrives" : ", NMI DOES NOT ARRIVE");
    demo_text(!efi->port.rdpmc(efi->port.context, 0x7fffffff, &value) && efi->traps.faults != faults
                  ? ", faults are survived"
                  : ", FAULTS ARE NOT SEEN");
    if (user_rdpmc_switches())
        demo_text(", user RDPMC switches");
    demo_text(", TSC ");
    demo_number(upmu_efi_tsc_khz(efi) / 1000);
    demo_text(" MHz\n");
}

/* Bring up the executing CPU; live.cpu->pmu stays NULL if it has no PMU. */
static void bring_up(struct demo *demo)
{
    enum upmu_status status = upmu_efi_open(&demo->efi, demo_stall, NULL, 0);

    demo->efi.cpu = &demo->cpu;
    demo->efi.port.log = demo_hook_log;
    if (status == UPMU_OK)
        check_port(demo);
    if (status == UPMU_OK)
        status = upmu_machine_init(&demo->machine, &demo->efi.port);
    if (status == UPMU_OK)
        status = upmu_cpu_init(&demo->cpu, &demo->machine, NULL);
    demo->live.port = &demo->efi.port;
    demo->live.machine = &demo->machine;
    demo->live.cpu = &demo->cpu;
    demo->live.why_not = upmu_status_text(status);
    demo->live.interrupts = demo_interrupts;
    demo->live.interrupts_context = &demo->efi;
    if (status != UPMU_OK) {
        demo->cpu.pmu = NULL;
        demo_text("This machine has no PMU that can be used (");
        demo_text(demo->live.why_not);
        demo_text(").\nGoing on with a SIMULATED CPU, a model of Skylake: no figure below is this machine's.\n");
    } else {
        demo_text("PMU: ");
        demo_text(demo->cpu.pmu->title);
        demo_text("\n");
    }
}

static void take_down(struct demo *demo)
{
    if (demo->cpu.pmu != NULL)
        (void)!upmu_cpu_fini(&demo->cpu);
    upmu_efi_close(&demo->efi);
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
static bool run_demo(EFI_HANDLE image, struct demo *demo, struct cmd_sink *sink, char *log)
{
    char line[DEMO_LINE];
    char *script;
    size_t bytes;

    if (demo_options_line(image, line, sizeof line))
        return demo_run_options(&demo->cmd, line);
    script = demo_volume_read("upmu.cmd", &bytes);
    if (script == NULL)
        return demo_converse(&demo->cmd);
    sink->read_key = NULL; /* nobody is watching */
    sink->clear = NULL;
    (void)demo_run_script(&demo->cmd, script);
    FreePool(script);
    if (log != NULL && !demo_volume_write(NULL, "upmu.log", log, demo_log_bytes()))
        demo_text("upmu.log could not be written\n");
    return true;
}

EFI_STATUS efi_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *system_table);
EFI_STATUS efi_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *system_table)
{
    struct cmd_sink sink = {
        .write = demo_write, .write_file = demo_volume_write, .read_key = demo_key, .clear = demo_clear};
    struct demo *demo;
    char *log;
    bool off;

    InitializeLib(image, system_table);
    uefi_call_wrapper(BS->SetWatchdogTimer, 4, (UINTN)0, (UINT64)0, (UINTN)0, NULL);
    demo = AllocateZeroPool(sizeof *demo);
    if (demo == NULL)
        return EFI_OUT_OF_RESOURCES;
    log = AllocatePool(DEMO_LOG_BYTES);
    demo_log_to(log, DEMO_LOG_BYTES);
    demo_volume_open(image);
    demo_text("\nupmu demo, " DEMO_MACHINE "\n");
    bring_up(demo);
    find_buffer(demo);
    demo->cmd.sink = &sink;
    demo->cmd.program = "upmu";
    demo->cmd.live = &demo->live;
    demo->cmd.default_sim = DEMO_FALLBACK;
    off = run_demo(image, demo, &sink, log);
    take_down(demo);
    if (off)
        uefi_call_wrapper(RT->ResetSystem, 4, EfiResetShutdown, EFI_SUCCESS, (UINTN)0, NULL);
    return EFI_SUCCESS;
}
