/* SPDX-License-Identifier: MIT */
/*
 * perf_event_open, and read, ioctl, mmap, poll and close of its descriptors, for one program in ring 3: all that a host
 * of abi/perf has to do (docs/PERF.md). The command `perf` runs the program, which counts and samples itself.
 *
 * Where the machine has no PMU the program is single-stepped, and each instruction drives the silicon model
 * (kernel_step.c).
 */
#include <abi/perf/perf.h>
#include <examples/kernel/kernel.h>
#include <examples/kernel/kernel_perf.h>

#define PROGRAM 1u /* its pid */
#define DESCRIPTORS 4u
#define FIRST_DESCRIPTOR 3u
#define PIECES 8u
#define PIECE_BYTES 2048u
#define RING_PAGES 3u
#define ENOSYS 38

struct descriptor {
    struct upmu_perf_event event;
    bool open;
    void *pages[RING_PAGES];
};

static struct upmu_perf perf;
static struct upmu_perf_cpu perf_cpu;
static struct upmu_perf_task idle, program;
static struct descriptor descriptors[DESCRIPTORS];
static uint8_t rings[DESCRIPTORS][RING_PAGES][UPMU_PERF_PAGE_BYTES] __attribute__((aligned(4096)));
static uint64_t pieces[PIECES][PIECE_BYTES / sizeof(uint64_t)];
static bool taken[PIECES];
static uint8_t program_stack[8192] __attribute__((aligned(16)));

void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memset(void *to, int value, size_t bytes);

/* ---- Hooks ---- */

/* Memory of the program that calls may use: its stack. */
static bool is_of_program(const void *address, size_t bytes)
{
    uintptr_t offset = (uintptr_t)address - (uintptr_t)program_stack;

    return bytes <= sizeof program_stack && offset <= sizeof program_stack - bytes;
}

static bool copy_in(void *context, void *to, const void *user, size_t bytes)
{
    (void)context;
    if (!is_of_program(user, bytes))
        return false;
    memcpy(to, user, bytes);
    return true;
}

static bool copy_out(void *context, void *user, const void *from, size_t bytes)
{
    (void)context;
    if (!is_of_program(user, bytes))
        return false;
    memcpy(user, from, bytes);
    return true;
}

static struct upmu_perf_task *find_task(void *context, uint32_t caller, int32_t pid, bool *out_may)
{
    (void)context;
    *out_may = true;
    return pid == 0 || (uint32_t)pid == caller ? &program : NULL;
}

static struct descriptor *descriptor_of(uintptr_t number)
{
    uintptr_t i = number - FIRST_DESCRIPTOR;

    return i < DESCRIPTORS && descriptors[i].open ? &descriptors[i] : NULL;
}

static struct upmu_perf_event *event_of(void *context, uint32_t caller, int file)
{
    struct descriptor *descriptor = descriptor_of((uintptr_t)file);

    (void)context, (void)caller;
    return descriptor ? &descriptor->event : NULL;
}

static uint64_t clock_ns(void *context)
{
    const struct upmu_port *port = context;

    return port->clock_ns ? port->clock_ns(port->context) : 0;
}

static void *take(void *context, size_t bytes)
{
    (void)context;
    for (unsigned i = 0; i < PIECES && bytes <= PIECE_BYTES; i++)
        if (!taken[i]) {
            taken[i] = true;
            return pieces[i];
        }
    return NULL;
}

static void give(void *context, void *memory, size_t bytes)
{
    (void)context, (void)bytes;
    taken[((uintptr_t)memory - (uintptr_t)pieces) / PIECE_BYTES] = false;
}

/* ---- System calls ---- */

static int64_t call_open(const uintptr_t *words)
{
    unsigned i = 0;
    int64_t error;

    while (i < DESCRIPTORS && descriptors[i].open)
        i++;
    if (i == DESCRIPTORS)
        return -UPMU_PERF_EMFILE;
    error = upmu_perf_open(&perf, PROGRAM, &descriptors[i].event, (void *)words[0], (int32_t)words[1],
                           (int32_t)words[2], (int)words[3], words[4]);
    if (error)
        return error;
    descriptors[i].open = true;
    return FIRST_DESCRIPTOR + i;
}

