/* SPDX-License-Identifier: MIT */
/*
 * Fuzzing: perf_event_open with any attributes, groups, rings, forks, execs, exits, names, mappings, switches and
 * closes in any order.  Books of the test have, for each event and each copy of a child, what was executed while it was
 * to count: a count is never more than that, and where an event had its counter all the time it is exactly that.  A
 * program that reads its ring finds whole records of its own events.  A program that writes any byte of its pages
 * changes no count, and no byte beside them is written.
 */
#include "tests/fuzz/perf_program.h"

#define BOOKS 64u
#define TAKES 80u /* how often there is memory for sessions and copies */

#define TYPES                                                                                                          \
    (1u << UPMU_PERF_RECORD_MMAP | 1u << UPMU_PERF_RECORD_LOST | 1u << UPMU_PERF_RECORD_COMM |                         \
     1u << UPMU_PERF_RECORD_EXIT | 1u << UPMU_PERF_RECORD_FORK | 1u << UPMU_PERF_RECORD_SAMPLE |                       \
     1u << UPMU_PERF_RECORD_MMAP2 | 1u << UPMU_PERF_RECORD_SWITCH | 1u << UPMU_PERF_RECORD_SWITCH_CPU_WIDE |           \
     1u << UPMU_PERF_RECORD_THROTTLE | 1u << UPMU_PERF_RECORD_UNTHROTTLE)

/* What an event, or the copy of a child, is to have counted. */
struct book {
    bool used;
    int file; /* of the descriptor whose event this is, or is a copy for */
    struct book *leader;
    int task; /* below 0: a CPU's, or the task has ended */
    int cpu;
    bool copy, enabled, on_exec, gone_at_exec, user, kernel;
    uint64_t executed;
};

static const uint64_t registers[3] = {7, 8, 9};
static uint64_t opened; /* events that were ever opened: their identities are 1 to this */
static bool refreshed;  /* limits of overflows disable events at times that the books do not know */
static uint64_t ended[FILES]; /* executed by copies that have ended */
static struct book books[BOOKS];
static uint8_t
    program[UPMU_PERF_ATTR_BYTES_MOST]; /* memory of the program, as much as it may say that attributes have */

/* ---- The host ---- */

static bool copy(void *nothing, void *to, const void *from, size_t bytes)
{
    (void)nothing;
    memcpy(to, from, bytes);
    return true;
}

static struct upmu_perf_task *find_task(void *nothing, uint32_t caller, int32_t pid, bool *out_may)
{
    (void)nothing;
    (void)caller;
    *out_may = true;
    return pid >= (int32_t)CPUS && pid < (int32_t)TASKS && alive[pid] ? &task[pid] : NULL;
}

/* The program's stack: a part of it can be read. */
static size_t read_stack(void *nothing, uint64_t address, void *to, size_t bytes)
{
    (void)nothing;
    memset(to, (int)(address & 0xffu), bytes / 2u + 1u);
    return address & 8u ? bytes : bytes / 2u;
}

static void set_up(void)
{
    const char *missing = perf_kernel_set_up(upmu_sim_profile("skl"), task, TAKES);

    FUZZ_CHECK(!missing, "%s", missing);
    perf_kernel.perf.copy_in = copy;
    perf_kernel.perf.copy_out = copy;
    perf_kernel.perf.find_task = find_task;
    perf_kernel.perf.event_of = event_of;
    perf_kernel.perf.tick_rate = 5000;
    perf_kernel.perf.registers = 15;
    perf_kernel.perf.read_stack = read_stack;
    perf_kernel.registers = registers;
    perf_kernel.register_mask = 7;
    memset(ended, 0, sizeof ended);
    memset(books, 0, sizeof books);
    refreshed = false;
    opened = 0;
    begin_program();
}

/* ---- Books ---- */

static struct book *book_new(void)
{
    for (unsigned i = 0; i < BOOKS; i++)
        if (!books[i].used) {
            memset(&books[i], 0, sizeof books[i]);
            books[i].used = true;
            books[i].leader = &books[i];
            return &books[i];
        }
    fuzz_fail("too many books");
}

static struct book *book_of(int file)
{
    for (unsigned i = 0; i < BOOKS; i++)
        if (books[i].used && books[i].file == file && !books[i].copy)
            return &books[i];
    return NULL;
}

