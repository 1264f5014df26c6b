/* SPDX-License-Identifier: MIT */
/*
 * The monitor's machine: memory, CPUID, the kernel's file.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tests/vm/vm_intern.h"

#define MULTIBOOT_AT 0x8000u
#define MULTIBOOT_LOADED 0x2badb002u
#define LINE_AT 0x8100u
#define LINE_BYTES 0x200u

double vm_seconds(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

bool vm_refuse(struct vm *vm, const char *what)
{
    if (!vm->failure[0])
        snprintf(vm->failure, sizeof vm->failure, "%s: %s", what, strerror(errno));
    vm->done = true;
    return false;
}

/* ---- A machine ---- */

/* Everything below 2000h but what KVM must keep comes to us. */
static bool filter_msrs(struct vm *vm)
{
    /* AMD's PMU has registers in all of them; what is between them (EFER, …) is the host's. */
    static const struct {
        uint32_t base, count;
    } ranges[] = {{0, 0x2000}, {0xc0000300u, 8}, {0xc0010000u, 0x2000}};
    static uint8_t none[0x2000 / 8];
    struct kvm_enable_cap enable = {.cap = KVM_CAP_X86_USER_SPACE_MSR};
    struct kvm_msr_filter filter;

    enable.args[0] = KVM_MSR_EXIT_REASON_FILTER | KVM_MSR_EXIT_REASON_UNKNOWN | KVM_MSR_EXIT_REASON_INVAL;
    memset(&filter, 0, sizeof filter);
    filter.flags = KVM_MSR_FILTER_DEFAULT_ALLOW;
    for (unsigned i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        filter.ranges[i].flags = KVM_MSR_FILTER_READ | KVM_MSR_FILTER_WRITE;
        filter.ranges[i].base = ranges[i].base;
        filter.ranges[i].nmsrs = ranges[i].count;
        filter.ranges[i].bitmap = none;
    }
    if (ioctl(vm->vm, KVM_ENABLE_CAP, &enable) < 0)
        return vm_refuse(vm, "KVM_CAP_X86_USER_SPACE_MSR");
    if (ioctl(vm->vm, KVM_X86_SET_MSR_FILTER, &filter) < 0)
        return vm_refuse(vm, "KVM_X86_SET_MSR_FILTER");
    return true;
}

static bool add_memory(struct vm *vm)
{
    struct kvm_userspace_memory_region region = {.memory_size = MEMORY_BYTES};

    vm->memory = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (vm->memory == MAP_FAILED)
        return vm_refuse(vm, "guest memory");
    region.userspace_addr = (uintptr_t)vm->memory;
    if (ioctl(vm->vm, KVM_SET_USER_MEMORY_REGION, &region) < 0)
        return vm_refuse(vm, "KVM_SET_USER_MEMORY_REGION");
    return true;
}

/* A machine with one CPU that has no CPUID yet. */
static bool make_machine(struct vm *vm)
{
    int bytes;

    vm->vm = vm->cpu = -1;
    vm->kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
    if (vm->kvm < 0)
        return vm_refuse(vm, "/dev/kvm");
    vm->vm = ioctl(vm->kvm, KVM_CREATE_VM, 0);
    if (vm->vm < 0)
        return vm_refuse(vm, "KVM_CREATE_VM");
    (void)ioctl(vm->vm, KVM_SET_TSS_ADDR, 0xfffbd000ul);
    if (!add_memory(vm))
        return false;
    vm->cpu = ioctl(vm->vm, KVM_CREATE_VCPU, 0);
    if (vm->cpu < 0)
        return vm_refuse(vm, "KVM_CREATE_VCPU");
    bytes = ioctl(vm->kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
    vm->run = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, vm->cpu, 0);
    if (vm->run == MAP_FAILED)
        return vm_refuse(vm, "struct kvm_run");
    return true;
}

void vm_close(struct vm *vm)
{
    if (vm->cpu > 0)
        close(vm->cpu);
    if (vm->vm > 0)
        close(vm->vm);
    if (vm->kvm > 0)
        close(vm->kvm);
    if (vm->memory)
        munmap(vm->memory, MEMORY_BYTES);
    vm->memory = NULL;
}

