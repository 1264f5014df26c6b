/* SPDX-License-Identifier: MIT */
/*
 * Sizes, offsets and numbers of what Rust sees.  build.rs compiles this to assembly text, reads the lines that have an
 * arrow, and never runs it: so they are right for each target and each set of options.
 */
#include <upmu/event.h>
#include <upmu/place.h>
#include <upmu/session.h>
#include <upmu/upmu.h>
#ifdef UPMU_RUST_SIM
#include <models/sim/sim.h>
#endif

#define NUMBER(name) __asm__ volatile("\n.ascii \"->number " #name " %c0\"" ::"i"((int)(name)))
#define SIZED(word, type)                                                                                              \
    __asm__ volatile("\n.ascii \"->" word " " #type " %c0 %c1\"" ::"i"((int)sizeof(struct type)),                      \
                     "i"((int)_Alignof(struct type)))
/* Memory whose contents are the library's. */
#define MEMORY(type) SIZED("memory", type)
/* A structure that Rust declares, too: each of its members follows. */
#define RECORD(type) SIZED("record", type)
#define FIELD(type, field)                                                                                             \
    __asm__ volatile("\n.ascii \"->field " #type " " #field " %c0 %c1\"" ::"i"((int)offsetof(struct type, field)),     \
                     "i"((int)sizeof(((struct type *)0)->field)))

enum { STATUS_BYTES = sizeof(enum upmu_status) };

