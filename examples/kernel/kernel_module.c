/* SPDX-License-Identifier: MIT */
/*
 * A program that the loader has brought as a module runs in ring 3 and is sampled with its branches; perf.data of it
 * goes over the serial line, for perf, compilers and BOLT (docs/RESULTS.md, "From branches to perf and to compilers").
 *
 *     module [--sim CPU] [-e EVENT] FILE
 *
 * FILE is the program's path on the machine that reads the perf.data.  The program is an ELF file that runs at any
 * address without relocations, and ends by SYSCALL.  An event that is precise gets memory for records.  Where the
 * machine has no PMU, and with --sim, the program is single-stepped on the silicon model (kernel_step.c).
 */
#include <examples/kernel/kernel.h>
#include <models/sim/sim.h>
#include <upmu/branches.h>
#include <upmu/cpu.h>
#include <upmu/results.h>

#define PERIOD 131u
#define PROCESS 1u
#define PAGE 4096u
#define MEMORY_BYTES (1024u * 1024u)
#define RECORD_BYTES 16384u        /* for records with branches */
#define RING_BYTES (1024u * 1024u) /* of the buffer: behind the work area of the forms */

/* ---- Load an ELF file (System V ABI, "Object Files", "Program Loading"; 64 bits: the AMD64 supplement) ---- */

#define ELF_SHARED 3u /* type of a file that runs at any address */
#define SEGMENT_LOADED 1u
#define SEGMENT_DYNAMIC 2u
#define SEGMENT_INTERPRETER 3u
#define SEGMENT_EXECUTED 1u /* flag */
#define DYNAMIC_RELA_BYTES 8u
#define DYNAMIC_REL_BYTES 18u

#if defined(__x86_64__)
#define ELF_CLASS 2u
#define ELF_MACHINE 62u
#else
#define ELF_CLASS 1u
#define ELF_MACHINE 3u
#endif

struct elf_head {
    uint8_t identity[16];
    uint16_t type, machine;
    uint32_t version;
    uintptr_t entry, segments, sections;
    uint32_t flags;
    uint16_t head_bytes, segment_bytes, segment_count;
};

struct elf_segment {
    uint32_t type;
#if defined(__x86_64__)
    uint32_t flags;
#endif
    uintptr_t offset, address, physical, file_bytes, memory_bytes;
#if !defined(__x86_64__)
    uint32_t flags;
#endif
    uintptr_t alignment;
};

void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memset(void *to, int value, size_t bytes);

static uint8_t memory[MEMORY_BYTES] __attribute__((aligned(4096)));
static uint8_t program_stack[16384] __attribute__((aligned(16)));

/* NULL: the file has no segment of this number. */
static const struct elf_segment *segment_of(const struct elf_head *head, unsigned number, struct elf_segment *out)
{
    const struct kernel_module *file = &kernel_module;
    uintptr_t at = head->segments + number * sizeof *out;

    if (number >= head->segment_count || head->segments > file->length || at > file->length - sizeof *out)
        return NULL;
    memcpy(out, file->bytes + at, sizeof *out);
    return out;
}

static bool has_relocations(const struct elf_segment *dynamic)
{
    uintptr_t entry[2];

    if (dynamic->offset > kernel_module.length || dynamic->file_bytes > kernel_module.length - dynamic->offset)
        return true;
    for (uintptr_t at = 0; at + sizeof entry <= dynamic->file_bytes; at += sizeof entry) {
        memcpy(entry, kernel_module.bytes + dynamic->offset + at, sizeof entry);
        if ((entry[0] == DYNAMIC_RELA_BYTES || entry[0] == DYNAMIC_REL_BYTES) && entry[1] != 0)
            return true;
    }
    return false;
}

static const char *load_segment(const struct elf_segment *segment)
{
    if (segment->type == SEGMENT_INTERPRETER)
        return "it needs a loader of its own";
    if (segment->type == SEGMENT_DYNAMIC && has_relocations(segment))
        return "it has relocations";
    if (segment->type != SEGMENT_LOADED)
        return NULL;
    if (segment->offset > kernel_module.length || segment->file_bytes > kernel_module.length - segment->offset)
        return "it is cut off";
    if (segment->file_bytes > segment->memory_bytes || segment->address > MEMORY_BYTES ||
        segment->memory_bytes > MEMORY_BYTES - segment->address)
        return "it is too large";
    memcpy(memory + segment->address, kernel_module.bytes + segment->offset, segment->file_bytes);
    return NULL;
}

