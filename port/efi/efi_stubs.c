/* SPDX-License-Identifier: MIT */
/*
 * Interrupt entries: save the registers that C code may change, call upmu_efi_trap(), then return, or go on to the
 * firmware's handler with the stack as it was on entry.  The entries have no argument to find their port by, so one
 * pointer to the port is kept here.
 *
 * Each entry pushes a slot (a word for an address) and its number. If C code returns an address, it is stored in the
 * slot, and a plain return instruction jumps there without using a register or, on ia32, a relocation.
 */
#include <port/efi/efi_port.h>
#include <port/efi/efi_stubs.h>
#include <port/x86_native/x86_guard.h>

struct upmu_efi *upmu_efi_installed;

/* Resume after a register access of upmu that faulted; false: the fault had another cause. */
static bool efi_survive(struct upmu_efi *efi, struct upmu_efi_frame *frame)
{
    uintptr_t landing = upmu_x86_guard_landing(frame->ip);

    if (landing == 0)
        return false;
    frame->ip = landing;
    efi->traps.faults++;
    return true;
}

static enum upmu_pmi efi_overflow(struct upmu_efi *efi, const struct upmu_efi_frame *interrupted)
{
    struct upmu_frame frame = {.ip = interrupted->ip};
    enum upmu_pmi answer;

#if defined(__x86_64__)
    frame.sp = interrupted->sp;
#else
    frame.sp = (uintptr_t)(interrupted + 1);
#endif
    answer = upmu_pmi_handle(efi->cpu, &frame);
    if (answer == UPMU_PMI_HANDLED)
        efi->traps.handled++;
    else if (answer == UPMU_PMI_STALE)
        efi->traps.stale++;
    else
        efi->traps.not_ours++;
    return answer;
}

/*
 * Handle an interrupt. Returns the address of the firmware's handler that is to go on, or 0. A stale NMI is dropped: no
 * other source of NMIs is known here, and the firmware treats every NMI as fatal. `used`: the callers are assembly,
 * which link-time optimisation does not see.
 */
__attribute__((used)) uintptr_t upmu_efi_trap(struct upmu_efi_frame *frame, unsigned entry)
{
    struct upmu_efi *efi = upmu_efi_installed;

    switch (entry) {
    case UPMU_EFI_NMI:
        efi->traps.nmis++;
        if (efi_overflow(efi, frame) == UPMU_PMI_NOT_OURS && !efi->swallow_foreign)
            return efi->old_handler[2];
        return 0;
    case UPMU_EFI_VECTOR:
        efi->traps.vectors++;
        (void)efi_overflow(efi, frame);
        upmu_apic_write(&efi->apic, UPMU_APIC_EOI, 0);
        return 0;
    case UPMU_EFI_SPURIOUS:
        return 0;
    case UPMU_EFI_UD:
        return efi_survive(efi, frame) ? 0 : efi->old_handler[6];
    default:
        return efi_survive(efi, frame) ? 0 : efi->old_handler[13];
    }
}

#if defined(__x86_64__)

#define UPMU_EFI_ENTRY(name, number) \
    ".balign 16\n" \
    ".globl " name "\n.hidden " name "\n" name ":\n" \
    "pushq $0\n" \
    "pushq $" number "\n" \
    "jmp upmu_efi_common\n"

