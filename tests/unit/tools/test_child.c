/* SPDX-License-Identifier: MIT */
/*
 * Programs that are counted on a simulated CPU: small ones whose instructions are known one by one, from their entry to
 * their last system call, because nothing but the code below is in their files.
 */
#define _GNU_SOURCE
#include <stdio.h>

#if defined(__x86_64__)

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "tests/common/assertions.h"
#include "tests/common/commands.h"
#include <tools/child/child_start.c>
#include <tools/child/child_step.c>
#include <tools/child/child_symbols.c>
#include <tools/child/child_words.c>

static char out[1 << 16], err[1 << 14], shown[1 << 12];
static size_t said_bytes, error_bytes;
static uint64_t now_ms;
static unsigned hidden;
static struct cmd cmd;

static void take_out(void *context, const char *text, size_t length)
{
    (void)context;
    assert_compare(said_bytes + length, <, sizeof out);
    memcpy(out + said_bytes, text, length);
    out[said_bytes += length] = '\0';
}

static void take_err(void *context, const char *text, size_t length)
{
    (void)context;
    assert_compare(error_bytes + length, <, sizeof err);
    memcpy(err + error_bytes, text, length);
    err[error_bytes += length] = '\0';
}

/* Each look at the clock comes a second after the last one. */
static uint64_t test_now(void *context)
{
    (void)context;
    return now_ms += 1000;
}

static void test_progress(void *context, const char *text)
{
    (void)context;
    hidden += text[0] == '\0';
    if (text[0] != '\0')
        snprintf(shown, sizeof shown, "%s", text);
}

static uint64_t memory[1 << 14], stored[1 << 12];
static size_t stored_bytes;

static bool store_file(void *context, const char *name, const void *bytes, size_t length)
{
    (void)context, (void)name;
    assert_compare(length, <=, sizeof stored);
    memcpy(stored, bytes, length);
    stored_bytes = length;
    return true;
}

/* ---- Programs ---- */

struct code {
    const uint8_t *begin, *end;
};

