/* SPDX-License-Identifier: MIT */
/*
 * Calls of the SBI's PMU extension as accesses to CSRs.
 *
 * A counter's number in calls is the number of its CSR less that of cycle, so mhpmcounter n is counter n; counters of
 * the firmware follow the last of hardware. Sets of counters are masks of 64 bits by these numbers. mcountinhibit says
 * which counters of hardware run; no copy of it is kept, because the firmware's own counters have bits there, too.
 *
 * The caller of a virtual CPU's PMU is a hypervisor, and its guest does not run during a call. So the gates in hardware
 * are closed, and pmu->counting says which counters run in the guest (sbi_guest.c).
 *
 * Sources: RISC-V SBI 3.0, chapters "Binary Encoding" and "Performance Monitoring Unit Extension"; RISC-V privileged
 * architecture 1.12, 3.1.10 to 3.1.12; Sscofpmf 1.0.
 */
#include "abi/sbi/sbi_pmu.h"

#define SBI_FIXED UINT32_C(5) /* mcycle and minstret, which have no mhpmevent */
#define SBI_FIRST 3u
#define SBI_OF (UINT64_C(1) << 63)
#define SBI_MINH (UINT64_C(1) << 62)
#define SBI_HOST_MODES (UINT64_C(7) << 60) /* MINH, SINH, UINH */
#define SBI_SELECT_BITS 58u                /* bits of mhpmevent below those of Sscofpmf */
#define SBI_RAW_BITS 48u                   /* bits of the data of UPMU_SBI_RAW_EVENT */

/* Flags of UPMU_SBI_PMU_CONFIG_MATCHING. Bits 3 to 7 exclude modes, in the order of bits 58 to 62 of mhpmevent. */
#define SBI_SKIP_MATCH 1u
#define SBI_CLEAR_VALUE 2u
#define SBI_AUTO_START 4u
#define SBI_MATCH_FLAGS 0xfful

/* Flags of UPMU_SBI_PMU_START and UPMU_SBI_PMU_STOP. */
#define SBI_SET_INIT_VALUE 1u
#define SBI_INIT_SNAPSHOT 2u
#define SBI_RESET 1u
#define SBI_TAKE_SNAPSHOT 2u

/* Numbers of events: type and code; codes of the firmware's events. */
#define SBI_TYPE(event) ((event) >> 16)
#define SBI_CODE(event) ((event)&0xffffu)
#define SBI_CYCLES 1u
#define SBI_INSTRUCTIONS 2u
#define SBI_GENERAL_LAST 10u
#define SBI_CACHES 7u
#define SBI_FIRMWARE_CODES 22u     /* codes 0 to 21 are events of the specification; 22 to 255 are reserved */
#define SBI_FIRMWARE_RESERVED 256u /* codes 256 to 65534 are events of an implementation; this one has none */
#define SBI_FIRMWARE_PLATFORM 0xffffu

/* The snapshot memory: a mask of overflows, then values. Bit n and value n are those of counter base + n. */
#define SBI_PAGE 4096u
#define SBI_VALUES 8u

/* An entry of UPMU_SBI_PMU_EVENT_INFO. */
struct sbi_question {
    uint32_t event;
    uint32_t is_supported;
    uint64_t data;
};

static struct upmu_sbi_answer sbi_error(enum upmu_sbi_error error)
{
    const struct upmu_sbi_answer answer = {.error = error};

    return answer;
}

static struct upmu_sbi_answer sbi_value(unsigned long value)
{
    const struct upmu_sbi_answer answer = {.value = value};

    return answer;
}

/* Return a 64-bit number that S-mode passes: with XLEN 32 as two halves, the lower first; else as one argument. */
static uint64_t sbi_wide(const unsigned long two[2])
{
    return SBI_XLEN == 32 ? (uint64_t)two[1] << 32 | two[0] : two[0];
}

/* ---- Registers ---- */

/* Read mcountinhibit. For a virtual CPU all bits are set: no counter runs in hardware during a call. */
static bool gates_read(const struct upmu_sbi_pmu *pmu, uint64_t *out_gates)
{
    *out_gates = ~UINT64_C(0);
    return pmu->config->guest || csr_read(pmu, SBI_MCOUNTINHIBIT, out_gates);
}

