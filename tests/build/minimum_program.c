/* SPDX-License-Identifier: MIT */
/*
 * The smallest program that counts: tools/size.py links it with the options of a profile, or with fewer, and takes
 * the rest as what that build is.  With UPMU_THREADS it counts cycles and instructions of a thread instead, by name
 * where there are names; with UPMU_SAMPLING it has the handler of an interrupt, too.
 */
#include <upmu/cpu.h>
#include <upmu/event.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include <upmu/upmu.h>

void *memcpy(void *to, const void *from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);
int memcmp(const void *one, const void *other, size_t bytes);
int minimum_program(const struct upmu_port *port);

#ifndef COUNTS
/* Stand-ins: only their names matter, the program is never run.  The example kernel has functions. */
void *memcpy(void *to, const void *from, size_t bytes)
{
    (void)from;
    return bytes ? to : NULL;
}

void *memmove(void *to, const void *from, size_t bytes)
{
    (void)from;
    return bytes ? to : NULL;
}

void *memset(void *to, int value, size_t bytes)
{
    (void)value;
    return bytes ? to : NULL;
}

int memcmp(const void *one, const void *other, size_t bytes)
{
    return bytes && one == other;
}
#endif

static struct upmu_machine machine;
static struct upmu_cpu cpu;
static struct upmu_session session;
static struct upmu_event event;
static struct upmu_count count[2];

static bool add(const char *name, enum upmu_basic_event which)
{
    if (UPMU_NAMES)
        return upmu_set_add(&session.set, name, NULL) == UPMU_OK;
    return upmu_event_basic(cpu.meter.pmu, which, &event) == UPMU_OK &&
           upmu_set_add_event(&session.set, &event, NULL) == UPMU_OK;
}

#if UPMU_THREADS
static struct upmu_thread thread, idle;

static bool measure(void)
{
    upmu_thread_init(&thread, 1, 1, NULL);
    upmu_thread_init(&idle, 0, 0, NULL);
    return add("cycles", UPMU_BASIC_CYCLES) && add("instructions", UPMU_BASIC_INSTRUCTIONS) &&
           upmu_session_attach_thread(&session, &thread, NULL) == UPMU_OK && upmu_session_start(&session) == UPMU_OK &&
           upmu_thread_switch(&cpu, &idle, &thread) == UPMU_OK && upmu_thread_switch(&cpu, &thread, &idle) == UPMU_OK &&
           upmu_set_read(&session.set, 0, 2, count) == UPMU_OK && upmu_thread_exit(&thread) == UPMU_OK &&
           upmu_session_close(&session) == UPMU_OK;
}
#else
static bool measure(void)
{
    return add("instructions", UPMU_BASIC_INSTRUCTIONS) && upmu_session_attach_cpu(&session, &cpu) == UPMU_OK &&
           upmu_session_start(&session) == UPMU_OK && upmu_set_read(&session.set, 0, 1, count) == UPMU_OK &&
           upmu_session_stop(&session) == UPMU_OK && upmu_session_detach(&session) == UPMU_OK;
}
#endif

int minimum_program(const struct upmu_port *port)
{
    if (upmu_machine_init(&machine, port) != UPMU_OK || upmu_cpu_init(&cpu, &machine, NULL) != UPMU_OK ||
        upmu_session_init(&session, &machine) != UPMU_OK)
        return 1;
    return measure() && (!UPMU_SAMPLING || upmu_pmi_handle(&cpu, NULL) == UPMU_PMI_NOT_OURS) &&
                   upmu_cpu_poll(&cpu) == UPMU_OK && upmu_cpu_fini(&cpu) == UPMU_OK
               ? 0
               : 2;
}