/* The stack after the pushes: 10 registers (80 bytes), number, slot, [error code], frame. */
__asm__(".text\n"
        ".hidden upmu_efi_trap\n" UPMU_EFI_ENTRY("upmu_efi_entry_0", "0") UPMU_EFI_ENTRY("upmu_efi_entry_1", "1")
            UPMU_EFI_ENTRY("upmu_efi_entry_2", "2") UPMU_EFI_ENTRY("upmu_efi_entry_3", "3")
                UPMU_EFI_ENTRY("upmu_efi_entry_4", "4")
        "upmu_efi_common:\n"
        "pushq %rax\n pushq %rcx\n pushq %rdx\n pushq %rsi\n pushq %rdi\n"
        "pushq %r8\n pushq %r9\n pushq %r10\n pushq %r11\n pushq %rbp\n"
        "cld\n"
        "movq 80(%rsp), %rsi\n"       /* the number */
        "leaq 96(%rsp), %rdi\n"       /* the frame behind the slot */
        "cmpl $4, %esi\n"
        "jne 1f\n"
        "addq $8, %rdi\n"             /* or behind the error code */
        "1: movq %rsp, %rbp\n"
        "andq $-16, %rsp\n"
        "call upmu_efi_trap\n"
        "movq %rbp, %rsp\n"
        "movq %rax, 88(%rsp)\n"       /* the slot */
        "popq %rbp\n popq %r11\n popq %r10\n popq %r9\n popq %r8\n"
        "popq %rdi\n popq %rsi\n popq %rdx\n popq %rcx\n popq %rax\n"
        "cmpq $4, (%rsp)\n"
        "leaq 8(%rsp), %rsp\n"        /* drops the number, keeps the flags */
        "je 2f\n"
        "cmpq $0, (%rsp)\n"
        "jne 3f\n"
        "addq $8, %rsp\n"
        "iretq\n"
        "2: cmpq $0, (%rsp)\n"
        "jne 3f\n"
        "addq $16, %rsp\n"
        "iretq\n"
        "3: ret\n");

#elif defined(__i386__)

#define UPMU_EFI_ENTRY(name, number) \
    ".balign 16\n" \
    ".globl " name "\n.hidden " name "\n" name ":\n" \
    "pushl $0\n" \
    "pushl $" number "\n" \
    "jmp upmu_efi_common\n"

__asm__(".text\n"
        ".hidden upmu_efi_trap\n" UPMU_EFI_ENTRY("upmu_efi_entry_0", "0") UPMU_EFI_ENTRY("upmu_efi_entry_1", "1")
            UPMU_EFI_ENTRY("upmu_efi_entry_2", "2") UPMU_EFI_ENTRY("upmu_efi_entry_3", "3")
                UPMU_EFI_ENTRY("upmu_efi_entry_4", "4")
        "upmu_efi_common:\n"
        "pushal\n"                    /* 8 registers: number at 32, slot at 36 */
        "cld\n"
        "movl 32(%esp), %edx\n"
        "leal 40(%esp), %eax\n"
        "cmpl $4, %edx\n"
        "jne 1f\n"
        "addl $4, %eax\n"
        "1: movl %esp, %ebp\n"
        "subl $8, %esp\n"
        "andl $-16, %esp\n"
        "movl %edx, 4(%esp)\n"
        "movl %eax, (%esp)\n"
        "call upmu_efi_trap\n"
        "movl %ebp, %esp\n"
        "movl %eax, 36(%esp)\n"
        "popal\n"
        "cmpl $4, (%esp)\n"
        "leal 4(%esp), %esp\n"
        "je 2f\n"
        "cmpl $0, (%esp)\n"
        "jne 3f\n"
        "addl $4, %esp\n"
        "iretl\n"
        "2: cmpl $0, (%esp)\n"
        "jne 3f\n"
        "addl $8, %esp\n"
        "iretl\n"
        "3: ret\n");

#else
#error "the EFI port knows x64 and ia32"
#endif

extern const char upmu_efi_entry_0[] UPMU_EFI_HIDDEN;
extern const char upmu_efi_entry_1[] UPMU_EFI_HIDDEN;
extern const char upmu_efi_entry_2[] UPMU_EFI_HIDDEN;
extern const char upmu_efi_entry_3[] UPMU_EFI_HIDDEN;
extern const char upmu_efi_entry_4[] UPMU_EFI_HIDDEN;

/* Return the address of an entry. A table of the addresses would need relocations. */
uintptr_t upmu_efi_entry_address(enum upmu_efi_entry entry)
{
    switch (entry) {
    case UPMU_EFI_NMI:
        return (uintptr_t)upmu_efi_entry_0;
    case UPMU_EFI_VECTOR:
        return (uintptr_t)upmu_efi_entry_1;
    case UPMU_EFI_SPURIOUS:
        return (uintptr_t)upmu_efi_entry_2;
    case UPMU_EFI_UD:
        return (uintptr_t)upmu_efi_entry_3;
    case UPMU_EFI_GP:
    case UPMU_EFI_ENTRIES:
    default:
        return (uintptr_t)upmu_efi_entry_4;
    }
}
