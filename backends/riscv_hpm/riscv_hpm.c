/* SPDX-License-Identifier: MIT */
/*
 * The RISC-V backend: mhpmcounter3 to 31 with mhpmevent. The gates are bits of mcountinhibit: a set bit stops the
 * counter. The overflow flags are in mhpmevent itself (Sscofpmf).
 *
 * Sources: RISC-V privileged architecture 1.12, 3.1.10 to 3.1.12; Sscofpmf 1.0; numbers of events: RISC-V SBI 3.0, 11.
 * The number of a register is its CSR number; on RV32 the port joins the two halves. No instruction tells which
 * counters exist: leaf 0 of the hook cpuid has the usable counters in EAX (bit n: mhpmcounter n), their width in bits
 * in EBX, and in ECX the bits RV_HAS_SSCOFPMF and RV_HAS_SBI_EVENTS (events have the numbers of the SBI). mcycle and
 * minstret are never written or stopped, because user programs use them, too.
 */
#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/util/text.h"
#include "core/hw/backend.h"
#include "core/hw/register.h"

#if UPMU_BACKEND_RISCV_HPM

extern const struct upmu_backend upmu_riscv_hpm_backend;

#define RV_MCOUNTINHIBIT 0x320u
#define RV_MHPMEVENT(n) (0x320u + (n))
#define RV_MHPMCOUNTER(n) (0xb00u + (n))
#define RV_SCOUNTOVF 0xda0u
#define RV_MVENDORID 0xf11u
#define RV_HAS_SSCOFPMF 1u
#define RV_HAS_SBI_EVENTS 2u

/* Counter n of the library is mhpmcounter n + 3. */
#define RV_FIRST 3u
#define RV_COUNTERS 29u

#define RV_ALL (~UINT64_C(0))
#define RV_OF (UINT64_C(1) << 63)   /* the counter has overflowed; it interrupts no more until this bit is cleared */
#define RV_MINH (UINT64_C(1) << 62) /* do not count in M-mode */
#define RV_SINH (UINT64_C(1) << 61) /* do not count in S-mode */
#define RV_UINH (UINT64_C(1) << 60) /* do not count in U-mode */
#define RV_MODES (RV_MINH | RV_SINH | RV_UINH)
#define RV_EVENT (RV_ALL >> 8)
#define RV_SBI_INSTRUCTIONS 2u
#define RV_QUIRK_NO_MODES 1u /* no Sscofpmf: mhpmevent has no bits that exclude modes */

/* ---- Registers ---- */

enum { RV_CLASS_COUNTER, RV_CLASS_EVENT, RV_CLASS_INHIBIT, RV_CLASS_STATUS, RV_CLASSES };
enum {
    RV_ROW_COUNTER = 0,
    RV_ROW_EVENT = RV_ROW_COUNTER + RV_COUNTERS,
    RV_ROW_INHIBIT = RV_ROW_EVENT + RV_COUNTERS,
    RV_ROW_STATUS,
    RV_ROWS
};

/* clang-format off */
#define RV_EACH(R)                                                                                                     \
    R(3) R(4) R(5) R(6) R(7) R(8) R(9) R(10) R(11) R(12) R(13) R(14) R(15) R(16) R(17) R(18) R(19) R(20) R(21) R(22)   \
    R(23) R(24) R(25) R(26) R(27) R(28) R(29) R(30) R(31)
