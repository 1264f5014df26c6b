/* SPDX-License-Identifier: MIT */
/*
 * Fuzzing: perf_event_open on machines of all kinds, with what test_fuzz_perf.c does not draw: hybrids, units outside
 * the cores, precise samples, ports without interrupts, all read formats, counts in mapped pages, page faults with
 * frames, callers without rights, memory of programs that cannot be copied, CPUs that cannot be reached.  Whatever
 * comes, a call returns one of the layer's numbers, a read writes its bytes and no other, no count exceeds what the
 * machine executed or falls, a page says what a read says, and in the end all memory is given back and all counters
 * stand still.
 */
#include "tests/fuzz/perf_program.h"

#include "models/sim/sim_uncore.h"
#include <upmu/precise.h>
#include <upmu/unit.h>

#define ADMINISTRATOR 1u
#define USER 2u
#define UNITS 12u
#define READ_WORDS 64u
#define AREA UINT64_C(0xffffc90000010000)
#define AREA_STEP 0x10000u /* between the areas of two CPUs; the records stand behind an area */

/* A machine: a model and that of its other CPUs, or one with units. */
static const struct machine {
    const char *model, *second, *units;
    bool precise, polled;
    uint64_t word; /* of an event of a unit */
} machines[] = {
    {.model = "skl", .precise = true},
    {.model = "adl_p", .second = "adl_e"},
    {.units = "skx2", .word = 0x304},
    {.model = "core", .polled = true},
    {.model = "zen4"},
    {.model = "icelake", .precise = true},
    {.units = "rome", .word = 2},
    {.model = "core"},
};

static const struct machine *machine;
static struct upmu_sim_uncore uncore;
static struct upmu_unit_info unit_info[UPMU_SIM_UNITS];
static struct upmu_uncore_pmu unit_pmu[UPMU_UNIT_TYPES];
static struct upmu_unit_list list;
static struct upmu_unit unit_memory[UNITS];
static struct upmu_unit *units[UNITS];
static unsigned unit_count;
static _Alignas(4096) uint8_t record_area[CPUS][UPMU_RECORD_AREA_BYTES], record_buffer[CPUS][UPMU_RECORD_LEAST_BYTES];
static uint64_t last[FILES]; /* values of the last reads */
static uint64_t executed;    /* by all CPUs */
static uint32_t caller;
static unsigned copies_left; /* 0: any number succeeds */
static bool reaches;         /* calls reach other CPUs */
static bool (*run_of_model)(void *context, struct upmu_cpu *cpu, void (*function)(void *argument), void *argument);
static uint64_t registers[UPMU_RECORD_REGISTERS];

/* ---- The host ---- */

static bool copy(void *to, const void *from, size_t bytes)
{
    if (copies_left && !--copies_left) {
        copies_left = 1;
        return false;
    }
    memcpy(to, from, bytes);
    return true;
}

static bool copy_in(void *nothing, void *to, const void *from, size_t bytes)
{
    (void)nothing;
    return copy(to, from, bytes);
}

static bool copy_out(void *nothing, void *to, const void *from, size_t bytes)
{
    (void)nothing;
    return copy(to, from, bytes);
}

static bool may_all(void *nothing, uint32_t who)
{
    (void)nothing;
    return who == ADMINISTRATOR;
}

static struct upmu_perf_task *find_task(void *nothing, uint32_t who, int32_t pid, bool *out_may)
{
    (void)nothing;
    *out_may = who == ADMINISTRATOR || pid != (int32_t)TASKS - 1;
    return pid >= (int32_t)CPUS && pid < (int32_t)TASKS && alive[pid] ? &task[pid] : NULL;
}

static size_t read_stack(void *nothing, uint64_t address, void *to, size_t bytes)
{
    (void)nothing;
    memset(to, (int)(address & 0xffu), bytes / 2u);
    return address & 8u ? bytes / 2u : 0;
}

static bool read_caller(void *nothing, uint64_t fp, bool user, uint64_t *out_next, uint64_t *out_return)
{
    (void)nothing;
    *out_next = fp + 16;
    *out_return = user ? fp * 8u : ~fp;
    return fp % 7u != 6u;
}

static const struct upmu_callers callers = {.read = read_caller, .depth = 8};

static uint64_t clock_by_number(void *nothing, int32_t number)
{
    (void)nothing;
    return perf_kernel.sim.now_ns + (uint64_t)number * 1000u;
}

static void wake(void *nothing, struct upmu_perf_event *woken, unsigned what)
{
    bool found = false;

    (void)nothing;
    for (unsigned i = 0; i < FILES; i++)
        found |= event[i] == woken;
    FUZZ_CHECK(found, "an event is woken that is closed");
    FUZZ_CHECK(what && what < 8u, "an event is woken for %u", what);
    FUZZ_CHECK(!(what & UPMU_PERF_WAKE_LIMIT) || what & UPMU_PERF_WAKE_OVERFLOW, "a limit without an overflow");
}