/* Two instructions of real mode: OUT, HLT. */
const char *vm_unable(void)
{
    static const uint8_t code[] = {0xe6, 0x80, 0xf4};
    static struct vm vm;
    struct kvm_sregs sregs;
    struct kvm_regs regs;
    bool ran;

    memset(&vm, 0, sizeof vm);
    if (!make_machine(&vm))
        return vm.failure;
    memcpy(vm.memory + 0x1000, code, sizeof code);
    memset(&regs, 0, sizeof regs);
    regs.rip = 0x1000;
    regs.rflags = 2;
    ran = ioctl(vm.cpu, KVM_GET_SREGS, &sregs) == 0;
    sregs.cs.base = 0;
    sregs.cs.selector = 0;
    ran = ran && ioctl(vm.cpu, KVM_SET_SREGS, &sregs) == 0 && ioctl(vm.cpu, KVM_SET_REGS, &regs) == 0 &&
          ioctl(vm.cpu, KVM_RUN, 0) == 0 && vm.run->exit_reason == KVM_EXIT_IO && vm.run->io.port == 0x80 &&
          ioctl(vm.cpu, KVM_RUN, 0) == 0 && vm.run->exit_reason == KVM_EXIT_HLT;
    if (ran && ioctl(vm.kvm, KVM_CHECK_EXTENSION, KVM_CAP_SYNC_REGS) <= 0) {
        ran = false;
        snprintf(vm.failure, sizeof vm.failure, "no KVM_CAP_SYNC_REGS");
    }
    vm_close(&vm);
    if (ran)
        return NULL;
    if (!vm.failure[0])
        snprintf(vm.failure, sizeof vm.failure, "a guest of two instructions does not run");
    return vm.failure;
}

/* ---- CPUID ---- */

#define LEAF1_EDX 0x0780a15bu /* FPU PSE TSC MSR PAE CX8 PGE CMOV MMX FXSR SSE SSE2: what KVM wants to know of */

static void add_leaf(struct kvm_cpuid2 *leaves, const struct upmu_sim *sim, vm_cpuid *show, uint32_t leaf,
                     uint32_t subleaf, bool indexed)
{
    struct kvm_cpuid_entry2 *entry = &leaves->entries[leaves->nent++];
    uint32_t out[4];

    sim->port.cpuid(sim->port.context, leaf, subleaf, out);
    if (show)
        show(leaf, subleaf, out);
    memset(entry, 0, sizeof *entry);
    entry->function = leaf;
    entry->index = subleaf;
    entry->flags = indexed ? KVM_CPUID_FLAG_SIGNIFCANT_INDEX : 0;
    entry->eax = out[0];
    entry->ebx = out[1];
    entry->ecx = out[2];
    entry->edx = out[3];
    if (leaf == 1)
        entry->edx |= LEAF1_EDX;
}

static bool set_cpuid(struct vm *vm, vm_cpuid *show)
{
    struct {
        struct kvm_cpuid2 leaves;
        struct kvm_cpuid_entry2 room[160];
    } *all = calloc(1, sizeof *all);
    uint32_t out[4];
    bool done;

    vm->sim.cpu[0].irqs_on = false;
    vm->sim.port.cpuid(vm->sim.port.context, 0, 0, out);
    for (uint32_t leaf = 0; leaf <= out[0] && leaf < 0x40; leaf++) {
        bool indexed = leaf == 4 || leaf == 7 || leaf == 0xb || leaf == 0xd || leaf == 0x14 || leaf == 0x23;

        for (uint32_t subleaf = 0; subleaf < (indexed ? 4 : 1); subleaf++)
            add_leaf(&all->leaves, &vm->sim, show, leaf, subleaf, indexed);
    }
    vm->sim.port.cpuid(vm->sim.port.context, 0x80000000u, 0, out);
    for (uint32_t leaf = 0x80000000u; leaf <= 0x80000008u || (leaf <= out[0] && leaf < 0x80000040u); leaf++)
        add_leaf(&all->leaves, &vm->sim, show, leaf, 0, false);
    for (uint32_t leaf = 0x40000100u; show && leaf <= 0x40000102u; leaf++)
        add_leaf(&all->leaves, &vm->sim, show, leaf, 0, false);
    done = ioctl(vm->cpu, KVM_SET_CPUID2, &all->leaves) == 0;
    free(all);
    return done ? true : vm_refuse(vm, "KVM_SET_CPUID2");
}

/* ---- Loading ---- */