#define CODE(name, text)                                                                                              \
    extern const uint8_t code_##name[], code_##name##_end[];                                                          \
    __asm__(".pushsection .rodata\ncode_" #name ":\n" text "\ncode_" #name "_end:\n.byte 0\n.popsection");            \
    static const struct code name = {code_##name, code_##name##_end};

#define EXIT(status) "mov $60, %eax\n mov $" #status ", %edi\n syscall\n" /* 3 instructions */

/* LOOPS, at byte 1, iterations: 1 + 2 * LOOPS + 3, of which LOOPS are branches. */
CODE(loop, "mov $0, %ecx\n 1: dec %ecx\n jnz 1b\n" EXIT(0))

/* 25 instructions, 13 branches: prefixes, taken and not taken. */
CODE(jumps, "call 1f\n jmp 2f\n 1: ret\n"                  /* 3, 3 */
            "2: lea 3f(%rip), %rax\n jmp *%rax\n nop\n"       /* 2, 1: NOP is jumped over */
            "3: xor %ecx, %ecx\n jnz 3b\n jz 4f\n nop\n"      /* 3, 2 */
            "4: .byte 0x0f, 0x84, 0, 0, 0, 0\n"               /* 1, 1: JZ with 32 bits */
            "jrcxz 5f\n nop\n 5: mov $2, %ecx\n 6: loop 6b\n" /* 4, 3 */
            "lea 7f(%rip), %rax\n call *%rax\n jmp 8f\n"      /* 3, 2 */
            "7: .byte 0xf3, 0xc3\n"                           /* 1, 1: REP RET */
            "8: .byte 0x66, 0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0\n" /* 1: a long NOP */
            "endbr64\n push %rax\n pop %rax\n bswap %eax\n"    /* 4 */
            EXIT(0))

/* From 0x400078 on: 4 branches are taken, one is not; the last one leads where it ends, as if it were not taken. */
CODE(ways, "call 1f\n jmp 2f\n 1: ret\n"                 /* 78, 7d, 7f */
           "2: xor %ecx, %ecx\n jnz 2b\n jz 3f\n nop\n"   /* 80, 82, 84, 86 */
           "3: .byte 0x0f, 0x84, 0, 0, 0, 0\n" EXIT(0))    /* 87 */

/* 40 rounds, so that the stack is full of one branch, and then an indirect call of an address without code. */
CODE(strays, "mov $40, %ecx\n 1: dec %ecx\n jnz 1b\n xor %eax, %eax\n call *%rax\n") /* 78, 7d, 7f, 81, 83 */

/* 13 instructions; a REP prefix makes none of it. */
CODE(strings, "lea -256(%rsp), %rdi\n mov %rdi, %rsi\n mov $100, %ecx\n rep stosb\n"
              "xor %ecx, %ecx\n rep movsb\n mov %rsp, %rsi\n mov %rsp, %rdi\n mov $10, %ecx\n repne cmpsb\n" EXIT(0))

/* 2 instructions, then each of two processes has 4 + (1 + 2 * 50) + 3. */
CODE(forks, "mov $57, %eax\n syscall\n nop\n nop\n nop\n nop\n mov $50, %ecx\n 1: dec %ecx\n jnz 1b\n" EXIT(3))

/* CLONE_VM, _FS, _FILES, _SIGHAND, _THREAD: 5 instructions, then each of two threads has 2 + (1 + 2 * 50) + 3. */
CODE(threads, "mov $56, %eax\n mov $0x10f00, %edi\n lea -4096(%rsp), %rsi\n xor %edx, %edx\n syscall\n"
              "nop\n nop\n mov $50, %ecx\n 1: dec %ecx\n jnz 1b\n" EXIT(0))

/*
 * rt_sigaction(SIGUSR1), kill(getpid(), SIGUSR1): 6 + 2 + 4 instructions, 3 of the handler (which leaves by
 * rt_sigreturn itself), 3 to exit.
 */
CODE(signals, "mov $13, %eax\n mov $10, %edi\n lea 9f(%rip), %rsi\n xor %edx, %edx\n mov $8, %r10d\n syscall\n"
              "mov $39, %eax\n syscall\n mov %eax, %edi\n mov $10, %esi\n mov $62, %eax\n syscall\n" EXIT(5)
              "8: add $8, %rsp\n mov $15, %eax\n syscall\n"
              ".balign 8\n 9: .quad 0x400078 + 8b - code_signals, 0x04000000, 0x400078 + 8b - code_signals, 0\n")

/* 2 instructions, and one that faults. */
CODE(faults, "nop\n nop\n ud2\n")

/* 2 instructions, the second of which traps. */
CODE(breaks, "nop\n int3\n")

/* Execute the program that the first word names: 5 instructions, and 3 if there is none. */
CODE(executes, "mov 16(%rsp), %rdi\n lea 16(%rsp), %rsi\n xor %edx, %edx\n mov $59, %eax\n syscall\n" EXIT(9))

/* 1 + 2 * 3,000 + 3. */
CODE(lasts, "mov $3000, %ecx\n 1: dec %ecx\n jnz 1b\n" EXIT(42))

/* The same twice, and write(1, ..., 0) between. */
CODE(writes, "mov $3000, %ecx\n 1: dec %ecx\n jnz 1b\n xor %edx, %edx\n mov $1, %edi\n mov $1, %eax\n syscall\n"
             "mov $3000, %ecx\n 1: dec %ecx\n jnz 1b\n" EXIT(0))

#define LOAD 0x400000u

/* A file beside this program, with this code and nothing else; its name. */
static const char *file_of(const struct code *code, unsigned loops, unsigned number)
{
    static char names[2][4096];
    static uint8_t bytes[4096];
    const size_t length = (size_t)(code->end - code->begin), head = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr);
    const Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                               .e_type = ET_EXEC,
                               .e_machine = EM_X86_64,
                               .e_version = EV_CURRENT,
                               .e_entry = LOAD + head,
                               .e_phoff = sizeof header,
                               .e_ehsize = sizeof header,
                               .e_phentsize = sizeof(Elf64_Phdr),
                               .e_phnum = 1};
    const Elf64_Phdr segment = {.p_type = PT_LOAD,
                                .p_flags = PF_R | PF_X,
                                .p_vaddr = LOAD,
                                .p_filesz = head + length,
                                .p_memsz = head + length,
                                .p_align = 4096};
    char *name = names[number];
    ssize_t before = readlink("/proc/self/exe", name, sizeof names[0] - 16);
    int file;

    assert_compare(before, >, 0);
    snprintf(name + before, 16, ".%u", number);
    memcpy(bytes, &header, sizeof header);
    memcpy(bytes + sizeof header, &segment, sizeof segment);
    memcpy(bytes + head, code->begin, length);
    if (loops != 0)
        memcpy(bytes + head + 1, &loops, sizeof loops);
    (void)unlink(name);
    file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    assert_compare(file, >=, 0);
    assert_int_equal(write(file, bytes, head + length), head + length);
    close(file);
    return name;
}