/* ---- The machine ---- */

static bool memory(struct upmu_sim *sim, unsigned cpu, enum upmu_sim_memory_kind kind, uint64_t address, uint8_t *bytes,
                   uint32_t length)
{
    uint64_t at = address - AREA - AREA_STEP * cpu;
    uint8_t *to;

    (void)sim;
    if (cpu >= CPUS || at > UPMU_RECORD_AREA_BYTES + UPMU_RECORD_LEAST_BYTES - length)
        return false;
    to = at < UPMU_RECORD_AREA_BYTES ? record_area[cpu] + at : record_buffer[cpu] + (at - UPMU_RECORD_AREA_BYTES);
    memcpy(kind & UPMU_SIM_MEMORY_WRITE ? to : bytes, kind & UPMU_SIM_MEMORY_WRITE ? bytes : to, length);
    return true;
}

static bool run_on_cpu(void *context, struct upmu_cpu *cpu, void (*function)(void *argument), void *argument)
{
    return reaches && run_of_model(context, cpu, function, argument);
}

static void begin_model(struct upmu_sim *sim)
{
    if (machine->units)
        upmu_sim_uncore_init(&uncore, sim, upmu_sim_machine(machine->units));
    else
        upmu_sim_init(sim, upmu_sim_profile(machine->model), CPUS);
    if (machine->polled)
        sim->port.pmi_rearm = NULL;
    run_of_model = sim->port.run_on_cpu;
    sim->port.run_on_cpu = run_on_cpu;
    sim->memory = memory;
}

