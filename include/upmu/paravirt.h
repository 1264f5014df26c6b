/* SPDX-License-Identifier: MIT */
/*
 * The paravirtual PMU: numbers and layouts that guests and hypervisors have in common (docs/PARAVIRT.md).  Here the
 * host is the hypervisor.  A guest counts by the slots of a page that it shares with the host, or by single events.
 *
 * All fields are little-endian and lie on multiples of their size, so that the layouts are equal for guests of 32 and
 * of 64 bits.  Reserved fields are 0.
 */
#ifndef UPMU_PARAVIRT_H
#define UPMU_PARAVIRT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Detection ---- */

/*
 * CPUID leaf L of the PMU is the first of the leaves 40000000H, 40000100H, ... 4000FF00H that has this signature
 * ("upmuPMUupmu") in EBX, ECX and EDX.  Its EAX is the number of the PMU's highest leaf, at least L + 2.  KVM's own
 * leaf does not mention this PMU.
 */
#define UPMU_PV_LEAF_FIRST 0x40000000u
#define UPMU_PV_LEAF_LAST 0x4000ff00u
#define UPMU_PV_LEAF_STEP 0x100u
#define UPMU_PV_SIGNATURE_EBX 0x756d7075u
#define UPMU_PV_SIGNATURE_ECX 0x75554d50u
#define UPMU_PV_SIGNATURE_EDX 0x00756d70u

/* Leaf L + 1.  EAX: these bits; EBX: the number of the hypercall; ECX: UPMU_PV_VERSION; EDX: number of slots. */
#define UPMU_PV_HAS_EVENTS (1u << 0) /* operations 1 to 5 (single events) may be called */
#define UPMU_PV_HAS_PAGE (1u << 1)   /* operations 16 to 19 (the page) may be called */
#define UPMU_PV_HAS_RDPMC (1u << 2)  /* reserved: 0 */
#define UPMU_PV_HAS_RAW (1u << 3)    /* raw events of the CPU that leaf L + 2 names are accepted */
#define UPMU_PV_VERSION 1u

/* Leaf L + 2.  EAX: signature (leaf 1, EAX) of the CPU whose raw events are accepted, or 0; EBX: bit n: generic event n
   exists; ECX: the shortest period of interrupts, or 0. */

/* ---- Operations: first argument of the hypercall; two further arguments follow ---- */

/* Operations on single events.  Arguments: a guest-physical address, as its low and its high 32 bits; or the id of an
   event. */
#define UPMU_PV_OPEN 1u    /* address of a upmu_pv_param: make a new event, which is disabled */
/* id: end the event; the host no longer stores to its area, and the guest may use the id for a new event */
#define UPMU_PV_CLOSE 2u
#define UPMU_PV_ENABLE 3u  /* id: count from now on */
#define UPMU_PV_DISABLE 4u /* id: stop, also if stopped already; afterwards the count in the area is exact */
#define UPMU_PV_READ 5u    /* id: store the present count to the area */

/* Operations on the page of the executing CPU.  Arguments: an address as above, or a mask of slots. */
#define UPMU_PV_MAP 16u      /* address of a page of 4 KiB, zeroed: use this page; all slots are stopped */
#define UPMU_PV_UNMAP 17u    /* stop all slots; the host no longer stores to the page */
#define UPMU_PV_GATE 18u     /* mask: these slots, and no others, count from now on; the host reads the upmu_pv_wish
                                of each slot that begins to count */
/* mask: store the present values of these slots to the page, but of those alone that count */
#define UPMU_PV_READ_ALL 19u

