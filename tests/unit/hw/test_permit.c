/* SPDX-License-Identifier: MIT */
/*
 * The allow-list.  Expected addresses and bits are from the manuals: Intel SDM vol 3 (325384-059) 18.2 and 35,
 * AMD APM vol 2 (24593) 13.2, AMD BKDG (26094) 13; of NetBurst tables 35-41 and 35-42 of the SDM.
 */
#include <stdlib.h>

#include "tests/common/host.h"
#include <upmu/permit.h>

#define ALL (~UINT32_C(0))
#define SESSION UPMU_LEVEL_SESSION
#define PRIVILEGED UPMU_LEVEL_PRIVILEGED
#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

static uint64_t seed = 1;

static uint64_t draw(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static struct upmu_pmu known(const char *name)
{
    struct upmu_pmu pmu;

    assert_int_equal(upmu_pmu_by_name(&pmu, name), UPMU_OK);
    return pmu;
}

static bool writes(const struct upmu_pmu *pmu, uint32_t mine, enum upmu_level level, uint32_t msr, uint64_t value)
{
    return upmu_msr_permitted_on(pmu, mine, level, msr, &value);
}

static bool reads(const struct upmu_pmu *pmu, uint32_t mine, uint32_t msr)
{
    return upmu_msr_permitted_on(pmu, mine, SESSION, msr, NULL);
}

/* Bits that a level may set. */
static uint64_t settable(const struct upmu_pmu *pmu, enum upmu_level level, uint32_t msr)
{
    uint64_t bits = 0;

    for (unsigned bit = 0; bit < 64; bit++)
        if (writes(pmu, ALL, level, msr, UINT64_C(1) << bit))
            bits |= UINT64_C(1) << bit;
    return bits;
}

struct range {
    uint32_t first, last;
};

static bool among(const struct range *ranges, size_t count, uint32_t msr)
{
    for (size_t i = 0; i < count; i++)
        if (msr >= ranges[i].first && msr <= ranges[i].last)
            return true;
    return false;
}

/* Where any family has registers of its PMU that a program may write, or read. */
static const struct range intel[] = {{0xc1, 0xca},     {0x186, 0x18f},  {0x4c1, 0x4ca}, {0x309, 0x30f},
                                     {0x38d, 0x38d},   {0x1a6, 0x1a7},  {0x3f6, 0x3f7}, {0x3e0, 0x3e3},
                                     {0x1328, 0x1329}, {0x1900, 0x19ff}};
static const struct range intel_read[] = {
    {0x1d9, 0x1d9}, {0x329, 0x329}, {0x38e, 0x38f}, {0x392, 0x392}, {0x3f1, 0x3f1}};
static const struct range netburst[] = {{0x300, 0x311}, {0x360, 0x371}, {0x3a0, 0x3be}, {0x3c0, 0x3e1}, {0x3f1, 0x3f2}};
static const struct range amd[] = {{0xc0010000, 0xc0010007}, {0xc0010200, 0xc001020b}};
static const struct range amd_read[] = {{0x1d9, 0x1d9}, {0xc0000300, 0xc0000301}};

/* What a program could take a machine over with, or break it. */
/* clang-format off */
static const struct range dangers[] = {
    {0x10, 0x10} /* TSC */,           {0x1b, 0x1b} /* APIC base */,    {0x79, 0x79} /* microcode */,
    {0x8b, 0x8b},                     {0x174, 0x176} /* SYSENTER */,   {0x1a0, 0x1a0} /* MISC_ENABLE */,
    {0x1d9, 0x1d9} /* DEBUGCTL */,    {0x200, 0x20f} /* MTRRs */,      {0x277, 0x277} /* PAT */,
    {0x2ff, 0x2ff},                   {0x345, 0x345},                  {0x480, 0x4c0} /* VMX */,
    {0x600, 0x600} /* DS_AREA */,     {0x800, 0x83f} /* x2APIC */,     {0xc0000080, 0xc0000084} /* EFER, STAR, LSTAR */,
    {0xc0000100, 0xc0000102} /* FS */, {0xc0010010, 0xc0010020},       {0xc0010111, 0xc0010117} /* SMM, HSAVE */,
    {0xc0011030, 0xc001103b} /* IBS */};
/* clang-format on */

/* May a register be one of the PMU's, by its family? */
static bool is_families(const char *name, uint32_t msr, bool read)
{
    if (!strcmp(name, "netburst") || !strcmp(name, "netburst_p"))
        return among(netburst, LENGTH(netburst), msr);
    if (!strncmp(name, "amd", 3) || !strncmp(name, "hygon", 5))
        return among(amd, LENGTH(amd), msr) || (read && among(amd_read, LENGTH(amd_read), msr));
    return among(intel, LENGTH(intel), msr) || (read && among(intel_read, LENGTH(intel_read), msr));
}

static void every_register_that_is_no_pmus_is_refused(void **state)
{
    static const struct range swept[] = {{0, 0x1fff}, {0xc0000000, 0xc00003ff}, {0xc0010000, 0xc0011fff}};
    const char *name;
    unsigned pmus = 0;

    (void)state;
    for (unsigned i = 0; (name = upmu_pmu_known(i)); i++) {
        struct upmu_pmu pmu = known(name);
        unsigned writable = strcmp(name, "pv") ? 0 : 4; /* which has a page, and no such registers */

        for (size_t k = 0; k < LENGTH(swept); k++)
            for (uint32_t msr = swept[k].first; msr <= swept[k].last; msr++) {
                bool write = writes(&pmu, ALL, UPMU_LEVEL_LIBRARY, msr, 0), read = reads(&pmu, ALL, msr);

                writable += write;
                if ((write && !is_families(name, msr, false)) || (read && !is_families(name, msr, true)))
                    fail_msg("%s: %x", name, (unsigned)msr);
            }
        for (size_t k = 0; k < LENGTH(dangers); k++)
            for (uint32_t msr = dangers[k].first; msr <= dangers[k].last; msr++)
                if (settable(&pmu, UPMU_LEVEL_LIBRARY, msr) || writes(&pmu, ALL, UPMU_LEVEL_LIBRARY, msr, 0))
                    fail_msg("%s: %x may be written", name, (unsigned)msr);
        assert_compare(writable, >=, 4);
        pmus++;
    }
    assert_compare(pmus, >, 40);
}

/* The classic ones, address by address. */
static void a_program_may_write_selects_counters_and_what_events_need(void **state)
{
    static const struct {
        const char *name;
        uint32_t msrs[12];
    } cases[] = {{"core", {0xc1, 0xc2, 0x186, 0x187, 0x309, 0x30a, 0x30b, 0x38d}},
                 {"amd64_k8_revg",
                  {0xc0010000, 0xc0010001, 0xc0010002, 0xc0010003, 0xc0010004, 0xc0010005, 0xc0010006, 0xc0010007}},
                 {"pm", {0xc1, 0xc2, 0x186, 0x187}}};

    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct upmu_pmu pmu = known(cases[i].name);
        unsigned expected = 0, found = 0;

        for (; cases[i].msrs[expected]; expected++)
            if (!writes(&pmu, ALL, SESSION, cases[i].msrs[expected], 0))
                fail_msg("%s: %x", cases[i].name, (unsigned)cases[i].msrs[expected]);
        for (uint32_t msr = 0; msr < 0x2000; msr++)
            found += writes(&pmu, ALL, SESSION, msr, 0) + writes(&pmu, ALL, SESSION, 0xc0010000 + msr, 0);
        assert_int_equal(found, expected);
    }
}

