/* SPDX-License-Identifier: MIT */
/*
 * Fuzzing: a guest with two CPUs calls the paravirtual PMU with anything, and its memory holds anything and changes
 * with each word that the host has read.  The host's session counts what the host executed, to the last event; the
 * host stores only where memory is pinned; all is given back; the model saw nothing forbidden; in the end every
 * register is as it was found.
 */
#include <stdio.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

#include "tests/guest/guest_sources.h"
#include "abi/paravirt/pv_core.h"

/* The guest changes a word as soon as the host has read it. */
static bool flips;

static uint64_t load_and_flip(const uint64_t *field)
{
    uint64_t value = pv_load64(field);

    if (flips)
        *(uint64_t *)(uintptr_t)field = ~value;
    return value;
}

#define pv_load64 load_and_flip
#include "abi/paravirt/pv_select.c"
#include "abi/paravirt/pv_call.c"
#include "abi/paravirt/pv_events.c"
#include "abi/paravirt/pv_page.c"

#include "tests/fuzz/guest_host.h"

#define COUNT(array) (unsigned)(sizeof(array) / sizeof(array)[0])
#define STEPS 400u
#define SESSIONS 8u
#define EVENTS 5u
#define RAM_BASE UINT64_C(0x1230000000)
#define PAGE 4096u
#define PAGES 3u /* of RAM; behind it nothing may be touched */

static struct vcpu {
    struct upmu_guest guest;
    struct upmu_pv_vcpu pv;
    struct upmu_thread thread;
    struct upmu_session sessions[SESSIONS];
} vcpus[2];

static struct upmu_pv pv;
static struct upmu_pv_event events[EVENTS];
static struct vcpu *present; /* on the CPU, or NULL */
static bool inside;
static uint8_t ram[(PAGES + 1u) * PAGE] __attribute__((aligned(4096)));
static unsigned pinned[PAGES];
static uint64_t prepared; /* address of the last parameter */

static const char *const profiles[] = {"skylake", "core2", "icelake", "zen4", "zen2", "yonah"};

/* ---- The guest's memory ---- */

static bool is_ram(uint64_t address, size_t bytes)
{
    return address >= RAM_BASE && bytes <= PAGES * PAGE && address - RAM_BASE <= PAGES * PAGE - bytes;
}

static bool copy_in(void *context, void *to, uint64_t address, size_t bytes)
{
    (void)context;
    if (!is_ram(address, bytes))
        return false;
    memcpy(to, ram + (address - RAM_BASE), bytes);
    for (size_t i = 0; flips && i < bytes; i++)
        ram[address - RAM_BASE + i] ^= 0xff;
    return true;
}

static void *pin(void *context, uint64_t address, size_t bytes)
{
    (void)context;
    if (!is_ram(address, bytes))
        return NULL;
    FUZZ_CHECK(address % PAGE + bytes <= PAGE, "memory over the end of a page is pinned");
    pinned[(address - RAM_BASE) / PAGE]++;
    return ram + (address - RAM_BASE);
}

static void unpin(void *context, void *memory, size_t bytes)
{
    size_t page = (size_t)((uint8_t *)memory - ram) / PAGE;

    (void)context, (void)bytes;
    FUZZ_CHECK(page < PAGES && pinned[page], "memory is given back that was not pinned");
    pinned[page]--;
}

static const struct upmu_pv_hooks hooks = {.copy_in = copy_in, .pin = pin, .unpin = unpin};

/* ---- Steps ---- */

static void leave(void)
{
    if (inside)
        FUZZ_CHECK(upmu_guest_exit(&present->guest) == UPMU_OK, "exit");
    inside = false;
}

static void enter(void)
{
    struct upmu_guest_entry entry;

    if (inside || !present)
        return;
    FUZZ_CHECK(upmu_pv_enter(&present->pv, &entry) == UPMU_OK, "entry");
    inside = true;
    fuzz_calls++;
}

static void go(struct vcpu *to)
{
    leave();
    if (present == to)
        return;
    FUZZ_CHECK(upmu_thread_switch(&cpu, present ? &present->thread : &idle, to ? &to->thread : &idle) == UPMU_OK,
               "switch");
    present = to;
}

static void burst(unsigned instructions, bool user)
{
    if (!inside)
        executed += instructions;
    host_events(instructions, user);
}

