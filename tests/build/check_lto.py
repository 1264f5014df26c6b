#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Link-time optimisation sees the C code alone: what assembly calls must be kept."""
from checklib import COMPILERS, check, main, run

PROGRAM = """
#include <port/efi/efi_port.h>
enum upmu_pmi upmu_pmi_handle(struct upmu_cpu *cpu, const struct upmu_frame *frame)
{
    (void)frame;
    return cpu ? UPMU_PMI_HANDLED : UPMU_PMI_NOT_OURS;
}
int main(void)
{
    static struct upmu_efi efi;
    return (int)upmu_efi_open(&efi, 0, 0, 0);
}
"""


@check
def efi_port_links_with_link_time_optimisation():
    complaints = []
    for build in ("gcc-64", "gcc-32"):
        code, output = run(COMPILERS[build] + ["-std=c11", "-mgeneral-regs-only", "-fno-pie", "-no-pie", "-O2", "-flto=1",
                           "-Iinclude", "-I.", "-o", "/dev/null", "port/efi/efi_port.c", "port/efi/efi_stubs.c",
                           "-x", "c", "-"], input=PROGRAM.encode())
        if code:
            complaints.append(f"{build}: {output[-400:]}")
    return complaints


if __name__ == "__main__":
    main()
