/* SPDX-License-Identifier: MIT */
/*
 * The port for UEFI on AArch64. The firmware has saved all registers when it calls on_interrupt(), and passes no
 * argument by which to find the port: so one pointer to the port is kept here.
 */
#include <stddef.h>
#include <port/arm64_native/arm64_native.h>
#include <port/efi_arm64/efi_arm64.h>

#ifdef __aarch64__

/*
 * Indices in EFI_SYSTEM_CONTEXT_AARCH64, all of 64 bits: X0 to X28, FP, LR, SP; V0 to V31, two words each; ELR, SPSR.
 */
#define CONTEXT_SP 31u
#define CONTEXT_ELR 96u
#define CONTEXT_SPSR 97u
#define SPSR_LEVEL 12u /* bits 3:2; 0: EL0 */

typedef void handler(uintptr_t source, const uint64_t *context);

/* EFI_HARDWARE_INTERRUPT_PROTOCOL; 0 is EFI_SUCCESS. */
struct efi_interrupts {
    /* With a handler the interrupt is enabled; with NULL it is disabled. */
    uintptr_t (*register_handler)(struct efi_interrupts *self, uintptr_t source, handler *call);
    uintptr_t (*enable)(struct efi_interrupts *self, uintptr_t source);
    uintptr_t (*disable)(struct efi_interrupts *self, uintptr_t source);
    uintptr_t (*is_enabled)(struct efi_interrupts *self, uintptr_t source, uint8_t *out_enabled);
    uintptr_t (*end)(struct efi_interrupts *self, uintptr_t source);
};

static struct upmu_efi_arm64 *efi_installed;

static void on_interrupt(uintptr_t source, const uint64_t *context)
{
    struct upmu_efi_arm64 *efi = efi_installed;
    struct efi_interrupts *interrupts = efi->interrupts;
    const struct upmu_frame frame = {.ip = (uintptr_t)context[CONTEXT_ELR],
                                     .sp = (uintptr_t)context[CONTEXT_SP],
                                     .user = (context[CONTEXT_SPSR] & SPSR_LEVEL) == 0};

    efi->seen.interrupts++;
    switch (upmu_pmi_handle(efi->cpu, &frame)) {
    case UPMU_PMI_HANDLED:
        efi->seen.handled++;
        break;
    case UPMU_PMI_STALE:
        efi->seen.stale++;
        break;
    case UPMU_PMI_NOT_OURS:
    default:
        efi->seen.not_ours++;
        break;
    }
    (void)interrupts->end(interrupts, source);
}

/* The hook for CPUID, which AArch64 does not have: all words are 0. */
static void no_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    (void)context, (void)leaf, (void)subleaf;
    out[0] = out[1] = out[2] = out[3] = 0;
}

enum upmu_status upmu_efi_arm64_open(struct upmu_efi_arm64 *efi, void *interrupts, unsigned source)
{
    const struct upmu_port port = {.context = efi, .cpuid = no_cpuid};
    struct efi_interrupts *protocol = interrupts;

    if (efi_installed != NULL)
        return UPMU_ERR_STATE;
    efi->port = port;
    upmu_arm64_port(&efi->port);
    efi->interrupts = interrupts;
    efi->source = source;
    efi_installed = efi;
    if (interrupts == NULL || protocol->register_handler(protocol, source, on_interrupt) != 0) {
        efi->interrupts = NULL;
        efi->port.pmi_rearm = NULL;
    }
    return UPMU_OK;
}

void upmu_efi_arm64_close(struct upmu_efi_arm64 *efi)
{
    struct efi_interrupts *protocol = efi->interrupts;

    if (efi_installed != efi)
        return;
    if (protocol != NULL)
        (void)protocol->register_handler(protocol, efi->source, NULL);
    efi_installed = NULL;
}

#endif
