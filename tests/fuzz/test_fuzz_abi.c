/* SPDX-License-Identifier: MIT */
/*
 * Fuzzing: perfmon2's calls with any bytes, from a program that changes its memory after
 * each copy.  A refused call leaves the context as it was; nothing is read twice, or
 * outside of what the program said; in the end every register is as it was found.
 */
#include <stdio.h>
#include <string.h>
#include <upmu/cpu.h>

#include "models/sim/sim.h"
#include "tests/fuzz/fuzz.h"

#include "abi/perfmon2/pfm_calls.c"
#include "abi/perfmon2/pfm_context.c"
#include "abi/perfmon2/pfm_events.c"
#include "abi/perfmon2/pfm_registers.c"
#include "abi/perfmon2/pfm_rights.c"
#include "abi/perfmon2/pfm_section9.c"
#include "abi/perfmon2/pfm_sets.c"

#define SETS 4u
#define VECTOR 8u
#define CALLS 120u

static struct upmu_sim sim;
static struct upmu_machine machine;
static struct upmu_cpu cpu;
static struct upmu_thread thread;
static struct upmu_pfm pfm;
static struct upmu_pfm_context context;
static struct upmu_pfm_set sets[SETS];
static struct pfarg_pmd vector[VECTOR];
static struct upmu_message messages[4];
static uint64_t ring[64];
static uint8_t user[sizeof(struct pfarg_pmd) * (VECTOR + 1)]; /* the program's memory ... */
static bool fetched[sizeof user];                             /* ... and what of it was read in this call */
static unsigned calls;
static struct upmu_pfm_owner owner;
static uint32_t rights; /* of the owner, UPMU_PFM_ */

/* All that a context is, but for its vector, its samples and the reason of the last refusal. */
static struct image {
    struct upmu_pfm_context context;
    struct upmu_pfm_set sets[SETS];
} image;

static bool fuzz_copy_in(void *nothing, void *to, const void *from, size_t bytes)
{
    size_t at = (size_t)((const uint8_t *)from - user);

    (void)nothing;
    FUZZ_CHECK(at <= sizeof user && bytes <= sizeof user - at, "call %u reads outside of the program's memory", calls);
    memcpy(to, from, bytes);
    for (size_t i = 0; i < bytes; i++) {
        FUZZ_CHECK(!fetched[at + i], "call %u reads byte %zu twice", calls, at + i);
        fetched[at + i] = true;
        user[at + i] ^= (uint8_t)(0x5a + i);
    }
    return true;
}

static bool fuzz_copy_out(void *nothing, void *to, const void *from, size_t bytes)
{
    size_t at = (size_t)((uint8_t *)to - user);

    (void)nothing;
    FUZZ_CHECK(at <= sizeof user && bytes <= sizeof user - at, "call %u writes outside of the program's memory", calls);
    memcpy(to, from, bytes);
    return true;
}

static bool fuzz_may_create(void *nothing, struct upmu_pfm_owner *who, uint32_t flags)
{
    (void)nothing;
    (void)flags;
    return who == &owner;
}

/* Every right that was asked for, and not given, is looked for in the registers. */
static bool fuzz_may_use(void *nothing, struct upmu_pfm_owner *who, const struct upmu_event *event, uint32_t needed)
{
    (void)nothing;
    FUZZ_CHECK(who == &owner && (!event) == (needed == UPMU_PFM_ADDRESSES), "call %u asks for something else", calls);
    return !(needed & ~rights);
}

static void check_rights(void)
{
    for (unsigned i = 0; i < 4; i++) {
        uint64_t select = upmu_sim_peek(&sim, 0, 0x186 + i);

        FUZZ_CHECK((rights & UPMU_PFM_KERNEL) || !(select >> 17 & 1u), "call %u: the kernel is counted", calls);
        FUZZ_CHECK((rights & UPMU_PFM_BEYOND) || !(select >> 21 & 1u), "call %u: other threads are counted", calls);
    }
    FUZZ_CHECK((rights & UPMU_PFM_KERNEL) || !(upmu_sim_peek(&sim, 0, 0x38d) & 0x111), "call %u: fixed kernel", calls);
    FUZZ_CHECK((rights & UPMU_PFM_PRIVILEGED) || !upmu_sim_peek(&sim, 0, 0x1a6), "call %u: a payload", calls);
    for (struct upmu_record record; upmu_ring_view(&context.session.ring, &record);) {
        FUZZ_CHECK((rights & UPMU_PFM_ADDRESSES) || (record.sample->flags & UPMU_SAMPLE_USER) ||
                       (!record.sample->ip && !record.sample->sp),
                   "call %u: an address of the kernel", calls);
        upmu_ring_drop(&context.session.ring);
    }
}