/* Return the counters of a set whose gates a call changes in hardware. */
static uint32_t gates_of(const struct upmu_sbi_pmu *pmu, uint64_t set)
{
    return pmu->config->guest ? 0 : (uint32_t)set & pmu->config->counters;
}

/* Return the mask of the counters, of hardware and of the firmware, that are started; `gates` is mcountinhibit. */
static uint64_t started_counters(const struct upmu_sbi_pmu *pmu, uint64_t gates)
{
    return pmu->counting | (pmu->config->counters & ~(uint32_t)gates);
}

/* ---- Counters ---- */

static bool is_firmware(const struct upmu_sbi_pmu *pmu, unsigned counter)
{
    return counter >= pmu->hardware;
}

/*
 * Store in *out_set the counters base + n of the bits n of a mask. False: no bit is set, or a counter does not exist.
 */
static bool set_of(const struct upmu_sbi_pmu *pmu, unsigned long base, unsigned long mask, uint64_t *out_set)
{
    uint64_t set = base < 64 ? (uint64_t)mask << base : 0;

    *out_set = set;
    return set && set >> base == mask && !(set & ~pmu->counters);
}

static bool counter_value(const struct upmu_sbi_pmu *pmu, unsigned counter, uint64_t *out_value)
{
    if (!is_firmware(pmu, counter))
        return csr_read(pmu, SBI_MHPMCOUNTER(counter), out_value);
    *out_value = pmu->value[counter - pmu->hardware];
    return true;
}

static bool counter_load(struct upmu_sbi_pmu *pmu, unsigned counter, uint64_t value)
{
    if (!is_firmware(pmu, counter))
        return csr_write(pmu, SBI_MHPMCOUNTER(counter), value);
    pmu->value[counter - pmu->hardware] = value;
    return true;
}

/* Open the gates of counters that are stopped; `gates` is mcountinhibit. */
static bool counters_open(struct upmu_sbi_pmu *pmu, uint64_t set, uint64_t gates)
{
    uint32_t hardware = gates_of(pmu, set);

    if (hardware && !csr_write(pmu, SBI_MCOUNTINHIBIT, gates & ~(uint64_t)hardware))
        return false;
    pmu->counting |= set & ~(uint64_t)hardware;
    return true;
}

/* ---- Events ---- */

static bool is_raw(unsigned long event)
{
    return event == UPMU_SBI_RAW_EVENT || event == UPMU_SBI_RAW_EVENT_V2;
}

/* Has the specification an event of this number with these data? */
static bool event_is_known(unsigned long event, uint64_t data)
{
    unsigned long code = SBI_CODE(event);

    switch (SBI_TYPE(event)) {
    case SBI_TYPE(0):
        return code && code <= SBI_GENERAL_LAST && !data;
    case SBI_TYPE(0x10000):
        return (code >> 3) < SBI_CACHES && (code >> 1 & 3u) != 3u && !data;
    case SBI_TYPE(UPMU_SBI_RAW_EVENT):
        return !code && !(data >> SBI_RAW_BITS);
    case SBI_TYPE(UPMU_SBI_RAW_EVENT_V2):
        return !code && !(data >> SBI_SELECT_BITS);
    case SBI_TYPE(UPMU_SBI_FIRMWARE_EVENT):
        return code == SBI_FIRMWARE_PLATFORM || ((code < SBI_FIRMWARE_CODES || code >= SBI_FIRMWARE_RESERVED) && !data);
    default:
        return false;
    }
}

/* Return the row of the table that has an event of hardware; NULL: there is none. */
static const struct upmu_sbi_event *event_row(const struct upmu_sbi_config *config, unsigned long event, uint64_t data)
{
    const struct upmu_sbi_event *row = config->events;

    for (uint32_t i = 0; i < config->event_count; i++, row++)
        if (event >= row->first && event <= row->last && (!is_raw(event) || (data & row->select_mask) == row->select))
            return row;
    return NULL;
}