/* Answers of the hypercall. */
#define UPMU_PV_OK 0u
#define UPMU_PV_BAD_OP 1u
/* the address is misaligned, the structure goes over the end of a page, or the guest has no memory there */
#define UPMU_PV_BAD_ADDRESS 2u
#define UPMU_PV_BAD_ATTR 3u    /* the event has a bit that the host does not know, or a reserved field that is not 0 */
#define UPMU_PV_BAD_EVENT 4u   /* the host has no such event, or does not permit it */
#define UPMU_PV_BAD_ID 5u
#define UPMU_PV_DUPLICATE 6u /* the id is in use */
#define UPMU_PV_LIMIT 7u     /* OPEN: too many events; ENABLE: no counter is free */
#define UPMU_PV_BAD_VCPU 8u  /* the event was opened on another CPU of the guest */
#define UPMU_PV_BUSY 9u      /* call again */
#define UPMU_PV_BAD_STATE 10u /* a page is mapped already, or none is; no such slot; page and events used together */
#define UPMU_PV_NO_PMU 11u    /* the host has no PMU for the guest at present */
#define UPMU_PV_BAD_PERIOD 12u /* the period is shorter than the host allows, or 2^47 events or more */

/* ---- Single events ---- */

/* Values of upmu_pv_attr.type. */
#define UPMU_PV_TYPE_GENERIC 0u /* `config` is the number of a generic event */
#define UPMU_PV_TYPE_RAW 4u     /* `config` is a select word */

/*
 * Numbers of generic events: upmu_pv_attr.config with UPMU_PV_TYPE_GENERIC, and UPMU_PV_EVENT_BITS of a slot.  The
 * numbers are those of Linux (PERF_COUNT_HW_... of include/uapi/linux/perf_event.h).
 */
#define UPMU_PV_CYCLES 0u
#define UPMU_PV_INSTRUCTIONS 1u
#define UPMU_PV_CACHE_REFERENCES 2u
#define UPMU_PV_CACHE_MISSES 3u
#define UPMU_PV_BRANCHES 4u
#define UPMU_PV_BRANCH_MISSES 5u
#define UPMU_PV_BUS_CYCLES 6u
#define UPMU_PV_STALLED_FRONTEND 7u
#define UPMU_PV_STALLED_BACKEND 8u
#define UPMU_PV_REF_CYCLES 9u
#define UPMU_PV_GENERIC_EVENTS 10u

/* Bits of upmu_pv_attr.flags; other bits are refused. */
#define UPMU_PV_ATTR_DISABLED (UINT64_C(1) << 0) /* ignored: a new event is always disabled */
#define UPMU_PV_ATTR_EXCLUDE_USER (UINT64_C(1) << 4)
#define UPMU_PV_ATTR_EXCLUDE_KERNEL (UINT64_C(1) << 5)
#define UPMU_PV_ATTR_EXCLUDE_HV (UINT64_C(1) << 6)     /* ignored: the hypervisor is never counted */
#define UPMU_PV_ATTR_EXCLUDE_HOST (UINT64_C(1) << 19)  /* ignored */
#define UPMU_PV_ATTR_EXCLUDE_GUEST (UINT64_C(1) << 20) /* ignored */

/* A single event that the guest asks for. */
struct upmu_pv_attr {
    uint32_t type;          /* UPMU_PV_TYPE_... */
    uint32_t reserved;      /* 0 */
    uint64_t config;        /* number of a generic event, or a select word, by `type` */
    uint64_t sample_period; /* events between two overflows; 0: the event is only counted */
    uint64_t sample_type;   /* ignored: the guest makes its own records */
    uint64_t read_format;   /* ignored */
    uint64_t flags;         /* UPMU_PV_ATTR_... */
    uint32_t bp_type;       /* 0, as all members that follow */
    uint32_t reserved2;     /* 0 */
    uint64_t bp_addr;       /* 0 */
    uint64_t bp_len;        /* 0 */
};

/* Memory of the guest, on a multiple of 8 and within a page, where the host stores the count of one opened event. */
struct upmu_pv_area {
    uint64_t count;     /* number of events, 64 bits; overflows do not set it back */
    uint32_t overflows; /* number of overflows: the host adds to it, the guest sets it to 0 by compare-and-exchange */
    uint32_t reserved;  /* 0 */
};

/* Argument of UPMU_PV_OPEN. */
struct upmu_pv_param {
    uint64_t attr_addr; /* guest-physical address of the event's upmu_pv_attr */
    uint64_t area_addr; /* guest-physical address of the event's upmu_pv_area */
    uint32_t id;        /* a number that the guest chooses, another one for each event */
    uint32_t reserved;  /* 0 */
};

