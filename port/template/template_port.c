/* SPDX-License-Identifier: 0BSD */
/*
 * Template of an upmu port: copy these two files, fill in, rename. Permission to use this file for any purpose is
 * granted without any condition; no notice is needed.
 *
 * The template compiles as it is and describes a machine without a PMU. The first three hooks are needed. Any other
 * hook is used only if the table at the end says that it is filled in. If a hook is used but not filled in, counts are
 * 0, or calls fail.
 */
#include <stddef.h>
#include <port/template/template_port.h>
#include <upmu/unit.h>

/*
 * Read MSR `msr` of the executing CPU into *out_value. Return false if the access faulted (#GP) and your kernel
 * recovered. If your kernel cannot recover, let the access fault and leave msr_faults_are_safe false.
 */
static bool template_rdmsr(void *context, uint32_t msr, uint64_t *out_value)
{
    (void)context, (void)msr;
    *out_value = 0; /* FILL IN: rdmsr */
    return true;
}

/* Write `value` to MSR `msr` of the executing CPU. Returns as template_rdmsr(). */
static bool template_wrmsr(void *context, uint32_t msr, uint64_t value)
{
    (void)context, (void)msr, (void)value; /* FILL IN: wrmsr */
    return true;
}

/* Execute CPUID for a leaf and subleaf; out[0] to out[3] become EAX, EBX, ECX, EDX. */
static void template_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    (void)context, (void)leaf, (void)subleaf;
    out[0] = out[1] = out[2] = out[3] = 0; /* FILL IN: cpuid */
}

/* Return the struct upmu_cpu of the executing CPU. Without this hook only one CPU can be initialised. */
static struct upmu_cpu *template_this_cpu(void *context)
{
    (void)context;
    return NULL; /* FILL IN: this CPU's struct upmu_cpu, or NULL before its upmu_cpu_init() */
}

/*
 * Disable interrupts and return their former state; the next hook restores that state. Without this pair disable
 * interrupts yourself around every call marked "local".
 */
static uintptr_t template_irq_save(void *context)
{
    (void)context;
    return 0; /* FILL IN: pushf, cli */
}

static void template_irq_restore(void *context, uintptr_t state)
{
    (void)context, (void)state; /* FILL IN: sti if interrupts were on */
}

/*
 * Execute RDPMC with ECX = `index`. Return false if it faulted. Without this hook counters are read by
 * template_rdmsr(), a little slower.
 */
static bool template_rdpmc(void *context, uint32_t index, uint64_t *out_value)
{
    (void)context, (void)index;
    *out_value = 0; /* FILL IN: rdpmc */
    return true;
}

/*
 * Unmask the local APIC's performance-counter entry: write LVTPC (offset 340h, x2APIC: MSR 834h), 400h for NMI, or the
 * vector. The handler calls this hook, too. Without this hook there is no sampling.
 */
static void template_pmi_rearm(void *context)
{
    (void)context; /* FILL IN */
}

/*
 * Return monotonic nanoseconds. The handler calls this hook, too: use no lock. Without this hook there are no enabled
 * and running times, and no time in samples.
 */
static uint64_t template_clock_ns(void *context)
{
    (void)context;
    return 0; /* FILL IN */
}

/* Set (`allow`) or clear CR4.PCE on the executing CPU. Without this hook you allow RDPMC in user mode yourself. */
static void template_allow_rdpmc(void *context, bool allow)
{
    (void)context, (void)allow; /* FILL IN */
}

/*
 * Run function(argument) on the CPU `cpu` with interrupts off, and wait until it returns. Return false if the CPU
 * cannot be reached. Without this hook sessions are used on their own CPU only.
 */
static bool template_run_on_cpu(void *context, struct upmu_cpu *cpu, void (*function)(void *argument), void *argument)
{
    (void)context, (void)cpu, (void)function, (void)argument;
    return false; /* FILL IN: an IPI */
}

/*
 * Have upmu_cpu_tick() called on the executing CPU soon, by an interrupt of its own (a self-IPI). The handler calls
 * this hook, too. Without this hook sets that an overflow switches, and that have no place yet, wait for the next local
 * call.
 */
static void template_request_tick(void *context)
{
    (void)context; /* FILL IN */
}

/* Write a line, which has no newline, to your log. Without this hook there are no reports. */
static void template_log(void *context, const char *line)
{
    (void)context, (void)line; /* FILL IN */
}

/*
 * Read or write aligned 32 bits of a PCI function's configuration space; where = segment << 16 | bus << 8 | device << 3
 * | function. An absent function reads all ones. Without this pair there are no units in configuration space, nor
 * memory-mapped units whose addresses are there.
 */
static bool template_pci_read(void *context, uint32_t where, uint32_t offset, uint32_t *out_value)
{
    (void)context, (void)where, (void)offset;
    *out_value = 0xffffffffu; /* FILL IN */
    return true;
}

static bool template_pci_write(void *context, uint32_t where, uint32_t offset, uint32_t value)
{
    (void)context, (void)where, (void)offset, (void)value; /* FILL IN */
    return true;
}

/*
 * Map `bytes` bytes of device memory from the physical address on, uncached; NULL: refused. Without this hook there are
 * no memory-mapped units, and the processor's own table of units is not read.
 */
static void *template_mmio_map(void *context, uint64_t physical, size_t bytes)
{
    (void)context, (void)physical, (void)bytes;
    return NULL; /* FILL IN */
}

static void template_mmio_unmap(void *context, void *pointer, size_t bytes)
{
    (void)context, (void)pointer, (void)bytes; /* FILL IN */
}