/* Memory controllers and readings, so many of each type. */
static bool is_wanted(const char *type, unsigned *taken)
{
    static const char *const wanted[] = {"imc", "power", "msr", "cstate_core"};

    for (unsigned i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (strcmp(type, wanted[i]) == 0)
            return taken[i]++ < UNITS / 4u;
    return false;
}

static void open_units(void)
{
    unsigned taken[4] = {0};

    list = (struct upmu_unit_list){
        .unit = unit_info, .unit_capacity = UPMU_SIM_UNITS, .pmu = unit_pmu, .pmu_capacity = UPMU_UNIT_TYPES};
    for (unsigned i = CPUS; i-- > 0;) {
        upmu_sim_switch_cpu(&perf_kernel.sim, i);
        FUZZ_CHECK(upmu_units_find(&perf_kernel.cpu[i], &list, UPMU_UNITS_EACH_CPU) == UPMU_OK, "units");
    }
    for (unsigned i = 0; i < list.unit_count && unit_count < UNITS; i++) {
        if (!is_wanted(list.pmu[list.unit[i].type].type->name, taken))
            continue;
        units[unit_count] = &unit_memory[unit_count];
        FUZZ_CHECK(upmu_unit_open(units[unit_count], &perf_kernel.machine, &list.unit[i], 1) == UPMU_OK, "a unit");
        unit_count++;
    }
    perf_kernel.perf.units = units;
    perf_kernel.perf.unit_count = unit_count;
}

static void use_records(void)
{
    for (unsigned i = 0; i < CPUS; i++) {
        const struct upmu_record_memory given = {.area = record_area[i],
                                                 .area_linear = AREA + AREA_STEP * i,
                                                 .records = record_buffer[i],
                                                 .records_linear = AREA + AREA_STEP * i + UPMU_RECORD_AREA_BYTES,
                                                 .record_bytes = UPMU_RECORD_LEAST_BYTES};

        upmu_sim_switch_cpu(&perf_kernel.sim, i);
        FUZZ_CHECK(upmu_cpu_use_records(&perf_kernel.cpu[i], &given, NULL) == UPMU_OK, "memory of records");
    }
}

static void set_up(struct fuzz_bytes *bytes)
{
    uint8_t how = fuzz_u8(bytes), takes = fuzz_u8(bytes);
    const char *missing;

    machine = &machines[how % (sizeof machines / sizeof *machines)];
    unit_count = 0;
    reaches = true;
    perf_kernel_model = begin_model;
    perf_kernel_second = machine->second ? upmu_sim_profile(machine->second) : NULL;
    missing = perf_kernel_set_up(NULL, task, takes & 1u ? 20u + takes : 1000u);
    FUZZ_CHECK(!missing, "%s", missing);
    if (machine->units)
        open_units();
    if (machine->precise)
        use_records();
    perf_kernel.perf.paranoid = (how >> 3 & 3) - 1;
    perf_kernel.perf.may_all = may_all;
    perf_kernel.perf.copy_in = copy_in;
    perf_kernel.perf.copy_out = copy_out;
    perf_kernel.perf.find_task = find_task;
    perf_kernel.perf.event_of = event_of;
    perf_kernel.perf.tick_rate = how & 32u ? 5000 : 0;
    perf_kernel.perf.most_events = how & 64u ? 8 : 0;
    perf_kernel.perf.registers = 0xff0fff;
    perf_kernel.perf.read_stack = read_stack;
    perf_kernel.perf.callers = &callers;
    perf_kernel.perf.clock_of = clock_by_number;
    perf_kernel.perf.wake = wake;
    perf_kernel.perf.frames_of_notes = how & 128u;
    perf_kernel.registers = registers;
    perf_kernel.register_mask = 0xffff;
    memset(last, 0, sizeof last);
    executed = copies_left = 0;
    caller = ADMINISTRATOR;
    begin_program();
}

/* ---- What must hold ---- */

static int64_t known(int64_t result)
{
    static const uint8_t errors[] = {
        UPMU_PERF_EPERM,  UPMU_PERF_ENOENT, UPMU_PERF_ESRCH,  UPMU_PERF_EIO,    UPMU_PERF_E2BIG,     UPMU_PERF_EBADF,
        UPMU_PERF_ENOMEM, UPMU_PERF_EACCES, UPMU_PERF_EFAULT, UPMU_PERF_EBUSY,  UPMU_PERF_ENODEV,    UPMU_PERF_EINVAL,
        UPMU_PERF_EMFILE, UPMU_PERF_ENOTTY, UPMU_PERF_ENOSPC, UPMU_PERF_EOVERFLOW, UPMU_PERF_EOPNOTSUPP};

    for (unsigned i = 0; i < sizeof errors; i++)
        if (result == -(int64_t)errors[i])
            return result;
    FUZZ_CHECK(result >= 0, "result %lld", (long long)result);
    return result;
}

static void reach(bool all)
{
    reaches = all;
}

/* The program reads the count in its page, whose event has this count by read(). */
static void check_page(unsigned file, uint64_t value)
{
    const struct upmu_perf_page *page = mappings[file].pages[0];
    struct upmu_sim *sim = &perf_kernel.sim;
    uint64_t count, counter = 0;
    unsigned cpu = 0;
    uintptr_t irq;

    if (!mappings[file].count || !mappings[file].honest || !(page->capabilities & UPMU_PERF_PAGE_RDPMC))
        return;
    FUZZ_CHECK(!(page->lock & 1u), "file %u: its page is being written", file);
    count = (uint64_t)page->offset;
    while (page->index && cpu < CPUS && perf_kernel.running[cpu] != event[file]->task)
        cpu++;
    if (page->index) {
        unsigned shift = 64u - page->pmc_width;

        FUZZ_CHECK(cpu < CPUS && perf_kernel.reads[cpu], "file %u: RDPMC is not allowed", file);
        upmu_sim_switch_cpu(sim, cpu);
        irq = sim->port.irq_save(sim->port.context);
        FUZZ_CHECK(sim->port.rdpmc(sim->port.context, page->index - 1u, &counter), "file %u: RDPMC faults", file);
        sim->port.irq_restore(sim->port.context, irq);
        count += (uint64_t)((int64_t)(counter << shift) >> shift);
    }
    FUZZ_CHECK(count == value, "file %u: %llu in its page, %llu read", file, (unsigned long long)count,
               (unsigned long long)value);
}

/* Counts that this machine's bursts cannot exceed: cycles, instructions, branches without a mode or precision. */
static bool is_bounded(const struct upmu_perf_event *of)
{
    return of->attr.type == UPMU_PERF_TYPE_HARDWARE && (of->attr.config & 0xffffffffu) <= 5u;
}

static void read_event(unsigned file, size_t bytes)
{
    static uint64_t words[READ_WORDS];
    uint64_t format;
    size_t needed;
    int64_t got;

    if (!event[file])
        return;
    format = event[file]->attr.read_format;
    needed = upmu_perf_read_bytes(format, upmu_perf_group_size(event[file]->leader));
    memset(words, UNWRITTEN, sizeof words);
    got = known(upmu_perf_read(event[file], words, bytes));
    FUZZ_CHECK(got <= 0 || (size_t)got == needed, "%lld bytes of %zu", (long long)got, needed);
    FUZZ_CHECK(got <= 0 || needed <= bytes, "%zu bytes where there is room for %zu", needed, bytes);
    for (size_t i = got < 0 || bytes < needed ? bytes : (size_t)got; i < sizeof words; i++)
        FUZZ_CHECK(((uint8_t *)words)[i] == UNWRITTEN, "byte %zu behind a read was written", i);
    if (got <= 0 || copies_left)
        return;
    if (format & UPMU_PERF_READ_GROUP) {
        FUZZ_CHECK(words[0] == upmu_perf_group_size(event[file]->leader), "%u members", (unsigned)words[0]);
        return;
    }
    if (format & UPMU_PERF_READ_ENABLED && format & UPMU_PERF_READ_RUNNING)
        FUZZ_CHECK(words[2] <= words[1], "file %u: it ran longer than it was enabled", file);
    FUZZ_CHECK(!is_bounded(event[file]) || words[0] <= executed, "file %u: %llu counted, %llu executed", file,
               (unsigned long long)words[0], (unsigned long long)executed);
    FUZZ_CHECK(words[0] >= last[file], "file %u: %llu counted before, %llu now", file, (unsigned long long)last[file],
               (unsigned long long)words[0]);
    last[file] = words[0];
    check_page(file, words[0]);
}

/* ---- Steps ---- */

/* The type and the words of a request. */
static void draw_event(struct upmu_perf_attr *attr, uint64_t *random)
{
    static const uint32_t types[] = {UPMU_PERF_TYPE_HARDWARE, UPMU_PERF_TYPE_HARDWARE, UPMU_PERF_TYPE_HARDWARE,
                                     UPMU_PERF_TYPE_SOFTWARE, UPMU_PERF_TYPE_CACHE,    UPMU_PERF_TYPE_RAW,
                                     UPMU_PERF_TYPE_RAW,      UPMU_PERF_TYPE_OTHER,    UPMU_PERF_TYPE_OTHER + 1,
                                     UPMU_PERF_TYPE_UNIT};
    static const uint64_t raw[] = {0xc0, 0x3c, 0xc4, 0x1cd, 0x81d0, 0x304, 0x5300c0, 0xc2, 0x76};
    uint64_t more = fuzz_random(random);

    attr->type = types[fuzz_below(random, sizeof types / sizeof *types)];
    if (machine->units && more % 3u)
        attr->type = UPMU_PERF_TYPE_UNIT + fuzz_below(random, unit_count + 1u);
    else if (attr->type >= UPMU_PERF_TYPE_OTHER && !machine->second && more & 0xf00u)
        attr->type = more & 0x100u ? UPMU_PERF_TYPE_RAW : UPMU_PERF_TYPE_HARDWARE;
    if (attr->type == UPMU_PERF_TYPE_HARDWARE)
        attr->config = fuzz_below(random, more & 8u ? 2 : 10) |
                       (more & (machine->second ? 0x10u : 0xf0u) ? 0 : (more >> 12 & 15u) << 32);
    else if (attr->type == UPMU_PERF_TYPE_SOFTWARE)
        attr->config = fuzz_below(random, UPMU_PERF_SOFTWARE_EVENTS);
    else if (attr->type == UPMU_PERF_TYPE_CACHE)
        attr->config = fuzz_below(random, 7) | fuzz_below(random, 3) << 8 | fuzz_below(random, 2) << 16;
    else
        attr->config = more & 48u ? raw[fuzz_below(random, sizeof raw / sizeof *raw)] : fuzz_word(random);
    if (attr->config == 0x1cd)
        attr->config1 = 3;
    else if (more & 64u && more & 128u)
        attr->config1 = fuzz_word(random);
}

/* What a request says of samples. */
static void draw_samples(struct upmu_perf_attr *attr, uint64_t *random)
{
    uint64_t more = fuzz_random(random);

    attr->sample_period = more & 1u ? 1u + fuzz_below(random, 200) : fuzz_word(random) >> (more >> 1 & 63u);
    attr->sample_type = fuzz_random(random) & UPMU_PERF_SAMPLES & (more & 128u ? fuzz_random(random) : UINT64_MAX);
    attr->sample_regs_user = fuzz_random(random) & 0xff0fff;
    attr->sample_regs_intr = fuzz_random(random) & 0xff0fff;
    attr->sample_stack_user = fuzz_below(random, 256) * (more & 512u ? 8u : 256u);
    attr->sample_max_stack = (uint16_t)fuzz_below(random, more & 1024u ? 8 : 140);
    attr->wakeup = fuzz_below(random, more & 2048u ? 4 : 5000);
    attr->clockid = (int32_t)fuzz_below(random, 12);
    if ((more >> 15 & 3u) == 0) {
        attr->flags |= UPMU_PERF_FREQ;
        attr->sample_period = 1u + fuzz_below(random, 100000);
    }
    if (more >> 12 & 1u)
        attr->flags |= (more >> 13 & 3u) << 15; /* precise_ip */
}

/* Take out of a request what Linux refuses of any event, and most of what this layer refuses. */
static void settle(struct upmu_perf_attr *attr, uint64_t more)
{
    static const int32_t clocks[] = {0, 1, 4, 7, 11};
    const uint64_t modes = UPMU_PERF_EXCLUDE_USER | UPMU_PERF_EXCLUDE_KERNEL;

    attr->flags &= ~(UPMU_PERF_SIGTRAP | UPMU_PERF_EXCLUDE_HOST | UPMU_PERF_NAMESPACES | UPMU_PERF_AUX_OUTPUT);
    if (!(attr->flags & UPMU_PERF_INHERIT))
        attr->flags &= ~UPMU_PERF_INHERIT_THREAD;
    if (attr->flags & UPMU_PERF_ENABLE_ON_EXEC)
        attr->flags &= ~UPMU_PERF_REMOVE_ON_EXEC;
    if ((attr->flags & modes) == modes)
        attr->flags ^= more & 1u ? UPMU_PERF_EXCLUDE_USER : UPMU_PERF_EXCLUDE_KERNEL;
    if (!attr->sample_period)
        attr->flags &= ~UPMU_PERF_PRECISE;
    if (!machine->precise || more & 6u)
        attr->flags &= ~UPMU_PERF_PRECISE;
    attr->clockid = clocks[more % 5u];
    attr->sample_type &= ~(UPMU_PERF_SAMPLE_RAW | UPMU_PERF_SAMPLE_BRANCH_STACK | UINT64_C(31) << 19);
    if (attr->sample_type & UPMU_PERF_SAMPLE_WEIGHT)
        attr->sample_type &= ~UPMU_PERF_SAMPLE_WEIGHT_STRUCT;
    if (attr->sample_type & UPMU_PERF_SAMPLE_READ) {
        attr->sample_type |= UPMU_PERF_SAMPLE_TID;
        attr->read_format &= ~(UPMU_PERF_READ_ENABLED | UPMU_PERF_READ_RUNNING);
    }
    attr->sample_regs_user |= 1u;
    attr->sample_regs_intr |= 1u;
    attr->sample_stack_user &= 0xfff8u;
    attr->sample_max_stack %= 128u;
}

static struct upmu_perf_attr draw_attr(uint64_t *random)
{
    struct upmu_perf_attr attr = {.size = sizeof attr};
    uint64_t more = fuzz_random(random);

    attr.flags = fuzz_random(random) & fuzz_random(random) & UPMU_PERF_FLAGS & ~UPMU_PERF_AUX_OUTPUT;
    attr.flags &= more & 1u ? UPMU_PERF_DISABLED | UPMU_PERF_INHERIT | UPMU_PERF_EXCLUDE_USER | UPMU_PERF_TASK |
                                  UPMU_PERF_COMM | UPMU_PERF_MMAP2 | UPMU_PERF_CONTEXT_SWITCH
                            : fuzz_random(random);
    attr.flags &= ~(UPMU_PERF_PINNED | UPMU_PERF_EXCLUSIVE);
    if (!(more & 14u))
        attr.flags |= more & 16u ? UPMU_PERF_PINNED : UPMU_PERF_EXCLUSIVE;
    draw_event(&attr, random);
    attr.read_format = fuzz_random(random) & (more & 32u ? 7u : UPMU_PERF_READS);
    if (more & 64u && attr.type < UPMU_PERF_TYPE_UNIT)
        draw_samples(&attr, random);
    if (attr.type >= UPMU_PERF_TYPE_UNIT && more & 0x380u) { /* an event of an imc, or a reading */
        attr.flags &= UPMU_PERF_DISABLED;
        attr.config = more & 0x4000u ? machine->word : more >> 15 & 3u;
        attr.config1 = 0;
    }
    if (more & 0x700u)
        settle(&attr, more >> 11);
    return attr;
}

static void open_event(struct fuzz_bytes *bytes)
{
    uint64_t random = fuzz_u32(bytes), more;
    uint8_t target = fuzz_u8(bytes), changed = fuzz_u8(bytes);
    struct upmu_perf_attr attr;
    union {
        struct upmu_perf_attr attr;
        uint8_t bytes[UPMU_PERF_ATTR_BYTES_MOST];
    } program;
    int pid = target & 1u ? -1 : (int)(target >> 1 & 7u), on = target & 16u ? (int)(target >> 5 & 1u) : -1, group = -1;
    unsigned file = 0;

    random += !random;
    more = fuzz_random(&random);
    attr = draw_attr(&random);
    if (attr.type >= UPMU_PERF_TYPE_UNIT && more & 3u)
        pid = -1;
    if (pid == -1 && more & 12u)
        on = (int)(target >> 5 & 1u);
    else if (pid != -1 && more & 12u && !(pid >= (int)CPUS && pid < (int)TASKS && alive[pid]))
        pid = (int)CPUS;
    if (target & 64u && !(attr.type >= UPMU_PERF_TYPE_UNIT && target & 128u)) { /* often as its leader is */
        unsigned leader = any_file(target >> 1);

        group = FIRST_FILE + (int)leader;
        for (unsigned i = 0; i < TASKS && event[leader] && more & 48u; i++)
            if (event[leader]->of_task ? event[leader]->task == &task[i] : !i)
                pid = event[leader]->of_task ? (int)i : -1;
        if (event[leader] && more & 48u) {
            on = event[leader]->cpu;
            attr.flags = (attr.flags & ~UPMU_PERF_INHERIT & ~UPMU_PERF_PINNED & ~UPMU_PERF_EXCLUSIVE) |
                         (event[leader]->attr.flags & UPMU_PERF_INHERIT);
        }
    }
    memset(&program, 0, sizeof program);
    program.attr = attr;
    if (changed && changed < 24u)
        program.bytes[more >> 16 & 255u] ^= changed;
    while (file < FILES && event[file])
        file++;
    if (file == FILES)
        return;
    event[file] = malloc(sizeof *event[file]);
    memset(event[file], 0xa5, sizeof *event[file]);
    if (known(upmu_perf_open(&perf_kernel.perf, caller, event[file], &program, pid, on, group,
                             more >> 24 & 15u ? 0 : more >> 28 & 31u)) != 0) {
        free(event[file]);
        event[file] = NULL;
    }
    last[file] = 0;
}

static void map_event(unsigned file, uint8_t how)
{
    struct mapping *mapping = &mappings[file];
    unsigned count = 1u + (how & 3u) % 3u;

    if (!event[file] || mapping->count)
        return;
    take_pages(mapping, 1 + DATA_PAGES);
    mapping->honest = how & 4u;
    if (known(upmu_perf_map(event[file], mapping->pages, how & 8u ? count : 1u + 2u * (how >> 4 & 1u), how & 32u)) != 0)
        pages_are_gone(mapping);
}

static void close_event(unsigned file)
{
    if (!event[file] || known(upmu_perf_close(event[file])) != 0)
        return;
    pages_are_gone(&mappings[file]);
    memset(event[file], 0xa5, sizeof *event[file]);
    free(event[file]);
    event[file] = NULL;
}

/* Any command, with an argument that is a number, or memory of the program. */
static void control(unsigned file, struct fuzz_bytes *bytes)
{
    static const uint32_t commands[] = {
        UPMU_PERF_IOC_ENABLE,     UPMU_PERF_IOC_DISABLE,      UPMU_PERF_IOC_REFRESH,   UPMU_PERF_IOC_RESET,
        UPMU_PERF_IOC_PERIOD,     UPMU_PERF_IOC_SET_OUTPUT,   UPMU_PERF_IOC_ID,        UPMU_PERF_IOC_SET_BPF,
        UPMU_PERF_IOC_SET_FILTER, UPMU_PERF_IOC_PAUSE_OUTPUT, UPMU_PERF_IOC_QUERY_BPF, UPMU_PERF_IOC_MODIFY_ATTRIBUTES,
        UPMU_PERF_IOC_ID_32,      UPMU_PERF_IOC_ENABLE,       UPMU_PERF_IOC_DISABLE,   UPMU_PERF_IOC_SET_OUTPUT};
    uint8_t what = fuzz_u8(bytes);
    uint32_t random = fuzz_u32(bytes), command = what & 128u && what & 64u ? random : commands[what & 15u];
    union {
        struct upmu_perf_attr attr;
        uint64_t word[17];
    } program = {.word = {what & 16u ? random : random & 255u}};
    uint64_t argument = what & 32u ? random : random & 1u;

    if (!event[file])
        return;
    if (command == UPMU_PERF_IOC_SET_OUTPUT)
        argument = what & 32u ? UINT64_MAX : FIRST_FILE + any_file(random);
    else if (command >> 30 || command == UPMU_PERF_IOC_ID)
        argument = (uintptr_t)&program;
    if (command == UPMU_PERF_IOC_MODIFY_ATTRIBUTES)
        program.attr = (struct upmu_perf_attr){.type = random & 3u, .size = sizeof program.attr};
    if (command == UPMU_PERF_IOC_PAUSE_OUTPUT)
        argument = random & 1u;
    if (command == UPMU_PERF_IOC_RESET)
        memset(last, 0, sizeof last);
    (void)known(upmu_perf_ioctl(event[file], caller, command, argument));
}

static void stay_at(const struct upmu_perf_task *of)
{
    for (unsigned i = 0; i < CPUS; i++)
        if (perf_kernel.running[i] == of || (of->perf && of->cpu == i))
            upmu_sim_switch_cpu(&perf_kernel.sim, i);
    for (unsigned i = 0; i < CPUS; i++)
        if (perf_kernel.running[i] == of)
            upmu_sim_switch_cpu(&perf_kernel.sim, i);
}

static void fork_task(unsigned parent, bool is_thread)
{
    unsigned child = free_task();

    if (child == TASKS || !alive[parent])
        return;
    stay_at(&task[parent]);
    upmu_perf_task_init(&task[child], is_thread ? parent : child, child);
    if (known(upmu_perf_fork(&task[parent], &task[child], is_thread)) != 0) {
        FUZZ_CHECK(!task[child].events, "events of a child without memory");
        return;
    }
    alive[child] = true;
}

static void exec_task(unsigned which, bool others_may_watch)
{
    if (!alive[which])
        return;
    stay_at(&task[which]);
    if (known(upmu_perf_exec(&task[which], others_may_watch)) == 0)
        return;
    reach(true);
    FUZZ_CHECK(upmu_perf_exec(&task[which], others_may_watch) == 0, "exec");
}

static void exit_task(unsigned which)
{
    if (!alive[which])
        return;
    leave_cpus(which);
    stay_at(&task[which]);
    if (upmu_perf_exit(&task[which]) != UPMU_OK) {
        reach(true);
        FUZZ_CHECK(upmu_perf_exit(&task[which]) == UPMU_OK, "exit");
    }
    alive[which] = false;
    memset(&task[which], 0xa5, sizeof task[which]);
}

/* What a task tells: its name, a mapping, a page fault, a move. */
static void tell(unsigned which, uint8_t how)
{
    const struct upmu_frame frame = {.ip = 7, .fp = how, .user = how & 4u, .registers = registers, .register_mask = 3};
    unsigned cpu = 0;

    if (!alive[which])
        return;
    stay_at(&task[which]);
    while (cpu < CPUS && perf_kernel.running[cpu] != &task[which])
        cpu++;
    if (how & 24u)
        tell_name_or_mapping(which, how);
    else if (cpu == CPUS)
        return;
    else if (perf_kernel.perf.frames_of_notes)
        upmu_perf_note_frame(&perf_kernel.perf, cpu, &task[which], how & 3u, how, how & 32u ? NULL : &frame);
    else
        upmu_perf_note(&perf_kernel.perf, cpu, &task[which], how & 3u, how & 4u);
}

static void tick(unsigned cpu, uint8_t how)
{
    const struct upmu_frame frame = {
        .ip = how, .fp = how, .user = how & 8u, .registers = registers, .register_mask = how & 16u ? 0 : 0xffff};

    upmu_sim_switch_cpu(&perf_kernel.sim, cpu);
    FUZZ_CHECK(upmu_cpu_tick(&perf_kernel.cpu[cpu]) == UPMU_OK, "tick");
    upmu_sim_advance_ns(&perf_kernel.sim, how * 100u);
    upmu_perf_tick(&perf_kernel.perf, cpu, how & 4u ? &frame : NULL);
}

static void work(unsigned cpu, uint8_t how)
{
    uint64_t amount = 1u + how * (how & 1u ? 16u : 1u);

    upmu_sim_switch_cpu(&perf_kernel.sim, cpu);
    executed += amount;
    upmu_sim_events(&perf_kernel.sim, &(struct upmu_sim_burst){.instructions = amount,
                                                               .cycles = amount,
                                                               .ref_cycles = amount,
                                                               .branches = amount / 4,
                                                               .mispredicts = amount / 16,
                                                               .llc_references = amount / 8,
                                                               .llc_misses = amount / 32,
                                                               .other = {{amount, .event = 0xd0, .umask = 0x81},
                                                                         {amount, .event = 0xcd, .umask = 1}},
                                                               .user = how & 2u,
                                                               .ip = 0x400000,
                                                               .ip_step = 4,
                                                               .data = 0x7fff1000,
                                                               .data_step = 8,
                                                               .latency = UINT64_C(0xdc00000023),
                                                               .registers = registers});
    if (machine->units) {
        struct upmu_sim_unit *controller = upmu_sim_unit(&uncore, "imc", cpu, how & 1u);

        if (controller)
            upmu_sim_happen(&uncore, controller,
                            &(struct upmu_sim_happening){.event = 4, .umask = 3, .count = amount});
    }
}

static void emit(void *nothing, const char *path, const char *text)
{
    (void)nothing;
    FUZZ_CHECK(path[0] == '/' && strlen(path) < 200 && strlen(text) < 4096, "file %s", path);
}

/* The program, the host or the machine changes. */
static void change(unsigned file, uint8_t how)
{
    switch (how & 7u) {
    case 0:
        reach(how & 8u);
        break;
    case 1:
        caller = how & 8u ? USER : ADMINISTRATOR;
        break;
    case 2:
        copies_left = how & 24u ? 0 : 1u + (how >> 5);
        break;
    case 3:
        perf_kernel.takes = how & 24u ? 1000u : how >> 5;
        break;
    case 4:
        upmu_perf_files(&perf_kernel.perf, emit);
        break;
    case 5:
        if (event[file])
            (void)upmu_perf_poll(event[file]);
        break;
    default:
        if (event[file] && mappings[file].count && known(upmu_perf_unmap(event[file])) == 0)
            pages_are_gone(&mappings[file]);
    }
}

/* The program writes its pages. */
static void use_pages(unsigned file, struct fuzz_bytes *bytes)
{
    struct mapping *mapping = &mappings[file];
    struct upmu_perf_page *page = mapping->pages[0];
    uint8_t how = fuzz_u8(bytes);
    uint64_t random = fuzz_u32(bytes);

    if (!event[file] || !mapping->count)
        return;
    if (mapping->honest)
        page->tail.whole = page->head.whole;
    else if (how & 1u)
        page->tail.whole = how & 2u ? random << 16 : page->head.whole - (how >> 2);
    else
        memset((uint8_t *)mapping->pages[how % (1 + DATA_PAGES)] + random % (UPMU_PERF_PAGE_BYTES - 15u),
               (int)(random >> 24), 16);
}

static void step(struct fuzz_bytes *bytes)
{
    uint8_t what = fuzz_u8(bytes), argument = fuzz_u8(bytes);
    unsigned which = argument % TASKS, file = any_file(argument % FILES);

    fuzz_calls++;
    switch (what % 20u) {
    case 0:
    case 1:
    case 2:
    case 3:
        open_event(bytes);
        break;
    case 4:
        close_event(file);
        break;
    case 5:
    case 6:
        control(file, bytes);
        break;
    case 7:
        read_event(file, argument & 128u ? READ_WORDS * 8u : argument / 12u * 8u);
        break;
    case 8:
        map_event(file, argument >> 2 ^ what);
        break;
    case 9:
        use_pages(file, bytes);
        break;
    case 10:
        if (which >= CPUS)
            fork_task(which, argument & 64u);
        break;
    case 11:
        if (which >= CPUS)
            exec_task(which, argument & 192u);
        break;
    case 12:
        if (which > CPUS)
            exit_task(which);
        break;
    case 13:
    case 14:
        switch_task(argument >> 7, which);
        break;
    case 15:
        tick(argument & 1u, argument);
        break;
    case 16:
        tell(which, argument >> 2);
        break;
    case 17:
        change(file, argument);
        break;
    default:
        work(argument & 1u, argument);
        break;
    }
    if (!copies_left)
        for (unsigned i = 0; i < FILES; i++)
            read_event(i, READ_WORDS * 8u);
}

static void end(void)
{
    reach(true);
    copies_left = 0;
    for (unsigned i = 0; i < FILES; i++)
        close_event(i);
    for (unsigned i = 0; i < FILES; i++) {
        FUZZ_CHECK(!event[i], "file %u cannot be closed", i);
        check_pages(&mappings[i]);
    }
    FUZZ_CHECK(!perf_kernel.perf.events, "%u events are left", (unsigned)perf_kernel.perf.events);
    for (unsigned i = CPUS; i < TASKS; i++)
        exit_task(i);
    for (unsigned i = 0; i < unit_count; i++)
        FUZZ_CHECK(upmu_unit_close(units[i]) == UPMU_OK, "unit %u does not end", i);
    check_end();
}

static void run_all(const uint8_t *input, size_t length)
{
    struct fuzz_bytes bytes = {input, input + length};

    set_up(&bytes);
    while (fuzz_more(&bytes))
        step(&bytes);
    end();
}

static void make_all(uint64_t *random, struct fuzz_draft *draft)
{
    unsigned length = 100 + fuzz_below(random, FUZZ_INPUT - 100u);

    while (draft->length < length)
        fuzz_put(draft, fuzz_random(random), 1);
}

/* The test of the corpus ends in _corpus; that of made inputs is nothing_is_counted_that_was_not_executed_seeded. */
const struct fuzz_target fuzz_target = {.name = "perf_all",
                                        .holds = "nothing_is_counted_that_was_not_executed",
                                        .runs = 2000,
                                        .runs_of_soak = 200000,
                                        .run = run_all,
                                        .make = make_all};
