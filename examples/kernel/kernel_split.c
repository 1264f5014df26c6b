/* SPDX-License-Identifier: MIT */
/*
 * A driver in ring 3 (examples/split): the whole library is its own, its RDMSR and WRMSR are system calls, and the
 * server behind these executes what the allow-list lets pass.  Meanwhile a session of the kernel counts on counter 0.
 *
 *     split          the driver counts its own instructions and prints them
 *     split all      the same; the kernel keeps no counter (on a Pentium 4 each event needs registers of all)
 *     split hostile  the driver asks for what it may not have, then for anything, then executes WRMSR
 *
 * Registers of a call: AX the number, DI and SI the arguments; AX is the answer, an enum upmu_status.  What the kernel
 * writes to has to lie in the program's stack.  (Ring 3 sees all memory here, so text is printed from anywhere.)
 */
#include <examples/kernel/kernel.h>
#include <examples/split/split_driver.h>
#include <examples/split/split_server.h>
#include <upmu/cpu.h>

#define DRIVER 0u        /* the client's number */
#define KERNELS 1u       /* counter 0 */
#define ANYTHING 300u    /* messages of that kind */
#define POST_PORT 0x80u  /* a monitor counts what happens between two codes */
#define PMU_REGISTERS 8u /* guessed by the hostile driver, from each of these addresses on */

enum call {
    CALL_MESSAGE, /* address of a struct split_message */
    CALL_CPUID,   /* address of EAX, EBX, ECX, EDX in and out: some monitors show ring 3 the host's CPU */
    CALL_TEXT     /* address, length */
};

void workload(uint32_t passes);
void *memcpy(void *restrict to, const void *restrict from, size_t bytes);

static const struct shell *console;
static struct split_server server;
static struct upmu_permit rows[UPMU_PERMITS];
static struct upmu_session kernels;

/* The program's memory. */
static uint8_t program_stack[32768] __attribute__((aligned(16)));
static struct split_driver driver;
static struct upmu_machine user_machine;
static struct upmu_cpu user_cpu;
static struct upmu_session session;
static struct cmd user_cmd;
static struct shell user_shell;

/* ---- The kernel's side ---- */

static bool server_rdmsr(void *context, uint32_t msr, uint64_t *out_value)
{
    const struct upmu_port *port = context;

    return port->rdmsr(port->context, msr, out_value);
}

static bool server_wrmsr(void *context, uint32_t msr, uint64_t value)
{
    const struct upmu_port *port = context;

    return port->wrmsr(port->context, msr, value);
}

static void server_set_pce(void *context, bool on)
{
    const struct upmu_port *port = context;

    port->allow_rdpmc(port->context, on);
}

static bool is_of_program(uintptr_t address, size_t bytes)
{
    return address - (uintptr_t)program_stack <= sizeof program_stack - bytes;
}

static uintptr_t cpuid(uintptr_t address)
{
    uint32_t leaf[4];

    if (!is_of_program(address, sizeof leaf))
        return UPMU_ERR_INVALID;
    memcpy(leaf, (const void *)address, sizeof leaf);
    upmu_x86_cpuid(leaf[0], leaf[2], leaf);
    memcpy((void *)address, leaf, sizeof leaf);
    return UPMU_OK;
}

static uintptr_t serve(uintptr_t address)
{
    struct split_message message;

    if (!is_of_program(address, sizeof message))
        return UPMU_ERR_INVALID;
    memcpy(&message, (const void *)address, sizeof message);
    split_serve(&server, DRIVER, &message);
    memcpy((void *)address, &message, sizeof message);
    return UPMU_OK;
}

uintptr_t kernel_call(uintptr_t number, uintptr_t first, uintptr_t second, uintptr_t third)
{
    (void)third;
    switch (number) {
    case CALL_MESSAGE:
        return serve(first);
    case CALL_CPUID:
        return cpuid(first);
    case CALL_TEXT:
        kernel_write(NULL, (const char *)first, second);
        return UPMU_OK;
    default:
        return kernel_perf_call(number, first);
    }
}

/* ---- Ring 3 ---- */

static uintptr_t ask(enum call number, uintptr_t first, uintptr_t second)
{
    uintptr_t answer = number;

    __asm__ volatile("int $0x80" : "+a"(answer) : "D"(first), "S"(second) : "memory");
    return answer;
}

static bool exchange(void *context, struct split_message *message)
{
    (void)context;
    return ask(CALL_MESSAGE, (uintptr_t)message, 0) == UPMU_OK;
}

static void user_write(void *context, const char *text, size_t length)
{
    (void)context;
    (void)ask(CALL_TEXT, (uintptr_t)text, length);
}

static void user_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    (void)context;
    out[0] = leaf;
    out[2] = subleaf;
    if (ask(CALL_CPUID, (uintptr_t)out, 0) != UPMU_OK)
        out[0] = out[1] = out[2] = out[3] = 0;
}

