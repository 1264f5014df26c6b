/* SPDX-License-Identifier: MIT */
/*
 * The UEFI demo's CPU: AArch64.
 *
 * QEMU (7.2, and later ones) looks for the overflow of an event counter one event early, and then never again: a read
 * of the counter makes it look.  Whether this machine does so is tried once; if so, workloads are interrupted by reads
 * where something is sampled.  Counts alone are not touched.
 */
#include <efi-demo/demo.h>

#if defined(__aarch64__)

#include <port/arm64_native/arm64_sysreg.h>
#include <port/efi_arm64/efi_arm64.h>
#include <tools/cmd/cmd_args.h>
#include <tools/cmd/cmd_loops.h>

/* Instructions between two reads; iterations of the try, of two instructions each; a period that they complete once. */
#define PIECE 4000u
#define TRY 20000u
#define TRY_PERIOD 30000u

#define PMEVCNTR0 UPMU_A64_NUMBER(3, 3, 14, 8, 0)

static struct upmu_efi_arm64 efi;

static struct cmd_interrupts interrupts(void *context)
{
    struct cmd_interrupts seen = {efi.seen.handled, efi.seen.stale, efi.seen.not_ours};

    (void)context;
    return seen;
}

static void identify(struct cmd *cmd)
{
    uint64_t midr = 0, level = 0;

    (void)upmu_a64_mrs(UPMU_A64_NUMBER(3, 0, 0, 0, 0), &midr);
    (void)upmu_a64_mrs(UPMU_A64_NUMBER(3, 0, 4, 2, 2), &level); /* CurrentEL, bits 3:2 */
    cmd_print(cmd, "This CPU     AArch64, MIDR_EL1 0x%08x, at EL%u\n", (unsigned)midr, (unsigned)level >> 2);
}

/* Interrupts come; what the firmware does by a clock waits (polling a keyboard is half a million instructions). */
static uintptr_t hold(void)
{
    return uefi_call_wrapper(BS->RaiseTPL, 1, TPL_NOTIFY);
}

static void release(uintptr_t state)
{
    uefi_call_wrapper(BS->RestoreTPL, 1, state);
}

static void *firmware_interrupts(void)
{
    EFI_GUID guid = UPMU_EFI_ARM64_INTERRUPTS;
    void *protocol = NULL;

    if (uefi_call_wrapper(BS->LocateProtocol, 3, &guid, NULL, &protocol) != EFI_SUCCESS)
        return NULL;
    return protocol;
}

const struct upmu_port *demo_port_open(struct shell *shell, struct cmd_live *live, struct upmu_cpu *cpu)
{
    enum upmu_status status = upmu_efi_arm64_open(&efi, firmware_interrupts(), UPMU_EFI_ARM64_SOURCE);

    efi.cpu = cpu;
    efi.port.log = demo_hook_log;
    live->interrupts = interrupts;
    live->hold = hold;
    live->release = release;
    live->identify = identify;
    if (status == UPMU_OK)
        shell_text(shell, efi.port.pmi_rearm != NULL ? "Port: interrupts by the firmware\n"
                                                     : "Port: the firmware has no interrupts to give\n");
    return &efi.port;
}

/* An instruction overflows a counter in the middle of a loop: does the interrupt come? */
static bool is_missed(const struct cmd_live *live)
{
    static struct upmu_session session;
    static uint64_t memory[64];
    const struct upmu_sampling sampling = {.period = TRY_PERIOD};
    uint32_t before = 0, after = 0;
    enum upmu_status status = upmu_session_init(&session, live->machine);

    if (status == UPMU_OK)
        status = upmu_session_ring(&session, memory, sizeof memory);
    if (status == UPMU_OK)
        status = upmu_set_add(&session.set, "instructions", &sampling);
    if (status == UPMU_OK)
        status = upmu_session_attach_cpu(&session, live->cpu);
    if (status == UPMU_OK) {
        before = efi.seen.interrupts;
        status = upmu_session_start(&session);
        cmd_loop_spin(TRY, NULL, 0);
        after = efi.seen.interrupts;
    }
    (void)!upmu_session_close(&session);
    return status == UPMU_OK && after == before;
}

static void run(void *program, struct cmd *cmd, const struct cmd_workload *workload, uint64_t iterations)
{
    const uint64_t piece = PIECE / workload->instructions;
    const bool sampled = cmd->session.set.count && cmd->session.set.tally[0].period != 0;
    uint64_t value;

    (void)program;
    for (; sampled && iterations > piece; iterations -= piece) {
        cmd_workload_loops(cmd, workload, piece);
        (void)upmu_a64_mrs(PMEVCNTR0, &value);
    }
    cmd_workload_loops(cmd, workload, iterations);
    if (sampled)
        (void)upmu_a64_mrs(PMEVCNTR0, &value);
}

void demo_port_try(struct shell *shell, struct cmd_live *live)
{
    if (efi.port.pmi_rearm == NULL || !is_missed(live))
        return;
    live->run = run;
    shell_text(shell, "This emulator notices overflows of event counters only when one is read: reads are put in\n");
}

void demo_port_close(void)
{
    upmu_efi_arm64_close(&efi);
}

#endif
