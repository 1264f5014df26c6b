#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One catalogue format for every family: NetBurst's and K8's events, packed and read as Intel's are.

Codes and unit masks: FreeBSD 10.4 sys/dev/hwpmc/pmc_events.h, lib/libpmc/libpmc.c.  NetBurst: code is the
ESCR's event select, the second code the CCCR's.
"""
import os
import shutil

from checklib import check, main, program_of_catalogues

SOURCES = {
    "p4": """# catalogue: p4 41
E	GLOBAL_POWER_EVENTS	0x13/0x06	0x0	0	-	0x0	0x0	0x0
M	RUNNING	0x1	0	default	0
E	BPU_FETCH_REQUEST	0x03/0x00	0x1	0	-	0x0	0x0	0x0
A	p4-global-power-events	GLOBAL_POWER_EVENTS:RUNNING
""",
    "k8": """# catalogue: k8 42
E	LS_LOCKED_OPERATION	0x24	0x0	0	-	0x0	0x0	0x0
M	LOCKED_INSTRUCTIONS	0x1	0	-	0
M	CYCLES_IN_REQUEST	0x2	0	-	0
M	CYCLES_TO_COMPLETE	0x4	0	-	0
E	LS_BUFFER2_FULL	0x23	0x0	0	-	0x0	0x0	0x0
""",
}
PROGRAM = r"""
#include <stdio.h>
#include <string.h>
#include <upmu/catalogs.h>
#include <upmu/upmu.h>
#include "core/catalog/catalog.h"
static void show(const struct upmu_catalog *catalog, const char *name)
{
    struct upmu_event_id id;
    struct upmu_row row;
    struct upmu_mask mask;
    char text[80];

    if (upmu_catalog_lookup(catalog, name, strlen(name), &id) != UPMU_OK || !upmu_catalog_row(catalog, id.row, &row))
        return;
    upmu_catalog_row_name(catalog, id.row, text, sizeof text);
    printf("%s %u %s %x/%x.%x", upmu_catalog_name(catalog), id.catalogue, text, row.code, row.code2, row.umask);
    for (unsigned i = 0; i < row.mask_count && upmu_catalog_mask(catalog, id.row, i, &mask); i++) {
        upmu_catalog_mask_name(catalog, id.row, i, text, sizeof text);
        printf(" %s=%x", text, (unsigned)mask.bits);
    }
    printf("\n");
}
int main(void)
{
    const struct upmu_catalog *p4 = upmu_catalog_find("p4"), *k8 = upmu_catalog_find("k8");

    if (!p4 || !k8)
        return 1;
    show(p4, "global-power-events");
    show(p4, "p4-global-power-events");
    show(p4, "bpu_fetch_request");
    show(k8, "ls.locked.operation");
    show(k8, "ls-buffer2-full");
    show(k8, "global-power-events");
    return 0;
}
"""
EXPECTED = """p4 41 GLOBAL_POWER_EVENTS 13/6.0 RUNNING=1
p4 41 GLOBAL_POWER_EVENTS 13/6.0 RUNNING=1
p4 41 BPU_FETCH_REQUEST 3/0.1
k8 42 LS_LOCKED_OPERATION 24/0.0 CYCLES_IN_REQUEST=2 CYCLES_TO_COMPLETE=4 LOCKED_INSTRUCTIONS=1
k8 42 LS_BUFFER2_FULL 23/0.0
"""


@check
def netburst_and_k8_events_fit_the_one_format():
    folder = "build/tests/families"
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for name, source in SOURCES.items():
        with open(f"{folder}/{name}.tsv", "w", encoding="ascii") as file:
            file.write(source)
    return program_of_catalogues(folder, [f"{folder}/{name}.tsv" for name in ("p4", "k8")], PROGRAM, EXPECTED,
                                 [f"core/catalog/{name}.c" for name in ("catalog", "catalog_table", "catalog_list")])


if __name__ == "__main__":
    main()