/* A CPU executes. */
static void work(unsigned where, bool user, uint64_t instructions)
{
    upmu_sim_switch_cpu(&perf_kernel.sim, where);
    upmu_sim_events(&perf_kernel.sim, &(struct upmu_sim_burst){.instructions = instructions,
                                                               .cycles = instructions,
                                                               .ref_cycles = instructions,
                                                               .user = user});
    for (unsigned i = 0; i < BOOKS; i++) {
        struct book *book = &books[i];
        bool there = book->task >= 0
                         ? perf_kernel.running[where] == &task[book->task] && (book->cpu < 0 || book->cpu == (int)where)
                         : book->task == -1 && book->cpu == (int)where;

        if (book->used && there && book->enabled && book->leader->enabled && (user ? book->user : book->kernel))
            book->executed += instructions;
    }
}

static void check(unsigned file)
{
    struct book *own = book_of((int)file);
    uint64_t reading[3], expected = ended[file];

    if (!own || event[file]->leader->failed || event[file]->attr.type == UPMU_PERF_TYPE_SOFTWARE)
        return;
    for (unsigned i = 0; i < BOOKS; i++)
        if (books[i].used && books[i].file == (int)file)
            expected += books[i].executed;
    FUZZ_CHECK(upmu_perf_read(event[file], reading, sizeof reading) == sizeof reading, "file %u: read", file);
    FUZZ_CHECK(reading[0] <= expected, "file %u: %llu counted, %llu executed", file, (unsigned long long)reading[0],
               (unsigned long long)expected);
    FUZZ_CHECK(reading[2] <= reading[1], "file %u: it ran longer than it was enabled", file);
    FUZZ_CHECK(refreshed || reading[1] != reading[2] || reading[0] == expected, "file %u: %llu counted, not %llu", file,
               (unsigned long long)reading[0], (unsigned long long)expected);
}

/* ---- Rings ---- */

static uint8_t *page_of(const struct mapping *mapping, unsigned page)
{
    return mapping->pages[page];
}

static struct upmu_perf_page *words_of(const struct mapping *mapping)
{
    return mapping->pages[0];
}

static void map_event(unsigned file, uint8_t how)
{
    struct mapping *mapping = &mappings[file];
    unsigned count = 1u + (how & 3u) % 3u;

    if (!event[file] || mapping->count)
        return;
    take_pages(mapping, count);
    mapping->honest = how & 4u && !(event[file]->attr.flags & UPMU_PERF_WRITE_BACKWARD);
    if (upmu_perf_map(event[file], mapping->pages, count, mapping->honest || how & 8u) != 0)
        pages_are_gone(mapping);
}

static uint64_t word_at(const struct mapping *mapping, uint64_t position)
{
    uint64_t at = position & ((mapping->count - 1u) * UPMU_PERF_PAGE_BYTES - 1u), word;

    memcpy(&word, page_of(mapping, 1u + (unsigned)(at / UPMU_PERF_PAGE_BYTES)) + at % UPMU_PERF_PAGE_BYTES, 8);
    return word;
}

/* The program takes its next record, which is whole; where it has an identity, of an event that was opened. */
static void read_record(struct mapping *mapping)
{
    uint64_t head = words_of(mapping)->head.whole, header, bytes;
    uint32_t type;

    FUZZ_CHECK(head - mapping->position < (mapping->count - 1u) * UPMU_PERF_PAGE_BYTES || head == mapping->position,
               "the head is %llu bytes before the reader", (unsigned long long)(head - mapping->position));
    if (head == mapping->position)
        return;
    header = word_at(mapping, mapping->position);
    bytes = header >> 48;
    type = (uint32_t)header;
    FUZZ_CHECK(bytes >= 8 && bytes % 8 == 0 && bytes <= head - mapping->position, "a record of %llu bytes of %llu",
               (unsigned long long)bytes, (unsigned long long)(head - mapping->position));
    FUZZ_CHECK(type < 32 && TYPES >> type & 1u, "a record of type %u", (unsigned)type);
    if (type == UPMU_PERF_RECORD_SAMPLE || type == UPMU_PERF_RECORD_LOST) {
        uint64_t identity = word_at(mapping, mapping->position + 8);

        FUZZ_CHECK(identity && identity <= opened, "a record of event %llu", (unsigned long long)identity);
    }
    mapping->position += bytes;
    words_of(mapping)->tail.whole = mapping->position;
}