static void interrupts_payloads_need_privilege_reserved_bits_more(void **state)
{
    struct upmu_pmu core = known("core"), skl = known("skl"), k8 = known("amd64_k8_revg"), p4 = known("netburst");

    (void)state;
    /* Event, mask, USR, OS, edge, enable, invert, counter mask; 20 is the interrupt; 19 (pin control) and 21 never. */
    assert_int_equal(settable(&core, SESSION, 0x186), 0xffc7ffff);
    assert_int_equal(settable(&core, PRIVILEGED, 0x186), 0xffd7ffff);
    /* Fixed control: OS, USR; bit 3 is the interrupt.  AnyThread (bit 2, and 21 of selects) is above a session. */
    assert_int_equal(settable(&core, SESSION, 0x38d), 0x333);
    assert_int_equal(settable(&core, PRIVILEGED, 0x38d), 0xbbb);
    assert_int_equal(settable(&skl, SESSION, 0x38d), 0x333);
    assert_int_equal(settable(&skl, PRIVILEGED, 0x38d), 0xfff);
    assert_int_equal(settable(&skl, SESSION, 0x186) & 0x300000, 0);
    assert_int_equal(settable(&skl, PRIVILEGED, 0x186) & 0x300000, 0x300000);
    assert_int_equal(settable(&skl, SESSION, 0x1a6), 0);
    assert_int_not_equal(settable(&skl, PRIVILEGED, 0x1a6), 0);
    /* The same bits at AMD's, pin control among them. */
    assert_int_equal(settable(&k8, SESSION, 0xc0010003), 0xffcfffff);
    assert_int_equal(settable(&k8, PRIVILEGED, 0xc0010003), 0xffdfffff);
    /* CCCR: 26 and 27 request interrupts, 25 forces them; 31 (overflow) is the hardware's.  ESCR: the thread's. */
    assert_int_equal(settable(&p4, SESSION, 0x36c) & 0xfe000000, 0x40000000);
    assert_int_equal(settable(&p4, PRIVILEGED, 0x36c) & 0xfe000000, 0x4e000000);
    assert_int_equal(settable(&p4, SESSION, 0x3cc) & 0xf, 0xc);
    assert_int_equal(settable(&p4, SESSION, 0x3f1), 0);
    /* One bit more is refused whatever the others are. */
    assert_true(writes(&core, ALL, SESSION, 0x186, 0x4300c0));
    assert_false(writes(&core, ALL, SESSION, 0x186, 0x5300c0));
    assert_true(writes(&core, ALL, PRIVILEGED, 0x186, 0x5300c0));
}

