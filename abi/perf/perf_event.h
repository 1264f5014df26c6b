/* SPDX-License-Identifier: MIT */
/*
 * Numbers and layouts of perf_event_open, as programs made for Linux use them: facts of perf_event_open(2), in words
 * and names of this library, so that a kernel that has Linux's own header, too, can include both.
 */
#ifndef UPMU_ABI_PERF_EVENT_H
#define UPMU_ABI_PERF_EVENT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Attributes ---- */

#define UPMU_PERF_ATTR_BYTES_FIRST 64u /* size of the structure's oldest form, for which a size of 0 stands */
/* largest size that a program may give; all bytes beyond the known ones must be 0 */
#define UPMU_PERF_ATTR_BYTES_MOST 4096u

/* struct perf_event_attr of Linux: what a program asks for at an open.  The layout is the same for 32 and 64 bits. */
struct upmu_perf_attr {
    uint32_t type;          /* enum upmu_perf_type, or the number of a PMU in its file `type` */
    uint32_t size;          /* bytes of this structure that the program gives */
    uint64_t config;        /* the event of the type */
    uint64_t sample_period; /* events between two samples; with UPMU_PERF_FREQ: samples a second */
    uint64_t sample_type;   /* UPMU_PERF_SAMPLE_... */
    uint64_t read_format;   /* UPMU_PERF_READ_... */
    uint64_t flags;         /* bits UPMU_PERF_DISABLED, ..., and the two bits UPMU_PERF_PRECISE */
    uint32_t wakeup;        /* a reader is woken after so many samples; with UPMU_PERF_WATERMARK: bytes */
    uint32_t bp_type;
    uint64_t config1;
    uint64_t config2;
    uint64_t branch_sample_type; /* UPMU_PERF_BRANCH_... */
    uint64_t sample_regs_user;
    uint32_t sample_stack_user; /* bytes */
    int32_t clockid;            /* number of the clock for records, as in Linux; used only with UPMU_PERF_USE_CLOCKID */
    uint64_t sample_regs_intr;
    uint32_t aux_watermark;
    uint16_t sample_max_stack; /* the most callers of a sample; 0: upmu_perf.max_stack */
    uint16_t reserved_2;
    uint32_t aux_sample_size;
    uint32_t aux_action; /* actions on traces (AUX), in bits 2:0; the other bits are refused */
    uint64_t sig_data;
    uint64_t config3;
};

/* upmu_perf_attr.type.  Linux gives its other PMUs numbers above these. */
enum upmu_perf_type {
    UPMU_PERF_TYPE_HARDWARE = 0,
    UPMU_PERF_TYPE_SOFTWARE = 1,
    UPMU_PERF_TYPE_TRACEPOINT = 2,
    UPMU_PERF_TYPE_CACHE = 3,
    UPMU_PERF_TYPE_RAW = 4, /* raw words; on x86 also the number of the CPU's PMU */
    UPMU_PERF_TYPE_BREAKPOINT = 5,
    UPMU_PERF_TYPE_OTHER = 8, /* a hybrid's smaller cores: this number + index of their PMU (upmu_machine_pmu()) */
    UPMU_PERF_TYPE_UNIT = 16  /* the first one of PMUs of units outside the cores */
};

/*
 * Number of generic events: values of config, bits 31:0, with UPMU_PERF_TYPE_HARDWARE.  Bits 63:32 are the type of the
 * PMU that is to count, or 0.
 */
#define UPMU_PERF_HARDWARE_EVENTS 10u

/* Software events: values of config with UPMU_PERF_TYPE_SOFTWARE. */
enum upmu_perf_software {
    UPMU_PERF_CPU_CLOCK = 0,  /* ns */
    UPMU_PERF_TASK_CLOCK = 1, /* ns that the task ran */
    UPMU_PERF_FAULTS = 2,
    UPMU_PERF_SWITCHES = 3,
    UPMU_PERF_MIGRATIONS = 4,
    UPMU_PERF_FAULTS_MINOR = 5,
    UPMU_PERF_FAULTS_MAJOR = 6,
    UPMU_PERF_ALIGNMENT_FAULTS = 7,
    UPMU_PERF_EMULATION_FAULTS = 8,
    UPMU_PERF_DUMMY = 9,
    UPMU_PERF_BPF_OUTPUT = 10,
    UPMU_PERF_CGROUP_SWITCHES = 11,
    UPMU_PERF_SOFTWARE_EVENTS = 12
};

