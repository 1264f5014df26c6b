/* SPDX-License-Identifier: MIT */
/*
 * libpmc for a program: calls become pmc_syscall(), which the program's system provides. The kernel parses the names of
 * events. With PMC_LOCAL_NAMES=1 the program parses them: it is linked with upmu and its catalogues, and the kernel
 * needs no catalogue.
 */
#include <stddef.h>
#include <string.h>
#include "abi/pmc/pmc.h"

#ifndef PMC_LOCAL_NAMES
#define PMC_LOCAL_NAMES 0
#endif

#ifndef pmc_errno
int pmc_errno;
#endif

static struct pmc_cpuinfo cpus;

static int call_kernel(unsigned operation, void *argument, size_t bytes)
{
    int reason = pmc_syscall(operation, argument, (uint32_t)bytes);

    if (reason)
        pmc_errno = reason;
    return reason ? -1 : 0;
}

static int call_simple(unsigned operation, uint32_t id, int32_t value)
{
    struct pmc_op_simple argument = {id, value};

    return call_kernel(operation, &argument, sizeof argument);
}

/* ---- Names of events: parsed in the program (PMC_LOCAL_NAMES), or by the kernel ---- */

#if PMC_LOCAL_NAMES

#include <upmu/catalogs.h>
#include <upmu/pmu.h>
#include <upmu/upmu.h>

/* Two of errno's numbers, as Linux and FreeBSD have them; pmc.h has none. */
#define NO_DEVICE 19
#define BAD_ARGUMENT 22

static struct upmu_pmu own; /* the kernel's PMU; its `catalog` is NULL while the PMU is unknown */

static int set_errno(int reason)
{
    pmc_errno = reason;
    return -1;
}

/*
 * Fill in `own` by the name of the PMU that the kernel has answered in `cpus`. That name is cut to its first bytes if
 * it is long: then `own` is the first known PMU whose name begins so. -1: no such PMU, or it has no catalogue.
 */
static int begin_names(void)
{
    const size_t room = sizeof cpus.pm_cputype - 1;
    const char *name = cpus.pm_cputype;

    cpus.pm_cputype[room] = 0;
    own.catalog = NULL;
    for (unsigned i = 0; cpus.pm_cputype[room - 1] && (name = upmu_pmu_known(i)) != NULL; i++)
        if (strncmp(name, cpus.pm_cputype, room) == 0)
            break;
    return name && upmu_pmu_by_name(&own, name) == UPMU_OK && own.catalog ? 0 : set_errno(NO_DEVICE);
}

/* Write an event as a text of register words ("raw:config=0x..."), for a kernel without catalogues. */
static int write_spec(const char *spec, char *out, size_t size)
{
    struct upmu_event event, seen;

    if (!own.catalog)
        return set_errno(NO_DEVICE);
    if (upmu_event_parse(&own, spec, &event, NULL) != UPMU_OK)
        return set_errno(BAD_ARGUMENT);
    event.attributes |= UPMU_ATTR_RAW;
    if (upmu_event_format(&own, &event, out, size) >= size || upmu_event_parse(&own, out, &seen, NULL) != UPMU_OK)
        return set_errno(BAD_ARGUMENT);
    if (!(seen.counters & ~event.counters))
        return 0;
    /*
     * From the words alone the kernel would allow counters that the event cannot use: pin it to the lowest that it can.
     */
    event.attributes |= UPMU_ATTR_PIN;
    for (event.pin = 0; !(event.counters >> event.pin & 1u);)
        event.pin++;
    return upmu_event_format(&own, &event, out, size) < size ? 0 : set_errno(BAD_ARGUMENT);
}

static int name_of_event(struct pmc_op_name *name)
{
    bool has = name->pm_class == cpus.pm_class[0] || name->pm_class == cpus.pm_class[1];

    return has && own.catalog && name->pm_index <= 0xffff &&
                   upmu_catalog_row_name(own.catalog, name->pm_index, name->pm_name, sizeof name->pm_name)
               ? 0
               : set_errno(BAD_ARGUMENT);
}