#define BLANK '\001' /* of a file's name, in a line of words */

/* The name as a word of run_line(). */
static const char *word_of(const struct code *code, unsigned loops, unsigned number)
{
    static char words[2][4096];

    snprintf(words[number], sizeof words[number], "%s", file_of(code, loops, number));
    for (char *at = words[number]; (at = strchr(at, ' ')) != NULL;)
        *at = BLANK;
    return words[number];
}

static const struct cmd_live *own_cpu; /* NULL: there is none */

/* As main() of the tool: the exit status. */
static int run_line(const char *text)
{
    static const struct cmd_sink sink = {
        .write = take_out, .write_error = take_err, .write_file = store_file, .now_ms = test_now,
        .progress = test_progress};
    static char copy[16384];
    const char *words[40], *kept[CHILD_WORDS];
    unsigned count = 0;
    int result;

    memset(&cmd, 0, sizeof cmd);
    cmd.sink = &sink;
    cmd.program = "upmu";
    cmd.live = own_cpu;
    cmd.memory = memory;
    cmd.memory_bytes = sizeof memory;
    said_bytes = error_bytes = hidden = 0;
    out[0] = err[0] = shown[0] = '\0';
    snprintf(copy, sizeof copy, "%s", text);
    for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " ")) {
        words[count++] = word;
        for (char *at = word; (at = strchr(at, BLANK)) != NULL;)
            *at = ' ';
    }
    words[count] = NULL;
    assert_true(child_asked(count, words));
    result = child_take(&cmd, count, words, kept, &count);
    if (result == CMD_OK)
        result = cmd_run(&cmd, count, kept);
    return cmd.child != NULL ? child_end(&cmd, result) : result;
}

/* `stat OPTIONS -- PROGRAM WORDS` */
static int run_program(const char *chosen, const struct code *code, unsigned loops, const char *words)
{
    static char line[16384];

    snprintf(line, sizeof line, "stat %s -- %s %s", chosen, word_of(code, loops, 0), words);
    return run_line(line);
}

static void must_count(const char *what, unsigned event, uint64_t wanted)
{
    if (cmd.runs[event][0] != wanted)
        fail_msg("%s: event %u is %llu, not %llu\n%s%s", what, event, (unsigned long long)cmd.runs[event][0],
                 (unsigned long long)wanted, out, err);
}

static void must_count_program(const char *what, const struct code *code, int status, uint64_t instructions,
                               uint64_t branches)
{
    int result = run_program("--sim skl", code, 0, "");

    if (result != status)
        fail_msg("%s: exit status %d, not %d\n%s%s", what, result, status, out, err);
    must_count(what, 0, instructions);
    must_count(what, 1, branches);
    if (cmd.sim.violation_count != 0)
        fail_msg("%s: %s", what, cmd.sim.first_violation.text);
}

static void has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("no '%s' in:\n%s%s", part, out, err);
}

/* ---- Counts ---- */