/*
 * Parts of config with UPMU_PERF_TYPE_CACHE: the cache in bits 7:0, the operation in 15:8, the result in 23:16.  Each
 * number below is how many values the part has.
 */
#define UPMU_PERF_CACHES 7u
#define UPMU_PERF_CACHE_OPERATIONS 3u
#define UPMU_PERF_CACHE_RESULTS 2u

/* Bits of upmu_perf_attr.flags, at the positions of Linux's bit fields. */
#define UPMU_PERF_DISABLED (UINT64_C(1) << 0)
#define UPMU_PERF_INHERIT (UINT64_C(1) << 1)
#define UPMU_PERF_PINNED (UINT64_C(1) << 2)
#define UPMU_PERF_EXCLUSIVE (UINT64_C(1) << 3)
#define UPMU_PERF_EXCLUDE_USER (UINT64_C(1) << 4)
#define UPMU_PERF_EXCLUDE_KERNEL (UINT64_C(1) << 5)
#define UPMU_PERF_EXCLUDE_HV (UINT64_C(1) << 6)
#define UPMU_PERF_EXCLUDE_IDLE (UINT64_C(1) << 7)
#define UPMU_PERF_MMAP (UINT64_C(1) << 8)
#define UPMU_PERF_COMM (UINT64_C(1) << 9)
#define UPMU_PERF_FREQ (UINT64_C(1) << 10)
#define UPMU_PERF_ENABLE_ON_EXEC (UINT64_C(1) << 12)
#define UPMU_PERF_TASK (UINT64_C(1) << 13)
#define UPMU_PERF_WATERMARK (UINT64_C(1) << 14)
#define UPMU_PERF_PRECISE (UINT64_C(3) << 15)
#define UPMU_PERF_PRECISE_LEVEL(flags) ((unsigned)((flags) >> 15) & 3u)
#define UPMU_PERF_MMAP_DATA (UINT64_C(1) << 17)
#define UPMU_PERF_SAMPLE_ID_ALL (UINT64_C(1) << 18)
#define UPMU_PERF_EXCLUDE_HOST (UINT64_C(1) << 19)
#define UPMU_PERF_EXCLUDE_GUEST (UINT64_C(1) << 20)
#define UPMU_PERF_EXCLUDE_CALLERS_KERNEL (UINT64_C(1) << 21)
#define UPMU_PERF_EXCLUDE_CALLERS_USER (UINT64_C(1) << 22)
#define UPMU_PERF_MMAP2 (UINT64_C(1) << 23)
#define UPMU_PERF_USE_CLOCKID (UINT64_C(1) << 25)
#define UPMU_PERF_CONTEXT_SWITCH (UINT64_C(1) << 26)
#define UPMU_PERF_WRITE_BACKWARD (UINT64_C(1) << 27)
#define UPMU_PERF_NAMESPACES (UINT64_C(1) << 28)
#define UPMU_PERF_AUX_OUTPUT (UINT64_C(1) << 31)
#define UPMU_PERF_INHERIT_THREAD (UINT64_C(1) << 35)
#define UPMU_PERF_REMOVE_ON_EXEC (UINT64_C(1) << 36)
#define UPMU_PERF_SIGTRAP (UINT64_C(1) << 37)
#define UPMU_PERF_FLAGS ((UINT64_C(1) << 38) - 1u) /* mask of all known bits */