static bool load_segment(struct vm *vm, const unsigned char *file, uint64_t offset, uint64_t at, uint64_t bytes,
                         uint64_t in_memory)
{
    if (at + in_memory > MEMORY_BYTES || at < LINE_AT + LINE_BYTES)
        return vm_refuse(vm, "the kernel does not fit");
    memcpy(vm->memory + at, file + offset, bytes);
    return true;
}

static bool load_elf(struct vm *vm, const unsigned char *file, uint64_t *out_entry)
{
    if (file[EI_CLASS] == ELFCLASS64) {
        const Elf64_Ehdr *header = (const void *)file;
        const Elf64_Phdr *part = (const void *)(file + header->e_phoff);

        *out_entry = header->e_entry;
        for (unsigned i = 0; i < header->e_phnum; i++)
            if (part[i].p_type == PT_LOAD &&
                !load_segment(vm, file, part[i].p_offset, part[i].p_paddr, part[i].p_filesz, part[i].p_memsz))
                return false;
    } else {
        const Elf32_Ehdr *header = (const void *)file;
        const Elf32_Phdr *part = (const void *)(file + header->e_phoff);

        *out_entry = header->e_entry;
        for (unsigned i = 0; i < header->e_phnum; i++)
            if (part[i].p_type == PT_LOAD &&
                !load_segment(vm, file, part[i].p_offset, part[i].p_paddr, part[i].p_filesz, part[i].p_memsz))
                return false;
    }
    return true;
}

static bool load_file(struct vm *vm, const char *path, uint64_t *out_entry)
{
    static unsigned char file[4u << 20];
    FILE *stream = fopen(path, "rb");
    size_t length = stream ? fread(file, 1, sizeof file, stream) : 0;

    if (stream)
        fclose(stream);
    if (length < sizeof(Elf64_Ehdr) || memcmp(file, ELFMAG, SELFMAG) != 0)
        return vm_refuse(vm, path);
    return load_elf(vm, file, out_entry);
}

void vm_flat_segment(struct kvm_segment *segment, bool code)
{
    memset(segment, 0, sizeof *segment);
    segment->limit = 0xffffffffu;
    segment->selector = code ? 8 : 16;
    segment->type = code ? 11 : 3;
    segment->present = segment->s = segment->g = segment->db = 1;
}

/* As Multiboot 0.6.96 3.2 wants it: protected mode, flat, EBX at the information. */
static bool enter_kernel(struct vm *vm, uint64_t entry)
{
    uint32_t *information = (void *)(vm->memory + MULTIBOOT_AT);
    struct kvm_sregs sregs;
    struct kvm_regs regs;

    information[0] = 4; /* a command line */
    information[4] = LINE_AT;
    snprintf((char *)vm->memory + LINE_AT, LINE_BYTES, "%s", vm->line);
    memset(&regs, 0, sizeof regs);
    regs.rip = entry;
    regs.rflags = 2;
    regs.rax = MULTIBOOT_LOADED;
    regs.rbx = MULTIBOOT_AT;
    if (ioctl(vm->cpu, KVM_GET_SREGS, &sregs) < 0)
        return vm_refuse(vm, "KVM_GET_SREGS");
    vm_flat_segment(&sregs.cs, true);
    vm_flat_segment(&sregs.ds, false);
    sregs.es = sregs.fs = sregs.gs = sregs.ss = sregs.ds;
    sregs.cr0 |= 1;
    if (ioctl(vm->cpu, KVM_SET_SREGS, &sregs) < 0 || ioctl(vm->cpu, KVM_SET_REGS, &regs) < 0)
        return vm_refuse(vm, "registers");
    return true;
}

bool vm_open_shown(struct vm *vm, const char *profile, const char *elf, const char *line, vm_cpuid *show)
{
    const struct upmu_sim_profile *found = upmu_sim_profile(profile);
    uint64_t entry = 0;

    memset(vm, 0, sizeof *vm);
    vm->line = line;
    vm->exit_code = -1;
    vm->seconds = 400;
    vm->enabling_counts = true;
    if (!found)
        return vm_refuse(vm, profile);
    upmu_sim_init(&vm->sim, found, 1);
    vm->sim.test = vm;
    vm->sim.deliver = vm_inject;
    if (!make_machine(vm) || !filter_msrs(vm) || !set_cpuid(vm, show) || !load_file(vm, elf, &entry))
        return false;
    return enter_kernel(vm, entry);
}

bool vm_open(struct vm *vm, const char *profile, const char *elf, const char *line)
{
    return vm_open_shown(vm, profile, elf, line, NULL);
}