/* On each CPU that can be simulated and counts both. */
static void a_loop_is_counted_to_its_last_instruction_on_each_cpu(void **state)
{
    const struct upmu_sim_profile *profile;
    unsigned counted = 0;
    char chosen[80];

    (void)state;
    for (unsigned i = 0; (profile = upmu_sim_profile_at(i)) != NULL; i++) {
        snprintf(chosen, sizeof chosen, "--sim %s", profile->name);
        if (run_program(chosen, &loop, 20 + i, "") != 0) {
            if (strstr(err, "did not come up") == NULL && strstr(err, "does not fit") == NULL)
                fail_msg("%s: %s", profile->name, err);
            continue;
        }
        if (profile->flags & (UPMU_SIM_IGNORES_WRITES | UPMU_SIM_COUNTS_NOTHING))
            continue;
        must_count(profile->name, 0, 2 * (20 + i) + 4);
        must_count(profile->name, 1, 20 + i);
        counted++;
    }
    assert_compare(counted, >, 40);
}

static void each_kind_of_code_is_counted_once(void **state)
{
    (void)state;
    must_count_program("jumps", &jumps, 0, 25, 13);
    must_count_program("strings", &strings, 0, 13, 0);
    must_count_program("signals", &signals, 5, 18, 0);
    must_count_program("forks", &forks, 3, 2 + 2 * (4 + 101 + 3), 2 * 50);
    must_count_program("threads", &threads, 0, 5 + 2 * (2 + 101 + 3), 2 * 50);
}

static void a_program_that_is_executed_by_another_is_counted_too(void **state)
{
    (void)state;
    assert_int_equal(run_program("--sim skl", &executes, 0, word_of(&loop, 30, 1)), 0);
    must_count("executes", 0, 5 + 64);
    must_count("executes", 1, 30);
    assert_int_equal(run_program("--sim skl", &executes, 0, "/nowhere"), 9);
    must_count("executes nothing", 0, 8);
}

static void the_exit_status_is_the_programs(void **state)
{
    (void)state;
    must_count_program("faults", &faults, 128 + SIGILL, 2, 0);
    has(err, "Illegal instruction");
    must_count_program("breaks", &breaks, 128 + SIGTRAP, 2, 0);
    assert_int_equal(run_program("--sim skl -r 3", &lasts, 0, ""), 42);
    has(out, "6,004  instructions");
    has(out, "3,000  branches");
    has(out, "( +- 0.00% )");
    has(out, "18,012 instructions were single-stepped");
    assert_int_equal(run_line("stat --sim skl -- /nowhere"), CMD_REFUSED);
    assert_string_equal(err, "upmu: /nowhere: No such file or directory\n");
    assert_int_equal(run_line("stat --sim skl -- /"), CMD_REFUSED);
    has(err, "upmu: /: Permission denied\n");
}

static void behind_its_limit_a_program_runs_on(void **state)
{
    (void)state;
    assert_int_equal(run_program("--sim skl --limit 1000", &lasts, 0, ""), 42);
    must_count("limit", 0, 1000);
    has(out, "after the first 1,000 of a run");
    assert_int_equal(run_program("--sim skl --limit 100", &forks, 0, ""), 3);
    must_count("limit of two", 0, 100);
    assert_int_equal(run_program("--sim skl --limit 1m", &lasts, 0, ""), 42);
    must_count("no limit", 0, 6004);
    assert_null(strstr(out, "limit"));
}

/* ---- Words ---- */

static void events_of_which_the_model_is_not_told_are_refused(void **state)
{
    static const char *const told[] = {"instructions:u", "INST_RETIRED.ANY", "INST_RETIRED.ANY_P", "r00c0",
                                       "BR_INST_RETIRED.ALL_BRANCHES"};
    static const char *const others[] = {"cycles", "instructions:k", "branch-misses", "cache-misses", "r01c0",
                                         "instructions:c=1", "BR_INST_RETIRED.NEAR_CALL"};
    char chosen[120];

    (void)state;
    for (unsigned i = 0; i < sizeof told / sizeof told[0]; i++) {
        snprintf(chosen, sizeof chosen, "--sim skl -e %s", told[i]);
        if (run_program(chosen, &loop, 10, "") != 0)
            fail_msg("%s: %s", told[i], err);
        must_count(told[i], 0, i < 4 ? 24 : 10);
    }
    for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++) {
        snprintf(chosen, sizeof chosen, "--sim skl -e instructions,%s", others[i]);
        if (run_program(chosen, &loop, 10, "") != CMD_REFUSED)
            fail_msg("%s: %s", others[i], out);
        has(err, "is not simulated: of a program the model is told of instructions and branches");
        has(err, others[i]);
    }
}

