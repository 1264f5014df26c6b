/* SPDX-License-Identifier: MIT */
/*
 * The ports as far as they run outside ring 0: the EFI port's interrupt entries and
 * fault recovery (with real faults), the clock, LVTPC values, the template.
 */
#define _GNU_SOURCE 1 /* REG_RIP */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>
#include "tests/common/assertions.h"
#include <port/arm32_native/arm32_cp15.h>
#include <port/efi/efi_port.c>
#include <port/efi/efi_stubs.c>
#include <port/template/template_port.c>
#include <port/x86_native/x86_native.c>

static struct upmu_efi efi;

#if defined(__x86_64__)
#define IP_REGISTER REG_RIP
#else
#define IP_REGISTER REG_EIP
#endif

static void on_fault(int number, siginfo_t *info, void *context)
{
    ucontext_t *machine = context;
    struct upmu_efi_frame frame = {.ip = (uintptr_t)machine->uc_mcontext.gregs[IP_REGISTER]};
    uintptr_t next = upmu_efi_trap(&frame, UPMU_EFI_GP);

    (void)info;
    if (next != 0) /* not one of ours: a bug in the test */
        signal(number, SIG_DFL);
    machine->uc_mcontext.gregs[IP_REGISTER] = (greg_t)frame.ip;
}

static int install(void **state)
{
    (void)state;
    memset(&efi, 0, sizeof efi);
    upmu_efi_installed = &efi;
    return 0;
}

static int uninstall(void **state)
{
    (void)state;
    upmu_efi_installed = NULL;
    return 0;
}

/* In ring 3 these fault for real.  cmocka's own handler is put back behind it. */
static void accesses_that_fault_return_false_and_go_on(void **state)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER}, of_cmocka;
    uint64_t value;

    (void)state;
    sigaction(SIGSEGV, &action, &of_cmocka);
    assert_false(upmu_x86_hook_rdmsr(&efi, 0x186, &value));
    assert_int_equal(efi.traps.faults, 1);
    assert_false(upmu_x86_hook_wrmsr(&efi, 0x186, 0));
    assert_int_equal(efi.traps.faults, 2);
    assert_false(upmu_x86_hook_rdpmc(&efi, 0x7fffffff, &value));
    assert_int_equal(efi.traps.faults, 3);
    sigaction(SIGSEGV, &of_cmocka, NULL);
}

static void other_faults_go_to_the_firmware(void **state)
{
    static const uint8_t plain_rdmsr[16] = {0x0f, 0x32, 0xc3};
    static const uint8_t other_mark[16] = {0x0f, 0x32, 0xeb, 0x06, 'u', 'p', 'm', 'x'};
    struct upmu_efi_frame frame = {.ip = (uintptr_t)plain_rdmsr};

    (void)state;
    efi.old_handler[13] = 1234;
    efi.old_handler[6] = 66;
    assert_int_equal(upmu_efi_trap(&frame, UPMU_EFI_GP), 1234);
    assert_int_equal(upmu_efi_trap(&frame, UPMU_EFI_UD), 66);
    frame.ip = (uintptr_t)other_mark;
    assert_int_equal(upmu_efi_trap(&frame, UPMU_EFI_GP), 1234);
    assert_int_equal(frame.ip, (uintptr_t)other_mark);
    assert_int_equal(efi.traps.faults, 0);
}

static void foreign_nmis_go_to_the_firmware_unless_swallowed(void **state)
{
    struct upmu_efi_frame frame = {0};

    (void)state;
    efi.old_handler[2] = 22;
    assert_int_equal(upmu_efi_trap(&frame, UPMU_EFI_NMI), 22);
    efi.swallow_foreign = true;
    assert_int_equal(upmu_efi_trap(&frame, UPMU_EFI_NMI), 0);
    assert_int_equal(efi.traps.nmis, 2);
    assert_int_equal(efi.traps.not_ours, 2);
}

/* ---- The entries: an interrupt is a far call with flags, and iret works in ring 3 ---- */

