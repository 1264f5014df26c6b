/* SPDX-License-Identifier: MIT */
/*
 * The example kernel's parts.
 */
#ifndef UPMU_KERNEL_H
#define UPMU_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <examples/common/common.h>
#include <port/x86_native/x86_native.h>

static inline void kernel_out8(uint16_t io_port, uint8_t value)
{
    __asm__ volatile("outb %0, %1" : : "a"(value), "Nd"(io_port));
}

static inline void kernel_out32(uint16_t io_port, uint32_t value)
{
    __asm__ volatile("outl %0, %1" : : "a"(value), "Nd"(io_port));
}

static inline uint8_t kernel_in8(uint16_t io_port)
{
    uint8_t value;

    __asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"(io_port));
    return value;
}

/* ---- kernel_console.c: COM1 and VGA text; the PS/2 keyboard and COM1 ---- */

void kernel_console_open(void);
void kernel_write(void *context, const char *text, size_t length);
void kernel_clear(void *context);

/* A character within so many milliseconds, or -1. */
int kernel_key(void *context, unsigned wait_ms);

/* A line with echo. */
bool kernel_read_line(char *line, size_t size);

/* Wait until everything is out. */
void kernel_flush(void);

/* ---- kernel_time.c ---- */

/* Thousand TSC ticks a second, timed by the PIT; 0: unknown. */
uint32_t kernel_tsc_khz(void);

/* ---- kernel_port.c: interrupts and upmu's port ---- */

/* What the handlers saw. */
struct kernel_traps {
    uint32_t faults; /* #GP and #UD that a register access survived */
    uint32_t nmis;
    uint32_t vectors;
    uint32_t handled; /* answers of upmu_pmi_handle() */
    uint32_t stale;
    uint32_t not_ours;
    uint32_t from_user; /* overflow interrupts that came out of ring 3 */
};
extern volatile struct kernel_traps kernel_traps;

/* How the port is to be; all false and 0: NMI delivery, every hook, faults survived. */
struct kernel_port_options {
    uint8_t vector;   /* deliver overflows on this vector, 32 to 254; 0: as NMI */
    bool no_apic;     /* no pmi_rearm: counting only */
    bool no_rdpmc;    /* no rdpmc hook */
    bool no_clock;    /* no clock_ns hook */
    bool unsafe;      /* do not tell upmu that faults are survived */
    bool enable_apic; /* switch on an APIC that the BIOS has left off */
    bool x2apic;      /* put the APIC in x2APIC mode, if it has one */
};

/* The interrupt table in force, PICs masked, interrupts on. */
void kernel_interrupts_open(void);

/* Fill in the port.  `cpu` gets the overflows. */
void kernel_port_open(struct upmu_x86_native *native, const struct kernel_port_options *options, uint32_t tsc_khz,
                      struct upmu_cpu *cpu);

/* Send the vector of the options to this CPU; does it arrive?  Counted as an interrupt that is not ours. */
bool kernel_vector_arrives(const struct upmu_x86_native *native);

/* Not NULL: ring 3 is single-stepped from its next system call on; the function gets where each instruction led. */
extern void (*kernel_stepper)(uintptr_t ip, uintptr_t sp);

/* ---- kernel_stubs.S ---- */

/*
 * Continue in ring 3 at `entry` with this stack; `argument` is in RDI or EDI.  Returns when ring 3
 * executes HLT.  Interrupts stay as they are there and are off afterwards.
 */
void kernel_user_enter(void (*entry)(void), void *stack, uintptr_t argument);

/* ---- kernel_main.c ---- */

/* Leave: `code` is the exit status for a monitor; a real machine halts. */
__attribute__((noreturn)) void kernel_exit(bool failed);

/* An unexpected trap. */
__attribute__((noreturn)) void kernel_panic(uintptr_t vector, uintptr_t error, uintptr_t ip);

/* ---- kernel_commands.c, or kernel_programs.c in the second image ---- */

/* The commands that only this kernel has; ends with a NULL name. */
extern const struct shell_command kernel_commands[];

/* ---- kernel_lines.c ---- */

/* Print a result of a command as a line "KEY VALUE" for programs: `first` and `second` together are the key. */
void kernel_line_number(const struct shell *shell, const char *first, const char *second, uint64_t value);
void kernel_line_hex(const struct shell *shell, const char *first, const char *second, uint64_t value);
void kernel_line_text(const struct shell *shell, const char *first, const char *second, const char *value);

/* ---- kernel_rdpmc.c ---- */

/* RDPMC in ring 3; false: it faulted. */
bool kernel_rdpmc_of_user(void *program, uint32_t index, uint64_t *out_value);

/* ---- kernel_vmtest.c ---- */

int kernel_vmtest(struct shell *shell, const char *rest);
int kernel_probe(struct shell *shell, const char *rest);
int kernel_msr(struct shell *shell, const char *rest);

/* ---- kernel_switches.c ---- */

/* The command: switches and an interrupt, for a monitor that counts register accesses. */
int kernel_switches(struct shell *shell, const char *rest);

/* ---- kernel_calls.c, or kernel_split.c in the second image ---- */

/* A system call from ring 3: number and arguments; returns its answer. */
uintptr_t kernel_call(uintptr_t number, uintptr_t first, uintptr_t second, uintptr_t third);

/* The command: a program counts itself and another thread by perfmon2's calls. */
int kernel_perfmon2(struct shell *shell, const char *rest);

/* The command: a driver in ring 3, or a hostile one, whose RDMSR and WRMSR are system calls. */
int kernel_split(struct shell *shell, const char *rest);

/* ---- kernel_perf.c: perf_event_open (second image) ---- */

/* A system call of enum kernel_perf_number (kernel_perf.h); the answer is Linux's. */
uintptr_t kernel_perf_call(uintptr_t number, uintptr_t arguments);

/* The command: a program counts and samples itself by perf_event_open. */
int kernel_perf(struct shell *shell, const char *rest);

/* ---- kernel_step.c (second image) ---- */

/* Begin to step ring 3, on a PMU of the silicon model, which `use` gets. */
enum upmu_status kernel_step_begin(void (*use)(struct upmu_machine *, struct upmu_cpu *, const struct upmu_port *));
void kernel_step_end(void);

/* ---- kernel_results.c ---- */

/* The command: samples of a program in ring 3, as folded stacks, perf.data or pprof's, written as they are made. */
int kernel_results(struct shell *shell, const char *rest);

#endif