/* The program does with its pages as it likes. */
static void use_pages(unsigned file, struct fuzz_bytes *bytes)
{
    struct mapping *mapping = &mappings[file];
    uint8_t how = fuzz_u8(bytes);

    if (!mapping->count)
        return;
    if (mapping->honest) {
        for (unsigned i = 0; mapping->count > 1u && i < 1u + how % 8u; i++)
            read_record(mapping);
        return;
    }
    if (how & 1u)
        words_of(mapping)->tail.whole = how & 2u ? fuzz_u64(bytes) : words_of(mapping)->head.whole - how / 4u;
    else if (how & 2u)
        words_of(mapping)->head.whole = fuzz_u64(bytes);
    else
        memset(page_of(mapping, how / 4u % mapping->count) + fuzz_u8(bytes) * 16u, fuzz_u8(bytes), 16);
}

/* ---- Steps ---- */

/* The event samples, and wants records. */
static void sample(struct upmu_perf_attr *attr, struct fuzz_bytes *bytes)
{
    uint8_t wishes = fuzz_u8(bytes), parts = fuzz_u8(bytes);

    attr->sample_period = 1u + fuzz_u8(bytes) % 64u;
    attr->sample_type = UPMU_PERF_SAMPLE_IDENTIFIER | (parts & (0xffu & ~UPMU_PERF_SAMPLE_READ));
    attr->wakeup = wishes & 1u;
    if (parts & UPMU_PERF_SAMPLE_READ) {
        attr->sample_type |= UPMU_PERF_SAMPLE_REGS_USER | UPMU_PERF_SAMPLE_STACK_USER | UPMU_PERF_SAMPLE_REGS_INTR;
        attr->sample_regs_user = 1u | (wishes & 15u);
        attr->sample_regs_intr = 1u;
        attr->sample_stack_user = wishes & 16u ? 4096u + 8u * parts : wishes & 0xf8u;
    }
    attr->flags |= (wishes & 2u ? UPMU_PERF_SAMPLE_ID_ALL : 0) |
                   (wishes & 4u ? UPMU_PERF_COMM | UPMU_PERF_MMAP | UPMU_PERF_MMAP2 | UPMU_PERF_MMAP_DATA : 0) |
                   (wishes & 8u ? UPMU_PERF_CONTEXT_SWITCH | UPMU_PERF_TASK : 0) |
                   ((wishes & 48u) == 48u ? UPMU_PERF_WRITE_BACKWARD : 0) |
                   ((wishes & 192u) == 192u ? UPMU_PERF_FREQ : 0);
}