static enum upmu_status open_driver(void)
{
    enum upmu_status status;

    split_driver_init(&driver, exchange, NULL, user_cpuid, NULL);
    status = upmu_machine_init(&user_machine, &driver.port);
    if (status == UPMU_OK)
        status = upmu_cpu_init(&user_cpu, &user_machine, NULL);
    if (status == UPMU_OK)
        status = upmu_session_init(&session, &user_machine);
    if (status == UPMU_OK)
        status = upmu_set_add(&session.set, "instructions:u", NULL);
    if (status == UPMU_OK)
        status = upmu_session_attach_cpu(&session, &user_cpu);
    return status;
}

/* Not inlined, so that each measurement has the same instructions around it. */
static __attribute__((noinline)) enum upmu_status count(uint32_t passes, uint64_t *out_value)
{
    struct upmu_count before, after;
    enum upmu_status status = upmu_set_read(&session.set, 0, 1, &before);

    if (status == UPMU_OK)
        status = upmu_session_start(&session);
    if (status == UPMU_OK) {
        workload(passes);
        status = upmu_session_stop(&session);
    }
    if (status == UPMU_OK)
        status = upmu_set_read(&session.set, 0, 1, &after);
    *out_value = status == UPMU_OK ? after.value - before.value : 0;
    return status;
}

/* The driver: it ends as it began, with the registers as they were. */
static void counting_program(void)
{
    static const uint32_t passes[] = {1, 100, 300};
    static const char *const names[] = {"driver.1", "driver.100", "driver.300"};
    uint64_t value[3];
    uint32_t messages;
    enum upmu_status status = open_driver();

    for (unsigned i = 0; i < 3 && status == UPMU_OK; i++)
        status = count(passes[i], &value[i]);
    messages = driver.messages;
    kernel_line_text(&user_shell, "split.", "driver", upmu_status_text(status));
    for (unsigned i = 0; i < 3 && status == UPMU_OK; i++)
        kernel_line_number(&user_shell, "split.", names[i], value[i]);
    kernel_line_number(&user_shell, "split.", "driver.messages", messages);
    (void)!upmu_session_close(&session);
    kernel_line_text(&user_shell, "split.", "driver.end", upmu_status_text(upmu_cpu_fini(&user_cpu)));
    __asm__ volatile("hlt");
}

static unsigned try_message(uint32_t operation, uint32_t number, uint64_t value)
{
    struct split_message message = {.operation = operation, .number = number, .value = value};

    return exchange(NULL, &message) ? message.answer : SPLIT_FAULT;
}

/* None of these may be had, whatever the CPU. */
static void forbidden_program(void)
{
    static const struct {
        uint32_t operation, number;
        uint64_t value;
    } wishes[] = {
        {SPLIT_WRMSR, 0xc0000080, 0x501},   /* EFER */
        {SPLIT_WRMSR, 0xc0000082, 0x1000},  /* LSTAR */
        {SPLIT_WRMSR, 0x174, 0x1b},         /* SYSENTER_CS */
        {SPLIT_WRMSR, 0x176, 0x1000},       /* SYSENTER_EIP */
        {SPLIT_WRMSR, 0x1b, 0},             /* APIC_BASE */
        {SPLIT_WRMSR, 0x10, 0},             /* TSC */
        {SPLIT_WRMSR, 0x79, 0x1000},        /* microcode */
        {SPLIT_WRMSR, 0x1a0, 0},            /* MISC_ENABLE */
        {SPLIT_WRMSR, 0x1d9, 0x1000},       /* DEBUGCTL */
        {SPLIT_WRMSR, 0x200, 6},            /* an MTRR */
        {SPLIT_WRMSR, 0x600, 0x1000},       /* DS_AREA */
        {SPLIT_WRMSR, 0xc0010117, 0x1000},  /* where SVM saves the host */
        {SPLIT_WRMSR, 0x186, ~UINT64_C(0)}, /* bits that there are not, or the kernel's counter */
        {SPLIT_WRMSR, 0xc0010000, ~UINT64_C(0)},
        {SPLIT_WRMSR, 0x187, 0x5300c0}, /* an interrupt */
        {SPLIT_WRMSR, 0xc0010001, 0x5300c0},
        {SPLIT_RDMSR, 0x10, 0},
        {SPLIT_RDMSR, 0x176, 0},
        {SPLIT_RDMSR, 0xc0000082, 0},
        {SPLIT_LEVEL0, 0x100000, 0x1000}, /* a function by its address */
        {SPLIT_LEVEL0 + 1, 0x186, 0},
        {~UINT32_C(0), 0, 0},
    };
    unsigned refused = 0;

    for (unsigned i = 0; i < sizeof wishes / sizeof wishes[0]; i++)
        refused += try_message(wishes[i].operation, wishes[i].number, wishes[i].value) == SPLIT_REFUSED;
    kernel_line_number(&user_shell, "split.", "wishes", sizeof wishes / sizeof wishes[0]);
    kernel_line_number(&user_shell, "split.", "refused", refused);
    kernel_line_number(&user_shell, "split.", "foreign-memory", ask(CALL_MESSAGE, (uintptr_t)&server, 0));
    __asm__ volatile("hlt");
}

