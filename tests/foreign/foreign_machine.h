/* SPDX-License-Identifier: MIT */
/*
 * A machine of QEMU's, which has a PMU that others made: what the test needs of it.
 *
 * QEMU counts an instruction as a nanosecond (-icount shift=0).  The clock is slowed down, as the
 * library's throttle goes by time: with SLOWER nanoseconds for each a CPU looks as slow as one of 10 MHz.
 */
#ifndef FOREIGN_MACHINE_H
#define FOREIGN_MACHINE_H

#include <upmu/upmu.h>

#define SLOWER 100u

/* Registers that init finds and fini gives back, at most. */
#define MACHINE_REGISTERS 80u

/* Fill in the hooks; vectors and interrupt controller are ready, and interrupts are off. */
void machine_begin(struct upmu_port *port);

/* From now on interrupts of the PMU are this CPU's. */
void machine_go(struct upmu_cpu *cpu);

/* Exactly 2 * turns instructions, and a few around them. */
void machine_loop(uint64_t turns);

/* About as many, done so that QEMU notices overflows of event counters; all are in machine_loop() but a few. */
void machine_work(uint64_t turns);

/* Is an address in machine_loop()? */
bool machine_in_loop(uint64_t ip);

/* What the registers of control hold, read by no hook; returns how many. */
unsigned machine_registers(uint64_t out[MACHINE_REGISTERS]);

/* Change the event of a counter behind the library's back. */
void machine_disturb(unsigned counter);

/* What QEMU's PMU does, as far as it is found out by a try or known of it. */
struct machine_does {
    bool interrupt;   /* on overflows */
    bool tell_modes;  /* counts by mode */
    bool count_twice; /* one event on two counters */
    bool look_elsewhere; /* a repair makes QEMU notice overflows of event counters outside of the loop */
    const char *refuse; /* events that the catalogue has, and the firmware has not */
    unsigned skew;    /* instructions between the begins, or ends, of two counters behind one gate */
};
extern struct machine_does machine_does;

/* Interrupts that came, those of them that were the PMU's, and traps that should not have been. */
struct machine_seen {
    unsigned interrupts, handled, stale, strange;
};
extern volatile struct machine_seen machine_seen;

/* Writes of registers since machine_begin(), by the hook. */
extern unsigned machine_writes;

/* Of RISC-V, in M-mode: the port for S-mode alone. */
void firmware_tests(bool overflows);

/* Of RISC-V, in S-mode: a virtual CPU's PMU on this port. */
void guest_tests(const struct upmu_port *port, unsigned width, bool overflows);

/* Of RISC-V, in HS-mode: a guest in VS-mode, whose PMU is on this port. */
void hypervisor_tests(const struct upmu_port *port, unsigned width, bool overflows);

/* Faults of this QEMU that the port repairs, as text; each is found by a try. */
const char *machine_repairs(void);

#endif
