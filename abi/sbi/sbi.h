/* SPDX-License-Identifier: MIT */
/*
 * The PMU extension of the RISC-V SBI, for firmware in M-mode and for hypervisors in HS-mode: the calls by which S-mode
 * or a guest configures, starts and stops its counters.
 *
 * The counters that the firmware hands out belong to S-mode alone. S-mode reads them by the CSRs hpmcounterN, sees
 * their overflows in scountovf, and gets their interrupt, without a trap. So a call is a few accesses of registers, and
 * this layer needs neither a machine, a CPU nor a session of upmu: the files of this folder and a port are enough.
 *
 *     static const struct upmu_sbi_event events[] = {{.first = 1, .last = 2, .counters = 0xfff8, .select = 1}};
 *     static const struct upmu_sbi_config config = {.port = &port, .events = events, .event_count = 1,
 *                                                   .counters = 0xfffd, .width = 64, .firmware_counters = 16};
 *
 *     (for each hart)
 *     if (upmu_sbi_pmu_init(&hart->pmu, &config) != UPMU_OK)
 *         hart->without_pmu = true;
 *
 *     (in the handler of ECALL from S-mode, a0 to a7 saved in frame->a)
 *     if (frame->a[7] == UPMU_SBI_PMU_EXTENSION) {
 *         struct upmu_sbi_answer answer = upmu_sbi_pmu_call(&hart->pmu, frame->a[6], frame->a);
 *
 *         frame->a[0] = (unsigned long)answer.error;
 *         frame->a[1] = answer.value;
 *     }
 *
 * A hypervisor has a PMU for each virtual CPU (`guest` in the configuration). Then "S-mode" below is the guest, in
 * VS-mode, and registers of the guest are in memory while it does not run:
 *
 *     upmu_sbi_pmu_load(&vcpu->pmu);               (the vCPU comes to this hart)
 *     upmu_sbi_pmu_enter(&vcpu->pmu);
 *     run(vcpu);
 *     upmu_sbi_pmu_exit(&vcpu->pmu, &overflow);    (overflow: local interrupt 13 of the guest becomes pending)
 *     ECALL of the PMU: upmu_sbi_pmu_call(); a read of cycle + n traps: upmu_sbi_pmu_csr()
 *     upmu_sbi_pmu_put(&vcpu->pmu);                (another vCPU comes)
 *
 * The firmware delegates the interrupt of overflows (mideleg bit 13), and says what it does by
 * upmu_sbi_pmu_firmware(). docs/SBI.md has the rest.
 *
 * Source: RISC-V SBI specification 3.0, "Performance Monitoring Unit Extension". tests/conformance/sbi_pmu.tsv has a
 * row for each rule, and names the rows about which the specification says nothing. The context local is that of
 * upmu/port.h: on the hart concerned, in M-mode (with `guest` in HS-mode), with interrupts off.
 */
#ifndef UPMU_ABI_SBI_SBI_H
#define UPMU_ABI_SBI_SBI_H

#include <stdbool.h>
#include <stdint.h>
#include <upmu/port.h>
#include <upmu/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The extension's number, which S-mode passes in a7. */
#define UPMU_SBI_PMU_EXTENSION 0x504d55

/* Functions of the extension, which S-mode passes in a6. */
enum upmu_sbi_pmu_function {
    UPMU_SBI_PMU_NUM_COUNTERS = 0,
    UPMU_SBI_PMU_GET_INFO = 1,
    UPMU_SBI_PMU_CONFIG_MATCHING = 2,
    UPMU_SBI_PMU_START = 3,
    UPMU_SBI_PMU_STOP = 4,
    UPMU_SBI_PMU_FW_READ = 5,
    UPMU_SBI_PMU_FW_READ_HI = 6,
    UPMU_SBI_PMU_SNAPSHOT = 7,
    UPMU_SBI_PMU_EVENT_INFO = 8
};

/* Errors that S-mode gets in a0. */
enum upmu_sbi_error {
    UPMU_SBI_SUCCESS = 0,
    UPMU_SBI_FAILED = -1,
    UPMU_SBI_NOT_SUPPORTED = -2,
    UPMU_SBI_INVALID_PARAM = -3,
    UPMU_SBI_INVALID_ADDRESS = -5,
    UPMU_SBI_ALREADY_STARTED = -7,
    UPMU_SBI_ALREADY_STOPPED = -8,
    UPMU_SBI_NO_SHMEM = -9
};

/* Numbers of events (event_idx) that have a rule of their own: raw events, and the first of the firmware's events. */
#define UPMU_SBI_RAW_EVENT 0x20000
#define UPMU_SBI_RAW_EVENT_V2 0x30000
#define UPMU_SBI_FIRMWARE_EVENT 0xf0000

#define UPMU_SBI_HARDWARE 32 /* numbers of hardware counters: mcycle 0, minstret 2, mhpmcounter n */
#define UPMU_SBI_FIRMWARE 16 /* the most firmware counters of a hart */
#define UPMU_SBI_EVENTS 4096 /* the most events about which S-mode may ask in one call */