/* NULL, or why the module is no program that can run here. */
static const char *load(struct elf_head *out_head)
{
    static const uint8_t identity[] = {0x7f, 'E', 'L', 'F', ELF_CLASS, 1};
    const char *refused = NULL;
    struct elf_segment segment;

    if (kernel_module.bytes == NULL)
        return "the loader has brought no module";
    if (kernel_module.length < sizeof *out_head)
        return "it is no ELF file";
    memcpy(out_head, kernel_module.bytes, sizeof *out_head);
    for (unsigned i = 0; i < sizeof identity; i++)
        if (out_head->identity[i] != identity[i])
            return i < 4 ? "it is no ELF file" : "it is for other CPUs";
    if (out_head->machine != ELF_MACHINE)
        return "it is for other CPUs";
    if (out_head->type != ELF_SHARED || out_head->segment_bytes != sizeof segment || out_head->entry >= MEMORY_BYTES)
        return "it does not run at any address";
    memset(memory, 0, sizeof memory);
    for (unsigned i = 0; refused == NULL && segment_of(out_head, i, &segment); i++)
        refused = load_segment(&segment);
    return refused;
}

/* ---- Branches of a program that is stepped ---- */

static uint64_t instructions, branches; /* so many were stepped */

/*
 * The kind of the branch that the instruction at `code` is, if it went to `distance` from there; false: no branch, or
 * it was not taken (SDM vol 2: Jcc, JMP, LOOP, CALL, RET; table A-6 for the group of FFH).
 */
static bool is_taken(const uint8_t *code, uintptr_t distance, enum upmu_sim_branch_kind *out_kind)
{
    uintptr_t prefixes = 0;

    for (; *code == 0xf2 || *code == 0xf3 || *code == 0x3e || (sizeof(void *) == 8 && *code >> 4 == 4); prefixes++)
        code++;
    *out_kind = UPMU_SIM_BRANCH_COND;
    if (code[0] >> 4 == 7 || (code[0] >= 0xe0 && code[0] <= 0xe3))
        return distance != prefixes + 2;
    if (code[0] == 0x0f && code[1] >> 4 == 8)
        return distance != prefixes + 6;
    if (code[0] == 0xff) {
        *out_kind = (code[1] >> 3 & 7u) == 2 ? UPMU_SIM_BRANCH_IND_CALL : UPMU_SIM_BRANCH_IND_JUMP;
        return (code[1] >> 3 & 7u) == 2 || (code[1] >> 3 & 7u) == 4;
    }
    *out_kind = code[0] == 0xe8                      ? UPMU_SIM_BRANCH_CALL
                : code[0] == 0xc3 || code[0] == 0xc2 ? UPMU_SIM_BRANCH_RETURN
                                                     : UPMU_SIM_BRANCH_JUMP;
    return *out_kind != UPMU_SIM_BRANCH_JUMP || code[0] == 0xe9 || code[0] == 0xeb;
}

static void add_branch(struct upmu_sim_burst *burst, const struct kernel_registers *before)
{
    static struct upmu_sim_branch branch;

    instructions++;
    if (!is_taken((const uint8_t *)before->ip, (uintptr_t)burst->ip_step, &branch.kind))
        return;
    branches++;
    branch.from = before->ip;
    branch.to = burst->ip + burst->ip_step;
    burst->branches = 1;
    burst->branch = &branch;
    burst->branch_count = burst->branch_step = 1;
}

/* ---- The program runs ---- */

static struct upmu_machine *machine;
static struct upmu_cpu *cpu;
static struct upmu_session session;
static struct upmu_log records;

static void begin(struct upmu_machine *new_machine, struct upmu_cpu *new_cpu, const struct upmu_port *port)
{
    (void)port;
    machine = new_machine;
    cpu = new_cpu;
}

static enum upmu_status open_session(const struct cmd_live *live, const char *event, struct upmu_why *why)
{
    const struct upmu_branch_filter use = {.record = 0};
    const struct upmu_sampling sampling = {.period = PERIOD};
    enum upmu_status status = upmu_cpu_use_branches(cpu, &use, why);

    if (status != UPMU_OK)
        return status;
    (void)!kernel_records_lend(cpu, RECORD_BYTES, NULL); /* without it a precise event is refused */
    status = upmu_session_init(&session, machine);
    if (status == UPMU_OK)
        status = upmu_set_add(&session.set, event, &sampling);
    if (status == UPMU_OK)
        status = upmu_session_ring(&session, (uint8_t *)live->buffer + live->buffer_bytes / 2 - RING_BYTES, RING_BYTES);
    if (status == UPMU_OK)
        status = upmu_session_branches(&session, UPMU_BRANCH_USER);
    if (status == UPMU_OK)
        status = upmu_session_attach_cpu(&session, cpu);
    if (status == UPMU_OK)
        status = upmu_session_start(&session);
    *why = session.why;
    return status;
}