static struct upmu_thread *fuzz_find_thread(void *nothing, struct upmu_pfm_owner *who, uint32_t number,
                                            struct upmu_cpu **out_cpu)
{
    (void)nothing;
    FUZZ_CHECK(who == &owner, "call %u has another owner", calls);
    *out_cpu = &cpu;
    return number == 1 ? &thread : NULL;
}

static struct upmu_cpu *fuzz_find_cpu(void *nothing, struct upmu_pfm_owner *who, uint32_t number)
{
    (void)nothing;
    FUZZ_CHECK(who == &owner, "call %u has another owner", calls);
    return number ? NULL : &cpu;
}

static void fuzz_deliver(struct upmu_sim *from, unsigned number, const struct upmu_sim_interrupt *interrupt)
{
    const struct upmu_frame frame = {.ip = interrupt->ip, .user = interrupt->user, .thread = 1};

    (void)from;
    (void)number;
    FUZZ_CHECK(upmu_pmi_handle(&cpu, &frame) <= UPMU_PMI_STALE, "an answer that there is not");
}

static void take_image(struct image *to)
{
    memset(&context.session.why, 0, sizeof context.session.why);
    memcpy(&to->context, &context, sizeof context);
    memcpy(to->sets, sets, sizeof sets);
}

/* What only a load finds out costs a stop and a start; registers, sets and state are the same. */
static void check_unchanged(bool reloaded)
{
    static struct image now;

    take_image(&now);
    if (!reloaded) {
        FUZZ_CHECK(!memcmp(&now, &image, sizeof now), "call %u is refused and changes something", calls);
        return;
    }
    FUZZ_CHECK(now.context.session.state == image.context.session.state || now.context.session.error != UPMU_OK,
               "call %u is refused and leaves state %u, not %u", calls, now.context.session.state,
               image.context.session.state);
    for (unsigned i = 0; i < SETS; i++)
        FUZZ_CHECK(now.sets[i].used == image.sets[i].used &&
                       !memcmp(now.sets[i].pmc, image.sets[i].pmc, sizeof now.sets[i].pmc) &&
                       !memcmp(now.sets[i].pmcs, image.sets[i].pmcs, sizeof now.sets[i].pmcs),
                   "call %u is refused and changes registers of set %u", calls, i);
}

/* ---- The program's memory ---- */

/* A structure with fields that are mostly right, and one bit that may not be. */
static void fill_elements(struct fuzz_bytes *input, unsigned call, unsigned count)
{
    const struct upmu_pmu *pmu = &machine.pmu[0];
    uint64_t random = fuzz_u32(input) | UINT64_C(1) << 40;

    memset(user, 0, sizeof user);
    for (unsigned i = 0; i < count; i++) {
        unsigned counter = fuzz_below(&random, 5) ? fuzz_below(&random, 4) : 16 + fuzz_below(&random, 3);
        uint64_t word =
            (fuzz_below(&random, 2) ? 0xc0u : 0x3cu) | fuzz_below(&random, 4) << 16 | (fuzz_random(&random) & 0x700000);

        if (call == 1) {
            struct pfarg_pmc pmc = {.reg_num = pmu->counter[counter].select_row,
                                    .reg_set = (uint16_t)fuzz_below(&random, 2),
                                    .reg_value = counter < 16 ? word : fuzz_below(&random, 0x400)};
            memcpy(user + i * sizeof pmc, &pmc, sizeof pmc);
        } else if (call == 2 || call == 3) {
            struct pfarg_pmd pmd = {.reg_num = pmu->counter[counter].value_row,
                                    .reg_set = (uint16_t)fuzz_below(&random, 2),
                                    .reg_flags = fuzz_below(&random, 16) & fuzz_below(&random, 16),
                                    .reg_value = UINT64_C(0) - fuzz_below(&random, 5000) - 2,
                                    .reg_short_reset = UINT64_C(0) - fuzz_below(&random, 5000) - 100,
                                    .reg_long_reset = UINT64_C(0) - fuzz_below(&random, 5000) - 100,
                                    .reg_ovfl_switch_cnt = 1 + fuzz_below(&random, 3),
                                    .reg_random_mask = fuzz_below(&random, 256)};
            pmd.reg_reset_pmds[0] = pmd.reg_smpl_pmds[0] = UINT64_C(1)
                                                           << pmu->counter[fuzz_below(&random, 4)].value_row;
            memcpy(user + i * sizeof pmd, &pmd, sizeof pmd);
        } else {
            struct pfarg_setdesc set = {.set_id = (uint16_t)fuzz_below(&random, 6),
                                        .set_flags = fuzz_below(&random, 4)};
            set.set_timeout = set.set_flags & PFM_SETFL_TIME_SWITCH ? 1000 * fuzz_below(&random, 50) : 0;
            memcpy(user + i * (call == 6 ? sizeof(struct pfarg_setinfo) : sizeof set), &set, sizeof set);
        }
    }
    if (!fuzz_below(&random, 4))
        user[fuzz_below(&random, sizeof user)] ^= (uint8_t)(1u << fuzz_below(&random, 8));
}