#define RV_MEMBERS(n) char counter##n[sizeof "mhpmcounter" #n], event##n[sizeof "mhpmevent" #n];
#define RV_NAMES(n) "mhpmcounter" #n, "mhpmevent" #n,
static const struct rv_names {
    char source[sizeof "privileged 3.1"];
    RV_EACH(RV_MEMBERS)
    char inhibit[sizeof "mcountinhibit"], status[sizeof "scountovf"];
} rv_names = { "privileged 3.1", RV_EACH(RV_NAMES) "mcountinhibit", "scountovf" };
#define RV_AT(member) (uint16_t)offsetof(struct rv_names, member)
#define RV_ROWS_OF(n)                                                                                                  \
    [RV_ROW_COUNTER + (n) - RV_FIRST] = { RV_MHPMCOUNTER(n), RV_CLASS_COUNTER, (n) - RV_FIRST, RV_AT(counter##n) },    \
    [RV_ROW_EVENT + (n) - RV_FIRST] = { RV_MHPMEVENT(n), RV_CLASS_EVENT, (n) - RV_FIRST, RV_AT(event##n) },

static const struct upmu_register rv_rows[RV_ROWS] = {
    RV_EACH(RV_ROWS_OF)
    [RV_ROW_INHIBIT] = { RV_MCOUNTINHIBIT, RV_CLASS_INHIBIT, UPMU_NO_COUNTER, RV_AT(inhibit) },
    [RV_ROW_STATUS] = { RV_SCOUNTOVF, RV_CLASS_STATUS, UPMU_NO_COUNTER, RV_AT(status) },
};

/* Order of writes when counters are loaded (load_rank, low first): mhpmevent 3, counter 5, mcountinhibit 7. */
static const struct upmu_register_class rv_classes[RV_CLASSES] = {
    [RV_CLASS_COUNTER] = { .kind = UPMU_KIND_COUNTER, .load_rank = 5, .release_rank = 5, .found = 1, .promised = 1,
                           .owned = RV_ALL, .hardware = RV_ALL, .session = RV_ALL, .privileged = RV_ALL },
    [RV_CLASS_EVENT] = { .kind = UPMU_KIND_SELECT, .load_rank = 3, .release_rank = 2, .found = 1, .promised = 1,
                         .owned = RV_ALL, .hardware = RV_OF, .in_use = RV_EVENT, .session = RV_EVENT | RV_MODES,
                         .idle_keep = RV_ALL, .kernel_off = RV_MINH | RV_SINH },
    [RV_CLASS_INHIBIT] = { .kind = UPMU_KIND_CONTROL, .load_rank = 7, .release_rank = 0, .found = 1, .promised = 1,
                           .owned = RV_ALL << RV_FIRST, .gates = RV_ALL << RV_FIRST, .inverted = RV_ALL },
    [RV_CLASS_STATUS] = { .kind = UPMU_KIND_STATUS, .access = UPMU_ACCESS_RO, .promised = 1, .hardware = RV_ALL },
};
/* clang-format on */

static const struct upmu_register_table rv_table = {
    rv_rows, rv_classes, (const char *)&rv_names, RV_ROWS, RV_CLASSES, 0
};

/* ---- Detection ---- */

static void rv_add_counter(struct upmu_pmu *pmu, unsigned n, uint8_t width)
{
    const struct upmu_counter counter = {
        .value_row = (uint8_t)(RV_ROW_COUNTER + n), .write_row = (uint8_t)(RV_ROW_COUNTER + n),
        .select_row = (uint8_t)(RV_ROW_EVENT + n), .gate_row = RV_ROW_INHIBIT, .gate_bit = (uint8_t)(RV_FIRST + n),
        .width = width, .write_bits = width, .rdpmc = UPMU_NO_RDPMC
    };

    upmu_register_add_counter(pmu, n, &counter);
    pmu->preference[pmu->preference_count++] = (uint8_t)n;
}

/* Fill in the PMU. `counters`: bit n is mhpmcounter n + 3; `width`: bits of a counter; `has`: RV_HAS_... */
static void rv_build(struct upmu_pmu *pmu, uint32_t counters, unsigned width, uint32_t has)
{
    memset(pmu, 0, sizeof *pmu);
    pmu->name = has & RV_HAS_SBI_EVENTS ? "riscv_sbi" : "riscv_hpm";
    pmu->title = "RISC-V HPM";
    pmu->table = &rv_table;
    pmu->capabilities = UPMU_PMU_GLOBAL_CTRL | UPMU_PMU_FULL_WRITE;
    pmu->status_row = pmu->ack_row = pmu->inuse_row = UPMU_NO_ROW;
    if (has & RV_HAS_SSCOFPMF) {
        pmu->capabilities |= UPMU_PMU_STATUS;
        pmu->status_row = RV_ROW_STATUS;
        upmu_rows_set(pmu->present, RV_ROW_STATUS);
    } else {
        pmu->capabilities |= UPMU_PMU_NO_PMI;
        pmu->quirks = RV_QUIRK_NO_MODES;
    }
    pmu->min_period = 2;
    pmu->loop_config = has & RV_HAS_SBI_EVENTS ? RV_SBI_INSTRUCTIONS : 1;
    pmu->max_period = upmu_bits_ones(width - 1u);
    for (uint32_t rest = counters & (UPMU_BIT32(RV_COUNTERS) - 1u); rest; rest &= rest - 1u)
        rv_add_counter(pmu, upmu_bits_lowest(rest), (uint8_t)width);
    pmu->general = pmu->counters;
    memset(pmu->limit, 0xff, sizeof pmu->limit);
    pmu->limit[RV_CLASS_EVENT] = RV_EVENT | (has & RV_HAS_SSCOFPMF ? RV_OF | RV_MODES : 0);
    pmu->limit[RV_CLASS_INHIBIT] = (uint64_t)pmu->counters << RV_FIRST | 5u;
}

static bool rv_detect(const struct upmu_detection *detection, struct upmu_pmu *out_pmu)
{
    const uint32_t *leaf = detection->leaf0;
    uint64_t vendor = 0;

    if (!(leaf[0] >> RV_FIRST) || !leaf[1] || leaf[1] > 64)
        return false;
    rv_build(out_pmu, leaf[0] >> RV_FIRST, leaf[1], leaf[2]);
    (void)detection->rdmsr(detection->context, RV_MVENDORID, true, &vendor);
    out_pmu->family = (uint16_t)vendor;
    return true;
}

#if UPMU_NAMES

static bool rv_describe(const char *name, struct upmu_pmu *out_pmu)
{
    if (!upmu_text_is(name, upmu_text_length(name), "riscv_sbi"))
        return false;
    rv_build(out_pmu, UPMU_BIT32(RV_COUNTERS) - 1u, 64, RV_HAS_SSCOFPMF | RV_HAS_SBI_EVENTS);
    return true;
}

static const char *rv_known(unsigned i)
{
    return i ? NULL : "riscv_sbi";
}

/* ---- Events ---- */

static enum upmu_status rv_attribute(const struct upmu_pmu *pmu, struct upmu_event *event, const char *name,
                                     size_t length, const uint64_t *value)
{
    if (pmu->quirks & RV_QUIRK_NO_MODES)
        return UPMU_ERR_NO_SUCH_ATTRIBUTE;
    return upmu_pmu_mode_attribute(event, name, length, value);
}

static enum upmu_status rv_from_row(const struct upmu_pmu *pmu, const struct upmu_row *row, struct upmu_event *event)
{
    (void)pmu;
    event->config = row->code | (uint64_t)row->umask << 16;
    event->counters = row->counters;
    return UPMU_OK;
}

static void rv_format(const struct upmu_pmu *pmu, const struct upmu_event *event, const struct upmu_row *row,
                      struct upmu_text *out)
{
    (void)pmu, (void)row;
    if (!(event->attributes & UPMU_ATTR_RAW) && (event->config & (RV_MINH | RV_UINH)))
        upmu_text_string(out, event->config & RV_MINH ? ":u" : ":k");
}

#endif

static enum upmu_status rv_finish(const struct upmu_pmu *pmu, struct upmu_event *event)
{
    unsigned who = event->attributes & (UPMU_ATTR_USR | UPMU_ATTR_OS);

    event->config &= ~RV_OF;
    if (event->config1 || event->config2 || (event->config & ~pmu->limit[RV_CLASS_EVENT]))
        return UPMU_ERR_NOT_PERMITTED;
    if (who == UPMU_ATTR_USR)
        event->config |= RV_MINH | RV_SINH;
    else if (who == UPMU_ATTR_OS)
        event->config |= RV_UINH;
    if (!who)
        event->attributes |= UPMU_ATTR_USR | UPMU_ATTR_OS;
    event->counters = event->counters ? event->counters & pmu->counters : pmu->counters;
    return event->counters ? UPMU_OK : UPMU_ERR_DOES_NOT_FIT;
}

/* ---- Register values: of events, of released counters, of overflow flags, of take-over ---- */

/*
 * Add mhpmevent of an event to the image. No step contains OF, and OF is 0 in the shadow: so each write of mhpmevent
 * clears OF.
 */
static void rv_render(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned alternative,
                      const uint8_t *counters, unsigned flags, struct upmu_image *image)
{
    (void)pmu, (void)alternative, (void)flags;
    upmu_image_add(image, RV_ROW_EVENT + counters[0], ~RV_OF, event->config, UPMU_BIT32(counters[0]));
}

static void rv_release(const struct upmu_pmu *pmu, uint32_t counters, struct upmu_image *image)
{
    (void)pmu;
    for (; counters; counters &= counters - 1u)
        upmu_image_add(image, RV_ROW_EVENT + upmu_bits_lowest(counters), ~RV_OF, 0, counters & (0u - counters));
}

static uint32_t rv_overflowed(const struct upmu_pmu *pmu, uint64_t status)
{
    return pmu->counters & (uint32_t)status >> RV_FIRST;
}

static uint64_t rv_acknowledge(const struct upmu_pmu *pmu, uint32_t counters)
{
    (void)pmu;
    return (uint64_t)counters << RV_FIRST;
}

/*
 * Return a mask of the counters that other software uses at take-over: those that run and have an event (mhpmevent).
 * `found` has the values by row; a set bit of its mcountinhibit means that the counter runs.
 */
static uint32_t rv_claims(const struct upmu_pmu *pmu, const uint64_t *found)
{
    uint32_t counters = 0;

    for (uint32_t rest = pmu->counters & (uint32_t)found[RV_ROW_INHIBIT] >> RV_FIRST; rest; rest &= rest - 1u)
        if (found[RV_ROW_EVENT + upmu_bits_lowest(rest)] & RV_EVENT)
            counters |= rest & (0u - rest);
    return counters;
}

static const char *rv_counter_prefix(const struct upmu_pmu *pmu, unsigned counter, unsigned *out_index)
{
    (void)pmu;
    *out_index = RV_FIRST + counter;
    return "HPM";
}

const struct upmu_backend upmu_riscv_hpm_backend = {
    .name = "riscv_hpm",
    .vendor = UPMU_VENDOR_OTHER,
    .detect = rv_detect,
#if UPMU_NAMES
    .describe = rv_describe,
    .names = rv_known,
    .attribute = rv_attribute,
    .from_row = rv_from_row,
    .format = rv_format,
#endif
    .finish = rv_finish,
    .alternative = upmu_pmu_any_counter,
    .render = rv_render,
    .release = rv_release,
    .overflowed = rv_overflowed,
    .acknowledge = rv_acknowledge,
    .claims = rv_claims,
    .resource_name = upmu_pmu_no_resource,
    .counter_prefix = rv_counter_prefix,
};

#endif