/* Bits of upmu_perf_attr.sample_type: what a sample is to contain. */
#define UPMU_PERF_SAMPLE_IP (UINT64_C(1) << 0)
#define UPMU_PERF_SAMPLE_TID (UINT64_C(1) << 1)
#define UPMU_PERF_SAMPLE_TIME (UINT64_C(1) << 2)
#define UPMU_PERF_SAMPLE_ADDR (UINT64_C(1) << 3)
#define UPMU_PERF_SAMPLE_READ (UINT64_C(1) << 4)
#define UPMU_PERF_SAMPLE_CALLCHAIN (UINT64_C(1) << 5)
#define UPMU_PERF_SAMPLE_ID (UINT64_C(1) << 6)
#define UPMU_PERF_SAMPLE_CPU (UINT64_C(1) << 7)
#define UPMU_PERF_SAMPLE_PERIOD (UINT64_C(1) << 8)
#define UPMU_PERF_SAMPLE_STREAM_ID (UINT64_C(1) << 9)
#define UPMU_PERF_SAMPLE_RAW (UINT64_C(1) << 10)
#define UPMU_PERF_SAMPLE_BRANCH_STACK (UINT64_C(1) << 11)
#define UPMU_PERF_SAMPLE_REGS_USER (UINT64_C(1) << 12)
#define UPMU_PERF_SAMPLE_STACK_USER (UINT64_C(1) << 13)
#define UPMU_PERF_SAMPLE_WEIGHT (UINT64_C(1) << 14)
#define UPMU_PERF_SAMPLE_DATA_SRC (UINT64_C(1) << 15)
#define UPMU_PERF_SAMPLE_IDENTIFIER (UINT64_C(1) << 16)
#define UPMU_PERF_SAMPLE_TRANSACTION (UINT64_C(1) << 17)
#define UPMU_PERF_SAMPLE_REGS_INTR (UINT64_C(1) << 18)
#define UPMU_PERF_SAMPLE_PHYS_ADDR (UINT64_C(1) << 19)
#define UPMU_PERF_SAMPLE_CGROUP (UINT64_C(1) << 21)
#define UPMU_PERF_SAMPLE_WEIGHT_STRUCT (UINT64_C(1) << 24)
#define UPMU_PERF_SAMPLES ((UINT64_C(1) << 25) - 1u) /* mask of all known bits */

#define UPMU_PERF_MONOTONIC 1 /* upmu_perf_attr.clockid: CLOCK_MONOTONIC */

/* Bits of upmu_perf_attr.branch_sample_type: which branches a sample is to contain. */
#define UPMU_PERF_BRANCH_LEVELS UINT64_C(7) /* user, kernel, hypervisor */
#define UPMU_PERF_BRANCH_USER UINT64_C(1)
#define UPMU_PERF_BRANCH_KERNEL (UINT64_C(1) << 1)
#define UPMU_PERF_BRANCH_ANY (UINT64_C(1) << 3)
#define UPMU_PERF_BRANCH_ANY_CALL (UINT64_C(1) << 4)
#define UPMU_PERF_BRANCH_ANY_RETURN (UINT64_C(1) << 5)
#define UPMU_PERF_BRANCH_IND_CALL (UINT64_C(1) << 6)
#define UPMU_PERF_BRANCH_COND (UINT64_C(1) << 10)
#define UPMU_PERF_BRANCH_IND_JUMP (UINT64_C(1) << 12)
#define UPMU_PERF_BRANCH_CALL (UINT64_C(1) << 13)
#define UPMU_PERF_BRANCH_NO_FLAGS (UINT64_C(1) << 14)
#define UPMU_PERF_BRANCH_NO_CYCLES (UINT64_C(1) << 15)
#define UPMU_PERF_BRANCHES ((UINT64_C(1) << 20) - 1u) /* mask of all known bits */

/*
 * Bits of upmu_perf_attr.read_format: the words that a read gives beside values (perf_event_open(2), "Reading
 * results").
 */