#else

static int begin_names(void)
{
    return 0;
}

static int write_spec(const char *spec, char *out, size_t size)
{
    size_t length = 0;

    for (; spec[length] && length + 1 < size; length++)
        out[length] = spec[length];
    out[length] = spec[length]; /* a text that is too long ends without a NUL, and the kernel refuses it */
    return 0;
}

static int name_of_event(struct pmc_op_name *name)
{
    return call_kernel(PMC_OP_EVENTNAME, name, sizeof *name);
}

#endif

int pmc_init(void)
{
    struct pmc_op_info argument = {PMC_VERSION, 0};

    return call_kernel(PMC_OP_INIT, &argument, sizeof argument) || call_kernel(PMC_OP_CPUINFO, &cpus, sizeof cpus)
               ? -1
               : begin_names();
}

int pmc_ncpu(void)
{
    return (int)cpus.pm_ncpu;
}

int pmc_npmc(int cpu)
{
    return cpu >= 0 && (uint32_t)cpu < cpus.pm_ncpu ? (int)cpus.pm_npmc : -1;
}

int pmc_cpuinfo(const struct pmc_cpuinfo **out_info)
{
    *out_info = &cpus;
    return call_kernel(PMC_OP_CPUINFO, &cpus, sizeof cpus);
}

int pmc_pmcinfo(int cpu, int row, struct pmc_pmcinfo *out_info)
{
    memset(out_info, 0, sizeof *out_info);
    out_info->pm_row = (uint32_t)row;
    out_info->pm_owner = (uint32_t)cpu;
    return call_kernel(PMC_OP_PMCINFO, out_info, sizeof *out_info);
}

int pmc_get_driver_stats(struct pmc_driverstats *out_stats)
{
    memset(out_stats, 0, sizeof *out_stats);
    return call_kernel(PMC_OP_STATS, out_stats, sizeof *out_stats);
}

static int read_facts(pmc_id_t id, struct pmc_op_facts *out_facts)
{
    memset(out_facts, 0, sizeof *out_facts);
    out_facts->pm_pmcid = id;
    return call_kernel(PMC_OP_FACTS, out_facts, sizeof *out_facts);
}

int pmc_width(pmc_id_t id, uint32_t *out_width)
{
    struct pmc_op_facts answer;
    int result = read_facts(id, &answer);

    *out_width = answer.pm_width;
    return result;
}

int pmc_capabilities(pmc_id_t id, uint32_t *out_caps)
{
    struct pmc_op_facts answer;
    int result = read_facts(id, &answer);

    *out_caps = answer.pm_caps;
    return result;
}

int pmc_get_msr(pmc_id_t id, uint32_t *out_index)
{
    struct pmc_op_facts answer;
    int result = read_facts(id, &answer);

    *out_index = answer.pm_msr;
    return result;
}

int pmc_allocate(const char *spec, enum pmc_mode mode, uint32_t flags, int cpu, pmc_id_t *out_id, uint64_t count)
{
    struct pmc_op_allocate argument;
    int result;

    *out_id = PMC_ID_INVALID;
    memset(&argument, 0, sizeof argument);
    if (write_spec(spec, argument.pm_spec, sizeof argument.pm_spec))
        return -1;
    argument.pm.pm_mode = (uint32_t)mode;
    argument.pm.pm_flags = flags;
    argument.pm.pm_cpu = cpu;
    argument.pm.pm_count = count;
    argument.pm.pm_row = PMC_ROW_ANY;
    result = call_kernel(PMC_OP_ALLOCATE, &argument, sizeof argument);
    *out_id = result ? PMC_ID_INVALID : argument.pm.pm_pmcid;
    return result;
}

int pmc_release(pmc_id_t id)
{
    return call_simple(PMC_OP_RELEASE, id, 0);
}

int pmc_attach(pmc_id_t id, int32_t pid)
{
    return call_simple(PMC_OP_ATTACH, id, pid);
}

int pmc_detach(pmc_id_t id, int32_t pid)
{
    return call_simple(PMC_OP_DETACH, id, pid);
}