/*
 * Return the mask of the counters that can count a known event, whether they are free or not. *out_select becomes the
 * value of mhpmevent for it, without the bits of modes.
 */
static uint64_t event_counters(const struct upmu_sbi_pmu *pmu, unsigned long event, uint64_t data, uint64_t *out_select)
{
    const struct upmu_sbi_config *config = pmu->config;
    const struct upmu_sbi_event *row;
    uint32_t fixed = event == SBI_CYCLES ? 1u << 0 : event == SBI_INSTRUCTIONS ? 1u << 2 : 0;

    *out_select = 0;
    if (SBI_TYPE(event) == SBI_TYPE(UPMU_SBI_FIRMWARE_EVENT))
        return SBI_CODE(event) < SBI_FIRMWARE_CODES ? pmu->counters >> pmu->hardware << pmu->hardware : 0;
    row = event_row(config, event, data);
    if (!row)
        return fixed & config->counters;
    *out_select = is_raw(event) ? data : row->select + (event - row->first);
    return ((row->counters & ~UINT32_C(7)) | fixed) & config->counters;
}

/*
 * Return the bits of mhpmevent that keep an event from being counted in modes, M-mode among them; 0 without Sscofpmf. A
 * guest's modes S and U are VS and VU, and the hypervisor's modes S and U are never counted for a guest.
 */
static uint64_t event_modes(const struct upmu_sbi_config *config, unsigned long flags)
{
    uint64_t modes = SBI_MINH;

    if (!config->sscofpmf)
        return 0;
    if (config->guest)
        return SBI_HOST_MODES | (uint64_t)(flags >> 5 & 3u) << SBI_SELECT_BITS;
    for (unsigned n = config->hypervisor ? 3u : 5u; n <= 6; n++)
        modes |= (uint64_t)(flags >> n & 1u) << (SBI_SELECT_BITS + n - 3u);
    return modes;
}

/* ---- Calls ---- */

static struct upmu_sbi_answer counter_info(const struct upmu_sbi_pmu *pmu, unsigned long counter)
{
    if (counter >= 64 || !(pmu->counters >> counter & 1u))
        return sbi_error(UPMU_SBI_INVALID_PARAM);
    if (is_firmware(pmu, (unsigned)counter))
        return sbi_value(1ul << (SBI_XLEN - 1u) | 63ul << 12);
    return sbi_value((SBI_CYCLE + counter) | (counter < SBI_FIRST ? 63ul : pmu->config->width - 1ul) << 12);
}

/*
 * Give a stopped counter an event, and on a hart make it readable for S-mode. mcycle and minstret have their event. A
 * guest's counter without an event becomes 0: another guest may have left its count there.
 */
static bool counter_configure(struct upmu_sbi_pmu *pmu, unsigned counter, unsigned long event, uint64_t select)
{
    bool is_new = !(pmu->configured >> counter & 1u);

    pmu->configured &= ~UPMU_BIT64(counter);
    if (is_firmware(pmu, counter)) {
        pmu->code[counter - pmu->hardware] = (uint16_t)SBI_CODE(event);
    } else if (counter >= SBI_FIRST) {
        pmu->select[counter] = select;
        pmu->overflowed &= ~UPMU_BIT32(counter);
        if (!csr_write(pmu, SBI_MHPMEVENT(counter), select) ||
            (pmu->config->guest ? is_new && !csr_write(pmu, SBI_MHPMCOUNTER(counter), 0)
                                : !csr_change(pmu, SBI_MCOUNTEREN, UPMU_BIT32(counter), 0)))
            return false;
    }
    pmu->configured |= UPMU_BIT64(counter);
    return true;
}

/*
 * Return the error of a counter that did not take its event or the value 0: the firmware below a hypervisor may have no
 * such event. Then the event is taken back.
 */
static enum upmu_sbi_error counter_refusal(const struct upmu_sbi_pmu *pmu, unsigned counter)
{
    if (!pmu->config->guest)
        return UPMU_SBI_FAILED;
    (void)csr_write(pmu, SBI_MHPMEVENT(counter), 0);
    return UPMU_SBI_NOT_SUPPORTED;
}