/* Catches an allow-list that knows bits alone, and lets a session count for the node. */
static void events_of_other_cores_are_above_a_session(void **state)
{
    static const struct {
        const char *name;
        uint32_t msr;
        uint64_t own, others;
    } cases[] = {{"amd64_k8_revg", 0xc0010000, 0x4107c0, 0x4107e0}, {"amd64_k8_revg", 0xc0010003, 0x4107df, 0x4100ff},
                 {"amd64_fam10h_barcelona", 0xc0010002, 0x4107c0, 0x40041f7e0}, {"pm", 0x187, 0x410070, 0x412070},
                 {"core", 0x186, 0x414070, 0x41c070}, {"core", 0x187, 0x417024, 0x41c024},
                 {"coreduo", 0x187, 0x414024, 0x41c024}};

    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct upmu_pmu pmu = known(cases[i].name);
        struct upmu_permit rows[UPMU_PERMITS];
        size_t count = upmu_permit_list(&pmu, rows, UPMU_PERMITS);

        for (enum upmu_level level = SESSION; level <= PRIVILEGED; level++)
            if (!writes(&pmu, ALL, level, cases[i].msr, cases[i].own) ||
                writes(&pmu, ALL, level, cases[i].msr, cases[i].others) != (level == PRIVILEGED) ||
                upmu_permit_check(rows, count, ALL, level, cases[i].msr, &cases[i].others) != (level == PRIVILEGED))
                fail_msg("%s: %x, level %u", cases[i].name, (unsigned)cases[i].msr, level);
    }
}