struct registers {
    uintptr_t before[9];
    uintptr_t after[9];
    uintptr_t stack_before, stack_after;
    uintptr_t chained;
};

/* With an error code or without; saves what C may change. */
extern void enter_entry(struct registers *registers, uintptr_t entry, uintptr_t with_code);
extern const char entry_old_handler[];

#if defined(__x86_64__)
__asm__(".text\n.globl enter_entry\nenter_entry:\n"
        "pushq %rbx\n pushq %rbp\n pushq %r12\n pushq %r13\n pushq %r14\n"
        "movq %rdi, %rbx\n movq %rsi, %r12\n movq %rdx, %r13\n"
        "movq %rsp, 144(%rbx)\n"
        "movq %rsp, %r14\n"
        "movq %ss, %rax\n pushq %rax\n pushq %r14\n pushfq\n movq %cs, %rax\n pushq %rax\n"
        "leaq 2f(%rip), %rax\n pushq %rax\n"
        "testq %r13, %r13\n jz 1f\n pushq $99\n"
        "1: movq 0(%rbx), %rax\n movq 8(%rbx), %rcx\n movq 16(%rbx), %rdx\n movq 24(%rbx), %rsi\n"
        "movq 32(%rbx), %rdi\n movq 40(%rbx), %r8\n movq 48(%rbx), %r9\n movq 56(%rbx), %r10\n movq 64(%rbx), %r11\n"
        "jmp *%r12\n"
        /* the firmware's handler finds the stack as it was on entry */
        ".globl entry_old_handler\nentry_old_handler:\n"
        "movq $1, 160(%rbx)\n testq %r13, %r13\n jz 3f\n addq $8, %rsp\n 3: iretq\n"
        "2: movq %rax, 72(%rbx)\n movq %rcx, 80(%rbx)\n movq %rdx, 88(%rbx)\n movq %rsi, 96(%rbx)\n"
        "movq %rdi, 104(%rbx)\n movq %r8, 112(%rbx)\n movq %r9, 120(%rbx)\n movq %r10, 128(%rbx)\n"
        "movq %r11, 136(%rbx)\n movq %rsp, 152(%rbx)\n"
        "popq %r14\n popq %r13\n popq %r12\n popq %rbp\n popq %rbx\n ret\n");
#define REGISTERS 9
#else
__asm__(".text\n.globl enter_entry\nenter_entry:\n"
        "pushl %ebx\n pushl %ebp\n pushl %esi\n pushl %edi\n"
        "movl 20(%esp), %ebx\n movl 24(%esp), %esi\n movl 28(%esp), %edi\n"
        "movl %esp, 72(%ebx)\n"
        "pushfl\n pushl %cs\n call 4f\n4: addl $(2f - 4b), (%esp)\n"
        "testl %edi, %edi\n jz 1f\n pushl $99\n"
        "1: movl 0(%ebx), %eax\n movl 4(%ebx), %ecx\n movl 8(%ebx), %edx\n"
        "jmp *%esi\n"
        ".globl entry_old_handler\nentry_old_handler:\n"
        "movl $1, 80(%ebx)\n testl %edi, %edi\n jz 3f\n addl $4, %esp\n 3: iretl\n"
        "2: movl %eax, 36(%ebx)\n movl %ecx, 40(%ebx)\n movl %edx, 44(%ebx)\n"
        "movl %esp, 76(%ebx)\n"
        "popl %edi\n popl %esi\n popl %ebp\n popl %ebx\n ret\n");
#define REGISTERS 3
#endif

static void check_entry(enum upmu_efi_entry entry, bool chains)
{
    struct registers registers = {.chained = 0};
    unsigned i;

    for (i = 0; i < REGISTERS; i++)
        registers.before[i] = 0x1111u * (i + 1);
    enter_entry(&registers, upmu_efi_entry_address(entry), entry == UPMU_EFI_GP);
    assert_int_equal(registers.chained, chains);
    assert_memory_equal(registers.before, registers.after, REGISTERS * sizeof registers.before[0]);
    assert_int_equal(registers.stack_before, registers.stack_after);
}

