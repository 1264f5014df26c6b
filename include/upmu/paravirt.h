/* SPDX-License-Identifier: MIT */
/*
 * The paravirtual PMU as guests and hypervisors see it: numbers and layouts (docs/PARAVIRT.md).
 *
 * All fields are little-endian and lie on multiples of their size, so that the layouts are equal for guests of 32 and
 * of 64 bits.  What is reserved is 0.
 */
#ifndef UPMU_PARAVIRT_H
#define UPMU_PARAVIRT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Detection ---- */

/*
 * The PMU's leaf is the first of 40000000H, 40000100H, ... 4000FF00H with this signature ("upmuPMUupmu") in EBX, ECX
 * and EDX; its EAX is the highest leaf of this kind, at least 2 above.  KVM's own leaf says nothing of it.
 */
#define UPMU_PV_LEAF_FIRST 0x40000000u
#define UPMU_PV_LEAF_LAST 0x4000ff00u
#define UPMU_PV_LEAF_STEP 0x100u
#define UPMU_PV_SIGNATURE_EBX 0x756d7075u
#define UPMU_PV_SIGNATURE_ECX 0x75554d50u
#define UPMU_PV_SIGNATURE_EDX 0x00756d70u

/* The next leaf.  EAX: these bits; EBX: the number of the hypervisor's call; ECX: the version; EDX: slots. */
#define UPMU_PV_HAS_EVENTS (1u << 0) /* operations 1 to 5 */
#define UPMU_PV_HAS_PAGE (1u << 1)   /* operations 16 to 19 */
#define UPMU_PV_HAS_RDPMC (1u << 2)  /* reserved: 0 */
#define UPMU_PV_HAS_RAW (1u << 3)    /* raw events of the CPU that the leaf after it names */
#define UPMU_PV_VERSION 1u

/* The leaf after it.  EAX: signature (leaf 1, EAX) of the CPU whose raw events are taken, or 0; EBX: bit n, generic
   event n is there. */

/* ---- Operations: first argument of the call ---- */

/* Addresses are given as their low and high 32 bits.  Parameter, and number of an event. */
#define UPMU_PV_OPEN 1u    /* address of a upmu_pv_param */
#define UPMU_PV_CLOSE 2u   /* id: the host stores no more; the id is free */
#define UPMU_PV_ENABLE 3u  /* id */
#define UPMU_PV_DISABLE 4u /* id: the count is exact then; twice is fine */
#define UPMU_PV_READ 5u    /* id: the count goes to the area */

/* The page of the executing CPU. */
#define UPMU_PV_MAP 16u      /* address of a page of 4 KiB, zeroed: all slots are stopped */
#define UPMU_PV_UNMAP 17u    /* all slots stop; the host stores no more */
#define UPMU_PV_GATE 18u     /* slots that count from now on; those that begin are taken from the page */
#define UPMU_PV_READ_ALL 19u /* slots whose values are stored, if they count */

/* Answers. */
#define UPMU_PV_OK 0u
#define UPMU_PV_BAD_OP 1u
#define UPMU_PV_BAD_ADDRESS 2u /* misaligned, over the end of a page, or no memory of the guest */
#define UPMU_PV_BAD_ATTR 3u    /* a bit that is not known, or must be 0 */
#define UPMU_PV_BAD_EVENT 4u   /* no such event here, or not permitted */
#define UPMU_PV_BAD_ID 5u
#define UPMU_PV_DUPLICATE 6u /* the id is in use */
#define UPMU_PV_LIMIT 7u     /* too many events */
#define UPMU_PV_BAD_VCPU 8u  /* it was opened on another CPU of the guest */
#define UPMU_PV_BUSY 9u      /* call again */
#define UPMU_PV_BAD_STATE 10u /* mapped already, or not mapped */
#define UPMU_PV_NO_PMU 11u    /* not now */
#define UPMU_PV_BAD_PERIOD 12u /* shorter than the host allows */

/* ---- Single events ---- */

#define UPMU_PV_TYPE_GENERIC 0u /* config: a generic event */
#define UPMU_PV_TYPE_RAW 4u     /* config: a select word */

/* Generic events, as Linux numbers them (include/uapi/linux/perf_event.h). */
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

/* flags: not known bits are refused. */
#define UPMU_PV_ATTR_DISABLED (UINT64_C(1) << 0) /* ignored: a new event is disabled */
#define UPMU_PV_ATTR_EXCLUDE_USER (UINT64_C(1) << 4)
#define UPMU_PV_ATTR_EXCLUDE_KERNEL (UINT64_C(1) << 5)
#define UPMU_PV_ATTR_EXCLUDE_HV (UINT64_C(1) << 6)     /* ignored: the host is never counted */
#define UPMU_PV_ATTR_EXCLUDE_HOST (UINT64_C(1) << 19)  /* ignored, too */
#define UPMU_PV_ATTR_EXCLUDE_GUEST (UINT64_C(1) << 20) /* ignored, too */

