/* SPDX-License-Identifier: MIT */
/*
 * Sizes, offsets and numbers of what Rust sees, the rows of rust_layout.inc.  build.rs compiles this file to assembly
 * text, reads the lines that have an arrow, and never runs it: so they are right for each target and each set of
 * options.
 */
#include <upmu/event.h>
#include <upmu/place.h>
#include <upmu/session.h>
#include <upmu/upmu.h>
#ifdef UPMU_RUST_SIM
#include <models/sim/sim.h>
#endif
#ifdef UPMU_RUST_GUEST
#include <abi/guest/guest.h>
#endif

#define NUMBER(name) __asm__ volatile("\n.ascii \"->number " #name " %c0\"" ::"i"((int)(name)));
#define SIZED(word, type)                                                                                              \
    __asm__ volatile("\n.ascii \"->" word " " #type " %c0 %c1\"" ::"i"((int)sizeof(struct type)),                      \
                     "i"((int)_Alignof(struct type)));
#define MEMORY(type) SIZED("memory", type)
#define RECORD(type) SIZED("record", type)
#define FIELD(type, field)                                                                                             \
    __asm__ volatile("\n.ascii \"->field " #type " " #field " %c0 %c1\"" ::"i"((int)offsetof(struct type, field)),     \
                     "i"((int)sizeof(((struct type *)0)->field)));

enum { STATUS_BYTES = sizeof(enum upmu_status) };

void upmu_rust_layout(void);
void upmu_rust_layout(void)
{
#include "rust_layout.inc"
}
