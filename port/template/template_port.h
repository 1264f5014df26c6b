/* SPDX-License-Identifier: 0BSD */
/*
 * Template of an upmu port: copy these two files, fill in, rename.  Permission to use
 * this file for any purpose is granted without any condition; no notice is needed.
 */
#ifndef TEMPLATE_PORT_H
#define TEMPLATE_PORT_H

#include <upmu/upmu.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The port that you fill in: pass its address to upmu_machine_init(). */
extern const struct upmu_port template_port;

/* Call this function in your handler of NMIs (or of the chosen vector). Returns what upmu_pmi_handle() returns. */
enum upmu_pmi template_interrupt(uint64_t ip, uint64_t sp, bool user);

#ifdef __cplusplus
}
#endif

#endif
