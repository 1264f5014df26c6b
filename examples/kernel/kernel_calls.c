/* SPDX-License-Identifier: MIT */
/*
 * System calls: perfmon2's interface (abi/perfmon2) behind INT 80h, and the command
 * `perfmon2`, a program in ring 3 that counts itself and another thread by them.
 *
 * Registers: AX the number, DI, SI, DX the arguments; AX is the answer, an enum
 * upmu_status (of a creation: minus the descriptor).  Ring 3 sees all memory here, so
 * copying is memcpy; a real kernel checks addresses there.
 */
#include <abi/perfmon2/perfmon2.h>
#include <examples/kernel/kernel.h>

#define DESCRIPTORS 2u
#define VECTOR_REGISTERS 8u
#define SELF 1u
#define OTHER 2u
#define USR (UINT64_C(1) << 16)
#define OS (UINT64_C(1) << 17)
#define INSTRUCTIONS UINT64_C(0xc0)

enum call {
    CALL_CREATE_CONTEXT, /* flags */
    CALL_WRITE_PMCS,     /* descriptor, vector, bytes */
    CALL_WRITE_PMDS,
    CALL_READ_PMDS,
    CALL_LOAD_CONTEXT,   /* descriptor, flags, thread */
    CALL_START,          /* descriptor, flags, set */
    CALL_STOP,           /* descriptor, flags */
    CALL_UNLOAD_CONTEXT,
    CALL_CLOSE,          /* descriptor */
    CALL_YIELD           /* passes of the workload: the other thread runs so long */
};

void workload(uint32_t passes);

struct descriptor {
    struct upmu_pfm_context context;
    struct upmu_pfm_set set;
    struct pfarg_pmd vector[VECTOR_REGISTERS];
    bool open;
};

static struct upmu_pfm pfm;
static struct upmu_pfm_owner owner = {.most_contexts = DESCRIPTORS};
static struct descriptor descriptors[DESCRIPTORS];
static struct upmu_thread threads[3]; /* an idle one, the program, the other */
static unsigned current;              /* that runs */
static struct upmu_cpu *calls_cpu;

/* Results of the program, which ring 3 writes. */
static struct {
    uint64_t self[2], other[2], quiet;
    uintptr_t status;
    uint16_t pmc, pmd;
} found;
static uint8_t program_stack[8192] __attribute__((aligned(16)));

void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memset(void *to, int value, size_t bytes);

/* ---- The kernel's side ---- */

static bool calls_copy_in(void *context, void *to, const void *user, size_t bytes)
{
    (void)context;
    memcpy(to, user, bytes);
    return true;
}

static bool calls_copy_out(void *context, void *user, const void *from, size_t bytes)
{
    (void)context;
    memcpy(user, from, bytes);
    return true;
}

/* The one user of this kernel may count what the kernel does, and learn no address of it. */
static bool calls_may_use(void *context, struct upmu_pfm_owner *who, const struct upmu_event *event, uint32_t rights)
{
    (void)context;
    (void)event;
    return who == &owner && !(rights & ~UPMU_PFM_KERNEL);
}

/* All threads here belong to `owner`. */
static struct upmu_thread *calls_find_thread(void *context, struct upmu_pfm_owner *who, uint32_t number,
                                             struct upmu_cpu **out_cpu)
{
    (void)context;
    if (who != &owner)
        return NULL;
    *out_cpu = number == current ? calls_cpu : NULL;
    return number == SELF || number == OTHER ? &threads[number] : NULL;
}

static uintptr_t create(uint32_t flags)
{
    unsigned i = 0;
    enum upmu_status status;

    while (i < DESCRIPTORS && descriptors[i].open)
        i++;
    if (i == DESCRIPTORS)
        return UPMU_ERR_NO_SPACE;
    status = upmu_pfm_create_context(&pfm, &owner, &descriptors[i].context,
                                     &(struct upmu_pfm_memory){.sets = &descriptors[i].set,
                                                               .set_count = 1,
                                                               .vector = descriptors[i].vector,
                                                               .vector_bytes = sizeof descriptors[i].vector},
                                     flags, NULL, NULL, 0);
    if (status != UPMU_OK)
        return status;
    descriptors[i].open = true;
    return 0u - (uintptr_t)i;
}

/* The scheduler, as far as there is one. */
static void switch_to(unsigned next)
{
    (void)!upmu_thread_switch(calls_cpu, &threads[current], &threads[next]);
    current = next;
}

static uintptr_t yield(uint32_t passes)
{
    switch_to(OTHER);
    workload(passes);
    switch_to(SELF);
    return UPMU_OK;
}

uintptr_t kernel_call(uintptr_t number, uintptr_t first, uintptr_t second, uintptr_t third)
{
    struct upmu_pfm_context *context;
    void *memory = (void *)second;
    bool last;
    enum upmu_status status;

    if (number == CALL_CREATE_CONTEXT)
        return create((uint32_t)first);
    if (number == CALL_YIELD)
        return yield((uint32_t)first);
    if (first >= DESCRIPTORS || !descriptors[first].open)
        return UPMU_ERR_INVALID;
    context = &descriptors[first].context;
    switch (number) {
    case CALL_WRITE_PMCS:
        return upmu_pfm_write_pmcs(context, memory, third);
    case CALL_WRITE_PMDS:
        return upmu_pfm_write_pmds(context, memory, third);
    case CALL_READ_PMDS:
        return upmu_pfm_read_pmds(context, memory, third);
    case CALL_LOAD_CONTEXT:
        return upmu_pfm_load_context(context, (uint32_t)second, (uint32_t)third);
    case CALL_START:
        return upmu_pfm_start(context, (uint32_t)second, (uint16_t)third);
    case CALL_STOP:
        return upmu_pfm_stop(context, (uint32_t)second);
    case CALL_UNLOAD_CONTEXT:
        return upmu_pfm_unload_context(context, (uint32_t)second);
    case CALL_CLOSE:
        status = upmu_pfm_close(context, &last);
        descriptors[first].open = !last;
        return status;
    default:
        return UPMU_ERR_INVALID;
    }
}