/* Nothing is stored to pages that are not pinned, nor behind the last one. */
static void call(uint32_t operation, uint32_t first, uint32_t second)
{
    static uint8_t before[sizeof ram];
    bool was[PAGES];
    uint32_t answer;

    if (!present)
        return;
    leave();
    memcpy(before, ram, sizeof ram);
    for (unsigned i = 0; i < PAGES; i++)
        was[i] = pinned[i] || flips;
    answer = upmu_pv_call(&present->pv, operation, first, second);
    fuzz_calls++;
    FUZZ_CHECK(answer <= UPMU_PV_BAD_PERIOD, "answer %u", (unsigned)answer);
    FUZZ_CHECK(memcmp(before + PAGES * PAGE, ram + PAGES * PAGE, PAGE) == 0, "the host stored behind the RAM");
    for (unsigned i = 0; i < PAGES; i++)
        FUZZ_CHECK(was[i] || pinned[i] || memcmp(before + i * PAGE, ram + i * PAGE, PAGE) == 0,
                   "the host stored where nothing is pinned");
}

/* An operation with arguments as a driver would have them. */
static void usual_call(struct fuzz_bytes *in)
{
    static const uint8_t operations[] = {UPMU_PV_OPEN, UPMU_PV_OPEN,  UPMU_PV_ENABLE, UPMU_PV_DISABLE,
                                         UPMU_PV_READ, UPMU_PV_CLOSE, UPMU_PV_MAP,    UPMU_PV_GATE,
                                         UPMU_PV_GATE, UPMU_PV_GATE,  UPMU_PV_UNMAP,  UPMU_PV_READ_ALL};
    uint32_t operation = operations[fuzz_u8(in) % COUNT(operations)];
    uint8_t what = fuzz_u8(in);
    uint64_t address = RAM_BASE + (operation == UPMU_PV_MAP ? what % PAGES * PAGE : what * 8u);

    /* (A guest of events maps its page seldom, or it would have none.) */
    if (operation == UPMU_PV_MAP && pv.event_count && what & 0xe0u)
        operation = UPMU_PV_OPEN;
    if (operation == UPMU_PV_OPEN && what & 15u)
        address = prepared;
    if (operation == UPMU_PV_OPEN || operation == UPMU_PV_MAP)
        call(operation, (uint32_t)address, (uint32_t)(address >> 32));
    else
        call(operation, operation >= UPMU_PV_MAP ? what & 31u : what & 7u, 0);
}

/* The wish of a slot, in each page; or the parameter, attribute and area of an event. */
static void prepare(struct fuzz_bytes *in, bool wish)
{
    unsigned where = fuzz_u8(in);
    uint64_t config = fuzz_u8(in) % 12u;

    if (wish) {
        struct upmu_pv_page *page = (struct upmu_pv_page *)(void *)(ram + where % PAGES * PAGE);

        page->wish[where / PAGES % 6u] = (struct upmu_pv_wish){
            .config = config | (uint64_t)fuzz_u8(in) << 56 | UPMU_PV_WISH_USED,
            .load = (uint64_t)where << 48 | (fuzz_u32(in) & 0xfffffu) | UINT64_C(0xfffffff00000)};
    } else {
        uint64_t address = RAM_BASE + where * 8u;
        struct upmu_pv_param param = {.attr_addr = address + 64, .area_addr = address + 256, .id = where & 7u};
        struct upmu_pv_attr attr = {.config = config, .sample_period = fuzz_u8(in) & 1u ? fuzz_u32(in) & 0xfffffu : 0};

        prepared = address;
        memcpy(ram + where * 8u, &param, sizeof param);
        memcpy(ram + where * 8u + 64, &attr, sizeof attr);
    }
}

static void begin_vcpu(struct vcpu *vcpu)
{
    FUZZ_CHECK(upmu_pv_vcpu_init(&vcpu->pv, &pv, &vcpu->guest) == UPMU_OK, "vCPU");
}

static void step(struct fuzz_bytes *in)
{
    uint8_t what = fuzz_u8(in);

    switch (what % 16) {
    case 0:
        go(what & 0xc0 ? &vcpus[what >> 7] : NULL);
        break;
    case 1:
    case 2:
    case 3:
        enter();
        burst((unsigned)fuzz_take(in, 1 + (what >> 7)), what & 0x40);
        break;
    case 4:
        leave();
        burst((unsigned)fuzz_take(in, 1), what & 0x40);
        break;
    case 5:
        call(fuzz_u8(in) & 31u, fuzz_u32(in), fuzz_u8(in));
        break;
    case 6:
    case 7:
        prepare(in, what & 0x40);
        break;
    case 8: {
        unsigned at = (unsigned)fuzz_take(in, 2) % (PAGES * PAGE / 8u);
        uint64_t word = fuzz_u64(in);

        memcpy(ram + 8u * at, &word, sizeof word);
        break;
    }
    case 9:
        flips = what & 0x40;
        break;
    case 10:
        leave();
        FUZZ_CHECK(what & 0x40 ? upmu_cpu_tick(&cpu) == UPMU_OK : upmu_cpu_poll(&cpu) == UPMU_OK, "tick");
        break;
    case 11:
        if (!present || fuzz_u8(in) & 15u)
            break;
        leave();
        upmu_pv_vcpu_fini(&present->pv);
        upmu_guest_reset(&present->guest);
        begin_vcpu(present);
        break;
    default:
        usual_call(in);
        break;
    }
}