static void entries_return_with_all_registers(void **state)
{
    (void)state;
    efi.swallow_foreign = true;
    check_entry(UPMU_EFI_NMI, false);
    check_entry(UPMU_EFI_SPURIOUS, false);
    check_entry(UPMU_EFI_VECTOR, false); /* no APIC: no end of interrupt to write */
    assert_int_equal(efi.traps.nmis, 1);
    assert_int_equal(efi.traps.vectors, 1);
}

static void entries_hand_on_with_the_stack_as_it_was(void **state)
{
    (void)state;
    efi.old_handler[2] = efi.old_handler[6] = efi.old_handler[13] = (uintptr_t)entry_old_handler;
    check_entry(UPMU_EFI_NMI, true);
    check_entry(UPMU_EFI_UD, true);
    check_entry(UPMU_EFI_GP, true);
    assert_int_equal(efi.traps.nmis, 1);
}

static void gates_hold_the_address_of_their_entry(void **state)
{
    (void)state;
    efi_gate_set(2, UPMU_EFI_NMI, 0x38);
    assert_int_equal(efi_gate_offset(&efi_table[2]), upmu_efi_entry_address(UPMU_EFI_NMI));
    assert_int_equal(efi_table[2].selector, 0x38);
    assert_int_equal(sizeof efi_table[0], sizeof(void *) * 2);
}

/* ---- Clock, APIC, template ---- */

static void clock_is_right_to_a_millionth(void **state)
{
    static const uint32_t rates[] = {4000, 33333, 1000000, 2615001, 3333333, 5999999, 4000000000u};
    unsigned i;

    (void)state;
    for (i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        struct upmu_x86_clock clock = upmu_x86_clock_make(rates[i]);
        uint64_t second = (uint64_t)rates[i] * 1000;
        uint64_t ns = upmu_x86_clock_ns(clock, second * 1000);

        /* the multiplier has 24 binary places; at 4 THz few of them are left */
        assert_in_range(ns, UINT64_C(1000000000000) - (rates[i] > 6000000 ? 500000000 : 1000000),
                        UINT64_C(1000000000000), i);
    }
    assert_int_equal(upmu_x86_clock_make(3999).multiplier, 0);
    assert_int_equal(upmu_x86_clock_make(0).multiplier, 0);
}

static void clock_never_runs_back(void **state)
{
    struct upmu_x86_clock clock = upmu_x86_clock_make(2999999);
    uint64_t last = 0, ticks;

    (void)state;
    for (ticks = UINT64_C(0xfffff000); ticks < UINT64_C(0x100001000); ticks++) {
        uint64_t now = upmu_x86_clock_ns(clock, ticks);

        assert_compare(now, >=, last);
        last = now;
    }
}

static void lvtpc_is_unmasked_nmi_or_vector(void **state)
{
    (void)state;
    assert_int_equal(upmu_apic_lvtpc(0), 0x400);
    assert_int_equal(upmu_apic_lvtpc(0xf0), 0xf0);
}

static void apic_page_is_written_at_the_registers_offset(void **state)
{
    uint32_t page[1024] = {0};
    struct upmu_apic apic = {UPMU_APIC_PAGE, page};
    struct upmu_x86_native native = {.apic = apic, .lvtpc = upmu_apic_lvtpc(0)};

    (void)state;
    native_pmi_rearm(&native);
    assert_int_equal(page[0x340 / 4], 0x400);
    upmu_x86_native_quiet(&native);
    assert_int_equal(page[0x340 / 4], 0x10400);
    page[0xb0 / 4] = 5;
    upmu_x86_native_eoi(&native);
    assert_int_equal(page[0xb0 / 4], 0);
}

/* Configuration space behind the two ports: IN and OUT fault in ring 3, and the handler answers them. */
static struct {
    uint32_t address, data;
    unsigned accesses;
} ports;

