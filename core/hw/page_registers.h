/* SPDX-License-Identifier: MIT */
/*
 * Addresses of the registers in UPMU_SPACE_PAGE, for the core, which accesses them, and for the backend.
 */
#ifndef UPMU_CORE_PAGE_REGISTERS_H
#define UPMU_CORE_PAGE_REGISTERS_H

#include <stddef.h>
#include <upmu/paravirt.h>

/*
 * Addresses: offsets in the page (struct upmu_pv_page), and numbers beyond the page for the enable register, the
 * overflow status and its acknowledgement.  core/hw/shared_page.c knows these three by their numbers.
 */
#define UPMU_PAGE_CONFIG(slot) \
    ((uint32_t)offsetof(struct upmu_pv_page, wish) + (slot) * (uint32_t)sizeof(struct upmu_pv_wish))
#define UPMU_PAGE_VALUE(slot) (UPMU_PAGE_CONFIG(slot) + (uint32_t)offsetof(struct upmu_pv_wish, load))
#define UPMU_PAGE_GATE 0x10000u
#define UPMU_PAGE_STATUS 0x10001u
#define UPMU_PAGE_ACK 0x10002u

#endif