static void intervals_cells_and_json_are_those_of_a_workload(void **state)
{
    unsigned long long sum = 0, value;
    double seconds;

    (void)state;
    assert_int_equal(run_program("--sim skl -I 1 -x , -e instructions", &lasts, 0, ""), 42);
    for (const char *line = strchr(out, '\n') + 1; *line != '\0'; line = strchr(line, '\n') + 1) {
        assert_int_equal(sscanf(line, "%lf,%llu,,instructions\n", &seconds, &value), 2);
        sum += value;
    }
    assert_int_equal(sum, 6004);
    assert_int_equal(run_program("--sim skl -x ; -e instructions", &lasts, 0, ""), 42);
    has(out, "\n6004;;instructions;");
    assert_null(strstr(out, "single-stepped"));
    assert_int_equal(run_program("--sim skl --json -e branches", &lasts, 0, ""), 42);
    has(out, "\"simulated\":true,\"workload\":\"/");
    has(out, "\"counts\":[3000]");
    assert_null(strstr(out, "single-stepped"));
}

static void words_that_are_not_for_programs_are_refused(void **state)
{
    static const char *const lines[] = {"stat --sim skl --",
                                        "stat --sim skl --limit 5",
                                        "stat --sim skl --limit -- /bin/true",
                                        "stat --sim skl --limit 0 -- /bin/true",
                                        "stat --limit 5 -- /bin/true",
                                        "stat --sim skl -M ipc -- /bin/true",
                                        "stat --sim skl spin -- /bin/true",
                                        "stat --sim skl -n 100 -- /bin/true",
                                        "stat --sim skl --nonsense -- /bin/true"};
    static const char *const command[] = {"list", "--", "skl"}, *const plain[] = {"stat", "--sim", "skl"};

    (void)state;
    for (unsigned i = 0; i < sizeof lines / sizeof lines[0]; i++)
        if (run_line(lines[i]) != CMD_USAGE || out[0] != '\0')
            fail_msg("%s: %s%s", lines[i], out, err);
    assert_int_equal(run_line("stat -- /bin/true"), CMD_REFUSED);
    has(err, "simulate one with --sim");
    assert_false(child_asked(3, command));
    assert_false(child_asked(3, plain));
}

static void progress_is_a_number_or_the_share_of_the_limit(void **state)
{
    (void)state;
    assert_int_equal(run_program("--sim skl", &lasts, 0, ""), 42);
    has(shown, " instructions, single-stepped");
    assert_int_equal(hidden, 1);
    assert_int_equal(run_program("--sim skl", &writes, 0, ""), 0);
    assert_int_equal(hidden, 2);
    assert_int_equal(run_program("--sim skl --limit 8192", &lasts, 0, ""), 42);
    has(shown, "%");
}