static struct upmu_sbi_answer config_matching(struct upmu_sbi_pmu *pmu, const unsigned long a[6])
{
    uint64_t set, gates = 0, select, data = sbi_wide(a + 4), able;
    unsigned long flags = a[2], event = a[3];
    unsigned counter;

    if (!set_of(pmu, a[0], a[1], &set) || (flags & ~SBI_MATCH_FLAGS) || !event_is_known(event, data))
        return sbi_error(UPMU_SBI_INVALID_PARAM);
    able = event_counters(pmu, event, data, &select);
    if (!(able & set))
        return sbi_error(UPMU_SBI_NOT_SUPPORTED);
    if (!gates_read(pmu, &gates))
        return sbi_error(UPMU_SBI_FAILED);
    if (flags & SBI_SKIP_MATCH)
        set &= 0 - set;
    else
        able &= ~(pmu->configured & ~(uint64_t)SBI_FIXED);
    able &= set & ~started_counters(pmu, gates);
    if (!able)
        return sbi_error(UPMU_SBI_NOT_SUPPORTED);
    if (able & ~(uint64_t)SBI_FIXED)
        able &= ~(uint64_t)SBI_FIXED;
    counter = upmu_bits_lowest64(able);
    if (!counter_configure(pmu, counter, event, select | event_modes(pmu->config, flags)))
        return sbi_error(counter_refusal(pmu, counter));
    if (((flags & SBI_CLEAR_VALUE) && !counter_load(pmu, counter, 0)) ||
        ((flags & SBI_AUTO_START) && !counters_open(pmu, UPMU_BIT64(counter), gates)))
        return sbi_error(UPMU_SBI_FAILED);
    return sbi_value(counter);
}

/* The arguments of UPMU_SBI_PMU_START, as one counter of the set needs them. */
struct sbi_start {
    uint64_t started; /* mask of the counters that run already */
    uint64_t value;   /* of SBI_SET_INIT_VALUE */
    unsigned long base;
    unsigned long flags;
};

/* Prepare a counter's start: clear its overflow flag, load its value if the flags give one. The gate stays closed. */
static enum upmu_sbi_error counter_prepare(struct upmu_sbi_pmu *pmu, const struct sbi_start *start, unsigned counter)
{
    uint64_t value = start->value;

    if (start->started >> counter & 1u)
        return UPMU_SBI_ALREADY_STARTED;
    if (!(pmu->configured >> counter & 1u))
        return UPMU_SBI_INVALID_PARAM;
    if ((start->flags & SBI_INIT_SNAPSHOT) &&
        !pmu->config->copy(pmu->config->context, pmu->shmem + SBI_VALUES + 8u * (counter - start->base), &value,
                           sizeof value, false))
        return UPMU_SBI_FAILED;
    if (pmu->config->sscofpmf && counter >= SBI_FIRST && !is_firmware(pmu, counter) &&
        !csr_write(pmu, SBI_MHPMEVENT(counter), pmu->select[counter]))
        return UPMU_SBI_FAILED;
    if (!is_firmware(pmu, counter))
        pmu->overflowed &= ~UPMU_BIT32(counter);
    if (start->flags && !counter_load(pmu, counter, value))
        return UPMU_SBI_FAILED;
    return UPMU_SBI_SUCCESS;
}

static struct upmu_sbi_answer counters_start(struct upmu_sbi_pmu *pmu, const unsigned long a[6])
{
    struct sbi_start start = {.value = sbi_wide(a + 3), .base = a[0], .flags = a[2]};
    enum upmu_sbi_error error, first = UPMU_SBI_SUCCESS;
    uint64_t set, gates = 0, open = 0;

