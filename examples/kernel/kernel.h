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

/* Registers of ring 3. */
struct kernel_registers {
    uintptr_t ip, sp, si;
};

#define KERNEL_FLAGS_TF 0x100u

/*
 * Not NULL: ring 3 is single-stepped from its next system call on, or from its first instruction if kernel_user_flags
 * has KERNEL_FLAGS_TF; the function gets the registers after each instruction.
 */
extern void (*kernel_stepper)(const struct kernel_registers *now);

/* The process of the program in ring 3, for its samples; 0: none. */
extern uint32_t kernel_process;

/* ---- kernel_stubs.S ---- */

/*
 * Continue in ring 3 at `entry` with this stack; `argument` is in RDI or EDI.  Returns when ring 3
 * executes HLT.  Interrupts stay as they are there and are off afterwards.
 */
void kernel_user_enter(void (*entry)(void), void *stack, uintptr_t argument);

/* Flags that ring 3 begins with, beside those of the kernel. */
extern uintptr_t kernel_user_flags;

/* ---- kernel_main.c ---- */

/* The first module that the loader has brought; NULL: none. */
struct kernel_module {
    const uint8_t *bytes;
    size_t length;
};
extern struct kernel_module kernel_module;

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

void kernel_line_why(const struct shell *shell, const char *first, const struct upmu_why *why);

/* Take a word of a command's arguments if that is the next one, with the blanks behind it. */
bool kernel_take_word(const char **rest, const char *word);

/* Take the next word of a command's arguments, whatever it is, with the blanks behind it; of a longer one the begin. */
void kernel_take_argument(const char **rest, char *out_word, size_t size);

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

struct upmu_sim_burst;

/* How ring 3 is stepped. */
struct kernel_steps {
    const char *model;      /* a profile of the silicon model */
    void (*entry)(void);    /* NULL: from the first system call on */
    bool without_interrupt; /* the port has no pmi_rearm */
    /* Adds to the burst of an instruction, at whose begin the registers were `before`; NULL: nothing to add. */
    void (*add)(struct upmu_sim_burst *burst, const struct kernel_registers *before);
};

typedef void kernel_use(struct upmu_machine *machine, struct upmu_cpu *cpu, const struct upmu_port *port);

/* Begin to step ring 3, on a PMU of the silicon model, which `use` gets; `*steps` must stay until the end. */
enum upmu_status kernel_step_begin(const struct kernel_steps *steps, kernel_use *use);

/* Print what the model noticed, as lines that begin with `command`, and end. */
void kernel_step_end(const struct shell *shell, const char *command);

/* ---- kernel_results.c (second image) ---- */

/* The command: samples of a program in ring 3, as folded stacks, perf.data or pprof's, written as they are made. */
int kernel_results(struct shell *shell, const char *rest);

/* Half of the buffer, in which a log can be made. */
struct upmu_output kernel_results_log(const struct cmd_live *live);

/* Write what is made of a log to the console: "perf", "pprof" or "" as in the command. */
enum upmu_status kernel_results_form(const struct cmd_live *live, const struct upmu_output *log, const char *form);

/* ---- kernel_precise.c (second image) ---- */

/* The command: precise samples of a program in ring 3, without an interrupt. */
int kernel_precise(struct shell *shell, const char *rest);

/* Lend a CPU memory for precise records, at most UPMU_RECORD_MOST_BYTES, or take it back. */
enum upmu_status kernel_records_lend(struct upmu_cpu *cpu, size_t bytes, struct upmu_why *why);
void kernel_records_end(struct upmu_cpu *cpu);

/* ---- kernel_module.c (second image) ---- */

/* The command: a program that the loader has brought is sampled in ring 3, with its branches. */
int kernel_run_module(struct shell *shell, const char *rest);

#endif