/* What a caller does not own it can neither change nor, counters and selects, read. */
static void counters_of_others_are_refused(void **state)
{
    struct upmu_pmu core = known("core"), p4 = known("netburst"), p6 = known("pm"), k8 = known("amd64_k8_revg");

    (void)state;
    assert_true(writes(&core, 1, SESSION, 0x186, 0x4300c0) && writes(&core, 1, SESSION, 0xc1, 0));
    assert_true(reads(&core, 1, 0xc1) && reads(&core, 1, 0x186));
    assert_false(writes(&core, 1, SESSION, 0x187, 0) || writes(&core, 1, SESSION, 0xc2, 0) || reads(&core, 1, 0xc2) ||
                 reads(&core, 1, 0x187));
    assert_true(writes(&core, 3u << 16, SESSION, 0x30a, 0));
    assert_false(writes(&core, 3u << 16, SESSION, 0x30b, 0));
    /* The control of fixed counters has bits of all of them. */
    assert_false(writes(&core, 3u << 16, SESSION, 0x38d, 0x33));
    assert_true(writes(&core, 7u << 16, SESSION, 0x38d, 0x33) && reads(&core, 1, 0x38d));
    assert_true(writes(&k8, 8, SESSION, 0xc0010003, 0) && !writes(&k8, 8, SESSION, 0xc0010002, 0));
    /* Select 0 of P6 enables both counters; an ESCR serves several. */
    assert_true(writes(&p6, 3, SESSION, 0x186, 0x430079) && writes(&p6, 2, SESSION, 0x187, 0x30079));
    assert_false(writes(&p6, 1, SESSION, 0x186, 0x430079));
    assert_true(writes(&p4, 1u << 12, SESSION, 0x36c, 0x3b000) && writes(&p4, p4.counters, SESSION, 0x3cc, 0xc00140c));
    assert_false(writes(&p4, 1u << 12, SESSION, 0x3cc, 0xc00140c) || writes(&p4, 1u << 12, SESSION, 0x36d, 0));
    for (uint32_t msr = 0; msr < 0x2000; msr++)
        assert_false(writes(&core, 0, PRIVILEGED, msr, 0));
}

static void a_register_of_several_counters_keeps_the_bits_of_others(void **state)
{
    struct upmu_permit rows[UPMU_PERMITS];
    struct upmu_pmu core = known("core");
    size_t count = upmu_permit_list(&core, rows, UPMU_PERMITS);
    uint64_t value = 0x700000003, none = 0;

    (void)state;
    assert_compare(count, <, UPMU_PERMITS);
    /* The global control as a whole is the library's. */
    assert_false(writes(&core, ALL, UPMU_LEVEL_LIBRARY, 0x38f, 0));
    assert_false(upmu_permit_check(rows, count, ALL, PRIVILEGED, 0x38f, &none));
    assert_true(reads(&core, 1, 0x38f));
    assert_true(upmu_permit_merge(rows, count, 1u | 1u << 17, SESSION, 0x38f, 0x500000002, &value));
    assert_int_equal(value, 0x700000003);
    value = 0;
    assert_true(upmu_permit_merge(rows, count, 1u | 1u << 17, SESSION, 0x38f, 0x700000003, &value));
    assert_int_equal(value, 0x500000002);
    /* Bits that are no counter's stay as they are, too. */
    value = ~UINT64_C(0);
    assert_true(upmu_permit_merge(rows, count, ALL, SESSION, 0x38f, UINT64_C(1) << 60, &value));
    assert_int_equal(value, 0x1000000700000003);
    /* Fixed counters; the interrupt needs privilege, of one's own only. */
    value = 0x888 | 0x020;
    assert_false(upmu_permit_merge(rows, count, 1u << 17, SESSION, 0x38d, 0, &value));
    value = 0x838;
    assert_true(upmu_permit_merge(rows, count, 1u << 17, SESSION, 0x38d, 0xb0b, &value));
    assert_int_equal(value, 0xb3b);
    value = 0x80;
    assert_true(upmu_permit_merge(rows, count, 1u << 17, PRIVILEGED, 0x38d, 0xb0b, &value));
    assert_int_equal(value, 0xb8b);
    /* One gate of four metrics (bit 48) is that of an owner of all four. */
    core = known("icl");
    count = upmu_permit_list(&core, rows, UPMU_PERMITS);
    value = UINT64_C(1) << 48;
    assert_true(upmu_permit_merge(rows, count, 1u << 24 | 1u, SESSION, 0x38f, 0, &value) && !value);
    value = UINT64_C(1) << 48;
    assert_true(upmu_permit_merge(rows, count, 0xff000000, SESSION, 0x38f, 0, &value) && value == UINT64_C(1) << 48);
    /* Overflows are acknowledged for oneself. */
    value = ~UINT64_C(0);
    assert_true(upmu_permit_merge(rows, count, 2, SESSION, 0x390, 0, &value));
    assert_int_equal(value, 2);
    value = 0;
    assert_false(upmu_permit_merge(rows, count, 2, SESSION, 0x186, 0, &value));
    assert_false(upmu_permit_merge(rows, count, 0, SESSION, 0x38f, 0, &value));
    assert_false(upmu_permit_merge(rows, count, ALL, PRIVILEGED, 0x1d9, 0, &value));
}