/* ---- The page ---- */

#define UPMU_PV_PAGE_BYTES 4096u  /* size of the page */
#define UPMU_PV_MAGIC 0x75767075u /* "upvu" */
#define UPMU_PV_SLOTS 24u         /* the most slots of a page; a slot is a counter of the guest */
#define UPMU_PV_WIDTH 48u /* bits of a slot's value */

/* Bits of upmu_pv_wish.config, the event of a slot. */
#define UPMU_PV_EVENT_BITS ((UINT64_C(1) << 56) - 1u) /* number of a generic event, or a select word */
#define UPMU_PV_WISH_RAW (UINT64_C(1) << 56)          /* UPMU_PV_EVENT_BITS are a select word */
#define UPMU_PV_WISH_USER (UINT64_C(1) << 57)
#define UPMU_PV_WISH_KERNEL (UINT64_C(1) << 58)
#define UPMU_PV_WISH_INTERRUPT (UINT64_C(1) << 59) /* at an overflow the host injects an NMI or PMI into the guest */
#define UPMU_PV_WISH_USED (UINT64_C(1) << 63)      /* not set: the slot counts nothing */

/* Bits of upmu_pv_slot.status, by which the host tells the state of a slot. */
/* bits 15:0: bits 63:48 of the upmu_pv_wish.load that the host took last, and with which `value` began */
#define UPMU_PV_SLOT_TAKEN 0xffffu
#define UPMU_PV_SLOT_WAITS (1u << 16)   /* the slot does not count now: the host has no counter for it */
#define UPMU_PV_SLOT_REFUSED (1u << 17) /* the slot's event does not exist, or is not permitted */

/* The part of a slot that the host writes, as it was at the host's last store. */
struct upmu_pv_slot {
    uint64_t count;     /* number of events since MAP, 64 bits; the first 16 bytes are like a upmu_pv_area */
    uint32_t overflows; /* number of overflows: the host adds to it, the guest sets it to 0 by compare-and-exchange */
    uint32_t sequence;  /* odd while the host stores; each store adds 2 */
    uint64_t value;     /* value of the slot's counter, UPMU_PV_WIDTH bits */
    /* time in which the slot was to count; part of it with a counter of the host; 0: abi/paravirt gives none */
    uint64_t enabled_ns, running_ns;
    uint64_t ip;        /* instruction of the guest at the last overflow, or 0: abi/paravirt gives none */
    uint64_t reserved;  /* 0 */
    uint32_t reserved2; /* 0 */
    uint32_t status;    /* UPMU_PV_SLOT_... */
};

/* The part of a slot that the guest writes: what the slot is to count. */
struct upmu_pv_wish {
    uint64_t config;  /* the event that the slot is to count: UPMU_PV_EVENT_BITS, and bits UPMU_PV_WISH_...; 0: none */
    uint64_t config1; /* 0 */
    uint64_t load;    /* bits 47:0: the value from which to count; 63:48: a sequence, another one for each new load */
    uint64_t reserved; /* 0 */
};

/*
 * The page that host and guest share: one page for each CPU of the guest (UPMU_PV_MAP).  The host writes `slot`, the
 * guest writes `wish`; the host sets bits of `overflowed` and adds to slot[].overflows, and the guest clears them.
 */
struct upmu_pv_page {
    uint32_t magic;      /* UPMU_PV_MAGIC */
    uint16_t version;    /* UPMU_PV_VERSION */
    uint16_t slots;      /* number of slots in use, at most UPMU_PV_SLOTS */
    uint32_t gate;       /* mask: slots that count, by the last UPMU_PV_GATE */
    uint32_t overflowed; /* bit n: slot n has overflowed; the host sets bits, the guest clears them atomically */
    uint64_t reserved[6]; /* 0 */
    struct upmu_pv_slot slot[UPMU_PV_SLOTS]; /* written by the host */
    struct upmu_pv_wish wish[UPMU_PV_SLOTS]; /* written by the guest */
};

#ifdef __cplusplus
}
#endif

#endif