/*
 * A row of the table of events that S-mode may count. An event that no row has is refused, so the table is the policy
 * of the firmware, too. Rows are searched in their order; the first that has an event decides.
 *
 * A row of general and cache events (types 0 and 1) has the events `first` to `last`: event first + n is written to
 * mhpmevent as select + n. A row of raw events has first and last from UPMU_SBI_RAW_EVENT to UPMU_SBI_RAW_EVENT_V2, and
 * an event whose data, ANDed with select_mask, are `select`: its data are written. mcycle counts event 1 and minstret
 * event 2 without a row.
 */
struct upmu_sbi_event {
    uint32_t first;
    uint32_t last;
    uint32_t counters;    /* mask of the counters that have these events: bit n, 3 to 31, is mhpmcounter n */
    uint64_t select;      /* mhpmevent of event `first`, or data of a raw event; that of `last`, too, below 2^58 */
    uint64_t select_mask; /* of raw events; other rows do not use it */
};

/*
 * What the firmware hands out on a hart. The structure, and what it points to, must not change and must stay as long as
 * the PMU that was made with it. Harts that have the same counters may share one.
 */
struct upmu_sbi_config {
    /*
     * rdmsr and wrmsr access the CSRs mcounteren (306h), mcountinhibit (320h), mhpmevent, mhpmcounter, mcycle, minstret
     * and scountovf by their numbers, as port/riscv_native does. No other hook is called. With `guest` only
     * mcountinhibit, mhpmevent, mhpmcounter and scountovf are accessed, as port/riscv_sbi makes them in HS-mode; wrmsr
     * returns false for an event that the firmware does not count.
     */
    const struct upmu_port *port;
    /*
     * Copy `size` bytes between `bytes` and S-mode's physical memory at `address`; `write`: to S-mode's memory. `bytes`
     * NULL: copy nothing, but check that S-mode may read and write all of these bytes. S-mode chooses the address, so
     * the hook checks at each call whether S-mode may access the memory (ranges of memory, PMP), and returns false if
     * not: then nothing was copied. A range never wraps around. NULL: there are neither snapshots nor questions about
     * events (UPMU_SBI_NOT_SUPPORTED).
     * Context: local, inside upmu_sbi_pmu_call().
     */
    bool (*copy)(void *context, uint64_t address, void *bytes, uint32_t size, bool write);
    void *context; /* of `copy` */
    const struct upmu_sbi_event *events;
    uint32_t event_count;
    /*
     * Mask of the hardware counters that are S-mode's: bit 0 mcycle, bit 2 minstret, bit n, 3 to 31, mhpmcounter n. Bit
     * 1 (mtime) is 0. If upmu counts for the firmware itself, reserve these counters before (upmu_cpu_reserve()).
     */
    uint32_t counters;
    uint8_t width;             /* bits of each mhpmcounter, 1 to 64; mcycle and minstret have 64 */
    uint8_t firmware_counters; /* counters for the firmware's events, 0 to UPMU_SBI_FIRMWARE */
    bool sscofpmf;             /* the hart has Sscofpmf: overflow flags, and bits that exclude privilege modes */
    bool hypervisor;           /* the hart has the H extension: mhpmevent has VSINH and VUINH; needs sscofpmf */
    /*
     * The PMU is a virtual CPU's. `counters` has no bit below 3; on each hart on which the vCPU runs these counters are
     * closed, and no other software uses them. `hypervisor` is equal to `sscofpmf`. An address for `copy` is the
     * guest's.
     */
    bool guest;
};

/* The PMU of a hart, as S-mode sees it, or of a virtual CPU. The memory stays while that runs. Fields are private. */
struct upmu_sbi_pmu {
    const struct upmu_sbi_config *config;
    uint64_t counters;   /* mask of all counters, by their numbers in calls: hardware counters, then the firmware's */
    uint64_t configured; /* mask of the counters that have an event */
    uint64_t counting;   /* mask of the firmware's counters that are started; with `guest` of all counters */
    uint64_t shmem;      /* address of the snapshot memory, if has_shmem */
    bool has_shmem;
    bool is_loaded;      /* of a virtual CPU: its values and events are in the registers of a hart */
    bool is_entered;     /* of a virtual CPU: its counters run */
    uint32_t overflowed; /* of a virtual CPU: mask of the counters with an overflow flag, as the guest sees it */
    uint8_t hardware;    /* number of the first of the firmware's counters */
    uint64_t select[UPMU_SBI_HARDWARE]; /* mhpmevent of a configured counter, without OF */
    uint64_t saved[UPMU_SBI_HARDWARE];  /* of a virtual CPU: values of counters while it is not loaded */
    uint64_t value[UPMU_SBI_FIRMWARE];
    uint16_t code[UPMU_SBI_FIRMWARE]; /* event_idx.code of the event of a configured firmware counter */
};

/* The answer to a call, for S-mode's a0 and a1. */
struct upmu_sbi_answer {
    long error; /* enum upmu_sbi_error */
    unsigned long value;
};