/* The pages are mapped in ring 3 as all memory is here. */
static int64_t call_mmap(struct descriptor *descriptor, uintptr_t bytes)
{
    uint32_t count = (uint32_t)(bytes / UPMU_PERF_PAGE_BYTES);
    uint8_t(*ring)[UPMU_PERF_PAGE_BYTES] = rings[descriptor - descriptors];
    int64_t error;

    if (count > RING_PAGES)
        return -UPMU_PERF_EPERM;
    for (unsigned i = 0; i < count; i++)
        descriptor->pages[i] = ring[i];
    error = upmu_perf_map(&descriptor->event, descriptor->pages, count, true);
    return error ? error : (int64_t)(uintptr_t)ring;
}

static int64_t call_close(struct descriptor *descriptor)
{
    int64_t error = upmu_perf_close(&descriptor->event);

    descriptor->open = error != 0;
    return error;
}

uintptr_t kernel_perf_call(uintptr_t number, uintptr_t arguments)
{
    uintptr_t words[KERNEL_PERF_WORDS];
    struct descriptor *descriptor;
    int64_t answer = -ENOSYS;

    if (number < KERNEL_PERF_OPEN || number > KERNEL_PERF_CLOSE)
        return (uintptr_t)answer;
    if (!copy_in(NULL, words, (const void *)arguments, sizeof words))
        return (uintptr_t)-UPMU_PERF_EFAULT;
    descriptor = descriptor_of(words[0]);
    if (number == KERNEL_PERF_OPEN)
        answer = call_open(words);
    else if (!descriptor)
        answer = -UPMU_PERF_EBADF;
    else if (number == KERNEL_PERF_READ)
        answer = upmu_perf_read(&descriptor->event, (void *)words[1], words[2]);
    else if (number == KERNEL_PERF_IOCTL)
        answer = upmu_perf_ioctl(&descriptor->event, PROGRAM, (uint32_t)words[1], words[2]);
    else if (number == KERNEL_PERF_MMAP)
        answer = call_mmap(descriptor, words[1]);
    else if (number == KERNEL_PERF_POLL)
        answer = upmu_perf_poll(&descriptor->event);
    else
        answer = call_close(descriptor);
    return (uintptr_t)answer;
}

/* ---- The program runs ---- */

static void begin(struct upmu_machine *machine, struct upmu_cpu *cpu, const struct upmu_port *port)
{
    perf_cpu = (struct upmu_perf_cpu){.cpu = cpu};
    perf = (struct upmu_perf){.machine = machine,
                              .cpus = &perf_cpu,
                              .cpu_count = 1,
                              .paranoid = 2,
                              .context = (void *)(uintptr_t)port,
                              .copy_in = copy_in,
                              .copy_out = copy_out,
                              .find_task = find_task,
                              .clock_ns = clock_ns,
                              .event_of = event_of,
                              .take = take,
                              .give = give};
    upmu_perf_task_init(&idle, 0, 0);
    upmu_perf_task_init(&program, PROGRAM, PROGRAM);
}

/* The scheduler's part, and that of the end of a process. */
static enum upmu_status run(void)
{
    enum upmu_status status = upmu_perf_switch(&perf, 0, &idle, &program);

    if (status != UPMU_OK)
        return status;
    kernel_user_enter(kernel_perf_program, &program_stack[sizeof program_stack - 16], 0);
    status = upmu_perf_switch(&perf, 0, &program, &idle);
    if (status == UPMU_OK)
        status = upmu_perf_exit(&program);
    for (unsigned i = 0; i < DESCRIPTORS; i++)
        if (descriptors[i].open)
            (void)call_close(&descriptors[i]);
    return status;
}

int kernel_perf(struct shell *shell, const char *rest)
{
    static const struct kernel_steps each = {.model = "skl"};
    const struct cmd_live *live = shell->cmd->live;
    bool steps = live->cpu->meter.pmu == NULL;
    enum upmu_status status = UPMU_OK;
    unsigned left; /* events and pieces of memory */

    (void)rest;
    memset(&kernel_perf_found, 0, sizeof kernel_perf_found);
    if (steps)
        status = kernel_step_begin(&each, begin);
    else
        begin(live->machine, live->cpu, live->port);
    if (status == UPMU_OK)
        status = run();
    if (steps)
        kernel_step_end(shell, "perf.");
    left = perf.events;
    for (unsigned i = 0; i < PIECES; i++)
        left += taken[i];
    kernel_perf_tell(shell);
    kernel_line_number(shell, "perf.", "left", left);
    kernel_line_text(shell, "perf.", "end", upmu_status_text(status));
    return status == UPMU_OK ? CMD_OK : CMD_REFUSED;
}