static void open_event(struct fuzz_bytes *bytes)
{
    uint8_t choice = fuzz_u8(bytes), target = fuzz_u8(bytes), modes = fuzz_u8(bytes);
    struct upmu_perf_attr attr = {.type = UPMU_PERF_TYPE_HARDWARE,
                                  .size = sizeof attr,
                                  .config = 1,
                                  .read_format = UPMU_PERF_READ_ENABLED | UPMU_PERF_READ_RUNNING,
                                  .flags = (modes & 3u) == 3u ? 0 : (uint64_t)(modes & 3u) << 4};
    unsigned named = CPUS + (target >> 1) % (TASKS - CPUS); /* the first task, where that one has ended */
    int pid = target & 1u ? -1 : (int)(alive[named] || target & 64u ? named : CPUS);
    int on = target & 16u || (target & 65u) == 1u ? (int)(target >> 5 & 1u) : -1; /* -1 for a CPU's is seldom tried */
    int group = choice & 1u ? FIRST_FILE + (int)(choice & 16u ? choice >> 1 & 7u : any_file(choice >> 1 & 7u)) : -1;
    struct book *book, *leader = group < 0 ? NULL : book_of(group - FIRST_FILE);
    unsigned file = 0;

    attr.flags |= (modes & 4u ? UPMU_PERF_DISABLED : 0) | (modes & 8u ? UPMU_PERF_INHERIT : 0) |
                  (modes & 16u ? UPMU_PERF_ENABLE_ON_EXEC : 0) | ((modes & 48u) == 32u ? UPMU_PERF_REMOVE_ON_EXEC : 0) |
                  ((modes & 72u) == 72u ? UPMU_PERF_INHERIT_THREAD : 0);
    if (leader && !(target & 128u)) { /* as its leader's */
        pid = leader->task;
        on = leader->cpu;
        attr.flags = (attr.flags & ~UPMU_PERF_INHERIT) |
                     (event[leader->file]->attr.flags & (UPMU_PERF_INHERIT | UPMU_PERF_INHERIT_THREAD));
    }
    if (choice & 32u)
        sample(&attr, bytes);
    if (choice & 32u && modes & 128u) { /* a clock, or switches */
        attr.type = UPMU_PERF_TYPE_SOFTWARE;
        attr.config = target >> 5 & 3u;
    }
    if (choice & 64u) /* anything, anywhere */
        ((uint8_t *)&attr)[fuzz_u8(bytes) % sizeof attr] ^= fuzz_u8(bytes);
    memcpy(program, &attr, sizeof attr);
    while (file < FILES && event[file])
        file++;
    if (file == FILES)
        return;
    event[file] = malloc(sizeof *event[file]);
    if (upmu_perf_open(&perf_kernel.perf, 1, event[file], program, pid, on, group,
                       choice & 128u ? UPMU_PERF_FLAG_NO_GROUP : 0) != 0) {
        free(event[file]);
        event[file] = NULL;
        return;
    }
    opened = event[file]->id;
    if ((attr.type == UPMU_PERF_TYPE_HARDWARE ? attr.config != 1 : attr.type != UPMU_PERF_TYPE_SOFTWARE) ||
        attr.read_format != (UPMU_PERF_READ_ENABLED | UPMU_PERF_READ_RUNNING) || attr.flags & UPMU_PERF_PINNED ||
        (attr.sample_period && !(attr.sample_type & UPMU_PERF_SAMPLE_IDENTIFIER)) ||
        (choice & 1u && !(choice & 128u) && !leader)) {
        FUZZ_CHECK(upmu_perf_close(event[file]) == 0, "close"); /* the books have no such events */
        free(event[file]);
        event[file] = NULL;
        return;
    }
    book = book_new();
    book->file = (int)file;
    book->leader = leader && !(choice & 128u) ? leader : book;
    book->task = pid;
    book->cpu = on;
    book->enabled = !(attr.flags & UPMU_PERF_DISABLED);
    book->on_exec = attr.flags & UPMU_PERF_ENABLE_ON_EXEC;
    book->gone_at_exec = attr.flags & UPMU_PERF_REMOVE_ON_EXEC;
    book->user = !(attr.flags & UPMU_PERF_EXCLUDE_USER);
    book->kernel = !(attr.flags & UPMU_PERF_EXCLUDE_KERNEL);
    ended[file] = 0;
}

static void close_event(unsigned file)
{
    if (!event[file])
        return;
    FUZZ_CHECK(upmu_perf_close(event[file]) == 0, "close");
    pages_are_gone(&mappings[file]);
    free(event[file]);
    event[file] = NULL;
    for (unsigned i = 0; i < BOOKS; i++)
        if (books[i].used && books[i].leader->file == (int)file && books[i].file != (int)file)
            books[i].leader = &books[i];
    for (unsigned i = 0; i < BOOKS; i++)
        books[i].used &= books[i].file != (int)file;
}

static void control(unsigned file, uint32_t command, bool group)
{
    struct book *own = event[file] ? book_of((int)file) : NULL;

    if (!own)
        return;
    FUZZ_CHECK(upmu_perf_ioctl(event[file], 1, command, group) == 0, "command %x", (unsigned)command);
    for (unsigned i = 0; i < BOOKS; i++) {
        bool meant = books[i].used &&
                     (group ? book_of(books[i].file)->leader->file == own->leader->file : books[i].file == (int)file);

        if (meant && command == UPMU_PERF_IOC_RESET)
            books[i].executed = 0;
        else if (meant)
            books[i].enabled = command == UPMU_PERF_IOC_ENABLE;
    }
}