static enum upmu_status call_vector(unsigned call, unsigned count, unsigned odd)
{
    switch (call) {
    case 1:
        return upmu_pfm_write_pmcs(&context, user, count * sizeof(struct pfarg_pmc) + odd);
    case 2:
        return upmu_pfm_write_pmds(&context, user, count * sizeof(struct pfarg_pmd) + odd);
    case 3:
        return upmu_pfm_read_pmds(&context, user, count * sizeof(struct pfarg_pmd) + odd);
    case 4:
        return upmu_pfm_create_evtsets(&context, user, count * sizeof(struct pfarg_setdesc) + odd);
    case 5:
        return upmu_pfm_delete_evtsets(&context, user, count * sizeof(struct pfarg_setdesc) + odd);
    default:
        return upmu_pfm_getinfo_evtsets(&context, user, count * sizeof(struct pfarg_setinfo) + odd);
    }
}

static enum upmu_status call_plain(unsigned call, unsigned choice)
{
    size_t bytes;

    switch (call) {
    case 7:
        return upmu_pfm_load_context(&context, choice == 0xff,
                                     context.flags & PFM_FL_SYSTEM_WIDE ? choice & 1 : 1 + (choice >> 7));
    case 8:
        return upmu_pfm_unload_context(&context, choice == 0xff);
    case 9:
        return upmu_pfm_start(&context,
                              choice & 1       ? PFM_STARTFL_SET
                              : choice == 0xfe ? 8
                                               : 0,
                              (uint16_t)(choice & 1 ? choice >> 1 & 3 : 0));
    case 10:
        return upmu_pfm_stop(&context, choice == 0xff);
    case 11:
        return upmu_pfm_start(&context, PFM_STARTFL_RESTART, 0);
    default:
        if (choice == 0xfe) /* whole messages, as many as there are numbers for */
            return upmu_pfm_read(&context, user, SIZE_MAX - SIZE_MAX % sizeof(union pfarg_msg), &bytes);
        return upmu_pfm_read(&context, user, (choice & 3) * sizeof(union pfarg_msg) + (choice == 0xff), &bytes);
    }
}

static void answer_is_known(enum upmu_status status, unsigned call)
{
    FUZZ_CHECK(status == UPMU_OK || status == UPMU_ERR_INVALID || status == UPMU_ERR_NO_SPACE ||
                   status == UPMU_ERR_NOT_PERMITTED || status == UPMU_ERR_STATE || status == UPMU_ERR_DOES_NOT_FIT ||
                   status == UPMU_ERR_END,
               "call %u (%u) answers %d", calls, call, status);
}

/* ---- A run ---- */