int pmc_start(pmc_id_t id)
{
    return call_simple(PMC_OP_START, id, 0);
}

int pmc_stop(pmc_id_t id)
{
    return call_simple(PMC_OP_STOP, id, 0);
}

static int read_write(pmc_id_t id, uint32_t flags, pmc_value_t value, pmc_value_t *out_old)
{
    struct pmc_op_rw argument = {id, flags, value};
    int result = call_kernel(PMC_OP_RW, &argument, sizeof argument);

    if (!result && out_old)
        *out_old = argument.pm_value;
    return result;
}

int pmc_read(pmc_id_t id, pmc_value_t *out_value)
{
    return read_write(id, 1, 0, out_value);
}

int pmc_write(pmc_id_t id, pmc_value_t value)
{
    return read_write(id, 2, value, NULL);
}

int pmc_rw(pmc_id_t id, pmc_value_t value, pmc_value_t *out_old)
{
    return read_write(id, 3, value, out_old);
}

int pmc_set(pmc_id_t id, pmc_value_t period)
{
    struct pmc_op_rw argument = {id, 2, period};

    return call_kernel(PMC_OP_SET, &argument, sizeof argument);
}

int pmc_enable(int cpu, int row)
{
    return call_simple(PMC_OP_ENABLE, (uint32_t)cpu, row);
}

int pmc_disable(int cpu, int row)
{
    return call_simple(PMC_OP_DISABLE, (uint32_t)cpu, row);
}

int pmc_configure_logfile(int file)
{
    return call_simple(PMC_OP_CONFIGURELOG, 0, file);
}

int pmc_flush_logfile(void)
{
    return call_simple(PMC_OP_FLUSHLOG, 0, 0);
}

int pmc_close_logfile(void)
{
    return call_simple(PMC_OP_CONFIGURELOG, 0, -1);
}

int pmc_writelog(uint32_t data)
{
    return call_simple(PMC_OP_WRITELOG, 0, (int32_t)data);
}

int pmc_event_name_of_class(enum pmc_class class_of, uint32_t index, char *out_name, uint32_t size)
{
    struct pmc_op_name argument;

    memset(&argument, 0, sizeof argument);
    argument.pm_class = (uint32_t)class_of;
    argument.pm_index = index;
    if (!size || name_of_event(&argument))
        return -1;
    if (size > sizeof argument.pm_name)
        size = sizeof argument.pm_name;
    memcpy(out_name, argument.pm_name, size);
    out_name[size - 1] = 0;
    return 0;
}

/* ---- Names ---- */

static const char *name_of(const char *const *names, unsigned count, unsigned value)
{
    return value < count ? names[value] : NULL;
}

#define NAME_OF(value, ...)                                                                                            \
    static const char *const names[] = {__VA_ARGS__};                                                                  \
    return name_of(names, sizeof names / sizeof names[0], value)

const char *pmc_name_of_class(enum pmc_class class_of)
{
    NAME_OF((unsigned)class_of, "TSC", "SOFT", "P4", "K7", "K8", "IAF", "IAP", "UC");
}

const char *pmc_name_of_mode(enum pmc_mode mode)
{
    NAME_OF((unsigned)mode, "SS", "SC", "TS", "TC");
}

const char *pmc_name_of_state(enum pmc_state state)
{
    NAME_OF((unsigned)state, "FREE", "ALLOCATED", "STOPPED", "RUNNING");
}

const char *pmc_name_of_disposition(enum pmc_disp disposition)
{
    NAME_OF((unsigned)disposition, "STANDALONE", "FREE", "THREAD", "UNKNOWN");
}

const char *pmc_name_of_capability(uint32_t capability)
{
    unsigned bit = 0;

    while (bit < 32 && !(capability >> bit & 1u))
        bit++;
    NAME_OF(bit, "INTERRUPT", "USER", "SYSTEM", "EDGE", "THRESHOLD", "READ", "WRITE", "INVERT", "QUALIFIER", "PRECISE",
            "TAGGING", "CASCADE");
}