/* A CPU whose counters see nothing of the program: registers of a model. */
static void at_its_own_speed_a_program_runs_to_its_end(void **state)
{
    static struct upmu_sim sim;
    static struct upmu_machine machine;
    static struct upmu_cpu cpu;
    const struct cmd_live live = {.port = &sim.port, .machine = &machine, .cpu = &cpu};

    (void)state;
    upmu_sim_init(&sim, upmu_sim_profile("skl"), 1);
    upmu_sim_bind_cpu(&sim, 0, &cpu);
    assert_int_equal(upmu_machine_init(&machine, &sim.port), UPMU_OK);
    assert_int_equal(upmu_cpu_init(&cpu, &machine, NULL), UPMU_OK);
    own_cpu = &live;
    assert_int_equal(run_program("-r 2", &lasts, 0, ""), 42);
    has(out, "' on skl, mean of 2 runs:");
    has(out, "branch-misses");
    assert_null(strstr(out, "single-stepped"));
    assert_int_equal(run_program("-I 1000 -e instructions", &forks, 0, ""), 3);
    assert_int_equal(run_program("-e cycles", &faults, 0, ""), 128 + SIGILL);
    has(err, "Illegal instruction");
    assert_int_equal(run_line("stat -e cycles -- /nowhere"), CMD_REFUSED);
    own_cpu = NULL;
    assert_int_equal(child_wait(-1, &(int){0}, WNOHANG), -1);
    assert_int_equal(upmu_cpu_fini(&cpu), UPMU_OK);
    if (sim.violation_count != 0)
        fail_msg("%s", sim.first_violation.text);
}

/* A key that interrupts is for the program. */
static void signals_of_the_tool_are_its_own_again(void **state)
{
    const struct sigaction own = {.sa_handler = SIG_DFL};
    struct sigaction before, after;
    sigset_t mask;

    (void)state;
    assert_int_equal(sigaction(SIGINT, &own, &before), 0); /* a shell ignores it for what runs in the background */
    assert_int_equal(run_program("--sim skl", &loop, 10, ""), 0);
    assert_int_equal(sigaction(SIGINT, &before, &after), 0);
    assert_ptr_equal(after.sa_handler, own.sa_handler);
    assert_int_equal(sigprocmask(SIG_SETMASK, NULL, &mask), 0);
    assert_false(sigismember(&mask, SIGCHLD));
    assert_int_equal(child_wait(-1, &(int){0}, WNOHANG), -1);
}

/* ---- Functions ---- */

static uint8_t *own_file(size_t *out_length)
{
    uint8_t *bytes = read_whole("/proc/self/exe", out_length);

    assert_non_null(bytes);
    return bytes;
}

static uint64_t address_in(const struct cmd_elf *elf, const char *name)
{
    struct cmd_symbol symbol;

    for (uint64_t i = 0; i < elf->symbol_count; i++)
        if (cmd_elf_function(elf, i, &symbol) && strcmp(symbol.name, name) == 0)
            return symbol.start;
    fail_msg("no %s", name);
    return 0;
}

static void functions_are_where_the_file_says(void **state)
{
    struct cmd_elf elf;
    size_t length;
    uint8_t *bytes = own_file(&length);

    (void)state;
    assert_true(cmd_elf_open(&elf, bytes, length));
    assert_int_equal(address_in(&elf, "run_program") - address_in(&elf, "run_line"),
                     (uintptr_t)run_program - (uintptr_t)run_line);
    assert_false(cmd_elf_open(&elf, bytes, 51));
    assert_false(cmd_elf_open(&elf, "ADDRESS t NAME, as nm and /proc/kallsyms write them: in lines", 60));
    free(bytes);
}

/* Labels without a size reach to the next function, the last one to the end of its page: a log takes no empty one. */
static void a_function_without_a_size_is_not_empty(void **state)
{
    struct cmd_symbol function[] = {{"_init", 0x1000, 0x1000}, {"main", 0x1010, 0x1080}, {"_fini", 0x1084, 0x1084}};

    (void)state;
    assert_int_equal(without_overlap(function, 3), 3);
    assert_int_equal(function[0].end, 0x1010);
    assert_int_equal(function[1].end, 0x1080);
    assert_int_equal(function[2].end, 0x2000);
    function[0].end = 0x1020;
    assert_int_equal(without_overlap(function, 1), 1);
    assert_int_equal(function[0].end, 0x1020);
}