static void set_up(unsigned flags)
{
    const struct upmu_pfm_memory memory = {sets, SETS, vector, sizeof vector, messages, 4, ring, sizeof ring};

    upmu_sim_init(&sim, upmu_sim_profile(flags & 8 ? "core2" : "skylake"), 1);
    sim.deliver = fuzz_deliver;
    memset(&cpu, 0, sizeof cpu);
    upmu_sim_bind_cpu(&sim, 0, &cpu);
    FUZZ_CHECK(upmu_machine_init(&machine, upmu_sim_port(&sim)) == UPMU_OK, "machine_init");
    FUZZ_CHECK(upmu_cpu_init(&cpu, &machine, NULL) == UPMU_OK, "cpu_init");
    upmu_thread_init(&thread, 1, 1, NULL);
    memset(&pfm, 0, sizeof pfm);
    pfm.machine = &machine;
    pfm.copy_in = fuzz_copy_in;
    pfm.copy_out = fuzz_copy_out;
    pfm.may_create = fuzz_may_create;
    pfm.may_use = fuzz_may_use;
    memset(&owner, 0, sizeof owner);
    owner.most_contexts = 1;
    rights = (flags & 16 ? UPMU_PFM_KERNEL : 0) | (flags & 32 ? UPMU_PFM_BEYOND : 0) |
             (flags & 64 ? UPMU_PFM_PRIVILEGED : 0) | (flags & 128 ? UPMU_PFM_ADDRESSES : 0);
    pfm.find_thread = fuzz_find_thread;
    pfm.find_cpu = fuzz_find_cpu;
    memset(&context, 0, sizeof context);
    memset(sets, 0, sizeof sets);
    FUZZ_CHECK(upmu_pfm_create_context(&pfm, &owner, &context, &memory, flags & PFM_FL_SYSTEM_WIDE, NULL, NULL, 0) ==
                   UPMU_OK,
               "create_context");
}

/* Byte: flags; then calls: what, with what. */
static void run(const uint8_t *bytes, size_t length)
{
    struct fuzz_bytes input = {bytes, bytes + length};
    bool last;

    set_up(fuzz_u8(&input));
    for (calls = 0; calls < CALLS && fuzz_more(&input); calls++) {
        unsigned what = fuzz_u8(&input), choice = fuzz_u8(&input), call = what & 15;
        bool loaded = context.loaded;
        enum upmu_status status;

        if (call == 0 || call > 12) {
            upmu_sim_events(&sim,
                            &(struct upmu_sim_burst){
                                .instructions = 8u * choice, .cycles = 16u * choice, .ip = 0x1000, .user = choice & 1});
            sim.now_ns += 1000u * choice;
            FUZZ_CHECK(upmu_cpu_tick(&cpu) == UPMU_OK, "call %u: tick", calls);
            continue;
        }
        memset(fetched, 0, sizeof fetched);
        if (call <= 6)
            fill_elements(&input, call, 1 + (choice & 7));
        take_image(&image);
        status = call <= 6 ? call_vector(call, choice >> 3 == 31 ? VECTOR + 1 : 1 + (choice & 3), choice == 77)
                           : call_plain(call, choice);
        answer_is_known(status, call);
        if (status != UPMU_OK && call != 12 && call != 7 && call != 9)
            check_unchanged(loaded && (call == 1 || call == 2));
        check_rights();
        FUZZ_CHECK(!sim.violation_count, "call %u: %s", calls, sim.first_violation.text);
    }
    FUZZ_CHECK(upmu_pfm_close(&context, &last) == UPMU_OK && last, "close");
    FUZZ_CHECK(!pfm.contexts && !owner.contexts && !owner.bytes && !cpu.meter.sessions && !thread.sessions,
               "something is left");
    FUZZ_CHECK(upmu_cpu_fini(&cpu) == UPMU_OK, "cpu_fini");
    FUZZ_CHECK(!upmu_sim_peek(&sim, 0, 0x186) && !upmu_sim_peek(&sim, 0, 0x187), "a select is left");
}

static void make(uint64_t *random, struct fuzz_draft *draft)
{
    fuzz_put(draft, fuzz_random(random), 1);
    for (unsigned n = 20 + fuzz_below(random, 80); n; n--) {
        unsigned call = fuzz_below(random, 14);

        fuzz_put(draft, call | fuzz_below(random, 256) << 8, 2);
        if (call >= 1 && call <= 6)
            fuzz_put(draft, fuzz_random(random), 4);
    }
}

const struct fuzz_target fuzz_target = {
    "abi", "any_bytes_are_taken_whole_or_refused_without_a_trace", 3000, 200000, run, make, 0};
