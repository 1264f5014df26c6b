/* SPDX-License-Identifier: MIT */
/*
 * Fuzzing: any stack, any depth and any room for callers.  The walk ends, reads no frame below one that it has read,
 * asks the hook once for each caller and perhaps once more, writes what was asked for and nothing behind it, and finds
 * what the rule in upmu/format.h says.  The ring has the same callers as a format.
 */
#include <string.h>

#include "models/sim/sim.h"
#include "tests/fuzz/fuzz.h"

#include <upmu/cpu.h>
#include <upmu/format.h>
#include <upmu/upmu.h>

#define FRAMES 80u
#define ROOM (UPMU_CALLERS_DEPTH + 2u)
#define FILL UINT64_C(0x5a5a5a5a5a5a5a5a)

/* What the hook answers, one after another: whatever the frame pointer is. */
static struct {
    uint64_t next, back;
    bool fine;
} answer[FRAMES];
static unsigned asked;
static uint64_t last_fp;
static bool user;

static struct upmu_sim sim;
static struct upmu_machine machine;
static struct upmu_cpu cpu;
static struct upmu_session session;
static struct upmu_callers callers;
static struct upmu_frame frame;
static uint64_t ring[512];
static uint64_t expected[ROOM], found[ROOM];
static unsigned expected_callers, room, calls;

static bool read_frame(void *context, uint64_t fp, bool in_user, uint64_t *out_next, uint64_t *out_return)
{
    FUZZ_CHECK(context == &callers && in_user == user, "the hook's arguments");
    FUZZ_CHECK(asked < callers.depth && asked < FRAMES, "frame %u of %u", asked, callers.depth);
    FUZZ_CHECK(fp && (!asked || fp > last_fp), "frame %u is at or below the one before", asked);
    last_fp = fp;
    *out_next = answer[asked].next;
    *out_return = answer[asked].back;
    return answer[asked++].fine;
}

/* The rule: the walk ends at `most`, at a return address of 0, at a refusal, and where frame pointers do not rise. */
static unsigned expect(unsigned most)
{
    uint64_t fp = frame.fp;
    unsigned count = 0;

    for (unsigned i = 0; fp && i < most && answer[i].fine && answer[i].back; i++) {
        expected[count++] = answer[i].back;
        fp = answer[i].next > fp ? answer[i].next : 0;
    }
    return count;
}

static unsigned walk(void *state, const struct upmu_overflow *overflow, bool notify)
{
    unsigned most = room < callers.depth ? room : callers.depth, count;

    (void)state, (void)notify;
    calls++;
    FUZZ_CHECK(overflow->frame && overflow->frame->registers == frame.registers, "the frame");
    for (unsigned i = 0; i < ROOM; i++)
        found[i] = FILL;
    asked = 0;
    count = upmu_overflow_callers(overflow, found, room);
    expected_callers = expect(most);
    FUZZ_CHECK(count == expected_callers, "%u callers of %u", count, expected_callers);
    FUZZ_CHECK(!memcmp(found, expected, count * sizeof *found), "other callers");
    FUZZ_CHECK(asked <= count + 1u && asked <= most, "%u reads for %u callers", asked, count);
    for (unsigned i = count; i < ROOM; i++)
        FUZZ_CHECK(found[i] == FILL, "entry %u is written", i);
    return 0;
}

static const struct upmu_format walk_format = {"walk", NULL, walk, NULL, NULL};

static void deliver(struct upmu_sim *model, unsigned index, const struct upmu_sim_interrupt *interrupt)
{
    (void)model, (void)index, (void)interrupt;
    asked = 0;
    frame.user = user;
    FUZZ_CHECK(upmu_pmi_handle(&cpu, &frame) == UPMU_PMI_HANDLED, "an overflow");
}