#define UPMU_PERF_READ_ENABLED (UINT64_C(1) << 0)
#define UPMU_PERF_READ_RUNNING (UINT64_C(1) << 1)
#define UPMU_PERF_READ_ID (UINT64_C(1) << 2)
#define UPMU_PERF_READ_GROUP (UINT64_C(1) << 3)
#define UPMU_PERF_READ_LOST (UINT64_C(1) << 4)
#define UPMU_PERF_READS ((UINT64_C(1) << 5) - 1u) /* mask of all known bits */

/* Bits of the last argument of perf_event_open, `flags`. */
#define UPMU_PERF_FLAG_NO_GROUP (UINT64_C(1) << 0)
#define UPMU_PERF_FLAG_OUTPUT (UINT64_C(1) << 1)
#define UPMU_PERF_FLAG_PID_CGROUP (UINT64_C(1) << 2)
#define UPMU_PERF_FLAG_CLOEXEC (UINT64_C(1) << 3)
#define UPMU_PERF_OPEN_FLAGS UINT64_C(15) /* mask of all known bits */

/* ---- The ring of records that a program maps ---- */

#define UPMU_PERF_PAGE_BYTES 4096u /* bytes of a page of the ring */

/* A position in the data of a ring: bytes from the first record on, not reduced to the size of the data. */
union upmu_perf_position {
    uint64_t whole;
    uintptr_t low; /* the part that a kernel of this width stores and loads at once */
};

/*
 * The first page of a mapping, struct perf_event_mmap_page of Linux.  The data stand behind this page: records one
 * after the other, each with a header of one word.
 */
struct upmu_perf_page {
    uint32_t version;
    uint32_t compat_version;
    uint32_t lock;
    uint32_t index; /* 1 + RDPMC index of the counter; 0: the event has none now */
    int64_t offset; /* the count; with a counter: what is added to its value, extended by the sign of pmc_width bits */
    uint64_t time_enabled;
    uint64_t time_running;
    uint64_t capabilities; /* UPMU_PERF_PAGE_CAPABILITIES */
    uint16_t pmc_width;
    /* ns of a number of TSC cycles: cycles * time_mult, shifted right by time_shift; both 0: not known */
    uint16_t time_shift;
    uint32_t time_mult;
    uint64_t time_offset; /* added to the ns of the TSC: the time since time_enabled and time_running were written */
    uint64_t time_zero;   /* added to the ns of the TSC: the time of records */
    uint32_t size; /* bytes of the fields before the reserved ones */
    uint32_t reserved_1;
    uint64_t time_cycles;
    uint64_t time_mask;
    uint8_t reserved[928];
    union upmu_perf_position head; /* end of the newest record, written by the kernel */
    union upmu_perf_position tail; /* end of the records that the program has read, written by the program */
    uint64_t data_offset;          /* bytes from this page's begin to the data */
    uint64_t data_bytes;
};

#define UPMU_PERF_PAGE_CAPABILITIES UINT64_C(2) /* bit 0 has no meaning; no other capability */
#define UPMU_PERF_PAGE_RDPMC UINT64_C(4)        /* the program may read the counter by RDPMC */
/* TIME: time_offset tells the time since the page was written; TIME_ZERO: time_zero tells that of records */
#define UPMU_PERF_PAGE_TIME UINT64_C(8)
#define UPMU_PERF_PAGE_TIME_ZERO UINT64_C(16)
#define UPMU_PERF_PAGE_SIZE 96u                 /* upmu_perf_page.size */

/* Types of records: bits 31:0 of a record's header, beside misc in bits 47:32 and the record's bytes in bits 63:48. */
enum upmu_perf_record_type {
    UPMU_PERF_RECORD_MMAP = 1,
    UPMU_PERF_RECORD_LOST = 2,
    UPMU_PERF_RECORD_COMM = 3,
    UPMU_PERF_RECORD_EXIT = 4,
    UPMU_PERF_RECORD_THROTTLE = 5,
    UPMU_PERF_RECORD_UNTHROTTLE = 6,
    UPMU_PERF_RECORD_FORK = 7,
    UPMU_PERF_RECORD_SAMPLE = 9,
    UPMU_PERF_RECORD_MMAP2 = 10,
    UPMU_PERF_RECORD_SWITCH = 14,
    UPMU_PERF_RECORD_SWITCH_CPU_WIDE = 15
};