/* Sanitizers see what is read behind its end. */
static void damage_is_read_within_the_file(void **state)
{
    struct cmd_symbol symbol;
    struct cmd_elf elf;
    size_t length, headers;
    uint8_t *bytes = own_file(&length);
    uint64_t read = 0;

    (void)state;
    assert_true(cmd_elf_open(&elf, bytes, length));
    headers = (size_t)elf.sections;
    for (size_t at = 0; at < length; at = at == 63 ? headers : at + 1)
        for (unsigned change = 1; change < 256; change += 127) {
            bytes[at] ^= (uint8_t)change;
            if (cmd_elf_open(&elf, bytes, length))
                for (uint64_t i = 0; i < elf.symbol_count; i += elf.symbol_count / 100 + 1)
                    read += cmd_elf_function(&elf, i, &symbol) ? strlen(symbol.name) : 0;
            bytes[at] ^= (uint8_t)change;
        }
    assert_int_not_equal(read, 0);
    free(bytes);
}

/* The samples of a program without symbols have addresses. */
static void samples_of_a_program_have_its_addresses(void **state)
{
    char line[8192];

    (void)state;
    snprintf(line, sizeof line, "record --sim skl -c 100 -- %s", word_of(&lasts, 0, 0));
    assert_int_equal(run_line(line), 42);
    has(out, " 60 samples of instructions every 100, program '/");
    has(out, "  0x40007f\n");
    has(out, "(elsewhere)");
    snprintf(line, sizeof line, "record --sim skl -g --folded x -- %s", word_of(&lasts, 0, 0));
    assert_int_equal(run_line(line), CMD_USAGE);
}

/* Code of the program is mapped from its file alone: there is no other file. */
static void a_log_of_a_program_says_which_file_its_code_is_of(void **state)
{
    struct upmu_log_reader reader;
    struct upmu_log_item item;
    unsigned mappings = 0;
    char line[8192];

    (void)state;
    snprintf(line, sizeof line, "record --sim skl -c 100 --log log -- %s", word_of(&lasts, 0, 0));
    assert_int_equal(run_line(line), 42);
    assert_int_equal(upmu_log_open(&reader, stored, stored_bytes), UPMU_OK);
    while (upmu_log_next(&reader, &item)) {
        if (item.kind != UPMU_LOG_MAPPING)
            continue;
        mappings++;
        assert_int_equal(item.of.range.process, 0);
        assert_int_equal(item.of.range.start, LOAD);
        assert_int_equal(item.of.range.end, LOAD + 4096);
        assert_int_equal(item.of.range.offset, 0);
        assert_int_equal(item.of.range.name.length, strlen(file_of(&lasts, 0, 0)));
        assert_memory_equal(item.of.range.name.at, file_of(&lasts, 0, 0), item.of.range.name.length);
    }
    assert_int_equal(mappings, 1);
}

/* Lines of the kernel: code of files, data, code of no file. */
static void a_mapping_is_code_of_a_file(void **state)
{
    char code_line[] = "7f10aa000000-7f10aa025000 r-xp 00026000 fe:01 3146 \t /usr/lib/a b.so (deleted)\n";
    char data_line[] = "7f10aa025000-7f10aa026000 rw-p 00026000 fe:01 3146 /usr/lib/a\n";
    char kernel_line[] = "7ffd0f7de000-7ffd0f7e0000 r-xp 00000000 00:00 0 [vdso]\n";
    char own_line[] = "7ffd0f7de000-7ffd0f7e0000 rwxp 00000000 00:00 0 \n";
    char name[CHILD_NAME];
    struct cmd_mapping mapping;

    (void)state;
    assert_true(mapping_of(code_line, &mapping, name));
    assert_int_equal(mapping.start, UINT64_C(0x7f10aa000000));
    assert_int_equal(mapping.end, UINT64_C(0x7f10aa025000));
    assert_int_equal(mapping.offset, 0x26000);
    assert_string_equal(mapping.name, "/usr/lib/a b.so (deleted)");
    assert_false(mapping_of(data_line, &mapping, name));
    assert_false(mapping_of(kernel_line, &mapping, name));
    assert_false(mapping_of(own_line, &mapping, name));
}