    if (!set_of(pmu, a[0], a[1], &set) || start.flags >= (SBI_SET_INIT_VALUE | SBI_INIT_SNAPSHOT))
        return sbi_error(UPMU_SBI_INVALID_PARAM);
    if ((start.flags & SBI_INIT_SNAPSHOT) && !pmu->has_shmem)
        return sbi_error(UPMU_SBI_NO_SHMEM);
    if (!gates_read(pmu, &gates))
        return sbi_error(UPMU_SBI_FAILED);
    start.started = started_counters(pmu, gates);
    for (uint64_t rest = set; rest; rest &= rest - 1u) {
        error = counter_prepare(pmu, &start, upmu_bits_lowest64(rest));
        if (!error)
            open |= rest & (0 - rest);
        else if (!first)
            first = error;
    }
    if (!counters_open(pmu, open, gates))
        return sbi_error(UPMU_SBI_FAILED);
    return sbi_error(first);
}

/* Store the values of a set's counters that have an event, and the overflows of all counters from `base` on. */
static bool snapshot_take(const struct upmu_sbi_pmu *pmu, unsigned long base, uint64_t set)
{
    const struct upmu_sbi_config *config = pmu->config;
    uint64_t flags = pmu->overflowed, value;
    unsigned counter;

    for (uint64_t rest = set & pmu->configured; rest; rest &= rest - 1u) {
        counter = upmu_bits_lowest64(rest);
        if (!counter_value(pmu, counter, &value) ||
            !config->copy(config->context, pmu->shmem + SBI_VALUES + 8u * (counter - base), &value, sizeof value, true))
            return false;
    }
    if (config->sscofpmf && !config->guest && !csr_read(pmu, SBI_SCOUNTOVF, &flags))
        return false;
    flags = (flags & config->counters & pmu->configured) >> base;
    return config->copy(config->context, pmu->shmem, &flags, sizeof flags, true);
}

/* Take the events of stopped counters away: S-mode cannot read these counters any more. mcycle and minstret stay. */
static bool counters_reset(struct upmu_sbi_pmu *pmu, uint64_t set)
{
    uint32_t hardware = (uint32_t)set & pmu->config->counters & ~SBI_FIXED;
    bool fine = true;

    set &= ~(uint64_t)SBI_FIXED;
    for (uint32_t rest = hardware & (uint32_t)pmu->configured; rest; rest &= rest - 1u)
        fine &= csr_write(pmu, SBI_MHPMEVENT(upmu_bits_lowest(rest)), 0);
    pmu->configured &= ~set;
    pmu->overflowed &= ~hardware;
    return (pmu->config->guest || csr_change(pmu, SBI_MCOUNTEREN, 0, hardware)) && fine;
}

static struct upmu_sbi_answer counters_stop(struct upmu_sbi_pmu *pmu, const unsigned long a[6])
{
    unsigned long flags = a[2];
    uint64_t set, started, gates = 0;
    bool fine = true;

    if (!set_of(pmu, a[0], a[1], &set) || (flags & ~(unsigned long)(SBI_RESET | SBI_TAKE_SNAPSHOT)))
        return sbi_error(UPMU_SBI_INVALID_PARAM);
    if ((flags & SBI_TAKE_SNAPSHOT) && !pmu->has_shmem)
        return sbi_error(UPMU_SBI_NO_SHMEM);
    if (!gates_read(pmu, &gates))
        return sbi_error(UPMU_SBI_FAILED);
    started = started_counters(pmu, gates);
    if (gates_of(pmu, set & started) && !csr_write(pmu, SBI_MCOUNTINHIBIT, gates | gates_of(pmu, set)))
        return sbi_error(UPMU_SBI_FAILED);
    pmu->counting &= ~set;
    if (flags & SBI_TAKE_SNAPSHOT)
        fine = snapshot_take(pmu, a[0], set);
    if (flags & SBI_RESET)
        fine &= counters_reset(pmu, set);
    if (!fine)
        return sbi_error(UPMU_SBI_FAILED);
    return sbi_error(set & ~started ? UPMU_SBI_ALREADY_STOPPED : UPMU_SBI_SUCCESS);
}

/* Read a firmware counter, or its upper half, which is 0 if XLEN is not 32. */
static struct upmu_sbi_answer firmware_read(const struct upmu_sbi_pmu *pmu, unsigned long counter, bool upper)
{
    uint64_t value;