/* A server that has the rows alone answers as the description of the PMU does. */
static void rows_say_what_the_description_says(void **state)
{
    struct upmu_permit rows[UPMU_PERMITS], one;
    const char *name;

    (void)state;
    for (unsigned i = 0; (name = upmu_pmu_known(i)); i++) {
        struct upmu_pmu pmu = known(name);
        size_t count = upmu_permit_list(&pmu, rows, UPMU_PERMITS);

        assert_compare(count, <=, UPMU_PERMITS);
        if (!count)
            continue;
        assert_int_equal(upmu_permit_list(&pmu, &one, 1), count);
        assert_memory_equal(&one, rows, sizeof one);
        for (unsigned k = 0; k < 4000; k++) {
            uint32_t near = rows[draw() % count].address + (uint32_t)(draw() % 3) - 1u;
            uint32_t mine = k & 1 ? ALL : (uint32_t)draw();
            enum upmu_level level = draw() % 3;
            uint64_t value = k & 2 ? draw() : UINT64_C(1) << draw() % 64;
            const uint64_t *written = k & 4 ? &value : NULL;

            assert_int_equal(upmu_permit_check(rows, count, mine, level, near, written),
                             upmu_msr_permitted_on(&pmu, mine, level, near, written));
        }
    }
}

/* On the model: whatever passes changes nothing of others and nothing that is not of the PMU. */
static void what_passes_changes_no_counter_of_another(void **state)
{
    static const char *const profiles[] = {"core2", "skylake", "icelake"};
    unsigned rounds = getenv("FUZZ_RUNS") ? 350000 : 3000;

    (void)state;
    for (size_t i = 0; i < LENGTH(profiles); i++) {
        static struct host host;
        struct upmu_permit rows[UPMU_PERMITS];
        const struct upmu_pmu *pmu;
        const struct upmu_port *port;
        size_t count;

        host_set_up(&host, profiles[i]);
        pmu = &host.machine.pmu[0];
        port = upmu_sim_port(&host.sim);
        count = upmu_permit_list(pmu, rows, UPMU_PERMITS);
        upmu_sim_poke(&host.sim, 0, 0x187, 0x4300c0);
        upmu_sim_poke(&host.sim, 0, 0xc2, 77);
        upmu_sim_poke(&host.sim, 0, 0x38f, 0x600000002);
        upmu_sim_poke(&host.sim, 0, 0x38d, 0x330);
        for (unsigned k = 0; k < rounds; k++) {
            const struct upmu_permit *row = &rows[draw() % count];
            uint32_t msr = row->address;
            uint64_t value = draw() & (k & 1 ? row->privileged : draw() & draw()), present = 0;
            bool write = upmu_permit_check(rows, count, 1u | 1u << 16, PRIVILEGED, msr, &value);

            if (!write && msr != 0x390)
                assert_true(port->rdmsr(port->context, msr, &present));
            if (!write)
                write = upmu_permit_merge(rows, count, 1u | 1u << 16, PRIVILEGED, msr, present, &value);
            if (write)
                (void)port->wrmsr(port->context, msr, value);
            assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x187), 0x4300c0);
            assert_int_equal(upmu_sim_peek(&host.sim, 0, 0xc2), 77);
            assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x38f) & ~UINT64_C(0x100000001), 0x600000002);
            assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x38d) & ~UINT64_C(0xf), 0x330);
            assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x1d9), 0);
        }
        assert_int_not_equal(upmu_sim_peek(&host.sim, 0, 0x186), 0);
    }
}