/*
 * Make the PMU of a hart, before S-mode starts there, and again before S-mode starts anew. All counters of
 * config->counters stop, have no event and the value 0, and S-mode cannot read them; mcycle and minstret run, keep
 * their values, and S-mode can read them. Bits of other counters in mcountinhibit and mcounteren stay as they are.
 *
 * Of a virtual CPU (`guest`) no register is accessed, and the PMU is not loaded. A vCPU that starts anew is put before.
 *
 * Returns UPMU_OK; UPMU_ERR_INVALID (a field of `config`, or a row of its table, is outside of the limits above;
 * rdmsr or wrmsr is NULL); UPMU_ERR_PORT (an access to a register failed: the PMU has no counters).
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_sbi_pmu_init(struct upmu_sbi_pmu *pmu, const struct upmu_sbi_config *config);

/*
 * Answer a call of S-mode to this extension: `function` is its a6, a[0] to a[5] are its a0 to a5. Each argument may
 * have any value. The call's time is bounded: at most 47 counters (31 of hardware, 16 of the firmware) are started or
 * stopped, at most UPMU_SBI_EVENTS events looked up.
 *
 * A counter that stops with an overflow keeps its flag until it starts, is reset or gets an event; each start clears
 * the flag, so that the next overflow interrupts. If the hart has Sscofpmf, no mhpmcounter counts M-mode; mcycle and
 * minstret count it.
 *
 * A virtual CPU must be loaded, and not in its guest, or each answer is UPMU_SBI_FAILED. With Sscofpmf its counters
 * count VS-mode and VU-mode alone, less what the flags SINH and UINH exclude. A
 * match gives a counter that had no event the value 0, as the hart's counter may have the count of another vCPU.
 *
 * Context: local.
 */
struct upmu_sbi_answer upmu_sbi_pmu_call(struct upmu_sbi_pmu *pmu, unsigned long function, const unsigned long a[6]);

/*
 * Count an event of the firmware: `code` is its event_idx.code, for instance 5: a timer was set. The firmware calls it
 * on the hart on which the event was. Events that no counter counts, and codes that the specification has not, are
 * ignored.
 *
 * Context: local.
 */
void upmu_sbi_pmu_firmware(struct upmu_sbi_pmu *pmu, unsigned code);

/*
 * Bring a virtual CPU to this hart: write events and values of its counters, one write each. At most one vCPU is loaded
 * on a hart.
 *
 * Returns UPMU_OK; UPMU_ERR_STATE (the vCPU is loaded; the PMU is no virtual CPU's); UPMU_ERR_PORT (the hart did not
 * take an event or a value: the vCPU is not loaded, and its counters keep their values).
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_sbi_pmu_load(struct upmu_sbi_pmu *pmu);

/*
 * Take a virtual CPU from this hart: read the values of its counters, and leave the counters without an event.
 *
 * Returns UPMU_OK; UPMU_ERR_STATE (the vCPU is not loaded, or in its guest); UPMU_ERR_PORT (an access failed: the vCPU
 * is not loaded any more, and a counter that could not be read has the value of the last put).
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_sbi_pmu_put(struct upmu_sbi_pmu *pmu);

/*
 * Enter the guest: its started counters run. Call it as the last call before the guest's first instruction. Cost: one
 * read and one write of mcountinhibit, none if no counter is started; one write more for each started counter whose
 * overflow flag the guest sees.
 *
 * Returns UPMU_OK; UPMU_ERR_STATE (the vCPU is not loaded, or in its guest); UPMU_ERR_PORT (a register failed: the
 * guest may run, and counters may stand still).
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_sbi_pmu_enter(struct upmu_sbi_pmu *pmu);

/*
 * Leave the guest: its counters stop. Call it as the first call after the guest's last instruction. *out_overflow: a
 * counter has overflowed whose flag was clear, so the guest's local interrupt 13 becomes pending; the guest clears it.
 * The hart's own interrupt 13, by which the guest may have been left, is the hypervisor's to clear. Cost: two reads and
 * one write (without Sscofpmf one read and one write), none if no counter is started.
 *
 * Returns UPMU_OK; UPMU_ERR_STATE (the vCPU is not in its guest); UPMU_ERR_PORT (a register failed).
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_sbi_pmu_exit(struct upmu_sbi_pmu *pmu, bool *out_overflow);

/*
 * Answer a guest's read of a CSR that trapped: cycle + n of a counter that has an event, on RV32 its upper half, too,
 * and scountovf. Reads of counters trap if hcounteren is 0. *out_value gets the register's value. False: the guest has
 * no such register, or it could not be read, so its instruction is illegal; *out_value is unchanged.
 *
 * A hart with Sscofpmf does not trap scountovf: with hcounteren 0 the guest reads 0. It finds its overflow flags in the
 * snapshot memory. The answer for scountovf is for hypervisors that execute the guest's instruction themselves.
 *
 * Context: local, if the vCPU is loaded; else any.
 */
bool upmu_sbi_pmu_csr(const struct upmu_sbi_pmu *pmu, unsigned csr, unsigned long *out_value);

#ifdef __cplusplus
}
#endif

#endif