/* The first task that is free begins as a child of another; its copies have the order of their groups. */
static void fork_task(unsigned parent, bool is_thread)
{
    struct book *made[BOOKS] = {NULL};
    unsigned child = free_task();

    if (child == TASKS || !alive[parent])
        return;
    upmu_perf_task_init(&task[child], child, child);
    if (upmu_perf_fork(&task[parent], &task[child], is_thread) != 0) {
        FUZZ_CHECK(!task[child].events, "events of a child without memory");
        return;
    }
    alive[child] = true;
    for (unsigned i = 0; i < BOOKS; i++) {
        const struct upmu_perf_kept *attr = books[i].used ? &event[books[i].file]->attr : NULL;

        if (!attr || books[i].task != (int)parent || made[i] || !(attr->flags & UPMU_PERF_INHERIT))
            continue;
        if (event[books[i].leader->file]->attr.flags & UPMU_PERF_INHERIT_THREAD && !is_thread)
            continue;
        made[i] = book_new();
        *made[i] = books[i];
        made[i]->task = -3; /* not yet: a copy is no parent's */
        made[i]->copy = true;
        made[i]->executed = 0;
    }
    for (unsigned i = 0; i < BOOKS; i++)
        if (made[i]) {
            made[i]->task = (int)child;
            made[i]->leader = made[books[i].leader - books] ? made[books[i].leader - books] : made[i];
        }
}

/* An event leaves its task; what it led goes on alone. */
static void book_leaves(struct book *book)
{
    for (unsigned i = 0; i < BOOKS; i++)
        if (books[i].used && books[i].leader == book)
            books[i].leader = &books[i];
    book->leader = book;
    book->task = -2;
    if (!book->copy)
        return;
    ended[book->file] += book->executed;
    book->used = false;
}

static void exec_task(unsigned which)
{
    if (!alive[which])
        return;
    FUZZ_CHECK(upmu_perf_exec(&task[which], true) == 0, "exec");
    for (unsigned i = 0; i < BOOKS; i++)
        if (books[i].used && books[i].task == (int)which && books[i].gone_at_exec)
            book_leaves(&books[i]);
    for (unsigned i = 0; i < BOOKS; i++)
        if (books[i].used && books[i].task == (int)which) {
            books[i].enabled |= books[i].on_exec;
            books[i].on_exec = false;
        }
}

static void exit_task(unsigned which)
{
    if (!alive[which])
        return;
    leave_cpus(which);
    FUZZ_CHECK(upmu_perf_exit(&task[which]) == UPMU_OK, "exit");
    alive[which] = false;
    for (unsigned i = 0; i < BOOKS; i++)
        if (books[i].used && books[i].task == (int)which) {
            books[i].task = -2;
            if (books[i].copy) {
                ended[books[i].file] += books[i].executed;
                books[i].used = false;
            }
        }
    memset(&task[which], 0xa5, sizeof task[which]);
}

static void tell(unsigned which, uint8_t how)
{
    if (!alive[which])
        return;
    for (unsigned i = 0; i < CPUS; i++)
        if (perf_kernel.running[i] == &task[which])
            upmu_sim_switch_cpu(&perf_kernel.sim, i);
    tell_name_or_mapping(which, how);
}

/* Commands for rings and periods: some may be refused. */
static void control_ring(unsigned file, struct fuzz_bytes *bytes)
{
    uint8_t how = fuzz_u8(bytes);
    uint64_t period = 1u + fuzz_u8(bytes);
    int other = FIRST_FILE + (int)any_file(how >> 3 & 15u);

    if (!event[file])
        return;
    switch (how & 7u) {
    case 0:
    case 1:
    case 2:
        (void)upmu_perf_ioctl(event[file], 1, UPMU_PERF_IOC_SET_OUTPUT, how & 128u ? UINT64_MAX : (unsigned)other);
        break;
    case 3:
        (void)upmu_perf_ioctl(event[file], 1, UPMU_PERF_IOC_PAUSE_OUTPUT, how & 128u);
        break;
    case 4:
        (void)upmu_perf_ioctl(event[file], 1, UPMU_PERF_IOC_PERIOD, (uintptr_t)&period);
        break;
    case 5:
        refreshed |= upmu_perf_ioctl(event[file], 1, UPMU_PERF_IOC_REFRESH, how >> 6) == 0;
        for (unsigned i = 0; i < BOOKS && refreshed; i++)
            books[i].enabled = true;
        break;
    default:
        (void)upmu_perf_poll(event[file]);
    }
}