/* The same on AMD's: counter 0 is the program's, counter 1 another's. */
static void what_passes_on_amd_changes_no_counter_of_another(void **state)
{
    static const char *const profiles[] = {"k8_revf", "zen2", "zen4"};
    unsigned rounds = getenv("FUZZ_RUNS") ? 350000 : 3000;

    (void)state;
    for (size_t i = 0; i < LENGTH(profiles); i++) {
        uint32_t select = i ? 0xc0010200u : 0xc0010000u, counter = i ? 0xc0010201u : 0xc0010004u, step = i ? 2 : 1;
        static struct host host;
        struct upmu_permit rows[UPMU_PERMITS];
        const struct upmu_port *port;
        unsigned written = 0;
        size_t count;

        host_set_up(&host, profiles[i]);
        port = upmu_sim_port(&host.sim);
        count = upmu_permit_list(&host.machine.pmu[0], rows, UPMU_PERMITS);
        upmu_sim_poke(&host.sim, 0, select + step, 0x4300c0);
        upmu_sim_poke(&host.sim, 0, counter + step, 77);
        if (i == 2)
            upmu_sim_poke(&host.sim, 0, 0xc0000301u, 0x2);
        for (unsigned k = 0; k < rounds; k++) {
            const struct upmu_permit *row = &rows[draw() % count];
            uint32_t msr = row->address;
            uint64_t value = draw() & (k & 1 ? row->privileged : draw() & draw()), present = 0;
            bool write = upmu_permit_check(rows, count, 1u, PRIVILEGED, msr, &value);

            if (!write && msr != 0xc0000302u)
                assert_true(port->rdmsr(port->context, msr, &present), msr);
            if (!write)
                write = upmu_permit_merge(rows, count, 1u, PRIVILEGED, msr, present, &value);
            if (write)
                written += port->wrmsr(port->context, msr, value);
            assert_int_equal(upmu_sim_peek(&host.sim, 0, select + step), 0x4300c0, i, msr);
            assert_int_equal(upmu_sim_peek(&host.sim, 0, counter + step), 77, i, msr);
            if (i == 2)
                assert_int_equal(upmu_sim_peek(&host.sim, 0, 0xc0000301u) & ~UINT64_C(1), 0x2, msr);
            if (i == 2)
                assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x1d9), 0, msr);
        }
        assert_compare(written, >, rounds / 100);
        assert_int_not_equal(upmu_sim_peek(&host.sim, 0, select), 0);
    }
}

/* Instruction-based sampling shows addresses of all programs, and its controls start it: C0011030h to C001103Bh. */
static void what_ibs_sees_is_for_no_program(void **state)
{
    struct host host;
    uint64_t value = 0;

    (void)state;
    host_set_up(&host, "zen2");
    assert_int_not_equal(host.machine.pmu[0].ibs, 0);
    assert_true(upmu_msr_permitted(&host.machine, SESSION, 0xc0010200, &value));
    for (uint32_t msr = 0xc0011030; msr <= 0xc001103d; msr++) {
        assert_false(upmu_msr_permitted(&host.machine, PRIVILEGED, msr, NULL));
        assert_false(upmu_msr_permitted(&host.machine, PRIVILEGED, msr, &value));
    }
    host_end(&host);
}

static void a_machine_permits_what_each_of_its_core_types_does(void **state)
{
    struct upmu_machine machine = {.pmu_count = 0};
    uint64_t value = 0;

    (void)state;
    assert_false(upmu_msr_permitted(&machine, PRIVILEGED, 0x186, NULL));
    machine.pmu[0] = known("skl");
    machine.pmu[1] = known("core");
    machine.pmu_count = 1;
    assert_true(upmu_msr_permitted(&machine, SESSION, 0x4c1, &value));
    assert_true(upmu_msr_permitted(&machine, SESSION, 0x186, &value));
    machine.pmu_count = 2;
    assert_false(upmu_msr_permitted(&machine, SESSION, 0x4c1, &value));
    assert_true(upmu_msr_permitted(&machine, SESSION, 0x186, &value));
    assert_true(upmu_msr_permitted(&machine, SESSION, 0x38f, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_register_that_is_no_pmus_is_refused),
        cmocka_unit_test(a_program_may_write_selects_counters_and_what_events_need),
        cmocka_unit_test(interrupts_payloads_need_privilege_reserved_bits_more),
        cmocka_unit_test(events_of_other_cores_are_above_a_session),
        cmocka_unit_test(counters_of_others_are_refused),
        cmocka_unit_test(a_register_of_several_counters_keeps_the_bits_of_others),
        cmocka_unit_test(rows_say_what_the_description_says),
        cmocka_unit_test(what_passes_changes_no_counter_of_another),
        cmocka_unit_test(what_passes_on_amd_changes_no_counter_of_another),
        cmocka_unit_test(what_ibs_sees_is_for_no_program),
        cmocka_unit_test(a_machine_permits_what_each_of_its_core_types_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
