/* SPDX-License-Identifier: MIT */
/*
 * Reasons to refuse the access to a CPU's registers, most fundamental first, and what the user can do about each of
 * them (docs/LINUX.md).
 */
#include "port/linux/linux_look.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "port/linux/linux_msr.h"

struct view {
    struct upmu_linux_look *look;
    const struct upmu_linux_system *system;
    unsigned cpu;
    const struct upmu_linux_wish *wish;
};

__attribute__((format(printf, 2, 3))) static void refuse_line(const struct view *view, const char *format, ...)
{
    va_list list;

    if (view->look->refusal[0])
        return;
    va_start(list, format);
    (void)vsnprintf(view->look->refusal, sizeof view->look->refusal, format, list);
    va_end(list);
}

static void warn_line(const struct view *view, const char *text)
{
    size_t used = strlen(view->look->warnings);

    (void)snprintf(view->look->warnings + used, sizeof view->look->warnings - used, "%s\n", text);
}

/*
 * Refuse, with the reason why there is no file of registers at `path`: there is no such CPU, the CPU is offline, or
 * else the kernel's module msr is not loaded.
 */
static void look_for_cpu(const struct view *view, const char *path)
{
    char name[UPMU_LINUX_PATH], line[128], uevent[8];

    (void)snprintf(name, sizeof name, "/sys/devices/system/cpu/cpu%u/uevent", view->cpu);
    if (upmu_linux_line(view->system, "/sys/devices/system/cpu/online", line, sizeof line) &&
        !upmu_linux_line(view->system, name, uevent, sizeof uevent))
        refuse_line(view, "there is no CPU %u; online: %s", view->cpu, line);
    (void)snprintf(name, sizeof name, "/sys/devices/system/cpu/cpu%u/online", view->cpu);
    if (upmu_linux_line(view->system, name, line, sizeof line) && line[0] == '0')
        refuse_line(view, "CPU %u is offline", view->cpu);
    refuse_line(view, "there is no %s: load the kernel's module (modprobe msr)", path);
}

static void look_at_file(const struct view *view)
{
    char path[UPMU_LINUX_PATH];
    int file;

    upmu_linux_register_path(path, view->cpu);
    file = view->system->open(view->system->context, path, view->wish->writes ? O_RDWR : O_RDONLY);
    view->look->file = file;
    if (file == -ENOENT || file == -ENOTDIR)
        look_for_cpu(view, path);
    else if (file == -EACCES)
        refuse_line(view, "%s cannot be opened: run it as root", path);
    else if (file == -EPERM)
        refuse_line(view, "%s cannot be opened: the capability CAP_SYS_RAWIO is missing (a container?)", path);
    else if (file == -ENXIO)
        refuse_line(view, "CPU %u is offline, or the kernel has no device behind %s", view->cpu, path);
    else if (file < 0)
        refuse_line(view, "%s cannot be opened: %s", path, strerror(-file));
}

/*
 * Refuse if the kernel is locked down, because it then refuses writes of registers. The file reads "none [integrity]
 * confidentiality": brackets mark the state in force. If the file cannot be read, nothing is refused.
 */
static void look_at_lockdown(const struct view *view)
{
    char line[80];

    if (upmu_linux_line(view->system, "/sys/kernel/security/lockdown", line, sizeof line) && line[0] &&
        !strstr(line, "[none]"))
        refuse_line(view, "the kernel is locked down (%s), as with secure boot: it refuses all writes of registers",
                    line);
}

/*
 * Refuse if the parameter msr.allow_writes is "off": the kernel refuses writes. If the parameter is neither "off" nor
 * "on", the kernel logs each write: refuse unless wish->yes. In all other cases warn that the first write taints the
 * kernel. A kernel without the parameter is accepted.
 */
static void look_at_parameter(const struct view *view)
{
    char line[32];

    if (!upmu_linux_line(view->system, "/sys/module/msr/parameters/allow_writes", line, sizeof line))
        return;
    if (!strcmp(line, "off"))
        refuse_line(view, "the kernel refuses writes of registers: msr.allow_writes is off (set it to on)");
    else if (strcmp(line, "on") && !view->wish->yes)
        refuse_line(view, "the kernel would log \"Write to unrecognized MSR\" and be tainted until the next boot: "
                          "accept that with --yes");
    else
        warn_line(view, "the kernel is tainted (CPU_OUT_OF_SPEC) from the first write until the next boot");
}

static void look_at_watchdog(const struct view *view)
{
    char line[16];

    if (!upmu_linux_line(view->system, "/proc/sys/kernel/nmi_watchdog", line, sizeof line) || line[0] != '1')
        return;
    if (!view->wish->force)
        refuse_line(view,
                    "the NMI watchdog uses a counter: stop it (sysctl kernel.nmi_watchdog=0; =1 starts it again)");
    warn_line(view, "the NMI watchdog uses a counter, which is left alone; it can disturb the results");
}

/*
 * Warn of a hypervisor (CPUID.1 ECX[31]). Without one refuse writes, unless `yes`, on Intel's Pentium 4 and P6; on a P6
 * leaf 0AH EAX[7:0], the version of architectural performance monitoring, is 0 (SDM vol 2).
 */
static void look_at_cpu(const struct view *view)
{
    uint32_t first[4], one[4], ten[4] = {0};
    uint32_t family;

    view->system->cpuid(view->system->context, 0, 0, first);
    view->system->cpuid(view->system->context, 1, 0, one);
    if (first[0] >= 10)
        view->system->cpuid(view->system->context, 10, 0, ten);
    family = one[0] >> 8 & 15u;
    view->look->hypervisor = one[2] >> 31;
    if (view->look->hypervisor)
        warn_line(view, "a hypervisor runs this system: its registers may be none, and its host may use the counters");
    else if (view->wish->writes && !view->wish->yes && first[1] == 0x756e6547u && (family == 15 || !(ten[0] & 0xffu)))
        refuse_line(view, "a Pentium 4 or P6: upmu was never tried on one, a wrong write can stop the machine; "
                          "accept that with --yes");
}

void upmu_linux_look(struct upmu_linux_look *look, const struct upmu_linux_system *system, unsigned cpu,
                     const struct upmu_linux_wish *wish)
{
    const struct view view = {look, system, cpu, wish};

    memset(look, 0, sizeof *look);
    look_at_file(&view);
    if (wish->writes) {
        look_at_lockdown(&view);
        look_at_parameter(&view);
        look_at_watchdog(&view);
    }
    look_at_cpu(&view);
    if (look->refusal[0] && look->file >= 0)
        system->close(system->context, look->file);
    if (look->refusal[0])
        look->file = -1;
}