static void step(struct fuzz_bytes *bytes)
{
    static const uint32_t commands[] = {UPMU_PERF_IOC_ENABLE, UPMU_PERF_IOC_DISABLE, UPMU_PERF_IOC_RESET};
    uint8_t what = fuzz_u8(bytes), argument = fuzz_u8(bytes);
    unsigned which = argument % TASKS, file = any_file(argument % FILES);

    fuzz_calls++;
    switch (what % 16u) {
    case 0:
    case 1:
        open_event(bytes);
        break;
    case 2:
        close_event(file);
        break;
    case 3:
        control(file, commands[argument / 16u % 3u], argument & 128u);
        break;
    case 4:
        if (which >= CPUS)
            fork_task(which, argument & 64u);
        break;
    case 5:
        if (which >= CPUS)
            exec_task(which);
        break;
    case 6:
        if (which > CPUS)
            exit_task(which);
        break;
    case 7:
        switch_task(argument >> 7, which);
        break;
    case 8:
        upmu_sim_switch_cpu(&perf_kernel.sim, argument & 1u);
        FUZZ_CHECK(upmu_cpu_tick(&perf_kernel.cpu[argument & 1u]) == UPMU_OK, "tick");
        upmu_sim_advance_ns(&perf_kernel.sim, argument);
        upmu_perf_tick(
            &perf_kernel.perf, argument & 1u,
            argument & 4u
                ? &(struct upmu_frame){.ip = 1, .user = argument & 8u, .registers = registers, .register_mask = 7}
                : NULL);
        break;
    case 9:
        map_event(file, argument >> 4);
        break;
    case 10:
        if (event[file] && argument & 128u) {
            FUZZ_CHECK(upmu_perf_unmap(event[file]) == 0, "unmap");
            pages_are_gone(&mappings[file]);
        }
        break;
    case 11:
        control_ring(file, bytes);
        break;
    case 12:
        tell(which, argument >> 3);
        break;
    case 13:
        use_pages(file, bytes);
        break;
    default:
        work(argument & 1u, argument & 2u, 1u + (argument >> 2) * (what & 16u ? 8u : 1u));
        break;
    }
    for (unsigned i = 0; i < FILES; i++)
        if (event[i])
            check(i);
}

static void run_perf(const uint8_t *input, size_t length)
{
    struct fuzz_bytes bytes = {input, input + length};

    set_up();
    while (fuzz_more(&bytes))
        step(&bytes);
    for (unsigned i = 0; i < FILES; i++)
        for (unsigned records = 0; mappings[i].count > 1u && mappings[i].honest && records < 2048u; records++)
            read_record(&mappings[i]);
    for (unsigned i = 0; i < FILES; i++)
        close_event(i);
    for (unsigned i = 0; i < FILES; i++)
        check_pages(&mappings[i]);
    FUZZ_CHECK(!perf_kernel.perf.events, "%u events are left", (unsigned)perf_kernel.perf.events);
    for (unsigned i = CPUS; i < TASKS; i++)
        exit_task(i);
    check_end();
}

static void make_perf(uint64_t *random, struct fuzz_draft *draft)
{
    static const uint8_t often[] = {0, 1, 1,  2,  3,  3,  4,  5,  6,  7,  7,  7,  8,  9,
                                    9, 9, 10, 11, 11, 12, 13, 13, 13, 14, 14, 15, 15, 15};
    unsigned steps = 10 + fuzz_below(random, 160);

    while (steps-- > 0 && draft->length + 8 < FUZZ_INPUT) {
        unsigned what = often[fuzz_below(random, sizeof often)];

        fuzz_put(draft, what | (fuzz_random(random) & 16u), 1);
        fuzz_put(draft, fuzz_random(random), 1);
        if (what == 11 || what == 13)
            fuzz_put(draft, fuzz_random(random), 2);
        if (what > 1)
            continue;
        fuzz_put(draft, fuzz_random(random) & (fuzz_below(random, 4) ? 0xbf : 0xff), 1);
        fuzz_put(draft, fuzz_random(random), 4);
        fuzz_put(draft, fuzz_random(random), 3);
    }
}

/* The test of the corpus ends in _corpus; that of made inputs is what_is_counted_is_what_was_executed_seeded. */
const struct fuzz_target fuzz_target = {.name = "perf",
                                        .holds = "what_is_counted_is_what_was_executed",
                                        .runs = 2000,
                                        .runs_of_soak = 1000000,
                                        .run = run_perf,
                                        .make = make_perf};
