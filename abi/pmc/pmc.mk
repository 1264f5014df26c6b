# SPDX-License-Identifier: MIT
#
# libpmc, for embedders: after upmu.mk,
#
#     include third_party/upmu/abi/pmc/pmc.mk
#     SOURCES += $(UPMU_PMC_SOURCES)
#
# Programs compile UPMU_PMC_CLIENT, include abi/pmc/pmc.h and define its
# pmc_syscall(): no file for a kernel.  With -DPMC_LOCAL_NAMES=1 they link UPMU_SOURCES, too.

UPMU_PMC_CLIENT := $(UPMU_DIR)/abi/pmc/pmc_client.c
UPMU_PMC_SOURCES := $(filter-out $(UPMU_PMC_CLIENT),$(sort $(wildcard $(UPMU_DIR)/abi/pmc/*.c)))