static void (*entry_of(const struct elf_head *head))(void)
{
    return (void (*)(void))(uintptr_t)(memory + head->entry);
}

static enum upmu_status run_program(const struct elf_head *head)
{
    kernel_process = PROCESS;
    kernel_user_enter(entry_of(head), &program_stack[sizeof program_stack - 16], 0);
    kernel_process = 0;
    return upmu_session_stop(&session);
}

/* ---- The log ---- */

/* Whole pages of the file are at whole pages of memory. */
static enum upmu_status log_mappings(const struct elf_head *head, const char *path)
{
    enum upmu_status status = UPMU_OK;
    struct elf_segment segment;

    for (unsigned i = 0; status == UPMU_OK && segment_of(head, i, &segment); i++) {
        uintptr_t start = segment.address & ~(uintptr_t)(PAGE - 1), in_page = segment.address - start;

        if (segment.type == SEGMENT_LOADED && (segment.flags & SEGMENT_EXECUTED))
            status = upmu_log_mapping(&records, PROCESS, (uintptr_t)memory + start,
                                      (uintptr_t)memory +
                                          ((segment.address + segment.file_bytes + PAGE - 1) & ~(uintptr_t)(PAGE - 1)),
                                      segment.offset - in_page, path);
    }
    return status;
}

static enum upmu_status make_log(struct upmu_output *output, const struct elf_head *head, const char *path)
{
    struct upmu_session *const sessions[] = {&session};
    enum upmu_status status = upmu_log_begin(&records, output, "the example kernel", 0);

    if (status == UPMU_OK)
        status = upmu_log_session(&records, &session, 0);
    if (status == UPMU_OK)
        status = upmu_log_task(&records, PROCESS, PROCESS, "module");
    if (status == UPMU_OK)
        status = log_mappings(head, path);
    if (status == UPMU_OK)
        status = upmu_log_samples(&records, &session, 0);
    return status == UPMU_OK ? upmu_log_end(&records, sessions, 1, 0) : status;
}

/* Sample the program and make its log, or print why not. */
static enum upmu_status sample(struct shell *shell, const struct elf_head *head, const char *event, const char *path,
                               struct upmu_output *log)
{
    struct upmu_why why;
    enum upmu_status status = open_session(shell->cmd->live, event, &why);

    if (status == UPMU_OK)
        status = run_program(head);
    else
        kernel_line_why(shell, "module.", &why);
    if (status == UPMU_OK)
        status = make_log(log, head, path);
    (void)!upmu_session_close(&session);
    (void)!upmu_cpu_use_branches(cpu, NULL, NULL);
    kernel_records_end(cpu);
    kernel_line_number(shell, "module.", "period", PERIOD);
    kernel_line_hex(shell, "module.", "memory", (uintptr_t)memory);
    kernel_line_number(shell, "module.", "samples", records.samples);
    kernel_line_number(shell, "module.", "lost", records.lost + records.cut);
    return status;
}

int kernel_run_module(struct shell *shell, const char *rest)
{
    const struct cmd_live *live = shell->cmd->live;
    char model[32] = "skl", event[64] = "instructions:u";
    struct kernel_steps each = {.model = model, .add = add_branch};
    bool steps = live->cpu->meter.pmu == NULL;
    struct upmu_output log = kernel_results_log(live);
    struct elf_head head;
    const char *refused = load(&head);
    enum upmu_status status = UPMU_OK;

    if (refused != NULL) {
        kernel_line_text(shell, "module.", "refused", refused);
        return CMD_REFUSED;
    }
    if (kernel_take_word(&rest, "--sim")) {
        kernel_take_argument(&rest, model, sizeof model);
        steps = true;
    }
    if (kernel_take_word(&rest, "-e"))
        kernel_take_argument(&rest, event, sizeof event);
    each.entry = entry_of(&head);
    instructions = branches = 0;
    if (steps)
        status = kernel_step_begin(&each, begin);
    else
        begin(live->machine, live->cpu, live->port);
    if (status == UPMU_OK) {
        status = sample(shell, &head, event, rest, &log);
        if (steps)
            kernel_step_end(shell, "module.");
    }
    if (steps) {
        kernel_line_number(shell, "module.", "instructions", instructions);
        kernel_line_number(shell, "module.", "branches", branches);
    }
    shell_text(shell, "module.begin\n");
    if (status == UPMU_OK)
        status = kernel_results_form(live, &log, "perf");
    kernel_line_text(shell, "module.", "end", upmu_status_text(status));
    return status == UPMU_OK ? CMD_OK : CMD_REFUSED;
}