/* A driver that asks for registers at random: those of the PMU, which it may have, and others near them. */
static void greedy_program(void)
{
    static const uint32_t first[] = {0xc1, 0x186, 0x309, 0x38c, 0xc0010000, 0x4c1, 0x1a6, 0x3f0};
    uint32_t random = 1, answers[4] = {0};

    for (unsigned i = 0; i < ANYTHING; i++) {
        uint32_t number;

        random = random * UINT32_C(1664525) + UINT32_C(1013904223);
        number = first[random >> 28 & 7u] + (random >> 24 & (PMU_REGISTERS - 1u));
        answers[try_message(random >> 31 ? (uint32_t)SPLIT_WRMSR : SPLIT_RDMSR, number,
                            random & 0x800u ? UINT64_MAX >> (random & 63u) : random)]++;
    }
    kernel_line_number(&user_shell, "split.", "granted", answers[SPLIT_OK]);
    kernel_line_number(&user_shell, "split.", "not-granted", answers[SPLIT_REFUSED] + answers[SPLIT_OTHERS]);
    (void)try_message(SPLIT_LEVEL0, SPLIT_FORGET, 0);
    __asm__ volatile("hlt");
}

static void wrmsr_program(void)
{
    __asm__ volatile("wrmsr" : : "a"(0), "d"(0), "c"(0xc1));
    kernel_line_number(&user_shell, "split.", "wrmsr-of-ring-3", 1);
    __asm__ volatile("hlt");
}

/* ---- The command ---- */

static void enter(void (*program)(void), char code)
{
    kernel_out8(POST_PORT, (uint8_t)code);
    kernel_user_enter(program, &program_stack[sizeof program_stack - 16], 0);
    kernel_out8(POST_PORT, 0);
}

static enum upmu_status open_kernels(const struct cmd_live *live)
{
    enum upmu_status status = upmu_session_init(&kernels, live->machine);

    if (status == UPMU_OK)
        status = upmu_set_add(&kernels.set, "instructions:u", NULL);
    if (status == UPMU_OK)
        status = upmu_session_attach_cpu(&kernels, live->cpu);
    return status == UPMU_OK ? upmu_session_start(&kernels) : status;
}

static void close_kernels(void)
{
    struct upmu_count count = {0};
    enum upmu_status status = upmu_session_stop(&kernels);

    if (status == UPMU_OK)
        status = upmu_set_read(&kernels.set, 0, 1, &count);
    (void)!upmu_session_close(&kernels);
    kernel_line_text(console, "split.", "kernel", upmu_status_text(status));
    kernel_line_number(console, "split.", "kernel.count", count.value);
}

static void run_programs(char what)
{
    if (what != 'h') {
        enter(counting_program, 'd');
        return;
    }
    enter(forbidden_program, 'f');
    enter(greedy_program, 'g');
    enter(wrmsr_program, 'w');
}

int kernel_split(struct shell *shell, const char *rest)
{
    static const struct cmd_sink user_sink = {.write = user_write};
    const struct cmd_live *live = shell->cmd->live;
    const struct upmu_pmu *pmu = live->cpu->meter.pmu;
    uint32_t mine;
    enum upmu_status status;
    bool beside = *rest != 'a';

    if (pmu == NULL) {
        shell_text(shell, "split: no PMU\n");
        return CMD_REFUSED;
    }
    console = shell;
    user_cmd.sink = &user_sink;
    user_shell.cmd = &user_cmd;
    mine = pmu->counters & ~(beside ? KERNELS : 0);
    server = (struct split_server){.rows = rows,
                                   .count = upmu_permit_list(pmu, rows, UPMU_PERMITS),
                                   .mine = {mine},
                                   .rdmsr = server_rdmsr,
                                   .wrmsr = server_wrmsr,
                                   .set_pce = server_set_pce,
                                   .context = (void *)(uintptr_t)live->port};
    status = upmu_cpu_reserve(live->cpu, mine);
    if (status == UPMU_OK && beside)
        status = open_kernels(live);
    kernel_line_text(shell, "split.", "begin", upmu_status_text(status));
    if (status == UPMU_OK) {
        split_begin(&server);
        run_programs(*rest);
        split_run(&server, SPLIT_CLIENTS);
        kernel_line_text(shell, "split.", "verify", upmu_status_text(upmu_cpu_verify(live->cpu, NULL)));
        if (beside)
            close_kernels();
    }
    upmu_cpu_unreserve(live->cpu, mine);
    kernel_line_number(shell, "split.", "server.refused", server.refused);
    kernel_line_text(shell, "split.", "end", "ok");
    return status == UPMU_OK ? CMD_OK : CMD_REFUSED;
}