/* Taken branches alone, each with its kind where the CPU knows it, and the exit status is the program's. */
static void the_last_branches_of_a_program_are_those_that_it_took(void **state)
{
    char line[8192];

    (void)state;
    snprintf(line, sizeof line, "branches --sim spr -- %s", word_of(&ways, 0, 0));
    assert_int_equal(run_line(line), 0);
    has(out, "', newest first: 4\n\n  from");
    has(out, "to\n  0x400084                                0x400087                                conditional\n"
             "  0x40007d                                0x400080                                jump\n"
             "  0x40007f                                0x40007d                                return\n"
             "  0x400078                                0x40007f                                call\n");
    assert_int_equal(cmd.sim.violation_count, 0);
    snprintf(line, sizeof line, "branches --sim skl -- %s", word_of(&strays, 0, 0));
    assert_int_equal(run_line(line), 128 + SIGSEGV);
    has(out, "\n Last branches of '/");
    has(out, "', newest first: 32\n");
    has(out, "to\n  0x400083                                0x0\n"
             "  0x40007f                                0x40007d\n"
             "  0x40007f                                0x40007d\n");
    snprintf(line, sizeof line, "branches --sim skl -- %s", word_of(&faults, 0, 0));
    assert_int_equal(run_line(line), 128 + SIGILL);
    has(out, "', newest first: 0\n");
    snprintf(line, sizeof line, "branches --sim p6 -- %s", word_of(&ways, 0, 0));
    assert_int_equal(run_line(line), CMD_REFUSED);
    has(err, "upmu knows no branch records of this model");
    snprintf(line, sizeof line, "branches --sim skl spin -- %s", word_of(&ways, 0, 0));
    assert_int_equal(run_line(line), CMD_USAGE);
}

static int remove_files(void **state)
{
    (void)state;
    (void)unlink(file_of(&loop, 1, 0));
    (void)unlink(file_of(&loop, 1, 1));
    return 0;
}

/* Is this process allowed to trace another one? */
static bool can_trace(void)
{
    pid_t id = fork();
    int status = 0;

    if (id == 0)
        _exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0 && raise(SIGSTOP) == 0 ? 0 : 1);
    if (waitpid(id, &status, 0) != id || !WIFSTOPPED(status))
        return false;
    (void)kill(id, SIGKILL);
    (void)waitpid(id, &status, 0);
    return true;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_is_counted_to_its_last_instruction_on_each_cpu),
        cmocka_unit_test(each_kind_of_code_is_counted_once),
        cmocka_unit_test(a_program_that_is_executed_by_another_is_counted_too),
        cmocka_unit_test(the_exit_status_is_the_programs),
        cmocka_unit_test(behind_its_limit_a_program_runs_on),
        cmocka_unit_test(events_of_which_the_model_is_not_told_are_refused),
        cmocka_unit_test(intervals_cells_and_json_are_those_of_a_workload),
        cmocka_unit_test(words_that_are_not_for_programs_are_refused),
        cmocka_unit_test(progress_is_a_number_or_the_share_of_the_limit),
        cmocka_unit_test(at_its_own_speed_a_program_runs_to_its_end),
        cmocka_unit_test(signals_of_the_tool_are_its_own_again),
        cmocka_unit_test(functions_are_where_the_file_says),
        cmocka_unit_test(a_function_without_a_size_is_not_empty),
        cmocka_unit_test(damage_is_read_within_the_file),
        cmocka_unit_test(samples_of_a_program_have_its_addresses),
        cmocka_unit_test(a_log_of_a_program_says_which_file_its_code_is_of),
        cmocka_unit_test(a_mapping_is_code_of_a_file),
        cmocka_unit_test(the_last_branches_of_a_program_are_those_that_it_took),
    };

    if (!can_trace()) {
        printf("skipped: ptrace is not permitted here\n[  SKIPPED ] child\n");
        return 0;
    }
    return cmocka_run_group_tests_name("child", tests, NULL, remove_files);
}

#else

int main(void)
{
    printf("skipped: the programs are of 64 bits\n[  SKIPPED ] child\n");
    return 0;
}

#endif