/* One overflow of a session that was just made; with a ring or with the format. */
static void overflow_once(bool by_format)
{
    struct upmu_sampling sampling = {.period = 100};
    struct upmu_sim_burst burst = {.instructions = 100, .user = user};

    FUZZ_CHECK(upmu_session_init(&session, &machine) == UPMU_OK &&
                   upmu_set_add(&session.set, "instructions", &sampling) == UPMU_OK &&
                   upmu_session_ring(&session, ring, sizeof ring) == UPMU_OK &&
                   upmu_session_callers(&session, &callers) == UPMU_OK &&
                   upmu_session_format(&session, by_format ? &walk_format : NULL, NULL, 0) == UPMU_OK &&
                   upmu_session_attach_cpu(&session, &cpu) == UPMU_OK && upmu_session_start(&session) == UPMU_OK,
               "a session");
    upmu_sim_events(&sim, &burst);
    FUZZ_CHECK(upmu_session_stop(&session) == UPMU_OK, "a stop");
}

static void check_record(void)
{
    struct upmu_record record;

    expected_callers = expect(callers.depth);
    FUZZ_CHECK(upmu_ring_view(&session.ring, &record) && record.extended, "no record");
    FUZZ_CHECK(record.frames == expected_callers, "%u callers of %u in the ring", record.frames, expected_callers);
    FUZZ_CHECK(!memcmp(record.frame, expected, record.frames * sizeof *expected), "other callers in the ring");
    upmu_ring_drop(&session.ring);
    FUZZ_CHECK(!upmu_ring_view(&session.ring, &record), "a second record");
}

static void run(const uint8_t *bytes, size_t length)
{
    struct fuzz_bytes input = {bytes, bytes + length};

    memset(&cpu, 0, sizeof cpu);
    memset(answer, 0, sizeof answer);
    upmu_sim_init(&sim, upmu_sim_profile("skylake"), 1);
    upmu_sim_bind_cpu(&sim, 0, &cpu);
    sim.deliver = deliver;
    user = fuzz_u8(&input) & 1u;
    callers = (struct upmu_callers){
        .read = read_frame, .context = &callers, .depth = 1u + fuzz_u8(&input) % UPMU_CALLERS_DEPTH};
    room = fuzz_u8(&input) % ROOM;
    frame = (struct upmu_frame){.ip = 0x1000, .fp = fuzz_u64(&input), .registers = ring, .register_mask = 1};
    for (unsigned i = 0; i < FRAMES && fuzz_more(&input); i++) {
        uint8_t how = fuzz_u8(&input);
        uint64_t before = i ? answer[i - 1].next : frame.fp;

        /* Mostly a stack that is in order. */
        answer[i].fine = how != 255;
        answer[i].next = how & 1u ? before + 16u * (how >> 4) : fuzz_u64(&input);
        answer[i].back = how & 2u ? 0x1000u + how : fuzz_u64(&input);
    }
    FUZZ_CHECK(upmu_machine_init(&machine, upmu_sim_port(&sim)) == UPMU_OK &&
                   upmu_cpu_init(&cpu, &machine, NULL) == UPMU_OK,
               "a machine");
    calls = 0;
    overflow_once(true);
    FUZZ_CHECK(calls == 1 && upmu_session_close(&session) == UPMU_OK, "%u calls of the format", calls);
    overflow_once(false);
    check_record();
    FUZZ_CHECK(upmu_session_close(&session) == UPMU_OK && upmu_cpu_fini(&cpu) == UPMU_OK, "the end");
}

static void make(uint64_t *random, struct fuzz_draft *draft)
{
    unsigned frames = fuzz_below(random, FRAMES);

    fuzz_put(draft, fuzz_random(random), 3);
    fuzz_put(draft, fuzz_below(random, 8) ? 0x7000 : fuzz_word(random), 8);
    while (frames--) {
        unsigned how = fuzz_below(random, 16) ? (1u + fuzz_below(random, 15)) << 4 | 3u : fuzz_below(random, 256);

        fuzz_put(draft, how, 1);
        if (!(how & 1u))
            fuzz_put(draft, fuzz_word(random), 8);
        if (!(how & 2u))
            fuzz_put(draft, fuzz_word(random), 8);
    }
}

const struct fuzz_target fuzz_target = {"callers", "any_stack_is_walked_as_the_rule_says", 4000, 400000, run, make, 0};