    if (counter >= 64 || !(pmu->counters >> counter & 1u) || !is_firmware(pmu, (unsigned)counter))
        return sbi_error(UPMU_SBI_INVALID_PARAM);
    value = pmu->value[counter - pmu->hardware];
    if (upper)
        value = SBI_XLEN == 32 ? value >> 32 : 0;
    return sbi_value((unsigned long)value);
}

/*
 * Check memory that S-mode names by two arguments. *out_address becomes its address. UPMU_SBI_SUCCESS: S-mode may read
 * and write its `size` bytes.
 */
static enum upmu_sbi_error memory_check(const struct upmu_sbi_pmu *pmu, const unsigned long a[2], uint32_t size,
                                        uint64_t *out_address)
{
    *out_address = sbi_wide(a);
    if ((SBI_XLEN != 32 && a[1]) || *out_address + (size - 1u) < *out_address ||
        !pmu->config->copy(pmu->config->context, *out_address, NULL, size, true))
        return UPMU_SBI_INVALID_ADDRESS;
    return UPMU_SBI_SUCCESS;
}

static struct upmu_sbi_answer snapshot_set(struct upmu_sbi_pmu *pmu, const unsigned long a[6])
{
    enum upmu_sbi_error error;
    uint64_t address;

    if (!pmu->config->copy)
        return sbi_error(UPMU_SBI_NOT_SUPPORTED);
    if (a[2])
        return sbi_error(UPMU_SBI_INVALID_PARAM);
    if (!~a[0] && !~a[1]) {
        pmu->has_shmem = false;
        return sbi_error(UPMU_SBI_SUCCESS);
    }
    if (a[0] & (SBI_PAGE - 1u))
        return sbi_error(UPMU_SBI_INVALID_PARAM);
    error = memory_check(pmu, a, SBI_PAGE, &address);
    if (!error) {
        pmu->shmem = address;
        pmu->has_shmem = true;
    }
    return sbi_error(error);
}

/*
 * Answer questions about events. Each is copied once, and the only word that is copied back is the answer's: S-mode may
 * change the memory meanwhile.
 */
static struct upmu_sbi_answer event_info(const struct upmu_sbi_pmu *pmu, const unsigned long a[6])
{
    const struct upmu_sbi_config *config = pmu->config;
    struct sbi_question question;
    enum upmu_sbi_error error;
    uint64_t address, select;

    if (!config->copy)
        return sbi_error(UPMU_SBI_NOT_SUPPORTED);
    if (a[3] || (a[0] & (sizeof question - 1u)) || !a[2])
        return sbi_error(UPMU_SBI_INVALID_PARAM);
    if (a[2] > UPMU_SBI_EVENTS)
        return sbi_error(UPMU_SBI_FAILED);
    error = memory_check(pmu, a, (uint32_t)(a[2] * sizeof question), &address);
    for (unsigned long i = 0; i < a[2] && !error; i++, address += sizeof question) {
        if (!config->copy(config->context, address, &question, sizeof question, false))
            return sbi_error(UPMU_SBI_FAILED);
        if (SBI_TYPE(question.event) < SBI_TYPE(UPMU_SBI_RAW_EVENT))
            question.data = 0;
        if (!event_is_known(question.event, question.data))
            return sbi_error(UPMU_SBI_INVALID_PARAM);
        question.is_supported = event_counters(pmu, question.event, question.data, &select) != 0;
        if (!config->copy(config->context, address + offsetof(struct sbi_question, is_supported),
                          &question.is_supported, sizeof question.is_supported, true))
            return sbi_error(UPMU_SBI_FAILED);
    }
    return sbi_error(error);
}