/* An event, as the guest asks for it. */
struct upmu_pv_attr {
    uint32_t type;          /* UPMU_PV_TYPE_... */
    uint32_t reserved;      /* 0 */
    uint64_t config;        /* a generic event or a select word, by `type` */
    uint64_t sample_period; /* 0: count alone */
    uint64_t sample_type;   /* ignored: the guest makes its records */
    uint64_t read_format;   /* ignored */
    uint64_t flags;         /* UPMU_PV_ATTR_... */
    uint32_t bp_type;       /* 0, as all that follows */
    uint32_t reserved2;     /* 0 */
    uint64_t bp_addr;       /* 0 */
    uint64_t bp_len;        /* 0 */
};

/* Counts that the host stores; on a multiple of 8, within a page. */
struct upmu_pv_area {
    uint64_t count;     /* events, without end */
    uint32_t overflows; /* the host adds; the guest sets it to 0 by compare-and-exchange */
    uint32_t reserved;  /* 0 */
};

/* Argument of OPEN: where the guest has the event and what the host stores. */
struct upmu_pv_param {
    uint64_t attr_addr; /* of a upmu_pv_attr */
    uint64_t area_addr; /* of a upmu_pv_area */
    uint32_t id;        /* chosen by the guest, one for each event */
    uint32_t reserved;  /* 0 */
};

/* ---- The page ---- */

#define UPMU_PV_PAGE_BYTES 4096u  /* of a page */
#define UPMU_PV_MAGIC 0x75767075u /* "upvu" */
#define UPMU_PV_SLOTS 24u         /* slots of a page */
#define UPMU_PV_WIDTH 48u /* bits of a slot's value */

/* The event of a slot: bits of upmu_pv_wish.config. */
#define UPMU_PV_EVENT_BITS ((UINT64_C(1) << 56) - 1u) /* a generic event, or a select word */
#define UPMU_PV_WISH_RAW (UINT64_C(1) << 56)          /* a select word */
#define UPMU_PV_WISH_USER (UINT64_C(1) << 57)
#define UPMU_PV_WISH_KERNEL (UINT64_C(1) << 58)
#define UPMU_PV_WISH_INTERRUPT (UINT64_C(1) << 59) /* an overflow is injected */
#define UPMU_PV_WISH_USED (UINT64_C(1) << 63)      /* 0: the slot counts nothing */

/* Bits of upmu_pv_slot.status. */
#define UPMU_PV_SLOT_TAKEN 0xffffu      /* sequence of the load that the value began with */
#define UPMU_PV_SLOT_WAITS (1u << 16)   /* the host has no counter for it now */
#define UPMU_PV_SLOT_REFUSED (1u << 17) /* it is not permitted, or there is no such event */

/* The host's, as it was when it stored last. */
struct upmu_pv_slot {
    uint64_t count;     /* a upmu_pv_area: events since MAP, without end */
    uint32_t overflows; /* the host adds; the guest sets it to 0 */
    uint32_t sequence;  /* odd while the host stores */
    uint64_t value;     /* of the counter, UPMU_PV_WIDTH bits */
    uint64_t enabled_ns, running_ns; /* how long it was to count, and how long it had a counter of the host */
    uint64_t ip;        /* of the last overflow, or 0 */
    uint64_t reserved;  /* 0 */
    uint32_t reserved2; /* 0 */
    uint32_t status;    /* UPMU_PV_SLOT_... */
};

/* The guest's. */
struct upmu_pv_wish {
    uint64_t config;  /* UPMU_PV_EVENT_BITS, UPMU_PV_WISH_... */
    uint64_t config1; /* 0 */
    uint64_t load;    /* value of the counter; bits 63:48: a sequence, which a new load changes */
    uint64_t reserved; /* 0 */
};

/* The page that host and guest share. */
struct upmu_pv_page {
    uint32_t magic;      /* UPMU_PV_MAGIC */
    uint16_t version;    /* UPMU_PV_VERSION */
    uint16_t slots;      /* in use: UPMU_PV_SLOTS at most */
    uint32_t gate;       /* slots that count, by the last GATE */
    uint32_t overflowed; /* by slot: the host sets bits, the guest clears them */
    uint64_t reserved[6]; /* 0 */
    struct upmu_pv_slot slot[UPMU_PV_SLOTS]; /* the host's */
    struct upmu_pv_wish wish[UPMU_PV_SLOTS]; /* the guest's */
};

#ifdef __cplusplus
}
#endif

#endif