static void on_port(int number, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    const uint8_t *code = (const uint8_t *)(uintptr_t)registers[IP_REGISTER];
#if defined(__x86_64__)
    greg_t *eax = &registers[REG_RAX], *edx = &registers[REG_RDX];
#else
    greg_t *eax = &registers[REG_EAX], *edx = &registers[REG_EDX];
#endif
    uint32_t *port = (uint16_t)*edx == 0xcf8 ? &ports.address : (uint16_t)*edx == 0xcfc ? &ports.data : NULL;

    (void)info;
    if (port && *code == 0xef)
        *port = (uint32_t)*eax;
    else if (port && *code == 0xed)
        *eax = (greg_t)*port;
    else
        signal(number, SIG_DFL); /* not one of ours: a bug in the test */
    ports.accesses++;
    registers[IP_REGISTER]++;
}

static void configuration_space_is_reached_by_ports(void **state)
{
    struct sigaction action = {.sa_sigaction = on_port, .sa_flags = SA_SIGINFO | SA_NODEFER}, of_cmocka;
    struct upmu_x86_native native = {.port = {.context = &native}};
    const struct upmu_port *port = &native.port;
    uint32_t value = 0;

    (void)state;
    upmu_x86_native_pci(&native, NULL, 0, 0, 0);
    sigaction(SIGSEGV, &action, &of_cmocka);
    ports.data = 0x20428086;
    assert_true(port->pci_read(port->context, 0x64u << 8 | 0x1fu << 3 | 7u, 0xfc, &value));
    assert_int_equal(ports.address, 0x8064fffcu);
    assert_int_equal(value, 0x20428086u);
    assert_true(port->pci_write(port->context, 0x0au << 3 | 2u, 0xd8, 0x12345678));
    assert_int_equal(ports.address, 0x800052d8u);
    assert_int_equal(ports.data, 0x12345678u);
    assert_int_equal(ports.accesses, 4);
    sigaction(SIGSEGV, &of_cmocka, NULL);
    assert_int_equal(native.pci.lock, 0);
    /* Beyond what the ports reach: another segment, an extended register, one that is not aligned. */
    assert_false(port->pci_read(port->context, 1u << 16, 0, &value));
    assert_false(port->pci_read(port->context, 0, 0x100, &value));
    assert_false(port->pci_write(port->context, 0, 2, 0));
}

static void configuration_space_is_reached_in_memory(void **state)
{
    static uint32_t space[2][256 * 1024]; /* two buses */
    struct upmu_x86_native native = {.port = {.context = &native}};
    const struct upmu_port *port = &native.port;
    const uint32_t where = 3u << 16 | 0x21u << 8 | 5u << 3 | 6u;
    uint32_t value = 0;

    (void)state;
    upmu_x86_native_pci(&native, space, 3, 0x20, 0x21);
    space[1][(5u << 15 | 6u << 12 | 0xe04) / 4] = 77;
    assert_true(port->pci_read(port->context, where, 0xe04, &value));
    assert_int_equal(value, 77);
    assert_true(port->pci_write(port->context, where, 0xffc, 78));
    assert_int_equal(space[1][(5u << 15 | 6u << 12 | 0xffc) / 4], 78);
    /* Other segments, buses beside these two, beyond the registers. */
    assert_false(port->pci_read(port->context, 2u << 16 | 0x21u << 8, 0, &value));
    assert_false(port->pci_read(port->context, 3u << 16 | 0x22u << 8, 0, &value));
    assert_false(port->pci_read(port->context, 3u << 16 | 0x1fu << 8, 0, &value));
    assert_false(port->pci_read(port->context, where, 0x1000, &value));
    assert_false(port->pci_read(port->context, where, 0xffe, &value));
}

/* What the application's wrapper was asked. */
static struct {
    void *context;
    uint32_t where, offset, value;
    bool write;
} asked;