struct upmu_sbi_answer upmu_sbi_pmu_call(struct upmu_sbi_pmu *pmu, unsigned long function, const unsigned long a[6])
{
    if (pmu->config->guest && (!pmu->is_loaded || pmu->is_entered))
        return sbi_error(UPMU_SBI_FAILED);
    switch (function) {
    case UPMU_SBI_PMU_NUM_COUNTERS:
        return sbi_value(pmu->hardware + (pmu->counters ? pmu->config->firmware_counters : 0u));
    case UPMU_SBI_PMU_GET_INFO:
        return counter_info(pmu, a[0]);
    case UPMU_SBI_PMU_CONFIG_MATCHING:
        return config_matching(pmu, a);
    case UPMU_SBI_PMU_START:
        return counters_start(pmu, a);
    case UPMU_SBI_PMU_STOP:
        return counters_stop(pmu, a);
    case UPMU_SBI_PMU_FW_READ:
    case UPMU_SBI_PMU_FW_READ_HI:
        return firmware_read(pmu, a[0], function == UPMU_SBI_PMU_FW_READ_HI);
    case UPMU_SBI_PMU_SNAPSHOT:
        return snapshot_set(pmu, a);
    case UPMU_SBI_PMU_EVENT_INFO:
        return event_info(pmu, a);
    default:
        return sbi_error(UPMU_SBI_NOT_SUPPORTED);
    }
}

void upmu_sbi_pmu_firmware(struct upmu_sbi_pmu *pmu, unsigned code)
{
    for (uint64_t rest = pmu->counting >> pmu->hardware << pmu->hardware; rest; rest &= rest - 1u) {
        unsigned n = upmu_bits_lowest64(rest) - pmu->hardware;

        if (pmu->code[n] == code)
            pmu->value[n]++;
    }
}

/* ---- A hart's begin ---- */

static bool row_is_valid(const struct upmu_sbi_event *row)
{
    unsigned long type = SBI_TYPE(row->first);

    if (row->first > row->last || row->select >> SBI_SELECT_BITS)
        return false;
    if (type >= SBI_TYPE(UPMU_SBI_RAW_EVENT))
        return is_raw(row->first) && is_raw(row->last);
    return SBI_TYPE(row->last) == type && (row->select + (row->last - row->first)) >> SBI_SELECT_BITS == 0;
}

static bool config_is_valid(const struct upmu_sbi_config *config)
{
    if (!config->port || !config->port->rdmsr || !config->port->wrmsr || (config->counters & 2u) || !config->width ||
        config->width > 64 || config->firmware_counters > UPMU_SBI_FIRMWARE ||
        (config->hypervisor && !config->sscofpmf) ||
        (config->guest && ((config->counters & SBI_FIXED) || config->hypervisor != config->sscofpmf)) ||
        (config->event_count && !config->events))
        return false;
    for (uint32_t i = 0; i < config->event_count; i++)
        if (!row_is_valid(&config->events[i]))
            return false;
    return true;
}

/* Close and clear the hardware counters of a hart; mcycle and minstret run. */
static bool hardware_clear(const struct upmu_sbi_pmu *pmu)
{
    uint32_t counters = pmu->config->counters, fixed = counters & SBI_FIXED;

    if (!csr_change(pmu, SBI_MCOUNTINHIBIT, counters & ~SBI_FIXED, fixed) ||
        !csr_change(pmu, SBI_MCOUNTEREN, fixed, counters & ~SBI_FIXED))
        return false;
    for (uint32_t rest = counters & ~SBI_FIXED; rest; rest &= rest - 1u)
        if (!csr_write(pmu, SBI_MHPMEVENT(upmu_bits_lowest(rest)), 0) ||
            !csr_write(pmu, SBI_MHPMCOUNTER(upmu_bits_lowest(rest)), 0))
            return false;
    return true;
}

enum upmu_status upmu_sbi_pmu_init(struct upmu_sbi_pmu *pmu, const struct upmu_sbi_config *config)
{
    static const struct upmu_sbi_pmu none;

    if (!config_is_valid(config))
        return UPMU_ERR_INVALID;
    *pmu = none;
    pmu->config = config;
    if (!config->guest && !hardware_clear(pmu))
        return UPMU_ERR_PORT;
    pmu->hardware = (uint8_t)(config->counters ? upmu_bits_highest(config->counters) + 1u : 0u);
    pmu->counters = config->counters | (uint64_t)((UINT32_C(1) << config->firmware_counters) - 1u) << pmu->hardware;
    pmu->configured = config->counters & SBI_FIXED;
    return UPMU_OK;
}