/* ---- Ring 3 ---- */

static uintptr_t ask(enum call number, uintptr_t first, uintptr_t second, uintptr_t third)
{
    uintptr_t answer = number;

    __asm__ volatile("int $0x80" : "+a"(answer) : "D"(first), "S"(second), "d"(third) : "memory");
    return answer;
}

static void need(uintptr_t status)
{
    if (!found.status)
        found.status = status;
}

/* A descriptor that counts instructions of one thread, in one ring. */
static uintptr_t open_counter(uint64_t ring, uint32_t thread)
{
    uintptr_t descriptor = 0u - ask(CALL_CREATE_CONTEXT, 0, 0, 0);
    struct pfarg_pmc pmc;
    struct pfarg_pmd pmd;

    memset(&pmc, 0, sizeof pmc);
    memset(&pmd, 0, sizeof pmd);
    pmc.reg_num = found.pmc;
    pmc.reg_value = INSTRUCTIONS | ring;
    pmd.reg_num = found.pmd;
    need(ask(CALL_WRITE_PMCS, descriptor, (uintptr_t)&pmc, sizeof pmc));
    need(ask(CALL_WRITE_PMDS, descriptor, (uintptr_t)&pmd, sizeof pmd));
    need(ask(CALL_LOAD_CONTEXT, descriptor, 0, thread));
    return descriptor;
}

static uint64_t read_counter(uintptr_t descriptor)
{
    struct pfarg_pmd pmd;

    memset(&pmd, 0, sizeof pmd);
    pmd.reg_num = found.pmd;
    need(ask(CALL_READ_PMDS, descriptor, (uintptr_t)&pmd, sizeof pmd));
    return pmd.reg_value;
}

/* Not inlined, so that each measurement has the same instructions around it. */
static __attribute__((noinline)) uint64_t count_self(uintptr_t descriptor, uint32_t passes)
{
    uint64_t before = read_counter(descriptor);

    need(ask(CALL_START, descriptor, 0, 0));
    workload(passes);
    need(ask(CALL_STOP, descriptor, 0, 0));
    return read_counter(descriptor) - before;
}

static __attribute__((noinline)) uint64_t count_other(uintptr_t descriptor, uint32_t passes)
{
    uint64_t before = read_counter(descriptor);

    need(ask(CALL_YIELD, passes, 0, 0));
    return read_counter(descriptor) - before;
}

static void program(void)
{
    uintptr_t self = open_counter(USR, SELF), other = open_counter(OS, OTHER);

    (void)count_self(self, 1);
    found.self[0] = count_self(self, 100);
    found.self[1] = count_self(self, 300);
    need(ask(CALL_START, other, 0, 0));
    (void)count_other(other, 1);
    found.other[0] = count_other(other, 100);
    found.other[1] = count_other(other, 300);
    /* The program counts while the other runs: it sees nothing of that. */
    need(ask(CALL_START, self, 0, 0));
    found.quiet = read_counter(self);
    (void)count_other(other, 1000);
    found.quiet = read_counter(self) - found.quiet;
    need(ask(CALL_UNLOAD_CONTEXT, self, 0, 0));
    need(ask(CALL_CLOSE, self, 0, 0));
    need(ask(CALL_CLOSE, other, 0, 0));
    __asm__ volatile("hlt");
}

/* ---- The command ---- */

int kernel_perfmon2(struct shell *shell, const char *rest)
{
    const struct cmd_live *live = shell->cmd->live;

    (void)rest;
    if (live->cpu->meter.pmu == NULL) {
        shell_text(shell, "perfmon2: no PMU\n");
        return CMD_REFUSED;
    }
    calls_cpu = live->cpu;
    memset(&found, 0, sizeof found);
    found.pmc = live->cpu->meter.pmu->counter[0].select_row;
    found.pmd = live->cpu->meter.pmu->counter[0].value_row;
    pfm.machine = live->machine;
    pfm.copy_in = calls_copy_in;
    pfm.copy_out = calls_copy_out;
    pfm.may_use = calls_may_use;
    pfm.find_thread = calls_find_thread;
    for (unsigned i = 0; i < sizeof threads / sizeof threads[0]; i++)
        upmu_thread_init(&threads[i], 1, i, NULL);
    current = SELF;
    kernel_user_enter(program, &program_stack[sizeof program_stack - 16], 0);
    kernel_line_number(shell, "perfmon2.", "status", found.status);
    kernel_line_number(shell, "perfmon2.", "self.100", found.self[0]);
    kernel_line_number(shell, "perfmon2.", "self.300", found.self[1]);
    kernel_line_number(shell, "perfmon2.", "other.100", found.other[0]);
    kernel_line_number(shell, "perfmon2.", "other.300", found.other[1]);
    kernel_line_number(shell, "perfmon2.", "quiet", found.quiet);
    kernel_line_number(shell, "perfmon2.", "contexts", pfm.contexts);
    kernel_line_text(shell, "perfmon2.", "end", "ok");
    return CMD_OK;
}