static bool wrapper(void *context, uint32_t where, uint32_t offset, bool write, uint32_t *value)
{
    asked.context = context;
    asked.where = where;
    asked.offset = offset;
    asked.write = write;
    asked.value = *value;
    *value = 99;
    return offset < 0x100;
}

static void firmware_is_asked_for_configuration_space(void **state)
{
    static struct upmu_efi owner;
    const struct upmu_port *port = &owner.port;
    uint32_t value = 0;

    (void)state;
    owner.port.context = &owner;
    upmu_efi_units(&owner, wrapper, &asked);
    assert_true(port->pci_read(port->context, 0x1234, 0x40, &value));
    assert_int_equal(value, 99);
    assert_ptr_equal(asked.context, &asked);
    assert_int_equal(asked.where, 0x1234);
    assert_int_equal(asked.offset, 0x40);
    assert_false(asked.write);
    assert_true(port->pci_write(port->context, 0x4321, 0x44, 7));
    assert_true(asked.write);
    assert_int_equal(asked.value, 7);
    assert_false(port->pci_read(port->context, 0, 0x104, &value));
    assert_ptr_equal(port->mmio_map(port->context, 0xfed10000, 0x6000), (void *)(uintptr_t)0xfed10000);
    assert_null(port->mmio_map(port->context, 0, 0x1000));
    assert_null(port->mmio_map(port->context, (uint64_t)UINTPTR_MAX - 0xfff, 0x1001));
}

/* PMEVCNTR0 to 30; PMEVTYPER0 to 30, and PMCCFILTR behind them. */
static void pmuv2_selects_31_event_counters_and_32_types(void **state)
{
    (void)state;
    for (uint32_t number = 0; number < 0x10000; number++) {
        bool counter = number >= UPMU_A32_COUNTERS && number <= UPMU_A32_COUNTERS + 30u;
        bool type = number >= UPMU_A32_TYPERS && number <= UPMU_A32_TYPERS + 31u;

        assert_int_equal(upmu_a32_is_indirect(number), counter || type, number);
    }
    assert_false(upmu_a32_is_indirect(UPMU_A32_COUNTERS + 31u));
}

static void template_describes_a_machine_without_a_pmu(void **state)
{
    static struct upmu_machine machine;
    static struct upmu_cpu cpu;

    (void)state;
    assert_int_equal(upmu_machine_init(&machine, &template_port), UPMU_OK);
    assert_int_equal(upmu_cpu_init(&cpu, &machine, NULL), UPMU_ERR_NO_PMU);
    assert_int_equal(template_interrupt(1, 2, false), UPMU_PMI_NOT_OURS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(accesses_that_fault_return_false_and_go_on, install, uninstall),
        cmocka_unit_test_setup_teardown(other_faults_go_to_the_firmware, install, uninstall),
        cmocka_unit_test_setup_teardown(foreign_nmis_go_to_the_firmware_unless_swallowed, install, uninstall),
        cmocka_unit_test_setup_teardown(entries_return_with_all_registers, install, uninstall),
        cmocka_unit_test_setup_teardown(entries_hand_on_with_the_stack_as_it_was, install, uninstall),
        cmocka_unit_test(gates_hold_the_address_of_their_entry),
        cmocka_unit_test(clock_is_right_to_a_millionth),
        cmocka_unit_test(clock_never_runs_back),
        cmocka_unit_test(lvtpc_is_unmasked_nmi_or_vector),
        cmocka_unit_test(apic_page_is_written_at_the_registers_offset),
        cmocka_unit_test(configuration_space_is_reached_by_ports),
        cmocka_unit_test(configuration_space_is_reached_in_memory),
        cmocka_unit_test(firmware_is_asked_for_configuration_space),
        cmocka_unit_test(pmuv2_selects_31_event_counters_and_32_types),
        cmocka_unit_test(template_describes_a_machine_without_a_pmu),
    };

    return cmocka_run_group_tests_name("ports", tests, NULL, NULL);
}