/* ---- A run ---- */

static void begin(const char *profile, struct fuzz_bytes *in)
{
    static const struct upmu_guest_policy policies[] = {
        {.level = UPMU_GUEST_ALL, .flags = UPMU_GUEST_BESIDE_STRANGERS, .min_period = 1},
        {.level = UPMU_GUEST_ARCH, .flags = UPMU_GUEST_BESIDE_STRANGERS},
        {.level = UPMU_GUEST_IPC, .min_period = 100}};
    const struct upmu_guest_policy *policy = &policies[fuzz_u8(in) % COUNT(policies)];

    host_begin(profile);
    memset(ram, 0, sizeof ram);
    memset(pinned, 0, sizeof pinned);
    present = NULL;
    inside = flips = false;
    prepared = RAM_BASE;
    FUZZ_CHECK(upmu_pv_init(&pv, &hooks, events, fuzz_u8(in) % (EVENTS + 1u)) == UPMU_OK, "guest");
    for (unsigned i = 0; i < COUNT(vcpus); i++) {
        struct vcpu *vcpu = &vcpus[i];
        struct upmu_guest_shape shape;

        memset(vcpu, 0, sizeof *vcpu);
        upmu_thread_init(&vcpu->thread, 1, 1, NULL);
        FUZZ_CHECK(upmu_guest_shape_default(&machine, UPMU_GUEST_INTEL, policy, &shape) == UPMU_OK, "shape");
        shape.version = 2;
        shape.full_write = 1;
        FUZZ_CHECK(upmu_guest_init(&vcpu->guest, &machine, &shape, policy,
                                   &(struct upmu_guest_memory){vcpu->sessions, 1u + fuzz_u8(in) % SESSIONS,
                                                               &vcpu->thread}) == UPMU_OK,
                   "vCPU's PMU");
        begin_vcpu(vcpu);
    }
    host_start();
}

static void run(const uint8_t *bytes, size_t length)
{
    static uint8_t after[sizeof ram];
    struct fuzz_bytes in = {bytes, bytes + length};
    const char *profile = profiles[fuzz_u8(&in) % COUNT(profiles)];

    begin(profile, &in);
    for (unsigned i = 0; i < STEPS && fuzz_more(&in); i++)
        step(&in);
    go(NULL);
    host_check_count();
    for (unsigned i = 0; i < COUNT(vcpus); i++)
        upmu_pv_vcpu_fini(&vcpus[i].pv);
    for (unsigned i = 0; i < PAGES; i++)
        FUZZ_CHECK(!pinned[i], "page %u stays pinned %u times", i, pinned[i]);
    memcpy(after, ram, sizeof ram);
    for (unsigned i = 0; i < COUNT(vcpus); i++)
        FUZZ_CHECK(upmu_guest_fini(&vcpus[i].guest) == UPMU_OK, "end of vCPU %u", i);
    host_end();
    FUZZ_CHECK(memcmp(after, ram, sizeof ram) == 0, "the host stored to a guest that has ended");
}

static void make(uint64_t *random, struct fuzz_draft *draft)
{
    unsigned steps = 10 + fuzz_below(random, 150);

    fuzz_put(draft, fuzz_random(random), 6); /* profile, policy, events, sessions */
    fuzz_put(draft, 0xc0, 1);                /* the second vCPU */
    while (steps--) {
        unsigned what = fuzz_below(random, 256);

        /* (Every second step is a call.) */
        if (fuzz_below(random, 2))
            what |= 12;
        fuzz_put(draft, what, 1);
        if (what % 16 == 8)
            fuzz_put(draft, fuzz_random(random), 2), fuzz_put(draft, fuzz_word(random), 8);
        else
            fuzz_put(draft, fuzz_random(random), what % 16 >= 12 || what % 16 < 5 ? 2 : 6);
    }
}

#define RUNS 3500

const struct fuzz_target fuzz_target = {
    "page", "calls_and_memory_of_a_guest_leave_the_host_alone", RUNS, 1700000, run, make, 50000000};