/*
 * Read or write 32 or 64 bits of memory that template_mmio_map() has mapped. Return false if the access faulted.
 * Without this pair the library uses plain volatile accesses.
 */
static bool template_mmio_read(void *context, const volatile void *pointer, unsigned bits, uint64_t *out_value)
{
    (void)context, (void)pointer, (void)bits;
    *out_value = 0; /* FILL IN, only if a pointer cannot simply be read */
    return true;
}

static bool template_mmio_write(void *context, volatile void *pointer, unsigned bits, uint64_t value)
{
    (void)context, (void)pointer, (void)bits, (void)value; /* FILL IN, as mmio_read */
    return true;
}

/*
 * Store the package, die, memory node and last-level cache of a CPU. Without this hook packages and dies are numbered
 * as by CPUID.
 */
static bool template_cpu_place(void *context, struct upmu_cpu *cpu, struct upmu_cpu_place *out_place)
{
    (void)context, (void)cpu;
    out_place->package = out_place->die = out_place->node = out_place->llc = 0; /* FILL IN */
    return true;
}

/*
 * Make a hypercall, `number` and three arguments; *out_answer gets the result. Return false if the call cannot be made.
 * Without this hook and the next one a guest has no paravirtual PMU.
 */
static bool template_hypercall(void *context, uint32_t number, const uint32_t argument[3], uint32_t *out_answer)
{
    (void)context, (void)number, (void)argument, (void)out_answer;
    return false; /* FILL IN: the hypervisor's instruction, the answer, true */
}

/*
 * Return the executing CPU's page that the hypervisor may read and write, the same one each time, and its
 * guest-physical address; NULL: there is none.
 */
static void *template_shared_page(void *context, uint64_t *out_guest_physical)
{
    (void)context, (void)out_guest_physical;
    return NULL; /* FILL IN: a page of 4 KiB in per-CPU memory, and its guest-physical address */
}

/*
 * Choose the CPU that drives a unit, among the `count` CPUs in `allowed`; NULL: the library chooses. Without this hook
 * the library chooses a CPU of the unit's die that drives the fewest units.
 */
static struct upmu_cpu *template_nearest_cpu(void *context, const struct upmu_unit_info *unit,
                                             struct upmu_cpu *const *allowed, unsigned count)
{
    (void)context, (void)unit, (void)allowed, (void)count;
    return NULL; /* FILL IN: one of `allowed`, or NULL */
}

/* Return false to hide a box that was found; or change its address or name. Without this hook all boxes are listed. */
static bool template_show_unit(void *context, struct upmu_unit_info *info)
{
    (void)context, (void)info; /* FILL IN */
    return true;
}

/*
 * Describe your own device number i, from 0 on: where it is, and its type. Return false: there are no more. Without
 * this hook there are no devices but those of the processor.
 */
static bool template_own_unit(void *context, unsigned i, struct upmu_unit_info *out_info,
                              const struct upmu_unit_type **out_type)
{
    (void)context, (void)i, (void)out_info, (void)out_type;
    return false; /* FILL IN: the device's place and type, true */
}

/* `yes` is 0: the hook is not in use; 1: the hook is filled in, and in use. */
#define FILLED_IN(yes, hook) ((yes) ? (hook) : NULL)

const struct upmu_port template_port = {
    .context = NULL, /* passed to every hook */
    .rdmsr = template_rdmsr,
    .wrmsr = template_wrmsr,
    .cpuid = template_cpuid,
    .this_cpu = FILLED_IN(0, template_this_cpu),
    .irq_save = FILLED_IN(0, template_irq_save),
    .irq_restore = FILLED_IN(0, template_irq_restore),
    .rdpmc = FILLED_IN(0, template_rdpmc),
    .pmi_rearm = FILLED_IN(0, template_pmi_rearm),
    .clock_ns = FILLED_IN(0, template_clock_ns),
    .allow_rdpmc = FILLED_IN(0, template_allow_rdpmc),
    .run_on_cpu = FILLED_IN(0, template_run_on_cpu),
    .request_tick = FILLED_IN(0, template_request_tick),
    .tick_ns = 0, /* FILL IN: time between your calls of upmu_cpu_tick() */
    .log = FILLED_IN(0, template_log),
    .msr_faults_are_safe = false, /* true if rdmsr, wrmsr and rdpmc survive #GP */
    .in_kernel_mode = true,       /* false for a driver that runs in user mode */
    .hypercall = FILLED_IN(0, template_hypercall),
    .shared_page = FILLED_IN(0, template_shared_page),
    .pci_read = FILLED_IN(0, template_pci_read),
    .pci_write = FILLED_IN(0, template_pci_write),
    .mmio_map = FILLED_IN(0, template_mmio_map),
    .mmio_unmap = FILLED_IN(0, template_mmio_unmap),
    .mmio_read = FILLED_IN(0, template_mmio_read),
    .mmio_write = FILLED_IN(0, template_mmio_write),
    .cpu_place = FILLED_IN(0, template_cpu_place),
    .nearest_cpu = FILLED_IN(0, template_nearest_cpu),
    .show_unit = FILLED_IN(0, template_show_unit),
    .own_unit = FILLED_IN(0, template_own_unit),
};

/*
 * Call this function in your NMI (or vector) handler. NOT_OURS: check your other sources of interrupts. STALE: check
 * them, too, and drop the interrupt if none of them raised it.
 */
enum upmu_pmi template_interrupt(uint64_t ip, uint64_t sp, bool user)
{
    const struct upmu_frame frame = {.ip = ip, .sp = sp, .user = user};

    /* fill in template_this_cpu(), too, or put your only CPU here */
    return upmu_pmi_handle(template_this_cpu(NULL), &frame);
}