void upmu_rust_layout(void);
void upmu_rust_layout(void)
{
    NUMBER(UPMU_VERSION);
    NUMBER(UPMU_SET_EVENTS);
    NUMBER(STATUS_BYTES);

    NUMBER(UPMU_OK);
    NUMBER(UPMU_ERR_SYNTAX);
    NUMBER(UPMU_ERR_NO_SUCH_PMU);
    NUMBER(UPMU_ERR_NO_SUCH_EVENT);
    NUMBER(UPMU_ERR_NO_SUCH_MASK);
    NUMBER(UPMU_ERR_NO_SUCH_ATTRIBUTE);
    NUMBER(UPMU_ERR_BAD_VALUE);
    NUMBER(UPMU_ERR_CONTRADICTION);
    NUMBER(UPMU_ERR_MASK_REQUIRED);
    NUMBER(UPMU_ERR_MASKS_EXCLUSIVE);
    NUMBER(UPMU_ERR_NO_PMU);
    NUMBER(UPMU_ERR_UNSUPPORTED);
    NUMBER(UPMU_ERR_PORT);
    NUMBER(UPMU_ERR_DOES_NOT_FIT);
    NUMBER(UPMU_ERR_TOO_HARD);
    NUMBER(UPMU_ERR_CHANGED);
    NUMBER(UPMU_ERR_LOST_CLAIM);
    NUMBER(UPMU_ERR_NO_CPU);
    NUMBER(UPMU_ERR_NOT_PRECISE);
    NUMBER(UPMU_ERR_VERSION);
    NUMBER(UPMU_ERR_HOOK_MISSING);
    NUMBER(UPMU_ERR_BUSY);
    NUMBER(UPMU_ERR_WRONG_CPU);
    NUMBER(UPMU_ERR_STATE);
    NUMBER(UPMU_ERR_NO_SPACE);
    NUMBER(UPMU_ERR_INVALID);
    NUMBER(UPMU_ERR_COMPILED_OUT);
    NUMBER(UPMU_ERR_END);
    NUMBER(UPMU_ERR_NOT_PERMITTED);
    NUMBER(UPMU_ERR_WRONG_PMU);
    NUMBER(UPMU_ERR_NOT_LINKED);
    NUMBER(UPMU_ERR_NOT_PER_THREAD);
    NUMBER(UPMU_ERR_WRITE);
    NUMBER(UPMU_ERR_DAMAGED);
    NUMBER(UPMU_ERR_FORMULA);
    NUMBER(UPMU_ERR_NO_SUCH_NAME);
    NUMBER(UPMU_ERR_DIVISION);
    NUMBER(UPMU_ERR_NOT_COUNTED);
    NUMBER(UPMU_QUALITY_EXACT);
    NUMBER(UPMU_QUALITY_SCALED);
    NUMBER(UPMU_QUALITY_PARTIAL);
    NUMBER(UPMU_QUALITY_NEVER_RAN);
    NUMBER(UPMU_QUALITY_UNPROVEN);
    NUMBER(UPMU_SAMPLE_USER);
    NUMBER(UPMU_SAMPLE_LOST);
    NUMBER(UPMU_SAMPLE_NO_FRAME);
    NUMBER(UPMU_SAMPLE_HIDDEN);
    NUMBER(UPMU_SESSION_DETACHED);
    NUMBER(UPMU_SESSION_STOPPED);
    NUMBER(UPMU_SESSION_RUNNING);
    NUMBER(UPMU_SESSION_MASKED);
    NUMBER(UPMU_SESSION_SUSPENDED);
    NUMBER(UPMU_SESSION_CLOSED);
    NUMBER(UPMU_SESSION_WAITING);
    NUMBER(UPMU_PMI_NOT_OURS);
    NUMBER(UPMU_PMI_HANDLED);
    NUMBER(UPMU_PMI_STALE);
    NUMBER(UPMU_WORLD_BOTH);
    NUMBER(UPMU_WORLD_HOST);
    NUMBER(UPMU_WORLD_GUEST);

    MEMORY(upmu_machine);
    MEMORY(upmu_cpu);
    MEMORY(upmu_place_work);
    MEMORY(upmu_session);
    MEMORY(upmu_region);
    MEMORY(upmu_thread);
    MEMORY(upmu_why);
    FIELD(upmu_machine, why);
    FIELD(upmu_session, state);
    FIELD(upmu_session, ring);
    FIELD(upmu_session, why);
    FIELD(upmu_session, set);
    FIELD(upmu_set, count);
    FIELD(upmu_region, count);
    FIELD(upmu_region, events);
    FIELD(upmu_region, session);
    FIELD(upmu_thread, pid);
    FIELD(upmu_thread, tid);

    RECORD(upmu_count);
    FIELD(upmu_count, value);
    FIELD(upmu_count, raw);
    FIELD(upmu_count, error);
    FIELD(upmu_count, enabled_ns);
    FIELD(upmu_count, running_ns);
    FIELD(upmu_count, left);
    FIELD(upmu_count, reset);
    FIELD(upmu_count, quality);
    FIELD(upmu_count, lost);
    RECORD(upmu_frame);
    FIELD(upmu_frame, ip);
    FIELD(upmu_frame, sp);
    FIELD(upmu_frame, user);
    FIELD(upmu_frame, process);
    FIELD(upmu_frame, thread);
    FIELD(upmu_frame, fp);
    FIELD(upmu_frame, registers);
    FIELD(upmu_frame, register_mask);
    RECORD(upmu_sampling);
    FIELD(upmu_sampling, period);
    FIELD(upmu_sampling, event_id);
    FIELD(upmu_sampling, values);
    FIELD(upmu_sampling, switch_after);
    FIELD(upmu_sampling, long_period);
    FIELD(upmu_sampling, random_mask);
    FIELD(upmu_sampling, random_seed);
    FIELD(upmu_sampling, resets);
    FIELD(upmu_sampling, frequency);
    FIELD(upmu_sampling, flags);
    RECORD(upmu_sample);
    FIELD(upmu_sample, ip);
    FIELD(upmu_sample, sp);
    FIELD(upmu_sample, time_ns);
    FIELD(upmu_sample, events);
    FIELD(upmu_sample, lost);
    FIELD(upmu_sample, cpu);
    FIELD(upmu_sample, flags);
    RECORD(upmu_port);
    FIELD(upmu_port, context);
    FIELD(upmu_port, rdmsr);
    FIELD(upmu_port, wrmsr);
    FIELD(upmu_port, cpuid);
    FIELD(upmu_port, this_cpu);
    FIELD(upmu_port, irq_save);
    FIELD(upmu_port, irq_restore);
    FIELD(upmu_port, rdpmc);
    FIELD(upmu_port, pmi_rearm);
    FIELD(upmu_port, clock_ns);
    FIELD(upmu_port, allow_rdpmc);
    FIELD(upmu_port, run_on_cpu);
    FIELD(upmu_port, request_tick);
    FIELD(upmu_port, tick_ns);
    FIELD(upmu_port, log);
    FIELD(upmu_port, msr_faults_are_safe);
    FIELD(upmu_port, in_kernel_mode);
    FIELD(upmu_port, hypercall);
    FIELD(upmu_port, shared_page);
    FIELD(upmu_port, pci_read);
    FIELD(upmu_port, pci_write);
    FIELD(upmu_port, mmio_map);
    FIELD(upmu_port, mmio_unmap);
    FIELD(upmu_port, mmio_read);
    FIELD(upmu_port, mmio_write);
    FIELD(upmu_port, cpu_place);
    FIELD(upmu_port, nearest_cpu);
    FIELD(upmu_port, show_unit);
    FIELD(upmu_port, own_unit);
#ifdef UPMU_RUST_SIM
    MEMORY(upmu_sim);
#endif
}