/*
 * misc: the mode of the code that a record is about, and a bit of some types: a name came by exec; a mapping is not
 * executable; a task stopped running.
 */
#define UPMU_PERF_MISC_KERNEL 1u
#define UPMU_PERF_MISC_USER 2u
#define UPMU_PERF_MISC_EXACT_IP (1u << 14)
#define UPMU_PERF_MISC_EXEC (1u << 13)
#define UPMU_PERF_MISC_MMAP_DATA (1u << 13)
#define UPMU_PERF_MISC_SWITCH_OUT (1u << 13)

#define UPMU_PERF_PROTECTION_EXECUTE 4u /* bit of the protection in records of mappings: PROT_EXEC */

/* Entries of a chain of callers: addresses of this mode follow. */
#define UPMU_PERF_CONTEXT_KERNEL (~UINT64_C(127))
#define UPMU_PERF_CONTEXT_USER (~UINT64_C(511))

/* What poll tells of a descriptor. */
#define UPMU_PERF_POLL_IN 1u   /* records are to be read */
#define UPMU_PERF_POLL_HUP 16u /* nothing comes any more */

/* ---- ioctl ---- */

/* Commands.  With UPMU_PERF_IOC_FLAG_GROUP as argument, ENABLE, DISABLE and RESET act on the whole group. */
#define UPMU_PERF_IOC_ENABLE 0x2400u
#define UPMU_PERF_IOC_DISABLE 0x2401u
#define UPMU_PERF_IOC_REFRESH 0x2402u
#define UPMU_PERF_IOC_RESET 0x2403u
#define UPMU_PERF_IOC_PERIOD 0x40082404u
#define UPMU_PERF_IOC_SET_OUTPUT 0x2405u
#define UPMU_PERF_IOC_SET_FILTER 0x40082406u
#define UPMU_PERF_IOC_ID 0x80082407u
#define UPMU_PERF_IOC_SET_BPF 0x40042408u
#define UPMU_PERF_IOC_PAUSE_OUTPUT 0x40042409u
#define UPMU_PERF_IOC_QUERY_BPF 0xc008240au
#define UPMU_PERF_IOC_MODIFY_ATTRIBUTES 0x4008240bu
#define UPMU_PERF_IOC_FLAG_GROUP 1u

/* Commands whose numbers contain the size of a pointer, with the numbers that programs of 32 bits use. */
#define UPMU_PERF_IOC_SET_FILTER_32 0x40042406u
#define UPMU_PERF_IOC_ID_32 0x80042407u
#define UPMU_PERF_IOC_QUERY_BPF_32 0xc004240au
#define UPMU_PERF_IOC_MODIFY_ATTRIBUTES_32 0x4004240bu

/* ---- Errors: a call that fails returns one of these numbers with a minus sign ---- */

enum upmu_perf_errno {
    UPMU_PERF_EPERM = 1,
    UPMU_PERF_ENOENT = 2,
    UPMU_PERF_ESRCH = 3,
    UPMU_PERF_EIO = 5,
    UPMU_PERF_E2BIG = 7,
    UPMU_PERF_EBADF = 9,
    UPMU_PERF_ENOMEM = 12,
    UPMU_PERF_EACCES = 13,
    UPMU_PERF_EFAULT = 14,
    UPMU_PERF_EBUSY = 16,
    UPMU_PERF_ENODEV = 19,
    UPMU_PERF_EINVAL = 22,
    UPMU_PERF_EMFILE = 24,
    UPMU_PERF_ENOTTY = 25,
    UPMU_PERF_ENOSPC = 28,
    UPMU_PERF_EOVERFLOW = 75,
    UPMU_PERF_EOPNOTSUPP = 95
};

#ifdef __cplusplus
}
#endif

#endif
